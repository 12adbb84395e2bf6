"""Theorems 1 and 2 of the ONSEG paper: regret beside the bounds, and the orders it claims.

Round t draws one of d coordinates, j, and a label y: f(x) = (sqrt(d) x_j - y)^2 / 2. On average
over the draw the loss is strongly convex with sigma = 1 (for d = 1 every loss is), which is what
the theorems ask for. The constants depend on the number of rounds: a run for each.
"""

import math

import numpy as np

import coactive_fast as cf

from . import _judge, _theorems
from ._plan import Experiment, Outcome, Table, claim, repeated
from ._theorems import Case

RADIUS = 1.0  # of the ball to choose from: r = 1, D = 2
LABEL = 0.5   # labels lie in 0 ... this
NICENESS = 1.0
ORDERS = {1: ("T^(2/3)", 2.0 / 3.0, 1.0 / 3.0), 2: ("√T", 0.5, 0.5)}  # of T and ln T, as claimed


def constants(d):
    """F and L of the losses on the ball."""
    slope = math.sqrt(d) * RADIUS + LABEL
    return 0.5 * slope**2, math.sqrt(d) * slope


def first_term(theorem, T, d, F, L, r, D):
    """The term that the paper calls the order of its bounds."""
    if theorem == 1:
        return 6.0 * F * T ** (2.0 / 3.0) * np.cbrt(15.0 * d**2 * D * np.log(T) / r)
    return 2.0 * d * np.sqrt(30.0 * T * F * D * (L * r + F) * np.log(T) / r)


def delta(theorem, T, d, F, L, r, D):
    if theorem == 1:
        return np.cbrt(25.0 * d**4 * D**2 * np.log(T) ** 2 * r / (3.0 * T**2))
    return np.sqrt(10.0 * d**2 * F * D * r * np.log(T) / (3.0 * (L * r + F) * T))


def bound(theorem, T, d, F, L, r, D, sigma):
    """For the regret of T rounds, with the last term of the theorem: 5 d ln T / alpha."""
    alpha = sigma * delta(theorem, T, d, F, L, r, D) ** 2 / (d * F) ** 2
    return first_term(theorem, T, d, F, L, r, D) + 5.0 * d * np.log(T) / alpha


def one_run(sets, theorem, d, rounds, seed, run):
    rng = np.random.default_rng([seed, d, rounds, run])
    j, y = rng.integers(d, size=rounds), rng.uniform(0.0, LABEL, rounds)
    Z = np.zeros((rounds, d))
    Z[np.arange(rounds), j] = math.sqrt(d)
    F, L = constants(d)
    learner = cf.ONSEG(d, cf.Ball(RADIUS), horizon=rounds, loss_bound=F, niceness=NICENESS,
                       lipschitz=L if theorem == 2 else None, seed=[seed, d, rounds, run, 1])
    history = learner.run(cf.losses.Squared(Z, y), rounds)
    best = np.bincount(j, y, d) / np.maximum(np.bincount(j, minlength=d), 1) / math.sqrt(d)
    paid = history.loss - 0.5 * (np.sum(Z * best, axis=1) - y) ** 2
    limit = bound(theorem, float(rounds), d, F, L, RADIUS, 2.0 * RADIUS, NICENESS)
    return {**_theorems.told(paid, limit, F), "delta": learner.delta}


def play(setting):
    lengths, runs, dimensions = setting["lengths"], setting["runs"], setting["dimensions"]
    found = yield from repeated(
        one_run, {(theorem, f"d = {d}", T): {"theorem": theorem, "d": d, "rounds": T}
                  for theorem in (1, 2) for d in dimensions for T in lengths},
        runs, seed=setting.seed)
    outcome = Outcome()
    for n in (1, 2):
        cases = Case.of_lengths({key[1:]: part for key, part in found.items() if key[0] == n})
        outcome.plots.append(
            _theorems.plot(f"theorem-{n}", f"ONSEG and Theorem {n}", cases, story=n == 1))
        outcome.tables.append(
            _theorems.table(f"bounds-{n}", f"Theorem {n}, {runs} runs a length", cases))
        outcome.findings += judge(n, cases)
    outcome.tables.append(terms(lengths, dimensions))
    return outcome


def terms(lengths, dimensions):
    rows = []
    for theorem in (1, 2):
        for d in dimensions:
            about = (d, *constants(d), RADIUS, 2.0 * RADIUS)
            for T in lengths:
                first = first_term(theorem, T, *about)
                rows.append([f"Theorem {theorem}", d, T, first,
                             bound(theorem, T, *about, NICENESS) - first, about[1] * T])
    return Table("terms", "The bounds' two terms, and what no run can exceed",
                 ["theorem", "d", "rounds", "first term", "last term", "F T"], rows)


def judge(theorem, cases):
    name, plot = f"Theorem {theorem}", f"theorem-{theorem}"
    yield _theorems.under(name, cases, plot, kind="mean", about="under-onseg")
    yield informative(theorem, cases, plot)
    yield order_of_bound(theorem, cases, plot)
    yield order_of_regret(theorem, cases, plot)


def informative(theorem, cases, plot):
    least = {case.label: np.min(case.bound[0] / (case.idle * case.rounds)) for case in cases}
    return claim("onseg-informative", any(value < 1.0 for value in least.values()),
                 theorem=theorem, least=_judge.listed(least, "{}: {:.3g}"), plot=plot)


def order_of_bound(theorem, cases, plot):
    grown = {case.label: case.growth()[1].value for case in cases}
    allowed = growth_allowed(theorem, cases[0])
    exponents = {label: value / math.log(10.0) for label, value in grown.items()}
    return claim("onseg-bound-order",
                 all(value <= allowed + _judge.ROUNDING for value in grown.values()),
                 theorem=theorem, order=ORDERS[theorem][0],
                 exponents=_judge.listed(exponents, "{}: {:.3f}"),
                 allowed=allowed / math.log(10.0), best={1: "T^(4/5)", 2: "T^(2/3)"}[theorem],
                 plot=plot)


def order_of_regret(theorem, cases, plot):
    grown = {case.label: case.growth()[0] for case in cases}
    allowed = growth_allowed(theorem, cases[0])
    exponents = {label: _theorems.exponent(value) for label, value in grown.items()}
    return claim("onseg-regret-order", _judge.all_below(grown.values(), allowed),
                 theorem=theorem, order=ORDERS[theorem][0], exponents=_judge.listed(exponents),
                 allowed=allowed / math.log(10.0), plot=plot)


def growth_allowed(theorem, case):
    """The logarithm of what the first term grows by in the last tenfold of rounds."""
    T = float(case.rounds[-1])
    tenth = float(case.rounds[np.searchsorted(case.rounds, T // 10)])
    _, power, logarithms = ORDERS[theorem]
    return power * math.log(T / tenth) + logarithms * math.log(math.log(T) / math.log(tenth))


EXPERIMENTS = [Experiment(
    "onseg-theorems", "Regret, bounds, and the orders claimed", "onseg", "theorems 1 and 2",
    "generated", play,
    quick={"lengths": [5000, 50000, 500000], "runs": 8, "dimensions": [1, 2]},
    full={"lengths": [1000, 10000, 100000, 1000000], "runs": 20, "dimensions": [1, 2]},
    cost=(3, 15))]
