"""How coactive learners learn, and their engines (DEFINITIONS 2)."""

import copy
import math
import types

import numpy

from libc.math cimport fabs, isfinite, sqrt
from libc.stddef cimport size_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport (
    as_count, as_vector, data_of, is_plain, new_doubles, new_indices, new_vector, plain, product_of,
    refuse, refuse_non_finite, row_stride, take_scratch,
)
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_EVALUE, CF_FULL_AUTO, CF_OK, cf_candidate, cf_get_library, cf_get_table,
    cf_library, cf_newton, cf_pad, cf_row, cf_table, cf_top_k_scratch,
)
from coactive_fast.convex._rules cimport Region
from coactive_fast.learner._state cimport opened, vector_of
from coactive_fast.metric._metrics cimport KEPT_DENSE, Kept, Stored
from coactive_fast.rows._rows cimport Forms, table_of, written_out

from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.metric._metrics import Full
from coactive_fast.coactive._tasks import Items, Ranking
from coactive_fast.convex._rules import region_of

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()
cdef Py_ssize_t MOST_ROUNDS = <Py_ssize_t>1 << 53  # that a state may tell of: whole as a float64


cdef double length(Py_ssize_t n, const double *x) noexcept nogil:
    """||x||, also where its square overflows."""
    cdef double square = K.dot(n, x, x), most = 0.0, sum = 0.0
    cdef Py_ssize_t i
    if isfinite(square):
        return sqrt(square)
    for i in range(n):
        if fabs(x[i]) > most:
            most = fabs(x[i])
    for i in range(n):
        sum += (x[i] / most) * (x[i] / most)
    return most * sqrt(sum)


cdef bint all_zero(Py_ssize_t n, const double *x) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if x[i] != 0.0:
            return False
    return True


cdef class Rule:
    """What every rule has: weights, their mean, the count of rounds."""

    def __cinit__(self):
        self.memory = NULL
        self.compiled = True

    def __dealloc__(self):
        L.free(self.memory)

    cdef int vectors(self) noexcept:
        return 4

    cdef double initial(self, Py_ssize_t n) noexcept nogil:
        return 0.0

    cdef double *row(self, int i) noexcept:
        return self.memory + i * cf_pad(self.n)

    cdef void lay_out(self) noexcept:
        self.w = self.row(0)
        self.mean = self.row(1)
        self.w_next = self.row(2)
        self.mean_next = self.row(3)

    cdef int start(self, Py_ssize_t n) except -1:
        cdef str what = f"weights of {n} features"
        cdef Py_ssize_t i, count = product_of(self.vectors(), n, what)
        cdef double *memory
        refuse_beyond_limit(8.0 * count, what, "fewer features take less")
        memory = new_doubles(self.vectors(), cf_pad(n), what)
        L.free(self.memory)
        self.memory = memory
        self.n = n
        self.lay_out()
        for i in range(n):
            self.w[i] = self.initial(n)
        return 0

    cdef int step(self, const double *delta) noexcept nogil:
        return CF_EVALUE

    cdef bint direct(self) noexcept nogil:
        return False

    cdef int step_places(self, Py_ssize_t m, const Matrix *x, const ptrdiff_t *plus,
                         const ptrdiff_t *minus, const double *weight) noexcept nogil:
        return CF_EVALUE

    cdef int mean_of_next(self) noexcept nogil:
        """mean_next from w_next; 0 where either is not finite."""
        return K.step_mean(self.n, 0.0, self.w_next, self.w_next, 1.0 / (self.rounds + 1),
                           self.mean, self.w_next, self.mean_next)

    cdef void commit(self) noexcept nogil:
        self.w, self.w_next = self.w_next, self.w
        self.mean, self.mean_next = self.mean_next, self.mean
        self.rounds += 1

    cdef int fail(self, int status, str what) except -1:
        return refuse(status, what)

    # --- settings and state, with the GIL -----------------------------------------------------

    cdef int adopt(self, Rule other) except -1:
        """The settings of another rule of this kind; the state stays."""
        return 0

    cdef dict extra(self):
        return {}

    cdef int take_extra(self, State state) except -1:
        return 0

    cdef dict told(self):
        found = {"n": self.n, "rounds": self.rounds}
        if self.n:
            found["w"] = vector_of(self.w, self.n)
            found["mean"] = vector_of(self.mean, self.n)
            found.update(self.extra())
        return found

    cdef int restore(self, State state) except -1:
        """Into a rule that was just made."""
        cdef Py_ssize_t n = state.count("n"), rounds = state.count("rounds", 0, MOST_ROUNDS)
        if n == 0 and rounds:
            state.refuse("rounds", "0 where the number of features is not known", rounds)
        if n:
            state.vector("w", n)  # so long at least are the arrays that there is memory to take for
            self.start(n)
            state.load("w", n, self.w)
            state.load("mean", n, self.mean)
            self.take_extra(state)
        self.rounds = rounds
        return 0


cdef class Perceptron(Rule):
    """w += the sum of the batch's Deltas, after its last round."""

    def __init__(self, Py_ssize_t batch):
        self.batch = batch

    cdef int vectors(self) noexcept:
        return 6

    cdef void lay_out(self) noexcept:
        Rule.lay_out(self)
        self.sum = self.row(4)
        self.sum_next = self.row(5)

    cdef int step(self, const double *delta) noexcept nogil:
        cdef const double *move = delta
        cdef bint whole = self.waiting + 1 >= self.batch
        if self.waiting or not whole:
            memcpy(self.sum_next, self.sum, <size_t>self.n * sizeof(double))
            K.axpy(self.n, 1.0, delta, self.sum_next)
            if not K.all_finite(self.n, self.sum_next):
                return CF_ENONFINITE
            move = self.sum_next
        if not K.step_mean(self.n, 1.0 if whole else 0.0, move, self.w, 1.0 / (self.rounds + 1),
                           self.mean, self.w_next, self.mean_next):
            return CF_ENONFINITE
        if whole and self.waiting:
            memset(self.sum, 0, <size_t>self.n * sizeof(double))
        elif not whole:
            self.sum, self.sum_next = self.sum_next, self.sum
        self.waiting = 0 if whole else self.waiting + 1
        self.commit()
        return CF_OK

    cdef bint direct(self) noexcept nogil:
        return self.batch == 1 and self.waiting == 0

    cdef int step_places(self, Py_ssize_t m, const Matrix *x, const ptrdiff_t *plus,
                         const ptrdiff_t *minus, const double *weight) noexcept nogil:
        cdef double rate = 1.0 / (self.rounds + 1)
        cdef int good
        if x.floats:
            good = K.perceptron_features_f32(m, self.n, <const float *>x.rows, x.step, plus, minus,
                                             weight, self.w, rate, self.mean, self.w_next,
                                             self.mean_next)
        else:
            good = K.perceptron_features(m, self.n, <const double *>x.rows, x.step, plus, minus,
                                         weight, self.w, rate, self.mean, self.w_next,
                                         self.mean_next)
        if not good:
            return CF_ENONFINITE
        self.commit()
        return CF_OK

    cdef int adopt(self, Rule other) except -1:
        self.batch = (<Perceptron>other).batch
        return 0

    cdef dict extra(self):
        return {"waiting": self.waiting, "sum": vector_of(self.sum, self.n)}

    cdef int take_extra(self, State state) except -1:
        self.waiting = state.count("waiting", 0, state.count("rounds"))
        state.load("sum", self.n, self.sum)
        if self.waiting == 0 and not all_zero(self.n, self.sum):
            state.refuse("sum", "zeros where no round is waiting")
        return 0


cdef class Record(Rule):
    """Learns nothing and writes every round's Delta down.

    For a batch that is spread over machines: the weights stay during a batch, so each part of it
    can be played anywhere, and whoever has the learner adds the Deltas in the batch's order.

    Parameters
    ----------
    weights : ndarray of shape (N,), or (0,) for zeros
        Kept.
    out : ndarray of float64, C-contiguous, shape (rounds, N)
        Round t writes its Delta into row t.
    """

    cdef np.ndarray weights, out

    def __init__(self, weights, np.ndarray out):
        self.weights = as_vector(weights, "weights")
        self.out = out

    cdef int start(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t have = np.PyArray_DIM(self.weights, 0)
        if n != np.PyArray_DIM(self.out, 1) or (have and have != n):
            raise ValueError(f"weights must have length {n} to go with data, got {have}")
        Rule.start(self, n)
        memcpy(self.w, data_of(self.weights), <size_t>have * sizeof(double))
        return 0

    cdef int step(self, const double *delta) noexcept nogil:
        if self.rounds >= np.PyArray_DIM(self.out, 0):
            return CF_EVALUE
        memcpy(data_of(self.out) + self.rounds * self.n, delta, <size_t>self.n * sizeof(double))
        self.rounds += 1
        return CF_OK


cdef class Exponentiated(Rule):
    """Log weights theta += eta_t Delta; the weights are made from them, never doubled."""

    cdef double scale
    cdef double horizon        # 0: the variable rate
    cdef bint is_signed
    cdef double *theta         # log weights
    cdef double *theta_next

    def __init__(self, double scale, double horizon, bint is_signed):
        self.scale = scale
        self.horizon = horizon
        self.is_signed = is_signed

    cdef int vectors(self) noexcept:
        return 6

    cdef void lay_out(self) noexcept:
        Rule.lay_out(self)
        self.theta = self.row(4)
        self.theta_next = self.row(5)

    cdef double initial(self, Py_ssize_t n) noexcept nogil:
        return 0.0 if self.is_signed else 1.0 / n

    cdef int step(self, const double *delta) noexcept nogil:
        cdef double over = self.horizon if self.horizon > 0.0 else <double>(self.rounds + 1)
        memcpy(self.theta_next, self.theta, <size_t>self.n * sizeof(double))
        K.axpy(self.n, 1.0 / (2.0 * self.scale * sqrt(over)), delta, self.theta_next)
        if not K.all_finite(self.n, self.theta_next):
            return CF_ENONFINITE
        K.exponentiated_weights(self.n, self.theta_next, self.is_signed, self.w_next)
        if not self.mean_of_next():
            return CF_ENONFINITE
        self.theta, self.theta_next = self.theta_next, self.theta
        self.commit()
        return CF_OK

    cdef int adopt(self, Rule other) except -1:
        self.scale = (<Exponentiated>other).scale
        self.horizon = (<Exponentiated>other).horizon
        return 0

    cdef dict extra(self):
        return {"theta": vector_of(self.theta, self.n)}

    cdef int take_extra(self, State state) except -1:
        return state.load("theta", self.n, self.theta)


def region_around_zero(feasible, Py_ssize_t n):
    """The set in dimension n, as an engine sees it."""
    if not feasible.contains(numpy.zeros(n)):
        raise ValueError(f"feasible must hold 0, where the weights start: {feasible!r} does not")
    return region_of(feasible, n)


cdef class Bounded(Rule):
    """What the rules share whose weights stay in a set that holds 0."""

    # A rule whose weights stay in a set: the ball of `radius`, or `feasible` where that is given.
    cdef double radius
    cdef object feasible       # None: the ball
    cdef Region region         # of `feasible`, once the dimension is known

    cdef int start(self, Py_ssize_t n) except -1:
        cdef Region region = None
        if self.feasible is not None:
            region = region_around_zero(self.feasible, n)
        Rule.start(self, n)
        self.region = region
        return 0

    cdef int fail(self, int status, str what) except -1:
        if self.region is not None and self.region.error is not None:
            error, self.region.error = self.region.error, None
            raise error
        return refuse(status, what)

    cdef int adopt(self, Rule other) except -1:
        self.radius = (<Bounded>other).radius
        return 0


cdef class Convex(Bounded):
    """A step of length slope / sqrt(t), then back into the set, Euclidean."""

    cdef double slope
    cdef double *moved         # the weights before they are projected on `feasible`

    def __init__(self, double radius, double slope, feasible, bint compiled):
        self.radius, self.feasible, self.compiled = radius, feasible, compiled
        self.slope = slope

    cdef int vectors(self) noexcept:
        return 5

    cdef void lay_out(self) noexcept:
        Rule.lay_out(self)
        self.moved = self.row(4)

    cdef int step(self, const double *delta) noexcept nogil:
        cdef double *moved = self.w_next if self.region is None else self.moved
        cdef double norm
        cdef Py_ssize_t i
        cdef int status
        memcpy(moved, self.w, <size_t>self.n * sizeof(double))
        K.axpy(self.n, self.slope / sqrt(<double>(self.rounds + 1)), delta, moved)
        if not K.all_finite(self.n, moved):
            return CF_ENONFINITE
        if self.region is None:
            norm = length(self.n, moved)
            if norm > self.radius:
                for i in range(self.n):
                    moved[i] *= self.radius / norm
        else:
            status = self.region.project(moved, self.w_next)
            if status != CF_OK:
                return status
        if not self.mean_of_next():
            return CF_ENONFINITE
        self.commit()
        return CF_OK

    cdef int adopt(self, Rule other) except -1:
        Bounded.adopt(self, other)
        self.slope = (<Convex>other).slope
        return 0


cdef class SecondOrder(Bounded):
    """A += gamma Delta Delta^T, w += A^-1 Delta, then into the set in the norm of A (P2, P3).

    Deferred, in a ball: y lives in the ball of twice the radius and is projected (P2, onto the
    ball of the radius) only when it leaves that one; Delta loses its outward part while y is
    outside the ball. w, what is shown and scored with, is the nearest point of the ball.
    """

    cdef double gamma, epsilon
    cdef bint deferred
    cdef double lam            # the last multiplier: where the next search begins
    cdef np.ndarray face       # the same in `feasible`: int8, as in cf_faces.h
    cdef np.ndarray face_next
    cdef double *y             # the point that moves; deferred: w is its projection, else it is w
    cdef double *y_next
    cdef double *turned        # deferred: Delta without its outward part; else Delta scaled
    cdef Stored metric         # A, from epsilon I
    cdef double *scratch

    def __cinit__(self):
        self.scratch = NULL

    def __init__(self, double radius, double gamma, double epsilon, bint deferred, feasible,
                 bint compiled):
        self.radius, self.feasible, self.compiled = radius, feasible, compiled
        self.gamma, self.epsilon, self.deferred = gamma, epsilon, deferred

    def __dealloc__(self):
        L.free(self.scratch)

    cdef int vectors(self) noexcept:
        return 7

    cdef void lay_out(self) noexcept:
        Rule.lay_out(self)
        self.y = self.row(4)
        self.y_next = self.row(5)
        self.turned = self.row(6)

    cdef int start(self, Py_ssize_t n) except -1:
        cdef double *scratch
        refuse_beyond_limit(30.0 * n * n, f"a matrix of {n} features", "other rules take less")
        metric = Full(n, ridge=self.epsilon)
        face, face_next = numpy.zeros(n, dtype=numpy.int8), numpy.zeros(n, dtype=numpy.int8)
        scratch = <double *>take_scratch(L.newton_scratch(n), sizeof(double))
        L.free(self.scratch)
        self.scratch = scratch
        Bounded.start(self, n)
        if self.region is not None:
            self.region.prepare()
        self.metric, self.face, self.face_next = metric, face, face_next
        return 0

    cdef int step(self, const double *delta) noexcept nogil:
        cdef double lam = self.lam, rate = 1.0 / (self.rounds + 1)
        cdef Py_ssize_t i
        cdef int status
        if all_zero(self.n, delta):  # nothing moves, not even the last bit of what was projected
            self.still()
            return CF_OK
        status = self.move(delta, &lam)
        if status != CF_OK:
            return status
        # A has been changed: nothing may fail from here on
        self.lam = lam
        self.nearest(self.y_next, self.w_next)
        if not self.mean_of_next():  # the set reaches to the ends of the range
            for i in range(self.n):
                self.mean_next[i] = (1.0 - rate) * self.mean[i] + rate * self.w_next[i]
        self.y, self.y_next = self.y_next, self.y
        memcpy(np.PyArray_DATA(self.face), np.PyArray_DATA(self.face_next), <size_t>self.n)
        self.commit()
        return CF_OK

    cdef int move(self, const double *delta, double *lam) noexcept nogil:
        """A, y_next and face_next; all or nothing."""
        cdef cf_newton move
        cdef double root
        cdef Py_ssize_t i
        if self.region is None:
            move.c, move.gain, move.radius = self.gamma, 1.0, self.radius
            move.limit = 2.0 * self.radius if self.deferred else self.radius
            return L.newton_ball(&self.metric.core, K, &move, self.inward(delta), self.y,
                                 self.y_next, lam, self.scratch)
        root = sqrt(self.gamma)  # A += g g^T and A^-1 g / root with g = root Delta
        for i in range(self.n):
            self.turned[i] = root * delta[i]
        memcpy(np.PyArray_DATA(self.face_next), np.PyArray_DATA(self.face), <size_t>self.n)
        return self.region.newton(&self.metric.core, 1.0 / root, self.turned, self.y, self.y_next,
                                  lam, <signed char *>np.PyArray_DATA(self.face_next))

    cdef void still(self) noexcept nogil:
        """A round in which nothing changes but the count and the mean."""
        memcpy(self.w_next, self.w, <size_t>self.n * sizeof(double))
        self.mean_of_next()
        self.commit()

    cdef const double *inward(self, const double *delta) noexcept nogil:
        """Delta itself, or (deferred, y outside the ball) without its part along y."""
        cdef double norm, out
        if not self.deferred:
            return delta
        norm = length(self.n, self.y)
        # the projection leaves y on the sphere to rounding: that still is the ball
        out = K.dot(self.n, delta, self.y) if norm > (1.0 + 1e-9) * self.radius else 0.0
        if out <= 0.0:
            return delta
        memcpy(self.turned, delta, <size_t>self.n * sizeof(double))
        K.axpy(self.n, -out / norm / norm, self.y, self.turned)
        return self.turned

    cdef void nearest(self, const double *y, double *w) noexcept nogil:
        """The nearest point of the ball."""
        cdef double norm = length(self.n, y) if self.deferred else 0.0
        cdef double scale = self.radius / norm if norm > self.radius else 1.0
        cdef Py_ssize_t i
        for i in range(self.n):
            w[i] = scale * y[i]

    cdef int adopt(self, Rule other) except -1:
        Bounded.adopt(self, other)
        self.gamma = (<SecondOrder>other).gamma
        return 0

    cdef dict extra(self):
        found = {"y": vector_of(self.y, self.n), "lam": self.lam, "metric": self.metric.state()}
        return found if self.region is None else {**found, "face": self.face.copy()}

    cdef int take_extra(self, State state) except -1:
        metric = Full.from_state(state.get("metric"))
        if ((<Stored>metric).core.n != self.n
                or (<Stored>metric).core.ridge != self.epsilon):
            state.refuse("metric", f"of {self.n} features, with epsilon = {self.epsilon}")
        (<Stored>metric)._ask_for(CF_FULL_AUTO)
        state.load("y", self.n, self.y)
        self.lam = state.number("lam", 0.0)
        if self.region is not None:
            self.face = state.counts("face", self.n, -1, 1).astype(numpy.int8)
        self.metric = metric
        return 0


cdef class Custom(Rule):
    """A user's own rule: called as rule(state, delta), answers the new weights.

    Parameters
    ----------
    rule : callable
    beside : object, optional
        Keeps more than the memory can, which is copied each round. What it holds that the memory
        does not know of is scratch. ``state(memory, n)`` tells its part of the rule's state,
        ``restore(memory, n, state)`` takes it in.
    """

    cdef object rule
    cdef dict kept
    cdef object beside         # more that belongs to the state, or None: see `Custom.extra`
    cdef object error          # what the user's rule raised

    def __init__(self, rule, beside=None):
        self.rule, self.beside = rule, beside
        self.kept = {}
        self.compiled = False

    cdef int step(self, const double *delta) noexcept nogil:
        with gil:
            return self.ask(delta)

    cdef int fail(self, int status, str what) except -1:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return refuse(status, what)

    cdef int adopt(self, Rule other) except -1:
        self.rule = (<Custom>other).rule
        return 0

    cdef int ask(self, const double *delta) noexcept:
        try:
            memory = copy.deepcopy(self.kept)
            now = types.SimpleNamespace(weights=vector_of(self.w, self.n), rounds=self.rounds,
                                        memory=memory)
            with numpy.errstate(over="ignore", invalid="ignore"):  # what comes out is checked
                answer = as_vector(self.rule(now, vector_of(delta, self.n)), "the rule's weights")
            if np.PyArray_DIM(answer, 0) != self.n:
                raise ValueError(f"the rule must return {self.n} weights, got "
                                 f"{np.PyArray_DIM(answer, 0)}")
            refuse_non_finite(answer, "the rule's weights")
            memcpy(self.w_next, data_of(answer), <size_t>self.n * sizeof(double))
            if not self.mean_of_next():
                return CF_ENONFINITE
        except BaseException as error:
            self.error = error
            return CF_EVALUE
        self.kept = memory
        self.commit()
        return CF_OK

    cdef dict extra(self):
        found = {"memory": copy.deepcopy(self.kept)}
        if self.beside is not None:
            found.update(self.beside.state(self.kept, self.n))
        return found

    cdef int take_extra(self, State state) except -1:
        memory = state.get("memory")
        if not isinstance(memory, dict):
            state.refuse("memory", "a dict", memory)
        if self.beside is not None:
            self.beside.restore(memory, self.n, state.given)
        self.kept = copy.deepcopy(memory)
        return 0


cdef Py_ssize_t ALL = numpy.iinfo(numpy.intp).max
cdef enum:
    BUSY = 1 << 15  # values read from which the GIL is let go: some microseconds


# --- arguments --------------------------------------------------------------------------------


cdef np.ndarray indices_of(object value, str name):
    """One-dimensional contiguous intp; the caller's own array where it is that."""
    if is_plain(value, np.NPY_INTP):
        return <np.ndarray>value
    given = <object>plain(value, name)
    if given.ndim != 1:
        raise ValueError(f"{name} must have 1 dimension, got shape {given.shape}")
    if given.size == 0:
        given = given.astype(numpy.intp)
    if given.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, got dtype {given.dtype}")
    if given.dtype.kind == "u" and (given > numpy.iinfo(numpy.intp).max).any():
        raise ValueError(f"{name} must hold indices, got {given.max()}")
    return <np.ndarray>numpy.ascontiguousarray(given, dtype=numpy.intp)


def index_array(value, str name, Py_ssize_t n, str of):
    """A copy of indices in 0 ... n - 1, for Python modules."""
    cdef np.ndarray found = <np.ndarray>indices_of(value, name).copy()
    cdef const Py_ssize_t *at = <const Py_ssize_t *>np.PyArray_DATA(found)
    cdef Py_ssize_t i
    for i in range(np.PyArray_DIM(found, 0)):
        if not 0 <= at[i] < n:
            refuse_index(at[i], name, n, of)
    return found


cdef int refuse_index(Py_ssize_t got, str name, Py_ssize_t n, str of) except -1:
    raise ValueError(f"{name} must be in 0 ... {n - 1} ({n} {of}), got {got}")


cdef np.ndarray documents_of(object x):
    """The matrix of a query's documents: at least one, with at least one feature."""
    cdef np.ndarray a = table_of(x, "x")
    if np.PyArray_DIM(a, 0) == 0 or np.PyArray_DIM(a, 1) == 0:
        raise ValueError("x must have at least one document and one feature, got shape "
                         f"{(<object>a).shape}")
    return a


# --- rows -------------------------------------------------------------------------------------


cdef Matrix matrix_of(np.ndarray a) noexcept:
    cdef Matrix x
    x.n, x.d, x.step = np.PyArray_DIM(a, 0), np.PyArray_DIM(a, 1), row_stride(a)
    x.floats = np.PyArray_TYPE(a) == np.NPY_FLOAT
    x.rows = <const char *>np.PyArray_DATA(a)
    return x


cdef bint finite_rows(const Matrix *x) noexcept nogil:
    cdef Py_ssize_t n = x.n, d = x.d, i
    if x.step == d:
        d, n = n * d, 1
    for i in range(n):
        if x.floats:
            if not K.all_finite_f32(d, <const float *>x.rows + i * x.step):
                return False
        elif not K.all_finite(d, <const double *>x.rows + i * x.step):
            return False
    return True


cdef void scores_of(const Matrix *x, const double *w, double *out) noexcept nogil:
    if x.floats:
        K.scores_f32(x.n, x.d, <const float *>x.rows, x.step, w, out)
    else:
        K.scores(x.n, x.d, <const double *>x.rows, x.step, w, out)


cdef void both_scores(const Matrix *x, const double *w, const double *other_w, double *out,
                      double *other) noexcept nogil:
    """By two weights, in one reading of the rows."""
    if x.floats:
        K.two_scores_f32(x.n, x.d, <const float *>x.rows, x.step, w, other_w, out, other)
    else:
        K.two_scores(x.n, x.d, <const double *>x.rows, x.step, w, other_w, out, other)


cdef void change(Bench b, Py_ssize_t m, const Matrix *x) noexcept nogil:
    """delta += sum of weight (x_plus - x_minus)"""
    if x.floats:
        K.change_of_features_f32(m, b.n, <const float *>x.rows, x.step, b.plus, b.minus, b.weight,
                                 b.delta)
    else:
        K.change_of_features(m, b.n, <const double *>x.rows, x.step, b.plus, b.minus, b.weight,
                             b.delta)


cdef void places(Bench b, Py_ssize_t first, Py_ssize_t last, const ptrdiff_t *ranking, double a,
                 const Matrix *x) noexcept nogil:
    """delta += a times the features of some places of a ranking"""
    if x.floats:
        K.features_f32(last - first, b.n, <const float *>x.rows, x.step, ranking + first, a,
                       b.discount + first, b.delta)
    else:
        K.features(last - first, b.n, <const double *>x.rows, x.step, ranking + first, a,
                   b.discount + first, b.delta)


cdef Py_ssize_t changed_places(Bench b, Py_ssize_t k, const ptrdiff_t *presented,
                               const ptrdiff_t *better) noexcept nogil:
    """plus, minus and weight of the places that hold another document; their number."""
    cdef Py_ssize_t r, m = 0
    for r in range(k):  # stored always, counted where they differ
        b.plus[m] = better[r]
        b.minus[m] = presented[r]
        b.weight[m] = b.discount[r]
        m += better[r] != presented[r]
    return m


cdef void ranking_delta(Bench b, Py_ssize_t p, const ptrdiff_t *presented, Py_ssize_t q,
                        const ptrdiff_t *better, const Matrix *x) noexcept nogil:
    """delta = phi(better) - phi(presented), of q and p places; place by place, so that equal
    documents that changed places leave nothing behind."""
    cdef Py_ssize_t both = min(p, q), m = changed_places(b, both, presented, better)
    memset(b.delta, 0, <size_t>b.n * sizeof(double))
    change(b, m, x)
    if p != q:
        places(b, both, q, better, 1.0, x)
        places(b, both, p, presented, -1.0, x)


cdef void item_delta(Bench b, ptrdiff_t presented, ptrdiff_t better,
                     const Matrix *x) noexcept nogil:
    """delta = x_better - x_presented"""
    b.plus[0] = better
    b.minus[0] = presented
    b.weight[0] = 1.0
    memset(b.delta, 0, <size_t>b.n * sizeof(double))
    change(b, better != presented, x)


# --- scratch ----------------------------------------------------------------------------------


cdef class Bench:
    def __dealloc__(self):
        L.free(self.memory)

    cdef int fit(self, Py_ssize_t docs, Py_ssize_t n, Py_ssize_t places) except -1:
        """Room for so many documents, features and places (in all at most `docs`); what was there
        is lost, but not where memory runs out."""
        cdef Py_ssize_t wide, deep, sorting, total
        cdef double *at
        places = min(places, docs)
        if docs <= self.docs and n == self.n and places <= self.places:
            return 0
        docs, places = max(docs, self.docs), max(places, self.places)
        product_of(20, docs, "scratch")
        product_of(20, n, "scratch")
        wide, deep = cf_pad(docs), cf_pad(places)
        sorting = max(cf_top_k_scratch(docs, places), 2 * places + 8)
        sorting *= <Py_ssize_t>(sizeof(cf_candidate) // sizeof(double))
        total = cf_pad(n) + 4 * wide + cf_pad(5 * docs) + 7 * deep + sorting
        at = <double *>take_scratch(total, sizeof(double))  # ptrdiff_t are as long
        L.free(self.memory)
        self.memory = at
        memset(at, 0, <size_t>cf_pad(n) * sizeof(double))
        self.delta, at = at, at + cf_pad(n)
        self.score, self.utility, self.own = at, at + wide, at + 2 * wide
        self.place, at = <ptrdiff_t *>(at + 3 * wide), at + 4 * wide
        memset(self.place, 0, <size_t>docs * sizeof(ptrdiff_t))
        self.drawn, at = <ptrdiff_t *>at, at + cf_pad(5 * docs)
        self.presented, self.better = <ptrdiff_t *>at, <ptrdiff_t *>(at + deep)
        self.plus, self.minus = <ptrdiff_t *>(at + 2 * deep), <ptrdiff_t *>(at + 3 * deep)
        self.weight, self.discount = at + 4 * deep, at + 5 * deep
        self.clicked, self.sorting = <ptrdiff_t *>(at + 6 * deep), at + 7 * deep
        K.discounts(places, self.discount)
        self.docs, self.n, self.places = docs, n, places
        return 0

    cdef Py_ssize_t take_places(self, np.ndarray given, str name, Py_ssize_t n, Py_ssize_t most,
                                ptrdiff_t *out) except -1:
        cdef const ptrdiff_t *y
        cdef Py_ssize_t m, i, j, document = 0
        cdef bint again = False
        if not is_plain(given, np.NPY_INTP):
            raise ValueError(f"{name} was changed while it was read")
        y, m = <const ptrdiff_t *>np.PyArray_DATA(given), np.PyArray_DIM(given, 0)
        if m == 0:
            raise ValueError(f"{name} must list at least one document")
        for i in range(m):
            document = y[i]
            if not 0 <= document < n or self.place[document]:
                again = 0 <= document < n
                break
            self.place[document] = 1
            if i < most:
                out[i] = document
        else:
            i = m
        for j in range(i):
            self.place[y[j]] = 0
        if i < m and again:
            raise ValueError(f"{name} must list each document once, {document} is repeated")
        if i < m:
            refuse_index(document, name, n, "documents")
        return min(m, most)


# --- the engine -------------------------------------------------------------------------------


cdef class CoactiveEngine(Engine):
    """One task and one rule.

    Parameters
    ----------
    task : Ranking, Items or an object with `dimension`, `features(x, y)` and `argmax(w, x)`
    make : callable
        A fresh rule.
    """

    def __init__(self, task, make):
        self.make, self.task, self.bench = make, task, Bench()
        self.rule = make()
        if isinstance(task, Ranking):
            self.kind, self.k = RANKING, task.k
        elif isinstance(task, Items):
            self.kind, self.items = ITEMS, task.features[:]
            self.rule.start(task.dimension)
        else:
            self.kind = OWN
            self.rule.start(dimension_of(task))

    # --- what every engine has --------------------------------------------------------------

    @property
    def fresh(self):
        return self.rule.rounds == 0

    @property
    def rounds(self):
        return self.rule.rounds

    def fresh_rule(self):
        """A rule of this learner that has learned nothing."""
        return self.make()

    @property
    def compiled(self):
        return self.rule.compiled and self.kind != OWN

    cdef dict told(self):
        return self.rule.told()

    cdef int take_state(self, State state) except -1:
        cdef Rule rule = self.make()
        if self.kind != RANKING and state.count("n") != self.rule.n:
            raise ValueError(f"state has {state.count('n')} features, but task has {self.rule.n}")
        rule.restore(state)
        self.guard.settle_write()
        self.rule = rule
        return 0

    cdef Rule fresh_rule_of(self, Py_ssize_t n):
        """A fresh rule, which knows the dimension n (0: not yet)."""
        cdef Rule rule = self.make()
        if n:
            rule.start(n)
        return rule

    def reset(self):
        cdef Rule rule = self.fresh_rule_of(0 if self.kind == RANKING else self.rule.n)
        self.guard.settle_write()
        self.rule = rule

    def adopt(self, CoactiveEngine other, changed):
        self.guard.settle_write()
        self.make = other.make
        self.rule.adopt(other.rule)

    # --- reading ----------------------------------------------------------------------------

    @property
    def weights(self):
        return self.vector(False)

    @property
    def average_weights(self):
        return self.vector(True)

    def vector(self, bint mean):
        cdef np.ndarray out
        cdef Rule rule
        self.guard.settle_read()  # no Python from here on: the rule stays what it is
        rule = self.rule
        out = new_vector(0 if mean and rule.rounds == 0 else rule.n)
        if np.PyArray_DIM(out, 0):
            memcpy(data_of(out), rule.mean if mean else rule.w, <size_t>rule.n * sizeof(double))
        return out

    def present(self, x, k=None):
        """The best object of context x by the present weights."""
        cdef Py_ssize_t places
        if self.kind == RANKING:
            places = ALL if k is None else as_count(k, "k")
            return self.rank(documents_of(x), places)
        if k is not None:
            raise ValueError("k goes with a Ranking task only")
        if self.kind == ITEMS:
            return self.best_item(self.candidates(x))
        return self.task.argmax(self.weights, x)

    def present_by_mean(self, x, k=None):
        """The best object by the mean of the weights; nothing is drawn."""
        cdef Py_ssize_t places
        if self.kind == RANKING:
            places = ALL if k is None else as_count(k, "k")
            return ranked(self.scored(documents_of(x), True), places)
        if k is not None:
            raise ValueError("k goes with a Ranking task only")
        if self.kind == ITEMS:
            return self.best_by_score(self.candidates(x), True)
        return self.task.argmax(self.scoring(True), x)

    def scores(self, x, bint average=False):
        """Scores of a query's documents or of candidates."""
        cdef np.ndarray c
        if self.kind == RANKING:
            return self.scored(documents_of(x), average)
        if self.kind == ITEMS:
            c = self.candidates(x)
            return self.scored(self.items if c is None else <np.ndarray>self.items[c], average)
        if not hasattr(self.task, "scores"):
            raise TypeError(f"task must have scores(w, x) for this; {self.task!r} has not")
        return self.task.scores(self.scoring(average), x)

    def scoring(self, bint average):
        """What scores are made with: the weights, or their mean where there is one."""
        found = self.vector(average)
        return found if found.size else self.weights

    cdef np.ndarray scored(self, np.ndarray a, bint mean):
        """Scores of rows; before the first round all weights are alike."""
        cdef np.ndarray out = new_vector(np.PyArray_DIM(a, 0))
        cdef Matrix x = matrix_of(a)
        cdef double *to = data_of(out)
        cdef double *alike = NULL
        cdef const double *w
        cdef Rule rule
        cdef Py_ssize_t i
        self.guard.settle_read()  # no Python from here on: the rule stays what it is
        rule = self.rule
        w = rule.mean if mean and rule.rounds else rule.w
        if rule.n == 0:
            alike = <double *>take_scratch(x.d, sizeof(double))
            for i in range(x.d):
                alike[i] = rule.initial(x.d)
            scores_of(&x, alike, to)
            L.free(alike)
        elif x.d != rule.n:
            self.refuse_dimension(x.d, "x")
        elif x.n * x.d < BUSY:
            scores_of(&x, w, to)
        else:
            self.guard.begin_read()
            w = rule.mean if mean and rule.rounds else rule.w  # a step exchanges the two
            with nogil:
                scores_of(&x, w, to)
            self.guard.end_read()
        if not K.all_finite(x.n, to):  # so does any NaN or infinity in x
            refuse_non_finite(a, "x")
            raise ValueError("x gives scores that overflow")
        return out

    cdef object rank(self, np.ndarray a, Py_ssize_t k):
        return ranked(self.scored(a, False), k)

    cdef np.ndarray candidates(self, x):
        """The candidates' indices, a copy; None stays None: all."""
        cdef np.ndarray c
        if x is None:
            return None
        c = <np.ndarray>index_array(x, "x", np.PyArray_DIM(self.items, 0), "items")
        if np.PyArray_DIM(c, 0) == 0:
            raise ValueError("x must hold at least one candidate")
        return c

    cdef Py_ssize_t item_at(self, object value, str name, np.ndarray candidates) except -1:
        """An item's index; one of the candidates, unless those are all."""
        cdef Py_ssize_t i = as_count(value, name), n = np.PyArray_DIM(self.items, 0)
        if i >= n:
            refuse_index(i, name, n, "items")
        if candidates is not None and not (candidates == i).any():
            raise ValueError(f"{name} must be one of the candidates in x, {i} is not")
        return i

    cdef object best_item(self, np.ndarray candidates):
        return self.best_by_score(candidates, False)

    cdef object best_by_score(self, np.ndarray candidates, bint mean):
        cdef np.ndarray score
        cdef ptrdiff_t best
        if candidates is None:
            score = self.scored(self.items, mean)
            K.top_k(np.PyArray_DIM(score, 0), data_of(score), 1, &best, NULL)
            return best
        score = self.scored(<np.ndarray>self.items[candidates], mean)
        # ties go to the lower item, wherever it stands among the candidates
        return int(candidates[score == score.max()].min())

    # --- changing ---------------------------------------------------------------------------

    cdef int refuse_dimension(self, Py_ssize_t n, str what) except -1:
        raise ValueError(f"{what} must have {self.rule.n} features, as what was learned before, "
                         f"got {n}")

    cdef int know(self, Py_ssize_t n, str what) except -1:
        """The dimension is n from now on, or was before; the lock is held."""
        if self.rule.n == 0:
            self.rule = self.fresh_rule_of(n)
        elif n != self.rule.n:
            self.refuse_dimension(n, what)
        return 0

    cdef int step(self, Py_ssize_t n, str what) except -1:
        """One round by the bench's delta; all or nothing, of a dimension that it brings too.

        `settle_write` was called, and nothing that runs Python since.
        """
        cdef Rule rule = self.rule
        cdef int status
        if rule.n and n * n < BUSY and rule.compiled:
            status = rule.step(self.bench.delta)
            return 0 if status == CF_OK else rule.fail(status, what)
        self.guard.begin_write()
        try:
            if rule.n == 0:
                rule = self.fresh_rule_of(n)
            with nogil:
                status = rule.step(self.bench.delta)
            if status != CF_OK:
                rule.fail(status, what)
            self.rule = rule
        finally:
            self.guard.end_write()
        return 0

    def learn(self, x, y, better):
        """One round: the user improved y to `better`."""
        cdef np.ndarray shown, wanted
        if self.kind == RANKING:
            self.learn_ranking(x, y, better)
        elif self.kind == ITEMS:
            self.learn_item(x, y, better)
        else:
            own, n = self.task.features, self.rule.n
            shown = written_out(own(x, y), "task.features(x, y)", n)
            wanted = written_out(own(x, better), "task.features(x, better)", n)
            for phi, name in ((shown, "y"), (wanted, "better")):
                if phi.size != n:
                    self.refuse_dimension(phi.size, f"task.features(x, {name})")
            self.learn_vector(<np.ndarray>numpy.subtract(wanted, shown), "the step")

    def update(self, delta):
        """One round with Delta itself."""
        self.learn_vector(written_out(delta, "delta", self.rule.n), "delta")

    cdef int learn_vector(self, np.ndarray v, str what) except -1:
        cdef Py_ssize_t n = np.PyArray_DIM(v, 0)
        self.guard.settle_write()
        if not K.all_finite(n, data_of(v)):
            refuse_non_finite(v, what)
            raise ValueError(f"{what} was changed while it was read")
        if self.rule.n and n != self.rule.n:
            self.refuse_dimension(n, what)
        self.bench.fit(1, n, 1)
        memcpy(self.bench.delta, data_of(v), <size_t>n * sizeof(double))
        return self.step(n, what)

    cdef int learn_ranking(self, x, y, better) except -1:
        cdef np.ndarray shown = indices_of(y, "y"), wanted = indices_of(better, "better")
        cdef np.ndarray a = documents_of(x)
        cdef Bench b = self.bench
        cdef Matrix rows
        cdef Py_ssize_t p, q
        self.guard.settle_write()
        rows = matrix_of(a)
        if self.rule.n and rows.d != self.rule.n:
            self.refuse_dimension(rows.d, "x")
        b.fit(rows.n, rows.d, self.k)
        p = b.take_places(shown, "y", rows.n, self.k, b.presented)
        q = b.take_places(wanted, "better", rows.n, self.k, b.better)
        if q < p:
            refuse_short(p, q)
        if not finite_rows(&rows):
            refuse_non_finite(a, "x")
            raise ValueError("x was changed while it was read")
        ranking_delta(b, p, b.presented, q, b.better, &rows)
        if not K.all_finite(rows.d, b.delta):
            raise ValueError("x gives a step that overflows")
        return self.step(rows.d, "x")

    cdef int learn_item(self, x, y, better) except -1:
        cdef np.ndarray c = self.candidates(x)
        cdef Py_ssize_t i = self.item_at(y, "y", c), j = self.item_at(better, "better", c)
        cdef Matrix rows = matrix_of(self.items)
        self.guard.settle_write()
        self.bench.fit(1, rows.d, 1)
        item_delta(self.bench, i, j, &rows)
        return self.step(rows.d, "the round")


cdef np.ndarray ranked(np.ndarray score, Py_ssize_t k):
    """The first k places by score."""
    cdef np.ndarray out
    cdef Py_ssize_t n = np.PyArray_DIM(score, 0)
    cdef void *scratch
    k = min(k, n)
    out = new_indices(k)
    scratch = take_scratch(cf_top_k_scratch(n, k), sizeof(cf_candidate))
    K.top_k(n, data_of(score), k, <ptrdiff_t *>np.PyArray_DATA(out), <cf_candidate *>scratch)
    L.free(scratch)
    return out


cdef int refuse_short(Py_ssize_t shown, Py_ssize_t better) except -1:
    """Of the places that count: feedback that ends early would take away what it does not name."""
    if better < shown:
        raise ValueError(f"better must list at least {shown} documents, as many of y count, got "
                         f"{better}")
    return 0


cdef Py_ssize_t dimension_of(object task) except -1:
    """Of a task of the user's own, which is looked at here."""
    cdef Py_ssize_t n
    if isinstance(task, type):
        raise TypeError(f"task must be an object, got the class {task.__name__}")
    for name in ("features", "argmax"):
        if not callable(getattr(task, name, None)):
            raise TypeError("task must be a Ranking, Items, or an object with dimension, "
                            f"features(x, y) and argmax(w, x); {task!r} has no {name}")
    if not hasattr(task, "dimension"):
        raise TypeError(f"task must tell its dimension; {task!r} does not")
    n = as_count(task.dimension, "task.dimension")
    if n == 0:
        raise ValueError("task.dimension must be >= 1, got 0")
    return n

# The Preference Perceptron in the feature space of a kernel (DEFINITIONS 2, "Kernels"): part of
# _engine.pyx.
#
# The score of a document z is sum_s c_s k(x_s, z) over the rows kept. A round adds the rows whose
# places the feedback changed, equal ones joined, with what they gained in 1/log2(place + 1). What
# is learned is a value that is never changed: a round makes the next one beside it, at the price of
# a copy of the rows, less than what one document's score costs several times over.


cdef class Expansion:
    # Invariants: never changed; `kept` holds a dense row for each of `coefficients`, none of which
    # is 0; `sizes` are the rows of each round that has some, oldest first, in all as many.
    cdef Kept kept
    cdef np.ndarray coefficients
    cdef list sizes

    def __init__(self, kernel, kernel_params, rows, coefficients, sizes):
        self.kept = Kept(kernel, kernel_params)
        if len(rows):
            self.kept.restore(opened({"n": rows.shape[0], "d": rows.shape[1], "form": KEPT_DENSE,
                               "rows": rows}, "rows"))
        self.coefficients, self.sizes = coefficients, sizes

    def rows(self, d):
        """A copy of the rows, of d features."""
        return self.kept.state()["rows"] if self.kept.n else numpy.empty((0, d))

    cdef int score(self, const cf_row *z, Forms forms, double *values,
                   double *out) noexcept nogil:
        cdef int status = self.kept.values(z, forms, 0, values)
        if status == CF_OK:
            out[0] = K.dot(self.kept.n, data_of(self.coefficients), values)
        return status


cdef class KernelEngine(CoactiveEngine):
    """A Perceptron over rankings, with a kernel.

    Parameters
    ----------
    task : Ranking
    kernel, kernel_params
        As `Kept` takes them.
    budget : int
        So many rows are kept at most, or (0) all.
    """

    cdef object kernel, params
    cdef Py_ssize_t budget, d      # d: features, 0 before the first round
    cdef Expansion learned

    def __init__(self, task, kernel, kernel_params, Py_ssize_t budget):
        self.kernel, self.params, self.budget = kernel, kernel_params, budget
        self.learned = self.expansion(numpy.empty((0, 0)), numpy.empty(0), [])
        CoactiveEngine.__init__(self, task, lambda: Perceptron(1))  # which counts the rounds

    def expansion(self, rows, coefficients, sizes):
        return Expansion(self.kernel, self.params, rows, coefficients, sizes)

    # --- what every engine has ----------------------------------------------------------------

    @property
    def compiled(self):
        return False  # runs are the loop of single calls

    @property
    def rows_kept(self):
        return self.learned.kept.n

    cdef dict told(self):
        return {"n": self.d, "rounds": self.rule.rounds, "rows": self.learned.rows(self.d),
                "coefficients": self.learned.coefficients,
                "sizes": numpy.array(self.learned.sizes, dtype=numpy.int64)}

    cdef int take_state(self, State state) except -1:
        cdef Rule rule = self.make()
        cdef Py_ssize_t d = state.count("n"), rounds = state.count("rounds", 0, MOST_ROUNDS), m
        if (d == 0) != (rounds == 0):
            state.refuse("rounds", "0 exactly where the number of features is not known", rounds)
        m = numpy.size(state.get("coefficients"))
        coefficients, rows = state.vector("coefficients", m), state.table("rows", m, d)
        sizes = state.counts("sizes", numpy.size(state.get("sizes")), 1, 2 * self.k)
        if sizes.sum() != m or len(sizes) > rounds:
            state.refuse("sizes", "the rows of each round")
        if not coefficients.all():
            state.refuse("coefficients", "other than 0")
        learned = self.expansion(rows, coefficients, sizes.tolist())
        self.guard.settle_write()
        rule.rounds = rounds
        self.rule, self.learned, self.d = rule, learned, d
        return 0

    def reset(self):
        cdef Rule rule = self.make()
        learned = self.expansion(numpy.empty((0, 0)), numpy.empty(0), [])
        self.guard.settle_write()
        self.rule, self.learned, self.d = rule, learned, 0

    def adopt(self, CoactiveEngine other, changed):
        self.guard.settle_write()
        self.budget = (<KernelEngine?>other).budget

    # --- reading ------------------------------------------------------------------------------

    cdef np.ndarray scored(self, np.ndarray a, bint mean):
        cdef np.ndarray out = <np.ndarray>numpy.zeros(np.PyArray_DIM(a, 0)), values
        cdef np.ndarray rows = <np.ndarray>numpy.ascontiguousarray(a, dtype=numpy.float64)
        cdef Expansion learned
        cdef Forms forms = Forms()
        cdef Matrix x = matrix_of(rows)
        cdef int status = CF_OK
        if mean:
            raise ValueError("average needs weights, and a kernel has none")
        if not finite_rows(&x):
            refuse_non_finite(a, "x")
        self.guard.begin_read()
        try:
            learned = self.learned
            if self.d and x.d != self.d:
                self.refuse_dimension(x.d, "x")
            values = new_vector(learned.kept.n)
            if learned.kept.n:
                with nogil:
                    status = score_all(learned, &x, forms, data_of(values), data_of(out))
        finally:
            self.guard.end_read()
        if status != CF_OK:
            learned.kept.errors.raise_own()
            refuse(status, "the scores of x")
        if not K.all_finite(x.n, data_of(out)):
            raise ValueError("x gives scores that overflow")
        return out

    cdef int refuse_dimension(self, Py_ssize_t n, str what) except -1:
        raise ValueError(f"{what} must have {self.d} features, as what was learned before, got {n}")

    # --- learning -----------------------------------------------------------------------------

    def update(self, delta):
        raise ValueError("update needs a delta of features, and a kernel has none: use learn")

    cdef int learn_ranking(self, x, y, better) except -1:
        cdef np.ndarray shown = indices_of(y, "y"), wanted = indices_of(better, "better")
        cdef np.ndarray a = documents_of(x)
        cdef Matrix rows = matrix_of(a)
        cdef Py_ssize_t p, q
        self.guard.begin_write()
        try:
            if self.d and rows.d != self.d:
                self.refuse_dimension(rows.d, "x")
            self.bench.fit(rows.n, 1, self.k)
            p = self.bench.take_places(shown, "y", rows.n, self.k, self.bench.presented)
            q = self.bench.take_places(wanted, "better", rows.n, self.k, self.bench.better)
            refuse_short(p, q)
            if not finite_rows(&rows):
                refuse_non_finite(a, "x")
            learned = self.grown(self.learned, *moves(
                numpy.asarray(a, dtype=numpy.float64),
                [self.bench.better[i] for i in range(q)],
                [self.bench.presented[i] for i in range(p)]))
            self.rule.rounds += 1
            self.learned, self.d = learned, rows.d
        finally:
            self.guard.end_write()
        return 0

    def grown(self, Expansion before, rows, coefficients):
        """A round more; the oldest leave whole for the budget."""
        cdef Expansion after
        if not len(rows):
            return before
        new = len(rows)
        sizes = [*before.sizes, new]
        rows = numpy.concatenate([before.rows(rows.shape[1]), rows])
        coefficients = numpy.concatenate([before.coefficients, coefficients])
        while self.budget and len(rows) > self.budget:
            gone = sizes.pop(0)
            rows, coefficients = rows[gone:], coefficients[gone:]
        after = self.expansion(rows, coefficients, sizes)
        refuse_bad_rows(after.kept, <np.ndarray>numpy.ascontiguousarray(rows[-new:]))
        return after


def moves(table, better, presented):
    """The rows that gained or lost places, equal ones joined, and what they gained.

    Counted by place before anything is added up, so that what returns to its place gains 0.
    """
    found = {}
    places = max(len(better), len(presented))
    for sign, ordering in ((1, better), (-1, presented)):
        for place, document in enumerate(ordering):
            at = found.setdefault(tuple(table[document].tolist()), [0] * places)
            at[place] += sign
    gains = {row: math.fsum(count / math.log2(place + 2) for place, count in enumerate(at))
             for row, at in found.items()}
    rows = [row for row, gain in gains.items() if gain != 0.0]
    return numpy.array(rows, dtype=numpy.float64), numpy.array([gains[row] for row in rows])


cdef int refuse_bad_rows(Kept kept, np.ndarray rows) except -1:
    """What the kernel has against a row it says now."""
    cdef Matrix x = matrix_of(rows)
    cdef cf_row row
    cdef double square
    cdef Py_ssize_t i
    cdef int status
    for i in range(x.n):
        row = row_at(&x, i)
        status = kept.own(&row, &square)
        if status != CF_OK:
            kept.errors.raise_own()
            refuse(status, "the kernel of a row of x with itself")
    return 0


cdef cf_row row_at(const Matrix *x, Py_ssize_t i) noexcept nogil:
    """Row i of float64."""
    cdef cf_row row
    row.n = row.nnz = x.d
    row.i32, row.i64 = NULL, NULL
    row.value = <const double *>x.rows + i * x.step
    return row


cdef int score_all(Expansion learned, const Matrix *x, Forms forms, double *values,
                   double *out) noexcept nogil:
    cdef Py_ssize_t i
    cdef cf_row row
    cdef int status = CF_OK
    for i in range(x.n):
        row = row_at(x, i)
        status = learned.score(&row, forms, values, out + i)
        if status != CF_OK:
            break
    return status
