"""Whole runs over rankings: present, answer, learn, in one compiled loop; see _simulate.pxd.

A round reads the query's features once: scores by the learner's weights and utilities by w*
come from one pass (two_scores), the beginning of the next query is asked for meanwhile, and the
step touches the few documents that changed their place. Limit: that one reading from memory.
"""

import contextlib

cimport numpy as np
from libc.stdint cimport int64_t

from coactive_fast._arrays cimport data_of, refuse
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_OK, cf_candidate, cf_get_library, cf_get_table, cf_library, cf_table,
)
from coactive_fast.coactive._engine cimport Bench, CoactiveEngine, changed_places, ranking_delta
from coactive_fast.coactive._users cimport DEPTH, Decider
from coactive_fast.learner._engine cimport Ticker

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef extern from *:
    """
    /* 4 KB at an address into the second cache. The kernels ask for what lies 4 KB ahead of them;
     * what comes before that, and while no row is read, is asked for from here. */
    static void cf_fetch(const char *p)
    {
    #if defined(__GNUC__)
        for (int i = 0; i < 4096; i += 64)
            __builtin_prefetch(p + i, 0, 2);
    #else
        (void)p;
    #endif
    }
    """
    void cf_fetch(const char *p) noexcept nogil


cdef class RankingRun:
    """The queries, the user and the record of one run.

    Parameters
    ----------
    features : ndarray of shape (documents, N)
        float32 or float64, C-contiguous, finite.
    relevance : ndarray of float64
    offsets, order : ndarray of intp
    weights : ndarray of float64
        w* of the regret.
    own : ndarray of float64 or None
        w* of the user where it has another.
    """

    def __init__(self, features, relevance, offsets, order, weights, own, Decider user,
                 Py_ssize_t k, Py_ssize_t most, utility, optimal):
        self.features, self.relevance, self.offsets = features, relevance, offsets
        self.order, self.weights, self.own, self.user = order, weights, own, user
        self.utility, self.optimal = utility, optimal
        self.k, self.d = k, features.shape[1]
        self.floats = features.dtype.itemsize == 4
        self.bench = Bench()
        self.bench.fit(most, self.d, user.looks_at(k))

    cdef const char *rows_of(self, Py_ssize_t query) noexcept nogil:
        cdef Py_ssize_t at = (<const ptrdiff_t *>np.PyArray_DATA(self.offsets))[query]
        return (<const char *>np.PyArray_DATA(self.features)
                + at * self.d * (4 if self.floats else 8))

    def run(self, CoactiveEngine engine, report):
        """All rounds that are left; `done` tells how many there were, whatever ends the run."""
        cdef Py_ssize_t total = np.PyArray_DIM(self.order, 0)
        cdef Ticker ticker = Ticker(report, total)
        cdef int status = CF_OK
        lock = self.user.lock
        while self.done < total and status == CF_OK:
            with lock if lock is not None else contextlib.nullcontext():
                engine.guard.begin_write()
                try:
                    self.begin(engine)
                    with nogil:
                        status = self.rounds(engine, ticker, total)
                    self.end(status)
                finally:
                    engine.guard.end_write()
            if status == CF_OK:
                ticker.pause(self.done)
        if status != CF_OK:
            refuse(status, f"round {self.done}")

    cdef int begin(self, CoactiveEngine engine) except -1:
        engine.know(self.d, "data")
        return 0

    cdef int end(self, int status) except -1:
        return 0

    cdef int rounds(self, CoactiveEngine engine, Ticker ticker, Py_ssize_t total) noexcept nogil:
        """Rounds until the next pause, the end, or one that fails and changes nothing."""
        cdef const ptrdiff_t *order = <const ptrdiff_t *>np.PyArray_DATA(self.order)
        cdef Py_ssize_t t, mask = 0 if self.d > 1000 else 7  # a look at the clock takes 25 ns
        cdef int status
        while self.done < total:
            t = self.done
            status = self.one(engine, order[t], order[t + 1] if t + 1 < total else order[t], t)
            if status != CF_OK:
                return status
            self.done = t + 1
            if (t & mask) == 0 and ticker.due():
                break
        return CF_OK

    cdef int one(self, CoactiveEngine engine, Py_ssize_t query, Py_ssize_t next_query,
                 Py_ssize_t t) noexcept nogil:
        cdef const ptrdiff_t *offsets = <const ptrdiff_t *>np.PyArray_DATA(self.offsets)
        cdef Py_ssize_t n = offsets[query + 1] - offsets[query], d = self.d
        cdef Py_ssize_t k = min(self.k, n)
        cdef const char *rows = self.rows_of(query)
        cdef const char *ahead = self.rows_of(next_query)
        cdef double *utility = self.bench.utility
        cdef double *score = self.bench.score
        cdef double *discount = self.bench.discount
        cdef ptrdiff_t *shown = self.bench.presented
        cdef ptrdiff_t *better = self.bench.better
        cdef cf_candidate *sorting = <cf_candidate *>self.bench.sorting
        cdef double best
        cdef int status
        if self.floats:
            K.two_scores_f32(n, d, <const float *>rows, d, engine.rule.w, data_of(self.weights),
                             score, utility)
        else:
            K.two_scores(n, d, <const double *>rows, d, engine.rule.w, data_of(self.weights),
                         score, utility)
        cf_fetch(ahead)
        if not (K.all_finite(n, score) and K.all_finite(n, utility)):
            return CF_ENONFINITE
        K.top_k(n, score, min(n, self.user.looks_at(k)), shown,
                sorting)
        K.top_k(n, utility, k, better, sorting)
        best = L.gain(k, utility, better, discount)
        data_of(self.optimal)[t] = best
        data_of(self.utility)[t] = L.gain(k, utility, shown, discount)
        cf_fetch(ahead + 4096)
        status = self.improve(query, score, best)
        if status != CF_OK:
            return status
        cf_fetch(ahead + 8192)
        if engine.rule.direct():
            k = changed_places(self.bench, k, shown, better)
            return engine.rule.step_places(k, rows, self.floats, d, self.bench.plus,
                                           self.bench.minus, self.bench.weight)
        ranking_delta(self.bench, k, shown, k, better, rows, self.floats, d)
        return engine.rule.step(self.bench.delta)

    cdef int improve(self, Py_ssize_t query, const double *key, double best) noexcept nogil:
        """The user's answer, bench.better from bench.presented and bench.utility."""
        cdef const ptrdiff_t *offsets = <const ptrdiff_t *>np.PyArray_DATA(self.offsets)
        cdef Py_ssize_t n = offsets[query + 1] - offsets[query], k = min(self.k, n)
        cdef double *utility = self.bench.utility
        cdef ptrdiff_t *better = self.bench.better
        if self.own is not None and self.user.kind != DEPTH:
            self.score_rows(query, n, data_of(self.own), utility)
            if not K.all_finite(n, utility):
                return CF_ENONFINITE
            K.top_k(n, utility, k, better, <cf_candidate *>self.bench.sorting)
            best = L.gain(k, utility, better, self.bench.discount)
        self.user.rank(self.bench, n, k, utility, key, data_of(self.relevance) + offsets[query],
                       best)
        return CF_OK

    cdef void score_rows(self, Py_ssize_t query, Py_ssize_t n, const double *w,
                         double *out) noexcept nogil:
        """The scores of a query's documents."""
        cdef const char *rows = self.rows_of(query)
        if self.floats:
            K.scores_f32(n, self.d, <const float *>rows, self.d, w, out)
        else:
            K.scores(n, self.d, <const double *>rows, self.d, w, out)
