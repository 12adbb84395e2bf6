"""How a filter decides; see _policy.pxd."""

cimport numpy as np
from libc.math cimport INFINITY, copysign, fabs, sqrt
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from coactive_fast._arrays cimport new_doubles
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_OK, cf_get_library, cf_get_table, cf_library, cf_table,
)
from coactive_fast.learner._engine cimport Model
from coactive_fast.learner._state cimport State, vector_of
from coactive_fast.metric._single cimport linear
from coactive_fast.rows._rows cimport Scratch, place_of

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

KINDS = {"falling": FALLING, "ucb": UPPER, "dgs": TEACHER, "bbq": NOVEL, "sign": SIGN,
         "coin": COIN}


cdef class Rule:
    """A rule and its parameters.

    Parameters
    ----------
    kind : {"falling", "ucb", "dgs", "bbq", "sign", "coin"}
    tau : float
        The margin from which on all is forwarded.
    scale, delta, width, power, explore : float
        Of the rules "falling"; "ucb" and "dgs" (both `delta` and `width`); "bbq"; "coin". A
        `width` or `explore` below 0 stands for that of the theory and that of the round.
    floor : float
        The share of rounds forwarded while nothing relevant was learned.
    """

    def __init__(self, kind, *, double tau=0.0, double scale=0.0, double delta=0.5,
                 double width=-1.0, double power=0.5, double explore=0.0, double floor=0.0):
        self.kind, self.tau, self.scale, self.delta = KINDS[kind], tau, scale, delta
        self.width, self.power, self.explore, self.floor = width, power, explore, floor
        self.counts = floor > 0.0 or self.kind == TEACHER

    cdef double limit(self, Model model, Tally *tally) noexcept nogil:
        if self.kind == SIGN or self.kind == COIN:
            return self.tau
        if model.learned == 0:
            return -INFINITY
        if self.kind == NOVEL:
            return self.tau
        if self.kind == FALLING:
            return -(sqrt(self.scale * K.log_one(<double>(tally.rounds + 1)) / model.learned)
                     - self.tau)
        return -self.half_width(model, tally)

    cdef double half_width(self, Model model, Tally *tally) noexcept nogil:
        """What multiplies sqrt(q) where the width of x counts."""
        cdef double t = <double>(tally.rounds + 1)
        if self.kind == UPPER:
            if self.width >= 0.0:
                return self.width
            return (sqrt(max((<Single>model).information(), 0.0) - 2.0 * K.log_one(self.delta))
                    + 1.0)
        if self.width >= 0.0:
            return self.width * sqrt(K.log_one(1.0 + t))
        return sqrt(1.0 + 4.0 * tally.known + 36.0 * (K.log_one(t) - K.log_one(self.delta)))

    cdef double coin(self, int64_t rounds) noexcept nogil:
        """p of the round to come."""
        cdef double root
        if self.explore >= 0.0:
            return self.explore
        root = 1.0 / sqrt(<double>(rounds + 1))
        return min(0.5, 0.5 * (1.0 + root) * root)

    cdef bint decide(self, Model model, Tally *tally, bitgen_t *bits, double m,
                     double q) noexcept nogil:
        cdef double limit = self.limit(model, tally), t
        if (self.kind == UPPER or self.kind == TEACHER) and model.learned:
            if m - self.tau >= sqrt(q) * limit:
                return True
        elif m / (1.0 + q) >= limit:
            return True
        if self.kind == COIN:
            return bits.next_double(bits.state) < self.coin(tally.rounds)
        t = <double>(tally.rounds + 1)
        if self.kind == NOVEL and q / (1.0 + q) > K.exp_one(-self.power * K.log_one(t)):
            return True
        return (self.floor > 0.0 and tally.relevant == 0
                and <double>model.learned < self.floor * t)

    cdef double target(self, double m, double q, double y) noexcept nogil:
        """DGS first moves w to the nearest one (in the norm of A) of which |w.x| <= 1; what is
        learned then is the step from w itself towards another target."""
        if self.kind != TEACHER or not fabs(m) > 1.0 or not q > 0.0:
            return y
        return y - (m - copysign(1.0, m)) / q

    cdef dict told(self, Tally *tally):
        """What only some rules go by is told by those, and where there is any of it."""
        cdef dict found = {"rounds": tally.rounds}
        if tally.relevant or self.floor > 0.0:
            found["relevant"] = tally.relevant
        if tally.known or self.kind == TEACHER:
            found["known"] = tally.known
        return found

    cdef int read(self, State state, int64_t learned, Tally *tally) except -1:
        tally.rounds, tally.relevant, tally.known = state.count("rounds"), 0, 0.0
        if self.floor > 0.0 or state.has("relevant"):
            tally.relevant = state.count("relevant", 0, learned)
        if self.kind == TEACHER or state.has("known"):
            tally.known = state.number("known", 0.0, learned)
        return 0


cdef class Share(Single):
    """The share of relevant labels, less one half."""

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return 1.0

    cdef int read(self, Scratch s) noexcept nogil:
        s.q[0] = 0.0
        s.m[0] = <double>self.relevant / self.learned - 0.5 if self.learned else 0.0
        return CF_OK

    cdef int take(self, Scratch s, Py_ssize_t i, double y) noexcept nogil:
        self.relevant += y > 0.0
        self.learned += 1
        return CF_OK

    cdef dict extra(self):
        return {"relevant": self.relevant}

    cdef int take_extra(self, State state, Py_ssize_t d) except -1:
        self.relevant, self.d = state.count("relevant", 0, self.learned), d
        return 0


cdef class Perceptron(Single):
    """w += y x on a mistake."""

    def __dealloc__(self):
        L.free(self.w)

    cdef int start(self, Py_ssize_t n) except -1:
        self.w = new_doubles(2, n, f"the weights of {n} features")
        self.next = self.w + n
        return 0

    cdef int read(self, Scratch s) noexcept nogil:
        s.m[0] = s.q[0] = 0.0
        return linear(&s.row, self.w, s.m) if self.d else CF_OK

    cdef int take(self, Scratch s, Py_ssize_t i, double y) noexcept nogil:
        cdef Py_ssize_t e
        if (s.m[0] >= 0.0) != (y > 0.0):
            for e in range(s.row.nnz):
                self.next[e] = self.w[place_of(&s.row, e)] + y * s.row.value[e]
            if not K.all_finite(s.row.nnz, self.next):
                return CF_ENONFINITE
            K.ridge_place(&s.row, self.next, self.w)
        self.learned += 1
        return CF_OK

    cdef dict extra(self):
        return {"w": vector_of(self.w, self.d)}

    cdef int take_extra(self, State state, Py_ssize_t d) except -1:
        state.vector("w", d)  # vouches for d before memory is taken
        self.know(d)
        return state.load("w", d, self.w)
