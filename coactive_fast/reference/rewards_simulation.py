"""Slow twin of the simulation of bandits: environments, and a literal loop of choose and learn.

What m, q and sigma stand for in the formulas, says `rewards_shell`.
"""

from __future__ import annotations

import dataclasses
import math
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coactive_fast._typing import Real, Seed, Vector

from . import _check as check
from .rewards import ArmBandit, LinearBandit


@dataclasses.dataclass(frozen=True, eq=False)
class BanditHistory:
    """One simulation, one entry a round; its attributes are those of the product's.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast.reference.rewards_simulation import BanditHistory
    >>> one = np.ones(2)
    >>> h = BanditHistory(np.array([4.0, 2.0]), one, np.zeros(2, dtype=int), one)
    >>> h.average_reward, h.cumulative_regret
    (array([4., 3.]), array([1., 2.]))
    """

    reward: Vector
    regret: Vector
    choice: NDArray[np.intp]
    probability: Vector

    @property
    def average_reward(self) -> Vector:
        """The mean reward of the first t rounds, for every t."""
        return np.cumsum(self.reward) / np.arange(1, self.reward.size + 1)

    @property
    def cumulative_regret(self) -> Vector:
        """The sum of the regret of the first t rounds, for every t."""
        return np.cumsum(self.regret)

    @property
    def average_regret(self) -> Vector:
        """The mean regret of the first t rounds, for every t."""
        return self.cumulative_regret / np.arange(1, self.regret.size + 1)


class RewardTable:
    """The rewards of all actions in every round, as of `coactive_fast.RewardTable`.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> table = reference.RewardTable([[1.0], [1.0]], [[0.0, 1.0], [0.0, 1.0]])
    >>> reference.simulate_bandit(reference.ArmBandit(2), table, rounds=3).choice
    array([0, 1, 1])
    """

    def __init__(self, X: ArrayLike, rewards: ArrayLike, *,
                 context: ArrayLike | None = None) -> None:
        self.rewards = check.table("rewards", rewards)
        self.X = _filled("X", X, (2, 3))
        self.context = None if context is None else check.table("context", context)

    @classmethod
    def from_labels(cls, X: ArrayLike, y: ArrayLike, n_classes: SupportsIndex) -> RewardTable:
        """A classification set: reward 1 for the arm that is the label, else 0.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.RewardTable.from_labels([[5.0], [6.0]], [1, 0], 2).rewards
        array([[0., 1.],
               [1., 0.]])
        """
        n_classes = check.positive_count("n_classes", n_classes)
        return cls(X, np.eye(n_classes)[check.labels("y", y, len(X), n_classes)])

    def _for(self, bandit, seed):
        """``(play, noise, T)``: play(t) gives the rows, the context and the mean rewards."""
        self._fits(bandit)
        T = len(self.rewards)

        def play(t):
            t %= T
            rows = self.X if self._same_actions(bandit) else self.X[t]
            return rows, None if self.context is None else self.context[t], self.rewards[t]

        return play, lambda: 0.0, T

    def _same_actions(self, bandit):
        return isinstance(bandit, LinearBandit) and self.X.ndim == 2

    def _fits(self, bandit):
        """Refuse a bandit that cannot play here."""
        T, n = self.rewards.shape
        arms = isinstance(bandit, ArmBandit)
        leading = (T,) if arms else (n,) if self.X.ndim == 2 else (T, n)
        if self.X.shape[:-1] != leading:
            raise ValueError(f"X must have shape {leading} and features for {T} rounds of {n} "
                             f"actions and a {type(bandit).__name__}, got {self.X.shape}")
        if arms and n != bandit.n_arms:
            raise ValueError(f"rewards must have {bandit.n_arms} columns, one an arm, got {n}")
        if bandit.link == "logistic" and not ((self.rewards >= 0) & (self.rewards <= 1)).all():
            raise ValueError('rewards must be in [0, 1] with link="logistic"')
        p = 0 if arms else bandit.context_features
        if p == 0 and self.context is not None:
            raise ValueError("context has no meaning for this bandit")
        if p and (self.context is None or self.context.shape != (T, p)):
            raise ValueError(f"context must have shape ({T}, {p}) for this bandit")


class LinearRewards:
    """Linear rewards with normal noise, as of `coactive_fast.LinearRewards`.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> bandit = reference.LinearBandit()
    >>> world = reference.LinearRewards([1.0, -2.0], actions=[[1.0, 0.0], [0.0, 1.0]], noise=0.0)
    >>> reference.simulate_bandit(bandit, world, rounds=3).reward
    array([1., 1., 1.])
    """

    def __init__(self, weights: ArrayLike, *, actions: ArrayLike | None = None,
                 noise: Real = 0.1) -> None:
        self.weights = _filled("weights", weights, (1, 2))
        self.actions = actions
        if np.ndim(actions) > 0:
            self.actions = _filled("actions", actions, (2, 3))
        elif actions is not None:
            self.actions = check.positive_count("actions", actions)
        self.noise = check.within("noise", noise, "[0, inf)")

    def _for(self, bandit, seed):
        """As of `RewardTable`."""
        self._fits(bandit)
        rng = check.generator("seed", seed)
        arms, d = isinstance(bandit, ArmBandit), self.weights.shape[-1]
        given = self.actions if isinstance(self.actions, np.ndarray) else None
        drawn = (d,) if arms else (10 if self.actions is None else self.actions, d)

        def play(t):
            if given is None:
                rows = rng.standard_normal(drawn)
                rows = rows / np.sqrt(np.sum(rows**2, axis=-1, keepdims=True))
            else:
                rows = given[t % len(given)] if arms or given.ndim == 3 else given
            return rows, None, self.weights @ rows if arms else rows @ self.weights

        return play, lambda: self.noise * rng.standard_normal(), None

    def _fits(self, bandit):
        """Refuse a bandit that cannot play here."""
        if bandit.link == "logistic":
            raise ValueError('environment: linear rewards leave [0, 1], and link="logistic" learns '
                             "none beyond")
        arms, d = isinstance(bandit, ArmBandit), self.weights.shape[-1]
        shape = (bandit.n_arms, d) if arms else (d,)
        if self.weights.shape != shape:
            raise ValueError(f"weights must have shape {shape} for this bandit, got "
                             f"{self.weights.shape}")
        if not arms and bandit.context_features:
            raise ValueError("context_features must be 0: the environment has no contexts")
        if arms and isinstance(self.actions, int):
            raise ValueError("actions must be rows of shape (T, d), or None, for an ArmBandit")
        if isinstance(self.actions, np.ndarray):
            dimensions = (2,) if arms else (2, 3)
            if self.actions.ndim not in dimensions or self.actions.shape[-1] != d:
                raise ValueError(f"actions must hold rows of {d} features, got shape "
                                 f"{self.actions.shape}")


def simulate_bandit(bandit: LinearBandit | ArmBandit,
                    environment: RewardTable | LinearRewards | tuple[ArrayLike, ArrayLike], *,
                    rounds: SupportsIndex | None = None, seed: Seed = None) -> BanditHistory:
    """Let a bandit choose and learn, round after round, as `coactive_fast.simulate_bandit` does.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> bandit = reference.ArmBandit(2)
    >>> reference.simulate_bandit(bandit, ([[1.0], [1.0]], [1, 1])).reward
    array([0., 1.])
    """
    if not isinstance(bandit, (ArmBandit, LinearBandit)):
        raise TypeError(f"bandit must be a LinearBandit or an ArmBandit, got "
                        f"{type(bandit).__name__}")
    environment = _environment(bandit, environment)
    play, noise, T = environment._for(bandit, seed)
    if rounds is None and T is None:
        raise ValueError("rounds must be given: the environment has no end")
    rounds = T if rounds is None else check.count("rounds", rounds)
    arms = isinstance(bandit, ArmBandit)
    reward, regret, probability = np.zeros((3, rounds))
    choice = np.zeros(rounds, dtype=np.intp)
    for t in range(rounds):
        rows, context, means = play(t)
        words = {} if context is None else {"context": context}
        law = None if bandit.explore == "thompson" else bandit.probabilities(rows, **words)
        i = choice[t] = bandit.choose(rows, **words)
        probability[t] = math.nan if law is None else law[i]
        reward[t], regret[t] = means[i] + noise(), means.max() - means[i]
        if arms:
            bandit.learn(rows, i, reward[t])
        else:
            bandit.learn(rows[i], reward[t], **words)
    return BanditHistory(reward, regret, choice, probability)


def _environment(bandit, given):
    if isinstance(given, (RewardTable, LinearRewards)):
        return given
    if not isinstance(given, tuple) or len(given) != 2:
        raise TypeError("environment must be a RewardTable, LinearRewards or a tuple "
                        f"(X, rewards), got {type(given).__name__}")
    X, rewards = given
    if isinstance(bandit, ArmBandit) and np.ndim(rewards) == 1:
        return RewardTable.from_labels(X, rewards, bandit.n_arms)
    return RewardTable(X, rewards)


def _filled(name, value, dimensions):
    """A finite array, not empty, of as many dimensions as one of those given."""
    given = check.array(name, check.unmasked(name, value))
    if given.ndim not in dimensions:
        raise ValueError(f"{name} must have {' or '.join(map(str, dimensions))} dimensions, got "
                         f"{given.ndim}")
    if not given.size:
        raise ValueError(f"{name} must not be empty")
    return check.finite(name, check.real_array(name, given, given.ndim))
