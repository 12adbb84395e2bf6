"""What the tests of online convex optimisation share: sets of which much is known, learners.

Every builder takes the `module` whose names are under test.
"""

import copy
import warnings

import numpy as np
import pytest

import coactive_fast
from coactive_fast import reference

# What is under test: whatever has the public names.
MODULES = {"reference": reference, "compiled": coactive_fast}


def far(module, n):
    i = np.arange(n)
    return module.Box(1.0 + i, 2.4 + 1.5 * i)


SETS = {
    "ball": lambda module, n: module.Ball(1.3),
    "box": lambda module, n: module.Box(-0.7, 0.7),
    "far": far,
    "l1": lambda module, n: module.L1Ball(1.6),
    "simplex": lambda module, n: module.Simplex(),
}
each_set = pytest.mark.parametrize("name", SETS)

# The largest value of h.x over the set: a set is known by it.
SUPPORT = {
    "ball": lambda h: 1.3 * np.linalg.norm(h),
    "box": lambda h: 0.7 * np.abs(h).sum(),
    "far": lambda h: (
        np.maximum(h, 0) @ (2.4 + 1.5 * np.arange(h.size))
        + np.minimum(h, 0) @ (1.0 + np.arange(h.size))
    ),
    "l1": lambda h: 1.6 * np.abs(h).max(),
    "simplex": lambda h: h.max(),
}


def support(name, h, c, gamma=0.0):
    """The largest h.x over the set shrunk by gamma around c."""
    return (1.0 - gamma) * SUPPORT[name](h) + gamma * (h @ c)


def check_nearest(name, w, z, A, c, gamma=0.0):
    """w is the point of the shrunk set nearest to z: no point lies further along A (z - w).

    That w itself lies in the set is left to `contains`; both together are the KKT conditions.
    """
    h = A @ (z - w)
    gap = support(name, h, c, gamma) - h @ w
    # the second term is what rounding makes of z - w = 0
    tolerance = 1e-9 * np.linalg.norm(h) + 1e-13 * np.linalg.norm(A)
    assert abs(gap) <= tolerance * (1.0 + np.linalg.norm(c)), (name, gap)


def positive_definite(rng, n, condition=1e3):
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    A = (Q * np.geomspace(1.0, condition, n)) @ Q.T
    return (A + A.T) / 2.0


class Scripted:
    """A set whose directions are written down."""

    def __init__(self, whole, directions):
        self._whole, self._directions = whole, iter(directions)

    def __getattr__(self, name):
        return getattr(self._whole, name)

    def direction(self, rng, dimension):
        return next(self._directions)


# Constants by hand, for which no horizon is needed.
HAND = {"delta": 0.1, "gamma": 0.2}


def by_hand(module, name, n, **options):
    """An ONSEG learner with all its constants given; the random step is as long as it may be."""
    feasible = SETS[name](module, n)
    gamma = 0.3
    constants = {"delta": gamma * feasible.in_radius(n), "gamma": gamma, "beta": 0.4}
    return module.ONSEG(n, feasible, **{**constants, "loss_bound": 100.0, **options})


def learners(module):
    """One of each bandit learner, by name."""
    return {
        "ONSEG": lambda seed: by_hand(module, "box", 3, seed=seed, loss_bound=1.0),
        "OGDEG": lambda seed: module.OGDEG(3, module.L1Ball(1.0), delta=0.1, gamma=0.2, seed=seed),
        "DikinFTRL": lambda seed: module.DikinFTRL(3, eta=0.1, seed=seed),
    }


bandits = pytest.mark.parametrize("name", ["ONSEG", "OGDEG", "DikinFTRL"])


def play(learner, rounds):
    """The points played against a loss with some curvature."""
    points = []
    for _ in range(rounds):
        points.append(learner.ask())
        learner.tell(float(np.clip(points[-1] @ points[-1] - 0.5, -1.0, 1.0)))
    return np.array(points)


def quiet(build, *arguments, **keywords):
    """The object, with warnings unheard: that they come is tested where they matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return build(*arguments, **keywords)


def check_same(a, b):
    """Nothing tells the two learners apart: not now, and not in the rounds to come."""
    assert a.rounds == b.rounds
    np.testing.assert_array_equal(a.center, b.center)
    a, b = copy.deepcopy(a), copy.deepcopy(b)
    for _ in range(3):
        np.testing.assert_array_equal(a.ask(), b.ask())
        for learner in (a, b):
            learner.tell(np.full(3, 0.3) if hasattr(learner, "gradient_bound") else 0.3)
        np.testing.assert_array_equal(a.center, b.center)
