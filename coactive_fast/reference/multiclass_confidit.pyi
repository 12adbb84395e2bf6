from collections.abc import Mapping
from typing import Any, Literal, SupportsIndex

import numpy as np

from ..metric._dual import _Kernel
from ..metric._rows import _Real, _Row, _Vector
from .multiclass_shell import MulticlassLearner, _Seed

class Confidit(MulticlassLearner):
    covariance: Literal["diagonal", "full", "kernel"]
    confidence: Literal["constant", "theory"]
    eta: float
    alpha: float
    projection: bool
    norm_bound: float
    delta: float
    approximation_error: float
    diagonal_step: Literal["residual", "printed"]
    normalize: bool
    kernel: _Kernel
    kernel_params: Mapping[str, Any] | None
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
        kernel: _Kernel = "linear",
        kernel_params: Mapping[str, Any] | None = None,
        seed: _Seed = None,
    ) -> None: ...
    def choose(self, x: _Row) -> int: ...
    def learn(self, x: _Row, label: SupportsIndex, correct: bool | np.bool_) -> None: ...
    def inverse(self, i: SupportsIndex) -> _Vector: ...
    def information(self) -> _Vector: ...
    @property
    def weights(self) -> _Vector: ...
