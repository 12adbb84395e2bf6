"""Makes the files in ``states``: one of each layout, as the version of the package that runs this
saves it, and what that version then does.

Run with an *older, installed* version, from outside this repository::

    cd /tmp && /path/to/python-with-the-old-version /path/to/tests/make_states.py

Files that are there already are left alone: they are the memory of the version that made them, and
`test_learner_states` goes on with them for ever. A new layout gets its file from the first version
that has it. Those of 0.x were made by the version before the common heart.

A file is saved in the middle of round `ROUNDS`: the learner has acted, and the answer is still to
come. ``expected.npz`` holds, for each layout, the decision that was pending, what the learner then
said (`before`), the decisions of the rounds to come, and what it said after them (`after`).
"""

import json
import sys
from pathlib import Path

import layouts
import numpy as np

import coactive_fast as cf
from coactive_fast.learner import _file, _store

FOLDER = Path(__file__).parent / "states"
EXPECTED = FOLDER / "expected.npz"
ROUNDS, MORE = 18, 15


def flat(value):
    """Numbers, or arrays of any shapes in a list, as one vector of float64."""
    if isinstance(value, (list, tuple)):
        return np.concatenate([flat(part) for part in value])
    return np.ravel(np.asarray(value, dtype=np.float64))


def readings(layout, learner):
    return {name: flat(value) for name, value in layout.read(learner).items()}


def go_on(layout, learner, pending):
    """What a learner does whose decision in round `ROUNDS` is pending; {name: numbers}."""
    found = {f"before {name}": v for name, v in readings(layout, learner).items()}
    layout.tell(learner, ROUNDS, pending)
    decisions = [flat(layout.play(learner, t)) for t in range(ROUNDS + 1, ROUNDS + 1 + MORE)]
    found["decisions"] = np.concatenate(decisions)
    return found | {f"after {name}": v for name, v in readings(layout, learner).items()}


def save(learner, path):
    if not isinstance(learner, tuple(vars(cf.metric)[name] for name in cf.metric.__all__)):
        learner.save(path)
        return
    arrays = {}
    state = _store.encode(learner.state(), arrays, "state")
    _file.write(path, {"metric": type(learner).__name__, "state": state}, arrays)


def load(path):
    head, arrays = _file.read(path)
    if "metric" not in head:
        return cf.load(path)
    return getattr(cf.metric, head["metric"]).from_state(_store.decode(head["state"], arrays))


def pending_of(values, learner):
    """A decision as `act` gave it."""
    if values.size == 6 and hasattr(learner, "tell_pair"):
        return values.reshape(2, 3)
    return values if values.size > 1 or hasattr(learner, "tell") else values[0].item()


def write_expected(found):
    """All numbers one after the other, and where those of each name lie."""
    index, parts, at = {}, [], 0
    for layout, entries in found.items():
        index[layout] = {}
        for name, values in entries.items():
            index[layout][name] = [at, at + values.size]
            parts.append(values)
            at += values.size
    text = np.frombuffer(json.dumps(index).encode(), dtype=np.uint8)
    np.savez_compressed(EXPECTED, values=np.concatenate(parts), index=text)


def read_expected():
    if not EXPECTED.exists():
        return {}
    with np.load(EXPECTED) as file:
        values, index = file["values"], json.loads(file["index"].tobytes())
    return {layout: {name: values[a:b] for name, (a, b) in entries.items()}
            for layout, entries in index.items()}


def main():
    FOLDER.mkdir(exist_ok=True)
    found = read_expected()
    for layout in layouts.ALL:
        if layout.own or layout.name in found:
            continue
        learner = layouts.taught(layout, ROUNDS)
        pending = flat(layout.act(learner, ROUNDS))
        path = FOLDER / f"{layout.name}.cf"
        save(learner, path)
        again = load(path)
        found[layout.name] = {"pending": pending,
                              **go_on(layout, again, pending_of(pending, again))}
        straight = go_on(layout, learner, pending_of(pending, learner))
        same = all(v.tobytes() == found[layout.name][name].tobytes()
                   for name, v in straight.items())
        if not same and not layout.solver:
            sys.exit(f"{layout.name}: the saved learner does not go on as the other does")
    write_expected(found)
    sizes = [file.stat().st_size for file in FOLDER.iterdir()]
    print(f"{len(found)} layouts, {len(sizes)} files, {sum(sizes)} bytes")


if __name__ == "__main__":
    main()
