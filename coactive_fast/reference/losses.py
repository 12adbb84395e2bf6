"""Slow twins of the losses of convex optimisation: one row of data a round.

Each loss is a function of the prediction alone, ``f_t(x) = l(x.z, y)`` with the row z and the
label y of round t, which are those number ``t mod n``. So the value is ``l(m, y)`` at
``m = x.z`` and the gradient ``l'(m, y) z``. What the parameters mean say the classes of
`coactive_fast.losses`.

Examples
--------
>>> from coactive_fast import reference
>>> squared = reference.losses.Squared([[1.0, 0.0], [0.0, 2.0]], [1.0, 0.0])
>>> squared.value(0, [0.0, 0.5]), squared.value(1, [0.0, 0.5])
(0.5, 0.5)
>>> squared.gradient(3, [0.0, 0.5])
array([0., 2.])
"""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from coactive_fast._typing import Vector

from . import _check as check


def _scaled(name, values, scalings):
    if name not in scalings:
        return values
    return check.answering(f"{name}_scaling", scalings[name], ["transform"]).transform(values)


class _Rows:
    """What the losses share: the rows, and the way from ``l`` and ``l'`` to value and gradient."""

    @property
    def classifies(self) -> bool:
        """Whether a prediction is right or wrong."""
        return False

    def __init__(self, Z: ArrayLike, y: ArrayLike, scalings: dict[str, Any]) -> None:
        given = {name: s for name, s in scalings.items() if s is not None}
        self.scaling = given or None  # part of the record of a run
        self.Z = check.table("Z", _scaled("Z", Z, given)).copy()
        self.y = check.vector("y", _scaled("y", y, given), len(self.Z), of="Z").copy()
        self.dimension = self.Z.shape[1]

    def __len__(self) -> int:
        return len(self.Z)

    def _row(self, t, x):
        """Row, prediction at x and label of round t."""
        i = check.count("t", t) % len(self.Z)
        x = check.vector("x", x, self.dimension, of="a row of Z")
        z = self.Z[i]
        with np.errstate(over="ignore", invalid="ignore"):
            return z, check.finite("x.z", z @ x), self.y[i]

    def value(self, t: SupportsIndex, x: ArrayLike) -> float:
        """The loss ``f_t(x)``.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.losses.PortfolioReturn([[0.02, -0.01]]).value(0, [1.0, 0.0])
        -0.02
        """
        _, m, y = self._row(t, x)
        with np.errstate(over="ignore"):
            return float(check.finite("the loss at x", self._loss(m, y)))

    def gradient(self, t: SupportsIndex, x: ArrayLike) -> Vector:
        """The gradient of ``f_t`` at x.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.losses.Logistic([[1.0, -2.0]], [1.0]).gradient(0, [0.0, 0.0])
        array([-0.5,  1. ])
        """
        z, m, y = self._row(t, x)
        with np.errstate(over="ignore", invalid="ignore"):
            return check.finite("the gradient at x", self._slope(m, y) * z)


class _Labelled(_Rows):
    """Losses whose prediction may be read as a sign."""

    @property
    def classifies(self):
        """Whether every label is -1 or +1, so that a prediction is right or wrong."""
        return bool((np.abs(self.y) == 1.0).all())

    def mistake(self, t: SupportsIndex, x: ArrayLike) -> bool:
        """Whether the sign of the prediction (0 counts as +1) is not the label.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.losses.Logistic([[1.0, -2.0]], [-1.0]).mistake(0, [0.0, 1.0])
        False
        """
        if not self.classifies:
            raise ValueError("y must be -1 or +1 everywhere: no prediction is right or wrong")
        _, m, y = self._row(t, x)
        return bool((m >= 0.0) != (y > 0.0))


class Squared(_Labelled):
    """Squared loss ``(x.z - y)^2 / 2``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.losses.Squared([[1.0, 2.0]], [1.0]).value(0, [1.0, 1.0])
    2.0
    """

    def __init__(self, Z: ArrayLike, y: ArrayLike, *, Z_scaling: Any = None,
                 y_scaling: Any = None) -> None:
        super().__init__(Z, y, {"Z": Z_scaling, "y": y_scaling})

    def _loss(self, m, y):
        return 0.5 * (m - y) ** 2

    def _slope(self, m, y):
        return m - y


class Logistic(_Labelled):
    """Logistic loss ``log(1 + exp(-y x.z))``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> round(reference.losses.Logistic([[1.0, 2.0]], [1.0]).value(0, [0.0, 0.0]), 6)
    0.693147
    """

    def __init__(self, Z: ArrayLike, y: ArrayLike, *, Z_scaling: Any = None) -> None:
        super().__init__(Z, y, {"Z": Z_scaling})
        if not self.classifies:
            raise ValueError("y must be -1 or +1 everywhere")

    def _loss(self, m, y):
        return np.logaddexp(0.0, -y * m)

    def _slope(self, m, y):
        return -y / (1.0 + np.exp(y * m))  # an exponential that overflows leaves 0


class PortfolioReturn(_Rows):
    """The return ``x.z`` of a portfolio, as the loss ``-x.z``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.losses.PortfolioReturn([[0.5, -0.25]]).value(0, [0.5, 0.5])
    -0.125
    """

    def __init__(self, Z: ArrayLike, *, Z_scaling: Any = None) -> None:
        super().__init__(Z, np.zeros(len(check.table("Z", Z))), {"Z": Z_scaling})

    def _loss(self, m, y):
        return -m

    def _slope(self, m, y):
        return -1.0
