"""The regression and the bandits as the tests run them, with what their streams need."""

import json
from pathlib import Path

import numpy as np
import pytest
from row_cases import FOLDER, Unchanged

import coactive_fast as cf

# Where the learners are found; every test of them runs for each.
MODULES = [pytest.param(cf.reference, id="reference"), pytest.param(cf, id="compiled")]

# What is said of `fresh` learners: kind and arguments. Rows have D features, contexts P.
D, P, N_ARMS = 4, 2, 3
LINEAR = {
    "ucb": {"width": 0.6},
    "ucb logistic": {"link": "logistic", "width": 0.5},
    "ucb diagonal": {"covariance": "diagonal", "ridge": 0.3},
    "ucb floor": {"floor": 0.3, "seed": 1},
    "theory": {"width": "theory", "noise": 0.3, "ridge": 0.5},
    "forget": {"forget": 0.9},
    "diagonal forget": {"forget": 0.8, "covariance": "diagonal", "link": "logistic"},
    "greedy": {"explore": "greedy"},
    "greedy floor": {"explore": "greedy", "floor": 0.2, "seed": 2},
    "thompson": {"explore": "thompson", "width": 0.5, "seed": 3},
    "thompson diagonal": {"explore": "thompson", "covariance": "diagonal", "seed": 4},
    "thompson floor": {"explore": "thompson", "floor": 0.3, "link": "logistic", "seed": 5},
    "squarecb": {"explore": "squarecb", "seed": 6},
    "squarecb logistic": {"explore": "squarecb", "link": "logistic", "scale": 30.0, "seed": 7},
    "squarecb floor": {"explore": "squarecb", "floor": 0.2, "seed": 8},
    "context": {"context_features": P, "width": 0.4},
    "context diagonal": {"context_features": P, "covariance": "diagonal", "forget": 0.9},
    "context squarecb": {"context_features": P, "explore": "squarecb", "seed": 9},
    "context thompson": {"context_features": P, "explore": "thompson", "seed": 10},
}
ARMS = {name: arguments for name, arguments in LINEAR.items() if "context" not in name}
RIDGES = {
    "identity": {"ridge": 0.5, "noise": 0.7},
    "identity diagonal": {"covariance": "diagonal"},
    "logistic": {"link": "logistic", "ridge": 0.3},
    "logistic diagonal": {"link": "logistic", "covariance": "diagonal"},
    "forget": {"forget": 0.85},
    "forget diagonal": {"forget": 0.85, "covariance": "diagonal"},
    "logistic forget": {"link": "logistic", "forget": 0.9},
}
BANDITS = [*(("linear", name) for name in LINEAR), *(("arms", name) for name in ARMS)]
LEARNERS = [*BANDITS, *(("ridge", name) for name in RIDGES)]
DRAWS = ("thompson", "squarecb", "floor")  # who draws has one of these words in the name


def build(module, kind, name, **changes):
    arguments = {"linear": LINEAR, "arms": ARMS, "ridge": RIDGES}[kind][name]
    arguments = {**arguments, **changes}
    if kind == "ridge":
        return module.OnlineRidge(**arguments)
    if kind == "arms":
        return module.ArmBandit(N_ARMS, **arguments)
    return module.LinearBandit(**arguments)


def is_logistic(learner):
    return learner.link == "logistic"


class Round:
    """What one round offers, by its number alone, and the calls of any kind of bandit on it."""

    def __init__(self, bandit, t, *, n=5):
        rng = np.random.default_rng([5, t])
        self.arms = hasattr(bandit, "n_arms")
        n = bandit.n_arms if self.arms else n
        rows = rng.standard_normal((1 if self.arms else n, D)).round(2)
        if not self.arms and n > 2:
            rows[n - 1] = rows[0]  # equal rows
        self.rows = rows[0] if self.arms else rows
        self.allowed = rng.random(n) < 0.7
        self.allowed[rng.integers(n)] = True
        p = 0 if self.arms else bandit.context_features
        self.words = {"context": rng.standard_normal(p).round(2)} if p else {}
        self.reward = float(rng.random()) if is_logistic(bandit) else float(rng.standard_normal())
        self.weight = float(rng.choice([1.0, 0.5, 0.25]))
        self.any = int(rng.integers(n))  # an action, whoever chose it

    def learn(self, bandit, i=None, **changes):
        i = self.any if i is None else i
        words = {**self.words, "weight": self.weight, **changes}
        if self.arms:
            bandit.learn(self.rows, i, self.reward, **words)
        else:
            bandit.learn(self.rows[i], self.reward, **words)

    def choose(self, bandit, **words):
        return bandit.choose(self.rows, allowed=self.allowed, **self.words, **words)

    def decide(self, bandit, **words):
        return bandit.decide(self.rows, allowed=self.allowed, **self.words, **words)

    def law(self, bandit, samples=None):
        return bandit.probabilities(self.rows, allowed=self.allowed, samples=samples, **self.words)

    def scores(self, bandit):
        return bandit.scores(self.rows, **self.words)


def trained(module, kind, name, rounds=25, **changes):
    learner = build(module, kind, name, **changes)
    if kind == "ridge":
        X, y, weight = stream(learner, rounds)
        learner.run(X, y, weight=weight)
        return learner
    for t in range(rounds):
        Round(learner, t).learn(learner)
    return learner


def stream(learner, T=40):
    """Rows with a null one among them, targets in [0, 1], weights."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((T, D))
    X[T // 2] = 0.0
    y = 1.0 / (1.0 + np.exp(-X @ rng.standard_normal(D)))
    return X, y.round(1), rng.choice([1.0, 0.5, 0.25], T)


def read(learner):
    """All that can be read of a learner without moving anything."""
    found = {"rounds": learner.rounds, "weights": learner.weights}
    if hasattr(learner, "n_arms"):
        found["inverse"] = [learner.inverse(i) for i in range(learner.n_arms)]
    else:
        found["inverse"] = learner.inverse()
    if hasattr(learner, "pending"):
        found |= {"pending": learner.pending, "expired": learner.expired}
        round = Round(learner, 99)
        found["scores"] = round.scores(learner)
        if learner.explore != "thompson":
            found["law"] = round.law(learner)
    else:
        found["predictions"] = learner.predict(stream(learner)[0])
    return found


def play(learner):
    """A stream of calls that moves all there is; what they answered."""
    if not hasattr(learner, "pending"):
        X, y, weight = stream(learner)
        return learner.run(X, y, weight=weight).predictions
    answers = []
    for t in range(100, 112):
        round = Round(learner, t)
        answers.append(round.choose(learner, k=2))
        decision = round.decide(learner)
        answers.append(tuple(decision))
        if t % 3 == 0:
            learner.reward(decision.id, round.reward)
        round.learn(learner)
    return answers


def unchanged(learner):
    return Unchanged(learner, play, read)


def golden_cases(family, room="rewards"):
    """The cases of a golden file: (name, arrays, constructor's arguments)."""
    if not FOLDER:
        reason = "COACTIVE_VECTORS does not name the folder of the golden vectors"
        return [pytest.param("none", {}, {}, marks=pytest.mark.skip(reason=reason))]
    found = {}
    with np.load(Path(FOLDER) / f"{room}_{family}.npz") as file:
        for key in file.files:
            case, _, name = key.partition("__")
            found.setdefault(case, {})[name] = file[key]
    for arrays in found.values():
        if "meta" in arrays:
            arrays["meta"] = json.loads(str(arrays["meta"]))
            arrays["arguments"] = json.dumps(arrays["meta"]["arguments"])
    return [pytest.param(name, arrays, json.loads(str(arrays.pop("arguments"))), id=name)
            for name, arrays in found.items()]
