"""The rules of online convex optimisation; see _rules.pxd."""

import numpy

cimport numpy as np
from libc.math cimport INFINITY, log, sqrt
from libc.stddef cimport size_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport as_vector, data_of, new_vector, refuse_non_finite, take_scratch
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_OK, cf_get_library, cf_get_table, cf_library, cf_pad, cf_table,
    cf_triangle_row,
)
from coactive_fast.convex._chance cimport Chance
from coactive_fast.convex._regions cimport Region, unit
from coactive_fast.metric._full cimport Full

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()


cdef double LEAST = 1e-260  # of a centre's coordinates: what must be > 0 has some room left


cdef class Rule:
    """What all rules have: the sets, and the random step of those that see losses only."""

    def __init__(self, Region whole, Region region, double delta=0.0, double gamma=0.0):
        self.n = region.n
        self.whole, self.region = whole, region
        self.delta, self.gamma = delta, gamma

    @property
    def compiled(self):
        """Whether a round calls no Python."""
        return self.region.compiled and (self.whole is None or self.whole.compiled)

    cdef int draw(self, Chance chance, const double *y, double *v) noexcept nogil:
        return self.whole.draw(chance, v)

    cdef void reach(self, const double *y, const double *v, double sign,
                    double *x) noexcept nogil:
        memcpy(x, y, <size_t>self.n * sizeof(double))
        K.axpy(self.n, sign * self.delta, v, x)

    cdef int step(self, double phi, const double *v, double t, const double *y,
                  double *y_next) noexcept nogil:
        return CF_ENONFINITE

    cdef object take_error(self):
        """What a set of one's own raised, or None."""
        cdef Region region
        found = None
        for region in (self.whole, self.region):
            if region is not None and region.error is not None:
                found, region.error = region.error, None
        return found

    def state(self):
        """What the rule keeps besides the centre."""
        return {}

    def restore(self, state):
        """The reverse, into a rule that was just made."""

    def adopt(self, Rule other):
        """The settings of another rule of this kind; the state stays."""
        self.delta, self.gamma = other.delta, other.gamma
        self.whole, self.region = other.whole, other.region


cdef class Newton(Rule):
    """A += g g^T, y <- P(y - A^-1 g / beta) in the norm of A, with g = rate phi v."""

    def __cinit__(self):
        self.g = NULL

    def __init__(self, Region whole, Region region, double rate, double beta, double epsilon, *,
                 double delta=0.0, double gamma=0.0):
        Rule.__init__(self, whole, region, delta, gamma)
        region.prepare()
        self.rate, self.beta = rate, beta
        self.metric = Full(self.n, ridge=epsilon)
        self.face = <np.ndarray>numpy.zeros(self.n, dtype=numpy.int8)
        self.face_next = <np.ndarray>numpy.zeros(self.n, dtype=numpy.int8)
        self.g = <double *>take_scratch(cf_pad(self.n), sizeof(double))

    def __dealloc__(self):
        L.free(self.g)

    @property
    def epsilon(self):
        """What A began with."""
        return self.metric.core.ridge

    cdef int step(self, double phi, const double *v, double t, const double *y,
                  double *y_next) noexcept nogil:
        cdef double f = self.rate * phi, lam = self.lam
        cdef Py_ssize_t i
        cdef int status
        for i in range(self.n):
            self.g[i] = f * v[i]
        memcpy(np.PyArray_DATA(self.face_next), np.PyArray_DATA(self.face), <size_t>self.n)
        status = self.region.newton(&self.metric.core, -1.0 / self.beta, self.g, y, y_next, &lam,
                                    <signed char *>np.PyArray_DATA(self.face_next))
        if status == CF_OK:
            self.lam = lam
            memcpy(np.PyArray_DATA(self.face), np.PyArray_DATA(self.face_next), <size_t>self.n)
        return status

    def state(self):
        return {"metric": flushed(self.metric), "lam": self.lam, "face": self.face.copy()}

    def restore(self, state):
        metric = Full.from_state(state["metric"])
        lam = float(state["lam"])
        face = numpy.asarray(state["face"])
        if (<Full>metric).core.n != self.n or (<Full>metric).core.robust or \
                not 0.0 <= lam < INFINITY:
            raise ValueError("metric and lam of the state do not fit its dimension")
        if face.shape != (self.n,) or face.dtype.kind != "i" or (abs(face) > 1).any():
            raise ValueError(f"face of the state must be {self.n} integers in -1 ... 1")
        self.metric, self.lam = metric, lam
        self.face = <np.ndarray>face.astype(numpy.int8)

    def adopt(self, Rule other):
        Rule.adopt(self, other)
        self.rate, self.beta = (<Newton?>other).rate, (<Newton?>other).beta


cdef dict flushed(Full metric):
    """The metric's state with its pending term gone into the triangle.

    Whether a term is pending depends on rounds that were refused; nothing that is computed does,
    nor on what stands above the diagonal of a panel.
    """
    cdef Full copy = Full.from_state(metric.state())
    cdef Py_ssize_t n = copy.core.n, i, j
    cdef double *row
    K.rank_one(&copy.core.b, copy.core.w)
    for i in range(n):
        copy.core.w[i] = 0.0
        row = cf_triangle_row(&copy.core.b, i)
        for j in range(i + 1, i // 8 * 8 + 8):
            row[j] = 0.0
    return copy.state()


cdef class Descent(Rule):
    """y <- P(y - rate / sqrt(t) phi v), Euclidean."""

    def __cinit__(self):
        self.z = NULL

    def __init__(self, Region whole, Region region, double rate, *, double delta=0.0,
                 double gamma=0.0):
        Rule.__init__(self, whole, region, delta, gamma)
        self.rate = rate
        self.z = <double *>take_scratch(cf_pad(self.n), sizeof(double))

    def __dealloc__(self):
        L.free(self.z)

    cdef int step(self, double phi, const double *v, double t, const double *y,
                  double *y_next) noexcept nogil:
        memcpy(self.z, y, <size_t>self.n * sizeof(double))
        K.axpy(self.n, -(self.rate / sqrt(t)) * phi, v, self.z)
        if not K.all_finite(self.n, self.z):
            return CF_ENONFINITE
        return self.region.project(self.z, y_next)

    def adopt(self, Rule other):
        Rule.adopt(self, other)
        self.rate = (<Descent?>other).rate


cdef class Barrier(Rule):
    """Log-barrier sampler of the simplex: x = y (1 + delta u), y_i = 1 / (G_i + nu)."""

    def __cinit__(self):
        self.memory = NULL

    def __init__(self, Region whole, double delta, double eta):
        cdef Py_ssize_t padded = cf_pad(whole.n), i
        Rule.__init__(self, whole, whole, delta)
        self.eta = eta
        self.nu = <double>self.n
        self.memory = <double *>L.alloc_zero(<size_t>(5 * padded), sizeof(double))
        if self.memory == NULL:
            raise MemoryError(f"5 vectors of {self.n} coordinates")
        self.G, self.G_next = self.memory, self.memory + padded
        self.a, self.r = self.memory + 2 * padded, self.memory + 3 * padded
        self.ones = self.memory + 4 * padded
        for i in range(self.n):
            self.ones[i] = 1.0

    def __dealloc__(self):
        L.free(self.memory)

    cdef int draw(self, Chance chance, const double *y, double *v) noexcept nogil:
        while True:
            chance.normals(self.n, v)
            K.axpy(self.n, -(K.dot(self.n, y, v) / K.dot(self.n, y, y)), y, v)
            if unit(self.n, v) > 0.0:
                return CF_OK

    cdef void reach(self, const double *y, const double *v, double sign,
                    double *x) noexcept nogil:
        cdef double d = sign * self.delta
        cdef Py_ssize_t i
        for i in range(self.n):
            x[i] = y[i] + d * (y[i] * v[i])

    cdef int step(self, double phi, const double *v, double t, const double *y,
                  double *y_next) noexcept nogil:
        cdef double rate = (self.n - 1) / self.delta, least, nu, sum
        cdef double f = self.eta * phi * rate, s = self.eta * self.swing * rate
        cdef bint low = False
        cdef Py_ssize_t i
        for i in range(self.n):
            self.G_next[i] = self.G[i] + f * (v[i] / y[i])
        if not K.all_finite(self.n, self.G_next):
            return CF_ENONFINITE
        least = self.G_next[0]
        for i in range(self.n):
            least = min(least, self.G_next[i])
        for i in range(self.n):
            self.G_next[i] -= least
        if not K.all_finite(self.n, self.G_next):
            return CF_ENONFINITE
        nu = self.level(self.G_next)
        K.diagonal_solve(self.n, self.a, self.ones, y_next)
        sum = K.dot(self.n, self.ones, y_next)
        for i in range(self.n):
            y_next[i] /= sum
            low |= y_next[i] < LEAST
        if low or s > t and not self.lasts(s, t, y_next):
            return CF_ENONFINITE
        self.nu = nu
        self.G, self.G_next = self.G_next, self.G
        return CF_OK

    cdef bint lasts(self, double s, double t, const double *y) noexcept nogil:
        """Whether the learner can go on from y after a step of s > t in the local norm.

        The mean of all losses has moved by 1/t of the excess, and ordinary losses lie as far from
        it: in round T that is a step of s / T, which may make 1/y_i larger by that factor as long
        as it is > 1. Together they make it larger by exp(s - t - t log(s / t)).
        """
        cdef double least = 1.0
        cdef Py_ssize_t i
        for i in range(self.n):
            least = min(least, y[i])
        return s - t - t * log(s / t) - log(least) <= -log(LEAST)  # not so where it is NaN

    cdef double level(self, const double *G) noexcept nogil:
        """nu with sum 1 / (G_i + nu) = 1 (1 <= nu <= n); a = G + nu.

        The sum is convex and falls: Newton from the left climbs to the root, and its first step
        from the right leads to the left. It ends where rounding stops the climb.
        """
        cdef double nu = min(max(self.nu, 1.0), <double>self.n), next
        cdef double excess
        cdef Py_ssize_t i, turn
        for turn in range(100):
            for i in range(self.n):
                self.a[i] = G[i] + nu
            K.diagonal_solve(self.n, self.a, self.ones, self.r)
            excess = K.dot(self.n, self.ones, self.r) - 1.0
            next = max(nu + excess / K.dot(self.n, self.r, self.r), 1.0)
            if turn > 0 and not next > nu * (1.0 + 2e-16):
                break
            nu = next
        return nu

    def state(self):
        cdef np.ndarray G = new_vector(self.n)
        memcpy(data_of(G), self.G, <size_t>self.n * sizeof(double))
        return {"G": G, "nu": self.nu}

    def restore(self, state):
        cdef np.ndarray G = as_vector(state["G"], "G")
        nu = float(state["nu"])
        if np.PyArray_DIM(G, 0) != self.n or not 1.0 <= nu <= self.n:
            raise ValueError("G and nu of the state do not fit its dimension")
        refuse_non_finite(G, "G")
        memcpy(self.G, data_of(G), <size_t>self.n * sizeof(double))
        self.nu = nu

    def adopt(self, Rule other):
        Rule.adopt(self, other)
        self.eta = (<Barrier?>other).eta
