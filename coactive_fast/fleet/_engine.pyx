"""The engine of a fleet; see _engine.pxd."""

from concurrent.futures import ThreadPoolExecutor

import numpy

cimport cython
cimport numpy as np
from cpython.exc cimport PyErr_CheckSignals
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport (
    as_label, data_of, finite_vector, new_doubles, new_vector, numeric, refuse_non_finite,
)
from coactive_fast._table cimport (
    CF_ENOMEM, CF_FLEET_EXTRA, CF_FLEET_HEAD, CF_FLEET_NUMBERS, CF_FLEET_ROUNDS, CF_FLEET_TEXT, CF_OK,
    CF_ROW_NULL, cf_fleet, cf_get_library, cf_get_table, cf_library, cf_pad, cf_row, cf_table,
)
from coactive_fast.fleet._form cimport numbers_of
from coactive_fast.fleet._records cimport key_of, keys_of
from coactive_fast.learner._run cimport MORE
from coactive_fast.metric._single cimport sigmoid
from coactive_fast.rewards._engine cimport PICK
from coactive_fast.rewards._policy cimport Regressions
from coactive_fast.rows._rows cimport place_of, row_of, rows_of

from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.fleet._chance import first_state, state_from, words_of
from coactive_fast.rewards._engine import ArmEngine
from coactive_fast.rewards._history import RegressionHistory

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    GENERATOR = 5    # words of the generator in a head
    REMEMBERED = 1 << 16  # generators of keys that nobody has fed
    NEAR = 4         # rows ahead whose records are asked for
    FAR = 16         # rows ahead whose places in the index are
    BLOCK = 1 << 14  # rows between two looks at signals
    SHARED = 1 << 17 # rows that threads divide among themselves


# --- a learner over a record --------------------------------------------------------------------


cdef class Seat:
    """A learner whose numbers are those of a record.

    Parameters
    ----------
    learner : Learner
        Fresh, and owned from now on.
    """

    def __init__(self, learner):
        self.learner, self.engine, self.forms = learner, learner._engine, []

    cdef int lay_out(self, Records records, object make_form) except -1:
        """Memory for a record of this layout."""
        cdef Regressions model = <Regressions>self.engine.model
        cdef PackedForm form
        cdef Py_ssize_t i
        self.desk = <np.ndarray>numpy.zeros(records.core.record, dtype=numpy.int64)
        model.fresh = make_form
        forms = [make_form() for _ in range(records.core.k)]
        for form in forms:
            form.know(records.d)
        model.take_forms(forms)
        self.forms = forms
        return 0

    cdef int sit(self, Records records, const uint64_t *record) except -1:
        """The model of a record; NULL: it stands on the desk."""
        cdef uint64_t *desk = <uint64_t *>np.PyArray_DATA(self.desk)
        cdef Py_ssize_t i
        if record != NULL:
            memcpy(desk, record,
                   <size_t>(records.core.head + records.core.k * records.core.block) * 8)
        for i in range(records.core.k):
            (<PackedForm>self.forms[i]).sit(desk + records.core.head + i * records.core.block)
        return self.count(records.d, <int64_t>desk[<int>CF_FLEET_ROUNDS])

    cdef int count(self, Py_ssize_t d, int64_t rounds) except -1:
        self.engine.model.d, self.engine.model.learned = d, rounds
        return 0


# --- one thread of a run ------------------------------------------------------------------------


cdef class Worker:
    def __cinit__(self):
        self.scratch = Scratch()

    def __dealloc__(self):
        L.free(self.x)
        L.free(self.own)

    cdef int fit(self, Py_ssize_t d, Py_ssize_t rows) except -1:
        """For rows of d features; rows: it may have so many of a block as its own."""
        cdef double *x
        if self.form.d != d:
            self.form.know(d)
            x = new_doubles(1, cf_pad(d), f"a row of {d} features")
            memset(x, 0, <size_t>cf_pad(d) * sizeof(double))
            L.free(self.x)
            self.x = x
        if rows > self.room:
            L.free(self.own)
            self.room = 0
            self.own = <Py_ssize_t *>L.alloc(<size_t>rows, sizeof(Py_ssize_t))
            if self.own == NULL:
                raise MemoryError(f"{rows} rows")
            self.room = rows
        self.status = CF_OK
        return 0


# --- the engine -----------------------------------------------------------------------------------


cdef class FleetEngine:
    """Models of rewards by key.

    Parameters
    ----------
    records : Records
    make_seat : callable
        A fresh learner of the template's kind.
    make_form : callable
        A `PackedForm` with its parameters.
    contexts : int
        context_features.
    extra : int
        Words of the kind in a head.
    slots : int
        How many models the file has room for at first.
    unfed : Learner
        The model that nobody has fed.
    start : tuple
        Where generators begin: see `first_state`.
    """

    def __cinit__(self):
        self.guard = Guard()

    def __init__(self, Records records, make_seat, make_form, *, Py_ssize_t contexts,
                 Py_ssize_t extra, Py_ssize_t slots, unfed, start):
        self.records, self.make_seat, self.make_form = records, make_seat, make_form
        self.contexts, self.extra, self.slots = contexts, extra, slots
        self.seat, self.unfed = Seat(make_seat()), Seat(unfed)
        self.start, self.drawn = start, {}
        self.arms = type(self.seat.engine) is ArmEngine
        self.hand = Worker()
        self.hand.form = make_form()
        if not records.file.writable:
            self.closed = 'it was opened with mode="r"'

    # --- the file -------------------------------------------------------------------------------

    @property
    def path(self):
        return None if self.records is None else self.records.file.path

    @property
    def live(self):
        """How many models there are."""
        self.refuse_closed()
        return self.records.live

    @property
    def capacity(self):
        self.refuse_closed()
        if self.records.file.moved():
            self.records.follow()
        return self.records.core.capacity if self.records.laid else self.slots

    def keys(self):
        self.refuse_closed()
        return self.records.keys()

    def health(self):
        """See `Fleet.health`."""
        self.guard.begin_read()
        try:
            self.refuse_closed()
            r = self.records
            if r.file.moved():
                r.follow()
            return {"models": r.live, "capacity": self.capacity, "features": r.d,
                    "record": r.core.record * 8 if r.laid else 0, "index": 16,
                    "bytes": len(r.file.map), "free": r.used - r.live,
                    "damaged": len(r.damaged())}
        finally:
            self.guard.end_read()

    def flush(self):
        self.guard.begin_read()
        try:
            self.refuse_closed()
            self.records.file.flush()
        finally:
            self.guard.end_read()

    def close(self):
        """Ends all use of the file."""
        self.guard.begin_write()
        try:
            if self.records is not None:
                self.records.detach()
                self.records.file.close()
                self.records = None
        finally:
            self.guard.end_write()

    def stop_writing(self, str why):
        """After a fork the child must not write."""
        self.closed = why

    cdef int refuse_closed(self) except -1:
        if self.records is None:
            raise ValueError("the fleet is closed")
        return 0

    cdef int refuse_writing(self) except -1:
        self.refuse_closed()
        if self.closed is not None:
            raise ValueError(f"the fleet cannot be changed: {self.closed}")
        return 0

    cdef int lay_out(self, Py_ssize_t d, bint is_text) except -1:
        """The file for records of d features."""
        cdef Py_ssize_t text = CF_FLEET_TEXT // 8 if is_text else 0
        cdef Py_ssize_t head = <int>CF_FLEET_EXTRA + self.extra + text
        cdef Py_ssize_t block = (<int>CF_FLEET_NUMBERS + numbers_of(d)
                                 + (self.hand.form.forget < 1.0))
        refuse_beyond_limit(4.0 * d * d * self.seat.engine.model.k,
                            f"a record of {d} features", "fewer features take less")
        self.records.file.begin(d, text, head, block, self.seat.engine.model.k, self.slots)
        self.records.attach()
        return 0

    # --- one record -----------------------------------------------------------------------------

    cdef Seat borrow(self):
        """For one call; a second one at the same time has another."""
        if self.busy:
            return Seat(self.make_seat())
        self.busy = True
        return self.seat

    cdef int give_back(self, Seat seat) noexcept:
        if seat is self.seat:
            self.busy = False
        return 0

    cdef bint found(self, Seat seat, Key *key) except -1:
        """The model of a key, or of one that nobody has fed, onto the seat."""
        cdef Records records = self.records
        cdef bint there
        self.refuse_closed()
        if not records.laid and records.file.moved():
            records.follow()
        if not records.laid:
            seat.count(0, 0)
            return False
        records.check_kind(key.is_text, "key")
        if len(seat.forms) == 0:
            seat.lay_out(records, self.make_form)
        there = records.read(key, <uint64_t *>np.PyArray_DATA(seat.desk))
        seat.sit(records, NULL if there else records.core.fresh)
        return there

    cdef object choose(self, object key, object x, object allowed, object k, object context):
        cdef Key at
        cdef Seat seat
        cdef bint there
        key_of(key, &at)
        seat = self.borrow()
        try:
            self.guard.settle_read()
            there = self.found(seat, &at)
            if self.extra:
                return self.choose_by_chance(seat, key, &at, there, x, allowed, k, context)
            return self.ask(seat if self.records.laid else self.unfed, x, allowed, k, context)
        finally:
            self.give_back(seat)

    cdef object ask(self, Seat seat, object x, object allowed, object k, object context):
        if type(seat.engine) is not RewardEngine:
            return (<BanditEngine>seat.engine).ask(x, allowed, context, PICK, k, None)
        for name, value in (("allowed", allowed), ("k", k), ("context", context)):
            if value is not None:
                raise TypeError(f"{name} has no meaning for a regression")
        return seat.learner.predict(x)

    # --- chance ---------------------------------------------------------------------------------

    cdef object choose_by_chance(self, Seat seat, object key, Key *at, bint there, object x,
                                 object allowed, object k, object context):
        """A choice that moves the generator of the model: it stands in the record or, for a key
        that nobody has fed and for readers, in the memory of this process."""
        cdef np.ndarray words
        cdef uint64_t *r
        cdef uint64_t place
        cdef int64_t slot = -1
        cdef Py_ssize_t first = <int>CF_FLEET_EXTRA
        if not self.records.laid:
            seat = self.unfed
        bits = bits_of(seat.engine)
        drawn = None
        if there:
            drawn = (<object>seat.desk)[first:first + GENERATOR].copy()
            if not drawn.any():  # it has learned, but not chosen yet
                drawn = None
        if drawn is None or self.closed is not None:
            drawn = self.drawn.get(key, drawn)
        bits.state = first_state(self.start, at.word) if drawn is None else state_from(drawn)
        chosen = self.ask(seat, x, allowed, k, context)
        words = words_of(bits.state)
        self.guard.settle_write()
        if self.closed is None and self.records is not None and self.records.laid:
            slot = L.fleet_find(&self.records.core, at.word, at.text if at.is_text else NULL,
                                &place)
        if slot < 0:
            self.drawn[key] = words
            if len(self.drawn) > REMEMBERED:
                del self.drawn[next(iter(self.drawn))]
            return chosen
        r = L.fleet_take(&self.records.core, 0, slot, CF_FLEET_HEAD)
        memcpy(r + first, np.PyArray_DATA(words), GENERATOR * 8)
        L.fleet_put(&self.records.core, 0)
        self.drawn.pop(key, None)
        return chosen

    # --- whole records --------------------------------------------------------------------------

    def put(self, key, words):
        """A record's words behind its key, as `words` of the records gives them."""
        cdef np.ndarray given = <np.ndarray>words
        cdef uint64_t *r
        cdef Key at
        cdef Py_ssize_t after
        key_of(key, &at)
        self.make_room(&at, self.records.d)
        self.guard.begin_write()
        try:
            self.refuse_writing()
            r = self.records.place(&at)
            after = <int>CF_FLEET_ROUNDS  # the key in the area stays
            memcpy(r + after, <uint64_t *>np.PyArray_DATA(given) + after,
                   <size_t>(self.records.core.head - self.records.core.text - after) * 8)
            memcpy(r + self.records.core.head,
                   <uint64_t *>np.PyArray_DATA(given) + self.records.core.head,
                   <size_t>(self.records.core.k * self.records.core.block) * 8)
            L.fleet_put(&self.records.core, 0)
        finally:
            self.guard.end_write()

    def begin(self, Py_ssize_t d, key):
        """The layout, where there is none yet."""
        cdef Key at
        key_of(key, &at)
        self.make_room(&at, d)

    def remove(self, key):
        """False where there is no such key."""
        cdef Key at
        key_of(key, &at)
        self.guard.begin_write()
        try:
            self.refuse_writing()
            self.drawn.pop(key, None)
            return self.records.remove(&at)
        finally:
            self.guard.end_write()

    def words(self, key):
        """The record of a key, or None."""
        self.guard.settle_read()
        self.refuse_closed()
        return self.records.words(key)

    cdef int make_room(self, Key *key, Py_ssize_t d) except -1:
        """A layout, and room for one key more. Only then is the GIL let go."""
        self.guard.begin_write()
        try:
            self.refuse_writing()
            if not self.records.laid:
                self.lay_out(d, key.is_text)
            self.records.check_kind(key.is_text, "key")
            if not self.records.has_room():
                self.records.make_room()
        finally:
            self.guard.end_write()
        self.hand.fit(self.records.d, 0)
        return 0

    cdef int one(self, const cf_fleet *core, int64_t area, PackedForm form, const double *x,
                 uint64_t word, const char *text, int64_t slot, Py_ssize_t block, double y,
                 bint null, double *m) noexcept nogil:
        """One example for the key: x is written out, its weight in the form. slot < 0: it is
        looked for, and made where there is none. MORE: there is no room."""
        cdef uint64_t at = 0
        cdef uint64_t *r
        cdef int status
        if slot < 0:
            slot = L.fleet_find(core, word, text, &at)
        if slot >= 0:
            r = L.fleet_take(core, area, slot, block)
        elif L.fleet_has_slot(core) and L.fleet_has_entry(core):
            r = L.fleet_create(core, area, word, text, at)
        else:
            return MORE
        form.sit(r + core.head + block * core.block)
        status = form.take_row(x, y, null, m)
        if status == CF_OK:
            r[<int>CF_FLEET_ROUNDS] += 1
            L.fleet_put(core, area)
        return status

    cdef int learn(self, object key, object x, tuple answers, object weight,
                   object context) except -1:
        cdef RewardEngine engine = <RewardEngine>self.seat.engine
        cdef Scratch s
        cdef Key at
        cdef Py_ssize_t arm = 0, d
        cdef double y, c, m
        cdef np.ndarray given
        cdef int status
        key_of(key, &at)
        arm, y = self.answers_of(answers)
        c = engine.weight_of(weight)
        s = engine.borrow()
        try:
            given = self.context_of(context)
            self.refuse_writing()
            s.given_null = row_of(x, "x", s.buffer, &s.given,
                                  self.records.d // (self.contexts + 1)) == CF_ROW_NULL
            d = s.given.n * (self.contexts + 1)
            while True:
                self.guard.settle_write()  # the GIL is kept from here on
                self.refuse_writing()
                self.refuse_width(s.given.n, "x")
                if self.records.laid and self.hand.form.d == d:
                    self.records.check_kind(at.is_text, "key")
                    self.lay(&s.given, given, 0, self.hand.x)
                    self.hand.form.weight = c
                    status = self.one(&self.records.core, 0, self.hand.form, self.hand.x, at.word,
                                      at.text if at.is_text else NULL, -1, arm, y, s.given_null,
                                      &m)
                    if status != MORE:
                        break
                self.make_room(&at, d)
        finally:
            engine.give_back(s)
        return 0 if status == CF_OK else engine.fail(status, "x")

    cdef void lay(self, const cf_row *row, np.ndarray context, Py_ssize_t t, double *x) noexcept nogil:
        """(1, c) (x) row, written out."""
        cdef Py_ssize_t p = self.contexts, n = row.n, j, e
        cdef double c
        if row.i32 == NULL and row.i64 == NULL and p == 0:
            memcpy(x, row.value, <size_t>n * sizeof(double))
            return
        memset(x, 0, <size_t>((p + 1) * n) * sizeof(double))
        for j in range(p + 1):
            c = 1.0 if j == 0 else data_of(context)[t * p + j - 1]
            for e in range(row.nnz):
                x[j * n + place_of(row, e)] = c * row.value[e]

    # --- arguments ------------------------------------------------------------------------------

    cdef int refuse_width(self, Py_ssize_t n, str name) except -1:
        cdef Py_ssize_t d = self.records.d // (self.contexts + 1)
        if self.records.laid and n != d:
            raise ValueError(f"{name} must have {d} features, as what was learned before, got {n}")
        return 0

    cdef np.ndarray context_of(self, object context):
        if context is None and self.contexts:
            raise ValueError(f"context must be given: {self.contexts} numbers")
        if context is not None and not self.contexts:
            raise ValueError("context has no meaning without context_features")
        if context is None:
            return None
        return finite_vector(context, "context", self.contexts, "context_features")

    cdef (Py_ssize_t, double) answers_of(self, tuple answers) except *:
        """Arm and target."""
        cdef RewardEngine engine = <RewardEngine>self.seat.engine
        cdef Py_ssize_t arm = 0
        if len(answers) != 1 + self.arms:
            raise TypeError(f"learn takes a key, a row and "
                            f"{'an arm and its reward' if self.arms else 'what came of it'}, got "
                            f"{len(answers)} arguments behind the row")
        if self.arms:
            arm = as_label(answers[0], "arm", False)
            if arm >= engine.model.k:
                engine.refuse_answer(arm, "arm")
        name = "y" if type(engine) is RewardEngine else "reward"
        return arm, engine.target_of(answers[<int>self.arms], name)

    # --- streams --------------------------------------------------------------------------------

    def run(self, keys, X, tuple answers, weight, context, Py_ssize_t jobs):
        """Row after row; rows of one key in their order. What was predicted, for a regression."""
        cdef Stream s = self.stream_of(keys, X, answers, weight, context)
        cdef Py_ssize_t t = 0, end, step = SHARED if jobs > 1 else BLOCK
        cdef list workers
        cdef Worker w
        cdef Py_ssize_t d = s.rows.d * (self.contexts + 1)
        cdef Key first
        if s.rows.n == 0:
            return self.told(s)
        first.is_text = s.keys.are_text
        while not (self.records.laid and self.hand.form.d == d):
            self.refuse_width(s.rows.d, "X")
            self.make_room(&first, d)
        workers = [self.worker(j, d, step if jobs > 1 else 0, s.rows) for j in range(jobs)]
        pool = ThreadPoolExecutor(jobs) if jobs > 1 else None
        try:
            while t < s.rows.n:
                PyErr_CheckSignals()
                end = min(t + step, s.rows.n)
                self.guard.begin_write()
                try:
                    self.refuse_writing()
                    self.refuse_width(s.rows.d, "X")
                    self.records.check_kind(s.keys.are_text, "keys")
                    w = workers[0]
                    if pool is not None:
                        w = self.share(s, workers, pool, t, end)
                    else:
                        with nogil:
                            self.play(s, &self.records.core, w, w.form, w.scratch, s.rows, s.keys,
                                      t, end)
                    if w.status == MORE:
                        self.records.make_room()
                        end = w.row
                    elif w.status != CF_OK:
                        self.seat.engine.fail(w.status, f"row {w.row} of X")
                    t = end
                finally:
                    self.guard.end_write()
        finally:
            if pool is not None:
                pool.shutdown()
        return self.told(s)

    cdef Worker worker(self, Py_ssize_t j, Py_ssize_t d, Py_ssize_t own, Rows rows):
        cdef Worker w = Worker()
        w.area, w.form = j, self.make_form()
        w.fit(d, own)
        w.scratch.expect(rows)
        return w

    cdef Stream stream_of(self, object keys, object X, tuple answers, object weight,
                          object context):
        """The arguments as they are learned from, all checked."""
        cdef RewardEngine engine = <RewardEngine>self.seat.engine
        cdef Stream s = Stream()
        cdef Py_ssize_t n
        self.refuse_writing()
        s.keys, s.rows = keys_of(keys), rows_of(X, "X")
        n = s.rows.n
        if s.keys.n != n:
            raise ValueError(f"keys must have length {n}, one a row of X, got {s.keys.n}")
        if len(answers) != 1 + self.arms:
            raise TypeError(f"run takes keys, rows and {'arms and rewards' if self.arms else 'targets'}, "
                            f"got {len(answers)} arguments behind the rows")
        s.y = finite_vector(answers[<int>self.arms], "y", n, "X")
        s.weight = finite_vector(numpy.ones(n) if weight is None else weight, "weight", n, "X")
        s.arm = None
        if self.arms:
            s.arm = labels_of(answers[0], "arm", n, engine.model.k)
        s.context = self.contexts_of(context, n)
        s.m = new_vector(n) if type(engine) is RewardEngine else None
        if n:  # the engine has the words for what it does not take
            engine.weight_of((<object>s.weight).min())
            engine.weight_of((<object>s.weight).max())
            engine.target_of((<object>s.y).min(), "y")
            engine.target_of((<object>s.y).max(), "y")
        return s

    cdef np.ndarray contexts_of(self, object context, Py_ssize_t n):
        if context is None:
            return self.context_of(None)
        given = numpy.ascontiguousarray(numeric(context, "context", 2), dtype=numpy.float64)
        if not self.contexts or given.shape != (n, self.contexts):
            raise ValueError(f"context must have shape ({n}, {self.contexts}), got {given.shape}")
        refuse_non_finite(given, "context")
        return <np.ndarray>given

    cdef object told(self, Stream s):
        cdef Py_ssize_t t
        cdef np.ndarray loss
        cdef double m, y
        if s.m is None:
            return None
        loss = new_vector(s.rows.n)
        for t in range(s.rows.n):
            m, y = data_of(s.m)[t], data_of(s.y)[t]
            if self.hand.form.logistic:  # -y log sigma - (1 - y) log(1 - sigma)
                data_of(s.m)[t] = sigmoid(m)
                data_of(loss)[t] = max(m, 0.0) + K.log1p_one(K.exp_one(-abs(m))) - y * m
            else:
                data_of(loss)[t] = (y - m) * (y - m)
        return RegressionHistory(predictions=s.m, loss=loss)

    cdef int play(self, Stream s, const cf_fleet *core, Worker w, PackedForm form, Scratch scratch,
                  Rows rows, Keys keys, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
        """The rows of a block, or those of them that are the worker's own."""
        cdef Py_ssize_t count = end - begin if w.own == NULL else w.owns, i, t, arm
        cdef double m
        cdef bint null
        w.status = CF_OK
        for i in range(min(<Py_ssize_t>FAR, count)):
            self.expect(core, keys, w.own[i] if w.own != NULL else begin + i)
        for i in range(min(<Py_ssize_t>NEAR, count)):
            self.fetch(core, keys, w.own[i] if w.own != NULL else begin + i)
        for i in range(count):
            if i + FAR < count:
                self.expect(core, keys, w.own[i + FAR] if w.own != NULL else begin + i + FAR)
            if i + NEAR < count:
                self.fetch(core, keys, w.own[i + NEAR] if w.own != NULL else begin + i + NEAR)
            t = w.own[i] if w.own != NULL else begin + i
            w.row = t
            w.status = scratch.take_from(rows, t)
            if w.status != CF_OK:
                break
            null = scratch.null
            self.lay(&scratch.row, s.context, t, w.x)
            form.weight = data_of(s.weight)[t]
            arm = 0
            if s.arm is not None:
                arm = (<Py_ssize_t *>np.PyArray_DATA(s.arm))[t]
            w.status = self.one(core, w.area, form, w.x, keys.word(t), keys.text(t), -1, arm,
                                data_of(s.y)[t], null, &m)
            if w.status != CF_OK:
                break
            if s.m is not None:
                data_of(s.m)[t] = m
        return w.status

    cdef void expect(self, const cf_fleet *core, Keys keys, Py_ssize_t t) noexcept nogil:
        L.fleet_expect(core, keys.word(t) if keys.are_text else L.fleet_hash(keys.word(t)))

    cdef void fetch(self, const cf_fleet *core, Keys keys, Py_ssize_t t) noexcept nogil:
        L.fleet_fetch(core, keys.word(t) if keys.are_text else L.fleet_hash(keys.word(t)))

    # --- many threads ---------------------------------------------------------------------------

    cdef Worker share(self, Stream s, list workers, object pool, Py_ssize_t begin,
                      Py_ssize_t end):
        """A block by all workers: each has the keys whose hash falls to it, so that no model is
        in two hands. The one whose row failed first, or the first one."""
        cdef Worker w, first = workers[0]
        cdef Py_ssize_t t, many = len(workers), row
        cdef uint64_t hash
        cdef int64_t slot
        row = self.place_keys(s, begin, end)
        for w in workers:
            w.owns = 0
        for t in range(begin, row):
            hash = s.keys.word(t) if s.keys.are_text else L.fleet_hash(s.keys.word(t))
            w = <Worker>workers[<Py_ssize_t>(hash % <uint64_t>many)]
            w.own[w.owns] = t
            w.owns += 1
        list(pool.map(lambda one: self.play_own(s, one), workers))
        for w in workers:
            if w.status != CF_OK and (first.status == CF_OK or w.row < first.row):
                first = w
        if first.status == CF_OK and row < end:
            first.status, first.row = MORE, row
        return first

    def play_own(self, Stream s, Worker w):
        """One worker's part of a block; the guard is held by who shares it out."""
        cdef Records records = self.records
        with nogil:
            self.play(s, &records.core, w, w.form, w.scratch, s.rows, s.keys, 0, 0)

    cdef Py_ssize_t place_keys(self, Stream s, Py_ssize_t begin, Py_ssize_t end) except -1:
        """Makes a record for each key that has none, in the order of the rows, so that workers
        change nothing that they share. The row at which there is no room."""
        cdef const cf_fleet *core = &self.records.core
        cdef Keys keys = s.keys
        cdef Py_ssize_t t
        cdef uint64_t at
        for t in range(begin, min(begin + FAR, end)):
            self.expect(core, keys, t)
        for t in range(begin, end):
            if t + FAR < end:
                self.expect(core, keys, t + FAR)
            if t + NEAR < end:
                self.fetch(core, keys, t + NEAR)
            if L.fleet_find(core, keys.word(t), keys.text(t), &at) >= 0:
                continue
            if not self.records.has_room():
                return t
            L.fleet_create(core, 0, keys.word(t), keys.text(t), at)
            L.fleet_put(core, 0)
        return end


def bits_of(RowEngine engine):
    """The bit generator that a learner's engine draws from."""
    engine.chance.give_back()
    return engine.chance.generator.bit_generator


cdef np.ndarray labels_of(object value, str name, Py_ssize_t n, Py_ssize_t k):
    """Whole numbers in 0 ... k - 1."""
    given = numpy.asarray(value)
    if given.shape != (n,):
        raise ValueError(f"{name} must have length {n}, one a row of X, got shape {given.shape}")
    if given.dtype.kind not in "iu":
        raise TypeError(f"{name} must be whole numbers, got dtype {given.dtype}")
    if n and not 0 <= given.min() <= given.max() < k:
        raise ValueError(f"{name} must be in 0 ... {k - 1}, got {given.min()} ... {given.max()}")
    return <np.ndarray>numpy.ascontiguousarray(given, dtype=numpy.intp)


# --- the calls ----------------------------------------------------------------------------------


cdef class FleetCalls:
    """`choose` and `learn` of one key, inherited by the thin class: a method of Python's on the way
    would cost a part of what they do."""

    cdef public FleetEngine _engine

    def choose(self, key, x, *, allowed=None, k=None, context=None):
        """What the model of a key decides; see the class.

        Parameters
        ----------
        key : int or str
        x, allowed, k, context
            As for `choose` of the template, `predict` of a regression, `forward` of a filter and
            `present` of a perceptron.

        Returns
        -------
        int, or what the method of the template gives

        Examples
        --------
        >>> import coactive_fast as cf
        >>> fleet = cf.Fleet(None, cf.LinearBandit(), 100)
        >>> fleet.learn("anna", [1.0, 0.0], 2.0)
        >>> fleet.choose("anna", [[0.0, 1.0], [1.0, 0.0]])
        1
        """
        cdef FleetEngine engine = self._engine
        return engine.choose(key, x, allowed, k, context)

    def learn(self, key, x, *answers, weight=1.0, context=None):
        """One example for the model of a key, which is made where there is none.

        Parameters
        ----------
        key : int or str
        x, *answers, weight, context
            As for `learn` of the template, by position: a row and its reward or target; of arms a
            row, the arm and its reward; of a filter a row and whether it was relevant; of a
            perceptron documents, what was presented and the better ordering.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> fleet = cf.Fleet(None, cf.ArmBandit(2), 100)
        >>> fleet.learn(7, [1.0], 1, 4.0)
        >>> fleet.choose(7, [1.0])
        1
        """
        cdef FleetEngine engine = self._engine
        engine.learn(key, x, answers, weight, context)
