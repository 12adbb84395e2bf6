"""Runs that end in the middle: the learner is then as after exactly the first rounds."""

import copy
import signal

from .core import REFUSED, Boom, Finding, difference

LONGEST = 0.012  # seconds until the signal


class Interrupted(BaseException):
    """As `KeyboardInterrupt` it is no Exception."""


def progress_that_raises(after):
    calls = 0

    def progress(done, total):
        nonlocal calls
        if calls == after:
            raise Interrupted
        calls += 1

    return progress


def by_signal(seconds, call):
    """Whether a signal's handler ended the call."""
    armed = True

    def interrupt(*_):
        nonlocal armed
        if armed:
            armed = False
            raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        call()
        armed = False
        return False
    except KeyboardInterrupt:
        return True
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)


def interrupted(machine, r, run, rounds_of, most=1 << 16):
    """``run(learner, n, **words)`` is cut short; the learner that only ran what was counted has
    the same bits. The machine goes on with what the interrupt left.

    rounds_of : learner -> how many rounds there were, to be sure that all are in the history.
    """
    learner, straight = copy.deepcopy(machine.learner), copy.deepcopy(machine.mirror)
    first = rounds_of(learner)
    n = min(r.choice([2, 50, 2000, most, most]), most)
    way = r.choice(["progress", "progress", "signal", "reads"])
    ended = False
    if way == "signal" and hasattr(signal, "setitimer"):
        ended = by_signal(r.random() * LONGEST + 1e-4, lambda: run(learner, n))
    elif way == "reads":
        def reading(done, total):
            if rounds_of(learner) - first != done:
                raise Finding(f"progress says {done}, and there were {rounds_of(learner) - first}")
            try:
                learner.reset()  # may be refused as it may be done: not while it runs
            except (RuntimeError, *REFUSED):
                return
            raise Boom("reset")

        try:
            run(learner, min(n, 50), progress=reading)
        except Boom:
            return  # a reset between two pauses is the user's own affair
        n = min(n, 50)
    else:
        try:
            run(learner, n, progress=progress_that_raises(r.choice([0, 0, 1])))
        except Interrupted:
            ended = True
    history = learner.last_history
    done = rounds_of(learner) - first
    if not ended and done != n:
        machine.fail(f"a run of {n} rounds made {done}")
    if ended and history is not None and len(history) != done:
        machine.fail(f"interrupted after {done} rounds, and the history has {len(history)}")
    if done:
        run(straight, done)
    ours, theirs = machine.settled_of(learner), machine.settled_of(straight)
    if ours != theirs and getattr(machine, "asks", False) and ended:
        straight.ask()
        theirs = machine.settled_of(straight)
    if ours != theirs:
        machine.fail(f"interrupted after {done} rounds ({way}), and not as after so many: "
                     f"{difference(ours, theirs)}")
    if done <= 2000 or r.random() < 0.3:
        machine.learner, machine.mirror, machine.twin = learner, straight, None
        machine.forgotten()
