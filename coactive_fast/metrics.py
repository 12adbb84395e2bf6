"""Measures of rankings and of regret.

``dcg``, ``ndcg``   of one query, or of many at once
``evaluate``        their mean over the rankings of a learner
``convex_regret``   the mean of a convex loss of the utility missed

The gain of a grade is the grade itself ("linear", the default of `dcg` and `ndcg`), or
``2^grade - 1`` ("exponential"), which the tools of the LETOR collections take, and `evaluate`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike

from coactive_fast._arrays import finite_vector, indices_of, reals, refuse_non_finite
from coactive_fast._typing import Real, Vector, Whole
from coactive_fast.data import _check
from coactive_fast.learner import _check as parameter

if TYPE_CHECKING:
    _Gain: TypeAlias = Literal["linear", "exponential"]

__all__ = ["convex_regret", "dcg", "evaluate", "ndcg"]

GAINS = ("linear", "exponential")


@overload
def dcg(relevance: ArrayLike, ranking: ArrayLike, *, k: Whole = 5, gain: _Gain = "linear",
        offsets: None = None) -> float: ...
@overload
def dcg(relevance: ArrayLike, ranking: ArrayLike, *, k: Whole = 5, gain: _Gain = "linear",
        offsets: ArrayLike) -> Vector: ...
def dcg(relevance: ArrayLike, ranking: ArrayLike, *, k: Whole = 5, gain: _Gain = "linear",
        offsets: ArrayLike | None = None) -> float | Vector:
    """Discounted cumulative gain of the first k places.

    ``sum over i = 1 ... k of gain(relevance[ranking[i]]) / log2(i + 1)``, over all places where
    there are fewer than k.

    Parameters
    ----------
    relevance : array_like, shape (documents,)
        The grade of each document.
    ranking : array_like of int
        Documents, best first; may stop after the first places.
    k : int, default=5
        How many places count.
    gain : {"linear", "exponential"}, default="linear"
        The grade itself, as in the utility of a ranking, or ``2^grade - 1``.
    offsets : array_like of int, shape (queries + 1,), optional
        Many queries at once, as in `RankingData`: both relevance and ranking hold one query
        behind the other, and each ranking is complete and counts its documents from 0.

    Returns
    -------
    dcg : float, or ndarray of shape (queries,) where offsets are given
        The gains of the first k places, each divided by ``log2(place + 1)``.

    Examples
    --------
    >>> from coactive_fast import metrics
    >>> metrics.dcg([3.0, 1.0, 2.0], [0, 2, 1], k=1, gain="exponential")
    7.0
    >>> metrics.dcg([3, 0, 1], [0, 0, 1], k=1, offsets=[0, 1, 3])
    array([3., 0.])
    """
    relevance = reals(relevance, "relevance", 1)
    k = parameter.count("k", k, least=1)
    gains = _gains(relevance, gain)
    found = _sums(gains, *_places(ranking, gains.size, offsets), k)
    return float(found[0]) if offsets is None else found


@overload
def ndcg(relevance: ArrayLike, ranking: ArrayLike, *, k: Whole = 5, gain: _Gain = "linear",
         empty: Real = 0.0, offsets: None = None) -> float: ...
@overload
def ndcg(relevance: ArrayLike, ranking: ArrayLike, *, k: Whole = 5, gain: _Gain = "linear",
         empty: Real = 0.0, offsets: ArrayLike) -> Vector: ...
def ndcg(relevance: ArrayLike, ranking: ArrayLike, *, k: Whole = 5, gain: _Gain = "linear",
         empty: Real = 0.0, offsets: ArrayLike | None = None) -> float | Vector:
    """DCG divided by that of the best ordering of the query's documents.

    Parameters
    ----------
    relevance : array_like, shape (documents,)
        Grades >= 0.
    ranking, k, gain
        As for `dcg`.
    empty : float, default=0.0
        The value of a query without a relevant document (all grades 0), where the best DCG is 0
        and the quotient means nothing. NaN leaves such queries out of a `numpy.nanmean`; some
        tools report 1.
    offsets
        As for `dcg`.

    Returns
    -------
    ndcg : float, or ndarray of shape (queries,) where offsets are given
        The DCG divided by that of the best ordering.

    Examples
    --------
    >>> from coactive_fast import metrics
    >>> metrics.ndcg([0.0, 2.0, 2.0], [1, 2, 0], k=2)
    1.0
    >>> metrics.ndcg([0, 0, 0, 1], [1, 0, 1, 0], offsets=[0, 2, 4], empty=1.0)
    array([1., 1.])
    """
    relevance = reals(relevance, "relevance", 1)
    if (relevance < 0.0).any():
        raise ValueError(f"relevance must be >= 0, got {relevance.min()}")
    k = parameter.count("k", k, least=1)
    if not (isinstance(empty, (float, np.floating)) and np.isnan(empty)):
        empty = parameter.number("empty", empty)
    gains = _gains(relevance, gain)
    places, begins = _places(ranking, gains.size, offsets)
    query = np.repeat(np.arange(begins.size), np.diff(begins, append=gains.size))
    best = _sums(gains, np.lexsort((-gains, query)), begins, k)
    found = _sums(gains, places, begins, k)
    result = np.divide(found, best, out=np.full(found.size, empty), where=best > 0.0)
    return float(result[0]) if offsets is None else result


def evaluate(learner: Any, data: Any, *, measures: Sequence[str] = ("ndcg@10",),
             average: bool = False, gain: _Gain = "exponential") -> dict[str, float]:
    """The mean over many queries of what a learner's rankings are worth; changes nothing.

    The ranking of a query is by ``learner.scores``, ties to the lower index: for learners that draw
    what they present, the one without chance.

    Parameters
    ----------
    learner : learner of rankings
        Any that has `scores`; it is not changed.
    data : RankingData or sequence
        ``data[i].features`` and ``data[i].relevance``, grades >= 0; at least one query.
    measures : sequence of str, default ("ndcg@10",)
        "ndcg@k" and "dcg@k", k from 1 on. A query without a relevant document counts 0.
    average : bool, default False
        Scores by the mean of the weights after each round.
    gain : {"exponential", "linear"}, default "exponential"
        That of the LETOR collections' tools; `ndcg` and `dcg` take the linear one where nothing is
        said.

    Returns
    -------
    dict of str to float
        The mean over the queries of each measure, by its name.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> data = cf.data.RankingData([[1.0], [2.0], [3.0]], [0, 2, 1], [0, 2, 3])
    >>> learner = cf.PreferencePerceptron(cf.Ranking())
    >>> learner.update([1.0])
    >>> cf.metrics.evaluate(learner, data, measures=("ndcg@1", "dcg@1"))
    {'ndcg@1': 1.0, 'dcg@1': 2.0}
    """
    measures = checked_measures(measures)
    parameter.choice("gain", gain, GAINS)
    features, relevance, offsets = _queries(data)
    scores = np.concatenate([learner.scores(part, average=average) for part in features])
    lengths = np.diff(offsets)
    query = np.repeat(np.arange(lengths.size), lengths)
    ranking = np.lexsort((-scores, query)) - np.repeat(offsets[:-1], lengths)
    found = {}
    for measure in measures:
        name, k = measure.split("@")
        one = {"dcg": dcg, "ndcg": ndcg}[name]
        found[measure] = float(one(relevance, ranking, k=int(k), gain=gain, offsets=offsets).mean())
    return found


def checked_measures(measures: Sequence[str]) -> tuple[str, ...]:
    """The names of measures, each as `evaluate` takes it."""
    if isinstance(measures, str):
        raise TypeError(f"measures must be a sequence of names, got {measures!r}")
    for measure in measures:
        if not isinstance(measure, str) or not re.fullmatch("n?dcg@[1-9][0-9]{0,8}", measure):
            raise ValueError(f'measures must be names like "ndcg@10" or "dcg@5", got {measure!r}')
    return tuple(measures)


def _queries(data):
    """Tables of features, of all queries together or of each; all grades; the offsets."""
    if len(data) == 0:
        raise ValueError("data must hold at least one query")
    if all(hasattr(data, name) for name in ("features", "relevance", "offsets")):
        return [data.features], data.relevance, data.offsets
    queries = [data[i] for i in range(len(data))]
    parts = [reals(query.relevance, "relevance", 1) for query in queries]
    offsets = np.concatenate(([0], np.cumsum([part.size for part in parts])))
    return [query.features for query in queries], np.concatenate(parts), offsets


def convex_regret(utility: ArrayLike, optimal_utility: ArrayLike,
                  loss: Callable[[Any], Any]) -> float:
    """``mean over t of loss(utility_t - optimal_utility_t), minus loss(0)``.

    Parameters
    ----------
    utility, optimal_utility : array_like, shape (T,)
        Of the object presented and of the best one, T >= 1.
    loss : callable
        A convex loss of one number. One that takes arrays too is called once.

    Returns
    -------
    float
        0 where every object presented was the best one.

    Examples
    --------
    >>> from coactive_fast import metrics
    >>> def hinge(difference):
    ...     return max(0.0, 1.0 - difference)
    >>> metrics.convex_regret([1.0, 0.0], [1.0, 2.0], hinge)
    1.0
    """
    utility = reals(utility, "utility", 1)
    optimal_utility = finite_vector(optimal_utility, "optimal_utility", utility.size, "utility")
    if utility.size == 0:
        raise ValueError("utility must not be empty: there is no mean")
    if not callable(loss):
        raise TypeError(f"loss must be callable, got {type(loss).__name__}")
    losses = _losses(loss, utility - optimal_utility)
    if not np.isfinite(losses).all():
        raise ValueError("loss must be finite, got NaN or infinity")
    return float(losses.mean()) - parameter.number("loss(0)", loss(0.0))


def _losses(loss, differences):
    try:
        losses = np.asarray(loss(differences), dtype=np.float64)
    except (TypeError, ValueError):  # `if`, `max`, `math.exp` want one number
        losses = None
    if losses is None or losses.shape != differences.shape:
        losses = np.array([parameter.number("loss(difference)", loss(float(d)))
                           for d in differences])
    return losses


def _gains(relevance, gain):
    parameter.choice("gain", gain, GAINS)
    if gain == "linear":
        return relevance
    with np.errstate(over="ignore"):
        gains = np.exp2(relevance) - 1.0
    refuse_non_finite(gains, "the exponential gain of relevance")
    return gains


def _places(ranking, n, offsets):
    """Rankings as places in the array of n gains, and where each query begins there."""
    if offsets is None:  # one query, which may stop after its first places
        ranking, offsets = indices_of(ranking, "ranking"), np.array([0, n])
        query = np.zeros(ranking.size, np.intp)
    else:
        ranking = indices_of(ranking, "ranking", n, "relevance")
        offsets = _check.offsets("offsets", offsets, n, "documents")
        query = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    begins, documents = offsets[query], np.diff(offsets)[query]
    wrong = (ranking < 0) | (ranking >= documents)
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(f"ranking must hold documents 0 ... {documents[at] - 1}, got "
                         f"{ranking[at]} at index {at}")
    places = begins + ranking
    if np.unique(places).size < places.size:
        raise ValueError("ranking must hold no document twice")
    return places, offsets[:-1]


def _sums(gains, places, begins, k):
    """For each query the discounted gains of its first k places."""
    if places.size == 0:
        return np.zeros(begins.size)
    lengths = np.diff(begins, append=places.size)
    place = np.arange(places.size) - np.repeat(begins, lengths)
    parts = np.where(place < k, gains[places] / np.log2(place + 2.0), 0.0)
    return np.add.reduceat(parts, begins)
