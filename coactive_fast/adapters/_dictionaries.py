"""Dictionaries of numbers by name, and DataFrames, as rows of features."""

from __future__ import annotations

import contextlib
import struct
import threading
from typing import Any

import numpy as np
import scipy.sparse

from coactive_fast.learner._check import count, switch

FEATURES = 1 << 20
INTERCEPT = ("intercept",)  # a name that no row has


class Row:
    """One scipy row that is filled again and again; its width doubles as features come, or is
    the most that may come from the start (`fixed`).

    Its arrays are longer than what is in them: a row ends where `indptr` says. The names of the
    row before are kept, for in most streams they are those of this one.
    """

    def __init__(self, most: int, fixed: bool = False) -> None:
        self.most, self.fixed, self.width = most, fixed, 0
        self.names: list[Any] | None = None
        self.lock = threading.Lock()  # of the row and of all that is numbered
        self.make_room(16)

    def __reduce__(self):
        return Row, (self.most, self.fixed)  # there is nothing in it

    def make_room(self, entries: int) -> None:
        self.values: Any = np.zeros(entries)
        self.places: Any = np.zeros(entries, dtype=np.int32)
        self.ends = np.zeros(2, dtype=np.int32)
        self.width, self.names = 0, None

    def of(self, x: dict[Any, Any], features: dict[Any, int], grow: bool) -> Any:
        """The dictionary as a row. Names that are new get the next numbers, or are left out."""
        entries = len(x)
        if entries > len(self.values):
            self.make_room(2 * entries)
        # a format costs less than an array, and takes nothing but numbers
        struct.pack_into(f"{entries}d", self.values, 0, *x.values())
        names = list(x)
        if names != self.names:
            self.names = None
            try:
                self.place(names, features)
            except KeyError:
                if not grow:
                    return self.of({name: x[name] for name in names if name in features},
                                   features, False)
                self.number(names, features)
                self.place(names, features)
            self.names = names
        if len(features) > self.width or self.width == 0:
            self.widen(len(features))
        return self.row

    def place(self, names: list[Any], features: dict[Any, int]) -> None:
        struct.pack_into(f"{len(names)}i", self.places, 0, *map(features.__getitem__, names))
        self.ends[1] = len(names)

    def number(self, names: list[Any], features: dict[Any, int]) -> None:
        """Gives names that are new the next numbers.

        In the order of the dictionary, for rows whose numbers rise are read fastest (sorted names
        cost 1.2 times a round at 20 of them, and 7 times at 1000). Sums go in that order, so of
        scores that are equal but for rounding either may be ahead.
        """
        new = [name for name in names if name not in features]
        if len(features) + len(new) > self.most:
            raise ValueError(f"x brings feature {new[-1]!r}: there are {len(features)} already, "
                             f"of at most {self.most} (max_features)")
        for name in new:
            features[name] = len(features)

    def widen(self, n_features: int) -> None:
        self.width = min(self.most, max(64, 1 << n_features.bit_length()))
        if self.fixed:
            self.width = self.most
        self.row = scipy.sparse.csr_matrix((1, self.width))
        self.row.data, self.row.indices, self.row.indptr = self.values, self.places, self.ends

    def table(self, X: Any, features: dict[Any, int], grow: bool) -> Any:
        """A DataFrame as CSR rows of all its columns, or of those that are known."""
        if not hasattr(X, "columns"):
            raise TypeError(f"X must be a pandas DataFrame, got {type(X).__name__}")
        names = list(X.columns)
        if len(set(names)) < len(names):
            raise ValueError("X must have no two columns of one name")
        values = _numbers_of(X)
        if grow:
            self.number(names, features)
        columns = sorted((features[name], i) for i, name in enumerate(names) if name in features)
        if len(features) > self.width or self.width == 0:
            self.widen(len(features))
        places = np.array([place for place, _ in columns], dtype=np.int64)
        entries = values[:, [i for _, i in columns]].ravel()
        ends = np.arange(len(X) + 1) * len(columns)
        return scipy.sparse.csr_matrix((entries, np.tile(places, len(X)), ends),
                                       shape=(len(X), self.width))


class Named:
    """Dictionaries as rows, with an intercept or without, for an adapter's learner.

    Names of features are numbered as they come. In the diagonal form rows widen with them; in the
    full form every row is as wide as `max_features` from the start.
    """

    covariance: Any = "diagonal"
    intercept: bool = False
    max_features: Any = None

    def _take_names(self):
        """Checks what the rows depend on; the most features there may be."""
        full = self.covariance == "full"
        if full and self.max_features is None:
            raise ValueError('max_features must be given with covariance="full": the matrix has '
                             "that many rows from the start")
        switch("intercept", self.intercept)
        most = count("max_features", FEATURES if self.max_features is None else self.max_features,
                     least=1)
        self._features, self._row = {}, Row(most, fixed=full)
        return None if full else most

    def _dictionary(self, x):
        return {**x, INTERCEPT: 1.0} if self.intercept else x

    @contextlib.contextmanager
    def _known(self, x, grow):
        """The row of x under the lock; names that came with a refused row are forgotten."""
        with self._row.lock:
            before = len(self._features)
            try:
                yield self._row.of(self._dictionary(x), self._features, grow)
            except Exception:
                self._forget_names(before)
                check_values(x)
                raise

    def _forget_names(self, known):
        """Those that came when there were so many."""
        self._row.names = None
        while len(self._features) > known:
            self._features.popitem()

    def _table(self, X, grow):
        if self.intercept and hasattr(X, "assign"):
            X = X.assign(**{"": 1.0}).rename(columns={"": INTERCEPT})
        return self._row.table(X, self._features, grow)


def _numbers_of(X):
    """The values of a DataFrame, where all are finite numbers."""
    for name, kind in X.dtypes.items():
        if getattr(kind, "kind", "O") not in "fiub":
            raise TypeError(f"X must hold real numbers, got {kind} in column {name!r}")
    values = X.to_numpy(dtype=np.float64, na_value=np.nan)
    finite = np.isfinite(values).all(axis=0)
    if not finite.all():
        raise ValueError(f"X must be finite, it is not in column {X.columns[finite.argmin()]!r}")
    return values


def check_values(x: Any) -> None:
    """Refuses what is no dictionary of finite numbers, by the name of the feature."""
    if not hasattr(x, "values"):
        raise TypeError(f"x must be a dictionary of numbers by name, got {type(x).__name__}")
    for name, value in x.items():
        try:
            packed, = struct.unpack("d", struct.pack("d", value))
        except (struct.error, OverflowError, TypeError):
            raise TypeError(f"x must hold real numbers, got {value!r} as {name!r}") from None
        if not np.isfinite(packed):
            raise ValueError(f"x must be finite, got {value!r} as {name!r}")
