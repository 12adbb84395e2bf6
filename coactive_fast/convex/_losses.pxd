# Losses of a row and a label: what the engines' runs read.

cimport numpy as np


cdef class Rows:
    # Round t has row t mod n. Z (n x d, C-contiguous) and y (n) are its own and never written to.
    cdef readonly np.ndarray Z, y
    cdef readonly Py_ssize_t n, d
    cdef int kind

    cdef double value(self, Py_ssize_t t, const double *x, double *m) noexcept nogil
    cdef void gradient(self, Py_ssize_t t, double m, double *g) noexcept nogil
    cdef bint wrong(self, Py_ssize_t t, double m) noexcept nogil
    cdef double at(self, t, x, Py_ssize_t *i, double *m) except? -1.0
