"""Learners of online convex optimisation: golden vectors, optimality along runs, errors."""

import copy
import math
import re
import warnings

import numpy as np
import pytest
from convex_cases import (
    HAND,
    MODULES,
    SETS,
    Scripted,
    bandits,
    by_hand,
    check_nearest,
    check_same,
    each_set,
    learners,
    play,
    quiet,
)
from test_kernels_golden import FOLDER, close, load

golden = pytest.mark.skipif(
    not FOLDER, reason="COACTIVE_VECTORS does not name the folder of the golden vectors"
)


@pytest.fixture(params=MODULES.values(), ids=MODULES)
def module(request):
    return request.param


# --- golden vectors -----------------------------------------------------------------------------


PARAMETER_SETS = {
    "ball": lambda module: module.Ball(1.0),
    "ball_half": lambda module: module.Ball(0.5),
    "box": lambda module: module.Box(1.0, 1.6),
    "l1": lambda module: module.L1Ball(2.0),
    "simplex": lambda module: module.Simplex(),
}


@golden
def test_golden_parameters(module):
    for case, a in load("convex_parameters").items():
        theorem, name = case.split("_", 1)
        feasible = PARAMETER_SETS[name](module)
        for row in a["rows"]:
            expected = dict(zip(a["columns"].tolist(), row.tolist(), strict=True))
            n, T = int(expected["dimension"]), int(expected["T"])
            assert feasible.affine_dimension(n) == expected["d"]
            close(feasible.in_radius(n), expected["r"], 1e-12, case)
            close(feasible.diameter(n), expected["D"], 1e-12, case)
            options = {"loss_bound": 1.5, "niceness": 0.7, "horizon": T}
            if theorem == "theorem2":
                options.update(loss_bound=expected["F"], lipschitz=expected["L"])
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                learner = module.ONSEG(n, feasible, **options)
            named = re.findall(r"\d+", " ".join(str(warning.message) for warning in heard))
            assert len(heard) == expected["too_small"], case
            assert not heard or str(int(expected["needed_T"])) in named, case
            for constant in ("delta", "gamma", "beta", "epsilon"):
                if constant in expected:
                    close(getattr(learner, constant), expected[constant], 1e-12, case)
            if theorem == "theorem1":
                other = quiet(module.OGDEG, n, feasible, loss_bound=1.5, horizon=T)
                close([other.delta, other.gamma], [learner.delta, learner.gamma], 1e-15, case)


@golden
@pytest.mark.parametrize("rule", ["onseg", "onseg_epsilon", "ogdeg"])
def test_golden_streams_of_losses(module, rule):
    for case, a in load("convex_streams").items():
        name, n = case.split("_")
        feasible = Scripted(SETS[name](module, int(n)), a["v"])
        options = {key: float(a[key]) for key in ("delta", "gamma")}
        options["loss_bound"] = float(a["F"])
        if rule != "ogdeg":
            options["beta"] = float(a["beta"])
        if rule == "onseg_epsilon":
            options["epsilon"] = float(a["epsilon"])
        build = module.OGDEG if rule == "ogdeg" else module.ONSEG
        learner = build(int(n), feasible, **options)
        close(learner.center, a["centre"], 1e-15, case)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "the loss .* is beyond loss_bound")
            for t, loss in enumerate(a["loss"]):
                close(learner.center, a[rule][t], 1e-8, (case, t))
                close(learner.ask(), a[rule][t] + a["delta"] * a["v"][t], 1e-8, (case, t))
                learner.tell(loss)
        close(learner.center, a[rule][-1], 1e-8, case)


@golden
@pytest.mark.parametrize("rule", ["ons", "ons_epsilon", "ogd"])
def test_golden_streams_of_gradients(module, rule):
    for case, a in load("convex_streams").items():
        name, n = case.split("_")
        feasible = SETS[name](module, int(n))
        if rule == "ogd":
            learner = module.OGD(int(n), feasible, float(a["G"]))
        else:
            epsilon = float(a["epsilon"]) if rule == "ons_epsilon" else None
            learner = module.ONS(int(n), feasible, float(a["beta"]), epsilon=epsilon)
        for t, gradient in enumerate(a["gradient"]):
            close(learner.ask(), a[rule][t], 1e-8, (case, t))
            learner.tell(gradient)
        close(learner.center, a[rule][-1], 1e-8, case)


@golden
def test_golden_losses(module):
    build = {
        "squared": lambda a: module.losses.Squared(a["Z"], a["y"]),
        "logistic": lambda a: module.losses.Logistic(a["Z"], a["y"]),
        "portfolio": lambda a: module.losses.PortfolioReturn(a["Z"]),
    }
    for case, a in load("losses").items():
        losses = build[case](a)
        for t, x in enumerate(a["x"]):
            close(losses.value(t, x), a["value"][t], 1e-12, case)
            close(losses.gradient(t, x), a["gradient"][t], 1e-12, case)


# --- the rules, replayed from the points that were asked for ------------------------------------


@each_set
@pytest.mark.parametrize("n", [2, 6])
@pytest.mark.parametrize("baseline", [False, True])
def test_onseg_is_optimal_in_every_round(module, name, n, baseline, rng):
    learner = by_hand(module, name, n, beta=0.02, epsilon=2.5, baseline=baseline, seed=7)
    whole = learner.feasible
    c, d = whole.center(n), whole.affine_dimension(n)
    A, seen, moved = 2.5 * np.eye(n), [], 0
    for _ in range(25):
        y, x = learner.center, learner.ask()
        v = (x - y) / learner.delta
        assert whole.contains(x) and np.linalg.norm(v) == pytest.approx(1.0, abs=1e-9)
        loss = rng.uniform(-1.0, 2.0)
        learner.tell(loss)
        g = d / learner.delta * (loss - (np.mean(seen) if baseline and seen else 0.0)) * v
        seen.append(loss)
        A += np.outer(g, g)
        z = y - np.linalg.solve(A, g) / learner.beta
        w = learner.center
        assert whole.shrunk(learner.gamma, n).contains(w)
        check_nearest(name, w, z, A, c, learner.gamma)
        moved += not np.allclose(w, z)
    assert moved > 5, "the projection was hardly ever at work"


@each_set
def test_ogdeg_is_optimal_in_every_round(module, name, rng):
    n = 4
    feasible = SETS[name](module, n)
    r, D, c = feasible.in_radius(n), feasible.diameter(n), feasible.center(n)
    learner = module.OGDEG(n, feasible, loss_bound=2.0, delta=0.1 * r, gamma=0.2, seed=3)
    for t in range(1, 40):
        y, x = learner.center, learner.ask()
        loss = rng.uniform(-2.0, 2.0)
        learner.tell(loss)
        z = y - D / (2.0 * math.sqrt(t)) * loss * (x - y) / learner.delta
        assert feasible.contains(x) and feasible.shrunk(0.2, n).contains(learner.center)
        check_nearest(name, learner.center, z, np.eye(n), c, 0.2)


@each_set
def test_rules_with_gradients_are_optimal_in_every_round(module, name, rng):
    n = 4
    feasible = SETS[name](module, n)
    D, c = feasible.diameter(n), feasible.center(n)
    newton, descent = module.ONS(n, feasible, 0.5), module.OGD(n, feasible, 3.0)
    A = np.eye(n) / (0.5 * D) ** 2
    for t in range(1, 30):
        g = rng.standard_normal(n)
        A += np.outer(g, g)
        z = newton.ask() - np.linalg.solve(A, g) / 0.5
        newton.tell(g)
        check_nearest(name, newton.center, z, A, c)
        z = descent.ask() - D / (3.0 * math.sqrt(t)) * g
        descent.tell(g)
        check_nearest(name, descent.center, z, np.eye(n), c)
        assert feasible.contains(newton.center) and feasible.contains(descent.center)


def test_pairs_and_single_points_agree_on_a_linear_loss(module):
    # (f(y + dv) - f(y - dv)) / 2 is f(y + dv) itself where f is linear and 0 at the centre
    single = module.OGDEG(3, module.Ball(1.0), delta=0.2, gamma=0.3, seed=5)
    pairs = module.OGDEG(3, module.Ball(1.0), delta=0.2, gamma=0.3, seed=5)
    a = np.array([0.5, -0.3, 0.1])
    for _ in range(20):
        x, y = single.ask(), single.center
        plus, minus = pairs.ask_pair()
        np.testing.assert_allclose(plus, x, atol=1e-12)
        np.testing.assert_allclose(plus + minus, 2.0 * y, atol=1e-12)
        single.tell(a @ (x - y))
        pairs.tell_pair(a @ plus, a @ minus)  # whatever f is at the centre
        np.testing.assert_allclose(pairs.center, single.center, atol=1e-12)


def test_a_baseline_is_of_no_use_to_pairs(module):
    a = np.array([0.5, -0.3, 0.1])
    plain = by_hand(module, "ball", 3, seed=5)
    newton = by_hand(module, "ball", 3, seed=5, baseline=True)
    for _ in range(20):
        for learner, level in ((plain, 0.0), (newton, 7.0)):
            plus, minus = learner.ask_pair()
            learner.tell_pair(a @ plus + level, a @ minus + level)
        np.testing.assert_allclose(newton.center, plain.center, atol=1e-12)


# --- constants and warnings ---------------------------------------------------------------------


def test_one_constant_by_hand_brings_the_other_without_a_warning(module):
    ball = module.Ball(2.0)
    long = module.ONSEG(3, ball, horizon=10**6)
    assert 0.0 < long.gamma < 1.0
    # a horizon that is long enough: the theorem's own value, however small delta is
    learner = module.ONSEG(3, ball, horizon=10**6, delta=1e-3)
    assert (learner.delta, learner.gamma) == (1e-3, long.gamma)
    learner = module.ONSEG(3, ball, horizon=10**6, gamma=0.9)
    assert (learner.delta, learner.gamma) == (long.delta, 0.9)
    # the caps
    learner = module.ONSEG(3, ball, horizon=10, delta=0.3)
    assert (learner.delta, learner.gamma) == (0.3, 0.5)
    learner = module.OGDEG(3, ball, horizon=10, gamma=0.2)
    assert (learner.delta, learner.gamma) == (pytest.approx(0.4), 0.2)
    with pytest.raises(ValueError, match="delta"):
        module.ONSEG(3, ball, horizon=10, delta=1.1)


def test_delta_may_be_all_of_gamma_r(module):
    assert 0.1 * 0.7 < 0.07, "rounding makes gamma * r a bit less than what is meant"
    learner = module.OGDEG(2, module.Box(-0.7, 0.7), delta=0.07, gamma=0.1)
    assert learner.delta == 0.07


def test_formulas_of_the_newton_constants(module):
    F, D, d, delta = 3.0, 2.0, 4, 0.1
    learner = module.ONSEG(d, module.Ball(1.0), loss_bound=F, niceness=0.5, delta=delta, gamma=0.2)
    alpha = 0.5 * delta**2 / (d**2 * F**2)
    beta = 0.5 * min(delta / (4 * d * F * D), alpha)
    assert learner.beta == pytest.approx(beta, rel=1e-12)
    assert learner.epsilon == pytest.approx(1 / (beta**2 * D**2), rel=1e-12)
    learner = module.ONSEG(d, module.Ball(1.0), delta=delta, gamma=0.2, beta=0.25)
    assert learner.epsilon == pytest.approx(4.0, rel=1e-15)
    assert module.ONS(d, module.Ball(1.0), 0.25).epsilon == pytest.approx(4.0, rel=1e-15)


@pytest.mark.parametrize("n", [3, 94])
def test_the_horizon_named_is_the_smallest(module, n):
    for options in ({}, {"lipschitz": 2.0}):
        with pytest.warns(UserWarning, match="horizon") as heard:
            module.ONSEG(n, module.Simplex(), horizon=50, **options)
        assert len(heard) == 1 and heard[0].filename == __file__
        smallest = int(re.search(r"from horizon=(\d+) on", str(heard[0].message)).group(1))
        module.ONSEG(n, module.Simplex(), horizon=smallest, **options)
        with pytest.warns(UserWarning, match=f"from horizon={smallest} on"):
            module.ONSEG(n, module.Simplex(), horizon=smallest - 1, **options)
    if n == 94:
        assert smallest > 10**6


@bandits
def test_a_loss_beyond_the_bound_is_named_once(module, name):
    learner, twin = learners(module)[name](1), learners(module)[name](1)
    with pytest.warns(UserWarning, match=r"loss_bound=1\b") as heard:
        for loss in (0.5, -1.0, 1.5, -3.0):
            learner.ask()
            learner.tell(loss)
    assert len(heard) == 1 and heard[0].filename == __file__
    learner.reset()
    with pytest.warns(UserWarning, match="loss_bound") as heard:
        learner.ask_pair()
        learner.tell_pair(0.0, 1.25)
    assert len(heard) == 1 and learner.rounds == 1
    # a warning made an error leaves the learner as it was
    twin.ask()
    before, expected = copy.deepcopy(twin), copy.deepcopy(twin)
    with pytest.raises(UserWarning, match="loss_bound"):
        twin.tell(1.5)
    check_same(twin, before)
    twin.tell(0.5)
    expected.tell(0.5)
    check_same(twin, expected)


@bandits
@pytest.mark.parametrize("loss", [1e300, -1e290])
def test_what_is_too_far_beyond_the_bound_changes_nothing(module, name, loss):
    """ONSEG's A holds squares; DikinFTRL would refuse the losses that come after."""
    learner = learners(module)[name](1)
    play(learner, 5)
    if name == "OGDEG":  # a step of any length ends on the set
        learner.ask()
        with pytest.warns(UserWarning, match="loss_bound"):
            learner.tell(loss)
        play(learner, 5)
        return
    for pair in (False, True):
        learner.ask_pair() if pair else learner.ask()
        before = copy.deepcopy(learner)
        with pytest.raises(ValueError, match=r"1e\+[23]\d\d, too far beyond loss_bound=1\b"):
            learner.tell_pair(loss, 0.0) if pair else learner.tell(loss)
        check_same(learner, before)
        learner.tell_pair(0.5, 0.25) if pair else learner.tell(0.5)
    play(learner, 5)


@pytest.mark.parametrize("n", [2, 5, 40])
@pytest.mark.parametrize("first", [0, 30])
@pytest.mark.parametrize("excess", [1e2, 1e3, 1e5, 1e8, 1e50, 1e100])
@pytest.mark.filterwarnings("ignore:the loss .* is beyond loss_bound")
def test_a_barrier_learner_goes_on_from_every_loss_it_takes(module, n, first, excess):
    """The mean keeps the excess for a while: ordinary losses then move far, again and again."""
    learner, cost, refused = module.DikinFTRL(n, horizon=1000, seed=1), np.linspace(0.0, 1.0, n), 0
    for t in range(400):
        x = learner.ask()
        if t == first:
            try:
                learner.tell(excess)
            except ValueError:
                refused += 1
                learner.tell(0.5)
        else:
            learner.tell(float(cost @ x))
    assert learner.rounds == 400 and refused == (excess > 1e3)


def test_what_is_told_may_not_tell(module):
    """A gradient whose conversion tells another one: the point is answered once."""
    class Telling:
        def __array__(self, dtype=None, copy=None):
            learner.tell([0.5, 0.5])
            return np.array([1.0, 1.0])

    learner = module.OGD(2, module.Ball(1.0), 1.0)
    learner.ask()
    with pytest.raises(ValueError, match="ask"):
        learner.tell(Telling())
    assert learner.rounds == 1


@bandits
def test_losses_up_to_the_largest_number(module, name):
    """Losses within their bound are learned from, wherever that lies."""
    F = 8e307
    learner = {
        "ONSEG": lambda: module.ONSEG(3, module.Simplex(), delta=0.01, gamma=0.2, beta=1e-6,
                                      epsilon=1e300, loss_bound=F, seed=1),
        "OGDEG": lambda: module.OGDEG(3, module.Simplex(), delta=0.01, gamma=0.2, loss_bound=F,
                                      seed=1),
        "DikinFTRL": lambda: module.DikinFTRL(3, horizon=1000, loss_bound=F, seed=1),
    }[name]()
    for t in range(20):
        learner.ask()
        if name == "ONSEG":  # whose A holds the square
            learner.tell(1e150 * (-1) ** t)
        else:
            learner.tell(F * (-1) ** t)
    assert learner.rounds == 20
    assert np.isfinite(learner.center).all() and abs(learner.center.sum() - 1.0) < 1e-9


def test_a_mean_of_losses_that_are_far_apart(module):
    """Their difference overflows, their mean does not."""
    learner = module.OGDEG(2, module.Ball(1.0), delta=0.1, gamma=0.2, loss_bound=1.7e308, seed=1)
    for loss in (1.7e308, -1.7e308, 1.7e308):
        learner.ask()
        learner.tell(loss)
    assert learner.rounds == 3


# --- errors -------------------------------------------------------------------------------------


@bandits
def test_a_bad_loss_changes_nothing(module, name):
    learner = learners(module)[name](9)
    play(learner, 4)
    before = copy.deepcopy(learner)
    with pytest.raises(ValueError, match="ask"):
        learner.tell(0.5)
    with pytest.raises(ValueError, match="ask_pair"):
        learner.tell_pair(0.5, 0.5)
    check_same(learner, before)

    learner.ask()
    before = copy.deepcopy(learner)
    too_large = {"ONSEG": [1e200, -1e308], "OGDEG": [], "DikinFTRL": []}[name]
    for loss in (math.nan, math.inf, -math.inf, *too_large):
        with pytest.raises(ValueError, match="loss"):
            learner.tell(loss)
        check_same(learner, before)
    for loss in (None, "1.0", [0.5], 1j):
        with pytest.raises(TypeError, match="loss"):
            learner.tell(loss)
    with pytest.raises(ValueError, match="ask_pair"):
        learner.tell_pair(0.5, 0.5)
    check_same(learner, before)

    learner.ask_pair()
    before = copy.deepcopy(learner)
    with pytest.raises(ValueError, match="minus"):
        learner.tell_pair(0.5, math.nan)
    with pytest.raises(TypeError, match="plus"):
        learner.tell_pair(None, 0.5)
    with pytest.raises(ValueError, match="ask"):
        learner.tell(0.5)
    before.tell_pair(0.25, 0.5)
    learner.tell_pair(0.25, 0.5)
    check_same(learner, before)


@pytest.mark.parametrize("name", ["ONS", "OGD"])
def test_a_bad_gradient_changes_nothing(module, name):
    learner = getattr(module, name)(3, module.Ball(1.0), 0.5)
    with pytest.raises(ValueError, match="ask"):
        learner.tell([0.1, 0.2, 0.3])
    learner.ask()
    learner.tell([0.1, 0.2, 0.3])
    learner.ask()
    before = copy.deepcopy(learner)
    too_large = {"ONS": [[1e200, 0.0, 0.0]], "OGD": [[1e308, -1e308, 1e308]]}[name]
    for gradient in ([0.1, 0.2], [0.1, math.nan, 0.2], np.ones((2, 3)), *too_large):
        with pytest.raises(ValueError, match="gradient"):
            learner.tell(gradient)
        assert learner.rounds == before.rounds == 1
    for gradient in (None, "abc", ["a", "b", "c"]):
        with pytest.raises(TypeError, match="gradient"):
            learner.tell(gradient)
    learner.tell([0.1, 0.0, 0.0])
    before.tell([0.1, 0.0, 0.0])
    np.testing.assert_array_equal(learner.center, before.center)


@pytest.mark.parametrize(
    "build, error, named",
    [
        (lambda m: m.ONSEG(0, m.Ball(1.0), **HAND), ValueError, "dimension"),
        (lambda m: m.ONSEG(2.0, m.Ball(1.0), **HAND), TypeError, "dimension"),
        (lambda m: m.ONSEG(2, m.Ball, **HAND), TypeError, "feasible"),
        (lambda m: m.ONSEG(2, None, **HAND), TypeError, "feasible"),
        (lambda m: m.ONSEG(3, m.Box([0.0, 0.0], 1.0), **HAND), ValueError, "lower"),
        (lambda m: m.ONSEG(1, m.Simplex(), **HAND), ValueError, "feasible"),
        (lambda m: m.OGDEG(1, m.Simplex(), **HAND), ValueError, "feasible"),
        (lambda m: m.ONSEG(2, m.Box(0.0, [1.0, 0.0]), **HAND), ValueError, "feasible"),
        (lambda m: m.ONSEG(2, m.Box(-1e308, 1e308), **HAND), ValueError, "feasible"),
        (lambda m: m.ONSEG(2, m.Ball(1.0)), ValueError, "horizon"),
        (lambda m: m.ONSEG(2, m.Ball(1.0), delta=0.1), ValueError, "horizon"),
        (lambda m: m.OGDEG(2, m.Ball(1.0), gamma=0.1), ValueError, "horizon"),
        (lambda m: m.ONSEG(2, m.Ball(1.0), horizon=1), ValueError, "horizon"),
        (lambda m: m.ONSEG(2, m.Ball(1.0), horizon=1, **HAND), ValueError, "horizon"),
        (lambda m: m.ONSEG(2, m.Ball(1.0), horizon=1e6), TypeError, "horizon"),
        (lambda m: m.ONSEG(2, m.Ball(1.0), horizon=10**400), ValueError, "horizon"),
        (lambda m: m.ONSEG(2, m.Ball(1.0), delta=0.1, gamma=1.0), ValueError, "gamma"),
        (lambda m: m.ONSEG(2, m.Ball(1.0), delta=0.1, gamma=0.0), ValueError, "gamma"),
        (lambda m: m.OGDEG(2, m.Ball(1.0), delta=0.21, gamma=0.2), ValueError, "delta"),
        (lambda m: m.ONSEG(2, m.Ball(1.0), delta=-0.1, gamma=0.2), ValueError, "delta"),
        (lambda m: m.ONSEG(2, m.Ball(1.0), loss_bound=0.0, **HAND), ValueError, "loss_bound"),
        (lambda m: m.OGDEG(2, m.Ball(1.0), loss_bound=-1, **HAND), ValueError, "loss_bound"),
        (lambda m: m.ONSEG(2, m.Ball(1.0), niceness=0.0, **HAND), ValueError, "niceness"),
        (lambda m: m.ONSEG(2, m.Ball(1.0), lipschitz=0.0, **HAND), ValueError, "lipschitz"),
        (lambda m: m.ONSEG(2, m.Ball(1.0), beta=0.0, **HAND), ValueError, "beta"),
        (lambda m: m.ONSEG(2, m.Ball(1.0), epsilon=-1.0, **HAND), ValueError, "epsilon"),
        (lambda m: m.ONSEG(2, m.Ball(1.0), loss_bound=1e200, **HAND), ValueError, "beta"),
        (lambda m: m.ONSEG(2, m.Ball(1.0), beta=1e-200, **HAND), ValueError, "epsilon"),
        (lambda m: m.ONSEG(2, m.Ball(1.0), baseline=1, **HAND), TypeError, "baseline"),
        (lambda m: m.ONSEG(2, m.Ball(1.0), seed="no", **HAND), TypeError, "seed"),
        (lambda m: m.ONS(2, m.Ball(1.0), 0.0), ValueError, "beta"),
        (lambda m: m.ONS(2, m.Box(1.0, 1.0), 0.5), ValueError, "feasible"),
        (lambda m: m.OGD(2, m.Ball(1.0), 1e-320), ValueError, "gradient_bound"),
        (lambda m: m.OGDEG(2, m.Ball(1.0), loss_bound=1e-320, **HAND), ValueError, "loss_bound"),
        (lambda m: m.DikinFTRL(1, eta=0.1), ValueError, "dimension"),
        (lambda m: m.OGD(2, m.Ball(1.0), math.nan), ValueError, "gradient_bound"),
    ],
)
def test_arguments_that_make_no_sense(module, build, error, named):
    with pytest.raises(error, match=named):
        build(module)


def test_a_flat_set_will_do_where_nothing_is_explored(module):
    flat = module.Box([0.0, 1.0], [2.0, 1.0])
    for learner in (module.ONS(2, flat, 0.5), module.OGD(2, flat, 1.0)):
        learner.ask()
        learner.tell([1.0, 1.0])
        assert learner.center[1] == 1.0 and learner.center[0] < 1.0
