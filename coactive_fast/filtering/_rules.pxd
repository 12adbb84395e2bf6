# See _rules.pyx: what other modules cimport.

cimport cython
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from coactive_fast._table cimport CF_OK
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._engine cimport Model, RowEngine
from coactive_fast.learner._state cimport State
from coactive_fast.rows._rows cimport Scratch

cdef struct Tally:
    # What rules go by besides the model.
    int64_t rounds
    int64_t relevant           # examples learned that were relevant, since a floor was asked for
    double known               # sum of q / (1 + q) of what TEACHER learned

cdef enum Kind:
    FALLING      # margin >= tau - sqrt(scale ln t / N)
    UPPER        # w.x and its width together >= tau
    TEACHER      # the same with the width of DGS
    NOVEL        # margin >= tau, or q / (1 + q) > t^-power (BBQ)
    SIGN         # margin >= tau
    COIN         # margin >= tau, else by chance


@cython.final
cdef class Rule:
    # Never changed: another rule replaces it.
    cdef Kind kind
    cdef double tau            # the margin from which on a forward is worth its cost
    cdef double scale          # of the falling threshold
    cdef double delta          # of the rules UPPER and TEACHER
    cdef double width          # of both: what multiplies sqrt(q); < 0: by the theory
    cdef double power          # of the rule NOVEL
    cdef double explore        # p of the coin; < 0: by the round
    cdef double floor          # share of rounds forwarded while nothing relevant was learned
    cdef bint counts           # whether what is learned is counted in a Tally

    # The threshold of the round to come.
    cdef double limit(self, Model model, Tally *tally) noexcept nogil
    # Whether what has these readings is forwarded; the coin is drawn below the threshold alone.
    cdef bint decide(self, Model model, Tally *tally, bitgen_t *bits, double m,
                     double q) noexcept nogil
    # Whether it draws the coin for that.
    cdef inline bint tosses(self, double m, double q) noexcept nogil:
        return self.kind == COIN and not m / (1.0 + q) >= self.tau

    # What an example of these readings is learned as.
    cdef double target(self, double m, double q, double y) noexcept nogil
    # What a state says of the tally, and back, checked.
    cdef dict told(self, Tally *tally)
    cdef int read(self, State state, int64_t learned, Tally *tally) except -1
    cdef double half_width(self, Model model, Tally *tally) noexcept nogil
    cdef double coin(self, int64_t rounds) noexcept nogil


@cython.final
cdef class Fit:
    # Invariants. `n` examples in margin and label (0 or 1), `room` for more; the first `fitted` of
    # them are in ascending order of the margin. knot and value have `knots` entries: the fit of
    # those, whose knots ascend strictly. What is in order and what is fitted is a cache: the state
    # is the examples, in whatever order.
    cdef double *margin        # owned, as the next one; label stands behind it
    cdef double *label
    cdef double *knot
    cdef double *value
    cdef double *weight        # scratch of `pool`, as the next one
    cdef double *span
    cdef Py_ssize_t n, room, fitted, knots, knot_room

    cdef bint has_room(self) noexcept nogil
    cdef int make_room(self) except -1
    cdef int take_room(self, Py_ssize_t room) except -1
    cdef void add(self, double margin, bint relevant) noexcept nogil
    cdef void clear(self) noexcept
    # The fit of all examples: O(n) and O(new log new).
    cdef int refresh(self) except -1
    cdef void pool(self) noexcept nogil
    # The fit at a margin, after `refresh`; (1 + margin) / 2 in [0, 1] while nothing was learned.
    cdef double at(self, double margin) noexcept nogil
    cdef dict told(self)

    @staticmethod
    cdef Fit restored(State state, Py_ssize_t learned)


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
