"""What may not crash: threads at a learner's first rounds, calls that reach back, sizes, lies."""

import copy
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

import coactive_fast as cf

MAKE = {
    "preference": cf.PreferencePerceptron,
    "exponentiated": lambda task: cf.ExponentiatedPreferencePerceptron(task, signed=False),
    "convex": lambda task: cf.ConvexPreferencePerceptron(task, radius=1.0),
    "convex_box": lambda task: cf.ConvexPreferencePerceptron(task, feasible=cf.Box(-1.0, 1.0)),
    "second_order": lambda task: cf.SecondOrderPreferencePerceptron(task, radius=0.5),
    "second_order_l1": lambda task: cf.SecondOrderPreferencePerceptron(
        task, feasible=cf.L1Ball(0.5)),
    "kernel": lambda task: cf.PreferencePerceptron(task, kernel="rbf", budget=20),
    "custom": lambda task: cf.CustomPreferencePerceptron(task, lambda s, d: s.weights + d),
    "dueling": lambda task: cf.DuelingBandit(task, seed=1),
}
every = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
X = np.random.default_rng(0).standard_normal((12, 5))
Y = np.arange(12)


@pytest.fixture
def quick_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def play(learner, x=X):
    learner.learn(x, learner.present(x), np.arange(len(x))[::-1])


# --- threads ------------------------------------------------------------------------------------


@every
def test_fresh_learners_are_read_by_threads(make, quick_switches):
    """Readers come upon learners that know nothing yet, learn, and forget again."""
    current, done, failed = [make(cf.Ranking(k=3))], threading.Event(), []

    def read():
        try:
            while not done.is_set():
                learner = current[0]
                assert sorted(learner.present(X).tolist()) == Y.tolist()
                assert np.isfinite(learner.scores(X)).all()
                assert learner.weights.size in (0, 5) and learner.average_weights.size in (0, 5)
                copy.copy(learner)
        except BaseException as error:
            failed.append(error)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for _ in range(60):
        learner = current[0] = make(cf.Ranking(k=3))
        for _ in range(2):
            for _ in range(3):
                try:
                    play(learner)
                except ValueError as error:  # a reader's comparison took the place of ours
                    assert isinstance(learner, cf.DuelingBandit), error
            learner.reset()
    done.set()
    for reader in readers:
        reader.join()
    assert not failed


# --- what reaches back --------------------------------------------------------------------------


class Reaching:
    """An argument that calls something when it is asked what it is."""

    def __init__(self, value, call):
        self.value, self.call = value, call

    def __array__(self, dtype=None, copy=None):
        self.call()
        return np.array(self.value, dtype=dtype)

    def __index__(self):
        self.call()
        return self.value


@every
@pytest.mark.parametrize("what", ["reset", "learn", "wider"])
def test_arguments_that_reach_back(make, what):
    learner = make(cf.Ranking(k=3))
    call = {"reset": lambda: learner.reset(), "learn": lambda: play(learner),
            "wider": lambda: (learner.reset(), play(learner, np.ones((3, 40))))}[what]
    for _ in range(3):
        for arguments in ((Reaching(X, call), Y, Y[::-1]), (X, Reaching(Y, call), Y[::-1]),
                          (X, Y, Reaching(Y[::-1], call))):
            learner.reset()
            play(learner)
            try:
                learner.present(arguments[0])
                learner.learn(*arguments)
            except ValueError:
                assert what == "wider" or isinstance(learner, cf.DuelingBandit)
            learner.reset()
            play(learner)  # it is whole
            assert np.isfinite(learner.weights).all()
    if make is MAKE["kernel"]:
        return  # for rankings alone
    items = make(cf.Items(X))
    call = {"reset": lambda: items.reset(), "learn": lambda: items.present(None),
            "wider": lambda: items.reset()}[what]
    try:
        items.learn(Reaching(Y, call), 0, Reaching(3, call))
    except ValueError:
        assert isinstance(items, cf.DuelingBandit)
    items.present(Reaching(Y, call))


def test_lists_that_change_while_they_are_read():
    learner = cf.PreferencePerceptron(cf.Ranking(k=3))
    play(learner)
    for damage in (lambda a: a.fill(10**9), lambda a: setattr(a, "shape", (3, 4))):
        y = Y.copy()
        before = learner.weights
        with pytest.raises(ValueError, match=r"\by\b"):
            learner.learn(X, y, Reaching(Y[::-1], lambda y=y, damage=damage: damage(y)))
        np.testing.assert_array_equal(learner.weights, before)


@pytest.mark.parametrize("call", ["weights", "update", "reset", "present", "save"])
def test_rules_and_sets_that_reach_back(call, tmp_path):
    calls = {"weights": lambda: learner.weights, "update": lambda: learner.update(np.ones(5)),
             "reset": lambda: learner.reset(), "present": lambda: learner.present(X),
             "save": lambda: copy.copy(learner)}

    def rule(state, delta):
        calls[call]()
        return state.weights

    class Set:
        def contains(self, x):
            return True

        def project(self, z):
            calls[call]()
            return z

        def project_in(self, z, Ainv):
            calls[call]()
            return z

    for learner in (cf.CustomPreferencePerceptron(cf.Ranking(), rule),
                    cf.ConvexPreferencePerceptron(cf.Ranking(), feasible=Set()),
                    cf.SecondOrderPreferencePerceptron(cf.Ranking(), feasible=Set())):
        for _ in range(2):
            with pytest.raises(RuntimeError, match="called from within"):
                learner.learn(X, Y, Y[::-1])
            assert learner.rounds == 0 and learner.weights.size == 0


@pytest.mark.parametrize("change", ["reset", "learn"])
def test_kernels_that_reach_back(change):
    def kernel(x, y):
        if reaching:
            learner.reset() if change == "reset" else learner.learn(X, Y, Y[::-1])
        return float(x @ y)

    reaching = False
    learner = cf.PreferencePerceptron(cf.Ranking(k=3), kernel=kernel)
    play(learner)
    scores, reaching = learner.scores(X), True
    for call in (lambda: play(learner), lambda: learner.present(X), lambda: learner.scores(X),
                 lambda: learner.learn(X, Y, Y[::-1])):
        with pytest.raises(RuntimeError, match="called from within"):
            call()
    reaching = False
    np.testing.assert_array_equal(learner.scores(X), scores)
    assert learner.rounds == 1


def test_a_task_of_ones_own_that_reaches_back():
    class Task:
        dimension = 5

        def features(self, x, y):
            learner.reset()
            learner.update(np.ones(5))
            return scipy.sparse.csr_matrix(x[y][None])

        def argmax(self, w, x):
            learner.reset()
            return int(np.argmax(x @ w))

    for make in (cf.PreferencePerceptron, cf.SecondOrderPreferencePerceptron):
        learner = make(Task())
        for _ in range(3):
            learner.learn(X, learner.present(X), 3)
        assert learner.rounds == 2  # the one within, and that of the call


# --- sizes --------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("power", [40, 58, 61, 62, 63])
def test_tasks_beyond_any_memory(make, power):
    task = SimpleNamespace(dimension=2**power - 1, features=len, argmax=len)
    with pytest.raises((MemoryError, TypeError, ValueError)):
        make(task)


@every
def test_memory_that_runs_out(make):
    """In the first rounds and later; the next call works."""
    many = np.lib.stride_tricks.as_strided(np.ones(5), (2**50, 5), (0, 8))
    for rounds in (0, 2):
        learner = make(cf.Ranking(k=3))
        for _ in range(rounds):
            play(learner)
        for call in (lambda m=learner: m.present(many), lambda m=learner: m.scores(many),
                     lambda m=learner: m.learn(many, [0, 1], [1, 0])):
            with pytest.raises((MemoryError, ValueError)):
                call()
        play(learner)
        assert learner.rounds == rounds + 1 and learner.weights.size in (0, 5)
        assert np.isfinite(learner.scores(X)).all()


# --- what lies ----------------------------------------------------------------------------------


@every
def test_masked_arrays_and_lying_sparse_ones_are_refused(make):
    learner = make(cf.Ranking(k=3))
    play(learner)
    masked = np.ma.masked_array(X, mask=X > 1.0)
    liar = scipy.sparse.csr_matrix(X)
    liar.indices = liar.indices + 10**6
    column = scipy.sparse.csc_matrix(X)
    column.indices = column.indices + 10**6
    y = learner.present(X)
    for x in (masked, liar, column):
        for call in (lambda x=x: learner.present(x), lambda x=x: learner.scores(x),
                     lambda x=x: learner.learn(x, y, y)):
            with pytest.raises((ValueError, TypeError), match=r"\bx\b"):
                call()
    for name in ("y", "better"):
        lists = {"y": y, "better": y, name: np.ma.masked_array(y, mask=y > 5)}
        with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
            learner.learn(X, **lists)
    if not isinstance(learner, cf.DuelingBandit) and make is not MAKE["kernel"]:
        row = scipy.sparse.csr_matrix(X[:1])
        row.indices = row.indices + 10**6
        for delta in (masked[0], row, np.ma.masked_array(X[0])):
            with pytest.raises((ValueError, TypeError), match="delta"):
                learner.update(delta)
    with pytest.raises((ValueError, TypeError), match="features"):
        cf.Items(masked)
    if make is MAKE["kernel"]:
        return  # for rankings alone
    items = make(cf.Items(X))
    with pytest.raises((ValueError, TypeError), match=r"\bx\b"):
        items.present(np.ma.masked_array([1, 2, 3], mask=[0, 1, 0]))


@every
def test_documents_in_other_forms(make):
    pandas = pytest.importorskip("pandas")
    plain = make(cf.Ranking(k=3))
    play(plain)
    for form in (scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_matrix,
                 pandas.DataFrame, np.asfortranarray, np.ndarray.tolist):
        learner = make(cf.Ranking(k=3))
        x = form(X)
        learner.learn(x, learner.present(x), Y[::-1])
        np.testing.assert_array_equal(learner.weights, plain.weights)
        np.testing.assert_array_equal(learner.scores(x), plain.scores(X))


def states(value, path=()):
    """Every array and number of a state, and states in which it lies."""
    for name, part in value.items():
        if name == "metric":
            continue  # has tests of its own
        if isinstance(part, dict):
            yield from states(part, (*path, name))
        elif isinstance(part, np.ndarray):
            lies = [part[:-1], np.append(part, part), part.astype(np.int8), part.astype(object),
                    np.full(part.shape, np.nan), part.reshape(1, -1), -part - 1, None]
            yield from (((*path, name), lie) for lie in lies)
        elif isinstance(part, (int, float)):
            for lie in (-1, 2**62, 2**31, 0.5, np.nan, None, "1", part + 1):
                yield (*path, name), lie


@every
@pytest.mark.parametrize("task", [cf.Ranking(k=3), cf.Items(X)], ids=["ranking", "items"])
def test_states_that_lie(make, task):
    """Whatever is taken leaves a learner that can be used; whatever is refused changes nothing."""
    if make is MAKE["kernel"] and isinstance(task, cf.Items):
        return  # for rankings alone
    learner = make(task)
    context = X if isinstance(task, cf.Ranking) else None
    better = Y[::-1] if isinstance(task, cf.Ranking) else 3
    for _ in range(3):
        y = learner.present(context)
        learner.learn(context, y, better if np.ndim(y) == 0 or len(y) > 2 else y[1])
    learner.present(context)
    whole = learner._engine._state()
    for path, lie in states(whole):
        state = copy.deepcopy(whole)
        part = state
        for name in path[:-1]:
            part = part[name]
        part[path[-1]] = lie
        other = make(task)
        try:
            other._engine._restore(state)
        except (ValueError, TypeError, MemoryError, OverflowError, KeyError):
            assert other.rounds == 0
            continue
        for _ in range(2):
            other.scores(context), other.weights, other.average_weights, copy.copy(other)
            try:
                y = other.present(context)
                other.learn(context, y, better if np.ndim(y) == 0 or len(y) > 2 else y[1])
            except (ValueError, ArithmeticError):
                pass  # numbers that overflow
        assert np.isfinite(other.weights).all()


def test_pending_comparisons_that_lie():
    learner = cf.DuelingBandit(cf.Ranking(k=3), seed=2)
    learner.present(X)
    whole = learner._engine._state()
    pending = whole["pending"]
    teams = pending["brought"].copy()
    teams[pending["presented"][:2]] = 1  # both of the first pair from one side
    for lie in ({"direction": 2.0 * pending["direction"]}, {"presented": np.zeros(12, dtype=int)},
                {"presented": Y[:0], "brought": np.zeros(0, dtype=np.uint8)},
                {"brought": teams}, {"brought": None}):
        with pytest.raises((ValueError, TypeError), match="pending"):
            learner._engine._restore({**whole, "pending": {**pending, **lie}})
    items = cf.DuelingBandit(cf.Items(X), seed=2)
    with pytest.raises((ValueError, TypeError), match="presented"):
        items._engine._restore({**items._engine._state(), "pending": pending})


# --- while a simulation runs ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["preference", "second_order_l1", "dueling", "custom"])
def test_saved_and_read_during_simulations(name, tmp_path):
    rng = np.random.default_rng(3)
    data = cf.data.make_ranking(n_queries=50, n_features=8, seed=0)
    order = rng.integers(0, 50, 1500)
    user = cf.users.ExpectedAlphaInformative(0.5, seed=1)
    make = MAKE[name]
    alone, learner, done = make(cf.Ranking()), make(cf.Ranking()), threading.Event()
    expected = cf.simulate(alone, data, user, order=order, seed=4)

    def disturb():
        while not done.is_set():
            learner.save(tmp_path / "model")
            copy.deepcopy(learner), learner.weights, user.rng.random()

    def progress(finished, total):
        assert learner.rounds <= total
        copy.copy(learner)

    threads = [threading.Thread(target=disturb) for _ in range(2)] if name != "custom" else []
    for thread in threads:
        thread.start()
    found = cf.simulate(learner, data, user, order=order, seed=4, progress=progress)
    done.set()
    for thread in threads:
        thread.join()
    assert found == expected
    np.testing.assert_array_equal(learner.weights, alone.weights)


RANKINGS, CATALOGUE = cf.Ranking(k=2), cf.Items(X)


@pytest.mark.parametrize("name", ["preference", "second_order", "custom", "dueling"])
@pytest.mark.parametrize("call", ["present", "scores", "learn"])
@pytest.mark.parametrize(("task", "other", "x"), [
    (RANKINGS, CATALOGUE, X), (CATALOGUE, RANKINGS, Y), (CATALOGUE, cf.Items(X[:2]), Y)])
def test_a_task_that_is_exchanged_during_a_call(name, call, task, other, x):
    """It is refused, or has its effect on one task or the other; nothing is read that is gone."""
    learner = MAKE[name](task)
    shown = learner.present(x)
    better = shown[0] if task is CATALOGUE and name == "dueling" else shown

    def exchange():
        learner.__init__(other, *([learner.rule] if name == "custom" else []))
        learner.present(X if other is RANKINGS else None)

    arguments = (shown, better) if call == "learn" else ()
    try:
        getattr(learner, call)(Reaching(x, exchange), *arguments)
    except (RuntimeError, ValueError, IndexError):
        pass
    learner.reset()
    learner.present(X if other is RANKINGS else None)
    assert learner.rounds == 0


def test_a_learner_that_is_made_anew_during_a_run():
    data = cf.data.make_ranking(n_queries=2000, n_features=10, seed=0)
    learner = cf.PreferencePerceptron(cf.Ranking(k=5))

    def anew(done, total):
        learner.__init__(cf.Ranking(k=5), kernel="linear")

    with pytest.raises(RuntimeError, match="other parameters during its run"):
        cf.simulate(learner, data, cf.users.AlphaInformative(0.5), order=np.arange(400_000) % 2000,
                    progress=anew)
