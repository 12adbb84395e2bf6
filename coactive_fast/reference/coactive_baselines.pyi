from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from ..metric._rows import _Real
from .coactive_learner import DeltaLearner, Learner
from .coactive_tasks import Items, Ranking
from .multiclass_shell import _Seed

class DuelingBandit(Learner):
    explore: float
    step: float
    rng: np.random.Generator
    def __init__(
        self,
        task: Ranking | Items,
        *,
        explore: _Real = 1.0,
        step: _Real = 0.01,
        seed: _Seed = None,
    ) -> None: ...
    def present(self, x: Any, *, k: SupportsIndex | None = None) -> NDArray[np.intp]: ...
    def learn(self, x: Any, y: Any, better: Any) -> None: ...

class RankingSVM(DeltaLearner): ...
