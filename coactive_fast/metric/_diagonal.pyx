"""The diagonal metric."""

import numpy

cimport numpy as np
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport (
    as_count, as_rows, as_vector, data_of, refuse_non_finite,
)
from coactive_fast._table cimport cf_get_table, cf_table
from coactive_fast.metric._rows cimport (
    Metric, SparseRow, as_order, as_ridge, as_weight, as_weights, check_state, dense_row,
    is_sparse, row_at, sparse_row, sparse_rows,
)

np.import_array()

cdef const cf_table *K = cf_get_table()

cdef enum:
    FORMAT = 1
    PAUSE = 1 << 23  # elements of work, some 10 ms, after which signals are looked at

cdef double SAFE = 1e290  # what can be added to any double without overflow

cdef struct Row:
    # Dense (index NULL), or `nnz` values and their indices.
    const double *value
    const void *index
    Py_ssize_t nnz
    bint wide


cdef double quad_of(const double *a, const Row *row) noexcept nogil:
    if row.index == NULL:
        return K.diagonal_quad(row.nnz, a, row.value)
    if row.wide:
        return K.diagonal_quad64(row.nnz, <const int64_t *>row.index, row.value, a)
    return K.diagonal_quad32(row.nnz, <const int32_t *>row.index, row.value, a)


cdef void add(double *a, const Row *row, double c) noexcept nogil:
    if row.index == NULL:
        K.diagonal_update(row.nnz, a, row.value, c)
    elif row.wide:
        K.diagonal_update64(row.nnz, <const int64_t *>row.index, row.value, c, a)
    else:
        K.diagonal_update32(row.nnz, <const int32_t *>row.index, row.value, c, a)


cdef bint has_room(const double *a, const Row *row, double c) noexcept nogil:
    """Whether all a_i + c x_i^2 are finite."""
    cdef Py_ssize_t e, i
    if c * K.dot(row.nnz, row.value, row.value) < SAFE:  # c x.x bounds what is added
        return True
    for e in range(row.nnz):
        i = e
        if row.index != NULL:
            i = ((<const int64_t *>row.index)[e] if row.wide else (<const int32_t *>row.index)[e])
        if not a[i] + c * row.value[e] * row.value[e] < INFINITY:
            return False
    return True


cdef struct Batch:
    # Rows, dense (start NULL) or CSR; `buffer` has room for one, `c` and `q` have one number each.
    Py_ssize_t width
    double *buffer
    const int64_t *start
    const void *index
    const double *value
    bint wide
    const double *c
    double *q


cdef bint many(const Batch *batch, np.ndarray x, double *a, Py_ssize_t *t, Py_ssize_t until,
               Py_ssize_t *taken) noexcept nogil:
    """Rows t[0] ... until - 1 into a; False where one overflows, which t[0] then is."""
    cdef Row row
    cdef Py_ssize_t at
    row.index, row.nnz, row.wide = NULL, batch.width, batch.wide
    while t[0] < until:
        if batch.start == NULL:
            row.value = row_at(x, t[0], batch.buffer)
        else:
            at = batch.start[t[0]]
            row.nnz = batch.start[t[0] + 1] - at
            row.value = batch.value + at
            row.index = (<const char *>batch.index) + at * (8 if batch.wide else 4)
        batch.q[t[0]] = quad_of(a, &row)
        if not (batch.q[t[0]] < INFINITY and has_room(a, &row, batch.c[t[0]])):
            return False
        if batch.q[t[0]] != 0.0:
            add(a, &row, batch.c[t[0]])
            taken[0] += 1
        t[0] += 1
    return True


cdef class Diagonal(Metric):
    """Diagonal(n, *, ridge=1.0)\n--\n
    ``A = ridge I + sum c x x^T`` with nothing kept but its diagonal.

    A dense row costs O(n), a scipy.sparse row what it holds. Memory: 8n bytes.

    Parameters
    ----------
    n : int
        Order of the matrix, at least 1.
    ridge : float, default 1.0
        Greater than 0.

    Examples
    --------
    >>> from coactive_fast.metric import Diagonal
    >>> m = Diagonal(3)
    >>> m.update([1.0, 2.0, 0.0])
    5.0
    >>> m.matrix()
    array([2., 5., 1.])
    """

    cdef np.ndarray a          # the diagonal, > 0
    cdef double _ridge
    cdef int64_t count         # of updates that changed something
    cdef object __weakref__

    def __init__(self, n, *, ridge=1.0):
        self.unmade()
        cdef Py_ssize_t order = as_order(n, "n")
        self._ridge = as_ridge(ridge)
        self.a = numpy.full(order, self._ridge)
        self.count = 0
        self.made()

    cdef object _row(self, object x, Row *row):
        """x as dense or sparse row; what is returned owns the memory."""
        cdef SparseRow given = None
        cdef np.ndarray v
        self.guard.settle_read()  # refuses an object that was not made: it has no order
        if not isinstance(x, np.ndarray):
            given = sparse_row(x, "x", np.PyArray_DIM(self.a, 0))
        v = dense_row(x, "x", np.PyArray_DIM(self.a, 0)) if given is None else given.value
        row.value, row.nnz = data_of(v), np.PyArray_DIM(v, 0)
        row.index, row.wide = NULL, False
        if given is None:
            return v
        row.index, row.wide = np.PyArray_DATA(given.index), given.wide
        return given

    cdef int _refuse(self, const Row *row, str what) except -1:
        if not K.all_finite(row.nnz, row.value):
            raise ValueError("x must be finite")
        raise ValueError(f"x is too large: {what} overflows")

    def update(self, x, *, c=1.0):
        """``A += c diag(x_i^2)``; returns ``x^T A^-1 x`` from before.

        Parameters
        ----------
        x : array_like of shape (n,) or scipy.sparse row
            An all-zero x returns 0 and changes nothing.
        c : float, default 1.0
            Greater than 0.

        Returns
        -------
        float
        """
        cdef double weight = as_weight(c), q
        cdef Row row
        cdef object keep = self._row(x, &row)
        self.guard.settle_write()
        q = quad_of(data_of(self.a), &row)
        if q == 0.0:
            return q
        if not (q < INFINITY and has_room(data_of(self.a), &row, weight)):
            self._refuse(&row, "x^T A^-1 x or c x_i^2")
        add(data_of(self.a), &row, weight)
        self.count += 1
        return q

    def update_many(self, X, *, c=1.0):
        """The updates of many dense or sparse rows, one after the other, in one compiled loop.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix of shape (T, n)
            float64, float32 with contiguous rows and CSR are read without a copy.
        c : float or array_like of shape (T,), default 1.0

        Returns
        -------
        ndarray of float64, shape (T,)
            What `update` returns for each row. A bad row is refused before anything changes.
            Ctrl-C stops between two rows: `updates` tells how many changed something.
        """
        cdef Batch batch
        cdef np.ndarray x = None, start, index, value, weights, buffer, a, out
        cdef Py_ssize_t rows, t = 0, taken = 0, step
        cdef bint good = True
        self.guard.settle_read()
        if isinstance(X, np.ndarray) or not is_sparse(X):
            x = as_rows(X, "X")
            rows, batch.width, batch.start = np.PyArray_DIM(x, 0), np.PyArray_DIM(x, 1), NULL
            if batch.width != self.n:
                raise ValueError(f"X must have {self.n} columns, got {batch.width}")
            refuse_non_finite(x, "X")
            step = 1 + PAUSE // (batch.width + 64)
        else:
            start, index, value = sparse_rows(X, "X", self.n)
            rows = np.PyArray_DIM(start, 0) - 1
            batch.start = <const int64_t *>np.PyArray_DATA(start)
            batch.index, batch.value = np.PyArray_DATA(index), data_of(value)
            batch.wide = np.PyArray_TYPE(index) == np.NPY_INT64
            step = 1 + PAUSE // (np.PyArray_DIM(value, 0) // max(rows, 1) + 64)
        weights, out, buffer = as_weights(c, rows), numpy.zeros(rows), numpy.empty(self.n)
        batch.buffer, batch.c, batch.q = data_of(buffer), data_of(weights), data_of(out)
        self.guard.begin_write()
        try:
            a = self.a.copy()  # what it becomes, so that a row that overflows undoes all before
            while good and t < rows:
                with nogil:
                    good = many(&batch, x, data_of(a), &t, min(rows, t + step), &taken)
                try:
                    PyErr_CheckSignals()
                except BaseException:
                    self._commit(a, taken)
                    raise
            if good:
                self._commit(a, taken)
        finally:
            self.guard.end_write()
        if not good:
            raise ValueError(f"X is too large: x^T A^-1 x or c x_i^2 overflows at row {t}")
        return out

    cdef void _commit(self, np.ndarray a, Py_ssize_t taken) noexcept:
        memcpy(data_of(self.a), data_of(a), <size_t>np.PyArray_NBYTES(a))
        self.count += taken

    def solve(self, x):
        """``A^-1 x``, dense.

        Returns
        -------
        ndarray of float64, shape (n,)
        """
        self.guard.settle_read()
        cdef np.ndarray v = dense_row(x, "x", self.n)
        cdef np.ndarray out = numpy.empty(self.n)
        self.guard.settle_read()
        K.diagonal_solve(np.PyArray_DIM(v, 0), data_of(self.a), data_of(v), data_of(out))
        if not K.all_finite(np.PyArray_DIM(out, 0), data_of(out)):
            refuse_non_finite(v, "x")
            raise ValueError("x is too large: A^-1 x overflows")
        return out

    def quad(self, x):
        """``x^T A^-1 x``, for a dense vector or a scipy.sparse row.

        Returns
        -------
        float
        """
        cdef Row row
        cdef object keep = self._row(x, &row)
        cdef double q
        self.guard.settle_read()
        q = quad_of(data_of(self.a), &row)
        if not q - q == 0.0:
            self._refuse(&row, "x^T A^-1 x")
        return q

    def inverse(self):
        """A copy of the inverse's diagonal.

        Returns
        -------
        ndarray of float64, shape (n,)
        """
        return 1.0 / self.matrix()

    def matrix(self):
        """A copy of the diagonal.

        Returns
        -------
        ndarray of float64, shape (n,)
        """
        cdef np.ndarray out
        self.guard.settle_read()
        out = numpy.empty(self.n)
        self.guard.settle_read()  # NumPy may have let the GIL go
        memcpy(data_of(out), data_of(self.a), <size_t>np.PyArray_NBYTES(out))
        return out

    @property
    def logdet(self):
        """``log det A``, summed afresh: nothing drifts."""
        cdef np.ndarray logs = self.matrix()
        K.log_many(np.PyArray_DIM(logs, 0), data_of(logs), data_of(logs))
        return float(logs.sum())

    @property
    def n(self):
        """Order of the matrix."""
        return 0 if self.a is None else np.PyArray_DIM(self.a, 0)

    @property
    def ridge(self):
        """What A began with on its diagonal."""
        return self._ridge

    @property
    def updates(self):
        """How many updates changed something."""
        self.guard.settle_read()
        return self.count

    def state(self):
        """Everything there is to resume from, as plain arrays and numbers.

        Returns
        -------
        dict
            `Diagonal.from_state` makes the same metric of it, bit for bit.
        """
        cdef int64_t count
        self.guard.begin_read()
        try:
            count, diagonal = self.count, self.matrix()
        finally:
            self.guard.end_read()
        return {"format": FORMAT, "ridge": self._ridge, "diagonal": diagonal, "updates": count}

    cdef int fill(self, dict state) except -1:
        check_state(state, FORMAT, ("ridge", "diagonal", "updates"))
        self._ridge = as_ridge(state["ridge"])
        self.a = numpy.array(as_vector(state["diagonal"], "diagonal"))
        refuse_non_finite(self.a, "diagonal")
        if not (np.PyArray_DIM(self.a, 0) and (self.a >= self._ridge).all()):
            raise ValueError("diagonal must not be empty, and nowhere below ridge")
        self.count = as_count(state["updates"], "updates")
        return 0

    def __repr__(self):
        return f"{type(self).__name__}(n={self.n}, ridge={self._ridge!r})"
