"""Slow twins of the measures of rankings and of regret.

Examples
--------
>>> from coactive_fast import reference
>>> reference.metrics.dcg([0.0, 2.0], [1, 0])
2.0
>>> reference.metrics.ndcg([0.0, 2.0], [1, 0])
1.0
"""

import numpy as np

from . import _check as check
from .coactive_tasks import ordering_utility

__all__ = ["convex_regret", "dcg", "ndcg"]


def dcg(relevance, ranking, *, k=5, gain="linear", offsets=None):
    """Discounted cumulative gain of the first k places.

    Parameters
    ----------
    relevance : array_like, shape (documents,)
        The label of each document.
    ranking : array_like of int
        Document indices, best first; may stop after the first places.
    k : int, default 5
    gain : {"linear", "exponential"}
        The label itself, as in the utility of a ranking, or ``2^label - 1``.
    offsets : array_like of int, shape (queries + 1,), optional
        Many queries, one behind the other in relevance and in ranking, each ranking complete
        and its documents counted from 0; the result is then an array.

    Notes
    -----
    ``sum_{i = 1 .. min(k, n)} gain(relevance[ranking[i]]) / log2(i + 1)``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.metrics.dcg([3.0, 1.0, 2.0], [0, 2, 1], k=1, gain="exponential")
    7.0
    >>> reference.metrics.dcg([3, 0, 1], [0, 0, 1], k=1, offsets=[0, 1, 3])
    array([3., 0.])
    """
    k = check.positive_count("k", k)

    def one(relevance, ranking):
        return ordering_utility(_gains(relevance, gain), ranking, k)

    return _each(one, check.vector("relevance", relevance), ranking, offsets)


def ndcg(relevance, ranking, *, k=5, gain="linear", empty=0.0, offsets=None):
    """DCG divided by that of the best ordering.

    Parameters
    ----------
    relevance : array_like, shape (documents,)
        Labels >= 0.
    ranking, k, gain, offsets
        As for `dcg`.
    empty : float, default 0.0
        The value of a query without a relevant document (all labels zero), where the best DCG
        is zero and the quotient means nothing. NaN is allowed, to leave such queries out with
        `numpy.nanmean`; 1.0 is what some tools report.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.metrics.ndcg([0.0, 2.0, 2.0], [1, 2, 0], k=2)
    1.0
    >>> reference.metrics.ndcg([0.0, 0.0], [0, 1], empty=1.0)
    1.0
    """
    relevance = check.vector("relevance", relevance)
    if (relevance < 0.0).any():
        raise ValueError("relevance must be >= 0")
    k = check.positive_count("k", k)
    if not (isinstance(empty, float) and np.isnan(empty)):
        empty = check.real("empty", empty)

    def one(relevance, ranking):
        gains = _gains(relevance, gain)
        best = ordering_utility(gains, np.argsort(-gains, kind="stable"), k)
        return empty if best == 0.0 else ordering_utility(gains, ranking, k) / best

    return _each(one, relevance, ranking, offsets)


def convex_regret(utility, optimal_utility, loss):
    """``CREG_T = mean_t c(U(x, y_t) - U(x, y*)) - c(0)``.

    Parameters
    ----------
    utility, optimal_utility : array_like, shape (T,)
        Of the presented and of the best object, T >= 1.
    loss : callable
        c, a convex loss of one number.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> def hinge(difference):
    ...     return max(0.0, 1.0 - difference)
    >>> reference.metrics.convex_regret([1.0, 0.0], [1.0, 2.0], hinge)
    1.0
    """
    utility = check.vector("utility", utility)
    optimal = check.vector("optimal_utility", optimal_utility, utility.size, of="utility")
    if utility.size == 0:
        raise ValueError("utility is empty: there is no mean")
    if not callable(loss):
        raise TypeError(f"loss must be callable, got {type(loss).__name__}")
    losses = [check.real("loss(difference)", loss(float(d))) for d in utility - optimal]
    return float(np.mean(losses)) - check.real("loss(0)", loss(0.0))


def _gains(relevance, gain):
    """What each document is worth at the first place."""
    check.choice("gain", gain, ("linear", "exponential"))
    return relevance if gain == "linear" else np.exp2(relevance) - 1.0


def _each(measure, relevance, ranking, offsets):
    """The measure of one query, or an array with that of each query between two offsets."""
    if offsets is None:
        return measure(relevance, check.distinct("ranking", ranking, relevance.size))
    offsets = check.indices("offsets", offsets)
    if offsets[0] != 0 or offsets[-1] != relevance.size or (np.diff(offsets) < 1).any():
        raise ValueError(f"offsets must increase from 0 to {relevance.size}")
    ranking = check.indices("ranking", ranking)
    check.same_length("ranking", ranking.size, relevance.size, of="relevance")
    return np.array(
        [
            measure(relevance[i:j], check.distinct("ranking", ranking[i:j], j - i))
            for i, j in zip(offsets, offsets[1:], strict=False)
        ]
    )
