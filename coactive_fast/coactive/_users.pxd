# The simulated users' decisions, for single answers and for whole simulations alike (SPEC 2).

from numpy.random cimport bitgen_t

cimport numpy as np

from coactive_fast.coactive._engine cimport Bench

cdef enum Kind:
    ALPHA          # strictly alpha-informative
    DEPTH          # noisy, looks so deep
    EXPECTED       # alpha-informative on average
    BETTER         # items: the least better rating
    BEST           # items: the best rating


cdef class Decider:
    # One user's parameters and chance. `bits` belongs to `generator`, whose lock the caller of a
    # nogil method holds where the kind draws.
    cdef Kind kind
    cdef double alpha, base
    cdef Py_ssize_t depth
    cdef readonly object generator
    cdef bitgen_t *bits

    cdef Py_ssize_t looks_at(self, Py_ssize_t k) noexcept nogil
    cdef void rank(self, Bench b, Py_ssize_t n, Py_ssize_t k, const double *utility,
                   const double *key, const double *label, double best) noexcept nogil
    cdef Py_ssize_t toss(self, double wanted, double gain, const double *gains) noexcept nogil
    cdef void draw_rankings(self, Bench b, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t pick(self, Py_ssize_t m) noexcept nogil
    cdef int answer(self, Bench b, Py_ssize_t n, Py_ssize_t places, double *utility,
                    double *key) except -1
    cdef np.ndarray utilities(self, np.ndarray a, weights)

cdef np.ndarray finite_vector(object value, str name, Py_ssize_t n, str other)
