"""The engines that all families share; see _engine.pxd."""

import numpy

cimport numpy as np
from libc.stddef cimport size_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport as_count, data_of, refuse
from coactive_fast._lock cimport Lock, cf_flag_clear, cf_flag_set, cf_number_get, cf_number_put
from coactive_fast._table cimport (
    CF_ENOMEM, CF_ENONFINITE, CF_ENOTPOSITIVE, CF_EVALUE, CF_OK, cf_get_table, cf_table,
)
from coactive_fast.learner._state cimport VERSION, versioned


np.import_array()

cdef const cf_table *K = cf_get_table()


cdef class Engine:
    def __cinit__(self):
        self.lock = Lock()
        self.lock.close(type(self))

    cdef dict get_state(self):
        raise NotImplementedError

    cdef int set_state(self, State state) except -1:
        raise NotImplementedError

    cdef int start(self, dict parts) except -1:
        raise NotImplementedError

    cdef bint is_fresh(self) except -1:
        raise NotImplementedError

    cdef int begin_again(self) except -1:
        raise NotImplementedError

    cdef int set_options(self, dict parts, list changed) except -1:
        raise NotImplementedError

    @property
    def _engine(self):
        """What of a learner is its engine: the learner itself."""
        return self

    @property
    def _fresh(self):
        """Whether nothing was learned, and no answer added."""
        self.lock.check_open()
        return self.is_fresh()

    def _start(self, dict parts):
        """From checked parameters; once more for an object whose `__init__` is called again."""
        if self.lock.closed is not None:
            self.start(parts)
            self.lock.open()
        else:
            self._change(parts, [], [], True)

    def _change(self, dict parts, list changed, list shaping, bint anew=False):
        """Other parameters. What was learned stays, and does not allow those that shape it."""
        if shaping and "make" in parts:
            parts["make"]()  # refuses what is wrong with them, whatever was learned
        self.lock.acquire()
        try:
            if anew or self.is_fresh():
                self.start(parts)
            elif shaping:
                raise ValueError(f"{shaping[0]} shapes what was learned in {self._rounds} "
                                 f"rounds: call reset() before changing it")
            else:
                self.set_options(parts, changed)
        finally:
            self.lock.release()

    def _state(self):
        """Everything that learning has changed, as plain arrays and numbers."""
        self.lock.acquire_shared()
        try:
            return {"version": VERSION, **self.get_state()}
        finally:
            self.lock.release_shared()

    def _restore(self, state):
        """The reverse of `_state`; checked before anything is changed."""
        cdef State given = versioned(state)
        self.lock.acquire()
        try:
            self.set_state(given)
        finally:
            self.lock.release()

    def _reset(self):
        """Back to the beginning."""
        self.lock.acquire()
        try:
            self.begin_again()
        finally:
            self.lock.release()


# --- learners of rows -------------------------------------------------------------------------


cdef class Form:
    cdef int resize(self, Py_ssize_t k, Py_ssize_t d) except -1:
        return 0

    cdef int reserve(self, Workspace ws) except -1:
        return ws.reserve(self.k, 0)

    cdef int set_options(self, Form other) except -1:
        self.most = other.most
        return 0

    cdef int raise_error(self, int status) except -1:
        return 0

    cdef dict get_state(self):
        raise NotImplementedError

    cdef int set_state(self, State state) except -1:
        raise NotImplementedError

    cdef np_weights(self):
        raise NotImplementedError

    cdef np_inverse(self, Py_ssize_t i):
        raise NotImplementedError

    cdef np_information(self):
        raise NotImplementedError

    cdef dict health(self):
        return {}

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return <double>nnz * self.k

    cdef void prepare(self, Workspace ws) noexcept nogil:
        pass

    cdef int read_scores(self, Workspace ws) noexcept nogil:
        return CF_EVALUE

    cdef int read(self, Workspace ws) noexcept nogil:
        return self.read_scores(ws)

    cdef int read_one(self, Workspace ws, Py_ssize_t i) noexcept nogil:
        return self.read(ws)

    cdef Py_ssize_t read_ahead(self, Rows X, Py_ssize_t t, Py_ssize_t count,
                               Workspace ws) noexcept nogil:
        return count

    cdef int read_ahead_row(self, Workspace ws, Py_ssize_t i) noexcept nogil:
        return self.read(ws)

    cdef int update(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        return CF_EVALUE

    cdef void flush(self) noexcept nogil:
        pass


cdef class Rule:
    def __init__(self, Form form):
        self.form = form

    cdef int choose(self, Workspace ws) noexcept nogil:
        cdef int status = self.form.read(ws)
        if status != CF_OK:
            return status
        ws.greedy = ws.label = K.best_label(self.form.k, ws.score)
        return CF_OK if ws.label >= 0 else CF_ENONFINITE

    cdef int learn(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        cdef int status = CF_OK if ws.is_read else self.form.read_one(ws, i)
        return self.form.update(ws, i, y) if status == CF_OK else status

    cdef int resize(self, Py_ssize_t k, Py_ssize_t d) except -1:
        return self.form.resize(k, d)

    cdef int set_options(self, Rule other) except -1:
        return self.form.set_options(other.form)

    cdef dict get_state(self):
        return self.form.get_state()

    cdef int set_state(self, State state) except -1:
        return self.form.set_state(state)


cdef class RowEngine(Engine):
    """A rule with its form, a generator, and the parts of a round.

    The parts that it starts from: make, a function that gives a fresh rule; chance, owned from
    then on, or None; most, max_features or 0; unit_rows, whether rows are scaled to length 1.
    """

    def __cinit__(self):
        self.ws = Workspace()

    cdef int start(self, dict parts) except -1:
        cdef Rule rule = parts["make"]()  # what it refuses changes nothing
        rule.form.most = parts.get("most", 0)
        self.make, self.most = parts["make"], rule.form.most
        self.unit_rows, self.built = parts.get("unit_rows", False), rule.form.k
        self.begin(rule, parts.get("chance"))
        return 0

    cdef bint is_fresh(self) except -1:
        return self.form.learned == 0 and self.form.k == self.built

    cdef Rule new_rule(self):
        cdef Rule rule = self.make()
        rule.form.most = self.most
        return rule

    # --- what every engine has ----------------------------------------------------------------

    @property
    def _rounds(self):
        """How many rounds there were: where not said otherwise, examples."""
        return self._learned

    @property
    def _answers(self):
        """How many answers a reading has: classes, arms."""
        self.lock.check_open()
        return cf_number_get(&self.answers)

    @property
    def _learned(self):
        """How many examples were learned."""
        self.lock.check_open()
        return self.current_form().learned

    @property
    def _dimension(self):
        """How many features the rows have; 0 while that is not known."""
        self.lock.check_open()
        return self.current_form().d

    cdef dict get_state(self):
        return {**self.rule.get_state(), **({} if self.chance is None else self.chance.state())}

    cdef int set_state(self, State state) except -1:
        cdef Rule rule = self.new_rule()
        cdef Chance chance = None if self.chance is None else Chance.restored(state.given)
        rule.set_state(state)
        self.begin(rule, chance)
        return 0

    cdef int begin_again(self) except -1:
        cdef Rule rule = self.new_rule()
        self.begin(rule, None if self.chance is None else self.chance.fresh())
        return 0

    cdef int begin(self, Rule rule, Chance chance) except -1:
        self.chance = chance
        self.replace(rule, rule.form)
        return 0

    cdef void replace(self, Rule rule, Form form) noexcept:
        """Rule and form by others; those before live until this is over."""
        cdef Rule before = self.rule
        cdef Form form_before = self.form
        while not cf_flag_set(&self.replacing):
            pass
        self.rule, self.form, self.grown = rule, form, True
        cf_flag_clear(&self.replacing)
        rule.form = form
        self.stamp += 1
        self.publish()

    cdef void publish(self) noexcept:
        """After each change, with the lock held."""
        cdef Form form = self.form
        cdef double work = form.cost(0), entry_work = form.cost(1) - work, limit = 0.0
        if not self.rule.calls_python and work < BUSY:
            limit = min((BUSY - work) / max(entry_work, 1e-6), 1e18)
        cf_number_put(&self.answers, form.k)
        cf_number_put(&self.width, form.d)
        cf_number_put(&self.open_end, form.most > 0)
        cf_number_put(&self.writes, self.rule.draws or self.rule.counts)
        cf_number_put(&self.long_from, <int64_t>limit)

    cdef Form current_form(self):
        """The form, for who does not hold the lock."""
        cdef Form form
        while not cf_flag_set(&self.replacing):
            pass
        form = self.form
        cf_flag_clear(&self.replacing)
        return form

    cdef int set_options(self, dict parts, list changed) except -1:
        cdef Rule rule = parts["make"]()
        rule.form.most = parts.get("most", 0)
        self.rule.set_options(rule)
        self.make, self.unit_rows = parts["make"], parts.get("unit_rows", False)
        if "seed" in changed:
            self.chance = parts.get("chance")
        self.stamp += 1
        self.publish()
        return 0

    def _add_answer(self):
        """One answer more; its number."""
        self.lock.acquire()
        try:
            self.rule.resize(self.form.k + 1, self.form.d)
            self.grown = True
            self.stamp += 1
            self.publish()
            return self.form.k - 1
        finally:
            self.lock.release()

    def _read(self, str what, i=None, str name="i"):
        """weights, inverse (of answer i), information or health of the form."""
        cdef Py_ssize_t answer = as_count(i, name) if what == "inverse" else 0
        self.lock.acquire_shared()
        try:
            if what == "weights":
                return self.form.np_weights()
            if what == "information":
                return self.form.np_information()
            if what == "health":
                return self.form.health()
            if answer >= self.form.k:
                self.refuse_answer(answer, name)
            return self.form.np_inverse(answer)
        finally:
            self.lock.release_shared()

    def _fits(self, Py_ssize_t n, str name):
        """Refuses what has n features, where that is another number than those known."""
        self.lock.acquire_shared()
        try:
            self.check_width(n, name)
        finally:
            self.lock.release_shared()

    # --- parts of a round ---------------------------------------------------------------------

    cdef int check_width(self, Py_ssize_t n, str name) except -1:
        """Refuses rows of another width, with the lock held."""
        cdef Py_ssize_t d = self.form.d, most = self.form.most
        if most and n > most:
            raise ValueError(f"{name} must have at most {most} features (max_features), got {n}")
        if not most and d and n != d:
            raise ValueError(f"{name} must have {d} features, as what was learned before, got {n}")
        return 0

    cdef int refuse_answer(self, Py_ssize_t i, str name) except -1:
        raise ValueError(f"{name} must be in 0 ... {self.form.k - 1}, got {i}")

    cdef int reserve(self, Workspace ws, bint learning) except -1:
        """With the lock held: the memory that the row needs, and the row in the form's layout."""
        cdef Form form = self.form
        ws.row, ws.null = ws.given, ws.given_null
        if ws.row.n != form.d:
            self.check_width(ws.row.n, "x")
        if learning and (ws.row.n > form.d or self.grown):
            self.rule.resize(form.k, ws.row.n)
            self.grown = False
        form.reserve(ws)
        ws.rng = NULL if self.chance is None else self.chance.bits
        if self.unit_rows:
            ws.scaled.reserve(ws.row.nnz)
            ws.scale_row()
        form.prepare(ws)
        return 0

    cdef Py_ssize_t choose_row(self, object x) except -1:
        """The choice for x. A short one has the lock alone, which costs least; where a long one
        finds damage, it is made again alone, which repairs it."""
        cdef Workspace ws = self.borrow()
        try:
            self.set_row(x, ws)
            if ws.brief or cf_number_get(&self.writes) or not self.choose_shared(ws):
                self.lock.acquire()
                try:
                    self.choose_locked(ws, True)
                finally:
                    self.lock.release()
            return ws.label
        finally:
            self.give_back(ws)

    cdef bint choose_shared(self, Workspace ws) except -1:
        """The choice beside other readers; False: it needs the lock alone."""
        self.lock.acquire_shared()
        try:
            return self.choose_locked(ws, False) == CF_OK
        finally:
            self.lock.release_shared()

    cdef int choose_locked(self, Workspace ws, bint alone) except? -1000:
        """CF_OK, or CF_ENOTPOSITIVE for who does not have the lock alone and needs it. The reading is
        kept for the `learn` that follows, unless a draw changes what stands in the workspace."""
        cdef Rule rule = self.rule
        cdef Form form = self.form
        cdef int status
        if not alone and (rule.draws or rule.counts):
            return CF_ENOTPOSITIVE  # another rule than when the lock was chosen
        ws.forget()
        if alone:
            self.ws.forget()  # a form may keep what the last reading found
        self.reserve(ws, rule.counts)
        ws.writing = alone
        if ws.brief:
            status = rule.choose(ws)
        else:
            with nogil:
                status = rule.choose(ws)
        if status != CF_OK:
            if status == CF_ENOTPOSITIVE and not alone:
                return status
            self.fail(status, "x")
        if rule.counts and form.d != cf_number_get(&self.width):
            self.publish()  # a first round has fixed the width
        if not rule.draws and ws is self.ws and form.d:
            ws.remember(&ws.given, form.learned, self.stamp)
        return CF_OK

    cdef int learn_row(self, object x, Py_ssize_t i, double y, double weight, str name) except -1:
        """`learn` of answer i, which `name` gave: all other arguments have become C values before x
        is converted."""
        cdef Workspace ws = self.borrow()
        try:
            self.set_row(x, ws)
            ws.weight = weight
            self.lock.acquire()
            try:
                return self.learn_locked(ws, i, y, name)
            finally:
                self.lock.release()
        finally:
            self.give_back(ws)

    cdef int learn_locked(self, Workspace ws, Py_ssize_t i, double y, str name) except -1:
        """`learn` of the row that was given, with the work of `choose` where that was the same."""
        cdef Rule rule = self.rule
        cdef Form form = self.form
        cdef bint known = ws.matches(&ws.given, form.learned, self.stamp)
        cdef int status
        if i >= form.k:
            self.refuse_answer(i, name)
        self.reserve(ws, True)
        ws.is_read = known and ws.known_round == form.learned  # its memory may have grown
        if ws.is_read:
            ws.null = ws.known_null
        ws.writing = True
        self.ws.forget()
        if ws.brief:
            status = rule.learn(ws, i, y)
            form.flush()
        else:
            with nogil:
                status = rule.learn(ws, i, y)
                form.flush()
        ws.forget()
        self.publish()
        return 0 if status == CF_OK else self.fail(status, "x")

    cdef int fail(self, int status, str what) except -1:
        error, self.rule.raised = self.rule.raised, None
        if error is not None:
            raise error
        self.form.raise_error(status)
        if status == CF_ENOMEM:
            raise MemoryError(f"{what} to be sorted")
        if status == CF_EVALUE:
            raise ValueError(f"{what} is too small or too large for this learner: a product with "
                             "it is zero or leaves no variance")
        if status == CF_ENONFINITE:
            raise ValueError(f"{what} is too large: what follows from it is not finite")
        return refuse(status, f"A^-1 along {what}, beyond repair")

    # --- many rows ----------------------------------------------------------------------------

    cdef np.ndarray scores(self, Rows rows):
        """The scores of all answers for all rows, shape (n, k)."""
        cdef Workspace ws = Workspace()
        cdef Form form
        cdef Py_ssize_t t = 0, k
        cdef int status = CF_OK
        cdef np.ndarray out
        cdef double *to
        cdef bint unit_rows
        self.lock.acquire_shared()
        try:
            form, unit_rows = self.form, self.unit_rows
            k = form.k
            self.check_width(rows.d, "X")
            out = <np.ndarray>numpy.empty((rows.n, k))
            ws.reserve_for(rows)
            form.reserve(ws)
            to = data_of(out)
            with nogil:
                while t < rows.n and status == CF_OK:
                    status = ws.load(rows, t)
                    if status != CF_OK:
                        break
                    if unit_rows:
                        ws.scale_row()
                    form.prepare(ws)
                    status = form.read_scores(ws)
                    if status == CF_OK and not K.all_finite(k, ws.score):
                        status = CF_ENONFINITE
                    if status == CF_OK:
                        memcpy(to + t * k, ws.score, <size_t>k * sizeof(double))
                        t += 1
            if status != CF_OK:
                self.fail(status, f"row {t} of X")
        finally:
            self.lock.release_shared()
        return out
