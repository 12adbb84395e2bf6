cimport numpy as np

from coactive_fast._table cimport cf_full
from coactive_fast.metric._rows cimport Metric


cdef class Full(Metric):
    # Invariant: `core` points into `memory`; `scratch` is used by changing methods only.
    cdef cf_full core
    cdef double *memory
    cdef double *scratch
    cdef object __weakref__

    cdef int _take(self, Py_ssize_t n) except -1
    cdef int _update(self, np.ndarray v, double c, double *q) except -1
    cdef double *_borrow(self) except NULL
