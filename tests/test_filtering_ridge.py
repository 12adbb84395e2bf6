"""The ridge filters: rebuilt models, kernels, the two rules, P-RIDGE-FIL's step and regret."""

import math

import numpy as np
import pytest
from filtering_cases import MODULES, problem, unchanged
from row_cases import BreakingKernel, close, unit_rows

import coactive_fast as cf


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


def explicit_margin(examples, x):
    """``b^T A^-1 x / (1 + q)`` with A and b summed up from the examples learned."""
    A, b = np.eye(x.size), np.zeros(x.size)
    for row, y in examples:
        A, b = A + np.outer(row, row), b + y * row
    v = np.linalg.solve(A, x)
    return (b @ v) / (1.0 + x @ v)


@pytest.mark.parametrize(
    "arguments, kept",
    [
        ({}, 1000),
        ({"covariance": "kernel"}, 1000),
        ({"window": 1}, 1),
        ({"window": 7}, 7),
        ({"window": 7, "covariance": "kernel"}, 7),
        ({"window": 1000, "covariance": "kernel"}, 1000),
    ],
)
def test_margins_are_those_of_a_rebuilt_model(module, arguments, kept, rng):
    """Rows of zeros included: they are examples learned, and take a place in the window."""
    X, y = problem(rng, T=40)
    X[rng.random(40) < 0.2] = 0.0
    learner, examples = module.RidgeFilter(**arguments), []
    for x, relevant in zip(X, y, strict=True):
        expected = [explicit_margin(examples[-kept:], row) for row in X[:8]]
        margins = [learner.margin(row) for row in X[:8]]
        np.testing.assert_allclose(margins, expected, rtol=1e-9, atol=1e-9)
        learner.learn(x, relevant)
        examples.append((x, 1.0 if relevant else -1.0))


def test_diagonal_margins(module, rng):
    """w by the full step taken from the diagonal."""
    X, y = problem(rng, T=40)
    learner, a, w = module.RidgeFilter(covariance="diagonal"), np.ones(5), 0.0
    for x, relevant in zip(X, y, strict=True):
        q = np.sum(x * x / a)
        assert learner.margin(x) == pytest.approx(np.sum(w * x) / (1.0 + q), abs=1e-12)
        learner.learn(x, relevant)
        w = w + x / a * ((1.0 if relevant else -1.0) - np.sum(w * x)) / (1.0 + q)
        a = a + x * x


@pytest.mark.parametrize(
    "arguments",
    [{}, {"feedback": "full"}, {"window": 9}, {"rule": "ucb"}, {"threshold_scale": 0.3}],
)
def test_the_linear_kernel_is_the_full_matrix(module, arguments, rng):
    X, y = problem(rng, T=150, d=4)
    full = module.RidgeFilter(**arguments)
    dual = module.RidgeFilter(covariance="kernel", **arguments)
    first, second = full.run(X, y), dual.run(X, y)
    np.testing.assert_array_equal(second.forwarded, first.forwarded)
    close(second.margins, first.margins)
    assert dual.threshold == pytest.approx(full.threshold, rel=1e-9)


def test_a_callable_kernel(module, rng):
    X, y = problem(rng, T=40)

    def kernel(x, y, scale=1.0):
        assert x.shape == y.shape == (5,)
        return scale * float(x @ y)

    own = module.RidgeFilter(covariance="kernel", kernel=kernel, kernel_params={"scale": 9.0})
    close(own.run(X, y).margins, module.RidgeFilter().run(3.0 * X, y).margins)


def test_the_paper_rule(module, rng):
    X, y = problem(rng, T=100)
    for scale in (5.0, 0.5, 0.0):
        learner = module.RidgeFilter(threshold_scale=scale)
        held = 0
        for t, (x, relevant) in enumerate(zip(X, y, strict=True), start=1):
            N, margin = learner.learned, learner.margin(x)
            expected = N == 0 or margin >= -math.sqrt(scale * math.log(t) / N)
            assert learner.forward(x) == expected
            if expected:
                learner.learn(x, relevant)
            held += not expected
        assert held > 0 or scale == 5.0


@pytest.mark.parametrize("delta", [0.05, 0.9])
def test_the_ucb_rule(module, delta, rng):
    """Forward where w.x plus its width is >= 0, the width growing with ln det A."""
    X, y = problem(rng, T=200, d=4)
    X[:, 0] = np.abs(X[:, 0])
    y = X @ np.array([-0.9, 0.2, 0.2, 0.2]) > 0.0
    learner, A, b = module.RidgeFilter(rule="ucb", delta=delta), np.eye(4), np.zeros(4)
    held = 0
    for x, relevant in zip(X, y, strict=True):
        v = np.linalg.solve(A, x)
        width = math.sqrt(np.linalg.slogdet(A)[1] + 2.0 * math.log(1.0 / delta)) + 1.0
        assert learner.threshold == (pytest.approx(-width) if learner.learned else -math.inf)
        assert learner.margin(x) == pytest.approx((b @ v) / (1.0 + x @ v), abs=1e-12)
        expected = b @ v + width * math.sqrt(x @ v) >= 0.0
        assert learner.forward(x) == expected
        if expected:
            learner.learn(x, relevant)
            A, b = A + np.outer(x, x), b + (x if relevant else -x)
        held += not expected
    assert held > 20, "everything was forwarded: the rule is not tested"


# --- P-RIDGE-FIL ----------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("a", [1.0, 0.02])
def test_probabilistic_ridge_step(module, covariance, a, rng):
    """The ridge step, then the projection on the unit ball in the norm of the new A."""
    X, y = problem(rng, T=50, d=4)
    X *= 0.3
    learner = module.ProbabilisticRidgeFilter(a=a, explore=0.5, covariance=covariance, seed=0)
    A, w, projected = a * np.eye(4), np.zeros(4), 0
    for x, relevant in zip(X, y, strict=True):
        label = 1.0 if relevant else -1.0
        q = x @ np.linalg.solve(A, x)
        if covariance == "full":
            A_new = A + np.outer(x, x)
            w = w + np.linalg.solve(A_new, x) * (label - w @ x)
        else:
            A_new = A + np.diag(x * x)
            w = w + np.linalg.solve(A, x) * (label - w @ x) / (1.0 + q)
        A = A_new
        if np.linalg.norm(w) > 1.0:
            w = cf.reference.project_ball(w, np.linalg.inv(A), 1.0)[0]
            projected += 1
        learner.learn(x, relevant)
        found = np.array([learner.margin(row) for row in np.eye(4)])
        np.testing.assert_allclose(found, w, rtol=1e-8, atol=1e-9)
        assert np.linalg.norm(found) <= 1.0 + 1e-9
    assert projected > 0 or a == 1.0


def test_the_horizon_sets_the_coin(module):
    """p = (1 + n^-1/2) n^-1/2 / 2."""
    for n, p in ((1, 1.0), (4, 0.375), (100, 0.055)):
        named = module.ProbabilisticRidgeFilter(horizon=n, seed=4)
        given = module.ProbabilisticRidgeFilter(explore=p, seed=4)
        for learner in (named, given):
            learner.learn([1.0], False)
        coins = [[learner.forward([1.0]) for _ in range(500)] for learner in (named, given)]
        assert coins[0] == coins[1] and any(coins[0])


def test_regret_stays_under_theorem_3(module):
    """Mistakes beyond those of the rule that knows u, averaged over 20 streams."""
    n, d, gamma = 150, 3, 0.2
    regret = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        u = unit_rows(rng, 1, d)[0]
        X = unit_rows(rng, 20 * n, d)
        X = X[np.abs(X @ u) >= gamma][:n]
        y = rng.random(n) < (1.0 + X @ u) / 2.0
        learner = module.ProbabilisticRidgeFilter(horizon=n, seed=seed)
        wrong = [learner.margin(x) * (1 if label else -1) < 0.0
                 for x, label in stepwise(learner, X, y)]
        regret.append(np.sum(wrong) - np.sum((X @ u >= 0.0) != y))
    bound = (2.0 + 8.0 * d * math.log(1.0 + n / d)) * math.sqrt(n) / gamma
    assert np.mean(regret) <= bound + 0.5 * math.sqrt(n) + 0.5
    assert np.mean(regret) < 0.25 * n, "far better than chance too"


def stepwise(learner, X, y):
    """Yields each example before the round in which it is met."""
    for x, label in zip(X, y, strict=True):
        yield x, label
        if learner.forward(x):
            learner.learn(x, label)


def test_a_kernel_that_fails_changes_nothing(module, rng):
    X, y = problem(rng, T=20)
    kernel = BreakingKernel()
    learner = module.RidgeFilter(covariance="kernel", kernel=kernel)
    learner.run(X, y)
    with unchanged(learner, X, y):
        kernel.broken = True
        for do in (learner.forward, lambda x: learner.learn(x, True)):
            with pytest.raises(RuntimeError):
                do(X[0])
        kernel.broken = False
