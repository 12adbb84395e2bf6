"""Fleets whose writers are killed at random moments: what the tests do a few hundred times.

python tests/fleet_kills.py --kills 10000 [--jobs 2] [--seed 0] [--file PATH]

A process forks a writer, which learns a stream by `run`, single calls or calls with deletions, and
kills it after a random time. Then it opens the file and looks at every record: each is bit for bit
what a fleet that was not killed held after as many rows of that key; with one thread the rows that
were learned are the first ones of the stream, so that nothing but the call under way is lost. The
next writer goes on from there. Meanwhile another process reads, and must only see such records too.
"""

import argparse
import contextlib
import os
import signal
import struct
import sys
import time
import traceback
from collections import Counter

import numpy as np

import coactive_fast as cf
from coactive_fast.fleet import _file

KEYS, ROWS, D = 300, 6000, 12
ROUNDS = 3  # the word of a record that counts


class Stream:
    """Rows by key, and what a record holds after each of them."""

    def __init__(self, seed, template=cf.LinearBandit, as_text=False):
        rng = np.random.default_rng(seed)
        self.template = template
        ids = rng.integers(-2**62, 2**62, KEYS)
        self.names = [f"user {i} \N{SNOWMAN}" for i in ids] if as_text else ids.tolist()
        self.which = rng.integers(0, KEYS, ROWS)
        self.X, self.y = rng.standard_normal((ROWS, D)), rng.standard_normal(ROWS)
        self.order = np.zeros(ROWS, dtype=int)  # the number of a row among those of its key
        seen = Counter()
        self.history = {}
        with cf.Fleet(None, template(), KEYS) as fleet:
            for t, i in enumerate(self.which):
                fleet.learn(self.names[i], self.X[t], self.y[t])
                self.order[t] = seen[i]
                seen[i] += 1
                self.history[i, seen[i]] = content(fleet, self.names[i])
        self.place = {name: i for i, name in enumerate(self.names)}

    def keys(self, rows):
        names = [self.names[i] for i in self.which[rows]]
        return names if isinstance(names[0], str) else np.array(names)


def at_work(boot=None):
    """The words of a file's head (from byte 32) that say that a writer is at work."""
    boot = _file._boot() if boot is None else boot
    return struct.pack("<2Q", _file.sealed(1, _file.OPEN), _file.sealed(boot, _file.BOOT))


def content(fleet, key):
    return model_in(fleet._engine.words(key))


def model_in(words):
    """What a record has of its model: neither sequence, sums, key nor epoch."""
    return words[3:4].tobytes() + words[5:].tobytes()


def rounds_of(fleet, stream):
    """How many rows each key has learned; every record must be one of the history."""
    rounds = np.zeros(KEYS, dtype=int)
    names = list(fleet)
    assert len(names) == len(set(names)) == len(fleet), (len(names), len(fleet))
    for name in names:
        i, words = stream.place[name], fleet._engine.words(name)
        assert words is not None, f"{name} is listed, but not found"
        rounds[i] = words[ROUNDS]
        assert rounds[i] > 0 and name in fleet, f"{name} has learned nothing"
        assert model_in(words) == stream.history[i, rounds[i]], f"{name} is damaged"
    assert fleet.health()["damaged"] == 0 and fleet.health()["models"] == len(names)
    return rounds


# --- the writers ---------------------------------------------------------------------------------


def write(path, stream, how, jobs, begun):
    with cf.Fleet(path, mode="r+") as fleet:
        rounds = rounds_of(fleet, stream)
        left = np.flatnonzero(stream.order >= rounds[stream.which])
        keys = stream.keys(left) if len(left) else []
        os.write(begun, b"!")
        if how == "single":
            for t in left:
                fleet.learn(stream.names[stream.which[t]], stream.X[t], stream.y[t])
        elif how == "flushes":
            for some in np.array_split(np.arange(len(left)), 20):
                fleet.run(keys[some[0]:some[-1] + 1] if len(some) else [], stream.X[left[some]],
                          stream.y[left[some]], n_jobs=jobs)
                fleet.flush()
        elif len(left):
            fleet.run(keys, stream.X[left], stream.y[left], n_jobs=jobs)


def churn(path, stream, rng, begun):
    """Models come and go: whatever is there has the content of its rounds."""
    with cf.Fleet(path, mode="r+") as fleet:
        rounds = rounds_of(fleet, stream)
        rows = [np.flatnonzero(stream.which == i) for i in range(KEYS)]
        os.write(begun, b"!")
        while True:
            i = int(rng.integers(KEYS))
            name = stream.names[i]
            if rounds[i] == len(rows[i]) or (rounds[i] and rng.random() < 0.3):
                del fleet[name]
                rounds[i] = 0
            elif len(rows[i]):
                t = rows[i][rounds[i]]
                fleet.learn(name, stream.X[t], stream.y[t])
                rounds[i] += 1


def forked(function, *arguments):
    """A child that runs the function; its exit says whether all was well."""
    child = os.fork()
    if child:
        return child
    try:
        function(*arguments)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(3)


# --- the reader ----------------------------------------------------------------------------------


def watch(path, stream, seed):
    """Reads on and on until it is told to end."""
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    rng = np.random.default_rng(seed)
    while not stop:
        with cf.Fleet(path, mode="r") as fleet:
            assert fleet.health()["damaged"] == 0 and set(fleet) <= set(stream.names)
            for i in rng.integers(0, KEYS, 3000):
                words = fleet._engine.words(stream.names[i])
                if words is None:
                    continue
                if model_in(words) != stream.history[int(i), int(words[ROUNDS])]:
                    raise AssertionError(f"half a record of {stream.names[i]}")


# --- many kills ----------------------------------------------------------------------------------


def after_kill(path, stream, how, jobs):
    """Looks at what is left; whether the stream is at its end."""
    with cf.Fleet(path, mode="r+") as fleet:
        rounds = rounds_of(fleet, stream)
    if how == "churn":
        return False
    done = int(rounds.sum())
    if jobs == 1:  # no row was lost between two that were learned
        first = np.bincount(stream.which[:done], minlength=KEYS)
        assert (rounds == first).all(), f"the rows learned are not the first {done}"
    return done == ROWS


def kill_many(path, kills, *, jobs=1, seed=0, as_text=False, readers=1, tell=None, longest=0.0015):
    """So many kills; what they met, counted."""
    stream, rng = Stream(seed, as_text=as_text), np.random.default_rng(seed)
    found = Counter()

    def begin():  # small: it has to grow
        cf.Fleet(path, stream.template(), 4, keep_flushed=bool(rng.random() < 0.5)).close()

    begin()
    watchers = [forked(watch, path, stream, seed + i) for i in range(readers)]
    how = "run"
    try:
        while found["kills"] < kills:
            ends = os.pipe()
            work = (write, path, stream, how, jobs)
            if how == "churn":
                work = (churn, path, stream, rng)
            child = forked(*work, ends[1])
            os.close(ends[1])
            os.read(ends[0], 1)  # it is at work, or dead
            os.close(ends[0])
            time.sleep(rng.random() * longest)
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            found["kills"] += os.WIFSIGNALED(status)
            found["ended before"] += os.WIFEXITED(status)
            assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0, "a writer failed"
            found["half stored"] += half_stored(path)
            if after_kill(path, stream, how, jobs) or (how == "churn" and rng.random() < 0.1):
                begin()
                found["streams"] += 1
                how = str(rng.choice(["run", "run", "single", "churn", "flushes"]))
            for watcher in watchers:
                assert os.waitpid(watcher, os.WNOHANG)[0] == 0, "a reader failed"
            if tell and found["kills"] % 500 == 0:
                tell(dict(found))
    finally:
        for watcher in watchers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(watcher, signal.SIGTERM)
    for watcher in watchers:
        assert os.waitpid(watcher, 0)[1] == 0, "a reader failed"
    return found


def half_stored(path):
    """How many areas hold a change that was not stored to its end."""
    with cf.Fleet(path, mode="r") as fleet:
        file = fleet._engine.records.file
        if file.layout is None:
            return 0
        places = [file.layout.areas + 8 * i * file.layout.area for i in range(_file.AREAS)]
        return sum(any(file.map[place:place + 8]) for place in places)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=10000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--file", default="fleet_kills.fleet")
    given = parser.parse_args()
    start = time.perf_counter()
    print(dict(kill_many(given.file, given.kills, jobs=given.jobs, seed=given.seed,
                         as_text=given.text, tell=lambda found: print(found, flush=True))),
          f"{time.perf_counter() - start:.0f} s", file=sys.stdout)
