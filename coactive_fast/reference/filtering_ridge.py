"""Slow twins of the ridge filters: the margin of a ridge regression against a threshold.

What a round is, and what y, N and t stand for in the formulas, says `filtering_shell`; what the
parameters mean say `coactive_fast.RidgeFilter` and `coactive_fast.ProbabilisticRidgeFilter`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coactive_fast._typing import Kernel, Real, RowsLike, Seed, Vector

from . import _check as check
from ._ridge import COVARIANCES, fresh, kernel_of
from .filtering_shell import FEEDBACK, Filter
from .kernels import top_k


class _RidgeFilter(Filter):
    """What both ridge filters share: the regression, what a label costs, probabilities.

    The state is one ridge regression, with a window also the examples in it, with `calibrate`
    also the margins and labels learned.
    """

    _ridge = 1.0

    def __init__(self, covariance: str, forget: Real, window: SupportsIndex | None,
                 cost_ratio: Real, calibrate: bool, kernel: Kernel,
                 kernel_params: Mapping[str, Any] | None, seed: Seed = None) -> None:
        self.covariance = check.choice("covariance", covariance, COVARIANCES)
        self.forget = check.within("forget", forget, "(0, 1]")
        self.window = None if window is None else check.positive_count("window", window)
        self.cost_ratio = check.positive("cost_ratio", cost_ratio)
        self.calibrate = check.flag("calibrate", calibrate)
        if self.forget < 1.0 and covariance == "kernel":
            raise ValueError('forget < 1 is not possible with covariance="kernel": use a window')
        if self.window is not None and covariance == "diagonal":
            raise ValueError('window is not possible with covariance="diagonal": use forget')
        if self.window is not None and self.forget < 1.0:
            raise ValueError("forget and window exclude each other")
        self.kernel, self.kernel_params = kernel, kernel_params
        self._kernel = kernel_of(covariance, kernel, kernel_params)
        super().__init__(seed)

    def _start(self):
        super()._start()
        self._model = None
        self._examples = []  # with a window: the learned (x, y) in it
        self._read = []  # with calibrate: (margin just before, relevant) of all that was learned

    def margins(self, X: RowsLike) -> Vector:
        """The margin of every row of X, an array of shape (n,).

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.RidgeFilter()
        >>> learner.learn([1.0, 0.0], True)
        >>> learner.margins([[1.0, 0.0], [0.0, 1.0]]).round(3)
        array([0.333, 0.   ])
        """
        X = self._rows(X)
        return np.array([self.margin(X[t]) for t in range(X.shape[0])], dtype=float)

    def select(self, X: RowsLike, k: SupportsIndex) -> NDArray[np.intp]:
        """The k rows of largest margin, best first, ties to the lower index; counts no round.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.RidgeFilter()
        >>> learner.learn([1.0, 0.0], True)
        >>> learner.select([[0.0, 1.0], [1.0, 0.0], [0.0, 0.5]], 2)
        array([1, 0])
        """
        return top_k(self.margins(X), k)

    def probability(self, x: RowsLike) -> float:
        """How probable it is that x is relevant.

        ``(1 + margin) / 2`` clipped to [0, 1]; with `calibrate` the isotonic fit of the labels
        learned on their margins, see `isotonic`.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.RidgeFilter()
        >>> learner.learn([1.0, 0.0], True)
        >>> round(learner.probability([1.0, 0.0]), 3)
        0.667
        """
        margin = self.margin(x)
        if not self._read:
            return min(max((1.0 + margin) / 2.0, 0.0), 1.0)
        return float(np.interp(margin, *isotonic(*np.array(self._read, dtype=float).T)))

    @property
    def _tau(self):
        """The margin at which a forward is worth its cost: 2 p - 1 at p = rho / (1 + rho)."""
        return (self.cost_ratio - 1.0) / (self.cost_ratio + 1.0)

    def _learn(self, x, y, target=None):
        """What is known after the label y of x; a rule may have it learn another target."""
        relevant, y = y > 0.0, y if target is None else target
        read = [*self._read, (self._margin(x), relevant)] if self.calibrate else []
        if self.window is None:
            examples, model = [], self._now(x)
            if self.forget < 1.0:
                model = model.forgotten(self.forget, self.learned)
            model = self._stepped(model, x, y)
        else:
            examples = [*self._examples, (x.copy(), y)][-self.window :]
            model = self._fresh(x)
            for example in examples:
                model = self._stepped(model, *example)
        self._examples, self._model, self._read = examples, model, read

    def _stepped(self, model, x, y):
        """The regression that has taken in one example more."""
        return model.learned(x, y)

    def _fresh(self, x):
        return fresh(self.covariance, x.size, self._ridge, kernel=self._kernel)

    def _now(self, x):
        return self._fresh(x) if self._model is None else self._model


class RidgeFilter(_RidgeFilter):
    """RIDGE-FIL and RIDGE-FULL; the parameters are those of `coactive_fast.RidgeFilter`.

    Notes
    -----
    ``A = I + sum x x^T``, ``b = sum y x`` over what was learned, and ``q = x^T A^-1 x``; all of
    it is solved for afresh at every call. The margin takes the x that is asked about into the
    matrix: ``b^T A^-1 x / (1 + q)``. The diagonal form keeps w by
    ``w += (x / a) (y - w.x) / (1 + q)`` and has the margin ``w.x / (1 + q)``.

    The rule "paper" forwards where the margin is at least ``tau - sqrt(threshold_scale ln t / N)``
    with ``tau = (rho - 1) / (rho + 1)`` for the cost ratio rho, the rule "ucb" where
    ``w.x + c sqrt(q) >= tau`` with ``c = sqrt(ln det A + 2 ln(1 / delta)) + 1`` or the `width`
    given, the rule "dgs" likewise with ``c^2 = 1 + 4 sum q_s / (1 + q_s) + 36 ln(t / delta)``, the
    sum over what was learned, or ``c = width sqrt(ln(1 + t))`` (`threshold` is that of
    ``(w.x - tau) / sqrt(q)`` then), the rule "bbq" where the margin is at least tau or
    ``q / (1 + q) > t^-power``; all of them while N = 0. With full feedback the threshold is tau.
    "dgs" moves w to ``|w.x| <= 1``, in the norm of A, before it learns x.

    With a `floor` a row is forwarded too where ``N < floor t`` and no example learned was relevant.

    With ``forget < 1`` the past is forgotten before each step: ``A = rho I + M``, ``M <- f M``,
    ``b <- f b``, and rho falls by f but is 1 again where N is a multiple of
    ``m = max(1, min(d, floor(ln 2 / -ln f)))``; the diagonal form takes ``a <- f a + (1 - f)``,
    w as it is. With a window the model is that of the last `window` examples alone. N counts
    every example learned, whether it is still in the window or not.

    Differs: no budget and no tolerance.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.RidgeFilter()
    >>> learner.learn([1.0, 0.0], False)
    >>> learner.margin([1.0, 0.0])
    -0.3333333333333333
    """

    def __init__(self, *, threshold_scale: Real = 5.0,
                 covariance: Literal["full", "diagonal", "kernel"] = "full",
                 feedback: Literal["forwarded", "full"] = "forwarded", forget: Real = 1.0,
                 window: SupportsIndex | None = None, cost_ratio: Real = 1.0,
                 calibrate: bool = False, rule: Literal["paper", "ucb", "bbq", "dgs"] = "paper",
                 delta: Real = 0.05, width: Real | Literal["theory"] = "theory",
                 power: Real = 0.5, floor: Real = 0.0, kernel: Kernel = "linear",
                 kernel_params: Mapping[str, Any] | None = None) -> None:
        self.threshold_scale = check.within("threshold_scale", threshold_scale, "[0, inf)")
        self.feedback = check.choice("feedback", feedback, FEEDBACK)
        self.rule = check.choice("rule", rule, ("paper", "ucb", "bbq", "dgs"))
        self.delta = check.within("delta", delta, "(0, 1)")
        self.width = width if width == "theory" else check.within("width", width, "[0, inf)")
        self.power = check.within("power", power, "[0, inf)")
        self.floor = check.fraction("floor", floor)
        if self.rule != "paper" and feedback == "full":
            raise ValueError(f'rule={rule!r} has no meaning with feedback="full"')
        super().__init__(covariance, forget, window, cost_ratio, calibrate, kernel, kernel_params)

    @property
    def threshold(self):
        """The threshold of the round to come; minus infinity while nothing was learned.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.RidgeFilter().threshold
        -inf
        >>> reference.RidgeFilter(feedback="full", cost_ratio=3.0).threshold
        0.5
        """
        if self.feedback == "full":
            return self._tau
        if self.rule == "paper" or self.learned == 0:
            return self._tau + self._falling(self.threshold_scale)
        return self._tau if self.rule == "bbq" else -self._half_width

    @property
    def _half_width(self):
        """What multiplies sqrt(q) in the rules that go by the width of x."""
        t, given = self.rounds + 1, self.width != "theory"
        if self.rule == "ucb":
            information = max(self._model.information, 0.0)
            own = math.sqrt(information - 2.0 * math.log(self.delta)) + 1.0
            return self.width if given else own
        if given:
            return self.width * math.sqrt(math.log(1.0 + t))
        return math.sqrt(1.0 + 4.0 * self._known + 36.0 * math.log(t / self.delta))

    def _start(self):
        super()._start()
        self._known = 0.0  # sum of q / (1 + q) over what was learned
        self._found = False  # whether anything learned was relevant

    def _margin(self, x):
        m, q = self._now(x).read(x)
        return m / (1.0 + q)

    def _decide(self, x):
        m, q = self._now(x).read(x)
        if self.rule in ("ucb", "dgs") and self.learned:
            forwarded = m - self._tau >= math.sqrt(q) * self.threshold
        else:
            forwarded = m / (1.0 + q) >= self.threshold
        t = self.rounds + 1
        novel = self.rule == "bbq" and q / (1.0 + q) > t**-self.power
        return forwarded or novel or (not self._found and self.learned < self.floor * t)

    def _learn(self, x, y):
        m, q = self._now(x).read(x)
        target = y
        if self.rule == "dgs" and abs(m) > 1.0 and q > 0.0:
            # the step from w - (m - sgn m) / q A^-1 x towards y is that from w towards this
            target = y - (m - math.copysign(1.0, m)) / q
        super()._learn(x, y, target)
        self._known += q / (1.0 + q)
        self._found = self._found or y > 0.0


class ProbabilisticRidgeFilter(_RidgeFilter):
    """P-RIDGE-FIL; the parameters are those of `coactive_fast.ProbabilisticRidgeFilter`.

    Notes
    -----
    The margin is ``w.x``; from tau (see `RidgeFilter`) on x is forwarded, below by a coin with
    probability p, drawn there and only there. p is `explore`, for a horizon n
    ``(1 + n^-1/2) n^-1/2 / 2``, and for "anytime" the smaller of that with the round t in place
    of n and 1/2. What is learned moves ``A <- A + x x^T`` and ``w <- w + A^-1 x (y - w.x)`` with
    the new A (for the diagonal ``w += (x / a) (y - w.x) / (1 + q)`` with the a from before); then
    w is projected onto the unit ball in the norm of the new A, in the kernel form onto that of
    the span of the rows, from the eigenvalues of their Gram matrix. Forgetting and windows are
    those of `RidgeFilter`, with ``b = A w``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.ProbabilisticRidgeFilter(explore=0.1, seed=0)
    >>> learner.learn([1.0, 0.0], False)
    >>> learner.margin([1.0, 0.0])
    -0.5
    """

    def __init__(self, *, a: Real = 1.0, explore: Real | None = None,
                 horizon: SupportsIndex | Literal["anytime"] | None = None,
                 covariance: Literal["full", "diagonal", "kernel"] = "full", forget: Real = 1.0,
                 window: SupportsIndex | None = None, cost_ratio: Real = 1.0,
                 calibrate: bool = False, kernel: Kernel = "linear",
                 kernel_params: Mapping[str, Any] | None = None, seed: Seed = None) -> None:
        self.a = self._ridge = check.positive("a", a)
        if (explore is None) == (horizon is None):
            raise ValueError("give one of explore and horizon")
        self.explore = None if explore is None else check.fraction("explore", explore)
        if isinstance(horizon, str):
            self.horizon = check.choice("horizon", horizon, ("anytime",))
        else:
            self.horizon = None if horizon is None else check.positive_count("horizon", horizon)
        super().__init__(
            covariance, forget, window, cost_ratio, calibrate, kernel, kernel_params, seed
        )

    @property
    def threshold(self):
        """The margin tau from which on x is forwarded for sure.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.ProbabilisticRidgeFilter(explore=0.1, cost_ratio=3.0).threshold
        0.5
        """
        return self._tau

    @property
    def _p(self):
        """The probability of the coin in the round to come."""
        if self.horizon is None:
            return self.explore
        anytime = self.horizon == "anytime"
        n = self.rounds + 1 if anytime else self.horizon
        p = 0.5 * (1.0 + n**-0.5) * n**-0.5
        return min(p, 0.5) if anytime else p

    def _margin(self, x):
        return self._now(x).read(x)[0]

    def _decide(self, x):
        return self._margin(x) >= self._tau or bool(self._rng.random() < self._p)

    def _stepped(self, model, x, y):
        return model.learned(x, y).in_ball()


def isotonic(margins: ArrayLike, relevant: ArrayLike) -> tuple[Vector, Vector]:
    """The increasing step function of the margins that is nearest to the labels in squares.

    Parameters
    ----------
    margins, relevant : array_like of shape (n,), n >= 1
        Labels are 0 and 1.

    Returns
    -------
    knots, values : ndarray
        The distinct margins, increasing, and the fit at each: what lies between is linear, what
        lies beyond is constant (as `numpy.interp` has it).

    Notes
    -----
    Pool adjacent violators: equal margins are one block with their mean; while a block's mean is
    below that of the block before it, the two become one.

    Examples
    --------
    >>> from coactive_fast.reference.filtering_ridge import isotonic
    >>> isotonic([0.1, 0.5, 0.3, 0.5], [0, 1, 1, 0])
    (array([0.1, 0.3, 0.5]), array([0.        , 0.66666667, 0.66666667]))
    """
    knots, places = np.unique(margins, return_inverse=True)
    blocks = []  # (sum of the labels, number of them, number of knots)
    for total, size in zip(np.bincount(places, relevant), np.bincount(places), strict=True):
        block = (total, size, 1)
        while blocks and blocks[-1][0] * block[1] >= block[0] * blocks[-1][1]:
            block = tuple(a + b for a, b in zip(blocks.pop(), block, strict=True))
        blocks.append(block)
    return knots, np.concatenate([np.full(many, total / size) for total, size, many in blocks])
