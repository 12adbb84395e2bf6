"""Slow twin of replay: a learner lives through those rounds of a log that it would have met."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coactive_fast._typing import Real, Seed, Vector

from . import _check as check
from .multiclass_shell import MulticlassLearner
from .rewards import ArmBandit, LinearBandit


@dataclasses.dataclass(frozen=True, eq=False)
class ReplayHistory:
    """The rounds of a log that a learner accepted.

    Attributes
    ----------
    accepted : ndarray of intp
        Their numbers, increasing.
    reward : ndarray of float
        What came back in each.
    """

    accepted: NDArray[np.intp]
    reward: Vector

    @property
    def mean_reward(self) -> float:
        """NaN where nothing was accepted."""
        return math.fsum(self.reward) / len(self.reward) if len(self.reward) else math.nan

    @property
    def standard_error(self) -> float:
        """The sample's standard deviation over the root of its size; NaN below two."""
        N = len(self.reward)
        if N < 2:
            return math.nan
        return math.sqrt(math.fsum((self.reward - self.mean_reward) ** 2) / (N - 1) / N)


def replay(learner: Any, log: Any, *, p_min: Real | None = None, seed: Seed = None) -> Any:
    """Rejection sampling: the rounds in which the learner does what the log did.

    Notes
    -----
    Round by round the learner chooses; where that is ``chosen[t]`` and ``u_t probability[t] <
    p_min``, with ``u = default_rng(seed).random(n)``, it learns the round's reward. A bandit of
    arms and a multiclass learner choose for ``context[t]``, the action being the place in the
    round; to the latter rewards of 1 and 0 say right and wrong. Several learners: each as if
    alone. p_min None: the least probability of the log.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> log = reference.logs.BanditLog([[1.0], [2.0]] * 2, [0, 2, 4], [1, 0], [0.5, 1.0],
    ...                                [0.5, 0.5])
    >>> history = reference.logs.replay(reference.LinearBandit(), log)
    >>> history.accepted, history.mean_reward
    (array([0]), 0.5)
    """
    least = float(np.min(log.probability))
    p_min = least if p_min is None else check.within("p_min", p_min, "(0, 1]")
    if p_min > least:
        raise ValueError(f"p_min must not be above a logged probability, {least}, got {p_min}")
    u = check.generator("seed", seed).random(len(log))
    if isinstance(learner, (list, tuple)):
        return [_replayed(one, log, p_min, u) for one in learner]
    return _replayed(learner, log, p_min, u)


def _replayed(learner, log, p_min, u):
    choose, learn = _calls(learner, log)
    accepted = []
    for t in range(len(log)):
        if choose(t) == log.chosen[t] and u[t] * log.probability[t] < p_min:
            learn(t)
            accepted.append(t)
    accepted = np.array(accepted, dtype=np.intp)
    return ReplayHistory(accepted, log.reward[accepted])


def _calls(learner, log):
    """``(choose(t), learn(t))``."""
    lengths = np.diff(log.offsets)
    if isinstance(learner, LinearBandit):
        if learner.context_features and log.context is None:
            raise ValueError("log must have a context for this learner")
        deep = bool(learner.context_features)

        def words(t):
            return {"context": log.context[t]} if deep else {}

        return (lambda t: learner.choose(log.features[log.offsets[t]:log.offsets[t + 1]],
                                         **words(t)),
                lambda t: learner.learn(log.features[log.offsets[t] + log.chosen[t]],
                                        log.reward[t], **words(t)))
    if log.context is None:
        raise ValueError("log must have a context for this learner")
    if isinstance(learner, ArmBandit):
        if lengths.max() > learner.n_arms:
            raise ValueError(f"log must have at most {learner.n_arms} actions a round, one an arm")
        arms = np.arange(learner.n_arms)
        return (lambda t: learner.choose(log.context[t], allowed=arms < lengths[t]),
                lambda t: learner.learn(log.context[t], int(log.chosen[t]), log.reward[t]))
    if not isinstance(learner, MulticlassLearner) or learner._full_information:
        raise TypeError(f"learner must learn from what it chose alone, and "
                        f"{type(learner).__name__} does not")
    if (lengths != learner.n_classes).any():
        raise ValueError(f"log must have {learner.n_classes} actions in each round, one a class")
    if not np.isin(log.reward, (0.0, 1.0)).all():
        raise ValueError("reward must be 0 or 1 for a learner that is told right or wrong")
    return (lambda t: learner.choose(log.context[t]),
            lambda t: learner.learn(log.context[t], int(log.chosen[t]), log.reward[t] == 1.0))
