"""Chance in online convex optimisation: unbiased estimates, seeds, the barrier sampler."""

import math

import numpy as np
import pytest
from convex_cases import (
    MODULES,
    SETS,
    bandits,
    by_hand,
    each_set,
    learners,
    play,
)


@pytest.fixture(params=MODULES.values(), ids=MODULES)
def module(request):
    return request.param


# --- chance -------------------------------------------------------------------------------------


def check_unbiased(estimates, gradient):
    """The mean of the estimates is the gradient, to five standard errors, which are small."""
    estimates = np.array(estimates)
    error = estimates.std(axis=0, ddof=1) / math.sqrt(len(estimates))
    assert np.linalg.norm(error) < 0.1 * np.linalg.norm(gradient), "too few rounds to tell"
    assert (np.abs(estimates.mean(axis=0) - gradient) <= 5.0 * error).all()


def tangential(name, a):
    """What directions within the set can see of a gradient."""
    return a - a.mean() if name == "simplex" else a


@each_set
@pytest.mark.parametrize("baseline", [False, True])
def test_the_newton_estimate_is_unbiased_for_a_linear_loss(module, name, baseline):
    n, a = 3, np.array([1.0, -0.5, 0.25])
    # A is so large that a step is -g / (beta epsilon): small enough never to need the projection
    learner = by_hand(module, name, n, beta=1.0, epsilon=1e8, baseline=baseline, seed=11)
    c, estimates = learner.center, []
    for _ in range(1500):
        y, x = learner.center, learner.ask()
        learner.tell(a @ (x - c))
        estimates.append(1e8 * (y - learner.center))
    check_unbiased(estimates, tangential(name, a))


@each_set
def test_the_descent_estimate_is_unbiased_for_a_linear_loss(module, name):
    n, a, F = 3, np.array([1.0, -0.5, 0.25]), 1e7
    feasible = SETS[name](module, n)
    delta = 0.2 * feasible.in_radius(n)
    learner = module.OGDEG(n, feasible, loss_bound=F, delta=delta, gamma=0.3, seed=12)
    d, D = feasible.affine_dimension(n), feasible.diameter(n)
    c, estimates = learner.center, []
    for t in range(1, 1501):
        y, x = learner.center, learner.ask()
        learner.tell(a @ (x - c))
        estimates.append(d / delta * F * math.sqrt(t) / D * (y - learner.center))
    check_unbiased(estimates, tangential(name, a))


def test_the_barrier_estimate_is_unbiased_for_a_linear_loss(module):
    a, eta = np.array([1.0, -0.5, 0.25, 0.0]), 1e-6
    learner = module.DikinFTRL(4, eta=eta, seed=13)
    estimates = []
    for _ in range(3000):
        y = learner.center
        learner.tell(a @ learner.ask())
        # 1/y is eta G but for a constant
        grown = (1.0 / learner.center - 1.0 / y) / eta
        estimates.append(grown - grown.mean())
    check_unbiased(estimates, a - a.mean())


def test_a_baseline_lowers_the_spread(module):
    """On a loss that is far from 0 everywhere."""
    spread = []
    for baseline in (False, True):
        learner = by_hand(module, "ball", 3, beta=1.0, epsilon=1e8, baseline=baseline, seed=14)
        steps = []
        for _ in range(100):
            y = learner.center
            learner.tell(5.0 + learner.ask()[0])
            steps.append(y - learner.center)
        spread.append(np.std(steps))
    assert spread[1] < 0.5 * spread[0]


@bandits
def test_seeds_and_reset(module, name):
    build = learners(module)[name]
    given = np.random.default_rng(4)
    learner, same = build(given), build(4)
    first = play(learner, 12)
    assert given.random() == np.random.default_rng(4).random(), "the given generator moved"
    np.testing.assert_array_equal(play(same, 12), first)
    assert not np.array_equal(play(build(5), 12), first)
    learner.reset()
    assert learner.rounds == 0
    np.testing.assert_array_equal(play(learner, 12), first)
    np.testing.assert_array_equal(learner.center, same.center)


@bandits
def test_asked_twice_it_says_the_same(module, name):
    learner, once = learners(module)[name](2), learners(module)[name](2)
    for _ in range(3):
        x = learner.ask()
        x_again = learner.ask()
        np.testing.assert_array_equal(x_again, x)
        x[:] = np.nan  # the caller's own copy
        np.testing.assert_array_equal(once.ask(), x_again)
        plus, minus = learner.ask_pair()
        np.testing.assert_array_equal(plus, x_again)
        assert not np.array_equal(plus, minus)
        np.testing.assert_array_equal(learner.ask(), x_again)
        learner.tell(0.3)
        once.tell(0.3)
    np.testing.assert_array_equal(learner.center, once.center)


# --- the barrier sampler ------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 20])
@pytest.mark.parametrize("baseline", [False, True])
def test_the_barrier_sampler_replayed(module, n, baseline, rng):
    eta, delta = 0.2 / n, 0.9
    learner = module.DikinFTRL(n, eta=eta, delta=delta, baseline=baseline, seed=21)
    G, seen = np.zeros(n), []
    for _ in range(40):
        y, x = learner.center, learner.ask()
        assert (x > 0).all() and math.fsum(x) == pytest.approx(1.0, abs=1e-12)
        u = (x / y - 1.0) / delta
        assert u @ u == pytest.approx(1.0, abs=1e-9) and abs(y @ u) < 1e-12
        loss = rng.uniform(-1.0, 1.0)
        learner.tell(loss)
        b = np.mean(seen) if baseline and seen else 0.0
        seen.append(loss)
        G += eta * (n - 1) / delta * (loss - b) * u / y
        # y minimises G.y - sum ln y on the simplex: G - 1/y is the same everywhere
        w = learner.center
        level = G - 1.0 / w
        assert (w > 0).all() and math.fsum(w) == pytest.approx(1.0, abs=1e-12)
        assert np.ptp(level) <= 1e-8 * np.abs(1.0 / w).max()


def test_the_barrier_rate(module):
    learner = module.DikinFTRL(5, horizon=1000, loss_bound=2.0, delta=0.5)
    expected = 0.5 / (4 * 2.0) * math.sqrt(5 * math.log(1000) / 2000)
    assert learner.eta == pytest.approx(expected, rel=1e-12)
    assert module.DikinFTRL(5, horizon=2, delta=0.5).eta == pytest.approx(0.5 / 4 / 4)
    with pytest.raises(ValueError, match="horizon"):
        module.DikinFTRL(5)
    for delta in (0.0, 1.0):
        with pytest.raises(ValueError, match="delta"):
            module.DikinFTRL(5, eta=0.1, delta=delta)
    with pytest.raises(ValueError, match="feasible|dimension"):
        module.DikinFTRL(1, eta=0.1)
