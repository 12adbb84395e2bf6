"""What others would use instead: NumPy, SciPy's BLAS, QP solvers. numba: contenders_numba.py.

Each is the usual way of writing it, or better. A package that is not installed loses its lines.
"""

import importlib.util

import numpy as np
from scipy.linalg import blas


def have(package):
    return importlib.util.find_spec(package) is not None


def missing():
    """One statement for each contender that is left out."""
    return [f"{package} is not installed: its lines are left out"
            for package in ("numba", "quadprog", "proxsuite") if not have(package)]


def only(*found):
    return [c for c in found if c is not None]


# --- top-k --------------------------------------------------------------------------------------


def top_k_argsort(scores, k):
    return np.argsort(-scores, kind="stable")[:k]


def top_k_argpartition(scores, k):
    best = np.argpartition(scores, scores.size - k)[scores.size - k:]
    return best[np.argsort(-scores[best], kind="stable")]


def top_k_argmax(scores, k):
    """k times the maximum, each masked after it was found."""
    rest, found = scores.copy(), []
    for _ in range(k):
        found.append(int(rest.argmax()))
        rest[found[-1]] = -np.inf
    return np.array(found)


def top_k_threshold(scores, k):
    """The k-th value by partition, then the indices that reach it."""
    bound = np.partition(scores, scores.size - k)[scores.size - k]
    best = np.flatnonzero(scores >= bound)
    return best[np.argsort(-scores[best], kind="stable")][:k]


# --- the inverse --------------------------------------------------------------------------------


def numpy_update(inverse, x, c):
    v = inverse @ x
    q = x @ v
    inverse -= np.outer(v, v) / (1.0 / c + q)
    return q


def blas_update(inverse, x, c):
    """dsymv and dsyr on one triangle; `inverse` is in Fortran order."""
    v = blas.dsymv(1.0, inverse, x, lower=1)
    q = x.dot(v)
    blas.dsyr(-1.0 / (1.0 / c + q), v, lower=1, a=inverse, overwrite_a=1)
    return q


def numpy_grow(inverse, rows, x, ridge):
    """The explicit inverse of the Gram matrix with one row more (block inversion)."""
    n = len(rows)
    k = rows @ x
    v = inverse @ k
    pivot = ridge + x @ x - k @ v
    grown = np.empty((n + 1, n + 1))
    grown[:n, :n] = inverse + np.outer(v, v / pivot)
    grown[n, :n] = grown[:n, n] = -v / pivot
    grown[n, n] = 1.0 / pivot
    return grown


# --- projections --------------------------------------------------------------------------------


def scores_by_sort(z, q, total):
    """The weighted projection on {v >= 0, sum v = total} by sorted breakpoints."""
    breaks = -z / q
    order = np.argsort(breaks)
    lam = (total - np.cumsum(z[order])) / np.cumsum(q[order])
    best = lam[np.flatnonzero(lam > breaks[order])[-1]]
    return np.maximum(0.0, z + best * q)


def ball_by_eigh(z, inverse, radius, tolerance=1e-12):
    """w = (I + lam B)^-1 z with ||w|| = radius, from all eigenvalues of B."""
    if z @ z <= radius * radius:
        return z
    values, vectors = np.linalg.eigh(inverse)
    c, lam = vectors.T @ z, 0.0
    for _ in range(100):
        w = c / (1.0 + lam * values)
        norm = np.sqrt(w @ w)
        if abs(norm - radius) <= tolerance * radius:
            break
        # Newton on 1 / norm, which is nearly linear in lam: no safeguard needed from the left
        slope = np.sum(w * w * values / (1.0 + lam * values))
        lam += (norm - radius) / radius * norm * norm / slope
    return vectors @ (c / (1.0 + lam * values))


def simplex_by_quadprog(z, a, total=1.0):
    import quadprog

    n = z.size
    rows = np.hstack([np.ones((n, 1)), np.eye(n)])
    return quadprog.solve_qp(a, a @ z, rows, np.r_[total, np.zeros(n)], 1)[0]


def box_by_quadprog(z, a, lower, upper):
    import quadprog

    rows = np.hstack([np.eye(z.size), -np.eye(z.size)])
    return quadprog.solve_qp(a, a @ z, rows, np.r_[lower, -upper])[0]


def simplex_by_proxsuite(z, a, total=1.0):
    from proxsuite import proxqp

    n = z.size
    qp = proxqp.dense.QP(n, 1, 0, True)  # the bounds as a box: its fastest form here
    qp.settings.eps_abs, qp.settings.eps_rel = 1e-9, 0
    qp.init(a, -(a @ z), np.ones((1, n)), np.full(1, total), None, None, None, np.zeros(n),
            np.full(n, 1e20))
    qp.solve()
    return qp.results.x
