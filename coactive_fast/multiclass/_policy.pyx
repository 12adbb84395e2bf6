"""Confidit's decisions, and its diagonal form; see _policy.pxd."""

from libc.float cimport DBL_MAX
from libc.math cimport sqrt

from coactive_fast._table cimport (
    CF_ENONFINITE, CF_ENOTPOSITIVE, CF_EVALUE, CF_OK, CF_STEP_PRINTED, CF_STEP_RESIDUAL,
    CF_STEP_VARIANCE, cf_get_table, cf_pad, cf_table,
)

cdef const cf_table *K = cf_get_table()

cdef double FAR = 1e150  # no single step moves a weight farther


cdef class Policy:
    """The parameters of SPEC 3 with what follows from them."""

    def __init__(self, *, double alpha, double eta, bint theory, bint projection, bint printed,
                 double norm_bound, double delta, double error, bint normalize):
        self.alpha, self.ridge = alpha, (1.0 + alpha) * (1.0 + alpha)
        self.eta, self.theory, self.projection = eta, theory, projection
        self.printed, self.norm_bound, self.doubt = printed, norm_bound, -K.log_one(delta)
        self.error, self.normalize = error, normalize

    cdef int adopt(self, Policy other) except -1:
        """Everything but alpha, which shapes A, and what was learned."""
        self.eta, self.theory, self.projection = other.eta, other.theory, other.projection
        self.printed, self.norm_bound, self.doubt = other.printed, other.norm_bound, other.doubt
        self.error, self.normalize = other.error, other.normalize
        return 0

    cdef int restore(self, dict state) except -1:
        explained = state["explained"]
        if type(explained) is not float or not 0.0 <= explained < float("inf"):
            raise ValueError(f"explained of the state must be a float >= 0, got {explained!r}")
        self.explained = explained
        return 0

    cdef double factor(self, int64_t rounds) noexcept nogil:
        """f of the width sqrt(f q): eta, or 2 eta_t in round t = rounds + 1, with C = 4."""
        if not self.theory:
            return self.eta
        return 2.0 * (self.ridge * self.norm_bound * self.norm_bound / 2.0
                      + 2.0 * self.explained
                      + 36.0 * (K.log_one(rounds + 5.0) + self.doubt)
                      + 4.0 * rounds * self.error)

    cdef int decide(self, Work w, Py_ssize_t k, int64_t rounds) noexcept nogil:
        """From m and q: steps 2 and 3."""
        cdef int status
        if self.projection:
            status = K.project_labels(k, w.m, w.q, self.alpha, w.c, w.z)
            if status != CF_OK:
                return status
        w.exploit = K.best_label(k, w.m)
        w.label = K.bold_label(k, w.m, w.q, self.factor(rounds))
        return CF_OK if w.exploit >= 0 and w.label >= 0 else CF_ENONFINITE

    cdef bint steps(self, double m, double q) noexcept nogil:
        """Whether a step with this m and q stays in range: |v_j| / (1 + q) <= 1 / (2 sqrt ridge).
        Written so that NaN fails."""
        return q >= 0.0 and q <= DBL_MAX and abs(m) + 1.0 <= FAR * sqrt(self.ridge)

    cdef double sign(self, Work w, bint correct) noexcept nogil:
        """beta: the coin is drawn for wrong answers only, and not where it is certain."""
        if correct:
            return 1.0
        if self.alpha == 1.0:
            return -1.0
        return -1.0 if w.bits.next_double(w.bits.state) < (1.0 + self.alpha) / 2.0 else 1.0

    cdef void normal(self, Work w) noexcept nogil:
        """The row with length 1, in the buffer, which fits it."""
        if self.normalize and not w.null:
            K.row_unit(w.row.nnz, w.row.value, w.buffer.value)
            w.row.value = w.buffer.value


cdef class Diagonal(Lines):
    """Only the diagonals of the A_i: the second value is that of A_i^-1."""

    def __init__(self, Py_ssize_t k, Policy policy):
        self.policy = policy
        self.begin(k, 1.0 / policy.ridge)

    cdef int adopt(self, Model other) except -1:
        self.policy.adopt((<Diagonal>other).policy)
        return Lines.adopt(self, other)

    cdef int fit(self, Work w) except -1:
        if self.policy.normalize:
            w.buffer.fit(w.row.nnz)
        return Lines.fit(self, w)

    cdef void prepare(self, Work w) noexcept nogil:
        self.policy.normal(w)
        Lines.prepare(self, w)

    cdef int read(self, Work w) noexcept nogil:
        if w.null:
            w.exploit = w.label = 0
            return CF_OK
        K.lines_read(&self.core, &w.row, w.next, w.m, w.q)
        return self.policy.decide(w, self.k, self.rounds)

    cdef int read_for(self, Work w, Py_ssize_t label) noexcept nogil:
        if self.policy.projection or w.null:
            return self.read(w)
        K.lines_read_one(&self.core, &w.row, label, w.m + label, w.q + label)
        return CF_OK

    cdef int learn(self, Work w, Py_ssize_t label, bint correct) noexcept nogil:
        cdef double m, q, beta, step
        cdef int mode
        if not w.null:
            m, q = w.m[label], w.q[label]
            if not self.policy.steps(m, q):
                return CF_ENONFINITE
            beta = self.policy.sign(w, correct)  # nothing can fail any more
            step = beta if self.policy.printed else (beta - m) / (1.0 + q)
            mode = CF_STEP_PRINTED if self.policy.printed else CF_STEP_RESIDUAL
            if self.policy.projection:
                if not self.policy.printed:  # one pass for both moves
                    w.c[label] += step
                    mode = CF_STEP_VARIANCE
                K.lines_move(&self.core, &w.row, w.c, label, step, mode)
            else:
                K.lines_step(&self.core, &w.row, label, step, mode)
            self.policy.learned(q)
        self.count(w.row.n)
        return CF_OK

    cdef dict state(self):
        return {**Lines.state(self), "explained": self.policy.explained}

    cdef int restore(self, dict state) except -1:
        self.policy.restore(state)
        return Lines.restore(self, state)
