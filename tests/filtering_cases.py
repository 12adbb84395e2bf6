"""The filters as the tests run them, with what their streams need."""

from pathlib import Path

import numpy as np
import pytest
from row_cases import FOLDER, Unchanged, unit_rows

import coactive_fast as cf

# Where the filters are found; every test of them runs for each.
MODULES = [pytest.param(cf.reference, id="reference"), pytest.param(cf, id="compiled")]

FILTERS = {
    "simple": ("SimpleFilter", {}),
    "ridge": ("RidgeFilter", {}),
    "ridge full feedback": ("RidgeFilter", {"feedback": "full"}),
    "ridge ucb": ("RidgeFilter", {"rule": "ucb"}),
    "diagonal": ("RidgeFilter", {"covariance": "diagonal"}),
    "diagonal ucb": ("RidgeFilter", {"covariance": "diagonal", "rule": "ucb", "forget": 0.9}),
    "linear": ("RidgeFilter", {"covariance": "kernel"}),
    "rbf": ("RidgeFilter", {"covariance": "kernel", "kernel": "rbf", "rule": "ucb"}),
    "window": ("RidgeFilter", {"window": 9, "threshold_scale": 0.5}),
    "kernel window": ("RidgeFilter", {"covariance": "kernel", "window": 9}),
    "forget": ("RidgeFilter", {"forget": 0.9}),
    "diagonal forget": ("RidgeFilter", {"forget": 0.9, "covariance": "diagonal"}),
    "probabilistic": ("ProbabilisticRidgeFilter", {"explore": 0.3, "seed": 1}),
    "probabilistic diagonal": (
        "ProbabilisticRidgeFilter",
        {"horizon": 30, "covariance": "diagonal", "a": 0.2, "seed": 2},
    ),
    "probabilistic kernel": (
        "ProbabilisticRidgeFilter",
        {"explore": 0.3, "covariance": "kernel", "a": 0.1, "seed": 1},
    ),
    "probabilistic window": (
        "ProbabilisticRidgeFilter",
        {"explore": 0.3, "window": 9, "a": 0.1, "seed": 2},
    ),
    "ridge dgs": ("RidgeFilter", {"rule": "dgs", "width": 0.3, "cost_ratio": 1.5, "floor": 0.1}),
    "diagonal bbq": ("RidgeFilter", {"rule": "bbq", "covariance": "diagonal", "calibrate": True}),
    "Perceptron": ("PerceptronFilter", {}),
    "Perceptron forwarded": ("PerceptronFilter", {"feedback": "forwarded"}),
    "apple tasting": ("AppleTasting", {"explore": 0.3, "seed": 3}),
}
CHANCE = [name for name, (kind, _) in FILTERS.items() if "Prob" in kind or "Apple" in kind]


def build(module, name, **changes):
    kind, arguments = FILTERS[name]
    arguments = {**arguments, **changes}
    if kind == "AppleTasting":
        arguments["classifier"] = module.RidgeFilter(feedback="full")
    return getattr(module, kind)(**arguments)


def learn_all(learner, X, y):
    """The learner, having learned every row without a round."""
    for x, relevant in zip(X, y, strict=True):
        learner.learn(x, bool(relevant))
    return learner


def problem(rng, T=60, d=5):
    """Unit rows, and labels that are relevant with probability (1 + u.x) / 2."""
    X, u = unit_rows(rng, T, d), unit_rows(rng, 1, d)[0]
    return X, rng.random(T) < (1.0 + X @ u) / 2.0


def trained(module, name, rng):
    learner, (X, y) = build(module, name), problem(rng, T=25)
    for x, relevant in zip(X, y, strict=True):
        learner.learn(x, relevant)
    learner.run(X, y)
    return learner


def readings(learner, X):
    return {
        "rounds": learner.rounds,
        "learned": learner.learned,
        "threshold": learner.threshold,
        "margins": [learner.margin(x) for x in X],
    }


def all_of(history):
    names = ("forwarded", "margins", "precision", "recall", "f_measure")
    return {name: getattr(history, name) for name in names}


def unchanged(learner, X, y):
    return Unchanged(learner, lambda one: all_of(one.run(X, y)), lambda one: readings(one, X[:5]))


def golden_readings():
    """The cases of the golden file of readings, each a dict of arrays; and p without a horizon."""
    found = {}
    with np.load(Path(FOLDER) / "more_filtering_readings.npz") as file:
        for key in file.files:
            case, _, name = key.partition("__")
            found.setdefault(case, {})[name] = file[key]
    return found
