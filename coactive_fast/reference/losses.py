"""Slow twins of the losses of convex optimisation: one row of data a round.

Each loss is a function of the prediction alone, ``f_t(x) = l(x.z, y)`` with the row z and the
label y of round t, which are those number ``t mod n``. So the value is ``l(m, y)`` at
``m = x.z`` and the gradient ``l'(m, y) z``.

Examples
--------
>>> from coactive_fast import reference
>>> squared = reference.losses.Squared([[1.0, 0.0], [0.0, 2.0]], [1.0, 0.0])
>>> squared.value(0, [0.0, 0.5]), squared.value(1, [0.0, 0.5])
(0.5, 0.5)
>>> squared.gradient(3, [0.0, 0.5])
array([0., 2.])
"""

import numpy as np

from . import _check as check


def _scaled(name, values, scalings):
    if name not in scalings:
        return values
    return check.answering(f"{name}_scaling", scalings[name], ["transform"]).transform(values)


class _Rows:
    """What the losses share: the rows, and the way from ``l`` and ``l'`` to value and gradient."""

    @property
    def classifies(self):
        """Whether a prediction is right or wrong."""
        return False

    def __init__(self, Z, y, scalings):
        given = {name: s for name, s in scalings.items() if s is not None}
        self.scaling = given or None  # part of the record of a run
        self.Z = check.table("Z", _scaled("Z", Z, given)).copy()
        self.y = check.vector("y", _scaled("y", y, given), len(self.Z), of="Z").copy()
        self.dimension = self.Z.shape[1]

    def __len__(self):
        return len(self.Z)

    def _row(self, t, x):
        """Row, prediction at x and label of round t."""
        i = check.count("t", t) % len(self.Z)
        x = check.vector("x", x, self.dimension, of="a row of Z")
        z = self.Z[i]
        with np.errstate(over="ignore", invalid="ignore"):
            return z, check.finite("x.z", z @ x), self.y[i]

    def value(self, t, x):
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

    def gradient(self, t, x):
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

    def mistake(self, t, x):
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

    Parameters
    ----------
    Z : array_like, shape (n, d)
        One row a round.
    y : array_like, shape (n,)
        The values to be predicted.
    Z_scaling, y_scaling : optional
        Objects whose ``transform`` is applied to Z and y first; kept as ``scaling``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.losses.Squared([[1.0, 2.0]], [1.0]).value(0, [1.0, 1.0])
    2.0
    """

    def __init__(self, Z, y, *, Z_scaling=None, y_scaling=None):
        super().__init__(Z, y, {"Z": Z_scaling, "y": y_scaling})

    def _loss(self, m, y):
        return 0.5 * (m - y) ** 2

    def _slope(self, m, y):
        return m - y


class Logistic(_Labelled):
    """Logistic loss ``log(1 + exp(-y x.z))``.

    Parameters
    ----------
    Z : array_like, shape (n, d)
        One row a round.
    y : array_like, shape (n,)
        Labels, -1 or +1.
    Z_scaling : optional
        As for `Squared`.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> round(reference.losses.Logistic([[1.0, 2.0]], [1.0]).value(0, [0.0, 0.0]), 6)
    0.693147
    """

    def __init__(self, Z, y, *, Z_scaling=None):
        super().__init__(Z, y, {"Z": Z_scaling})
        if not self.classifies:
            raise ValueError("y must be -1 or +1 everywhere")

    def _loss(self, m, y):
        return np.logaddexp(0.0, -y * m)

    def _slope(self, m, y):
        return -y / (1.0 + np.exp(y * m))  # an exponential that overflows leaves 0


class PortfolioReturn(_Rows):
    """The return ``x.z`` of a portfolio, as the loss ``-x.z``.

    Parameters
    ----------
    Z : array_like, shape (n, d)
        One row a round: the return of each of d shares.
    Z_scaling : optional
        As for `Squared`.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.losses.PortfolioReturn([[0.5, -0.25]]).value(0, [0.5, 0.5])
    -0.125
    """

    def __init__(self, Z, *, Z_scaling=None):
        super().__init__(Z, np.zeros(len(check.table("Z", Z))), {"Z": Z_scaling})

    def _loss(self, m, y):
        return -m

    def _slope(self, m, y):
        return -1.0
