"""The engines of the regression and of the bandits; see _engine.pxd.

In here is what they share and the regression; _bandits.pxi has the bandits, _items.pxi how they
choose from a catalogue, _runs.pxi their run, _calls.pxi the calls of a single round.
"""

import numpy

cimport cython
cimport numpy as np
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, NAN, sqrt
from libc.stddef cimport size_t
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset
from numpy.random cimport bitgen_t

from coactive_fast._arrays cimport (
    as_count, as_flag, as_label, as_number, data_of, finite_vector, new_indices, new_vector,
    product_of,
)
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_ENOTPOSITIVE, CF_OK, CF_ROW_NULL, cf_get_table, cf_row, cf_table,
)
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._engine cimport BUSY, Calls, Engine, Model
from coactive_fast.learner._run cimport MORE
from coactive_fast.learner._state cimport State, opened
from coactive_fast.metric._single cimport Single, sigmoid
from coactive_fast.rewards._catalogue cimport NOT_THIS_WAY, Catalogue, among
from coactive_fast.rewards._policy cimport GREEDY, SQUARECB, THOMPSON, UCB, crossed
from coactive_fast.rows._rows cimport Rows, fill_rows, place_of, row_of, rows_of

from coactive_fast.rewards._history import BanditHistory, Decision, RegressionHistory

np.import_array()

cdef const cf_table *K = cf_get_table()

cdef double SMALLEST = 1e-150  # a scale that has an inverse with room to spare

cdef int64_t eras = 0  # how many there were; with the GIL


cdef class RewardEngine(RowEngine):
    """Regressions that are told numbers.

    Parameters
    ----------
    make : callable
        Fresh `Regressions`.
    chance : Chance or None
    most : int
        max_features, or 0.
    logistic : bool
    modest : bool
        No weight may be above 1.
    """

    def __init__(self, make, Chance chance, *, Py_ssize_t most, bint logistic, bint modest=False):
        self.logistic, self.modest = logistic, modest
        RowEngine.__init__(self, make, chance, most=most)
        self.new_era()

    @property
    def fresh(self):
        return self.model.d == 0 and self.model.learned == 0 and self.model.k == self.built

    def adopt(self, RowEngine other, changed):
        RowEngine.adopt(self, other, changed)
        self.modest = (<RewardEngine?>other).modest
        if "forget" in changed:
            self.new_era()

    cdef void begin(self, Model model, Chance chance) noexcept:
        RowEngine.begin(self, model, chance)
        self.new_era()

    cdef void new_era(self) noexcept:
        global eras
        eras += 1
        self.era = eras

    # --- arguments ----------------------------------------------------------------------------

    cdef double target_of(self, object value, str name) except? -1.0:
        """What is learned towards."""
        cdef double y = as_number(value, name)
        if self.logistic and not 0.0 <= y <= 1.0:
            raise ValueError(f'{name} must be in [0, 1] with link="logistic", got {y}')
        return y

    cdef double weight_of(self, object value) except -1.0:
        cdef double weight = as_number(value, "weight")
        if not weight > 0.0:
            raise ValueError(f"weight must be > 0, got {weight}")
        if self.modest and weight > 1.0:
            raise ValueError(f'weight must be at most 1 with width="theory", got {weight}')
        return weight

    cdef int learn_weighted(self, object x, Py_ssize_t i, double y, double weight,
                            str name) except -1:
        """`learn` of what is told of answer i."""
        cdef Scratch s = self.borrow()
        try:
            self.take_row(x, s)
            s.weight = weight
            return self.learn_one(s, i, y, name)
        finally:
            self.give_back(s)

    # --- the past -----------------------------------------------------------------------------

    cdef Regressions copied(self):
        """The model as it is, for who holds the lock."""
        cdef Regressions model = <Regressions>self.new_model()
        model.restore(opened(self.model.told()))
        return model

    def decay(self, f):
        """The whole past counts f times as much."""
        cdef double share = as_number(f, "f")
        cdef Regressions model
        if not 0.0 < share <= 1.0:
            raise ValueError(f"f must be in (0, 1], got {share}")
        self.guard.begin_write()
        try:
            model = self.copied()  # of several regressions one may fail
            while share < SMALLEST:
                model.decay(SMALLEST)
                share /= SMALLEST
            model.decay(share)
            self.model = model
            self.stamp += 1
            self.new_era()
        finally:
            self.guard.end_write()

    def merge(self, RewardEngine other):
        """What both have learned; the other one stays as it is."""
        cdef Regressions theirs, model
        other.guard.begin_read()
        try:
            theirs = other.copied()
        finally:
            other.guard.end_read()
        self.guard.begin_write()
        try:
            model = self.copied()
            model.merge(theirs)
            self.model = model
            self.stamp += 1
            self.new_era()
        finally:
            self.guard.end_write()

    # --- the regression -----------------------------------------------------------------------

    def predict(self, X, bint spread):
        """m of each row, or sigma(m); `spread`: also sqrt(q)."""
        cdef Rows rows = rows_of(X, "X")
        cdef Scratch s = Scratch()
        cdef Crossed by
        cdef np.ndarray m = new_vector(rows.n), q = new_vector(rows.n)
        cdef Regressions model
        cdef Py_ssize_t t
        cdef int status = CF_OK
        cdef int turn
        by.p = 0
        for turn in range(2):
            self.guard.begin_read()
            try:
                model = <Regressions>self.model
                self.width(rows.d, "X")
                model.fit_rows(rows, by, s)
                with nogil:
                    status = model.read_rows(rows, by, s, data_of(m), data_of(q))
            finally:
                self.guard.end_read()
            if status != CF_ENOTPOSITIVE:
                break
            self.mend(s)
        if status != CF_OK:
            self.fail(status, "a row of X")
        for t in range(rows.n):
            data_of(q)[t] = sqrt(data_of(q)[t])
            if self.logistic:
                data_of(m)[t] = sigmoid(data_of(m)[t])
        return (m, q) if spread else m

    cdef int mend(self, Scratch s) except -1:
        """What a reading has found damaged is made anew where that can be."""
        self.guard.begin_write()
        try:
            self.model.repair(s)
            self.new_era()
        finally:
            self.guard.end_write()
        return 0


# --- the run of the regression ----------------------------------------------------------------


cdef class RidgeRun(RowRun):
    """Predicts and learns, row after row.

    Parameters
    ----------
    engine : RewardEngine
    X, y, weight
        The rows, what they are to meet, and how often each counts (None: once).
    """

    def __init__(self, RewardEngine engine, X, y, weight):
        cdef Rows rows = rows_of(X, "X")
        cdef Py_ssize_t t
        self.y = finite_vector(y, "y", rows.n, "X")
        self.weights = finite_vector(numpy.ones(rows.n) if weight is None else weight, "weight",
                                     rows.n, "X")
        self.logistic = engine.logistic
        for t in range(rows.n):
            engine.target_of(data_of(self.y)[t], "y")
            engine.weight_of(data_of(self.weights)[t])
        self.take_rows(rows, 1, False)
        self.predictions, self.loss = new_vector(self.total), new_vector(self.total)

    def history(self):
        return RegressionHistory(predictions=self.predictions[:self.done],
                                 loss=self.loss[:self.done])

    cdef int round(self, Engine engine) noexcept nogil:
        return self.one(<Regressions>self.model, self.scratch)

    cdef int one(self, Regressions model, Scratch s) noexcept nogil:
        cdef Py_ssize_t t = self.done
        cdef double y = data_of(self.y)[t], m = 0.0
        cdef int status
        if not model.has_room(s):
            return MORE
        status = self.read_row(model, s)
        s.weight = data_of(self.weights)[t]
        if status == CF_OK:
            status = model.look_at(s, 0)
            if status == CF_ENOTPOSITIVE and model.repair(s) == CF_OK:
                status = model.look_at(s, 0)
        if status == CF_OK and not s.null:
            m = s.m[0]
        if status == CF_OK:
            status = model.take(s, 0, y)
        if status != CF_OK:
            return status
        if self.logistic:  # -y log sigma - (1 - y) log(1 - sigma)
            data_of(self.predictions)[t] = sigmoid(m)
            data_of(self.loss)[t] = max(m, 0.0) + K.log1p_one(K.exp_one(-abs(m))) - y * m
        else:
            data_of(self.predictions)[t] = m
            data_of(self.loss)[t] = (y - m) * (y - m)
        return CF_OK


include "_bandits.pxi"
include "_items.pxi"
include "_runs.pxi"
include "_calls.pxi"
