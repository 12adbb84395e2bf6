from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._learners import CoactiveLearner, _Real
from ._tasks import Items, Ranking

class DuelingBandit(CoactiveLearner):
    def __init__(
        self,
        task: Ranking | Items,
        *,
        explore: _Real = 1.0,
        step: _Real = 0.01,
        seed: Any = None,
    ) -> None: ...
    def present(
        self, x: ArrayLike | None, *, k: SupportsIndex | None = None
    ) -> NDArray[np.intp]: ...
    @property
    def rng(self) -> np.random.Generator: ...
