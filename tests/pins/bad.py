"""Arguments that are wrong, by what the method asks for, and the calls with each of them."""

import copy
import pickle

import numpy as np
import scipy.sparse

from .notes import message

REALS = {"None": None, "text": "abc", "nan": np.nan, "inf": np.inf, "-inf": -np.inf, "-1": -1.0,
         "0": 0.0, "-0": -0.0, "0.5": 0.5, "1": 1, "2": 2.0, "1e300": 1e300, "1e-300": 1e-300,
         "complex": 1 + 2j, "list": [1.0], "array": np.array([0.5]), "0-d": np.array(0.5),
         "True": True, "float32": np.float32(0.5), "big": 10**400, "object": object}
WHOLES = {"None": None, "text": "abc", "nan": np.nan, "-1": -1, "0": 0, "1": 1, "2": 2, "5": 5,
          "2.0": 2.0, "2.5": 2.5, "True": True, "uint8": np.uint8(2), "10**30": 10**30,
          "complex": 1 + 0j, "list": [2], "0-d": np.array(2), "1-d": np.array([2])}
DRAWS = {name: value for name, value in WHOLES.items() if name != "10**30"}
FLAGS = {"None": None, "text": "yes", "0": 0, "1": 1, "2": 2, "1.0": 1.0, "0.5": 0.5, "nan": np.nan,
         "np.True_": np.True_, "list": [True], "array": np.array(True), "-1": -1}
WORDS = {"None": None, "": "", "unknown": "unknown", "number": 1, "bytes": b"full",
         "list": ["full"], "array": np.array(["full", "fast"]), "True": True}
SEEDS = {"text": "abc", "-1": -1, "0.5": 0.5, "nan": np.nan, "dict": {}, "object": object}
PARAMS = {"list": [1], "text": "abc", "unknown": {"bogus": 1}, "gamma": {"gamma": -1.0},
          "nan": {"gamma": np.nan}, "degree": {"degree": 2.5}, "coef0": {"coef0": "x"},
          "number": 3, "empty": {}, "key": {1: 2}}


def vectors(d):
    """Rows that are wrong for d features."""
    good = np.linspace(-1.0, 1.0, d)
    nan, inf = good.copy(), good.copy()
    nan[-1], inf[0] = np.nan, np.inf
    sparse = scipy.sparse.csr_matrix
    return {
        "None": None, "text": "abc", "empty": [], "number": 1.0, "nan": nan, "inf": inf,
        "narrow": np.ones(d - 1), "broad": np.ones(d + 1), "two rows": np.ones((2, d)),
        "3-d": np.ones((1, 1, d)), "complex": good + 1j, "objects": np.array([None] * d),
        "masked": np.ma.masked_array(good, good > 0.0), "bools": np.ones(d, dtype=bool),
        "ints": np.arange(d), "texts": ["x"] * d, "huge": np.full(d, 1e200),
        "1e308": np.full(d, 1e308), "tiny": np.full(d, 1e-310), "null": np.zeros(d),
        "sparse nan": sparse(nan), "sparse broad": sparse(np.ones((1, d + 1))),
        "sparse two": sparse(np.ones((2, d))), "sparse complex": sparse(good + 1j),
        "sparse null": sparse((1, d)), "ragged": [[1.0], [1.0, 2.0]], "dict": {},
        "float16": good.astype(np.float16), "longdouble": good.astype(np.longdouble),
        "dates": np.array(["2020-01-01"] * d, dtype="datetime64[D]"), "one row": good[None],
        "column": good[:, None], "set": {1.0, 2.0},
    }


def tables(d):
    """Tables that are wrong for rows of d features."""
    good = np.linspace(-1.0, 1.0, 3 * d).reshape(3, d)
    nan = good.copy()
    nan[1, -1] = np.nan
    sparse = scipy.sparse.csr_matrix
    return {
        "None": None, "text": "abc", "empty": [], "no rows": np.zeros((0, d)), "number": 1.0,
        "no columns": np.zeros((3, 0)), "nan": nan, "narrow": np.ones((3, d - 1)),
        "broad": np.ones((3, d + 1)), "row": np.ones(d), "3-d": np.ones((3, 1, d)),
        "complex": good + 1j, "masked": np.ma.masked_array(good, good > 0.5),
        "objects": np.full((3, d), None), "bools": good > 0.0, "huge": np.full((3, d), 1e200),
        "1e308": np.full((3, d), 1e308), "sparse nan": sparse(nan),
        "sparse broad": sparse(np.ones((3, d + 1))), "sparse complex": sparse(good + 1j),
        "sparse coo": scipy.sparse.coo_matrix(good), "ragged": [[1.0], [1.0, 2.0]],
        "float16": good.astype(np.float16), "good": good,
    }


LABELS = {"None": None, "text": "abc", "-1": -1, "99": 99, "0.5": 0.5, "1.0": 1.0, "nan": np.nan,
          "True": True, "np.True_": np.True_, "uint8": np.uint8(1), "list": [1], "complex": 1j,
          "10**30": 10**30, "0-d": np.array(1), "masked": np.ma.masked}


def columns(n):
    """Columns that are wrong for n rounds."""
    ones = np.ones(n)
    return {"None": None, "text": "abc", "short": np.ones(n - 1), "long": np.ones(n + 1),
            "2-d": np.ones((n, 1)), "nan": np.full(n, np.nan), "inf": np.full(n, np.inf),
            "-1": -ones, "0.5": 0.5 * ones, "99": 99 * ones, "bools": ones > 0.0,
            "complex": 1j * ones, "objects": np.array([None] * n),
            "masked": np.ma.masked_array(ones, ones > 0.0),
            "texts": ["x"] * n, "ints": np.ones(n, dtype=np.int64), "number": 1.0,
            "bytes": np.ones(n, dtype=np.int8), "empty": []}


PROGRESS = {"number": 3, "text": "abc", "list": []}
OVERFLOW = ("huge)", "1e308)", "1e300)")
PATHS = {"None": None, "number": 1.5, "missing folder": "no/such/folder/at/all"}


def pool(kind, d, n):
    """The wrong values of a kind of argument."""
    plain = {"real": REALS, "whole": WHOLES, "flag": FLAGS, "word": WORDS, "seed": SEEDS,
             "params": PARAMS, "label": LABELS, "draws": DRAWS, "progress": PROGRESS, "path": PATHS}
    if kind in plain:
        return plain[kind]
    return {"row": vectors, "table": tables}[kind](d) if kind != "column" else columns(n)


def calls(method, good, d, n, thin=(1, 0)):
    """(label, args, kwargs) of a method: each argument in turn is wrong.

    `good` is a list of (kind, value) by position, or (kind, value, keyword). `thin` is (m, i): of
    the wrong values every m-th, from the i-th on.
    """
    args = [one[1] for one in good if len(one) == 2]
    yield f"{method}()", (), {}
    yield f"{method}(bogus)", args, {"bogus": 1}
    yield f"{method}(more)", [*args, 1, 2, 3, 4], {}
    for i, one in enumerate(good):
        for name, value in list(pool(one[0], d, n).items())[thin[1]::thin[0]]:
            if len(one) == 3:
                yield f"{method}({one[2]}={name})", args, {one[2]: value}
            else:
                changed = list(args)
                changed[i] = value
                yield f"{method}({i}: {name})", changed, {}


def refuse_changes(notes, subject, method, good, *, d, n=3, label="", frozen=pickle.dumps,
                   copied=copy.deepcopy, thin=(1, 0)):
    """Records the answer to each wrong call; one that raises must leave all as it was."""
    trial = None
    entry = notes._entry(f"{label}{method}")
    for name, args, kwargs in calls(method, good, d, n, thin):
        if trial is None:
            trial = copied(subject)
            before = frozen(trial)
        raised = True
        entry["texts"].append(name)
        try:
            value = getattr(trial, method)(*copy.deepcopy(args), **copy.deepcopy(kwargs))
            raised = False
            notes.add(f"{label}{method}", "accepted" if value is None or value is trial else value)
        except Exception as error:
            notes.add(f"{label}{method}", message(error))
        if raised and not (method == "run" and name.endswith(OVERFLOW)):
            assert frozen(trial) == before, f"{type(subject).__name__}.{name} has changed it"
            continue
        if raised:  # rows before the one that is too large were learned
            notes.add(f"{label}run", trial.rounds)
        trial = None
