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
    add_features, as_count, as_size, as_vector, data_of, finite_vector, has_plain_rows, indices_of,
    is_plain, matrix_of, new_doubles, new_indices, new_vector, numeric, product_of, refuse,
    refuse_bad_matrix, refuse_non_finite, scores_of, take_scratch,
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
from coactive_fast.learner._check import switch
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


cdef class WeightUpdate:
    """Weights, their mean, the count of rounds, and how a round moves them."""

    def __cinit__(self):
        self.compiled, self.vectors = True, 4

    def __dealloc__(self):
        L.free(self.memory)

    cdef double *row(self, int i) noexcept nogil:
        return self.memory + i * cf_pad(self.n)

    cdef int start(self, Py_ssize_t n) except -1:
        cdef str what = f"weights of {n} features"
        cdef Py_ssize_t i, count = product_of(self.vectors, n, what)
        cdef double *memory
        refuse_beyond_limit(8.0 * count, what, "fewer features take less")
        memory = new_doubles(self.vectors, cf_pad(n), what)
        L.free(self.memory)
        self.memory, self.n = memory, n
        self.w, self.mean = self.row(0), self.row(1)
        self.w_next, self.mean_next = self.row(2), self.row(3)
        for i in range(n):
            self.w[i] = self.total / n
        return 0

    cdef int step(self, const double *delta) noexcept nogil:
        return CF_EVALUE

    cdef int mean_of_next(self) noexcept nogil:
        """mean_next from w_next; 0 where either is not finite."""
        return K.step_mean(self.n, 0.0, self.w_next, self.w_next, 1.0 / (self.rounds + 1),
                           self.mean, self.w_next, self.mean_next)

    cdef void commit(self) noexcept nogil:
        self.w, self.w_next = self.w_next, self.w
        self.mean, self.mean_next = self.mean_next, self.mean
        self.rounds += 1

    cdef dict own_state(self):
        return {}

    cdef int set_own_state(self, State state) except -1:
        return 0

    cdef dict get_state(self):
        state = {"n": self.n, "rounds": self.rounds}
        if self.n:
            state |= {"w": vector_of(self.w, self.n), "mean": vector_of(self.mean, self.n),
                      **self.own_state()}
        return state

    cdef int set_state(self, State state) except -1:
        """Into an update that was just made."""
        cdef Py_ssize_t n = state.count("n"), rounds = state.count("rounds", 0, MOST_ROUNDS)
        if n == 0 and rounds:
            state.refuse("rounds", "0 where the number of features is not known", rounds)
        if n:
            state.vector("w", n)  # so long at least are the arrays that there is memory to take for
            self.start(n)
            state.load("w", n, self.w)
            state.load("mean", n, self.mean)
            self.set_own_state(state)
        self.rounds = rounds
        return 0


cdef int raise_error(WeightUpdate update, int status, str what) except -1:
    """Raises what the status of a step means, first of all what code of the user's own raised."""
    error, update.error = update.error, None
    if error is None and update.region is not None:
        error, update.region.error = update.region.error, None
    if error is not None:
        raise error
    return refuse(status, what)


@cython.final
cdef class Perceptron(WeightUpdate):
    """w += the sum of the batch's Deltas, after its last round."""

    def __init__(self, Py_ssize_t batch):
        self.batch, self.vectors = batch, 6

    cdef int start(self, Py_ssize_t n) except -1:
        WeightUpdate.start(self, n)
        self.sum, self.sum_next = self.row(4), self.row(5)
        return 0

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

    cdef dict own_state(self):
        return {"waiting": self.waiting, "sum": vector_of(self.sum, self.n)}

    cdef int set_own_state(self, State state) except -1:
        self.waiting = state.count("waiting", 0, state.count("rounds"))
        state.load("sum", self.n, self.sum)
        if self.waiting == 0 and not all_zero(self.n, self.sum):
            state.refuse("sum", "zeros where no round is waiting")
        return 0


cdef class Record(WeightUpdate):
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
        WeightUpdate.start(self, n)
        memcpy(self.w, data_of(self.weights), <size_t>have * sizeof(double))
        return 0

    cdef int step(self, const double *delta) noexcept nogil:
        if self.rounds >= np.PyArray_DIM(self.out, 0):
            return CF_EVALUE
        memcpy(data_of(self.out) + self.rounds * self.n, delta, <size_t>self.n * sizeof(double))
        self.rounds += 1
        return CF_OK


cdef class Exponentiated(WeightUpdate):
    """Log weights theta += eta_t Delta; the weights are made from them, never doubled."""

    cdef double scale
    cdef double horizon        # 0: the variable rate
    cdef bint is_signed
    cdef double *theta         # log weights
    cdef double *theta_next

    def __init__(self, double scale, double horizon, bint is_signed):
        self.scale, self.horizon, self.is_signed = scale, horizon, is_signed
        self.vectors, self.total = 6, 0.0 if is_signed else 1.0

    cdef int start(self, Py_ssize_t n) except -1:
        WeightUpdate.start(self, n)
        self.theta, self.theta_next = self.row(4), self.row(5)
        return 0

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

    cdef dict own_state(self):
        return {"theta": vector_of(self.theta, self.n)}

    cdef int set_own_state(self, State state) except -1:
        return state.load("theta", self.n, self.theta)


def region_around_zero(feasible, Py_ssize_t n):
    """The set in dimension n, as an engine sees it."""
    if not feasible.contains(numpy.zeros(n)):
        raise ValueError(f"feasible must hold 0, where the weights start: {feasible!r} does not")
    return region_of(feasible, n)


cdef class Bounded(WeightUpdate):
    """What the updates share whose weights stay in a set that holds 0: the ball of `radius`, or
    `feasible` where that is given, which is `region` once the dimension is known."""

    cdef double radius
    cdef object feasible       # None: the ball

    cdef int start(self, Py_ssize_t n) except -1:
        cdef Region region = None
        if self.feasible is not None:
            region = region_around_zero(self.feasible, n)
        WeightUpdate.start(self, n)
        self.region = region
        return 0


cdef class Convex(Bounded):
    """A step of length slope / sqrt(t), then back into the set, Euclidean."""

    cdef double slope

    def __init__(self, double radius, double slope, feasible, bint compiled):
        self.radius, self.feasible, self.compiled = radius, feasible, compiled
        self.slope, self.vectors = slope, 5

    cdef int step(self, const double *delta) noexcept nogil:
        cdef double *moved = self.w_next if self.region is None else self.row(4)
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
        self.gamma, self.epsilon, self.deferred, self.vectors = gamma, epsilon, deferred, 7

    def __dealloc__(self):
        L.free(self.scratch)

    cdef int start(self, Py_ssize_t n) except -1:
        cdef double *scratch
        refuse_beyond_limit(30.0 * n * n, f"a matrix of {n} features", "other rules take less")
        metric = Full(n, ridge=self.epsilon)
        face, face_next = numpy.zeros(n, dtype=numpy.int8), numpy.zeros(n, dtype=numpy.int8)
        scratch = <double *>take_scratch(L.newton_scratch(n), sizeof(double))
        L.free(self.scratch)
        self.scratch = scratch
        Bounded.start(self, n)
        self.y, self.y_next, self.turned = self.row(4), self.row(5), self.row(6)
        if self.region is not None:
            self.region.prepare()
        self.metric, self.face, self.face_next = metric, face, face_next
        return 0

    cdef int step(self, const double *delta) noexcept nogil:
        cdef double lam = self.lam, rate = 1.0 / (self.rounds + 1)
        cdef Py_ssize_t i
        cdef int status
        if all_zero(self.n, delta):  # nothing moves, not even the last bit of what was projected
            memcpy(self.w_next, self.w, <size_t>self.n * sizeof(double))
            self.mean_of_next()
            self.commit()
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

    cdef dict own_state(self):
        state = {"y": vector_of(self.y, self.n), "lam": self.lam, "metric": self.metric.state()}
        return state if self.region is None else {**state, "face": self.face.copy()}

    cdef int set_own_state(self, State state) except -1:
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


cdef class Custom(WeightUpdate):
    """A user's own rule: called as rule(state, delta), returns the new weights.

    Parameters
    ----------
    rule : callable
    beside : object, optional
        Keeps more than the memory can, which is copied each round. What it holds that the memory
        does not know of is workspace. ``get_state(memory, n)`` gives its part of the update's
        state, ``set_state(memory, n, state)`` restores it.
    """

    cdef object rule
    cdef dict memory_of_rule
    cdef object beside         # more that belongs to the state, or None

    def __init__(self, rule, beside=None):
        self.rule, self.beside = rule, beside
        self.memory_of_rule, self.compiled = {}, False

    cdef int step(self, const double *delta) noexcept with gil:
        try:
            memory = copy.deepcopy(self.memory_of_rule)
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
        self.memory_of_rule = memory
        self.commit()
        return CF_OK

    cdef dict own_state(self):
        state = {"memory": copy.deepcopy(self.memory_of_rule)}
        if self.beside is not None:
            state.update(self.beside.get_state(self.memory_of_rule, self.n))
        return state

    cdef int set_own_state(self, State state) except -1:
        memory = state.get("memory")
        if not isinstance(memory, dict):
            state.refuse("memory", "a dict", memory)
        if self.beside is not None:
            self.beside.set_state(memory, self.n, state.given)
        self.memory_of_rule = copy.deepcopy(memory)
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


def in_order(clicked):
    """A set as a list; anything else as it is."""
    return sorted(clicked) if isinstance(clicked, (set, frozenset)) else clicked


cdef np.ndarray documents_of(object x):
    """The matrix of a query's documents: at least one, with at least one feature."""
    cdef np.ndarray a = <np.ndarray>(x if has_plain_rows(x, True) else table_of(x, "x"))
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


cdef bint both_finite(const Matrix *x, const double *w, const double *other_w, double *out,
                      double *other) noexcept nogil:
    """The same; 0 where a score is not finite."""
    both_scores(x, w, other_w, out, other)
    return K.all_finite(x.n, out) and K.all_finite(x.n, other)


cdef void change(RankingWorkspace ws, Py_ssize_t m, const Matrix *x) noexcept nogil:
    """delta += sum of weight (x_plus - x_minus)"""
    if x.floats:
        K.change_of_features_f32(m, ws.n, <const float *>x.rows, x.step, ws.plus, ws.minus,
                                 ws.weight, ws.delta)
    else:
        K.change_of_features(m, ws.n, <const double *>x.rows, x.step, ws.plus, ws.minus, ws.weight,
                             ws.delta)


cdef Py_ssize_t changed_places(RankingWorkspace ws, Py_ssize_t k, const ptrdiff_t *presented,
                               const ptrdiff_t *better) noexcept nogil:
    """plus, minus and weight of the places that hold another document; their number."""
    cdef Py_ssize_t r, m = 0
    for r in range(k):  # stored always, counted where they differ
        ws.plus[m] = better[r]
        ws.minus[m] = presented[r]
        ws.weight[m] = ws.discount[r]
        m += better[r] != presented[r]
    return m


cdef void ranking_delta(RankingWorkspace ws, Py_ssize_t p, const ptrdiff_t *presented, Py_ssize_t q,
                        const ptrdiff_t *better, const Matrix *x) noexcept nogil:
    """delta = phi(better) - phi(presented), of q and p places; place by place, so that equal
    documents that changed places leave nothing behind."""
    cdef Py_ssize_t both = min(p, q), m = changed_places(ws, both, presented, better)
    memset(ws.delta, 0, <size_t>ws.n * sizeof(double))
    change(ws, m, x)
    if p != q:
        add_features(q - both, x, better + both, 1.0, ws.discount + both, ws.delta)
        add_features(p - both, x, presented + both, -1.0, ws.discount + both, ws.delta)


cdef void item_delta(RankingWorkspace ws, ptrdiff_t presented, ptrdiff_t better,
                     const Matrix *x) noexcept nogil:
    """delta = x_better - x_presented"""
    ws.plus[0] = better
    ws.minus[0] = presented
    ws.weight[0] = 1.0
    memset(ws.delta, 0, <size_t>ws.n * sizeof(double))
    change(ws, better != presented, x)


# --- scratch ----------------------------------------------------------------------------------


cdef class RankingWorkspace:
    # The workspace of one thread's rounds, in one piece of memory, owned here. Invariant: either
    # nothing is there and docs = n = places = sorts = 0, or all of it for so many documents,
    # features, places and places to be sorted.
    cdef Py_ssize_t docs, n, places, sorts
    cdef void *memory
    cdef double *delta         # cf_pad(n), zero beyond n
    cdef double *score         # docs
    cdef double *utility       # docs
    cdef double *own           # docs: utilities of a user who has weights of its own
    cdef ptrdiff_t *place      # docs zeros
    cdef ptrdiff_t *drawn      # 5 docs: random rankings; or room of cf_click_preferences
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

    cdef int reserve(self, Py_ssize_t docs, Py_ssize_t n, Py_ssize_t places,
                 Py_ssize_t sorts=0) except -1:
        """Room for so many documents, features and places (in all at most `docs`), and to sort the
        first `places` or `sorts`; what was there is lost, but not where memory runs out."""
        cdef Py_ssize_t wide, deep, sorting, total
        cdef double *at
        places = min(places, docs)
        sorts = max(min(sorts, docs), places)
        if (docs <= self.docs and n == self.n and places <= self.places
                and sorts <= self.sorts):
            return 0
        docs, places, sorts = max(docs, self.docs), max(places, self.places), max(sorts, self.sorts)
        product_of(20, docs, "scratch")
        product_of(20, n, "scratch")
        wide, deep = cf_pad(docs), cf_pad(places)
        sorting = max(cf_top_k_scratch(docs, sorts), 2 * places + 8)
        sorting *= <Py_ssize_t>(sizeof(cf_candidate) // sizeof(double))
        total = cf_pad(n) + 4 * wide + cf_pad(cf_click_scratch(docs)) + 7 * deep + sorting
        at = <double *>take_scratch(total, sizeof(double))  # ptrdiff_t are as long
        L.free(self.memory)
        self.memory = at
        memset(at, 0, <size_t>cf_pad(n) * sizeof(double))
        self.delta, at = at, at + cf_pad(n)
        self.score, self.utility, self.own = at, at + wide, at + 2 * wide
        self.place, at = <ptrdiff_t *>(at + 3 * wide), at + 4 * wide
        memset(self.place, 0, <size_t>docs * sizeof(ptrdiff_t))
        self.drawn, at = <ptrdiff_t *>at, at + cf_pad(cf_click_scratch(docs))
        self.presented, self.better = <ptrdiff_t *>at, <ptrdiff_t *>(at + deep)
        self.plus, self.minus = <ptrdiff_t *>(at + 2 * deep), <ptrdiff_t *>(at + 3 * deep)
        self.weight, self.discount = at + 4 * deep, at + 5 * deep
        self.clicked, self.sorting = <ptrdiff_t *>(at + 6 * deep), at + 7 * deep
        K.discounts(places, self.discount)
        self.docs, self.n, self.places, self.sorts = docs, n, places, sorts
        return 0

    cdef Py_ssize_t read_places(self, np.ndarray given, str name, Py_ssize_t n, Py_ssize_t most,
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


cdef void put_rest(RankingWorkspace ws, Py_ssize_t n, Py_ssize_t m, const ptrdiff_t *order,
                   ptrdiff_t *ranking) noexcept nogil:
    """Behind the first m places of a ranking the other ones of all n documents, in this order."""
    cdef Py_ssize_t i
    for i in range(m):
        ws.place[ranking[i]] = 1
    for i in range(n):
        if not ws.place[order[i]]:
            ranking[m] = order[i]
            m += 1
    memset(ws.place, 0, <size_t>n * sizeof(ptrdiff_t))


# --- kernels ----------------------------------------------------------------------------------

# The Preference Perceptron in the feature space of a kernel (DEFINITIONS 2, "Kernels").
#
# The score of a document z is sum_s c_s k(x_s, z) over the rows kept. A round adds the rows whose
# places the feedback changed, equal ones joined, with what they gained in 1/log2(place + 1). The
# rows kept are never changed: a round makes the next ones beside them, at the price of a copy, less
# than what one document's score costs several times over.


cdef class KernelPerceptron(WeightUpdate):
    """The Perceptron over rankings with a kernel. It has no weights, and so no `step`: `n` is the
    number of features alone.

    Parameters
    ----------
    kernel, kernel_params
        As `Kept` takes them.
    budget : int
        So many rows are kept at most, or (0) all.
    places : int
        Places of a ranking that count.
    """

    # Invariants: `kept` holds a dense row for each of `coefficients`, none of which is 0; `sizes`
    # are the rows of each round that has some, oldest first, in all as many.
    cdef object kernel, params
    cdef Py_ssize_t budget, places
    cdef Kept kept
    cdef np.ndarray coefficients
    cdef list sizes

    def __init__(self, kernel, kernel_params, Py_ssize_t budget, Py_ssize_t places):
        self.kernel, self.params, self.budget, self.places = kernel, kernel_params, budget, places
        self.kept, self.coefficients, self.sizes = self.keep(()), numpy.empty(0), []
        self.compiled = False  # runs are the loop of single calls

    cdef Kept keep(self, rows):
        """A store of these rows."""
        cdef Kept kept = Kept(self.kernel, self.params)
        if len(rows):
            kept.set_state(opened({"n": rows.shape[0], "d": rows.shape[1], "form": KEPT_DENSE,
                                 "rows": rows}, "rows"))
        return kept

    cdef object rows(self):
        """A copy of the rows kept."""
        return self.kept.get_state()["rows"] if self.kept.n else numpy.empty((0, self.n))

    cdef int start(self, Py_ssize_t n) except -1:
        self.n = n
        return 0

    cdef dict get_state(self):
        return {"n": self.n, "rounds": self.rounds, "rows": self.rows(),
                "coefficients": self.coefficients,
                "sizes": numpy.array(self.sizes, dtype=numpy.int64)}

    cdef int set_state(self, State state) except -1:
        cdef Py_ssize_t d = state.count("n"), rounds = state.count("rounds", 0, MOST_ROUNDS), m
        if (d == 0) != (rounds == 0):
            state.refuse("rounds", "0 exactly where the number of features is not known", rounds)
        m = numpy.size(state.get("coefficients"))
        coefficients, rows = state.vector("coefficients", m), state.table("rows", m, d)
        sizes = state.counts("sizes", numpy.size(state.get("sizes")), 1, 2 * self.places)
        if sizes.sum() != m or len(sizes) > rounds:
            state.refuse("sizes", "the rows of each round")
        if not coefficients.all():
            state.refuse("coefficients", "other than 0")
        self.kept, self.coefficients, self.sizes = self.keep(rows), coefficients, sizes.tolist()
        self.n, self.rounds = d, rounds
        return 0

    cdef int scores(self, np.ndarray a, double *out) except -1:
        """Of the rows of a table; by any number of threads."""
        cdef np.ndarray rows = <np.ndarray>numpy.ascontiguousarray(a, dtype=numpy.float64), values
        cdef Kept kept = self.kept
        cdef Forms forms = Forms()
        cdef Matrix x = matrix_of(rows)
        cdef cf_row row
        cdef Py_ssize_t i
        cdef int status = CF_OK
        refuse_bad_matrix(rows, &x, "x")
        values = new_vector(kept.n)
        memset(out, 0, <size_t>x.n * sizeof(double))
        if kept.n == 0:
            return 0
        with nogil:
            for i in range(x.n):
                row = row_at(&x, i)
                status = kept.values(&row, forms, 0, data_of(values))
                if status != CF_OK:
                    break
                out[i] = K.dot(kept.n, data_of(self.coefficients), data_of(values))
        if status != CF_OK:
            kept.errors.raise_own()
            refuse(status, "the scores of x")
        return 0

    cdef int learn(self, np.ndarray a, list presented, list better) except -1:
        """A round; the oldest ones leave whole for the budget."""
        cdef Kept kept
        rows, coefficients = moves(numpy.asarray(a, dtype=numpy.float64), better, presented)
        new = len(rows)
        if new:
            sizes = [*self.sizes, new]
            rows = numpy.concatenate([self.rows(), rows])
            coefficients = numpy.concatenate([self.coefficients, coefficients])
            while self.budget and len(rows) > self.budget:
                gone = sizes.pop(0)
                rows, coefficients = rows[gone:], coefficients[gone:]
            kept = self.keep(rows)
            refuse_bad_rows(kept, <np.ndarray>numpy.ascontiguousarray(rows[-new:]))
            self.kept, self.coefficients, self.sizes = kept, coefficients, sizes
        self.rounds += 1
        return 0


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


CHANGED = "task was changed while a call was at work"


# --- the engine -------------------------------------------------------------------------------


cdef class CoactiveEngine(Engine):
    """The engine of the coactive learners, and their base class.

    The parts that it starts from: task; dimension, what `dimension_of` says of it; make, a
    function that gives a fresh update; and where what is presented is drawn chance, owned from
    then on.
    """

    # The update and the workspace are used with the lock held, after the arguments are converted.
    cdef WeightUpdate rule
    cdef tuple pending         # what is presented and not answered, of those who draw it, or None
    cdef dict parts            # that reset() starts from, with a chance that is made anew
    cdef Kind kind
    cdef Py_ssize_t k          # rankings: places that count
    cdef np.ndarray items      # catalogue
    cdef RankingWorkspace ws
    cdef bint calls_python     # a reading may: it does not have the lock alone

    def __cinit__(self):
        self.ws = RankingWorkspace()

    # --- what every engine has --------------------------------------------------------------------

    cdef int start(self, dict parts) except -1:
        cdef WeightUpdate rule = parts["make"]()
        cdef Py_ssize_t n = parts["dimension"]
        task = parts["task"]
        if n:
            rule.start(n)
        self.kind = (RANKING if isinstance(task, Ranking) else
                     ITEMS if isinstance(task, Items) else OWN)
        self.k = task.k if self.kind == RANKING else 0
        self.items = task.features[:] if self.kind == ITEMS else None
        self.calls_python = not rule.compiled
        self.rule, self.parts, self.chance = rule, parts, parts.get("chance")
        return 0

    cdef bint is_fresh(self) except -1:
        return self.rule.rounds == 0

    @property
    def _rounds(self):
        self.lock.check_open()
        return self.rule.rounds

    @property
    def _rule(self):
        self.lock.check_open()
        return self.rule

    @property
    def _compiled(self):
        """Whether whole runs are compiled."""
        self.lock.check_open()
        return self.rule.compiled and self.kind != OWN

    @property
    def _rows_kept(self):
        self.lock.check_open()
        rule = self.rule
        return (<KernelPerceptron>rule).kept.n if isinstance(rule, KernelPerceptron) else 0

    def _another(self):
        """An engine of the same kind that has learned nothing."""
        other = type(self).__new__(type(self))
        other._start(self.fresh_parts())
        return other

    cdef dict fresh_parts(self):
        return {**self.parts, "chance": None if self.chance is None else self.chance.fresh()}

    cdef dict get_state(self):
        return self.rule.get_state()

    cdef int set_state(self, State state) except -1:
        cdef WeightUpdate rule = self.parts["make"]()
        if self.kind != RANKING and state.count("n") != self.rule.n:
            raise ValueError(f"state has {state.count('n')} features, but task has "
                             f"{self.rule.n}")
        rule.set_state(state)
        self.rule = rule
        return 0

    cdef int begin_again(self) except -1:
        return self.start(self.fresh_parts())

    cdef int set_options(self, dict parts, list changed) except -1:
        cdef WeightUpdate rule = parts["make"]()
        rule.set_state(opened(self.rule.get_state()))
        self.rule, self.parts = rule, parts
        if "seed" in changed:
            self.chance = parts["chance"]
        return 0

    def _last_delta(self):
        """A copy of the last round's."""
        return vector_of(self.ws.delta, self.rule.n)

    # --- reading ----------------------------------------------------------------------------------

    @property
    def weights(self):
        """The weights, a copy; empty until the number of features is known."""
        return self.vector(False)

    @property
    def average_weights(self):
        """The mean of the weights after each round so far; empty before the first.

        Less moved by the last few rounds than `weights`: for a model that is deployed.
        """
        return self.vector(True)

    @property
    def rounds(self):
        """How many rounds were learned."""
        return self._rounds

    cdef np.ndarray vector(self, bint mean):
        cdef WeightUpdate rule
        self.lock.acquire_shared()
        try:
            rule = self.rule
            if rule.memory == NULL or mean and rule.rounds == 0:
                return new_vector(0)
            return vector_of(rule.mean if mean else rule.w, rule.n)
        finally:
            self.lock.release_shared()

    def present(self, x, *, k=None, average=False):
        """The object that the present weights call best.

        Parameters
        ----------
        x : context
            Ranking: the documents' features, shape (n, N). Items: the array of candidate indices,
            None for all. Else whatever the task's own `argmax` takes.
        k : int, optional
            Rankings: only the first k places.
        average : bool, default False
            By `average_weights` in their place: for a model that is deployed. Nothing is drawn,
            and what is pending stays. Before the first round the weights are as they are.

        Returns
        -------
        ndarray of int or int
            Ranking: documents, best first, ties to the lower index. Items: an item's index.
        """
        cdef bint mean
        cdef Py_ssize_t places
        self.lock.check_open()
        mean = average is not False and switch("average", average)
        if self.kind == RANKING:
            places = ALL if k is None else as_count(k, "k")
            return self.rank(documents_of(x), places, mean)
        if k is not None:
            raise ValueError("k goes with a Ranking task only")
        if self.kind == ITEMS:
            items = self.catalogue()
            return self.best_item(items, candidates_of(x, items), mean)
        return self.parts["task"].argmax(self.scoring(mean), x)

    def scores(self, x, *, average=False):
        """The scores that `present` sorts by.

        Parameters
        ----------
        x : context
            As for `present`.
        average : bool, default False
            By `average_weights`.

        Returns
        -------
        ndarray of shape (n,)
            Of the documents, or of the candidates in their order.
        """
        cdef bint mean
        self.lock.check_open()
        mean = switch("average", average)
        if self.kind == RANKING:
            return self.scored(documents_of(x), mean)
        if self.kind == ITEMS:
            items = self.catalogue()
            return self.scored(rows_of(items, candidates_of(x, items)), mean)
        task = self.parts["task"]
        if not hasattr(task, "scores"):
            raise TypeError(f"task must have scores(w, x) for this; {task!r} has not")
        return task.scores(self.scoring(mean), x)

    cdef np.ndarray scoring(self, bint mean):
        """What scores are made with: the weights, or their mean where there is one."""
        found = self.vector(mean)
        return found if found.size else self.vector(False)

    cdef object rank(self, np.ndarray a, Py_ssize_t k, bint mean):
        """The first k places by score."""
        cdef Matrix x = matrix_of(a)
        cdef bint brief = x.n * x.d < BUSY and not self.calls_python
        cdef RankingWorkspace ws = self.ws if brief else RankingWorkspace()
        cdef np.ndarray out = new_indices(min(k, x.n))
        self.lock.acquire_read(brief)
        try:
            ws.reserve(x.n, x.d, 1, k)
            self.score(a, &x, mean, ws, ws.score)
            K.top_k(x.n, ws.score, np.PyArray_DIM(out, 0), <ptrdiff_t *>np.PyArray_DATA(out),
                    <cf_candidate *>ws.sorting)
            return out
        finally:
            self.lock.release_read(brief)

    cdef np.ndarray scored(self, np.ndarray a, bint mean):
        """The scores of rows."""
        cdef Matrix x = matrix_of(a)
        cdef bint brief = x.n * x.d < BUSY and not self.calls_python
        cdef RankingWorkspace ws = self.ws if brief else RankingWorkspace()
        cdef np.ndarray out = new_vector(x.n)
        self.lock.acquire_read(brief)
        try:
            ws.reserve(1, x.d, 1)
            self.score(a, &x, mean, ws, data_of(out))
            return out
        finally:
            self.lock.release_read(brief)

    @cython.final
    cdef int score(self, np.ndarray a, const Matrix *x, bint mean, RankingWorkspace ws,
                   double *out) except -1:
        """Scores of the rows of `a`, with the lock held; before the first round all weights are
        alike."""
        cdef WeightUpdate rule = self.rule
        cdef const double *w = rule.mean if mean and rule.rounds else rule.w
        cdef Py_ssize_t i
        if rule.n and x.d != rule.n:
            self.refuse_dimension(x.d, "x")
        if isinstance(rule, KernelPerceptron):
            if mean:
                raise ValueError("average needs weights, and a kernel has none")
            (<KernelPerceptron>rule).scores(a, out)
        else:
            if rule.n == 0:
                for i in range(x.d):
                    ws.delta[i] = rule.total / x.d
                w = ws.delta
            if x.n * x.d < BUSY:
                scores_of(x, w, out)
            else:
                with nogil:
                    scores_of(x, w, out)
        return 0 if K.all_finite(x.n, out) else refuse_overflow(a)

    # Code that converts an argument may be the user's own, and other threads may be at work: as
    # long as nothing was learned they may exchange the task. So a call reads the items once, and
    # whoever has the lock for what depends on the kind of task checks it again.

    cdef np.ndarray catalogue(self):
        """The items of the task."""
        cdef np.ndarray items = self.items
        if items is None:
            raise RuntimeError(CHANGED)
        return items

    cdef int refuse_other_task(self, Kind kind) except -1:
        if self.kind != kind:
            raise RuntimeError(CHANGED)
        return 0

    cdef object best_item(self, np.ndarray items, np.ndarray candidates, bint mean):
        """The candidate of the best score, ties to the lower item."""
        return best_of(candidates, self.scored(rows_of(items, candidates), mean))

    # --- changing ---------------------------------------------------------------------------------

    @cython.final
    cdef int refuse_dimension(self, Py_ssize_t n, str what) except -1:
        """Refuses n features where another number is known."""
        if self.rule.n and n != self.rule.n:
            raise ValueError(f"{what} must have {self.rule.n} features, as what was learned "
                             f"before, got {n}")
        return 0

    cdef WeightUpdate rule_for(self, Py_ssize_t n, str what):
        """The update for n features: a fresh one where the number is not known, which is kept when
        its first round has been learned."""
        cdef WeightUpdate rule = self.rule
        if rule.n == 0:
            rule = self.parts["make"]()
            rule.start(n)
        elif n != rule.n:
            self.refuse_dimension(n, what)
        return rule

    @cython.final
    cdef int step(self, Py_ssize_t n, str what) except -1:
        """One round by the workspace's delta; all or nothing, of a dimension that it brings too."""
        cdef WeightUpdate rule = self.rule_for(n, what)
        cdef int status
        if n * n < BUSY and rule.compiled:
            status = rule.step(self.ws.delta)
        else:
            with nogil:
                status = rule.step(self.ws.delta)
        if status != CF_OK:
            raise_error(rule, status, what)
        self.rule = rule
        return 0

    def learn(self, x, y, better):
        """One round: for context x the user improved y to `better`.

        Parameters
        ----------
        x : context
            As for `present`.
        y : object
            What was presented. Rankings: all documents or only the first places.
        better : object
            What the user made of it; the same as y when there was nothing to improve (which
            is a round too). Rankings: as many of the first k places as y has, or more.
        """
        self.lock.check_open()
        if self.kind == RANKING:
            self.learn_ranking(x, y, better)
        elif self.kind == ITEMS:
            self.learn_item(x, y, better)
        else:
            task, n = self.parts["task"], self.rule.n
            shown = written_out(task.features(x, y), "task.features(x, y)", n)
            wanted = written_out(task.features(x, better), "task.features(x, better)", n)
            self.learn_vector(<np.ndarray>numpy.subtract(wanted, shown), "the step")

    def update(self, delta):
        """One round by the difference of features itself, ``phi(better) - phi(y)``.

        Parameters
        ----------
        delta : array_like of shape (N,)
            Features of the better object minus those of the presented one.
        """
        self.lock.check_open()
        if isinstance(self.rule, KernelPerceptron):
            raise ValueError("update needs a delta of features, and a kernel has none: use learn")
        self.learn_vector(written_out(delta, "delta", self.rule.n), "delta")

    cdef int learn_vector(self, np.ndarray v, str what) except -1:
        cdef Py_ssize_t n = np.PyArray_DIM(v, 0)
        self.lock.acquire()
        try:
            if not K.all_finite(n, data_of(v)):
                refuse_non_finite(v, what)
            self.refuse_dimension(n, what)
            self.ws.reserve(1, n, 1)
            memcpy(self.ws.delta, data_of(v), <size_t>n * sizeof(double))
            return self.step(n, what)
        finally:
            self.lock.release()

    cdef int learn_ranking(self, x, y, better) except -1:
        cdef np.ndarray shown = places_of(y, "y"), wanted = places_of(better, "better")
        cdef np.ndarray a = documents_of(x)
        cdef RankingWorkspace ws = self.ws
        cdef WeightUpdate rule
        cdef Matrix rows
        cdef Py_ssize_t p, q
        self.lock.acquire()
        try:
            rows = matrix_of(a)
            self.refuse_dimension(rows.d, "x")
            ws.reserve(rows.n, rows.d, self.k)
            p = ws.read_places(shown, "y", rows.n, self.k, ws.presented)
            q = ws.read_places(wanted, "better", rows.n, self.k, ws.better)
            refuse_short(p, q)
            refuse_bad_matrix(a, &rows, "x")
            if isinstance(self.rule, KernelPerceptron):
                rule = self.rule_for(rows.d, "x")
                (<KernelPerceptron>rule).learn(a, [ws.presented[i] for i in range(p)],
                                                 [ws.better[i] for i in range(q)])
                self.rule = rule
                return 0
            ranking_delta(ws, p, ws.presented, q, ws.better, &rows)
            if not K.all_finite(rows.d, ws.delta):
                raise ValueError("x gives a step that overflows")
            self.step(rows.d, "x")
            self.pending = None
            return 0
        finally:
            self.lock.release()

    cdef int learn_item(self, x, y, better) except -1:
        cdef np.ndarray items = self.catalogue(), c = candidates_of(x, items)
        cdef Matrix rows = matrix_of(items)
        cdef Py_ssize_t i = item_at(y, "y", rows.n, c), j = item_at(better, "better", rows.n, c)
        self.lock.acquire()
        try:
            self.ws.reserve(1, rows.d, 1)
            item_delta(self.ws, i, j, &rows)
            return self.step(rows.d, "the round")
        finally:
            self.lock.release()


cdef int refuse_overflow(np.ndarray a) except -1:
    """Rows whose scores are not finite: they overflow where all numbers of the rows are finite."""
    refuse_non_finite(a, "x")
    raise ValueError("x gives scores that overflow")


cdef np.ndarray candidates_of(object x, np.ndarray items):
    """The candidates' indices, a copy; None stays None: all."""
    cdef np.ndarray c
    if x is None:
        return None
    c = <np.ndarray>index_array(x, "x", np.PyArray_DIM(items, 0), "items")
    if np.PyArray_DIM(c, 0) == 0:
        raise ValueError("x must hold at least one candidate")
    return c


cdef np.ndarray rows_of(np.ndarray items, np.ndarray candidates):
    return items if candidates is None else <np.ndarray>items[candidates]


cdef Py_ssize_t item_at(object value, str name, Py_ssize_t n, np.ndarray candidates) except -1:
    """The index of one of n items; one of the candidates, unless those are all."""
    cdef Py_ssize_t i = as_count(value, name)
    if i >= n:
        refuse_index(i, name, n, "items")
    if candidates is not None and not (candidates == i).any():
        raise ValueError(f"{name} must be one of the candidates in x, {i} is not")
    return i


cdef Py_ssize_t best_of(np.ndarray candidates, np.ndarray score) except -1:
    """The candidate of the best score, ties to the lower item; None: all items."""
    cdef ptrdiff_t best
    if candidates is not None:
        return candidates[score == score.max()].min()
    K.top_k(np.PyArray_DIM(score, 0), data_of(score), 1, &best, NULL)
    return best


cdef int refuse_short(Py_ssize_t shown, Py_ssize_t better) except -1:
    """Of the places that count: feedback that ends early would take away what it does not name."""
    if better < shown:
        raise ValueError(f"better must list at least {shown} documents, as many of y count, got "
                         f"{better}")
    return 0


def dimension_of(task):
    """The number of features of a task; 0: each query brings it."""
    if isinstance(task, Ranking):
        return 0
    if isinstance(task, Items):
        return task.dimension
    if isinstance(task, type):
        raise TypeError(f"task must be an object, got the class {task.__name__}")
    for name in ("features", "argmax"):
        if not callable(getattr(task, name, None)):
            raise TypeError("task must be a Ranking, Items, or an object with dimension, "
                            f"features(x, y) and argmax(w, x); {task!r} has no {name}")
    if not hasattr(task, "dimension"):
        raise TypeError(f"task must tell its dimension; {task!r} does not")
    return as_size(task.dimension, "task.dimension")


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

    cdef void draw_rankings(self, RankingWorkspace ws, Py_ssize_t n) noexcept nogil:
        """Uniform permutations, as swaps from the front."""
        cdef ptrdiff_t *y
        cdef Py_ssize_t r, i, j
        for r in range(DRAWN):
            y = ws.drawn + r * n
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

    cdef void rank(self, RankingWorkspace ws, Py_ssize_t n, Py_ssize_t k, const double *utility,
                   const double *key, const double *label, double best) noexcept nogil:
        """ws.better[0 .. k) from ws.presented and the keys it is ordered by; k <= n."""
        cdef double gains[DRAWN]
        cdef double now
        cdef Py_ssize_t r
        ws.took = -1
        if self.kind == DEPTH:
            L.feedback_depth(n, k, self.depth, label, ws.presented, ws.better)
            return
        if self.kind == EXPECTED:
            self.draw_rankings(ws, n)
        L.feedback_alpha(K, n, k, utility, key, ws.presented, ws.discount, self.base, best,
                         ws.better)
        if self.kind != EXPECTED:
            return
        now = L.gain(k, utility, ws.presented, ws.discount)
        for r in range(DRAWN):
            gains[r] = L.gain(k, utility, ws.drawn + r * n, ws.discount) - now
        r = self.toss(self.alpha * (best - now),
                      L.gain(k, utility, ws.better, ws.discount) - now, gains)
        ws.took = r
        if r >= 0:
            memcpy(ws.better, ws.drawn + r * n, <size_t>k * sizeof(ptrdiff_t))

    cdef Py_ssize_t click(self, RankingWorkspace ws, Py_ssize_t m, const double *chance,
                          const double *stop) noexcept nogil:
        """One draw a place that the user comes to, in a cascade one more after each click."""
        cdef Py_ssize_t place, clicks = 0
        cdef double likely
        memset(ws.clicked, 0, <size_t>m * sizeof(ptrdiff_t))
        for place in range(m):
            likely = chance[ws.presented[place]]
            if self.kind == POSITION:
                likely *= data_of(self.seen)[place]
            if self.bits.next_double(self.bits.state) >= likely:
                continue
            ws.clicked[place] = 1
            clicks += 1
            if (self.kind == CASCADE
                    and self.bits.next_double(self.bits.state) < stop[ws.presented[place]]):
                break
        return clicks

    # --- single answers ---------------------------------------------------------------------------

    def answer_ranking(self, x, presented, weights, label, k):
        """The improved ordering of all documents of x."""
        cdef np.ndarray y = places_of(presented, "presented"), given
        cdef np.ndarray a = documents_of(x), out, key
        cdef Matrix rows = matrix_of(a)
        cdef Py_ssize_t n = rows.n, places = min(<Py_ssize_t>k, n), i, m
        cdef RankingWorkspace ws = RankingWorkspace()
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
        ws.reserve(n, rows.d, n)
        shown, m = ws.presented, ws.read_places(y, "presented", n, n, ws.presented)
        if m != n:
            raise ValueError(f"presented must order all {n} documents, got {m}")
        key, out = new_vector(n), new_indices(n)
        for i in range(n):
            data_of(key)[shown[i]] = -<double>i
        if self.kind == DEPTH:
            self.rank(ws, n, places, NULL, NULL, data_of(given), 0.0)
        else:
            scores_of(&rows, data_of(given), ws.utility)
            if not K.all_finite(n, ws.utility):
                raise ValueError("query.features must be finite and give finite utilities")
            K.top_k(n, ws.utility, places, ws.better, <cf_candidate *>ws.sorting)
            best = L.gain(places, ws.utility, ws.better, ws.discount)
            with contextlib.nullcontext() if self.kind != EXPECTED else self.lock:
                self.rank(ws, n, places, ws.utility, data_of(key), NULL, best)
        to = <ptrdiff_t *>np.PyArray_DATA(out)
        if ws.took >= 0:
            memcpy(to, ws.drawn + ws.took * n, <size_t>n * sizeof(ptrdiff_t))
            return out
        memcpy(to, ws.better, <size_t>places * sizeof(ptrdiff_t))
        put_rest(ws, n, places, shown, to)
        return out

    def answer_clicks(self, presented, np.ndarray chance, np.ndarray stop):
        """The documents clicked, of those presented; two chances for each of all documents."""
        cdef np.ndarray y = places_of(presented, "presented"), out
        cdef Py_ssize_t n = np.PyArray_DIM(chance, 0), m, place, i = 0
        cdef RankingWorkspace ws = RankingWorkspace()
        ws.reserve(n, 1, n)
        m = ws.read_places(y, "presented", n, n, ws.presented)
        with self.lock:
            out = new_indices(self.click(ws, m, data_of(chance), data_of(stop)))
        for place in range(m):
            if ws.clicked[place]:
                (<ptrdiff_t *>np.PyArray_DATA(out))[i] = ws.presented[place]
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
    cdef Perceptron direct     # its update where that takes places, else None
    cdef Py_ssize_t k
    cdef Matrix all            # the rows of all queries
    cdef Py_ssize_t row        # bytes of one
    cdef RankingWorkspace ws           # for the user; the learner has its own

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
        self.ws = RankingWorkspace()
        self.ws.reserve(most, self.all.d, user.looks_at(k))
        self.chance, self.stop = chances
        self.look, self.every = look, 1 if look is None else look.every

    def measured(self):
        """Utilities of what was presented, of the best and of the feedback, of the rounds so far.
        """
        return tuple(found[:self.done] for found in (self.utility, self.optimal, self.feedback))

    def history(self):
        utility, optimal, feedback = self.measured()
        judged = {} if self.look is None else self.look.fields()
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
        self.engine.rule = rule = self.engine.rule_for(self.all.d, "data")
        if not rule.compiled:  # as no learner is with which a run begins
            raise RuntimeError("the learner was given other parameters during its run")
        self.direct = None
        if type(rule) is Perceptron and (<Perceptron>rule).batch == 1:
            self.direct = None if (<Perceptron>rule).waiting else rule
        return 0

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
        return self.play_round(self.engine, self.ws, &x)

    cdef int play_round(self, CoactiveEngine engine, RankingWorkspace ws,
                        const Matrix *x) noexcept nogil:
        cdef Py_ssize_t n = x.n, k = min(self.k, n)
        cdef double best
        cdef int status
        if not both_finite(x, engine.rule.w, data_of(self.weights), ws.score, ws.utility):
            return CF_ENONFINITE
        self.ask_ahead(0)
        K.top_k(n, ws.score, min(n, self.user.looks_at(k)), ws.presented,
                <cf_candidate *>ws.sorting)
        best = self.measure(ws, n, k)
        self.ask_ahead(1)
        status = self.improve(ws, x, ws.score, best)
        if status != CF_OK:
            return status
        self.ask_ahead(2)
        return self.learn_better(engine, ws, k, x)

    cdef void ask_ahead(self, Py_ssize_t part) noexcept nogil:
        """The beginning of the next query's rows into the cache: this 4 KB of it."""
        cf_fetch(self.all.rows + self.first(self.done + 1) * self.row + 4096 * part, 4096)

    cdef double measure(self, RankingWorkspace ws, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
        """The round's utilities, from ws.utility and ws.presented: that of the best ranking."""
        cdef double best
        K.top_k(n, ws.utility, k, ws.better, <cf_candidate *>ws.sorting)
        best = L.gain(k, ws.utility, ws.better, ws.discount)
        data_of(self.optimal)[self.done] = best
        data_of(self.utility)[self.done] = L.gain(k, ws.utility, ws.presented, ws.discount)
        return best

    cdef int learn_better(self, CoactiveEngine engine, RankingWorkspace ws, Py_ssize_t k,
                          const Matrix *x) noexcept nogil:
        """The step towards ws.better."""
        if self.direct is not None:
            k = changed_places(ws, k, ws.presented, ws.better)
            return self.direct.step_places(k, x, ws.plus, ws.minus, ws.weight)
        ranking_delta(ws, k, ws.presented, k, ws.better, x)
        return engine.rule.step(ws.delta)

    cdef int improve(self, RankingWorkspace ws, const Matrix *x, const double *key,
                     double best) noexcept nogil:
        cdef const double *utility = ws.utility
        cdef const double *label = data_of(self.relevance) + self.first(self.done)
        cdef Py_ssize_t k = min(self.k, x.n)
        ws.counts = k
        if self.chance is not None:
            ws.counts = self.user.click(ws, k, data_of(self.chance) + self.first(self.done),
                                       data_of(self.stop) + self.first(self.done))
            clicked_first(ws, k)
            data_of(self.feedback)[self.done] = L.gain(k, ws.utility, ws.better, ws.discount)
            return CF_OK
        if self.own is not None and self.user.kind != DEPTH:
            utility = ws.own
            scores_of(x, data_of(self.own), ws.own)
            if not K.all_finite(x.n, utility):
                return CF_ENONFINITE
            K.top_k(x.n, utility, k, ws.better, <cf_candidate *>ws.sorting)
            best = L.gain(k, utility, ws.better, ws.discount)
        self.user.rank(ws, x.n, k, utility, key, label, best)
        data_of(self.feedback)[self.done] = L.gain(k, ws.utility, ws.better, ws.discount)
        return CF_OK


cdef void clicked_first(RankingWorkspace ws, Py_ssize_t m) noexcept nogil:
    """ws.better from ws.presented: what was clicked, then the rest, each in presented order."""
    cdef Py_ssize_t place, front = 0, behind = ws.counts
    for place in range(m):
        if ws.clicked[place]:
            ws.better[front] = ws.presented[place]
            front += 1
        else:
            ws.better[behind] = ws.presented[place]
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

    def play(self, Py_ssize_t user, CoactiveEngine learner, Decider decider, weights, ratings):
        """All rounds of one user, whose learner has learned nothing."""
        cdef UserSession s
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


cdef class UserSession:
    # One user: what he likes and what is left. Invariants: `left` counts the alive; below `top`
    # (a place in the sorted order) lies everything that is alive.
    cdef ItemsRun run_
    cdef Decider user
    cdef list held                     # the arrays that these point to
    cdef const double *truth           # utilities, which regret is measured by
    cdef const double *value           # utilities or ratings
    cdef const ptrdiff_t *order        # items by utility
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
        value = truth = item_utilities(run.items, weights)
        if user.kind == BETTER or user.kind == BEST or user.kind == ONE_HIGHER:
            value = numpy.clip(numpy.rint(truth), 1.0, 5.0)
            if ratings is not None:
                value = numpy.where(numpy.isnan(ratings), value, ratings)
        order = ascending(truth)
        self.held = [truth, value, order]
        self.truth, self.value = data_of(truth), data_of(value)
        self.order = <const ptrdiff_t *>np.PyArray_DATA(order)
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
        """All rounds, or one that fails."""
        cdef Py_ssize_t t
        cdef int status = CF_OK
        for t in range(self.run_.rounds):
            if self.left == 0 or self.run_.stop or status != CF_OK:
                break
            status = self.round(t)
        return status

    cdef int round(self, Py_ssize_t t) noexcept nogil:
        return CF_EVALUE

    cdef double best_left(self) noexcept nogil:
        """The highest utility of what is left."""
        while not self.alive[self.order[self.top]]:
            self.top -= 1
        return self.truth[self.order[self.top]]

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


cdef class Session(UserSession):
    # One user of a learner that presents one item. Invariants: score[p] is that of item id[p],
    # p < kept, -inf exactly where it is gone; at[id[p]] = p of what is left; peak[b] is the largest
    # of score[64 b ... 64 b + 63]; next_place[p] leads to the first place >= p of the sorted
    # utilities that is alive (n: none), with its path halved at every walk.
    cdef WeightUpdate rule
    cdef RankingWorkspace ws
    cdef double *memory                # owned; those that follow, but for the roll, point into it
    cdef double *score
    cdef double *peak
    cdef double *scored                # the weights by which scores were made, where `current`
    cdef ptrdiff_t *at
    cdef ptrdiff_t *next_place
    cdef ptrdiff_t *place              # of an item in the sorted order
    cdef uint64_t *called              # memory of the roll
    cdef cf_roll roll                  # of indices (EXPECTED) or of `graded` (BETTER, BEST)
    cdef const ptrdiff_t *graded       # items by their ratings, NULL where nobody asks
    cdef const ptrdiff_t *place_of     # the places there, of items
    cdef const ptrdiff_t *edge         # where a place's rating begins (BEST) or ends (BETTER), or
                                       # where the rating one higher begins
    cdef const ptrdiff_t *end          # and where that one ends
    cdef bint current

    def __init__(self, ItemsRun run, CoactiveEngine learner, Decider user, weights, ratings):
        cdef Py_ssize_t n = run.n, i
        UserSession.__init__(self, run, user, weights, ratings)
        self.rule, self.ws = learner.rule, learner.ws
        self.ws.reserve(1, run.d, 1)  # for a round's Delta
        self.memory = <double *>take_scratch(cf_pad(n) + cf_pad((n + PEAK - 1) // PEAK)
                                             + cf_pad(run.d) + 3 * n + 1, sizeof(double))
        self.score, self.peak = self.memory, self.memory + cf_pad(n)
        self.scored = self.peak + cf_pad((n + PEAK - 1) // PEAK)
        self.at = <ptrdiff_t *>(self.scored + cf_pad(run.d))  # ptrdiff_t are as long
        self.place, self.next_place = self.at + n, self.at + 2 * n
        for i in range(n):
            self.at[i] = self.next_place[i] = i
            self.place[self.order[i]] = i
        self.next_place[n] = n
        self.call_roll()

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
        value = self.held[1]
        graded = ascending(value)
        values = value[graded]
        wanted = values + 1.0 if kind == ONE_HIGHER else values
        edge = numpy.searchsorted(values, wanted, "right" if kind == BETTER else "left")
        end = numpy.searchsorted(values, wanted, "right")
        place_of = numpy.empty(n, dtype=numpy.intp)
        place_of[graded] = numpy.arange(n)
        self.held += [graded, place_of, edge, end]
        self.graded = <const ptrdiff_t *>np.PyArray_DATA(graded)
        self.place_of = <const ptrdiff_t *>np.PyArray_DATA(place_of)
        self.edge = <const ptrdiff_t *>np.PyArray_DATA(edge)
        self.end = <const ptrdiff_t *>np.PyArray_DATA(end)
        return 0

    cdef double score_of(self, Py_ssize_t i) noexcept nogil:
        """One item's score made afresh."""
        cdef const char *rows = self.run_.all.rows
        cdef Py_ssize_t d = self.run_.d
        if self.run_.all.floats:
            return K.dot_f32(d, <const float *>rows + i * d, self.rule.w)
        return K.dot(d, <const double *>rows + i * d, self.rule.w)

    cdef int round(self, Py_ssize_t t) noexcept nogil:
        cdef Py_ssize_t i = self.present(), j
        if i < 0:
            return CF_ENONFINITE
        self.utility[t] = self.truth[i]
        self.optimal[t] = self.best_left()
        j = self.respond(i)
        self.feedback[t] = self.truth[j]
        self.remove(i)  # first: the peaks come out of the step
        if j != i:
            self.remove(j)
        return self.learn(i, j)

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
        cdef const double *truth = self.truth
        cdef const ptrdiff_t *order = self.order
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
        cdef const ptrdiff_t *edge = self.edge
        cdef Py_ssize_t first, many
        if self.user.kind == BEST:
            first = L.roll_below(&self.roll, edge[L.roll_find(&self.roll, self.left - 1)])
            many = self.left - first
        elif self.user.kind == ONE_HIGHER:
            first = L.roll_below(&self.roll, edge[self.place_of[i]])
            many = L.roll_below(&self.roll, self.end[self.place_of[i]]) - first
            if many == 0:
                return i
        else:
            first = L.roll_below(&self.roll, edge[self.place_of[i]])
            if first == self.left:
                return i  # nothing is better
            many = L.roll_below(&self.roll, edge[L.roll_find(&self.roll, first)]) - first
        if many > 1:
            first += self.user.pick(many)
        return self.graded[L.roll_find(&self.roll, first)]

    cdef Py_ssize_t respond(self, Py_ssize_t i) noexcept nogil:
        cdef double gains[DRAWN]
        cdef Py_ssize_t drawn[DRAWN]
        cdef const double *truth = self.truth
        cdef const ptrdiff_t *order = self.order
        cdef Py_ssize_t r, j
        if self.user.kind == ALPHA:
            return self.least_enough(i, self.user.alpha)
        if self.user.kind != EXPECTED:
            return self.rated(i)
        for r in range(DRAWN):
            drawn[r] = L.roll_find(&self.roll, self.user.pick(self.left))
            gains[r] = truth[drawn[r]] - truth[i]
        j = self.least_enough(i, self.user.base)
        r = self.user.toss(self.user.alpha * (truth[order[self.top]] - truth[i]),
                           truth[j] - truth[i], gains)
        return j if r < 0 else drawn[r]

    # --- learning ---------------------------------------------------------------------------------

    cdef int learn(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        cdef int status
        item_delta(self.ws, i, j, &self.run_.all)
        status = self.rule.step(self.ws.delta)
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
            L.roll_strike(&self.roll, i if self.graded == NULL else self.place_of[i])

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

    def __init__(self, ItemsRun run, CoactiveEngine learner, Decider user, weights, ratings):
        Session.__init__(self, run, learner, user, weights, ratings)
        self.whole = <int32_t *>take_scratch(run.n, sizeof(int32_t))
        self.top = <int32_t *>take_scratch((run.n + PEAK - 1) // PEAK, sizeof(int32_t))
        self.pending = <ptrdiff_t *>take_scratch(
            2 * min((<Perceptron>self.rule).batch, run.rounds) + 2, sizeof(ptrdiff_t))
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


cdef class PendingRun(RankingRun)


cdef class PendingEngine(CoactiveEngine):
    """The engine of learners that draw what they present, and hold it until it is answered.

    Two more parts: explore, how far or how likely what is presented leaves the best ranking;
    rate, the length of a step.
    """

    cdef double explore, rate
    cdef tuple held            # the names of what `pending` holds

    # --- what every engine has --------------------------------------------------------------------

    cdef int start(self, dict parts) except -1:
        CoactiveEngine.start(self, parts)
        self.explore, self.rate, self.pending = parts["explore"], parts["rate"], None
        return 0

    cdef bint is_fresh(self) except -1:
        return self.rule.rounds == 0 and self.pending is None

    @property
    def rng(self):
        """The generator as it stands, a copy."""
        self.lock.acquire_shared()
        try:
            return copied(self.chance.generator)
        finally:
            self.lock.release_shared()

    cdef dict get_state(self):
        pending = None if self.pending is None else dict(zip(self.held, self.pending))
        return {**self.rule.get_state(), **self.chance.state(), "pending": pending}

    cdef int set_state(self, State state) except -1:
        cdef tuple pending = None
        if state.get("pending") is not None:
            pending = self.checked(state.part("pending"), state)
        state.get("rng"), state.get("seed")
        chance = Chance.restored(state.given)
        CoactiveEngine.set_state(self, state)
        self.chance, self.pending = chance, pending
        return 0

    cdef int set_options(self, dict parts, list changed) except -1:
        CoactiveEngine.set_options(self, parts, changed)
        self.explore, self.rate = parts["explore"], parts["rate"]
        return 0

    # What a family says itself. `order` draws what is shown of all documents, the rows of `a`, and
    # returns what is held beside it.
    cdef tuple order(self, np.ndarray a, const Matrix *x, ptrdiff_t *shown):
        raise NotImplementedError

    # what is pending, from a state
    cdef tuple checked(self, State pending, State state):
        raise NotImplementedError

    # What a round over n documents draws.
    cdef int redraw(self, generator, Py_ssize_t n) except -1:
        raise NotImplementedError

    # A round of a run whose workspace ws is; the engine has its own.
    cdef int play(self, PendingRun run, RankingWorkspace ws, const Matrix *x) noexcept nogil:
        return CF_EVALUE

    # The round that ends what is pending: m places shown, of which ws.clicked are marked.
    cdef int answer(self, RankingWorkspace ws, const Matrix *x, Py_ssize_t m) except? -1:
        raise NotImplementedError

    # --- present ----------------------------------------------------------------------------------

    cdef object rank(self, np.ndarray a, Py_ssize_t k, bint mean):
        return CoactiveEngine.rank(self, a, k, mean) if mean else self.drawn(a, RANKING)[:k].copy()

    cdef object best_item(self, np.ndarray items, np.ndarray candidates, bint mean):
        if mean:
            return CoactiveEngine.best_item(self, items, candidates, mean)
        return self.drawn(candidates, ITEMS).copy()

    cdef np.ndarray drawn(self, np.ndarray a, Kind kind):
        """Draws for these documents or candidates; what is presented. Where it fails the generator
        is wound back."""
        self.lock.acquire()
        try:
            self.refuse_other_task(kind)
            rule, bits = self.rule, self.chance.generator.bit_generator
            before = bits.state
            try:
                self.pending = self.draw(a)
            except BaseException:
                bits.state, self.rule = before, rule
                raise
            return self.pending[0]
        finally:
            self.lock.release()

    cdef tuple draw(self, np.ndarray a):
        """What is pending after a draw for documents or candidates."""
        cdef Matrix x = matrix_of(a)
        cdef np.ndarray presented = new_indices(x.n)
        self.rule = self.rule_for(x.d, "x")
        self.ws.reserve(x.n, x.d, x.n)
        return presented, *self.order(a, &x, <ptrdiff_t *>np.PyArray_DATA(presented))

    # --- learn ------------------------------------------------------------------------------------

    def learn_clicks(self, x, shown, clicked):
        """Ends what is pending, which is one round; see the class for what clicks mean.

        Parameters
        ----------
        x : array_like
            The documents' features, as for `present`.
        shown : array_like of int
            What `present` returned last, or its first places.
        clicked : sequence or set of int
            Documents of `shown`, none if there was no click; a repeated click counts once.
        """
        cdef np.ndarray y, wanted, a
        cdef Matrix rows
        cdef Py_ssize_t m
        cdef int status
        self.lock.check_open()
        if self.kind != RANKING:
            raise TypeError(f"learn_clicks is for rankings, and task is {self.parts['task']!r}")
        clicked = in_order(clicked)
        y, wanted = places_of(shown, "shown"), places_of(clicked, "clicked")
        a = documents_of(x)
        self.lock.acquire()
        try:
            m = self.read_shown(a, y, "shown")
            rows = matrix_of(a)
            self.read_clicks(wanted, m)
            status = self.answer(self.ws, &rows, m)
            if status != CF_OK:
                refuse(status, "x")
            self.pending = None
        finally:
            self.lock.release()

    cdef int refuse_unpaired(self, str name, Kind kind) except -1:
        self.refuse_other_task(kind)
        if self.pending is None:
            raise ValueError(f"{name} must be what present returned: call present before learning")
        return 0

    cdef Py_ssize_t read_shown(self, np.ndarray a, np.ndarray shown, str name) except -1:
        """How many places were shown of what is pending, which goes to the workspace; the documents
        are checked too."""
        cdef Matrix x = matrix_of(a)
        cdef Py_ssize_t n, m
        self.refuse_unpaired(name, RANKING)
        n = len(self.pending[0])
        if x.n != n:
            raise ValueError(f"x must have the {n} documents that were presented, got {x.n}")
        self.refuse_dimension(x.d, "x")
        self.ws.reserve(n, x.d, n)
        m = self.ws.read_places(shown, name, n, n, self.ws.presented)
        if not numpy.array_equal(shown, self.pending[0][:m]):
            raise ValueError(f"{name} must be what present returned last, or its first places")
        refuse_bad_matrix(a, &x, "x")
        return m

    cdef int read_clicks(self, np.ndarray clicked, Py_ssize_t m) except -1:
        """The places of the first m that were clicked: marks in the workspace."""
        cdef RankingWorkspace ws = self.ws
        cdef const ptrdiff_t *at
        cdef Py_ssize_t n = len(self.pending[0]), p, i
        cdef ptrdiff_t document = -1
        cdef bint good = True
        if not is_plain(clicked, np.NPY_INTP):
            raise ValueError("clicked was changed while it was read")
        at = <const ptrdiff_t *>np.PyArray_DATA(clicked)
        memset(ws.clicked, 0, <size_t>m * sizeof(ptrdiff_t))
        for p in range(m):
            ws.place[ws.presented[p]] = p + 1
        for i in range(np.PyArray_DIM(clicked, 0)):
            document = at[i]
            if not 0 <= document < n or ws.place[document] == 0:
                good = False
                break
            ws.clicked[ws.place[document] - 1] = 1
        for p in range(m):
            ws.place[ws.presented[p]] = 0
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
        self.direction, self.key = new_vector(self.all.d), new_vector(self.ws.docs)
        self.shown = new_indices(self.ws.docs)
        self.brought = <np.ndarray>numpy.empty(self.ws.docs, dtype=numpy.uint8)

    cdef int begin(self, Engine engine) except -1:
        cdef PendingEngine at_work = <PendingEngine?>engine
        RankingRun.begin(self, engine)
        at_work.ws.reserve(self.ws.docs, self.all.d, self.ws.docs)
        self.begun, self.before = self.done, at_work.chance.generator.bit_generator.state
        return 0

    cdef int end(self, Engine engine, int status) except -1:
        """What a round that failed has drawn is given back; what was pending before is over."""
        cdef PendingEngine at_work = <PendingEngine>engine
        cdef Py_ssize_t t
        if self.done > self.begun:
            at_work.pending = None
        if status < CF_OK:
            generator = at_work.chance.generator
            generator.bit_generator.state = self.before
            for t in range(self.begun, self.done):
                at_work.redraw(generator, self.query(t).n)
        return 0

    cdef int play_round(self, CoactiveEngine engine, RankingWorkspace ws,
                        const Matrix *x) noexcept nogil:
        return (<PendingEngine>engine).play(self, ws, x)

    cdef int show(self, RankingWorkspace ws, const Matrix *x) noexcept nogil:
        """The user's part of a round that shows `shown`."""
        cdef Py_ssize_t n = x.n, k = min(self.k, n), i
        cdef ptrdiff_t *shown = <ptrdiff_t *>np.PyArray_DATA(self.shown)
        cdef double *key = data_of(self.key)
        if self.chance is None:
            for i in range(n):
                key[shown[i]] = -<double>i  # what the user walks down
        self.ask_ahead(1)
        memcpy(ws.presented, shown, <size_t>min(n, self.user.looks_at(k)) * sizeof(ptrdiff_t))
        return self.improve(ws, x, key, self.measure(ws, n, k))


cdef class DuelingEngine(PendingEngine):
    """Dueling bandit gradient descent on rankings or items: w against w' = w + explore u, and
    w += rate u when w' wins."""

    # Pending: `presented` (items: w's and that of w'), `direction`, which is u, and `brought`
    # (rankings: 1 for each document that w' brought, else 0).

    def __cinit__(self):
        self.held = ("presented", "direction", "brought")

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

    # --- present ----------------------------------------------------------------------------------

    def present(self, x, *, k=None, average=False):
        """Starts a comparison; one that was pending is dropped.

        Parameters
        ----------
        x : array_like
            Ranking: the documents' features, shape (n, N). Items: the array of candidate indices,
            None for all.
        k : int, optional
            Rankings: only the first k places.
        average : bool, default False
            The plain ranking, or the one item, by `average_weights`: no comparison.

        Returns
        -------
        ndarray of int
            Ranking: the interleaved ordering of the documents. Items: two items.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.DuelingBandit(cf.Ranking(), seed=0)
        >>> learner.present([[1.0], [2.0], [3.0]])
        array([0, 2, 1])
        """
        return CoactiveEngine.present(self, x, k=k, average=average)

    cdef tuple draw(self, np.ndarray a):
        return PendingEngine.draw(self, a) if self.kind == RANKING else self.compare_items(a)

    cdef void aim(self, RankingWorkspace ws, double *u) noexcept nogil:
        """u, uniform on the sphere; the workspace's delta becomes w' = w + explore u."""
        cdef Py_ssize_t d = self.rule.n, i
        cdef double norm
        self.chance.normals(d, u)
        norm = sqrt(K.dot(d, u, u))
        for i in range(d):
            u[i] /= norm
        memcpy(ws.delta, self.rule.w, <size_t>d * sizeof(double))
        K.axpy(d, self.explore, u, ws.delta)

    cdef tuple order(self, np.ndarray a, const Matrix *x, ptrdiff_t *shown):
        cdef np.ndarray direction = new_vector(x.d)
        cdef np.ndarray brought = <np.ndarray>numpy.empty(x.n, dtype=numpy.uint8)
        cdef unsigned char *team = <unsigned char *>np.PyArray_DATA(brought)
        cdef bint finite
        self.aim(self.ws, data_of(direction))
        with nogil:
            finite = self.draft(self.ws, x, shown, team)
        if not finite:
            refuse_overflow(a)
        return direction, brought

    cdef int redraw(self, generator, Py_ssize_t n) except -1:
        generator.standard_normal(self.rule.n)
        generator.random((n + 1) // 2)  # a coin for every other place
        return 0

    cdef int play(self, PendingRun run, RankingWorkspace ws, const Matrix *x) noexcept nogil:
        cdef unsigned char *brought = <unsigned char *>np.PyArray_DATA(run.brought)
        cdef double *u = data_of(run.direction)
        cdef int status
        self.aim(self.ws, u)
        scores_of(x, data_of(run.weights), ws.utility)
        if not (self.draft(self.ws, x, <ptrdiff_t *>np.PyArray_DATA(run.shown), brought)
                and K.all_finite(x.n, ws.utility)):
            return CF_ENONFINITE
        status = run.show(ws, x)
        if status != CF_OK:
            return status
        return self.move_by(self.ws, u, brought_most(ws.counts, ws.better, brought))

    cdef bint draft(self, RankingWorkspace ws, const Matrix *x, ptrdiff_t *presented,
                    unsigned char *brought) noexcept nogil:
        """Both orderings and their interleaving; 0 where a score is not finite."""
        cdef cf_candidate *sorting = <cf_candidate *>ws.sorting
        if not both_finite(x, self.rule.w, ws.delta, ws.score, ws.utility):
            return False
        K.top_k(x.n, ws.score, x.n, ws.presented, sorting)
        K.top_k(x.n, ws.utility, x.n, ws.better, sorting)
        interleave(x.n, ws.presented, ws.better, self.chance.bits, ws.place, presented, brought)
        return True

    cdef tuple compare_items(self, np.ndarray candidates):
        cdef np.ndarray rows = rows_of(self.items, candidates)
        cdef Matrix x = matrix_of(rows)
        cdef np.ndarray direction = new_vector(x.d), own = new_vector(x.n), other = new_vector(x.n)
        cdef bint finite
        self.ws.reserve(1, x.d, 1)
        self.aim(self.ws, data_of(direction))
        with nogil:
            finite = both_finite(&x, self.rule.w, self.ws.delta, data_of(own), data_of(other))
        if not finite:
            raise ValueError("explore gives scores that overflow")
        best = best_of(candidates, own), best_of(candidates, other)
        return numpy.array(best, dtype=numpy.intp), direction, None

    # --- learn ------------------------------------------------------------------------------------

    def learn(self, x, y, better):
        """Ends the comparison, which is one round.

        Parameters
        ----------
        x : array_like
            As for `present`.
        y : array_like of int
            What `present` returned last. Rankings: or its first places.
        better : array_like of int, or int
            Rankings: the user's ordering. Items: the preferred one of the two.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.DuelingBandit(cf.Ranking(k=1), seed=1)
        >>> x = [[1.0], [2.0], [3.0]]
        >>> learner.learn(x, learner.present(x), [2, 1, 0])
        >>> learner.weights
        array([0.01])
        """
        CoactiveEngine.learn(self, x, y, better)

    cdef int learn_ranking(self, x, y, better) except -1:
        cdef np.ndarray shown = places_of(y, "y"), wanted = places_of(better, "better")
        cdef np.ndarray a = documents_of(x)
        cdef RankingWorkspace ws = self.ws
        cdef Py_ssize_t m, q
        self.lock.acquire()
        try:
            m = self.read_shown(a, shown, "y")
            q = ws.read_places(wanted, "better", np.PyArray_DIM(a, 0), self.k, ws.better)
            refuse_short(min(m, self.k), q)
            return self.finish(brought_most(q, ws.better, self.brought()))
        finally:
            self.lock.release()

    cdef int answer(self, RankingWorkspace ws, const Matrix *x, Py_ssize_t m) except? -1:
        """The team that brought more of what was clicked wins."""
        cdef const unsigned char *brought = self.brought()
        cdef Py_ssize_t clicks = 0, wins = 0, p
        for p in range(m):
            clicks += ws.clicked[p]
            wins += ws.clicked[p] * brought[ws.presented[p]]
        return self.move_by(ws, data_of(self.pending[1]), 2 * wins > clicks)

    cdef const unsigned char *brought(self) except NULL:
        return <const unsigned char *>np.PyArray_DATA(self.pending[2])

    cdef int learn_item(self, x, y, better) except -1:
        cdef np.ndarray c = candidates_of(x, self.catalogue())
        cdef const ptrdiff_t *pair
        cdef Py_ssize_t i, j, item
        try:
            first, second = y
        except (TypeError, ValueError):
            raise ValueError("y must be the two items that present returned") from None
        i, j, item = as_count(first, "y"), as_count(second, "y"), as_count(better, "better")
        self.lock.acquire()
        try:
            self.refuse_unpaired("y", ITEMS)
            pair = <const ptrdiff_t *>np.PyArray_DATA(self.pending[0])
            if i != pair[0] or j != pair[1]:
                raise ValueError(f"y must be what present returned last, [{pair[0]}, {pair[1]}]")
            if item != i and item != j:
                raise ValueError(f"better must be one of the two items {i} and {j}, got {item}")
            if c is not None and not numpy.isin((i, j), c).all():
                raise ValueError(f"y must be among the candidates in x, got [{i}, {j}]")
            return self.finish(item != i)
        finally:
            self.lock.release()

    cdef int finish(self, bint won) except -1:
        """The comparison is over."""
        cdef int status
        self.ws.reserve(2, self.rule.n, 1)  # the comparison may come from another engine
        status = self.move_by(self.ws, data_of(self.pending[1]), won)
        if status != CF_OK:
            refuse(status, "step")
        self.pending = None
        return 0

    cdef int move_by(self, RankingWorkspace ws, const double *u, bint won) noexcept nogil:
        """w += rate u if w' won: the step of every round."""
        memset(ws.delta, 0, <size_t>self.rule.n * sizeof(double))
        if won:
            K.axpy(self.rule.n, self.rate, u, ws.delta)
        return self.rule.step(ws.delta)


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


cdef class Comparisons(UserSession):
    # One user, who prefers one of two items in every round.
    cdef DuelingEngine duel
    cdef np.ndarray direction, scores, others

    def __init__(self, ItemsRun run, DuelingEngine duel, Decider user, weights, ratings):
        UserSession.__init__(self, run, user, weights, ratings)
        self.duel = duel
        duel.ws.reserve(2, run.d, 1)
        self.direction = new_vector(run.d)
        self.scores, self.others = new_vector(run.n), new_vector(run.n)

    cdef int round(self, Py_ssize_t t) noexcept nogil:
        cdef double *u = data_of(self.direction)
        cdef double *score = data_of(self.scores)
        cdef double *other = data_of(self.others)
        cdef Py_ssize_t i, j
        cdef bint won
        self.keep_alive()
        self.duel.aim(self.duel.ws, u)
        both_scores(&self.kept_rows, self.duel.rule.w, self.duel.ws.delta, score, other)
        i, j = self.best_kept(score), self.best_kept(other)
        if i < 0 or j < 0:
            return CF_ENONFINITE
        won = self.value[j] > self.value[i]
        self.utility[t] = (self.truth[i] + self.truth[j]) / 2.0
        self.optimal[t] = self.best_left()
        self.feedback[t] = self.truth[j if won else i]
        self.alive[i] = self.alive[j] = 0
        self.left -= 1 + (i != j)
        return self.duel.move_by(self.duel.ws, u, won)


# --- pair swaps -------------------------------------------------------------------------------


cdef class PairwiseEngine(PendingEngine):
    """Neighbours change places at random; clicks say which of two is better."""

    # Pending: `presented`, and where the pairs `start`: at the first place, or at the second.

    def __cinit__(self):
        self.held = ("presented", "start")

    cdef tuple checked(self, State pending, State state):
        return ordering_of(pending), pending.count("start", 0, 1)

    cdef tuple order(self, np.ndarray a, const Matrix *x, ptrdiff_t *shown):
        self.score(a, x, False, self.ws, self.ws.score)
        K.top_k(x.n, self.ws.score, x.n, shown, <cf_candidate *>self.ws.sorting)
        return self.swap_pairs(x.n, x.n, shown),

    cdef int redraw(self, generator, Py_ssize_t n) except -1:
        start = generator.random() >= 0.5
        generator.random((n - start) // 2)
        return 0

    cdef int play(self, PendingRun run, RankingWorkspace ws, const Matrix *x) noexcept nogil:
        cdef Py_ssize_t n = x.n, k = min(run.k, n), deep = n, start
        cdef ptrdiff_t *shown = <ptrdiff_t *>np.PyArray_DATA(run.shown)
        cdef int status
        if not both_finite(x, self.rule.w, data_of(run.weights), ws.score, ws.utility):
            return CF_ENONFINITE
        run.ask_ahead(0)
        if run.chance is not None:
            deep = min(k + 1, n)  # what a swap may bring to the first k places
        K.top_k(n, ws.score, deep, shown, <cf_candidate *>self.ws.sorting)
        start = self.swap_pairs(n, deep, shown)
        status = run.show(ws, x)
        if status != CF_OK:
            return status
        run.ask_ahead(2)
        if run.chance is not None:
            feedback_of_pairs(ws, k, start)
        return run.learn_better(self, ws, k, x)

    cdef Py_ssize_t swap_pairs(self, Py_ssize_t n, Py_ssize_t deep,
                               ptrdiff_t *shown) noexcept nogil:
        """Draws for all pairs of n places, which change the first `deep` alone; where they start.
        """
        cdef Py_ssize_t start = self.chance.bits.next_double(self.chance.bits.state) >= 0.5
        cdef Py_ssize_t p = start
        while p + 1 < deep:
            if self.chance.bits.next_double(self.chance.bits.state) < self.explore:
                shown[p], shown[p + 1] = shown[p + 1], shown[p]
            p += 2
        while p + 1 < n:  # what is drawn does not depend on how much is shown
            self.chance.bits.next_double(self.chance.bits.state)
            p += 2
        return start

    cdef int answer(self, RankingWorkspace ws, const Matrix *x, Py_ssize_t m) except? -1:
        feedback_of_pairs(ws, m, self.pending[1])
        m = min(m, self.k)
        ranking_delta(ws, m, ws.presented, m, ws.better, x)
        return self.rule.step(ws.delta)


cdef void feedback_of_pairs(RankingWorkspace ws, Py_ssize_t m, Py_ssize_t start) noexcept nogil:
    """ws.better: as shown, but for the pairs whose lower document alone was clicked."""
    cdef Py_ssize_t p = start
    memcpy(ws.better, ws.presented, <size_t>m * sizeof(ptrdiff_t))
    while p + 1 < m:
        if ws.clicked[p + 1] and not ws.clicked[p]:
            ws.better[p], ws.better[p + 1] = ws.better[p + 1], ws.better[p]
        p += 2


# --- PDGD -------------------------------------------------------------------------------------


cdef class PDGDEngine(PendingEngine):
    """Draws rankings from the Plackett-Luce model; pairs of clicks, each by how fair it was."""

    # Pending: `presented`, and the `scores`, by document.

    def __cinit__(self):
        self.held = ("presented", "scores")

    cdef tuple checked(self, State pending, State state):
        cdef np.ndarray presented = ordering_of(pending)
        scores = pending.vector("scores", presented.size)
        rest = numpy.asarray(presented)[self.k:]
        if not numpy.array_equal(rest, rest[numpy.lexsort((rest, -scores[rest]))]):
            pending.refuse("presented", f"by score behind the first {self.k} places")
        return presented, scores

    cdef tuple order(self, np.ndarray a, const Matrix *x, ptrdiff_t *shown):
        """The first places drawn, the rest by score."""
        cdef RankingWorkspace ws = self.ws
        cdef np.ndarray scores = new_vector(x.n)
        cdef double *score = data_of(scores)
        self.score(a, x, False, ws, score)
        with nogil:
            self.draw_first(ws, x.n, score, shown)
            K.top_k(x.n, score, x.n, ws.better, <cf_candidate *>ws.sorting)
            put_rest(ws, x.n, min(self.k, x.n), ws.better, shown)
        return scores,

    cdef int redraw(self, generator, Py_ssize_t n) except -1:
        generator.random(n)
        return 0

    cdef int play(self, PendingRun run, RankingWorkspace ws, const Matrix *x) noexcept nogil:
        cdef Py_ssize_t n = x.n, k = min(run.k, n)
        cdef int status
        if not both_finite(x, self.rule.w, data_of(run.weights), ws.score, ws.utility):
            return CF_ENONFINITE
        run.ask_ahead(0)
        self.draw_first(self.ws, n, ws.score, ws.presented)
        run.ask_ahead(1)
        status = run.improve(ws, x, NULL, run.measure(ws, n, k))
        if status != CF_OK:
            return status
        run.ask_ahead(2)
        return self.prefer(ws, x, ws.score, ws.presented, k)

    cdef void draw_first(self, RankingWorkspace ws, Py_ssize_t n, const double *score,
                         ptrdiff_t *first) noexcept nogil:
        """The first k places, from the Plackett-Luce model: one number a document."""
        cdef Py_ssize_t i
        for i in range(n):
            ws.own[i] = self.chance.bits.next_double(self.chance.bits.state)
        K.gumbel(n, score, ws.own, ws.own)
        K.top_k(n, ws.own, min(self.k, n), first, <cf_candidate *>ws.sorting)

    cdef int answer(self, RankingWorkspace ws, const Matrix *x, Py_ssize_t m) except? -1:
        cdef double *score = data_of(self.pending[1])
        cdef ptrdiff_t *ranking = <ptrdiff_t *>np.PyArray_DATA(self.pending[0])
        cdef int status
        with nogil:
            status = self.prefer(ws, x, score, ranking, m)
        return status

    cdef int prefer(self, RankingWorkspace ws, const Matrix *x, const double *score,
                    const ptrdiff_t *ranking, Py_ssize_t m) noexcept nogil:
        """The step for ws.clicked of the first m places of a ranking."""
        m = L.click_preferences(K, x.n, self.k, score, ranking, m, ws.clicked, ws.weight,
                                <double *>ws.drawn)
        memset(ws.delta, 0, <size_t>x.d * sizeof(double))
        add_features(m, x, ranking, self.rate, ws.weight, ws.delta)
        return self.rule.step(ws.delta)
