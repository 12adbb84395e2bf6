"""What all coactive learners share: a task, weights, and the round they are in."""

from dataclasses import dataclass, field

import numpy as np

from . import _check as check
from .coactive_tasks import Items, Ranking, checked_task


@dataclass
class State:
    """What a rule sees: the weights (a copy), the rounds before this one, and a memory.

    ``memory`` is a dict that the rule may fill; what it holds is there again next round.
    """

    weights: np.ndarray
    rounds: int
    memory: dict = field(default_factory=dict)


class Learner:
    """Presents the best object by its own weights; how it learns is up to the subclasses."""

    def __init__(self, task):
        self.task = checked_task(task)
        self.reset()

    def reset(self):
        """Forget everything learned; returns the learner.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.PreferencePerceptron(reference.Ranking())
        >>> learner.update([1.0, 2.0])
        >>> learner.reset().rounds
        0
        """
        self._dimension = self.task.dimension
        self._state = None if self._dimension is None else self._start(self._dimension)
        self._total = None  # the sum of the weights after each round
        return self

    @property
    def rounds(self):
        """The number of rounds learned; one without feedback counts too.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.PreferencePerceptron(reference.Ranking())
        >>> learner.update([0.0, 0.0])
        >>> learner.rounds
        1
        """
        return 0 if self._state is None else self._state.rounds

    @property
    def weights(self):
        """A copy of the weights; empty until the dimension is known.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.PreferencePerceptron(reference.Items([[1.0, 0.0]])).weights
        array([0., 0.])
        """
        return np.zeros(0) if self._state is None else self._state.weights.copy()

    @property
    def average_weights(self):
        """The mean over the rounds of the weights after each; empty before the first.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.PreferencePerceptron(reference.Ranking())
        >>> learner.update([1.0, 0.0])
        >>> learner.update([0.0, 1.0])
        >>> learner.average_weights
        array([1. , 0.5])
        """
        return np.zeros(0) if self._total is None else self._total / self.rounds

    def present(self, x, *, k=None):
        """The object with the best score.

        Parameters
        ----------
        x : array_like or object
            Rankings: documents x N. Items: the candidates' indices, or None for all. Else
            whatever the task takes.
        k : int, optional
            Rankings: only the first k places.

        Returns
        -------
        ndarray of intp, int or object

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.PreferencePerceptron(reference.Items([[1.0], [2.0], [3.0]]))
        >>> learner.present(None)
        0
        >>> learner.learn(None, 0, 1)
        >>> learner.present(None), learner.present([0, 1])
        (2, 1)
        """
        k = self._places(k)
        best = self.task.argmax(self._state_for(x).weights.copy(), x)
        return best if k is None else best[:k]

    def scores(self, x):
        """``weights . phi``: rankings: of every document of x; items: of every candidate.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.PreferencePerceptron(reference.Ranking())
        >>> learner.update([1.0, 2.0])
        >>> learner.scores([[1.0, 0.0], [0.0, 1.0]])
        array([1., 2.])
        """
        if not callable(getattr(self.task, "scores", None)):
            raise TypeError(f"task has no scores: {type(self.task).__name__} lacks the method")
        return self.task.scores(self._state_for(x).weights, x)

    def _start(self, dimension):
        """The state before the first round."""
        return State(np.zeros(dimension), 0)

    def _state_for(self, x):
        """The state; while the dimension is unknown, the one a learner of x would start from."""
        if self._state is not None:
            return self._state
        return self._start(check.table("x", x).shape[1])

    def _places(self, k):
        """The argument k of `present`, checked."""
        if k is None:
            return None
        if not isinstance(self.task, Ranking):
            raise ValueError("k is for rankings alone: this task has no places")
        return check.count("k", k)

    def _features(self, name, x, y):
        """``phi(x, y)``, finite and of the learner's dimension; y goes by `name`."""
        if isinstance(self.task, (Ranking, Items)):
            phi = self.task._features(name, x, y)
        else:
            phi = check.feature_row(f"task.features(x, {name})", self.task.features(x, y))
        if self._dimension is not None and phi.size != self._dimension:
            raise ValueError(f"x has {phi.size} features, but the learner has {self._dimension}")
        return phi

    def _commit(self, weights, memory):
        """End the round with these weights, unless they are not finite."""
        if not np.isfinite(weights).all():
            raise ValueError("delta is too large: the weights would not be finite")
        self._dimension = weights.size
        self._total = weights.copy() if self._total is None else self._total + weights
        self._state = State(weights, self.rounds + 1, memory)


class DeltaLearner(Learner):
    """A learner that only needs to see ``delta = phi(x, better) - phi(x, y)``.

    A subclass says how: ``_rule(state, delta)`` returns the new weights. It gets a state of its
    own to change, but must replace what the memory holds and never change it in place.
    """

    def learn(self, x, y, better):
        """One round: `better` was the answer to `y`. The same object twice is no feedback.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.PreferencePerceptron(reference.Ranking(k=1))
        >>> learner.learn([[1.0, 0.0], [0.0, 3.0]], [0, 1], [1, 0])
        >>> learner.weights
        array([-1.,  3.])
        """
        presented = self._features("y", x, y)
        self.update(self._features("better", x, better) - presented)

    def update(self, delta):
        """One round, from the difference ``phi(x, better) - phi(x, y)`` itself.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.PreferencePerceptron(reference.Ranking())
        >>> learner.update([0.5, -1.0])
        >>> learner.weights
        array([ 0.5, -1. ])
        """
        delta = check.feature_row("delta", delta, self._dimension)
        if delta.size == 0:
            raise ValueError("delta is empty: there are no features")
        before = self._start(delta.size) if self._state is None else self._state
        scratch = State(before.weights.copy(), before.rounds, dict(before.memory))
        with np.errstate(over="ignore", invalid="ignore"):  # _commit looks at the outcome
            weights = self._rule(scratch, delta)
        self._commit(weights, scratch.memory)
