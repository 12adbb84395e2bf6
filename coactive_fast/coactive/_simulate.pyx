"""Simulated users, and whole runs over rankings and items: present, answer, learn.

A round of rankings reads the query's features once: scores by the learner's weights and utilities
by w* come from one pass (two_scores), the beginning of the next query is fetched meanwhile, and the
step touches the few documents that changed their place. Limit: that one reading from memory.
"""

import numpy

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport INFINITY, floor, sqrt
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memcmp, memcpy, memmove, memset

from coactive_fast._arrays cimport as_vector, data_of, new_indices, new_vector, refuse, take_scratch
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_OK, cf_candidate, cf_get_library, cf_get_table, cf_library, cf_roll, cf_table,
)
from coactive_fast.coactive._rules cimport (
    Perceptron, Rule, both_scores, changed_places, documents_of, indices_of, item_delta, matrix_of,
    ranking_delta, scores_of,
)
from coactive_fast.learner._engine cimport Engine
from coactive_fast.learner._run cimport ASIDE

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


# --- runs over many users of one catalogue ----------------------------------------------------

# Each user has a fresh learner and his own candidates; the catalogue is shared and read-only.
#
# Scores. Rules score what is left, whose rows are copied together now and then, whenever the
# weights have changed. The largest of every 64 scores is kept beside them: where the weights have
# not, the next best is found in O(n / 64 + 64). With the Gram matrix G of the items at hand, the
# Preference Perceptron's step by x_j - x_i moves all scores by G_j - G_i: two rows read instead of
# the whole catalogue. Memory is what such a step takes, so G is rounded to 16 bits, in units of a
# 32,767th of its largest entry, and the scores are sums of whole numbers, which are exact. What the
# rounding of G may have piled up since the scores were last made afresh is known; all that are
# within it of the best are scored afresh by the learner's own weights, which are kept as in the
# loop of single calls. So the decisions are those of that loop.
#
# Utilities are sorted once a user: the least item that closes the gap is a binary search and one
# look for the next that is still there. Users who go by ratings, or by chance, ask a roll
# (cf_roll.h) of the items, in the order of their ratings or of their indices.
cdef enum:
    NEAR = 16  # items that may be within the bound without a look at all
    RUNS = 16  # of equal utilities that are put in order one by one
    PEAK = 64  # scores that have their largest beside them

    FEW = 32   # moves after which scores are not made afresh: items so near each other are equal
    GONE = -1300000000  # below any score of MOST_MOVES moves, and above what overflows with them

MOST_MOVES = 8192  # 65,534 units each at most
cdef double UNIT = 2.0 ** -53
cdef extern from *:
    """
    static void cf_fetch_row(const int16_t *p)
    {
    #if defined(__GNUC__)
        for (int i = 0; i < 1024; i += 32)
            __builtin_prefetch(p + i);
    #else
        (void)p;
    #endif
    }
    """
    void cf_fetch_row(const int16_t *p) noexcept nogil


cdef class ItemsRun:
    """What all users share, and the record of the run.

    Parameters
    ----------
    items : ndarray of shape (n, N)
        float32 or float64, C-contiguous.
    gram : (ndarray of int16, shape (n, n), float), or None
        Whole numbers, and the unit that makes them products of the items. At most MOST_MOVES
        rounds.
    utility, optimal, feedback : ndarray of shape (users, rounds)
        Written a row a user; NaN before.
    """

    def __init__(self, items, gram, utility, optimal, feedback):
        self.items, self.gram = items, gram
        self.utility, self.optimal, self.feedback = utility, optimal, feedback
        self.all = matrix_of(items)
        if gram is not None:
            self.g = <const int16_t *>np.PyArray_DATA(<np.ndarray>gram[0])
            self.unit = gram[1]
        self.n, self.d = items.shape
        self.rounds = utility.shape[1]
        squares = numpy.einsum("ij,ij->i", items, items, dtype=numpy.float64)
        self.norms = numpy.sqrt(squares)
        self.norm = data_of(self.norms)
        self.longest = float(self.norms.max())

    cdef Taste session(self, learner, Decider decider, weights, ratings):
        kind = Session if self.g == NULL else Moved
        return kind(self, learner, decider, weights, ratings)

    def play(self, Py_ssize_t user, learner, Decider decider, weights, ratings):
        """All rounds of one user; `learner` is what the engine's `fresh_rule` made."""
        cdef Taste s = self.session(learner, decider, weights, ratings)
        cdef int status
        s.utility = data_of(self.utility) + user * self.rounds
        s.optimal = data_of(self.optimal) + user * self.rounds
        s.feedback = data_of(self.feedback) + user * self.rounds
        with nogil:
            status = s.run()
        if status != CF_OK:
            refuse(status, f"user {user}")


def item_utilities(np.ndarray items, np.ndarray weights):
    """The scores of all items by the weights of one user."""
    cdef Matrix rows = matrix_of(items)
    cdef np.ndarray out = new_vector(rows.n)
    scores_of(&rows, data_of(weights), data_of(out))
    if not K.all_finite(rows.n, data_of(out)):
        raise ValueError("weights give utilities that overflow")
    return out


def ascending(values):
    """The order of finite numbers, equal ones by their index."""
    with numpy.errstate(invalid="ignore"):
        whole = values.astype(numpy.int16)
    if (whole == values).all():
        return numpy.argsort(whole, kind="stable")  # by radix
    order = numpy.argsort(values)  # by vectors, and not stable
    found = values[order]
    equal = numpy.append(found[1:] == found[:-1], False)
    first = numpy.flatnonzero(equal & ~numpy.append(False, equal[:-1]))
    if first.size > RUNS:
        return numpy.argsort(values, kind="stable")
    for begin in first:
        end = begin + 1 + numpy.argmin(equal[begin:])
        order[begin:end].sort()
    return order


cdef class Taste:
    def __init__(self, ItemsRun run, Decider user, weights, ratings):
        cdef Py_ssize_t n = run.n, i
        self.run_, self.user = run, user
        self.value = self.truth = item_utilities(run.items, weights)
        if user.kind == BETTER or user.kind == BEST or user.kind == ONE_HIGHER:
            rounded = numpy.clip(numpy.rint(self.truth), 1.0, 5.0)
            self.value = <np.ndarray>(rounded if ratings is None else
                                      numpy.where(numpy.isnan(ratings), rounded, ratings))
        self.order = <np.ndarray>ascending(self.truth)
        self.truth_, self.value_ = data_of(self.truth), data_of(self.value)
        self.order_ = <const ptrdiff_t *>np.PyArray_DATA(self.order)
        self.alive = <unsigned char *>take_scratch(n, 1)
        memset(self.alive, 1, <size_t>n)
        self.id = <ptrdiff_t *>take_scratch(n, sizeof(ptrdiff_t))
        for i in range(n):
            self.id[i] = i
        self.kept_rows = run.all
        self.left = self.kept = n
        self.top = n - 1

    def __dealloc__(self):
        L.free(self.alive)
        L.free(self.id)
        L.free(self.own)

    cdef int run(self) noexcept nogil:
        return CF_OK

    cdef double best_left(self) noexcept nogil:
        """The highest utility of what is left."""
        while not self.alive[self.order_[self.top]]:
            self.top -= 1
        return self.truth_[self.order_[self.top]]

    cdef void keep_alive(self) noexcept nogil:
        """Copies the rows of what is left together, once an eighth of those read has left."""
        cdef size_t row = <size_t>self.run_.d * (4 if self.kept_rows.floats else 8)
        cdef Py_ssize_t p, m = 0
        if 8 * self.left > 7 * self.kept:
            return
        if self.own == NULL:
            self.own = <char *>L.alloc(<size_t>self.left, row)
            if self.own == NULL:
                return  # as before: more is read than needed
        for p in range(self.kept):
            if self.alive[self.id[p]]:
                memmove(self.own + m * row, self.kept_rows.rows + p * row, row)
                self.id[m] = self.id[p]
                m += 1
        self.kept_rows.rows = self.own
        self.kept = self.kept_rows.n = m

    cdef Py_ssize_t best_kept(self, double *score) noexcept nogil:
        """The best of what is left by scores of `kept` rows, ties to the lower one; -1: overflow.

        Scores of what has left become minus infinity.
        """
        cdef ptrdiff_t best
        cdef Py_ssize_t p
        for p in range(self.kept):
            if not self.alive[self.id[p]]:
                score[p] = -INFINITY
            elif not score[p] - score[p] == 0.0:
                return -1
        K.top_k(self.kept, score, 1, &best, NULL)
        return self.id[best]


cdef class Session(Taste):
    # One user of a learner that presents one item. Invariants: score[p] is that of item id[p],
    # p < kept, -inf exactly where it is gone; at[id[p]] = p of what is left; peak[b] is the largest
    # of score[64 b ... 64 b + 63]; next_place[p] leads to the first place >= p of the sorted
    # utilities that is alive (n: none), with its path halved at every walk.
    cdef Rule rule
    cdef Bench bench
    cdef double *score
    cdef double *peak
    cdef double *scored                # the weights by which scores were made, where `current`
    cdef ptrdiff_t *at
    cdef ptrdiff_t *next_place
    cdef ptrdiff_t *place              # of an item in the sorted order
    cdef uint64_t *called              # memory of the roll
    cdef cf_roll roll                  # of indices (EXPECTED) or of `graded` (BETTER, BEST)
    cdef np.ndarray graded, place_of, edge, end
    cdef const ptrdiff_t *graded_      # items by their ratings, NULL where nobody asks
    cdef const ptrdiff_t *place_of_    # the places there, of items
    cdef const ptrdiff_t *edge_        # where a place's rating begins (BEST) or ends (BETTER), or
                                       # where the rating one higher begins
    cdef const ptrdiff_t *end_         # and where that one ends
    cdef bint current

    def __init__(self, ItemsRun run, Rule rule, Decider user, weights, ratings):
        cdef Py_ssize_t n = run.n, i
        Taste.__init__(self, run, user, weights, ratings)
        self.rule = rule
        self.bench = Bench()
        self.bench.fit(1, run.d, 1)  # for a round's Delta
        self.score = <double *>take_scratch(n, sizeof(double))
        self.peak = <double *>take_scratch((n + PEAK - 1) // PEAK, sizeof(double))
        self.scored = <double *>take_scratch(run.d, sizeof(double))
        self.at = <ptrdiff_t *>take_scratch(n, sizeof(ptrdiff_t))
        self.next_place = <ptrdiff_t *>take_scratch(n + 1, sizeof(ptrdiff_t))
        self.place = <ptrdiff_t *>take_scratch(n, sizeof(ptrdiff_t))
        for i in range(n):
            self.at[i] = self.next_place[i] = i
            self.place[self.order_[i]] = i
        self.next_place[n] = n
        self.call_roll()
        if rule.n == 0:
            rule.start(run.d)

    def __dealloc__(self):
        L.free(self.score)
        L.free(self.peak)
        L.free(self.scored)
        L.free(self.at)
        L.free(self.next_place)
        L.free(self.place)
        L.free(self.called)

    cdef int call_roll(self) except -1:
        """The roll of users who ask one; by ratings with the places where a rating's items end."""
        cdef Py_ssize_t n = self.run_.n
        kind = self.user.kind
        if kind == ALPHA:
            return 0
        self.called = <uint64_t *>take_scratch(L.roll_size(n), sizeof(uint64_t))
        L.roll_call(&self.roll, n, self.called)
        if kind == EXPECTED:
            return 0
        order = ascending(self.value)
        values = self.value[order]
        wanted = values + 1.0 if kind == ONE_HIGHER else values
        self.edge = numpy.searchsorted(values, wanted, "right" if kind == BETTER else "left")
        self.end = numpy.searchsorted(values, wanted, "right")
        place_of = numpy.empty(n, dtype=numpy.intp)
        place_of[order] = numpy.arange(n)
        self.graded, self.place_of = <np.ndarray>order, <np.ndarray>place_of
        self.graded_ = <const ptrdiff_t *>np.PyArray_DATA(self.graded)
        self.place_of_ = <const ptrdiff_t *>np.PyArray_DATA(self.place_of)
        self.edge_ = <const ptrdiff_t *>np.PyArray_DATA(self.edge)
        self.end_ = <const ptrdiff_t *>np.PyArray_DATA(self.end)
        return 0

    cdef double score_of(self, Py_ssize_t i) noexcept nogil:
        """One item's score made afresh."""
        cdef const char *rows = self.run_.all.rows
        cdef Py_ssize_t d = self.run_.d
        if self.run_.all.floats:
            return K.dot_f32(d, <const float *>rows + i * d, self.rule.w)
        return K.dot(d, <const double *>rows + i * d, self.rule.w)

    cdef int run(self) noexcept nogil:
        cdef Py_ssize_t t, i, j
        cdef int status
        for t in range(self.run_.rounds):
            if self.left == 0 or self.run_.stop:
                break
            i = self.present()
            if i < 0:
                return CF_ENONFINITE
            self.utility[t] = self.truth_[i]
            self.optimal[t] = self.best_left()
            j = self.respond(i)
            self.feedback[t] = self.truth_[j]
            self.remove(i)  # first: the peaks come out of the step
            if j != i:
                self.remove(j)
            status = self.learn(i, j)
            if status != CF_OK:
                return status
        return CF_OK

    # --- presenting ---------------------------------------------------------------------------

    cdef Py_ssize_t present(self) noexcept nogil:
        """The best candidate, ties to the lower index; -1: scores overflow."""
        cdef ptrdiff_t block, within
        if not self.current and not self.score_all():
            return -1
        K.top_k((self.kept + PEAK - 1) // PEAK, self.peak, 1, &block, NULL)
        K.at_least(self.block_size(block), self.score + PEAK * block, self.peak[block], 1, &within)
        return self.id[PEAK * block + within]

    cdef Py_ssize_t block_size(self, Py_ssize_t block) noexcept nogil:
        return min(<Py_ssize_t>PEAK, self.kept - PEAK * block)

    cdef bint score_all(self) noexcept nogil:
        """All that is left by the weights of now; 0: overflow."""
        cdef Py_ssize_t p, before = self.kept
        self.keep_alive()
        if self.kept != before:
            for p in range(self.kept):
                self.at[self.id[p]] = p
        scores_of(&self.kept_rows, self.rule.w, self.score)
        for p in range(self.kept):
            if not self.alive[self.id[p]]:
                self.score[p] = -INFINITY
            elif not self.score[p] - self.score[p] == 0.0:
                return 0
        K.peaks(self.kept, self.score, self.peak)
        memcpy(self.scored, self.rule.w, <size_t>self.run_.d * sizeof(double))
        self.current = True
        return 1

    # --- the user -----------------------------------------------------------------------------

    cdef Py_ssize_t next_alive(self, Py_ssize_t p) noexcept nogil:
        """The first place from p on whose item is there; n: none."""
        while self.next_place[p] != p:
            self.next_place[p] = self.next_place[self.next_place[p]]
            p = self.next_place[p]
        return p

    cdef Py_ssize_t least_enough(self, Py_ssize_t i, double alpha) noexcept nogil:
        """The candidate of lowest utility that closes the share alpha of the gap."""
        cdef const double *truth = self.truth_
        cdef const ptrdiff_t *order = self.order_
        cdef double now = truth[i], wanted = alpha * (truth[order[self.top]] - now)
        cdef Py_ssize_t low = 0, high = self.top, middle
        if now == truth[order[self.top]]:
            return i
        while low < high:  # the best left always is enough
            middle = (low + high) >> 1
            if truth[order[middle]] - now >= wanted:
                high = middle
            else:
                low = middle + 1
        middle = self.next_alive(low)
        # the best by the lowest index, should rounding have led beyond all
        return order[middle if middle < self.run_.n else self.top]

    cdef Py_ssize_t rated(self, Py_ssize_t i) noexcept nogil:
        """One of the candidates of the rating that the user wants, ties at random."""
        cdef const ptrdiff_t *edge = self.edge_
        cdef Py_ssize_t first, many
        if self.user.kind == BEST:
            first = L.roll_below(&self.roll, edge[L.roll_find(&self.roll, self.left - 1)])
            many = self.left - first
        elif self.user.kind == ONE_HIGHER:
            first = L.roll_below(&self.roll, edge[self.place_of_[i]])
            many = L.roll_below(&self.roll, self.end_[self.place_of_[i]]) - first
            if many == 0:
                return i
        else:
            first = L.roll_below(&self.roll, edge[self.place_of_[i]])
            if first == self.left:
                return i  # nothing is better
            many = L.roll_below(&self.roll, edge[L.roll_find(&self.roll, first)]) - first
        if many > 1:
            first += self.user.pick(many)
        return self.graded_[L.roll_find(&self.roll, first)]

    cdef Py_ssize_t respond(self, Py_ssize_t i) noexcept nogil:
        cdef double gains[5]
        cdef Py_ssize_t drawn[5]
        cdef const double *truth = self.truth_
        cdef const ptrdiff_t *order = self.order_
        cdef Py_ssize_t r, j
        if self.user.kind == ALPHA:
            return self.least_enough(i, self.user.alpha)
        if self.user.kind != EXPECTED:
            return self.rated(i)
        for r in range(5):
            drawn[r] = L.roll_find(&self.roll, self.user.pick(self.left))
            gains[r] = truth[drawn[r]] - truth[i]
        j = self.least_enough(i, self.user.base)
        r = self.user.toss(self.user.alpha * (truth[order[self.top]] - truth[i]),
                           truth[j] - truth[i], gains)
        return j if r < 0 else drawn[r]

    # --- learning -----------------------------------------------------------------------------

    cdef int learn(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        cdef int status
        item_delta(self.bench, i, j, &self.run_.all)
        status = self.rule.step(self.bench.delta)
        if self.current:
            self.current = memcmp(self.scored, self.rule.w,
                                  <size_t>self.run_.d * sizeof(double)) == 0
        return status

    cdef void remove(self, Py_ssize_t i) noexcept nogil:
        self.alive[i] = 0
        self.strike(self.at[i])
        self.next_place[self.place[i]] = self.place[i] + 1
        self.left -= 1
        if self.called != NULL:
            L.roll_strike(&self.roll, i if self.graded_ == NULL else self.place_of_[i])

    cdef void strike(self, Py_ssize_t p) noexcept nogil:
        """The score at p is that of an item that has gone."""
        cdef Py_ssize_t block = p // PEAK
        cdef double was = self.score[p]
        self.score[p] = -INFINITY
        if was == self.peak[block]:
            K.peaks(self.block_size(block), self.score + PEAK * block, self.peak + block)


cdef class Moved(Session):
    # A Preference Perceptron whose scores are moved by G. Invariants: whole[i] units are within
    # `error` of what the weights give item i, or at most GONE + 65,534 a move since the scores
    # were made afresh; top[b] is the largest of whole[64 b ... 64 b + 63]; kept = n.
    cdef int32_t *whole
    cdef int32_t *top
    cdef ptrdiff_t *pending            # pairs of the unfinished batch
    cdef Py_ssize_t waiting, moves     # moves since the scores were made afresh
    cdef double length                 # of the weights
    cdef double error

    def __init__(self, ItemsRun run, Rule rule, Decider user, weights, ratings):
        Session.__init__(self, run, rule, user, weights, ratings)
        self.whole = <int32_t *>take_scratch(run.n, sizeof(int32_t))
        self.top = <int32_t *>take_scratch((run.n + PEAK - 1) // PEAK, sizeof(int32_t))
        self.pending = <ptrdiff_t *>take_scratch(
            2 * min((<Perceptron>rule).batch, run.rounds) + 2, sizeof(ptrdiff_t))
        self.refresh()

    def __dealloc__(self):
        L.free(self.whole)
        L.free(self.top)
        L.free(self.pending)

    cdef void refresh(self) noexcept nogil:
        """The scores by the weights of now, in units. They are finite: the weights are sums of no
        more than MOST_MOVES differences of rows whose squares are."""
        cdef double per_unit = 1.0 / self.run_.unit
        cdef Py_ssize_t i
        scores_of(&self.run_.all, self.rule.w, self.score)
        for i in range(self.run_.n):
            self.whole[i] = (<int32_t>floor(self.score[i] * per_unit + 0.5) if self.alive[i]
                             else GONE)
        K.whole_peaks(self.run_.n, self.whole, self.top)
        self.length = sqrt(K.dot(self.rule.n, self.rule.w, self.rule.w))
        self.error = 0.501 * self.run_.unit + 8.0 * UNIT * self.run_.longest * self.length
        self.moves = 0

    cdef Py_ssize_t present(self) noexcept nogil:
        cdef ptrdiff_t near[NEAR]
        cdef Py_ssize_t found = self.nearest(near)
        if found > NEAR and self.moves > FEW:
            self.refresh()
            found = self.nearest(near)
        if found > 1:
            near[0] = self.best_afresh(found, near) if found <= NEAR else self.best_of_all()
        cf_fetch_row(self.run_.g + near[0] * self.run_.n)  # while the user thinks
        return near[0]

    cdef int32_t least(self) noexcept nogil:
        """What the best may have for all that the errors allow, those of scores made afresh too."""
        cdef Py_ssize_t b
        cdef int32_t most = self.top[0]
        cdef double error = self.error + (self.run_.d + 4) * UNIT * self.run_.longest * self.length
        for b in range(1, (self.run_.n + PEAK - 1) // PEAK):
            if self.top[b] > most:
                most = self.top[b]
        return most - <int32_t>(2.0 * error / self.run_.unit) - 1

    cdef Py_ssize_t nearest(self, ptrdiff_t *near) noexcept nogil:
        """The items that may be the best in ascending order, and their number; NEAR + 1: more."""
        cdef ptrdiff_t block[NEAR]
        cdef int32_t least = self.least()
        cdef Py_ssize_t b, p, more, found = 0
        cdef Py_ssize_t blocks = K.whole_at_least((self.run_.n + PEAK - 1) // PEAK, self.top, least,
                                                  NEAR, block)
        if blocks > NEAR:
            return NEAR + 1
        for b in range(blocks):
            more = K.whole_at_least(self.block_size(block[b]), self.whole + PEAK * block[b], least,
                                    NEAR - found, near + found)
            if found + more > NEAR:
                return NEAR + 1
            for p in range(found, found + more):
                near[p] += PEAK * block[b]
            found += more
        return found

    cdef Py_ssize_t best_afresh(self, Py_ssize_t m, const ptrdiff_t *near) noexcept nogil:
        """Of some items in ascending order the best by scores made afresh."""
        cdef Py_ssize_t p, best = near[0]
        cdef double s, most = self.score_of(best)
        for p in range(1, m):
            s = self.score_of(near[p])
            if s > most:
                best, most = near[p], s
        return best

    cdef Py_ssize_t best_of_all(self) noexcept nogil:
        """The same where there are many (at first all scores are equal)."""
        cdef int32_t least = self.least()
        cdef Py_ssize_t i, best = -1
        cdef double s, most = 0.0
        for i in range(self.run_.n):
            if self.whole[i] >= least:
                s = self.score_of(i)
                if best < 0 or s > most:
                    best, most = i, s
        return best

    cdef int learn(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """The rule's step, and that of the scores where it ends a batch."""
        cdef const int16_t *g = self.run_.g
        cdef Py_ssize_t n = self.run_.n, p
        cdef int status
        if i != j:
            cf_fetch_row(g + j * n)
            self.pending[2 * self.waiting] = i
            self.pending[2 * self.waiting + 1] = j
            self.waiting += 1
        status = Session.learn(self, i, j)
        if status != CF_OK or (<Perceptron>self.rule).waiting or self.waiting == 0:
            return status
        for p in range(self.waiting):
            K.add_whole_difference(n, g + self.pending[2 * p + 1] * n, g + self.pending[2 * p] * n,
                                   self.whole, self.top)
        self.length = sqrt(K.dot(self.rule.n, self.rule.w, self.rule.w))
        # two roundings of G and of the products it was made of; the sums in the weights
        self.error += self.waiting * (1.001 * self.run_.unit + UNIT * self.run_.longest * (
            2.0 * (self.run_.d + 4) * self.run_.longest + 4.0 * self.length))
        self.moves += self.waiting
        self.waiting = 0
        return CF_OK

    cdef void strike(self, Py_ssize_t p) noexcept nogil:
        cdef Py_ssize_t block = p // PEAK
        cdef int32_t was = self.whole[p]
        self.whole[p] = GONE
        if was == self.top[block]:
            K.whole_peaks(self.block_size(block), self.whole + PEAK * block, self.top + block)
