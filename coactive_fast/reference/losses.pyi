from typing import Any, SupportsIndex

from numpy.typing import ArrayLike

from ..metric._rows import _Vector

class _Rows:
    Z: _Vector
    y: _Vector
    dimension: int
    scaling: dict[str, Any] | None
    def __init__(self, Z: ArrayLike, y: ArrayLike, scalings: dict[str, Any]) -> None: ...
    @property
    def classifies(self) -> bool: ...
    def __len__(self) -> int: ...
    def value(self, t: SupportsIndex, x: ArrayLike) -> float: ...
    def gradient(self, t: SupportsIndex, x: ArrayLike) -> _Vector: ...

class _Labelled(_Rows):
    def mistake(self, t: SupportsIndex, x: ArrayLike) -> bool: ...

class Squared(_Labelled):
    def __init__(
        self, Z: ArrayLike, y: ArrayLike, *, Z_scaling: Any = None, y_scaling: Any = None
    ) -> None: ...

class Logistic(_Labelled):
    def __init__(self, Z: ArrayLike, y: ArrayLike, *, Z_scaling: Any = None) -> None: ...

class PortfolioReturn(_Rows):
    def __init__(self, Z: ArrayLike, *, Z_scaling: Any = None) -> None: ...
