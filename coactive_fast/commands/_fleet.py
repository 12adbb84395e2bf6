"""``coactive-fast fleet``: what is in the file of a fleet."""

import contextlib

import numpy as np

import coactive_fast as cf

from . import Trouble

FEW = 8  # numbers of a line


def show(options):
    """How many, size, health; with a key its model."""
    with cf.Fleet(options.file, mode="r") as fleet:
        if options.key is not None:
            show_model(fleet, options.key)
            return
        health = fleet.health()
        print(f"{'models of':12} {fleet.template!r}")
        for name, value, unit in (
                ("models", health["models"], ""), ("capacity", health["capacity"], ""),
                ("features", health["features"], ""), ("record", health["record"], " bytes"),
                ("index", health["index"], " bytes a model"), ("file", health["bytes"], " bytes"),
                ("free", health["free"], " slots of deleted models"),
                ("damaged", health["damaged"], " records")):
            print(f"{name:12} {value:,}{unit}")
        if health["damaged"]:
            raise Trouble(f"{options.file}: {health['damaged']} records have a wrong checksum")


def show_model(fleet, text):
    key = key_of(fleet, text)
    if key is None:
        raise Trouble(f"{text!r} has no model: it is the prior")
    learner = fleet[key]
    print(f"{'model':12} {learner!r}")
    print(f"{'rounds':12} {learner.rounds:,}")
    if hasattr(learner, "learned"):
        print(f"{'learned':12} {learner.learned:,}")
    if hasattr(learner, "weights"):
        for i, row in enumerate(np.atleast_2d(learner.weights)):
            for j in range(0, len(row), FEW):
                name = "" if j or i else "weights"
                print(f"{name:12} {' '.join(f'{w:.6g}' for w in row[j:j + FEW])}")


def key_of(fleet, text):
    """The key that is meant, a whole number or the text itself; None where there is none."""
    for kind in (int, str):
        with contextlib.suppress(ValueError):
            if kind(text) in fleet:
                return kind(text)
    return None
