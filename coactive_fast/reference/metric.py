"""Slow twins of the metrics: a positive definite A under rank-one updates, kept as A itself.

A starts as ``ridge * I`` and receives ``A += c x x^T``. `Full` keeps the matrix, `Diagonal` its
diagonal; every question about ``A^-1`` is answered by solving with A afresh. The form that keeps
no matrix of the features but one of the rows seen is `Dual`, in `dual`.
"""

import copy

import numpy as np

from . import _check as check


class Full:
    """A full positive definite matrix under rank-one updates.

    Parameters
    ----------
    n : int
        Dimension.
    ridge : float, default 1.0
        ``A = ridge * I`` at the start.

    Notes
    -----
    ``A = ridge I + sum_t c_t x_t x_t^T``. A vector x may be a dense vector of length n or a
    scipy.sparse row of shape (1, n).

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
        c = check.positive("c", c)
        if not x.any():
            return 0.0
        q = self.quad(x)
        self._A = self._A + c * np.outer(x, x)
        self.updates += 1
        return q

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


class Diagonal:
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
        c = check.positive("c", c)
        if not x.any():
            return 0.0
        q = self.quad(x)
        self._a = self._a + c * x**2
        self.updates += 1
        return q

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
