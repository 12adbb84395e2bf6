"""Losses of online convex optimisation, compiled: one row of data a round.

Each is a function of the prediction ``x.z`` alone, with the row z and the label y of round t,
which are those number ``t mod n``. A learner's ``run`` over one of them is a compiled loop.

Examples
--------
>>> import coactive_fast as cf
>>> squared = cf.losses.Squared([[1.0, 0.0], [0.0, 2.0]], [1.0, 0.0])
>>> squared.value(0, [0.0, 0.5]), squared.value(1, [0.0, 0.5])
(0.5, 0.5)
>>> squared.gradient(3, [0.0, 0.5])
array([0., 2.])
"""

from __future__ import annotations

from typing import Any, SupportsIndex

from numpy.typing import ArrayLike

from ._arrays import refuse_masked
from ._initialized import Initialized
from ._typing import RowsLike, Scales, Vector
from .convex._rules import Losses
from .learner._check import answering
from .rows._rows import table_of

__all__ = ["Logistic", "PortfolioReturn", "Squared"]


class _Loss(Initialized):
    """What the losses share; the rows are copied and belong to the loss."""

    _labelled = True
    _scaling: dict[str, Scales] | None = None
    _rows: Losses

    def _begin(self, kind, Z, y, scalings):
        given = {name: s for name, s in scalings.items() if s is not None}
        self._rows = Losses(kind, _scaled("Z", Z, given), _scaled("y", y, given))
        self._scaling = given or None

    def __reduce__(self) -> tuple[Any, ...]:  # rows that are scaled already
        rows = (self.Z, self.y) if self._labelled else (self.Z,)
        return type(self), rows, {"_scaling": self._scaling}

    def __len__(self) -> int:
        return self._rows.n

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._rows.n} rows, dimension {self._rows.d}>"

    @property
    def Z(self) -> Vector:
        """The rows; cannot be written to."""
        return self._rows.Z

    @property
    def y(self) -> Vector:
        """The labels; cannot be written to."""
        return self._rows.y

    @property
    def scaling(self) -> dict[str, Any] | None:
        """The scalings of "Z" and "y" that were given, by name, or None: part of a run's record."""
        return None if self._scaling is None else dict(self._scaling)

    @property
    def dimension(self) -> int:
        """Length of a row."""
        return self._rows.d

    @property
    def classifies(self) -> bool:
        """Whether a prediction is right or wrong: where every label is -1 or +1."""
        return self._rows.signs

    def value(self, t: SupportsIndex, x: ArrayLike) -> float:
        """The loss at x in round t.

        Parameters
        ----------
        t : int
            The round, counted from 0; it uses row t mod n.
        x : array_like of shape (d,)
            The point.

        Returns
        -------
        float
            The loss of round t at x.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.losses.PortfolioReturn([[0.02, -0.01]]).value(0, [1.0, 0.0])
        -0.02
        """
        return self._rows.value_at(t, x)

    def gradient(self, t: SupportsIndex, x: ArrayLike) -> Vector:
        """The gradient at x in round t.

        Parameters
        ----------
        t : int
            The round, counted from 0; it uses row t mod n.
        x : array_like of shape (d,)
            The point.

        Returns
        -------
        ndarray of shape (d,)
            The gradient of round t's loss at x.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.losses.Logistic([[1.0, -2.0]], [1.0]).gradient(0, [0.0, 0.0])
        array([-0.5,  1. ])
        """
        return self._rows.gradient_at(t, x)

    def mistake(self, t: SupportsIndex, x: ArrayLike) -> bool:
        """Whether the sign of the prediction (0 counts as +1) is not the label.

        Parameters
        ----------
        t : int
            The round, counted from 0; it uses row t mod n.
        x : array_like of shape (d,)
            The point.

        Returns
        -------
        bool
            Whether the sign of the score is wrong.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.losses.Logistic([[1.0, -2.0]], [-1.0]).mistake(0, [0.0, 1.0])
        False
        """
        if not self.classifies:
            raise ValueError("y must be -1 or +1 everywhere: no prediction is right or wrong")
        return self._rows.wrong_at(t, x)


class Squared(_Loss):
    """Squared loss ``(x.z - y)^2 / 2``.

    Parameters
    ----------
    Z : array_like or scipy.sparse, shape (n, d)
        One row a round.
    y : array_like of shape (n,)
        What is to be predicted.
    Z_scaling, y_scaling : coactive_fast.data.Scaling, optional
        Applied to the rows and to y first; any object with such a ``transform``. They become part
        of the record of a run, ``history.scaling``.

    See Also
    --------
    Logistic : For labels of two classes.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> cf.losses.Squared([[1.0, 2.0]], [1.0]).value(0, [1.0, 1.0])
    2.0
    >>> Z, y = [[0.0], [4.0]], [1.0, 3.0]
    >>> losses = cf.losses.Squared(Z, y, Z_scaling=cf.data.minmax(Z), y_scaling=cf.data.minmax(y))
    >>> cf.OGD(1, cf.Ball(1.0), 1.0).run(losses, 5).scaling
    {'Z': <Scaling by minmax of 1 columns>, 'y': <Scaling by minmax of 1 columns>}
    """

    def __init__(self, Z: RowsLike, y: ArrayLike, *, Z_scaling: Scales | None = None,
                 y_scaling: Scales | None = None) -> None:
        self._begin("squared", Z, y, {"Z": Z_scaling, "y": y_scaling})


class Logistic(_Loss):
    """Logistic loss ``log(1 + exp(-y x.z))``.

    Parameters
    ----------
    Z : array_like or scipy.sparse, shape (n, d)
        One row a round.
    y : array_like of shape (n,)
        Labels, -1 or +1.
    Z_scaling : coactive_fast.data.Scaling, optional
        As for `Squared`.

    See Also
    --------
    Squared : For labels that are numbers.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> round(cf.losses.Logistic([[1.0, 2.0]], [1.0]).value(0, [0.0, 0.0]), 6)
    0.693147
    """

    def __init__(self, Z: RowsLike, y: ArrayLike, *, Z_scaling: Scales | None = None) -> None:
        self._begin("logistic", Z, y, {"Z": Z_scaling})


class PortfolioReturn(_Loss):
    """The return ``x.z`` of a portfolio, as the loss ``-x.z``.

    Parameters
    ----------
    Z : array_like or scipy.sparse, shape (n, d)
        One row a round: the return of each share (a price relative or a rate).
    Z_scaling : coactive_fast.data.Scaling, optional
        As for `Squared`.

    See Also
    --------
    Squared : A loss of rows and labels.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> cf.losses.PortfolioReturn([[0.5, -0.25]]).value(0, [0.5, 0.5])
    -0.125
    """

    _labelled = False

    def __init__(self, Z: RowsLike, *, Z_scaling: Scales | None = None) -> None:
        self._begin("return", Z, None, {"Z": Z_scaling})


def _scaled(name, values, scalings):
    """The values by their scaling, if there is one."""
    if name not in scalings:
        return values
    scaling = answering(f"{name}_scaling", scalings[name], ("transform",))
    refuse_masked(values, name)
    if hasattr(values, "toarray"):
        values = table_of(values, name)  # which looks at what the scaling may take on trust
    return scaling.transform(values)


# a subclass may bring a value of its own
COMPILED: tuple[type, ...] = (Logistic, PortfolioReturn, Squared)
