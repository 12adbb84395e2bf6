# How a multiclass learner decides, and what it learns towards (DEFINITIONS 3).

cimport cython
cimport numpy as np

from coactive_fast.learner._state cimport State
from coactive_fast.metric._ridges cimport Lines, Policy, Ridges
from coactive_fast.rows._rows cimport Scratch


cdef class Perceptron(Lines):
    pass


@cython.final
cdef class Banditron(Lines):
    cdef double gamma

    cdef double chance(self, Py_ssize_t label, Py_ssize_t best) noexcept nogil


@cython.final
cdef class Counted(Perceptron):
    # The second-order Perceptron; the second value is a + S.
    pass


@cython.final
cdef class Arow(Lines):
    cdef double r


cdef enum Width:
    CONSTANT
    THEORY
    SELF_NORMALIZED


@cython.final
cdef class Confidit(Policy):
    # Ridge regressions of any form, the parameters of DEFINITIONS 3, and what the widths sum up.
    # Theory: q / (1 + q) of the labels learned, and the errors of the rounds so far. These are
    # numbers (`error` times the rounds), sums of an array (`errors`), or what a function has
    # answered. Self-normalised: in `logdets` log det A_i of each class, less its first value.
    cdef double alpha, eta, norm_bound
    cdef double doubt          # -log delta
    cdef Width width
    cdef bint projection, normalize
    cdef double explained
    cdef double error
    cdef np.ndarray errors     # errors[j]: of rounds 1 ... j; or None
    cdef object error_of       # round -> error, or None
    cdef double erred          # what it has answered so far, summed
    cdef object raised
    cdef np.ndarray logdets    # k; kept up while the width is self-normalised

    cdef double error_so_far(self) noexcept nogil
    cdef double factor(self) noexcept nogil
    cdef Py_ssize_t bold(self, Scratch s) noexcept nogil
    cdef int decide(self, Scratch s) noexcept nogil
    cdef int choose(self, Scratch s) noexcept nogil
    cdef double sign(self, Scratch s, bint correct) noexcept nogil
    cdef int ask_error(self, double *error) noexcept
