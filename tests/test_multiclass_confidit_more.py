"""Confidit with an error that varies from round to round, and with projection in dual variables."""

import copy
import math

import numpy as np
import pytest
from multiclass_cases import MODULES, problem, readings, stream, unchanged
from row_cases import BreakingKernel, close, golden, golden_names, squares, unit_rows

import coactive_fast as cf

POLY = {"kernel": "poly", "kernel_params": {"degree": 2, "gamma": 0.7, "coef0": 0.3}}


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


@pytest.mark.parametrize("name", golden_names("more_confidit"))
def test_golden(module, name):
    a, meta = golden(name)
    arguments = dict(meta["arguments"])
    if "approximation_error" in a:
        assert len(a["approximation_error"]) < len(a["y"])
        arguments["approximation_error"] = a["approximation_error"]
    learner, silent = (module.Confidit(meta["n_classes"], **arguments) for _ in range(2))
    for t, (x, label, right) in enumerate(zip(a["X"], a["labels"], a["y"], strict=True)):
        assert learner.choose(x) == a["choices"][t]
        ahead = copy.deepcopy(learner).run(x[None], [right])  # the round as a run of one
        assert ahead.explored[0] == a["explored"][t] and ahead.choices[0] == a["choices"][t]
        for one in (learner, silent):
            one.learn(x, label, label == right)
    close(learner.decision_function(a["Z"]), a["decision"], 1e-8)
    np.testing.assert_equal(readings(silent, a["Z"]), readings(learner, a["Z"]))


# --- an error that varies -----------------------------------------------------------------------


def errors_of(kind, values):
    """The same errors as an array, and as a function of the round, 0 beyond the end."""
    if kind == "array":
        return values
    return lambda t: float(values[t - 1]) if t <= len(values) else 0.0


@pytest.mark.parametrize("kind", ["array", "callable"])
@pytest.mark.parametrize("covariance", ["full", "diagonal", "kernel"])
def test_a_constant_error_is_the_number(module, kind, covariance, rng):
    X, y = problem(rng)
    arguments = {"confidence": "theory", "covariance": covariance, "delta": 0.9}
    number = module.Confidit(3, approximation_error=0.25, **arguments)
    other = module.Confidit(3, approximation_error=errors_of(kind, np.full(60, 0.25)), **arguments)
    np.testing.assert_equal(vars(other.run(X, y)), vars(number.run(X, y)))
    close(other.decision_function(X), number.decision_function(X), 1e-12)


@pytest.mark.parametrize("kind", ["array", "callable"])
def test_the_choice_goes_by_the_errors_of_the_rounds_before(module, kind, rng):
    """Null rows count as rounds; the array ends before the stream does."""
    X, y = problem(rng, T=50, d=3)
    X[rng.random(50) < 0.2] = 0.0
    errors = 30.0 * rng.random(35)
    learner = module.Confidit(3, covariance="full", confidence="theory", delta=0.9,
                              norm_bound=0.0, approximation_error=errors_of(kind, errors))
    explained, differs = 0.0, 0
    for t, (x, right) in enumerate(zip(X, y, strict=True), start=1):
        if not x.any():
            learner.learn(x, 1, True)
            continue
        A = np.eye(3) / 4.0
        inverses = [learner.inverse(i) if learner.inverse(i).size else A for i in range(3)]
        q = np.array([x @ B @ x for B in inverses])
        m = learner.decision_function([x])[0]

        def chosen(error, m=m, q=q, t=t, explained=explained):
            eta = 2.0 * explained + 36.0 * math.log((t + 4) / 0.9) + 4.0 * error
            return int(np.argmax(m + np.sqrt(2.0 * q * eta)))

        label = learner.choose(x)
        assert label == chosen(errors[: t - 1].sum())
        differs += label != chosen(0.0)
        explained += q[label] / (1.0 + q[label])
        learner.learn(x, label, bool(label == right))
    assert differs > 0, "the error never decided"


def test_a_callable_is_asked_once_a_round_from_one_on(module, rng):
    X, y = problem(rng, T=12)
    X[4] = 0.0
    asked = []

    def error(t):
        asked.append(t)
        return 0.5

    learner = module.Confidit(3, confidence="theory", approximation_error=error)
    for x, right in zip(X, y, strict=True):
        label = learner.choose(x)
        learner.choose(x)
        learner.learn(x, label, bool(label == right))
    assert asked == list(range(1, 13))
    learner.reset()
    learner.learn(X[0], 0, True)
    assert asked[12:] == [1]


def test_the_array_is_copied(module, rng):
    X, y = problem(rng, T=30)
    errors = np.full(30, 5.0)
    kept = module.Confidit(3, confidence="theory", approximation_error=errors)
    other = module.Confidit(3, confidence="theory", approximation_error=errors.copy())
    errors[:] = 0.0
    np.testing.assert_equal(vars(kept.run(X, y)), vars(other.run(X, y)))


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, None, "much"])
def test_what_a_callable_must_not_say(module, bad, rng):
    X, y = problem(rng, T=20)
    answer = [0.1]
    learner = module.Confidit(3, confidence="theory", alpha=0.3, seed=1,
                              approximation_error=lambda t: answer[0])
    learner.run(X, y)
    with unchanged(learner, X, y):
        answer[0] = bad
        for x in (X[0], np.zeros(5)):
            with pytest.raises((ValueError, TypeError), match="approximation_error"):
                learner.learn(x, 1, False)
        answer[0] = 0.1


def test_a_callable_that_fails_changes_nothing(module, rng):
    X, y = problem(rng, T=20)
    works = [True]

    def error(t):
        if not works[0]:
            raise RuntimeError("no answer")
        return 0.2

    learner = module.Confidit(3, confidence="theory", alpha=0.0, seed=0, approximation_error=error)
    learner.run(X, y)
    with unchanged(learner, X, y):
        works[0] = False
        with pytest.raises(RuntimeError):
            learner.learn(X[0], 1, False)
        works[0] = True


@pytest.mark.parametrize("act", ["reset", "add_class", "information", "learn"])
@pytest.mark.parametrize("covariance", ["diagonal", "full", "kernel"])
def test_a_callable_that_reaches_back_is_refused(covariance, act, rng):
    X, y = problem(rng, T=20)
    arguments = {"learn": (X[0], 0, True)}.get(act, ())
    back = [False]

    def error(t):
        if back[0]:
            getattr(learner, act)(*arguments)
        return 0.2

    learner = cf.Confidit(3, covariance=covariance, projection=True, approximation_error=error)
    learner.run(X, y)
    with unchanged(learner, X, y):
        back[0] = True
        with pytest.raises(RuntimeError, match="from within"):
            learner.learn(X[0], 1, False)
        back[0] = False


def test_what_a_callable_said_stays_in_a_copy(rng):
    """Also where a number has taken its place for a while."""
    X, _ = problem(rng, T=20)
    learner = cf.Confidit(3, confidence="theory", approximation_error=lambda t: 1e6)
    for x in X[:5]:
        learner.learn(x, 0, True)
    learner.set_params(approximation_error=0.0)
    other = copy.deepcopy(learner)
    for one in (learner, other):
        one.set_params(approximation_error=lambda t: 0.0)
    np.testing.assert_equal(learner._engine._state(), other._engine._state())
    assert learner._engine._state()["erred"] == 5e6


# --- rows of length one ---------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_a_null_row_of_a_kernel_comes_first(module, kernel):
    """Its length is 0, so nothing is divided by it, however often the row is looked at."""
    learner = module.Confidit(2, covariance="kernel", kernel=kernel, normalize=True)
    assert learner.choose([0.0, 0.0]) == 0
    learner.learn([0.0, 0.0], 0, True)
    assert learner.rounds == 1


def test_what_choose_leaves_is_of_the_row_as_it_came(rng):
    """A row that was copied on its way in is scaled in a copy of its own."""
    asked = []

    def kernel(a, b):
        asked.append(a)
        return float(a @ b)

    learner = cf.Confidit(2, covariance="kernel", kernel=kernel, normalize=True)
    X = rng.normal(size=(2, 3)).astype(np.float32)
    learner.learn(X[0], 0, True)
    learner.choose(X[1])
    asked.clear()
    learner.learn(X[1], 0, True)
    assert not asked  # choose has read it


@pytest.mark.parametrize("errors", [[0.1, -0.1], [np.nan], [np.inf], [[0.1]], ["a"], [1j]])
def test_refused_errors(module, errors):
    with pytest.raises((ValueError, TypeError), match="approximation_error"):
        module.Confidit(3, approximation_error=errors)


# --- projection in dual variables ---------------------------------------------------------------


@pytest.mark.parametrize("confidence", ["constant", "theory", "selfnormalized"])
@pytest.mark.parametrize("alpha", [1.0, 0.4, -0.5])
def test_the_linear_kernel_is_the_full_matrix(module, confidence, alpha, rng):
    """Null rows among them: they join nothing."""
    X, y = problem(rng, T=60)
    X[rng.random(60) < 0.1] = 0.0
    arguments = {"confidence": confidence, "alpha": alpha, "projection": True, "seed": 6}
    full = module.Confidit(3, covariance="full", **arguments)
    dual = module.Confidit(3, covariance="kernel", **arguments)
    first, second = full.run(X, y), dual.run(X, y)
    np.testing.assert_equal(vars(first), vars(second))
    close(dual.decision_function(X), full.decision_function(X), 1e-8)
    close(dual.information(), full.information(), 1e-8)


def test_the_polynomial_kernel_is_its_features(module, rng):
    X, y = problem(rng, T=50, d=2)
    dual = module.Confidit(3, covariance="kernel", projection=True, **POLY)
    full = module.Confidit(3, covariance="full", projection=True)
    np.testing.assert_equal(vars(dual.run(X, y)), vars(full.run(squares(X), y)))
    close(dual.decision_function(X), full.decision_function(squares(X)), 1e-8)


def test_projected_margins_of_a_kernel(module, rng):
    """For the row learned they are on the simplex; A_i grows by the rows of class i alone."""
    X, y = unit_rows(rng, 40, 3), rng.integers(0, 4, 40)
    learner = module.Confidit(4, covariance="kernel", kernel="rbf", projection=True)
    for x, right in zip(X, y, strict=True):
        before = learner.information()
        learner.learn(x, int(right), True)
        margins = learner.decision_function([x])[0]
        others = np.delete(margins, right)
        # what the class learned ended at was m' + (1 - m') q / (1 + q), at least as much as m'
        assert (others >= -1.0 - 1e-9).all()
        assert margins.sum() >= 2.0 - 4.0 - 1e-9
        grown = np.flatnonzero(learner.information() != before)
        assert grown.tolist() == [right]


def test_an_added_class_joins_the_projection(module, rng):
    X, y = problem(rng, T=30)
    learner = module.Confidit(3, covariance="kernel", projection=True)
    learner.run(X, y)
    kept = learner.decision_function(X)
    assert learner.add_class() == 3
    scores = learner.decision_function(X)
    np.testing.assert_array_equal(scores[:, :3], kept)
    np.testing.assert_array_equal(scores[:, 3], 0.0)
    learner.run(X, np.full(30, 3))
    assert learner.decision_function(X)[:, 3].any()


def test_a_kernel_that_fails_changes_nothing(module, rng):
    X, y = problem(rng, T=15)
    kernel = BreakingKernel()
    learner = module.Confidit(3, covariance="kernel", kernel=kernel, alpha=0.0, seed=0,
                              projection=True)
    learner.run(X, y)
    with unchanged(learner, X, y):
        kernel.broken = True
        with pytest.raises(RuntimeError):
            learner.learn(X[0], 1, False)
        kernel.broken = False


def test_projection_asks_the_kernel_once_for_each_row(rng):
    """The values serve all classes; reading scores needs no k(x, x) besides."""
    X, y = problem(rng, T=20)
    asked = []

    def kernel(x, y):
        asked.append(1)
        return float(x @ y)

    learner = cf.Confidit(3, covariance="kernel", kernel=kernel, projection=True)
    for t, x in enumerate(X):
        asked.clear()
        label = learner.choose(x)
        learner.learn(x, label, label == y[t])
        assert len(asked) == (t + 1 if t else 2)  # before the first round nothing is remembered
    asked.clear()
    learner.predict(X[:4])
    assert len(asked) == 4 * 21


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_projected_kernel_learner_goes_on_from_its_state(kernel, tmp_path, rng):
    X, y = stream(rng, T=60)
    arguments = {"covariance": "kernel", "kernel": kernel, "alpha": 0.5, "projection": True,
                 "seed": 4}
    whole, first = (cf.Confidit(3, **arguments) for _ in range(2))
    whole.run(X, y)
    first.run(X[:33], y[:33])
    first.save(tmp_path / "model.cf")
    second = cf.load(tmp_path / "model.cf")
    second.run(X[33:], y[33:])
    np.testing.assert_equal(second._engine._state(), whole._engine._state())
    assert "rows" not in whole._engine._state()["classes"][0]
