# See _catalogue.pyx: what other modules cimport.

cimport numpy as np
from libc.stdint cimport int32_t, int64_t, uint64_t

from coactive_fast._guard cimport Guard
from coactive_fast._table cimport cf_look
from coactive_fast.metric._forms cimport Past
from coactive_fast.rewards._rules cimport Regressions, Rule
from coactive_fast.rows._rows cimport Rows, Scratch

cdef enum:
    BLOCK = 64          # rows of a block: CF_CATALOGUE_BLOCK
    SEEDS = 16          # the last winners, which are scored first
    CHECKS = 256        # past weights kept at the most
    NOT_THIS_WAY = 1    # no status of the library: the rows are to be passed over instead

# Where the rows of a block are; a row that is not there has no bit in `alive`.
cdef struct Block:
    const char *base
    int64_t first              # index of its first row
    uint64_t alive
    Py_ssize_t stride          # values from row to row
    double size                # no row is longer
    int held                   # rows, there or not

# Whether an index is one of those.
cdef bint among(int64_t index, const int64_t *taken, Py_ssize_t count) noexcept nogil


cdef class Bounds:
    # The rows, and what is known of their scores. Invariants. Blocks 0 ... blocks-1 have rows; of
    # each, and of each row in it, the arrays below have one entry, all owned here.
    cdef bint floats           # rows are float32
    cdef Py_ssize_t d, padded, blocks
    cdef double largest        # length of the longest row
    cdef Block *block
    cdef float *length         # of each row, rounded up
    cdef int64_t looked        # rows scored anew by the last choice
    cdef const char *mask      # of all indices: whether it may be chosen; NULL: all may
    # Known under one learner, which `era` names (0: nothing), after `learned` examples.
    cdef int64_t era, learned
    cdef int64_t updates, renewals, failures
    cdef double width, norm    # the last width; what A^-1 never exceeded
    cdef double drift          # the share of q that the inverse may be off by
    cdef bint tight            # all that was learned is known: q of slot 0 is not only a bound
    cdef float *m
    cdef float *r
    cdef int32_t *slot
    cdef float *top            # of each block: its highest bound as of the slot `seen`
    cdef float *radius
    cdef int32_t *seen
    cdef int32_t *open
    # Slots: the rounds in which rows were looked at. The bounds of slot s have grown by r times
    # off[s] + the distance of the weights from those of the check ref[s].
    cdef int32_t slots, now, oldest
    cdef float *off
    cdef int32_t *ref
    cdef double *width_at
    cdef float *row_table
    cdef float *block_table
    cdef double *terms         # by what q fell in the last slots
    cdef int32_t idle, renewed # as cf_look has them
    cdef double near           # the distance by which rows are looked at before they must be
    # Checks: past weights, thinned out with age; `order` has their places, the oldest first.
    cdef int64_t time
    cdef int64_t check_time[CHECKS]
    cdef int checks
    cdef int order[CHECKS]
    cdef double distance[CHECKS]
    cdef double *check_w
    cdef double *check_a[CHECKS]  # A, of those that are not bare
    cdef bint bare[CHECKS]     # A is at least I / norm, and more is not known
    cdef Py_ssize_t matrix_room
    cdef int base              # rounds that the last check is kept for
    cdef double *apart
    # What a choice finds, the best first; and rows that are scored first in the next one.
    cdef Py_ssize_t found, places
    cdef double *score
    cdef int64_t *index
    cdef int64_t *place        # BLOCK b + i: row i of block b
    cdef int64_t seeds[SEEDS]
    cdef int seeded, next_seed
    cdef double *wide          # BLOCK rows written out, as `some` has them
    cdef double *m_now
    cdef double *q_now
    cdef Rows some

    cdef uint64_t left(self, Py_ssize_t b) noexcept nogil
    cdef bint any_left(self) noexcept nogil
    cdef int64_t count_left(self) noexcept nogil
    cdef int64_t number(self, int64_t wanted, const int64_t *taken, Py_ssize_t count) noexcept
    cdef const char *row_at(self, int64_t place) noexcept nogil
    cdef bint vouched(self, Regressions model, double width) noexcept nogil
    cdef bint is_narrow(self, Regressions model, double widest) noexcept nogil
    cdef int follow(self, int64_t era, Regressions model, Scratch s, double width) noexcept nogil
    cdef bint right(self, Regressions model, const Past *past, Scratch s) noexcept nogil
    cdef void restart(self, Regressions model, const Past *past, double width) noexcept nogil
    cdef void fill_from(self, Py_ssize_t b, Py_ssize_t i) noexcept nogil
    cdef void next_slot(self, Regressions model, Scratch s, const Past *past,
                        double width) noexcept nogil
    cdef int free_check(self) noexcept nogil
    cdef double apart_from(self, Regressions model, Scratch s, int id,
                           const double *w) noexcept nogil
    cdef bint measure(self, Regressions model, Scratch s) noexcept nogil
    cdef void thin(self, Regressions model, Scratch s) noexcept nogil
    cdef void tabulate(self, double width) noexcept nogil
    cdef void rebase(self) noexcept nogil
    cdef double worst(self) noexcept nogil
    cdef void offer(self, double z, int64_t place) noexcept nogil
    # The k best under the rule (ucb or greedy), into `index`: a status, or NOT_THIS_WAY.
    cdef int pick(self, int64_t era, Regressions model, Rule rule, Scratch s,
                  Py_ssize_t k) noexcept nogil
    cdef bint may(self, int64_t place, int64_t *out) noexcept nogil
    cdef void plant(self, int64_t place) noexcept nogil
    cdef float least(self) noexcept nogil
    cdef void describe(self, Regressions model, double width, cf_look *how) noexcept nogil
    cdef int scan(self, Regressions model, Rule rule, Scratch s, double width) noexcept nogil
    cdef void fetch_bounds(self, Py_ssize_t b) noexcept nogil
    cdef void fetch(self, Py_ssize_t b, uint64_t which) noexcept nogil
    cdef int look(self, Py_ssize_t b, uint64_t which, cf_look *how, Regressions model, Rule rule,
                  Scratch s, double width) noexcept nogil
    cdef int score_fresh(self, Py_ssize_t b, uint64_t which, Regressions model,
                         double width) noexcept nogil
    cdef int best_block(self, Regressions model, Rule rule, Scratch s,
                        double width) noexcept nogil
    cdef int score_block(self, Py_ssize_t b, uint64_t which, Regressions model, Rule rule,
                         Scratch s, double width) noexcept nogil
    cdef int score_some(self, const int64_t *places, Py_ssize_t count, Regressions model,
                        Rule rule, Scratch s, double width) noexcept nogil
    cdef void lay_out(self, const int64_t *places, Py_ssize_t count) noexcept nogil


cdef class Catalogue(Bounds):
    # `arrays` keep the rows alive: those that were given, as they lie, and own ones for those that
    # were added. The engine's guard is taken before this one.
    cdef Guard guard
    cdef list arrays           # [array, first index, first block, rows in use]
    cdef bint owned            # the last array is our own
    cdef bint begun            # there is memory for the bounds
    cdef Py_ssize_t n, living, room, places_room
    cdef Py_ssize_t jobs

    cdef int take(self, np.ndarray rows, Py_ssize_t n, Py_ssize_t first_block) except -1
    cdef void squares(self, const char *x, Py_ssize_t stride, Py_ssize_t count,
                      double *out) noexcept nogil
    cdef bint note_lengths(self, Py_ssize_t b, Py_ssize_t i, Py_ssize_t count,
                           const double *square) noexcept nogil
    cdef void admit(self, Py_ssize_t begin, Py_ssize_t used, Py_ssize_t n) noexcept nogil
    cdef int64_t place_of(self, int64_t index) except -1
    cdef Rows part(self, Py_ssize_t i)
    cdef Rows one(self, Py_ssize_t index)      # a single row
    cdef np.ndarray mask_of(self, object allowed)
    cdef int fit(self, Py_ssize_t blocks) except -1
    cdef int fit_bounds(self, Py_ssize_t used, Py_ssize_t room, str what) except -1
    # Memory for a choice of k rows, with the lock held.
    cdef int fit_choice(self, Regressions model, Scratch s, Py_ssize_t k) except -1
    # The largest x.v among the rows that may be chosen, of some blocks, and its index (-1: none
    # may); all of them into z where that is given.
    cdef void sweep(self, const double *v, Py_ssize_t begin, Py_ssize_t end, double *z,
                    double *best, int64_t *index) noexcept nogil
    cdef int fit_check(self, Py_ssize_t room) except -1
    # What `sweep` finds over all blocks, by several threads where there are to be.
    cdef int64_t largest_product(self, const double *v, double *z, double *best) except? -2
