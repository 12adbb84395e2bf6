"""Slow twins of the multiclass learners but for `Confidit`: Banditron and those told the label.

What their parameters mean say the classes of the same names in `coactive_fast`.
"""

from __future__ import annotations

from typing import NamedTuple, SupportsIndex

import numpy as np

from coactive_fast._typing import Real, RowsLike, Seed, Vector

from . import _check as check
from ._ridge import in_range, product
from .multiclass_shell import MulticlassLearner


class Banditron(MulticlassLearner):
    """The Perceptron that is only told right or wrong, and explores by chance.

    Notes
    -----
    With ``best = argmax_r w_r.x``, label r is chosen with probability
    ``p_r = (1 - gamma) [r = best] + gamma / K``: the first r for which ``p_0 + .. + p_r`` exceeds
    one uniform draw, which `choose` takes in every round. `learn` works p out again from x and
    the present weights: ``w_r += x ([right] [r = label] / p_r - [r = best])``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.Banditron(2, gamma=0.5, seed=0)
    >>> [learner.choose([1.0]) for _ in range(5)]
    [0, 0, 0, 0, 1]
    """

    _full_information = False

    def __init__(self, n_classes: SupportsIndex, *, gamma: Real = 0.05, seed: Seed = None) -> None:
        self.gamma = check.within("gamma", gamma, "(0, 1]")
        super().__init__(n_classes, seed)

    def choose(self, x: RowsLike) -> int:
        """The label for x, drawn: the generator moves on, nothing else changes.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Banditron(2, seed=0).choose([1.0, 0.0])
        0
        """
        x = self._row(x)
        reached = np.cumsum(self._chances(self._exploit(self._before(x), x)))
        above = reached > self._rng.random()
        return int(np.argmax(above)) if above.any() else self.n_classes - 1

    def learn(self, x: RowsLike, label: SupportsIndex, correct: bool | np.bool_) -> None:
        """Takes in that `label` was right or wrong for x; the label need not be that of `choose`.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.Banditron(2, gamma=0.5)
        >>> learner.learn([3.0], 1, True)
        >>> learner.weights
        array([[-3.],
               [12.]])
        """
        x, label = self._row(x), self._label(label)
        correct = check.answer("correct", correct)
        classes = self._before(x)
        best = self._exploit(classes, x)
        step = np.zeros(self.n_classes)
        step[best] -= 1.0
        if correct:
            step[label] += 1.0 / self._chances(best)[label]
        with np.errstate(over="ignore"):
            changed = {i: classes[i] + step[i] * x for i in {best, label}}
        in_range(*changed.values())
        self._after(x, changed)

    def _chances(self, best):
        p = np.full(self.n_classes, self.gamma / self.n_classes)
        p[best] += 1.0 - self.gamma
        return p


class MulticlassPerceptron(MulticlassLearner):
    """The multiclass Perceptron; it is told the right label.

    Notes
    -----
    It chooses ``argmax_i w_i.x``. Where that is another label than y,
    ``w_y += x`` and ``w_chosen -= x``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.MulticlassPerceptron(2)
    >>> learner.learn([1.0, 2.0], 1)
    >>> learner.weights
    array([[-1., -2.],
           [ 1.,  2.]])
    """

    def learn(self, x: RowsLike, y: SupportsIndex) -> None:
        """Takes in that y is the right label of x.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.MulticlassPerceptron(3)
        >>> learner.learn([1.0], 0)
        >>> learner.rounds
        1
        """
        x, y = self._row(x), self._label(y, "y")
        classes = self._before(x)
        chosen, changed = self._exploit(classes, x), {}
        if chosen != y:
            with np.errstate(over="ignore"):
                changed = {y: classes[y] + x, chosen: classes[chosen] - x}
            in_range(*changed.values())
        self._after(x, changed)


class _Spread(NamedTuple):
    """A weight vector with a diagonal matrix beside it."""

    w: np.ndarray
    diagonal: np.ndarray


def _spread(w, diagonal):
    """A `_Spread`, refused where the step has left the range of float64."""
    in_range(w, diagonal)
    if (diagonal <= 0.0).any():
        raise ValueError("x is too large: rounding leaves no variance")
    return _Spread(w, diagonal)


class _DiagonalLearner(MulticlassLearner):
    """A learner whose classes are of the kind `_Spread`."""

    def inverse(self, i: SupportsIndex) -> Vector:
        """The diagonal of ``A_i^-1`` for class i, shape (d,); empty before the first round.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.MulticlassAROW(2)
        >>> learner.learn([1.0, 0.0], 1)
        >>> learner.inverse(0)
        array([0.66666667, 1.        ])
        """
        i = check.index("i", i, self.n_classes)
        return np.zeros(0) if self._classes is None else self._inverse(self._classes[i])

    def information(self) -> Vector:
        """``log det A_i`` minus its value at the start for every class, shape (K,).

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.MulticlassAROW(2)
        >>> learner.learn([1.0, 0.0], 1)
        >>> learner.information().round(3)
        array([0.405, 0.405])
        """
        if self._classes is None:
            return np.zeros(self.n_classes)
        first = self._inverse(self._fresh(self._dimension))
        return np.array([-np.log(self._inverse(one) / first).sum() for one in self._classes])

    def _margin(self, one, x):
        return product(one.w, x)

    def _weight(self, one):
        return one.w


class MulticlassSecondOrderPerceptron(_DiagonalLearner):
    """The second-order Perceptron with diagonal matrices; it is told the right label.

    Notes
    -----
    The score of class i is ``b_i . (a + S_i + x^2)^-1 x``: the x that is asked about counts in
    the matrix. On a mistake ``b_y += x``, ``b_chosen -= x``, and ``x^2`` is added to ``S_y`` and
    ``S_chosen``. `weights` are the b, `inverse` is ``1 / (a + S_i)``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.MulticlassSecondOrderPerceptron(2)
    >>> learner.learn([1.0, 2.0], 1)
    >>> learner.weights, learner.inverse(0)
    (array([[-1., -2.],
           [ 1.,  2.]]), array([0.5, 0.2]))
    """

    def __init__(self, n_classes: SupportsIndex, *, a: Real = 1.0) -> None:
        self.a = check.positive("a", a)
        if self.a < 1e-300:  # 1 / a is the first variance
            raise ValueError(f"a must be >= 1e-300, got {a}")
        super().__init__(n_classes)

    def learn(self, x: RowsLike, y: SupportsIndex) -> None:
        """Takes in that y is the right label of x.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.MulticlassSecondOrderPerceptron(2)
        >>> learner.learn([1.0], 1)
        >>> learner.choose([1.0])
        1
        """
        x, y = self._row(x), self._label(y, "y")
        classes = self._before(x)
        chosen, changed = self._exploit(classes, x), {}
        if chosen != y:
            for i, sign in ((y, 1.0), (chosen, -1.0)):
                with np.errstate(over="ignore"):
                    changed[i] = _spread(classes[i].w + sign * x, classes[i].diagonal + x**2)
        self._after(x, changed)

    def _fresh(self, d):
        return _Spread(np.zeros(d), np.full(d, self.a))

    def _margin(self, one, x):
        with np.errstate(over="ignore"):
            return product(one.w, x / (one.diagonal + x**2))

    def _inverse(self, one):
        return 1.0 / one.diagonal


class MulticlassAROW(_DiagonalLearner):
    """AROW, multiclass and with diagonal covariances; it is told the right label.

    Notes
    -----
    j is the best of the wrong classes, ``M = w_y.x - w_j.x`` and
    ``V = x^T (Sigma_y + Sigma_j) x``. If ``M < 1``, with ``beta = 1 / (V + r)``::

        w_y += beta (1 - M) Sigma_y x      w_j -= beta (1 - M) Sigma_j x
        Sigma -= beta (Sigma x)^2          on the diagonal, for both

    `inverse` is ``Sigma_i``, which starts as 1.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.MulticlassAROW(2)
    >>> learner.learn([1.0, 0.0], 1)
    >>> learner.weights
    array([[-0.33333333,  0.        ],
           [ 0.33333333,  0.        ]])
    """

    def __init__(self, n_classes: SupportsIndex, *, r: Real = 1.0) -> None:
        self.r = check.positive("r", r)
        super().__init__(n_classes)

    def learn(self, x: RowsLike, y: SupportsIndex) -> None:
        """Takes in that y is the right label of x.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.MulticlassAROW(3)
        >>> learner.learn([1.0], 2)
        >>> learner.choose([1.0])
        2
        """
        x, y = self._row(x), self._label(y, "y")
        classes = self._before(x)
        margins, changed = self._margins(classes, x), {}
        rival = int(np.argmax(np.where(np.arange(self.n_classes) == y, -np.inf, margins)))
        M = float(margins[y]) - float(margins[rival])
        if M < 1.0:
            with np.errstate(over="ignore", invalid="ignore"):
                V = product(x, (classes[y].diagonal + classes[rival].diagonal) * x)
                beta = 1.0 / (V + self.r)
                for i, sign in ((y, 1.0), (rival, -1.0)):
                    w, Sigma = classes[i]
                    step = sign * beta * (1.0 - M) * Sigma * x
                    changed[i] = _spread(w + step, Sigma - beta * (Sigma * x) ** 2)
        self._after(x, changed)

    def _fresh(self, d):
        return _Spread(np.zeros(d), np.ones(d))

    def _inverse(self, one):
        return one.diagonal.copy()
