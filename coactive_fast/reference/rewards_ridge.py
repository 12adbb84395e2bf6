"""Slow twin of the regression that is fed one row at a time.

What w, q and sigma stand for in the formulas, says `rewards_shell`.
"""

from __future__ import annotations

import dataclasses
from typing import Literal, SupportsIndex, overload

import numpy as np
from numpy.typing import ArrayLike

from coactive_fast._typing import Real, RowsLike, Vector

from . import _check as check
from .rewards_shell import RewardLearner, sigmoid


@dataclasses.dataclass(frozen=True, eq=False)
class RegressionHistory:
    """What happened in the rounds of one `run`, one entry a round.

    Attributes
    ----------
    predictions : ndarray of float
        Of each row before it was learned.
    loss : ndarray of float
        The squared error ``(y - prediction)^2``, or the log loss; unweighted.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast.reference.rewards_ridge import RegressionHistory
    >>> RegressionHistory(np.zeros(2), np.array([4.0, 0.0])).average_loss
    array([4., 2.])
    """

    predictions: Vector
    loss: Vector

    @property
    def average_loss(self) -> Vector:
        """The mean loss of the first t rounds, for every t."""
        return np.cumsum(self.loss) / np.arange(1, self.loss.size + 1)


class OnlineRidge(RewardLearner):
    """Linear or logistic regression; the parameters are those of `coactive_fast.OnlineRidge`.

    Notes
    -----
    ``A = ridge I`` and w = 0. ``learn(x, y, weight=c)`` forgets first, where ``forget < 1``: as
    `RidgeFilter` does, by how many rows were learned before. Then, with ``m = w.x``:

    * identity: ``A += c x x^T``, ``w += c A_new^-1 x (y - m)``; the diagonal form takes
      ``w += c (x / a) (y - m) / (1 + c q)``, then ``a += c x^2``;
    * logistic, y in [0, 1]: the same with weight ``c s`` and target ``m + (y - sigma(m)) / s``,
      where ``s = max(sigma (1 - sigma), 1e-6)``, but ``tanh(m / 2) / (2 m)`` (1/4 at m = 0) where
      ``|y - sigma| > 1/2``.

    A null row counts as a round and changes nothing else. The model is solved for afresh at every
    call.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.OnlineRidge()
    >>> learner.learn([1.0, 0.0], 3.0)
    >>> learner.predict([[2.0, 5.0]])
    array([3.])
    """

    def __init__(self, *, link: Literal["identity", "logistic"] = "identity",
                 covariance: Literal["full", "diagonal"] = "full", ridge: Real = 1.0,
                 noise: Real = 1.0, forget: Real = 1.0,
                 max_features: SupportsIndex | None = None) -> None:
        self._regression(link, covariance, ridge, forget, max_features)
        self.noise = check.within("noise", noise, "[0, inf)")
        super().__init__()

    def learn(self, x: RowsLike, y: Real, *, weight: Real = 1.0) -> None:
        """Takes in one row and its target, weight times.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.OnlineRidge(link="logistic")
        >>> learner.learn([2.0], 1.0, weight=3.0)
        >>> learner.weights
        array([0.75])
        """
        x = self._row(x)
        y, c = self._target("y", y), check.positive("weight", weight)
        model, = self._known(x.size)
        self._models = [self._stepped(model, x, y, c, self.rounds)]
        self._dimension = x.size
        self.rounds += 1

    @overload
    def predict(self, X: RowsLike, *, return_std: Literal[False] = False) -> Vector: ...
    @overload
    def predict(self, X: RowsLike, *, return_std: Literal[True]) -> tuple[Vector, Vector]: ...
    def predict(self, X, *, return_std=False):
        """The prediction of each row; with `return_std` also ``noise sqrt(q)``, identity only.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.OnlineRidge(noise=0.5)
        >>> learner.learn([1.0], 3.0, weight=3.0)
        >>> learner.predict([[2.0]], return_std=True)
        (array([4.5]), array([0.5]))
        """
        return_std = check.flag("return_std", return_std)
        if return_std and self.link == "logistic":
            raise ValueError('return_std has no meaning with link="logistic"')
        X = self._table(X)
        m, q = self._read(X)
        if return_std:
            return m, self.noise * np.sqrt(q)
        return m if self.link == "identity" else sigmoid(m)

    def run(self, X: RowsLike, y: ArrayLike, *,
            weight: ArrayLike | None = None) -> RegressionHistory:
        """Predict and learn, row by row.

        Returns
        -------
        RegressionHistory
            What was predicted for each row before it was learned, and the losses.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> history = reference.OnlineRidge().run([[1.0], [1.0]], [4.0, 4.0])
        >>> history.predictions, history.loss
        (array([0., 2.]), array([16.,  4.]))
        """
        X = self._table(X)
        y = check.vector("y", y, len(X), "X")
        weight = np.ones(len(X)) if weight is None else check.vector("weight", weight, len(X), "X")
        for r, c in zip(y, weight, strict=True):
            self._target("y", r), check.positive("weight", c)
        predictions, loss = np.zeros((2, len(X)))
        for t, x in enumerate(X):
            m = self._read(x[None, :])[0][0]
            if self.link == "identity":
                predictions[t], loss[t] = m, (y[t] - m) ** 2
            else:  # -y log(sigma) - (1 - y) log(1 - sigma)
                predictions[t], loss[t] = sigmoid(m), np.logaddexp(0.0, m) - y[t] * m
            self.learn(x, y[t], weight=weight[t])
        return RegressionHistory(predictions, loss)

    def merge(self, other: OnlineRidge) -> None:
        """Makes this the learner that saw both streams; the other one stays as it is.

        ``A_1 + A_2 - ridge I`` and ``A w = A_1 w_1 + A_2 w_2``; rounds add. Full covariance,
        identity link, no forgetting, equal parameters.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner, other = reference.OnlineRidge(), reference.OnlineRidge()
        >>> learner.learn([1.0], 3.0)
        >>> other.learn([1.0], 6.0)
        >>> learner.merge(other)
        >>> learner.weights, learner.rounds
        (array([3.]), 2)
        """
        self._mergeable(other)
        self._models = self._merged(other)
        self._dimension = self._dimension or other._dimension
        self.rounds += other.rounds

    @property
    def weights(self) -> Vector:
        """The weights w, a fresh array; empty before the first round.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.OnlineRidge().weights
        array([], dtype=float64)
        """
        return np.zeros(0) if self._models is None else self._models[0].weights

    def inverse(self) -> Vector:
        """``A^-1``, a fresh array: (d, d), or (d,) in the diagonal form.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.OnlineRidge(covariance="diagonal").inverse()
        array([], dtype=float64)
        """
        if self._models is None:
            return np.zeros((0, 0) if self.covariance == "full" else 0)
        return self._models[0].inverse

    def _read(self, X):
        """The m and the q of each row."""
        model, = self._known(X.shape[-1])
        found = np.array([model.read(x) for x in X]).reshape(len(X), 2)
        return found[:, 0], found[:, 1]
