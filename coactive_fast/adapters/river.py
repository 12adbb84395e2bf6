"""The multiclass learners as river classifiers (extra ``river``)."""

import copy
import inspect
import struct
import threading

import numpy as np
import scipy.sparse
from river import base

from coactive_fast.adapters._pattern import fresh
from coactive_fast.learner._extras import require

__all__ = ["OnlineClassifier"]

FEATURES = 1 << 20


class OnlineClassifier(base.MiniBatchClassifier):
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
        self._learner = fresh(learner, 2)
        if self._learner.get_params().get("covariance", "diagonal") != "diagonal":
            raise ValueError('learner must have covariance="diagonal": features come and go, and '
                             f"{learner!r} takes rows of one width")
        if self._learner.max_features is None:
            self._learner.set_params(max_features=FEATURES)
        self._features, self._labels, self._numbers = {}, [], {}
        self._sees_label = "label" not in inspect.signature(self._learner.learn).parameters
        self._row = _Row(self._learner.max_features)

    @property
    def _multiclass(self):
        return True

    # --- one row ----------------------------------------------------------------------------

    def learn_one(self, x, y):
        """One round: a choice is made, and the learner told whether it was y."""
        with self._row.lock:
            before = len(self._features), len(self._labels), self._learner
            try:
                row = self._row.of(x, self._features, True)
                number = self._numbers.get(y)
                if number is None:
                    number = self._add_label(y)
                if self._sees_label:
                    self._learner.learn(row, number)
                else:
                    choice = self._learner.choose(row)
                    self._learner.learn(row, choice, choice == number)
            except Exception:
                self._go_back(*before)
                _check_values(x)
                raise

    def predict_one(self, x, **ignored):
        """The label of the largest score; None before the first round."""
        if len(self._labels) < 2:
            return self._labels[0] if self._labels else None
        # who is told the label has no way to explore: its choice is the best score's
        best = self._learner.choose if self._sees_label else self._best
        return self._labels[self._asked(best, x)]

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
        if not self._labels:
            return {}
        scores = self._asked(self._learner.decision_function, x)[0].tolist()
        return dict(zip(self._labels, scores, strict=False))  # of one label there are two scores

    def predict_proba_one(self, x, **ignored):
        """The softmax of the scores by label: their order on a common scale, not calibrated.

        Two labels have the logistic function of their difference, which is what river's linear
        classifiers give. Ensembles and other wrappers of river ask for it.

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
                return question(self._row.of(x, self._features, False))
            except Exception:
                _check_values(x)
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

    def learn_many(self, X, y):
        """The rows of a pandas DataFrame, one round each, in compiled loops between new labels.

        Nothing is learned where X or y is refused.
        """
        labels = list(y)
        if len(labels) != len(X):
            raise ValueError(f"y must have length {len(X)} to go with X, got {len(labels)}")
        for label in set(labels):
            _check_label(label)
        with self._row.lock:
            rows = self._row.table(X, self._features, True)
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

    def predict_many(self, X):
        """The labels of the largest scores, a Series; None before the first round."""
        pandas = require("pandas", "pandas", "predict_many")
        found = [None] * len(X)
        if self._labels:
            best = self._scores_of(X).argmax(axis=1)
            found = [self._labels[number] for number in best]
        return pandas.Series(found, index=X.index)

    def predict_proba_many(self, X):
        """`predict_proba_one` for each row, a DataFrame with a column for each label."""
        pandas = require("pandas", "pandas", "predict_proba_many")
        if not self._labels:
            return pandas.DataFrame(index=X.index)
        return pandas.DataFrame(_softmax(self._scores_of(X)), columns=self._labels, index=X.index)

    def _scores_of(self, X):
        with self._row.lock:
            rows = self._row.table(X, self._features, False)
            return self._learner.decision_function(rows)[:, :len(self._labels)]


class _Row:
    """One scipy row that is filled again and again; its width doubles as features come.

    Its arrays are longer than what is in them: a row ends where `indptr` says. The names of the
    row before are kept, for in most streams they are those of this one.
    """

    def __init__(self, most):
        self.most, self.width, self.names = most, 0, None
        self.lock = threading.Lock()  # of the row and of all that is numbered
        self.make_room(16)

    def __reduce__(self):
        return _Row, (self.most,)  # there is nothing in it

    def make_room(self, entries):
        self.values, self.places = np.zeros(entries), np.zeros(entries, dtype=np.int32)
        self.ends = np.zeros(2, dtype=np.int32)
        self.width, self.names = 0, None

    def of(self, x, features, grow):
        """The dictionary as a row. Names that are new get the next numbers, or are left out."""
        entries = len(x)
        if entries > len(self.values):
            self.make_room(2 * entries)
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

    def place(self, names, features):
        struct.pack_into(f"{len(names)}i", self.places, 0, *map(features.__getitem__, names))
        self.ends[1] = len(names)

    def number(self, names, features):
        """Gives names that are new the next numbers."""
        new = [name for name in names if name not in features]
        if len(features) + len(new) > self.most:
            raise ValueError(f"x brings feature {new[-1]!r}: there are {len(features)} already, "
                             f"of at most {self.most} (max_features)")
        for name in new:
            features[name] = len(features)

    def widen(self, n_features):
        self.width = min(self.most, max(64, 1 << n_features.bit_length()))
        self.row = scipy.sparse.csr_matrix((1, self.width))
        self.row.data, self.row.indices, self.row.indptr = self.values, self.places, self.ends

    def table(self, X, features, grow):
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


def _check_label(y):
    if y is None or y != y:
        raise ValueError(f"y must be a label, got {y!r}")


def _softmax(scores):
    """Along the rows."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def _check_values(x):
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
