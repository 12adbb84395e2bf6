"""The simulated users' decisions; see _users.pxd."""

cimport numpy as np
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stddef cimport size_t
from libc.string cimport memcpy
from numpy.random cimport bitgen_t

from coactive_fast._arrays cimport as_vector, data_of, new_indices, new_vector
from coactive_fast._table cimport cf_candidate, cf_get_library, cf_get_table, cf_library, cf_table
from coactive_fast.coactive._engine cimport Bench, documents_of, ranking_of, scores_of

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    DRAWN = 5  # objects that an expected alpha-informative user may answer instead

KINDS = {"alpha": ALPHA, "depth": DEPTH, "expected": EXPECTED, "better": BETTER, "best": BEST}


cdef class Decider:
    def __init__(self, str kind, *, double alpha=0.0, base=None, Py_ssize_t depth=0,
                 generator=None):
        self.kind = KINDS[kind]
        self.alpha = alpha
        self.base = alpha if base is None else base
        self.depth = depth
        self.generator = generator
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
        cdef ptrdiff_t hold
        cdef Py_ssize_t r, i, j
        for r in range(DRAWN):
            y = b.drawn + r * n
            for i in range(n):
                y[i] = i
            for i in range(n - 1):
                j = i + self.pick(n - i)
                hold = y[i]
                y[i] = y[j]
                y[j] = hold

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

    # --- single answers -----------------------------------------------------------------------

    def answer_ranking(self, x, presented, weights, label, k):
        """The improved ordering of all documents of x."""
        cdef np.ndarray a = documents_of(x), y, utility = None, key, relevance = None, out
        cdef Py_ssize_t n = np.PyArray_DIM(a, 0), d = np.PyArray_DIM(a, 1), places, deep, i, m
        cdef Bench b = Bench()
        cdef ptrdiff_t *shown
        cdef ptrdiff_t *to
        y = ranking_of(presented, "presented", n)
        if np.PyArray_DIM(y, 0) != n:
            raise ValueError(f"presented must order all {n} documents, got "
                             f"{np.PyArray_DIM(y, 0)}")
        places = min(<Py_ssize_t>k, n)
        deep = min(self.looks_at(places), n)
        b.fit(n, d, max(deep, places))
        shown = <ptrdiff_t *>np.PyArray_DATA(y)
        memcpy(b.presented, shown, <size_t>max(deep, places) * sizeof(ptrdiff_t))
        key = new_vector(n)
        for i in range(n):
            data_of(key)[shown[i]] = -<double>i
        if self.kind == DEPTH:
            relevance = finite_vector(label, "query.relevance", n, "the query's documents")
            self.rank(b, n, places, NULL, NULL, data_of(relevance), 0.0)
        else:
            utility = self.utilities(a, weights)
            self.answer(b, n, places, data_of(utility), data_of(key))
            if self.kind == EXPECTED and b.took >= 0:
                out = new_indices(n)
                memcpy(np.PyArray_DATA(out), b.drawn + b.took * n,
                       <size_t>n * sizeof(ptrdiff_t))
                return out
        # the rest below, as presented
        out = new_indices(n)
        to = <ptrdiff_t *>np.PyArray_DATA(out)
        for i in range(places):
            to[i] = b.better[i]
            b.place[b.better[i]] = 1
        m = places
        for i in range(n):
            if not b.place[shown[i]]:
                to[m] = shown[i]
                m += 1
        return out

    cdef int answer(self, Bench b, Py_ssize_t n, Py_ssize_t places, double *utility,
                    double *key) except -1:
        cdef double best
        K.top_k(n, utility, places, b.better, <cf_candidate *>b.sorting)
        best = L.gain(places, utility, b.better, b.discount)
        if self.kind == EXPECTED:
            with self.lock:
                self.rank(b, n, places, utility, key, NULL, best)
        else:
            self.rank(b, n, places, utility, key, NULL, best)
        return 0

    cdef np.ndarray utilities(self, np.ndarray a, weights):
        cdef np.ndarray w = finite_vector(weights, "weights", np.PyArray_DIM(a, 1), "the query's features")
        cdef np.ndarray out = new_vector(np.PyArray_DIM(a, 0))
        scores_of(a, data_of(w), data_of(out))
        if not K.all_finite(np.PyArray_DIM(out, 0), data_of(out)):
            raise ValueError("query.features must be finite and give finite utilities")
        return out

    def answer_item(self, candidates, values, Py_ssize_t item):
        """The item picked; candidates ascending, values of the whole catalogue."""
        cdef double now, top, wanted
        there = values[candidates]
        now = values[item]
        if self.kind == BETTER:
            higher = candidates[there > now]
            if not higher.size:
                return item
            return self.one_of(higher[values[higher] == values[higher].min()])
        top = there.max()
        if self.kind == BEST:
            return self.one_of(candidates[there == top])
        if self.kind == ALPHA:
            return least_item(candidates, there, now, top, self.alpha, item)
        return self.expected_item(candidates, values, there, item, now, top)

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
