"""Slacks and the utility of the feedback in histories; the user who picks one rating higher."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from coactive_cases import Recorder, golden, load, make_data, modules, phi

from coactive_fast import reference
from coactive_fast.learner import CoactiveHistory

NAN = np.nan


@golden
@modules
def test_golden_slack(module):
    a = load("more_slack_one_higher")["slack"]
    data = [SimpleNamespace(features=a["features"][i:j], relevance=a["relevance"][i:j])
            for i, j in zip(a["offsets"], a["offsets"][1:], strict=False)]
    learner = module.PreferencePerceptron(module.Ranking(k=int(a["k"])))
    history = module.simulate(learner, data, module.users.NoisyDepth(int(a["depth"])),
                              order=a["order"], weights=a["weights"])
    for name in ("utility", "optimal_utility", "feedback_utility"):
        np.testing.assert_allclose(getattr(history, name), a[name], rtol=1e-8, atol=1e-10)
    for alpha, slack in zip(a["alphas"], a["slack"], strict=True):
        np.testing.assert_allclose(history.slack(float(alpha)), slack, rtol=1e-8, atol=1e-10)
    assert (a["slack"] > 0.0).any() and (a["slack"] == 0.0).any()


@golden
@modules
def test_golden_one_higher(module):
    a = load("more_slack_one_higher")["one_higher"]
    user = module.users.OneHigher(seed=1)
    for ratings, mask, presented, legal in zip(
            a["ratings"], a["candidates"], a["presented"], a["legal"], strict=True):
        query = SimpleNamespace(candidates=np.flatnonzero(mask), ratings=ratings)
        seen = {user.respond(query, int(presented)) for _ in range(200)}
        assert seen == set(np.flatnonzero(legal))


# --- the feedback in histories ------------------------------------------------------------------


@modules
def test_feedback_utility_of_rankings(module, rng):
    data, k = make_data(rng), 3
    user = Recorder(module.users.NoisyDepth(4, k=k))
    history = module.simulate(
        module.PreferencePerceptron(module.Ranking(k=k)), data, user, weights=data.fitted)
    given = [data.fitted @ phi(q.features, better, k) for q, _, better in user.rounds]
    np.testing.assert_allclose(history.feedback_utility, given, atol=1e-12)
    for alpha in (0.0, 0.4, 1.0):
        gain = np.array(given) - history.utility
        slack = alpha * history.regret - gain
        np.testing.assert_allclose(history.slack(alpha, clip=False), slack, atol=1e-12)
        np.testing.assert_allclose(history.slack(alpha), np.maximum(slack, 0.0), atol=1e-12)
    assert (history.slack(1.0) > 1e-6).any()


@pytest.mark.parametrize("alpha", [0.2, 1.0])
@modules
def test_strict_feedback_has_no_slack(module, alpha, rng):
    data = make_data(rng)
    user = module.users.AlphaInformative(alpha, weights=data.fitted)
    history = module.simulate(module.PreferencePerceptron(module.Ranking()), data, user)
    assert (history.slack(alpha) <= 1e-12).all()
    assert (history.slack(alpha, clip=False) <= 1e-12).all()
    items = rng.standard_normal((30, 3))
    history = module.simulate_items(
        module.PreferencePerceptron(module.Items(items)), items, rng.standard_normal((4, 3)),
        module.users.AlphaInformative(alpha), rounds=12)
    assert (history.slack(alpha) <= 1e-12).all()


@modules
def test_regret_bound_with_slack(module, rng):
    """Theorem 1: the mean regret is at most the mean slack / alpha and 2 R ||w*|| / (alpha sqrt T).
    """
    data, k, alpha = make_data(rng, queries=40), 3, 0.8
    user = Recorder(module.users.NoisyDepth(5, k=k))
    history = module.simulate(
        module.PreferencePerceptron(module.Ranking(k=k)), data, user,
        order=rng.integers(0, 40, 300), weights=data.fitted)
    R = max(np.linalg.norm(phi(q.features, y, k)) for q, *pair in user.rounds for y in pair)
    T = np.arange(1, 301)
    for clip in (True, False):
        slack = np.cumsum(history.slack(alpha, clip=clip)) / T
        bound = slack / alpha + 2 * R * np.linalg.norm(data.fitted) / (alpha * np.sqrt(T))
        assert (history.average_regret <= bound + 1e-12).all()
    assert history.slack(alpha).sum() > 0.0


@modules
def test_slacks_of_items_are_each_users_own(module, rng):
    """Clipped before the mean is taken, over those who are still there."""
    items, weights = rng.standard_normal((8, 3)), rng.standard_normal((3, 3))
    user = Recorder(module.users.Better(seed=3))
    history = module.simulate_items(
        module.PreferencePerceptron(module.Items(items)), items, weights, user, rounds=9)
    table = np.full((2, 3, 9), NAN)
    u, t, before = -1, 0, None
    for query, presented, better in user.rounds:
        if before is None or not np.array_equal(query.utilities, before):
            u, t, before = u + 1, 0, query.utilities
        best = query.utilities[query.candidates].max()
        table[:, u, t] = best, query.utilities[better]
        now = query.utilities[presented]
        assert history.regret_per_user[u, t] == pytest.approx(best - now, abs=1e-12)
        assert history.gain_per_user[u, t] == pytest.approx(query.utilities[better] - now,
                                                            abs=1e-12)
        t += 1
    there = ~np.isnan(table[1])
    np.testing.assert_array_equal(np.isnan(history.gain_per_user), ~there)
    for t in range(9):
        if not there[:, t].any():
            assert np.isnan(history.feedback_utility[t]) and np.isnan(history.slack(0.5)[t])
            continue
        mean = table[1][there[:, t], t].mean()
        assert history.feedback_utility[t] == pytest.approx(mean, abs=1e-12)
        own = 0.5 * history.regret_per_user[:, t] - history.gain_per_user[:, t]
        own = own[there[:, t]]
        assert history.slack(0.5)[t] == pytest.approx(np.maximum(own, 0.0).mean(), abs=1e-12)
        assert history.slack(0.5, clip=False)[t] == pytest.approx(own.mean(), abs=1e-12)


@modules
def test_dueling_bandits_have_feedback_too(module, rng):
    data = make_data(rng)
    user = module.users.AlphaInformative(1.0, weights=data.fitted)
    history = module.simulate(module.DuelingBandit(module.Ranking(), seed=0), data, user)
    np.testing.assert_allclose(history.slack(1.0), 0.0, atol=1e-12)
    items = rng.standard_normal((20, 3))
    history = module.simulate_items(
        module.DuelingBandit(module.Items(items), seed=0), items, rng.standard_normal((2, 3)),
        module.users.AlphaInformative(1.0), rounds=5)
    assert (history.gain_per_user >= 0.0).all()


# --- the record itself --------------------------------------------------------------------------


def twin_of(history):
    return reference.History(*history)


def product_of(history):
    return CoactiveHistory(*history)


@pytest.mark.parametrize("make", [twin_of, product_of])
def test_slack_by_hand(make):
    h = make([np.array(v) for v in ([2.0, 2.0, 1.0], [0.0, 1.0, 0.0], [2.0, 3.0, 1.0])]
             + [None, np.array([0.5, 3.0, 0.0])])
    np.testing.assert_array_equal(h.slack(0.5), [0.5, 0.0, 0.5])
    np.testing.assert_array_equal(h.slack(0.5, clip=False), [0.5, -1.0, 0.5])
    regret = np.array([[2.0, 1.0, NAN], [4.0, NAN, NAN]])
    gain = np.array([[2.0, 0.0, NAN], [1.0, NAN, NAN]])
    mean = np.array([3.0, 1.0, NAN])
    h = make([mean, mean, mean, regret, mean, gain])
    np.testing.assert_array_equal(h.slack(0.5), [0.5, 0.5, NAN])
    np.testing.assert_array_equal(h.slack(0.5, clip=False), [0.0, 0.5, NAN])


@pytest.mark.parametrize("make", [twin_of, product_of])
def test_refused(make):
    one = np.ones(2)
    known = make([one, one, one, None, one])
    for alpha in (-0.1, 1.1, NAN, "0.5", None):
        with pytest.raises((TypeError, ValueError), match="alpha"):
            known.slack(alpha)
    for clip in (1, "no", None):
        with pytest.raises((TypeError, ValueError), match="clip"):
            known.slack(0.5, clip=clip)
    with pytest.raises(ValueError, match="feedback_utility"):
        make([one, one, one, None]).slack(0.5)
    with pytest.raises(ValueError, match="gain_per_user"):
        make([one, one, one, np.ones((3, 2)), one]).slack(0.5)


# --- one rating higher --------------------------------------------------------------------------


@modules
def test_one_higher_draws_uniformly_and_only_among_several(module):
    query = SimpleNamespace(candidates=[5, 1, 0, 2, 3], ratings=np.array([1, 2, 2, 5, 2, 2]))
    user = module.users.OneHigher(seed=3)
    seen = Counter(user.respond(query, 0) for _ in range(3000))
    assert set(seen) == {1, 2, 5} and min(seen.values()) > 900
    user.reset()
    draws = np.random.default_rng(3)
    assert [user.respond(query, 0) for _ in range(20)] == [
        [1, 2, 5][int(draws.random() * 3)] for _ in range(20)]
    state = user.rng.bit_generator.state
    for presented in (1, 3):  # nothing is one higher: two higher will not do, nor is 4 left
        assert user.respond(query, presented) == presented
    assert user.rng.bit_generator.state == state
    other = SimpleNamespace(candidates=[0, 3, 4], ratings=[4.0, 0.0, 0.0, 5.0, 4.5])
    assert user.respond(other, 0) == 3
    assert user.rng.bit_generator.state == state


@modules
def test_one_higher_in_simulations(module, rng):
    items, weights = rng.standard_normal((40, 3)), rng.standard_normal((3, 3))
    user = Recorder(module.users.OneHigher(seed=2))
    module.simulate_items(module.PreferencePerceptron(module.Items(items)), items, weights, user,
                          rounds=10)
    for query, presented, better in user.rounds:
        gain = query.ratings[better] - query.ratings[presented]
        assert gain == (0.0 if better == presented else 1.0)
    with pytest.raises(TypeError, match="query"):
        module.users.OneHigher().respond(SimpleNamespace(features=[[1.0]]), [0])
    pair = SimpleNamespace(candidates=[0, 1, 2], ratings=[5, 2, 2])
    assert [module.users.OneHigher().respond(pair, p) for p in ([0, 1], [1, 2])] == [0, 1]
