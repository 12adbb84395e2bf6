"""Regression that is fed one row at a time: a thin class over the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Precision, Progress, Real, RowsLike, Vector
from ..learner._base import Learner
from ..learner._check import choice, count, number, precision_of, switch
from ..metric._forms import DiagonalForm, FullForm
from ._history import RegressionHistory
from ._rules import RegressionCalls, Regressions, RewardEngine, RidgeRun

if TYPE_CHECKING:
    from typing_extensions import Self

Link: TypeAlias = Literal["identity", "logistic"]
Covariance: TypeAlias = Literal["full", "diagonal"]

MOST = 2**60  # of anything that is counted: memory ends long before
LINKS = ("identity", "logistic")


def regression(link, covariance, ridge, forget, max_features, precision):
    """``(k -> fresh regressions, words of their engine)`` from checked parameters."""
    logistic = choice("link", link, LINKS) == "logistic"
    form = {"full": FullForm, "diagonal": DiagonalForm}[
        choice("covariance", covariance, ("full", "diagonal"))]
    precision = precision_of(precision, covariance)
    ridge = number("ridge", ridge, above=0.0)
    if not 1e-280 <= ridge <= 1e280:
        raise ValueError(f"ridge must be in [1e-280, 1e280], got {ridge}")
    forget = number("forget", forget, above=0.0, most=1.0)
    most = 0
    if max_features is not None:
        most = count("max_features", max_features, least=1, most=MOST)
        if form is FullForm:
            raise ValueError('max_features goes with covariance="diagonal" only')
    words = {"most": most, "logistic": logistic}
    given: tuple[object, ...] = (ridge, forget, logistic)
    if form is FullForm:
        given = (*given, precision)
    return lambda k: lambda: Regressions(k, ridge, lambda: form(*given)), words


class RewardLearner(Learner):
    """What the regression and the bandits have in common."""

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
        self._engine.decay(f)

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
        self._engine.merge(other._engine)

    @property
    def rounds(self) -> int:
        """How many rows were learned."""
        return self._engine.rounds

    def health(self) -> dict[str, Any]:
        """What the watch over rounding errors has seen, for ``covariance="full"``.

        Returns
        -------
        dict
            See `Confidit.health`; of several arms the first.
        """
        return self._engine.tell("health")


class OnlineRidge(RewardLearner, RegressionCalls):
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
    link: Link
    covariance: Covariance
    ridge: Real
    noise: Real
    forget: Real
    max_features: SupportsIndex | None
    precision: Precision

    def __init__(self, *, link: Link = "identity", covariance: Covariance = "full",
                 ridge: Real = 1.0, noise: Real = 1.0, forget: Real = 1.0,
                 max_features: SupportsIndex | None = None,
                 precision: Precision = "auto") -> None:
        self._begin(link=link, covariance=covariance, ridge=ridge, noise=noise, forget=forget,
                    max_features=max_features, precision=precision)

    def _build(self, parameters):
        given = dict(parameters)
        number("noise", given.pop("noise"), least=0.0)
        fresh, words = regression(**given)
        return RewardEngine(fresh(1), None, **words)

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
            return self._engine.predict(X, False)
        if self.link == "logistic":
            raise ValueError('return_std has no meaning with link="logistic"')
        means, widths = self._engine.predict(X, True)
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
        history: RegressionHistory = RidgeRun(self._engine, X, y, weight).play(self, progress)
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
        return self._engine.tell("weights")[0]


def inverse_of(learner: Learner, i: SupportsIndex) -> Vector:
    """That of regression i, empty where there is nothing yet."""
    found = learner._engine.tell("inverse", i, "arm")
    if found is None:
        return np.zeros((0, 0) if learner.covariance == "full" else 0)
    return found
