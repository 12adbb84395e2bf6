# A run over the users of one catalogue, which the dueling bandit's extends.

cimport numpy as np
from libc.stdint cimport int16_t

from coactive_fast.coactive._users cimport Decider


cdef class ItemsRun:
    cdef readonly object items, gram, utility, optimal
    cdef const char *rows      # of items
    cdef const int16_t *g      # of gram, or NULL
    cdef double unit           # what a one of it is worth
    cdef const double *norm    # of each item
    cdef np.ndarray norms
    cdef Py_ssize_t n, d, rounds
    cdef bint floats
    cdef double longest        # the largest norm of an item
    cdef public bint stop      # set by another thread: every user ends after its round

    cdef Taste session(self, learner, Decider decider, weights, ratings)


cdef class Taste:
    # One user: what he likes and what is left. Invariants: `left` counts the alive; below `top`
    # (a place in the sorted order) lies everything that is alive.
    cdef ItemsRun run_
    cdef Decider user
    cdef np.ndarray value, order       # utilities or ratings; places by utility
    cdef np.ndarray truth              # utilities, which regret is measured by
    cdef const double *truth_
    cdef const double *value_
    cdef const ptrdiff_t *order_
    cdef unsigned char *alive
    cdef Py_ssize_t left, top
    # What is read to score everything: `kept` rows, those of the items `id`, ascending, among
    # which are all that are alive; of the catalogue at first, then of `own`, which is freed here.
    cdef const char *kept_rows
    cdef char *own
    cdef ptrdiff_t *id
    cdef Py_ssize_t kept

    cdef void keep_alive(self) noexcept nogil
    cdef Py_ssize_t best_kept(self, double *score) noexcept nogil
    cdef int run(self, double *utility, double *optimal) noexcept nogil
    cdef double best_left(self) noexcept nogil
