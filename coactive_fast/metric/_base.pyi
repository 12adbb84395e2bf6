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
    """What every metric has: copies by way of its `state`."""

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The metric that `state` described.

        Parameters
        ----------
        state : dict
            What `state` gave; checked before anything is taken over.

        Returns
        -------
        Full, Diagonal or Dual
            Of the class that is asked. The ``__init__`` of a subclass is not run.
        """
    def copy(self) -> Self:
        """An independent copy; what a subclass has of its own is shared, as by `copy.copy`.

        Returns
        -------
        Full, Diagonal or Dual
            Of the same class, with arrays of its own.
        """
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
    """What `Full` and `Diagonal` share, which keep A entry by entry."""

    def merge(self, other: Self) -> None:
        """``A <- A_1 + A_2 - ridge I``: the metric that has seen the updates of both.

        Parameters
        ----------
        other : Full or Diagonal
            Of the same class, with the same n and ridge; it stays as it is. The sum must be
            positive definite, and of a `Full` both must have their whole regulariser (``rho = 1``;
            `decay` by 1.0 makes it so), else a `ValueError` and no change.

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> m, other = Full(1), Full(1)
        >>> m.update([1.0]), other.update([2.0])
        (1.0, 4.0)
        >>> m.merge(other)
        >>> m.matrix()
        array([[6.]])
        """
    def sample(self, size: SupportsIndex, rng: _Seed) -> Vector:
        """Rows from the normal distribution with mean 0 and covariance ``A^-1``.

        The distribution is fixed, what is made of the generator's numbers is not. Costs O(n) a
        row; of a `Full` O(n^3), then O(n^2) a row.

        Parameters
        ----------
        size : int
            How many rows.
        rng : Generator or what `numpy.random.default_rng` takes
            A Generator is used, and moves on.

        Returns
        -------
        ndarray of float64, shape (size, n)
            A draw a row.

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> Full(3).sample(5, 0).shape
        (5, 3)
        """

class Stored(Entries):
    """The memory and the state of `Full`."""

    @property
    def n(self) -> int:
        """Order of the matrix."""
    @property
    def ridge(self) -> float:
        """The regulariser of A when it is whole: what A began with on its diagonal."""
    @property
    def precision(self) -> _Precision:
        """"auto", "fast" or "robust", as asked for; ``health()`` says which form is in use."""
    @property
    def updates(self) -> int:
        """How many updates changed something."""
    def health(self) -> _Health:
        """What the watch over rounding errors has seen.

        Returns
        -------
        dict
            By name: precision ("fast" or "robust", the form in use); updates; probes of the drift;
            renewals (the inverse made anew from A); repairs (renewals because some
            ``x^T A^-1 x`` was not positive); failed (renewals that were not possible since A
            itself is not positive definite in float64); last_residual and worst_residual
            (``||A A^-1 v - v|| / sqrt(n)`` of the probes); residual (measured now).
        """
    def state(self) -> dict[str, Any]:
        """Everything there is to resume from, as plain arrays and numbers.

        Returns
        -------
        dict
            `Full.from_state` makes the same metric of it, bit for bit.
        """
