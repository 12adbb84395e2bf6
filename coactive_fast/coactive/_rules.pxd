# The update rules: what a round's Delta = phi(better) - phi(presented) does to w (DEFINITIONS 2).

cimport numpy as np
from libc.stdint cimport int64_t

from coactive_fast.convex._rules cimport Region
from coactive_fast.learner._state cimport State
from coactive_fast.metric._full cimport Full


cdef struct Matrix:
    # Rows of float64 or (floats) float32 in memory that others own, `step` numbers apart.
    Py_ssize_t n, d, step
    bint floats
    const char *rows


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
    cdef int adopt(self, Rule other) except -1
    cdef dict told(self)
    cdef int restore(self, State state) except -1
    cdef dict extra(self)
    cdef int take_extra(self, State state) except -1


cdef class Perceptron(Rule):
    cdef Py_ssize_t batch
    cdef Py_ssize_t waiting    # rounds of the unfinished batch
    cdef double *sum           # their Deltas; zeros where there are none
    cdef double *sum_next


cdef class Record(Rule):
    cdef np.ndarray weights, out


cdef class Exponentiated(Rule):
    cdef double scale
    cdef double horizon        # 0: the variable rate
    cdef bint is_signed
    cdef double *theta         # log weights
    cdef double *theta_next


cdef class Bounded(Rule):
    # A rule whose weights stay in a set: the ball of `radius`, or `feasible` where that is given.
    cdef double radius
    cdef object feasible       # None: the ball
    cdef Region region         # of `feasible`, once the dimension is known


cdef class Convex(Bounded):
    cdef double slope
    cdef double *moved         # the weights before they are projected on `feasible`


cdef class SecondOrder(Bounded):
    cdef double gamma, epsilon
    cdef bint deferred
    cdef double lam            # the last multiplier: where the next search begins
    cdef np.ndarray face       # the same in `feasible`: int8, as in cf_faces.h
    cdef np.ndarray face_next
    cdef double *y             # the point that moves; deferred: w is its projection, else it is w
    cdef double *y_next
    cdef double *turned        # deferred: Delta without its outward part; else Delta scaled
    cdef Full metric           # A, from epsilon I
    cdef double *scratch

    cdef int move(self, const double *delta, double *lam) noexcept nogil
    cdef void still(self) noexcept nogil
    cdef const double *inward(self, const double *delta) noexcept nogil
    cdef void nearest(self, const double *y, double *w) noexcept nogil


cdef class Custom(Rule):
    cdef object rule
    cdef dict kept
    cdef object beside         # more that belongs to the state, or None: see `Custom.extra`
    cdef object error          # what the user's rule raised

    cdef int ask(self, const double *delta) noexcept
