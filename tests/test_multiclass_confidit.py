"""Confidit: projection, kernels, what a class knows, steps, coins; errors that only it makes."""

import math

import numpy as np
import pytest
from multiclass_cases import MODULES, problem, trained, unchanged
from row_cases import BreakingKernel, close, golden, golden_names, squares

import coactive_fast as cf


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


@pytest.mark.parametrize("name", golden_names("multiclass_confidit"))
def test_golden_widths_of_the_twin(name):
    a, meta = golden(name)
    learner = cf.reference.Confidit(meta["n_classes"], **meta["arguments"])
    labels = a.get("labels", a["choices"])
    for x, label, right, widths in zip(a["X"], labels, a["y"], a["widths"], strict=True):
        row = learner._row(x)
        q = np.array([one.read(row)[1] for one in learner._before(row)])
        close(learner._widths(q), widths, meta["tolerance"])
        learner.learn(x, label, label == right)


def test_a_width_for_every_delta(module):
    """1 / delta may be more than float64 holds."""
    for delta in (1e-320, 1.0 - 2.0**-53):
        learner = module.Confidit(3, confidence="theory", delta=delta)
        learner.learn([1.0], 0, False)
        assert learner.choose([1.0]) == 1


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("alpha", [1.0, 0.3, 0.0, -0.6])
@pytest.mark.parametrize("K", [2, 4, 9, 20, 33, 40])
def test_projected_margins(module, covariance, alpha, K, rng):
    """They sum to 1 + alpha - K alpha, none is below -alpha, and no nearer w does both."""
    X, y = problem(rng, T=40, d=3, n_classes=K, noise=0.0)
    learner = module.Confidit(K, covariance=covariance, alpha=alpha, projection=True, seed=0)
    bound = 0
    for t, (x, right) in enumerate(zip(np.tile(X, (3, 1)), np.tile(y, 3), strict=True)):
        m = learner.decision_function([x])[0]
        q = np.full(K, (x @ x) / (1.0 + alpha) ** 2)
        if t:
            inverse = [learner.inverse(i) for i in range(K)]
            q = np.array([x @ (B @ x if covariance == "full" else B * x) for B in inverse])
        label = int(rng.integers(K))
        # below alpha = 1 the sign of a wrong answer would be the coin's
        beta = 1.0 if alpha < 1.0 or label == right else -1.0
        learner.learn(x, label, beta > 0.0)
        projected = learner.decision_function([x])[0]
        # the class of the label went on: m' + (beta - m') q / (1 + q) is what it ended at
        projected[label] = projected[label] * (1.0 + q[label]) - beta * q[label]
        assert projected.sum() == pytest.approx(1.0 + alpha - K * alpha, abs=1e-9)
        assert (projected >= -alpha - 1e-9).all()
        # KKT: w_i moved by c_i A_i^-1 x, c_i = lambda where m_i > -alpha and >= lambda elsewhere
        c, free = (projected - m) / q, projected > -alpha + 1e-9
        np.testing.assert_allclose(c[free], c[free][0], rtol=1e-6, atol=1e-8)
        assert (c[~free] >= c[free][0] - 1e-8).all()
        bound += np.sum(~free)
    assert K == 2 or bound > 5, "no bound was ever met: the stream tests nothing"


@pytest.mark.parametrize("confidence", ["constant", "theory", "selfnormalized"])
@pytest.mark.parametrize("alpha", [1.0, 0.4, -0.5])
def test_the_linear_kernel_is_the_full_matrix(module, confidence, alpha, rng):
    X, y = problem(rng, T=80)
    arguments = {"confidence": confidence, "alpha": alpha, "norm_bound": 0.5, "seed": 6}
    full = module.Confidit(3, covariance="full", **arguments)
    dual = module.Confidit(3, covariance="kernel", **arguments)
    first, second = full.run(X, y), dual.run(X, y)
    np.testing.assert_equal(vars(first), vars(second))
    close(dual.decision_function(X), full.decision_function(X))
    close(dual.information(), full.information())


def test_the_polynomial_kernel_is_its_features(module, rng):
    X, y = problem(rng, T=60, d=2)
    params = {"degree": 2, "gamma": 0.7, "coef0": 0.3}
    dual = module.Confidit(3, covariance="kernel", kernel="poly", kernel_params=params)
    full = module.Confidit(3, covariance="full")
    np.testing.assert_equal(vars(dual.run(X, y)), vars(full.run(squares(X), y)))
    close(dual.decision_function(X), full.decision_function(squares(X)))


def test_a_callable_kernel(module, rng):
    X, y = problem(rng, T=30)

    def kernel(x, y, scale):
        assert x.shape == y.shape == (5,)
        return scale * float(x @ y)

    own = module.Confidit(3, covariance="kernel", kernel=kernel, kernel_params={"scale": 4.0})
    full = module.Confidit(3, covariance="full")
    np.testing.assert_equal(vars(own.run(X, y)), vars(full.run(2.0 * X, y)))


def test_a_kernel_that_fails_changes_nothing(module, rng):
    X, y = problem(rng, T=20)
    kernel = BreakingKernel()
    learner = module.Confidit(3, covariance="kernel", kernel=kernel, alpha=0.0, seed=0)
    learner.run(X, y)
    with unchanged(learner, X, y):
        kernel.broken = True
        with pytest.raises(RuntimeError):
            learner.learn(X[0], 1, False)
        kernel.broken = False


def test_information_is_the_sum_of_logs(module, rng):
    X, y = problem(rng)
    learner, expected = module.Confidit(3, covariance="full", alpha=0.5, seed=0), np.zeros(3)
    learner.learn(X[0], 0, True)
    expected[0] += math.log1p((X[0] @ X[0]) / 2.25)
    for x in X[1:]:
        label = learner.choose(x)
        expected[label] += math.log1p(x @ learner.inverse(label) @ x)
        learner.learn(x, label, True)
    np.testing.assert_allclose(learner.information(), expected, rtol=1e-10)


def test_information_of_the_diagonal(module, rng):
    learner = trained(module, "v5", rng)
    logs = [-np.log(4.0 * learner.inverse(i)).sum() for i in range(3)]
    np.testing.assert_allclose(learner.information(), logs, rtol=1e-10)


def test_one_feature_has_one_step(module, rng):
    """With one feature the full matrix, its diagonal and the printed step are the same."""
    X, y = rng.standard_normal((40, 1)), rng.integers(0, 3, 40)
    runs = []
    for arguments in (
        {"covariance": "full"}, {}, {"diagonal_step": "printed"}, {"covariance": "kernel"},
    ):
        learner = module.Confidit(3, **arguments)
        for t, x in enumerate(X):
            learner.learn(x, t % 3, bool(y[t] == t % 3))
        runs.append(learner.decision_function(X))
    for other in runs[1:]:
        close(other, runs[0], 1e-12)


def test_normalize(module, rng):
    X, y = problem(rng)
    lengths = 10.0 ** rng.integers(-250, 250, (len(X), 1))
    for covariance in ("full", "diagonal", "kernel"):
        plain = module.Confidit(3, covariance=covariance)
        scaled = module.Confidit(3, covariance=covariance, normalize=True)
        np.testing.assert_equal(vars(scaled.run(X * lengths, y)), vars(plain.run(X, y)))
        close(scaled.decision_function(X / lengths), plain.decision_function(X), 1e-12)
        np.testing.assert_array_equal(scaled.decision_function(np.zeros((1, 5))), np.zeros((1, 3)))


@pytest.mark.parametrize("alpha", [0.2, -0.7])
def test_the_coin(module, alpha, rng):
    """Heads with probability (1 + alpha) / 2, one draw a wrong answer and no other."""
    learner, draws = module.Confidit(2, alpha=alpha, seed=8), np.random.default_rng(8)
    heads, wrong = 0, 4000
    for _ in range(wrong):
        learner.learn([1.0], 0, True)
        learner.learn([0.0], 1, False)
        m, q = learner.decision_function([[1.0]])[0, 1], 1.0 / (1.0 + alpha) ** 2
        if learner.rounds > 2:
            q = learner.inverse(1)[0]
        learner.learn([1.0], 1, False)
        beta = m + (learner.decision_function([[1.0]])[0, 1] - m) * (1.0 + q) / q
        head = draws.random() < (1.0 + alpha) / 2.0
        assert beta == pytest.approx(-1.0 if head else 1.0, abs=1e-6)
        heads += head
    p = (1.0 + alpha) / 2.0
    assert abs(heads / wrong - p) < 4.0 * math.sqrt(p * (1.0 - p) / wrong)


def test_an_error_after_the_coin_takes_it_back(module):
    """The second row makes A overflow, which shows only when the sign has been drawn."""
    x, Z = np.array([1.05e154]), np.ones((9, 1))
    learner = module.Confidit(2, covariance="full", alpha=0.0, seed=3)
    learner.learn(np.array([9e153]), 1, True)
    for _ in range(4):  # whatever the coin says
        with unchanged(learner, Z, np.ones(9, dtype=int)):
            with pytest.raises(ValueError, match=r"\bx\b"):
                learner.learn(x, 1, False)


def test_alpha_one_leaves_nothing_to_chance(module, rng):
    X, y = problem(rng)
    runs = [module.Confidit(3, seed=seed) for seed in (0, 1)]
    np.testing.assert_equal(vars(runs[0].run(X, y)), vars(runs[1].run(X, y)))


def test_a_row_too_small_to_project(module, rng):
    learner, (X, y) = trained(module, "v4 alpha", rng), problem(rng, T=20)
    with unchanged(learner, X, y):
        with pytest.raises(ValueError, match=r"\bx\b"):
            learner.learn(np.full(5, 1e-200), 1, False)


def test_a_kernel_has_no_weights(module, rng):
    learner = trained(module, "rbf", rng)
    assert not hasattr(learner, "weights")
    with pytest.raises(ValueError, match="kernel"):
        learner.inverse(0)
