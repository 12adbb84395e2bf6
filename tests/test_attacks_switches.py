"""A thread switch inside a call: another thread learns while this one's call runs Python.

Whatever a call runs of Python's, a check of the memory limit or NumPy's own functions, may let
another thread in. What that one does must wait for the call, or be seen by it: nothing is lost.
"""

import sys
import threading
from functools import partial

import numpy as np
import pytest

import coactive_fast as cf


class Switch:
    """Has another thread do `steps`, one at each entry of a Python function on this thread."""

    def __init__(self, *steps):
        self.steps, self.threads = list(steps), []

    def __call__(self, frame, event, argument):
        if event == "call" and self.steps:
            thread = threading.Thread(target=self.steps.pop(0))
            self.threads.append(thread)
            thread.start()
            thread.join(0.2)  # one that waits for this call is done when the call is

    def around(self, call):
        sys.setprofile(self)
        try:
            return call()
        finally:
            sys.setprofile(None)
            for thread in self.threads:
                thread.join()


@pytest.mark.parametrize("d", [4, 40])
@pytest.mark.parametrize("covariance", ["full", "diagonal", "kernel"])
def test_a_class_that_is_added_loses_nothing(covariance, d, rng):
    X = rng.normal(size=(3, d))
    learner, alone = (cf.Confidit(2, covariance=covariance) for _ in range(2))
    for one in (learner, alone):
        one.learn(X[0], 0, True)
    switch = Switch(lambda: learner.learn(X[1], 0, True))
    assert switch.around(learner._engine._add_answer) == 2
    alone.learn(X[1], 0, True)
    assert switch.threads and learner.rounds == 2
    np.testing.assert_array_equal(learner.decision_function(X)[:, :2], alone.decision_function(X))


def test_a_learner_that_is_reset_before_its_first_memory_loses_nothing(rng):
    X = rng.normal(size=(3, 4))
    learner = cf.Confidit(8, covariance="full")
    learner.learn(X[0], 0, True)
    for _ in range(2):  # so that the next call takes memory, two pieces, for its scratch
        learner.add_class()

    def begin_again():
        learner.reset()
        learner.learn(X[1], 0, True)

    switch = Switch(begin_again)  # which waits for the call that has the lock
    switch.around(partial(learner.learn, X[2], 1, True))
    assert not switch.steps and learner.rounds == 1
    assert (np.abs(learner.weights).max(axis=1) > 0.0).tolist() == [True] + [False] * 7
