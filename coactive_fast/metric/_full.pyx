"""The full metric; the state and its invariants are those of cf_full.h."""

import numpy

cimport numpy as np
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY
from libc.stddef cimport size_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport (
    as_count, as_number, as_rows, data_of, refuse, refuse_non_finite,
)
from coactive_fast._table cimport (
    CF_BLOCK, CF_ENOTPOSITIVE, CF_OK, cf_full, cf_full_health, cf_get_library, cf_get_table,
    cf_library, cf_pad, cf_table, cf_triangle_row,
)
from coactive_fast.metric._rows cimport (
    ANY, Metric, as_order, as_ridge, as_weight, as_weights, check_state, dense_row, row_at,
    state_vector,
)

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    FORMAT = 1       # of state()
    BUSY = 64        # order from which the GIL is let go: about a microsecond of work
    PAUSE = 1 << 25  # elements of work, some 10 ms, after which signals are looked at

cdef double LARGEST = 2.0 ** 1023  # what A may hold, as in the C library

COUNTS = ("updates", "probes", "renewals", "repairs", "failed")
RESIDUALS = ("last_residual", "worst_residual")
FIELDS = ("n", "ridge", "precision", "memory", "pending", "logdet", "next_look", "next_probe",
          "next_renewal", "last_renewal", *COUNTS, *RESIDUALS)


cdef class Full(Metric):
    """Full(n, *, ridge=1.0, precision="fast")\n--\n
    ``A = ridge I + sum c x x^T``, the whole matrix, with its inverse kept at hand.

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
    precision : {"fast", "robust"}, default "fast"
        "robust" keeps the inverse as ``U D U^T`` (Bierman): about 1.5 times slower, and the error
        grows with the square root of the condition number instead of the condition number.

    Notes
    -----
    Memory: ``14 n^2`` bytes: a triangle of the inverse, one and a half of A, one of scratch. An
    update costs O(n^2), as does every reading of a vector.
    Reading methods may run in many threads at once; `update` waits for them and they for it.

    Examples
    --------
    >>> from coactive_fast.metric import Full
    >>> m = Full(2)
    >>> m.update([1.0, 0.0])
    1.0
    >>> m.solve([1.0, 1.0])
    array([0.5, 1. ])
    """

    def __cinit__(self):
        self.core.n = ANY
        self.memory = NULL
        self.scratch = NULL

    def __init__(self, n, *, ridge=1.0, precision="fast"):
        self.unmade()
        self._make(n, ridge, precision)
        self.made()

    cdef int _make(self, object n, object ridge, object precision) except -1:
        cdef Py_ssize_t order = as_order(n, "n")
        cdef double r = as_ridge(ridge)
        if precision not in ("fast", "robust"):
            raise ValueError(f"precision must be 'fast' or 'robust', got {precision!r}")
        self._take(order)
        L.full_init(&self.core, order, r, precision == "robust", K, self.memory)
        return 0

    cdef int _take(self, Py_ssize_t n) except -1:
        """Memory for order n; what was there is given back."""
        cdef Py_ssize_t size = L.full_size(n)
        cdef double *memory = NULL
        cdef double *scratch = NULL
        if size > 0:
            memory = <double *>L.alloc(<size_t>size, sizeof(double))
            scratch = <double *>L.alloc(<size_t>L.full_scratch(n), sizeof(double))
        if memory == NULL or scratch == NULL:
            L.free(memory)
            L.free(scratch)
            raise MemoryError(f"a full metric of order {n} takes {14 * n * n} bytes; Diagonal and "
                              "Dual take less")
        L.free(self.memory)
        L.free(self.scratch)
        self.memory = memory
        self.scratch = scratch
        return 0

    def __dealloc__(self):
        L.free(self.memory)
        L.free(self.scratch)

    # --- changing ---------------------------------------------------------------------------

    def update(self, x, *, c=1.0):
        """``A += c x x^T``; returns ``x^T A^-1 x`` from before.

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
        cdef double q = 0.0
        self._update(dense_row(x, "x", self.core.n), as_weight(c), &q)
        return q

    cdef int _update(self, np.ndarray v, double c, double *q) except -1:
        cdef int status
        if self.core.n < BUSY:
            self.guard.settle_write()
            status = L.full_update(&self.core, K, data_of(v), c, self.scratch, q)
        else:
            self.guard.begin_write()
            with nogil:
                status = L.full_update(&self.core, K, data_of(v), c, self.scratch, q)
            self.guard.end_write()
        if status != CF_OK:
            refuse_non_finite(v, "x")
            if status == CF_ENOTPOSITIVE:
                refuse(status, "A^-1 along x, beyond repair")
            refuse(status, "c x^T A^-1 x")
        return 0

    def update_many(self, X, *, c=1.0):
        """The updates of many rows, one after the other, in one compiled loop.

        Parameters
        ----------
        X : array_like of shape (T, n)
            float64 and float32 with contiguous rows are read without a copy.
        c : float or array_like of shape (T,), default 1.0

        Returns
        -------
        ndarray of float64, shape (T,)
            ``x^T A^-1 x`` of each row from before its own update: what `update` returns. A bad
            row is refused before anything changes. Ctrl-C stops between two rows: `updates`
            tells how many there were.
        """
        self.guard.settle_write()  # an object that was not made has no order to compare with
        cdef np.ndarray x = as_rows(X, "X")
        cdef Py_ssize_t rows = np.PyArray_DIM(x, 0), n = self.core.n, t = 0
        if np.PyArray_DIM(x, 1) != n:
            raise ValueError(f"X must have {n} columns, got {np.PyArray_DIM(x, 1)}")
        cdef np.ndarray weights = as_weights(c, rows)
        cdef np.ndarray buffer = numpy.empty(n), out = numpy.zeros(rows)
        cdef Py_ssize_t step = 1 + PAUSE // (n * n + 64)
        cdef int status = CF_OK
        refuse_non_finite(x, "X")
        self.guard.begin_write()
        try:
            self._check_room(x, weights, data_of(buffer))
            while t < rows and status == CF_OK:
                with nogil:
                    status = self._updates(x, data_of(weights), data_of(buffer), data_of(out),
                                           &t, min(rows, t + step))
                PyErr_CheckSignals()
        finally:
            self.guard.end_write()
        if status != CF_OK:
            refuse(status, f"row {t} of X")
        return out

    cdef int _updates(self, np.ndarray x, const double *c, double *buffer, double *q,
                      Py_ssize_t *t, Py_ssize_t until) noexcept nogil:
        """Rows t[0] ... until - 1 or up to the first that fails, which t[0] then is."""
        cdef int status = CF_OK
        while t[0] < until:
            status = L.full_update(&self.core, K, row_at(x, t[0], buffer), c[t[0]], self.scratch,
                                   q + t[0])
            if status != CF_OK:
                break
            t[0] += 1
        return status

    cdef int _check_room(self, np.ndarray x, np.ndarray weights, double *buffer) except -1:
        """Refuses rows with which ``x^T A^-1 x`` or A would overflow, before any is taken.

        The largest entry of A, which is on its diagonal, grows by at most c x.x a row.
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
            c = data_of(weights)[t]
            most += c * size
            if not (size / self.core.ridge < INFINITY and c * size / self.core.ridge < INFINITY
                    and most <= LARGEST):
                raise ValueError(f"X is too large: A or x^T A^-1 x would overflow at row {t}")
        return 0

    # --- reading ----------------------------------------------------------------------------

    cdef double *_borrow(self) except NULL:
        """Scratch of a reading method: its own, since many may read at once."""
        cdef double *block
        self.guard.settle_read()  # refuses an object that was not made: it has no order
        block = <double *>L.alloc(<size_t>(5 * cf_pad(self.core.n)), sizeof(double))
        if block == NULL:
            raise MemoryError(f"scratch for order {self.core.n}")
        return block

    def solve(self, x):
        """``A^-1 x``, for a dense vector or a scipy.sparse row.

        Returns
        -------
        ndarray of float64, shape (n,)
        """
        cdef np.ndarray v = dense_row(x, "x", self.core.n)
        cdef Py_ssize_t n = self.core.n
        cdef double *scratch = self._borrow()
        cdef double *y = scratch + cf_pad(n)
        try:
            out = numpy.empty(n)
            self.guard.begin_read()
            with nogil:
                L.full_solve(&self.core, K, data_of(v), scratch, y)
            self.guard.end_read()
            memcpy(data_of(out), y, <size_t>n * sizeof(double))
        finally:
            L.free(scratch)
        if not K.all_finite(n, data_of(out)):
            refuse_non_finite(v, "x")
            raise ValueError("x is too large: A^-1 x overflows")
        return out

    def quad(self, x):
        """``x^T A^-1 x``, for a dense vector or a scipy.sparse row.

        Returns
        -------
        float
        """
        cdef np.ndarray v = dense_row(x, "x", self.core.n)
        cdef double q
        self._quad(v, &q)
        return q

    cdef int _quad(self, np.ndarray v, double *q) except -1:
        cdef double *scratch = self._borrow()
        if self.core.n < BUSY:
            q[0] = L.full_quad(&self.core, K, data_of(v), scratch)
            L.free(scratch)
        else:
            try:
                self.guard.begin_read()
                with nogil:
                    q[0] = L.full_quad(&self.core, K, data_of(v), scratch)
                self.guard.end_read()
            finally:
                L.free(scratch)
        if not q[0] - q[0] == 0.0:
            refuse_non_finite(v, "x")
            raise ValueError("x is too large: x^T A^-1 x overflows")
        return 0

    def inverse(self):
        """A copy of ``A^-1``.

        Returns
        -------
        ndarray of float64, shape (n, n)
        """
        return self._square(L.full_inverse)

    def matrix(self):
        """A copy of A.

        Returns
        -------
        ndarray of float64, shape (n, n)
        """
        return self._square(L.full_matrix)

    cdef np.ndarray _square(self, reader read):
        cdef double *scratch = self._borrow()
        cdef np.ndarray out
        try:
            out = numpy.empty((self.core.n, self.core.n))
            self.guard.begin_read()
            with nogil:
                read(&self.core, K, scratch, data_of(out))
            self.guard.end_read()
        finally:
            L.free(scratch)
        return out

    @property
    def logdet(self):
        """``log det A``."""
        self.guard.settle_read()
        return self.core.logdet

    @property
    def n(self):
        """Order of the matrix."""
        return max(self.core.n, 0)

    @property
    def ridge(self):
        """What A began with on its diagonal."""
        return self.core.ridge

    @property
    def precision(self):
        """"fast" or "robust"."""
        return "robust" if self.core.robust else "fast"

    @property
    def updates(self):
        """How many updates changed something."""
        self.guard.settle_read()
        return self.core.health.updates

    def health(self):
        """What the watch over rounding errors has seen.

        Returns
        -------
        dict
            updates; probes of the drift; renewals (the inverse made anew from A); repairs
            (renewals because some ``x^T A^-1 x`` was not positive); failed (renewals that were
            not possible since A itself is not positive definite in float64); last_residual and
            worst_residual (``||A A^-1 v - v|| / sqrt(n)`` of the probes); residual (measured now).
        """
        cdef double *scratch = self._borrow()
        cdef cf_full_health health
        cdef double now
        try:
            self.guard.begin_read()
            with nogil:
                now = L.full_residual(&self.core, K, 0, scratch)
            health = self.core.health
            self.guard.end_read()
        finally:
            L.free(scratch)
        return {**health, "residual": now}

    # --- copies -----------------------------------------------------------------------------

    def state(self):
        """Everything there is to resume from, as plain arrays and numbers.

        Returns
        -------
        dict
            `Full.from_state` makes the same metric of it, bit for bit.
        """
        cdef np.ndarray memory
        cdef cf_full core
        self.guard.settle_read()
        memory = numpy.empty(L.full_size(self.core.n))
        self.guard.begin_read()
        memcpy(data_of(memory), self.memory, <size_t>memory.nbytes)
        core = self.core
        self.guard.end_read()
        return {
            "format": FORMAT, "n": core.n, "ridge": core.ridge, "precision": self.precision,
            "memory": memory, "pending": core.pending, "logdet": core.logdet,
            "next_look": core.next_look, "next_probe": core.next_probe,
            "next_renewal": core.next_renewal, "last_renewal": core.last_renewal, **core.health,
        }

    cdef int fill(self, dict state) except -1:
        check_state(state, FORMAT, FIELDS)
        self._make(state["n"], state["ridge"], state["precision"])
        cdef np.ndarray memory = state_vector(state, "memory", L.full_size(self.core.n),
                                              f"n = {self.core.n}")
        cdef Py_ssize_t pending = as_count(state["pending"], "pending")
        if pending >= CF_BLOCK:
            raise ValueError(f"pending must be in 0 ... {CF_BLOCK - 1}, got {pending}")
        memcpy(self.memory, data_of(memory), <size_t>memory.nbytes)
        self.core.pending = pending
        self.core.logdet = as_number(state["logdet"], "logdet")
        self.core.next_look = as_count(state["next_look"], "next_look")
        self.core.next_probe = as_count(state["next_probe"], "next_probe")
        self.core.next_renewal = as_count(state["next_renewal"], "next_renewal")
        if self.core.next_look > min(self.core.next_probe, self.core.next_renewal):
            raise ValueError("next_look must not be beyond next_probe and next_renewal")
        self.core.last_renewal = as_count(state["last_renewal"], "last_renewal")
        health = {name: as_count(state[name], name) for name in COUNTS}
        for name in RESIDUALS:
            health[name] = float(state[name])
            if health[name] < 0.0:
                raise ValueError(f"{name} must be >= 0, got {health[name]}")
        self.core.health = health
        return self._check_memory()

    cdef int _check_memory(self) except -1:
        """What no run can leave behind: another form, another ridge, a block of zeros."""
        cdef Py_ssize_t i
        cdef bint good = True
        for i in range(self.core.n):
            good &= cf_triangle_row(&self.core.a, i)[i] >= (1.0 - 1e-6) * self.core.ridge
            if self.core.robust:  # U has ones on its diagonal, not stored, and D > 0
                good &= self.core.w[i] > 0.0 and cf_triangle_row(&self.core.b, i)[i] == 0.0
            else:
                good &= cf_triangle_row(&self.core.b, i)[i] > 0.0
        for i in range(self.core.n, cf_pad(self.core.n)):  # beyond a smaller n there are zeros
            good &= cf_triangle_row(&self.core.a, i)[i] == 0.0
        for i in range(self.core.pending):
            good &= self.core.weight[i] > 0.0
        if not good:
            raise ValueError("memory must be that of a metric with this ridge and precision")
        return 0

    def __repr__(self):
        return (f"{type(self).__name__}(n={self.core.n}, ridge={self.core.ridge!r}, "
                f"precision={self.precision!r})")
