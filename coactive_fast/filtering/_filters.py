"""The filters: thin classes over the engine."""

import math

from ..convex._chance import Chance
from ..learner._base import Learner
from ..learner._check import choice, count, number
from ..learner._progress import reporter
from ..learner._random import make_generator
from ._engine import FilterEngine
from ._full import BallRidge, FullRidge, WindowRidge
from ._history import history_of
from ._kernel import BudgetRidge, KernelRidge
from ._models import Diagonal, Perceptron, Share
from ._run import FilterRun, Stream, flags

COVARIANCES = ("full", "diagonal", "kernel")
FEEDBACK = ("forwarded", "full")


class Filter(Learner):
    """What all filters have in common.

    A round is ``forward(x)``, which says whether x is forwarded and counts the round; where its
    label comes to be known ``learn(x, relevant)`` follows, which counts no round.
    """

    def forward(self, x):
        """Whether x is forwarded; counts the round.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            The first row fixes d.

        Returns
        -------
        bool

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.RidgeFilter()
        >>> learner.forward([1.0, 0.0]), learner.rounds  # nothing is known yet
        (True, 1)
        """
        return self._engine.forward(x)

    def learn(self, x, relevant):
        """Takes in the label of x, whether x was forwarded before or not.

        What `forward` computed for the same x just before is used again, with the same result.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
        relevant : bool

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.RidgeFilter()
        >>> learner.learn([1.0, 0.0], True)
        >>> learner.learned, learner.rounds
        (1, 0)
        """
        self._engine.learn(x, relevant)

    def margin(self, x):
        """What is compared with the threshold; changes nothing.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row

        Returns
        -------
        float

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.PerceptronFilter()
        >>> learner.learn([1.0, 0.0], False)
        >>> learner.margin([2.0, 5.0])
        -2.0
        """
        return self._engine.margin(x)

    @property
    def threshold(self):
        """The threshold of the round to come; minus infinity where all is forwarded."""
        return self._engine.threshold

    @property
    def rounds(self):
        """How often `forward` was called."""
        return self._engine.rounds

    @property
    def learned(self):
        """N, how often `learn` was called."""
        return self._engine.learned

    def run(self, X, y, *, u=None, progress=None):
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
        stream = Stream(X)
        relevant = flags(y, len(stream))
        projection = None if u is None else stream.products(u)
        with reporter(progress) as report:
            run = FilterRun(stream, relevant, self._full_feedback)
            try:
                self._play(run, report)
            finally:
                if run.begun or not len(stream):  # else X was refused as a whole
                    self.last_history = history_of(*run.columns(), projection)
        return self.last_history

    @property
    def _full_feedback(self):
        return self._parameters.get("feedback") == "full"

    def _play(self, run, report):
        run.run(self._engine, report)


class SimpleFilter(Filter):
    """Forwards by the share of relevant rows alone, whatever x is.

    The margin is the share of relevant labels among those learned, less 1/2 (0 while nothing was
    learned); the threshold is ``-sqrt(4 ln t / N)``.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.SimpleFilter()
    >>> learner.learn([1.0], True)
    >>> learner.margin([2.0]), learner.forward([2.0])
    (0.5, True)
    """

    def __init__(self):
        self._begin()

    def _build(self, parameters):
        return FilterEngine(Share, "falling", scale=4.0)


class RidgeFilter(Filter):
    """RIDGE-FIL and RIDGE-FULL: the margin of a ridge regression against a falling threshold.

    ``A = I + sum x x^T`` and ``b = sum y x`` over what was learned (y = 1 for relevant, else -1),
    ``q = x^T A^-1 x``. The margin takes x itself into the matrix: ``b^T A^-1 x / (1 + q)``. The
    paper's rule forwards where it is at least ``-sqrt(threshold_scale ln t / N)``, and always
    while N, the number learned, is 0.

    Parameters
    ----------
    threshold_scale : float, default 5.0
        At least 0; the paper's 5 is a tuned value.
    covariance : {"full", "diagonal", "kernel"}
        What is kept of A: all of it; its diagonal (the margin is then ``w.x / (1 + q)`` with
        ``w += (x / a) (y - w.x) / (1 + q)``); or the factor of the Gram matrix of what was
        learned, which needs no d x d matrix: the form for text.
    feedback : {"forwarded", "full"}
        "full": `run` learns every label, and the threshold is 0 (RIDGE-FULL).
    forget : float, default 1.0
        f in (0, 1], for full and diagonal: at each example first ``A <- f A + d (1 - f) e_j e_j^T``
        with j = N mod d, and ``b <- f b``, so that the regulariser stays.
    window : int, optional
        For full and kernel: only the last `window` examples learned count.
    rule : {"paper", "ucb"}
        "ucb" forwards where w.x may be at least 0 with confidence ``1 - delta``: ``w.x + sqrt(q)
        (sqrt(ln det A + 2 ln(1 / delta)) + 1) >= 0``. It goes by what is known of x instead of N
        alone; its `threshold` is that of ``w.x / sqrt(q)``.
    delta : float, default 0.05
        Of the rule "ucb", in (0, 1).
    kernel : {"linear", "rbf", "poly"} or callable
        With covariance="kernel". A callable gets two 1-D rows and `kernel_params` as keywords; a
        learner that has one cannot be saved.
    kernel_params : dict, optional
        gamma (default 1 / d), coef0 (1), degree (3), as in scikit-learn.
    budget : int, optional
        With covariance="kernel": at most so many examples are kept; the others count through
        their projection on the span of those (approximate linear dependence). The sum of what
        that leaves out is `approximation_error`.
    tolerance : float, default 1e-2
        With a budget: an example is kept where its squared distance from that span exceeds
        ``tolerance * k(x, x)``.

    Notes
    -----
    N examples kept, d features, one row of m entries not zero:

    ===========  ==============================  ==========================================
    covariance   memory                          a round
    ===========  ==============================  ==========================================
    full         14 d^2 bytes (window: + 8 W d)  one pass over 4 d^2 bytes
    diagonal     32 d bytes                      O(m)
    kernel       4 N^2 bytes, and 32 bytes for   one pass over 4 N^2 bytes, in `run` one
                 each entry kept                 pass for 48 rows
    budget B     18 B^2 bytes                    one pass over 8 B^2 bytes
    ===========  ==============================  ==========================================

    The memory of the kernel form grows with what is learned. It is looked at before it is taken:
    a `MemoryError` names the bytes. Rows are kept sparse where they are sparse, with an index
    from features to rows (32 bytes a feature), so that a linear kernel costs what the query's
    features are found in.

    The ridge is 1, and rows are taken to be of a length near 1. Of longer ones the full form loses
    as many digits as the largest ``x.x`` has before the point, until it has seen d of them; the
    kernel form refuses to learn where k(x, x) reaches 2^44. The diagonal form loses none. With
    ``forget^d`` below 1e-3 the full form keeps the factors of A, which cost 1.5 times as much and
    lose no digit.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.RidgeFilter()
    >>> learner.learn([1.0, 0.0], False)
    >>> round(learner.margin([1.0, 0.0]), 12)
    -0.333333333333
    """

    _shaping = ("covariance", "window", "kernel", "kernel_params", "budget", "tolerance")

    def __init__(self, *, threshold_scale=5.0, covariance="full", feedback="forwarded",
                 forget=1.0, window=None, rule="paper", delta=0.05, kernel="linear",
                 kernel_params=None, budget=None, tolerance=1e-2):
        self._begin(threshold_scale=threshold_scale, covariance=covariance, feedback=feedback,
                    forget=forget, window=window, rule=rule, delta=delta, kernel=kernel,
                    kernel_params=kernel_params, budget=budget, tolerance=tolerance)

    @property
    def approximation_error(self):
        """With a budget: the sum of the squared distances of what was learned, each as it came,
        from the span of what was kept; 0 without."""
        return self._engine.approximation_error

    def _build(self, given):
        scale = number("threshold_scale", given["threshold_scale"], least=0.0)
        rule = choice("rule", given["rule"], ("paper", "ucb"))
        full = choice("feedback", given["feedback"], FEEDBACK) == "full"
        delta = number("delta", given["delta"], above=0.0)
        if delta >= 1.0:
            raise ValueError(f"delta must be in (0, 1), got {delta}")
        if rule == "ucb" and full:
            raise ValueError('rule="ucb" has no meaning with feedback="full": its threshold is 0')
        name = "sign" if full else "ucb" if rule == "ucb" else "falling"
        return FilterEngine(_ridge_model(given), name, scale=scale, delta=delta)


def _ridge_model(given):
    """What makes the model that the parameters ask for, all of them checked."""
    covariance = choice("covariance", given["covariance"], COVARIANCES)
    forget = number("forget", given["forget"], above=0.0, most=1.0)
    window, budget = given["window"], given["budget"]
    window = 0 if window is None else count("window", window, least=1)
    budget = 0 if budget is None else count("budget", budget, least=1)
    tolerance = number("tolerance", given["tolerance"], least=0.0)
    kernel, params = given["kernel"], given["kernel_params"]
    if forget < 1.0 and covariance == "kernel":
        raise ValueError('forget < 1 is not possible with covariance="kernel": use a window')
    if window and covariance == "diagonal":
        raise ValueError('window is not possible with covariance="diagonal": use forget')
    if window and forget < 1.0:
        raise ValueError("forget and window exclude each other")
    if budget and covariance != "kernel":
        raise ValueError(f"budget has no meaning with covariance={covariance!r}")
    if window and budget:
        raise ValueError("window and budget exclude each other")
    if covariance == "kernel":
        if budget:
            return _checked(lambda: BudgetRidge(kernel, params, 1.0, budget, tolerance))
        return _checked(lambda: KernelRidge(kernel, params, 1.0, window))
    if not (isinstance(kernel, str) and kernel == "linear") or params:
        raise ValueError(f"kernel and kernel_params have no meaning with covariance={covariance!r}")
    if covariance == "diagonal":
        return lambda: Diagonal(1.0, forget, False)
    return (lambda: WindowRidge(1.0, window)) if window else lambda: FullRidge(1.0, forget)


def _checked(make):
    make()  # raises where the kernel and its parameters are not right
    return make


class ProbabilisticRidgeFilter(Filter):
    """P-RIDGE-FIL: forwards by the sign of a margin, and by chance where that is negative.

    The margin is ``w.x``. What is learned moves ``A <- A + x x^T`` and ``w <- w + A^-1 x (y -
    w.x)`` with the new A; then w is projected onto the unit ball in the norm of the new A.

    Parameters
    ----------
    a : float, default 1.0
        ``A = a I`` at the start.
    explore : float, optional
        p, the probability to forward what the margin is against, in [0, 1].
    horizon : int, optional
        n, the number of rounds, where it is known: ``p = (1 + n^-1/2) n^-1/2 / 2``. One of
        `explore` and `horizon` must be given.
    covariance : {"full", "diagonal"}
        The diagonal form takes ``w += (x / a) (y - w.x) / (1 + q)`` with the a from before.
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied. A coin is drawn where
        the margin is negative, and only there.

    Notes
    -----
    The paper's bound on the regret (Theorem 3) is for ``||x|| = ||u|| = 1`` and the p of a known
    horizon. Full: 14 d^2 bytes, a step one pass over 4 d^2 bytes, some more where the projection
    is active. Diagonal: 32 d bytes, a step O(d).

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.ProbabilisticRidgeFilter(explore=0.1, seed=0)
    >>> learner.learn([1.0, 0.0], False)
    >>> learner.margin([1.0, 0.0])
    -0.5
    """

    _shaping = ("a", "covariance")

    def __init__(self, *, a=1.0, explore=None, horizon=None, covariance="full", seed=None):
        self._begin(a=a, explore=explore, horizon=horizon, covariance=covariance, seed=seed)

    def _build(self, given):
        a = number("a", given["a"], above=0.0)
        if math.isinf(1.0 / a):
            raise ValueError(f"a must have a finite inverse, got {a}")
        if (given["explore"] is None) == (given["horizon"] is None):
            raise ValueError("give one of explore and horizon")
        if given["horizon"] is None:
            explore = number("explore", given["explore"], least=0.0, most=1.0)
        else:
            n = count("horizon", given["horizon"], least=1)
            explore = 0.5 * (1.0 + n**-0.5) * n**-0.5
        full = choice("covariance", given["covariance"], ("full", "diagonal")) == "full"
        make = (lambda: BallRidge(a)) if full else lambda: Diagonal(a, 1.0, True)
        return FilterEngine(make, "coin", explore=explore,
                            chance=Chance(make_generator(given["seed"])))


class PerceptronFilter(Filter):
    """The Perceptron: forwards where ``w.x >= 0``, and learns ``w += y x`` on a mistake.

    Parameters
    ----------
    feedback : {"full", "forwarded"}
        Which labels `run` shows it.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.PerceptronFilter()
    >>> learner.learn([1.0, 0.0], False)
    >>> learner.forward([1.0, 0.0])
    False
    """

    def __init__(self, *, feedback="full"):
        self._begin(feedback=feedback)

    def _build(self, given):
        choice("feedback", given["feedback"], FEEDBACK)
        return FilterEngine(Perceptron, "sign")
