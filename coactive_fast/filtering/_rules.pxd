# See _rules.pyx: what other modules cimport.

cimport cython
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from coactive_fast.learner._engine cimport Form

cdef struct Tally:
    # What decisions go by besides the form.
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
cdef class Decision:
    # Never changed: another one replaces it.
    cdef Kind kind
    cdef double tau            # the margin from which on a forward is worth its cost
    cdef double scale          # of the falling threshold
    cdef double delta          # of UPPER and TEACHER
    cdef double width          # of both: what multiplies sqrt(q); < 0: by the theory
    cdef double power          # of NOVEL
    cdef double explore        # p of the coin; < 0: by the round
    cdef double floor          # share of rounds forwarded while nothing relevant was learned
    cdef bint counts           # whether what is learned is counted in a Tally

    # The threshold of the round to come.
    cdef double threshold(self, Form form, Tally *tally) noexcept nogil
    # Whether what has these readings is forwarded; the coin is drawn below the threshold alone.
    cdef bint decide(self, Form form, Tally *tally, bitgen_t *rng, double m,
                     double q) noexcept nogil
    # Whether it draws the coin for that.
    cdef inline bint tosses(self, double m, double q) noexcept nogil:
        return self.kind == COIN and not m / (1.0 + q) >= self.tau

    # What an example of these readings is learned as.
    cdef double target(self, double m, double q, double y) noexcept nogil
    cdef double half_width(self, Form form, Tally *tally) noexcept nogil
    cdef double exploration_probability(self, int64_t rounds) noexcept nogil

