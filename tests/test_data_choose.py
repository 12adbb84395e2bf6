"""The choice of rank and regularisation for new users, and the ridge of a user's own fit."""

import doctest
import importlib

import numpy as np
import pytest

from coactive_fast import data


def made(seed=0, users=60, features=2, each=20):
    return data.make_items(n_users=users, n_items=40, n_features=features, ratings_per_user=each,
                           seed=seed).ratings


def test_examples():
    outcome = doctest.testmod(importlib.import_module("coactive_fast.data._ratings"))
    assert outcome.attempted > 0 and outcome.failed == 0


def by_hand(ratings, rank, weight, folds, held_out, ridge, seed):
    """The error of one pair, user by user, straight from the words of the docstring."""
    rng = np.random.default_rng(seed)
    fold_of = rng.permutation(ratings.shape[0]) % folds
    back = rng.random(ratings.nnz) < held_out
    begin = int(rng.integers(2**63))
    wrong, still, n = 0.0, 0.0, 0
    for fold in range(folds):
        items, _ = data.factorize(ratings[np.flatnonzero(fold_of != fold)], rank=rank,
                                  regularization=weight, seed=begin)
        for user in np.flatnonzero(fold_of == fold):
            own = slice(ratings.indptr[user], ratings.indptr[user + 1])
            X, y, kept = items[ratings.indices[own]], ratings.data[own], back[own]
            if kept.all() or not kept.any():
                continue
            A, b = X[~kept], y[~kept]
            w = np.linalg.lstsq(np.vstack([A, np.sqrt(ridge * len(b)) * np.eye(rank)]),
                                np.concatenate([b, np.zeros(rank)]), rcond=None)[0]
            wrong += np.sum((y[kept] - X[kept] @ w) ** 2)
            still += np.sum((y[kept] - b.mean()) ** 2)
            n += kept.sum()
    return wrong / n, still / n


@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_errors_are_those_of_new_users(ridge):
    ratings = made()
    found = data.choose_factors(ratings, ranks=(1, 3), regularizations=(0.1, 1.0), folds=3,
                                held_out=0.3, user_regularization=ridge, seed=4)
    for i, rank in enumerate((1, 3)):
        for j, weight in enumerate((0.1, 1.0)):
            error, constant = by_hand(ratings, rank, weight, 3, 0.3, ridge, 4)
            assert found.errors[i, j] == pytest.approx(error, rel=1e-8)
            assert found.constant == pytest.approx(constant, rel=1e-12)
    i, j = np.unravel_index(found.errors.argmin(), (2, 2))
    assert (found.rank, found.regularization) == ((1, 3)[i], (0.1, 1.0)[j])


def test_a_high_rank_is_not_chosen_unless_users_are_fitted_with_a_ridge():
    choice = data.choose_factors(made(), ranks=(18, 2), regularizations=(0.1,), folds=3)
    assert choice.rank == 2 and choice.errors[0, 0] > choice.constant > choice.errors[1, 0]
    tamed = data.choose_factors(made(), ranks=(18, 2), regularizations=(0.1,), folds=3,
                                user_regularization=0.1)
    assert tamed.errors[0, 0] < tamed.constant


def test_progress_and_seeds():
    seen = []
    first = data.choose_factors(made(), ranks=(1, 2), regularizations=(0.1,), folds=2, seed=1,
                                progress=lambda *at: seen.append(at))
    assert seen == [(i, 4) for i in range(1, 5)]
    again = data.choose_factors(made(), ranks=(1, 2), regularizations=(0.1,), folds=2, seed=1,
                                n_jobs=2)
    np.testing.assert_array_equal(first.errors, again.errors)
    other = data.choose_factors(made(), ranks=(1, 2), regularizations=(0.1,), folds=2, seed=2)
    assert not np.array_equal(first.errors, other.errors)


@pytest.mark.parametrize("wrong, error, says", [
    ({"ranks": ()}, ValueError, "ranks must name"),
    ({"ranks": 3}, TypeError, "ranks must be a seq"),
    ({"ranks": (0,)}, ValueError, "ranks must be >= 1"),
    ({"regularizations": (0.0,)}, ValueError, "regularizations must be > 0"),
    ({"folds": 1}, ValueError, "folds must be >= 2"),
    ({"folds": 61}, ValueError, "folds must be at most the number of users, 60"),
    ({"held_out": 1.0}, ValueError, "held_out must be < 1"),
    ({"user_regularization": -1.0}, ValueError, "regularization must be >= 0"),
])
def test_what_is_refused(wrong, error, says):
    with pytest.raises(error, match=says):
        data.choose_factors(made(), **wrong)


def test_users_with_one_rating_each_tell_nothing():
    with pytest.raises(ValueError, match="at least two ratings"):
        data.choose_factors(np.where(np.eye(4) > 0, 3.0, np.nan), ranks=(1,), folds=2)


def test_the_ridge_of_a_users_own_fit():
    nan = np.nan
    ratings = np.array([[4.0, nan, 2.0], [nan, nan, nan]])
    X = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    own = X[[0, 2]]
    expected = np.linalg.solve(own.T @ own + 0.5 * 2 * np.eye(2), own.T @ [4.0, 2.0])
    found = data.fit_user_weights(ratings, X, regularization=0.5)
    np.testing.assert_allclose(found, [expected, [0.0, 0.0]], rtol=1e-12)
    np.testing.assert_array_equal(data.fit_user_weights(ratings, X, regularization=0.0),
                                  data.fit_user_weights(ratings, X))
