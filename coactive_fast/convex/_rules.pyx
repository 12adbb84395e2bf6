"""The rules of online convex optimisation, and the feasible sets they know; see _rules.pxd."""

import numpy

cimport numpy as np
from libc.math cimport fabs, isfinite, log, sqrt
from libc.stddef cimport size_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport (
    as_count, as_vector, data_of, finite_vector, new_doubles, new_vector, product_of, refuse,
    refuse_length, refuse_non_finite, take_scratch,
)
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_EVALUE, CF_FULL_AUTO, CF_LOSS_LOGISTIC, CF_LOSS_RETURN, CF_LOSS_SQUARED,
    CF_OK, CF_REGION_BALL, CF_REGION_BOX, CF_REGION_L1, CF_REGION_SIMPLEX, cf_full, cf_get_library,
    cf_get_table, cf_library, cf_pad, cf_region_kind, cf_table, cf_triangle, cf_triangle_row,
)
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._state cimport State, vector_of
from coactive_fast.metric._full cimport Full
from coactive_fast.rows._rows cimport table_of

from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.convex._sets import Ball, Box, L1Ball, Shrunk, Simplex

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

include "_regions.pxi"

KINDS = {"squared": CF_LOSS_SQUARED, "logistic": CF_LOSS_LOGISTIC, "return": CF_LOSS_RETURN}

cdef double LEAST = 1e-260  # of a centre's coordinates: what must be > 0 has some room left
cdef double SAME = 1e-6     # relative: what of a state follows from the rest of it


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

    cdef dict told(self):
        return {}

    cdef int restore(self, State state, Py_ssize_t t, const double *y) except -1:
        return 0

    cdef int look_at(self, State state, const double *y, const double *v, double *x,
                     double *scratch) except -1:
        if not self.region.holds(y, scratch):
            state.refuse("y", "a point of the set that centres lie in")
        if v != NULL and self.whole is not None:
            self.reach(y, v, 1.0, x)
            if not (is_unit(self.n, v) and self.whole.holds(x, scratch)):
                state.refuse("v", "a direction of length 1 that does not leave the feasible set")
        return 0

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
        refuse_beyond_limit(30.0 * self.n * self.n, f"dimension={self.n}, with a matrix",
                            "OGD and OGDEG take a few vectors")
        product_of(self.n, 4 * self.n, "a matrix")
        region.prepare()
        self.rate, self.beta = rate, beta
        self.metric = Full(self.n, ridge=epsilon)
        self.face = <np.ndarray>numpy.zeros(self.n, dtype=numpy.int8)
        self.face_next = <np.ndarray>numpy.zeros(self.n, dtype=numpy.int8)
        self.g = new_doubles(1, cf_pad(self.n), "a gradient")

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

    cdef dict told(self):
        return {"metric": flushed(self.metric), "lam": self.lam, "face": self.face.copy()}

    cdef int restore(self, State state, Py_ssize_t t, const double *y) except -1:
        cdef double lam = state.number("lam", 0.0)
        cdef np.ndarray face = state.counts("face", self.n, -1, 1)
        cdef State part = state.part("metric")
        part.count("n", self.n, self.n)
        part.count("updates", 0, t)
        metric = <Full?>Full.from_state(part.given)
        (<Full>metric)._ask_for(CF_FULL_AUTO)
        self.metric, self.lam = metric, lam
        self.face = <np.ndarray>face.astype(numpy.int8)
        return 0

    def adopt(self, Rule other):
        Rule.adopt(self, other)
        self.rate, self.beta = (<Newton?>other).rate, (<Newton?>other).beta


cdef dict flushed(Full metric):
    """The metric's state with its pending term gone into the triangle.

    Whether a term is pending depends on rounds that were refused; nothing that is computed does,
    nor on what stands above the diagonal of a panel.
    """
    cdef Full copy = Full.from_state(metric.state())
    if copy.core.robust:  # it has no pending term
        return copy.state()
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
        self.z = new_doubles(1, cf_pad(self.n), "a step")

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
        self.memory = new_doubles(5, padded, "the barrier's vectors")
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

    cdef dict told(self):
        return {"G": vector_of(self.G, self.n), "nu": self.nu}

    cdef int restore(self, State state, Py_ssize_t t, const double *y) except -1:
        cdef Py_ssize_t i
        self.nu = state.number("nu", 1.0, self.n)
        state.load("G", self.n, self.G)
        for i in range(self.n):
            if not (self.G[i] >= 0.0 and y[i] > 0.0
                    and fabs(y[i] * (self.G[i] + self.nu) - 1.0) <= SAME):
                state.refuse("G", "such that y = 1 / (G + nu)")
        return 0

    def adopt(self, Rule other):
        Rule.adopt(self, other)
        self.eta = (<Barrier?>other).eta


# --- losses -----------------------------------------------------------------------------------


cdef class Losses:
    """Rows, labels, and the loss of a prediction.

    Parameters
    ----------
    kind : {"squared", "logistic", "return"}
    Z : array_like or scipy.sparse, shape (n, d)
        Copied; sparse is made dense.
    y : array_like of shape (n,) or None
        Copied.
    """

    def __init__(self, str kind, Z, y):
        self.Z = <np.ndarray>numpy.array(table_of(Z, "Z"), dtype=numpy.float64, order="C")
        self.n, self.d = np.PyArray_DIM(self.Z, 0), np.PyArray_DIM(self.Z, 1)
        if self.n == 0 or self.d == 0:
            raise ValueError("Z must have at least one row and one column, got shape "
                             f"{(<object>self.Z).shape}")
        refuse_non_finite(self.Z, "Z")
        self.kind = KINDS[kind]
        self.y = <np.ndarray>(numpy.zeros(self.n) if y is None else finite_vector(
            y, "y", self.n, "the rows of Z").copy())
        if self.kind == CF_LOSS_LOGISTIC and not self.signs:
            raise ValueError("y must be -1 or +1 everywhere")
        for array in (self.Z, self.y):
            array.setflags(write=False)

    @property
    def signs(self):
        """Whether every label is -1 or +1."""
        return bool((numpy.abs(self.y) == 1.0).all())

    # --- of a run -----------------------------------------------------------------------------

    cdef double value(self, Py_ssize_t i, const double *x, double *m) noexcept nogil:
        """The loss at x, and the prediction; not finite where either overflows."""
        m[0] = K.dot(self.d, data_of(self.Z) + i * self.d, x)
        return L.loss_value(K, self.kind, m[0], data_of(self.y)[i])

    cdef void gradient(self, Py_ssize_t i, double m, double *g) noexcept nogil:
        cdef Py_ssize_t j
        cdef double slope = L.loss_slope(K, self.kind, m, data_of(self.y)[i])
        cdef const double *z = data_of(self.Z) + i * self.d
        for j in range(self.d):
            g[j] = slope * z[j]

    cdef bint wrong(self, Py_ssize_t i, double m) noexcept nogil:
        return (m >= 0.0) != (data_of(self.y)[i] > 0.0)

    # --- single calls -------------------------------------------------------------------------

    cdef double at(self, t, x, Py_ssize_t *i, double *m) except? -1.0:
        """The loss, the row's number and the prediction, all arguments checked."""
        cdef np.ndarray point = as_vector(x, "x")
        cdef double loss
        i[0] = as_count(t, "t") % self.n
        if np.PyArray_DIM(point, 0) != self.d:
            refuse_length(np.PyArray_DIM(point, 0), "x", self.d, "a row of Z")
        loss = self.value(i[0], data_of(point), m)
        if not (isfinite(loss) and isfinite(m[0])):
            refuse_non_finite(point, "x")
            raise ValueError("the loss at x overflows")
        return loss

    def value_at(self, t, x):
        cdef Py_ssize_t i
        cdef double m
        return self.at(t, x, &i, &m)

    def gradient_at(self, t, x):
        cdef Py_ssize_t i
        cdef double m
        cdef np.ndarray g = new_vector(self.d)
        self.at(t, x, &i, &m)
        self.gradient(i, m, data_of(g))
        if not K.all_finite(self.d, data_of(g)):
            raise ValueError("the gradient at x overflows")
        return g

    def wrong_at(self, t, x):
        cdef Py_ssize_t i
        cdef double m
        self.at(t, x, &i, &m)
        return bool(self.wrong(i, m))
