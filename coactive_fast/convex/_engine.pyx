"""The engines of online convex optimisation; see _engine.pxd."""

import warnings

import numpy

cimport cython
cimport numpy as np
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport NAN, fabs, isfinite, isnan
from libc.stddef cimport size_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport (
    as_number, data_of, finite_vector, is_plain_vector, new_doubles, new_vector, refuse,
)
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_OK, cf_get_library, cf_get_table, cf_library, cf_pad, cf_table,
)
from coactive_fast.convex._rules cimport Losses, Rule
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._engine cimport Engine
from coactive_fast.learner._run cimport ASIDE, Run
from coactive_fast.learner._state cimport State, opened, vector_of
from coactive_fast.rows._rows cimport written_out

from coactive_fast.convex._history import ConvexHistory
from coactive_fast.learner._check import number

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    BUSY = 64       # dimension from which the GIL is let go: about a microsecond of work
    MANY = 64       # rounds from which borrowing pays: it takes a few microseconds
    LOOK = 63       # rounds between two looks at the clock, less one; such a look takes 25 ns

SUBTRACTED = {"nothing": NONE, "mean": MEAN, "previous": PREVIOUS}
ASKED = {ONE: "ask", PAIR: "ask_pair"}


cdef class ConvexEngine(Engine):
    """A rule and a centre.

    Parameters
    ----------
    make : callable
        A fresh rule.
    origin : ndarray of float64
        The first centre; not written to.
    chance : Chance or None
        Owned from now on.
    """

    def __cinit__(self):
        self.memory = NULL

    def __init__(self, make, np.ndarray origin, Chance chance=None):
        cdef Py_ssize_t padded
        self.make, self.origin, self.chance = make, origin, chance
        self.n = np.PyArray_DIM(origin, 0)
        padded = cf_pad(self.n)
        self.memory = new_doubles(4, padded, "a learner's vectors")
        self.y, self.y_next = self.memory, self.memory + padded
        self.v, self.x = self.memory + 2 * padded, self.memory + 3 * padded
        memcpy(self.y, data_of(origin), <size_t>self.n * sizeof(double))
        self.rule = make()

    def __dealloc__(self):
        L.free(self.memory)

    # --- what every engine has ----------------------------------------------------------------

    @property
    def fresh(self):
        return self.t == 0 and self.pending == NOTHING

    @property
    def rounds(self):
        return self.t

    @property
    def compiled(self):
        """Whether a run needs no Python."""
        return self.rule.compiled

    cdef dict told(self):
        told = {"rounds": self.t, "y": vector_of(self.y, self.n), "pending": <int>self.pending,
                **self.rule.told()}
        if self.chance is not None:
            waiting = self.n if self.pending != NOTHING else 0
            told |= {"v": vector_of(self.v, waiting), **self.chance.state()}
        return told

    cdef int take_state(self, State state) except -1:
        cdef Py_ssize_t t = state.count("rounds")
        cdef Py_ssize_t pending = state.count("pending", NOTHING,
                                              ONE if self.chance is None else PAIR)
        cdef np.ndarray y = state.vector("y", self.n), v = y
        cdef Rule rule = self.make()
        cdef Chance chance = None
        rule.restore(state, t, data_of(y))
        if self.chance is not None:
            chance = Chance.restored(state.given)
            v = state.vector("v", self.n if pending else 0)
        self.guard.settle_write()  # from here on no Python is called but where it is refused
        rule.look_at(state, data_of(y), data_of(v) if pending else NULL, self.x, self.y_next)
        self.rule, self.chance = rule, chance
        memcpy(self.y, data_of(y), <size_t>self.n * sizeof(double))
        memcpy(self.v, data_of(v), <size_t>np.PyArray_DIM(v, 0) * sizeof(double))
        self.t, self.pending = t, <Pending>pending
        return 0

    def reset(self):
        cdef Rule rule = self.make()
        cdef Chance chance = None if self.chance is None else self.chance.fresh()
        self.guard.settle_write()
        self.rule, self.chance = rule, chance
        memcpy(self.y, data_of(self.origin), <size_t>self.n * sizeof(double))
        self.t, self.pending = 0, NOTHING

    def adopt(self, ConvexEngine other, changed):
        """The settings of another engine of this kind; the state stays."""
        names = ", ".join(changed)
        self.guard.settle_write()
        if other.rule.gamma != self.rule.gamma:
            raise ValueError(f"{names}: gamma would change, and with it the set that the centre "
                             "lies in: call reset() before that")
        if other.rule.delta != self.rule.delta and self.pending != NOTHING:
            raise ValueError(f"{names}: delta would change under the point that was asked for: "
                             "tell its loss before that")
        self.make = other.make
        self.rule.adopt(other.rule)
        if "seed" in changed:
            self.chance = other.chance

    # --- reading ------------------------------------------------------------------------------

    @property
    def center(self):
        self.guard.settle_read()
        return vector_of(self.y, self.n)

    # --- rounds -------------------------------------------------------------------------------

    cdef int expect(self, Pending wanted) except -1:
        if self.pending == NOTHING:
            raise ValueError("nothing to tell: no point was asked for, call "
                             f"{ASKED[wanted]} first")
        if self.pending != wanted:
            raise ValueError(f"the pending point came from {ASKED[self.pending]}, not from "
                             f"{ASKED[wanted]}")
        return 0

    cdef void commit(self) noexcept nogil:
        self.y, self.y_next = self.y_next, self.y
        self.t += 1
        self.pending = NOTHING

    cdef int round(self, double phi, double loss, const double *v) noexcept nogil:
        cdef int status = self.rule.step(phi, v, <double>(self.t + 1), self.y, self.y_next)
        if status == CF_OK:
            self.commit()
        return status

    cdef int carry_out(self, double phi, double loss, const double *v, str what) except -1:
        """`round` under the lock: large ones let the GIL go, a set of one's own calls Python."""
        cdef int status
        if self.n < BUSY and self.rule.compiled:
            status = self.round(phi, loss, v)
        else:
            self.guard.begin_write()
            with nogil:
                status = self.round(phi, loss, v)
            self.guard.end_write()
        return 0 if status == CF_OK else self.blame(status, what)

    cdef int blame(self, int status, str what) except -1:
        error = self.rule.take_error()
        if error is not None:
            raise error
        self.judge(status, what)
        return refuse(status, f"the step that follows from {what}")

    cdef int judge(self, int status, str what) except -1:
        """Raises where more can be said than the status does."""
        return 0

    cdef int played(self, Losses losses, Py_ssize_t i, double *loss, double *m) noexcept nogil:
        return CF_ENONFINITE

    cdef object seen(self, losses, Py_ssize_t t, x, double loss):
        return loss


@cython.final
cdef class GradientEngine(ConvexEngine):
    """Sees gradients: plays the centre itself."""

    def ask(self):
        self.guard.settle_write()
        self.pending = ONE
        return vector_of(self.y, self.n)

    def tell(self, gradient):
        # which may call Python
        cdef np.ndarray g = finite_vector(
            gradient if is_plain_vector(gradient) else written_out(gradient, "gradient", self.n),
            "gradient", self.n, "the dimension")
        self.guard.settle_write()
        self.expect(ONE)
        self.carry_out(1.0, 0.0, data_of(g), "gradient")

    cdef int played(self, Losses losses, Py_ssize_t i, double *loss, double *m) noexcept nogil:
        self.pending = ONE
        loss[0] = losses.value(i, self.y, m)
        if not (isfinite(loss[0]) and isfinite(m[0])):
            return CF_ENONFINITE
        losses.gradient(i, m[0], self.x)
        if not K.all_finite(self.n, self.x):
            return CF_ENONFINITE
        return self.round(1.0, 0.0, self.x)

    cdef object seen(self, losses, Py_ssize_t t, x, double loss):
        return losses.gradient(t, x)


@cython.final
cdef class BanditEngine(ConvexEngine):
    """Sees losses only: plays a random point near the centre.

    Parameters
    ----------
    make, origin, chance
        As for every engine.
    bound : float
        On the losses: the first one beyond it draws a warning.
    subtracted : {"nothing", "mean", "previous"}
        What is subtracted from a loss: the mean of all before it, or the one before it.
    """

    def __init__(self, make, np.ndarray origin, Chance chance, double bound, str subtracted):
        ConvexEngine.__init__(self, make, origin, chance)
        self.bound, self.subtracted = bound, SUBTRACTED[subtracted]
        self.previous = NAN

    cdef dict told(self):
        found = {**ConvexEngine.told(self), "mean": self.mean,
                 "bound_named": bool(self.bound_named)}
        if self.subtracted == PREVIOUS and not isnan(self.previous):
            found["previous"] = self.previous
        return found

    cdef int take_state(self, State state) except -1:
        cdef double mean = state.number("mean")
        cdef bint named = state.flag("bound_named")
        cdef double previous = NAN
        if self.subtracted == PREVIOUS and state.has("previous"):
            previous = state.number("previous")
        ConvexEngine.take_state(self, state)
        self.mean, self.bound_named, self.previous = mean, named, previous
        return 0

    def reset(self):
        ConvexEngine.reset(self)
        self.mean, self.bound_named, self.previous = 0.0, False, NAN

    def adopt(self, ConvexEngine other, changed):
        cdef BanditEngine given = <BanditEngine?>other
        ConvexEngine.adopt(self, other, changed)
        if given.bound != self.bound:
            self.bound, self.bound_named = given.bound, False
        if given.subtracted != self.subtracted:
            self.subtracted, self.previous = given.subtracted, NAN

    # --- asking -------------------------------------------------------------------------------

    cdef int pend(self, Pending kind) except -1:
        """A direction for this round, the same one until it is told."""
        cdef int status = CF_OK
        self.guard.settle_write()
        if self.pending == NOTHING:
            if self.rule.compiled:
                status = self.rule.draw(self.chance, self.y, self.v)
            else:  # its Python may let others in
                self.guard.begin_write()
                status = self.rule.draw(self.chance, self.y, self.v)
                self.guard.end_write()
            if status != CF_OK:
                ConvexEngine.blame(self, status, "feasible.direction()")
        self.pending = kind
        return 0

    cdef np.ndarray point(self, double sign):
        cdef np.ndarray x = new_vector(self.n)
        self.rule.reach(self.y, self.v, sign, data_of(x))
        return x

    def ask(self):
        self.pend(ONE)
        return self.point(1.0)

    def ask_pair(self):
        self.pend(PAIR)
        return self.point(1.0), self.point(-1.0)

    # --- telling ------------------------------------------------------------------------------

    cdef double excess(self, double loss) noexcept nogil:
        """What of a loss the step sees."""
        if self.subtracted == MEAN:
            return loss - self.mean
        if self.subtracted == PREVIOUS:
            return 0.0 if isnan(self.previous) else loss - self.previous
        return loss

    def tell(self, loss):
        cdef double f = as_number(loss, "loss")
        self.learn(ONE, f, f)

    def tell_pair(self, plus, minus):
        cdef double a = as_number(plus, "plus"), b = as_number(minus, "minus")
        self.learn(PAIR, a, b)

    cdef int learn(self, Pending asked, double plus, double minus) except -1:
        cdef double phi, loss
        while True:
            self.guard.settle_write()
            self.expect(asked)
            if asked == ONE:
                phi, loss = self.excess(plus), plus
            else:  # halved first: the sum cannot overflow
                phi, loss = plus / 2.0 - minus / 2.0, plus / 2.0 + minus / 2.0
            self.largest = max(fabs(plus), fabs(minus))
            if self.largest <= self.bound or self.bound_named:
                return self.carry_out(phi, loss, self.v, "loss")
            self.warn_beyond(phi, loss)  # which may let others in

    cdef int attempt(self, Rule rule, double phi, double loss, double *mean) noexcept nogil:
        """The round of a rule: y_next and the mean after it, which are left to `round`."""
        # by halves, which changes no digit: the difference cannot overflow
        mean[0] = self.mean + 2.0 * ((loss / 2.0 - self.mean / 2.0) / (self.t + 1))
        if not isfinite(mean[0]):
            return CF_ENONFINITE
        rule.swing = fabs(phi) if self.subtracted == MEAN and self.pending == ONE else 0.0
        return rule.step(phi, self.v, <double>(self.t + 1), self.y, self.y_next)

    cdef int round(self, double phi, double loss, const double *v) noexcept nogil:
        cdef double mean
        cdef int status = self.attempt(self.rule, phi, loss, &mean)
        if status == CF_OK:
            self.mean = mean
            if self.subtracted == PREVIOUS:
                self.previous = loss
            self.commit()
        return status

    cdef int judge(self, int status, str what) except -1:
        if status == CF_ENONFINITE and self.largest > self.bound:
            raise ValueError(f"{what} is {self.largest:.6g}, too far beyond loss_bound="
                             f"{self.bound:g}: the learner could not go on from it")
        return 0

    cdef int warn_beyond(self, double phi, double loss) except -1:
        """Before the round of the first loss beyond the bound, once in a learner's life: a copy of
        the rule tries it, so that one that is refused draws no warning, and nothing has changed
        if the warning is an error."""
        cdef double mean, largest = self.largest
        cdef Rule copy
        cdef int status
        self.guard.begin_write()
        try:
            copy = self.make()
            copy.restore(opened(self.rule.told()), self.t, self.y)
            with nogil:
                status = self.attempt(copy, phi, loss, &mean)
        finally:
            self.guard.end_write()
        if status != CF_OK:
            self.blame(status, "loss")
        warnings.warn(
            f"the loss {largest:.6g} is beyond loss_bound={self.bound:g}: it is used all the "
            "same, but the constants were made for losses within it", stacklevel=2)
        self.bound_named = True
        return 0

    # --- a run --------------------------------------------------------------------------------

    cdef int played(self, Losses losses, Py_ssize_t i, double *loss, double *m) noexcept nogil:
        cdef int status
        self.largest = 0.0
        if self.pending == NOTHING:
            status = self.rule.draw(self.chance, self.y, self.v)
            if status != CF_OK:
                return status
        self.pending = ONE
        self.rule.reach(self.y, self.v, 1.0, self.x)
        loss[0] = losses.value(i, self.x, m)
        if not (isfinite(loss[0]) and isfinite(m[0])):
            return CF_ENONFINITE
        self.largest = fabs(loss[0])
        if self.largest > self.bound and not self.bound_named:
            return ASIDE
        return self.round(self.excess(loss[0]), loss[0], self.v)


@cython.final
cdef class ConvexRun(Run):
    """A run; without the GIL where the losses and the sets are this package's.

    Parameters
    ----------
    losses : object or callable
        What ``mistake`` and ``gradient`` are asked of, and ``scaling``.
    value : callable (t, x) -> float
    rows : Losses or None
        The losses where no Python is called, of them or of sets.
    rounds : int
    classifies : bool
        Whether there are mistakes.
    """

    def __init__(self, losses, value, Losses rows, Py_ssize_t rounds, bint classifies):
        self.losses, self.value, self.rows = losses, value, rows
        self.loss = numpy.empty(rounds)
        self.mistakes = numpy.empty(rounds, dtype=bool) if classifies else None
        self.total, self.mask = rounds, LOOK

    def history(self):
        mistakes = None if self.mistakes is None else (<object>self.mistakes)[:self.done]
        return ConvexHistory((<object>self.loss)[:self.done], mistakes,
                             getattr(self.losses, "scaling", None))

    def run(self, Engine engine, report):
        if self.rows is not None:
            Run.run(self, engine, report)
        else:
            self.by_calls(engine, report)

    def by_calls(self, ConvexEngine engine, report):
        """The loop of single calls, for losses or sets of one's own."""
        cdef Py_ssize_t t
        while self.done < self.total:
            t = self.done
            x = engine.ask()
            loss = number("loss", self.value(t, x))
            data_of(self.loss)[t] = loss
            if self.mistakes is not None:
                (<object>self.mistakes)[t] = self.losses.mistake(t, x)
            engine.tell(engine.seen(self.losses, t, x, loss))
            self.done += 1
            PyErr_CheckSignals()
            if report is not None:
                report(self.done, self.total)

    # --- without the GIL ----------------------------------------------------------------------

    cdef object lock(self, Engine engine):
        return None if engine.chance is None else engine.chance.generator.bit_generator.lock

    cdef int begin(self, Engine engine) except -1:
        if engine.chance is not None and self.total - self.done >= MANY:
            engine.chance.borrow()
        return 0

    cdef int end(self, Engine engine, int status) except -1:
        return 0 if engine.chance is None else engine.chance.give_back()

    cdef int several(self, Engine engine, Py_ssize_t until) noexcept nogil:
        cdef double loss, m
        cdef Py_ssize_t i
        cdef int status
        while self.done < until:
            i = self.done % self.rows.n
            status = (<ConvexEngine>engine).played(self.rows, i, &loss, &m)
            if status != CF_OK:
                return status
            self.note(i, loss, m)
            self.done += 1
        return CF_OK

    cdef void note(self, Py_ssize_t i, double loss, double m) noexcept nogil:
        data_of(self.loss)[self.done] = loss
        if self.mistakes is not None:
            (<unsigned char *>np.PyArray_DATA(self.mistakes))[self.done] = \
                self.rows.wrong(i, m)

    cdef int aside(self, Engine engine) except -1:
        """The round that draws a warning, by the single calls."""
        cdef np.ndarray x = (<object>engine).ask()
        cdef Py_ssize_t i = self.done % self.rows.n
        cdef double m, loss = self.rows.value(i, data_of(x), &m)
        (<object>engine).tell(loss)
        self.note(i, loss, m)
        self.done += 1
        return 0

    cdef int fail(self, Engine engine, int status) except -1:
        what = f"loss of round {self.done}"
        (<ConvexEngine>engine).judge(status, what)
        return refuse(status, what)
