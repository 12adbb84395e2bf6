"""Which features of items serve new users: rank and regularisation by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from coactive_fast._typing import Progress, Real, RowsLike, Vector, Whole
from coactive_fast.learner import _check as parameter
from coactive_fast.learner._progress import reporter
from coactive_fast.learner._random import make_generator

from . import _check
from ._factorize import factorize, fit_user_weights


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
    held_out = parameter.number("held_out", held_out, above=0.0)
    if held_out >= 1.0:
        raise ValueError(f"held_out must be < 1, got {held_out}")
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
        self.fit = own.copy()
        self.fit.data = np.where(back, np.nan, own.data)
        self.fit = _without_nan(self.fit)
        self.rows, self.items = rows[good & back], own.indices[good & back]
        self.ratings = own.data[good & back]
        self.count = len(self.ratings)

    def error_of_means(self):
        sums, counts = self.fit.sum(axis=1), np.maximum(np.diff(self.fit.indptr), 1)
        return float(np.sum((self.ratings - (np.ravel(sums) / counts)[self.rows]) ** 2))

    def error(self, items, regularization):
        weights = fit_user_weights(self.fit, items, regularization=regularization)
        told = np.einsum("ij,ij->i", weights[self.rows], items[self.items])
        return float(np.sum((self.ratings - told) ** 2))


def _without_nan(table):
    """CSR without the entries that are NaN."""
    kept = ~np.isnan(table.data)
    ends = np.concatenate(([0], np.cumsum(kept)))[table.indptr]
    return type(table)((table.data[kept], table.indices[kept], ends), table.shape)
