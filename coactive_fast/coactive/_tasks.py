"""What is presented: a ranking of a query's documents, an item of a catalogue."""

from __future__ import annotations

from typing import Any, ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels
from .._initialized import Initialized
from .._typing import Self, Vector
from ..learner._check import count
from ..learner._store import storable
from ..rows._rows import table


@storable
class Ranking(Initialized):
    """Orderings of a query's documents.

    The context x is a matrix of n documents by N features, y an ordering of them, best first, and
    ``features(x, y) = sum over the first k places of x[y_i] / log2(i + 1)``, i = 1 ... k.

    Parameters
    ----------
    k : int, default 5
        Only so many places count.

    See Also
    --------
    Items : One item of a catalogue.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.PreferencePerceptron(cf.Ranking(k=2))
    >>> documents = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> learner.present(documents)
    array([0, 1, 2])
    >>> learner.learn(documents, [0, 1, 2], [2, 1, 0])
    >>> learner.present(documents)
    array([1, 2, 0])
    """

    _stored = ("k",)
    _k: int

    def __init__(self, *, k: SupportsIndex = 5) -> None:
        self._k = count("k", k, least=1)

    @property
    def k(self) -> int:
        """How many places count."""
        return self._k

    def features(self, x: ArrayLike, y: ArrayLike) -> Vector:
        """The feature vector of ordering y.

        Parameters
        ----------
        x : array_like of shape (n, N)
            A row a document.
        y : array_like of int
            All documents or only the first places.

        Returns
        -------
        ndarray of shape (N,)
            The sum of the rows of the first k places, each divided by ``log2(place + 1)``.
        """
        return kernels.ranking_features(table(x, "x"), y, k=self._k)

    def argmax(self, w: ArrayLike, x: ArrayLike) -> NDArray[np.intp]:
        """All documents by decreasing score, ties to the lower index.

        Parameters
        ----------
        w : array_like of shape (N,)
            The weights.
        x : array_like of shape (n, N)
            A row a document.

        Returns
        -------
        ndarray of int
            All documents, the best first.
        """
        x = table(x, "x")
        return kernels.rank(x, w, len(x))

    def __repr__(self) -> str:
        return f"Ranking(k={self._k})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ranking) and other._k == self._k

    def __hash__(self) -> int:
        return hash((Ranking, self._k))


@storable
class Items(Initialized):
    """Items of one catalogue; a context is the array of the candidates' indices (None: all).

    Parameters
    ----------
    features : array_like of shape (n, N)
        A row an item. A copy is kept (float32 stays float32) and never changes, so learners
        and their copies share it.

    See Also
    --------
    Ranking : An ordering of documents.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.PreferencePerceptron(cf.Items([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]))
    >>> learner.present(None)
    0
    >>> learner.learn(None, 0, 2)
    >>> learner.present([1, 2])
    1
    """

    _stored = ("features",)
    _features: NDArray[np.floating[Any]]

    def __init__(self, features: ArrayLike) -> None:
        rows = np.array(table(features, "features"), order="C")
        if 0 in rows.shape:
            raise ValueError("features must have a row an item and at least one feature, got "
                             f"shape {rows.shape}")
        rows.flags.writeable = False
        self._features = rows

    @property
    def features(self) -> NDArray[np.floating[Any]]:
        """The rows, read-only."""
        return self._features

    @property
    def dimension(self) -> int:
        """The number of features."""
        return self._features.shape[1]

    def __len__(self) -> int:
        return len(self._features)

    def __repr__(self) -> str:
        return f"Items({len(self._features)} items, {self.dimension} features)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Items) and (
            other._features is self._features
            or (other._features.dtype == self._features.dtype
                and np.array_equal(other._features, self._features)))

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self
