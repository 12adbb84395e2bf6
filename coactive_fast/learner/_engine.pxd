# What stands between a thin class and what was learned: the engine of every family, and that of
# the families whose learners are fed rows.

cimport numpy as np
from libc.stdint cimport int64_t

from coactive_fast._lock cimport Lock, cf_flag, cf_flag_clear, cf_flag_set
from coactive_fast._table cimport CF_ROW_NULL
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._state cimport State
from coactive_fast.rows._rows cimport Rows, Scratch, row_of


cdef enum:
    BUSY = 16384     # elements touched from which the GIL is let go: some microseconds


cdef class Engine:
    # Typed state of one learner, and the base of its class. The lock is closed until `start` is
    # over.
    cdef Lock lock
    cdef Chance chance         # None where none is at work

    # Everything that learning has changed, the engine being read.
    cdef dict told(self)
    # What follows is called with the lock held. `start`: the beginning, from checked parameters by
    # name; `set_options`: what was learned stays, with the same parts. `take_state`, the reverse of
    # `told`: all is checked before anything changes.
    cdef int start(self, dict parts) except -1
    cdef bint is_fresh(self) except -1
    cdef int take_state(self, State state) except -1
    cdef int begin_again(self) except -1                     # `reset`
    cdef int set_options(self, dict parts, list changed) except -1


# A round of a learner of rows is a reading, which leaves what it found in a Scratch, and a change,
# which takes that up. Both are pure functions of the state, the row and the parameters: whether a
# reading comes from an earlier call or is made anew changes no bit.

cdef class Model:
    # What a learner of rows has learned. Invariants. k >= 1 answers a reading (classes, arms; a
    # filter has one); d features, 0 while they are not known (memory may be there already);
    # `learned` counts the examples. A status below 0 has changed nothing visible.
    cdef Py_ssize_t k, d
    cdef int64_t learned
    cdef Py_ssize_t most           # features there may be at the most, or 0: as many as the first

    # --- with the GIL
    cdef int fit(self, Scratch s) except -1                # scratch for s.row
    cdef int know(self, Py_ssize_t n) except -1            # memory for rows of n features
    cdef int widen(self, Py_ssize_t k) except -1           # k answers, more than before
    cdef int adopt(self, Model other) except -1            # its parameters; the state stays
    cdef int make_room(self, Scratch s) except -1          # for taking s.row
    cdef int raise_error(self, int status) except -1       # what says more than the status
    cdef dict told(self)
    cdef int restore(self, State state) except -1          # into a model that was just made
    cdef np_weights(self)
    cdef np_inverse(self, Py_ssize_t i)
    cdef np_information(self)
    cdef dict health(self)

    # --- without
    cdef double cost(self, Py_ssize_t nnz) noexcept nogil  # of a round: elements touched
    cdef void prepare(self, Scratch s) noexcept nogil      # s.row in the form that is read
    cdef int read_scores(self, Scratch s) noexcept nogil   # m alone, of the state as it is
    # A pure reading, by any number of threads: m and what the engine decides by.
    cdef int read(self, Scratch s) noexcept nogil
    # The same by the one who may change the model, with all that `take` needs.
    cdef int look(self, Scratch s) noexcept nogil
    # Only what `take` of answer i needs.
    cdef int look_at(self, Scratch s, Py_ssize_t i) noexcept nogil
    # After a reading, where the engine draws: s.label by chance, from s.bits.
    cdef void draw(self, Scratch s) noexcept nogil
    cdef int repair(self, Scratch s) noexcept nogil        # after CF_ENOTPOSITIVE; then look again
    # In a run: rows t ... t + count - 1 of X are looked at next, in this order, while the model may
    # learn. Work that can be shared is done now, for as many of them as the answer says (at least
    # one); `look_ahead` is then the look at row t + i, which stands in s.row.
    cdef Py_ssize_t ahead(self, Rows X, Py_ssize_t t, Py_ssize_t count, Scratch s) noexcept nogil
    cdef int look_ahead(self, Scratch s, Py_ssize_t i) noexcept nogil
    # Whether `take` can do without `make_room`.
    cdef bint has_room(self, Scratch s) noexcept nogil
    # Learns s.row, after a look at it; y is what the family says of answer i.
    cdef int take(self, Scratch s, Py_ssize_t i, double y) noexcept nogil
    cdef void settle(self) noexcept nogil                  # what a run has put off

    cdef inline void count(self, Py_ssize_t n) noexcept nogil:
        """One example of n features more."""
        self.learned += 1
        if n > self.d:
            self.d = n


cdef class RowEngine(Engine):
    # `scratch` belongs to the call that set `busy`; others bring their own and keep no cache. Its
    # key is (row, learned, stamp): stamp counts what changes the model otherwise.
    cdef Model model
    cdef object make           # () -> a fresh model: what reset() begins with
    cdef Py_ssize_t most       # max_features of the model, or 0
    cdef bint draws            # a choice takes draws of `chance`: it counts as a change
    cdef Py_ssize_t built      # answers of a fresh model
    cdef Scratch scratch
    cdef cf_flag busy
    cdef int64_t stamp

    cdef Model new_model(self)
    cdef void begin(self, Model model, Chance chance) noexcept
    cdef int refuse_width(self, Py_ssize_t n, str name) except -1
    cdef int refuse_answer(self, Py_ssize_t i, str name) except -1
    cdef int read_now(self, Scratch s) except -1
    cdef int read_locked(self, Scratch s, bint alone, bint brief) except? -1000
    cdef int learn_row(self, object x, Py_ssize_t i, double y, str name) except -1
    cdef int learn_one(self, Scratch s, Py_ssize_t i, double y, str name) except -1
    cdef int learn_locked(self, Scratch s, Py_ssize_t i, double y) except -1
    cdef int fail(self, int status, str what) except -1
    cdef np.ndarray scores(self, Rows rows)

    # The small parts of a round, in line: called, they would cost a tenth of a small round.

    cdef inline Scratch borrow(self):
        return self.scratch if cf_flag_set(&self.busy) else Scratch()

    cdef inline void give_back(self, Scratch s) noexcept:
        s.buffer.let_go()
        if s is self.scratch:
            cf_flag_clear(&self.busy)

    cdef inline int take_row(self, object x, Scratch s) except -1:
        """Converts and checks x. That may run code of its own, which may change the model: the
        width is checked again with the lock held."""
        self.lock.check_open()
        s.given_null = row_of(x, "x", s.buffer, &s.given, self.model.d,
                              self.model.most > 0) == CF_ROW_NULL
        s.row, s.null = s.given, s.given_null
        return 0

    cdef inline int width(self, Py_ssize_t n, str name) except -1:
        """Refuses rows of another width, with the lock held."""
        if n != self.model.d and (self.model.d or self.model.most):
            self.refuse_width(n, name)
        return 0

    cdef inline int ready(self, Scratch s, bint learning) except -1:
        """With the lock held: the memory that the row needs, and the row in the model's form."""
        cdef Model model = self.model
        s.row, s.null = s.given, s.given_null  # this may not be the first time
        self.width(s.row.n, "x")
        if learning:
            model.know(s.row.n)
        model.fit(s)
        s.bits = NULL if self.chance is None else self.chance.bits
        model.prepare(s)
        return 0

    cdef inline int look_back(self, Scratch s, Py_ssize_t i, str name) except -1:
        """With the lock held: the scratch for the model as it is; `fresh`: it holds no reading of
        this row."""
        cdef bint known
        known = (s.known_round == self.model.learned
                 and s.knows(&s.given, self.model.learned, self.stamp))
        if i >= self.model.k:
            self.refuse_answer(i, name)
        self.ready(s, True)
        s.fresh = not (known and s.known_round == self.model.learned)  # its room may have grown
        if not s.fresh:
            s.null = s.known_null
        return 0


# A reading by the one who may change the model: what shows damage is repaired.
cdef int look(Model model, Scratch s) noexcept nogil
