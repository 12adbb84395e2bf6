"""The engine of the multiclass learners; see _engine.pxd."""

import numpy

cimport numpy as np
from libc.stddef cimport size_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport as_count, data_of, new_indices, refuse
from coactive_fast._table cimport (
    CF_ENOMEM, CF_ENONFINITE, CF_ENOTPOSITIVE, CF_EVALUE, CF_OK, CF_ROW_NULL, cf_get_table,
    cf_row, cf_table,
)
from coactive_fast.learner._rows cimport Rows, row_of, rows_of
from coactive_fast.multiclass._full cimport FullRidges
from coactive_fast.multiclass._models cimport Banditron, Model, Work

np.import_array()

cdef const cf_table *K = cf_get_table()

cdef double BUSY = 1 << 14  # elements touched from which the GIL is let go: some microseconds


cdef Py_ssize_t label_of(object value, str name, Py_ssize_t k) except -1:
    cdef Py_ssize_t label = as_count(value, name)
    if label >= k:
        raise ValueError(f"{name} must be in 0 ... {k - 1}, got {value}")
    return label


cdef bint flag_of(object value, str name) except -1:
    if value is True:
        return True
    if value is False:
        return False
    if isinstance(value, numpy.bool_):
        return bool(value)
    raise TypeError(f"{name} must be True or False, got {value!r}")


cdef class MulticlassEngine(Engine):
    """One model and its chance.

    Parameters
    ----------
    make : callable
        A fresh model.
    first : Generator or None
        What `reset` begins with.
    most : int
        max_features, or 0.
    bandit : bool
        `learn` is told whether a label was right, not which one is.
    draws : bool
        `choose` draws.
    """

    def __init__(self, make, first, *, Py_ssize_t most, bint bandit, bint draws):
        self.make, self.most = make, most
        self.model = self.new_model()
        self.built = self.model.k
        self.bandit, self.draws = bandit, draws
        self.chance = None if first is None else Chance(first)
        self.work = Work()

    cdef Model new_model(self):
        cdef Model model = self.make()
        model.most = self.most
        return model

    # --- what every engine has ----------------------------------------------------------------

    @property
    def fresh(self):
        return self.model.rounds == 0 and self.model.k == self.built

    @property
    def rounds(self):
        return self.model.rounds

    @property
    def n_classes(self):
        return self.model.k

    def state(self):
        self.guard.begin_read()
        try:
            found = self.model.state()
            if self.chance is not None:
                found.update(self.chance.state())
        finally:
            self.guard.end_read()
        return found

    def restore(self, state):
        cdef Model model = self.new_model()
        cdef Chance chance = None
        if not isinstance(state, dict):
            raise TypeError(f"state must be a dict, got {type(state).__name__}")
        try:
            if self.chance is not None:
                chance = Chance.restored(state)
            model.restore(state)
        except KeyError as error:
            raise ValueError(f"state must hold {error}") from None
        self.guard.settle_write()
        self.begin(model, chance)

    def reset(self):
        cdef Model model = self.new_model()
        cdef Chance chance = None
        if self.chance is not None:
            chance = self.chance.fresh()
        self.guard.settle_write()
        self.begin(model, chance)

    cdef void begin(self, Model model, Chance chance) noexcept:
        self.model, self.chance = model, chance
        self.stamp += 1

    def adopt(self, MulticlassEngine other, changed):
        self.guard.settle_write()
        self.model.adopt(other.model)
        self.make = other.make
        if "seed" in changed:
            self.chance = other.chance
        self.stamp += 1

    @property
    def pruning(self):
        """Whether full matrices of classes that cannot win are left alone: the choices are the
        same either way."""
        return isinstance(self.model, FullRidges) and (<FullRidges>self.model).bounded

    @pruning.setter
    def pruning(self, bint value):
        (<FullRidges?>self.model).bounded = value

    # --- work ---------------------------------------------------------------------------------

    cdef Work borrow(self):
        cdef Work w
        if self.busy:
            w = Work()
        else:
            self.busy = True
            w = self.work
        return w

    cdef void give_back(self, Work w) noexcept:
        w.buffer.let_go()
        if w is self.work:
            self.busy = False

    cdef int take_row(self, object x, Work w) except -1:
        w.null = row_of(x, "x", w.buffer, &w.row) == CF_ROW_NULL
        return 0

    cdef int refuse_width(self, Py_ssize_t n, str name) except -1:
        cdef Py_ssize_t most = self.model.most
        if most == 0:
            raise ValueError(f"{name} must have {self.model.d} features, as what was learned "
                             f"before, got {n}")
        if n > most:
            raise ValueError(f"{name} must have at most {most} features (max_features), got {n}")
        return 0

    cdef int ready(self, Work w, bint learning) except -1:
        """The row as the model wants it, after settle_*; the GIL is not let go."""
        self.width(w.row.n, "x")
        if learning:
            self.model.make_room(w.row.n)
        self.model.fit(w)
        w.bits = NULL if self.chance is None else self.chance.bits
        self.model.prepare(w)
        return 0

    cdef int read_round(self, Work w) noexcept nogil:
        """A reading by the one who may change the model: what shows damage is repaired."""
        cdef int status = self.model.read(w)
        if status == CF_ENOTPOSITIVE:
            status = self.model.repair(w)
            if status == CF_OK:
                status = self.model.read(w)
        return status

    cdef int learn_round(self, Work w, bint known, Py_ssize_t label,
                         bint correct) noexcept nogil:
        cdef int status = CF_OK
        if not known:
            status = self.model.read_for(w, label)
            if status == CF_ENOTPOSITIVE:
                status = self.model.repair(w)
                if status == CF_OK:
                    status = self.model.read_for(w, label)
        return self.model.learn(w, label, correct) if status == CF_OK else status

    cdef int fail(self, int status, str what) except -1:
        self.model.raise_error()
        if status == CF_ENOMEM:
            raise MemoryError(f"{what} to be sorted")
        if status == CF_EVALUE:
            raise ValueError(f"{what} is too small or too large for this learner: a product with "
                             "it is zero or leaves no variance")
        if status == CF_ENONFINITE:
            raise ValueError(f"{what} is too large: what follows from it is not finite")
        return refuse(status, f"A^-1 along {what}, beyond repair")

    # --- one round ----------------------------------------------------------------------------

    cdef Py_ssize_t pick(self, object x) except -1:
        """`choose`."""
        cdef Work w = self.borrow()
        cdef cf_row given
        cdef int status
        try:
            self.take_row(x, w)
            given = w.row
            if self.draws:
                self.guard.settle_write()
            else:
                self.guard.settle_read()
            w.forget()
            self.ready(w, False)
            status = self.read_now(w)
            if status == CF_ENOTPOSITIVE:
                self.guard.settle_write()
                w.row = given
                self.ready(w, False)
                status = self.read_round(w)
            if status != CF_OK:
                self.fail(status, "x")
            if self.draws:
                (<Banditron>self.model).draw(w)
            elif self.model.d and w is self.work:
                w.remember(&given, self.model.rounds, self.stamp)
            return w.label
        finally:
            self.give_back(w)

    cdef int read_now(self, Work w) except? -1000:
        """A reading, without the GIL where it takes long; a status."""
        cdef int status
        cdef Model model = self.model
        if model.cost(w.row.nnz) < BUSY:
            return model.read(w)
        self.guard.begin_read()
        with nogil:
            status = model.read(w)
        self.guard.end_read()
        return status

    cdef int take_answer(self, object x, object label, object correct) except -1:
        """`learn` of those that are told right or wrong."""
        return self.take(x, label, "label", flag_of(correct, "correct"))

    cdef int take(self, object x, object label, str name, bint correct) except -1:
        cdef Work w = self.borrow()
        cdef Model model
        cdef Py_ssize_t i
        cdef bint known
        cdef int status
        try:
            self.take_row(x, w)
            self.guard.settle_write()
            model = self.model
            i = label_of(label, name, model.k)
            known = not self.draws and w.knows(&w.row, model.rounds, self.stamp)
            self.ready(w, True)
            known = known and w.known_round == model.rounds  # its room may have grown
            if model.cost(w.row.nnz) < BUSY:
                status = self.learn_round(w, known, i, correct)
                model.settle()
            else:
                self.guard.begin_write()
                with nogil:
                    status = self.learn_round(w, known, i, correct)
                    model.settle()
                self.guard.end_write()
            w.forget()
            if status != CF_OK:
                self.fail(status, "x")
        finally:
            self.give_back(w)
        return 0

    # --- many rows ----------------------------------------------------------------------------

    cdef np.ndarray scores(self, Rows rows):
        """All scores of all rows, shape (n, k)."""
        cdef Work w = Work()
        cdef Model model
        cdef Py_ssize_t t = 0, k, end, step
        cdef int status = CF_OK
        cdef np.ndarray out
        cdef double *to
        self.guard.settle_read()
        model = self.model
        k = model.k
        out = <np.ndarray>numpy.empty((rows.n, k))
        self.guard.settle_read()
        self.width(rows.d, "X")
        w.buffer.fit(rows.most)
        w.row.n, w.row.nnz = rows.d, rows.most
        model.fit(w)
        to = data_of(out)
        self.guard.begin_read()
        with nogil:
            while t < rows.n and status == CF_OK:
                if not rows.at(t, w.buffer, &w.row):
                    status = CF_ENOMEM
                    break
                w.null = K.row_check(w.row.nnz, w.row.value) == CF_ROW_NULL
                model.prepare(w)
                status = model.read_scores(w)
                if status == CF_OK and not K.all_finite(k, w.m):
                    status = CF_ENONFINITE
                if status == CF_OK:
                    memcpy(to + t * k, w.m, <size_t>k * sizeof(double))
                    t += 1
        self.guard.end_read()
        if status != CF_OK:
            self.fail(status, f"row {t} of X")
        return out

    def decision_function(self, X):
        """The score of every class for every row."""
        return self.scores(rows_of(X, "X"))

    def predict(self, X):
        """The first of the best scores of each row."""
        cdef np.ndarray scores = self.scores(rows_of(X, "X")), out
        cdef Py_ssize_t n = np.PyArray_DIM(scores, 0), k = np.PyArray_DIM(scores, 1), t
        out = new_indices(n)
        for t in range(n):
            (<Py_ssize_t *>np.PyArray_DATA(out))[t] = first_best(k, data_of(scores) + t * k)
        return out

    # --- what was learned ---------------------------------------------------------------------

    def add_class(self):
        """One class more; its label."""
        self.guard.settle_write()
        self.model.add_class()
        self.stamp += 1
        return self.model.k - 1

    @property
    def weights(self):
        self.guard.begin_read()  # what follows may let the GIL go
        try:
            return self.model.np_weights()
        finally:
            self.guard.end_read()

    def inverse(self, i):
        self.guard.begin_read()  # what follows may let the GIL go
        try:
            return self.model.np_inverse(label_of(i, "i", self.model.k))
        finally:
            self.guard.end_read()

    def information(self):
        self.guard.begin_read()  # what follows may let the GIL go
        try:
            return self.model.np_information()
        finally:
            self.guard.end_read()

    def health(self):
        self.guard.begin_read()  # what follows may let the GIL go
        try:
            return self.model.health()
        finally:
            self.guard.end_read()


cdef Py_ssize_t first_best(Py_ssize_t k, const double *m) noexcept nogil:
    cdef Py_ssize_t i, best = 0
    for i in range(1, k):
        if m[i] > m[best]:
            best = i
    return best
