"""Confidit with whole matrices; see _full.pxd.

Small matrices stand eight abreast: one pass computes the products of eight classes, and no sum
runs across lanes. Larger ones are triangles of their own (cf_inverse.h): a class that cannot
win is then not looked at, and in a run the update of one round goes in while the next one reads
the triangle.
"""

import numpy

cimport numpy as np
from libc.float cimport DBL_MAX, DBL_MIN
from libc.math cimport sqrt
from libc.stddef cimport size_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport data_of
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_ENOTPOSITIVE, CF_EVALUE, CF_FULL_NOTHING, CF_OK, cf_full, cf_get_library,
    cf_get_table, cf_library, cf_lines, cf_pad, cf_table, cf_triangle_row,
)
from coactive_fast.learner._rows cimport write_out
from coactive_fast.metric._full cimport Full
from coactive_fast.multiclass._models cimport Model, Work, table_of

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    ABREAST = 32    # features up to which classes stand eight abreast: 33 KB a group, the L1

# A bound on a width must hold for what is computed, with its rounding and the drift that the
# watch lets pass between two probes (1e-4 was seen), not only for what it stands for.
cdef double SAFE = 1.0 + 1e-3

COUNTS = ("updates", "probes", "renewals", "repairs", "failed")
RESIDUALS = ("last_residual", "worst_residual")


cdef class FullRidges(Model):
    def __init__(self, Py_ssize_t k, Policy policy):
        self.policy = policy
        self.k = k
        self.bounded = True
        self.fulls = []

    def __dealloc__(self):
        self.give_back()

    cdef void give_back(self) noexcept:
        L.free(self.core)
        L.free(self.waiting)
        L.free(self.w)
        L.free(self.b)
        L.free(self.grown)

    cdef int allot(self, Py_ssize_t k, Py_ssize_t d, list fulls) except -1:
        """Memory for k classes of d features, with nothing learned; the cores are given."""
        cdef Py_ssize_t groups = cf_pad(k) // 8, pairs = d * (d + 1) // 2, i, g, l
        cdef bint abreast = d <= ABREAST
        cdef Py_ssize_t w_step = 8 * d if abreast else cf_pad(d)
        core = <cf_full **>L.alloc_zero(<size_t>k, sizeof(cf_full *))
        waiting = <char *>L.alloc_zero(<size_t>k, 1)
        w = <double *>L.alloc_zero(<size_t>((groups if abreast else k) * w_step), sizeof(double))
        b = <double *>L.alloc_zero(<size_t>(8 * groups * pairs if abreast else 0), sizeof(double))
        grown = <double *>L.alloc(<size_t>k, sizeof(double))
        if core == NULL or waiting == NULL or w == NULL or b == NULL or grown == NULL:
            for block in (<size_t>core, <size_t>waiting, <size_t>w, <size_t>b, <size_t>grown):
                L.free(<void *><size_t>block)
            raise MemoryError(f"{k} classes of {d} features")
        for i in range(k):
            core[i] = &(<Full>fulls[i]).core
            grown[i] = 1.0
        for g in range(groups if abreast else 0):
            for i in range(d):
                for l in range(8):
                    b[8 * (g * pairs + i * (i + 3) // 2) + l] = 1.0 / self.policy.ridge
        self.give_back()
        self.core, self.waiting, self.w, self.b, self.grown = core, waiting, w, b, grown
        self.w_step, self.b_step, self.abreast = w_step, 8 * pairs, abreast
        self.fulls, self.k, self.held = fulls, k, d
        self.scratch = (<Full>fulls[0]).scratch
        return 0

    cdef int make_room(self, Py_ssize_t n) except -1:
        if n != self.held:  # only before the first round
            self.allot(self.k, n, [Full(n, ridge=self.policy.ridge) for _ in range(self.k)])
        return 0

    cdef int add_class(self) except -1:
        cdef Py_ssize_t i
        if self.held == 0:
            self.k += 1
            return 0
        weights, fulls = self.np_weights(), self.fulls
        for i in range(self.k):
            self.load_lane(i)
        more, grown = Full(self.held, ridge=self.policy.ridge), self.np_grown()
        self.allot(self.k + 1, self.held, [*fulls, more])
        self.put_back(numpy.vstack((weights, numpy.zeros((1, weights.shape[1])))),
                      numpy.append(grown, 1.0))
        return 0

    cdef int put_back(self, np.ndarray table, np.ndarray grown) except -1:
        """Weights of shape (k, d), and the inverses of the cores, where they belong."""
        cdef Py_ssize_t i, f, d = np.PyArray_DIM(table, 1)
        for i in range(self.k):
            for f in range(d):
                self.weight_at(i, f)[0] = data_of(table)[i * d + f]
            self.store_lane(i)
            self.grown[i] = data_of(grown)[i]
        return 0

    cdef np_grown(self):
        cdef Py_ssize_t i
        out = numpy.ones(self.k)
        for i in range(self.k if self.held else 0):
            out[i] = self.grown[i]
        return out

    cdef double *weight_at(self, Py_ssize_t i, Py_ssize_t f) noexcept nogil:
        if self.abreast:
            return self.w + i // 8 * self.w_step + 8 * f + i % 8
        return self.w + i * self.w_step + f

    cdef void load_lane(self, Py_ssize_t i) noexcept nogil:
        """A class's inverse into its core."""
        cdef const double *at
        cdef double *row
        cdef Py_ssize_t r, c
        if not self.abreast:
            return
        at = self.b + i // 8 * self.b_step + i % 8
        for r in range(self.held):
            row = cf_triangle_row(&self.core[i].b, r)
            for c in range(r + 1):
                row[c] = at[0]
                at += 8

    cdef void store_lane(self, Py_ssize_t i) noexcept nogil:
        cdef double *at
        cdef const double *row
        cdef Py_ssize_t r, c
        if not self.abreast:
            return
        at = self.b + i // 8 * self.b_step + i % 8
        for r in range(self.held):
            row = cf_triangle_row(&self.core[i].b, r)
            for c in range(r + 1):
                at[0] = row[c]
                at += 8

    # --- reading ------------------------------------------------------------------------------

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return 0.125 * self.k * self.held * self.held

    cdef int fit(self, Work w) except -1:
        cdef Py_ssize_t n = w.row.n
        if self.policy.normalize:
            w.buffer.fit(w.row.nnz)
        w.view.fit(n)
        if n <= ABREAST:
            return w.fit(self.k, (cf_pad(self.k) + 8) * n)
        return w.fit(self.k, self.k * cf_pad(n))

    cdef void prepare(self, Work w) noexcept nogil:
        self.policy.normal(w)
        write_out(&w.row, w.view)

    cdef double *row_of(self, Work w, Py_ssize_t i) noexcept nogil:
        """Where v_i stands; eight abreast: that of its group."""
        return w.v + (i // 8 if self.abreast else i) * self.w_step

    cdef void look_at_group(self, Work w, Py_ssize_t g) noexcept nogil:
        K.octet_read(self.held, self.b + g * self.b_step, self.w + g * self.w_step, w.row.value,
                     w.v + g * self.w_step, w.m + 8 * g, w.q + 8 * g)

    cdef void look_at(self, Work w, Py_ssize_t i) noexcept nogil:
        """v_i and q_i; a term that waits goes in on the way."""
        cdef cf_full *core = self.core[i]
        cdef double *v = self.row_of(w, i)
        if self.waiting[i]:
            K.rank_one_symv(&core.b, core.w, w.row.value, v)
            memset(core.w, 0, <size_t>self.w_step * sizeof(double))
            self.waiting[i] = 0
        else:
            K.symv(&core.b, w.row.value, v)
        w.q[i] = K.dot(self.held, w.row.value, v)

    cdef int verdict(self, Work w, double q) noexcept nogil:
        """What a q that is not > 0 means."""
        cdef double size = K.dot(self.held, w.row.value, w.row.value)
        if not size / self.policy.ridge <= DBL_MAX:
            return CF_ENONFINITE
        return CF_ENOTPOSITIVE if size / self.policy.ridge >= DBL_MIN or q < 0.0 else CF_OK

    cdef int read_scores(self, Work w) noexcept nogil:
        cdef cf_lines lines
        cdef Py_ssize_t i
        if self.held != w.row.n:
            memset(w.m, 0, <size_t>self.k * sizeof(double))
        elif self.abreast:
            lines.stride, lines.second, lines.k = 8, 0, 8
            for i in range(cf_pad(self.k) // 8):
                lines.data = self.w + i * self.w_step
                K.lines_scores(&lines, &w.row, NULL, w.m + 8 * i)
        else:
            for i in range(self.k):
                w.m[i] = K.dot(self.held, w.row.value, self.w + i * self.w_step)
        return CF_OK

    cdef int read(self, Work w) noexcept nogil:
        w.exploit = w.label = 0
        if w.null or self.held != w.row.n:
            return CF_OK
        if self.abreast or self.policy.projection or not self.bounded:
            return self.read_all(w)
        return self.read_bounded(w)

    cdef int read_all(self, Work w) noexcept nogil:
        cdef Py_ssize_t i
        cdef int status
        if not self.abreast:
            self.read_scores(w)
        for i in range(cf_pad(self.k) // 8 if self.abreast else self.k):
            if self.abreast:
                self.look_at_group(w, i)
            else:
                self.look_at(w, i)
                w.c[i] = 1.0
        for i in range(self.k):
            if not w.q[i] > 0.0:
                status = self.verdict(w, w.q[i])
                if status != CF_OK:
                    return status
        return self.policy.decide(w, self.k, self.rounds)

    cdef int read_bounded(self, Work w) noexcept nogil:
        """The choice without all the products: q_i <= x.x / ridge bounds a class's score, and
        only those that can still win are looked at, the best bound first. c tells which."""
        cdef double factor = self.policy.factor(self.rounds), score, best = -DBL_MAX, width
        cdef Py_ssize_t i, k = self.k
        cdef int status
        self.read_scores(w)
        w.exploit = K.best_label(k, w.m)
        width = K.dot(self.held, w.row.value, w.row.value) / self.policy.ridge
        width = SAFE * sqrt(factor * width)
        if w.exploit < 0 or not width <= DBL_MAX:
            return CF_ENONFINITE
        for i in range(k):
            w.z[i] = w.m[i] + width
            w.c[i] = 0.0
        while True:
            i = K.best_label(k, w.z)
            if w.z[i] < best or w.z[i] == -DBL_MAX:
                return CF_OK
            self.look_at(w, i)
            w.z[i], w.c[i] = -DBL_MAX, 1.0
            if not w.q[i] > 0.0:
                status = self.verdict(w, w.q[i])
                if status != CF_OK:
                    return status
            score = w.m[i] + sqrt(factor * w.q[i])
            if not score <= DBL_MAX:
                return CF_ENONFINITE
            if score > best or (score == best and i < w.label):
                best, w.label = score, i

    cdef int read_for(self, Work w, Py_ssize_t label) noexcept nogil:
        if self.policy.projection or w.null:
            return self.read(w)
        if self.abreast:
            self.look_at_group(w, label // 8)
        else:
            w.m[label] = K.dot(self.held, w.row.value, self.w + label * self.w_step)
            w.c[label] = 0.0
            return CF_OK  # learn looks at it
        return CF_OK if w.q[label] > 0.0 else self.verdict(w, w.q[label])

    cdef int repair(self, Work w) noexcept nogil:
        """The inverses that gave a q <= 0 anew from their A."""
        cdef Py_ssize_t i
        cdef int status = CF_ENOTPOSITIVE
        for i in range(self.k):
            if not w.q[i] > 0.0 and (self.abreast or w.c[i] != 0.0):
                self.load_lane(i)
                if L.full_repair(self.core[i], K, self.scratch):
                    self.waiting[i], self.grown[i] = 0, 1.0
                    self.store_lane(i)
                    status = CF_OK
        return status

    # --- changing -----------------------------------------------------------------------------

    cdef int learn(self, Work w, Py_ssize_t label, bint correct) noexcept nogil:
        cdef const double *x = w.row.value
        cdef double m, q, beta
        cdef int kind, status
        if w.null:
            self.count(w.row.n)
            return CF_OK
        if not (self.abreast or self.policy.projection or w.c[label] != 0.0):
            self.look_at(w, label)
            if not w.q[label] > 0.0:
                status = self.look_again(w, label)
                if status != CF_OK:
                    return status
        m, q = w.m[label], w.q[label]
        kind = L.full_judge(self.core[label], x, 1.0, K.dot(self.held, x, x))
        if kind < 0 or not self.policy.steps(m, q):
            return CF_ENONFINITE
        beta = self.policy.sign(w, correct)  # nothing can fail any more
        self.move(w, label, (beta - m) / (1.0 + q))
        if kind != CF_FULL_NOTHING:
            self.update(w, label, q)
        self.policy.learned(q)
        self.count(w.row.n)
        return CF_OK

    cdef int look_again(self, Work w, Py_ssize_t i) noexcept nogil:
        """After a q that is not > 0, one repair."""
        cdef int status = self.verdict(w, w.q[i])
        if status == CF_ENOTPOSITIVE and L.full_repair(self.core[i], K, self.scratch):
            self.waiting[i] = 0
            self.look_at(w, i)
            status = CF_OK if w.q[i] > 0.0 else CF_ENOTPOSITIVE
        return status

    cdef void move(self, Work w, Py_ssize_t label, double step) noexcept nogil:
        """w_i += c_i v_i: all classes after a projection, else that of the label."""
        cdef Py_ssize_t i, first = 0, groups = cf_pad(self.k) // 8
        if self.policy.projection:
            w.c[label] += step
        elif self.abreast:
            first, groups = label // 8, label // 8 + 1
            memset(w.c + 8 * first, 0, 8 * sizeof(double))
            w.c[label] = step
        if self.abreast:
            for i in range(first, groups):
                K.octet_move(self.held, w.v + i * self.w_step, w.c + 8 * i,
                             self.w + i * self.w_step)
        elif self.policy.projection:
            for i in range(self.k):
                K.axpy(self.held, w.c[i], self.row_of(w, i), self.w + i * self.w_step)
        else:
            K.axpy(self.held, step, self.row_of(w, label), self.w + label * self.w_step)

    cdef void update(self, Work w, Py_ssize_t i, double q) noexcept nogil:
        """A_i += x x^T."""
        cdef cf_full *core = self.core[i]
        cdef Py_ssize_t g = i // 8
        cdef bint due
        cdef long long renewals
        if not self.abreast:
            L.full_accept(core, K, w.row.value, 1.0, self.row_of(w, i), q, self.scratch)
            self.waiting[i] = 1
            return
        K.octet_update(self.held, self.row_of(w, i), <int>(i % 8), sqrt(1.0 / (1.0 + q)),
                       self.b + g * self.b_step, w.v + cf_pad(self.k) * self.held)
        due = core.health.updates + 1 >= core.next_look
        renewals = core.health.renewals
        if q > 1e100 or self.grown[i] > 1e100:  # else a product: a logarithm takes 13 ns
            core.logdet += K.log_one(self.grown[i]) + K.log1p_one(q)
            self.grown[i] = 1.0
        else:
            self.grown[i] *= 1.0 + q
        if due:
            self.load_lane(i)
        L.full_gather(core, K, w.row.value, 1.0, self.scratch)
        if core.health.renewals != renewals:
            self.store_lane(i)
            self.grown[i] = 1.0

    cdef void settle(self) noexcept nogil:
        cdef Py_ssize_t i
        if self.abreast:
            return
        for i in range(self.k if self.held else 0):
            if self.waiting[i]:
                K.rank_one(&self.core[i].b, self.core[i].w)
                memset(self.core[i].w, 0, <size_t>self.w_step * sizeof(double))
                self.waiting[i] = 0

    # --- arrays and states --------------------------------------------------------------------

    cdef np_weights(self):
        cdef np.ndarray out = <np.ndarray>numpy.empty((self.k, self.held))
        cdef Py_ssize_t i, f
        for i in range(self.k):
            for f in range(self.held):
                data_of(out)[i * self.held + f] = self.weight_at(i, f)[0]
        return out if self.d else numpy.empty((self.k, 0))

    cdef np_inverse(self, Py_ssize_t i):
        if self.d == 0:
            return numpy.empty((0, 0))
        self.load_lane(i)
        return (<Full>self.fulls[i]).inverse()

    cdef np_information(self):
        cdef Py_ssize_t i
        out = numpy.zeros(self.k)
        for i in range(self.k if self.d else 0):
            out[i] = self.core[i].logdet - self.held * K.log_one(self.policy.ridge)
            out[i] += K.log_one(self.grown[i])
        return out

    cdef dict health(self):
        cdef Py_ssize_t i
        found = {name: numpy.zeros(self.k, dtype=numpy.int64) for name in COUNTS}
        found.update({name: numpy.zeros(self.k) for name in RESIDUALS})
        for i in range(self.k if self.d else 0):
            one = dict(self.core[i].health)
            for name in found:
                found[name][i] = one[name]
        return found

    cdef int adopt(self, Model other) except -1:
        self.policy.adopt((<FullRidges>other).policy)
        return Model.adopt(self, other)

    cdef dict state(self):
        cdef Py_ssize_t i
        for i in range(self.k if self.d else 0):
            self.load_lane(i)
        return {**Model.state(self), "explained": self.policy.explained,
                "weights": self.np_weights(), "grown": self.np_grown(),
                "classes": [one.state() for one in self.fulls] if self.d else []}

    cdef int restore(self, dict state) except -1:
        cdef np.ndarray weights, grown
        self.policy.restore(state)
        Model.restore(self, state)
        weights = <np.ndarray>table_of(state, "weights", (self.k, self.d))
        grown = <np.ndarray>table_of(state, "grown", (self.k,))
        if not (<object>grown).min() >= 1.0:
            raise ValueError("grown of the state must be >= 1")
        classes = state["classes"]
        if not isinstance(classes, list) or len(classes) != (self.k if self.d else 0):
            raise ValueError(f"classes of the state must be a list of {self.k} metrics")
        if self.d == 0:
            return 0
        fulls = [Full.from_state(one) for one in classes]
        for one in fulls:
            if (one.n, one.ridge, one.precision) != (self.d, self.policy.ridge, "fast"):
                raise ValueError("a metric of the state does not fit its learner")
        self.allot(self.k, self.d, fulls)
        return self.put_back(weights, grown)
