"""The record of a run of a multiclass learner."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._typing import Vector
from ..learner._history import History, column, record


@record
class MulticlassHistory(History):
    """A run of a multiclass learner, round by round.

    Attributes
    ----------
    mistakes : ndarray of bool, shape (T,)
        The label chosen was not the one that the learner was told is right (with label noise:
        after the noise).
    explored : ndarray of bool, shape (T,)
        It was not the one that pure exploitation would have chosen.
    choices : ndarray of intp, shape (T,)
        The labels chosen.
    regret : ndarray of float64, shape (T,) or None
        With known chances of the labels: that of the most likely one less that of the one chosen.
    cumulative_mistakes : ndarray of intp, shape (T,)
        Mistakes up to each round.
    error_rate : ndarray of float64, shape (T,)
        Their share up to each round.

    Examples
    --------
    >>> from coactive_fast.multiclass import MulticlassHistory
    >>> history = MulticlassHistory(mistakes=[True, False], explored=[False, True], choices=[0, 1])
    >>> history.error_rate
    array([1. , 0.5])
    """

    mistakes: NDArray[np.bool_] = column(np.bool_)
    explored: NDArray[np.bool_] = column(np.bool_)
    choices: NDArray[np.intp] = column(np.intp)
    regret: Vector | None = column(np.float64, default=None)

    _derived = ("cumulative_mistakes", "error_rate")
    _curve = "cumulative_mistakes"

    @property
    def cumulative_mistakes(self) -> NDArray[np.intp]:
        """Mistakes up to each round."""
        return np.cumsum(self.mistakes, dtype=np.intp)

    @property
    def error_rate(self) -> Vector:
        """The share of mistakes up to each round."""
        return self.cumulative_mistakes / np.arange(1, len(self) + 1)

    @property
    def cumulative_regret(self) -> Vector:
        """Sum of the regret up to each round."""
        if self.regret is None:
            raise ValueError("regret is known only where run was given chances")
        return np.cumsum(self.regret)


def regret_of(choices: NDArray[np.intp], chances: Vector | None) -> Vector | None:
    """What each choice costs in expectation; ``chances[t mod n, i]`` is that of label i in round t.

    A label beyond the table, of a class that was added during the run, has no chance.
    """
    if chances is None:
        return None
    n, k = chances.shape
    rows = np.arange(len(choices)) % max(n, 1)
    there = choices < k
    chance = np.where(there, chances[rows, np.where(there, choices, 0)], 0.0)
    return chances.max(axis=1, initial=0.0)[rows] - chance
