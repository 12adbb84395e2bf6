# A run over rankings, which the dueling bandit's extends.

cimport numpy as np

from coactive_fast.coactive._engine cimport Bench, CoactiveEngine
from coactive_fast.coactive._users cimport Decider
from coactive_fast.learner._engine cimport Ticker


cdef class RankingRun:
    cdef np.ndarray features, relevance, offsets, order, weights, own
    cdef Decider user
    cdef np.ndarray utility, optimal
    cdef readonly Py_ssize_t done
    cdef Py_ssize_t k, d
    cdef bint floats
    cdef Bench bench           # for the user; the learner has its own

    cdef const char *rows_of(self, Py_ssize_t query) noexcept nogil
    # Before and after the rounds between two pauses, with the learner's lock held.
    cdef int begin(self, CoactiveEngine engine) except -1
    cdef int end(self, int status) except -1
    cdef int rounds(self, CoactiveEngine engine, Ticker ticker, Py_ssize_t total) noexcept nogil
    cdef int one(self, CoactiveEngine engine, Py_ssize_t query, Py_ssize_t next_query,
                 Py_ssize_t t) noexcept nogil
    cdef int improve(self, Py_ssize_t query, const double *key, double best) noexcept nogil
    cdef void score_rows(self, Py_ssize_t query, Py_ssize_t n, const double *w,
                         double *out) noexcept nogil
