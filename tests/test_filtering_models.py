"""The compiled filters' models: long streams against rebuilt ones, budgets, memory, topics."""

import copy
import pickle

import children
import numpy as np
import pytest
import scipy.sparse
from filtering_cases import FILTERS, build, problem
from row_cases import close, unit_rows
from state_files import python

import coactive_fast as cf
from coactive_fast import _memory


def labels(X, rng):
    return X @ rng.standard_normal(X.shape[1]) > 0.0


def explicit(X, y, x, ridge=1.0):
    """``b^T A^-1 x / (1 + q)`` from the rows themselves."""
    A = ridge * np.eye(X.shape[1]) + X.T @ X
    v = np.linalg.solve(A, x)
    return (X.T @ np.where(y, 1.0, -1.0)) @ v / (1.0 + x @ v)


def test_a_state_without_rows_is_given_again():
    """Sparse rows are meant, and none is there."""
    learner = cf.RidgeFilter(covariance="kernel")
    learner.learn(np.eye(1, 100)[0], True)
    state = learner._engine._state()
    state["model"]["gram"] = {"n": 0, "factor": np.empty(0), "c": np.empty(0), "info": 0.0,
                              "kept": {"d": 100, "n": 0, "form": 2}}
    state["model"].update(y=np.empty(0), born=np.empty(0, np.int64))
    learner._engine._restore(state)
    again = learner._engine._state()
    np.testing.assert_equal(again, state)
    learner.learn(np.eye(1, 100)[0], True)
    assert learner.margin(np.eye(1, 100)[0]) == pytest.approx(1 / 3)


@pytest.mark.parametrize("arguments", [{}, {"forget": 0.5}, {"forget": 0.9}, {"window": 4}],
                         ids=repr)
@pytest.mark.parametrize("power", [9, 40, 75])
def test_long_rows_leave_a_filter_that_is_copied(arguments, power):
    """Also where the drift of its inverse is beyond all numbers."""
    rng = np.random.default_rng(5)
    learner = cf.RidgeFilter(**arguments)
    for t in range(40):
        x = rng.normal(size=3) * (10.0**power if t % 5 == 2 else 1.0)
        for one in (learner, copy.deepcopy(learner)):
            try:
                one.learn(x, t % 2 == 0)
            except (ValueError, ArithmeticError) as error:
                assert "x" in str(error)  # what it could do without is told


# --- windows and forgetting -------------------------------------------------------------------


@pytest.mark.parametrize("covariance, scale", [
    ("full", 1.0), ("full", 30.0), ("full", 1e4), ("kernel", 1.0), ("kernel", 30.0),
])
@pytest.mark.parametrize("window", [1, 10, 70])
def test_a_long_window_equals_a_rebuilt_model(window, scale, covariance, rng):
    """Also where a loss costs digits: long rows that are nearly all there is to know."""
    X = scale * unit_rows(rng, 900, 6) * np.where(rng.random((900, 1)) < 0.1, 0.01, 1.0)
    y = labels(X, rng)
    learner = cf.RidgeFilter(covariance=covariance, window=window)
    for t, (x, relevant) in enumerate(zip(X, y, strict=True), start=1):
        learner.learn(x, bool(relevant))
        if t % 97 == 0:
            begin = max(t - window, 0)
            expected = [explicit(X[begin:t], y[begin:t], row) for row in X[:6]]
            np.testing.assert_allclose([learner.margin(row) for row in X[:6]], expected,
                                       rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("forget", [0.999, 0.9, 0.3])
def test_long_forgetting_equals_the_twin(forget, rng):
    """The scale of the past goes into the matrix again and again."""
    X = unit_rows(rng, 600, 5)
    y = labels(X, rng)
    for covariance in ("full", "diagonal"):
        arguments = {"covariance": covariance, "forget": forget}
        fast, slow = cf.RidgeFilter(**arguments), cf.reference.RidgeFilter(**arguments)
        for x, relevant in zip(X, y, strict=True):
            fast.learn(x, bool(relevant))
            slow.learn(x, bool(relevant))
        close([fast.margin(x) for x in X[:50]], [slow.margin(x) for x in X[:50]])
        ucb = copy.deepcopy(fast).set_params(rule="ucb")
        slow.rule = "ucb"
        assert ucb.threshold == pytest.approx(slow.threshold, rel=1e-9)


def test_a_change_of_forgetting_takes_effect_at_the_next_example(rng):
    X = unit_rows(rng, 80, 4)
    y = labels(X, rng)
    for covariance in ("full", "diagonal"):
        learner = cf.RidgeFilter(covariance=covariance)
        twin = cf.reference.RidgeFilter(covariance=covariance)
        for t, (x, relevant) in enumerate(zip(X, y, strict=True)):
            if t == 40:
                learner.set_params(forget=0.8)
                twin.forget = 0.8
            learner.learn(x, bool(relevant))
            twin.learn(x, bool(relevant))
        close([learner.margin(x) for x in X[:20]], [twin.margin(x) for x in X[:20]])


# --- kernels ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("d", [9, 300, 5000])
def test_kernels_on_rows_kept_dense_and_sparse(kernel, d, rng):
    X = np.where(rng.random((60, d)) < 8.0 / d, rng.standard_normal((60, d)), 0.0)
    y = rng.random(60) < 0.5
    arguments = {"covariance": "kernel", "kernel": kernel, "feedback": "full"}
    if kernel != "linear":
        arguments["kernel_params"] = {"gamma": 0.7}
    fast, slow = cf.RidgeFilter(**arguments), cf.reference.RidgeFilter(**arguments)
    history = fast.run(scipy.sparse.csr_matrix(X), y)
    expected = slow.run(X, y)
    close(history.margins, expected.margins)


def test_text_with_a_window_forgets_its_postings(rng):
    X = scipy.sparse.random(400, 20_000, density=4e-4, format="csr", random_state=3)
    y = rng.random(400) < 0.5
    learner = cf.RidgeFilter(covariance="kernel", window=25, feedback="full")
    learner.run(X, y)
    last = cf.RidgeFilter(covariance="kernel", feedback="full")
    last.run(X[-25:], y[-25:])
    for t in range(0, 400, 7):
        assert learner.margin(X[t]) == pytest.approx(last.margin(X[t]), rel=1e-9, abs=1e-12)
    loaded = pickle.loads(pickle.dumps(learner))
    more = learner.run(X[:60], y[:60])
    assert loaded.run(X[:60], y[:60]) == more


@pytest.mark.parametrize("window", [None, 25])
def test_far_columns_are_as_good_as_near_ones(window, rng):
    if _memory.limit < 2**33:
        pytest.skip("such rows are refused on a small machine")
    wide = np.sort(rng.choice(2**27, 2000, replace=False))
    near = scipy.sparse.random(200, wide.size, density=2e-3, format="csr", random_state=3)
    near = scipy.sparse.csr_matrix((near.data, near.indices, near.indptr), (200, 5000))
    far = scipy.sparse.csr_matrix((near.data, wide[near.indices], near.indptr), (200, 2**27))
    y = rng.random(200) < 0.5
    histories = [cf.RidgeFilter(covariance="kernel", window=window, feedback="full").run(X, y)
                 for X in (near, far)]
    close(histories[0].margins, histories[1].margins)


TWO_NUMBERS = '''
import resource
import scipy.sparse
import coactive_fast as cf

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
row = scipy.sparse.csr_matrix(([1.0, 2.0], ([0, 0], [3, 2**27 - 1])), shape=(1, 2**27))
for learner in (cf.RidgeFilter(covariance="kernel"), cf.RidgeFilter(covariance="kernel", budget=5),
                cf.RidgeFilter(covariance="kernel", kernel="rbf")):
    learner.forward(row)
    learner.learn(row, True)
    learner.margin(row)
for projection in (False, True):
    learner = cf.Confidit(3, covariance="kernel", projection=projection)
    learner.learn(row, learner.choose(row), True)
metric = cf.metric.Dual()
metric.update(row)
assert abs(metric.quad(row) - 5.0 / 6.0) < 1e-12
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
'''


@pytest.mark.skipif(_memory.limit < 2**33, reason="such rows are refused on a small machine")
@pytest.mark.skipif(not children.can_limit_memory(), reason="a sanitizer notes every byte")
def test_two_numbers_in_many_columns():
    """Memory goes by what rows hold, not by their columns."""
    done = python(TWO_NUMBERS)  # no child of `children`, where the C library writes to all memory
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 2**17  # KB


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_budget_that_is_never_reached_changes_nothing(kernel, rng):
    X, y = problem(rng, T=60, d=30)
    whole = cf.RidgeFilter(covariance="kernel", kernel=kernel, feedback="full")
    within = cf.RidgeFilter(covariance="kernel", kernel=kernel, feedback="full", budget=80,
                            tolerance=0.0)
    close(within.run(X, y).margins, whole.run(X, y).margins, 1e-8)
    assert whole.approximation_error == 0.0 and within.approximation_error < 1e-9


def test_a_budget_reports_what_it_leaves_out(rng):
    """Two-dimensional rows: a few of them say nearly all (ALGORITHMS Q5's trial in small)."""
    X = rng.uniform(-1.0, 1.0, (1500, 2))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] > 0.0
    arguments = {"covariance": "kernel", "kernel": "rbf", "kernel_params": {"gamma": 2.0},
                 "feedback": "full"}
    whole = cf.RidgeFilter(**arguments).run(X, y)
    agree, errors = [], []
    for tolerance in (0.1, 1e-2, 1e-4):
        learner = cf.RidgeFilter(budget=60, tolerance=tolerance, **arguments)
        history = learner.run(X, y)
        agree.append(np.mean(history.forwarded == whole.forwarded))
        errors.append(learner.approximation_error)
    assert agree[0] < agree[2] and agree[2] > 0.995 and agree[1] > 0.98
    assert errors[0] > errors[1] > errors[2] > 0.0
    tight = cf.RidgeFilter(budget=3, **arguments)
    tight.run(X, y)
    assert tight.approximation_error > errors[0]


def test_memory_is_asked_for_before_it_is_taken(monkeypatch, rng):
    X, y = problem(rng, T=300, d=3)
    X += 1e-3 * rng.standard_normal(X.shape)
    learner = cf.RidgeFilter(covariance="kernel", feedback="full")
    monkeypatch.setattr(_memory, "limit", 100_000.0)
    with pytest.raises(MemoryError, match=r"\d+ bytes.*budget"):
        learner.run(X, y)
    n = learner.learned
    assert 16 <= n < 300 and learner.rounds == n  # what was not learned is not counted
    before = [learner.margin(x) for x in X[:5]]
    with pytest.raises(MemoryError):
        learner.learn(X[-1], True)
    assert [learner.margin(x) for x in X[:5]] == before and learner.learned == n
    monkeypatch.undo()
    learner.learn(X[-1], True)
    assert learner.learned == n + 1


def test_a_saved_filter_goes_on_alike(tmp_path, rng):
    """All forms, chance included, from a file and in the middle of a stream."""
    for name in FILTERS:
        learner, (X, y) = build(cf, name), problem(rng, T=80)
        learner.run(X[:50], y[:50])
        learner.forward(X[0])
        path = tmp_path / "filter.cf"
        learner.save(path)
        loaded = cf.load(path)
        assert type(loaded) is type(learner) and loaded.rounds == learner.rounds == 51
        assert loaded.learned == learner.learned
        assert loaded.run(X[50:], y[50:]) == learner.run(X[50:], y[50:]), name
        first = loaded.reset().run(X, y)
        assert first == build(cf, name).run(X, y)


def test_a_callable_kernel_cannot_be_saved(tmp_path, rng):
    def kernel(x, y):
        assert not x.flags.writeable and not y.flags.writeable
        return float(x @ y)

    X, y = problem(rng, T=20)
    learner = cf.RidgeFilter(covariance="kernel", kernel=kernel)
    learner.run(X, y)
    with pytest.raises(ValueError, match="kernel cannot be saved"):
        learner.save(tmp_path / "filter.cf")
    assert not (tmp_path / "filter.cf").exists()
    other = copy.deepcopy(learner)
    assert other.run(X, y) == learner.run(X, y)


def test_a_kernel_that_calls_back_is_refused(rng):
    """It would wait for the filter that waits for it."""
    X, y = problem(rng, T=6)
    inside = []

    def kernel(x, y):
        if inside:
            learner.learn(x, True)
        return float(x @ y)

    learner = cf.RidgeFilter(covariance="kernel", kernel=kernel)
    learner.run(X, y)
    inside.append(True)
    with pytest.raises(RuntimeError, match="within"):
        learner.forward(X[0])
    inside.clear()
    assert learner.forward(X[0]) in (True, False)


# --- apple tasting ----------------------------------------------------------------------------


class Mean:
    """A classifier of one's own: the mean label."""

    def __init__(self):
        self.labels = []

    def margin(self, x):
        return float(np.mean(self.labels)) if self.labels else 0.0

    def learn(self, x, relevant):
        self.labels.append(1.0 if relevant else -1.0)


def test_tasting_runs_alike_compiled_and_by_calls(rng):
    class Wrapped:
        """The same filter, but unknown to the package."""

        def __init__(self, inner):
            self.inner = inner
            self.margin, self.learn = inner.margin, inner.learn

        def __deepcopy__(self, memo):
            return Wrapped(copy.deepcopy(self.inner))

    X, y = problem(rng, T=200)
    inner = cf.RidgeFilter(feedback="full")
    compiled = cf.AppleTasting(inner, 0.2, seed=4)
    by_calls = cf.AppleTasting(Wrapped(inner), 0.2, seed=4)
    assert compiled.run(X, y) == by_calls.run(X, y)
    assert compiled.rounds == by_calls.rounds == 200
    assert compiled.learned == by_calls.learned == compiled.classifier.learned
    assert compiled.classifier.rounds == 0
    assert compiled.forward(X[0]) == by_calls.forward(X[0])


def test_tasting_keeps_its_classifier_in_its_state(tmp_path, rng):
    X, y = problem(rng, T=60)
    learner = cf.AppleTasting(cf.PerceptronFilter(), 0.3, seed=1)
    learner.run(X[:30], y[:30])
    for other in (copy.copy(learner), copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        assert other.run(X[30:], y[30:]) == copy.deepcopy(learner).run(X[30:], y[30:])
    with pytest.raises(ValueError, match="classifier shapes"):
        learner.set_params(classifier=cf.RidgeFilter())
    learner.set_params(explore=1.0)
    assert learner.run(X, y).forwarded.all()
    with pytest.raises(ValueError, match="explore"):
        learner.set_params(explore=1.5)
    own = cf.AppleTasting(Mean(), 0.1)
    own.learn(X[0], False)
    with pytest.raises(ValueError, match="classifier cannot be saved"):
        own.save(tmp_path / "own.cf")
    assert own.clone().learned == 0 and own.reset().margin(X[0]) == 0.0


def test_tasting_refuses_what_is_no_classifier():
    for wrong in (cf.PerceptronFilter, object(), None):
        with pytest.raises(TypeError, match="classifier"):
            cf.AppleTasting(wrong, 0.5)


# --- topics -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["full feedback", "forwarded", "full", "chance", "tasting"])
def test_topics_are_runs_of_their_own(name, rng):
    X, _ = problem(rng, T=250, d=12)
    Y = X @ rng.standard_normal((12, 3)) > 0.0
    learner = {
        "full feedback": cf.RidgeFilter(covariance="kernel", feedback="full"),
        "forwarded": cf.RidgeFilter(covariance="kernel", kernel="rbf"),
        "full": cf.RidgeFilter(rule="ucb"),
        "chance": cf.ProbabilisticRidgeFilter(explore=0.2, seed=7),
        "tasting": cf.AppleTasting(cf.PerceptronFilter(), 0.2, seed=7),
    }[name]
    learner.learn(X[0], True)  # a template is used as it is after reset
    histories = cf.run_topics(learner, X, Y, n_jobs=2)
    assert learner.learned == 1 and learner.rounds == 0
    assert histories == cf.run_topics(learner, X, Y)
    for k, history in enumerate(histories):
        fresh = learner.clone()
        if name in ("chance", "tasting"):
            fresh.set_params(seed=np.random.default_rng(7).spawn(3)[k])
        assert history == fresh.run(X, Y[:, k])


def test_topics_over_text_share_one_factor(rng):
    X = scipy.sparse.random(300, 4000, density=3e-3, format="csr", random_state=1)
    Y = scipy.sparse.csr_matrix(rng.random((300, 5)) < 0.3)
    seen = []
    histories = cf.run_topics(cf.RidgeFilter(covariance="kernel", feedback="full"), X, Y,
                              progress=lambda done, total: seen.append((done, total)))
    for k, history in enumerate(histories):
        one = cf.RidgeFilter(covariance="kernel", feedback="full")
        assert history == one.run(X, Y.toarray()[:, k])
    assert seen and seen[-1][1] == 300


def test_topics_refuse_what_does_not_fit(rng):
    X, y = problem(rng, T=10)
    for wrong in (y, y[:, None] + 0.5, np.tile(y[:5, None], 2)):
        with pytest.raises((ValueError, TypeError), match=r"\bY\b"):
            cf.run_topics(cf.RidgeFilter(), X, wrong)
    with pytest.raises(TypeError, match="learner"):
        cf.run_topics(cf.RidgeFilter, X, y[:, None])
    with pytest.raises(ValueError, match="n_jobs"):
        cf.run_topics(cf.RidgeFilter(), X, y[:, None], n_jobs=0)
    assert cf.run_topics(cf.RidgeFilter(), X, np.zeros((10, 0), bool)) == []


# --- histories --------------------------------------------------------------------------------


def test_regret_against_a_known_rule(rng):
    u = unit_rows(rng, 1, 4)[0]
    X = unit_rows(rng, 300, 4)
    y = rng.random(300) < (1.0 + X @ u) / 2.0
    history = cf.RidgeFilter().run(X, y, u=u)
    wrong = (history.forwarded != y).astype(float) - ((X @ u >= 0.0) != y)
    np.testing.assert_array_equal(history.regret, wrong)
    np.testing.assert_array_equal(history.cumulative_regret, np.cumsum(wrong))
    sparse = cf.RidgeFilter().run(scipy.sparse.csr_array(X), y, u=u)
    assert sparse == history
    with pytest.raises(ValueError, match="u"):
        _ = cf.RidgeFilter().run(X, y).cumulative_regret
    for bad in (u[1:], np.full(4, np.nan), "u"):
        with pytest.raises((ValueError, TypeError), match=r"\bu\b"):
            cf.RidgeFilter().run(X, y, u=bad)


def test_measures_along_the_stream(rng):
    X, y = problem(rng, T=50)
    history = cf.PerceptronFilter().run(X, y)
    for t in (1, 7, 50):
        f = history.forwarded[:t]
        both, either = np.sum(f & y[:t]), np.sum(f) + np.sum(y[:t])
        assert history.running_f_measure[t - 1] == pytest.approx(2.0 * both / max(either, 1))
    assert history.running_f_measure[-1] == pytest.approx(history.f_measure)
    np.testing.assert_array_equal(history.mistakes, history.forwarded != y)
    assert set(history.to_dict()) == {"forwarded", "margins", "relevant"}
    assert "f_measure" in repr(history)


# --- parameters -------------------------------------------------------------------------------


@pytest.mark.parametrize("named, arguments", [
    ("budget", {"covariance": "kernel", "budget": 0}),
    ("budget", {"budget": 5}),
    ("budget", {"covariance": "kernel", "budget": 5, "window": 5}),
    ("tolerance", {"covariance": "kernel", "budget": 5, "tolerance": -1.0}),
    ("kernel_params", {"covariance": "kernel", "kernel_params": [1]}),
    ("gamma", {"covariance": "kernel", "kernel": "rbf", "kernel_params": {"gamma": 0.0}}),
    ("degree", {"covariance": "kernel", "kernel": "poly", "kernel_params": {"degree": "two"}}),
    ("kernel", {"covariance": "kernel", "kernel": 3}),
    ("threshold_scale", {"threshold_scale": "5"}),
    ("forget", {"forget": np.nan}),
])
def test_refused_parameters(named, arguments):
    with pytest.raises((ValueError, TypeError), match=rf"\b{named}\b"):
        cf.RidgeFilter(**arguments)


def test_parameters_of_an_inner_filter():
    learner = cf.AppleTasting(cf.RidgeFilter(threshold_scale=2.0), 0.5)
    assert learner.get_params()["classifier__threshold_scale"] == 2.0
    assert "classifier__threshold_scale" not in learner.get_params(deep=False)
