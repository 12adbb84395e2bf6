from typing import Any, Protocol, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .metric._rows import _Row

__all__ = ["Logistic", "PortfolioReturn", "Squared"]

COMPILED: tuple[type, ...]

class _Scaling(Protocol):
    def transform(self, X: Any) -> Any: ...

class _Loss:
    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def Z(self) -> NDArray[np.float64]: ...
    @property
    def y(self) -> NDArray[np.float64]: ...
    @property
    def scaling(self) -> dict[str, Any] | None: ...
    @property
    def dimension(self) -> int: ...
    @property
    def classifies(self) -> bool: ...
    def value(self, t: SupportsIndex, x: ArrayLike) -> float: ...
    def gradient(self, t: SupportsIndex, x: ArrayLike) -> NDArray[np.float64]: ...
    def mistake(self, t: SupportsIndex, x: ArrayLike) -> bool: ...

class Squared(_Loss):
    def __init__(
        self,
        Z: _Row,
        y: ArrayLike,
        *,
        Z_scaling: _Scaling | None = None,
        y_scaling: _Scaling | None = None,
    ) -> None: ...

class Logistic(_Loss):
    def __init__(
        self, Z: _Row, y: ArrayLike, *, Z_scaling: _Scaling | None = None
    ) -> None: ...

class PortfolioReturn(_Loss):
    def __init__(self, Z: _Row, *, Z_scaling: _Scaling | None = None) -> None: ...
