"""Learners as scikit-learn classifiers, regressors and rankers (extra ``sklearn``)."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, overload

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target, unique_labels
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

import coactive_fast as cf
from coactive_fast._typing import Kernel, Real, RowsLike, Self, Vector, Whole
from coactive_fast.coactive._learners import CoactiveLearner
from coactive_fast.filtering._learners import cost_threshold
from coactive_fast.learner._check import choice, count, same_length, switch

from ._pattern import fresh, own_parameters, seeded, store_parameters

try:
    from sklearn.utils.validation import validate_data
except ImportError as error:
    raise ImportError("coactive_fast.adapters.sklearn needs scikit-learn 1.6 or newer: "
                      'pip install "coactive_fast[sklearn]"', name="sklearn") from error

__all__ = [
    "AROWClassifier", "BanditronClassifier", "CoactiveRanker", "ConfiditClassifier",
    "OnlineClassifier", "OnlineLogisticClassifier", "OnlineRidgeRegressor", "PerceptronClassifier",
    "RidgeFilterClassifier", "SecondOrderPerceptronClassifier",
]

Scale: TypeAlias = bool | Literal["dense"]
FLOATS: Any = (np.float64, np.float32)
BLOCK = 1 << 18  # numbers of a stretch of rows that is copied: 2 MB
LARGE = 1e5  # no learner refuses rows of smaller numbers
RULES = {
    "perceptron": cf.PreferencePerceptron,
    "second-order": cf.SecondOrderPreferencePerceptron,
    "exponentiated": cf.ExponentiatedPreferencePerceptron,
    "convex": cf.ConvexPreferencePerceptron,
}
DEPTH = 1 << 30  # more documents than a query has


# --- what all estimators share ------------------------------------------------------------------


class _Estimator(BaseEstimator):
    """A fit that is refused, or stopped, leaves what was fitted before.

    Subclasses that offer `scale` or `fit_intercept` have these as parameters; here both are off.
    """

    fit_intercept: bool = False
    scale: Any = False
    scaler_: StandardScaler | None = None
    n_features_in_: int
    _one: float = 0.0  # what the column of the intercept holds; 0: there is no such column
    _thin_one: float = 1.0  # the same where the first rows are sparse
    _centred: bool = True  # whether dense rows are brought to mean 0 where they are scaled
    _passes: str = "n_epochs"  # the parameter that says how often `fit` goes through its rows

    if TYPE_CHECKING:  # a parameter of a subclass is an attribute of its name
        def __getattr__(self, name: str) -> Any: ...

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
        dense = not scipy.sparse.issparse(X)
        one = 1.0 if dense else self._thin_one
        self._one = one if switch("fit_intercept", self.fit_intercept) else 0.0
        scale = self.scale
        if not isinstance(scale, (bool, np.bool_)):
            choice("scale", scale, ("dense",))
            scale = dense
        self.scaler_ = StandardScaler(with_mean=dense and self._centred) if scale else None

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
        """Stretches of the rows as the learner reads them, and their places in X.

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

    def _answers(self, question: Callable[[Any], Any], X: Any) -> Any:
        """What the learner says about the rows, a stretch at a time."""
        return np.concatenate([question(rows) for rows, _ in self._blocks(X)])

    def _centres(self) -> bool:
        return self.scaler_ is not None and self.scaler_.with_mean

    def _rows(self, X: Any) -> Any:
        """Some rows as the learner reads them: scaled, and with the intercept's column."""
        scaler = self.scaler_
        if self._centres() and scipy.sparse.issparse(X):
            X = X.toarray()  # zero is no longer the usual number
        if scipy.sparse.issparse(X):
            if scaler is not None:
                X = X.copy() if X.dtype == np.float64 else X.astype(np.float64)
                X.data /= scaler.scale_[X.indices]
            return _with_column(X, self._one) if self._one else X
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


class _Classifier(ClassifierMixin, _Estimator):
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
        return self._answers(self.learner_.predict, X)

    def _scores(self, X: Any) -> Vector:
        """What `decision_function` answers about rows that were checked."""
        scores = self._answers(self.learner_.decision_function, X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) <= 2 else scores

    # --- learning ---------------------------------------------------------------------------

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

    def partial_fit(self, X: RowsLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
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
        known = self._checked_classes(classes, first)
        with self._all_or_nothing():
            X, y, weight = self._validated(X, y, weight, reset=first)
            labels = (self._open(known, X, y, self._chance()) if first
                      else _numbers_of(self.classes_, y))
            self._measure(X, weight)
            self._spare(X, weight)
            self._pass(X, labels, weight, None)
        return self

    def _checked_classes(self, classes, first):
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
        labels = _numbers_of(classes, y)
        # learners know no fewer than two classes; a second one that never comes does no harm
        self._begin(max(2, len(classes)), chance)
        self._settle(X)
        self.classes_ = classes
        return labels

    def _pass(self, X, labels, weight, order):
        for rows, at in self._blocks(X, order):
            self._learn(rows, labels[at], None if weight is None else weight[at])


class _Probabilities(_Classifier):
    """A classifier that knows how likely each class is, by `_chances` of at least two."""

    def predict_proba(self, X: RowsLike) -> Vector:
        """The chance of each class.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
            A row an example.

        Returns
        -------
        ndarray of shape (n, K)
            The probability of each class, in the order of `classes_`; rows sum to 1.
        """
        given = self._read(X)
        if len(self.classes_) == 1:
            return np.ones((given.shape[0], 1))
        return self._chances(given)

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


# --- multiclass learners ------------------------------------------------------------------------


class OnlineClassifier(_Classifier):
    """A multiclass learner of this package behind ``fit``, ``partial_fit`` and ``predict``.

    Parameters
    ----------
    learner : multiclass learner, optional
        What learns, as a pattern: it is cloned, never changed, and its number of classes is that
        of the labels. None: ``Confidit(2)``. Its parameters are reached as ``learner__eta``.
    epochs : int, default=1
        Passes of `fit` over its rows.
    shuffle : bool, default=True
        Mix the rows before each pass of `fit`.
    random_state : int, RandomState instance or None, default=None
        For shuffling, and for what a learner draws that has no `seed` of its own.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, sorted.
    learner_ : multiclass learner
        The one that learned.

    See Also
    --------
    ConfiditClassifier : With intercept and scaling; so have its kin.

    Notes
    -----
    `Confidit` and `Banditron` see only whether their own choice was right, as always; the label
    is used for nothing else.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast.adapters.sklearn import OnlineClassifier
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.1, 1.0]])
    >>> model = OnlineClassifier(epochs=5, random_state=0).fit(X, ["a", "b", "a", "b"])
    >>> model.predict([[0.9, 0.0], [0.0, 0.9]]).tolist()
    ['a', 'b']
    """

    _passes = "epochs"

    def __init__(self, learner: Any = None, *, epochs: Whole = 1, shuffle: bool = True,
                 random_state: Any = None) -> None:
        store_parameters(self, locals())

    def _begin(self, n_classes, chance):
        self.learner_ = seeded(fresh(self.learner, n_classes), chance)


class _Named(_Classifier):
    """A multiclass learner of one kind, whose parameters are this estimator's own."""

    _kind: ClassVar[Callable[..., Any]]
    _thin_one = 0.1

    def _begin(self, n_classes, chance):
        words = own_parameters(self._kind, vars(self))
        self.learner_ = seeded(self._kind(n_classes, **words), chance)


class _Coefficients(_Estimator):
    """`coef_` and `intercept_` of a classifier whose scores are w.x."""

    @property
    def coef_(self) -> Vector:
        """The weights of the features in the units of X.

        Of two classes the second's less the first's. With ``normalize=True`` they go with X up to
        a factor for each row.

        Returns
        -------
        ndarray of shape (K, d), or (1, d) for two classes
            In the units of the columns as they were given, before scaling.
        """
        check_is_fitted(self)
        return self._in_units_of_the_input(self._weights())[0]

    @property
    def intercept_(self) -> Vector:
        """What belongs to `coef_`; 0 without an intercept where X is not centred."""
        check_is_fitted(self)
        return self._in_units_of_the_input(self._weights())[1]


class _Linear(_Coefficients, _Named):
    """A learner with one vector of weights a class."""

    def _weights(self):
        if getattr(self.learner_, "covariance", None) == "kernel":
            raise AttributeError(f"{type(self).__name__} has no coef_ and intercept_ with "
                                 'covariance="kernel"')
        weights = self.learner_.weights
        return weights[1:] - weights[:1] if len(self.classes_) <= 2 else weights


class ConfiditClassifier(_Probabilities, _Linear):
    """`coactive_fast.Confidit`: seeing right or wrong only, it explores by confidence.

    The label is used for that one bit and for nothing else, as if it were hidden.

    Parameters
    ----------
    covariance, confidence, eta, alpha, projection, norm_bound, delta, approximation_error, \
diagonal_step, normalize, kernel, kernel_params
        As for `coactive_fast.Confidit`.
    fit_intercept : bool, default True
        Adds a column of ones, which is learned like any other feature. To sparse rows it adds
        0.1: a text is often a row of length 1, and an intercept that each mistake moves as far as
        all its words together swings (20 newsgroups after one pass, Perceptron: 75 % right and not
        47; scikit-learn's linear models do the like).
    n_epochs : int, default 10
        Passes of `fit` over its rows.
    scale : {"dense", True, False}, default "dense"
        Whether each feature is brought to mean 0 and variance 1, by the rows seen so far: those of
        `fit`, or of all calls of `partial_fit` up to this one. Sparse rows are divided by the
        standard deviation and not centred, and "dense" leaves them alone: weighted words need
        nothing.
    shuffle : bool, default True
        Mix the rows before each pass of `fit`.
    random_state : int, RandomState instance or None, default None
        For shuffling, and for what the learner draws.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, sorted.
    learner_ : Confidit
        The one that learned, on scaled rows with the intercept's column.
    scaler_ : StandardScaler or None
        What the columns were standardised by; None with scale=False.
    n_features_in_ : int
        Columns of the rows it was fitted on.
    feature_names_in_ : ndarray of shape (d,)
        Where X had names, all of them strings.

    See Also
    --------
    BanditronClassifier : Sees as little, faster and with more mistakes.
    AROWClassifier : Sees the label.

    Notes
    -----
    `predict_proba` goes by Confidit's own model, ``P(y = i | x) = (alpha + u_i.x) / (1 + alpha)``.
    The scores stand for ``u_i.x``; what they give is projected on the simplex, so that the chances
    are none below 0 and sum to 1.

    References
    ----------
    K. Crammer, C. Gentile. Multiclass classification with bandit feedback using adaptive
    regularization. Machine Learning 90, 2013.

    Examples
    --------
    >>> from coactive_fast.adapters.sklearn import ConfiditClassifier
    >>> model = ConfiditClassifier(random_state=0).fit([[1], [2], [3], [4]], list("aabb"))
    >>> model.predict([[0], [5]]).tolist()
    ['a', 'b']
    >>> model.predict_proba([[0]]).argmax(axis=1)
    array([0])
    """

    _kind = cf.Confidit

    def __init__(self, *, covariance: Literal["diagonal", "full", "kernel"] = "diagonal",
                 confidence: Literal["constant", "theory", "selfnormalized"] = "constant",
                 eta: Real = 1.0, alpha: Real = 1.0, projection: bool = False,
                 norm_bound: Real = 1.0, delta: Real = 0.05,
                 approximation_error: Real | ArrayLike | Callable[[int], Real] = 0.0,
                 diagonal_step: Literal["residual", "printed"] = "residual",
                 normalize: bool = False, kernel: Kernel = "linear",
                 kernel_params: Mapping[str, Any] | None = None, fit_intercept: bool = True,
                 n_epochs: Whole = 10, scale: Scale = "dense", shuffle: bool = True,
                 random_state: Any = None) -> None:
        store_parameters(self, locals())

    def _chances(self, X):
        scores = self._answers(self.learner_.decision_function, X)
        alpha = self.learner_.alpha
        return _on_the_simplex((scores + alpha) / (1.0 + alpha))


class BanditronClassifier(_Linear):
    """`coactive_fast.Banditron`: seeing right or wrong only, it explores by chance.

    Parameters
    ----------
    gamma : float, default 0.05
        How much it explores, in (0, 1].
    fit_intercept, n_epochs, scale, shuffle, random_state
        As for `ConfiditClassifier`; what is drawn while learning follows `random_state`.

    Attributes
    ----------
    classes_, learner_, scaler_, n_features_in_, feature_names_in_
        As for `ConfiditClassifier`.

    See Also
    --------
    ConfiditClassifier : Explores by confidence; as a rule fewer mistakes.

    References
    ----------
    S. M. Kakade, S. Shalev-Shwartz, A. Tewari. Efficient bandit algorithms for online multiclass
    prediction. ICML 2008.

    Examples
    --------
    >>> from coactive_fast.adapters.sklearn import BanditronClassifier
    >>> model = BanditronClassifier(random_state=0).fit([[1], [2], [3], [4]], list("aabb"))
    >>> model.predict([[0], [5]]).tolist()
    ['a', 'b']
    """

    _kind = cf.Banditron

    def __init__(self, *, gamma: Real = 0.05, fit_intercept: bool = True, n_epochs: Whole = 10,
                 scale: Scale = "dense", shuffle: bool = True, random_state: Any = None) -> None:
        store_parameters(self, locals())


class PerceptronClassifier(_Linear):
    """`coactive_fast.MulticlassPerceptron`: the multiclass Perceptron.

    Parameters
    ----------
    fit_intercept, n_epochs, scale, shuffle, random_state
        As for `ConfiditClassifier`.

    Attributes
    ----------
    classes_, learner_, scaler_, n_features_in_, feature_names_in_
        As for `ConfiditClassifier`.

    See Also
    --------
    AROWClassifier : Second order; fewer mistakes.

    References
    ----------
    K. Crammer, Y. Singer. Ultraconservative online algorithms for multiclass problems. Journal of
    Machine Learning Research 3, 2003.

    Examples
    --------
    >>> from coactive_fast.adapters.sklearn import PerceptronClassifier
    >>> model = PerceptronClassifier(random_state=0).fit([[1], [2], [3], [4]], [0, 0, 1, 1])
    >>> model.score([[1], [2], [3], [4]], [0, 0, 1, 1])
    1.0
    """

    _kind = cf.MulticlassPerceptron

    def __init__(self, *, fit_intercept: bool = True, n_epochs: Whole = 10,
                 scale: Scale = "dense", shuffle: bool = True, random_state: Any = None) -> None:
        store_parameters(self, locals())


class SecondOrderPerceptronClassifier(_Named):
    """`coactive_fast.MulticlassSecondOrderPerceptron`: the second-order Perceptron, diagonal.

    The row that is asked about counts in the matrix, so scores are not linear in it, and there is
    no `coef_`.

    Parameters
    ----------
    a : float, default 1.0
        > 0.
    fit_intercept, n_epochs, scale, shuffle, random_state
        As for `ConfiditClassifier`.

    Attributes
    ----------
    classes_, learner_, scaler_, n_features_in_, feature_names_in_
        As for `ConfiditClassifier`.

    See Also
    --------
    AROWClassifier : A second order with confidence in each class.

    References
    ----------
    N. Cesa-Bianchi, A. Conconi, C. Gentile. A second-order Perceptron algorithm. SIAM Journal on
    Computing 34, 2005.

    Examples
    --------
    >>> from coactive_fast.adapters.sklearn import SecondOrderPerceptronClassifier
    >>> model = SecondOrderPerceptronClassifier(random_state=0)
    >>> model.fit([[1], [2], [3], [4]], list("aabb")).predict([[0], [5]]).tolist()
    ['a', 'b']
    """

    _kind = cf.MulticlassSecondOrderPerceptron

    def __init__(self, *, a: Real = 1.0, fit_intercept: bool = True, n_epochs: Whole = 10,
                 scale: Scale = "dense", shuffle: bool = True, random_state: Any = None) -> None:
        store_parameters(self, locals())


class AROWClassifier(_Linear):
    """`coactive_fast.MulticlassAROW`: adaptive regularisation of weights, diagonal.

    Parameters
    ----------
    r : float, default 1.0
        > 0; the larger, the smaller the steps.
    fit_intercept, n_epochs, scale, shuffle, random_state
        As for `ConfiditClassifier`.

    Attributes
    ----------
    classes_, learner_, scaler_, n_features_in_, feature_names_in_
        As for `ConfiditClassifier`.

    See Also
    --------
    ConfiditClassifier : Where only right or wrong is seen.

    References
    ----------
    K. Crammer, A. Kulesza, M. Dredze. Adaptive regularization of weight vectors. NIPS 2009.

    Examples
    --------
    >>> from coactive_fast.adapters.sklearn import AROWClassifier
    >>> model = AROWClassifier(random_state=0).fit([[1], [2], [3], [4]], list("aabb"))
    >>> model.predict([[0], [5]]).tolist()
    ['a', 'b']
    """

    _kind = cf.MulticlassAROW

    def __init__(self, *, r: Real = 1.0, fit_intercept: bool = True, n_epochs: Whole = 10,
                 scale: Scale = "dense", shuffle: bool = True, random_state: Any = None) -> None:
        store_parameters(self, locals())


# --- a filter, and logistic regressions ---------------------------------------------------------


class RidgeFilterClassifier(_Probabilities):
    """`coactive_fast.RidgeFilter`: two classes, of which the second is the relevant one.

    While it learns it sees the labels of the rows only that it forwards, unless
    ``feedback="full"``.

    Parameters
    ----------
    threshold_scale, covariance, feedback, forget, window, cost_ratio, calibrate, rule, delta, \
width, power, floor, kernel, kernel_params, budget, tolerance
        As for `coactive_fast.RidgeFilter`.
    fit_intercept : bool, default True
        Adds a column of ones, which is learned like any other feature.
    n_epochs : int, default 1
        Passes of `fit` over its rows; each counts them once more, as if there were as many of
        them, so that a second one does no more than to make the ridge weigh half.
    scale, shuffle, random_state
        As for `ConfiditClassifier`. The filter draws nothing.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels, sorted; the second one is the relevant one.
    learner_ : RidgeFilter
        The one that learned, on scaled rows with the intercept's column.
    scaler_, n_features_in_, feature_names_in_
        As for `ConfiditClassifier`.

    See Also
    --------
    OnlineLogisticClassifier : Sees all labels; more than two classes.

    Notes
    -----
    A margin estimates ``2 P(relevant | x) - 1``. `decision_function` is the margin (calibrated:
    what the fitted probability makes of it) less the threshold of the costs,
    ``(cost_ratio - 1) / (cost_ratio + 1)``; where it is above 0 the second class is predicted.
    `predict_proba` disregards costs: the second class has ``(1 + margin) / 2`` within [0, 1], or
    what was fitted to the labels (``calibrate=True``). The filter's own falling threshold, which
    makes it explore, counts while it learns.

    References
    ----------
    N. Cesa-Bianchi, A. Conconi, C. Gentile. Margin-based algorithms for information filtering. NIPS
    15, 2003.

    Examples
    --------
    >>> from coactive_fast.adapters.sklearn import RidgeFilterClassifier
    >>> model = RidgeFilterClassifier(random_state=0).fit([[1], [2], [3], [4]], list("aabb"))
    >>> model.predict([[0], [5]]).tolist()
    ['a', 'b']
    """

    def __init__(self, *, threshold_scale: Real = 5.0,
                 covariance: Literal["full", "diagonal", "kernel"] = "full",
                 feedback: Literal["forwarded", "full"] = "forwarded", forget: Real = 1.0,
                 window: Whole | None = None, cost_ratio: Real = 1.0, calibrate: bool = False,
                 rule: Literal["paper", "ucb", "bbq", "dgs"] = "paper", delta: Real = 0.05,
                 width: Real | Literal["theory"] = "theory", power: Real = 0.5, floor: Real = 0.0,
                 kernel: Kernel = "linear", kernel_params: Mapping[str, Any] | None = None,
                 budget: Whole | None = None, tolerance: Real = 1e-2, fit_intercept: bool = True,
                 n_epochs: Whole = 1, scale: Scale = "dense", shuffle: bool = True,
                 random_state: Any = None) -> None:
        store_parameters(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _chances(self, X):
        relevant = np.clip((1.0 + self._margins(X)) / 2.0, 0.0, 1.0)
        return np.column_stack([1.0 - relevant, relevant])

    def _margins(self, X):
        """Of every row; calibrated, ``2 p - 1`` of the fitted probability."""
        learner = self.learner_
        if not learner.calibrate:
            return self._answers(learner.margins, X)
        return np.array([2.0 * learner.probability(rows[i:i + 1]) - 1.0
                         for rows, _ in self._blocks(X) for i in range(rows.shape[0])])

    def _scores(self, X):
        return self._margins(X) - cost_threshold(self.learner_.cost_ratio)

    def _best(self, X):
        return (self._scores(X) > 0.0).astype(np.intp)

    def _checked_classes(self, classes, first):
        known = super()._checked_classes(classes, first)
        if known is not None and len(known) > 2:
            raise ValueError("classes must hold two labels: only binary classification is "
                             f"supported, got {len(known)}")
        return known

    def _begin(self, n_classes, chance):
        self.learner_ = cf.RidgeFilter(**own_parameters(cf.RidgeFilter, vars(self)))

    def _learn(self, rows, labels, weight):
        self.learner_.run(rows, labels == 1)

    def _validated(self, X, y, weight, reset):
        X, y, weight = super()._validated(X, y, weight, reset)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError("Only binary classification is supported. The type of the target is "
                             f"{kind}.")
        return X, y, weight


class OnlineLogisticClassifier(_Probabilities, _Coefficients):
    """Logistic regressions by `coactive_fast.OnlineRidge`: one pass and no step size.

    Of more than two classes each against the rest.

    Parameters
    ----------
    covariance : {"full", "diagonal"}, default "full"
        Full: O(d^2) a row and class. Diagonal: any number of features, sparse rows.
    ridge, forget : float, default 1.0
        As for `coactive_fast.OnlineRidge`.
    fit_intercept : bool, default True
        Adds a column of ones, which is regularised like any other feature.
    n_epochs : int, default 1
        Passes of `fit` over its rows; each counts them once more, as if there were as many of
        them: probabilities become surer with it.
    scale, shuffle, random_state
        As for `ConfiditClassifier`. Nothing is drawn but the order of the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, sorted.
    learners_ : list of OnlineRidge
        One for each class, or one alone for the second of two.
    scaler_, n_features_in_, feature_names_in_
        As for `ConfiditClassifier`.

    See Also
    --------
    AROWClassifier : Diagonal, for many features; no probabilities.

    Notes
    -----
    Each row moves the weights by one Newton step of the log loss (Gauss-Newton where the row is
    far on the wrong side), so what is learned depends on the order of the rows a little. Of more
    than two classes `predict_proba` gives the regressions' own chances, divided by their sum.

    References
    ----------
    T. S. Jaakkola, M. I. Jordan. Bayesian parameter estimation via variational methods.
    Statistics and Computing 10, 2000.

    Examples
    --------
    >>> from coactive_fast.adapters.sklearn import OnlineLogisticClassifier
    >>> model = OnlineLogisticClassifier(random_state=0).fit([[1], [2], [3], [4]], list("aabb"))
    >>> model.predict_proba([[2.5]]).round(1)
    array([[0.5, 0.5]])
    """

    learners_: list[cf.OnlineRidge]

    def __init__(self, *, covariance: Literal["full", "diagonal"] = "full", ridge: Real = 1.0,
                 forget: Real = 1.0, fit_intercept: bool = True, n_epochs: Whole = 1,
                 scale: Scale = "dense", shuffle: bool = True, random_state: Any = None) -> None:
        store_parameters(self, locals())

    def fit(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learns afresh.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
            A row an example.
        y : array_like, shape (n,)
            The label of each row.
        sample_weight : array_like, shape (n,), optional
            How much each row counts; one of weight 0 is left out.

        Returns
        -------
        self
            The fitted classifier.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: RowsLike, y: ArrayLike, classes: ArrayLike | None = None,
                    sample_weight: ArrayLike | None = None) -> Self:
        """Goes on learning, one pass in the order given, by the parameters of the first call.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
            A row an example.
        y : array_like, shape (n,)
            The label of each row, one of those given in `classes` at the first call.
        classes : array_like, optional
            All labels that will ever come; needed at the first call.
        sample_weight : array_like, shape (n,), optional
            How many times each row counts, none below 0; None: each once.

        Returns
        -------
        self
            The classifier with these rows learned.
        """
        return self._partial_fit(X, y, classes, sample_weight)

    def _chances(self, X):
        chances = expit(self._scores(X))
        if chances.ndim == 1:
            return np.column_stack([1.0 - chances, chances])
        chances = np.maximum(chances, np.finfo(float).tiny)
        return chances / chances.sum(axis=1, keepdims=True)

    def _weights(self):
        return np.array([learner.weights for learner in self.learners_])

    def _scores(self, X):
        weights = self._weights().T
        scores = self._answers(lambda rows: rows @ weights, X)
        return scores[:, 0] if len(self.learners_) == 1 else scores

    def _best(self, X):
        scores = self._scores(X)
        return (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)

    def _begin(self, n_classes, chance):
        words = own_parameters(cf.OnlineRidge, vars(self))
        self.learners_ = [cf.OnlineRidge(link="logistic", **words)
                          for _ in range(1 if n_classes == 2 else n_classes)]

    def _learn(self, rows, labels, weight):
        for i, learner in enumerate(self.learners_):
            own = 1 if len(self.learners_) == 1 else i
            learner.run(rows, (labels == own).astype(np.float64), weight=weight)

    def _validated(self, X, y, weight, reset):
        """The rows that count."""
        X, y, weight = super()._validated(X, y, weight, reset)
        weight = _check_sample_weight(weight, X, dtype=np.float64, ensure_non_negative=True)
        kept = weight > 0.0
        if not kept.any():  # scikit-learn says so itself from some version on
            raise ValueError("Sample weights must contain at least one non-zero number.")
        return (X, y, weight) if kept.all() else (X[kept], y[kept], weight[kept])


# --- ridge regression ---------------------------------------------------------------------------


class OnlineRidgeRegressor(RegressorMixin, _Estimator):
    """`coactive_fast.OnlineRidge` behind ``fit``, ``partial_fit`` and ``predict``.

    Parameters
    ----------
    link : {"identity", "logistic"}, default="identity"
        Logistic: targets in [0, 1], and so are the predictions.
    covariance : {"full", "diagonal"}, default="full"
        The whole matrix of the regression, or only its diagonal: less to keep, for many columns.
    ridge, noise, forget : float, default=1.0
        As for `coactive_fast.OnlineRidge`.
    fit_intercept : bool, default=True
        A column of ones is added, and regularised like any other.

    Attributes
    ----------
    learner_ : OnlineRidge
        The one that learned.
    coef_ : ndarray of shape (d,)
        In the units of the columns as they were given, before scaling.
    intercept_ : float
        What is predicted for a row of zeros.

    See Also
    --------
    OnlineLogisticClassifier : For labels.

    References
    ----------
    A. E. Hoerl, R. W. Kennard. Ridge regression: biased estimation for nonorthogonal problems.
    Technometrics 12, 1970.

    Examples
    --------
    >>> from coactive_fast.adapters.sklearn import OnlineRidgeRegressor
    >>> model = OnlineRidgeRegressor(ridge=1e-6)
    >>> model.partial_fit([[0.0], [1.0]], [1.0, 3.0]).predict([[2.0]]).round(3)
    array([5.])
    """

    def __init__(self, *, link: Literal["identity", "logistic"] = "identity",
                 covariance: Literal["full", "diagonal"] = "full", ridge: Real = 1.0,
                 noise: Real = 1.0, forget: Real = 1.0, fit_intercept: bool = True) -> None:
        store_parameters(self, locals())

    def fit(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learns afresh, the rows in their order.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
            A row an example.
        y : array_like, shape (n,)
            What is to be predicted for each row.
        sample_weight : array_like, shape (n,), optional
            A row of weight 0 is left out.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._learned(X, y, sample_weight, afresh=True)

    def partial_fit(self, X: RowsLike, y: ArrayLike,
                    sample_weight: ArrayLike | None = None) -> Self:
        """Goes on learning: without forgetting the same as one `fit` on all rows.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
            A row an example.
        y : array_like, shape (n,)
            What is to be predicted for each row.
        sample_weight : array_like, shape (n,), optional
            How many times each row counts, none below 0; None: each once.

        Returns
        -------
        self
            The estimator with these rows learned.
        """
        return self._learned(X, y, sample_weight, afresh=not hasattr(self, "learner_"))

    @overload
    def predict(self, X: RowsLike, return_std: Literal[False] = False) -> Vector: ...
    @overload
    def predict(self, X: RowsLike, return_std: Literal[True]) -> tuple[Vector, Vector]: ...
    def predict(self, X: Any, return_std: Any = False) -> Any:
        """What is expected of each row; with `return_std` also the spread of that mean.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
            A row an example.
        return_std : bool, default=False
            Whether the standard deviations of the predictions come along.

        Returns
        -------
        ndarray of shape (n,), or two of them
            The predictions; with `return_std` also their standard deviations.
        """
        X = self._read(X)
        found = [self.learner_.predict(rows, return_std=return_std) for rows, _ in self._blocks(X)]
        if return_std:
            return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
        return np.concatenate(found)

    @property
    def coef_(self) -> Vector:
        """The weights of the features."""
        check_is_fitted(self, "learner_")
        return self._in_units_of_the_input(self.learner_.weights)[0][0]

    @property
    def intercept_(self) -> float:
        """The weight of the column of ones, 0.0 without one."""
        check_is_fitted(self, "learner_")
        return float(self._in_units_of_the_input(self.learner_.weights)[1][0])

    def _learned(self, X: Any, y: Any, sample_weight: Any, afresh: bool) -> Self:
        with self._all_or_nothing():
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS, y_numeric=True,
                                 reset=afresh)
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64,
                                          ensure_non_negative=True)
            if afresh:
                self._settle(X)
                self.learner_ = cf.OnlineRidge(**own_parameters(cf.OnlineRidge, vars(self)))
            else:
                self._spare(X, y, weight)
            kept = weight > 0.0
            for rows, at in self._blocks(X, None if kept.all() else np.flatnonzero(kept)):
                self.learner_.run(rows, y[at], weight=weight[at])
        return self


# --- rankings -----------------------------------------------------------------------------------


class CoactiveRanker(_Estimator):
    """A ranker that learns from improved rankings, which are made from the grades of `fit`.

    For each query the documents are presented by the present weights, a simulated user who sees
    the grades improves the ranking, and the learner learns that. No pair of documents is ever
    formed: a query costs its documents' scores and one step.

    Parameters
    ----------
    rule : {"perceptron", "second-order", "exponentiated", "convex"} or learner, \
default "perceptron"
        What learns. A learner of `coactive_fast.Ranking`, as ``cf.PDGD(cf.Ranking(k=10))``, is a
        pattern: it is cloned, never changed, and its parameters are reached as ``rule__rate``.
    k : int, default 10
        Only so many places of a ranking count, in learning (a pattern has its own) and in `score`.
    user : object of `coactive_fast.users`, optional
        Who improves rankings; its own chance begins anew by `random_state`. None: one who puts the
        k documents of the highest grades in front. ``users.NoisyDepth(20)`` reads no further than
        the first 20. PDGD and PairwisePerceptron need `users.Clicks`.
    average : bool, default True
        Score by the mean of the weights after each round, which the last queries move less.
    n_epochs : int, default 10
        Passes of `fit` over its queries.
    scale : bool, default True
        Whether each feature is divided by its standard deviation, by the rows seen so far. An
        intercept or a mean would be the same for all documents, so there is none.
    shuffle : bool, default True
        Mix the queries before each pass of `fit`; the documents keep their order.
    random_state : int, RandomState instance or None, default None
        For shuffling, and for what the learner and the user draw.

    Attributes
    ----------
    learner_ : learner of `coactive_fast`
        The one that learned, on scaled documents.
    coef_ : ndarray of shape (d,)
        The weights by which documents are scored, in the units of X.
    scaler_ : StandardScaler or None
        What the columns were standardised by; None with scale=False.
    n_features_in_ : int
        Columns of the documents it was fitted on.
    feature_names_in_ : ndarray of shape (d,)
        Where X had names, all of them strings.

    See Also
    --------
    coactive_fast.PreferencePerceptron : One of the learners inside; its round by hand.

    Notes
    -----
    With metadata routing, ``set_fit_request(qid=True)`` and ``set_score_request(qid=True)`` take
    the queries through pipelines, searches and cross-validation; cut by `GroupKFold`.

    References
    ----------
    P. Shivaswamy, T. Joachims. Coactive learning. Journal of Artificial Intelligence Research 53,
    2015.

    Examples
    --------
    >>> import numpy as np
    >>> import coactive_fast as cf
    >>> from coactive_fast.adapters.sklearn import CoactiveRanker
    >>> data = cf.data.make_ranking(n_queries=50, n_features=5, seed=0)
    >>> X, y, qid = data.features, data.relevance, np.repeat(range(50), np.diff(data.offsets))
    >>> model = CoactiveRanker(random_state=0).fit(X, y, qid=qid)
    >>> bool(model.score(X, y, qid=qid) > 0.85)
    True
    >>> first = data[0].features
    >>> bool(model.rank(first)[0] == model.predict(first).argmax())
    True
    """

    learner_: Any
    user_: Any
    _centred = False

    def __init__(self, rule: Literal["perceptron", "second-order", "exponentiated", "convex"]
                 | CoactiveLearner = "perceptron", *, k: Whole = 10, user: Any = None,
                 average: bool = True, n_epochs: Whole = 10, scale: bool = True,
                 shuffle: bool = True, random_state: Any = None) -> None:
        store_parameters(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.target_tags.required = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike | None = None) -> Self:
        """Learns afresh.

        Parameters
        ----------
        X : array_like, shape (n, d)
            The documents of all queries.
        y : array_like, shape (n,)
            Their grades.
        qid : array_like, shape (n,), optional
            The query of each. None: all are of one query.

        Returns
        -------
        self
            The fitted ranker.
        """
        self._check_passes()
        chance = self._chance()
        with self._all_or_nothing():
            data = self._opened(X, y, qid, chance)
            self._pass(data, self._orders(len(data), chance))
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike | None = None) -> Self:
        """Goes on learning, one pass over the queries in their order.

        Parameters
        ----------
        X : array_like, shape (n, d)
            A row a document.
        y : array_like, shape (n,)
            The grade of each document, larger is better.
        qid : array_like, shape (n,), optional
            A query's documents must come in one call.

        Returns
        -------
        self
            The ranker with these queries learned.
        """
        with self._all_or_nothing():
            if hasattr(self, "learner_"):
                data = self._queries(X, y, qid, reset=False)
                # what is stopped half-way leaves the old ones
                self.learner_, self.user_ = copy.deepcopy((self.learner_, self.user_))
            else:
                data = self._opened(X, y, qid, self._chance())
            self._pass(data, [None])
        return self

    def predict(self, X: ArrayLike) -> Vector:
        """The scores of documents; within a query the larger, the better.

        Parameters
        ----------
        X : array_like, shape (n, d)
            A row a document.

        Returns
        -------
        ndarray of shape (n,)
            A score a document, larger is better; comparable within a query only.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        return self._answers(partial(self.learner_.scores, average=self._by_mean), X)

    def rank(self, X: ArrayLike, qid: ArrayLike | None = None) -> NDArray[np.intp]:
        """The documents of each query, best first, ties to the one that comes first.

        Parameters
        ----------
        X : array_like, shape (n, d)
            A row a document.
        qid : array_like, shape (n,), optional
            None: all are of one query.

        Returns
        -------
        ndarray of intp, shape (n,)
            Rows of X: those of the first query, then of the next, in the order in which queries
            first come.
        """
        scores = self.predict(X)
        return np.lexsort((-scores, _numbered(qid, len(scores))))

    def score(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike | None = None,
              sample_weight: ArrayLike | None = None) -> float:
        """The mean NDCG of the first k places over the queries; the gain is ``2^grade - 1``.

        A query without a document of a grade above 0 counts 0.

        Parameters
        ----------
        X : array_like, shape (n, d)
            A row a document.
        y : array_like, shape (n,)
            Grades >= 0.
        qid : array_like, shape (n,), optional
            The query of each document; None: all belong to one.
        sample_weight : array_like, shape (n,), optional
            A query counts by the mean of its documents'.

        Returns
        -------
        float
            Between 0 and 1, where 1 is a perfect order in every query.
        """
        scores = self.predict(X)
        order, offsets = _grouped(qid, len(scores))
        query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        ranking = np.lexsort((-scores[order], query)) - offsets[query]
        grades = column_or_1d(y, dtype=np.float64)
        check_consistent_length(grades, scores)
        found = cf.metrics.ndcg(grades[order], ranking, k=count("k", self.k, least=1),
                                gain="exponential", offsets=offsets)
        if sample_weight is None:
            return float(found.mean())
        weight = _check_sample_weight(sample_weight, scores, ensure_non_negative=True)
        weight = np.add.reduceat(weight[order], offsets[:-1]) / np.diff(offsets)
        return float(np.average(found, weights=weight))

    @property
    def coef_(self) -> Vector:
        """The weights by which documents are scored, in the units of X."""
        check_is_fitted(self)
        if getattr(self.learner_, "kernel", None) is not None:
            raise AttributeError("CoactiveRanker has no coef_ with a kernel")
        learner = self.learner_
        weights = learner.average_weights if self._by_mean else learner.weights
        return self._in_units_of_the_input(weights)[0][0]

    # --- inside -----------------------------------------------------------------------------

    def _opened(self, X, y, qid, chance):
        """The queries, with a fresh learner and a user for them."""
        average = switch("average", self.average)
        learner = self._made()
        self.learner_ = seeded(learner, chance)
        self.user_ = self._employed(chance)
        # with a kernel there is no mean of weights
        self._by_mean = average and getattr(learner, "kernel", None) is None
        return self._queries(X, y, qid, reset=True)

    def _made(self):
        if isinstance(self.rule, CoactiveLearner):
            if not isinstance(self.rule.task, cf.Ranking):
                raise TypeError(f"rule must be a learner of rankings, and its task is "
                                f"{self.rule.task!r}")
            return self.rule.clone()
        if not isinstance(self.rule, str):
            raise TypeError(f"rule must be a word or a learner of coactive_fast, got {self.rule!r}")
        return RULES[choice("rule", self.rule, tuple(RULES))](
            cf.Ranking(k=count("k", self.k, least=1)))

    def _employed(self, chance):
        """A user of our own, with a chance of its own."""
        user = copy.deepcopy(self.user)
        if user is None:
            user = cf.users.NoisyDepth(DEPTH, k=count("k", self.k, least=1))
        elif hasattr(user, "rng"):
            user.rng = np.random.default_rng(int(chance.randint(2**31 - 1)))
        return user

    def _queries(self, X, y, qid, reset):
        X, y = validate_data(self, X, y, dtype=FLOATS, y_numeric=True, reset=reset)
        if reset:
            self._settle(X)
        self._measure(X)
        order, offsets = _grouped(qid, len(X))
        return cf.data.RankingData(self._rows(X[order]), y[order], offsets)

    def _pass(self, data, orders):
        # regret is nobody's business here: without weights they would be fitted for it
        weights = np.zeros(data.dimension) if self.user is None else None
        for order in orders:
            cf.simulate(self.learner_, data, self.user_, order=order, weights=weights)


# --- helpers ------------------------------------------------------------------------------------


def _with_column(X: Any, value: float) -> Any:
    """CSR rows with one more column, which holds the value; a fifth of the time of hstack."""
    n = X.shape[0]
    ends = X.indptr + np.arange(n + 1, dtype=X.indptr.dtype)
    old = np.ones(ends[-1], dtype=bool)
    old[ends[1:] - 1] = False
    entries, places = np.full(ends[-1], value), np.full(ends[-1], X.shape[1], X.indices.dtype)
    used = X.indptr[-1]  # the arrays may be longer
    entries[old], places[old] = X.data[:used], X.indices[:used]
    return type(X)((entries, places, ends), shape=(n, X.shape[1] + 1))


def _numbers_of(classes: NDArray[Any], y: Any) -> NDArray[np.intp]:
    """The place of each label among the classes, which are sorted."""
    places = np.searchsorted(classes, y)
    known = places < len(classes)
    if not (known.all() and (classes[places] == y).all()):
        raise ValueError(f"y must hold labels of {classes.tolist()} only")
    return places


def _on_the_simplex(rows: Vector) -> Vector:
    """Each row's nearest point among those that sum to 1 with nothing below 0."""
    falling = -np.sort(-rows, axis=1)
    over = np.cumsum(falling, axis=1) - 1.0
    kept = falling * np.arange(1, rows.shape[1] + 1) > over
    last = kept.sum(axis=1) - 1  # at least the first is kept
    shift = over[np.arange(len(rows)), last] / (last + 1.0)
    shares = np.maximum(rows - shift[:, None], 0.0)
    return shares / shares.sum(axis=1, keepdims=True)


def _numbered(qid, n):
    """The number of each row's query; queries are numbered as they first come."""
    if qid is None:
        return np.zeros(n, dtype=np.intp)
    qid = column_or_1d(qid)
    same_length("qid", len(qid), n, "X")
    _, first, inverse = np.unique(qid, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _grouped(qid, n):
    """The rows query by query, and where each query begins."""
    number = _numbered(qid, n)
    order = np.argsort(number, kind="stable")
    return order, np.concatenate(([0], np.cumsum(np.bincount(number))))
