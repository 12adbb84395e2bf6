"""The engine of a filter, and whole streams through it; see _engine.pxd."""

import copy

import numpy

cimport numpy as np
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from coactive_fast._arrays cimport (
    as_flag, as_number, as_vector, data_of, new_vector, refuse, refuse_non_finite,
)
from coactive_fast._table cimport CF_ENOMEM, CF_OK, cf_get_table, cf_row, cf_table
from coactive_fast.filtering._fit cimport Fit
from coactive_fast.filtering._policy cimport COIN, Tally
from coactive_fast.learner._engine cimport BUSY, Engine, look
from coactive_fast.learner._run cimport MORE, RowRun
from coactive_fast.learner._state cimport State
from coactive_fast.metric._single cimport Single
from coactive_fast.rows._rows cimport RowBuffer, rows_of

from coactive_fast.filtering._history import history_of

np.import_array()

cdef const cf_table *K = cf_get_table()

cdef enum:
    AHEAD = 48       # rows looked at ahead, at the most


cdef class FilterEngine(RowEngine):
    """A filter. All calls hold the lock from their first look at the model to their last.

    Parameters
    ----------
    make : callable
        Gives a fresh model of one answer.
    rule : Rule
    chance : Chance or None
        For the coin.
    calibrate : bool
        Whether the margins of what is learned are kept, with the labels.
    """

    def __init__(self, make, Rule rule, Chance chance=None, bint calibrate=False):
        RowEngine.__init__(self, make, chance)
        self.rule, self.fit = rule, Fit() if calibrate else None

    # --- what every engine has ----------------------------------------------------------------

    @property
    def fresh(self):
        return self.tally.rounds == 0 and self.model.learned == 0

    @property
    def rounds(self):
        return self.tally.rounds

    cdef dict told(self):
        told = {**self.rule.told(&self.tally), "model": self.model.told()}
        if self.chance is not None:
            told["chance"] = self.chance.state()
        if self.fit is not None:
            told["fit"] = self.fit.told()
        return told

    cdef int take_state(self, State state) except -1:
        cdef Model model = self.new_model()
        cdef Chance chance = self.chance_of(state)
        cdef Fit fit = None
        cdef Tally tally
        model.restore(state.part("model"))
        self.rule.read(state, model.learned, &tally)
        if self.fit is not None:
            fit = Fit.restored(state.part("fit"), model.learned)
        self.guard.settle_write()
        self.begin(model, chance)
        self.tally, self.fit = tally, fit
        return 0

    cdef Chance chance_of(self, State state):
        cdef State told
        if self.chance is None:
            return None
        told = state.part("chance")
        return Chance.restored({"seed": told.get("seed"), "rng": told.get("rng")})

    cdef void begin(self, Model model, Chance chance) noexcept:
        RowEngine.begin(self, model, chance)
        memset(&self.tally, 0, sizeof(Tally))
        if self.fit is not None:
            self.fit.clear()

    def adopt(self, FilterEngine other, changed):
        RowEngine.adopt(self, other, changed)
        self.rule = other.rule

    # --- the calls ----------------------------------------------------------------------------

    cdef double read_row(self, Scratch s) except? -1.0:
        """m / (1 + q), with the lock held."""
        cdef bint known = s.knows(&s.row, self.model.learned, self.stamp)
        cdef int status = CF_OK
        self.ready(s, False)
        if not known or s.known_round != self.model.learned:  # its room may have grown
            s.forget()
            if self.model.cost(s.row.nnz) < BUSY:
                status = self.model.read(s)
            else:
                with nogil:
                    status = self.model.read(s)
        if status != CF_OK:
            self.fail(status, "x")
        return s.m[0] / (1.0 + s.q[0])

    def margin(self, x):
        """m / (1 + q): what the threshold is compared with. Changes nothing."""
        cdef Scratch s = self.borrow()
        try:
            self.take_row(x, s)
            self.guard.begin_read()
            try:
                return self.read_row(s)
            finally:
                self.guard.end_read()
        finally:
            self.give_back(s)

    def probability(self, x):
        """How probable it is that x is relevant. The fit is brought up to date first, for which
        the object is locked."""
        cdef Scratch s
        if self.fit is None:
            return min(max((1.0 + self.margin(x)) / 2.0, 0.0), 1.0)
        s = self.borrow()
        try:
            self.take_row(x, s)
            self.guard.begin_write()
            try:
                self.fit.refresh()
                return self.fit.at(self.read_row(s))
            finally:
                self.guard.end_write()
        finally:
            self.give_back(s)

    def margins(self, X):
        """The margins of all rows of X, of one state of the filter; signals are looked at."""
        cdef Rows rows = rows_of(X, "X")
        cdef Scratch s = Scratch()
        cdef np.ndarray out = new_vector(rows.n)
        cdef Single model
        cdef Py_ssize_t t = 0, done
        cdef int status = CF_OK
        self.guard.begin_read()
        try:
            model = self.model
            self.width(rows.d, "X")
            s.expect(rows)
            model.fit(s)
            model.fit_many(s)
            while t < rows.n and status == CF_OK:
                with nogil:
                    done = model.read_many(rows, t, s, data_of(out) + t, &status)
                t += done
                PyErr_CheckSignals()
        finally:
            self.guard.end_read()
        if status != CF_OK:
            self.fail(status, f"row {t} of X")
        return out

    def forward(self, x):
        """Whether x is forwarded; counts the round."""
        cdef Scratch s = self.borrow()
        cdef bint unknown, forwarded
        try:
            self.take_row(x, s)
            self.guard.begin_write()
            try:
                unknown = self.model.d == 0
                try:
                    self.ready(s, True)
                    self.look_at_row(s)
                    s.remember(&s.row, self.model.learned, self.stamp)
                except BaseException:
                    if unknown:
                        self.model = self.new_model()
                    raise
                forwarded = self.rule.decide(self.model, &self.tally, s.bits, s.m[0], s.q[0])
                self.tally.rounds += 1
                return forwarded
            finally:
                self.guard.end_write()
        finally:
            self.give_back(s)

    cdef int look_at_row(self, Scratch s) except -1:
        cdef int status
        self.scratch.forget()  # a look leaves in the model what the last one left there
        if self.model.cost(s.row.nnz) < BUSY:
            status = look(self.model, s)
        else:
            with nogil:
                status = look(self.model, s)
        return 0 if status == CF_OK else self.fail(status, "x")

    def learn(self, x, relevant):
        """Takes in the label of x."""
        cdef double y = 1.0 if as_flag(relevant, "relevant") else -1.0
        cdef Scratch s = self.borrow()
        cdef bint unknown
        try:
            self.take_row(x, s)
            self.guard.begin_write()
            try:
                unknown = self.model.d == 0
                try:
                    self.take_label(s, y)
                except BaseException:
                    if unknown:
                        self.model = self.new_model()
                    raise
            finally:
                self.guard.end_write()
        finally:
            self.give_back(s)

    cdef int take_label(self, Scratch s, double y) except -1:
        """The step by one example, with the work of `forward` where that was the same x."""
        cdef bint known = s.knows(&s.row, self.model.learned, self.stamp)
        cdef int status
        self.ready(s, True)
        if not known or s.known_round != self.model.learned:  # its room may have grown
            self.look_at_row(s)
        self.scratch.forget()
        if not self.has_room(s):
            self.make_room(s)
        if self.model.cost(s.row.nnz) < BUSY:
            status = self.take(s, y)
        else:
            with nogil:
                status = self.take(s, y)
        return 0 if status == CF_OK else self.fail(status, "x")

    cdef int make_room(self, Scratch s) except -1:
        if self.fit is not None:
            self.fit.make_room()
        return self.model.make_room(s)

    @property
    def threshold(self):
        self.guard.settle_read()
        return self.rule.limit(self.model, &self.tally)

    @property
    def approximation_error(self):
        self.guard.settle_read()
        return (<Single?>self.model).left_out()


cdef class TastingEngine(FilterEngine):
    """Chance and counts around a classifier of one's own.

    Parameters
    ----------
    given : object
        Has ``margin(x)`` and ``learn(x, relevant)``; a copy of it learns.
    rule : Rule
    chance : Chance
    compiled : bool
        Whether both are those of this package's filters.
    """

    def __init__(self, given, Rule rule, Chance chance, bint compiled):
        FilterEngine.__init__(self, Model, rule, chance)
        self.given, self.classifier, self.compiled = given, copy.deepcopy(given), compiled

    cdef dict told(self):
        return {"rounds": self.tally.rounds, "learned": self.model.learned,
                "chance": self.chance.state(), "classifier": copy.deepcopy(self.classifier)}

    cdef int take_state(self, State state) except -1:
        cdef Model model = self.new_model()
        cdef Chance chance = self.chance_of(state)
        cdef int64_t rounds = state.count("rounds")
        model.learned = state.count("learned")
        classifier = copy.deepcopy(state.get("classifier"))
        if type(classifier) is not type(self.given):
            raise TypeError("classifier of the state must be of the type of the one given, "
                            f"{type(self.given).__name__}")
        self.guard.settle_write()
        self.begin(model, chance)
        self.tally.rounds, self.classifier = rounds, classifier
        return 0

    def reset(self):
        cdef Model model = self.new_model()
        cdef Chance chance = self.chance.fresh()
        classifier = copy.deepcopy(self.given)
        self.guard.settle_write()
        self.begin(model, chance)
        self.classifier = classifier

    cdef FilterEngine inner(self):
        """The classifier's engine, where a stream can run through it without Python."""
        engine = getattr(self.classifier, "_engine", None)
        return <FilterEngine>engine if self.compiled and type(engine) is FilterEngine else None

    # --- parts of a round, with the lock held ---------------------------------------------------

    cdef double ask(self, object x) except? -1.0:
        return as_number(self.classifier.margin(x), "the margin of classifier")

    cdef bint toss(self, double margin) except -1:
        return self.rule.decide(self.model, &self.tally, self.chance.bits, margin, 0.0)

    cdef int teach(self, object x, bint relevant) except -1:
        self.classifier.learn(x, True if relevant else False)
        self.model.learned += 1
        return 0

    # --- the calls ----------------------------------------------------------------------------

    def margin(self, x):
        """The classifier's margin of x."""
        self.guard.begin_read()
        try:
            return self.ask(x)
        finally:
            self.guard.end_read()

    def forward(self, x):
        """Whether x is forwarded; counts the round."""
        cdef bint forwarded
        self.guard.begin_write()
        try:
            forwarded = self.toss(self.ask(x))
            self.tally.rounds += 1
            return forwarded
        finally:
            self.guard.end_write()

    def learn(self, x, relevant):
        """Lets the classifier learn the label of x."""
        cdef bint label = as_flag(relevant, "relevant")
        self.guard.begin_write()
        try:
            self.teach(x, label)
        finally:
            self.guard.end_write()


# --- whole streams ----------------------------------------------------------------------------


cdef class Stream:
    """Checked rows.

    Parameters
    ----------
    X : array_like or scipy.sparse matrix of shape (T, d)
    name : str
        What they are called where they are refused.
    """

    def __init__(self, X, str name="X"):
        self.rows, self.given = rows_of(X, name), X

    def __len__(self):
        return self.rows.n

    @property
    def d(self):
        return self.rows.d

    def products(self, u):
        """u.x of every row."""
        cdef np.ndarray v = as_vector(u, "u"), out = new_vector(self.rows.n)
        cdef RowBuffer buffer = RowBuffer()
        cdef cf_row x
        cdef Py_ssize_t t
        if np.PyArray_DIM(v, 0) != self.rows.d:
            raise ValueError(f"u must have length {self.rows.d} to go with X, got "
                             f"{np.PyArray_DIM(v, 0)}")
        refuse_non_finite(v, "u")
        buffer.fit(self.rows.most)
        with nogil:
            for t in range(self.rows.n):
                self.rows.at(t, buffer, &x)
                data_of(out)[t] = K.ridge_dot(&x, data_of(v))
        if not K.all_finite(self.rows.n, data_of(out)):
            raise ValueError("u is too large: u.x overflows")
        return out


cdef class FilterRun(RowRun):
    """One stream for one filter: what was decided, and how far it is.

    Parameters
    ----------
    stream : Stream
    relevant : ndarray of bool
    full : bool
        Whether every label is learned.
    projection : ndarray, optional
        u.x of each row, where the true rule is known.
    teaching : bool
        Whether the rows are learned, every one, without rounds.
    """

    def __init__(self, Stream stream, relevant, bint full, projection=None, bint teaching=False):
        self.stream, self.projection, self.teaching = stream, projection, teaching
        self.full = full or teaching
        self.relevant = numpy.ascontiguousarray(relevant).view(numpy.uint8)
        self.take_rows(stream.rows, 1, False)
        self.forwarded = numpy.zeros(self.total, dtype=numpy.uint8)
        self.margins = numpy.zeros(self.total)

    def admit(self, FilterEngine engine):
        """Refuses, as a whole, rows that the filter cannot take."""
        cdef FilterEngine target = self.target_of(engine)
        if target is not None and self.total:
            target.guard.settle_read()
            target.width(self.stream.rows.d, "X")

    def history(self):
        return history_of(self.forwarded[:self.done].astype(bool), self.margins[:self.done],
                          self.relevant[:self.done].astype(bool), self.projection)

    cdef FilterEngine target_of(self, FilterEngine engine):
        return (<TastingEngine>engine).inner() if isinstance(engine, TastingEngine) else engine

    cdef object lock(self, Engine engine):
        if (<FilterEngine>engine).rule.kind == COIN:
            return engine.chance.generator.bit_generator.lock
        return None

    cdef int begin(self, Engine given) except -1:
        """The lock of a classifier's own engine comes last."""
        cdef FilterEngine engine = <FilterEngine>given, target = self.target_of(engine)
        self.base = self.ready = self.mask = 0
        if engine.rule.kind == COIN:
            self.before, self.tosses = engine.chance.generator.bit_generator.state, 0
        self.target = target
        if target is None:
            if self.table is None:
                X = self.stream.given
                self.table = X.tocsr() if hasattr(X, "tocsr") else numpy.asarray(X)
            return 0
        if target is not engine:
            target.guard.begin_write()
        try:
            self.unknown = self.unknown or target.model.d == 0
            self.at_hand(target)
            self.scratch.bits = NULL if engine.chance is None else engine.chance.bits
            target.scratch.forget()
        except BaseException:
            self.end(engine, MORE)
            raise
        return 0

    cdef int end(self, Engine engine, int status) except -1:
        """Of a round that is not over nothing stays: neither its draw nor, where it would have been
        the first, the number of features."""
        cdef FilterEngine target = self.target
        cdef Py_ssize_t i
        try:
            if self.tossed:
                engine.chance.generator.bit_generator.state = self.before
                for i in range(self.tosses):
                    engine.chance.bits.next_double(engine.chance.bits.state)
                self.tossed = False
            if (status != CF_OK and target is not None and self.unknown and self.done == 0
                    and target.model.learned == 0):
                target.model = target.new_model()
        finally:
            if target is not None and target is not engine:
                target.guard.end_write()
        return 0

    cdef int round(self, Engine engine) noexcept nogil:
        return self.one(<FilterEngine>engine, self.scratch)

    cdef int one(self, FilterEngine engine, Scratch s) noexcept nogil:
        cdef Py_ssize_t t = self.done
        cdef int status = CF_OK
        if self.target is None:
            self.over = not self.over
            return MORE if self.over else CF_OK
        if not self.decided:
            status = self.decide(engine, s, t)
        if status == CF_OK and (self.full
                                or (<uint8_t *>np.PyArray_DATA(self.forwarded))[t]):
            if not self.target.has_room(s):
                return MORE
            status = self.target.take(
                s, 1.0 if (<uint8_t *>np.PyArray_DATA(self.relevant))[t] else -1.0)
            if status == CF_OK and self.target is not engine:
                engine.model.learned += 1
        if status == CF_OK:
            self.count(engine)
        self.decided = False
        return status

    cdef void count(self, FilterEngine engine) noexcept nogil:
        """The round is over. Nothing that may fail comes behind this."""
        engine.tally.rounds += not self.teaching
        self.tosses += self.tossed
        self.tossed = False

    cdef int decide(self, FilterEngine engine, Scratch s, Py_ssize_t t) noexcept nogil:
        """The round up to its decision."""
        cdef int status
        if t >= self.base + self.ready:
            self.base = t
            self.ready = self.model.ahead(self.rows, t, min(<Py_ssize_t>AHEAD, self.total - t), s)
        if not self.rows.at(t, s.buffer, &s.row):
            return CF_ENOMEM
        status = self.model.look_ahead(s, t - self.base)
        if status != CF_OK:
            return status
        data_of(self.margins)[t] = s.m[0] / (1.0 + s.q[0])
        if not self.teaching:
            self.tossed = engine.rule.tosses(s.m[0], s.q[0])
            (<uint8_t *>np.PyArray_DATA(self.forwarded))[t] = engine.rule.decide(
                self.model, &engine.tally, s.bits, s.m[0], s.q[0])
        self.decided = True
        return CF_OK

    cdef int supply(self, Engine engine) except -1:
        if self.target is None:
            return self.call(<TastingEngine>engine)
        return self.target.make_room(self.scratch)

    cdef int call(self, TastingEngine engine) except -1:
        """A round of a classifier that is Python's."""
        cdef Py_ssize_t t = self.done
        x = self.table[t] if isinstance(self.table, numpy.ndarray) else self.table[t:t + 1]
        self.over = False  # until it is: an error leaves the round undone
        if not self.teaching:
            data_of(self.margins)[t] = engine.ask(x)
            self.tossed = engine.rule.tosses(data_of(self.margins)[t], 0.0)
            self.forwarded[t] = engine.toss(data_of(self.margins)[t])
        if self.full or self.forwarded[t]:
            engine.teach(x, self.relevant[t])
        self.count(engine)
        self.over = True
        return 0

    cdef int fail(self, Engine engine, int status) except -1:
        self.model.raise_error(status)
        return self.target.fail(status, f"x = X[{self.done}]")


cdef class TopicsRun(RowRun):
    """One stream for all topics, whose filters learn every row: one factor serves them.

    Parameters
    ----------
    stream : Stream
    relevant : ndarray of bool, shape (T, topics)
    model : TopicRidge
        That of these topics; it learns.
    tau : float
        The threshold.
    """

    def __init__(self, Stream stream, relevant, TopicRidge model, double tau):
        self.take_rows(stream.rows, 1, False)
        self.relevant = numpy.ascontiguousarray(relevant).view(numpy.uint8)
        self.margins = numpy.zeros(relevant.shape)
        self.topics, self.tau = model, tau

    def histories(self):
        """Those of all topics."""
        margins, relevant = self.margins[:self.done], self.relevant[:self.done].astype(bool)
        return [history_of(margins[:, k] >= self.tau, margins[:, k].copy(), relevant[:, k])
                for k in range(margins.shape[1])]

    def alone(self, report):
        """All rounds; the model is this run's own."""
        self.run(RowEngine(lambda: self.topics), report)

    cdef int round(self, Engine engine) noexcept nogil:
        return self.one(self.topics, self.scratch)

    cdef int one(self, TopicRidge model, Scratch s) noexcept nogil:
        cdef Py_ssize_t t = self.done, topics = model.topics
        cdef int status
        if not self.decided:
            if t >= self.base + self.ready:
                self.base = t
                self.ready = model.ahead(self.rows, t, min(<Py_ssize_t>AHEAD, self.total - t), s)
            if not self.rows.at(t, s.buffer, &s.row):
                return CF_ENOMEM
            status = model.look_ahead(s, t - self.base)
            if status == CF_OK:
                status = model.margins(s.q[0], data_of(self.margins) + t * topics)
            if status != CF_OK:
                return status
            self.decided = True
        if not model.has_room(s):
            return MORE
        self.decided = False
        return model.take_all(s, <const uint8_t *>np.PyArray_DATA(self.relevant) + t * topics)

    cdef int fail(self, Engine engine, int status) except -1:
        self.topics.raise_error(status)
        return refuse(status, f"x = X[{self.done}]")
