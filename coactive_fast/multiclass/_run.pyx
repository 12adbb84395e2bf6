"""Whole streams of a multiclass learner: choose and learn, row after row, in one compiled loop.

While one row is at work the lines of memory that the next one needs are asked for. The loop
pauses at round boundaries: for signals, for the caller's report, and to let readers in.
"""

import contextlib

cimport cython
cimport numpy as np

from coactive_fast._arrays cimport data_of
from coactive_fast._table cimport CF_ENOMEM, CF_OK, CF_ROW_NULL, cf_get_table, cf_row, cf_table
from coactive_fast.learner._engine cimport Ticker
from coactive_fast.learner._rows cimport SPARSE, Rows, labels_of, rows_of
from coactive_fast.multiclass._engine cimport MulticlassEngine
from coactive_fast.multiclass._models cimport Banditron, Model, Work

np.import_array()

cdef const cf_table *K = cf_get_table()


def checked(X, y, Py_ssize_t k):
    """The rows and their labels."""
    cdef Rows rows = rows_of(X, "X")
    return rows, labels_of(y, "y", rows.n, k)


@cython.final
cdef class MulticlassRun:
    """One run: its stream, and the record of what happened.

    Parameters
    ----------
    rows : Rows
    labels : ndarray of intp
    epochs : int
    choices : ndarray of intp
    mistakes, explored : ndarray of bool
        One entry a round.
    """

    cdef Rows rows
    cdef np.ndarray labels, choices, mistakes, explored
    cdef Py_ssize_t total, top  # top: the largest label, -1 where there is none
    cdef readonly Py_ssize_t done
    cdef Work work
    cdef cf_row next           # its places alone

    def __init__(self, Rows rows, np.ndarray labels, Py_ssize_t epochs, np.ndarray choices,
                 np.ndarray mistakes, np.ndarray explored):
        self.rows, self.labels = rows, labels
        self.choices, self.mistakes, self.explored = choices, mistakes, explored
        self.total = epochs * rows.n
        self.top = labels.max() if rows.n else -1
        self.work = Work()
        if rows.kind == SPARSE:
            self.work.next = &self.next

    def run(self, MulticlassEngine engine, report):
        """All rounds that are left; `done` tells how many there were, whatever ends the run."""
        cdef Ticker ticker = Ticker(report, self.total)
        cdef int status = CF_OK
        lock = contextlib.nullcontext()
        if engine.chance is not None:
            lock = engine.chance.generator.bit_generator.lock
        while self.done < self.total and status == CF_OK:
            with lock:
                engine.guard.begin_write()
                try:
                    self.prepare(engine)
                    with nogil:
                        status = self.rounds(engine, engine.model, self.work, ticker)
                        engine.model.settle()
                finally:
                    engine.guard.end_write()
            if status == CF_OK:
                ticker.pause(self.done)
        if status != CF_OK:
            engine.fail(status, f"row {self.done % self.rows.n} of X")

    cdef int prepare(self, MulticlassEngine engine) except -1:
        """What a reader may have changed since the last pause is looked at again."""
        cdef Work w = self.work
        if self.top >= engine.model.k:
            raise ValueError(f"y must hold labels in 0 ... {engine.model.k - 1}, got {self.top}: "
                             "the learner has lost classes during the run")
        engine.width(self.rows.d, "X")
        engine.model.make_room(self.rows.d)
        w.buffer.fit(self.rows.most)
        w.row.n, w.row.nnz = self.rows.d, self.rows.most
        engine.model.fit(w)
        w.bits = NULL if engine.chance is None else engine.chance.bits
        return 0

    cdef int rounds(self, MulticlassEngine engine, Model model, Work w,
                    Ticker ticker) noexcept nogil:
        """Rounds until the next pause, the end, or one that fails and changes nothing."""
        cdef Py_ssize_t n = self.rows.n, t = self.done % n, mask
        cdef int status
        # a look at the clock takes 25 ns
        mask = 0 if model.cost(self.rows.most) > 1e5 else 15
        while self.done < self.total:
            if not self.rows.at(t, w.buffer, &w.row):
                return CF_ENOMEM
            w.null = K.row_check(w.row.nnz, w.row.value) == CF_ROW_NULL
            model.prepare(w)
            t = t + 1 if t + 1 < n else 0
            if self.rows.kind == SPARSE:
                self.rows.places(t, &self.next)
            status = self.one(engine, model, w)
            if status != CF_OK:
                return status
            self.done += 1
            if (self.done & mask) == 0 and ticker.due():
                break
        return CF_OK

    cdef int one(self, MulticlassEngine engine, Model model, Work w) noexcept nogil:
        cdef const Py_ssize_t *labels = <const Py_ssize_t *>np.PyArray_DATA(self.labels)
        cdef Py_ssize_t right = labels[self.done % self.rows.n], label
        cdef int status = engine.read_round(w)
        if status != CF_OK:
            return status
        if engine.draws:
            (<Banditron>model).draw(w)
        label = w.label
        status = model.learn(w, label if engine.bandit else right, label == right)
        if status == CF_OK:
            (<Py_ssize_t *>np.PyArray_DATA(self.choices))[self.done] = label
            (<char *>np.PyArray_DATA(self.mistakes))[self.done] = label != right
            (<char *>np.PyArray_DATA(self.explored))[self.done] = label != w.exploit
        return status
