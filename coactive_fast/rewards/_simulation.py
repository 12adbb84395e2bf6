"""Environments for bandits, and the simulation of a bandit in one."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from .._arrays import labels_of
from .._initialized import Initialized
from .._typing import Progress, Real, Seed, Self, Vector
from ..learner._chance import Chance
from ..learner._check import count, number
from ..learner._random import make_generator
from ._history import BanditHistory
from ._learners import ArmBandit, LinearBandit
from ._rules import BanditRun

MOST = 2**40  # rounds, which each leave 32 bytes


class RewardTable(Initialized):
    """The rewards of all actions in every round; round t uses row t modulo their number.

    Parameters
    ----------
    X : array_like
        For an `ArmBandit` the rows (T, d). For a `LinearBandit` the actions: (n, d), the same in
        all rounds, or (T, n, d).
    rewards : array_like of shape (T, n)
        What each of the n actions would earn in each round.
    context : array_like of shape (T, p), optional
        For a `LinearBandit` with as many `context_features`.

    See Also
    --------
    LinearRewards : Rewards that are drawn.
    simulate_bandit : What plays against it.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> table = cf.RewardTable([[1.0], [1.0]], [[0.0, 1.0], [0.0, 1.0]])
    >>> cf.simulate_bandit(cf.ArmBandit(2), table, rounds=3).choice
    array([0, 1, 1])
    """

    X: Vector
    rewards: Vector
    context: Vector | None

    def __init__(self, X: ArrayLike, rewards: ArrayLike, *,
                 context: ArrayLike | None = None) -> None:
        self.rewards = _filled("rewards", rewards, (2,))
        self.X = _filled("X", X, (2, 3))
        self.context = None if context is None else _filled("context", context, (2,))

    @classmethod
    def from_labels(cls, X: ArrayLike, y: ArrayLike, n_classes: SupportsIndex) -> Self:
        """A classification set: reward 1 for the arm that is the label, else 0.

        Parameters
        ----------
        X : array_like of shape (T, d)
            The row of each round.
        y : array_like of int, shape (T,)
            The label that earns 1 in each round.
        n_classes : int
            How many labels there are, which are the actions.

        Returns
        -------
        RewardTable
            With one action a label.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.RewardTable.from_labels([[5.0], [6.0]], [1, 0], 2).rewards
        array([[0., 1.],
               [1., 0.]])
        """
        n_classes = count("n_classes", n_classes, least=1, most=MOST)
        return cls(X, np.eye(n_classes)[labels_of(y, "y", len(X), n_classes, n_classes == 2)])

    def _words(self, bandit, seed):
        """What a run is told of it; refuses a bandit that cannot play here."""
        T, n = self.rewards.shape
        arms = isinstance(bandit, ArmBandit)
        leading = (T,) if arms else (n,) if self.X.ndim == 2 else (T, n)
        if self.X.shape[:-1] != leading:
            raise ValueError(f"X must have shape {leading} and features for {T} rounds of {n} "
                             f"actions and a {type(bandit).__name__}, got {self.X.shape}")
        if arms and n != bandit.n_arms:
            raise ValueError(f"rewards must have {bandit.n_arms} columns, one an arm, got {n}")
        inside = (self.rewards >= 0) & (self.rewards <= 1)
        if bandit._parameters["link"] == "logistic" and not inside.all():
            raise ValueError('rewards must be in [0, 1] with link="logistic"')
        p = 0 if arms else bandit._parameters["context_features"]
        if p == 0 and self.context is not None:
            raise ValueError("context has no meaning for this bandit")
        if p and (self.context is None or self.context.shape != (T, p)):
            raise ValueError(f"context must have shape ({T}, {p}) for this bandit")
        return {"X": self.X.reshape(-1, self.X.shape[-1]), "n": n, "d": self.X.shape[-1], "T": T,
                "same": not arms and self.X.ndim == 2, "rewards": self.rewards, "weights": None,
                "noise": 0.0, "contexts": self.context, "world": None}


class LinearRewards(Initialized):
    """Rewards that are linear in the features, with normal noise.

    Parameters
    ----------
    weights : array_like
        For a `LinearBandit` (d,): the mean reward of a row x is ``weights.x``. For an `ArmBandit`
        (n_arms, d): of arm i it is ``weights[i].x``.
    actions : int or array_like, optional
        `LinearBandit`: how many rows of length 1, uniform on the sphere, are drawn in each round
        (None: 10), or the rows (n, d), the same in all rounds, or (T, n, d). `ArmBandit`: the
        rows (T, d), or None: one of length 1 is drawn. Round t uses those of t modulo T.
    noise : float, default 0.1
        Standard deviation of the reward.

    See Also
    --------
    RewardTable : Rewards that are known for every action.
    simulate_bandit : What plays against it.

    Notes
    -----
    Drawn from the seed in each round: ``n d`` standard normals where rows are drawn, row after
    row, and after the choice one for the noise, also where `noise` is 0.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> world = cf.LinearRewards([1.0, -2.0], actions=[[1.0, 0.0], [0.0, 1.0]], noise=0.0)
    >>> cf.simulate_bandit(cf.LinearBandit(), world, rounds=3).reward
    array([1., 1., 1.])
    """

    weights: Vector
    actions: int | Vector | None
    noise: float

    def __init__(self, weights: ArrayLike, *, actions: SupportsIndex | ArrayLike | None = None,
                 noise: Real = 0.1) -> None:
        self.weights = _filled("weights", weights, (1, 2))
        self.actions = actions
        if np.ndim(actions) > 0:
            self.actions = _filled("actions", actions, (2, 3))
        elif actions is not None:
            self.actions = count("actions", actions, least=1, most=MOST)
        self.noise = number("noise", noise, least=0.0)

    def _words(self, bandit, seed):
        """As of `RewardTable`."""
        if bandit._parameters["link"] == "logistic":
            raise ValueError('environment: linear rewards leave [0, 1], and link="logistic" learns '
                             "none beyond")
        arms, d = isinstance(bandit, ArmBandit), self.weights.shape[-1]
        shape = (bandit.n_arms, d) if arms else (d,)
        if self.weights.shape != shape:
            raise ValueError(f"weights must have shape {shape} for this bandit, got "
                             f"{self.weights.shape}")
        if not arms and bandit._parameters["context_features"]:
            raise ValueError("context_features must be 0: the environment has no contexts")
        if arms and isinstance(self.actions, int):
            raise ValueError("actions must be rows of shape (T, d), or None, for an ArmBandit")
        given = self.actions if isinstance(self.actions, np.ndarray) else None
        n, T = 10 if self.actions is None else self.actions, 1
        if given is not None:
            if given.ndim not in ((2,) if arms else (2, 3)) or given.shape[-1] != d:
                raise ValueError(f"actions must hold rows of {d} features, got shape "
                                 f"{given.shape}")
            n, T = given.shape[-2], 1 if not arms and given.ndim == 2 else len(given)
            given = given.reshape(-1, d)
        return {"X": given, "n": bandit.n_arms if arms else n, "d": d, "T": T, "same": T == 1,
                "rewards": None, "weights": self.weights, "noise": self.noise, "contexts": None,
                "world": Chance(make_generator(seed))}


def simulate_bandit(bandit: LinearBandit | ArmBandit,
                    environment: RewardTable | LinearRewards | tuple[Any, Any], *,
                    rounds: SupportsIndex | None = None, seed: Seed = None,
                    progress: Progress = None) -> BanditHistory:
    """Lets a bandit choose and learn, round after round; it goes on from what it has learned.

    One compiled loop, which gives what the loop of `choose` and `learn` gives, bit for bit.

    Parameters
    ----------
    bandit : LinearBandit or ArmBandit
        It goes on learning from where it stands.
    environment : RewardTable, LinearRewards, or a tuple
        ``(X, rewards)`` stands for ``RewardTable(X, rewards)``; for an `ArmBandit` rewards may
        also be labels, one an arm.
    rounds : int, optional
        None: once through the table.
    seed : optional
        For what the environment draws; what the bandit draws is its own.
    progress : bool or callable, optional
        See `Confidit.run`.

    Returns
    -------
    BanditHistory
        Also kept as ``bandit.last_history``.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> cf.simulate_bandit(cf.ArmBandit(2), ([[1.0], [1.0]], [1, 1])).reward
    array([0., 1.])
    """
    if not isinstance(bandit, (ArmBandit, LinearBandit)):
        raise TypeError(f"bandit must be a LinearBandit or an ArmBandit, got "
                        f"{type(bandit).__name__}")
    environment = _environment(bandit, environment)
    words = environment._words(bandit, seed)
    if rounds is None and words["rewards"] is None:
        raise ValueError("rounds must be given: the environment has no end")
    rounds = words["T"] if rounds is None else count("rounds", rounds, most=MOST)
    history: BanditHistory = BanditRun(bandit._engine, rounds, **words).play(bandit, progress)
    return history


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
    """A finite float64 array, not empty, of as many dimensions as one of those given."""
    if isinstance(value, np.ma.MaskedArray):
        raise ValueError(f"{name} must not be a masked array")
    try:
        given = np.asarray(value)
    except ValueError as error:
        raise TypeError(f"{name} must hold real numbers: {error}") from None
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {given.dtype}")
    if given.ndim not in dimensions:
        raise ValueError(f"{name} must have {' or '.join(map(str, dimensions))} dimensions, got "
                         f"{given.ndim}")
    if not given.size:
        raise ValueError(f"{name} must not be empty")
    given = np.ascontiguousarray(given, dtype=np.float64)
    if not np.isfinite(given).all():
        raise ValueError(f"{name} must be finite")
    return given
