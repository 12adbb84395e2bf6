"""The records of a fleet in its mapped file; see _records.pxd."""

import numpy

cimport numpy as np
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_CheckSignals
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stddef cimport size_t
from libc.string cimport memcpy, memset

from coactive_fast._table cimport (
    CF_FLEET_ALL, CF_FLEET_DELETED, CF_FLEET_EPOCH, CF_FLEET_FREE, CF_FLEET_KEY, CF_FLEET_LIVE,
    CF_FLEET_MOVED, CF_FLEET_NEXT_FREE, CF_FLEET_RETIRED, CF_FLEET_ROUNDS, CF_FLEET_SEQ,
    CF_FLEET_TEXT, CF_FLEET_USED, cf_fleet_at, cf_get_library, cf_library,
)

from coactive_fast.fleet._file import AREAS, COUNTS, GENERATION, KEPT, TAG

np.import_array()

cdef const cf_library *L = cf_get_library()

cdef enum:
    AT_ONCE = 1 << 16  # slots between two looks at signals


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


def damage(path, what):
    """In words."""
    return (f"{path!r} is damaged: {what} does not fit its checksum; it can be deleted, or "
            "another one put in its place")


# --- records ----------------------------------------------------------------------------------


cdef class Records:
    """The records in a file.

    Parameters
    ----------
    file : File
        Owned from now on.
    fresh : callable
        ``fresh(d, head, text)`` gives the words of a model that nobody has fed.
    """

    def __init__(self, file, fresh):
        self.file, self.make_fresh = file, fresh
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
        layout = self.file.layout
        PyObject_GetBuffer(self.file.map, &view, PyBUF_SIMPLE)
        self.detach()
        self.view, self.held = view, True
        base = <char *>view.buf
        self.core.generation = <const uint64_t *>(base + <Py_ssize_t>GENERATION)
        self.core.counts = <uint64_t *>(base + <Py_ssize_t>COUNTS)
        self.core.known = self.file.generation
        self.laid = layout is not None
        if not self.laid:
            return 0
        if self.fresh is None:
            self.fresh = <np.ndarray>self.make_fresh(layout)
        self.d, self.is_text = layout.d, layout.text > 0
        self.core.index = <uint64_t *>(base + <Py_ssize_t>layout.index)
        self.core.entries, self.core.capacity = layout.entries, layout.capacity
        self.core.head, self.core.block, self.core.k = layout.head, layout.block, layout.k
        self.core.record, self.core.text = layout.record, layout.text
        self.core.areas = <uint64_t *>(base + <Py_ssize_t>layout.areas)
        self.core.area, self.core.n_areas = layout.area, AREAS
        self.core.fresh = <const uint64_t *>np.PyArray_DATA(self.fresh)
        self.core.retired = <uint64_t *>(base + <Py_ssize_t>layout.retired)
        self.core.epoch = self.file.number(TAG) if layout.retired else 0
        self.core.segments = len(layout.segments)
        start = 0
        for i, (place, slots) in enumerate(layout.segments):
            self.core.segment[<Py_ssize_t>i].start = start
            start += slots
            self.core.segment[<Py_ssize_t>i].end = start
            self.core.segment[<Py_ssize_t>i].base = <uint64_t *>(base + <Py_ssize_t>place)
        return self.fit_seen()

    cdef int fit_seen(self) except -1:
        cdef size_t size = <size_t>(self.core.capacity // 8 + 1)
        cdef uint8_t *seen
        if self.core.capacity <= self.seeable:
            return 0
        seen = <uint8_t *>L.alloc_zero(size, 1)
        if seen == NULL:
            raise MemoryError(f"a bit for each of {self.core.capacity} models")
        if self.seeable:
            memcpy(seen, self.seen, <size_t>(self.seeable // 8 + 1))
        L.free(self.seen)
        self.seen, self.seeable = seen, self.core.capacity
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
        if not self.find(key, out):
            return False
        if not L.fleet_whole(&self.core, out):
            shown = key.text[1:1 + key.text[0]].decode() if key.is_text else <int64_t>key.word
            raise ValueError(damage(self.file.path, f"the model of key {shown!r}"))
        return True

    cdef bint find(self, Key *key, uint64_t *out) except -1:
        cdef int64_t slot
        while True:
            slot = L.fleet_get(&self.core, key.word, key.text if key.is_text else NULL, out)
            if slot != CF_FLEET_MOVED:
                return slot >= 0
            self.follow()

    @property
    def live(self):
        """How many models there are."""
        return self.core.counts[<int>CF_FLEET_LIVE]

    @property
    def used(self):
        """Slots that were ever used."""
        return self.core.counts[<int>CF_FLEET_USED]

    @property
    def kept(self):
        """Slots of what is kept until the next flush."""
        return self.core.counts[<int>CF_FLEET_RETIRED]

    cdef object key_at(self, int64_t slot):
        """The key of a slot, None where it holds no model."""
        cdef np.ndarray record = <np.ndarray>numpy.empty(self.core.record, dtype=numpy.int64)
        cdef uint64_t *r = <uint64_t *>np.PyArray_DATA(record)
        cdef const char *text
        if not L.fleet_copy(&self.core, slot, r) or self.is_retired(slot, r):
            return None
        if not self.is_text:
            return <int64_t>r[<int>CF_FLEET_KEY]
        text = self.text_in(r)
        return text[1:1 + text[0]].decode("utf-8")

    cdef bint is_retired(self, int64_t slot, const uint64_t *r) noexcept nogil:
        """Whether this is what is kept of a model that stands elsewhere by now, or nowhere."""
        cdef uint64_t at
        cdef const char *text = NULL
        if not self.core.epoch:
            return False
        if self.core.text:
            text = <const char *>(r + self.core.head - self.core.text)
        return L.fleet_find(&self.core, r[<int>CF_FLEET_KEY], text, &at) != slot

    def keys(self):
        """All keys, in the order of their slots; of one moment each."""
        cdef int64_t slot = 0
        while self.held:
            if self.file.moved():
                self.follow()
            if slot >= <int64_t>self.core.counts[<int>CF_FLEET_USED] or not self.laid:
                return
            key = self.key_at(slot)
            slot += 1
            if key is not None:
                yield key

    def damaged(self):
        """The slots whose checksums are wrong, among those that were used."""
        cdef np.ndarray record = <np.ndarray>numpy.empty(self.core.record, dtype=numpy.int64)
        cdef uint64_t *r = <uint64_t *>np.PyArray_DATA(record)
        cdef int64_t slot
        found = []
        if not self.laid:
            return found
        for slot in range(<int64_t>self.core.counts[<int>CF_FLEET_USED]):
            if slot % AT_ONCE == 0:
                PyErr_CheckSignals()
            if L.fleet_copy(&self.core, slot, r) and not L.fleet_whole(&self.core, r):
                found.append(slot)
        return found

    def words(self, key, whole=True):
        """The record of a key, None where there is none; whole: it is refused if it is damaged."""
        cdef Key at
        cdef uint64_t *r
        cdef np.ndarray record
        key_of(key, &at)
        if not self.laid and self.file.moved():
            self.follow()
        if not self.laid or at.is_text != self.is_text:
            return None
        record = <np.ndarray>numpy.zeros(self.core.record, dtype=numpy.int64)
        r = <uint64_t *>np.PyArray_DATA(record)
        return record if (self.read(&at, r) if whole else self.find(&at, r)) else None

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
        self.fill(layout.index, layout.entries)
        if layout.retired != before:
            memcpy(<char *>self.view.buf + <Py_ssize_t>layout.retired, self.core.retired,
                   <size_t>self.core.counts[<int>CF_FLEET_RETIRED] * sizeof(uint64_t))
        self.file.put(layout)
        self.attach()
        self.core.counts[<int>CF_FLEET_DELETED] = 0
        return 0

    cdef int fill(self, Py_ssize_t place, uint64_t entries) except -1:
        """An index of all records at this place of the file."""
        cdef uint64_t *index = <uint64_t *>(<char *>self.view.buf + place)
        cdef int64_t slot, used = <int64_t>self.core.counts[<int>CF_FLEET_USED]
        cdef uint64_t *r
        with nogil:
            memset(index, 0, <size_t>entries * sizeof(uint64_t))
            for slot in range(used):
                r = cf_fleet_at(&self.core, slot)
                if (r[<int>CF_FLEET_SEQ] and <int64_t>r[<int>CF_FLEET_ROUNDS] != CF_FLEET_FREE
                        and not self.is_retired(slot, r)):
                    L.fleet_enter(&self.core, index, entries, slot)
        return 0

    cdef uint64_t *place(self, Key *key) except NULL:
        """The whole record of a key in the first area, to be changed and put."""
        cdef uint64_t at = 0
        cdef const char *text = key.text if key.is_text else NULL
        cdef int64_t slot = L.fleet_find(&self.core, key.word, text, &at)
        if slot >= 0 and not L.fleet_is_kept(&self.core, slot):
            return L.fleet_take(&self.core, 0, slot, CF_FLEET_ALL)
        if slot >= 0 and L.fleet_has_slot(&self.core):
            return L.fleet_move(&self.core, 0, slot, at)
        if slot >= 0 or not self.has_room():
            self.make_room()
            return self.place(key)
        return L.fleet_create(&self.core, 0, key.word, text, at)

    cdef bint remove(self, Key *key) except -1:
        """Forgets the record of a key; False where there is none."""
        cdef uint64_t at = 0
        cdef int64_t slot = -1
        if self.laid and key.is_text == self.is_text:
            slot = L.fleet_find(&self.core, key.word, key.text if key.is_text else NULL, &at)
        if slot >= 0:
            L.fleet_remove(&self.core, slot, at)
        return slot >= 0

    def replay(self):
        """Finishes what a writer that was killed had begun."""
        if self.laid:
            L.fleet_replay(&self.core)
        if self.core.epoch and self.file.number(TAG) == self.file.number(KEPT):
            self.release()

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
        for i in range(count):
            L.fleet_release(&self.core, i)
        if count:
            self.file.flush()
        self.core.counts[<int>CF_FLEET_RETIRED] = 0
        self.file.write(TAG, self.file.number(KEPT) + 1)
        self.core.epoch = self.file.number(TAG)
        return 0

    def recover(self):
        """After a crash of the machine, which may have written pages in any order: the index, the
        counts and the free slots anew from what records are whole. How many were not. Where what
        was flushed is kept: from the newest records up to the last flush, and none is lost."""
        cdef int64_t slot, old, free = 0, used = 0, live = 0
        cdef uint64_t *r
        cdef uint64_t *other
        cdef uint64_t at, last = 0
        cdef int64_t i
        cdef Py_ssize_t lost = 0
        if not self.laid:
            return 0
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
            if r[<int>CF_FLEET_SEQ] == 0 and r[1] == 0:
                continue
            used = slot + 1
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
                live += 1
                continue
            other = cf_fleet_at(&self.core, old)  # the older one goes
            if (other[<int>CF_FLEET_EPOCH], <int64_t>other[<int>CF_FLEET_ROUNDS]) < (
                    r[<int>CF_FLEET_EPOCH], <int64_t>r[<int>CF_FLEET_ROUNDS]):
                other[<int>CF_FLEET_ROUNDS] = <uint64_t>CF_FLEET_FREE
                self.core.index[at] = 0
                L.fleet_enter(&self.core, self.core.index, self.core.entries, slot)
            else:
                r[<int>CF_FLEET_ROUNDS] = <uint64_t>CF_FLEET_FREE
        for slot in range(used - 1, -1, -1):
            r = cf_fleet_at(&self.core, slot)
            if r[<int>CF_FLEET_SEQ] == 0 or <int64_t>r[<int>CF_FLEET_ROUNDS] == CF_FLEET_FREE:
                r[<int>CF_FLEET_ROUNDS], r[<int>CF_FLEET_KEY] = <uint64_t>CF_FLEET_FREE, free
                r[<int>CF_FLEET_SEQ] = (r[<int>CF_FLEET_SEQ] | 1) + 1
                free = slot + 1
        self.core.counts[<int>CF_FLEET_USED] = used
        self.core.counts[<int>CF_FLEET_NEXT_FREE] = free
        self.core.counts[<int>CF_FLEET_LIVE] = live
        self.core.counts[<int>CF_FLEET_DELETED] = self.core.counts[<int>CF_FLEET_RETIRED] = 0
        if self.core.epoch:
            self.file.write(TAG, last + 1)
            self.core.epoch = last + 1
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
