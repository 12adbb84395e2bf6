# The one loop of long runs: locks, pauses, progress, and what is left when one ends early.

from coactive_fast._table cimport CF_OK, cf_row
from coactive_fast.learner._engine cimport Engine, Form, RowEngine, Rule
from coactive_fast.rows._rows cimport Rows, Workspace

# Statuses of `round` beside those of the library (which are <= 0).
cdef enum:
    MORE = 1         # the round wants the GIL: memory, or what a family keeps in Python
    ASIDE = 2        # it wants Python of the user's, which must find no lock held: a warning


cdef class Ticker:
    # A long run's watch: when it is due the run pauses at a round boundary, with the GIL.
    cdef object report         # callable(done, total) or None
    cdef Py_ssize_t total
    cdef double last           # seconds, of the last pause

    cdef bint due(self) noexcept nogil
    cdef int pause(self, Py_ssize_t done) except -1


cdef class Run:
    # One run of an engine over `total` rounds. The locks are acquired in one order everywhere: first
    # the engine's, then that of a generator that users may draw from too. A family supplies what
    # follows; all of it is called with both locks held.
    cdef readonly Py_ssize_t done      # rounds that are over
    cdef Py_ssize_t total
    cdef Py_ssize_t mask               # looks at the clock: whenever done & mask is 0

    cdef object lock(self)                                 # of a user's generator, or None
    # After each pause: what a reader may have changed is looked at again.
    cdef int begin(self, Engine engine) except -1
    cdef int end(self, Engine engine, int status) except -1
    # Round number `done`; a status that is not CF_OK has left it undone.
    cdef int round(self, Engine engine) noexcept nogil
    # Rounds up to number `until`, counted in `done`, or one that fails: for a family whose rounds
    # are so short that a call for each is felt.
    cdef int several(self, Engine engine, Py_ssize_t until) noexcept nogil
    cdef int rounds(self, Engine engine, Ticker ticker) noexcept nogil
    # After MORE, with the GIL; the round is then tried again.
    cdef int supply(self, Engine engine) except -1
    # After ASIDE, without the locks: the whole round, counted in `done`.
    cdef int aside(self, Engine engine) except -1
    # Raises what the status of round `done` means.
    cdef int fail(self, Engine engine, int status) except -1


cdef class RowRun(Run):
    # Rounds that take row `done` of a table, which begins anew at its end. `begin` has rule and form
    # ready for all of them; a family adds `round` (without the GIL a method cannot put these into
    # local variables: it hands them on as arguments) and `history`.
    cdef Rows rows
    cdef Workspace ws
    cdef Rule rule             # those of the engine since the last pause
    cdef Form form
    cdef bint unit_rows
    cdef cf_row next           # the places of the row that comes next, which are asked for early
    cdef Py_ssize_t base, many # the first of the rows that are read ahead, and how many they are

    cdef int set_rows(self, Rows rows, Py_ssize_t epochs, bint early) except -1
    cdef int begin_rows(self, RowEngine engine) except -1
    # The reading of the row of this round, of which the form may have done a part for many at once.
    cdef int read_ahead(self, Form form, Workspace ws) noexcept nogil

    # The row of this round, in the layout that is read.
    cdef inline int read_row(self, Form form, Workspace ws) noexcept nogil:
        cdef Py_ssize_t t = self.done % self.rows.n
        cdef int status = ws.load(self.rows, t)
        if status == CF_OK:
            if self.unit_rows:
                ws.scale_row()
            form.prepare(ws)
            if ws.next != NULL:
                self.rows.places(t + 1 if t + 1 < self.rows.n else 0, ws.next)
        return status
