"""The update rules of the coactive family; see _rules.pxd."""

import copy
import types

import numpy

cimport numpy as np
from libc.math cimport fabs, isfinite, sqrt
from libc.stddef cimport size_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport as_vector, data_of, refuse_non_finite
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_EVALUE, CF_OK, cf_get_library, cf_get_table, cf_library, cf_newton,
    cf_pad, cf_table,
)

from coactive_fast.metric._full cimport Full

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()


cdef np.ndarray copied(Py_ssize_t n, const double *values):
    out = numpy.empty(n)
    if n:
        memcpy(data_of(out), values, <size_t>n * sizeof(double))
    return <np.ndarray>out


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

    cdef double initial(self) noexcept nogil:
        return 0.0

    cdef double *row(self, int i) noexcept:
        return self.memory + i * cf_pad(self.n)

    cdef void lay_out(self) noexcept:
        self.w = self.row(0)
        self.mean = self.row(1)
        self.w_next = self.row(2)
        self.mean_next = self.row(3)

    cdef int start(self, Py_ssize_t n) except -1:
        """The dimension is known: memory for it."""
        cdef Py_ssize_t i
        cdef double *memory = <double *>L.alloc_zero(
            <size_t>(self.vectors() * cf_pad(n)), sizeof(double))
        if memory == NULL:
            raise MemoryError(f"{self.vectors()} vectors of {n} features")
        L.free(self.memory)
        self.memory = memory
        self.n = n
        self.lay_out()
        for i in range(n):
            self.w[i] = self.initial()
        return 0

    cdef int step(self, const double *delta) noexcept nogil:
        return CF_EVALUE

    cdef bint direct(self) noexcept nogil:
        return False

    cdef int step_places(self, Py_ssize_t m, const void *rows, bint floats, Py_ssize_t stride,
                         const ptrdiff_t *plus, const ptrdiff_t *minus,
                         const double *weight) noexcept nogil:
        return CF_EVALUE

    cdef int mean_of_next(self) noexcept nogil:
        """mean_next from w_next; 0 where either is not finite."""
        return K.step_mean(self.n, 0.0, self.w_next, self.w_next, 1.0 / (self.rounds + 1),
                           self.mean, self.w_next, self.mean_next)

    cdef void commit(self) noexcept nogil:
        self.w, self.w_next = self.w_next, self.w
        self.mean, self.mean_next = self.mean_next, self.mean
        self.rounds += 1

    # --- settings and state, with the GIL -----------------------------------------------------

    cdef int adopt(self, Rule other) except -1:
        """The settings of another rule of this kind; the state stays."""
        return 0

    cdef dict extra(self):
        return {}

    cdef int take_extra(self, dict state) except -1:
        return 0

    def state(self):
        """Everything that learning has changed."""
        found = {"n": self.n, "rounds": self.rounds}
        if self.n:
            found["w"] = copied(self.n, self.w)
            found["mean"] = copied(self.n, self.mean)
            found.update(self.extra())
        return found

    def restore(self, dict state):
        """The reverse of `state`, into a rule that was just made."""
        cdef Py_ssize_t n = state["n"]
        rounds = int(state["rounds"])
        if n < 0 or rounds < 0 or (n == 0 and rounds):
            raise ValueError("a count of the state is out of range")
        if n:
            self.start(n)
            load_into(self.w, state, "w", n)
            load_into(self.mean, state, "mean", n)
            self.take_extra(state)
        self.rounds = rounds


cdef int load_into(double *out, dict state, str name, Py_ssize_t n) except -1:
    cdef np.ndarray v = as_vector(state[name], name)
    if np.PyArray_DIM(v, 0) != n:
        raise ValueError(f"{name} of the state must have length {n}, got {np.PyArray_DIM(v, 0)}")
    refuse_non_finite(v, name)
    memcpy(out, data_of(v), <size_t>n * sizeof(double))
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

    cdef int step_places(self, Py_ssize_t m, const void *rows, bint floats, Py_ssize_t stride,
                         const ptrdiff_t *plus, const ptrdiff_t *minus,
                         const double *weight) noexcept nogil:
        cdef double rate = 1.0 / (self.rounds + 1)
        cdef int good
        if floats:
            good = K.perceptron_features_f32(m, self.n, <const float *>rows, stride, plus, minus,
                                             weight, self.w, rate, self.mean, self.w_next,
                                             self.mean_next)
        else:
            good = K.perceptron_features(m, self.n, <const double *>rows, stride, plus, minus,
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
        return {"waiting": self.waiting, "sum": copied(self.n, self.sum)}

    cdef int take_extra(self, dict state) except -1:
        waiting = int(state["waiting"])
        if waiting < 0:
            raise ValueError("waiting of the state must be >= 0")
        load_into(self.sum, state, "sum", self.n)
        self.waiting = waiting
        return 0


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

    cdef double initial(self) noexcept nogil:
        return 0.0 if self.is_signed or self.n == 0 else 1.0 / self.n

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
        return {"theta": copied(self.n, self.theta)}

    cdef int take_extra(self, dict state) except -1:
        return load_into(self.theta, state, "theta", self.n)


cdef class Convex(Rule):
    """A step of length slope / sqrt(t), then back onto the ball."""

    def __init__(self, double radius, double slope):
        self.radius = radius
        self.slope = slope

    cdef int step(self, const double *delta) noexcept nogil:
        cdef double norm
        cdef Py_ssize_t i
        memcpy(self.w_next, self.w, <size_t>self.n * sizeof(double))
        K.axpy(self.n, self.slope / sqrt(<double>(self.rounds + 1)), delta, self.w_next)
        if not K.all_finite(self.n, self.w_next):
            return CF_ENONFINITE
        norm = length(self.n, self.w_next)
        if norm > self.radius:
            for i in range(self.n):
                self.w_next[i] *= self.radius / norm
        if not self.mean_of_next():
            return CF_ENONFINITE
        self.commit()
        return CF_OK

    cdef int adopt(self, Rule other) except -1:
        self.radius = (<Convex>other).radius
        self.slope = (<Convex>other).slope
        return 0


cdef class SecondOrder(Rule):
    """A += gamma Delta Delta^T, w += A^-1 Delta, then P2 on the ball in the norm of A.

    Deferred: y lives in the ball of twice the radius and is projected (P2, onto the ball of the
    radius) only when it leaves that one; Delta loses its outward part while y is outside the
    ball. w, what is shown and scored with, is the nearest point of the ball.
    """

    def __cinit__(self):
        self.scratch = NULL

    def __init__(self, double radius, double gamma, double epsilon, bint deferred):
        self.radius = radius
        self.gamma = gamma
        self.epsilon = epsilon
        self.deferred = deferred

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
        metric = Full(n, ridge=self.epsilon)
        cdef double *scratch = <double *>L.alloc(<size_t>L.newton_scratch(n), sizeof(double))
        if scratch == NULL:
            raise MemoryError(f"{8 * L.newton_scratch(n)} bytes of scratch")
        L.free(self.scratch)
        self.scratch = scratch
        self.metric = metric
        return Rule.start(self, n)

    cdef int step(self, const double *delta) noexcept nogil:
        cdef double lam = self.lam
        cdef cf_newton move
        cdef int status
        if all_zero(self.n, delta):  # nothing moves, not even the last bit of what was projected
            self.still()
            return CF_OK
        move.c = self.gamma
        move.gain = 1.0
        move.radius = self.radius
        move.limit = 2.0 * self.radius if self.deferred else self.radius
        status = L.newton_ball(&self.metric.core, K, &move, self.inward(delta), self.y, self.y_next, &lam,
                               self.scratch)
        if status != CF_OK:
            return status
        # nothing can fail from here on: all is bounded by twice the radius
        self.lam = lam
        self.nearest(self.y_next, self.w_next)
        self.mean_of_next()
        self.y, self.y_next = self.y_next, self.y
        self.commit()
        return CF_OK

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
        self.radius = (<SecondOrder>other).radius
        self.gamma = (<SecondOrder>other).gamma
        return 0

    cdef dict extra(self):
        return {"y": copied(self.n, self.y), "lam": self.lam, "metric": self.metric.state()}

    cdef int take_extra(self, dict state) except -1:
        metric = Full.from_state(state["metric"])
        lam = float(state["lam"])
        if (<Full>metric).core.n != self.n or (<Full>metric).core.robust or not lam >= 0.0:
            raise ValueError("metric and lam of the state do not fit its dimension")
        load_into(self.y, state, "y", self.n)
        self.metric = metric
        self.lam = lam
        return 0


cdef class Custom(Rule):
    """A user's own rule: called as rule(state, delta), answers the new weights."""

    def __init__(self, rule):
        self.rule = rule
        self.kept = {}
        self.compiled = False

    cdef int step(self, const double *delta) noexcept nogil:
        with gil:
            return self.ask(delta)

    cdef int adopt(self, Rule other) except -1:
        self.rule = (<Custom>other).rule
        return 0

    cdef int ask(self, const double *delta) noexcept:
        try:
            memory = copy.deepcopy(self.kept)
            now = types.SimpleNamespace(weights=copied(self.n, self.w), rounds=self.rounds,
                                        memory=memory)
            with numpy.errstate(over="ignore", invalid="ignore"):  # what comes out is checked
                answer = as_vector(self.rule(now, copied(self.n, delta)), "the rule's weights")
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
        return {"memory": copy.deepcopy(self.kept)}

    cdef int take_extra(self, dict state) except -1:
        self.kept = copy.deepcopy(state["memory"])
        return 0
