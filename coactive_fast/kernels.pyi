from typing import Any, Literal, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "exp",
    "exponentiated_weights",
    "inverse_update",
    "log",
    "project_ball",
    "project_box",
    "project_l1",
    "project_scores",
    "project_simplex",
    "rank",
    "ranking_features",
    "top_k",
]

_Real: TypeAlias = float | np.floating[Any] | np.integer[Any]

def top_k(scores: ArrayLike, k: SupportsIndex) -> NDArray[np.intp]: ...
def rank(X: ArrayLike, w: ArrayLike, k: SupportsIndex) -> NDArray[np.intp]: ...
def ranking_features(
    X: ArrayLike, ranking: ArrayLike, *, k: SupportsIndex = 5
) -> NDArray[np.float64]: ...
def inverse_update(
    Ainv: NDArray[np.float64],
    x: ArrayLike,
    *,
    c: _Real = 1.0,
    triangle: Literal["both", "lower"] = "both",
) -> float: ...
def project_scores(
    z: ArrayLike, q: ArrayLike, total: _Real
) -> tuple[NDArray[np.float64], float]: ...
def project_ball(
    z: ArrayLike, Ainv: ArrayLike, radius: _Real
) -> tuple[NDArray[np.float64], float]: ...
def project_simplex(
    z: ArrayLike, Ainv: ArrayLike, *, total: _Real = 1.0
) -> NDArray[np.float64]: ...
def project_l1(z: ArrayLike, Ainv: ArrayLike, radius: _Real) -> NDArray[np.float64]: ...
def project_box(
    z: ArrayLike, Ainv: ArrayLike, lower: ArrayLike, upper: ArrayLike
) -> NDArray[np.float64]: ...
def exponentiated_weights(theta: ArrayLike, *, both_signs: bool = True) -> NDArray[np.float64]: ...
def exp(x: ArrayLike) -> NDArray[np.float64]: ...
def log(x: ArrayLike) -> NDArray[np.float64]: ...
