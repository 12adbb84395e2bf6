"""Engines that draw what they present: the dueling bandit, and learners from clicks.

One round is two calls. `present` draws and holds what is pending, an answer ends it; what is held
is part of the state. A present that fails winds the generator back, so nothing has changed. The
runs give the rounds of single calls.
"""

import numpy

cimport numpy as np
from libc.stddef cimport size_t
from libc.string cimport memset

from coactive_fast._arrays cimport is_plain, refuse, refuse_non_finite
from coactive_fast._table cimport CF_EVALUE, CF_OK
from coactive_fast.coactive._engine cimport (
    RANKING, Bench, CoactiveEngine, documents_of, finite_rows, indices_of, matrix_of,
)
from coactive_fast.coactive._rules cimport Matrix, Perceptron
from coactive_fast.coactive._simulate cimport RankingRun
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._engine cimport Engine
from coactive_fast.learner._state cimport State

from coactive_fast.learner._random import copied

np.import_array()

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

    cdef int draw(self, np.ndarray a) except -1:
        raise NotImplementedError

    cdef int hold(self, tuple parts) except -1:
        raise NotImplementedError

    cdef dict held(self):
        raise NotImplementedError

    cdef tuple checked(self, State pending, State state):
        raise NotImplementedError

    cdef int make_room(self, Py_ssize_t n) except -1:
        return 0

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

    cdef int fit(self, PendingEngine engine) except -1:
        """Room for the longest query; the engine is looked at anew."""
        raise NotImplementedError

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
