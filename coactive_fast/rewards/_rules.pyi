from typing import SupportsIndex, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import Real, RowsLike
from ._catalogue import Catalogue

class RegressionCalls:
    def learn(self, x: RowsLike, y: Real, *, weight: Real = 1.0) -> None:
        """Takes in one row and its target.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        y : float
            What was to be predicted; with the logistic link in [0, 1].
        weight : float, default 1.0
            How often it counts, > 0.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.OnlineRidge(link="logistic")
        >>> learner.learn([2.0], 1.0, weight=3.0)
        >>> learner.weights
        array([0.75])
        """

class LinearCalls:
    @overload
    def choose(self, X: RowsLike | Catalogue, *, allowed: ArrayLike | None = None, k: None = None,
               context: ArrayLike | None = None) -> int:
        """The index of one of the rows of X, or of the k best.

        Parameters
        ----------
        X : array_like of shape (n, d), scipy.sparse matrix or Catalogue
            The actions of this round; their number may differ from round to round. Of very many
            that stay the same, a `Catalogue` looks at few.
        allowed : array_like of bool, shape (n,), optional
            Of a `Catalogue`: one an index ever given.
        k : int, optional
            So many, best first; with "squarecb" or a floor each place by the law of those left.
        context : array_like of shape (context_features,), optional
            What this round is about, where the bandit has context_features.

        Returns
        -------
        int, or with k an ndarray of intp
            The index of what is chosen, or those of the k, best first.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> bandit = cf.LinearBandit()
        >>> X = [[1.0], [3.0], [2.0]]
        >>> bandit.choose(X), bandit.choose(X, k=2), bandit.choose(X, allowed=[True, False, True])
        (1, array([1, 2]), 2)
        """
    @overload
    def choose(self, X: RowsLike | Catalogue, *, allowed: ArrayLike | None = None, k: SupportsIndex,
               context: ArrayLike | None = None) -> NDArray[np.intp]: ...
    def learn(self, x: RowsLike, reward: Real, *, weight: Real = 1.0,
              context: ArrayLike | None = None) -> None:
        """Takes in the reward of a row, in whatever order rewards come.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            The action that was chosen.
        reward : float
            What came back; with the logistic link in [0, 1].
        weight : float, default 1.0
            How often it counts, > 0.
        context : array_like of shape (context_features,), optional
            As given to `choose`.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> bandit = cf.LinearBandit(context_features=1)
        >>> bandit.learn([1.0], 3.0, context=[1.0])
        >>> bandit.weights
        array([1., 1.])
        """

class ArmCalls:
    @overload
    def choose(self, x: RowsLike, *, allowed: ArrayLike | None = None,
               k: None = None) -> int:
        """The arm for x, or the k best.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        allowed : array_like of bool, shape (n_arms,), optional
            Which arms there are this time; None: all of them.
        k : int, optional
            See `LinearBandit.choose`.

        Returns
        -------
        int, or with k an ndarray of intp
            The index of what is chosen, or those of the k, best first.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> bandit = cf.ArmBandit(3)
        >>> bandit.choose([1.0]), bandit.choose([1.0], k=2, allowed=[False, True, True])
        (0, array([1, 2]))
        """
    @overload
    def choose(self, x: RowsLike, *, allowed: ArrayLike | None = None,
               k: SupportsIndex) -> NDArray[np.intp]: ...
    def learn(self, x: RowsLike, arm: SupportsIndex, reward: Real, *,
              weight: Real = 1.0) -> None:
        """Takes in the reward of an arm, in whatever order rewards come.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        arm : int
            The arm that was chosen, from 0.
        reward : float
            What came back; with the logistic link in [0, 1].
        weight : float, default 1.0
            How often it counts, > 0.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> bandit = cf.ArmBandit(2)
        >>> bandit.learn([1.0], 1, 4.0)
        >>> bandit.weights
        array([[0.],
               [2.]])
        """
