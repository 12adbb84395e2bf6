"""The compiled filters where float64, memory, threads or other people's code set limits."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse
from filtering_cases import problem
from row_cases import FailingKernel, close, unit_rows

import coactive_fast as cf
from coactive_fast import _memory


def learn_all(learner, X, y):
    for x, relevant in zip(X, y, strict=True):
        learner.learn(x, bool(relevant))
    return learner


def margins(learner, X):
    return np.array([learner.margin(x) for x in X])


# --- forgetting ---------------------------------------------------------------------------------


@pytest.mark.parametrize("forget, d", [(1e-6, 5), (1e-3, 8), (1e-3, 40), (0.05, 30), (0.3, 40)])
def test_strong_forgetting_equals_the_twin(forget, d, rng):
    """The regulariser is filled up at every example."""
    X = unit_rows(rng, 120, d)
    y = rng.random(120) < 0.5
    fast, slow = cf.RidgeFilter(forget=forget), cf.reference.RidgeFilter(forget=forget)
    for t, (x, relevant) in enumerate(zip(X, y, strict=True)):
        fast.learn(x, bool(relevant))
        slow.learn(x, bool(relevant))
        if t % 13 == 0:
            close(margins(fast, X[max(t - 9, 0):t + 5]), margins(slow, X[max(t - 9, 0):t + 5]))
    rule = copy.deepcopy(fast).set_params(rule="ucb")
    slow.rule = "ucb"
    assert rule.threshold == pytest.approx(slow.threshold, rel=1e-9)


@pytest.mark.parametrize("forget", [1e-200, 5e-324])
def test_the_least_forget_leaves_one_example(forget, rng):
    """All but the last example is gone, and the regulariser is whole."""
    X = unit_rows(rng, 9, 2)
    learner = learn_all(cf.RidgeFilter(forget=forget), X, [True] * 9)
    v = np.linalg.solve(np.eye(2) + np.outer(X[8], X[8]), X[8])
    assert learner.margin(X[8]) == pytest.approx(X[8] @ v / (1.0 + X[8] @ v), abs=1e-12)


def test_strong_forgetting_goes_on_alike_from_a_copy_or_a_run(rng):
    X, y = unit_rows(rng, 300, 20), rng.random(300) < 0.5
    whole, single = cf.RidgeFilter(forget=0.2), cf.RidgeFilter(forget=0.2)
    history = whole.run(X, y)
    for t, (x, relevant) in enumerate(zip(X, y, strict=True)):
        assert single.margin(x) == history.margins[t]
        assert single.forward(x) == history.forwarded[t]
        if history.forwarded[t]:
            single.learn(x, bool(relevant))
        if t == 150:
            single = pickle.loads(pickle.dumps(single))
    np.testing.assert_equal(single._engine._state(), whole._engine._state())


def test_forgetting_may_become_strong(rng):
    X, y = unit_rows(rng, 90, 12), rng.random(90) < 0.5
    fast, slow = cf.RidgeFilter(), cf.reference.RidgeFilter()
    for t, (x, relevant) in enumerate(zip(X, y, strict=True)):
        if t in (30, 60):
            fast.set_params(forget={30: 0.3, 60: 1.0}[t])
            slow.forget = fast.forget
            close(margins(fast, X[:t]), margins(slow, X[:t]))
        fast.learn(x, bool(relevant))
        slow.learn(x, bool(relevant))
    close(margins(fast, X), margins(slow, X))


@pytest.mark.parametrize("forget", [0.5, 0.9])
@pytest.mark.parametrize("scale", [1e9, 1e20, 1e70])
def test_forgetting_of_long_rows_goes_on(scale, forget, rng):
    """A would allow no factorisation: its inverse is kept by its own factors. Fewer rows than
    features are as good as interpolated."""
    X, y = scale * rng.standard_normal((400, 20)), rng.random(400) < 0.5
    learner = learn_all(cf.RidgeFilter(forget=forget), X, y)
    found = margins(learner, X[-8:])
    np.testing.assert_array_equal(found >= 0.0, y[-8:])
    assert learner.health()["precision"] == "robust" and learner.health()["failed"] == 0


@pytest.mark.parametrize("kind, arguments", [
    ("RidgeFilter", {"forget": 0.9}),
    ("RidgeFilter", {"forget": 0.5}),
    ("RidgeFilter", {"forget": 0.9, "covariance": "diagonal"}),
    ("ProbabilisticRidgeFilter", {"forget": 0.9, "explore": 0.5, "seed": 1}),
])
def test_a_row_that_is_refused_makes_the_past_no_older(kind, arguments, rng):
    X, y = problem(rng, T=30)
    learner = learn_all(getattr(cf, kind)(**arguments), X, y)
    for _ in range(8):  # every place in a block of the regulariser
        before = learner._engine._state()
        with pytest.raises(ValueError, match=r"\bx\b"):
            learner.learn(np.full(5, 1e300), True)
        np.testing.assert_equal(learner._engine._state(), before)
        learner.learn(X[0], True)


def test_a_feature_unseen_for_long_is_forgotten_and_may_come_back():
    """f^N of it is left: less than the smallest double, and by no margin to be told from 0."""
    d = 3000
    often = scipy.sparse.csr_matrix((np.ones(2500), (np.arange(2500), np.arange(2500) % 5)),
                                    (2500, d))
    rare = scipy.sparse.csr_matrix(([1.0], ([0], [d - 1])), (1, d))
    for rule in ("paper", "ucb"):
        learner = cf.RidgeFilter(covariance="diagonal", forget=0.5, rule=rule, threshold_scale=1e9)
        learner.run(often, np.ones(2500, bool))
        assert learner.learned == 2500 and np.isfinite(learner.threshold)
        assert learner.forward(rare) is True and learner.margin(rare) == 0.0
        learner.learn(rare, True)
        twin = cf.reference.RidgeFilter(covariance="diagonal", forget=0.5)
        learn_all(twin, often.toarray()[-1200:], np.ones(1200, bool))
        twin.learn(rare, True)
        assert learner.margin(rare) == pytest.approx(twin.margin(rare), rel=1e-9)
        assert pickle.loads(pickle.dumps(learner)).margin(rare) == learner.margin(rare)


# --- rows far from length 1 ---------------------------------------------------------------------


@pytest.mark.parametrize("window", [1, 2, 12])
@pytest.mark.parametrize("scale", [1e20, 1e70])
def test_a_window_of_long_rows_is_a_filter_of_those_rows(scale, window, rng):
    """A cannot be factored any more where the oldest row leaves."""
    X, y = scale * rng.standard_normal((60, 6)), rng.random(60) < 0.5
    moving = learn_all(cf.RidgeFilter(window=window), X, y)
    fresh = learn_all(cf.RidgeFilter(), X[-window:], y[-window:])
    np.testing.assert_allclose(margins(moving, X), margins(fresh, X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("arguments", [{}, {"window": 3}, {"budget": 4}])
def test_the_kernel_form_refuses_rows_that_drown_its_ridge(arguments, rng):
    """More of them than dimensions: what is left of each one would be below the last digit."""
    X, y = rng.standard_normal((40, 6)), rng.random(40) < 0.5
    learner = learn_all(cf.RidgeFilter(covariance="kernel", **arguments), X[:20], y[:20])
    before = margins(learner, X)
    for scale in (1e7, 1e60):
        with pytest.raises(ValueError, match=r"x is too large: k\(x, x\)"):
            learner.learn(scale * X[30], True)
    assert learner.learned == 20
    np.testing.assert_array_equal(margins(learner, X), before)
    with pytest.raises(ValueError, match=r"k\(x, x\)"):
        cf.run_topics(cf.RidgeFilter(covariance="kernel", feedback="full"), 1e8 * X, y[:, None])


# --- memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments, d", [
    ({}, 200),
    ({"window": 50_000}, 3),
    ({"covariance": "kernel", "budget": 200}, 3),
    ({"covariance": "diagonal"}, 20_000),
    ({"covariance": "kernel"}, 60_000),  # one row alone
])
def test_memory_is_refused_before_it_is_taken(arguments, d, monkeypatch):
    learner = cf.RidgeFilter(**arguments)
    monkeypatch.setattr(_memory, "limit", 400_000.0)
    with pytest.raises(MemoryError, match=r"takes \d+ bytes"):
        learner.learn(np.ones(d), True)
    assert learner.learned == 0
    monkeypatch.undo()
    learner.learn(np.ones(d), True)
    assert learner.learned == 1 and learner.margin(np.ones(d)) > 0.0


@pytest.mark.parametrize("make", [
    cf.RidgeFilter,
    lambda: cf.RidgeFilter(window=8),
    lambda: cf.RidgeFilter(forget=0.9),
    lambda: cf.RidgeFilter(covariance="kernel", budget=8),
    lambda: cf.ProbabilisticRidgeFilter(explore=0.5),
])
def test_filters_give_their_memory_back(make, rng):
    """After odd and even counts, with dimensions that fill their lanes: a process that frees what
    it does not own dies."""
    for count in (1, 2, 3, 4):
        for _ in range(20):
            learner = make()
            for x in unit_rows(rng, count, 8):
                learner.learn(x, True)
            del learner


# --- what was refused leaves nothing ------------------------------------------------------------


def test_a_refused_stream_leaves_the_last_history(rng):
    X, y = problem(rng, T=20)
    for learner in (cf.RidgeFilter(), cf.AppleTasting(cf.PerceptronFilter(), 0.5)):
        history = learner.run(X, y)
        with pytest.raises(ValueError, match="X"):
            learner.run(X[:, :3], y)
        assert learner.last_history is history
        assert len(learner.run(X[:0], y[:0])) == 0 == len(learner.last_history)


def test_a_rule_beyond_the_range_of_float64_is_refused():
    with pytest.raises(ValueError, match=r"\bu\b"):
        cf.PerceptronFilter().run([[1e150, -1e150]], [True], u=[1e200, 1e200])


# --- other people's code ------------------------------------------------------------------------


class Shifted(cf.RidgeFilter):
    def margin(self, x):
        return super().margin(x) - 100.0


class Vectors:
    """A classifier that wants a row as a vector."""

    def __init__(self):
        self.w = np.zeros(5)

    def margin(self, x):
        assert x.shape == (5,)
        return float(self.w @ x)

    def learn(self, x, relevant):
        if (self.margin(x) >= 0.0) != relevant:
            self.w = self.w + (x if relevant else -x)


def test_tasting_asks_a_class_derived_from_a_filter(rng):
    X, y = problem(rng, T=60)
    whole = cf.AppleTasting(Shifted(feedback="full"), 0.3, seed=2)
    single = copy.deepcopy(whole)
    history = whole.run(X, y)
    for t, (x, relevant) in enumerate(zip(X, y, strict=True)):
        assert single.margin(x) == history.margins[t] < -90.0
        if single.forward(x):
            single.learn(x, bool(relevant))
    assert 0 < single.learned == whole.learned < 60


def test_tasting_hands_rows_over_one_by_one(rng):
    X, y = problem(rng, T=80)
    own = cf.AppleTasting(Vectors(), 0.3, seed=2).run(X, y)
    ours = cf.AppleTasting(cf.PerceptronFilter(), 0.3, seed=2).run(X, y)
    np.testing.assert_array_equal(own.forwarded, ours.forwarded)
    close(own.margins, ours.margins)


def test_each_thread_gets_its_own_kernels_error(rng):
    X, y = problem(rng, T=5)
    kernel = FailingKernel()
    learner = learn_all(cf.RidgeFilter(covariance="kernel", kernel=kernel), X, y)
    kernel.fail_each_reader(lambda: learner.margin(X[0]), times=100)


def test_topics_stop_where_one_is_interrupted(rng):
    """What the others have left is not played to its end."""
    X, _ = problem(rng, T=3000)
    Y = np.ones((3000, 6), bool)  # each with 4.5 million values of the kernel, but for
    Y[:, 0] = False               # the first, which forwards one row and ends soon
    asked = []

    def kernel(x, y):
        asked.append(1)
        return 1.0 + float(x @ y)

    def stop(done, total):
        raise KeyboardInterrupt

    learner = cf.AppleTasting(cf.RidgeFilter(covariance="kernel", kernel=kernel), 0.0)
    with pytest.raises(KeyboardInterrupt):
        cf.run_topics(learner, X, Y, n_jobs=2, progress=stop)
    assert 3000 < len(asked) < 1_500_000
