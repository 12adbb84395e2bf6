from collections.abc import Callable
from typing import Any, Literal, SupportsIndex

from numpy.typing import ArrayLike

from ..metric._rows import _Real

__all__ = ["convex_regret", "dcg", "ndcg"]

def dcg(
    relevance: ArrayLike,
    ranking: ArrayLike,
    *,
    k: SupportsIndex = 5,
    gain: Literal["linear", "exponential"] = "linear",
    offsets: ArrayLike | None = None,
) -> Any: ...
def ndcg(
    relevance: ArrayLike,
    ranking: ArrayLike,
    *,
    k: SupportsIndex = 5,
    gain: Literal["linear", "exponential"] = "linear",
    empty: _Real = 0.0,
    offsets: ArrayLike | None = None,
) -> Any: ...
def convex_regret(
    utility: ArrayLike, optimal_utility: ArrayLike, loss: Callable[[float], _Real]
) -> float: ...
