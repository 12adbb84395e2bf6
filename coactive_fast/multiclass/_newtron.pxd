# Newtron (DEFINITIONS 3): Newton steps on the logistic loss, from right or wrong.

cimport cython

from coactive_fast.metric._full cimport Full
from coactive_fast.metric._ridges cimport Lines
from coactive_fast.rows._rows cimport Scratch


@cython.final
cdef class Newtron(Lines):
    # A reading leaves the p of the labels in s.q. The lines have W; with diagonals also those of A
    # (W is then the minimiser itself). Whole: `metric` is A over all classes and features, class by
    # class, z the minimiser and W its projection. `held` is its features, 0 while they are not
    # known; classes that were added come into it before the next round is learned.
    cdef double alpha, beta, gamma
    cdef double bound          # of ||W||: A begins as I / bound
    cdef bint whole
    cdef Full metric           # None while held is 0
    cdef Py_ssize_t held
    cdef double lam            # of the last projection: where the next search begins
    cdef double *memory        # owned; those that follow point into it
    cdef double *z             # cf_pad(k d) each; z and z_next change places
    cdef double *z_next
    cdef double *w_next
    cdef double *g             # zeros but for a moment
    cdef double *v
    cdef double *work

    cdef void take_over(self, double *block, Full metric, Py_ssize_t d) noexcept
    cdef int enlarge(self) except -1
    cdef double mixed(self, Scratch s, Py_ssize_t label) noexcept nogil
    cdef int along_lines(self, Scratch s, double curve) noexcept nogil
    cdef int along_all(self, Scratch s, double curve) noexcept nogil
    cdef int newton(self, double curve) noexcept nogil
