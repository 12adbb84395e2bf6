import os
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, overload, type_check_only

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, DTypeLike, NDArray
from typing_extensions import Self

@type_check_only
class _Readable(Protocol):
    """A binary file object."""

    def readinto(self, buffer: Any, /) -> int | None: ...

@type_check_only
class _Sparse(Protocol):
    """A scipy.sparse matrix or array, of any format."""

    @property
    def nnz(self) -> int: ...
    def tocsr(self) -> Any: ...

_Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_Source: TypeAlias = _Path | _Readable
_Real: TypeAlias = float | np.floating[Any] | np.integer[Any]
_Whole: TypeAlias = int | np.integer[Any]
_Seed: TypeAlias = Any
_Floats: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
_Ratings: TypeAlias = _Sparse | ArrayLike
_ZeroBased: TypeAlias = bool | Literal["auto"]
_Yes: TypeAlias = Literal[True]
_No: TypeAlias = Literal[False]
_Rows: TypeAlias = scipy.sparse.csr_matrix
_Reals: TypeAlias = NDArray[np.float64]
_Wholes: TypeAlias = NDArray[np.int64]
_Progress: TypeAlias = Callable[[int, int], object] | bool | None

__all__ = [
    "ItemData",
    "MulticlassData",
    "Prices",
    "Query",
    "RankingData",
    "Scaling",
    "factorize",
    "fit_user_weights",
    "load_movielens",
    "load_prices",
    "load_svmlight",
    "make_items",
    "make_multiclass",
    "make_ranking",
    "minmax",
    "standardize",
]

class Query:
    features: _Floats
    relevance: NDArray[np.float64]
    index: int
    def __init__(
        self, features: _Floats, relevance: NDArray[np.float64], index: int
    ) -> None: ...
    def __len__(self) -> int: ...

class RankingData:
    def __init__(
        self,
        features: ArrayLike,
        relevance: ArrayLike,
        offsets: ArrayLike,
        *,
        query_ids: ArrayLike | None = None,
    ) -> None: ...
    @property
    def features(self) -> _Floats: ...
    @property
    def relevance(self) -> NDArray[np.float64]: ...
    @property
    def offsets(self) -> NDArray[np.int64]: ...
    @property
    def query_ids(self) -> NDArray[np.int64] | None: ...
    @property
    def dimension(self) -> int: ...
    @property
    def n_documents(self) -> int: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    @overload
    def __getitem__(self, index: _Whole) -> Query: ...
    def __iter__(self) -> Iterator[Query]: ...
    def take(self, queries: ArrayLike) -> Self: ...
    def fit_weights(self) -> NDArray[np.float64]: ...
    @classmethod
    def from_svmlight(
        cls,
        path: _Source,
        *,
        n_features: _Whole | None = None,
        dtype: DTypeLike = ...,
        zero_based: _ZeroBased = False,
        group: bool = False,
    ) -> Self: ...
    def save(self, path: _Path) -> None: ...
    @classmethod
    def load(cls, path: _Path, *, mmap: bool = True) -> Self: ...

class ItemData(NamedTuple):
    features: NDArray[np.float64]
    weights: NDArray[np.float64]
    ratings: scipy.sparse.csr_matrix

@overload
def load_svmlight(
    path: _Source, *, n_features: _Whole | None = None,
    zero_based: _ZeroBased = False, dtype: DTypeLike = ...,
    multilabel: _No = False, query_id: _No = False, integer_labels: _No = False,
) -> tuple[_Rows, _Reals]: ...
@overload
def load_svmlight(
    path: _Source, *, n_features: _Whole | None = None,
    zero_based: _ZeroBased = False, dtype: DTypeLike = ...,
    multilabel: _Yes, query_id: _No = False, integer_labels: _No = False,
) -> tuple[_Rows, list[tuple[float, ...]]]: ...
@overload
def load_svmlight(
    path: _Source, *, n_features: _Whole | None = None,
    zero_based: _ZeroBased = False, dtype: DTypeLike = ...,
    multilabel: _No = False, query_id: _Yes, integer_labels: _No = False,
) -> tuple[_Rows, _Reals, _Wholes]: ...
@overload
def load_svmlight(
    path: _Source, *, n_features: _Whole | None = None,
    zero_based: _ZeroBased = False, dtype: DTypeLike = ...,
    multilabel: _Yes, query_id: _Yes, integer_labels: _No = False,
) -> tuple[_Rows, list[tuple[float, ...]], _Wholes]: ...
@overload
def load_svmlight(
    path: _Source, *, n_features: _Whole | None = None,
    zero_based: _ZeroBased = False, dtype: DTypeLike = ...,
    multilabel: _No = False, query_id: _No = False, integer_labels: _Yes,
) -> tuple[_Rows, _Wholes]: ...
@overload
def load_svmlight(
    path: _Source, *, n_features: _Whole | None = None,
    zero_based: _ZeroBased = False, dtype: DTypeLike = ...,
    multilabel: _Yes, query_id: _No = False, integer_labels: _Yes,
) -> tuple[_Rows, list[tuple[int, ...]]]: ...
@overload
def load_svmlight(
    path: _Source, *, n_features: _Whole | None = None,
    zero_based: _ZeroBased = False, dtype: DTypeLike = ...,
    multilabel: _No = False, query_id: _Yes, integer_labels: _Yes,
) -> tuple[_Rows, _Wholes, _Wholes]: ...
@overload
def load_svmlight(
    path: _Source, *, n_features: _Whole | None = None,
    zero_based: _ZeroBased = False, dtype: DTypeLike = ...,
    multilabel: _Yes, query_id: _Yes, integer_labels: _Yes,
) -> tuple[_Rows, list[tuple[int, ...]], _Wholes]: ...
def load_movielens(
    path: _Source, *, dtype: DTypeLike = ...
) -> tuple[scipy.sparse.csr_matrix, NDArray[np.int64], NDArray[np.int64]]: ...
def factorize(
    ratings: _Ratings,
    *,
    rank: _Whole = 50,
    regularization: _Real = 0.1,
    sweeps: _Whole = 15,
    seed: _Seed = 0,
    n_jobs: _Whole = 1,
    progress: _Progress = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def fit_user_weights(ratings: _Ratings, item_features: ArrayLike) -> NDArray[np.float64]: ...
def make_ranking(
    *,
    n_queries: _Whole = 1000,
    n_features: _Whole = 700,
    documents: _Real | ArrayLike = 24,
    seed: _Seed = 0,
    dtype: DTypeLike = ...,
    noise: _Real = 0.5,
) -> RankingData: ...
def make_items(
    *,
    n_items: _Whole = 3706,
    n_users: _Whole = 6040,
    n_features: _Whole = 50,
    ratings_per_user: _Real | ArrayLike = 165.6,
    seed: _Seed = 0,
) -> ItemData: ...

class Prices(NamedTuple):
    relatives: NDArray[np.float64]
    names: tuple[str, ...]

def load_prices(path: _Source) -> Prices: ...

class Scaling:
    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    kind: str
    def __init__(self, shift: ArrayLike, scale: ArrayLike, kind: str = "affine") -> None: ...
    def transform(self, X: ArrayLike | _Sparse) -> NDArray[np.float64]: ...
    def inverse(self, X: ArrayLike | _Sparse) -> NDArray[np.float64]: ...
    def to_dict(self) -> dict[str, Any]: ...
    def __eq__(self, other: object) -> bool: ...

def standardize(X: ArrayLike | _Sparse) -> Scaling: ...
def minmax(
    X: ArrayLike | _Sparse, *, lower: _Real = 0.0, upper: _Real = 1.0
) -> Scaling: ...

class MulticlassData(NamedTuple):
    features: NDArray[np.float64]
    labels: NDArray[np.intp]
    weights: NDArray[np.float64]

def make_multiclass(
    *,
    n_rows: _Whole = 1000,
    n_features: _Whole = 9,
    n_informative: _Whole = 5,
    n_classes: _Whole = 5,
    normalize: bool = False,
    seed: _Seed = 0,
) -> MulticlassData: ...
