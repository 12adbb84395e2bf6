"""What the tests of the coactive family share: golden files, queries, users that take notes."""

import math
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import coactive_fast
from coactive_fast import reference

FOLDER = os.environ.get("COACTIVE_VECTORS")
golden = pytest.mark.skipif(
    not FOLDER, reason="COACTIVE_VECTORS does not name the folder of the golden vectors"
)
# The laws hold wherever learners and users come from.
modules = pytest.mark.parametrize(
    "module", [reference, coactive_fast], ids=["reference", "compiled"]
)
twins = pytest.mark.parametrize("module", [reference], ids=["reference"])  # what they alone can do


def load(name):
    """The cases of one golden file, each a dict of arrays."""
    found = {}
    with np.load(Path(FOLDER) / f"{name}.npz") as file:
        for key in file.files:
            case, array = key.split("__", 1)
            found.setdefault(case, {})[array] = file[key]
    assert found
    return found


def run(learner, deltas):
    """The weights after every delta."""
    trail = []
    for delta in deltas:
        learner.update(delta)
        trail.append(learner.weights)
    return np.array(trail)


class Recorder:
    """A user that notes every query, what was presented, and the answer."""

    def __init__(self, user):
        self.user, self.rounds = user, []

    def respond(self, query, presented):
        better = self.user.respond(query, presented)
        self.rounds.append((query, presented, better))
        return better


class Data(list):
    """Queries whose fit is known."""

    def fit_weights(self):
        return self.fitted


def make_data(rng, queries=30, features=4, most=12):
    """Random queries; labels follow random weights."""
    data = Data()
    data.fitted = rng.standard_normal(features)
    for _ in range(queries):
        x = rng.standard_normal((rng.integers(1, most + 1), features))
        data.append(SimpleNamespace(features=x, relevance=np.round(x @ data.fitted)))
    return data


def phi(x, y, k):
    """The features of an ordering."""
    return sum(x[d] / math.log2(place + 2) for place, d in enumerate(y[:k]))
