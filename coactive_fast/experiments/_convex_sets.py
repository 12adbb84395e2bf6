"""The problems of the ONSEG paper: losses, the set to choose from, and the bounds they imply.

Each goes by the name of its real data; without a folder scikit-learn's diabetes and breast cancer
stand for two of them, generated rows for the others.

Rows are scaled so that none is longer than 1, labels of regressions to -1 ... 1. Then ``|x.z| <=
R`` in the ball of radius R, and F, G and the exp-concavity follow from the formulas of the losses.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

import coactive_fast as cf
from coactive_fast import data, kernels

RADIUS = {"regression": 4.0, "classification": 16.0}
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
        Z, z, y = self.Z[order], self.scaling.get("Z"), self.scaling.get("y")
        if self.kind == "portfolio":
            return cf.losses.PortfolioReturn(Z, Z_scaling=z)
        if self.kind == "classification":
            return cf.losses.Logistic(Z, self.y[order], Z_scaling=z)
        return cf.losses.Squared(Z, self.y[order], Z_scaling=z, y_scaling=y)


@functools.lru_cache(maxsize=8)
def problem(sets, name, rows):
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


def called(sets, name):
    """The name of what stands for these data."""
    return sets.called(name, BUNDLED.get(name))


def at_hand(sets, names):
    """The names of the problems, those that stand in replaced by the paper's own in the folder;
    portfolios of the folder beside them."""
    names = [own if sets.has(own := OWN.get(name, name)) else name for name in names]
    more = [name for name in ("sse180", "tse") if "djia" in names and sets.has(name)]
    return [*more, *names]


def _table(sets, name):
    if sets.real and name == "kin":
        return data.load_table(sets.file("tabular/kin.csv"))[:2]
    if sets.real and name == "cancer":
        return data.load_breast_cancer(sets.file("tabular/cancer.data"))
    if sets.real:
        X, y = data.load_svmlight(sets.file(f"tabular/{name}.svm"))
        return (X.toarray() if hasattr(X, "toarray") else X), y
    if sets.bundled and name in BUNDLED:
        return _bundled(BUNDLED[name])
    (n, d), rng = STAND_INS[name], np.random.default_rng(len(name))
    X = rng.uniform(0.0, 1.0, (n, d)) if name != "a1a" else (rng.random((n, d)) < 0.12) * 1.0
    truth = (X - X.mean(0)) @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n)
    return X, np.where(truth >= 0.0, 1.0, -1.0) if name in ("ionosphere", "a1a") else truth


def _bundled(name):
    from sklearn import datasets

    if name == "diabetes":
        return datasets.load_diabetes(return_X_y=True)
    X, benign = datasets.load_breast_cancer(return_X_y=True)
    return X, np.where(benign, 1.0, -1.0)


def _relatives(sets, name):
    if name == "sse180":
        found = data.load_prices(sets.file("stocks/sse180.csv"), prices=True).relatives
        some = np.random.default_rng(0).permutation(found.shape[1])[:DRAWN]
        return np.ascontiguousarray(found[:, np.sort(some)])
    if name == "tse":
        return data.load_prices(sets.file("stocks/tse.csv")).relatives
    if sets.real:
        return data.load_prices(sets.file(f"stocks/{name}_weekly.csv")).relatives
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
