"""Figures 1-3 of the ONSEG paper: regression, classification and portfolios, 150 passes.

A first stage chooses what the paper chose by hand, from a grid, by the worst of the measure at the
end of runs of their own (large steps are fine on the average and now and then lost for good); the
step sizes of ONSEG's rivals are chosen in the same way, beside the printed ones.

Rows are scaled so that none is longer than 1, labels of regressions to -1 ... 1. Then ``|x.z| <=
R`` in the ball of radius R, and F, G and the exp-concavity follow from the formulas of the losses.
Each problem goes by the name of its real data; without a folder scikit-learn's diabetes and breast
cancer stand for two of them, generated rows for the others.
"""

import functools
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

import coactive_fast as cf
from coactive_fast import data, kernels

from . import _judge, _plan
from ._plan import Curve, Experiment, Outcome, Plot, Table, Task, claim, file_name, rounds_to_show
from ._sources import SOURCES

RADIUS = {"regression": 4.0, "classification": 16.0}
LOSSES = {"regression": cf.losses.Squared, "classification": cf.losses.Logistic,
          "portfolio": cf.losses.PortfolioReturn}
OWN = {"cpusmall": "kin", "a1a": "cancer"}  # the paper's, by what stands in
BUNDLED = {"abalone": "diabetes", "a1a": "breast cancer"}
SHARES = ("nyse-o", "djia", "msci", "sse180", "tse")
DRAWN = 94  # shares of the SSE 180, by chance: the paper's trials draw anew each
TWO_CLASSES = ("ionosphere", "a1a", "cancer")
STAND_INS = {"abalone": (400, 8), "cpusmall": (400, 12), "ionosphere": (351, 33), "a1a": (400, 60),
             "nyse-o": (300, 36), "djia": (101, 30), "msci": (208, 24)}


class Problem(NamedTuple):
    kind: str  # regression, classification, portfolio
    Z: np.ndarray
    y: np.ndarray | None
    scaling: dict  # of "Z" and "y", data.Scaling
    feasible: Any
    F: float  # bound on the absolute losses
    G: float  # on the gradients' length
    concavity: float  # exp-concavity of the losses on the set; 0: they are linear
    levels: dict  # values to compare with, by name

    @property
    def d(self):
        return self.Z.shape[1]

    def losses(self, order):
        """The losses with their rows in that order, the scaling in their record."""
        labels = () if self.kind == "portfolio" else (self.y[order],)
        scalings = {f"{name}_scaling": one for name, one in self.scaling.items()}
        return LOSSES[self.kind](self.Z[order], *labels, **scalings)


@functools.lru_cache(maxsize=8)
def problem_of(sets, name, rows):
    """By the name of its data; `rows`: only so many, None: all."""
    if name in SHARES:
        return _portfolio(_relatives(sets, name)[:rows])
    X, y = _table(sets, name)
    if rows is not None and rows < len(X):
        some = np.sort(np.random.default_rng(0).permutation(len(X))[:rows])
        X, y = X[some], y[some]
    lowest = 0.0 if np.isin(X, (0.0, 1.0)).all() else -1.0  # of features, before the length
    kind = _classification if name in TWO_CLASSES else _regression
    return kind(X, y, lowest)


def at_hand(sets, names):
    """The names of the problems, those that stand in replaced by the paper's own in the folder;
    portfolios of the folder beside them."""
    names = [own if sets.has(own := OWN.get(name, name)) else name for name in names]
    more = [name for name in ("sse180", "tse") if "djia" in names and sets.has(name)]
    return [*more, *names]


def _table(sets, name):
    if sets.real:
        X, y, *_ = getattr(data, SOURCES[name].reader)(*sets.files(name))
        return (X.toarray() if hasattr(X, "toarray") else X), y
    if sets.bundled and name in BUNDLED:
        from sklearn import datasets

        load = {"abalone": datasets.load_diabetes, "a1a": datasets.load_breast_cancer}[name]
        X, y = load(return_X_y=True)
        return X, np.where(y, 1.0, -1.0) if name in TWO_CLASSES else y
    (n, d), rng = STAND_INS[name], np.random.default_rng(len(name))
    X = rng.uniform(0.0, 1.0, (n, d)) if name != "a1a" else (rng.random((n, d)) < 0.12) * 1.0
    truth = (X - X.mean(0)) @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n)
    return X, np.where(truth >= 0.0, 1.0, -1.0) if name in TWO_CLASSES else truth


def _relatives(sets, name):
    if name == "sse180":
        found = data.load_prices(*sets.files(name), prices=True).relatives
        some = np.random.default_rng(0).permutation(found.shape[1])[:DRAWN]
        return np.ascontiguousarray(found[:, np.sort(some)])
    if sets.real:
        return data.load_prices(*sets.files(name)).relatives
    (n, d), rng = STAND_INS[name], np.random.default_rng(len(name))
    return np.exp(0.02 * rng.standard_normal((n, 1)) + 0.03 * rng.standard_normal((n, d))
                  + rng.normal(0.002, 0.001, d))


def _short_rows(X, lowest):
    """The scaling of each column to an interval from `lowest` to 1 times what makes the longest
    row 1 long."""
    longest = np.linalg.norm(data.minmax(X, lower=lowest).transform(X), axis=1).max()
    return data.minmax(X, lower=lowest / longest, upper=1.0 / longest)


def _regression(X, y, lowest):
    R = RADIUS["regression"]
    scaling = {"Z": _short_rows(X, lowest), "y": data.minmax(y, lower=-1.0)}
    Z, labels = scaling["Z"].transform(X), scaling["y"].transform(y)
    A = Z.T @ Z + 1e-9 * np.eye(Z.shape[1])
    best, _ = kernels.project_ball(np.linalg.solve(A, Z.T @ labels), np.linalg.inv(A), R)
    worst = R + 1.0  # of |x.z - y|
    return Problem("regression", X, y, scaling, cf.Ball(R), worst**2 / 2.0, worst, worst**-2,
                   {"the best point of the ball": float(np.mean((Z @ best - labels) ** 2) / 2.0)})


def _classification(X, y, lowest):
    R = RADIUS["classification"]
    return Problem("classification", X, y, {"Z": _short_rows(X, lowest)}, cf.Ball(R),
                   float(np.log1p(np.exp(R))), 1.0, float(np.exp(-R)),
                   {"always the larger class": float(min(np.mean(y > 0), np.mean(y < 0)))})


def _portfolio(relatives):
    rates = data.Scaling(np.ones(relatives.shape[1]), np.ones(relatives.shape[1]), "rates")
    Z = rates.transform(relatives)
    return Problem("portfolio", relatives, None, {"Z": rates}, cf.Simplex(),
                   float(np.abs(Z).max()), float(np.linalg.norm(Z, axis=1).max()), 0.0,
                   {"equal shares": 100.0 * float(Z.mean()),
                    "the best share": 100.0 * float(Z.mean(0).max())})


PASSES = 150
YEAR = 52  # weeks before which a mean return says nothing and would fill the plot
PART = 0.1  # of what knowing the best share would bring: a lead that is worth the name
CONSTANTS = ("delta", "gamma", "beta", "epsilon", "eta", "loss_bound", "gradient_bound")

# What is chosen by hand: beta of the Newton steps; of the others a factor of the printed step.
GRIDS = {
    "ONSEG": tuple(10.0 ** k for k in range(-6, 1)),
    "ONS": tuple(10.0 ** k for k in range(-4, 1)),
    "OGDEG": (1.0, 3.0, 10.0, 30.0, 100.0),
    "DikinFTRL": (0.3, 1.0, 3.0, 10.0, 30.0),
}
MEASURES = {"regression": ("loss", "mean squared loss"), "classification": ("error", "error rate"),
            "portfolio": ("return", "mean weekly return, %")}
BETTER = {"loss": min, "error": min, "return": max}


def build(kind, problem, rounds, by_hand, seed):
    """A learner; by_hand None: all as printed."""
    d, P, F, G = problem.d, problem.feasible, problem.F, problem.G
    if kind == "ONSEG":
        return cf.ONSEG(d, P, horizon=rounds, loss_bound=F, beta=by_hand, seed=seed)
    if kind == "OGDEG":  # nu = D / (F sqrt(t)); delta and gamma do not ask for F
        return cf.OGDEG(d, P, horizon=rounds, loss_bound=F / (by_hand or 1.0), seed=seed)
    if kind == "DikinFTRL":
        printed = cf.DikinFTRL(d, horizon=rounds, loss_bound=F)
        eta = min(printed.eta * (by_hand or 1.0), printed.delta / ((d - 1) * F))  # beyond: unstable
        return cf.DikinFTRL(d, eta=eta, loss_bound=F, seed=seed)
    if kind == "ONS":
        D = P.diameter(d)
        return cf.ONS(d, P, by_hand or 0.5 * min(1.0 / (4.0 * G * D), problem.concavity))
    return cf.OGD(d, P, G)


def play_one(sets, name, kind, by_hand, rows, seed, trial):
    """One run: the measures at the rounds that are shown, and the constants in use."""
    problem = problem_of(sets, name, rows)
    n = len(problem.Z)
    rounds, order = PASSES * n, np.arange(n)
    if problem.kind != "portfolio":  # weeks stay in their order
        order = np.random.default_rng([seed, trial]).permutation(n)
    with warnings.catch_warnings():  # horizons too short, losses beyond a bound set by hand
        warnings.simplefilter("ignore")
        learner = build(kind, problem, rounds, by_hand, [seed, trial, 1])
        losses, begin = problem.losses(order), time.thread_time()
        history = learner.run(losses, rounds)
        took = time.thread_time() - begin
    shown = rounds_to_show(rounds) - 1
    found = {"loss": history.average_loss[shown], "return": 100.0 * history.average_return[shown]}
    if history.error_rate is not None:
        found["error"] = history.error_rate[shown]
    constants = {name: float(getattr(learner, name, np.nan)) for name in CONSTANTS}
    return {**found, **constants, "seconds": took / rounds}


# --- the figures --------------------------------------------------------------------------------


def variants(problem):
    """(label, learner, what is by hand: True, False) in the order of the legend."""
    found = [("ONSEG, β by hand", "ONSEG", True), ("ONSEG, β of Theorem 1", "ONSEG", False),
             ("OGDEG", "OGDEG", False), ("OGDEG, step by hand", "OGDEG", True),
             ("ONS, β by hand", "ONS", True), ("OGD", "OGD", False)]
    if problem.kind == "portfolio":
        found += [("DikinFTRL", "DikinFTRL", False), ("DikinFTRL, η by hand", "DikinFTRL", True)]
    return found


def figure(names, setting):
    """The play of one figure over these data."""
    outcome = Outcome()
    for name in at_hand(setting.sets, names):
        yield from one_set(setting, name, outcome)
    return outcome


def one_set(setting, name, outcome):
    rows = setting["rows"]
    problem = problem_of(setting.sets, name, rows)
    title = setting.sets.called(name, BUNDLED.get(name))
    measure, words = MEASURES[problem.kind]
    kinds = variants(problem)

    def tasks(kind, by_hand, first, count):
        if problem.kind == "portfolio" and kind in ("ONS", "OGD"):
            count = 1  # no chance in it: the weeks stay in their order
        return [Task(play_one, {"name": name, "kind": kind, "by_hand": by_hand, "rows": rows,
                                "seed": setting.seed, "trial": first + i}) for i in range(count)]

    hand = yield from chosen([k for _, k, by_hand in kinds if by_hand], measure,
                             lambda k, value: tasks(k, value, 1000, setting["tuning"]))
    parts = yield from _plan.grouped({
        label: tasks(kind, hand[kind] if by_hand else None, 0, setting["trials"])
        for label, kind, by_hand in kinds})
    x = rounds_to_show(PASSES * len(problem.Z))
    late = x >= (YEAR if problem.kind == "portfolio" else 1)
    for what in ("loss", "error") if problem.kind == "classification" else (measure,):
        axis = "mean logistic loss" if what == "loss" and what != measure else words
        curves = [Curve.of_runs(label, x[late], [found[what][late] for found in runs])
                  for label, runs in parts.items()]
        outcome.plots.append(Plot(file_name(title, what), f"{title}, {PASSES} passes", "round",
                                  axis, curves, log="x", story=what == measure,
                                  levels=problem.levels if what == measure else {}))
    ends = {label: np.array([found[measure][-1] for found in runs])
            for label, runs in parts.items()}
    outcome.tables.append(parameters(title, problem, kinds, parts, ends, words))
    outcome.parameters[title] = {
        "rows": len(problem.Z), "dimension": problem.d, "rounds": PASSES * len(problem.Z),
        "feasible": repr(problem.feasible), "loss bound F": problem.F,
        "gradient bound G": problem.G, "exp-concavity": problem.concavity,
        "by hand": {**hand, "grids": {k: list(GRIDS[k]) for k in hand}},
        "scaling": {k: s.to_dict() for k, s in problem.scaling.items()}}
    outcome.findings += judge(title, problem, ends, BETTER[measure], file_name(title, measure))
    if problem.kind == "regression":
        outcome.findings.append(faster(title, parts))


def chosen(kinds, measure, tasks):
    """Of the grid of each learner the value whose worst run ends best."""
    better = BETTER[measure]
    worst = max if better is min else min
    best = {}
    found = yield from _plan.grouped({(kind, value): tasks(kind, value)
                                      for kind in kinds for value in GRIDS[kind]})
    for kind in kinds:
        own = {value: worst(float(one[measure][-1]) for one in found[kind, value])
               for value in GRIDS[kind]}
        best[kind] = better(own, key=own.get)
    return best


def parameters(name, problem, kinds, parts, ends, words):
    """Every constant of every learner, and where it ended."""
    rows = []
    for label, _, _ in kinds:
        first, last = parts[label][0], ends[label]
        rows.append([label, float(last.mean()), _judge.standard_error(last),
                     *(float(first[constant]) for constant in CONSTANTS)])
    n, d = problem.Z.shape
    return Table(file_name(name, "parameters"), f"{name}: {n} rows, d = {d}, {PASSES * n} rounds, "
                 f"{problem.feasible!r}", ["learner", words, "standard error", *CONSTANTS], rows)


# --- findings -----------------------------------------------------------------------------------


def estimate(values):
    """Of where the runs end; one run alone is one without chance in it, and exact."""
    return _judge.mean(values) if len(values) > 1 else _judge.Estimate(float(values[0]))


def ahead(ends, a, b, better, levels):
    """Whether a ends better than b, the text, and the test."""
    gap = estimate(ends[a]).minus(estimate(ends[b]))
    text = ", ".join(f"{label}: {ends[label].mean():.4g}" for label in (a, b))
    text += f"; the difference is {gap}"
    if better is min:
        return text, _judge.below(gap), f"{a} ends lower than {b}, trial by trial."
    least = PART * (levels["the best share"] - levels["equal shares"])
    return (text, _judge.above(gap, least), f"{a} ends higher than {b} by more than {PART:g} of "
            f"the way from equal shares to the best share ({least:.2g}), trial by trial.")


def judge(name, problem, ends, better, plot):
    hand = "ONSEG, β by hand"
    pairs = {"onseg-ahead": (hand, "OGDEG"), "onseg-by-hand": (hand, "OGDEG, step by hand"),
             "onseg-theorem": (hand, "ONSEG, β of Theorem 1"), "onseg-gradients": ("OGD", hand)}
    if problem.kind == "portfolio":
        pairs["onseg-dikin"] = ("DikinFTRL, η by hand", hand)
    for key, (a, b) in pairs.items():
        text, holds, test = ahead(ends, a, b, better, problem.levels)
        yield claim(key, holds, f"{key}-{problem.kind}", name=name, ends=text, test=test, plot=plot)


def faster(name, parts):
    """Seconds a round, run by run. No number of a CSV."""
    took = {label: np.array([float(found["seconds"]) for found in runs])
            for label, runs in parts.items()}
    one, rivals = "ONSEG, β by hand", ("ONS, β by hand", "OGD")
    ratios = [_judge.log_ratio(took[one], took[rival]) for rival in rivals]
    return claim("onseg-faster", _judge.all_below(ratios), name=name, ratios=ratios, rivals=rivals,
                 took=", ".join(f"{label} {1e9 * took[label].min():.0f} ns a round"
                                for label in (one, "OGDEG", *rivals)))


FULL = {"rows": None, "trials": 10, "tuning": 8}

EXPERIMENTS = [
    Experiment("onseg-regression", "Regression from loss values", "onseg", "figure 1",
               "abalone; cpusmall (for kin)", functools.partial(figure, ("abalone", "cpusmall")),
               quick={"rows": 500, "trials": 12, "tuning": 4}, full=FULL, cost=(4, 60)),
    Experiment("onseg-classification", "Classification from loss values", "onseg", "figure 2",
               "ionosphere; a1a (for cancer)", functools.partial(figure, ("ionosphere", "a1a")),
               quick={"rows": 300, "trials": 8, "tuning": 3}, full=FULL, cost=(10, 70)),
    Experiment("onseg-portfolios", "Portfolios from returns", "onseg", "figure 3",
               "NYSE (O), Dow Jones and MSCI by weeks (for SSE 180)",
               functools.partial(figure, ("nyse-o", "djia", "msci")),
               quick={"rows": 100, "trials": 6, "tuning": 3}, full={**FULL, "trials": 20},
               cost=(4, 40)),
]
