from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..learner import History

@dataclass(frozen=True, eq=False, repr=False)
class FilteringHistory(History):
    forwarded: NDArray[np.bool_]
    margins: NDArray[np.float64]
    relevant: NDArray[np.bool_]
    regret: NDArray[np.float64] | None = None
    @property
    def mistakes(self) -> NDArray[np.bool_]: ...
    @property
    def cumulative_regret(self) -> NDArray[np.float64]: ...
    @property
    def running_f_measure(self) -> NDArray[np.float64]: ...
    @property
    def precision(self) -> float: ...
    @property
    def recall(self) -> float: ...
    @property
    def f_measure(self) -> float: ...

def history_of(
    forwarded: NDArray[np.bool_],
    margins: NDArray[np.float64],
    relevant: NDArray[np.bool_],
    projection: NDArray[np.float64] | None = None,
) -> FilteringHistory: ...
