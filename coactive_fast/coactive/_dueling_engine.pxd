# The dueling bandit's engine, for its runs.

cimport numpy as np
from numpy.random cimport bitgen_t

from coactive_fast.coactive._engine cimport CoactiveEngine


cdef class DuelingEngine(CoactiveEngine):
    cdef double explore, move
    cdef object first, generator
    cdef bitgen_t *bits          # of `generator`, which nobody else has: no lock needed
    # The pending comparison; presented is None where there is none. Never changed in place.
    cdef np.ndarray direction    # u
    cdef np.ndarray presented    # rankings: all n documents; items: w's and that of w'
    cdef np.ndarray brought      # rankings: 1 for each document that w' brought, else 0

    cdef int draw_from(self, generator) except -1
    cdef void hold(self, np.ndarray direction, np.ndarray presented, np.ndarray brought) noexcept
    cdef tuple held(self, pending, Py_ssize_t d)
    cdef np.ndarray compare(self, np.ndarray a)
    cdef int compare_rankings(self, np.ndarray a) except -1
    cdef int compare_items(self, np.ndarray candidates) except -1
    cdef bint best_two(self, np.ndarray candidates, ptrdiff_t *best) noexcept nogil
    cdef int refuse_unpaired(self) except -1
    cdef int finish(self, bint won) except -1
    cdef bint documents_won(self, np.ndarray a, np.ndarray shown, np.ndarray wanted) except -1
    cdef bint item_won(self, np.ndarray candidates, Py_ssize_t i, Py_ssize_t j,
                       Py_ssize_t better) except -1
    # The parts of a round; scratch is the bench, fitted by the caller.
    cdef void aim(self, double *u) noexcept nogil
    cdef bint draft(self, Py_ssize_t n, const void *rows, bint floats, Py_ssize_t stride,
                    ptrdiff_t *presented, unsigned char *brought) noexcept nogil
    cdef int move_by(self, const double *u, bint won) noexcept nogil


cdef bint brought_most(Py_ssize_t m, const ptrdiff_t *better,
                       const unsigned char *brought) noexcept nogil
