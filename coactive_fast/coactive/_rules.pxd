# See _rules.pyx: what other modules cimport.

cimport cython
from libc.stdint cimport int64_t

from coactive_fast._arrays cimport Matrix
from coactive_fast.convex._rules cimport Region
from coactive_fast.learner._state cimport State


cdef class WeightUpdate:
    # Invariants. n = 0: nothing is known yet and memory is NULL. Else memory holds `vectors` rows
    # of cf_pad(n) doubles, zero beyond n, owned here; w (what scores are made with) and mean are
    # two, w_next and mean_next two more that a step writes before it commits by exchanging the
    # pointers.
    # rounds counts the steps; mean is the mean of the weights after each of them.
    # A step that returns a negative status has changed nothing that can be seen.
    cdef Py_ssize_t n
    cdef int64_t rounds
    cdef Py_ssize_t vectors
    cdef double total        # of all weights before the first round, each has its share
    cdef double *memory
    cdef double *w
    cdef double *mean
    cdef double *w_next
    cdef double *mean_next
    cdef bint compiled       # step() needs no Python
    cdef Region region       # that the weights stay in, or None: a ball, or no bound
    cdef object error        # what code of the user's own raised in a step

    @cython.final
    cdef double *row(self, int i) noexcept nogil
    # The dimension is known: memory for it, or an error and nothing has changed.
    cdef int start(self, Py_ssize_t n) except -1
    cdef int step(self, const double *delta) noexcept nogil
    @cython.final
    cdef int mean_of_next(self) noexcept nogil
    @cython.final
    cdef void commit(self) noexcept nogil
    cdef dict get_state(self)
    cdef int set_state(self, State state) except -1
    # Where the dimension is known: what there is beside the weights and their mean.
    cdef dict own_state(self)
    cdef int set_own_state(self, State state) except -1


@cython.final
cdef class Perceptron(WeightUpdate):
    cdef Py_ssize_t batch
    cdef Py_ssize_t waiting    # rounds of the unfinished batch
    cdef double *sum           # their Deltas; zeros where there are none
    cdef double *sum_next

    # In place of `step` where batch = 1 and no round is waiting: the step for delta = sum over m
    # places of weight (x_plus - x_minus) without delta.
    cdef int step_places(self, Py_ssize_t m, const Matrix *x, const ptrdiff_t *plus,
                         const ptrdiff_t *minus, const double *weight) noexcept nogil
