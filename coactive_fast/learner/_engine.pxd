# What stands between a thin class and what was learned: the engine of every family, and that of
# the families whose learners are fed rows.

cimport numpy as np
from libc.stdint cimport int64_t

from coactive_fast._lock cimport (
    Lock, cf_flag, cf_flag_clear, cf_flag_set, cf_number, cf_number_get, cf_number_put,
)
from coactive_fast._table cimport CF_ROW_NULL
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._state cimport State
from coactive_fast.rows._rows cimport Rows, Workspace, row_of


cdef enum:
    BUSY = 16384     # elements touched from which the GIL is let go: some microseconds


cdef class Engine:
    # Typed state of one learner, and the base of its class. The lock is closed until `start` is
    # over.
    cdef Lock lock
    cdef Chance chance         # None where none is at work

    # Everything that learning has changed, the engine being read.
    cdef dict get_state(self)
    # What follows is called with the lock held. `start`: the beginning, from checked parameters by
    # name; `set_options`: what was learned stays, with the same parts. `set_state`, the reverse of
    # `get_state`: all is checked before anything changes.
    cdef int start(self, dict parts) except -1
    cdef bint is_fresh(self) except -1
    cdef int set_state(self, State state) except -1
    cdef int begin_again(self) except -1                     # `reset`
    cdef int set_options(self, dict parts, list changed) except -1


# A round of a learner of rows is a reading, which leaves what it found in a Workspace, and an update,
# which goes on from that. Both are pure functions of the state, the row and the parameters: whether
# a reading comes from an earlier call or is made anew changes no bit.

cdef class Form:
    # The regressions or weights of k >= 1 answers (classes, arms; a filter has one) over d features, 0
    # while they are not known (memory may be there already); `learned` counts the examples. A status
    # below 0 has changed nothing visible.
    cdef Py_ssize_t k, d
    cdef int64_t learned
    cdef Py_ssize_t most           # features there may be at the most, or 0: as many as the first

    # --- with the GIL
    # Memory for k answers, no fewer than before, and rows of d features; what was learned stays.
    cdef int resize(self, Py_ssize_t k, Py_ssize_t d) except -1
    cdef int reserve(self, Workspace ws) except -1         # memory of the workspace, for ws.row
    cdef int set_options(self, Form other) except -1       # its parameters; the state stays
    cdef int raise_error(self, int status) except -1       # what says more than the status
    cdef dict get_state(self)
    cdef int set_state(self, State state) except -1        # into a form that was just made
    cdef np_weights(self)
    cdef np_inverse(self, Py_ssize_t i)
    cdef np_information(self)
    cdef dict health(self)

    # --- without
    cdef double cost(self, Py_ssize_t nnz) noexcept nogil  # of a round: elements read or written
    cdef void prepare(self, Workspace ws) noexcept nogil   # ws.row in the layout that is read
    cdef int read_scores(self, Workspace ws) noexcept nogil     # score alone
    # score and quad. Without ws.writing it is a pure reading, by any number of threads; with it the
    # form finds all that an update needs and repairs its damage. `read_one`: what the update of
    # answer i needs, by who may write.
    cdef int read(self, Workspace ws) noexcept nogil
    cdef int read_one(self, Workspace ws, Py_ssize_t i) noexcept nogil
    # In a run: rows t ... t + count - 1 of X are read next, in this order, while the form may learn.
    # Work that can be shared is done now, for as many of them as the answer says (at least one);
    # `read_ahead_row` then reads row t + i, which stands in ws.row.
    cdef Py_ssize_t read_ahead(self, Rows X, Py_ssize_t t, Py_ssize_t count,
                               Workspace ws) noexcept nogil
    cdef int read_ahead_row(self, Workspace ws, Py_ssize_t i) noexcept nogil
    # An example of answer i with target y, after a reading of ws.row: all or nothing.
    cdef int update(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil
    cdef void flush(self) noexcept nogil                   # what updates have put off

    cdef inline void count(self, Py_ssize_t n) noexcept nogil:
        """One example of n features more."""
        self.learned += 1
        if n > self.d:
            self.d = n


cdef class Rule:
    # How a learner decides and what it learns of an answer: over a form of its own. As it stands it
    # takes the best score, and learns numbers.
    cdef Form form
    cdef bint draws            # choose draws from ws.rng
    cdef bint counts           # choose changes the state: a round is counted
    cdef bint calls_python     # a user's function is called: nobody else may hold the lock
    cdef object raised         # what that has raised in the last round, or None

    cdef int choose(self, Workspace ws) noexcept nogil     # ws.label, and ws.greedy
    # ws.row for answer i, of which the family says y. Unless ws.is_read, it reads what it needs.
    cdef int learn(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil
    cdef int resize(self, Py_ssize_t k, Py_ssize_t d) except -1
    cdef int set_options(self, Rule other) except -1
    cdef dict get_state(self)                              # with that of the form
    cdef int set_state(self, State state) except -1


cdef class RowEngine(Engine):
    # `ws` belongs to the call that set `busy`; others bring their own and keep no cache. Its key is
    # (row, learned, stamp): stamp counts what changes form and rule otherwise.
    cdef Rule rule
    cdef Form form             # that of the rule
    cdef object make           # () -> a fresh rule: what reset() begins with
    cdef Py_ssize_t most       # max_features of the form, or 0
    cdef Py_ssize_t built      # answers of a fresh form
    cdef bint unit_rows        # rows are scaled to length 1
    cdef bint grown            # the rule has not resized since answers were added
    cdef Workspace ws
    cdef cf_flag busy
    cdef int64_t stamp
    # What is read without the lock, as `publish` has left it: k and d of the form, whether rows may
    # be wider than d, whether choosing changes the state, and the entries from which a round is long.
    # rule and form themselves are read so by `current_form` alone, which `replacing` guards.
    cdef cf_number answers, width, open_end, writes, long_from
    cdef cf_flag replacing

    cdef Rule new_rule(self)
    cdef int begin(self, Rule rule, Chance chance) except -1
    cdef void replace(self, Rule rule, Form form) noexcept
    cdef void publish(self) noexcept
    cdef Form current_form(self)
    cdef int check_width(self, Py_ssize_t n, str name) except -1
    cdef int refuse_answer(self, Py_ssize_t i, str name) except -1
    cdef int reserve(self, Workspace ws, bint learning) except -1
    cdef Py_ssize_t choose_row(self, object x) except -1
    cdef bint choose_shared(self, Workspace ws) except -1
    cdef int choose_locked(self, Workspace ws, bint alone) except? -1000
    cdef int learn_row(self, object x, Py_ssize_t i, double y, double weight, str name) except -1
    cdef int learn_locked(self, Workspace ws, Py_ssize_t i, double y, str name) except -1
    cdef int fail(self, int status, str what) except -1
    cdef np.ndarray scores(self, Rows rows)

    # The small parts of a round, in line: called, they would cost a tenth of a small round.

    cdef inline Workspace borrow(self):
        return self.ws if cf_flag_set(&self.busy) else Workspace()

    cdef inline void give_back(self, Workspace ws) noexcept:
        if ws.buffer.held is not None:
            ws.buffer.held = ws.buffer.held_places = None
        if ws is self.ws:
            cf_flag_clear(&self.busy)

    cdef inline int set_row(self, object x, Workspace ws) except -1:
        """Converts and checks x. That may run code of its own, which may change the form: the
        width is checked again with the lock held."""
        ws.given_null = row_of(x, "x", ws.buffer, &ws.given, cf_number_get(&self.width),
                               cf_number_get(&self.open_end)) == CF_ROW_NULL
        ws.brief = ws.given.nnz < cf_number_get(&self.long_from)
        return 0
