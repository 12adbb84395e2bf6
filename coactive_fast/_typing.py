"""The types that the annotations of more than one module name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:  # not needed to run
    from typing_extensions import Self as Self
else:
    Self = Any


class Readable(Protocol):
    """A binary file object."""

    def readinto(self, buffer: Any, /) -> int | None: ...


class Sparse(Protocol):
    """A scipy.sparse matrix or array of any format, without asking for scipy."""

    @property
    def nnz(self) -> int: ...
    @property
    def shape(self) -> Sequence[int]: ...
    def tocsr(self) -> Any: ...
    def toarray(self) -> Any: ...


class Scales(Protocol):
    """What `losses` take for a scaling."""

    def transform(self, X: Any) -> Any: ...


class Feasible(Protocol):
    """What a learner asks of its feasible set."""

    def contains(self, x: Any, /) -> Any: ...
    def center(self, dimension: Any, /) -> Any: ...
    def in_radius(self, dimension: Any, /) -> Any: ...
    def diameter(self, dimension: Any, /) -> Any: ...
    def affine_dimension(self, dimension: Any, /) -> Any: ...
    def shrunk(self, gamma: Any, dimension: Any, /) -> Any: ...
    def project(self, z: Any, /) -> Any: ...
    def project_in(self, z: Any, Ainv: Any, /) -> Any: ...
    def direction(self, rng: Any, dimension: Any, /) -> Any: ...


class Values(Protocol):
    """What a learner asks of its losses; one that is told gradients also ``gradient(t, x)``."""

    def value(self, t: Any, x: Any, /) -> Any: ...


Real: TypeAlias = float | np.floating[Any] | np.integer[Any]
Whole: TypeAlias = int | np.integer[Any]
Vector: TypeAlias = NDArray[np.float64]
RowsLike: TypeAlias = ArrayLike | Sparse
Precision: TypeAlias = Literal["auto", "fast", "robust"]
Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Source: TypeAlias = Path | Readable
# what `numpy.random.default_rng` takes
Seed: TypeAlias = (ArrayLike | np.random.SeedSequence | np.random.BitGenerator
                   | np.random.Generator | None)
Kernel: TypeAlias = Literal["linear", "rbf", "poly"] | Callable[..., Real]
Progress: TypeAlias = Callable[[int, int], object] | bool | None
