"""Very many small models in one file: the records and their keys, regressions over records, the
fleets' engines and runs."""

from concurrent.futures import ThreadPoolExecutor, wait

import numpy

cimport cython
cimport numpy as np
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_CheckSignals
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.float cimport DBL_MAX
from libc.math cimport fabs, sqrt
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport (
    as_flag, as_label, data_of, flags_of, labels_of, new_doubles, new_vector, product_of,
    refuse_masked,
)
from coactive_fast._lock cimport Lock
from coactive_fast._table cimport (
    CF_ENOMEM, CF_ENONFINITE, CF_FLEET_ALL, CF_FLEET_CHECK, CF_FLEET_DELETED, CF_FLEET_EPOCH,
    CF_FLEET_EXTRA, CF_FLEET_FREE, CF_FLEET_HEAD, CF_FLEET_KEY, CF_FLEET_LEARNED, CF_FLEET_LIVE,
    CF_FLEET_MOVED, CF_FLEET_NUMBERS, CF_FLEET_RETIRED, CF_FLEET_ROUNDS, CF_FLEET_SEQ, CF_FLEET_SUM,
    CF_FLEET_TEXT, CF_FLEET_UNSOUND, CF_FLEET_USED, CF_OK, CF_ROW_NULL, cf_fleet, cf_fleet_at,
    cf_get_library, cf_get_table, cf_library, cf_packed_size, cf_pad, cf_row, cf_table,
)
from coactive_fast.coactive._rules cimport Perceptron
from coactive_fast.filtering._rules cimport TEACHER, Decision, Tally
from coactive_fast.learner._engine cimport Form, RowEngine
from coactive_fast.learner._run cimport MORE
from coactive_fast.learner._state cimport vector_of
from coactive_fast.metric._forms cimport Crossed, Regression
from coactive_fast.rewards._rules cimport (
    PICK, BanditEngine, Regressions, RewardEngine, context_of, prediction_of,
)
from coactive_fast.rows._rows cimport RowBuffer, Rows, Workspace, place_of, row_of, rows_of

from coactive_fast._initialized import not_initialized
from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.filtering._history import history_of
from coactive_fast.fleet._chance import first_state, state_from, words_of
from coactive_fast.fleet._file import AREAS, COUNTS, GENERATION, KEPT, TAG, sealed
from coactive_fast.rewards._history import RegressionHistory

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    AT_ONCE = 1 << 16  # slots between two looks at signals
    WORDS = CF_FLEET_CHECK + 1
    DAMAGED = 2  # no status of the library: a checksum is wrong
    ASTRAY = 3   # nor this: the index or a free slot is damaged, and can be made anew


# --- keys -------------------------------------------------------------------------------------


# A key as records have it: a whole number, or the hash of a text and its bytes.
cdef struct Key:
    uint64_t word
    bint is_text
    char text[CF_FLEET_TEXT]


cdef class Keys:
    # Many keys of one kind. words: of each; bytes: CF_FLEET_TEXT of each where they are texts.
    cdef Py_ssize_t n
    cdef bint are_text
    cdef np.ndarray words, bytes

    cdef inline uint64_t word(self, Py_ssize_t t) noexcept nogil:
        return (<uint64_t *>np.PyArray_DATA(self.words))[t]

    cdef inline const char *text(self, Py_ssize_t t) noexcept nogil:
        if not self.are_text:
            return NULL
        return <const char *>np.PyArray_DATA(self.bytes) + t * CF_FLEET_TEXT


cdef int text_of(str key, char *out) except -1:
    """The text of a key: its length, its UTF-8, zeros."""
    cdef Py_ssize_t length
    cdef const char *bytes = PyUnicode_AsUTF8AndSize(key, &length)
    if length >= CF_FLEET_TEXT:
        raise ValueError(f"key must have at most {CF_FLEET_TEXT - 1} bytes of UTF-8, got {length}: "
                         f"{key!r:.80}")
    memset(out, 0, CF_FLEET_TEXT)
    out[0] = <char>length
    memcpy(out + 1, bytes, <size_t>length)
    return 0


cdef int key_of(object key, Key *out) except -1:
    cdef int64_t number
    cdef int beyond = 0
    if type(key) is int:
        number = PyLong_AsLongLongAndOverflow(key, &beyond)
        if not beyond:
            out.is_text, out.word = False, <uint64_t>number
            return 0
    if isinstance(key, str):
        out.is_text = True
        text_of(key if type(key) is str else str.__str__(key), out.text)
        out.word = L.fleet_text_hash(out.text)
        return 0
    out.is_text = False
    refuse_masked(key, "key")
    if isinstance(key, (bool, numpy.bool_)) or not hasattr(key, "__index__"):
        raise TypeError(f"key must be an int or a str, got {type(key).__name__}")
    try:
        number = key.__index__()
    except OverflowError:
        raise ValueError(f"key must be in -2**63 ... 2**63 - 1, got {key}") from None
    out.word = <uint64_t>number
    return 0


cdef Keys keys_of(object keys):
    cdef Keys out = Keys()
    cdef Py_ssize_t t
    cdef Key key
    if isinstance(keys, (str, bytes)):
        raise TypeError("keys must be a sequence of keys, one a row, got a single one")
    refuse_masked(keys, "keys")
    if not isinstance(keys, (list, tuple)):  # whose texts numpy would shorten by zeros at the end
        keys = numpy.asarray(keys)
        if keys.ndim != 1:
            raise ValueError(f"keys must be one-dimensional, got shape {keys.shape}")
        if keys.dtype.kind in "iu":
            if keys.dtype == numpy.uint64 and len(keys) and keys.max() >= 2**63:
                raise ValueError(f"keys must be in -2**63 ... 2**63 - 1, got {keys.max()}")
            out.n = len(keys)
            out.words = <np.ndarray>numpy.ascontiguousarray(keys, dtype=numpy.int64)
            return out
        keys = keys.tolist()
    keys = list(keys)
    out.n = len(keys)
    out.are_text = out.n > 0 and isinstance(keys[0], str)
    out.words = <np.ndarray>numpy.empty(out.n, dtype=numpy.int64)
    if out.are_text:
        out.bytes = <np.ndarray>numpy.empty(out.n * CF_FLEET_TEXT, dtype=numpy.uint8)
    for t in range(out.n):
        key_of(keys[t], &key)
        if key.is_text != out.are_text:
            raise TypeError("keys must all be whole numbers or all texts")
        (<uint64_t *>np.PyArray_DATA(out.words))[t] = key.word
        if key.is_text:
            memcpy(<char *>out.text(t), key.text, CF_FLEET_TEXT)
    return out


cdef object shown(uint64_t word, const char *text):
    """A key in words; NULL: it is a number."""
    if text == NULL:
        return repr(<int64_t>word)
    return repr(text[1:1 + min(<int>text[0] & 255, CF_FLEET_TEXT - 1)].decode("utf-8", "replace"))


cdef int refuse_damaged(str path, uint64_t word, const char *text) except -1:
    """The model of a key."""
    raise ValueError(f"{path!r} is damaged: the model of key {shown(word, text)} does not fit its "
                     "checksum; it can be deleted, or another one put in its place")


ANEW = 'does not fit its checksum; a writer (mode="r+") makes it anew when it comes upon it'
TWICE = "its index and its records do not fit one another; models can be read one by one"


class Unsound(ValueError):
    """What a writer can put in order, but not in the middle of reading."""


# --- records ----------------------------------------------------------------------------------


cdef class Records:
    """The records in a file.

    Parameters
    ----------
    file : File
        Owned from now on.
    kind : Kind
        What is in a record.
    """

    # Invariants: `core` describes `file.map`, which is mapped as long as `view` holds it; laid: the
    # layout is known, and all of core is set. `fresh` is what core.fresh points at. `seen` has a
    # bit a slot, of the records found whole since the file was opened; owned.
    cdef readonly object file
    cdef readonly object kind
    cdef cf_fleet core
    cdef Py_buffer view
    cdef bint held
    cdef readonly bint laid, is_text
    cdef np.ndarray fresh
    cdef readonly Py_ssize_t d
    cdef uint8_t *seen
    cdef int64_t seeable       # slots that `seen` has room for

    def __init__(self, file, kind):
        self.file, self.kind = file, kind
        self.attach()

    def __dealloc__(self):
        self.detach()
        L.free(self.seen)

    cdef void detach(self) noexcept:
        if self.held:
            PyBuffer_Release(&self.view)
            self.held = False

    cdef int attach(self) except -1:
        """The file as it is mapped now."""
        cdef char *base
        cdef Py_buffer view
        cdef uint64_t epoch = 0
        layout = self.file.layout
        if layout is not None:  # what may fail comes first
            if self.fresh is None:
                if not self.kind.has_made(layout):
                    raise ValueError(f"{self.file.path!r} is damaged: its records are not of its "
                                     "template's kind")
                self.fresh = <np.ndarray>self.kind.fresh(layout)
            if layout.retired:
                epoch = self.file.number(TAG) if self.file.writable else 1
            self.fit_seen(layout.capacity)
        PyObject_GetBuffer(self.file.map, &view, PyBUF_SIMPLE)
        self.detach()
        self.view, self.held = view, True
        base = <char *>view.buf
        self.core.generation = <const uint64_t *>(base + <Py_ssize_t>GENERATION)
        self.core.counts = <uint64_t *>(base + <Py_ssize_t>COUNTS)
        self.core.known = sealed(self.file.generation, GENERATION)
        self.laid = layout is not None
        if not self.laid:
            return 0
        self.d, self.is_text = layout.d, layout.text > 0
        self.core.index = <uint64_t *>(base + <Py_ssize_t>layout.index)
        self.core.entries, self.core.capacity = layout.entries, layout.capacity
        self.core.head, self.core.block, self.core.k = layout.head, layout.block, layout.k
        self.core.record, self.core.text = layout.record, layout.text
        self.core.areas = <uint64_t *>(base + <Py_ssize_t>layout.areas)
        self.core.area, self.core.n_areas = layout.area, AREAS
        self.core.fresh = <const uint64_t *>np.PyArray_DATA(self.fresh)
        self.core.retired = <uint64_t *>(base + <Py_ssize_t>layout.retired)
        self.core.epoch, self.core.segments = epoch, len(layout.segments)
        start = 0
        for i, (place, slots) in enumerate(layout.segments):
            self.core.segment[<Py_ssize_t>i].start = start
            start += slots
            self.core.segment[<Py_ssize_t>i].end = start
            self.core.segment[<Py_ssize_t>i].base = <uint64_t *>(base + <Py_ssize_t>place)
        return 0

    cdef int fit_seen(self, int64_t capacity) except -1:
        cdef uint8_t *seen
        if capacity <= self.seeable:
            return 0
        seen = <uint8_t *>L.alloc_zero(<size_t>(capacity // 8 + 1), 1)
        if seen == NULL:
            raise MemoryError(f"a bit for each of {capacity} models")
        if self.seeable:
            memcpy(seen, self.seen, <size_t>(self.seeable // 8 + 1))
        L.free(self.seen)
        self.seen, self.seeable = seen, capacity
        return 0

    cdef int follow(self) except -1:
        """The layout that the writer has made meanwhile."""
        self.file.look()
        return self.attach()

    cdef int check_kind(self, bint is_text, str name) except -1:
        if self.laid and is_text != self.is_text:
            wanted = ("texts", "whole numbers") if self.is_text else ("whole numbers", "texts")
            raise TypeError(f"{name}: the keys of this fleet are {wanted[0]}, not {wanted[1]}")
        return 0

    # --- reading ------------------------------------------------------------------------------

    cdef bint read(self, Key *key, uint64_t *out) except -1:
        """The record of a key as a whole; False where there is none. What is damaged is refused."""
        if self.find(key, out) < 0:
            return False
        if not L.fleet_whole(&self.core, out):
            refuse_damaged(self.file.path, key.word, key.text if key.is_text else NULL)
        return True

    cdef int64_t find(self, Key *key, uint64_t *out) except -2:
        """The slot of a record, damaged or not, or -1."""
        cdef const char *text = key.text if key.is_text else NULL
        cdef int64_t slot
        while True:
            slot = L.fleet_get(&self.core, key.word, text, out)
            if slot == CF_FLEET_UNSOUND:
                raise Unsound(f"{self.file.path!r} is damaged: the index, on the way to key "
                              f"{shown(key.word, text)}, {ANEW}")
            if slot != CF_FLEET_MOVED:
                return slot
            self.follow()

    cdef bint is_moved(self) noexcept:
        """Whether the layout is another one by now."""
        return self.core.generation[0] != self.core.known

    cdef int tally(self, uint64_t *counts) except -1:
        """The counts of one moment, those of the layout as it is then."""
        cdef int found = CF_FLEET_MOVED
        memset(counts, 0, WORDS * sizeof(uint64_t))
        if not self.laid and self.is_moved():
            self.follow()
        while self.laid and found == CF_FLEET_MOVED:
            found = L.fleet_counts(&self.core, counts)
            if found == CF_FLEET_MOVED:
                self.follow()
        if not found:
            raise ValueError(f"{self.file.path!r} is damaged: how many models there are {ANEW}")
        return 0

    def counted(self):
        """How many slots were ever used, hold a model, are kept until the next flush."""
        cdef uint64_t counts[WORDS]
        self.tally(counts)
        return (counts[<int>CF_FLEET_USED], counts[<int>CF_FLEET_LIVE],
                counts[<int>CF_FLEET_RETIRED])

    def keys(self):
        """All keys, in the order of their slots; of one moment each."""
        cdef uint64_t counts[WORDS]
        cdef int64_t slot = 0
        while self.held:
            self.tally(counts)
            if slot >= <int64_t>counts[<int>CF_FLEET_USED]:
                return
            key = self.key_at(slot)
            slot += 1
            if key is not None:
                yield key

    cdef object key_at(self, int64_t slot):
        """The key of a slot, None where it holds no model."""
        cdef np.ndarray record = <np.ndarray>numpy.empty(2 * self.core.record, dtype=numpy.int64)
        cdef uint64_t *r = <uint64_t *>np.PyArray_DATA(record)
        cdef Key key
        if not L.fleet_copy(&self.core, slot, r):
            return None
        if not L.fleet_mend(&self.core, r):
            self.refuse_slot(slot)
        if <int64_t>r[<int>CF_FLEET_ROUNDS] == CF_FLEET_FREE:
            return None
        key.is_text, key.word = self.is_text, r[<int>CF_FLEET_KEY]
        if key.is_text:
            memcpy(key.text, self.text_in(r), CF_FLEET_TEXT)
        # what is kept only is of a model that stands elsewhere by now, or nowhere
        if self.core.epoch and self.find(&key, r + self.core.record) != slot:
            return None
        if not key.is_text:
            return <int64_t>key.word
        if key.text[0] < 0 or key.text[0] >= CF_FLEET_TEXT:
            self.refuse_slot(slot)
        try:
            return key.text[1:1 + key.text[0]].decode("utf-8")
        except UnicodeDecodeError:
            self.refuse_slot(slot)

    cdef int refuse_slot(self, int64_t slot) except -1:
        raise ValueError(f"{self.file.path!r} is damaged: the record in slot {slot} does not fit "
                         "its checksum, and whose it is cannot be made out")

    def damaged(self):
        """How many records have a wrong checksum, and entries of the index."""
        cdef np.ndarray record
        cdef uint64_t counts[WORDS]
        cdef uint64_t *r
        cdef int64_t slot, found
        self.tally(counts)
        if not self.laid:
            return 0
        record = <np.ndarray>numpy.empty(self.core.record, dtype=numpy.int64)
        r = <uint64_t *>np.PyArray_DATA(record)
        found = L.fleet_unsound(&self.core)
        for slot in range(<int64_t>counts[<int>CF_FLEET_USED]):
            if slot % AT_ONCE == 0:
                PyErr_CheckSignals()
            found += L.fleet_copy(&self.core, slot, r) and not L.fleet_whole(&self.core, r)
        return found

    def words(self, key, whole=True):
        """The record of a key, None where there is none; whole: it is refused if it is damaged."""
        cdef Key at
        cdef uint64_t *r
        cdef np.ndarray record
        key_of(key, &at)
        if not self.laid and self.is_moved():
            self.follow()
        if not self.laid or at.is_text != self.is_text:
            return None
        record = <np.ndarray>numpy.zeros(self.core.record, dtype=numpy.int64)
        r = <uint64_t *>np.PyArray_DATA(record)
        return record if (self.read(&at, r) if whole else self.find(&at, r) >= 0) else None

    # --- writing ------------------------------------------------------------------------------

    cdef bint has_room(self) noexcept nogil:
        return L.fleet_has_slot(&self.core) and L.fleet_has_entry(&self.core)

    cdef int reserve_update(self) except -1:
        """For one key more; what was found before is then of no use."""
        if not L.fleet_has_slot(&self.core):
            return self.grow(self.core.capacity)
        if not L.fleet_has_entry(&self.core):
            return self.grow(0)
        return 0

    cdef int grow(self, int64_t slots) except -1:
        """So many slots more, and an index without deleted entries."""
        before = self.file.layout.retired
        layout = self.file.grown(slots)
        self.attach()  # the file may be mapped elsewhere
        try:
            self.fill(layout.index, layout.entries)
        except BaseException:
            self.file.trim()
            self.attach()
            raise
        if layout.retired != before:
            memcpy(<char *>self.view.buf + <Py_ssize_t>layout.retired, self.core.retired,
                   <size_t>self.core.counts[<int>CF_FLEET_RETIRED] * sizeof(uint64_t))
        self.file.put(layout)
        self.attach()
        L.fleet_tally(&self.core, CF_FLEET_DELETED, 0)
        return 0

    cdef int fill(self, Py_ssize_t place, uint64_t entries) except -1:
        """An index of all records at this place of the file."""
        cdef uint64_t *index = <uint64_t *>(<char *>self.view.buf + place)
        cdef int64_t slot, used = <int64_t>self.core.counts[<int>CF_FLEET_USED]
        cdef np.ndarray kept
        cdef const uint8_t *listed = NULL
        if self.core.epoch:
            kept = self.kept_slots(used)
            listed = <const uint8_t *>np.PyArray_DATA(kept)
        with nogil:
            slot = L.fleet_fill(&self.core, index, entries, used, listed)
        return 0 if slot < 0 else self.refuse_slot(slot)

    cdef np.ndarray kept_slots(self, int64_t used):
        """A bit for each slot of what is kept until the next flush only. If the list is damaged the
        index tells."""
        cdef np.ndarray bits = <np.ndarray>numpy.zeros(used // 8 + 1, dtype=numpy.uint8)
        cdef uint8_t *bit = <uint8_t *>np.PyArray_DATA(bits)
        cdef uint64_t *r
        cdef uint64_t at
        cdef int64_t i, slot = 0
        for i in range(<int64_t>self.core.counts[<int>CF_FLEET_RETIRED]):
            slot = L.fleet_retired(&self.core, i, self.core.epoch)
            if slot < 0 or slot >= used:
                break
            bit[slot // 8] |= 1 << slot % 8
        else:
            return bits
        memset(bit, 0, <size_t>(used // 8 + 1))
        for slot in range(used):
            r = cf_fleet_at(&self.core, slot)
            if <int64_t>r[<int>CF_FLEET_ROUNDS] == CF_FLEET_FREE:
                continue
            i = L.fleet_find(&self.core, r[<int>CF_FLEET_KEY], self.text_in(r), &at)
            if i < -1 or (i != slot and not L.fleet_whole(&self.core, r)):
                raise ValueError(f"{self.file.path!r} is damaged: {TWICE}")
            if i != slot:
                bit[slot // 8] |= 1 << slot % 8
        return bits

    cdef int repair(self) except -1:
        """After damage that was met with: the index from the records, the rest from the index."""
        self.grow(0)
        return self.recount()

    cdef int recount(self) except -1:
        """Counts and free slots from the index."""
        cdef np.ndarray named = <np.ndarray>numpy.zeros(self.core.capacity // 8 + 1,
                                                        dtype=numpy.uint8)
        if not L.fleet_recount(&self.core, <uint8_t *>np.PyArray_DATA(named)):
            raise ValueError(f"{self.file.path!r} is damaged: {TWICE}")
        return 0

    cdef uint64_t *place(self, Key *key) except NULL:
        """The whole record of a key in the first area, to be changed and put."""
        cdef uint64_t at = 0
        cdef uint64_t *r = NULL
        cdef const char *text = key.text if key.is_text else NULL
        cdef int64_t slot = L.fleet_find(&self.core, key.word, text, &at)
        if slot >= 0 and not L.fleet_seen_whole(&self.core, self.seen, slot):
            L.fleet_remove(&self.core, slot, at)  # its key may be what is damaged
            return self.place(key)
        if slot >= 0 and not L.fleet_is_kept(&self.core, slot):
            r = L.fleet_take(&self.core, 0, slot, CF_FLEET_ALL)
        elif slot >= 0 and L.fleet_has_slot(&self.core):
            r = L.fleet_move(&self.core, 0, slot, at)
        elif slot == -1 and self.has_room():
            r = L.fleet_create(&self.core, 0, key.word, text, at)
        elif slot >= -1:
            self.reserve_update()
            return self.place(key)
        if r == NULL:
            self.repair()
            return self.place(key)
        return r

    cdef bint remove(self, Key *key) except -1:
        """Forgets the record of a key; False where there is none."""
        cdef uint64_t at = 0
        cdef int64_t slot = -1
        if self.laid and key.is_text == self.is_text:
            slot = L.fleet_find(&self.core, key.word, key.text if key.is_text else NULL, &at)
        if slot == CF_FLEET_UNSOUND:
            self.repair()
            return self.remove(key)
        if slot >= 0:
            L.fleet_remove(&self.core, slot, at)
        return slot >= 0

    def put_in_order(self):
        """What the writer before has left behind, and what is damaged since. How many models were
        lost, which can be where the machine stopped."""
        cdef uint64_t counts[WORDS]
        if not self.laid:
            return 0
        if self.file.interrupted == "machine":
            return self.recover()
        if self.file.interrupted == "process":
            L.fleet_replay(&self.core)
        if not L.fleet_counts(&self.core, counts):
            self.recount()
        if self.core.epoch and self.file.number(TAG) == self.file.number(KEPT):
            self.release()
        return 0

    def flush(self):
        """All is on the disc; what was kept for the case that it would not be is free again."""
        if not self.core.epoch:
            self.file.write(KEPT, 1)
        self.file.flush()
        if not self.core.epoch:
            return
        self.file.write(KEPT, self.core.epoch)
        self.file.flush()
        self.release()

    cdef int release(self) except -1:
        """After the word that an epoch is on the disc: the slots that it has retired. They must be
        free on the disc before the list holds others."""
        cdef int64_t i, count = <int64_t>self.core.counts[<int>CF_FLEET_RETIRED]
        cdef bint listed = True
        for i in range(count):
            listed &= L.fleet_retired(&self.core, i, self.core.epoch) >= 0
            L.fleet_release(&self.core, i)
        if count:
            self.file.flush()
        L.fleet_tally(&self.core, CF_FLEET_RETIRED, 0)
        self.begin_epoch(self.file.number(KEPT) + 1)
        return 0 if listed else self.recount()

    cdef int begin_epoch(self, uint64_t epoch) except -1:
        self.file.write(TAG, epoch)
        self.core.epoch = epoch
        return 0

    def recover(self):
        """After a crash of the machine, which may have written pages in any order: the index, the
        counts and the free slots anew from what records are whole. How many were not. Where what
        was flushed is kept: from the newest records up to the last flush, and none is lost."""
        cdef int64_t slot, old
        cdef uint64_t *r
        cdef uint64_t *other
        cdef uint64_t at, last = 0
        cdef int64_t i
        cdef Py_ssize_t lost = 0
        if not self.core.epoch:
            L.fleet_replay(&self.core)
        else:
            last = self.file.number(KEPT)
            for i in range(self.core.n_areas):  # what was being stored belongs to no flush
                self.core.areas[i * self.core.area] = 0
            for i in range(min(<int64_t>self.core.counts[<int>CF_FLEET_RETIRED],
                               self.core.capacity)):
                slot = L.fleet_retired(&self.core, i, last)
                if slot >= 0:
                    r = cf_fleet_at(&self.core, slot)
                    r[<int>CF_FLEET_ROUNDS] = <uint64_t>CF_FLEET_FREE
        memset(self.core.index, 0, <size_t>self.core.entries * sizeof(uint64_t))
        for slot in range(self.core.capacity):
            r = cf_fleet_at(&self.core, slot)
            if r[<int>CF_FLEET_SEQ] == 0 and r[<int>CF_FLEET_SUM] == 0:
                continue
            if self.core.epoch and r[<int>CF_FLEET_EPOCH] > last:
                r[<int>CF_FLEET_ROUNDS] = <uint64_t>CF_FLEET_FREE
                continue
            if (<int64_t>r[<int>CF_FLEET_ROUNDS] == CF_FLEET_FREE or r[<int>CF_FLEET_SEQ] % 2
                    or not L.fleet_whole(&self.core, r)):
                lost += <int64_t>r[<int>CF_FLEET_ROUNDS] != CF_FLEET_FREE
                r[<int>CF_FLEET_ROUNDS] = <uint64_t>CF_FLEET_FREE
                continue
            old = L.fleet_find(&self.core, r[<int>CF_FLEET_KEY], self.text_in(r), &at)
            if old < 0:
                L.fleet_enter(&self.core, self.core.index, self.core.entries, slot)
                continue
            other = cf_fleet_at(&self.core, old)  # the older one goes
            if (other[<int>CF_FLEET_EPOCH], <int64_t>other[<int>CF_FLEET_ROUNDS]) < (
                    r[<int>CF_FLEET_EPOCH], <int64_t>r[<int>CF_FLEET_ROUNDS]):
                other[<int>CF_FLEET_ROUNDS] = <uint64_t>CF_FLEET_FREE
                self.core.index[at] = 0
                L.fleet_enter(&self.core, self.core.index, self.core.entries, slot)
            else:
                r[<int>CF_FLEET_ROUNDS] = <uint64_t>CF_FLEET_FREE
        kept, self.core.epoch = self.core.epoch, 0  # whatever is listed is free
        self.recount()
        if kept:
            self.file.flush()
            memset(self.core.retired, 0, <size_t>self.core.capacity * sizeof(uint64_t))
            self.begin_epoch(last + 1)
        return lost

    cdef const char *text_in(self, const uint64_t *r) noexcept:
        if not self.is_text:
            return NULL
        return <const char *>(r + self.core.head - self.core.text)


# --- regressions over records -----------------------------------------------------------------

cdef double LARGE = 1e150      # of x.x and m, where nothing may overflow half-way


# Words of a block before its numbers, and numbers of a regression of d features.
cdef Py_ssize_t numbers_of(Py_ssize_t d) noexcept nogil:
    return 2 * d + cf_packed_size(d)


# (1, c) (x) row, written out; c has p numbers.
cdef inline void write_crossed(const cf_row *row, Py_ssize_t p, const double *c,
                               double *x) noexcept nogil:
    cdef Py_ssize_t n = row.n, j, e
    cdef double factor
    if row.i32 == NULL and row.i64 == NULL and p == 0:
        memcpy(x, row.value, <size_t>n * sizeof(double))
        return
    memset(x, 0, <size_t>((p + 1) * n) * sizeof(double))
    for j in range(p + 1):
        factor = 1.0 if j == 0 else c[j - 1]
        for e in range(row.nnz):
            x[j * n + place_of(row, e)] = factor * row.value[e]


@cython.final
cdef class PackedForm(Regression):
    """A view of one block, as a form that learners of rewards and filters read by.

    Parameters
    ----------
    ridge, forget
        As for `FullRidge`.
    logistic : bool
        The link.
    """

    # A^-1 = U D U^T (cf_packed.h). Numbers of a block: w (d), D (d), U (d (d - 1) / 2), and, with
    # forgetting, what there is of the regulariser. Nothing but scratch is owned: `sit` points at a
    # block, which outlives every use. Invariant: w, diagonal, u and block are of the same block.
    cdef uint64_t *block
    cdef double *diagonal
    cdef double *u
    cdef double *share         # NULL without forgetting
    cdef int64_t period        # of the renewals (cf_past.h)
    cdef double *x             # cf_pad(d) each, owned; zeros beyond d
    cdef double *f
    cdef double *v

    def __init__(self, double ridge, double forget, bint logistic):
        self.ridge, self.forget, self.logistic = ridge, forget, logistic

    def __dealloc__(self):
        L.free(self.x)

    cdef int start(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t padded = cf_pad(n)
        cdef double *room = new_doubles(3, padded, f"scratch for {n} features")
        memset(room, 0, <size_t>(3 * padded) * sizeof(double))
        L.free(self.x)
        self.x, self.f, self.v = room, room + padded, room + 2 * padded
        self.period = L.past_period(K, n, self.forget)
        return 0

    cdef void sit(self, uint64_t *block) noexcept nogil:
        cdef double *numbers = <double *>(block + <int>CF_FLEET_NUMBERS)
        self.block, self.w, self.diagonal = block, numbers, numbers + self.d
        self.u = numbers + 2 * self.d
        self.share = numbers + numbers_of(self.d) if self.forget < 1.0 else NULL
        self.learned = <int64_t>block[<int>CF_FLEET_LEARNED]

    cdef int reserve(self, Workspace ws) except -1:
        return ws.reserve(1, 2 * cf_pad(self.d))

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return <double>self.d * self.d

    # --- reading ------------------------------------------------------------------------------

    cdef int read_crossed(self, Workspace ws, Crossed by, double *m, double *q) noexcept nogil:
        """m and q of (1, c) (x) row, which is written out into the scratch."""
        cdef Py_ssize_t padded = cf_pad(self.d)
        write_crossed(&ws.row, by.p, by.c, ws.vectors)
        memset(ws.vectors + self.d, 0, <size_t>(padded - self.d) * sizeof(double))
        m[0] = K.dot(self.d, self.w, ws.vectors)
        if q != NULL:
            q[0] = K.packed_look(self.d, self.diagonal, self.u, ws.vectors, ws.vectors + padded)
            if not q[0] <= DBL_MAX:
                return CF_ENONFINITE
        return CF_OK if fabs(m[0]) <= DBL_MAX else CF_ENONFINITE

    cdef int read_pair(self, Workspace ws, double *m, double *q) noexcept nogil:
        cdef Crossed alone
        alone.p, alone.c = 0, NULL
        return self.read_crossed(ws, alone, m, q)

    cdef int read(self, Workspace ws) noexcept nogil:
        ws.score[0] = ws.quad[0] = 0.0
        return self.read_pair(ws, ws.score, ws.quad) if self.d else CF_OK

    cdef int reserve_rows(self, Rows X, Crossed by, Workspace ws) except -1:
        ws.buffer.reserve(X.most)
        return ws.reserve(1, 2 * cf_pad(self.d))

    cdef int read_rows(self, Rows X, Crossed by, Workspace ws, double *m, double *q) noexcept nogil:
        cdef Py_ssize_t t
        cdef int status
        for t in range(X.n):
            if not X.at(t, ws.buffer, &ws.row):
                return CF_ENOMEM
            status = self.read_crossed(ws, by, m + t, NULL if q == NULL else q + t)
            if status != CF_OK:
                return status
        return CF_OK

    cdef double information(self) noexcept nogil:
        """log det A - d log ridge: D is what A^-1 has for a determinant."""
        cdef double sum = 0.0
        cdef Py_ssize_t i
        for i in range(self.d):
            sum -= K.log_one(self.diagonal[i] * self.ridge)
        return sum

    cdef int reserve_drawn(self, Workspace ws) except -1:
        return ws.reserve(1, 2 * cf_pad(self.d))

    cdef int drawn(self, Workspace ws, Py_ssize_t n, double width, double *z) noexcept nogil:
        """F = U sqrt(D)."""
        cdef double *scaled = ws.vectors
        cdef double *out = ws.vectors + cf_pad(self.d)
        cdef Py_ssize_t i
        memset(scaled, 0, <size_t>cf_pad(self.d) * sizeof(double))
        for i in range(n):
            scaled[i] = sqrt(self.diagonal[i]) * z[i]
        K.packed_product(self.d, self.u, scaled, out)
        for i in range(n):
            z[i] = self.w[i] + width * out[i]
        return CF_OK

    # --- learning -----------------------------------------------------------------------------

    # One example into the block: x is written out (cf_pad(d), zeros beyond). *m: w.x of before.
    # Where this is not CF_OK the block holds no regression any more.
    cdef int learn(self, const double *x, double y, bint null, double *m) noexcept nogil:
        cdef double mean, q, a, miss, weight
        cdef Py_ssize_t i
        cdef int good = 1
        m[0] = 0.0
        if null:
            self.block[<int>CF_FLEET_LEARNED] += 1
            return CF_OK
        m[0] = mean = K.dot(self.d, self.w, x)  # predicted before anything is forgotten
        if self.share != NULL and self.learned:
            if not (K.dot(self.d, x, x) < LARGE and fabs(mean) < LARGE):
                return CF_ENONFINITE
            self.fade()
            mean = K.dot(self.d, self.w, x)
        q = K.packed_look(self.d, self.diagonal, self.u, x, self.f)
        if not (q <= DBL_MAX and fabs(mean) <= DBL_MAX):
            return CF_ENONFINITE
        weight = self.aim(mean, y, &miss)
        a = K.packed_update(self.d, self.diagonal, self.u, weight, self.f, self.v)
        K.axpy(self.d, miss / a, self.v, self.w)
        for i in range(self.d):
            good &= self.diagonal[i] > 0.0
        if not (good and K.all_finite(numbers_of(self.d), self.w)):
            return CF_ENONFINITE
        self.block[<int>CF_FLEET_LEARNED] += 1
        return CF_OK

    cdef void fade(self) noexcept nogil:
        """M <- f M, b <- f b and the regulariser, before an example (cf_past.h)."""
        cdef double after = (1.0 if self.learned % self.period == 0
                             else self.forget * self.share[0])
        cdef double added = (after - self.forget * self.share[0]) * self.ridge
        cdef Py_ssize_t i
        for i in range(self.d):
            self.diagonal[i] /= self.forget
        self.share[0] = after
        if added > 0.0:
            self.fill_up(added)

    # A <- A + c I, in d steps; and w <- w - c A^-1 w.
    cdef void fill_up(self, double c) noexcept nogil:
        cdef double *unit = self.x
        cdef Py_ssize_t i
        for i in range(self.d):
            memset(unit, 0, <size_t>cf_pad(self.d) * sizeof(double))
            unit[i] = 1.0
            K.packed_look(self.d, self.diagonal, self.u, unit, self.f)
            K.packed_update(self.d, self.diagonal, self.u, c, self.f, self.v)
        memset(unit, 0, <size_t>cf_pad(self.d) * sizeof(double))
        memcpy(unit, self.w, <size_t>self.d * sizeof(double))
        K.packed_look(self.d, self.diagonal, self.u, unit, self.f)
        for i in range(self.d):
            self.f[i] *= self.diagonal[i]
        K.packed_product(self.d, self.u, self.f, self.v)
        K.axpy(self.d, -c, self.v, self.w)

    # --- what a state tells: a fleet makes learners of its records by another way ---------------

    cdef int set_options(self, Form other) except -1:
        self.forget = (<PackedForm?>other).forget
        return 0

    cdef np_weights(self):
        return vector_of(self.w, self.d)

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
    # What one thread of a run needs: the area it writes by, and the row in hand.
    cdef int64_t area
    cdef PackedForm form       # of regressions, else None
    cdef Perceptron rule       # of perceptrons, else None
    cdef Workspace scratch
    cdef double *x             # cf_pad(d), owned; zeros beyond d
    cdef uint8_t *seen         # of the records
    cdef Py_ssize_t d
    cdef Py_ssize_t *own       # the rows of a block that are its own, owned; NULL: all of them
    cdef Py_ssize_t owns, room
    cdef int status
    cdef Py_ssize_t row        # that status is of

    def __cinit__(self):
        self.scratch = Workspace()

    def __dealloc__(self):
        L.free(self.x)
        L.free(self.own)

    cdef int reserve(self, Py_ssize_t d, Py_ssize_t rows) except -1:
        """For rows of d features; rows: it may have so many of a block as its own."""
        cdef double *x
        if self.d != d:
            if self.form is not None:
                self.form.resize(1, d)
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


cdef class Stream:
    # The checked arguments of a run. Arrays may be None where a kind has no use for them.
    cdef Keys keys
    cdef Rows rows
    cdef np.ndarray y, weight, context, arm, m, forwarded
    cdef int what              # a step does, in the words of the kind


cdef class FleetEngine:
    """Models by key: a kind says what a step is, and what its calls are given.

    Parameters
    ----------
    records : Records
    slots : int
        How many models the file has room for at first.
    keep : bool
        What was flushed is kept until the next flush.
    """

    cdef readonly Records records
    cdef Lock lock
    cdef object make           # () -> a fresh learner of the template's kind
    cdef object make_form      # () -> of regressions, a PackedForm with its parameters; else None
    cdef Worker hand           # of single calls
    cdef RowBuffer buffer      # likewise; None while it is in use
    cdef str closed            # why nothing can be learned; None: it can
    cdef Py_ssize_t contexts, extra, slots, k
    cdef bint keep
    cdef dict drawn            # key -> generator, of keys that have no record to keep it in

    def __cinit__(self):
        self.lock = Lock()
        self.k, self.drawn = 1, {}

    def __init__(self, Records records, *, Py_ssize_t slots, bint keep):
        kind = records.kind
        self.records, self.make, self.make_form = records, kind.template.clone, kind.form
        self.slots, self.keep, self.extra = slots, keep, kind.extra
        self.hand, self.buffer = self.new_worker(), RowBuffer()
        if not records.file.writable:
            self.closed = 'it was opened with mode="r"'

    # --- what a kind says -----------------------------------------------------------------------

    cdef Worker new_worker(self):
        cdef Worker w = Worker()
        if self.make_form is not None:
            w.form = self.make_form()
        return w

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

    cdef object history(self, Stream s):
        """What a run leaves behind."""
        return None

    # a status of the library
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
        self.lock.acquire_shared()
        try:
            self.refuse_closed()
            r = self.records
            used, live, kept = r.counted()
            return {"models": live, "capacity": self.capacity, "features": r.d,
                    "record": r.core.record * 8 if r.laid else 0, "index": 16,
                    "bytes": len(r.file.map), "free": used - live - kept, "kept": kept,
                    "damaged": r.damaged()}
        finally:
            self.lock.release_shared()

    def flush(self):
        self.lock.acquire()
        try:
            self.refuse_closed()
            if self.closed is None:
                self.records.flush()
        finally:
            self.lock.release()

    def close(self):
        """Ends all use of the file."""
        self.lock.acquire()
        try:
            if self.records is not None:
                self.records.detach()
                self.records.file.close()
                self.records = None
        finally:
            self.lock.release()

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

    cdef bint is_laid(self) except -1:
        """Whether the layout is known, by now."""
        self.refuse_closed()
        if not self.records.laid and self.records.is_moved():
            self.records.follow()
        return self.records.laid

    cdef int prepare(self, Key *key, Py_ssize_t d) except -1:
        """A layout, and memory for a row of it. Other threads may run meanwhile."""
        self.lock.acquire()
        try:
            self.refuse_writing()
            if not self.records.laid:
                self.records.file.begin(self.first_layout(d, key.is_text))
                self.records.attach()
            self.records.check_kind(key.is_text, "key")
        finally:
            self.lock.release()
        self.hand.reserve(self.records.d, 0)
        return 0

    cdef int reserve_update(self, int status) except -1:
        """Room for one key more; ASTRAY: an index. Other threads may run meanwhile."""
        self.lock.acquire()
        try:
            self.refuse_writing()
            return self.records.repair() if status == ASTRAY else self.records.reserve_update()
        finally:
            self.lock.release()

    cdef int one(self, const cf_fleet *core, Worker w, uint64_t word, const char *text,
                 Py_ssize_t block, double y, bint null, int what, double *m) noexcept nogil:
        """A step of the model of a key, which is made where there is none. The row is w.x, its
        weight in the form. MORE: there is no room; DAMAGED: it cannot be what was learned; ASTRAY:
        it cannot be found."""
        cdef uint64_t at = 0
        cdef uint64_t *r
        cdef int64_t slot = L.fleet_find(core, word, text, &at)
        cdef int status
        if slot >= 0 and not L.fleet_seen_whole(core, w.seen, slot):
            return DAMAGED
        if slot >= 0 and not L.fleet_is_kept(core, slot):
            r = L.fleet_take(core, w.area, slot, block)
        elif slot >= 0 and L.fleet_has_slot(core):
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
        cdef bint null, ready
        cdef Py_ssize_t d
        cdef int status
        self.buffer = None
        try:
            self.refuse_writing()
            null = row_of(x, "x", buffer, &row,
                          self.records.d // (self.contexts + 1)) == CF_ROW_NULL
            d = self.crossed(row.n, "x")
            while True:
                self.lock.acquire()
                try:
                    self.refuse_writing()
                    self.refuse_width(row.n, "x")
                    ready = self.records.laid and self.hand.d == d
                    if ready:
                        self.records.check_kind(key.is_text, "key")
                        self.hand.seen = self.records.seen
                        self.lay(&row, context, 0, self.hand.x)
                        if self.hand.form is not None:
                            self.hand.form.weight = weight
                        status = self.one(&self.records.core, self.hand, key.word,
                                          key.text if key.is_text else NULL, block, y, null, what,
                                          m)
                        if status < MORE or status == DAMAGED:
                            break
                finally:
                    self.lock.release()
                if ready:
                    self.reserve_update(status)
                    continue
                if not self.records.laid:
                    self.rehearse(&row, context, key.is_text, block, y, weight, null, what, "x")
                self.prepare(key, d)
        finally:
            buffer.held = buffer.held_places = None
            self.buffer = buffer
        if status == CF_OK:
            return 0
        return self.refuse_status(status, "x", key.word, key.text if key.is_text else NULL)

    # What a row would do to a model that nobody has fed, before there is a layout.
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
        w.reserve(d, 0)
        self.lay(row, context, 0, w.x)
        if w.form is not None:
            w.form.weight = weight
        r = <uint64_t *>np.PyArray_DATA(record)
        status = self.step(w, w.form, w.rule, r,
                           r + <Py_ssize_t>layout.head + block * <Py_ssize_t>layout.block, y, null,
                           what, m)
        return 0 if status == CF_OK else self.fail(status, name)

    cdef void lay(self, const cf_row *row, np.ndarray context, Py_ssize_t t, double *x) noexcept nogil:
        """(1, c) (x) row, written out; c is row t of the context."""
        write_crossed(row, self.contexts,
                      data_of(context) + t * self.contexts if self.contexts else NULL, x)

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
        self.lock.acquire()
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
            self.lock.release()

    def begin(self, Py_ssize_t d, key):
        """The layout, where there is none yet."""
        cdef Key at
        key_of(key, &at)
        self.prepare(&at, d)

    def remove(self, key):
        """False where there is no such key."""
        cdef Key at
        key_of(key, &at)
        self.lock.acquire()
        try:
            self.refuse_writing()
            self.drawn.pop(key, None)
            return self.records.remove(&at)
        finally:
            self.lock.release()

    cdef bint read(self, Key *key, uint64_t *out) except -1:
        """The record of a key, or the one of a model that nobody has fed; False: it is the latter."""
        self.records.check_kind(key.is_text, "key")
        if self.records.read(key, out):
            return True
        memcpy(out, self.records.core.fresh, <size_t>self.records.core.record * 8)
        return False

    def words(self, key, whole=True):
        """The record of a key, or None; whole: it is refused if it is damaged."""
        try:
            self.lock.acquire_shared()
            try:
                self.refuse_closed()
                return self.records.words(key, whole)
            finally:
                self.lock.release_shared()
        except Unsound:
            self.put_in_order()
            return self.words(key, whole)

    cdef int put_in_order(self) except -1:
        """After `Unsound`, which is raised again where nothing can be written."""
        if self.closed is not None:
            raise
        return self.reserve_update(ASTRAY)

    # --- runs -----------------------------------------------------------------------------------

    def run(self, keys, X, tuple answers, weight, context, Py_ssize_t jobs):
        """Row after row; rows of one key in their order. What was predicted, for a regression."""
        cdef Stream s = self.stream_of(keys, X, answers, weight, context)
        cdef Py_ssize_t t = 0, end, step = SHARED if jobs > 1 else BLOCK
        cdef list workers
        cdef Worker w
        cdef Py_ssize_t d = self.crossed(s.rows.d, "X")
        cdef Key first
        if s.keys.n != s.rows.n:
            raise ValueError(f"keys must have length {s.rows.n}, one a row of X, got {s.keys.n}")
        if s.rows.n == 0:
            return self.history(s)
        first.is_text = s.keys.are_text
        if not self.records.laid:
            self.rehearse_first(s)
        while not (self.records.laid and self.hand.d == d):
            self.refuse_width(s.rows.d, "X")
            self.prepare(&first, d)
        workers = [self.worker(j, d, step if jobs > 1 else 0, s.rows) for j in range(jobs)]
        pool = ThreadPoolExecutor(jobs) if jobs > 1 else None
        try:
            while t < s.rows.n:
                PyErr_CheckSignals()
                end = min(t + step, s.rows.n)
                self.lock.acquire()
                try:
                    self.refuse_writing()
                    self.refuse_width(s.rows.d, "X")
                    self.records.check_kind(s.keys.are_text, "keys")
                    for w in workers:
                        w.seen = self.records.seen
                    w = workers[0]
                    if pool is not None:
                        w = self.share(s, workers, pool, t, end)
                    else:
                        with nogil:
                            self.play(s, &self.records.core, w, w.form, w.scratch, s.rows, s.keys,
                                  t, end)
                    if w.status == MORE or w.status == ASTRAY:
                        end = w.row
                        if w.status == ASTRAY:
                            self.records.repair()
                        else:
                            self.records.reserve_update()
                    elif w.status != CF_OK:
                        self.refuse_status(w.status, f"row {w.row} of X", s.keys.word(w.row),
                                           s.keys.text(w.row))
                    t = end
                finally:
                    self.lock.release()
        finally:
            if pool is not None:
                pool.shutdown()
        return self.history(s)

    cdef int rehearse_first(self, Stream s) except -1:
        cdef Workspace scratch = Workspace()
        cdef Py_ssize_t arm = 0
        scratch.reserve_for(s.rows)
        if scratch.load(s.rows, 0) != CF_OK:
            raise MemoryError("a row of X")
        if s.arm is not None:
            arm = (<Py_ssize_t *>np.PyArray_DATA(s.arm))[0]
        return self.rehearse(&scratch.row, s.context, s.keys.are_text, arm,
                             data_of(s.y)[0] if s.y is not None else 0.0, data_of(s.weight)[0]
                             if s.weight is not None else 1.0, scratch.null, s.what, "row 0 of X")

    cdef Worker worker(self, Py_ssize_t j, Py_ssize_t d, Py_ssize_t own, Rows rows):
        cdef Worker w = self.new_worker()
        w.area = j
        w.reserve(d, own)
        w.scratch.reserve_for(rows)
        return w

    cdef int play(self, Stream s, const cf_fleet *core, Worker w, PackedForm form, Workspace scratch,
                  Rows rows, Keys keys, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
        """The rows from begin to end or, where both are 0, those that are the worker's own."""
        cdef Py_ssize_t *own = w.own if end == 0 else NULL
        cdef Py_ssize_t count = end - begin if own == NULL else w.owns, i, t, arm
        cdef double m[2]
        cdef bint null
        w.status = CF_OK
        for i in range(min(<Py_ssize_t>FAR, count)):
            self.reserve_for(core, keys, own[i] if own != NULL else begin + i)
        for i in range(min(<Py_ssize_t>NEAR, count)):
            self.fetch(core, keys, own[i] if own != NULL else begin + i)
        for i in range(count):
            if i + FAR < count:
                self.reserve_for(core, keys, own[i + FAR] if own != NULL else begin + i + FAR)
            if i + NEAR < count:
                self.fetch(core, keys, own[i + NEAR] if own != NULL else begin + i + NEAR)
            t = own[i] if own != NULL else begin + i
            w.row = t
            w.status = scratch.load(rows, t)
            if w.status != CF_OK:
                break
            null = scratch.null
            self.lay(&scratch.row, s.context, t, w.x)
            if form is not None:
                form.weight = data_of(s.weight)[t]
            arm = 0
            if s.arm is not None:
                arm = (<Py_ssize_t *>np.PyArray_DATA(s.arm))[t]
            w.status = self.one(core, w, keys.word(t), keys.text(t), arm,
                                data_of(s.y)[t] if s.y is not None else 0.0, null, s.what, m)
            if w.status != CF_OK:
                break
            if s.m is not None:
                data_of(s.m)[t] = m[0]
            if s.forwarded is not None:
                (<char *>np.PyArray_DATA(s.forwarded))[t] = m[1] > 0.0
        return w.status

    cdef void reserve_for(self, const cf_fleet *core, Keys keys, Py_ssize_t t) noexcept nogil:
        L.fleet_expect(core, keys.word(t) if keys.are_text else L.fleet_hash(keys.word(t)))

    cdef void fetch(self, const cf_fleet *core, Keys keys, Py_ssize_t t) noexcept nogil:
        L.fleet_fetch(core, keys.word(t) if keys.are_text else L.fleet_hash(keys.word(t)))

    # --- many threads ---------------------------------------------------------------------------

    cdef Worker share(self, Stream s, list workers, object pool, Py_ssize_t begin,
                      Py_ssize_t end):
        """A block by all workers: each has the keys whose hash falls to it, so that no model is
        in two hands. The one whose row failed first, or the first one.

        What they would share is done before, in the order of the rows: a key that has no record
        learns its first row, and records that are kept are moved."""
        cdef const cf_fleet *core = &self.records.core
        cdef Worker w, first = workers[0]
        cdef Keys keys = s.keys
        cdef Py_ssize_t t = begin, many = len(workers)
        cdef uint64_t hash
        cdef int status = CF_OK
        for w in workers:
            w.owns, w.status = 0, CF_OK
        for t in range(begin, min(begin + FAR, end)):
            self.reserve_for(core, keys, t)
        for t in range(begin, end):
            if t + FAR < end:
                self.reserve_for(core, keys, t + FAR)
            if t + NEAR < end:
                self.fetch(core, keys, t + NEAR)
            status = self.settle(s, core, first, t)
            if status == DONE:
                continue
            if status != CF_OK:
                break
            hash = keys.word(t) if keys.are_text else L.fleet_hash(keys.word(t))
            w = <Worker>workers[<Py_ssize_t>(hash % <uint64_t>many)]
            w.own[w.owns] = t
            w.owns += 1
        wait_for([pool.submit(self.play_own, s, w) for w in workers])
        for w in workers:
            if w.status != CF_OK and (first.status == CF_OK or w.row < first.row):
                first = w
        if first.status == CF_OK and status < DONE and status != CF_OK:
            first.status, first.row = status, t
        return first

    def play_own(self, Stream s, Worker w):
        """One worker's part of a block; the lock is held by who shares it out."""
        cdef Records records = self.records
        with nogil:
            self.play(s, &records.core, w, w.form, w.scratch, s.rows, s.keys, 0, 0)

    cdef int settle(self, Stream s, const cf_fleet *core, Worker w, Py_ssize_t t) noexcept nogil:
        """A row whose key has a record to be changed in its place is left to the workers; DONE: it
        was learned."""
        cdef uint64_t at
        cdef int64_t slot = L.fleet_find(core, s.keys.word(t), s.keys.text(t), &at)
        cdef int status
        if slot >= 0 and not L.fleet_is_kept(core, slot):
            return CF_OK
        if slot >= 0 and not L.fleet_seen_whole(core, w.seen, slot):
            return DAMAGED
        if slot >= 0:
            if not L.fleet_has_slot(core):
                return MORE
            if L.fleet_move(core, w.area, slot, at) == NULL:
                return ASTRAY
            L.fleet_put(core, w.area)
            return CF_OK
        status = self.play(s, core, w, w.form, w.scratch, s.rows, s.keys, t, t + 1)
        return DONE if status == CF_OK else status


cdef int refuse_words(tuple names, tuple values, str kind) except -1:
    """What has no meaning for a kind."""
    for name, value in zip(names, values):
        if value is not None:
            raise TypeError(f"{name} has no meaning for {kind}")
    return 0


def wait_for(futures):
    """All of them are done when this returns or raises: nobody works on without the lock."""
    try:
        for future in futures:
            future.result()
    except BaseException:
        while not all(future.done() for future in futures):
            try:
                wait(futures)
            except BaseException:
                continue  # a second Ctrl-C: the first one is on its way
        raise


# --- fleets of regressions and bandits --------------------------------------------------------

# --- a learner over a record --------------------------------------------------------------------


cdef class Seat:
    """A learner whose numbers are those of a record.

    Parameters
    ----------
    learner : Learner
        Fresh, and owned from now on.
    """

    # A learner of the template's kind whose numbers are those of a record: `desk` is a copy of it,
    # which the forms of its model point into. Owned by one call at a time.
    cdef object learner
    cdef RowEngine engine
    cdef np.ndarray desk
    cdef list forms            # one PackedForm a block; empty while the layout is not known

    def __init__(self, learner):
        self.learner, self.engine, self.forms = learner, learner._engine, []

    cdef int lay_out(self, Records records, object make_form) except -1:
        """Memory for a record of this layout."""
        cdef Regressions arms = <Regressions>self.engine.form
        cdef PackedForm form
        cdef Py_ssize_t i
        self.desk = <np.ndarray>numpy.zeros(records.core.record, dtype=numpy.int64)
        arms.fresh = make_form
        forms = [make_form() for _ in range(records.core.k)]
        for form in forms:
            form.resize(1, records.d)
        arms.set_forms(forms)
        self.forms = forms
        return 0

    cdef int sit(self, Records records) except -1:
        """The model of the record on the desk."""
        cdef uint64_t *desk = <uint64_t *>np.PyArray_DATA(self.desk)
        cdef Py_ssize_t i
        for i in range(records.core.k):
            (<PackedForm>self.forms[i]).sit(desk + records.core.head + i * records.core.block)
        return self.count(records.d, <int64_t>desk[<int>CF_FLEET_ROUNDS])

    cdef int count(self, Py_ssize_t d, int64_t rounds) except -1:
        self.engine.form.d, self.engine.form.learned = d, rounds
        return 0


# --- their fleet --------------------------------------------------------------------------------


@cython.final
cdef class RewardFleet(FleetEngine):
    """Models of rewards by key.

    Parameters
    ----------
    records, slots, keep
        As for `FleetEngine`.
    """

    cdef object start          # where generators begin: see first_state; None: nothing is drawn
    cdef Seat seat
    cdef Seat unfed            # an ordinary learner: what nobody has fed, before there is a layout
    cdef bint busy, arms

    def __init__(self, Records records, **words):
        cdef RowEngine engine
        kind = records.kind
        self.seat, self.unfed = Seat(kind.template.clone()), Seat(kind.unfed())
        self.start, engine = kind.start, self.seat.engine
        self.k = engine.form.k
        if isinstance(engine, BanditEngine):
            self.arms, self.contexts = (<BanditEngine>engine).arms, (<BanditEngine>engine).contexts
        FleetEngine.__init__(self, records, **words)

    cdef int step(self, Worker w, PackedForm form, Perceptron rule, uint64_t *record,
                  uint64_t *block, double y, bint null, int what, double *m) noexcept nogil:
        form.sit(block)
        record[<int>CF_FLEET_ROUNDS] += 1
        return form.learn(w.x, y, null, m)

    cdef int fail(self, int status, str what) except -1:
        return self.seat.engine.fail(status, what)

    # --- choosing -------------------------------------------------------------------------------

    cdef Seat borrow(self):
        """For one call; a second one at the same time has another."""
        if self.busy:
            return Seat(self.make())
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
        if not self.is_laid():
            seat.count(0, 0)
            return False
        if len(seat.forms) == 0:
            seat.lay_out(records, self.make_form)
        there = self.read(key, <uint64_t *>np.PyArray_DATA(seat.desk))
        seat.sit(records)
        return there

    cdef object choose(self, object key, object x, object allowed, object k, object context):
        cdef Key at
        cdef Seat seat
        cdef bint there
        key_of(key, &at)
        seat = self.borrow()
        try:
            self.lock.acquire()
            try:
                there = self.found(seat, &at)
            finally:
                self.lock.release()
            if self.extra:
                return self.choose_by_chance(seat, key, &at, there, x, allowed, k, context)
            return self.ask(seat if self.records.laid else self.unfed, x, allowed, k, context)
        finally:
            self.give_back(seat)

    cdef object ask(self, Seat seat, object x, object allowed, object k, object context):
        if isinstance(seat.engine, BanditEngine):
            return (<BanditEngine>seat.engine).ask(x, allowed, context, PICK, k, None)
        refuse_words(("allowed", "k", "context"), (allowed, k, context), "a regression")
        return seat.learner.predict(x)

    # --- chance ---------------------------------------------------------------------------------

    cdef object choose_by_chance(self, Seat seat, object key, Key *at, bint there, object x,
                                 object allowed, object k, object context):
        """A choice that moves the generator of the model: it stands in the record or, for a key
        that nobody has fed and for readers, in the memory of this process."""
        cdef np.ndarray words
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
        if not self.store_drawn(key, at, words):
            self.drawn[key] = words
            if len(self.drawn) > REMEMBERED:
                del self.drawn[next(iter(self.drawn))]
        return chosen

    cdef bint store_drawn(self, object key, Key *at, np.ndarray words) except -1:
        """A generator into the record of its key; False where there is none, and for readers."""
        cdef uint64_t *r
        cdef uint64_t place
        cdef int64_t slot = -1
        self.lock.acquire()
        try:
            if self.closed is None and self.records is not None and self.records.laid:
                slot = L.fleet_find(&self.records.core, at.word, at.text if at.is_text else NULL,
                                    &place)
            if slot < 0:
                return False
            if L.fleet_is_kept(&self.records.core, slot):
                r = self.records.place(at)
            else:
                r = L.fleet_take(&self.records.core, 0, slot, CF_FLEET_HEAD)
            memcpy(r + <int>CF_FLEET_EXTRA, np.PyArray_DATA(words), GENERATOR * 8)
            L.fleet_put(&self.records.core, 0)
            self.drawn.pop(key, None)
            return True
        finally:
            self.lock.release()

    cdef int learn(self, object key, object x, tuple answers, object weight,
                   object context) except -1:
        cdef Key at
        cdef Py_ssize_t arm
        cdef double y, c, m
        key_of(key, &at)
        arm, y = self.answers_of(answers)
        c = 1.0 if weight is None else (<RewardEngine>self.seat.engine).weight_of(weight)
        self.learn_row(&at, x, context_of(context, self.contexts, -1), arm, y, c, 0, &m)
        if len(self.drawn):  # the record may be new
            words = self.drawn.get(key)
            if words is not None:
                self.store_drawn(key, &at, words)
        return 0

    # --- arguments ------------------------------------------------------------------------------

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
            if arm >= engine.form.k:
                engine.refuse_answer(arm, "arm")
        name = "reward" if isinstance(engine, BanditEngine) else "y"
        return arm, engine.target_of(answers[<int>self.arms], name)

    # --- streams --------------------------------------------------------------------------------

    cdef Stream stream_of(self, object keys, object X, tuple answers, object weight,
                          object context):
        """The arguments as they are learned from, all checked."""
        cdef RewardEngine engine = <RewardEngine>self.seat.engine
        cdef Stream s = Stream()
        cdef Py_ssize_t n
        self.refuse_writing()
        s.keys, s.rows = keys_of(keys), rows_of(X, "X")
        n = s.rows.n
        if len(answers) != 1 + self.arms:
            raise TypeError(f"run takes keys, rows and {'arms and rewards' if self.arms else 'targets'}, "
                            f"got {len(answers)} arguments behind the rows")
        s.y, s.weight = engine.examples_of(answers[<int>self.arms], weight, n)
        s.arm = None
        if self.arms:
            s.arm = labels_of(answers[0], "arm", n, engine.form.k, False)
        s.context = context_of(context, self.contexts, n)
        s.m = None if isinstance(engine, BanditEngine) else new_vector(n)
        return s

    cdef object history(self, Stream s):
        cdef Py_ssize_t t
        cdef np.ndarray loss
        cdef Key at
        for key, words in list(self.drawn.items()):  # some have a record by now
            key_of(key, &at)
            self.store_drawn(key, &at, words)
        if s.m is None:
            return None
        loss = new_vector(s.rows.n)
        for t in range(s.rows.n):
            data_of(s.m)[t] = prediction_of(self.hand.form.logistic, data_of(s.m)[t],
                                            data_of(s.y)[t], data_of(loss) + t)
        return RegressionHistory(predictions=s.m, loss=loss)


def bits_of(RowEngine engine):
    """The bit generator that a learner's engine draws from."""
    engine.chance.give_back()
    return engine.chance.generator.bit_generator


# --- fleets of filters ------------------------------------------------------------------------

cdef enum:
    DECIDE = 1       # what a step does: decide, learn, or learn what it forwards
    TEACH = 2
    FORWARD = 3
    EVERY = 4        # decide, and learn whatever comes


@cython.final
cdef class FilterFleet(FleetEngine):
    """Ridge filters by key. ROUNDS of a record counts the rounds, LEARNED of its block what was
    learned.

    Parameters
    ----------
    records, slots, keep
        As for `FleetEngine`.
    """

    cdef Decision rule       # which decides
    cdef bint full             # feedback="full": a run learns every label

    def __init__(self, Records records, **words):
        self.full = records.kind.parameters["feedback"] == "full"
        self.rule = records.kind.template.clone()._decision
        FleetEngine.__init__(self, records, **words)

    cdef int step(self, Worker w, PackedForm form, Perceptron rule, uint64_t *record,
                  uint64_t *block, double y, bint null, int what, double *m) noexcept nogil:
        form.sit(block)
        return self.play_round(self.rule, form, record, w.x, y, what, m)

    cdef int play_round(self, Decision rule, PackedForm form, uint64_t *record, const double *x,
                        double y, int what, double *m) noexcept nogil:
        """m[0]: the margin; m[1]: 1 where x is forwarded. y is 1 or -1."""
        cdef uint64_t *counted = record + <int>CF_FLEET_EXTRA
        cdef Tally tally
        cdef double q, mean, seen
        cdef bint forwarded = True
        cdef int status = CF_OK
        memset(&tally, 0, sizeof(Tally))
        tally.rounds = <int64_t>record[<int>CF_FLEET_ROUNDS]
        if rule.counts:
            tally.relevant = <int64_t>counted[0]
            memcpy(&tally.known, counted + 1, sizeof(double))
        mean = K.dot(form.d, form.w, x)
        q = K.packed_look(form.d, form.diagonal, form.u, x, form.f)
        if not (q <= DBL_MAX and fabs(mean) <= DBL_MAX):
            return CF_ENONFINITE
        m[0], m[1] = mean / (1.0 + q), 1.0
        if what != TEACH:
            forwarded = rule.decide(form, &tally, NULL, mean, q)
            m[1] = 1.0 if forwarded else 0.0
            record[<int>CF_FLEET_ROUNDS] += 1
        if what == DECIDE or (what == FORWARD and not forwarded):
            return CF_OK
        status = form.learn(x, rule.target(mean, q, y), False, &seen)
        if status == CF_OK and rule.counts:
            if rule.floor > 0.0:
                tally.relevant += y > 0.0
            if rule.kind == TEACHER:
                tally.known += q / (1.0 + q)
            counted[0] = <uint64_t>tally.relevant
            memcpy(counted + 1, &tally.known, sizeof(double))
        return status

    cdef object choose(self, object key, object x, object allowed, object k, object context):
        """Whether x is forwarded; counts the round, unless this process only reads."""
        cdef double m[2]
        cdef Key at
        refuse_words(("allowed", "k", "context"), (allowed, k, context), "a filter")
        key_of(key, &at)
        if self.closed is None:
            self.learn_row(&at, x, None, 0, 0.0, 1.0, DECIDE, m)
        else:
            self.look_only(&at, x, m)
        return m[1] > 0.0

    cdef int look_only(self, Key *key, object x, double *m) except -1:
        cdef RowBuffer buffer = RowBuffer()
        cdef np.ndarray desk
        cdef uint64_t *r
        cdef cf_row row
        cdef Worker w = self.new_worker()
        m[0], m[1] = 0.0, 1.0
        row_of(x, "x", buffer, &row, self.records.d)
        if not self.is_laid():
            return 0  # nothing was learned: all is forwarded
        self.refuse_width(row.n, "x")
        w.reserve(self.records.d, 0)
        desk = <np.ndarray>numpy.zeros(self.records.core.record, dtype=numpy.int64)
        r = <uint64_t *>np.PyArray_DATA(desk)
        self.read(key, r)
        self.lay(&row, None, 0, w.x)
        status = self.step(w, w.form, None, r, r + self.records.core.head, 0.0, False, DECIDE, m)
        return 0 if status == CF_OK else self.fail(status, "x")

    cdef int learn(self, object key, object x, tuple answers, object weight,
                   object context) except -1:
        cdef double m[2]
        cdef double y
        cdef Key at
        refuse_words(("weight", "context"), (weight, context), "a filter")
        if len(answers) != 1:
            raise TypeError("learn takes a key, a row and whether it was relevant, got "
                            f"{len(answers)} arguments behind the row")
        key_of(key, &at)
        y = 1.0 if as_flag(answers[0], "relevant") else -1.0
        return self.learn_row(&at, x, None, 0, y, 1.0, TEACH, m)

    cdef Stream stream_of(self, object keys, object X, tuple answers, object weight,
                          object context):
        cdef Stream s = Stream()
        refuse_words(("weight", "context"), (weight, context), "a filter")
        if len(answers) != 1:
            raise TypeError("run takes keys, rows and which of them are relevant, got "
                            f"{len(answers)} arguments behind the rows")
        s.keys, s.rows = keys_of(keys), rows_of(X, "X")
        flags = flags_of(answers[0], "relevant", s.rows.n)
        s.y = <np.ndarray>numpy.where(flags, 1.0, -1.0)
        s.weight = <np.ndarray>numpy.ones(s.rows.n)
        s.m = new_vector(s.rows.n)
        s.forwarded = <np.ndarray>numpy.zeros(s.rows.n, dtype=bool)
        s.what = EVERY if self.full else FORWARD
        return s

    cdef object history(self, Stream s):
        return history_of(s.forwarded, s.m, <object>s.y > 0.0)


# --- fleets of perceptrons over rankings ------------------------------------------------------


@cython.final
cdef class VectorFleet(FleetEngine):
    """Preference perceptrons by key: w and the mean of the weights, with a batch also the sum of
    the unfinished one, whose rounds stand in LEARNED of the block.

    Parameters
    ----------
    records, slots, keep
        As for `FleetEngine`.
    """

    cdef Py_ssize_t batch
    cdef object unfed          # a learner: what nobody has fed, before there is a layout

    def __init__(self, Records records, **words):
        self.batch, self.unfed = records.kind.batch, records.kind.unfed()
        FleetEngine.__init__(self, records, **words)

    cdef Worker new_worker(self):
        cdef Worker w = Worker()
        w.rule = Perceptron(self.batch)
        return w

    cdef void sit(self, Perceptron rule, const uint64_t *record,
                  const uint64_t *block) noexcept nogil:
        """The numbers of a record into a rule."""
        cdef const double *numbers = <const double *>(block + <int>CF_FLEET_NUMBERS)
        cdef size_t size = <size_t>rule.n * sizeof(double)
        rule.rounds = <int64_t>record[<int>CF_FLEET_ROUNDS]
        memcpy(rule.w, numbers, size)
        memcpy(rule.mean, numbers + rule.n, size)
        if self.batch > 1:
            rule.waiting = <Py_ssize_t>block[<int>CF_FLEET_LEARNED]
            memcpy(rule.sum, numbers + 2 * rule.n, size)

    cdef int step(self, Worker w, PackedForm form, Perceptron rule, uint64_t *record,
                  uint64_t *block, double y, bint null, int what, double *m) noexcept nogil:
        cdef double *numbers = <double *>(block + <int>CF_FLEET_NUMBERS)
        cdef size_t size = <size_t>rule.n * sizeof(double)
        cdef int status
        self.sit(rule, record, block)
        status = rule.step(w.x)
        if status == CF_OK:
            record[<int>CF_FLEET_ROUNDS] = <uint64_t>rule.rounds
            memcpy(numbers, rule.w, size)
            memcpy(numbers + rule.n, rule.mean, size)
            if self.batch > 1:
                block[<int>CF_FLEET_LEARNED] = <uint64_t>rule.waiting
                memcpy(numbers + 2 * rule.n, rule.sum, size)
        return status

    cdef object choose(self, object key, object x, object allowed, object k, object context):
        """The documents in their order."""
        cdef Perceptron rule
        cdef np.ndarray desk
        cdef uint64_t *r
        cdef Key at
        refuse_words(("allowed", "context"), (allowed, context), "a perceptron")
        key_of(key, &at)
        learner = self.make()  # of its own: what x runs may come back here
        if not self.is_laid():
            return self.unfed.present(x, k=k)
        desk = <np.ndarray>numpy.zeros(self.records.core.record, dtype=numpy.int64)
        r = <uint64_t *>np.PyArray_DATA(desk)
        self.read(&at, r)
        rule = learner._rule
        rule.start(self.records.d)
        self.sit(rule, r, r + self.records.core.head)
        return learner.present(x, k=k)

    cdef int learn(self, object key, object x, tuple answers, object weight,
                   object context) except -1:
        """Delta by an engine that knows nothing, then the step of the record."""
        cdef Key at
        cdef double m
        refuse_words(("weight", "context"), (weight, context), "a perceptron")
        if len(answers) != 2:
            raise TypeError("learn takes a key, documents, what was presented and what is better, "
                            f"got {len(answers)} arguments behind the documents")
        key_of(key, &at)
        self.refuse_writing()
        engine = self.make()._engine
        engine.learn(x, answers[0], answers[1])
        return self.learn_row(&at, <np.ndarray>engine._last_delta(), None, 0, 0.0, 1.0, 0, &m)

    cdef Stream stream_of(self, object keys, object X, tuple answers, object weight,
                          object context):
        cdef Stream s = Stream()
        refuse_words(("weight", "context"), (weight, context), "a perceptron")
        if len(answers) != 0:
            raise TypeError("run takes keys and rows Delta = phi(better) - phi(presented), got "
                            f"{len(answers)} arguments more")
        s.keys, s.rows = keys_of(keys), rows_of(X, "X")
        return s


# --- the calls of one key ---------------------------------------------------------------------


cdef class FleetCalls:
    # The engine, None where __init__ was not called.
    cdef FleetEngine engine

    @property
    def _engine(self):
        return self.at_work()

    @_engine.setter
    def _engine(self, FleetEngine engine):
        self.engine = engine

    cdef FleetEngine at_work(self):
        if self.engine is None:
            raise RuntimeError(not_initialized(type(self)))
        return self.engine

    """`choose` and `learn` of one key, inherited by the thin class: a method of Python's on the way
    would cost a part of what they do."""

    def choose(self, key, x, *, allowed=None, k=None, context=None):
        """What the model of a key decides; see the class.

        Parameters
        ----------
        key : int or str
            Whose model it is.
        x, allowed, k, context
            As for `choose` of the template, `predict` of a regression, `forward` of a filter and
            `present` of a perceptron.

        Returns
        -------
        int, or what the method of the template gives
            The decision by the model of that key.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> fleet = cf.Fleet(None, cf.LinearBandit(), 100)
        >>> fleet.learn("anna", [1.0, 0.0], 2.0)
        >>> fleet.choose("anna", [[0.0, 1.0], [1.0, 0.0]])
        1
        """
        cdef FleetEngine engine = self.at_work()
        try:
            return engine.choose(key, x, allowed, k, context)
        except Unsound:
            engine.put_in_order()
            return engine.choose(key, x, allowed, k, context)

    def learn(self, key, x, *answers, weight=None, context=None):
        """One example for the model of a key, which is made where there is none.

        Parameters
        ----------
        key : int or str
            Whose model it is.
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
        cdef FleetEngine engine = self.at_work()
        engine.learn(key, x, answers, weight, context)
