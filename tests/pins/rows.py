"""Rows, labels and rewards worked out from whole numbers alone: the same on every machine."""

import math

import numpy as np
import scipy.sparse

MASK = (1 << 64) - 1


def _mixed(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniform(shape, seed):
    """Numbers in [0, 1) of 53 bits (SplitMix64)."""
    n = math.prod(shape) if isinstance(shape, tuple) else shape
    begin = np.uint64((seed * 0xD1B54A32D192ED03 + 1) & MASK)
    z = begin + np.uint64(0x9E3779B97F4A7C15) * np.arange(1, n + 1, dtype=np.uint64)
    return ((_mixed(z) >> np.uint64(11)).astype(np.float64) * 2.0**-53).reshape(shape)


def numbers(shape, seed, zeros=0.0):
    """Numbers in (-2, 2), most of them near 0; a share of them is 0."""
    u, v = uniform(shape, 3 * seed), uniform(shape, 3 * seed + 1)
    found = 2.0 * (u + v) - 2.0
    if zeros:
        found[uniform(shape, 3 * seed + 2) < zeros] = 0.0
    return found


def wholes(n, below, seed):
    return (uniform(n, 1000 + seed) * below).astype(np.intp)


def labels_of(X, K, seed=0):
    """The class of the largest score by some matrix, now and then another one."""
    d = X.shape[1]
    W = numbers((K, d), 77 + seed)
    scores = [[math.fsum(a * b for a, b in zip(x, w, strict=True)) for w in W.tolist()]
              for x in X.tolist()]
    found = np.array(scores).reshape(len(X), K).argmax(axis=1)
    other = uniform(len(X), 500 + seed) < 0.1
    return np.where(other, wholes(len(X), K, seed), found)


def relevance_of(X, seed=0):
    return labels_of(X, 2, seed) == 1


def rewards_of(X, seed=0):
    """In [0, 1]."""
    w = numbers(X.shape[1], 78 + seed).tolist()
    sums = [math.fsum(a * b for a, b in zip(x, w, strict=True)) for x in X.tolist()]
    return np.round([min(max(0.5 + s / 8.0, 0.0), 1.0) for s in sums], 6)


# --- the same row in different forms ---------------------------------------------------------


def _indices_as(matrix, dtype):
    matrix.indices, matrix.indptr = matrix.indices.astype(dtype), matrix.indptr.astype(dtype)
    return matrix


TABLES = {
    "dense": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "csr32": lambda X: _indices_as(scipy.sparse.csr_matrix(X), np.int32),
    "csr64": lambda X: _indices_as(scipy.sparse.csr_matrix(X), np.int64),
    "csr_float32": lambda X: scipy.sparse.csr_matrix(X.astype(np.float32)),
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "fortran": np.asfortranarray,
    "lists": lambda X: X.tolist(),
    "csc": scipy.sparse.csc_matrix,
}


def table(X, form):
    return TABLES[form](np.ascontiguousarray(X))


ROWS = {
    **TABLES,
    "dense": lambda X: X[0],
    "float32": lambda X: X[0].astype(np.float32),
    "strided": lambda X: np.repeat(X[0], 2)[::2],
    "fortran": lambda X: np.asfortranarray(X)[0],
    "lists": lambda X: X[0].tolist(),
}
MIXED = ("dense", "csr32", "strided", "float32", "csr64", "lists", "csr_float32")


def row(x, form, t=0):
    """One row; "mixed": by the round in another form."""
    if form == "mixed":
        form = MIXED[t % len(MIXED)]
    return ROWS[form](np.array(x, dtype=np.float64).reshape(1, -1))
