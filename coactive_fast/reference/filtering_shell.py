"""The protocol of the slow filters, and the history of a run.

A round is ``forward(x)``, which says whether x is forwarded and counts the round, and then, where
the label comes to be known, ``learn(x, relevant)``, which does not. In formulas y is +1 for
relevant and -1 for not relevant, N the number of examples learned so far and t the number of the
round to come, from 1.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coactive_fast._typing import RowsLike, Vector

from . import _check as check
from ._row_learner import RowLearner

FEEDBACK = ("forwarded", "full")


@dataclasses.dataclass(frozen=True, eq=False)
class FilteringHistory:
    """What happened in the rounds of one `run`, one entry a round.

    Attributes
    ----------
    forwarded : ndarray of bool
        Whether the row of each round was forwarded.
    margins : ndarray of float
        As read before each decision.
    relevant : ndarray of bool
        The labels.

    Notes
    -----
    A ratio of nothing to nothing is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast.reference.filtering_shell import FilteringHistory
    >>> yes, no = True, False
    >>> history = FilteringHistory(np.array([yes, yes]), np.zeros(2), np.array([yes, no]))
    >>> history.precision, history.recall, round(history.f_measure, 3)
    (0.5, 1.0, 0.667)
    """

    forwarded: NDArray[np.bool_]
    margins: Vector
    relevant: NDArray[np.bool_]

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


class Filter(RowLearner):
    """The protocol of all filters; a subclass brings ``_margin(x)`` and ``_learn(x, y)``.

    Attributes
    ----------
    rounds : int
        How often `forward` was called.
    learned : int
        N, how often `learn` was called.
    feedback : {"forwarded", "full"}
        Which labels `run` shows the filter.
    """

    feedback: Literal["forwarded", "full"] = "forwarded"

    def _start(self):
        self.learned = 0

    def margin(self, x: RowsLike) -> float:
        """What is compared with the threshold; a pure reading.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.PerceptronFilter().margin([1.0, 0.0])
        0.0
        """
        return self._margin(self._row(x))

    @property
    def threshold(self) -> float:
        """The threshold of the round to come.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.PerceptronFilter().threshold
        0.0
        """
        return 0.0

    def forward(self, x: RowsLike) -> bool:
        """Whether x is forwarded; counts the round.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.PerceptronFilter()
        >>> learner.forward([1.0, 0.0]), learner.rounds
        (True, 1)
        """
        x = self._row(x)
        forwarded = self._decide(x)
        self._dimension = x.size
        self.rounds += 1
        return forwarded

    def learn(self, x: RowsLike, relevant: bool | np.bool_) -> None:
        """Takes in the label of x, forwarded before or not.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.PerceptronFilter()
        >>> learner.learn([1.0, 0.0], False)
        >>> learner.margin([2.0, 0.0]), learner.learned
        (-2.0, 1)
        """
        x = self._row(x)
        self._learn(x, 1.0 if check.answer("relevant", relevant) else -1.0)
        self._dimension = x.size
        self.learned += 1

    def run(self, X: RowsLike, y: ArrayLike) -> FilteringHistory:
        """Forward row by row; the labels y that `feedback` grants are learned.

        Returns
        -------
        FilteringHistory
            The decisions with the labels.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> history = reference.PerceptronFilter().run([[1.0], [1.0]], [False, True])
        >>> history.forwarded, history.margins
        (array([ True, False]), array([ 0., -1.]))
        """
        X = self._rows(X)
        relevant = check.flags("y", y, X.shape[0])
        forwarded, margins = np.zeros(relevant.size, dtype=bool), np.zeros(relevant.size)
        for t, label in enumerate(relevant.tolist()):
            margins[t] = self.margin(X[t])
            forwarded[t] = self.forward(X[t])
            if forwarded[t] or self.feedback == "full":
                self.learn(X[t], label)
        return FilteringHistory(forwarded, margins, relevant)

    def _decide(self, x):
        return self._margin(x) >= self.threshold

    def _falling(self, scale):
        """``-sqrt(scale ln t / N)``, minus infinity for N = 0."""
        if self.learned == 0:
            return -math.inf
        return -math.sqrt(scale * math.log(self.rounds + 1) / self.learned)
