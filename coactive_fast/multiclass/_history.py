"""The record of a run of a multiclass learner."""

import numpy as np

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

    mistakes: np.ndarray = column(np.bool_)
    explored: np.ndarray = column(np.bool_)
    choices: np.ndarray = column(np.intp)

    _derived = ("cumulative_mistakes", "error_rate")
    _curve = "cumulative_mistakes"

    @property
    def cumulative_mistakes(self):
        """Mistakes up to each round."""
        return np.cumsum(self.mistakes, dtype=np.intp)

    @property
    def error_rate(self):
        """The share of mistakes up to each round."""
        return self.cumulative_mistakes / np.arange(1, len(self) + 1)
