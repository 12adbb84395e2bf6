"""The learners of the coactive family: thin classes over the engine."""

import math

from ..learner._base import Learner
from ..learner._check import choice, count, number, switch
from ._engine import CoactiveEngine
from ._rules import Convex, Custom, Exponentiated, Perceptron, SecondOrder


class CoactiveLearner(Learner):
    """What all learners from an improved object have in common."""

    _shaping = ("task",)

    def _build(self, parameters):
        rule = self._rule(**{k: v for k, v in parameters.items() if k != "task"})
        return CoactiveEngine(parameters["task"], rule)

    def present(self, x, *, k=None):
        """The object that the present weights call best.

        Parameters
        ----------
        x : context
            Ranking: the documents' features, shape (n, N). Items: the array of candidate indices,
            None for all. Else whatever the task's own `argmax` takes.
        k : int, optional
            Rankings: only the first k places.

        Returns
        -------
        ndarray of int or int
            Ranking: documents, best first, ties to the lower index. Items: an item's index.
        """
        return self._engine.present(x, k)

    def learn(self, x, y, better):
        """One round: for context x the user improved y to `better`.

        Parameters
        ----------
        x : context
            As for `present`.
        y : object
            What was presented. Rankings: all documents or only the first places.
        better : object
            What the user made of it; the same as y when there was nothing to improve (which
            is a round too).
        """
        self._engine.learn(x, y, better)

    def update(self, delta):
        """One round by the difference of features itself, ``phi(better) - phi(y)``.

        Parameters
        ----------
        delta : array_like of shape (N,)
        """
        self._engine.update(delta)

    def scores(self, x):
        """The scores that `present` sorts by.

        Parameters
        ----------
        x : context

        Returns
        -------
        ndarray of shape (n,)
            Of the documents, or of the candidates in their order.
        """
        return self._engine.scores(x)

    @property
    def weights(self):
        """The weights, a copy; empty until the number of features is known."""
        return self._engine.weights

    @property
    def average_weights(self):
        """The mean of the weights after each round so far; empty before the first.

        Less moved by the last few rounds than `weights`: for a model that is deployed.
        """
        return self._engine.average_weights

    @property
    def rounds(self):
        """How many rounds were learned."""
        return self._engine.rounds


class PreferencePerceptron(CoactiveLearner):
    """Preference Perceptron: ``w += phi(x, better) - phi(x, y)``.

    Parameters
    ----------
    task : Ranking, Items or object
        An object of your own has `dimension`, ``features(x, y)`` and ``argmax(w, x)``.
    batch : int, default 1
        The weights stay for so many rounds, after whose last one all their differences are
        added. An unfinished batch is part of the state and moves nothing yet.

    Examples
    --------
    >>> import numpy as np
    >>> import coactive_fast as cf
    >>> documents = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    >>> learner = cf.PreferencePerceptron(cf.Ranking(k=2))
    >>> y = learner.present(documents)
    >>> y
    array([0, 1, 2])
    >>> learner.learn(documents, y, [1, 2, 0])  # the user prefers document 1, then 2
    >>> learner.present(documents)
    array([1, 2, 0])
    """

    def __init__(self, task, *, batch=1):
        self._begin(task=task, batch=batch)

    def _rule(self, batch):
        batch = count("batch", batch, least=1)
        return lambda: Perceptron(batch)


class ExponentiatedPreferencePerceptron(CoactiveLearner):
    """Weights that grow by the factor ``exp(eta_t Delta)`` and always sum to one.

    With ``signed`` every feature has a positive and a negative weight, 2N in all from 1/(2N) on;
    `weights` are their differences. They are kept as one logarithm a feature: nothing is
    doubled, nothing overflows.

    Parameters
    ----------
    task : Ranking, Items or object
    scale : float, default 1.0
        S, a bound on the largest entry of the features; the rate is ``1 / (2 S sqrt(t))``.
    horizon : int, optional
        The number of rounds T, when it is known: the rate is then ``1 / (2 S sqrt(T))`` always.
    signed : bool, default True
        False: N weights that are never negative, from 1/N on.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.ExponentiatedPreferencePerceptron(cf.Ranking(k=1))
    >>> learner.learn([[1.0, 0.0], [0.0, 1.0]], [0, 1], [1, 0])
    >>> learner.weights.round(3)
    array([-0.231,  0.231])
    """

    _shaping = ("task", "signed")

    def __init__(self, task, *, scale=1.0, horizon=None, signed=True):
        self._begin(task=task, scale=scale, horizon=horizon, signed=signed)

    def _rule(self, scale, horizon, signed):
        scale = number("scale", scale, above=0.0)
        over = 0 if horizon is None else count("horizon", horizon, least=1)
        signed = switch("signed", signed)
        return lambda: Exponentiated(scale, over, signed)


class ConvexPreferencePerceptron(CoactiveLearner):
    """For convex losses of the utility: steps of ``slope / sqrt(t)``, weights in a ball.

    Parameters
    ----------
    task : Ranking, Items or object
    radius : float, default 100.0
        Of the ball around 0.
    slope : float, default 1.0
        1 is the journal's algorithm; the conference paper has the loss's slope bound G here.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.ConvexPreferencePerceptron(cf.Ranking(k=1), radius=0.5)
    >>> learner.learn([[1.0, 0.0], [0.0, 1.0]], [0, 1], [1, 0])
    >>> learner.weights.round(3)
    array([-0.354,  0.354])
    """

    def __init__(self, task, *, radius=100.0, slope=1.0):
        self._begin(task=task, radius=radius, slope=slope)

    def _rule(self, radius, slope):
        radius = number("radius", radius, above=0.0, most=1e300)
        slope = number("slope", slope, above=0.0)
        return lambda: Convex(radius, slope)


class SecondOrderPreferencePerceptron(CoactiveLearner):
    """For strongly convex losses: ``A += gamma Delta Delta^T``, ``w += A^-1 Delta``, projected.

    The projection onto the ball is in the norm of A. It takes O(N^2) by Lanczos steps on the
    inverse, as does the update; memory is about ``30 N^2`` bytes.

    Parameters
    ----------
    task : Ranking, Items or object
    radius : float, default 100.0
        Of the ball around 0.
    gamma : float, default 1.0
        lambda / G of the loss.
    epsilon : float, default 1.0
        A starts at ``epsilon I``.
    projection : {"exact", "deferred"}, default "exact"
        "deferred" lets the point move in the ball of twice the radius, shows its nearest point
        of the ball, and projects in the norm of A only when it leaves the larger one: far fewer
        projections and in our trials no more regret, but not the paper's algorithm.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.SecondOrderPreferencePerceptron(cf.Ranking(k=1))
    >>> learner.learn([[1.0, 0.0], [0.0, 1.0]], [0, 1], [1, 0])
    >>> learner.weights.round(3)
    array([-0.333,  0.333])
    """

    _shaping = ("task", "epsilon", "projection")

    def __init__(self, task, *, radius=100.0, gamma=1.0, epsilon=1.0, projection="exact"):
        self._begin(task=task, radius=radius, gamma=gamma, epsilon=epsilon, projection=projection)

    def _rule(self, radius, gamma, epsilon, projection):
        radius = number("radius", radius, above=0.0, most=1e150)
        gamma = number("gamma", gamma, above=0.0)
        epsilon = number("epsilon", epsilon, above=0.0)
        if math.isinf(1.0 / epsilon):
            raise ValueError(f"epsilon must have a finite inverse, got {epsilon}")
        deferred = choice("projection", projection, ("exact", "deferred")) == "deferred"
        return lambda: SecondOrder(radius, gamma, epsilon, deferred)


class CustomPreferencePerceptron(CoactiveLearner):
    """A rule of your own in the same shell.

    Parameters
    ----------
    task : Ranking, Items or object
    rule : callable
        ``rule(state, delta) -> weights``: the new weights from ``state.weights`` (a copy of the
        present ones, zeros at first), ``state.rounds`` (learned before this one),
        ``state.memory`` (a dictionary that the rule may fill and finds again) and the round's
        ``delta = phi(better) - phi(y)``. If it raises, the learner is as before.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> def slowing(state, delta):
    ...     return state.weights + delta / (1 + state.rounds)
    >>> learner = cf.CustomPreferencePerceptron(cf.Ranking(k=1), slowing)
    >>> learner.learn([[1.0, 0.0], [0.0, 1.0]], [0, 1], [1, 0])
    >>> learner.weights
    array([-1.,  1.])
    """

    def __init__(self, task, rule):
        self._begin(task=task, rule=rule)

    def _rule(self, rule):
        if not callable(rule):
            raise TypeError(f"rule must be callable, got {type(rule).__name__}")
        return lambda: Custom(rule)
