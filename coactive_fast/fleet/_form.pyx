"""A ridge regression whose numbers lie in a record of a fleet; see _form.pxd."""

cimport numpy as np
from libc.float cimport DBL_MAX
from libc.math cimport fabs, sqrt
from libc.stddef cimport size_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport new_doubles
from coactive_fast._table cimport (
    CF_ENOMEM, CF_ENONFINITE, CF_FLEET_LEARNED, CF_FLEET_NUMBERS, CF_OK, cf_get_library,
    cf_get_table, cf_library, cf_packed_size, cf_pad, cf_table,
)
from coactive_fast.learner._engine cimport Model
from coactive_fast.learner._state cimport vector_of
from coactive_fast.rows._rows cimport place_of

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef double LARGE = 1e150      # of x.x and m, where nothing may overflow half-way


cdef Py_ssize_t numbers_of(Py_ssize_t d) noexcept nogil:
    return 2 * d + cf_packed_size(d)


cdef class PackedForm(Single):
    """A view of one block, as a form that learners of rewards and filters read by.

    Parameters
    ----------
    ridge, forget
        As for `FullRidge`.
    logistic : bool
        The link.
    """

    def __init__(self, double ridge, double forget, bint logistic):
        self.ridge, self.forget, self.logistic = ridge, forget, logistic

    def __dealloc__(self):
        L.free(self.x)

    cdef int start(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t padded = cf_pad(n)
        cdef double *room = new_doubles(3, padded, f"scratch for {n} features")
        memset(room, 0, <size_t>(3 * padded) * sizeof(double))
        L.free(self.x)
        self.x, self.f, self.v = room, room + padded, room + 2 * padded
        self.period = L.past_period(K, n, self.forget)
        return 0

    cdef void sit(self, uint64_t *block) noexcept nogil:
        cdef double *numbers = <double *>(block + <int>CF_FLEET_NUMBERS)
        self.block, self.w, self.diagonal = block, numbers, numbers + self.d
        self.u = numbers + 2 * self.d
        self.share = numbers + numbers_of(self.d) if self.forget < 1.0 else NULL
        self.learned = <int64_t>block[<int>CF_FLEET_LEARNED]

    cdef int fit(self, Scratch s) except -1:
        s.fit(1, 2 * cf_pad(self.d))
        return s.forms.fit(&s.row, True)

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return <double>self.d * self.d

    # --- reading ------------------------------------------------------------------------------

    cdef int read_one(self, Scratch s, double *m, double *q) noexcept nogil:
        cdef const double *x = s.forms.whole(&s.row)
        cdef Py_ssize_t padded = cf_pad(self.d)
        memset(s.v, 0, <size_t>padded * sizeof(double))
        memcpy(s.v, x, <size_t>self.d * sizeof(double))
        s.forms.clear(&s.row)
        m[0] = K.dot(self.d, self.w, s.v)
        if q != NULL:
            q[0] = K.packed_look(self.d, self.diagonal, self.u, s.v, s.v + padded)
            if not q[0] <= DBL_MAX:
                return CF_ENONFINITE
        return CF_OK if fabs(m[0]) <= DBL_MAX else CF_ENONFINITE

    cdef int read(self, Scratch s) noexcept nogil:
        s.m[0] = s.q[0] = 0.0
        return self.read_one(s, s.m, s.q) if self.d else CF_OK

    cdef int look(self, Scratch s) noexcept nogil:
        return self.read(s)

    cdef int fit_rows(self, Rows X, Crossed by, Scratch s) except -1:
        s.buffer.fit(X.most)
        return s.fit(1, 2 * cf_pad(self.d))

    cdef double *written(self, Rows X, Py_ssize_t t, Crossed by, Scratch s) noexcept nogil:
        """(1, c) (x) row t, written out into the scratch; NULL where it cannot be read."""
        cdef double *x = s.v
        cdef Py_ssize_t e, j
        cdef double c
        if not X.at(t, s.buffer, &s.row):
            return NULL
        memset(x, 0, <size_t>cf_pad(self.d) * sizeof(double))
        for j in range(by.p + 1):
            c = 1.0 if j == 0 else by.c[j - 1]
            for e in range(s.row.nnz):
                x[j * X.d + place_of(&s.row, e)] = c * s.row.value[e]
        return x

    cdef int read_rows(self, Rows X, Crossed by, Scratch s, double *m, double *q) noexcept nogil:
        cdef Py_ssize_t t
        cdef double *x
        for t in range(X.n):
            x = self.written(X, t, by, s)
            if x == NULL:
                return CF_ENOMEM
            m[t] = K.dot(self.d, self.w, x)
            if not fabs(m[t]) <= DBL_MAX:
                return CF_ENONFINITE
            if q == NULL:
                continue
            q[t] = K.packed_look(self.d, self.diagonal, self.u, x, x + cf_pad(self.d))
            if not q[t] <= DBL_MAX:
                return CF_ENONFINITE
        return CF_OK

    cdef double information(self) noexcept nogil:
        """log det A - d log ridge: D is what A^-1 has for a determinant."""
        cdef double sum = 0.0
        cdef Py_ssize_t i
        for i in range(self.d):
            sum -= K.log_one(self.diagonal[i] * self.ridge)
        return sum

    cdef double reach(self) noexcept nogil:
        cdef double most = 0.0
        cdef Py_ssize_t i
        for i in range(self.d):
            most = max(most, fabs(self.w[i]))
        return most

    cdef int fit_drawn(self, Scratch s) except -1:
        return s.fit(1, 2 * cf_pad(self.d))

    cdef int drawn(self, Scratch s, Py_ssize_t n, double width, double *z) noexcept nogil:
        """F = U sqrt(D)."""
        cdef double *scaled = s.v
        cdef double *out = s.v + cf_pad(self.d)
        cdef Py_ssize_t i
        memset(scaled, 0, <size_t>cf_pad(self.d) * sizeof(double))
        for i in range(n):
            scaled[i] = sqrt(self.diagonal[i]) * z[i]
        K.packed_product(self.d, self.u, scaled, out)
        for i in range(n):
            z[i] = self.w[i] + width * out[i]
        return CF_OK

    # --- learning -----------------------------------------------------------------------------

    cdef int take_row(self, const double *x, double y, bint null, double *m) noexcept nogil:
        cdef double mean, q, a, miss, weight
        cdef Py_ssize_t i
        cdef int good = 1
        m[0] = 0.0
        if null:
            self.block[<int>CF_FLEET_LEARNED] += 1
            return CF_OK
        m[0] = mean = K.dot(self.d, self.w, x)  # predicted before anything is forgotten
        if self.share != NULL and self.learned:
            if not (K.dot(self.d, x, x) < LARGE and fabs(mean) < LARGE):
                return CF_ENONFINITE
            self.fade()
            mean = K.dot(self.d, self.w, x)
        q = K.packed_look(self.d, self.diagonal, self.u, x, self.f)
        if not (q <= DBL_MAX and fabs(mean) <= DBL_MAX):
            return CF_ENONFINITE
        weight = self.aim(mean, y, &miss)
        a = K.packed_update(self.d, self.diagonal, self.u, weight, self.f, self.v)
        K.axpy(self.d, miss / a, self.v, self.w)
        for i in range(self.d):
            good &= self.diagonal[i] > 0.0
        if not (good and K.all_finite(numbers_of(self.d), self.w)):
            return CF_ENONFINITE
        self.block[<int>CF_FLEET_LEARNED] += 1
        return CF_OK

    cdef void fade(self) noexcept nogil:
        """M <- f M, b <- f b and the regulariser, before an example (cf_past.h)."""
        cdef double after = (1.0 if self.learned % self.period == 0
                             else self.forget * self.share[0])
        cdef double added = (after - self.forget * self.share[0]) * self.ridge
        cdef Py_ssize_t i
        for i in range(self.d):
            self.diagonal[i] /= self.forget
        self.share[0] = after
        if added > 0.0:
            self.fill_up(added)

    cdef void fill_up(self, double c) noexcept nogil:
        cdef double *unit = self.x
        cdef Py_ssize_t i
        for i in range(self.d):
            memset(unit, 0, <size_t>cf_pad(self.d) * sizeof(double))
            unit[i] = 1.0
            K.packed_look(self.d, self.diagonal, self.u, unit, self.f)
            K.packed_update(self.d, self.diagonal, self.u, c, self.f, self.v)
        memset(unit, 0, <size_t>cf_pad(self.d) * sizeof(double))
        memcpy(unit, self.w, <size_t>self.d * sizeof(double))
        K.packed_look(self.d, self.diagonal, self.u, unit, self.f)
        for i in range(self.d):
            self.f[i] *= self.diagonal[i]
        K.packed_product(self.d, self.u, self.f, self.v)
        K.axpy(self.d, -c, self.v, self.w)

    # --- what a state tells: a fleet makes learners of its records by another way ---------------

    cdef int adopt(self, Model other) except -1:
        self.forget = (<PackedForm?>other).forget
        return 0

    cdef np_weights(self):
        return vector_of(self.w, self.d)
