# Ridge regressions in dual form: part of _ridges.pyx; see _ridges.pxd.
#
# A round asks every answer for ``u = L^-1 k``, one triangular solve: ``m = u.c`` and
# ``q = (k(x, x) - u.u) / ridge``. The row then joins the factor of its answer for nothing. What
# runs without the GIL are the solves of large factors; a user's kernel needs it anyway.
#
# Where a projection moves every w, ``w_i += c_i A_i^-1 phi(x)`` with ``A_i^-1 phi(x) = (phi(x) -
# sum_s a_s phi(x_s)) / ridge`` over the rows of answer i, ``a = L^-T u``: one more solve an answer.

cdef enum:
    MANY = 128       # rows of an answer from which its solve lets the GIL go
    EMPTY = 2000     # bytes that an answer without rows takes, about


cdef class DualRidges(Ridges):
    """k ridge regressions in the space of a kernel.

    Parameters
    ----------
    k : int
    ridge : float
    kernel, kernel_params
        See `metric.Dual`.
    moving : bool
        Whether the w are moved by more than the rows they were taught.
    """

    def __init__(self, Py_ssize_t k, double ridge, kernel, kernel_params, bint moving=False):
        self.ridge, self.kernel, self.kernel_params = ridge, kernel, kernel_params
        self.moving = moving
        self.grams, self.coefficients, self.sums, self.owned = [], [], [], []
        self.errors = Errors()
        self.all = Kept(kernel, kernel_params)
        self.spread = <np.ndarray>numpy.zeros((0, 0))
        self.widen(k)

    cdef Gram new_gram(self):
        return Gram(self.kernel, self.kernel_params, self.ridge)

    cdef int widen(self, Py_ssize_t k) except -1:
        cdef np.ndarray spread
        refuse_beyond_limit(<double>EMPTY * k, f"{k} classes of a kernel form", "fewer take less")
        spread = <np.ndarray>numpy.zeros((k, self.spread.shape[1]))
        spread[:self.k] = self.spread
        for _ in range(k - self.k):
            self.grams.append(self.new_gram())
            self.coefficients.append(numpy.zeros(16))
            self.sums.append(0.0)
            self.owned.append(numpy.zeros(16, dtype=numpy.int64))
        self.spread, self.k = spread, k
        return 0

    cdef int adopt(self, Model other) except -1:
        if (<DualRidges?>other).moving != self.moving:
            raise ValueError('projection shapes what is kept with covariance="kernel": call '
                             "reset() before changing it")
        return Ridges.adopt(self, other)

    cdef int raise_error(self, int status) except -1:
        return self.errors.raise_own()

    # --- reading ------------------------------------------------------------------------------

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        """What lets the GIL go here is the solve itself: the object must be locked for it."""
        return 1e9

    cdef int fit(self, Scratch s) except -1:
        cdef Py_ssize_t i, most = 0
        s.fit(self.k, 0)
        for i in range(self.k):
            most = max(most, (<Gram>self.grams[i]).length())
        if (self.k + 1) * most > s.v_room:  # a run needs more with every row
            s.fit(self.k, 2 * (self.k + 1) * most)
        return 0

    cdef void prepare(self, Scratch s) noexcept nogil:
        s.null = False  # a row of zeros may not be null in the space of the kernel

    cdef int64_t *places_of(self, Py_ssize_t i) noexcept:
        """Where the rows of answer i stand among all."""
        return <int64_t *>np.PyArray_DATA(<np.ndarray>self.owned[i])

    cdef double *spread_of(self, Py_ssize_t i) noexcept:
        return data_of(self.spread) + i * np.PyArray_DIM(self.spread, 1)

    cdef double *solved(self, Scratch s, Py_ssize_t i) noexcept:
        """Where u of answer i stands."""
        return s.v + i * (s.v_room // (self.k + 1))

    cdef int solve(self, Scratch s, Py_ssize_t i) except -1:
        """m and q of answer i, u in its place of v."""
        cdef Gram gram = <Gram>self.grams[i]
        cdef Py_ssize_t n = gram.factor.n
        cdef double *u = self.solved(s, i)
        cdef const int64_t *places = self.places_of(i) if self.moving else NULL
        cdef int status
        if not self.moving:
            gram.fit(&s.row, s.forms)
        if n >= MANY:
            with nogil:
                status = self.solve_now(s, gram, places, u)
        else:
            status = self.solve_now(s, gram, places, u)
        if status != CF_OK:
            gram.kept.raise_error()
            raise ValueError("x is too large: its kernel with itself or a stored row is not "
                             "finite")
        if self.moving:
            s.m[i] = K.dot(self.all.n, s.view.value, self.spread_of(i))
        else:
            s.m[i] = K.dot(n, u, data_of(<np.ndarray>self.coefficients[i]))
        s.q[i] = max(s.own - K.dot(n, u, u), 0.0) / self.ridge
        return 0

    cdef int solve_now(self, Scratch s, Gram gram, const int64_t *places,
                       double *u) noexcept nogil:
        """u, from the kernel values of `all_values` where there are places."""
        cdef Py_ssize_t e
        if places == NULL:
            gram.gather(&s.row, s.forms)
            return gram.solve(&s.row, s.forms, u, &s.own)
        for e in range(gram.factor.n):
            u[e] = s.view.value[places[e]]
        gram.solve_values(u)
        return CF_OK

    cdef int all_values(self, Scratch s) except -1:
        """k(x, x), and k(x, .) of all rows, once for all answers, in the view."""
        cdef int status
        s.view.fit(self.all.n)
        s.forms.fit(&s.row, self.all.wants_dense(&s.row))
        if self.all.form == SPARSE:
            s.forms.gather(&s.row)
        status = self.all.own(&s.row, &s.own)
        if status == CF_OK:
            status = self.all.values(&s.row, s.forms, 0, s.view.value)
        if status != CF_OK:
            self.all.raise_error()
            raise ValueError("x is too large: its kernel with itself or a stored row is not "
                             "finite")
        return 0

    cdef int look_under_lock(self, Scratch s, Py_ssize_t first, Py_ssize_t last) noexcept:
        """Answers first ... last - 1."""
        cdef Py_ssize_t i
        try:
            self.fit(s)
            if self.moving:
                self.all_values(s)
            for i in range(first, last):
                self.solve(s, i)
        except BaseException as error:
            self.errors.keep(error)
            return CF_EVALUE
        s.null = s.own == 0.0
        return CF_OK

    cdef int scores_under_lock(self, Scratch s) noexcept:
        """m of all answers where the w are moved: no system is solved."""
        cdef Py_ssize_t i
        try:
            self.all_values(s)
        except BaseException as error:
            self.errors.keep(error)
            return CF_EVALUE
        for i in range(self.k):
            s.m[i] = K.dot(self.all.n, s.view.value, self.spread_of(i))
        return CF_OK

    cdef int read_scores(self, Scratch s) noexcept nogil:
        with gil:
            return self.scores_under_lock(s) if self.moving else \
                self.look_under_lock(s, 0, self.k)

    cdef int read(self, Scratch s) noexcept nogil:
        with gil:
            return self.look_under_lock(s, 0, self.k)

    cdef int look_at(self, Scratch s, Py_ssize_t i) noexcept nogil:
        with gil:
            return self.look_under_lock(s, i, i + 1)

    # --- changing -----------------------------------------------------------------------------

    cdef int allows(self, Scratch s, Py_ssize_t i, bint looked) noexcept nogil:
        if not (in_range(s.m[i], s.q[i], self.ridge) and s.own / self.ridge <= 1e300):
            return CF_ENONFINITE
        with gil:
            try:
                refuse_own(s.own, self.ridge)
                self.make_place(s, i)
            except BaseException as error:
                self.errors.keep(error)
                return CF_EVALUE
        return CF_OK

    cdef int make_place(self, Scratch s, Py_ssize_t i) except -1:
        """Memory for one row more of answer i."""
        cdef Gram gram = <Gram>self.grams[i]
        cdef Py_ssize_t n = gram.factor.n
        if self.moving:
            return self.make_place_among_all(s, gram, i)
        if n >= len(self.coefficients[i]):
            self.coefficients[i] = numpy.concatenate((self.coefficients[i], numpy.zeros(n)))
        gram.fit(&s.row, s.forms)
        if not gram.has_room(&s.row, s.forms):
            gram.make_room(&s.row, s.forms)
        return 0

    cdef int make_place_among_all(self, Scratch s, Gram gram, Py_ssize_t i) except -1:
        cdef Py_ssize_t n = gram.factor.n, total = self.all.n
        if n >= len(self.owned[i]):
            self.owned[i] = numpy.concatenate((self.owned[i], numpy.zeros(n, dtype=numpy.int64)))
        if total >= np.PyArray_DIM(self.spread, 1):
            self.spread = <np.ndarray>numpy.hstack(
                (self.spread, numpy.zeros((self.k, total // 2 + 64))))
        gram.grow()
        s.forms.fit(&s.row, self.all.wants_dense(&s.row))
        if self.all.form == SPARSE:
            s.forms.gather(&s.row)
        if not self.all.has_room(&s.row, s.forms):
            self.all.make_room(&s.row, s.forms)
        return 0

    cdef void step(self, Scratch s, Py_ssize_t i, double y, bint move) noexcept nogil:
        with gil:
            self.append(s, i, y, move)

    cdef void append(self, Scratch s, Py_ssize_t i, double y, bint move) noexcept:
        """The row joins the rows of answer i; with `move` all w go by c first."""
        cdef Gram gram = <Gram>self.grams[i]
        cdef Py_ssize_t n = gram.factor.n, j
        cdef double q = s.q[i], pivot = sqrt(self.ridge * (1.0 + q)), miss = y - s.m[i]
        cdef double *u = self.solved(s, i)
        if self.moving:
            if not move:
                for j in range(self.k):
                    s.c[j] = 0.0
            s.c[i] += miss / (1.0 + q)
            for j in range(self.k):
                if s.c[j] != 0.0:
                    self.spread_out(s, j, s.c[j])
            if self.all.form == SPARSE:
                s.forms.gather(&s.row)
            self.places_of(i)[n] = self.all.n
            self.all.append(&s.row, s.forms)
            K.cholesky_append(&gram.factor, u, pivot)
        else:
            data_of(<np.ndarray>self.coefficients[i])[n] = miss / pivot
            gram.gather(&s.row, s.forms)
            gram.append(&s.row, s.forms, u, pivot)
        self.sums[i] = <double>self.sums[i] + K.log1p_one(q)

    cdef void spread_out(self, Scratch s, Py_ssize_t i, double c) noexcept:
        """w_i += c A_i^-1 phi(x), the row standing behind all others."""
        cdef Gram gram = <Gram>self.grams[i]
        cdef const int64_t *places = self.places_of(i)
        cdef Py_ssize_t n = gram.factor.n, e
        cdef double *spread = self.spread_of(i)
        cdef double *a = s.v + s.v_room - gram.length()
        spread[self.all.n] += c / self.ridge
        if n == 0:
            return
        memcpy(a, self.solved(s, i), <size_t>gram.length() * sizeof(double))
        K.cholesky_backward(&gram.factor, a, a)
        for e in range(n):
            spread[places[e]] -= c / self.ridge * a[e]

    # --- arrays and states --------------------------------------------------------------------

    cdef np_weights(self):
        raise AttributeError('there are no weights with covariance="kernel"')

    cdef np_inverse(self, Py_ssize_t i):
        raise ValueError('there is no inverse with covariance="kernel"')

    cdef np_information(self):
        return numpy.array(self.sums)

    cdef dict told(self):
        cdef Gram gram
        cdef Py_ssize_t i
        classes = []
        for i in range(self.k):
            gram = <Gram>self.grams[i]
            if self.moving:
                one = {"factor": gram.factor_told(), "n": gram.factor.n,
                       "owned": self.owned[i][:gram.factor.n].copy()}
            else:
                one = {"gram": gram.state(), "c": self.coefficients[i][:gram.factor.n].copy()}
            classes.append({**one, "information": self.sums[i]})
        found = {**told_counts(self), "classes": classes}
        if self.moving:
            found["all"] = self.all.state()
            found["spread"] = self.spread[:, :self.all.n].copy()
        return found

    cdef int restore(self, State state) except -1:
        cdef State one
        cdef Gram gram
        cdef Py_ssize_t i
        restore_counts(self, state)
        for i, one in enumerate(state.parts("classes", self.k)):
            self.sums[i] = one.number("information", 0.0)
            if self.moving:
                self.restore_owned(one, i)
                continue
            gram = <Gram>self.grams[i]
            gram.restore(one.part("gram"))
            if gram.factor.n and gram.kept.d != self.d:
                raise ValueError("the rows of the state do not fit its d")
            self.coefficients[i] = numpy.concatenate((one.vector("c", gram.factor.n),
                                                      numpy.zeros(16)))
        if self.moving:
            self.restore_spread(state)
        return 0

    cdef int restore_owned(self, State one, Py_ssize_t i) except -1:
        cdef Py_ssize_t n = one.count("n")
        places = one.counts("owned", n)  # which vouches for n before memory is taken
        (<Gram>self.grams[i]).restore_factor(one, n)
        self.owned[i] = numpy.concatenate((places, numpy.zeros(16, dtype=numpy.int64)))
        return 0

    cdef int restore_spread(self, State state) except -1:
        cdef Py_ssize_t i
        self.all.restore(state.part("all"))
        places = numpy.sort(numpy.concatenate(
            [self.owned[i][:(<Gram>self.grams[i]).factor.n] for i in range(self.k)]))
        if not numpy.array_equal(places, numpy.arange(self.all.n)):
            raise ValueError("owned of the state must name every row once")
        if self.all.n and self.all.d != self.d:
            raise ValueError("the rows of the state do not fit its d")
        self.spread = state.table("spread", self.k, self.all.n)
        return 0
