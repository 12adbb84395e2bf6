from typing import Any

import numpy as np
from numpy.typing import NDArray

class Names:
    """All names of a log, by number in the order first seen; one table for several files."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __len__(self) -> int: ...
    def told(self, begin: int) -> list[tuple[str | bytes, int] | None]:
        """``(name, line)`` of those from number `begin` on, as text; of namespaces None, and of
        what is no text, its bytes.

        A name is ``key``, ``key^word`` or ``[place]``, behind ``namespace^`` where there is one.
        """
    def columns(self, begin: int, bits: int, chain: bool) -> NDArray[np.int64]:
        """Columns of 2^bits by VW's hash, of the names from number `begin` on."""

class Rounds:
    """The rounds of a file. The arrays of a piece: actions and shared (numbers of names) with
    action_values and shared_values, row_ends (pairs), round_ends (rows), shared_ends (pairs),
    chosen, costs, probabilities.

    `text`: whether the file is cb_adf text; None: it is unless it begins with a brace.
    """

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
    def advance(self) -> bool:
        """Reads the next piece; False where there is none. A bad line is a `ValueError`."""
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
    def left_out(self) -> dict[str, int]:
        """How many rounds had no decision, were not to be learned from, had no label."""

class Lines:
    """Rows of a file, a line each: features by name, and what stands in front of them. The arrays
    of a piece: names (numbers), values, row_ends (pairs), lines (numbers of lines).

    `bare`: a line is ``label name:value ...``; else VW's ``... |namespace name:value ...``.
    """

    def __init__(
        self, file: Any, name: str, names: Names, bare: bool, piece: int = ...
    ) -> None: ...
    def advance(self) -> bool:
        """Reads the next piece; False where there is none. A bad line is a `ValueError`."""
    def heads(self) -> list[tuple[bytes, bool]]:
        """``(text, touches)`` of each row: its head as bytes, and whether a | touches it."""
    names: NDArray[np.int32]
    values: NDArray[np.float64]
    row_ends: NDArray[np.int64]
    lines: NDArray[np.int64]

def number_columns(
    names: NDArray[np.int32], alias: NDArray[np.int32], column: NDArray[np.int32], order: list[int]
) -> None:
    """Turns numbers of names into columns, in place: those of ``column``, where a name has none
    yet (-1) the next one. `order` gets the names that were given one.
    """
