"""While a learner learns in one thread, others save it, copy it and read all it can be asked.

None of this may hang, fail, or leave a trace: what was learned is what an undisturbed run learns,
bit for bit. Each learner has its turn in a process of its own.
"""

import inspect
import sys
import tempfile
import threading
import time

import children
import deadlock_rounds
import layouts
import numpy as np
import pytest
from readers import ALONE, CHANGES, READS, disturbers

import coactive_fast as cf
from coactive_fast.learner import _store

LONG, MOST = 0.02, 2**15  # seconds that an undisturbed run should take, in so many rounds
ENOUGH = 0.15  # seconds of disturbed runs


class Disturbed:
    """Inside a `with`: the threads go on."""

    def __init__(self, layout, learner):
        self.stop, self.folder = threading.Event(), tempfile.TemporaryDirectory()
        self.begun = threading.Barrier(4)
        self.threads = [threading.Thread(target=self.work, args=(calls,))
                        for calls in disturbers(layout, learner, self.folder.name)]

    def work(self, calls):
        self.begun.wait()
        while True:
            for call in calls:
                call()
                if self.stop.is_set():
                    return

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        self.begun.wait()

    def __exit__(self, *error):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        self.folder.cleanup()


# --- in a child ---------------------------------------------------------------------------------


def undisturbed(layout):
    """How many rounds take long enough, what such a run gives, and the learner after it."""
    n, most = 64, MOST
    if layout.own:  # Python's own loop waits for every other thread, in every round
        n = most = 16
    while True:
        learner, begin = layout.make(), time.monotonic()
        found = layout.run(learner, n)
        if time.monotonic() - begin > LONG or n == most:
            return n, found, learner
        n *= 2


def plain(value):
    """A state without objects that compare by identity."""
    if hasattr(value, "_engine"):
        return plain(value._engine._state())
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def a_run_is_not_disturbed(name):
    layout = layouts.BY_NAME[name]
    n, expected, other = undisturbed(layout)
    sys.setswitchinterval(1e-4)
    end = time.monotonic() + ENOUGH
    while time.monotonic() < end:
        learner = layout.make()
        with Disturbed(layout, learner):
            found = layout.run(learner, n)
        np.testing.assert_equal(found, expected)
        np.testing.assert_equal(plain(learner), plain(other))


def topics_are_not_disturbed(name):
    layout = layouts.BY_NAME[name]
    learner, X = layout.make(), np.tile(layouts.ROWS, (8, 1))
    Y = X[:, :3] > 0.0
    expected = cf.run_topics(layout.make(), X, Y, n_jobs=2)
    with Disturbed(layout, learner):
        found = cf.run_topics(learner, X, Y, n_jobs=2)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_equal(one.margins, other.margins)


def items_are_not_disturbed(name):
    layout = layouts.BY_NAME[name]
    catalogue = cf.Items(np.tile(layouts.CATALOGUE, (4, 1)))
    weights = layouts.numbers((8, 6), 20)
    learner = layout.make().set_params(task=catalogue)
    arguments = (catalogue, weights, cf.users.Best(seed=1))
    expected = cf.simulate_items(learner.clone(), *arguments, rounds=40, n_jobs=2, seed=2)
    with Disturbed(layout, learner):
        found = cf.simulate_items(learner, *arguments, rounds=40, n_jobs=2, seed=2)
    np.testing.assert_equal(found.regret_per_user, expected.regret_per_user)


# --- the tests ----------------------------------------------------------------------------------


@children.forks
@pytest.mark.parametrize("name", [layout.name for layout in layouts.LEARNERS])
def test_a_run_goes_on_as_if_alone(name):
    if name.startswith("svm"):
        pytest.importorskip("sklearn")
    children.run(a_run_is_not_disturbed, name,
                 seconds=60.0 if layouts.BY_NAME[name].own else 10.0)


@children.forks
@pytest.mark.parametrize("name", ["ridge-filter-full", "ridge-filter-kernel-rbf",
                                  "probabilistic-full"])
def test_topics_go_on_as_if_alone(name):
    children.run(topics_are_not_disturbed, name, seconds=10.0)


@children.forks
@pytest.mark.parametrize("name", ["preference-items", "exponentiated-items", "dueling-items",
                                  "second-order-items"])
def test_simulated_items_go_on_as_if_alone(name):
    children.run(items_are_not_disturbed, name, seconds=10.0)


@children.forks
@pytest.mark.parametrize("name", deadlock_rounds.NAMES)
def test_saving_from_a_run_does_not_hang(name):
    children.run(deadlock_rounds.some_rounds, name, 10, seconds=10.0)


def test_every_public_method_is_known():
    """A new method is read by the threads, or is named among those that change the learner."""
    known = CHANGES | set(READS) | ALONE
    for cls in _store.learners().values():
        methods = {name for name in dir(cls) if not name.startswith("_")
                   and inspect.isroutine(getattr(cls, name))}
        assert methods <= known, cls
