"""Whole streams through a filter in one compiled loop, and many topics over one stream."""

import contextlib

import numpy

cimport numpy as np
from libc.stdint cimport int64_t, uint8_t

from coactive_fast._arrays cimport as_vector, data_of, new_vector, refuse_non_finite
from coactive_fast._table cimport CF_OK, cf_get_library, cf_get_table, cf_library, cf_row, cf_table
from coactive_fast.filtering._engine cimport COIN, Bench, FilterEngine
from coactive_fast.filtering._models cimport Model
from coactive_fast.learner._engine cimport Ticker
from coactive_fast.learner._rows cimport RowBuffer, Rows, rows_of

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()


def flags(y, Py_ssize_t n, str name="y"):
    """Booleans, one a row of X."""
    try:
        given = numpy.asarray(y)
    except (ValueError, TypeError) as error:
        raise TypeError(f"{name} must be a sequence of True and False: {error}") from None
    if given.size == 0:
        given = given.astype(bool)
    if given.dtype.kind != "b":
        raise TypeError(f"{name} must hold True and False, got dtype {given.dtype}")
    if given.ndim != 1:
        raise ValueError(f"{name} must have 1 dimension, got shape {given.shape}")
    if given.size != n:
        raise ValueError(f"{name} must have length {n} to go with X, got {given.size}")
    return given


cdef class Stream:
    """Checked rows, which several runs may read at once.

    Parameters
    ----------
    X : array_like or scipy.sparse matrix of shape (T, d)
    """

    def __init__(self, X):
        self.rows = rows_of(X, "X")
        self.given = X.tocsr() if hasattr(X, "tocsr") else numpy.asarray(X)

    def __len__(self):
        return self.rows.n

    def products(self, u):
        """u.x of every row."""
        cdef np.ndarray v = as_vector(u, "u"), out = new_vector(self.rows.n)
        cdef RowBuffer buffer = RowBuffer()
        cdef cf_row x
        cdef Py_ssize_t t
        if np.PyArray_DIM(v, 0) != self.rows.d:
            raise ValueError(f"u must have length {self.rows.d} to go with X, got "
                             f"{np.PyArray_DIM(v, 0)}")
        refuse_non_finite(v, "u")
        buffer.fit(self.rows.most)
        with nogil:
            for t in range(self.rows.n):
                self.rows.at(t, buffer, &x)
                data_of(out)[t] = K.ridge_dot(&x, data_of(v))
        if not K.all_finite(self.rows.n, data_of(out)):
            raise ValueError("u is too large: u.x overflows")
        return out


cdef class FilterRun:
    """One stream for one filter: what was decided, and how far it is.

    Parameters
    ----------
    stream : Stream
    relevant : ndarray of bool
    full : bool
        Whether every label is learned.
    """

    def __init__(self, Stream stream, np.ndarray relevant, bint full):
        self.X, self.given, self.full = stream.rows, stream.given, full
        self.relevant = numpy.ascontiguousarray(relevant).view(numpy.uint8)
        self.forwarded = numpy.zeros(self.X.n, dtype=numpy.uint8)
        self.margins = numpy.zeros(self.X.n)
        self.bench = Bench()
        self.bench.buffer.fit(self.X.most)

    def columns(self):
        """forwarded, margins and relevant of the rounds that are over."""
        return (self.forwarded[:self.done].astype(bool), self.margins[:self.done],
                self.relevant[:self.done].astype(bool))

    def loop(self, engine, report):
        """The same by single calls, for an engine that is Python's."""
        self.begun = True
        for t in range(self.done, self.X.n):
            x = self.given[t] if isinstance(self.given, numpy.ndarray) else self.given[t:t + 1]
            self.margins[t] = engine.margin(x)
            self.forwarded[t] = engine.forward(x)
            if self.full or self.forwarded[t]:
                engine.learn(x, bool(self.relevant[t]))
            self.done = t + 1
            if report is not None:
                report(self.done, self.X.n)

    def run(self, FilterEngine engine, report):
        """All rounds that are left; `done` tells how many there were, whatever ends the run."""
        cdef Ticker ticker = Ticker(report, self.X.n)
        cdef int status = CF_OK
        cdef bint unknown = engine.model.d == 0
        cdef Model model
        lock = contextlib.nullcontext()
        if engine.rule == COIN:
            lock = engine.chance.generator.bit_generator.lock
        while self.done < self.X.n and status == CF_OK:
            with lock:
                engine.guard.begin_write()
                try:
                    status = self.turn(engine, ticker)
                finally:
                    engine.guard.end_write()
            if status == CF_OK:
                ticker.pause(self.done)
        if status != CF_OK:
            model = engine.model
            if unknown and self.done == 0 and not self.decided and model.learned == 0:
                engine.guard.settle_write()
                engine.model = engine.make()  # the row that brought the dimension was refused
            model.raise_error(status)
            engine.refuse(status)

    cdef int turn(self, FilterEngine engine, Ticker ticker) except *:
        """Rounds until the next pause; the lock is held."""
        cdef cf_row x
        cdef Model model
        cdef int status = GROW
        engine.seen = False
        x.n, x.nnz, x.value, x.i32, x.i64 = self.X.d, self.X.most, NULL, NULL, NULL
        if self.X.place != NULL:
            x.i64 = <const int64_t *>self.X.place  # that it is not NULL is all that counts
        engine.know(&x, "X")
        self.begun = True
        model = engine.model
        model.fit(&x, self.bench.forms)
        self.base, self.ready = 0, 0  # what was looked at ahead may be out of date
        while status == GROW:
            with nogil:
                status = self.rounds(engine, model, ticker)
            if status == GROW:
                model.make_room(&self.bench.row, self.bench.forms)
        return status

    cdef int rounds(self, FilterEngine engine, Model model, Ticker ticker) noexcept nogil:
        """Rounds until a pause is due, the end, or one that fails or wants memory."""
        cdef Py_ssize_t t, mask = 0 if model.busy() else 7  # a look at the clock takes 25 ns
        cdef int status
        while self.done < self.X.n:
            t = self.done
            if not self.decided:
                if t >= self.base + self.ready:
                    self.base = t
                    self.ready = model.ahead(self.X, t, min(<Py_ssize_t>BLOCK, self.X.n - t),
                                             self.bench.buffer, self.bench.forms)
                status = self.decide(engine, model, t, t - self.base)
                if status != CF_OK:
                    return status
            status = self.learn(model, t)
            if status != CF_OK:
                return status
            self.done = t + 1
            if (t & mask) == 0 and ticker.due():
                break
        return CF_OK

    cdef int decide(self, FilterEngine engine, Model model, Py_ssize_t t,
                    Py_ssize_t i) noexcept nogil:
        cdef int status
        self.X.at(t, self.bench.buffer, &self.bench.row)
        status = model.look_at(i, &self.bench.row, self.bench.forms, &self.m, &self.q)
        if status != CF_OK:
            return status
        data_of(self.margins)[t] = self.m / (1.0 + self.q)
        (<uint8_t *>np.PyArray_DATA(self.forwarded))[t] = engine.decide(self.m, self.q)
        engine.rounds += 1
        self.decided = True
        return CF_OK

    cdef int learn(self, Model model, Py_ssize_t t) noexcept nogil:
        """The label of the row looked at last, where it is seen."""
        cdef int status
        cdef double y
        if self.full or (<uint8_t *>np.PyArray_DATA(self.forwarded))[t]:
            if not model.has_room(&self.bench.row, self.bench.forms):
                return GROW
            y = 1.0 if (<uint8_t *>np.PyArray_DATA(self.relevant))[t] else -1.0
            status = model.take(&self.bench.row, self.bench.forms, y, self.m, self.q)
            if status != CF_OK:
                self.decided = False
                return status
        self.decided = False
        return CF_OK
