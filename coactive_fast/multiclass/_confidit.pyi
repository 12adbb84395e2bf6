from collections.abc import Callable, Mapping
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from ._calls import ToldRightOrWrong
from ._learners import MulticlassLearner, _Real, _Spread

COVARIANCES: tuple[str, ...]

class Confidit(_Spread, MulticlassLearner, ToldRightOrWrong):
    def __init__(
        self,
        n_classes: SupportsIndex,
        *,
        covariance: Literal["diagonal", "full", "kernel"] = "diagonal",
        confidence: Literal["constant", "theory"] = "constant",
        eta: _Real = 1.0,
        alpha: _Real = 1.0,
        projection: bool = False,
        norm_bound: _Real = 1.0,
        delta: _Real = 0.05,
        approximation_error: _Real = 0.0,
        diagonal_step: Literal["residual", "printed"] = "residual",
        normalize: bool = False,
        kernel: Literal["linear", "rbf", "poly"] | Callable[..., _Real] = "linear",
        kernel_params: Mapping[str, Any] | None = None,
        max_features: SupportsIndex | None = None,
        seed: Any = None,
    ) -> None: ...
    def inverse(self, i: SupportsIndex) -> NDArray[np.float64]: ...
    def health(self) -> dict[str, NDArray[Any]]: ...
    @property
    def weights(self) -> NDArray[np.float64]: ...
