"""The filters: golden vectors, what holds for all, coins, errors.

What is the ridge filters' alone is tested in test_filtering_ridge.py, _forgetting.py, _costs.py
and _probabilistic.py.
"""

import copy
import math

import numpy as np
import pytest
from filtering_cases import (
    CHANCE,
    FILTERS,
    MODULES,
    all_of,
    build,
    problem,
    readings,
    trained,
    unchanged,
)
from row_cases import (
    bad_rows,
    close,
    golden,
    golden_names,
    out_of_range,
    sparse_forms,
    unit_rows,
    with_holes,
)

filters = pytest.mark.parametrize("name", FILTERS)


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


# --- golden vectors -------------------------------------------------------------------------


@pytest.mark.parametrize("name", golden_names("filtering"))
def test_golden_run(module, name):
    a, meta = golden(name)
    learner = getattr(module, meta["learner"])(**meta["arguments"])
    history = learner.run(a["X"], a["y"])
    np.testing.assert_array_equal(history.forwarded, a["forwarded"])
    close(history.margins, a["margins"], meta["tolerance"])
    for measure in ("precision", "recall", "f_measure"):
        assert getattr(history, measure) == pytest.approx(float(a[measure]), rel=1e-12)
    assert learner.rounds == len(a["y"])


@pytest.mark.parametrize("name", golden_names("filtering"))
def test_golden_rounds(module, name):
    """One call at a time; the threshold is asked for before `forward`."""
    a, meta = golden(name)
    learner = getattr(module, meta["learner"])(**meta["arguments"])
    full = getattr(learner, "feedback", "forwarded") == "full"
    thresholds, margins = [], []
    for x, relevant, forwarded in zip(a["X"], a["y"], a["forwarded"], strict=True):
        thresholds.append(learner.threshold)
        margins.append(learner.margin(x))
        assert learner.forward(x) == forwarded
        if forwarded or full:
            learner.learn(x, relevant)
    never = np.isinf(a["thresholds"])
    np.testing.assert_array_equal(np.isinf(thresholds), never)
    close(np.array(thresholds)[~never], a["thresholds"][~never], meta["tolerance"])
    close(margins, a["margins"], meta["tolerance"])


# --- what holds for all of them -------------------------------------------------------------


@filters
def test_run_is_the_loop_of_single_calls(module, name, rng):
    X, y = problem(rng)
    whole, single = build(module, name), build(module, name)
    history = whole.run(X, y)
    assert history.forwarded.dtype == bool and history.margins.dtype == np.float64
    full = FILTERS[name][1].get("feedback", "full" if name == "Perceptron" else "") == "full"
    for t, (x, relevant) in enumerate(zip(X, y, strict=True)):
        assert single.margin(x) == history.margins[t]
        forwarded = single.forward(x)
        assert type(forwarded) is bool and forwarded == history.forwarded[t]
        assert single.rounds == t + 1
        if forwarded or full:
            single.learn(x, relevant)
    np.testing.assert_equal(readings(whole, X), readings(single, X))
    assert whole.rounds == len(X)
    assert whole.learned == (len(X) if full else history.forwarded.sum())


def test_measures(module):
    """Forwarded 4, of them 3 relevant; relevant 5."""
    learner = module.PerceptronFilter()
    learner.learn([1.0], False)  # w = -1: forwards what is not positive
    X = np.array([-1.0, -1.0, -1.0, -1.0, 1.0, 1.0])[:, None]
    y = np.array([True, True, True, False, True, True])
    frozen = module.AppleTasting(Frozen(learner), 0.0)
    history = frozen.run(X, y)
    assert history.forwarded.tolist() == [True] * 4 + [False] * 2
    assert history.precision == 3 / 4 and history.recall == 3 / 5
    assert history.f_measure == pytest.approx(2 / 3)
    nothing = frozen.run(np.ones((3, 1)), [False] * 3)
    assert (nothing.precision, nothing.recall, nothing.f_measure) == (0.0, 0.0, 0.0)
    empty = frozen.run(np.zeros((0, 1)), [])
    assert empty.forwarded.shape == (0,) and empty.f_measure == 0.0


class Frozen:
    """A classifier that has learned enough."""

    def __init__(self, learner):
        self.margin = learner.margin

    def learn(self, x, relevant):
        pass


@filters
def test_reading_changes_nothing(module, name, rng):
    learner, (X, y) = trained(module, name, rng), problem(rng, T=20)
    with unchanged(learner, X, y):
        readings(learner, X)


@filters
def test_learning_counts_no_round_and_forwarding_learns_nothing(module, name, rng):
    learner, (X, y) = build(module, name), problem(rng)
    for t, (x, relevant) in enumerate(zip(X[:20], y, strict=False)):
        learner.learn(x, relevant)  # nothing was forwarded: the caller's log
        assert (learner.rounds, learner.learned) == (0, t + 1)
    margins = [learner.margin(x) for x in X]
    for x in X:
        learner.forward(x)
    assert (learner.rounds, learner.learned) == (len(X), 20)
    assert [learner.margin(x) for x in X] == margins


@filters
def test_before_the_first_round(module, name, rng):
    learner = build(module, name)
    for d in (2, 7):  # a reading fixes no dimension
        assert learner.margin(np.ones(d)) == 0.0
    own = name.split()[0] in ("ridge", "diagonal", "linear", "rbf", "window", "kernel", "forget",
                              "simple")
    assert learner.threshold == (-math.inf if own and "feedback" not in name else 0.0)
    assert learner.forward(np.ones(4)) is True


@filters
def test_null_rows(module, name, rng):
    """Their margin is that of nothing known, and they say nothing about other rows."""
    learner, X = trained(module, name, rng), unit_rows(rng, 8, 5)
    zero = np.zeros(5)
    if name in ("simple", "rbf"):  # where x has no meaning, and where k(0, 0) = 1
        before = learner.margin(zero)
        learner.learn(zero, False)
        assert learner.margin(zero) < before
        return
    assert learner.margin(zero) == 0.0
    before, learned = [learner.margin(x) for x in X], learner.learned
    learner.learn(zero, False)
    assert learner.learned == learned + 1
    if "window" not in name and "forget" not in name and name != "diagonal ucb":
        np.testing.assert_allclose([learner.margin(x) for x in X], before, rtol=1e-12, atol=1e-15)


@filters
@pytest.mark.parametrize("form", ["int32", "int64", "unsorted", "duplicates", "array", "csc"])
def test_sparse_rows_are_dense_rows(module, name, form, rng):
    X, y = problem(rng, T=30)
    X = with_holes(X, rng)
    sparse = dict(sparse_forms(X))[form]
    dense, thin = build(module, name), build(module, name)
    np.testing.assert_equal(all_of(thin.run(sparse, y)), all_of(dense.run(X, y)))
    row = sparse.tocsr()[3:4]
    for learner, x in ((thin, row), (dense, X[3])):
        learner.forward(x)
        learner.learn(x, np.True_)
    assert thin.margin(X[4].tolist()) == dense.margin(X[4:5])


@filters
def test_what_was_learned_is_copied(module, name, rng):
    X, y = problem(rng, T=15)
    kept, reused = build(module, name), build(module, name)
    buffer = np.zeros(5)
    for x, relevant in zip(X, y, strict=True):
        buffer[:] = x
        kept.learn(x, relevant)
        reused.learn(buffer, relevant)
    buffer[:] = 7.0
    assert readings(kept, X) == readings(reused, X)


@filters
def test_reset_and_copies_of_the_generator(module, name, rng):
    X, y = problem(rng)
    source = np.random.default_rng(5)
    learner = build(module, name, **({"seed": source} if name in CHANCE else {}))
    fresh = readings(learner, X)
    first = all_of(learner.run(X, y))
    learner.reset()
    np.testing.assert_equal(readings(learner, X), fresh)
    np.testing.assert_equal(all_of(learner.run(X, y)), first)
    learner.reset()
    learner.run(X[:, :2], y)  # another dimension
    assert source.random() == np.random.default_rng(5).random(), "the seed itself has moved"


# --- the simple filter ----------------------------------------------------------------------


def test_simple_filter_by_hand(module):
    learner = module.SimpleFilter()
    for relevant in (False, False, False, True):
        learner.learn([1.0], relevant)
    assert learner.margin([5.0]) == -0.25
    for t in range(1, 60):
        assert learner.threshold == pytest.approx(-math.sqrt(4.0 * math.log(t) / 4.0), abs=1e-15)
        assert learner.forward([2.0]) == (-0.25 >= -math.sqrt(math.log(t)))


# --- coins ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHANCE)
@pytest.mark.parametrize("p", [0.0, 0.25, 1.0])
def test_the_coin_is_drawn_below_margin_zero_alone(module, name, p):
    changes = {"explore": p, "seed": 11}
    if "horizon" in FILTERS[name][1]:
        changes["horizon"] = None
    learner, draws = build(module, name, **changes), np.random.default_rng(11)
    learner.learn([1.0, 0.0], False)
    assert learner.margin([1.0, 0.0]) < 0.0 < learner.margin([-1.0, 0.0])
    heads = 0
    for t in range(4000):
        if t % 3 == 0:
            assert learner.forward([-1.0, 0.0]) is True
            assert learner.forward([0.0, 1.0]) is True  # a margin of zero is not below zero
        head = draws.random() < p
        assert learner.forward([1.0, 0.0]) == head
        heads += head
    assert abs(heads / 4000 - p) <= 4.0 * math.sqrt(p * (1.0 - p) / 4000)
    assert learner.learned == 1


# --- Perceptron and apple tasting -----------------------------------------------------------


def test_the_perceptron_moves_on_mistakes_alone(module, rng):
    X, y = problem(rng, T=80)
    learner, w = module.PerceptronFilter(), np.zeros(5)
    for x, relevant in zip(X, y, strict=True):
        if (w @ x >= 0.0) != relevant:
            w = w + (x if relevant else -x)
        learner.learn(x, relevant)
        np.testing.assert_allclose([learner.margin(e) for e in np.eye(5)], w, atol=1e-12)


def test_apple_tasting_uses_margin_and_learn_alone(module, rng):
    """The inner rule would forward nearly everything; it counts no rounds and stays a copy."""
    X, y = problem(rng, T=80)
    inner = module.RidgeFilter(threshold_scale=100.0)
    learner = module.AppleTasting(inner, 0.0)
    shadow = copy.deepcopy(inner)
    for x, relevant in zip(X, y, strict=True):
        forwarded = learner.forward(x)
        assert forwarded == (shadow.margin(x) >= 0.0)
        if forwarded:
            learner.learn(x, relevant)
            shadow.learn(x, relevant)
    assert learner.rounds == 80 and 0 < learner.learned < 80
    assert learner.classifier.rounds == 0 and learner.classifier.learned == learner.learned
    assert inner.learned == 0, "the classifier given has changed"
    inner.learn(X[0], True)
    learner.reset()
    assert learner.classifier.learned == 0, "the classifier given is not a copy"


def test_apple_tasting_over_a_class_of_ones_own(module):
    class Counter:
        def __init__(self):
            self.seen = []

        def margin(self, x):
            return 1.0 - 2.0 * len(self.seen)

        def learn(self, x, relevant):
            self.seen.append((x, relevant))

    learner = module.AppleTasting(Counter(), 0.0)
    assert learner.forward("any kind of x") is True
    learner.learn("any kind of x", True)
    assert learner.forward("any kind of x") is False
    assert learner.classifier.seen == [("any kind of x", True)]
    learner.reset()
    assert learner.classifier.seen == [] and learner.learned == learner.rounds == 0


# --- errors ---------------------------------------------------------------------------------


@filters
def test_after_an_error_the_filter_is_as_before(module, name, rng):
    learner, (X, y) = trained(module, name, rng), problem(rng, T=20)
    with unchanged(learner, X, y):
        for _, x in bad_rows(5):
            for do in (learner.margin, learner.forward, lambda x: learner.learn(x, True)):
                with pytest.raises((ValueError, TypeError), match=r"\bx\b"):
                    do(x)
        for relevant in (-2, 2, 0.5, "True", None):
            with pytest.raises((ValueError, TypeError), match=r"\brelevant\b"):
                learner.learn(X[0], relevant)
        bad_tables = (X[0], np.where(X == X[3, 2], np.nan, X), out_of_range(5), "rows", X[:, :0])
        for X_bad in bad_tables:
            with pytest.raises((ValueError, TypeError), match=r"\bX\b"):
                learner.run(X_bad, y)
        with pytest.raises((ValueError, TypeError), match=r"\b[xX]\b"):
            learner.run(X[:, 1:], y)
        for y_bad in (y[1:], y[None], y + 0.5, np.where(y, 1, -2), ["yes"] * 20):
            with pytest.raises((ValueError, TypeError), match=r"\by\b"):
                learner.run(X, y_bad)


@pytest.mark.parametrize("name", [name for name in FILTERS if name not in ("simple", "rbf")])
def test_a_row_beyond_the_range_of_float64(module, name, rng):
    learner, (X, y) = trained(module, name, rng), problem(rng, T=20)
    with unchanged(learner, X, y):
        for do in (learner.forward, lambda x: learner.learn(x, True)):
            with pytest.raises(ValueError, match=r"\bx\b|kernel"):
                do(np.full(5, 1.7e308))


REFUSED = [
    ("RidgeFilter", "threshold_scale", {"threshold_scale": -1.0}),
    ("RidgeFilter", "threshold_scale", {"threshold_scale": np.nan}),
    ("RidgeFilter", "covariance", {"covariance": "none"}),
    ("RidgeFilter", "feedback", {"feedback": "half"}),
    ("RidgeFilter", "forget", {"forget": 0.0}),
    ("RidgeFilter", "forget", {"forget": 1.01}),
    ("RidgeFilter", "window", {"window": 0}),
    ("RidgeFilter", "window", {"window": -2}),
    ("RidgeFilter", "window", {"window": 2.0}),
    ("RidgeFilter", "window", {"window": 5, "covariance": "diagonal"}),
    ("RidgeFilter", "window", {"window": 5, "forget": 0.9}),
    ("RidgeFilter", "forget", {"forget": 0.9, "covariance": "kernel"}),
    ("RidgeFilter", "rule", {"rule": "lcb"}),
    ("RidgeFilter", "rule", {"rule": "ucb", "feedback": "full"}),
    ("RidgeFilter", "delta", {"delta": 0.0}),
    ("RidgeFilter", "delta", {"delta": 1.0}),
    ("RidgeFilter", "kernel", {"kernel": "rbf"}),
    ("RidgeFilter", "kernel", {"kernel": "cubic", "covariance": "kernel"}),
    ("RidgeFilter", "kernel_params", {"covariance": "kernel", "kernel_params": {"gama": 1.0}}),
    ("ProbabilisticRidgeFilter", "explore", {}),
    ("ProbabilisticRidgeFilter", "explore", {"explore": 0.1, "horizon": 10}),
    ("ProbabilisticRidgeFilter", "explore", {"explore": 1.5}),
    ("ProbabilisticRidgeFilter", "explore", {"explore": -0.1}),
    ("ProbabilisticRidgeFilter", "horizon", {"horizon": 0}),
    ("ProbabilisticRidgeFilter", "horizon", {"horizon": 10.0}),
    ("ProbabilisticRidgeFilter", "a", {"explore": 0.1, "a": 0.0}),
    ("ProbabilisticRidgeFilter", "covariance", {"explore": 0.1, "covariance": "half"}),
    ("ProbabilisticRidgeFilter", "seed", {"explore": 0.1, "seed": "now"}),
    ("PerceptronFilter", "feedback", {"feedback": None}),
    ("AppleTasting", "classifier", {"classifier": object(), "explore": 0.1}),
    ("AppleTasting", "classifier", {"classifier": None, "explore": 0.1}),
]


@pytest.mark.parametrize("kind, named, arguments", REFUSED)
def test_refused_parameters(module, kind, named, arguments):
    with pytest.raises((ValueError, TypeError), match=rf"\b{named}\b"):
        getattr(module, kind)(**arguments)


@pytest.mark.parametrize("explore", [-0.1, 1.1, None, "often", np.nan])
def test_apple_tasting_refuses_what_is_no_probability(module, explore):
    with pytest.raises((ValueError, TypeError), match="explore"):
        module.AppleTasting(module.PerceptronFilter(), explore)


@pytest.mark.parametrize("kind", ["RidgeFilter", "ProbabilisticRidgeFilter", "PerceptronFilter"])
def test_parameters_with_a_default_go_by_name(module, kind):
    with pytest.raises(TypeError):
        getattr(module, kind)(1.0)
