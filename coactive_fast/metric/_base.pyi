# The names with an underscore are there for the stubs of the metrics only, not at run time.
from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias, TypedDict, type_check_only

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import Self

from .._typing import Real, Sparse, Vector

_Sparse: TypeAlias = Sparse
_Real: TypeAlias = Real
_Pair: TypeAlias = tuple[ArrayLike, ArrayLike]
_Row: TypeAlias = ArrayLike | _Sparse | _Pair
_Seed: TypeAlias = (
    int
    | Sequence[int]
    | np.random.SeedSequence
    | np.random.BitGenerator
    | np.random.Generator
    | None
)
_Vector: TypeAlias = Vector

class Metric:
    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self: ...
    def copy(self) -> Self: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

_Precision: TypeAlias = Literal["auto", "fast", "robust"]

@type_check_only
class _Health(TypedDict):
    precision: Literal["fast", "robust"]
    updates: int
    probes: int
    renewals: int
    repairs: int
    failed: int
    last_residual: float
    worst_residual: float
    residual: float

class Entries(Metric):
    def merge(self, other: Self) -> None: ...
    def sample(self, size: SupportsIndex, rng: _Seed) -> Vector: ...

class Stored(Entries):
    @property
    def n(self) -> int: ...
    @property
    def ridge(self) -> float: ...
    @property
    def precision(self) -> _Precision: ...
    @property
    def updates(self) -> int: ...
    def health(self) -> _Health: ...
    def state(self) -> dict[str, Any]: ...
