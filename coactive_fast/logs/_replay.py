"""Replay: a learner lives through those rounds of a log that it would have met."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from .._typing import Progress, Real, Seed
from ..learner._check import number
from ..learner._history import History, column, note, record
from ..learner._progress import reporter
from ..learner._random import make_generator
from ..multiclass import Banditron, Confidit, Newtron
from ..multiclass._learners import MulticlassLearner
from ..multiclass._rules import BanditFeedback
from ..rewards import ArmBandit, LinearBandit
from ._compiled import Accepted, BanditReplay, LabelReplay
from ._evaluate import refuse_misfit, refuse_no_context
from ._log import BanditLog

Replayable: TypeAlias = LinearBandit | ArmBandit | Confidit | Banditron | Newtron

BLOCK = 4096  # rounds that one learner after the other goes through


@record
class ReplayHistory(History):
    """The rounds of a log that a learner accepted: ``len()`` of them.

    Attributes
    ----------
    accepted : ndarray of intp
        Their numbers in the log, increasing.
    reward : ndarray of float64
        What came back in each.
    rounds : int
        How many rounds of the log it went through.
    average_reward : ndarray of float64
        The running mean.
    mean_reward, standard_error : float
        Of all: the mean, NaN for none, and the sample's standard deviation (N - 1) over the root
        of N, NaN below two.

    Examples
    --------
    >>> from coactive_fast.logs import ReplayHistory
    >>> ReplayHistory(accepted=[3, 8], reward=[1.0, 0.0], rounds=10).average_reward
    array([1. , 0.5])
    """

    accepted: NDArray[np.intp] = column(np.intp)
    reward: NDArray[np.float64] = column(np.float64)
    rounds: int | None = note(default=None)

    _derived = ("average_reward",)
    _scalars = ("mean_reward", "standard_error")
    _curve = "average_reward"

    @property
    def average_reward(self) -> NDArray[np.float64]:
        """The running mean of the reward."""
        return np.cumsum(self.reward) / np.arange(1, len(self) + 1)

    @property
    def mean_reward(self) -> float:
        """Of the rounds accepted; NaN where there is none."""
        return math.fsum(self.reward) / len(self) if len(self) else math.nan

    @property
    def standard_error(self) -> float:
        """Of `mean_reward`; NaN below two rounds."""
        if len(self) < 2:
            return math.nan
        squares = math.fsum((self.reward - self.mean_reward) ** 2)
        return math.sqrt(squares / (len(self) - 1) / len(self))


@overload
def replay(learner: Replayable, log: BanditLog, *, p_min: Real | None = None, seed: Seed = None,
           progress: Progress = None) -> ReplayHistory: ...
@overload
def replay(learner: Sequence[Replayable], log: BanditLog, *, p_min: Real | None = None,
           seed: Seed = None, progress: Progress = None) -> list[ReplayHistory]: ...
def replay(learner, log, *, p_min=None, seed=None, progress=None):
    """Lets a learner choose and learn in the rounds of a log, as it would have live.

    Parameters
    ----------
    learner : LinearBandit, ArmBandit, Confidit, Banditron or Newtron, or a list of them
        It learns; of a list each as if alone, bit for bit, all in one pass over the log. An
        `ArmBandit` and the multiclass learners go by the context; the arm, or the label, is the
        place in the round. A round may have fewer actions than there are arms (the first so many
        are allowed), but not fewer or more than there are labels. To the multiclass learners
        rewards must be 1 and 0: right and wrong.
    log : BanditLog
        The recorded decisions.
    p_min : float, optional
        A lower bound, in (0, 1], of the probability with which the logging policy takes any action
        that the learner may choose. None: the least probability in the log, whose own chance
        leaves a bias that vanishes with n.
    seed : optional
        For what is accepted: ``default_rng(seed).random(n)``, the same numbers for every learner.
    progress : bool or callable, optional
        See `Confidit.run`; with several learners it counts the rounds of all.

    Returns
    -------
    ReplayHistory, or a list of them
        Also kept as ``learner.last_history``, where an interrupted replay leaves its rounds so far.

    Notes
    -----
    Rejection sampling (Li et al. 2011). In each round of the log, in order, the learner chooses;
    the round is accepted where that is ``chosen[t]`` and ``u_t probability[t] < p_min``. It then
    learns the reward. Else nothing has changed but its generator. Given all before, a learner
    accepts a round with probability ``sum_a pi(a) p(a) p_min / p(a) = p_min``, whatever the
    context, so the rounds accepted are as those it would have met. Uniform logs accept every
    match.

    One compiled loop without the GIL: that of `choose` and `learn`, bit for bit. All is checked
    before anything is learned.

    References
    ----------
    Lihong Li, Wei Chu, John Langford, Xuanhui Wang: Unbiased Offline Evaluation of
    Contextual-bandit-based News Article Recommendation Algorithms, 2011.

    Examples
    --------
    >>> from coactive_fast import LinearBandit
    >>> from coactive_fast.logs import BanditLog, replay
    >>> log = BanditLog([[1.0], [2.0]] * 3, [0, 2, 4, 6], [1, 0, 1], [0.5, 0.1, 0.9], [0.5] * 3)
    >>> history = replay(LinearBandit(), log)
    >>> history.accepted, history.mean_reward
    (array([0, 2]), 0.7)
    """
    if not isinstance(log, BanditLog):
        raise TypeError(f"log must be a BanditLog, got {type(log).__name__}")
    several = isinstance(learner, (list, tuple))
    learners = list(learner) if several else [learner]
    if len({id(one) for one in learners}) < len(learners):
        raise ValueError("learner must not hold the same learner twice: it would learn twice")
    least = float(log.probability.min())
    p_min = least if p_min is None else number("p_min", p_min, above=0.0, most=1.0)
    if p_min > least:
        raise ValueError(f"p_min must not be above the least probability of log, {least}, got "
                         f"{p_min}")
    open_rounds = make_generator(seed).random(len(log)) * log.probability < p_min
    runs = [_run_of(one, log, Accepted(log.chosen, open_rounds)) for one in learners]
    histories = _play(learners, runs, log, progress)
    return histories if several else histories[0]


def _run_of(learner, log, accepted):
    """The rounds of a learner; refuses one that cannot go by this log."""
    if isinstance(learner, (LinearBandit, ArmBandit)):
        refuse_misfit(learner, log)
        within = log.reward.min() >= 0.0 and log.reward.max() <= 1.0
        if learner.link == "logistic" and not within:
            raise ValueError('reward of log must be in [0, 1] with link="logistic"')
        return BanditReplay(learner._engine, log, accepted), accepted
    if not isinstance(learner, MulticlassLearner):
        raise TypeError("learner must be a LinearBandit, an ArmBandit or a multiclass learner told "
                        f"right or wrong, got {type(learner).__name__}")
    if not isinstance(learner, BanditFeedback):
        raise TypeError(f"learner must learn from the reward of what it chose, and a "
                        f"{type(learner).__name__} must be told the right label")
    refuse_no_context(learner, log)
    lengths = np.diff(log.offsets)
    wrong = np.flatnonzero(lengths != learner.n_classes)
    if wrong.size:
        raise ValueError(f"log must have {learner.n_classes} actions in each round, one a class, "
                         f"got {lengths[wrong[0]]} in round {wrong[0]}")
    if not ((log.reward == 0.0) | (log.reward == 1.0)).all():
        raise ValueError("reward of log must be 0 or 1, wrong or right, for a "
                         f"{type(learner).__name__}")
    return LabelReplay(learner._engine, log, accepted), accepted


def _play(learners, runs, log, progress):
    """All rounds, in blocks that one learner after the other goes through."""
    n, step = len(log), len(log) if len(runs) == 1 else BLOCK
    with reporter(progress) as report:
        try:
            for first in range(0, n, step):
                until = min(n, first + step)
                for i, (learner, (run, _)) in enumerate(zip(learners, runs, strict=True)):
                    before = first * len(runs) + i * (until - first)
                    run.up_to(learner._engine, until,
                              report and _counted(report, before - first, n * len(runs)))
        finally:
            for learner, (run, accepted) in zip(learners, runs, strict=True):
                rounds = accepted.so_far()
                learner.last_history = ReplayHistory(
                    accepted=rounds, reward=log.reward[rounds], rounds=run.done)
    return [learner.last_history for learner in learners]


def _counted(report, before, total):
    return lambda done, _: report(before + done, total)
