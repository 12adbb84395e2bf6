"""How bandits decide, fixed rows to choose among, the regressions bandits learn by, their engines
and runs (DEFINITIONS 6; cf_catalogue.h)."""

import threading

import numpy

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.float cimport DBL_MAX, FLT_MAX, FLT_MIN
from libc.math cimport INFINITY, NAN, fabs, sqrt
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport (
    as_count, as_flag, as_label, as_number, as_positive, as_rows, as_share, as_size, data_of,
    finite_vector, mask_of, new_doubles, new_indices, new_vector, product_of, reals, refuse_masked,
    refuse_non_finite, row_stride,
)
from coactive_fast._lock cimport Lock
from coactive_fast._lock cimport cf_number_get, cf_number_put
from coactive_fast._table cimport (
    CF_CATALOGUE_SLOTS, CF_CATALOGUE_TERMS, CF_ENOMEM, CF_ENONFINITE, CF_ENOTPOSITIVE, CF_OK,
    CF_ROW_NULL, CF_STALE, cf_get_library, cf_get_table, cf_library, cf_look, cf_pad, cf_row, cf_table,
)
from coactive_fast.learner._engine cimport BUSY, Engine, Form, Rule, RowEngine
from coactive_fast.learner._run cimport RowRun
from coactive_fast.learner._state cimport opened, vector_of
from coactive_fast.metric._forms cimport Past, read_means, read_squares, sigmoid
from coactive_fast.rows._rows cimport (
    DOUBLES, GATHERED, RowBuffer, dense_table, dense_vector, fill_rows, place_of, row_of, rows_of,
)

from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.rewards._history import BanditHistory, Decision, RegressionHistory

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()
cdef double OBJECT = 1e3     # bytes of a regression that knows nothing, about
KINDS = {"ucb": UCB, "thompson": THOMPSON, "squarecb": SQUARECB, "greedy": GREEDY}


# --- the laws of choice -----------------------------------------------------------------------


cdef class Exploration:
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

    cdef double bonus(self, Regressions form, Py_ssize_t i) noexcept nogil:
        """The width of ucb, of regression i."""
        cdef double known = 0.0, doubt = self.doubt
        if not self.theory:
            return self.width
        if form.d:  # log det A - d log ridge
            known = max((<Regression>form.at[i]).information(), 0.0)
        if form.k > 1:
            doubt += K.log_one(<double>form.k)
        return self.noise * sqrt(known + 2.0 * doubt) + sqrt(self.ridge) * self.norm_bound

    cdef int score(self, Regressions form, Workspace ws, Choice at, Chance chance) noexcept nogil:
        cdef Py_ssize_t i
        cdef double width
        if self.kind == THOMPSON:
            return self.draw(form, ws, at, chance)
        if at.scored:
            i = at.best(at.z)
            return CF_OK if at.z[i] - at.z[i] == 0.0 else CF_ENONFINITE
        if self.kind != UCB:  # what is compared is m
            return CF_OK
        width = self.bonus(form, 0)
        for i in range(at.n):
            if self.theory and at.arms:
                width = self.bonus(form, i)
            at.z[i] = at.m[i] + width * sqrt(at.q[i])
        return CF_OK if K.all_finite(at.n, at.z) else CF_ENONFINITE

    cdef int draw(self, Regressions form, Workspace ws, Choice at, Chance chance) noexcept nogil:
        """Arms: m + width sqrt(q) z, a normal number each. Else x.v for every row x with
        v = w + width F z, as many normal numbers as there are features."""
        cdef Py_ssize_t i
        cdef int status
        if not at.arms:
            status = self.within(form, at, at.rows, ws)
            if status != CF_OK:
                return status
            chance.normals(at.d, at.drawn)
            status = form.drawn(ws, at.d, self.width, at.drawn)
            if status != CF_OK:
                return status
            contract(at.by, at.rows.d, at.drawn)
            return read_means(at.rows, at.drawn, ws, at.z)
        for i in range(at.n):  # no draw may leave the range
            if not (self.width * sqrt(at.q[i]) <= 1e290 and fabs(at.m[i]) <= 1e300):
                return CF_ENONFINITE
        chance.normals(at.n, at.z)
        for i in range(at.n):
            at.z[i] = at.m[i] + self.width * sqrt(at.q[i]) * at.z[i]
        return CF_OK

    cdef int within(self, Regressions form, Choice at, Rows X, Workspace ws) noexcept nogil:
        """Whether no draw can leave the range: |x.F z| <= |x| |z| / sqrt(ridge / 2). The squares
        of all rows together mostly tell it, in one pass."""
        cdef const double *x = <const double *>X.value
        cdef Py_ssize_t t
        cdef double whole = square_of(at.by), most = 0.0
        cdef int status
        if (X.kind == DOUBLES and X.row_step == 8 * X.d
                and self.inside(form, at, whole, K.dot(X.n * X.d, x, x))):
            return CF_OK
        status = read_squares(X, ws, at.q)
        for t in range(X.n if status == CF_OK else 0):
            most = max(most, at.q[t])
        if status == CF_OK and not self.inside(form, at, whole, most):
            return CF_ENONFINITE
        return status

    cdef bint inside(self, Regressions form, Choice at, double whole,
                     double square) noexcept nogil:
        cdef double size = sqrt(whole) * sqrt(square)
        return (self.width * size / sqrt(self.ridge) <= 1e290
                and size * (at.d * form.reach()) <= 1e300)

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
        cdef double most = sigmoid(at.m[best]) if self.logistic else at.m[best], mean, sum = 0.0
        for i in range(at.n):
            at.p[i] = 0.0
            if at.left[i] and i != best:
                mean = sigmoid(at.m[i]) if self.logistic else at.m[i]
                at.p[i] = 1.0 / (at.count + gamma * max(most - mean, 0.0))
                sum += at.p[i]
        at.p[best] = max(1.0 - sum, 0.0)

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
        L.free(self.drawn)

    cdef int reserve(self, Py_ssize_t n) except -1:
        """Room for n actions."""
        cdef Py_ssize_t padded = cf_pad(n)
        cdef double *block
        if n > self.room:
            block = new_doubles(5, padded, f"{n} actions")
            L.free(self.m)
            self.m, self.room = block, n
            self.q, self.z, self.p = block + padded, block + 2 * padded, block + 3 * padded
            self.left = <char *>(block + 4 * padded)
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
        mask = mask_of(allowed, "allowed")
        if np.PyArray_NDIM(mask) != 1 or np.PyArray_DIM(mask, 0) != self.n:
            raise ValueError(f"allowed must have length {self.n}, one an action, got shape "
                             f"{(<object>mask).shape}")
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


cdef np.ndarray context_of(object context, Py_ssize_t p, Py_ssize_t n):
    """A context of p features as a vector, or (n >= 0) one for each of n rows; None where there is
    none."""
    cdef np.ndarray given
    if context is None and p:
        raise ValueError(f"context must be given: {p} numbers")
    if context is not None and not p:
        raise ValueError("context has no meaning without context_features")
    if context is None:
        return None
    if n < 0:
        return finite_vector(context, "context", p, "context_features")
    given = reals(context, "context", 2)
    if np.PyArray_DIM(given, 0) != n or np.PyArray_DIM(given, 1) != p:
        raise ValueError(f"context must have shape ({n}, {p}), got {(<object>given).shape}")
    return given


# |(1, c)|^2.
cdef double square_of(Crossed by) noexcept nogil:
    cdef double whole = 1.0
    cdef Py_ssize_t j
    for j in range(by.p):
        whole += by.c[j] * by.c[j]
    return whole


# v <- v_0 + c_1 v_1 + ... + c_p v_p, v the blocks of d numbers that a row (1, c) (x) x goes with.
cdef void contract(Crossed by, Py_ssize_t d, double *v) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(by.p):
        K.axpy(d, by.c[j], v + (j + 1) * d, v)


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


cdef class Regressions(Form):
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
        self.set_forms([fresh() for _ in range(k)])

    def __dealloc__(self):
        L.free(self.at)

    cdef int set_forms(self, list forms) except -1:
        cdef Py_ssize_t i, k = len(forms)
        cdef PyObject **at = <PyObject **>L.alloc(<size_t>k, sizeof(PyObject *))
        if at == NULL:
            raise MemoryError(f"{k} regressions")
        for i in range(k):
            at[i] = <PyObject *>forms[i]
        L.free(self.at)
        self.forms, self.at, self.k = forms, at, k
        return 0

    cdef Regression form(self, Py_ssize_t i):
        return <Regression>self.forms[i]

    # --- memory -------------------------------------------------------------------------------

    cdef int resize(self, Py_ssize_t k, Py_ssize_t d) except -1:
        """What a refused row left is no dimension."""
        cdef Regression form
        self.drop_refused()
        if k == self.k and d <= self.d:
            return 0
        forms = [*self.forms, *(self.fresh() for _ in range(k - self.k))]
        for form in forms[0 if d > self.d else self.k:]:
            form.most = self.most
            form.resize(1, d)
        return self.set_forms(forms) if k > self.k else 0

    cdef void drop_refused(self) noexcept:
        cdef Py_ssize_t i
        cdef Regression form
        for i in range(self.k):
            if (<Regression>self.at[i]).d > self.d:
                form = self.form(i)
                if self.d == 0:
                    form = self.fresh()
                    self.forms[i] = form
                    self.at[i] = <PyObject *>form
                else:
                    form.d = self.d

    cdef int reserve(self, Workspace ws) except -1:
        (<Regression>self.at[0]).reserve(ws)
        return ws.reserve(self.k, 0)

    cdef int set_options(self, Form other) except -1:
        cdef Regressions o = <Regressions?>other
        cdef Regression form
        self.fresh = o.fresh
        for form in self.forms:
            form.set_options(o.form(0))
        return Form.set_options(self, other)

    cdef int raise_error(self, int status) except -1:
        self.drop_refused()
        return 0

    # --- reading ------------------------------------------------------------------------------

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return self.k * (<Regression>self.at[0]).cost(nnz)

    cdef void prepare(self, Workspace ws) noexcept nogil:
        (<Regression>self.at[0]).prepare(ws)

    cdef int read(self, Workspace ws) noexcept nogil:
        return self.read_all(ws, True)

    cdef int read_all(self, Workspace ws, bint widths) noexcept nogil:
        cdef double fresh = K.dot(ws.row.nnz, ws.row.value, ws.row.value) / self.ridge
        cdef Py_ssize_t i
        cdef int status
        ws.greedy = ws.label = 0
        for i in range(self.k):
            if self.d == 0 or ws.null:
                ws.score[i], ws.quad[i] = 0.0, fresh
                status = CF_OK if ws.quad[i] <= DBL_MAX else CF_ENONFINITE
            else:
                status = (<Regression>self.at[i]).read_pair(ws, ws.score + i,
                                                        ws.quad + i if widths else NULL)
            if status != CF_OK:
                return status
        return CF_OK

    cdef int read_offer(self, Workspace ws, Choice at, Rows rows, Exploration rule,
                        bint widths) noexcept nogil:
        """What the rule compares; widths: m and q of all actions."""
        cdef int status
        at.scored = False
        if at.arms:
            if rule.kind == UCB and not widths and self.read_arms(ws, at, rule):
                at.scored = True
                return CF_OK
            widths = widths or rule.kind == UCB or rule.kind == THOMPSON
            status = self.read_all(ws, widths)
            memcpy(at.m, ws.score, <size_t>self.k * sizeof(double))
            memcpy(at.q, ws.quad, <size_t>self.k * sizeof(double))
            return status
        if widths or (rule.kind == UCB and self.d == 0):
            return self.read_rows(rows, at.by, ws, at.m, at.q)
        if rule.kind == UCB:
            at.scored = True
            return (<Regression>self.at[0]).read_upper(rows, at.by, ws, rule.bonus(self, 0), at.left,
                                                   at.m, at.q, at.z)
        if rule.kind == THOMPSON:
            return CF_OK
        return self.read_rows(rows, at.by, ws, at.m, NULL)

    cdef bint read_arms(self, Workspace ws, Choice at, Exploration rule) noexcept nogil:
        """z alone, as far as it can be the largest: q <= x.x ||A^-1|| bounds the score of an arm,
        and the arms are read from the highest bound on, until none reaches the best. False: all
        are to be read, since nothing bounds them or something is not as it should be."""
        cdef double *bound = at.p
        cdef double square = K.dot(ws.row.nnz, ws.row.value, ws.row.value), best = -INFINITY, q
        cdef ptrdiff_t i
        if self.d == 0 or ws.null:
            return False
        for i in range(self.k):
            bound[i] = rule.bonus(self, i) * (<Regression>self.at[i]).widest(square)
            if not (bound[i] < INFINITY
                    and (<Regression>self.at[i]).read_pair(ws, at.m + i, NULL) == CF_OK):
                return False
            bound[i] = at.m[i] + bound[i] if at.left[i] else -INFINITY
            at.z[i] = -INFINITY
        while True:
            K.top_k(self.k, bound, 1, &i, NULL)
            if bound[i] == -INFINITY or bound[i] < best:
                return True
            if (<Regression>self.at[i]).read_pair(ws, at.m + i, &q) != CF_OK:
                return False
            at.z[i] = at.m[i] + rule.bonus(self, i) * sqrt(q)
            best, bound[i] = max(best, at.z[i]), -INFINITY

    cdef int read_one(self, Workspace ws, Py_ssize_t i) noexcept nogil:
        if ws.null:
            return CF_OK
        (<Regression>self.at[i]).weight = ws.weight
        return (<Regression>self.at[i]).read(ws)

    cdef int repair(self) noexcept nogil:
        """CF_OK where one was damaged and is not any more."""
        cdef Py_ssize_t i
        cdef int status = CF_ENOTPOSITIVE
        for i in range(self.k if self.d else 0):
            if (<Regression>self.at[i]).repair() == CF_OK:
                status = CF_OK
        return status

    cdef int reserve_rows(self, Rows X, Crossed by, Workspace ws) except -1:
        if self.d == 0:
            ws.buffer.reserve(X.most)
            return 0
        return self.form(0).reserve_rows(X, by, ws)

    cdef int read_rows(self, Rows X, Crossed by, Workspace ws, double *m, double *q) noexcept nogil:
        cdef Py_ssize_t t
        cdef double whole = square_of(by)
        if self.d:
            return (<Regression>self.at[0]).read_rows(X, by, ws, m, q)
        for t in range(X.n):
            if not X.at(t, ws.buffer, &ws.row):
                return CF_ENOMEM
            m[t] = 0.0
            if q == NULL:
                continue
            q[t] = whole * K.dot(ws.row.nnz, ws.row.value, ws.row.value) / self.ridge
            if not q[t] <= DBL_MAX:
                return CF_ENONFINITE
        return CF_OK

    cdef double reach(self) noexcept nogil:
        return (<Regression>self.at[0]).reach() if self.d else 0.0

    cdef int reserve_drawn(self, Workspace ws) except -1:
        return self.form(0).reserve_drawn(ws) if self.d else 0

    cdef int drawn(self, Workspace ws, Py_ssize_t n, double width, double *z) noexcept nogil:
        cdef Py_ssize_t i
        if self.d:
            return (<Regression>self.at[0]).drawn(ws, n, width, z)
        for i in range(n):
            z[i] *= width / sqrt(self.ridge)
        return CF_OK

    # --- learning -----------------------------------------------------------------------------

    cdef int update(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        """A null row counts as an example and makes nothing be forgotten."""
        cdef int status = CF_OK
        if ws.null:
            (<Regression>self.at[i]).learned = (<Regression>self.at[i]).learned + 1
        else:
            status = (<Regression>self.at[i]).update(ws, 0, y)
        if status == CF_OK:
            self.count(ws.row.n)
        return status

    # --- the past -----------------------------------------------------------------------------

    cdef int decay(self, double f) except -1:
        cdef Regression form
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
            self.set_forms(other.forms)
            self.d = other.d
        elif other.d:
            for i in range(self.k):
                self.form(i).merge(other.form(i))
        self.learned += other.learned
        return 0

    # --- arrays and states --------------------------------------------------------------------

    cdef np_weights(self):
        cdef Regression form
        if self.d == 0:
            return numpy.zeros((self.k, 0))
        return numpy.array([form.np_weights() for form in self.forms])

    cdef np_inverse(self, Py_ssize_t i):
        return self.form(i).np_inverse(0) if self.d else None

    cdef np_information(self):
        cdef Regression form
        return numpy.array([form.information() if self.d else 0.0 for form in self.forms])

    cdef dict health(self):
        return self.form(0).health()

    cdef dict get_state(self):
        cdef Regression form
        self.drop_refused()
        return {"k": self.k, "d": self.d, "learned": self.learned,
                "forms": [form.get_state() for form in self.forms]}

    cdef int set_state(self, State state) except -1:
        cdef Py_ssize_t k = state.count("k", self.k), d = state.count("d"), learned, sum = 0
        cdef State part
        cdef Regression form
        cdef list forms = []
        learned = state.count("learned")
        if learned and not d:
            state.refuse("d", "> 0 where something was learned", d)
        for part in state.parts("forms", k):
            if part.count("d") != d:
                part.refuse("d", f"{d}, as that of the learner", part.get("d"))
            form = self.fresh()
            form.most = self.most
            form.set_state(part)
            sum += form.learned
            forms.append(form)
        if sum != learned:
            state.refuse("learned", f"{sum}, as that of its regressions", learned)
        self.set_forms(forms)
        self.d, self.learned = d, learned
        return 0

cdef double SMALLEST = 1e-150  # a scale that has an inverse with room to spare
cdef int64_t eras = 0  # how many there were; with the GIL


cdef class RewardEngine(RowEngine):
    """The engine of the learners from numbers, and their base class; its model is `Regressions`.

    Besides those of every engine it starts from: logistic, the link; modest, whether no weight may
    be above 1.
    """

    cdef int start(self, dict parts) except -1:
        RowEngine.start(self, parts)
        self.logistic, self.modest = parts["logistic"], parts.get("modest", False)
        return 0

    cdef bint is_fresh(self) except -1:
        return self.form.d == 0 and RowEngine.is_fresh(self)

    cdef int set_options(self, dict parts, list changed) except -1:
        RowEngine.set_options(self, parts, changed)
        self.modest = parts.get("modest", False)
        if "forget" in changed:
            self.new_era()
        return 0

    cdef void replace(self, Rule rule, Form form) noexcept:
        RowEngine.replace(self, rule, form)
        self.new_era()

    cdef void new_era(self) noexcept:
        global eras
        eras += 1
        self.era = eras

    # --- arguments ----------------------------------------------------------------------------

    cdef double target_of(self, object value, str name) except? -1.0:
        """What is learned towards."""
        self.lock.check_open()
        cdef double y = as_number(value, name)
        if self.logistic and not 0.0 <= y <= 1.0:
            raise ValueError(f'{name} must be in [0, 1] with link="logistic", got {y}')
        return y

    cdef double weight_of(self, object value) except -1.0:
        cdef double weight = as_positive(value, "weight")
        if self.modest and weight > 1.0:
            raise ValueError(f'weight must be at most 1 with width="theory", got {weight}')
        return weight

    cdef tuple examples_of(self, object y, object weight, Py_ssize_t n):
        """Targets and weights of n rows; None: each counts once."""
        targets = <object>finite_vector(y, "y", n, "X")
        weights = <object>finite_vector(numpy.ones(n) if weight is None else weight, "weight", n,
                                        "X")
        if n:
            for i in (targets.argmin(), targets.argmax()):
                self.target_of(targets[i], "y")
            for i in (weights.argmin(), weights.argmax()):
                self.weight_of(weights[i])
        return targets, weights

    # --- the past -----------------------------------------------------------------------------

    cdef Regressions copied(self):
        """The model as it is, for who holds the lock."""
        cdef Regressions form = <Regressions>self.new_rule().form
        form.set_state(opened(self.form.get_state()))
        return form


    def _decay(self, f):
        """The whole past counts f times as much."""
        cdef double share = as_share(f, "f")
        cdef Regressions form
        self.lock.acquire()
        try:
            form = self.copied()  # of several regressions one may fail
            while share < SMALLEST:
                form.decay(SMALLEST)
                share /= SMALLEST
            form.decay(share)
            self.replace(self.rule, form)
        finally:
            self.lock.release()

    def _merge(self, RewardEngine other):
        """What both have learned; the other one stays as it is."""
        cdef Regressions theirs, form
        other.lock.acquire_shared()
        try:
            theirs = other.copied()
        finally:
            other.lock.release_shared()
        self.lock.acquire()
        try:
            form = self.copied()
            form.merge(theirs)
            self.replace(self.rule, form)
        finally:
            self.lock.release()

    # --- the regression -----------------------------------------------------------------------

    def _predict(self, X, bint spread):
        """m of each row, or sigma(m); `spread`: also sqrt(q)."""
        cdef Rows rows = rows_of(X, "X")
        cdef Workspace ws = Workspace()
        cdef Crossed by
        cdef np.ndarray m = new_vector(rows.n), q = new_vector(rows.n)
        cdef Regressions form
        cdef Py_ssize_t t
        cdef int status = CF_OK
        cdef int turn
        by.p = 0
        for turn in range(2):
            self.lock.acquire_shared()
            try:
                form = <Regressions>self.form
                self.check_width(rows.d, "X")
                form.reserve_rows(rows, by, ws)
                with nogil:
                    status = form.read_rows(rows, by, ws, data_of(m), data_of(q))
            finally:
                self.lock.release_shared()
            if status != CF_ENOTPOSITIVE:
                break
            self.mend()
        if status != CF_OK:
            self.fail(status, "a row of X")
        for t in range(rows.n):
            data_of(q)[t] = sqrt(data_of(q)[t])
            if self.logistic:
                data_of(m)[t] = sigmoid(data_of(m)[t])
        return (m, q) if spread else m

    cdef int mend(self) except -1:
        """What a reading has found damaged is made anew where that can be."""
        self.lock.acquire()
        try:
            (<Regressions>self.form).repair()
            self.new_era()
        finally:
            self.lock.release()
        return 0


# --- the run of the regression ----------------------------------------------------------------


cdef double prediction_of(bint logistic, double m, double y, double *loss) noexcept nogil:
    """What w.x = m predicts of a target y, and what it loses by that."""
    if logistic:  # -y log sigma - (1 - y) log(1 - sigma)
        loss[0] = max(m, 0.0) + K.log1p_one(K.exp_one(-abs(m))) - y * m
        return sigmoid(m)
    loss[0] = (y - m) * (y - m)
    return m


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
        self.y, self.weights = engine.examples_of(y, weight, rows.n)
        self.logistic = engine.logistic
        self.set_rows(rows, 1, False)
        self.predictions, self.loss = new_vector(self.total), new_vector(self.total)

    def history(self):
        return RegressionHistory(predictions=self.predictions[:self.done],
                                 loss=self.loss[:self.done])

    cdef int round(self, Engine engine) noexcept nogil:
        return self.one(self.rule, self.form, self.ws)

    cdef int one(self, Rule rule, Form form, Workspace ws) noexcept nogil:
        cdef Py_ssize_t t = self.done
        cdef double y = data_of(self.y)[t]
        cdef int status
        status = self.read_row(form, ws)
        ws.weight = data_of(self.weights)[t]
        if status == CF_OK:
            status = form.read_one(ws, 0)
        if status == CF_OK:
            status = rule.learn(ws, 0, y)
        if status != CF_OK:
            return status
        data_of(self.predictions)[t] = prediction_of(
            self.logistic, 0.0 if ws.null else ws.score[0], y, data_of(self.loss) + t)
        return CF_OK


# --- the bandits' engines ---------------------------------------------------------------------


cdef class BanditEngine(RewardEngine):
    """A bandit: one regression for all actions with features, or a regression an arm.

    It starts from exploration, an `Exploration`; arms, whether each has a regression;
    context_features, 0 for arms; max_pending.
    """

    def __cinit__(self):
        self.choice, self.waiting = Choice(), {}

    cdef int start(self, dict parts) except -1:
        RewardEngine.start(self, parts)
        self.arms, self.contexts = parts["arms"], parts["context_features"]
        self.exploration, self.max_pending = parts["exploration"], parts["max_pending"]
        self.publish()
        return 0

    cdef bint is_fresh(self) except -1:
        return self.decided == 0 and RewardEngine.is_fresh(self)

    @property
    def _pending(self):
        self.lock.check_open()
        return len(self.waiting)

    @property
    def _expired(self):
        self.lock.check_open()
        return self.expired

    cdef int set_options(self, dict parts, list changed) except -1:
        RewardEngine.set_options(self, parts, changed)
        self.exploration, self.max_pending = parts["exploration"], parts["max_pending"]
        self.publish()
        return self.forget_oldest()

    cdef int begin(self, Rule rule, Chance chance) except -1:
        RewardEngine.begin(self, rule, chance)
        self.waiting, self.decided, self.expired = {}, 0, 0
        return 0

    cdef void publish(self) noexcept:
        RewardEngine.publish(self)
        if self.exploration is not None and self.exploration.draws():
            cf_number_put(&self.writes, 1)

    # --- one question -------------------------------------------------------------------------

    cdef Choice borrow_choice(self, Workspace ws):
        """That of the engine for who has its scratch."""
        return self.choice if ws is self.ws else Choice()

    cdef int offer(self, object X, object allowed, object context, Workspace ws,
                   Choice at) except -1:
        """The arguments as C values."""
        at.arms = self.arms
        if self.arms:
            self.set_row(X, ws)
            at.reserve(cf_number_get(&self.answers))
            return at.allow(allowed)
        at.context = context_of(context, self.contexts, -1)
        at.by.p = self.contexts
        at.by.c = NULL if at.context is None else data_of(<np.ndarray>at.context)
        if isinstance(X, Catalogue):
            at.items, at.mask = X, (<Catalogue>X).mask_of(allowed)
            return 0
        if at.rows is None:
            at.rows = Rows()
        fill_rows(at.rows, X, "X")
        if at.rows.n == 0:
            raise ValueError("X must have at least one row: there is no action")
        at.reserve(at.rows.n)
        return at.allow(allowed)

    cdef int read_offer(self, Workspace ws, Choice at, bint widths) except? -1000:
        """m and q of all actions, or what else the rule compares, with the lock held; a status."""
        cdef Regressions form
        cdef double cost
        cdef int status
        if at.arms:
            self.reserve(ws, False)
            form = <Regressions>self.form
            if at.n != form.k:
                raise ValueError("allowed: an arm was added meanwhile")
            at.d = max(form.d, ws.row.n)
            cost = form.cost(ws.row.nnz)
        else:
            form = <Regressions>self.form
            self.refuse_actions(at.rows.d, "X")
            at.d = max(form.d, at.rows.d * (self.contexts + 1))
            form.reserve_rows(at.rows, at.by, ws)
            if self.exploration.kind == THOMPSON:
                at.fit_draws(at.d)
                form.reserve_drawn(ws)
            cost = form.cost(at.rows.most) * (1.0 if self.contexts else 0.5 * at.n)
        if cost < BUSY:
            return form.read_offer(ws, at, at.rows, self.exploration, widths)
        with nogil:
            status = form.read_offer(ws, at, at.rows, self.exploration, widths)
        return status

    cdef int refuse_actions(self, Py_ssize_t n, str name) except -1:
        """Rows of another width, where there is a context; the first, whose width with it no number
        can hold."""
        cdef Py_ssize_t d = self.form.d // (self.contexts + 1)
        if self.contexts == 0:
            return self.check_width(n, name)
        if d and n != d:
            raise ValueError(f"{name} must have {d} features, as what was learned before, got {n}")
        if d == 0:
            product_of(n, self.contexts + 1, f"{name} with its context")
        return 0

    def _fits(self, Py_ssize_t n, str name):
        self.lock.check_open()
        self.refuse_actions(n, name)

    cdef object ask(self, object X, object allowed, object context, int what, object k,
                    object samples):
        self.lock.check_open()
        cdef Workspace ws = self.borrow()
        cdef Choice at = Choice() if isinstance(X, Catalogue) else self.borrow_choice(ws)
        try:
            ws.forget()
            self.offer(X, allowed, context, ws, at)
            at.what, at.k, at.samples = what, times(k, "k"), times(samples, "samples")
            return self.answer(ws, at)
        finally:
            at.context = None
            if at.rows is not None:
                at.rows.held = None
            self.give_back(ws)

    cdef object answer(self, Workspace ws, Choice at):
        cdef bint writes = at.what == DECISION or (at.what != SCORES
                                                   and cf_number_get(&self.writes)), mended = False
        cdef int status = CF_OK
        while True:
            self.lock.acquire_read(writes)
            try:
                if at.what != SCORES and not writes and self.exploration.draws():
                    writes = True  # another rule than when the lock was chosen
                    continue
                if at.what == LAW and at.samples == 0 and self.exploration.kind == THOMPSON:
                    raise ValueError("samples must be given: the law of thompson has no closed "
                                     "form")
                if at.items is not None:
                    found = answer_items(self, ws, at, &status)
                else:
                    status = self.read_offer(ws, at, at.what == SCORES or at.k > 1)
                    found = self.act(ws, at) if status == CF_OK else None
                if status == CF_OK:
                    return found
            finally:
                self.lock.release_read(writes)
            if status != CF_ENOTPOSITIVE or mended:
                break
            self.mend()
            mended = True
        self.fail(status, "x" if at.arms else "X")

    cdef object act(self, Workspace ws, Choice at):
        """The answer, from m and q."""
        cdef np.ndarray out
        cdef Py_ssize_t i
        if at.what == SCORES:
            out = vector_of(at.q, at.n)
            for i in range(at.n):
                data_of(out)[i] = sqrt(at.q[i])
            return vector_of(at.m, at.n), out
        if at.what == LAW:
            self.law(ws, at)
            return vector_of(at.p, at.n)
        if at.what == DECISION:
            return self.decide_now(ws, at)
        self.score(ws, at, self.chance)
        if at.k == 0:
            return self.place(at)
        out = new_indices(min(at.k, at.count))
        for i in range(np.PyArray_DIM(out, 0)):
            (<Py_ssize_t *>np.PyArray_DATA(out))[i] = self.place(at)
        return out

    cdef Py_ssize_t place(self, Choice at) except -1:
        """The action for one place, which is then taken."""
        cdef Py_ssize_t i = self.exploration.place(at, self.form.learned, self.chance.bits)
        at.left[i] = 0
        at.count -= 1
        return i

    cdef int score(self, Workspace ws, Choice at, Chance chance) except -1:
        """z: what is compared. Thompson draws, which takes long where there is a factor to make."""
        cdef Regressions form = <Regressions>self.form
        cdef int status
        if self.exploration.kind != THOMPSON or at.arms or form.cost(at.d) < BUSY:
            status = self.exploration.score(form, ws, at, chance)
        else:
            with nogil:
                status = self.exploration.score(form, ws, at, chance)
        return 0 if status == CF_OK else self.fail(status, "x" if at.arms else "X")

    cdef int law(self, Workspace ws, Choice at) except -1:
        """The law of the first place, into p; thompson: from draws of a generator of its own."""
        cdef Py_ssize_t turn
        cdef Chance child
        if self.exploration.kind != THOMPSON:
            self.score(ws, at, self.chance)
            self.exploration.law(at, self.form.learned)
            return 0
        child = Chance(self.chance.generator.spawn(1)[0])
        memset(at.p, 0, <size_t>at.n * sizeof(double))
        for turn in range(at.samples):
            PyErr_CheckSignals()
            self.score(ws, at, child)
            at.p[at.best(at.z)] += 1.0
        self.exploration.mix(at, at.samples)
        return 0

    # --- the calls ----------------------------------------------------------------------------

    def _scores(self, X, context):
        return self.ask(X, None, context, SCORES, None, None)

    def _probabilities(self, X, allowed, context, samples):
        return self.ask(X, allowed, context, LAW, None, samples)

    def _decide(self, X, allowed, context, samples):
        return self.ask(X, allowed, context, DECISION, None, samples)

    # --- decisions ----------------------------------------------------------------------------

    cdef object decide_now(self, Workspace ws, Choice at):
        """A choice that is remembered."""
        cdef double probability = numpy.nan
        cdef np.ndarray law = None
        cdef Py_ssize_t i
        if self.exploration.kind != THOMPSON or at.samples:
            self.law(ws, at)
            law = vector_of(at.p, at.n)
        self.know_for(at)
        try:
            self.score(ws, at, self.chance)
            i = self.place(at)
        except BaseException:
            self.form.raise_error(CF_OK)  # this was no dimension
            raise
        if law is not None:
            probability = data_of(law)[i]
        return self.remember(at, ws, i, probability)

    cdef int know_for(self, Choice at) except -1:
        """Memory for what is to be decided."""
        try:
            self.form.resize(self.form.k, at.d)
        except BaseException:
            self.form.raise_error(CF_OK)
            raise
        return 0

    cdef object remember(self, Choice at, Workspace ws, Py_ssize_t i, double probability):
        """The decision for action i, which waits from now on."""
        self.waiting[self.decided] = self.kept(ws, at, i)
        self.form.d = max(self.form.d, at.d)
        self.publish()
        self.decided += 1
        self.forget_oldest()
        return Decision(self.decided - 1, i, probability)

    cdef tuple kept(self, Workspace ws, Choice at, Py_ssize_t i):
        """(arm, row): copies."""
        cdef cf_row row
        cdef Rows rows = at.rows
        if self.arms:
            return i, copy_of(&ws.given)
        if at.items is not None:
            rows = (<Catalogue>at.items).one(i)
            ws.buffer.reserve(rows.d)
            i = 0
        rows.at(i, ws.buffer, &row)
        cross(&row, at.by, ws)
        return 0, copy_of(&row)

    cdef int forget_oldest(self) except -1:
        while len(self.waiting) > self.max_pending:
            del self.waiting[next(iter(self.waiting))]
            self.expired += 1
        return 0

    cdef int refuse_id(self, Py_ssize_t id) except -1:
        if id not in self.waiting:
            raise ValueError(f"id must be that of a pending decision, got {id}")
        return 0

    def _reward(self, id, r, weight):
        """Learns what came back for a decision, and forgets the decision."""
        cdef Py_ssize_t found = as_count(id, "id")
        cdef double y = self.target_of(r, "r"), c = self.weight_of(weight)
        cdef Workspace ws = self.borrow()
        try:
            self.lock.acquire()  # no other thread may learn from it, too
            try:
                self.refuse_id(found)
                arm, row = self.waiting[found]
                self.set_row(row, ws)
                ws.weight = c
                self.learn_locked(ws, arm, y, "arm")
                del self.waiting[found]
            finally:
                self.lock.release()
        finally:
            self.give_back(ws)

    def _drop(self, id):
        cdef Py_ssize_t found = as_count(id, "id")
        self.lock.acquire()
        try:
            self.refuse_id(found)
            del self.waiting[found]
        finally:
            self.lock.release()

    # --- learning -----------------------------------------------------------------------------

    cdef int learn_crossed(self, object x, double y, double weight, object context) except -1:
        """`learn_row` of (1, c) (x) x."""
        cdef np.ndarray vector
        cdef Workspace ws = self.borrow()
        cdef Crossed by
        try:
            vector = context_of(context, self.contexts, -1)
            by.p, by.c = self.contexts, data_of(vector)
            ws.given_null = row_of(x, "x", ws.buffer, &ws.given,
                                  cf_number_get(&self.width) // (by.p + 1),
                                  False) == CF_ROW_NULL
            self.refuse_actions(ws.given.n, "x")
            cross(&ws.given, by, ws)
            ws.brief = ws.given.nnz < cf_number_get(&self.long_from)
            ws.weight = weight
            self.lock.acquire()
            try:
                return self.learn_locked(ws, 0, y, "x")
            finally:
                self.lock.release()
        finally:
            self.give_back(ws)

    # --- pairs --------------------------------------------------------------------------------

    cdef int refuse_pairs(self) except -1:
        self.lock.check_open()
        if not self.logistic:
            raise ValueError('pairs need link="logistic"')
        if self.contexts:
            raise ValueError("pairs have no meaning with context_features")
        return 0

    def _choose_pair(self, X):
        """The row of largest m, and the other one that may best beat it."""
        cdef Workspace ws = self.borrow()
        cdef Choice at = self.borrow_choice(ws), apart = Choice()
        cdef Py_ssize_t i, first
        cdef np.ndarray rows
        self.refuse_pairs()
        if isinstance(X, Catalogue):
            raise TypeError("X must be rows: pairs are not chosen from a Catalogue")
        try:
            ws.forget()
            self.offer(X, None, None, ws, at)
            if at.n < 2:
                raise ValueError(f"X must have at least two rows, got {at.n}")
            at.what = apart.what = SCORES
            self.answer(ws, at)
            first = at.best(at.m)
            rows = differences(at, first, ws)
            self.offer(rows, None, None, ws, apart)
            self.answer(ws, apart)
            for i in range(at.n):
                at.z[i] = at.m[i] + self.exploration.width * sqrt(apart.q[i])
            if not K.all_finite(at.n, at.z):
                self.fail(CF_ENONFINITE, "X")
            at.left[first] = 0
            at.count -= 1
            return first, at.best(at.z)
        finally:
            at.rows.held = None
            self.give_back(ws)

    def _learn_pair(self, x_first, x_second, first_won):
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
        self.learn_row(x, 0, 1.0 if won else 0.0, 1.0, "x_first")

    cdef np.ndarray written_out(self, object x, str name):
        cdef Workspace ws = Workspace()
        cdef cf_row row
        row_of(x, name, ws.buffer, &row, cf_number_get(&self.width), self.most > 0)
        self.check_width(row.n, name)
        return dense_vector(&row, name)

    # --- states -------------------------------------------------------------------------------

    cdef dict get_state(self):
        """The decisions that wait come one after another; places of sparse rows alone."""
        values, places, lengths, arms, thin = [], [], [], [], []
        for arm, row in self.waiting.values():
            sparse = type(row) is tuple
            arms.append(arm)
            thin.append(1 if sparse else 0)
            values.append(row[1] if sparse else row)
            lengths.append(len(values[-1]))
            if sparse:
                places.append(row[0])
        return {**RewardEngine.get_state(self), "decided": self.decided, "expired": self.expired,
                "waiting": {"ids": whole_numbers(list(self.waiting)), "arms": whole_numbers(arms),
                            "sparse": whole_numbers(thin), "lengths": whole_numbers(lengths),
                            "values": numpy.concatenate([numpy.zeros(0), *values]),
                            "places": numpy.concatenate([whole_numbers([]), *places])}}

    cdef int set_state(self, State state) except -1:
        cdef Rule rule = self.new_rule()
        cdef Chance chance = Chance.restored(state.given)
        cdef int64_t decided = state.count("decided"), expired = state.count("expired")
        rule.set_state(state)
        waiting = self.waiting_of(state.part("waiting"), rule.form.k, rule.form.d, decided)
        self.begin(rule, chance)
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


cdef Py_ssize_t times(object value, str name) except -1:
    """A number of places or of draws; 0 where it is None."""
    return 0 if value is None else as_size(value, name)


def whole_numbers(values):
    return numpy.array(values, dtype=numpy.int64)


cdef int cross(cf_row *row, Crossed by, Workspace ws) except -1:
    """(1, c) (x) row, in place of the row."""
    if by.p:
        ws.scaled.reserve((by.p + 1) * row.nnz)
        if not crossed(row, by, ws.scaled):
            raise ValueError("context is too large for these features: a product overflows")
    return 0


cdef np.ndarray differences(Choice at, Py_ssize_t first, Workspace ws):
    """All rows less one of them, written out."""
    cdef np.ndarray out = dense_table(at.rows, ws.buffer, "X")
    out = out - (<object>out)[first]
    if not numpy.isfinite(out).all():
        raise ValueError("X is too large: a difference of two rows overflows")
    return out


cdef object copy_of(const cf_row *x):
    """A row as `row_of` takes it: an array, or (places, values)."""
    cdef np.ndarray values = vector_of(x.value, x.nnz), places
    cdef Py_ssize_t e
    if x.i32 == NULL and x.i64 == NULL:
        return values
    places = <np.ndarray>numpy.empty(x.nnz, dtype=numpy.int64)
    for e in range(x.nnz):
        (<int64_t *>np.PyArray_DATA(places))[e] = place_of(x, e)
    return places, values


# --- fixed rows to choose among ---------------------------------------------------------------

cdef extern from *:
    """
    #define cf_prefetch(p) __builtin_prefetch((const void *)(p))
    #define cf_count_bits(x) __builtin_popcountll(x)
    #define cf_first_bit(x) __builtin_ctzll(x)
    """
    void cf_prefetch(const void *) nogil
    int cf_count_bits(uint64_t) nogil
    int cf_first_bit(uint64_t) nogil

cdef Py_ssize_t LEAST_ADDED = 1024  # rows that memory is taken for when rows are added
cdef Py_ssize_t MOST_ROWS = 1 << 36  # places of blocks are 32 bits wide


cdef float up(double v) noexcept nogil:
    """Not below v, as float32."""
    v += 2e-7 * fabs(v) + FLT_MIN
    return FLT_MAX if v > FLT_MAX else -FLT_MAX if v < -FLT_MAX else <float>v

cdef enum:
    BLOCK = 64          # rows of a block: CF_CATALOGUE_BLOCK
    SEEDS = 16          # the last winners, which are scored first
    CHECKS = 256        # past weights kept at the most
    NOT_THIS_WAY = 1    # no status of the library: the rows are to be passed over instead

# Where the rows of a block are; a row that is not there has no bit in `alive`.
cdef struct Block:
    const char *base
    int64_t first              # index of its first row
    uint64_t alive
    Py_ssize_t stride          # values from row to row
    double size                # no row is longer
    int held                   # rows, there or not


# What holds. By the inequality of Cauchy and Schwarz in the norm of A_s,
#     m_t = x.w_t <= m_s + sqrt(q_s) ||w_t - w_s||_{A_s},      q_t <= q_s <= r^2,
# and likewise over two steps, s to j and j to t. So with F[s] = width + ||w_t - w_s||, or the sum
# by way of a check j, m_s + r F[s] bounds the score of t. The width may change in each round.
# Rounding. q of the inverse as it is kept is that of A but for a share, which is measured as often
# as it may have grown beyond DRIFT / 5; by DRIFT the tables are rounded up. Where it cannot be held
# that small all rows are passed over instead. What products lose goes into m and r when a row is
# looked at (blur, drop, rest; n is the number of features):
#     |fl(x.w) - x.w| <= (n + 16) u |x| |w|,   |fl(q) - q| <= 4 (n + 16) u sqrt(n) |x|^2 ||A^-1||.
# Looks at rows of float32 multiply in float32, and lose (n / 16 + 3) u' |x| |w|, u' = 2^-24; and
# what is too small for it: of products n 2^-149, which the kernel adds, of weights n 2^-149 |x|.
cdef double DRIFT = 1e-4
cdef double UNIT = 2.0 ** -53
cdef double NARROW = 2.0 ** -24
cdef double LEAST_NARROW = 2.0 ** -149
cdef double MOST_NARROW = 1e30  # of weights and terms that float32 is to hold
cdef double FAR = 1e24     # distances beyond this are not for float32
cdef double LATER = 0.125  # of the rounds so far: rows to be reached by then are looked at now,
cdef double LATEST = 0.5   # more of them the more rounds there were: it is rarely wanted then
cdef int CHAIN = 12        # past rounds whose terms are worth their products
cdef int BASE = 16         # rounds that the weights of each are kept for, at the least
cdef enum:
    AHEAD = 16             # open blocks whose rows are asked for together


cdef int level(int64_t time) noexcept nogil:
    """How often two divides it; the weights of time 0, which are 0, stay for ever."""
    cdef int l = 0
    if time == 0:
        return 40
    while time & 1 == 0:
        time >>= 1
        l += 1
    return l


cdef int64_t period(int64_t age) noexcept nogil:
    """Rounds between two measures of a check: by then the steps add an eighth to a distance that
    grows like the root of the age, at the most."""
    return <int64_t>(sqrt(<double>age) / 8.0)


# Whether an index is one of those.
cdef bint among(int64_t index, const int64_t *taken, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        if taken[i] == index:
            return True
    return False


cdef int enlarge(void **block, size_t size, Py_ssize_t used, Py_ssize_t room,
                 str what) except -1:
    """More of the same; what is beyond `used` is undefined."""
    cdef void *more = L.alloc(<size_t>max(room, 1), size)
    if more == NULL:
        raise MemoryError(what)
    if used:
        memcpy(more, block[0], <size_t>used * size)
    L.free(block[0])
    block[0] = more
    return 0


cdef class Catalogue:
    """Catalogue(X, *, n_jobs=1)\n--\n
    Fixed rows to choose among round after round, up to many millions.

    ``bandit.choose(items)`` and ``bandit.decide(items)`` of a `LinearBandit` give the index that
    ``choose(X)`` gives, bit for bit the same scores compared, ties to the lower index; only most
    rows are not looked at. For "ucb" and "greedy" without forgetting and without a context a row's
    last score bounds its present one,
    ``m_t + width sqrt(q_t) <= m_s + sqrt(q_s) (width + ||w_t - w_s||_A)``, since q only falls and
    by the inequality of Cauchy and Schwarz in the norm of A; a row is scored anew only where its
    bound reaches the best. Everything else (thompson, forgetting, a context, squarecb) is one pass
    over the rows. What is known of the rows belongs to one learner at a time: `decay`, `merge`,
    `reset`, or another learner, start it afresh, which costs a pass and changes no choice.

    Rows of float32 and float64 stay where they are, also those of a read-only `numpy.memmap`, and
    must not be changed; where a row is not contiguous all are copied, other kinds as float64.
    Nothing of a catalogue is saved with a learner. Any number of threads may choose over one
    catalogue; they take turns.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Dense and finite; read once, for the lengths of the rows.
    n_jobs : int, default 1
        Threads that share a pass of "thompson" over the rows; -1: one a processor. What is chosen
        does not depend on it.

    See Also
    --------
    LinearBandit : What chooses among the rows.

    Notes
    -----
    Memory beside the rows: 16 bytes a row. A choice among a million rows of 64 features, learning
    from each, took 0.04 to 0.09 ms in the median of 10,000 rounds, by the kind of rows; the first
    hundred rounds take up to nine readings of all rows each.

    References
    ----------
    Yasin Abbasi-Yadkori, David Pal, Csaba Szepesvari: Improved Algorithms for Linear Stochastic
    Bandits, 2011 (the scores; the bounds are our own).

    Examples
    --------
    >>> import coactive_fast as cf
    >>> items = cf.Catalogue([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
    >>> bandit = cf.LinearBandit()
    >>> bandit.learn([1.0, 0.0], 4.0)
    >>> bandit.choose(items)
    0
    >>> items.remove(0)
    >>> items.add([[0.9, 0.1]])
    array([3])
    >>> bandit.choose(items, k=2), len(items)
    (array([3, 2]), 3)
    """

    # The rows, and what is known of their scores. Invariants. Blocks 0 ... blocks-1 have rows; of
    # each, and of each row in it, the arrays below have one entry, all owned here.
    cdef bint floats           # rows are float32
    cdef Py_ssize_t d, padded, blocks
    cdef double largest        # length of the longest row
    cdef Block *block
    cdef float *length         # of each row, rounded up
    cdef int64_t looked        # rows scored anew by the last choice
    cdef const char *mask      # of all indices: whether it may be chosen; NULL: all may
    # Known under one learner, which `era` names (0: nothing), after `learned` examples.
    cdef int64_t era, learned
    cdef int64_t updates, renewals, failures
    cdef double width, norm    # the last width; what A^-1 never exceeded
    cdef bint ucb              # whether the width counts: the last rule was ucb, not greedy
    cdef double drift          # the share of q that the inverse may be off by
    cdef bint tight            # all that was learned is known: q of slot 0 is not only a bound
    cdef float *m
    cdef float *r
    cdef int32_t *slot
    cdef float *top            # of each block: its highest bound as of the slot `seen`
    cdef float *radius
    cdef int32_t *seen
    cdef int32_t *open
    # Slots: the rounds in which rows were looked at. The bounds of slot s have grown by r times
    # off[s] + the distance of the weights from those of the check ref[s].
    cdef int32_t slots, now, oldest
    cdef float off[CF_CATALOGUE_SLOTS]
    cdef int32_t ref[CF_CATALOGUE_SLOTS]
    cdef double width_at[CF_CATALOGUE_SLOTS]
    cdef float row_table[CF_CATALOGUE_SLOTS]
    cdef float block_table[CF_CATALOGUE_SLOTS]
    cdef double *terms         # by what q fell in the last slots
    cdef int32_t idle, renewed # as cf_look has them
    cdef double near           # the distance by which rows are looked at before they must be
    # Checks: past weights, thinned out with age; `order` has their places, the oldest first.
    cdef int64_t time
    cdef int64_t check_time[CHECKS]
    cdef int checks
    cdef int order[CHECKS]
    cdef double distance[CHECKS]
    cdef double *check_w
    cdef double *check_a[CHECKS]  # A, of those that are not bare
    cdef bint bare[CHECKS]     # A is at least I / norm, and more is not known
    cdef Py_ssize_t matrix_room
    cdef int base              # rounds that the last check is kept for
    cdef double *apart
    # What a choice finds, the best first; and rows that are scored first in the next one.
    cdef Py_ssize_t found, places
    cdef double *score
    cdef int64_t *index
    cdef int64_t *place        # BLOCK b + i: row i of block b
    cdef int64_t seeds[SEEDS]
    cdef int seeded, next_seed
    cdef double *wide          # BLOCK rows written out, as `some` has them
    cdef double *m_now
    cdef double *q_now
    cdef Rows some
    # `arrays` keep the rows alive: those that were given, as they lie, and own ones for those that
    # were added. The engine's lock is acquired before this one.
    cdef Lock lock
    cdef list arrays           # [array, first index, first block, rows in use]
    cdef bint owned            # the last array is our own
    cdef bint begun            # there is memory for the bounds
    cdef Py_ssize_t n, living, room, places_room
    cdef Py_ssize_t jobs

    def __cinit__(self, *args, **kwargs):
        self.lock, self.arrays, self.some = Lock(), [], Rows()
        self.lock.close(type(self))

    def __init__(self, X, *, n_jobs=1):
        cdef np.ndarray rows
        cdef Py_ssize_t jobs
        jobs = jobs_of(n_jobs)
        if self.d:
            raise RuntimeError("a catalogue is made once")
        rows = as_rows(X, "X")
        if np.PyArray_DIM(rows, 1) == 0 or np.PyArray_DIM(rows, 0) == 0:
            raise ValueError("X must have at least one row and one feature, got shape "
                             f"{(<object>rows).shape}")
        self.floats = np.PyArray_TYPE(rows) == np.NPY_FLOAT
        self.d, self.jobs, self.padded = (np.PyArray_DIM(rows, 1), jobs,
                                          cf_pad(np.PyArray_DIM(rows, 1)))
        try:
            self.wide = new_doubles(BLOCK, self.padded, "rows written out")
            self.m_now = new_doubles(2, BLOCK, "scores")
            self.q_now = self.m_now + BLOCK
            self.arrays = [[rows, 0, 0, 0]]
            self.take(np.PyArray_DIM(rows, 0))
        except BaseException:
            self.d = 0
            raise
        self.some.d = self.some.most = self.d
        self.some.kind, self.some.floats = DOUBLES, False
        self.some.value = <const char *>self.wide
        self.some.row_step, self.some.column_step = 8 * self.padded, 8
        self.lock.open()

    def __dealloc__(self):
        cdef int i
        cdef void **own = [
            self.block, self.length, self.m, self.r, self.slot, self.top, self.radius, self.seen,
            self.open, self.terms, self.check_w, self.apart, self.score, self.index, self.place,
            self.wide, self.m_now,
        ]
        for i in range(17):
            L.free(own[i])
        for i in range(CHECKS):
            L.free(self.check_a[i])

    def __reduce__(self):
        raise TypeError("a Catalogue is not saved: make it anew from its rows")

    def __len__(self):
        """How many rows are there: removed ones do not count."""
        self.lock.acquire_shared()
        living = self.living
        self.lock.release_shared()
        return living

    @property
    def scored(self):
        """How many rows the last choice scored anew."""
        self.lock.acquire_shared()
        looked = self.looked
        self.lock.release_shared()
        return looked

    def add(self, rows):
        """More rows, copied in the kind of those that are there.

        Parameters
        ----------
        rows : array_like of shape (m, d)
            Dense and finite.

        Returns
        -------
        ndarray of intp, shape (m,)
            Their indices: those that follow the highest one ever given.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.Catalogue([[1.0], [2.0]]).add([[5.0], [6.0]])
        array([2, 3])
        """
        cdef np.ndarray given = as_rows(rows, "rows"), own
        cdef Py_ssize_t m = np.PyArray_DIM(given, 0), at = 0, count, used
        self.lock.check_open()  # what is not initialized has no width to compare with
        if np.PyArray_DIM(given, 1) != self.d:
            raise ValueError(f"rows must have {self.d} features, got "
                             f"{np.PyArray_DIM(given, 1)}")
        with numpy.errstate(over="ignore"):
            own = <np.ndarray>numpy.array(given, dtype=numpy.float32 if self.floats else float)
        if not numpy.isfinite(own).all():
            refuse_non_finite(own, "rows")
        self.lock.acquire()
        try:
            first = self.n
            while at < m:
                if not self.owned or self.arrays[-1][3] == len(self.arrays[-1][0]):
                    count = max(m - at, LEAST_ADDED,
                                2 * len(self.arrays[-1][0]) if self.owned else 0)
                    fresh = numpy.zeros(((count + BLOCK - 1) // BLOCK * BLOCK, self.d),
                                        dtype=own.dtype)
                    self.reserve(self.blocks + len(fresh) // BLOCK)
                    self.arrays.append([fresh, self.n, self.blocks, 0])
                    self.owned = True
                part = self.arrays[-1]
                used = part[3]
                count = min(m - at, len(part[0]) - used)
                part[0][used:used + count] = own[at:at + count]
                self.take(count)
                at += count
            return numpy.arange(first, first + m)
        finally:
            self.lock.release()

    def remove(self, indices):
        """Takes rows away for good; their indices are not given again.

        Parameters
        ----------
        indices : int or array_like of int
            Of rows that are there, each once.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> items = cf.Catalogue([[1.0], [3.0], [2.0]])
        >>> items.remove([1])
        >>> cf.LinearBandit().choose(items)
        2
        """
        cdef int64_t place
        cdef uint64_t bit
        cdef list places = []
        refuse_masked(indices, "indices")
        wanted = numpy.asarray(indices)
        if wanted.ndim > 1 or (wanted.size and wanted.dtype.kind not in "iu"):
            raise TypeError("indices must be an index or a list of them, got dtype "
                            f"{wanted.dtype} and shape {wanted.shape}")
        wanted = numpy.atleast_1d(wanted)
        if len(numpy.unique(wanted)) != len(wanted):
            raise ValueError("indices must be distinct")
        self.lock.acquire()
        try:
            for index in wanted.tolist():
                if not 0 <= index < self.n:
                    raise ValueError(f"indices must be in 0 ... {self.n - 1}, got {index}")
                place = self.place_of(index)
                if not self.block[place // BLOCK].alive >> (place % BLOCK) & 1:
                    raise ValueError("indices must be those of rows that are there, got "
                                     f"{index}, which was removed")
                places.append(place)
            for place in places:
                bit = <uint64_t>1 << (place % BLOCK)
                self.block[place // BLOCK].alive &= ~bit
                self.living -= 1
                if self.begun:
                    self.m[place], self.r[place] = -FLT_MAX, 0.0
                    self.slot[place] = 0
        finally:
            self.lock.release()

    # --- rows ---------------------------------------------------------------------------------

    cdef int take(self, Py_ssize_t n) except -1:
        """n rows of the last array, which follow those in use, with the lock held."""
        cdef list part = self.arrays[-1]
        cdef np.ndarray rows = part[0]
        cdef Py_ssize_t stride = row_stride(rows), width = 4 if self.floats else 8
        cdef Py_ssize_t begin = part[2], used = part[3], t = used, b, i, count
        cdef const char *base = <const char *>np.PyArray_DATA(rows)
        cdef double square[BLOCK]
        if self.n + n > MOST_ROWS:
            raise ValueError(f"X must have at most {MOST_ROWS} rows")
        self.reserve(begin + (used + n + BLOCK - 1) // BLOCK)
        while t < used + n:
            b, i = begin + t // BLOCK, t % BLOCK
            count = min(used + n - t, <Py_ssize_t>BLOCK - i)
            if i == 0:
                self.block[b].base, self.block[b].stride = base + t * stride * width, stride
                self.block[b].first, self.block[b].alive = self.n + t - used, 0
                self.block[b].size, self.block[b].held = 0.0, 0
                memset(self.length + b * BLOCK, 0, BLOCK * sizeof(float))
            self.squares(base + t * stride * width, stride, count, square)
            if not self.note_lengths(b, i, count, square):
                refuse_non_finite(rows, "X")
                raise ValueError("X has a row too long: its square is beyond float64")
            t += count
        part[3] = used + n
        self.blocks = begin + (used + n + BLOCK - 1) // BLOCK
        self.admit(begin, used, n)
        return 0

    cdef void squares(self, const char *x, Py_ssize_t stride, Py_ssize_t count,
                      double *out) noexcept nogil:
        if self.floats:
            K.rows_square_f32(self.d, count, <const float *>x, stride, out)
        else:
            K.rows_square(self.d, count, <const double *>x, stride, out)

    cdef bint note_lengths(self, Py_ssize_t b, Py_ssize_t i, Py_ssize_t count,
                           const double *square) noexcept nogil:
        """Whether these squares are finite; a NaN or an infinity in a row shows in its square."""
        cdef Py_ssize_t l
        cdef double size
        for l in range(count):
            if not square[l] <= DBL_MAX:
                return False
            size = sqrt(square[l]) * (1.0 + 1e-12)
            self.length[b * BLOCK + i + l] = up(size)
            self.block[b].size = max(self.block[b].size, size)
            self.largest = max(self.largest, size)
        return True

    cdef void admit(self, Py_ssize_t begin, Py_ssize_t used, Py_ssize_t n) noexcept nogil:
        """These rows are there."""
        cdef Py_ssize_t t
        for t in range(used, used + n):
            self.block[begin + t // BLOCK].held = t % BLOCK + 1
            self.block[begin + t // BLOCK].alive |= <uint64_t>1 << (t % BLOCK)
        for t in range(used // BLOCK, (used + n + BLOCK - 1) // BLOCK if self.begun else 0):
            self.fill_from(begin + t, used - t * BLOCK)
        self.n += n
        self.living += n

    cdef int64_t place_of(self, int64_t index) except -1:
        """Where the row of an index is."""
        cdef list part
        for part in reversed(self.arrays):
            if part[1] <= index:
                return part[2] * BLOCK + index - part[1]
        raise ValueError(f"no index {index}")

    cdef Rows part(self, Py_ssize_t i):
        """The rows of one array, which were checked when they came."""
        cdef Rows out = Rows()
        cdef np.ndarray rows = self.arrays[i][0]
        cdef Py_ssize_t width = 4 if self.floats else 8
        out.n, out.d, out.most = self.arrays[i][3], self.d, self.d
        out.kind, out.floats = GATHERED if self.floats else DOUBLES, self.floats
        out.value = <const char *>np.PyArray_DATA(rows)
        out.row_step, out.column_step = row_stride(rows) * width, width
        out.held = (rows,)
        return out

    cdef Rows one(self, Py_ssize_t index):
        """A single row."""
        cdef int64_t place = self.place_of(index)
        cdef Rows out = self.part(0)
        out.n, out.value = 1, self.row_at(place)
        out.held = tuple(part[0] for part in self.arrays)
        return out

    cdef np.ndarray mask_of(self, object allowed):
        """`allowed`, one an index ever given, as bytes; None where all are."""
        if allowed is None:
            return None
        return mask_of(allowed, "allowed")

    # --- memory -------------------------------------------------------------------------------

    cdef int reserve(self, Py_ssize_t blocks) except -1:
        """Room for so many blocks."""
        cdef Py_ssize_t room, used = self.blocks
        cdef str what = f"a catalogue of {blocks * BLOCK} rows"
        if blocks <= self.room:
            return 0
        room = blocks if self.room == 0 else max(blocks, self.room + self.room // 2)
        refuse_beyond_limit(16.0 * BLOCK * room, what, "there are more rows than memory for "
                            "their bounds")
        enlarge(<void **>&self.block, sizeof(Block), used, room, what)
        enlarge(<void **>&self.length, BLOCK * sizeof(float), used, room, what)
        if self.begun:
            self.fit_bounds(used, room, what)
        self.room = room
        return 0

    cdef int fit_bounds(self, Py_ssize_t used, Py_ssize_t room, str what) except -1:
        enlarge(<void **>&self.m, BLOCK * sizeof(float), used, room, what)
        enlarge(<void **>&self.r, BLOCK * sizeof(float), used, room, what)
        enlarge(<void **>&self.slot, BLOCK * sizeof(int32_t), used, room, what)
        enlarge(<void **>&self.top, sizeof(float), used, room, what)
        enlarge(<void **>&self.radius, sizeof(float), used, room, what)
        enlarge(<void **>&self.seen, sizeof(int32_t), used, room, what)
        enlarge(<void **>&self.open, sizeof(int32_t), 0, room, what)
        return 0

    cdef int fit_choice(self, Regressions form, Workspace ws, Py_ssize_t k) except -1:
        """Memory for a choice of k rows, with the lock held."""
        cdef str what = "the bounds of a catalogue"
        cdef Crossed alone
        alone.p, alone.c = 0, NULL
        form.reserve_rows(self.some, alone, ws)
        if form.d:
            self.fit_check(form.form(0).reserve_matrix(ws))
        if k > self.places_room:
            self.places_room, self.found = 0, 0
            enlarge(<void **>&self.score, sizeof(double), 0, k, what)
            enlarge(<void **>&self.index, sizeof(int64_t), 0, k, what)
            enlarge(<void **>&self.place, sizeof(int64_t), 0, k, what)
            self.places_room = k
        if self.begun:
            return 0
        self.fit_bounds(0, self.room, what)
        enlarge(<void **>&self.terms, self.padded * sizeof(double), 0, CF_CATALOGUE_TERMS, what)
        enlarge(<void **>&self.check_w, self.padded * sizeof(double), 0, CHECKS, what)
        enlarge(<void **>&self.apart, self.padded * sizeof(double), 0, 1, what)
        memset(self.apart, 0, <size_t>self.padded * sizeof(double))
        self.begun = True
        return 0

    cdef int fit_check(self, Py_ssize_t room) except -1:
        """Memory for the matrix of the check to come, which a restart may put into place 1. There
        are as many as cost a sixteenth of a pass over the rows."""
        cdef int id, free
        if room != self.matrix_room:
            self.era = self.era if self.matrix_room == 0 else 0
            for id in range(CHECKS):
                L.free(self.check_a[id])
                self.check_a[id] = NULL
            self.matrix_room = room
        free = self.free_check()
        for id in (1, 1 if free < 0 else free):
            if self.check_a[id] == NULL:
                enlarge(<void **>&self.check_a[id], sizeof(double), 0, room, "A of a check")
        self.base = BASE
        while self.base > 2 and 6 * self.base * 8 * self.d > self.n:
            self.base //= 2
        return 0

    # --- one pass -----------------------------------------------------------------------------

    cdef void sweep(self, const double *v, Py_ssize_t begin, Py_ssize_t end, double *z,
                    double *best, int64_t *index) noexcept nogil:
        """The products with v of the rows of some blocks: the largest, and where, among those that
        may be chosen (-1: none may); where z is given, all of them into it."""
        cdef double out[BLOCK]
        cdef uint64_t which
        cdef const Block *block
        cdef Py_ssize_t b
        cdef int i, count
        best[0], index[0] = -INFINITY, -1
        for b in range(begin, end):
            block = self.block + b
            which = self.left(b) if z == NULL else <uint64_t>-1
            if block.held == 0 or which == 0:
                continue
            if self.floats:
                K.rows_dot_f32(self.d, block.held, <const float *>block.base, block.stride, v, out)
            else:
                K.rows_dot(self.d, block.held, <const double *>block.base, block.stride, v, out)
            if z != NULL:
                memcpy(z + block.first, out, <size_t>block.held * sizeof(double))
                continue
            for i in range(block.held):
                if out[i] > best[0] and which >> i & 1:
                    best[0], index[0] = out[i], block.first + i

    cdef int64_t largest_product(self, const double *v, double *z, double *best) except? -2:
        """What `sweep` finds over all blocks, by several threads where there are to be."""
        cdef Py_ssize_t jobs = min(self.jobs, max(self.blocks // 64, 1)), i
        cdef int64_t index, found = -1
        cdef double most
        if jobs == 1:
            with nogil:
                self.sweep(v, 0, self.blocks, z, best, &index)
            return index
        parts = [Part.of(self, v, z, self.blocks * i // jobs, self.blocks * (i + 1) // jobs)
                 for i in range(jobs)]
        threads = [threading.Thread(target=part) for part in parts[1:]]
        for thread in threads:
            thread.start()
        try:
            parts[0]()
        finally:
            for thread in threads:
                thread.join()
        best[0] = -INFINITY
        for part in parts:
            most = (<Part>part).best
            if most > best[0]:
                best[0], found = most, (<Part>part).index
        return found

    # --- what is there ------------------------------------------------------------------------

    cdef uint64_t left(self, Py_ssize_t b) noexcept nogil:
        """The rows of a block that may be chosen."""
        cdef uint64_t alive = self.block[b].alive, out = 0, rest = alive
        cdef int i
        if self.mask == NULL:
            return alive
        while rest:
            i = cf_first_bit(rest)
            rest &= rest - 1
            if self.mask[self.block[b].first + i]:
                out |= <uint64_t>1 << i
        return out

    cdef bint any_left(self) noexcept nogil:
        cdef Py_ssize_t b
        for b in range(self.blocks):
            if self.left(b):
                return True
        return False

    cdef int64_t count_left(self) noexcept nogil:
        cdef int64_t count = 0
        cdef Py_ssize_t b
        for b in range(self.blocks):
            count += cf_count_bits(self.left(b))
        return count

    cdef int64_t number(self, int64_t wanted, const int64_t *taken, Py_ssize_t count) noexcept:
        """The index of row number `wanted` of those that may be chosen and were not taken, in
        order of their indices."""
        cdef Py_ssize_t b, i
        cdef uint64_t which
        cdef int64_t behind
        for b in range(self.blocks):
            which = self.left(b)
            for i in range(count):
                behind = taken[i] - self.block[b].first
                if 0 <= behind < BLOCK and behind < self.block[b].held:
                    which &= ~(<uint64_t>1 << behind)
            if wanted >= cf_count_bits(which):
                wanted -= cf_count_bits(which)
                continue
            while wanted:
                which &= which - 1
                wanted -= 1
            return self.block[b].first + cf_first_bit(which)
        return -1

    cdef const char *row_at(self, int64_t place) noexcept nogil:
        cdef const Block *b = self.block + place // BLOCK
        return b.base + (place % BLOCK) * b.stride * (4 if self.floats else 8)

    # --- the weights move ---------------------------------------------------------------------

    cdef bint vouched(self, Regressions form, double width) noexcept nogil:
        """Whether bounds may be built on: what they stand on holds, and float32 holds them."""
        cdef double widest = 1.0 / form.ridge
        cdef Past past
        if form.d:
            (<Regression>form.at[0]).get_past(&past)
            if form.d != self.d or not past.steady:
                return False
            widest = past.norm
        if self.floats and not self.is_narrow(form, widest):
            return False
        return self.largest * sqrt(widest) <= 1e12 and width <= 1e20

    cdef bint is_narrow(self, Regressions form, double widest) noexcept nogil:
        """Whether float32 holds the weights, and the terms by which q falls."""
        cdef const double *w = (<Regression>form.at[0]).w if form.d else NULL
        cdef Py_ssize_t j
        for j in range(self.d if w != NULL else 0):
            if not fabs(w[j]) <= MOST_NARROW:
                return False
        return sqrt(widest) <= MOST_NARROW

    cdef int follow(self, int64_t era, Regressions form, Workspace ws, double width) noexcept nogil:
        """The tables for the weights as they are now."""
        cdef Past past
        memset(&past, 0, sizeof(past))
        if form.d:
            (<Regression>form.at[0]).get_past(&past)
        if era != self.era or past.failures != self.failures:
            self.restart(form, &past, width)
            self.era = era
        elif form.learned == self.learned and width == self.width:
            return CF_OK
        if not self.right(form, &past, ws):
            self.era = 0
            return NOT_THIS_WAY
        self.next_slot(form, ws, &past, width)
        self.learned, self.width = form.learned, width
        self.updates, self.renewals, self.failures = past.updates, past.renewals, past.failures
        if not self.measure(form, ws):
            self.era = 0
            return NOT_THIS_WAY
        self.thin(form, ws)
        self.tabulate()
        return CF_OK

    cdef bint right(self, Regressions form, const Past *past, Workspace ws) noexcept nogil:
        """Whether the inverse is near enough that of A."""
        if form.d == 0:
            self.drift = 0.0
            return True
        self.drift += ((<Regression>form.at[0]).drift(None)
                       * <double>(past.updates - self.updates))
        if past.renewals != self.renewals or not self.drift <= 0.2 * DRIFT:
            self.drift = (<Regression>form.at[0]).drift(ws)
        return self.drift <= 0.2 * DRIFT

    cdef void restart(self, Regressions form, const Past *past, double width) noexcept nogil:
        """Nothing is known but lengths: as if all rows had been looked at when w was 0, with q as
        large as it can be."""
        cdef Py_ssize_t b
        self.norm = (past.norm if form.d else 1.0 / form.ridge) * (1.0 + DRIFT)
        self.tight = past.updates == 0 and form.learned == 0
        self.time = 0
        self.slots, self.now, self.oldest = 1, 0, 0
        self.off[0], self.ref[0], self.width_at[0] = 0.0, 0, width
        self.checks, self.order[0], self.check_time[0], self.distance[0] = 1, 0, 0, 0.0
        self.bare[0] = True
        memset(self.check_w, 0, <size_t>self.padded * sizeof(double))
        self.updates, self.renewals, self.drift = past.updates, past.renewals, INFINITY
        if self.tight:
            self.drift = 0.0
        self.seeded = self.next_seed = 0
        self.found = 0
        for b in range(self.blocks):
            self.fill_from(b, 0)

    cdef void fill_from(self, Py_ssize_t b, Py_ssize_t i) noexcept nogil:
        """The rows of a block from i on, as a restart has them."""
        cdef Py_ssize_t t
        cdef double root = sqrt(self.norm)
        for t in range(b * BLOCK + max(i, 0), (b + 1) * BLOCK):
            self.slot[t] = 0
            if self.block[b].alive >> (t % BLOCK) & 1:
                self.m[t], self.r[t] = FLT_MIN, up(self.length[t] * root)
                if not self.tight:
                    self.slot[t] = CF_STALE
            else:
                self.m[t], self.r[t] = -FLT_MAX, 0.0
        self.top[b], self.radius[b], self.seen[b] = FLT_MAX, 0.0, 0

    cdef void next_slot(self, Regressions form, Workspace ws, const Past *past,
                        double width) noexcept nogil:
        """The round that begins: a slot, a check, and by what q has fallen."""
        cdef const double *w = (<Regression>form.at[0]).w if form.d else NULL
        cdef double *term
        cdef double share
        cdef Py_ssize_t j
        cdef int32_t now, bit
        cdef int id = 0
        if self.checks == CHECKS:
            self.restart(form, past, width)
        if self.slots == CF_CATALOGUE_SLOTS:
            self.rebase()
        now = self.slots
        bit = 1 << (now & (CF_CATALOGUE_TERMS - 1))
        self.slots += 1
        self.now = now
        self.time += 1
        id = self.free_check()
        self.order[self.checks] = id
        self.checks += 1
        self.check_time[id] = self.time
        self.off[now], self.ref[now], self.width_at[now] = 0.0, id, width
        memset(self.check_w + id * self.padded, 0, <size_t>self.padded * sizeof(double))
        if w != NULL:
            memcpy(self.check_w + id * self.padded, w, <size_t>self.d * sizeof(double))
            (<Regression>form.at[0]).keep_matrix(self.check_a[id], ws)
        self.bare[id] = w == NULL
        self.idle |= bit
        self.renewed &= ~bit
        if past.updates > self.updates + 1 or (past.updates != self.updates and past.term == NULL):
            self.oldest = now
        elif past.renewals != self.renewals:  # its term is gone; q has fallen all the same
            self.renewed |= bit
        elif past.updates != self.updates:
            term = self.terms + (now & (CF_CATALOGUE_TERMS - 1)) * self.padded
            share = sqrt(1.0 / past.scale)
            for j in range(self.d):
                term[j] = share * past.term[j]
            self.idle &= ~bit
        self.oldest = max(self.oldest, now - CHAIN)
        if not self.tight:
            self.oldest = max(self.oldest, 1)

    cdef int free_check(self) noexcept nogil:
        """A check that is not in use, or -1."""
        cdef bint used[CHECKS]
        cdef int i
        memset(used, 0, sizeof(used))
        for i in range(self.checks):
            used[self.order[i]] = True
        for i in range(CHECKS):
            if not used[i]:
                return i
        return -1

    cdef double apart_from(self, Regressions form, Workspace ws, int id,
                           const double *w) noexcept nogil:
        """How far weights are from those of a check, in the norm of its A; before anything was
        learned that is ridge I."""
        cdef const double *u = self.check_w + id * self.padded
        cdef double length
        cdef Py_ssize_t j
        for j in range(self.d):
            self.apart[j] = w[j] - u[j]
        if self.bare[id]:
            length = K.dot(self.d, self.apart, self.apart) / self.norm
        else:
            length = (<Regression>form.at[0]).length(self.check_a[id], self.apart, ws)
        return sqrt(max(length, 0.0)) * (1.0 + 1e-9)

    cdef bint measure(self, Regressions form, Workspace ws) noexcept nogil:
        """How far the weights have moved since each check. A measure reads a matrix, so those of
        old checks are rare; meanwhile the last step is added, in the norm of the last A, which is
        not below theirs."""
        cdef const double *w = self.check_w + self.ref[self.now] * self.padded
        cdef double step = INFINITY
        cdef int64_t age
        cdef int i, id
        for i in range(self.checks - 1, -1, -1):
            id = self.order[i]
            age = self.time - self.check_time[id]
            if step < INFINITY and (self.time + self.check_time[id]) % max(period(age), 1):
                self.distance[id] = (self.distance[id] + step) * (1.0 + 4.0 * UNIT)
            else:
                self.distance[id] = self.apart_from(form, ws, id, w)
            if age == 1:
                step = self.distance[id]
            if not self.distance[id] <= FAR:
                return False
        return True

    cdef void thin(self, Regressions form, Workspace ws) noexcept nogil:
        """A check of time 2^l (odd) is kept for `base` 2^l rounds; its slots then go by way of the
        next one of level l + 2 or higher."""
        cdef int i, j, l, kept = 0, id, next
        cdef int32_t t
        cdef float more
        for i in range(self.checks):
            id = self.order[i]
            l = level(self.check_time[id])
            next = -1
            if l < 40 and self.time - self.check_time[id] > <int64_t>self.base << l and form.d:
                j = i + 1
                while j < self.checks and level(self.check_time[self.order[j]]) < l + 2:
                    j += 1
                if j < self.checks:
                    next = self.order[j]
            if next < 0:
                self.order[kept] = id
                kept += 1
                continue
            more = up(self.apart_from(form, ws, id, self.check_w + next * self.padded))
            for t in range(self.slots):
                if self.ref[t] == id:
                    self.off[t], self.ref[t] = up(<double>self.off[t] + more), next
        self.checks = kept

    cdef void tabulate(self) noexcept nogil:
        """What the bounds of each slot have grown by: of a row, and of a block."""
        cdef int32_t t
        cdef double share = min(LATEST, max(LATER, self.time / 4000.0))
        cdef double d, late = self.time - max(share * self.time, 8.0)
        cdef int i
        for t in range(self.slots):
            d = <double>self.off[t] + self.distance[self.ref[t]]
            self.row_table[t] = up((1.0 + DRIFT) * (d + self.width))
            self.block_table[t] = up((1.0 + DRIFT) * (d + max(self.width - self.width_at[t], 0.0))
                                     + DRIFT * self.width)
        self.row_table[self.now] = up(self.width)
        self.block_table[self.now] = 0.0
        self.near = 0.0
        for i in range(self.checks):
            self.near = self.distance[self.order[i]]
            if self.check_time[self.order[i]] >= late:
                break

    cdef void rebase(self) noexcept nogil:
        """There is no slot left: all rows go by way of their checks, which become the slots."""
        cdef Py_ssize_t i
        cdef int32_t s, flag
        cdef int32_t to[CHECKS]
        cdef double m
        for i in range(self.checks):
            to[self.order[i]] = <int32_t>i
        for i in range(self.blocks * BLOCK):
            flag = self.slot[i] & CF_STALE
            s = self.slot[i] & (CF_STALE - 1)
            if self.r[i] > 0.0 and self.off[s] > 0.0:
                m = <double>self.m[i]
                self.m[i] = up(m + <double>self.r[i] * self.off[s] * (1.0 + DRIFT))
            self.slot[i] = to[self.ref[s]] | flag
        for i in range(self.checks):
            self.off[i], self.ref[i], self.width_at[i] = 0.0, self.order[i], 0.0
        for i in range(self.blocks):
            self.top[i], self.radius[i], self.seen[i] = FLT_MAX, 0.0, 0
        self.slots = self.checks
        self.oldest = self.slots

    # --- the choice ---------------------------------------------------------------------------

    cdef double worst(self) noexcept nogil:
        """What a score has to reach, for a place."""
        return self.score[self.places - 1] if self.found == self.places else -INFINITY

    cdef void offer(self, double z, int64_t place) noexcept nogil:
        """A score, which takes its place: the highest first, then the lowest index."""
        cdef int64_t index = self.block[place // BLOCK].first + place % BLOCK
        cdef Py_ssize_t i
        if self.found == self.places:
            i = self.places - 1
            if z < self.score[i] or (z == self.score[i] and index >= self.index[i]):
                return
        for i in range(self.found):
            if self.index[i] == index:
                return
        i = min(self.found, self.places - 1)
        while i > 0 and (z > self.score[i - 1]
                         or (z == self.score[i - 1] and index < self.index[i - 1])):
            self.score[i], self.index[i], self.place[i] = (
                self.score[i - 1], self.index[i - 1], self.place[i - 1])
            i -= 1
        self.score[i], self.index[i], self.place[i] = z, index, place
        if self.found < self.places:
            self.found += 1

    cdef int pick(self, int64_t era, Regressions form, Exploration rule, Workspace ws,
                  Py_ssize_t k) noexcept nogil:
        """The k best under the rule (ucb or greedy), into `index`: a status, or NOT_THIS_WAY."""
        cdef double width = rule.bonus(form, 0) if rule.kind == UCB else 0.0
        cdef Py_ssize_t before = self.found, i, count = 0
        cdef int64_t seeds[BLOCK]
        cdef int status
        if not self.vouched(form, width):
            self.era = 0
            return NOT_THIS_WAY
        if era != self.era:
            before = 0
        status = self.follow(era, form, ws, width)
        if status != CF_OK:
            return status
        for i in range(min(before, <Py_ssize_t>BLOCK - SEEDS)):
            count += self.may(self.place[i], seeds + count)
        for i in range(self.seeded):
            count += self.may(self.seeds[i], seeds + count)
        self.ucb = rule.kind == UCB
        self.places, self.found, self.looked = k, 0, count
        status = self.score_some(seeds, count, form, ws)
        if status == CF_OK:
            status = self.scan(form, ws)
        for i in range(min(self.found, <Py_ssize_t>SEEDS) if status == CF_OK else 0):
            self.plant(self.place[i])
        return status

    cdef bint may(self, int64_t place, int64_t *out) noexcept nogil:
        """Whether the row there may be chosen; its place."""
        out[0] = place
        return self.left(place // BLOCK) >> (place % BLOCK) & 1

    cdef void plant(self, int64_t place) noexcept nogil:
        """One more to be scored first."""
        cdef int i
        for i in range(self.seeded):
            if self.seeds[i] == place:
                return
        if self.seeded < SEEDS:
            self.seeds[self.seeded] = place
            self.seeded += 1
        else:
            self.seeds[self.next_seed] = place
            self.next_seed = (self.next_seed + 1) % SEEDS

    cdef float least(self) noexcept nogil:
        """The bound to reach; sums in float32 may be off by a share of it."""
        cdef double worst = self.worst()
        if worst == -INFINITY:
            return -FLT_MAX
        return -up(-(worst - 1e-6 * fabs(worst)))

    cdef void describe(self, cf_look *how) noexcept nogil:
        """What looks go by in this round."""
        cdef const double *w = self.check_w + self.ref[self.now] * self.padded
        cdef double unit = (self.d + 16) * UNIT, narrow
        how.n, how.w, how.terms, how.apart = self.d, w, self.terms, self.padded
        how.width, how.afresh = self.width, self.width + self.near
        how.blur = 4.0 * unit * sqrt(K.dot(self.d, w, w))
        how.drop = 2.0 * unit * sqrt(self.norm)
        if self.floats:
            narrow = 2.0 * (self.d / 16.0 + 4.0) * NARROW
            how.blur += narrow * sqrt(K.dot(self.d, w, w)) + 2.0 * self.d * LEAST_NARROW
            how.drop += narrow * sqrt(self.norm) + 2.0 * self.d * LEAST_NARROW
        how.rest = 16.0 * unit * sqrt(<double>self.d) * self.norm
        how.drift = 2.1 * DRIFT
        how.slot, how.oldest, how.idle, how.renewed = self.now, self.oldest, self.idle, self.renewed

    cdef int scan(self, Regressions form, Workspace ws) noexcept nogil:
        """All rows whose bounds reach."""
        cdef cf_look how
        cdef uint64_t which[AHEAD]
        cdef Py_ssize_t i = 0, l, n, b, count
        cdef int status = CF_OK
        cdef float least
        self.describe(&how)
        if self.found < self.places:
            status = self.best_block(form, ws)
        n = K.catalogue_scan(self.blocks, self.top, self.radius, self.seen, self.block_table,
                             self.least(), self.open)
        while i < n:
            count = min(n - i, <Py_ssize_t>AHEAD)
            least = self.least()
            for l in range(i + count, min(i + count + AHEAD, n)):
                self.fetch_bounds(self.open[l])
            for l in range(count):
                b = self.open[i + l]
                which[l] = self.open_block(b, <float>self.near, least)
                self.seen[b] = self.now
                if self.top[b] < least:
                    which[l] = 0
                    continue
                which[l] &= self.left(b)
                self.fetch(b, which[l])
            for l in range(count):
                if which[l]:
                    status = self.look(self.open[i + l], which[l], &how, form, ws)
                    if status != CF_OK:
                        return status
            i += count
        return status

    cdef uint64_t open_block(self, Py_ssize_t b, float near, float least) noexcept nogil:
        """The rows of a block whose bounds reach; its own bound anew."""
        return K.catalogue_open(self.m + b * BLOCK, self.r + b * BLOCK, self.slot + b * BLOCK,
                                self.row_table, near, least, self.top + b, self.radius + b)

    cdef void fetch_bounds(self, Py_ssize_t b) noexcept nogil:
        """Those of a block are wanted soon."""
        cdef Py_ssize_t t
        for t in range(b * BLOCK, (b + 1) * BLOCK, 16):
            cf_prefetch(self.m + t)
            cf_prefetch(self.r + t)
            cf_prefetch(self.slot + t)

    cdef void fetch(self, Py_ssize_t b, uint64_t which) noexcept nogil:
        """These rows are wanted soon."""
        cdef Py_ssize_t size = self.d * (4 if self.floats else 8), j
        cdef const char *x
        if cf_count_bits(which) > BLOCK // 2:  # the machine sees that itself
            return
        while which:
            x = self.row_at(b * BLOCK + cf_first_bit(which))
            which &= which - 1
            for j in range((size + 63) // 64):
                cf_prefetch(x + 64 * j)

    cdef int look(self, Py_ssize_t b, uint64_t which, cf_look *how, Regressions form,
                  Workspace ws) noexcept nogil:
        """m of these rows anew, q where it matters, and the scores of those that reach."""
        cdef const Block *block = self.block + b
        cdef float *m = self.m + b * BLOCK
        cdef float *r = self.r + b * BLOCK
        cdef int32_t *slot = self.slot + b * BLOCK
        cdef double worst = self.worst()
        cdef int status = CF_OK
        how.best = worst if worst == -INFINITY else worst - 1e-15 * fabs(worst)
        self.looked += cf_count_bits(which)
        if form.d == 0:
            status = self.score_fresh(b, which, form)
        else:
            if self.floats:
                which = K.catalogue_look_f32(how, <const float *>block.base, block.stride, which,
                                             block.size, m, r, slot)
            else:
                which = K.catalogue_look(how, <const double *>block.base, block.stride, which,
                                         block.size, m, r, slot)
            if which:
                status = self.score_block(b, which, form, ws)
        self.open_block(b, 0.0, FLT_MAX)
        return status

    cdef int score_fresh(self, Py_ssize_t b, uint64_t which, Regressions form) noexcept nogil:
        """Before anything is learned: m = 0, and q = x.x / ridge as `choose` has it."""
        cdef const Block *block = self.block + b
        cdef double z
        cdef int i
        self.squares(block.base, block.stride, block.held, self.q_now)
        while which:
            i = cf_first_bit(which)
            which &= which - 1
            z = 0.0 + self.width * sqrt(self.q_now[i] / form.ridge)
            if not z <= DBL_MAX:
                return CF_ENONFINITE
            if not z < self.worst():
                self.offer(z, b * BLOCK + i)
        return CF_OK

    cdef int best_block(self, Regressions form, Workspace ws) noexcept nogil:
        """The block of the highest bound, where nothing is known of the best score."""
        cdef Py_ssize_t b, best = 0
        cdef uint64_t which
        for b in range(self.blocks):
            self.open_block(b, 0.0, FLT_MAX)
            self.seen[b] = self.now
            if self.top[b] > self.top[best]:
                best = b
        which = self.left(best)
        self.looked += cf_count_bits(which)
        return self.score_block(best, which, form, ws) if which else CF_OK

    cdef int score_block(self, Py_ssize_t b, uint64_t which, Regressions form,
                         Workspace ws) noexcept nogil:
        cdef int64_t places[BLOCK]
        cdef Py_ssize_t count = 0
        while which:
            places[count] = b * BLOCK + cf_first_bit(which)
            which &= which - 1
            count += 1
        return self.score_some(places, count, form, ws)

    cdef int score_some(self, const int64_t *places, Py_ssize_t count, Regressions form,
                        Workspace ws) noexcept nogil:
        """The scores of some rows by the form's own reading, as `choose` has them."""
        cdef Crossed alone
        cdef double unit = (self.d + 16) * UNIT, rest, size, z
        cdef const double *w = self.check_w + self.ref[self.now] * self.padded
        cdef double blur = 4.0 * unit * sqrt(K.dot(self.d, w, w))
        cdef Py_ssize_t l
        cdef int status
        cdef bint told = True
        if count == 0:
            return CF_OK
        alone.p, alone.c = 0, NULL
        self.lay_out(places, count)
        self.some.n = count
        status = form.read_rows(self.some, alone, ws, self.m_now, self.q_now)
        if status == CF_ENOTPOSITIVE and not self.ucb:  # which asks for no q
            told = False
            status = form.read_rows(self.some, alone, ws, self.m_now, NULL)
        if status != CF_OK:
            return status
        rest = 16.0 * unit * sqrt(<double>self.d) * self.norm
        for l in range(count):
            size = self.length[places[l]]
            z = self.m_now[l]
            if self.ucb:
                z += self.width * sqrt(self.q_now[l])
            if not fabs(z) <= DBL_MAX:
                return CF_ENONFINITE
            self.m[places[l]] = up(self.m_now[l] + blur * size)
            self.slot[places[l]] = self.now if told else self.now | CF_STALE
            if told:
                self.r[places[l]] = up(sqrt(self.q_now[l] + rest * size * size))
            if not z < self.worst():
                self.offer(z, places[l])
        return CF_OK

    cdef void lay_out(self, const int64_t *places, Py_ssize_t count) noexcept nogil:
        """Some rows, written out as float64."""
        cdef const char *x
        cdef double *to
        cdef Py_ssize_t l, j
        for l in range(count):
            x = self.row_at(places[l])
            to = self.wide + l * self.padded
            if self.floats:
                for j in range(self.d):
                    to[j] = (<const float *>x)[j]
            else:
                memcpy(to, x, <size_t>self.d * sizeof(double))


cdef class Part:
    """A thread's part of a pass, which lives as long as the call."""

    cdef Catalogue of_whom
    cdef const double *v
    cdef double *z
    cdef Py_ssize_t begin, end
    cdef double best
    cdef int64_t index

    @staticmethod
    cdef Part of(Catalogue items, const double *v, double *z, Py_ssize_t begin, Py_ssize_t end):
        cdef Part out = Part()
        out.of_whom, out.v, out.z, out.begin, out.end = items, v, z, begin, end
        return out

    def __call__(self):
        with nogil:
            self.of_whom.sweep(self.v, self.begin, self.end, self.z, &self.best, &self.index)


cdef Py_ssize_t jobs_of(object n_jobs) except -1:
    import os
    if type(n_jobs) is int and n_jobs == -1:
        return os.cpu_count() or 1
    jobs = as_count(n_jobs, "n_jobs")
    if jobs == 0:
        raise ValueError("n_jobs must be >= 1 or -1, got 0")
    return min(jobs, 256)


# --- choices among the rows of a catalogue ----------------------------------------------------

# ucb and greedy go by the catalogue's bounds where they can; thompson is one pass over the rows;
# all else has m and q of all rows, as `choose(X)` has. The catalogue's lock is acquired after the
# engine's.
cdef enum:
    SLATE = 4096       # places up to which the bounds are gone by


cdef object answer_items(BanditEngine engine, Workspace ws, Choice at, int *status):
    """The answer, with the engine's lock held; a status tells why there is none."""
    cdef Catalogue items = <Catalogue>at.items
    cdef Exploration rule = engine.exploration
    cdef np.ndarray mask = at.mask
    items.lock.acquire()
    try:
        refuse_mask(items, mask)
        items.mask = NULL if mask is None else <const char *>np.PyArray_DATA(mask)
        engine.refuse_actions(items.d, "X")
        at.d = max(engine.form.d, items.d * (engine.contexts + 1))
        if rule.kind == THOMPSON and at.what != SCORES:
            return draw_items(engine, items, ws, at, status)
        if ((at.what == PICK or at.what == DECISION) and at.k <= SLATE and engine.contexts == 0
                and rule.kind != SQUARECB):
            found = pick_items(engine, items, ws, at, status)
            if found is not None or status[0] != CF_OK:
                return found
        return read_items(engine, items, ws, at, status)
    finally:
        items.mask = NULL
        items.lock.release()


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

cdef object pick_items(BanditEngine engine, Catalogue items, Workspace ws, Choice at,
                       int *status):
    """ucb and greedy; None: not this way, or a status."""
    cdef Regressions form = <Regressions>engine.form
    cdef Exploration rule = engine.exploration
    cdef Py_ssize_t wanted = min(max(at.k, 1), items.living)
    cdef int64_t era = engine.era
    cdef double p
    items.fit_choice(form, ws, wanted)
    with nogil:
        status[0] = items.pick(era, form, rule, ws, wanted)
    if status[0] != CF_OK:
        if status[0] == NOT_THIS_WAY:
            status[0] = CF_OK
        return None
    if at.what == PICK:
        found = places_of(engine, items, items.found)
        return int(found[0]) if at.k == 0 else found
    engine.know_for(at)
    i = int(places_of(engine, items, 1)[0])
    p = 1.0 if i == items.index[0] else 0.0
    if rule.floor > 0.0:
        p = rule.floor / items.count_left() + (1.0 - rule.floor) * p
    return engine.remember(at, ws, i, p)


cdef np.ndarray places_of(BanditEngine engine, Catalogue items, Py_ssize_t wanted):
    """The best; with a floor, place after place, by chance one of those left."""
    cdef np.ndarray out = new_indices(wanted)
    cdef int64_t *found = <int64_t *>np.PyArray_DATA(out)
    cdef double floor = engine.exploration.floor
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

cdef object draw_items(BanditEngine engine, Catalogue items, Workspace ws, Choice at,
                       int *status):
    """thompson: the largest products with what is drawn."""
    cdef np.ndarray law = None
    cdef double p = NAN
    items.looked = items.living
    if at.what == LAW or at.samples:
        law = drawn_law(engine, items, ws, at, status)
        if status[0] != CF_OK or at.what == LAW:
            return law
    if at.what == DECISION:
        engine.know_for(at)
    found = drawn_places(engine, items, ws, at, max(at.k, 1), status)
    if status[0] != CF_OK:
        engine.form.raise_error(CF_OK)
        return None
    if at.what == PICK:
        return int(found[0]) if at.k == 0 else found
    i = int(found[0])
    if law is not None:
        p = data_of(law)[i]
    return engine.remember(at, ws, i, p)


cdef int draw_once(BanditEngine engine, Catalogue items, Workspace ws, Choice at,
                   Chance chance) except? -1000:
    """v = w + width F z into at.drawn, a context contracted out of it; a status."""
    cdef Regressions form = <Regressions>engine.form
    cdef double width = engine.exploration.width
    cdef int status
    if not engine.exploration.inside(form, at, square_of(at.by), items.largest * items.largest):
        return CF_ENONFINITE
    at.fit_draws(at.d)
    form.reserve_drawn(ws)
    with nogil:
        chance.normals(at.d, at.drawn)
        status = form.drawn(ws, at.d, width, at.drawn)
    if status == CF_OK:
        contract(at.by, items.d, at.drawn)
    return status


cdef np.ndarray drawn_places(BanditEngine engine, Catalogue items, Workspace ws, Choice at,
                             Py_ssize_t k, int *status):
    cdef np.ndarray out
    cdef double best
    cdef Py_ssize_t i
    status[0] = draw_once(engine, items, ws, at, engine.chance)
    if status[0] != CF_OK:
        return None
    if k == 1 and engine.exploration.floor == 0.0:
        out = new_indices(1)
        (<int64_t *>np.PyArray_DATA(out))[0] = items.largest_product(at.drawn, NULL, &best)
        return out
    all_left(items, at)
    items.largest_product(at.drawn, at.z, &best)
    out = new_indices(min(k, at.count))
    for i in range(np.PyArray_DIM(out, 0)):
        (<int64_t *>np.PyArray_DATA(out))[i] = engine.place(at)
    return out


cdef np.ndarray drawn_law(BanditEngine engine, Catalogue items, Workspace ws, Choice at,
                          int *status):
    """The frequencies of so many draws, of a generator of their own."""
    cdef Chance child = Chance(engine.chance.generator.spawn(1)[0])
    cdef double best
    cdef Py_ssize_t turn
    all_left(items, at)
    memset(at.p, 0, <size_t>at.n * sizeof(double))
    for turn in range(at.samples):
        PyErr_CheckSignals()
        status[0] = draw_once(engine, items, ws, at, child)
        if status[0] != CF_OK:
            return None
        at.p[items.largest_product(at.drawn, NULL, &best)] += 1.0
    engine.exploration.mix(at, at.samples)
    return vector_of(at.p, at.n)


cdef int all_left(Catalogue items, Choice at) except -1:
    """`at` for all rows ever given, with what may be chosen of them."""
    cdef Py_ssize_t b
    cdef uint64_t which
    cdef int i
    at.reserve(items.n)
    at.count = items.count_left()
    for b in range(items.blocks):
        which = items.left(b)
        for i in range(items.block[b].held):
            at.left[items.block[b].first + i] = which >> i & 1
    return 0


cdef object read_items(BanditEngine engine, Catalogue items, Workspace ws, Choice at,
                       int *status):
    """m and q of all rows, or what else the rule compares, one array of rows after another."""
    cdef Regressions form = <Regressions>engine.form
    cdef Exploration rule = engine.exploration
    cdef bint widths = at.what == SCORES or at.k > 1 or (rule.kind == UCB and form.d == 0)
    cdef Py_ssize_t i, first
    cdef Rows rows
    items.looked = items.living
    all_left(items, at)
    at.scored = rule.kind == UCB and not widths
    for i in range(len(items.arrays)):
        rows, first = items.part(i), items.arrays[i][1]
        if rows.n == 0:
            continue
        form.reserve_rows(rows, at.by, ws)
        with nogil:
            if at.scored:
                status[0] = (<Regression>form.at[0]).read_upper(
                    rows, at.by, ws, rule.bonus(form, 0), at.left + first, at.m + first,
                    at.q + first, at.z + first)
            else:
                status[0] = form.read_rows(rows, at.by, ws, at.m + first,
                                            at.q + first if widths else NULL)
        if status[0] != CF_OK:
            return None
    return engine.act(ws, at)


# --- runs -------------------------------------------------------------------------------------


cdef class BanditRounds(Run):
    """The parts of a round that are the same wherever its actions come from."""

    cdef int begin_rounds(self, BanditEngine engine) except -1:
        """Everything for rounds with the model of this engine."""
        cdef Workspace ws = self.ws
        cdef Py_ssize_t p = self.at.by.p
        engine.refuse_actions(self.seen.d, "X")
        self.form, self.chance = <Regressions>engine.form, engine.chance
        self.exploration = engine.exploration
        self.at.d = max(self.form.d, (p + 1) * self.seen.d)
        self.form.resize(self.form.k, self.at.d)
        ws.reserve_for(self.seen)
        ws.writing = True
        ws.row.n = ws.row.nnz = self.at.d
        self.form.reserve(ws)
        self.form.form(0).reserve_rows(self.seen, self.at.by, ws)  # which knows nothing, maybe
        if self.exploration.kind == THOMPSON and not self.arms:
            self.form.form(0).reserve_drawn(ws)
        self.at.fit_draws(self.at.d)
        ws.scaled.reserve(self.at.d)
        self.mask = 15 if self.at.n * self.form.cost(self.at.d) < 1e5 else 0
        return 0

    cdef int end(self, Engine engine, int status) except -1:
        (<RowEngine>engine).publish()
        return 0

    cdef int read(self, Regressions form, Exploration rule, Workspace ws, Choice at,
                  Chance chance) noexcept nogil:
        """The scores of what is seen, as `place` and `law` want them."""
        cdef Py_ssize_t turn
        cdef int status = CF_OK
        for turn in range(2):
            if self.arms:
                ws.load(self.seen, 0)
                form.prepare(ws)
            status = form.read_offer(ws, at, self.seen, rule, False)
            if status != CF_ENOTPOSITIVE or form.repair() != CF_OK:
                break
        return rule.score(form, ws, at, chance) if status == CF_OK else status

    cdef int teach(self, Regressions form, Workspace ws, Choice at, Py_ssize_t i,
                   double reward) noexcept nogil:
        """One round of `learn`."""
        cdef Py_ssize_t arm = i if self.arms else 0
        cdef int status
        ws.load(self.seen, 0 if self.arms else i)
        if at.by.p and not crossed(&ws.row, at.by, ws.scaled):
            return CF_ENONFINITE
        ws.weight = 1.0
        form.prepare(ws)
        status = form.read_one(ws, arm)
        return form.update(ws, arm, reward) if status == CF_OK else status

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
    cdef const char *first     # where the rows of the table begin (arms: one a round)
    cdef np.ndarray drawn, rewards, weights, contexts, means
    cdef np.ndarray reward, regret, choice, probability
    cdef bint same             # all rounds have the same actions
    cdef Py_ssize_t period     # T
    cdef double noise
    cdef Chance world          # None: nothing is drawn

    def __init__(self, BanditEngine engine, Py_ssize_t rounds, X, *, Py_ssize_t n, Py_ssize_t d,
                 Py_ssize_t T, bint same, rewards, weights, double noise, contexts, Chance world):
        self.arms, self.period, self.total = engine.arms, T, rounds
        self.rewards, self.weights, self.contexts = rewards, weights, contexts
        self.noise, self.world = noise, world
        if X is None:
            self.drawn = <np.ndarray>numpy.zeros((1 if self.arms else n, d))
            X = self.drawn
        self.seen = rows_of(X, "X")
        self.first = self.seen.value
        self.seen.n = 1 if self.arms else n
        self.same = same or self.drawn is not None
        self.means = new_vector(n)
        self.reward, self.regret = new_vector(rounds), new_vector(rounds)
        self.probability, self.choice = new_vector(rounds), new_indices(rounds)
        self.ws, self.at = Workspace(), Choice()
        self.at.reserve(n)
        self.at.arms, self.at.rows = self.arms, self.seen

    def history(self):
        return BanditHistory(reward=self.reward[:self.done], regret=self.regret[:self.done],
                             choice=self.choice[:self.done],
                             probability=self.probability[:self.done])

    cdef int begin(self, Engine engine) except -1:
        if self.arms and (<BanditEngine>engine).form.k != self.at.n:
            raise ValueError(f"rewards must have {(<BanditEngine>engine).form.k} columns, one an "
                             "arm: arms were added during the run")
        self.at.by.p = 0 if self.contexts is None else np.PyArray_DIM(self.contexts, 1)
        return self.begin_rounds(<BanditEngine>engine)

    cdef int round(self, Engine engine) noexcept nogil:
        return self.one(self.form, self.exploration, self.ws, self.at)

    cdef int one(self, Regressions form, Exploration rule, Workspace ws, Choice at) noexcept nogil:
        cdef Py_ssize_t i, j, t = self.done
        cdef int status
        cdef double best = -INFINITY, reward
        self.show(self.seen, ws, at, self.world)
        at.allow_all()
        status = self.read(form, rule, ws, at, self.chance)
        if status != CF_OK:
            return status
        i = rule.place(at, form.learned, self.chance.bits)
        (<Py_ssize_t *>np.PyArray_DATA(self.choice))[t] = i
        data_of(self.probability)[t] = NAN
        if rule.kind != THOMPSON:
            data_of(self.probability)[t] = rule.probability(at, form.learned, i)
        for j in range(at.n):
            best = max(best, data_of(self.means)[j])
        reward = data_of(self.means)[i]
        if self.world is not None:
            self.world.normals(1, at.z)
            reward += self.noise * at.z[0]
        data_of(self.reward)[t], data_of(self.regret)[t] = reward, best - data_of(self.means)[i]
        return self.teach(form, ws, at, i, reward)

    cdef int show(self, Rows seen, Workspace ws, Choice at, Chance world) noexcept nogil:
        """The actions of this round, and their mean rewards."""
        cdef Py_ssize_t t = self.done % self.period, d = seen.d, n = at.n, i, j
        cdef double *rows
        cdef double length
        if not self.same:
            seen.value = self.first + t * seen.n * seen.row_step
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


# --- single calls -----------------------------------------------------------------------------

cdef class RegressionEngine(RewardEngine):
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
        cdef double target = self.target_of(y, "y"), c = self.weight_of(weight)
        self.learn_row(x, 0, target, c, "x")


cdef class LinearEngine(BanditEngine):
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
        return self.ask(X, allowed, context, PICK, k, None)

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
        cdef double y = self.target_of(reward, "reward"), c = self.weight_of(weight)
        if self.contexts == 0 and context is None:
            self.learn_row(x, 0, y, c, "x")
        else:
            self.learn_crossed(x, y, c, context)


cdef class ArmEngine(BanditEngine):
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
        return self.ask(x, allowed, None, PICK, k, None)

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
        cdef Py_ssize_t i = as_label(arm, "arm", False)
        cdef double y = self.target_of(reward, "reward"), c = self.weight_of(weight)
        self.learn_row(x, i, y, c, "arm")
