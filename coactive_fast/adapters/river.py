"""Learners as river classifiers, regressors and bandit policies (extra ``river``)."""

import contextlib
import copy
import inspect

import numpy as np
from river import bandit, base

import coactive_fast as cf
from coactive_fast.adapters._dictionaries import Row, check_values
from coactive_fast.adapters._pattern import fresh
from coactive_fast.learner._check import count, switch
from coactive_fast.learner._extras import require

__all__ = ["ConfiditPolicy", "LinearBanditPolicy", "OnlineClassifier", "OnlineRidgeRegressor"]

FEATURES = 1 << 20
INTERCEPT = ("intercept",)  # a name that no row has


class OnlineClassifier(base.MiniBatchClassifier):
    """A multiclass learner of this package that reads dictionaries.

    Names of features and labels are numbered as they come; classes are added on the way. A round
    costs the dictionary's walk (30 to 50 ns an entry, 10 to 20 where the names are those of the
    row before), about 1 µs of calls, and the compiled step. A missing feature is one that is not
    in the dictionary; values that are no finite numbers are refused.

    Parameters
    ----------
    learner : multiclass learner, optional
        What learns, as a pattern: it is cloned, never changed. None: ``Confidit(2)``. It must
        take rows that widen, so not ``covariance="full"`` or ``"kernel"``. Where it has no
        `max_features` of its own, that is 2**20 here.

    Examples
    --------
    >>> from coactive_fast.adapters.river import OnlineClassifier
    >>> model = OnlineClassifier()
    >>> for _ in range(5):
    ...     model.learn_one({"good": 1.0}, "yes")
    ...     model.learn_one({"bad": 1.0}, "no")
    >>> model.predict_one({"bad": 1.0, "new": 2.0})
    'no'
    """

    def __init__(self, learner=None):
        self.learner = learner
        self._learner = fresh(learner, 2)
        if self._learner.get_params().get("covariance", "diagonal") != "diagonal":
            raise ValueError('learner must have covariance="diagonal": features come and go, and '
                             f"{learner!r} takes rows of one width")
        if self._learner.max_features is None:
            self._learner.set_params(max_features=FEATURES)
        self._features, self._labels, self._numbers = {}, [], {}
        self._sees_label = "label" not in inspect.signature(self._learner.learn).parameters
        self._row = Row(self._learner.max_features)

    @property
    def _multiclass(self):
        return True

    # --- one row ----------------------------------------------------------------------------

    def learn_one(self, x, y):
        """One round: a choice is made, and the learner told whether it was y."""
        with self._row.lock:
            before = len(self._features), len(self._labels), self._learner
            try:
                row = self._row.of(x, self._features, True)
                number = self._numbers.get(y)
                if number is None:
                    number = self._add_label(y)
                if self._sees_label:
                    self._learner.learn(row, number)
                else:
                    choice = self._learner.choose(row)
                    self._learner.learn(row, choice, choice == number)
            except Exception:
                self._go_back(*before)
                check_values(x)
                raise

    def predict_one(self, x, **ignored):
        """The label of the largest score; None before the first round."""
        if len(self._labels) < 2:
            return self._labels[0] if self._labels else None
        # who is told the label has no way to explore: its choice is the best score's
        best = self._learner.choose if self._sees_label else self._best
        return self._labels[self._asked(best, x)]

    def decision_one(self, x):
        """The scores by label.

        Examples
        --------
        >>> from coactive_fast.adapters.river import OnlineClassifier
        >>> model = OnlineClassifier()
        >>> model.learn_one({"a": 1.0}, "yes")
        >>> sorted(model.decision_one({"a": 1.0}))
        ['yes']
        """
        if not self._labels:
            return {}
        scores = self._asked(self._learner.decision_function, x)[0].tolist()
        return dict(zip(self._labels, scores, strict=False))  # of one label there are two scores

    def predict_proba_one(self, x, **ignored):
        """The softmax of the scores by label: their order on a common scale, not calibrated.

        Two labels have the logistic function of their difference, which is what river's linear
        classifiers give. Ensembles and other wrappers of river ask for it.

        Examples
        --------
        >>> from coactive_fast.adapters.river import OnlineClassifier
        >>> model = OnlineClassifier()
        >>> model.learn_one({"a": 1.0}, "yes")
        >>> model.predict_proba_one({"a": 1.0})
        {'yes': 1.0}
        """
        scores = self.decision_one(x)
        if not scores:
            return {}
        shares = _softmax(np.array([list(scores.values())]))[0]
        return dict(zip(scores, shares.tolist(), strict=True))

    def _asked(self, question, x):
        """The learner's answer about x, without what is unknown in it."""
        with self._row.lock:
            try:
                return question(self._row.of(x, self._features, False))
            except Exception:
                check_values(x)
                raise

    def _best(self, row):
        return self._learner.predict(row)[0]

    # --- what is numbered -------------------------------------------------------------------

    def _add_label(self, y):
        _check_label(y)
        number = len(self._labels)
        if number >= self._learner.n_classes:
            learner = copy.deepcopy(self._learner)  # the old one is there for `_go_back`
            learner.add_class()
            self._learner = learner
        self._labels.append(y)
        self._numbers[y] = number
        return number

    def _go_back(self, n_features, n_labels, learner):
        """Forgets what has been added since there were so many."""
        self._row.names, self._learner = None, learner
        while len(self._features) > n_features:
            self._features.popitem()
        while len(self._labels) > n_labels:
            del self._numbers[self._labels.pop()]

    # --- many rows --------------------------------------------------------------------------

    def learn_many(self, X, y):
        """The rows of a pandas DataFrame, one round each, in compiled loops between new labels.

        Nothing is learned where X or y is refused.
        """
        labels = list(y)
        if len(labels) != len(X):
            raise ValueError(f"y must have length {len(X)} to go with X, got {len(labels)}")
        for label in set(labels):
            _check_label(label)
        with self._row.lock:
            rows = self._row.table(X, self._features, True)
            end = 0
            while end < len(labels):
                begin, end = end, self._stretch(labels, end)
                self._learner.run(rows[begin:end], [self._numbers[y] for y in labels[begin:end]])

    def _stretch(self, labels, begin):
        """Where the next new label comes; that of the first row is numbered."""
        if labels[begin] not in self._numbers:
            self._add_label(labels[begin])
        new = (i for i in range(begin, len(labels)) if labels[i] not in self._numbers)
        return next(new, len(labels))

    def predict_many(self, X):
        """The labels of the largest scores, a Series; None before the first round."""
        pandas = require("pandas", "pandas", "predict_many")
        found = [None] * len(X)
        if self._labels:
            best = self._scores_of(X).argmax(axis=1)
            found = [self._labels[number] for number in best]
        return pandas.Series(found, index=X.index)

    def predict_proba_many(self, X):
        """`predict_proba_one` for each row, a DataFrame with a column for each label."""
        pandas = require("pandas", "pandas", "predict_proba_many")
        if not self._labels:
            return pandas.DataFrame(index=X.index)
        return pandas.DataFrame(_softmax(self._scores_of(X)), columns=self._labels, index=X.index)

    def _scores_of(self, X):
        with self._row.lock:
            rows = self._row.table(X, self._features, False)
            return self._learner.decision_function(rows)[:, :len(self._labels)]


# --- rewards: a number instead of a label ---------------------------------------------------------


class _Rewarded:
    """Dictionaries as rows, with an intercept or without, for a learner of one or more regressions.

    Names of features are numbered as they come. In the diagonal form rows widen with them; in the
    full form every row is as wide as `max_features` from the start.
    """

    def _take_names(self):
        """Checks what the rows depend on; the most features there may be."""
        full = self.covariance == "full"
        if full and self.max_features is None:
            raise ValueError('max_features must be given with covariance="full": the matrix has '
                             "that many rows from the start")
        switch("intercept", self.intercept)
        most = count("max_features", FEATURES if self.max_features is None else self.max_features,
                     least=1)
        self._features, self._row = {}, Row(most, fixed=full)
        return None if full else most

    def _dictionary(self, x):
        return {**x, INTERCEPT: 1.0} if self.intercept else x

    @contextlib.contextmanager
    def _known(self, x, grow):
        """The row of x under the lock; names that came with a refused row are forgotten."""
        with self._row.lock:
            before = len(self._features)
            try:
                yield self._row.of(self._dictionary(x), self._features, grow)
            except Exception:
                self._row.names = None
                while len(self._features) > before:
                    self._features.popitem()
                check_values(x)
                raise


class OnlineRidgeRegressor(_Rewarded, base.MiniBatchRegressor):
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

    Examples
    --------
    >>> from coactive_fast.adapters.river import OnlineRidgeRegressor
    >>> model = OnlineRidgeRegressor(covariance="full", max_features=8, intercept=False)
    >>> for _ in range(99):
    ...     model.learn_one({"rooms": 2.0}, 6.0)
    >>> round(model.predict_one({"rooms": 3.0, "unknown": 1.0}), 1)
    9.0
    """

    def __init__(self, *, link="identity", covariance="diagonal", ridge=1.0, forget=1.0,
                 intercept=True, max_features=None):
        self.link, self.covariance, self.ridge, self.forget = link, covariance, ridge, forget
        self.intercept, self.max_features = intercept, max_features
        self._learner = cf.OnlineRidge(link=link, covariance=covariance, ridge=ridge, forget=forget,
                                       max_features=self._take_names())

    def learn_one(self, x, y, w=1.0):
        """Learns one row, w times."""
        with self._known(x, True) as row:
            self._learner.learn(row, y, weight=w)

    def predict_one(self, x):
        """What y is expected to be; names that are not known are left out."""
        with self._known(x, False) as row:
            return float(self._learner.predict(row)[0])

    def learn_many(self, X, y, w=1.0):
        """The rows of a pandas DataFrame, in one compiled loop; nothing where X is refused."""
        with self._row.lock:
            rows = self._table(X, True)
            weight = np.broadcast_to(np.asarray(w, dtype=float), len(rows.indptr) - 1)
            self._learner.run(rows, np.asarray(y), weight=weight)

    def predict_many(self, X):
        """`predict_one` for each row of a pandas DataFrame, a Series."""
        pandas = require("pandas", "pandas", "predict_many")
        with self._row.lock:
            return pandas.Series(self._learner.predict(self._table(X, False)), index=X.index)

    def _table(self, X, grow):
        if self.intercept and hasattr(X, "assign"):
            X = X.assign(**{"": 1.0}).rename(columns={"": INTERCEPT})
        return self._row.table(X, self._features, grow)


class _Policy(bandit.base.ContextualPolicy):
    """Arms of any hashable kind, numbered as they come."""

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

    def update(self, arm_id, context, *reward_args, **reward_kwargs):
        """Learns the reward of an arm in a context, whoever chose it.

        Parameters
        ----------
        arm_id : hashable
        context : dict
        reward : float
            The first of `reward_args`; the reward object of river gets all of them.
        """
        if not reward_args:
            raise TypeError("reward must be given, as the third argument")
        with self._known(context, True) as row:
            learner = self._numbered([arm_id], self._learner)
            number = self._new.get(arm_id, self._numbers.get(arm_id))
            learner.learn(row, number, reward_args[0])
            self._commit(learner)
        super().update(arm_id, context, *reward_args, **reward_kwargs)


class LinearBanditPolicy(_Rewarded, _Policy):
    """`coactive_fast.ArmBandit` as a contextual policy of `river.bandit`.

    An arm is given by its id alone, a context by a dictionary; each arm has a regression of its
    own. ``pull`` chooses among the arms it is given, ``update`` learns the reward of one arm. An
    arm that has not been seen is added as it comes.

    Parameters
    ----------
    explore, width, link, ridge, forget, floor, scale, power, seed
        As for `coactive_fast.ArmBandit`.
    covariance : {"diagonal", "full"}, default "diagonal"
        As for `OnlineRidgeRegressor`, like `intercept` and `max_features`.
    reward_obj, reward_scaler, burn_in
        As for the policies of river; the regression learns the reward as it is given, unscaled.

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

    def __init__(self, *, explore="ucb", width=1.0, link="identity", covariance="diagonal",
                 ridge=1.0, forget=1.0, floor=0.0, scale=10.0, power=0.5, intercept=True,
                 max_features=None, reward_obj=None, reward_scaler=None, burn_in=0, seed=None):
        super().__init__(reward_obj, reward_scaler, burn_in)
        self.explore, self.width, self.link, self.covariance = explore, width, link, covariance
        self.ridge, self.forget, self.floor = ridge, forget, floor
        self.scale, self.power, self.seed = scale, power, seed
        self.intercept, self.max_features = intercept, max_features
        self._learner = cf.ArmBandit(
            1, explore=explore, width=width, link=link, covariance=covariance, ridge=ridge,
            forget=forget, floor=floor, scale=scale, power=power, seed=seed,
            max_features=self._take_names())
        self._numbers, self._arms = {}, []

    def _pull(self, arm_ids, context):
        arm_ids = list(arm_ids)
        with self._known(context or {}, False) as row:
            learner = self._numbered(arm_ids, self._learner)
            numbers = {**self._numbers, **self._new}
            allowed = np.zeros(self._count(learner), dtype=bool)
            allowed[[numbers[arm] for arm in arm_ids]] = True
            chosen = learner.choose(row, allowed=allowed)
            self._commit(learner)
            return self._arms[chosen]

    @staticmethod
    def _count(learner):
        return learner.n_arms

    @staticmethod
    def _add(learner):
        learner.add_arm()


class ConfiditPolicy(_Rewarded, _Policy):
    """`coactive_fast.Confidit` as a contextual policy of `river.bandit`.

    Parameters
    ----------
    learner : Confidit, optional
        What learns, as a pattern: it is cloned, never changed; diagonal. None: ``Confidit(2)``.
    intercept : bool, default True
        A feature more that is 1 in every context.
    reward_obj, reward_scaler, burn_in
        As for the policies of river.

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

    covariance = "diagonal"

    def __init__(self, learner=None, *, intercept=True, reward_obj=None, reward_scaler=None,
                 burn_in=0):
        super().__init__(reward_obj, reward_scaler, burn_in)
        self.learner, self.intercept = learner, intercept
        self._learner = fresh(learner, 2)
        if not isinstance(self._learner, cf.Confidit):
            raise TypeError(f"learner must be a Confidit, got {learner!r}")
        if self._learner.get_params()["covariance"] != "diagonal":
            raise ValueError('learner must have covariance="diagonal": features come and go')
        self.max_features = self._learner.max_features
        self._learner.set_params(max_features=self._take_names())
        self._numbers, self._arms = {}, []

    def _pull(self, arm_ids, context):
        arm_ids = list(arm_ids)
        with self._known(context or {}, False) as row:
            learner = self._numbered(arm_ids, self._learner)
            missing = set(self._numbers) - set(arm_ids)
            if missing:
                raise ValueError("arm_ids must hold all arms that are known, and lacks "
                                 f"{missing.pop()!r}")
            self._commit(learner)
            return self._arms[learner.choose(row)] if len(self._arms) > 1 else self._arms[0]

    @staticmethod
    def _count(learner):
        return learner.n_classes

    @staticmethod
    def _add(learner):
        learner.add_class()


def _check_label(y):
    if y is None or y != y:
        raise ValueError(f"y must be a label, got {y!r}")


def _softmax(scores):
    """Along the rows."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)
