"""Ridge regression in its three forms, as values that are never changed, only replaced.

``A = ridge I + sum x x^T`` and ``w = A^-1 sum y x``. Each form answers ``read(x)`` with
``m = w.x`` and ``q = x^T A^-1 x``, and ``learned(x, y)`` with the form that has seen one example
more. A learner that keeps such values commits an update by one assignment: an error on the way
leaves it as it was.
"""

import dataclasses
import math

import numpy as np

from .dual import Dual

_NOTHING = 2.0**-400  # what is left of an a that forgetting has taken: not 0, to divide by
COVARIANCES = ("diagonal", "full", "kernel")


def fresh(covariance, d, ridge, step="residual", kernel=None):
    """The form named by `covariance` for rows of length d, before the first example.

    `step` is for the diagonal; `kernel`, a function of two rows, for the kernel form.
    """
    if covariance == "full":
        return FullRidge(ridge, ridge * np.eye(d), np.zeros(d))
    if covariance == "diagonal":
        return DiagonalRidge(ridge, np.full(d, ridge), np.zeros(d), step)
    return DualRidge(ridge, kernel, (), np.zeros((0, 0)), np.zeros(0))


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
    """All of A, and ``b = A w``."""

    ridge: float
    A: np.ndarray
    b: np.ndarray

    def __post_init__(self):
        in_range(self.A, self.b)

    def read(self, x):
        """``(w.x, x^T A^-1 x)``."""
        v = np.linalg.solve(self.A, x)
        return product(self.b, v), product(x, v)

    def learned(self, x, y):
        """``w <- A_new^-1 (A_old w + y x)``."""
        with np.errstate(over="ignore"):
            return dataclasses.replace(self, A=self.A + np.outer(x, x), b=self.b + y * x)

    def moved(self, x, c):
        """``w <- w + c A^-1 x``, A as it is."""
        with np.errstate(over="ignore"):
            return dataclasses.replace(self, b=self.b + c * x)

    def placed(self, w):
        """The given w, A as it is."""
        return dataclasses.replace(self, b=self.A @ w)

    def forgotten(self, f, j):
        """``A <- f A + d (1 - f) ridge e_j e_j^T`` and ``b <- f b``: the past weighs less."""
        A = f * self.A
        A[j, j] += self.b.size * (1.0 - f) * self.ridge
        return dataclasses.replace(self, A=A, b=f * self.b)

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

    def learned(self, x, y):
        """The step of the full matrix taken from the diagonal, then ``a <- a + x^2``.

        ``w <- w + (x / a) (y - w.x) / (1 + q)``; as printed it is
        ``w <- (a w + y x) / (a + x^2)``, each feature by itself.
        """
        m, q = self.read(x)
        with np.errstate(over="ignore", invalid="ignore"):
            a = self.a + x**2
            if self.step == "printed":
                w = (self.a * self.w + y * x) / a
            else:
                w = self.w + x / self.a * ((y - m) / (1.0 + q))
        return dataclasses.replace(self, a=a, w=w)

    def moved(self, x, c):
        """``w <- w + c A^-1 x``, A as it is."""
        with np.errstate(over="ignore"):
            return dataclasses.replace(self, w=self.w + c * x / self.a)

    def placed(self, w):
        """The given w, A as it is."""
        return dataclasses.replace(self, w=w)

    def forgotten(self, f, j):
        """``a <- f a + d (1 - f) ridge e_j``, w as it is."""
        a = np.maximum(f * self.a, _NOTHING)
        a[j] += a.size * (1.0 - f) * self.ridge
        return dataclasses.replace(self, a=a)

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
    """The same regression in the feature space of a kernel: the rows seen and their y.

    With the Gram matrix G of the rows, ``M = ridge I + G`` and ``k_s = k(x_s, x)``::

        w.x = k^T M^-1 y          x^T A^-1 x = (k(x, x) - k^T M^-1 k) / ridge
    """

    ridge: float
    kernel: object
    rows: tuple
    G: np.ndarray
    y: np.ndarray

    def read(self, x):
        """``(w.x, x^T A^-1 x)``."""
        own, k = self._kernel_row(x)
        v = np.linalg.solve(self._M, k)
        # what rounding takes below zero is put back: a width is the root of it
        return product(self.y, v), max(own - product(k, v), 0.0) / self.ridge

    def learned(self, x, y):
        """One row more in G."""
        own, k = self._kernel_row(x)
        G = np.block([[self.G, k[:, None]], [k[None, :], own]])
        return dataclasses.replace(
            self, rows=(*self.rows, x.copy()), G=G, y=np.append(self.y, y)
        )

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
        return self.ridge * np.eye(len(self.rows)) + self.G

    def _kernel_row(self, x):
        """``k(x, x)`` and the k of x with every row."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.kernel(x, x), np.array([self.kernel(row, x) for row in self.rows])
