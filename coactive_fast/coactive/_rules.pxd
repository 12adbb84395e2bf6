# See _rules.pyx: what other modules cimport.

from libc.stdint cimport int64_t

from coactive_fast._arrays cimport Matrix
from coactive_fast.learner._state cimport State


cdef class Rule:
    # Invariants. n = 0: nothing is known yet and memory is NULL. Else memory holds `vectors` rows
    # of cf_pad(n) doubles, zero beyond n, owned here; w (what scores are made with) and mean are
    # two, w_next and mean_next two more that a step writes before it commits by exchanging the
    # pointers.
    # rounds counts the steps; mean is the mean of the weights after each of them.
    # A step that answers a negative status has changed nothing that can be seen.
    cdef Py_ssize_t n
    cdef int64_t rounds
    cdef double *memory
    cdef double *w
    cdef double *mean
    cdef double *w_next
    cdef double *mean_next
    cdef bint compiled       # step() needs no Python

    cdef int vectors(self) noexcept
    cdef double initial(self, Py_ssize_t n) noexcept nogil   # every weight before the first round
    # The dimension is known: memory for it, or an error and nothing has changed.
    cdef int start(self, Py_ssize_t n) except -1
    cdef void lay_out(self) noexcept
    cdef double *row(self, int i) noexcept
    cdef int step(self, const double *delta) noexcept nogil
    # The step for delta = sum over m places of weight (x_plus - x_minus) without delta, where the
    # rule can: `direct` says so for the round to come.
    cdef bint direct(self) noexcept nogil
    cdef int step_places(self, Py_ssize_t m, const Matrix *x, const ptrdiff_t *plus,
                         const ptrdiff_t *minus, const double *weight) noexcept nogil
    cdef int mean_of_next(self) noexcept nogil
    cdef void commit(self) noexcept nogil
    cdef int fail(self, int status, str what) except -1      # raises what the status means
    cdef dict told(self)
    cdef int restore(self, State state) except -1
    cdef dict extra(self)
    cdef int take_extra(self, State state) except -1


cdef class Perceptron(Rule):
    cdef Py_ssize_t batch
    cdef Py_ssize_t waiting    # rounds of the unfinished batch
    cdef double *sum           # their Deltas; zeros where there are none
    cdef double *sum_next
