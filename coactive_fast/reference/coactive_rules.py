"""Slow twins of the coactive update rules: five of them, and the template they all follow.

Every learner keeps weights w, presents ``argmax_y w . phi(x, y)`` and is told a better object.
With ``delta_t = phi(x, better) - phi(x, presented)`` the rules differ in one line only, their
``_rule``: from the state and delta to the new weights.
"""

import copy
import math

import numpy as np

from . import _check as check
from .coactive_learner import DeltaLearner, State
from .exponentiated import exponentiated_weights
from .metric import Full
from .projections import project_ball

OUTSIDE = 1.0 + 1e-9  # so much longer than the radius is outside the ball, not on its surface


class PreferencePerceptron(DeltaLearner):
    """Preference Perceptron: ``w += delta``.

    Parameters
    ----------
    task : Ranking, Items or any task
    batch : int, default 1
        w is constant within a batch; after rounds batch, 2 batch, .. the sum of that batch's
        differences is added. An unfinished batch is kept and moves nothing yet.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.PreferencePerceptron(reference.Ranking(), batch=2)
    >>> learner.update([1.0, 0.0])
    >>> learner.weights
    array([0., 0.])
    >>> learner.update([0.0, 1.0])
    >>> learner.weights
    array([1., 1.])
    """

    def __init__(self, task, *, batch=1):
        self.batch = check.positive_count("batch", batch)
        super().__init__(task)

    def _start(self, dimension):
        return State(np.zeros(dimension), 0, {"pending": np.zeros(dimension)})

    def _rule(self, state, delta):
        pending = state.memory["pending"] + delta
        if (state.rounds + 1) % self.batch:
            state.memory["pending"] = pending
            return state.weights
        state.memory["pending"] = np.zeros(delta.size)
        return state.weights + pending


class ExponentiatedPreferencePerceptron(DeltaLearner):
    """Exponentiated Preference Perceptron: ``w_i ~ w_i exp(eta_t delta_i)``, summing to one.

    Parameters
    ----------
    task : Ranking, Items or any task
    scale : float, default 1.0
        S, a bound on every ``|phi_i|``.
    horizon : int, optional
        T: the fixed rate ``1 / (2 S sqrt(T))``, also beyond T rounds; None: the variable rate
        ``1 / (2 S sqrt(t))``.
    signed : bool, default True
        Weights of both signs, through the doubled features ``(phi, -phi)`` with 2N weights that
        start at ``1 / (2N)``; `weights` shows ``w+ - w-``. False: N weights >= 0, from 1 / N.

    Notes
    -----
    Kept as the sum ``theta = sum_t eta_t delta_t``, from which `exponentiated_weights` gives the
    weights; nothing is ever doubled.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.ExponentiatedPreferencePerceptron(reference.Ranking(), signed=False)
    >>> learner.update([2.0, 0.0])
    >>> learner.weights.round(3)
    array([0.731, 0.269])
    """

    def __init__(self, task, *, scale=1.0, horizon=None, signed=True):
        self.scale = check.positive("scale", scale)
        self.horizon = None if horizon is None else check.positive_count("horizon", horizon)
        self.signed = check.flag("signed", signed)
        super().__init__(task)

    def _start(self, dimension):
        theta = np.zeros(dimension)
        return State(exponentiated_weights(theta, both_signs=self.signed), 0, {"theta": theta})

    def _rule(self, state, delta):
        t = state.rounds + 1 if self.horizon is None else self.horizon
        eta = 1.0 / (2.0 * self.scale * math.sqrt(t))
        theta = check.finite("delta is too large: theta", state.memory["theta"] + eta * delta)
        state.memory["theta"] = theta
        return exponentiated_weights(theta, both_signs=self.signed)


class ConvexPreferencePerceptron(DeltaLearner):
    """Convex Preference Perceptron: a step of ``slope / sqrt(t)``, then back into a ball.

    Parameters
    ----------
    task : Ranking, Items or any task
    radius : float, default 100.0
    slope : float, default 1.0
        1, or the loss's bound G on its slope.

    Notes
    -----
    ``w <- P(w + slope / sqrt(t) delta)``, P the Euclidean projection on ``||w|| <= radius``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.ConvexPreferencePerceptron(reference.Ranking(), radius=1.0)
    >>> learner.update([3.0, 4.0])
    >>> learner.weights
    array([0.6, 0.8])
    """

    def __init__(self, task, *, radius=100.0, slope=1.0):
        self.radius = check.positive("radius", radius)
        self.slope = check.positive("slope", slope)
        super().__init__(task)

    def _rule(self, state, delta):
        eta = self.slope / math.sqrt(state.rounds + 1)
        return _into_ball(state.weights + eta * delta, self.radius)


class SecondOrderPreferencePerceptron(DeltaLearner):
    """Second-order Preference Perceptron: steps and projections in the norm of A.

    Parameters
    ----------
    task : Ranking, Items or any task
    radius : float, default 100.0
    gamma : float, default 1.0
    epsilon : float, default 1.0
        ``A = epsilon I`` at the start.
    projection : {"exact", "deferred"}

    Notes
    -----
    ``A += gamma delta delta^T``, ``w <- P(w + A^-1 delta)``, P the projection on the ball
    ``||w|| <= radius`` in the norm of A.

    "deferred" projects far less often. It keeps a point y in the ball of twice the radius and
    presents by its Euclidean projection on the ball, the `weights`, which is a multiple of y and
    so presents the same. With the gradient ``g = -delta``, and outside the ball
    ``n = y / ||y||``, ``g~ = g - min(0, g . n) n`` (inside ``g~ = g``)::

        A += gamma g~ g~^T,   y <- y - A^-1 g~,   y <- P(y) only if ||y|| > 2 radius.

    P leaves y on the surface of the ball, and rounding must not decide whether that is outside:
    outside means ``||y|| > (1 + 1e-9) radius``.

    A round with ``delta = 0`` changes neither w nor A.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.SecondOrderPreferencePerceptron(reference.Ranking())
    >>> learner.update([1.0, 0.0])
    >>> learner.weights
    array([0.5, 0. ])
    """

    def __init__(self, task, *, radius=100.0, gamma=1.0, epsilon=1.0, projection="exact"):
        self.radius = check.positive("radius", radius)
        self.gamma = check.positive("gamma", gamma)
        self.epsilon = check.positive("epsilon", epsilon)
        self.projection = check.choice("projection", projection, ("exact", "deferred"))
        super().__init__(task)

    def _start(self, dimension):
        memory = {"A": Full(dimension, ridge=self.epsilon), "y": np.zeros(dimension)}
        return State(np.zeros(dimension), 0, memory)

    def _rule(self, state, delta):
        if self.projection == "exact":
            return self._step(state, state.weights, delta, self.radius)
        y = state.memory["y"]
        length = np.linalg.norm(y)
        if length > OUTSIDE * self.radius:
            outwards = y / length
            delta = delta - max(0.0, delta @ outwards) * outwards
        y = self._step(state, y, delta, 2.0 * self.radius)
        state.memory["y"] = y
        return _into_ball(y, self.radius)

    def _step(self, state, w, delta, limit):
        """``w + A^-1 delta`` with the updated A, projected if it is longer than `limit`."""
        if not delta.any():
            return w
        A = state.memory["A"].copy()
        A.update(delta, c=self.gamma)
        state.memory["A"] = A
        w = check.finite("delta is too large: the weights", w + A.solve(delta))
        if np.linalg.norm(w) <= limit:
            return w
        return project_ball(w, A.inverse(), self.radius)[0]


class CustomPreferencePerceptron(DeltaLearner):
    """A rule of the user's own: any map from the state and delta to new weights.

    Parameters
    ----------
    task : Ranking, Items or any task
    rule : callable
        ``rule(state, delta) -> weights``. ``state.weights`` is a copy of the weights,
        ``state.rounds`` the number of rounds before this one, and ``state.memory`` a dict the
        rule may fill with arrays and numbers and finds again next round. Where the rule raises,
        or its weights are not finite, the learner stays as it was.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> def half_step(state, delta):
    ...     return state.weights + delta / 2
    >>> learner = reference.CustomPreferencePerceptron(reference.Ranking(), half_step)
    >>> learner.update([1.0, -3.0])
    >>> learner.weights
    array([ 0.5, -1.5])
    """

    def __init__(self, task, rule):
        if not callable(rule):
            raise TypeError(f"rule must be callable, got {type(rule).__name__}")
        self.rule = rule
        super().__init__(task)

    def _rule(self, state, delta):
        state.memory = copy.deepcopy(state.memory)
        weights = self.rule(state, delta.copy())
        weights = check.vector("the weights of rule", weights, delta.size, of="delta")
        return weights.copy()


def _into_ball(w, radius):
    """The Euclidean projection of w on ``||w|| <= radius``."""
    length = np.linalg.norm(w)
    return w if length <= radius else w * (radius / length)
