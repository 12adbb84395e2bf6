"""Confidit's self-normalised width: what it is, that it holds, and what keeps it up."""

import math

import numpy as np
import pytest
from multiclass_cases import MODULES, problem, same_state, state, stream
from row_cases import close

import coactive_fast as cf

OWN = {"confidence": "selfnormalized"}


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


def widths(learner, x, alpha, bound, delta):
    """By the formula, from what the learner shows of itself."""
    ridge = (1.0 + alpha) ** 2
    K = learner.n_classes
    inverses = [learner.inverse(i) for i in range(K)]
    q = [x @ (B * x if B.ndim == 1 else B @ x) for B in inverses]
    first = len(x) * math.log(ridge)
    logdets = [first + np.sum(np.log(B)) if B.ndim == 1 else first + np.linalg.slogdet(B)[1]
               for B in inverses]
    noise = np.sqrt(-np.array(logdets) + 2.0 * math.log(K / delta))
    return np.sqrt(q) * (noise + math.sqrt(ridge) * bound)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("alpha, bound, delta", [(1.0, 0.5, 0.05), (0.2, 2.0, 0.3)])
def test_the_label_is_that_of_the_formula(module, covariance, alpha, bound, delta, rng):
    X, y = problem(rng, T=150, n_classes=4)
    learner = module.Confidit(4, covariance=covariance, alpha=alpha, norm_bound=bound, delta=delta,
                              seed=1, **OWN)
    bold = 0
    for t, (x, right) in enumerate(zip(X, y, strict=True)):
        label = learner.choose(x)
        if t:
            scores = learner.decision_function([x])[0] + widths(learner, x, alpha, bound, delta)
            order = np.sort(scores)
            assert label == scores.argmax() or order[-1] - order[-2] < 1e-9
            bold += label != learner.predict([x])[0]
        learner.learn(x, label, label == right)
    assert bold > 10, "the widths decided nothing"


@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_the_interval_holds_in_all_rounds(alpha):
    """Of the paper's model: no |w_i.x - u_i.x| beyond its width, in 20 streams at delta = 0.05
    (the bound is loose: none is expected to fail)."""
    for seed in range(20):
        made = cf.data.make_confidit(n_rows=150, n_classes=3, alpha=alpha, seed=seed)
        bound = np.linalg.norm(made.weights, axis=1).max()
        learner = cf.Confidit(3, covariance="full", alpha=alpha, norm_bound=bound, seed=seed, **OWN)
        learner.run(made.features[:100], made.labels[:100])
        for x in made.features[100:]:
            missed = np.abs(learner.decision_function([x])[0] - made.weights @ x)
            assert (missed <= widths(learner, x, alpha, bound, 0.05)).all()


def test_it_costs_less_than_the_papers_width():
    made = cf.data.make_confidit(n_rows=6000, n_classes=5, noise=0.1, seed=3)
    bound = np.linalg.norm(made.weights, axis=1).max()
    whole = np.linalg.norm(made.weights)
    own = cf.Confidit(5, covariance="full", norm_bound=bound, **OWN)
    paper = cf.Confidit(5, covariance="full", confidence="theory", projection=True,
                        norm_bound=whole)
    regrets = [learner.run(made.features, made.labels, chances=made.chances).cumulative_regret[-1]
               for learner in (own, paper)]
    assert regrets[0] < 0.7 * regrets[1]


@pytest.mark.parametrize("covariance", ["full", "diagonal", "kernel"])
@pytest.mark.parametrize("projection", [False, True])
def test_the_twin_chooses_the_same(covariance, projection, rng):
    X, y = stream(rng, T=90, n_classes=4)
    arguments = {"covariance": covariance, "projection": projection, "alpha": 0.6, "seed": 2, **OWN}
    twin, learner = (one.Confidit(4, **arguments) for one in (cf.reference, cf))
    np.testing.assert_array_equal(learner.run(X, y).choices, twin.run(X, y).choices)
    close(state(learner)["logdets"], twin.information(), 1e-9)


@pytest.mark.parametrize("covariance", ["full", "diagonal", "kernel"])
def test_a_change_of_width_takes_what_is_known(covariance, rng):
    X, y = problem(rng, T=60)
    learner = cf.Confidit(3, covariance=covariance)
    learner.run(X[:30], y[:30])
    assert "logdets" not in state(learner)
    learner.set_params(**OWN)
    np.testing.assert_array_equal(state(learner)["logdets"], learner.information())
    learner.run(X[30:], y[30:])
    close(state(learner)["logdets"], learner.information(), 1e-12)
    learner.set_params(confidence="theory")
    assert "logdets" not in state(learner)


def test_rows_wider_than_before_count(rng):
    learner = cf.Confidit(3, max_features=9, **OWN)
    for d in (3, 9, 5):
        learner.learn(rng.standard_normal(d), 1, True)
    learner.add_class()
    close(state(learner)["logdets"], learner.information(), 1e-12)
    assert state(learner)["logdets"].shape == (4,)


@pytest.mark.parametrize("covariance", ["full", "diagonal", "kernel"])
def test_files_go_on_bit_for_bit(covariance, tmp_path, rng):
    X, y = stream(rng, T=60)
    whole, first = (cf.Confidit(3, covariance=covariance, alpha=0.5, seed=8, **OWN)
                    for _ in range(2))
    whole.run(X, y)
    first.run(X[:29], y[:29])
    first.save(tmp_path / "model.cf")
    second = cf.load(tmp_path / "model.cf")
    second.run(X[29:], y[29:])
    same_state(second, whole)


@pytest.mark.parametrize("logdets", [None, np.zeros(2), np.array([0.0, -1.0, 0.0]),
                                   np.array([0.0, np.nan, 0.0])])
def test_states_that_lie_are_refused(logdets, rng):
    learner = cf.Confidit(3, **OWN)
    learner.run(*problem(rng, T=20))
    told = state(learner)
    told.pop("logdets")
    if logdets is not None:
        told["logdets"] = logdets
    with pytest.raises(ValueError, match="logdets"):
        cf.Confidit(3, **OWN)._engine._restore(told)


def test_extremes(module):
    """No width overflows where the score of another does not."""
    for delta in (1e-320, 1.0 - 2.0**-53):
        learner = module.Confidit(3, delta=delta, **OWN)
        learner.learn([1.0], 0, False)
        assert learner.choose([1.0]) == 1
    learner = module.Confidit(3, norm_bound=0.0, **OWN)
    assert learner.choose([1.0]) == 0
    with pytest.raises(ValueError, match="confidence"):
        module.Confidit(3, confidence="self")
