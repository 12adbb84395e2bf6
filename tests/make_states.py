"""Learners and metrics in files, and what they do after they were read back.

A file is saved in the middle of round `ROUNDS`: the learner has acted, and the answer is still to
come. The folder ``states`` holds files of versions whose states are refused. The files that every
later version has to read are made here when the layout of states is final, before version 1.0.
"""

from pathlib import Path

import numpy as np

import coactive_fast as cf
from coactive_fast.learner import _file, _store

FOLDER = Path(__file__).parent / "states"
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
