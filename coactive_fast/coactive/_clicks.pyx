"""Learning from clicks and duels: PDGD, 3PR, the dueling bandit (DEFINITIONS 2, 7); their runs.

One round is two calls. `present` draws and keeps what is pending, an answer ends it; what is kept
is part of the state. A `present` that fails sets the generator back, so nothing has changed. The
runs give the rounds of single calls.

Cost beside one reading of x. Dueling bandit, rankings of n documents: one reading for both
orderings, two sorts, O(n) to interleave them; items: one reading of the candidates' rows, in a run
for w and w' together. Pair swaps draw n / 2 numbers; PDGD draws n numbers and takes 2 n logarithms,
and where there are clicks n exponentials and some for each pair of places (cf_clicks.h).
"""

import numpy

cimport numpy as np
from libc.math cimport sqrt
from libc.stddef cimport size_t
from libc.string cimport memcpy, memset
from numpy.random cimport bitgen_t

from coactive_fast._arrays cimport (
    as_count, data_of, is_plain, new_indices, new_vector, refuse, refuse_non_finite,
)
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_EVALUE, CF_OK, cf_candidate, cf_click_scratch, cf_get_library, cf_get_table,
    cf_library, cf_table,
)
from coactive_fast.coactive._rules cimport (
    RANKING, Bench, CoactiveEngine, Matrix, Perceptron, both_scores, documents_of, finite_rows,
    indices_of, matrix_of, ranking_delta, refuse_short, scores_of,
)
from coactive_fast.coactive._simulate cimport Decider, ItemsRun, RankingRun, Taste
from coactive_fast.convex._rules cimport is_unit
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._engine cimport Engine
from coactive_fast.learner._state cimport State

from coactive_fast.learner._random import copied

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()
cdef enum:
    BUSY = 1 << 15  # values read from which the GIL is let go: some microseconds


def fresh_rule():
    """Weights that move by what they are given."""
    return Perceptron(1)


cdef class PendingEngine(CoactiveEngine):
    """A rule of plain steps, chance, and what is pending.

    Parameters
    ----------
    task : Ranking or Items
    chance : Chance
        Owned from now on.
    """

    # What is pending, part of the state: `presented` (rankings: all n documents) and what a family
    # holds beside it. None where nothing is. Arrays are never changed in place.
    cdef np.ndarray presented

    def __init__(self, task, Chance chance):
        CoactiveEngine.__init__(self, task, fresh_rule)
        self.chance = chance

    # --- what every engine has ----------------------------------------------------------------

    @property
    def fresh(self):
        return self.rule.rounds == 0 and self.presented is None

    @property
    def rng(self):
        """A copy of the generator."""
        self.guard.begin_read()
        try:
            return copied(self.chance.generator)
        finally:
            self.guard.end_read()

    cdef dict told(self):
        pending = None if self.presented is None else self.held()
        return {**self.rule.told(), **self.chance.state(), "pending": pending}

    cdef int take_state(self, State state) except -1:
        cdef tuple parts = None
        if state.get("pending") is not None:
            parts = self.checked(state.part("pending"), state)
        state.get("rng"), state.get("seed")
        chance = Chance.restored(state.given)
        CoactiveEngine.take_state(self, state)
        self.chance = chance
        self.hold(parts)
        return 0

    def reset(self):
        chance = self.chance.fresh()
        CoactiveEngine.reset(self)
        self.chance = chance
        self.hold(None)

    def adopt(self, CoactiveEngine other, changed):
        CoactiveEngine.adopt(self, other, changed)
        if "seed" in changed:
            self.chance = other.chance

    # What a learner says itself. `draw` draws for documents or candidates and holds the outcome;
    # it is called with the guard held, and when it fails the generator is wound back.
    cdef int draw(self, np.ndarray a) except -1:
        raise NotImplementedError

    # as `checked` gives them; None: nothing
    cdef int hold(self, tuple parts) except -1:
        raise NotImplementedError

    # plain arrays and numbers, by name
    cdef dict held(self):
        raise NotImplementedError

    cdef tuple checked(self, State pending, State state):
        raise NotImplementedError

    # for an answer about n documents
    cdef int make_room(self, Py_ssize_t n) except -1:
        return 0

    # The round that ends what is pending: m places shown, of which bench.clicked are marked.
    cdef int answer(self, Bench b, const Matrix *x, Py_ssize_t m) noexcept nogil:
        return CF_EVALUE

    # --- present --------------------------------------------------------------------------------

    cdef object rank(self, np.ndarray a, Py_ssize_t k):
        return self.drawn(a)[:k].copy()

    cdef object best_item(self, np.ndarray candidates):
        return self.drawn(candidates).copy()

    cdef np.ndarray drawn(self, np.ndarray a):
        """Draws for these documents or candidates; what is presented."""
        self.guard.begin_write()
        try:
            rule, bits = self.rule, self.chance.generator.bit_generator
            before = bits.state
            try:
                self.draw(a)
            except BaseException:
                bits.state, self.rule = before, rule
                raise
            return self.presented
        finally:
            self.guard.end_write()

    # --- learn ----------------------------------------------------------------------------------

    def learn_clicks(self, x, shown, clicked):
        """Ends what is pending, which is one round."""
        cdef np.ndarray y = indices_of(shown, "shown"), wanted = indices_of(clicked, "clicked")
        cdef np.ndarray a = documents_of(x)
        cdef Matrix rows
        cdef Py_ssize_t m
        cdef int status
        self.guard.begin_write()
        try:
            m = self.take_shown(a, y, "shown")
            rows = matrix_of(a)
            self.take_clicks(wanted, m)
            self.make_room(rows.n)
            if rows.n * rows.d < BUSY and self.rule.compiled:
                status = self.answer(self.bench, &rows, m)
            else:
                with nogil:
                    status = self.answer(self.bench, &rows, m)
            if status != CF_OK:
                refuse(status, "x")
            self.hold(None)
        finally:
            self.guard.end_write()

    cdef int refuse_unpaired(self, str name) except -1:
        if self.presented is None:
            raise ValueError(f"{name} must be what present returned: call present before learning")
        return 0

    cdef Py_ssize_t take_shown(self, np.ndarray a, np.ndarray shown, str name) except -1:
        """How many places were shown of what is pending, which goes to the bench; the documents are
        looked at too."""
        cdef Matrix x = matrix_of(a)
        cdef Py_ssize_t n, m
        self.refuse_unpaired(name)
        n = np.PyArray_DIM(self.presented, 0)
        if x.n != n:
            raise ValueError(f"x must have the {n} documents that were presented, got {x.n}")
        if x.d != self.rule.n:
            self.refuse_dimension(x.d, "x")
        self.bench.fit(n, x.d, n)
        m = self.bench.take_places(shown, name, n, n, self.bench.presented)
        if not numpy.array_equal(shown, self.presented[:m]):
            raise ValueError(f"{name} must be what present returned last, or its first places")
        if not finite_rows(&x):
            refuse_non_finite(a, "x")
            raise ValueError("x was changed while it was read")
        return m

    cdef int take_clicks(self, np.ndarray clicked, Py_ssize_t m) except -1:
        """The places of the first m that were clicked: marks in the bench."""
        cdef Bench b = self.bench
        cdef const ptrdiff_t *at
        cdef Py_ssize_t n = np.PyArray_DIM(self.presented, 0), p, i
        cdef ptrdiff_t document = -1
        cdef bint good = True
        if not is_plain(clicked, np.NPY_INTP):
            raise ValueError("clicked was changed while it was read")
        at = <const ptrdiff_t *>np.PyArray_DATA(clicked)
        memset(b.clicked, 0, <size_t>m * sizeof(ptrdiff_t))
        for p in range(m):
            b.place[b.presented[p]] = p + 1
        for i in range(np.PyArray_DIM(clicked, 0)):
            document = at[i]
            if not 0 <= document < n or b.place[document] == 0:
                good = False
                break
            b.clicked[b.place[document] - 1] = 1
        for p in range(m):
            b.place[b.presented[p]] = 0
        if not good:
            raise ValueError(f"clicked must hold documents of shown, got {document}")
        return 0


cdef np.ndarray ordering_of(State pending):
    cdef Py_ssize_t n = numpy.size(pending.get("presented"))
    presented = pending.counts("presented", n)
    if n == 0 or not numpy.array_equal(numpy.sort(presented), numpy.arange(n)):
        pending.refuse("presented", "an ordering of all documents")
    return presented.astype(numpy.intp)


# --- runs -----------------------------------------------------------------------------------------


cdef class PendingRun(RankingRun):
    """Arguments as those of `RankingRun`."""

    cdef Py_ssize_t begun      # the first round since the last pause,
    cdef dict before           # and the generator's state then

    cdef int fit(self, PendingEngine engine) except -1:
        """Room for the longest query; the engine is looked at anew."""
        raise NotImplementedError

    # what a round over n documents draws
    cdef int redraw(self, generator, Py_ssize_t n) except -1:
        raise NotImplementedError

    cdef int begin(self, Engine engine) except -1:
        cdef PendingEngine at_work = <PendingEngine?>engine
        RankingRun.begin(self, engine)
        at_work.bench.fit(self.bench.docs, self.all.d, self.bench.docs)
        self.fit(at_work)
        self.begun, self.before = self.done, at_work.chance.generator.bit_generator.state
        return 0

    cdef int end(self, Engine engine, int status) except -1:
        """What a round that failed has drawn is given back; what was pending before is over."""
        cdef PendingEngine at_work = <PendingEngine>engine
        cdef Py_ssize_t t
        if self.done > self.begun:
            at_work.hold(None)
        if status < CF_OK:
            generator = at_work.chance.generator
            generator.bit_generator.state = self.before
            for t in range(self.begun, self.done):
                self.redraw(generator, self.query(t).n)
        return 0


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
