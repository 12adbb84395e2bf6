"""Slow twins of the bandits: actions with features, and arms with a regression each.

What m and q stand for in the formulas, says `rewards_shell`; what is drawn from the generator,
`rewards_bandit`.
"""

from __future__ import annotations

from typing import Literal, SupportsIndex, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coactive_fast._typing import Real, RowsLike, Seed, Vector

from . import _check as check
from .rewards_bandit import Bandit, Decision
from .rewards_catalogue import Catalogue


class LinearBandit(Bandit):
    """Chooses among rows of features; the parameters are those of `coactive_fast.LinearBandit`.

    Notes
    -----
    One regression for all actions, that of `OnlineRidge`. With ``m = w.x`` and ``q = x^T A^-1 x``
    of each action allowed, ties to the lower index, the choice is

    * ucb: the largest ``m + width sqrt(q)``; "theory" is ``noise sqrt(log det A - d log ridge + 2
      log(1 / delta)) + sqrt(ridge) norm_bound``;
    * thompson: the largest ``v.x``, one draw ``v ~ N(w, width^2 A^-1)`` a round;
    * squarecb: action a with probability ``1 / (n + gamma (mu_best - mu_a))``, the best with the
      rest, ``gamma = scale t^power``, t = rounds + 1, mu = m or, logistic, ``sigma(m)``;
    * greedy: the largest m.

    With probability `floor` it is uniform instead. k places: by the score; for squarecb and with
    a floor each place by the law of the actions left.

    With `context_features` what is learned is ``(1, c) (x) a``: the action's features, then c_1
    times them, and so on; it is built here.

    Rows are solved for one by one, so equal rows have equal scores.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> bandit = reference.LinearBandit()
    >>> bandit.learn([1.0, 0.0], 4.0)
    >>> bandit.choose([[0.0, 1.0], [1.0, 0.0]])
    1
    """

    def __init__(self, *,
                 explore: Literal["ucb", "thompson", "squarecb", "greedy"] = "ucb",
                 width: Real | Literal["theory"] = 1.0,
                 link: Literal["identity", "logistic"] = "identity",
                 covariance: Literal["full", "diagonal"] = "full", ridge: Real = 1.0,
                 forget: Real = 1.0, floor: Real = 0.0, context_features: SupportsIndex = 0,
                 scale: Real = 10.0,
                 power: Real = 0.5, noise: Real = 1.0, norm_bound: Real = 1.0, delta: Real = 0.05,
                 max_pending: SupportsIndex = 10_000, max_features: SupportsIndex | None = None,
                 seed: Seed = None) -> None:
        self._bandit(explore, width, link, covariance, ridge, forget, floor, scale, power, noise,
                     norm_bound, delta, max_pending, max_features)
        self.context_features = check.count("context_features", context_features)
        if self.context_features and max_features is not None:
            raise ValueError("max_features and context_features exclude each other")
        super().__init__(seed)

    @overload
    def choose(self, X: RowsLike, *, allowed: ArrayLike | None = None, k: None = None,
               context: ArrayLike | None = None) -> int: ...
    @overload
    def choose(self, X: RowsLike, *, allowed: ArrayLike | None = None, k: SupportsIndex,
               context: ArrayLike | None = None) -> NDArray[np.intp]: ...
    def choose(self, X, *, allowed=None, k=None, context=None):
        """The index of one of the rows of X, or of the k best, best first.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> bandit = reference.LinearBandit()
        >>> X = [[1.0], [3.0], [2.0]]
        >>> bandit.choose(X), bandit.choose(X, k=2), bandit.choose(X, allowed=[True, False, True])
        (1, array([1, 2]), 2)
        """
        (X, allowed), k = self._offered(X, allowed, context), self._k(k)
        return self._chosen(self._known(X.shape[1]), X, allowed, k)

    def learn(self, x: RowsLike, reward: Real, *, weight: Real = 1.0,
              context: ArrayLike | None = None) -> None:
        """Takes in the reward of a row, chosen here or not, weight times.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> bandit = reference.LinearBandit(context_features=1)
        >>> bandit.learn([1.0], 3.0, context=[1.0])
        >>> bandit.weights
        array([1., 1.])
        """
        x = self._row(x, context=self._context(context))
        self._take(x, self._target("reward", reward), self._weight(weight))

    def scores(self, X: RowsLike, *,
               context: ArrayLike | None = None) -> tuple[Vector, Vector]:
        """``(means, widths)``: m and ``sqrt(q)`` of every row.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.LinearBandit().scores([[1.0], [3.0]])
        (array([0., 0.]), array([1., 3.]))
        """
        X, _ = self._offered(X, None, context)
        return self._read(self._known(X.shape[1]), X)

    def probabilities(self, X: RowsLike, *, allowed: ArrayLike | None = None,
                      context: ArrayLike | None = None,
                      samples: SupportsIndex | None = None) -> Vector:
        """With which `choose` would choose each row; thompson: frequencies of `samples` draws.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.LinearBandit(floor=0.5).probabilities([[1.0], [3.0]])
        array([0.25, 0.75])
        """
        (X, allowed), samples = self._offered(X, allowed, context), self._samples(samples)
        return self._probabilities(self._known(X.shape[1]), X, allowed, samples)

    def decide(self, X: RowsLike, *, allowed: ArrayLike | None = None,
               context: ArrayLike | None = None,
               samples: SupportsIndex | None = None) -> Decision:
        """`choose`, remembered until the reward comes.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> bandit = reference.LinearBandit()
        >>> bandit.decide([[1.0], [3.0]]), bandit.pending
        (Decision(id=0, action=1, probability=1.0), 1)
        """
        (X, allowed), samples = self._offered(X, allowed, context), self._samples(samples)
        models = self._known(X.shape[1])
        return self._decision(models, X, allowed, samples, lambda i: (X[i].copy(),))

    def choose_pair(self, X: RowsLike) -> tuple[int, int]:
        """Two rows to be compared: the one of largest m, and whichever may best beat it.

        The second is the largest ``m_b + width sqrt(d^T A^-1 d)``, ``d = x_b - x_first``.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.LinearBandit(link="logistic").choose_pair([[1.0], [0.0], [4.0]])
        (0, 2)
        """
        self._pairs_have_a_meaning()
        X = self._actions(X, None)
        if len(X) < 2:
            raise ValueError(f"X must have at least two rows, got {len(X)}")
        model, = self._known(X.shape[1])
        means = np.array([model.read(x)[0] for x in X])
        first = int(np.argmax(means))
        with np.errstate(over="ignore"):
            scores = [m + self.width * np.sqrt(model.read(x - X[first])[1])
                      for m, x in zip(means, X, strict=True)]
        scores[first] = -np.inf
        return first, int(np.argmax(scores))

    def learn_pair(self, x_first: RowsLike, x_second: RowsLike,
                   first_won: bool | np.bool_ | int) -> None:
        """The logistic step on ``x_first - x_second`` towards 1 or 0.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> bandit = reference.LinearBandit(link="logistic")
        >>> bandit.learn_pair([2.0], [0.0], True)
        >>> bandit.weights
        array([0.5])
        """
        self._pairs_have_a_meaning()
        a, b = self._row(x_first, "x_first"), self._row(x_second, "x_second")
        d = max(a.size, b.size)
        if a.size != b.size and self.max_features is None:
            check.same_length("x_second", b.size, a.size, "x_first")
        with np.errstate(over="ignore"):
            x = np.pad(a, (0, d - a.size)) - np.pad(b, (0, d - b.size))
        self._take(check.finite("x_first - x_second", x),
                   float(check.answer("first_won", first_won)), 1.0)

    @property
    def weights(self) -> Vector:
        """The weights w, a fresh array; empty before the first round.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.LinearBandit().weights
        array([], dtype=float64)
        """
        return np.zeros(0) if self._models is None else self._models[0].weights

    def inverse(self) -> Vector:
        """``A^-1``, a fresh array: (d, d), or (d,) in the diagonal form.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.LinearBandit().inverse().shape
        (0, 0)
        """
        if self._models is None:
            return np.zeros((0, 0) if self.covariance == "full" else 0)
        return self._models[0].inverse

    # --- inside -------------------------------------------------------------------------------

    def _offered(self, X, allowed, context):
        """The rows, and which of them may be chosen; of a catalogue those that are there."""
        rows = self._actions(X.rows if isinstance(X, Catalogue) else X, context)
        allowed = self._allowed(allowed, len(rows))
        if isinstance(X, Catalogue):
            allowed = allowed & X.there
            if not allowed.any():
                raise ValueError("allowed must hold at least one True, of a row that is there")
        return rows, allowed

    def _actions(self, X, context):
        return self._table(X, context=self._context(context))

    def _context(self, context):
        """The context as a vector; None where there is none."""
        p = self.context_features
        if context is None and p:
            raise ValueError(f"context must be given: {p} numbers")
        if context is not None and not p:
            raise ValueError("context has no meaning without context_features")
        if context is None:
            return None
        context = check.unmasked("context", context)
        return check.vector("context", context, p, "context_features")

    def _pairs_have_a_meaning(self):
        if self.link != "logistic":
            raise ValueError('pairs need link="logistic"')
        if self.context_features:
            raise ValueError("pairs have no meaning with context_features")

    def _take(self, x, reward, weight):
        x = np.pad(x, (0, max(0, (self._dimension or 0) - x.size)))  # decided when it was narrower
        model, = self._known(x.size)
        self._models = [self._stepped(model, x, reward, weight, self.rounds)]
        self._dimension = x.size
        self.rounds += 1

    def _read(self, models, X):
        found = np.array([models[0].read(x) for x in X]).reshape(len(X), 2)
        return found[:, 0], np.sqrt(found[:, 1])

    def _bonus(self, models):
        return self._theory(models[0], self.delta) if self.width == "theory" else self.width

    def _sampled(self, models, X, means, widths, rng):
        moved = self.width * models[0].spread(rng.standard_normal(X.shape[1]))
        return means + np.array([float(np.dot(moved, x)) for x in X])


class ArmBandit(Bandit):
    """Chooses among arms that know nothing of each other; one row x a round.

    The parameters are those of `coactive_fast.ArmBandit`.

    Notes
    -----
    Each arm has a regression of its own, and the rules are those of `LinearBandit` with the m and
    q of x in each; "theory" takes ``delta / n_arms`` and each arm's own determinant. `forget`
    touches the arm that learns (by the rows that this arm has learned), `decay` all of them.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> bandit = reference.ArmBandit(2)
    >>> bandit.learn([1.0], 1, 4.0)
    >>> bandit.choose([1.0])
    1
    """

    def __init__(self, n_arms: SupportsIndex, *,
                 explore: Literal["ucb", "thompson", "squarecb", "greedy"] = "ucb",
                 width: Real | Literal["theory"] = 1.0,
                 link: Literal["identity", "logistic"] = "identity",
                 covariance: Literal["full", "diagonal"] = "full", ridge: Real = 1.0,
                 forget: Real = 1.0, floor: Real = 0.0, scale: Real = 10.0,
                 power: Real = 0.5, noise: Real = 1.0, norm_bound: Real = 1.0, delta: Real = 0.05,
                 max_pending: SupportsIndex = 10_000, max_features: SupportsIndex | None = None,
                 seed: Seed = None) -> None:
        self._built_with = check.positive_count("n_arms", n_arms)
        self._bandit(explore, width, link, covariance, ridge, forget, floor, scale, power, noise,
                     norm_bound, delta, max_pending, max_features)
        super().__init__(seed)

    def _start(self):
        super()._start()
        self.n_arms = self._built_with
        self._learned = [0] * self.n_arms

    def add_arm(self) -> int:
        """One arm more, as fresh as all were at the start; returns its index. `reset` undoes it.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> bandit = reference.ArmBandit(2)
        >>> bandit.add_arm(), bandit.n_arms
        (2, 3)
        """
        if self._models is not None:
            self._models = [*self._models, self._fresh(self._dimension)]
        self._learned = [*self._learned, 0]
        self.n_arms += 1
        return self.n_arms - 1

    @overload
    def choose(self, x: RowsLike, *, allowed: ArrayLike | None = None,
               k: None = None) -> int: ...
    @overload
    def choose(self, x: RowsLike, *, allowed: ArrayLike | None = None,
               k: SupportsIndex) -> NDArray[np.intp]: ...
    def choose(self, x, *, allowed=None, k=None):
        """An arm for x, or the k best, best first.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> bandit = reference.ArmBandit(3)
        >>> bandit.choose([1.0]), bandit.choose([1.0], k=2, allowed=[False, True, True])
        (0, array([1, 2]))
        """
        x, k = self._row(x), self._k(k)
        return self._chosen(self._arms(x), x, self._allowed(allowed, self.n_arms), k)

    def learn(self, x: RowsLike, arm: SupportsIndex, reward: Real, *,
              weight: Real = 1.0) -> None:
        """Takes in the reward of an arm, chosen here or not, weight times.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> bandit = reference.ArmBandit(2)
        >>> bandit.learn([1.0], 1, 4.0)
        >>> bandit.weights
        array([[0.],
               [2.]])
        """
        x, arm = self._row(x), check.index("arm", arm, self.n_arms)
        self._take(x, arm, self._target("reward", reward), self._weight(weight))

    def scores(self, x: RowsLike) -> tuple[Vector, Vector]:
        """``(means, widths)``: m and ``sqrt(q)`` of x in every arm.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.ArmBandit(2).scores([3.0])
        (array([0., 0.]), array([3., 3.]))
        """
        x = self._row(x)
        return self._read(self._arms(x), x)

    def probabilities(self, x: RowsLike, *, allowed: ArrayLike | None = None,
                      samples: SupportsIndex | None = None) -> Vector:
        """With which `choose` would choose each arm; thompson: frequencies of `samples` draws.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.ArmBandit(2, explore="squarecb").probabilities([3.0])
        array([0.5, 0.5])
        """
        x, samples = self._row(x), self._samples(samples)
        allowed = self._allowed(allowed, self.n_arms)
        return self._probabilities(self._arms(x), x, allowed, samples)

    def decide(self, x: RowsLike, *, allowed: ArrayLike | None = None,
               samples: SupportsIndex | None = None) -> Decision:
        """`choose`, remembered until the reward comes.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> bandit = reference.ArmBandit(2)
        >>> bandit.decide([1.0], allowed=[False, True])
        Decision(id=0, action=1, probability=1.0)
        """
        x, samples = self._row(x), self._samples(samples)
        allowed = self._allowed(allowed, self.n_arms)
        return self._decision(self._arms(x), x, allowed, samples, lambda arm: (x.copy(), arm))

    def merge(self, other: ArmBandit) -> None:
        """As of `LinearBandit`, arm by arm; both must have the same number of arms now.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> bandit, other = reference.ArmBandit(2), reference.ArmBandit(2)
        >>> other.learn([1.0], 1, 6.0)
        >>> bandit.merge(other)
        >>> bandit.weights[1], bandit.rounds
        (array([3.]), 1)
        """
        super().merge(other)
        self._learned = [a + b for a, b in zip(self._learned, other._learned, strict=True)]

    @property
    def weights(self) -> Vector:
        """Weights w of each arm, a fresh array (n_arms, d); (n_arms, 0) before the first round.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.ArmBandit(3).weights.shape
        (3, 0)
        """
        if self._models is None:
            return np.zeros((self.n_arms, 0))
        return np.array([model.weights for model in self._models])

    def inverse(self, arm: SupportsIndex) -> Vector:
        """``A^-1`` of an arm, a fresh array: (d, d), or (d,) in the diagonal form.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.ArmBandit(3).inverse(2).shape
        (0, 0)
        """
        arm = check.index("arm", arm, self.n_arms)
        if self._models is None:
            return np.zeros((0, 0) if self.covariance == "full" else 0)
        return self._models[arm].inverse

    # --- inside -------------------------------------------------------------------------------

    def _arms(self, x):
        return self._known(x.size, self.n_arms)

    def _take(self, x, arm, reward, weight):
        x = np.pad(x, (0, max(0, (self._dimension or 0) - x.size)))
        models = list(self._arms(x))
        models[arm] = self._stepped(models[arm], x, reward, weight, self._learned[arm])
        self._models = models
        self._learned = [n + (i == arm) for i, n in enumerate(self._learned)]
        self._dimension = x.size
        self.rounds += 1

    def _read(self, models, x):
        found = np.array([model.read(x) for model in models])
        return found[:, 0], np.sqrt(found[:, 1])

    def _bonus(self, models):
        if self.width != "theory":
            return self.width
        return np.array([self._theory(model, self.delta / self.n_arms) for model in models])

    def _sampled(self, models, x, means, widths, rng):
        return means + self.width * widths * rng.standard_normal(self.n_arms)
