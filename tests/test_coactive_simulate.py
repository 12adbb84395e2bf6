"""The compiled simulations give what the loop of single calls gives: decisions and weights."""

import copy

import numpy as np
import pytest

import coactive_fast as cf
from coactive_fast.data import RankingData

RULES = {
    "preference": lambda task: cf.PreferencePerceptron(task),
    "batch": lambda task: cf.PreferencePerceptron(task, batch=3),
    "exponentiated": lambda task: cf.ExponentiatedPreferencePerceptron(task, scale=2.0),
    "positive": lambda task: cf.ExponentiatedPreferencePerceptron(task, signed=False, horizon=50),
    "convex": lambda task: cf.ConvexPreferencePerceptron(task, radius=2.0),
    "second_order": lambda task: cf.SecondOrderPreferencePerceptron(task, radius=0.5),
    "deferred": lambda task: cf.SecondOrderPreferencePerceptron(
        task, radius=0.5, projection="deferred"),
    "convex_box": lambda task: cf.ConvexPreferencePerceptron(task, feasible=cf.Box(-0.5, 0.75)),
    "second_order_l1": lambda task: cf.SecondOrderPreferencePerceptron(
        task, gamma=0.5, feasible=cf.L1Ball(1.5)),
    "dueling": lambda task: cf.DuelingBandit(task, explore=1.5, step=0.7, seed=4),
}
RANKERS = {
    "alpha": lambda w: cf.users.AlphaInformative(0.6),
    "own": lambda w: cf.users.AlphaInformative(0.3, weights=w + 0.5),
    "one": lambda w: cf.users.AlphaInformative(1.0),
    "shallow": lambda w: cf.users.NoisyDepth(2),
    "deep": lambda w: cf.users.NoisyDepth(9),
    "expected": lambda w: cf.users.ExpectedAlphaInformative(0.4, base_alpha=0.8, seed=3),
}
RATERS = {
    "alpha": lambda: cf.users.AlphaInformative(0.5),
    "one": lambda: cf.users.AlphaInformative(1.0),
    "zero": lambda: cf.users.AlphaInformative(0.0),
    "expected": lambda: cf.users.ExpectedAlphaInformative(0.5, base_alpha=1.0, seed=1),
    "better": lambda: cf.users.Better(seed=2),
    "best": lambda: cf.users.Best(seed=2),
    "one_higher": lambda: cf.users.OneHigher(seed=2),
}


class Plain:
    """The same user, but unknown to the package: the loop of single calls."""

    def __init__(self, user):
        self.user = user

    def respond(self, query, presented):
        return self.user.respond(query, presented)


def rankings(dtype, seed=0, d=7, queries=40):
    """Few distinct values, so that scores and utilities tie; one query of a single document."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 14, queries)
    sizes[3] = 1
    features = rng.integers(-2, 3, (sizes.sum(), d)).astype(dtype)
    relevance = rng.integers(0, 3, len(features)).astype(float)
    return RankingData(features, relevance, np.concatenate([[0], np.cumsum(sizes)]))


def same(a, b):
    assert a == b, (a.to_dict(), b.to_dict())


def asked_by_calls(user):
    """The same user as a class of one's own, which no compiled loop may stand in for."""

    class Own(type(user)):
        def respond(self, query, presented):
            return super().respond(query, presented)

    user.__class__ = Own
    return user


def prepared(user, weights, k):
    """What `simulate` makes of a user: the task's k, and w* where it has none."""
    user = copy.deepcopy(user)
    user.k = k
    if getattr(user, "weights", 0) is None:
        user.weights = weights
    return user


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("user", RANKERS)
@pytest.mark.parametrize("rule", RULES)
def test_rankings(rule, user, dtype):
    data, rng = rankings(dtype), np.random.default_rng(5)
    weights = rng.integers(-2, 3, data.dimension).astype(float)
    order = rng.integers(0, len(data), 120)
    fast, slow = (RULES[rule](cf.Ranking(k=4)) for _ in range(2))
    simulated, loop = RANKERS[user](weights), prepared(RANKERS[user](weights), weights, 4)
    history = cf.simulate(fast, data, simulated, order=order, weights=weights)
    by_calls = cf.simulate(slow, data, Plain(loop), order=order, weights=weights)
    np.testing.assert_array_equal(fast.weights, slow.weights)
    np.testing.assert_array_equal(fast.average_weights, slow.average_weights)
    assert fast.rounds == slow.rounds == 120
    for name in ("utility", "optimal_utility", "feedback_utility"):
        np.testing.assert_allclose(getattr(history, name), getattr(by_calls, name), rtol=1e-12,
                                   atol=1e-12)
    for one, other in ((simulated, loop), (fast, slow)):  # both have drawn alike
        if hasattr(one, "rng"):
            assert one.rng.random() == other.rng.random()


def test_a_seed_leaves_the_user_alone():
    data = rankings(np.float32)
    user = cf.users.ExpectedAlphaInformative(0.5, seed=7)
    before = copy.deepcopy(user.rng).random()
    runs = [cf.simulate(cf.PreferencePerceptron(cf.Ranking()), data, user, seed=s)
            for s in (1, 1, 2)]
    same(runs[0], runs[1])
    assert runs[0] != runs[2]
    assert user.rng.random() == before


@pytest.mark.parametrize("features", [5, 30])  # below and above the use of the Gram matrix
@pytest.mark.parametrize("user", RATERS)
@pytest.mark.parametrize("rule", RULES)
def test_items(rule, user, features):
    rng = np.random.default_rng(features)
    catalogue = rng.integers(-2, 3, (60, features)).astype(float)
    catalogue[7] = catalogue[31]  # equal items: the lower index
    weights = rng.standard_normal((3, features)).round(1)
    learner = RULES[rule](cf.Items(catalogue))
    ratings = np.where(rng.random((3, 60)) < 0.5, rng.integers(1, 6, (3, 60)), np.nan)
    given = {"rounds": 62, "ratings": ratings, "seed": 11}
    history = cf.simulate_items(learner, catalogue, weights, RATERS[user](), **given)
    slow = asked_by_calls(RATERS[user]())
    same(history, cf.simulate_items(learner, catalogue, weights, slow, **given))
    assert np.isnan(history.regret_per_user[:, -1]).all()  # more rounds than items
    assert learner.rounds == 0
    same(history, cf.simulate_items(learner, cf.Items(catalogue), weights, RATERS[user](),
                                    n_jobs=3, **given))


def test_near_ties_of_moved_scores_are_scored_afresh():
    """Items that differ in the last bit: the Gram rows cannot tell them apart, the loop can."""
    rng = np.random.default_rng(0)
    base = rng.standard_normal((30, 40))
    twins = base * (1.0 + 2.0**-52 * rng.integers(-1, 2, base.shape))
    catalogue = np.vstack([base, twins])
    weights = rng.standard_normal((4, 40))
    learner = cf.PreferencePerceptron(cf.Items(catalogue))
    fast = cf.simulate_items(learner, catalogue, weights, cf.users.AlphaInformative(0.5),
                             rounds=25)
    slow = cf.simulate_items(learner, catalogue, weights, Plain(cf.users.AlphaInformative(0.5)),
                             rounds=25)
    same(fast, slow)


def catalogue_of(kind, rng):
    """Several hundred items, so that scores have many peaks and moved ones are made afresh."""
    made = rng.standard_normal((700, 30))
    if kind == "crowded":  # most are nearly the same: far more than a few are near the best
        made[50:] = made[:50].repeat(13, axis=0) * (1.0 + 1e-7 * rng.standard_normal((650, 30)))
    elif kind == "null":  # equal to the last bit, and best wherever the weights dislike all others
        made = np.abs(made)
        made[rng.permutation(700)[:300]] = 0.0
    elif kind == "float32":
        made = made.astype(np.float32)
    elif kind == "heavy":  # a few items by which 16 bits would say nothing of the others
        made *= np.exp(3.0 * rng.standard_normal((700, 1)))
    return made * {"tiny": 1e-130, "large": 1e120}.get(kind, 1.0)


@pytest.mark.parametrize("kind", ["normal", "crowded", "null", "float32", "heavy", "tiny",
                                  "large"])
@pytest.mark.parametrize("user", RATERS)
@pytest.mark.parametrize("rule", RULES)
def test_large_catalogues(rule, user, kind):
    rng = np.random.default_rng(8)
    catalogue = catalogue_of(kind, rng)
    weights = rng.standard_normal((2, 30)) / np.abs(catalogue).max()
    weights[1] = -np.abs(weights[1])
    learner = RULES[rule](cf.Items(catalogue))
    given = {"rounds": 330, "seed": 3}
    try:
        slow = cf.simulate_items(learner, catalogue, weights, asked_by_calls(RATERS[user]()),
                                 **given)
    except ValueError:  # squares of large items overflow in rules that need them
        assert kind == "large"
        with pytest.raises(ValueError):
            cf.simulate_items(learner, catalogue, weights, RATERS[user](), **given)
        return
    same(cf.simulate_items(learner, catalogue, weights, RATERS[user](), **given), slow)


def test_a_catalogue_that_went_leaves_no_gram_matrix():
    kept = cf.coactive._simulation._grams
    catalogue = cf.Items(np.random.default_rng(0).standard_normal((50, 30)))
    before, address = len(kept), id(catalogue.features)
    learner = cf.PreferencePerceptron(catalogue)
    for _ in range(2):
        cf.simulate_items(learner, catalogue, np.ones((9, 30)), cf.users.AlphaInformative(0.5),
                          rounds=20)
        assert len(kept) == before + 1 and kept[address][0].dtype == np.int16
    del catalogue, learner
    assert len(kept) == before


@pytest.mark.parametrize("task", ["rankings", "items"])
def test_runs_of_the_dueling_bandit_at_many_sizes(task):
    """Real numbers, float32 rows, and so many rounds that rows of what is left are moved."""
    rng = np.random.default_rng(2)
    if task == "rankings":
        data = cf.data.make_ranking(n_queries=300, n_features=20, documents=12, seed=3)
        fast, slow = (cf.DuelingBandit(cf.Ranking(), step=0.3, seed=1) for _ in "12")
        user = cf.users.AlphaInformative(0.5)
        history = cf.simulate(fast, data, user)
        by_calls = cf.simulate(slow, data, Plain(prepared(user, data.fit_weights(), 5)))
        np.testing.assert_allclose(history.regret, by_calls.regret, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(fast.weights, slow.weights)
        return
    catalogue = rng.standard_normal((400, 30)).astype(np.float32)
    weights = rng.standard_normal((2, 30))
    learner = cf.DuelingBandit(cf.Items(catalogue), step=0.3, seed=1)
    user = cf.users.Better(seed=0)
    same(cf.simulate_items(learner, catalogue, weights, user, rounds=210),
         cf.simulate_items(learner, catalogue, weights, Plain(user), rounds=210))


@pytest.mark.parametrize("pending", [True, False])
def test_a_round_of_the_dueling_bandit_that_fails_draws_nothing(pending):
    """The loop of single calls ends with the same generator, weights and comparison."""
    x = np.random.default_rng(0).standard_normal((7, 3))
    huge = np.array([[1.7e308, 1.7e308, 0.0], [1.7e308, -1.7e308, 0.0]])
    for good in (0, 5):
        data = RankingData(np.concatenate([x, huge]), np.zeros(9), [0, 7, 9])
        learner = cf.DuelingBandit(cf.Ranking(k=3), explore=10.0, step=0.5, seed=6)
        if pending:
            learner.present(x)
        loop = copy.deepcopy(learner)
        order, weights = [0] * good + [1], np.ones(3)
        with pytest.raises(ValueError, match=f"round {good}"):
            cf.simulate(learner, data, cf.users.AlphaInformative(0.5), order=order,
                        weights=weights)
        with pytest.raises(ValueError, match="x gives scores that overflow"):
            cf.simulate(loop, data, Plain(cf.users.AlphaInformative(0.5, weights=weights, k=3)),
                        order=order, weights=weights)
        assert len(learner.last_history) == learner.rounds == loop.rounds == good
        assert learner.rng.random() == loop.rng.random()
        if good:
            np.testing.assert_array_equal(learner.weights, loop.weights)
        assert learner.weights.any() == loop.weights.any()
        assert (learner._engine._state()["pending"] is None) == (not pending or good > 0)
