"""What must not change: streams of every learner, recorded from version 0.2.1.

    notes.py      what a stream leaves: decisions, numbers, messages; the file, the comparison
    numbers.py    rows, labels and rewards worked out from whole numbers alone
    grid.py       the parameters of every learner, value by value
    learners.py   the streams of the learners of the registry
    others.py     metrics, kernels, catalogues, fleets, logs, simulations, users, losses, sets
    record.py     writes ``pins.npz``; fails where a class or a parameter is in no stream
"""

from . import learners, others


def all_streams():
    """{name: function of Notes}, in the order of the file."""
    return {**learners.streams(), **others.streams()}
