"""How bandits decide, the regressions they learn by, their engines and runs (DEFINITIONS 6)."""

import numpy

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.float cimport DBL_MAX
from libc.math cimport INFINITY, NAN, fabs, sqrt
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport (
    as_count, as_flag, as_label, as_number, data_of, finite_vector, new_doubles, new_indices,
    new_vector, product_of,
)
from coactive_fast._table cimport (
    CF_ENOMEM, CF_ENONFINITE, CF_ENOTPOSITIVE, CF_OK, CF_ROW_NULL, cf_get_library, cf_get_table,
    cf_library, cf_pad, cf_table,
)
from coactive_fast.learner._engine cimport BUSY, Calls, Engine
from coactive_fast.learner._run cimport MORE, RowRun
from coactive_fast.learner._state cimport opened
from coactive_fast.metric._forms cimport read_means, read_squares, sigmoid
from coactive_fast.rewards._catalogue cimport NOT_THIS_WAY, Catalogue, among
from coactive_fast.rows._rows cimport DOUBLES, RowBuffer, fill_rows, place_of, row_of, rows_of

from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.rewards._history import BanditHistory, Decision, RegressionHistory

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
        """Whether no draw can leave the range: |x.F z| <= |x| |z| / sqrt(ridge / 2). The squares
        of all rows together mostly tell it, in one pass."""
        cdef const double *x = <const double *>X.value
        cdef Py_ssize_t j, t
        cdef double whole = 1.0, most = 0.0
        cdef int status
        for j in range(at.by.p):
            whole += at.by.c[j] * at.by.c[j]
        if (X.kind == DOUBLES and X.row_step == 8 * X.d
                and self.inside(model, at, whole, K.dot(X.n * X.d, x, x))):
            return CF_OK
        status = read_squares(X, s, at.q)
        for t in range(X.n if status == CF_OK else 0):
            most = max(most, at.q[t])
        if status == CF_OK and not self.inside(model, at, whole, most):
            return CF_ENONFINITE
        return status

    cdef bint inside(self, Regressions model, Choice at, double whole,
                     double square) noexcept nogil:
        cdef double size = sqrt(whole) * sqrt(square)
        return (self.width * size / sqrt(self.ridge) <= 1e290
                and size * (at.d * model.reach()) <= 1e300)

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


# (1, c) (x) row in the buffer, which has room for it, in place of the row; whether it is finite.
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


# --- the regressions bandits learn by ---------------------------------------------------------


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
                    form.d = self.d

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

cdef double SMALLEST = 1e-150  # a scale that has an inverse with room to spare
cdef int64_t eras = 0  # how many there were; with the GIL


cdef class RewardEngine(RowEngine):
    """Regressions that are told numbers.

    Parameters
    ----------
    make : callable
        Fresh `Regressions`.
    chance : Chance or None
    most : int
        max_features, or 0.
    logistic : bool
    modest : bool
        No weight may be above 1.
    """

    def __init__(self, make, Chance chance, *, Py_ssize_t most, bint logistic, bint modest=False):
        self.logistic, self.modest = logistic, modest
        RowEngine.__init__(self, make, chance, most=most)
        self.new_era()

    @property
    def fresh(self):
        return self.model.d == 0 and self.model.learned == 0 and self.model.k == self.built

    def adopt(self, RowEngine other, changed):
        RowEngine.adopt(self, other, changed)
        self.modest = (<RewardEngine?>other).modest
        if "forget" in changed:
            self.new_era()

    cdef void begin(self, Model model, Chance chance) noexcept:
        RowEngine.begin(self, model, chance)
        self.new_era()

    cdef void new_era(self) noexcept:
        global eras
        eras += 1
        self.era = eras

    # --- arguments ----------------------------------------------------------------------------

    cdef double target_of(self, object value, str name) except? -1.0:
        """What is learned towards."""
        cdef double y = as_number(value, name)
        if self.logistic and not 0.0 <= y <= 1.0:
            raise ValueError(f'{name} must be in [0, 1] with link="logistic", got {y}')
        return y

    cdef double weight_of(self, object value) except -1.0:
        cdef double weight = as_number(value, "weight")
        if not weight > 0.0:
            raise ValueError(f"weight must be > 0, got {weight}")
        if self.modest and weight > 1.0:
            raise ValueError(f'weight must be at most 1 with width="theory", got {weight}')
        return weight

    cdef int learn_weighted(self, object x, Py_ssize_t i, double y, double weight,
                            str name) except -1:
        """`learn` of what is told of answer i."""
        cdef Scratch s = self.borrow()
        try:
            self.take_row(x, s)
            s.weight = weight
            return self.learn_one(s, i, y, name)
        finally:
            self.give_back(s)

    # --- the past -----------------------------------------------------------------------------

    cdef Regressions copied(self):
        """The model as it is, for who holds the lock."""
        cdef Regressions model = <Regressions>self.new_model()
        model.restore(opened(self.model.told()))
        return model

    def decay(self, f):
        """The whole past counts f times as much."""
        cdef double share = as_number(f, "f")
        cdef Regressions model
        if not 0.0 < share <= 1.0:
            raise ValueError(f"f must be in (0, 1], got {share}")
        self.guard.begin_write()
        try:
            model = self.copied()  # of several regressions one may fail
            while share < SMALLEST:
                model.decay(SMALLEST)
                share /= SMALLEST
            model.decay(share)
            self.model = model
            self.stamp += 1
            self.new_era()
        finally:
            self.guard.end_write()

    def merge(self, RewardEngine other):
        """What both have learned; the other one stays as it is."""
        cdef Regressions theirs, model
        other.guard.begin_read()
        try:
            theirs = other.copied()
        finally:
            other.guard.end_read()
        self.guard.begin_write()
        try:
            model = self.copied()
            model.merge(theirs)
            self.model = model
            self.stamp += 1
            self.new_era()
        finally:
            self.guard.end_write()

    # --- the regression -----------------------------------------------------------------------

    def predict(self, X, bint spread):
        """m of each row, or sigma(m); `spread`: also sqrt(q)."""
        cdef Rows rows = rows_of(X, "X")
        cdef Scratch s = Scratch()
        cdef Crossed by
        cdef np.ndarray m = new_vector(rows.n), q = new_vector(rows.n)
        cdef Regressions model
        cdef Py_ssize_t t
        cdef int status = CF_OK
        cdef int turn
        by.p = 0
        for turn in range(2):
            self.guard.begin_read()
            try:
                model = <Regressions>self.model
                self.width(rows.d, "X")
                model.fit_rows(rows, by, s)
                with nogil:
                    status = model.read_rows(rows, by, s, data_of(m), data_of(q))
            finally:
                self.guard.end_read()
            if status != CF_ENOTPOSITIVE:
                break
            self.mend(s)
        if status != CF_OK:
            self.fail(status, "a row of X")
        for t in range(rows.n):
            data_of(q)[t] = sqrt(data_of(q)[t])
            if self.logistic:
                data_of(m)[t] = sigmoid(data_of(m)[t])
        return (m, q) if spread else m

    cdef int mend(self, Scratch s) except -1:
        """What a reading has found damaged is made anew where that can be."""
        self.guard.begin_write()
        try:
            self.model.repair(s)
            self.new_era()
        finally:
            self.guard.end_write()
        return 0


# --- the run of the regression ----------------------------------------------------------------


@cython.final
cdef class RidgeRun(RowRun):
    """Predicts and learns, row after row.

    Parameters
    ----------
    engine : RewardEngine
    X, y, weight
        The rows, what they are to meet, and how often each counts (None: once).
    """

    # Every row is predicted, then learned.
    cdef np.ndarray y, weights, predictions, loss
    cdef bint logistic

    def __init__(self, RewardEngine engine, X, y, weight):
        cdef Rows rows = rows_of(X, "X")
        cdef Py_ssize_t t
        self.y = finite_vector(y, "y", rows.n, "X")
        self.weights = finite_vector(numpy.ones(rows.n) if weight is None else weight, "weight",
                                     rows.n, "X")
        self.logistic = engine.logistic
        for t in range(rows.n):
            engine.target_of(data_of(self.y)[t], "y")
            engine.weight_of(data_of(self.weights)[t])
        self.take_rows(rows, 1, False)
        self.predictions, self.loss = new_vector(self.total), new_vector(self.total)

    def history(self):
        return RegressionHistory(predictions=self.predictions[:self.done],
                                 loss=self.loss[:self.done])

    cdef int round(self, Engine engine) noexcept nogil:
        return self.one(<Regressions>self.model, self.scratch)

    cdef int one(self, Regressions model, Scratch s) noexcept nogil:
        cdef Py_ssize_t t = self.done
        cdef double y = data_of(self.y)[t], m = 0.0
        cdef int status
        if not model.has_room(s):
            return MORE
        status = self.read_row(model, s)
        s.weight = data_of(self.weights)[t]
        if status == CF_OK:
            status = model.look_at(s, 0)
            if status == CF_ENOTPOSITIVE and model.repair(s) == CF_OK:
                status = model.look_at(s, 0)
        if status == CF_OK and not s.null:
            m = s.m[0]
        if status == CF_OK:
            status = model.take(s, 0, y)
        if status != CF_OK:
            return status
        if self.logistic:  # -y log sigma - (1 - y) log(1 - sigma)
            data_of(self.predictions)[t] = sigmoid(m)
            data_of(self.loss)[t] = max(m, 0.0) + K.log1p_one(K.exp_one(-abs(m))) - y * m
        else:
            data_of(self.predictions)[t] = m
            data_of(self.loss)[t] = (y - m) * (y - m)
        return CF_OK


# --- the bandits' engines ---------------------------------------------------------------------


cdef class BanditEngine(RewardEngine):
    """A bandit over actions with features or over arms.

    Parameters
    ----------
    make, chance, most, logistic, modest
        As for `RewardEngine`.
    rule : Rule
    max_pending : int
    """

    def __init__(self, make, Chance chance, Rule rule, *, Py_ssize_t max_pending, **words):
        self.rule, self.max_pending, self.waiting = rule, max_pending, {}
        self.choice = Choice()
        RewardEngine.__init__(self, make, chance, **words)

    @property
    def fresh(self):
        return self.decided == 0 and RewardEngine.fresh.__get__(self)

    @property
    def pending(self):
        return len(self.waiting)

    @property
    def expired(self):
        return self.expired

    def adopt(self, RowEngine other, changed):
        cdef BanditEngine o = <BanditEngine?>other
        RewardEngine.adopt(self, other, changed)
        self.rule, self.max_pending = o.rule, o.max_pending
        self.forget_oldest()

    cdef void begin(self, Model model, Chance chance) noexcept:
        RewardEngine.begin(self, model, chance)
        self.waiting, self.decided, self.expired = {}, 0, 0

    # --- one question -------------------------------------------------------------------------

    cdef Choice borrow_choice(self, Scratch s):
        """That of the engine for who has its scratch."""
        return self.choice if s is self.scratch else Choice()

    cdef int offer(self, object X, object allowed, object context, Scratch s,
                   Choice at) except -1:
        """The arguments as C values."""
        raise NotImplementedError

    cdef int read_offer(self, Scratch s, Choice at, bint widths) except? -1000:
        """m and q of all actions, or what else the rule compares, with the lock held; a status."""
        raise NotImplementedError

    cdef object ask(self, object X, object allowed, object context, int what, object k,
                    object samples):
        cdef Scratch s = self.borrow()
        cdef Choice at = Choice() if isinstance(X, Catalogue) else self.borrow_choice(s)
        try:
            s.forget()
            self.offer(X, allowed, context, s, at)
            return self.answer(s, at, what, k, samples)
        finally:
            at.context = None
            if at.rows is not None:
                at.rows.held = None
            self.give_back(s)

    cdef object answer(self, Scratch s, Choice at, int what, object k, object samples):
        cdef Py_ssize_t places = 0, times = 0
        cdef bint writes = what == DECISION or (what != SCORES and self.rule.draws())
        cdef int turn, status = CF_OK
        if k is not None:
            places = as_count(k, "k")
            if places == 0:
                raise ValueError("k must be >= 1, got 0")
        if samples is not None:
            times = as_count(samples, "samples")
            if times == 0:
                raise ValueError("samples must be >= 1, got 0")
        if what == LAW and times == 0 and self.rule.kind == THOMPSON:
            raise ValueError("samples must be given: the law of thompson has no closed form")
        for turn in range(2):
            if writes:
                self.guard.begin_write()
            else:
                self.guard.begin_read()
            try:
                found = self.attempt(s, at, what, places, times, &status)
                if status == CF_OK:
                    return found
            finally:
                if writes:
                    self.guard.end_write()
                else:
                    self.guard.end_read()
            if status != CF_ENOTPOSITIVE or turn:
                break
            self.mend(s)
        self.fail(status, "x" if at.arms else "X")

    cdef object attempt(self, Scratch s, Choice at, int what, Py_ssize_t k, Py_ssize_t samples,
                        int *status):
        """The answer, with the lock held; a status tells why there is none."""
        status[0] = self.read_offer(s, at, what == SCORES or k > 1)
        return self.act(s, at, what, k, samples) if status[0] == CF_OK else None

    cdef object act(self, Scratch s, Choice at, int what, Py_ssize_t k, Py_ssize_t samples):
        """The answer, from m and q."""
        cdef np.ndarray out
        cdef Py_ssize_t i, wanted
        if what == SCORES:
            return self.told_scores(at)
        if what == LAW:
            self.law(s, at, samples)
            out = new_vector(at.n)
            memcpy(data_of(out), at.p, <size_t>at.n * sizeof(double))
            return out
        if what == DECISION:
            return self.decide_now(s, at, samples)
        self.score(s, at, self.chance)
        if k == 0:
            return self.place(at)
        wanted = min(k, at.count)
        out = <np.ndarray>numpy.empty(wanted, dtype=numpy.intp)
        for i in range(wanted):
            (<Py_ssize_t *>np.PyArray_DATA(out))[i] = self.place(at)
        return out

    cdef tuple told_scores(self, Choice at):
        cdef np.ndarray m = new_vector(at.n), q = new_vector(at.n)
        cdef Py_ssize_t i
        memcpy(data_of(m), at.m, <size_t>at.n * sizeof(double))
        for i in range(at.n):
            data_of(q)[i] = sqrt(at.q[i])
        return m, q

    cdef Py_ssize_t place(self, Choice at) except -1:
        """The action for one place, which is then taken."""
        cdef Py_ssize_t i = self.rule.place(at, self.model.learned, self.chance.bits)
        at.left[i] = 0
        at.count -= 1
        return i

    cdef int score(self, Scratch s, Choice at, Chance chance) except -1:
        """z: what is compared. Thompson draws, which takes long where there is a factor to make."""
        cdef Regressions model = <Regressions>self.model
        cdef int status
        if self.rule.kind != THOMPSON or at.arms or model.cost(at.d) < BUSY:
            status = self.rule.score(model, s, at, chance)
        else:
            with chance.generator.bit_generator.lock:
                with nogil:
                    status = self.rule.score(model, s, at, chance)
        return 0 if status == CF_OK else self.fail(status, "x" if at.arms else "X")

    cdef int law(self, Scratch s, Choice at, Py_ssize_t samples) except -1:
        """The law of the first place, into p; thompson: from draws of a generator of its own."""
        cdef Py_ssize_t turn
        cdef Chance child
        if self.rule.kind != THOMPSON:
            self.score(s, at, self.chance)
            self.rule.law(at, self.model.learned)
            return 0
        child = Chance(self.chance.generator.spawn(1)[0])
        memset(at.p, 0, <size_t>at.n * sizeof(double))
        for turn in range(samples):
            PyErr_CheckSignals()
            self.score(s, at, child)
            at.p[at.best(at.z)] += 1.0
        self.rule.mix(at, samples)
        return 0

    # --- the calls ----------------------------------------------------------------------------

    def scores(self, X, context):
        return self.ask(X, None, context, SCORES, None, None)

    def probabilities(self, X, allowed, context, samples):
        return self.ask(X, allowed, context, LAW, None, samples)

    def decide(self, X, allowed, context, samples):
        return self.ask(X, allowed, context, DECISION, None, samples)

    # --- decisions ----------------------------------------------------------------------------

    cdef object decide_now(self, Scratch s, Choice at, Py_ssize_t samples):
        """A choice that is remembered."""
        cdef double probability = numpy.nan
        cdef np.ndarray law = None
        cdef Py_ssize_t i
        if self.rule.kind != THOMPSON or samples:
            self.law(s, at, samples)
            law = new_vector(at.n)
            memcpy(data_of(law), at.p, <size_t>at.n * sizeof(double))
        self.know_for(at)
        try:
            self.score(s, at, self.chance)
            i = self.place(at)
        except BaseException:
            self.model.raise_error(CF_OK)  # this was no dimension
            raise
        if law is not None:
            probability = data_of(law)[i]
        return self.remember(at, s, i, probability)

    cdef int know_for(self, Choice at) except -1:
        """Memory for what is to be decided."""
        try:
            self.model.know(at.d)
        except BaseException:
            self.model.raise_error(CF_OK)
            raise
        return 0

    cdef object remember(self, Choice at, Scratch s, Py_ssize_t i, double probability):
        """The decision for action i, which waits from now on."""
        self.waiting[self.decided] = self.kept(s, at, i)
        self.model.d = max(self.model.d, at.d)
        self.decided += 1
        self.forget_oldest()
        return Decision(self.decided - 1, i, probability)

    cdef tuple kept(self, Scratch s, Choice at, Py_ssize_t i):
        """(arm, row): copies."""
        raise NotImplementedError

    cdef int forget_oldest(self) except -1:
        while len(self.waiting) > self.max_pending:
            del self.waiting[next(iter(self.waiting))]
            self.expired += 1
        return 0

    cdef int refuse_id(self, Py_ssize_t id) except -1:
        if id not in self.waiting:
            raise ValueError(f"id must be that of a pending decision, got {id}")
        return 0

    def reward(self, id, r, weight):
        """Learns what came back for a decision, and forgets the decision."""
        cdef Py_ssize_t found = as_count(id, "id")
        cdef double y = self.target_of(r, "r"), c = self.weight_of(weight)
        cdef Scratch s = self.borrow()
        try:
            self.guard.begin_write()  # no other thread may learn from it, too
            try:
                self.refuse_id(found)
                arm, row = self.waiting[found]
                self.take_row(row, s)
                s.weight = c
                self.look_back(s, arm, "arm")
                self.carry_out(s, arm, y)
                del self.waiting[found]
            finally:
                self.guard.end_write()
        finally:
            self.give_back(s)

    def drop(self, id):
        cdef Py_ssize_t found = as_count(id, "id")
        self.guard.settle_write()
        self.refuse_id(found)
        del self.waiting[found]

    # --- states -------------------------------------------------------------------------------

    cdef dict told(self):
        return {**RewardEngine.told(self), "decided": self.decided, "expired": self.expired,
                "waiting": self.told_waiting()}

    cdef dict told_waiting(self):
        """The decisions one after another; places of sparse rows alone."""
        values, places, lengths, arms, thin = [], [], [], [], []
        for arm, row in self.waiting.values():
            sparse = type(row) is tuple
            arms.append(arm)
            thin.append(1 if sparse else 0)
            values.append(row[1] if sparse else row)
            lengths.append(len(values[-1]))
            if sparse:
                places.append(row[0])
        return {"ids": whole_numbers(list(self.waiting)), "arms": whole_numbers(arms),
                "sparse": whole_numbers(thin), "lengths": whole_numbers(lengths),
                "values": numpy.concatenate([numpy.zeros(0), *values]),
                "places": numpy.concatenate([whole_numbers([]), *places])}

    cdef int take_state(self, State state) except -1:
        cdef Regressions model = <Regressions>self.new_model()
        cdef Chance chance = Chance.restored(state.given)
        cdef int64_t decided = state.count("decided"), expired = state.count("expired")
        model.restore(state)
        waiting = self.waiting_of(state.part("waiting"), model.k, model.d, decided)
        self.guard.settle_write()
        self.begin(model, chance)
        self.waiting, self.decided, self.expired = waiting, decided, expired
        return 0

    cdef dict waiting_of(self, State state, Py_ssize_t k, Py_ssize_t d, int64_t decided):
        cdef Py_ssize_t n = len(state.get("ids")), at = 0, place = 0, length, i
        ids = <object>state.counts("ids", n, 0, decided - 1)
        arms = <object>state.counts("arms", n, 0, k - 1)
        thin = <object>state.counts("sparse", n, 0, 1)
        lengths = <object>state.counts("lengths", n, 0, d)
        values = <object>state.vector("values", lengths.sum())
        places = <object>state.counts("places", lengths[thin == 1].sum(), 0, d - 1)
        found = {}
        if n and not (numpy.diff(ids) > 0).all():
            state.refuse("ids", "ascending")
        for i in range(n):
            length = lengths[i]
            row = values[at:at + length].copy()
            if thin[i]:
                row = (places[place:place + length].copy(), row)
                if length > 1 and not (numpy.diff(row[0]) > 0).all():
                    state.refuse("places", "ascending in each row")
                place += length
            elif length == 0 or (length < d and not self.most):
                state.refuse("lengths", f"{d} for a dense row", length)
            at += length
            found[int(ids[i])] = (int(arms[i]), row)
        return found


def whole_numbers(values):
    return numpy.array(values, dtype=numpy.int64)


cdef object copy_of(const cf_row *x):
    """A row as `row_of` takes it: an array, or (places, values)."""
    cdef np.ndarray values = new_vector(x.nnz), places
    cdef Py_ssize_t e
    memcpy(data_of(values), x.value, <size_t>x.nnz * sizeof(double))
    if x.i32 == NULL and x.i64 == NULL:
        return values
    places = <np.ndarray>numpy.empty(x.nnz, dtype=numpy.int64)
    for e in range(x.nnz):
        (<int64_t *>np.PyArray_DATA(places))[e] = place_of(x, e)
    return places, values


# --- actions with features --------------------------------------------------------------------


cdef class LinearEngine(BanditEngine):
    """One regression for all actions.

    Parameters
    ----------
    context_features : int
    others
        As for `BanditEngine`.
    """

    def __init__(self, make, Chance chance, Rule rule, *, Py_ssize_t context_features, **words):
        self.contexts = context_features
        BanditEngine.__init__(self, make, chance, rule, **words)

    # --- arguments ----------------------------------------------------------------------------

    def fits(self, Py_ssize_t n, str name):
        self.refuse_actions(n, name)

    cdef object context_of(self, object context):
        """The context as a vector, None where there is none."""
        if context is None and self.contexts:
            raise ValueError(f"context must be given: {self.contexts} numbers")
        if context is not None and not self.contexts:
            raise ValueError("context has no meaning without context_features")
        if context is None:
            return None
        return finite_vector(context, "context", self.contexts, "context_features")

    cdef int refuse_actions(self, Py_ssize_t n, str name) except -1:
        """Rows of another width, where there is a context; the first, whose width with it no number
        can hold."""
        cdef Py_ssize_t d = self.model.d // (self.contexts + 1)
        if self.contexts == 0:
            return self.width(n, name)
        if d and n != d:
            raise ValueError(f"{name} must have {d} features, as what was learned before, got {n}")
        if d == 0:
            product_of(n, self.contexts + 1, f"{name} with its context")
        return 0

    cdef int offer(self, object X, object allowed, object context, Scratch s,
                   Choice at) except -1:
        at.context = self.context_of(context)
        at.by.p = self.contexts
        at.by.c = NULL if at.context is None else data_of(<np.ndarray>at.context)
        at.arms = False
        if isinstance(X, Catalogue):
            at.items, at.mask = X, (<Catalogue>X).mask_of(allowed)
            return 0
        if at.rows is None:
            at.rows = Rows()
        fill_rows(at.rows, X, "X")
        if at.rows.n == 0:
            raise ValueError("X must have at least one row: there is no action")
        at.fit(at.rows.n)
        return at.allow(allowed)

    cdef int read_offer(self, Scratch s, Choice at, bint widths) except? -1000:
        cdef Regressions model = <Regressions>self.model
        cdef double cost
        cdef int status
        self.refuse_actions(at.rows.d, "X")
        at.d = max(model.d, at.rows.d * (self.contexts + 1))
        model.fit_rows(at.rows, at.by, s)
        if self.rule.kind == THOMPSON:
            at.fit_draws(at.d)
            model.fit_drawn(s)
        cost = model.cost(at.rows.most) * (1.0 if self.contexts else 0.5 * at.n)
        if cost < BUSY:
            return model.read_offer(s, at, at.rows, self.rule, widths)
        with nogil:
            status = model.read_offer(s, at, at.rows, self.rule, widths)
        return status

    cdef object attempt(self, Scratch s, Choice at, int what, Py_ssize_t k, Py_ssize_t samples,
                        int *status):
        if at.items is not None:
            return answer_items(self, s, at, what, k, samples, status)
        return BanditEngine.attempt(self, s, at, what, k, samples, status)

    cdef tuple kept(self, Scratch s, Choice at, Py_ssize_t i):
        cdef cf_row row
        cdef Rows rows = at.rows
        if at.items is not None:
            rows = (<Catalogue>at.items).one(i)
            s.buffer.fit(rows.d)
            i = 0
        rows.at(i, s.buffer, &row)
        self.cross(&row, at.by, s)
        return 0, copy_of(&row)

    cdef int cross(self, cf_row *row, Crossed by, Scratch s) except -1:
        """(1, c) (x) row, in place of the row."""
        if by.p:
            s.scaled.fit((by.p + 1) * row.nnz)
            if not crossed(row, by, s.scaled):
                raise ValueError("context is too large for these features: a product overflows")
        return 0

    # --- learning -----------------------------------------------------------------------------

    cdef int learn(self, object x, object reward, object weight, object context) except -1:
        cdef double y = self.target_of(reward, "reward"), c = self.weight_of(weight)
        cdef Scratch s = self.borrow()
        cdef Crossed by
        try:
            if self.contexts == 0 and context is None:
                self.take_row(x, s)
            else:
                vector = self.context_of(context)
                by.p, by.c = self.contexts, data_of(<np.ndarray>vector)
                s.given_null = row_of(x, "x", s.buffer, &s.given,
                                      self.model.d // (by.p + 1), False) == CF_ROW_NULL
                self.refuse_actions(s.given.n, "x")
                self.cross(&s.given, by, s)
            s.weight = c
            return self.learn_one(s, 0, y, "x")
        finally:
            self.give_back(s)

    # --- pairs --------------------------------------------------------------------------------

    cdef int refuse_pairs(self) except -1:
        if not self.logistic:
            raise ValueError('pairs need link="logistic"')
        if self.contexts:
            raise ValueError("pairs have no meaning with context_features")
        return 0

    def choose_pair(self, X):
        """The row of largest m, and the other one that may best beat it."""
        cdef Scratch s = self.borrow()
        cdef Choice at = self.borrow_choice(s), apart = Choice()
        cdef Py_ssize_t i, first = 0, second = -1
        cdef np.ndarray rows
        self.refuse_pairs()
        if isinstance(X, Catalogue):
            raise TypeError("X must be rows: pairs are not chosen from a Catalogue")
        try:
            s.forget()
            self.offer(X, None, None, s, at)
            if at.n < 2:
                raise ValueError(f"X must have at least two rows, got {at.n}")
            self.answer(s, at, SCORES, None, None)
            for i in range(at.n):
                if at.m[i] > at.m[first]:
                    first = i
            rows = self.differences(at, first, s)
            self.offer(rows, None, None, s, apart)
            self.answer(s, apart, SCORES, None, None)
            for i in range(at.n):
                at.z[i] = at.m[i] + self.rule.width * sqrt(apart.q[i])
                if not at.z[i] - at.z[i] == 0.0:
                    self.fail(CF_ENONFINITE, "X")
                if i != first and (second < 0 or at.z[i] > at.z[second]):
                    second = i
            return first, second
        finally:
            at.rows.held = None
            self.give_back(s)

    cdef np.ndarray differences(self, Choice at, Py_ssize_t first, Scratch s):
        """All rows less one of them, written out."""
        cdef Py_ssize_t d = at.rows.d, t, e
        cdef np.ndarray out = <np.ndarray>numpy.zeros((at.n, d))
        cdef cf_row row
        for t in range(at.n):
            at.rows.at(t, s.buffer, &row)
            for e in range(row.nnz):
                data_of(out)[t * d + place_of(&row, e)] = row.value[e]
        out = out - (<object>out)[first]
        if not numpy.isfinite(out).all():
            raise ValueError("X is too large: a difference of two rows overflows")
        return out

    def learn_pair(self, x_first, x_second, first_won):
        """The logistic step on the difference of two rows."""
        cdef bint won = as_flag(first_won, "first_won")
        self.refuse_pairs()
        a, b = self.written_out(x_first, "x_first"), self.written_out(x_second, "x_second")
        d = max(len(a), len(b))
        if len(a) != len(b) and not self.most:
            raise ValueError(f"x_second must have {len(a)} features, as x_first, got {len(b)}")
        x = numpy.pad(a, (0, d - len(a))) - numpy.pad(b, (0, d - len(b)))
        if not numpy.isfinite(x).all():
            raise ValueError("x_first - x_second is too large: it overflows")
        self.learn_weighted(x, 0, 1.0 if won else 0.0, 1.0, "x_first")

    cdef np.ndarray written_out(self, object x, str name):
        cdef Scratch s = Scratch()
        cdef cf_row row
        cdef np.ndarray out
        cdef Py_ssize_t e
        row_of(x, name, s.buffer, &row, self.model.d, self.most > 0)
        self.width(row.n, name)
        out = <np.ndarray>numpy.zeros(row.n)
        for e in range(row.nnz):
            data_of(out)[place_of(&row, e)] = row.value[e]
        return out


# --- arms -------------------------------------------------------------------------------------


cdef class ArmEngine(BanditEngine):
    """A regression an arm."""

    cdef int offer(self, object X, object allowed, object context, Scratch s,
                   Choice at) except -1:
        at.arms = True
        self.take_row(X, s)
        at.fit(self.model.k)
        return at.allow(allowed)

    cdef int read_offer(self, Scratch s, Choice at, bint widths) except? -1000:
        cdef Regressions model
        cdef int status
        self.ready(s, False)
        model = <Regressions>self.model
        if at.n != model.k:
            raise ValueError("allowed: an arm was added meanwhile")
        at.d = max(model.d, s.row.n)
        if model.cost(s.row.nnz) < BUSY:
            return model.read_offer(s, at, None, self.rule, widths)
        with nogil:
            status = model.read_offer(s, at, at.rows, self.rule, widths)
        return status

    cdef tuple kept(self, Scratch s, Choice at, Py_ssize_t i):
        return i, copy_of(&s.given)

    cdef int learn(self, object x, object arm, object reward, object weight) except -1:
        cdef Py_ssize_t i = as_label(arm, "arm", False)
        cdef double y = self.target_of(reward, "reward"), c = self.weight_of(weight)
        return self.learn_weighted(x, i, y, c, "arm")


# --- choices among the rows of a catalogue ----------------------------------------------------

# ucb and greedy go by the catalogue's bounds where they can; thompson is one pass over the rows;
# all else has m and q of all rows, as `choose(X)` has. The catalogue's lock is taken after the
# engine's; the generator's, where one draws, after both.
cdef enum:
    SLATE = 4096       # places up to which the bounds are gone by


cdef object answer_items(LinearEngine engine, Scratch s, Choice at, int what, Py_ssize_t k,
                         Py_ssize_t samples, int *status):
    """The answer, with the engine's lock held; a status tells why there is none."""
    cdef Catalogue items = <Catalogue>at.items
    cdef Rule rule = engine.rule
    cdef np.ndarray mask = at.mask
    items.guard.begin_write()
    try:
        refuse_mask(items, mask)
        items.mask = NULL if mask is None else <const char *>np.PyArray_DATA(mask)
        engine.refuse_actions(items.d, "X")
        at.d = max(engine.model.d, items.d * (engine.contexts + 1))
        if rule.kind == THOMPSON and what != SCORES:
            return draw_items(engine, items, s, at, what, k, samples, status)
        if ((what == PICK or what == DECISION) and k <= SLATE and engine.contexts == 0
                and rule.kind != SQUARECB):
            found = pick_items(engine, items, s, at, what, k, status)
            if found is not None or status[0] != CF_OK:
                return found
        return read_items(engine, items, s, at, what, k, samples, status)
    finally:
        items.mask = NULL
        items.guard.end_write()


cdef int refuse_mask(Catalogue items, np.ndarray mask) except -1:
    if items.living == 0:
        raise ValueError("X must have at least one row: all of this catalogue were removed")
    if mask is None:
        return 0
    if np.PyArray_NDIM(mask) != 1 or np.PyArray_DIM(mask, 0) != items.n:
        raise ValueError(f"allowed must have length {items.n}, one an index ever given, got shape "
                         f"{(<object>mask).shape}")
    items.mask = <const char *>np.PyArray_DATA(mask)
    if not items.any_left():
        raise ValueError("allowed must hold at least one True, of a row that is there")
    return 0


# --- by the bounds ----------------------------------------------------------------------------

cdef object pick_items(LinearEngine engine, Catalogue items, Scratch s, Choice at, int what,
                       Py_ssize_t k, int *status):
    """ucb and greedy; None: not this way, or a status."""
    cdef Regressions model = <Regressions>engine.model
    cdef Rule rule = engine.rule
    cdef Py_ssize_t wanted = min(max(k, 1), items.living)
    cdef int64_t era = engine.era
    cdef double p
    items.fit_choice(model, s, wanted)
    with nogil:
        status[0] = items.pick(era, model, rule, s, wanted)
    if status[0] != CF_OK:
        if status[0] == NOT_THIS_WAY:
            status[0] = CF_OK
        return None
    if what == PICK:
        found = places_of(engine, items, items.found)
        return int(found[0]) if k == 0 else found
    engine.know_for(at)
    i = int(places_of(engine, items, 1)[0])
    p = 1.0 if i == items.index[0] else 0.0
    if rule.floor > 0.0:
        p = rule.floor / items.count_left() + (1.0 - rule.floor) * p
    return engine.remember(at, s, i, p)


cdef np.ndarray places_of(LinearEngine engine, Catalogue items, Py_ssize_t wanted):
    """The best; with a floor, place after place, by chance one of those left."""
    cdef np.ndarray out = new_indices(wanted)
    cdef int64_t *found = <int64_t *>np.PyArray_DATA(out)
    cdef double floor = engine.rule.floor
    cdef bitgen_t *bits = engine.chance.bits
    cdef int64_t count = items.count_left() if floor > 0.0 else 0
    cdef Py_ssize_t i, next = 0
    for i in range(wanted):
        if floor > 0.0 and bits.next_double(bits.state) < floor:
            found[i] = items.number(min(<int64_t>((count - i) * bits.next_double(bits.state)),
                                        count - i - 1), found, i)
            continue
        while floor > 0.0 and among(items.index[next], found, i):
            next += 1
        found[i] = items.index[next]
        next += 1
    return out


# --- by one pass ------------------------------------------------------------------------------

cdef object draw_items(LinearEngine engine, Catalogue items, Scratch s, Choice at, int what,
                       Py_ssize_t k, Py_ssize_t samples, int *status):
    """thompson: the largest products with what is drawn."""
    cdef np.ndarray law = None
    cdef double p = NAN
    items.looked = items.living
    if what == LAW or samples:
        law = drawn_law(engine, items, s, at, samples, status)
        if status[0] != CF_OK or what == LAW:
            return law
    if what == DECISION:
        engine.know_for(at)
    found = drawn_places(engine, items, s, at, max(k, 1), status)
    if status[0] != CF_OK:
        engine.model.raise_error(CF_OK)
        return None
    if what == PICK:
        return int(found[0]) if k == 0 else found
    i = int(found[0])
    if law is not None:
        p = data_of(law)[i]
    return engine.remember(at, s, i, p)


cdef int draw_once(LinearEngine engine, Catalogue items, Scratch s, Choice at,
                   Chance chance) except? -1000:
    """v = w + width F z into at.drawn, a context contracted out of it; a status."""
    cdef Regressions model = <Regressions>engine.model
    cdef double width = engine.rule.width, whole = 1.0
    cdef Py_ssize_t j
    cdef int status
    for j in range(at.by.p):
        whole += at.by.c[j] * at.by.c[j]
    if not engine.rule.inside(model, at, whole, items.largest * items.largest):
        return CF_ENONFINITE
    at.fit_draws(at.d)
    model.fit_drawn(s)
    with chance.generator.bit_generator.lock:
        with nogil:
            chance.normals(at.d, at.drawn)
            status = model.drawn(s, at.d, width, at.drawn)
    for j in range(at.by.p if status == CF_OK else 0):
        K.axpy(items.d, at.by.c[j], at.drawn + (j + 1) * items.d, at.drawn)
    return status


cdef np.ndarray drawn_places(LinearEngine engine, Catalogue items, Scratch s, Choice at,
                             Py_ssize_t k, int *status):
    cdef np.ndarray out
    cdef double best
    cdef Py_ssize_t i
    status[0] = draw_once(engine, items, s, at, engine.chance)
    if status[0] != CF_OK:
        return None
    if k == 1 and engine.rule.floor == 0.0:
        out = new_indices(1)
        (<int64_t *>np.PyArray_DATA(out))[0] = items.largest_product(at.drawn, NULL, &best)
        return out
    all_left(items, at)
    items.largest_product(at.drawn, at.z, &best)
    out = new_indices(min(k, at.count))
    for i in range(np.PyArray_DIM(out, 0)):
        (<int64_t *>np.PyArray_DATA(out))[i] = engine.place(at)
    return out


cdef np.ndarray drawn_law(LinearEngine engine, Catalogue items, Scratch s, Choice at,
                          Py_ssize_t samples, int *status):
    """The frequencies of so many draws, of a generator of their own."""
    cdef Chance child = Chance(engine.chance.generator.spawn(1)[0])
    cdef np.ndarray law = new_vector(items.n)
    cdef double best
    cdef Py_ssize_t turn
    all_left(items, at)
    memset(at.p, 0, <size_t>at.n * sizeof(double))
    for turn in range(samples):
        PyErr_CheckSignals()
        status[0] = draw_once(engine, items, s, at, child)
        if status[0] != CF_OK:
            return None
        at.p[items.largest_product(at.drawn, NULL, &best)] += 1.0
    engine.rule.mix(at, samples)
    memcpy(data_of(law), at.p, <size_t>at.n * sizeof(double))
    return law


cdef int all_left(Catalogue items, Choice at) except -1:
    """`at` for all rows ever given, with what may be chosen of them."""
    cdef Py_ssize_t b
    cdef uint64_t which
    cdef int i
    at.fit(items.n)
    at.count = items.count_left()
    for b in range(items.blocks):
        which = items.left(b)
        for i in range(items.block[b].held):
            at.left[items.block[b].first + i] = which >> i & 1
    return 0


cdef object read_items(LinearEngine engine, Catalogue items, Scratch s, Choice at, int what,
                       Py_ssize_t k, Py_ssize_t samples, int *status):
    """m and q of all rows, or what else the rule compares, one array of rows after another."""
    cdef Regressions model = <Regressions>engine.model
    cdef Rule rule = engine.rule
    cdef bint widths = what == SCORES or k > 1 or (rule.kind == UCB and model.d == 0)
    cdef Py_ssize_t i, first
    cdef Rows rows
    items.looked = items.living
    all_left(items, at)
    at.scored = rule.kind == UCB and not widths
    for i in range(len(items.arrays)):
        rows, first = items.part(i), items.arrays[i][1]
        if rows.n == 0:
            continue
        model.fit_rows(rows, at.by, s)
        with nogil:
            if at.scored:
                status[0] = (<Single>model.at[0]).read_upper(
                    rows, at.by, s, rule.bonus(model, 0), at.left + first, at.m + first,
                    at.q + first, at.z + first)
            else:
                status[0] = model.read_rows(rows, at.by, s, at.m + first,
                                            at.q + first if widths else NULL)
        if status[0] != CF_OK:
            return None
    return engine.act(s, at, what, k, samples)


# --- runs -------------------------------------------------------------------------------------


cdef class BanditRounds(Run):
    """The parts of a round that are the same wherever its actions come from."""

    cdef object lock(self, Engine engine):
        return engine.chance.generator.bit_generator.lock

    cdef int at_hand(self, BanditEngine engine) except -1:
        """Everything for rounds with the model of this engine."""
        cdef Scratch s = self.scratch
        cdef Py_ssize_t p = self.at.by.p
        if self.arms:
            engine.width(self.seen.d, "X")
        else:
            (<LinearEngine>engine).refuse_actions(self.seen.d, "X")
        self.model, self.rule, self.chance = <Regressions>engine.model, engine.rule, engine.chance
        self.at.d = max(self.model.d, (p + 1) * self.seen.d)
        self.model.know(self.at.d)
        s.expect(self.seen)
        s.row.n = s.row.nnz = self.at.d
        self.model.fit(s)
        self.model.fit_known(self.seen, self.at.by, s,
                             self.rule.kind == THOMPSON and not self.arms)
        self.at.fit_draws(self.at.d)
        s.scaled.fit(self.at.d)
        self.mask = 15 if self.at.n * self.model.cost(self.at.d) < 1e5 else 0
        return 0

    cdef int supply(self, Engine engine) except -1:
        return self.model.make_room(self.scratch)

    cdef int read(self, Regressions model, Rule rule, Scratch s, Choice at,
                  Chance chance) noexcept nogil:
        """The scores of what is seen, as `place` and `law` want them."""
        cdef Py_ssize_t turn
        cdef int status = CF_OK
        for turn in range(2):
            if self.arms:
                s.take_from(self.seen, 0)
            status = model.read_offer(s, at, self.seen, rule, False)
            if status != CF_ENOTPOSITIVE or model.repair(s) != CF_OK:
                break
        return rule.score(model, s, at, chance) if status == CF_OK else status

    cdef int teach(self, Regressions model, Scratch s, Choice at, Py_ssize_t i,
                   double reward) noexcept nogil:
        """One round of `learn`."""
        cdef Py_ssize_t arm = i if self.arms else 0
        cdef int status
        s.take_from(self.seen, 0 if self.arms else i)
        if at.by.p and not crossed(&s.row, at.by, s.scaled):
            return CF_ENONFINITE
        s.weight = 1.0
        model.prepare(s)
        status = model.look_at(s, arm)
        if status == CF_ENOTPOSITIVE and model.repair(s) == CF_OK:
            status = model.look_at(s, arm)
        return model.take(s, arm, reward) if status == CF_OK else status

    cdef int fail(self, Engine engine, int status) except -1:
        return (<BanditEngine>engine).fail(status, f"round {self.done} of X")


cdef class BanditRun(BanditRounds):
    """Chooses and learns in an environment; it is the loop of single calls, bit for bit.

    Parameters
    ----------
    engine : BanditEngine
    rounds : int
    X : ndarray of float64 or None
        Rows of a table, (T, d) for arms, else (n, d) or (T n, d); None: they are drawn.
    n : int
        Actions a round.
    d : int
    T : int
        Round t is row t mod T of the table.
    same : bool
        All rounds have the same actions.
    rewards : ndarray of shape (T, n) or None
    weights : ndarray or None
        Where there are no rewards: (d,), or (arms, d).
    noise : float
    contexts : ndarray of shape (T, p) or None
    world : Chance or None
        Where rows and noise are drawn from.
    """

    # A bandit in an environment: choose, learn, round after round. Round t shows row t mod T of
    # what is given, or what is drawn. Invariants: the memory of `seen` is `drawn` or moves along the
    # table; means has the mean reward of each.
    cdef Rows table            # all rows (arms: one a round)
    cdef np.ndarray drawn, rewards, weights, contexts, means
    cdef np.ndarray reward, regret, choice, probability
    cdef bint same             # all rounds have the same actions
    cdef Py_ssize_t period     # T
    cdef double noise
    cdef Chance world          # None: nothing is drawn

    def __init__(self, BanditEngine engine, Py_ssize_t rounds, X, *, Py_ssize_t n, Py_ssize_t d,
                 Py_ssize_t T, bint same, rewards, weights, double noise, contexts, Chance world):
        self.arms, self.period, self.total = isinstance(engine, ArmEngine), T, rounds
        self.rewards, self.weights, self.contexts = rewards, weights, contexts
        self.noise, self.world = noise, world
        if X is None:
            self.drawn = <np.ndarray>numpy.zeros((1 if self.arms else n, d))
            X = self.drawn
        self.table, self.seen = rows_of(X, "X"), rows_of(X, "X")
        self.seen.n = 1 if self.arms else n
        self.same = same or self.drawn is not None
        self.means = new_vector(n)
        self.reward, self.regret = new_vector(rounds), new_vector(rounds)
        self.probability, self.choice = new_vector(rounds), new_indices(rounds)
        self.scratch, self.at = Scratch(), Choice()
        self.at.fit(n)
        self.at.arms, self.at.rows = self.arms, self.seen

    def history(self):
        return BanditHistory(reward=self.reward[:self.done], regret=self.regret[:self.done],
                             choice=self.choice[:self.done],
                             probability=self.probability[:self.done])

    cdef int begin(self, Engine engine) except -1:
        if self.arms and (<BanditEngine>engine).model.k != self.at.n:
            raise ValueError(f"rewards must have {(<BanditEngine>engine).model.k} columns, one an "
                             "arm: arms were added during the run")
        self.at.by.p = 0 if self.contexts is None else np.PyArray_DIM(self.contexts, 1)
        return self.at_hand(<BanditEngine>engine)

    cdef int round(self, Engine engine) noexcept nogil:
        return self.one(self.model, self.rule, self.scratch, self.at)

    cdef int one(self, Regressions model, Rule rule, Scratch s, Choice at) noexcept nogil:
        cdef Py_ssize_t i, j, t = self.done
        cdef int status
        cdef double best = -INFINITY, reward
        if not model.has_room(s):
            return MORE
        self.show(self.seen, s, at, self.world)
        status = self.decide(model, rule, s, at, self.chance)
        if status != CF_OK:
            return status
        i = (<Py_ssize_t *>np.PyArray_DATA(self.choice))[t]
        for j in range(at.n):
            best = max(best, data_of(self.means)[j])
        reward = data_of(self.means)[i]
        if self.world is not None:
            self.world.normals(1, at.z)
            reward += self.noise * at.z[0]
        data_of(self.reward)[t], data_of(self.regret)[t] = reward, best - data_of(self.means)[i]
        return self.teach(model, s, at, i, reward)

    cdef int show(self, Rows seen, Scratch s, Choice at, Chance world) noexcept nogil:
        """The actions of this round, and their mean rewards."""
        cdef Py_ssize_t t = self.done % self.period, d = seen.d, n = at.n, i, j
        cdef double *rows
        cdef double length
        if not self.same:
            seen.value = self.table.value + t * seen.n * seen.row_step
        if self.contexts is not None:
            at.by.c = data_of(self.contexts) + t * at.by.p
        rows = <double *>seen.value
        if self.drawn is not None:
            world.normals(seen.n * d, rows)
            for i in range(seen.n):
                length = sqrt(K.dot(d, rows + i * d, rows + i * d))
                for j in range(d):
                    rows[i * d + j] /= length
        for i in range(n):
            if self.rewards is not None:
                data_of(self.means)[i] = data_of(self.rewards)[t * n + i]
            elif self.arms:
                data_of(self.means)[i] = K.dot(d, data_of(self.weights) + i * d, rows)
            else:
                data_of(self.means)[i] = K.dot(d, data_of(self.weights), rows + i * d)
        return CF_OK

    cdef int decide(self, Regressions model, Rule rule, Scratch s, Choice at,
                    Chance chance) noexcept nogil:
        cdef Py_ssize_t i
        cdef int status
        at.allow_all()
        status = self.read(model, rule, s, at, chance)
        if status != CF_OK:
            return status
        i = rule.place(at, model.learned, chance.bits)
        (<Py_ssize_t *>np.PyArray_DATA(self.choice))[self.done] = i
        data_of(self.probability)[self.done] = NAN
        if rule.kind != THOMPSON:
            data_of(self.probability)[self.done] = rule.probability(at, model.learned, i)
        return CF_OK


# --- single calls -----------------------------------------------------------------------------

# A Python method that hands on to the engine costs a part of what a small round itself does, so the
# thin classes inherit these instead. `_engine` is the learner's engine, set by the shell; an
# argument's own code may have another put in its place.


cdef class RegressionCalls(Calls):
    def learn(self, x, y, *, weight=1.0):
        """Takes in one row and its target.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        y : float
            What was to be predicted; with the logistic link in [0, 1].
        weight : float, default 1.0
            How often it counts, > 0.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.OnlineRidge(link="logistic")
        >>> learner.learn([2.0], 1.0, weight=3.0)
        >>> learner.weights
        array([0.75])
        """
        cdef RewardEngine engine = self.at_work()
        cdef double target = engine.target_of(y, "y"), c = engine.weight_of(weight)
        engine.learn_weighted(x, 0, target, c, "x")


cdef class LinearCalls(Calls):
    def choose(self, X, *, allowed=None, k=None, context=None):
        """The index of one of the rows of X, or of the k best.

        Parameters
        ----------
        X : array_like of shape (n, d), scipy.sparse matrix or Catalogue
            The actions of this round; their number may differ from round to round. Of very many
            that stay the same, a `Catalogue` looks at few.
        allowed : array_like of bool, shape (n,), optional
            Of a `Catalogue`: one an index ever given.
        k : int, optional
            So many, best first; with "squarecb" or a floor each place by the law of those left.
        context : array_like of shape (context_features,), optional
            What this round is about, where the bandit has context_features.

        Returns
        -------
        int, or with k an ndarray of intp
            The index of what is chosen, or those of the k, best first.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> bandit = cf.LinearBandit()
        >>> X = [[1.0], [3.0], [2.0]]
        >>> bandit.choose(X), bandit.choose(X, k=2), bandit.choose(X, allowed=[True, False, True])
        (1, array([1, 2]), 2)
        """
        cdef LinearEngine engine = self.at_work()
        return engine.ask(X, allowed, context, PICK, k, None)

    def learn(self, x, reward, *, weight=1.0, context=None):
        """Takes in the reward of a row, in whatever order rewards come.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            The action that was chosen.
        reward : float
            What came back; with the logistic link in [0, 1].
        weight : float, default 1.0
            How often it counts, > 0.
        context : array_like of shape (context_features,), optional
            As given to `choose`.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> bandit = cf.LinearBandit(context_features=1)
        >>> bandit.learn([1.0], 3.0, context=[1.0])
        >>> bandit.weights
        array([1., 1.])
        """
        cdef LinearEngine engine = self.at_work()
        engine.learn(x, reward, weight, context)


cdef class ArmCalls(Calls):
    def choose(self, x, *, allowed=None, k=None):
        """The arm for x, or the k best.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        allowed : array_like of bool, shape (n_arms,), optional
            Which arms there are this time; None: all of them.
        k : int, optional
            See `LinearBandit.choose`.

        Returns
        -------
        int, or with k an ndarray of intp
            The index of what is chosen, or those of the k, best first.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> bandit = cf.ArmBandit(3)
        >>> bandit.choose([1.0]), bandit.choose([1.0], k=2, allowed=[False, True, True])
        (0, array([1, 2]))
        """
        cdef ArmEngine engine = self.at_work()
        return engine.ask(x, allowed, None, PICK, k, None)

    def learn(self, x, arm, reward, *, weight=1.0):
        """Takes in the reward of an arm, in whatever order rewards come.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        arm : int
            The arm that was chosen, from 0.
        reward : float
            What came back; with the logistic link in [0, 1].
        weight : float, default 1.0
            How often it counts, > 0.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> bandit = cf.ArmBandit(2)
        >>> bandit.learn([1.0], 1, 4.0)
        >>> bandit.weights
        array([[0.],
               [2.]])
        """
        cdef ArmEngine engine = self.at_work()
        engine.learn(x, arm, reward, weight)
