"""DCG, NDCG and convex regret: against their slow twins and against the formula."""

import math

import numpy as np
import pytest

from coactive_fast import metrics, reference

twin = reference.metrics


def queries(rng, n=40):
    lengths = rng.integers(1, 12, n)
    relevance = rng.integers(0, 5, lengths.sum()).astype(float)
    relevance[rng.random(relevance.size) < 0.4] = 0.0
    ranking = np.concatenate([rng.permutation(m) for m in lengths])
    return relevance, ranking, np.concatenate(([0], np.cumsum(lengths)))


def test_the_formula():
    relevance, ranking = [3.0, 0.5, 2.0], [2, 0, 1]
    expected = 2.0 / 1.0 + 3.0 / math.log2(3.0) + 0.5 / 2.0
    assert metrics.dcg(relevance, ranking) == pytest.approx(expected, rel=1e-15)
    best = 3.0 / 1.0 + 2.0 / math.log2(3.0) + 0.5 / 2.0
    assert metrics.ndcg(relevance, ranking) == pytest.approx(expected / best, rel=1e-15)
    assert metrics.dcg(relevance, ranking, k=1, gain="exponential") == 3.0
    assert metrics.ndcg(relevance, ranking, k=1, gain="exponential") == 3.0 / 7.0
    assert metrics.dcg(relevance, [2]) == 2.0
    assert metrics.dcg(relevance, []) == 0.0
    assert type(metrics.dcg(relevance, ranking)) is type(metrics.ndcg(relevance, ranking)) is float


@pytest.mark.parametrize("k", [1, 3, 5, 100])
@pytest.mark.parametrize("gain", ["linear", "exponential"])
def test_twins_and_many_at_once(k, gain, rng):
    relevance, ranking, offsets = queries(rng)
    many = (metrics.dcg(relevance, ranking, k=k, gain=gain, offsets=offsets),
            metrics.ndcg(relevance, ranking, k=k, gain=gain, offsets=offsets, empty=0.25))
    for i, (a, b) in enumerate(zip(offsets[:-1], offsets[1:], strict=True)):
        one = relevance[a:b], ranking[a:b]
        for f, options, found in ((twin.dcg, {}, many[0][i]),
                                  (twin.ndcg, {"empty": 0.25}, many[1][i])):
            expected = f(*one, k=k, gain=gain, **options)
            assert found == pytest.approx(expected, rel=1e-13)
            alone = getattr(metrics, f.__name__)(*one, k=k, gain=gain, **options)
            assert alone == pytest.approx(expected, rel=1e-13)


def test_queries_without_relevant_documents():
    for module in (metrics, twin):
        assert module.ndcg([0.0, 0.0], [0, 1]) == 0.0
        assert module.ndcg([0.0, 0.0], [0, 1], empty=1.0) == 1.0
        assert math.isnan(module.ndcg([0.0, 0.0], [0, 1], empty=math.nan))
    found = metrics.ndcg([0, 0, 1], [1, 0, 0], offsets=[0, 2, 3], empty=math.nan)
    assert np.nanmean(found) == 1.0


def hinge(d):
    return max(0.0, 1.0 - d)


@pytest.mark.parametrize("loss", [hinge, lambda d: d * d - d, lambda d: math.exp(-d), lambda d: -d,
                                  lambda d: np.logaddexp(0.0, -d), lambda d: 3.0])
@pytest.mark.parametrize("n", [1, 2, 50])
def test_convex_regret(loss, n, rng):
    optimal = rng.random(n) + 1.0
    utility = optimal * rng.random(n)
    expected = np.mean([loss(a - b) for a, b in zip(utility, optimal, strict=True)]) - loss(0.0)
    assert metrics.convex_regret(utility, optimal, loss) == pytest.approx(expected, rel=1e-12)
    assert twin.convex_regret(utility, optimal, loss) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("module", [metrics, twin])
@pytest.mark.parametrize("arguments, options, message", [
    (([1.0, 2.0], [0, 0]), {}, "ranking"),
    (([1.0, 2.0], [0, 2]), {}, "ranking"),
    (([1.0, 2.0], [-1, 0]), {}, "ranking"),
    (([1.0, 2.0], [0.0, 1.0]), {}, "ranking"),
    (([1.0, np.nan], [0, 1]), {}, "relevance"),
    (([[1.0]], [0]), {}, "relevance"),
    (([1.0], [0]), {"k": 0}, "k must"),
    (([1.0], [0]), {"k": 2.0}, "k must"),
    (([1.0], [0]), {"gain": "square"}, "gain"),
])
def test_bad_arguments(module, arguments, options, message):
    for name in ("dcg", "ndcg"):
        with pytest.raises((ValueError, TypeError), match=message):
            getattr(module, name)(*arguments, **options)


@pytest.mark.parametrize("arguments, options, message", [
    (([1.0, 2.0], [0, 0]), {"offsets": [0, 1]}, "offsets must go from 0"),
    (([1.0, 2.0], [0]), {"offsets": [0, 2]}, "ranking must have length 2"),
    (([1.0, 2.0], [0, 1]), {"offsets": [0, 1, 2]}, "documents 0 ... 0, got 1 at index 1"),
    (([1.0, 2.0], [1, 1]), {"offsets": [0, 2]}, "no document twice"),
    (([1.0, 2.0], [0, 1]), {"offsets": [0, 0, 2]}, "offsets must ascend"),
    (([2000.0], [0]), {"gain": "exponential"}, "exponential gain of relevance must be finite"),
])
def test_bad_arguments_of_many(arguments, options, message):
    for f in (metrics.dcg, metrics.ndcg):
        with pytest.raises((ValueError, TypeError), match=message):
            f(*arguments, **options)


def test_other_bad_arguments():
    for module in (metrics, twin):
        with pytest.raises(ValueError, match="relevance must be >= 0"):
            module.ndcg([-1.0, 1.0], [0, 1])
        with pytest.raises((ValueError, TypeError), match="empty"):
            module.ndcg([1.0], [0], empty=math.inf)
        for arguments, message in ((([], []), "empty"), (([1.0], [1.0, 2.0]), "optimal_utility"),
                                   (([np.nan], [1.0]), "utility")):
            with pytest.raises(ValueError, match=message):
                module.convex_regret(*arguments, hinge)
        with pytest.raises(TypeError, match="loss must be callable"):
            module.convex_regret([1.0], [1.0], 3)
        with pytest.raises(ValueError, match="loss"):
            module.convex_regret([1.0], [2.0], lambda d: math.nan)
