"""How coactive learners learn, their engines, users and runs (DEFINITIONS 2, 7)."""

import contextlib
import copy
import math
import types

import numpy

cimport cython
cimport numpy as np
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport INFINITY, fabs, floor, isfinite, sqrt
from libc.stddef cimport size_t
from libc.stdint cimport int16_t, int32_t, uint64_t
from libc.string cimport memcmp, memcpy, memmove, memset
from numpy.random cimport bitgen_t

from coactive_fast._arrays cimport (
    add_features, as_count, as_size, as_vector, data_of, finite_vector, indices_of, is_plain,
    matrix_of, new_doubles, new_indices, new_vector, numeric, product_of, refuse, refuse_bad_matrix,
    refuse_non_finite, scores_of, take_scratch,
)
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_EVALUE, CF_FULL_AUTO, CF_OK, cf_candidate, cf_click_scratch, cf_get_library,
    cf_get_table, cf_library, cf_newton, cf_pad, cf_roll, cf_row, cf_table, cf_top_k_scratch,
)
from coactive_fast.convex._rules cimport Region, is_unit
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._engine cimport Engine
from coactive_fast.learner._run cimport ASIDE, Run
from coactive_fast.learner._state cimport opened, vector_of
from coactive_fast.metric._metrics cimport KEPT_DENSE, Kept, Stored
from coactive_fast.rows._rows cimport Forms, table_of, written_out

from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.metric._metrics import Full
from coactive_fast.coactive._tasks import Items, Ranking
from coactive_fast.convex._rules import region_of
from coactive_fast.learner._history import CoactiveHistory
from coactive_fast.learner._random import copied

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()
cdef enum Kind:
    RANKING
    ITEMS
    OWN

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

    # --- settings and state, with the GIL ---------------------------------------------------------

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


cdef inline np.ndarray places_of(object value, str name):
    """Indices of documents, best first; not checked for their range."""
    if is_plain(value, np.NPY_INTP):
        return <np.ndarray>value
    return indices_of(numeric(value, name, 1), name)


def index_array(value, str name, Py_ssize_t n, str of):
    """A copy of indices in 0 ... n - 1, for Python modules."""
    cdef np.ndarray found = <np.ndarray>places_of(value, name).copy()
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
        add_features(q - both, x, better + both, 1.0, b.discount + both, b.delta)
        add_features(p - both, x, presented + both, -1.0, b.discount + both, b.delta)


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
    # Scratch of one thread's rounds, in one piece of memory, owned here. Invariant: either nothing
    # is there and docs = n = places = 0, or all of it for so many documents, features and places.
    cdef Py_ssize_t docs, n, places
    cdef void *memory
    cdef double *delta         # cf_pad(n), zero beyond n
    cdef double *score         # docs
    cdef double *utility       # docs
    cdef double *own           # docs: utilities of a user who has weights of its own
    cdef ptrdiff_t *place      # docs zeros
    cdef ptrdiff_t *drawn      # 5 docs: random rankings
    cdef ptrdiff_t took        # which of them was the answer, or -1
    cdef ptrdiff_t *presented  # places
    cdef ptrdiff_t *better     # places
    cdef ptrdiff_t *clicked    # places: 1 where the document shown there was clicked, else 0
    cdef Py_ssize_t counts     # the first documents of `better` that count for a side
    cdef ptrdiff_t *plus       # places
    cdef ptrdiff_t *minus      # places
    cdef double *weight        # places
    cdef double *discount      # places
    cdef void *sorting         # candidates of top_k

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
        """The first `most` places of a list of different documents out of n <= docs."""
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

    # The rule and the bench are used with the lock held, after the arguments are converted.
    cdef readonly Rule rule
    cdef object make           # () -> a fresh rule: what reset() begins with
    cdef readonly object task
    cdef Kind kind
    cdef Py_ssize_t k          # rankings: places that count
    cdef np.ndarray items      # catalogue
    cdef Bench bench

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
        self.lock.open()

    # --- what every engine has --------------------------------------------------------------------

    cdef bint is_fresh(self) except -1:
        return self.rule.rounds == 0

    @property
    def _rounds(self):
        return self.rule.rounds

    def fresh_rule(self):
        """A rule of this learner that has learned nothing."""
        return self.make()

    @property
    def compiled(self):
        return self.rule.compiled and self.kind != OWN

    cdef dict get_state(self):
        return self.rule.told()

    cdef int set_state(self, State state) except -1:
        cdef Rule rule = self.make()
        if self.kind != RANKING and state.count("n") != self.rule.n:
            raise ValueError(f"state has {state.count('n')} features, but task has {self.rule.n}")
        rule.restore(state)
        self.rule = rule
        return 0

    cdef Rule fresh_rule_of(self, Py_ssize_t n):
        """A fresh rule, which knows the dimension n (0: not yet)."""
        cdef Rule rule = self.make()
        if n:
            rule.start(n)
        return rule

    cdef int begin_again(self) except -1:
        self.rule = self.fresh_rule_of(0 if self.kind == RANKING else self.rule.n)
        return 0

    cdef int set_options(self, dict parts, list changed) except -1:
        make = (<CoactiveEngine?>parts["engine"]).make
        cdef Rule rule = make()
        rule.restore(opened(self.rule.told()))
        self.make, self.rule = make, rule
        return 0

    def delta(self):
        """A copy of the last round's."""
        return vector_of(self.bench.delta, self.rule.n)

    # --- reading ----------------------------------------------------------------------------------

    @property
    def weights(self):
        return self.vector(False)

    @property
    def average_weights(self):
        return self.vector(True)

    def vector(self, bint mean):
        cdef Rule rule
        self.lock.acquire_shared()
        try:
            rule = self.rule
            return vector_of(rule.mean if mean else rule.w,
                             0 if mean and rule.rounds == 0 else rule.n)
        finally:
            self.lock.release_shared()

    def present(self, x, k=None, bint mean=False):
        """The best object of context x by the present weights; by their mean nothing is drawn."""
        cdef np.ndarray a
        cdef Py_ssize_t places
        if self.kind == RANKING:
            places = ALL if k is None else as_count(k, "k")
            a = documents_of(x)
            return ranked(self.scored(a, True), places) if mean else self.rank(a, places)
        if k is not None:
            raise ValueError("k goes with a Ranking task only")
        if self.kind == ITEMS:
            a = self.candidates(x)
            return self.best_by_score(a, True) if mean else self.best_item(a)
        return self.task.argmax(self.scoring(mean), x)

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
        cdef bint brief = x.n * x.d < BUSY
        self.lock.acquire_read(brief)
        try:
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
            elif brief:
                scores_of(&x, w, to)
            else:
                with nogil:
                    scores_of(&x, w, to)
        finally:
            self.lock.release_read(brief)
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

    # --- changing ---------------------------------------------------------------------------------

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

    @cython.final
    cdef int step(self, Py_ssize_t n, str what) except -1:
        """One round by the bench's delta; all or nothing, of a dimension that it brings too."""
        cdef Rule rule = self.rule
        cdef int status
        if rule.n == 0:
            rule = self.fresh_rule_of(n)
        if n * n < BUSY and rule.compiled:
            status = rule.step(self.bench.delta)
        else:
            with nogil:
                status = rule.step(self.bench.delta)
        if status != CF_OK:
            rule.fail(status, what)
        if rule is not self.rule:
            self.rule = rule
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
        self.lock.acquire()
        try:
            if not K.all_finite(n, data_of(v)):
                refuse_non_finite(v, what)
            if self.rule.n and n != self.rule.n:
                self.refuse_dimension(n, what)
            self.bench.fit(1, n, 1)
            memcpy(self.bench.delta, data_of(v), <size_t>n * sizeof(double))
            return self.step(n, what)
        finally:
            self.lock.release()

    cdef int learn_ranking(self, x, y, better) except -1:
        cdef np.ndarray shown = places_of(y, "y"), wanted = places_of(better, "better")
        cdef np.ndarray a = documents_of(x)
        cdef Bench b = self.bench
        cdef Matrix rows
        cdef Py_ssize_t p, q
        self.lock.acquire()
        try:
            rows = matrix_of(a)
            self.take_feedback(a, &rows, shown, wanted, self.rule.n, &p, &q)
            ranking_delta(b, p, b.presented, q, b.better, &rows)
            if not K.all_finite(rows.d, b.delta):
                raise ValueError("x gives a step that overflows")
            self.step(rows.d, "x")
            return self.end_round()
        finally:
            self.lock.release()

    cdef int end_round(self) except -1:
        """After a round that was learned."""
        return 0

    @cython.final
    cdef int take_feedback(self, np.ndarray a, const Matrix *x, np.ndarray shown,
                           np.ndarray wanted, Py_ssize_t known, Py_ssize_t *p,
                           Py_ssize_t *q) except -1:
        """The places that count, p and q of them, into the bench; `known` features, 0: not yet."""
        if known and x.d != known:
            self.refuse_dimension(x.d, "x")
        self.bench.fit(x.n, x.d, self.k)
        p[0] = self.bench.take_places(shown, "y", x.n, self.k, self.bench.presented)
        q[0] = self.bench.take_places(wanted, "better", x.n, self.k, self.bench.better)
        refuse_short(p[0], q[0])
        return refuse_bad_matrix(a, x, "x")

    cdef int learn_item(self, x, y, better) except -1:
        cdef np.ndarray c = self.candidates(x)
        cdef Py_ssize_t i = self.item_at(y, "y", c), j = self.item_at(better, "better", c)
        cdef Matrix rows = matrix_of(self.items)
        self.lock.acquire()
        try:
            self.bench.fit(1, rows.d, 1)
            item_delta(self.bench, i, j, &rows)
            return self.step(rows.d, "the round")
        finally:
            self.lock.release()


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
    if isinstance(task, type):
        raise TypeError(f"task must be an object, got the class {task.__name__}")
    for name in ("features", "argmax"):
        if not callable(getattr(task, name, None)):
            raise TypeError("task must be a Ranking, Items, or an object with dimension, "
                            f"features(x, y) and argmax(w, x); {task!r} has no {name}")
    if not hasattr(task, "dimension"):
        raise TypeError(f"task must tell its dimension; {task!r} does not")
    return as_size(task.dimension, "task.dimension")

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
            self.kept.set_state(opened({"n": rows.shape[0], "d": rows.shape[1], "form": KEPT_DENSE,
                               "rows": rows}, "rows"))
        self.coefficients, self.sizes = coefficients, sizes

    def rows(self, d):
        """A copy of the rows, of d features."""
        return self.kept.get_state()["rows"] if self.kept.n else numpy.empty((0, d))


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

    # --- what every engine has --------------------------------------------------------------------

    @property
    def compiled(self):
        return False  # runs are the loop of single calls

    @property
    def rows_kept(self):
        return self.learned.kept.n

    cdef dict get_state(self):
        return {"n": self.d, "rounds": self.rule.rounds, "rows": self.learned.rows(self.d),
                "coefficients": self.learned.coefficients,
                "sizes": numpy.array(self.learned.sizes, dtype=numpy.int64)}

    cdef int set_state(self, State state) except -1:
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
        rule.rounds = rounds
        self.rule, self.learned, self.d = rule, learned, d
        return 0

    cdef int begin_again(self) except -1:
        cdef Rule rule = self.make()
        self.learned, self.d = self.expansion(numpy.empty((0, 0)), numpy.empty(0), []), 0
        self.rule = rule
        return 0

    cdef int set_options(self, dict parts, list changed) except -1:
        self.budget = (<KernelEngine?>parts["engine"]).budget
        return 0

    # --- reading ----------------------------------------------------------------------------------

    cdef np.ndarray scored(self, np.ndarray a, bint mean):
        cdef np.ndarray out = <np.ndarray>numpy.zeros(np.PyArray_DIM(a, 0)), values
        cdef np.ndarray rows = <np.ndarray>numpy.ascontiguousarray(a, dtype=numpy.float64)
        cdef Expansion learned
        cdef Forms forms = Forms()
        cdef Matrix x = matrix_of(rows)
        cdef int status = CF_OK
        if mean:
            raise ValueError("average needs weights, and a kernel has none")
        refuse_bad_matrix(rows, &x, "x")
        self.lock.acquire_shared()
        try:
            learned = self.learned
            if self.d and x.d != self.d:
                self.refuse_dimension(x.d, "x")
            values = new_vector(learned.kept.n)
            if learned.kept.n:
                with nogil:
                    status = score_all(learned, &x, forms, data_of(values), data_of(out))
        finally:
            self.lock.release_shared()
        if status != CF_OK:
            learned.kept.errors.raise_own()
            refuse(status, "the scores of x")
        if not K.all_finite(x.n, data_of(out)):
            raise ValueError("x gives scores that overflow")
        return out

    cdef int refuse_dimension(self, Py_ssize_t n, str what) except -1:
        raise ValueError(f"{what} must have {self.d} features, as what was learned before, got {n}")

    # --- learning ---------------------------------------------------------------------------------

    def update(self, delta):
        raise ValueError("update needs a delta of features, and a kernel has none: use learn")

    cdef int learn_ranking(self, x, y, better) except -1:
        cdef np.ndarray shown = places_of(y, "y"), wanted = places_of(better, "better")
        cdef np.ndarray a = documents_of(x)
        cdef Matrix rows
        cdef Py_ssize_t p, q
        self.lock.acquire()
        try:
            rows = matrix_of(a)
            self.take_feedback(a, &rows, shown, wanted, self.d, &p, &q)
            learned = self.grown(self.learned, *moves(
                numpy.asarray(a, dtype=numpy.float64),
                [self.bench.better[i] for i in range(q)],
                [self.bench.presented[i] for i in range(p)]))
            self.rule.rounds += 1
            self.learned, self.d = learned, np.PyArray_DIM(a, 1)
        finally:
            self.lock.release()
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
        status = learned.kept.values(&row, forms, 0, values)
        if status != CF_OK:
            break
        out[i] = K.dot(learned.kept.n, data_of(learned.coefficients), values)
    return status


# --- simulated users, and whole runs over rankings and items ----------------------------------

# Simulated users, and whole runs over rankings and items: present, answer, learn.
#
# A round of rankings reads the query's features once: scores by the learner's weights and utilities
# by w* come from one pass (two_scores), the beginning of the next query is fetched meanwhile, and
# the step touches the few documents that changed their place. Limit: that one reading from memory.

cdef enum Manner:
    ALPHA          # strictly alpha-informative
    DEPTH          # noisy, looks so deep
    EXPECTED       # alpha-informative on average
    BETTER         # items: the least better rating
    BEST           # items: the best rating
    ONE_HIGHER     # items: exactly one rating higher
    CASCADE        # clicks, until satisfied
    POSITION       # clicks where it looks: less often further down
    PERFECT        # clicks, looks everywhere


cdef enum:
    DRAWN = 5  # objects that an expected alpha-informative user may answer instead

KINDS = {"alpha": ALPHA, "depth": DEPTH, "expected": EXPECTED, "better": BETTER, "best": BEST,
         "one": ONE_HIGHER, "cascade": CASCADE, "position": POSITION, "perfect": PERFECT}

cdef extern from *:
    """
    /* Memory at an address into the second cache. The kernels ask for what lies 4 KB ahead of
     * them; what comes before that, and while no row is read, is asked for from here. */
    static void cf_fetch(const void *at, int bytes)
    {
    #if defined(__GNUC__)
        const char *p = at;
        for (int i = 0; i < bytes; i += 64)
            __builtin_prefetch(p + i, 0, 2);
    #else
        (void)at, (void)bytes;
    #endif
    }
    """
    void cf_fetch(const void *at, int bytes) noexcept nogil


# --- users ------------------------------------------------------------------------------------


cdef class Decider:
    # One user's parameters and chance. `bits` belongs to `generator`, whose lock the caller of a
    # nogil method holds where the kind draws.
    cdef Manner kind
    cdef double alpha, base
    cdef Py_ssize_t depth
    cdef np.ndarray seen       # POSITION: the chance that a place is looked at
    cdef readonly object generator
    cdef bitgen_t *bits

    def __init__(self, str kind, *, double alpha=0.0, base=None, Py_ssize_t depth=0,
                 double eta=0.0, Py_ssize_t places=0, generator=None):
        cdef Py_ssize_t i
        self.kind = KINDS[kind]
        self.alpha = alpha
        self.base = alpha if base is None else base
        self.depth = depth
        self.generator = generator
        places = places if self.kind == POSITION else 0
        self.seen = new_vector(places)
        for i in range(places):
            data_of(self.seen)[i] = K.exp_one(-eta * K.log_one(<double>(i + 1)))
        if generator is not None:
            self.bits = <bitgen_t *>PyCapsule_GetPointer(generator.bit_generator.capsule,
                                                         "BitGenerator")

    @property
    def lock(self):
        """The generator's lock, or None where no chance is at work."""
        return None if self.generator is None else self.generator.bit_generator.lock

    cdef Py_ssize_t looks_at(self, Py_ssize_t k) noexcept nogil:
        """How many presented places `rank` needs."""
        return max(k, self.depth) if self.kind == DEPTH else k

    cdef Py_ssize_t pick(self, Py_ssize_t m) noexcept nogil:
        """One of m, uniformly."""
        return <Py_ssize_t>(self.bits.next_double(self.bits.state) * m)

    cdef void draw_rankings(self, Bench b, Py_ssize_t n) noexcept nogil:
        """Uniform permutations, as swaps from the front."""
        cdef ptrdiff_t *y
        cdef Py_ssize_t r, i, j
        for r in range(DRAWN):
            y = b.drawn + r * n
            for i in range(n):
                y[i] = i
            for i in range(n - 1):
                j = i + self.pick(n - i)
                y[i], y[j] = y[j], y[i]

    cdef Py_ssize_t toss(self, double wanted, double gain, const double *gains) noexcept nogil:
        """-1: the deterministic answer; else which of the drawn. One draw, whatever p is."""
        cdef double mean = 0.0, p = 0.0, u
        cdef Py_ssize_t r
        for r in range(DRAWN):
            mean += gains[r]
        mean /= DRAWN
        if mean < wanted:
            p = 1.0
            if gain > wanted and gain > mean:
                p = (wanted - mean) / (gain - mean)
        u = self.bits.next_double(self.bits.state)
        if u < p:
            return -1
        r = <Py_ssize_t>((u - p) / (1.0 - p) * DRAWN)
        return min(r, DRAWN - 1)

    cdef void rank(self, Bench b, Py_ssize_t n, Py_ssize_t k, const double *utility,
                   const double *key, const double *label, double best) noexcept nogil:
        """b.better[0 .. k) from b.presented and the keys it is ordered by; k <= n."""
        cdef double gains[DRAWN]
        cdef double now
        cdef Py_ssize_t r
        b.took = -1
        if self.kind == DEPTH:
            L.feedback_depth(n, k, self.depth, label, b.presented, b.better)
            return
        if self.kind == EXPECTED:
            self.draw_rankings(b, n)
        L.feedback_alpha(K, n, k, utility, key, b.presented, b.discount, self.base, best, b.better)
        if self.kind != EXPECTED:
            return
        now = L.gain(k, utility, b.presented, b.discount)
        for r in range(DRAWN):
            gains[r] = L.gain(k, utility, b.drawn + r * n, b.discount) - now
        r = self.toss(self.alpha * (best - now),
                      L.gain(k, utility, b.better, b.discount) - now, gains)
        b.took = r
        if r >= 0:
            memcpy(b.better, b.drawn + r * n, <size_t>k * sizeof(ptrdiff_t))

    cdef Py_ssize_t click(self, Bench b, Py_ssize_t m, const double *chance,
                          const double *stop) noexcept nogil:
        """One draw a place that the user comes to, in a cascade one more after each click."""
        cdef Py_ssize_t place, clicks = 0
        cdef double likely
        memset(b.clicked, 0, <size_t>m * sizeof(ptrdiff_t))
        for place in range(m):
            likely = chance[b.presented[place]]
            if self.kind == POSITION:
                likely *= data_of(self.seen)[place]
            if self.bits.next_double(self.bits.state) >= likely:
                continue
            b.clicked[place] = 1
            clicks += 1
            if (self.kind == CASCADE
                    and self.bits.next_double(self.bits.state) < stop[b.presented[place]]):
                break
        return clicks

    # --- single answers ---------------------------------------------------------------------------

    def answer_ranking(self, x, presented, weights, label, k):
        """The improved ordering of all documents of x."""
        cdef np.ndarray y = places_of(presented, "presented"), given
        cdef np.ndarray a = documents_of(x), out, key
        cdef Matrix rows = matrix_of(a)
        cdef Py_ssize_t n = rows.n, places = min(<Py_ssize_t>k, n), deep, i, m
        cdef Bench b = Bench()
        cdef double best
        cdef ptrdiff_t *shown
        cdef ptrdiff_t *to
        if (label if self.kind == DEPTH else weights) is None:
            raise ValueError(f"{'query.relevance' if self.kind == DEPTH else 'weights'} must be "
                             "given for this user")
        if self.kind == DEPTH:
            given = finite_vector(label, "query.relevance", n, "the query's documents")
        else:
            given = finite_vector(weights, "weights", rows.d, "the query's features")
        b.fit(n, rows.d, n)
        shown, m = b.presented, b.take_places(y, "presented", n, n, b.presented)
        if m != n:
            raise ValueError(f"presented must order all {n} documents, got {m}")
        key, out = new_vector(n), new_indices(n)
        for i in range(n):
            data_of(key)[shown[i]] = -<double>i
        if self.kind == DEPTH:
            self.rank(b, n, places, NULL, NULL, data_of(given), 0.0)
        else:
            scores_of(&rows, data_of(given), b.utility)
            if not K.all_finite(n, b.utility):
                raise ValueError("query.features must be finite and give finite utilities")
            K.top_k(n, b.utility, places, b.better, <cf_candidate *>b.sorting)
            best = L.gain(places, b.utility, b.better, b.discount)
            with contextlib.nullcontext() if self.kind != EXPECTED else self.lock:
                self.rank(b, n, places, b.utility, data_of(key), NULL, best)
        to = <ptrdiff_t *>np.PyArray_DATA(out)
        if b.took >= 0:
            memcpy(to, b.drawn + b.took * n, <size_t>n * sizeof(ptrdiff_t))
            return out
        for i in range(places):
            to[i] = b.better[i]
            b.place[b.better[i]] = 1
        m = places
        for i in range(n):  # the rest below, as presented
            if not b.place[shown[i]]:
                to[m] = shown[i]
                m += 1
        return out

    def answer_clicks(self, presented, np.ndarray chance, np.ndarray stop):
        """The documents clicked, of those presented; two chances for each of all documents."""
        cdef np.ndarray y = places_of(presented, "presented"), out
        cdef Py_ssize_t n = np.PyArray_DIM(chance, 0), m, place, i = 0
        cdef Bench b = Bench()
        b.fit(n, 1, n)
        m = b.take_places(y, "presented", n, n, b.presented)
        with self.lock:
            out = new_indices(self.click(b, m, data_of(chance), data_of(stop)))
        for place in range(m):
            if b.clicked[place]:
                (<ptrdiff_t *>np.PyArray_DATA(out))[i] = b.presented[place]
                i += 1
        return out

    def answer_item(self, candidates, values, Py_ssize_t item):
        """The item picked; candidates ascending, values of the whole catalogue."""
        cdef double now, top
        there = values[candidates]
        now = values[item]
        top = there.max()
        if self.kind == ALPHA:
            return least_item(candidates, there, now, top, self.alpha, item)
        if self.kind == EXPECTED:
            return self.expected_item(candidates, values, there, item, now, top)
        if self.kind == BEST:
            return self.one_of(candidates[there == top])
        if self.kind == ONE_HIGHER:
            higher = candidates[there == now + 1.0]
        else:
            higher = candidates[there > now]
            higher = higher[values[higher] == values[higher].min(initial=numpy.inf)]
        return self.one_of(higher) if higher.size else item

    def one_of(self, allowed):
        if len(allowed) == 1:
            return int(allowed[0])
        with self.lock:
            return int(allowed[self.pick(len(allowed))])

    def expected_item(self, candidates, values, there, item, double now, double top):
        cdef double gains[DRAWN]
        cdef Py_ssize_t m = len(candidates), r
        cdef Py_ssize_t drawn[DRAWN]
        with self.lock:
            for r in range(DRAWN):
                drawn[r] = candidates[self.pick(m)]
                gains[r] = values[drawn[r]] - now
            answer = least_item(candidates, there, now, top, self.base, item)
            r = self.toss(self.alpha * (top - now), values[answer] - now, gains)
        return answer if r < 0 else drawn[r]


cdef object least_item(candidates, there, double now, double top, double alpha, item):
    """The candidate of lowest utility that closes the share alpha of the gap."""
    if now == top:
        return item
    enough = there - now >= alpha * (top - now)
    return int(candidates[enough][there[enough].argmin()])


# --- runs -------------------------------------------------------------------------------------


cdef class RankingRun(Run):
    """The queries, the user and the record of one run. All arrays are its own or never change.

    Parameters
    ----------
    data : RankingData
    order : ndarray of intp
    weights : ndarray of float64
        w* of the regret.
    own : ndarray of float64 or None
        w* of the user where it has another.
    user : Decider
    k : int
        Places that count.
    chances : pair of ndarray of float64, optional
        For clicks: each document's, of a click and of the end.
    look : HeldOut, optional
        Called after each `look.every` rounds, with no lock held.
    """

    cdef np.ndarray features, relevance, offsets, order, weights, own
    cdef np.ndarray chance, stop   # of clicks: each document's, of a click and of the end
    cdef Decider user
    cdef object look               # the held-out data, or None: looked at after `every` rounds
    cdef Py_ssize_t every, looks   # of them there were so many
    cdef np.ndarray utility, optimal, feedback
    cdef CoactiveEngine engine # at work, since the last pause
    cdef Py_ssize_t k
    cdef Matrix all            # the rows of all queries
    cdef Py_ssize_t row        # bytes of one
    cdef Bench bench           # for the user; the learner has its own

    def __init__(self, data, order, weights, own, Decider user, Py_ssize_t k, *,
                 chances=(None, None), look=None):
        cdef Py_ssize_t most
        self.features = data.features
        self.relevance = numpy.ascontiguousarray(data.relevance, dtype=numpy.float64)
        self.offsets = numpy.ascontiguousarray(data.offsets, dtype=numpy.intp)
        self.order, self.weights, self.own, self.user, self.k = order, weights, own, user, k
        self.all, self.row = matrix_of(self.features), data.dimension * data.features.itemsize
        self.total, self.mask = len(order), 0 if self.all.d > 1000 else 7  # the clock takes 25 ns
        self.utility, self.optimal, self.feedback = (numpy.empty(len(order)) for _ in range(3))
        most = numpy.diff(self.offsets).max(initial=1)
        self.bench = Bench()
        self.bench.fit(most, self.all.d, user.looks_at(k))
        self.chance, self.stop = chances
        self.look, self.every = look, 1 if look is None else look.every

    def measured(self):
        """Utilities of what was presented, of the best and of the feedback, of the rounds so far.
        """
        return tuple(found[:self.done] for found in (self.utility, self.optimal, self.feedback))

    def history(self):
        utility, optimal, feedback = self.measured()
        judged = {} if self.look is None else self.look.told()
        return CoactiveHistory(regret=optimal - utility, utility=utility, optimal_utility=optimal,
                               feedback_utility=feedback, **judged)

    cdef bint due(self) noexcept nogil:
        """Whether held-out data are to be looked at now."""
        return (self.look is not None and self.done > 0 and self.done % self.every == 0
                and self.done // self.every > self.looks)

    def run(self, Engine engine, report):
        Run.run(self, engine, report)
        if self.due():
            self.aside(engine)

    cdef int aside(self, Engine engine) except -1:
        self.look()
        self.looks += 1
        return 0

    cdef object lock(self):
        return self.user.lock

    cdef int begin(self, Engine engine) except -1:
        self.engine = <CoactiveEngine?>engine
        return self.engine.know(self.all.d, "data")

    cdef Py_ssize_t asked(self, Py_ssize_t t) noexcept nogil:
        """The query of round t, of the last one where there are no more."""
        return (<const ptrdiff_t *>np.PyArray_DATA(self.order))[min(t, self.total - 1)]

    cdef Py_ssize_t first(self, Py_ssize_t t) noexcept nogil:
        """Where the documents of round t begin."""
        return (<const ptrdiff_t *>np.PyArray_DATA(self.offsets))[self.asked(t)]

    cdef Matrix query(self, Py_ssize_t t) noexcept nogil:
        """The documents of round t."""
        cdef const ptrdiff_t *at = <const ptrdiff_t *>np.PyArray_DATA(self.offsets) + self.asked(t)
        cdef Matrix x = self.all
        x.n = at[1] - at[0]
        x.rows += at[0] * self.row
        return x

    cdef int round(self, Engine _) noexcept nogil:
        cdef Matrix x = self.query(self.done)
        if self.due():
            return ASIDE
        return self.play_round(self.engine, self.bench, &x)

    cdef int play_round(self, CoactiveEngine engine, Bench b, const Matrix *x) noexcept nogil:
        cdef Py_ssize_t n = x.n, k = min(self.k, n)
        cdef double best
        cdef int status
        both_scores(x, engine.rule.w, data_of(self.weights), b.score, b.utility)
        self.ask_ahead(0)
        if not (K.all_finite(n, b.score) and K.all_finite(n, b.utility)):
            return CF_ENONFINITE
        K.top_k(n, b.score, min(n, self.user.looks_at(k)), b.presented, <cf_candidate *>b.sorting)
        best = self.measure(b, n, k)
        self.ask_ahead(1)
        status = self.improve(b, x, b.score, best)
        if status != CF_OK:
            return status
        self.ask_ahead(2)
        return self.learn_better(engine, b, k, x)

    cdef void ask_ahead(self, Py_ssize_t part) noexcept nogil:
        """The beginning of the next query's rows into the cache: this 4 KB of it."""
        cf_fetch(self.all.rows + self.first(self.done + 1) * self.row + 4096 * part, 4096)

    cdef double measure(self, Bench b, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
        """The round's utilities, from b.utility and b.presented: that of the best ranking."""
        cdef double best
        K.top_k(n, b.utility, k, b.better, <cf_candidate *>b.sorting)
        best = L.gain(k, b.utility, b.better, b.discount)
        data_of(self.optimal)[self.done] = best
        data_of(self.utility)[self.done] = L.gain(k, b.utility, b.presented, b.discount)
        return best

    cdef int learn_better(self, CoactiveEngine engine, Bench b, Py_ssize_t k,
                          const Matrix *x) noexcept nogil:
        """The step towards b.better."""
        if engine.rule.direct():
            k = changed_places(b, k, b.presented, b.better)
            return engine.rule.step_places(k, x, b.plus, b.minus, b.weight)
        ranking_delta(b, k, b.presented, k, b.better, x)
        return engine.rule.step(b.delta)

    cdef int improve(self, Bench b, const Matrix *x, const double *key,
                     double best) noexcept nogil:
        cdef const double *utility = b.utility
        cdef const double *label = data_of(self.relevance) + self.first(self.done)
        cdef Py_ssize_t k = min(self.k, x.n)
        b.counts = k
        if self.chance is not None:
            b.counts = self.user.click(b, k, data_of(self.chance) + self.first(self.done),
                                       data_of(self.stop) + self.first(self.done))
            clicked_first(b, k)
            data_of(self.feedback)[self.done] = L.gain(k, b.utility, b.better, b.discount)
            return CF_OK
        if self.own is not None and self.user.kind != DEPTH:
            utility = b.own
            scores_of(x, data_of(self.own), b.own)
            if not K.all_finite(x.n, utility):
                return CF_ENONFINITE
            K.top_k(x.n, utility, k, b.better, <cf_candidate *>b.sorting)
            best = L.gain(k, utility, b.better, b.discount)
        self.user.rank(b, x.n, k, utility, key, label, best)
        data_of(self.feedback)[self.done] = L.gain(k, b.utility, b.better, b.discount)
        return CF_OK


cdef void clicked_first(Bench b, Py_ssize_t m) noexcept nogil:
    """b.better from b.presented: what was clicked, then the rest, each in presented order."""
    cdef Py_ssize_t place, front = 0, behind = b.counts
    for place in range(m):
        if b.clicked[place]:
            b.better[front] = b.presented[place]
            front += 1
        else:
            b.better[behind] = b.presented[place]
            behind += 1


# --- runs over many users of one catalogue ----------------------------------------------------

# Each user has a fresh learner and his own candidates; the catalogue is shared and read-only.
#
# Scores. Rules score what is left, whose rows are copied together now and then, whenever the
# weights have changed. The largest of every 64 scores is kept beside them: where the weights have
# not, the next best is found in O(n / 64 + 64). With the Gram matrix G of the items at hand, the
# Preference Perceptron's step by x_j - x_i moves all scores by G_j - G_i: two rows read instead of
# the whole catalogue. Memory is what such a step takes, so G is rounded to 16 bits, in units of a
# 32,767th of its largest entry, and the scores are sums of whole numbers, which are exact. What the
# rounding of G may have piled up since the scores were last made afresh is known; all that are
# within it of the best are scored afresh by the learner's own weights, which are kept as in the
# loop of single calls. So the decisions are those of that loop.
#
# Utilities are sorted once a user: the least item that closes the gap is a binary search and one
# look for the next that is still there. Users who go by ratings, or by chance, ask a roll
# (cf_roll.h) of the items, in the order of their ratings or of their indices.
cdef enum:
    NEAR = 16  # items that may be within the bound without a look at all
    RUNS = 16  # of equal utilities that are put in order one by one
    PEAK = 64  # scores that have their largest beside them

    FEW = 32   # moves after which scores are not made afresh: items so near each other are equal
    GONE = -1300000000  # below any score of MOST_MOVES moves, and above what overflows with them

MOST_MOVES = 8192  # 65,534 units each at most
cdef double UNIT = 2.0 ** -53


cdef class ItemsRun:
    """What all users share, and the record of the run.

    Parameters
    ----------
    items : ndarray of shape (n, N)
        float32 or float64, C-contiguous.
    gram : (ndarray of int16, shape (n, n), float), or None
        Whole numbers, and the unit that makes them products of the items. At most MOST_MOVES
        rounds.
    utility, optimal, feedback : ndarray of shape (users, rounds)
        Written a row a user; NaN before.
    """

    cdef readonly object items, gram, utility, optimal, feedback
    cdef Matrix all            # the rows of items
    cdef const int16_t *g      # of gram, or NULL
    cdef double unit           # what a one of it is worth
    cdef Py_ssize_t n, d, rounds
    cdef double longest        # the largest norm of an item
    cdef public bint stop      # set by another thread: every user ends after its round

    def __init__(self, items, gram, utility, optimal, feedback):
        self.items, self.gram = items, gram
        self.utility, self.optimal, self.feedback = utility, optimal, feedback
        self.all = matrix_of(items)
        if gram is not None:
            self.g = <const int16_t *>np.PyArray_DATA(<np.ndarray>gram[0])
            self.unit = gram[1]
        self.n, self.d = items.shape
        self.rounds = utility.shape[1]
        squares = numpy.einsum("ij,ij->i", items, items, dtype=numpy.float64)
        self.longest = float(numpy.sqrt(squares).max())

    def play(self, Py_ssize_t user, learner, Decider decider, weights, ratings):
        """All rounds of one user; `learner` is what the engine's `fresh_rule` made."""
        cdef Taste s
        cdef int status
        kind = (Comparisons if isinstance(learner, DuelingEngine) else
                Session if self.g == NULL else Moved)
        s = kind(self, learner, decider, weights, ratings)
        s.utility = data_of(self.utility) + user * self.rounds
        s.optimal = data_of(self.optimal) + user * self.rounds
        s.feedback = data_of(self.feedback) + user * self.rounds
        with nogil:
            status = s.run()
        if status != CF_OK:
            refuse(status, f"user {user}")


def item_utilities(np.ndarray items, np.ndarray weights):
    """The scores of all items by the weights of one user."""
    cdef Matrix rows = matrix_of(items)
    cdef np.ndarray out = new_vector(rows.n)
    scores_of(&rows, data_of(weights), data_of(out))
    if not K.all_finite(rows.n, data_of(out)):
        raise ValueError("weights give utilities that overflow")
    return out


def ascending(values):
    """The order of finite numbers, equal ones by their index."""
    with numpy.errstate(invalid="ignore"):
        whole = values.astype(numpy.int16)
    if (whole == values).all():
        return numpy.argsort(whole, kind="stable")  # by radix
    order = numpy.argsort(values)  # by vectors, and not stable
    found = values[order]
    equal = numpy.append(found[1:] == found[:-1], False)
    first = numpy.flatnonzero(equal & ~numpy.append(False, equal[:-1]))
    if first.size > RUNS:
        return numpy.argsort(values, kind="stable")
    for begin in first:
        end = begin + 1 + numpy.argmin(equal[begin:])
        order[begin:end].sort()
    return order


cdef class Taste:
    # One user: what he likes and what is left. Invariants: `left` counts the alive; below `top`
    # (a place in the sorted order) lies everything that is alive.
    cdef ItemsRun run_
    cdef Decider user
    cdef np.ndarray value, order       # utilities or ratings; places by utility
    cdef np.ndarray truth              # utilities, which regret is measured by
    cdef const double *truth_
    cdef const double *value_
    cdef const ptrdiff_t *order_
    cdef unsigned char *alive
    cdef Py_ssize_t left, top
    # What is read to score everything: `kept` rows, those of the items `id`, ascending, among
    # which are all that are alive; of the catalogue at first, then of `own`, which is freed here.
    cdef Matrix kept_rows
    cdef char *own
    cdef ptrdiff_t *id
    cdef Py_ssize_t kept
    # The record of this user: utilities of what was presented, of the best left, of the answer.
    cdef double *utility
    cdef double *optimal
    cdef double *feedback

    def __init__(self, ItemsRun run, Decider user, weights, ratings):
        cdef Py_ssize_t n = run.n, i
        self.run_, self.user = run, user
        self.value = self.truth = item_utilities(run.items, weights)
        if user.kind == BETTER or user.kind == BEST or user.kind == ONE_HIGHER:
            rounded = numpy.clip(numpy.rint(self.truth), 1.0, 5.0)
            self.value = <np.ndarray>(rounded if ratings is None else
                                      numpy.where(numpy.isnan(ratings), rounded, ratings))
        self.order = <np.ndarray>ascending(self.truth)
        self.truth_, self.value_ = data_of(self.truth), data_of(self.value)
        self.order_ = <const ptrdiff_t *>np.PyArray_DATA(self.order)
        self.alive = <unsigned char *>take_scratch(n, 1)
        memset(self.alive, 1, <size_t>n)
        self.id = <ptrdiff_t *>take_scratch(n, sizeof(ptrdiff_t))
        for i in range(n):
            self.id[i] = i
        self.kept_rows = run.all
        self.left = self.kept = n
        self.top = n - 1

    def __dealloc__(self):
        L.free(self.alive)
        L.free(self.id)
        L.free(self.own)

    cdef int run(self) noexcept nogil:
        return CF_OK

    cdef double best_left(self) noexcept nogil:
        """The highest utility of what is left."""
        while not self.alive[self.order_[self.top]]:
            self.top -= 1
        return self.truth_[self.order_[self.top]]

    cdef void keep_alive(self) noexcept nogil:
        """Copies the rows of what is left together, once an eighth of those read has left."""
        cdef size_t row = <size_t>self.run_.d * (4 if self.kept_rows.floats else 8)
        cdef Py_ssize_t p, m = 0
        if 8 * self.left > 7 * self.kept:
            return
        if self.own == NULL:
            self.own = <char *>L.alloc(<size_t>self.left, row)
            if self.own == NULL:
                return  # as before: more is read than needed
        for p in range(self.kept):
            if self.alive[self.id[p]]:
                memmove(self.own + m * row, self.kept_rows.rows + p * row, row)
                self.id[m] = self.id[p]
                m += 1
        self.kept_rows.rows = self.own
        self.kept = self.kept_rows.n = m

    cdef Py_ssize_t best_kept(self, double *score) noexcept nogil:
        """The best of what is left by scores of `kept` rows, ties to the lower one; -1: overflow.

        Scores of what has left become minus infinity.
        """
        cdef ptrdiff_t best
        cdef Py_ssize_t p
        for p in range(self.kept):
            if not self.alive[self.id[p]]:
                score[p] = -INFINITY
            elif not score[p] - score[p] == 0.0:
                return -1
        K.top_k(self.kept, score, 1, &best, NULL)
        return self.id[best]


cdef class Session(Taste):
    # One user of a learner that presents one item. Invariants: score[p] is that of item id[p],
    # p < kept, -inf exactly where it is gone; at[id[p]] = p of what is left; peak[b] is the largest
    # of score[64 b ... 64 b + 63]; next_place[p] leads to the first place >= p of the sorted
    # utilities that is alive (n: none), with its path halved at every walk.
    cdef Rule rule
    cdef Bench bench
    cdef double *memory                # owned; those that follow, but for the roll, point into it
    cdef double *score
    cdef double *peak
    cdef double *scored                # the weights by which scores were made, where `current`
    cdef ptrdiff_t *at
    cdef ptrdiff_t *next_place
    cdef ptrdiff_t *place              # of an item in the sorted order
    cdef uint64_t *called              # memory of the roll
    cdef cf_roll roll                  # of indices (EXPECTED) or of `graded` (BETTER, BEST)
    cdef np.ndarray graded, place_of, edge, end
    cdef const ptrdiff_t *graded_      # items by their ratings, NULL where nobody asks
    cdef const ptrdiff_t *place_of_    # the places there, of items
    cdef const ptrdiff_t *edge_        # where a place's rating begins (BEST) or ends (BETTER), or
                                       # where the rating one higher begins
    cdef const ptrdiff_t *end_         # and where that one ends
    cdef bint current

    def __init__(self, ItemsRun run, Rule rule, Decider user, weights, ratings):
        cdef Py_ssize_t n = run.n, i
        Taste.__init__(self, run, user, weights, ratings)
        self.rule = rule
        self.bench = Bench()
        self.bench.fit(1, run.d, 1)  # for a round's Delta
        self.memory = <double *>take_scratch(cf_pad(n) + cf_pad((n + PEAK - 1) // PEAK)
                                             + cf_pad(run.d) + 3 * n + 1, sizeof(double))
        self.score, self.peak = self.memory, self.memory + cf_pad(n)
        self.scored = self.peak + cf_pad((n + PEAK - 1) // PEAK)
        self.at = <ptrdiff_t *>(self.scored + cf_pad(run.d))  # ptrdiff_t are as long
        self.place, self.next_place = self.at + n, self.at + 2 * n
        for i in range(n):
            self.at[i] = self.next_place[i] = i
            self.place[self.order_[i]] = i
        self.next_place[n] = n
        self.call_roll()
        if rule.n == 0:
            rule.start(run.d)

    def __dealloc__(self):
        L.free(self.memory)
        L.free(self.called)

    cdef int call_roll(self) except -1:
        """The roll of users who ask one; by ratings with the places where a rating's items end."""
        cdef Py_ssize_t n = self.run_.n
        kind = self.user.kind
        if kind == ALPHA:
            return 0
        self.called = <uint64_t *>take_scratch(L.roll_size(n), sizeof(uint64_t))
        L.roll_call(&self.roll, n, self.called)
        if kind == EXPECTED:
            return 0
        order = ascending(self.value)
        values = self.value[order]
        wanted = values + 1.0 if kind == ONE_HIGHER else values
        self.edge = numpy.searchsorted(values, wanted, "right" if kind == BETTER else "left")
        self.end = numpy.searchsorted(values, wanted, "right")
        place_of = numpy.empty(n, dtype=numpy.intp)
        place_of[order] = numpy.arange(n)
        self.graded, self.place_of = <np.ndarray>order, <np.ndarray>place_of
        self.graded_ = <const ptrdiff_t *>np.PyArray_DATA(self.graded)
        self.place_of_ = <const ptrdiff_t *>np.PyArray_DATA(self.place_of)
        self.edge_ = <const ptrdiff_t *>np.PyArray_DATA(self.edge)
        self.end_ = <const ptrdiff_t *>np.PyArray_DATA(self.end)
        return 0

    cdef double score_of(self, Py_ssize_t i) noexcept nogil:
        """One item's score made afresh."""
        cdef const char *rows = self.run_.all.rows
        cdef Py_ssize_t d = self.run_.d
        if self.run_.all.floats:
            return K.dot_f32(d, <const float *>rows + i * d, self.rule.w)
        return K.dot(d, <const double *>rows + i * d, self.rule.w)

    cdef int run(self) noexcept nogil:
        cdef Py_ssize_t t, i, j
        cdef int status
        for t in range(self.run_.rounds):
            if self.left == 0 or self.run_.stop:
                break
            i = self.present()
            if i < 0:
                return CF_ENONFINITE
            self.utility[t] = self.truth_[i]
            self.optimal[t] = self.best_left()
            j = self.respond(i)
            self.feedback[t] = self.truth_[j]
            self.remove(i)  # first: the peaks come out of the step
            if j != i:
                self.remove(j)
            status = self.learn(i, j)
            if status != CF_OK:
                return status
        return CF_OK

    # --- presenting -------------------------------------------------------------------------------

    cdef Py_ssize_t present(self) noexcept nogil:
        """The best candidate, ties to the lower index; -1: scores overflow."""
        cdef ptrdiff_t block, within
        if not self.current and not self.score_all():
            return -1
        K.top_k((self.kept + PEAK - 1) // PEAK, self.peak, 1, &block, NULL)
        K.at_least(self.block_size(block), self.score + PEAK * block, self.peak[block], 1, &within)
        return self.id[PEAK * block + within]

    cdef Py_ssize_t block_size(self, Py_ssize_t block) noexcept nogil:
        return min(<Py_ssize_t>PEAK, self.kept - PEAK * block)

    cdef bint score_all(self) noexcept nogil:
        """All that is left by the weights of now; 0: overflow."""
        cdef Py_ssize_t p, before = self.kept
        self.keep_alive()
        if self.kept != before:
            for p in range(self.kept):
                self.at[self.id[p]] = p
        scores_of(&self.kept_rows, self.rule.w, self.score)
        for p in range(self.kept):
            if not self.alive[self.id[p]]:
                self.score[p] = -INFINITY
            elif not self.score[p] - self.score[p] == 0.0:
                return 0
        K.peaks(self.kept, self.score, self.peak)
        memcpy(self.scored, self.rule.w, <size_t>self.run_.d * sizeof(double))
        self.current = True
        return 1

    # --- the user ---------------------------------------------------------------------------------

    cdef Py_ssize_t next_alive(self, Py_ssize_t p) noexcept nogil:
        """The first place from p on whose item is there; n: none."""
        while self.next_place[p] != p:
            self.next_place[p] = self.next_place[self.next_place[p]]
            p = self.next_place[p]
        return p

    cdef Py_ssize_t least_enough(self, Py_ssize_t i, double alpha) noexcept nogil:
        """The candidate of lowest utility that closes the share alpha of the gap."""
        cdef const double *truth = self.truth_
        cdef const ptrdiff_t *order = self.order_
        cdef double now = truth[i], wanted = alpha * (truth[order[self.top]] - now)
        cdef Py_ssize_t low = 0, high = self.top, middle
        if now == truth[order[self.top]]:
            return i
        while low < high:  # the best left always is enough
            middle = (low + high) >> 1
            if truth[order[middle]] - now >= wanted:
                high = middle
            else:
                low = middle + 1
        middle = self.next_alive(low)
        # the best by the lowest index, should rounding have led beyond all
        return order[middle if middle < self.run_.n else self.top]

    cdef Py_ssize_t rated(self, Py_ssize_t i) noexcept nogil:
        """One of the candidates of the rating that the user wants, ties at random."""
        cdef const ptrdiff_t *edge = self.edge_
        cdef Py_ssize_t first, many
        if self.user.kind == BEST:
            first = L.roll_below(&self.roll, edge[L.roll_find(&self.roll, self.left - 1)])
            many = self.left - first
        elif self.user.kind == ONE_HIGHER:
            first = L.roll_below(&self.roll, edge[self.place_of_[i]])
            many = L.roll_below(&self.roll, self.end_[self.place_of_[i]]) - first
            if many == 0:
                return i
        else:
            first = L.roll_below(&self.roll, edge[self.place_of_[i]])
            if first == self.left:
                return i  # nothing is better
            many = L.roll_below(&self.roll, edge[L.roll_find(&self.roll, first)]) - first
        if many > 1:
            first += self.user.pick(many)
        return self.graded_[L.roll_find(&self.roll, first)]

    cdef Py_ssize_t respond(self, Py_ssize_t i) noexcept nogil:
        cdef double gains[5]
        cdef Py_ssize_t drawn[5]
        cdef const double *truth = self.truth_
        cdef const ptrdiff_t *order = self.order_
        cdef Py_ssize_t r, j
        if self.user.kind == ALPHA:
            return self.least_enough(i, self.user.alpha)
        if self.user.kind != EXPECTED:
            return self.rated(i)
        for r in range(5):
            drawn[r] = L.roll_find(&self.roll, self.user.pick(self.left))
            gains[r] = truth[drawn[r]] - truth[i]
        j = self.least_enough(i, self.user.base)
        r = self.user.toss(self.user.alpha * (truth[order[self.top]] - truth[i]),
                           truth[j] - truth[i], gains)
        return j if r < 0 else drawn[r]

    # --- learning ---------------------------------------------------------------------------------

    cdef int learn(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        cdef int status
        item_delta(self.bench, i, j, &self.run_.all)
        status = self.rule.step(self.bench.delta)
        if self.current:
            self.current = memcmp(self.scored, self.rule.w,
                                  <size_t>self.run_.d * sizeof(double)) == 0
        return status

    cdef void remove(self, Py_ssize_t i) noexcept nogil:
        self.alive[i] = 0
        self.strike(self.at[i])
        self.next_place[self.place[i]] = self.place[i] + 1
        self.left -= 1
        if self.called != NULL:
            L.roll_strike(&self.roll, i if self.graded_ == NULL else self.place_of_[i])

    cdef void strike(self, Py_ssize_t p) noexcept nogil:
        """The score at p is that of an item that has gone."""
        cdef Py_ssize_t block = p // PEAK
        cdef double was = self.score[p]
        self.score[p] = -INFINITY
        if was == self.peak[block]:
            K.peaks(self.block_size(block), self.score + PEAK * block, self.peak + block)


cdef class Moved(Session):
    # A Preference Perceptron whose scores are moved by G. Invariants: whole[i] units are within
    # `error` of what the weights give item i, or at most GONE + 65,534 a move since the scores
    # were made afresh; top[b] is the largest of whole[64 b ... 64 b + 63]; kept = n.
    cdef int32_t *whole
    cdef int32_t *top
    cdef ptrdiff_t *pending            # pairs of the unfinished batch
    cdef Py_ssize_t waiting, moves     # moves since the scores were made afresh
    cdef double length                 # of the weights
    cdef double error

    def __init__(self, ItemsRun run, Rule rule, Decider user, weights, ratings):
        Session.__init__(self, run, rule, user, weights, ratings)
        self.whole = <int32_t *>take_scratch(run.n, sizeof(int32_t))
        self.top = <int32_t *>take_scratch((run.n + PEAK - 1) // PEAK, sizeof(int32_t))
        self.pending = <ptrdiff_t *>take_scratch(
            2 * min((<Perceptron>rule).batch, run.rounds) + 2, sizeof(ptrdiff_t))
        self.refresh()

    def __dealloc__(self):
        L.free(self.whole)
        L.free(self.top)
        L.free(self.pending)

    cdef void refresh(self) noexcept nogil:
        """The scores by the weights of now, in units. They are finite: the weights are sums of no
        more than MOST_MOVES differences of rows whose squares are."""
        cdef double per_unit = 1.0 / self.run_.unit
        cdef Py_ssize_t i
        scores_of(&self.run_.all, self.rule.w, self.score)
        for i in range(self.run_.n):
            self.whole[i] = (<int32_t>floor(self.score[i] * per_unit + 0.5) if self.alive[i]
                             else GONE)
        K.whole_peaks(self.run_.n, self.whole, self.top)
        self.length = sqrt(K.dot(self.rule.n, self.rule.w, self.rule.w))
        self.error = 0.501 * self.run_.unit + 8.0 * UNIT * self.run_.longest * self.length
        self.moves = 0

    cdef Py_ssize_t present(self) noexcept nogil:
        cdef ptrdiff_t near[NEAR]
        cdef Py_ssize_t found = self.nearest(near)
        if found > NEAR and self.moves > FEW:
            self.refresh()
            found = self.nearest(near)
        if found > 1:
            near[0] = self.best_afresh(found, near) if found <= NEAR else self.best_of_all()
        cf_fetch(self.run_.g + near[0] * self.run_.n, 2048)  # while the user thinks
        return near[0]

    cdef int32_t least(self) noexcept nogil:
        """What the best may have for all that the errors allow, those of scores made afresh too."""
        cdef Py_ssize_t b
        cdef int32_t most = self.top[0]
        cdef double error = self.error + (self.run_.d + 4) * UNIT * self.run_.longest * self.length
        for b in range(1, (self.run_.n + PEAK - 1) // PEAK):
            if self.top[b] > most:
                most = self.top[b]
        return most - <int32_t>(2.0 * error / self.run_.unit) - 1

    cdef Py_ssize_t nearest(self, ptrdiff_t *near) noexcept nogil:
        """The items that may be the best in ascending order, and their number; NEAR + 1: more."""
        cdef ptrdiff_t block[NEAR]
        cdef int32_t least = self.least()
        cdef Py_ssize_t b, p, more, found = 0
        cdef Py_ssize_t blocks = K.whole_at_least((self.run_.n + PEAK - 1) // PEAK, self.top, least,
                                                  NEAR, block)
        if blocks > NEAR:
            return NEAR + 1
        for b in range(blocks):
            more = K.whole_at_least(self.block_size(block[b]), self.whole + PEAK * block[b], least,
                                    NEAR - found, near + found)
            if found + more > NEAR:
                return NEAR + 1
            for p in range(found, found + more):
                near[p] += PEAK * block[b]
            found += more
        return found

    cdef Py_ssize_t best_afresh(self, Py_ssize_t m, const ptrdiff_t *near) noexcept nogil:
        """Of some items in ascending order the best by scores made afresh."""
        cdef Py_ssize_t p, best = near[0]
        cdef double s, most = self.score_of(best)
        for p in range(1, m):
            s = self.score_of(near[p])
            if s > most:
                best, most = near[p], s
        return best

    cdef Py_ssize_t best_of_all(self) noexcept nogil:
        """The same where there are many (at first all scores are equal)."""
        cdef int32_t least = self.least()
        cdef Py_ssize_t i, best = -1
        cdef double s, most = 0.0
        for i in range(self.run_.n):
            if self.whole[i] >= least:
                s = self.score_of(i)
                if best < 0 or s > most:
                    best, most = i, s
        return best

    cdef int learn(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """The rule's step, and that of the scores where it ends a batch."""
        cdef const int16_t *g = self.run_.g
        cdef Py_ssize_t n = self.run_.n, p
        cdef int status
        if i != j:
            cf_fetch(g + j * n, 2048)
            self.pending[2 * self.waiting] = i
            self.pending[2 * self.waiting + 1] = j
            self.waiting += 1
        status = Session.learn(self, i, j)
        if status != CF_OK or (<Perceptron>self.rule).waiting or self.waiting == 0:
            return status
        for p in range(self.waiting):
            K.add_whole_difference(n, g + self.pending[2 * p + 1] * n, g + self.pending[2 * p] * n,
                                   self.whole, self.top)
        self.length = sqrt(K.dot(self.rule.n, self.rule.w, self.rule.w))
        # two roundings of G and of the products it was made of; the sums in the weights
        self.error += self.waiting * (1.001 * self.run_.unit + UNIT * self.run_.longest * (
            2.0 * (self.run_.d + 4) * self.run_.longest + 4.0 * self.length))
        self.moves += self.waiting
        self.waiting = 0
        return CF_OK

    cdef void strike(self, Py_ssize_t p) noexcept nogil:
        cdef Py_ssize_t block = p // PEAK
        cdef int32_t was = self.whole[p]
        self.whole[p] = GONE
        if was == self.top[block]:
            K.whole_peaks(self.block_size(block), self.whole + PEAK * block, self.top + block)


# --- clicks and duels -------------------------------------------------------------------------

# Learning from clicks and duels: PDGD, 3PR, the dueling bandit (DEFINITIONS 2, 7); their runs.
#
# One round is two calls. `present` draws and keeps what is pending, an answer ends it; what is kept
# is part of the state. A `present` that fails sets the generator back, so nothing has changed. The
# runs give the rounds of single calls.
#
# Cost beside one reading of x. Dueling bandit, rankings of n documents: one reading for both
# orderings, two sorts, O(n) to interleave them; items: one reading of the candidates' rows, in a
# run for w and w' together. Pair swaps draw n / 2 numbers; PDGD draws n numbers and takes 2 n
# logarithms, and where there are clicks n exponentials and some for each pair of places
# (cf_clicks.h).


def fresh_rule():
    """Weights that move by what they are given."""
    return Perceptron(1)


cdef class PendingRun(RankingRun)


cdef class PendingEngine(CoactiveEngine):
    """A rule of plain steps, chance, and what is pending.

    Parameters
    ----------
    task : Ranking or Items
    chance : Chance
        Owned from now on.
    """

    # What is pending, part of the state: `presented` (rankings: all n documents) and what a family
    # holds beside it. None where nothing is. Arrays are never changed in place.
    cdef np.ndarray presented

    def __init__(self, task, Chance chance):
        CoactiveEngine.__init__(self, task, fresh_rule)
        self.chance = chance

    # --- what every engine has --------------------------------------------------------------------

    cdef bint is_fresh(self) except -1:
        return self.rule.rounds == 0 and self.presented is None

    @property
    def rng(self):
        """A copy of the generator."""
        self.lock.acquire_shared()
        try:
            return copied(self.chance.generator)
        finally:
            self.lock.release_shared()

    cdef dict get_state(self):
        pending = None if self.presented is None else self.held()
        return {**self.rule.told(), **self.chance.state(), "pending": pending}

    cdef int set_state(self, State state) except -1:
        cdef tuple parts = None
        if state.get("pending") is not None:
            parts = self.checked(state.part("pending"), state)
        state.get("rng"), state.get("seed")
        chance = Chance.restored(state.given)
        CoactiveEngine.set_state(self, state)
        self.chance = chance
        self.hold(parts)
        return 0

    cdef int begin_again(self) except -1:
        chance = self.chance.fresh()
        CoactiveEngine.begin_again(self)
        self.chance = chance
        return self.hold(None)

    cdef int set_options(self, dict parts, list changed) except -1:
        CoactiveEngine.set_options(self, parts, changed)
        if "seed" in changed:
            self.chance = (<Engine>parts["engine"]).chance
        return 0

    # What a learner says itself. `order` draws what is shown of all documents, and gives what is
    # held beside it, or None where a score is not finite.
    cdef tuple order(self, const Matrix *x, ptrdiff_t *shown):
        raise NotImplementedError

    # as `checked` gives them; None: nothing
    cdef int hold(self, tuple parts) except -1:
        raise NotImplementedError

    # plain arrays and numbers, by name
    cdef dict held(self):
        raise NotImplementedError

    cdef tuple checked(self, State pending, State state):
        raise NotImplementedError

    # for an answer about n documents
    cdef int make_room(self, Py_ssize_t n) except -1:
        return 0

    # What a round over n documents draws.
    cdef int redraw(self, generator, Py_ssize_t n) except -1:
        raise NotImplementedError

    # A round of a run whose `bench` b is; the engine has its own.
    cdef int play(self, PendingRun run, Bench b, const Matrix *x) noexcept nogil:
        return CF_EVALUE

    # The round that ends what is pending: m places shown, of which bench.clicked are marked.
    cdef int answer(self, Bench b, const Matrix *x, Py_ssize_t m) noexcept nogil:
        return CF_EVALUE

    # --- present ----------------------------------------------------------------------------------

    cdef object rank(self, np.ndarray a, Py_ssize_t k):
        return self.drawn(a)[:k].copy()

    cdef object best_item(self, np.ndarray candidates):
        return self.drawn(candidates).copy()

    cdef np.ndarray drawn(self, np.ndarray a):
        """Draws for these documents or candidates; what is presented."""
        self.lock.acquire()
        try:
            rule, bits = self.rule, self.chance.generator.bit_generator
            before = bits.state
            try:
                self.draw(a)
            except BaseException:
                bits.state, self.rule = before, rule
                raise
            return self.presented
        finally:
            self.lock.release()

    cdef int draw(self, np.ndarray a) except -1:
        """Draws for documents or candidates and holds the outcome, with the lock held; when it
        fails the generator is wound back."""
        cdef Matrix x = matrix_of(a)
        cdef np.ndarray presented = new_indices(x.n)
        self.know(x.d, "x")
        self.bench.fit(x.n, x.d, x.n)
        beside = self.order(&x, <ptrdiff_t *>np.PyArray_DATA(presented))
        if beside is None:
            refuse_non_finite(a, "x")
            raise ValueError("x gives scores that overflow")
        return self.hold((presented, *beside))

    # --- learn ------------------------------------------------------------------------------------

    def learn_clicks(self, x, shown, clicked):
        """Ends what is pending, which is one round."""
        cdef np.ndarray y = places_of(shown, "shown"), wanted = places_of(clicked, "clicked")
        cdef np.ndarray a = documents_of(x)
        cdef Matrix rows
        cdef Py_ssize_t m
        cdef int status
        self.lock.acquire()
        try:
            m = self.take_shown(a, y, "shown")
            rows = matrix_of(a)
            self.take_clicks(wanted, m)
            self.make_room(rows.n)
            if rows.n * rows.d < BUSY and self.rule.compiled:
                status = self.answer(self.bench, &rows, m)
            else:
                with nogil:
                    status = self.answer(self.bench, &rows, m)
            if status != CF_OK:
                refuse(status, "x")
            self.hold(None)
        finally:
            self.lock.release()

    cdef int refuse_unpaired(self, str name) except -1:
        if self.presented is None:
            raise ValueError(f"{name} must be what present returned: call present before learning")
        return 0

    cdef Py_ssize_t take_shown(self, np.ndarray a, np.ndarray shown, str name) except -1:
        """How many places were shown of what is pending, which goes to the bench; the documents are
        looked at too."""
        cdef Matrix x = matrix_of(a)
        cdef Py_ssize_t n, m
        self.refuse_unpaired(name)
        n = np.PyArray_DIM(self.presented, 0)
        if x.n != n:
            raise ValueError(f"x must have the {n} documents that were presented, got {x.n}")
        if x.d != self.rule.n:
            self.refuse_dimension(x.d, "x")
        self.bench.fit(n, x.d, n)
        m = self.bench.take_places(shown, name, n, n, self.bench.presented)
        if not numpy.array_equal(shown, self.presented[:m]):
            raise ValueError(f"{name} must be what present returned last, or its first places")
        refuse_bad_matrix(a, &x, "x")
        return m

    cdef int take_clicks(self, np.ndarray clicked, Py_ssize_t m) except -1:
        """The places of the first m that were clicked: marks in the bench."""
        cdef Bench b = self.bench
        cdef const ptrdiff_t *at
        cdef Py_ssize_t n = np.PyArray_DIM(self.presented, 0), p, i
        cdef ptrdiff_t document = -1
        cdef bint good = True
        if not is_plain(clicked, np.NPY_INTP):
            raise ValueError("clicked was changed while it was read")
        at = <const ptrdiff_t *>np.PyArray_DATA(clicked)
        memset(b.clicked, 0, <size_t>m * sizeof(ptrdiff_t))
        for p in range(m):
            b.place[b.presented[p]] = p + 1
        for i in range(np.PyArray_DIM(clicked, 0)):
            document = at[i]
            if not 0 <= document < n or b.place[document] == 0:
                good = False
                break
            b.clicked[b.place[document] - 1] = 1
        for p in range(m):
            b.place[b.presented[p]] = 0
        if not good:
            raise ValueError(f"clicked must hold documents of shown, got {document}")
        return 0


cdef np.ndarray ordering_of(State pending):
    cdef Py_ssize_t n = numpy.size(pending.get("presented"))
    presented = pending.counts("presented", n)
    if n == 0 or not numpy.array_equal(numpy.sort(presented), numpy.arange(n)):
        pending.refuse("presented", "an ordering of all documents")
    return presented.astype(numpy.intp)


# --- runs -------------------------------------------------------------------------------------


cdef class PendingRun(RankingRun):
    """Arguments as those of `RankingRun`."""

    cdef Py_ssize_t begun      # the first round since the last pause,
    cdef dict before           # and the generator's state then
    cdef np.ndarray direction, shown, brought, key  # of a round

    def __init__(self, *given, **options):
        RankingRun.__init__(self, *given, **options)
        self.direction, self.key = new_vector(self.all.d), new_vector(self.bench.docs)
        self.shown = new_indices(self.bench.docs)
        self.brought = <np.ndarray>numpy.empty(self.bench.docs, dtype=numpy.uint8)

    cdef int begin(self, Engine engine) except -1:
        cdef PendingEngine at_work = <PendingEngine?>engine
        RankingRun.begin(self, engine)
        at_work.bench.fit(self.bench.docs, self.all.d, self.bench.docs)
        at_work.make_room(self.bench.docs)
        self.begun, self.before = self.done, at_work.chance.generator.bit_generator.state
        return 0

    cdef int end(self, Engine engine, int status) except -1:
        """What a round that failed has drawn is given back; what was pending before is over."""
        cdef PendingEngine at_work = <PendingEngine>engine
        cdef Py_ssize_t t
        if self.done > self.begun:
            at_work.hold(None)
        if status < CF_OK:
            generator = at_work.chance.generator
            generator.bit_generator.state = self.before
            for t in range(self.begun, self.done):
                at_work.redraw(generator, self.query(t).n)
        return 0

    cdef int play_round(self, CoactiveEngine engine, Bench b, const Matrix *x) noexcept nogil:
        return (<PendingEngine>engine).play(self, b, x)

    cdef int show(self, Bench b, const Matrix *x) noexcept nogil:
        """The user's part of a round that shows `shown`."""
        cdef Py_ssize_t n = x.n, k = min(self.k, n), i
        cdef ptrdiff_t *shown = <ptrdiff_t *>np.PyArray_DATA(self.shown)
        cdef double *key = data_of(self.key)
        if self.chance is None:
            for i in range(n):
                key[shown[i]] = -<double>i  # what the user walks down
        self.ask_ahead(1)
        memcpy(b.presented, shown, <size_t>min(n, self.user.looks_at(k)) * sizeof(ptrdiff_t))
        return self.improve(b, x, key, self.measure(b, n, k))


cdef class DuelingEngine(PendingEngine):
    """Dueling bandit gradient descent on rankings or items.

    Parameters
    ----------
    task : Ranking or Items
    explore : float
        w' = w + explore u.
    move : float
        w += move u when w' wins.
    chance : Chance
        Owned from now on.
    """

    cdef double explore, move
    # The pending comparison, beside `presented` (items: w's and that of w').
    cdef np.ndarray direction    # u
    cdef np.ndarray brought      # rankings: 1 for each document that w' brought, else 0

    def __init__(self, task, double explore, double move, Chance chance):
        PendingEngine.__init__(self, task, chance)
        self.explore, self.move = explore, move

    cdef int hold(self, tuple parts) except -1:
        self.presented, self.direction, self.brought = parts or (None, None, None)
        return 0

    def fresh_rule(self):
        """An engine of this learner that has learned nothing: chance goes with the rule."""
        return DuelingEngine(self.task, self.explore, self.move, self.chance.fresh())

    cdef dict held(self):
        return {"direction": self.direction, "presented": self.presented, "brought": self.brought}

    cdef tuple checked(self, State pending, State state):
        cdef np.ndarray direction = pending.vector("direction", state.count("n", 1))
        cdef np.ndarray presented, brought
        cdef Py_ssize_t n
        if not is_unit(direction.size, data_of(direction)):
            pending.refuse("direction", "of length 1")
        if self.kind != RANKING:
            presented = pending.counts("presented", 2, 0, len(self.items) - 1)
            if pending.get("brought") is not None:
                pending.refuse("brought", "None", pending.get("brought"))
            return presented.astype(numpy.intp), direction, None
        presented = ordering_of(pending)
        n = presented.size
        brought = pending.counts("brought", n, 0, 1)
        teams = brought[presented[:n // 2 * 2]]
        if (teams[::2] + teams[1::2] != 1).any():  # by turns, whoever begins
            pending.refuse("brought", "one of every two documents")
        return presented, direction, brought.astype(numpy.uint8)

    cdef int set_options(self, dict parts, list changed) except -1:
        cdef DuelingEngine given = <DuelingEngine?>parts["engine"]
        PendingEngine.set_options(self, parts, changed)
        self.explore, self.move = given.explore, given.move
        return 0

    # --- present ----------------------------------------------------------------------------------

    cdef int draw(self, np.ndarray a) except -1:
        return PendingEngine.draw(self, a) if self.kind == RANKING else self.compare_items(a)

    cdef void aim(self, Bench b, double *u) noexcept nogil:
        """u, uniform on the sphere; the bench's delta becomes w' = w + explore u."""
        cdef Py_ssize_t d = self.rule.n, i
        cdef double norm
        self.chance.normals(d, u)
        norm = sqrt(K.dot(d, u, u))
        for i in range(d):
            u[i] /= norm
        memcpy(b.delta, self.rule.w, <size_t>d * sizeof(double))
        K.axpy(d, self.explore, u, b.delta)

    cdef tuple order(self, const Matrix *x, ptrdiff_t *shown):
        cdef np.ndarray direction = new_vector(x.d)
        cdef np.ndarray brought = <np.ndarray>numpy.empty(x.n, dtype=numpy.uint8)
        cdef unsigned char *team = <unsigned char *>np.PyArray_DATA(brought)
        cdef bint finite
        self.aim(self.bench, data_of(direction))
        if x.n * x.d < BUSY:
            finite = self.draft(self.bench, x, shown, team)
        else:
            with nogil:
                finite = self.draft(self.bench, x, shown, team)
        return (direction, brought) if finite else None

    cdef int redraw(self, generator, Py_ssize_t n) except -1:
        generator.standard_normal(self.rule.n)
        generator.random((n + 1) // 2)  # a coin for every other place
        return 0

    cdef int play(self, PendingRun run, Bench b, const Matrix *x) noexcept nogil:
        cdef unsigned char *brought = <unsigned char *>np.PyArray_DATA(run.brought)
        cdef double *u = data_of(run.direction)
        cdef int status
        self.aim(self.bench, u)
        scores_of(x, data_of(run.weights), b.utility)
        if not (self.draft(self.bench, x, <ptrdiff_t *>np.PyArray_DATA(run.shown), brought)
                and K.all_finite(x.n, b.utility)):
            return CF_ENONFINITE
        status = run.show(b, x)
        if status != CF_OK:
            return status
        return self.move_by(self.bench, u, brought_most(b.counts, b.better, brought))

    cdef bint draft(self, Bench b, const Matrix *x, ptrdiff_t *presented,
                    unsigned char *brought) noexcept nogil:
        """Both orderings and their interleaving; 0 where a score is not finite."""
        cdef cf_candidate *sorting = <cf_candidate *>b.sorting
        both_scores(x, self.rule.w, b.delta, b.score, b.utility)
        if not (K.all_finite(x.n, b.score) and K.all_finite(x.n, b.utility)):
            return False
        K.top_k(x.n, b.score, x.n, b.presented, sorting)
        K.top_k(x.n, b.utility, x.n, b.better, sorting)
        interleave(x.n, b.presented, b.better, self.chance.bits, b.place, presented, brought)
        return True

    cdef int compare_items(self, np.ndarray candidates) except -1:
        cdef Matrix x = matrix_of(self.items)
        cdef np.ndarray direction = new_vector(x.d), presented = new_indices(2)
        cdef ptrdiff_t *best = <ptrdiff_t *>np.PyArray_DATA(presented)
        cdef const ptrdiff_t *index = NULL
        cdef Py_ssize_t m = x.n
        cdef bint finite
        if candidates is not None:
            m, index = np.PyArray_DIM(candidates, 0), <const ptrdiff_t *>np.PyArray_DATA(candidates)
        self.bench.fit(2, x.d, 1)
        self.aim(self.bench, data_of(direction))
        if x.n * x.d < BUSY:
            finite = best_two(&x, m, index, self.rule.w, self.bench.delta, best)
        else:
            with nogil:
                finite = best_two(&x, m, index, self.rule.w, self.bench.delta, best)
        if not finite:
            raise ValueError("explore gives scores that overflow")
        return self.hold((presented, direction, None))

    # --- learn ------------------------------------------------------------------------------------

    cdef int learn_ranking(self, x, y, better) except -1:
        cdef np.ndarray shown = places_of(y, "y"), wanted = places_of(better, "better")
        cdef np.ndarray a = documents_of(x)
        cdef Py_ssize_t n, m
        self.lock.acquire()
        try:
            m = self.take_shown(a, shown, "y")
            n = np.PyArray_DIM(self.presented, 0)
            self.bench.counts = self.bench.take_places(wanted, "better", n, self.k,
                                                       self.bench.better)
            refuse_short(min(m, self.k), self.bench.counts)
            self.finish(brought_most(self.bench.counts, self.bench.better, self.brought_()))
        finally:
            self.lock.release()
        return 0

    cdef int answer(self, Bench b, const Matrix *x, Py_ssize_t m) noexcept nogil:
        """The team that brought more of what was clicked wins."""
        cdef Py_ssize_t clicks = 0, wins = 0, p
        for p in range(m):
            clicks += b.clicked[p]
            wins += b.clicked[p] * self.brought_()[b.presented[p]]
        return self.move_by(b, data_of(self.direction), 2 * wins > clicks)

    cdef const unsigned char *brought_(self) noexcept nogil:
        return <const unsigned char *>np.PyArray_DATA(self.brought)

    cdef int learn_item(self, x, y, better) except -1:
        cdef np.ndarray c = self.candidates(x)
        cdef const ptrdiff_t *pair
        cdef Py_ssize_t i, j, item
        try:
            first, second = y
        except (TypeError, ValueError):
            raise ValueError("y must be the two items that present returned") from None
        i, j, item = as_count(first, "y"), as_count(second, "y"), as_count(better, "better")
        self.lock.acquire()
        try:
            self.refuse_unpaired("y")
            pair = <const ptrdiff_t *>np.PyArray_DATA(self.presented)
            if i != pair[0] or j != pair[1]:
                raise ValueError(f"y must be what present returned last, [{pair[0]}, {pair[1]}]")
            if item != i and item != j:
                raise ValueError(f"better must be one of the two items {i} and {j}, got {item}")
            if c is not None and not numpy.isin((i, j), c).all():
                raise ValueError(f"y must be among the candidates in x, got [{i}, {j}]")
            self.finish(item != i)
        finally:
            self.lock.release()
        return 0

    cdef int finish(self, bint won) except -1:
        """The comparison is over."""
        cdef int status
        self.bench.fit(2, self.rule.n, 1)  # the comparison may come from another engine
        status = self.move_by(self.bench, data_of(self.direction), won)
        if status != CF_OK:
            refuse(status, "step")
        return self.hold(None)

    cdef int move_by(self, Bench b, const double *u, bint won) noexcept nogil:
        """w += move u if w' won: the step of every round."""
        memset(b.delta, 0, <size_t>self.rule.n * sizeof(double))
        if won:
            K.axpy(self.rule.n, self.move, u, b.delta)
        return self.rule.step(b.delta)


cdef bint best_two(const Matrix *x, Py_ssize_t m, const ptrdiff_t *index, const double *w,
                   const double *other, ptrdiff_t *best) noexcept nogil:
    """The best items of w and of w', ties to the lower one; 0 where a score is not finite.

    Of m items, those of `index` where it is not NULL.
    """
    cdef Py_ssize_t i, j
    cdef double top[2]
    cdef double score[2]
    cdef Matrix one = x[0]
    cdef int side
    one.n = 1
    for j in range(m):
        i = j if index == NULL else index[j]
        one.rows = x.rows + i * x.step * (4 if x.floats else 8)
        both_scores(&one, w, other, &score[0], &score[1])
        for side in range(2):
            if score[side] - score[side] != 0.0:
                return False
            if j == 0 or score[side] > top[side] or (score[side] == top[side] and i < best[side]):
                top[side], best[side] = score[side], i
    return True


cdef bint brought_most(Py_ssize_t m, const ptrdiff_t *better,
                       const unsigned char *brought) noexcept nogil:
    """Whether w' brought more of the first m documents of the feedback than w."""
    cdef Py_ssize_t wins = 0, i
    for i in range(m):
        wins += brought[better[i]]
    return 2 * wins > m


cdef void interleave(Py_ssize_t n, const ptrdiff_t *own, const ptrdiff_t *other, bitgen_t *bits,
                     ptrdiff_t *placed, ptrdiff_t *presented,
                     unsigned char *brought) noexcept nogil:
    """Team-draft interleaving of two orderings of n documents.

    The team with fewer picks goes first, a coin where they are equal (at every other place), and
    takes its best document not yet placed. `placed` holds a zero for every document, before and
    after; brought[document] is 1 where `other` picked it.
    """
    cdef const ptrdiff_t *ordering[2]
    cdef Py_ssize_t at[2]
    cdef Py_ssize_t place
    cdef ptrdiff_t document
    cdef int turn = 0
    ordering[0], ordering[1] = own, other
    at[0] = at[1] = 0
    for place in range(n):
        turn = 1 - turn if place % 2 else bits.next_double(bits.state) >= 0.5
        while placed[ordering[turn][at[turn]]]:
            at[turn] += 1
        document = ordering[turn][at[turn]]
        placed[document] = 1
        presented[place] = document
        brought[document] = turn
    memset(placed, 0, <size_t>n * sizeof(ptrdiff_t))


# --- runs -------------------------------------------------------------------------------------


cdef class Comparisons(Taste):
    # One user, who prefers one of two items in every round.
    cdef DuelingEngine duel
    cdef np.ndarray direction, scores, others

    def __init__(self, ItemsRun run, DuelingEngine duel, Decider user, weights, ratings):
        Taste.__init__(self, run, user, weights, ratings)
        self.duel = duel
        duel.bench.fit(2, run.d, 1)
        self.direction = new_vector(run.d)
        self.scores, self.others = new_vector(run.n), new_vector(run.n)

    cdef int run(self) noexcept nogil:
        cdef double *u = data_of(self.direction)
        cdef double *score = data_of(self.scores)
        cdef double *other = data_of(self.others)
        cdef Py_ssize_t t, i, j
        cdef bint won
        cdef int status
        for t in range(self.run_.rounds):
            if self.left == 0 or self.run_.stop:
                break
            self.keep_alive()
            self.duel.aim(self.duel.bench, u)
            both_scores(&self.kept_rows, self.duel.rule.w, self.duel.bench.delta, score, other)
            i, j = self.best_kept(score), self.best_kept(other)
            if i < 0 or j < 0:
                return CF_ENONFINITE
            won = self.value_[j] > self.value_[i]
            self.utility[t] = (self.truth_[i] + self.truth_[j]) / 2.0
            self.optimal[t] = self.best_left()
            self.feedback[t] = self.truth_[j if won else i]
            status = self.duel.move_by(self.duel.bench, u, won)
            if status != CF_OK:
                return status
            self.alive[i] = self.alive[j] = 0
            self.left -= 1 + (i != j)
        return CF_OK


# --- pair swaps -------------------------------------------------------------------------------


cdef class PairwiseEngine(PendingEngine):
    """Neighbours change places at random; clicks say which of two is better.

    Parameters
    ----------
    task : Ranking
    swap : float
    chance : Chance
        Owned from now on.
    """

    cdef double swap
    cdef Py_ssize_t start      # of the pending pairs: at the first place, or at the second

    def __init__(self, task, double swap, Chance chance):
        PendingEngine.__init__(self, task, chance)
        self.swap = swap

    cdef int hold(self, tuple parts) except -1:
        self.presented, self.start = parts or (None, 0)
        return 0

    cdef dict held(self):
        return {"presented": self.presented, "start": self.start}

    cdef tuple checked(self, State pending, State state):
        return ordering_of(pending), pending.count("start", 0, 1)

    cdef int set_options(self, dict parts, list changed) except -1:
        PendingEngine.set_options(self, parts, changed)
        self.swap = (<PairwiseEngine?>parts["engine"]).swap
        return 0

    cdef tuple order(self, const Matrix *x, ptrdiff_t *shown):
        cdef Bench b = self.bench
        cdef bint finite
        with nogil:
            scores_of(x, self.rule.w, b.score)
            finite = K.all_finite(x.n, b.score)
        if not finite:
            return None
        K.top_k(x.n, b.score, x.n, shown, <cf_candidate *>b.sorting)
        return self.swap_pairs(x.n, x.n, shown),

    cdef int redraw(self, generator, Py_ssize_t n) except -1:
        start = generator.random() >= 0.5
        generator.random((n - start) // 2)
        return 0

    cdef int play(self, PendingRun run, Bench b, const Matrix *x) noexcept nogil:
        cdef Py_ssize_t n = x.n, k = min(run.k, n), deep = n, start
        cdef ptrdiff_t *shown = <ptrdiff_t *>np.PyArray_DATA(run.shown)
        cdef int status
        both_scores(x, self.rule.w, data_of(run.weights), b.score, b.utility)
        run.ask_ahead(0)
        if not (K.all_finite(n, b.score) and K.all_finite(n, b.utility)):
            return CF_ENONFINITE
        if run.chance is not None:
            deep = min(k + 1, n)  # what a swap may bring to the first k places
        K.top_k(n, b.score, deep, shown, <cf_candidate *>self.bench.sorting)
        start = self.swap_pairs(n, deep, shown)
        status = run.show(b, x)
        if status != CF_OK:
            return status
        run.ask_ahead(2)
        if run.chance is not None:
            feedback_of_pairs(b, k, start)
        return run.learn_better(self, b, k, x)

    cdef Py_ssize_t swap_pairs(self, Py_ssize_t n, Py_ssize_t deep,
                               ptrdiff_t *shown) noexcept nogil:
        """Draws for all pairs of n places, which change the first `deep` alone; where they start.
        """
        cdef Py_ssize_t start = self.chance.bits.next_double(self.chance.bits.state) >= 0.5
        cdef Py_ssize_t p = start
        while p + 1 < deep:
            if self.chance.bits.next_double(self.chance.bits.state) < self.swap:
                shown[p], shown[p + 1] = shown[p + 1], shown[p]
            p += 2
        while p + 1 < n:  # what is drawn does not depend on how much is shown
            self.chance.bits.next_double(self.chance.bits.state)
            p += 2
        return start

    cdef int end_round(self) except -1:
        return self.hold(None)

    cdef int answer(self, Bench b, const Matrix *x, Py_ssize_t m) noexcept nogil:
        feedback_of_pairs(b, m, self.start)
        m = min(m, self.k)
        ranking_delta(b, m, b.presented, m, b.better, x)
        return self.rule.step(b.delta)


cdef void feedback_of_pairs(Bench b, Py_ssize_t m, Py_ssize_t start) noexcept nogil:
    """b.better: as shown, but for the pairs whose lower document alone was clicked."""
    cdef Py_ssize_t p = start
    memcpy(b.better, b.presented, <size_t>m * sizeof(ptrdiff_t))
    while p + 1 < m:
        if b.clicked[p + 1] and not b.clicked[p]:
            b.better[p], b.better[p + 1] = b.better[p + 1], b.better[p]
        p += 2


# --- PDGD -------------------------------------------------------------------------------------


cdef class PDGDEngine(PendingEngine):
    """Draws rankings from the Plackett-Luce model; pairs of clicks, each by how fair it was.

    Parameters
    ----------
    task : Ranking
    rate : float
    chance : Chance
        Owned from now on.
    """

    cdef double rate
    cdef np.ndarray scores     # of the pending presentation, by document
    cdef np.ndarray spare      # scratch of cf_click_preferences

    def __init__(self, task, double rate, Chance chance):
        PendingEngine.__init__(self, task, chance)
        self.rate = rate
        self.spare = new_vector(0)

    cdef int hold(self, tuple parts) except -1:
        self.presented, self.scores = parts or (None, None)
        return 0

    cdef dict held(self):
        return {"presented": self.presented, "scores": self.scores}

    cdef tuple checked(self, State pending, State state):
        cdef np.ndarray presented = ordering_of(pending)
        scores = pending.vector("scores", presented.size)
        rest = numpy.asarray(presented)[self.k:]
        if not numpy.array_equal(rest, rest[numpy.lexsort((rest, -scores[rest]))]):
            pending.refuse("presented", f"by score behind the first {self.k} places")
        return presented, scores

    cdef int set_options(self, dict parts, list changed) except -1:
        PendingEngine.set_options(self, parts, changed)
        self.rate = (<PDGDEngine?>parts["engine"]).rate
        return 0

    cdef int make_room(self, Py_ssize_t n) except -1:
        if np.PyArray_DIM(self.spare, 0) < cf_click_scratch(n):
            self.spare = new_vector(cf_click_scratch(n))
        return 0

    cdef tuple order(self, const Matrix *x, ptrdiff_t *shown):
        cdef np.ndarray scores = new_vector(x.n)
        cdef bint finite
        with nogil:
            finite = self.draw_all(self.bench, x, data_of(scores), shown)
        return (scores,) if finite else None

    cdef int redraw(self, generator, Py_ssize_t n) except -1:
        generator.random(n)
        return 0

    cdef int play(self, PendingRun run, Bench b, const Matrix *x) noexcept nogil:
        cdef Py_ssize_t n = x.n, k = min(run.k, n)
        cdef int status
        both_scores(x, self.rule.w, data_of(run.weights), b.score, b.utility)
        run.ask_ahead(0)
        if not (K.all_finite(n, b.score) and K.all_finite(n, b.utility)):
            return CF_ENONFINITE
        self.draw_first(self.bench, n, b.score, b.presented)
        run.ask_ahead(1)
        status = run.improve(b, x, NULL, run.measure(b, n, k))
        if status != CF_OK:
            return status
        run.ask_ahead(2)
        return self.prefer(b, x, b.score, b.presented, k)

    cdef bint draw_all(self, Bench b, const Matrix *x, double *score,
                       ptrdiff_t *presented) noexcept nogil:
        """Scores, and all documents: the first places drawn, the rest by score. 0 where a score is
        not finite."""
        cdef Py_ssize_t n = x.n, m = min(self.k, n), i
        scores_of(x, self.rule.w, score)
        if not K.all_finite(n, score):
            return False
        self.draw_first(b, n, score, presented)
        K.top_k(n, score, n, b.better, <cf_candidate *>b.sorting)
        for i in range(m):
            b.place[presented[i]] = 1
        for i in range(n):
            if b.place[b.better[i]] == 0:
                presented[m] = b.better[i]
                m += 1
        memset(b.place, 0, <size_t>n * sizeof(ptrdiff_t))
        return True

    cdef void draw_first(self, Bench b, Py_ssize_t n, const double *score,
                         ptrdiff_t *first) noexcept nogil:
        """The first k places, from the Plackett-Luce model: one number a document."""
        cdef Py_ssize_t i
        for i in range(n):
            b.own[i] = self.chance.bits.next_double(self.chance.bits.state)
        K.gumbel(n, score, b.own, b.own)
        K.top_k(n, b.own, min(self.k, n), first, <cf_candidate *>b.sorting)

    cdef int answer(self, Bench b, const Matrix *x, Py_ssize_t m) noexcept nogil:
        return self.prefer(b, x, data_of(self.scores),
                           <const ptrdiff_t *>np.PyArray_DATA(self.presented), m)

    cdef int prefer(self, Bench b, const Matrix *x, const double *score, const ptrdiff_t *ranking,
                    Py_ssize_t m) noexcept nogil:
        """The step for b.clicked of the first m places of a ranking."""
        m = L.click_preferences(K, x.n, self.k, score, ranking, m, b.clicked, b.weight,
                                data_of(self.spare))
        memset(b.delta, 0, <size_t>x.d * sizeof(double))
        add_features(m, x, ranking, self.rate, b.weight, b.delta)
        return self.rule.step(b.delta)
