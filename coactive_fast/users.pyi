from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .coactive._learners import _Real
from .coactive._user import ChanceUser, User

__all__ = [
    "AlphaInformative",
    "Best",
    "Better",
    "ExpectedAlphaInformative",
    "NoisyDepth",
    "feedback_from_clicks",
]

class AlphaInformative(User):
    alpha: float
    weights: NDArray[np.float64] | None
    k: int
    def __init__(
        self, alpha: _Real, *, weights: ArrayLike | None = None, k: SupportsIndex = 5
    ) -> None: ...

class NoisyDepth(User):
    depth: int
    k: int
    def __init__(self, depth: SupportsIndex, *, k: SupportsIndex = 5) -> None: ...

class ExpectedAlphaInformative(ChanceUser):
    alpha: float
    weights: NDArray[np.float64] | None
    base_alpha: float | None
    k: int
    def __init__(
        self,
        alpha: _Real,
        *,
        weights: ArrayLike | None = None,
        base_alpha: _Real | None = None,
        k: SupportsIndex = 5,
        seed: Any = None,
    ) -> None: ...

class Better(ChanceUser):
    def __init__(self, *, seed: Any = None) -> None: ...

class Best(ChanceUser):
    def __init__(self, *, seed: Any = None) -> None: ...

def feedback_from_clicks(
    presented: Sequence[int] | NDArray[Any], clicked: Iterable[int] | NDArray[Any]
) -> NDArray[np.intp]: ...
