"""Threads that begin at once, and states that can be compared.

The environment variable COACTIVE_THREAD_SECONDS is how long one test goes on: a tenth of a second
by default, so that all of this folder takes about a minute on two cores; with 6 it takes an hour.
Each scenario runs in a process of its own (`in_child`), so that a crash and a hang are failures of
one test. The scenarios are right with and without the GIL.
"""

import copy
import hashlib
import os
import pickle
import sys
import threading
import time

import children
import numpy as np

SECONDS = float(os.environ.get("COACTIVE_THREAD_SECONDS", "0.1"))
THREADS = 4
PATIENCE = 30.0 + 20.0 * SECONDS  # until a scenario is taken to hang


def in_child(scenario, *arguments):
    children.run(scenario, *arguments, seconds=PATIENCE)


def passes(share=1.0):
    """Numbers 0, 1, ... for as long as a scenario goes on; at least one of them."""
    sys.setswitchinterval(1e-5)
    end, number = time.monotonic() + share * SECONDS, 0
    while number == 0 or time.monotonic() < end:
        yield number
        number += 1


def together(*works):
    """Runs all functions at once, each in a thread; raises the first exception of any of them."""
    gate, errors = threading.Barrier(len(works)), []

    def run(work):
        try:
            gate.wait()
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def until(done, *calls):
    """A function that makes these calls in turn until the event `done` is set."""
    def work():
        while True:
            for call in calls:
                call()
                if done.is_set():
                    return

    return work


def first(done, work):
    """A function that does `work` and sets the event whatever becomes of it."""
    def run():
        try:
            work()
        finally:
            done.set()

    return run


# --- states -------------------------------------------------------------------------------------


def parts(value):
    """Bytes that are equal for equal values of a state, and different for different ones."""
    if hasattr(value, "_engine"):
        value = value._engine._state()
    if isinstance(value, np.random.Generator):
        value = value.bit_generator.state
    if isinstance(value, np.ndarray):
        yield f"{value.dtype.str}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, dict):
        for key in sorted(value, key=repr):
            yield repr(key).encode()
            yield from parts(value[key])
    elif isinstance(value, (list, tuple)):
        yield b"%d items" % len(value)
        for item in value:
            yield from parts(item)
    elif value is None or isinstance(value, (bool, int, float, str, bytes, np.generic)):
        yield repr(value).encode()
    else:
        yield type(value).__name__.encode()


def digest(value):
    """A short text for a state, a learner or a metric; the same for the same bits."""
    found = hashlib.sha256()
    for part in parts(value.state() if hasattr(value, "logdet") else value):
        found.update(b"%d:" % len(part))
        found.update(part)
    return found.hexdigest()


def snapshots(learner, seen):
    """Calls that add to the set `seen` what copies of a learner hold."""
    return [lambda: seen.add(digest(copy.deepcopy(learner))),
            lambda: seen.add(digest(pickle.loads(pickle.dumps(learner)))),
            lambda: seen.add(digest(copy.copy(learner)))]
