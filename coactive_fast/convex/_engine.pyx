"""The engines of online convex optimisation; see _engine.pxd."""

import contextlib
import warnings

import numpy

cimport numpy as np
from libc.math cimport fabs, isfinite
from libc.stddef cimport size_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport (
    as_number, as_vector, data_of, new_vector, refuse, refuse_non_finite,
)
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_OK, cf_get_library, cf_get_table, cf_library, cf_pad, cf_table,
)
from coactive_fast.convex._chance cimport Chance
from coactive_fast.convex._losses cimport Rows
from coactive_fast.convex._rules cimport Rule
from coactive_fast.learner._engine cimport Engine, Ticker

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    BUSY = 64       # dimension from which the GIL is let go: about a microsecond of work
    BEYOND = 1      # a round stands before a loss beyond the bound: it needs a warning
    MANY = 64       # rounds from which borrowing pays: it takes a few microseconds
    LOOK = 63       # rounds between two looks at the clock, less one; such a look takes 25 ns

ASKED = {ONE: "ask", PAIR: "ask_pair"}


cdef np.ndarray copied(Py_ssize_t n, const double *values):
    cdef np.ndarray out = new_vector(n)
    memcpy(data_of(out), values, <size_t>n * sizeof(double))
    return out


cdef np.ndarray vector_of(object value, str name, Py_ssize_t n):
    """A finite vector of n numbers."""
    cdef np.ndarray v = as_vector(value, name)
    if np.PyArray_DIM(v, 0) != n:
        raise ValueError(f"{name} must have length {n}, got {np.PyArray_DIM(v, 0)}")
    if not K.all_finite(n, data_of(v)):
        refuse_non_finite(v, name)
    return v


cdef class ConvexEngine(Engine):
    """A rule and a centre.

    Parameters
    ----------
    make : callable
        A fresh rule.
    origin : ndarray of float64
        The first centre; not written to.
    """

    def __cinit__(self):
        self.memory = NULL

    def __init__(self, make, np.ndarray origin):
        cdef Py_ssize_t padded
        self.make = make
        self.rule = make()
        self.origin = origin
        self.n = np.PyArray_DIM(origin, 0)
        padded = cf_pad(self.n)
        self.memory = <double *>L.alloc_zero(<size_t>(4 * padded), sizeof(double))
        if self.memory == NULL:
            raise MemoryError(f"4 vectors of {self.n} coordinates")
        self.y, self.y_next = self.memory, self.memory + padded
        self.v, self.x = self.memory + 2 * padded, self.memory + 3 * padded
        memcpy(self.y, data_of(origin), <size_t>self.n * sizeof(double))

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

    @property
    def lock(self):
        """The generator's, or None."""
        return None

    def state(self):
        """Everything that learning has changed."""
        self.guard.begin_read()
        try:
            return self.told()
        finally:
            self.guard.end_read()

    def told(self):
        return {"rounds": self.t, "y": copied(self.n, self.y), "pending": <int>self.pending,
                **self.rule.state()}

    def restore(self, state):
        if not isinstance(state, dict):
            raise TypeError(f"state must be a dict, got {type(state).__name__}")
        cdef Rule rule = self.make()
        try:
            rule.restore(state)
            self.guard.settle_write()
            self.take_state(state, rule)
        except KeyError as error:
            raise ValueError(f"state must hold {error}") from None

    cdef int take_state(self, dict state, Rule rule) except -1:
        """All is checked before anything changes."""
        cdef np.ndarray y = vector_of(state["y"], "y", self.n)
        rounds, pending = int(state["rounds"]), int(state["pending"])
        if rounds < 0 or pending not in (NOTHING, ONE, PAIR):
            raise ValueError("a count of the state is out of range")
        self.rule = rule
        memcpy(self.y, data_of(y), <size_t>self.n * sizeof(double))
        self.t, self.pending = rounds, pending
        return 0

    def reset(self):
        cdef Rule rule = self.make()
        self.guard.settle_write()
        self.rule = rule
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

    # --- reading ------------------------------------------------------------------------------

    @property
    def center(self):
        self.guard.settle_read()
        return copied(self.n, self.y)

    # --- rounds -------------------------------------------------------------------------------

    cdef int expect(self, Pending wanted) except -1:
        if self.pending == NOTHING:
            raise ValueError("nothing to tell: no point was asked for, call "
                             f"{ASKED[wanted]} first")
        if self.pending != wanted:
            raise ValueError(f"the pending point came from {ASKED[self.pending]}, not from "
                             f"{ASKED[wanted]}")
        return 0

    cdef int move(self, double phi, const double *v) noexcept nogil:
        """One round; a negative status has changed nothing."""
        cdef int status = self.rule.step(phi, v, <double>(self.t + 1), self.y, self.y_next)
        if status == CF_OK:
            self.y, self.y_next = self.y_next, self.y
            self.t += 1
            self.pending = NOTHING
        return status

    cdef int round(self, double phi, double loss, const double *v) noexcept nogil:
        """One round with all that goes with it."""
        return self.move(phi, v)

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

    cdef int borrow(self) except -1:
        """What makes many rounds without the GIL quicker, until `give_back`."""
        return 0

    cdef int give_back(self) except -1:
        return 0

    cdef int blame(self, int status, str what) except -1:
        error = self.rule.take_error()
        if error is not None:
            raise error
        self.judge(status, what)
        return refuse(status, f"the step that follows from {what}")

    cdef int judge(self, int status, str what) except -1:
        """Raises where more can be said than the status does."""
        return 0

    cdef int played(self, Rows losses, Py_ssize_t t, double *loss, double *m) noexcept nogil:
        """One round of a run: ask, look the loss up, tell."""
        return CF_ENONFINITE


cdef class GradientEngine(ConvexEngine):
    """Sees gradients: plays the centre itself."""

    def ask(self):
        self.guard.settle_write()
        self.pending = ONE
        return copied(self.n, self.y)

    def tell(self, gradient):
        cdef np.ndarray g = vector_of(gradient, "gradient", self.n)  # which may call Python
        self.guard.settle_write()
        self.expect(ONE)
        self.carry_out(1.0, 0.0, data_of(g), "gradient")

    cdef int played(self, Rows losses, Py_ssize_t t, double *loss, double *m) noexcept nogil:
        self.pending = ONE
        loss[0] = losses.value(t, self.y, m)
        if not (isfinite(loss[0]) and isfinite(m[0])):
            return CF_ENONFINITE
        losses.gradient(t, m[0], self.x)
        if not K.all_finite(self.n, self.x):
            return CF_ENONFINITE
        return self.move(1.0, self.x)


cdef class BanditEngine(ConvexEngine):
    """Sees losses only: plays a random point near the centre.

    Parameters
    ----------
    make, origin
        As for every engine.
    chance : Chance
        Owned from now on.
    bound : float
        On the losses: the first one beyond it draws a warning.
    baseline : bool
        The mean of all earlier losses is subtracted.
    """

    def __init__(self, make, np.ndarray origin, Chance chance, double bound, bint baseline):
        ConvexEngine.__init__(self, make, origin)
        self.chance, self.bound, self.baseline = chance, bound, baseline

    @property
    def lock(self):
        return self.chance.generator.bit_generator.lock

    def told(self):
        waiting = self.n if self.pending != NOTHING else 0
        return {**ConvexEngine.told(self), "v": copied(waiting, self.v), "mean": self.mean,
                "bound_named": bool(self.bound_named), **self.chance.state()}

    cdef int take_state(self, dict state, Rule rule) except -1:
        cdef np.ndarray v = vector_of(state["v"], "v", self.n if int(state["pending"]) else 0)
        chance = Chance.restored(state)
        mean, named = float(state["mean"]), state["bound_named"]
        if not isinstance(named, (bool, numpy.bool_)) or not isfinite(mean):
            raise ValueError("mean and bound_named of the state must be a number and a bool")
        ConvexEngine.take_state(self, state, rule)
        memcpy(self.v, data_of(v), <size_t>np.PyArray_DIM(v, 0) * sizeof(double))
        self.chance, self.mean, self.bound_named = chance, mean, named
        return 0

    def reset(self):
        chance = self.chance.fresh()
        ConvexEngine.reset(self)
        self.chance, self.mean, self.bound_named = chance, 0.0, False

    def adopt(self, ConvexEngine other, changed):
        cdef BanditEngine given = <BanditEngine?>other
        ConvexEngine.adopt(self, other, changed)
        if given.bound != self.bound:
            self.bound, self.bound_named = given.bound, False
        self.baseline = given.baseline
        if "seed" in changed:
            self.chance = given.chance

    cdef int borrow(self) except -1:
        return self.chance.borrow()

    cdef int give_back(self) except -1:
        return self.chance.give_back()

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

    def tell(self, loss):
        cdef double f = as_number(loss, "loss")
        self.guard.settle_write()
        self.expect(ONE)
        self.learn(f - self.mean if self.baseline else f, f, fabs(f))

    def tell_pair(self, plus, minus):
        cdef double a = as_number(plus, "plus"), b = as_number(minus, "minus")
        self.guard.settle_write()
        self.expect(PAIR)
        # halved first: the sum cannot overflow
        self.learn(a / 2.0 - b / 2.0, a / 2.0 + b / 2.0, max(fabs(a), fabs(b)))

    cdef int round(self, double phi, double loss, const double *v) noexcept nogil:
        # by halves, which changes no digit: the difference cannot overflow
        cdef double mean = self.mean + 2.0 * ((loss / 2.0 - self.mean / 2.0) / (self.t + 1))
        cdef int status
        if not isfinite(mean):
            return CF_ENONFINITE
        self.rule.swing = fabs(phi) if self.baseline and self.pending == ONE else 0.0
        status = self.move(phi, v)
        if status == CF_OK:
            self.mean = mean
        return status

    cdef int judge(self, int status, str what) except -1:
        if status == CF_ENONFINITE and self.largest > self.bound:
            raise ValueError(f"{what} is {self.largest:.6g}, too far beyond loss_bound="
                             f"{self.bound:g}: the learner could not go on from it")
        return 0

    cdef int learn(self, double phi, double loss, double largest) except -1:
        self.largest = largest
        if largest > self.bound and not self.bound_named:
            return self.learn_beyond(phi, loss, largest)
        return self.carry_out(phi, loss, self.v, "loss")

    cdef int learn_beyond(self, double phi, double loss, double largest) except -1:
        """The round of the first loss beyond the bound: once in a learner's life, so that a whole
        copy of the state is cheap enough to take the round back if the warning is an error."""
        before = self.state()
        self.bound_named = True
        try:
            self.learn(phi, loss, largest)
            warnings.warn(
                f"the loss {largest:.6g} is beyond loss_bound={self.bound:g}: it is used all the "
                "same, but the constants were made for losses within it", stacklevel=2)
        except BaseException:
            self.restore(before)
            raise
        return 0

    # --- a run --------------------------------------------------------------------------------

    cdef int played(self, Rows losses, Py_ssize_t t, double *loss, double *m) noexcept nogil:
        cdef int status
        self.largest = 0.0
        if self.pending == NOTHING:
            status = self.rule.draw(self.chance, self.y, self.v)
            if status != CF_OK:
                return status
        self.pending = ONE
        self.rule.reach(self.y, self.v, 1.0, self.x)
        loss[0] = losses.value(t, self.x, m)
        if not (isfinite(loss[0]) and isfinite(m[0])):
            return CF_ENONFINITE
        self.largest = fabs(loss[0])
        if self.largest > self.bound and not self.bound_named:
            return BEYOND
        return self.round(loss[0] - self.mean if self.baseline else loss[0], loss[0], self.v)


cdef class Run:
    """All rounds of a run without the GIL, but for a pause now and then.

    Parameters
    ----------
    losses : Rows
    loss : ndarray of float64
        Filled, one value a round.
    mistakes : ndarray of bool or None
    """

    def __init__(self, Rows losses, np.ndarray loss, mistakes):
        self.losses, self.loss, self.mistakes = losses, loss, mistakes
        self.total = np.PyArray_DIM(loss, 0)

    def run(self, ConvexEngine engine, report):
        """`done` tells how many rounds there were, whatever ends the run."""
        cdef Ticker ticker = Ticker(report, self.total)
        cdef int status = CF_OK
        while self.done < self.total and status == CF_OK:
            engine.guard.begin_write()  # before the generator's lock, as state() has it
            try:
                lock = engine.lock
                with contextlib.nullcontext() if lock is None else lock:
                    if self.total - self.done >= MANY:
                        engine.borrow()
                    try:
                        with nogil:
                            status = self.rounds(engine, ticker)
                    finally:
                        engine.give_back()
            finally:
                engine.guard.end_write()
            if status == BEYOND:
                self.one_beyond(engine)
                status = CF_OK
            if status == CF_OK:
                ticker.pause(self.done)
        if status != CF_OK:
            what = f"loss of round {self.done}"
            engine.judge(status, what)
            refuse(status, what)

    def one_beyond(self, BanditEngine engine):
        """The round that draws a warning, by the single calls."""
        cdef double m, loss = self.losses.value(self.done, data_of(engine.ask()), &m)
        engine.learn(loss - engine.mean if engine.baseline else loss, loss, fabs(loss))
        self.note(loss, m)

    cdef int rounds(self, ConvexEngine engine, Ticker ticker) noexcept nogil:
        """Rounds until the next pause, the end, or one that fails and changes nothing."""
        cdef double loss, m
        cdef int status
        while self.done < self.total:
            status = engine.played(self.losses, self.done, &loss, &m)
            if status != CF_OK:
                return status
            self.note(loss, m)
            if (self.done & LOOK) == 0 and ticker.due():
                break
        return CF_OK

    cdef void note(self, double loss, double m) noexcept nogil:
        data_of(self.loss)[self.done] = loss
        if self.mistakes is not None:
            (<unsigned char *>np.PyArray_DATA(self.mistakes))[self.done] = \
                self.losses.wrong(self.done, m)
        self.done += 1
