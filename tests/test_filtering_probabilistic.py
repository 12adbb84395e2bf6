"""P-RIDGE-FIL: golden vectors, kernels on the ball of the span, windows, the coin of no horizon.

Its forgetting is tested in test_filtering_forgetting.py, its step in test_filtering_ridge.py.
"""

import math
import pickle

import numpy as np
import pytest
from coactive_cases import golden as needs_golden
from filtering_cases import MODULES, golden_readings, learn_all, problem, unchanged
from row_cases import BreakingKernel, close, golden, golden_names, squares, unit_rows

import coactive_fast as cf


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


def probabilistic(module, **arguments):
    return module.ProbabilisticRidgeFilter(**{"explore": 1.0, "seed": 0, **arguments})


@pytest.mark.parametrize("name", golden_names("more_filtering_pridge"))
def test_golden(module, name):
    """One call at a time, and as a run."""
    a, meta = golden(name)
    learner, whole = (getattr(module, meta["learner"])(**meta["arguments"]) for _ in range(2))
    for t, (x, relevant) in enumerate(zip(a["X"], a["y"], strict=True)):
        assert learner.threshold == a["thresholds"][t]
        assert learner.margin(x) == pytest.approx(a["margins"][t], rel=1e-8, abs=1e-12)
        assert learner.forward(x) == a["forwarded"][t]
        learner.learn(x, relevant)
    history = whole.run(a["X"], a["y"])
    np.testing.assert_array_equal(history.forwarded, a["forwarded"])
    close(history.margins, a["margins"], 1e-8)


# --- kernels ------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [9.0, 0.02])
@pytest.mark.parametrize("window", [None, 7])
def test_the_linear_kernel_is_the_full_matrix(module, a, window, rng):
    """On the ball of the span too: what is orthogonal to all rows is orthogonal to w."""
    X, y = problem(rng, T=50, d=4)
    full, dual = (probabilistic(module, a=a, window=window, covariance=form)
                  for form in ("full", "kernel"))
    met = 0
    for x, relevant in zip(0.4 * X, y, strict=True):
        for learner in (full, dual):
            learner.learn(x, bool(relevant))
        close(dual.margins(X[:9]), full.margins(X[:9]), 1e-8)
        met += np.linalg.norm(full.margins(np.eye(4))) > 1.0 - 1e-9
    assert met > 3 if a < 0.1 else met == 0


def test_the_polynomial_kernel_is_its_features(module, rng):
    X, y = problem(rng, T=40, d=2)
    params = {"degree": 2, "gamma": 0.7, "coef0": 0.3}
    dual = probabilistic(
        module, a=0.01, covariance="kernel", kernel="poly", kernel_params=params)
    full, met = probabilistic(module, a=0.01), 0
    for x, phi, relevant in zip(X, squares(X), y, strict=True):
        assert dual.margin(x) == pytest.approx(full.margin(phi), rel=1e-8, abs=1e-9)
        dual.learn(x, bool(relevant))
        full.learn(phi, bool(relevant))
        met += np.linalg.norm(full.margins(np.eye(6))) > 1.0 - 1e-9
    assert met > 3


def test_a_kernel_ball_projects_in_the_norm_of_A(module, rng):
    """Two rows, rbf: w = A^-1 b against the projection in a basis of their span."""
    X, k = np.array([[0.0, 0.0], [1.0, 0.0]]), math.exp(-0.5)
    learner = probabilistic(module, a=0.01, covariance="kernel", kernel="rbf",
                            kernel_params={"gamma": 0.5})
    # features: phi_0 = (1, 0), phi_1 = (k, sqrt(1 - k^2))
    rows = np.array([[1.0, 0.0], [k, math.sqrt(1.0 - k * k)]])
    full = probabilistic(module, a=0.01)
    for t in range(2):
        learner.learn(X[t], t == 0)
        full.learn(rows[t], t == 0)
        close(learner.margins(X), full.margins(rows), 1e-9)


@pytest.mark.parametrize("kernel, params, a", [
    ("linear", None, 1e-4),
    ("rbf", {"gamma": 0.02}, 1e-3),   # eigenvalues over many decades
    ("rbf", {"gamma": 2.0}, 0.3),
    ("poly", {"degree": 2}, 1e-2),
])
def test_the_compiled_projection_is_the_twins(kernel, params, a, rng):
    X, y = problem(rng, T=110, d=40)
    fast, slow = (probabilistic(module, a=a, covariance="kernel", kernel=kernel,
                                kernel_params=params) for module in (cf, cf.reference))
    history, expected = fast.run(X, y), slow.run(X, y)
    close(history.margins, expected.margins, 1e-7)
    close(fast.margins(X), slow.margins(X), 1e-7)


def test_more_rows_than_the_krylov_space_has_room_for(rng):
    """Eigenvalues over two decades and a small ridge: the search for the multiplier is long."""
    X, y = unit_rows(rng, 300, 300) * np.logspace(0, -1, 300), rng.random(300) < 0.5
    X /= np.linalg.norm(X, axis=1)[:, None]
    full, dual = (probabilistic(cf, a=1e-2, covariance=form) for form in ("full", "kernel"))
    close(dual.run(X, y).margins, full.run(X, y).margins, 1e-8)
    close(dual.margins(X), full.margins(X), 1e-8)


def test_rows_of_no_length_and_rows_twice(module):
    learner = probabilistic(module, covariance="kernel", a=1e-3)
    for x in ([0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0], [1e-3, 0.0]):
        learner.learn(x, True)
    full = probabilistic(module, a=1e-3)
    for x in ([0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0], [1e-3, 0.0]):
        full.learn(x, True)
    close(learner.margins(np.eye(2)), full.margins(np.eye(2)), 1e-8)


# --- windows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["full", "kernel"])
@pytest.mark.parametrize("a", [5.0, 0.1])
def test_a_window_is_what_its_examples_alone_would_make(module, covariance, a, rng):
    X, y = problem(rng, T=30)
    learner = probabilistic(module, a=a, window=6, covariance=covariance)
    for t, (x, relevant) in enumerate(zip(X, y, strict=True), start=1):
        learner.learn(x, bool(relevant))
        begin = max(t - 6, 0)
        alone = probabilistic(module, a=a, covariance=covariance)
        learn_all(alone, X[begin:t], y[begin:t])
        np.testing.assert_allclose(learner.margins(X), alone.margins(X), rtol=1e-9, atol=1e-9)
    assert learner.learned == 30


@pytest.mark.parametrize("covariance", ["full", "kernel"])
def test_a_run_with_a_window_is_its_single_calls(covariance, rng):
    X, y = problem(rng, T=40)
    whole, single = (probabilistic(cf, a=0.1, window=9, covariance=covariance, explore=0.5)
                     for _ in range(2))
    history = whole.run(X, y)
    for t, (x, relevant) in enumerate(zip(X, y, strict=True)):
        assert single.margin(x) == history.margins[t]
        assert single.forward(x) == history.forwarded[t]
        if history.forwarded[t]:
            single.learn(x, bool(relevant))
    assert whole.margins(X).tolist() == single.margins(X).tolist()


@pytest.mark.parametrize("covariance", ["full", "kernel"])
def test_a_window_is_bit_for_bit_what_its_examples_make(covariance, rng):
    X, y = problem(rng, T=30)
    learner = learn_all(probabilistic(cf, a=0.05, window=8, covariance=covariance), X, y)
    alone = learn_all(probabilistic(cf, a=0.05, covariance=covariance), X[-8:], y[-8:])
    if covariance == "full":
        assert learner.margins(X).tolist() == alone.margins(X).tolist()
    close(learner.margins(X), alone.margins(X), 1e-10)


# --- refused rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize("a, size, refuses", [
    (1e-8, 1e60, False), (1e-6, 1e60, False), (1e-300, 1.0, True)])
def test_a_refused_row_leaves_the_past_where_it_was(a, size, refuses, rng):
    """A regulariser of nearly nothing: an example may be refused after the forgetting, which has
    made the inverse anew. Long rows alone are no reason."""
    refused = 0
    for _ in range(8):
        learner = probabilistic(cf, a=a, forget=0.5)
        for t in range(40):
            x = rng.standard_normal(5) * (size if t % 7 == 6 else 1.0)
            before = pickle.dumps(learner._engine._state())
            try:
                learner.learn(x, bool(t % 2))
            except ValueError:
                refused += 1
                assert pickle.dumps(learner._engine._state()) == before
    assert (refused > 0) == refuses


@pytest.mark.parametrize("covariance", ["full", "kernel"])
def test_a_refused_row_leaves_the_window_where_it_was(covariance, rng):
    X, y = problem(rng, T=20)
    learner = learn_all(probabilistic(cf, a=1e-3, window=6, covariance=covariance), X, y)
    before = str(learner._engine._state())
    for x in (np.full(5, 1e200), np.full(5, 1e154)):
        with pytest.raises(ValueError, match=r"\bx\b"):
            learner.learn(x, True)
        assert str(learner._engine._state()) == before
    twin = learn_all(probabilistic(cf, a=1e-3, window=6, covariance=covariance), X, y)
    for one in (learner, twin):
        one.run(X, y)
    assert learner.margins(X).tolist() == twin.margins(X).tolist()


# --- chance -------------------------------------------------------------------------------------


def test_anytime(module):
    """p_t = min(1/2, (1 + t^-1/2) t^-1/2 / 2), t the round; a coin below the threshold alone."""
    learner, draws = probabilistic(module, explore=None, horizon="anytime", seed=8), None
    draws = np.random.default_rng(8)
    learner.learn([1.0], False)
    found = []
    for t in range(1, 2001):
        if t % 5 == 0:
            assert learner.forward([-1.0]) is True  # a round without a coin
            continue
        p = min(0.5, 0.5 * (1.0 + t**-0.5) * t**-0.5)
        found.append(learner.forward([1.0]))
        assert found[-1] == (draws.random() < p)
    assert any(found) and not all(found)


@needs_golden
def test_golden_anytime():
    learner, found = cf.reference.ProbabilisticRidgeFilter(horizon="anytime", seed=0), []
    expected = golden_readings()["anytime"][""]
    for _ in expected:
        found.append(learner._p)
        learner.forward([0.0])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_cost_ratio_moves_the_threshold(module, rng):
    """From tau on all is forwarded, below it a coin is drawn."""
    X, y = problem(rng, T=40)
    learner = learn_all(probabilistic(module, explore=0.0, cost_ratio=2.0), X, y)
    assert learner.threshold == pytest.approx(1.0 / 3.0)
    decided = [learner.forward(x) for x in X]
    assert decided == [margin >= 1.0 / 3.0 for margin in learner.margins(X)]
    assert any(decided) and sum(decided) < sum(learner.margins(X) >= 0.0)


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize("named, arguments", [
    ("horizon", {"explore": None, "horizon": "always"}),
    ("explore", {"explore": 0.1, "horizon": "anytime"}),
    ("explore", {"explore": None}),
    ("forget", {"forget": 0.0}),
    ("forget", {"forget": 0.9, "covariance": "kernel"}),
    ("window", {"window": 0}),
    ("window", {"window": 4, "covariance": "diagonal"}),
    ("window", {"window": 4, "forget": 0.9}),
    ("kernel", {"kernel": "rbf"}),
    ("kernel", {"kernel": "cubic", "covariance": "kernel"}),
    ("cost_ratio", {"cost_ratio": 0.0}),
    ("calibrate", {"calibrate": 1}),
])
def test_refused_parameters(module, named, arguments):
    with pytest.raises((ValueError, TypeError), match=rf"\b{named}\b"):
        probabilistic(module, **arguments)


def test_a_kernel_that_fails_changes_nothing(module, rng):
    X, y = problem(rng, T=15)
    kernel = BreakingKernel()
    learner = probabilistic(module, covariance="kernel", kernel=kernel, a=0.05, calibrate=True)
    learner.run(X, y)
    with unchanged(learner, unit_rows(rng, 15, 5), y):
        kernel.broken = True
        for do in (learner.forward, lambda x: learner.learn(x, True)):
            with pytest.raises(RuntimeError):
                do(X[0])
        kernel.broken = False
