from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, SupportsIndex, TypeAlias, type_check_only

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..metric._rows import _Real, _Vector
from .convex_sets import Feasible

_Seed: TypeAlias = (
    int | ArrayLike | np.random.SeedSequence | np.random.BitGenerator | np.random.Generator | None
)

@type_check_only
class _Values(Protocol):
    def value(self, t: Any, x: Any, /) -> Any: ...

@type_check_only
class _Gradients(_Values, Protocol):
    def gradient(self, t: Any, x: Any, /) -> Any: ...

@dataclass(frozen=True)
class ConvexHistory:
    loss: _Vector
    mistakes: NDArray[np.bool_] | None = None
    scaling: dict[str, Any] | None = None
    def __len__(self) -> int: ...
    @property
    def average_loss(self) -> _Vector: ...
    @property
    def average_return(self) -> _Vector: ...
    @property
    def error_rate(self) -> _Vector | None: ...

class Learner:
    dimension: int
    feasible: Feasible
    def __init__(self, dimension: SupportsIndex, feasible: Feasible) -> None: ...
    @property
    def rounds(self) -> int: ...
    @property
    def center(self) -> _Vector: ...
    def reset(self) -> None: ...
    def run(self, losses: Any, rounds: SupportsIndex) -> ConvexHistory: ...

class Bandit(Learner):
    loss_bound: float
    baseline: bool
    def __init__(
        self,
        dimension: SupportsIndex,
        feasible: Feasible,
        loss_bound: _Real,
        baseline: bool,
        seed: _Seed,
    ) -> None: ...
    def ask(self) -> _Vector: ...
    def ask_pair(self) -> tuple[_Vector, _Vector]: ...
    def tell(self, loss: _Real) -> None: ...
    def tell_pair(self, plus: _Real, minus: _Real) -> None: ...
    def run(
        self, losses: _Values | Callable[[int, _Vector], _Real], rounds: SupportsIndex
    ) -> ConvexHistory: ...

class FullInformation(Learner):
    def ask(self) -> _Vector: ...
    def tell(self, gradient: ArrayLike) -> None: ...
    def run(self, losses: _Gradients, rounds: SupportsIndex) -> ConvexHistory: ...
