"""The one loop of long runs; see _run.pxd."""

import contextlib

from cpython.exc cimport PyErr_CheckSignals

from coactive_fast._arrays cimport refuse
from coactive_fast._lock cimport cf_number_get
from coactive_fast._table cimport CF_ENOMEM, CF_EVALUE, CF_OK
from coactive_fast.learner._engine cimport Engine, RowEngine
from coactive_fast.rows._rows cimport SPARSE, Rows, Workspace

from coactive_fast.learner._progress import reporter

cdef extern from "<time.h>" nogil:
    """
    /* seconds of the C11 clock; what matters is differences of some hundredths */
    static double cf_seconds(void)
    {
        struct timespec t;
        timespec_get(&t, TIME_UTC);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    }
    """
    double cf_seconds()

cdef Py_ssize_t AHEAD = 48  # rows that are read ahead, at the most
cdef double PAUSE = 0.02  # seconds between two looks at signals: a fifth of what a Ctrl-C may take


cdef class Ticker:
    """Pauses of a long run.

    Parameters
    ----------
    report : callable(done, total) or None
    total : int
        Rounds of the whole run.
    """

    def __init__(self, report, Py_ssize_t total):
        self.report = report
        self.total = total
        self.last = cf_seconds()

    cdef bint due(self) noexcept nogil:
        cdef double now = cf_seconds()
        return now - self.last >= PAUSE or now < self.last  # a clock set back counts as due

    cdef int pause(self, Py_ssize_t done) except -1:
        """Signals and the report; raises what they raise."""
        PyErr_CheckSignals()
        if self.report is not None:
            self.report(done, self.total)
        self.last = cf_seconds()
        return 0


cdef class Run:
    """Rounds without the GIL, but for a pause now and then."""

    cdef object lock(self):
        return None

    cdef int begin(self, Engine engine) except -1:
        return 0

    cdef int end(self, Engine engine, int status) except -1:
        return 0

    cdef int round(self, Engine engine) noexcept nogil:
        return CF_EVALUE

    cdef int supply(self, Engine engine) except -1:
        return 0

    cdef int aside(self, Engine engine) except -1:
        return 0

    cdef int fail(self, Engine engine, int status) except -1:
        return refuse(status, f"round {self.done}")

    def history(self):
        """The rounds that are over, as the family's history."""
        return None

    def play(self, learner, progress):
        """All rounds for a learner, which keeps the history as ``last_history`` whatever ends
        the run.

        Parameters
        ----------
        learner : Learner
        progress : None, bool or callable
        """
        with reporter(progress) as report:
            try:
                self.run(learner._engine, report)
            finally:
                learner.last_history = self.history()
        return learner.last_history

    def run(self, Engine engine, report):
        """All rounds that are left; `done` tells how many there were, whatever ends the run."""
        cdef Ticker ticker = Ticker(report, self.total)
        cdef int status = CF_OK
        while self.done < self.total and status == CF_OK:
            engine.lock.acquire()
            try:
                lock = self.lock()
                with contextlib.nullcontext() if lock is None else lock:
                    status = self.stretch(engine, ticker)
            finally:
                engine.lock.release()
            if status == ASIDE:
                self.aside(engine)
                status = CF_OK
            if status == CF_OK:
                ticker.pause(self.done)
        if status != CF_OK:
            self.fail(engine, status)

    def stretch(self, Engine engine, Ticker ticker):
        """The rounds between two pauses, with all locks held; a status."""
        cdef int status = MORE
        self.begin(engine)
        try:
            while status == MORE:
                with nogil:
                    status = self.rounds(engine, ticker)
                if status == MORE:
                    self.supply(engine)
        finally:
            self.end(engine, status)
        return status

    cdef int rounds(self, Engine engine, Ticker ticker) noexcept nogil:
        """Rounds until a pause is due, the end, or one that fails or wants the GIL."""
        cdef int status = CF_OK
        while self.done < self.total and status == CF_OK:
            status = self.several(engine, min(self.total, (self.done | self.mask) + 1))
            if ticker.due():
                break
        return status

    cdef int several(self, Engine engine, Py_ssize_t until) noexcept nogil:
        cdef int status
        while self.done < until:
            status = self.round(engine)
            if status != CF_OK:
                return status
            self.done += 1
        return CF_OK


cdef class RowRun(Run):
    """Rounds over the rows of a table."""

    cdef int set_rows(self, Rows rows, Py_ssize_t epochs, bint early) except -1:
        """The rows, gone through so many times. early: while one is at work the lines of memory
        that the next one needs are asked for."""
        self.rows, self.total, self.ws = rows, epochs * rows.n, Workspace()
        if early and rows.kind == SPARSE:
            self.ws.next = &self.next
        return 0

    cdef int begin(self, Engine engine) except -1:
        return self.begin_rows(<RowEngine>engine)

    cdef int begin_rows(self, RowEngine engine) except -1:
        """Everything for rounds of this engine, whose rule and form may be others since the last
        pause."""
        cdef Workspace ws = self.ws
        engine.check_width(self.rows.d, "X")
        self.rule, self.form, self.unit_rows = engine.rule, engine.form, engine.unit_rows
        self.rule.resize(self.form.k, self.rows.d)
        ws.reserve_for(self.rows)
        self.form.reserve(ws)
        ws.rng = NULL if engine.chance is None else engine.chance.bits
        ws.is_read = ws.writing = True  # a rule learns from what it has just read
        self.base = self.many = 0
        # the clock takes 25 ns
        self.mask = 15 if self.rows.most < cf_number_get(&engine.long_from) else 0
        return 0

    cdef int read_ahead(self, Form form, Workspace ws) noexcept nogil:
        cdef Py_ssize_t t = self.done
        if t >= self.base + self.many:
            self.base = t
            self.many = form.read_ahead(self.rows, t, min(<Py_ssize_t>AHEAD, self.total - t), ws)
        if not self.rows.at(t, ws.buffer, &ws.row):
            return CF_ENOMEM
        form.prepare(ws)
        return form.read_ahead_row(ws, t - self.base)

    cdef int end(self, Engine engine, int status) except -1:
        self.form.flush()
        (<RowEngine>engine).publish()
        return 0

    cdef int fail(self, Engine engine, int status) except -1:
        return (<RowEngine>engine).fail(status, f"row {self.done % self.rows.n} of X")
