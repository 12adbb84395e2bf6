from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..metric._rows import _Row, _Vector
from .multiclass_shell import _Seed

_Feedback: TypeAlias = Literal["forwarded", "full"]

@dataclass(frozen=True, eq=False)
class FilteringHistory:
    forwarded: NDArray[np.bool_]
    margins: _Vector
    relevant: NDArray[np.bool_]
    @property
    def precision(self) -> float: ...
    @property
    def recall(self) -> float: ...
    @property
    def f_measure(self) -> float: ...

class Filter:
    rounds: int
    learned: int
    feedback: _Feedback
    def __init__(self, seed: _Seed = None) -> None: ...
    def reset(self) -> None: ...
    def margin(self, x: _Row) -> float: ...
    @property
    def threshold(self) -> float: ...
    def forward(self, x: _Row) -> bool: ...
    def learn(self, x: _Row, relevant: bool | np.bool_) -> None: ...
    def run(self, X: _Row, y: ArrayLike) -> FilteringHistory: ...
