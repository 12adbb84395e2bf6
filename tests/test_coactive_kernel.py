"""Preference Perceptron with kernels: golden vectors, explicit features, budgets, joined rows."""

import copy
import json
import math

import numpy as np
import pytest
from coactive_cases import Recorder, golden, load, make_data, modules
from row_cases import BreakingKernel, squares


def kernelised(module, k=3, **arguments):
    return module.PreferencePerceptron(module.Ranking(k=k), **{"kernel": "rbf", **arguments})


@golden
@modules
def test_golden(module):
    for case, a in load("more_kernel_perceptron").items():
        learner = module.PreferencePerceptron(
            module.Ranking(k=int(a["k"])), **json.loads(str(a["meta"])))
        for i, j in zip(a["offsets"], a["offsets"][1:], strict=False):
            x = a["features"][i:j]
            np.testing.assert_allclose(learner.scores(x), a["scores"][i:j], rtol=1e-8, atol=1e-10)
            np.testing.assert_array_equal(learner.present(x), a["presented"][i:j], case)
            learner.learn(x, a["presented"][i:j], a["better"][i:j])
        final = learner.scores(a["features"])
        np.testing.assert_allclose(final, a["final_scores"], rtol=1e-8, atol=1e-10)
        assert learner.rows_kept == a["rows_kept"], case
        assert learner.rounds == len(a["offsets"]) - 1


@pytest.mark.parametrize("kernel", ["linear", "poly", "callable"])
@modules
def test_the_kernel_is_its_explicit_features(module, kernel, rng):
    arguments, features = {
        "linear": ({"kernel": "linear"}, lambda X: X),
        "poly": (
            {"kernel": "poly", "kernel_params": {"degree": 2, "gamma": 0.7, "coef0": 0.3}},
            squares,
        ),
        "callable": (
            {"kernel": lambda x, y, scale: scale * float(x @ y), "kernel_params": {"scale": 9.0}},
            lambda X: 3.0 * X,
        ),
    }[kernel]
    dual = module.PreferencePerceptron(module.Ranking(k=3), **arguments)
    plain = module.PreferencePerceptron(module.Ranking(k=3))
    for _ in range(30):
        x = rng.standard_normal((int(rng.integers(1, 9)), 2))
        np.testing.assert_allclose(
            dual.scores(x),
            plain.scores(features(x)) if plain.rounds else np.zeros(len(x)), atol=1e-10)
        np.testing.assert_array_equal(dual.present(x), plain.present(features(x)))
        y, better = rng.permutation(len(x)), rng.permutation(len(x))
        dual.learn(x, y, better)
        plain.learn(features(x), y, better)
    assert dual.rounds == plain.rounds == 30


@modules
def test_equal_rows_are_joined_and_zeros_left_out(module):
    learner = kernelised(module, k=2)
    x = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0], [-0.0, 1.0]])
    assert learner.rows_kept == 0
    learner.learn(x, [0, 1, 2, 3], [2, 1, 0, 3])  # one row in the first place before and after
    assert learner.rows_kept == 0 and learner.rounds == 1
    np.testing.assert_array_equal(learner.scores(x), np.zeros(4))
    learner.learn(x, [0, 1, 2, 3], [1, 3, 0, 2])
    assert learner.rows_kept == 2
    gain = 1.0 - 1.0 / math.log2(3.0)
    gamma = 0.5  # 1 / n_features
    near = math.exp(-gamma * 5.0)
    np.testing.assert_allclose(learner.scores(x[:2]), [gain * (near - 1.0), gain * (1.0 - near)])


@modules
def test_equal_rows_score_equal_to_the_bit(module, rng):
    rows = rng.standard_normal((4, 7))
    x = rows[rng.integers(0, 4, 30)]
    learner = kernelised(module)
    for _ in range(5):
        learner.learn(x, rng.permutation(30), rng.permutation(30))
    scores = learner.scores(x)
    assert len(set(scores.tolist())) == 4
    assert learner.present(x).tolist() == sorted(range(30), key=lambda i: (-scores[i], i))
    np.testing.assert_array_equal(learner.present(x, k=4), learner.present(x)[:4])


@modules
def test_the_oldest_round_leaves_whole(module, rng):
    learner, rounds = kernelised(module, k=2, budget=7), []
    for _ in range(20):
        x = rng.standard_normal((5, 3))
        y, better = rng.permutation(5), rng.permutation(5)
        learner.learn(x, y, better)
        alone = kernelised(module, k=2)
        alone.learn(x, y, better)
        if alone.rows_kept:
            rounds.append((alone.rows_kept, (x, y, better)))
        while sum(size for size, _ in rounds) > 7:
            rounds.pop(0)
        rebuilt = kernelised(module, k=2)
        for _, arguments in rounds:
            rebuilt.learn(*arguments)
        assert learner.rows_kept == rebuilt.rows_kept <= 7
        np.testing.assert_allclose(learner.scores(x), rebuilt.scores(x), atol=1e-12)
    assert learner.rounds == 20


@modules
def test_it_learns_what_no_weights_can(module, rng):
    """The best documents are those near the middle."""
    data = make_data(rng, queries=60, features=2)
    user = module.users.NoisyDepth(100)
    for query in data:
        query.relevance = np.round(10.0 * np.exp(-np.sum(query.features**2, axis=1)))
    learners = [module.PreferencePerceptron(module.Ranking(k=3)), kernelised(module)]
    gains = []
    for learner in learners:
        module.simulate(learner, data, user, order=np.tile(np.arange(60), 4))
        gains.append(np.mean([
            module.metrics.ndcg(query.relevance, learner.present(query.features), k=3)
            for query in data]))
    assert gains[1] > gains[0] + 0.05 and gains[1] > 0.9


@modules
def test_simulate_is_the_loop_of_single_calls(module, rng):
    data = make_data(rng)
    one, other = kernelised(module), kernelised(module)
    user = Recorder(module.users.AlphaInformative(0.5, weights=data.fitted, k=3))
    module.simulate(one, data, user)
    for query, presented, better in user.rounds:
        np.testing.assert_array_equal(other.present(query.features), presented)
        other.learn(query.features, presented, better)
    np.testing.assert_array_equal(one.scores(data[0].features), other.scores(data[0].features))


@modules
def test_state_and_copies(module, rng):
    x = rng.standard_normal((6, 3))
    learner = kernelised(module)
    assert learner.weights.shape == learner.average_weights.shape == (0,)
    assert learner.present(x).tolist() == list(range(6))
    assert learner.present(np.ones((2, 5))).tolist() == [0, 1]  # a reading fixes no dimension
    y, better = np.arange(6), np.arange(6)[::-1]
    buffer = x.copy()
    learner.learn(buffer, y, better)
    scores = learner.scores(x)
    buffer[:] = 7.0
    np.testing.assert_array_equal(learner.scores(x), scores)
    assert learner.weights.shape == learner.average_weights.shape == (0,)
    other = copy.deepcopy(learner)
    other.learn(x, y, better)
    np.testing.assert_array_equal(learner.scores(x), scores)
    assert learner.reset() is learner and (learner.rounds, learner.rows_kept) == (0, 0)
    learner.learn(x[:, :2], y, better)  # another dimension
    assert learner.rounds == 1


@modules
def test_errors_change_nothing(module, rng):
    x = rng.standard_normal((6, 3))
    kernel = BreakingKernel()
    learner = kernelised(module, kernel=kernel)
    learner.learn(x, np.arange(6), np.arange(6)[::-1])
    scores = learner.scores(x)
    y = np.arange(6)
    for bad, name in [
        ((x[:, 1:], y, y[::-1]), "x"),
        ((np.where(x == x[2, 1], np.nan, x), y, y[::-1]), "x"),
        ((x, [0, 0], y), "y"),
        ((x, [6], y), "y"),
        ((x, y, [0, 0]), "better"),
        ((x, y, [-1]), "better"),
    ]:
        with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b"):
            learner.learn(*bad)
    with pytest.raises((TypeError, ValueError), match=r"\bx\b"):
        learner.scores(x[:, 1:])
    kernel.broken = True
    for do in (lambda: learner.learn(x + 1.0, y, y[::-1]), lambda: learner.present(x)):
        with pytest.raises(RuntimeError):
            do()
    kernel.broken = False
    assert learner.rounds == 1 and learner.rows_kept == 6
    np.testing.assert_array_equal(learner.scores(x), scores)


@modules
def test_refused(module):
    ranking = module.Ranking(k=3)
    for arguments, name in [
        ({"kernel": "cubic"}, "kernel"),
        ({"kernel": 3}, "kernel"),
        ({"kernel": "rbf", "kernel_params": {"gama": 1.0}}, "kernel_params"),
        ({"kernel": "rbf", "budget": 5}, "budget"),
        ({"kernel": "rbf", "budget": 6.0}, "budget"),
        ({"kernel": "rbf", "batch": 2}, "batch"),
        ({"kernel_params": {"gamma": 1.0}}, "kernel"),
        ({"budget": 10}, "kernel"),
    ]:
        with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b"):
            module.PreferencePerceptron(ranking, **arguments)
    with pytest.raises((TypeError, ValueError), match="task"):
        module.PreferencePerceptron(module.Items([[1.0]]), kernel="rbf")
    with pytest.raises(ValueError, match="kernel"):
        kernelised(module).update([1.0, 2.0])
