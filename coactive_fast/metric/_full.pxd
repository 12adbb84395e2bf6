cimport numpy as np

from coactive_fast._guard cimport Guard
from coactive_fast._table cimport cf_full


cdef class Full:
    # Invariant: `core` points into `memory`; `scratch` is used by changing methods only.
    cdef cf_full core
    cdef double *memory
    cdef double *scratch
    cdef Guard guard
    cdef object __weakref__

    cdef int _take(self, Py_ssize_t n) except -1
    cdef int _update(self, np.ndarray v, double c, double *q) except -1
    cdef double *_borrow(self) except NULL
