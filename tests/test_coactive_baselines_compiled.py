"""The compiled baselines beside their twins, and in the learners' shell."""

import copy
import importlib
import os
import pickle
import signal
import threading
from pathlib import Path
from types import SimpleNamespace

import children
import numpy as np
import pytest
from coactive_cases import make_data

import coactive_fast as cf
from coactive_fast import reference
from coactive_fast.coactive import _svm


@pytest.fixture
def mean_fit(monkeypatch):
    """A solver that needs no scikit-learn: the mean of the differences, times C."""
    for place in (_svm, importlib.import_module("coactive_fast.reference.coactive_baselines")):
        monkeypatch.setattr(place, "_fit", lambda differences, c: c * differences.mean(axis=0))


@pytest.fixture
def contents(tmp_path):
    """Every byte of what a learner's file would hold."""

    def read(learner):
        path = tmp_path / "contents"
        learner.save(path)
        return path.read_bytes()

    return read


def copies(learner, folder):
    """The learner by all the ways there are."""
    learner.save(folder / "model")
    yield cf.load(folder / "model")
    yield copy.deepcopy(learner)
    yield copy.copy(learner)
    yield pickle.loads(pickle.dumps(learner))


# --- dueling bandit -------------------------------------------------------------------------------


def answer(shown):
    """The user of these tests: documents and items of higher index are better."""
    return np.sort(shown)[::-1]


def rounds(learner, contexts):
    """Whole rounds; what was presented in each."""
    shown = []
    for x in contexts:
        y = learner.present(x)
        shown.append(y.tolist())
        learner.learn(x, y, answer(y) if isinstance(learner.task, RANKINGS) else max(y))
    return shown


RANKINGS = (cf.Ranking, reference.Ranking)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 2, 5, 40, 700])
def test_rankings_draw_for_draw_as_the_twin(n, dtype, rng):
    fast, slow = (
        module.DuelingBandit(module.Ranking(k=3), explore=0.7, step=0.3, seed=5)
        for module in (cf, reference)
    )
    contexts = rng.standard_normal((1 if n > 100 else 25, n, 60)).astype(dtype)
    assert rounds(fast, contexts) == rounds(slow, contexts)
    np.testing.assert_allclose(fast.weights, slow.weights, rtol=0, atol=1e-13)
    np.testing.assert_allclose(fast.average_weights, slow.average_weights, rtol=0, atol=1e-13)
    assert fast.rng.bit_generator.state == slow.rng.bit_generator.state
    if n > 2:
        assert fast.weights.any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 30, 900])
def test_items_draw_for_draw_as_the_twin(n, dtype, rng):
    features = rng.integers(-1, 2, (n, 40)).astype(dtype)  # equal items too
    features[n // 2 :] = features[: n - n // 2]
    fast, slow = (
        module.DuelingBandit(module.Items(features), explore=0.5, step=0.3, seed=5)
        for module in (cf, reference)
    )
    contexts = [None, *(rng.permutation(n)[: rng.integers(1, n + 1)] for _ in range(10))]
    assert rounds(fast, contexts) == rounds(slow, contexts)
    np.testing.assert_allclose(fast.weights, slow.weights, rtol=0, atol=1e-13)
    assert fast.rng.bit_generator.state == slow.rng.bit_generator.state


def bandits(rng):
    """A ranking and an item bandit, each with contexts and a comparison that is pending."""
    features = rng.standard_normal((30, 4))
    generator = np.random.Generator(np.random.MT19937(3))
    for task, contexts in [
        (cf.Ranking(k=3), rng.standard_normal((12, 8, 4))),
        (cf.Items(features), [rng.permutation(30)[:9] for _ in range(12)]),
    ]:
        learner = cf.DuelingBandit(task, explore=2.0, step=0.5, seed=copy.deepcopy(generator))
        rounds(learner, contexts[:5])
        yield learner, contexts[5:]


def test_copies_go_on_bit_for_bit_with_the_pending_comparison(rng, tmp_path, contents):
    for learner, contexts in bandits(rng):
        y = learner.present(contexts[0])
        found = list(copies(learner, tmp_path))
        assert len(found) == 4
        shown = []
        for other in [learner, *found]:
            other.learn(contexts[0], y, answer(y) if len(y) > 2 else y[1])
            shown.append(rounds(other, contexts))
        for other in found:
            assert shown.pop() == shown[0] and other.rounds == learner.rounds
            assert contents(other) == contents(learner)
            assert rounds(other.reset(), contexts) == rounds(copy.copy(learner).reset(), contexts)


def test_reset_and_clone_begin_again(rng):
    for learner, contexts in bandits(rng):
        learner.present(contexts[0])
        first = rounds(learner.clone(), contexts)
        assert rounds(learner.reset(), contexts) == first
        assert rounds(learner.reset(), contexts) == first
        assert learner.reset().rounds == 0
        with pytest.raises(ValueError, match="present"):
            learner.learn(contexts[0], [0, 1], 0 if isinstance(learner.task, cf.Items) else [0, 1])


def test_a_given_generator_is_neither_moved_nor_shared():
    generator = np.random.default_rng(8)
    state = copy.deepcopy(generator.bit_generator.state)
    x = np.arange(20.0).reshape(10, 2)
    learner = cf.DuelingBandit(cf.Ranking(), seed=generator)
    shown = [learner.present(x).tolist() for _ in range(5)]
    assert generator.bit_generator.state == state
    generator.random(7)
    learner.rng.random(7)  # a copy
    learner.reset()
    assert [learner.present(x).tolist() for _ in range(5)] == shown


def test_a_failed_call_changes_nothing(contents):
    x = np.arange(20.0).reshape(10, 2)
    learner = cf.DuelingBandit(cf.Ranking(), explore=10.0, seed=2)
    before = contents(learner)
    huge = np.array([[1.7e308, 1.7e308], [1.7e308, -1.7e308]])  # only w' makes it overflow
    for bad in (huge, x + [0.0, np.inf], np.zeros((0, 2)), x[0]):
        with pytest.raises(ValueError, match=r"\bx\b"):
            learner.present(bad)
    assert contents(learner) == before and learner.weights.size == 0
    y = learner.present(x)
    before = contents(learner)
    for call, name in [
        (lambda: learner.present(x[:, :1]), "x"),
        (lambda: learner.present(x, k=-1), "k"),
        (lambda: learner.learn(x[:9], y[:1], [0]), "x"),
        (lambda: learner.learn(x[:, :1], y, y), "x"),
        (lambda: learner.learn(x * np.nan, y, y), "x"),
        (lambda: learner.learn(x, y[1:], y), "y"),
        (lambda: learner.learn(x, y, [10]), "better"),
        (lambda: learner.learn(x, y, []), "better"),
        (lambda: learner.update([1.0, 1.0]), "present"),
    ]:
        with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b"):
            call()
        assert contents(learner) == before
    learner.learn(x, y, y)


def test_failed_calls_on_items_change_nothing(contents):
    learner = cf.DuelingBandit(cf.Items(np.eye(6)), seed=2)
    x = [1, 4, 5]
    y = learner.present(x)
    before = contents(learner)
    for call, name in [
        (lambda: learner.present([1, 6]), "x"),
        (lambda: learner.present([]), "x"),
        (lambda: learner.present(x, k=2), "k"),
        (lambda: learner.learn([0, 2], y, y[0]), "y"),
        (lambda: learner.learn(x, y[0], y[0]), "y"),
        (lambda: learner.learn(x, [y[0], 0], y[0]), "y"),
        (lambda: learner.learn(x, ["1", "4"], y[0]), "y"),
        (lambda: learner.learn(x, y, 0), "better"),
        (lambda: learner.learn(x, y, 1.0), "better"),
    ]:
        with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b"):
            call()
        assert contents(learner) == before
    learner.learn(x, y, y[0])


def test_a_step_that_overflows_keeps_the_comparison(contents):
    angles = np.linspace(0.0, 2.0 * np.pi, 500)
    items = cf.Items(1e-200 * np.stack([np.cos(angles), np.sin(angles)], axis=1))
    learner = cf.DuelingBandit(items, explore=1e307, step=1.6e308, seed=0)
    with pytest.raises(ValueError, match="step"):
        for _ in range(100):  # two steps in much the same direction leave the range
            pair = learner.present(None)
            before = contents(learner)
            learner.learn(None, pair, pair[1])
    assert contents(learner) == before and learner.rounds > 0
    rounds = learner.rounds
    learner.set_params(step=1e-3)
    learner.learn(None, pair, pair[1])
    assert learner.rounds == rounds + 1


def test_parameters(rng):
    learner = cf.DuelingBandit(cf.Ranking(), step=0.25, seed=1)
    assert learner.get_params() == dict(task=cf.Ranking(), explore=1.0, step=0.25, seed=1)
    assert repr(learner) == "DuelingBandit(task=Ranking(k=5), step=0.25, seed=1)"
    x = rng.standard_normal((9, 3))
    y = learner.present(x)
    with pytest.raises(ValueError, match=r"reset\(\)"):
        learner.set_params(task=cf.Ranking(k=2))
    with pytest.raises(ValueError, match="step"):
        learner.set_params(step=0.0)
    learner.set_params(step=3.0, seed=7)  # and the comparison is still there
    assert learner.rng.bit_generator.state == np.random.default_rng(7).bit_generator.state
    for _ in range(20):
        before = learner.weights
        learner.learn(x, y, np.argsort(x[:, 0]))
        y = learner.present(x)
        moved = np.linalg.norm(learner.weights - before)
        assert moved == 0.0 or abs(moved - 3.0) < 1e-12
    assert learner.weights.any()
    first = learner.reset().present(x).tolist()
    assert first == cf.DuelingBandit(cf.Ranking(), seed=7).present(x).tolist()


def test_damaged_states_are_refused(rng, contents):
    for learner, contexts in bandits(rng):
        learner.present(contexts[0])
        before, whole = contents(learner), learner._engine._state()
        pending = whole["pending"]
        damaged = [
            {key: value for key, value in whole.items() if key != "rng"},
            whole | {"seed": 3},
            whole | {"pending": {}},
            whole | {"pending": 5},
            whole | {"pending": pending | {"direction": np.ones(3)}},
            whole | {"pending": pending | {"direction": pending["direction"] * np.nan}},
            whole | {"pending": pending | {"presented": np.array([0, 30])}},
            whole | {"pending": pending | {"presented": np.array([0, -1])}},
            whole | {"w": np.ones(3)},
        ]
        if pending["brought"] is not None:
            damaged += [
                whole | {"pending": pending | {"brought": pending["brought"][1:]}},
                whole | {"pending": pending | {"brought": pending["brought"] + 2}},
            ]
        for state in damaged:
            with pytest.raises((TypeError, ValueError)):
                learner._engine._restore(state)
            assert contents(learner) == before


def test_threads_present_and_read(rng):
    """Presents in any order draw the same in all; readers see whole weights."""
    x = rng.standard_normal((900, 40))  # large enough for the interpreter's lock to be let go
    learner = cf.DuelingBandit(cf.Ranking(), seed=4, step=1.0)
    done, seen = threading.Event(), []

    def read():
        while not done.is_set():
            seen.append(learner.weights.size)
            copy.deepcopy(learner)

    def present():
        for _ in range(10):
            assert sorted(learner.present(x).tolist()) == list(range(900))

    reader = threading.Thread(target=read)
    presenters = [threading.Thread(target=present) for _ in range(3)]
    for thread in [reader, *presenters]:
        thread.start()
    for thread in presenters:
        thread.join()
    done.set()
    reader.join()
    assert set(seen) <= {0, 40}
    alone = cf.DuelingBandit(cf.Ranking(), seed=4, step=1.0)
    for _ in range(30):
        y = alone.present(x)
    assert learner.rng.bit_generator.state == alone.rng.bit_generator.state
    for each in (learner, alone):
        each.learn(x, y, answer(y))  # the same comparison is pending
    np.testing.assert_array_equal(learner.weights, alone.weights)


def test_simulations_are_the_loop_of_single_calls(rng):
    data = make_data(rng)
    true = data.fitted
    user = cf.users.AlphaInformative(0.5, weights=true)
    learner, loop = (cf.DuelingBandit(cf.Ranking(k=3), seed=3, step=0.5) for _ in "12")
    history = cf.simulate(learner, data, user)
    user.k = 3
    utility = []
    for query in data:
        y = loop.present(query.features)
        utility.append(true @ cf.kernels.ranking_features(query.features, y, k=3))
        loop.learn(query.features, y, user.respond(query, y))
    np.testing.assert_allclose(history.utility, utility, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(learner.weights, loop.weights)
    assert learner.last_history is history


# --- ranking SVM ----------------------------------------------------------------------------------


def stream(rng, n=130, d=6):
    """Differences, every fifth of them zero."""
    deltas = rng.standard_normal((n, d))
    deltas[::5] = 0.0
    return deltas


def test_svm_equals_the_twin(rng):
    pytest.importorskip("sklearn")
    fast, slow = (module.RankingSVM(module.Ranking()) for module in (cf, reference))
    true = rng.standard_normal(6)
    for delta in stream(rng, 90):
        delta = delta * np.sign(delta @ true)
        fast.update(delta)
        slow.update(delta)
        np.testing.assert_array_equal(fast.weights, slow.weights)
    np.testing.assert_allclose(fast.average_weights, slow.average_weights, rtol=1e-12)


def test_svm_schedule_equals_the_twins(mean_fit, rng):
    fast, slow = (module.RankingSVM(module.Ranking()) for module in (cf, reference))
    for delta in stream(rng):
        fast.update(delta)
        slow.update(delta)
        np.testing.assert_array_equal(fast.weights, slow.weights)
    assert fast.rounds == 130


@pytest.mark.parametrize("rounds_before", [0, 1, 2, 40, 61])
def test_svm_copies_go_on_bit_for_bit(mean_fit, rng, tmp_path, contents, rounds_before):
    deltas = stream(rng)
    learner = cf.RankingSVM(cf.Ranking())
    for delta in deltas[:rounds_before]:
        learner.update(delta)
    found = list(copies(learner, tmp_path))
    for other in [*found, learner]:
        for delta in deltas[rounds_before:]:
            other.update(delta)
    for other in found:
        np.testing.assert_array_equal(other.weights, learner.weights)
        assert contents(other) == contents(learner)
    again = learner.clone()
    for each in (learner.reset(), again):
        assert each.rounds == 0 and each.weights.size == 0
        for delta in deltas[:, :3]:  # another dimension
            each.update(delta)
    assert contents(learner) == contents(again)


def test_svm_setting_the_same_task_changes_nothing(mean_fit, rng, contents):
    deltas = stream(rng)
    learner, other = (cf.RankingSVM(cf.Ranking()) for _ in "12")
    for delta in deltas[:70]:
        learner.update(delta)
        other.update(delta)
    learner.set_params(task=cf.Ranking())
    with pytest.raises(ValueError, match="task"):
        learner.set_params(task=cf.Ranking(k=1))
    for each in (learner, other):
        each.update(deltas[71])
        each.reset()
        for delta in deltas:
            each.update(delta)
    assert contents(learner) == contents(other)


def test_svm_failing_solver_changes_nothing(monkeypatch, rng, contents):
    def fit(differences, c):
        if broken:
            raise RuntimeError("no solution")
        return differences.sum(axis=0)

    monkeypatch.setattr(_svm, "_fit", fit)
    broken = True
    learner = cf.RankingSVM(cf.Ranking())
    fresh = contents(learner)
    with pytest.raises(RuntimeError, match="no solution"):
        learner.update([1.0, 2.0, 3.0])
    assert contents(learner) == fresh
    broken = False
    for delta in stream(rng, 20, 2):
        learner.update(delta)
    broken, before = True, contents(learner)
    with pytest.raises(RuntimeError, match="no solution"):
        for _ in range(3):
            before = contents(learner)
            learner.update([5.0, 5.0])
    assert contents(learner) == before
    for bad in ([1.0], [np.nan, 0.0], [[1.0, 2.0], [3.0, 4.0]]):
        with pytest.raises(ValueError, match="delta"):
            learner.update(bad)
    assert contents(learner) == before


def test_svm_damaged_states_are_refused(mean_fit, rng, contents):
    learner = cf.RankingSVM(cf.Ranking())
    for delta in stream(rng, 30):
        learner.update(delta)
    before, whole = contents(learner), learner._engine._state()
    pairs = whole["pairs"]
    for damage in (
        {"pairs": pairs[1:]},
        {"pairs": pairs[:, 1:]},
        {"pairs": pairs * np.nan},
        {"pairs": pairs.ravel()},
        {"memory": {"pairs": len(pairs), "fitted": len(pairs) + 1}},
        {"memory": {"pairs": -1, "fitted": -1}},
        {"memory": {}},
        {"n": 5},
    ):
        with pytest.raises(ValueError):
            learner._engine._restore(whole | damage)
        assert contents(learner) == before


def test_svm_threads_lose_no_pair(monkeypatch, rng):
    pause = threading.Event()

    def fit(differences, c):
        pause.wait(0.001)  # others get their turn
        return differences.sum(axis=0)

    monkeypatch.setattr(_svm, "_fit", fit)
    learner = cf.RankingSVM(cf.Ranking())
    learner.update([1.0, 0.0])

    def work():
        for _ in range(10):
            learner.update([1.0, 0.0])
            assert learner.present(np.eye(2)).tolist() == [0, 1]

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert learner.rounds == 41
    np.testing.assert_array_equal(learner._engine._state()["pairs"], np.tile([1.0, 0.0], (41, 1)))


def read(learner, folder):
    learner.save(folder / "learner")
    return (folder / "learner").read_bytes()


def svm_refuses(scale, folder):
    """Rows of this size, one beside others of size 1, or one number beside others."""
    folder, rng = Path(folder), np.random.default_rng(5)
    what = "too small" if scale < 1.0 else "too large"
    for rows in (rng.normal(size=(14, 6)) * scale, [[1.0, scale], [-1.0, scale]] * 7,
                 [[scale, 0.0, 0.0], [0.0, 1.0, 0.0]]):
        learner = cf.RankingSVM(cf.Ranking())
        refused = 0
        for row in rows:
            before = read(learner, folder)
            try:
                learner.update(row)
            except ValueError as error:
                assert what in str(error), error
                assert read(learner, folder) == before
                refused += 1
        assert refused >= 1
        before = learner._engine._state()
        if before["n"]:
            bad = before | {"pairs": np.full((1, before["n"]), scale),
                            "memory": {"pairs": 1, "fitted": 1}}
            with pytest.raises(ValueError, match=what):
                learner._engine._restore(bad)


def svm_solves(scale):
    rng = np.random.default_rng(5)
    learner = cf.RankingSVM(cf.Ranking())
    for row in rng.choice([-1.0, 0.0, 0.5, 1.0], (60, 6)):
        learner.update(row * scale)
    assert learner.rounds == 60 and np.isfinite(learner.weights).all()


@children.forks
@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-121, 1e61, 1e75, 1e99])
def test_svm_refuses_what_its_solver_cannot_end_on(tmp_path, scale):
    pytest.importorskip("sklearn")
    children.run(svm_refuses, scale, str(tmp_path))


@children.forks
@pytest.mark.parametrize("scale", [2e-120, 1e-60, 1e30, 2e59])
def test_svm_ends_on_what_it_takes(scale):
    pytest.importorskip("sklearn")
    children.run(svm_solves, scale)


ENDLESS = np.full((2, 3), 1e-170)  # what the solver never ends on


class Interrupted(Exception):
    pass


def interrupt(*_):
    raise Interrupted


def svm_is_interrupted(folder):
    _svm._refuse_unsolvable = lambda *_: None
    rng, folder = np.random.default_rng(0), Path(folder)
    learner, other = (cf.RankingSVM(cf.Ranking()) for _ in "12")
    rows = rng.normal(size=(30, 3))
    for row in rows[:5]:
        learner.update(row)
        other.update(row)
    before = read(learner, folder)
    fit, _svm._fit = _svm._fit, lambda differences, c: fit(ENDLESS, c)
    signal.signal(signal.SIGALRM, interrupt)
    for _ in range(2):
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Interrupted):
            learner.update(rows[5])
        assert read(learner, folder) == before
    _svm._fit = fit
    for row in rows[5:]:
        learner.update(row)
        other.update(row)
    assert read(learner, folder) == read(other, folder)


@children.forks
def test_svm_training_is_interrupted_by_signals(tmp_path):
    pytest.importorskip("sklearn")
    children.run(svm_is_interrupted, str(tmp_path))


def svm_after_a_fork():
    begun, go = threading.Event(), threading.Event()

    def fit(differences, c):
        begun.set()
        go.wait()
        return differences.sum(axis=0)

    learner = cf.RankingSVM(cf.Ranking(k=1))
    _svm._fit = fit
    thread = threading.Thread(target=learner.update, args=([1.0, 0.0],))
    thread.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(5)  # ends the child where a call waits
        calls = [lambda: learner.update([1.0, 0.0]), lambda: learner.weights, learner.reset,
                 lambda: learner.learn(np.eye(2), [0, 1], [1, 0]), learner._engine._state,
                 lambda: learner.present(np.eye(2)), lambda: copy.deepcopy(learner)]
        for call in calls:
            try:
                call()
                os._exit(1)
            except RuntimeError as error:
                if "fork" not in str(error):
                    os._exit(2)
        go.set()
        cf.RankingSVM(cf.Ranking(k=1)).update([1.0, 0.0])  # other learners are as ever
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    go.set()
    thread.join()
    assert not os.WIFSIGNALED(status), "a call in the child does not end"
    assert os.WEXITSTATUS(status) == 0
    assert learner.rounds == 1


@children.forks
def test_svm_after_a_fork_during_a_training():
    children.run(svm_after_a_fork)


def test_svm_on_other_tasks(mean_fit, rng, tmp_path):
    features = rng.standard_normal((12, 3))
    items = cf.RankingSVM(cf.Items(features))
    items.learn(None, 0, 7)
    np.testing.assert_allclose(items.weights, 100.0 * (features[7] - features[0]), rtol=1e-14)
    assert items.present(None) == np.argmax(features @ items.weights)
    own = SimpleNamespace(
        dimension=3,
        features=lambda x, y: features[y],
        argmax=lambda w, x: int(np.argmax(features @ w)),
    )
    learner = cf.RankingSVM(own)
    learner.learn(None, 0, 7)
    np.testing.assert_array_equal(learner.weights, items.weights)
    learner.save(tmp_path / "model")
    loaded = cf.load(tmp_path / "model", task=own)
    for each in (learner, loaded):
        each.learn(None, 3, 4)
    np.testing.assert_array_equal(learner.weights, loaded.weights)


def test_svm_in_simulations(mean_fit, rng):
    data = make_data(rng)
    user = cf.users.AlphaInformative(1.0, weights=data.fitted)
    learner = cf.RankingSVM(cf.Ranking())
    regret = cf.simulate(learner, data, user, order=np.tile(np.arange(30), 6)).regret
    assert regret[-30:].mean() < 0.5 * regret[:30].mean()
    items, true = rng.standard_normal((20, 3)), rng.standard_normal((2, 3))
    template = cf.RankingSVM(cf.Items(items))
    user = cf.users.AlphaInformative(1.0)
    history = cf.simulate_items(template, items, true, user, rounds=8)
    slow = reference.RankingSVM(reference.Items(items))
    user = reference.users.AlphaInformative(1.0)
    expected = reference.simulate_items(slow, items, true, user, rounds=8)
    np.testing.assert_allclose(history.regret_per_user, expected.regret_per_user, atol=1e-12)
    assert template.rounds == 0
