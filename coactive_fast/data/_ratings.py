"""Ratings: MovieLens files, features of items by factorisation, and which of them serve new
users; least squares over many rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._arrays import reals
from .._memory import refuse_beyond_limit
from .._typing import Progress, Real, RowsLike, Source, Vector, Whole
from ..learner import _check as parameter
from ..learner._progress import reporter
from ..learner._random import make_generator
from . import _check, _compiled
from ._compiled import solve_rows
from ._open import opened
from ._svmlight import Grown


def least_squares(rows, targets, step=None):
    """The shortest w that minimises ``||rows @ w - targets||``, in float64.

    R of a QR factorisation is carried from block to block: its cost is 2 rows columns^2 flops, and
    unlike the normal equations it does not square the condition. Singular values below
    ``eps * max(rows.shape)`` times the largest count as zero, as in `numpy.linalg.lstsq`; where R's
    condition is far from that, nobody asks for them and R is solved as it is. A block has `step`
    rows; None: so many that what is carried is a small part of it.
    """
    n, d = rows.shape
    r = _triangle(rows, targets, max(4 * (d + 1), 1024) if step is None else step)
    if not np.isfinite(r).all():  # mapped from a damaged file, or too large
        raise ValueError("features and relevance must be finite, and their norms too")
    cond = np.finfo(np.float64).eps * max(n, d)
    if len(r) > d and hasattr(scipy.linalg.lapack, "dtrcon"):  # not in old versions
        square = np.asfortranarray(r[:d, :d])
        if scipy.linalg.lapack.dtrcon(square)[0] > 100.0 * d * cond:
            return scipy.linalg.lapack.dtrtrs(square, r[:d, d])[0]
    w, *_ = scipy.linalg.lstsq(r[:, :d], r[:, d], cond=cond, check_finite=False)
    return w


def _triangle(rows, targets, step):
    """R of ``[rows, targets]``: at most columns + 1 rows."""
    n, d = rows.shape
    geqrf, geqrf_lwork = scipy.linalg.get_lapack_funcs(("geqrf", "geqrf_lwork"))
    best, _ = geqrf_lwork(step + d + 1, d + 1)  # with its default LAPACK would go by single columns
    work = np.empty((min(n, step + d + 1), d + 1), order="F")
    carried = done = 0
    while done < n:
        new = min(len(work) - carried, n - done)
        block = work[:carried + new] if carried + new == len(work) else \
            np.asfortranarray(work[:carried + new])
        block[carried:, :d] = rows[done:done + new]
        block[carried:, d] = targets[done:done + new]
        factored, *_, info = geqrf(block, lwork=int(best), overwrite_a=1)
        if info:
            raise np.linalg.LinAlgError(f"geqrf answers {info}")
        r = np.triu(factored[:d + 1])
        carried, done = len(r), done + new
        work[:carried] = r
    return r


# --- MovieLens ------------------------------------------------------------------------------------


Ratings: TypeAlias = tuple[scipy.sparse.csr_matrix, NDArray[np.int64], NDArray[np.int64]]


def load_movielens(path: Source, *, dtype: DTypeLike = np.float64) -> Ratings:
    """Read ratings: ``user::item::rating::timestamp`` a line.

    What comes behind the rating is not looked at. A comma or a tab may stand for the two colons
    (ml-100k, ml-20m), and a first line that begins with a letter is skipped.

    Parameters
    ----------
    path : str, os.PathLike or binary file object
        Packed files (gzip, bzip2, xz) are told by their first bytes.
    dtype : float32 or float64, default=float64
        Of the ratings.

    Returns
    -------
    ratings : scipy.sparse.csr_matrix, shape (users, items)
        Users and items that occur, in ascending order of their ids.
    user_ids, item_ids : ndarray of int64
        The file's own number of each row and of each column.

    Raises
    ------
    ValueError
        For a bad line, with its number and text, and for a pair that is rated twice.

    Examples
    --------
    >>> import io
    >>> from coactive_fast import data
    >>> ratings, users, items = data.load_movielens(io.BytesIO(b"7::3::4::0\\n2::3::1::0\\n"))
    >>> ratings.toarray(), users, items
    (array([[1.],
           [4.]]), array([2, 7]), array([3]))
    """
    dtype = _check.float_dtype("dtype", dtype)
    users, items, ratings = Grown(np.int64), Grown(np.int64), Grown(dtype)
    with opened(path) as (file, name):
        lines = _compiled.Ratings(file, name)
        while lines.advance():
            users.append(lines.users)
            items.append(lines.items)
            ratings.append(lines.ratings)
    user_ids, rows = np.unique(users.finish(), return_inverse=True)
    item_ids, columns = np.unique(items.finish(), return_inverse=True)
    matrix = scipy.sparse.coo_matrix((ratings.finish(), (rows, columns)),
                                     shape=(user_ids.size, item_ids.size))
    result = scipy.sparse.csr_matrix(matrix)  # sums what occurs twice
    result.sort_indices()
    if result.nnz != matrix.nnz:
        pairs, counts = np.unique(np.stack([rows, columns]), axis=1, return_counts=True)
        row, column = pairs[:, counts > 1][:, 0]
        raise ValueError(f"{name}: user {user_ids[row]} rates item {item_ids[column]} twice")
    return result, user_ids, item_ids


# --- factorisation --------------------------------------------------------------------------------


RUNS = 4  # pieces of work a thread: rows differ in length
SEGMENT = 64  # ratings of a user that are worked on together


def factorize(ratings: RowsLike, *, rank: Whole = 50, regularization: Real = 0.1,
              sweeps: Whole = 15, seed: Any = 0, n_jobs: Whole = 1,
              progress: Progress = None) -> tuple[Vector, Vector]:
    """Factors of a rating matrix by alternating least squares.

    Minimises ``sum (rating - user . item)^2`` over the ratings that are there, plus
    ``regularization`` times each user's and item's squared norm times the number of its ratings.
    A sweep solves for all users, then for all items.

    The defaults suit the users whose ratings are given. They do not suit *new* users, who are
    fitted on these features by `fit_user_weights`. On MovieLens 1M, with features from one half of
    the users and a fifth of the ratings of each user of the other half kept back, the plain fit
    predicts these with a mean squared error of 9.3 (of each user's mean rating: 1.06), worse than
    the mean for 64 % of the users; and 37 % of them, fitted on all they rated, have a film with an
    imputed rating above 10. With rank 5 it is 0.76, 23 % and 0.2 %. `choose_factors` finds rank
    and regularisation by cross-validation (there: rank 6 and 0.1); with rank 50 a regularisation
    of 0.03 of the users' fit makes it 0.72.

    Parameters
    ----------
    ratings : scipy.sparse matrix or ndarray with NaN for no rating, shape (users, items)
        A stored zero is a rating.
    rank : int, default=50
        Features an item gets.
    regularization : float, default=0.1
        Greater than 0.
    sweeps : int, default=15
        How many times the users' and the items' features are solved for in turn.
    seed : int, Generator, ..., default=0
        Of the item features in the beginning: their mean rating, and small normal numbers.
    n_jobs : int, default=1
        Threads; -1 for all processors. The result does not depend on it.
    progress : callable, bool or None
        Called with (sweeps done, sweeps); True shows a bar.

    Returns
    -------
    item_features : ndarray of float64, shape (items, rank)
        A row an item.
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
    threads = parameter.threads(n_jobs)
    n, m = by_user.shape
    each = 8.0 * rank * (rank + SEGMENT)  # of a thread
    refuse_beyond_limit(8.0 * (2.0 * rank + 4.0) * (n + m) + threads * each,
                        f"{rank} features for each of {n} users and {m} items",
                        "a smaller rank takes less")
    by_item = by_user.T.tocsr()
    items = _start(by_item, rank, make_generator(seed))
    halves = [_Half(side, rank, RUNS * threads) for side in (by_user, by_item)]
    with reporter(progress) as report, ThreadPoolExecutor(threads) as pool:
        for done in range(sweeps):
            users = halves[0].solve(items, weight, pool)
            items = halves[1].solve(users, weight, pool)
            if report is not None:
                report(done + 1, sweeps)
    return items, users


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


def fit_user_weights(ratings: RowsLike, item_features: ArrayLike, *,
                     regularization: Real = 0.0) -> Vector:
    """Each user's least-squares fit of his own ratings on the features of the items he rated.

    The plain fit is only as good as the ratings are many: with as many features as ratings it
    repeats these and says anything of other items. `choose_factors` finds the rank that suits it;
    `regularization` is the other way out.

    Parameters
    ----------
    ratings : scipy.sparse matrix or ndarray with NaN for no rating, shape (users, items)
        A row a user, a column an item.
    item_features : array_like, shape (items, N)
        A row an item, as `factorize` makes them.
    regularization : float, default=0.0
        Times the number of a user's ratings, of the squared length of his weights, as in
        `factorize`. At least 0.

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
    features = reals(item_features, "item_features", 2)
    _check.same_length("item_features", len(features), matrix.shape[1], "the items of ratings")
    weight = parameter.number("regularization", regularization, least=0.0)
    weights = np.zeros((matrix.shape[0], features.shape[1]))

    for user in np.flatnonzero(np.diff(matrix.indptr)):
        own = slice(matrix.indptr[user], matrix.indptr[user + 1])
        rows, targets = features[matrix.indices[own]], matrix.data[own]
        if weight > 0.0:  # the penalty as rows: || sqrt(weight * count) w - 0 ||^2
            penalty = np.sqrt(weight * len(targets)) * np.eye(features.shape[1])
            rows = np.concatenate([rows, penalty])
            targets = np.concatenate([targets, np.zeros(len(penalty))])
        weights[user] = least_squares(rows, targets, SEGMENT)
    return weights


# --- cross-validation -----------------------------------------------------------------------------


class FactorChoice(NamedTuple):
    """What `choose_factors` found.

    Attributes
    ----------
    rank : int
        The best number of features.
    regularization : float
        The pair with the least error; ties go to the smaller rank, then to the one named first.
    errors : ndarray of float64, shape (ranks, regularizations)
        Mean squared error of the ratings that were kept back, for every pair.
    constant : float
        The same of each user's mean rating: features worse than this are of no use to new users.
    """

    rank: int
    regularization: float
    errors: Vector
    constant: float


def choose_factors(ratings: RowsLike, *, ranks: Sequence[int] = (2, 3, 5, 10, 20, 50),
                   regularizations: Sequence[float] = (0.03, 0.1, 0.3), folds: Whole = 5,
                   held_out: Real = 0.2, user_regularization: Real = 0.0, sweeps: Whole = 15,
                   seed: Any = 0, n_jobs: Whole = 1, progress: Progress = None) -> FactorChoice:
    """The rank and regularisation of `factorize` whose item features serve new users best.

    The users are divided into folds. The items get their features from the ratings of the users
    outside a fold; each user of the fold is fitted by `fit_user_weights` on a part of his ratings,
    and predicts the others. So the error is that of the users whom learners meet later, and of the
    fit that tells what they want. A pair that is good for the users it was made from may be bad for
    them: see `factorize` for what rank 50 does to new users of MovieLens 1M. There, of the half of
    the users that the features are made from, the ranks 2 to 10 have errors of 0.78 to 0.80, the
    least of them rank 6 with regularisation 0.1; 15 has 1.15, 20 and more have above 6; the users'
    means have 1.08 (10 ranks, 3 regularisations, five folds: 2 minutes on two cores).

    Parameters
    ----------
    ratings : scipy.sparse matrix or ndarray with NaN for no rating, shape (users, items)
        A row a user, a column an item.
    ranks, regularizations : sequence
        What is tried, every pair of them.
    folds : int, default=5
        At least 2, at most the number of users.
    held_out : float, default=0.2
        The share of a user's ratings that is predicted, strictly between 0 and 1; a user of
        whom no rating is left on one of the two sides counts for nothing.
    user_regularization : float, default=0.0
        Of `fit_user_weights`.
    sweeps
        As for `factorize`.
    seed : int, Generator, ..., default=0
        Of the folds and of what is kept back; and, drawn from it, of every factorisation.
    n_jobs
        As for `factorize`.
    progress : callable, bool or None
        Called with (factorisations done, all of them); True shows a bar.

    Returns
    -------
    FactorChoice
        After ``folds * len(ranks) * len(regularizations)`` factorisations.

    Examples
    --------
    >>> from coactive_fast import data
    >>> made = data.make_items(n_users=60, n_items=40, n_features=2, ratings_per_user=20, seed=0)
    >>> choice = data.choose_factors(made.ratings, ranks=(2, 15), regularizations=(0.1,), folds=3)
    >>> choice.rank, bool(choice.errors[0, 0] < choice.constant < choice.errors[1, 0])
    (2, True)
    """
    table = _check.ratings("ratings", ratings)
    ranks = [parameter.count("ranks", rank, least=1) for rank in _some("ranks", ranks)]
    weights = [parameter.number("regularizations", weight, above=0.0)
               for weight in _some("regularizations", regularizations)]
    folds = parameter.count("folds", folds, least=2)
    if folds > table.shape[0]:
        raise ValueError(f"folds must be at most the number of users, {table.shape[0]}, got "
                         f"{folds}")
    held_out = parameter.number("held_out", held_out, above=0.0, below=1.0)
    rng = make_generator(seed)
    fold_of = rng.permutation(table.shape[0]) % folds
    kept_back = rng.random(table.nnz) < held_out
    begin = int(rng.integers(2**63))  # of all factorisations: pairs differ in themselves alone
    errors, constant, total = np.zeros((len(ranks), len(weights))), 0.0, 0
    with reporter(progress) as report:
        for fold in range(folds):
            parts = _Parts(table, fold_of == fold, kept_back)
            total += parts.count
            constant += parts.error_of_means()
            for at in np.ndindex(errors.shape):
                items, _ = factorize(table[fold_of != fold], rank=ranks[at[0]],
                                     regularization=weights[at[1]], sweeps=sweeps, seed=begin,
                                     n_jobs=n_jobs)
                errors[at] += parts.error(items, user_regularization)
                if report is not None:
                    report(fold * errors.size + np.ravel_multi_index(at, errors.shape) + 1,
                           folds * errors.size)
    if total == 0:
        raise ValueError("ratings must hold users with at least two ratings")
    errors /= total
    least = min(np.ndindex(errors.shape), key=lambda at: (errors[at], ranks[at[0]], at[1]))
    return FactorChoice(ranks[least[0]], weights[least[1]], errors, constant / total)


def _some(name, values):
    try:
        values = list(values)
    except TypeError:
        raise TypeError(f"{name} must be a sequence, got {type(values).__name__}") from None
    if not values:
        raise ValueError(f"{name} must name at least one value")
    return values


class _Parts:
    """The users of one fold: the ratings they are fitted on, and those that are kept back."""

    def __init__(self, table, inside, kept_back):
        users = np.flatnonzero(inside)
        chosen = np.repeat(inside, np.diff(table.indptr))
        own, back = table[users], kept_back[chosen]
        rows = np.repeat(np.arange(len(users)), np.diff(own.indptr))
        fitted, asked = (np.bincount(rows[side], minlength=len(users)) > 0
                         for side in (~back, back))
        good = (fitted & asked)[rows]
        ends = np.concatenate(([0], np.cumsum(~back)))[own.indptr]
        self.fit = type(own)((own.data[~back], own.indices[~back], ends), own.shape)
        self.rows, self.items = rows[good & back], own.indices[good & back]
        self.ratings = own.data[good & back]
        self.count = len(self.ratings)

    def error_of_means(self):
        sums, counts = self.fit.sum(axis=1), np.maximum(np.diff(self.fit.indptr), 1)
        return float(np.sum((self.ratings - (np.ravel(sums) / counts)[self.rows]) ** 2))

    def error(self, items, regularization):
        weights = fit_user_weights(self.fit, items, regularization=regularization)
        predicted = np.einsum("ij,ij->i", weights[self.rows], items[self.items])
        return float(np.sum((self.ratings - predicted) ** 2))
