cimport numpy as np

from coactive_fast._table cimport cf_full, cf_table
from coactive_fast.metric._rows cimport Metric

ctypedef void (*reader)(const cf_full *, const cf_table *, double *, double *) noexcept nogil


cdef class Full(Metric):
    # Invariant: `core` points into `memory`; `scratch` is used by changing methods only.
    cdef cf_full core
    cdef double *memory
    cdef double *scratch
    cdef object __weakref__

    cdef int _make(self, object n, object ridge, object precision) except -1
    cdef int _take(self, Py_ssize_t n) except -1
    cdef int _update(self, np.ndarray v, double c, double *q) except -1
    cdef int _updates(self, np.ndarray x, const double *c, double *buffer, double *q,
                      Py_ssize_t *t, Py_ssize_t until) noexcept nogil
    cdef int _check_room(self, np.ndarray x, np.ndarray weights, double *buffer) except -1
    cdef double *_borrow(self) except NULL
    cdef int _quad(self, np.ndarray v, double *q) except -1
    cdef np.ndarray _square(self, reader read)
    cdef int _check_memory(self) except -1
