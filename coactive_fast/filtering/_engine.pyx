"""The engine of a filter; see _engine.pxd."""

import numpy

cimport numpy as np
from libc.math cimport INFINITY, sqrt
from libc.stddef cimport size_t
from libc.string cimport memcmp, memcpy

from coactive_fast._arrays cimport refuse, take_scratch
from coactive_fast._table cimport CF_OK, cf_get_library, cf_get_table, cf_library, cf_table
from coactive_fast.learner._rows cimport place_of, row_of

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

RULES = {"falling": FALLING, "ucb": UPPER, "sign": SIGN, "coin": COIN}


cdef class Bench:
    def __cinit__(self):
        self.buffer = RowBuffer()
        self.forms = Forms()

    def __dealloc__(self):
        L.free(self.scratch)

    cdef double *fit(self, Py_ssize_t doubles) except? NULL:
        """Scratch of at least so many doubles."""
        if self.room < doubles:
            block = take_scratch(doubles + doubles // 4, sizeof(double))
            L.free(self.scratch)
            self.scratch, self.room = <double *>block, doubles + doubles // 4
        return self.scratch


cdef class FilterEngine(Engine):
    """A filter.

    Parameters
    ----------
    make : callable
        Gives a fresh `Model`.
    rule : {"falling", "ucb", "sign", "coin"}
    scale, delta, explore : float
        Of the rules "falling", "ucb" and "coin".
    chance : Chance or None
        For the coin.
    """

    def __init__(self, make, rule, *, double scale=0.0, double delta=0.5, double explore=0.0,
                 Chance chance=None):
        self.make, self.model = make, make()
        self.rule = RULES[rule]
        self.scale, self.delta, self.explore, self.chance = scale, delta, explore, chance
        self.spare, self.last = [], RowBuffer()

    # --- what every engine has ----------------------------------------------------------------

    @property
    def fresh(self):
        return self.rounds == 0 and self.model.learned == 0

    @property
    def rounds(self):
        return self.rounds

    @property
    def learned(self):
        return self.model.learned

    @property
    def dimension(self):
        return self.model.d

    def state(self):
        self.guard.begin_read()
        try:
            told = {"rounds": self.rounds, "model": self.model.state()}
            if self.chance is not None:
                told["chance"] = self.chance.state()
            return told
        finally:
            self.guard.end_read()

    def restore(self, state):
        cdef Model model = self.make()
        cdef Chance chance = None
        if not isinstance(state, dict):
            raise TypeError(f"state must be a dict, got {type(state).__name__}")
        try:
            rounds, inner = int(state["rounds"]), state["model"]
            if rounds < 0:
                raise ValueError("rounds of the state must be >= 0")
            if not isinstance(inner, dict):
                raise TypeError(f"model of the state must be a dict, got {type(inner).__name__}")
            model.restore(inner)
            if self.chance is not None:
                if not isinstance(state["chance"], dict):
                    raise TypeError("chance of the state must be a dict")
                chance = Chance.restored(state["chance"])
        except KeyError as error:
            raise ValueError(f"state must hold {error}") from None
        self.guard.settle_write()
        self.model, self.rounds, self.chance, self.seen = model, rounds, chance, False

    def reset(self):
        cdef Model model = self.make()
        cdef Chance chance = None if self.chance is None else self.chance.fresh()
        self.guard.settle_write()
        self.model, self.rounds, self.chance, self.seen = model, 0, chance, False

    def adopt(self, FilterEngine other, changed):
        self.guard.settle_write()
        self.model.adopt(other.model)
        self.make, self.rule = other.make, other.rule
        self.scale, self.delta, self.explore = other.scale, other.delta, other.explore
        if "seed" in changed:
            self.chance = other.chance
        self.seen = False

    def tasting(self, double explore, Chance chance):
        """An engine that tosses a coin over this one's model, which it shares, with its lock."""
        cdef FilterEngine other = FilterEngine(Model, "coin", explore=explore, chance=chance)
        self.guard.settle_write()
        self.seen = False
        other.model, other.make, other.guard = self.model, self.make, self.guard
        return other

    def sharing(self, FilterEngine other):
        """Takes back the model from an engine of `tasting`."""
        self.guard.settle_write()
        self.model, self.seen = other.model, False

    # --- parts of a round ---------------------------------------------------------------------

    cdef Bench borrow(self):
        return <Bench>self.spare.pop() if self.spare else Bench()

    cdef int know(self, const cf_row *x, str name) except -1:
        """x has the dimension of what came before, or sets it."""
        if self.model.d == 0:
            self.model.start(x.n)
        elif x.n != self.model.d:
            raise ValueError(f"{name} must have {self.model.d} features, as what came before, "
                             f"got {x.n}")
        return 0

    cdef double limit(self) noexcept nogil:
        """The threshold of the round to come."""
        if self.rule == SIGN or self.rule == COIN:
            return 0.0
        if self.model.learned == 0:
            return -INFINITY
        if self.rule == FALLING:
            return -sqrt(self.scale * K.log_one(<double>(self.rounds + 1)) / self.model.learned)
        return -(sqrt(max(self.model.information(), 0.0) - 2.0 * K.log_one(self.delta)) + 1.0)

    cdef bint decide(self, double m, double q) noexcept nogil:
        """Whether x with these readings is forwarded; the coin is drawn below 0 alone."""
        cdef double margin = m / (1.0 + q)
        if self.rule == UPPER and self.model.learned:
            return m >= sqrt(q) * self.limit()
        if margin >= self.limit():
            return True
        return (self.rule == COIN
                and self.chance.bits.next_double(self.chance.bits.state) < self.explore)

    cdef int refuse(self, int status) except -1:
        self.model.raise_error(status)
        return refuse(status, "x")

    cdef int remember(self, const cf_row *x, double m, double q) except -1:
        """What `learn` of the same x need not do again."""
        cdef Py_ssize_t e
        self.last.fit(x.nnz)
        memcpy(self.last.value, x.value, <size_t>x.nnz * sizeof(double))
        self.last_sparse = x.i32 != NULL or x.i64 != NULL
        if self.last_sparse:
            for e in range(x.nnz):
                self.last.place[e] = place_of(x, e)
        self.last_n, self.last_nnz = x.n, x.nnz
        self.m, self.q, self.seen = m, q, True
        return 0

    cdef bint remembers(self, const cf_row *x) noexcept:
        cdef Py_ssize_t e
        if (not self.seen or x.nnz != self.last_nnz or x.n != self.last_n
                or self.last_sparse != (x.i32 != NULL or x.i64 != NULL)
                or memcmp(self.last.value, x.value, <size_t>x.nnz * sizeof(double)) != 0):
            return False
        if self.last_sparse:
            for e in range(x.nnz):
                if self.last.place[e] != place_of(x, e):
                    return False
        return True

    cdef int look(self, Bench b, double *m, double *q) except -1:
        """The reading before a change; the lock is held, or the GIL kept."""
        cdef int status
        self.seen = False
        self.model.fit(&b.row, b.forms)
        if self.model.busy():
            with nogil:
                status = self.model.look(&b.row, b.forms, m, q)
        else:
            status = self.model.look(&b.row, b.forms, m, q)
        if status != CF_OK:
            self.refuse(status)
        return 0

    # --- the calls ----------------------------------------------------------------------------

    def margin(self, x):
        """m / (1 + q): what the threshold is compared with. Changes nothing."""
        cdef Bench b = self.borrow()
        cdef double m = 0.0, q = 0.0
        cdef double *scratch
        cdef int status
        try:
            row_of(x, "x", b.buffer, &b.row)
            self.guard.begin_read()
            try:
                if self.model.d and b.row.n != self.model.d:
                    self.know(&b.row, "x")
                self.model.fit(&b.row, b.forms)
                scratch = b.fit(self.model.scratch())
                if self.model.busy():
                    with nogil:
                        status = self.model.read(&b.row, b.forms, scratch, &m, &q)
                else:
                    status = self.model.read(&b.row, b.forms, scratch, &m, &q)
            finally:
                self.guard.end_read()
            if status != CF_OK:
                self.refuse(status)
            return m / (1.0 + q)
        finally:
            b.buffer.let_go()
            self.spare.append(b)

    @property
    def threshold(self):
        self.guard.settle_read()
        return self.limit()

    @property
    def approximation_error(self):
        self.guard.settle_read()
        return self.model.left_out()

    def forward(self, x):
        """Whether x is forwarded; counts the round."""
        cdef Bench b = self.borrow()
        cdef double m = 0.0, q = 0.0
        cdef bint unknown, forwarded
        try:
            row_of(x, "x", b.buffer, &b.row)
            self.guard.begin_write()
            try:
                unknown = self.model.d == 0
                try:
                    self.know(&b.row, "x")
                    self.look(b, &m, &q)
                    self.remember(&b.row, m, q)
                except BaseException:
                    if unknown:
                        self.model = self.make()
                    raise
                forwarded = self.decide(m, q)
                self.rounds += 1
                return forwarded
            finally:
                self.guard.end_write()
        finally:
            b.buffer.let_go()
            self.spare.append(b)

    def learn(self, x, relevant):
        """Takes in the label of x."""
        cdef Bench b = self.borrow()
        cdef bint unknown
        if relevant is not True and relevant is not False and not isinstance(relevant, numpy.bool_):
            raise TypeError(f"relevant must be True or False, got {relevant!r}")
        try:
            row_of(x, "x", b.buffer, &b.row)
            self.guard.begin_write()
            try:
                unknown = self.model.d == 0
                try:
                    self.know(&b.row, "x")
                    self.take(b, 1.0 if relevant else -1.0)
                except BaseException:
                    if unknown:
                        self.model = self.make()
                    raise
            finally:
                self.guard.end_write()
        finally:
            b.buffer.let_go()
            self.spare.append(b)

    cdef int take(self, Bench b, double y) except -1:
        """The step by one example, with the work of `forward` where that was the same x."""
        cdef double m = self.m, q = self.q
        cdef int status
        if self.remembers(&b.row):
            self.model.fit(&b.row, b.forms)
        else:
            self.look(b, &m, &q)
        self.seen = False
        if not self.model.has_room(&b.row, b.forms):
            self.model.make_room(&b.row, b.forms)
        if self.model.busy():
            with nogil:
                status = self.model.take(&b.row, b.forms, y, m, q)
        else:
            status = self.model.take(&b.row, b.forms, y, m, q)
        if status != CF_OK:
            self.refuse(status)
        return 0
