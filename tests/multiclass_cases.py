"""The multiclass learners as the tests run them, with what their streams need."""

import numpy as np
import pytest
from row_cases import Unchanged, unit_rows, with_holes

import coactive_fast as cf

# Where the learners are found; every test of them runs for each.
MODULES = [pytest.param(cf.reference, id="reference"), pytest.param(cf, id="compiled")]
TWINS = MODULES[:1]  # for what the twins alone can do so far

LEARNERS = {
    "v1": ("Confidit", {"covariance": "full", "confidence": "theory", "projection": True}),
    "v2": ("Confidit", {"covariance": "full", "eta": 0.5}),
    "v4 alpha": ("Confidit", {"covariance": "full", "projection": True, "alpha": 0.3, "seed": 1}),
    "v5": ("Confidit", {}),
    "v5 alpha": ("Confidit", {"alpha": 0.6, "normalize": True, "seed": 2}),
    "printed": ("Confidit", {"diagonal_step": "printed"}),
    "diagonal projection": ("Confidit", {"projection": True, "confidence": "theory"}),
    "linear": ("Confidit", {"covariance": "kernel", "alpha": 0.5, "seed": 3}),
    "rbf": ("Confidit", {"covariance": "kernel", "kernel": "rbf", "confidence": "theory"}),
    "self alpha": ("Confidit", {"confidence": "selfnormalized", "norm_bound": 0.3, "alpha": 0.5,
                                "seed": 2}),
    "self full": ("Confidit", {"confidence": "selfnormalized", "covariance": "full"}),
    "Banditron": ("Banditron", {"gamma": 0.3, "seed": 4}),
    "Newtron": ("Newtron", {"gamma": 0.3, "seed": 4}),
    "Newtron full": ("Newtron", {"covariance": "full", "norm_bound": 2.0, "gamma": 0.3, "seed": 4}),
    "Perceptron": ("MulticlassPerceptron", {}),
    "second-order": ("MulticlassSecondOrderPerceptron", {"a": 0.5}),
    "AROW": ("MulticlassAROW", {"r": 0.5}),
}
BANDITS = ("Confidit", "Banditron", "Newtron")
DRAWN = ("Banditron", "Newtron", "Newtron full")  # their choices take draws


def build(module, name, n_classes=3, **changes):
    kind, arguments = LEARNERS[name]
    return getattr(module, kind)(n_classes, **{**arguments, **changes})


def is_bandit(name):
    return LEARNERS[name][0] in BANDITS


def problem(rng, T=60, d=5, n_classes=3, noise=0.3):
    """Rows, and the labels of a linear rule blurred by noise."""
    X = unit_rows(rng, T, d)
    scores = X @ rng.standard_normal((d, n_classes)) + noise * rng.standard_normal((T, n_classes))
    return X, scores.argmax(axis=1)


def trained(module, name, rng, **changes):
    learner = build(module, name, **changes)
    learner.run(*problem(rng, T=40))
    return learner


def teach(learner, name, x, label, right):
    """One round in which `label` was chosen and `right` is the label."""
    if is_bandit(name):
        learner.learn(x, label, label == right)
    else:
        learner.learn(x, right)


def readings(learner, Z):
    found = {
        "rounds": learner.rounds,
        "decision": learner.decision_function(Z),
        "labels": learner.predict(Z),
    }
    if getattr(learner, "covariance", "") != "kernel":
        found["weights"] = learner.weights
        if hasattr(learner, "inverse"):
            found["inverse"] = [learner.inverse(i) for i in range(learner.n_classes)]
    if hasattr(learner, "information"):
        found["information"] = learner.information()
    return found


def unchanged(learner, X, y):
    return Unchanged(learner, lambda one: vars(one.run(X, y)), lambda one: readings(one, X[:7]))


# --- compiled learners, to the bit ------------------------------------------------------------


def state(learner):
    return learner._engine._state()


def same_state(a, b):
    np.testing.assert_equal(state(a), state(b))


def stream(rng, T=70, d=6, n_classes=3):
    """Rows with zeros, one of them null, and the labels of a noisy linear rule."""
    X, y = problem(rng, T=T, d=d, n_classes=n_classes)
    return with_holes(X, rng), y


def loop(learner, name, X, y):
    """The single calls that make a run; the choices."""
    choices = []
    for x, right in zip(X, y, strict=True):
        label = learner.choose(x)
        teach(learner, name, x, label, right)
        choices.append(label)
    return choices
