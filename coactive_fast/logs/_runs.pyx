"""Rounds of a log through a learner without the GIL: what it would choose, and replay."""

import numpy

cimport cython
cimport numpy as np
from libc.stddef cimport size_t
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport data_of, new_indices
from coactive_fast._table cimport CF_ENOMEM, CF_OK, cf_row
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._engine cimport Engine, Model, RowEngine, look
from coactive_fast.learner._run cimport MORE, RowRun, Run
from coactive_fast.rewards._rules cimport (
    THOMPSON, ArmEngine, BanditEngine, BanditRounds, Choice, LinearEngine, Regressions, Rule,
)
from coactive_fast.rows._rows cimport SPARSE, RowBuffer, Rows, Scratch, rows_of, write_out

np.import_array()


cdef Rows view_of(Rows rows):
    """The same rows, to be moved along a table."""
    cdef Rows view = Rows()
    view.n, view.d, view.most, view.kind = rows.n, rows.d, rows.most, rows.kind
    view.floats, view.ordered = rows.floats, rows.ordered
    view.wide, view.wide_ends = rows.wide, rows.wide_ends
    view.value, view.row_step, view.column_step = rows.value, rows.row_step, rows.column_step
    view.place, view.ends, view.held = rows.place, rows.ends, rows.held
    return view


cdef class LoggedRounds(BanditRounds):
    """Rounds of a bandit whose actions are those of a log. For a bandit of arms the row is the
    context, and the first so many arms are allowed as the round had actions.

    Parameters
    ----------
    engine : BanditEngine
    log : BanditLog
    """

    cdef Rows table            # all rows of the log: actions, or (arms) contexts
    cdef Rows contexts         # None where the bandit reads none beside its actions
    cdef RowBuffer told        # a context written out
    cdef np.ndarray offsets    # int64
    cdef Py_ssize_t most       # actions of the longest round

    def __init__(self, BanditEngine engine, log):
        self.arms = isinstance(engine, ArmEngine)
        self.offsets = log.offsets
        self.most = numpy.diff(log.offsets).max()
        self.table = rows_of(log.context, "context") if self.arms else rows_of(log.features,
                                                                             "features")
        if not self.arms and (<LinearEngine>engine).contexts:
            self.contexts, self.told = rows_of(log.context, "context"), RowBuffer()
        self.seen = view_of(self.table)
        self.scratch, self.at = Scratch(), Choice()
        self.at.arms, self.at.rows = self.arms, self.seen

    cdef int begin(self, Engine given) except -1:
        cdef BanditEngine engine = <BanditEngine>given
        if self.arms and engine.model.k < self.most:
            raise ValueError(f"log must have at most {engine.model.k} actions a round, one an arm, "
                             f"got {self.most}")
        self.at.fit(engine.model.k if self.arms else self.most)
        self.at.by.p = 0
        if self.contexts is not None:
            self.at.by.p = self.contexts.d
            self.told.fit(self.contexts.d)
        if not self.arms and (<LinearEngine>engine).contexts != self.at.by.p:
            raise ValueError("context_features of the learner was changed during the run")
        return self.at_hand(engine)

    cdef int show(self, Rows seen, Rows table, Choice at) noexcept nogil:
        """The actions of this round."""
        cdef Py_ssize_t t = self.done
        cdef const int64_t *offsets = <const int64_t *>np.PyArray_DATA(self.offsets)
        cdef Py_ssize_t count = offsets[t + 1] - offsets[t], row = t if self.arms else offsets[t]
        seen.n = 1 if self.arms else count
        if seen.kind == SPARSE:
            seen.ends = table.ends + row * (8 if table.wide_ends else 4)
        else:
            seen.value = table.value + row * table.row_step
        if not self.arms:
            at.n = count
        at.allow_first(count)
        return self.show_context(self.contexts, self.told, at) if at.by.p else CF_OK

    cdef int show_context(self, Rows contexts, RowBuffer told, Choice at) noexcept nogil:
        cdef cf_row row
        if not contexts.at(self.done, told, &row):
            return CF_ENOMEM
        write_out(&row, told)
        at.by.c = row.value
        return CF_OK

    cdef int fail(self, Engine engine, int status) except -1:
        return (<BanditEngine>engine).fail(status, f"round {self.done} of the log")


@cython.final
cdef class LawRun(LoggedRounds):
    """The probabilities of all actions, block after block of rounds.

    Parameters
    ----------
    engine : BanditEngine
        Whose generator spawns another one for thompson.
    log : BanditLog
    samples : int
        Of thompson, a round.
    """

    cdef Py_ssize_t samples, written
    cdef Chance child
    cdef np.ndarray law

    def __init__(self, BanditEngine engine, log, Py_ssize_t samples):
        LoggedRounds.__init__(self, engine, log)
        self.samples, self.child = samples, engine.chance
        if engine.rule.kind == THOMPSON:
            self.child = Chance(engine.chance.generator.spawn(1)[0])

    def fill(self, engine, Py_ssize_t until, np.ndarray law, report):
        """The rounds up to number `until`, one probability a row of theirs."""
        self.law, self.written, self.total = law, 0, until
        self.run(engine, report)

    cdef int round(self, Engine engine) noexcept nogil:
        return self.one(self.model, self.rule, self.scratch, self.at, self.child)

    cdef int one(self, Regressions model, Rule rule, Scratch s, Choice at,
                 Chance chance) noexcept nogil:
        cdef Py_ssize_t turn, count
        cdef int status = self.show(self.seen, self.table, at)
        if status == CF_OK:
            status = self.read(model, rule, s, at, chance)
        if status != CF_OK:
            return status
        if rule.kind != THOMPSON:
            rule.law(at, model.learned)
        else:
            memset(at.p, 0, <size_t>at.n * sizeof(double))
            for turn in range(self.samples):
                if turn:
                    status = rule.score(model, s, at, chance)
                if status != CF_OK:
                    return status
                at.p[at.best(at.z)] += 1.0
            rule.mix(at, self.samples)
        count = at.count  # arms beyond the round's actions are left out
        memcpy(data_of(self.law) + self.written, at.p, <size_t>count * sizeof(double))
        self.written += count
        return CF_OK


# --- replay -----------------------------------------------------------------------------------


@cython.final
cdef class Accepted:
    """The rounds that a learner has accepted so far.

    Parameters
    ----------
    chosen : ndarray of int64
    open : ndarray of bool
        Whether a round is accepted where the learner chooses what was chosen.
    """

    cdef np.ndarray chosen, open, rounds
    cdef Py_ssize_t count

    def __init__(self, np.ndarray chosen, np.ndarray open):
        self.chosen, self.open, self.count = chosen, open, 0
        self.rounds = new_indices(numpy.count_nonzero(open))

    cdef bint takes(self, Py_ssize_t t, Py_ssize_t choice) noexcept nogil:
        return ((<const int64_t *>np.PyArray_DATA(self.chosen))[t] == choice
                and (<const char *>np.PyArray_DATA(self.open))[t])

    cdef void keep(self, Py_ssize_t t) noexcept nogil:
        (<Py_ssize_t *>np.PyArray_DATA(self.rounds))[self.count] = t
        self.count += 1

    def so_far(self):
        return self.rounds[:self.count].copy()


@cython.final
cdef class BanditReplay(LoggedRounds):
    """Chooses in every round of the log, and learns in those that it accepts.

    Parameters
    ----------
    engine, log
        As for `LoggedRounds`.
    accepted : Accepted
    """

    cdef Accepted accepted
    cdef np.ndarray reward

    def __init__(self, BanditEngine engine, log, Accepted accepted):
        LoggedRounds.__init__(self, engine, log)
        self.accepted, self.reward = accepted, log.reward

    def up_to(self, engine, Py_ssize_t until, report):
        self.total = until
        self.run(engine, report)

    cdef int round(self, Engine engine) noexcept nogil:
        return self.one(self.model, self.rule, self.scratch, self.at, self.accepted)

    cdef int one(self, Regressions model, Rule rule, Scratch s, Choice at,
                 Accepted accepted) noexcept nogil:
        cdef Py_ssize_t i
        cdef int status
        if not model.has_room(s):
            return MORE
        status = self.show(self.seen, self.table, at)
        if status == CF_OK:
            status = self.read(model, rule, s, at, self.chance)
        if status != CF_OK:
            return status
        i = rule.place(at, model.learned, self.chance.bits)
        if not accepted.takes(self.done, i):
            return CF_OK
        status = self.teach(model, s, at, i, data_of(self.reward)[self.done])
        if status == CF_OK:
            accepted.keep(self.done)
        return status


@cython.final
cdef class LabelReplay(RowRun):
    """The same of a multiclass learner: the row is the context, the action its label.

    Parameters
    ----------
    engine : MulticlassEngine
    log : BanditLog
        As many actions in each round as there are labels, rewards of 0 and 1.
    accepted : Accepted
    """

    cdef Accepted accepted
    cdef np.ndarray right
    cdef Py_ssize_t k
    cdef bint draws

    def __init__(self, RowEngine engine, log, Accepted accepted):
        self.accepted, self.k = accepted, engine.model.k
        self.right = log.reward == 1.0
        self.take_rows(rows_of(log.context, "context"), 1, True)

    def up_to(self, engine, Py_ssize_t until, report):
        self.total = until
        self.run(engine, report)

    cdef int begin(self, Engine given) except -1:
        cdef RowEngine engine = <RowEngine>given
        if engine.model.k != self.k:
            raise ValueError(f"log must have {engine.model.k} actions in each round, one a class, "
                             f"got {self.k}")
        self.draws = engine.draws
        return RowRun.begin(self, engine)

    cdef int round(self, Engine engine) noexcept nogil:
        return self.one(self.model, self.scratch, self.accepted)

    cdef int one(self, Model model, Scratch s, Accepted accepted) noexcept nogil:
        cdef int status = self.read_row(model, s)
        if status == CF_OK:
            status = look(model, s)
        if status != CF_OK:
            return status
        if self.draws:
            model.draw(s)
        if not accepted.takes(self.done, s.label):
            return CF_OK
        status = model.take(s, s.label,
                            1.0 if (<const char *>np.PyArray_DATA(self.right))[self.done] else -1.0)
        if status == CF_OK:
            accepted.keep(self.done)
        return status

    cdef int fail(self, Engine engine, int status) except -1:
        return (<RowEngine>engine).fail(status, f"round {self.done} of the log")
