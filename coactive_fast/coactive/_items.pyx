"""Whole runs over many users of one catalogue; see _items.pxd.

Each user has a fresh learner and his own candidates; the catalogue is shared and read-only.

Scores. With the Gram matrix G of the items at hand, the Preference Perceptron's step by
x_j - x_i moves all scores by G_j - G_i: two rows read instead of the whole catalogue, in float32,
since memory is what a round takes. Their rounding piles up in the scores, so a bound of the
difference to scores made afresh goes along; all that are within it of the best are scored afresh
by the learner's own weights, which are kept as in the loop of single calls. So the decisions are
those of that loop. Other rules score in every round what is left, whose rows are copied together
now and then. What has left has a score of minus infinity, which no step changes.

Utilities are sorted once a user: the least item that closes the gap is a binary search and one
look for the next that is still there.
"""

import numpy

cimport numpy as np
from libc.math cimport INFINITY, sqrt
from libc.stddef cimport size_t
from libc.string cimport memmove, memset

from coactive_fast._arrays cimport data_of, refuse, take_scratch
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_OK, cf_get_library, cf_get_table, cf_library, cf_table,
)
from coactive_fast.coactive._engine cimport Bench, item_delta
from coactive_fast.coactive._rules cimport Perceptron, Rule
from coactive_fast.coactive._users cimport ALPHA, BEST, BETTER, EXPECTED, Decider

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    NEAR = 16  # items that may be within the bound without a look at all

cdef double UNIT = 2.0 ** -53
cdef double SINGLE = 2.0 ** -24

cdef extern from *:
    """
    static void cf_fetch_row(const float *p)
    {
    #if defined(__GNUC__)
        for (int i = 0; i < 1024; i += 16)
            __builtin_prefetch(p + i);
    #else
        (void)p;
    #endif
    }
    """
    void cf_fetch_row(const float *p) noexcept nogil


cdef class ItemsRun:
    """What all users share, and the record of the run.

    Parameters
    ----------
    items : ndarray of shape (n, N)
        float32 or float64, C-contiguous.
    gram : ndarray of shape (n, n), float32, or None
    utility, optimal : ndarray of shape (users, rounds)
        Written a row a user; NaN before.
    """

    def __init__(self, items, gram, utility, optimal):
        self.items, self.gram = items, gram
        self.utility, self.optimal = utility, optimal
        self.rows = <const char *>np.PyArray_DATA(<np.ndarray>items)
        self.g = NULL if gram is None else <const float *>np.PyArray_DATA(<np.ndarray>gram)
        self.n, self.d = items.shape
        self.rounds = utility.shape[1]
        self.floats = items.dtype.itemsize == 4
        squares = numpy.einsum("ij,ij->i", items, items, dtype=numpy.float64)
        self.norms = numpy.sqrt(squares)
        self.norm = data_of(self.norms)
        self.longest = float(self.norms.max())

    cdef Taste session(self, learner, Decider decider, weights, ratings):
        return Session(self, learner, decider, weights, ratings)

    def play(self, Py_ssize_t user, learner, Decider decider, weights, ratings):
        """All rounds of one user; `learner` is what the engine's `fresh_rule` made."""
        cdef Taste s = self.session(learner, decider, weights, ratings)
        cdef double *utility = data_of(self.utility) + user * self.rounds
        cdef double *optimal = data_of(self.optimal) + user * self.rounds
        cdef int status
        with nogil:
            status = s.run(utility, optimal)
        if status != CF_OK:
            refuse(status, f"user {user}")


cdef void score_rows(Py_ssize_t n, Py_ssize_t d, const char *rows, bint floats, const double *w,
                     double *out) noexcept nogil:
    if floats:
        K.scores_f32(n, d, <const float *>rows, d, w, out)
    else:
        K.scores(n, d, <const double *>rows, d, w, out)


cdef class Taste:
    def __init__(self, ItemsRun run, Decider user, weights, ratings):
        cdef Py_ssize_t n = run.n, i
        self.run_, self.user = run, user
        self.truth = <np.ndarray>numpy.empty(n)
        score_rows(n, run.d, run.rows, run.floats, data_of(weights), data_of(self.truth))
        if not K.all_finite(n, data_of(self.truth)):
            raise ValueError("weights give utilities that overflow")
        self.value = self.truth
        if user.kind == BETTER or user.kind == BEST:
            rounded = numpy.clip(numpy.rint(self.truth), 1.0, 5.0)
            self.value = <np.ndarray>(rounded if ratings is None else
                                      numpy.where(numpy.isnan(ratings), rounded, ratings))
        self.order = <np.ndarray>numpy.argsort(self.truth, kind="stable").astype(numpy.intp)
        self.truth_, self.value_ = data_of(self.truth), data_of(self.value)
        self.order_ = <const ptrdiff_t *>np.PyArray_DATA(self.order)
        self.alive = <unsigned char *>take_scratch(n, 1)
        memset(self.alive, 1, <size_t>n)
        self.id = <ptrdiff_t *>take_scratch(n, sizeof(ptrdiff_t))
        for i in range(n):
            self.id[i] = i
        self.kept_rows = run.rows
        self.left = self.kept = n
        self.top = n - 1

    def __dealloc__(self):
        L.free(self.alive)
        L.free(self.id)
        L.free(self.own)

    cdef int run(self, double *utility, double *optimal) noexcept nogil:
        return CF_OK

    cdef double best_left(self) noexcept nogil:
        """The highest utility of what is left."""
        while not self.alive[self.order_[self.top]]:
            self.top -= 1
        return self.truth_[self.order_[self.top]]

    cdef void keep_alive(self) noexcept nogil:
        """Copies the rows of what is left together, once an eighth of those read has left."""
        cdef size_t row = <size_t>self.run_.d * (4 if self.run_.floats else 8)
        cdef Py_ssize_t p, m = 0
        if 8 * self.left > 7 * self.kept:
            return
        if self.own == NULL:
            self.own = <char *>L.alloc(<size_t>self.left, row)
            if self.own == NULL:
                return  # as before: more is read than needed
        for p in range(self.kept):
            if self.alive[self.id[p]]:
                memmove(self.own + m * row, self.kept_rows + p * row, row)
                self.id[m] = self.id[p]
                m += 1
        self.kept_rows = self.own
        self.kept = m

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
    # One user of a learner that presents one item. Invariants: score[i] = -inf exactly where
    # alive[i] = 0; next_place[p] leads to the first place >= p that is alive (n: none), with its
    # path halved at every walk.
    cdef Rule rule
    cdef Bench bench
    cdef double *score
    cdef ptrdiff_t *next_place
    cdef ptrdiff_t *place              # of an item in the sorted order
    cdef ptrdiff_t *pending            # pairs of the unfinished batch
    cdef Py_ssize_t waiting, room
    cdef double most                   # the best score, where `known`
    cdef bint known
    cdef double error                  # bound of |score - score made afresh|, the accumulated part

    def __init__(self, ItemsRun run, Rule rule, Decider user, weights, ratings):
        cdef Py_ssize_t n = run.n, i
        Taste.__init__(self, run, user, weights, ratings)
        self.rule = rule
        self.bench = Bench()
        self.bench.fit(n, run.d, 1)
        self.score = <double *>take_scratch(n, sizeof(double))
        self.next_place = <ptrdiff_t *>take_scratch(n + 1, sizeof(ptrdiff_t))
        self.place = <ptrdiff_t *>take_scratch(n, sizeof(ptrdiff_t))
        self.room = (<Perceptron>rule).batch if isinstance(rule, Perceptron) else 0
        self.room = min(self.room, run.rounds)
        self.pending = <ptrdiff_t *>take_scratch(2 * self.room + 2, sizeof(ptrdiff_t))
        for i in range(n):
            self.score[i] = 0.0
            self.next_place[i] = i
            self.place[self.order_[i]] = i
        self.next_place[n] = n
        if rule.n == 0:
            rule.start(run.d)

    def __dealloc__(self):
        L.free(self.score)
        L.free(self.next_place)
        L.free(self.place)
        L.free(self.pending)

    cdef double score_of(self, Py_ssize_t i) noexcept nogil:
        """One item's score made afresh."""
        if self.run_.floats:
            return K.dot_f32(self.run_.d, <const float *>self.run_.rows + i * self.run_.d,
                             self.rule.w)
        return K.dot(self.run_.d, <const double *>self.run_.rows + i * self.run_.d, self.rule.w)

    cdef int run(self, double *utility, double *optimal) noexcept nogil:
        cdef Py_ssize_t t, i, j
        cdef int status
        for t in range(self.run_.rounds):
            if self.left == 0 or self.run_.stop:
                break
            i = self.present()
            if i < 0:
                return CF_ENONFINITE
            if self.run_.g != NULL:
                cf_fetch_row(self.run_.g + i * self.run_.n)
            utility[t] = self.truth_[i]
            optimal[t] = self.best_left()
            j = self.respond(i)
            self.remove(i)  # first: the best score of those left comes out of the step
            if j != i:
                self.remove(j)
            status = self.learn(i, j)
            if status != CF_OK:
                return status
        return CF_OK

    # --- presenting ---------------------------------------------------------------------------

    cdef Py_ssize_t present(self) noexcept nogil:
        """The best candidate, ties to the lower index; -1: scores overflow."""
        cdef ptrdiff_t best[NEAR]
        cdef double least
        cdef Py_ssize_t m
        if self.run_.g == NULL:
            self.keep_alive()
            score_rows(self.kept, self.run_.d, self.kept_rows, self.run_.floats, self.rule.w,
                       self.bench.score)
            return self.best_kept(self.bench.score)
        if not self.known:
            K.top_k(self.run_.n, self.score, 1, best, NULL)
            self.most = self.score[best[0]]
        if not self.most - self.most == 0.0:
            return -1
        least = self.most - 2.0 * (
            self.error + (self.run_.d + 4) * UNIT * self.run_.longest * self.weight_norm())
        m = K.at_least(self.run_.n, self.score, least, NEAR, best)
        if m == 1:
            return best[0]
        if m <= NEAR:
            return self.best_afresh(m, best)
        return self.best_of_all(least)

    cdef double weight_norm(self) noexcept nogil:
        return sqrt(K.dot(self.rule.n, self.rule.w, self.rule.w))

    cdef Py_ssize_t best_afresh(self, Py_ssize_t m, const ptrdiff_t *near) noexcept nogil:
        """Of some items in ascending order the best by scores made afresh."""
        cdef Py_ssize_t p, best = near[0]
        cdef double s, most = self.score_of(best)
        for p in range(1, m):
            s = self.score_of(near[p])
            if s > most:
                best, most = near[p], s
        return best

    cdef Py_ssize_t best_of_all(self, double least) noexcept nogil:
        """The same where there are many (at first all scores are equal)."""
        cdef Py_ssize_t i, best = -1
        cdef double s, most = 0.0
        for i in range(self.run_.n):
            if self.score[i] >= least:
                s = self.score_of(i)
                if best < 0 or s > most:
                    best, most = i, s
        return best

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

    cdef Py_ssize_t alive_number(self, Py_ssize_t m) noexcept nogil:
        """Candidate number m in ascending order."""
        cdef Py_ssize_t i
        for i in range(self.run_.n):
            if self.alive[i]:
                if m == 0:
                    return i
                m -= 1
        return -1

    cdef Py_ssize_t rated(self, Py_ssize_t i) noexcept nogil:
        """One of the candidates of the rating that the user wants, ties at random."""
        cdef const double *value = self.value_
        cdef bint best = self.user.kind == BEST
        cdef double wanted = -INFINITY if best else INFINITY
        cdef Py_ssize_t j, m = 0
        for j in range(self.run_.n):
            if not self.alive[j]:
                continue
            if (value[j] > wanted) if best else (value[i] < value[j] < wanted):
                wanted = value[j]
                m = 0
            m += value[j] == wanted
        if m == 0:
            return i
        if m > 1:
            m = self.user.pick(m) + 1
        else:
            m = 1
        for j in range(self.run_.n):
            if self.alive[j] and value[j] == wanted:
                m -= 1
                if m == 0:
                    return j
        return i

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
            drawn[r] = self.alive_number(self.user.pick(self.left))
            gains[r] = truth[drawn[r]] - truth[i]
        j = self.least_enough(i, self.user.base)
        r = self.user.toss(self.user.alpha * (truth[order[self.top]] - truth[i]),
                           truth[j] - truth[i], gains)
        return j if r < 0 else drawn[r]

    # --- learning -----------------------------------------------------------------------------

    cdef int learn(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        cdef int status
        item_delta(self.bench, i, j, self.run_.rows, self.run_.floats)
        status = self.rule.step(self.bench.delta)
        if status == CF_OK and self.run_.g != NULL:
            self.move_scores(i, j)
        return status

    cdef void move_scores(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """The scores of a Preference Perceptron after its batch."""
        cdef const float *g = self.run_.g
        cdef double moved = 0.0    # norms of what the weights moved by
        cdef Py_ssize_t p
        if i != j:
            self.pending[2 * self.waiting] = i
            self.pending[2 * self.waiting + 1] = j
            self.waiting += 1
        self.known = False
        if (<Perceptron>self.rule).waiting:
            return
        for p in range(self.waiting):
            i, j = self.pending[2 * p], self.pending[2 * p + 1]
            self.most = K.add_difference(self.run_.n, g + j * self.run_.n, g + i * self.run_.n,
                                         self.score)
            self.known = True
            moved += self.run_.norm[i] + self.run_.norm[j]
        # G in float32 and its own products; the sums here, and those in the weights
        self.error += moved * self.run_.longest * (SINGLE + (self.run_.d + 4) * UNIT)
        self.error += self.waiting * 4.0 * UNIT * self.run_.longest * self.weight_norm()
        self.waiting = 0

    cdef void remove(self, Py_ssize_t i) noexcept nogil:
        self.alive[i] = 0
        self.score[i] = -INFINITY
        self.next_place[self.place[i]] = self.place[i] + 1
        self.left -= 1
