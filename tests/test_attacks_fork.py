"""A process forks while another of its threads changes a learner.

What the child has may be half of a change, and the thread that would end it is not there. Each call
in the child ends: with a result, or with the RuntimeError that README promises.
"""

import copy
import os
import pickle
import signal
import tempfile
import threading
import time

import children
import layouts
import pytest
from readers import readings

import coactive_fast as cf

FORKS, PATIENCE = 12, 5


def changing(layout, learner, stop, failed):
    """Learns until it is told to stop."""
    try:
        while not stop.is_set():
            layout.run(learner, 200)
    except BaseException as error:
        failed.append(error)


def calls_in_the_child(layout, learner):
    yield from readings(layout, learner).items()
    yield "deepcopy", lambda: copy.deepcopy(learner)
    yield "pickle", lambda: pickle.dumps(learner)
    yield "state", learner._engine._state
    yield "play", lambda: layout.play(learner, 0)
    yield "run", lambda: layout.run(learner, 3)
    yield "reset", learner.reset
    yield "fresh", lambda: layout.run(layout.make(), 3)  # other learners are as ever


def in_the_child(layout, learner, note):
    """Never comes back: 0 where each call had its result or was refused in words."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for name, call in calls_in_the_child(layout, learner):
        signal.alarm(PATIENCE)
        os.pwrite(note, name.ljust(30).encode(), 0)  # what is said where it hangs
        try:
            call()
        except RuntimeError as error:
            if "fork" not in str(error) or name == "fresh":
                os._exit(1)
        except BaseException:
            os._exit(2)
    os._exit(0)


def forked_while_it_changes(name):
    layout = layouts.BY_NAME[name]
    learner, stop, failed = layouts.taught(layout, 2), threading.Event(), []
    layout.run(layout.make(), 3)  # what is imported on the way is imported before
    thread = threading.Thread(target=changing, args=(layout, learner, stop, failed))
    thread.start()
    note = os.memfd_create("note") if hasattr(os, "memfd_create") else tempfile.mkstemp()[0]
    told = {0: "", 1: "a RuntimeError that does not speak of the fork", 2: "another error"}
    try:
        for i in range(FORKS):
            time.sleep(0.0003 * i)
            child = os.fork()
            if child == 0:
                in_the_child(layout, learner, note)
            status = os.waitpid(child, 0)[1]
            last = os.pread(note, 30, 0).decode().strip()
            assert not os.WIFSIGNALED(status), (
                f"{last}: signal {os.WTERMSIG(status)}, which is 14 where it hangs")
            assert not os.WEXITSTATUS(status), f"{last}: {told[os.WEXITSTATUS(status)]}"
    finally:
        stop.set()
        thread.join()
    assert not failed


@children.forks
@pytest.mark.parametrize("name", [layout.name for layout in layouts.LEARNERS
                                  if not layout.solver])
def test_a_fork_while_a_learner_changes(name):
    children.run(forked_while_it_changes, name, seconds=20.0)


class Slow:
    """A classifier of one's own that can be held in the middle of its `learn`."""

    def __init__(self):
        self.inside, self.go = threading.Event(), threading.Event()

    def __deepcopy__(self, memo):
        return self

    def margin(self, x):
        return 1.0

    def learn(self, x, relevant):
        if threading.current_thread() is not threading.main_thread():
            self.inside.set()
            self.go.wait()


def held_in_the_middle(method):
    classifier = Slow()
    learner = cf.AppleTasting(classifier, 0.5, seed=1)
    x = [1.0, 2.0]
    calls = {"learn": lambda: learner.learn(x, True), "run": lambda: learner.run([x], [True])}
    thread = threading.Thread(target=calls[method])
    thread.start()
    classifier.inside.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)
        for call in (lambda: learner.forward(x), *calls.values(), learner.reset,
                     lambda: copy.deepcopy(learner)):
            try:
                call()
                os._exit(1)
            except RuntimeError as error:
                if "fork" not in str(error):
                    os._exit(2)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    classifier.go.set()
    thread.join()
    assert not os.WIFSIGNALED(status), "it hangs"
    assert os.WEXITSTATUS(status) == 0, "no RuntimeError that speaks of the fork"


@children.forks
@pytest.mark.parametrize("method", ["learn", "run"])
def test_a_fork_in_the_middle_of_apple_tasting(method):
    children.run(held_in_the_middle, method)
