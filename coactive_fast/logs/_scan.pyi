from typing import Any

import numpy as np
from numpy.typing import NDArray

class Names:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __len__(self) -> int: ...
    def told(self, begin: int) -> list[tuple[str | bytes, int] | None]: ...
    def columns(self, begin: int, bits: int, chain: bool) -> NDArray[np.int64]: ...

class Rounds:
    def __init__(
        self,
        file: Any,
        name: str,
        names: Names,
        text: bool | None,
        skip_unlabelled: bool,
        before: Rounds | None = ...,
        piece: int = ...,
    ) -> None: ...
    def advance(self) -> bool: ...
    text: bool | None
    actions: NDArray[np.int32]
    action_values: NDArray[np.float64]
    shared: NDArray[np.int32]
    shared_values: NDArray[np.float64]
    row_ends: NDArray[np.int64]
    round_ends: NDArray[np.int64]
    shared_ends: NDArray[np.int64]
    chosen: NDArray[np.int64]
    costs: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    @property
    def left_out(self) -> dict[str, int]: ...

class Lines:
    def __init__(
        self, file: Any, name: str, names: Names, bare: bool, piece: int = ...
    ) -> None: ...
    def advance(self) -> bool: ...
    def heads(self) -> list[tuple[bytes, bool]]: ...
    names: NDArray[np.int32]
    values: NDArray[np.float64]
    row_ends: NDArray[np.int64]
    lines: NDArray[np.int64]

def number_columns(
    names: NDArray[np.int32], alias: NDArray[np.int32], column: NDArray[np.int32], order: list[int]
) -> None: ...
