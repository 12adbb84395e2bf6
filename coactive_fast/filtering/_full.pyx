"""The filters' ridge regression with all of A; see _full.pxd."""

import numpy

cimport numpy as np
from libc.math cimport fabs, ldexp, log
from libc.stddef cimport size_t
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from coactive_fast._table cimport (
    CF_ENONFINITE, CF_OK, cf_full_health, cf_get_library,
    cf_get_table, cf_library, cf_newton, cf_pad, cf_table, cf_triangle_row,
)
from coactive_fast.filtering._models cimport Model, copied, linear, load, taken
from coactive_fast.metric._kept cimport Forms

from coactive_fast.metric._memory import refuse_beyond_limit

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    BUSY = 64        # order from which the GIL is let go
    HALVES = 8       # scale <= 4^-HALVES goes into the metric
    PERIOD = 64      # losses between two rebuilds, at least

cdef double LEAST = ldexp(1.0, -2 * HALVES)
cdef double COSTLY = 1e-3      # a loss with 1 - q below this is made by a rebuild
cdef double LARGE = 1e150      # what forgetting takes, so that nothing can overflow half-way
cdef double STRONG = 6.9       # -ln(forget^d), beyond which A may be too ill for its inverse


cdef class Moving(Full):
    """A metric that forgets or loses rows: it may have less than its ridge somewhere."""

    cdef int _check_memory(self) except -1:
        cdef Py_ssize_t i
        cdef bint good = True
        for i in range(self.core.n):
            if self.core.robust:  # a direction not seen for long may have left A's range
                good &= (self.core.w[i] > 0.0 and cf_triangle_row(&self.core.b, i)[i] == 0.0
                         and cf_triangle_row(&self.core.a, i)[i] >= 0.0)
            else:
                good &= (cf_triangle_row(&self.core.a, i)[i] > 0.0
                         and cf_triangle_row(&self.core.b, i)[i] > 0.0)
            if not good:
                raise ValueError("memory of the metric must be that of a positive definite matrix")
        return 0


cdef dict settled(Full metric):
    """The state of a metric as it is once the pending term is in the inverse: whether a reading has
    already brought it there must not show."""
    cdef Full other
    cdef int turn
    if metric.core.robust:  # it has no pending term
        return metric.state()
    other = <Full>Moving.from_state(metric.state())
    for turn in range(2):  # the second one leaves zeros where a triangle may hold anything
        K.rank_one(&other.core.b, other.core.w)
        memset(other.core.w, 0, <size_t>cf_pad(other.core.n) * sizeof(double))
    return other.state()


cdef Full in_robust_form(Full metric):
    """The same metric by its factors: an update for each eigenvector of A."""
    cdef Full other
    values, vectors = numpy.linalg.eigh(metric.matrix())
    base = 0.5 * values[0]
    other = <Full>Moving(metric.core.n, ridge=base, precision="robust")
    for i in range(metric.core.n):
        other.update(numpy.ascontiguousarray(vectors[:, i]), c=values[i] - base)
    other.core.ridge = metric.core.ridge
    return other


cdef class FullRidge(Model):
    """Ridge regression by the inverse of A, which begins as ridge I.

    Where forget^d is small, what A knows of a direction may differ by as many decades: the inverse
    is then kept by its factors (the metric's robust form), which lose the root of that only.

    Parameters
    ----------
    ridge : float
    forget : float
        1, or what the past is multiplied by at each example.
    """

    def __init__(self, double ridge, double forget):
        self.ridge, self.forget = ridge, forget
        self.scale = 1.0

    def __dealloc__(self):
        L.free(self.memory)

    cdef int start(self, Py_ssize_t d) except -1:
        cdef Py_ssize_t padded = cf_pad(d)
        cdef double *block
        refuse_beyond_limit(14.0 * d * d, f"a full matrix of {d} features",
                            'covariance="diagonal" or "kernel" takes less')
        metric = Moving(d, ridge=self.ridge, precision="robust" if self.strong(d) else "fast")
        block = taken(4 * padded + max(L.full_scratch(d), L.newton_scratch(d)),
                                   f"a ridge regression of {d} features")
        L.free(self.memory)
        self.memory = block
        self.w, self.w_next, self.v = block, block + padded, block + 2 * padded
        self.unit, self.work = block + 3 * padded, block + 4 * padded
        self.metric = metric
        self.d = d
        return 0

    cdef bint strong(self, Py_ssize_t d) noexcept:
        return self.forget < 1.0 and -log(self.forget) * d > STRONG

    cdef int fit(self, const cf_row *x, Forms forms) except -1:
        return forms.fit(x, True)

    cdef bint busy(self) noexcept nogil:
        return self.d >= BUSY

    # --- reading ------------------------------------------------------------------------------

    cdef Py_ssize_t scratch(self) noexcept nogil:
        return 3 * cf_pad(self.d)

    cdef int read(self, const cf_row *x, Forms forms, double *scratch, double *m,
                  double *q) noexcept nogil:
        cdef const double *dense
        m[0] = q[0] = 0.0
        if self.d == 0:
            return CF_OK
        dense = forms.whole(x)
        m[0] = K.dot(self.d, self.w, dense)
        L.full_look(&self.metric.core, K, dense, scratch + cf_pad(self.d), scratch, q)
        q[0] /= self.scale
        forms.clear(x)
        return CF_OK if m[0] - m[0] == 0.0 and q[0] - q[0] == 0.0 else CF_ENONFINITE

    cdef int propose(self, const double *x) noexcept nogil:
        """v and quad of x; the metric's pending term goes into its inverse on the way."""
        return L.full_propose(&self.metric.core, K, x, 1.0 / self.scale, self.work, self.v,
                              &self.quad)

    cdef int look(self, const cf_row *x, Forms forms, double *m, double *q) noexcept nogil:
        cdef const double *dense = forms.whole(x)
        cdef int status = self.propose(dense)
        m[0] = K.dot(self.d, self.w, dense)
        q[0] = self.quad / self.scale
        forms.clear(x)
        if status == CF_OK and not (m[0] - m[0] == 0.0 and q[0] - q[0] == 0.0):
            status = CF_ENONFINITE
        return status

    # --- learning -----------------------------------------------------------------------------

    cdef int take(self, const cf_row *x, Forms forms, double y, double m, double q) noexcept nogil:
        cdef const double *dense = forms.whole(x)
        cdef int status
        if self.forget < 1.0:
            status = self.decay(dense, m)
            m = K.dot(self.d, self.w_next, dense)
        else:
            memcpy(self.w_next, self.w, <size_t>self.d * sizeof(double))
            status = CF_OK
        if status == CF_OK:
            status = self.step(dense, 1.0 / self.scale, y - m, self.w_next)
        forms.clear(x)
        if status == CF_OK:
            self.w, self.w_next = self.w_next, self.w
            self.learned += 1
        return status

    cdef int step(self, const double *x, double weight, double miss, double *w) noexcept nogil:
        """After `propose` of x: w by the step of an example that it misses by so much, A by
        weight x x^T."""
        K.axpy(self.d, weight * miss / (1.0 + weight * self.quad), self.v, w)
        if not K.all_finite(self.d, w):
            return CF_ENONFINITE
        L.full_accept(&self.metric.core, K, x, weight, self.v, self.quad, self.work)
        return CF_OK

    cdef int decay(self, const double *x, double m) noexcept nogil:
        """A <- f A + d (1 - f) ridge e_j e_j^T, b <- f b, and `propose` of x by that A.

        w stays but for the term of e_j, which is an example with y = 0. Nothing fails half-way,
        since x is looked at before.
        """
        cdef Py_ssize_t j = self.learned % self.d
        cdef double scale = self.scale
        cdef int status
        if not (K.dot(self.d, x, x) < LARGE and fabs(m) < LARGE):
            return CF_ENONFINITE
        memcpy(self.w_next, self.w, <size_t>self.d * sizeof(double))
        self.scale = scale * self.forget
        if self.scale <= LEAST:
            scale = ldexp(scale, 2 * self.fold())
        self.unit[j] = 1.0
        status = self.propose(self.unit)
        if status == CF_OK:
            status = self.step(self.unit, self.d * (1.0 - self.forget) * self.ridge / self.scale,
                               -self.w_next[j], self.w_next)
        self.unit[j] = 0.0
        if status != CF_OK:
            self.scale = scale
            return status
        status = self.propose(x)
        if status != CF_OK:  # w goes with the A that has decayed
            memcpy(self.w, self.w_next, <size_t>self.d * sizeof(double))
        return status

    cdef int fold(self) noexcept nogil:
        """The scale goes into the metric, by a power of four, which is the answer: no digit
        changes."""
        cdef int half = 0
        while ldexp(self.scale, 2 * half) <= 0.5:
            half += 1
        L.full_scale(&self.metric.core, K, -half)
        self.metric.core.ridge = self.ridge  # forgetting fills it up again
        self.scale = ldexp(self.scale, 2 * half)
        return half

    cdef double information(self) noexcept nogil:
        if self.d == 0:
            return 0.0
        return self.metric.core.logdet + self.d * (K.log_one(self.scale) - K.log_one(self.ridge))

    # --- settings and state ---------------------------------------------------------------------

    cdef bint may_be_robust(self) noexcept:
        return True

    cdef int adopt(self, Model other) except -1:
        self.forget = (<FullRidge?>other).forget
        if self.strong(self.d) and not self.metric.core.robust:
            self.metric = in_robust_form(self.metric)
        return 0

    cdef dict extra(self):
        return {"w": copied(self.w, self.d), "scale": self.scale,
                "metric": settled(self.metric)}

    cdef int take_extra(self, dict state) except -1:
        metric = Moving.from_state(state["metric"])
        scale = float(state["scale"])
        robust = (<Full>metric).core.robust
        if (<Full>metric).core.n != self.d or not 0.0 < scale <= 2.0 or (
                robust and not self.may_be_robust()):
            raise ValueError("metric and scale of the state do not fit")
        load(self.w, state, "w", self.d)
        self.metric, self.scale = metric, scale
        return 0


cdef class WindowRidge(FullRidge):
    """Only the last `window` examples count. Memory: ``8 window d`` bytes more.

    The oldest leaves by a downdate; every so many losses, and where one would cost digits, A, b
    and w are summed up anew from the rows in the window: O(window d^2), amortised O(d^2).
    """

    def __init__(self, double ridge, Py_ssize_t window):
        FullRidge.__init__(self, ridge, 1.0)
        self.window = window

    def __dealloc__(self):
        L.free(self.ring)

    cdef int start(self, Py_ssize_t d) except -1:
        cdef double *ring = taken(self.window * (cf_pad(d) + 1),
                                  f"a window of {self.window} rows of {d} features")
        L.free(self.ring)
        self.ring, self.label = ring, ring + self.window * cf_pad(d)
        return FullRidge.start(self, d)

    cdef bint may_be_robust(self) noexcept:
        return False

    cdef int take(self, const cf_row *x, Forms forms, double y, double m, double q) noexcept nogil:
        cdef const double *dense
        cdef double size
        cdef int status
        dense = forms.whole(x)
        size = K.dot(self.d, dense, dense)
        forms.clear(x)
        if not size < LARGE:
            return CF_ENONFINITE
        status = FullRidge.take(self, x, forms, y, m, q)
        if status != CF_OK:
            return status
        if self.count == self.window:
            self.lose_oldest()
        dense = forms.whole(x)
        self.keep(dense, y)
        forms.clear(x)
        if self.losses >= max(PERIOD, max(self.d, self.window)):
            self.rebuild()
        return CF_OK

    cdef void keep(self, const double *x, double y) noexcept nogil:
        cdef Py_ssize_t at = (self.oldest + self.count) % self.window
        memcpy(self.ring + at * cf_pad(self.d), x, <size_t>self.d * sizeof(double))
        self.label[at] = y
        self.count += 1

    cdef int lose_oldest(self) noexcept nogil:
        """w and A without the oldest example."""
        cdef const double *x = self.ring + self.oldest * cf_pad(self.d)
        cdef double y = self.label[self.oldest]
        self.oldest = (self.oldest + 1) % self.window
        self.count -= 1
        self.losses += 1
        if self.propose(x) != CF_OK or not 1.0 - self.quad > COSTLY:
            self.losses = PERIOD + self.d + self.window  # made anew when the new row is there
            return 0
        K.axpy(self.d, (K.dot(self.d, self.w, x) - y) / (1.0 - self.quad), self.v, self.w)
        L.full_drop(&self.metric.core, K, x, self.v, self.quad, self.work)
        return 0

    cdef int rebuild(self) noexcept nogil:
        """All from the rows in the ring, the oldest first."""
        cdef Py_ssize_t padded = cf_pad(self.d), i, at
        cdef double one = 1.0
        self.restart()
        memset(self.w_next, 0, <size_t>self.d * sizeof(double))
        for i in range(self.count):
            at = (self.oldest + i) % self.window
            K.rank_block(&self.metric.core.a, self.metric.core.low, 1, self.ring + at * padded,
                         padded, &one)
            K.axpy(self.d, self.label[at], self.ring + at * padded, self.w_next)
        if L.full_renew(&self.metric.core, K, self.work):
            L.full_solve(&self.metric.core, K, self.w_next, self.work, self.w)
        else:
            self.learn_again()
        self.losses = 0
        return CF_OK

    cdef void restart(self) noexcept nogil:
        """The metric as it was made, but for its counts."""
        cdef cf_full_health health = self.metric.core.health
        cdef int64_t look = self.metric.core.next_look, probe = self.metric.core.next_probe
        cdef int64_t renewal = self.metric.core.next_renewal
        L.full_init(&self.metric.core, self.d, self.ridge, 0, K, self.metric.memory)
        self.metric.core.health = health
        self.metric.core.next_look, self.metric.core.next_probe = look, probe
        self.metric.core.next_renewal = renewal

    cdef void learn_again(self) noexcept nogil:
        """The rows in the ring as if they came now: where A is beyond a factorisation in float64,
        the window has at least what a filter has that saw no other rows."""
        cdef const double *x
        cdef Py_ssize_t i, at
        self.restart()
        memset(self.w, 0, <size_t>self.d * sizeof(double))
        for i in range(self.count):
            at = (self.oldest + i) % self.window
            x = self.ring + at * cf_pad(self.d)
            if self.propose(x) == CF_OK:
                self.step(x, 1.0, self.label[at] - K.dot(self.d, self.w, x), self.w)

    cdef int adopt(self, Model other) except -1:
        return 0

    cdef dict extra(self):
        cdef np.ndarray rows = <np.ndarray>numpy.empty((self.count, self.d))
        cdef Py_ssize_t i, at
        labels = numpy.empty(self.count)
        for i in range(self.count):
            at = (self.oldest + i) % self.window
            rows[i] = copied(self.ring + at * cf_pad(self.d), self.d)
            labels[i] = self.label[at]
        return {**FullRidge.extra(self), "rows": rows, "labels": labels, "losses": self.losses}

    cdef int take_extra(self, dict state) except -1:
        cdef Py_ssize_t n = len(state["labels"]), i
        losses = int(state["losses"])
        if n > self.window or losses < 0 or numpy.shape(state["rows"]) != (n, self.d):
            raise ValueError("rows, labels and losses of the state do not fit the window")
        load(self.label, state, "labels", n)
        rows = numpy.ascontiguousarray(state["rows"], dtype=numpy.float64)
        for i in range(n):
            load(self.ring + i * cf_pad(self.d), {"rows": rows[i]}, "rows", self.d)
        self.oldest, self.count, self.losses = 0, n, losses
        return FullRidge.take_extra(self, state)


cdef class BallRidge(FullRidge):
    """The ridge step, then P2 on the unit ball in the norm of A, all or nothing."""

    def __init__(self, double ridge):
        FullRidge.__init__(self, ridge, 1.0)

    cdef bint may_be_robust(self) noexcept:
        return False

    cdef int read(self, const cf_row *x, Forms forms, double *scratch, double *m,
                  double *q) noexcept nogil:
        m[0] = q[0] = 0.0
        return linear(x, self.w, m) if self.d else CF_OK

    cdef int look(self, const cf_row *x, Forms forms, double *m, double *q) noexcept nogil:
        return self.read(x, forms, NULL, m, q)

    cdef int take(self, const cf_row *x, Forms forms, double y, double m, double q) noexcept nogil:
        cdef cf_newton move
        cdef double lam = self.lam
        cdef int status
        move.c = 1.0
        move.gain = y - m
        move.radius = move.limit = 1.0
        status = L.newton_ball(&self.metric.core, K, &move, forms.whole(x), self.w, self.w_next,
                               &lam, self.work)
        forms.clear(x)
        if status == CF_OK:
            self.lam = lam
            self.w, self.w_next = self.w_next, self.w
            self.learned += 1
        return status

    cdef dict extra(self):
        return {**FullRidge.extra(self), "lam": self.lam}

    cdef int take_extra(self, dict state) except -1:
        lam = float(state["lam"])
        if not lam >= 0.0:
            raise ValueError("lam of the state must be >= 0")
        FullRidge.take_extra(self, state)
        self.lam = lam
        return 0
