from collections.abc import Callable
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Real: TypeAlias = float | np.floating[Any] | np.integer[Any]
_Whole: TypeAlias = int | np.integer[Any]
_Gain: TypeAlias = Literal["linear", "exponential"]

__all__ = ["convex_regret", "dcg", "ndcg"]

@overload
def dcg(
    relevance: ArrayLike,
    ranking: ArrayLike,
    *,
    k: _Whole = 5,
    gain: _Gain = "linear",
    offsets: None = None,
) -> float: ...
@overload
def dcg(
    relevance: ArrayLike,
    ranking: ArrayLike,
    *,
    k: _Whole = 5,
    gain: _Gain = "linear",
    offsets: ArrayLike,
) -> NDArray[np.float64]: ...
@overload
def ndcg(
    relevance: ArrayLike,
    ranking: ArrayLike,
    *,
    k: _Whole = 5,
    gain: _Gain = "linear",
    empty: _Real = 0.0,
    offsets: None = None,
) -> float: ...
@overload
def ndcg(
    relevance: ArrayLike,
    ranking: ArrayLike,
    *,
    k: _Whole = 5,
    gain: _Gain = "linear",
    empty: _Real = 0.0,
    offsets: ArrayLike,
) -> NDArray[np.float64]: ...
def convex_regret(
    utility: ArrayLike, optimal_utility: ArrayLike, loss: Callable[[Any], Any]
) -> float: ...
