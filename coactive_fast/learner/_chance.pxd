# A learner's random generator, and draws from it without the GIL.

from libc.stdint cimport uint64_t
from numpy.random cimport bitgen_t

from coactive_fast._table cimport cf_pcg64


cdef struct Loan:
    cf_pcg64 pcg
    uint64_t edge               # bits that are drawn a second time
    bint again


cdef class Chance:
    cdef readonly object first      # what `reset` goes back to; never drawn from
    cdef readonly object generator  # the learner's own; its lock is held while the GIL is let go
    cdef bitgen_t *bits             # of `generator`
    # Between `borrow` and `give_back` the state of the generator is here, and goes on here.
    cdef bint borrowed
    cdef Loan loan
    cdef bitgen_t through           # numpy's functions draw from the loan through it

    cdef void normals(self, Py_ssize_t n, double *out) noexcept nogil
    cdef int draw_from(self, generator) except -1
    cdef int borrow(self) except -1
    cdef int give_back(self) except -1
    cdef int return_loan(self) except -1
