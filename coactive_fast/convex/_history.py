"""What a run of online convex optimisation leaves behind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Vector
from ..learner._history import History, column, note, record


@record
class ConvexHistory(History):
    """A run against a sequence of losses: what was seen at the points played.

    Attributes
    ----------
    loss : ndarray of shape (T,)
        The loss of each round at the point that was played.
    mistakes : ndarray of bool, shape (T,), or None
        Whether the sign of the prediction was wrong; None where the losses do not classify.
    scaling : dict of str to coactive_fast.data.Scaling, or None
        How the rows and the labels of the losses were scaled, where the losses say so.
    average_loss : ndarray of shape (T,)
        Mean of the losses up to each round.
    average_return : ndarray of shape (T,)
        The same with its sign changed: where the loss is a return that was turned about.
    error_rate : ndarray of shape (T,) or None
        Share of mistakes up to each round.

    Examples
    --------
    >>> from coactive_fast.convex import ConvexHistory
    >>> history = ConvexHistory(loss=[1.0, 0.0], mistakes=[True, False])
    >>> history.average_loss, history.error_rate
    (array([1. , 0.5]), array([1. , 0.5]))
    """

    loss: Vector = column(np.float64)
    mistakes: NDArray[np.bool_] | None = column(np.bool_, default=None)
    scaling: dict[str, Any] | None = note(default=None)

    _derived = ("average_loss",)
    _curve = "average_loss"

    @property
    def average_loss(self) -> Vector:
        """Mean of the losses up to each round."""
        return _running_mean(self.loss)

    @property
    def average_return(self) -> Vector:
        """Mean return up to each round, where the loss is a return with its sign changed."""
        return -self.average_loss

    @property
    def error_rate(self) -> Vector | None:
        """Share of mistakes up to each round, or None."""
        return None if self.mistakes is None else _running_mean(self.mistakes)

    def _columns(self):
        columns = super()._columns()
        return columns if self.mistakes is None else columns | {"error_rate": self.error_rate}


def _running_mean(values):
    return np.cumsum(values) / np.arange(1, len(values) + 1)
