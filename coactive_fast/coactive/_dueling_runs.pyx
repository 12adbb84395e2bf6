"""Whole runs of the dueling bandit, over rankings and over items: the rounds of its single calls.

Rankings: a round reads the query's features twice, for both orderings and for the user. Items: a
user's candidates are read once a round, for w and w' together.
"""

import numpy

cimport numpy as np

from coactive_fast._arrays cimport data_of, new_indices, new_vector
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_OK, cf_candidate, cf_get_library, cf_get_table, cf_library, cf_table,
)
from coactive_fast.coactive._dueling_engine cimport DuelingEngine, brought_most
from coactive_fast.coactive._engine cimport CoactiveEngine
from coactive_fast.coactive._items cimport ItemsRun, Taste
from coactive_fast.coactive._simulate cimport RankingRun
from coactive_fast.coactive._users cimport Decider

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()


cdef class DuelingRankings(RankingRun):
    """Arguments as those of `RankingRun`."""

    cdef DuelingEngine duel
    cdef np.ndarray direction, shown, brought, key
    cdef Py_ssize_t begun      # the first round since the last pause,
    cdef dict before           # and the generator's state then

    def __init__(self, *given):
        RankingRun.__init__(self, *given)
        self.direction = new_vector(self.d)
        self.shown, self.key = new_indices(self.bench.docs), new_vector(self.bench.docs)
        self.brought = <np.ndarray>numpy.empty(self.bench.docs, dtype=numpy.uint8)

    cdef int begin(self, CoactiveEngine engine) except -1:
        RankingRun.begin(self, engine)
        self.duel = engine
        self.duel.bench.fit(self.bench.docs, self.d, self.bench.docs)
        self.begun, self.before = self.done, self.duel.generator.bit_generator.state
        return 0

    cdef int end(self, int status) except -1:
        """What a round that failed has drawn is given back; a comparison of before is over."""
        cdef Py_ssize_t t, n
        if self.done > self.begun:
            self.duel.hold(None, None, None)
        if status != CF_OK:
            generator = self.duel.generator
            generator.bit_generator.state = self.before
            for t in range(self.begun, self.done):
                n = self.size((<const ptrdiff_t *>np.PyArray_DATA(self.order))[t])
                generator.standard_normal(self.d)
                generator.random((n + 1) // 2)  # a coin for every other place
        return 0

    cdef Py_ssize_t size(self, Py_ssize_t query) noexcept nogil:
        cdef const ptrdiff_t *offsets = <const ptrdiff_t *>np.PyArray_DATA(self.offsets)
        return offsets[query + 1] - offsets[query]

    cdef int one(self, CoactiveEngine engine, Py_ssize_t query, Py_ssize_t next_query,
                 Py_ssize_t t) noexcept nogil:
        cdef Py_ssize_t n = self.size(query), k = min(self.k, n), i
        cdef double *u = data_of(self.direction)
        cdef double *key = data_of(self.key)
        cdef double *utility = self.bench.utility
        cdef ptrdiff_t *shown = <ptrdiff_t *>np.PyArray_DATA(self.shown)
        cdef unsigned char *brought = <unsigned char *>np.PyArray_DATA(self.brought)
        cdef double best
        cdef int status
        self.duel.aim(u)
        self.score_rows(query, n, data_of(self.weights), utility)
        if not (self.duel.draft(n, self.rows_of(query), self.floats, self.d, shown, brought)
                and K.all_finite(n, utility)):
            return CF_ENONFINITE
        for i in range(n):
            key[shown[i]] = -<double>i  # what the user walks down
        for i in range(min(n, self.user.looks_at(k))):
            self.bench.presented[i] = shown[i]
        K.top_k(n, utility, k, self.bench.better, <cf_candidate *>self.bench.sorting)
        best = L.gain(k, utility, self.bench.better, self.bench.discount)
        data_of(self.optimal)[t] = best
        data_of(self.utility)[t] = L.gain(k, utility, shown, self.bench.discount)
        status = self.improve(query, key, best)
        if status != CF_OK:
            return status
        return self.duel.move_by(u, brought_most(k, self.bench.better, brought))


cdef class DuelingItems(ItemsRun):
    """Arguments as those of `ItemsRun`."""

    cdef Taste session(self, learner, Decider decider, weights, ratings):
        return Comparisons(self, learner, decider, weights, ratings)


cdef class Comparisons(Taste):
    # One user, who prefers one of two items in every round.
    cdef DuelingEngine duel
    cdef np.ndarray direction, scores, others

    def __init__(self, ItemsRun run, DuelingEngine duel, Decider user, weights, ratings):
        Taste.__init__(self, run, user, weights, ratings)
        self.duel = duel
        duel.bench.fit(2, run.d, 1)
        self.direction = new_vector(run.d)
        self.scores, self.others = new_vector(run.n), new_vector(run.n)

    cdef int run(self, double *utility, double *optimal) noexcept nogil:
        cdef double *u = data_of(self.direction)
        cdef Py_ssize_t t, i, j
        cdef int status
        for t in range(self.run_.rounds):
            if self.left == 0 or self.run_.stop:
                break
            self.keep_alive()
            self.duel.aim(u)
            self.score()
            i, j = self.best_kept(data_of(self.scores)), self.best_kept(data_of(self.others))
            if i < 0 or j < 0:
                return CF_ENONFINITE
            utility[t] = (self.truth_[i] + self.truth_[j]) / 2.0
            optimal[t] = self.best_left()
            status = self.duel.move_by(u, self.value_[j] > self.value_[i])
            if status != CF_OK:
                return status
            self.alive[i] = self.alive[j] = 0
            self.left -= 1 + (i != j)
        return CF_OK

    cdef void score(self) noexcept nogil:
        cdef Py_ssize_t d = self.run_.d
        if self.run_.floats:
            K.two_scores_f32(self.kept, d, <const float *>self.kept_rows, d, self.duel.rule.w,
                             self.duel.bench.delta, data_of(self.scores), data_of(self.others))
        else:
            K.two_scores(self.kept, d, <const double *>self.kept_rows, d, self.duel.rule.w,
                         self.duel.bench.delta, data_of(self.scores), data_of(self.others))
