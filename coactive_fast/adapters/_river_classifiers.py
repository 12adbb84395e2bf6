"""The multiclass learners as river classifiers that read dictionaries."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Hashable
from typing import Any

import numpy as np
from river import base

from coactive_fast.learner._extras import require

from ._dictionaries import FEATURES, INTERCEPT, Named, Row, check_values
from ._pattern import fresh


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
        check_label(y)
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
        self._learner = learner
        self._forget_names(n_features)
        while len(self._labels) > n_labels:
            del self._numbers[self._labels.pop()]

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
        labels = checked_labels(X, y)
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


def check_label(y, rule="y must be a label"):
    if not isinstance(y, Hashable):
        raise TypeError(f"{rule}, which can be hashed, got {type(y).__name__}")
    if y is None or y != y:
        raise ValueError(f"{rule}, got {y!r}")


def checked_labels(X, y, name="y"):
    """A label for each row of X."""
    labels = list(y)
    if len(labels) != len(X):
        raise ValueError(f"{name} must have length {len(X)} to go with X, got {len(labels)}")
    for label in set(labels) if all(isinstance(y, Hashable) for y in labels) else labels:
        check_label(label)
    return labels


def _softmax(scores):
    """Along the rows."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)
