# The engines of online convex optimisation: the centre, the point asked for, the rounds.

from libc.stdint cimport int64_t

cimport cython
cimport numpy as np

from coactive_fast.convex._rules cimport Losses, Rule
from coactive_fast.learner._engine cimport Engine
from coactive_fast.learner._run cimport Run

cdef enum Pending:
    NOTHING
    ONE                        # a point was asked for
    PAIR                       # two were


# What is subtracted from a loss before the step: known before the direction is drawn.
cdef enum Subtracted:
    NONE
    MEAN                       # of all losses before
    PREVIOUS                   # that of the round before


cdef class ConvexEngine(Engine):
    # y is the centre; a round writes y_next and exchanges the pointers. All vectors have n doubles
    # in one piece of memory, owned here. While `pending` is not NOTHING and there is a chance, v
    # is a direction that it has drawn.
    cdef readonly Rule rule
    cdef object make           # () -> a fresh rule
    cdef np.ndarray origin     # the first centre
    cdef Py_ssize_t n
    cdef int64_t t             # rounds that were told
    cdef Pending pending
    cdef double *memory
    cdef double *y
    cdef double *y_next
    cdef double *v             # the direction of the pending point
    cdef double *x             # scratch of a run: the point, or the gradient

    cdef int expect(self, Pending wanted) except -1
    cdef void commit(self) noexcept nogil
    # One round with all that goes with it; a negative status has changed nothing.
    cdef int round(self, double phi, double loss, const double *v) noexcept nogil
    # One round of a run: ask, look the loss of row i up, tell.
    cdef int played(self, Losses losses, Py_ssize_t i, double *loss, double *m) noexcept nogil
    cdef int carry_out(self, double phi, double loss, const double *v, str what) except -1
    cdef int blame(self, int status, str what) except -1
    cdef int judge(self, int status, str what) except -1
    # What a round against losses of one's own tells.
    cdef object seen(self, losses, Py_ssize_t t, x, double loss)


@cython.final
cdef class GradientEngine(ConvexEngine):
    pass


@cython.final
cdef class BanditEngine(ConvexEngine):
    cdef double bound          # on the losses
    cdef Subtracted subtracted
    cdef double mean           # of the losses so far
    cdef double previous       # the last loss, kept while it is subtracted; NaN: none
    cdef double largest        # of this round's losses, absolute
    cdef bint bound_named      # that a loss was beyond it

    cdef double excess(self, double loss) noexcept nogil
    cdef int pend(self, Pending kind) except -1
    cdef np.ndarray point(self, double sign)
    cdef int learn(self, Pending asked, double plus, double minus) except -1
    cdef int attempt(self, Rule rule, double phi, double loss, double *mean) noexcept nogil
    cdef int warn_beyond(self, double phi, double loss) except -1


@cython.final
cdef class ConvexRun(Run):
    # One run against losses, and its record.
    cdef object losses
    cdef object value          # (t, x) -> the loss
    cdef Losses rows           # the losses where they are compiled, and the engine is; else None
    cdef np.ndarray loss, mistakes

    cdef void note(self, Py_ssize_t i, double loss, double m) noexcept nogil
