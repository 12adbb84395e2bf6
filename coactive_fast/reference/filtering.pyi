from collections.abc import Mapping
from typing import Any, Literal, Protocol, SupportsIndex, type_check_only

import numpy as np

from ..metric._dual import _Kernel
from ..metric._rows import _Real
from .filtering_shell import Filter, _Feedback
from .multiclass_shell import _Seed

@type_check_only
class _Classifier(Protocol):
    def margin(self, x: Any, /) -> float: ...
    def learn(self, x: Any, relevant: Any, /) -> Any: ...

class SimpleFilter(Filter):
    def __init__(self) -> None: ...
    @property
    def threshold(self) -> float: ...

class RidgeFilter(Filter):
    threshold_scale: float
    covariance: Literal["full", "diagonal", "kernel"]
    forget: float
    window: int | None
    rule: Literal["paper", "ucb"]
    delta: float
    kernel: _Kernel
    kernel_params: Mapping[str, Any] | None
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
    ) -> None: ...
    @property
    def threshold(self) -> float: ...

class ProbabilisticRidgeFilter(Filter):
    a: float
    explore: _Real | None
    horizon: SupportsIndex | None
    covariance: Literal["full", "diagonal"]
    def __init__(
        self,
        *,
        a: _Real = 1.0,
        explore: _Real | None = None,
        horizon: SupportsIndex | None = None,
        covariance: Literal["full", "diagonal"] = "full",
        seed: _Seed = None,
    ) -> None: ...

class PerceptronFilter(Filter):
    def __init__(self, *, feedback: _Feedback = "full") -> None: ...

class AppleTasting(Filter):
    classifier: Any
    explore: float
    def __init__(self, classifier: _Classifier, explore: _Real, *, seed: _Seed = None) -> None: ...
    def margin(self, x: Any) -> float: ...
    def forward(self, x: Any) -> bool: ...
    def learn(self, x: Any, relevant: bool | np.bool_) -> None: ...
