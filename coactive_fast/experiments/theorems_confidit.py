"""Theorems 1 and 2 of the Confidit paper: regret on the paper's model (2) beside its bound.

The theorems print orders; here are the constants of their proofs. The regret is that of (3): the
chance of the label that U calls best less that of the label chosen.
"""

import numpy as np

import coactive_fast as cf
from coactive_fast import data

from . import _theorems
from ._plan import Experiment, Outcome, repeated
from ._theorems import Case

C = 4.0  # of eta_t; the paper has (1 + alpha)^2, which is the same where alpha = 1
DELTA = 0.1
MODELS = [[2, 3, 2, 1.0], [2, 3, 2, 0.5], [5, 9, 5, 1.0]]  # classes, features, informative, alpha


def determinants(T, d, k, alpha):
    """Of B_3, the logarithms of |A_i| / |A_i at first| summed, what T rounds can make at most."""
    return d * k * np.log1p(T / (d * k * (1.0 + alpha) ** 2))


def bound(T, d, k, alpha, norm, delta, error=0.0):
    """Theorems 1 and 2, for the cumulative regret of T rounds (an array of them).

    `error` is Q_T, the sum of the approximation errors of the first T rounds. By equations (16)
    to (19): R <= 2 Q + 2 / (1 + alpha) sqrt(T sum eps^2), where sum eps^2 <= 2 eta_T (1 + (1 +
    alpha)^-2) B_3, and the sum within eta_T is B_3 at most.
    """
    grown = determinants(T, d, k, alpha)
    eta = (0.5 * (1.0 + alpha) ** 2 * norm**2 + 0.5 * C * grown
           + 9.0 * C * np.log((T + 4.0) / delta) + C * error)
    squares = 2.0 * eta * (1.0 + (1.0 + alpha) ** -2) * grown
    return 2.0 * error + 2.0 / (1.0 + alpha) * np.sqrt(T * squares)


def errors_of(rounds, scale):
    """q_t = scale / sqrt(t): their sum grows like sqrt(T), for which the bound says something."""
    return scale / np.sqrt(np.arange(1, rounds + 1))


def one_run(sets, model, alpha, scale, rounds, seed, run):
    k, d, informative = model
    errors = errors_of(rounds, scale)
    made = data.make_confidit(n_rows=rounds, n_features=d, n_informative=informative, n_classes=k,
                              alpha=alpha, error=errors, seed=[seed, run, k])
    norm = float(np.linalg.norm(made.weights))
    learner = cf.Confidit(k, covariance="full", confidence="theory", projection=True, alpha=alpha,
                          norm_bound=norm, delta=DELTA, approximation_error=errors,
                          seed=[seed, run, k, 1])
    history = learner.run(made.features, made.labels)
    T = np.arange(1, rounds + 1)
    idle = float(np.mean(made.chances.max(axis=1) - 1.0 / k))
    limit = bound(T, d, k, alpha, norm, DELTA, np.cumsum(errors))
    return {**_theorems.told(made.regret(history.choices), limit, idle),
            "grown": np.sum(learner.information())}


def play(setting):
    rounds, runs = setting["rounds"], setting["runs"]
    found = yield from repeated(
        one_run, {(k, d, alpha, scale): {"model": [k, d, informative], "alpha": alpha,
                                         "scale": scale}
                  for scale in (0.0, setting["error"])
                  for k, d, informative, alpha in setting["models"]},
        runs, rounds=rounds, seed=setting.seed)
    cases, grown = [], {}
    for (k, d, alpha, scale), mine in found.items():
        label = f"K = {k}, α = {alpha:g}" + (", Q" if scale else "")
        cases.append(Case.of(label, rounds, mine))
        grown[label] = (f"{mine['grown'].mean():.4g} of at most "
                        f"{determinants(rounds, d, k, alpha):.4g}")
    plain, modified = cases[:len(cases) // 2], cases[len(cases) // 2:]
    return Outcome(
        plots=[_theorems.plot("theorem-1", "Confidit and Theorem 1", plain, story=True),
               _theorems.plot("theorem-2", "Modified Confidit and Theorem 2", modified)],
        tables=[_theorems.table("bounds", f"{runs} runs a setting; Q: errors of "
                                f"{setting['error']:g} / √t", cases)],
        findings=[*judge("Theorem 1", plain, "theorem-1"),
                  *judge("Theorem 2", modified, "theorem-2")],
        parameters={"B3 at the end, the mean over the runs": grown})


def judge(theorem, cases, plot):
    yield _theorems.under(theorem, cases, plot, "chance", DELTA, about="under-confidit")
    yield _theorems.slower(theorem, cases, plot, about="slower-confidit")


EXPERIMENTS = [Experiment(
    "confidit-theorems", "Regret and bounds on the paper's own model", "confidit",
    "theorems 1 and 2", "generated", play,
    quick={"rounds": 20000, "runs": 40, "error": 0.5, "models": MODELS[:2]},
    full={"rounds": 300000, "runs": 40, "error": 0.5, "models": MODELS}, cost=(1, 30))]
