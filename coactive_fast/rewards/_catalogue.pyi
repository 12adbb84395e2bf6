from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

class Catalogue:
    """Fixed rows to choose among round after round, up to many millions.

    ``bandit.choose(items)`` and ``bandit.decide(items)`` of a `LinearBandit` give the index that
    ``choose(X)`` gives, bit for bit the same scores compared, ties to the lower index; only most
    rows are not looked at. For "ucb" and "greedy" without forgetting and without a context a row's
    last score bounds its present one,
    ``m_t + width sqrt(q_t) <= m_s + sqrt(q_s) (width + ||w_t - w_s||_A)``, since q only falls and
    by the inequality of Cauchy and Schwarz in the norm of A; a row is scored anew only where its
    bound reaches the best. Everything else (thompson, forgetting, a context, squarecb) is one pass
    over the rows. What is known of the rows belongs to one learner at a time: `decay`, `merge`,
    `reset`, or another learner, start it afresh, which costs a pass and changes no choice.

    Rows of float32 and float64 stay where they are, also those of a read-only `numpy.memmap`, and
    must not be changed; where a row is not contiguous all are copied, other kinds as float64.
    Nothing of a catalogue is saved with a learner. Any number of threads may choose over one
    catalogue; they take turns.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Dense and finite; read once, for the lengths of the rows.
    n_jobs : int, default 1
        Threads that share a pass of "thompson" over the rows; -1: one a processor. What is chosen
        does not depend on it.

    See Also
    --------
    LinearBandit : What chooses among the rows.

    Notes
    -----
    Memory beside the rows: 16 bytes a row. A choice among a million rows of 64 features, learning
    from each, took 0.04 to 0.09 ms in the median of 10,000 rounds, by the kind of rows; the first
    hundred rounds take up to nine readings of all rows each.

    References
    ----------
    Yasin Abbasi-Yadkori, David Pal, Csaba Szepesvari: Improved Algorithms for Linear Stochastic
    Bandits, 2011 (the scores; the bounds are our own).

    Examples
    --------
    >>> import coactive_fast as cf
    >>> items = cf.Catalogue([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
    >>> bandit = cf.LinearBandit()
    >>> bandit.learn([1.0, 0.0], 4.0)
    >>> bandit.choose(items)
    0
    >>> items.remove(0)
    >>> items.add([[0.9, 0.1]])
    array([3])
    >>> bandit.choose(items, k=2), len(items)
    (array([3, 2]), 3)
    """

    def __init__(self, X: ArrayLike, *, n_jobs: SupportsIndex = 1) -> None: ...
    def __len__(self) -> int: ...
    def __reduce__(self) -> Any: ...
    @property
    def scored(self) -> int:
        """How many rows the last choice scored anew."""
    def add(self, rows: ArrayLike) -> NDArray[np.intp]:
        """More rows, copied in the kind of those that are there.

        Parameters
        ----------
        rows : array_like of shape (m, d)
            Dense and finite.

        Returns
        -------
        ndarray of intp, shape (m,)
            Their indices: those that follow the highest one ever given.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.Catalogue([[1.0], [2.0]]).add([[5.0], [6.0]])
        array([2, 3])
        """
    def remove(self, indices: SupportsIndex | ArrayLike) -> None:
        """Takes rows away for good; their indices are not given again.

        Parameters
        ----------
        indices : int or array_like of int
            Of rows that are there, each once.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> items = cf.Catalogue([[1.0], [3.0], [2.0]])
        >>> items.remove([1])
        >>> cf.LinearBandit().choose(items)
        2
        """
