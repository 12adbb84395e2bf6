"""The multiclass learners as scikit-learn classifiers (extra ``sklearn``)."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

import coactive_fast as cf

__all__ = ["OnlineClassifier"]


class OnlineClassifier(ClassifierMixin, BaseEstimator):
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
    random_state : int or None, default=None
        For shuffling.

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
        X, y = self._validated(X, y, reset=True)
        self._begin(unique_labels(y))
        labels = np.searchsorted(self.classes_, y)
        rng = np.random.default_rng(self.random_state)
        for _ in range(self.epochs):
            order = rng.permutation(len(labels)) if self.shuffle else slice(None)
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
        X, y = self._validated(X, y, reset=first)
        if first:
            if classes is None:
                raise ValueError("classes must be given at the first call of partial_fit")
            self._begin(unique_labels(classes))
        elif classes is not None and not np.array_equal(unique_labels(classes), self.classes_):
            raise ValueError(f"classes must be those of the first call, {self.classes_.tolist()}")
        labels = np.searchsorted(self.classes_, y)
        known = labels < len(self.classes_)
        if not (known.all() and (self.classes_[labels] == y).all()):
            raise ValueError(f"y must hold labels of {self.classes_.tolist()} only")
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
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
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
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        scores = self.learner_.decision_function(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) <= 2 else scores

    def _validated(self, X, y, reset):
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32),
                             reset=reset)
        check_classification_targets(y)
        return X, y

    def _begin(self, classes):
        pattern = cf.Confidit(2) if self.learner is None else self.learner
        # learners know no fewer than two classes; a second one that never comes does no harm
        self.learner_ = pattern.clone().set_params(n_classes=max(2, len(classes)))
        self.classes_ = classes

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
