"""What the tests of the multiclass and the filtering learners share."""

import copy
import json
import math
import os
import threading
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import coactive_fast as cf

FOLDER = os.environ.get("COACTIVE_VECTORS")
# Where the learners are found; every test of them runs for each.
MODULES = [pytest.param(cf.reference, id="reference")]


def golden_names(family, logged=None):
    """The golden streams of a family; with `logged` only those whose labels are, or are not."""
    if not FOLDER:
        reason = "COACTIVE_VECTORS does not name the folder of the golden vectors"
        return [pytest.param("none", marks=pytest.mark.skip(reason=reason))]
    names = sorted(path.stem for path in Path(FOLDER).glob(f"{family}_*.npz"))
    return [name for name in names if logged is None or ("logged" in name) == logged]


def golden(name):
    """The arrays of one golden stream and what its meta entry says."""
    with np.load(Path(FOLDER) / f"{name}.npz") as file:
        arrays = {key: file[key] for key in file.files}
    return arrays, json.loads(str(arrays.pop("meta")))


def close(got, expected, tolerance=1e-9):
    """Equal to `tolerance` relative to the largest expected entry."""
    assert np.shape(got) == np.shape(expected)
    error = np.abs(np.asarray(got) - expected).max(initial=0.0)
    assert error <= tolerance * np.abs(expected).max(initial=0.0), error


def unit_rows(rng, T, d):
    X = rng.standard_normal((T, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def with_holes(X, rng):
    """X with most of its entries set to zero, and a row of zeros."""
    X = np.where(rng.random(X.shape) < 0.6, 0.0, X)
    X[len(X) // 2] = 0.0
    return X


def sparse_forms(X):
    """The same rows as scipy.sparse holds them: in order, out of order, split into two entries."""
    csr = scipy.sparse.csr_matrix(X)
    yield "int32", csr
    wide = csr.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    yield "int64", wide
    backwards = csr.copy()
    for begin, end in zip(csr.indptr, csr.indptr[1:], strict=False):
        backwards.indices[begin:end] = csr.indices[begin:end][::-1]
        backwards.data[begin:end] = csr.data[begin:end][::-1]
    backwards.has_sorted_indices = False
    yield "unsorted", backwards
    halves = (np.repeat(csr.data / 2.0, 2), np.repeat(csr.indices, 2), csr.indptr * 2)
    yield "duplicates", scipy.sparse.csr_matrix(halves, shape=X.shape)
    yield "array", scipy.sparse.csr_array(csr)
    yield "csc", csr.tocsc()


def out_of_range(d):
    """A sparse row of d columns that claims an entry in column d."""
    row = scipy.sparse.csr_matrix(np.eye(1, d))
    row.indices = row.indices + d
    return row


def bad_rows(d):
    """What no learner of d features takes as a row; (what is wrong, the row)."""
    good = np.arange(1.0, d + 1.0)
    yield "too short", good[1:]
    yield "too long", np.append(good, 1.0)
    yield "sparse and too long", scipy.sparse.csr_matrix(np.append(good, 1.0))
    yield "NaN", np.where(good == 2.0, np.nan, good)
    yield "infinity", np.where(good == 2.0, np.inf, good)
    yield "sparse NaN", scipy.sparse.csr_matrix(np.where(good == 2.0, np.nan, good))
    yield "sparse column out of range", out_of_range(d)
    yield "two rows", np.array([good, good])
    yield "empty", np.zeros(0)
    yield "strings", ["1.0"] * d
    yield "complex", good + 1j
    yield "None", None


class Unchanged:
    """Inside a `with`, whatever happens: the learner goes on afterwards as if nothing had.

    It is compared with a copy from before, over a whole stream and bit for bit, so what hides
    until later (a generator that has moved, a half-done update) shows.
    """

    def __init__(self, learner, run, readings):
        self.learner, self.run, self.readings = learner, run, readings

    def __enter__(self):
        self.before = copy.deepcopy(self.learner)

    def __exit__(self, kind, error, trace):
        if kind is not None:
            return
        after = copy.deepcopy(self.learner)
        for do in (self.readings, self.run, self.readings):
            np.testing.assert_equal(do(after), do(self.before))


def squares(X):
    """The feature map of ``(0.7 x.y + 0.3)^2`` in two dimensions, written out."""
    a, b = math.sqrt(0.7) * X.T
    r, s = math.sqrt(2.0), math.sqrt(0.3)
    return np.array([a * a, b * b, r * a * b, r * s * a, r * s * b, np.full(len(X), 0.3)]).T


class BreakingKernel:
    """A dot product that fails while `broken`."""

    broken = False

    def __call__(self, x, y):
        if self.broken:
            raise RuntimeError("no answer")
        return float(x @ y)


class FailingKernel:
    """A dot product that in threads called "reader" fails, in two of them at once."""

    def __init__(self):
        self.both = threading.Barrier(2, timeout=20)

    def __call__(self, x, y):
        if x is not y and threading.current_thread().name.startswith("reader"):
            self.both.wait()
            raise LookupError(threading.current_thread().name)
        return float(x @ y)

    def fail_each_reader(self, read, times):
        """Whether each thread gets its own error, as often as that."""
        found = {"reader 0": [], "reader 1": []}

        def fail(name):
            for _ in range(times):
                try:
                    read()
                except Exception as error:
                    found[name].append(repr(error))

        threads = [threading.Thread(target=fail, args=(name,), name=name) for name in found]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == {name: times * [repr(LookupError(name))] for name in found}
