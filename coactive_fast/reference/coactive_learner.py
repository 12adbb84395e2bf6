"""What all coactive learners share: a task, weights, and the round they are in."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from coactive_fast._typing import RowsLike, Seed, Vector

from . import _check as check
from .coactive_tasks import Items, Ranking, checked_task
from .users import feedback_from_clicks

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass
class State:
    """What a rule sees: the weights (a copy), the rounds before this one, and a memory.

    ``memory`` is a dict that the rule may fill; what it holds is there again next round.
    """

    weights: Vector
    rounds: int
    memory: dict[str, Any] = field(default_factory=dict)


class Learner:
    """Presents the best object by its own weights; how it learns is up to the subclasses."""

    def __init__(self, task: Any) -> None:
        self.task = checked_task(task)
        self.reset()

    def reset(self) -> Self:
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
    def rounds(self) -> int:
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
    def weights(self) -> Vector:
        """A copy of the weights; empty until the dimension is known.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.PreferencePerceptron(reference.Items([[1.0, 0.0]])).weights
        array([0., 0.])
        """
        return np.zeros(0) if self._state is None else self._state.weights.copy()

    @property
    def average_weights(self) -> Vector:
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

    def present(self, x: Any, *, k: SupportsIndex | None = None, average: bool = False) -> Any:
        """The object with the best score.

        Parameters
        ----------
        x : array_like or object
            Rankings: documents x N. Items: the candidates' indices, or None for all. Else
            whatever the task takes.
        k : int, optional
            Rankings: only the first k places.
        average : bool, default False
            Score by `average_weights`; before the first round by the weights.

        Returns
        -------
        ndarray of intp, int or object
            What the task's argmax gives for the present weights.

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
        best = self.task.argmax(self._scoring(x, average).copy(), x)
        return best if k is None else best[:k]

    def scores(self, x: Any, *, average: bool = False) -> Vector:
        """Weights times phi: in rankings of every document of x, in items of every candidate.

        With `average` by `average_weights`; before the first round by the weights.

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
        return self.task.scores(self._scoring(x, average), x)

    def _scoring(self, x, average):
        """The weights that score: the present ones, or their mean where there is one."""
        average = check.flag("average", average)
        if average and self._total is not None:
            return self._total / self.rounds
        return self._state_for(x).weights

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

    def _refuse_non_ranking(self):
        """`learn_clicks` is for rankings."""
        if not isinstance(self.task, Ranking):
            raise TypeError(f"learn_clicks is for rankings, and task is {self.task!r}")

    def _refuse_short(self, y, better):
        """Feedback that ends above what counts of y would take away what it does not name."""
        if isinstance(self.task, Ranking):
            least, got = min(self.task.k, len(y)), len(better)
            if got < least:
                raise ValueError(f"better must have at least {least} places, as y has, got {got}")

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

    _warned: bool = False  # about raw clicks

    def learn(self, x: Any, y: Any, better: Any) -> None:
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
        delta = self._features("better", x, better) - presented
        self._refuse_short(y, better)
        self.update(delta)

    def learn_clicks(self, x: Any, shown: ArrayLike, clicked: ArrayLike | Set[int]) -> None:
        """One round of rankings: `feedback_from_clicks` of the clicks was the answer to `shown`.

        Clicks favour what stood on top, which misleads: a warning says so once a learner.

        Examples
        --------
        >>> import warnings
        >>> from coactive_fast import reference
        >>> learner = reference.PreferencePerceptron(reference.Ranking(k=1))
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     learner.learn_clicks([[1.0, 0.0], [0.0, 3.0]], [0, 1], [1])
        >>> learner.weights
        array([-1.,  3.])
        """
        self._refuse_non_ranking()
        better = feedback_from_clicks(shown, clicked)
        if not self._warned:
            self._warned = True
            warnings.warn(f"{type(self).__name__} learns from raw clicks, which favour what stood "
                          "on top: use PairwisePerceptron or PDGD", stacklevel=2)
        self.learn(x, shown, better)

    def update(self, delta: RowsLike) -> None:
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


class DrawingLearner(Learner):
    """A learner that draws what it presents, and remembers it until clicks or feedback end it.

    ``_pending`` is None, or a tuple that ends with what was presented. It is left by `learn_clicks`
    (for a `DuelingBandit` also by `learn`), replaced by another `present`, forgotten by `reset`,
    and stays through a call that is refused.
    """

    def __init__(self, task: Any, seed: Seed) -> None:
        self._seed = check.generator("seed", seed)
        super().__init__(task)

    def reset(self) -> Self:
        """Forget everything, what is pending too; the seed's generator starts again.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.DuelingBandit(reference.Ranking(), seed=0)
        >>> first = learner.present([[1.0], [2.0], [3.0]])
        >>> learner.reset().present([[1.0], [2.0], [3.0]]).tolist() == first.tolist()
        True
        """
        super().reset()
        self.rng = copy.deepcopy(self._seed)
        self._pending = None
        return self

    def present(self, x: Any, *, k: SupportsIndex | None = None, average: bool = False) -> Any:
        """Draw, and remember, what is presented; with `average` the plain best, nothing drawn.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.PairwisePerceptron(reference.Ranking(), seed=0)
        >>> learner.present([[1.0], [2.0], [3.0]])
        array([0, 2, 1])
        >>> learner.present([[1.0], [2.0], [3.0]], average=True)
        array([0, 1, 2])
        """
        k, rng = self._places(k), copy.deepcopy(self.rng)
        if check.flag("average", average):
            return super().present(x, k=k, average=True)
        state = self._state_for(x)
        pending = self._drawn(state.weights, x, rng)
        self._state, self._dimension, self.rng = state, state.weights.size, rng
        self._pending = pending
        return pending[-1][:k].copy()

    def _drawn(self, weights, x, rng):
        """What is to be pending."""
        raise NotImplementedError

    def _answered(self, name, y):
        """What is pending, if `y`, called `name`, is what was presented or its first places."""
        if self._pending is None:
            raise ValueError(f"{name} was not presented: call present first")
        y, presented = check.ranking(name, y), self._pending[-1].tolist()
        if y != (presented[: max(len(y), 1)] if isinstance(self.task, Ranking) else presented):
            raise ValueError(f"{name} is not what present returned last")
        return self._pending, y

    def _clicks(self, x, shown, clicked):
        """Of `learn_clicks`: what is pending, the documents' features, `shown`, the clicks."""
        self._refuse_non_ranking()
        pending, shown = self._answered("shown", shown)
        x = check.table("x", x)
        check.same_length("x", len(x), len(pending[-1]), of="what was presented")
        check.same_length("a row of x", x.shape[1], self._dimension, of="the learner")
        clicked = sorted(clicked) if isinstance(clicked, (set, frozenset)) else clicked
        clicked = set(check.ranking("clicked", clicked))
        if not clicked <= set(shown):
            raise ValueError("clicked holds a document that is not in shown")
        return pending, x, shown, clicked
