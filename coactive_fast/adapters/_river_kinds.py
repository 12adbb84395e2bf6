"""The multiclass learners as river classifiers, each by its own name, with its own parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

import coactive_fast as cf
from coactive_fast._typing import Real, Whole
from coactive_fast.learner._check import choice

from ._pattern import own_words
from ._river_classifiers import Classifier, check_label, checked_labels


class Built(Classifier):
    """A learner of one kind, whose parameters are this classifier's own."""

    classes: Sequence[Any] | None

    def _build(self, kind):
        labels = [] if self.classes is None else list(self.classes)
        for label in labels:
            check_label(label, "classes must hold labels")
        if len(set(labels)) < len(labels):
            raise ValueError("classes must be distinct")
        words = {**own_words(kind, vars(self)), "max_features": self._take_names()}
        self._start(kind(max(2, len(labels)), **words), labels)


class FromActions(Built):
    """One that learns from right or wrong: also from actions that were tried elsewhere."""

    def choose_one(self, x: dict[Any, Any]) -> Any:
        """The label to try, which may be one that is worth exploring; None before any is known.

        Parameters
        ----------
        x : dict
            Numbers by name.

        Returns
        -------
        label
            One of those known so far; None before any is.
        """
        if len(self._labels) < 2:
            return self._labels[0] if self._labels else None
        return self._labels[self._asked(self._learner.choose, x)]

    def learn_one(self, x: dict[Any, Any], y: Any = None, correct: bool | None = None, *,
                  action: Any = None) -> None:
        """One round: of the right label, or of an action that was right or wrong.

        ``learn_one(x, y)`` is told the right label and uses it only to say whether its own choice
        was that; ``learn_one(x, action, correct)`` that an action was right or wrong, whoever
        chose it.

        Parameters
        ----------
        x : dict
            Numbers by name.
        y : hashable
            The right label, or with `correct` the action.
        correct : bool, optional
            Whether the action was right.
        action : hashable, optional
            In the place of y.
        """
        self._round(x, told(y, correct, action), correct)

    def learn_many(self, X: Any, y: Any = None, correct: Any = None, *, action: Any = None) -> None:
        """`learn_one` for each row of a pandas DataFrame.

        Nothing is learned where X or the labels are refused.

        Parameters
        ----------
        X : DataFrame
            A row an example, a column a feature; the columns' names are the features' names.
        y : Series or sequence of labels
            The right ones, or with `correct` the actions.
        correct : sequence of bool, optional
            Whether each of these labels was right.
        action : sequence of labels, optional
            In the place of y.
        """
        y = told(y, correct, action)
        if correct is None:
            super().learn_many(X, y)
            return
        actions, flags = checked_labels(X, y, "action"), np.asarray(correct)
        if flags.shape != (len(X),) or flags.dtype != bool:
            raise ValueError(f"correct must be {len(X)} times True or False, to go with X")
        with self._row.lock:
            rows = self._table(X, True)
            for i, one in enumerate(actions):
                if one not in self._numbers:
                    self._add_label(one)
                self._learner.learn(rows[i], self._numbers[one], bool(flags[i]))


class ConfiditClassifier(FromActions):
    """`coactive_fast.Confidit` for river: told right or wrong only, it explores by confidence.

    Parameters
    ----------
    covariance : {"diagonal", "full"}, default "diagonal"
        Diagonal: any number of features, added as they come. Full: for at most `max_features`
        features, which must then be given.
    confidence, eta, alpha, projection, norm_bound, delta, approximation_error, diagonal_step, \
normalize
        As for `coactive_fast.Confidit`.
    classes : sequence of labels, optional
        Those that are known from the start, which `choose_one` chooses among; others come as they
        are learned.
    intercept : bool, default True
        A feature more that is 1 in every row; it counts among `max_features`.
    max_features : int, optional
        None: 2**20 (diagonal).
    seed : optional
        What `numpy.random.default_rng` takes; there is chance where alpha < 1.

    See Also
    --------
    BanditronClassifier : Told as little, with more mistakes.
    AROWClassifier : Told the right label.

    Notes
    -----
    Rows are taken as they are: ``preprocessing.StandardScaler() | ConfiditClassifier()``.

    References
    ----------
    K. Crammer, C. Gentile. Multiclass classification with bandit feedback using adaptive
    regularization. Machine Learning 90, 2013.

    Examples
    --------
    >>> from coactive_fast.adapters.river import ConfiditClassifier
    >>> model = ConfiditClassifier(classes=["no", "yes"])
    >>> for _ in range(5):
    ...     x = {"good": 1.0}
    ...     action = model.choose_one(x)
    ...     model.learn_one(x, action, action == "yes")
    >>> model.predict_one({"good": 2.0})
    'yes'
    """

    def __init__(self, *, covariance: Literal["diagonal", "full"] = "diagonal",
                 confidence: Literal["constant", "theory", "selfnormalized"] = "constant",
                 eta: Real = 1.0, alpha: Real = 1.0, projection: bool = False,
                 norm_bound: Real = 1.0, delta: Real = 0.05,
                 approximation_error: Real | ArrayLike | Callable[[int], Real] = 0.0,
                 diagonal_step: Literal["residual", "printed"] = "residual",
                 normalize: bool = False, classes: Sequence[Any] | None = None,
                 intercept: bool = True, max_features: Whole | None = None,
                 seed: Any = None) -> None:
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
        self.classes = classes
        self.intercept = intercept
        self.max_features = max_features
        self.seed = seed
        choice("covariance", covariance, ("diagonal", "full"))
        self._build(cf.Confidit)


class BanditronClassifier(FromActions):
    """`coactive_fast.Banditron` for river: told right or wrong only, it explores by chance.

    Parameters
    ----------
    gamma : float, default 0.05
        How much it explores, in (0, 1].
    classes, intercept, max_features
        As for `ConfiditClassifier`.
    seed : optional
        What `numpy.random.default_rng` takes.

    See Also
    --------
    ConfiditClassifier : Told as little, with fewer mistakes.

    References
    ----------
    S. M. Kakade, S. Shalev-Shwartz, A. Tewari. Efficient bandit algorithms for online multiclass
    prediction. ICML 2008.

    Examples
    --------
    >>> from coactive_fast.adapters.river import BanditronClassifier
    >>> model = BanditronClassifier(classes=["no", "yes"], gamma=0.2, seed=1)
    >>> for _ in range(50):
    ...     action = model.choose_one({"good": 1.0})
    ...     model.learn_one({"good": 1.0}, action, action == "yes")
    >>> model.predict_one({"good": 2.0})
    'yes'
    """

    def __init__(self, *, gamma: Real = 0.05, classes: Sequence[Any] | None = None,
                 intercept: bool = True, max_features: Whole | None = None,
                 seed: Any = None) -> None:
        self.gamma = gamma
        self.classes = classes
        self.intercept = intercept
        self.max_features = max_features
        self.seed = seed
        self._build(cf.Banditron)


class PerceptronClassifier(Built):
    """`coactive_fast.MulticlassPerceptron` for river: the multiclass Perceptron.

    Parameters
    ----------
    classes, intercept, max_features
        As for `ConfiditClassifier`.

    See Also
    --------
    AROWClassifier : With a variance for each feature.

    References
    ----------
    K. Crammer, Y. Singer. Ultraconservative online algorithms for multiclass problems. Journal of
    Machine Learning Research 3, 2003.

    Examples
    --------
    >>> from coactive_fast.adapters.river import PerceptronClassifier
    >>> model = PerceptronClassifier()
    >>> for _ in range(5):
    ...     model.learn_one({"good": 1.0}, "yes")
    ...     model.learn_one({"bad": 1.0}, "no")
    >>> model.predict_one({"bad": 1.0, "new": 2.0})
    'no'
    """

    def __init__(self, *, classes: Sequence[Any] | None = None, intercept: bool = True,
                 max_features: Whole | None = None) -> None:
        self.classes = classes
        self.intercept = intercept
        self.max_features = max_features
        self._build(cf.MulticlassPerceptron)


class SecondOrderPerceptronClassifier(Built):
    """`coactive_fast.MulticlassSecondOrderPerceptron` for river, diagonal.

    Parameters
    ----------
    a : float, default 1.0
        > 0.
    classes, intercept, max_features
        As for `ConfiditClassifier`.

    See Also
    --------
    AROWClassifier : By margins.

    References
    ----------
    N. Cesa-Bianchi, A. Conconi, C. Gentile. A second-order Perceptron algorithm. SIAM Journal on
    Computing 34, 2005.

    Examples
    --------
    >>> from coactive_fast.adapters.river import SecondOrderPerceptronClassifier
    >>> model = SecondOrderPerceptronClassifier(intercept=False)
    >>> model.learn_one({"good": 1.0}, "yes")
    >>> model.learn_one({"bad": 1.0}, "no")
    >>> model.predict_one({"bad": 1.0})
    'no'
    """

    def __init__(self, *, a: Real = 1.0, classes: Sequence[Any] | None = None,
                 intercept: bool = True, max_features: Whole | None = None) -> None:
        self.a = a
        self.classes = classes
        self.intercept = intercept
        self.max_features = max_features
        self._build(cf.MulticlassSecondOrderPerceptron)


class AROWClassifier(Built):
    """`coactive_fast.MulticlassAROW` for river: adaptive regularisation of weights, diagonal.

    Parameters
    ----------
    r : float, default 1.0
        > 0; the larger, the smaller the steps.
    classes, intercept, max_features
        As for `ConfiditClassifier`.

    See Also
    --------
    ConfiditClassifier : Told only whether an action was right.

    References
    ----------
    K. Crammer, A. Kulesza, M. Dredze. Adaptive regularization of weight vectors. NIPS 2009.

    Examples
    --------
    >>> from coactive_fast.adapters.river import AROWClassifier
    >>> model = AROWClassifier()
    >>> model.learn_one({"good": 1.0}, "yes")
    >>> model.learn_one({"bad": 1.0}, "no")
    >>> model.predict_one({"bad": 1.0})
    'no'
    """

    def __init__(self, *, r: Real = 1.0, classes: Sequence[Any] | None = None,
                 intercept: bool = True, max_features: Whole | None = None) -> None:
        self.r = r
        self.classes = classes
        self.intercept = intercept
        self.max_features = max_features
        self._build(cf.MulticlassAROW)


def told(y, correct, action):
    """The label, or the action, that a round is about."""
    if action is None:
        return y
    if y is not None or correct is None:
        raise TypeError("action goes with correct, and without y")
    return action
