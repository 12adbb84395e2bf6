"""Slow twin of the bandit learner for the simplex that needs no projection."""

from __future__ import annotations

import math
from typing import SupportsIndex

import numpy as np

from coactive_fast._typing import Real, Seed

from . import _check as check
from . import convex_constants as constants
from .convex_sets import Simplex
from .convex_shell import Bandit


class DikinFTRL(Bandit):
    """Bandit learner for the simplex that samples in the ellipsoid of the log barrier.

    Notes
    -----
    A ball within the simplex is tiny (in-radius about 1/d). The ellipsoid of the barrier
    ``- sum ln y_i`` reaches far along the simplex and never beyond it, so neither a projection
    nor a shrunk set is needed, and a round costs O(d). With ``m = d - 1``, u uniform on the unit
    sphere of ``sum y_i u_i = 0`` and the baseline b::

        x_i = y_i (1 + delta u_i)
        g_i = (m / delta) (f(x) - b) u_i / y_i
        G <- G + eta g
        y_i = 1 / (G_i + nu), nu such that they sum to 1

    For a linear loss the mean of g is its gradient but for a constant in every coordinate, which
    no direction of the simplex sees. In the local norm g is at most ``m F / delta`` long
    (``b = 0``), and while ``eta m F / delta <= 1/4`` the regret of this barrier method on linear
    losses is at most ``d ln T / eta + 2 eta T (m F / delta)^2`` plus a constant: the default,
    ``eta = (delta / (m F)) min(1/4, sqrt(d ln T / (2 T)))``, makes the two equal. A loss that could
    leave coordinates that are no numbers > 0 is refused. The parameters are those of
    `coactive_fast.DikinFTRL`.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.DikinFTRL(3, eta=0.05, seed=0)
    >>> for _ in range(300):
    ...     x = learner.ask()
    ...     learner.tell(x[0] + x[1])
    >>> bool(learner.center[2] > 0.8)
    True
    """

    def __init__(self, dimension: SupportsIndex, *, horizon: SupportsIndex | None = None,
                 loss_bound: Real = 1.0, eta: Real | None = None, delta: Real = 0.9,
                 baseline: bool = True, seed: Seed = None) -> None:
        if check.count("dimension", dimension) < 2:
            raise ValueError(f"dimension must be >= 2, got {dimension}")
        super().__init__(dimension, Simplex(), loss_bound, baseline, seed)
        self.delta = check.positive("delta", delta)
        if self.delta >= 1.0:
            raise ValueError(f"delta must be < 1, got {delta}")
        self.eta = constants.barrier_rate(
            self._size, horizon=horizon, loss_bound=loss_bound, delta=self.delta, eta=eta
        )
        self._begin()

    def _first_memory(self):
        return np.zeros(self.dimension)  # G, recentred so that its smallest entry is 0

    def _draw(self, rng):
        y = self._y
        u = rng.standard_normal(self.dimension)
        u -= y * (y @ u) / (y @ y)
        return u / np.linalg.norm(u)

    def _offset(self, v):
        return self.delta * self._y * v

    def _next(self, phi):
        g = self.eta * phi * (self._size.d / self.delta) * self._v / self._y
        G = check.finite("G", self._memory + g)
        G -= G.min()
        y = _barrier_minimiser(G)
        self._check_that_it_lasts(y.min(), phi)
        return y, G

    def _check_that_it_lasts(self, least, phi):
        """Refuses what no learner could go on from.

        In round T the mean of the losses keeps 1/T of an excess, and an ordinary loss lies as far
        from it: of a step of s in the local norm s / T is left, which may make the smallest
        coordinate smaller by that factor as long as it is > 1.
        """
        t, growth = self._rounds + 1, 0.0
        if self.baseline and self._pending == "ask":
            s = self.eta * abs(phi) * (self._size.d / self.delta)
            if s > t:
                growth = s - t - t * math.log(s / t)  # the integral of log(s / T)
        if not growth - np.log(least) <= -math.log(1e-260):
            raise ValueError("the coordinates near 0 come too near to it")


def _barrier_minimiser(G):
    """``argmin G.y - sum ln y_i`` on the simplex, for G >= 0 with smallest entry 0.

    ``y_i = 1 / (G_i + nu)``; their sum decreases in nu, is >= 1 at nu = 1 and <= 1 at nu = d.
    """
    low, high = 1.0, float(len(G))
    while low < (middle := low + (high - low) / 2.0) < high:
        if np.sum(1.0 / (G + middle)) > 1.0:
            low = middle
        else:
            high = middle
    y = 1.0 / (G + high)
    return y / y.sum()
