"""The filters' ridge regression in dual form; see _kernel.pxd."""

import numpy

cimport numpy as np
from libc.math cimport ldexp, sqrt
from libc.stddef cimport size_t
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport data_of
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_EVALUE, CF_OK, cf_get_library, cf_get_table, cf_library, cf_pad, cf_table,
)
from coactive_fast.filtering._full cimport settled
from coactive_fast.filtering._models cimport Model, copied, load, taken
from coactive_fast.learner._rows cimport RowBuffer, Rows
from coactive_fast.metric._kept cimport Forms

from coactive_fast.metric._memory import refuse_beyond_limit

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    BUSY = 128       # examples kept from which a solve lets the GIL go
    AHEAD = 96       # and from which rows are looked at in blocks
    SIDES = 6        # rows of a block: a multiple of what the kernels take at once
    WORK = 2000000000  # flops of a block, some 30 ms: a signal must not wait for long

cdef double LARGE = ldexp(1.0, 44)  # times ridge: rounding of k(x, x) is then some of the ridge


cdef class KernelRidge(Model):
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
        L.free(self.c)
        L.free(self.born)
        L.free(self.own_u)
        L.free(self.drop)

    cdef int start(self, Py_ssize_t d) except -1:
        self.d = d
        return self.make_place(16)

    cdef int make_place(self, Py_ssize_t room) except -1:
        """Memory for so many examples, beside the factor's own."""
        cdef Py_ssize_t n = min(self.gram.factor.n, self.room)  # what there is to keep
        cdef double *y = taken(room + 16, "labels")
        cdef double *c = taken(room + 16, "coefficients")
        cdef double *u = taken(room + 16, "a row")
        cdef double *drop = taken(3 * (room + 16), "scratch")
        cdef int64_t *born = <int64_t *>taken(room + 16, "numbers")
        if n:
            memcpy(y, self.y, <size_t>n * sizeof(double))
            memcpy(c, self.c, <size_t>n * sizeof(double))
            memcpy(born, self.born, <size_t>n * sizeof(int64_t))
        if self.own_u != NULL:
            memcpy(u, self.u, <size_t>min(self.gram.length(), self.room + 16) * sizeof(double))
        self.give_back()
        self.y, self.c, self.own_u, self.drop, self.born = y, c, u, drop, born
        self.u = u
        self.room = room
        return 0

    cdef int fit(self, const cf_row *x, Forms forms) except -1:
        return self.gram.fit(x, forms)

    cdef bint busy(self) noexcept nogil:
        return self.gram.factor.n >= BUSY or self.d >= 1 << 14 or self.gram.kept.callable()

    # --- reading ------------------------------------------------------------------------------

    cdef Py_ssize_t scratch(self) noexcept nogil:
        return self.gram.length()

    cdef int answer(self, const double *u, double own, double *m, double *q) noexcept nogil:
        cdef Py_ssize_t n = self.gram.factor.n
        m[0] = K.dot(n, u, self.c)
        q[0] = max(own - K.dot(n, u, u), 0.0) / self.ridge
        return CF_OK if m[0] - m[0] == 0.0 and q[0] - q[0] == 0.0 else CF_ENONFINITE

    cdef int read(self, const cf_row *x, Forms forms, double *scratch, double *m,
                  double *q) noexcept nogil:
        cdef double own
        cdef int status
        m[0] = q[0] = 0.0
        if self.d == 0:
            return CF_OK
        self.gram.gather(x, forms)
        status = self.gram.solve(x, forms, scratch, &own)
        return self.answer(scratch, own, m, q) if status == CF_OK else status

    cdef int look(self, const cf_row *x, Forms forms, double *m, double *q) noexcept nogil:
        cdef int status
        self.u = self.own_u
        self.gram.gather(x, forms)
        status = self.gram.solve(x, forms, self.u, &self.own)
        return self.answer(self.u, self.own, m, q) if status == CF_OK else status

    # --- reading ahead ------------------------------------------------------------------------

    cdef Py_ssize_t ahead(self, Rows X, Py_ssize_t t, Py_ssize_t count, RowBuffer buffer,
                          Forms forms) noexcept nogil:
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
        self.prepare_block(X, t, count, buffer, forms)
        return count

    cdef void prepare_block(self, Rows X, Py_ssize_t t, Py_ssize_t count, RowBuffer buffer,
                            Forms forms) noexcept nogil:
        cdef Py_ssize_t n = self.gram.factor.n, i, at = n & ~<Py_ssize_t>7
        cdef double *u
        cdef cf_row x
        for i in range(count):
            u = self.block + i * self.stride
            X.at(t + i, buffer, &x)
            self.gram.gather(&x, forms)
            if (self.gram.kept.own(&x, self.owns + i) != CF_OK
                    or self.gram.kept.values(&x, forms, 0, u) != CF_OK):
                break  # that row will be refused when it is looked at
            memset(u + n, 0, <size_t>(self.stride - n) * sizeof(double))
            memcpy(self.tails + 8 * i, u + at, 8 * sizeof(double))
        else:
            i = count
        self.block_count, self.block_n = i, n
        K.cholesky_forward_many(&self.gram.factor, i, self.block, self.stride)

    cdef int look_at(self, Py_ssize_t i, const cf_row *x, Forms forms, double *m,
                     double *q) noexcept nogil:
        cdef int status = CF_OK
        if i >= self.block_count:
            return self.look(x, forms, m, q)
        self.u = self.block + i * self.stride
        self.own = self.owns[i]
        self.gram.gather(x, forms)
        if self.gram.factor.n > self.block_n:
            status = self.finish(i, x, forms)
        return self.answer(self.u, self.own, m, q) if status == CF_OK else status

    cdef int finish(self, Py_ssize_t i, const cf_row *x, Forms forms) noexcept nogil:
        """The solve goes on through the examples that came after the block was prepared."""
        cdef Py_ssize_t at = self.block_n & ~<Py_ssize_t>7
        cdef int status = self.gram.kept.values(x, forms, self.block_n, self.u + self.block_n)
        if status == CF_OK:
            memcpy(self.u + at, self.tails + 8 * i,
                   <size_t>(self.block_n - at) * sizeof(double))
            K.cholesky_forward_from(&self.gram.factor, at, self.u, self.u)
        return status

    # --- learning -----------------------------------------------------------------------------

    cdef bint has_room(self, const cf_row *x, Forms forms) noexcept nogil:
        return self.gram.factor.n < self.room and self.gram.has_room(x, forms)

    cdef int make_room(self, const cf_row *x, Forms forms) except -1:
        self.gram.make_room(x, forms)
        if self.gram.room > self.room:
            self.make_place(self.gram.room)
        return 0

    cdef int take(self, const cf_row *x, Forms forms, double y, double m, double q) noexcept nogil:
        cdef int status = CF_OK
        if self.own != 0.0:
            if not self.own / self.ridge < LARGE:
                return CF_EVALUE
            status = self.store(x, forms, y, m, q)
        if status == CF_OK:
            self.learned += 1
            self.expire()
        return status

    cdef int store(self, const cf_row *x, Forms forms, double y, double m,
                   double q) noexcept nogil:
        cdef Py_ssize_t n = self.gram.factor.n
        cdef double pivot = sqrt(self.ridge * (1.0 + q))
        self.gram.append(x, forms, self.u, pivot)
        self.y[n], self.c[n], self.born[n] = y, (y - m) / pivot, self.learned
        self.info += K.log1p_one(q)
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
            raise ValueError(f"x is too large: k(x, x) must be below {LARGE:g} times the ridge, "
                             f"got {self.own:g}; beyond that rounding drowns a margin")
        return 0

    # --- state --------------------------------------------------------------------------------

    cdef dict extra(self):
        cdef Py_ssize_t n = self.gram.factor.n
        cdef np.ndarray born = <np.ndarray>numpy.empty(n, dtype=numpy.int64)
        if n:
            memcpy(np.PyArray_DATA(born), self.born, <size_t>np.PyArray_NBYTES(born))
        return {"gram": self.gram.state(), "y": copied(self.y, n), "c": copied(self.c, n),
                "born": born, "info": self.info}

    cdef int take_extra(self, dict state) except -1:
        cdef Py_ssize_t n, s
        gram = state["gram"]
        if not isinstance(gram, dict):
            raise TypeError(f"gram of the state must be a dict, got {type(gram).__name__}")
        self.gram.restore(gram)
        n = self.gram.factor.n
        if n and self.gram.kept.d != self.d:
            raise ValueError("the rows of the state do not fit its d")
        self.make_place(max(n, 16))
        load(self.y, state, "y", n)
        load(self.c, state, "c", n)
        born = numpy.asarray(state["born"])
        if born.dtype.kind not in "iu" or born.shape != (n,) or not (
                n == 0 or (born[0] >= 0 and born[-1] < self.learned
                           and (numpy.diff(born) > 0).all())):
            raise ValueError("born of the state must ascend below learned")
        for s in range(n):
            self.born[s] = born[s]
        info = float(state["info"])
        if not info - info == 0.0:
            raise ValueError("info of the state must be finite")
        self.info = info
        return 0


cdef class BudgetRidge(KernelRidge):
    """At most `budget` examples are kept (approximate linear dependence).

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
        KernelRidge.__init__(self, kernel, kernel_params, ridge, 0)
        self.gram = Gram(kernel, kernel_params, 0.0)
        self.budget, self.tolerance = budget, tolerance

    def __dealloc__(self):
        L.free(self.memory)

    cdef int start(self, Py_ssize_t d) except -1:
        cdef Py_ssize_t padded = cf_pad(self.budget)
        cdef double *block
        refuse_beyond_limit(18.0 * self.budget * self.budget, f"a budget of {self.budget} examples",
                            "a smaller one takes less")
        inner = Full(self.budget, ridge=self.ridge)
        block = taken(4 * padded + L.full_scratch(self.budget), "a budget")
        L.free(self.memory)
        self.memory = block
        self.w, self.w_next, self.v = block, block + padded, block + 2 * padded
        self.z, self.work = block + 3 * padded, block + 4 * padded
        self.inner = inner
        return KernelRidge.start(self, d)

    cdef Py_ssize_t scratch(self) noexcept nogil:
        return self.gram.length() + 2 * cf_pad(self.budget)

    cdef int answer(self, const double *u, double own, double *m, double *q) noexcept nogil:
        """By what is kept; `read` only, since it writes behind u."""
        cdef Py_ssize_t n = self.gram.factor.n
        cdef double rest = max(own - K.dot(n, u, u), 0.0)
        m[0] = K.dot(n, u, self.w)
        q[0] = rest / self.ridge
        return CF_OK if m[0] - m[0] == 0.0 and q[0] - q[0] == 0.0 else CF_ENONFINITE

    cdef int read(self, const cf_row *x, Forms forms, double *scratch, double *m,
                  double *q) noexcept nogil:
        cdef Py_ssize_t n = self.gram.factor.n
        cdef double *z = scratch + self.gram.length()
        cdef double *v = z + cf_pad(self.budget)
        cdef int status = KernelRidge.read(self, x, forms, scratch, m, q)
        if status != CF_OK or self.d == 0:
            return status
        memset(z, 0, <size_t>cf_pad(self.budget) * sizeof(double))
        memcpy(z, scratch, <size_t>n * sizeof(double))
        K.symv_less(&self.inner.core.b, self.inner.core.w, z, v)
        q[0] += K.dot(self.budget, z, v)
        return CF_OK

    cdef int look(self, const cf_row *x, Forms forms, double *m, double *q) noexcept nogil:
        cdef int status = KernelRidge.look(self, x, forms, m, q)
        return self.within(m, q) if status == CF_OK else status

    cdef int look_at(self, Py_ssize_t i, const cf_row *x, Forms forms, double *m,
                     double *q) noexcept nogil:
        cdef int status
        if i >= self.block_count:
            return self.look(x, forms, m, q)
        status = KernelRidge.look_at(self, i, x, forms, m, q)
        return self.within(m, q) if status == CF_OK else status

    cdef int within(self, double *m, double *q) noexcept nogil:
        """The part of q inside the dictionary's span."""
        cdef Py_ssize_t n = self.gram.factor.n
        memset(self.z, 0, <size_t>cf_pad(self.budget) * sizeof(double))
        memcpy(self.z, self.u, <size_t>n * sizeof(double))
        K.symv_less(&self.inner.core.b, self.inner.core.w, self.z, self.v)
        q[0] += K.dot(self.budget, self.z, self.v)
        return CF_OK

    cdef bint has_room(self, const cf_row *x, Forms forms) noexcept nogil:
        return self.gram.factor.n >= self.budget or KernelRidge.has_room(self, x, forms)

    cdef int store(self, const cf_row *x, Forms forms, double y, double m,
                   double q) noexcept nogil:
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
        K.axpy(self.budget, (y - m) / (1.0 + quad), self.v, self.w_next)
        if not K.all_finite(self.budget, self.w_next):
            return CF_ENONFINITE
        L.full_accept(&self.inner.core, K, self.z, 1.0, self.v, quad, self.work)
        self.w, self.w_next = self.w_next, self.w
        if joins:
            self.gram.append(x, forms, self.u, self.z[n])
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
        return {**KernelRidge.extra(self), "w": copied(self.w, self.budget),
                "inner": settled(self.inner), "missed": self.missed}

    cdef int take_extra(self, dict state) except -1:
        inner, missed = Full.from_state(state["inner"]), float(state["missed"])
        if (<Full>inner).core.n != self.budget or (<Full>inner).core.robust or not missed >= 0.0:
            raise ValueError("inner and missed of the state do not fit")
        load(self.w, state, "w", self.budget)
        KernelRidge.take_extra(self, state)
        if self.gram.factor.n > self.budget:
            raise ValueError("the state keeps more than the budget")
        self.inner, self.missed = inner, missed
        return 0
