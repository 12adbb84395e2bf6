from collections.abc import Set
from typing import Any, Protocol, SupportsIndex, TypeVar, type_check_only

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Self

from ..metric._rows import _Real, _Vector
from .multiclass_shell import _Seed

__all__ = [
    "AlphaInformative",
    "Better",
    "Best",
    "ExpectedAlphaInformative",
    "NoisyDepth",
    "feedback_from_clicks",
]

@type_check_only
class _User(Protocol):
    def respond(self, query: Any, presented: Any, /) -> Any: ...

_Employed = TypeVar("_Employed", bound=_User)

class AlphaInformative:
    alpha: float
    weights: _Vector | None
    k: int
    def __init__(
        self, alpha: _Real, *, weights: ArrayLike | None = None, k: SupportsIndex = 5
    ) -> None: ...
    def respond(self, query: Any, presented: Any) -> Any: ...

class NoisyDepth:
    depth: int
    k: int
    def __init__(self, depth: SupportsIndex, *, k: SupportsIndex = 5) -> None: ...
    def respond(self, query: Any, presented: ArrayLike) -> NDArray[np.intp]: ...

class ExpectedAlphaInformative:
    alpha: float
    weights: _Vector | None
    base_alpha: float | None
    k: int
    rng: np.random.Generator
    def __init__(
        self,
        alpha: _Real,
        *,
        weights: ArrayLike | None = None,
        base_alpha: _Real | None = None,
        k: SupportsIndex = 5,
        seed: _Seed = None,
    ) -> None: ...
    def reset(self) -> Self: ...
    def respond(self, query: Any, presented: Any) -> Any: ...

class _Rater:
    rng: np.random.Generator
    def __init__(self, *, seed: _Seed = None) -> None: ...
    def reset(self) -> Self: ...
    def respond(self, query: Any, presented: Any) -> int: ...

class Better(_Rater): ...
class Best(_Rater): ...

def feedback_from_clicks(
    presented: ArrayLike, clicked: ArrayLike | Set[int]
) -> NDArray[np.intp]: ...
def least_walk(
    utilities: _Vector, presented: NDArray[np.intp], alpha: float, k: int
) -> NDArray[np.intp]: ...
def least_item(
    candidates: NDArray[np.intp], utilities: _Vector, item: int, alpha: float
) -> int: ...
def at_work(user: _Employed, k: int | None, weights: _Vector | None, seed: _Seed) -> _Employed: ...
