# The names with an underscore are there for the stubs of the metrics only, not at run time.
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, type_check_only

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Self

@type_check_only
class _Sparse(Protocol):
    """A scipy.sparse matrix or array, without asking for scipy."""

    @property
    def nnz(self) -> int: ...
    @property
    def shape(self) -> Sequence[int]: ...
    def tocsr(self) -> Any: ...
    def toarray(self) -> Any: ...

_Real: TypeAlias = float | np.floating[Any] | np.integer[Any]
_Row: TypeAlias = ArrayLike | _Sparse
_Vector: TypeAlias = NDArray[np.float64]

class SparseRow: ...

class Metric:
    def copy(self) -> Self: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
