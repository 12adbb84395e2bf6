"""Rows in all forms that learners accept, and what no learner accepts."""

import numpy as np
import scipy.sparse

from .core import Boom

WIDE = 6  # features of most learners here


def row(r, d=WIDE):
    """A row that float32 holds exactly: mostly dense, some sparse, null, repeated or scaled."""
    kind = r.random()
    if kind < 0.03:
        return np.zeros(d)
    x = np.array([r.gauss(0.0, 1.0) for _ in range(d)], dtype=np.float32).astype(float)
    x += 0.0
    if kind < 0.35:
        x[[i for i in range(d) if r.random() < 0.5]] = 0.0
    elif kind < 0.38:
        x *= 2.0 ** r.randrange(-8, 3)
    elif kind < 0.45:
        x = np.round(x) + 0.0  # no -0.0, which sparse rows do not hold
    return x


def table(r, n, d=WIDE):
    if n == 0:
        return np.zeros((0, d))
    X = np.array([row(r, d) for _ in range(n)])
    if n > 1 and r.random() < 0.1:
        X[n - 1] = X[0]
    return X


def form_of_row(r, x, pairs=False):
    """The same row as someone else might hold it."""
    ways = ["dense", "dense", "float32", "list", "table", "csr", "csr64", "strided", "csc"]
    way = r.choice([*ways, "pairs"] if pairs else ways)
    if way == "float32":
        return x.astype(np.float32)
    if way == "list":
        return x.tolist()
    if way == "table":
        return x[None]
    if way == "csr":
        return scipy.sparse.csr_matrix(x[None])
    if way == "csr64":
        return wide_indices(scipy.sparse.csr_array(x[None]))
    if way == "csc":
        return scipy.sparse.csc_matrix(x[None])
    if way == "strided":
        return np.repeat(x, 2)[::2]
    if way == "pairs":
        at = np.flatnonzero(x)
        return (at, x[at]) if r.random() < 0.5 else (at.tolist(), x[at].tolist())
    return x


def form_of_rows(r, X, sparse=True):
    ways = ["dense", "dense", "float32", "fortran", "list"]
    way = r.choice([*ways, "csr", "csr64"] if sparse else ways)
    if way == "float32":
        return X.astype(np.float32)
    if way == "fortran":
        return np.asfortranarray(X)
    if way == "csr":
        return scipy.sparse.csr_matrix(X)
    if way == "csr64":
        return wide_indices(scipy.sparse.csr_matrix(X))
    if way == "list" and len(X):
        return X.tolist()
    return X


def wide_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


class Raises:
    """A number, or an array, that cannot say what it is."""

    def __float__(self):
        raise Boom("no number")

    __int__ = __index__ = __float__

    def __array__(self, dtype=None, copy=None):
        raise Boom("no array")

    def __len__(self):
        return WIDE

    def __repr__(self):
        return "Raises()"


def objects(shape):
    found = np.empty(shape, dtype=object)
    for place in np.ndindex(*shape):
        found[place] = Raises()
    return found


def bad_rows(r, d, fixed):
    """(what is wrong, a row that no learner of d features accepts); fixed: whether d is."""
    good = np.arange(1.0, d + 1.0)
    found = {
        "NaN": np.where(good == 2.0, np.nan, good),
        "infinity": np.where(good == 2.0, np.inf, good),
        "sparse NaN": scipy.sparse.csr_matrix(np.where(good == 2.0, np.nan, good)),
        "two rows": np.array([good, good]),
        "empty": np.zeros(0),
        "strings": ["1.0"] * d,
        "complex": good + 1j,
        "None": None,
        "masked": np.ma.masked_array(good, mask=good == 1.0),
        "objects": objects((d,)),
        "no array": Raises(),
        "text": "rows",
        "dict": {},
        "sparse column out of range": beyond(d),
        "sparse int out of order": broken_pointers(d),
        "NaN of float32": np.where(good == 2.0, np.nan, good).astype(np.float32),
        "three dimensions": good[None, None],
        "dates": np.zeros(d, dtype="M8[s]"),
    }
    if fixed:
        found |= {"too long": np.append(good, 1.0),
                  "sparse and too long": scipy.sparse.csr_matrix(np.append(good, 1.0))}
        if fixed == "exactly" and d > 1:
            found["too short"] = good[1:]
    name = r.choice(sorted(found))
    return name, found[name]


def beyond(d):
    X = scipy.sparse.csr_matrix(np.eye(1, d))
    X.indices = X.indices + d
    return X


def broken_pointers(d):
    X = scipy.sparse.csr_matrix(np.eye(1, d))
    X.indptr = np.array([0, 5], dtype=X.indptr.dtype)
    return X


def bad_tables(r, d, n, fixed):
    """(what is wrong, n rows that are none)."""
    good = np.ones((n, d))
    holed = good.copy()
    holed[-1, -1] = np.nan
    found = {
        "NaN": holed, "sparse NaN": scipy.sparse.csr_matrix(holed), "a row": good[0],
        "complex": good + 0j, "strings": good.astype(str), "None": None,
        "masked": np.ma.masked_array(good, mask=good == 1.0),
        "objects": objects((n, d)), "text": "rows",
        "three dimensions": good[None], "infinite": np.full((n, d), np.inf),
        "one row fewer": good[1:] if n > 1 else good[0],
    }
    if fixed:
        found["too wide"] = np.ones((n, d + 1))
    name = r.choice(sorted(found))
    if name == "one row fewer":
        return "three dimensions", good[None]
    return name, found[name]


BIG = {}


def many(n, d=WIDE):
    """As many rows, the same in every process."""
    if (n, d) not in BIG:
        BIG[n, d] = np.random.default_rng(n).standard_normal((n, d)) / np.sqrt(d)
    return BIG[n, d]
