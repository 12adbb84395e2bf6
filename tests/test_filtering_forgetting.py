"""Forgetting by the ridge filters: the explicit sum, the regulariser, the diagonal, changes."""

import copy
import math

import numpy as np
import pytest
from filtering_cases import MODULES, learn_all, problem

# name: class, arguments, ridge; with the second w never meets the ball
KINDS = {
    "ridge": ("RidgeFilter", {}, 1.0),
    "probabilistic": ("ProbabilisticRidgeFilter", {"explore": 1.0, "a": 9.0}, 9.0),
}
kinds = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


def build(module, kind, **arguments):
    name, own, _ = KINDS[kind]
    return getattr(module, name)(**own, **arguments)


def period(d, forget):
    """After how many examples the regulariser is renewed."""
    return max(1, min(d, math.floor(math.log(2.0) / -math.log(forget))))


def explicit(examples, d, forget, ridge):
    """A and b, and how much of the regulariser there is, as a sum over the past."""
    T, m = len(examples), period(d, forget)
    renewed = (T - 1) // m * m  # the last example before which rho became 1
    rho = forget ** (T - 1 - renewed) if T else 1.0
    A, b = rho * ridge * np.eye(d), np.zeros(d)
    for s, (x, y) in enumerate(examples):
        A += forget ** (T - 1 - s) * np.outer(x, x)
        b += forget ** (T - 1 - s) * y * x
    return A, b, rho


@kinds
@pytest.mark.parametrize("forget", [0.999, 0.95, 0.8, 0.5, 0.05])
def test_margins_are_those_of_the_explicit_sum(module, kind, forget, rng):
    """Rows of zeros included: they make the past older."""
    X, y = problem(rng, T=60)
    X[rng.random(60) < 0.2] = 0.0
    learner, examples, ridge = build(module, kind, forget=forget), [], KINDS[kind][2]
    for x, relevant in zip(X, y, strict=True):
        learner.learn(x, relevant)
        examples.append((x, 1.0 if relevant else -1.0))
        A, b, rho = explicit(examples, 5, forget, ridge)
        assert 0.5 - 1e-12 <= rho <= 1.0
        w = np.linalg.solve(A, b)
        assert kind == "ridge" or np.linalg.norm(w) < 1.0, "the stream tests something else"
        for row in X[:6]:
            q = row @ np.linalg.solve(A, row) if kind == "ridge" else 0.0
            assert learner.margin(row) == pytest.approx(w @ row / (1.0 + q), rel=1e-9, abs=1e-12)


@kinds
@pytest.mark.parametrize("forget", [0.95, 0.5])
def test_the_diagonal_forgets_in_all_coordinates(module, kind, forget, rng):
    X, y = problem(rng, T=60)
    X[rng.random(X.shape) < 0.5] = 0.0
    learner = build(module, kind, covariance="diagonal", forget=forget)
    ridge = KINDS[kind][2]
    a, w = np.full(5, ridge), np.zeros(5)
    for x, relevant in zip(X, y, strict=True):
        learner.learn(x, relevant)
        a = forget * a + (1.0 - forget) * ridge
        q = np.sum(x * x / a)
        w = w + x / a * ((1.0 if relevant else -1.0) - w @ x) / (1.0 + q)
        a = a + x * x
        assert kind == "ridge" or np.linalg.norm(w) < 1.0, "the stream tests something else"
        for row in X[:6]:
            q = np.sum(row * row / a) if kind == "ridge" else 0.0
            assert learner.margin(row) == pytest.approx(w @ row / (1.0 + q), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("d, forget", [(3, 0.5), (40, 0.95), (100, 0.95), (300, 0.99)])
def test_an_unseen_direction_keeps_its_width(module, d, forget, rng):
    """The regulariser stays between a half and all of itself, however wide the rows are."""
    learner = module.RidgeFilter(forget=forget)
    unseen = np.eye(d)[-1]
    for t in range(3 * period(d, forget)):
        learner.learn(np.append(rng.standard_normal(d - 1), 0.0), True)
        if t % 7 == 0:
            surprised = learn_all(module.RidgeFilter(forget=forget), [unseen], [False])
            assert surprised.margin(unseen) == pytest.approx(-1.0 / 3.0)
            surprised = _after(learner, unseen)
            # -1 / (rho + 2) for a rho in [1/2, 1]
            assert -0.4 - 1e-9 <= surprised <= -1.0 / 3.0 + 1e-9


def _after(learner, x):
    """The margin of x in a copy that has learned x as not relevant."""
    other = copy.deepcopy(learner)
    other.learn(x, False)
    return other.margin(x)


@kinds
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_strong_forgetting_leaves_one_example(module, kind, covariance, rng):
    X, y = problem(rng, T=30)
    learner = learn_all(build(module, kind, covariance=covariance, forget=1e-200), X, y)
    if covariance == "full":
        only = learn_all(build(module, kind), X[-1:], y[-1:])
        assert [learner.margin(x) for x in X] == pytest.approx([only.margin(x) for x in X])
    assert all(abs(learner.margin(x)) < 10.0 for x in X)


def test_forgetting_below_determinant_one(module):
    """Forgetting can shrink det A: the width of the rule "ucb" then counts it as 1."""
    learner = module.RidgeFilter(rule="ucb", forget=0.8, delta=0.9)
    for _ in range(3):  # rho = 1, 0.8, 0.64
        learner.learn([1e-3, 0.0, 0.0], True)
    assert learner.threshold == pytest.approx(-(math.sqrt(2.0 * math.log(1.0 / 0.9)) + 1.0))


@pytest.mark.parametrize("module", MODULES)
def test_forgetting_keeps_the_regulariser(module):
    """In a direction never seen A^-1 stays bounded: one surprise does not decide all."""
    for arguments in ({}, {"covariance": "diagonal"}):
        learner = module.RidgeFilter(forget=0.5, **arguments)
        for _ in range(400):
            learner.learn([1.0, 0.0, 0.0], True)
        learner.learn([0.0, 1.0, 0.0], False)
        assert -0.9 < learner.margin([0.0, 1.0, 0.0]) < -0.1


@pytest.mark.parametrize("module", MODULES)
def test_forgetting_follows_a_change(module):
    for arguments in ({"forget": 0.8}, {"window": 10}):
        learner, still = module.RidgeFilter(**arguments), module.RidgeFilter()
        for t in range(100):
            for one in (learner, still):
                one.learn([1.0, 0.3], t < 60)
        assert learner.margin([1.0, 0.3]) < -0.5 < 0.0 < still.margin([1.0, 0.3])
