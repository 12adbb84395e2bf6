"""The protocol of the slow multiclass learners, and the history of a run.

K labels, one row x a round, one label chosen. What a class knows is a value of its own (a vector,
a pair of vectors, a ridge regression) that is never changed, only replaced: a learner holds one
for each class, and an update is one assignment at the very end of `learn`.
"""

from __future__ import annotations

import dataclasses
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coactive_fast._typing import RowsLike, Seed, Vector

from . import _check as check
from ._ridge import product
from ._row_learner import RowLearner


@dataclasses.dataclass(frozen=True, eq=False)
class MulticlassHistory:
    """What happened in the rounds of one `run`, one entry a round.

    Attributes
    ----------
    mistakes : ndarray of bool
        The label chosen was wrong.
    explored : ndarray of bool
        It was not the one that pure exploitation would have chosen.
    choices : ndarray of intp
        The labels chosen.
    """

    mistakes: NDArray[np.bool_]
    explored: NDArray[np.bool_]
    choices: NDArray[np.intp]


class MulticlassLearner(RowLearner):
    """The protocol of all multiclass learners; a subclass brings the rules.

    A subclass has `learn` and ``_fresh(d)``, what a class knows at the start, and where the
    defaults below do not hold ``_margin(one, x)``, ``_weight(one)`` and ``_exploit(classes, x)``.
    """

    _full_information = True

    def __init__(self, n_classes: SupportsIndex, seed: Seed = None) -> None:
        self._built_with = check.count("n_classes", n_classes)
        if self._built_with < 2:
            raise ValueError(f"n_classes must be >= 2, got {n_classes}")
        super().__init__(seed)

    def _start(self):
        self.n_classes = self._built_with
        self._classes = None

    def add_class(self) -> int:
        """One class more, as fresh as all were at the start; returns its label.

        `reset` takes it away again.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.MulticlassPerceptron(2)
        >>> learner.add_class(), learner.n_classes
        (2, 3)
        """
        if self._classes is not None:
            self._classes = [*self._classes, self._fresh(self._dimension)]
        self.n_classes += 1
        return self.n_classes - 1

    def choose(self, x: RowsLike) -> int:
        """The label for x.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.MulticlassPerceptron(2).choose([1.0, 0.0])
        0
        """
        return int(np.argmax(self._bounds(self._row(x))))

    def decision_function(self, X: RowsLike) -> Vector:
        """The score of every class for every row of X, an array of shape (n, K).

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.MulticlassPerceptron(2).decision_function([[1.0, 0.0]])
        array([[0., 0.]])
        """
        X = self._rows(X)
        scores = np.zeros((X.shape[0], self.n_classes))
        for t in range(X.shape[0]):
            x = self._row(X[t])
            scores[t] = self._margins(self._before(x), x)
        return scores

    def predict(self, X: RowsLike) -> NDArray[np.intp]:
        """The labels of pure exploitation: the best score of each row, ties to the lower label.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.MulticlassPerceptron(2).predict([[1.0, 0.0], [0.0, 1.0]])
        array([0, 0])
        """
        return np.argmax(self.decision_function(X), axis=1)

    def run(self, X: RowsLike, y: ArrayLike) -> MulticlassHistory:
        """Choose and learn, row by row; y holds the right labels.

        Returns
        -------
        MulticlassHistory
            The choices with the mistakes.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.MulticlassPerceptron(2)
        >>> learner.run([[1.0, 0.0], [1.0, 0.0]], [1, 1]).choices
        array([0, 1])
        """
        X = self._rows(X)
        y = check.labels("y", y, X.shape[0], self.n_classes)
        choices = np.zeros(y.size, dtype=np.intp)
        explored = np.zeros(y.size, dtype=bool)
        for t, right in enumerate(y.tolist()):
            label, x = self.choose(X[t]), self._row(X[t])
            choices[t] = label
            explored[t] = label != self._exploit(self._before(x), x)
            if self._full_information:
                self.learn(X[t], right)
            else:
                self.learn(X[t], label, label == right)
        return MulticlassHistory(choices != y, explored, choices)

    @property
    def weights(self) -> Vector:
        """One row a class, shape (K, d); (K, 0) before the first round. A copy.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.MulticlassPerceptron(3).weights.shape
        (3, 0)
        """
        if self._classes is None:
            return np.zeros((self.n_classes, 0))
        return np.array([self._weight(one) for one in self._classes])

    def _before(self, x):
        """What the classes know before this round, fresh while no row was learned."""
        if self._classes is None:
            return [self._fresh(x.size)] * self.n_classes
        return self._classes

    def _after(self, x, changed):
        """Ends a round: ``changed[i]`` is what class i knows from now on."""
        self._classes = [changed.get(i, one) for i, one in enumerate(self._before(x))]
        self._dimension = x.size
        self.rounds += 1

    def _bounds(self, x):
        """What a choice without chance compares."""
        return self._margins(self._before(x), x)

    def _margins(self, classes, x):
        return np.array([self._margin(one, x) for one in classes])

    def _exploit(self, classes, x):
        """The label that only exploits."""
        return int(np.argmax(self._margins(classes, x)))

    def _label(self, label, name="label"):
        return check.label(name, label, self.n_classes)

    def _fresh(self, d):
        return np.zeros(d)

    def _margin(self, one, x):
        return product(one, x)

    def _weight(self, one):
        return one
