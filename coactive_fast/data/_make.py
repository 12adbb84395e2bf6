"""Synthetic data shaped like that of the papers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, DTypeLike

from coactive_fast._typing import Real, Vector, Whole
from coactive_fast.learner import _check as parameter
from coactive_fast.learner._random import make_generator

from . import _check
from ._ranking import RankingData

BLOCK = 1 << 20  # numbers that are made in one go
DENSITY = 0.3  # of features that are not 0
GRADES = (0.26, 0.36, 0.28, 0.08, 0.02)  # shares of the grades 0 ... 4
LEAST_RATED = 20  # items of a user, as in MovieLens


def make_ranking(*, n_queries: Whole = 1000, n_features: Whole = 700,
                 documents: Real | ArrayLike = 24, seed: Any = 0, dtype: DTypeLike = np.float32,
                 noise: Real = 0.5) -> RankingData:
    """Queries with graded documents, shaped like the Yahoo! learning to rank data.

    Features lie in [0, 1], three in ten are not 0. Grades 0 to 4 are a linear utility with normal
    noise, cut where 26, 62, 90 and 98 % of all documents lie below. The defaults take 67 MB;
    ``n_queries=29921`` is the size of the papers' data (2 GB).

    Parameters
    ----------
    n_queries, n_features : int
        How many queries, and features a document.
    documents : float or array_like of int, default=24
        The mean number of documents a query (at least 1; each has at least one, the spread is
        wide), or the very numbers.
    seed : int, Generator, ..., default=0
        What `numpy.random.default_rng` takes; the same seed gives the same data.
    dtype : float32 or float64, default=float32
        Of the features.
    noise : float, default=0.5
        Standard deviation, relative to that of the utility.

    Returns
    -------
    RankingData
        Features, grades and where each query begins.

    Examples
    --------
    >>> from coactive_fast import data
    >>> data.make_ranking(n_queries=3, n_features=10, documents=[4, 1, 5])
    RankingData(3 queries, 10 documents, 10 features, float32)
    """
    n_queries = parameter.count("n_queries", n_queries, least=1)
    n_features = parameter.count("n_features", n_features, least=1)
    dtype = _check.float_dtype("dtype", dtype)
    noise = parameter.number("noise", noise, least=0.0)
    rng = make_generator(seed)
    offsets = np.concatenate(([0], np.cumsum(_lengths(documents, n_queries, rng))))
    weights = rng.standard_normal(n_features) / np.sqrt(np.arange(1, n_features + 1))
    features = np.empty((offsets[-1], n_features), dtype)
    utility = np.empty(len(features))
    step = max(1, BLOCK // n_features)
    for begin in range(0, len(features), step):
        rows = features[begin:begin + step]
        rng.random(out=rows, dtype=dtype)
        rows -= 1.0 - DENSITY
        rows /= DENSITY
        np.maximum(rows, 0.0, out=rows)
        utility[begin:begin + step] = rows @ weights
    utility += noise * utility.std() * rng.standard_normal(utility.size)
    cuts = np.quantile(utility, np.cumsum(GRADES)[:-1])
    relevance = np.searchsorted(cuts, utility).astype(np.float64)
    return RankingData(features, relevance, offsets)


def _lengths(documents, n_queries, rng):
    if np.ndim(documents) > 0:
        lengths = _check.whole("documents", documents)
        _check.same_length("documents", lengths.size, n_queries, "n_queries")
        if lengths.min() < 1:
            raise ValueError(f"documents must be >= 1, got {lengths.min()}")
        return lengths
    mean = parameter.number("documents", documents, least=1.0)
    return 1 + rng.poisson(rng.gamma(2.0, (mean - 1.0) / 2.0, n_queries))


class ItemData(NamedTuple):
    """Items, users, and what these gave to those.

    Attributes
    ----------
    features : ndarray of float64, shape (items, N)
        A row an item.
    weights : ndarray of float64, shape (users, N)
        A row a user: ``features @ weights[u]`` are its utilities.
    ratings : scipy.sparse.csr_matrix, shape (users, items)
        From 1 to 5 where a rating was given.
    """

    features: Vector
    weights: Vector
    ratings: scipy.sparse.csr_matrix


def make_items(*, n_items: Whole = 3706, n_users: Whole = 6040, n_features: Whole = 50,
               ratings_per_user: Real | ArrayLike = 165.6, seed: Any = 0) -> ItemData:
    """Items, users and ratings, shaped like MovieLens 1M with features from a factorisation.

    The first feature is near 1 and its weight near the mean rating; the others matter less and
    less. A rating is the utility ``weights[u] . features[i]`` with normal noise, as 1, 2, 3, 4, 5.
    Some items are rated far more often than others, and some users rate far more.

    Parameters
    ----------
    n_items, n_users, n_features : int
        How many items, users, and features an item.
    ratings_per_user : float or array_like of int, default=165.6
        The mean number (users rate 20 items at least, where there are so many), or the very
        numbers.
    seed : int, Generator, ..., default=0
        What `numpy.random.default_rng` takes; the same seed gives the same data.

    Returns
    -------
    ItemData
        The items, the users, and the ratings.

    Examples
    --------
    >>> from coactive_fast import data
    >>> features, weights, ratings = data.make_items(n_items=60, n_users=4, n_features=3)
    >>> features.shape, weights.shape, ratings.shape
    ((60, 3), (4, 3), (4, 60))
    """
    n_items = parameter.count("n_items", n_items, least=1)
    n_users = parameter.count("n_users", n_users, least=1)
    n_features = parameter.count("n_features", n_features, least=1)
    rng = make_generator(seed)
    spread = 1.0 / np.sqrt(np.arange(1, n_features + 1))
    spread *= 0.8 / np.linalg.norm(spread)
    features = rng.standard_normal((n_items, n_features)) * spread
    features[:, 0] = 1.0 + 0.12 * rng.standard_normal(n_items)
    weights = rng.standard_normal((n_users, n_features))
    weights[:, 0] = 3.6 + 0.4 * weights[:, 0]
    counts = _counts(ratings_per_user, n_users, n_items, rng)
    popularity = 1.3 * rng.standard_normal(n_items)
    columns = np.concatenate(list(_chosen(counts, popularity, rng)))
    rows = np.repeat(np.arange(n_users), counts)
    utility = np.empty(rows.size)
    step = max(1, BLOCK // n_features)
    for begin in range(0, rows.size, step):
        part = slice(begin, begin + step)
        utility[part] = np.einsum("ij,ij->i", weights[rows[part]], features[columns[part]])
    utility += 0.5 * rng.standard_normal(rows.size)
    values = np.clip(np.rint(utility), 1.0, 5.0)
    ends = np.concatenate(([0], np.cumsum(counts)))
    ratings = scipy.sparse.csr_matrix((values, columns, ends), shape=(n_users, n_items))
    return ItemData(features, weights, ratings)


def _counts(ratings_per_user, n_users, n_items, rng):
    if np.ndim(ratings_per_user) > 0:
        counts = _check.whole("ratings_per_user", ratings_per_user)
        _check.same_length("ratings_per_user", counts.size, n_users, "n_users")
        if counts.min() < 0 or counts.max() > n_items:
            raise ValueError(f"ratings_per_user must lie in 0 ... n_items = {n_items}, "
                             f"got {counts.min()} ... {counts.max()}")
        return counts
    mean = parameter.number("ratings_per_user", ratings_per_user, least=0.0)
    least = min(LEAST_RATED, mean)
    drawn = least + (mean - least) * rng.lognormal(-0.72, 1.2, n_users)  # mean 1
    return np.minimum(np.rint(drawn), n_items).astype(np.int64)


def _chosen(counts, popularity, rng):
    """For each user so many items, ascending: those with the largest popularity + Gumbel noise,
    which is a draw without replacement in proportion to exp(popularity)."""
    n_items = popularity.size
    step = max(1, BLOCK // n_items)
    for begin in range(0, counts.size, step):
        part = counts[begin:begin + step]
        keys = popularity + rng.gumbel(size=(part.size, n_items))
        order = np.argsort(-keys, axis=1, kind="stable")
        for row, count in zip(order, part, strict=True):
            yield np.sort(row[:count])
