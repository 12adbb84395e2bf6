from dataclasses import dataclass
from typing import SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..metric._rows import _Row, _Vector

# What numpy.random.default_rng takes.
_Seed: TypeAlias = (
    ArrayLike | np.random.SeedSequence | np.random.BitGenerator | np.random.Generator | None
)
_Labels: TypeAlias = NDArray[np.intp]

@dataclass(frozen=True, eq=False)
class MulticlassHistory:
    mistakes: NDArray[np.bool_]
    explored: NDArray[np.bool_]
    choices: _Labels

class MulticlassLearner:
    n_classes: int
    rounds: int
    def __init__(self, n_classes: SupportsIndex, seed: _Seed = None) -> None: ...
    def reset(self) -> None: ...
    def add_class(self) -> int: ...
    def choose(self, x: _Row) -> int: ...
    def decision_function(self, X: _Row) -> _Vector: ...
    def predict(self, X: _Row) -> _Labels: ...
    def run(self, X: _Row, y: ArrayLike) -> MulticlassHistory: ...
    @property
    def weights(self) -> _Vector: ...
