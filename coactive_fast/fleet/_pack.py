"""Regressions as the numbers of a record, and back.

A record keeps ``A^-1 = U D U^T``, a learner A and its inverse. LAPACK makes one of the other: with
``A = L L^T``, ``U = (L / diag L)^-T`` and ``D = 1 / diag(L)^2``.
"""

from typing import NamedTuple

import numpy as np

from ..metric._single import Moving

ROUNDS, EXTRA = 3, 5  # words of a head
LEARNED, NUMBERS = 1, 2  # words of a block


class Regression(NamedTuple):
    """What one regression has learned; A has ``share`` of the regulariser."""

    learned: int
    w: np.ndarray
    A: np.ndarray
    share: float

    def weighed(self, ridge, f):
        """``A <- ridge I + f (A - share ridge I)`` and ``A w <- f A w``."""
        whole = ridge * np.eye(len(self.w))
        A = whole + f * (self.A - self.share * whole)
        return Regression(self.learned, np.linalg.solve(A, f * (self.A @ self.w)), A, 1.0)

    def told(self, ridge):
        """As the state of a learner has it."""
        return {"d": len(self.w), "learned": self.learned, "w": self.w, "scale": 1.0,
                "share": self.share,
                "metric": Moving.from_matrix(self.A, self.share * ridge).state()}


def regression_of(form):
    """Of a learner's state."""
    A = Moving.from_state(form["metric"]).matrix() * form["scale"]
    return Regression(form["learned"], form["w"], A, form["share"])


def factors(A):
    """``(U packed by columns, D)``."""
    from scipy.linalg import solve_triangular

    d = len(A)
    try:
        lower = np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        raise ValueError("the learner's A is not positive definite in float64") from None
    diagonal = np.diag(lower).copy()
    U = solve_triangular(lower / diagonal, np.eye(d), lower=True, unit_diagonal=True).T
    return np.concatenate([U[:j, j] for j in range(d)] or [np.zeros(0)]), diagonal**-2.0


def matrix(D, packed):
    """A of the factors of its inverse."""
    from scipy.linalg import solve_triangular

    d = len(D)
    U = np.eye(d)
    for j in range(d):
        U[:j, j] = packed[j * (j - 1) // 2:j * (j + 1) // 2]
    inner = solve_triangular(U, np.eye(d), unit_diagonal=True)
    A = inner.T @ (inner / D[:, None])
    return (A + A.T) / 2.0


def fill(block, d, regression, ridge, forgets):
    """The words of a block; None: a regression that has learned nothing."""
    numbers = block[NUMBERS:].view(np.float64)
    size = d * (d - 1) // 2
    learned, w, packed, diagonal, share = 0, 0.0, 0.0, 1.0 / ridge, 1.0
    if regression is not None:
        learned, w, share = regression.learned, regression.w, regression.share
        packed, diagonal = factors(regression.A)
    block[LEARNED] = learned
    numbers[:d], numbers[d:2 * d], numbers[2 * d:2 * d + size] = w, diagonal, packed
    if forgets:
        numbers[2 * d + size] = share


def taken(block, d, forgets):
    """The regression of a block."""
    numbers = block[NUMBERS:].view(np.float64)
    size = d * (d - 1) // 2
    share = float(numbers[2 * d + size]) if forgets else 1.0
    A = matrix(numbers[d:2 * d], numbers[2 * d:2 * d + size])
    return Regression(int(block[LEARNED]), numbers[:d].copy(), A, share)
