"""The multiclass learners as scikit-learn classifiers, each with its own parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

import coactive_fast as cf
from coactive_fast._typing import Kernel, Real, RowsLike, Vector, Whole

from ._pattern import own_words, seeded
from ._sklearn_shell import FromLabels, Probabilities


class Named(FromLabels):
    """A multiclass learner of one kind, whose parameters are this estimator's own."""

    _kind: ClassVar[Callable[..., Any]]
    _thin_one = 0.1

    def _begin(self, n_classes, chance):
        words = own_words(self._kind, vars(self))
        self.learner_ = seeded(self._kind(n_classes, **words), chance)


class Linear(Named):
    """One whose scores are w.x."""

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
        return self._weights()[0]

    @property
    def intercept_(self) -> Vector:
        """What belongs to `coef_`; 0 without an intercept where X is not centred."""
        return self._weights()[1]

    def _weights(self):
        check_is_fitted(self)
        if not self._has_weights():
            raise AttributeError(f"{type(self).__name__} has no coef_ and intercept_ with "
                                 'covariance="kernel"')
        weights = self.learner_.weights
        if len(self.classes_) <= 2:
            weights = weights[1:] - weights[:1]
        return self._in_units_of_the_input(weights)

    def _has_weights(self):
        return True


class ConfiditClassifier(Probabilities, Linear):
    """`coactive_fast.Confidit`: told right or wrong only, it explores by confidence.

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
    BanditronClassifier : Told as little, faster and with more mistakes.
    AROWClassifier : Told the label.

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
                 n_epochs: Whole = 10, scale: bool | Literal["dense"] = "dense",
                 shuffle: bool = True, random_state: Any = None) -> None:
        self.covariance = covariance
        self.confidence = confidence
        self.eta = eta
        self.alpha = alpha
        self.projection = projection
        self.norm_bound = norm_bound
        self.delta = delta
        self.approximation_error = approximation_error
        self.diagonal_step = diagonal_step
        self.normalize = normalize
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.n_epochs = n_epochs
        self.scale = scale
        self.shuffle = shuffle
        self.random_state = random_state

    def _has_weights(self):
        return self.learner_.covariance != "kernel"

    def predict_proba(self, X: RowsLike) -> Vector:
        """The chance of each class by Confidit's own model.

        That is ``P(y = i | x) = (alpha + u_i.x) / (1 + alpha)``. The scores stand for ``u_i.x``;
        what they give is projected on the simplex, so that the chances are none below 0 and sum
        to 1.

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
        scores = np.concatenate([self.learner_.decision_function(rows)
                                 for rows, _ in self._blocks(given)])
        alpha = self.learner_.alpha
        return on_the_simplex((scores + alpha) / (1.0 + alpha))


class BanditronClassifier(Linear):
    """`coactive_fast.Banditron`: told right or wrong only, it explores by chance.

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
                 scale: bool | Literal["dense"] = "dense", shuffle: bool = True,
                 random_state: Any = None) -> None:
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.n_epochs = n_epochs
        self.scale = scale
        self.shuffle = shuffle
        self.random_state = random_state


class PerceptronClassifier(Linear):
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
                 scale: bool | Literal["dense"] = "dense", shuffle: bool = True,
                 random_state: Any = None) -> None:
        self.fit_intercept = fit_intercept
        self.n_epochs = n_epochs
        self.scale = scale
        self.shuffle = shuffle
        self.random_state = random_state


class SecondOrderPerceptronClassifier(Named):
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
                 scale: bool | Literal["dense"] = "dense", shuffle: bool = True,
                 random_state: Any = None) -> None:
        self.a = a
        self.fit_intercept = fit_intercept
        self.n_epochs = n_epochs
        self.scale = scale
        self.shuffle = shuffle
        self.random_state = random_state


class AROWClassifier(Linear):
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
                 scale: bool | Literal["dense"] = "dense", shuffle: bool = True,
                 random_state: Any = None) -> None:
        self.r = r
        self.fit_intercept = fit_intercept
        self.n_epochs = n_epochs
        self.scale = scale
        self.shuffle = shuffle
        self.random_state = random_state


def on_the_simplex(rows: Vector) -> Vector:
    """Each row's nearest point among those that sum to 1 with nothing below 0."""
    falling = -np.sort(-rows, axis=1)
    over = np.cumsum(falling, axis=1) - 1.0
    kept = falling * np.arange(1, rows.shape[1] + 1) > over
    last = kept.sum(axis=1) - 1  # at least the first is kept
    shift = over[np.arange(len(rows)), last] / (last + 1.0)
    shares = np.maximum(rows - shift[:, None], 0.0)
    return shares / shares.sum(axis=1, keepdims=True)
