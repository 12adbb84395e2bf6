"""Slow twins of the filters: learning from the labels of what was forwarded.

What a round is, and what y, N and t stand for in the formulas, says `filtering_shell`.
"""

import copy
import math

import numpy as np

from . import _check as check
from ._ridge import COVARIANCES, fresh, in_range, kernel_of, product
from .filtering_shell import Filter
from .projections import project_ball

_FEEDBACK = ("forwarded", "full")


class SimpleFilter(Filter):
    """Forwards by the share of relevant rows alone, whatever x is.

    Notes
    -----
    The margin is the share of relevant labels among those learned, minus 1/2, and 0 for N = 0;
    the threshold is ``-sqrt(4 ln t / N)``, minus infinity for N = 0.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.SimpleFilter()
    >>> learner.learn([1.0], True)
    >>> learner.margin([2.0]), learner.forward([2.0])
    (0.5, True)
    """

    def __init__(self):
        super().__init__()

    def _start(self):
        super()._start()
        self._relevant = 0

    @property
    def threshold(self):
        """``-sqrt(4 ln t / N)``, minus infinity while nothing was learned.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.SimpleFilter().threshold
        -inf
        """
        return self._falling(4.0)

    def _margin(self, x):
        return self._relevant / self.learned - 0.5 if self.learned else 0.0

    def _learn(self, x, y):
        self._relevant += y > 0.0


class RidgeFilter(Filter):
    """RIDGE-FIL and RIDGE-FULL: the margin of a ridge regression against a falling threshold.

    Parameters
    ----------
    threshold_scale : float, default 5.0
        >= 0.
    covariance : {"full", "diagonal", "kernel"}
        What is kept of A: all of it, its diagonal, or the Gram matrix of the rows learned.
    feedback : {"forwarded", "full"}
        With "full", which is RIDGE-FULL, every label is seen and the threshold is 0.
    forget : float, default 1.0
        f, in (0, 1]; below 1 for full and diagonal, and without a window.
    window : int, optional
        Only the last `window` learned examples count; for full and kernel.
    rule : {"paper", "ucb"}
        What is forwarded, see below.
    delta : float, default 0.05
        Of the rule "ucb": the probability that a width is too small, in (0, 1).
    kernel : {"linear", "rbf", "poly"} or callable
        For ``covariance="kernel"``, as for `Dual`; a callable gets two 1-D rows.
    kernel_params : dict, optional

    Notes
    -----
    ``A = I + sum x x^T``, ``b = sum y x`` over what was learned, and ``q = x^T A^-1 x``. The
    margin takes the x that is asked about into the matrix: ``b^T A^-1 x / (1 + q)``. The diagonal
    form keeps w by ``w += (x / a) (y - w.x) / (1 + q)`` and has the margin ``w.x / (1 + q)``.

    "paper" forwards where ``margin >= -sqrt(threshold_scale ln t / N)``, always for N = 0. "ucb"
    forwards where w.x may be >= 0 with the confidence wanted, ``w = A^-1 b``::

        w.x + sqrt(q) (sqrt(ln det A + 2 ln(1 / delta)) + 1) >= 0

    and its `threshold` is that of ``w.x / sqrt(q)``. (A ln det A below 0, which forgetting can
    cause, counts as 0.)

    Forgetting keeps the regulariser: with j = N mod d, N being from before this example,
    ``A <- f A + d (1 - f) e_j e_j^T + x x^T`` and ``b <- f b + y x``; for the diagonal
    ``a <- f a + d (1 - f) e_j`` and then the step above with that a. N counts every example
    learned, whether it is still in the window or not.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.RidgeFilter()
    >>> learner.learn([1.0, 0.0], False)
    >>> learner.margin([1.0, 0.0])
    -0.3333333333333333
    """

    def __init__(
        self,
        *,
        threshold_scale=5.0,
        covariance="full",
        feedback="forwarded",
        forget=1.0,
        window=None,
        rule="paper",
        delta=0.05,
        kernel="linear",
        kernel_params=None,
    ):
        self.threshold_scale = check.within("threshold_scale", threshold_scale, "[0, inf)")
        self.covariance = check.choice("covariance", covariance, COVARIANCES)
        self.feedback = check.choice("feedback", feedback, _FEEDBACK)
        self.forget = check.within("forget", forget, "(0, 1]")
        self.window = None if window is None else check.positive_count("window", window)
        self.rule = check.choice("rule", rule, ("paper", "ucb"))
        self.delta = check.within("delta", delta, "(0, 1)")
        if self.forget < 1.0 and covariance == "kernel":
            raise ValueError('forget < 1 is not possible with covariance="kernel": use a window')
        if self.window is not None and covariance == "diagonal":
            raise ValueError('window is not possible with covariance="diagonal": use forget')
        if self.window is not None and self.forget < 1.0:
            raise ValueError("forget and window exclude each other")
        if self.rule == "ucb" and feedback == "full":
            raise ValueError('rule="ucb" has no meaning with feedback="full": its threshold is 0')
        self.kernel, self.kernel_params = kernel, kernel_params
        self._kernel = kernel_of(covariance, kernel, kernel_params)
        super().__init__()

    def _start(self):
        super()._start()
        self._model = None
        self._examples = []  # with a window: the learned (x, y) in it

    @property
    def threshold(self):
        """The threshold of the round to come; minus infinity while nothing was learned.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.RidgeFilter().threshold
        -inf
        >>> reference.RidgeFilter(feedback="full").threshold
        0.0
        """
        if self.feedback == "full":
            return 0.0
        if self.rule == "paper" or self.learned == 0:
            return self._falling(self.threshold_scale)
        information = max(self._model.information, 0.0)
        return -(math.sqrt(information - 2.0 * math.log(self.delta)) + 1.0)

    def _margin(self, x):
        m, q = self._now(x).read(x)
        return m / (1.0 + q)

    def _decide(self, x):
        if self.rule == "paper" or self.learned == 0:
            return super()._decide(x)
        m, q = self._model.read(x)
        return m >= math.sqrt(q) * self.threshold

    def _learn(self, x, y):
        if self.window is not None:
            examples = [*self._examples, (x.copy(), y)][-self.window :]
            model = self._fresh(x)
            for example in examples:
                model = model.learned(*example)
            self._examples, self._model = examples, model
            return
        model = self._now(x)
        if self.forget < 1.0:
            model = model.forgotten(self.forget, self.learned % x.size)
        self._model = model.learned(x, y)

    def _fresh(self, x):
        return fresh(self.covariance, x.size, 1.0, kernel=self._kernel)

    def _now(self, x):
        return self._fresh(x) if self._model is None else self._model


class ProbabilisticRidgeFilter(Filter):
    """P-RIDGE-FIL: forwards by the sign of a margin, and by chance where that is negative.

    Parameters
    ----------
    a : float, default 1.0
        ``A = a I`` at the start, > 0.
    explore : float, optional
        p, the probability to forward what the margin is against, in [0, 1].
    horizon : int, optional
        n, the number of rounds where it is known: ``p = (1 + n^-1/2) n^-1/2 / 2``. One of
        `explore` and `horizon` must be given.
    covariance : {"full", "diagonal"}
    seed : optional
        What `numpy.random.default_rng` takes.

    Notes
    -----
    The margin is ``w.x``. A coin is drawn where it is negative, and only there. What is learned
    moves ``A <- A + x x^T`` and ``w <- w + A^-1 x (y - w.x)`` with the new A (for the diagonal
    ``w += (x / a) (y - w.x) / (1 + q)`` with the a from before); then w is projected onto the
    unit ball in the norm of the new A.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.ProbabilisticRidgeFilter(explore=0.1, seed=0)
    >>> learner.learn([1.0, 0.0], False)
    >>> learner.margin([1.0, 0.0])
    -0.5
    """

    def __init__(self, *, a=1.0, explore=None, horizon=None, covariance="full", seed=None):
        self.a = check.positive("a", a)
        if (explore is None) == (horizon is None):
            raise ValueError("give one of explore and horizon")
        self.explore, self.horizon = explore, horizon
        if horizon is None:
            self._p = check.fraction("explore", explore)
        else:
            n = check.positive_count("horizon", horizon)
            self._p = 0.5 * (1.0 + n**-0.5) * n**-0.5
        self.covariance = check.choice("covariance", covariance, ("full", "diagonal"))
        super().__init__(seed)

    def _start(self):
        super()._start()
        self._model = None

    def _margin(self, x):
        return self._now(x).read(x)[0]

    def _decide(self, x):
        return _forward_or_explore(self._margin(x), self._p, self._rng)

    def _learn(self, x, y):
        model = self._now(x).learned(x, y)
        inverse = model.inverse if self.covariance == "full" else np.diag(model.inverse)
        w, multiplier = project_ball(model.weights, inverse, 1.0)
        self._model = model.placed(w) if multiplier > 0.0 else model

    def _now(self, x):
        return fresh(self.covariance, x.size, self.a) if self._model is None else self._model


class PerceptronFilter(Filter):
    """The Perceptron: forwards where ``w.x >= 0``.

    Parameters
    ----------
    feedback : {"full", "forwarded"}
        Which labels it sees.

    Notes
    -----
    On a mistake, ``y (w.x) < 0`` or ``w.x = 0`` with ``y = -1``: ``w += y x``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.PerceptronFilter()
    >>> learner.learn([1.0, 0.0], False)
    >>> learner.forward([1.0, 0.0])
    False
    """

    def __init__(self, *, feedback="full"):
        self.feedback = check.choice("feedback", feedback, _FEEDBACK)
        super().__init__()

    def _start(self):
        super()._start()
        self._w = None

    def _margin(self, x):
        return 0.0 if self._w is None else product(self._w, x)

    def _learn(self, x, y):
        w = np.zeros(x.size) if self._w is None else self._w
        if (self._margin(x) >= 0.0) != (y > 0.0):
            with np.errstate(over="ignore"):
                w = w + y * x
            in_range(w)
        self._w = w


class AppleTasting(Filter):
    """Makes a filter of a learner that wants every label, by chance alone.

    Parameters
    ----------
    classifier : object
        Has ``margin(x)`` and ``learn(x, relevant)``. It is copied: `classifier` is the copy that
        learns, and `reset` returns to what was given.
    explore : float
        p, in [0, 1].
    seed : optional
        What `numpy.random.default_rng` takes.

    Notes
    -----
    Forwards where the classifier's margin is >= 0; a coin with probability p is drawn where it
    is negative, and only there. The classifier's own threshold, `forward` and count of rounds
    are not used, and x is handed to it as it comes.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.AppleTasting(reference.PerceptronFilter(), 0.0)
    >>> learner.learn([1.0, 0.0], False)
    >>> learner.forward([1.0, 0.0]), learner.classifier.rounds
    (False, 0)
    """

    def __init__(self, classifier, explore, *, seed=None):
        self._given = copy.deepcopy(check.answering("classifier", classifier, ("margin", "learn")))
        self.explore = check.fraction("explore", explore)
        super().__init__(seed)

    def _start(self):
        super()._start()
        self.classifier = copy.deepcopy(self._given)

    def margin(self, x):
        """The classifier's margin of x.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.AppleTasting(reference.PerceptronFilter(), 0.1).margin([1.0])
        0.0
        """
        return check.real("the margin of classifier", self.classifier.margin(x))

    def forward(self, x):
        """Whether x is forwarded; counts the round.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.AppleTasting(reference.PerceptronFilter(), 1.0)
        >>> learner.forward([1.0]), learner.rounds
        (True, 1)
        """
        forwarded = _forward_or_explore(self.margin(x), self.explore, self._rng)
        self.rounds += 1
        return forwarded

    def learn(self, x, relevant):
        """Lets the classifier learn the label of x.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.AppleTasting(reference.PerceptronFilter(), 0.1)
        >>> learner.learn([1.0], False)
        >>> learner.margin([3.0])
        -3.0
        """
        self.classifier.learn(x, check.flag("relevant", relevant))
        self.learned += 1


def _forward_or_explore(margin, explore, rng):
    return margin >= 0.0 or bool(rng.random() < explore)
