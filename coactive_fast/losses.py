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

from .convex._losses import Rows

__all__ = ["Logistic", "PortfolioReturn", "Squared"]


class _Loss:
    """What the losses share; the rows are copied and belong to the loss."""

    def _begin(self, kind, Z, y=None):
        self._rows = Rows(kind, Z, y)

    def __reduce__(self):
        return type(self), (self.Z, self.y)

    def __len__(self):
        return self._rows.n

    def __repr__(self):
        return f"<{type(self).__name__} of {self._rows.n} rows, dimension {self._rows.d}>"

    @property
    def Z(self):
        """The rows; cannot be written to."""
        return self._rows.Z

    @property
    def y(self):
        """The labels; cannot be written to."""
        return self._rows.y

    @property
    def dimension(self):
        """Length of a row."""
        return self._rows.d

    @property
    def classifies(self):
        """Whether a prediction is right or wrong: where every label is -1 or +1."""
        return self._rows.signs

    def value(self, t, x):
        """The loss at x in round t.

        Parameters
        ----------
        t : int
        x : array_like of shape (d,)

        Returns
        -------
        float

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.losses.PortfolioReturn([[0.02, -0.01]]).value(0, [1.0, 0.0])
        -0.02
        """
        return self._rows.value_at(t, x)

    def gradient(self, t, x):
        """The gradient at x in round t.

        Parameters
        ----------
        t : int
        x : array_like of shape (d,)

        Returns
        -------
        ndarray of shape (d,)

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.losses.Logistic([[1.0, -2.0]], [1.0]).gradient(0, [0.0, 0.0])
        array([-0.5,  1. ])
        """
        return self._rows.gradient_at(t, x)

    def mistake(self, t, x):
        """Whether the sign of the prediction (0 counts as +1) is not the label.

        Parameters
        ----------
        t : int
        x : array_like of shape (d,)

        Returns
        -------
        bool

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

    Examples
    --------
    >>> import coactive_fast as cf
    >>> cf.losses.Squared([[1.0, 2.0]], [1.0]).value(0, [1.0, 1.0])
    2.0
    """

    def __init__(self, Z, y):
        self._begin("squared", Z, y)


class Logistic(_Loss):
    """Logistic loss ``log(1 + exp(-y x.z))``.

    Parameters
    ----------
    Z : array_like or scipy.sparse, shape (n, d)
        One row a round.
    y : array_like of shape (n,)
        Labels, -1 or +1.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> round(cf.losses.Logistic([[1.0, 2.0]], [1.0]).value(0, [0.0, 0.0]), 6)
    0.693147
    """

    def __init__(self, Z, y):
        self._begin("logistic", Z, y)


class PortfolioReturn(_Loss):
    """The return ``x.z`` of a portfolio, as the loss ``-x.z``.

    Parameters
    ----------
    Z : array_like or scipy.sparse, shape (n, d)
        One row a round: the return of each share (a price relative or a rate).

    Examples
    --------
    >>> import coactive_fast as cf
    >>> cf.losses.PortfolioReturn([[0.5, -0.25]]).value(0, [0.5, 0.5])
    -0.125
    """

    def __init__(self, Z):
        self._begin("return", Z)

    def __reduce__(self):
        return type(self), (self.Z,)


COMPILED = (Logistic, PortfolioReturn, Squared)  # a subclass may bring a value of its own
