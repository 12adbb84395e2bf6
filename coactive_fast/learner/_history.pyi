from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas
from matplotlib.axes import Axes
from numpy.typing import NDArray

__all__ = ["CoactiveHistory", "History"]

class History:
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __post_init__(self) -> None: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object) -> bool: ...
    def to_dict(self) -> dict[str, NDArray[Any]]: ...
    def to_dataframe(self) -> pandas.DataFrame: ...
    def plot(self, ax: Axes | None = None, *, log_x: bool = False, **line: Any) -> Axes: ...

@dataclass(frozen=True, eq=False, repr=False)
class CoactiveHistory(History):
    regret: NDArray[np.float64]
    utility: NDArray[np.float64]
    optimal_utility: NDArray[np.float64]
    regret_per_user: NDArray[np.float64] | None = None
    @property
    def cumulative_regret(self) -> NDArray[np.float64]: ...
    @property
    def average_regret(self) -> NDArray[np.float64]: ...
