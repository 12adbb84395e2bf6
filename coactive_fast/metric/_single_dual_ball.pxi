# One ridge regression in dual form whose w stays in the unit ball: part of _single.pyx; see
# _single.pxd.
#
# With M = ridge I + G = L L^T and w = sum beta_s phi(x_s), what is kept is e = L^T beta, in the
# place of c: w.x = u.e, a step appends (y - w.x) / pivot to e whatever e was, and
# ||w||^2 = ||e||^2 - ridge ||beta||^2. P2 takes beta to (I + lam M^-1)^-1 beta, so
#     e <- (I + lam B)^-1 e,  B = (L^T L)^-1:  one backward and one forward solve a product.
# Lanczos on B from e, as in cf_ball.h; there ||w||^2 = y^T (I - ridge T) y for the vector V y of the
# Krylov space, T the tridiagonal form of B, exactly: the secular equation is solved on that.

cdef enum:
    KRYLOV = 256     # products for which there is always memory


cdef class DualBall(DualRidge):
    """The step of `DualRidge`, then P2 on the unit ball of the span of the rows, all or nothing.

    A step costs O(N^2) for N rows, with some 5 to 30 solves more where the projection is active.
    With a window each example costs O(window^3) once it is full, because the steps of those left
    are made again (see `BallRidge`), and its memory is that of two more matrices.
    """

    def __dealloc__(self):
        L.free(self.next)

    cdef Py_ssize_t krylov_size(self, Py_ssize_t n, Py_ssize_t steps) noexcept nogil:
        return (steps + 1) * (cf_pad(n + 1) + 8) + 6 * cf_pad(steps)

    cdef int make_place(self, Py_ssize_t room) except -1:
        cdef Py_ssize_t n = room + 16, steps = n if self.window else min(n, <Py_ssize_t>KRYLOV)
        cdef Py_ssize_t each = cf_pad(n + 1) + 8
        cdef double *block = new_doubles(1, 3 * each + self.krylov_size(n, steps),
                                         f"the projection of {room} learned examples")
        L.free(self.next)
        self.next, self.turn, self.row = block, block + each, block + 2 * each
        self.krylov, self.steps = block + 3 * each, steps
        return DualRidge.make_place(self, room)

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        cdef double n = self.gram.factor.n
        return DualRidge.cost(self, nnz) + (n * n * n if self.window else n * n)

    cdef int answer(self, Scratch s, const double *u, double own) noexcept nogil:
        s.m[0], s.q[0] = K.dot(self.gram.factor.n, u, self.c), 0.0
        return CF_OK if s.m[0] - s.m[0] == 0.0 else CF_ENONFINITE

    # --- learning -----------------------------------------------------------------------------

    cdef int store(self, Scratch s, double y) noexcept nogil:
        cdef Py_ssize_t n = self.gram.factor.n
        cdef double q = max(self.own - K.dot(n, self.u, self.u), 0.0) / self.ridge
        cdef double pivot = sqrt(self.ridge * (1.0 + q))
        cdef int status
        memcpy(self.next, self.c, <size_t>n * sizeof(double))
        self.next[n] = (y - s.m[0]) / pivot
        status = self.into_ball(&self.gram.factor, self.u, pivot, self.next)
        if status != CF_OK:
            return status
        self.gram.append(&s.row, s.forms, self.u, pivot)
        memcpy(self.c, self.next, <size_t>(n + 1) * sizeof(double))
        self.y[n], self.born[n] = y, self.learned
        self.info += K.log1p_one(q)
        return CF_OK

    cdef void expire(self) noexcept nogil:
        """All steps of the rows that are left, by the leading parts of their factor. The Krylov
        space may be as large as the window, so that memory is no matter; a step that leaves the
        range of float64, although it did not in the place that it had, is left out."""
        cdef Py_ssize_t before = self.gram.factor.n, n, j
        cdef cf_cholesky lead = self.gram.factor
        cdef double pivot
        DualRidge.expire(self)
        if self.gram.factor.n == before:
            return
        for n in range(self.gram.factor.n):
            lead.n = n
            for j in range(n):
                self.row[j] = cf_cholesky_at(&self.gram.factor, n, j)[0]
            pivot = cf_cholesky_at(&self.gram.factor, n, n)[0]
            self.c[n] = (self.y[n] - K.dot(n, self.row, self.c)) / pivot
            if self.into_ball(&lead, self.row, pivot, self.c) != CF_OK:
                self.c[n] = 0.0  # w as it was

    cdef int raise_error(self, int status) except -1:
        cdef Py_ssize_t n = self.gram.factor.n
        if status == CF_ENOMEM:
            raise MemoryError(f"{8 * self.krylov_size(n, n + 1)} bytes for a projection over {n} "
                              "learned examples; a window keeps fewer")
        return DualRidge.raise_error(self, status)

    # --- the projection -----------------------------------------------------------------------
    # The factor is l, of n rows, with the row (u, pivot) below it; vectors have n + 1 entries.

    cdef int into_ball(self, const cf_cholesky *l, const double *u, double pivot,
                       double *e) noexcept nogil:
        cdef Py_ssize_t n = l.n
        cdef double *more
        cdef int status
        if K.dot(n + 1, e, e) <= 1.0 or self.square(l, u, pivot, e) <= 1.0:
            return CF_OK
        status = self.project(l, u, pivot, e, self.krylov, min(n + 1, self.steps))
        if status != CF_ENOCONVERGE:
            return status
        more = <double *>L.alloc(<size_t>self.krylov_size(n, n + 1), sizeof(double))
        if more == NULL:
            return CF_ENOMEM
        status = self.project(l, u, pivot, e, more, n + 1)
        L.free(more)
        return status

    cdef double square(self, const cf_cholesky *l, const double *u, double pivot,
                       const double *e) noexcept nogil:
        """||w||^2."""
        cdef Py_ssize_t n = l.n
        cdef double *beta = self.turn
        cdef double last = e[n] / pivot
        memcpy(beta, e, <size_t>n * sizeof(double))
        memset(beta + n, 0, <size_t>(cf_pad(n) - n) * sizeof(double))
        K.axpy(n, -last, u, beta)
        K.cholesky_backward(l, beta, beta)
        return K.dot(n + 1, e, e) - self.ridge * (K.dot(n, beta, beta) + last * last)

    cdef void product(self, const cf_cholesky *l, const double *u, double pivot, const double *v,
                      double *out) noexcept nogil:
        """out = B v. Rows of the factor beyond n may be there: they see zeros, and what they make
        is taken away."""
        cdef Py_ssize_t n = l.n, i
        cdef double last = v[n] / pivot
        memcpy(self.turn, v, <size_t>n * sizeof(double))
        memset(self.turn + n, 0, <size_t>(cf_pad(n) - n) * sizeof(double))
        K.axpy(n, -last, u, self.turn)
        K.cholesky_backward(l, self.turn, self.turn)
        K.cholesky_forward(l, self.turn, out)
        out[n] = (last - K.dot(n, u, out)) / pivot
        for i in range(n + 1, cf_pad(n + 1)):
            out[i] = 0.0

    cdef int project(self, const cf_cholesky *l, const double *u, double pivot, double *e,
                     double *krylov, Py_ssize_t steps) noexcept nogil:
        """e <- (I + lam B)^-1 e with ||w|| = 1. CF_ENOCONVERGE: not in so many steps; e is as it
        was unless the answer is CF_OK."""
        cdef Py_ssize_t order = l.n + 1, stride = cf_pad(order) + 8, step, j
        cdef double *a = krylov + (steps + 1) * stride   # T: diagonal, beside it, y, room for three
        cdef double *b = a + cf_pad(steps)
        cdef double *y = b + cf_pad(steps)
        cdef double *q = krylov
        cdef double *next
        cdef double norm = sqrt(K.dot(order, e, e)), largest = 0.0, lam = 0.0, before
        for j in range(order):
            q[j] = e[j] / norm
        for step in range(steps):
            next = q + stride
            self.product(l, u, pivot, q, next)
            a[step] = K.dot(order, q, next)
            if not (a[step] > 0.0 and a[step] - a[step] == 0.0):
                return CF_ENONFINITE
            K.axpy(order, -a[step], q, next)
            if step:
                K.axpy(order, -b[step - 1], q - stride, next)
            before = sqrt(K.dot(order, next, next))
            orthogonalise(order, step + 1, stride, krylov, next)
            b[step] = sqrt(K.dot(order, next, next))
            if b[step] < 0.7 * before:  # much was taken away: once more, and that is enough
                orthogonalise(order, step + 1, stride, krylov, next)
                b[step] = sqrt(K.dot(order, next, next))
            largest = max(largest, a[step] + b[step])
            if not secular(step + 1, a, b, norm, self.ridge, &lam, y, y + cf_pad(steps)):
                return CF_ENONFINITE
            if (step + 1 == order or b[step] <= SMALL * largest
                    or lam * b[step] * fabs(y[step]) <= NEAR):
                memset(e, 0, <size_t>order * sizeof(double))
                for j in range(step + 1):
                    K.axpy(order, y[j], krylov + j * stride, e)
                return CF_OK
            for j in range(order):
                next[j] /= b[step]
            q = next
        return CF_ENOCONVERGE


cdef double SMALL = 2.0 ** -50  # of B: the end of its Krylov space
cdef double NEAR = 1e-13        # of a residual, where w has length 1


cdef void orthogonalise(Py_ssize_t n, Py_ssize_t rows, Py_ssize_t stride, const double *basis,
                        double *v) noexcept nogil:
    """v without its parts along the rows of the basis."""
    cdef Py_ssize_t i
    for i in range(rows):
        K.axpy(n, -K.dot(n, basis + i * stride, v), basis + i * stride, v)


cdef void divide(Py_ssize_t k, const double *a, const double *b, double lam, const double *right,
                 double *pivot, double *out) noexcept nogil:
    """out = (I + lam T)^-1 right; out may be right."""
    cdef Py_ssize_t i
    cdef double part
    pivot[0] = 1.0 + lam * a[0]
    out[0] = right[0]
    for i in range(1, k):
        part = lam * b[i - 1] / pivot[i - 1]
        pivot[i] = 1.0 + lam * a[i] - part * lam * b[i - 1]
        out[i] = right[i] - part * out[i - 1]
    out[k - 1] /= pivot[k - 1]
    for i in range(k - 2, -1, -1):
        out[i] = (out[i] - lam * b[i] * out[i + 1]) / pivot[i]


cdef bint secular(Py_ssize_t k, const double *a, const double *b, double norm, double ridge,
                  double *lam, double *y, double *work) noexcept nogil:
    """y = norm (I + lam T)^-1 e1 with y^T (I - ridge T) y = 1, lam >= 0, by Newton on one over the
    root of that, which is concave and increasing: from the left it never overshoots, from the
    right it comes to the left in one step. `work` has room for three vectors. False: no number."""
    cdef double *less = work             # (I - ridge T) y
    cdef double *slope = work + cf_pad(k)    # (I + lam T)^-1 T y
    cdef double *pivot = work + 2 * cf_pad(k)
    cdef double square, fall, step
    cdef Py_ssize_t i, turn
    for turn in range(100):
        for i in range(k):
            y[i] = norm if i == 0 else 0.0
        divide(k, a, b, lam[0], y, pivot, y)
        square = fall = 0.0
        for i in range(k):
            slope[i] = a[i] * y[i]
            slope[i] += b[i - 1] * y[i - 1] if i > 0 else 0.0
            slope[i] += b[i] * y[i + 1] if i + 1 < k else 0.0
            less[i] = y[i] - ridge * slope[i]
            square += y[i] * less[i]
        divide(k, a, b, lam[0], slope, pivot, slope)
        for i in range(k):
            fall += less[i] * slope[i]   # -1/2 of the derivative of `square`
        if not (square > 0.0 and fall > 0.0):
            return square - square == 0.0 and square > 0.0
        step = (sqrt(square) - 1.0) * square / fall
        if not fabs(step) < LARGE:
            return False
        if fabs(step) <= SMALL * lam[0] or fabs(square - 1.0) <= SMALL:
            return True
        lam[0] = max(lam[0] + step, 0.0)
    return True
