"""``coactive-fast fleet``: what is in the file of a fleet."""

import contextlib

import numpy as np

import coactive_fast as cf

from . import Trouble

FEW = 8  # numbers of a line
UNITS = {"models": "", "capacity": "", "features": "", "record": " bytes",
         "index": " bytes a model", "file": " bytes", "free": " slots of deleted models",
         "damaged": " records"}


def show(options):
    """Tells how many models the file of a fleet (coactive_fast.Fleet) holds, how large it is, and
    whether all records are whole; a writer may be at work meanwhile. With --key it shows the model
    of that key.

      coactive-fast fleet users.fleet
      coactive-fast fleet users.fleet --key 1729
    """
    with cf.Fleet(options.file, mode="r") as fleet:
        if options.key is not None:
            show_model(fleet, options.key)
            return
        health = fleet.health()
        print(f"{'models of':12} {fleet.template!r}")
        for name, unit in UNITS.items():
            print(f"{name:12} {health['bytes' if name == 'file' else name]:,}{unit}")
        if health["damaged"]:
            raise Trouble(f"{options.file}: {health['damaged']} records have a wrong checksum")


def show_model(fleet, text):
    """The model of a key, a whole number or the text itself."""
    learner = None
    for kind in (str, int):
        with contextlib.suppress(ValueError):
            learner = fleet[kind(text)] if kind(text) in fleet else learner
    if learner is None:
        raise Trouble(f"{text!r} has no model: it is the prior")
    print(f"{'model':12} {learner!r}")
    for name in ("rounds", "learned"):
        if hasattr(learner, name):
            print(f"{name:12} {getattr(learner, name):,}")
    for i, row in enumerate(np.atleast_2d(getattr(learner, "weights", np.empty((0, 0))))):
        for j in range(0, len(row), FEW):
            name = "" if j or i else "weights"
            print(f"{name:12} {' '.join(f'{w:.6g}' for w in row[j:j + FEW])}")
