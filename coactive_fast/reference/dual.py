"""Slow twin of the dual metric: A in the feature space of a kernel, through the rows seen."""

import copy
import math

import numpy as np

from . import _check as check

# The parameters of each kernel with their defaults; gamma None stands for 1 / n_features.
KERNEL_PARAMS = {
    "linear": {},
    "rbf": {"gamma": None},
    "poly": {"degree": 3, "gamma": None, "coef0": 1.0},
}


class Dual:
    """``A = ridge I + sum_s c_s phi(x_s) phi(x_s)^T`` in the feature space of a kernel.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly"} or callable
        ``k(x, y) = phi(x) . phi(y)``: x.y; ``exp(-gamma ||x - y||^2)``;
        ``(gamma x.y + coef0)^degree``; or ``kernel(x, y, **kernel_params)`` on two 1-D rows.
    kernel_params : dict, optional
        Defaults: ``gamma = 1 / n_features``, ``degree = 3``, ``coef0 = 1``.
    ridge : float, default 1.0
        Above 0.
    window : int, optional
        Keep only the last `window` stored rows.
    budget : int, optional
        Keep at most `budget` rows as a dictionary and express all other rows in it.
    tolerance : float, default 1e-2
        With a budget: a row enters the dictionary when the part of it outside the span of the
        dictionary is larger than ``tolerance * k(x, x)`` (in squared length).

    Notes
    -----
    Without a budget every updated row is stored with its weight. With
    ``G_st = sqrt(c_s c_t) k(x_s, x_t)``, ``M = ridge I + G`` and ``b_s = sqrt(c_s) k(x_s, x)``::

        phi(x)^T A^-1 phi(x) = (k(x, x) - b^T M^-1 b) / ridge
        A^-1 phi(x) = (phi(x) - sum_s solve(x)_s sqrt(c_s) phi(x_s)) / ridge,  solve(x) = M^-1 b

    With a budget the dictionary D has the Gram matrix ``K_DD = R R^T``; a row x has the
    coordinates ``u = R^-1 k_D(x)`` in it and ``delta = k(x, x) - u.u`` is what it leaves out.
    A row that enters gets one coordinate more, ``sqrt(delta)``; all older rows have 0 there. In
    these coordinates ``A~ = ridge I + sum_s c_s u_s u_s^T``, and
    ``quad(x) = u^T A~^-1 u + max(delta, 0) / ridge``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> m = reference.Dual(kernel="linear")
    >>> m.update([1.0, 0.0])
    1.0
    >>> m.quad([1.0, 1.0])
    1.5
    >>> len(m)
    1
    """

    def __init__(
        self,
        *,
        kernel="linear",
        kernel_params=None,
        ridge=1.0,
        window=None,
        budget=None,
        tolerance=1e-2,
    ):
        if not (callable(kernel) or isinstance(kernel, str)):
            raise TypeError("kernel must be a string or a callable")
        if isinstance(kernel, str) and kernel not in KERNEL_PARAMS:
            raise ValueError(f"kernel must be one of {sorted(KERNEL_PARAMS)}, got {kernel!r}")
        if kernel_params is not None and not isinstance(kernel_params, dict):
            raise TypeError("kernel_params must be a dict or None")
        self.kernel = kernel
        self.kernel_params = dict(kernel_params or {})
        if isinstance(kernel, str):
            unknown = sorted(set(self.kernel_params) - set(KERNEL_PARAMS[kernel]))
            if unknown:
                raise ValueError(f"kernel_params holds {unknown}, unknown to {kernel!r}")
        self.ridge = check.positive("ridge", ridge)
        self.window = None if window is None else check.positive_count("window", window)
        self.budget = None if budget is None else check.positive_count("budget", budget)
        if window is not None and budget is not None:
            raise ValueError("window and budget exclude each other")
        self.tolerance = check.real("tolerance", tolerance)
        if self.tolerance < 0.0:
            raise ValueError(f"tolerance must be >= 0, got {tolerance}")
        self.n = None  # the number of features, known from the first row on
        self.updates = 0
        self._rows = []  # the stored rows; with a budget: the dictionary
        self._c = []  # their weights (without a budget)
        self._A = np.zeros((0, 0))  # A~ (with a budget)

    def __len__(self):
        return len(self._rows)

    def update(self, x, *, c=1.0):
        """``A += c phi(x) phi(x)^T``; returns ``q = phi(x)^T A^-1 phi(x)`` from before.

        A row with ``k(x, x) = 0`` returns 0.0 and stores nothing.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> m = reference.Dual(kernel="rbf", window=1)
        >>> m.update([1.0, 0.0]), m.update([1.0, 0.0]), len(m)
        (1.0, 0.5, 1)
        """
        x = self._row(x)
        c = check.positive("c", c)
        own = self._k(x, x)
        q = self.quad(x)
        if own == 0.0:
            return 0.0
        if self.budget is None:
            keep = 0 if self.window is None else -self.window
            self._rows = [*self._rows, x.copy()][keep:]
            self._c = [*self._c, c][keep:]
        else:
            u, delta = self._coordinates(x)
            if delta > self.tolerance * own and len(self) < self.budget:
                self._rows = [*self._rows, x.copy()]
                u = np.append(u, math.sqrt(delta))
                wider = self.ridge * np.eye(len(self))
                wider[:-1, :-1] = self._A
                self._A = wider
            self._A = self._A + c * np.outer(u, u)
        self.n = x.size
        self.updates += 1
        return q

    def solve(self, x):
        """``M^-1 b``: the coefficients of the stored rows; with a budget ``A~^-1 u``.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> m = reference.Dual()
        >>> m.update([1.0, 0.0])
        1.0
        >>> m.solve([3.0, 5.0])
        array([1.5])
        """
        x = self._row(x)
        right = self._b(x) if self.budget is None else self._coordinates(x)[0]
        return np.linalg.solve(self.matrix(), right)

    def quad(self, x):
        """``phi(x)^T A^-1 phi(x)``.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Dual(kernel="rbf", ridge=4.0).quad([7.0, 8.0])
        0.25
        """
        x = self._row(x)
        if self.budget is None:
            return float((self._k(x, x) - self._b(x) @ self.solve(x)) / self.ridge)
        u, delta = self._coordinates(x)
        return float(u @ self.solve(x) + max(delta, 0.0) / self.ridge)

    def inverse(self):
        """``M^-1`` (with a budget ``A~^-1``), a fresh array.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Dual().inverse().shape
        (0, 0)
        """
        inverse = np.linalg.inv(self.matrix())
        return (inverse + inverse.T) / 2.0

    def matrix(self):
        """``M = ridge I + G`` (with a budget ``A~``), a fresh array.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> m = reference.Dual(kernel="poly", kernel_params={"degree": 2})
        >>> q = m.update([2.0, 2.0])
        >>> m.matrix()
        array([[26.]])
        """
        if self.budget is not None:
            return self._A.copy()
        weight = np.sqrt(self._c)
        return self.ridge * np.eye(len(self)) + self._gram() * np.outer(weight, weight)

    @property
    def logdet(self):
        """``log det A - log det(ridge I)``; without a window an update adds ``log(1 + c q)``.

        That is ``log det M - t log ridge`` for t stored rows, and the same of ``A~`` with a
        budget (where what a row leaves out of the dictionary is not counted).

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Dual(ridge=5.0).logdet
        0.0
        """
        return float(np.linalg.slogdet(self.matrix())[1] - len(self) * math.log(self.ridge))

    def copy(self):
        """An independent copy.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> m = reference.Dual()
        >>> other = m.copy()
        >>> other.update([1.0]), len(m)
        (1.0, 0)
        """
        return copy.deepcopy(self)

    def _row(self, x):
        return check.row("x", x, self.n)

    def _gram(self):
        """The kernel between all pairs of stored rows."""
        values = [self._k(x, y) for x in self._rows for y in self._rows]
        return np.array(values, dtype=float).reshape(len(self), len(self))

    def _b(self, x):
        """``b_s = sqrt(c_s) k(x_s, x)``."""
        stored = zip(self._rows, self._c, strict=True)
        return np.array([math.sqrt(c) * self._k(row, x) for row, c in stored])

    def _coordinates(self, x):
        """``u = R^-1 k_D(x)`` and ``delta = k(x, x) - u.u``."""
        R = np.linalg.cholesky(self._gram())
        u = np.linalg.solve(R, np.array([self._k(row, x) for row in self._rows]))
        return u, self._k(x, x) - u @ u

    def _k(self, x, y):
        if callable(self.kernel):
            value = float(self.kernel(x, y, **self.kernel_params))
        else:
            params = {**KERNEL_PARAMS[self.kernel], **self.kernel_params}
            if params.get("gamma", 1.0) is None:
                params["gamma"] = 1.0 / x.size
            if self.kernel == "linear":
                value = float(x @ y)
            elif self.kernel == "rbf":
                value = math.exp(-params["gamma"] * float(np.sum((x - y) ** 2)))
            else:
                value = float((params["gamma"] * (x @ y) + params["coef0"]) ** params["degree"])
        if not math.isfinite(value) or (x is y and value < 0.0):
            raise ValueError(f"kernel gives {value}, which no inner product can be")
        return value
