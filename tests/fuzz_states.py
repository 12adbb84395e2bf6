"""States and files that lie: every array and every number of every state replaced in turn.

A state is taken from a learner of each layout, one of its leaves (now and then two) is replaced,
and it is given back: through the engine's `restore` (a metric's `from_state`), and through a file
whose checksum is right. It must be refused by a ValueError or a TypeError, and the learner be as
before; or be taken, and then every method and property must end in an answer or in an error of
Python's. A signal, a hang, or memory without bounds is a finding. Children do all of it, so that a
finding is reported with the layout, the leaf and what was put there::

    python tests/fuzz_states.py --seconds 3600 --seed 0
"""

import argparse
import contextlib
import copy
import itertools
import json
import os
import pickle
import signal
import sys
import tempfile
import time

import children
import layouts
import numpy as np

import coactive_fast as cf
from coactive_fast.learner import _file, _store

ROUNDS = 9
MEMORY = 2**31  # bytes a child may ask for beyond those of its parent
SECONDS = 5.0  # for one state: all methods together take milliseconds
CALLED = (ValueError, TypeError, MemoryError, RuntimeError, AttributeError, OverflowError,
          ZeroDivisionError, FloatingPointError)
NOTE = 400  # bytes that say what a child is at


# --- what is put in the place of a leaf ---------------------------------------------------------


def numbers():
    for value in (0, 1, -1, 2, 3, 7, 8, 63, 64, 65, 1000, 2**31 - 1, 2**31, 2**32, 2**53, 2**60,
                  2**61, 2**62, 2**62 + 1, 2**63 - 1, 2**63, 2**64, -(2**31), -(2**63), 2**200):
        yield str(value), value
    for value in (0.0, 0.5, -0.5, 1e-320, 1e-300, 1e300, -1e300, float("inf"), float("-inf"),
                  float("nan")):
        yield repr(value), value
    for value in (None, True, False, "", "x", "fast", [], [1], {}, {"format": 1}, (1, 2)):
        yield repr(value), value
    yield "array of one", np.ones(1)
    yield "array of none", np.empty(0)
    yield "table", np.ones((3, 3))


def arrays(given):
    """Changes of an array: its numbers, its dtype, its shape."""
    for kind in ("i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "b1", "c16", "O", "S3", "M8[s]"):
        with np.errstate(all="ignore"), contextlib.suppress(TypeError, ValueError):
            yield f"as {kind}", given.astype(kind)
    yield "swapped bytes", given.astype(given.dtype.newbyteorder())
    for name, value in (("zeros", 0), ("ones", 1), ("-1", -1), ("2**31 - 1", 2**31 - 1),
                        ("-2**31", -(2**31)), ("huge", 2**62), ("-huge", -(2**62)),
                        ("NaN", np.nan), ("inf", np.inf), ("1e300", 1e300), ("-1e300", -1e300),
                        ("1e-300", 1e-300)):
        with np.errstate(all="ignore"), contextlib.suppress(OverflowError, ValueError):
            yield f"all {name}", np.full(given.shape, value).astype(given.dtype)
            if given.size:
                for place in (0, given.size // 2, given.size - 1):
                    changed = given.copy()
                    changed.flat[place] = value
                    yield f"{name} at {place}", changed
    yield "negated", -given if given.dtype.kind in "if" else ~given
    yield "reversed", np.ascontiguousarray(given[::-1])
    yield "flat", given.reshape(-1).copy()
    yield "transposed", given.T
    yield "in a table", given[None]
    yield "in a column", given[..., None]
    yield "strided", np.repeat(given, 2, axis=0)[::2]
    yield "empty", given[:0].copy()
    yield "no dimensions", np.array(1.0)
    yield "one shorter", given[:-1].copy()
    yield "one longer", np.concatenate([given, given[-1:] if len(given) else np.ones((1,))]) \
        if given.ndim == 1 else np.concatenate([given, given[-1:]])
    yield "twice", np.concatenate([given, given])
    yield "much longer", np.resize(given, (max(len(given), 1) * 50, *given.shape[1:]))
    if given.ndim > 1:
        yield "columns shorter", np.ascontiguousarray(given[:, :-1])
        yield "columns longer", np.concatenate([given, given], axis=1)
    yield "read-only", frozen(given)
    yield "masked", np.ma.masked_array(given, mask=np.ones(given.shape, dtype=bool))
    yield "None", None
    yield "a number", 1
    yield "text", "x"
    yield "list", given.tolist()
    yield "dict", {}


def frozen(given):
    copied = given.copy()
    copied.flags.writeable = False
    return copied


GONE = object()


def replacements(value):
    """(name, what is put there) for a leaf."""
    yield "gone", GONE
    if isinstance(value, np.ndarray):
        yield from arrays(value)
        return
    yield from numbers()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        for change in (-1, 1, 8, -8):
            yield f"{change:+d}", value + change
        yield "negated", -value
        yield "float", float(value)


def leaves(value, path=()):
    """The paths to everything that can be replaced, the dictionaries themselves among them."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, (list, tuple)):
        for i, inner in enumerate(value):
            yield from leaves(inner, (*path, i))


def at(state, path):
    for key in path:
        state = state[key]
    return state


def replaced(state, path, value):
    """A copy of a state with another leaf."""
    key, *rest = path
    changed = dict(state) if isinstance(state, dict) else list(state)
    if rest:
        changed[key] = replaced(state[key], rest, value)
    elif value is GONE:
        del changed[key]
    else:
        changed[key] = value
    return tuple(changed) if isinstance(state, tuple) else changed


# --- giving it back -----------------------------------------------------------------------------


def is_metric(layout):
    return layout in layouts.METRICS


def state_of(learner, layout):
    return learner.state() if is_metric(layout) else learner._engine._state()


def restored(layout, state, way, folder):
    """A learner with that state; what cannot even be written is a ValueError, too."""
    if is_metric(layout):
        if way == "file":
            arrays_, path = {}, os.path.join(folder, "state.cf")
            _file.write(path, {"state": _store.encode(state, arrays_, "state")}, arrays_)
            head, read = _file.read(path)
            state = _store.decode(head["state"], read)
        return type(layout.make()).from_state(state)
    learner = layout.make()
    if way == "engine":
        before = pickle.dumps(learner._engine._state())
        try:
            learner._engine._restore(state)
        except (ValueError, TypeError):
            assert pickle.dumps(learner._engine._state()) == before, "refused, and yet changed"
            raise
        return learner
    path = os.path.join(folder, "learner.cf")
    learner.save(path)
    head, _ = _file.read(path)
    found = {}
    parts = _store._learner_parts(learner, found, "")
    parts["state"] = _store.encode(state, found, "state")
    head["learner"] = {**head["learner"], **parts}
    _file.write(path, head, found)
    return cf.load(path)


def exercised(layout, learner):
    """Every public method and property, with small good inputs."""
    calls = [lambda: layout.read(learner), lambda: copy.deepcopy(learner),
             lambda: state_of(learner, layout)]
    calls += [lambda t=t: layout.play(learner, t) for t in range(ROUNDS, ROUNDS + 6)]
    calls += [lambda: layout.read(learner), lambda: layout.run(learner, 12)]
    if is_metric(layout):
        calls += [lambda: learner.update_many(layouts.ROWS[:9]), learner.copy,
                  lambda: repr(learner)]
        if hasattr(learner, "health"):
            calls.append(learner.health)
    else:
        from readers import readings

        calls += readings(layout, learner).values()
        if hasattr(learner, "add_class"):
            calls += [learner.add_class, lambda: layout.play(learner, 3)]
        if hasattr(learner, "ask_pair"):
            calls += [learner.ask_pair, lambda: learner.tell_pair(0.5, 0.25)]
        calls += [lambda: learner._engine._restore(learner._engine._state()), learner.reset,
                  lambda: layout.play(learner, 0)]
    for call in calls:
        with contextlib.suppress(*CALLED):
            call()


# --- children -----------------------------------------------------------------------------------


def cases(layout, chosen, rng):
    """(description, state) for replacements of one leaf or two; `chosen` picks among them."""
    state = state_of(layouts.taught(layout, ROUNDS), layout)
    single = [(path, name, value) for path in leaves(state)
              for name, value in replacements(at(state, path))]
    for index in chosen(len(single), rng):
        path, name, value = single[index]
        yield f"{spelled(path)}: {name}", replaced(state, path, value)
        if rng.random() < 0.3:  # and another one with it
            other, second, twin = single[rng.integers(len(single))]
            if value is not GONE and twin is not GONE and other[:len(path)] != path \
                    and path[:len(other)] != other:
                changed = replaced(replaced(state, path, value), other, twin)
                yield f"{spelled(path)}: {name}; {spelled(other)}: {second}", changed
    yield "extra: a key too many", {**state, "no such key": 1}
    for value in (None, [], 3, "x", {}, np.ones(3)):
        yield f"state: {value!r}", value


def spelled(path):
    return ".".join(map(str, path))


class Note:
    """What a child is at, seen by its parent whatever becomes of it."""

    def __init__(self):
        self.file = tempfile.TemporaryFile()
        self.write("nothing yet")

    def write(self, text):
        os.pwrite(self.file.fileno(), text.encode()[:NOTE].ljust(NOTE), 0)

    def read(self):
        return os.pread(self.file.fileno(), NOTE, 0).decode(errors="replace").strip()


def one(layout, description, state, way, folder):
    """A finding of the milder kind, as text; nothing where all is as it should be."""
    try:
        learner = restored(layout, state, way, folder)
    except (ValueError, TypeError) as error:
        return "" if str(error) else "refused without a word"
    except MemoryError:
        return ""
    except Exception as error:
        return f"{type(error).__name__} instead of ValueError: {error}"
    try:
        exercised(layout, learner)
    except Exception as error:
        return f"taken, and then {type(error).__name__}: {error}"
    return ""


def work(names, chosen, seed, end, note, report):
    """In a child: goes through the cases of some layouts; writes findings as lines of JSON."""
    import warnings

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    skip = set(json.loads(os.environ.get("FUZZ_SKIP", "[]")))
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            layout, rng = layouts.BY_NAME[name], np.random.default_rng([seed, hash_of(name)])
            for description, state in cases(layout, chosen, rng):
                for way in ("engine", "file"):
                    text = f"{name} | {way} | {description}"
                    if text[:NOTE].strip() in skip:
                        continue
                    if time.monotonic() > end:
                        return done
                    note.write(text)
                    signal.setitimer(signal.ITIMER_REAL, SECONDS)  # no handler: it ends the child
                    found = one(layout, description, state, way, folder)
                    signal.setitimer(signal.ITIMER_REAL, 0.0)
                    done += 1
                    if found:
                        report.write(json.dumps([text, found]) + "\n")
                        report.flush()
    return done


def hash_of(name):
    return int.from_bytes(name.encode()[-8:], "little")


def in_child(names, chosen, seed, end, note, report):
    """Never comes back."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 2)
        children.limited(MEMORY)
        done = work(names, chosen, seed, end, note, report)
        report.write(json.dumps(["done", done]) + "\n")
        report.flush()
        os._exit(0)
    except BaseException as error:
        note.write(f"{note.read()} | {type(error).__name__}: {error}")
        os._exit(1)


def fuzz(name, chosen, seed, end, most=25):
    """All findings over one layout: {description: what happened}; and how many states it was."""
    findings, skip, done = {}, [], 0
    while time.monotonic() < end and len(findings) < most:
        note = Note()
        with tempfile.TemporaryFile("w+") as report:
            os.environ["FUZZ_SKIP"] = json.dumps(skip)
            child = os.fork()
            if child == 0:
                in_child([name], chosen, seed, end, note, report)
            status = children.waited(child, max(end - time.monotonic(), 0.0) + 3.0 * SECONDS)
            report.seek(0)
            lines = [json.loads(line) for line in report]
        findings |= {text: found for text, found in lines if text != "done"}
        skip += [text[:NOTE].strip() for text, _ in lines if text != "done"]
        if lines and lines[-1][0] == "done":
            return findings, done + lines[-1][1]
        findings[note.read()] = ended(status)
        skip.append(note.read())
    return findings, done


def ended(status):
    if status is None:
        return "no end"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"no end in {SECONDS} s" if number == signal.SIGALRM \
            else f"signal {number} ({signal.Signals(number).name})"
    return f"the child ended with {os.WEXITSTATUS(status)}"


# --- which of them ------------------------------------------------------------------------------


def everything(n, rng):
    return range(n)


def a_few(count):
    return lambda n, rng: rng.choice(n, size=min(n, count), replace=False).tolist()


NAMES = [layout.name for layout in layouts.ALL if not layout.own or "custom" in layout.name]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("layouts", nargs="*", default=NAMES)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="each leaf once, in order; then random")
    given = parser.parse_args()
    end, total, found = time.monotonic() + given.seconds, 0, 0
    for turn in itertools.count():
        chosen = everything if given.all and turn == 0 else a_few(200)
        for name in given.layouts:
            findings, done = fuzz(name, chosen, given.seed + turn, end)
            total, found = total + done, found + len(findings)
            for text, what in findings.items():
                print(f"{text}\n    {what}", flush=True)
        if time.monotonic() > end:
            break
    print(f"{total} states, {found} findings, seeds {given.seed} to {given.seed + turn}")
    return 1 if found else 0


if __name__ == "__main__":
    if os.environ.get("MALLOC_PERTURB_") is None:  # rubbish in what is given back, see children
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ,
                                                                **children.REVEALING})
    sys.exit(main())
