"""The compiled learners of online convex optimisation under what should never happen.

States that lie, sizes that overflow, memory that runs out, sets and losses that call back, threads.
"""

import copy
import threading
import time
import warnings

import numpy as np
import pytest
from convex_cases import SETS, quiet
from convex_runs import KINDS, Unknown, learners, losses, same_learner, state_of
from state_files import python

import coactive_fast as cf

BANDITS = ["ONSEG", "ONSEG baseline", "OGDEG", "DikinFTRL"]
HUGE = [2**31, 2**33, 2**40, 2**60, 2**61, 2**62, 2**63 - 1, 2**63, 2**64, 2**100]


def made(kind, name="ball", n=5, rounds=70, asked=True):
    """A learner on the way, with a point that was asked for."""
    learner = learners(cf, SETS[name](cf, n), n)[kind]()
    quiet(learner.run, losses(cf, "squared", n), rounds)
    if asked:
        learner.ask()
    return learner


def use(learner):
    """Every method once; numbers may be refused, nothing else may happen."""
    n = learner.dimension
    for call in (lambda: learner.center, learner.ask, lambda: state_of(learner),
                 lambda: learner.tell(np.full(n, 0.1) if n and kind_of(learner) else 0.1),
                 lambda: learner.run(losses(cf, "squared", n), 80), learner.reset, learner.ask):
        try:
            quiet(call)
        except (ValueError, ArithmeticError):
            pass
    assert np.isfinite(learner.center).all()


def kind_of(learner):
    return isinstance(learner, (cf.ONS, cf.OGD))


# --- states that lie ----------------------------------------------------------------------------


def places(state, path=()):
    """Where the numbers and arrays of a state are."""
    for name, value in state.items():
        if isinstance(value, dict):
            yield from places(value, (*path, name))
            yield (*path, name)
        else:
            yield (*path, name)


def lies(value):
    """What a file with a right checksum could hold in the place of a value."""
    yield from (None, "1", [], {}, -1, 2**62, 2**63 - 1, 2**64, -0.5, np.nan, np.inf, 1e308, True,
                np.empty(0), np.zeros(2, np.int8), np.array([np.nan]))
    if isinstance(value, np.ndarray):
        yield from (value[:-1], np.append(value, value[:1]), value.astype(np.int8),
                    value.astype(object), value[None], value.tolist())
        if value.size:
            yield from (np.full_like(value, 0), np.full_like(value, 100), -value,
                        np.ma.array(value, mask=True))
            if value.dtype.kind == "f":
                yield from (np.full_like(value, np.nan), 1e200 * value, value + 1e-3)
    elif isinstance(value, int):
        yield from (value + 1, value - 1, float(value))


def with_lie(state, path, lie):
    state = copy.deepcopy(state)
    inner = state
    for name in path[:-1]:
        inner = inner[name]
    if lie is KeyError:
        del inner[path[-1]]
    else:
        inner[path[-1]] = lie
    return state


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["ball", "simplex", "far"])
def test_a_state_that_lies_is_refused_or_does_no_harm(kind, name):
    source = made(kind, name)
    state = source._engine._state()
    target = made(kind, name, asked=False, rounds=20)
    refused = tried = 0
    for path in places(state):
        given = state
        for part in path:
            given = given[part]
        for lie in (KeyError, *lies(given)):
            before, tried = state_of(target), tried + 1
            try:
                target._engine._restore(with_lie(state, path, lie))
            except (ValueError, TypeError, OverflowError, MemoryError) as error:
                refused += 1
                assert str(error)
                assert state_of(target) == before
            else:
                use(target)
                target._engine._restore(state)
                same_learner(target, source)
    assert refused > 0.8 * tried


def test_the_parts_of_a_state_must_go_together():
    for kind, change, part in (
        ("ONSEG", {"rounds": 3}, "updates"),
        ("ONSEG", {"y": np.full(5, 0.9)}, "y"),
        ("ONSEG", {"v": np.full(5, 0.9)}, "v"),
        ("ONSEG", {"pending": 0}, "v"),
        ("ONSEG", {"lam": -1.0}, "lam"),
        ("ONSEG", {"face": np.full(5, 2, np.int8)}, "face"),
        ("ONSEG", {"metric": cf.metric.Full(4).state()}, "n of metric"),
        ("ONS", {"pending": 2}, "pending"),
        ("OGDEG", {"mean": np.inf}, "mean"),
        ("OGDEG", {"bound_named": 1}, "bound_named"),
        ("OGDEG", {"rng": {"head": {}, "arrays": None}}, "rng"),
        ("DikinFTRL", {"nu": 0.5}, "nu"),
        ("DikinFTRL", {"G": np.zeros(5)}, "G"),
        ("DikinFTRL", {"y": np.array([0.6, 0.1, 0.1, 0.1, 0.1])}, "G"),
        ("DikinFTRL", {"version": 99}, "version"),
    ):
        learner = made(kind)
        before = state_of(learner)
        with pytest.raises((ValueError, TypeError), match=part):
            learner._engine._restore({**learner._engine._state(), **change})
        assert state_of(learner) == before


# --- sizes, and memory that runs out ------------------------------------------------------------


def builders(n):
    hand = {"delta": 0.1 / max(n, 1), "gamma": 0.5}
    return {
        "ONSEG": lambda: cf.ONSEG(n, cf.Ball(1.0), delta=0.1, gamma=0.5),
        "ONSEG simplex": lambda: cf.ONSEG(n, cf.Simplex(), horizon=100),
        "OGDEG": lambda: cf.OGDEG(n, cf.Box(0.0, 1.0), **hand),
        "DikinFTRL": lambda: cf.DikinFTRL(n, eta=0.1),
        "ONS": lambda: cf.ONS(n, cf.L1Ball(1.0), 0.5),
        "OGD": lambda: cf.OGD(n, cf.Ball(1.0), 1.0),
    }


@pytest.mark.parametrize("n", HUGE)
@pytest.mark.parametrize("kind", builders(1))
def test_a_dimension_that_no_memory_holds_is_refused_at_once(kind, n):
    if n == 2**31 and not kind.startswith("ON"):
        pytest.skip("a machine may have so much")
    begin = time.perf_counter()
    with pytest.raises((MemoryError, ValueError), match="dimension"):
        quiet(builders(n)[kind])
    assert time.perf_counter() - begin < 5.0


def test_a_matrix_that_no_memory_holds_is_refused_at_once():
    for make in (lambda: cf.ONS(10**6, cf.Ball(1.0), 0.5),
                 lambda: cf.ONSEG(10**6, cf.Ball(1.0), delta=0.1, gamma=0.5)):
        with pytest.raises(MemoryError, match="dimension=1000000, with a matrix"):
            make()


@pytest.mark.parametrize("rounds", [2**60, 2**62, 2**63, 2**100])
def test_more_rounds_than_memory_holds(rounds):
    learner = made("OGDEG")
    before = state_of(learner)
    for wrap in (lambda rows: rows, Unknown):
        with pytest.raises((ValueError, MemoryError)):
            learner.run(wrap(losses(cf, "squared", 5)), rounds)
    assert state_of(learner) == before


# --- sets and losses that call back -------------------------------------------------------------


class Caller(cf.FeasibleSet):
    """A ball that does something whenever it is asked."""

    def __init__(self, do=None):
        self.do, self.raised = do, []

    def _may_do(self):
        if self.do is not None:
            try:
                self.do()
            except BaseException as error:
                self.raised.append(error)
                raise

    def __deepcopy__(self, memo):
        return self

    def contains(self, x):
        return cf.Ball(1.0).contains(x)

    def center(self, dimension):
        return np.zeros(dimension)

    def in_radius(self, dimension):
        return 1.0

    def diameter(self, dimension):
        return 2.0

    def shrunk(self, gamma, dimension):
        return self

    def project(self, z):
        self._may_do()
        return cf.Ball(1.0).project(z)

    def project_in(self, z, Ainv):
        self._may_do()
        return cf.Ball(1.0).project_in(z, Ainv)

    def direction(self, rng, dimension):
        self._may_do()
        return cf.Ball(1.0).direction(rng, dimension)


CALLS = {
    "ask": lambda learner: learner.ask(),
    "tell": lambda learner: learner.tell(0.1),
    "center": lambda learner: learner.center,
    "reset": lambda learner: learner.reset(),
    "copy": copy.copy,
    "set_params": lambda learner: learner.set_params(loss_bound=2.0),
    "restore": lambda learner: learner._engine._restore(learner.told),
    "run": lambda learner: learner.run(losses(cf, "squared", 3), 2),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", ["ONSEG", "OGDEG"])
def test_a_set_that_calls_its_learner_is_refused(kind, call):
    own = Caller()
    hand = {"delta": 0.1, "gamma": 0.3, "seed": 1, "loss_bound": 50.0}
    learner = cf.ONSEG(3, own, beta=0.5, **hand) if kind == "ONSEG" else cf.OGDEG(3, own, **hand)
    other = copy.deepcopy(learner)
    for one in (learner, other):
        one.ask()
        one.tell(0.5)
    told = learner._engine._state()
    object.__setattr__(learner, "told", told)
    own.do = lambda: CALLS[call](learner)
    for act in (learner.ask, lambda: learner.tell(0.5)):
        before = state_of(learner)
        with pytest.raises(RuntimeError, match="from within"):
            act()
        assert state_of(learner) == before
        own.do, do = None, own.do
        learner.ask()
        own.do = do
    own.do = None
    other.ask()
    for one in (learner, other):
        one.tell(0.25)
    same_learner(learner, other)


def test_a_set_that_fails_while_the_learner_is_saved_and_read_by_others():
    """Its Python lets other threads in: they wait for the round to end."""
    inside, go_on = threading.Event(), threading.Event()
    own = Caller()
    learner = cf.OGDEG(3, own, delta=0.1, gamma=0.3, seed=1)
    learner.ask()
    before, seen = learner._engine._state(), []

    def wait():
        inside.set()
        go_on.wait(5.0)

    own.do = wait
    thread = threading.Thread(target=learner.tell, args=(0.5,))
    thread.start()
    inside.wait(5.0)
    reader = threading.Thread(target=lambda: seen.append(learner._engine._state()))
    reader.start()
    time.sleep(0.02)
    assert not seen
    go_on.set()
    thread.join()
    reader.join()
    assert seen[0]["rounds"] == before["rounds"] + 1


@pytest.mark.parametrize("kind", BANDITS)
def test_losses_that_change_the_learner(kind):
    """What they may do is what may be done between ask and tell; the run then ends in words."""
    for call in ("ask", "tell", "reset", "copy", "run", "set_params"):
        learner = made(kind, asked=False)

        def value(t, x, learner=learner, call=call):
            if t == 3:
                quiet(CALLS[call], learner) if call != "run" else quiet(
                    learner.run, losses(cf, "squared", 5), 2)
            return 0.1

        rounds = learner.rounds
        if call in ("tell", "reset", "run"):
            with pytest.raises(ValueError, match="nothing to tell"):
                learner.run(value, 6)
            assert len(learner.last_history) == 3
        else:
            assert len(learner.run(value, 6)) == 6 and learner.rounds == rounds + 6
        use(learner)


@pytest.mark.parametrize("where", ["ask", "compiled", "own losses"])
def test_a_warning_may_read_and_copy_the_learner(where):
    """It comes between two rounds: no lock is held."""
    learner = cf.OGDEG(5, cf.Ball(1.0), delta=0.1, gamma=0.3, seed=1, loss_bound=1e-9)
    seen = []

    def show(message, *arguments, **keywords):
        seen.append((str(message), learner.rounds, learner.center, copy.deepcopy(learner)))

    rows = losses(cf, "squared", 5)
    with pytest.MonkeyPatch.context() as patch:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            patch.setattr(warnings, "showwarning", show)
            if where == "ask":
                learner.ask()
                learner.tell(0.1)
            else:
                learner.run(rows if where == "compiled" else Unknown(rows), 3)
    assert len(seen) == 1 and seen[0][1] == 0 and "loss_bound" in seen[0][0]
    assert learner.rounds == (1 if where == "ask" else 3)


def test_a_number_that_resets_the_learner():
    class Number(float):
        def __float__(self):
            learner.reset()
            return 0.1

        __array__ = None

    for kind in ("ONSEG", "OGD"):
        learner = made(kind)
        value = Number(0.1) if kind == "ONSEG" else nasty_vector(learner)
        with pytest.raises((ValueError, TypeError)):
            learner.tell(value)
            learner.tell(value)
        use(learner)


def nasty_vector(learner):
    class Vector:
        def __array__(self, dtype=None, copy=None):
            learner.reset()
            return np.full(learner.dimension, 0.1)

    return Vector()


# --- arguments that are no plain numbers --------------------------------------------------------


@pytest.mark.parametrize("kind", ["Squared", "Logistic", "PortfolioReturn"])
def test_losses_refuse_what_is_masked(kind):
    Z, y = np.ones((3, 2)), np.array([1.0, -1.0, 1.0])
    masked = np.ma.array(Z, mask=[[0, 1], [0, 0], [0, 0]])
    make = getattr(cf.losses, kind)
    more = () if kind == "PortfolioReturn" else (y,)
    for scaling in ({}, {"Z_scaling": cf.data.minmax(np.vstack([Z, 0 * Z]))}):
        with pytest.raises(ValueError, match="Z must not be a masked array"):
            make(masked, *more, **scaling)
    if more:
        with pytest.raises(ValueError, match="y must not be a masked array"):
            make(Z, np.ma.array(y, mask=[1, 0, 0]))
    with pytest.raises(ValueError, match="x must not be a masked array"):
        make(Z, *more).value(0, np.ma.array([1.0, 2.0], mask=[1, 0]))


@pytest.mark.parametrize("scaled", [False, True])
def test_losses_refuse_sparse_matrices_that_lie(scaled):
    sparse = pytest.importorskip("scipy.sparse")
    Z = np.arange(12.0).reshape(4, 3)
    scaling = {"Z_scaling": cf.data.minmax(Z)} if scaled else {}
    for form in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia"):
        assert np.array_equal(cf.losses.PortfolioReturn(sparse.csr_matrix(Z).asformat(form)).Z, Z)
    for form in ("csr", "csc", "coo", "bsr"):
        matrix = sparse.csr_matrix(Z).asformat(form)
        for name in ("indices", "indptr", "row", "col"):
            if name in vars(matrix):
                lying = matrix.copy()
                setattr(lying, name, np.full_like(getattr(lying, name), 10**8))
                with pytest.raises((ValueError, TypeError), match="^Z "):
                    cf.losses.PortfolioReturn(lying, **scaling)


def test_points_and_gradients_that_are_masked():
    masked = np.ma.array(np.full(5, 0.1), mask=[1, 0, 0, 0, 0])
    learner = made("OGD")
    before = state_of(learner)
    with pytest.raises(ValueError, match="gradient must not be a masked array"):
        learner.tell(masked)
    assert state_of(learner) == before
    for name in SETS:
        feasible = SETS[name](cf, 5)
        for call in (feasible.contains, feasible.project,
                     lambda z, s=feasible: s.project_in(z, np.eye(5))):
            with pytest.raises(ValueError, match="masked"):
                call(masked)
    with pytest.raises(ValueError, match="lower must not be a masked array"):
        cf.Box(masked, 1.0)


# --- threads ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_fresh_learners_are_read_by_threads(kind):
    """Reading and asking while another thread makes and teaches the learner."""
    shared, stop, failed = [made(kind, rounds=0, asked=False)], threading.Event(), []

    def read():
        while not stop.is_set():
            try:
                learner = shared[-1]
                assert learner.center.shape == (5,) and learner.ask().shape == (5,)
                state_of(learner)
            except BaseException as error:
                failed.append(error)
                return

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    rows = losses(cf, "squared", 5)
    for _ in range(60):
        learner = learners(cf, SETS["ball"](cf, 5), 5)[kind]()
        shared.append(learner)
        quiet(learner.run, rows, 20)
        learner.reset()
    stop.set()
    for thread in threads:
        thread.join()
    assert not failed


@pytest.mark.parametrize("kind", KINDS)
def test_save_copy_and_read_during_a_run(kind, tmp_path):
    learner, alone = (made(kind, n=9, asked=False) for _ in range(2))
    rows, stop, failed, saved = losses(cf, "squared", 9), threading.Event(), [], []

    def read(which):
        path = tmp_path / f"{which}.cf"
        while not stop.is_set() or not saved:
            try:
                learner.save(path)
                saved.append(cf.load(path))
                copy.deepcopy(learner)
                assert np.isfinite(learner.center).all()
            except BaseException as error:
                failed.append(error)
                return

    threads = [threading.Thread(target=read, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    quiet(learner.run, rows, 60_000)
    stop.set()
    for thread in threads:
        thread.join(30.0)
        assert not thread.is_alive()
    assert not failed and saved
    quiet(alone.run, rows, 60_000)
    same_learner(learner, alone)


def test_memory_that_runs_out(tmp_path):
    """Under a limit of address space: MemoryError, and the learner goes on."""
    code = """
import resource, sys, numpy as np
import coactive_fast as cf
n = 1500
learner = cf.ONS(n, cf.Ball(1.0), 0.5)
learner.ask(); learner.tell(np.full(n, 0.01))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 20_000_000, resource.RLIM_INFINITY))
out = 0
for act in (lambda: cf.ONS(n, cf.Ball(1.0), 0.5), learner._engine._state, learner.reset,
            lambda: cf.OGD(10**7, cf.Ball(1.0), 1.0),
            lambda: learner.run(cf.losses.PortfolioReturn(np.ones((1, n))), 10**7)):
    try:
        act()
    except MemoryError:
        out += 1
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
y = learner.ask(); learner.tell(np.full(n, 0.01))
assert np.isfinite(learner.center).all() and learner.rounds == 2, learner.rounds
print("refused", out)
"""
    pytest.importorskip("resource")
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "refused" and int(done.stdout.split()[1]) >= 4


