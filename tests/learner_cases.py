"""Every learner with something to learn from: the checks of test_learner_checks run over these.

A case is a function that makes a learner (its chance fixed by a seed) and one that gives round t
as a callable; ``reading`` is a function of the learner whose answer tells its state apart.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import coactive_fast as cf


@dataclass
class Case:
    name: str
    make: Any           # () -> a fresh learner
    round: Any          # (learner, t): one act and one learn
    reading: Any        # learner -> array
    bad: Any            # list of (learner -> call that must be refused)
    change: dict        # a parameter that may be set after learning, with another value
    shaping: dict       # one that may not

    def __str__(self):
        return self.name


def documents(t):
    rng = np.random.default_rng(t)
    return rng.standard_normal((3 + t % 7, 6)), rng


def ranking_round(learner, t):
    x, rng = documents(t)
    learner.learn(x, learner.present(x), rng.permutation(len(x)))


CATALOGUE = np.random.default_rng(0).standard_normal((12, 6))


def item_round(learner, t):
    left = np.flatnonzero(np.random.default_rng(t).random(12) < 0.7)
    left = left if left.size > 1 else np.arange(12)
    learner.learn(left, learner.present(left), left[t % left.size])


class Pairs:
    """A structured object of one's own: which of two features."""

    dimension = 6

    def features(self, x, y):
        return np.asarray(x)[y]

    def argmax(self, w, x):
        return int(np.argmax(np.asarray(x) @ w))

    def __eq__(self, other):
        return isinstance(other, Pairs)

    __hash__ = None


def own_round(learner, t):
    x, rng = documents(t)
    learner.learn(x, learner.present(x), int(rng.integers(len(x))))


BAD_RANKINGS = [
    lambda learner: learner.learn(np.zeros((2, 5)), [0, 1], [1, 0]),
    lambda learner: learner.learn(np.full((2, 6), np.nan), [0, 1], [1, 0]),
    lambda learner: learner.learn(np.zeros((2, 6)), [0, 0], [1, 0]),
    lambda learner: learner.learn(np.zeros((2, 6)), [0, 1], [2, 0]),
    lambda learner: learner.learn(np.zeros((2, 6)), [0, 1], [0.5, 1]),
    lambda learner: learner.learn(np.zeros((0, 6)), [], []),
    lambda learner: learner.learn(np.zeros((2, 0)), [0, 1], [1, 0]),
    lambda learner: learner.present(np.zeros((2, 5))),
    lambda learner: learner.present(np.full((2, 6), np.inf)),
    lambda learner: learner.present(np.zeros((2, 6)), k=-1),
    lambda learner: learner.update(np.full(6, np.nan)),
    lambda learner: learner.update(np.zeros(7)),
    lambda learner: learner.update([]),
]
BAD_ITEMS = [
    lambda learner: learner.learn(None, 0, 12),
    lambda learner: learner.learn(None, -1, 0),
    lambda learner: learner.learn([1, 2], 1, 3),
    lambda learner: learner.learn([1, 99], 1, 1),
    lambda learner: learner.present([]),
    lambda learner: learner.present([0.5]),
    lambda learner: learner.update(np.zeros(5)),
]


def coactive(name, make, change, shaping=None):
    shaping = shaping or {}
    first = {"task": cf.Ranking(k=2)}
    yield Case(f"{name}-ranking", lambda: make(cf.Ranking(k=3)), ranking_round,
               lambda m: np.append(m.weights, m.average_weights), BAD_RANKINGS, change,
               {**first, **shaping})
    yield Case(f"{name}-items", lambda: make(cf.Items(CATALOGUE)), item_round,
               lambda m: np.append(m.weights, m.average_weights), BAD_ITEMS, change,
               {**first, **shaping})
    yield Case(f"{name}-own", lambda: make(Pairs()), own_round,
               lambda m: np.append(m.weights, m.average_weights), BAD_RANKINGS[-3:], change,
               {**first, **shaping})


CASES = [
    *coactive("preference", cf.PreferencePerceptron, {"batch": 2}),
    *coactive("batch", lambda task: cf.PreferencePerceptron(task, batch=4), {"batch": 2}),
    *coactive("exponentiated", cf.ExponentiatedPreferencePerceptron, {"scale": 3.0},
              {"signed": False}),
    *coactive("convex", lambda task: cf.ConvexPreferencePerceptron(task, radius=1.0),
              {"radius": 0.5}),
    *coactive("second_order", lambda task: cf.SecondOrderPreferencePerceptron(task, radius=0.5),
              {"gamma": 2.0}, {"epsilon": 2.0}),
    *coactive("deferred", lambda task: cf.SecondOrderPreferencePerceptron(
        task, radius=0.5, projection="deferred"), {"radius": 0.4}, {"projection": "exact"}),
]
