"""The models of the filters that cost O(d) a row; see _models.pxd."""

import numpy

cimport numpy as np
from libc.math cimport ldexp
from libc.stddef cimport size_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport as_vector, data_of, refuse_non_finite
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_OK, cf_get_library, cf_get_table, cf_library, cf_table,
)
from coactive_fast.learner._rows cimport place_of

from coactive_fast.metric._memory import refuse_beyond_limit

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    BUSY = 1 << 14   # features from which a reading lets the GIL go: some microseconds
    FOLD = 256       # scale < 2^-FOLD goes into the diagonal

cdef double LEAST = ldexp(1.0, -FOLD)
cdef double FLOOR = ldexp(1.0, -200)  # of a in memory, where forgetting has left nothing of it


# --- memory and states -------------------------------------------------------------------------


cdef double *taken(Py_ssize_t count, str what) except NULL:
    """Zeros, to be given back with the library's free."""
    refuse_beyond_limit(8.0 * count, what, "fewer features, or a smaller window, take less")
    cdef double *block = <double *>L.alloc_zero(<size_t>count, sizeof(double))
    if block == NULL:
        raise MemoryError(f"{8 * count} bytes for {what}")
    return block


cdef int load(double *to, dict state, str name, Py_ssize_t n) except -1:
    """A vector of a state into memory of n doubles."""
    cdef np.ndarray v = as_vector(state[name], name)
    if np.PyArray_DIM(v, 0) != n:
        raise ValueError(f"{name} of the state must have length {n}, got {np.PyArray_DIM(v, 0)}")
    refuse_non_finite(v, name)
    memcpy(to, data_of(v), <size_t>n * sizeof(double))
    return 0


cdef object copied(const double *values, Py_ssize_t n):
    cdef np.ndarray out = <np.ndarray>numpy.empty(n)
    if n:
        memcpy(data_of(out), values, <size_t>n * sizeof(double))
    return out


cdef int linear(const cf_row *x, const double *w, double *m) noexcept nogil:
    cdef double square = K.ridge_square(x)
    m[0] = K.ridge_dot(x, w)
    return CF_OK if square - square == 0.0 and m[0] - m[0] == 0.0 else CF_ENONFINITE


cdef class Model:
    """What all models have: a dimension, a count, and the words of a state."""

    cdef int start(self, Py_ssize_t d) except -1:
        """The dimension is known: memory for it."""
        self.d = d
        return 0

    cdef int fit(self, const cf_row *x, Forms forms) except -1:
        return 0

    cdef Py_ssize_t scratch(self) noexcept nogil:
        return 0

    cdef int read(self, const cf_row *x, Forms forms, double *scratch, double *m,
                  double *q) noexcept nogil:
        m[0] = q[0] = 0.0
        return CF_OK

    cdef int look(self, const cf_row *x, Forms forms, double *m, double *q) noexcept nogil:
        return self.read(x, forms, NULL, m, q)

    cdef Py_ssize_t ahead(self, Rows X, Py_ssize_t t, Py_ssize_t count, RowBuffer buffer,
                          Forms forms) noexcept nogil:
        return count

    cdef int look_at(self, Py_ssize_t i, const cf_row *x, Forms forms, double *m,
                     double *q) noexcept nogil:
        return self.look(x, forms, m, q)

    cdef bint has_room(self, const cf_row *x, Forms forms) noexcept nogil:
        return True

    cdef int make_room(self, const cf_row *x, Forms forms) except -1:
        return 0

    cdef int take(self, const cf_row *x, Forms forms, double y, double m, double q) noexcept nogil:
        self.learned += 1
        return CF_OK

    cdef double information(self) noexcept nogil:
        return 0.0

    cdef double left_out(self) noexcept nogil:
        return 0.0

    cdef int raise_error(self, int status) except -1:
        return 0

    cdef bint busy(self) noexcept nogil:
        return self.d >= BUSY

    # --- settings and state ---------------------------------------------------------------------

    cdef int adopt(self, Model other) except -1:
        """The settings of another model of this kind; the state stays."""
        return 0

    cdef dict extra(self):
        return {}

    cdef int take_extra(self, dict state) except -1:
        return 0

    def state(self):
        """Everything that learning has changed."""
        told = {"d": self.d, "learned": self.learned}
        if self.d:
            told.update(self.extra())
        return told

    def restore(self, dict state):
        """The reverse, into a model that was just made."""
        d, learned = int(state["d"]), int(state["learned"])
        if d < 0 or learned < 0 or (d == 0 and learned):
            raise ValueError("d and learned of the state are out of range")
        if d:
            self.start(d)
            self.learned = learned
            self.take_extra(state)


cdef class Share(Model):
    """The share of relevant labels, less one half."""

    cdef int read(self, const cf_row *x, Forms forms, double *scratch, double *m,
                  double *q) noexcept nogil:
        q[0] = 0.0
        m[0] = <double>self.relevant / self.learned - 0.5 if self.learned else 0.0
        return CF_OK

    cdef int take(self, const cf_row *x, Forms forms, double y, double m, double q) noexcept nogil:
        self.relevant += y > 0.0
        self.learned += 1
        return CF_OK

    cdef bint busy(self) noexcept nogil:
        return False

    cdef dict extra(self):
        return {"relevant": self.relevant}

    cdef int take_extra(self, dict state) except -1:
        relevant = int(state["relevant"])
        if not 0 <= relevant <= self.learned:
            raise ValueError("relevant of the state must be between 0 and learned")
        self.relevant = relevant
        return 0


cdef class Perceptron(Model):
    """w += y x on a mistake."""

    def __dealloc__(self):
        L.free(self.w)

    cdef int start(self, Py_ssize_t d) except -1:
        cdef double *w = taken(2 * d, f"the weights of {d} features")
        L.free(self.w)
        self.w, self.next = w, w + d
        self.d = d
        return 0

    cdef int read(self, const cf_row *x, Forms forms, double *scratch, double *m,
                  double *q) noexcept nogil:
        m[0] = q[0] = 0.0
        return linear(x, self.w, m) if self.d else CF_OK

    cdef int take(self, const cf_row *x, Forms forms, double y, double m, double q) noexcept nogil:
        cdef Py_ssize_t e
        if (m >= 0.0) != (y > 0.0):
            for e in range(x.nnz):
                self.next[e] = self.w[place_of(x, e)] + y * x.value[e]
            if not K.all_finite(x.nnz, self.next):
                return CF_ENONFINITE
            K.ridge_place(x, self.next, self.w)
        self.learned += 1
        return CF_OK

    cdef dict extra(self):
        return {"w": copied(self.w, self.d)}

    cdef int take_extra(self, dict state) except -1:
        return load(self.w, state, "w", self.d)


cdef class Diagonal(Model):
    """Ridge regression on the diagonal of A; forgetting and the projection where they are wanted.

    The past is scaled by one number, so that a sparse row costs what it holds: a in memory is
    A / scale, and an example counts 1 / scale in it.
    """

    def __init__(self, double ridge, double forget, bint projected):
        self.ridge, self.forget, self.projected = ridge, forget, projected
        self.scale = 1.0

    def __dealloc__(self):
        L.free(self.a)

    cdef int start(self, Py_ssize_t d) except -1:
        cdef double *a = taken(4 * d, f"a diagonal of {d} features")
        cdef Py_ssize_t i
        L.free(self.a)
        for i in range(d):
            a[i] = self.ridge
        self.a, self.w, self.a_next, self.w_next = a, a + d, a + 2 * d, a + 3 * d
        self.d = d
        return 0

    cdef int read(self, const cf_row *x, Forms forms, double *scratch, double *m,
                  double *q) noexcept nogil:
        m[0] = q[0] = 0.0
        if self.d == 0:
            return CF_OK
        if self.projected:
            return linear(x, self.w, m)
        m[0] = K.ridge_dot(x, self.w)
        q[0] = K.ridge_quad(x, self.a) / self.scale
        return CF_OK if m[0] - m[0] == 0.0 and q[0] - q[0] == 0.0 else CF_ENONFINITE

    cdef int take(self, const cf_row *x, Forms forms, double y, double m, double q) noexcept nogil:
        cdef Py_ssize_t j = self.learned % self.d
        cdef double before = self.a[j], scale = self.scale, sums = self.sums
        cdef int status
        if self.forget < 1.0:
            self.scale *= self.forget
            self.a[j] += self.d * (1.0 - self.forget) * self.ridge / self.scale
            self.sums += K.log_one(self.a[j] / before)
        if self.forget < 1.0 or self.projected:
            q = K.ridge_quad(x, self.a) / self.scale
        status = self.step(x, y, m, q)
        if status != CF_OK:
            self.a[j], self.scale, self.sums = before, scale, sums
            return status
        self.learned += 1
        if self.scale < LEAST:
            self.fold()
        return CF_OK

    cdef int step(self, const cf_row *x, double y, double m, double q) noexcept nogil:
        """w += (x / a) (y - m) / (1 + q), a += x^2, by the present a; then the projection."""
        cdef double grown
        cdef Py_ssize_t e
        cdef int status
        if not K.ridge_step(x, (y - m) / (1.0 + q) / self.scale, 1.0 / self.scale, self.a, self.w,
                            self.a_next, self.w_next):
            return CF_ENONFINITE
        grown = self.growth(x)
        if self.projected:
            for e in range(x.nnz):  # what is there and what comes change places
                self.a[place_of(x, e)], self.a_next[e] = self.a_next[e], self.a[place_of(x, e)]
                self.w[place_of(x, e)], self.w_next[e] = self.w_next[e], self.w[place_of(x, e)]
            status = L.ridge_ball(K, self.d, self.a, self.w, 1.0, self.w)
            if status != CF_OK:
                K.ridge_place(x, self.a_next, self.a)
                K.ridge_place(x, self.w_next, self.w)
                return status
        else:
            K.ridge_place(x, self.a_next, self.a)
            K.ridge_place(x, self.w_next, self.w)
        self.sums += grown
        return CF_OK

    cdef double growth(self, const cf_row *x) noexcept nogil:
        """sum ln(a_next / a): products of the ratios, so that a logarithm is seldom needed."""
        cdef double product = 1.0, sum = 0.0, old
        cdef Py_ssize_t e
        for e in range(x.nnz):
            old = self.a[place_of(x, e)]
            if self.a_next[e] > 1e100 * old:
                sum += K.log_one(self.a_next[e]) - K.log_one(old)
            else:
                product *= self.a_next[e] / old
            if product > 1e100:
                sum += K.log_one(product)
                product = 1.0
        return sum + K.log_one(product)

    cdef void fold(self) noexcept nogil:
        """The scale goes into the diagonal, by a power of two: no digit changes.

        What is so small that no margin shows it stays where it is, or the next x there would
        overflow.
        """
        cdef Py_ssize_t i
        cdef int e = 0
        while ldexp(self.scale, e) < 0.5:
            e += 1
        for i in range(self.d):
            if ldexp(self.a[i], -e) >= FLOOR:
                self.a[i] = ldexp(self.a[i], -e)
                self.sums -= e * K.log_one(2.0)
            else:
                self.sums += K.log_one(FLOOR / self.a[i])
                self.a[i] = FLOOR
        self.scale = ldexp(self.scale, e)

    cdef double information(self) noexcept nogil:
        return self.sums + self.d * K.log_one(self.scale)

    cdef int adopt(self, Model other) except -1:
        self.forget = (<Diagonal?>other).forget
        return 0

    cdef dict extra(self):
        return {"a": copied(self.a, self.d), "w": copied(self.w, self.d), "scale": self.scale,
                "sums": self.sums}

    cdef int take_extra(self, dict state) except -1:
        scale, sums = float(state["scale"]), float(state["sums"])
        load(self.a, state, "a", self.d)
        load(self.w, state, "w", self.d)
        if not 0.0 < scale <= 1.0 or not sums - sums == 0.0:
            raise ValueError("scale and sums of the state are out of range")
        for i in range(self.d):
            if not self.a[i] > 0.0:
                raise ValueError("a of the state must be > 0")
        self.scale, self.sums = scale, sums
        return 0
