"""The full metric; the state and its invariants are those of cf_full.h."""

import numpy

cimport numpy as np
from cpython.exc cimport PyErr_CheckSignals
from libc.stddef cimport size_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport (
    as_count, as_number, as_rows, as_vector, data_of, refuse, refuse_length, refuse_non_finite,
    row_stride,
)
from coactive_fast._table cimport (
    CF_BLOCK, CF_ENOTPOSITIVE, CF_OK, cf_full, cf_get_library, cf_get_table, cf_library, cf_pad, cf_table,
)
from coactive_fast.metric._rows cimport Metric, check_state, dense_row

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    FORMAT = 1       # of state()
    BUSY = 64        # order from which the GIL is let go: about a microsecond of work
    PAUSE = 1 << 25  # elements of work, some 10 ms, after which signals are looked at

HEALTH = ("updates", "probes", "renewals", "repairs", "failed", "last_residual", "worst_residual")
FIELDS = ("n", "ridge", "precision", "memory", "pending", "logdet", "next_look", "next_probe",
          "next_renewal", "last_renewal", *HEALTH)


cdef class Full(Metric):
    """``A = ridge I + sum c x x^T``, the whole matrix, with its inverse kept at hand.

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
    Memory: ``14 n^2`` bytes: a triangle of the inverse, one and a half of A, one of scratch. An update costs O(n^2), as does every reading of a vector.
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
        self.memory = NULL
        self.scratch = NULL

    def __init__(self, n, ridge=1.0, *, precision="fast"):
        cdef Py_ssize_t order = as_count(n, "n")
        cdef double r = as_number(ridge, "ridge")
        if order == 0:
            raise ValueError("n must be >= 1, got 0")
        if r <= 0.0 or not 1.0 / r < float("inf"):
            raise ValueError(f"ridge must be > 0 with a finite inverse, got {r}")
        if precision not in ("fast", "robust"):
            raise ValueError(f"precision must be 'fast' or 'robust', got {precision!r}")
        self._take(order)
        L.full_init(&self.core, order, r, precision == "robust", K, self.memory)

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

    def update(self, x, c=1.0):
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
        self._update(dense_row(x, "x", self.core.n), as_number(c, "c"), &q)
        return q

    cdef int _update(self, np.ndarray v, double c, double *q) except -1:
        cdef int status
        if c <= 0.0:
            raise ValueError(f"c must be > 0, got {c}")
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

    def update_many(self, X, c=1.0):
        """The updates of many rows, one after the other, in one compiled loop.

        Parameters
        ----------
        X : array_like of shape (T, n)
        c : float or array_like of shape (T,), default 1.0

        Returns
        -------
        ndarray of float64, shape (T,)
            ``x^T A^-1 x`` of each row from before its own update: what `update` returns. A bad
            row is refused before anything changes. Ctrl-C stops between two rows: `updates`
            tells how many there were.
        """
        cdef np.ndarray x = as_rows(numpy.asarray(X, dtype=numpy.float64), "X")
        cdef Py_ssize_t rows = np.PyArray_DIM(x, 0), n = self.core.n, t
        cdef Py_ssize_t stride = row_stride(x)
        if np.PyArray_DIM(x, 1) != n:
            raise ValueError(f"X must have {n} columns, got {np.PyArray_DIM(x, 1)}")
        weights = numpy.ascontiguousarray(numpy.broadcast_to(numpy.asarray(c, float), (rows,)))
        cdef np.ndarray w = as_vector(weights, "c")
        refuse_non_finite(x, "X")
        refuse_non_finite(w, "c")
        if rows and not weights.min() > 0.0:
            raise ValueError(f"c must be > 0, got {weights.min()}")
        cdef np.ndarray out = numpy.zeros(rows)
        cdef double *q = data_of(out)
        cdef const double *at = data_of(x)
        cdef const double *weight = data_of(w)
        cdef Py_ssize_t until, step = 1 + PAUSE // (n * n + 64)
        cdef int status = CF_OK
        t = 0
        self.guard.begin_write()
        try:
            while t < rows and status == CF_OK:
                until = min(rows, t + step)
                with nogil:
                    while t < until:
                        status = L.full_update(&self.core, K, at + t * stride, weight[t],
                                               self.scratch, q + t)
                        if status != CF_OK:
                            break
                        t += 1
                PyErr_CheckSignals()
        finally:
            self.guard.end_write()
        if status != CF_OK:
            refuse(status, f"row {t} of X")
        return out

    # --- reading ----------------------------------------------------------------------------

    cdef double *_borrow(self) except NULL:
        """Scratch of a reading method: its own, since many may read at once."""
        cdef double *block = <double *>L.alloc(<size_t>(5 * cf_pad(self.core.n)), sizeof(double))
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
        refuse_non_finite(v, "x")
        cdef Py_ssize_t n = self.core.n
        cdef np.ndarray out = numpy.empty(n)
        cdef double *scratch = self._borrow()
        cdef double *y = scratch + cf_pad(n)
        self.guard.begin_read()
        with nogil:
            L.full_solve(&self.core, K, data_of(v), scratch, y)
            memcpy(data_of(out), y, <size_t>n * sizeof(double))
        self.guard.end_read()
        L.free(scratch)
        return out

    def quad(self, x):
        """``x^T A^-1 x``, for a dense vector or a scipy.sparse row.

        Returns
        -------
        float
        """
        cdef np.ndarray v = dense_row(x, "x", self.core.n)
        cdef double *scratch = self._borrow()
        cdef double q
        if self.core.n < BUSY:
            self.guard.settle_read()
            q = L.full_quad(&self.core, K, data_of(v), scratch)
        else:
            self.guard.begin_read()
            with nogil:
                q = L.full_quad(&self.core, K, data_of(v), scratch)
            self.guard.end_read()
        L.free(scratch)
        if not q - q == 0.0:
            refuse_non_finite(v, "x")
        return q

    def inverse(self):
        """A copy of ``A^-1``.

        Returns
        -------
        ndarray of float64, shape (n, n)
        """
        cdef np.ndarray out = numpy.empty((self.core.n, self.core.n))
        cdef double *scratch = self._borrow()
        self.guard.begin_read()
        with nogil:
            L.full_inverse(&self.core, K, scratch, data_of(out))
        self.guard.end_read()
        L.free(scratch)
        return out

    def matrix(self):
        """A copy of A.

        Returns
        -------
        ndarray of float64, shape (n, n)
        """
        cdef np.ndarray out = numpy.empty((self.core.n, self.core.n))
        cdef double *scratch = self._borrow()
        self.guard.begin_read()
        with nogil:
            L.full_matrix(&self.core, K, scratch, data_of(out))
        self.guard.end_read()
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
        return self.core.n

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
        cdef double now
        self.guard.begin_read()
        with nogil:
            now = L.full_residual(&self.core, K, 0, scratch)
        told = dict(self.core.health)
        self.guard.end_read()
        L.free(scratch)
        told["residual"] = now
        return told

    # --- copies -----------------------------------------------------------------------------

    def state(self):
        """Everything there is to resume from, as plain arrays and numbers.

        Returns
        -------
        dict
            `Full.from_state` makes the same metric of it, bit for bit.
        """
        cdef np.ndarray memory = numpy.empty(L.full_size(self.core.n))
        self.guard.begin_read()
        memcpy(data_of(memory), self.memory, <size_t>memory.nbytes)
        told = {
            "format": FORMAT, "n": self.core.n, "ridge": self.core.ridge,
            "precision": self.precision, "memory": memory, "pending": self.core.pending,
            "logdet": self.core.logdet, "next_look": self.core.next_look,
            "next_probe": self.core.next_probe, "next_renewal": self.core.next_renewal,
            "last_renewal": self.core.last_renewal,
        }
        told.update(self.core.health)
        self.guard.end_read()
        return told

    @classmethod
    def from_state(cls, state):
        """The metric that `state` described.

        Parameters
        ----------
        state : dict

        Returns
        -------
        Full
        """
        check_state(state, FORMAT, FIELDS)
        cdef Full self = cls(state["n"], state["ridge"], precision=state["precision"])
        cdef np.ndarray memory = as_vector(state["memory"], "memory")
        if np.PyArray_DIM(memory, 0) != L.full_size(self.core.n):
            refuse_length(np.PyArray_DIM(memory, 0), "memory", L.full_size(self.core.n),
                          f"n = {self.core.n}")
        refuse_non_finite(memory, "memory")
        if not 0 <= state["pending"] < CF_BLOCK:
            raise ValueError(f"pending must be in 0 ... {CF_BLOCK - 1}, got {state['pending']}")
        memcpy(self.memory, data_of(memory), <size_t>memory.nbytes)
        self.core.pending = state["pending"]
        self.core.logdet = state["logdet"]
        self.core.next_look = state["next_look"]
        self.core.next_probe = state["next_probe"]
        self.core.next_renewal = state["next_renewal"]
        self.core.last_renewal = state["last_renewal"]
        self.core.health = {name: state[name] for name in HEALTH}
        return self

    def __repr__(self):
        return (f"{type(self).__name__}(n={self.core.n}, ridge={self.core.ridge!r}, "
                f"precision={self.precision!r})")
