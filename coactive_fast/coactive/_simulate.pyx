"""Simulated users, and whole runs over rankings: present, answer, learn; see _simulate.pxd.

A round reads the query's features once: scores by the learner's weights and utilities by w*
come from one pass (two_scores), the beginning of the next query is asked for meanwhile, and the
step touches the few documents that changed their place. Limit: that one reading from memory.
Runs over items are in _items.pxi.
"""

import numpy

cimport numpy as np
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport INFINITY, floor, sqrt
from libc.stddef cimport size_t
from libc.stdint cimport int16_t, int32_t, uint64_t
from libc.string cimport memcmp, memcpy, memmove, memset
from numpy.random cimport bitgen_t

from coactive_fast._arrays cimport as_vector, data_of, new_indices, new_vector, refuse, take_scratch
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_OK, cf_candidate, cf_get_library, cf_get_table, cf_library, cf_roll, cf_table,
)
from coactive_fast.coactive._engine cimport (
    Bench, CoactiveEngine, both_scores, changed_places, documents_of, indices_of, item_delta,
    matrix_of, ranking_delta, scores_of,
)
from coactive_fast.coactive._rules cimport Matrix, Perceptron, Rule
from coactive_fast.learner._engine cimport Engine
from coactive_fast.learner._run cimport ASIDE, Run

from coactive_fast.learner._history import CoactiveHistory

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    DRAWN = 5  # objects that an expected alpha-informative user may answer instead

KINDS = {"alpha": ALPHA, "depth": DEPTH, "expected": EXPECTED, "better": BETTER, "best": BEST,
         "one": ONE_HIGHER, "cascade": CASCADE, "position": POSITION, "perfect": PERFECT}

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


# --- users --------------------------------------------------------------------------------------


cdef class Decider:
    def __init__(self, str kind, *, double alpha=0.0, base=None, Py_ssize_t depth=0,
                 double eta=0.0, Py_ssize_t places=0, generator=None):
        cdef Py_ssize_t i
        self.kind = KINDS[kind]
        self.alpha = alpha
        self.base = alpha if base is None else base
        self.depth = depth
        self.generator = generator
        places = places if self.kind == POSITION else 0
        self.seen = new_vector(places)
        for i in range(places):
            data_of(self.seen)[i] = K.exp_one(-eta * K.log_one(<double>(i + 1)))
        if generator is not None:
            self.bits = <bitgen_t *>PyCapsule_GetPointer(generator.bit_generator.capsule,
                                                         "BitGenerator")

    @property
    def lock(self):
        """The generator's lock, or None where no chance is at work."""
        return None if self.generator is None else self.generator.bit_generator.lock

    cdef Py_ssize_t looks_at(self, Py_ssize_t k) noexcept nogil:
        """How many presented places `rank` needs."""
        return max(k, self.depth) if self.kind == DEPTH else k

    cdef Py_ssize_t pick(self, Py_ssize_t m) noexcept nogil:
        """One of m, uniformly."""
        return <Py_ssize_t>(self.bits.next_double(self.bits.state) * m)

    cdef void draw_rankings(self, Bench b, Py_ssize_t n) noexcept nogil:
        """Uniform permutations, as swaps from the front."""
        cdef ptrdiff_t *y
        cdef Py_ssize_t r, i, j
        for r in range(DRAWN):
            y = b.drawn + r * n
            for i in range(n):
                y[i] = i
            for i in range(n - 1):
                j = i + self.pick(n - i)
                y[i], y[j] = y[j], y[i]

    cdef Py_ssize_t toss(self, double wanted, double gain, const double *gains) noexcept nogil:
        """-1: the deterministic answer; else which of the drawn. One draw, whatever p is."""
        cdef double mean = 0.0, p = 0.0, u
        cdef Py_ssize_t r
        for r in range(DRAWN):
            mean += gains[r]
        mean /= DRAWN
        if mean < wanted:
            p = 1.0
            if gain > wanted and gain > mean:
                p = (wanted - mean) / (gain - mean)
        u = self.bits.next_double(self.bits.state)
        if u < p:
            return -1
        r = <Py_ssize_t>((u - p) / (1.0 - p) * DRAWN)
        return min(r, DRAWN - 1)

    cdef void rank(self, Bench b, Py_ssize_t n, Py_ssize_t k, const double *utility,
                   const double *key, const double *label, double best) noexcept nogil:
        """b.better[0 .. k) from b.presented and the keys it is ordered by; k <= n."""
        cdef double gains[DRAWN]
        cdef double now
        cdef Py_ssize_t r
        b.took = -1
        if self.kind == DEPTH:
            L.feedback_depth(n, k, self.depth, label, b.presented, b.better)
            return
        if self.kind == EXPECTED:
            self.draw_rankings(b, n)
        L.feedback_alpha(K, n, k, utility, key, b.presented, b.discount, self.base, best, b.better)
        if self.kind != EXPECTED:
            return
        now = L.gain(k, utility, b.presented, b.discount)
        for r in range(DRAWN):
            gains[r] = L.gain(k, utility, b.drawn + r * n, b.discount) - now
        r = self.toss(self.alpha * (best - now),
                      L.gain(k, utility, b.better, b.discount) - now, gains)
        b.took = r
        if r >= 0:
            memcpy(b.better, b.drawn + r * n, <size_t>k * sizeof(ptrdiff_t))

    cdef Py_ssize_t click(self, Bench b, Py_ssize_t m, const double *chance,
                          const double *stop) noexcept nogil:
        """One draw a place that the user comes to, in a cascade one more after each click."""
        cdef Py_ssize_t place, clicks = 0
        cdef double likely
        memset(b.clicked, 0, <size_t>m * sizeof(ptrdiff_t))
        for place in range(m):
            likely = chance[b.presented[place]]
            if self.kind == POSITION:
                likely *= data_of(self.seen)[place]
            if self.bits.next_double(self.bits.state) >= likely:
                continue
            b.clicked[place] = 1
            clicks += 1
            if (self.kind == CASCADE
                    and self.bits.next_double(self.bits.state) < stop[b.presented[place]]):
                break
        return clicks

    # --- single answers -----------------------------------------------------------------------

    def answer_ranking(self, x, presented, weights, label, k):
        """The improved ordering of all documents of x."""
        cdef np.ndarray y = indices_of(presented, "presented"), relevance = None
        cdef np.ndarray a = documents_of(x), out, key
        cdef Matrix rows = matrix_of(a)
        cdef Py_ssize_t n = rows.n, places = min(<Py_ssize_t>k, n), deep, i, m
        cdef Bench b = Bench()
        cdef ptrdiff_t *shown
        cdef ptrdiff_t *to
        if self.kind == DEPTH:
            relevance = finite_vector(label, "query.relevance", n, "the query's documents")
        b.fit(n, rows.d, n)
        shown, m = b.presented, b.take_places(y, "presented", n, n, b.presented)
        if m != n:
            raise ValueError(f"presented must order all {n} documents, got {m}")
        key, out = new_vector(n), new_indices(n)
        for i in range(n):
            data_of(key)[shown[i]] = -<double>i
        if self.kind == DEPTH:
            self.rank(b, n, places, NULL, NULL, data_of(relevance), 0.0)
        else:
            self.answer(b, &rows, places, weights, data_of(key))
        to = <ptrdiff_t *>np.PyArray_DATA(out)
        if b.took >= 0:
            memcpy(to, b.drawn + b.took * n, <size_t>n * sizeof(ptrdiff_t))
            return out
        for i in range(places):
            to[i] = b.better[i]
            b.place[b.better[i]] = 1
        m = places
        for i in range(n):  # the rest below, as presented
            if not b.place[shown[i]]:
                to[m] = shown[i]
                m += 1
        return out

    cdef int answer(self, Bench b, const Matrix *x, Py_ssize_t places, weights,
                    double *key) except -1:
        cdef np.ndarray w = finite_vector(weights, "weights", x.d, "the query's features")
        cdef double best
        scores_of(x, data_of(w), b.utility)
        if not K.all_finite(x.n, b.utility):
            raise ValueError("query.features must be finite and give finite utilities")
        K.top_k(x.n, b.utility, places, b.better, <cf_candidate *>b.sorting)
        best = L.gain(places, b.utility, b.better, b.discount)
        if self.kind == EXPECTED:
            with self.lock:
                self.rank(b, x.n, places, b.utility, key, NULL, best)
        else:
            self.rank(b, x.n, places, b.utility, key, NULL, best)
        return 0

    def answer_clicks(self, presented, np.ndarray chance, np.ndarray stop):
        """The documents clicked, of those presented; two chances for each of all documents."""
        cdef np.ndarray y = indices_of(presented, "presented"), out
        cdef Py_ssize_t n = np.PyArray_DIM(chance, 0), m, place, i = 0
        cdef Bench b = Bench()
        b.fit(n, 1, n)
        m = b.take_places(y, "presented", n, n, b.presented)
        with self.lock:
            out = new_indices(self.click(b, m, data_of(chance), data_of(stop)))
        for place in range(m):
            if b.clicked[place]:
                (<ptrdiff_t *>np.PyArray_DATA(out))[i] = b.presented[place]
                i += 1
        return out

    def answer_item(self, candidates, values, Py_ssize_t item):
        """The item picked; candidates ascending, values of the whole catalogue."""
        cdef double now, top
        there = values[candidates]
        now = values[item]
        top = there.max()
        if self.kind == ALPHA:
            return least_item(candidates, there, now, top, self.alpha, item)
        if self.kind == EXPECTED:
            return self.expected_item(candidates, values, there, item, now, top)
        if self.kind == BEST:
            return self.one_of(candidates[there == top])
        if self.kind == ONE_HIGHER:
            higher = candidates[there == now + 1.0]
        else:
            higher = candidates[there > now]
            higher = higher[values[higher] == values[higher].min(initial=numpy.inf)]
        return self.one_of(higher) if higher.size else item

    def one_of(self, allowed):
        if len(allowed) == 1:
            return int(allowed[0])
        with self.lock:
            return int(allowed[self.pick(len(allowed))])

    def expected_item(self, candidates, values, there, item, double now, double top):
        cdef double gains[DRAWN]
        cdef Py_ssize_t m = len(candidates), r
        cdef Py_ssize_t drawn[DRAWN]
        with self.lock:
            for r in range(DRAWN):
                drawn[r] = candidates[self.pick(m)]
                gains[r] = values[drawn[r]] - now
            answer = least_item(candidates, there, now, top, self.base, item)
            r = self.toss(self.alpha * (top - now), values[answer] - now, gains)
        return answer if r < 0 else drawn[r]


cdef object least_item(candidates, there, double now, double top, double alpha, item):
    """The candidate of lowest utility that closes the share alpha of the gap."""
    if now == top:
        return item
    enough = there - now >= alpha * (top - now)
    return int(candidates[enough][there[enough].argmin()])


cdef np.ndarray finite_vector(object value, str name, Py_ssize_t n, str other):
    cdef np.ndarray v
    if value is None:
        raise ValueError(f"{name} must be given for this user")
    v = as_vector(value, name)
    if np.PyArray_DIM(v, 0) != n:
        raise ValueError(f"{name} must have length {n} to go with {other}, got "
                         f"{np.PyArray_DIM(v, 0)}")
    if not K.all_finite(n, data_of(v)):
        raise ValueError(f"{name} must be finite")
    return v


# --- runs ---------------------------------------------------------------------------------------


cdef class RankingRun(Run):
    """The queries, the user and the record of one run. All arrays are its own or never change.

    Parameters
    ----------
    data : RankingData
    order : ndarray of intp
    weights : ndarray of float64
        w* of the regret.
    own : ndarray of float64 or None
        w* of the user where it has another.
    user : Decider
    k : int
        Places that count.
    chances : pair of ndarray of float64, optional
        For clicks: each document's, of a click and of the end.
    look : HeldOut, optional
        Called after each `look.every` rounds, with no lock held.
    """

    def __init__(self, data, order, weights, own, Decider user, Py_ssize_t k, *,
                 chances=(None, None), look=None):
        cdef Py_ssize_t most
        self.features = data.features
        self.relevance = numpy.ascontiguousarray(data.relevance, dtype=numpy.float64)
        self.offsets = numpy.ascontiguousarray(data.offsets, dtype=numpy.intp)
        self.order, self.weights, self.own, self.user, self.k = order, weights, own, user, k
        self.all, self.row = matrix_of(self.features), data.dimension * data.features.itemsize
        self.total, self.mask = len(order), 0 if self.all.d > 1000 else 7  # the clock takes 25 ns
        self.utility, self.optimal, self.feedback = (numpy.empty(len(order)) for _ in range(3))
        most = numpy.diff(self.offsets).max(initial=1)
        self.bench = Bench()
        self.bench.fit(most, self.all.d, user.looks_at(k))
        self.chance, self.stop = chances
        self.look, self.every = look, 1 if look is None else look.every

    def measured(self):
        """Utilities of what was presented, of the best and of the feedback, of the rounds so far.
        """
        return tuple(found[:self.done] for found in (self.utility, self.optimal, self.feedback))

    def history(self):
        utility, optimal, feedback = self.measured()
        judged = {} if self.look is None else self.look.told()
        return CoactiveHistory(regret=optimal - utility, utility=utility, optimal_utility=optimal,
                               feedback_utility=feedback, **judged)

    cdef bint due(self) noexcept nogil:
        """Whether held-out data are to be looked at now."""
        return (self.look is not None and self.done > 0 and self.done % self.every == 0
                and self.done // self.every > self.looks)

    def run(self, Engine engine, report):
        Run.run(self, engine, report)
        if self.due():
            self.aside(engine)

    cdef int aside(self, Engine engine) except -1:
        self.look()
        self.looks += 1
        return 0

    cdef object lock(self, Engine engine):
        return self.user.lock

    cdef int begin(self, Engine engine) except -1:
        self.engine = <CoactiveEngine?>engine
        return self.engine.know(self.all.d, "data")

    cdef Py_ssize_t asked(self, Py_ssize_t t) noexcept nogil:
        """The query of round t, of the last one where there are no more."""
        return (<const ptrdiff_t *>np.PyArray_DATA(self.order))[min(t, self.total - 1)]

    cdef Py_ssize_t first(self, Py_ssize_t t) noexcept nogil:
        """Where the documents of round t begin."""
        return (<const ptrdiff_t *>np.PyArray_DATA(self.offsets))[self.asked(t)]

    cdef Matrix query(self, Py_ssize_t t) noexcept nogil:
        """The documents of round t."""
        cdef const ptrdiff_t *at = <const ptrdiff_t *>np.PyArray_DATA(self.offsets) + self.asked(t)
        cdef Matrix x = self.all
        x.n = at[1] - at[0]
        x.rows += at[0] * self.row
        return x

    cdef int round(self, Engine _) noexcept nogil:
        cdef Matrix x = self.query(self.done)
        if self.due():
            return ASIDE
        return self.play_round(self.engine, self.bench, &x)

    cdef int play_round(self, CoactiveEngine engine, Bench b, const Matrix *x) noexcept nogil:
        cdef Py_ssize_t n = x.n, k = min(self.k, n)
        cdef double best
        cdef int status
        both_scores(x, engine.rule.w, data_of(self.weights), b.score, b.utility)
        self.ask_ahead(0)
        if not (K.all_finite(n, b.score) and K.all_finite(n, b.utility)):
            return CF_ENONFINITE
        K.top_k(n, b.score, min(n, self.user.looks_at(k)), b.presented, <cf_candidate *>b.sorting)
        best = self.measure(b, n, k)
        self.ask_ahead(1)
        status = self.improve(b, x, b.score, best)
        if status != CF_OK:
            return status
        self.ask_ahead(2)
        return self.learn_better(engine, b, k, x)

    cdef void ask_ahead(self, Py_ssize_t part) noexcept nogil:
        """The beginning of the next query's rows into the cache: this 4 KB of it."""
        cf_fetch(self.all.rows + self.first(self.done + 1) * self.row + 4096 * part)

    cdef double measure(self, Bench b, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
        """The round's utilities, from b.utility and b.presented: that of the best ranking."""
        cdef double best
        K.top_k(n, b.utility, k, b.better, <cf_candidate *>b.sorting)
        best = L.gain(k, b.utility, b.better, b.discount)
        data_of(self.optimal)[self.done] = best
        data_of(self.utility)[self.done] = L.gain(k, b.utility, b.presented, b.discount)
        return best

    cdef int learn_better(self, CoactiveEngine engine, Bench b, Py_ssize_t k,
                          const Matrix *x) noexcept nogil:
        """The step towards b.better."""
        if engine.rule.direct():
            k = changed_places(b, k, b.presented, b.better)
            return engine.rule.step_places(k, x, b.plus, b.minus, b.weight)
        ranking_delta(b, k, b.presented, k, b.better, x)
        return engine.rule.step(b.delta)

    cdef int improve(self, Bench b, const Matrix *x, const double *key,
                     double best) noexcept nogil:
        cdef const double *utility = b.utility
        cdef const double *label = data_of(self.relevance) + self.first(self.done)
        cdef Py_ssize_t k = min(self.k, x.n)
        b.counts = k
        if self.chance is not None:
            b.counts = self.user.click(b, k, data_of(self.chance) + self.first(self.done),
                                       data_of(self.stop) + self.first(self.done))
            clicked_first(b, k)
            data_of(self.feedback)[self.done] = L.gain(k, b.utility, b.better, b.discount)
            return CF_OK
        if self.own is not None and self.user.kind != DEPTH:
            utility = b.own
            scores_of(x, data_of(self.own), b.own)
            if not K.all_finite(x.n, utility):
                return CF_ENONFINITE
            K.top_k(x.n, utility, k, b.better, <cf_candidate *>b.sorting)
            best = L.gain(k, utility, b.better, b.discount)
        self.user.rank(b, x.n, k, utility, key, label, best)
        data_of(self.feedback)[self.done] = L.gain(k, b.utility, b.better, b.discount)
        return CF_OK


cdef void clicked_first(Bench b, Py_ssize_t m) noexcept nogil:
    """b.better from b.presented: what was clicked, then the rest, each in presented order."""
    cdef Py_ssize_t place, front = 0, behind = b.counts
    for place in range(m):
        if b.clicked[place]:
            b.better[front] = b.presented[place]
            front += 1
        else:
            b.better[behind] = b.presented[place]
            behind += 1


include "_items.pxi"
