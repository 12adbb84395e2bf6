from typing import SupportsIndex, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import Real, RowsLike
from ._catalogue import Catalogue

class RegressionCalls:
    def learn(self, x: RowsLike, y: Real, *, weight: Real = 1.0) -> None: ...

class LinearCalls:
    @overload
    def choose(self, X: RowsLike | Catalogue, *, allowed: ArrayLike | None = None, k: None = None,
               context: ArrayLike | None = None) -> int: ...
    @overload
    def choose(self, X: RowsLike | Catalogue, *, allowed: ArrayLike | None = None, k: SupportsIndex,
               context: ArrayLike | None = None) -> NDArray[np.intp]: ...
    def learn(self, x: RowsLike, reward: Real, *, weight: Real = 1.0,
              context: ArrayLike | None = None) -> None: ...

class ArmCalls:
    @overload
    def choose(self, x: RowsLike, *, allowed: ArrayLike | None = None,
               k: None = None) -> int: ...
    @overload
    def choose(self, x: RowsLike, *, allowed: ArrayLike | None = None,
               k: SupportsIndex) -> NDArray[np.intp]: ...
    def learn(self, x: RowsLike, arm: SupportsIndex, reward: Real, *,
              weight: Real = 1.0) -> None: ...
