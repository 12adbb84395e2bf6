"""What a label costs: cost ratios, batches of rows, probabilities; topics with known labels."""

import copy
import itertools
import math

import numpy as np
import pytest
import scipy.sparse
from coactive_cases import golden as needs_golden
from filtering_cases import MODULES, all_of, golden_readings, learn_all, problem, unchanged
from row_cases import bad_rows, close, golden, golden_names

import coactive_fast as cf
from coactive_fast.reference.filtering_ridge import isotonic

# every kind of ridge filter
KINDS = {
    "full": ("RidgeFilter", {}),
    "diagonal": ("RidgeFilter", {"covariance": "diagonal", "threshold_scale": 0.5}),
    "kernel": ("RidgeFilter", {"covariance": "kernel", "kernel": "rbf"}),
    "window": ("RidgeFilter", {"window": 9}),
    "full feedback": ("RidgeFilter", {"feedback": "full"}),
    "probabilistic": ("ProbabilisticRidgeFilter", {"explore": 0.2, "seed": 1}),
    "probabilistic kernel": (
        "ProbabilisticRidgeFilter",
        {"explore": 0.2, "seed": 1, "covariance": "kernel", "a": 0.1},
    ),
}
kinds = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


def build(module, kind, **changes):
    name, arguments = KINDS[kind]
    return getattr(module, name)(**{**arguments, **changes})


# --- golden vectors -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", golden_names("more_filtering_cost"))
def test_golden(module, name):
    a, meta = golden(name)
    learner, whole = (getattr(module, meta["learner"])(**meta["arguments"]) for _ in range(2))
    thresholds, margins = [], []
    for x, relevant, forwarded in zip(a["X"], a["y"], a["forwarded"], strict=True):
        thresholds.append(learner.threshold)
        margins.append(learner.margin(x))
        assert learner.forward(x) == forwarded
        if forwarded or learner.feedback == "full":
            learner.learn(x, relevant)
    never = np.isinf(a["thresholds"])
    np.testing.assert_array_equal(np.isinf(thresholds), never)
    close(np.array(thresholds)[~never], a["thresholds"][~never], 1e-8)
    close(margins, a["margins"], 1e-8)
    history = whole.run(a["X"], a["y"])
    np.testing.assert_array_equal(history.forwarded, a["forwarded"])
    close(history.margins, a["margins"], 1e-8)


@needs_golden
def test_golden_readings(module):
    a = golden_readings()["ridge"]
    plain, fitted = (module.RidgeFilter(cost_ratio=float(a["cost_ratio"]), calibrate=calibrate)
                     for calibrate in (False, True))
    for learner in (plain, fitted):
        learner.run(a["X"], a["y"])
        close(learner.margins(a["Z"]), a["margins"], 1e-8)
        np.testing.assert_array_equal(learner.select(a["Z"], 12), a["select"])
    close([plain.probability(z) for z in a["Z"]], a["probability"], 1e-8)
    found = np.array([fitted.probability(z) for z in a["Z"]])
    assert (found >= a["calibrated_low"] - 1e-8).all()
    assert (found <= a["calibrated_high"] + 1e-8).all()


@needs_golden
def test_golden_labelled_topics(module):
    a = golden_readings()["labelled"]
    histories = module.run_topics(module.RidgeFilter(), a["X"], a["Y"],
                                  labelled=(a["X0"], a["Y0"]))
    for topic, history in enumerate(histories):
        np.testing.assert_array_equal(history.forwarded, a["forwarded"][:, topic])
        close(history.margins, a["margins"][:, topic], 1e-8)


# --- the cost ratio -----------------------------------------------------------------------------


@pytest.mark.parametrize("rho", [0.25, 1.0, 3.0])
def test_the_threshold_moves_by_tau(module, rho, rng):
    X, y = problem(rng, T=60)
    learner, tau = module.RidgeFilter(cost_ratio=rho, threshold_scale=1.0), (rho - 1) / (rho + 1)
    assert learner.threshold == -math.inf
    held = 0
    for t, (x, relevant) in enumerate(zip(X, y, strict=True), start=1):
        if learner.learned:
            expected = tau - math.sqrt(math.log(t) / learner.learned)
            assert learner.threshold == pytest.approx(expected, abs=1e-15)
        margin = learner.margin(x)
        wanted = margin >= learner.threshold
        assert learner.forward(x) == wanted
        if wanted:
            learner.learn(x, bool(relevant))
        held += not wanted
    assert held > 0 or rho < 1.0
    full = module.RidgeFilter(cost_ratio=rho, feedback="full")
    assert full.threshold == pytest.approx(tau, abs=1e-16)


def test_a_needless_forward_that_costs_more_is_avoided(module, rng):
    X, y = problem(rng, T=200)
    forwarded = [int(module.RidgeFilter(cost_ratio=rho, threshold_scale=0.5).run(X, y)
                     .forwarded.sum()) for rho in (0.2, 1.0, 5.0)]
    assert forwarded[0] > forwarded[1] > forwarded[2] > 0


def test_a_ratio_of_one_is_the_paper(module, rng):
    X, y = problem(rng)
    for arguments in ({}, {"feedback": "full"}, {"rule": "ucb"}):
        np.testing.assert_equal(
            all_of(module.RidgeFilter(cost_ratio=1.0, **arguments).run(X, y)),
            all_of(module.RidgeFilter(**arguments).run(X, y)))


@pytest.mark.parametrize("rho", [0.5, 4.0])
def test_the_ucb_rule_asks_whether_tau_may_be_reached(module, rho, rng):
    X, y = problem(rng, T=150, d=4)
    learner, A, b = module.RidgeFilter(rule="ucb", cost_ratio=rho), np.eye(4), np.zeros(4)
    tau, held = (rho - 1.0) / (rho + 1.0), 0
    for x, relevant in zip(X, y, strict=True):
        v = np.linalg.solve(A, x)
        width = math.sqrt(np.linalg.slogdet(A)[1] + 2.0 * math.log(20.0)) + 1.0
        expected = learner.learned == 0 or b @ v + width * math.sqrt(x @ v) >= tau
        assert learner.forward(x) == expected
        if expected:
            learner.learn(x, bool(relevant))
            A, b = A + np.outer(x, x), b + (x if relevant else -x)
        held += not expected
    assert held > 0 or rho < 1.0


# --- many rows ----------------------------------------------------------------------------------


@kinds
def test_margins_and_select(module, kind, rng):
    X, y = problem(rng, T=40)
    learner = build(module, kind)
    np.testing.assert_array_equal(learner.margins(X), np.zeros(40))
    assert learner.select(X, 3).tolist() == [0, 1, 2]  # ties to the lower index
    learner.run(X, y)
    Z = np.concatenate([X, X[:7]])  # rows twice
    with unchanged(learner, X, y):
        margins = learner.margins(Z)
        close(margins, [learner.margin(z) for z in Z], 1e-9)
        best = sorted(range(47), key=lambda i: (-margins[i], i))
        for k in (0, 1, 12, 47, 1000):
            chosen = learner.select(Z, k)
            assert chosen.dtype == np.intp and chosen.tolist() == best[:k]
        np.testing.assert_array_equal(learner.margins(scipy.sparse.csr_matrix(Z)), margins)
        assert learner.margins(np.zeros((0, 5))).shape == (0,)


@pytest.mark.parametrize("arguments", [
    {"kernel": "linear"}, {"kernel": "rbf"}, {"kernel": "poly"}, {"window": 130}, {"budget": 110},
], ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_margins_in_blocks_have_the_bits_of_single_ones(arguments, sparse, rng):
    """More rows than a block has, learned and asked about."""
    X = rng.standard_normal((330, 90)) * (rng.random((330, 90)) < 0.3)
    X = scipy.sparse.csr_matrix(X) if sparse else X
    learner = cf.RidgeFilter(covariance="kernel", feedback="full", **arguments)
    learner.run(X[:140], rng.random(140) < 0.3)
    margins = learner.margins(X)
    assert margins.tolist() == [learner.margin(X[t]) for t in range(330)]
    assert learner.margins(X[5:6]).tolist() == margins[5:6].tolist()
    assert learner.select(X, 5).tolist() == np.argsort(-margins, kind="stable")[:5].tolist()


def test_a_row_that_overflows_is_named(rng):
    X = np.concatenate([rng.standard_normal((250, 4)), np.full((1, 4), 1e200)])
    for arguments in ({"covariance": "kernel"}, {}):
        learner = cf.RidgeFilter(feedback="full", **arguments)
        learner.run(X[:120], X[:120, 0] > 0.0)
        with pytest.raises(ValueError, match="row 250 of X"):
            learner.margins(X)
        assert learner.margins(X[:250]).shape == (250,)


@kinds
def test_bad_arguments_of_the_readings(module, kind, rng):
    X, y = problem(rng, T=20)
    learner = build(module, kind)
    learner.run(X, y)
    with unchanged(learner, X, y):
        for _, x in bad_rows(5):
            with pytest.raises((ValueError, TypeError), match=r"\bx\b"):
                learner.probability(x)
        for bad in (X[0], X[:, 1:], np.where(X == X[2, 1], np.nan, X), "rows"):
            with pytest.raises((ValueError, TypeError), match=r"\b[xX]\b"):
                learner.margins(bad)
        for k in (-1, 2.0, True, None):
            with pytest.raises((ValueError, TypeError), match=r"\bk\b"):
                learner.select(X, k)


# --- probabilities ------------------------------------------------------------------------------


@kinds
def test_probability_without_a_fit(module, kind, rng):
    X, y = problem(rng, T=40)
    learner = build(module, kind)
    assert learner.probability(X[0]) == 0.5
    learner.run(X, y)
    for scale in (1.0, 50.0):  # clipped
        for x in scale * X:
            p = learner.probability(x)
            assert type(p) is float
            assert p == pytest.approx(min(max((1.0 + learner.margin(x)) / 2.0, 0.0), 1.0))


@kinds
def test_the_fit_is_that_of_the_margins_just_before(module, kind, rng):
    X, y = problem(rng, T=50)
    learner = build(module, kind, calibrate=True)
    assert learner.probability(X[0]) == 0.5
    margins, labels = [], []
    for t, (x, relevant) in enumerate(zip(X, y, strict=True)):
        margins.append(learner.margin(x))
        labels.append(float(relevant))
        learner.learn(x, bool(relevant))
        if t % 12 == 0:
            knots, values = explicit_isotonic(margins, labels)
            found = [learner.probability(z) for z in X]
            close(found, np.interp(learner.margins(X), knots, values), 1e-7)
    plain = build(module, kind)
    learn_all(plain, X, y)
    np.testing.assert_array_equal(plain.margins(X), learner.margins(X))


def explicit_isotonic(margins, labels):
    """By the formula of min and max: v_i = max over a <= i of min over b >= i of the mean."""
    knots = sorted(set(margins))
    own = [[label for m, label in zip(margins, labels, strict=True) if m == knot] for knot in knots]
    values = []
    for i in range(len(knots)):
        values.append(max(
            min(np.mean(list(itertools.chain(*own[a : b + 1]))) for b in range(i, len(knots)))
            for a in range(i + 1)))
    return knots, values


def test_isotonic_by_the_formula_of_min_and_max(rng):
    for _ in range(60):
        n = int(rng.integers(1, 14))
        margins = rng.integers(-3, 4, n) / 2.0
        labels = (rng.random(n) < 0.5).astype(float)
        knots, values = explicit_isotonic(margins.tolist(), labels.tolist())
        found = isotonic(margins, labels)
        np.testing.assert_array_equal(found[0], knots)
        np.testing.assert_allclose(found[1], values, rtol=0, atol=1e-15)


def test_reading_the_fit_in_between_changes_nothing(rng):
    X, y = problem(rng, T=300)
    X[100:130] = X[3]  # equal rows with other labels
    asked, plain = (cf.RidgeFilter(calibrate=True, feedback="full") for _ in range(2))
    for t in range(300):
        for learner in (asked, plain):
            learner.learn(X[t], bool(y[t]))
        if t % 7 == 0:
            asked.probability(X[0])
    assert [asked.probability(x) for x in X] == [plain.probability(x) for x in X]
    assert str(asked._engine._state()) == str(plain._engine._state())


def test_a_fit_puts_right_what_the_margin_exaggerates(module, rng):
    """Labels of probability 0.3 and 0.6, whatever the margin says."""
    X = np.where(np.arange(600)[:, None] % 2 == 0, [[0.1, 1.0]], [[1.0, 0.1]])
    y = rng.random(600) < np.where(np.arange(600) % 2 == 0, 0.3, 0.6)
    learner = learn_all(module.RidgeFilter(calibrate=True), X, y)
    assert learner.probability(X[0]) == pytest.approx(np.mean(y[::2]), abs=0.06)
    assert learner.probability(X[1]) == pytest.approx(np.mean(y[1::2]), abs=0.06)
    learner.reset()
    assert learner.probability(X[0]) == 0.5


# --- topics -------------------------------------------------------------------------------------


@kinds
def test_labelled_rows_are_learned_before_the_stream(module, kind, rng):
    X, y = problem(rng, T=40)
    Y = np.array([y, ~y, np.roll(y, 5)]).T
    template = build(module, kind)
    X0, Y0 = X[:9] + 0.1, Y[:9]
    histories = module.run_topics(template, X, Y, labelled=(X0, Y0))
    assert len(histories) == 3 and template.learned == 0
    for topic, history in enumerate(histories):
        single = build(module, kind)
        learn_all(single, X0, Y0[:, topic])
        assert (single.rounds, single.learned) == (0, 9)
        if "seed" in KINDS[kind][1]:
            continue  # each topic draws from a stream of its own
        expected = single.run(X, Y[:, topic])
        np.testing.assert_array_equal(history.forwarded, expected.forwarded)
        close(history.margins, expected.margins)


@pytest.mark.parametrize("kind", ["full", "probabilistic"])
def test_topics_of_twin_and_product(kind, rng):
    """Without known labels; the streams of chance are the same."""
    X, y = problem(rng, T=60)
    Y = np.array([y, ~y]).T
    pairs = zip(cf.reference.run_topics(build(cf.reference, kind), X, Y),
                cf.run_topics(build(cf, kind), X, Y), strict=True)
    for slow, fast in pairs:
        np.testing.assert_array_equal(slow.forwarded, fast.forwarded)
        close(fast.margins, slow.margins)


def test_bad_arguments_of_topics(module, rng):
    X, y = problem(rng, T=10)
    Y = np.array([y, ~y]).T
    learner = module.RidgeFilter()
    for changes, name in [
        ({"learner": object()}, "learner"),
        ({"X": X[0]}, "X"),
        ({"Y": y}, "Y"),
        ({"Y": Y[1:]}, "Y"),
        ({"Y": Y + 0.5}, "Y"),
        ({"labelled": X}, "labelled"),
        ({"labelled": (X[:3], Y[:2])}, "labelled"),
        ({"labelled": (X[:3], Y[:3, :1])}, "labelled"),
        ({"labelled": (X[:3, 1:], Y[:3])}, "labelled"),
        ({"n_jobs": 0}, "n_jobs"),
    ]:
        given = {"learner": learner, "X": X, "Y": Y, **changes}
        with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
            module.run_topics(given.pop("learner"), given.pop("X"), given.pop("Y"), **given)


# --- copies, errors -----------------------------------------------------------------------------


@kinds
def test_copies_keep_the_fit(module, kind, rng):
    X, y = problem(rng, T=30)
    learner = learn_all(build(module, kind, calibrate=True), X, y)
    other = copy.deepcopy(learner)
    assert [other.probability(x) for x in X] == [learner.probability(x) for x in X]
    other.learn(X[0], True)
    assert learner.learned == 30


@pytest.mark.parametrize("named, arguments", [
    ("cost_ratio", {"cost_ratio": 0.0}),
    ("cost_ratio", {"cost_ratio": -1.0}),
    ("cost_ratio", {"cost_ratio": np.inf}),
    ("cost_ratio", {"cost_ratio": "2"}),
    ("calibrate", {"calibrate": "yes"}),
    ("calibrate", {"calibrate": 1}),
])
def test_refused_parameters(module, named, arguments):
    with pytest.raises((ValueError, TypeError), match=rf"\b{named}\b"):
        module.RidgeFilter(**arguments)


@kinds
def test_settings_change_and_what_shapes_the_state_does_not(kind, rng):
    X, y = problem(rng, T=30)
    learner = learn_all(build(cf, kind), X, y)
    margins = learner.margins(X).tolist()
    learner.set_params(cost_ratio=3.0)
    assert learner.margins(X).tolist() == margins
    assert "probabilistic" not in kind or learner.threshold == pytest.approx(0.5)
    with pytest.raises(ValueError, match="calibrate shapes"):
        learner.set_params(calibrate=True)
    learner.reset().set_params(calibrate=True)
    assert learner.probability(X[0]) == 0.5


@kinds
def test_files_keep_the_fit(kind, rng, tmp_path):
    X, y = problem(rng, T=60)
    learner = build(cf, kind, calibrate=True, cost_ratio=1.2)
    learner.run(X[:40], y[:40])
    learner.save(tmp_path / "learner.cf")
    other = cf.load(tmp_path / "learner.cf")
    assert other.margins(X).tolist() == learner.margins(X).tolist()
    for one in (learner, other):
        one.run(X[40:], y[40:])
    assert [other.probability(x) for x in X] == [learner.probability(x) for x in X]


@pytest.mark.parametrize("key, value", [
    ("margins", np.full(30, np.nan)), ("margins", np.zeros(29)), ("relevant", np.full(30, 2)),
    ("relevant", np.zeros(30)),
])
def test_states_of_a_fit_that_lie_are_refused(key, value, rng):
    learner = learn_all(cf.RidgeFilter(calibrate=True), *problem(rng, T=30))
    state = learner._engine._state()
    with pytest.raises((ValueError, TypeError), match=key):
        learner._engine._restore({**state, "fit": {**state["fit"], key: value}})
    with pytest.raises((ValueError, TypeError), match="known"):
        learner._engine._restore({**state, "known": -1.0})
    with pytest.raises((ValueError, TypeError), match="relevant"):
        learner._engine._restore({**state, "relevant": 31})
    assert str(learner._engine._state()) == str(state)


class Counting:
    """A classifier of one's own."""

    def __init__(self):
        self.seen = []

    def margin(self, x):
        return float(np.sum(self.seen)) + float(np.asarray(x).sum()) / 100.0

    def learn(self, x, relevant):
        self.seen.append(1.0 if relevant else -1.0)


@pytest.mark.parametrize("classifier", [
    cf.RidgeFilter(feedback="full", calibrate=True), cf.PerceptronFilter(), Counting(),
], ids=lambda one: type(one).__name__)
def test_apple_tasting_begins_with_labels_too(classifier, rng):
    X, y = problem(rng, T=40)
    Y = np.array([y, ~y]).T
    template = cf.AppleTasting(classifier, 0.0, seed=0)
    histories = cf.run_topics(template, X, Y, labelled=(X[:9], Y[:9]))
    for topic, history in enumerate(histories):
        single = learn_all(cf.AppleTasting(copy.deepcopy(classifier), 0.0, seed=0), X[:9],
                           Y[:9, topic])
        assert single.learned == 9
        np.testing.assert_equal(all_of(history), all_of(single.run(X, Y[:, topic])))


def test_no_labelled_rows_are_none(rng):
    X, y = problem(rng, T=20)
    for arguments in ({}, {"covariance": "kernel", "feedback": "full"}):
        with_none, without = (
            cf.run_topics(cf.RidgeFilter(**arguments), X, y[:, None], labelled=labelled)[0]
            for labelled in ((X[:0], y[:0, None]), None))
        np.testing.assert_equal(all_of(with_none), all_of(without))
