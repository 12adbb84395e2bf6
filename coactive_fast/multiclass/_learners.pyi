from collections.abc import Callable
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..learner import Learner
from ._calls import ToldRightOrWrong, ToldTheLabel
from ._history import MulticlassHistory

_Real: TypeAlias = float | np.floating[Any] | np.integer[Any]
_Rows: TypeAlias = ArrayLike | Any  # or a scipy.sparse matrix
_Vector: TypeAlias = NDArray[np.float64]

class MulticlassLearner(Learner):
    last_history: MulticlassHistory | None
    def decision_function(self, X: _Rows) -> _Vector: ...
    def predict(self, X: _Rows) -> NDArray[np.intp]: ...
    def run(
        self,
        X: _Rows,
        y: ArrayLike,
        *,
        epochs: SupportsIndex = 1,
        label_noise: _Real = 0.0,
        noise_seed: Any = None,
        progress: bool | Callable[[int, int], object] | None = None,
    ) -> MulticlassHistory: ...
    def add_class(self) -> int: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def rounds(self) -> int: ...
    @property
    def weights(self) -> _Vector: ...

class Banditron(MulticlassLearner, ToldRightOrWrong):
    def __init__(
        self,
        n_classes: SupportsIndex,
        *,
        gamma: _Real = 0.05,
        max_features: SupportsIndex | None = None,
        seed: Any = None,
    ) -> None: ...

class MulticlassPerceptron(MulticlassLearner, ToldTheLabel):
    def __init__(
        self, n_classes: SupportsIndex, *, max_features: SupportsIndex | None = None
    ) -> None: ...

class _Spread:
    def inverse(self, i: SupportsIndex) -> _Vector: ...
    def information(self) -> _Vector: ...

class MulticlassSecondOrderPerceptron(_Spread, MulticlassLearner, ToldTheLabel):
    def __init__(
        self,
        n_classes: SupportsIndex,
        *,
        a: _Real = 1.0,
        max_features: SupportsIndex | None = None,
    ) -> None: ...

class MulticlassAROW(_Spread, MulticlassLearner, ToldTheLabel):
    def __init__(
        self,
        n_classes: SupportsIndex,
        *,
        r: _Real = 1.0,
        max_features: SupportsIndex | None = None,
    ) -> None: ...
