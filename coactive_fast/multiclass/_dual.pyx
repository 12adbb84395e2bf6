"""Confidit in dual form; see _dual.pxd.

A round asks every class for ``u = L^-1 k``, one triangular solve: ``m = u.c`` and
``q = (k(x, x) - u.u) / ridge``. The row then joins the factor of its class for nothing. What
runs without the GIL are the solves of large factors; a user's kernel needs it anyway.
"""

import numpy

cimport numpy as np
from libc.math cimport sqrt
from libc.stddef cimport size_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport data_of
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_EVALUE, CF_OK, cf_get_table, cf_row, cf_table,
)
from coactive_fast.metric._gram cimport Gram
from coactive_fast.metric._kept cimport Errors, Forms
from coactive_fast.multiclass._models cimport Model, Work, table_of

np.import_array()

cdef const cf_table *K = cf_get_table()

cdef enum:
    MANY = 128       # rows of a class from which its solve lets the GIL go


cdef class DualWork:
    def __cinit__(self):
        self.forms = Forms()


cdef class DualRidges(Model):
    def __init__(self, Py_ssize_t k, Policy policy, kernel, kernel_params):
        self.policy, self.kernel, self.kernel_params = policy, kernel, kernel_params
        self.grams, self.coefficients, self.sums = [], [], []
        self.errors = Errors()
        while self.k < k:
            self.add_class()

    cdef int add_class(self) except -1:
        self.grams.append(Gram(self.kernel, self.kernel_params, self.policy.ridge))
        self.coefficients.append(numpy.zeros(16))
        self.sums.append(0.0)
        self.k += 1
        return 0

    cdef int adopt(self, Model other) except -1:
        self.policy.adopt((<DualRidges>other).policy)
        return Model.adopt(self, other)

    cdef int raise_error(self) except -1:
        return self.errors.raise_own()

    # --- reading ------------------------------------------------------------------------------

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        """What lets the GIL go here is the solve itself: the object must be locked for it."""
        return 1e9

    cdef int fit(self, Work w) except -1:
        cdef Py_ssize_t i, most = 0
        if self.policy.normalize:
            w.buffer.fit(w.row.nnz)
        if w.extra is None:
            w.extra = DualWork()
        w.fit(self.k, 0)
        for i in range(self.k):
            most = max(most, (<Gram>self.grams[i]).length())
        if self.k * most > w.v_room:  # a run needs more with every row
            w.fit(self.k, 2 * self.k * most)
        return 0

    cdef void prepare(self, Work w) noexcept nogil:
        self.policy.normal(w)

    cdef int solve(self, Work w, Py_ssize_t i) except -1:
        """m and q of class i, u in its place of v."""
        cdef Gram gram = <Gram>self.grams[i]
        cdef DualWork extra = <DualWork>w.extra
        cdef np.ndarray c = <np.ndarray>self.coefficients[i]
        cdef Py_ssize_t n = gram.factor.n
        cdef double *u = w.v + i * (w.v_room // self.k)
        cdef int status
        gram.fit(&w.row, extra.forms)
        if n >= MANY:
            with nogil:
                gram.gather(&w.row, extra.forms)
                status = gram.solve(&w.row, extra.forms, u, &extra.own)
        else:
            gram.gather(&w.row, extra.forms)
            status = gram.solve(&w.row, extra.forms, u, &extra.own)
        if status != CF_OK:
            gram.kept.raise_error()
            raise ValueError("x is too large: its kernel with itself or a stored row is not "
                             "finite")
        w.m[i] = K.dot(n, u, data_of(c))
        w.q[i] = max(extra.own - K.dot(n, u, u), 0.0) / self.policy.ridge
        return 0

    cdef int read_under_lock(self, Work w) noexcept:
        cdef Py_ssize_t i
        try:
            self.fit(w)
            for i in range(self.k):
                self.solve(w, i)
        except BaseException as error:
            self.errors.keep(error)
            return CF_EVALUE
        w.null = (<DualWork>w.extra).own == 0.0
        return CF_OK

    cdef int read_scores(self, Work w) noexcept nogil:
        with gil:
            return self.read_under_lock(w)

    cdef int read(self, Work w) noexcept nogil:
        cdef int status
        with gil:
            status = self.read_under_lock(w)
        if status != CF_OK:
            return status
        if w.null:
            w.exploit = w.label = 0
            return CF_OK
        return self.policy.decide(w, self.k, self.rounds)

    cdef int read_for(self, Work w, Py_ssize_t label) noexcept nogil:
        with gil:
            try:
                self.fit(w)
                self.solve(w, label)
            except BaseException as error:
                self.errors.keep(error)
                return CF_EVALUE
            w.null = (<DualWork>w.extra).own == 0.0
            return CF_OK

    # --- changing -----------------------------------------------------------------------------

    cdef int learn(self, Work w, Py_ssize_t label, bint correct) noexcept nogil:
        cdef int status
        with gil:
            status = self.store(w, label, correct)
        if status == CF_OK:
            self.count(w.row.n)
        return status

    cdef int store(self, Work w, Py_ssize_t label, bint correct) noexcept:
        """The row joins the rows of its class, unless it is null in the feature space."""
        cdef Gram gram = <Gram>self.grams[label]
        cdef Forms forms = (<DualWork>w.extra).forms
        cdef np.ndarray c = <np.ndarray>self.coefficients[label]
        cdef Py_ssize_t n = gram.factor.n
        cdef double m = w.m[label], q = w.q[label], beta, pivot
        cdef double *u = w.v + label * (w.v_room // self.k)
        if (<DualWork>w.extra).own == 0.0:
            return CF_OK
        if not (self.policy.steps(m, q) and (<DualWork>w.extra).own / self.policy.ridge <= 1e300):
            return CF_ENONFINITE
        try:
            if n >= np.PyArray_DIM(c, 0):
                c = <np.ndarray>numpy.zeros(2 * n)
                c[:n] = self.coefficients[label]
            gram.fit(&w.row, forms)
            if not gram.has_room(&w.row, forms):
                gram.make_room(&w.row, forms)
        except BaseException as error:
            self.errors.keep(error)
            return CF_EVALUE
        beta = self.policy.sign(w, correct)  # nothing can fail any more
        pivot = sqrt(self.policy.ridge * (1.0 + q))
        gram.append(&w.row, forms, u, pivot)
        data_of(c)[n] = (beta - m) / pivot
        self.coefficients[label] = c
        self.sums[label] = <double>self.sums[label] + K.log1p_one(q)
        self.policy.learned(q)
        return CF_OK

    # --- arrays and states --------------------------------------------------------------------

    cdef np_weights(self):
        raise AttributeError('there are no weights with covariance="kernel"')

    cdef np_inverse(self, Py_ssize_t i):
        raise ValueError('there is no inverse with covariance="kernel"')

    cdef np_information(self):
        return numpy.array(self.sums)

    cdef dict state(self):
        cdef Py_ssize_t i
        classes = []
        for i in range(self.k):
            gram = <Gram>self.grams[i]
            classes.append({"gram": gram.state(), "information": self.sums[i],
                            "c": self.coefficients[i][:gram.factor.n].copy()})
        return {**Model.state(self), "explained": self.policy.explained, "classes": classes}

    cdef int restore(self, dict state) except -1:
        cdef Gram gram
        cdef Py_ssize_t i
        self.policy.restore(state)
        Model.restore(self, state)
        for i in range(self.k):
            one, gram = state["classes"][i], <Gram>self.grams[i]
            if not isinstance(one, dict) or type(one["information"]) is not float:
                raise ValueError("classes of the state must tell rows, coefficients, information")
            gram.restore(one["gram"])
            c = table_of(one, "c", (gram.factor.n,))
            self.coefficients[i] = numpy.concatenate((c, numpy.zeros(16)))
            self.sums[i] = one["information"]
        return 0
