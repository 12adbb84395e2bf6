"""The dueling bandit: draws a direction, drafts what is presented, keeps score; and its runs.

What is pending is a comparison. Cost: rankings of n documents: one reading of x for both orderings,
two sorts, O(n) to interleave
them; items: one reading of the candidates' rows. The runs give the rounds of single calls; over
items those of one user, whose candidates are read once a round, for w and w' together.
"""

import numpy

cimport numpy as np
from libc.math cimport sqrt
from libc.stddef cimport size_t
from libc.string cimport memcpy, memset
from numpy.random cimport bitgen_t

from coactive_fast._arrays cimport (
    as_count, data_of, new_indices, new_vector, refuse, refuse_non_finite,
)
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_OK, cf_candidate, cf_get_library, cf_get_table, cf_library, cf_table,
)
from coactive_fast.coactive._engine cimport (
    RANKING, Bench, CoactiveEngine, both_scores, documents_of, indices_of, matrix_of, refuse_short,
    scores_of,
)
from coactive_fast.coactive._pending cimport PendingEngine, PendingRun, ordering_of
from coactive_fast.coactive._rules cimport Matrix
from coactive_fast.coactive._simulate cimport Decider, ItemsRun, Taste
from coactive_fast.convex._rules cimport is_unit
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._state cimport State

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    BUSY = 1 << 15  # values read from which the GIL is let go: some microseconds


cdef class DuelingEngine(PendingEngine):
    """Dueling bandit gradient descent on rankings or items.

    Parameters
    ----------
    task : Ranking or Items
    explore : float
        w' = w + explore u.
    move : float
        w += move u when w' wins.
    chance : Chance
        Owned from now on.
    """

    cdef double explore, move
    # The pending comparison, beside `presented` (items: w's and that of w').
    cdef np.ndarray direction    # u
    cdef np.ndarray brought      # rankings: 1 for each document that w' brought, else 0

    def __init__(self, task, double explore, double move, Chance chance):
        PendingEngine.__init__(self, task, chance)
        self.explore, self.move = explore, move

    cdef int hold(self, tuple parts) except -1:
        self.presented, self.direction, self.brought = parts or (None, None, None)
        return 0

    def fresh_rule(self):
        """An engine of this learner that has learned nothing: chance goes with the rule."""
        return DuelingEngine(self.task, self.explore, self.move, self.chance.fresh())

    cdef dict held(self):
        return {"direction": self.direction, "presented": self.presented, "brought": self.brought}

    cdef tuple checked(self, State pending, State state):
        cdef np.ndarray direction = pending.vector("direction", state.count("n", 1))
        cdef np.ndarray presented, brought
        cdef Py_ssize_t n
        if not is_unit(direction.size, data_of(direction)):
            pending.refuse("direction", "of length 1")
        if self.kind != RANKING:
            presented = pending.counts("presented", 2, 0, len(self.items) - 1)
            if pending.get("brought") is not None:
                pending.refuse("brought", "None", pending.get("brought"))
            return presented.astype(numpy.intp), direction, None
        presented = ordering_of(pending)
        n = presented.size
        brought = pending.counts("brought", n, 0, 1)
        teams = brought[presented[:n // 2 * 2]]
        if (teams[::2] + teams[1::2] != 1).any():  # by turns, whoever begins
            pending.refuse("brought", "one of every two documents")
        return presented, direction, brought.astype(numpy.uint8)

    def adopt(self, CoactiveEngine other, changed):
        cdef DuelingEngine given = <DuelingEngine?>other
        PendingEngine.adopt(self, other, changed)
        self.explore, self.move = given.explore, given.move

    # --- present --------------------------------------------------------------------------------

    cdef int draw(self, np.ndarray a) except -1:
        return self.compare_rankings(a) if self.kind == RANKING else self.compare_items(a)

    cdef void aim(self, Bench b, double *u) noexcept nogil:
        """u, uniform on the sphere; the bench's delta becomes w' = w + explore u."""
        cdef Py_ssize_t d = self.rule.n, i
        cdef double norm
        self.chance.normals(d, u)
        norm = sqrt(K.dot(d, u, u))
        for i in range(d):
            u[i] /= norm
        memcpy(b.delta, self.rule.w, <size_t>d * sizeof(double))
        K.axpy(d, self.explore, u, b.delta)

    cdef int compare_rankings(self, np.ndarray a) except -1:
        cdef Matrix x = matrix_of(a)
        cdef np.ndarray direction = new_vector(x.d), presented = new_indices(x.n)
        cdef np.ndarray brought = <np.ndarray>numpy.empty(x.n, dtype=numpy.uint8)
        cdef ptrdiff_t *shown = <ptrdiff_t *>np.PyArray_DATA(presented)
        cdef unsigned char *team = <unsigned char *>np.PyArray_DATA(brought)
        cdef bint finite
        self.know(x.d, "x")
        self.bench.fit(x.n, x.d, x.n)
        self.aim(self.bench, data_of(direction))
        if x.n * x.d < BUSY:
            finite = self.draft(self.bench, &x, shown, team)
        else:
            with nogil:
                finite = self.draft(self.bench, &x, shown, team)
        if not finite:
            refuse_non_finite(a, "x")
            raise ValueError("x gives scores that overflow")
        return self.hold((presented, direction, brought))

    cdef bint draft(self, Bench b, const Matrix *x, ptrdiff_t *presented,
                    unsigned char *brought) noexcept nogil:
        """Both orderings and their interleaving; 0 where a score is not finite."""
        cdef cf_candidate *sorting = <cf_candidate *>b.sorting
        both_scores(x, self.rule.w, b.delta, b.score, b.utility)
        if not (K.all_finite(x.n, b.score) and K.all_finite(x.n, b.utility)):
            return False
        K.top_k(x.n, b.score, x.n, b.presented, sorting)
        K.top_k(x.n, b.utility, x.n, b.better, sorting)
        interleave(x.n, b.presented, b.better, self.chance.bits, b.place, presented, brought)
        return True

    cdef int compare_items(self, np.ndarray candidates) except -1:
        cdef Matrix x = matrix_of(self.items)
        cdef np.ndarray direction = new_vector(x.d), presented = new_indices(2)
        cdef ptrdiff_t *best = <ptrdiff_t *>np.PyArray_DATA(presented)
        cdef const ptrdiff_t *index = NULL
        cdef Py_ssize_t m = x.n
        cdef bint finite
        if candidates is not None:
            m, index = np.PyArray_DIM(candidates, 0), <const ptrdiff_t *>np.PyArray_DATA(candidates)
        self.bench.fit(2, x.d, 1)
        self.aim(self.bench, data_of(direction))
        if x.n * x.d < BUSY:
            finite = best_two(&x, m, index, self.rule.w, self.bench.delta, best)
        else:
            with nogil:
                finite = best_two(&x, m, index, self.rule.w, self.bench.delta, best)
        if not finite:
            raise ValueError("explore gives scores that overflow")
        return self.hold((presented, direction, None))

    # --- learn ----------------------------------------------------------------------------------

    cdef int learn_ranking(self, x, y, better) except -1:
        cdef np.ndarray shown = indices_of(y, "y"), wanted = indices_of(better, "better")
        cdef np.ndarray a = documents_of(x)
        cdef Py_ssize_t n, m
        self.guard.begin_write()
        try:
            m = self.take_shown(a, shown, "y")
            n = np.PyArray_DIM(self.presented, 0)
            self.bench.counts = self.bench.take_places(wanted, "better", n, self.k,
                                                       self.bench.better)
            refuse_short(min(m, self.k), self.bench.counts)
            self.finish(brought_most(self.bench.counts, self.bench.better, self.brought_()))
        finally:
            self.guard.end_write()
        return 0

    cdef int answer(self, Bench b, const Matrix *x, Py_ssize_t m) noexcept nogil:
        """The team that brought more of what was clicked wins."""
        cdef Py_ssize_t clicks = 0, wins = 0, p
        for p in range(m):
            clicks += b.clicked[p]
            wins += b.clicked[p] * self.brought_()[b.presented[p]]
        return self.move_by(b, data_of(self.direction), 2 * wins > clicks)

    cdef const unsigned char *brought_(self) noexcept nogil:
        return <const unsigned char *>np.PyArray_DATA(self.brought)

    cdef int learn_item(self, x, y, better) except -1:
        cdef np.ndarray c = self.candidates(x)
        cdef const ptrdiff_t *pair
        cdef Py_ssize_t i, j, item
        try:
            first, second = y
        except (TypeError, ValueError):
            raise ValueError("y must be the two items that present returned") from None
        i, j, item = as_count(first, "y"), as_count(second, "y"), as_count(better, "better")
        self.guard.begin_write()
        try:
            self.refuse_unpaired("y")
            pair = <const ptrdiff_t *>np.PyArray_DATA(self.presented)
            if i != pair[0] or j != pair[1]:
                raise ValueError(f"y must be what present returned last, [{pair[0]}, {pair[1]}]")
            if item != i and item != j:
                raise ValueError(f"better must be one of the two items {i} and {j}, got {item}")
            if c is not None and not numpy.isin((i, j), c).all():
                raise ValueError(f"y must be among the candidates in x, got [{i}, {j}]")
            self.finish(item != i)
        finally:
            self.guard.end_write()
        return 0

    cdef int finish(self, bint won) except -1:
        """The comparison is over."""
        cdef int status
        self.bench.fit(2, self.rule.n, 1)  # the comparison may come from another engine
        status = self.move_by(self.bench, data_of(self.direction), won)
        if status != CF_OK:
            refuse(status, "step")
        return self.hold(None)

    cdef int move_by(self, Bench b, const double *u, bint won) noexcept nogil:
        """w += move u if w' won: the step of every round."""
        memset(b.delta, 0, <size_t>self.rule.n * sizeof(double))
        if won:
            K.axpy(self.rule.n, self.move, u, b.delta)
        return self.rule.step(b.delta)


cdef bint best_two(const Matrix *x, Py_ssize_t m, const ptrdiff_t *index, const double *w,
                   const double *other, ptrdiff_t *best) noexcept nogil:
    """The best items of w and of w', ties to the lower one; 0 where a score is not finite.

    Of m items, those of `index` where it is not NULL.
    """
    cdef Py_ssize_t i, j
    cdef double top[2]
    cdef double score[2]
    cdef Matrix one = x[0]
    cdef int side
    one.n = 1
    for j in range(m):
        i = j if index == NULL else index[j]
        one.rows = x.rows + i * x.step * (4 if x.floats else 8)
        both_scores(&one, w, other, &score[0], &score[1])
        for side in range(2):
            if score[side] - score[side] != 0.0:
                return False
            if j == 0 or score[side] > top[side] or (score[side] == top[side] and i < best[side]):
                top[side], best[side] = score[side], i
    return True


cdef bint brought_most(Py_ssize_t m, const ptrdiff_t *better,
                       const unsigned char *brought) noexcept nogil:
    """Whether w' brought more of the first m documents of the feedback than w."""
    cdef Py_ssize_t wins = 0, i
    for i in range(m):
        wins += brought[better[i]]
    return 2 * wins > m


cdef void interleave(Py_ssize_t n, const ptrdiff_t *own, const ptrdiff_t *other, bitgen_t *bits,
                     ptrdiff_t *placed, ptrdiff_t *presented,
                     unsigned char *brought) noexcept nogil:
    """Team-draft interleaving of two orderings of n documents.

    The team with fewer picks goes first, a coin where they are equal (at every other place), and
    takes its best document not yet placed. `placed` holds a zero for every document, before and
    after; brought[document] is 1 where `other` picked it.
    """
    cdef const ptrdiff_t *ordering[2]
    cdef Py_ssize_t at[2]
    cdef Py_ssize_t place
    cdef ptrdiff_t document
    cdef int turn = 0
    ordering[0], ordering[1] = own, other
    at[0] = at[1] = 0
    for place in range(n):
        turn = 1 - turn if place % 2 else bits.next_double(bits.state) >= 0.5
        while placed[ordering[turn][at[turn]]]:
            at[turn] += 1
        document = ordering[turn][at[turn]]
        placed[document] = 1
        presented[place] = document
        brought[document] = turn
    memset(placed, 0, <size_t>n * sizeof(ptrdiff_t))


# --- runs -----------------------------------------------------------------------------------------


cdef class DuelingRankings(PendingRun):
    """Arguments as those of `RankingRun`."""

    cdef DuelingEngine duel
    cdef np.ndarray direction, shown, brought, key

    def __init__(self, *given, **options):
        PendingRun.__init__(self, *given, **options)
        self.direction = new_vector(self.all.d)
        self.shown, self.key = new_indices(self.bench.docs), new_vector(self.bench.docs)
        self.brought = <np.ndarray>numpy.empty(self.bench.docs, dtype=numpy.uint8)

    cdef int fit(self, PendingEngine engine) except -1:
        self.duel = <DuelingEngine?>engine
        return 0

    cdef int redraw(self, generator, Py_ssize_t n) except -1:
        generator.standard_normal(self.all.d)
        generator.random((n + 1) // 2)  # a coin for every other place
        return 0

    cdef int play_round(self, CoactiveEngine _, Bench b, const Matrix *x) noexcept nogil:
        cdef Py_ssize_t n = x.n, k = min(self.k, n), i
        cdef double *u = data_of(self.direction)
        cdef double *key = data_of(self.key)
        cdef ptrdiff_t *shown = <ptrdiff_t *>np.PyArray_DATA(self.shown)
        cdef unsigned char *brought = <unsigned char *>np.PyArray_DATA(self.brought)
        cdef double best
        cdef int status
        self.duel.aim(self.duel.bench, u)
        scores_of(x, data_of(self.weights), b.utility)
        if not (self.duel.draft(self.duel.bench, x, shown, brought)
                and K.all_finite(n, b.utility)):
            return CF_ENONFINITE
        for i in range(n):
            key[shown[i]] = -<double>i  # what the user walks down
        memcpy(b.presented, shown, <size_t>min(n, self.user.looks_at(k)) * sizeof(ptrdiff_t))
        best = self.measure(b, n, k)
        status = self.improve(b, x, key, best)
        if status != CF_OK:
            return status
        return self.duel.move_by(self.duel.bench, u, brought_most(b.counts, b.better, brought))


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

    cdef int run(self) noexcept nogil:
        cdef double *u = data_of(self.direction)
        cdef double *score = data_of(self.scores)
        cdef double *other = data_of(self.others)
        cdef Py_ssize_t t, i, j
        cdef bint won
        cdef int status
        for t in range(self.run_.rounds):
            if self.left == 0 or self.run_.stop:
                break
            self.keep_alive()
            self.duel.aim(self.duel.bench, u)
            both_scores(&self.kept_rows, self.duel.rule.w, self.duel.bench.delta, score, other)
            i, j = self.best_kept(score), self.best_kept(other)
            if i < 0 or j < 0:
                return CF_ENONFINITE
            won = self.value_[j] > self.value_[i]
            self.utility[t] = (self.truth_[i] + self.truth_[j]) / 2.0
            self.optimal[t] = self.best_left()
            self.feedback[t] = self.truth_[j if won else i]
            status = self.duel.move_by(self.duel.bench, u, won)
            if status != CF_OK:
                return status
            self.alive[i] = self.alive[j] = 0
            self.left -= 1 + (i != j)
        return CF_OK
