"""The dual matrix over kept rows; see _gram.pxd."""

import numpy

cimport numpy as np
from libc.stddef cimport size_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport data_of
from coactive_fast._table cimport (
    CF_OK, cf_cholesky_at, cf_get_library, cf_get_table, cf_library, cf_pad, cf_panels_size,
    cf_table,
)
from coactive_fast.metric._kept cimport SPARSE

from coactive_fast.metric import _memory

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()


cdef class Gram:
    """Kept rows with their factor.

    Parameters
    ----------
    kernel, kernel_params
        See `Kept`.
    ridge : float
        What stands on the diagonal besides k(x, x), >= 0.
    """

    def __init__(self, kernel, kernel_params, double ridge):
        self.kept = Kept(kernel, kernel_params)
        self.ridge = ridge

    def __dealloc__(self):
        L.free(self.factor.data)
        L.free(self.factor.inv)

    cdef int fit(self, const cf_row *x, Forms forms) except -1:
        return forms.fit(x, self.kept.wants_dense())

    cdef void gather(self, const cf_row *x, Forms forms) noexcept nogil:
        if self.kept.form == SPARSE:
            forms.gather(x)

    cdef void weigh(self, double *values) noexcept nogil:
        pass

    cdef int solve(self, const cf_row *x, Forms forms, double *u, double *own) noexcept nogil:
        cdef Py_ssize_t n = self.factor.n
        cdef int status = self.kept.own(x, own)
        if status == CF_OK:
            status = self.kept.values(x, forms, 0, u)
        if status == CF_OK:
            self.weigh(u)
            memset(u + n, 0, <size_t>(self.length() - n) * sizeof(double))
            K.cholesky_forward(&self.factor, u, u)
        return status

    # --- rows come and go ---------------------------------------------------------------------

    cdef bint has_room(self, const cf_row *x, Forms forms) noexcept nogil:
        self.gather(x, forms)
        return self.factor.n < self.room and self.kept.has_room(x, forms)

    cdef int make_room(self, const cf_row *x, Forms forms) except -1:
        cdef Py_ssize_t n = self.factor.n, room
        cdef double *data
        if n >= self.room:
            room = max(16, n + n // 4 + 8)
            _memory.refuse_beyond_limit(
                8.0 * (cf_panels_size(room) + cf_panels_size(n)),
                f"the factor of {room} learned examples", "a budget, or a window, keeps fewer")
            data = <double *>L.alloc(<size_t>cf_panels_size(room), sizeof(double))
            inv = <double *>L.alloc(<size_t>cf_pad(room), sizeof(double))
            if data == NULL or inv == NULL:
                L.free(data)
                L.free(inv)
                raise MemoryError(f"{8 * cf_panels_size(room)} bytes for the factor of {room} "
                                  "learned examples: a budget, or a window, keeps fewer")
            if n:
                memcpy(data, self.factor.data, <size_t>cf_panels_size(n) * sizeof(double))
                memcpy(inv, self.factor.inv, <size_t>cf_pad(n) * sizeof(double))
            L.free(self.factor.data)
            L.free(self.factor.inv)
            self.factor.data, self.factor.inv, self.room = data, inv, room
        return self.kept.make_room(x, forms)

    cdef void append(self, const cf_row *x, Forms forms, const double *u,
                     double pivot) noexcept nogil:
        self.kept.append(x, forms)
        K.cholesky_append(&self.factor, u, pivot)

    cdef void drop_first(self, double *scratch) noexcept nogil:
        self.kept.drop_first()
        K.cholesky_drop_first(&self.factor, scratch)

    cdef double logdet(self) noexcept nogil:
        cdef Py_ssize_t i
        cdef double sum = 0.0
        for i in range(self.factor.n):
            sum -= 2.0 * K.log_one(self.factor.inv[i])
        if self.ridge > 0.0:
            sum -= self.factor.n * K.log_one(self.ridge)
        return sum

    # --- state --------------------------------------------------------------------------------

    cdef dict state(self):
        cdef Py_ssize_t n = self.factor.n
        cdef np.ndarray factor = <np.ndarray>numpy.empty(cf_panels_size(n))
        if n:
            memcpy(data_of(factor), self.factor.data, <size_t>np.PyArray_NBYTES(factor))
        return {"kept": self.kept.state(), "factor": factor}

    cdef int restore(self, dict state) except -1:
        """The reverse, into an object that holds nothing yet."""
        cdef np.ndarray factor
        cdef Py_ssize_t n, i, j
        cdef double pivot
        kept = state["kept"]
        if not isinstance(kept, dict):
            raise TypeError(f"kept of the state must be a dict, got {type(kept).__name__}")
        self.kept.restore(kept)
        n = self.kept.n
        given = numpy.asarray(state["factor"])
        if given.dtype.kind != "f" or given.shape != (cf_panels_size(n),):
            raise ValueError(f"factor of the state must be {cf_panels_size(n)} numbers")
        factor = <np.ndarray>numpy.ascontiguousarray(given, dtype=numpy.float64)
        if not K.all_finite(np.PyArray_DIM(factor, 0), data_of(factor)):
            raise ValueError("factor of the state must be finite")
        if n == 0:
            return 0
        self.factor.data = <double *>L.alloc(<size_t>cf_panels_size(n), sizeof(double))
        self.factor.inv = <double *>L.alloc(<size_t>cf_pad(n), sizeof(double))
        if self.factor.data == NULL or self.factor.inv == NULL:
            raise MemoryError(f"{8 * cf_panels_size(n)} bytes for the factor of {n} examples")
        memcpy(self.factor.data, data_of(factor), <size_t>np.PyArray_NBYTES(factor))
        memset(self.factor.inv, 0, <size_t>cf_pad(n) * sizeof(double))
        self.factor.n = self.room = n
        for i in range(n):
            pivot = cf_cholesky_at(&self.factor, i, i)[0]
            if not pivot > 0.0:
                raise ValueError("factor of the state must have pivots > 0")
            self.factor.inv[i] = 1.0 / pivot
        for i in range(cf_pad(n)):
            for j in range(i + 1 if i < n else 0, (i // 8 + 1) * 8):
                if cf_cholesky_at(&self.factor, i, j)[0] != 0.0:
                    raise ValueError("factor of the state must be zero above its diagonal")
        return 0
