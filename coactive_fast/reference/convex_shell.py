"""What the slow twins of online convex optimisation share: ask and tell, chance, `run`.

`Learner` holds the feasible set, the centre and the count of rounds; `Bandit` adds the random
step and the losses seen, `FullInformation` the gradients. A learner is one of the two and a rule.
Whatever is told is first turned into the next state, and that state taken over as a whole: an
error leaves the learner as it was.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coactive_fast._typing import Feasible, Real, Seed, Vector

from . import _check as check
from . import convex_constants as constants
from .convex_sets import METHODS


@dataclass(frozen=True)
class ConvexHistory:
    """What a run has seen: the losses at the points played.

    Attributes
    ----------
    loss : ndarray, shape (T,)
        The loss of each round at the point that was played.
    mistakes : ndarray of bool, shape (T,), or None
        Whether the sign of the prediction was wrong; None where the losses do not classify.
    scaling : dict or None
        How the losses' data were scaled.

    Examples
    --------
    >>> history = ConvexHistory(np.array([1.0, 0.0]), np.array([True, False]))
    >>> history.average_loss, history.error_rate
    (array([1. , 0.5]), array([1. , 0.5]))
    """

    loss: Vector
    mistakes: NDArray[np.bool_] | None = None
    scaling: dict[str, Any] | None = None

    def __len__(self) -> int:
        return len(self.loss)

    @property
    def average_loss(self) -> Vector:
        """Mean of the losses up to each round, shape (T,)."""
        return _running_mean(self.loss)

    @property
    def average_return(self) -> Vector:
        """Mean return up to each round, where the loss is a return with its sign changed."""
        return -self.average_loss

    @property
    def error_rate(self) -> Vector | None:
        """Share of mistakes up to each round, or None."""
        return None if self.mistakes is None else _running_mean(self.mistakes)


def _running_mean(values):
    return np.cumsum(values) / np.arange(1, len(values) + 1)


class Learner:
    """What all learners share: the feasible set, the centre, the count of rounds, `run`."""

    def __init__(self, dimension: SupportsIndex, feasible: Feasible) -> None:
        self.dimension = check.positive_count("dimension", dimension)
        self.feasible = check.answering("feasible", feasible, METHODS)
        self._D = constants.diameter(feasible, self.dimension)

    def _begin(self):
        """The state before the first round."""
        self._rounds = 0
        self._y = self._point("center", self.feasible.center(self.dimension)).copy()
        self._memory = self._first_memory()  # what the rule keeps besides y; never changed in place
        self._pending = None  # None, "ask" or "ask_pair"

    def _first_memory(self):
        return None

    def _point(self, method, value):
        """A vector that came from a method of the feasible set."""
        return check.vector(f"feasible.{method}()", value, self.dimension, of="the learner")

    @property
    def rounds(self) -> int:
        """Number of rounds told.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.OGD(2, reference.Ball(1.0), 1.0).rounds
        0
        """
        return self._rounds

    @property
    def center(self) -> Vector:
        """The point before the random step (y_t), a fresh array.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.OGD(2, reference.Simplex(), 1.0).center
        array([0.5, 0.5])
        """
        return self._y.copy()

    def reset(self) -> None:
        """Back to the state before the first round, the random generator included.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.OGD(1, reference.Ball(1.0), 1.0)
        >>> _ = learner.ask(); learner.tell([0.5])
        >>> learner.reset(); learner.rounds
        0
        """
        self._begin()

    def _expect(self, pending):
        if self._pending is None:
            raise ValueError(f"nothing to tell: no point was asked for, call {pending} first")
        if self._pending != pending:
            raise ValueError(f"the pending point came from {self._pending}, not from {pending}")

    def _commit(self, y, memory):
        self._y, self._memory = y, memory
        self._rounds += 1
        self._pending = None

    def run(self, losses: Any, rounds: SupportsIndex) -> ConvexHistory:
        """Play against a sequence of losses: the loop of `ask` and `tell`.

        Parameters
        ----------
        losses : object or callable
            An object with ``value(t, x)`` (and ``gradient(t, x)`` for ONS and OGD), or, where no
            gradient is needed, a function ``losses(t, x)``; t counts the rounds of this run
            from 0.
        rounds : int
            How many.

        Returns
        -------
        ConvexHistory
            What was seen at the points played.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> losses = reference.losses.Squared([[1.0], [2.0]], [1.0, 2.0])
        >>> history = reference.OGD(1, reference.Ball(2.0), gradient_bound=8.0).run(losses, 3)
        >>> history.loss.round(3)
        array([0.5  , 0.5  , 0.021])
        """
        rounds = check.count("rounds", rounds)
        classifies = getattr(losses, "classifies", False)
        needed = (*self._asks_of_losses, *(["mistake"] if classifies else []))
        if needed == ("value",) and callable(losses) and not hasattr(losses, "value"):
            value = losses
        else:
            value = check.answering("losses", losses, needed).value
        length = getattr(losses, "dimension", self.dimension)
        check.same_length("a row of losses", length, self.dimension, "the learner")

        seen, mistakes = [], []
        for t in range(rounds):
            x = self.ask()
            loss = check.real("loss", value(t, x))
            if classifies:
                mistakes.append(losses.mistake(t, x))
            self._play(losses, t, x, loss)
            seen.append(loss)
        return ConvexHistory(
            np.array(seen, dtype=float),
            np.array(mistakes, dtype=bool) if classifies else None,
            getattr(losses, "scaling", None),
        )


class Bandit(Learner):
    """Learners that see loss values only: a random step, and an estimate from what was seen.

    A rule brings `_draw` (the random direction v), `_offset` (the step along it) and `_next` (the
    state that follows from v and the figure ``phi``: the loss f, or half the difference of two).
    """

    _asks_of_losses = ("value",)

    def __init__(self, dimension: SupportsIndex, feasible: Feasible, loss_bound: Real,
                 baseline: bool, seed: Seed, feedback: str = "value") -> None:
        super().__init__(dimension, feasible)
        self._size = constants.Geometry.of(feasible, self.dimension)
        self.loss_bound = check.positive("loss_bound", loss_bound)
        self.baseline = check.flag("baseline", baseline)
        self.feedback = check.choice("feedback", feedback, ("value", "residual"))
        if self.baseline and self.feedback == "residual":
            raise ValueError('baseline must be False with feedback="residual"')
        self._seeded = check.generator("seed", seed)

    def _begin(self):
        super()._begin()
        self._rng = self._seeded  # drawn from in copies only
        self._v = None  # direction of the pending point
        self._mean = 0.0  # of all losses so far
        self._previous = None  # the last loss
        self._bound_named = False

    def _pend(self, pending):
        """A direction for this round, the same one until it is told; returns the step along it."""
        if self._pending is None:
            rng = copy.deepcopy(self._rng)
            self._v, self._rng = self._draw(rng), rng
        self._pending = pending
        return self._offset(self._v)

    def ask(self) -> Vector:
        """The point to play; asked again before `tell`, the same point.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.OGDEG(2, reference.Ball(1.0), delta=0.1, gamma=0.5, seed=0)
        >>> x = learner.ask()
        >>> x.round(3), bool((x == learner.ask()).all())
        (array([ 0.069, -0.072]), True)
        """
        return self._y + self._pend("ask")

    def ask_pair(self) -> tuple[Vector, Vector]:
        """Two points to play, one on each side of the centre, for `tell_pair`.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.OGDEG(2, reference.Ball(1.0), delta=0.1, gamma=0.5, seed=0)
        >>> plus, minus = learner.ask_pair()
        >>> plus + minus
        array([0., 0.])
        """
        step = self._pend("ask_pair")
        return self._y + step, self._y - step

    def tell(self, loss: Real) -> None:
        """The loss at the point that `ask` gave.

        A loss beyond `loss_bound` is used as it is; the first one draws a warning.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.OGDEG(2, reference.Ball(1.0), delta=0.1, gamma=0.5, seed=0)
        >>> _ = learner.ask(); learner.tell(0.1)
        >>> learner.center.round(3)
        array([-0.138,  0.145])
        """
        loss = check.real("loss", loss)
        self._expect("ask")
        self._learn(self._excess(loss), loss, abs(loss))

    def _excess(self, loss):
        """What of a loss the step sees."""
        if self.feedback == "residual":
            return 0.0 if self._previous is None else loss - self._previous
        return loss - self._mean if self.baseline else loss

    def tell_pair(self, plus: Real, minus: Real) -> None:
        """The losses at the two points that `ask_pair` gave, in the same order.

        The gradient estimate is ``(d / (2 delta)) (plus - minus) v``: for a Lipschitz loss it
        stays bounded however small delta is, and a baseline would cancel. Their mean counts as
        the loss of the round.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.OGDEG(2, reference.Ball(1.0), delta=0.1, gamma=0.5, seed=0)
        >>> _ = learner.ask_pair(); learner.tell_pair(0.1, -0.1)
        >>> learner.center.round(3)
        array([-0.138,  0.145])
        """
        plus, minus = check.real("plus", plus), check.real("minus", minus)
        self._expect("ask_pair")
        half = plus / 2.0, minus / 2.0  # halved first: the sum cannot overflow
        self._learn(half[0] - half[1], half[0] + half[1], max(abs(plus), abs(minus)))

    def _learn(self, phi, loss, largest):
        rounds = self._rounds + 1
        # by halves, which changes no digit: the difference cannot overflow
        mean = self._mean + 2.0 * ((loss / 2.0 - self._mean / 2.0) / rounds)
        with np.errstate(all="ignore"):
            try:
                state = self._next(phi)
                check.finite("the mean of the losses", mean)
            except ValueError as error:
                if largest > self.loss_bound:
                    raise ValueError(
                        f"loss is {largest:.6g}, too far beyond loss_bound={self.loss_bound:g}: "
                        "the learner could not go on from it"
                    ) from error
                raise ValueError(f"loss leaves no step that is a number: {error}") from error
        if largest > self.loss_bound and not self._bound_named:
            warnings.warn(
                f"the loss {largest:.6g} is beyond loss_bound={self.loss_bound:g}: it is used all "
                "the same, but the constants were made for losses within it",
                stacklevel=3,
            )
            self._bound_named = True
        self._mean, self._previous = mean, loss
        self._commit(*state)

    def _play(self, losses, t, x, loss):
        self.tell(loss)


class FullInformation(Learner):
    """Learners that see the gradient at the point they play, which is the centre itself."""

    _asks_of_losses = ("value", "gradient")

    def ask(self) -> Vector:
        """The point to play: the centre.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.OGD(2, reference.Box(0.0, 1.0), 1.0).ask()
        array([0.5, 0.5])
        """
        self._pending = "ask"
        return self.center

    def tell(self, gradient: ArrayLike) -> None:
        """The gradient of the loss at the point that `ask` gave.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.OGD(2, reference.Box(0.0, 1.0), 10.0)
        >>> _ = learner.ask(); learner.tell([1.0, -1.0])
        >>> learner.center.round(3)
        array([0.359, 0.641])
        """
        gradient = check.feature_row("gradient", gradient, self.dimension)
        self._expect("ask")  # last: what is given may be an object that calls the learner
        with np.errstate(all="ignore"):
            try:
                state = self._next(gradient)
            except ValueError as error:
                raise ValueError(f"gradient leaves no step that is a number: {error}") from error
        self._commit(*state)

    def _play(self, losses, t, x, loss):
        self.tell(losses.gradient(t, x))
