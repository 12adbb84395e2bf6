"""The engine of the dueling bandit: draws a direction, drafts what is presented, keeps score.

See _dueling_engine.pxd. One round is two calls. `present` draws and holds a comparison, `learn` ends it; what is held is
part of the state. A present that fails winds the generator back, so nothing has changed.
Cost: rankings of n documents: one reading of x for both orderings, two sorts, O(n) to interleave
them; items: one reading of the candidates' rows.
"""

import copy

import numpy

cimport numpy as np
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport sqrt
from libc.stddef cimport size_t
from libc.string cimport memcpy, memset
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_normal_fill

from coactive_fast._arrays cimport (
    as_count, as_vector, data_of, new_indices, new_vector, refuse, refuse_non_finite, row_stride,
)
from coactive_fast._table cimport (
    CF_OK, cf_candidate, cf_get_library, cf_get_table, cf_library, cf_table,
)
from coactive_fast.coactive._engine cimport (
    RANKING, CoactiveEngine, documents_of, ranking_of, scores_of,
)
from coactive_fast.coactive._rules cimport Perceptron

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    BUSY = 1 << 15  # values read from which the GIL is let go: some microseconds


def fresh_rule():
    """Weights that move by what they are given: the winner's direction, or nothing."""
    return Perceptron(1)


cdef class DuelingEngine(CoactiveEngine):
    """Dueling bandit gradient descent on rankings or items.

    Parameters
    ----------
    task : Ranking or Items
    explore : float
        w' = w + explore u.
    move : float
        w += move u when w' wins.
    first : Generator
        What `reset` begins with; owned by the engine, which never draws from it.
    """

    def __init__(self, task, double explore, double move, first):
        CoactiveEngine.__init__(self, task, fresh_rule)
        self.explore, self.move = explore, move
        self.first = first
        self.draw_from(copy.deepcopy(first))

    cdef int draw_from(self, generator) except -1:
        self.bits = <bitgen_t *>PyCapsule_GetPointer(generator.bit_generator.capsule,
                                                     "BitGenerator")
        self.generator = generator
        return 0

    cdef void hold(self, np.ndarray direction, np.ndarray presented, np.ndarray brought) noexcept:
        """The pending comparison; None, None, None for none."""
        self.direction, self.presented, self.brought = direction, presented, brought

    # --- what every engine has ----------------------------------------------------------------

    @property
    def fresh(self):
        return self.rule.rounds == 0 and self.presented is None

    def fresh_rule(self):
        """An engine of this learner that has learned nothing: chance goes with the rule."""
        return DuelingEngine(self.task, self.explore, self.move, self.first)

    @property
    def rng(self):
        """A copy of the generator."""
        self.guard.begin_read()
        try:
            return copy.deepcopy(self.generator)
        finally:
            self.guard.end_read()

    def state(self):
        self.guard.begin_read()
        try:
            found = self.rule.state()
            found["rng"], found["seed"] = copy.deepcopy(self.generator), self.first
            found["pending"] = None if self.presented is None else {
                "direction": self.direction, "presented": self.presented, "brought": self.brought}
        finally:
            self.guard.end_read()
        return found

    def restore(self, state):
        try:
            generators = [copy.deepcopy(state[name]) for name in ("rng", "seed")]
            pending = self.held(state["pending"], state["n"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"state must hold what state() gave: {error}") from None
        for name, generator in zip(("rng", "seed"), generators):
            if not isinstance(generator, numpy.random.Generator):
                raise ValueError(f"{name} of the state must be a Generator")
        CoactiveEngine.restore(self, state)
        self.draw_from(generators[0])
        self.first = generators[1]
        self.hold(pending[0], pending[1], pending[2])

    cdef tuple held(self, pending, Py_ssize_t d):
        """The parts of a pending comparison, checked."""
        cdef np.ndarray direction, presented, brought
        if pending is None:
            return None, None, None
        direction = as_vector(pending["direction"], "direction").copy()
        refuse_non_finite(direction, "direction")
        n = len(pending["presented"])
        if self.kind == RANKING:
            presented = ranking_of(pending["presented"], "presented", n).copy()
            brought = numpy.array(pending["brought"], dtype=numpy.uint8)
        else:
            presented = numpy.array(pending["presented"], dtype=numpy.intp)
            brought = None
            if n != 2 or not ((0 <= presented) & (presented < len(self.items))).all():
                raise ValueError("presented of the state must be two items")
        fits = np.PyArray_DIM(direction, 0) == d
        if brought is not None:
            fits = fits and (<object>brought).shape == (n,) and (brought <= 1).all()
        if not fits:
            raise ValueError("the pending comparison of the state does not fit together")
        return direction, presented, brought

    def reset(self):
        generator = copy.deepcopy(self.first)
        CoactiveEngine.reset(self)
        self.draw_from(generator)
        self.hold(None, None, None)

    def adopt(self, CoactiveEngine other, changed):
        cdef DuelingEngine given = <DuelingEngine?>other
        CoactiveEngine.adopt(self, other, changed)
        self.explore, self.move = given.explore, given.move
        if "seed" in changed:
            self.first = given.first
            self.draw_from(given.generator)

    # --- present --------------------------------------------------------------------------------

    cdef object rank(self, x, k):
        """The interleaved ordering, or its first k places."""
        cdef np.ndarray a = documents_of(x)
        cdef Py_ssize_t places = np.PyArray_DIM(a, 0) if k is None else as_count(k, "k")
        return self.compare(a)[:places].copy()

    cdef object best_item(self, x):
        """The two items."""
        return self.compare(self.candidates(x)).copy()

    cdef np.ndarray compare(self, np.ndarray a):
        """Draws and holds a comparison over these documents or candidates; what is presented."""
        cdef bint unknown
        self.guard.begin_write()
        try:
            unknown = self.rule.n == 0
            before = self.generator.bit_generator.state
            try:
                if self.kind == RANKING:
                    self.compare_rankings(a)
                else:
                    self.compare_items(a)
            except BaseException:
                self.generator.bit_generator.state = before
                if unknown:
                    self.rule = self.make()
                raise
            return self.presented
        finally:
            self.guard.end_write()

    cdef void aim(self, double *u) noexcept nogil:
        """u, uniform on the sphere; the bench's delta becomes w' = w + explore u."""
        cdef Py_ssize_t d = self.rule.n, i
        cdef double norm
        random_standard_normal_fill(self.bits, d, u)  # what Generator.standard_normal draws
        norm = sqrt(K.dot(d, u, u))
        for i in range(d):
            u[i] /= norm
        memcpy(self.bench.delta, self.rule.w, <size_t>d * sizeof(double))
        K.axpy(d, self.explore, u, self.bench.delta)

    cdef int compare_rankings(self, np.ndarray a) except -1:
        cdef Py_ssize_t n = np.PyArray_DIM(a, 0), d = np.PyArray_DIM(a, 1)
        cdef np.ndarray direction = new_vector(d), presented = new_indices(n)
        cdef np.ndarray brought = <np.ndarray>numpy.empty(n, dtype=numpy.uint8)
        cdef ptrdiff_t *shown = <ptrdiff_t *>np.PyArray_DATA(presented)
        cdef unsigned char *team = <unsigned char *>np.PyArray_DATA(brought)
        cdef const void *rows = np.PyArray_DATA(a)
        cdef bint floats = np.PyArray_TYPE(a) == np.NPY_FLOAT, finite
        cdef Py_ssize_t stride = row_stride(a)
        self.know(d, "x")
        self.bench.fit(n, d, n)
        self.aim(data_of(direction))
        if n * d < BUSY:
            finite = self.draft(n, rows, floats, stride, shown, team)
        else:
            with nogil:
                finite = self.draft(n, rows, floats, stride, shown, team)
        if not finite:
            refuse_non_finite(a, "x")
            raise ValueError("x gives scores that overflow")
        self.hold(direction, presented, brought)
        return 0

    cdef bint draft(self, Py_ssize_t n, const void *rows, bint floats, Py_ssize_t stride,
                    ptrdiff_t *presented, unsigned char *brought) noexcept nogil:
        """Both orderings and their interleaving; 0 where a score is not finite."""
        cdef Py_ssize_t d = self.rule.n
        cdef double *score = self.bench.score
        cdef double *other = self.bench.utility
        cdef ptrdiff_t *ordering = self.bench.presented
        cdef ptrdiff_t *second = self.bench.better
        cdef cf_candidate *sorting = <cf_candidate *>self.bench.sorting
        if floats:
            K.two_scores_f32(n, d, <const float *>rows, stride, self.rule.w, self.bench.delta,
                             score, other)
        else:
            K.two_scores(n, d, <const double *>rows, stride, self.rule.w, self.bench.delta,
                         score, other)
        if not (K.all_finite(n, score) and K.all_finite(n, other)):
            return False
        K.top_k(n, score, n, ordering, sorting)
        K.top_k(n, other, n, second, sorting)
        interleave(n, ordering, second, self.bits, self.bench.place, presented, brought)
        return True

    cdef int compare_items(self, np.ndarray candidates) except -1:
        cdef np.ndarray direction = new_vector(self.rule.n), presented = new_indices(2)
        cdef bint finite
        self.bench.fit(2, self.rule.n, 1)
        self.aim(data_of(direction))
        if self.items.size < BUSY:
            finite = self.best_two(candidates, <ptrdiff_t *>np.PyArray_DATA(presented))
        else:
            with nogil:
                finite = self.best_two(candidates, <ptrdiff_t *>np.PyArray_DATA(presented))
        if not finite:
            raise ValueError("explore gives scores that overflow")
        self.hold(direction, presented, None)
        return 0

    cdef bint best_two(self, np.ndarray candidates, ptrdiff_t *best) noexcept nogil:
        """The best items of w and of w', ties to the lower one; 0 where a score is not finite."""
        cdef const double *w = self.rule.w
        cdef const double *other = self.bench.delta
        cdef const ptrdiff_t *index = NULL
        cdef Py_ssize_t m = np.PyArray_DIM(self.items, 0), d = self.rule.n, i, j
        cdef bint floats = np.PyArray_TYPE(self.items) == np.NPY_FLOAT
        cdef double top[2]
        cdef double score[2]
        cdef int side
        if candidates is not None:
            m = np.PyArray_DIM(candidates, 0)
            index = <const ptrdiff_t *>np.PyArray_DATA(candidates)
        for j in range(m):
            i = j if index == NULL else index[j]
            if floats:
                score[0] = K.dot_f32(d, <const float *>np.PyArray_DATA(self.items) + i * d, w)
                score[1] = K.dot_f32(d, <const float *>np.PyArray_DATA(self.items) + i * d, other)
            else:
                score[0] = K.dot(d, data_of(self.items) + i * d, w)
                score[1] = K.dot(d, data_of(self.items) + i * d, other)
            for side in range(2):
                if score[side] - score[side] != 0.0:
                    return False
                if j == 0 or score[side] > top[side] or (
                        score[side] == top[side] and i < best[side]):
                    top[side], best[side] = score[side], i
        return True

    # --- learn ----------------------------------------------------------------------------------

    cdef int learn_ranking(self, x, y, better) except -1:
        cdef np.ndarray a = documents_of(x)
        cdef Py_ssize_t n = np.PyArray_DIM(a, 0)
        cdef np.ndarray shown = ranking_of(y, "y", n), wanted = ranking_of(better, "better", n)
        self.guard.begin_write()
        try:
            self.refuse_unpaired()
            self.finish(self.documents_won(a, shown, wanted))
        finally:
            self.guard.end_write()
        return 0

    cdef int learn_item(self, x, y, better) except -1:
        cdef np.ndarray c = self.candidates(x)
        cdef Py_ssize_t i, j, item
        try:
            first, second = y
        except (TypeError, ValueError):
            raise ValueError("y must be the two items that present returned") from None
        i, j, item = as_count(first, "y"), as_count(second, "y"), as_count(better, "better")
        self.guard.begin_write()
        try:
            self.refuse_unpaired()
            self.finish(self.item_won(c, i, j, item))
        finally:
            self.guard.end_write()
        return 0

    cdef int refuse_unpaired(self) except -1:
        if self.presented is None:
            raise ValueError("y must be what present returned: call present before learn")
        return 0

    cdef int finish(self, bint won) except -1:
        """The comparison is over."""
        cdef int status
        self.bench.fit(2, self.rule.n, 1)  # the comparison may come from another engine
        status = self.move_by(data_of(self.direction), won)
        if status != CF_OK:
            refuse(status, "step")
        self.hold(None, None, None)
        return 0

    cdef int move_by(self, const double *u, bint won) noexcept nogil:
        """w += move u if w' won: the step of every round."""
        cdef Py_ssize_t d = self.rule.n
        memset(self.bench.delta, 0, <size_t>d * sizeof(double))
        if won:
            K.axpy(d, self.move, u, self.bench.delta)
        return self.rule.step(self.bench.delta)

    cdef bint documents_won(self, np.ndarray a, np.ndarray shown, np.ndarray wanted) except -1:
        """Whether w' brought more of the first k documents of the feedback than w."""
        cdef Py_ssize_t n = np.PyArray_DIM(self.presented, 0), m, i
        if np.PyArray_DIM(a, 0) != n:
            raise ValueError(f"x must have the {n} documents that were presented, got "
                             f"{np.PyArray_DIM(a, 0)}")
        if np.PyArray_DIM(a, 1) != self.rule.n:
            self.refuse_dimension(np.PyArray_DIM(a, 1), "x")
        m = np.PyArray_DIM(shown, 0)
        for i in range(m):
            if (<const ptrdiff_t *>np.PyArray_DATA(shown))[i] != (
                    <const ptrdiff_t *>np.PyArray_DATA(self.presented))[i]:
                raise ValueError("y must be what present returned last, or its first places")
        self.bench.fit(n, self.rule.n, 1)
        scores_of(a, self.rule.w, self.bench.score)  # only to see that all of x is finite
        if not K.all_finite(n, self.bench.score):
            refuse_non_finite(a, "x")
            raise ValueError("x gives scores that overflow")
        return brought_most(min(np.PyArray_DIM(wanted, 0), self.k),
                            <const ptrdiff_t *>np.PyArray_DATA(wanted),
                            <const unsigned char *>np.PyArray_DATA(self.brought))

    cdef bint item_won(self, np.ndarray candidates, Py_ssize_t i, Py_ssize_t j,
                       Py_ssize_t better) except -1:
        """Whether the item of w' was preferred to another."""
        cdef const ptrdiff_t *pair = <const ptrdiff_t *>np.PyArray_DATA(self.presented)
        if i != pair[0] or j != pair[1]:
            raise ValueError(f"y must be what present returned last, [{pair[0]}, {pair[1]}]")
        if better != i and better != j:
            raise ValueError(f"better must be one of the two items {i} and {j}, got {better}")
        if candidates is not None:
            for item in (i, j):
                if not (candidates == item).any():
                    raise ValueError(f"y must be among the candidates in x, {item} is not")
        return better != i


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
