"""A learner is read by threads from the moment it is there, while another thread teaches it.

What a first reading builds (room for scores, the engine's model of so many features) must be
built by one thread alone.
"""

import sys
import threading
import time

import children
import layouts
import numpy as np
import pytest
from readers import readings

ENOUGH = 0.25  # seconds
ROUNDS = 4


def read_from_the_first_moment(name):
    layout = layouts.BY_NAME[name]
    expected = layout.read(layouts.taught(layout, ROUNDS))
    sys.setswitchinterval(1e-5)
    end = time.monotonic() + ENOUGH
    while time.monotonic() < end:
        learner = layout.make()
        begun, done = threading.Barrier(4), threading.Event()
        threads = [threading.Thread(target=work, args=(layout, learner, begun, done))
                   for _ in range(3)]
        for thread in threads:
            thread.start()
        begun.wait()
        layouts.taught(layout, ROUNDS, learner)
        done.set()
        for thread in threads:
            thread.join()
        np.testing.assert_equal(layout.read(learner), expected)


def work(layout, learner, begun, done):
    calls = list(readings(layout, learner).values())
    begun.wait()
    while not done.is_set():
        for call in calls:
            call()


@children.forks
@pytest.mark.parametrize("name", [layout.name for layout in layouts.LEARNERS])
def test_a_fresh_learner_is_read_by_threads(name):
    if name.startswith("svm"):
        pytest.importorskip("sklearn")
    children.run(read_from_the_first_moment, name)
