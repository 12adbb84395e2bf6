# The regression with the diagonal of A: part of _regression.pyx.


cdef class DiagonalForm(DiagonalRidge):
    """With the diagonal of A: O(entries) a row, times p + 1 with a context. Rows may become wider.

    Parameters
    ----------
    ridge, forget
        As for `DiagonalRidge`.
    logistic : bool
        The link.
    """

    def __init__(self, double ridge, double forget, bint logistic):
        DiagonalRidge.__init__(self, ridge, forget, False)
        self.logistic = logistic
        self.lazy = forget < 1.0

    cdef int know(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t room = n, i
        cdef double *a
        if n > self.held:
            if self.d and self.most:
                room = max(n, min(self.most, self.held + self.held // 2))
            a = new_doubles(5, room, f"a diagonal of {room} features")
            for i in range(self.d, room):
                a[i] = 0.0 if self.lazy else self.ridge
            if self.d:
                memcpy(a, self.a, <size_t>self.d * sizeof(double))
                memcpy(a + room, self.w, <size_t>self.d * sizeof(double))
            L.free(self.a)
            self.a, self.w, self.a_next, self.w_next = a, a + room, a + 2 * room, a + 3 * room
            self.room, self.held = a + 4 * room, room
        self.d = max(self.d, n)
        return 0

    cdef void shrink(self, Py_ssize_t d) noexcept:
        self.d = d

    cdef int adopt(self, Model other) except -1:
        cdef Py_ssize_t i
        DiagonalRidge.adopt(self, other)
        for i in range(self.d, self.held):  # what is fresh depends on how it is kept
            self.a[i] = 0.0 if self.lazy else self.ridge
        return 0

    # --- reading ------------------------------------------------------------------------------

    cdef int read_row(self, const cf_row *x, double *room, double *m, double *q) noexcept nogil:
        """Features beyond those known are as all were at the start: weight 0, a = ridge."""
        cdef cf_row known = x[0]
        cdef Py_ssize_t e
        cdef double beyond = 0.0
        if x.n > self.d:
            while known.nnz and place_of(x, known.nnz - 1) >= self.d:
                known.nnz -= 1
            known.n = self.d
            for e in range(known.nnz, x.nnz):
                beyond += x.value[e] * x.value[e] / self.ridge
        m[0] = K.ridge_dot(&known, self.w)
        if q == NULL:
            return CF_OK if fabs(m[0]) <= MOST else CF_ENONFINITE
        q[0] = K.ridge_quad(&known, self.now(&known, self.scale, room)) + beyond
        return CF_OK if m[0] - m[0] == 0.0 and q[0] - q[0] == 0.0 else CF_ENONFINITE

    cdef int read_one(self, Scratch s, double *m, double *q) noexcept nogil:
        return self.read_row(&s.row, s.v, m, q)

    cdef int fit_rows(self, Rows X, Crossed by, Scratch s) except -1:
        cdef Py_ssize_t size = cf_pad(self.d) if self.lazy else 0
        s.buffer.fit(X.most)
        return s.fit(1, size + (2 * cf_pad(X.d) if by.p and X.kind != SPARSE else 0))

    cdef int read_rows(self, Rows X, Crossed by, Scratch s, double *m, double *q) noexcept nogil:
        cdef double *a = s.v + (cf_pad(self.d) if self.lazy else 0)
        cdef double *w = a + cf_pad(X.d)
        cdef bint dense = X.kind != SPARSE
        cdef Py_ssize_t t
        cdef int status = CF_OK
        if by.p and dense:
            self.contract(by, X.d, a, w)
        for t in range(X.n):
            if not X.at(t, s.buffer, &s.row):
                return CF_ENOMEM
            if by.p == 0:
                status = self.read_row(&s.row, s.v, m + t, NULL if q == NULL else q + t)
            elif dense:
                m[t] = K.ridge_dot(&s.row, w)
                if q != NULL:
                    q[t] = K.ridge_quad(&s.row, a)
            else:
                self.read_crossed(&s.row, by, m + t, NULL if q == NULL else q + t)
            if not (status == CF_OK and m[t] - m[t] == 0.0
                    and (q == NULL or q[t] - q[t] == 0.0)):
                return CF_ENONFINITE
        return CF_OK

    cdef void contract(self, Crossed by, Py_ssize_t n, double *a, double *w) noexcept nogil:
        """The diagonal and the weights of rows of n features under this context."""
        cdef Py_ssize_t i, j
        cdef double sum, c
        memset(w, 0, <size_t>n * sizeof(double))
        for i in range(by.p + 1):
            K.axpy(n, 1.0 if i == 0 else by.c[i - 1], self.w + i * n, w)
        for j in range(n):
            sum = 1.0 / self.entry(j)
            for i in range(by.p):
                c = by.c[i]
                sum += c * c / self.entry((i + 1) * n + j)
            a[j] = 1.0 / sum

    cdef double entry(self, Py_ssize_t i) noexcept nogil:
        """a_i."""
        return self.ridge + self.scale * self.a[i] if self.lazy else self.a[i]

    cdef void read_crossed(self, const cf_row *x, Crossed by, double *m,
                           double *q) noexcept nogil:
        cdef Py_ssize_t e, i, place
        cdef double v, mean = 0.0, square = 0.0
        for i in range(by.p + 1):
            for e in range(x.nnz):
                place = i * x.n + place_of(x, e)
                v = x.value[e] if i == 0 else x.value[e] * by.c[i - 1]
                mean += v * self.w[place]
                square += v * v / self.entry(place)
        m[0] = mean
        if q != NULL:
            q[0] = square

    cdef bint steady(self) noexcept nogil:
        return self.forget == 1.0

    cdef const double *means(self) noexcept nogil:
        return self.w

    cdef void keep_matrix(self, double *to, Scratch s) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.d):
            to[i] = self.entry(i)

    cdef double length(self, const double *matrix, const double *u, Scratch s) noexcept nogil:
        cdef double out = 0.0
        cdef Py_ssize_t i
        for i in range(self.d):
            out += matrix[i] * u[i] * u[i]
        return (1.0 + 1e-9) * out

    cdef double reach(self) noexcept nogil:
        return largest(self.d, self.w)

    cdef int drawn(self, Scratch s, Py_ssize_t n, double width, double *z) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(n):
            z[i] /= sqrt(self.entry(i) if i < self.d else self.ridge)
        add_to(n, width, self.w, self.d, z)
        return CF_OK

    # --- the past -----------------------------------------------------------------------------

    cdef int decay(self, double f) except -1:
        cdef Py_ssize_t i
        if self.lazy:
            self.fade(f * self.scale)
            return 0
        for i in range(self.d):
            self.a[i] = f * self.a[i] + (1.0 - f) * self.ridge
        return 0

    # --- what users may see -------------------------------------------------------------------

    cdef np_weights(self):
        return vector_of(self.w, self.d)

    cdef np_inverse(self, Py_ssize_t i):
        cdef np.ndarray out = vector_of(self.a, self.d)
        cdef Py_ssize_t f
        for f in range(self.d):
            data_of(out)[f] = 1.0 / self.entry(f)
        return out
