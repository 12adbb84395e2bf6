"""Logs as the tests use them."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from row_cases import FOLDER

import coactive_fast as cf


def arrays(rng, n=150, *, d=4, p=0, actions=(1, 6), binary=True, groups=None):
    """The arguments of a log made by chance; `actions` as `Generator.integers` takes them."""
    lengths = rng.integers(*actions, n)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    features = rng.standard_normal((offsets[-1], d)).round(2)
    law = some_law(rng, offsets)
    chosen = np.array([rng.choice(b - a, p=law[a:b])
                       for a, b in zip(offsets[:-1], offsets[1:], strict=True)])
    reward = rng.random(n)
    found = {"features": features, "offsets": offsets, "chosen": chosen,
             "reward": (reward < 0.4).astype(float) if binary else reward.round(2) - 0.3,
             "probability": law[offsets[:-1] + chosen]}
    if p:
        found["context"] = rng.standard_normal((n, p)).round(2)
    if groups == "numbers":
        found["groups"] = rng.integers(-5, n // 3, n)
    elif groups == "names":
        found["groups"] = np.array([f"user {i}" for i in rng.integers(0, n // 3, n)])
    return found


def some_law(rng, offsets):
    """Probabilities of all actions, none below a tenth of its uniform share."""
    lengths = np.diff(offsets)
    law = rng.random(offsets[-1]) + 0.1
    law /= np.repeat(np.add.reduceat(law, offsets[:-1]), lengths)
    return 0.1 / np.repeat(lengths, lengths) + 0.9 * law


def log_of(given, **changes):
    return cf.logs.BanditLog(**{**given, **changes})


def sparse(given):
    """The same with CSR in the place of tables."""
    return {name: scipy.sparse.csr_matrix(value) if name in ("features", "context") else value
            for name, value in given.items()}


def golden(kind):
    """The golden logs of a kind: (name, log, arrays)."""
    if not FOLDER:
        reason = "COACTIVE_VECTORS does not name the folder of the golden vectors"
        return [pytest.param("none", None, {}, marks=pytest.mark.skip(reason=reason))]
    cases = {}
    with np.load(Path(FOLDER) / "logs.npz") as file:
        for key in file.files:
            case, _, name = key.partition("__")
            if case.startswith(kind):
                cases.setdefault(case, {})[name] = file[key]
    names = ("features", "offsets", "chosen", "reward", "probability")
    return [pytest.param(case, log_of({name: a[name] for name in names}), a, id=case)
            for case, a in sorted(cases.items())]
