# The engine of a fleet: keys, one record at a time, and whole streams.

cimport cython
cimport numpy as np
from libc.stdint cimport int64_t, uint8_t, uint64_t

from coactive_fast._guard cimport Guard
from coactive_fast._table cimport cf_fleet, cf_row
from coactive_fast.coactive._rules cimport Perceptron
from coactive_fast.filtering._engine cimport FilterEngine
from coactive_fast.filtering._policy cimport Rule as FilterRule
from coactive_fast.fleet._form cimport PackedForm
from coactive_fast.fleet._records cimport Key, Keys, Records
from coactive_fast.learner._engine cimport RowEngine
from coactive_fast.rows._rows cimport RowBuffer, Rows, Scratch


cdef class Seat:
    # A learner of the template's kind whose numbers are those of a record: `desk` is a copy of it,
    # which the forms of its model point into. Owned by one call at a time.
    cdef object learner
    cdef RowEngine engine
    cdef np.ndarray desk
    cdef list forms            # one PackedForm a block; empty while the layout is not known

    cdef int lay_out(self, Records records, object make_form) except -1
    cdef int sit(self, Records records, const uint64_t *record) except -1
    cdef int count(self, Py_ssize_t d, int64_t rounds) except -1


cdef class Worker:
    # What one thread of a run needs: the area it writes by, and the row in hand.
    cdef int64_t area
    cdef PackedForm form       # of regressions, else None
    cdef Perceptron rule       # of perceptrons, else None
    cdef Scratch scratch
    cdef double *x             # cf_pad(d), owned; zeros beyond d
    cdef uint8_t *seen         # of the records
    cdef Py_ssize_t d
    cdef Py_ssize_t *own       # the rows of a block that are its own, owned; NULL: all of them
    cdef Py_ssize_t owns, room
    cdef int status
    cdef Py_ssize_t row        # that status is of

    cdef int fit(self, Py_ssize_t d, Py_ssize_t rows) except -1


cdef class Stream:
    # The checked arguments of a run. Arrays may be None where a kind has no use for them.
    cdef Keys keys
    cdef Rows rows
    cdef np.ndarray y, weight, context, arm, m, forwarded
    cdef int what              # a step does, in the words of the kind


cdef class FleetEngine:
    cdef readonly Records records
    cdef Guard guard
    cdef object make
    cdef Worker hand           # of single calls
    cdef RowBuffer buffer      # likewise; None while it is in use
    cdef str closed            # why nothing can be learned; None: it can
    cdef Py_ssize_t contexts, extra, slots, k
    cdef bint keep

    # What a kind says.
    cdef Worker new_worker(self)
    cdef int step(self, Worker w, PackedForm form, Perceptron rule, uint64_t *record,
                  uint64_t *block, double y, bint null, int what, double *m) noexcept nogil
    cdef object choose(self, object key, object x, object allowed, object k, object context)
    cdef int learn(self, object key, object x, tuple answers, object weight,
                   object context) except -1
    cdef Stream stream_of(self, object keys, object X, tuple answers, object weight,
                          object context)
    cdef object told(self, Stream s)
    cdef int fail(self, int status, str what) except -1      # a status of the library
    cdef int refuse_status(self, int status, str what, uint64_t word, const char *text) except -1
    cdef int forget(self, object key) except -1

    cdef int refuse_closed(self) except -1
    cdef int refuse_writing(self) except -1
    cdef int lay_out(self, Py_ssize_t d, bint is_text) except -1
    cdef bint is_laid(self) except -1
    cdef int prepare(self, Key *key, Py_ssize_t d) except -1
    # What a row would do to a model that nobody has fed, before there is a layout.
    cdef int rehearse(self, const cf_row *row, np.ndarray context, bint is_text, Py_ssize_t block,
                      double y, double weight, bint null, int what, str name) except -1
    cdef object first_layout(self, Py_ssize_t d, bint is_text)
    cdef int make_room(self, int status) except -1
    cdef int put_in_order(self) except -1
    cdef int one(self, const cf_fleet *core, Worker w, uint64_t word, const char *text,
                 Py_ssize_t block, double y, bint null, int what, double *m) noexcept nogil
    cdef int learn_row(self, Key *key, object x, np.ndarray context, Py_ssize_t block, double y,
                       double weight, int what, double *m) except -1
    cdef void lay(self, const cf_row *row, np.ndarray context, Py_ssize_t t,
                  double *x) noexcept nogil
    cdef Py_ssize_t crossed(self, Py_ssize_t n, str name) except -1
    cdef int refuse_width(self, Py_ssize_t n, str name) except -1


cdef class StreamingFleet(FleetEngine):
    cdef int play(self, Stream s, const cf_fleet *core, Worker w, PackedForm form, Scratch scratch,
                  Rows rows, Keys keys, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cdef int rehearse_first(self, Stream s) except -1
    cdef int settle(self, Stream s, const cf_fleet *core, Worker w, Py_ssize_t t) noexcept nogil
    cdef Worker share(self, Stream s, list workers, object pool, Py_ssize_t begin, Py_ssize_t end)
    cdef Worker worker(self, Py_ssize_t j, Py_ssize_t d, Py_ssize_t own, Rows rows)
    cdef void expect(self, const cf_fleet *core, Keys keys, Py_ssize_t t) noexcept nogil
    cdef void fetch(self, const cf_fleet *core, Keys keys, Py_ssize_t t) noexcept nogil


@cython.final
cdef class RewardFleet(StreamingFleet):
    cdef object make_form, start
    cdef Seat seat
    cdef Seat unfed            # an ordinary learner: what nobody has fed, before there is a layout
    cdef dict drawn            # key -> generator, of keys that have no record to keep it in
    cdef bint busy, arms

    cdef Seat borrow(self)
    cdef int give_back(self, Seat seat) noexcept
    cdef bint found(self, Seat seat, Key *key) except -1
    cdef object ask(self, Seat seat, object x, object allowed, object k, object context)
    cdef object choose_by_chance(self, Seat seat, object key, Key *at, bint there, object x,
                                 object allowed, object k, object context)
    cdef bint store_drawn(self, object key, Key *at, np.ndarray words) except -1
    cdef int store_all_drawn(self) except -1
    cdef np.ndarray context_of(self, object context)
    cdef np.ndarray contexts_of(self, object context, Py_ssize_t n)
    cdef (Py_ssize_t, double) answers_of(self, tuple answers) except *


@cython.final
cdef class FilterFleet(StreamingFleet):
    cdef object make_form
    cdef FilterEngine filter   # whose rule decides
    cdef bint full

    cdef int play_round(self, FilterRule rule, PackedForm form, uint64_t *record, const double *x,
                        double y, int what, double *m) noexcept nogil
    cdef int look_only(self, Key *key, object x, double *m) except -1


@cython.final
cdef class VectorFleet(StreamingFleet):
    cdef Py_ssize_t batch
    cdef object unfed          # a learner: what nobody has fed, before there is a layout

    cdef void sit(self, Perceptron rule, const uint64_t *record,
                  const uint64_t *block) noexcept nogil
