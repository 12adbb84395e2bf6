from collections.abc import Callable
from typing import Any, Protocol, SupportsIndex, TypeAlias, type_check_only

import numpy as np
from numpy.typing import ArrayLike

from ..learner import Learner
from ._history import ConvexHistory
from ._sets import Feasible, _Real, _Vector

_Progress: TypeAlias = Callable[[int, int], object] | bool | None
_Seed: TypeAlias = (
    int | ArrayLike | np.random.SeedSequence | np.random.BitGenerator | np.random.Generator | None
)

@type_check_only
class _Values(Protocol):
    def value(self, t: Any, x: Any, /) -> Any: ...

@type_check_only
class _Gradients(_Values, Protocol):
    def gradient(self, t: Any, x: Any, /) -> Any: ...

def constant(name: str, text: str) -> property: ...

class Place:
    n: int
    feasible: Feasible
    D: float
    origin: _Vector
    def __init__(self, dimension: SupportsIndex, feasible: Feasible) -> None: ...
    def region(self) -> Any: ...
    def shrunk(self, gamma: float) -> Any: ...

class ConvexLearner(Learner):
    last_history: ConvexHistory | None
    dimension: int
    @property
    def center(self) -> _Vector: ...
    @property
    def rounds(self) -> int: ...
    def ask(self) -> _Vector: ...
    def run(
        self, losses: Any, rounds: SupportsIndex, *, progress: _Progress = None
    ) -> ConvexHistory: ...

class GradientLearner(ConvexLearner):
    feasible: Feasible
    def tell(self, gradient: ArrayLike) -> None: ...
    def run(
        self, losses: _Gradients, rounds: SupportsIndex, *, progress: _Progress = None
    ) -> ConvexHistory: ...

class BanditLearner(ConvexLearner):
    loss_bound: float
    seed: _Seed
    def ask_pair(self) -> tuple[_Vector, _Vector]: ...
    def tell(self, loss: _Real) -> None: ...
    def tell_pair(self, plus: _Real, minus: _Real) -> None: ...
    def run(
        self,
        losses: _Values | Callable[[int, _Vector], _Real],
        rounds: SupportsIndex,
        *,
        progress: _Progress = None,
    ) -> ConvexHistory: ...
