"""A run that a signal ends is a prefix: what was counted was learned, and nothing else.

The state is that of a fresh learner that ran as many rounds, and both go on alike.
"""

import signal
from types import SimpleNamespace

import children
import layouts
import numpy as np
import pytest

import coactive_fast as cf

TRIALS = 6
LONGEST = 0.03  # seconds until the signal
timers = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers here")


class Interrupted(Exception):
    pass


def plain(state):
    """A state with the learners in it as their states."""
    if isinstance(state, dict):
        return {name: plain(part) for name, part in state.items()}
    if isinstance(state, list):
        return [plain(part) for part in state]
    return plain(state._engine._state()) if hasattr(state, "_engine") else state


def same(a, b):
    np.testing.assert_equal(plain(a._engine._state()), plain(b._engine._state()))


def interrupted_after(seconds, call):
    """Whether a signal's handler ended the call."""
    armed = True

    def interrupt(*_):
        nonlocal armed
        if armed:
            armed = False
            raise Interrupted

    signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        call()
        armed = False
        return False
    except Interrupted:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def interrupted_runs(name):
    layout = layouts.BY_NAME[name]
    layout.run(layout.make(), 3)  # what is imported on the way is imported before
    found, many = 0, 500
    for trial in range(TRIALS):
        learner, straight = layout.make(), layout.make()
        layouts.taught(layout, trial % 3, learner)
        layouts.taught(layout, trial % 3, straight)
        while not interrupted_after(LONGEST * (trial + 1) / TRIALS,
                                    lambda: layout.run(learner, many)):  # noqa: B023
            many *= 2
            learner = layout.make()
            layouts.taught(layout, trial % 3, learner)
        if learner.last_history is None:
            continue  # it was not yet running
        rounds = len(learner.last_history)
        assert rounds <= many  # the last round may be over
        if rounds:
            layout.run(straight, rounds)
            assert straight.last_history == learner.last_history
            if learner._engine._state().get("pending") == 1:  # it asked for the point of the next
                straight.ask()
            same(learner, straight)
            found += 1
        np.testing.assert_equal(layout.run(learner, 20), layout.run(straight, 20))
        same(learner, straight)
    assert found, "no run was interrupted between its rounds"


@timers
@children.forks
@pytest.mark.parametrize("name", [
    layout.name for layout in layouts.LEARNERS
    if not layout.solver and layout.run is not layouts.run_of_items])
def test_an_interrupted_run_is_a_prefix(name):
    children.run(interrupted_runs, name, seconds=60.0)


# --- the loop of single calls -------------------------------------------------------------------


class Task:
    """Which of two features."""

    dimension = 3

    def features(self, x, y):
        return np.asarray(x)[y]

    def argmax(self, w, x):
        return int(np.argmax(np.asarray(x) @ w))


class Late(cf.PreferencePerceptron):
    """A signal came while it learned, and is handled as soon as Python's code goes on."""

    rounds_left = -1

    def learn(self, x, y, better):
        self.rounds_left -= 1
        if self.rounds_left == 0 and self.before:
            raise Interrupted
        super().learn(x, y, better)
        if self.rounds_left == 0:
            raise Interrupted


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("at", [1, 2, 7])
def test_a_simulation_by_single_calls_records_what_was_learned(at, before, rng):
    data = [SimpleNamespace(features=rng.standard_normal((4, 3))) for _ in range(12)]
    user = SimpleNamespace(respond=lambda query, shown: int(query.features[:, 0].argmax()))
    learner, straight = Late(Task()), cf.PreferencePerceptron(Task())
    learner.rounds_left, learner.before = at, before
    with pytest.raises(Interrupted):
        cf.simulate(learner, data, user, weights=[1.0, 0.0, 0.0])
    rounds = at - before
    assert len(learner.last_history) == learner.rounds == rounds
    if rounds:
        history = cf.simulate(straight, data[:rounds], user, weights=[1.0, 0.0, 0.0])
        assert history == learner.last_history
    same(learner, straight)


# --- fleets ---------------------------------------------------------------------------------------


def interrupted_fleet():
    rng = np.random.default_rng(0)
    n = 400_000
    keys, X, y = rng.integers(0, 50, n), rng.standard_normal((n, 6)), rng.standard_normal(n)
    for trial in range(4):
        fleet, straight = (cf.Fleet(None, cf.OnlineRidge(), 4) for _ in "12")
        if not interrupted_after(0.005 * (trial + 1), lambda: fleet.run(keys, X, y)):  # noqa: B023
            continue
        rounds = sum(fleet[key].rounds for key in fleet)
        straight.run(keys[:rounds], X[:rounds], y[:rounds])
        assert sorted(fleet) == sorted(straight)
        for key in fleet:
            same(fleet[key], straight[key])


@timers
@children.forks
def test_an_interrupted_run_of_a_fleet_is_a_prefix():
    children.run(interrupted_fleet, seconds=60.0)
