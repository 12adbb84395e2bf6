from collections.abc import Callable
from typing import Any, Literal, SupportsIndex

from numpy.typing import ArrayLike

from ..metric._rows import _Real
from .coactive_learner import DeltaLearner
from .coactive_tasks import _Task

OUTSIDE: float

class PreferencePerceptron(DeltaLearner):
    batch: int
    def __init__(self, task: _Task, *, batch: SupportsIndex = 1) -> None: ...

class ExponentiatedPreferencePerceptron(DeltaLearner):
    scale: float
    horizon: int | None
    signed: bool
    def __init__(
        self,
        task: _Task,
        *,
        scale: _Real = 1.0,
        horizon: SupportsIndex | None = None,
        signed: bool = True,
    ) -> None: ...

class ConvexPreferencePerceptron(DeltaLearner):
    radius: float
    slope: float
    def __init__(self, task: _Task, *, radius: _Real = 100.0, slope: _Real = 1.0) -> None: ...

class SecondOrderPreferencePerceptron(DeltaLearner):
    radius: float
    gamma: float
    epsilon: float
    projection: Literal["exact", "deferred"]
    def __init__(
        self,
        task: _Task,
        *,
        radius: _Real = 100.0,
        gamma: _Real = 1.0,
        epsilon: _Real = 1.0,
        projection: Literal["exact", "deferred"] = "exact",
    ) -> None: ...

class CustomPreferencePerceptron(DeltaLearner):
    rule: Callable[[Any, Any], ArrayLike]
    def __init__(self, task: _Task, rule: Callable[[Any, Any], ArrayLike]) -> None: ...
