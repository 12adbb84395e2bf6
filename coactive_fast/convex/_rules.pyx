"""Feasible sets, the steps of convex learners, their engines and runs (DEFINITIONS 5)."""

import warnings

import numpy

cimport cython
cimport numpy as np
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport NAN, fabs, isfinite, isnan, log, sqrt
from libc.stddef cimport size_t
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport (
    as_count, as_number, data_of, finite_vector, is_plain_vector, new_doubles, new_vector,
    product_of, refuse, take_scratch,
)
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_EVALUE, CF_FULL_AUTO, CF_LOSS_LOGISTIC, CF_LOSS_RETURN, CF_LOSS_SQUARED,
    CF_OK, CF_REGION_BALL, CF_REGION_BOX, CF_REGION_L1, CF_REGION_SIMPLEX, cf_get_library,
    cf_get_table, cf_library, cf_pad, cf_region, cf_region_kind, cf_table, cf_triangle,
    cf_triangle_row,
)
from coactive_fast.learner._engine cimport Engine
from coactive_fast.learner._run cimport ASIDE, Run
from coactive_fast.learner._state cimport State, opened, vector_of
from coactive_fast.metric._forms cimport settled
from coactive_fast.metric._metrics cimport Stored
from coactive_fast.rows._rows cimport written_out

from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.metric._metrics import Full
from coactive_fast.convex._history import ConvexHistory
from coactive_fast.convex._sets import Ball, Box, L1Ball, Shrunk, Simplex
from coactive_fast.learner._check import number
from coactive_fast.rows._rows import table

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()


# --- feasible sets as the engines read them; cf_region.h --------------------------------------

cdef double UNIT = 1e-9  # how far from 1 rounding may take the length of a direction
cdef double NEAR = 1e-6  # relative to a point: how far outside its set it may have been written


cdef bint is_unit(Py_ssize_t n, const double *v) noexcept nogil:
    return fabs(sqrt(K.dot(n, v, v)) - 1.0) <= UNIT


cdef void fill_square(const double *triangle, np.ndarray out) noexcept:
    """Both halves of a symmetric matrix in panels."""
    cdef Py_ssize_t n = np.PyArray_DIM(out, 0), i, j
    cdef cf_triangle b
    b.data, b.n, b.ld = <double *>triangle, n, 0
    for i in range(n):
        for j in range(i + 1):
            data_of(out)[i * n + j] = data_of(out)[j * n + i] = cf_triangle_row(&b, i)[j]


cdef class Region:
    def __dealloc__(self):
        L.free(self.room)

    cdef int prepare(self) except -1:
        """Room for `newton`."""
        if self.room == NULL:
            self.room = <double *>take_scratch(self.needed, sizeof(double))
        return 0

    cdef int project(self, const double *z, double *w) noexcept nogil:
        return CF_EVALUE

    cdef int newton(self, cf_full *A, double gain, const double *g, const double *y, double *w,
                    double *lam, signed char *face) noexcept nogil:
        return CF_EVALUE

    cdef bint holds(self, const double *z, double *scratch) noexcept nogil:
        return True

    cdef int draw(self, Chance chance, const double *y, double *v) noexcept nogil:
        return CF_EVALUE


cdef class BuiltIn(Region):
    """One of the sets of this package: everything in C."""

    cdef cf_region set
    cdef np.ndarray lower, upper    # of a box: what `set` points to
    cdef np.ndarray ones
    cdef bint local                 # directions are orthogonal to y, not to the set's normal
    cdef double *scratch

    def __init__(self, Py_ssize_t n, cf_region_kind kind, double total, *, double floor=0.0,
                 span=None):
        self.n, self.compiled, self.needed = n, True, L.region_newton_scratch(n)
        self.set.n, self.set.kind, self.set.total, self.set.floor = n, kind, total, floor
        if span is not None:
            self.lower, self.upper = (numpy.array(limit) for limit in span)
            self.set.lower, self.set.upper = data_of(self.lower), data_of(self.upper)
        self.ones = <np.ndarray>numpy.ones(n)
        self.scratch = <double *>take_scratch(L.region_scratch(n), sizeof(double))

    def __dealloc__(self):
        L.free(self.scratch)

    cdef int project(self, const double *z, double *w) noexcept nogil:
        return L.region_project(&self.set, K, z, w, self.scratch)

    cdef int newton(self, cf_full *A, double gain, const double *g, const double *y, double *w,
                    double *lam, signed char *face) noexcept nogil:
        return L.region_newton(&self.set, A, K, gain, g, y, w, lam, face, self.room)

    cdef bint holds(self, const double *z, double *scratch) noexcept nogil:
        cdef double largest = 1.0
        cdef Py_ssize_t i
        if self.project(z, scratch) != CF_OK:
            return False
        for i in range(self.n):
            largest = max(largest, fabs(z[i]))
        for i in range(self.n):
            if not fabs(scratch[i] - z[i]) <= NEAR * largest:
                return False
        return True

    cdef int draw(self, Chance chance, const double *y, double *v) noexcept nogil:
        cdef const double *normal = y if self.local else data_of(self.ones)
        cdef double norm = 0.0
        cdef Py_ssize_t i
        while not norm > 0.0:  # a length of 0 has probability 0
            chance.normals(self.n, v)
            if self.set.kind == CF_REGION_SIMPLEX:
                K.axpy(self.n, -(K.dot(self.n, normal, v) / K.dot(self.n, normal, normal)),
                       normal, v)
            norm = sqrt(K.dot(self.n, v, v))
        norm = 1.0 / norm
        for i in range(self.n):
            v[i] *= norm
        return CF_OK


cdef class Own(Region):
    """A set of the user's own: an object with the methods of `FeasibleSet`."""

    cdef object feasible

    def __init__(self, Py_ssize_t n, feasible):
        self.n, self.needed = n, cf_pad(n) + L.full_scratch(n)
        self.feasible = feasible

    cdef int project(self, const double *z, double *w) noexcept with gil:
        try:
            copy_point(self.n, self.feasible.project(vector_of(z, self.n)), "project", w)
        except BaseException as error:
            self.error = error
            return CF_EVALUE
        return CF_OK

    cdef int newton(self, cf_full *A, double gain, const double *g, const double *y, double *w,
                    double *lam, signed char *face) noexcept with gil:
        """The update is proposed, the set is asked, and only then the update accepted."""
        cdef double *v = self.room
        cdef double *work = v + cf_pad(self.n)
        cdef double q
        cdef int status = L.full_propose(A, K, g, 1.0, work, v, &q)
        if status != CF_OK:
            return status
        if q == 0.0:  # nothing moves
            memcpy(w, y, <size_t>self.n * sizeof(double))
            return CF_OK
        try:
            z = vector_of(y, self.n)
            K.axpy(self.n, gain / (1.0 + q), v, data_of(z))
            if not K.all_finite(self.n, data_of(z)):
                return CF_ENONFINITE
            inverse = numpy.empty((self.n, self.n))
            if L.newton_inverse(A, K, g, 1.0, work):
                fill_square(work, inverse)
            else:
                L.full_inverse(A, K, work, data_of(inverse))
                step = vector_of(v, self.n)
                inverse -= numpy.outer(step, step) / (1.0 + q)
            copy_point(self.n, self.feasible.project_in(z, inverse), "project_in", w)
        except BaseException as error:
            self.error = error
            return CF_EVALUE
        L.full_accept(A, K, g, 1.0, v, q, work)
        return CF_OK

    cdef int draw(self, Chance chance, const double *y, double *v) noexcept with gil:
        """A direction that is refused costs no chance."""
        try:
            bits = chance.generator.bit_generator
            before = bits.state
            try:
                copy_point(self.n, self.feasible.direction(chance.generator, self.n), "direction",
                           v)
                if not is_unit(self.n, v):
                    raise ValueError("feasible.direction() must have length 1")
            except BaseException:
                bits.state = before
                raise
        except BaseException as error:
            self.error = error
            return CF_EVALUE
        return CF_OK


cdef int copy_point(Py_ssize_t n, value, str method, double *out) except -1:
    """What a method of a set of the user's own returned, checked."""
    cdef np.ndarray point = finite_vector(value, f"feasible.{method}()", n, "the dimension")
    memcpy(out, data_of(point), <size_t>n * sizeof(double))
    return 0


def region_of(feasible, Py_ssize_t n):
    """The set in dimension n: compiled where it is exactly one of this package's."""
    if type(feasible) is Shrunk and type(feasible.whole) is Simplex:
        return BuiltIn(n, CF_REGION_SIMPLEX, 1.0 - feasible.gamma, floor=feasible.gamma / n)
    return built_in(type(feasible), feasible, n) or Own(n, feasible)


cdef Region built_in(object kind, object feasible, Py_ssize_t n):
    """The set as one of that class of this package; None where the class is another one."""
    if kind is Ball:
        return BuiltIn(n, CF_REGION_BALL, feasible.radius)
    if kind is L1Ball:
        return BuiltIn(n, CF_REGION_L1, feasible.radius)
    if kind is Box:
        return BuiltIn(n, CF_REGION_BOX, 0.0, span=feasible.span(n))
    if kind is Simplex:
        return BuiltIn(n, CF_REGION_SIMPLEX, 1.0)
    return None


def nearest(feasible, np.ndarray z):
    """The Euclidean projection on one of this package's sets, or on that which a subclass is of."""
    cdef Py_ssize_t n = np.PyArray_DIM(z, 0)
    if n == 0:
        raise ValueError("z must not be empty")
    cdef Region region = None
    for kind in type(feasible).__mro__:
        region = region or built_in(kind, feasible, n)
    cdef np.ndarray out = new_vector(n)
    cdef int status = region.project(data_of(z), data_of(out))
    if status != CF_OK:
        refuse(status, "the projection of z")
    return out

KINDS = {"squared": CF_LOSS_SQUARED, "logistic": CF_LOSS_LOGISTIC, "return": CF_LOSS_RETURN}
cdef double LEAST = 1e-260  # of a centre's coordinates: what must be > 0 has some room left
cdef double SAME = 1e-6     # relative: what of a state follows from the rest of it


cdef class PointUpdate:
    """How the centre moves: its sets, and the random step where losses alone are seen."""

    # y, v and x have n doubles and belong to the engine. A step that returns a negative status has
    # changed nothing that can be seen; one that returns CF_OK has written y_next and committed
    # what the update keeps besides y.
    cdef readonly Py_ssize_t n
    cdef Region whole            # whose directions are drawn; None where gradients are seen
    cdef Region region           # that the centre stays in
    cdef readonly double delta   # length of the random step; 0 where gradients are seen
    cdef readonly double gamma   # by how much `region` is shrunk
    cdef bint compiled           # a round calls no Python
    cdef double swing            # how far a loss lay from its baseline; 0: it had none

    def __init__(self, Region whole, Region region, double delta=0.0, double gamma=0.0):
        self.n = region.n
        self.whole, self.region = whole, region
        self.delta, self.gamma = delta, gamma
        self.compiled = region.compiled and (whole is None or whole.compiled)

    cdef void reach(self, const double *y, const double *v, double sign,
                    double *x) noexcept nogil:
        """The point to play."""
        memcpy(x, y, <size_t>self.n * sizeof(double))
        if self.whole is not None:
            K.axpy(self.n, sign * self.delta, v, x)

    cdef int step(self, double phi, const double *v, double t, const double *y,
                  double *y_next) noexcept nogil:
        """Round t, whose gradient is phi v but for a factor."""
        return CF_ENONFINITE

    # What is kept besides the centre, and back into an update that was just made: t rounds, centre
    # y.
    cdef dict get_state(self):
        return {}

    cdef int set_state(self, State state, Py_ssize_t t, const double *y) except -1:
        return 0


cdef class Newton(PointUpdate):
    """A += g g^T, y <- P(y - A^-1 g / beta) in the norm of A, with g = rate phi v."""

    cdef readonly double beta
    cdef double rate             # the gradient is rate * phi * v
    cdef Stored metric           # A
    cdef double lam              # where the search for the projection begins
    cdef np.ndarray face         # the same, int8
    cdef np.ndarray face_next
    cdef double *g

    def __init__(self, Region whole, Region region, double rate, double beta, double epsilon, *,
                 double delta=0.0, double gamma=0.0):
        PointUpdate.__init__(self, whole, region, delta, gamma)
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

    cdef dict get_state(self):
        return {"metric": settled(self.metric), "lam": self.lam, "face": self.face.copy()}

    cdef int set_state(self, State state, Py_ssize_t t, const double *y) except -1:
        cdef double lam = state.number("lam", 0.0)
        cdef np.ndarray face = state.counts("face", self.n, -1, 1)
        cdef State part = state.part("metric")
        part.count("n", self.n, self.n)
        part.count("updates", 0, t)
        metric = <Stored?>Full.from_state(part.given)
        (<Stored>metric)._ask_for(CF_FULL_AUTO)
        self.metric, self.lam = metric, lam
        self.face = <np.ndarray>face.astype(numpy.int8)
        return 0


cdef class Descent(PointUpdate):
    """y <- P(y - rate / sqrt(t) phi v), Euclidean."""

    cdef double rate             # the step is rate / sqrt(t) * phi * v
    cdef double *z

    def __init__(self, Region whole, Region region, double rate, *, double delta=0.0,
                 double gamma=0.0):
        PointUpdate.__init__(self, whole, region, delta, gamma)
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


cdef class Barrier(PointUpdate):
    """Log-barrier sampler of the simplex: x = y (1 + delta u), y_i = 1 / (G_i + nu)."""

    cdef readonly double eta
    cdef double nu               # of the last round: where the search begins
    cdef double *memory
    cdef double *G
    cdef double *G_next
    cdef double *a
    cdef double *r
    cdef double *ones

    def __init__(self, BuiltIn whole, double delta, double eta):
        cdef Py_ssize_t padded = cf_pad(whole.n), i
        PointUpdate.__init__(self, whole, whole, delta)
        self.eta, whole.local = eta, True
        self.nu = <double>self.n
        self.memory = new_doubles(5, padded, "the barrier's vectors")
        self.G, self.G_next = self.memory, self.memory + padded
        self.a, self.r = self.memory + 2 * padded, self.memory + 3 * padded
        self.ones = self.memory + 4 * padded
        for i in range(self.n):
            self.ones[i] = 1.0

    def __dealloc__(self):
        L.free(self.memory)

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

    cdef dict get_state(self):
        return {"G": vector_of(self.G, self.n), "nu": self.nu}

    cdef int set_state(self, State state, Py_ssize_t t, const double *y) except -1:
        cdef Py_ssize_t i
        self.nu = state.number("nu", 1.0, self.n)
        state.load("G", self.n, self.G)
        for i in range(self.n):
            if not (self.G[i] >= 0.0 and y[i] > 0.0
                    and fabs(y[i] * (self.G[i] + self.nu) - 1.0) <= SAME):
                state.refuse("G", "such that y = 1 / (G + nu)")
        return 0


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

    # Round t has row i = t mod n. Z (n x d, C-contiguous) and y (n) are its own and never written
    # to.
    cdef readonly np.ndarray Z, y
    cdef readonly Py_ssize_t n, d
    cdef int kind

    def __init__(self, str kind, Z, y):
        self.Z = <np.ndarray>numpy.array(table(Z, "Z"), dtype=numpy.float64, order="C")
        self.n, self.d = np.PyArray_DIM(self.Z, 0), np.PyArray_DIM(self.Z, 1)
        if self.n == 0 or self.d == 0:
            raise ValueError("Z must have at least one row and one column, got shape "
                             f"{(<object>self.Z).shape}")
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

    cdef tuple at(self, t, x):
        """The loss, the number of the row and the prediction, all arguments checked."""
        cdef np.ndarray point = finite_vector(x, "x", self.d, "a row of Z")
        cdef Py_ssize_t i = as_count(t, "t") % self.n
        cdef double m, loss = self.value(i, data_of(point), &m)
        if not (isfinite(loss) and isfinite(m)):
            raise ValueError("the loss at x overflows")
        return loss, i, m

    def value_at(self, t, x):
        return self.at(t, x)[0]

    def gradient_at(self, t, x):
        cdef np.ndarray g = new_vector(self.d)
        _, i, m = self.at(t, x)
        self.gradient(i, m, data_of(g))
        if not K.all_finite(self.d, data_of(g)):
            raise ValueError("the gradient at x overflows")
        return g

    def wrong_at(self, t, x):
        _, i, m = self.at(t, x)
        return bool(self.wrong(i, m))


cdef enum Pending:
    NOTHING
    ONE                        # a point was asked for
    PAIR                       # two were

# What is subtracted from a loss before the step: known before the direction is drawn.
cdef enum Subtracted:
    NONE
    MEAN                       # of all losses before
    PREVIOUS                   # that of the round before

cdef enum:
    BUSY = 64       # dimension from which the GIL is let go: about a microsecond of work
    MANY = 64       # rounds from which borrowing pays: it takes a few microseconds
    LOOK = 63       # rounds between two looks at the clock, less one; such a look takes 25 ns

SUBTRACTED = {"nothing": NONE, "mean": MEAN, "previous": PREVIOUS}
ASKED = {ONE: "ask", PAIR: "ask_pair"}


cdef class ConvexEngine(Engine):
    """The engine of the learners of online convex optimisation, and their base class.

    The parts that it starts from: make, a function that gives a fresh update; origin, the first
    centre; chance, owned from then on, where losses alone are seen.
    """

    # y is the centre; a round writes y_next and exchanges the pointers. All vectors have n doubles
    # in one piece of memory, owned here. While `pending` is not NOTHING and there is a chance, v
    # is a direction that it has drawn.
    cdef PointUpdate rule
    cdef dict parts            # that reset() starts from, with a chance that is made anew
    cdef Py_ssize_t n
    cdef int64_t t             # rounds that were learned
    cdef Pending pending
    cdef double *memory
    cdef double *y
    cdef double *y_next
    cdef double *v             # the direction of the pending point
    cdef double *x             # workspace of a run: the point, or the gradient
    cdef double bound          # on the losses; 0 where gradients are seen
    cdef double largest        # of this round's losses, absolute

    def __dealloc__(self):
        L.free(self.memory)

    # --- what every engine has ----------------------------------------------------------------

    cdef int start(self, dict parts) except -1:
        cdef PointUpdate update = parts["make"]()
        cdef Py_ssize_t padded = cf_pad(update.n)
        cdef double *memory = new_doubles(4, padded, "a learner's vectors")
        L.free(self.memory)
        self.memory, self.n, self.t, self.pending = memory, update.n, 0, NOTHING
        self.y, self.y_next, self.v, self.x = (memory, memory + padded, memory + 2 * padded,
                                               memory + 3 * padded)
        memcpy(self.y, data_of(parts["origin"]), <size_t>self.n * sizeof(double))
        self.rule, self.chance, self.parts = update, parts.get("chance"), parts
        return 0

    cdef bint is_fresh(self) except -1:
        return self.t == 0 and self.pending == NOTHING

    @property
    def _rounds(self):
        self.lock.check_open()
        return self.t

    @property
    def _rule(self):
        self.lock.check_open()
        return self.rule

    cdef dict get_state(self):
        state = {"rounds": self.t, "y": vector_of(self.y, self.n), "pending": <int>self.pending,
                 **self.rule.get_state()}
        if self.chance is not None:
            waiting = self.n if self.pending != NOTHING else 0
            state |= {"v": vector_of(self.v, waiting), **self.chance.state()}
        return state

    cdef int set_state(self, State state) except -1:
        cdef Py_ssize_t t = state.count("rounds")
        cdef Py_ssize_t pending = state.count("pending", NOTHING,
                                              ONE if self.chance is None else PAIR)
        cdef np.ndarray y = state.vector("y", self.n), v = y
        cdef PointUpdate update = self.parts["make"]()
        cdef Chance chance = None
        update.set_state(state, t, data_of(y))
        if self.chance is not None:
            chance = Chance.restored(state.given)
            v = state.vector("v", self.n if pending else 0)
        refuse_outside(state, update, data_of(y), data_of(v) if pending else NULL, self.x,
                       self.y_next)
        self.rule, self.chance = update, chance
        memcpy(self.y, data_of(y), <size_t>self.n * sizeof(double))
        memcpy(self.v, data_of(v), <size_t>np.PyArray_DIM(v, 0) * sizeof(double))
        self.t, self.pending = t, <Pending>pending
        return 0

    cdef int begin_again(self) except -1:
        chance = None if self.chance is None else self.chance.fresh()
        return self.start({**self.parts, "chance": chance})

    cdef int set_options(self, dict parts, list changed) except -1:
        cdef PointUpdate update = parts["make"]()
        names = ", ".join(changed)
        if update.gamma != self.rule.gamma:
            raise ValueError(f"{names}: gamma would change, and with it the set that the centre "
                             "lies in: call reset() before that")
        if update.delta != self.rule.delta and self.pending != NOTHING:
            raise ValueError(f"{names}: delta would change under the point that was asked for: "
                             "tell its loss before that")
        update.set_state(opened(self.rule.get_state()), self.t, self.y)
        self.rule, self.parts = update, parts
        if "seed" in changed:
            self.chance = parts["chance"]
        return 0

    # --- reading ------------------------------------------------------------------------------

    @property
    def center(self):
        """The point before the random step (y_t), a copy.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.OGD(2, cf.Simplex(), gradient_bound=1.0).center
        array([0.5, 0.5])
        """
        self.lock.acquire_shared()
        try:
            return vector_of(self.y, self.n)
        finally:
            self.lock.release_shared()

    @property
    def rounds(self):
        """How many rounds were told."""
        return self._rounds

    # --- rounds -------------------------------------------------------------------------------

    def ask(self):
        """The point to play; asked again before `tell`, the same point.

        Returns
        -------
        ndarray of shape (dimension,)
            A point of the feasible set, fresh: it may be changed.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.OGD(2, cf.Box(0.0, 1.0), gradient_bound=1.0).ask()
        array([0.5, 0.5])
        """
        return self.points(ONE)

    cdef object points(self, Pending kind):
        """The point of this round, or the pair: the same until its loss is given."""
        cdef np.ndarray plus, minus
        cdef int status
        self.lock.acquire()
        try:
            if self.pending == NOTHING and self.chance is not None:
                status = self.rule.whole.draw(self.chance, self.y, self.v)
                if status != CF_OK:
                    self.fail(status, "feasible.direction()")
            self.pending = kind
            plus = new_vector(self.n)
            self.rule.reach(self.y, self.v, 1.0, data_of(plus))
            if kind == ONE:
                return plus
            minus = new_vector(self.n)
            self.rule.reach(self.y, self.v, -1.0, data_of(minus))
            return plus, minus
        finally:
            self.lock.release()

    cdef int refuse_pending(self, Pending wanted) except -1:
        """What is told is not what was asked for."""
        if self.pending == NOTHING:
            raise ValueError("nothing to tell: no point was asked for, call "
                             f"{ASKED[wanted]} first")
        raise ValueError(f"the pending point came from {ASKED[self.pending]}, not from "
                         f"{ASKED[wanted]}")

    cdef int refuse_length(self, Py_ssize_t n, str name) except -1:
        """What was as long as the dimension before the lock was held."""
        if n != self.n:
            raise RuntimeError(f"dimension was changed to {self.n} while {name} of {n} was at work")
        return 0

    cdef int step(self, PointUpdate update, double phi, const double *v) noexcept nogil:
        """A step along phi v, which ends the round where the update is the engine's own and not a
        copy; a negative status has changed nothing."""
        cdef int status = update.step(phi, v, <double>(self.t + 1), self.y, self.y_next)
        if status == CF_OK and update is self.rule:
            self.y, self.y_next = self.y_next, self.y
            self.t += 1
            self.pending = NOTHING
        return status

    cdef int fail(self, int status, str what, str follows="the step that follows from ") except -1:
        """Raises what a round that failed means, first of all what a set of the user's own
        raised."""
        cdef Region region
        for region in (self.rule.whole, self.rule.region):
            if region is not None and region.error is not None:
                error, region.error = region.error, None
                raise error
        if status == CF_ENONFINITE and self.largest > self.bound:
            raise ValueError(f"{what} is {self.largest:.6g}, too far beyond loss_bound="
                             f"{self.bound:g}: the learner could not go on from it")
        return refuse(status, follows + what)

    # One round of a run: ask, look the loss of row i up, tell.
    cdef int played(self, Losses losses, Py_ssize_t i, double *loss, double *m) noexcept nogil:
        return CF_ENONFINITE


cdef int refuse_outside(State state, PointUpdate update, const double *y, const double *v,
                        double *x, double *scratch) except -1:
    """Refuses a centre or a direction (or NULL) that no run leaves behind; no other thread may be
    in a round, since the regions' scratch is used. x and scratch: n doubles."""
    if not update.region.holds(y, scratch):
        state.refuse("y", "a point of the set that centres lie in")
    if v != NULL and update.whole is not None:
        update.reach(y, v, 1.0, x)
        if not (is_unit(update.n, v) and update.whole.holds(x, scratch)):
            state.refuse("v", "a direction of length 1 that does not leave the feasible set")
    return 0


cdef class GradientEngine(ConvexEngine):
    """Sees gradients: plays the centre itself."""

    def tell(self, gradient):
        """The gradient of the loss at the point that `ask` gave.

        Parameters
        ----------
        gradient : array_like of shape (dimension,) or scipy.sparse row
            Of the round's loss at the point of `ask`; also a table of one row.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.OGD(2, cf.Box(0.0, 1.0), gradient_bound=10.0)
        >>> _ = learner.ask()
        >>> learner.tell([1.0, -1.0])
        >>> learner.center.round(3)
        array([0.359, 0.641])
        """
        cdef np.ndarray g
        cdef int status
        self.lock.check_open()
        g = finite_vector(  # which may call Python
            gradient if is_plain_vector(gradient) else written_out(gradient, "gradient", self.n),
            "gradient", self.n, "the dimension")
        self.lock.acquire()
        try:
            if self.pending != ONE:
                self.refuse_pending(ONE)
            self.refuse_length(np.PyArray_DIM(g, 0), "gradient")
            if self.n < BUSY and self.rule.compiled:
                status = self.step(self.rule, 1.0, data_of(g))
            else:
                with nogil:
                    status = self.step(self.rule, 1.0, data_of(g))
            if status != CF_OK:
                self.fail(status, "gradient")
        finally:
            self.lock.release()

    cdef int played(self, Losses losses, Py_ssize_t i, double *loss, double *m) noexcept nogil:
        self.pending = ONE
        loss[0] = losses.value(i, self.y, m)
        if not (isfinite(loss[0]) and isfinite(m[0])):
            return CF_ENONFINITE
        losses.gradient(i, m[0], self.x)
        if not K.all_finite(self.n, self.x):
            return CF_ENONFINITE
        return self.step(self.rule, 1.0, self.x)


cdef class BanditEngine(ConvexEngine):
    """Sees losses only: plays a random point near the centre.

    Two more parts: bound, on the losses, the first one beyond which draws a warning; subtracted,
    what is subtracted from a loss: "nothing", the "mean" of all before it, or the "previous" one.
    """

    cdef Subtracted subtracted
    cdef double mean           # of the losses so far
    cdef double previous       # the last loss, kept while it is subtracted; NaN: none
    cdef bint bound_named      # that a loss was beyond it

    cdef int start(self, dict parts) except -1:
        ConvexEngine.start(self, parts)
        self.bound, self.subtracted = parts["bound"], SUBTRACTED[parts["subtracted"]]
        self.mean, self.bound_named, self.previous = 0.0, False, NAN
        return 0

    cdef dict get_state(self):
        state = {**ConvexEngine.get_state(self), "mean": self.mean,
                 "bound_named": bool(self.bound_named)}
        if self.subtracted == PREVIOUS and not isnan(self.previous):
            state["previous"] = self.previous
        return state

    cdef int set_state(self, State state) except -1:
        cdef double mean = state.number("mean")
        cdef bint named = state.flag("bound_named")
        cdef double previous = NAN
        if self.subtracted == PREVIOUS and state.has("previous"):
            previous = state.number("previous")
        ConvexEngine.set_state(self, state)
        self.mean, self.bound_named, self.previous = mean, named, previous
        return 0

    cdef int set_options(self, dict parts, list changed) except -1:
        cdef Subtracted subtracted = SUBTRACTED[parts["subtracted"]]
        ConvexEngine.set_options(self, parts, changed)
        if parts["bound"] != self.bound:
            self.bound, self.bound_named = parts["bound"], False
        if subtracted != self.subtracted:
            self.subtracted, self.previous = subtracted, NAN
        return 0

    # --- rounds -------------------------------------------------------------------------------

    def ask_pair(self):
        """Two points to play, one on each side of the centre, for `tell_pair`.

        Returns
        -------
        plus, minus : ndarray of shape (dimension,)
            The center plus and minus the random step.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.OGDEG(2, cf.Ball(1.0), delta=0.1, gamma=0.5, seed=0)
        >>> plus, minus = learner.ask_pair()
        >>> plus + minus
        array([0., 0.])
        """
        return self.points(PAIR)

    def tell(self, loss):
        """The loss at the point that `ask` gave.

        A loss beyond `loss_bound` is used as it is; the first one draws a warning. One that
        leaves no state to go on from is refused.

        Parameters
        ----------
        loss : float
            The round's loss at the point of `ask`.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.OGDEG(2, cf.Ball(1.0), delta=0.1, gamma=0.5, seed=0)
        >>> _ = learner.ask()
        >>> learner.tell(0.1)
        >>> learner.center.round(3)
        array([-0.138,  0.145])
        """
        cdef double f = as_number(loss, "loss")
        self.learn(ONE, f, f)

    def tell_pair(self, plus, minus):
        """The losses at the two points that `ask_pair` gave, in the same order.

        The gradient estimate is ``(d / (2 delta)) (plus - minus) v``: for a Lipschitz loss it
        stays bounded however small delta is, and a baseline would cancel. Their mean counts as
        the loss of the round.

        Parameters
        ----------
        plus, minus : float
            The losses at the two points of `ask_pair`, in its order.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.OGDEG(2, cf.Ball(1.0), delta=0.1, gamma=0.5, seed=0)
        >>> _ = learner.ask_pair()
        >>> learner.tell_pair(0.1, -0.1)
        >>> learner.center.round(3)
        array([-0.138,  0.145])
        """
        cdef double a = as_number(plus, "plus"), b = as_number(minus, "minus")
        self.learn(PAIR, a, b)

    cdef int learn(self, Pending asked, double plus, double minus, int stacklevel=1) except -1:
        """One round. The first loss beyond the bound is tried by a copy of the update: one that is
        refused draws no warning, and where the warning is an error, nothing has changed."""
        cdef PointUpdate update
        cdef bint beyond
        cdef int status
        while True:
            self.lock.acquire()
            try:
                if self.pending != asked:
                    self.refuse_pending(asked)
                update = self.rule
                self.largest = max(fabs(plus), fabs(minus))
                beyond = self.largest > self.bound and not self.bound_named
                if beyond:
                    update = self.parts["make"]()
                    update.set_state(opened(self.rule.get_state()), self.t, self.y)
                if self.n < BUSY and update.compiled:
                    status = self.estimate(update, plus, minus)
                else:
                    with nogil:
                        status = self.estimate(update, plus, minus)
                if status != CF_OK:
                    self.fail(status, "loss")
                if not beyond:
                    return 0
            finally:
                self.lock.release()
            warnings.warn(
                f"the loss {max(fabs(plus), fabs(minus)):.6g} is beyond loss_bound="
                f"{self.bound:g}: it is used all the same, but the constants were made for losses "
                "within it", stacklevel=stacklevel)
            self.bound_named = True

    cdef int estimate(self, PointUpdate update, double plus, double minus) noexcept nogil:
        """The step by the losses at the points asked for, a single one given twice."""
        cdef double loss = plus, phi = plus, mean
        cdef int status
        update.swing = 0.0
        if self.pending == PAIR:  # halved first: the sum cannot overflow
            phi, loss = plus / 2.0 - minus / 2.0, plus / 2.0 + minus / 2.0
        elif self.subtracted == MEAN:
            phi = loss - self.mean
            update.swing = fabs(phi)
        elif self.subtracted == PREVIOUS:
            phi = 0.0 if isnan(self.previous) else loss - self.previous
        # by halves, which changes no digit: the difference cannot overflow
        mean = self.mean + 2.0 * ((loss / 2.0 - self.mean / 2.0) / (self.t + 1))
        if not isfinite(mean):
            return CF_ENONFINITE
        status = self.step(update, phi, self.v)
        if status == CF_OK and update is self.rule:
            self.mean, self.previous = mean, loss
        return status

    cdef int played(self, Losses losses, Py_ssize_t i, double *loss, double *m) noexcept nogil:
        cdef int status
        self.largest = 0.0
        if self.pending == NOTHING:
            status = self.rule.whole.draw(self.chance, self.y, self.v)
            if status != CF_OK:
                return status
        self.pending = ONE
        self.rule.reach(self.y, self.v, 1.0, self.x)
        loss[0] = losses.value(i, self.x, m)
        if not (isfinite(loss[0]) and isfinite(m[0])):
            return CF_ENONFINITE
        self.largest = fabs(loss[0])
        if self.largest > self.bound and not self.bound_named:
            return ASIDE
        return self.estimate(self.rule, loss[0], loss[0])


@cython.final
cdef class ConvexRun(Run):
    """A run; without the GIL where the losses and the sets are this package's.

    Parameters
    ----------
    losses : object or callable
        What ``mistake`` and ``gradient`` are asked of, and ``scaling``.
    value : callable (t, x) -> float
    rows : Losses or None
        The losses where they are compiled.
    rounds : int
    classifies : bool
        Whether there are mistakes.
    """

    cdef object losses
    cdef object value          # (t, x) -> the loss
    cdef Losses rows
    cdef np.ndarray loss, mistakes

    def __init__(self, losses, value, Losses rows, Py_ssize_t rounds, bint classifies):
        self.losses, self.value, self.rows = losses, value, rows
        self.loss = numpy.empty(rounds)
        self.mistakes = numpy.empty(rounds, dtype=bool) if classifies else None
        self.total, self.mask = rounds, LOOK

    def history(self):
        mistakes = None if self.mistakes is None else (<object>self.mistakes)[:self.done]
        return ConvexHistory((<object>self.loss)[:self.done], mistakes,
                             getattr(self.losses, "scaling", None))

    def run(self, Engine engine, report):
        if self.rows is not None and (<ConvexEngine>engine).rule.compiled:
            Run.run(self, engine, report)
        else:
            self.by_calls(engine, report)

    def by_calls(self, ConvexEngine engine, report):
        """The loop of single calls, for losses or sets of one's own."""
        cdef Py_ssize_t t
        while self.done < self.total:
            t = self.done
            x = engine.points(ONE)
            loss = number("loss", self.value(t, x))
            data_of(self.loss)[t] = loss
            if self.mistakes is not None:
                (<object>self.mistakes)[t] = self.losses.mistake(t, x)
            if engine.chance is None:
                GradientEngine.tell(engine, self.losses.gradient(t, x))
            else:
                (<BanditEngine>engine).learn(ONE, loss, loss, 2)
            self.done += 1
            PyErr_CheckSignals()
            if report is not None:
                report(self.done, self.total)

    # --- without the GIL ----------------------------------------------------------------------

    cdef int begin(self, Engine engine) except -1:
        (<ConvexEngine>engine).refuse_length(self.rows.d, "a run over rows")
        if engine.chance is not None and self.total - self.done >= MANY:
            engine.chance.borrow()
        return 0

    cdef int end(self, Engine engine, int status) except -1:
        return 0 if engine.chance is None else engine.chance.give_back()

    cdef int several(self, Engine engine, Py_ssize_t until) noexcept nogil:
        cdef double loss, m
        cdef Py_ssize_t i
        cdef int status
        while self.done < until:
            i = self.done % self.rows.n
            status = (<ConvexEngine>engine).played(self.rows, i, &loss, &m)
            if status != CF_OK:
                return status
            self.note(i, loss, m)
        return CF_OK

    cdef void note(self, Py_ssize_t i, double loss, double m) noexcept nogil:
        """The record of a round that is over."""
        data_of(self.loss)[self.done] = loss
        if self.mistakes is not None:
            (<unsigned char *>np.PyArray_DATA(self.mistakes))[self.done] = \
                self.rows.wrong(i, m)
        self.done += 1

    cdef int aside(self, Engine engine) except -1:
        """The round that draws a warning, by the single calls."""
        cdef np.ndarray x = (<ConvexEngine>engine).points(ONE)
        cdef Py_ssize_t i = self.done % self.rows.n
        cdef double m, loss = self.rows.value(i, data_of(x), &m)
        (<BanditEngine>engine).learn(ONE, loss, loss, 2)
        self.note(i, loss, m)
        return 0

    cdef int fail(self, Engine engine, int status) except -1:
        return (<ConvexEngine>engine).fail(status, f"loss of round {self.done}", "")
