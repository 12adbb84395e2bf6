"""The parameters of every learner of the registry, value by value.

A class has some bases, which are sets of parameters, and values for each of its parameters; every
base is tried with each value alone. What does not go together is a message, and recorded as one.
"""

import numpy as np

import coactive_fast as cf

from .rows import numbers

WIDE = 80  # of max_features: rows of so many features may come


def own_kernel(a, b, scale=1.0):
    """A kernel of one's own: quadratic."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    total = 1.0
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        total += x * y
    return scale * total * total


def own_error(t):
    return 1.0 / (1.0 + t)


def own_rule(state, delta):
    state.memory["seen"] = state.memory.get("seen", 0) + 1
    return 0.5 * state.weights + delta


class Pairs:
    """A task of one's own: one row of a few."""

    dimension = 6

    def features(self, x, y):
        return np.asarray(x)[y]

    def argmax(self, w, x):
        return max(range(len(x)), key=lambda i: float((np.asarray(x)[i] * w).sum()))

    def __repr__(self):
        return "Pairs()"

    def __eq__(self, other):
        return isinstance(other, Pairs)

    __hash__ = None


class Disc(cf.FeasibleSet):
    """A set of one's own: the ball of radius 1 around a point."""

    def __init__(self, middle):
        self.middle = np.array(middle)

    def __repr__(self):
        return f"Disc({self.middle.tolist()})"

    def __eq__(self, other):
        return isinstance(other, Disc) and np.array_equal(self.middle, other.middle)

    __hash__ = None

    def contains(self, x):
        return float(((x - self.middle) ** 2).sum()) <= 1.0 + 1e-9

    def center(self, dimension):
        return self.middle

    def in_radius(self, dimension):
        return 1.0

    def diameter(self, dimension):
        return 2.0

    def project_in(self, z, Ainv):
        return self.middle + cf.Ball(1.0).project_in(z - self.middle, Ainv)


CATALOGUE = numbers((12, 6), 5)
SEEDS = [7, [1, 2], np.random.SeedSequence(5), np.random.Generator(np.random.PCG64(3)),
         np.random.Generator(np.random.MT19937(4)), np.random.Generator(np.random.Philox(6))]
KERNELS = ["linear", "rbf", "poly", own_kernel]
KERNEL_PARAMS = [{"gamma": 0.25}, {"gamma": 0.5, "coef0": 0.5, "degree": 2}, {"degree": 4},
                 {"coef0": 0.0}, {"scale": 2.0}]
PRECISIONS = ["auto", "fast", "robust"]
KERNEL = {"covariance": "kernel"}

# --- multiclass ---------------------------------------------------------------------------------

CONFIDIT = {
    "bases": {
        "diagonal": {"alpha": 0.4},
        "full": {"covariance": "full"},
        "theory": {"covariance": "full", "confidence": "theory", "projection": True},
        "linear": {**KERNEL, "alpha": 0.4},
        "rbf": {**KERNEL, "kernel": "rbf", "kernel_params": {"gamma": 0.25}},
        "poly": {**KERNEL, "kernel": "poly", "confidence": "selfnormalized"},
    },
    "values": {
        "covariance": ["diagonal", "full", "kernel"],
        "confidence": ["constant", "theory", "selfnormalized"],
        "eta": [0.25, 3.0], "alpha": [0.3, -0.5, 1.0], "projection": [True], "norm_bound": [0.3],
        "delta": [0.3], "approximation_error": [0.1, [0.1, 0.2, 0.3], own_error],
        "diagonal_step": ["residual", "printed"], "normalize": [True], "kernel": KERNELS,
        "kernel_params": KERNEL_PARAMS[:3], "max_features": [WIDE], "precision": PRECISIONS,
        "seed": SEEDS,
    },
}
MULTICLASS = {
    "Confidit": CONFIDIT,
    "Banditron": {"bases": {"": {}, "wild": {"gamma": 0.4}},
                  "values": {"gamma": [0.2], "max_features": [WIDE], "seed": SEEDS}},
    "Newtron": {
        "bases": {"diagonal": {}, "full": {"covariance": "full", "gamma": 0.3}},
        "values": {"covariance": ["diagonal", "full"], "alpha": [1.0], "beta": [0.5],
                   "gamma": [0.4], "norm_bound": [0.5, 2.0], "max_features": [WIDE],
                   "seed": SEEDS}},
    "MulticlassPerceptron": {"bases": {"": {}}, "values": {"max_features": [WIDE]}},
    "MulticlassSecondOrderPerceptron": {
        "bases": {"": {}}, "values": {"a": [0.1, 5.0], "max_features": [WIDE]}},
    "MulticlassAROW": {"bases": {"": {}}, "values": {"r": [0.1, 5.0], "max_features": [WIDE]}},
}

# --- filtering ----------------------------------------------------------------------------------

RIDGE_FILTER = {
    "bases": {
        "full": {}, "diagonal": {"covariance": "diagonal"}, "linear": KERNEL,
        "rbf": {**KERNEL, "kernel": "rbf", "kernel_params": {"gamma": 0.25}},
        "window": {"window": 5},
        "budget": {**KERNEL, "kernel": "rbf", "budget": 4},
        "ucb": {"rule": "ucb", "width": 0.4, "cost_ratio": 2.0},
        "dgs": {"rule": "dgs", "width": 0.3, "covariance": "diagonal"},
        "kernel_ucb": {**KERNEL, "rule": "ucb", "width": 0.4},
    },
    "values": {
        "threshold_scale": [0.0, 1.0, 20.0], "covariance": ["full", "diagonal", "kernel"],
        "feedback": ["forwarded", "full"], "forget": [0.9, 0.5], "window": [1, 6],
        "cost_ratio": [0.3, 3.0], "calibrate": [True], "rule": ["paper", "ucb", "bbq", "dgs"],
        "delta": [0.3], "width": ["theory", 0.1], "power": [1.0], "floor": [0.3],
        "kernel": KERNELS, "kernel_params": KERNEL_PARAMS[:2], "budget": [3], "tolerance": [0.3],
        "precision": PRECISIONS,
    },
}
PROBABILISTIC = {
    "bases": {
        "full": {"explore": 0.3},
        "diagonal": {"explore": 0.3, "covariance": "diagonal"},
        "linear": {"horizon": 40, "a": 0.2, **KERNEL},
        "rbf": {"horizon": "anytime", "a": 0.3, **KERNEL, "kernel": "rbf"},
        "window": {"explore": 0.8, "a": 0.2, "window": 5},
    },
    "values": {
        "a": [0.1, 4.0], "explore": [0.0, 0.6, 1.0, None], "horizon": [50, "anytime", None],
        "covariance": ["full", "diagonal", "kernel"], "forget": [0.9], "window": [4],
        "cost_ratio": [0.5, 2.0], "calibrate": [True], "kernel": KERNELS,
        "kernel_params": KERNEL_PARAMS[:2], "precision": PRECISIONS, "seed": SEEDS,
    },
}
FILTERING = {
    "SimpleFilter": {"bases": {"": {}}, "values": {}},
    "PerceptronFilter": {"bases": {"": {}}, "values": {"feedback": ["forwarded", "full"]}},
    "RidgeFilter": RIDGE_FILTER,
    "ProbabilisticRidgeFilter": PROBABILISTIC,
    "AppleTasting": {
        "bases": {"ridge": {"classifier": cf.RidgeFilter(feedback="full"), "explore": 0.4},
                  "perceptron": {"classifier": cf.PerceptronFilter(), "explore": 0.4}},
        "values": {"classifier": [cf.SimpleFilter(), cf.RidgeFilter(),
                                  cf.PerceptronFilter(feedback="forwarded"),
                                  cf.RidgeFilter(feedback="full", covariance="diagonal"),
                                  cf.RidgeFilter(feedback="full", covariance="kernel")],
                   "explore": [0.0, 0.9, 1.0], "seed": SEEDS}},
}

# --- rewards ------------------------------------------------------------------------------------

BANDIT_VALUES = {
    "explore": ["ucb", "thompson", "squarecb", "greedy"], "width": [0.2, "theory"],
    "link": ["identity", "logistic"], "covariance": ["full", "diagonal"], "ridge": [0.1, 5.0],
    "forget": [0.9], "floor": [0.2], "scale": [2.0], "power": [0.25], "noise": [0.3],
    "norm_bound": [2.0], "delta": [0.3], "max_pending": [2], "max_features": [WIDE],
    "precision": PRECISIONS, "seed": SEEDS[:4],
}
BANDIT_BASES = {
    "ucb": {}, "theory": {"width": "theory", "noise": 0.5},
    "thompson": {"explore": "thompson"},
    "squarecb": {"explore": "squarecb", "floor": 0.1},
    "diagonal": {"covariance": "diagonal", "explore": "thompson"},
    "logistic": {"link": "logistic", "explore": "squarecb"},
    "greedy": {"explore": "greedy", "floor": 0.3, "forget": 0.95},
}
REWARDS = {
    "OnlineRidge": {
        "bases": {"full": {}, "diagonal": {"covariance": "diagonal"},
                  "logistic": {"link": "logistic"},
                  "logistic_diagonal": {"link": "logistic", "covariance": "diagonal"}},
        "values": {name: BANDIT_VALUES[name] for name in (
            "link", "covariance", "ridge", "noise", "forget", "max_features", "precision")}},
    "LinearBandit": {"bases": BANDIT_BASES | {"context": {"context_features": 2}},
                     "values": BANDIT_VALUES | {"context_features": [3]}},
    "ArmBandit": {"bases": BANDIT_BASES, "values": BANDIT_VALUES},
}

# --- coactive -----------------------------------------------------------------------------------

TASKS = [cf.Ranking(k=3), cf.Ranking(), cf.Items(CATALOGUE),
         cf.Items(CATALOGUE.astype(np.float32)), Pairs()]
PLACES = {"ranking": {"task": TASKS[0]}, "items": {"task": TASKS[2]}, "own": {"task": TASKS[4]}}
FEASIBLE = [cf.Ball(0.4), cf.Box(-0.5, 1.0), cf.L1Ball(0.7), Disc(np.zeros(6))]
COACTIVE = {
    "PreferencePerceptron": {
        "bases": PLACES | {"kernel": {"task": TASKS[0], "kernel": "rbf"}},
        "values": {"task": TASKS, "batch": [2, 4], "kernel": ["linear", "rbf", "poly", own_kernel],
                   "kernel_params": KERNEL_PARAMS[:2], "budget": [6]}},
    "ExponentiatedPreferencePerceptron": {
        "bases": PLACES, "values": {"task": TASKS, "scale": [0.3], "horizon": [40],
                                    "signed": [False]}},
    "ConvexPreferencePerceptron": {
        "bases": {name: {**place, "radius": 0.5} for name, place in PLACES.items()}
        | {"box": {"task": TASKS[0], "feasible": FEASIBLE[1]}},
        "values": {"task": TASKS, "radius": [None, 2.0], "slope": [0.3], "feasible": FEASIBLE}},
    "SecondOrderPreferencePerceptron": {
        "bases": {**{name: {**place, "radius": 0.3} for name, place in PLACES.items()},
                  "deferred": {"task": TASKS[0], "radius": 0.3, "projection": "deferred"},
                  "box": {"task": TASKS[0], "feasible": FEASIBLE[1]}},
        "values": {"task": TASKS, "radius": [None, 2.0], "gamma": [0.2], "epsilon": [3.0],
                   "feasible": FEASIBLE, "projection": ["exact", "deferred"]}},
    "CustomPreferencePerceptron": {
        "bases": {name: {**place, "rule": own_rule} for name, place in PLACES.items()},
        "values": {"task": TASKS}},
    "DuelingBandit": {
        "bases": {name: {**PLACES[name], "step": 0.2} for name in ("ranking", "items")},
        "values": {"task": TASKS, "explore": [0.2], "step": [0.5], "seed": SEEDS}},
    "PairwisePerceptron": {
        "bases": {"": {"task": TASKS[0]}},
        "values": {"task": TASKS, "swap": [0.0, 0.2, 1.0], "seed": SEEDS}},
    "PDGD": {"bases": {"": {"task": TASKS[0]}},
             "values": {"task": TASKS, "rate": [0.5], "seed": SEEDS}},
    "RankingSVM": {"bases": PLACES, "values": {"task": TASKS}},
}

# --- convex -------------------------------------------------------------------------------------

SETS = {"ball": cf.Ball(0.5), "box": cf.Box([0.0, -1.0, 0.5], 1.0), "simplex": cf.Simplex(),
        "l1": cf.L1Ball(1.0), "own": Disc([1.0, 0.0, 2.0])}


def over(**more):
    return {name: {"dimension": 3, "feasible": feasible, **more}
            for name, feasible in SETS.items()}


CONVEX = {
    "ONSEG": {"bases": over(beta=0.2, epsilon=5.0, delta=0.05, gamma=0.3)
              | {"horizon": {"dimension": 3, "feasible": cf.Ball(1.0), "horizon": 50,
                             "loss_bound": 5.0, "lipschitz": 2.0}},
              "values": {"dimension": [5, 1], "horizon": [60], "loss_bound": [5.0],
                         "niceness": [0.5], "lipschitz": [2.0], "beta": [0.5], "delta": [0.02],
                         "gamma": [0.5], "epsilon": [1.0], "baseline": [True],
                         "feedback": ["value", "residual"], "seed": SEEDS}},
    "OGDEG": {"bases": over(delta=0.05, gamma=0.3)
              | {"horizon": {"dimension": 3, "feasible": cf.Ball(1.0), "horizon": 50}},
              "values": {"dimension": [5], "loss_bound": [5.0], "delta": [0.02], "gamma": [0.5],
                         "horizon": [60], "feedback": ["value", "residual"], "seed": SEEDS}},
    "DikinFTRL": {"bases": {"": {"dimension": 3, "eta": 0.1},
                            "horizon": {"dimension": 3, "horizon": 50, "loss_bound": 5.0}},
                  "values": {"dimension": [1, 7], "horizon": [60], "loss_bound": [9.0],
                             "eta": [0.3], "delta": [0.4], "baseline": [False], "seed": SEEDS}},
    "ONS": {"bases": over(beta=0.5), "values": {"dimension": [5], "beta": [0.1],
                                                "epsilon": [2.0, 0.5]}},
    "OGD": {"bases": over(gradient_bound=2.0), "values": {"dimension": [5],
                                                          "gradient_bound": [0.5]}},
}

FAMILIES = {"multiclass": MULTICLASS, "filtering": FILTERING, "rewards": REWARDS,
            "coactive": COACTIVE, "convex": CONVEX}


def same(a, b):
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    try:
        return bool(a == b)
    except ValueError:
        return False


def shown(value):
    """A value as a part of a stream's name."""
    if isinstance(value, np.random.Generator):
        return type(value.bit_generator).__name__
    if isinstance(value, np.random.SeedSequence):
        return "SeedSequence"
    if callable(value):
        return value.__name__
    if isinstance(value, cf.Items):
        return f"Items({value.features.dtype})"
    return repr(value).replace(" ", "").replace("'", "")


def variants(family):
    """(class name, name of the variant, its parameters): all bases, and each with each value."""
    for kind, grid in FAMILIES[family].items():
        for base, given in grid["bases"].items():
            if "seed" in grid["values"]:
                given = {"seed": 3, **given}
            yield kind, base or "base", given
            for name, values in grid["values"].items():
                for value in values:
                    if name in given and same(given[name], value):
                        continue
                    yield kind, f"{base or 'base'},{name}={shown(value)}", {**given, name: value}
