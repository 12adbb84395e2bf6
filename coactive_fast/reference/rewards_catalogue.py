"""The slow twin of a catalogue: fixed rows, all of which are looked at in every round."""

from __future__ import annotations

from collections.abc import Iterable
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

from coactive_fast._typing import RowsLike

from . import _check as check


class Catalogue:
    """Rows to choose among, round after round; what it means is said at `coactive_fast.Catalogue`.

    ``bandit.choose(items, ...)`` is ``bandit.choose(X, ...)`` over all rows ever given, with those
    that were removed not allowed.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> items = reference.Catalogue([[1.0], [3.0], [2.0]])
    >>> items.remove([1])
    >>> reference.LinearBandit().choose(items), len(items)
    (2, 2)
    """

    def __init__(self, X: RowsLike) -> None:
        self.rows = _rows(X, "X")
        self.there = np.ones(len(self.rows), dtype=bool)

    def __len__(self) -> int:
        return int(self.there.sum())

    @property
    def scored(self) -> int:
        """How many rows a choice scores: all that are there.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Catalogue([[1.0], [2.0]]).scored
        2
        """
        return len(self)

    def add(self, rows: RowsLike) -> NDArray[np.intp]:
        """More rows; returns their indices, which follow the highest one ever given.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Catalogue([[1.0], [2.0]]).add([[5.0]])
        array([2])
        """
        with np.errstate(over="ignore"):
            rows = _rows(rows, "rows").astype(self.rows.dtype)
        if rows.shape[1] != self.rows.shape[1]:
            raise ValueError(f"rows must have {self.rows.shape[1]} features, got {rows.shape[1]}")
        check.finite("rows", rows)
        first = len(self.rows)
        self.rows = np.vstack([self.rows, rows])
        self.there = np.append(self.there, np.ones(len(rows), dtype=bool))
        return np.arange(first, len(self.rows))

    def remove(self, indices: SupportsIndex | Iterable[SupportsIndex]) -> None:
        """Takes rows away for good; their indices are not given again.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> items = reference.Catalogue([[1.0], [2.0]])
        >>> items.remove(0)
        >>> len(items)
        1
        """
        there = self.there.copy()
        for index in np.atleast_1d(np.asarray(indices)).tolist():
            index = check.index("indices", index, len(there))
            if not there[index]:
                raise ValueError(f"indices must be those of rows that are there, got {index}")
            there[index] = False
        self.there = there


def _rows(X, name):
    """The rows as float64, but float32 where they came so: what is added is rounded alike."""
    rows = check.array(name, check.unmasked(name, X))
    if rows.dtype != np.float32:
        rows = check.real_array(name, rows, 2)
    if rows.ndim != 2:
        raise ValueError(f"{name} must have 2 dimension(s), got {rows.ndim}")
    return check.finite(name, rows)
