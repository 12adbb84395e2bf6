"""Features of items and users from ratings."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from coactive_fast.learner import _check as parameter
from coactive_fast.learner._progress import reporter
from coactive_fast.learner._random import make_generator

from . import _check
from ._least_squares import least_squares
from ._solve import solve_rows

RUNS = 4  # pieces of work a thread: rows differ in length
SEGMENT = 64  # ratings of a user that are worked on together


def factorize(ratings, *, rank=50, regularization=0.1, sweeps=15, seed=0, n_jobs=1, progress=None):
    """Factors of a rating matrix by alternating least squares.

    Minimises ``sum (rating - user . item)^2`` over the ratings that are there, plus
    ``regularization`` times each user's and item's squared norm times the number of its ratings.
    A sweep solves for all users, then for all items.

    Parameters
    ----------
    ratings : scipy.sparse matrix or ndarray with NaN for no rating, shape (users, items)
        A stored zero is a rating.
    rank : int, default=50
    regularization : float, default=0.1
        Greater than 0.
    sweeps : int, default=15
    seed : int, Generator, ..., default=0
        Of the item features in the beginning: their mean rating, and small normal numbers.
    n_jobs : int, default=1
        Threads; -1 for all processors. The result does not depend on it.
    progress : callable, bool or None
        Called with (sweeps done, sweeps); True shows a bar.

    Returns
    -------
    item_features : ndarray of float64, shape (items, rank)
    user_features : ndarray of float64, shape (users, rank)
        Zero where there is no rating. BLAS and LAPACK do the work: the last bits are their own.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast import data
    >>> table = np.outer([1.0, 2.0, 3.0], [1.0, 0.5, 1.5])
    >>> items, users = data.factorize(table, rank=1, regularization=1e-6, sweeps=20)
    >>> bool(np.allclose(users @ items.T, table, atol=1e-3))
    True
    """
    by_user = _check.ratings("ratings", ratings)
    rank = parameter.count("rank", rank, least=1)
    weight = parameter.number("regularization", regularization, above=0.0)
    sweeps = parameter.count("sweeps", sweeps, least=1)
    by_item = by_user.T.tocsr()
    items = _start(by_item, rank, make_generator(seed))
    threads = _threads(n_jobs)
    halves = [_Half(side, rank, RUNS * threads) for side in (by_user, by_item)]
    with reporter(progress) as report, ThreadPoolExecutor(threads) as pool:
        for done in range(sweeps):
            users = halves[0].solve(items, weight, pool)
            items = halves[1].solve(users, weight, pool)
            if report is not None:
                report(done + 1, sweeps)
    return items, users


def _threads(n_jobs):
    if n_jobs == -1:
        return os.cpu_count() or 1
    return parameter.count("n_jobs", n_jobs, least=1)


def _start(by_item, rank, rng):
    items = 0.1 * rng.standard_normal((by_item.shape[0], rank))
    counts = np.diff(by_item.indptr)
    items[:, 0] = by_item.sum(axis=1) / np.maximum(counts, 1)
    return items


class _Half:
    """One side's rows, cut into a few runs of about as many ratings each."""

    def __init__(self, matrix, rank, runs):
        self.shape = matrix.shape[0], rank
        self.starts, self.places = (a.astype(np.intp) for a in (matrix.indptr, matrix.indices))
        self.values = np.ascontiguousarray(matrix.data, dtype=np.float64)
        shares = np.linspace(0, self.starts[-1], runs + 1)[1:-1]
        cuts = np.unique([0, *np.searchsorted(self.starts, shares), matrix.shape[0]])
        self.runs = list(zip(cuts[:-1], cuts[1:], strict=True))

    def solve(self, others, weight, pool):
        solution = np.zeros(self.shape)

        def solve(run):
            solve_rows(self.starts, self.places, self.values, others, weight, solution, *run)

        for _ in pool.map(solve, self.runs):  # raises what a thread raised
            pass
        return solution


def fit_user_weights(ratings, item_features):
    """Each user's least-squares fit of his own ratings on the features of the items he rated.

    Parameters
    ----------
    ratings : scipy.sparse matrix or ndarray with NaN for no rating, shape (users, items)
    item_features : array_like, shape (items, N)

    Returns
    -------
    weights : ndarray of float64, shape (users, N)
        The shortest of those that fit best, no intercept; zero for a user without ratings.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast import data
    >>> nan = np.nan
    >>> data.fit_user_weights([[4.0, nan], [nan, 3.0]], [[2.0, 0.0], [0.0, 1.0]])
    array([[2., 0.],
           [0., 3.]])
    """
    matrix = _check.ratings("ratings", ratings)
    features = _check.reals("item_features", item_features, 2, _check.FLOATS[1:])
    _check.same_length("item_features", len(features), matrix.shape[1], "the items of ratings")
    weights = np.zeros((matrix.shape[0], features.shape[1]))

    for user in np.flatnonzero(np.diff(matrix.indptr)):
        own = slice(matrix.indptr[user], matrix.indptr[user + 1])
        weights[user] = least_squares(features[matrix.indices[own]], matrix.data[own], SEGMENT)
    return weights
