"""Ridge regression in its three forms, as values that are never changed, only replaced.

``A = ridge I + sum x x^T`` and ``w = A^-1 sum y x``. Each form answers ``read(x)`` with
``m = w.x`` and ``q = x^T A^-1 x``, ``learned(x, y)`` with the form that has seen one example
more, ``moved(x, c)`` with ``w + c A^-1 x`` and ``in_ball()`` with w projected onto the unit ball
in the norm of A. Full and diagonal also forget, weigh their examples, ``A += c x x^T``, and give
``spread(z)``, which has the covariance A^-1 where z has I. A learner that keeps such values
commits an update by one assignment: an error on the way leaves it as it was.
"""

import dataclasses
import math

import numpy as np

from .dual import Dual
from .projections import project_ball

COVARIANCES = ("diagonal", "full", "kernel")


def fresh(covariance, d, ridge, step="residual", kernel=None):
    """The form named by `covariance` for rows of length d, before the first example.

    `step` is for the diagonal; `kernel`, a function of two rows, for the kernel form.
    """
    if covariance == "full":
        return FullRidge(ridge, ridge * np.eye(d), np.zeros(d))
    if covariance == "diagonal":
        return DiagonalRidge(ridge, np.full(d, ridge), np.zeros(d), step)
    return DualRidge(ridge, kernel, (), np.zeros((0, 0)), np.zeros(0), np.zeros(0, dtype=bool))


def kernel_of(covariance, kernel, kernel_params):
    """The kernel as a function of two rows; an error where the covariance has no use for one."""
    if covariance != "kernel" and (kernel != "linear" or kernel_params):
        raise ValueError(f"kernel and kernel_params have no meaning with covariance={covariance!r}")
    return Dual(kernel=kernel, kernel_params=kernel_params)._k


def in_range(*arrays):
    """Refuse what has left the range of float64."""
    if not all(np.isfinite(values).all() for values in arrays):
        raise ValueError("x is too large: what would be learned from it is not finite")


def product(a, b):
    """``a.b`` as a Python float, finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        value = float(a @ b)
    if not math.isfinite(value):
        raise ValueError(f"x is too large: a product with it is {value}")
    return value


@dataclasses.dataclass(frozen=True, eq=False)
class FullRidge:
    """All of ``A = rho ridge I + M``, and ``b = A w``; rho < 1 after forgetting alone."""

    ridge: float
    A: np.ndarray
    b: np.ndarray
    rho: float = 1.0

    def __post_init__(self):
        in_range(self.A, self.b)

    def read(self, x):
        """``(w.x, x^T A^-1 x)``."""
        v = np.linalg.solve(self.A, x)
        return product(self.b, v), product(x, v)

    def learned(self, x, y, c=1.0):
        """``w <- A_new^-1 (A_old w + c y x)``, ``A <- A + c x x^T``."""
        with np.errstate(over="ignore", invalid="ignore"):
            A, b = self.A + c * np.outer(x, x), self.b + c * y * x
        return dataclasses.replace(self, A=A, b=b)

    def moved(self, x, c):
        """``w <- w + c A^-1 x``, A as it is."""
        with np.errstate(over="ignore"):
            return dataclasses.replace(self, b=self.b + c * x)

    def in_ball(self):
        """w projected onto the unit ball in the norm of A."""
        w, multiplier = project_ball(self.weights, self.inverse, 1.0)
        return dataclasses.replace(self, b=self.A @ w) if multiplier > 0.0 else self

    def forgotten(self, f, learned):
        """``M <- f M`` and ``b <- f b`` before the example that follows `learned` others.

        rho goes back to 1 once in m examples and falls by f else, so it stays above 1/2.
        """
        m = max(1, min(self.b.size, math.floor(math.log(2.0) / -math.log(f))))
        rho = f * self.rho if learned % m else 1.0
        renewed = (rho - f * self.rho) * self.ridge
        A = f * self.A + renewed * np.eye(self.b.size)
        return dataclasses.replace(self, A=A, b=f * self.b, rho=rho)

    def decayed(self, f):
        """``M <- f M`` and ``b <- f b``, and rho back to 1."""
        renewed = (1.0 - f * self.rho) * self.ridge
        A = f * self.A + renewed * np.eye(self.b.size)
        return dataclasses.replace(self, A=A, b=f * self.b, rho=1.0)

    def merged(self, other):
        """What saw both streams: ``A_1 + A_2 - ridge I`` and ``b_1 + b_2``; both with rho = 1."""
        A = self.A + other.A - self.ridge * np.eye(self.b.size)
        return dataclasses.replace(self, A=A, b=self.b + other.b)

    def spread(self, z):
        """``F z`` with ``F F^T = A^-1``."""
        return np.linalg.solve(np.linalg.cholesky(self.A).T, z)

    def ignores(self, x):
        """Whether x is the null vector."""
        return not x.any()

    @property
    def weights(self):
        """w, a fresh array."""
        return np.linalg.solve(self.A, self.b)

    @property
    def inverse(self):
        """``A^-1``, a fresh array."""
        inverse = np.linalg.inv(self.A)
        return (inverse + inverse.T) / 2.0

    @property
    def information(self):
        """``log det A - log det(ridge I)``."""
        return float(np.linalg.slogdet(self.A / self.ridge)[1])


@dataclasses.dataclass(frozen=True, eq=False)
class DiagonalRidge:
    """The diagonal a of A alone, and w."""

    ridge: float
    a: np.ndarray
    w: np.ndarray
    step: str = "residual"

    def __post_init__(self):
        in_range(self.a, self.w)

    def read(self, x):
        """``(w.x, sum_r x_r^2 / a_r)``."""
        return product(self.w, x), product(x / self.a, x)

    def learned(self, x, y, c=1.0):
        """The step of the full matrix taken from the diagonal, then ``a <- a + c x^2``.

        ``w <- w + (x / a) c (y - w.x) / (1 + c q)``; as printed it is
        ``w <- (a w + c y x) / (a + c x^2)``, each feature by itself.
        """
        m, q = self.read(x)
        with np.errstate(over="ignore", invalid="ignore"):
            a = self.a + c * x**2
            if self.step == "printed":
                w = (self.a * self.w + c * y * x) / a
            else:
                w = self.w + x / self.a * (c * (y - m) / (1.0 + c * q))
        return dataclasses.replace(self, a=a, w=w)

    def moved(self, x, c):
        """``w <- w + c A^-1 x``, A as it is."""
        with np.errstate(over="ignore"):
            return dataclasses.replace(self, w=self.w + c * x / self.a)

    def in_ball(self):
        """w projected onto the unit ball in the norm of A."""
        w, multiplier = project_ball(self.w, np.diag(self.inverse), 1.0)
        return dataclasses.replace(self, w=w) if multiplier > 0.0 else self

    def forgotten(self, f, learned):
        """``a <- f a + (1 - f) ridge`` in all coordinates, w as it is."""
        return dataclasses.replace(self, a=f * self.a + (1.0 - f) * self.ridge)

    def decayed(self, f):
        """``a <- f a + (1 - f) ridge``, w as it is: the regulariser is always whole."""
        return self.forgotten(f, 0)

    def widened(self, d):
        """The same with so many features: new ones as at the start."""
        new = d - self.a.size
        a = np.append(self.a, np.full(new, self.ridge))
        return dataclasses.replace(self, a=a, w=np.append(self.w, np.zeros(new)))

    def spread(self, z):
        """``F z`` with ``F F^T = A^-1``."""
        return z / np.sqrt(self.a)

    def ignores(self, x):
        """Whether x is the null vector."""
        return not x.any()

    @property
    def weights(self):
        """w, a fresh array."""
        return self.w.copy()

    @property
    def inverse(self):
        """``1 / a``, a fresh array."""
        return 1.0 / self.a

    @property
    def information(self):
        """``log det A - log det(ridge I)`` of the diagonal matrix."""
        return float(np.sum(np.log(self.a / self.ridge)))


@dataclasses.dataclass(frozen=True, eq=False)
class DualRidge:
    """The same regression in the feature space of a kernel, through the rows seen.

    ``A = ridge I + sum phi_s phi_s^T`` over the rows that are `own`, and
    ``b = A w = sum_s beta_s phi_s`` over all of them: a row that only moved w is in b alone. With
    the Gram matrix G, ``M = ridge I + G_own``, ``k_s = k(x_s, x)``, ``u = M^-1 k_own`` and o, n
    for the own rows and the others::

        x^T A^-1 x = (k(x, x) - k_o.u) / ridge
        w.x        = beta_o.u + beta_n.(k_n - G_no u) / ridge
    """

    ridge: float
    kernel: object
    rows: tuple
    G: np.ndarray
    beta: np.ndarray
    own: np.ndarray

    def __post_init__(self):
        in_range(self.beta)

    def read(self, x):
        """``(w.x, x^T A^-1 x)``."""
        squared, k = self._kernel_row(x)
        o, n = self.own, ~self.own
        u = np.linalg.solve(self._M, k[o])
        # what rounding takes below zero is put back: a width is the root of it
        q = max(squared - product(k[o], u), 0.0) / self.ridge
        m = product(self.beta[o], u)
        if n.any():
            m += product(self.beta[n], k[n] - self.G[np.ix_(n, o)] @ u) / self.ridge
        return m, q

    def learned(self, x, y):
        """One row more in A, and in b with the weight y."""
        return self._with(x, y, True)

    def moved(self, x, c):
        """``w <- w + c A^-1 x``, A as it is: one row more in b alone."""
        return self._with(x, c, False)

    def in_ball(self):
        """w projected onto the unit ball in the norm of A; all rows must be own.

        With ``G = Q diag(g) Q^T`` and ``t = Q^T beta`` an orthonormal basis of the span has the
        coordinates ``sqrt(g) t / (ridge + g)`` of w and the eigenvalues ``ridge + g`` of A; P2's
        multiplier lam takes beta to ``Q diag((ridge + g) / (ridge + g + lam)) t``.
        """
        g, Q = np.linalg.eigh(self.G)
        g, t = np.maximum(g, 0.0), Q.T @ self.beta
        a = self.ridge + g
        _, multiplier = project_ball(np.sqrt(g) * t / a, np.diag(1.0 / a), 1.0)
        if multiplier == 0.0:
            return self
        return dataclasses.replace(self, beta=Q @ (a / (a + multiplier) * t))

    def ignores(self, x):
        """Whether x is null in the feature space."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.kernel(x, x) == 0.0

    @property
    def information(self):
        """``log det A - log det(ridge I)``, which is ``log det(M / ridge)``."""
        return float(np.linalg.slogdet(self._M / self.ridge)[1])

    @property
    def _M(self):
        return self.ridge * np.eye(self.own.sum()) + self.G[np.ix_(self.own, self.own)]

    def _with(self, x, weight, own):
        squared, k = self._kernel_row(x)
        return dataclasses.replace(
            self,
            rows=(*self.rows, x.copy()),
            G=np.block([[self.G, k[:, None]], [k[None, :], squared]]),
            beta=np.append(self.beta, weight),
            own=np.append(self.own, own),
        )

    def _kernel_row(self, x):
        """``k(x, x)`` and the k of x with every row."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.kernel(x, x), np.array([self.kernel(row, x) for row in self.rows])
