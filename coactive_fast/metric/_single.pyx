"""One ridge regression; see _single.pxd.

In here is the full form; _single_window.pxi has it with a window and on the ball,
_single_diagonal.pxi the diagonal form, _single_dual.pxi the dual one, _single_dual_ball.pxi that
on the ball.
"""

import numpy

cimport numpy as np
from libc.math cimport INFINITY, fabs, ldexp, sqrt
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport new_doubles
from coactive_fast._table cimport (
    CF_ENOCONVERGE, CF_ENOMEM, CF_ENONFINITE, CF_ENOTPOSITIVE, CF_EVALUE, CF_FULL_AUTO, CF_FULL_ROBUST,
    CF_OK, cf_cholesky, cf_cholesky_at, cf_full, cf_get_library, cf_get_table, cf_library, cf_newton, cf_pad, cf_past,
    cf_row, cf_table, cf_triangle_row,
)
from coactive_fast.learner._engine cimport Model
from coactive_fast.learner._state cimport State, table_from, vector_of
from coactive_fast.metric._dual cimport MOST_OWN, refuse_own
from coactive_fast.rows._rows cimport Rows, place_of

from coactive_fast._memory import refuse_beyond_limit

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef Py_ssize_t PERIOD = 64    # losses between two rebuilds, at least
cdef double COSTLY = 1e-3      # a loss with 1 - q below this is made by a rebuild
cdef double LARGE = 1e150      # of x.x, where nothing may overflow half-way
cdef double AT_ONCE = 1 << 24  # elements touched, some 10 ms: a signal must not wait for long
cdef double RESCALED = 2.0 ** -15  # a scale that is still above this has not gone into the metric
cdef double LEAST = 2.0 ** -64  # a smaller scale goes into the diagonal
cdef double FLATTEST = 1e-6    # the least slope of sigma that a step goes by


cdef int linear(const cf_row *x, const double *w, double *m) noexcept nogil:
    cdef double square = K.ridge_square(x)
    m[0] = K.ridge_dot(x, w)
    return CF_OK if square - square == 0.0 and m[0] - m[0] == 0.0 else CF_ENONFINITE


cdef double sigmoid(double m) noexcept nogil:
    cdef double e = K.exp_one(-fabs(m))
    return 1.0 / (1.0 + e) if m >= 0.0 else e / (1.0 + e)


cdef double half_tanh(double m) noexcept nogil:
    """tanh(m / 2) / (2 m), in (0, 1 / 4]."""
    cdef double e, s = m * m
    if s < 4e-4:  # 1 - e would lose digits
        return 0.25 - s * (1.0 / 48.0 - s * (1.0 / 480.0 - s * (17.0 / 80640.0)))
    e = K.exp_one(-fabs(m))
    return (1.0 - e) / ((1.0 + e) * 2.0 * fabs(m))


cdef class Single(Ridges):
    def __cinit__(self):
        self.k, self.forget, self.weight = 1, 1.0, 1.0

    cdef int know(self, Py_ssize_t n) except -1:
        if self.d == 0:
            self.start(n)
            self.d = n
        return 0

    cdef int start(self, Py_ssize_t n) except -1:
        return 0

    cdef int fit_many(self, Scratch s) except -1:
        return 0

    cdef Py_ssize_t read_many(self, Rows X, Py_ssize_t t, Scratch s, double *out,
                              int *status) noexcept nogil:
        """One by one."""
        cdef double cost = self.cost(X.most) + X.most + 16
        cdef Py_ssize_t count = min(X.n - t, 1 + <Py_ssize_t>(AT_ONCE / cost)), i
        for i in range(count):
            status[0] = CF_OK if X.at(t + i, s.buffer, &s.row) else CF_ENOMEM
            if status[0] == CF_OK:
                status[0] = self.read(s)
            if status[0] != CF_OK:
                return i
            out[i] = s.m[0] / (1.0 + s.q[0])
        return count

    cdef double aim(self, double m, double y, double *miss) noexcept nogil:
        cdef double sigma, s
        miss[0] = y - m
        if not self.logistic:
            return self.weight
        # a Newton step on the log loss; where sigma is far off by the curvature of the quadratic
        # that bounds it, tanh(m / 2) / (2 m), since the slope would carry too far
        sigma = sigmoid(m)
        s = half_tanh(m) if fabs(y - sigma) > 0.5 else max(sigma * sigmoid(-m), FLATTEST)
        miss[0] = (y - sigma) / s
        return self.weight * s

    cdef int read_one(self, Scratch s, double *m, double *q) noexcept nogil:
        return CF_EVALUE

    cdef double widest(self, double square) noexcept nogil:
        return INFINITY

    cdef int fit_rows(self, Rows X, Crossed by, Scratch s) except -1:
        raise NotImplementedError

    cdef int read_rows(self, Rows X, Crossed by, Scratch s, double *m, double *q) noexcept nogil:
        return CF_EVALUE

    cdef int read_upper(self, Rows X, Crossed by, Scratch s, double width, const char *left,
                        double *m, double *q, double *z) noexcept nogil:
        """With all q: where they cost no more than m."""
        cdef int status = self.read_rows(X, by, s, m, q)
        cdef Py_ssize_t t
        for t in range(X.n):
            z[t] = m[t] + width * sqrt(q[t])
        return status

    cdef double reach(self) noexcept nogil:
        return 0.0

    cdef int fit_drawn(self, Scratch s) except -1:
        return 0

    cdef int drawn(self, Scratch s, Py_ssize_t n, double width, double *z) noexcept nogil:
        return CF_EVALUE

    cdef bint steady(self) noexcept nogil:
        return False

    cdef double drift(self, Scratch s) noexcept nogil:
        return 0.0

    cdef double drift_to_come(self) noexcept nogil:
        return 0.0

    cdef double norm_of_inverse(self) noexcept nogil:
        return 1.0 / self.ridge

    cdef void tell_past(self, Past *out) noexcept nogil:
        out.updates, out.renewals, out.failures = self.learned, 0, 0
        out.term, out.scale = NULL, 1.0

    cdef const double *means(self) noexcept nogil:
        return NULL

    cdef Py_ssize_t matrix_room(self) noexcept:
        return self.d

    cdef int fit_matrix(self, Scratch s) except -1:
        return 0

    cdef void keep_matrix(self, double *to, Scratch s) noexcept nogil:
        pass

    cdef double length(self, const double *matrix, const double *u, Scratch s) noexcept nogil:
        return 0.0

    cdef int decay(self, double f) except -1:
        raise NotImplementedError

    cdef int merge(self, Single other) except -1:
        raise NotImplementedError

    cdef void shrink(self, Py_ssize_t d) noexcept:
        pass

    cdef double information(self) noexcept nogil:
        return 0.0

    cdef double left_out(self) noexcept nogil:
        return 0.0

    cdef dict extra(self):
        raise NotImplementedError

    cdef int take_extra(self, State state, Py_ssize_t d) except -1:
        raise NotImplementedError

    cdef dict told(self):
        return {"d": self.d, "learned": self.learned, **(self.extra() if self.d else {})}

    cdef int restore(self, State state) except -1:
        cdef Py_ssize_t d = state.count("d"), learned = state.count("learned")
        if d == 0 and learned:
            state.refuse("d", "> 0 where something was learned", d)
        self.learned = learned
        return self.take_extra(state, d) if d else 0


# --- all of A ---------------------------------------------------------------------------------


cdef class Moving(Full):
    """A metric that forgets or loses rows: it may have less than its ridge somewhere."""

    cdef int _check_memory(self) except -1:
        cdef Py_ssize_t i
        cdef double least
        cdef bint good = self._is_factor() == self.core.robust
        for i in range(self.core.n):  # robust: a direction not seen for long may have left A's range
            least = cf_triangle_row(&self.core.a, i)[i]
            good &= least > 0.0 or (self.core.robust and least == 0.0)
        if not good:
            raise ValueError("memory of the metric must be that of a positive definite matrix")
        return 0


cdef dict settled(Full metric):
    cdef Full other
    cdef int turn
    if metric.core.robust:  # it has no pending term
        return metric.state()
    other = <Full>Moving.from_state(metric.state())
    for turn in range(2):  # the second one leaves zeros where a triangle may hold anything
        K.rank_one(&other.core.b, other.core.w)
        memset(other.core.w, 0, <size_t>cf_pad(other.core.n) * sizeof(double))
    return other.state()


cdef class FullRidge(Single):
    """Ridge regression by the inverse of A, which begins as ridge I.

    Parameters
    ----------
    ridge : float
    forget : float
        f of the block form (cf_past.h): at each example ``M <- f M`` and ``b <- f b``.
    precision : {"auto", "fast", "robust"}
        That of the metric.
    """

    def __init__(self, double ridge, double forget, str precision):
        self.ridge, self.forget, self.precision = ridge, forget, precision
        L.past_init(&self.past, ridge)

    cdef Full new_metric(self, Py_ssize_t n):
        return Moving(n, ridge=self.ridge, precision=self.precision)

    def __dealloc__(self):
        L.free(self.memory)
        L.free(self.saved)

    cdef int start(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t padded
        refuse_beyond_limit(14.0 * n * n, f"a full matrix of {n} features",
                            'covariance="diagonal" or "kernel" takes less')
        metric = self.new_metric(n)  # refuses an n of which a square overflows
        padded = cf_pad(n)
        block = new_doubles(1, 4 * padded + max(L.full_scratch(n), L.newton_scratch(n)),
                            f"a ridge regression of {n} features")
        L.free(self.memory)
        self.memory = block
        self.w, self.w_next, self.v = block, block + padded, block + 2 * padded
        self.unit, self.work = block + 3 * padded, block + 4 * padded
        self.metric = metric
        return 0

    cdef int fit(self, Scratch s) except -1:
        s.fit(1, 3 * cf_pad(self.d))
        return s.forms.fit(&s.row, True)

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return <double>self.d * self.d

    # --- reading ------------------------------------------------------------------------------

    cdef int read(self, Scratch s) noexcept nogil:
        cdef const double *x
        s.m[0] = s.q[0] = 0.0
        if self.d == 0:
            return CF_OK
        x = s.forms.whole(&s.row)
        s.m[0] = K.dot(self.d, self.w, x)
        L.full_look(&self.metric.core, K, x, s.v + cf_pad(self.d), s.v, s.q)
        s.q[0] /= self.past.scale
        s.forms.clear(&s.row)
        return CF_OK if s.m[0] - s.m[0] == 0.0 and s.q[0] - s.q[0] == 0.0 else CF_ENONFINITE

    cdef int propose(self, const double *x) noexcept nogil:
        """v and quad of x; the metric's pending term goes into its inverse on the way."""
        return L.full_propose(&self.metric.core, K, x, self.weight / self.past.scale, self.work,
                              self.v, &self.quad)

    cdef int look(self, Scratch s) noexcept nogil:
        cdef const double *x = s.forms.whole(&s.row)
        cdef int status = self.propose(x)
        s.m[0] = K.dot(self.d, self.w, x)
        s.q[0] = self.quad / self.past.scale
        s.forms.clear(&s.row)
        if status == CF_OK and not (s.m[0] - s.m[0] == 0.0 and s.q[0] - s.q[0] == 0.0):
            status = CF_ENONFINITE
        return status

    # --- learning -----------------------------------------------------------------------------

    cdef bint has_room(self, Scratch s) noexcept nogil:
        return self.forget == 1.0 or self.period != 0

    cdef int make_room(self, Scratch s) except -1:
        if self.forget == 1.0:
            return 0
        self.period = L.past_period(K, self.d, self.forget)
        if self.saved == NULL:
            self.saved = new_doubles(1, L.full_size(self.d) + cf_pad(self.d),
                                     f"what {self.d} features forget")
        return 0

    cdef bint touches_metric(self) noexcept nogil:
        """Whether to forget now changes the metric, not its scale alone."""
        return (self.learned % self.period == 0
                or self.forget * self.past.scale <= RESCALED)

    cdef int take(self, Scratch s, Py_ssize_t i, double y) noexcept nogil:
        cdef const double *x = s.forms.whole(&s.row)
        cdef cf_past before
        cdef cf_full core
        cdef size_t size = 0
        cdef double m = s.m[0]
        cdef int status = CF_OK
        cdef bint fades = self.forget < 1.0 and self.learned, saves = False
        if fades:
            before, core = self.past, self.metric.core
            size = <size_t>L.full_size(self.d) * sizeof(double)
            self.past.count = self.learned
            saves = self.touches_metric()
            if saves:
                memcpy(self.saved, self.metric.memory, size)
                memcpy(self.saved + L.full_size(self.d), self.w,
                       <size_t>self.d * sizeof(double))
            status = self.fade(x, &m)
        memcpy(self.w_next, self.w, <size_t>self.d * sizeof(double))
        if status == CF_OK:
            status = self.learn(x, y, m)
        s.forms.clear(&s.row)
        if status == CF_OK:
            self.w, self.w_next = self.w_next, self.w
            self.learned += 1
        elif fades:
            self.past, self.metric.core.ridge = before, core.ridge
            if saves:
                self.metric.core = core
                memcpy(self.metric.memory, self.saved, size)
                memcpy(self.w, self.saved + L.full_size(self.d), <size_t>self.d * sizeof(double))
        return status

    cdef int fade(self, const double *x, double *m) noexcept nogil:
        """M <- f M, b <- f b and the regulariser, before the example x, which was looked at. Its
        A^-1 x, of the metric, and w stay as they are unless the metric itself changes."""
        cdef double added, scale = self.forget * self.past.scale
        cdef int status
        if not (K.dot(self.d, x, x) < LARGE and fabs(m[0]) < LARGE):
            return CF_ENONFINITE  # nothing can fail half-way
        status = L.past_forget(&self.past, &self.metric.core, K, self.forget, self.work, &added)
        if status == CF_ENOTPOSITIVE:
            self.fill_up(&added)
        elif status != CF_OK:
            return status
        if added == 0.0 and self.past.scale == scale:
            return CF_OK
        L.past_weights(&self.past, &self.metric.core, K, added, self.w, self.work)
        status = self.propose(x)
        m[0] = K.dot(self.d, self.w, x)
        return status

    cdef void fill_up(self, double *added) noexcept nogil:
        """The same by n updates, where long rows have left an A that allows no factorisation in
        float64."""
        cdef double q
        cdef Py_ssize_t i
        self.past.scale *= self.forget
        while self.past.scale < LEAST:
            L.full_scale(&self.metric.core, K, -16)
            self.past.scale *= 2.0 ** 32
        added[0] = (1.0 - self.forget * self.past.share) * self.ridge
        self.metric.core.ridge = self.ridge / self.past.scale
        for i in range(self.d):
            self.unit[i] = 1.0
            L.full_update(&self.metric.core, K, self.unit, added[0] / self.past.scale, self.work,
                          &q)
            self.unit[i] = 0.0
        self.past.share = 1.0

    cdef int learn(self, const double *x, double y, double m) noexcept nogil:
        """w_next, which is w, and A by the example x, y, which was looked at."""
        cdef double miss, weight = self.aim(m, y, &miss)
        return self.accept(x, weight / self.past.scale, miss, self.w_next)

    cdef int accept(self, const double *x, double weight, double miss, double *w) noexcept nogil:
        """After `propose` of x: w by the step of an example that it misses by so much, A by
        weight x x^T."""
        K.axpy(self.d, weight * miss / (1.0 + weight * self.quad), self.v, w)
        if not K.all_finite(self.d, w):
            return CF_ENONFINITE
        L.full_accept(&self.metric.core, K, x, weight, self.v, self.quad, self.work)
        return CF_OK

    cdef double information(self) noexcept nogil:
        if self.d == 0:
            return 0.0
        return (L.past_logdet(&self.past, &self.metric.core, K)
                - self.d * K.log_one(self.ridge))

    # --- settings and state ---------------------------------------------------------------------

    cdef int adopt(self, Model other) except -1:
        self.forget, self.period = (<FullRidge?>other).forget, 0
        return 0

    cdef dict health(self):
        cdef Full metric = self.metric if self.d else self.new_metric(1)
        return {"precision": metric._form(), **metric.core.health}

    cdef dict extra(self):
        return {"w": vector_of(self.w, self.d), "scale": self.past.scale,
                "share": self.past.share, "metric": settled(self.metric)}

    cdef int take_extra(self, State state, Py_ssize_t d) except -1:
        """States of version 1 have no share: what they keep beside ridge I was learned."""
        cdef np.ndarray w = state.vector("w", d)  # vouches for d before memory is taken
        cdef double scale = state.number("scale", 0.0, 2.0)
        cdef double share = state.number("share", 0.0, 1.0) if state.has("share") else 1.0
        state.part("metric").count("n", d, d)
        cdef Full metric = <Full>Moving.from_state(state.get("metric"))
        if not (scale > 0.0 and share > 0.0):
            state.refuse("scale", "> 0, as share", scale)
        self.know(d)
        state.load("w", d, self.w)
        metric._ask_for(self.metric.core.precision)
        self.metric, self.past.scale, self.past.share = metric, scale, share
        return 0


# --- the other forms ---------------------------------------------------------------------------


include "_single_window.pxi"
include "_single_diagonal.pxi"
include "_single_dual.pxi"
include "_single_dual_ball.pxi"
