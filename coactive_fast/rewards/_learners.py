"""Regression of rewards, and the bandits: thin classes over the engine."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Precision, Progress, Real, RowsLike, Seed, Self, Vector
from ..learner._base import Learner
from ..learner._chance import Chance
from ..learner._check import choice, count, number, precision_of, switch
from ..learner._engine import Rule
from ..learner._random import make_generator
from ..metric import _forms as forms
from . import _rules as rules
from ._history import BanditHistory, Decision, RegressionHistory
from ._rules import Catalogue

Link: TypeAlias = Literal["identity", "logistic"]
Covariance: TypeAlias = Literal["full", "diagonal"]

MOST = 2**60  # of anything that is counted: memory ends long before
LINKS = ("identity", "logistic")


def regression(link, covariance, ridge, forget, max_features, precision):
    """``(k -> fresh regressions, words of their engine)`` from checked parameters."""
    logistic = choice("link", link, LINKS) == "logistic"
    full = choice("covariance", covariance, ("full", "diagonal")) == "full"
    precision = precision_of(precision, covariance)
    ridge = number("ridge", ridge, above=0.0)
    if not 1e-280 <= ridge <= 1e280:
        raise ValueError(f"ridge must be in [1e-280, 1e280], got {ridge}")
    forget = number("forget", forget, above=0.0, most=1.0)
    most = 0 if max_features is None else count("max_features", max_features, least=1, most=MOST)
    if full and most:
        raise ValueError('max_features goes with covariance="diagonal" only')
    form = (partial(forms.FullRidge, ridge, forget, logistic, precision) if full
            else partial(forms.DiagonalRidge, ridge, forget, logistic))
    words = {"most": most, "logistic": logistic}
    return lambda k: lambda: Rule(rules.Regressions(k, ridge, form)), words


class RewardLearner(Learner):
    """What the regression and the bandits have in common."""

    if TYPE_CHECKING:  # parameters
        link: Link
        covariance: Covariance
        ridge: Real
        noise: Real
        forget: Real
        max_features: SupportsIndex | None
        precision: Precision
    _shaping: tuple[str, ...] = ("link", "covariance", "ridge", "max_features", "precision")
    _alike: tuple[str, ...] = ()  # parameters that may differ where two learners are merged

    def decay(self, f: Real) -> None:
        """The whole past counts f times as much at once: for drift by the clock.

        ``A <- ridge I + f (A - ridge I)`` and ``w <- A_new^-1 f A w``; with the diagonal w stays.
        O(d^3), with the diagonal O(d).

        Parameters
        ----------
        f : float
            In (0, 1].

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.OnlineRidge()
        >>> learner.learn([1.0], 4.0)
        >>> learner.decay(0.5)
        >>> learner.inverse()
        array([[0.66666667]])
        """
        self._decay(f)

    def merge(self, other: Self) -> None:
        """Makes this the learner that saw both streams; the other one stays as it is.

        ``A_1 + A_2 - ridge I`` and ``A w = A_1 w_1 + A_2 w_2``; rounds add. Exact to rounding, so
        the parts of a cluster make one model. What is pending there stays pending there.

        Parameters
        ----------
        other : of the same class
            Both with full covariance, the identity link, no forgetting, and equal parameters but
            for the seed; else a `ValueError`.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner, other = cf.OnlineRidge(), cf.OnlineRidge()
        >>> learner.learn([1.0], 3.0)
        >>> other.learn([1.0], 6.0)
        >>> learner.merge(other)
        >>> learner.weights, learner.rounds
        (array([3.]), 2)
        """
        if type(other) is not type(self):
            raise TypeError(f"other must be of the kind {type(self).__name__}, got "
                            f"{type(other).__name__}")
        for name, least in (("covariance", "full"), ("link", "identity"), ("forget", 1.0)):
            if self._parameters[name] != least:
                raise ValueError(f"merge needs {name}={least!r}, and this learner has "
                                 f"{self._parameters[name]!r}")
        for name, value in self._parameters.items():
            if name not in self._alike and other._parameters[name] != value:
                raise ValueError(f"other must have {name}={value!r} as this learner has, got "
                                 f"{other._parameters[name]!r}")
        self._merge(other)

    @property
    def rounds(self) -> int:
        """How many rows were learned."""
        return self._rounds

    def health(self) -> dict[str, Any]:
        """What the watch over rounding errors has seen, for ``covariance="full"``.

        Returns
        -------
        dict
            See `Confidit.health`; of several arms the first.
        """
        return self._read("health")


class OnlineRidge(RewardLearner, rules.RegressionEngine):
    """Linear or logistic ridge regression, one row at a time.

    Parameters
    ----------
    link : {"identity", "logistic"}, default "identity"
        "logistic": targets are in [0, 1] and met by ``sigma(w.x) = 1 / (1 + exp(-w.x))``.
    covariance : {"full", "diagonal"}, default "full"
        All of A, O(d^2) a row, or its diagonal, O(entries) a row.
    ridge : float, default 1.0
        A begins as ``ridge I``.
    noise : float, default 1.0
        Standard deviation of a target: what `predict` says of its own spread is a multiple of it.
    forget : float, default 1.0
        In (0, 1]: at each row the past counts so many times as much; the regulariser is kept.
    max_features : int, optional
        For the diagonal: rows may be of any width up to this, and wider ones than before add
        features. None: all rows are as wide as the first that was learned.
    precision : {"auto", "fast", "robust"}, default "auto"
        How the inverse of the full covariance is kept, as in `metric.Full`: "auto" begins with the
        fast form and converts to the robust one, which is right whatever the scales of the
        columns, as soon as that matters; `health` says which form is in use.

    See Also
    --------
    LinearBandit : Chooses by it.

    Notes
    -----
    ``A += c x x^T``, ``w += c A_new^-1 x (y - w.x)`` for a row that counts c times. Logistic: the
    same step with weight ``c s`` towards ``m + (y - sigma(m)) / s``, s the slope
    ``sigma (1 - sigma)`` or, where sigma is off by more than a half, ``tanh(m / 2) / (2 m)``.
    With the diagonal ``w += c (x / a) (y - m) / (1 + c q)``, then ``a += c x^2``.
    A null row only counts as a round.

    References
    ----------
    A. E. Hoerl, R. W. Kennard. Ridge regression: biased estimation for nonorthogonal problems.
    Technometrics 12, 1970.
    T. S. Jaakkola, M. I. Jordan. Bayesian parameter estimation via variational methods.
    Statistics and Computing 10, 2000.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.OnlineRidge()
    >>> learner.learn([1.0, 0.0], 3.0)
    >>> learner.predict([[2.0, 5.0]])
    array([3.])
    """

    last_history: RegressionHistory | None

    def __init__(self, *, link: Link = "identity", covariance: Covariance = "full",
                 ridge: Real = 1.0, noise: Real = 1.0, forget: Real = 1.0,
                 max_features: SupportsIndex | None = None,
                 precision: Precision = "auto") -> None:
        self._begin(**locals())

    def _build(self, parameters):
        given = dict(parameters)
        number("noise", given.pop("noise"), least=0.0)
        fresh, words = regression(**given)
        return {"make": fresh(1), **words}

    @overload
    def predict(self, X: RowsLike, *, return_std: Literal[False] = False) -> Vector: ...
    @overload
    def predict(self, X: RowsLike, *, return_std: Literal[True]) -> tuple[Vector, Vector]: ...
    def predict(self, X, *, return_std=False):
        """The prediction for each row.

        Parameters
        ----------
        X : array_like of shape (n, d) or scipy.sparse matrix
            A row an example.
        return_std : bool, default False
            Also ``noise sqrt(q)``, the spread of the mean; identity link only.

        Returns
        -------
        ndarray of float64, shape (n,), or two of them
            The predictions; with `return_std` also their standard deviations.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.OnlineRidge(noise=0.5)
        >>> learner.learn([1.0], 3.0, weight=3.0)
        >>> learner.predict([[2.0]], return_std=True)
        (array([4.5]), array([0.5]))
        """
        if not switch("return_std", return_std):
            return self._predict(X, False)
        if self.link == "logistic":
            raise ValueError('return_std has no meaning with link="logistic"')
        means, widths = self._predict(X, True)
        return means, self.noise * widths

    def run(self, X: RowsLike, y: ArrayLike, *, weight: ArrayLike | None = None,
            progress: Progress = None) -> RegressionHistory:
        """Predicts and learns, row by row: the loop of single calls, bit for bit, but compiled.

        Parameters
        ----------
        X : array_like of shape (n, d) or scipy.sparse matrix
            A row an example.
        y : array_like of float, shape (n,)
            What was to be predicted for each row.
        weight : array_like of float, shape (n,), optional
            How many times each row counts; None: each once.
        progress : bool or callable, optional
            See `Confidit.run`.

        Returns
        -------
        RegressionHistory
            What was predicted for each row before it was learned, and the losses.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> history = cf.OnlineRidge().run([[1.0], [1.0]], [4.0, 4.0])
        >>> history.predictions, history.loss
        (array([0., 2.]), array([16.,  4.]))
        """
        history: RegressionHistory = rules.RidgeRun(self, X, y, weight).play(self, progress)
        return history

    def inverse(self) -> Vector:
        """``A^-1``, a copy.

        Returns
        -------
        ndarray of float64, shape (d, d), or (d,) for the diagonal
            Empty before the first row.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.OnlineRidge(covariance="diagonal").inverse()
        array([], dtype=float64)
        """
        return inverse_of(self, 0)

    @property
    def weights(self) -> Vector:
        """The weights w, a copy; empty before the first row."""
        return self._read("weights")[0]


def inverse_of(learner: Learner, i: SupportsIndex) -> Vector:
    """That of regression i, empty where there is nothing yet."""
    found = learner._read("inverse", i, "arm")
    if found is None:
        return np.zeros((0, 0) if learner.covariance == "full" else 0)
    return found


# --- bandits --------------------------------------------------------------------------------------


Explore: TypeAlias = Literal["ucb", "thompson", "squarecb", "greedy"]
EXPLORE = ("ucb", "thompson", "squarecb", "greedy")


class Bandit(RewardLearner):
    """What both bandits have in common: the rules of choice, and decisions that wait."""

    last_history: BanditHistory | None
    if TYPE_CHECKING:  # parameters
        explore: Explore
        width: Real | Literal["theory"]
        floor: Real
        scale: Real
        power: Real
        norm_bound: Real
        delta: Real
        max_pending: SupportsIndex
        seed: Seed
    _alike: tuple[str, ...] = ("seed",)

    def _build(self, parameters):
        given = dict(parameters)
        arms = count("n_arms", given.pop("n_arms", 1), least=1, most=MOST)
        contexts = count("context_features", given.pop("context_features", 0), most=MOST)
        pending = count("max_pending", given.pop("max_pending"), least=1, most=MOST)
        chance = Chance(make_generator(given.pop("seed")))
        named = {name: given.pop(name)
                 for name in ("link", "covariance", "ridge", "forget", "max_features", "precision")}
        fresh, words = regression(**named)
        exploration = _exploration(**given, **named)
        words |= {"modest": given["width"] == "theory", "max_pending": pending}
        if contexts and named["max_features"] is not None:
            raise ValueError("max_features and context_features exclude each other")
        return {"make": fresh(arms), "chance": chance, "exploration": exploration,
                "arms": "n_arms" in parameters, "context_features": contexts, **words}

    # --- decisions --------------------------------------------------------------------------

    def reward(self, id: SupportsIndex, r: Real, *, weight: Real = 1.0) -> None:
        """Learns the reward of a pending decision, and forgets the decision.

        Parameters
        ----------
        id : int
            Of a `Decision`.
        r : float
            The reward of that decision's action.
        weight : float, default 1.0
            How many times it counts.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> bandit = cf.LinearBandit()
        >>> first = bandit.decide([[1.0], [2.0]])
        >>> bandit.reward(first.id, 5.0)
        >>> bandit.weights, bandit.pending
        (array([2.]), 0)
        """
        self._reward(id, r, weight)

    def drop(self, id: SupportsIndex) -> None:
        """Forgets a pending decision.

        Parameters
        ----------
        id : int
            Of the decision, as `decide` gave it.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> bandit = cf.LinearBandit()
        >>> bandit.drop(bandit.decide([[1.0]]).id)
        >>> bandit.pending
        0
        """
        self._drop(id)

    @property
    def pending(self) -> int:
        """How many decisions wait for their reward."""
        return self._pending

    @property
    def expired(self) -> int:
        """How many decisions were dropped because more than `max_pending` waited."""
        return self._expired


def _exploration(explore, width, link, covariance, ridge, forget, floor, delta, **given):
    explore = choice("explore", explore, EXPLORE)
    if isinstance(width, str):
        choice("width", width, ("theory",))
        for name, value, wanted in (("explore", explore, "ucb"), ("link", link, "identity"),
                                    ("covariance", covariance, "full"), ("forget", forget, 1.0)):
            if value != wanted:
                raise ValueError(f'width="theory" needs {name}={wanted!r}, got {value!r}')
        width = None
    else:
        width = number("width", width, least=0.0)
    floor = number("floor", floor, least=0.0, below=1.0)
    delta = number("delta", delta, above=0.0, below=1.0)
    positive = {name: number(name, given[name], least=0.0)
                for name in ("noise", "norm_bound", "scale", "power")}
    return rules.Exploration(explore, width, link=link, ridge=float(ridge), delta=delta,
                             floor=floor, **positive)


class LinearBandit(Bandit, rules.LinearEngine):
    """Chooses among actions that are rows of features; one regression serves them all.

    Parameters
    ----------
    explore : {"ucb", "thompson", "squarecb", "greedy"}, default "ucb"
        With ``m = w.x`` and ``q = x^T A^-1 x`` of each action, ties to the lower index:
        "ucb" takes the largest ``m + width sqrt(q)``;
        "thompson" the largest ``v.x``, one draw ``v ~ N(w, width^2 A^-1)`` a round;
        "squarecb" action a with probability ``1 / (n + gamma (mu_best - mu_a))`` and the best one
        with the rest, ``gamma = scale t^power``, t the number of the round, mu = m or, with the
        logistic link, ``sigma(m)``;
        "greedy" the largest m.
    width : float or "theory", default 1.0
        "theory": ``noise sqrt(log det A - d log ridge + 2 log(1 / delta)) + sqrt(ridge)
        norm_bound``; for ucb, the identity link, the full covariance, without forgetting, and
        weights of at most 1.
    link, covariance, ridge, forget
        As for `OnlineRidge`, which is what learns.
    floor : float, default 0.0
        With this probability the choice is uniform instead: a log of it can be evaluated.
    context_features : int, default 0
        What is learned on is then ``(1, c_1, ..., c_p) (x) a`` for an action a in the context c,
        which every call is given. It is never built for all actions: once a round the context is
        contracted out of A^-1 and w.
    scale, power : float, default 10.0 and 0.5
        Of "squarecb".
    noise, norm_bound, delta : float, default 1.0, 1.0 and 0.05
        Of ``width="theory"``: the reward's standard deviation, a bound on the length of the true
        weights, and how likely the widths may fail.
    max_pending : int, default 10,000
        How many decisions may wait for their reward; beyond them the oldest is dropped.
    max_features, precision
        As for `OnlineRidge`.
    seed : optional
        What `numpy.random.default_rng` takes.

    See Also
    --------
    ArmBandit : Fixed arms, a regression each.
    OnlineRidge : The regression alone.

    References
    ----------
    L. Li, W. Chu, J. Langford, R. E. Schapire. A contextual-bandit approach to personalized news
    article recommendation. WWW 2010.
    Y. Abbasi-Yadkori, D. Pál, C. Szepesvári. Improved algorithms for linear stochastic bandits.
    NIPS 2011.
    S. Agrawal, N. Goyal. Thompson sampling for contextual bandits with linear payoffs. ICML 2013.
    D. J. Foster, A. Rakhlin. Beyond UCB: optimal and efficient contextual bandits with regression
    oracles. ICML 2020.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> bandit = cf.LinearBandit()
    >>> bandit.learn([1.0, 0.0], 4.0)
    >>> bandit.choose([[0.0, 1.0], [1.0, 0.0]])
    1
    """

    if TYPE_CHECKING:  # parameters
        context_features: SupportsIndex
    _shaping = (*Bandit._shaping, "context_features")

    def __init__(self, *, explore: Explore = "ucb", width: Real | Literal["theory"] = 1.0,
                 link: Link = "identity", covariance: Covariance = "full", ridge: Real = 1.0,
                 forget: Real = 1.0, floor: Real = 0.0, context_features: SupportsIndex = 0,
                 scale: Real = 10.0,
                 power: Real = 0.5, noise: Real = 1.0, norm_bound: Real = 1.0, delta: Real = 0.05,
                 max_pending: SupportsIndex = 10_000, max_features: SupportsIndex | None = None,
                 precision: Precision = "auto", seed: Seed = None) -> None:
        self._begin(**locals())

    def scores(self, X: RowsLike | Catalogue, *,
               context: ArrayLike | None = None) -> tuple[Vector, Vector]:
        """``(means, widths)``: m and ``sqrt(q)`` of every row.

        Parameters
        ----------
        X, context
            As for `choose`.

        Returns
        -------
        tuple of two ndarrays of float64, shape (n,)
            The expected rewards, and the widths ``sqrt(q)``.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.LinearBandit().scores([[1.0], [3.0]])
        (array([0., 0.]), array([1., 3.]))
        """
        return self._scores(X, context)

    def probabilities(self, X: RowsLike | Catalogue, *, allowed: ArrayLike | None = None,
                      context: ArrayLike | None = None,
                      samples: SupportsIndex | None = None) -> Vector:
        """With which `choose` would choose each row.

        Parameters
        ----------
        X, allowed, context
            As for `choose`.
        samples : int, optional
            For "thompson", whose law has no closed form: the frequencies of so many draws of a
            generator spawned for it; what is chosen afterwards stays the same.

        Returns
        -------
        ndarray of float64, shape (n,)
            The chance of each to be chosen now; they sum to 1.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.LinearBandit(floor=0.5).probabilities([[1.0], [3.0]])
        array([0.25, 0.75])
        """
        return self._probabilities(X, allowed, context, samples)

    def decide(self, X: RowsLike | Catalogue, *, allowed: ArrayLike | None = None,
               context: ArrayLike | None = None,
               samples: SupportsIndex | None = None) -> Decision:
        """`choose`, remembered until the reward comes.

        Parameters
        ----------
        X, allowed, context, samples
            As for `probabilities`.

        Returns
        -------
        Decision
            With the fields ``id``, ``action`` and ``probability``.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> bandit = cf.LinearBandit()
        >>> bandit.decide([[1.0], [3.0]]), bandit.pending
        (Decision(id=0, action=1, probability=1.0), 1)
        """
        return self._decide(X, allowed, context, samples)

    def choose_pair(self, X: RowsLike) -> tuple[int, int]:
        """Two rows to be compared: that of the largest m, and the one that may best beat it.

        The second is the largest ``m_b + width sqrt(d^T A^-1 d)``, ``d = x_b - x_first``, among
        the others. For the logistic link; `explore` and `floor` play no part.

        Parameters
        ----------
        X : array_like of shape (n, d) or scipy.sparse matrix
            At least two rows.

        Returns
        -------
        tuple of two ints
            Two different rows.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.LinearBandit(link="logistic").choose_pair([[1.0], [0.0], [4.0]])
        (0, 2)
        """
        return self._choose_pair(X)

    def learn_pair(self, x_first: RowsLike, x_second: RowsLike, first_won: bool) -> None:
        """The logistic step on ``x_first - x_second`` towards 1 or 0.

        Parameters
        ----------
        x_first, x_second : array_like of shape (d,) or scipy.sparse row
            The rows of the two that were shown.
        first_won : bool
            Whether the first one was preferred.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> bandit = cf.LinearBandit(link="logistic")
        >>> bandit.learn_pair([2.0], [0.0], True)
        >>> bandit.weights
        array([0.5])
        """
        self._learn_pair(x_first, x_second, first_won)

    def inverse(self) -> Vector:
        """``A^-1``, a copy.

        Returns
        -------
        ndarray of float64, shape (d, d), or (d,) for the diagonal
            Empty before the first round.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.LinearBandit().inverse().shape
        (0, 0)
        """
        return inverse_of(self, 0)

    @property
    def weights(self) -> Vector:
        """The weights w, a copy; empty before the first round."""
        return self._read("weights")[0]


class ArmBandit(Bandit, rules.ArmEngine):
    """Chooses among arms that know nothing of each other: a regression each, one row a round.

    Parameters
    ----------
    n_arms : int
        At least 1; `add_arm` adds more.
    explore, width, link, covariance, ridge, forget, floor, scale, power, noise, norm_bound, \
delta, max_pending, max_features, precision, seed
        As for `LinearBandit`, with the m and q of the row in each arm. "theory" takes
        ``delta / n_arms`` and each arm's own determinant; "thompson" draws for every arm.
        Forgetting touches the arm that learns.

    See Also
    --------
    LinearBandit : Actions with features, one regression.
    Confidit : Where the reward is right or wrong.

    References
    ----------
    L. Li, W. Chu, J. Langford, R. E. Schapire. A contextual-bandit approach to personalized news
    article recommendation. WWW 2010.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> bandit = cf.ArmBandit(2)
    >>> bandit.learn([1.0], 1, 4.0)
    >>> bandit.choose([1.0])
    1
    """

    _shaping = (*Bandit._shaping, "n_arms")
    _alike = (*Bandit._alike, "n_arms")  # how many there are now is what counts

    def __init__(self, n_arms: SupportsIndex, *, explore: Explore = "ucb",
                 width: Real | Literal["theory"] = 1.0,
                 link: Link = "identity", covariance: Covariance = "full", ridge: Real = 1.0,
                 forget: Real = 1.0, floor: Real = 0.0, scale: Real = 10.0,
                 power: Real = 0.5, noise: Real = 1.0, norm_bound: Real = 1.0, delta: Real = 0.05,
                 max_pending: SupportsIndex = 10_000, max_features: SupportsIndex | None = None,
                 precision: Precision = "auto", seed: Seed = None) -> None:
        self._begin(**locals())

    def scores(self, x: RowsLike) -> tuple[Vector, Vector]:
        """``(means, widths)``: m and ``sqrt(q)`` of x in every arm.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.

        Returns
        -------
        tuple of two ndarrays of float64, shape (n_arms,)
            The expected rewards, and the widths ``sqrt(q)``.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.ArmBandit(2).scores([3.0])
        (array([0., 0.]), array([3., 3.]))
        """
        return self._scores(x, None)

    def probabilities(self, x: RowsLike, *, allowed: ArrayLike | None = None,
                      samples: SupportsIndex | None = None) -> Vector:
        """With which `choose` would choose each arm; see `LinearBandit.probabilities`.

        Parameters
        ----------
        x, allowed
            As for `choose`.
        samples : int, optional
            For "thompson": how many draws the frequencies are of.

        Returns
        -------
        ndarray of float64, shape (n_arms,)
            The chance of each to be chosen now; they sum to 1.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.ArmBandit(2, explore="squarecb").probabilities([3.0])
        array([0.5, 0.5])
        """
        return self._probabilities(x, allowed, None, samples)

    def decide(self, x: RowsLike, *, allowed: ArrayLike | None = None,
               samples: SupportsIndex | None = None) -> Decision:
        """`choose`, remembered until the reward comes.

        Parameters
        ----------
        x, allowed, samples
            As for `probabilities`.

        Returns
        -------
        Decision
            With the fields ``id``, ``action`` and ``probability``.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.ArmBandit(2).decide([1.0], allowed=[False, True])
        Decision(id=0, action=1, probability=1.0)
        """
        return self._decide(x, allowed, None, samples)

    def add_arm(self) -> int:
        """One arm more, as fresh as all were at the start; `reset` takes it away again.

        Returns
        -------
        int
            Its index.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> bandit = cf.ArmBandit(2)
        >>> bandit.add_arm(), bandit.n_arms
        (2, 3)
        """
        return self._add_answer()

    def inverse(self, arm: SupportsIndex) -> Vector:
        """``A^-1`` of an arm, a copy: see `LinearBandit.inverse`.

        Parameters
        ----------
        arm : int
            From 0.

        Returns
        -------
        ndarray of float64, shape (d, d), or (d,) for the diagonal
            Empty before the first round.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.ArmBandit(3).inverse(2).shape
        (0, 0)
        """
        return inverse_of(self, arm)

    @property
    def n_arms(self) -> int:
        """How many arms there are now."""
        return self._answers

    @property
    def weights(self) -> Vector:
        """Weights w of each arm, a copy (n_arms, d); (n_arms, 0) before the first round."""
        return self._read("weights")
