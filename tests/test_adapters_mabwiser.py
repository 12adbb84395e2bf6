"""`adapters.mabwiser`: beside MABWiser itself where it is installed, and what is refused."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse

import coactive_fast as cf
from coactive_fast.adapters.mabwiser import MAB, LearningPolicy

ARMS = ["red", 7, ("a", "tuple"), 2.5]


def log(rng, n=120, d=5, arms=ARMS):
    """Decisions, rewards and contexts."""
    X = rng.standard_normal((n, d))
    chosen = rng.integers(len(arms), size=n)
    weights = rng.standard_normal((len(arms), d))
    rewards = np.einsum("nd,nd->n", X, weights[chosen]) + 0.1 * rng.standard_normal(n)
    return [arms[i] for i in chosen], rewards, X


@pytest.mark.parametrize("name, words", [
    ("LinUCB", {"alpha": 1.25}), ("LinUCB", {"alpha": 0.3, "l2_lambda": 4.0}),
    ("LinGreedy", {"epsilon": 0.0}), ("LinGreedy", {"epsilon": 0.0, "l2_lambda": 0.5}),
])
@pytest.mark.filterwarnings("ignore")
def test_beside_mabwiser(name, words, rng):
    """The same expectations and the same arms, after `fit` and after `partial_fit`."""
    theirs = pytest.importorskip("mabwiser.mab")
    arms = ["red", "blue", "green"]  # MABWiser makes an array of its arms: of one type
    peer = theirs.MAB(arms, getattr(theirs.LearningPolicy, name)(**words))
    ours = [MAB(arms, getattr(where, name)(**words)) for where in (theirs.LearningPolicy,
                                                                   LearningPolicy)]
    decisions, rewards, X = log(rng, arms=arms)
    Z = rng.standard_normal((30, 5))
    for call, rows in (("fit", slice(0, 80)), ("partial_fit", slice(80, 110)),
                       ("partial_fit", slice(110, 120))):
        for mab in (peer, *ours):
            getattr(mab, call)(decisions[rows], rewards[rows], X[rows])
        for mab in ours:
            assert mab.predict(Z) == peer.predict(Z)
            assert mab.predict(Z[:1]) == peer.predict(Z[:1])
            for got, expected in zip(mab.predict_expectations(Z), peer.predict_expectations(Z),
                                     strict=True):
                assert got == pytest.approx(expected, rel=1e-8, abs=1e-10)
    peer.remove_arm("blue")
    ours[1].remove_arm("blue")
    assert ours[1].predict(Z) == peer.predict(Z) and ours[1].arms == peer.arms
    assert ours[1].cold_arms == peer.cold_arms == []
    for mab in (peer, ours[1]):
        mab.add_arm("new")
    assert ours[1].cold_arms == peer.cold_arms == ["new"]


def test_thompson_and_chance(rng):
    """LinTS chooses by the law of `ArmBandit`, and a seed repeats it."""
    decisions, rewards, X = log(rng)
    for policy in (LearningPolicy.LinTS(alpha=0.5), LearningPolicy.LinGreedy(epsilon=0.5)):
        one, same, other = (MAB(ARMS, policy, seed=seed) for seed in (1, 1, 2))
        for mab in (one, same, other):
            mab.fit(decisions, rewards, X)
        Z = np.repeat(X[:4], 100, axis=0)
        words = {"samples": 400} if one.bandit.explore == "thompson" else {}
        law = np.array([one.bandit.probabilities(x, **words) for x in X[:4]])
        first = one.predict(Z)
        assert first == same.predict(Z) != other.predict(Z)
        found = [np.mean([arm == a for arm in first[100 * i:100 * i + 100]])
                 for i in range(4) for a in ARMS]
        error = 4.0 * np.sqrt(law * (1.0 - law) / 100.0) + 0.08
        assert (np.abs(np.reshape(found, law.shape) - law) <= error).all()


def test_parts_are_the_whole(rng):
    decisions, rewards, X = log(rng)
    whole, parts = MAB(ARMS, LearningPolicy.LinUCB()), MAB(ARMS, LearningPolicy.LinUCB())
    whole.partial_fit(decisions, rewards, X)  # the first one is `fit`
    for rows in (slice(0, 50), slice(50, 51), slice(51, None)):
        parts.partial_fit(decisions[rows], rewards[rows], X[rows])
    assert parts.predict_expectations(X) == whole.predict_expectations(X)
    parts.fit(decisions[:9], rewards[:9], X[:9])
    assert parts.bandit.rounds == 9
    for other in (copy.deepcopy(whole), pickle.loads(pickle.dumps(whole))):
        other.partial_fit(decisions[:1], [9.0], X[:1])
        assert other.bandit.rounds == 121
    assert whole.bandit.rounds == 120


def test_a_bandit_as_a_pattern(rng):
    decisions, rewards, X = log(rng)
    words = {"explore": "squarecb", "covariance": "diagonal", "seed": 4}
    pattern, own = cf.ArmBandit(1, **words), cf.ArmBandit(4, **words)
    mab = MAB(ARMS, pattern)
    mab.fit(decisions, rewards, X)
    for decision, reward, x in zip(decisions, rewards, X, strict=True):
        own.learn(x, ARMS.index(decision), reward)
    assert mab.predict(X) == [ARMS[own.choose(x)] for x in X]
    means = mab.predict_expectations(X[:1])
    assert list(means.values()) == own.scores(X[0])[0].tolist() and pattern.rounds == 0


def test_forms_of_contexts(rng):
    decisions, rewards, X = log(rng)
    X = X.round(1)
    expected = None
    forms = [X, X.tolist(), X.astype(np.float32).astype(float), scipy.sparse.csr_matrix(X),
             np.asfortranarray(X)]
    for form in forms:
        mab = MAB(ARMS, LearningPolicy.LinUCB())
        mab.fit(tuple(decisions), list(rewards), form)
        got = mab.predict(form)
        expected = expected or got
        assert got == expected
    pandas = pytest.importorskip("pandas")
    mab = MAB(ARMS, LearningPolicy.LinUCB())
    mab.fit(pandas.Series(decisions), pandas.Series(rewards), pandas.DataFrame(X))
    assert mab.predict(pandas.DataFrame(X)) == expected


def test_without_contexts():
    mab = MAB(["a", "b"], LearningPolicy.LinUCB(alpha=0.1))
    mab.fit(["a", "b", "b"], [0.0, 1.0, 1.0])
    assert mab.predict() == "b"
    assert mab.predict_expectations()["b"] == pytest.approx(2.0 / 3.0 + 0.1 / np.sqrt(3.0))


def test_arms_come_and_go(rng):
    decisions, rewards, X = log(rng)
    mab = MAB(list(ARMS), LearningPolicy.LinUCB(alpha=0.0))
    mab.fit(decisions, rewards, X)
    mab.add_arm(frozenset({1}))
    assert mab.arms == [*ARMS, frozenset({1})] and mab.cold_arms == [frozenset({1})]
    mab.partial_fit([frozenset({1})], [50.0], X[:1])
    assert mab.predict(X[:1]) == frozenset({1}) and mab.cold_arms == []
    mab.remove_arm(frozenset({1}))
    assert mab.predict(X[:1]) in ARMS and frozenset({1}) not in mab.predict_expectations(X[:1])
    mab.add_arm(frozenset({1}))  # it comes back with nothing known
    assert mab.cold_arms == [frozenset({1})]
    mab.fit(decisions, rewards, X)
    assert mab.bandit.n_arms == 5


# --- what is refused ------------------------------------------------------------------------


def test_policies_that_are_refused():
    for policy in (None, "LinUCB", LearningPolicy.LinUCB, object()):
        with pytest.raises(TypeError, match="learning_policy"):
            MAB(ARMS, policy)
    for policy, named in ((LearningPolicy.LinUCB(scale=True), "scale"),
                          (LearningPolicy.LinUCB(l2_lambda=0.0), "l2_lambda"),
                          (LearningPolicy.LinUCB(alpha=-1.0), "alpha"),
                          (LearningPolicy.LinGreedy(epsilon=1.5), "epsilon")):
        with pytest.raises((TypeError, ValueError), match=named):
            MAB(ARMS, policy)
    policy = LearningPolicy.LinUCB()
    for arms in ("ab", [], None, ["a", None], ["a", float("nan")], ["a", "a"], [float("inf")],
                 [["a"], ["b"]]):
        with pytest.raises((TypeError, ValueError), match="arm|hash"):
            MAB(arms, policy)
    for words, named in (({"neighborhood_policy": "nearest"}, "neighborhood_policy"),
                         ({"n_jobs": 0}, "n_jobs"), ({"n_jobs": 1.5}, "n_jobs"),
                         ({"seed": "now"}, "seed")):
        with pytest.raises((TypeError, ValueError), match=named):
            MAB(ARMS, policy, **words)


def test_what_is_refused_changes_nothing(rng):
    decisions, rewards, X = log(rng)
    mab = MAB(ARMS, LearningPolicy.LinUCB())
    with pytest.raises(RuntimeError, match="fit"):
        mab.predict(X)
    mab.fit(decisions, rewards, X)
    before = mab.predict_expectations(X)
    for arguments, named in (((decisions[1:], rewards, X), "rewards"),
                             ((decisions, rewards, X[1:]), "contexts"),
                             ((decisions, rewards, X[0]), "contexts"),
                             ((["green"], [1.0], X[:1]), "decisions"),
                             (("red", [1.0], X[:1]), "decisions"),
                             ((["red"], [np.nan], X[:1]), "rewards"),
                             ((["red"], ["1"], X[:1]), "rewards"),
                             ((["red"], [1.0], np.full((1, 5), np.nan)), "x"),
                             ((["red"], [1.0], np.ones((1, 4))), "x")):
        with pytest.raises((TypeError, ValueError), match=named):
            mab.partial_fit(*arguments)
        if named != "x":
            with pytest.raises((TypeError, ValueError), match=named):
                mab.fit(*arguments)
    for arm in (None, float("nan"), "red", ["new"]):
        with pytest.raises((TypeError, ValueError), match="arm|hash"):
            mab.add_arm(arm)
    with pytest.raises(ValueError, match="binarizer"):
        mab.add_arm("new", binarizer=bool)
    with pytest.raises(ValueError, match="arm"):
        mab.remove_arm("green")
    assert mab.predict_expectations(X) == before and mab.arms == ARMS
    alone = MAB(["a"], LearningPolicy.LinUCB())
    with pytest.raises(ValueError, match="last"):
        alone.remove_arm("a")
