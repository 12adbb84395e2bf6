"""The filters: thin classes over the engine; many topics over one stream."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping
from concurrent.futures import CancelledError
from functools import partial
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arrays import flags_of, refuse_masked
from .._typing import Kernel, Precision, Progress, Real, RowsLike, Vector
from ..kernels import top_k
from ..learner._base import Learner
from ..learner._chance import Chance
from ..learner._check import answering, choice, count, invertible, number, precision_of, switch
from ..learner._engine import Form
from ..learner._progress import in_threads, reporter
from ..learner._random import make_generator
from ..metric import _forms as forms
from ..rows._rows import table_of
from . import _rules as rules
from ._history import FilteringHistory

FEEDBACK = ("forwarded", "full")


class Filter(Learner, rules.FilterEngine):
    """What all filters have in common.

    A round is ``forward(x)``, which says whether x is forwarded and counts the round; where its
    label comes to be known ``learn(x, relevant)`` follows, which counts no round.
    """

    last_history: FilteringHistory | None

    @property
    def threshold(self) -> float:
        """The threshold of the round to come; minus infinity where all is forwarded."""
        return self._threshold

    @property
    def rounds(self) -> int:
        """How often `forward` was called."""
        return self._rounds

    @property
    def learned(self) -> int:
        """N, how often `learn` was called."""
        return self._learned

    def run(self, X: RowsLike, y: ArrayLike, *, u: ArrayLike | None = None,
            progress: Progress = None) -> FilteringHistory:
        """Forwards row by row, and learns the labels that the feedback grants.

        The result is that of the loop of single calls, bit for bit; it is one compiled loop
        without the GIL. In the kernel form the rows to come are solved for in blocks, so that
        the factor is read once for many of them.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix of shape (T, d)
            CSR with 32- or 64-bit indices, float64 and float32 are read where they are.
        y : array_like of bool, shape (T,)
            True where the row is relevant.
        u : array_like of shape (d,), optional
            The true rule, where it is known: for the history's regret.
        progress : bool or callable, optional
            True shows a bar; a callable is called now and then as ``progress(done, total)``.

        Returns
        -------
        FilteringHistory
            Also kept as `last_history`, where an interrupted run leaves its rounds so far.

        Examples
        --------
        >>> import numpy as np
        >>> import coactive_fast as cf
        >>> X = np.random.default_rng(0).standard_normal((500, 4))
        >>> history = cf.RidgeFilter().run(X, X[:, 0] > 0.5)
        >>> bool(history.recall > history.precision)
        True
        """
        stream = rules.Stream(X)
        relevant = flags_of(y, "y", len(stream))
        projection = None if u is None else stream.products(u)
        run = rules.FilterRun(stream, relevant, self._full_feedback, projection)
        run.admit(self)
        return run.play(self, progress)

    @property
    def _full_feedback(self):
        return self._parameters.get("feedback") == "full"


class SimpleFilter(Filter):
    """Forwards by the share of relevant rows alone, whatever x is.

    The margin is the share of relevant labels among those learned, less 1/2 (0 while nothing was
    learned); the threshold is ``-sqrt(4 ln t / N)``.

    See Also
    --------
    RidgeFilter : Looks at the features.

    References
    ----------
    N. Cesa-Bianchi, A. Conconi, C. Gentile. Margin-based algorithms for information filtering.
    NIPS 15, 2003.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.SimpleFilter()
    >>> learner.learn([1.0], True)
    >>> learner.margin([2.0]), learner.forward([2.0])
    (0.5, True)
    """

    def __init__(self) -> None:
        self._begin(**locals())

    def _build(self, parameters):
        decision = rules.Decision("falling", scale=4.0)
        return {"make": lambda: rules.FilterRule(rules.Share(), decision)}


class PerceptronFilter(Filter):
    """The Perceptron: forwards where ``w.x >= 0``, and learns ``w += y x`` on a mistake.

    Parameters
    ----------
    feedback : {"full", "forwarded"}
        Which labels `run` shows it.

    See Also
    --------
    AppleTasting : With a chance to learn from what it would hold back.
    RidgeFilter : Second order.

    References
    ----------
    N. Cesa-Bianchi, A. Conconi, C. Gentile. Margin-based algorithms for information filtering.
    NIPS 15, 2003.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.PerceptronFilter()
    >>> learner.learn([1.0, 0.0], False)
    >>> learner.forward([1.0, 0.0])
    False
    """

    def __init__(self, *, feedback: Literal["forwarded", "full"] = "full") -> None:
        self._begin(**locals())

    def _build(self, given):
        choice("feedback", given["feedback"], FEEDBACK)
        return {"make": lambda: rules.FilterRule(rules.Perceptron(), rules.Decision("sign"))}


# --- ridge regression -----------------------------------------------------------------------------


COVARIANCES = ("full", "diagonal", "kernel")
RULES = ("paper", "ucb", "bbq", "dgs")
MOST = 2**62  # a window or a budget that nothing reaches


class _RidgeFilter(Filter):
    """What both ridge filters can tell of rows without a round."""

    def margins(self, X: RowsLike) -> Vector:
        """The margin of every row of X; changes nothing.

        One pass over the rows. In the kernel form the factor is read once for many of them; each
        gets the bits that `margin` gives it.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix of shape (n, d)
            A row an example.

        Returns
        -------
        ndarray of float64, shape (n,)
            The margin of each row, as `margin` gives it.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.RidgeFilter()
        >>> learner.learn([1.0, 0.0], True)
        >>> learner.margins([[1.0, 0.0], [0.0, 1.0]]).round(3)
        array([0.333, 0.   ])
        """
        return self._margins(X)

    def select(self, X: RowsLike, k: SupportsIndex) -> NDArray[np.intp]:
        """The k rows of largest margin, best first, ties to the lower index.

        For rows that come as a batch of which k labels can be paid. It counts no round; learn what
        was labelled by `learn`.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix of shape (n, d)
            A row an example.
        k : int
            At least 0; more than n gives n.

        Returns
        -------
        ndarray of intp, shape (min(k, n),)
            Indices of the rows with the largest margins, the largest first.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.RidgeFilter()
        >>> learner.learn([1.0, 0.0], True)
        >>> learner.select([[0.0, 1.0], [1.0, 0.0], [0.0, 0.5]], 2)
        array([1, 0])
        """
        k = count("k", k)
        return top_k(self.margins(X), k)

    def health(self) -> dict[str, Any]:
        """What the watch over rounding errors has seen, for ``covariance="full"``.

        Returns
        -------
        dict
            By name: precision ("fast" or "robust", the form in use), and what
            `metric.Full.health` counts. Empty for other covariances.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.RidgeFilter()
        >>> learner.learn([1.0, 1e9], True)
        >>> learner.health()["precision"]
        'robust'
        """
        return self._read("health")

    def probability(self, x: RowsLike) -> float:
        """How probable it is that x is relevant.

        ``(1 + margin) / 2`` clipped to [0, 1]. With `calibrate`, once something was learned, the
        isotonic fit of the labels learned on the margins that they had just before: linear between
        its knots, constant beyond.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.

        Returns
        -------
        float
            Between 0 and 1.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.RidgeFilter()
        >>> learner.learn([1.0, 0.0], True)
        >>> round(learner.probability([1.0, 0.0]), 3)
        0.667
        """
        return self._probability(x)


class RidgeFilter(_RidgeFilter):
    """RIDGE-FIL and RIDGE-FULL: the margin of a ridge regression against a falling threshold.

    ``A = I + sum x x^T`` and ``b = sum y x`` over what was learned (y = 1 for relevant, else -1),
    ``q = x^T A^-1 x``. The margin takes x itself into the matrix: ``b^T A^-1 x / (1 + q)``. The
    paper's rule forwards where it is at least ``tau - sqrt(threshold_scale ln t / N)``, and always
    while N, the number learned, is 0; tau is 0 unless a `cost_ratio` is given.

    Parameters
    ----------
    threshold_scale : float, default 5.0
        At least 0; the paper's 5 is a tuned value.
    covariance : {"full", "diagonal", "kernel"}
        What is kept of A: all of it; its diagonal (the margin is then ``w.x / (1 + q)`` with
        ``w += (x / a) (y - w.x) / (1 + q)``); or the factor of the Gram matrix of what was
        learned, which needs no d x d matrix: the form for text.
    feedback : {"forwarded", "full"}
        "full": `run` learns every label, and the threshold is tau (RIDGE-FULL).
    forget : float, default 1.0
        Factor f in (0, 1], for full and diagonal: what is known fades before each example, the
        regulariser stays. Full: ``A = rho I + M``, ``M <- f M``, ``b <- f b`` and ``rho <- f rho``,
        but 1 where N is a multiple of ``m = max(1, min(d, floor(ln 2 / -ln f)))``. Diagonal:
        ``a <- f a + 1 - f`` in all coordinates, w as it is.
    window : int, optional
        For full and kernel: only the last `window` examples learned count.
    cost_ratio : float, default 1.0
        Above 0: rho, the cost of a needless forward over that of a missed relevant row. The margin
        estimates 2 p - 1, and a forward is worth its cost where p exceeds rho / (1 + rho): so
        ``tau = (rho - 1) / (rho + 1)``. 1 is the paper.
    calibrate : bool, default False
        Whether `probability` is fitted to the labels seen (16 bytes an example).
    rule : {"paper", "ucb", "bbq", "dgs"}
        What is forwarded besides what has a margin of tau or more, by what is known of x instead
        of N alone; see Notes.
    delta : float, default 0.05
        Of the rules "ucb" and "dgs", in (0, 1).
    width : float or "theory", default "theory"
        Of the rules "ucb" and "dgs": how many of its widths w.x may be below tau. On unit rows of
        many features those of the theory forward everything; from 0.05 on a number is usable, if
        it is above tau: else what nothing is known of is not forwarded.
    power : float, default 0.5
        Of the rule "bbq", at least 0.
    floor : float, default 0.0
        A share in [0, 1]: as long as nothing relevant was learned (since the floor is asked for),
        rows are forwarded too while N is below so much of the rounds. Without it a filter with a
        high tau or a small `threshold_scale` may have learned a few rows that are not relevant
        and forward nothing ever after.
    kernel : {"linear", "rbf", "poly"} or callable
        With covariance="kernel". A callable gets two 1-D rows and `kernel_params` as keywords; a
        learner that has one cannot be saved.
    kernel_params : dict, optional
        By name: gamma (default 1 / d), coef0 (1), degree (3), as in scikit-learn.
    budget : int, optional
        With covariance="kernel": at most so many examples are kept; the others count through
        their projection on the span of those (approximate linear dependence). The sum of what
        that leaves out is `approximation_error`.
    tolerance : float, default 1e-2
        With a budget: an example is kept where its squared distance from that span exceeds
        ``tolerance * k(x, x)``.
    precision : {"auto", "fast", "robust"}, default "auto"
        How the inverse of the full covariance is kept, as in `metric.Full`: "auto" begins with the
        fast form and converts to the robust one, which is right whatever the scales of the
        columns, as soon as that matters; `health` says which form is in use. With a window
        each example then costs O(window d^2).

    See Also
    --------
    ProbabilisticRidgeFilter : Explores by chance; its regret is bounded.
    run_topics : Many filters over one stream.

    Notes
    -----
    The other rules, with ``q = x^T A^-1 x`` and the round t:

    - "ucb" forwards where ``w.x + c sqrt(q) >= tau``, ``c = sqrt(ln det A + 2 ln(1 / delta)) + 1``
      (the width of Abbasi-Yadkori, Pál and Szepesvári) or `width`.
    - "dgs" (Dekel, Gentile and Sridharan) likewise with ``c^2 = 1 + 4 r + 36 ln(t / delta)``, r
      the sum of ``q / (1 + q)`` over what was learned by this rule, or ``c = width sqrt(ln(1 +
      t))``. Before an example is learned w moves to ``|w.x| <= 1`` in the norm of A. What is
      forwarded for its margin alone is learned too: its label is there.
    - "bbq" (Cesa-Bianchi, Gentile and Orabona) forwards where the margin is at least tau or
      ``q / (1 + q) > t^-power``.

    `threshold` is that of the margin ("paper", "bbq") or of ``(w.x - tau) / sqrt(q)``.

    N examples kept, d features, one row of m entries not zero:

    ===========  ==============================  ==========================================
    covariance   memory                          a round
    ===========  ==============================  ==========================================
    full         14 d^2 bytes (window: + 8 W d,  one pass over 4 d^2 bytes
                 forgetting: + 10 d^2)
    diagonal     40 d bytes                      O(m)
    kernel       4 N^2 bytes, and 32 bytes for   one pass over 4 N^2 bytes, in `run` one
                 each entry kept                 pass for 48 rows
    budget B     18 B^2 bytes                    one pass over 8 B^2 bytes
    ===========  ==============================  ==========================================

    The memory of the kernel form grows with what is learned. It is looked at before it is taken:
    a `MemoryError` names the bytes. Rows are kept sparse where they are sparse, with an index
    from features to rows (32 bytes a feature), so that a linear kernel costs what the query's
    features are found in.

    The ridge is 1, and rows are taken to be of a length near 1. Of longer ones the full form
    converts to its robust variant (`precision`), which loses no digits; the kernel form refuses to
    learn where k(x, x) reaches 2^24. The diagonal form loses none. A full form that forgets makes
    its inverse anew, O(d^3), where rho becomes 1: once in m examples.

    References
    ----------
    N. Cesa-Bianchi, A. Conconi, C. Gentile. Margin-based algorithms for information filtering.
    NIPS 15, 2003.
    V. Vovk. Competitive on-line statistics. International Statistical Review 69, 2001.
    Y. Abbasi-Yadkori, D. Pál, C. Szepesvári. Improved algorithms for linear stochastic bandits.
    NIPS 2011.
    O. Dekel, C. Gentile, K. Sridharan. Selective sampling and active learning from single and
    multiple teachers. Journal of Machine Learning Research 13, 2012.
    N. Cesa-Bianchi, C. Gentile, F. Orabona. Robust bounds for classification via selective
    sampling. ICML 2009.
    Y. Engel, S. Mannor, R. Meir. The kernel recursive least-squares algorithm. IEEE Transactions
    on Signal Processing 52, 2004.
    B. Zadrozny, C. Elkan. Transforming classifier scores into accurate multiclass probability
    estimates. KDD 2002.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.RidgeFilter()
    >>> learner.learn([1.0, 0.0], False)
    >>> round(learner.margin([1.0, 0.0]), 12)
    -0.333333333333
    """

    _shaping = ("covariance", "window", "calibrate", "kernel", "kernel_params", "budget",
                "tolerance", "precision")

    def __init__(self, *, threshold_scale: Real = 5.0,
                 covariance: Literal["full", "diagonal", "kernel"] = "full",
                 feedback: Literal["forwarded", "full"] = "forwarded", forget: Real = 1.0,
                 window: SupportsIndex | None = None, cost_ratio: Real = 1.0,
                 calibrate: bool = False, rule: Literal["paper", "ucb", "bbq", "dgs"] = "paper",
                 delta: Real = 0.05, width: Real | Literal["theory"] = "theory",
                 power: Real = 0.5, floor: Real = 0.0, kernel: Kernel = "linear",
                 kernel_params: Mapping[str, Any] | None = None,
                 budget: SupportsIndex | None = None, tolerance: Real = 1e-2,
                 precision: Precision = "auto") -> None:
        self._begin(**locals())

    @property
    def approximation_error(self) -> float:
        """With a budget: how much of what was learned is not kept; 0 without.

        The sum of the squared distances of the rows, each as it came, from the span of those kept.
        """
        return self._left_out

    def _build(self, given):
        full = choice("feedback", given["feedback"], FEEDBACK) == "full"
        rule = choice("rule", given["rule"], RULES)
        width = given["width"]
        if rule != "paper" and full:
            raise ValueError(f"rule={rule!r} has no meaning with feedback=\"full\": nothing is "
                             "held back")
        kind = "sign" if full else "falling" if rule == "paper" else rule
        delta = number("delta", given["delta"], above=0.0)
        if delta >= 1.0:
            raise ValueError(f"delta must be in (0, 1), got {delta}")
        decision = rules.Decision(
            kind, delta=delta, tau=cost_threshold(given["cost_ratio"]),
            scale=number("threshold_scale", given["threshold_scale"], least=0.0),
            width=-1.0 if _is(width, "theory") else number("width", width, least=0.0),
            power=number("power", given["power"], least=0.0),
            floor=number("floor", given["floor"], least=0.0, most=1.0))
        return {"make": _rule_maker(_form(given), decision, given["calibrate"])}


def _rule_maker(form, decision, calibrate):
    """What makes the rule over a form that `form` makes."""
    calibrate = switch("calibrate", calibrate)
    return lambda: rules.FilterRule(form(), decision, calibrate)


def cost_threshold(cost_ratio):
    """The margin at which a forward is worth its cost: 2 p - 1 at p = rho / (1 + rho)."""
    rho = number("cost_ratio", cost_ratio, above=0.0)
    return (rho - 1.0) / (rho + 1.0)


def _form(given):
    """What makes the form that the parameters ask for, all of them checked."""
    covariance, forget, window = _form_options(given)
    budget = given["budget"]
    budget = 0 if budget is None else min(count("budget", budget, least=1), MOST)
    tolerance = number("tolerance", given["tolerance"], least=0.0)
    kernel, params = given["kernel"], given["kernel_params"]
    if budget and covariance != "kernel":
        raise ValueError(f"budget has no meaning with covariance={covariance!r}")
    if window and budget:
        raise ValueError("window and budget exclude each other")
    if covariance == "kernel":
        if budget:
            return _checked(partial(forms.BudgetRidge, kernel, params, 1.0, budget, tolerance))
        return _checked(partial(forms.DualRidge, kernel, params, 1.0, window))
    if covariance == "diagonal":
        return partial(forms.DiagonalRidge, 1.0, forget, False)
    if window:
        return partial(forms.WindowRidge, 1.0, 1.0, window, given["precision"])
    return partial(forms.FullRidge, 1.0, forget, False, given["precision"])


def _form_options(given):
    """covariance, forget and window (0: none), which must go together, and with the kernel."""
    covariance = choice("covariance", given["covariance"], COVARIANCES)
    forget = number("forget", given["forget"], above=0.0, most=1.0)
    window = given["window"]
    window = 0 if window is None else min(count("window", window, least=1), MOST)
    kernel = given["kernel"]
    if forget < 1.0 and covariance == "kernel":
        raise ValueError('forget < 1 is not possible with covariance="kernel": use a window')
    if window and covariance == "diagonal":
        raise ValueError('window is not possible with covariance="diagonal": use forget')
    if window and forget < 1.0:
        raise ValueError("forget and window exclude each other")
    if covariance != "kernel" and (not _is(kernel, "linear") or given["kernel_params"]):
        raise ValueError(f"kernel and kernel_params have no meaning with covariance={covariance!r}")
    precision_of(given["precision"], covariance)
    return covariance, forget, window


def _is(value, word):
    """Whether a parameter is this word; arrays are not asked."""
    return isinstance(value, str) and value == word


def _checked(make):
    make()  # raises where the parameters do not go together
    return make


class ProbabilisticRidgeFilter(_RidgeFilter):
    """P-RIDGE-FIL: forwards by the sign of a margin, and by chance where that is negative.

    The margin is ``w.x``. What is learned moves ``A <- A + x x^T`` and ``w <- w + A^-1 x (y -
    w.x)`` with the new A; then w is projected onto the unit ball in the norm of the new A.

    Parameters
    ----------
    a : float, default 1.0
        ``A = a I`` at the start.
    explore : float, optional
        Probability p in [0, 1] to forward what the margin is against.
    horizon : int or "anytime", optional
        Number n of rounds, where it is known: ``p = (1 + n^-1/2) n^-1/2 / 2``; "anytime":
        the same with the round t for n, 1/2 at the most. One of `explore` and `horizon` must be
        given.
    covariance : {"full", "diagonal", "kernel"}
        The diagonal form takes ``w += (x / a) (y - w.x) / (1 + q)`` with the a from before. The
        kernel form keeps w in the unit ball of the span of the rows learned.
    forget : float, default 1.0
        As in `RidgeFilter`, with ``b = A w``: where the regulariser is renewed w becomes
        ``A_f^-1 f A w``.
    window : int, optional
        For full and kernel: the filter is what it would be that had learned only the last
        `window` examples, in their order and projected after each.
    cost_ratio : float, default 1.0
        As in `RidgeFilter`: all is forwarded from the margin tau on, by chance below.
    calibrate : bool, default False
        As in `RidgeFilter`.
    kernel, kernel_params
        As for `RidgeFilter`.
    precision : {"auto", "fast", "robust"}, default "auto"
        As in `RidgeFilter`.
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied. A coin is drawn where
        the margin is below tau, and only there.

    See Also
    --------
    RidgeFilter : Explores by a threshold that falls.

    Notes
    -----
    The paper's bound on the regret (Theorem 3) is for ``||x|| = ||u|| = 1`` and the p of a known
    horizon.

    Full: 14 d^2 bytes (24 d^2 with forgetting), a step one pass over 4 d^2 bytes, some more where
    the projection is active. Diagonal: 40 d bytes, a step O(d). Kernel: 4 N^2 bytes and 32 for each
    entry kept, 2 kB for each example, a step O(N^2); where the projection is active some 5 to 30
    times as much, by Lanczos on the factor, and more the smaller a is. A window of W examples
    costs, once it is full, all their steps at each example: O(W d^2), kernel O(W^3), because what
    a projection has taken away cannot be told from what the oldest example brought.

    References
    ----------
    N. Cesa-Bianchi, A. Conconi, C. Gentile. Margin-based algorithms for information filtering.
    NIPS 15, 2003.
    B. Zadrozny, C. Elkan. Transforming classifier scores into accurate multiclass probability
    estimates. KDD 2002.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.ProbabilisticRidgeFilter(explore=0.1, seed=0)
    >>> learner.learn([1.0, 0.0], False)
    >>> learner.margin([1.0, 0.0])
    -0.5
    """

    _shaping = ("a", "covariance", "window", "calibrate", "kernel", "kernel_params", "precision")

    def __init__(self, *, a: Real = 1.0, explore: Real | None = None,
                 horizon: SupportsIndex | Literal["anytime"] | None = None,
                 covariance: Literal["full", "diagonal", "kernel"] = "full", forget: Real = 1.0,
                 window: SupportsIndex | None = None, cost_ratio: Real = 1.0,
                 calibrate: bool = False, kernel: Kernel = "linear",
                 kernel_params: Mapping[str, Any] | None = None,
                 precision: Precision = "auto", seed: Any = None) -> None:
        self._begin(**locals())

    def _build(self, given):
        a = invertible("a", given["a"])
        covariance, forget, window = _form_options(given)
        if covariance == "kernel":
            kernel, params = given["kernel"], given["kernel_params"]
            make = _checked(partial(forms.DualBall, kernel, params, a, window))
        elif covariance == "diagonal":
            make = partial(forms.DiagonalRidge, a, forget, False, True)
        else:
            make = partial(forms.BallRidge, a, forget, window, given["precision"])
        tau = cost_threshold(given["cost_ratio"])
        decision = rules.Decision("coin", explore=_coin(given), tau=tau)
        return {"make": _rule_maker(make, decision, given["calibrate"]),
                "chance": Chance(make_generator(given["seed"]))}


def _coin(given):
    """p of the coin; below 0: that of each round."""
    explore, horizon = given["explore"], given["horizon"]
    if (explore is None) == (horizon is None):
        raise ValueError("give one of explore and horizon")
    if horizon is None:
        return number("explore", explore, least=0.0, most=1.0)
    if isinstance(horizon, str):
        choice("horizon", horizon, ("anytime",))
        return -1.0
    n = count("horizon", horizon, least=1)
    return 0.5 * (1.0 + n**-0.5) * n**-0.5


# --- apple tasting: a filter made of any learner that wants every label ---------------------------


def _is_plain(kind):
    """Whether margin and learn are those of this package."""
    return (issubclass(kind, Filter) and kind.margin is rules.FilterEngine.margin
            and kind.learn is rules.FilterEngine.learn)


class AppleTasting(Filter, rules.TastingEngine):
    """Makes a filter of a learner that wants every label, by chance alone.

    Forwards where the classifier's margin is at least 0, else all the same with probability
    `explore`; the classifier learns what was forwarded. Its own threshold, `forward` and count of
    rounds are not used, and x is handed to it as it comes.

    Parameters
    ----------
    classifier : object
        Has ``margin(x)`` and ``learn(x, relevant)``. It is copied: `classifier` is the copy that
        learns, and `reset` returns to what was given.
    explore : float
        Probability p in [0, 1].
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied. A coin is drawn where
        the margin is negative, and only there.

    See Also
    --------
    RidgeFilter : Explores by its threshold, not by chance.

    Notes
    -----
    Over a filter of this package `run` is one compiled loop. A classifier of your own gets the
    rows of `run` one by one, ``X[t]`` (of a sparse X a CSR of one row); a learner over it cannot
    be saved.

    References
    ----------
    D. P. Helmbold, N. Littlestone, P. M. Long. Apple tasting. Information and Computation 161,
    2000.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.AppleTasting(cf.PerceptronFilter(), 0.0)
    >>> learner.learn([1.0, 0.0], False)
    >>> learner.forward([1.0, 0.0]), learner.classifier.rounds
    (False, 0)
    """

    _shaping = ("classifier",)

    def __init__(self, classifier: Any, explore: Real, *, seed: Any = None) -> None:
        self._begin(**locals())

    def _build(self, given):
        classifier = answering("classifier", given["classifier"], ("margin", "learn"))
        explore = number("explore", given["explore"], least=0.0, most=1.0)
        decision = rules.Decision("coin", explore=explore)
        return {"make": lambda: rules.FilterRule(Form(), decision),
                "given": copy.deepcopy(classifier), "compiled": _is_plain(type(classifier)),
                "chance": Chance(make_generator(given["seed"]))}

    @property
    def classifier(self) -> Any:
        """The copy of the classifier that learns."""
        return self._classifier


# --- many topics over one stream ------------------------------------------------------------------


def run_topics(learner: Filter, X: RowsLike, Y: RowsLike, *,
               labelled: tuple[RowsLike, RowsLike] | None = None, n_jobs: SupportsIndex = 1,
               progress: Progress = None) -> list[FilteringHistory]:
    """Runs a fresh filter for each topic over one stream.

    With RIDGE-FULL in the kernel form (no window, no budget) all topics learn the same rows: one
    factor is made and serves them all. Else the topics are runs of their own, side by side in
    threads.

    Parameters
    ----------
    learner : filter
        A template: it is used as it is after `reset`, and not changed. Where it has chance, each
        topic gets an independent stream of its seed.
    X : array_like or scipy.sparse matrix of shape (T, d)
        The stream, a row a round, the same for every topic.
    Y : array_like of bool, shape (T, topics)
        The labels of each topic in a column.
    labelled : (X0, Y0), optional
        Rows whose labels are known, and those in columns as in Y: each topic learns them in order
        before the stream. They count in N, not in t, and not in the histories.
    n_jobs : int, default 1
        Threads.
    progress : bool or callable, optional
        Counts topics, or, where one factor serves all, rounds.

    Returns
    -------
    list of FilteringHistory
        One for each topic: what ``learner.run`` gives, bit for bit.

    Examples
    --------
    >>> import numpy as np
    >>> import coactive_fast as cf
    >>> X = np.random.default_rng(0).standard_normal((60, 5))
    >>> Y = X[:, :3] > 0.0  # three topics
    >>> histories = cf.run_topics(cf.RidgeFilter(covariance="kernel", feedback="full"), X, Y)
    >>> len(histories), all(history.f_measure > 0.7 for history in histories)
    (3, True)
    """
    if not isinstance(learner, Filter):
        raise TypeError(f"learner must be a filter, got {type(learner).__name__}")
    jobs = count("n_jobs", n_jobs, least=1)
    stream = rules.Stream(X)
    relevant = _labels(Y, len(stream), "Y", "X")
    known = None if labelled is None else _known(labelled, stream, relevant.shape[1])
    with reporter(progress) as report:
        if _shares_a_factor(learner):
            return _by_one_factor(learner, stream, relevant, known, report)
        return _side_by_side(learner, stream, relevant, known, jobs, report)


def _shares_a_factor(learner):
    return (type(learner) is RidgeFilter and learner.covariance == "kernel"
            and learner.feedback == "full" and learner.window is None
            and learner.budget is None)


def _labels(Y, n, name, rows):
    refuse_masked(Y, name)
    sparse = hasattr(Y, "toarray")
    given = Y if sparse else np.asarray(Y)
    if len(given.shape) != 2 or given.shape[0] != n:
        raise ValueError(f"{name} must have shape ({n}, topics) to go with {rows}, got "
                         f"{given.shape}")
    given = table_of(given, name) if sparse else given
    return flags_of(given.reshape(-1), name, given.size).reshape(given.shape)


def _known(labelled, stream, topics):
    """The rows with known labels and those labels, checked."""
    if not isinstance(labelled, tuple) or len(labelled) != 2:
        raise TypeError("labelled must be None or a pair (X0, Y0)")
    rows = rules.Stream(labelled[0], "labelled[0]")
    if rows.d != stream.d:
        raise ValueError(f"labelled[0] must have {stream.d} features to go with X, got {rows.d}")
    relevant = _labels(labelled[1], len(rows), "labelled[1]", "labelled[0]")
    if relevant.shape[1] != topics:
        raise ValueError(f"labelled[1] must have {topics} columns to go with Y, got "
                         f"{relevant.shape[1]}")
    return rows, relevant


def _by_one_factor(learner, stream, relevant, known, report):
    model = forms.TopicRidge(learner.kernel, learner.kernel_params, 1.0, relevant.shape[1])
    tau = cost_threshold(learner.cost_ratio)
    if known is not None:
        rules.TopicsRun(*known, model, tau).alone(None)
    run = rules.TopicsRun(stream, relevant, model, tau)
    run.alone(report)
    return run.histories()


def _side_by_side(learner, stream, relevant, known, jobs, report):
    topics = relevant.shape[1]
    seeds = [None] * topics
    if "seed" in learner.get_params(deep=False):
        seeds = make_generator(learner.seed).spawn(topics)
    stop = threading.Event()  # the runs under way end at their next pause

    def paused(done, total):
        if stop.is_set():
            raise CancelledError

    def one(k):
        fresh = learner.clone()
        if seeds[k] is not None:
            fresh.set_params(seed=seeds[k])
        if known is not None:
            rules.FilterRun(known[0], known[1][:, k], True, teaching=True).play(fresh, paused)
        return rules.FilterRun(stream, relevant[:, k], fresh._full_feedback).play(fresh, paused)

    return in_threads(one, topics, jobs, stop.set, report)
