"""Slow twin of Newtron: Newton steps on the logistic loss, from right or wrong."""

from __future__ import annotations

from typing import Literal, SupportsIndex

import numpy as np

from coactive_fast._typing import Real, RowsLike, Seed

from . import _check as check
from ._ridge import in_range
from .multiclass_shell import MulticlassLearner
from .projections import project_ball


class Newtron(MulticlassLearner):
    """The parameters are those of `coactive_fast.Newtron`.

    Notes
    -----
    W has a row a class, ``p_i`` is in proportion to ``exp(alpha w_i.x)``, and
    ``p'_i = (1 - gamma) p_i + gamma / K``. `choose` takes one uniform draw, and answers the first
    r for which ``p'_0 + .. + p'_r`` exceeds it. With ``e`` the unit vector of the label, `learn`
    estimates ``g = (p - 1) / p' (e - 1/K) x^T`` (right, p and p' those of the label), else
    ``g = p / p' (e - 1/K) x^T``, with ``h = beta p'`` or ``h = beta``. Then W minimises::

        sum_s (g_s.W + h_s (g_s.(W - W_s))^2 / 2) + ||W||^2 / (2 D)    over ||W|| <= D

    with W_s that of the beginning of round s: ``A = I / D + sum h g g^T``, ``b = sum h (g.W_s) g
    - g``, and W the projection of ``A^-1 b`` in the norm of A. In the diagonal form ``(g.(W -
    W_s))^2`` is replaced by the sum of its squares, and nothing is projected.

    Differs: no `max_features`.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.Newtron(2, gamma=0.5, seed=0)
    >>> [learner.choose([1.0]) for _ in range(5)]
    [1, 0, 0, 0, 1]
    """

    _full_information = False

    def __init__(self, n_classes: SupportsIndex, *,
                 covariance: Literal["diagonal", "full"] = "diagonal", alpha: Real = 10.0,
                 beta: Real = 0.01, gamma: Real = 0.05, norm_bound: Real = 10.0,
                 seed: Seed = None) -> None:
        self.covariance = check.choice("covariance", covariance, ("diagonal", "full"))
        self.alpha = check.positive("alpha", alpha)
        self.beta = check.positive("beta", beta)
        self.gamma = check.within("gamma", gamma, "(0, 1]")
        self.norm_bound = check.positive("norm_bound", norm_bound)
        super().__init__(n_classes, seed)

    def _start(self):
        super()._start()
        self._A = self._b = None  # (K, d), or (K d, K d) and K d; None: nothing is known

    def choose(self, x: RowsLike) -> int:
        """The label for x, drawn: the generator moves on, nothing else changes.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Newtron(2, seed=0).choose([1.0, 0.0])
        1
        """
        x = self._row(x)
        above = np.cumsum(self._mixed(self._chances(x))) > self._rng.random()
        return int(np.argmax(above)) if above.any() else self.n_classes - 1

    def learn(self, x: RowsLike, label: SupportsIndex, correct: bool | np.bool_) -> None:
        """Takes in that `label` was right or wrong for x; the label need not be that of `choose`.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.Newtron(2, gamma=0.5)
        >>> learner.learn([1.0], 1, True)
        >>> learner.weights.round(3)
        array([[-4.938],
               [ 4.938]])
        """
        x, label = self._row(x), self._label(label)
        correct = check.answer("correct", correct)
        p = self._chances(x)
        mixed = self._mixed(p)[label]
        step = (p[label] - 1.0) / mixed if correct else p[label] / mixed
        h = self.beta * mixed if correct else self.beta
        with np.errstate(over="ignore", invalid="ignore"):
            g = step * np.outer(np.eye(self.n_classes)[label] - 1.0 / self.n_classes, x)
            W, A, b = self._next(np.array(self._before(x)), g, h)
        in_range(A, b, W)
        self._A, self._b = A, b
        self._after(x, dict(enumerate(W)))

    def add_class(self) -> int:
        """One class more, as fresh as all were at the start; returns its label.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Newtron(2).add_class()
        2
        """
        label = super().add_class()
        if self._A is not None:
            A, b, k = self._A, self._b, len(self._A)
            self._A, self._b = self._nothing(self._dimension)
            if self.covariance == "full":
                self._A[:k, :k] = A
            else:
                self._A[:k] = A
            self._b[:len(b)] = b
        return label

    def _chances(self, x):
        """p for x."""
        margins = self._margins(self._before(x), x)
        with np.errstate(over="ignore", under="ignore"):
            shares = np.exp(self.alpha * (margins - margins.max()))
        return shares / shares.sum()

    def _mixed(self, p):
        return (1.0 - self.gamma) * p + self.gamma / self.n_classes

    def _nothing(self, d):
        """A and b before the first round."""
        if self.covariance == "full":
            n = self.n_classes * d
            return np.eye(n) / self.norm_bound, np.zeros(n)
        return np.full((self.n_classes, d), 1.0 / self.norm_bound), np.zeros((self.n_classes, d))

    def _next(self, W, g, h):
        """W, A and b after a round."""
        A, b = (self._A, self._b) if self._A is not None else self._nothing(g.shape[1])
        if self.covariance == "diagonal":
            A, b = A + h * g**2, b + h * g**2 * W - g
            return b / A, A, b
        v = g.ravel()
        A, b = A + h * np.outer(v, v), b + h * (v @ W.ravel()) * v - v
        in_range(A, b)
        inverse = np.linalg.inv(A)
        W, _ = project_ball(inverse @ b, (inverse + inverse.T) / 2.0, self.norm_bound)
        return W.reshape(g.shape), A, b
