"""Slow twins of the coactive tasks: what a context x and an object y are.

A task is any object with

``dimension``        the number of features; None: it is the number of columns of the first x,
``features(x, y)``   the vector ``phi(x, y)``,
``argmax(w, x)``     the y with the largest ``w . phi(x, y)``.

A learner shows ``argmax(w, x)`` and learns from differences of ``features``. The product's tasks
are `coactive_fast.Ranking` and `coactive_fast.Items`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coactive_fast._typing import Vector

from . import _check as check
from .kernels import ranking_features, row_scores, top_k


class Ranking:
    """Orderings of n documents, of which the first k places count.

    Notes
    -----
    x is a matrix of n documents x N features, y an ordering of documents, best first. ::

        phi(x, y) = sum_{i = 1 .. min(k, n)} x[y_i] / log2(i + 1)

    Examples
    --------
    >>> from coactive_fast import reference
    >>> task = reference.Ranking(k=1)
    >>> x = [[1.0, 0.0], [0.0, 2.0]]
    >>> task.argmax([1.0, 1.0], x)
    array([1, 0])
    >>> task.features(x, [1, 0])
    array([0., 2.])
    """

    def __init__(self, *, k: SupportsIndex = 5) -> None:
        self.k = check.positive_count("k", k)
        self.dimension = None

    def features(self, x: ArrayLike, y: ArrayLike) -> Vector:
        """``phi(x, y)``; y may stop after its first places, which leaves the other terms out.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Ranking().features([[1.0, 0.0], [0.0, 3.0]], [0])
        array([1., 0.])
        """
        return self._features("y", x, y)

    def argmax(self, w: ArrayLike, x: ArrayLike) -> NDArray[np.intp]:
        """All n documents by decreasing score ``x @ w``, ties to the lower index.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Ranking().argmax([0.0, 1.0], [[3.0, 1.0], [4.0, 2.0], [5.0, 1.0]])
        array([1, 0, 2])
        """
        scores = self.scores(w, x)
        return top_k(scores, scores.size)

    def scores(self, w: ArrayLike, x: ArrayLike) -> Vector:
        """``x @ w``, one number a document.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Ranking().scores([0.0, 1.0], [[3.0, 1.0], [4.0, 2.0]])
        array([1., 2.])
        """
        x = check.table("x", x)
        w = check.vector("w", w)
        if w.size != x.shape[1]:
            raise ValueError(f"x has {x.shape[1]} features, but the weights have {w.size}")
        return row_scores(x, w)

    def _features(self, name, x, y):
        """``phi(x, y)``; y goes by `name` in error messages."""
        x = check.table("x", x)
        return ranking_features(x, check.distinct(name, y, len(x)), k=self.k)


class Items:
    """Single items of one shared catalogue.

    Notes
    -----
    x is an array of candidate indices (None: the whole catalogue), y one index, and
    ``phi(x, y)`` is the item's row.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> task = reference.Items([[1.0, 0.0], [0.0, 2.0], [5.0, 5.0]])
    >>> task.argmax([1.0, 1.0], None), task.argmax([1.0, 1.0], [0, 1])
    (2, 1)
    """

    def __init__(self, features: ArrayLike) -> None:
        self.features = check.table("features", features).copy()
        self.features.flags.writeable = False
        self.dimension = self.features.shape[1]

    def argmax(self, w: ArrayLike, x: ArrayLike | None) -> int:
        """The candidate with the best score, ties to the lower index.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Items([[1.0], [3.0], [3.0]]).argmax([1.0], [2, 1, 0])
        1
        """
        scores = dict(zip(self._candidates(x).tolist(), self.scores(w, x).tolist(), strict=True))
        return min(scores, key=lambda item: (-scores[item], item))

    def scores(self, w: ArrayLike, x: ArrayLike | None) -> Vector:
        """Weights times phi of every candidate, in the order of x.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Items([[1.0], [3.0]]).scores([2.0], [1, 0])
        array([6., 2.])
        """
        w = check.vector("w", w, self.dimension, of="the catalogue")
        return check.no_nan("the scores", row_scores(self.features[self._candidates(x)], w))

    def _features(self, name, x, y):
        """The row of item y, one of the candidates x; y goes by `name` in error messages."""
        y = check.index(name, y, len(self.features))
        if y not in self._candidates(x):
            raise ValueError(f"{name} is item {y}, which is not among the candidates x")
        return self.features[y].copy()

    def _candidates(self, x):
        """The candidates as an array of indices; at least one."""
        if x is None:
            return np.arange(len(self.features))
        return check.indices("x", x, len(self.features))


def checked_task(task: Any) -> Any:
    """`task` itself, or a `TypeError` when it lacks what a task has."""
    if isinstance(task, (Ranking, Items)):
        return task
    if isinstance(task, type):
        raise TypeError(f"task must be an object, got the class {task.__name__}")
    for name in ("features", "argmax"):
        if not callable(getattr(task, name, None)):
            raise TypeError(f"task must have a method {name}, {type(task).__name__} has none")
    if not hasattr(task, "dimension"):
        raise TypeError(f"task must have a dimension, {type(task).__name__} has none")
    if task.dimension is not None:
        check.positive_count("task.dimension", task.dimension)
    return task


def ordering_utility(utilities: Vector, ordering: Sequence[int] | NDArray[np.intp],
                     k: int) -> float:
    """``U(y) = sum_{i = 1 .. min(k, n)} utilities[y_i] / log2(i + 1)``, in order of places."""
    total = 0.0
    for place, document in enumerate(ordering[:k], start=1):
        total += float(utilities[document]) / math.log2(place + 1)
    return total
