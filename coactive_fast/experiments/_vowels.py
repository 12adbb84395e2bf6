"""Frames of vowels: the four panels of the Confidit paper's figure 8 where the folder holds them,
and the smaller set that stands in for them."""

import functools

import numpy as np

from coactive_fast import data

from . import _sources
from ._confidit import corpus

STAND_IN = "vowel"
PLM = {  # accuracy of the Probabilistic Linear Machine (Lin, Bilmes, Crammer 2009), by the paper
    "v4.w1": 90.0, "v4.w7": 91.6, "v8.w1": 67.2, "v8.w7": 68.4,
}
SIZES = (1000, 2000, 5000, 20_000, 50_000, 300_000)  # frames of the panels; the last: all
TEST = 300  # frames of the stand-in that are kept for testing


def panels(sets):
    """The names of the panels that a run has."""
    return [*filter(sets.has, PLM), STAND_IN]


def called(sets, panel):
    return sets.called("vowels", "digits") if panel == STAND_IN else f"Vocal Joystick {panel}"


def sizes(panel, setting):
    """How many frames are learned from."""
    return list(setting["sizes"] if panel == STAND_IN else SIZES)


@functools.lru_cache(maxsize=1)
def frames(sets, panel):
    """``(X, y, classes, test)``: the last `test` rows are the paper's test set, 0: there is none.

    Standardised by the frames to learn from, with a constant.
    """
    if panel == STAND_IN:
        return *corpus(sets, STAND_IN, None), 0
    train, test = (data.load_table(sets.file(name)) for name in _sources.SOURCES[panel].files)
    if train.classes is None or train.classes != test.classes or train.X.shape[1:] != \
            test.X.shape[1:]:
        raise ValueError(f"the tables of {panel} must have the same columns, the last of which "
                         "names the vowel, and the same vowels")
    scaling = data.standardize(train.X)
    X = np.concatenate([scaling.transform(train.X), scaling.transform(test.X)])
    X = np.column_stack([X, np.ones(len(X))])
    return X, np.concatenate([train.y, test.y]), len(train.classes), len(test.y)


def drawn(sets, panel, rows, seed):
    """So many rows to learn from, in random order, and those to test on: places."""
    _, y, _, test = frames(sets, panel)
    at = np.random.default_rng(seed).permutation(len(y) - test)
    if test:
        return at[:rows], np.arange(len(y) - test, len(y))
    return at[TEST:TEST + rows], at[:TEST]
