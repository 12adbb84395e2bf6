"""The compiled runs of the filters: the loop of single calls, in whatever form rows come."""

import os
import signal
import threading

import numpy as np
import pytest
import scipy.sparse
from filtering_cases import FILTERS, all_of, build
from row_cases import sparse_forms

import coactive_fast as cf
from coactive_fast import _memory

# long enough for rows to be looked at in blocks, for memory to grow and for metrics to be renewed
LONG = {
    "full": {},
    "full feedback": {"feedback": "full"},
    "forget": {"forget": 0.95},
    "window": {"window": 20},
    "diagonal": {"covariance": "diagonal"},
    "linear": {"covariance": "kernel", "feedback": "full"},
    "linear forwarded": {"covariance": "kernel", "threshold_scale": 0.5},
    "rbf": {"covariance": "kernel", "kernel": "rbf", "feedback": "full"},
    "poly": {"covariance": "kernel", "kernel": "poly", "kernel_params": {"degree": 2},
             "feedback": "full"},
    "kernel ucb": {"covariance": "kernel", "kernel": "rbf", "rule": "ucb"},
    "kernel window": {"covariance": "kernel", "window": 120, "feedback": "full"},
    "budget": {"covariance": "kernel", "kernel": "rbf", "budget": 150, "feedback": "full"},
}


def text(rng, T, d, entries=12):
    """Sparse unit rows over many features, some common, most rare, and labels to be learned."""
    rows = np.repeat(np.arange(T), entries)
    columns = np.minimum((d * rng.random(T * entries) ** 3).astype(int), d - 1)
    X = scipy.sparse.coo_matrix((rng.random(T * entries) + 0.1, (rows, columns)), (T, d)).tocsr()
    X = scipy.sparse.diags(1.0 / np.sqrt(X.multiply(X).sum(axis=1).A1)) @ X
    return X.tocsr(), X @ rng.standard_normal(d) > 0.1


def dense(rng, T, d):
    X = rng.standard_normal((T, d))
    X[T // 3] = 0.0
    return X / np.sqrt(d), X @ rng.standard_normal(d) > 0.0


def by_calls(learner, X, y):
    """What `run` would tell, from single calls."""
    full = learner.get_params().get("feedback") == "full"
    forwarded, margins = [], []
    for t, relevant in enumerate(y):
        x = X[t]
        margins.append(learner.margin(x))
        forwarded.append(learner.forward(x))
        if forwarded[-1] or full:
            learner.learn(x, relevant)
    return np.array(forwarded), np.array(margins)


def whole_state(learner):
    state = learner._engine._state()
    inner = state.pop("classifier", None)
    return state if inner is None else state | {"inner": inner._engine._state()}


def same_state(a, b):
    np.testing.assert_equal(whole_state(a), whole_state(b))


@pytest.mark.parametrize("data", ["dense", "text"])
@pytest.mark.parametrize("name", LONG)
def test_run_is_the_loop_bit_for_bit(name, data, rng):
    if data == "text" and LONG[name].get("covariance", "full") == "full":
        pytest.skip("a full matrix is not for text")
    X, y = dense(rng, 400, 20) if data == "dense" else text(rng, 400, 30_000)
    whole, single = cf.RidgeFilter(**LONG[name]), cf.RidgeFilter(**LONG[name])
    history = whole.run(X, y)
    forwarded, margins = by_calls(single, X, y)
    np.testing.assert_array_equal(history.forwarded, forwarded)
    np.testing.assert_array_equal(history.margins, margins)
    same_state(whole, single)


@pytest.mark.parametrize("name", LONG)
def test_any_cut_of_the_stream_gives_the_same(name, rng):
    X, y = dense(rng, 300, 9)
    whole, parts = cf.RidgeFilter(**LONG[name]), cf.RidgeFilter(**LONG[name])
    history = whole.run(X, y)
    margins = [parts.run(X[a:b], y[a:b]).margins
               for a, b in zip([0, 0, 1, 113, 170], [0, 1, 113, 170, 300], strict=True)]
    np.testing.assert_array_equal(np.concatenate(margins), history.margins)
    same_state(whole, parts)


@pytest.mark.parametrize("form", ["int32", "int64", "unsorted", "duplicates", "array", "csc"])
@pytest.mark.parametrize("name", ["diagonal", "linear", "rbf", "poly", "budget", "Perceptron"])
def test_wide_sparse_rows_are_dense_rows(name, form, rng):
    """3,000 features, few entries: what is kept is sparse, however the rows are given."""
    X, y = text(rng, 200, 3000)
    make = cf.PerceptronFilter if name == "Perceptron" else lambda: cf.RidgeFilter(**LONG[name])
    table = X.toarray()
    wide, thin = make(), make()
    first = wide.run(table, y)
    second = thin.run(dict(sparse_forms(table))[form], y)
    assert first == second
    same_state(wide, thin)
    row = dict(sparse_forms(table[7:8]))[form]
    assert wide.margin(table[7]) == thin.margin(row) == thin.margin(table[7])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["C", "F", "strided", "read-only", "list"])
def test_layouts(dtype, layout, rng):
    X, y = dense(rng, 120, 7)
    X = X.astype(dtype)
    forms = {"C": X, "F": np.asfortranarray(X), "strided": np.repeat(X, 2, axis=1)[:, ::2],
             "read-only": X.copy(), "list": X.tolist()}
    forms["read-only"].flags.writeable = False
    expected = cf.RidgeFilter(covariance="diagonal").run(X.astype(np.float64), y)
    assert cf.RidgeFilter(covariance="diagonal").run(forms[layout], y) == expected


@pytest.mark.parametrize("name", FILTERS)
def test_the_work_of_forward_is_not_seen(name, rng):
    """A caller's log without `forward`, or with others in between, teaches the same bits."""
    X, y = dense(rng, 40, 5)
    with_forward, without = build(cf, name), build(cf, name)
    for t, relevant in enumerate(y):
        if t % 3 == 1:
            with_forward.forward(X[t - 1])
        with_forward.forward(X[t])
        if t % 3 == 2:
            with_forward.margin(X[t - 1])
        with_forward.learn(X[t], relevant)
        without.learn(X[t], relevant)
    assert [with_forward.margin(x) for x in X] == [without.margin(x) for x in X]
    assert with_forward.learned == without.learned == 40


def test_progress_and_last_history(rng):
    X, y = dense(rng, 3000, 60)
    learner, seen = cf.RidgeFilter(feedback="full"), []

    def report(done, total):
        seen.append((done, total, learner.rounds, learner.learned))

    history = learner.run(np.tile(X, (10, 1)), np.tile(y, 10), progress=report)
    assert learner.last_history is history and len(history) == 30_000
    assert seen and all(total == 30_000 and done == rounds == learned
                        for done, total, rounds, learned in seen)


@pytest.mark.parametrize("name, d, tiles", [
    ("full feedback", 30, 40), ("linear", 30, 1), ("diagonal", 8, 150),  # 0.1 s or so
])
def test_interrupted_run_stops_at_a_round(name, d, tiles, rng):
    X, y = dense(rng, 6000, d)
    learner, straight = cf.RidgeFilter(**LONG[name]), cf.RidgeFilter(**LONG[name])

    def stop(done, total):
        if done > 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learner.run(np.tile(X, (tiles, 1)), np.tile(y, tiles), progress=stop)
    rounds = learner.rounds
    assert 200 < rounds == len(learner.last_history) < tiles * 6000
    history = straight.run(np.tile(X, (tiles, 1))[:rounds], np.tile(y, tiles)[:rounds])
    assert learner.last_history == history
    same_state(learner, straight)


def product(a, b):
    return float(a @ b)


KERNEL = {"covariance": "kernel", "threshold_scale": 0.5}
GROWING = {
    "linear": lambda: cf.RidgeFilter(**KERNEL),
    "rbf": lambda: cf.RidgeFilter(**KERNEL, kernel="rbf"),
    "rbf full feedback": lambda: cf.RidgeFilter(covariance="kernel", kernel="rbf",
                                                feedback="full"),
    "callable": lambda: cf.RidgeFilter(**KERNEL, kernel=product),
    "floor": lambda: cf.RidgeFilter(**KERNEL, floor=0.2),
    "dgs": lambda: cf.RidgeFilter(covariance="kernel", rule="dgs", width=0.3),
    "calibrated": lambda: cf.RidgeFilter(**KERNEL, calibrate=True),
    "window": lambda: cf.RidgeFilter(**KERNEL, window=60),
    "probabilistic": lambda: cf.ProbabilisticRidgeFilter(covariance="kernel", explore=0.3, seed=1),
    "probabilistic MT19937": lambda: cf.ProbabilisticRidgeFilter(
        covariance="kernel", explore=0.3, seed=np.random.Generator(np.random.MT19937(3))),
    "apple tasting": lambda: cf.AppleTasting(cf.RidgeFilter(covariance="kernel"), 0.3, seed=3),
}


def stopped_where_memory_grows(learner, X, y, turn, monkeypatch):
    """A run in which a signal's handler raises when memory is asked for that many times."""
    asked = 0

    def refuse(*_):
        nonlocal asked
        asked += 1
        if asked == turn:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_memory, "refuse_beyond_limit", refuse)
        try:
            learner.run(X, y)
        except KeyboardInterrupt:
            return True
    return False


@pytest.mark.parametrize("name", GROWING)
def test_a_run_interrupted_where_memory_grows_is_a_prefix(name, rng, monkeypatch):
    X, y = dense(rng, 250, 6)
    turn = stops = 0
    while True:
        turn += 1
        learner, straight = GROWING[name](), GROWING[name]()
        if not stopped_where_memory_grows(learner, X, y, turn, monkeypatch):
            break
        stops += 1
        rounds = len(learner.last_history)
        assert learner.rounds == rounds
        if rounds:
            assert straight.run(X[:rounds], y[:rounds]) == learner.last_history
        same_state(learner, straight)
        assert learner.run(X[rounds:], y[rounds:]) == straight.run(X[rounds:], y[rounds:])
        same_state(learner, straight)
        if not rounds:  # nor is the number of features known
            fresh = GROWING[name]()
            stopped_where_memory_grows(fresh, X, y, turn, monkeypatch)
            fresh.run(X[:, :4], y)
    assert stops > 1


class Stubborn:
    """A classifier of one's own, whose `learn` or `margin` is interrupted at one call."""

    def __init__(self, method, at):
        self.method, self.left, self.kept = method, at, cf.PerceptronFilter()

    def count(self, method):
        if method == self.method:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

    def margin(self, x):
        self.count("margin")
        return self.kept.margin(x)

    def learn(self, x, relevant):
        self.count("learn")
        self.kept.learn(x, relevant)


@pytest.mark.parametrize("method", ["margin", "learn"])
@pytest.mark.parametrize("at", [1, 2, 9])
def test_a_classifier_of_ones_own_that_is_interrupted(method, at, rng):
    X, y = dense(rng, 80, 5)
    learner = cf.AppleTasting(Stubborn(method, at), 0.4, seed=5)
    straight = cf.AppleTasting(Stubborn("", 0), 0.4, seed=5)
    with pytest.raises(KeyboardInterrupt):
        learner.run(X, y)
    rounds = len(learner.last_history)
    assert learner.rounds == rounds >= at - 1
    if rounds:
        assert straight.run(X[:rounds], y[:rounds]) == learner.last_history
    assert learner.learned == straight.learned
    assert learner.run(X[rounds:], y[rounds:]) == straight.run(X[rounds:], y[rounds:])
    np.testing.assert_equal(learner._engine._state()["chance"], straight._engine._state()["chance"])


def test_a_row_that_is_not_learned_tosses_no_coin(rng):
    """Refused behind the coin, when its label is learned."""
    X, y = np.abs(dense(rng, 60, 5)[0]), np.zeros(60, dtype=bool)
    X[40:] *= 1e9
    learner, straight = (cf.AppleTasting(cf.RidgeFilter(covariance="kernel"), 0.5, seed=2)
                         for _ in "12")
    with pytest.raises(ValueError, match="x is too large"):
        learner.run(X, y)
    rounds = len(learner.last_history)
    assert 40 <= rounds == learner.rounds < 60
    straight.run(X[:rounds], y[:rounds])
    assert learner.learned == straight.learned
    np.testing.assert_equal(learner._engine._state()["chance"], straight._engine._state()["chance"])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer signals here")
def test_a_signal_ends_a_run(rng):
    X, y = dense(rng, 4000, 50)
    X, y = np.tile(X, (20, 1)), np.tile(y, 20)
    learner = cf.RidgeFilter(feedback="full")

    def once_it_runs(done, total):
        if done and not signal.getitimer(signal.ITIMER_REAL)[0]:
            signal.setitimer(signal.ITIMER_REAL, 0.01)

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            while True:
                learner.run(X, y, progress=once_it_runs)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert learner.rounds == learner.learned > 0


def test_a_row_refused_in_the_middle_leaves_the_rounds_before(rng):
    X, y = dense(rng, 60, 5)
    learner, straight = cf.RidgeFilter(), cf.RidgeFilter()
    X[40] = 1.7e308
    with pytest.raises(ValueError, match=r"\bx\b"):
        learner.run(X, y)
    straight.run(X[:40], y[:40])
    assert len(learner.last_history) == learner.rounds == 40
    same_state(learner, straight)
    fresh = cf.RidgeFilter()
    with pytest.raises(ValueError, match=r"\bx\b"):
        fresh.run(X[40:], y[40:])
    same_state(fresh, cf.RidgeFilter())


def test_reading_while_a_run_is_on(rng):
    """Readers wait for a pause of the run, and find some round's filter whole."""
    X, y = dense(rng, 3000, 80)
    learner, found, stop = cf.RidgeFilter(feedback="full"), [], threading.Event()

    def read():
        while not stop.is_set():
            found.append(learner.margin(X[0]))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    learner.run(np.tile(X, (5, 1)), np.tile(y, 5))
    stop.set()
    for thread in threads:
        thread.join()
    straight = cf.RidgeFilter(feedback="full")
    straight.run(np.tile(X, (5, 1)), np.tile(y, 5))
    same_state(learner, straight)
    assert found and np.isfinite(found).all()


def test_many_runs_at_once_are_each_their_own(rng):
    X, y = dense(rng, 500, 20)
    expected = all_of(cf.RidgeFilter(covariance="kernel").run(X, y))
    learners = [cf.RidgeFilter(covariance="kernel") for _ in range(4)]
    threads = [threading.Thread(target=learner.run, args=(X, y)) for learner in learners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for learner in learners:
        np.testing.assert_equal(all_of(learner.last_history), expected)


def test_one_filter_fed_by_many_threads(rng):
    """Every call is whole: the counts add up and nothing is lost."""
    X, y = dense(rng, 200, 6)
    learner = cf.RidgeFilter(covariance="kernel", kernel="rbf")

    def feed(part):
        for t in range(part, 200, 4):
            learner.forward(X[t])
            learner.learn(X[t], bool(y[t]))

    threads = [threading.Thread(target=feed, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert learner.rounds == learner.learned == 200
    straight = cf.RidgeFilter(covariance="kernel", kernel="rbf")
    for x, relevant in zip(X, y, strict=True):
        straight.learn(x, bool(relevant))
    np.testing.assert_allclose([learner.margin(x) for x in X], [straight.margin(x) for x in X],
                               rtol=1e-9, atol=1e-9)


@pytest.mark.skipif(os.environ.get("COACTIVE_FAST_ISA", "") not in ("", "auto"),
                    reason="one instruction set is enough")
def test_memory_stays_flat(rng):
    """A long stream through filters of fixed size: nothing is kept that is not needed."""
    resource = pytest.importorskip("resource")
    X, y = dense(rng, 20_000, 30)
    learners = [cf.RidgeFilter(window=50), cf.RidgeFilter(covariance="kernel", window=50),
                cf.RidgeFilter(covariance="kernel", kernel="rbf", budget=50, feedback="full")]
    for learner in learners:
        learner.run(X, y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for learner in learners:
        learner.run(X, y)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * (1 if os.uname().sysname == "Darwin" else 1024) < 4 << 20
