# The engines of online convex optimisation: the centre, the point asked for, the rounds.

from libc.stdint cimport int64_t

cimport numpy as np

from coactive_fast.convex._chance cimport Chance
from coactive_fast.convex._losses cimport Rows
from coactive_fast.convex._rules cimport Rule
from coactive_fast.learner._engine cimport Engine, Ticker

cdef enum Pending:
    NOTHING
    ONE                        # a point was asked for
    PAIR                       # two were


cdef class ConvexEngine(Engine):
    # y is the centre; a round writes y_next and exchanges the pointers. All vectors have n doubles
    # in one piece of memory, owned here.
    cdef readonly Rule rule
    cdef object make           # () -> a fresh rule
    cdef np.ndarray origin     # the first centre
    cdef Py_ssize_t n
    cdef int64_t t             # rounds told
    cdef Pending pending
    cdef double *memory
    cdef double *y
    cdef double *y_next
    cdef double *v             # the direction of the pending point
    cdef double *x             # scratch of a run: the point, or the gradient

    cdef int expect(self, Pending wanted) except -1
    cdef int move(self, double phi, const double *v) noexcept nogil
    cdef int played(self, Rows losses, Py_ssize_t t, double *loss, double *m) noexcept nogil
    cdef int round(self, double phi, double loss, const double *v) noexcept nogil
    cdef int borrow(self) except -1
    cdef int give_back(self) except -1
    cdef int carry_out(self, double phi, double loss, const double *v, str what) except -1
    cdef int blame(self, int status, str what) except -1
    cdef int judge(self, int status, str what) except -1
    cdef int take_state(self, dict state, Rule rule) except -1


cdef class GradientEngine(ConvexEngine):
    pass


cdef class BanditEngine(ConvexEngine):
    cdef Chance chance
    cdef double bound          # on the losses
    cdef bint baseline
    cdef double mean           # of the losses so far
    cdef double largest        # of this round's losses, absolute
    cdef bint bound_named      # that a loss was beyond it

    cdef int pend(self, Pending kind) except -1
    cdef int learn(self, double phi, double loss, double largest) except -1
    cdef int learn_beyond(self, double phi, double loss, double largest) except -1
    cdef np.ndarray point(self, double sign)


cdef class Run:
    # One run against compiled losses, and its record.
    cdef Rows losses
    cdef np.ndarray loss, mistakes
    cdef readonly Py_ssize_t done
    cdef Py_ssize_t total

    cdef int rounds(self, ConvexEngine engine, Ticker ticker) noexcept nogil
    cdef void note(self, double loss, double m) noexcept nogil
