from collections.abc import Callable, Mapping
from typing import Any, Literal, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..learner import Learner
from ._history import FilteringHistory

COVARIANCES: tuple[str, ...]
FEEDBACK: tuple[str, ...]

_Real: TypeAlias = float | np.floating[Any] | np.integer[Any]
_Row: TypeAlias = ArrayLike | Any  # or a scipy.sparse row
_Feedback: TypeAlias = Literal["forwarded", "full"]
_Kernel: TypeAlias = Literal["linear", "rbf", "poly"] | Callable[..., _Real]
_Progress: TypeAlias = bool | Callable[[int, int], object] | None

class Filter(Learner):
    last_history: FilteringHistory | None
    def forward(self, x: _Row) -> bool: ...
    def learn(self, x: _Row, relevant: bool | np.bool_) -> None: ...
    def margin(self, x: _Row) -> float: ...
    @property
    def threshold(self) -> float: ...
    @property
    def rounds(self) -> int: ...
    @property
    def learned(self) -> int: ...
    def run(
        self,
        X: _Row,
        y: ArrayLike,
        *,
        u: ArrayLike | None = None,
        progress: _Progress = None,
    ) -> FilteringHistory: ...

class SimpleFilter(Filter):
    def __init__(self) -> None: ...

class RidgeFilter(Filter):
    def __init__(
        self,
        *,
        threshold_scale: _Real = 5.0,
        covariance: Literal["full", "diagonal", "kernel"] = "full",
        feedback: _Feedback = "forwarded",
        forget: _Real = 1.0,
        window: SupportsIndex | None = None,
        rule: Literal["paper", "ucb"] = "paper",
        delta: _Real = 0.05,
        kernel: _Kernel = "linear",
        kernel_params: Mapping[str, Any] | None = None,
        budget: SupportsIndex | None = None,
        tolerance: _Real = 1e-2,
    ) -> None: ...
    @property
    def approximation_error(self) -> float: ...

class ProbabilisticRidgeFilter(Filter):
    def __init__(
        self,
        *,
        a: _Real = 1.0,
        explore: _Real | None = None,
        horizon: SupportsIndex | None = None,
        covariance: Literal["full", "diagonal"] = "full",
        seed: Any = None,
    ) -> None: ...

class PerceptronFilter(Filter):
    def __init__(self, *, feedback: _Feedback = "full") -> None: ...
