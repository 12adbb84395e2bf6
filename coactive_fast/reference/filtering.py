"""Slow twins of the filters without a regression, and of many topics over one stream.

What a round is, and what y, N and t stand for in the formulas, says `filtering_shell`.
"""

from __future__ import annotations

import copy
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from coactive_fast._typing import Real, RowsLike, Seed

from . import _check as check
from ._ridge import in_range, product
from .filtering_shell import FEEDBACK, Filter, FilteringHistory


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

    def __init__(self) -> None:
        super().__init__()

    def _start(self):
        super()._start()
        self._relevant = 0

    @property
    def threshold(self) -> float:
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

    def __init__(self, *, feedback: Literal["forwarded", "full"] = "full") -> None:
        self.feedback = check.choice("feedback", feedback, FEEDBACK)
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
        Probability p in [0, 1].
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

    def __init__(self, classifier: Any, explore: Real, *, seed: Seed = None) -> None:
        self._given = copy.deepcopy(check.answering("classifier", classifier, ("margin", "learn")))
        self.explore = check.fraction("explore", explore)
        super().__init__(seed)

    def _start(self):
        super()._start()
        self.classifier = copy.deepcopy(self._given)

    def margin(self, x: Any) -> float:
        """The classifier's margin of x.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.AppleTasting(reference.PerceptronFilter(), 0.1).margin([1.0])
        0.0
        """
        return check.real("the margin of classifier", self.classifier.margin(x))

    def forward(self, x: Any) -> bool:
        """Whether x is forwarded; counts the round.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.AppleTasting(reference.PerceptronFilter(), 1.0)
        >>> learner.forward([1.0]), learner.rounds
        (True, 1)
        """
        forwarded = self.margin(x) >= 0.0 or bool(self._rng.random() < self.explore)
        self.rounds += 1
        return forwarded

    def learn(self, x: Any, relevant: bool | np.bool_) -> None:
        """Lets the classifier learn the label of x.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.AppleTasting(reference.PerceptronFilter(), 0.1)
        >>> learner.learn([1.0], False)
        >>> learner.margin([3.0])
        -3.0
        """
        self.classifier.learn(x, check.answer("relevant", relevant))
        self.learned += 1


def run_topics(learner: Filter, X: RowsLike, Y: ArrayLike, *,
               labelled: tuple[RowsLike, ArrayLike] | None = None,
               n_jobs: SupportsIndex = 1) -> list[FilteringHistory]:
    """A fresh filter for each column of Y over the one stream X.

    Parameters
    ----------
    learner : filter
        The template; not changed. Each topic has its own stream of the template's chance.
    X, Y : array_like
        Rows, and the labels of each topic in a column.
    labelled : (X0, Y0), optional
        Rows whose labels are known: each topic learns them in order before the stream. They
        count in N, not in t.
    n_jobs : int, default 1
        Checked, and without meaning here.

    Returns
    -------
    list of FilteringHistory
        One for each column of Y.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> Y = [[True, False], [True, False]]
    >>> histories = reference.run_topics(reference.PerceptronFilter(), [[1.0], [1.0]], Y)
    >>> [history.forwarded.tolist() for history in histories]
    [[True, True], [True, False]]
    """
    if not isinstance(learner, Filter):
        raise TypeError(f"learner must be a filter, got {type(learner).__name__}")
    check.positive_count("n_jobs", n_jobs)
    X = check.feature_rows("X", X)
    Y = check.flag_table("Y", Y, X.shape[0])
    if labelled is not None:
        if not isinstance(labelled, tuple) or len(labelled) != 2:
            raise TypeError("labelled must be None or a pair (X0, Y0)")
        X0 = check.feature_rows("labelled[0]", labelled[0], X.shape[1], of="X")
        Y0 = check.flag_table("labelled[1]", labelled[1], X0.shape[0], Y.shape[1])
    histories = []
    streams = copy.deepcopy(learner._first_rng).spawn(Y.shape[1])
    for topic, stream in enumerate(streams):
        fresh = copy.deepcopy(learner)
        fresh.reset()
        fresh._rng = stream
        if labelled is not None:
            for t in range(X0.shape[0]):
                fresh.learn(X0[t], Y0[t, topic])
        histories.append(fresh.run(X, Y[:, topic]))
    return histories
