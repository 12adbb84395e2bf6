from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..learner import History

@dataclass(frozen=True, eq=False, repr=False)
class MulticlassHistory(History):
    mistakes: NDArray[np.bool_]
    explored: NDArray[np.bool_]
    choices: NDArray[np.intp]
    @property
    def cumulative_mistakes(self) -> NDArray[np.intp]: ...
    @property
    def error_rate(self) -> NDArray[np.float64]: ...
