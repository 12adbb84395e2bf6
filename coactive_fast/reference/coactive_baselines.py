"""Slow twins of what coactive learning is compared with: dueling bandit, ranking SVM.

What their parameters mean say the classes of the same names in `coactive_fast`.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from coactive_fast._typing import Real, Seed

from . import _check as check
from .coactive_learner import DeltaLearner, DrawingLearner, State
from .coactive_tasks import Items, Ranking


class DuelingBandit(DrawingLearner):
    """Dueling bandit gradient descent: w against ``w' = w + explore u``, u a random direction.

    Notes
    -----
    `present` draws u and holds the comparison until `learn` ends it; another `present` replaces
    it. Rankings: what is presented is the team-draft interleaving of the two orderings, and the
    ordering wins that brought more of the first k documents of the feedback. Items: what is
    presented is the two best items, w's first (they may be the same), and `better` is one of
    them. Where w' wins ``w += step u``; a tie keeps w.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> task = reference.Items([[1.0, 0.0], [0.0, 1.0]])
    >>> learner = reference.DuelingBandit(task, step=0.5, seed=4)
    >>> pair = learner.present(None)
    >>> pair
    array([0, 1])
    >>> learner.learn(None, pair, 1)
    >>> learner.weights.round(3)
    array([-0.483, -0.129])
    """

    def __init__(self, task: Ranking | Items, *, explore: Real = 1.0, step: Real = 0.01,
                 seed: Seed = None) -> None:
        if not isinstance(task, (Ranking, Items)):
            raise TypeError(f"task must be Ranking or Items, got {type(task).__name__}")
        self.explore = check.positive("explore", explore)
        self.step = check.positive("step", step)
        super().__init__(task, seed)

    def _drawn(self, weights, x, rng):
        u = rng.standard_normal(weights.size)
        u /= np.linalg.norm(u)
        own = self.task.argmax(weights, x)
        other = self.task.argmax(weights + self.explore * u, x)
        if isinstance(self.task, Items):
            return u, [own], [other], np.array([own, other], dtype=np.intp)
        return u, *_interleaved(own, other, rng)

    def learn(self, x: Any, y: Any, better: Any) -> None:
        """End the comparison: `better` is the feedback to y, which `present` returned.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.DuelingBandit(reference.Ranking(k=1), seed=1)
        >>> x = [[1.0], [2.0], [3.0]]
        >>> learner.learn(x, learner.present(x), [2, 1, 0])
        >>> learner.weights
        array([0.01])
        """
        pending, shown = self._answered("y", y)
        if isinstance(self.task, Items):
            won = [check.count("better", better)]
            if won[0] not in shown:
                raise ValueError(f"better must be one of the two items {shown}, got {better}")
        else:
            self._features("better", x, better)  # for its checks
            self._refuse_short(y, better)
            won = check.ranking("better", better)[: self.task.k]
        self._end(pending, won)

    def learn_clicks(self, x: Any, shown: ArrayLike, clicked: ArrayLike | Set[int]) -> None:
        """End the comparison: the team with more of the clicked documents wins, equal or none: tie.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.DuelingBandit(reference.Ranking(), seed=0)
        >>> x = [[1.0], [2.0], [3.0]]
        >>> learner.learn_clicks(x, learner.present(x), [2])
        >>> learner.weights
        array([0.01])
        """
        pending, _, _, clicked = self._clicks(x, shown, clicked)
        self._end(pending, clicked)

    def _end(self, pending, won):
        """The comparison is over; `won` are the documents that count."""
        u, own, other, _ = pending
        wins = sum(document in other for document in won)
        losses = sum(document in own for document in won)
        step = self.step if wins > losses else 0.0
        self._commit(self._state.weights + step * u, {})
        self._pending = None


class RankingSVM(DeltaLearner):
    """Ranking SVM on the pairs (presented, feedback), trained again as they come in.

    Notes
    -----
    Needs scikit-learn. Pairs with ``delta = 0`` count as rounds but are no pairs. The first
    pair is fitted at once, and all of them again when there are 10 % more than at the last fit:
    a linear SVM without intercept on the differences, each with label +1 and mirrored with -1;
    one of the two, by turns, with twice the C has the same optimum. C is 100 up to 50 pairs;
    after that the one of 10^-2, 10^-1, .. 10^3 that ranks the most held-out pairs right in
    five-fold cross-validation (pair s belongs to fold s mod 5), the smallest such C.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.RankingSVM(reference.Ranking())
    >>> learner.weights
    array([], dtype=float64)
    """

    def _start(self, dimension):
        return State(np.zeros(dimension), 0, {"pairs": [], "fitted": 0})

    def _rule(self, state, delta):
        if not delta.any():
            return state.weights
        pairs = [*state.memory["pairs"], delta]
        state.memory["pairs"] = pairs
        if 10 * len(pairs) < 11 * state.memory["fitted"]:
            return state.weights
        state.memory["fitted"] = len(pairs)
        differences = np.array(pairs)
        return _fit(differences, 100.0 if len(pairs) <= 50 else _best_c(differences))


def _interleaved(own, other, rng):
    """Team-draft interleaving: the documents either ordering brought, and all in order."""
    teams = [], []
    presented = []
    while len(presented) < own.size:
        if len(teams[0]) == len(teams[1]):
            turn = 0 if rng.random() < 0.5 else 1
        else:
            turn = 0 if len(teams[0]) < len(teams[1]) else 1
        ordering = (own, other)[turn].tolist()
        pick = next(document for document in ordering if document not in presented)
        teams[turn].append(pick)
        presented.append(pick)
    return *teams, np.array(presented, dtype=np.intp)


def _best_c(differences):
    """The C of the grid that ranks the most held-out pairs right, the smallest of equals."""
    fold = np.arange(len(differences)) % 5

    def right(c):
        return sum(
            np.sum(differences[fold == f] @ _fit(differences[fold != f], c) > 0.0) for f in range(5)
        )

    return max([0.01, 0.1, 1.0, 10.0, 100.0, 1000.0], key=right)


def _fit(differences, c):
    """The weights of a linear SVM that puts every difference on its positive side."""
    try:
        from sklearn.svm import LinearSVC
    except ImportError as error:
        raise ImportError(
            "RankingSVM needs scikit-learn: pip install coactive_fast[svm]"
        ) from error
    n, d = differences.shape
    X = differences if n > 1 else np.concatenate([differences, differences])
    y = np.array([1.0, -1.0] * n)[: len(X)]
    C = 2.0 * c if n > 1 else c
    svm = LinearSVC(C=C, fit_intercept=False, dual=2 * n < d, max_iter=100_000, random_state=0)
    return svm.fit(X * y[:, None], y).coef_[0].astype(np.float64)
