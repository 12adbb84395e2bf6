"""Scaling of features and labels, as a record that goes with a run."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import plain, reals, refuse_non_finite
from .._initialized import Initialized
from .._typing import Real, RowsLike, Vector
from ..learner._check import number, same_length
from ..rows._rows import table_of


class Scaling(Initialized):
    """An affine map of each column: ``(x - shift) / scale``.

    Parameters
    ----------
    shift, scale : array_like of shape (columns,)
        What is subtracted from each column, and what it is then divided by; scale > 0.
    kind : str, default "affine"
        What made it; part of the record only.

    See Also
    --------
    standardize : Makes one with mean 0 and deviation 1.
    minmax : Makes one with bounds.

    Examples
    --------
    >>> from coactive_fast import data
    >>> scaling = data.standardize([[0.0, 5.0], [2.0, 5.0]])
    >>> scaling.transform([[4.0, 6.0]])
    array([[3., 1.]])
    >>> data.Scaling(**scaling.to_dict()) == scaling
    True
    """

    shift: Vector
    scale: Vector
    kind: str

    def __init__(self, shift: ArrayLike, scale: ArrayLike, kind: str = "affine") -> None:
        self.shift = reals(shift, "shift", 1)
        self.scale = reals(scale, "scale", 1)
        self.kind = kind
        same_length("scale", self.scale.size, self.shift.size, "shift")
        if not (self.scale > 0.0).all():
            raise ValueError(f"scale must be > 0, got {self.scale.min()}")

    def transform(self, X: RowsLike) -> Vector:
        """The scaled values.

        Parameters
        ----------
        X : array_like or scipy.sparse, shape (n, columns); (n,) or a number with one column
            Rows with the columns that the scaling was made from.

        Returns
        -------
        ndarray of float64
            Of the shape of X.

        Examples
        --------
        >>> from coactive_fast import data
        >>> data.minmax([3.0, 5.0, 7.0]).transform([4.0, 7.0])
        array([0.25, 1.  ])
        """
        return (self._columns("X", X) - self.shift) / self.scale

    def inverse(self, X: RowsLike) -> Vector:
        """What `transform` made X from, to rounding.

        Parameters
        ----------
        X : array_like, as for `transform`
            Scaled rows.

        Returns
        -------
        ndarray of float64
            The rows as they were before `transform`.

        Examples
        --------
        >>> from coactive_fast import data
        >>> data.minmax([3.0, 5.0, 7.0]).inverse([0.25, 1.0])
        array([4., 7.])
        """
        return self._columns("X", X) * self.scale + self.shift

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and a string, fit for JSON: ``Scaling(**d)`` is the scaling again.

        Returns
        -------
        dict
            Of plain numbers and lists, which `from_dict` turns into the same scaling.

        Examples
        --------
        >>> from coactive_fast import data
        >>> data.minmax([3.0, 7.0]).to_dict()
        {'shift': [3.0], 'scale': [4.0], 'kind': 'minmax'}
        """
        return {"shift": self.shift.tolist(), "scale": self.scale.tolist(), "kind": self.kind}

    def _columns(self, name: str, X: RowsLike) -> Vector:
        values = _numbers(name, X)
        width = values.shape[1] if values.ndim == 2 else 1
        if width != self.shift.size:
            raise ValueError(f"{name} must have {self.shift.size} columns, got {width}")
        return values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scaling) and self.to_dict() == other.to_dict()

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Scaling by {self.kind} of {self.shift.size} columns>"


def standardize(X: RowsLike) -> Scaling:
    """The scaling of each column to mean 0 and standard deviation 1.

    Parameters
    ----------
    X : array_like or scipy.sparse, shape (n, columns), or (n,) for one column
        What the columns' scales are taken from.

    Returns
    -------
    Scaling
        A column that does not vary is only shifted.

    Examples
    --------
    >>> from coactive_fast import data
    >>> data.standardize([[0.0, 1.0], [2.0, 1.0]]).to_dict()
    {'shift': [1.0, 1.0], 'scale': [1.0, 1.0], 'kind': 'standardize'}
    """
    values = _table("X", X)
    still = _still(values)
    with np.errstate(over="ignore", invalid="ignore"):
        shift = np.where(still, values[0], values.mean(axis=0))
        scale = np.where(still, 1.0, values.std(axis=0))
    return _made(shift, scale, "standardize")


def minmax(X: RowsLike, *, lower: Real = 0.0, upper: Real = 1.0) -> Scaling:
    """The scaling of each column to the interval from `lower` to `upper`.

    Parameters
    ----------
    X : array_like or scipy.sparse, shape (n, columns), or (n,) for one column
        What the columns' scales are taken from.
    lower, upper : float, default 0.0 and 1.0
        Where each column goes from and to; lower < upper.

    Returns
    -------
    Scaling
        A column that does not vary goes to `lower`.

    Examples
    --------
    >>> from coactive_fast import data
    >>> X = [[1.0, 10.0], [3.0, 30.0]]
    >>> data.minmax(X, lower=-1.0).transform(X)
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    lower, upper = number("lower", lower), number("upper", upper)
    if not lower < upper:
        raise ValueError(f"upper must be > lower, got {upper} and {lower}")
    values = _table("X", X)
    with np.errstate(over="ignore", invalid="ignore"):
        low = values.min(axis=0)
        scale = np.where(_still(values), 1.0, (values.max(axis=0) - low) / (upper - lower))
        shift = low - lower * scale
    return _made(shift, scale, "minmax")


def _still(values):
    """Columns that do not vary: to be shifted only, whatever rounding says of their spread."""
    return (values == values[0]).all(axis=0)


def _made(shift, scale, kind):
    if not (np.isfinite(shift).all() and np.isfinite(scale).all() and (scale > 0.0).all()):
        raise ValueError("X must lie within a range that float64 can scale")
    return Scaling(shift, scale, kind)


def _table(name, X):
    """At least one row of at least one column; a vector is one column."""
    values = _numbers(name, X)
    if values.ndim == 0 or values.size == 0:
        raise ValueError(f"{name} must have at least one row and one column")
    return values.reshape(len(values), -1)


def _numbers(name, X):
    """Finite float64 of 0, 1 or 2 dimensions; sparse is made dense."""
    array = table_of(X, name) if hasattr(X, "toarray") else plain(X, name)
    if array.ndim > 2:
        raise ValueError(f"{name} must have at most 2 dimensions, got shape {array.shape}")
    values = array.astype(np.float64)
    refuse_non_finite(np.atleast_1d(values), name)
    return values
