"""What runs of the learners from rewards leave behind, and decisions that wait."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..learner._history import History, column, record


class Decision(NamedTuple):
    """A choice that waits for its reward.

    Attributes
    ----------
    id : int
        By which `reward` and `drop` know it; they count from 0.
    action : int
        The index chosen.
    probability : float
        With which it was chosen; NaN for thompson unless samples were asked for.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> cf.LinearBandit().decide([[1.0], [2.0]])
    Decision(id=0, action=1, probability=1.0)
    """

    id: int
    action: int
    probability: float


@record
class RegressionHistory(History):
    """A run of `OnlineRidge`, row by row.

    Attributes
    ----------
    predictions : ndarray of float64, shape (T,)
        Of each row before it was learned.
    loss : ndarray of float64, shape (T,)
        The squared error ``(y - prediction)^2``, or the log loss; unweighted.
    average_loss : ndarray of float64, shape (T,)
        Its running mean.

    Examples
    --------
    >>> from coactive_fast.rewards import RegressionHistory
    >>> RegressionHistory(predictions=[0.0, 0.0], loss=[4.0, 0.0]).average_loss
    array([4., 2.])
    """

    predictions: NDArray[np.float64] = column(np.float64)
    loss: NDArray[np.float64] = column(np.float64)

    _derived = ("average_loss",)
    _curve = "average_loss"

    @property
    def average_loss(self) -> NDArray[np.float64]:
        """The running mean of the loss."""
        return np.cumsum(self.loss) / np.arange(1, len(self) + 1)


@record
class BanditHistory(History):
    """A simulation of a bandit, round by round.

    Attributes
    ----------
    reward : ndarray of float64, shape (T,)
        Of the action chosen.
    regret : ndarray of float64, shape (T,)
        The mean reward of the best action less that of the one chosen; in a table a reward is
        its own mean.
    choice : ndarray of intp, shape (T,)
        What was chosen in each round.
    probability : ndarray of float64, shape (T,)
        With which it was chosen; NaN for thompson.
    average_reward, cumulative_regret, average_regret : ndarray of float64, shape (T,)
        The running mean of the reward; the running sum and mean of the regret.

    Examples
    --------
    >>> from coactive_fast.rewards import BanditHistory
    >>> history = BanditHistory(reward=[4.0, 2.0], regret=[1.0, 1.0], choice=[0, 0],
    ...                         probability=[1.0, 1.0])
    >>> history.average_reward, history.cumulative_regret
    (array([4., 3.]), array([1., 2.]))
    """

    reward: NDArray[np.float64] = column(np.float64)
    regret: NDArray[np.float64] = column(np.float64)
    choice: NDArray[np.intp] = column(np.intp)
    probability: NDArray[np.float64] = column(np.float64)

    _derived = ("average_reward", "cumulative_regret", "average_regret")
    _curve = "average_regret"

    @property
    def average_reward(self) -> NDArray[np.float64]:
        """The running mean of the reward."""
        return np.cumsum(self.reward) / np.arange(1, len(self) + 1)

    @property
    def cumulative_regret(self) -> NDArray[np.float64]:
        """The running sum of the regret."""
        return np.cumsum(self.regret)

    @property
    def average_regret(self) -> NDArray[np.float64]:
        """The running mean of the regret."""
        return self.cumulative_regret / np.arange(1, len(self) + 1)
