"""Laws of the simulated users and of the measures of rankings."""

import itertools
import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from coactive_cases import make_data, modules, phi


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("k", [1, 3, 20])
@modules
def test_alpha_informative_walks_no_further_than_needed(module, alpha, k, rng):
    for query in make_data(rng):
        x, w = query.features, rng.standard_normal(4)
        n, u = len(x), x @ w
        presented = rng.permutation(n)
        better = module.users.AlphaInformative(alpha, weights=w, k=k).respond(query, presented)
        assert sorted(better) == list(range(n))
        now = w @ phi(x, presented, k)
        wanted = alpha * (w @ phi(x, sorted(range(n), key=lambda d: -u[d]), k) - now)
        assert w @ phi(x, better, k) - now >= wanted - 1e-9
        stops = []
        for m in range(min(k, n), n + 1):
            top = sorted(presented[:m], key=lambda d: -u[d])[:k]
            gain = w @ phi(x, top, k) - now
            rest = [d for d in presented if d not in top]
            if abs(gain - wanted) < 1e-9:  # rounding may decide either way
                stops.append([*top, *rest])
            elif gain > wanted:
                stops.append([*top, *rest])
                break
        assert better.tolist() in [list(map(int, stop)) for stop in stops]


@modules
def test_equal_utilities_keep_their_presented_order(module):
    query = SimpleNamespace(features=[[1.0], [2.0], [1.0], [2.0]], relevance=[1, 2, 1, 2])
    presented = [2, 3, 0, 1]
    alpha = module.users.AlphaInformative(1.0, weights=[1.0], k=3)
    assert alpha.respond(query, presented).tolist() == [3, 1, 2, 0]
    noisy = module.users.NoisyDepth(4, k=3)
    assert noisy.respond(query, presented).tolist() == [3, 1, 2, 0]


@modules
def test_noisy_depth(module, rng):
    for query in make_data(rng):
        n, presented = len(query.features), rng.permutation(len(query.features))
        for depth, k in itertools.product([1, 2, 7, 40], [1, 5]):
            better = module.users.NoisyDepth(depth, k=k).respond(query, presented)
            seen = presented[:depth]
            top = seen[np.argsort(-query.relevance[seen], kind="stable")][:k]
            rest = presented[~np.isin(presented, top)]
            assert better.tolist() == [*top, *rest] and better.size == n


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
@modules
def test_alpha_informative_takes_the_worst_item_that_will_do(module, alpha, rng):
    user = module.users.AlphaInformative(alpha)
    for _ in range(200):
        utilities = rng.integers(0, 6, 10).astype(float)
        candidates = rng.permutation(10)[: rng.integers(1, 11)]
        presented = int(rng.choice(candidates))
        better = user.respond(
            SimpleNamespace(candidates=candidates, utilities=utilities, ratings=None), presented
        )
        best, now = utilities[candidates].max(), utilities[presented]
        if now == best:
            assert better == presented
            continue
        will_do = [
            (utilities[i], i) for i in candidates if utilities[i] - now >= alpha * (best - now)
        ]
        assert (utilities[better], better) == min(will_do)


@modules
def test_raters_draw_uniformly_and_only_among_several(module):
    query = SimpleNamespace(candidates=[5, 1, 0, 2, 3], ratings=np.array([1, 3, 3, 5, 4, 3]))
    better, best = module.users.Better(seed=3), module.users.Best(seed=3)
    seen = Counter(better.respond(query, 0) for _ in range(3000))
    assert set(seen) == {1, 2, 5} and min(seen.values()) > 900
    rng = np.random.default_rng(3)
    better.reset()
    drawn = [better.respond(query, 0) for _ in range(20)]
    assert drawn == [[1, 2, 5][int(rng.random() * 3)] for _ in range(20)]
    state = best.rng.bit_generator.state
    assert best.respond(query, 1) == 3  # a single best item: nothing is drawn
    assert better.respond(query, 3) == 3  # nothing is rated higher
    assert best.rng.bit_generator.state == state


@modules
def test_a_generator_given_as_seed_is_copied(module):
    rng = np.random.default_rng(5)
    before = rng.bit_generator.state
    query = SimpleNamespace(candidates=[0, 1, 2], ratings=[1, 1, 1], utilities=[1.0, 2.0, 3.0])
    for user in (
        module.users.Best(seed=rng),
        module.users.Better(seed=rng),
        module.users.ExpectedAlphaInformative(0.5, seed=rng),
    ):
        first = [user.respond(query, 0) for _ in range(20)]
        assert user.reset() is user
        assert [user.respond(query, 0) for _ in range(20)] == first
    assert rng.bit_generator.state == before


@pytest.mark.parametrize("base_alpha", [None, 1.0])
@modules
def test_expected_alpha_informative_items(module, base_alpha, rng):
    utilities = rng.standard_normal(12)
    query = SimpleNamespace(candidates=np.arange(12), utilities=utilities)
    presented = int(np.argsort(utilities)[4])
    user = module.users.ExpectedAlphaInformative(0.5, base_alpha=base_alpha, seed=1)
    gains = np.array(
        [utilities[user.respond(query, presented)] - utilities[presented] for _ in range(4000)]
    )
    wanted = 0.5 * (utilities.max() - utilities[presented])
    error = gains.std() / math.sqrt(4000)
    sure = module.users.AlphaInformative(base_alpha or 0.5).respond(query, presented)
    assert gains.mean() > wanted - 3 * error
    assert gains.mean() < utilities[sure] - utilities[presented] + 3 * error
    if base_alpha:  # the share is exact where the answer alone is better than asked for
        assert gains.mean() < wanted + 6 * error
        assert len(np.unique(gains)) > 6


@modules
@pytest.mark.parametrize("base_alpha", [None, 0.9, 0.01])
def test_expected_alpha_informative_by_its_definition(module, base_alpha, rng):
    """p is the smallest number for which the expected gain suffices; then one coin."""
    user = module.users.ExpectedAlphaInformative(0.3, base_alpha=base_alpha, seed=11)
    sure = module.users.AlphaInformative(0.3 if base_alpha is None else base_alpha)
    draws, seen, grid = np.random.default_rng(11), Counter(), np.linspace(0, 1, 100001)
    for _ in range(400):
        u = rng.integers(0, 5, 8).astype(float)
        query = SimpleNamespace(candidates=np.arange(8), utilities=u)
        presented = int(rng.integers(8))
        drawn = [int(draws.random() * 8) for _ in range(5)]
        answer, wanted = sure.respond(query, presented), 0.3 * (u.max() - u[presented])
        gain, mean = u[answer] - u[presented], u[drawn].mean() - u[presented]
        enough = grid * gain + (1 - grid) * mean >= wanted - 1e-12
        p = grid[enough.argmax()] if enough.any() else 1.0
        seen["random" if p == 0 else "sure" if p == 1 else "coin"] += 1
        coin = draws.random()
        expected = answer if coin < p else drawn[min(4, int((coin - p) / (1 - p) * 5))]
        assert user.respond(query, presented) == expected
    assert min(seen.values()) > 20 and len(seen) == 3


@modules
def test_expected_alpha_informative_draws(module):
    """Six numbers a round for items whatever happens: five objects and the coin."""
    query = SimpleNamespace(candidates=[1], utilities=np.array([0.0, 1.0]))
    user, rng = module.users.ExpectedAlphaInformative(0.5, seed=9), np.random.default_rng(9)
    assert user.respond(query, 1) == 1
    rng.random(6)
    assert user.rng.bit_generator.state == rng.bit_generator.state


@modules
def test_expected_alpha_informative_rankings(module, rng):
    query = SimpleNamespace(features=rng.standard_normal((6, 3)))
    w = rng.standard_normal(3)
    presented = np.argsort(query.features @ w)  # the worst ordering
    user = module.users.ExpectedAlphaInformative(0.4, weights=w, base_alpha=1.0, k=2, seed=2)
    now = w @ phi(query.features, presented, 2)
    best = w @ phi(query.features, presented[::-1], 2)
    answers = [user.respond(query, presented) for _ in range(2000)]
    gains = np.array([w @ phi(query.features, y, 2) - now for y in answers])
    assert all(sorted(y) == list(range(6)) for y in answers)
    assert gains.mean() > 0.4 * (best - now) - 3 * gains.std() / math.sqrt(2000)
    assert len({tuple(y[:2]) for y in answers}) > 20
    # the draws: five permutations of six by five numbers each, and the coin
    user.reset().respond(query, presented)
    draws = np.random.default_rng(2)
    draws.random(26)
    assert user.rng.bit_generator.state == draws.bit_generator.state


@modules
def test_two_items_are_compared(module):
    query = SimpleNamespace(candidates=[0, 1, 2], utilities=[1.0, 3.0, 3.0], ratings=[5, 2, 2])
    for user in (module.users.AlphaInformative(0.5), module.users.ExpectedAlphaInformative(0.5)):
        assert [user.respond(query, pair) for pair in ([0, 1], [1, 2], [2, 1])] == [1, 1, 2]
    for user in (module.users.Better(), module.users.Best()):
        assert [user.respond(query, pair) for pair in ([0, 1], [1, 2], [2, 1])] == [0, 1, 2]


@modules
def test_clicks(module, rng):
    clicks = module.users.feedback_from_clicks
    for _ in range(100):
        presented = rng.permutation(12)[: rng.integers(1, 9)]
        clicked = rng.integers(0, 12, rng.integers(0, 9))
        better = clicks(presented, clicked).tolist()
        assert sorted(better) == sorted({*presented.tolist(), *clicked.tolist()})
        front = [d for d in presented if d in clicked]
        assert better[: len(front)] == front
        elsewhere = [d for d in dict.fromkeys(clicked.tolist()) if d not in presented]
        assert better[len(front) :][: len(elsewhere)] == elsewhere
        assert clicks(presented, [*clicked, *clicked]).tolist() == better
    assert clicks([3, 1], []).tolist() == clicks([3, 1], [3]).tolist() == [3, 1]
    assert clicks([3, 1], {9, 4, 1}).tolist() == [1, 4, 9, 3]
    for presented, clicked, name in [
        ([0, 0], [1], "presented"),
        ([0, -1], [1], "presented"),
        ([0, 1], [-1], "clicked"),
        ([0, 1], [0.5], "clicked"),
        ([0, 1], [[0]], "clicked"),
    ]:
        with pytest.raises((TypeError, ValueError), match=name):
            clicks(presented, clicked)


@modules
def test_bad_arguments_of_users(module):
    users = module.users
    for build, arguments, options, name in [
        (users.AlphaInformative, [1.5], {}, "alpha"),
        (users.AlphaInformative, [-0.1], {}, "alpha"),
        (users.AlphaInformative, [np.nan], {}, "alpha"),
        (users.AlphaInformative, [0.5], {"weights": [np.nan]}, "weights"),
        (users.AlphaInformative, [0.5], {"k": 0}, "k"),
        (users.NoisyDepth, [0], {}, "depth"),
        (users.NoisyDepth, [2.5], {}, "depth"),
        (users.ExpectedAlphaInformative, [0.5], {"base_alpha": 2.0}, "base_alpha"),
        (users.Best, [], {"seed": "x"}, "seed"),
    ]:
        with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b"):
            build(*arguments, **options)
    ranking = SimpleNamespace(features=[[1.0], [2.0]], relevance=[0.0, np.nan])
    items = SimpleNamespace(candidates=[0, 2], utilities=[1.0, 2.0, 3.0], ratings=[1, 2, 3])
    alpha = users.AlphaInformative(0.5, weights=[1.0])
    for user, query, presented, name in [
        (users.AlphaInformative(0.5), ranking, [0, 1], "weights"),
        (users.AlphaInformative(0.5, weights=[1.0, 2.0]), ranking, [0, 1], "weights"),
        (alpha, ranking, [0], "presented"),
        (alpha, ranking, [0, 0], "presented"),
        (alpha, ranking, [0, 2], "presented"),
        (alpha, object(), [0, 1], "query"),
        (alpha, items, 1, "presented"),
        (alpha, items, 3, "presented"),
        (users.NoisyDepth(2), ranking, [0, 1], "relevance"),
        (users.NoisyDepth(2), items, 0, "query"),
        (users.Better(), ranking, [0, 1], "query"),
        (users.Best(), items, 1, "presented"),
    ]:
        with pytest.raises((TypeError, ValueError), match=name):
            user.respond(query, presented)


@pytest.mark.parametrize("gain", ["linear", "exponential"])
@modules
def test_ndcg_against_all_orderings(module, gain, rng):
    for _ in range(10):
        relevance = rng.integers(0, 4, 5).astype(float)
        gains = relevance if gain == "linear" else 2.0**relevance - 1.0
        values = {
            y: sum(gains[d] / math.log2(place + 2) for place, d in enumerate(y[:3]))
            for y in itertools.permutations(range(5))
        }
        best = max(values.values())
        for y in list(values)[::17]:
            got = module.metrics.dcg(relevance, y, k=3, gain=gain)
            assert math.isclose(got, values[y], abs_tol=1e-12)
            got = module.metrics.ndcg(relevance, y, k=3, gain=gain, empty=-1.0)
            assert math.isclose(got, values[y] / best if best else -1.0, abs_tol=1e-12)


@modules
def test_measures_of_many_queries(module, rng):
    sizes = [3, 1, 6]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    relevance = np.where(np.arange(10) == 3, 0, rng.integers(1, 4, 10)).astype(float)
    rankings = [rng.permutation(n) for n in sizes]
    for measure, options in (("dcg", {"k": 2}), ("ndcg", {"empty": 0.25, "gain": "exponential"})):
        measure = getattr(module.metrics, measure)
        singles = [
            measure(relevance[i:j], y, **options)
            for i, j, y in zip(offsets[:-1], offsets[1:], rankings, strict=True)
        ]
        many = measure(relevance, np.concatenate(rankings), offsets=offsets, **options)
        np.testing.assert_allclose(many, singles, rtol=1e-14)
        for bad in ([0, 10, 5, 10], [1, 10], [0, 9], [[0, 10]], [0.0, 10.0]):
            with pytest.raises((TypeError, ValueError), match="offsets"):
                measure(relevance, np.concatenate(rankings), offsets=bad)
        for bad in (np.zeros(10, int), np.arange(9), np.arange(10)):
            with pytest.raises((TypeError, ValueError), match="ranking"):
                measure(relevance, bad, offsets=offsets)


@modules
def test_measures_by_hand(module):
    metrics = module.metrics
    assert metrics.ndcg([0, 0], [1, 0]) == 0.0
    assert math.isnan(metrics.ndcg([0, 0], [1, 0], empty=math.nan))
    assert metrics.convex_regret([1.0, 3.0], [2.0, 3.0], lambda d: d * d + 7.0) == 0.5
    for call, name in [
        (lambda: metrics.dcg([np.nan], [0]), "relevance"),
        (lambda: metrics.dcg([1.0], [1]), "ranking"),
        (lambda: metrics.dcg([1.0, 2.0], [0, 0]), "ranking"),
        (lambda: metrics.dcg([1.0], [0], k=0), "k"),
        (lambda: metrics.dcg([1.0], [0], gain="cubic"), "gain"),
        (lambda: metrics.ndcg([-1.0], [0]), "relevance"),
        (lambda: metrics.ndcg([1.0], [0], empty="zero"), "empty"),
        (lambda: metrics.convex_regret([], [], abs), "utility"),
        (lambda: metrics.convex_regret([1.0], [1.0, 2.0], abs), "optimal_utility"),
        (lambda: metrics.convex_regret([1.0], [1.0], None), "loss"),
    ]:
        with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b"):
            call()
