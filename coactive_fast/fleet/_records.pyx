"""The records of a fleet in its mapped file; see _records.pxd."""

import numpy

cimport numpy as np
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_CheckSignals
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stddef cimport size_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport refuse_masked
from coactive_fast._table cimport (
    CF_FLEET_ALL, CF_FLEET_CHECK, CF_FLEET_DELETED, CF_FLEET_EPOCH, CF_FLEET_FREE, CF_FLEET_KEY,
    CF_FLEET_LIVE, CF_FLEET_MOVED, CF_FLEET_RETIRED, CF_FLEET_ROUNDS, CF_FLEET_SEQ, CF_FLEET_SUM,
    CF_FLEET_TEXT, CF_FLEET_UNSOUND, CF_FLEET_USED, cf_fleet_at, cf_get_library, cf_library,
)

from coactive_fast.fleet._file import AREAS, COUNTS, GENERATION, KEPT, TAG, sealed

np.import_array()

cdef const cf_library *L = cf_get_library()

cdef enum:
    AT_ONCE = 1 << 16  # slots between two looks at signals
    COUNTED = CF_FLEET_CHECK + 1


# --- keys -------------------------------------------------------------------------------------


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
    cdef Keys out
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
            out = Keys()
            out.n = len(keys)
            out.words = <np.ndarray>numpy.ascontiguousarray(keys, dtype=numpy.int64)
            return out
        keys = keys.tolist()
    return listed(list(keys))


cdef Keys listed(list keys):
    """Keys one by one."""
    cdef Keys out = Keys()
    cdef Py_ssize_t t
    cdef Key key
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
        if self.find(key, out) < 0:
            return False
        if not L.fleet_whole(&self.core, out):
            refuse_damaged(self.file.path, key.word, key.text if key.is_text else NULL)
        return True

    cdef int64_t find(self, Key *key, uint64_t *out) except -2:
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
        memset(counts, 0, COUNTED * sizeof(uint64_t))
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
        cdef uint64_t counts[COUNTED]
        self.tally(counts)
        return (counts[<int>CF_FLEET_USED], counts[<int>CF_FLEET_LIVE],
                counts[<int>CF_FLEET_RETIRED])

    def keys(self):
        """All keys, in the order of their slots; of one moment each."""
        cdef uint64_t counts[COUNTED]
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
        cdef uint64_t counts[COUNTED]
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

    cdef int make_room(self) except -1:
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
            self.make_room()
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
        cdef uint64_t counts[COUNTED]
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
            self.drop_areas()
        if self.core.epoch:
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

    cdef void drop_areas(self) noexcept:
        """What was being stored belongs to no flush."""
        cdef int64_t i
        for i in range(self.core.n_areas):
            self.core.areas[i * self.core.area] = 0

    cdef const char *text_in(self, const uint64_t *r) noexcept:
        if not self.is_text:
            return NULL
        return <const char *>(r + self.core.head - self.core.text)
