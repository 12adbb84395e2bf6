"""The dual metric: the same matrix seen through the Gram matrix of the rows it was made of.

The rows and that Gram matrix, which learners use without a metric too, are in _gram.pxi.
"""

from threading import get_ident

import numpy

cimport numpy as np
from libc.math cimport fabs, sqrt
from libc.stddef cimport size_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memmove, memset

from coactive_fast._arrays cimport as_number, data_of, new_vector, product_of, refuse
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_EVALUE, CF_FULL_AUTO, CF_OK, cf_cholesky_at, cf_get_library, cf_get_table,
    cf_library, cf_pad, cf_panels_size, cf_posting, cf_posting_list, cf_row, cf_table, cf_triangle,
)
from coactive_fast.learner._state cimport State, opened, table_from, vector_of
from coactive_fast.metric._base cimport ANY, Metric, as_order, as_ridge, as_weight, form_of, row_in
from coactive_fast.metric._full cimport Full
from coactive_fast.rows._rows cimport Forms, RowBuffer

from coactive_fast import _memory

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

include "_gram.pxi"

cdef enum:
    FORMAT = 1
    BUSY = 64         # rows from which the GIL is let go



cdef class _Weighted(Gram):
    """M = ridge I + G with ``G_st = sqrt(c_s c_t) k(x_s, x_t)``."""

    cdef np.ndarray roots      # sqrt(c_s), and room for more

    def __init__(self, kernel, kernel_params, double ridge):
        Gram.__init__(self, kernel, kernel_params, ridge)
        self.roots = numpy.empty(0)

    cdef void weigh(self, double *values) noexcept nogil:
        cdef Py_ssize_t s
        for s in range(self.factor.n):
            values[s] *= data_of(self.roots)[s]

    cdef int make_room(self, const cf_row *x, Forms forms) except -1:
        cdef np.ndarray roots
        Gram.make_room(self, x, forms)
        if np.PyArray_DIM(self.roots, 0) < self.room:
            roots = <np.ndarray>numpy.zeros(self.room)
            roots[:self.factor.n] = self.roots[:self.factor.n]
            self.roots = roots
        return 0


cdef double MOST_LOST = 1e9  # of k(x, x) / ridge over what the rows stored leave of it


cdef int refuse_own(double own, double ridge) except -1:
    if not own / ridge < MOST_OWN:
        raise ValueError(f"x is too large: k(x, x) must be below {<int>MOST_OWN} times the ridge, got "
                         f"{own / ridge:g} times it; scale the columns, or use the full covariance")
    return 0


cdef class Dual(Metric):
    """Dual(*, kernel="linear", kernel_params=None, ridge=1.0, window=None, budget=None, \
tolerance=0.01)\n--\n
    ``A = ridge I + sum c phi(x) phi(x)^T`` in the space of a kernel, rows stored.

    What is kept is the Cholesky factor of ``M = ridge I + G``, ``G_st = sqrt(c_s c_t) k(x_s,
    x_t)`` over the t rows stored; a reading is one triangular solve, O(t^2 / 2), and the update
    after it is free. Memory: 4 t^2 bytes for the factor and the rows; a `MemoryError` names the
    bytes where there are not so many. Rows that are mostly zeros, given sparse or not, are kept
    sparse with an index from features to rows: a linear kernel then costs what x has in common
    with them.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly"} or callable, default "linear"
        A callable gets two 1-D rows and `kernel_params` as keywords.
    kernel_params : dict, optional
        By name: gamma (default 1 / number of features), coef0 (1), degree (3), as in scikit-learn.
    ridge : float, default 1.0
        Greater than 0. A row with ``c k(x, x)`` of 2^24 times the ridge or more is refused, and so
        is a reading that rounding leaves fewer than six digits of.
    window : int, optional
        Only the last `window` rows stay: the oldest leaves by a rank-one update of the factor.
    budget : int, optional
        At most so many rows are stored as a dictionary. A row joins it where its squared distance
        from the dictionary's span exceeds ``tolerance * k(x, x)``; all others count through their
        projection on that span (approximate linear dependence). Cost O(budget^2) an update and
        ``14 budget^2`` bytes from the start, however few rows there are.
    tolerance : float, default 1e-2
        See `budget`.

    See Also
    --------
    Full : In the features themselves.

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
    cdef readonly double ridge
    cdef readonly object window
    cdef readonly object budget
    cdef readonly double tolerance
    # Invariants: `gram` holds the stored rows and the factor of M (with a budget: those of the
    # dictionary and of its Gram matrix, all weights 1). With a budget `inner` is A in the
    # coordinates of the dictionary, unused ones still at ridge.
    cdef _Weighted gram
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
        # the dictionary's factor is that of its Gram matrix alone
        self.gram = _Weighted(kernel, kernel_params, 0.0 if budget is not None else self.ridge)
        self.kernel = kernel
        self.inner = None
        self.count = 0
        self._logdet = self.missed = 0.0
        return 0

    def __len__(self):
        return 0 if self.gram is None else self.gram.factor.n

    @property
    def kernel_params(self):
        """A copy of the kernel's parameters."""
        return {} if self.gram is None else dict(self.gram.kept.params)

    # --- parts of a reading -------------------------------------------------------------------

    cdef object _row(self, object x, cf_row *row):
        """x as a row; what is returned owns its memory. The first one fixes the dimension."""
        cdef RowBuffer buffer = RowBuffer()
        row_in(x, "x", self.gram.kept.d if self.gram.kept.n else ANY, buffer, row)
        return buffer

    cdef np.ndarray _solved(self, const cf_row *x, Forms forms, double *own):
        """u = L^-1 (values of x with the rows, times their roots), zeros behind it; k(x, x)."""
        cdef np.ndarray u = new_vector(self.gram.length())
        cdef int status
        self.gram.fit(x, forms)
        self.gram.gather(x, forms)
        if self.gram.factor.n < BUSY or self.gram.kept.callable():
            status = self.gram.solve(x, forms, data_of(u), own)
        else:
            with nogil:
                status = self.gram.solve(x, forms, data_of(u), own)
        if status != CF_OK:
            self.gram.kept.raise_error()
            refuse(status, "the kernel of x")
        return u

    cdef double _rest(self, double own, np.ndarray u) noexcept:
        """k(x, x) - u.u, >= 0: what rounding takes below is put back."""
        return max(own - K.dot(self.gram.factor.n, data_of(u), data_of(u)), 0.0)

    cdef double _finite(self, double q) except? -1.0:
        if not q - q == 0.0:
            raise ValueError("x is too large: phi(x)^T A^-1 phi(x) overflows")
        return q

    cdef np.ndarray _coordinates(self, np.ndarray u):
        """u, which has zeros behind it, in as many coordinates as the budget allows."""
        cdef np.ndarray out = numpy.zeros(self.inner.core.n)
        cdef Py_ssize_t n = min(np.PyArray_DIM(u, 0), np.PyArray_DIM(out, 0))
        memcpy(data_of(out), data_of(u), <size_t>n * sizeof(double))
        return out

    # --- changing -----------------------------------------------------------------------------

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
            The value before the update; 0 where k(x, x) = 0, which changes nothing.
        """
        cdef double weight = as_weight(c), own, q
        cdef Forms forms = Forms()
        cdef np.ndarray u
        cdef cf_row row
        self.guard.begin_write()
        try:
            keep = self._row(x, &row)
            u = self._solved(&row, forms, &own)
            if own == 0.0:
                return 0.0
            refuse_own(weight * own, self.ridge)
            if self.budget is None:
                q = self._update_exact(&row, forms, weight, own, u)
            else:
                q = self._update_within(&row, forms, weight, own, u)
            self.count += 1
            return q
        finally:
            self.guard.end_write()

    cdef int _append(self, const cf_row *x, Forms forms, double root, np.ndarray u,
                     double pivot) except -1:
        """After `has_room` or `make_room`."""
        data_of(self.gram.roots)[self.gram.factor.n] = root
        self.gram.append(x, forms, data_of(u), pivot)
        return 0

    cdef double _update_exact(self, const cf_row *x, Forms forms, double c, double own,
                              np.ndarray u) except? -1.0:
        cdef double q = self._rest(own, u) / self.ridge, root = sqrt(c)
        cdef Py_ssize_t n = self.gram.factor.n, s
        cdef np.ndarray scratch = None
        if self.window is not None and n == <Py_ssize_t>self.window:  # taken before any change
            scratch = new_vector(3 * self.gram.length() + 48)
        if not self.gram.has_room(x, forms):
            self.gram.make_room(x, forms)
        for s in range(n):
            data_of(u)[s] *= root
        self._append(x, forms, root, u, sqrt(self.ridge * (1.0 + c * q)))
        self._logdet += K.log1p_one(c * q)
        if scratch is not None:
            self._forget_oldest(data_of(scratch))
        return q

    cdef void _forget_oldest(self, double *scratch) noexcept:
        self.gram.drop_first(scratch)
        memmove(data_of(self.gram.roots), data_of(self.gram.roots) + 1,
                <size_t>self.gram.factor.n * sizeof(double))
        self._logdet = self.gram.logdet()

    cdef double _update_within(self, const cf_row *x, Forms forms, double c, double own,
                               np.ndarray u) except? -1.0:
        cdef Py_ssize_t n = self.gram.factor.n
        cdef double delta = self._rest(own, u), inside, unused
        cdef np.ndarray w = self._coordinates(u)
        cdef bint joins = delta > self.tolerance * own and n < self.inner.core.n
        self.inner._quad(w, &inside)
        if joins:  # one coordinate more: that of the new atom
            if not self.gram.has_room(x, forms):  # what may fail comes before what is kept
                self.gram.make_room(x, forms)
            data_of(w)[n] = sqrt(delta)
        self.inner._update(w, c, &unused)
        if joins:
            self._append(x, forms, 1.0, u, sqrt(delta))
        else:
            self.missed += c * delta
        return inside + delta / self.ridge

    # --- reading ------------------------------------------------------------------------------

    def quad(self, x):
        """``phi(x)^T A^-1 phi(x)``.

        Parameters
        ----------
        x : array_like of shape (n,) or scipy.sparse row
            One row.

        Returns
        -------
        float
            The squared length of phi(x) in the norm of ``A^-1``.
        """
        cdef Forms forms = Forms()
        cdef np.ndarray u
        cdef cf_row row
        cdef double own, q
        self.guard.begin_read()
        try:
            keep = self._row(x, &row)
            u = self._solved(&row, forms, &own)
            q = self._rest(own, u) / self.ridge
            if self.budget is not None:
                q = self.inner.quad(self._coordinates(u)) + q
            if own / self.ridge > MOST_LOST * q:
                raise ValueError("x has lost its digits: phi(x)^T A^-1 phi(x) is below 1e-9 of "
                                 "k(x, x) / ridge; scale the columns, or use Full")
            return self._finite(q)
        finally:
            self.guard.end_read()

    def solve(self, x):
        """Coefficients of the stored rows in ``A^-1 phi(x)``.

        Without a budget they are ``a = M^-1 b``, ``b_s = sqrt(c_s) k(x_s, x)``, and ``A^-1 phi(x)
        = (phi(x) - sum_s a_s sqrt(c_s) phi(x_s)) / ridge``; with one, ``A^-1 u`` in the
        coordinates of the dictionary.

        Parameters
        ----------
        x : array_like of shape (n,) or scipy.sparse row
            One row.

        Returns
        -------
        ndarray of float64, shape (len(self),)
            A coefficient for each stored row, the oldest first.
        """
        cdef Forms forms = Forms()
        cdef np.ndarray u
        cdef cf_row row
        cdef double own
        self.guard.begin_read()
        try:
            keep = self._row(x, &row)
            u = self._solved(&row, forms, &own)
            if self.budget is not None:
                return self.inner.solve(self._coordinates(u))[:self.gram.factor.n]
            if self.gram.factor.n:
                K.cholesky_backward(&self.gram.factor, data_of(u), data_of(u))
            return u[:self.gram.factor.n]
        finally:
            self.guard.end_read()

    def inverse(self):
        """``M^-1`` over the stored rows (with a budget: A^-1 in the dictionary's coordinates).

        Returns
        -------
        ndarray of float64, shape (len(self), len(self))
            A copy, which may be changed.
        """
        cdef Py_ssize_t n  # known only where no update can change it: under the lock
        cdef np.ndarray out, scratch
        cdef cf_triangle b
        self.guard.begin_read()
        try:
            n = self.gram.factor.n
            if self.budget is not None:
                return self.inner.inverse()[:n, :n]
            out = numpy.zeros((n, n))
            if n:
                scratch = numpy.empty(8 * cf_pad(n))
                b.data, b.n, b.ld = data_of(out), n, n
                K.cholesky_inverse(&self.gram.factor, &b, data_of(scratch))
        finally:
            self.guard.end_read()
        lower = numpy.tril(out)
        return lower + numpy.tril(out, -1).T

    def matrix(self):
        """``M = ridge I + G`` (with a budget: A in the dictionary's coordinates).

        Returns
        -------
        ndarray of float64, shape (len(self), len(self))
            A copy, which may be changed.
        """
        cdef Py_ssize_t n, i, j
        self.guard.begin_read()
        try:
            n = self.gram.factor.n
            if self.budget is not None:
                return self.inner.matrix()[:n, :n]
            lower = numpy.zeros((n, n))
            for i in range(n):
                for j in range(i + 1):
                    lower[i, j] = cf_cholesky_at(&self.gram.factor, i, j)[0]
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
        """With a budget: how much of the rows the dictionary does not hold; 0 without.

        The sum of ``c`` times the squared distance of each row, as stored, from the dictionary's
        span.
        """
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
            n = self.gram.factor.n
            told = {
                "format": FORMAT, "kernel": self.kernel, "kernel_params": self.kernel_params,
                "ridge": self.ridge, "window": self.window, "budget": self.budget,
                "tolerance": self.tolerance, "count": self.count, "logdet": self._logdet,
                "missed": self.missed, "inner": None, "rows": None,
            }
            if self.inner is not None:
                told["inner"] = self.inner.state()
            if n:
                told["rows"] = self._told_rows()
                told["roots"] = self.gram.roots[:n].copy()
                told["factor"] = self.gram.state()["factor"]
                told["inverses"] = inverses = numpy.zeros(cf_pad(n))
                for i in range(n):
                    inverses[i] = self.gram.factor.inv[i]
            return told
        finally:
            self.guard.end_read()

    cdef int fill(self, dict given) except -1:
        cdef Py_ssize_t form
        cdef State state = form_of(given, FORMAT, &form)
        self._make(state.get("kernel"), state.get("kernel_params"), state.get("ridge"),
                   state.get("window"), state.get("budget"), state.get("tolerance"))
        self.count, self._logdet = state.count("count"), state.number("logdet")
        self.missed = state.number("missed", 0.0)
        if (state.get("inner") is None) != (self.budget is None):
            raise ValueError("inner must be there with a budget, and None without")
        if self.budget is not None:
            self.inner = Full.from_state(state.get("inner"))
            self.inner._ask_for(CF_FULL_AUTO)
            if self.inner.core.n != self.budget or self.inner.core.ridge != self.ridge:
                raise ValueError(f"inner must have order {self.budget} and ridge {self.ridge}")
        if (state.get("rows") is None) != (self.count == 0):
            raise ValueError("rows must be None where count is 0, and only there")
        if self.count:
            self._fill_rows(state)
        if self.count < len(self):
            raise ValueError(f"count must be >= {len(self)}, the rows, got {self.count}")
        return 0

    cdef object _told_rows(self):
        """The stored rows: an array, or where they are kept sparse the parts of a CSR."""
        told = self.gram.kept.state()
        if self.gram.kept.form == SPARSE:
            return {name: told[name] for name in ("d", "begin", "index", "value")}
        return told["rows"]

    cdef int _fill_rows(self, State state) except -1:
        cdef np.ndarray roots, factor, inverses
        cdef Py_ssize_t n, i
        cdef double pivot
        given = state.get("rows")
        if isinstance(given, dict):
            n = numpy.size(opened(given, "rows").get("begin")) - 1
            kept = {**given, "n": n, "form": <int>SPARSE}
        else:
            if numpy.ndim(given) != 2:
                raise ValueError(f"rows must be a table, got shape {numpy.shape(given)}")
            n = len(given)
            kept = {"d": numpy.shape(given)[1], "n": n, "form": <int>DENSE, "rows": given}
        for most in (self.window, self.budget):
            if most is not None and n > most:
                raise ValueError(f"rows must be at most {most}, got {n}")
        if n < 1:
            raise ValueError("rows must be at least one")
        roots, factor = state.vector("roots", n), state.vector("factor", cf_panels_size(n))
        inverses = state.vector("inverses", cf_pad(n))
        self.gram.restore(opened({"kept": kept, "factor": factor}))
        for i in range(n):
            pivot = self.gram.factor.inv[i]
            if not fabs(pivot - data_of(inverses)[i]) <= 1e-12 * pivot:
                raise ValueError("inverses must be those of the diagonal of factor")
        if not (<object>roots).min() > 0.0:
            raise ValueError("roots must be > 0")
        self.gram.roots = roots
        return 0

    def __repr__(self):
        return (f"{type(self).__name__}(kernel={self.kernel!r}, "
                f"kernel_params={self.kernel_params!r}, ridge={self.ridge!r}, "
                f"window={self.window!r}, budget={self.budget!r}, tolerance={self.tolerance!r})")
