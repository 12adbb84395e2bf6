"""The ridge filters: rebuilt models, kernels, the two rules, P-RIDGE-FIL."""

import math

import numpy as np
import pytest
from filtering_cases import MODULES, problem, unchanged
from row_cases import close, unit_rows

import coactive_fast as cf


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


def explicit_margin(examples, x, forget=1.0, ridge=1.0):
    """``b^T A^-1 x / (1 + q)`` with A and b summed up from the examples learned."""
    d = x.size
    A, b = ridge * np.eye(d), np.zeros(d)
    for j, (row, y) in enumerate(examples):
        A = forget * A + np.outer(row, row)
        A[j % d, j % d] += d * (1.0 - forget)
        b = forget * b + y * row
    v = np.linalg.solve(A, x)
    return (b @ v) / (1.0 + x @ v)


@pytest.mark.parametrize(
    "arguments, kept, forget",
    [
        ({}, 1000, 1.0),
        ({"covariance": "kernel"}, 1000, 1.0),
        ({"window": 1}, 1, 1.0),
        ({"window": 7}, 7, 1.0),
        ({"window": 7, "covariance": "kernel"}, 7, 1.0),
        ({"window": 1000, "covariance": "kernel"}, 1000, 1.0),
        ({"forget": 0.9}, 1000, 0.9),
        ({"forget": 0.5}, 1000, 0.5),
    ],
)
def test_margins_are_those_of_a_rebuilt_model(module, arguments, kept, forget, rng):
    """Rows of zeros included: they are examples learned, and take a place in the window."""
    X, y = problem(rng, T=40)
    X[rng.random(40) < 0.2] = 0.0
    learner, examples = module.RidgeFilter(**arguments), []
    for x, relevant in zip(X, y, strict=True):
        expected = [explicit_margin(examples[-kept:], row, forget) for row in X[:8]]
        margins = [learner.margin(row) for row in X[:8]]
        np.testing.assert_allclose(margins, expected, rtol=1e-9, atol=1e-9)
        learner.learn(x, relevant)
        examples.append((x, 1.0 if relevant else -1.0))


@pytest.mark.parametrize("forget", [1.0, 0.8])
def test_diagonal_margins(module, forget, rng):
    """w by the full step taken from the diagonal; forgetting changes the diagonal alone."""
    X, y = problem(rng, T=40)
    learner, a, w = module.RidgeFilter(covariance="diagonal", forget=forget), np.ones(5), 0.0
    for j, (x, relevant) in enumerate(zip(X, y, strict=True)):
        margin = np.sum(w * x) / (1.0 + np.sum(x * x / a))
        assert learner.margin(x) == pytest.approx(margin, abs=1e-12)
        learner.learn(x, relevant)
        a = forget * a
        a[j % 5] += 5.0 * (1.0 - forget)
        w = w + x / a * ((1.0 if relevant else -1.0) - np.sum(w * x)) / (1.0 + np.sum(x * x / a))
        a = a + x * x


def test_forgetting_keeps_the_regulariser(module):
    """In a direction never seen A^-1 stays bounded: one surprise does not decide all."""
    for arguments in ({}, {"covariance": "diagonal"}):
        learner = module.RidgeFilter(forget=0.5, **arguments)
        for _ in range(400):
            learner.learn([1.0, 0.0, 0.0], True)
        learner.learn([0.0, 1.0, 0.0], False)
        assert -0.9 < learner.margin([0.0, 1.0, 0.0]) < -0.1


def test_forgetting_follows_a_change(module):
    for arguments in ({"forget": 0.8}, {"window": 10}):
        learner, still = module.RidgeFilter(**arguments), module.RidgeFilter()
        for t in range(100):
            for one in (learner, still):
                one.learn([1.0, 0.3], t < 60)
        assert learner.margin([1.0, 0.3]) < -0.5 < 0.0 < still.margin([1.0, 0.3])


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


def test_forgetting_below_determinant_one(module):
    """Forgetting can shrink det A: the width then counts it as 1."""
    learner = module.RidgeFilter(rule="ucb", forget=0.1, delta=0.9)
    learner.learn([1e-3, 0.0, 0.0], True)
    assert learner.threshold == pytest.approx(-(math.sqrt(2.0 * math.log(1.0 / 0.9)) + 1.0))


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
    works = [True]

    def kernel(x, y):
        if not works[0]:
            raise RuntimeError("no answer")
        return float(x @ y)

    learner = module.RidgeFilter(covariance="kernel", kernel=kernel)
    learner.run(X, y)
    with unchanged(learner, X, y):
        works[0] = False
        for do in (learner.forward, lambda x: learner.learn(x, True)):
            with pytest.raises(RuntimeError):
                do(X[0])
        works[0] = True
