"""What the learners of online convex optimisation share: ask and tell, `run`, their constants."""

import numpy as np

from ..learner._base import Learner
from ..learner._check import count, number, switch
from ..learner._progress import reporter
from ..learner._random import make_generator
from . import _constants
from ._chance import Chance
from ._engine import BanditEngine, GradientEngine, Run
from ._history import ConvexHistory
from ._regions import checked_point, region_of
from ._sets import METHODS


def constant(name, text):
    """A property: the parameter where it was given, else what its formula gave."""
    def get(self):
        given = self._parameters[name]
        return getattr(self._engine.rule, name) if given is None else given

    return property(get, doc=text)


class ConvexLearner(Learner):
    """What all learners of online convex optimisation have in common."""

    _shaping = ("dimension", "feasible")
    _sees = ()  # methods that a run asks of its losses

    @property
    def center(self):
        """The point before the random step (y_t), a copy.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.OGD(2, cf.Simplex(), gradient_bound=1.0).center
        array([0.5, 0.5])
        """
        return self._engine.center

    @property
    def rounds(self):
        """How many rounds were told."""
        return self._engine.rounds

    def ask(self):
        """The point to play; asked again before `tell`, the same point.

        Returns
        -------
        ndarray of shape (dimension,)

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.OGD(2, cf.Box(0.0, 1.0), gradient_bound=1.0).ask()
        array([0.5, 0.5])
        """
        return self._engine.ask()

    def run(self, losses, rounds, *, progress=None):
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
            learner then stands between two rounds.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> losses = cf.losses.Squared([[1.0], [2.0]], [1.0, 2.0])
        >>> cf.OGD(1, cf.Ball(2.0), gradient_bound=8.0).run(losses, 3).loss.round(3)
        array([0.5  , 0.5  , 0.021])
        """
        rounds = count("rounds", rounds)
        classifies = bool(getattr(losses, "classifies", False))
        value = _value_of(losses, (*self._sees, "mistake") if classifies else self._sees)
        length = getattr(losses, "dimension", self.dimension)
        if length != self.dimension:
            raise ValueError(f"losses have rows of length {length}, but the learner has dimension "
                             f"{self.dimension}")
        loss, mistakes = np.empty(rounds), np.empty(rounds, dtype=bool) if classifies else None
        rows = _rows_of(losses) if self._engine.compiled else None
        run, begin = None if rows is None else Run(rows, loss, mistakes), self.rounds
        with reporter(progress) as report:
            try:
                if run is not None:
                    run.run(self._engine, report)
                for t in range(rounds if run is None else 0):
                    x = self._engine.ask()
                    loss[t] = number("loss", value(t, x))
                    if classifies:
                        mistakes[t] = losses.mistake(t, x)
                    self._engine.tell(self._seen(losses, t, x, loss[t]))
                    if report is not None:
                        report(t + 1, rounds)
            finally:
                # by the learner's own count: an interrupt may fall anywhere in the loop
                done = self.rounds - begin if run is None else run.done
                self.last_history = ConvexHistory(
                    loss[:done], None if mistakes is None else mistakes[:done],
                    getattr(losses, "scaling", None))
        return self.last_history


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

    def __init__(self, dimension, feasible):
        self.n = count("dimension", dimension, least=1)
        self.feasible = _answering("feasible", feasible, METHODS)
        self.D = _constants.diameter_of(feasible, self.n)
        self.origin = checked_point(feasible.center(self.n), "center", self.n).copy()

    def region(self):
        return region_of(self.feasible, self.n)

    def shrunk(self, gamma):
        smaller = self.feasible.shrunk(gamma, self.n)
        return region_of(_answering("feasible.shrunk()", smaller, METHODS), self.n)


class GradientLearner(ConvexLearner):
    """Learners that see the gradient at the point they play, which is the centre itself."""

    _sees = ("value", "gradient")

    def tell(self, gradient):
        """The gradient of the loss at the point that `ask` gave.

        Parameters
        ----------
        gradient : array_like of shape (dimension,)

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

    def _seen(self, losses, t, x, loss):
        return losses.gradient(t, x)

    def _engine_of(self, place, make):
        return GradientEngine(make, place.origin)


class BanditLearner(ConvexLearner):
    """Learners that see loss values only."""

    _sees = ("value",)

    def ask_pair(self):
        """Two points to play, one on each side of the centre, for `tell_pair`.

        Returns
        -------
        plus, minus : ndarray of shape (dimension,)

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.OGDEG(2, cf.Ball(1.0), delta=0.1, gamma=0.5, seed=0)
        >>> plus, minus = learner.ask_pair()
        >>> plus + minus
        array([0., 0.])
        """
        return self._engine.ask_pair()

    def tell(self, loss):
        """The loss at the point that `ask` gave.

        A loss beyond `loss_bound` is used as it is; the first one draws a warning. One that
        leaves no state to go on from is refused.

        Parameters
        ----------
        loss : float

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

    def tell_pair(self, plus, minus):
        """The losses at the two points that `ask_pair` gave, in the same order.

        The gradient estimate is ``(d / (2 delta)) (plus - minus) v``: for a Lipschitz loss it
        stays bounded however small delta is, and a baseline would cancel. Their mean counts as
        the loss of the round.

        Parameters
        ----------
        plus, minus : float

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

    def _seen(self, losses, t, x, loss):
        return loss

    def _engine_of(self, place, make, parameters, baseline):
        return BanditEngine(make, place.origin, Chance(make_generator(parameters["seed"])),
                            number("loss_bound", parameters["loss_bound"], above=0.0),
                            switch("baseline", baseline))
