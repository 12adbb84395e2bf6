"""Slow twins of ranking, the ranking feature map and the rank-one update of an inverse.

What their parameters mean say the functions of the same names in `coactive_fast.kernels`.
"""

import math

import numpy as np

from . import _check as check


def top_k(scores, k):
    """Indices of the k best scores, best first, ties to the lower index.

    Returns
    -------
    ndarray of intp, shape (min(k, n),)
        The indices, that of the largest score first.

    Notes
    -----
    Index i comes before j if ``scores[i] > scores[j]``, or if they are equal and ``i < j``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.top_k([1.0, 3.0, -float("inf"), 3.0], 3)
    array([1, 3, 0])
    """
    scores = check.no_nan("scores", check.real_array("scores", scores, 1))
    k = check.count("k", k)
    best_first = np.argsort(-scores, kind="stable")
    return best_first[: min(k, scores.size)].astype(np.intp)


def rank(X, w, k):
    """The k rows of X with the best scores ``X @ w``: `top_k` of the scores.

    Returns
    -------
    ndarray of intp, shape (min(k, n),)
        The indices of the rows, that of the largest score first.

    Notes
    -----
    ``scores[i] = sum_j X[i, j] * w[j]``. Every row is summed in the same order, so equal rows
    have equal scores to the bit and the tie rule holds for them.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.rank([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 2.0], 2)
    array([2, 1])
    """
    X = check.no_nan("X", check.real_array("X", X, 2))
    w = check.no_nan("w", check.real_array("w", w, 1))
    check.same_length("w", w.size, X.shape[1], "a row of X")
    k = check.count("k", k)
    scores = row_scores(X, w)
    if np.isnan(scores).any():
        raise ValueError("the scores of X and w contain NaN (infinity times zero, or inf - inf)")
    return top_k(scores, k)


def row_scores(X, w):
    """``X @ w`` with every row summed in the same order: equal rows score equal to the bit."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.array([np.sum(row * w) for row in X])


def ranking_features(X, ranking, *, k=5):
    """Feature vector of an ordering: its first k documents, discounted by their place.

    Returns
    -------
    ndarray, shape (N,)
        The sum of the rows in the first k places, discounted by their place.

    Notes
    -----
    ``phi = sum_{i = 1 .. min(k, len(ranking))} X[ranking[i]] / log2(i + 1)``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.ranking_features([[1.0, 0.0], [0.0, 2.0], [4.0, 4.0]], [1, 0], k=1)
    array([0., 2.])
    """
    X = check.finite("X", check.real_array("X", X, 2))
    k = check.count("k", k)
    places = check.ranking("ranking", ranking)[:k]
    if any(not 0 <= document < X.shape[0] for document in places):
        raise ValueError(f"ranking holds an index outside 0..{X.shape[0] - 1}")
    if len(set(places)) < len(places):
        raise ValueError("ranking names a document twice among its first places")
    phi = np.zeros(X.shape[1])
    for place, document in enumerate(places, start=1):
        phi += X[document] / math.log2(place + 1)
    return phi


def inverse_update(Ainv, x, *, c=1.0, triangle="both"):
    """Rank-one update of an inverse, in place: ``A += c x x^T`` for the A with that inverse.

    Returns
    -------
    float
        ``q = x^T A^-1 x`` from before the update. ``x = 0`` returns 0.0 and changes nothing.

    Notes
    -----
    Sherman-Morrison: with ``v = A^-1 x``, ``A^-1 -= v v^T / (1/c + q)``.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast import reference
    >>> Ainv = np.eye(2)
    >>> reference.inverse_update(Ainv, [1.0, 0.0])
    1.0
    >>> Ainv
    array([[0.5, 0. ],
           [0. , 1. ]])
    """
    check.updatable("Ainv", Ainv)
    x = check.vector("x", x, Ainv.shape[0], of="Ainv")
    c = check.positive("c", c)
    if triangle not in ("both", "lower"):
        raise ValueError(f'triangle must be "both" or "lower", got {triangle!r}')
    B = check.symmetric("Ainv", Ainv, x.size)
    if not x.any():
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        v = B @ x
        q = float(x @ v)
    if not math.isfinite(q):
        raise ValueError("x^T Ainv x is not a finite number: Ainv or x is too large")
    if q <= 0.0:
        raise ValueError(f"Ainv is not positive definite: x^T Ainv x = {q}")
    after = B - np.outer(v, v / (1.0 / c + q))
    rows, columns = np.tril_indices(x.size)
    Ainv[rows, columns] = after[rows, columns]
    if triangle == "both":
        Ainv[columns, rows] = after[rows, columns]
    return q
