"""What all estimators for scikit-learn share: rows, labels, passes, and a fit that is refused."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted

from coactive_fast._typing import RowsLike, Vector
from coactive_fast.learner._check import choice, count, switch

from ._sklearn_data import validate_data

if TYPE_CHECKING:
    from typing_extensions import Self

FLOATS = (np.float64, np.float32)
BLOCK = 1 << 18  # numbers of a stretch of rows that is copied: 2 MB
LARGE = 1e5  # no learner refuses rows of smaller numbers


class Estimator(BaseEstimator):
    """A fit that is refused, or stopped, leaves what was fitted before.

    Subclasses that offer `scale` or `fit_intercept` have these as parameters; here both are off.
    """

    fit_intercept: bool = False
    scale: Any = False
    shuffle: bool = True
    random_state: Any = None
    scaler_: StandardScaler | None = None
    n_features_in_: int
    _one: float = 0.0  # what the column of the intercept holds; 0: there is no such column
    _thin_one: float = 1.0  # the same where the first rows are sparse
    _passes: str = "n_epochs"  # the parameter that says how often `fit` goes through its rows

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _chance(self) -> np.random.RandomState:
        try:
            return check_random_state(self.random_state)
        except ValueError as error:
            raise ValueError(f"random_state: {error}") from None

    def _orders(self, n: int, chance: np.random.RandomState) -> Iterator[Any]:
        """The order of the n rows in each pass of `fit`; None: as they are."""
        for _ in range(count(self._passes, getattr(self, self._passes), least=1)):
            yield chance.permutation(n) if self.shuffle else None

    def _check_passes(self) -> None:
        count(self._passes, getattr(self, self._passes), least=1)
        switch("shuffle", self.shuffle)

    # --- rows -------------------------------------------------------------------------------

    def _read(self, X: RowsLike) -> Any:
        """Rows to be answered, where something was fitted."""
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)

    def _settle(self, X: Any) -> None:
        """Before the first rows: what becomes of them from here on."""
        one = self._thin_one if scipy.sparse.issparse(X) else 1.0
        self._one = one if switch("fit_intercept", self.fit_intercept) else 0.0
        scale = self.scale
        if not isinstance(scale, (bool, np.bool_)):
            choice("scale", scale, ("dense",))
            scale = not scipy.sparse.issparse(X)
        centre = not scipy.sparse.issparse(X)
        self.scaler_ = StandardScaler(with_mean=centre) if scale else None

    def _measure(self, X: Any, weight: Vector | None = None) -> None:
        """Means and variances of all rows so far, these included; a refused row leaves them."""
        if self.scaler_ is None:
            return
        scaler = copy.deepcopy(self.scaler_)
        thin = self._centres() and scipy.sparse.issparse(X)  # what is centred is written out
        step = max(1, BLOCK // X.shape[1]) if thin else X.shape[0]
        with np.errstate(over="ignore", invalid="ignore"):
            for begin in range(0, X.shape[0], step):
                at = slice(begin, begin + step)
                scaler.partial_fit(X[at].toarray() if thin else X[at],
                                   sample_weight=None if weight is None else weight[at])
        if not (np.isfinite(scaler.var_).all() and np.isfinite(scaler.scale_).all()):
            raise ValueError("X must hold numbers whose variance is finite where scale is on")
        self.scaler_ = scaler

    def _spare(self, X: Any, *more: Any) -> None:
        """Lets a pass go on a copy, where a row may turn out to be too large half-way: a refused
        call then leaves the learner as it was. `more`: targets and weights, or None."""
        parts = (X.data if scipy.sparse.issparse(X) else X, *(m for m in more if m is not None))
        if any(part.size and max(part.max(), -part.min()) > LARGE for part in parts):
            for name in ("learner_", "learners_"):
                if name in vars(self):
                    setattr(self, name, copy.deepcopy(getattr(self, name)))

    def _blocks(self, X: Any, order: NDArray[np.intp] | None = None) -> Iterator[tuple[Any, Any]]:
        """Stretches of the rows as the learner takes them, and their places in X.

        A row is scaled when it is its turn, so that no more than a stretch is there twice. The
        learner's runs over the stretches are its run over the whole, bit for bit.
        """
        n = X.shape[0]
        plain = order is None and self.scaler_ is None and not self._one
        thin = scipy.sparse.issparse(X) and not self._centres()
        step = n if plain else max(1, BLOCK // max(1, X.nnz // n if thin else X.shape[1]))
        for begin in range(0, n, step):
            at = slice(begin, begin + step) if order is None else order[begin:begin + step]
            part = X if order is None and step >= n else X[at]
            yield (X if plain else self._rows(part)), at

    def _centres(self) -> bool:
        return self.scaler_ is not None and self.scaler_.with_mean

    def _rows(self, X: Any) -> Any:
        """Some rows as the learner takes them: scaled, and with the intercept's column."""
        scaler = self.scaler_
        if self._centres() and scipy.sparse.issparse(X):
            X = X.toarray()  # zero is no longer the usual number
        if scipy.sparse.issparse(X):
            if scaler is not None:
                X = X.copy() if X.dtype == np.float64 else X.astype(np.float64)
                X.data /= scaler.scale_[X.indices]
            return with_column(X, self._one) if self._one else X
        if scaler is None and not self._one:
            return X
        rows = np.full((len(X), X.shape[1] + bool(self._one)), self._one)
        part = rows[:, :X.shape[1]]
        part[...] = X
        if scaler is not None:
            if scaler.with_mean:
                part -= scaler.mean_
            part /= scaler.scale_
        return rows

    def _in_units_of_the_input(self, weights: Vector) -> tuple[Vector, Vector]:
        """Weights on what `_rows` gives as weights on X and intercepts."""
        d = self.n_features_in_
        weights = np.atleast_2d(weights)
        coef = weights[:, :d]
        intercept = weights[:, d] * self._one if self._one else np.zeros(len(weights))
        if self.scaler_ is not None:
            coef = coef / self.scaler_.scale_
            if self._centres():
                intercept = intercept - coef @ self.scaler_.mean_
        return coef, intercept


class Classifier(ClassifierMixin, Estimator):
    """Labels of any kind over a learner whose labels are 0 ... K-1.

    A subclass makes a learner (`_begin`) and feeds it (`_learn`).
    """

    classes_: NDArray[Any]
    learner_: Any

    def predict(self, X: RowsLike) -> NDArray[Any]:
        """The class of the largest score for each row.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
            A row an example.

        Returns
        -------
        ndarray of shape (n,)
            A label a row, one of `classes_`.
        """
        given = self._read(X)
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, given.shape[0])
        return self.classes_[self._best(given)]

    def decision_function(self, X: RowsLike) -> Vector:
        """Scores of all classes; of two classes, by how much the second is ahead.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
            A row an example.

        Returns
        -------
        ndarray of shape (n, K), or (n,) for two classes
            The score of each class, in the order of `classes_`; of two classes, positive for the
            second.
        """
        return self._scores(self._read(X))

    def _begin(self, n_classes: int, chance: np.random.RandomState) -> None:
        """Makes the learner, of at least two classes; `chance` is for what it draws."""
        raise NotImplementedError

    def _learn(self, rows: Any, labels: NDArray[np.intp], weight: Vector | None) -> None:
        """One pass over some rows."""
        self.learner_.run(rows, labels)

    def _best(self, X: Any) -> NDArray[np.intp]:
        """The numbers of the best classes."""
        return np.concatenate([self.learner_.predict(rows) for rows, _ in self._blocks(X)])

    def _scores(self, X: Any) -> Vector:
        """What `decision_function` answers about rows that were checked."""
        scores = np.concatenate([self.learner_.decision_function(rows)
                                 for rows, _ in self._blocks(X)])
        return scores[:, 1] - scores[:, 0] if len(self.classes_) <= 2 else scores

    # --- learning ---------------------------------------------------------------------------

    def _fit(self, X: RowsLike, y: ArrayLike, weight: Any = None) -> Self:
        self._check_passes()
        chance = self._chance()
        with self._all_or_nothing():
            X, y, weight = self._validated(X, y, weight, reset=True)
            labels = self._open(np.unique(y), X, y, chance)
            self._measure(X, weight)
            for order in self._orders(len(labels), chance):
                self._pass(X, labels, weight, order)
        return self

    def _partial_fit(self, X: RowsLike, y: ArrayLike, classes: ArrayLike | None,
                     weight: Any = None) -> Self:
        first = not hasattr(self, "classes_")
        known = self._known(classes, first)
        with self._all_or_nothing():
            X, y, weight = self._validated(X, y, weight, reset=first)
            labels = self._open(known, X, y, self._chance()) if first else self._numbers(y)
            self._measure(X, weight)
            self._spare(X, weight)
            self._pass(X, labels, weight, None)
        return self

    def _numbers(self, y):
        return numbers_of(self.classes_, y)

    def _known(self, classes, first):
        """The classes that are given, checked; None where there are none."""
        if first and classes is None:
            raise ValueError("classes must be given at the first call of partial_fit")
        known = None if classes is None else unique_labels(classes)
        if known is not None and not len(known):
            raise ValueError("classes must hold at least one label")
        if not first and known is not None and not np.array_equal(known, self.classes_):
            raise ValueError(f"classes must be those of the first call, {self.classes_.tolist()}")
        return known

    def _validated(self, X, y, weight, reset):
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS, reset=reset)
        check_classification_targets(y)
        return X, y, weight

    def _open(self, classes, X, y, chance):
        """A fresh learner of these classes; the numbers of y among them."""
        labels = numbers_of(classes, y)
        # learners know no fewer than two classes; a second one that never comes does no harm
        self._begin(max(2, len(classes)), chance)
        self._settle(X)
        self.classes_ = classes
        return labels

    def _pass(self, X, labels, weight, order):
        for rows, at in self._blocks(X, order):
            self._learn(rows, labels[at], None if weight is None else weight[at])


class FromLabels(Classifier):
    """`fit` and `partial_fit` of classifiers for which all rows count alike."""

    def fit(self, X: RowsLike, y: ArrayLike) -> Self:
        """Learns afresh.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
            A row an example.
        y : array_like, shape (n,)
            The label of each row.

        Returns
        -------
        self
            The estimator itself, so that calls can follow one another.
        """
        return self._fit(X, y)

    def partial_fit(self, X: RowsLike, y: ArrayLike,
                    classes: ArrayLike | None = None) -> Self:
        """Goes on learning, one pass in the order given, by the parameters of the first call.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
            A row an example.
        y : array_like, shape (n,)
            The label of each row.
        classes : array_like, optional
            All labels that will ever come; needed at the first call.

        Returns
        -------
        self
            The estimator itself, so that calls can follow one another.
        """
        return self._partial_fit(X, y, classes)


class Probabilities:
    """`predict_log_proba` beside `predict_proba`."""

    def predict_proba(self, X: RowsLike) -> Vector:
        raise NotImplementedError

    def predict_log_proba(self, X: RowsLike) -> Vector:
        """The logarithms of `predict_proba`.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
            A row an example.

        Returns
        -------
        ndarray of shape (n, K)
            The logarithm of each class's probability, in the order of `classes_`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def with_column(X: Any, value: float) -> Any:
    """CSR rows with one more column, which holds the value; a fifth of the time of hstack."""
    n = X.shape[0]
    ends = X.indptr + np.arange(n + 1, dtype=X.indptr.dtype)
    old = np.ones(ends[-1], dtype=bool)
    old[ends[1:] - 1] = False
    entries, places = np.full(ends[-1], value), np.full(ends[-1], X.shape[1], X.indices.dtype)
    used = X.indptr[-1]  # there may be room behind it
    entries[old], places[old] = X.data[:used], X.indices[:used]
    return type(X)((entries, places, ends), shape=(n, X.shape[1] + 1))


def numbers_of(classes: NDArray[Any], y: NDArray[Any]) -> NDArray[np.intp]:
    """The place of each label among the classes, which are sorted."""
    places = np.searchsorted(classes, y)
    known = places < len(classes)
    if not (known.all() and (classes[places] == y).all()):
        raise ValueError(f"y must hold labels of {classes.tolist()} only")
    return places
