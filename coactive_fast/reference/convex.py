"""Slow twins of online convex optimisation: ONSEG and OGDEG see one loss value a round (or two),
ONS and OGD the gradient.

All of them ask and tell: `ask` gives the point to play, `tell` takes what was seen there. The
notation is that of the papers: y_t is the learner's point before the random step (`center`),
x_t the point played, v_t the random direction, A_t the matrix of the Newton steps. What their
parameters mean say the classes of the same names in `coactive_fast`.
"""

from __future__ import annotations

from typing import Literal, SupportsIndex

import numpy as np

from coactive_fast._typing import Feasible, Real, Seed

from . import _check as check
from . import convex_constants as constants
from .convex_sets import METHODS
from .convex_shell import Bandit, FullInformation
from .metric import Full

# How far from 1 rounding may take the length of a set's own direction.
UNIT = 1e-9


class _Sphere(Bandit):
    """ONSEG and OGDEG: ``x = y + delta v`` with v uniform on the sphere, y in ``(1 - gamma) P``."""

    def _explore(self, horizon, lipschitz, delta, gamma):
        self.delta, self.gamma = constants.exploration(
            self._size,
            horizon=horizon,
            loss_bound=self.loss_bound,
            lipschitz=lipschitz,
            delta=delta,
            gamma=gamma,
        )
        smaller = self.feasible.shrunk(self.gamma, self.dimension)
        self._shrunk = check.answering("feasible.shrunk()", smaller, METHODS)

    def _draw(self, rng):
        v = self._point("direction", self.feasible.direction(rng, self.dimension))
        if abs(np.linalg.norm(v) - 1.0) > UNIT:
            raise ValueError("feasible.direction() must have length 1")
        return v

    def _offset(self, v):
        return self.delta * v


class ONSEG(_Sphere):
    """Online Newton step with estimated gradient: the loss at one point a round is all it sees.

    Attributes
    ----------
    delta, gamma, beta, epsilon : float
        The constants in use.

    Warns
    -----
    UserWarning
        When the horizon is too short for the theorem's delta and gamma: with the smallest one
        that is not.

    Notes
    -----
    With d the dimension that counts (n - 1 for the simplex), ``y_1`` the centre of P and
    ``A_0 = epsilon I``, each round plays ``x = y + delta v`` and then does

        g = (d / delta) f(x) v
        A <- A + g g^T
        y <- projection of y - A^-1 g / beta on (1 - gamma) P in the norm of A

    Constants (`convex_constants`): delta and gamma of Theorem 1, or 2 with `lipschitz`, and
    ``beta = min(delta / (4 d F D), sigma delta^2 / (d F)^2) / 2``,
    ``epsilon = 1 / (beta D)^2``. Where the theorem's gamma is not < 1 it is 1/2 and delta at
    most gamma r. If only one of the two is given, the other is the theorem's under the same
    caps (for Theorem 2, gamma is that of the theorem's own delta).

    With ``feedback="residual"``, f(x) less the loss of the round before stands for f(x) (in the
    first round 0).

    What is proved of it, and what not, says `coactive_fast.ONSEG`.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.ONSEG(
    ...     2, reference.Ball(1.0), delta=0.1, gamma=0.2, beta=0.01, epsilon=1e4, seed=0
    ... )
    >>> for _ in range(200):
    ...     x = learner.ask()
    ...     learner.tell((x[0] - 0.5) ** 2 + x[1] ** 2)
    >>> learner.rounds, learner.center.round(1)
    (200, array([0.5, 0. ]))
    """

    def __init__(self, dimension: SupportsIndex, feasible: Feasible, *,
                 horizon: SupportsIndex | None = None, loss_bound: Real = 1.0, niceness: Real = 1.0,
                 lipschitz: Real | None = None, beta: Real | None = None, delta: Real | None = None,
                 gamma: Real | None = None, epsilon: Real | None = None, baseline: bool = False,
                 feedback: Literal["value", "residual"] = "value", seed: Seed = None) -> None:
        super().__init__(dimension, feasible, loss_bound, baseline, seed, feedback)
        self._explore(horizon, lipschitz, delta, gamma)
        self.beta = constants.inverse_step(
            self._size, loss_bound=loss_bound, niceness=niceness, delta=self.delta, beta=beta
        )
        self.epsilon = constants.start_of_A(self._D, beta=self.beta, epsilon=epsilon)
        self._begin()

    def _first_memory(self):
        return Full(self.dimension, ridge=self.epsilon)

    def _next(self, phi):
        g = (self._size.d / self.delta) * phi * self._v
        return _newton_step(self, g, self._shrunk)


class OGDEG(_Sphere):
    """Online gradient descent with estimated gradient (Flaxman, Kalai and McMahan).

    Notes
    -----
    ``x = y + delta v``, then ``y <- projection of y - nu_t f(x) v on (1 - gamma) P`` (Euclidean)
    with ``nu_t = D / (F sqrt(t))``, t the learner's own count of rounds. That step size belongs
    to ``f v``: on the estimate ``g = (d / delta) f v`` it is ``D / (G sqrt(t))`` with
    ``G = d F / delta``, the bound on g. With `tell_pair`, ``(f+ - f-)/2`` stands for f: F should
    then bound that difference.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.OGDEG(2, reference.Ball(1.0), delta=0.1, gamma=0.2, seed=0)
    >>> _ = learner.ask()
    >>> learner.tell(0.25)
    >>> learner.center.round(3)
    array([-0.345,  0.362])
    """

    def __init__(self, dimension: SupportsIndex, feasible: Feasible, *, loss_bound: Real = 1.0,
                 delta: Real | None = None, gamma: Real | None = None,
                 horizon: SupportsIndex | None = None,
                 feedback: Literal["value", "residual"] = "value", seed: Seed = None) -> None:
        super().__init__(dimension, feasible, loss_bound, baseline=False, seed=seed,
                         feedback=feedback)
        self._explore(horizon, None, delta, gamma)
        constants.step_size(self._D, "loss_bound", self.loss_bound)
        self._begin()

    def _next(self, phi):
        nu = self._D / (self.loss_bound * np.sqrt(self._rounds + 1.0))
        z = check.finite("y - nu f v", self._y - nu * phi * self._v)
        return self._point("project", self._shrunk.project(z)), None


class ONS(FullInformation):
    """Online Newton step: sees the gradient of each loss.

    Notes
    -----
    From the centre of P on, with the gradient g and ``A_0 = epsilon I``::

        A <- A + g g^T
        y <- projection of y - A^-1 g / beta on P in the norm of A

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.ONS(2, reference.Ball(1.0), 0.5)
    >>> for _ in range(50):
    ...     y = learner.ask()
    ...     learner.tell(2.0 * (y - [0.5, 0.0]))
    >>> learner.center.round(2)
    array([0.5, 0. ])
    """

    def __init__(self, dimension: SupportsIndex, feasible: Feasible, beta: Real, *,
                 epsilon: Real | None = None) -> None:
        super().__init__(dimension, feasible)
        self.beta = check.positive("beta", beta)
        self.epsilon = constants.start_of_A(self._D, beta=self.beta, epsilon=epsilon)
        self._begin()

    def _first_memory(self):
        return Full(self.dimension, ridge=self.epsilon)

    def _next(self, gradient):
        return _newton_step(self, gradient, self.feasible)


class OGD(FullInformation):
    """Online gradient descent: sees the gradient of each loss.

    Notes
    -----
    From the centre of P on, ``y <- projection of y - g D / (G sqrt(t)) on P`` (Euclidean).

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.OGD(2, reference.Ball(1.0), 4.0)
    >>> _ = learner.ask()
    >>> learner.tell([1.0, 0.0])
    >>> learner.center
    array([-0.5,  0. ])
    """

    def __init__(self, dimension: SupportsIndex, feasible: Feasible, gradient_bound: Real) -> None:
        super().__init__(dimension, feasible)
        self.gradient_bound = check.positive("gradient_bound", gradient_bound)
        constants.step_size(self._D, "gradient_bound", self.gradient_bound)
        self._begin()

    def _next(self, gradient):
        step = self._D / (self.gradient_bound * np.sqrt(self._rounds + 1.0))
        z = check.finite("y - step g", self._y - step * gradient)
        return self._point("project", self.feasible.project(z)), None


def _newton_step(learner, g, feasible):
    """``A += g g^T``; ``y - A^-1 g / beta`` projected in the norm of A. Returns new y and A."""
    A = learner._memory
    check.finite("A + g g^T", A.matrix() + np.outer(g, g))
    A = A.copy()
    A.update(g)
    z = check.finite("y - A^-1 g / beta", learner._y - A.solve(g) / learner.beta)
    return learner._point("project_in", feasible.project_in(z, A.inverse())), A
