"""Learners as scikit-learn classifiers and regressors (extra ``sklearn``)."""

import contextlib

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

import coactive_fast as cf
from coactive_fast.adapters._pattern import fresh
from coactive_fast.learner._check import count, switch

__all__ = ["OnlineClassifier", "OnlineRidgeRegressor"]


FLOATS = (np.float64, np.float32)


class _AllOrNothing:
    """A fit that is refused, or stopped, leaves what was fitted before."""

    @contextlib.contextmanager
    def _all_or_nothing(self):
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class OnlineClassifier(_AllOrNothing, ClassifierMixin, BaseEstimator):
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
        For shuffling. What a learner draws itself has its own `seed`.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    learner_ : multiclass learner
        The one that learned.

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

    def __init__(self, learner=None, *, epochs=1, shuffle=True, random_state=None):
        self.learner = learner
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X, y):
        """Learns afresh.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
        y : array_like, shape (n,)

        Returns
        -------
        self
        """
        epochs, shuffle = count("epochs", self.epochs, least=1), switch("shuffle", self.shuffle)
        try:
            chance = check_random_state(self.random_state)
        except ValueError as error:
            raise ValueError(f"random_state: {error}") from None
        with self._all_or_nothing():
            X, y = self._validated(X, y, reset=True)
            labels = self._begin(np.unique(y), y)
            for _ in range(epochs):
                order = chance.permutation(len(labels)) if shuffle else slice(None)
                self.learner_.run(X[order], labels[order])
        return self

    def partial_fit(self, X, y, classes=None):
        """Goes on learning, one pass in the order given.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
        y : array_like, shape (n,)
        classes : array_like, optional
            All labels that will ever come; needed at the first call.

        Returns
        -------
        self
        """
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise ValueError("classes must be given at the first call of partial_fit")
        known = None if classes is None else unique_labels(classes)
        if known is not None and not len(known):
            raise ValueError("classes must hold at least one label")
        if not first and known is not None and not np.array_equal(known, self.classes_):
            raise ValueError(f"classes must be those of the first call, {self.classes_.tolist()}")
        with self._all_or_nothing():
            X, y = self._validated(X, y, reset=first)
            labels = self._begin(known, y) if first else _numbers(self.classes_, y)
            self.learner_.run(X, labels)
        return self

    def predict(self, X):
        """The class of the largest score for each row.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, X.shape[0])
        return self.classes_[self.learner_.predict(X)]

    def decision_function(self, X):
        """Scores of all classes; of two classes, by how much the second is ahead.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)

        Returns
        -------
        ndarray of shape (n, K), or (n,) for two classes
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        scores = self.learner_.decision_function(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) <= 2 else scores

    def _validated(self, X, y, reset):
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS,
                             reset=reset)
        check_classification_targets(y)
        return X, y

    def _begin(self, classes, y):
        """A fresh learner of these classes; the numbers of y among them."""
        labels = _numbers(classes, y)
        # learners know no fewer than two classes; a second one that never comes does no harm
        self.learner_ = fresh(self.learner, max(2, len(classes)))
        self.classes_ = classes
        return labels


def _numbers(classes, y):
    """The place of each label among the classes, which are sorted."""
    places = np.searchsorted(classes, y)
    known = places < len(classes)
    if not (known.all() and (classes[places] == y).all()):
        raise ValueError(f"y must hold labels of {classes.tolist()} only")
    return places


class OnlineRidgeRegressor(_AllOrNothing, RegressorMixin, BaseEstimator):
    """`coactive_fast.OnlineRidge` behind ``fit``, ``partial_fit`` and ``predict``.

    Parameters
    ----------
    link : {"identity", "logistic"}, default="identity"
        Logistic: targets in [0, 1], and so are the predictions.
    covariance : {"full", "diagonal"}, default="full"
    ridge, noise, forget : float, default=1.0
        As for `coactive_fast.OnlineRidge`.
    fit_intercept : bool, default=True
        A column of ones is added, and regularised like any other.

    Attributes
    ----------
    learner_ : OnlineRidge
        The one that learned.
    coef_ : ndarray of shape (d,)
    intercept_ : float

    Examples
    --------
    >>> from coactive_fast.adapters.sklearn import OnlineRidgeRegressor
    >>> model = OnlineRidgeRegressor(ridge=1e-6)
    >>> model.partial_fit([[0.0], [1.0]], [1.0, 3.0]).predict([[2.0]]).round(3)
    array([5.])
    """

    def __init__(self, *, link="identity", covariance="full", ridge=1.0, noise=1.0, forget=1.0,
                 fit_intercept=True):
        self.link = link
        self.covariance = covariance
        self.ridge = ridge
        self.noise = noise
        self.forget = forget
        self.fit_intercept = fit_intercept

    def fit(self, X, y, sample_weight=None):
        """Learns afresh, the rows in their order.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
        y : array_like, shape (n,)
        sample_weight : array_like, shape (n,), optional
            A row of weight 0 is left out.

        Returns
        -------
        self
        """
        return self._learned(X, y, sample_weight, afresh=True)

    def partial_fit(self, X, y, sample_weight=None):
        """Goes on learning: without forgetting the same as one `fit` on all rows.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
        y : array_like, shape (n,)
        sample_weight : array_like, shape (n,), optional

        Returns
        -------
        self
        """
        return self._learned(X, y, sample_weight, afresh=not hasattr(self, "learner_"))

    def predict(self, X, return_std=False):
        """What is expected of each row; with `return_std` also the spread of that mean.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
        return_std : bool, default=False

        Returns
        -------
        ndarray of shape (n,), or two of them
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        return self.learner_.predict(self._widened(X), return_std=return_std)

    @property
    def coef_(self):
        """The weights of the features."""
        check_is_fitted(self, "learner_")
        return self.learner_.weights[:self.n_features_in_]

    @property
    def intercept_(self):
        """The weight of the column of ones, 0.0 without one."""
        check_is_fitted(self, "learner_")
        return float(self.learner_.weights[-1]) if self._ones else 0.0

    def _learned(self, X, y, sample_weight, afresh):
        with self._all_or_nothing():
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=FLOATS, y_numeric=True,
                                 reset=afresh)
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64,
                                          ensure_non_negative=True)
            if afresh:
                self._ones = switch("fit_intercept", self.fit_intercept)
                self.learner_ = cf.OnlineRidge(link=self.link, covariance=self.covariance,
                                               ridge=self.ridge, noise=self.noise,
                                               forget=self.forget)
            kept = weight > 0.0
            self.learner_.run(self._widened(X)[kept], y[kept], weight=weight[kept])
        return self

    def _widened(self, X):
        """X, with the column of ones where there is one."""
        if not self._ones:
            return X
        if scipy.sparse.issparse(X):
            return scipy.sparse.hstack([X, np.ones((X.shape[0], 1))], format="csr")
        return np.hstack([X, np.ones((len(X), 1), dtype=X.dtype)])
