"""The engine of a fleet; see _engine.pxd.

In here is what all kinds share; _rewards.pxi has the fleets of regressions and bandits,
_filters.pxi those of filters, _vectors.pxi those of perceptrons, _runs.pxi whole streams, and
_calls.pxi the calls of the thin class.
"""

from concurrent.futures import ThreadPoolExecutor, wait

import numpy

cimport cython
cimport numpy as np
from cpython.exc cimport PyErr_CheckSignals
from libc.float cimport DBL_MAX
from libc.math cimport fabs
from libc.stddef cimport ptrdiff_t, size_t
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport (
    as_flag, as_label, data_of, finite_vector, new_doubles, new_vector, numeric,
    product_of, refuse_masked, refuse_non_finite,
)
from coactive_fast._table cimport (
    CF_ENOMEM, CF_ENONFINITE, CF_FLEET_EXTRA, CF_FLEET_HEAD, CF_FLEET_LEARNED, CF_FLEET_NUMBERS,
    CF_FLEET_ROUNDS, CF_FLEET_TEXT, CF_FLEET_UNSOUND, CF_OK, CF_ROW_NULL, cf_fleet, cf_get_library,
    cf_get_table, cf_library, cf_pad, cf_row, cf_table,
)
from coactive_fast.coactive._engine cimport CoactiveEngine
from coactive_fast.coactive._rules cimport Perceptron
from coactive_fast.filtering._engine cimport FilterEngine
from coactive_fast.filtering._policy cimport TEACHER, Tally
from coactive_fast.filtering._policy cimport Rule as FilterRule
from coactive_fast.fleet._records cimport ASTRAY, DAMAGED, key_of, keys_of, refuse_damaged
from coactive_fast.learner._engine cimport Calls, RowEngine
from coactive_fast.learner._run cimport MORE
from coactive_fast.metric._single cimport sigmoid
from coactive_fast.rewards._engine cimport PICK, BanditEngine, RewardEngine
from coactive_fast.rewards._policy cimport Regressions
from coactive_fast.rows._rows cimport RowBuffer, place_of, row_of, rows_of

from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.filtering._history import history_of
from coactive_fast.fleet._chance import first_state, state_from, words_of
from coactive_fast.fleet._records import Unsound
from coactive_fast.rewards._engine import ArmEngine
from coactive_fast.rewards._history import RegressionHistory
from coactive_fast.rows._labels import flags_of

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    DONE = 4         # a status beside MORE, DAMAGED and ASTRAY: nothing is left to do
    GENERATOR = 5    # words of the generator in a head
    REMEMBERED = 1 << 16  # generators of keys that nobody has fed
    NEAR = 4         # rows ahead whose records are asked for
    FAR = 16         # rows ahead whose places in the index are
    BLOCK = 1 << 14  # rows between two looks at signals
    SHARED = 1 << 17 # rows that threads divide among themselves


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
        if self.d != d:
            if self.form is not None:
                self.form.know(d)
            if self.rule is not None:
                self.rule.start(d)
            x = new_doubles(1, cf_pad(d), f"a row of {d} features")
            memset(x, 0, <size_t>cf_pad(d) * sizeof(double))
            L.free(self.x)
            self.x, self.d = x, d
        if rows > self.room:
            L.free(self.own)
            self.room = 0
            self.own = <Py_ssize_t *>L.alloc(<size_t>rows, sizeof(Py_ssize_t))
            if self.own == NULL:
                raise MemoryError(f"{rows} rows")
            self.room = rows
        self.status = CF_OK
        return 0


# --- the engine ---------------------------------------------------------------------------------


cdef class FleetEngine:
    """Models by key: a kind says what a step is, and what its calls are given.

    Parameters
    ----------
    records : Records
    make : callable
        A fresh learner of the template's kind.
    slots : int
        How many models the file has room for at first.
    keep : bool
        What was flushed is kept until the next flush.
    """

    def __cinit__(self):
        self.guard = Guard()
        self.k = 1

    def __init__(self, Records records, make, *, Py_ssize_t slots, bint keep):
        self.records, self.make, self.slots, self.keep = records, make, slots, keep
        self.hand, self.buffer = self.new_worker(), RowBuffer()
        if not records.file.writable:
            self.closed = 'it was opened with mode="r"'

    # --- what a kind says -----------------------------------------------------------------------

    cdef Worker new_worker(self):
        raise NotImplementedError

    cdef int step(self, Worker w, PackedForm form, Perceptron rule, uint64_t *record,
                  uint64_t *block, double y, bint null, int what, double *m) noexcept nogil:
        """One example, or decision, into a record that stands in an area; the row is w.x."""
        return CF_ENOMEM

    cdef object choose(self, object key, object x, object allowed, object k, object context):
        raise NotImplementedError

    cdef int learn(self, object key, object x, tuple answers, object weight,
                   object context) except -1:
        raise NotImplementedError

    cdef Stream stream_of(self, object keys, object X, tuple answers, object weight,
                          object context):
        """The arguments of a run, all checked."""
        raise NotImplementedError

    cdef object told(self, Stream s):
        """What a run leaves behind."""
        return None

    cdef int fail(self, int status, str what) except -1:
        raise ValueError(f"{what} is too large: what follows from it is not finite")

    cdef int refuse_status(self, int status, str what, uint64_t word, const char *text) except -1:
        if status == DAMAGED:
            return refuse_damaged(self.path, word, text)
        return self.fail(status, what)

    # --- the file -------------------------------------------------------------------------------

    @property
    def path(self):
        return None if self.records is None else self.records.file.path

    @property
    def live(self):
        """How many models there are."""
        self.refuse_closed()
        return self.records.counted()[1]

    @property
    def capacity(self):
        self.refuse_closed()
        if self.records.is_moved():
            self.records.follow()
        return self.records.core.capacity if self.records.laid else self.slots

    def keys(self):
        self.refuse_closed()
        return self.records.keys()

    def health(self):
        """See `Fleet.health`."""
        cdef Records r
        self.guard.begin_read()
        try:
            self.refuse_closed()
            r = self.records
            used, live, kept = r.counted()
            return {"models": live, "capacity": self.capacity, "features": r.d,
                    "record": r.core.record * 8 if r.laid else 0, "index": 16,
                    "bytes": len(r.file.map), "free": used - live - kept, "kept": kept,
                    "damaged": r.damaged()}
        finally:
            self.guard.end_read()

    def flush(self):
        self.guard.begin_write()
        try:
            self.refuse_closed()
            if self.closed is None:
                self.records.flush()
        finally:
            self.guard.end_write()

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
        if self.records is not None:
            self.records.file.forked()
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

    cdef object first_layout(self, Py_ssize_t d, bint is_text):
        cdef Py_ssize_t text = CF_FLEET_TEXT // 8 if is_text else 0
        cdef Py_ssize_t head = <int>CF_FLEET_EXTRA + self.extra + text
        refuse_beyond_limit(8.0 * d * d * self.k, f"a record of {d} features",
                            "fewer features take less")
        return self.records.file.first_layout(d, text, head,
                                              <int>CF_FLEET_NUMBERS + self.records.kind.numbers(d),
                                              self.k, self.slots, self.keep)

    cdef int lay_out(self, Py_ssize_t d, bint is_text) except -1:
        """The file for records of d features."""
        self.records.file.begin(self.first_layout(d, is_text))
        self.records.attach()
        return 0

    cdef bint is_laid(self) except -1:
        """Whether the layout is known, by now."""
        self.refuse_closed()
        if not self.records.laid and self.records.is_moved():
            self.records.follow()
        return self.records.laid

    cdef int prepare(self, Key *key, Py_ssize_t d) except -1:
        """A layout, and memory for a row of it. Other threads may run meanwhile."""
        self.guard.begin_write()
        try:
            self.refuse_writing()
            if not self.records.laid:
                self.lay_out(d, key.is_text)
            self.records.check_kind(key.is_text, "key")
        finally:
            self.guard.end_write()
        self.hand.fit(self.records.d, 0)
        return 0

    cdef int make_room(self, int status) except -1:
        """Room for one key more; ASTRAY: an index. Other threads may run meanwhile."""
        self.guard.begin_write()
        try:
            self.refuse_writing()
            return self.records.repair() if status == ASTRAY else self.records.make_room()
        finally:
            self.guard.end_write()

    cdef int one(self, const cf_fleet *core, Worker w, uint64_t word, const char *text,
                 Py_ssize_t block, double y, bint null, int what, double *m) noexcept nogil:
        """A step of the model of a key, which is made where there is none. The row is w.x, its
        weight in the form. MORE: there is no room; DAMAGED: it cannot be what was learned; ASTRAY:
        it cannot be found."""
        cdef uint64_t at = 0
        cdef uint64_t *r
        cdef int64_t slot = L.fleet_find(core, word, text, &at)
        cdef int status
        if slot >= 0 and not L.fleet_is_kept(core, slot):
            if not L.fleet_seen_whole(core, w.seen, slot):
                return DAMAGED
            r = L.fleet_take(core, w.area, slot, block)
        elif slot >= 0 and L.fleet_has_slot(core):
            if not L.fleet_seen_whole(core, w.seen, slot):
                return DAMAGED
            r = L.fleet_move(core, w.area, slot, at)
        elif slot == -1 and L.fleet_has_slot(core) and L.fleet_has_entry(core):
            r = L.fleet_create(core, w.area, word, text, at)
        else:
            return ASTRAY if slot == CF_FLEET_UNSOUND else MORE
        if r == NULL:
            return ASTRAY
        status = self.step(w, w.form, w.rule, r, r + core.head + block * core.block, y, null, what,
                           m)
        if status == CF_OK:
            L.fleet_put(core, w.area)
        return status

    cdef int learn_row(self, Key *key, object x, np.ndarray context, Py_ssize_t block, double y,
                       double weight, int what, double *m) except -1:
        """`one` of a row as it was given; all other arguments are C values by now."""
        cdef RowBuffer buffer = self.buffer if self.buffer is not None else RowBuffer()
        cdef cf_row row
        cdef bint null
        cdef Py_ssize_t d
        cdef int status
        self.buffer = None
        try:
            self.refuse_writing()
            null = row_of(x, "x", buffer, &row,
                          self.records.d // (self.contexts + 1)) == CF_ROW_NULL
            d = self.crossed(row.n, "x")
            while True:
                self.guard.settle_write()  # the GIL is kept from here on
                self.refuse_writing()
                self.refuse_width(row.n, "x")
                if not (self.records.laid and self.hand.d == d):
                    if not self.records.laid:
                        self.rehearse(&row, context, key.is_text, block, y, weight, null, what,
                                      "x")
                    self.prepare(key, d)
                else:
                    self.records.check_kind(key.is_text, "key")
                    self.hand.seen = self.records.seen
                    self.lay(&row, context, 0, self.hand.x)
                    if self.hand.form is not None:
                        self.hand.form.weight = weight
                    status = self.one(&self.records.core, self.hand, key.word,
                                      key.text if key.is_text else NULL, block, y, null, what, m)
                    if status < MORE or status == DAMAGED:
                        break
                    self.make_room(status)
        finally:
            buffer.let_go()
            self.buffer = buffer
        if status == CF_OK:
            return 0
        return self.refuse_status(status, "x", key.word, key.text if key.is_text else NULL)

    cdef int rehearse(self, const cf_row *row, np.ndarray context, bint is_text, Py_ssize_t block,
                      double y, double weight, bint null, int what, str name) except -1:
        """Refuses a row that cannot be learned, before its width becomes that of the file."""
        cdef Worker w = self.new_worker()
        cdef Py_ssize_t d = self.crossed(row.n, name)
        cdef np.ndarray record
        cdef uint64_t *r
        cdef double m[2]
        cdef int status
        layout = self.first_layout(d, is_text)
        record = <np.ndarray>numpy.array(self.records.kind.fresh(layout))
        w.fit(d, 0)
        self.lay(row, context, 0, w.x)
        if w.form is not None:
            w.form.weight = weight
        r = <uint64_t *>np.PyArray_DATA(record)
        status = self.step(w, w.form, w.rule, r,
                           r + <Py_ssize_t>layout.head + block * <Py_ssize_t>layout.block, y, null,
                           what, m)
        return 0 if status == CF_OK else self.fail(status, name)

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

    cdef Py_ssize_t crossed(self, Py_ssize_t n, str name) except -1:
        """The width of (1, c) (x) row."""
        if self.contexts == 0:
            return n
        return product_of(n, self.contexts + 1, f"{name} with its context")

    cdef int refuse_width(self, Py_ssize_t n, str name) except -1:
        cdef Py_ssize_t d = self.records.d // (self.contexts + 1)
        if self.records.laid and n != d:
            raise ValueError(f"{name} must have {d} features, as what was learned before, got {n}")
        return 0

    # --- whole records --------------------------------------------------------------------------

    def put(self, key, words):
        """A record's words behind its key, as `words` of the records gives them."""
        cdef np.ndarray given = <np.ndarray>words
        cdef uint64_t *r
        cdef Key at
        cdef Py_ssize_t after
        key_of(key, &at)
        self.prepare(&at, self.records.d)
        self.guard.begin_write()
        try:
            self.refuse_writing()
            r = self.records.place(&at)  # with the key and the epoch, which stay
            r[<int>CF_FLEET_ROUNDS] = (<uint64_t *>np.PyArray_DATA(given))[<int>CF_FLEET_ROUNDS]
            after = <int>CF_FLEET_EXTRA
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
        self.prepare(&at, d)

    def remove(self, key):
        """False where there is no such key."""
        cdef Key at
        key_of(key, &at)
        self.guard.begin_write()
        try:
            self.refuse_writing()
            self.forget(key)
            return self.records.remove(&at)
        finally:
            self.guard.end_write()

    cdef int forget(self, object key) except -1:
        """What this process remembers of a key."""
        return 0

    def words(self, key, whole=True):
        """The record of a key, or None; whole: it is refused if it is damaged."""
        self.guard.settle_read()
        self.refuse_closed()
        try:
            return self.records.words(key, whole)
        except Unsound:
            self.put_in_order()
            return self.words(key, whole)

    cdef int put_in_order(self) except -1:
        """After `Unsound`, which is raised again where nothing can be written."""
        if self.closed is not None:
            raise
        return self.make_room(ASTRAY)


cdef int refuse_words(tuple names, tuple values, str kind) except -1:
    """What has no meaning for a kind."""
    for name, value in zip(names, values):
        if value is not None:
            raise TypeError(f"{name} has no meaning for {kind}")
    return 0


include "_runs.pxi"
include "_rewards.pxi"
include "_filters.pxi"
include "_vectors.pxi"
include "_calls.pxi"
