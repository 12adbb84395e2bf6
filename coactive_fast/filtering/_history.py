"""What a run of a filter leaves behind."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._typing import Vector
from ..learner._history import History, column, record


@record
class FilteringHistory(History):
    """A run of a filter: what was forwarded, and what it was worth.

    Attributes
    ----------
    forwarded : ndarray of bool, shape (T,)
        Whether the row of each round was forwarded.
    margins : ndarray of shape (T,)
        As read before each decision.
    relevant : ndarray of bool, shape (T,)
        The labels, whether they were shown to the filter or not.
    regret : ndarray of shape (T,) or None
        With a known u: 1 where the filter judged wrongly and the rule that forwards where
        ``u.x >= 0`` did not, -1 the other way round, else 0. A judgement is wrong where what is
        forwarded is not relevant, or the reverse.
    mistakes : ndarray of bool, shape (T,)
        Wrong judgements.
    running_f_measure : ndarray of shape (T,)
        The F measure of the rounds up to each one.
    precision, recall, f_measure : float
        Over the whole run: the share of relevant rows among those forwarded, of forwarded rows
        among those relevant, and ``2 P R / (P + R)``. A ratio of nothing to nothing is 0.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> X, y = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [False, True, True]
    >>> history = cf.PerceptronFilter().run(X, y)
    >>> history.forwarded
    array([ True, False,  True])
    >>> history.precision, history.recall
    (0.5, 0.5)
    """

    forwarded: NDArray[np.bool_] = column(np.bool_)
    margins: Vector = column(np.float64)
    relevant: NDArray[np.bool_] = column(np.bool_)
    regret: Vector | None = column(np.float64, default=None)

    _derived = ("mistakes", "running_f_measure")
    _scalars = ("precision", "recall", "f_measure")
    _curve = "running_f_measure"

    @property
    def mistakes(self) -> NDArray[np.bool_]:
        """Where a row was forwarded that is not relevant, or the reverse."""
        return self.forwarded != self.relevant

    @property
    def cumulative_regret(self) -> Vector:
        """Sum of the regret up to each round."""
        if self.regret is None:
            raise ValueError("regret is known only where run was given u")
        return np.cumsum(self.regret)

    @property
    def running_f_measure(self) -> Vector:
        """The F measure of the rounds up to each one."""
        both = np.cumsum(self.forwarded & self.relevant)
        either = np.cumsum(self.forwarded) + np.cumsum(self.relevant)
        return np.divide(2.0 * both, either, out=np.zeros(len(self)), where=either > 0)

    @property
    def precision(self) -> float:
        """The share of relevant rows among those forwarded."""
        return _ratio(np.sum(self.forwarded & self.relevant), np.sum(self.forwarded))

    @property
    def recall(self) -> float:
        """The share of forwarded rows among those relevant."""
        return _ratio(np.sum(self.forwarded & self.relevant), np.sum(self.relevant))

    @property
    def f_measure(self) -> float:
        """``2 P R / (P + R)``."""
        return _ratio(2.0 * self.precision * self.recall, self.precision + self.recall)


def _ratio(part, whole):
    return float(part / whole) if whole else 0.0


def history_of(forwarded: NDArray[np.bool_], margins: Vector, relevant: NDArray[np.bool_],
               projection: Vector | None = None) -> FilteringHistory:
    """The history of rounds, with the regret against the rule that knows ``u.x``."""
    regret = None
    if projection is not None:
        best = projection[: len(forwarded)] >= 0.0
        regret = (forwarded != relevant).astype(np.float64) - (best != relevant)
    return FilteringHistory(forwarded=forwarded, margins=margins, relevant=relevant, regret=regret)
