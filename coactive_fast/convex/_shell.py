"""What the learners of online convex optimisation share: ask and tell, `run`, their constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex

from .._arrays import finite_vector
from .._memory import refuse_beyond_limit
from .._typing import Feasible, Progress, Real, RowsLike, Seed, Values, Vector
from ..learner._base import Learner
from ..learner._chance import Chance
from ..learner._check import choice, count, number, switch
from ..learner._random import make_generator
from . import _constants
from ._history import ConvexHistory
from ._rules import BanditEngine, ConvexRun, GradientEngine, region_of
from ._sets import METHODS

MOST_DIMENSIONS = 2**40  # a few vectors of that length can be counted in bytes
MOST_ROUNDS = 2**56
VECTORS = 20  # of the dimension's length, that a learner without a matrix takes


class ConvexLearner(Learner):
    """What all learners of online convex optimisation have in common."""

    last_history: ConvexHistory | None
    dimension: int
    _shaping: tuple[str, ...] = ("dimension", "feasible")
    _sees: tuple[str, ...] = ()  # methods that a run asks of its losses

    def _constant(self, name):
        """The parameter where it was given, else what its formula gave."""
        given = self._parameters[name]
        return getattr(self._engine.rule, name) if given is None else given

    @property
    def center(self) -> Vector:
        """The point before the random step (y_t), a copy.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.OGD(2, cf.Simplex(), gradient_bound=1.0).center
        array([0.5, 0.5])
        """
        return self._engine.center

    @property
    def rounds(self) -> int:
        """How many rounds were told."""
        return self._engine.rounds

    def ask(self) -> Vector:
        """The point to play; asked again before `tell`, the same point.

        Returns
        -------
        ndarray of shape (dimension,)
            A point of the feasible set, fresh: it may be changed.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.OGD(2, cf.Box(0.0, 1.0), gradient_bound=1.0).ask()
        array([0.5, 0.5])
        """
        return self._engine.ask()

    def run(self, losses: Values | Callable[[int, Vector], Real], rounds: SupportsIndex, *,
            progress: Progress = None) -> ConvexHistory:
        """Plays against a sequence of losses: the loop of `ask` and `tell`, bit for bit.

        With losses and sets of this package it is one compiled loop without the GIL; with your
        own the loop is Python's. It starts at row 0 of the losses, whatever was played before.

        Parameters
        ----------
        losses : object or callable
            One of ``coactive_fast.losses``, or an object with ``value(t, x)`` (and ``gradient(t,
            x)`` for ONS and OGD), or, where no gradient is needed, a function ``losses(t, x)``;
            t counts the rounds of this run from 0. An attribute ``scaling`` goes into the record.
        rounds : int
            How many.
        progress : bool or callable, optional
            True shows a bar; a callable is called now and then as ``progress(done, total)``.

        Returns
        -------
        ConvexHistory
            Also kept as ``last_history``, where an interrupted run leaves its rounds so far; the
            learner then stands between two rounds. With losses or sets of your own it may have
            asked for the point of the next one, which `ask` gives again.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> losses = cf.losses.Squared([[1.0], [2.0]], [1.0, 2.0])
        >>> cf.OGD(1, cf.Ball(2.0), gradient_bound=8.0).run(losses, 3).loss.round(3)
        array([0.5  , 0.5  , 0.021])
        """
        rounds = count("rounds", rounds, most=MOST_ROUNDS)
        classifies = bool(getattr(losses, "classifies", False))
        value = _value_of(losses, (*self._sees, "mistake") if classifies else self._sees)
        length = getattr(losses, "dimension", self.dimension)
        if length != self.dimension:
            raise ValueError(f"losses have rows of length {length}, but the learner has dimension "
                             f"{self.dimension}")
        rows = _rows_of(losses) if self._engine.compiled else None
        return ConvexRun(losses, value, rows, rounds, classifies).play(self, progress)


def _rows_of(losses):
    from .. import losses as own

    return losses._rows if type(losses) in own.COMPILED else None


def _value_of(losses, needed):
    """The function of losses, which must have the methods needed."""
    if needed == ("value",) and callable(losses) and not hasattr(losses, "value"):
        return losses
    return _answering("losses", losses, needed).value


def _answering(name, thing, methods):
    """The thing itself, or a `TypeError` that names the first method it lacks."""
    if isinstance(thing, type):
        raise TypeError(f"{name} must be an object, got the class {thing.__name__} itself")
    for method in methods:
        if not callable(getattr(thing, method, None)):
            raise TypeError(f"{name} must have the method {method}: {type(thing).__name__} has not")
    return thing


class Place:
    """Dimension and feasible set of a learner, checked."""

    def __init__(self, dimension: SupportsIndex, feasible: Feasible) -> None:
        self.n = count("dimension", dimension, least=1, most=MOST_DIMENSIONS)
        refuse_beyond_limit(8.0 * VECTORS * self.n, f"dimension={self.n}",
                            "a learner holds some vectors of that length")
        self.feasible = _answering("feasible", feasible, METHODS)
        self.D = _constants.diameter_of(feasible, self.n)
        self.origin = finite_vector(feasible.center(self.n), "feasible.center()", self.n,
                                    "the dimension").copy()

    def region(self) -> Any:
        return region_of(self.feasible, self.n)

    def shrunk(self, gamma: float) -> Any:
        smaller = self.feasible.shrunk(gamma, self.n)
        return region_of(_answering("feasible.shrunk()", smaller, METHODS), self.n)


class GradientLearner(ConvexLearner):
    """Learners that see the gradient at the point they play, which is the centre itself."""

    feasible: Feasible
    _sees = ("value", "gradient")

    def tell(self, gradient: RowsLike) -> None:
        """The gradient of the loss at the point that `ask` gave.

        Parameters
        ----------
        gradient : array_like of shape (dimension,) or scipy.sparse row
            Of the round's loss at the point of `ask`; also a table of one row.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.OGD(2, cf.Box(0.0, 1.0), gradient_bound=10.0)
        >>> _ = learner.ask()
        >>> learner.tell([1.0, -1.0])
        >>> learner.center.round(3)
        array([0.359, 0.641])
        """
        self._engine.tell(gradient)

    def _engine_of(self, place, make):
        return GradientEngine(make, place.origin)


class BanditLearner(ConvexLearner):
    """Learners that see loss values only."""

    loss_bound: float
    seed: Seed
    _sees = ("value",)

    def ask_pair(self) -> tuple[Vector, Vector]:
        """Two points to play, one on each side of the centre, for `tell_pair`.

        Returns
        -------
        plus, minus : ndarray of shape (dimension,)
            The center plus and minus the random step.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.OGDEG(2, cf.Ball(1.0), delta=0.1, gamma=0.5, seed=0)
        >>> plus, minus = learner.ask_pair()
        >>> plus + minus
        array([0., 0.])
        """
        return self._engine.ask_pair()

    def tell(self, loss: Real) -> None:
        """The loss at the point that `ask` gave.

        A loss beyond `loss_bound` is used as it is; the first one draws a warning. One that
        leaves no state to go on from is refused.

        Parameters
        ----------
        loss : float
            The round's loss at the point of `ask`.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.OGDEG(2, cf.Ball(1.0), delta=0.1, gamma=0.5, seed=0)
        >>> _ = learner.ask()
        >>> learner.tell(0.1)
        >>> learner.center.round(3)
        array([-0.138,  0.145])
        """
        self._engine.tell(loss)

    def tell_pair(self, plus: Real, minus: Real) -> None:
        """The losses at the two points that `ask_pair` gave, in the same order.

        The gradient estimate is ``(d / (2 delta)) (plus - minus) v``: for a Lipschitz loss it
        stays bounded however small delta is, and a baseline would cancel. Their mean counts as
        the loss of the round.

        Parameters
        ----------
        plus, minus : float
            The losses at the two points of `ask_pair`, in its order.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.OGDEG(2, cf.Ball(1.0), delta=0.1, gamma=0.5, seed=0)
        >>> _ = learner.ask_pair()
        >>> learner.tell_pair(0.1, -0.1)
        >>> learner.center.round(3)
        array([-0.138,  0.145])
        """
        self._engine.tell_pair(plus, minus)

    def _engine_of(self, place, make, parameters):
        baseline = switch("baseline", parameters.get("baseline", False))
        feedback = choice("feedback", parameters.get("feedback", "value"), ("value", "residual"))
        if baseline and feedback == "residual":
            raise ValueError('baseline must be False with feedback="residual", which subtracts '
                             "the loss before")
        return BanditEngine(make, place.origin, Chance(make_generator(parameters["seed"])),
                            number("loss_bound", parameters["loss_bound"], above=0.0),
                            "mean" if baseline else
                            "previous" if feedback == "residual" else "nothing")
