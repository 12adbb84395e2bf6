# The records of a fleet in its mapped file, and the keys by which they are found.

cimport numpy as np
from libc.stdint cimport int64_t, uint8_t, uint64_t

from coactive_fast._table cimport CF_FLEET_TEXT, cf_fleet


cdef enum:
    DAMAGED = 2  # no status of the library: a checksum is wrong
    ASTRAY = 3   # nor this: the index or a free slot is damaged, and can be made anew


# A key as records have it: a whole number, or the hash of a text and its bytes.
cdef struct Key:
    uint64_t word
    bint is_text
    char text[CF_FLEET_TEXT]


cdef int key_of(object key, Key *out) except -1


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


cdef Keys keys_of(object keys)
cdef int refuse_damaged(str path, uint64_t word, const char *text) except -1


cdef class Records:
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

    cdef int fit_seen(self, int64_t capacity) except -1
    cdef int attach(self) except -1
    cdef void detach(self) noexcept
    cdef int follow(self) except -1
    cdef int check_kind(self, bint is_text, str name) except -1
    # The record of a key as a whole; False where there is none. What is damaged is refused.
    cdef bint read(self, Key *key, uint64_t *out) except -1
    cdef int64_t find(self, Key *key, uint64_t *out) except -2  # damaged or not: its slot, or -1
    cdef bint is_moved(self) noexcept
    cdef int tally(self, uint64_t *counts) except -1
    cdef int refuse_slot(self, int64_t slot) except -1
    # Room for one key more; what was found before is then of no use.
    cdef int make_room(self) except -1
    cdef bint has_room(self) noexcept nogil
    cdef object key_at(self, int64_t slot)
    cdef int grow(self, int64_t slots) except -1
    cdef int fill(self, Py_ssize_t place, uint64_t entries) except -1
    cdef np.ndarray kept_slots(self, int64_t used)
    cdef int repair(self) except -1
    cdef int recount(self) except -1
    cdef uint64_t *place(self, Key *key) except NULL
    cdef bint remove(self, Key *key) except -1
    cdef int release(self) except -1
    cdef int begin_epoch(self, uint64_t epoch) except -1
    cdef void drop_areas(self) noexcept
    cdef const char *text_in(self, const uint64_t *r) noexcept
