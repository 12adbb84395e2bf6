# The engine of a filter, and whole streams through it.

cimport cython
cimport numpy as np
from libc.stdint cimport int64_t

from coactive_fast._table cimport CF_OK
from coactive_fast.filtering._fit cimport Fit
from coactive_fast.filtering._policy cimport TEACHER, Rule, Tally
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._engine cimport Model, RowEngine
from coactive_fast.learner._run cimport RowRun
from coactive_fast.learner._state cimport State
from coactive_fast.metric._single cimport TopicRidge
from coactive_fast.rows._rows cimport Rows, Scratch


cdef class FilterEngine(RowEngine):
    cdef Rule rule
    cdef Tally tally
    cdef Fit fit               # of what was learned on its margins, or None

    cdef Chance chance_of(self, State state)
    cdef double read_row(self, Scratch s) except? -1.0
    cdef int look_at_row(self, Scratch s) except -1
    cdef int take_label(self, Scratch s, double y) except -1
    cdef int make_room(self, Scratch s) except -1

    # These two after a look at the row; inline, because a step may take no more than 100 ns.
    cdef inline bint has_room(self, Scratch s) noexcept nogil:
        """Whether `take` can do without `make_room`."""
        return self.model.has_room(s) and (self.fit is None or self.fit.has_room())

    cdef inline int take(self, Scratch s, double y) noexcept nogil:
        """The step by one example, and what the rules go by."""
        cdef double m = s.m[0], q = s.q[0]
        cdef int status
        if not self.rule.counts and self.fit is None:
            return self.model.take(s, 0, y)
        status = self.model.take(s, 0, self.rule.target(m, q, y))
        if status != CF_OK:
            return status
        if self.rule.floor > 0.0:
            self.tally.relevant += y > 0.0
        if self.rule.kind == TEACHER:
            self.tally.known += q / (1.0 + q)
        if self.fit is not None:
            self.fit.add(m / (1.0 + q), y > 0.0)
        return status


cdef class TastingEngine(FilterEngine):
    # A coin over a classifier of the user's; the model of this engine does nothing but count what
    # was learned. `compiled`: margin and learn of the classifier are those of this package.
    cdef object given
    cdef readonly object classifier
    cdef bint compiled

    cdef FilterEngine inner(self)
    cdef double ask(self, object x) except? -1.0
    cdef bint toss(self, double margin) except -1
    cdef int teach(self, object x, bint relevant) except -1


@cython.final
cdef class Stream:
    # Checked rows, which several runs may read at once.
    cdef Rows rows
    cdef object given          # as they came


@cython.final
cdef class FilterRun(RowRun):
    cdef Stream stream
    cdef object table          # the rows for loops that are Python's, made when there is one
    cdef np.ndarray relevant, forwarded, margins, projection
    cdef bint full
    cdef bint teaching         # rows are learned, no rounds played
    cdef bint decided          # the round `done` was decided, but is not over
    cdef bint over             # it is a call of Python's, and is over
    # Of the engine's coin: the generator at the last `begin`, how often rounds that are over have
    # drawn since, and whether the round `done` has.
    cdef object before
    cdef Py_ssize_t tosses
    cdef bint tossed
    cdef FilterEngine target   # whose model is at work; None: the rounds are calls of Python's
    cdef bint unknown          # that model did not know its dimension
    cdef Py_ssize_t base       # the first row of those looked at ahead
    cdef Py_ssize_t ready      # how many they are

    cdef FilterEngine target_of(self, FilterEngine engine)
    cdef int one(self, FilterEngine engine, Scratch s) noexcept nogil
    cdef int decide(self, FilterEngine engine, Scratch s, Py_ssize_t t) noexcept nogil
    cdef void count(self, FilterEngine engine) noexcept nogil
    cdef int call(self, TastingEngine engine) except -1


@cython.final
cdef class TopicsRun(RowRun):
    cdef np.ndarray relevant, margins
    cdef double tau
    cdef TopicRidge topics
    cdef Py_ssize_t base, ready
    cdef bint decided

    cdef int one(self, TopicRidge model, Scratch s) noexcept nogil
