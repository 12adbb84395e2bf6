"""Runs that others save from, many times over: learners with chance, whose runs once hung in this.

A run took the lock of its generator and then that of the learner; who saved took them the other
way round. The suite runs a few rounds (`test_learner_threads`); as a program it runs as many as it
is told, and ends with the stacks of all threads where one hangs::

    python tests/deadlock_rounds.py --rounds 1000
"""

import argparse
import copy
import faulthandler
import pickle
import threading
import time

import layouts

NAMES = ("banditron", "probabilistic-full", "confidit-diagonal-chance", "confidit-full-projected",
         "confidit-kernel-linear-chance", "probabilistic-diagonal", "apple-tasting-ridge",
         "onseg-ball", "ogdeg-simplex", "dikin", "dueling-ranking")
PATIENCE = 20.0  # seconds for a round of some milliseconds


def one_round(layout, rows):
    """A run in one thread, and two that take the state of the learner all the while."""
    learner, stop = layout.make(), threading.Event()

    def taking(take):
        while not stop.is_set():
            take()

    takes = (learner._engine._state, lambda: pickle.dumps(copy.deepcopy(learner)))
    threads = [threading.Thread(target=taking, args=(take,)) for take in takes]
    for thread in threads:
        thread.start()
    layout.run(learner, rows)
    layout.run(learner, rows)
    stop.set()
    for thread in threads:
        thread.join()


def some_rounds(name, rounds, rows=256):
    for _ in range(rounds):
        one_round(layouts.BY_NAME[name], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=NAMES, metavar="layout")
    parser.add_argument("--rounds", type=int, default=1000)
    given = parser.parse_args()
    for name in given.names:
        begin = time.monotonic()
        print(name, end=" ", flush=True)
        for _ in range(given.rounds):
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            some_rounds(name, 1)
        faulthandler.cancel_dump_traceback_later()
        print(f"{given.rounds} rounds in {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
