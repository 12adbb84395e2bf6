"""Generated data: shaped like that of the papers, or made by their very models, so that the
regret of a run is known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._arrays import finite_vector, flags_of, indices_of, labels_of
from .._typing import Real, Vector, Whole
from ..learner import _check as parameter
from ..learner._random import make_generator
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
        lengths = indices_of(documents, "documents", n_queries, "n_queries")
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
        counts = indices_of(ratings_per_user, "ratings_per_user", n_users, "n_users")
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


# --- labels ---------------------------------------------------------------------------------------


class MulticlassData(NamedTuple):
    """Rows and their labels.

    Attributes
    ----------
    features : ndarray of float64, shape (n, d)
        A row an example.
    labels : ndarray of intp, shape (n,)
        From 0 to K - 1.
    weights : ndarray of float64, shape (K, d)
        The linear models that made the labels: ``labels[t] = argmax_i weights[i] . features[t]``.
    """

    features: Vector
    labels: NDArray[np.intp]
    weights: Vector


def make_multiclass(*, n_rows: Whole = 1000, n_features: Whole = 9, n_informative: Whole = 5,
                    n_classes: Whole = 5, normalize: bool = False,
                    seed: Any = 0) -> MulticlassData:
    """Rows whose first features decide the label, by random linear models; the others are noise.

    The defaults are the Confidit paper's: 1,000 rows, 9 features, 5 of them informative, K = 5.
    It does not give the distributions; here all features and the weights of the informative ones
    are standard normal. ``np.linalg.norm(data.weights)`` is ||U||.

    Parameters
    ----------
    n_rows, n_features : int
        How many rows, and columns of each.
    n_informative : int, default 5
        At most `n_features`.
    n_classes : int, default 5
        K, at least 2.
    normalize : bool, default False
        Rows of length 1, as the theory wants them; the labels are the same.
    seed : int, Generator, ..., default 0
        What `numpy.random.default_rng` takes; the same seed gives the same data.

    Returns
    -------
    MulticlassData
        The rows, their labels, and the weights that made the labels.

    Examples
    --------
    >>> from coactive_fast import data
    >>> X, y, weights = data.make_multiclass(n_rows=20)
    >>> X.shape, y.shape, weights.shape
    ((20, 9), (20,), (5, 9))
    >>> bool(((X @ weights.T).argmax(axis=1) == y).all())
    True
    """
    n_rows = parameter.count("n_rows", n_rows)
    n_features = parameter.count("n_features", n_features, least=1)
    n_informative = parameter.count("n_informative", n_informative, least=1)
    if n_informative > n_features:
        raise ValueError(f"n_informative must be <= n_features = {n_features}, got "
                         f"{n_informative}")
    n_classes = parameter.count("n_classes", n_classes, least=2)
    normalize = parameter.switch("normalize", normalize)
    rng = make_generator(seed)
    weights = np.zeros((n_classes, n_features))
    weights[:, :n_informative] = rng.standard_normal((n_classes, n_informative))
    features = rng.standard_normal((n_rows, n_features))
    labels = (features @ weights.T).argmax(axis=1).astype(np.intp, copy=False)
    if normalize:
        features /= np.linalg.norm(features, axis=1, keepdims=True)
    return MulticlassData(features, labels, weights)


# --- the papers' own models -----------------------------------------------------------------------


class LabelData(NamedTuple):
    """Rows, labels, and the chance of every label for every row.

    Attributes
    ----------
    features : ndarray of float64, shape (n, d)
        Of length 1.
    labels : ndarray of intp, shape (n,)
        The label that was drawn for each row.
    weights : ndarray of float64, shape (K, d)
        U: row i is u_i; ``np.linalg.norm(weights)`` is the `norm_bound` of `Confidit`.
    chances : ndarray of float64, shape (n, K)
        ``P(y_t = i | x_t)``, for `run`'s `chances`.
    """

    features: Vector
    labels: NDArray[np.intp]
    weights: Vector
    chances: Vector

    def regret(self, choices: ArrayLike) -> Vector:
        """What each choice costs against the label that U says is best.

        Parameters
        ----------
        choices : array_like of int, shape (T,)
            Those of the first T rows, such as ``history.choices``; after the last row the first
            comes again.

        Returns
        -------
        ndarray of float64, shape (T,)
            ``P(b_t) - P(choice_t)`` with ``b_t = argmax_i u_i.x_t``: a round of the regret (3) of
            the Confidit paper. Below 0 only where the model has an error.

        Examples
        --------
        >>> from coactive_fast import data
        >>> made = data.make_confidit(n_rows=100, noise=0.0)
        >>> best = (made.features @ made.weights.T).argmax(axis=1)
        >>> float(made.regret(best).sum())
        0.0
        """
        k = self.chances.shape[1]
        made = labels_of(choices, "choices", np.size(choices), k, k == 2)
        if made.size and not len(self.features):
            raise ValueError("choices must be empty: there are no rows")
        rows = np.arange(made.size) % max(len(self.features), 1)
        best = (self.features @ self.weights.T).argmax(axis=1)[rows]
        return self.chances[rows, best] - self.chances[rows, made]


def make_confidit(*, n_rows: Whole = 1000, n_features: Whole = 9, n_informative: Whole = 5,
                  n_classes: Whole = 5, alpha: Real = 1.0, noise: Real = 0.2,
                  error: Real | ArrayLike = 0.0, seed: Any = 0) -> LabelData:
    """Labels by the model of the Confidit paper, ``P(y = i | x) = (alpha + u_i.x) / (1 + alpha)``.

    Each informative feature stands for one class (feature j for ``j mod K``), and a row holds
    their shares in it: numbers >= 0 that sum to 1, uniform over all such. The label is drawn from
    these shares of classes, or, with probability `noise`, from all classes alike. The other
    features have random directions and bring the row to length 1. All that the model asks holds
    for every alpha, up to rounding: ``u_i.x >= -alpha`` and ``sum_i u_i.x = 1 + alpha - K alpha``.

    Parameters
    ----------
    n_rows : int
        How many rows.
    n_features, n_informative : int
        ``1 <= n_informative < n_features``.
    n_classes : int
        K, at least 2.
    alpha : float, default 1.0
        In (-1, 1].
    noise : float, default 0.2
        In [0, 1].
    error : float or array_like of shape (n_rows,), default 0.0
        In [0, 1]: q_t, the approximation error of Modified Confidit: with probability q_t the
        label is one that a draw of its own has fixed for this row, so that no chance is farther
        than q_t from the linear model.
    seed : int, Generator, ..., default 0
        The same seed gives the same features whatever alpha, noise and error are.

    Returns
    -------
    LabelData
        The rows, their labels, and the chances the labels were drawn with.

    References
    ----------
    Koby Crammer and Claudio Gentile, "Multiclass classification with bandit feedback using
    adaptive regularization", Machine Learning 90, 2013.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> made = cf.data.make_confidit(n_rows=2000, alpha=0.5)
    >>> learner = cf.Confidit(5, covariance="full", alpha=0.5, eta=0.1, seed=1)
    >>> history = learner.run(made.features, made.labels, chances=made.chances)
    >>> bool(history.cumulative_regret[-1] < 2000 * 0.2)
    True
    """
    n = parameter.count("n_rows", n_rows)
    d = parameter.count("n_features", n_features, least=2)
    m = parameter.count("n_informative", n_informative, least=1)
    if m >= d:
        raise ValueError(f"n_informative must be < n_features = {d}, got {m}")
    k = parameter.count("n_classes", n_classes, least=2)
    alpha = parameter.number("alpha", alpha, above=-1.0, most=1.0)
    noise = parameter.number("noise", noise, least=0.0, most=1.0)
    errors = _errors(error, n)
    rng = make_generator(seed)
    shares = rng.dirichlet(np.ones(m), n)
    features = np.empty((n, d))
    features[:, :m] = shares
    other = _directions(rng, n, d - m)
    features[:, m:] = other * np.sqrt(np.maximum(1.0 - (shares * shares).sum(axis=1), 0.0))[:, None]
    of_feature = np.full((k, m), noise / k)  # the chances that each informative feature stands for
    of_feature[np.arange(m) % k, np.arange(m)] += 1.0 - noise
    weights = np.zeros((k, d))
    weights[:, :m] = (1.0 + alpha) * of_feature - alpha
    chances = (1.0 - errors)[:, None] * (shares @ of_feature.T)
    chances[np.arange(n), rng.integers(k, size=n)] += errors
    reached = np.cumsum(chances, axis=1)
    labels = (rng.random(n)[:, None] * reached[:, -1:] >= reached[:, :-1]).sum(axis=1)
    return LabelData(features, labels.astype(np.intp, copy=False), weights, chances)


def _errors(given, n):
    if np.ndim(given) == 0:
        return np.full(n, parameter.number("error", given, least=0.0, most=1.0))
    errors = finite_vector(given, "error", n, "n_rows")
    if errors.size and (errors.min() < 0.0 or errors.max() > 1.0):
        raise ValueError(f"error must lie in [0, 1], got {errors.min()} ... {errors.max()}")
    return errors


def _directions(rng, n, d):
    """n uniform points of the unit sphere."""
    found = rng.standard_normal((n, d))
    return found / np.linalg.norm(found, axis=1, keepdims=True)


class RelevanceData(NamedTuple):
    """Rows, whether each is relevant, and the rule that made it so.

    Attributes
    ----------
    features : ndarray of float64, shape (n, d)
        A row an example.
    relevant : ndarray of bool, shape (n,)
        True with probability ``(1 + weights.x) / 2``.
    weights : ndarray of float64, shape (d,)
        u, for `run`'s `u`.
    """

    features: Vector
    relevant: NDArray[np.bool_]
    weights: Vector

    def regret(self, judged: ArrayLike) -> Vector:
        """What each judgement costs, in expectation, against the sign of ``u.x``.

        Parameters
        ----------
        judged : array_like of bool, shape (T,), T <= n
            True where the row was judged relevant, such as ``history.forwarded`` or
            ``history.margins >= 0``.

        Returns
        -------
        ndarray of float64, shape (T,)
            ``|u.x|`` where the two differ, else 0. ``history.cumulative_regret``, where `run` is
            given u, is what the labels drawn made of it: its mean is the sum of these.

        Examples
        --------
        >>> from coactive_fast import data
        >>> made = data.make_simple_filter(n_rows=4, p=0.25)
        >>> made.regret([True, False, False, True])
        array([0.5, 0. , 0. , 0.5])
        """
        given = flags_of(judged, "judged", np.size(judged))
        if given.size > len(self.features):
            raise ValueError(f"judged must have length {len(self.features)} at most, got "
                             f"{given.size}")
        truth = self.features[:given.size] @ self.weights
        return np.where(given != (truth >= 0.0), np.abs(truth), 0.0)


def make_filtering(*, n_rows: Whole = 1000, n_features: Whole = 5, gamma: Real = 0.2,
                   seed: Any = 0) -> RelevanceData:
    """Relevance by the linear model of the filtering paper: ``P(relevant | x) = (1 + u.x) / 2``.

    u has length 1 and a random direction. Rows have length 1, and ``|u.x|`` is uniform in
    [gamma, 1] (up to rounding) with a random sign.

    Parameters
    ----------
    n_rows : int
        How many rows.
    n_features : int, default 5
        At least 2.
    gamma : float, default 0.2
        In [0, 1]: the gamma of the paper's Theorem 3.
    seed : int, Generator, ..., default 0
        What `numpy.random.default_rng` takes; the same seed gives the same data.

    Returns
    -------
    RelevanceData
        The rows, which of them are relevant, and the weights of the model.

    References
    ----------
    Nicolò Cesa-Bianchi, Alex Conconi and Claudio Gentile, "Margin-based algorithms for
    information filtering", NIPS 15, 2003.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> X, y, u = cf.data.make_filtering(n_rows=1000)
    >>> history = cf.RidgeFilter().run(X, y, u=u)
    >>> bool(abs(history.cumulative_regret[-1]) < 100)
    True
    """
    n = parameter.count("n_rows", n_rows)
    d = parameter.count("n_features", n_features, least=2)
    gamma = parameter.number("gamma", gamma, least=0.0, most=1.0)
    rng = make_generator(seed)
    u = _directions(rng, 1, d)[0]
    along = rng.uniform(gamma, 1.0, n) * rng.choice([-1.0, 1.0], n)
    across = rng.standard_normal((n, d))
    across -= np.outer(across @ u, u)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    features = np.outer(along, u) + np.sqrt(1.0 - along * along)[:, None] * across
    return RelevanceData(features, rng.random(n) < (1.0 + along) / 2.0, u)


def make_simple_filter(*, n_rows: Whole = 1000, p: Real = 0.4, seed: Any = 0) -> RelevanceData:
    """Relevance by the restricted model of the filtering paper: every row with the same chance.

    The rows hold one feature, 1, and u is ``2 p - 1``, so that ``(1 + u.x) / 2`` is p.

    Parameters
    ----------
    n_rows : int
        How many rows.
    p : float, default 0.4
        In [0, 1]; the delta of the paper's Theorem 1 is ``p - 1/2``.
    seed : int, Generator, ..., default 0
        What `numpy.random.default_rng` takes; the same seed gives the same data.

    Returns
    -------
    RelevanceData
        The rows, which of them are relevant, and the weights of the model.

    References
    ----------
    See `make_filtering`.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> X, y, u = cf.data.make_simple_filter(n_rows=1000, p=0.2)
    >>> history = cf.SimpleFilter().run(X, y, u=u)
    >>> bool(history.forwarded[-1])
    False
    """
    n = parameter.count("n_rows", n_rows)
    p = parameter.number("p", p, least=0.0, most=1.0)
    rng = make_generator(seed)
    return RelevanceData(np.ones((n, 1)), rng.random(n) < p, np.array([2.0 * p - 1.0]))
