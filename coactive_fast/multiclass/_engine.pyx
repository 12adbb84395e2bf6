"""The engine of the multiclass learners; see _engine.pxd."""

import numpy

cimport numpy as np

from coactive_fast._arrays cimport as_flag, as_label, data_of, new_indices
from coactive_fast._table cimport CF_OK
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._engine cimport Calls, Engine, Model, look
from coactive_fast.metric._ridges cimport FullRidges
from coactive_fast.multiclass._policy cimport Confidit
from coactive_fast.rows._rows cimport Rows, Scratch, rows_of

from coactive_fast.multiclass._history import MulticlassHistory, regret_of
from coactive_fast.rows._labels import chances_of, labels_of

np.import_array()


cdef class MulticlassEngine(RowEngine):
    """One model and its chance.

    Parameters
    ----------
    make : callable
        A fresh model.
    chance : Chance or None
    most : int
        max_features, or 0.
    bandit : bool
        `learn` is told whether a label was right, not which one is.
    draws : bool
        `choose` draws.
    """

    def __init__(self, make, Chance chance, *, Py_ssize_t most, bint bandit, bint draws):
        self.bandit = bandit
        RowEngine.__init__(self, make, chance, most=most, draws=draws)

    @property
    def pruning(self):
        """Whether full matrices of classes that cannot win are left alone: the choices are the
        same either way."""
        ridges = (<Confidit>self.model).ridges if isinstance(self.model, Confidit) else None
        return isinstance(ridges, FullRidges) and (<FullRidges>ridges).bounded

    @pruning.setter
    def pruning(self, bint value):
        (<FullRidges?>(<Confidit?>self.model).ridges).bounded = value

    # --- one round ----------------------------------------------------------------------------

    cdef Py_ssize_t pick(self, object x) except -1:
        """`choose`."""
        cdef Scratch s = self.borrow()
        try:
            self.take_row(x, s)
            self.look_now(s)
            if self.draws:
                self.model.draw(s)
            return s.label
        finally:
            self.give_back(s)

    cdef int learn(self, object x, object label, str name, object correct) except -1:
        """`learn`; all arguments become C values before the model is looked at."""
        cdef Py_ssize_t i = as_label(label, name, self.model.k == 2)
        return self.learn_row(x, i, 1.0 if as_flag(correct, "correct") else -1.0, name)

    # --- many rows ----------------------------------------------------------------------------

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


cdef Py_ssize_t first_best(Py_ssize_t k, const double *m) noexcept nogil:
    """Of k numbers without padding, which `best_label` would read."""
    cdef Py_ssize_t i, best = 0
    for i in range(1, k):
        if m[i] > m[best]:
            best = i
    return best


# --- whole streams ----------------------------------------------------------------------------


cdef class MulticlassRun(RowRun):
    """Chooses and learns, row after row.

    Parameters
    ----------
    X, y
        The rows and their labels.
    k : int
        Labels there may be.
    epochs : callable(n) -> int
        How many times the n rows are gone through.
    noisy : callable(labels) -> labels
    chances : array_like of shape (n, k), optional
        Of each label for each row, where they are known.
    """

    def __init__(self, X, y, Py_ssize_t k, epochs, noisy, chances):
        cdef Rows rows = rows_of(X, "X")
        self.labels = noisy(labels_of(y, "y", rows.n, k))
        if chances is not None:
            self.chances = chances_of(chances, rows.n, k)
        self.top = self.labels.max() if rows.n else -1
        self.take_rows(rows, epochs(rows.n), True)
        self.choices = new_indices(self.total)
        self.mistakes = <np.ndarray>numpy.empty(self.total, dtype=bool)
        self.explored = <np.ndarray>numpy.empty(self.total, dtype=bool)

    def history(self):
        return MulticlassHistory(mistakes=self.mistakes[:self.done],
                                 explored=self.explored[:self.done],
                                 choices=self.choices[:self.done],
                                 regret=regret_of(self.choices[:self.done], self.chances))

    cdef int begin(self, Engine given) except -1:
        cdef MulticlassEngine engine = <MulticlassEngine>given
        if self.top >= engine.model.k:
            raise ValueError(f"y must hold labels in 0 ... {engine.model.k - 1}, got {self.top}: "
                             "the learner has lost classes during the run")
        self.bandit, self.draws = engine.bandit, engine.draws
        return RowRun.begin(self, engine)

    cdef int round(self, Engine engine) noexcept nogil:
        return self.one(self.model, self.scratch)

    cdef int one(self, Model model, Scratch s) noexcept nogil:
        cdef Py_ssize_t label
        cdef Py_ssize_t right = (<const Py_ssize_t *>np.PyArray_DATA(self.labels))[
            self.done % self.rows.n]
        cdef int status = self.read_row(model, s)
        if status == CF_OK:
            status = look(model, s)
        if status != CF_OK:
            return status
        if self.draws:
            model.draw(s)
        label = s.label
        status = model.take(s, label if self.bandit else right, 1.0 if label == right else -1.0)
        if status == CF_OK:
            (<Py_ssize_t *>np.PyArray_DATA(self.choices))[self.done] = label
            (<char *>np.PyArray_DATA(self.mistakes))[self.done] = label != right
            (<char *>np.PyArray_DATA(self.explored))[self.done] = label != s.exploit
        return status


# --- the calls of a single round --------------------------------------------------------------

# A Python method that hands on to the engine costs about as much as a small round itself, so the
# thin classes inherit these instead. `_engine` is the learner's engine, set by the shell.


cdef class Choosing(Calls):
    def choose(self, x):
        """The label for x.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            Also a table of one row; float32 and any strides are read without a copy of more
            than the row.

        Returns
        -------
        int
            0 ... K-1, ties to the lower one.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.Confidit(3).choose([1.0, 0.0])
        0
        """
        cdef MulticlassEngine engine = self.at_work()  # which x may have another put in place of
        return engine.pick(x)


cdef class ToldRightOrWrong(Choosing):
    def learn(self, x, label, correct):
        """One round: `label` was right or wrong for x.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        label : int
            It need not be that of `choose`.
        correct : bool
            Whether that label was right; 1 and 0 or 1 and -1 stand for it as well.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.Confidit(3)
        >>> learner.learn([1.0, 0.0], 2, True)
        >>> learner.predict([[1.0, 0.0]])
        array([2])
        """
        cdef MulticlassEngine engine = self.at_work()
        engine.learn(x, label, "label", correct)


cdef class ToldTheLabel(Choosing):
    def learn(self, x, y):
        """One round: y is the right label of x.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        y : int
            From 0 to K - 1.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.MulticlassAROW(3)
        >>> learner.learn([1.0, 0.0], 2)
        >>> learner.choose([1.0, 0.0])
        2
        """
        cdef MulticlassEngine engine = self.at_work()
        engine.learn(x, y, "y", True)
