"""`ArmBandit` behind the interface of MABWiser; that package itself is not needed.

A program that has ``from mabwiser.mab import MAB, LearningPolicy`` takes both from here instead.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

import coactive_fast as cf
from coactive_fast._initialized import Initialized
from coactive_fast._typing import RowsLike
from coactive_fast.learner._check import count, number, switch

__all__ = ["MAB", "LearningPolicy"]


class LinearPolicy(Protocol):
    """What a policy of `LearningPolicy` has, and one of MABWiser's own."""

    @property
    def l2_lambda(self) -> float: ...
    @property
    def scale(self) -> bool: ...


class LearningPolicy:
    """The contextual policies of MABWiser that are regressions, by their own names.

    Examples
    --------
    >>> from coactive_fast.adapters.mabwiser import LearningPolicy
    >>> LearningPolicy.LinUCB(alpha=1.25)
    LinUCB(alpha=1.25, l2_lambda=1.0, scale=False)
    """

    class LinUCB(NamedTuple):
        """The largest estimate plus alpha times its spread.

        Attributes
        ----------
        alpha : float
            How many spreads count.
        l2_lambda : float
            The ridge of each arm's regression.
        scale : bool
            Must be False.
        """

        alpha: float = 1.0
        l2_lambda: float = 1.0
        scale: bool = False

    class LinTS(NamedTuple):
        """The largest estimate by weights drawn from N(w, alpha^2 A^-1).

        Attributes
        ----------
        alpha : float
            How wide is drawn.
        l2_lambda : float
            The ridge of each arm's regression.
        scale : bool
            Must be False.
        """

        alpha: float = 1.0
        l2_lambda: float = 1.0
        scale: bool = False

    class LinGreedy(NamedTuple):
        """The largest estimate, with probability epsilon any arm.

        Attributes
        ----------
        epsilon : float
            In [0, 1].
        l2_lambda : float
            The ridge of each arm's regression.
        scale : bool
            Must be False.
        """

        epsilon: float = 0.1
        l2_lambda: float = 1.0
        scale: bool = False


class MAB(Initialized):
    """Arms of any hashable kind, each with a regression on the contexts.

    Parameters
    ----------
    arms : list
        Distinct and hashable.
    learning_policy : LinUCB, LinTS or LinGreedy, or an ArmBandit
        One of `LearningPolicy` here or of MABWiser's own; or an `ArmBandit` of this package with
        any parameters, as a pattern: it is cloned, never changed. ``scale=True`` is refused:
        scale the contexts before.
    neighborhood_policy : None
        There is none here.
    seed : int, default 123456
        Of what is drawn (a pattern has its own).
    n_jobs : int, default 1
        Taken and not used: nothing here runs in other processes.
    backend : str, optional
        Taken and not used: nothing here runs in other processes.

    Attributes
    ----------
    arms : list
        The arms, in the order in which they were added.
    learning_policy
        As given.
    bandit : ArmBandit
        The one that learned; a number for each arm, those of removed arms included.

    See Also
    --------
    coactive_fast.ArmBandit : What it stands on, with more to choose from.

    Notes
    -----
    What MABWiser solves for again at each call is kept up here, so `partial_fit` and `predict`
    cost what a row costs. Ties go to the arm that came first. `predict_expectations` gives LinUCB's
    bounds as MABWiser does; of LinTS, LinGreedy and any other pattern the estimates themselves,
    without chance (with a logistic link their sigmoid).

    Contexts of `fit` and `predict` may be lists, arrays, scipy.sparse, DataFrames. Where there are
    none each decision is learned with the one feature 1.0.

    Examples
    --------
    >>> from coactive_fast.adapters.mabwiser import MAB, LearningPolicy
    >>> mab = MAB(["red", "blue"], LearningPolicy.LinUCB(alpha=0.5))
    >>> mab.fit(["red", "blue", "red"], [1.0, 0.0, 1.0], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> mab.predict([[1.0, 0.0], [0.5, 0.5]])
    ['red', 'red']
    """

    arms: list[Any]
    learning_policy: LinearPolicy | cf.ArmBandit
    seed: int
    bandit: cf.ArmBandit
    _pattern: cf.ArmBandit
    _numbers: dict[Any, int]
    _decided: set[Any]
    _fitted: bool

    def __init__(self, arms: list[Any], learning_policy: LinearPolicy | cf.ArmBandit,
                 neighborhood_policy: None = None, seed: int = 123456, n_jobs: int = 1,
                 backend: str | None = None) -> None:
        if not isinstance(arms, list) or not arms:
            raise TypeError("arms must be a list with at least one arm")
        for arm in arms:
            _check_arm(arm)
        if len(set(arms)) < len(arms):
            raise ValueError("arms must be distinct")
        if neighborhood_policy is not None:
            raise ValueError("neighborhood_policy must be None: there is none here")
        count("n_jobs", abs(n_jobs) if isinstance(n_jobs, int) else n_jobs, least=1)
        self.arms = list(arms)
        self.learning_policy = learning_policy
        self.seed = seed
        self._pattern = _pattern_of(learning_policy, seed)
        self.bandit = self._make(len(arms))
        self._numbers = {arm: i for i, arm in enumerate(arms)}
        self._decided = set()
        self._fitted = False

    def fit(self, decisions: Sequence[Any] | NDArray[Any], rewards: ArrayLike,
            contexts: RowsLike | None = None) -> None:
        """Learns afresh from what was decided, the rewards, and the contexts.

        Parameters
        ----------
        decisions : sequence of arms, length n
            The arm that was chosen in each round.
        rewards : sequence of float, length n
            What the chosen arm earned in each round.
        contexts : array_like or sparse, shape (n, d), optional
            A row a round; None: the one feature 1.0.
        """
        bandit = self._make(len(self.arms))
        numbers = {arm: i for i, arm in enumerate(self.arms)}
        self._learn(bandit, numbers, decisions, rewards, contexts)
        self.bandit, self._numbers, self._fitted = bandit, numbers, True
        self._decided = set(_listed("decisions", decisions))

    def partial_fit(self, decisions: Sequence[Any] | NDArray[Any], rewards: ArrayLike,
                    contexts: RowsLike | None = None) -> None:
        """Goes on learning; at first it is `fit`.

        Parameters
        ----------
        decisions, rewards, contexts
            As of `fit`. Where a row is refused those before it are learned.
        """
        if not self._fitted:
            self.fit(decisions, rewards, contexts)
            return
        self._learn(self.bandit, self._numbers, decisions, rewards, contexts)
        self._decided |= set(_listed("decisions", decisions))

    def predict(self, contexts: RowsLike | None = None) -> Any:
        """The arm for each context: a list, or an arm where there is one context.

        Parameters
        ----------
        contexts : array_like or sparse, shape (n, d), optional
            A row a round; None: the one feature 1.0.

        Returns
        -------
        arm or list of arms
            One arm, or an arm a row where there are several rows of contexts.
        """
        return self._answers(contexts, self._predict)

    def predict_expectations(
            self, contexts: RowsLike | None = None) -> dict[Any, float] | list[dict[Any, float]]:
        """``{arm: expectation}`` for each context: a list, or a dict where there is one context.

        Parameters
        ----------
        contexts : array_like or sparse, shape (n, d), optional
            A row a round; None: the one feature 1.0.

        Returns
        -------
        dict or list of dicts
            The estimate of each arm; a dict a row where there are several rows.
        """
        return self._answers(contexts, self._expect)

    def add_arm(self, arm: Any, binarizer: None = None) -> None:
        """One arm more, of which nothing is known.

        Parameters
        ----------
        arm : hashable
            Its name, which no other arm may have.
        binarizer : None
            There is none here.
        """
        _check_arm(arm)
        if binarizer is not None:
            raise ValueError("binarizer must be None: none of these policies has one")
        if arm in self._numbers:
            raise ValueError(f"arm must be new, and {arm!r} is there")
        self._numbers[arm] = self.bandit.add_arm()
        self.arms.append(arm)

    def remove_arm(self, arm: Any) -> None:
        """An arm less.

        Parameters
        ----------
        arm : hashable
            One of `arms`.
        """
        if arm not in self._numbers:
            raise ValueError(f"arm must be one of {self.arms}, got {arm!r}")
        if len(self.arms) == 1:
            raise ValueError(f"arm must leave another one, and {arm!r} is the last")
        self.arms.remove(arm)
        self._decided.discard(arm)
        del self._numbers[arm]

    @property
    def cold_arms(self) -> list[Any]:
        """The arms that no decision was for."""
        return [arm for arm in self.arms if arm not in self._decided]

    # --- inside -------------------------------------------------------------------------------

    def _make(self, n_arms):
        """A fresh bandit."""
        return self._pattern.clone().set_params(n_arms=n_arms)

    def _learn(self, bandit, numbers, decisions, rewards, contexts):
        """All rows, after all that can be checked before was."""
        decisions = _listed("decisions", decisions)
        rewards = [number("rewards", one) for one in _listed("rewards", rewards)]
        if len(rewards) != len(decisions):
            raise ValueError(f"rewards must have length {len(decisions)} as decisions, got "
                             f"{len(rewards)}")
        rows = _rows(contexts, len(decisions))
        for decision in decisions:
            if not isinstance(decision, Hashable) or decision not in numbers:
                raise ValueError(f"decisions must be arms of {list(numbers)}, got {decision!r}")
        for row, decision, reward in zip(rows, decisions, rewards, strict=True):
            bandit.learn(row, numbers[decision], reward)

    def _answers(self, contexts, answer):
        if not self._fitted:
            raise RuntimeError("fit must be called before")
        arms = {i: arm for arm, i in self._numbers.items()}
        found = [answer(row, arms) for row in _rows(contexts, None)]
        return found[0] if len(found) == 1 else found

    def _predict(self, row, arms):
        allowed = np.zeros(self.bandit.n_arms, dtype=bool)
        allowed[list(arms)] = True
        return arms[self.bandit.choose(row, allowed=allowed)]

    def _expect(self, row, arms):
        means, widths = self.bandit.scores(row)
        if self.bandit.link == "logistic":
            means = 1.0 / (1.0 + np.exp(-means))
        elif self.bandit.explore == "ucb" and self.bandit.width != "theory":
            means = means + self.bandit.width * widths
        return {arm: float(means[i]) for i, arm in arms.items()}


def _pattern_of(policy, seed):
    """The bandit of a policy."""
    if isinstance(policy, cf.ArmBandit):
        return policy
    name = type(policy).__name__
    if name not in ("LinUCB", "LinTS", "LinGreedy"):
        raise TypeError("learning_policy must be LinUCB, LinTS or LinGreedy of LearningPolicy, or "
                        f"an ArmBandit, got {policy!r}")
    if switch("scale", policy.scale):
        raise ValueError("scale must be False: scale the contexts before")
    words = {"ridge": number("l2_lambda", policy.l2_lambda, above=0.0), "seed": seed}
    if name == "LinGreedy":
        # a floor is below 1; where every choice is by chance, greedy has no say left
        words["explore"], epsilon = "greedy", number("epsilon", policy.epsilon, least=0.0, most=1.0)
        words["floor"] = min(epsilon, np.nextafter(1.0, 0.0))
    else:
        words["explore"] = "ucb" if name == "LinUCB" else "thompson"
        words["width"] = number("alpha", policy.alpha, least=0.0)
    return cf.ArmBandit(1, **words)


def _check_arm(arm):
    if not isinstance(arm, Hashable):
        raise TypeError(f"arms must be hashable, got {type(arm).__name__}")
    if arm is None or arm != arm or arm in (float("inf"), float("-inf")):
        raise ValueError(f"arms must be hashable and neither None, NaN nor infinite, got {arm!r}")


def _listed(name, values):
    """A sequence, a 1-D array or a Series as a list of Python objects."""
    values = values.tolist() if hasattr(values, "tolist") else values
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"{name} must be a list, an array or a Series, got "
                        f"{type(values).__name__}")
    return list(values)


def _rows(contexts, n):
    """The contexts one by one; n, where it is known, is how many there must be."""
    if contexts is None:
        return [np.ones(1)] * (1 if n is None else n)
    if hasattr(contexts, "tocsr"):
        contexts = contexts.tocsr()
    else:
        contexts = np.asarray(contexts)
        if contexts.ndim != 2:
            raise TypeError(f"contexts must have 2 dimensions, got {contexts.ndim}")
    if n is not None and contexts.shape[0] != n:
        raise ValueError(f"contexts must have {n} rows as decisions, got {contexts.shape[0]}")
    return [contexts[i] if isinstance(contexts, np.ndarray) else contexts[i:i + 1]
            for i in range(contexts.shape[0])]
