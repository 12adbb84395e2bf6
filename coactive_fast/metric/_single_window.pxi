# The full form with a window, and on a ball: part of _single.pyx.


cdef class WindowRidge(FullRidge):
    """Only the last `window` examples count. Memory: ``8 window d`` bytes more.

    The oldest leaves by a downdate; every so many losses, and where one would cost digits, A, b
    and w are summed up anew from the rows in the window: O(window d^2), amortised O(d^2). In the
    robust form, from which nothing is taken away, that is at each example.
    """

    def __init__(self, double ridge, Py_ssize_t window, str precision):
        FullRidge.__init__(self, ridge, 1.0, precision)
        self.window = window

    def __dealloc__(self):
        L.free(self.ring)

    cdef int start(self, Py_ssize_t n) except -1:
        cdef double *ring = new_doubles(self.window, (n | 7) + 2,
                                        f"a window of {self.window} rows of {n} features")
        L.free(self.ring)
        self.ring, self.label = ring, ring + self.window * cf_pad(n)
        return FullRidge.start(self, n)

    cdef int take(self, Scratch s, Py_ssize_t i, double y) noexcept nogil:
        cdef const double *x = s.forms.whole(&s.row)
        cdef double size = K.dot(self.d, x, x)
        cdef bint full
        cdef int status
        s.forms.clear(&s.row)
        if not size < LARGE:
            return CF_ENONFINITE
        status = FullRidge.take(self, s, i, y)
        if status != CF_OK:
            return status
        full = self.held == self.window
        if full and self.metric.core.robust:
            self.drop_oldest()
        elif full:
            self.lose_oldest()
        x = s.forms.whole(&s.row)
        self.keep(x, y)
        s.forms.clear(&s.row)
        if full and self.metric.core.robust:
            self.learn_again()
        elif self.losses >= max(PERIOD, max(self.d, self.window)):
            self.rebuild()
        return CF_OK

    cdef void keep(self, const double *x, double y) noexcept nogil:
        cdef Py_ssize_t at = (self.oldest + self.held) % self.window
        memcpy(self.ring + at * cf_pad(self.d), x, <size_t>self.d * sizeof(double))
        self.label[at] = y
        self.held += 1

    cdef void lose_oldest(self) noexcept nogil:
        """w and A without the oldest example."""
        cdef const double *x = self.ring + self.oldest * cf_pad(self.d)
        cdef double y = self.label[self.oldest]
        self.drop_oldest()
        if self.propose(x) != CF_OK or not 1.0 - self.quad > COSTLY:
            self.losses = PERIOD + self.d + self.window  # made anew when the new row is there
            return
        K.axpy(self.d, (K.dot(self.d, self.w, x) - y) / (1.0 - self.quad), self.v, self.w)
        L.full_drop(&self.metric.core, K, x, self.v, self.quad, self.work)

    cdef void drop_oldest(self) noexcept nogil:
        self.oldest = (self.oldest + 1) % self.window
        self.held -= 1
        self.losses += 1

    cdef void rebuild(self) noexcept nogil:
        """All from the rows in the ring, the oldest first."""
        cdef Py_ssize_t padded = cf_pad(self.d), i, at
        cdef double one = 1.0
        self.restart()
        memset(self.w_next, 0, <size_t>self.d * sizeof(double))
        for i in range(self.held):
            at = (self.oldest + i) % self.window
            K.rank_block(&self.metric.core.a, self.metric.core.low, 1, self.ring + at * padded,
                         padded, &one)
            K.axpy(self.d, self.label[at], self.ring + at * padded, self.w_next)
        if L.full_renew(&self.metric.core, K, self.work):
            L.full_solve(&self.metric.core, K, self.w_next, self.work, self.w)
        else:
            self.learn_again()
        self.losses = 0

    cdef void restart(self) noexcept nogil:
        """The metric as it was made, but for its counts."""
        cdef cf_full before = self.metric.core
        L.full_init(&self.metric.core, self.d, self.ridge,
                    CF_FULL_ROBUST if before.robust else before.precision, K, self.metric.memory)
        core = &self.metric.core
        core.precision = before.precision
        core.health, core.next_look = before.health, before.next_look
        core.next_probe, core.next_renewal = before.next_probe, before.next_renewal

    cdef void learn_again(self) noexcept nogil:
        """The rows in the ring as if they came now."""
        cdef const double *x
        cdef Py_ssize_t i, at
        self.restart()
        memset(self.w, 0, <size_t>self.d * sizeof(double))
        for i in range(self.held):
            at = (self.oldest + i) % self.window
            x = self.ring + at * cf_pad(self.d)
            if self.propose(x) == CF_OK:
                self.accept(x, 1.0, self.label[at] - K.dot(self.d, self.w, x), self.w)
        self.losses = 0

    cdef dict extra(self):
        rows = <object>table_from(self.ring, self.held, self.d, cf_pad(self.d))
        labels = <object>vector_of(self.label, self.held)
        return {**FullRidge.extra(self), "rows": numpy.roll(rows, -self.oldest, axis=0),
                "labels": numpy.roll(labels, -self.oldest), "losses": self.losses}

    cdef int take_extra(self, State state, Py_ssize_t d) except -1:
        cdef Py_ssize_t n = min(self.learned, self.window), i
        cdef np.ndarray rows = state.table("rows", n, d)
        cdef Py_ssize_t losses = state.count("losses")
        state.number("scale", 1.0, 1.0)
        state.vector("labels", n)
        FullRidge.take_extra(self, state, d)
        state.load("labels", n, self.label)
        for i in range(n):
            memcpy(self.ring + i * cf_pad(d), <const double *>np.PyArray_DATA(rows) + i * d,
                   <size_t>d * sizeof(double))
        self.oldest, self.held, self.losses = 0, n, losses
        return 0


cdef class BallRidge(WindowRidge):
    """The ridge step, then P2 on the unit ball in the norm of A, all or nothing.

    With a window each example costs O(window d^2) once it is full: what a projection has taken
    away cannot be told from what the oldest example brought, so the steps of those left are made
    again, in a second metric of as much memory.

    Parameters
    ----------
    ridge, forget
        As for `FullRidge`.
    window : int
        0: none.
    """

    def __init__(self, double ridge, double forget, Py_ssize_t window, str precision):
        FullRidge.__init__(self, ridge, forget, precision)
        self.window = window

    def __dealloc__(self):
        L.free(self.w_spare)

    cdef int start(self, Py_ssize_t n) except -1:
        if not self.window:
            return FullRidge.start(self, n)
        refuse_beyond_limit(28.0 * n * n, f"a full matrix of {n} features, and a second one",
                            'covariance="diagonal" or "kernel" takes less')
        spare = self.new_metric(n)
        w = new_doubles(1, cf_pad(n), f"the weights of {n} features")
        L.free(self.w_spare)
        self.spare, self.w_spare = spare, w
        return WindowRidge.start(self, n)

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return FullRidge.cost(self, nnz) * (1.0 + <double>self.held)

    cdef int read(self, Scratch s) noexcept nogil:
        s.m[0] = s.q[0] = 0.0
        return linear(&s.row, self.w, s.m) if self.d else CF_OK

    cdef int look(self, Scratch s) noexcept nogil:
        return self.read(s)

    cdef int learn(self, const double *x, double y, double m) noexcept nogil:
        cdef cf_newton move
        cdef double lam = self.lam
        cdef int status
        move.c = 1.0 / self.past.scale
        move.gain = (y - m) / self.past.scale
        move.radius = move.limit = 1.0
        status = L.newton_ball(&self.metric.core, K, &move, x, self.w, self.w_next, &lam, self.work)
        self.lam = lam if status == CF_OK else self.lam
        return status

    # --- a window -----------------------------------------------------------------------------

    cdef int take(self, Scratch s, Py_ssize_t i, double y) noexcept nogil:
        cdef const double *x
        cdef int status
        if self.held < self.window or not self.window:
            status = FullRidge.take(self, s, i, y)
            x = s.forms.whole(&s.row)
        else:
            x = s.forms.whole(&s.row)
            status = self.replay(x, y)
            if status == CF_OK:
                self.oldest = (self.oldest + 1) % self.window
                self.held -= 1
                self.learned += 1
        if status == CF_OK and self.window:
            self.keep(x, y)
        s.forms.clear(&s.row)
        return status

    cdef int replay(self, const double *x, double y) noexcept nogil:
        """The steps of all examples in the ring but the oldest, then that of x."""
        cdef double lam = self.lam
        cdef Py_ssize_t i, at
        cdef int status = CF_OK
        memcpy(self.w_spare, self.w, <size_t>self.d * sizeof(double))
        self.change_places()
        L.full_init(&self.metric.core, self.d, self.ridge, self.metric.core.precision, K,
                    self.metric.memory)
        memset(self.w, 0, <size_t>self.d * sizeof(double))
        self.lam = 0.0
        for i in range(1, self.held):
            at = (self.oldest + i) % self.window
            if status == CF_OK:
                status = self.again(self.ring + at * cf_pad(self.d), self.label[at])
        if status == CF_OK:
            status = self.again(x, y)
        if status != CF_OK:
            self.change_places()
            memcpy(self.w, self.w_spare, <size_t>self.d * sizeof(double))
            self.lam = lam
        return status

    cdef int again(self, const double *x, double y) noexcept nogil:
        cdef int status = self.learn(x, y, K.dot(self.d, self.w, x))
        if status == CF_OK:
            self.w, self.w_next = self.w_next, self.w
        return status

    cdef void change_places(self) noexcept nogil:
        cdef cf_full core = self.metric.core
        cdef double *memory = self.metric.memory
        self.metric.core, self.metric.memory = self.spare.core, self.spare.memory
        self.spare.core, self.spare.memory = core, memory

    cdef dict extra(self):
        told = WindowRidge.extra(self) if self.window else FullRidge.extra(self)
        return {**told, "lam": self.lam}

    cdef int take_extra(self, State state, Py_ssize_t d) except -1:
        self.lam = state.number("lam", 0.0)
        if self.window:
            return WindowRidge.take_extra(self, state, d)
        return FullRidge.take_extra(self, state, d)
