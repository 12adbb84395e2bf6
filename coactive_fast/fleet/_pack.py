"""Regressions as the numbers of a record, and back.

A record keeps ``A^-1 = U D U^T``, and so does a learner of the robust form. One of the fast form
keeps A and its inverse; LAPACK makes one of the other: with ``A = L L^T``, ``U = (L / diag L)^-T``
and ``D = 1 / diag(L)^2``.
"""

from typing import NamedTuple

import numpy as np

from ..metric._forms import Moving

ROUNDS, EXTRA = 3, 5  # words of a head
LEARNED, NUMBERS = 1, 2  # words of a block
CORRELATED = 1e8  # of A_ii (A^-1)_ii, beyond which A has lost digits (CF_FULL_CORRELATED)


class Regression(NamedTuple):
    """What one regression has learned; A has ``share`` of the regulariser."""

    learned: int
    w: np.ndarray
    U: np.ndarray
    D: np.ndarray
    share: float

    def weighed(self, ridge, f):
        """``A <- ridge I + f (A - share ridge I)`` and ``A w <- f A w``."""
        metric = self.metric(ridge, "auto")
        d, added = len(self.w), (1.0 - f * self.share) * ridge
        if metric.health()["precision"] == "fast":
            A = f * metric.matrix() + added * np.eye(d)
            w = np.linalg.solve(A, f * (metric.matrix() @ self.w))
            return Regression(self.learned, w, *factors(A), 1.0)
        metric.decay(f)
        for unit in np.eye(d) if self.share < 1.0 else ():
            metric.update(unit, c=(1.0 - self.share) * ridge)
        return Regression(self.learned, self.w - added * metric.solve(self.w),
                          *metric._factors(), 1.0)

    def metric(self, ridge, precision):
        """The full metric of a learner; "auto" takes the robust form where A has lost digits."""
        A = matrix(self.U, self.D)
        inflation = np.diag(A) * ((self.U * self.U) @ self.D)
        if precision == "robust" or (precision == "auto" and not inflation.max() <= CORRELATED):
            return Moving._from_factors(self.U, self.D, A, self.share * ridge, precision)
        return Moving.from_matrix(A, self.share * ridge, precision=precision)

    def told(self, ridge, precision):
        """As the state of a learner has it."""
        return {"d": len(self.w), "learned": self.learned, "w": self.w, "scale": 1.0,
                "share": self.share, "metric": self.metric(ridge, precision).state()}


def regression_of(form):
    """Of a learner's state."""
    metric = Moving.from_state(form["metric"])
    if metric.health()["precision"] == "robust":
        U, D = metric._factors()
        D = D / form["scale"]
    else:
        U, D = factors(metric.matrix() * form["scale"])
    return Regression(form["learned"], form["w"], U, D, form["share"])


def factors(A):
    """``(U, D)``."""
    from scipy.linalg import solve_triangular

    try:
        lower = np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        raise ValueError("the learner's A is not positive definite in float64") from None
    diagonal = np.diag(lower).copy()
    U = solve_triangular(lower / diagonal, np.eye(len(A)), lower=True, unit_diagonal=True).T
    return U, diagonal**-2.0


def matrix(U, D):
    """A of the factors of its inverse."""
    from scipy.linalg import solve_triangular

    inner = solve_triangular(U, np.eye(len(D)), unit_diagonal=True)
    A = inner.T @ (inner / D[:, None])
    return (A + A.T) / 2.0


def fill(block, d, regression, ridge, forgets):
    """The words of a block; None: a regression that has learned nothing."""
    numbers = block[NUMBERS:].view(np.float64)
    size = d * (d - 1) // 2
    learned, w, packed, diagonal, share = 0, 0.0, 0.0, 1.0 / ridge, 1.0
    if regression is not None:
        learned, w, share = regression.learned, regression.w, regression.share
        above = np.tril_indices(d, -1)  # (j, i) with i < j: the columns of U, one by one
        packed, diagonal = regression.U.T[above], regression.D
    block[LEARNED] = learned
    numbers[:d], numbers[d:2 * d], numbers[2 * d:2 * d + size] = w, diagonal, packed
    if forgets:
        numbers[2 * d + size] = share


def taken(block, d, forgets):
    """The regression of a block."""
    numbers = block[NUMBERS:].view(np.float64)
    size = d * (d - 1) // 2
    share = float(numbers[2 * d + size]) if forgets else 1.0
    U = np.eye(d)
    U.T[np.tril_indices(d, -1)] = numbers[2 * d:2 * d + size]
    return Regression(int(block[LEARNED]), numbers[:d].copy(), U, numbers[d:2 * d].copy(), share)
