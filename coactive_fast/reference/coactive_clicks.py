"""Slow twins of the learners of rankings from clicks: pair swaps, and PDGD.

Both draw what they present and remember it: `present`, then `learn_clicks`. What their parameters
mean say the classes of the same names in `coactive_fast`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coactive_fast._typing import Real, Seed, Vector

from . import _check as check
from .coactive_learner import DeltaLearner, DrawingLearner
from .coactive_tasks import Ranking
from .kernels import ranking_features, top_k


class PairwisePerceptron(DrawingLearner, DeltaLearner):
    """3PR: neighbours of the ranking by w are swapped at random, clicks say which is better.

    Notes
    -----
    The pairs are places (1, 2), (3, 4), .. or, with probability 1/2, (2, 3), (4, 5), ..; each is
    swapped with probability `swap`, and that is shown. In each pair of what is shown whose lower
    document was clicked and whose upper was not the two change places: the feedback.
    ``w += phi(feedback) - phi(shown)``.

    Draws of `present`: one number (from 1/2 on: the second set of pairs), then one for each pair
    of the whole ordering, from the top (below `swap`: swapped).

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.PairwisePerceptron(reference.Ranking(k=2), swap=0.0, seed=1)
    >>> x = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    >>> learner.present(x), learner.rng.random()  # the first pairs: (1, 2)
    (array([0, 1, 2]), 0.14415961271963373)
    >>> learner = reference.PairwisePerceptron(reference.Ranking(k=2), swap=0.0, seed=2)
    >>> learner.learn_clicks(x, learner.present(x), [1])
    >>> learner.weights.round(3)
    array([-0.369,  0.369])
    """

    def __init__(self, task: Ranking, *, swap: Real = 0.5, seed: Seed = None) -> None:
        self.swap = check.fraction("swap", swap)
        super().__init__(_rankings(task), seed)

    def _drawn(self, weights, x, rng):
        shown = self.task.argmax(weights, x).copy()
        start = 0 if rng.random() < 0.5 else 1
        for upper in range(start, shown.size - 1, 2):
            if rng.random() < self.swap:
                shown[[upper, upper + 1]] = shown[[upper + 1, upper]]
        return start, shown

    def learn_clicks(self, x: Any, shown: ArrayLike, clicked: ArrayLike | Set[int]) -> None:
        """End the round: `clicked` of `shown`, which `present` returned last.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.PairwisePerceptron(reference.Ranking(), seed=0)
        >>> x = [[1.0], [2.0]]
        >>> learner.learn_clicks(x, learner.present(x), [])
        >>> learner.rounds
        1
        """
        (start, _), x, shown, clicked = self._clicks(x, shown, clicked)
        feedback = swapped_by_clicks(shown, clicked, start)
        k = self.task.k
        self.update(ranking_features(x, feedback, k=k) - ranking_features(x, shown, k=k))
        self._pending = None

    def learn(self, x: Any, y: Any, better: Any) -> None:
        """One round by any other feedback to what was shown, which is over then.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.PairwisePerceptron(reference.Ranking(k=1), seed=0)
        >>> x = [[1.0], [2.0]]
        >>> learner.learn(x, learner.present(x), [1, 0])
        >>> learner.weights
        array([1.])
        """
        super().learn(x, y, better)
        self._pending = None

    def _rule(self, state, delta):
        return state.weights + delta


class PDGD(DrawingLearner, DeltaLearner):
    """Pairwise differentiable gradient descent: preferences of clicks, each by how fair it was.

    Notes
    -----
    `present` draws the first k places from the Plackett-Luce model of the scores s; the rest
    follows by score. A clicked document is preferred to each that was not clicked above the last
    click, and to the first one below it. For each such pair (i, j) ::

        w += rate rho e^{s_i} e^{s_j} / (e^{s_i} + e^{s_j})^2 (x_i - x_j)
        rho = P(R*) / (P(R) + P(R*))

    R is the ranking, R* the one with i and j changed, P the probability of its first k places;
    the scores are those of the presentation.

    Draws of `present`: one number u a document, in the order of x; the first k places are those of
    the k largest ``s - log(-log(u))``, largest first, which has that distribution.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.PDGD(reference.Ranking(k=2), rate=1.0, seed=0)
    >>> x = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    >>> shown = learner.present(x)
    >>> learner.learn_clicks(x, shown, shown[1:2])
    >>> shown, learner.weights
    (array([0, 1, 2]), array([-0.1875,  0.1875]))
    """

    def __init__(self, task: Ranking, *, rate: Real = 0.1, seed: Seed = None) -> None:
        self.rate = check.positive("rate", rate)
        super().__init__(_rankings(task), seed)

    def _drawn(self, weights, x, rng):
        scores = check.finite("x is too large: its scores", self.task.scores(weights, x))
        with np.errstate(divide="ignore"):  # u = 0: the last place
            keys = scores - np.log(-np.log(rng.random(scores.size)))
        first = top_k(keys, self.task.k)
        rest = [i for i in top_k(scores, scores.size).tolist() if i not in first]
        return scores, np.array([*first, *rest], dtype=np.intp)

    def learn_clicks(self, x: Any, shown: ArrayLike, clicked: ArrayLike | Set[int]) -> None:
        """End the round: `clicked` of `shown`, which `present` returned last.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.PDGD(reference.Ranking(), seed=0)
        >>> x = [[1.0], [2.0]]
        >>> learner.learn_clicks(x, learner.present(x), [])
        >>> learner.rounds
        1
        """
        (scores, ranking), x, shown, clicked = self._clicks(x, shown, clicked)
        delta = np.zeros(x.shape[1])
        for i, j in preferences(shown, clicked):
            rho = fairness(scores, ranking, self.task.k, i, j)
            odds = np.exp(-abs(scores[i] - scores[j]))
            delta += rho * odds / (1.0 + odds) ** 2 * (x[i] - x[j])
        self._commit(self._state.weights + self.rate * delta, {})
        self._pending = None

    def learn(self, x: Any, y: Any, better: Any) -> None:
        """Always a `TypeError`: what it learns from is clicks.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.PDGD(reference.Ranking()).learn([[1.0]], [0], [0])
        Traceback (most recent call last):
        TypeError: PDGD learns from clicks alone: call present, then learn_clicks
        """
        raise TypeError("PDGD learns from clicks alone: call present, then learn_clicks")

    def _rule(self, state, delta):
        return state.weights + delta


def swapped_by_clicks(shown: Sequence[int], clicked: Collection[int], start: int) -> list[int]:
    """`shown` with each pair changed whose lower document was clicked and whose upper was not."""
    feedback = list(shown)
    for upper in range(start, len(shown) - 1, 2):
        above, below = shown[upper : upper + 2]
        if below in clicked and above not in clicked:
            feedback[upper : upper + 2] = below, above
    return feedback


def preferences(shown: Sequence[int], clicked: Collection[int]) -> list[tuple[int, int]]:
    """The pairs (preferred, not preferred) that clicks stand for."""
    places = [place for place, document in enumerate(shown) if document in clicked]
    looked_at = shown[: max(places) + 2] if places else []  # down to the first one below
    worse = [document for document in looked_at if document not in clicked]
    return [(shown[place], document) for place in places for document in worse]


def log_probability(scores: Vector, ranking: ArrayLike, k: SupportsIndex) -> float:
    """The logarithm of the Plackett-Luce probability of the first k places of `ranking`."""
    s = scores[np.asarray(ranking)]
    return float(sum(s[p] - np.logaddexp.reduce(s[p:]) for p in range(min(k, s.size))))


def fairness(scores: Vector, ranking: NDArray[np.intp], k: SupportsIndex, i: int,
             j: int) -> float:
    """rho: the share that the ranking with i and j changed has in the probability of both."""
    changed = [{i: j, j: i}.get(document, document) for document in ranking.tolist()]
    gain = log_probability(scores, changed, k) - log_probability(scores, ranking, k)
    return float(np.exp(-np.logaddexp(0.0, -gain)))


def _rankings(task):
    if not isinstance(task, Ranking):
        raise TypeError(f"task must be a Ranking, got {type(task).__name__}")
    return task
