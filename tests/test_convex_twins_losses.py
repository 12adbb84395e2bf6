"""Losses of online convex optimisation, and runs against them."""

import copy
import math

import numpy as np
import pytest
from convex_cases import (
    MODULES,
    check_same,
    learners,
)


@pytest.fixture(params=MODULES.values(), ids=MODULES)
def module(request):
    return request.param


# --- losses and runs ----------------------------------------------------------------------------


@pytest.mark.parametrize("n, d", [(1, 1), (7, 3)])
def test_gradients_are_those_of_the_values(module, n, d, rng):
    Z, labels = rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n)
    for losses in (
        module.losses.Squared(Z, rng.standard_normal(n)),
        module.losses.Logistic(Z, labels),
        module.losses.PortfolioReturn(Z),
    ):
        assert len(losses) == n
        for t in range(2 * n):
            x, h = rng.standard_normal(d), 1e-5
            slope = [
                (losses.value(t, x + h * e) - losses.value(t, x - h * e)) / (2 * h)
                for e in np.eye(d)
            ]
            np.testing.assert_allclose(losses.gradient(t, x), slope, atol=1e-8)
            assert losses.value(t + n, x) == losses.value(t, x)


def test_the_logistic_loss_of_large_margins(module):
    losses = module.losses.Logistic([[1.0]], [1.0])
    assert losses.value(0, [-1e5]) == 1e5 and losses.value(0, [1e5]) == 0.0
    assert losses.gradient(0, [-1e5]) == [-1.0] and losses.gradient(0, [1e5]) == [0.0]
    small = losses.value(0, [40.0])
    assert small == pytest.approx(math.exp(-40.0), rel=1e-12)


@pytest.mark.parametrize(
    "build, error, named",
    [
        (lambda m: m.Squared([1.0], [1.0]), ValueError, "Z"),
        (lambda m: m.Squared([[1.0]], [1.0, 2.0]), ValueError, "y"),
        (lambda m: m.Squared(np.zeros((0, 2)), []), ValueError, "Z"),
        (lambda m: m.Squared([[math.nan]], [1.0]), ValueError, "Z"),
        (lambda m: m.Logistic([[1.0]], [0.0]), ValueError, "y"),
        (lambda m: m.Logistic([[1.0]], ["a"]), TypeError, "y"),
        (lambda m: m.PortfolioReturn([["a"]]), TypeError, "Z"),
        (lambda m: m.Squared([[1.0]], [1.0]).value(-1, [1.0]), ValueError, "t"),
        (lambda m: m.Squared([[1.0]], [1.0]).value(0, [1.0, 2.0]), ValueError, "x"),
        (lambda m: m.Squared([[1.0]], [1.0]).value(0, [1e200]), ValueError, "x"),
        (lambda m: m.Squared([[1.0]], [0.5]).mistake(0, [1.0]), ValueError, "y"),
    ],
)
def test_losses_that_make_no_sense(module, build, error, named):
    with pytest.raises(error, match=rf"\b{named}\b"):
        build(module.losses)


def test_losses_keep_their_own_rows(module):
    Z = np.ones((1, 2))
    losses = module.losses.PortfolioReturn(Z)
    Z[:] = 5.0
    assert losses.value(0, [0.5, 0.5]) == -1.0


@pytest.mark.parametrize("name", ["ONSEG", "OGDEG", "DikinFTRL", "ONS", "OGD"])
def test_a_run_is_the_loop_of_single_calls(module, name, rng):
    n, T = 5, 13
    Z, y = rng.uniform(-0.5, 0.5, (n, 3)), rng.choice([-1.0, 1.0], n)
    build = {
        **learners(module),
        "ONS": lambda seed: module.ONS(3, module.Box(0.0, 1.0), 0.5),
        "OGD": lambda seed: module.OGD(3, module.Simplex(), 1.0),
    }[name]
    losses = module.losses.Logistic(Z, y)
    learner, single = build(6), build(6)
    for _ in range(2):  # the second run starts at row 0 again, the learner goes on
        history = learner.run(losses, T)
        points, seen = [], []
        for t in range(T):
            x = single.ask()
            points.append(x)
            seen.append(losses.value(t % n, x))
            single.tell(losses.gradient(t % n, x) if name in ("ONS", "OGD") else seen[-1])
        np.testing.assert_array_equal(history.loss, seen)
        np.testing.assert_array_equal(learner.center, single.center)
        wrong = [(x @ Z[t % n] >= 0) != (y[t % n] > 0) for t, x in enumerate(points)]
        np.testing.assert_array_equal(history.mistakes, wrong)
        np.testing.assert_allclose(history.average_loss[-1], np.mean(seen), rtol=1e-13)
        np.testing.assert_allclose(history.error_rate[-1], np.mean(wrong), rtol=1e-13)
        assert history.loss.shape == history.average_loss.shape == (T,) and len(history) == T
    assert learner.rounds == 2 * T


def test_error_rates_where_they_mean_something(module):
    learner = module.OGD(1, module.Ball(1.0), 1.0)
    history = learner.run(module.losses.Squared([[1.0]], [0.5]), 4)
    assert history.mistakes is None and history.error_rate is None
    assert learner.run(module.losses.Squared([[1.0]], [-1.0]), 4).error_rate.shape == (4,)
    learner = module.OGD(2, module.Simplex(), 1.0)
    history = learner.run(module.losses.PortfolioReturn([[0.5, 0.25]]), 4)
    assert history.error_rate is None
    np.testing.assert_array_equal(history.average_return, -history.average_loss)
    assert history.average_return[0] == 0.375


def test_a_run_against_a_function(module):
    learner, same = (learners(module)["ONSEG"](8) for _ in range(2))
    rounds = []

    def losses(t, x):
        rounds.append(t)
        value = float(x @ x) / 4.0
        x[:] = np.nan  # not the learner's own point
        return value

    history = learner.run(losses, 5)
    assert rounds == [0, 1, 2, 3, 4] and history.mistakes is None
    np.testing.assert_array_equal(play_quarter(same, 5), history.loss)
    assert len(learner.run(losses, 0)) == 0 and learner.rounds == 5


def play_quarter(learner, rounds):
    seen = []
    for _ in range(rounds):
        x = learner.ask()
        seen.append(float(x @ x) / 4.0)
        learner.tell(seen[-1])
    return seen


def test_runs_that_make_no_sense(module):
    bandit, descent = learners(module)["ONSEG"](8), module.OGD(3, module.Ball(1.0), 1.0)
    for learner in (bandit, descent):
        before = copy.deepcopy(learner)
        with pytest.raises(TypeError, match="losses"):
            learner.run([1.0, 2.0], 3)
        with pytest.raises(TypeError, match="losses"):
            learner.run(module.losses.Squared, 3)
        with pytest.raises(ValueError, match="losses"):
            learner.run(module.losses.Squared([[1.0]], [1.0]), 3)
        with pytest.raises(ValueError, match="rounds"):
            learner.run(module.losses.PortfolioReturn(np.ones((1, 3))), -1)
        check_same(learner, before)
    with pytest.raises(TypeError, match="losses.*gradient|losses.*value"):
        descent.run(lambda t, x: 0.0, 3)
    with pytest.raises(ValueError, match="loss"):
        bandit.run(lambda t, x: math.nan if t == 2 else 0.5, 4)
    assert bandit.rounds == 2, "a run that fails stops at the end of a round"


def test_losses_that_classify_must_tell_mistakes(module):
    class Signs:
        classifies = True

        def value(self, t, x):
            return 0.0

    learner = module.OGDEG(2, module.Ball(1.0), delta=0.1, gamma=0.2, seed=1)
    with pytest.raises(TypeError, match="losses must have the method mistake"):
        learner.run(Signs(), 3)
    assert learner.rounds == 0


def test_scalings_are_applied_and_recorded(module):
    from coactive_fast import data

    Z, y = np.array([[0.0, 5.0], [2.0, 1.0], [4.0, 3.0]]), np.array([1.0, 2.0, 5.0])
    rows, labels = data.standardize(Z), data.minmax(y, lower=-1.0)
    losses = module.losses.Squared(Z, y, Z_scaling=rows, y_scaling=labels)
    plain = module.losses.Squared(rows.transform(Z), labels.transform(y))
    np.testing.assert_array_equal(losses.Z, plain.Z)
    np.testing.assert_array_equal(losses.y, plain.y)
    assert losses.scaling == {"Z": rows, "y": labels} and plain.scaling is None

    def run(given):
        return module.OGD(2, module.Ball(1.0), 4.0).run(given, 5)

    history = run(losses)
    assert history.scaling == {"Z": rows, "y": labels} and run(plain).scaling is None
    np.testing.assert_array_equal(history.loss, run(plain).loss)
    signs = np.array([1.0, -1.0, 1.0])
    for one in (module.losses.Logistic(Z, signs, Z_scaling=rows),
                module.losses.PortfolioReturn(Z, Z_scaling=rows)):
        assert one.scaling == {"Z": rows}
        np.testing.assert_array_equal(one.Z, plain.Z)
    for name in ("Z_scaling", "y_scaling"):
        with pytest.raises(TypeError, match=f"{name}.*transform"):
            module.losses.Squared(Z, y, **{name: 3.0})
