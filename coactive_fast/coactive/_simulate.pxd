# See _simulate.pyx: what other modules cimport.

cimport numpy as np
from libc.stdint cimport int16_t
from numpy.random cimport bitgen_t

from coactive_fast.coactive._rules cimport Bench, CoactiveEngine, Matrix
from coactive_fast.learner._run cimport Run

cdef enum Manner:
    ALPHA          # strictly alpha-informative
    DEPTH          # noisy, looks so deep
    EXPECTED       # alpha-informative on average
    BETTER         # items: the least better rating
    BEST           # items: the best rating
    ONE_HIGHER     # items: exactly one rating higher
    CASCADE        # clicks, until satisfied
    POSITION       # clicks where it looks: less often further down
    PERFECT        # clicks, looks everywhere


cdef class Decider:
    # One user's parameters and chance. `bits` belongs to `generator`, whose lock the caller of a
    # nogil method holds where the kind draws.
    cdef Manner kind
    cdef double alpha, base
    cdef Py_ssize_t depth
    cdef np.ndarray seen       # POSITION: the chance that a place is looked at
    cdef readonly object generator
    cdef bitgen_t *bits

    cdef Py_ssize_t looks_at(self, Py_ssize_t k) noexcept nogil
    cdef void rank(self, Bench b, Py_ssize_t n, Py_ssize_t k, const double *utility,
                   const double *key, const double *label, double best) noexcept nogil
    cdef Py_ssize_t toss(self, double wanted, double gain, const double *gains) noexcept nogil
    cdef void draw_rankings(self, Bench b, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t pick(self, Py_ssize_t m) noexcept nogil
    # Clicks on b.presented[0 .. m), by the chances of each document: b.clicked of each place;
    # returns how many.
    cdef Py_ssize_t click(self, Bench b, Py_ssize_t m, const double *chance,
                          const double *stop) noexcept nogil
    cdef int answer(self, Bench b, const Matrix *x, Py_ssize_t places, weights,
                    double *key) except -1


cdef class RankingRun(Run):
    cdef np.ndarray features, relevance, offsets, order, weights, own
    cdef np.ndarray chance, stop   # of clicks: each document's, of a click and of the end
    cdef Decider user
    cdef object look               # the held-out data, or None: looked at after `every` rounds
    cdef Py_ssize_t every, looks   # of them there were so many
    cdef np.ndarray utility, optimal, feedback
    cdef CoactiveEngine engine # at work, since the last pause
    cdef Py_ssize_t k
    cdef Matrix all            # the rows of all queries
    cdef Py_ssize_t row        # bytes of one
    cdef Bench bench           # for the user; the learner has its own

    cdef bint due(self) noexcept nogil
    cdef Matrix query(self, Py_ssize_t t) noexcept nogil
    cdef Py_ssize_t asked(self, Py_ssize_t t) noexcept nogil
    cdef Py_ssize_t first(self, Py_ssize_t t) noexcept nogil
    # Round `done`: the learner's part, and the user's, who leaves bench.better of bench.presented
    # and of the utilities by w* in bench.utility. Clicks: also bench.clicked and bench.counts,
    # the documents at the front of bench.better.
    cdef int play_round(self, CoactiveEngine engine, Bench b, const Matrix *x) noexcept nogil
    cdef double measure(self, Bench b, Py_ssize_t n, Py_ssize_t k) noexcept nogil
    cdef int learn_better(self, CoactiveEngine engine, Bench b, Py_ssize_t k,
                          const Matrix *x) noexcept nogil
    cdef void ask_ahead(self, Py_ssize_t part) noexcept nogil
    cdef int improve(self, Bench b, const Matrix *x, const double *key,
                     double best) noexcept nogil


cdef class ItemsRun:
    cdef readonly object items, gram, utility, optimal, feedback
    cdef Matrix all            # the rows of items
    cdef const int16_t *g      # of gram, or NULL
    cdef double unit           # what a one of it is worth
    cdef const double *norm    # of each item
    cdef np.ndarray norms
    cdef Py_ssize_t n, d, rounds
    cdef double longest        # the largest norm of an item
    cdef public bint stop      # set by another thread: every user ends after its round

    cdef Taste session(self, learner, Decider decider, weights, ratings)


cdef class Taste:
    # One user: what he likes and what is left. Invariants: `left` counts the alive; below `top`
    # (a place in the sorted order) lies everything that is alive.
    cdef ItemsRun run_
    cdef Decider user
    cdef np.ndarray value, order       # utilities or ratings; places by utility
    cdef np.ndarray truth              # utilities, which regret is measured by
    cdef const double *truth_
    cdef const double *value_
    cdef const ptrdiff_t *order_
    cdef unsigned char *alive
    cdef Py_ssize_t left, top
    # What is read to score everything: `kept` rows, those of the items `id`, ascending, among
    # which are all that are alive; of the catalogue at first, then of `own`, which is freed here.
    cdef Matrix kept_rows
    cdef char *own
    cdef ptrdiff_t *id
    cdef Py_ssize_t kept
    # The record of this user: utilities of what was presented, of the best left, of the answer.
    cdef double *utility
    cdef double *optimal
    cdef double *feedback

    cdef void keep_alive(self) noexcept nogil
    cdef Py_ssize_t best_kept(self, double *score) noexcept nogil
    cdef int run(self) noexcept nogil
    cdef double best_left(self) noexcept nogil
