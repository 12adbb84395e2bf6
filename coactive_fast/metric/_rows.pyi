# The names with an underscore are what the stubs of the metrics share; at run time there is only
# SparseRow.
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, type_check_only

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
