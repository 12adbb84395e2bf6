# Confidit: what its three forms of a covariance share, and the diagonal form.

cimport cython
from libc.stdint cimport int64_t

from coactive_fast.multiclass._models cimport Lines, Model, Work


@cython.final
cdef class Policy:
    # The parameters of SPEC 3, and the sum that the theory's width needs.
    cdef double alpha, ridge, eta, norm_bound, error
    cdef double doubt          # -log delta
    cdef bint theory, projection, normalize, printed
    cdef double explained      # sum of q / (1 + q) of the labels learned

    cdef int adopt(self, Policy other) except -1
    cdef int restore(self, dict state) except -1
    cdef double factor(self, int64_t rounds) noexcept nogil
    cdef int decide(self, Work w, Py_ssize_t k, int64_t rounds) noexcept nogil
    cdef bint steps(self, double m, double q) noexcept nogil
    cdef double sign(self, Work w, bint correct) noexcept nogil
    cdef void normal(self, Work w) noexcept nogil
    cdef inline void learned(self, double q) noexcept nogil:
        self.explained += q / (1.0 + q)


@cython.final
cdef class Diagonal(Lines):
    cdef Policy policy
