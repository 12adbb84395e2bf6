"""The regression of learners from rewards; see _regression.pxd.

In here is the full form; _regression_diagonal.pxi has the diagonal one.
"""

import numpy

cimport numpy as np
from libc.float cimport DBL_MAX, DBL_MIN
from libc.math cimport INFINITY, fabs, sqrt
from libc.stddef cimport ptrdiff_t, size_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport data_of, new_doubles, refuse
from coactive_fast._table cimport (
    CF_ENOMEM, CF_ENONFINITE, CF_ENOTPOSITIVE, CF_OK, cf_full, cf_get_library, cf_get_table,
    cf_library, cf_pad, cf_panels_size, cf_row, cf_table, cf_triangle, cf_triangle_row,
)
from coactive_fast.learner._engine cimport Model
from coactive_fast.learner._state cimport opened, vector_of
from coactive_fast.metric._single cimport Past, Single
from coactive_fast.rows._rows cimport DOUBLES, SPARSE, Scratch, place_of

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    BLOCK = 8        # rows that share one reading of the matrix
    FEW = 16         # actions up to which all widths are worked out

cdef double MOST = 1e290   # of |m|, where nothing else tells that a row is beyond the range
cdef double UNIT = 2.0 ** -53
cdef double SAFE = 1.0 + 1e-3  # a bound must hold for what is computed, with rounding and drift
cdef double TINY = 1e-300      # so much of x.x may be lost to underflow


cdef Py_ssize_t contraction(Crossed by, Py_ssize_t n) noexcept nogil:
    """Doubles that `contract` takes."""
    if by.p == 0:
        return 0
    return cf_panels_size(n) + (n + 2) * cf_pad(n) + cf_pad((by.p + 1) * n)


cdef int read_means(Rows X, const double *w, Scratch s, double *m) noexcept nogil:
    cdef bint whole = X.kind == DOUBLES and X.row_step % 8 == 0
    cdef Py_ssize_t t
    if whole:
        K.scores(X.n, X.d, <const double *>X.value, X.row_step // 8, w, m)
    for t in range(X.n):
        if not (whole or X.at(t, s.buffer, &s.row)):
            return CF_ENOMEM
        if not whole:
            m[t] = K.ridge_dot(&s.row, w)
        if not fabs(m[t]) <= MOST:
            return CF_ENONFINITE
    return CF_OK


cdef int read_squares(Rows X, Scratch s, double *square) noexcept nogil:
    cdef Py_ssize_t t
    cdef const double *x
    for t in range(X.n):
        if X.kind == DOUBLES:
            x = <const double *>(X.value + t * X.row_step)
            square[t] = K.dot(X.d, x, x)
        elif X.at(t, s.buffer, &s.row):
            square[t] = K.ridge_square(&s.row)
        else:
            return CF_ENOMEM
    return CF_OK


cdef void lay_out(Rows X, Py_ssize_t t, Scratch s, double *to) noexcept nogil:
    """Row t, written out; it was read before."""
    cdef Py_ssize_t e
    X.at(t, s.buffer, &s.row)
    if s.row.i32 == NULL and s.row.i64 == NULL:
        memcpy(to, s.row.value, <size_t>X.d * sizeof(double))
        return
    memset(to, 0, <size_t>X.d * sizeof(double))
    for e in range(s.row.nnz):
        to[place_of(&s.row, e)] = s.row.value[e]


cdef double frobenius(const cf_triangle *b) noexcept nogil:
    """A bound on the largest eigenvalue of B, and of B - u u^T."""
    cdef double sum = 0.0
    cdef const double *row
    cdef Py_ssize_t i
    for i in range(b.n):
        row = cf_triangle_row(b, i)
        sum += 2.0 * K.dot(i, row, row) + row[i] * row[i]
    return sqrt(sum)


cdef double largest(Py_ssize_t n, const double *w) noexcept nogil:
    cdef double most = 0.0
    cdef Py_ssize_t i
    for i in range(n):
        most = max(most, fabs(w[i]))
    return most


cdef void add_to(Py_ssize_t n, double width, const double *w, Py_ssize_t known,
                 double *z) noexcept nogil:
    """z <- w + width z, w = 0 beyond what is known."""
    cdef Py_ssize_t i
    for i in range(n):
        z[i] = (w[i] if i < known else 0.0) + width * z[i]


# --- all of A ---------------------------------------------------------------------------------


cdef class FullForm(FullRidge):
    """With all of A. Many rows cost n d^2 / 2, one reading of the triangle for eight of them; a
    context is contracted out of A^-1 first, (p + 1)^2 d^2 / 2, and each row costs its own square.

    Parameters
    ----------
    ridge, forget, precision
        As for `FullRidge`.
    logistic : bool
        The link.
    """

    def __init__(self, double ridge, double forget, bint logistic, str precision):
        FullRidge.__init__(self, ridge, forget, precision)
        self.logistic = logistic
        self.kept.updates = -1

    def __dealloc__(self):
        L.free(self.factor)

    cdef int adopt(self, Model other) except -1:
        self.kept.updates = -1  # what was forgotten is not in it
        return FullRidge.adopt(self, other)

    # --- reading ------------------------------------------------------------------------------

    cdef int verdict(self, Py_ssize_t n, const double *x, double q) noexcept nogil:
        """What a q that is not > 0 and finite means."""
        cdef double size = K.dot(n, x, x) / self.ridge
        if not (size <= DBL_MAX and q - q == 0.0):
            return CF_ENONFINITE
        return CF_ENOTPOSITIVE if size >= DBL_MIN or q < 0.0 else CF_OK

    cdef int read_one(self, Scratch s, double *m, double *q) noexcept nogil:
        """Half the work of `read`, which also leaves A^-1 x."""
        cdef const double *x = s.forms.whole(&s.row)
        cdef int status = CF_OK
        m[0] = K.dot(self.d, self.w, x)
        if q == NULL:
            s.forms.clear(&s.row)
            return CF_OK if fabs(m[0]) <= MOST else CF_ENONFINITE
        q[0] = L.full_quad(&self.metric.core, K, x, s.v) / self.past.scale
        if not (q[0] > 0.0 and q[0] <= DBL_MAX):
            status = self.verdict(self.d, x, q[0])
        s.forms.clear(&s.row)
        return status if m[0] - m[0] == 0.0 else CF_ENONFINITE

    cdef double widest(self, double square) noexcept nogil:
        return SAFE * sqrt((square + TINY) / self.metric.core.ridge / self.past.scale)

    cdef int fit_rows(self, Rows X, Crossed by, Scratch s) except -1:
        cdef Py_ssize_t n = X.d, padded = cf_pad(n)
        s.buffer.fit(X.most)
        return s.fit(1, contraction(by, n) + 3 * BLOCK * padded + 2 * cf_pad((by.p + 1) * n))

    cdef int read_rows(self, Rows X, Crossed by, Scratch s, double *m, double *q) noexcept nogil:
        cdef cf_full core = self.metric.core
        cdef const double *w = self.w
        cdef double *edges = s.v
        cdef double *block
        cdef Py_ssize_t n = X.d, t = 0, count, l
        cdef int status = CF_OK
        if by.p and core.robust:
            return self.read_crossed(X, by, s, m, q)
        if by.p:
            w = self.contract(by, n, s.v, &core)
            edges += contraction(by, n)
        status = read_means(X, w, s, m)
        if status != CF_OK or q == NULL:
            return status
        block = edges + BLOCK * cf_pad(n)
        K.quad_edges(&core.b, edges)
        while t < X.n and status == CF_OK:
            count = min(<Py_ssize_t>BLOCK, X.n - t)
            if X.kind == DOUBLES and X.row_step % 8 == 0:
                status = self.read_block(&core, edges, <const double *>(X.value + t * X.row_step),
                                         X.row_step // 8, count, block, q + t)
            else:
                for l in range(count):
                    lay_out(X, t + l, s, block + l * cf_pad(n))
                status = self.read_block(&core, edges, block, cf_pad(n), count,
                                         block + BLOCK * cf_pad(n), q + t)
            t += count
        return status

    cdef int read_crossed(self, Rows X, Crossed by, Scratch s, double *m,
                          double *q) noexcept nogil:
        """The rows crossed with a context, one by one: the blocks of the robust form cannot be
        contracted without a loss of digits."""
        cdef double *x = s.v
        cdef double *z = x + cf_pad(X.d)
        cdef double *rest = z + cf_pad((by.p + 1) * X.d)
        cdef Py_ssize_t t, i, j
        cdef int status
        for t in range(X.n):
            lay_out(X, t, s, x)
            for j in range(by.p + 1):
                for i in range(X.d):
                    z[j * X.d + i] = x[i] if j == 0 else by.c[j - 1] * x[i]
            m[t] = K.dot(self.d, self.w, z)
            if not fabs(m[t]) <= MOST:
                return CF_ENONFINITE
            if q != NULL:
                q[t] = L.full_quad(&self.metric.core, K, z, rest) / self.past.scale
                status = CF_OK if 0.0 < q[t] <= DBL_MAX else self.verdict(self.d, z, q[t])
                if status != CF_OK:
                    return status
        return CF_OK

    cdef int read_block(self, const cf_full *core, const double *edges, const double *x,
                        Py_ssize_t stride, Py_ssize_t count, double *rest,
                        double *q) noexcept nogil:
        """q of up to BLOCK rows, each with the bits that it gets alone."""
        cdef Py_ssize_t l
        cdef int status
        if core.robust:
            K.ud_quad_rows(&core.b, core.w, count, x, stride, rest, q)
        else:
            K.quad_rows(&core.b, edges, core.w, count, x, stride, q, rest)
        for l in range(count):
            q[l] /= self.past.scale
            if not (q[l] > 0.0 and q[l] <= DBL_MAX):
                status = self.verdict(core.n, x + l * stride, q[l])
                if status != CF_OK:
                    return status
        return CF_OK

    cdef int read_upper(self, Rows X, Crossed by, Scratch s, double width, const char *left,
                        double *m, double *q, double *z) noexcept nogil:
        """The widths only of rows that can still win: q <= x.x ||A^-1|| bounds the score. Those of
        the eight highest bounds are looked at first, then, in order, all others whose bound
        reaches the best so far. q holds the bounds, and z is -inf where no width was needed."""
        cdef cf_full core = self.metric.core
        cdef const double *w = self.w
        cdef double *edges = s.v
        cdef Py_ssize_t n = X.d, i = 0, t, count = BLOCK
        cdef ptrdiff_t some[BLOCK]
        cdef double norm, best = -INFINITY
        cdef int status
        if X.n <= FEW or (by.p and core.robust):
            return Single.read_upper(self, X, by, s, width, left, m, q, z)
        norm = 1.0 / core.ridge
        if by.p:
            w = self.contract(by, n, s.v, &core)
            edges += contraction(by, n)
            norm = INFINITY
        status = read_means(X, w, s, m)
        if status == CF_OK:
            status = read_squares(X, s, q)
        if status != CF_OK:
            return status
        if not core.robust:
            norm = min(norm, frobenius(&core.b))
        norm = SAFE * width * sqrt(norm / self.past.scale)
        for t in range(X.n):
            q[t] = m[t] + norm * sqrt(q[t] + TINY) if left[t] else -INFINITY
            z[t] = -INFINITY
            if not q[t] < INFINITY:
                return Single.read_upper(self, X, by, s, width, left, m, q, z)
        K.quad_edges(&core.b, edges)
        K.top_k(X.n, q, count, some, NULL)
        while count and status == CF_OK:
            status = self.read_some(&core, edges, X, some, count, s, width, m, q, z)
            for t in range(count):
                if left[some[t]]:
                    best = max(best, z[some[t]])
            count = 0
            while i < X.n and count < BLOCK:
                if q[i] >= best and z[i] == -INFINITY:
                    some[count] = i
                    count += 1
                i += 1
        return status

    cdef int read_some(self, const cf_full *core, const double *edges, Rows X,
                       const ptrdiff_t *some, Py_ssize_t count, Scratch s, double width,
                       const double *m, const double *bound, double *z) noexcept nogil:
        """The scores of some rows."""
        cdef double *block = s.v + (edges - s.v) + BLOCK * cf_pad(core.n)
        cdef double q[BLOCK]
        cdef Py_ssize_t l
        cdef int status
        for l in range(count):
            lay_out(X, some[l], s, block + l * cf_pad(core.n))
        status = self.read_block(core, edges, block, cf_pad(core.n), count,
                                 block + BLOCK * cf_pad(core.n), q)
        for l in range(count):
            z[some[l]] = m[some[l]] + width * sqrt(q[l])
        return status

    cdef const double *contract(self, Crossed by, Py_ssize_t n, double *room,
                                cf_full *out) noexcept nogil:
        """The metric of rows of n features under this context, in the room; the weights.

        Of A^-1, with its pending term applied row by row, the blocks on the diagonal go into the
        triangle of `out`, the others, which are there once, into a square whose two halves are then
        added to it; w is contracted likewise, and `out` has no pending term.
        """
        cdef Py_ssize_t padded = cf_pad(n), i, j, row, at
        cdef double *u = room + cf_panels_size(n)
        cdef double *w = u + padded
        cdef double *square = w + padded
        cdef double *line = square + n * padded
        cdef const double *term = self.metric.core.w
        cdef double *to
        cdef double ci, cj
        out.n, out.b.n, out.b.ld, out.b.data, out.w, out.robust = n, n, 0, room, u, 0
        memset(room, 0, <size_t>contraction(by, n) * sizeof(double))
        for i in range(by.p + 1):
            ci = 1.0 if i == 0 else by.c[i - 1]
            K.axpy(n, ci, self.w + i * n, w)
            for row in range(n):
                at = i * n + row
                memcpy(line, cf_triangle_row(&self.metric.core.b, at),
                       <size_t>(at + 1) * sizeof(double))
                K.axpy(at + 1, -term[at], term, line)
                K.axpy(row + 1, ci * ci, line + i * n, cf_triangle_row(&out.b, row))
                for j in range(i):
                    cj = 1.0 if j == 0 else by.c[j - 1]
                    K.axpy(n, ci * cj, line + j * n, square + row * padded)
        for row in range(n):
            to = cf_triangle_row(&out.b, row)
            for j in range(row + 1):
                to[j] += square[row * padded + j] + square[j * padded + row]
        return w

    # --- bounds that outlive a round -----------------------------------------------------------

    cdef bint steady(self) noexcept nogil:
        return self.forget == 1.0 and not self.metric.core.robust

    cdef double drift_to_come(self) noexcept nogil:
        """Of A^1/2 B A^1/2: B is rounded once, and the term w w^T comes from a product."""
        cdef double n = self.d, trace = 0.0, entry
        cdef const double *x
        cdef Py_ssize_t i, p
        for i in range(self.d):
            trace += cf_triangle_row(&self.metric.core.a, i)[i]
        for p in range(self.metric.core.pending):
            x = self.metric.core.block + p * cf_pad(self.d)
            trace += self.metric.core.weight[p] * K.dot(self.d, x, x)
        return 3.0 * (n + 16.0) * sqrt(n) * UNIT * trace / self.metric.core.ridge

    cdef double drift(self, Scratch s) noexcept nogil:
        """||A B - I||_F, no eigenvalue of A B - I is larger; and what its own sums may lose."""
        cdef double *v = s.v
        cdef double *square = v + cf_pad(self.d)
        cdef double sum = 0.0
        cdef Py_ssize_t i
        L.full_matrix(&self.metric.core, K, v, square)
        for i in range(self.d):
            K.symv_less(&self.metric.core.b, self.metric.core.w, square + i * self.d, v)
            v[i] -= 1.0
            sum += K.dot(self.d, v, v)
        return sqrt(sum) + self.drift_to_come()

    cdef double norm_of_inverse(self) noexcept nogil:
        return 1.0 / (self.metric.core.ridge * self.past.scale)

    cdef void tell_past(self, Past *out) noexcept nogil:
        cdef const cf_full *core = &self.metric.core
        out.updates, out.renewals = core.health.updates, core.health.renewals
        out.failures = core.health.repairs + core.health.failed
        out.term, out.scale = NULL if core.robust else core.w, self.past.scale

    cdef const double *means(self) noexcept nogil:
        return self.w

    cdef Py_ssize_t matrix_room(self) noexcept:
        return cf_panels_size(self.d) + 8

    cdef int fit_matrix(self, Scratch s) except -1:
        return s.fit(1, self.d * self.d + cf_panels_size(self.d) + 2 * cf_pad(self.d))

    cdef void keep_matrix(self, double *to, Scratch s) noexcept nogil:
        """The triangle, with the examples that are not in it yet; behind it what its sums and
        products may have lost of u^T A u, for |u| = 1: a share of the trace."""
        cdef const cf_full *core = &self.metric.core
        cdef cf_triangle a = core.a
        cdef Py_ssize_t size = cf_panels_size(self.d), i
        cdef double trace = 0.0
        a.data = to
        memcpy(to, core.a.data, <size_t>size * sizeof(double))
        if core.pending:
            memset(s.v, 0, <size_t>size * sizeof(float))
            K.rank_block(&a, <float *>s.v, core.pending, core.block, cf_pad(self.d), core.weight)
        for i in range(self.d):
            trace += cf_triangle_row(&a, i)[i]
        to[size] = 1e-14 * self.d * trace

    cdef double length(self, const double *matrix, const double *u, Scratch s) noexcept nogil:
        cdef cf_triangle a = self.metric.core.a
        cdef double *nothing = s.v
        cdef double out
        a.data = <double *>matrix
        memset(nothing, 0, <size_t>cf_pad(self.d) * sizeof(double))
        out = K.quad_row(&a, nothing, u, s.v + cf_pad(self.d))
        out += matrix[cf_panels_size(self.d)] * K.dot(self.d, u, u)
        return (1.0 + 1e-9) * self.past.scale * out

    cdef double reach(self) noexcept nogil:
        return largest(self.d, self.w)

    cdef int fit_drawn(self, Scratch s) except -1:
        cdef Py_ssize_t size = cf_panels_size(self.d)
        if self.forget < 1.0:
            return s.fit(1, L.full_sample_scratch(self.d))
        if self.factor == NULL:
            self.factor = new_doubles(1, size + cf_pad(self.d), f"a factor of {self.d} features")
            self.kept.l.data, self.kept.l.inv = self.factor, self.factor + size
        return s.fit(1, 3 * cf_pad(self.d))

    cdef int drawn(self, Scratch s, Py_ssize_t n, double width, double *z) noexcept nogil:
        cdef double scale = self.past.scale
        cdef int status
        if self.forget < 1.0 or self.metric.core.robust:
            status = L.full_sample(&self.metric.core, K, scale, 1, z, s.v)
        else:
            status = L.full_draw(&self.metric.core, K, &self.kept, scale, z, s.v)
        add_to(n, width, self.w, n, z)
        return status

    cdef int repair(self, Scratch s) noexcept nogil:
        if L.full_repair(&self.metric.core, K, self.work):
            return CF_OK
        return CF_ENOTPOSITIVE

    # --- the past -----------------------------------------------------------------------------

    cdef int decay(self, double f) except -1:
        cdef double added
        cdef int status
        self.kept.updates = -1
        status = L.past_decay(&self.past, &self.metric.core, K, f, self.work, &added)
        if status != CF_OK:
            refuse(status, "A after the decay")
        L.past_weights(&self.past, &self.metric.core, K, added, self.w, self.work)
        return 0

    cdef int merge(self, Single other) except -1:
        """A_1 + A_2 - ridge I, and w from A_1 w_1 + A_2 w_2; O(d^3)."""
        cdef FullForm o = <FullForm?>other
        cdef np.ndarray A = self.whole(), theirs = o.whole(), target = numpy.zeros(self.d)
        cdef Py_ssize_t i
        cdef int status
        cdef FullForm sum = FullForm(self.ridge, self.forget, self.logistic, self.precision)
        if self.metric.core.robust or o.metric.core.robust:
            return self.merge_rows(o)
        for i in range(self.d):
            data_of(target)[i] = (K.dot(self.d, data_of(A) + i * self.d, self.w)
                                  + K.dot(self.d, data_of(theirs) + i * self.d, o.w))
        A = A + theirs
        (<object>A)[numpy.diag_indices(self.d)] -= self.ridge
        sum.know(self.d)
        status = L.past_place(&sum.past, &sum.metric.core, K, data_of(A), self.d, self.ridge,
                              sum.work)
        if status != CF_OK:
            refuse(status, "the sum of both A")
        sum.metric.core.ridge, sum.past.lowered = self.ridge, 0
        memcpy(sum.w_next, data_of(target), <size_t>self.d * sizeof(double))
        L.full_solve(&sum.metric.core, K, sum.w_next, sum.work, sum.w)
        return self.become(sum, o)

    cdef int merge_rows(self, FullForm o) except -1:
        """The same where one is robust, and their sum would not hold the digits of A: the rows of a
        square root of A_2 are learned towards ``w_2.x``, and then one regulariser is unlearned,
        ``x = e_i`` towards 0 with the weight ``-ridge``. O(d^3)."""
        cdef FullForm sum = FullForm(self.ridge, self.forget, self.logistic, self.precision)
        cdef np.ndarray rows = o.metric._rows() * sqrt(o.past.scale)
        cdef double scale = self.past.scale, c = -self.ridge / self.past.scale, q
        cdef double *x
        cdef Py_ssize_t i
        cdef int status = CF_OK
        sum.take_extra(opened(self.extra()), self.d)
        sum.d = self.d
        if not sum.metric.core.robust:
            L.full_convert(&sum.metric.core, K, sum.work)
        for i in range(self.d):
            x = data_of(rows) + i * self.d
            if status == CF_OK:
                status = sum.propose(x)
            if status == CF_OK:
                status = sum.accept(x, 1.0 / scale, K.dot(self.d, x, o.w) - K.dot(self.d, x, sum.w),
                                    sum.w)
        for i in range(self.d):
            if status != CF_OK:
                break
            sum.unit[i] = 1.0
            L.full_look(&sum.metric.core, K, sum.unit, sum.work, sum.v, &q)
            K.axpy(self.d, -c / (1.0 + c * q) * sum.w[i], sum.v, sum.w)
            status = L.full_update(&sum.metric.core, K, sum.unit, c, sum.work, &q)
            sum.unit[i] = 0.0
        if status != CF_OK:
            refuse(status, "the sum of both A")
        return self.become(sum, o)

    cdef int become(self, FullForm sum, FullForm o) except -1:
        """The sum of this and o."""
        if not K.all_finite(self.d, sum.w):
            raise ValueError("other is too far off: the weights of both together are not finite")
        self.memory, sum.memory = sum.memory, self.memory
        self.w, self.w_next, self.v, self.unit, self.work = (
            sum.w, sum.w_next, sum.v, sum.unit, sum.work)
        self.metric, self.past, self.kept.updates = sum.metric, sum.past, -1
        self.learned += o.learned
        return 0

    cdef np.ndarray whole(self):
        """A."""
        cdef np.ndarray out = self.metric.matrix()
        return out * self.past.scale

    # --- what users may see -------------------------------------------------------------------

    cdef np_weights(self):
        return vector_of(self.w, self.d)

    cdef np_inverse(self, Py_ssize_t i):
        return self.metric.inverse() / self.past.scale


include "_regression_diagonal.pxi"
