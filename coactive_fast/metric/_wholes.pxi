# Ridge regressions with whole matrices: part of _ridges.pyx; see _ridges.pxd.
#
# Small matrices stand eight abreast: one pass computes the products of eight classes, and no sum
# runs across lanes. Larger ones are triangles of their own (cf_inverse.h): a class that cannot
# win is then not looked at, and in a run the update of one round goes in while the next one reads
# the triangle.

cdef enum:
    ABREAST = 32    # features up to which classes stand eight abreast: 33 KB a group, the L1

# A bound on a width must hold for what is computed, with its rounding and the drift that the
# watch lets pass between two probes (1e-4 was seen), not only for what it stands for.
cdef double SAFE = 1.0 + 1e-3

COUNTS = ("updates", "probes", "renewals", "repairs", "failed")
RESIDUALS = ("last_residual", "worst_residual")


cdef class FullRidges(Ridges):
    """k ridge regressions with whole matrices.

    Parameters
    ----------
    k : int
    ridge : float
    precision : {"auto", "fast", "robust"}
        That of each matrix: each converts by itself.
    """

    def __init__(self, Py_ssize_t k, double ridge, str precision):
        self.k, self.ridge, self.precision = k, ridge, precision
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
                    b[8 * (g * pairs + i * (i + 3) // 2) + l] = 1.0 / self.ridge
        self.give_back()
        self.core, self.waiting, self.w, self.b, self.grown = core, waiting, w, b, grown
        self.w_step, self.b_step, self.abreast = w_step, 8 * pairs, abreast
        self.fulls, self.k, self.held = fulls, k, d
        self.converted = False
        for i in range(k):
            self.converted |= core[i].robust != 0
        self.scratch = (<Full>fulls[0]).scratch
        return 0

    cdef list fresh(self, Py_ssize_t k, Py_ssize_t n):
        """k metrics of order n that know nothing."""
        refuse_beyond_limit(14.0 * k * n * n, f"{k} full matrices of {n} features",
                            'covariance="diagonal" takes less')
        return [Full(n, ridge=self.ridge, precision=self.precision) for _ in range(k)]

    cdef int know(self, Py_ssize_t n) except -1:
        if n != self.held:  # only before the first round
            self.allot(self.k, n, self.fresh(self.k, n))
        return 0

    cdef int widen(self, Py_ssize_t k) except -1:
        cdef Py_ssize_t i, more = k - self.k
        if self.held == 0:
            self.k = k
            return 0
        weights, grown = self.np_weights(), self.np_grown()
        for i in range(self.k):
            self.load_lane(i)
        self.allot(k, self.held, [*self.fulls, *self.fresh(more, self.held)])
        self.put_back(numpy.vstack((weights, numpy.zeros((more, weights.shape[1])))),
                      numpy.append(grown, numpy.ones(more)))
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
        self.copy_lane(i, True)

    cdef void store_lane(self, Py_ssize_t i) noexcept nogil:
        self.copy_lane(i, False)

    cdef void copy_lane(self, Py_ssize_t i, bint load) noexcept nogil:
        cdef double *at
        cdef double *row
        cdef Py_ssize_t r, c
        if not self.abreast or self.core[i].robust:
            return
        at = self.b + i // 8 * self.b_step + i % 8
        for r in range(self.held):
            row = cf_triangle_row(&self.core[i].b, r)
            for c in range(r + 1):
                if load:
                    row[c] = at[0]
                else:
                    at[0] = row[c]
                at += 8

    # --- reading ------------------------------------------------------------------------------

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return 0.125 * self.k * self.held * self.held

    cdef int fit(self, Scratch s) except -1:
        cdef Py_ssize_t n = s.row.n
        s.view.fit(n)
        if n <= ABREAST:
            return s.fit(self.k, (cf_pad(self.k) + 8) * n + 3 * cf_pad(n))
        return s.fit(self.k, (self.k + 2) * cf_pad(n))

    cdef void prepare(self, Scratch s) noexcept nogil:
        write_out(&s.row, s.view)

    cdef double *row_of(self, Scratch s, Py_ssize_t i) noexcept nogil:
        """Where v_i stands; eight abreast: that of its group."""
        return s.v + (i // 8 if self.abreast else i) * self.w_step

    cdef void look_at_group(self, Scratch s, Py_ssize_t g) noexcept nogil:
        cdef Py_ssize_t i
        K.octet_read(self.held, self.b + g * self.b_step, self.w + g * self.w_step, s.row.value,
                     s.v + g * self.w_step, s.m + 8 * g, s.q + 8 * g)
        if self.converted:
            for i in range(8 * g, min(8 * g + 8, self.k)):
                if self.core[i].robust:
                    self.look_at_robust(s, i)

    cdef void look_at_robust(self, Scratch s, Py_ssize_t i) noexcept nogil:
        """v_i and q_i of a robust core."""
        cdef double *row = self.row_of(s, i)
        cdef double *v = row
        cdef double *rest = s.v + self.k * self.w_step
        cdef Py_ssize_t f
        if self.abreast:
            v = s.v + cf_pad(self.k) * self.held
            rest = v + cf_pad(self.held)
        L.full_look(self.core[i], K, s.row.value, rest, v, s.q + i)
        for f in range(self.held if self.abreast else 0):
            row[8 * f + i % 8] = v[f]

    cdef void product(self, Scratch s, Py_ssize_t i) noexcept nogil:
        """v_i and q_i; a term that waits goes in on the way."""
        cdef cf_full *core = self.core[i]
        cdef double *v = self.row_of(s, i)
        if core.robust:
            self.look_at_robust(s, i)
            return
        if self.waiting[i]:
            K.rank_one_symv(&core.b, core.w, s.row.value, v)
            memset(core.w, 0, <size_t>self.w_step * sizeof(double))
            self.waiting[i] = 0
        else:
            K.symv(&core.b, s.row.value, v)
        s.q[i] = K.dot(self.held, s.row.value, v)

    cdef int verdict(self, Scratch s, double q) noexcept nogil:
        """What a q that is not > 0 means."""
        cdef double size = K.dot(self.held, s.row.value, s.row.value)
        if not size / self.ridge <= DBL_MAX:
            return CF_ENONFINITE
        return CF_ENOTPOSITIVE if size / self.ridge >= DBL_MIN or q < 0.0 else CF_OK

    cdef int read_scores(self, Scratch s) noexcept nogil:
        cdef cf_lines lines
        cdef Py_ssize_t i
        if self.held != s.row.n:
            memset(s.m, 0, <size_t>self.k * sizeof(double))
        elif self.abreast:
            lines.stride, lines.second, lines.k = 8, 0, 8
            for i in range(cf_pad(self.k) // 8):
                lines.data = self.w + i * self.w_step
                K.lines_scores(&lines, &s.row, NULL, s.m + 8 * i)
        else:
            for i in range(self.k):
                s.m[i] = K.dot(self.held, s.row.value, self.w + i * self.w_step)
        return CF_OK

    cdef int read(self, Scratch s) noexcept nogil:
        cdef Py_ssize_t i
        cdef int status
        if self.held != s.row.n:  # nothing is known: every answer is as good
            s.null = True
            return CF_OK
        if not self.abreast:
            self.read_scores(s)
        for i in range(cf_pad(self.k) // 8 if self.abreast else self.k):
            if self.abreast:
                self.look_at_group(s, i)
            else:
                self.product(s, i)
                s.c[i] = 1.0
        for i in range(self.k):
            if not s.q[i] > 0.0:
                status = self.verdict(s, s.q[i])
                if status != CF_OK:
                    return status
        return CF_OK

    cdef int choose(self, Scratch s, double factor) noexcept nogil:
        if self.abreast or not self.bounded or self.held != s.row.n:
            return Ridges.choose(self, s, factor)
        return self.choose_bounded(s, factor)

    cdef int choose_bounded(self, Scratch s, double factor) noexcept nogil:
        """The choice without all the products: q_i <= x.x / ridge bounds an answer's score, and
        only those that can still win are looked at, the best bound first. c tells which."""
        cdef double score, best = -DBL_MAX, width
        cdef Py_ssize_t i, k = self.k
        cdef int status
        self.read_scores(s)
        s.exploit = K.best_label(k, s.m)
        width = K.dot(self.held, s.row.value, s.row.value) / self.ridge
        width = SAFE * sqrt(factor * width)
        if s.exploit < 0 or not width <= DBL_MAX:
            return CF_ENONFINITE
        s.label = 0
        for i in range(k):
            s.z[i] = s.m[i] + width
            s.c[i] = 0.0
        while True:
            i = K.best_label(k, s.z)
            if s.z[i] < best or s.z[i] == -DBL_MAX:
                return CF_OK
            self.product(s, i)
            s.z[i], s.c[i] = -DBL_MAX, 1.0
            if not s.q[i] > 0.0:
                status = self.verdict(s, s.q[i])
                if status != CF_OK:
                    return status
            score = s.m[i] + sqrt(factor * s.q[i])
            if not score <= DBL_MAX:
                return CF_ENONFINITE
            if score > best or (score == best and i < s.label):
                best, s.label = score, i

    cdef int look_at(self, Scratch s, Py_ssize_t i) noexcept nogil:
        if self.abreast:
            self.look_at_group(s, i // 8)
            return CF_OK if s.q[i] > 0.0 else self.verdict(s, s.q[i])
        s.m[i] = K.dot(self.held, s.row.value, self.w + i * self.w_step)
        s.c[i] = 0.0
        return CF_OK  # `allows` makes the product

    cdef int repair(self, Scratch s) noexcept nogil:
        """The inverses that gave a q <= 0 anew from their A."""
        cdef Py_ssize_t i
        cdef int status = CF_ENOTPOSITIVE
        for i in range(self.k):
            if not s.q[i] > 0.0 and (self.abreast or s.c[i] != 0.0):
                self.load_lane(i)
                if L.full_repair(self.core[i], K, self.scratch):
                    self.waiting[i], self.grown[i] = 0, 1.0
                    self.converted |= self.core[i].robust != 0
                    self.store_lane(i)
                    status = CF_OK
        return status

    # --- changing -----------------------------------------------------------------------------

    cdef int allows(self, Scratch s, Py_ssize_t i, bint looked) noexcept nogil:
        cdef int status
        if not (self.abreast or looked or s.c[i] != 0.0):
            self.product(s, i)
            s.c[i] = 1.0
            if not s.q[i] > 0.0:
                status = self.look_again(s, i)
                if status != CF_OK:
                    return status
        self.size = K.dot(self.held, s.row.value, s.row.value)
        self.kind = L.full_judge(self.core[i], s.row.value, 1.0, self.size)
        return CF_OK if self.kind >= 0 and in_range(s.m[i], s.q[i], self.ridge) else CF_ENONFINITE

    cdef void step(self, Scratch s, Py_ssize_t i, double y, bint move) noexcept nogil:
        cdef double q = s.q[i]
        self.move(s, i, (y - s.m[i]) / (1.0 + q), move)
        if self.kind != CF_FULL_NOTHING:
            self.update(s, i, q)

    cdef int look_again(self, Scratch s, Py_ssize_t i) noexcept nogil:
        """After a q that is not > 0, one repair."""
        cdef int status = self.verdict(s, s.q[i])
        if status == CF_ENOTPOSITIVE and L.full_repair(self.core[i], K, self.scratch):
            self.waiting[i] = 0
            self.converted |= self.core[i].robust != 0
            self.product(s, i)
            status = CF_OK if s.q[i] > 0.0 else CF_ENOTPOSITIVE
        return status

    cdef void move(self, Scratch s, Py_ssize_t label, double step, bint all) noexcept nogil:
        """w_i += c_i v_i for all, and w += step v for the label; or the latter alone."""
        cdef Py_ssize_t i, first = 0, groups = cf_pad(self.k) // 8
        if all:
            s.c[label] += step
        elif self.abreast:
            first, groups = label // 8, label // 8 + 1
            memset(s.c + 8 * first, 0, 8 * sizeof(double))
            s.c[label] = step
        if self.abreast:
            for i in range(first, groups):
                K.octet_move(self.held, s.v + i * self.w_step, s.c + 8 * i,
                             self.w + i * self.w_step)
        elif all:
            for i in range(self.k):
                K.axpy(self.held, s.c[i], self.row_of(s, i), self.w + i * self.w_step)
        else:
            K.axpy(self.held, step, self.row_of(s, label), self.w + label * self.w_step)

    cdef void update(self, Scratch s, Py_ssize_t i, double q) noexcept nogil:
        """A_i += x x^T."""
        cdef cf_full *core = self.core[i]
        cdef Py_ssize_t g = i // 8
        cdef bint due
        cdef long long renewals
        if self.size > core.steepest:
            self.convert(i)
        if core.robust or not self.abreast:
            L.full_accept(core, K, s.row.value, 1.0, self.row_of(s, i), q, self.scratch)
            self.waiting[i] = not core.robust
            self.converted |= core.robust != 0
            return
        K.octet_update(self.held, self.row_of(s, i), <int>(i % 8), sqrt(1.0 / (1.0 + q)),
                       self.b + g * self.b_step, s.v + cf_pad(self.k) * self.held)
        due = core.health.updates + 1 >= core.next_look
        renewals = core.health.renewals
        if q > 1e100 or self.grown[i] > 1e100:  # else a product: a logarithm takes 13 ns
            core.logdet += K.log_one(self.grown[i]) + K.log1p_one(q)
            self.grown[i] = 1.0
        else:
            self.grown[i] *= 1.0 + q
        if due:
            self.load_lane(i)
        L.full_gather(core, K, s.row.value, 1.0, self.scratch)
        if core.health.renewals != renewals:
            self.converted |= core.robust != 0
            self.store_lane(i)
            self.grown[i] = 1.0

    cdef bint convert(self, Py_ssize_t i) noexcept nogil:
        """A_i's inverse in the robust form, which its core keeps."""
        if L.full_convert(self.core[i], K, self.scratch):
            self.waiting[i], self.grown[i], self.converted = 0, 1.0, True
        return self.core[i].robust != 0

    cdef void settle(self) noexcept nogil:
        cdef Py_ssize_t i
        if self.abreast:
            return
        for i in range(self.k if self.held else 0):
            if self.waiting[i] and not self.core[i].robust:
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
            out[i] = self.core[i].logdet - self.held * K.log_one(self.ridge)
            out[i] += K.log_one(self.grown[i])
        return out

    cdef dict health(self):
        cdef Py_ssize_t i
        found = {"precision": numpy.full(self.k, "robust" if self.precision == "robust" else "fast",
                                         dtype="U6")}
        for i in range(self.k if self.d else 0):
            found["precision"][i] = (<Full>self.fulls[i])._form()
        found.update({name: numpy.zeros(self.k, dtype=numpy.int64) for name in COUNTS})
        found.update({name: numpy.zeros(self.k) for name in RESIDUALS})
        for i in range(self.k if self.d else 0):
            one = dict(self.core[i].health)
            for name in one:
                found[name][i] = one[name]
        return found

    cdef dict told(self):
        cdef Py_ssize_t i
        for i in range(self.k if self.d else 0):
            self.load_lane(i)
        return {**told_counts(self), "weights": self.np_weights(), "grown": self.np_grown(),
                "classes": [one.state() for one in self.fulls] if self.d else []}

    cdef int restore(self, State state) except -1:
        cdef np.ndarray weights, grown
        cdef State one
        restore_counts(self, state)
        weights, grown = state.table("weights", self.k, self.d), state.vector("grown", self.k)
        if not (<object>grown).min() >= 1.0:
            state.refuse("grown", ">= 1")
        fulls = []
        for one in state.parts("classes", self.k if self.d else 0):
            full = Full.from_state(one.given)
            if (full.n, full.ridge) != (self.d, self.ridge):
                raise ValueError("a metric of the state does not fit its learner")
            (<Full>full)._ask_for(code_of(self.precision))
            fulls.append(full)
        if self.d:
            self.allot(self.k, self.d, fulls)
            self.put_back(weights, grown)
        return 0
