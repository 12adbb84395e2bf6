"""Newtron: the estimate, the minimiser, the projection, chance; what only it refuses."""

import math

import numpy as np
import pytest
import scipy.optimize
from multiclass_cases import MODULES, problem, same_state, state, stream
from row_cases import close, unit_rows

import coactive_fast as cf


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


def chances(learner, x):
    """p and p' of a learner, from what it shows of itself."""
    m = learner.alpha * learner.decision_function([x])[0]
    p = np.exp(m - m.max())
    p /= p.sum()
    return p, (1.0 - learner.gamma) * p + learner.gamma / len(p)


def estimate(learner, x, label, correct):
    """g and h of a round."""
    p, mixed = (found[label] for found in chances(learner, x))
    c, h = ((p - 1.0) / mixed, mixed) if correct else (p / mixed, 1.0)
    K = learner.n_classes
    return c * np.outer(np.eye(K)[label] - 1.0 / K, x), learner.beta * h


def test_draws(module):
    learner = module.Newtron(4, alpha=2.0, gamma=0.4, norm_bound=2.0, seed=9)
    draws = np.random.default_rng(9)
    learner.learn([1.0], 2, True)
    _, p = chances(learner, [1.0])
    assert p.argmax() == 2 and p.min() > 0.1
    counts = np.zeros(4)
    for _ in range(4000):
        label, u = learner.choose([1.0]), draws.random()
        near = np.abs(np.cumsum(p) - u).min() < 1e-12
        assert near or label == np.searchsorted(np.cumsum(p), u, side="right")
        counts[label] += 1
    assert (np.abs(counts - 4000 * p) < 5.0 * np.sqrt(4000 * p * (1.0 - p))).all()
    assert learner.rounds == 1


def test_the_estimate_is_the_gradient_on_average(module, rng):
    """Over its own choices; of -log(p_y) / alpha."""
    X, y = problem(rng, T=30, d=3)
    learner = module.Newtron(3, alpha=1.5, gamma=0.3, norm_bound=0.3, seed=1)
    learner.run(X, y)
    x = X[0]
    p, mixed = chances(learner, x)
    for right in range(3):
        mean = sum(mixed[label] * estimate(learner, x, label, label == right)[0]
                   for label in range(3))
        close(mean, np.outer(p - np.eye(3)[right], x), 1e-12)

        def loss(W, right=right):
            m = learner.alpha * (W.reshape(3, 3) @ x)
            return (np.log(np.exp(m - m.max()).sum()) + m.max() - m[right]) / learner.alpha

        W = np.asarray(learner.weights).ravel()
        slope = [(loss(W + 1e-6 * e) - loss(W - 1e-6 * e)) / 2e-6 for e in np.eye(9)]
        close(slope, np.outer(p - np.eye(3)[right], x).ravel(), 1e-6)


@pytest.mark.parametrize("bound", [0.4, 1e3])
def test_the_full_form_minimises_the_sum(module, bound, rng):
    X = unit_rows(rng, 25, 2)
    learner = module.Newtron(3, covariance="full", alpha=1.0, beta=0.3, gamma=0.5,
                             norm_bound=bound, seed=0)
    rounds, W = [], np.zeros((3, 2))
    for x in X:
        label, correct = int(rng.integers(3)), bool(rng.random() < 0.4)
        g, h = estimate(learner, x, label, correct)
        rounds.append((g.ravel(), h, W.ravel()))
        learner.learn(x, label, correct)
        W = learner.weights

    def total(w):
        return w @ w / (2.0 * bound) + sum(
            g @ w + h / 2.0 * (g @ (w - w_s)) ** 2 for g, h, w_s in rounds)

    best = scipy.optimize.minimize(
        total, np.zeros(6), method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
        constraints={"type": "ineq", "fun": lambda w: bound**2 - w @ w})
    assert best.success and (np.linalg.norm(W) > 0.999 * bound) == (bound < 1.0)
    assert np.linalg.norm(W) <= bound * (1.0 + 1e-9)
    assert total(W.ravel()) <= best.fun + 1e-9 * abs(best.fun)
    np.testing.assert_allclose(W.ravel(), best.x, atol=1e-4 * np.abs(W).max())


def test_the_diagonal_form_minimises_each_weight_by_itself(module, rng):
    X = unit_rows(rng, 25, 4)
    learner = module.Newtron(3, alpha=2.0, beta=0.5, gamma=0.5, norm_bound=3.0, seed=0)
    a, b = np.full((3, 4), 1.0 / 3.0), np.zeros((3, 4))
    for x in X:
        label, correct = int(rng.integers(3)), bool(rng.random() < 0.4)
        g, h = estimate(learner, x, label, correct)
        W = learner.weights if learner.rounds else np.zeros((3, 4))
        a, b = a + h * g**2, b + h * g**2 * W - g
        learner.learn(x, label, correct)
        close(learner.weights, b / a, 1e-10)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_the_twin_agrees(covariance, rng):
    X, y = stream(rng, T=80, d=5, n_classes=4)
    twin, learner = (one.Newtron(4, covariance=covariance, norm_bound=1.5, seed=2)
                     for one in (cf.reference, cf))
    for t, (x, right) in enumerate(zip(X, y, strict=True)):
        label = twin.choose(x)
        assert learner.choose(x) == label
        for one in (twin, learner):
            one.learn(x, label, label == right)
        if t == 50:
            assert learner.add_class() == twin.add_class() == 4
    close(learner.weights, twin.weights, 1e-9)


def test_it_learns_what_banditron_learns_slower():
    made = cf.data.make_multiclass(n_rows=4000, seed=1, normalize=True)
    newtron, banditron = (
        kind(5, seed=0).run(made.features, made.labels).error_rate[-1]
        for kind in (lambda k, seed: cf.Newtron(k, covariance="full", norm_bound=100.0, beta=0.1,
                                                alpha=1.0, seed=seed), cf.Banditron))
    assert newtron < 0.8 * banditron


def test_extremes(module):
    """Scores far apart, a class that cannot be right, chances that vanish."""
    learner = module.Newtron(3, alpha=1e100, gamma=1e-12)
    learner.learn([1.0, 0.0], 1, True)
    learner.learn([1.0, 0.0], 1, False)
    learner.learn([1.0, 0.0], 2, False)  # its p is 0: nothing is to be learned
    assert np.isfinite(learner.weights).all() and learner.rounds == 3
    certain = module.Newtron(2, gamma=1e-12, alpha=1e100)
    certain.learn([1.0], 0, True)
    before = certain.weights
    certain.learn([1.0], 0, True)  # p is 1
    np.testing.assert_array_equal(certain.weights, before)


def test_null_rows_draw_and_count(module):
    learner, other = (module.Newtron(3, covariance="full", seed=3) for _ in range(2))
    for one in (learner, other):
        one.learn([1.0, 2.0], 1, True)
    learner.learn([0.0, 0.0], 2, True)
    np.testing.assert_array_equal(learner.weights, other.weights)
    assert [learner.choose([0.0, 0.0]) for _ in range(20)] == [
        other.choose([0.0, 0.0]) for _ in range(20)]
    assert learner.rounds == 2


# --- compiled ---------------------------------------------------------------------------------


def test_a_matrix_that_does_not_fit_is_refused():
    learner = cf.Newtron(100, covariance="full")
    with pytest.raises(MemoryError, match='100 classes times 1000000 features.*"diagonal"'):
        learner.learn(np.ones(10**6), 0, True)
    assert learner.rounds == 0 and learner.weights.shape == (100, 0)
    learner.learn([1.0, 2.0], 3, True)  # another width is still welcome
    assert learner.weights.shape == (100, 2)


def test_a_width_that_was_not_learned_fixes_nothing():
    learner, other = (cf.Newtron(3, covariance="full", seed=1) for _ in range(2))
    with pytest.raises(ValueError, match=r"\bx\b"):
        learner.learn(np.full(6, 1e300), 0, True)
    for one in (learner, other):
        one.learn([1.0, -1.0], 0, True)
    same_state(learner, other)


def test_max_features_goes_with_the_diagonal():
    with pytest.raises(ValueError, match="max_features"):
        cf.Newtron(3, covariance="full", max_features=4)
    learner = cf.Newtron(3)
    learner.learn([1.0], 0, True)
    for shaping in ({"norm_bound": 3.0}, {"covariance": "full"}):
        with pytest.raises(ValueError, match="reset"):
            learner.set_params(**shaping)
    learner.set_params(alpha=3.0, beta=0.5, gamma=0.2)


@pytest.mark.parametrize("name, value", [
    ("z", np.zeros(5)), ("z", None), ("lam", -1.0), ("lam", None), ("metric", {}),
    ("metric", None), ("weights", np.ones((3, 2))), ("weights", np.full((3, 2), np.nan)),
])
def test_states_that_lie_are_refused(name, value, rng):
    learner = cf.Newtron(3, covariance="full", norm_bound=0.5, seed=1)
    learner.run(*problem(rng, T=20, d=2))
    told = state(learner)
    told.pop(name)
    if value is not None:
        told[name] = value
    with pytest.raises((ValueError, TypeError), match=name if value is None else None):
        cf.Newtron(3, covariance="full", norm_bound=0.5, seed=1)._engine._restore(told)


def test_the_loss_it_is_about_falls(rng):
    """Mean of -log(p_y) over the second half is below that of not knowing."""
    made = cf.data.make_multiclass(n_rows=3000, seed=2, normalize=True)
    learner = cf.Newtron(5, covariance="full", alpha=1.0, norm_bound=20.0, seed=1)
    learner.run(made.features[:1500], made.labels[:1500])
    losses = []
    for x, right in zip(made.features[1500:], made.labels[1500:], strict=True):
        losses.append(-math.log(chances(learner, x)[0][right]))
        label = learner.choose(x)
        learner.learn(x, label, label == right)
    assert np.mean(losses) < 0.8 * math.log(5.0)


def test_classes_may_come_before_the_first_round_and_in_numbers(rng):
    early, late = (cf.Newtron(k, covariance="full", seed=1) for k in (32, 2))
    for _ in range(30):
        late.predict(np.ones((1, 4)))  # a reading of another width
        late.add_class()
    X, y = problem(rng, T=12, d=2, n_classes=32)
    for learner in (early, late):
        for x, right in zip(X, y, strict=True):
            learner.learn(x, int(right), bool(right % 2))
    same_state(early, late)


def test_a_state_with_classes_to_come_goes_on(rng):
    X, y = problem(rng, T=20, d=3)
    learner = cf.Newtron(3, covariance="full", seed=1)
    learner.run(X, y)
    for _ in range(3):
        learner.add_class()
    other = cf.Newtron(3, covariance="full", seed=1)
    other._engine._restore(state(learner))
    assert other.n_classes == 6
    for one in (learner, other):
        one.run(X, y + 3)
    same_state(learner, other)
