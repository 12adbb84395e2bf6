"""Many topics with full feedback over one stream: the rows learned are the same for all, so that
one factor serves them; see _shared.pxd."""

import numpy

cimport numpy as np
from libc.math cimport sqrt
from libc.stddef cimport size_t
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport data_of, refuse
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_OK, cf_get_library, cf_get_table, cf_library, cf_table,
)
from coactive_fast.filtering._models cimport taken
from coactive_fast.filtering._run cimport BLOCK, GROW, Stream
from coactive_fast.learner._engine cimport Ticker
from coactive_fast.learner._rows cimport RowBuffer, Rows
from coactive_fast.metric._kept cimport Forms

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()


cdef class SharedRidge(KernelRidge):
    """The dual ridge regressions of many topics that learn the same rows.

    Parameters
    ----------
    kernel, kernel_params, ridge
        As for `KernelRidge`.
    topics : int
    """

    def __init__(self, kernel, kernel_params, double ridge, Py_ssize_t topics):
        KernelRidge.__init__(self, kernel, kernel_params, ridge, 0)
        self.topics = topics
        self.products = taken(topics, f"{topics} topics")

    def __dealloc__(self):
        L.free(self.all_c)
        L.free(self.products)

    cdef int make_place(self, Py_ssize_t room) except -1:
        cdef Py_ssize_t n = self.gram.factor.n, k
        cdef double *all_c = taken(self.topics * room, f"the coefficients of {self.topics} topics")
        for k in range(self.topics if n else 0):
            memcpy(all_c + k * room, self.all_c + k * self.row, <size_t>n * sizeof(double))
        L.free(self.all_c)
        self.all_c, self.row = all_c, room
        return KernelRidge.make_place(self, room)

    cdef int margins(self, double q, double *out) noexcept nogil:
        """The margins of all topics for the row looked at last: the bits of one topic alone."""
        cdef Py_ssize_t k
        K.scores(self.topics, self.gram.factor.n, self.all_c, self.row, self.u, self.products)
        for k in range(self.topics):
            out[k] = self.products[k] / (1.0 + q)
        return CF_OK if K.all_finite(self.topics, self.products) else CF_ENONFINITE

    cdef int take_all(self, const cf_row *x, Forms forms, const uint8_t *y,
                      double q) noexcept nogil:
        """The labels of that row, one of each topic."""
        cdef Py_ssize_t n = self.gram.factor.n, k
        cdef double pivot = sqrt(self.ridge * (1.0 + q))
        cdef int status = self.take(x, forms, 0.0, 0.0, q)
        if status == CF_OK and self.gram.factor.n > n:
            for k in range(self.topics):
                self.all_c[k * self.row + n] = (
                    (1.0 if y[k] else -1.0) - self.products[k]) / pivot
        return status


cdef class SharedRun:
    """One stream for all topics.

    Parameters
    ----------
    stream : Stream
    relevant : ndarray of bool, shape (T, topics)
    """

    cdef Rows X
    cdef np.ndarray relevant, margins
    cdef SharedRidge model
    cdef RowBuffer buffer
    cdef Forms forms
    cdef cf_row row
    cdef double q
    cdef Py_ssize_t base, ready
    cdef bint decided
    cdef readonly Py_ssize_t done

    def __init__(self, Stream stream, np.ndarray relevant, kernel, kernel_params):
        self.X = stream.rows
        self.relevant = numpy.ascontiguousarray(relevant).view(numpy.uint8)
        self.margins = numpy.zeros((<object>relevant).shape)
        self.model = SharedRidge(kernel, kernel_params, 1.0, (<object>relevant).shape[1])
        self.buffer, self.forms = RowBuffer(), Forms()
        self.buffer.fit(self.X.most)

    def columns(self, k):
        """forwarded, margins and relevant of topic k in the rounds that are over."""
        margins = self.margins[:self.done, k].copy()
        return margins >= 0.0, margins, self.relevant[:self.done, k].astype(bool)

    def run(self, report):
        """All rounds that are left."""
        cdef Ticker ticker = Ticker(report, self.X.n)
        cdef int status = CF_OK
        if self.X.n:
            self.row.n, self.row.nnz = self.X.d, self.X.most
            self.row.i64 = <const int64_t *>self.X.place
            self.model.start(self.X.d)
            self.model.fit(&self.row, self.forms)
        self.base, self.ready = 0, 0
        while self.done < self.X.n:
            with nogil:
                status = self.rounds(ticker)
            if status == GROW:
                self.model.make_room(&self.row, self.forms)
            elif status == CF_OK:
                ticker.pause(self.done)
            else:
                self.model.raise_error(status)
                refuse(status, f"x = X[{self.done}]")

    cdef int rounds(self, Ticker ticker) noexcept nogil:
        cdef Py_ssize_t t, topics = self.model.topics
        cdef double unused
        cdef int status
        while self.done < self.X.n:
            t = self.done
            if not self.decided:
                if t >= self.base + self.ready:
                    self.base = t
                    self.ready = self.model.ahead(
                        self.X, t, min(<Py_ssize_t>BLOCK, self.X.n - t), self.buffer, self.forms)
                self.X.at(t, self.buffer, &self.row)
                status = self.model.look_at(t - self.base, &self.row, self.forms, &unused,
                                            &self.q)
                if status == CF_OK:
                    status = self.model.margins(self.q, data_of(self.margins) + t * topics)
                if status != CF_OK:
                    return status
                self.decided = True
            if not self.model.has_room(&self.row, self.forms):
                return GROW
            status = self.model.take_all(
                &self.row, self.forms,
                <const uint8_t *>np.PyArray_DATA(self.relevant) + t * topics, self.q)
            self.decided = False
            if status != CF_OK:
                return status
            self.done = t + 1
            if ticker.due():
                break
        return CF_OK
