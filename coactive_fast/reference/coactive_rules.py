"""Slow twins of the coactive update rules: five of them, and the template they all follow.

Every learner keeps weights w, presents ``argmax_y w . phi(x, y)`` and is told a better object.
With ``delta_t = phi(x, better) - phi(x, presented)`` the rules differ in one line only, their
``_rule``: from the state and delta to the new weights. What their parameters mean say the classes
of the same names in `coactive_fast`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from coactive_fast._typing import Kernel, Real, RowsLike, Vector

from . import _check as check
from .coactive_kernel import Expansion
from .coactive_learner import DeltaLearner, State
from .coactive_tasks import Ranking
from .convex_sets import Ball, Box, L1Ball, Simplex
from .exponentiated import exponentiated_weights
from .kernels import top_k
from .metric import Full

RADIUS = 100.0  # of the ball where neither a radius nor a set is given
OUTSIDE = 1.0 + 1e-9  # so much longer than the radius is outside the ball, not on its surface


class PreferencePerceptron(DeltaLearner):
    """Preference Perceptron: ``w += delta``.

    Notes
    -----
    w is constant within a batch; after rounds batch, 2 batch, .. the sum of that batch's
    differences is added. An unfinished batch is kept and moves nothing yet.

    With a kernel, over rankings alone, a document scores by the `Expansion` of the feedback; there
    are no weights and no deltas.

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

    def __init__(self, task: Any, *, batch: SupportsIndex = 1, kernel: Kernel | None = None,
                 kernel_params: Mapping[str, Any] | None = None,
                 budget: SupportsIndex | None = None) -> None:
        self.batch = check.positive_count("batch", batch)
        self.kernel, self.kernel_params, self.budget = kernel, kernel_params, budget
        if kernel is None and not (kernel_params is None and budget is None):
            raise ValueError("kernel_params and budget have no meaning without a kernel")
        if kernel is not None:
            if not isinstance(task, Ranking):
                raise ValueError("a kernel is for rankings alone: task must be a Ranking")
            if self.batch > 1:
                raise ValueError("batch must be 1 with a kernel")
            self._empty = Expansion.empty(kernel, kernel_params, task.k, budget)
        super().__init__(task)

    def present(self, x: Any, *, k: SupportsIndex | None = None, average: bool = False) -> Any:
        """As every learner does, with a kernel by its scores.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.PreferencePerceptron(reference.Ranking(k=1), kernel="rbf")
        >>> learner.learn([[1.0], [3.0]], [0, 1], [1, 0])
        >>> learner.present([[1.0], [2.5]])
        array([1, 0])
        """
        if self.kernel is None:
            return super().present(x, k=k, average=average)
        k, scores = self._places(k), self.scores(x, average=average)
        return top_k(scores, scores.size if k is None else k)

    def scores(self, x: Any, *, average: bool = False) -> Vector:
        """As every learner does, with a kernel by what was fed back (and no average).

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.PreferencePerceptron(reference.Ranking(k=1), kernel="linear")
        >>> learner.learn([[1.0], [3.0]], [0, 1], [1, 0])
        >>> learner.scores([[1.0], [2.5]])
        array([2., 5.])
        """
        if self.kernel is None:
            return super().scores(x, average=average)
        if check.flag("average", average):
            raise ValueError("average needs weights, and a kernel has none")
        return self._expansion.scores(self._table(x))

    def learn(self, x: Any, y: Any, better: Any) -> None:
        """As every learner does, with a kernel by the rows that `better` moved.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.PreferencePerceptron(reference.Ranking(k=1), kernel="linear")
        >>> learner.learn([[1.0], [3.0]], [0, 1], [1, 0])
        >>> learner.weights, learner.rows_kept
        (array([], dtype=float64), 2)
        """
        if self.kernel is None:
            super().learn(x, y, better)
            return
        x = self._table(x)
        y = check.distinct("y", y, len(x))
        better = check.distinct("better", better, len(x))
        self._refuse_short(y, better)
        expansion = self._expansion.learned(x, y, better)
        self._dimension = x.shape[1]
        self._state = State(np.zeros(0), self.rounds + 1, {"expansion": expansion})

    def update(self, delta: RowsLike) -> None:
        """As every learner does; not with a kernel, which has no features to move along.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.PreferencePerceptron(reference.Ranking())
        >>> learner.update([0.5, -1.0])
        >>> learner.weights
        array([ 0.5, -1. ])
        """
        if self.kernel is not None:
            raise ValueError("update needs a delta of features, and a kernel has none: use learn")
        super().update(delta)

    @property
    def rows_kept(self) -> int:
        """With a kernel: how many rows the scores are made of; 0 without.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.PreferencePerceptron(reference.Ranking(), kernel="rbf").rows_kept
        0
        """
        return 0 if self.kernel is None else self._expansion.size

    @property
    def _expansion(self):
        return self._empty if self._state is None else self._state.memory["expansion"]

    def _table(self, x):
        x = check.table("x", x)
        if self._dimension is not None and x.shape[1] != self._dimension:
            raise ValueError(
                f"x has {x.shape[1]} features, but the learner has {self._dimension}"
            )
        return x

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

    Notes
    -----
    ``eta_t = 1 / (2 S sqrt(t))``, with a horizon T ``1 / (2 S sqrt(T))``, also beyond it. Kept as
    the sum ``theta = sum_t eta_t delta_t``, from which `exponentiated_weights` gives the weights,
    signed or not; nothing is ever doubled.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.ExponentiatedPreferencePerceptron(reference.Ranking(), signed=False)
    >>> learner.update([2.0, 0.0])
    >>> learner.weights.round(3)
    array([0.731, 0.269])
    """

    def __init__(self, task: Any, *, scale: Real = 1.0, horizon: SupportsIndex | None = None,
                 signed: bool = True) -> None:
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
    """Convex Preference Perceptron: a step of ``slope / sqrt(t)``, then back into the set.

    Notes
    -----
    ``w <- P(w + slope / sqrt(t) delta)``, P the Euclidean projection on `feasible`, or on
    ``||w|| <= radius``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.ConvexPreferencePerceptron(reference.Ranking(), radius=1.0)
    >>> learner.update([3.0, 4.0])
    >>> learner.weights
    array([0.6, 0.8])
    """

    def __init__(self, task: Any, *, radius: Real = RADIUS, slope: Real = 1.0,
                 feasible: Any = None) -> None:
        self.radius = check.positive("radius", radius)
        self.slope = check.positive("slope", slope)
        self.feasible = feasible
        self._set = _chosen_set(self.radius, feasible, ("contains", "project"), task)
        super().__init__(task)

    def _start(self, dimension):
        _refuse_without_zero(self._set, dimension)
        return super()._start(dimension)

    def _rule(self, state, delta):
        eta = self.slope / math.sqrt(state.rounds + 1)
        return _projected(self._set.project, state.weights + eta * delta)


class SecondOrderPreferencePerceptron(DeltaLearner):
    """Second-order Preference Perceptron: steps and projections in the norm of A.

    Notes
    -----
    ``A = epsilon I`` at the start; ``A += gamma delta delta^T``, ``w <- P(w + A^-1 delta)``, P
    the projection on `feasible`, or on the ball ``||w|| <= radius``, in the norm of A.

    "deferred", for a ball, projects far less often. It keeps a point y in the ball of twice the
    radius and presents by its Euclidean projection on the ball, the `weights`, which is a
    multiple of y and so presents the same. With the gradient ``g = -delta``, and outside the ball
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

    def __init__(self, task: Any, *, radius: Real = RADIUS, gamma: Real = 1.0, epsilon: Real = 1.0,
                 feasible: Any = None, projection: Literal["exact", "deferred"] = "exact") -> None:
        self.radius = check.positive("radius", radius)
        self.gamma = check.positive("gamma", gamma)
        self.epsilon = check.positive("epsilon", epsilon)
        self.feasible = feasible
        self._set = _chosen_set(self.radius, feasible, ("contains", "project_in"), task)
        self.projection = check.choice("projection", projection, ("exact", "deferred"))
        if self.projection == "deferred" and not isinstance(self._set, Ball):
            raise ValueError('projection="deferred" is for a ball alone, not for feasible')
        super().__init__(task)

    def _start(self, dimension):
        _refuse_without_zero(self._set, dimension)
        memory = {"A": Full(dimension, ridge=self.epsilon), "y": np.zeros(dimension)}
        return State(np.zeros(dimension), 0, memory)

    def _rule(self, state, delta):
        if self.projection == "exact":
            return self._step(state, state.weights, delta, 0.0)
        y, radius = state.memory["y"], self._set.radius
        length = np.linalg.norm(y)
        if length > OUTSIDE * radius:
            outwards = y / length
            delta = delta - max(0.0, delta @ outwards) * outwards
        y = self._step(state, y, delta, 2.0 * radius)
        state.memory["y"] = y
        return self._set.project(y)

    def _step(self, state, w, delta, free):
        """``w + A^-1 delta`` with the updated A, projected where it is longer than `free`."""
        if not delta.any():
            return w
        A = state.memory["A"].copy()
        A.update(delta, c=self.gamma)
        state.memory["A"] = A
        w = check.finite("delta is too large: the weights", w + A.solve(delta))
        if np.linalg.norm(w) <= free:
            return w
        return _projected(lambda z: self._set.project_in(z, A.inverse()), w)


class CustomPreferencePerceptron(DeltaLearner):
    """A rule of the user's own: any map from the state and delta to new weights.

    Notes
    -----
    ``rule(state, delta) -> weights``; it gets a `State` and a delta of its own. Where it raises,
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

    def __init__(self, task: Any, rule: Callable[[Any, Any], ArrayLike]) -> None:
        if not callable(rule):
            raise TypeError(f"rule must be callable, got {type(rule).__name__}")
        self.rule = rule
        super().__init__(task)

    def _rule(self, state, delta):
        state.memory = copy.deepcopy(state.memory)
        weights = self.rule(state, delta.copy())
        weights = check.vector("the weights of rule", weights, delta.size, of="delta")
        return weights.copy()


def _chosen_set(radius, feasible, methods, task):
    """The set that radius and feasible stand for; where possible already tried for 0."""
    if feasible is None:
        return Ball(radius)
    if radius != RADIUS:
        raise ValueError("give one of radius and feasible")
    check.answering("feasible", feasible, methods)
    n = getattr(task, "dimension", None)
    if n is None and isinstance(feasible, (Ball, Box, L1Ball, Simplex)):
        n = max(np.size(getattr(feasible, "lower", 0)), np.size(getattr(feasible, "upper", 0)))
    if n is not None:
        _refuse_without_zero(feasible, n)
    return feasible


def _refuse_without_zero(feasible, n):
    """Refuse a set that does not hold 0, where the weights start."""
    if not feasible.contains(np.zeros(n)):
        raise ValueError(f"feasible must hold 0, where the weights start: {feasible!r} does not")


def _projected(project, w):
    """The projection of w as a set answers it, checked: the set may be the user's own."""
    w = check.finite("delta is too large: the weights", w)
    return check.vector("the point of feasible", project(w.copy()), w.size, of="delta").copy()
