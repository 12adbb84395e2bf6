# See _rules.pyx: what other modules cimport.

cimport cython
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from coactive_fast.learner._engine cimport Form
from coactive_fast.learner._state cimport State

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
    cdef double limit(self, Form form, Tally *tally) noexcept nogil
    # Whether what has these readings is forwarded; the coin is drawn below the threshold alone.
    cdef bint decide(self, Form form, Tally *tally, bitgen_t *bits, double m,
                     double q) noexcept nogil
    # Whether it draws the coin for that.
    cdef inline bint tosses(self, double m, double q) noexcept nogil:
        return self.kind == COIN and not m / (1.0 + q) >= self.tau

    # What an example of these readings is learned as.
    cdef double target(self, double m, double q, double y) noexcept nogil
    # What a state says of the tally, and back, checked.
    cdef dict get_state(self, Tally *tally)
    cdef int read(self, State state, int64_t learned, Tally *tally) except -1
    cdef double half_width(self, Form form, Tally *tally) noexcept nogil
    cdef double coin(self, int64_t rounds) noexcept nogil
