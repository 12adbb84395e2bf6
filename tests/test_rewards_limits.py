"""What the regression and the bandits refuse, and that they are then as before."""

import numpy as np
import pytest
from rewards_cases import (
    BANDITS,
    LEARNERS,
    MODULES,
    N_ARMS,
    D,
    P,
    Round,
    build,
    is_logistic,
    trained,
    unchanged,
)
from row_cases import bad_rows

import coactive_fast as cf

learners = pytest.mark.parametrize("kind, name", LEARNERS)
bandits = pytest.mark.parametrize("kind, name", BANDITS)
FIXED = {"linear": "LinearBandit", "arms": "ArmBandit", "ridge": "OnlineRidge"}


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


def refused(named, call, *arguments, **words):
    """That it is refused by a message which holds one of these names."""
    with pytest.raises((ValueError, TypeError), match=rf"\b({named})\b"):
        call(*arguments, **words)


def words_of(learner):
    return {"context": np.ones(P)} if getattr(learner, "context_features", 0) else {}


def learning(learner, kind):
    """`learn` as a function of the row, the reward and the weight."""
    def learn(x, y=0.5, weight=1.0):
        arm = (1,) if kind == "arms" else ()
        learner.learn(x, *arm, y, weight=weight, **words_of(learner))
    return learn


@learners
def test_bad_rows(module, kind, name):
    learner = trained(module, kind, name)
    with unchanged(learner):
        for _, x in bad_rows(D):
            refused("x", learning(learner, kind), x)
        if kind == "arms":
            for _, x in bad_rows(D):
                for reading in (learner.choose, learner.scores, learner.decide):
                    refused("x", reading, x)
                refused("x", learner.probabilities, x, samples=2)


@learners
def test_bad_tables(module, kind, name):
    learner = trained(module, kind, name)
    good = np.ones((3, D))
    tables = [good[:, 1:], np.hstack([good, good]), np.full((3, D), np.nan), good[0], good[None],
              np.where(np.eye(3, D) > 0, np.inf, good), [["a"] * D], good + 1j, None, "rows",
              np.ma.masked_array(good, good > 2), [[1.0] * D, [1.0]]]
    with unchanged(learner):
        for X in tables:
            if kind == "ridge":
                refused("X", learner.predict, X)
                refused("X", learner.run, X, np.zeros(3))
            elif kind == "linear":
                words = words_of(learner)
                for reading in (learner.choose, learner.scores, learner.decide):
                    refused("X", reading, X, **words)
                refused("X", learner.probabilities, X, samples=2, **words)
        if kind == "linear":  # there is nothing to choose from
            for reading in (learner.choose, learner.decide):
                refused("X", reading, good[:0], **words_of(learner))


@learners
def test_bad_rewards_and_weights(module, kind, name):
    learner = trained(module, kind, name)
    target = "y" if kind == "ridge" else "reward"
    bad = [np.nan, np.inf, -np.inf, "1", None, [1.0, 2.0], 1j]
    with unchanged(learner):
        learn = learning(learner, kind)
        for y in [*bad, *([-0.01, 1.01, 2.0] if is_logistic(learner) else [])]:
            refused(target, learn, np.ones(D), y)
        for weight in [*bad, 0.0, -1.0]:
            refused("weight", learn, np.ones(D), 0.5, weight)


@bandits
def test_bad_late_rewards(module, kind, name):
    bandit = trained(module, kind, name)
    id = Round(bandit, 0).decide(bandit).id
    with unchanged(bandit):
        for r in [np.nan, np.inf, "1", None, *([1.5, -0.5] if is_logistic(bandit) else [])]:
            refused("r", bandit.reward, id, r)
        for weight in (0.0, -1.0, np.nan, np.inf, "1", None):
            refused("weight", bandit.reward, id, 0.5, weight=weight)
    bandit.reward(id, 0.5)  # it was still pending


@bandits
def test_bad_words_of_a_choice(module, kind, name):
    bandit = trained(module, kind, name)
    round = Round(bandit, 0)
    n = round.allowed.size
    masks = [np.zeros(n, dtype=bool), np.ones(n + 1, dtype=bool), np.ones(n - 1, dtype=bool),
             np.ones((1, n), dtype=bool), [], [0, 1], np.ones(n), "all", True]
    with unchanged(bandit):
        for allowed in masks:
            for reading in (bandit.choose, bandit.decide):
                refused("allowed", reading, round.rows, allowed=allowed, **round.words)
            refused("allowed", bandit.probabilities, round.rows, allowed=allowed, samples=2,
                    **round.words)
        for k in (0, -1, 1.5, "2", True, [2]):
            refused("k", bandit.choose, round.rows, k=k, **round.words)
        for samples in (0, -1, 1.5, "2", True):
            refused("samples", bandit.decide, round.rows, samples=samples, **round.words)
            refused("samples", bandit.probabilities, round.rows, samples=samples, **round.words)
        if bandit.explore == "thompson":
            refused("samples", bandit.probabilities, round.rows, **round.words)


def test_bad_arms(module):
    bandit = trained(module, "arms", "ucb")
    with unchanged(bandit):
        for arm in (-1, N_ARMS, 2**70, 0.5, "0", None, [0]):
            refused("arm", bandit.learn, np.ones(D), arm, 1.0)
            refused("arm", bandit.inverse, arm)


@pytest.mark.parametrize("name", ["context", "context squarecb", "context thompson"])
def test_bad_contexts(module, name):
    bandit = trained(module, "linear", name)
    X = np.ones((3, D))
    readings = [bandit.choose, bandit.decide, bandit.scores]
    with unchanged(bandit):
        for context in (None, np.ones(P + 1), np.ones(P - 1), [], np.full(P, np.nan), 1.0, "c" * P,
                        np.full(P, np.inf), np.ones((1, P)), np.ma.masked_array(np.ones(P), True)):
            words = {} if context is None else {"context": context}
            for reading in readings:
                refused("context", reading, X, **words)
            refused("context", bandit.probabilities, X, samples=2, **words)
            refused("context", bandit.learn, X[0], 1.0, **words)
    plain = trained(module, "linear", "ucb")
    with unchanged(plain):
        for reading in (plain.choose, plain.decide, plain.scores, plain.probabilities):
            refused("context", reading, X, context=np.ones(P))
        refused("context", plain.learn, X[0], 1.0, context=np.ones(P))


@learners
def test_bad_decay(module, kind, name):
    learner = trained(module, kind, name)
    with unchanged(learner):
        for f in (0.0, -0.5, 1.01, np.nan, np.inf, "1", None):
            refused("f", learner.decay, f)


@learners
def test_rows_beyond_the_range_of_float64(module, kind, name):
    learner = trained(module, kind, name)
    with unchanged(learner):
        refused("x", learning(learner, kind), np.full(D, 1.7e308))
        if kind == "arms":
            refused("x", learner.choose, np.full(D, 1.7e308))
        elif kind == "linear":
            refused("x|X", learner.choose, np.full((2, D), 1.7e308), **words_of(learner))
        else:
            refused("x|X", learner.predict, np.full((2, D), 1.7e308))
    if kind == "ridge":
        with unchanged(learner):  # too large by its weight
            refused("x|weight", learner.learn, np.full(D, 1e140), 1.0, weight=1e290)


def test_bad_streams(module):
    learner = trained(module, "ridge", "logistic")
    X, y = np.ones((3, D)), np.array([0.0, 0.5, 1.0])
    with unchanged(learner):
        for bad in (y[1:], y[None], y + 0.5, [0.0, np.nan, 1.0], ["a"] * 3, None, 0.5):
            refused("y", learner.run, X, bad)
        for bad in (y[1:] + 1, y[None] + 1, y, -y, [1.0, np.nan, 1.0], [1.0, np.inf, 1.0], 1.0):
            refused("weight", learner.run, X, y, weight=bad)
        refused("return_std", learner.predict, X, return_std=True)
    for value in (1, "yes", None):
        refused("return_std", module.OnlineRidge().predict, X, return_std=value)


# --- theory ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["linear", "arms"])
def test_a_weight_above_one_with_theory(module, kind):
    bandit = trained(module, kind, "theory")
    round = Round(bandit, 0)
    id = round.decide(bandit).id
    with unchanged(bandit):
        refused("weight", round.learn, bandit, weight=1.5)
        refused("weight", bandit.reward, id, 0.5, weight=1.0 + 1e-9)
    round.learn(bandit, weight=1.0)


THEORY = [{"link": "logistic"}, {"covariance": "diagonal"}, {"forget": 0.9}, {"explore": "greedy"},
          {"explore": "thompson"}, {"explore": "squarecb"}]


@pytest.mark.parametrize("kind", ["linear", "arms"])
@pytest.mark.parametrize("more", THEORY)
def test_where_theory_has_no_meaning(module, kind, more):
    refused("width", build, module, kind, "theory", **more)


# --- merging --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, name", [("ridge", "identity"), ("linear", "ucb"), ("arms", "ucb")])
def test_learners_that_cannot_be_merged(module, kind, name):
    learner = trained(module, kind, name)
    changes = [{"ridge": 2.0}, {"covariance": "diagonal"}, {"link": "logistic"}, {"forget": 0.9}]
    if kind != "ridge":
        changes += [{"explore": "greedy"}, {"width": 0.1}, {"floor": 0.1}, {"max_pending": 7}]
    others = [build(module, kind, name, **change) for change in changes]
    if kind == "arms":
        others.append(trained(module, kind, name))
        others[-1].add_arm()
    wide = build(module, kind, name)
    wide.learn(np.ones(D + 1), *((0,) if kind == "arms" else ()), 0.5)
    with unchanged(learner):
        for other in [*others, wide]:
            with pytest.raises(ValueError):
                learner.merge(other)
        for other in (None, "other", np.eye(D), build(module, {"ridge": "linear"}.get(
                kind, "ridge"), {"ridge": "ucb"}.get(kind, "identity"))):
            with pytest.raises((TypeError, ValueError), match="other"):
                learner.merge(other)
    for change in changes[1:4]:  # alike, but of a kind whose streams do not add up
        one, other = (build(module, kind, name, **change) for _ in range(2))
        with pytest.raises(ValueError):
            one.merge(other)


# --- parameters -----------------------------------------------------------------------------


SHARED = [
    ("link", ["logit", None, 1]), ("covariance", ["kernel", "half", None]),
    ("ridge", [0.0, -1.0, np.nan, np.inf, "1", None]), ("forget", [0.0, 1.01, -0.5, np.nan]),
    ("noise", [-0.1, np.nan, np.inf]), ("max_features", [5, 0, -1, 2.0]),  # of a full matrix
]
CHOOSING = [
    ("explore", ["epsilon", None, 1]), ("width", [-0.1, np.nan, np.inf, "wide", None]),
    ("floor", [-0.1, 1.0, 1.5, np.nan]), ("scale", [-1.0, np.nan, np.inf]),
    ("power", [-0.5, np.nan, np.inf]), ("norm_bound", [-1.0, np.nan]),
    ("delta", [0.0, 1.0, -0.1, np.nan]), ("max_pending", [0, -1, 2.5, None]),
    ("seed", ["now", -1, 1.5]),
]


@pytest.mark.parametrize("kind", FIXED)
def test_refused_parameters(module, kind):
    fixed = (N_ARMS,) if kind == "arms" else ()
    make = getattr(module, FIXED[kind])
    for named, values in [*SHARED, *(CHOOSING if kind != "ridge" else [])]:
        for value in values:
            refused(named, make, *fixed, **{named: value})
    for value in (0, -1, 2.0, True):
        refused("max_features", make, *fixed, covariance="diagonal", max_features=value)
    for value in (-1, 1.5, "2", None) if kind == "linear" else ():
        refused("context_features", make, context_features=value)
    for value in (0, -1, 2.0, "3", None, True) if kind == "arms" else ():
        refused("n_arms", make, value)
    if kind == "linear":
        refused("max_features", make, covariance="diagonal", max_features=9, context_features=1)
    with pytest.raises(TypeError):  # what has a default goes by name
        make(*fixed, "ucb")
    if kind == "arms":
        with pytest.raises(TypeError):
            make(2, context_features=1)


@pytest.mark.parametrize("make", [cf.OnlineRidge, cf.LinearBandit, lambda: cf.ArmBandit(2),
                                  lambda: cf.OnlineRidge(covariance="diagonal")])
def test_a_past_that_hardly_counts_can_be_saved(make, tmp_path):
    learner = make()
    given = ([1.0, 2.0], 1, 1.0) if isinstance(learner, cf.ArmBandit) else ([1.0, 2.0], 1.0)
    for f in (1e-309, 5e-324, 0.5):
        learner.learn(*given)
        learner.decay(f)
        learner.save(tmp_path / "l.cf")
        np.testing.assert_array_equal(cf.load(tmp_path / "l.cf").weights, learner.weights)
        assert np.isfinite(learner.weights).all()
