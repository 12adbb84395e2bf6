# What bandits learn by: part of _policy.pyx; see _policy.pxd.


cdef class Regressions(Model):
    """Some regressions.

    Parameters
    ----------
    k : int
    ridge : float
    fresh : callable
        A regression that knows nothing.
    """

    def __init__(self, Py_ssize_t k, double ridge, fresh):
        self.fresh, self.ridge = fresh, ridge
        refuse_beyond_limit(OBJECT * k, f"{k} arms", "each has a regression of its own")
        self.take_forms([fresh() for _ in range(k)])

    def __dealloc__(self):
        L.free(self.at)

    cdef int take_forms(self, list forms) except -1:
        cdef Py_ssize_t i, k = len(forms)
        cdef PyObject **at = <PyObject **>L.alloc(<size_t>k, sizeof(PyObject *))
        if at == NULL:
            raise MemoryError(f"{k} regressions")
        for i in range(k):
            at[i] = <PyObject *>forms[i]
        L.free(self.at)
        self.forms, self.at, self.k = forms, at, k
        return 0

    cdef Single form(self, Py_ssize_t i):
        return <Single>self.forms[i]

    # --- memory -------------------------------------------------------------------------------

    cdef int know(self, Py_ssize_t n) except -1:
        """What a refused row left is no dimension."""
        cdef Single form
        self.drop_refused()
        if n > self.d:
            for form in self.forms:
                form.most = self.most
                form.know(n)
        return 0

    cdef void drop_refused(self) noexcept:
        cdef Py_ssize_t i
        cdef Single form
        for i in range(self.k):
            if (<Single>self.at[i]).d > self.d:
                form = self.form(i)
                if self.d == 0:
                    form = self.fresh()
                    self.forms[i] = form
                    self.at[i] = <PyObject *>form
                else:
                    form.shrink(self.d)

    cdef int widen(self, Py_ssize_t k) except -1:
        cdef Single form
        cdef list more = [self.fresh() for _ in range(k - self.k)]
        for form in more:
            form.most = self.most
            if self.d:
                form.know(self.d)
        return self.take_forms([*self.forms, *more])

    cdef int fit(self, Scratch s) except -1:
        (<Single>self.at[0]).fit(s)
        return s.fit(self.k, 0)

    cdef int make_room(self, Scratch s) except -1:
        cdef Single form
        for form in self.forms:
            form.make_room(s)
        return 0

    cdef bint has_room(self, Scratch s) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.k):
            if not (<Single>self.at[i]).has_room(s):
                return False
        return True

    cdef int adopt(self, Model other) except -1:
        cdef Regressions o = <Regressions?>other
        cdef Single form
        self.fresh = o.fresh
        for form in self.forms:
            form.adopt(o.form(0))
        return Model.adopt(self, other)

    cdef int raise_error(self, int status) except -1:
        self.drop_refused()
        return 0

    # --- reading ------------------------------------------------------------------------------

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return self.k * (<Single>self.at[0]).cost(nnz)

    cdef int read(self, Scratch s) noexcept nogil:
        return self.read_all(s, True)

    cdef int read_all(self, Scratch s, bint widths) noexcept nogil:
        cdef Py_ssize_t i
        cdef int status
        s.exploit = s.label = 0
        for i in range(self.k):
            if self.d == 0 or s.null:
                s.m[i], s.q[i] = 0.0, K.dot(s.row.nnz, s.row.value, s.row.value) / self.ridge
                status = CF_OK if s.q[i] <= DBL_MAX else CF_ENONFINITE
            else:
                status = (<Single>self.at[i]).read_one(s, s.m + i, s.q + i if widths else NULL)
            if status != CF_OK:
                return status
        return CF_OK

    cdef int read_offer(self, Scratch s, Choice at, Rows rows, Rule rule,
                        bint widths) noexcept nogil:
        """What the rule compares; widths: m and q of all actions."""
        cdef int status
        at.scored = False
        if at.arms:
            if rule.kind == UCB and not widths and self.read_arms(s, at, rule):
                at.scored = True
                return CF_OK
            widths = widths or rule.kind == UCB or rule.kind == THOMPSON
            status = self.read_all(s, widths)
            memcpy(at.m, s.m, <size_t>self.k * sizeof(double))
            memcpy(at.q, s.q, <size_t>self.k * sizeof(double))
            return status
        if widths or (rule.kind == UCB and self.d == 0):
            return self.read_rows(rows, at.by, s, at.m, at.q)
        if rule.kind == UCB:
            at.scored = True
            return self.read_upper(rows, at.by, s, rule.bonus(self, 0), at)
        if rule.kind == THOMPSON:
            return CF_OK
        return self.read_rows(rows, at.by, s, at.m, NULL)

    cdef bint read_arms(self, Scratch s, Choice at, Rule rule) noexcept nogil:
        """z alone, as far as it can be the largest: q <= x.x ||A^-1|| bounds the score of an arm,
        and the arms are read from the highest bound on, until none reaches the best. False: all
        are to be read, since nothing bounds them or something is not as it should be."""
        cdef double *bound = at.p
        cdef double square = K.dot(s.row.nnz, s.row.value, s.row.value), best = -INFINITY, q
        cdef ptrdiff_t i
        if self.d == 0 or s.null:
            return False
        for i in range(self.k):
            bound[i] = rule.bonus(self, i) * (<Single>self.at[i]).widest(square)
            if not (bound[i] < INFINITY
                    and (<Single>self.at[i]).read_one(s, at.m + i, NULL) == CF_OK):
                return False
            bound[i] = at.m[i] + bound[i] if at.left[i] else -INFINITY
            at.z[i] = -INFINITY
        while True:
            K.top_k(self.k, bound, 1, &i, NULL)
            if bound[i] == -INFINITY or bound[i] < best:
                return True
            if (<Single>self.at[i]).read_one(s, at.m + i, &q) != CF_OK:
                return False
            at.z[i] = at.m[i] + rule.bonus(self, i) * sqrt(q)
            best, bound[i] = max(best, at.z[i]), -INFINITY

    cdef int look(self, Scratch s) noexcept nogil:
        return self.read(s)

    cdef int look_at(self, Scratch s, Py_ssize_t i) noexcept nogil:
        if s.null:
            return CF_OK
        (<Single>self.at[i]).weight = s.weight
        return (<Single>self.at[i]).look(s)

    cdef int repair(self, Scratch s) noexcept nogil:
        cdef Py_ssize_t i
        cdef int status = CF_ENOTPOSITIVE
        for i in range(self.k if self.d else 0):
            if (<Single>self.at[i]).repair(s) == CF_OK:
                status = CF_OK
        return status

    cdef int fit_rows(self, Rows X, Crossed by, Scratch s) except -1:
        if self.d == 0:
            s.buffer.fit(X.most)
            return 0
        return self.form(0).fit_rows(X, by, s)

    cdef int fit_known(self, Rows X, Crossed by, Scratch s, bint draws) except -1:
        self.form(0).fit_rows(X, by, s)
        return self.form(0).fit_drawn(s) if draws else 0

    cdef int read_rows(self, Rows X, Crossed by, Scratch s, double *m, double *q) noexcept nogil:
        cdef Py_ssize_t t, j
        cdef double whole = 1.0
        if self.d:
            return (<Single>self.at[0]).read_rows(X, by, s, m, q)
        for j in range(by.p):
            whole += by.c[j] * by.c[j]
        for t in range(X.n):
            if not X.at(t, s.buffer, &s.row):
                return CF_ENOMEM
            m[t] = 0.0
            if q == NULL:
                continue
            q[t] = whole * K.dot(s.row.nnz, s.row.value, s.row.value) / self.ridge
            if not q[t] <= DBL_MAX:
                return CF_ENONFINITE
        return CF_OK

    cdef int read_upper(self, Rows X, Crossed by, Scratch s, double width,
                        Choice at) noexcept nogil:
        """z alone, as far as it can be the largest."""
        return (<Single>self.at[0]).read_upper(X, by, s, width, at.left, at.m, at.q, at.z)

    cdef double reach(self) noexcept nogil:
        return (<Single>self.at[0]).reach() if self.d else 0.0

    cdef int fit_drawn(self, Scratch s) except -1:
        return self.form(0).fit_drawn(s) if self.d else 0

    cdef int drawn(self, Scratch s, Py_ssize_t n, double width, double *z) noexcept nogil:
        cdef Py_ssize_t i
        if self.d:
            return (<Single>self.at[0]).drawn(s, n, width, z)
        for i in range(n):
            z[i] *= width / sqrt(self.ridge)
        return CF_OK

    # --- learning -----------------------------------------------------------------------------

    cdef int take(self, Scratch s, Py_ssize_t i, double y) noexcept nogil:
        """A null row counts as an example and makes nothing be forgotten."""
        cdef int status = CF_OK
        if s.null:
            (<Single>self.at[i]).learned = (<Single>self.at[i]).learned + 1
        else:
            status = (<Single>self.at[i]).take(s, 0, y)
        if status == CF_OK:
            self.count(s.row.n)
        return status

    # --- the past -----------------------------------------------------------------------------

    cdef int decay(self, double f) except -1:
        cdef Single form
        if self.d:
            for form in self.forms:
                form.decay(f)
        return 0

    cdef int merge(self, Regressions other) except -1:
        """What both have seen; the other one is not used afterwards."""
        cdef Py_ssize_t i
        if other.k != self.k:
            raise ValueError(f"other must have {self.k} arms now, got {other.k}")
        if self.d and other.d and self.d != other.d:
            raise ValueError(f"other must have rows of {self.d} features, got {other.d}")
        if self.d == 0:
            self.take_forms(other.forms)
            self.d = other.d
        elif other.d:
            for i in range(self.k):
                self.form(i).merge(other.form(i))
        self.learned += other.learned
        return 0

    # --- arrays and states --------------------------------------------------------------------

    cdef np_weights(self):
        cdef Single form
        if self.d == 0:
            return numpy.zeros((self.k, 0))
        return numpy.array([form.np_weights() for form in self.forms])

    cdef np_inverse(self, Py_ssize_t i):
        return self.form(i).np_inverse(0) if self.d else None

    cdef np_information(self):
        cdef Single form
        return numpy.array([form.information() if self.d else 0.0 for form in self.forms])

    cdef dict health(self):
        return self.form(0).health()

    cdef dict told(self):
        cdef Single form
        self.drop_refused()
        return {"k": self.k, "d": self.d, "learned": self.learned,
                "forms": [form.told() for form in self.forms]}

    cdef int restore(self, State state) except -1:
        cdef Py_ssize_t k = state.count("k", self.k), d = state.count("d"), learned, sum = 0
        cdef State part
        cdef Single form
        cdef list forms = []
        learned = state.count("learned")
        if learned and not d:
            state.refuse("d", "> 0 where something was learned", d)
        for part in state.parts("forms", k):
            if part.count("d") != d:
                part.refuse("d", f"{d}, as that of the learner", part.get("d"))
            form = self.fresh()
            form.most = self.most
            form.restore(part)
            sum += form.learned
            forms.append(form)
        if sum != learned:
            state.refuse("learned", f"{sum}, as that of its regressions", learned)
        self.take_forms(forms)
        self.d, self.learned = d, learned
        return 0
