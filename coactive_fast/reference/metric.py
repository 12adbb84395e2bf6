"""Slow twins of the metrics: a positive definite A under rank-one updates, kept as A itself.

A starts as ``ridge * I`` and receives ``A += c x x^T``. `Full` keeps the matrix, `Diagonal` its
diagonal; every question about ``A^-1`` is answered by solving with A afresh. The form that keeps
no matrix of the features but one of the rows seen is `Dual`, in `dual`.
"""

import copy
import math

import numpy as np

from . import _check as check

MARGIN = 1e-6     # of 1 + c q, below which no downdate is made
SYMMETRIC = 1e-9  # of the largest entry: what `from_matrix` takes for rounding


def period(n, f):
    """In how many calls of forget(f) the regulariser of order n is renewed once."""
    if f == 1.0:
        return n
    return max(1, min(n, math.floor(math.log(2.0) / -math.log(f))))


class Many:
    """What a metric answers for many rows, each as if it were asked alone."""

    def quad_many(self, X):
        """`quad` of each row.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Full(2, ridge=4.0).quad_many([[2.0, 0.0], [2.0, 2.0]])
        array([1., 2.])
        """
        return np.array([self.quad(x) for x in check.metric_rows("X", X, self.n)])

    def solve_many(self, X):
        """`solve` of each row.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Diagonal(2, ridge=4.0).solve_many([[2.0, 0.0]])
        array([[0.5, 0. ]])
        """
        X = check.metric_rows("X", X, self.n)
        return np.array([self.solve(x) for x in X]).reshape(X.shape)

    def _taken_in(self, other):
        """The other metric, where it may be merged into this one."""
        if not isinstance(other, type(self)):
            raise TypeError(f"other must be a {type(self).__name__}, got {type(other).__name__}")
        if (other.n, other.ridge) != (self.n, self.ridge):
            raise ValueError("other must have the same n and ridge")
        return other


class Full(Many):
    """A full positive definite matrix under rank-one updates.

    Parameters
    ----------
    n : int
        Dimension.
    ridge : float, default 1.0
        ``A = ridge * I`` at the start.

    Notes
    -----
    ``A = rho ridge I + M`` with ``M = sum_t c_t x_t x_t^T`` and what was forgotten of it; rho is 1
    unless `forget` made it less. A vector x may be a dense vector of length n, a table of one row,
    a scipy.sparse row or a pair ``(indices, values)``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> m = reference.Full(2)
    >>> m.update([1.0, 0.0])
    1.0
    >>> m.matrix()
    array([[2., 0.],
           [0., 1.]])
    >>> m.quad([1.0, 0.0])
    0.5
    """

    def __init__(self, n, *, ridge=1.0):
        self.n = check.positive_count("n", n)
        self.ridge = check.positive("ridge", ridge)
        self.updates = 0
        self._A = self.ridge * np.eye(self.n)
        self._rho = 1.0
        self._forgets = 0

    @classmethod
    def from_matrix(cls, A, ridge):
        """The metric of a symmetric positive definite A, of which ``ridge I`` is the regulariser.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Full.from_matrix([[4.0, 0.0], [0.0, 1.0]], 1.0).quad([2.0, 0.0])
        1.0
        """
        A = check.finite("A", check.real_array("A", check.unmasked("A", A), 2))
        if A.shape[0] != A.shape[1] or not A.size:
            raise ValueError(f"A must be square and not empty, got shape {A.shape}")
        if not np.abs(A - A.T).max() <= SYMMETRIC * np.abs(A).max():
            raise ValueError("A must be symmetric")
        self = cls(len(A), ridge=ridge)
        self._A = positive_definite("A", np.tril(A) + np.tril(A, -1).T)
        return self

    def update(self, x, *, c=1.0):
        """``A += c x x^T``; returns ``q = x^T A^-1 x`` from before.

        ``x = 0`` returns 0.0 and changes nothing.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Full(2, ridge=4.0).update([2.0, 0.0], c=3.0)
        1.0
        """
        x = check.row("x", x, self.n)
        c = check.nonzero("c", c)
        if not x.any():
            return 0.0
        q = self.quad(x)
        if c < 0.0 and not 1.0 + c * q >= MARGIN:
            raise ValueError(f"c must leave A positive definite: 1 + c q is {1.0 + c * q}")
        self._A = self._A + c * np.outer(x, x)
        self.updates += 1
        return q

    def forget(self, f):
        """``M <- f M``; rho <- 1 once in `period` calls, else ``f rho``.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> m = reference.Full(2)
        >>> m.update([1.0, 0.0])
        1.0
        >>> m.forget(0.5)
        >>> m.matrix()
        array([[1.5, 0. ],
               [0. , 1. ]])
        """
        f = check.within("f", f, "(0, 1]")
        M = self._A - self._rho * self.ridge * np.eye(self.n)
        self._rho = 1.0 if self._forgets % period(self.n, f) == 0 else f * self._rho
        self._A = f * M + self._rho * self.ridge * np.eye(self.n)
        self._forgets += 1

    def decay(self, f):
        """``M <- f M`` and rho <- 1.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> m = reference.Full(1)
        >>> m.update([2.0]), m.decay(0.5), m.matrix()
        (4.0, None, array([[3.]]))
        """
        f = check.within("f", f, "(0, 1]")
        self._A = f * self._A + (1.0 - f * self._rho) * self.ridge * np.eye(self.n)
        self._rho = 1.0

    def merge(self, other):
        """``A <- A_1 + A_2 - ridge I``: the metric that saw both streams.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> m, other = reference.Full(1), reference.Full(1)
        >>> m.update([1.0]), other.update([2.0]), m.merge(other), m.matrix()
        (1.0, 4.0, None, array([[6.]]))
        """
        other = self._taken_in(other)
        if not self._rho == other._rho == 1.0:
            raise ValueError("other and this metric must have their whole regulariser: decay(1.0)")
        A = self._A + other._A - self.ridge * np.eye(self.n)
        self._A = positive_definite("other", A)
        self.updates += other.updates

    def sample(self, size, rng):
        """`size` rows from the normal distribution with mean 0 and covariance ``A^-1``.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Full(3).sample(5, 0).shape
        (5, 3)
        """
        size = check.count("size", size)
        z = np.random.default_rng(rng).standard_normal((size, self.n))
        return np.linalg.solve(np.linalg.cholesky(self._A).T, z.T).T

    def solve(self, x):
        """``A^-1 x``.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Full(2, ridge=4.0).solve([2.0, 0.0])
        array([0.5, 0. ])
        """
        return check.finite("A^-1 x", np.linalg.solve(self._A, check.row("x", x, self.n)))

    def quad(self, x):
        """``x^T A^-1 x``.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Full(2, ridge=4.0).quad([2.0, 0.0])
        1.0
        """
        x = check.row("x", x, self.n)
        with np.errstate(over="ignore", invalid="ignore"):
            return check.real("x^T A^-1 x", x @ self.solve(x))

    def inverse(self):
        """``A^-1``, a fresh (n, n) array.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Full(1, ridge=4.0).inverse()
        array([[0.25]])
        """
        inverse = np.linalg.inv(self._A)
        return (inverse + inverse.T) / 2.0

    def matrix(self):
        """A, a fresh (n, n) array.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Full(1, ridge=4.0).matrix()
        array([[4.]])
        """
        return self._A.copy()

    @property
    def logdet(self):
        """``log det A``; an update adds ``log(1 + c q)``.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Full(3).logdet
        0.0
        """
        return float(np.linalg.slogdet(self._A)[1])

    def copy(self):
        """An independent copy.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> m = reference.Full(1)
        >>> other = m.copy()
        >>> other.update([1.0]), m.updates
        (1.0, 0)
        """
        return copy.deepcopy(self)


def positive_definite(name, A):
    """A itself, or a `ValueError` where it is not positive definite in float64."""
    try:
        np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        raise ValueError(f"{name} must make a positive definite matrix") from None
    return A


class Diagonal(Many):
    """A diagonal positive definite matrix under rank-one updates, of which the diagonal is kept.

    Parameters
    ----------
    n : int
        Dimension.
    ridge : float, default 1.0
        ``a = ridge * (1, .., 1)`` at the start.

    Notes
    -----
    ``a_r = ridge + sum_t c_t x_{t,r}^2`` and ``A = diag(a)``. After an update with weight c the
    determinant grows by the product of ``1 + c x_r^2 / a_r``, not by ``1 + c q``: the entries
    off the diagonal are dropped.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> m = reference.Diagonal(2)
    >>> m.update([1.0, 2.0])
    5.0
    >>> m.matrix()
    array([2., 5.])
    """

    def __init__(self, n, *, ridge=1.0):
        self.n = check.positive_count("n", n)
        self.ridge = check.positive("ridge", ridge)
        self.updates = 0
        self._a = np.full(self.n, self.ridge)

    def update(self, x, *, c=1.0):
        """``a += c x^2``; returns ``q = sum_r x_r^2 / a_r`` from before.

        ``x = 0`` returns 0.0 and changes nothing.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Diagonal(2, ridge=4.0).update([2.0, 0.0], c=3.0)
        1.0
        """
        x = check.row("x", x, self.n)
        c = check.nonzero("c", c)
        if not x.any():
            return 0.0
        q = self.quad(x)
        left = np.min(1.0 + c * x**2 / self._a)
        if c < 0.0 and not left >= MARGIN:
            raise ValueError(f"c must leave A positive definite: 1 + c x_r^2 / a_r is {left}")
        self._a = self._a + c * x**2
        self.updates += 1
        return q

    def forget(self, f):
        """``a <- f a + (1 - f) ridge``.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> m = reference.Diagonal(2)
        >>> m.update([2.0, 0.0]), m.forget(0.5), m.matrix()
        (4.0, None, array([3., 1.]))
        """
        f = check.within("f", f, "(0, 1]")
        self._a = f * self._a + (1.0 - f) * self.ridge

    def decay(self, f):
        """The same as `forget`: the regulariser of the diagonal is whole at every moment.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> m = reference.Diagonal(1)
        >>> m.update([2.0]), m.decay(0.5), m.matrix()
        (4.0, None, array([3.]))
        """
        self.forget(f)

    def merge(self, other):
        """``a <- a_1 + a_2 - ridge``: the metric that saw both streams.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> m, other = reference.Diagonal(1), reference.Diagonal(1)
        >>> m.update([1.0]), other.update([2.0]), m.merge(other), m.matrix()
        (1.0, 4.0, None, array([6.]))
        """
        a = self._a + self._taken_in(other)._a - self.ridge
        if not (a > 0.0).all():
            raise ValueError("other must make a positive definite matrix")
        self._a = a
        self.updates += other.updates

    def sample(self, size, rng):
        """`size` rows from the normal distribution with mean 0 and covariance ``A^-1``.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Diagonal(3).sample(5, 0).shape
        (5, 3)
        """
        size = check.count("size", size)
        return np.random.default_rng(rng).standard_normal((size, self.n)) / np.sqrt(self._a)

    def solve(self, x):
        """``x_r / a_r`` for every r.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Diagonal(2, ridge=4.0).solve([2.0, 0.0])
        array([0.5, 0. ])
        """
        x = check.row("x", x, self.n)
        with np.errstate(over="ignore"):
            return check.finite("A^-1 x", x / self._a)

    def quad(self, x):
        """``sum_r x_r^2 / a_r``.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Diagonal(2, ridge=4.0).quad([2.0, 0.0])
        1.0
        """
        x = check.row("x", x, self.n)
        with np.errstate(over="ignore"):
            return check.real("x^T A^-1 x", np.sum(x**2 / self._a))

    def inverse(self):
        """``1 / a``, a fresh array of shape (n,).

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Diagonal(2, ridge=4.0).inverse()
        array([0.25, 0.25])
        """
        return 1.0 / self._a

    def matrix(self):
        """The diagonal a, a fresh array of shape (n,).

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Diagonal(2, ridge=4.0).matrix()
        array([4., 4.])
        """
        return self._a.copy()

    @property
    def logdet(self):
        """``sum_r log a_r``.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Diagonal(3).logdet
        0.0
        """
        return float(np.sum(np.log(self._a)))

    def copy(self):
        """An independent copy.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> m = reference.Diagonal(1)
        >>> other = m.copy()
        >>> other.update([1.0]), m.updates
        (1.0, 0)
        """
        return copy.deepcopy(self)
