"""The full metric; the state and its invariants are those of cf_full.h and cf_past.h."""

import numpy

cimport numpy as np
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs
from libc.stddef cimport size_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport (
    as_square, data_of, new_vector, refuse, refuse_non_finite, row_stride,
)
from coactive_fast._table cimport (
    CF_ENOTPOSITIVE, CF_EVALUE, CF_OK, cf_full, cf_full_rows, cf_get_library,
    cf_get_table, cf_library, cf_pad, cf_panels_size, cf_past, cf_table,
    cf_triangle_row,
)
from coactive_fast.metric._base cimport (
    Entries, Stored, as_change, as_factor, as_ridge, as_weights, dense_row, dense_rows, placed,
    row_at,
)

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    BUSY = 64        # order from which the GIL is let go: about a microsecond of work
    PAUSE = 1 << 25  # elements of work, some 10 ms, after which signals are looked at

cdef double LARGEST = 2.0 ** 1023  # what A may hold, as in the C library
cdef double SYMMETRIC = 1e-9       # of its largest entry: what a matrix may be lopsided by


cdef int refuse_update(int status, str where, double c, double q) except -1:
    if status == CF_EVALUE:
        raise ValueError(f"{where}c must leave A positive definite by a margin: "
                         f"1 + c x^T A^-1 x is {1.0 + c * q}")
    if status == CF_ENOTPOSITIVE:
        refuse(status, f"{where}A^-1 along x, beyond repair")
    refuse(status, f"{where}c x^T A^-1 x")
    return 0


cdef class Full(Stored):
    """Full(n, *, ridge=1.0, precision="auto")\n--\n
    ``A = ridge I + sum c x x^T``, the whole matrix, with its inverse kept at hand.

    A row x is a vector, a table of one row, a scipy.sparse row or ``(indices, values)``; it is
    written out. Masked arrays are refused.

    One triangle of the inverse is stored and updated in a single pass (Sherman-Morrison, the
    pending term applied while it is read for the next product). A itself is kept beside it, so
    that rounding cannot pile up: the inverse is made anew from A after n, 2n, 4n, ... updates and
    whenever a probe finds drift above 1e-8; ``health()`` tells what was seen. Same bits on every
    CPU with fused multiply-add.

    Parameters
    ----------
    n : int
        Order of the matrix, at least 1.
    ridge : float, default 1.0
        Greater than 0.
    precision : {"auto", "fast", "robust"}, default "auto"
        "robust" keeps the inverse as ``U D U^T`` (Bierman 1977): about 1.5 times slower, and
        right whatever the scales of the columns. "fast" keeps the inverse itself, of which an
        update loses as many digits as ``c x^T A^-1 x`` has. "auto" begins fast and converts,
        once and for all, before the first update of which ``c x^T x / ridge`` is above 4e6, or
        where columns turn out so correlated that as many digits are lost; ``health()`` says
        which form is in use. Scaled columns keep it fast.

    See Also
    --------
    Diagonal : Only the diagonal, for many features.
    Dual : In the space of a kernel.

    Notes
    -----
    Memory: ``14 n^2`` bytes: a triangle of the inverse, one and a half of A, one of scratch. An
    update costs O(n^2), as does every reading of a vector.
    Reading methods may run in many threads at once; what changes the metric waits for them and
    they for it.

    Examples
    --------
    >>> from coactive_fast.metric import Full
    >>> m = Full(2)
    >>> m.update([1.0, 0.0])
    1.0
    >>> m.solve([1.0, 1.0])
    array([0.5, 1. ])
    """

    def __init__(self, n, *, ridge=1.0, precision="auto"):
        self.unmade()
        self._make(n, ridge, precision)
        self.made()

    # --- changing ---------------------------------------------------------------------------

    def update(self, x, *, c=1.0):
        """``A += c x x^T``; returns ``x^T A^-1 x`` from before.

        Parameters
        ----------
        x : array_like of shape (n,), scipy.sparse row or (indices, values)
            An all-zero x returns 0 and changes nothing.
        c : float, default 1.0
            Not 0. Below 0 (a downdate) A must stay positive definite by a margin:
            ``1 + c x^T A^-1 x >= 1e-6``, else a `ValueError` and no change.

        Returns
        -------
        float
            The value before the update; 0 for x = 0, which changes nothing.
        """
        cdef double q = 0.0
        self._update(dense_row(x, "x", self._order()), as_change(c), &q)
        return q

    cdef int _update(self, np.ndarray v, double c, double *q) except -1:
        cdef int status
        if self.core.n < BUSY:
            self.guard.settle_write()
            status = L.past_update(&self.past, &self.core, K, data_of(v), c, self.scratch, q)
        else:
            self.guard.begin_write()
            with nogil:
                status = L.past_update(&self.past, &self.core, K, data_of(v), c, self.scratch, q)
            self.guard.end_write()
        if status != CF_OK:
            refuse_non_finite(v, "x")
            refuse_update(status, "", c, q[0])
        return 0

    def update_many(self, X, *, c=1.0):
        """The updates of many rows, one after the other, in one compiled loop.

        Parameters
        ----------
        X : array_like of shape (T, n)
            Arrays of float64 and float32 with contiguous rows are read without a copy.
        c : float or array_like of shape (T,), default 1.0
            Below 0 as in `update`: all that is there is copied first, O(n^2), to be put back
            where a row is refused.

        Returns
        -------
        ndarray of float64, shape (T,)
            ``x^T A^-1 x`` of each row from before its own update: what `update` returns. Where a
            row is refused nothing changes. Ctrl-C stops between two rows: `updates` tells how
            many there were.
        """
        self.guard.settle_write()  # an object that was not made has no order to compare with
        cdef np.ndarray x = dense_rows(X, "X", self.core.n)
        cdef Py_ssize_t rows = np.PyArray_DIM(x, 0), n = self.core.n, t = 0
        cdef np.ndarray weights = as_weights(c, rows), kept = None
        cdef cf_full core
        cdef cf_past past
        cdef np.ndarray buffer = numpy.empty(n), out = numpy.zeros(rows)
        cdef Py_ssize_t step = 1 + PAUSE // (n * n + 64)
        cdef int status = CF_OK
        refuse_non_finite(x, "X")
        self.guard.begin_write()
        try:
            self._check_room(x, weights, data_of(buffer))
            if rows and weights.min() < 0.0:
                kept, core, past = self._memory(), self.core, self.past
            while t < rows and status == CF_OK:
                with nogil:
                    status = self._updates(x, data_of(weights), data_of(buffer), data_of(out),
                                           &t, min(rows, t + step))
                PyErr_CheckSignals()
            if status != CF_OK and kept is not None:
                memcpy(self.memory, data_of(kept), <size_t>np.PyArray_NBYTES(kept))
                self.core, self.past = core, past
        finally:
            self.guard.end_write()
        if status != CF_OK:
            refuse_update(status, f"row {t} of X: ", data_of(weights)[t], data_of(out)[t])
        return out

    cdef int _updates(self, np.ndarray x, const double *c, double *buffer, double *q,
                      Py_ssize_t *t, Py_ssize_t until) noexcept nogil:
        """Rows t[0] ... until - 1 or up to the first that fails, which t[0] then is."""
        cdef int status = CF_OK
        while t[0] < until:
            status = L.past_update(&self.past, &self.core, K, row_at(x, t[0], buffer), c[t[0]],
                                   self.scratch, q + t[0])
            if status != CF_OK:
                break
            t[0] += 1
        return status

    cdef int _check_room(self, np.ndarray x, np.ndarray weights, double *buffer) except -1:
        """Refuses rows with which ``x^T A^-1 x`` or A would overflow, before any is taken.

        The largest entry of A, which is on its diagonal, grows by at most c x.x a row. All in the
        units of what is stored.
        """
        cdef Py_ssize_t n = self.core.n, i, p, t
        cdef double most = 0.0, entry, size, c
        cdef const double *row
        for i in range(n):
            entry = cf_triangle_row(&self.core.a, i)[i]
            for p in range(self.core.pending):
                row = self.core.block + p * cf_pad(n)
                entry += self.core.weight[p] * row[i] * row[i]
            most = max(most, entry)
        for t in range(np.PyArray_DIM(x, 0)):
            row = row_at(x, t, buffer)
            size = K.dot(n, row, row)
            c = fabs(data_of(weights)[t]) / self.past.scale
            most += c * size
            if not (size / self.core.ridge < INFINITY and c * size / self.core.ridge < INFINITY
                    and most <= LARGEST):
                raise ValueError(f"X is too large: A or x^T A^-1 x would overflow at row {t}")
        return 0

    def forget(self, f):
        """What was learned weighs f times as much; the regulariser is kept, in blocks.

        ``A = rho ridge I + M``: M is multiplied by f, rho becomes 1 where the number of calls
        before is a multiple of ``m = max(1, min(n, floor(ln 2 / -ln f)))``, else ``f rho``. So
        the regulariser stays between a half and one of itself. Costs O(1), and once in m calls
        O(n^3): the inverse is then made anew.

        Parameters
        ----------
        f : float
            In (0, 1].

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> m = Full(2)
        >>> m.update([1.0, 0.0])
        1.0
        >>> m.forget(0.5)
        >>> m.matrix()
        array([[1.5, 0. ],
               [0. , 1. ]])
        """
        self._fade(as_factor(f), L.past_forget)

    def decay(self, f):
        """``A <- ridge I + f M``: the past weighs f times as much, the regulariser is whole.

        For drift by the clock; O(n^3), since the inverse is made anew. See `forget`.

        Parameters
        ----------
        f : float
            In (0, 1].

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> m = Full(1)
        >>> m.update([2.0])
        4.0
        >>> m.decay(0.25)
        >>> m.matrix()
        array([[2.]])
        """
        self._fade(as_factor(f), L.past_decay)

    cdef int _fade(self, double f, fader act) except -1:
        cdef double added
        cdef int status
        self.guard.begin_write()
        with nogil:
            status = act(&self.past, &self.core, K, f, self.scratch, &added)
        self.guard.end_write()
        if status != CF_OK:
            refuse(status, "A after forgetting")
        return 0

    cdef type kind(self):
        return Full

    cdef int join(self, Entries other) except -1:
        cdef Full theirs = <Full>other, sum
        if self.past.share != 1.0 or theirs.past.share != 1.0:
            raise ValueError("other and this metric must have their whole regulariser: "
                             "decay(1.0) first")
        if self.core.robust or theirs.core.robust:
            sum = self._joined(theirs)
        else:
            matrix = theirs.matrix() + self._dense()
            matrix[numpy.diag_indices(self.core.n)] -= self.past.ridge
            sum = <Full>placed(Full, matrix, self.past.ridge, self.precision, "other")
        if not (self.past.lowered or theirs.past.lowered):
            sum.core.ridge, sum.past.lowered = self.past.ridge / sum.past.scale, False
            L.full_steepen(&sum.core)
        sum.past.count = self.past.count  # which forgetting is the next to renew the regulariser
        sum.core.health = self.core.health
        sum.core.health.renewals += 1
        sum._count_from(self.core.health.updates + theirs.core.health.updates)
        self.memory, sum.memory = sum.memory, self.memory
        self.core, self.past = sum.core, sum.past
        return 0

    cdef Full _joined(self, Full other):
        """A copy that also has the updates of the other, of which at least one is robust: the rows
        of a square root of its A, and then one regulariser less."""
        cdef Full sum = self._copied()
        cdef np.ndarray rows = other._rows(), unit = numpy.eye(self.core.n)
        cdef Py_ssize_t n = self.core.n, i
        cdef int status = CF_OK
        cdef double q
        if not sum.core.robust and not L.full_convert(&sum.core, K, sum.scratch):
            refuse(CF_ENOTPOSITIVE, "A")
        for i in range(n):
            if status == CF_OK:
                status = L.past_update(&sum.past, &sum.core, K, data_of(rows) + i * n, 1.0,
                                       sum.scratch, &q)
        for i in range(n):
            if status == CF_OK:
                status = L.past_update(&sum.past, &sum.core, K, data_of(unit) + i * n,
                                       -self.past.ridge, sum.scratch, &q)
        if status != CF_OK:
            refuse(status, "other must make a positive definite matrix")
        sum._write_matrix(sum._dense() / sum.past.scale)  # no row of negative weight is left
        return sum

    cdef void _write_matrix(self, np.ndarray a) noexcept:
        """The A that is stored beside the factors of the robust form."""
        cdef Py_ssize_t i, n = self.core.n
        for i in range(n):
            memcpy(cf_triangle_row(&self.core.a, i), data_of(a) + i * n,
                   <size_t>(i + 1) * sizeof(double))
        memset(self.core.low, 0, <size_t>cf_panels_size(n) * sizeof(float))
        self.core.pending = 0

    cdef Full _copied(self):
        """A copy, for who holds the lock of a changing method."""
        cdef type kind = type(self)
        cdef Full other = <Full>kind.__new__(kind)
        other._make(self.core.n, self.past.ridge, self.precision)
        memcpy(other.memory, self.memory, <size_t>L.full_size(self.core.n) * sizeof(double))
        other.core, other.past = self.core, self.past
        L.full_attach(&other.core, other.memory)
        other.made()
        return other

    cdef np.ndarray _rows(self):
        """A square root R of A, ``A = R^T R``, from the factors of the robust form or by Cholesky."""
        from scipy.linalg import solve_triangular

        if not self.core.robust:
            return numpy.ascontiguousarray(numpy.linalg.cholesky(self._dense()).T)
        U, D = self._factors()
        rows = solve_triangular(U, numpy.eye(self.core.n), unit_diagonal=True)
        return numpy.ascontiguousarray(rows / numpy.sqrt(D)[:, None])

    def _factors(self):
        """``(U, D)`` of the robust form: ``A^-1 = U diag(D) U^T``."""
        cdef Py_ssize_t n = self.core.n, i, j
        cdef np.ndarray U = numpy.eye(n), D = numpy.empty(n)
        for j in range(n):
            data_of(D)[j] = self.core.w[j] / self.past.scale
            for i in range(j):
                data_of(U)[i * n + j] = cf_triangle_row(&self.core.b, j)[i]
        return U, D

    @classmethod
    def _from_factors(cls, np.ndarray U, np.ndarray D, np.ndarray A, double ridge, precision):
        """The robust metric with these factors of the inverse of A, both as they are."""
        cdef Full self = <Full>cls.__new__(cls)
        cdef Py_ssize_t n = np.PyArray_DIM(D, 0), i, j
        self._make(n, ridge, precision)
        for j in range(n):
            self.core.w[j] = data_of(D)[j]
            self.core.logdet -= K.log_one(self.core.w[j] * ridge)
            for i in range(j):
                cf_triangle_row(&self.core.b, j)[i] = data_of(U)[i * n + j]
            cf_triangle_row(&self.core.b, j)[j] = 0.0
        self._write_matrix(A)
        self.core.robust = 1
        self._count_from(0)
        self._ask_for(self.core.precision)
        self.made()
        return self

    cdef np.ndarray _dense(self):
        """A, for who holds the lock of a changing method."""
        cdef np.ndarray out = numpy.empty((self.core.n, self.core.n))
        L.full_matrix(&self.core, K, self.scratch, data_of(out))
        return out * self.past.scale

    @classmethod
    def from_matrix(cls, A, ridge, *, precision="auto"):
        """The metric of a symmetric positive definite A.

        Parameters
        ----------
        A : array_like of shape (n, n)
            Symmetric up to rounding (1e-9 of its largest entry; its lower triangle is what
            counts) and positive definite in float64, else a `ValueError`.
        ridge : float
            The part ``ridge I`` of A that `forget`, `decay` and `merge` take for its
            regulariser; A may be less than that.
        precision : {"auto", "fast", "robust"}, default "auto"
            As for the class.

        Returns
        -------
        Full
            Of the class that is asked. The ``__init__`` of a subclass is not run.

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> Full.from_matrix([[2.0, 1.0], [1.0, 2.0]], ridge=1.0).solve([3.0, 0.0])
        array([ 2., -1.])
        """
        cdef np.ndarray a = as_square(A, "A")
        refuse_non_finite(a, "A")
        if not np.PyArray_DIM(a, 0):
            raise ValueError("A must not be empty")
        most = abs(<object>a).max()
        if not (most <= LARGEST and abs(a - (<object>a).T).max() <= SYMMETRIC * most):
            raise ValueError("A must be symmetric, and within half the largest float64")
        return placed(cls, a, as_ridge(ridge), precision, "A")

    # --- reading ----------------------------------------------------------------------------

    def solve(self, x):
        """``A^-1 x``, for a dense vector or a scipy.sparse row.

        Parameters
        ----------
        x : array_like of shape (n,), scipy.sparse row or (indices, values)
            One row.

        Returns
        -------
        ndarray of float64, shape (n,)
            The product.
        """
        cdef np.ndarray v = dense_row(x, "x", self._order())
        cdef Py_ssize_t n = self.core.n
        cdef double *scratch = self._borrow()
        cdef double *y = scratch + cf_pad(n)
        cdef double scale
        try:
            out = numpy.empty(n)
            self.guard.begin_read()
            with nogil:
                L.full_solve(&self.core, K, data_of(v), scratch, y)
            scale = self.past.scale
            self.guard.end_read()
            memcpy(data_of(out), y, <size_t>n * sizeof(double))
            if scale != 1.0:
                out /= scale
        finally:
            L.free(scratch)
        if not K.all_finite(n, data_of(out)):
            refuse_non_finite(v, "x")
            raise ValueError("x is too large: A^-1 x overflows")
        return out

    def quad(self, x):
        """``x^T A^-1 x``, for a dense vector or a scipy.sparse row.

        Parameters
        ----------
        x : array_like of shape (n,), scipy.sparse row or (indices, values)
            One row.

        Returns
        -------
        float
            The squared length of x in the norm of ``A^-1``.
        """
        cdef np.ndarray v = dense_row(x, "x", self._order())
        cdef double q
        self._quad(v, &q)
        return q

    cdef int _quad(self, np.ndarray v, double *q) except -1:
        cdef double *scratch = self._borrow()
        if self.core.n < BUSY:
            q[0] = L.full_quad(&self.core, K, data_of(v), scratch) / self.past.scale
            L.free(scratch)
        else:
            try:
                self.guard.begin_read()
                with nogil:
                    q[0] = L.full_quad(&self.core, K, data_of(v), scratch) / self.past.scale
                self.guard.end_read()
            finally:
                L.free(scratch)
        if not q[0] - q[0] == 0.0:
            refuse_non_finite(v, "x")
            raise ValueError("x is too large: x^T A^-1 x overflows")
        return 0

    def quad_many(self, X):
        """`quad` of many rows, bit for bit, in one reading of the matrix for eight of them.

        Parameters
        ----------
        X : array_like of shape (T, n)
            Arrays of float64 and float32 with contiguous rows are read without a copy.

        Returns
        -------
        ndarray of float64, shape (T,)
            A value a row.

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> Full(2, ridge=4.0).quad_many([[2.0, 0.0], [2.0, 2.0]])
        array([1., 2.])
        """
        cdef np.ndarray x = dense_rows(X, "X", self._order())
        cdef np.ndarray out = new_vector(np.PyArray_DIM(x, 0))
        self._many(x, L.full_quad_many, data_of(out), 1, "x^T A^-1 x")
        return out

    def solve_many(self, X):
        """`solve` of many rows, bit for bit, in one call.

        Parameters
        ----------
        X : array_like of shape (T, n)
            As for `quad_many`.

        Returns
        -------
        ndarray of float64, shape (T, n)
            A product a row.

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> Full(2, ridge=4.0).solve_many([[2.0, 0.0], [2.0, 4.0]])
        array([[0.5, 0. ],
               [0.5, 1. ]])
        """
        cdef np.ndarray x = dense_rows(X, "X", self._order())
        out = numpy.empty((np.PyArray_DIM(x, 0), self.core.n))
        self._many(x, L.full_solve_many, data_of(out), self.core.n, "A^-1 x")
        return out

    cdef int _many(self, np.ndarray x, many read, double *out, Py_ssize_t width,
                   str what) except -1:
        cdef Py_ssize_t rows = np.PyArray_DIM(x, 0), n = self.core.n, t = 0, bad = 0
        cdef Py_ssize_t step = 8 + (PAUSE // (n * n + 64) & ~7), begin
        cdef bint narrow = np.PyArray_TYPE(x) == np.NPY_FLOAT
        cdef char *data = <char *>np.PyArray_DATA(x)
        cdef cf_full_rows part
        cdef double *scratch = self._borrow(L.full_many_scratch(n))
        part.stride = row_stride(x)
        try:
            self.guard.begin_read()
            try:
                while t < rows and t == bad:
                    begin = t * part.stride
                    part.count = min(rows - t, step)
                    part.wide = NULL if narrow else <double *>data + begin
                    part.narrow = <float *>data + begin if narrow else NULL
                    with nogil:
                        bad = t + read(&self.core, K, &part, self.past.scale, out + t * width,
                                       scratch)
                    t += part.count
                    if t < rows:
                        PyErr_CheckSignals()
            finally:
                self.guard.end_read()
        finally:
            L.free(scratch)
        if bad < rows:
            refuse_non_finite(x, "X")
            raise ValueError(f"X is too large: {what} overflows at row {bad}")
        return 0

    cdef int spread(self, np.ndarray z) except -1:
        cdef int status
        cdef double *scratch = self._borrow(L.full_sample_scratch(self.core.n))
        try:
            self.guard.begin_read()
            with nogil:
                status = L.full_sample(&self.core, K, self.past.scale, np.PyArray_DIM(z, 0),
                                       data_of(z), scratch)
            self.guard.end_read()
        finally:
            L.free(scratch)
        if status != CF_OK:
            refuse(status, "A")
        return 0

    def inverse(self):
        """A copy of ``A^-1``.

        Returns
        -------
        ndarray of float64, shape (n, n)
            Symmetric, and may be changed.
        """
        return self._square(L.full_inverse, False)

    def matrix(self):
        """A copy of A.

        Returns
        -------
        ndarray of float64, shape (n, n)
            Symmetric, and may be changed.
        """
        return self._square(L.full_matrix, True)

    cdef np.ndarray _square(self, reader read, bint times):
        cdef double *scratch = self._borrow()
        cdef double scale
        cdef np.ndarray out
        try:
            out = numpy.empty((self.core.n, self.core.n))
            self.guard.begin_read()
            with nogil:
                read(&self.core, K, scratch, data_of(out))
            scale = self.past.scale
            self.guard.end_read()
        finally:
            L.free(scratch)
        if scale != 1.0:
            out *= scale if times else 1.0 / scale
        return out

    @property
    def logdet(self):
        """``log det A``."""
        self.guard.settle_read()
        return L.past_logdet(&self.past, &self.core, K)
