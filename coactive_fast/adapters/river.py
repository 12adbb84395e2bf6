"""Learners as river classifiers, regressors and bandit policies (extra ``river``)."""

from __future__ import annotations

import copy
from typing import Any, Literal

import numpy as np
from river import bandit, base

import coactive_fast as cf
from coactive_fast._typing import Real, Whole
from coactive_fast.learner._extras import require

from ._dictionaries import INTERCEPT, Named
from ._pattern import fresh
from ._river_classifiers import OnlineClassifier
from ._river_kinds import (
    AROWClassifier,
    BanditronClassifier,
    ConfiditClassifier,
    PerceptronClassifier,
    SecondOrderPerceptronClassifier,
)

__all__ = [
    "AROWClassifier", "BanditronClassifier", "ConfiditClassifier", "ConfiditPolicy",
    "LinearBanditPolicy", "OnlineClassifier", "OnlineRidgeRegressor", "PerceptronClassifier",
    "SecondOrderPerceptronClassifier",
]


# --- rewards: a number instead of a label ---------------------------------------------------------


class OnlineRidgeRegressor(Named, base.MiniBatchRegressor):
    """`coactive_fast.OnlineRidge` as a river regressor that reads dictionaries.

    Parameters
    ----------
    link : {"identity", "logistic"}, default "identity"
        Logistic: targets in [0, 1], and so are the predictions.
    covariance : {"diagonal", "full"}, default "diagonal"
        Diagonal: any number of features, added as they come. Full: ridge regression itself, for
        at most `max_features` features, which must then be given.
    ridge, forget : float, default 1.0
        As for `coactive_fast.OnlineRidge`.
    intercept : bool, default True
        A feature more that is 1 in every row; it counts among `max_features`.
    max_features : int, optional
        None: 2**20 (diagonal).

    See Also
    --------
    coactive_fast.OnlineRidge : What learns inside.

    References
    ----------
    A. E. Hoerl, R. W. Kennard. Ridge regression: biased estimation for nonorthogonal problems.
    Technometrics 12, 1970.

    Examples
    --------
    >>> from coactive_fast.adapters.river import OnlineRidgeRegressor
    >>> model = OnlineRidgeRegressor(covariance="full", max_features=8, intercept=False)
    >>> for _ in range(99):
    ...     model.learn_one({"rooms": 2.0}, 6.0)
    >>> round(model.predict_one({"rooms": 3.0, "unknown": 1.0}), 1)
    9.0
    """

    def __init__(self, *, link: Literal["identity", "logistic"] = "identity",
                 covariance: Literal["diagonal", "full"] = "diagonal", ridge: Real = 1.0,
                 forget: Real = 1.0, intercept: bool = True,
                 max_features: Whole | None = None) -> None:
        self.link = link
        self.covariance = covariance
        self.ridge = ridge
        self.forget = forget
        self.intercept = intercept
        self.max_features = max_features
        self._learner = cf.OnlineRidge(link=link, covariance=covariance, ridge=ridge, forget=forget,
                                       max_features=self._take_names())

    def learn_one(self, x: dict[Any, Any], y: Any, w: Real = 1.0) -> None:
        """Learns one row, w times.

        Parameters
        ----------
        x : dict
            Numbers by name.
        y : float
            What is to be predicted.
        w : float, default 1.0
            How many times the row counts.
        """
        with self._known(x, True) as row:
            self._learner.learn(row, y, weight=w)

    def predict_one(self, x: dict[Any, Any]) -> float:
        """What y is expected to be.

        Parameters
        ----------
        x : dict
            Numbers by name; names that are not known are left out.

        Returns
        -------
        float
            0 before the first row; 0.5 with the logistic link.
        """
        with self._known(x, False) as row:
            return float(self._learner.predict(row)[0])

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """The rows of a pandas DataFrame, in one compiled loop; nothing where X, y or w is refused.

        A row that turns out to be too large on its way ends the loop there.

        Parameters
        ----------
        X : DataFrame
            A row an example, a column a feature.
        y : Series or array_like
            What is to be predicted for each row.
        w : float or array_like, default 1.0
            How many times each row counts.
        """
        with self._row.lock:
            names, rounds = len(self._features), self._learner.rounds
            try:
                rows = self._table(X, True)
                weight = np.asarray(w, dtype=float)
                if weight.shape not in ((), (rows.shape[0],)):
                    raise ValueError(f"w must be a number, or {rows.shape[0]} to go with X, "
                                     f"got shape {weight.shape}")
                self._learner.run(rows, np.asarray(y),
                                  weight=np.broadcast_to(weight, rows.shape[0]))
            except Exception:
                if self._learner.rounds == rounds:
                    self._forget_names(names)
                raise

    def predict_many(self, X: Any) -> Any:
        """`predict_one` for each row of a pandas DataFrame.

        Parameters
        ----------
        X : DataFrame
            A row an example, a column a feature.

        Returns
        -------
        Series
            With the index of X.
        """
        pandas = require("pandas", "pandas", "predict_many")
        with self._row.lock:
            return pandas.Series(self._learner.predict(self._table(X, False)), index=X.index)

    @property
    def weights(self) -> dict[Any, float]:
        """The weight of each feature by its name, a copy, as of river's `LinearRegression`.

        The intercept's is not among them: it is ``predict_one({})``, before the link.
        """
        with self._row.lock:
            # names are numbered as they come, and rows have room for more of them
            found = dict(zip(self._features, self._learner.weights.tolist(), strict=False))
        found.pop(INTERCEPT, None)
        return found


class _Policy(Named, bandit.base.ContextualPolicy):
    """Arms of any hashable kind, numbered as they come."""

    _numbers: dict[Any, int]
    _arms: list[Any]

    def _count(self, learner):
        """How many arms a learner has."""
        raise NotImplementedError

    def _add(self, learner):
        """One more."""
        raise NotImplementedError

    def _numbered(self, arm_ids, learner):
        """The learner, with an arm more for each id that is new; it is a copy where there is one.

        `_commit` makes it, and the new numbers, those of the policy.
        """
        new = [arm for arm in dict.fromkeys(arm_ids) if arm not in self._numbers]
        self._new = {arm: len(self._numbers) + i for i, arm in enumerate(new)}
        if len(self._numbers) + len(new) > self._count(learner):
            learner = copy.deepcopy(learner)
            while len(self._numbers) + len(new) > self._count(learner):
                self._add(learner)
        return learner

    def _commit(self, learner):
        self._learner = learner
        self._numbers |= self._new
        self._arms += self._new

    def update(self, arm_id: Any, context: dict[Any, Any], *reward_args: Any,
               **reward_kwargs: Any) -> None:
        """Learns the reward of an arm in a context, whoever chose it.

        Parameters
        ----------
        arm_id : hashable
            The arm that was pulled.
        context : dict
            The features under which it was pulled, by name.
        *reward_args
            The reward; river's own reward object gets it too.
        **reward_kwargs
            For river's reward object.
        """
        if len(reward_args) != 1:
            raise TypeError("reward must be given, as the third argument, and nothing behind it")
        with self._known(context or {}, True) as row:
            learner = self._numbered([arm_id], self._learner)
            number = self._new.get(arm_id, self._numbers.get(arm_id))
            learner.learn(row, number, reward_args[0])
            self._commit(learner)
        super().update(arm_id, context, *reward_args, **reward_kwargs)


class LinearBanditPolicy(_Policy):
    """`coactive_fast.ArmBandit` as a contextual policy of `river.bandit`.

    An arm is given by its id alone, a context by a dictionary; each arm has a regression of its
    own. ``pull`` chooses among the arms it is given, ``update`` learns the reward of one arm. An
    arm that has not been seen is added as it comes.

    Parameters
    ----------
    explore, width, link
        As for `coactive_fast.ArmBandit`.
    covariance : {"diagonal", "full"}, default "diagonal"
        As for `OnlineRidgeRegressor`.
    ridge, forget, floor, scale, power
        As for `coactive_fast.ArmBandit`.
    intercept, max_features
        As for `OnlineRidgeRegressor`.
    reward_obj, reward_scaler, burn_in
        As for the policies of river; the regression learns the reward as it is given, unscaled.
    seed
        As for `coactive_fast.ArmBandit`.

    See Also
    --------
    ConfiditPolicy : Where a reward is right or wrong.

    Examples
    --------
    >>> from coactive_fast.adapters.river import LinearBanditPolicy
    >>> policy = LinearBanditPolicy(width=0.1)
    >>> for _ in range(20):
    ...     for hour in (0.0, 1.0):
    ...         for arm in ("tea", "beer"):
    ...             policy.update(arm, {"late": hour}, float((arm == "beer") == hour))
    >>> policy.pull(["tea", "beer"], {"late": 0.0}), policy.pull(["tea", "beer"], {"late": 1.0})
    ('tea', 'beer')
    """

    def __init__(self, *, explore: Literal["ucb", "thompson", "squarecb", "greedy"] = "ucb",
                 width: Real | Literal["theory"] = 1.0,
                 link: Literal["identity", "logistic"] = "identity",
                 covariance: Literal["diagonal", "full"] = "diagonal", ridge: Real = 1.0,
                 forget: Real = 1.0, floor: Real = 0.0, scale: Real = 10.0, power: Real = 0.5,
                 intercept: bool = True, max_features: Whole | None = None, reward_obj: Any = None,
                 reward_scaler: Any = None, burn_in: int = 0, seed: Any = None) -> None:
        super().__init__(reward_obj, reward_scaler, burn_in)
        self.explore = explore
        self.width = width
        self.link = link
        self.covariance = covariance
        self.ridge = ridge
        self.forget = forget
        self.floor = floor
        self.scale = scale
        self.power = power
        self.seed = seed
        self.intercept = intercept
        self.max_features = max_features
        self._learner = cf.ArmBandit(
            1, explore=explore, width=width, link=link, covariance=covariance, ridge=ridge,
            forget=forget, floor=floor, scale=scale, power=power, seed=seed,
            max_features=self._take_names())
        self._numbers, self._arms = {}, []

    def _pull(self, arm_ids, context):  # type: ignore[override]
        arm_ids = _some(arm_ids)
        with self._known(context or {}, False) as row:
            learner = self._numbered(arm_ids, self._learner)
            numbers = {**self._numbers, **self._new}
            allowed = np.zeros(self._count(learner), dtype=bool)
            allowed[[numbers[arm] for arm in arm_ids]] = True
            chosen = learner.choose(row, allowed=allowed)
            self._commit(learner)
            return self._arms[chosen]

    def _count(self, learner):
        return learner.n_arms

    def _add(self, learner):
        learner.add_arm()


class ConfiditPolicy(_Policy):
    """`coactive_fast.Confidit` as a contextual policy of `river.bandit`.

    Parameters
    ----------
    learner : Confidit, optional
        What learns, as a pattern: it is cloned, never changed; diagonal. None: ``Confidit(2)``.
    intercept : bool, default True
        A feature more that is 1 in every context.
    reward_obj, reward_scaler, burn_in
        As for the policies of river.

    See Also
    --------
    LinearBanditPolicy : Where a reward is any number.

    Notes
    -----
    A reward is 1 or 0 (True or False, 1 or -1): whether the arm was the right one. Confidit
    chooses among all its classes, so `pull` must be given all arms that it knows.

    Examples
    --------
    >>> from coactive_fast.adapters.river import ConfiditPolicy
    >>> policy = ConfiditPolicy()
    >>> for _ in range(20):
    ...     arm = policy.pull(["no", "yes"], {"spam": 1.0})
    ...     policy.update(arm, {"spam": 1.0}, arm == "yes")
    >>> policy.pull(["no", "yes"], {"spam": 1.0})
    'yes'
    """

    def __init__(self, learner: Any = None, *, intercept: bool = True, reward_obj: Any = None,
                 reward_scaler: Any = None, burn_in: int = 0) -> None:
        super().__init__(reward_obj, reward_scaler, burn_in)
        self.learner = learner
        self.intercept = intercept
        self._learner = fresh(learner, 2)
        if not isinstance(self._learner, cf.Confidit):
            raise TypeError(f"learner must be a Confidit, got {learner!r}")
        if self._learner.get_params()["covariance"] != "diagonal":
            raise ValueError('learner must have covariance="diagonal": features come and go')
        self.max_features: int | None = self._learner.max_features
        self._learner.set_params(max_features=self._take_names())
        self._numbers, self._arms = {}, []

    def _pull(self, arm_ids, context):  # type: ignore[override]
        arm_ids = _some(arm_ids)
        with self._known(context or {}, False) as row:
            learner = self._numbered(arm_ids, self._learner)
            missing = set(self._numbers) - set(arm_ids)
            if missing:
                raise ValueError("arm_ids must hold all arms that are known, and lacks "
                                 f"{missing.pop()!r}")
            self._commit(learner)
            return self._arms[learner.choose(row)] if len(self._arms) > 1 else self._arms[0]

    def _count(self, learner):
        return learner.n_classes

    def _add(self, learner):
        learner.add_class()


def _some(arm_ids):
    """The arms that can be pulled."""
    arm_ids = list(arm_ids)
    if not arm_ids:
        raise ValueError("arm_ids must hold at least one arm")
    return arm_ids
