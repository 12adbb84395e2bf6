# Confidit in dual form: each class keeps the rows it has learned.

cimport cython

from coactive_fast.metric._kept cimport Errors, Forms
from coactive_fast.multiclass._models cimport Model, Work
from coactive_fast.multiclass._policy cimport Policy


@cython.final
cdef class DualWork:
    # Scratch of one reading; hung on a Work by the first that needs it.
    cdef Forms forms
    cdef double own            # k(x, x)


@cython.final
cdef class DualRidges(Model):
    # Invariants. grams[i] has the rows that class i learned, coefficients[i] the c = L^-1 y that
    # goes with its factor, in an array with room for as many: w_i.x = u.c with u = L^-1 k.
    cdef Policy policy
    cdef object kernel, kernel_params
    cdef list grams
    cdef list coefficients
    cdef list sums             # log det A_i - log det(ridge I)
    cdef Errors errors         # of a user's kernel, and of memory

    cdef int solve(self, Work w, Py_ssize_t i) except -1
    cdef int read_under_lock(self, Work w) noexcept
    cdef int store(self, Work w, Py_ssize_t label, bint correct) noexcept
