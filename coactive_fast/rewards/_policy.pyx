"""How a bandit decides, and the regressions it learns by; see _policy.pxd.

In here are the laws of choice and what is offered; _regressions.pxi has the regressions.
"""

import numpy

cimport numpy as np
from libc.float cimport DBL_MAX
from libc.math cimport INFINITY, fabs, sqrt
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
from coactive_fast.rows._rows cimport DOUBLES, place_of

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


include "_regressions.pxi"
