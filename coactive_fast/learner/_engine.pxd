# What stands between a thin class and what was learned: the engine of every family, and that of
# the families whose learners are fed rows.

cimport numpy as np
from libc.stdint cimport int64_t

from coactive_fast._lock cimport Lock, cf_flag, cf_flag_clear, cf_flag_set
from coactive_fast._table cimport CF_ROW_NULL
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._state cimport State
from coactive_fast.rows._rows cimport Rows, Workspace, row_of


cdef enum:
    BUSY = 16384     # elements touched from which the GIL is let go: some microseconds


cdef class Engine:
    # Typed state of one learner: the base of its class, or (rewards, coactive, convex) an object
    # that its class has. The lock is closed until `start` is over.
    cdef Lock lock
    cdef Chance chance         # None where none is at work

    # Everything that learning has changed, the engine being read.
    cdef dict get_state(self)
    # What follows is called with the lock held. `start`: the beginning, from checked parameters by
    # name; `set_options`: what was learned stays, with the same parts, or (for an object that its
    # class has) with "engine", another one. `take_state`, the reverse of `told`: all is checked
    # before anything changes.
    cdef int start(self, dict parts) except -1
    cdef bint is_fresh(self) except -1
    cdef int set_state(self, State state) except -1
    cdef int begin_again(self) except -1                     # `reset`
    cdef int set_options(self, dict parts, list changed) except -1


# A round of a learner of rows is a reading, which leaves what it found in a Workspace, and a change,
# which takes that up. Both are pure functions of the state, the row and the parameters: whether a
# reading comes from an earlier call or is made anew changes no bit.

cdef class Form:
    # What a learner of rows has learned. Invariants. k >= 1 answers a reading (classes, arms; a
    # filter has one); d features, 0 while they are not known (memory may be there already);
    # `learned` counts the examples. A status below 0 has changed nothing visible.
    cdef Py_ssize_t k, d
    cdef int64_t learned
    cdef Py_ssize_t most           # features there may be at the most, or 0: as many as the first

    # --- with the GIL
    cdef int reserve(self, Workspace ws) except -1                # scratch for ws.row
    cdef int know(self, Py_ssize_t n) except -1            # memory for rows of n features
    cdef int widen(self, Py_ssize_t k) except -1           # k answers, more than before
    cdef int set_options(self, Form other) except -1            # its parameters; the state stays
    cdef int reserve_update(self, Workspace ws) except -1          # for taking ws.row
    cdef int raise_error(self, int status) except -1       # what says more than the status
    cdef dict get_state(self)
    cdef int set_state(self, State state) except -1          # into a model that was just made
    cdef np_weights(self)
    cdef np_inverse(self, Py_ssize_t i)
    cdef np_information(self)
    cdef dict health(self)

    # --- without
    cdef double cost(self, Py_ssize_t nnz) noexcept nogil  # of a round: elements touched
    cdef void prepare(self, Workspace ws) noexcept nogil      # ws.row in the form that is read
    cdef int read_scores(self, Workspace ws) noexcept nogil   # m alone, of the state as it is
    # A pure reading, by any number of threads: m and what the engine decides by.
    cdef int read(self, Workspace ws) noexcept nogil
    # The same by the one who may change the model, with all that `take` needs.
    cdef int look(self, Workspace ws) noexcept nogil
    # Only what `take` of answer i needs.
    cdef int look_at(self, Workspace ws, Py_ssize_t i) noexcept nogil
    # After a reading, where the engine draws: ws.label by chance, from ws.rng.
    cdef void draw(self, Workspace ws) noexcept nogil
    cdef int repair(self, Workspace ws) noexcept nogil        # after CF_ENOTPOSITIVE; then look again
    # In a run: rows t ... t + count - 1 of X are looked at next, in this order, while the model may
    # learn. Work that can be shared is done now, for as many of them as the answer says (at least
    # one); `look_ahead` is then the look at row t + i, which stands in ws.row.
    cdef Py_ssize_t read_ahead(self, Rows X, Py_ssize_t t, Py_ssize_t count, Workspace ws) noexcept nogil
    cdef int read_ahead_row(self, Workspace ws, Py_ssize_t i) noexcept nogil
    # Whether `take` can do without `make_room`.
    cdef bint has_room(self, Workspace ws) noexcept nogil
    # Learns ws.row, after a look at it; y is what the family says of answer i.
    cdef int take(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil
    cdef void flush(self) noexcept nogil                  # what a run has put off

    cdef inline void count(self, Py_ssize_t n) noexcept nogil:
        """One example of n features more."""
        self.learned += 1
        if n > self.d:
            self.d = n


cdef class RowEngine(Engine):
    # `scratch` belongs to the call that set `busy`; others bring their own and keep no cache. Its
    # key is (row, learned, stamp): stamp counts what changes the form otherwise.
    cdef Form form
    cdef object make           # () -> a fresh model: what reset() begins with
    cdef Py_ssize_t most       # max_features of the model, or 0
    cdef bint draws            # a choice takes draws of `chance`: it counts as a change
    cdef Py_ssize_t built      # answers of a fresh model
    cdef Workspace scratch
    cdef cf_flag busy
    cdef int64_t stamp

    cdef Form new_model(self)
    cdef void begin(self, Form form, Chance chance) noexcept
    cdef int refuse_width(self, Py_ssize_t n, str name) except -1
    cdef int refuse_answer(self, Py_ssize_t i, str name) except -1
    cdef int read_now(self, Workspace ws) except -1
    cdef int read_locked(self, Workspace ws, bint alone, bint brief) except? -1000
    cdef int learn_row(self, object x, Py_ssize_t i, double y, str name) except -1
    cdef int learn_one(self, Workspace ws, Py_ssize_t i, double y, str name) except -1
    cdef int learn_locked(self, Workspace ws, Py_ssize_t i, double y) except -1
    cdef int fail(self, int status, str what) except -1
    cdef np.ndarray scores(self, Rows rows)

    # The small parts of a round, in line: called, they would cost a tenth of a small round.

    cdef inline Workspace borrow(self):
        return self.scratch if cf_flag_set(&self.busy) else Workspace()

    cdef inline void give_back(self, Workspace ws) noexcept:
        ws.buffer.let_go()
        if ws is self.scratch:
            cf_flag_clear(&self.busy)

    cdef inline int set_row(self, object x, Workspace ws) except -1:
        """Converts and checks x. That may run code of its own, which may change the model: the
        width is checked again with the lock held."""
        self.lock.check_open()
        ws.given_null = row_of(x, "x", ws.buffer, &ws.given, self.form.d,
                              self.form.most > 0) == CF_ROW_NULL
        ws.row, ws.null = ws.given, ws.given_null
        return 0

    cdef inline int width(self, Py_ssize_t n, str name) except -1:
        """Refuses rows of another width, with the lock held."""
        if n != self.form.d and (self.form.d or self.form.most):
            self.refuse_width(n, name)
        return 0

    cdef inline int ready(self, Workspace ws, bint learning) except -1:
        """With the lock held: the memory that the row needs, and the row in the model's form."""
        cdef Form form = self.form
        ws.row, ws.null = ws.given, ws.given_null  # this may not be the first time
        self.width(ws.row.n, "x")
        if learning:
            form.know(ws.row.n)
        form.reserve(ws)
        ws.rng = NULL if self.chance is None else self.chance.bits
        form.prepare(ws)
        return 0

    cdef inline int look_back(self, Workspace ws, Py_ssize_t i, str name) except -1:
        """With the lock held: the scratch for the model as it is; `fresh`: it holds no reading of
        this row."""
        cdef bint known
        known = (ws.known_round == self.form.learned
                 and ws.matches(&ws.given, self.form.learned, self.stamp))
        if i >= self.form.k:
            self.refuse_answer(i, name)
        self.ready(ws, True)
        ws.is_read = known and ws.known_round == self.form.learned  # its memory may have grown
        if ws.is_read:
            ws.null = ws.known_null
        return 0


# A reading by the one who may change the model: what shows damage is repaired.
cdef int look(Form form, Workspace ws) noexcept nogil
