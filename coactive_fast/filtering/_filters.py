"""What all filters have, and those without a regression: thin classes over the engine."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Progress, RowsLike
from ..learner._base import Learner
from ..learner._check import choice
from ..rows._labels import flags_of
from ._history import FilteringHistory
from ._rules import FilterEngine, FilterRun, Perceptron, Rule, Share, Stream

FEEDBACK = ("forwarded", "full")


class Filter(Learner):
    """What all filters have in common.

    A round is ``forward(x)``, which says whether x is forwarded and counts the round; where its
    label comes to be known ``learn(x, relevant)`` follows, which counts no round.
    """

    last_history: FilteringHistory | None

    def forward(self, x: RowsLike) -> bool:
        """Whether x is forwarded; counts the round.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            The first row fixes d.

        Returns
        -------
        bool
            Whether x is forwarded; only then may its label be learned.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.RidgeFilter()
        >>> learner.forward([1.0, 0.0]), learner.rounds  # nothing is known yet
        (True, 1)
        """
        return self._engine.forward(x)

    def learn(self, x: RowsLike, relevant: bool | np.bool_) -> None:
        """Takes in the label of x, whether x was forwarded before or not.

        What `forward` computed for the same x just before is used again, with the same result.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        relevant : bool
            Its label.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.RidgeFilter()
        >>> learner.learn([1.0, 0.0], True)
        >>> learner.learned, learner.rounds
        (1, 0)
        """
        self._engine.learn(x, relevant)

    def margin(self, x: RowsLike) -> float:
        """What is compared with the threshold; changes nothing.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.

        Returns
        -------
        float
            Positive where x looks relevant; 0 before anything was learned.

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
    def threshold(self) -> float:
        """The threshold of the round to come; minus infinity where all is forwarded."""
        return self._engine.threshold

    @property
    def rounds(self) -> int:
        """How often `forward` was called."""
        return self._engine.rounds

    @property
    def learned(self) -> int:
        """N, how often `learn` was called."""
        return self._engine.learned

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
        stream = Stream(X)
        relevant = flags_of(y, "y", len(stream))
        projection = None if u is None else stream.products(u)
        run = FilterRun(stream, relevant, self._full_feedback, projection)
        run.admit(self._engine)
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
        self._begin()

    def _build(self, parameters):
        return FilterEngine(Share, Rule("falling", scale=4.0))


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
        self._begin(feedback=feedback)

    def _build(self, given):
        choice("feedback", given["feedback"], FEEDBACK)
        return FilterEngine(Perceptron, Rule("sign"))
