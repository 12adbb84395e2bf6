"""How a bandit decides, and the regressions it learns by; see _policy.pxd."""

import numpy

cimport numpy as np
from libc.float cimport DBL_MAX
from libc.math cimport fabs, sqrt
from libc.stddef cimport ptrdiff_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport new_doubles
from coactive_fast._table cimport (
    CF_ENOMEM, CF_ENONFINITE, CF_ENOTPOSITIVE, CF_OK, cf_get_library, cf_get_table, cf_library,
    cf_pad, cf_row, cf_table,
)
from coactive_fast.learner._state cimport State
from coactive_fast.metric._regression cimport read_means, read_squares
from coactive_fast.metric._single cimport sigmoid
from coactive_fast.rows._rows cimport place_of

from coactive_fast._memory import refuse_beyond_limit

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef double OBJECT = 1e3     # bytes of a regression that knows nothing, about

KINDS = {"ucb": UCB, "thompson": THOMPSON, "squarecb": SQUARECB, "greedy": GREEDY}


# --- the laws of choice -----------------------------------------------------------------------


cdef class Rule:
    """What is chosen among scored actions.

    Parameters
    ----------
    explore : str
    width : float or None
        None: that of the theory.
    link, ridge, noise, norm_bound, delta, floor, scale, power
        Those of DEFINITIONS 6.
    """

    def __init__(self, explore, width, *, link, double ridge, double noise, double norm_bound,
                 double delta, double floor, double scale, double power):
        self.kind, self.theory, self.logistic = KINDS[explore], width is None, link == "logistic"
        self.width = 0.0 if width is None else width
        self.noise, self.norm_bound, self.ridge = noise, norm_bound, ridge
        self.doubt = -K.log_one(delta)
        self.floor, self.scale, self.power = floor, scale, power

    cdef bint draws(self) noexcept nogil:
        return self.floor > 0.0 or self.kind == THOMPSON or self.kind == SQUARECB

    cdef double bonus(self, Regressions model, Py_ssize_t i) noexcept nogil:
        """The width of ucb, of regression i."""
        cdef double known = 0.0, doubt = self.doubt
        if not self.theory:
            return self.width
        if model.d:  # log det A - d log ridge
            known = max((<Single>model.at[i]).information(), 0.0)
        if model.k > 1:
            doubt += K.log_one(<double>model.k)
        return self.noise * sqrt(known + 2.0 * doubt) + sqrt(self.ridge) * self.norm_bound

    cdef int score(self, Regressions model, Scratch s, Choice at, Chance chance) noexcept nogil:
        cdef Py_ssize_t i
        cdef double width
        if self.kind == THOMPSON:
            return self.draw(model, s, at, chance)
        if at.scored:
            i = at.best(at.z)
            return CF_OK if at.z[i] - at.z[i] == 0.0 else CF_ENONFINITE
        if self.kind != UCB:  # what is compared is m
            return CF_OK
        width = self.bonus(model, 0)
        for i in range(at.n):
            if self.theory and at.arms:
                width = self.bonus(model, i)
            at.z[i] = at.m[i] + width * sqrt(at.q[i])
        return CF_OK if K.all_finite(at.n, at.z) else CF_ENONFINITE

    cdef int draw(self, Regressions model, Scratch s, Choice at, Chance chance) noexcept nogil:
        """Arms: m + width sqrt(q) z, a normal number each. Else x.v for every row x with
        v = w + width F z, as many normal numbers as there are features."""
        cdef Py_ssize_t i
        cdef int status
        if not at.arms:
            status = self.within(model, at, at.rows, s)
            if status != CF_OK:
                return status
            chance.normals(at.d, at.drawn)
            status = model.drawn(s, at.d, self.width, at.drawn)
            return self.products(at, at.rows, s) if status == CF_OK else status
        for i in range(at.n):  # no draw may leave the range
            if not (self.width * sqrt(at.q[i]) <= 1e290 and fabs(at.m[i]) <= 1e300):
                return CF_ENONFINITE
        chance.normals(at.n, at.z)
        for i in range(at.n):
            at.z[i] = at.m[i] + self.width * sqrt(at.q[i]) * at.z[i]
        return CF_OK

    cdef int within(self, Regressions model, Choice at, Rows X, Scratch s) noexcept nogil:
        """Whether no draw can leave the range: |x.F z| <= |x| |z| / sqrt(ridge / 2)."""
        cdef Py_ssize_t j, t
        cdef double whole = 1.0, size, reach = at.d * model.reach()
        cdef int status = read_squares(X, s, at.q)
        for j in range(at.by.p):
            whole += at.by.c[j] * at.by.c[j]
        for t in range(X.n if status == CF_OK else 0):
            size = sqrt(whole) * sqrt(at.q[t])
            if not (self.width * size / sqrt(self.ridge) <= 1e290 and size * reach <= 1e300):
                return CF_ENONFINITE
        return status

    cdef int products(self, Choice at, Rows X, Scratch s) noexcept nogil:
        """z = x.v, v what was drawn; a context is contracted out of it."""
        cdef Py_ssize_t j
        for j in range(at.by.p):
            K.axpy(X.d, at.by.c[j], at.drawn + (j + 1) * X.d, at.drawn)
        return read_means(X, at.drawn, s, at.z)

    cdef double gamma(self, int64_t learned) noexcept nogil:
        """scale t^power, within the range of a double; t the number of the round to come."""
        cdef double power
        if self.kind != SQUARECB or self.scale == 0.0:
            return 0.0
        power = self.power * K.log_one(learned + 1.0)
        if self.power == 0.5:
            return min(self.scale * sqrt(learned + 1.0), DBL_MAX)
        return min(self.scale * min(K.exp_one(min(power, 709.78)), DBL_MAX), DBL_MAX)

    cdef void squarecb(self, Choice at, double gamma) noexcept nogil:
        """The law among those left, 0 for all others."""
        cdef Py_ssize_t i, best = at.best(at.m)
        cdef double most = self.mean(at.m[best]), sum = 0.0
        for i in range(at.n):
            at.p[i] = 0.0
            if at.left[i] and i != best:
                at.p[i] = 1.0 / (at.count + gamma * max(most - self.mean(at.m[i]), 0.0))
                sum += at.p[i]
        at.p[best] = max(1.0 - sum, 0.0)

    cdef double mean(self, double m) noexcept nogil:
        return sigmoid(m) if self.logistic else m

    cdef double *compared(self, Choice at) noexcept nogil:
        """m, or the scores."""
        return at.m if self.kind == GREEDY else at.z

    cdef Py_ssize_t place(self, Choice at, int64_t learned, bitgen_t *bits) noexcept nogil:
        cdef Py_ssize_t i, wanted, last = -1
        cdef double u, reached = 0.0
        if self.floor > 0.0 and bits.next_double(bits.state) < self.floor:
            wanted = min(<Py_ssize_t>(at.count * bits.next_double(bits.state)), at.count - 1)
            for i in range(at.n):
                if at.left[i]:
                    if wanted == 0:
                        return i
                    wanted -= 1
        if self.kind != SQUARECB:
            return at.best(self.compared(at))
        self.squarecb(at, self.gamma(learned))
        u = bits.next_double(bits.state)
        for i in range(at.n):
            if at.left[i]:
                last = i
                reached += at.p[i]
                if reached > u:
                    return i
        return last

    cdef void law(self, Choice at, int64_t learned) noexcept nogil:
        if self.kind == SQUARECB:
            self.squarecb(at, self.gamma(learned))
        else:
            memset(at.p, 0, <size_t>at.n * sizeof(double))
            at.p[at.best(self.compared(at))] = 1.0
        self.mix(at, 1.0)

    cdef void mix(self, Choice at, double times) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(at.n):
            at.p[i] = (self.floor / at.count + (1.0 - self.floor) * at.p[i] / times
                       if at.left[i] else 0.0)

    cdef double probability(self, Choice at, int64_t learned, Py_ssize_t i) noexcept nogil:
        cdef double p
        if self.kind == SQUARECB:
            self.squarecb(at, self.gamma(learned))
            p = at.p[i]
        else:
            p = 1.0 if at.best(self.compared(at)) == i else 0.0
        return self.floor / at.count + (1.0 - self.floor) * p


# --- what is offered --------------------------------------------------------------------------


cdef class Choice:
    def __dealloc__(self):
        L.free(self.m)
        L.free(self.left)
        L.free(self.drawn)

    cdef int fit(self, Py_ssize_t n) except -1:
        """Room for n actions."""
        cdef double *block
        cdef char *left
        if n > self.room:
            block = new_doubles(4, cf_pad(n), f"{n} actions")
            left = <char *>L.alloc(<size_t>n, 1)
            if left == NULL:
                L.free(block)
                raise MemoryError(f"{n} actions")
            L.free(self.m)
            L.free(self.left)
            self.m, self.left, self.room = block, left, n
            self.q, self.z, self.p = (block + cf_pad(n), block + 2 * cf_pad(n),
                                      block + 3 * cf_pad(n))
        self.n = n
        return 0

    cdef int fit_draws(self, Py_ssize_t d) except -1:
        cdef double *drawn
        if d > self.drawn_room:
            drawn = new_doubles(1, d, "draws")
            L.free(self.drawn)
            self.drawn, self.drawn_room = drawn, d
        return 0

    cdef int allow(self, object allowed) except -1:
        """Which actions may be chosen; at least one."""
        cdef np.ndarray mask
        cdef Py_ssize_t i
        if allowed is None:
            self.allow_all()
            return 0
        if isinstance(allowed, numpy.ma.MaskedArray):
            raise ValueError("allowed must not be a masked array")
        try:
            given = numpy.asarray(allowed)
        except ValueError as error:
            raise TypeError(f"allowed must be a sequence of True and False: {error}") from None
        if given.dtype != bool and given.size:  # an empty list has no dtype of its own
            raise TypeError(f"allowed must hold True and False, got dtype {given.dtype}")
        if given.shape != (self.n,):
            raise ValueError(f"allowed must have length {self.n}, one an action, got shape "
                             f"{given.shape}")
        mask = <np.ndarray>numpy.ascontiguousarray(given)
        self.count = 0
        for i in range(self.n):
            self.left[i] = (<char *>np.PyArray_DATA(mask))[i] != 0
            self.count += self.left[i]
        if self.count == 0:
            raise ValueError("allowed must hold at least one True")
        return 0

    cdef Py_ssize_t best(self, const double *numbers) noexcept nogil:
        cdef Py_ssize_t i
        cdef ptrdiff_t best = -1
        if self.count == self.n:
            K.top_k(self.n, numbers, 1, &best, NULL)
            return best
        for i in range(self.n):
            if self.left[i] and (best < 0 or numbers[i] > numbers[best]):
                best = i
        return best


cdef bint crossed(cf_row *row, Crossed by, RowBuffer buffer) noexcept nogil:
    cdef Py_ssize_t n = row.nnz, e, j
    cdef bint sparse = row.i32 != NULL or row.i64 != NULL
    for j in range(by.p + 1):
        for e in range(n):
            buffer.value[j * n + e] = row.value[e] * (1.0 if j == 0 else by.c[j - 1])
            buffer.place[j * n + e] = j * row.n + place_of(row, e)
    row.n, row.nnz, row.value = (by.p + 1) * row.n, (by.p + 1) * n, buffer.value
    row.i32, row.i64 = NULL, buffer.place if sparse else NULL
    return K.all_finite(row.nnz, row.value)


# --- what is learned by -----------------------------------------------------------------------


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
            form = self.form(i)
            if form.d > self.d:
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
        cdef Py_ssize_t i
        self.form(0).fit(s)
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

    cdef int fit_known(self, Rows X, Crossed by, Scratch s) except -1:
        self.form(0).fit_rows(X, by, s)
        return s.fit(1, self.form(0).drawn_room())

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
        return s.fit(1, self.form(0).drawn_room() if self.d else 0)

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
