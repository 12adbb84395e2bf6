"""The multiclass learners as river classifiers (extra ``river``)."""

import copy
import inspect

import numpy as np
import scipy.sparse
from river import base

import coactive_fast as cf

__all__ = ["OnlineClassifier"]

FEATURES = 1 << 20


class OnlineClassifier(base.Classifier):
    """A multiclass learner of this package that reads dictionaries.

    Names of features and labels are numbered as they come; classes are added on the way. A round
    costs the dictionary's walk (about 0.1 µs an entry) and the compiled step.

    Parameters
    ----------
    learner : multiclass learner, optional
        What learns, as a pattern: it is cloned, never changed. None: ``Confidit(2)``. Where it has
        no `max_features` of its own, that is 2**20 here.

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

    def __init__(self, learner=None):
        self.learner = learner
        pattern = cf.Confidit(2) if learner is None else learner
        self._learner = pattern.clone()
        self._learner.set_params(n_classes=2)
        if self._learner.get_params()["max_features"] is None:
            self._learner.set_params(max_features=FEATURES)
        self._features, self._labels, self._numbers = {}, [], {}
        self._sees_label = "label" not in inspect.signature(self._learner.learn).parameters
        self._row = _Row(self._learner.get_params()["max_features"])

    @property
    def _multiclass(self):
        return True

    def learn_one(self, x, y):
        """One round: a choice is made, and the learner told whether it was y."""
        number = self._numbers.get(y)
        if number is None:
            number = len(self._labels)
            if number >= self._learner.n_classes:
                self._learner.add_class()
            self._labels.append(y)
            self._numbers[y] = number
        row = self._row.of(x, self._features, True)
        if self._sees_label:
            self._learner.learn(row, number)
        else:
            choice = self._learner.choose(row)
            self._learner.learn(row, choice, choice == number)

    def predict_one(self, x, **ignored):
        """The label of the largest score; None before the first round."""
        if not self._labels:
            return None
        scores = self._scores(x)
        return self._labels[int(np.argmax(scores))]

    def decision_one(self, x):
        """The scores by label.

        Examples
        --------
        >>> from coactive_fast.adapters.river import OnlineClassifier
        >>> model = OnlineClassifier()
        >>> model.learn_one({"a": 1.0}, "yes")
        >>> sorted(model.decision_one({"a": 1.0}))
        ['yes']
        """
        scores = self._scores(x).tolist() if self._labels else []
        return dict(zip(self._labels, scores, strict=True))

    def _scores(self, x):
        row = self._row.of(x, self._features, False)
        return self._learner.decision_function(row)[0, :len(self._labels)]

    def learn_many(self, X, y):
        """Rows of a DataFrame, one round each."""
        for x, label in zip(X.to_dict("records"), y, strict=True):
            self.learn_one(x, label)

    def __deepcopy__(self, memo):
        other = type(self)(copy.deepcopy(self.learner, memo))
        for name in ("_learner", "_features", "_labels", "_numbers"):
            setattr(other, name, copy.deepcopy(getattr(self, name), memo))
        return other


class _Row:
    """One scipy row that is filled again and again; its width doubles as features come."""

    def __init__(self, most):
        self.most, self.width = most, 0

    def of(self, x, features, grow):
        """The dictionary as a row. Names that are new get the next numbers, or are left out."""
        if grow:
            new = [name for name in x if name not in features]
            if len(features) + len(new) > self.most:
                raise ValueError(f"x brings feature {new[-1]!r}: there are {self.most} already "
                                 "(max_features)")
            for name in new:
                features[name] = len(features)
            places = [features[name] for name in x]
            values = list(x.values())
        else:
            pairs = [(features[name], value) for name, value in x.items() if name in features]
            places, values = [p for p, _ in pairs], [v for _, v in pairs]
        if len(features) > self.width or self.width == 0:
            self.width = min(self.most, max(64, 1 << len(features).bit_length()))
            self.row = scipy.sparse.csr_matrix((1, self.width))
        row = self.row
        row.data = np.array(values, dtype=np.float64)
        row.indices = np.array(places, dtype=np.int32)
        row.indptr = np.array([0, len(places)], dtype=np.int32)
        return row
