# One ridge regression with the diagonal of A: part of _single.pyx; see _single.pxd.


cdef class DiagonalRidge(Single):
    """Ridge regression on the diagonal of A: O(entries) a round, O(d) where it is projected.

    Parameters
    ----------
    ridge : float
    forget : float
        f: ``a <- f a + (1 - f) ridge`` in all coordinates at each example, w as it is.
    projected : bool
        P2 on the unit ball after each step.
    """

    def __init__(self, double ridge, double forget, bint projected):
        self.ridge, self.forget, self.projected = ridge, forget, projected
        self.scale = 1.0

    def __dealloc__(self):
        L.free(self.a)

    cdef int start(self, Py_ssize_t n) except -1:
        cdef double *a = new_doubles(5, n, f"a diagonal of {n} features")
        cdef Py_ssize_t i
        self.lazy = self.forget < 1.0
        for i in range(n):
            a[i] = 0.0 if self.lazy else self.ridge
        L.free(self.a)
        self.a, self.w, self.a_next, self.w_next = a, a + n, a + 2 * n, a + 3 * n
        self.room = a + 4 * n
        return 0

    cdef int fit(self, Scratch s) except -1:
        return s.fit(1, self.d if self.lazy else 0)

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return self.d if self.projected else nnz

    cdef const double *now(self, const cf_row *x, double scale, double *room) noexcept nogil:
        """The diagonal at the features of x, where it stands or in a room of d doubles."""
        cdef Py_ssize_t e, i
        if not self.lazy:
            return self.a
        for e in range(x.nnz):
            i = place_of(x, e)
            room[i] = self.ridge + scale * self.a[i]
        return room

    cdef int read(self, Scratch s) noexcept nogil:
        s.m[0] = s.q[0] = 0.0
        if self.d == 0:
            return CF_OK
        if self.projected:
            return linear(&s.row, self.w, s.m)
        s.m[0] = K.ridge_dot(&s.row, self.w)
        s.q[0] = K.ridge_quad(&s.row, self.now(&s.row, self.scale, s.v))
        return CF_OK if s.m[0] - s.m[0] == 0.0 and s.q[0] - s.q[0] == 0.0 else CF_ENONFINITE

    cdef int take(self, Scratch s, Py_ssize_t i, double y) noexcept nogil:
        """w += (x / a) c (y - m) / (1 + c q), a += c x^2, by the a that has forgotten; then the
        projection."""
        cdef const cf_row *x = &s.row
        cdef double scale = self.scale * self.forget, q = s.q[0], grown = 0.0, miss
        cdef double c = self.aim(s.m[0], y, &miss)
        cdef const double *a = self.now(x, scale, self.room)
        cdef int status = CF_OK
        if self.lazy or self.projected:
            q = K.ridge_quad(x, a)
        if not K.ridge_step(x, c * miss / (1.0 + c * q), c, a, self.w, self.a_next, self.w_next):
            return CF_ENONFINITE
        for i in range(self.d if self.projected else 0):  # all of the new diagonal
            self.room[i] = self.ridge + scale * self.a[i] if self.lazy else self.a[i]
        if self.projected:
            K.ridge_place(x, self.a_next, self.room)
        if not self.lazy:
            grown = self.growth(x)
        elif not self.to_excess(x, scale, c):
            return CF_ENONFINITE
        if self.projected:
            status = self.project(x)
        else:
            K.ridge_place(x, self.w_next, self.w)
        if status == CF_OK:
            self.fade(scale)
            K.ridge_place(x, self.a_next, self.a)
            self.sums += grown
            self.learned += 1
        return status

    cdef bint to_excess(self, const cf_row *x, double scale, double c) noexcept nogil:
        """What is kept of the new diagonal at the features of x; whether that is finite."""
        cdef double old = scale if scale < LEAST else 1.0, unit = 1.0 if scale < LEAST else scale
        cdef Py_ssize_t e
        for e in range(x.nnz):
            self.a_next[e] = old * self.a[place_of(x, e)] + c * x.value[e] * x.value[e] / unit
        return K.all_finite(x.nnz, self.a_next)

    cdef void fade(self, double scale) noexcept nogil:
        cdef Py_ssize_t i
        if scale < LEAST:
            for i in range(self.d):
                self.a[i] *= scale
            scale = 1.0
        self.scale = scale

    cdef int project(self, const cf_row *x) noexcept nogil:
        """w of the step onto the ball, in the norm of the diagonal in the room."""
        cdef Py_ssize_t e
        cdef int status
        for e in range(x.nnz):  # what is there and what comes change places
            self.w[place_of(x, e)], self.w_next[e] = self.w_next[e], self.w[place_of(x, e)]
        status = L.ridge_ball(K, self.d, self.room, self.w, 1.0, self.w)
        if status != CF_OK:
            K.ridge_place(x, self.w_next, self.w)
        return status

    cdef double growth(self, const cf_row *x) noexcept nogil:
        """sum ln(a_next / a): products of the ratios, so that a logarithm is seldom needed."""
        cdef double product = 1.0, sum = 0.0, old
        cdef Py_ssize_t e
        for e in range(x.nnz):
            old = self.a[place_of(x, e)]
            if self.a_next[e] > 1e100 * old:
                sum += K.log_one(self.a_next[e]) - K.log_one(old)
            else:
                product *= self.a_next[e] / old
            if product > 1e100:
                sum += K.log_one(product)
                product = 1.0
        return sum + K.log_one(product)

    cdef double information(self) noexcept nogil:
        """O(d) where it has ever forgotten."""
        cdef double product = 1.0, sum = 0.0, ratio
        cdef Py_ssize_t i
        if not self.lazy:
            return self.sums
        for i in range(self.d):
            ratio = 1.0 + self.scale * self.a[i] / self.ridge
            if 1e-100 < product * ratio < 1e100:
                product *= ratio
            else:
                sum += K.log_one(product) + K.log_one(ratio)
                product = 1.0
        return sum + K.log_one(product)

    # --- settings and state ---------------------------------------------------------------------

    cdef int adopt(self, Model other) except -1:
        cdef Py_ssize_t i
        self.forget = (<DiagonalRidge?>other).forget
        if self.forget < 1.0 and not self.lazy and self.d:
            for i in range(self.d):
                self.a[i] -= self.ridge
            self.lazy = True
        return 0

    cdef dict extra(self):
        return {"excess" if self.lazy else "a": vector_of(self.a, self.d),
                "w": vector_of(self.w, self.d), "scale": self.scale, "sums": self.sums}

    cdef int take_extra(self, State state, Py_ssize_t d) except -1:
        """States of version 1 that forgot have ``A = scale diag(a)``."""
        cdef double scale = state.number("scale", 0.0, 1.0), sums = state.number("sums")
        cdef bint lazy = state.has("excess")
        cdef np.ndarray a = state.vector("excess" if lazy else "a", d)
        state.vector("w", d)
        if not lazy and (self.forget < 1.0 or scale != 1.0):
            lazy, a, scale = True, <np.ndarray>(scale * a - self.ridge), 1.0
        if not (scale > 0.0 and ((self.ridge + scale * a if lazy else a) > 0.0).all()):
            state.refuse("a", "that of a diagonal > 0")
        self.know(d)
        memcpy(self.a, np.PyArray_DATA(a), <size_t>d * sizeof(double))
        state.load("w", d, self.w)
        self.lazy, self.scale, self.sums = lazy, scale, 0.0 if lazy else sums
        return 0
