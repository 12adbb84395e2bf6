"""Generated streams, the same for everybody who asks with the same words."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import DTypeLike, NDArray

from .._initialized import Initialized
from ..data import RankingData, make_ranking

CLASSES, ROWS, RANKINGS = range(3)     # what a generator is for: each has numbers of its own


class Streams(Initialized):
    """Rows, labels and rankings for benchmarks, made once and never changed.

    The same call gives the same object, whose arrays are read-only, so that no test can spoil it
    for another.

    Parameters
    ----------
    seed : int, default 0
        Another seed gives other numbers of the same kind.

    See Also
    --------
    coactive_fast.data.make_ranking : What `rankings` calls.

    Examples
    --------
    >>> from coactive_fast.testing import Streams
    >>> streams = Streams()
    >>> X, y = streams.labels(1000, 20, n_classes=3)
    >>> X.shape, y.shape, sorted(set(y.tolist()))
    ((1000, 20), (1000,), [0, 1, 2])
    >>> streams.rows(1000, 20) is X
    True
    >>> streams.rows(10, 10_000, density=0.01).nnz
    1000
    >>> streams.rankings(50, 30)[0].features.shape[1]
    30
    """

    _seed: int
    _made: dict[tuple[Any, ...], Any]

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._made = {}

    def rows(self, n_rows: int = 1000, n_features: int = 50, *, density: float = 1.0,
             dtype: DTypeLike = np.float64) -> Any:
        """Standard normal rows of length about 1.

        Parameters
        ----------
        n_rows, n_features : int
            How many rows, and columns of each.
        density : float, default 1.0
            In (0, 1]: the share of entries that are not 0; below 1 the rows are sparse.
        dtype : float32 or float64, default float64
            Of the numbers.

        Returns
        -------
        ndarray or scipy.sparse.csr_array, shape (n_rows, n_features)
            Read-only; sparse where `density` is below 1.

        Examples
        --------
        >>> from coactive_fast.testing import Streams
        >>> Streams().rows(3, 4).shape
        (3, 4)
        """
        key = ("rows", n_rows, n_features, float(density), np.dtype(dtype))
        if key not in self._made:
            rng = np.random.default_rng((self._seed, ROWS, n_rows, n_features))
            self._made[key] = _frozen(_drawn(rng, n_rows, n_features, density, dtype))
        return self._made[key]

    def labels(self, n_rows: int = 1000, n_features: int = 50, *, n_classes: int = 2,
               density: float = 1.0,
               dtype: DTypeLike = np.float64) -> tuple[Any, NDArray[np.intp]]:
        """The rows of `rows`, each with the label that random linear models give it.

        Parameters
        ----------
        n_rows, n_features : int
            How many rows, and columns of each.
        n_classes : int, default 2
            Labels go from 0 to n_classes - 1.
        density, dtype
            As for `rows`.

        Returns
        -------
        rows : ndarray or scipy.sparse.csr_array, shape (n_rows, n_features)
            The same object that `rows` gives.
        labels : ndarray of intp, shape (n_rows,)
            Read-only; ``argmax_i rows @ weights[i]`` for standard normal weights.

        Examples
        --------
        >>> from coactive_fast.testing import Streams
        >>> X, y = Streams().labels(200, 10, n_classes=4)
        >>> int(y.min()), int(y.max())
        (0, 3)
        """
        rows = self.rows(n_rows, n_features, density=density, dtype=dtype)
        key = ("labels", n_classes, id(rows))
        if key not in self._made:
            rng = np.random.default_rng((self._seed, CLASSES, n_features, n_classes))
            weights = rng.standard_normal((n_features, n_classes))
            self._made[key] = _frozen((rows @ weights).argmax(axis=1))
        return rows, self._made[key]

    def rankings(self, n_queries: int = 100, n_features: int = 50, *, documents: float = 24,
                 dtype: DTypeLike = np.float32) -> RankingData:
        """Queries with graded documents, as `coactive_fast.data.make_ranking` makes them.

        Parameters
        ----------
        n_queries, n_features : int
            How many queries, and features a document.
        documents : float, default 24
            The mean number of documents a query.
        dtype : float32 or float64, default float32
            Of the features.

        Returns
        -------
        RankingData
            Features, grades and where each query begins; read-only.

        Examples
        --------
        >>> from coactive_fast.testing import Streams
        >>> len(Streams().rankings(10, 5))
        10
        """
        key = ("rankings", n_queries, n_features, float(documents), np.dtype(dtype))
        if key not in self._made:
            self._made[key] = make_ranking(
                n_queries=n_queries, n_features=n_features, documents=documents, dtype=dtype,
                seed=(self._seed, RANKINGS))
        return self._made[key]


def _drawn(rng, n_rows, n_features, density, dtype):
    if not 0.0 < density <= 1.0:
        raise ValueError(f"density must be in (0, 1], got {density}")
    scale = 1.0 / np.sqrt(density * n_features)
    if density == 1.0:
        return (scale * rng.standard_normal((n_rows, n_features))).astype(dtype)
    sparse = scipy.sparse.random(n_rows, n_features, density, format="csr", random_state=rng,
                                 data_rvs=lambda n: scale * rng.standard_normal(n))
    sparse.sort_indices()
    return scipy.sparse.csr_array(sparse.astype(dtype))


def _frozen(made):
    arrays = (made.data, made.indices, made.indptr) if scipy.sparse.issparse(made) else (made,)
    for array in arrays:
        array.setflags(write=False)
    return made
