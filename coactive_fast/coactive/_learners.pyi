from collections.abc import Callable
from typing import Any, Literal, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..learner import CoactiveHistory, Learner

_Real: TypeAlias = float | np.floating[Any] | np.integer[Any]
_Vector: TypeAlias = NDArray[np.float64]

class CoactiveLearner(Learner):
    last_history: CoactiveHistory | None
    task: Any
    def present(self, x: Any, *, k: SupportsIndex | None = None) -> Any: ...
    def learn(self, x: Any, y: Any, better: Any) -> None: ...
    def update(self, delta: ArrayLike) -> None: ...
    def scores(self, x: Any) -> _Vector: ...
    @property
    def weights(self) -> _Vector: ...
    @property
    def average_weights(self) -> _Vector: ...
    @property
    def rounds(self) -> int: ...

class PreferencePerceptron(CoactiveLearner):
    def __init__(self, task: Any, *, batch: SupportsIndex = 1) -> None: ...

class ExponentiatedPreferencePerceptron(CoactiveLearner):
    def __init__(
        self,
        task: Any,
        *,
        scale: _Real = 1.0,
        horizon: SupportsIndex | None = None,
        signed: bool = True,
    ) -> None: ...

class ConvexPreferencePerceptron(CoactiveLearner):
    def __init__(self, task: Any, *, radius: _Real = 100.0, slope: _Real = 1.0) -> None: ...

class SecondOrderPreferencePerceptron(CoactiveLearner):
    def __init__(
        self,
        task: Any,
        *,
        radius: _Real = 100.0,
        gamma: _Real = 1.0,
        epsilon: _Real = 1.0,
        projection: Literal["exact", "deferred"] = "exact",
    ) -> None: ...

class CustomPreferencePerceptron(CoactiveLearner):
    def __init__(self, task: Any, rule: Callable[[Any, _Vector], ArrayLike]) -> None: ...
