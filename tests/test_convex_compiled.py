"""The compiled learners of online convex optimisation: runs, chance, copies, interrupts, threads.

What they compute is judged by the files test_convex_twins*.py, which run over both modules.
"""

import copy
import inspect
import os
import pickle
import signal
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from coactive_fast.learner._chance import Chance
from convex_cases import SETS, check_nearest, each_set, quiet
from convex_runs import KINDS, LOSSES, Unknown, by_calls, learners, losses, same_learner, state_of

import coactive_fast as cf
from coactive_fast import reference

# --- runs ---------------------------------------------------------------------------------------


@each_set
@pytest.mark.parametrize("n", [2, 9, 70])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_the_loop_of_single_calls(name, n, kind):
    feasible = SETS[name](cf, n)
    make = learners(cf, feasible, n)[kind]
    for loss in LOSSES:
        rows = losses(cf, loss, n)
        fast, slow, single = make(), make(), make()
        for rounds in (40, 1, 9):
            history = quiet(fast.run, rows, rounds)
            assert quiet(slow.run, Unknown(rows), rounds) == history
            np.testing.assert_array_equal(quiet(by_calls, single, rows, rounds), history.loss)
            same_learner(fast, slow)
            same_learner(fast, single)
        assert fast.rounds == 50 and fast.last_history == history


@each_set
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_draws_and_moves_as_the_twin(name, kind):
    n = 5
    histories, centers = [], []
    for module in (cf, reference):
        learner = learners(module, SETS[name](module, n), n)[kind]()
        history = quiet(learner.run, losses(module, "logistic", n), 60)
        histories.append(history)
        centers.append(learner.center)
    np.testing.assert_allclose(centers[0], centers[1], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(histories[0].loss, histories[1].loss, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(histories[0].mistakes, histories[1].mistakes)


@each_set
@pytest.mark.parametrize("n", [3, 24])
def test_projections_along_a_run_satisfy_kkt(name, n):
    """The point of the shrunk set nearest to the step, in the norm of the A that was kept."""
    feasible = SETS[name](cf, n)
    r = feasible.in_radius(n)
    learner = cf.ONSEG(n, feasible, beta=1e-4, epsilon=50.0, delta=0.3 * r, gamma=0.3, seed=17,
                       loss_bound=1e3)
    rows, A, moved = losses(cf, "return", n, rows=1), 50.0 * np.eye(n), 0
    c, d = feasible.center(n), feasible.affine_dimension(n)
    for _ in range(60):
        y, x = learner.center, learner.ask()
        loss = learner.run(rows, 1).loss[0]
        g = d / learner.delta * loss * (x - y) / learner.delta
        A += np.outer(g, g)
        z = y - np.linalg.solve(A, g) / learner.beta
        check_nearest(name, learner.center, z, A, c, learner.gamma)
        moved += not np.allclose(learner.center, z, rtol=0, atol=1e-9)
    assert moved > 10, "the projection was hardly ever at work"
    assert learner._engine._state()["metric"]["repairs"] == 0


REAL = os.environ.get("COACTIVE_DATA", "")


def real_losses(name):
    """(set, losses) of a run over real data."""
    if name == "nyse-o":
        path = Path(REAL, "stocks", "nyse-o_weekly.csv")
        rates = cf.data.load_prices(path).relatives - 1.0
        return "simplex", cf.losses.PortfolioReturn(rates)
    X, y = cf.data.load_svmlight(Path(REAL, "tabular", f"{name}.svm.gz"))
    Z = cf.data.minmax(X, lower=-1.0)
    if name == "abalone":
        return "ball", cf.losses.Squared(X, y, Z_scaling=Z, y_scaling=cf.data.minmax(y))
    return "l1", cf.losses.Logistic(X, y, Z_scaling=Z)


@pytest.mark.skipif(not REAL, reason="COACTIVE_DATA does not name the folder of real data")
@pytest.mark.parametrize("name", ["abalone", "ionosphere", "nyse-o"])
@pytest.mark.parametrize("beta", [1e-6, 1e-4])
def test_projections_over_real_data_satisfy_kkt(name, beta):
    """A has seen many gradients, of very different sizes; its steps are long."""
    kind, rows = real_losses(name)
    n = rows.dimension
    feasible = SETS[kind](cf, n)
    learner = quiet(cf.ONSEG, n, feasible, horizon=150 * len(rows), beta=beta, epsilon=1.0,
                    loss_bound=1e3, seed=5)
    c, d, moved = feasible.center(n), feasible.affine_dimension(n), 0
    for t in range(400):
        if t % 40 == 0:
            learner.run(rows, 700)
        y, x = learner.center, learner.ask()
        loss = rows.value(t, x)
        learner.tell(loss)
        A = cf.metric.Full.from_state(learner._engine._state()["metric"]).matrix()
        g = d / learner.delta * loss * (x - y) / learner.delta
        z = y - np.linalg.solve(A, g) / learner.beta
        check_nearest(kind, learner.center, z, A, c, learner.gamma)
        moved += not np.allclose(learner.center, z, rtol=0, atol=1e-12)
    assert moved > 20, "the projection was hardly ever at work"
    assert learner._engine._state()["metric"]["repairs"] == 0


def test_a_point_that_is_pending_is_the_first_of_a_run():
    rows = losses(cf, "squared", 3)
    for first in ("ask", "ask_pair"):
        learners_ = [cf.OGDEG(3, cf.Ball(1.0), delta=0.1, gamma=0.2, seed=1, loss_bound=50.0)
                     for _ in range(2)]
        point = getattr(learners_[0], first)()
        point = point[0] if first == "ask_pair" else point
        history = learners_[0].run(rows, 5)
        assert history.loss[0] == rows.value(0, point)
        assert learners_[1].run(rows, 5) == history
        same_learner(*learners_)


def test_an_overflow_ends_a_run_as_it_ends_the_loop():
    rows = cf.losses.Squared([[1.0], [1e200], [1.0]], [0.0, 0.0, 0.0])
    for make in (lambda: cf.OGD(1, cf.Box(0.5, 1.0), 1.0),
                 lambda: cf.OGDEG(1, cf.Box(0.5, 1.0), delta=0.01, gamma=0.2, seed=1)):
        fast, slow = make(), make()
        with pytest.raises(ValueError, match="loss of round 1"):
            fast.run(rows, 3)
        with pytest.raises(ValueError, match="loss"):
            slow.run(Unknown(rows), 3)
        assert fast.rounds == len(fast.last_history) == 1
        same_learner(fast, slow)
        with pytest.raises(TypeError, match="progress"):
            fast.run(rows, 3, progress=3)


def test_progress_is_told_and_may_read_the_learner():
    learner = cf.OGDEG(3, cf.Ball(1.0), delta=0.1, gamma=0.2, seed=1, loss_bound=50.0)
    seen = []

    def report(done, total):
        seen.append((done, total, learner.rounds, learner.center.size))

    learner.run(losses(cf, "squared", 3), 300_000, progress=report)
    assert len(seen) > 1 and seen[-1] == (300_000, 300_000, 300_000, 3)
    assert all(done == rounds for done, _, rounds, _ in seen)
    learner.run(lambda t, x: 0.0, 3, progress=lambda done, total: seen.append(done))
    assert seen[-3:] == [1, 2, 3]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
def test_an_interrupted_run_stops_between_rounds_and_goes_on():
    rows = losses(cf, "squared", 9)

    def make():
        return cf.ONSEG(9, cf.Ball(1.0), beta=0.5, delta=0.1, gamma=0.2, seed=4, loss_bound=1e3)

    learner, whole = make(), make()

    def once_it_runs(done, total):
        if done and not signal.getitimer(signal.ITIMER_REAL)[0]:
            signal.setitimer(signal.ITIMER_REAL, 0.03)

    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            learner.run(rows, 10**8, progress=once_it_runs)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    done = learner.rounds
    assert 0 < done == len(learner.last_history)
    assert learner.last_history == whole.run(rows, done)
    same_learner(learner, whole)

    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        learner.run(rows, 10**8, progress=stop)
    assert learner.rounds - done == len(learner.last_history)


@pytest.mark.parametrize("kind", ["ONSEG", "OGDEG", "DikinFTRL"])
@pytest.mark.parametrize("n", [2, 33])
def test_a_long_run_draws_what_single_calls_draw(kind, n):
    """Long runs draw in another way, until a pause and after it."""
    rows = losses(cf, "squared", n)
    fast, single = (learners(cf, cf.Simplex(), n)[kind]() for _ in range(2))
    history = quiet(fast.run, rows, 1500)
    np.testing.assert_array_equal(quiet(by_calls, single, rows, 1500), history.loss)
    same_learner(fast, single)


@pytest.mark.parametrize("bits", ["PCG64", "MT19937", "Philox", "SFC64", "PCG64DXSM"])
def test_draws_are_those_of_numpy(bits):
    """Whether the state of the generator is borrowed, as that of a PCG64, or not."""
    for seed in range(20):
        ours, plain, numpys = (np.random.Generator(getattr(np.random, bits)(seed))
                               for _ in range(3))
        chances = Chance(ours), Chance(plain)
        numpys.integers(7, dtype=np.uint32)  # half of a draw is left over
        for chance in chances:
            chance.generator.integers(7, dtype=np.uint32)
        for n in (0, 1, 5000, 3):
            expected = numpys.standard_normal(n)
            np.testing.assert_array_equal(chances[0].drawn(n), expected)
            np.testing.assert_array_equal(chances[1].drawn(n, by_borrowing=False), expected)
        rest = [(g.integers(2**31, dtype=np.uint32), g.bit_generator.random_raw())
                for g in (chances[0].generator, chances[1].generator, numpys)]
        assert rest[0] == rest[1] == rest[2]


def test_this_numpy_is_borrowed_from():
    """Else runs are right, but slower: its normals or its PCG64 are no longer what they were."""
    assert Chance(np.random.default_rng(0)).lends
    assert not Chance(np.random.Generator(np.random.MT19937(0))).lends


# --- warnings -----------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda rows: rows, Unknown])
def test_a_run_warns_once_of_losses_beyond_the_bound(wrap):
    rows = cf.losses.PortfolioReturn([[1.0, 0.0]] * 5 + [[9.0, 9.0]] * 5)

    def make():
        return cf.OGDEG(2, cf.Simplex(), delta=0.01, gamma=0.1, loss_bound=2.0, seed=2)

    learner = make()
    with pytest.warns(UserWarning, match="loss_bound=2") as heard:
        history = learner.run(wrap(rows), 40)
    assert len(heard) == 1 and heard[0].filename == __file__ and len(history) == 40
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.run(wrap(rows), 40)

    # as an error it stops the run before its round; what is left can be gone on with
    stopped, quietly = make(), make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="loss_bound"):
            stopped.run(wrap(rows), 40)
    assert stopped.rounds == len(stopped.last_history) == 5
    quietly.run(rows, 5)
    quietly.ask()
    same_learner(stopped, quietly)


@pytest.mark.parametrize("wrap", [lambda rows: rows, Unknown])
@pytest.mark.parametrize("first", [False, True])
def test_a_run_refuses_a_loss_too_far_beyond_the_bound(wrap, first):
    """Its round, and the learner, are as if the run had ended before it."""
    targets = np.zeros(90)
    targets[70] = 1e140
    if not first:
        targets[10] = 2.0
    losses = cf.losses.Squared(np.full((90, 3), 0.5), targets)
    learner, other = (cf.DikinFTRL(3, eta=0.05, seed=1) for _ in "12")
    with warnings.catch_warnings():
        warnings.simplefilter("error" if first else "ignore")
        with pytest.raises(ValueError, match=r"^loss.* is 5e\+279, too far beyond loss_bound=1\b"):
            learner.run(wrap(losses), 90)
        assert learner.rounds == len(learner.last_history) == 70
        other.run(losses, 70)
        other.ask()
        same_learner(learner, other)
        learner.tell(0.5)


def test_copies_do_not_warn_again():
    learner = quiet(cf.ONSEG, 3, cf.Ball(1.0), horizon=10, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for other in (copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
            assert other.delta == learner.delta
        learner.set_params(niceness=2.0)
    with pytest.warns(UserWarning, match="horizon"):
        learner.clone()


# --- state --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ONSEG", "OGDEG", "DikinFTRL"])
@pytest.mark.parametrize("asked", ["ask", "ask_pair"])
def test_a_refused_loss_leaves_every_byte(kind, asked):
    learner = learners(cf, cf.Ball(1.0), 3)[kind]()
    quiet(learner.run, losses(cf, "squared", 3), 12)
    getattr(learner, asked)()
    state = state_of(learner)
    too_large = [1e200, -1e308] if kind == "ONSEG" else []
    for loss in (np.nan, np.inf, None, "1", *too_large):
        tell = learner.tell if asked == "ask" else lambda f: learner.tell_pair(0.0, f)  # noqa: B023
        with pytest.raises((TypeError, ValueError)):
            tell(loss)
        assert state_of(learner) == state
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            tell(1e3)
    assert state_of(learner) == state


def test_a_pending_point_is_saved(tmp_path):
    for asked in ("ask", "ask_pair"):
        learner = learners(cf, cf.Box(0.0, 1.0), 3)["ONSEG"]()
        learner.ask()
        learner.tell(0.5)
        points = np.array(getattr(learner, asked)())
        learner.save(tmp_path / "learner.cf")
        again = cf.load(tmp_path / "learner.cf")
        same_learner(again, learner)
        np.testing.assert_array_equal(getattr(again, asked)(), points)
        for one in (learner, again):
            one.tell(0.3) if asked == "ask" else one.tell_pair(0.1, 0.2)
        same_learner(again, learner)


def test_a_loaded_learner_resets_to_the_same_beginning(tmp_path):
    """Also without a seed: the first state of the generator is part of what is kept."""
    learner = cf.OGDEG(3, cf.Ball(1.0), delta=0.1, gamma=0.2)
    first = learner.ask()
    learner.tell(0.1)
    learner.save(tmp_path / "learner.cf")
    for other in (cf.load(tmp_path / "learner.cf"), copy.deepcopy(learner), learner):
        np.testing.assert_array_equal(other.reset().ask(), first)


def test_chance_of_every_kind_goes_on():
    for bits in (np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM):
        given = np.random.Generator(bits(3))
        expected = copy.deepcopy(given)
        learner = cf.OGDEG(5, cf.Ball(1.0), delta=0.1, gamma=0.2, seed=given)
        for _ in range(3):
            v = expected.standard_normal(5)
            x, y = learner.ask(), learner.center
            np.testing.assert_allclose((x - y) / 0.1, v / np.linalg.norm(v), atol=1e-13)
            learner.tell(0.3)
            learner = pickle.loads(pickle.dumps(learner))
        assert given.random() == np.random.Generator(bits(3)).random()


def test_a_long_run_stays_right():
    """Past renewals and probes of the metric; the twin's inverse is computed afresh."""
    n, rows = 4, losses(cf, "squared", 4)
    learner = cf.ONSEG(n, cf.Ball(1.0), beta=0.5, delta=0.2, gamma=0.3, seed=4, loss_bound=1e3)
    learner.run(rows, 20_000)
    metric = cf.metric.Full.from_state(learner._engine._state()["metric"])
    health = metric.health()
    assert health["residual"] < 1e-8 and health["repairs"] == 0 and metric.updates == 20_000
    np.testing.assert_allclose(metric.inverse() @ metric.matrix(), np.eye(n), atol=1e-8)


# --- parameters ---------------------------------------------------------------------------------


def test_constants_are_attributes():
    learner = cf.ONSEG(3, cf.Ball(2.0), horizon=10**6, seed=0)
    twin = reference.ONSEG(3, reference.Ball(2.0), horizon=10**6)
    for name in ("delta", "gamma", "beta", "epsilon"):
        assert learner.get_params()[name] is None
        assert getattr(learner, name) == pytest.approx(getattr(twin, name), rel=1e-12)
    assert cf.ONSEG(3, cf.Ball(2.0), delta=0.1, gamma=0.2).gamma == 0.2
    assert repr(cf.ONS(2, cf.Box(0.0, [1.0, 2.0]), 0.5)) == (
        "ONS(dimension=2, feasible=Box(0.0, [1.0, 2.0]), beta=0.5)")


def test_a_round_that_was_begun_keeps_its_delta():
    learner = cf.OGDEG(3, cf.Ball(1.0), delta=0.1, gamma=0.2, seed=1)
    learner.ask()
    with pytest.raises(ValueError, match="delta.*asked for"):
        learner.set_params(delta=0.05)
    learner.tell(0.1)
    y = learner.set_params(delta=0.05).center
    assert np.linalg.norm(learner.ask() - y) == pytest.approx(0.05)


def test_what_would_change_gamma_waits_for_reset():
    learner = quiet(cf.OGDEG, 3, cf.Ball(1.0), horizon=10**6, seed=1)
    learner.ask()
    learner.tell(0.1)
    with pytest.raises(ValueError, match="horizon.*gamma"):
        learner.set_params(horizon=10**7)
    assert learner.horizon == 10**6
    learner.reset().set_params(horizon=10**7)
    assert learner.gamma < 0.5


def test_a_horizon_that_is_set_later_is_judged_too():
    learner = cf.OGDEG(3, cf.Ball(1.0), delta=0.1, gamma=0.2, seed=1)
    with pytest.warns(UserWarning, match="horizon=10 is too short") as heard:
        learner.set_params(delta=None, gamma=None, horizon=10)
    assert len(heard) == 1 and heard[0].filename == __file__
    assert learner.gamma == 0.5


@pytest.mark.parametrize("name", ["ONSEG", "OGDEG", "ONS", "OGD", "DikinFTRL", "Ball", "Box",
                                  "L1Ball", "Simplex", "losses.Squared", "losses.Logistic",
                                  "losses.PortfolioReturn"])
def test_signatures_are_the_twins(name):
    own, twin = cf, reference
    for part in name.split("."):
        own, twin = getattr(own, part), getattr(twin, part)
    given = [[(p.name, p.kind, p.default) for p in inspect.signature(one).parameters.values()]
             for one in (own, twin)]  # annotations aside: twins have stubs
    assert given[0] == given[1]


def test_epsilon_in_use_is_that_of_the_beginning():
    learner = cf.ONS(3, cf.Ball(1.0), 0.5)
    learner.ask()
    learner.tell([0.1, 0.2, 0.3])
    learner.set_params(beta=0.25)
    assert (learner.beta, learner.epsilon) == (0.25, 1.0)
    assert pickle.loads(pickle.dumps(learner)).epsilon == 1.0
    assert learner.reset().epsilon == 4.0


def test_a_new_seed_is_drawn_from_at_the_next_round():
    learner, other = (cf.OGDEG(3, cf.Ball(1.0), delta=0.1, gamma=0.2, seed=s) for s in (1, 2))
    learner.ask()
    learner.tell(0.0)
    learner.set_params(seed=2)
    np.testing.assert_array_equal(learner.ask(), other.ask())


def test_a_new_bound_is_named_again():
    learner = cf.OGDEG(3, cf.Ball(1.0), delta=0.1, gamma=0.2, seed=1)
    for bound in (1.0, 2.0):
        learner.set_params(loss_bound=bound)
        for heard in (True, False):
            learner.ask()
            if heard:
                with pytest.warns(UserWarning, match=f"loss_bound={bound:g}"):
                    learner.tell(5.0)
            else:
                learner.tell(5.0)


# --- threads ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ONSEG", "ONS"])
def test_reading_during_a_run(kind):
    rows, seen, stop = losses(cf, "squared", 70), [], threading.Event()
    learner, alone = (learners(cf, cf.Ball(1.0), 70)[kind]() for _ in range(2))

    def read():
        while not stop.is_set():
            seen.append((np.linalg.norm(learner.center), learner.rounds, learner._engine._state()))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    quiet(learner.run, rows, 4000)
    stop.set()
    for thread in threads:
        thread.join()
    quiet(alone.run, rows, 4000)
    same_learner(learner, alone)
    assert seen and all(norm <= 1.0 + 1e-12 for norm, _, _ in seen)


def test_learners_run_side_by_side():
    """Sets and losses are shared, learners are not."""
    ball, rows = cf.Simplex(), losses(cf, "squared", 20)
    made = [learners(cf, ball, 20)["ONSEG"]() for _ in range(4)]
    threads = [threading.Thread(target=quiet, args=(learner.run, rows, 500)) for learner in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for learner in made:
        same_learner(learner, made[0])


def test_two_runs_of_one_learner_take_turns():
    learner = learners(cf, cf.Ball(1.0), 9)["OGDEG"]()
    rows = losses(cf, "squared", 9)
    threads = [threading.Thread(target=quiet, args=(learner.run, rows, 50_000)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert learner.rounds == 150_000 and np.linalg.norm(learner.center) <= 0.7 + 1e-12
