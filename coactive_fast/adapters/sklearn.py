"""Learners as scikit-learn classifiers, regressors and rankers (extra ``sklearn``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

import coactive_fast as cf
from coactive_fast._typing import Real, RowsLike, Vector, Whole

from ._pattern import fresh, seeded
from ._sklearn_binary import OnlineLogisticClassifier, RidgeFilterClassifier
from ._sklearn_data import validate_data
from ._sklearn_multiclass import (
    AROWClassifier,
    BanditronClassifier,
    ConfiditClassifier,
    PerceptronClassifier,
    SecondOrderPerceptronClassifier,
)
from ._sklearn_ranker import CoactiveRanker
from ._sklearn_shell import FLOATS, Estimator, FromLabels

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "AROWClassifier", "BanditronClassifier", "CoactiveRanker", "ConfiditClassifier",
    "OnlineClassifier", "OnlineLogisticClassifier", "OnlineRidgeRegressor", "PerceptronClassifier",
    "RidgeFilterClassifier", "SecondOrderPerceptronClassifier",
]


class OnlineClassifier(FromLabels):
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
        self.learner = learner
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def _begin(self, n_classes, chance):
        self.learner_ = seeded(fresh(self.learner, n_classes), chance)


class OnlineRidgeRegressor(RegressorMixin, Estimator):
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
        self.link = link
        self.covariance = covariance
        self.ridge = ridge
        self.noise = noise
        self.forget = forget
        self.fit_intercept = fit_intercept

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
            means, spreads = zip(*found, strict=True)
            return np.concatenate(means), np.concatenate(spreads)
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
                self.learner_ = cf.OnlineRidge(link=self.link, covariance=self.covariance,
                                               ridge=self.ridge, noise=self.noise,
                                               forget=self.forget)
            else:
                self._spare(X, y, weight)
            kept = weight > 0.0
            for rows, at in self._blocks(X, None if kept.all() else np.flatnonzero(kept)):
                self.learner_.run(rows, y[at], weight=weight[at])
        return self
