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
    *coactive("convex_box", lambda task: cf.ConvexPreferencePerceptron(
        task, feasible=cf.Box(-0.5, 1.0)), {"slope": 0.5}, {"feasible": cf.L1Ball(1.0)}),
    *coactive("second_order_l1", lambda task: cf.SecondOrderPreferencePerceptron(
        task, feasible=cf.L1Ball(0.5)), {"gamma": 2.0}, {"feasible": cf.Ball(1.0)}),
    Case("preference-kernel", lambda: cf.PreferencePerceptron(
        cf.Ranking(k=3), kernel="rbf", budget=20), ranking_round,
        lambda m: m.scores(documents(99)[0]), BAD_RANKINGS, {"budget": 8},
        {"task": cf.Ranking(k=2), "kernel": "linear"}),
]


def click_round(learner, t):
    x, rng = documents(t)
    shown = learner.present(x)
    learner.learn_clicks(x, shown, shown[rng.random(len(x)) < 0.4])


def bad_clicks(x, shown, clicked):
    return lambda learner: learner.learn_clicks(x, shown, clicked)


BAD_CLICKS = [
    *(bad for bad in BAD_RANKINGS if "learn" not in bad.__code__.co_names),
    bad_clicks(np.zeros((2, 6)), [0, 1], [0]),
    bad_clicks(np.zeros((2, 6)), [], []),
    bad_clicks(np.zeros((2, 5)), [0, 1], [2]),
]
CASES += [
    Case("pairwise", lambda: cf.PairwisePerceptron(cf.Ranking(k=3), seed=3), click_round,
         lambda m: np.append(m.weights, m.average_weights), BAD_CLICKS, {"swap": 0.2},
         {"task": cf.Ranking(k=2)}),
    Case("pdgd", lambda: cf.PDGD(cf.Ranking(k=3), seed=3), click_round,
         lambda m: np.append(m.weights, m.average_weights), BAD_CLICKS, {"rate": 0.7},
         {"task": cf.Ranking(k=2)}),
]


# --- online convex optimisation -----------------------------------------------------------------


def value_round(learner, t):
    x = learner.ask()
    if t % 4 == 3 and learner.rounds % 2:  # sometimes two points in the same round
        plus, minus = learner.ask_pair()
        learner.tell_pair(np.sin(t + plus.sum()), np.sin(t + minus.sum()))
    else:
        learner.tell(np.sin(t + x @ np.arange(1.0, len(x) + 1.0)))


def gradient_round(learner, t):
    learner.tell(np.cos(t + np.arange(3) + learner.ask()))


BAD_VALUES = [
    lambda learner: learner.tell(0.5),
    lambda learner: learner.tell(np.nan),
    lambda learner: learner.tell_pair(0.5, 0.5),
    lambda learner: learner.run(lambda t, x: 0.0, -1),
    lambda learner: learner.run([0.0], 1),
    lambda learner: learner.run(cf.losses.PortfolioReturn([[1.0]]), 1),
]
BAD_GRADIENTS = [
    lambda learner: learner.tell([0.0, 0.0, 0.0]),
    lambda learner: learner.run(lambda t, x: 0.0, 1),
    lambda learner: learner.run(cf.losses.PortfolioReturn([[1.0]]), 1),
]


def convex(name, feasible):
    hand = {"delta": 0.3 * feasible.in_radius(3), "gamma": 0.3, "seed": 5}
    shape = {"feasible": cf.Ball(2.0), **({} if name == "box" else {"dimension": 2})}
    yield Case(f"onseg-{name}", lambda: cf.ONSEG(3, feasible, beta=0.2, epsilon=5.0, **hand),
               value_round, lambda m: m.center, BAD_VALUES, {"beta": 0.3},
               {**shape, "gamma": 0.4, "epsilon": 2.0})
    yield Case(f"ogdeg-{name}", lambda: cf.OGDEG(3, feasible, **hand), value_round,
               lambda m: m.center, BAD_VALUES, {"loss_bound": 3.0}, {**shape, "gamma": 0.4})
    yield Case(f"ons-{name}", lambda: cf.ONS(3, feasible, 0.5, epsilon=2.0), gradient_round,
               lambda m: m.center, BAD_GRADIENTS, {"beta": 0.25}, {**shape, "epsilon": 1.0})
    yield Case(f"ogd-{name}", lambda: cf.OGD(3, feasible, 2.0), gradient_round,
               lambda m: m.center, BAD_GRADIENTS, {"gradient_bound": 3.0}, shape)


CASES += [
    *convex("ball", cf.Ball(0.5)),
    *convex("simplex", cf.Simplex()),
    *convex("box", cf.Box([0.0, -1.0, 0.5], 1.0)),
    *convex("l1", cf.L1Ball(1.0)),
    Case("dikin", lambda: cf.DikinFTRL(3, eta=0.1, seed=3), value_round, lambda m: m.center,
         BAD_VALUES, {"eta": 0.2}, {"dimension": 4}),
]


# --- filtering ----------------------------------------------------------------------------------

PROBES = np.random.default_rng(1).standard_normal((4, 5))


def filter_round(learner, t):
    rng = np.random.default_rng(t)
    x = rng.standard_normal(5) * (rng.random(5) < 0.8)
    if learner.forward(x):
        learner.learn(x, bool(x.sum() > 0.3))


def margins(learner):
    return np.array([learner.margin(x) for x in PROBES])


BAD_EXAMPLES = [
    lambda learner: learner.forward(np.zeros(4)),
    lambda learner: learner.forward(np.full(5, np.nan)),
    lambda learner: learner.forward(np.zeros((2, 5))),
    lambda learner: learner.forward([]),
    lambda learner: learner.margin(np.full(5, np.inf)),
    lambda learner: learner.margin(np.zeros(6)),
    lambda learner: learner.learn(np.zeros(5), 2),
    lambda learner: learner.learn(np.zeros(5), None),
    lambda learner: learner.learn(np.zeros(6), True),
    lambda learner: learner.learn(np.full(5, np.nan), False),
    lambda learner: learner.run(np.zeros((2, 5)), [True]),
    lambda learner: learner.run(np.zeros((2, 5)), [2, 0]),
    lambda learner: learner.run(np.zeros((2, 6)), [True, False]),
    lambda learner: learner.run(np.zeros((2, 5)), [True, False], u=np.zeros(4)),
]


def filtering(name, shaping, change=None, **arguments):
    return Case(f"filter-{name}", lambda: cf.RidgeFilter(**arguments), filter_round, margins,
                BAD_EXAMPLES, change or {"threshold_scale": 0.0}, shaping)


CASES += [
    filtering("full", {"covariance": "diagonal", "window": 4}),
    filtering("full-forget", {"covariance": "diagonal"}, {"forget": 0.5}, forget=0.8),
    filtering("full-window", {"window": 4}, window=3),
    filtering("diagonal", {"covariance": "full"}, covariance="diagonal"),
    filtering("diagonal-forget", {"covariance": "full"}, {"forget": 0.5}, forget=0.7,
              covariance="diagonal"),
    filtering("ucb", {"window": 3}, {"rule": "paper", "threshold_scale": 0.0}, rule="ucb"),
    filtering("kernel", {"kernel": "rbf", "window": 9}, covariance="kernel"),
    filtering("kernel-window", {"window": 9}, covariance="kernel", window=3),
    filtering("kernel-rbf", {"kernel_params": {"gamma": 2.0}}, covariance="kernel", kernel="rbf",
              kernel_params={"gamma": 0.5}),
    filtering("kernel-budget", {"budget": 9, "tolerance": 0.5}, covariance="kernel", budget=3),
    Case("filter-probabilistic", lambda: cf.ProbabilisticRidgeFilter(explore=0.2, seed=3),
         filter_round, margins, BAD_EXAMPLES, {"explore": 1.0},
         {"a": 2.0, "covariance": "diagonal"}),
    Case("filter-probabilistic-diagonal",
         lambda: cf.ProbabilisticRidgeFilter(explore=0.2, a=0.1, covariance="diagonal", seed=3),
         filter_round, margins, BAD_EXAMPLES, {"explore": 1.0}, {"a": 2.0, "covariance": "full"}),
    Case("filter-probabilistic-kernel",
         lambda: cf.ProbabilisticRidgeFilter(explore=0.2, a=0.1, covariance="kernel", seed=3),
         filter_round, margins, BAD_EXAMPLES, {"explore": 1.0},
         {"window": 3, "kernel": "rbf", "calibrate": True}),
    Case("filter-probabilistic-window",
         lambda: cf.ProbabilisticRidgeFilter(explore=0.2, a=0.1, window=4, seed=3),
         filter_round, margins, BAD_EXAMPLES, {"explore": 1.0}, {"window": None}),
    filtering("calibrated", {"calibrate": False}, {"cost_ratio": 2.0, "rule": "bbq"},
              calibrate=True, rule="dgs", width=0.3, floor=0.2),
]


# --- multiclass ---------------------------------------------------------------------------------


def labelled(t):
    rng = np.random.default_rng(t)
    x = rng.standard_normal(5) * (rng.random(5) < 0.8)
    return x, int(np.argmax(x[:3]))


def bandit_round(learner, t):
    x, right = labelled(t)
    label = learner.choose(x)
    learner.learn(x, label, label == right)


def labelled_round(learner, t):
    x, right = labelled(t)
    learner.choose(x)
    learner.learn(x, right)


def class_scores(learner):
    return learner.decision_function(PROBES)


BAD_ROWS = [
    lambda learner: learner.choose(np.zeros(4)),
    lambda learner: learner.choose(np.full(5, np.nan)),
    lambda learner: learner.choose(np.zeros((2, 5))),
    lambda learner: learner.choose([]),
    lambda learner: learner.predict(np.zeros(5)),
    lambda learner: learner.predict(np.zeros((2, 6))),
    lambda learner: learner.decision_function(np.full((1, 5), np.inf)),
    lambda learner: learner.run(np.zeros((2, 5)), [0]),
    lambda learner: learner.run(np.zeros((2, 5)), [0, 3]),
    lambda learner: learner.run(np.zeros((2, 5)), [0, 1], epochs=-1),
    lambda learner: learner.run(np.zeros((2, 5)), [0, 1], label_noise=2.0),
    lambda learner: learner.run(np.zeros((2, 5)), [0, 1], progress=3),
]
BAD_ANSWERS = [
    *BAD_ROWS,
    lambda learner: learner.learn(np.zeros(6), 0, True),
    lambda learner: learner.learn(np.ones(5), 3, True),
    lambda learner: learner.learn(np.ones(5), 0, 2),
    lambda learner: learner.learn(np.full(5, 1e308), 0, True),
]
BAD_LABELS = [
    *BAD_ROWS,
    lambda learner: learner.learn(np.zeros(6), 0),
    lambda learner: learner.learn(np.ones(5), -1),
    lambda learner: learner.learn(np.full(5, np.nan), 0),
]


def confidit(name, change, shaping=None, **arguments):
    bad = BAD_ANSWERS[:-1] if "normalize" in arguments else BAD_ANSWERS  # no row is too large
    return Case(f"confidit-{name}", lambda: cf.Confidit(3, **arguments), bandit_round,
                class_scores, bad, change, {"n_classes": 4, "alpha": 0.5, **(shaping or {})})


CASES += [
    confidit("diagonal", {"eta": 30.0}, {"covariance": "full"}),
    confidit("diagonal-coin", {"eta": 30.0}, {"max_features": 7}, alpha=0.2, normalize=True,
             seed=1),
    confidit("diagonal-projected", {"projection": False}, {"covariance": "full"}, projection=True),
    confidit("printed", {"diagonal_step": "residual"}, diagonal_step="printed"),
    confidit("full", {"eta": 30.0}, {"covariance": "kernel"}, covariance="full"),
    confidit("full-projected", {"projection": False}, {"covariance": "diagonal"},
             covariance="full", projection=True, confidence="theory", alpha=0.3, seed=2),
    confidit("kernel", {"eta": 30.0}, {"kernel": "rbf"}, covariance="kernel"),
    Case("banditron", lambda: cf.Banditron(3, gamma=0.3, seed=4), bandit_round, class_scores,
         BAD_ANSWERS, {"gamma": 1.0}, {"n_classes": 2, "max_features": 7}),
    Case("newtron", lambda: cf.Newtron(3, gamma=0.3, seed=4), bandit_round, class_scores,
         BAD_ANSWERS, {"gamma": 1.0}, {"n_classes": 2, "norm_bound": 5.0}),
    Case("newtron-full", lambda: cf.Newtron(3, covariance="full", seed=4), bandit_round,
         class_scores, BAD_ANSWERS, {"beta": 1.0}, {"n_classes": 2, "covariance": "diagonal"}),
    confidit("selfnormalized", {"confidence": "theory"}, {"covariance": "full"},
             confidence="selfnormalized"),
    Case("arow", lambda: cf.MulticlassAROW(3), labelled_round, class_scores, BAD_LABELS,
         {"r": 0.1}, {"n_classes": 2}),
]


# --- rewards ------------------------------------------------------------------------------------


def actions(t):
    rng = np.random.default_rng(t)
    return rng.standard_normal((4, 5)) * (rng.random((4, 5)) < 0.8), float(rng.random())


def regression_round(learner, t):
    X, y = actions(t)
    learner.predict(X)
    learner.learn(X[0], y, weight=0.5 + t % 2)


def linear_round(learner, t):
    """Some decisions wait for some rounds."""
    X, y = actions(t)
    decision = learner.decide(X)
    if t % 3:
        learner.reward(decision.id, y)
    else:
        learner.learn(X[learner.choose(X)], y)


def arm_round(learner, t):
    X, y = actions(t)
    learner.learn(X[0], learner.choose(X[0]), y)


def arm_scores(learner):
    return np.concatenate([np.append(*learner.scores(x)) for x in PROBES])


BAD_REWARDS = [
    lambda learner: learner.learn(np.zeros(6), 0.5),
    lambda learner: learner.learn(np.full(5, np.nan), 0.5),
    lambda learner: learner.learn(np.ones(5), np.nan),
    lambda learner: learner.learn(np.ones(5), 0.5, weight=0.0),
    lambda learner: learner.learn(np.full(5, 1e308), 0.5),
    lambda learner: learner.decay(0.0),
    lambda learner: learner.merge(cf.SimpleFilter()),
]
BAD_OFFERS = [
    *BAD_REWARDS,
    lambda learner: learner.choose(np.zeros((2, 6))),
    lambda learner: learner.choose(np.zeros((0, 5))),
    lambda learner: learner.choose(np.ones((2, 5)), allowed=[False, False]),
    lambda learner: learner.choose(np.ones((2, 5)), k=0),
    lambda learner: learner.choose(np.ones((2, 5)), context=[1.0]),
    lambda learner: learner.decide(np.full((2, 5), np.inf)),
    lambda learner: learner.reward(10**6, 0.5),
    lambda learner: learner.drop(-1),
]
BAD_ARMS = [
    lambda learner: learner.choose(np.ones((2, 5))),
    lambda learner: learner.choose(np.ones(5), allowed=[True]),
    lambda learner: learner.learn(np.ones(5), 3, 0.5),
    lambda learner: learner.learn(np.ones(5), 0, np.inf),
    lambda learner: learner.learn(np.ones(4), 0, 0.5),
    lambda learner: learner.inverse(3),
]


def linear(name, change, shaping, **arguments):
    return Case(f"linear-{name}", lambda: cf.LinearBandit(**arguments), linear_round,
                lambda m: np.append(*m.scores(PROBES)), BAD_OFFERS, change,
                {"context_features": 2, **shaping})


CASES += [
    Case("ridge", cf.OnlineRidge, regression_round, lambda m: m.predict(PROBES), BAD_REWARDS,
         {"forget": 0.9}, {"link": "logistic", "ridge": 2.0}),
    Case("ridge-diagonal", lambda: cf.OnlineRidge(covariance="diagonal", max_features=5),
         regression_round, lambda m: m.predict(PROBES), BAD_REWARDS, {"forget": 0.9},
         {"ridge": 2.0, "max_features": 9}),
    linear("ucb", {"width": 3.0}, {"covariance": "diagonal"}, floor=0.2, seed=5),
    linear("theory", {"norm_bound": 0.0, "noise": 0.0}, {"ridge": 3.0}, width="theory", seed=9),
    linear("thompson", {"explore": "squarecb", "scale": 0.0}, {"link": "logistic"},
           explore="thompson", seed=6),
    linear("squarecb-diagonal", {"scale": 0.0}, {"covariance": "full"}, explore="squarecb",
           covariance="diagonal", forget=0.9, link="logistic", seed=7),
    Case("arms", lambda: cf.ArmBandit(3, explore="squarecb", seed=8), arm_round, arm_scores,
         BAD_ARMS, {"explore": "ucb"}, {"n_arms": 4, "covariance": "diagonal"}),
]
