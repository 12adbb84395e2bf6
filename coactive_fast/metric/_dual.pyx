"""The dual metric: the same matrix seen through the Gram matrix of the rows it was made of."""

import numpy

cimport numpy as np
from libc.math cimport fabs, sqrt
from libc.stddef cimport size_t
from libc.string cimport memcpy, memmove

from coactive_fast._arrays cimport as_count, as_number, as_rows, data_of, refuse_non_finite
from coactive_fast._table cimport (
    cf_cholesky, cf_cholesky_at, cf_get_library, cf_get_table, cf_library, cf_pad,
    cf_panels_size, cf_table, cf_triangle,
)
from coactive_fast.metric._full cimport Full
from coactive_fast.metric._rows cimport (
    ANY, Metric, as_order, as_ridge, as_weight, check_state, dense_row, state_vector,
)

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    FORMAT = 1
    LINEAR = 0
    RBF = 1
    POLY = 2
    CALLABLE = 3
    BUSY = 4096       # values of the factor from which the GIL is let go

KINDS = {"linear": LINEAR, "rbf": RBF, "poly": POLY}
FIELDS = ("kernel", "kernel_params", "ridge", "window", "budget", "tolerance", "count", "logdet",
          "missed", "inner", "rows")
STORED = ("rows", "roots", "factor", "inverses")
PARAMETERS = {"linear": (), "rbf": ("gamma",), "poly": ("gamma", "coef0", "degree")}


cdef object frozen(np.ndarray array):
    """A view that cannot be written to: what is stored, or is the caller's, stays as it is."""
    view = array.view()
    view.flags.writeable = False
    return view


cdef class Dual(Metric):
    """Dual(*, kernel="linear", kernel_params=None, ridge=1.0, window=None, budget=None, \
tolerance=0.01)\n--\n
    ``A = ridge I + sum c phi(x) phi(x)^T`` in the space of a kernel, rows stored.

    What is kept is the Cholesky factor of ``M = ridge I + G``, ``G_st = sqrt(c_s c_t) k(x_s,
    x_t)`` over the t rows stored; a reading is one triangular solve, O(t^2 / 2), and the update
    after it is free. Memory: 4 t^2 bytes for the factor and the rows.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly"} or callable, default "linear"
        A callable gets two 1-D rows and `kernel_params` as keywords.
    kernel_params : dict, optional
        gamma (default 1 / number of features), coef0 (1), degree (3), as in scikit-learn.
    ridge : float, default 1.0
        Greater than 0.
    window : int, optional
        Only the last `window` rows stay: the oldest leaves by a rank-one update of the factor.
    budget : int, optional
        At most so many rows are stored as a dictionary. A row joins it where its squared distance
        from the dictionary's span exceeds ``tolerance * k(x, x)``; all others count through their
        projection on that span (approximate linear dependence). Cost O(budget^2) an update and
        ``14 budget^2`` bytes from the start, however few rows there are.
    tolerance : float, default 1e-2
        See `budget`.

    Examples
    --------
    >>> from coactive_fast.metric import Dual
    >>> m = Dual()
    >>> m.update([1.0, 0.0])
    1.0
    >>> round(m.quad([1.0, 0.0]), 12)
    0.5
    """

    cdef readonly object kernel
    cdef dict params
    cdef readonly double ridge
    cdef readonly object window
    cdef readonly object budget
    cdef readonly double tolerance
    cdef int kind
    cdef double gamma, coef0, degree
    # Invariants: `factor` is that of M (with a budget: of the dictionary's Gram matrix) over the
    # first `factor.n` rows of `rows`; roots[s] = sqrt(c_s). `factor` points into `panels` and
    # `inverses`, which have room for `room` rows. With a budget `inner` is A in the coordinates
    # of the dictionary, unused ones still at ridge.
    cdef cf_cholesky factor
    cdef Py_ssize_t room
    cdef np.ndarray panels, inverses, rows, roots
    cdef Full inner
    cdef double _logdet
    cdef Py_ssize_t count
    cdef double missed        # sum of what ALD left out, c delta
    cdef object __weakref__

    def __init__(self, *, kernel="linear", kernel_params=None, ridge=1.0, window=None,
                 budget=None, tolerance=1e-2):
        self.unmade()
        self._make(kernel, kernel_params, ridge, window, budget, tolerance)
        if budget is not None:
            self.inner = Full(budget, ridge=ridge)
        self.made()

    cdef int _make(self, kernel, kernel_params, ridge, window, budget, tolerance) except -1:
        self.ridge = as_ridge(ridge)
        if window is not None and budget is not None:
            raise ValueError("window and budget exclude each other")
        self.window = None if window is None else as_order(window, "window")
        self.budget = None if budget is None else as_order(budget, "budget")
        self.tolerance = as_number(tolerance, "tolerance")
        if self.tolerance < 0.0:
            raise ValueError(f"tolerance must be >= 0, got {self.tolerance}")
        if not isinstance(kernel_params, (dict, type(None))):
            raise TypeError(f"kernel_params must be a dict or None, got "
                            f"{type(kernel_params).__name__}")
        self._take_kernel(kernel, dict(kernel_params or {}))
        self.inner = self.rows = None
        self.factor.n = self.room = self.count = 0
        self._logdet = self.missed = 0.0
        return 0

    cdef int _take_kernel(self, kernel, dict params) except -1:
        if callable(kernel):
            self.kind = CALLABLE
        elif isinstance(kernel, str) and kernel in KINDS:
            self.kind = KINDS[kernel]
            for name in params:
                if name not in PARAMETERS[kernel]:
                    raise ValueError(f"kernel_params of {kernel!r} may hold "
                                     f"{list(PARAMETERS[kernel])}, got {name!r}")
        elif isinstance(kernel, str):
            raise ValueError(f"kernel must be one of {list(KINDS)} or callable, got {kernel!r}")
        else:
            raise TypeError(f"kernel must be a name or callable, got {type(kernel).__name__}")
        self.kernel, self.params = kernel, params
        if self.kind != CALLABLE:
            gamma = params.get("gamma")
            self.gamma = -1.0 if gamma is None else as_number(gamma, "gamma")
            if gamma is not None and self.gamma <= 0.0:
                raise ValueError(f"gamma must be > 0, got {self.gamma}")
            self.coef0 = as_number(params.get("coef0", 1.0), "coef0")
            self.degree = as_number(params.get("degree", 3.0), "degree")
        return 0

    def __len__(self):
        return self.factor.n

    @property
    def kernel_params(self):
        """A copy of the kernel's parameters."""
        return dict(self.params or {})

    # --- kernel values ------------------------------------------------------------------------

    cdef np.ndarray _row(self, object x):
        """x as a dense row; the first one fixes the dimension."""
        cdef np.ndarray v
        v = dense_row(x, "x", ANY if self.rows is None else np.PyArray_DIM(self.rows, 1))
        refuse_non_finite(v, "x")
        return v

    cdef double _gamma(self, Py_ssize_t d) noexcept:
        return self.gamma if self.gamma > 0.0 else 1.0 / max(d, 1)

    cdef int _values(self, np.ndarray v, const double *rows, Py_ssize_t n, double *out) except -1:
        """Kernel values of v with n rows; a callable gets the stored ones."""
        cdef Py_ssize_t d = np.PyArray_DIM(v, 0), s
        cdef const double *x = data_of(v)
        if self.kind == LINEAR:
            K.scores(n, d, rows, d, x, out)
        elif self.kind == RBF:
            K.gram_rbf(n, d, rows, d, x, self._gamma(d), out)
        elif self.kind == POLY:
            K.gram_poly(n, d, rows, d, x, self._gamma(d), self.coef0, self.degree, out)
        else:
            x_seen, rows_seen = frozen(v), frozen(self.rows)
            for s in range(n):
                out[s] = as_number(self.kernel(rows_seen[s], x_seen, **self.params),
                                   "the kernel's value")
        if not K.all_finite(n, out):
            raise ValueError("the kernel of x with a stored row is not finite")
        return 0

    cdef double _own(self, np.ndarray v) except? -1.0:
        """k(x, x)."""
        cdef double own = 0.0
        if self.kind == CALLABLE:
            seen = frozen(v)
            own = as_number(self.kernel(seen, seen, **self.params), "the kernel's value")
        else:
            self._values(v, data_of(v), 1, &own)
        if not own - own == 0.0 or own < 0.0:
            raise ValueError(f"the kernel of x with itself must be >= 0 and finite, got {own}")
        return own

    cdef np.ndarray _solved(self, np.ndarray v):
        """u = L^-1 (values of v with the rows, times their roots), padded with zeros."""
        cdef Py_ssize_t n = self.factor.n, s
        cdef np.ndarray u = numpy.zeros(cf_pad(n))
        cdef double *b = data_of(u)
        if n == 0:
            return u
        self._values(v, data_of(self.rows), n, b)
        for s in range(n):
            b[s] *= data_of(self.roots)[s]
        if n * n < BUSY:
            K.cholesky_forward(&self.factor, b, b)
        else:
            with nogil:
                K.cholesky_forward(&self.factor, b, b)
        return u

    cdef np.ndarray _coordinates(self, np.ndarray u):
        """u, which is padded with zeros, in as many coordinates as the budget allows."""
        cdef np.ndarray out = numpy.zeros(self.inner.core.n)
        cdef Py_ssize_t n = min(np.PyArray_DIM(u, 0), np.PyArray_DIM(out, 0))
        memcpy(data_of(out), data_of(u), <size_t>n * sizeof(double))
        return out

    # --- changing -----------------------------------------------------------------------------

    cdef int _grow(self, Py_ssize_t d) except -1:
        """Room for one more row."""
        cdef Py_ssize_t room
        if self.factor.n < self.room:
            return 0
        room = max(16, 2 * self.room)
        if self.window is not None:
            room = min(room, self.window + 1)
        if self.budget is not None:
            room = min(room, self.budget)
        room = max(room, self.factor.n + 1)
        panels = numpy.zeros(cf_panels_size(room) + 8)
        panels = panels[(-(panels.ctypes.data // 8)) % 8:][:cf_panels_size(room)]
        inverses = numpy.zeros(cf_pad(room))
        rows, roots = numpy.zeros((room, d)), numpy.zeros(room)
        if self.rows is not None:
            panels[:self.panels.size] = self.panels
            inverses[:self.inverses.size] = self.inverses
            rows[:self.factor.n] = self.rows[:self.factor.n]
            roots[:self.factor.n] = self.roots[:self.factor.n]
        self.panels, self.inverses, self.rows, self.roots = panels, inverses, rows, roots
        self.factor.data = data_of(self.panels)
        self.factor.inv = data_of(self.inverses)
        self.room = room
        return 0

    cdef int _append(self, np.ndarray v, double root, np.ndarray u, double pivot) except -1:
        cdef Py_ssize_t d = np.PyArray_DIM(v, 0), n
        self._grow(d)
        n = self.factor.n
        memcpy(data_of(self.rows) + n * d, data_of(v), <size_t>d * sizeof(double))
        data_of(self.roots)[n] = root
        K.cholesky_append(&self.factor, data_of(u), pivot)
        return 0

    cdef void _forget_oldest(self, double *scratch) noexcept:
        cdef Py_ssize_t n = self.factor.n, d = np.PyArray_DIM(self.rows, 1), i
        K.cholesky_drop_first(&self.factor, scratch)
        memmove(data_of(self.rows), data_of(self.rows) + d, <size_t>((n - 1) * d) * sizeof(double))
        memmove(data_of(self.roots), data_of(self.roots) + 1, <size_t>(n - 1) * sizeof(double))
        self._logdet = -(n - 1) * K.log_one(self.ridge)
        for i in range(n - 1):
            self._logdet -= 2.0 * K.log_one(data_of(self.inverses)[i])

    def update(self, x, *, c=1.0):
        """``A += c phi(x) phi(x)^T``; returns ``phi(x)^T A^-1 phi(x)`` from before.

        Parameters
        ----------
        x : array_like of shape (n,) or scipy.sparse row
            A row with k(x, x) = 0 returns 0 and is not stored.
        c : float, default 1.0
            Greater than 0.

        Returns
        -------
        float
        """
        cdef double weight = as_weight(c), own, q
        cdef np.ndarray v, u
        self.guard.begin_write()
        try:
            v = self._row(x)
            own = self._own(v)
            if own == 0.0:
                return 0.0
            if not weight * own / self.ridge < 1e308:
                raise ValueError("x is too large: c k(x, x) / ridge overflows")
            u = self._solved(v)
            if self.budget is None:
                q = self._update_exact(v, weight, own, u)
            else:
                q = self._update_within(v, weight, own, u)
            self.count += 1
            return q
        finally:
            self.guard.end_write()

    cdef double _update_exact(self, np.ndarray v, double c, double own, np.ndarray u) except? -1.0:
        cdef double q = self._quad_exact(own, u), root = sqrt(c)
        cdef Py_ssize_t n = self.factor.n, s
        cdef np.ndarray scratch = None
        if self.window is not None and n == <Py_ssize_t>self.window:  # taken before any change
            scratch = numpy.empty(3 * cf_pad(n + 1))
        for s in range(n):
            data_of(u)[s] *= root
        self._append(v, root, u, sqrt(self.ridge * (1.0 + c * q)))
        self._logdet += K.log1p_one(c * q)
        if scratch is not None:
            self._forget_oldest(data_of(scratch))
        return q

    cdef double _quad_exact(self, double own, np.ndarray u) noexcept:
        """(k(x, x) - u.u) / ridge, >= 0: what rounding takes below is put back."""
        cdef double rest = own - K.dot(self.factor.n, data_of(u), data_of(u))
        return max(rest, 0.0) / self.ridge

    cdef double _update_within(self, np.ndarray v, double c, double own, np.ndarray u) except? -1.0:
        cdef Py_ssize_t n = self.factor.n
        cdef double delta = max(own - K.dot(n, data_of(u), data_of(u)), 0.0), inside, unused
        cdef np.ndarray w = self._coordinates(u)
        cdef bint joins = delta > self.tolerance * own and n < self.inner.core.n
        self.inner._quad(w, &inside)
        if joins:  # one coordinate more: that of the new atom
            self._grow(np.PyArray_DIM(v, 0))  # what may fail comes before what is kept
            data_of(w)[n] = sqrt(delta)
        self.inner._update(w, c, &unused)
        if joins:
            self._append(v, 1.0, u, sqrt(delta))
        else:
            self.missed += c * delta
        return inside + delta / self.ridge

    # --- reading ------------------------------------------------------------------------------

    def quad(self, x):
        """``phi(x)^T A^-1 phi(x)``.

        Returns
        -------
        float
        """
        cdef np.ndarray v, u
        cdef double own, delta
        self.guard.begin_read()
        try:
            v = self._row(x)
            own = self._own(v)
            u = self._solved(v)
            if self.budget is None:
                return self._quad_exact(own, u)
            delta = max(own - K.dot(self.factor.n, data_of(u), data_of(u)), 0.0)
            return self.inner.quad(self._coordinates(u)) + delta / self.ridge
        finally:
            self.guard.end_read()

    def solve(self, x):
        """Coefficients of the stored rows in ``A^-1 phi(x)``.

        Without a budget they are ``a = M^-1 b``, ``b_s = sqrt(c_s) k(x_s, x)``, and ``A^-1 phi(x)
        = (phi(x) - sum_s a_s sqrt(c_s) phi(x_s)) / ridge``; with one, ``A^-1 u`` in the
        coordinates of the dictionary.

        Returns
        -------
        ndarray of float64, shape (len(self),)
        """
        cdef np.ndarray u
        self.guard.begin_read()
        try:
            u = self._solved(self._row(x))
            if self.budget is not None:
                return self.inner.solve(self._coordinates(u))[:self.factor.n]
            if self.factor.n:
                K.cholesky_backward(&self.factor, data_of(u), data_of(u))
            return u[:self.factor.n]
        finally:
            self.guard.end_read()

    def inverse(self):
        """``M^-1`` over the stored rows (with a budget: A^-1 in the dictionary's coordinates).

        Returns
        -------
        ndarray of float64, shape (len(self), len(self))
        """
        cdef Py_ssize_t n  # known only where no update can change it: under the lock
        cdef np.ndarray out, scratch
        cdef cf_triangle b
        self.guard.begin_read()
        try:
            n = self.factor.n
            if self.budget is not None:
                return self.inner.inverse()[:n, :n]
            out = numpy.zeros((n, n))
            if n:
                scratch = numpy.empty(8 * cf_pad(n))
                b.data, b.n, b.ld = data_of(out), n, n
                K.cholesky_inverse(&self.factor, &b, data_of(scratch))
        finally:
            self.guard.end_read()
        lower = numpy.tril(out)
        return lower + numpy.tril(out, -1).T

    def matrix(self):
        """``M = ridge I + G`` (with a budget: A in the dictionary's coordinates).

        Returns
        -------
        ndarray of float64, shape (len(self), len(self))
        """
        cdef Py_ssize_t n, i, j
        self.guard.begin_read()
        try:
            n = self.factor.n
            if self.budget is not None:
                return self.inner.matrix()[:n, :n]
            lower = numpy.zeros((n, n))
            for i in range(n):
                for j in range(i + 1):
                    lower[i, j] = cf_cholesky_at(&self.factor, i, j)[0]
        finally:
            self.guard.end_read()
        return lower @ lower.T

    @property
    def logdet(self):
        """``log det M - len(self) log ridge``: an update adds ``log(1 + c q)``."""
        self.guard.settle_read()
        if self.budget is not None:
            return self.inner.logdet - self.inner.core.n * K.log_one(self.ridge)
        return self._logdet

    @property
    def updates(self):
        """How many updates changed something."""
        self.guard.settle_read()
        return self.count

    @property
    def approximation_error(self):
        """With a budget: the sum of ``c`` times the squared distance of each row, as stored, from
        the dictionary's span; 0 without."""
        self.guard.settle_read()
        return self.missed

    # --- copies -------------------------------------------------------------------------------

    def state(self):
        """Everything there is to resume from, as plain arrays and numbers.

        A callable kernel cannot be written down: the dictionary then holds it as it is.

        Returns
        -------
        dict
            `Dual.from_state` makes the same metric of it, bit for bit.
        """
        cdef Py_ssize_t n
        self.guard.begin_read()
        try:
            n = self.factor.n
            told = {
                "format": FORMAT, "kernel": self.kernel, "kernel_params": dict(self.params),
                "ridge": self.ridge, "window": self.window, "budget": self.budget,
                "tolerance": self.tolerance, "count": self.count, "logdet": self._logdet,
                "missed": self.missed, "inner": None, "rows": None,
            }
            if self.inner is not None:
                told["inner"] = self.inner.state()
            if self.rows is not None:
                told["rows"] = self.rows[:n].copy()
                told["roots"] = self.roots[:n].copy()
                told["factor"] = self.panels[:cf_panels_size(n)].copy()
                told["inverses"] = self.inverses[:cf_pad(n)].copy()
            return told
        finally:
            self.guard.end_read()

    cdef int fill(self, dict state) except -1:
        check_state(state, FORMAT, FIELDS)
        self._make(state["kernel"], state["kernel_params"], state["ridge"], state["window"],
                   state["budget"], state["tolerance"])
        self.count = as_count(state["count"], "count")
        self._logdet = as_number(state["logdet"], "logdet")
        self.missed = as_number(state["missed"], "missed")
        if self.missed < 0.0:
            raise ValueError(f"missed must be >= 0, got {self.missed}")
        if (state["inner"] is None) != (self.budget is None):
            raise ValueError("inner must be there with a budget, and None without")
        if self.budget is not None:
            self.inner = Full.from_state(state["inner"])
            if self.inner.core.n != self.budget or self.inner.core.ridge != self.ridge:
                raise ValueError(f"inner must have order {self.budget} and ridge {self.ridge}")
        if state["rows"] is not None:
            self._fill_rows(state)
        if self.count < self.factor.n:
            raise ValueError(f"count must be >= {self.factor.n}, the rows, got {self.count}")
        return 0

    cdef int _fill_rows(self, dict state) except -1:
        for name in STORED:
            if name not in state:
                raise ValueError(f"state must hold {name!r}")
        cdef np.ndarray rows = as_rows(state["rows"], "rows")
        cdef Py_ssize_t n = np.PyArray_DIM(rows, 0), d = np.PyArray_DIM(rows, 1)
        refuse_non_finite(rows, "rows")
        for most in (self.window, self.budget):
            if most is not None and n > most:
                raise ValueError(f"rows must be at most {most}, got {n}")
        roots = state_vector(state, "roots", n, "rows")
        panels = state_vector(state, "factor", cf_panels_size(n), "rows")
        inverses = state_vector(state, "inverses", cf_pad(n), "rows")
        while self.room < n or self.rows is None:
            self.factor.n = self.room
            self._grow(d)
        self.factor.n = n
        self.rows[:n], self.roots[:n] = rows, roots
        self.panels[:panels.size] = panels
        self.inverses[:n] = inverses[:n]
        if not ((roots > 0.0).all() and self._is_factor()):
            raise ValueError("roots, factor and inverses must be those of a Cholesky factor")
        return 0

    cdef bint _is_factor(self) noexcept:
        """Whether L is lower triangular with a diagonal > 0 whose inverses are beside it."""
        cdef Py_ssize_t n = self.factor.n, i, j, panel
        cdef double at, inverse
        cdef bint good = True
        for i in range(cf_pad(n)):
            panel = i - i % 8
            for j in range(panel + 8):
                at = cf_cholesky_at(&self.factor, i, j)[0]
                if i >= n or j > i:
                    good &= at == 0.0
                elif i == j:
                    inverse = data_of(self.inverses)[i]
                    good &= at > 0.0 and inverse > 0.0 and fabs(at * inverse - 1.0) < 1e-12
        return good

    def __repr__(self):
        return (f"{type(self).__name__}(kernel={self.kernel!r}, "
                f"kernel_params={self.params!r}, ridge={self.ridge!r}, "
                f"window={self.window!r}, budget={self.budget!r}, tolerance={self.tolerance!r})")
