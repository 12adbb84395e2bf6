"""Slow twins of the measures of rankings and of regret, `coactive_fast.metrics`.

Examples
--------
>>> from coactive_fast import reference
>>> reference.metrics.dcg([0.0, 2.0], [1, 0])
2.0
>>> reference.metrics.ndcg([0.0, 2.0], [1, 0])
1.0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from coactive_fast._typing import Real

from . import _check as check
from .coactive_tasks import ordering_utility
from .kernels import top_k

__all__ = ["convex_regret", "dcg", "evaluate", "ndcg"]


def dcg(relevance: ArrayLike, ranking: ArrayLike, *, k: SupportsIndex = 5,
        gain: Literal["linear", "exponential"] = "linear", offsets: ArrayLike | None = None) -> Any:
    """Discounted cumulative gain of the first k places.

    Notes
    -----
    ``sum_{i = 1 .. min(k, n)} gain(relevance[ranking[i]]) / log2(i + 1)``; the gain of a label is
    itself, or ``2^label - 1``.

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


def ndcg(relevance: ArrayLike, ranking: ArrayLike, *, k: SupportsIndex = 5,
         gain: Literal["linear", "exponential"] = "linear", empty: Real = 0.0,
         offsets: ArrayLike | None = None) -> Any:
    """DCG divided by that of the best ordering; `empty` where the best is 0.

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


def evaluate(learner: Any, data: Any, *, measures: Sequence[str] = ("ndcg@10",),
             average: bool = False,
             gain: Literal["linear", "exponential"] = "exponential") -> dict[str, float]:
    """The mean over the queries of each measure of the learner's rankings, by its name.

    Notes
    -----
    The ranking of a query is by ``learner.scores``, ties to the lower index. A query without a
    relevant document counts 0.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from coactive_fast import reference
    >>> data = [SimpleNamespace(features=[[1.0], [2.0]], relevance=[0, 2])]
    >>> learner = reference.PreferencePerceptron(reference.Ranking())
    >>> reference.metrics.evaluate(learner, data, measures=("ndcg@1", "dcg@1"))
    {'ndcg@1': 0.0, 'dcg@1': 0.0}
    """
    if len(data) == 0:
        raise ValueError("data is empty: there is no mean")
    found = {}
    for measure in measures:
        name, _, k = measure.partition("@")
        one = {"dcg": dcg, "ndcg": ndcg}[check.choice("measures", name, ("dcg", "ndcg"))]
        values = []
        for query in data:
            scores = learner.scores(query.features, average=average)
            ranking = top_k(scores, scores.size)
            values.append(one(query.relevance, ranking, k=int(k), gain=gain))
        found[measure] = float(np.mean(values))
    return found


def convex_regret(utility: ArrayLike, optimal_utility: ArrayLike,
                  loss: Callable[[float], Real]) -> float:
    """``CREG_T = mean_t c(U(x, y_t) - U(x, y*)) - c(0)``.

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
