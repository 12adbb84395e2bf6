# One ridge regression in dual form: part of _single.pyx; see _single.pxd.

cdef enum:
    AHEAD = 96       # examples kept from which rows are looked at in blocks
    MANY = 96        # rows that are read at once
    SIDES = 6        # rows of a block: a multiple of what the kernels take at once
    WORK = 2000000000  # flops of a block, some 30 ms: a signal must not wait for long


cdef class DualRidge(Single):
    """All examples learned are kept, or the last `window` ones.

    Parameters
    ----------
    kernel, kernel_params
        See `metric.Dual`.
    ridge : float
    window : int
        0: all.
    """

    def __init__(self, kernel, kernel_params, double ridge, Py_ssize_t window):
        self.ridge, self.window = ridge, window
        self.gram = Gram(kernel, kernel_params, ridge)

    def __dealloc__(self):
        self.give_back()
        L.free(self.block)

    cdef void give_back(self) noexcept:
        L.free(self.y)

    cdef int start(self, Py_ssize_t n) except -1:
        return self.make_place(16)

    cdef int make_place(self, Py_ssize_t room) except -1:
        """Memory for so many examples, beside the factor's own: one block, of which y is the
        beginning."""
        cdef Py_ssize_t n = min(self.gram.factor.n, self.room), each = room + 16  # what to keep
        cdef double *y = new_doubles(7, each, f"coefficients of {room} learned examples")
        cdef double *c = y + each
        cdef double *u = y + 2 * each
        cdef int64_t *born = <int64_t *>(y + 3 * each)
        if n:
            memcpy(y, self.y, <size_t>n * sizeof(double))
            memcpy(c, self.c, <size_t>n * sizeof(double))
            memcpy(born, self.born, <size_t>n * sizeof(int64_t))
        if self.own_u != NULL:
            memcpy(u, self.u, <size_t>min(self.gram.length(), self.room + 16) * sizeof(double))
        self.give_back()
        self.y, self.c, self.own_u, self.born, self.drop = y, c, u, born, y + 4 * each
        self.u = u
        self.room = room
        return 0

    cdef int fit(self, Scratch s) except -1:
        if self.gram.length() > s.v_room:
            s.fit(1, 2 * self.gram.length())
        return self.gram.fit(&s.row, s.forms)

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        """A kernel that is Python may call anything: the object must be locked for it."""
        if self.gram.kept.callable():
            return 1e18
        return <double>self.gram.factor.n * self.gram.factor.n + nnz

    # --- reading ------------------------------------------------------------------------------

    cdef int answer(self, Scratch s, const double *u, double own) noexcept nogil:
        cdef Py_ssize_t n = self.gram.factor.n
        s.m[0] = K.dot(n, u, self.c)
        s.q[0] = max(own - K.dot(n, u, u), 0.0) / self.ridge
        return CF_OK if s.m[0] - s.m[0] == 0.0 and s.q[0] - s.q[0] == 0.0 else CF_ENONFINITE

    cdef int read(self, Scratch s) noexcept nogil:
        cdef double own
        cdef int status
        s.m[0] = s.q[0] = 0.0
        if self.d == 0:
            return CF_OK
        self.gram.gather(&s.row, s.forms)
        status = self.gram.solve(&s.row, s.forms, s.v, &own)
        return self.answer(s, s.v, own) if status == CF_OK else status

    cdef int look(self, Scratch s) noexcept nogil:
        cdef int status
        self.u = self.own_u
        self.gram.gather(&s.row, s.forms)
        status = self.gram.solve(&s.row, s.forms, self.u, &self.own)
        return self.answer(s, self.u, self.own) if status == CF_OK else status

    # --- many rows ----------------------------------------------------------------------------

    cdef int fit_many(self, Scratch s) except -1:
        if self.d:
            s.fit(1, MANY * (cf_pad(self.gram.factor.n) + 16))
        return 0

    cdef Py_ssize_t read_many(self, Rows X, Py_ssize_t t, Scratch s, double *out,
                              int *status) noexcept nogil:
        """The factor is read once for all of them; every row gets the bits that it gets alone."""
        cdef Py_ssize_t n = self.gram.factor.n, stride = cf_pad(n) + 8, count, i, good
        cdef double *own = s.v + MANY * stride
        cdef double *u = s.v
        cdef cf_row x
        if n < AHEAD or self.gram.kept.callable():
            return Single.read_many(self, X, t, s, out, status)
        count = min(X.n - t, MANY)
        for good in range(count):
            u = s.v + good * stride
            status[0] = CF_OK if X.at(t + good, s.buffer, &x) else CF_ENOMEM
            if status[0] == CF_OK:
                self.gram.gather(&x, s.forms)
                status[0] = self.gram.kept.own(&x, own + good)
            if status[0] == CF_OK:
                status[0] = self.gram.kept.values(&x, s.forms, 0, u)
            if status[0] != CF_OK:
                break
            memset(u + n, 0, <size_t>(stride - n) * sizeof(double))
        else:
            good = count
        K.cholesky_forward_many(&self.gram.factor, good, s.v, stride)
        for i in range(good):
            if self.answer(s, s.v + i * stride, own[i]) != CF_OK:
                status[0] = CF_ENONFINITE
                return i
            out[i] = s.m[0] / (1.0 + s.q[0])
        return good

    # --- reading ahead ------------------------------------------------------------------------

    cdef Py_ssize_t ahead(self, Rows X, Py_ssize_t t, Py_ssize_t count, Scratch s) noexcept nogil:
        """The solves of the next rows by the present factor, which is then read once for all."""
        cdef Py_ssize_t n = self.gram.factor.n, stride
        cdef double *block
        self.block_count = 0
        if n < AHEAD or count < 2 or self.gram.kept.callable() or self.window:
            return count
        count = min(count, SIDES * max(1, WORK // (SIDES * n * n)))
        stride = cf_pad(n + count) + 8
        if count * (stride + 16) > self.block_room:
            block = <double *>L.alloc(<size_t>(count * (stride + 16) * 5 // 4), sizeof(double))
            if block == NULL:
                return count  # row by row then
            L.free(self.block)
            self.block, self.block_room = block, count * (stride + 16) * 5 // 4
        self.stride = stride
        self.tails = self.block + count * stride
        self.owns = self.tails + 8 * count
        self.prepare_block(X, t, count, s)
        return count

    cdef void prepare_block(self, Rows X, Py_ssize_t t, Py_ssize_t count,
                            Scratch s) noexcept nogil:
        cdef Py_ssize_t n = self.gram.factor.n, i, at = n & ~<Py_ssize_t>7
        cdef double *u
        cdef cf_row x
        for i in range(count):
            u = self.block + i * self.stride
            X.at(t + i, s.buffer, &x)
            self.gram.gather(&x, s.forms)
            if (self.gram.kept.own(&x, self.owns + i) != CF_OK
                    or self.gram.kept.values(&x, s.forms, 0, u) != CF_OK):
                break  # that row will be refused when it is looked at
            memset(u + n, 0, <size_t>(self.stride - n) * sizeof(double))
            memcpy(self.tails + 8 * i, u + at, 8 * sizeof(double))
        else:
            i = count
        self.block_count, self.block_n = i, n
        K.cholesky_forward_many(&self.gram.factor, i, self.block, self.stride)

    cdef int look_ahead(self, Scratch s, Py_ssize_t i) noexcept nogil:
        cdef int status = CF_OK
        if i >= self.block_count:
            return self.look(s)
        self.u = self.block + i * self.stride
        self.own = self.owns[i]
        self.gram.gather(&s.row, s.forms)
        if self.gram.factor.n > self.block_n:
            status = self.finish(s, i)
        return self.answer(s, self.u, self.own) if status == CF_OK else status

    cdef int finish(self, Scratch s, Py_ssize_t i) noexcept nogil:
        """The solve goes on through the examples that came after the block was prepared."""
        cdef Py_ssize_t at = self.block_n & ~<Py_ssize_t>7
        cdef int status = self.gram.kept.values(&s.row, s.forms, self.block_n,
                                                self.u + self.block_n)
        if status == CF_OK:
            memcpy(self.u + at, self.tails + 8 * i,
                   <size_t>(self.block_n - at) * sizeof(double))
            K.cholesky_forward_from(&self.gram.factor, at, self.u, self.u)
        return status

    # --- learning -----------------------------------------------------------------------------

    cdef bint has_room(self, Scratch s) noexcept nogil:
        return self.gram.factor.n < self.room and self.gram.has_room(&s.row, s.forms)

    cdef int make_room(self, Scratch s) except -1:
        self.gram.make_room(&s.row, s.forms)
        if self.gram.room > self.room:
            self.make_place(self.gram.room)
        return 0

    cdef int take(self, Scratch s, Py_ssize_t i, double y) noexcept nogil:
        cdef int status = CF_OK
        if self.own != 0.0:
            if not self.own / self.ridge < MOST_OWN:
                return CF_EVALUE
            status = self.store(s, y)
        if status == CF_OK:
            self.learned += 1
            self.expire()
        return status

    cdef int store(self, Scratch s, double y) noexcept nogil:
        cdef Py_ssize_t n = self.gram.factor.n
        cdef double pivot = sqrt(self.ridge * (1.0 + s.q[0]))
        self.gram.append(&s.row, s.forms, self.u, pivot)
        self.y[n], self.c[n], self.born[n] = y, (y - s.m[0]) / pivot, self.learned
        self.info += K.log1p_one(s.q[0])
        return CF_OK

    cdef void expire(self) noexcept nogil:
        """Examples that are older than the window leave."""
        cdef Py_ssize_t n, s, gone = 0
        while (self.window and self.gram.factor.n
               and self.born[gone] <= self.learned - self.window - 1):
            self.gram.drop_first(self.drop)
            gone += 1
        if gone == 0:
            return
        n = self.gram.factor.n
        for s in range(n):
            self.y[s], self.born[s] = self.y[s + gone], self.born[s + gone]
        memcpy(self.c, self.y, <size_t>n * sizeof(double))
        memset(self.c + n, 0, <size_t>(self.gram.length() - n) * sizeof(double))
        K.cholesky_forward(&self.gram.factor, self.c, self.c)
        self.info = self.gram.logdet()

    cdef double information(self) noexcept nogil:
        return self.info

    cdef int raise_error(self, int status) except -1:
        self.gram.kept.raise_error()
        if status == CF_EVALUE:
            refuse_own(self.own, self.ridge)
        return 0

    # --- state --------------------------------------------------------------------------------

    cdef dict extra(self):
        cdef Py_ssize_t n = self.gram.factor.n
        cdef np.ndarray born = <np.ndarray>numpy.empty(n, dtype=numpy.int64)
        if n:
            memcpy(np.PyArray_DATA(born), self.born, <size_t>np.PyArray_NBYTES(born))
        return {"gram": self.gram.state(), "y": vector_of(self.y, n), "c": vector_of(self.c, n),
                "born": born, "info": self.info}

    cdef int take_extra(self, State state, Py_ssize_t d) except -1:
        cdef Py_ssize_t n
        cdef np.ndarray born
        cdef double info = state.number("info")
        self.gram.restore(state.part("gram"))
        n = self.gram.factor.n
        if n and self.gram.kept.d != d:
            state.refuse("d", f"that of the rows, {self.gram.kept.d}", d)
        if n > self.learned or (self.window and n > self.window):
            state.refuse("gram", "no more rows than were learned, and than the window holds", n)
        born = state.counts("born", n, 0, self.learned - 1)
        if n > 1 and not (numpy.diff(born) > 0).all():
            state.refuse("born", "ascending")
        self.make_place(max(n, 16))
        state.load("y", n, self.y)
        state.load("c", n, self.c)
        memcpy(self.born, np.PyArray_DATA(born), <size_t>np.PyArray_NBYTES(born))
        self.d, self.info = d, info
        return 0


cdef class BudgetRidge(DualRidge):
    """At most `budget` examples are kept (approximate linear dependence: Engel, Mannor and Meir,
    "The Kernel Recursive Least-Squares Algorithm", 2004).

    Parameters
    ----------
    kernel, kernel_params, ridge
        As above.
    budget : int
    tolerance : float
        An example is kept where its squared distance from the span of those kept exceeds
        ``tolerance * k(x, x)`` and there is room.
    """

    def __init__(self, kernel, kernel_params, double ridge, Py_ssize_t budget, double tolerance):
        DualRidge.__init__(self, kernel, kernel_params, ridge, 0)
        self.gram = Gram(kernel, kernel_params, 0.0)
        self.budget, self.tolerance = budget, tolerance

    def __dealloc__(self):
        L.free(self.memory)

    cdef int start(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t padded
        cdef double *block
        refuse_beyond_limit(18.0 * self.budget * self.budget, f"a budget of {self.budget} examples",
                            "a smaller one takes less")
        inner = Full(self.budget, ridge=self.ridge)  # refuses one of which a square overflows
        padded = cf_pad(self.budget)
        block = new_doubles(1, 4 * padded + L.full_scratch(self.budget), "a budget")
        L.free(self.memory)
        self.memory = block
        self.w, self.w_next, self.v = block, block + padded, block + 2 * padded
        self.z, self.work = block + 3 * padded, block + 4 * padded
        self.inner = inner
        return DualRidge.start(self, n)

    cdef int fit(self, Scratch s) except -1:
        cdef Py_ssize_t inner = 4 * cf_pad(self.budget) if self.d else 0
        if self.gram.length() + inner > s.v_room:
            s.fit(1, 2 * self.gram.length() + inner)
        return self.gram.fit(&s.row, s.forms)

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return DualRidge.cost(self, nnz) + <double>self.budget * self.budget

    cdef int answer(self, Scratch s, const double *u, double own) noexcept nogil:
        """By what is kept: q without its part inside the dictionary's span."""
        cdef Py_ssize_t n = self.gram.factor.n
        s.m[0] = K.dot(n, u, self.w)
        s.q[0] = max(own - K.dot(n, u, u), 0.0) / self.ridge
        return CF_OK if s.m[0] - s.m[0] == 0.0 and s.q[0] - s.q[0] == 0.0 else CF_ENONFINITE

    cdef void within(self, const double *u, double *z, double *v, double *rest,
                     double *q) noexcept nogil:
        """The part of q inside the dictionary's span; z and v have cf_pad(budget) doubles, `rest`
        has twice as many."""
        cdef double quad
        memset(z, 0, <size_t>cf_pad(self.budget) * sizeof(double))
        memcpy(z, u, <size_t>self.gram.factor.n * sizeof(double))
        L.full_look(&self.inner.core, K, z, rest, v, &quad)
        q[0] += quad

    cdef int read(self, Scratch s) noexcept nogil:
        cdef double *z = s.v + self.gram.length()
        cdef int status = DualRidge.read(self, s)
        if status == CF_OK and self.d:
            self.within(s.v, z, z + cf_pad(self.budget), z + 2 * cf_pad(self.budget), s.q)
        return status

    cdef int look(self, Scratch s) noexcept nogil:
        cdef int status = DualRidge.look(self, s)
        if status == CF_OK:
            self.within(self.u, self.z, self.v, self.work, s.q)
        return status

    cdef int look_ahead(self, Scratch s, Py_ssize_t i) noexcept nogil:
        cdef int status
        if i >= self.block_count:
            return self.look(s)
        status = DualRidge.look_ahead(self, s, i)
        if status == CF_OK:
            self.within(self.u, self.z, self.v, self.work, s.q)
        return status

    cdef Py_ssize_t read_many(self, Rows X, Py_ssize_t t, Scratch s, double *out,
                              int *status) noexcept nogil:
        return Single.read_many(self, X, t, s, out, status)

    cdef bint has_room(self, Scratch s) noexcept nogil:
        return self.gram.factor.n >= self.budget or DualRidge.has_room(self, s)

    cdef int store(self, Scratch s, double y) noexcept nogil:
        cdef Py_ssize_t n = self.gram.factor.n
        cdef double rest = max(self.own - K.dot(n, self.u, self.u), 0.0), quad
        cdef bint joins = rest > self.tolerance * self.own and n < self.budget
        cdef int status
        if joins:  # one coordinate more: that of the new one
            self.z[n] = sqrt(rest)
        status = L.full_propose(&self.inner.core, K, self.z, 1.0, self.work, self.v, &quad)
        if status != CF_OK:
            return status
        memcpy(self.w_next, self.w, <size_t>self.budget * sizeof(double))
        K.axpy(self.budget, (y - s.m[0]) / (1.0 + quad), self.v, self.w_next)
        if not K.all_finite(self.budget, self.w_next):
            return CF_ENONFINITE
        L.full_accept(&self.inner.core, K, self.z, 1.0, self.v, quad, self.work)
        self.w, self.w_next = self.w_next, self.w
        if joins:
            self.gram.append(&s.row, s.forms, self.u, self.z[n])
            self.y[n], self.c[n], self.born[n] = y, 0.0, self.learned
        else:
            self.missed += rest
        return CF_OK

    cdef double information(self) noexcept nogil:
        if self.d == 0:
            return 0.0
        return self.inner.core.logdet - self.budget * K.log_one(self.ridge)

    cdef double left_out(self) noexcept nogil:
        return self.missed

    cdef dict extra(self):
        return {**DualRidge.extra(self), "w": vector_of(self.w, self.budget),
                "inner": settled(self.inner), "missed": self.missed}

    cdef int take_extra(self, State state, Py_ssize_t d) except -1:
        cdef double missed = state.number("missed", 0.0)
        state.part("inner").count("n", self.budget, self.budget)
        inner = Full.from_state(state.get("inner"))
        (<Full>inner)._ask_for(CF_FULL_AUTO)
        state.vector("w", self.budget)
        self.know(d)
        DualRidge.take_extra(self, state, d)
        if self.gram.factor.n > self.budget:
            state.refuse("gram", f"at most {self.budget} rows", self.gram.factor.n)
        state.load("w", self.budget, self.w)
        self.inner, self.missed = inner, missed
        return 0


cdef class TopicRidge(DualRidge):
    """The dual ridge regressions of many topics that learn the same rows.

    Parameters
    ----------
    kernel, kernel_params, ridge
        As for `DualRidge`.
    topics : int
    """

    def __init__(self, kernel, kernel_params, double ridge, Py_ssize_t topics):
        DualRidge.__init__(self, kernel, kernel_params, ridge, 0)
        self.topics = topics
        self.products = new_doubles(max(topics, 1), 1, f"{topics} topics")

    def __dealloc__(self):
        L.free(self.all_c)
        L.free(self.products)

    cdef int make_place(self, Py_ssize_t room) except -1:
        cdef Py_ssize_t n = self.gram.factor.n, k
        cdef double *all_c = new_doubles(max(self.topics, 1), room,
                                         f"the coefficients of {self.topics} topics")
        for k in range(self.topics if n else 0):
            memcpy(all_c + k * room, self.all_c + k * self.row, <size_t>n * sizeof(double))
        L.free(self.all_c)
        self.all_c, self.row = all_c, room
        return DualRidge.make_place(self, room)

    cdef int margins(self, double q, double *out) noexcept nogil:
        """The margins of all topics for the row looked at last: the bits of one topic alone."""
        cdef Py_ssize_t k
        K.scores(self.topics, self.gram.factor.n, self.all_c, self.row, self.u, self.products)
        for k in range(self.topics):
            out[k] = self.products[k] / (1.0 + q)
        return CF_OK if K.all_finite(self.topics, self.products) else CF_ENONFINITE

    cdef int take_all(self, Scratch s, const uint8_t *y) noexcept nogil:
        """The labels of that row, one of each topic."""
        cdef Py_ssize_t n = self.gram.factor.n, k
        cdef double pivot = sqrt(self.ridge * (1.0 + s.q[0]))
        cdef int status = self.take(s, 0, 0.0)
        if status == CF_OK and self.gram.factor.n > n:
            for k in range(self.topics):
                self.all_c[k * self.row + n] = (
                    (1.0 if y[k] else -1.0) - self.products[k]) / pivot
        return status
