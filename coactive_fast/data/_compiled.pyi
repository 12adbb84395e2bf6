from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

PIECE: int

class Pieces:
    def __init__(self, file: Any, name: str, piece: int = ...) -> None: ...
    def advance(self) -> bool: ...

class Rows(Pieces):
    def __init__(self, file: Any, name: str, first: int, last: int | None, dtype: DTypeLike,
                 multilabel: bool, query: bool, piece: int = ...) -> None: ...
    @property
    def least(self) -> int | None: ...
    @property
    def most(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
    indices: NDArray[np.int64]
    values: NDArray[np.float64]
    row_ends: NDArray[np.intp]
    labels: NDArray[np.float64]
    label_ends: NDArray[np.intp]
    queries: NDArray[np.int64]
    lines: NDArray[np.int64]
    def scatter(self, flat: NDArray[Any], row: int, stride: int) -> None: ...

class Ratings(Pieces):
    users: NDArray[np.int64]
    items: NDArray[np.int64]
    ratings: NDArray[np.float64]

def restride(flat: NDArray[Any], rows: int, old: int, new: int, skip: int = 0) -> None: ...
def solve_rows(starts: NDArray[np.intp], places: NDArray[np.intp], values: NDArray[np.float64],
               others: NDArray[np.float64], weight: float, out: NDArray[np.float64], begin: int,
               end: int) -> None: ...
