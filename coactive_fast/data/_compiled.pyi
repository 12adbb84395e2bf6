from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

PIECE: int

class Pieces:
    """A binary file, cut into pieces of whole lines; the last line may lack its line feed."""

    def __init__(self, file: Any, name: str, piece: int = ...) -> None: ...
    def advance(self) -> bool:
        """Reads the next piece; False where there is none. A bad line is a `ValueError`."""

class Rows(Pieces):
    """svmlight rows. The arrays of a piece: indices and values of all pairs, row_ends, labels,
    label_ends, queries, lines (a number for each row).
    """

    def __init__(
        self,
        file: Any,
        name: str,
        first: int,
        last: int | None,
        dtype: DTypeLike,
        multilabel: bool,
        query: bool,
        piece: int = ...,
    ) -> None: ...
    @property
    def least(self) -> int | None:
        """The least index so far, counted from 0; None before the first pair."""
    @property
    def most(self) -> int:
        """The greatest index so far, counted from 0; -1 before the first pair."""
    @property
    def n_rows(self) -> int: ...
    indices: NDArray[np.int64]
    values: NDArray[np.float64]
    row_ends: NDArray[np.intp]
    labels: NDArray[np.float64]
    label_ends: NDArray[np.intp]
    queries: NDArray[np.int64]
    lines: NDArray[np.int64]
    def scatter(self, flat: NDArray[Any], row: int, stride: int) -> None:
        """The pairs into the dense rows from `row` on of `flat`, which hold zeros."""

class Ratings(Pieces):
    """Ratings. The arrays of a piece: users, items, ratings."""

    users: NDArray[np.int64]
    items: NDArray[np.int64]
    ratings: NDArray[np.float64]

def restride(flat: NDArray[Any], rows: int, old: int, new: int, skip: int = 0) -> None:
    """Rows of `old` numbers at the beginning of `flat` become rows of `new`, in place.

    A longer row is filled up with zeros; a shorter one loses `skip` numbers at its beginning
    and the rest at its end.
    """
def solve_rows(
    starts: NDArray[np.intp],
    places: NDArray[np.intp],
    values: NDArray[np.float64],
    others: NDArray[np.float64],
    weight: float,
    out: NDArray[np.float64],
    begin: int,
    end: int,
) -> None:
    """Rows begin ... end of `out` from the other side's features.

    Parameters
    ----------
    starts, places : ndarray of intp
        As in CSR: where rows begin, and whom they rate.
    values : ndarray of float64
    others : ndarray of float64, C-contiguous, shape (m, rank)
    weight : float
        Regularisation, times the number of a row's ratings.
    out : ndarray of float64, C-contiguous, shape (n, rank)
        Rows without ratings are left as they are.
    """
