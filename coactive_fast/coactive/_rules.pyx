"""The update rules of the coactive family; see _rules.pxd."""

import copy
import types

import numpy

cimport numpy as np
from libc.math cimport fabs, isfinite, sqrt
from libc.stddef cimport size_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport (
    as_vector, data_of, new_doubles, product_of, refuse, refuse_non_finite, take_scratch,
)
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_EVALUE, CF_FULL_AUTO, CF_OK, cf_get_library, cf_get_table, cf_library,
    cf_newton, cf_pad, cf_table,
)
from coactive_fast.convex._rules cimport Region
from coactive_fast.learner._state cimport State, vector_of
from coactive_fast.metric._full cimport Full

from coactive_fast.convex._rules import region_of
from coactive_fast._memory import refuse_beyond_limit

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
        if ((<Full>metric).core.n != self.n
                or (<Full>metric).core.ridge != self.epsilon):
            state.refuse("metric", f"of {self.n} features, with epsilon = {self.epsilon}")
        (<Full>metric)._ask_for(CF_FULL_AUTO)
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
