"""Learners as river classifiers, regressors and bandit policies (extra ``river``)."""

from __future__ import annotations

import copy
import functools
import struct
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike
from river import bandit, base

import coactive_fast as cf
from coactive_fast._arrays import plain
from coactive_fast._typing import Real, Whole
from coactive_fast.learner._check import choice, count, same_length, switch
from coactive_fast.learner._extras import require
from coactive_fast.multiclass._rules import LabelFeedback

from ._pattern import fresh, own_parameters, store_parameters

__all__ = [
    "AROWClassifier", "BanditronClassifier", "ConfiditClassifier", "ConfiditPolicy",
    "LinearBanditPolicy", "OnlineClassifier", "OnlineRidgeRegressor", "PerceptronClassifier",
    "SecondOrderPerceptronClassifier",
]

FEATURES = 1 << 20
INTERCEPT = ("intercept",)  # a name that no row has


# --- dictionaries of numbers by name, and DataFrames, as rows -----------------------------------


class _Row:
    """One scipy row that is filled again and again; its width doubles as features come, or is
    the most that may come from the start (`fixed`).

    Its arrays are longer than what is in them: a row ends where `indptr` says. The names of the
    row before are kept, for in most streams they are those of this one.
    """

    def __init__(self, most: int, fixed: bool = False) -> None:
        self.most, self.fixed, self.width = most, fixed, 0
        self.names: list[Any] | None = None
        self.lock = threading.Lock()  # of the row and of all that is numbered
        self.reserve(16)

    def __reduce__(self):
        return _Row, (self.most, self.fixed)  # there is nothing in it

    def reserve(self, entries: int) -> None:
        self.values: Any = np.zeros(entries)
        self.places: Any = np.zeros(entries, dtype=np.int32)
        self.ends = np.zeros(2, dtype=np.int32)
        self.width, self.names = 0, None

    def of(self, x: dict[Any, Any], features: dict[Any, int], grow: bool) -> Any:
        """The dictionary as a row. Names that are new get the next numbers, or are left out."""
        entries = len(x)
        if entries > len(self.values):
            self.reserve(2 * entries)
        # a format costs less than an array, and takes nothing but numbers
        struct.pack_into(f"{entries}d", self.values, 0, *x.values())
        names = list(x)
        if names != self.names:
            self.names = None
            try:
                self.place(names, features)
            except KeyError:
                if not grow:
                    return self.of({name: x[name] for name in names if name in features},
                                   features, False)
                self.number(names, features)
                self.place(names, features)
            self.names = names
        if len(features) > self.width or self.width == 0:
            self.widen(len(features))
        return self.row

    def place(self, names: list[Any], features: dict[Any, int]) -> None:
        struct.pack_into(f"{len(names)}i", self.places, 0, *map(features.__getitem__, names))
        self.ends[1] = len(names)

    def number(self, names: list[Any], features: dict[Any, int]) -> None:
        """Gives names that are new the next numbers.

        In the order of the dictionary, for rows whose numbers rise are read fastest (sorted names
        cost 1.2 times a round at 20 of them, and 7 times at 1000). Sums go in that order, so of
        scores that are equal but for rounding either may be ahead.
        """
        new = [name for name in names if name not in features]
        if len(features) + len(new) > self.most:
            raise ValueError(f"x brings feature {new[-1]!r}: there are {len(features)} already, "
                             f"of at most {self.most} (max_features)")
        for name in new:
            features[name] = len(features)

    def widen(self, n_features: int) -> None:
        self.width = self.most if self.fixed else min(self.most,
                                                      max(64, 1 << n_features.bit_length()))
        self.row = scipy.sparse.csr_matrix((1, self.width))
        self.row.data, self.row.indices, self.row.indptr = self.values, self.places, self.ends

    def table(self, X: Any, features: dict[Any, int], grow: bool) -> Any:
        """A DataFrame as CSR rows of all its columns, or of those that are known."""
        if not hasattr(X, "columns"):
            raise TypeError(f"X must be a pandas DataFrame, got {type(X).__name__}")
        names = list(X.columns)
        if len(set(names)) < len(names):
            raise ValueError("X must have no two columns of one name")
        values = _numbers_of(X)
        if grow:
            self.number(names, features)
        columns = sorted((features[name], i) for i, name in enumerate(names) if name in features)
        if len(features) > self.width or self.width == 0:
            self.widen(len(features))
        places = np.array([place for place, _ in columns], dtype=np.int64)
        entries = values[:, [i for _, i in columns]].ravel()
        ends = np.arange(len(X) + 1) * len(columns)
        return scipy.sparse.csr_matrix((entries, np.tile(places, len(X)), ends),
                                       shape=(len(X), self.width))


class _Named:
    """Dictionaries as rows, with an intercept or without, for an adapter's learner.

    Names of features are numbered as they come, and so are its labels or arms, where it has any.
    In the diagonal form rows widen with the names; in the full form every row is as wide as
    `max_features` from the start.
    """

    covariance: Any = "diagonal"
    intercept: bool = False
    max_features: Any = None
    _learner: Any
    _size, _add = "n_classes", "add_class"  # how many labels the learner has, and one more

    if TYPE_CHECKING:  # a parameter of a subclass is an attribute of its name
        def __getattr__(self, name: str) -> Any: ...

    def _start_names(self):
        """Checks what the rows depend on; the most features there may be."""
        full = self.covariance == "full"
        if full and self.max_features is None:
            raise ValueError('max_features must be given with covariance="full": the matrix has '
                             "that many rows from the start")
        switch("intercept", self.intercept)
        most = count("max_features", FEATURES if self.max_features is None else self.max_features,
                     least=1)
        self._features, self._row = {}, _Row(most, fixed=full)
        return None if full else most

    def _words(self, kind):
        """The parameters of the learner of this class."""
        return {**own_parameters(kind, vars(self)), "max_features": self._start_names()}

    def _start(self, learner, labels=()):
        """What learns, and the labels that are known."""
        self._learner, self._labels = learner, list(labels)
        self._numbers = {label: i for i, label in enumerate(self._labels)}
        self._sees_label = isinstance(learner, LabelFeedback)

    def _asked(self, question, x, grow=False):
        """What `question` answers about the row of x, under the lock; names and labels that came
        with a refused row are forgotten. Without `grow` names that are not known are left out."""
        with self._row.lock:
            before = len(self._features), len(self._labels), self._learner
            try:
                row = {**x, INTERCEPT: 1.0} if self.intercept else x
                return question(self._row.of(row, self._features, grow))
            except Exception:
                self._go_back(*before)
                _check_values(x)
                raise

    def _add_labels(self, labels):
        """Gives labels that are new the next numbers, and the learner room for them."""
        new = [label for label in dict.fromkeys(labels) if label not in self._numbers]
        lacking = len(self._labels) + len(new) - getattr(self._learner, self._size)
        if lacking > 0:
            learner = copy.deepcopy(self._learner)  # the old one is there for `_go_back`
            for _ in range(lacking):
                getattr(learner, self._add)()
            self._learner = learner
        for label in new:
            self._numbers[label] = len(self._labels)
            self._labels.append(label)

    def _go_back(self, n_features, n_labels, learner):
        """Forgets what has been added since there were so many."""
        self._learner, self._row.names = learner, None
        while len(self._features) > n_features:
            self._features.popitem()
        while len(self._labels) > n_labels:
            del self._numbers[self._labels.pop()]

    def _table(self, X, grow):
        if self.intercept and hasattr(X, "assign"):
            X = X.assign(**{"": 1.0}).rename(columns={"": INTERCEPT})
        return self._row.table(X, self._features, grow)


# --- classifiers --------------------------------------------------------------------------------


class _Classifier(_Named, base.MiniBatchClassifier):
    """Names of features and labels are numbered as they come; a learner is fed what they make."""

    @property
    def _multiclass(self):
        return True

    # --- one row ----------------------------------------------------------------------------

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """One round with the right label.

        A learner from right or wrong sees only whether its own choice was that.

        Parameters
        ----------
        x : dict
            Numbers by name.
        y : hashable
            The right label.
        """
        self._asked(functools.partial(self._learn_row, y, None), x, True)

    def _learn_row(self, y, correct, row):
        """One round: y is the right label, or an action that was right or wrong."""
        number = self._number_of(y)
        if correct is not None:
            self._learner.learn(row, number, correct)
        elif self._sees_label:
            self._learner.learn(row, number)
        else:
            choice = self._learner.choose(row)
            self._learner.learn(row, choice, choice == number)

    def predict_one(self, x: dict[Any, Any], **ignored: Any) -> Any:
        """The label of the largest score; None before the first round.

        Parameters
        ----------
        x : dict
            Numbers by name; names that are not known are left out.
        **ignored
            Of river's pipelines; ignored.

        Returns
        -------
        label
            One of those known so far.
        """
        # a learner from labels has no way to explore: its choice is the best score's
        return self._label_by(self._learner.choose if self._sees_label else self._best, x)

    def _label_by(self, choose, x):
        """The label whose number `choose` gives for the row of x; None before any is known."""
        if len(self._labels) < 2:
            return self._labels[0] if self._labels else None
        return self._labels[self._asked(choose, x)]

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
            Of river's pipelines; ignored.

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

    def _best(self, row):
        return self._learner.predict(row)[0]

    def _number_of(self, y):
        """The number of a label, which may be new."""
        if y not in self._numbers:
            _check_label(y)
            self._add_labels([y])
        return self._numbers[y]

    # --- many rows --------------------------------------------------------------------------

    def learn_many(self, X: Any, y: Any) -> None:
        """The rows of a pandas DataFrame, one round each, in compiled loops between new labels.

        Nothing is learned where X or y is refused; a row that turns out to be too large on its way
        ends the loop there.

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
        self._number_of(labels[begin])
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


class OnlineClassifier(_Classifier):
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
        self.max_features: int | None = made.max_features
        self._start(made.set_params(max_features=self._start_names()))


class _Built(_Classifier):
    """A learner of one kind, whose parameters are this classifier's own."""

    classes: Sequence[Any] | None

    def _build(self, kind, given):
        """Keeps the parameters that `__init__` was given, and makes the learner of this class."""
        store_parameters(self, given)
        labels = [] if self.classes is None else list(self.classes)
        for label in labels:
            _check_label(label, "classes must hold labels")
        if len(set(labels)) < len(labels):
            raise ValueError("classes must be distinct")
        self._start(kind(max(2, len(labels)), **self._words(kind)), labels)


class _FromActions(_Built):
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
        return self._label_by(self._learner.choose, x)

    def learn_one(self, x: dict[Any, Any], y: Any = None, correct: bool | None = None, *,
                  action: Any = None) -> None:
        """One round: of the right label, or of an action that was right or wrong.

        ``learn_one(x, y)`` is given the right label, of which it uses only whether its own choice
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
        label = _label_or_action(y, correct, action)
        self._asked(functools.partial(self._learn_row, label, correct), x, True)

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
        y = _label_or_action(y, correct, action)
        if correct is None:
            super().learn_many(X, y)
            return
        actions, flags = _checked_labels(X, y, "action"), plain(correct, "correct")
        if flags.shape != (len(X),) or flags.dtype != bool:
            raise ValueError(f"correct must be {len(X)} times True or False, to go with X")
        with self._row.lock:
            rows = self._table(X, True)
            for i, one in enumerate(actions):
                number = self._number_of(one)
                self._learner.learn(rows[i], number, bool(flags[i]))


class ConfiditClassifier(_FromActions):
    """`coactive_fast.Confidit` for river: seeing right or wrong only, it explores by confidence.

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
    BanditronClassifier : Sees as little, with more mistakes.
    AROWClassifier : Sees the right label.

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
        choice("covariance", covariance, ("diagonal", "full"))
        self._build(cf.Confidit, locals())


class BanditronClassifier(_FromActions):
    """`coactive_fast.Banditron` for river: seeing right or wrong only, it explores by chance.

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
    ConfiditClassifier : Sees as little, with fewer mistakes.

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
        self._build(cf.Banditron, locals())


class PerceptronClassifier(_Built):
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
        self._build(cf.MulticlassPerceptron, locals())


class SecondOrderPerceptronClassifier(_Built):
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
        self._build(cf.MulticlassSecondOrderPerceptron, locals())


class AROWClassifier(_Built):
    """`coactive_fast.MulticlassAROW` for river: adaptive regularisation of weights, diagonal.

    Parameters
    ----------
    r : float, default 1.0
        > 0; the larger, the smaller the steps.
    classes, intercept, max_features
        As for `ConfiditClassifier`.

    See Also
    --------
    ConfiditClassifier : Sees only whether an action was right.

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
        self._build(cf.MulticlassAROW, locals())


# --- rewards: a number instead of a label -------------------------------------------------------


class OnlineRidgeRegressor(_Named, base.MiniBatchRegressor):
    """`coactive_fast.OnlineRidge` as a river regressor that reads dictionaries.

    Parameters
    ----------
    link : {"identity", "logistic"}, default "identity"
        Logistic: targets in [0, 1], and so are the predictions.
    covariance : {"diagonal", "full"}, default "diagonal"
        Diagonal: any number of features, added as they come. Full: ridge regression itself, for
        at most `max_features` features, which must then be given.
    ridge, forget : float, default 1.0
        As for `coactive_fast.OnlineRidge`.
    intercept : bool, default True
        A feature more that is 1 in every row; it counts among `max_features`.
    max_features : int, optional
        None: 2**20 (diagonal).

    See Also
    --------
    coactive_fast.OnlineRidge : What learns inside.

    References
    ----------
    A. E. Hoerl, R. W. Kennard. Ridge regression: biased estimation for nonorthogonal problems.
    Technometrics 12, 1970.

    Examples
    --------
    >>> from coactive_fast.adapters.river import OnlineRidgeRegressor
    >>> model = OnlineRidgeRegressor(covariance="full", max_features=8, intercept=False)
    >>> for _ in range(99):
    ...     model.learn_one({"rooms": 2.0}, 6.0)
    >>> round(model.predict_one({"rooms": 3.0, "unknown": 1.0}), 1)
    9.0
    """

    def __init__(self, *, link: Literal["identity", "logistic"] = "identity",
                 covariance: Literal["diagonal", "full"] = "diagonal", ridge: Real = 1.0,
                 forget: Real = 1.0, intercept: bool = True,
                 max_features: Whole | None = None) -> None:
        store_parameters(self, locals())
        self._start(cf.OnlineRidge(**self._words(cf.OnlineRidge)))

    def learn_one(self, x: dict[Any, Any], y: Any, w: Real = 1.0) -> None:
        """Learns one row, w times.

        Parameters
        ----------
        x : dict
            Numbers by name.
        y : float
            What is to be predicted.
        w : float, default 1.0
            How many times the row counts.
        """
        self._asked(lambda row: self._learner.learn(row, y, weight=w), x, True)

    def predict_one(self, x: dict[Any, Any]) -> float:
        """What y is expected to be.

        Parameters
        ----------
        x : dict
            Numbers by name; names that are not known are left out.

        Returns
        -------
        float
            0 before the first row; 0.5 with the logistic link.
        """
        return float(self._asked(self._learner.predict, x)[0])

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """The rows of a pandas DataFrame, in one compiled loop; nothing where X, y or w is refused.

        A row that turns out to be too large on its way ends the loop there.

        Parameters
        ----------
        X : DataFrame
            A row an example, a column a feature.
        y : Series or array_like
            What is to be predicted for each row.
        w : float or array_like, default 1.0
            How many times each row counts.
        """
        with self._row.lock:
            names, rounds = len(self._features), self._learner.rounds
            try:
                rows = self._table(X, True)
                weight = plain(w, "w")
                if weight.shape not in ((), (rows.shape[0],)):
                    raise ValueError(f"w must be a number, or {rows.shape[0]} to go with X, "
                                     f"got shape {weight.shape}")
                self._learner.run(rows, y, weight=np.broadcast_to(weight, rows.shape[0]))
            except Exception:
                if self._learner.rounds == rounds:
                    self._go_back(names, 0, self._learner)
                raise

    def predict_many(self, X: Any) -> Any:
        """`predict_one` for each row of a pandas DataFrame.

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
        with self._row.lock:
            return pandas.Series(self._learner.predict(self._table(X, False)), index=X.index)

    @property
    def weights(self) -> dict[Any, float]:
        """The weight of each feature by its name, a copy, as of river's `LinearRegression`.

        The intercept's is not among them: it is ``predict_one({})``, before the link.
        """
        with self._row.lock:
            # names are numbered as they come, and rows have room for more of them
            found = dict(zip(self._features, self._learner.weights.tolist(), strict=False))
        found.pop(INTERCEPT, None)
        return found


class _Policy(_Named, bandit.base.ContextualPolicy):
    """Arms of any hashable kind, numbered as they come."""

    def update(self, arm_id: Any, context: dict[Any, Any], *reward_args: Any,
               **reward_kwargs: Any) -> None:
        """Learns the reward of an arm in a context, whoever chose it.

        Parameters
        ----------
        arm_id : hashable
            The arm that was pulled.
        context : dict
            The features under which it was pulled, by name.
        *reward_args
            The reward; river's own reward object gets it too.
        **reward_kwargs
            For river's reward object.
        """
        if len(reward_args) != 1:
            raise TypeError("reward must be given, as the third argument, and nothing behind it")
        reward, = reward_args

        def learn(row):
            self._add_labels([arm_id])
            self._learner.learn(row, self._numbers[arm_id], reward)

        self._asked(learn, context or {}, True)
        super().update(arm_id, context, *reward_args, **reward_kwargs)

    def _pull(self, arm_ids, context):  # type: ignore[override]
        arm_ids = list(arm_ids)
        if not arm_ids:
            raise ValueError("arm_ids must hold at least one arm")

        def choose(row):
            self._add_labels(arm_ids)
            return self._choose(arm_ids, row)

        return self._labels[self._asked(choose, context or {})]


class LinearBanditPolicy(_Policy):
    """`coactive_fast.ArmBandit` as a contextual policy of `river.bandit`.

    An arm is given by its id alone, a context by a dictionary; each arm has a regression of its
    own. ``pull`` chooses among the arms it is given, ``update`` learns the reward of one arm. An
    arm that has not been seen is added as it comes.

    Parameters
    ----------
    explore, width, link
        As for `coactive_fast.ArmBandit`.
    covariance : {"diagonal", "full"}, default "diagonal"
        As for `OnlineRidgeRegressor`.
    ridge, forget, floor, scale, power
        As for `coactive_fast.ArmBandit`.
    intercept, max_features
        As for `OnlineRidgeRegressor`.
    reward_obj, reward_scaler, burn_in
        As for the policies of river; the regression learns the reward as it is given, unscaled.
    seed
        As for `coactive_fast.ArmBandit`.

    See Also
    --------
    ConfiditPolicy : Where a reward is right or wrong.

    Examples
    --------
    >>> from coactive_fast.adapters.river import LinearBanditPolicy
    >>> policy = LinearBanditPolicy(width=0.1)
    >>> for _ in range(20):
    ...     for hour in (0.0, 1.0):
    ...         for arm in ("tea", "beer"):
    ...             policy.update(arm, {"late": hour}, float((arm == "beer") == hour))
    >>> policy.pull(["tea", "beer"], {"late": 0.0}), policy.pull(["tea", "beer"], {"late": 1.0})
    ('tea', 'beer')
    """

    _size, _add = "n_arms", "add_arm"

    def __init__(self, *, explore: Literal["ucb", "thompson", "squarecb", "greedy"] = "ucb",
                 width: Real | Literal["theory"] = 1.0,
                 link: Literal["identity", "logistic"] = "identity",
                 covariance: Literal["diagonal", "full"] = "diagonal", ridge: Real = 1.0,
                 forget: Real = 1.0, floor: Real = 0.0, scale: Real = 10.0, power: Real = 0.5,
                 intercept: bool = True, max_features: Whole | None = None, reward_obj: Any = None,
                 reward_scaler: Any = None, burn_in: int = 0, seed: Any = None) -> None:
        store_parameters(self, locals())
        super().__init__(reward_obj, reward_scaler, burn_in)
        self._start(cf.ArmBandit(1, **self._words(cf.ArmBandit)))

    def _choose(self, arm_ids, row):
        """The number of the arm that is pulled."""
        allowed = np.zeros(self._learner.n_arms, dtype=bool)
        allowed[[self._numbers[arm] for arm in arm_ids]] = True
        return self._learner.choose(row, allowed=allowed)


class ConfiditPolicy(_Policy):
    """`coactive_fast.Confidit` as a contextual policy of `river.bandit`.

    Parameters
    ----------
    learner : Confidit, optional
        What learns, as a pattern: it is cloned, never changed; diagonal. None: ``Confidit(2)``.
    intercept : bool, default True
        A feature more that is 1 in every context.
    reward_obj, reward_scaler, burn_in
        As for the policies of river.

    See Also
    --------
    LinearBanditPolicy : Where a reward is any number.

    Notes
    -----
    A reward is 1 or 0 (True or False, 1 or -1): whether the arm was the right one. Confidit
    chooses among all its classes, so `pull` must be given all of its arms.

    Examples
    --------
    >>> from coactive_fast.adapters.river import ConfiditPolicy
    >>> policy = ConfiditPolicy()
    >>> for _ in range(20):
    ...     arm = policy.pull(["no", "yes"], {"spam": 1.0})
    ...     policy.update(arm, {"spam": 1.0}, arm == "yes")
    >>> policy.pull(["no", "yes"], {"spam": 1.0})
    'yes'
    """

    def __init__(self, learner: Any = None, *, intercept: bool = True, reward_obj: Any = None,
                 reward_scaler: Any = None, burn_in: int = 0) -> None:
        store_parameters(self, locals())
        super().__init__(reward_obj, reward_scaler, burn_in)
        made = fresh(learner, 2)
        if not isinstance(made, cf.Confidit):
            raise TypeError(f"learner must be a Confidit, got {learner!r}")
        if made.get_params()["covariance"] != "diagonal":
            raise ValueError('learner must have covariance="diagonal": features come and go')
        self.max_features: int | None = made.max_features
        self._start(made.set_params(max_features=self._start_names()))

    def _choose(self, arm_ids, row):
        missing = set(self._numbers) - set(arm_ids)
        if missing:
            raise ValueError("arm_ids must hold all arms that are known, and lacks "
                             f"{missing.pop()!r}")
        return self._learner.choose(row) if len(self._numbers) > 1 else 0


# --- helpers ------------------------------------------------------------------------------------


def _numbers_of(X):
    """The values of a DataFrame, where all are finite numbers."""
    for name, kind in X.dtypes.items():
        if getattr(kind, "kind", "O") not in "fiub":
            raise TypeError(f"X must hold real numbers, got {kind} in column {name!r}")
    values = X.to_numpy(dtype=np.float64, na_value=np.nan)
    finite = np.isfinite(values).all(axis=0)
    if not finite.all():
        raise ValueError(f"X must be finite, it is not in column {X.columns[finite.argmin()]!r}")
    return values


def _check_values(x: Any) -> None:
    """Refuses what is no dictionary of finite numbers, by the name of the feature."""
    if not hasattr(x, "values"):
        raise TypeError(f"x must be a dictionary of numbers by name, got {type(x).__name__}")
    for name, value in x.items():
        try:
            packed, = struct.unpack("d", struct.pack("d", value))
        except (struct.error, OverflowError, TypeError):
            raise TypeError(f"x must hold real numbers, got {value!r} as {name!r}") from None
        if not np.isfinite(packed):
            raise ValueError(f"x must be finite, got {value!r} as {name!r}")


def _check_label(y, rule="y must be a label"):
    if not isinstance(y, Hashable):
        raise TypeError(f"{rule}, which can be hashed, got {type(y).__name__}")
    if y is None or y != y:
        raise ValueError(f"{rule}, got {y!r}")


def _checked_labels(X, y, name="y"):
    """A label for each row of X."""
    labels = list(y)
    same_length(name, len(labels), len(X), "X")
    for label in set(labels) if all(isinstance(y, Hashable) for y in labels) else labels:
        _check_label(label)
    return labels


def _softmax(scores):
    """Along the rows."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def _label_or_action(y, correct, action):
    """The label, or the action, that a round is about."""
    if action is None:
        return y
    if y is not None or correct is None:
        raise TypeError("action goes with correct, and without y")
    return action
