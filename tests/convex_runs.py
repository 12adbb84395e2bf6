"""What the tests of the compiled learners of online convex optimisation share."""

import pickle

import numpy as np

import coactive_fast as cf


def learners(module, feasible, n, **options):
    """One of each learner over a set, its constants chosen so that it moves and is projected."""
    r = feasible.in_radius(n)
    hand = {"delta": 0.3 * r, "gamma": 0.3, "seed": 17, "loss_bound": 50.0}
    return {
        "ONSEG": lambda: module.ONSEG(n, feasible, beta=0.02, epsilon=50.0, **hand),
        "ONSEG baseline": lambda: module.ONSEG(n, feasible, beta=0.5, baseline=True, **hand),
        "ONSEG residual": lambda: module.ONSEG(n, feasible, beta=0.5, feedback="residual", **hand),
        "OGDEG": lambda: module.OGDEG(n, feasible, **hand),
        "ONS": lambda: module.ONS(n, feasible, 0.5),
        "OGD": lambda: module.OGD(n, feasible, 2.0),
        "DikinFTRL": lambda: module.DikinFTRL(max(n, 2), eta=0.05, seed=17, loss_bound=50.0),
    }


KINDS = ["ONSEG", "ONSEG baseline", "ONSEG residual", "OGDEG", "ONS", "OGD", "DikinFTRL"]
LOSSES = {
    "squared": lambda module, Z, y: module.losses.Squared(Z, 1.5 * y),
    "logistic": lambda module, Z, y: module.losses.Logistic(Z, y),
    "return": lambda module, Z, y: module.losses.PortfolioReturn(Z),
}


def losses(module, kind, n, rows=7, seed=0):
    rng = np.random.default_rng(seed)
    return LOSSES[kind](module, rng.standard_normal((rows, n)), rng.choice([-1.0, 1.0], rows))


class Unknown:
    """The same losses, of a kind that no compiled loop knows."""

    def __init__(self, losses):
        self.losses = losses

    def __getattr__(self, name):
        return getattr(self.losses, name)

    def __len__(self):
        return len(self.losses)


def by_calls(learner, losses, rounds):
    """A run as the loop of single calls."""
    seen = []
    for t in range(rounds):
        x = learner.ask()
        seen.append(losses.value(t, x))
        full = isinstance(learner, (cf.ONS, cf.OGD))
        learner.tell(losses.gradient(t, x) if full else seen[-1])
    return np.array(seen)


def state_of(learner):
    return pickle.dumps(learner._engine._state())


def same_learner(a, b):
    assert state_of(a) == state_of(b)
