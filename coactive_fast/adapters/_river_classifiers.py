"""The multiclass learners as river classifiers that read dictionaries."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from river import base

import coactive_fast as cf
from coactive_fast._typing import Real, Whole
from coactive_fast.learner._check import choice
from coactive_fast.learner._extras import require

from ._dictionaries import FEATURES, INTERCEPT, Named, Row, check_values
from ._pattern import fresh, own_words


class Classifier(Named, base.MiniBatchClassifier):
    """Names of features and labels are numbered as they come; a learner is fed what they make."""

    _learner: Any
    _sees_label: bool

    def _start(self, learner, labels=()):
        """What learns, and the labels that are known."""
        self._learner, self._labels = learner, list(labels)
        self._numbers = {label: i for i, label in enumerate(self._labels)}
        self._sees_label = "label" not in inspect.signature(learner.learn).parameters

    @property
    def _multiclass(self):
        return True

    # --- one row ----------------------------------------------------------------------------

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """One round, told the right label.

        A learner from right or wrong is told only whether its own choice was that.

        Parameters
        ----------
        x : dict
            Numbers by name.
        y : hashable
            The right label.
        """
        self._round(x, y, None)

    def _round(self, x, y, correct):
        """One round: y is the right label, or an action that was right or wrong."""
        with self._row.lock:
            before = len(self._features), len(self._labels), self._learner
            try:
                row = self._row.of({**x, INTERCEPT: 1.0} if self.intercept else x,
                                   self._features, True)
                number = self._numbers.get(y)
                if number is None:
                    number = self._add_label(y)
                if correct is not None:
                    self._learner.learn(row, number, correct)
                elif self._sees_label:
                    self._learner.learn(row, number)
                else:
                    choice = self._learner.choose(row)
                    self._learner.learn(row, choice, choice == number)
            except Exception:
                self._go_back(*before)
                check_values(x)
                raise

    def predict_one(self, x: dict[Any, Any], **ignored: Any) -> Any:
        """The label of the largest score; None before the first round.

        Parameters
        ----------
        x : dict
            Numbers by name; names that are not known are left out.
        **ignored
            Of river's pipelines; not looked at.

        Returns
        -------
        label
            One of those known so far.
        """
        if len(self._labels) < 2:
            return self._labels[0] if self._labels else None
        # who is told the label has no way to explore: its choice is the best score's
        best = self._learner.choose if self._sees_label else self._best
        return self._labels[self._asked(best, x)]

    def decision_one(self, x: dict[Any, Any]) -> dict[Any, float]:
        """The scores by label.

        Parameters
        ----------
        x : dict
            Numbers by name; names that are not known are left out.

        Returns
        -------
        dict
            A number for each label known so far.

        Examples
        --------
        >>> from coactive_fast.adapters.river import OnlineClassifier
        >>> model = OnlineClassifier()
        >>> model.learn_one({"a": 1.0}, "yes")
        >>> sorted(model.decision_one({"a": 1.0}))
        ['yes']
        """
        if not self._labels:
            return {}
        scores = self._asked(self._learner.decision_function, x)[0].tolist()
        return dict(zip(self._labels, scores, strict=False))  # of one label there are two scores

    def predict_proba_one(self, x: dict[Any, Any], **ignored: Any) -> dict[Any, float]:
        """The softmax of the scores by label: their order on a common scale, not calibrated.

        Two labels have the logistic function of their difference, which is what river's linear
        classifiers give. Ensembles and other wrappers of river ask for it.

        Parameters
        ----------
        x : dict
            Numbers by name; names that are not known are left out.
        **ignored
            Of river's pipelines; not looked at.

        Returns
        -------
        dict
            A share for each label known so far; they sum to 1.

        Examples
        --------
        >>> from coactive_fast.adapters.river import OnlineClassifier
        >>> model = OnlineClassifier()
        >>> model.learn_one({"a": 1.0}, "yes")
        >>> model.predict_proba_one({"a": 1.0})
        {'yes': 1.0}
        """
        scores = self.decision_one(x)
        if not scores:
            return {}
        shares = _softmax(np.array([list(scores.values())]))[0]
        return dict(zip(scores, shares.tolist(), strict=True))

    def _asked(self, question, x):
        """The learner's answer about x, without what is unknown in it."""
        with self._row.lock:
            try:
                return question(self._row.of(self._dictionary(x), self._features, False))
            except Exception:
                check_values(x)
                raise

    def _best(self, row):
        return self._learner.predict(row)[0]

    # --- what is numbered -------------------------------------------------------------------

    def _add_label(self, y):
        _check_label(y)
        number = len(self._labels)
        if number >= self._learner.n_classes:
            learner = copy.deepcopy(self._learner)  # the old one is there for `_go_back`
            learner.add_class()
            self._learner = learner
        self._labels.append(y)
        self._numbers[y] = number
        return number

    def _go_back(self, n_features, n_labels, learner):
        """Forgets what has been added since there were so many."""
        self._row.names, self._learner = None, learner
        while len(self._features) > n_features:
            self._features.popitem()
        while len(self._labels) > n_labels:
            del self._numbers[self._labels.pop()]

    # --- many rows --------------------------------------------------------------------------

    def learn_many(self, X: Any, y: Any) -> None:
        """The rows of a pandas DataFrame, one round each, in compiled loops between new labels.

        Nothing is learned where X or y is refused.

        Parameters
        ----------
        X : DataFrame
            A row an example, a column a feature; the columns' names are the features' names.
        y : Series or sequence of labels
            The true label of each row, in the order of the rows.
        """
        labels = _checked_labels(X, y)
        with self._row.lock:
            rows = self._table(X, True)
            end = 0
            while end < len(labels):
                begin, end = end, self._stretch(labels, end)
                self._learner.run(rows[begin:end], [self._numbers[y] for y in labels[begin:end]])

    def _stretch(self, labels, begin):
        """Where the next new label comes; that of the first row is numbered."""
        if labels[begin] not in self._numbers:
            self._add_label(labels[begin])
        new = (i for i in range(begin, len(labels)) if labels[i] not in self._numbers)
        return next(new, len(labels))

    def predict_many(self, X: Any) -> Any:
        """The labels of the largest scores; None before the first round.

        Parameters
        ----------
        X : DataFrame
            A row an example, a column a feature.

        Returns
        -------
        Series
            With the index of X.
        """
        pandas = require("pandas", "pandas", "predict_many")
        found = [None] * len(X)
        if self._labels:
            best = self._scores_of(X).argmax(axis=1)
            found = [self._labels[number] for number in best]
        return pandas.Series(found, index=X.index)

    def predict_proba_many(self, X: Any) -> Any:
        """`predict_proba_one` for each row.

        Parameters
        ----------
        X : DataFrame
            A row an example, a column a feature.

        Returns
        -------
        DataFrame
            A column for each label known so far, with the index of X.
        """
        pandas = require("pandas", "pandas", "predict_proba_many")
        if not self._labels:
            return pandas.DataFrame(index=X.index)
        return pandas.DataFrame(_softmax(self._scores_of(X)), columns=self._labels, index=X.index)

    def _scores_of(self, X):
        with self._row.lock:
            rows = self._table(X, False)
            return self._learner.decision_function(rows)[:, :len(self._labels)]


class OnlineClassifier(Classifier):
    """A multiclass learner of this package that reads dictionaries.

    Names of features and labels are numbered as they come; classes are added on the way. A round
    costs the dictionary's walk (30 to 50 ns an entry, 10 to 20 where the names are those of the
    row before), about 1 µs of calls, and the compiled step. A missing feature is one that is not
    in the dictionary; values that are no finite numbers are refused.

    Parameters
    ----------
    learner : multiclass learner, optional
        What learns, as a pattern: it is cloned, never changed. None: ``Confidit(2)``. It must
        take rows that widen, so not ``covariance="full"`` or ``"kernel"``. Where it has no
        `max_features` of its own, that is 2**20 here.

    See Also
    --------
    ConfiditClassifier : With the parameters of its learner; so have its kin.

    Examples
    --------
    >>> from coactive_fast.adapters.river import OnlineClassifier
    >>> model = OnlineClassifier()
    >>> for _ in range(5):
    ...     model.learn_one({"good": 1.0}, "yes")
    ...     model.learn_one({"bad": 1.0}, "no")
    >>> model.predict_one({"bad": 1.0, "new": 2.0})
    'no'
    """

    def __init__(self, learner: Any = None) -> None:
        self.learner = learner
        made = fresh(learner, 2)
        if made.get_params().get("covariance", "diagonal") != "diagonal":
            raise ValueError('learner must have covariance="diagonal": features come and go, and '
                             f"{learner!r} takes rows of one width")
        if made.max_features is None:
            made.set_params(max_features=FEATURES)
        self._features, self._row = {}, Row(made.max_features)
        self._start(made)


# --- each by its own name ---------------------------------------------------------------------


class Built(Classifier):
    """A learner of one kind, whose parameters are this classifier's own."""

    classes: Sequence[Any] | None

    def _build(self, kind):
        labels = [] if self.classes is None else list(self.classes)
        for label in labels:
            _check_label(label, "classes must hold labels")
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
        self._round(x, _told(y, correct, action), correct)

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
        y = _told(y, correct, action)
        if correct is None:
            super().learn_many(X, y)
            return
        actions, flags = _checked_labels(X, y, "action"), np.asarray(correct)
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


def _told(y, correct, action):
    """The label, or the action, that a round is about."""
    if action is None:
        return y
    if y is not None or correct is None:
        raise TypeError("action goes with correct, and without y")
    return action


def _check_label(y, rule="y must be a label"):
    if y is None or y != y:
        raise ValueError(f"{rule}, got {y!r}")


def _checked_labels(X, y, name="y"):
    """A label for each row of X."""
    labels = list(y)
    if len(labels) != len(X):
        raise ValueError(f"{name} must have length {len(X)} to go with X, got {len(labels)}")
    for label in set(labels):
        _check_label(label)
    return labels


def _softmax(scores):
    """Along the rows."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)
