"""Learners of rankings from clicks (DEFINITIONS 7): pair swaps (3PR) and PDGD; their runs.

Cost of a round over n documents, beside the one reading of x and a sort: pair swaps draw n / 2
numbers; PDGD draws n numbers and takes 2 n logarithms, and where there are clicks n exponentials
and some for each pair of places (cf_clicks.h).
"""

import numpy

cimport numpy as np
from libc.stddef cimport size_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport data_of, new_indices, new_vector, refuse_non_finite
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_OK, cf_candidate, cf_click_scratch, cf_get_library, cf_get_table, cf_library,
    cf_table,
)
from coactive_fast.coactive._engine cimport (
    Bench, CoactiveEngine, both_scores, matrix_of, ranking_delta, scores_of,
)
from coactive_fast.coactive._pending cimport PendingEngine, PendingRun, ordering_of
from coactive_fast.coactive._rules cimport Matrix
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._state cimport State

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()


# --- pair swaps ---------------------------------------------------------------------------------


cdef class PairwiseEngine(PendingEngine):
    """Neighbours change places at random; clicks say which of two is better.

    Parameters
    ----------
    task : Ranking
    swap : float
    chance : Chance
        Owned from now on.
    """

    cdef double swap
    cdef Py_ssize_t start      # of the pending pairs: at the first place, or at the second

    def __init__(self, task, double swap, Chance chance):
        PendingEngine.__init__(self, task, chance)
        self.swap = swap

    cdef int hold(self, tuple parts) except -1:
        self.presented, self.start = parts or (None, 0)
        return 0

    cdef dict held(self):
        return {"presented": self.presented, "start": self.start}

    cdef tuple checked(self, State pending, State state):
        return ordering_of(pending), pending.count("start", 0, 1)

    def adopt(self, CoactiveEngine other, changed):
        PendingEngine.adopt(self, other, changed)
        self.swap = (<PairwiseEngine?>other).swap

    cdef int draw(self, np.ndarray a) except -1:
        cdef Matrix x = matrix_of(a)
        cdef np.ndarray presented = new_indices(x.n)
        cdef ptrdiff_t *shown = <ptrdiff_t *>np.PyArray_DATA(presented)
        cdef Bench b = self.bench
        cdef bint finite
        self.know(x.d, "x")
        b.fit(x.n, x.d, x.n)
        with nogil:
            scores_of(&x, self.rule.w, b.score)
            finite = K.all_finite(x.n, b.score)
        if not finite:
            refuse_non_finite(a, "x")
            raise ValueError("x gives scores that overflow")
        K.top_k(x.n, b.score, x.n, shown, <cf_candidate *>b.sorting)
        return self.hold((presented, self.swap_pairs(x.n, x.n, shown)))

    cdef Py_ssize_t swap_pairs(self, Py_ssize_t n, Py_ssize_t deep,
                               ptrdiff_t *shown) noexcept nogil:
        """Draws for all pairs of n places, which change the first `deep` alone; where they start.
        """
        cdef Py_ssize_t start = self.chance.bits.next_double(self.chance.bits.state) >= 0.5
        cdef Py_ssize_t p = start
        while p + 1 < deep:
            if self.chance.bits.next_double(self.chance.bits.state) < self.swap:
                shown[p], shown[p + 1] = shown[p + 1], shown[p]
            p += 2
        while p + 1 < n:  # what is drawn does not depend on how much is shown
            self.chance.bits.next_double(self.chance.bits.state)
            p += 2
        return start

    cdef int learn_ranking(self, x, y, better) except -1:
        PendingEngine.learn_ranking(self, x, y, better)
        self.guard.settle_write()
        return self.hold(None)

    cdef int answer(self, Bench b, const Matrix *x, Py_ssize_t m) noexcept nogil:
        feedback_of_pairs(b, m, self.start)
        m = min(m, self.k)
        ranking_delta(b, m, b.presented, m, b.better, x)
        return self.rule.step(b.delta)


cdef void feedback_of_pairs(Bench b, Py_ssize_t m, Py_ssize_t start) noexcept nogil:
    """b.better: as shown, but for the pairs whose lower document alone was clicked."""
    cdef Py_ssize_t p = start
    memcpy(b.better, b.presented, <size_t>m * sizeof(ptrdiff_t))
    while p + 1 < m:
        if b.clicked[p + 1] and not b.clicked[p]:
            b.better[p], b.better[p + 1] = b.better[p + 1], b.better[p]
        p += 2


cdef class PairwiseRankings(PendingRun):
    """Arguments as those of `RankingRun`."""

    cdef PairwiseEngine pairs
    cdef np.ndarray shown, key

    def __init__(self, *given, **options):
        PendingRun.__init__(self, *given, **options)
        self.shown, self.key = new_indices(self.bench.docs), new_vector(self.bench.docs)

    cdef int fit(self, PendingEngine engine) except -1:
        self.pairs = <PairwiseEngine?>engine
        return 0

    cdef int redraw(self, generator, Py_ssize_t n) except -1:
        start = generator.random() >= 0.5
        generator.random((n - start) // 2)
        return 0

    cdef int play_round(self, CoactiveEngine engine, Bench b, const Matrix *x) noexcept nogil:
        cdef Py_ssize_t n = x.n, k = min(self.k, n), deep = n, start, i
        cdef ptrdiff_t *shown = <ptrdiff_t *>np.PyArray_DATA(self.shown)
        cdef double *key = data_of(self.key)
        cdef double best
        cdef int status
        both_scores(x, engine.rule.w, data_of(self.weights), b.score, b.utility)
        self.ask_ahead(0)
        if not (K.all_finite(n, b.score) and K.all_finite(n, b.utility)):
            return CF_ENONFINITE
        if self.chance is not None:
            deep = min(k + 1, n)  # what a swap may bring to the first k places
        K.top_k(n, b.score, deep, shown, <cf_candidate *>engine.bench.sorting)
        start = self.pairs.swap_pairs(n, deep, shown)
        if self.chance is None:
            for i in range(n):
                key[shown[i]] = -<double>i  # what the user walks down
        self.ask_ahead(1)
        memcpy(b.presented, shown, <size_t>min(n, self.user.looks_at(k)) * sizeof(ptrdiff_t))
        best = self.measure(b, n, k)
        status = self.improve(b, x, key, best)
        if status != CF_OK:
            return status
        self.ask_ahead(2)
        if self.chance is not None:
            feedback_of_pairs(b, k, start)
        return self.learn_better(engine, b, k, x)


# --- PDGD ---------------------------------------------------------------------------------------


cdef class PDGDEngine(PendingEngine):
    """Draws rankings from the Plackett-Luce model; pairs of clicks, each by how fair it was.

    Parameters
    ----------
    task : Ranking
    rate : float
    chance : Chance
        Owned from now on.
    """

    cdef double rate
    cdef np.ndarray scores     # of the pending presentation, by document
    cdef np.ndarray spare      # scratch of cf_click_preferences

    def __init__(self, task, double rate, Chance chance):
        PendingEngine.__init__(self, task, chance)
        self.rate = rate
        self.spare = new_vector(0)

    cdef int hold(self, tuple parts) except -1:
        self.presented, self.scores = parts or (None, None)
        return 0

    cdef dict held(self):
        return {"presented": self.presented, "scores": self.scores}

    cdef tuple checked(self, State pending, State state):
        cdef np.ndarray presented = ordering_of(pending)
        scores = pending.vector("scores", presented.size)
        rest = numpy.asarray(presented)[self.k:]
        if not numpy.array_equal(rest, rest[numpy.lexsort((rest, -scores[rest]))]):
            pending.refuse("presented", f"by score behind the first {self.k} places")
        return presented, scores

    def adopt(self, CoactiveEngine other, changed):
        PendingEngine.adopt(self, other, changed)
        self.rate = (<PDGDEngine?>other).rate

    cdef int make_room(self, Py_ssize_t n) except -1:
        if np.PyArray_DIM(self.spare, 0) < cf_click_scratch(n):
            self.spare = new_vector(cf_click_scratch(n))
        return 0

    cdef int draw(self, np.ndarray a) except -1:
        cdef Matrix x = matrix_of(a)
        cdef np.ndarray scores = new_vector(x.n), presented = new_indices(x.n)
        cdef bint finite
        self.know(x.d, "x")
        self.bench.fit(x.n, x.d, x.n)
        with nogil:
            finite = self.order(self.bench, &x, data_of(scores),
                                <ptrdiff_t *>np.PyArray_DATA(presented))
        if not finite:
            refuse_non_finite(a, "x")
            raise ValueError("x gives scores that overflow")
        return self.hold((presented, scores))

    cdef bint order(self, Bench b, const Matrix *x, double *score,
                    ptrdiff_t *presented) noexcept nogil:
        """Scores, and all documents: the first places drawn, the rest by score. 0 where a score is
        not finite."""
        cdef Py_ssize_t n = x.n, m = min(self.k, n), i
        scores_of(x, self.rule.w, score)
        if not K.all_finite(n, score):
            return False
        self.draw_first(b, n, score, presented)
        K.top_k(n, score, n, b.better, <cf_candidate *>b.sorting)
        for i in range(m):
            b.place[presented[i]] = 1
        for i in range(n):
            if b.place[b.better[i]] == 0:
                presented[m] = b.better[i]
                m += 1
        memset(b.place, 0, <size_t>n * sizeof(ptrdiff_t))
        return True

    cdef void draw_first(self, Bench b, Py_ssize_t n, const double *score,
                         ptrdiff_t *first) noexcept nogil:
        """The first k places, from the Plackett-Luce model: one number a document."""
        cdef Py_ssize_t i
        for i in range(n):
            b.own[i] = self.chance.bits.next_double(self.chance.bits.state)
        K.gumbel(n, score, b.own, b.own)
        K.top_k(n, b.own, min(self.k, n), first, <cf_candidate *>b.sorting)

    cdef int answer(self, Bench b, const Matrix *x, Py_ssize_t m) noexcept nogil:
        return self.prefer(b, x, data_of(self.scores),
                           <const ptrdiff_t *>np.PyArray_DATA(self.presented), m)

    cdef int prefer(self, Bench b, const Matrix *x, const double *score, const ptrdiff_t *ranking,
                    Py_ssize_t m) noexcept nogil:
        """The step for b.clicked of the first m places of a ranking."""
        cdef Py_ssize_t d = x.d
        m = L.click_preferences(K, x.n, self.k, score, ranking, m, b.clicked, b.weight,
                                data_of(self.spare))
        memset(b.delta, 0, <size_t>d * sizeof(double))
        if x.floats:
            K.features_f32(m, d, <const float *>x.rows, x.step, ranking, self.rate, b.weight,
                           b.delta)
        else:
            K.features(m, d, <const double *>x.rows, x.step, ranking, self.rate, b.weight, b.delta)
        return self.rule.step(b.delta)


cdef class PDGDRankings(PendingRun):
    """Arguments as those of `RankingRun`; the user clicks."""

    cdef PDGDEngine pdgd

    cdef int fit(self, PendingEngine engine) except -1:
        self.pdgd = <PDGDEngine?>engine
        return self.pdgd.make_room(self.bench.docs)

    cdef int redraw(self, generator, Py_ssize_t n) except -1:
        generator.random(n)
        return 0

    cdef int play_round(self, CoactiveEngine engine, Bench b, const Matrix *x) noexcept nogil:
        cdef Py_ssize_t n = x.n, k = min(self.k, n)
        cdef int status
        both_scores(x, engine.rule.w, data_of(self.weights), b.score, b.utility)
        self.ask_ahead(0)
        if not (K.all_finite(n, b.score) and K.all_finite(n, b.utility)):
            return CF_ENONFINITE
        self.pdgd.draw_first(engine.bench, n, b.score, b.presented)
        self.ask_ahead(1)
        status = self.improve(b, x, NULL, self.measure(b, n, k))
        if status != CF_OK:
            return status
        self.ask_ahead(2)
        return self.pdgd.prefer(b, x, b.score, b.presented, k)
