"""A filter and logistic regressions as scikit-learn classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

import coactive_fast as cf
from coactive_fast._typing import Kernel, Real, RowsLike, Vector, Whole
from coactive_fast.filtering._learners import cost_threshold

from ._pattern import own_words
from ._sklearn_shell import Classifier, FromLabels, Probabilities

if TYPE_CHECKING:
    from typing_extensions import Self


class RidgeFilterClassifier(Probabilities, FromLabels):
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
    `predict_proba` knows nothing of costs. The filter's own falling threshold, which makes it
    explore, counts while it learns.

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
                 n_epochs: Whole = 1, scale: bool | Literal["dense"] = "dense",
                 shuffle: bool = True, random_state: Any = None) -> None:
        self.threshold_scale = threshold_scale
        self.covariance = covariance
        self.feedback = feedback
        self.forget = forget
        self.window = window
        self.cost_ratio = cost_ratio
        self.calibrate = calibrate
        self.rule = rule
        self.delta = delta
        self.width = width
        self.power = power
        self.floor = floor
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.budget = budget
        self.tolerance = tolerance
        self.fit_intercept = fit_intercept
        self.n_epochs = n_epochs
        self.scale = scale
        self.shuffle = shuffle
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def predict_proba(self, X: RowsLike) -> Vector:
        """The chance of each class.

        Of the second ``(1 + margin) / 2`` within [0, 1], or what was fitted to the labels
        (``calibrate=True``).

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
            A row an example.

        Returns
        -------
        ndarray of shape (n, 2)
            The probability of each class, in the order of `classes_`; rows sum to 1.
        """
        given = self._read(X)
        if len(self.classes_) == 1:
            return np.ones((given.shape[0], 1))
        relevant = np.clip((1.0 + self._margins(given)) / 2.0, 0.0, 1.0)
        return np.column_stack([1.0 - relevant, relevant])

    def _margins(self, X):
        """Of every row; calibrated, ``2 p - 1`` of the fitted probability."""
        learner = self.learner_
        if not learner.calibrate:
            return np.concatenate([learner.margins(rows) for rows, _ in self._blocks(X)])
        return np.array([2.0 * learner.probability(rows[i:i + 1]) - 1.0
                         for rows, _ in self._blocks(X) for i in range(rows.shape[0])])

    def _scores(self, X):
        return self._margins(X) - cost_threshold(self.learner_.cost_ratio)

    def _best(self, X):
        return (self._scores(X) > 0.0).astype(np.intp)

    def _known(self, classes, first):
        known = super()._known(classes, first)
        if known is not None and len(known) > 2:
            raise ValueError("classes must hold two labels: only binary classification is "
                             f"supported, got {len(known)}")
        return known

    def _begin(self, n_classes, chance):
        self.learner_ = cf.RidgeFilter(**own_words(cf.RidgeFilter, vars(self)))

    def _learn(self, rows, labels, weight):
        self.learner_.run(rows, labels == 1)

    def _validated(self, X, y, weight, reset):
        X, y, weight = super()._validated(X, y, weight, reset)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError("Only binary classification is supported. The type of the target is "
                             f"{kind}.")
        return X, y, weight


class OnlineLogisticClassifier(Probabilities, Classifier):
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
    far on the wrong side), so what is learned depends on the order of the rows a little.

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
                 scale: bool | Literal["dense"] = "dense", shuffle: bool = True,
                 random_state: Any = None) -> None:
        self.covariance = covariance
        self.ridge = ridge
        self.forget = forget
        self.fit_intercept = fit_intercept
        self.n_epochs = n_epochs
        self.scale = scale
        self.shuffle = shuffle
        self.random_state = random_state

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

    def predict_proba(self, X: RowsLike) -> Vector:
        """The chance of each class; of more than two the regressions' own, divided by their sum.

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
        chances = expit(self._scores(given))
        if chances.ndim == 1:
            return np.column_stack([1.0 - chances, chances])
        chances = np.maximum(chances, np.finfo(float).tiny)
        return chances / chances.sum(axis=1, keepdims=True)

    @property
    def coef_(self) -> Vector:
        """The weights of the features in the units of X.

        Returns
        -------
        ndarray of shape (K, d), or (1, d) for two classes
            In the units of the columns as they were given, before scaling.
        """
        check_is_fitted(self)
        return self._in_units_of_the_input(self._weights())[0]

    @property
    def intercept_(self) -> Vector:
        """What belongs to `coef_`."""
        check_is_fitted(self)
        return self._in_units_of_the_input(self._weights())[1]

    def _weights(self):
        return np.array([learner.weights for learner in self.learners_])

    def _scores(self, X):
        weights = self._weights().T
        scores = np.concatenate([rows @ weights for rows, _ in self._blocks(X)])
        return scores[:, 0] if len(self.learners_) == 1 else scores

    def _best(self, X):
        scores = self._scores(X)
        return (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)

    def _begin(self, n_classes, chance):
        words = own_words(cf.OnlineRidge, vars(self))
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
