from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..learner import History

@dataclass(frozen=True, eq=False, repr=False)
class ConvexHistory(History):
    loss: NDArray[np.float64]
    mistakes: NDArray[np.bool_] | None = None
    scaling: dict[str, Any] | None = None
    @property
    def average_loss(self) -> NDArray[np.float64]: ...
    @property
    def average_return(self) -> NDArray[np.float64]: ...
    @property
    def error_rate(self) -> NDArray[np.float64] | None: ...
