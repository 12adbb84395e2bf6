from collections.abc import Sequence
from typing import Any, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import Entries, _Pair, _Real, _Row, _Sparse, _Vector

_S = TypeVar("_S", bound=_Sparse)

class Diagonal(Entries):
    """``A = ridge I + sum c x x^T`` with nothing kept but its diagonal a.

    A row x is a vector, a table of one row, a scipy.sparse row, or ``(indices, values)``: a tuple
    of two sequences. A dense row costs O(n), the others what they hold, in updates and in
    readings. Masked arrays are refused.
    Memory: 8n bytes, 16n from the first `forget` on.

    Parameters
    ----------
    n : int
        Order of the matrix, at least 1.
    ridge : float, default 1.0
        Greater than 0.

    See Also
    --------
    Full : The whole matrix.

    Notes
    -----
    Reading methods may run in many threads at once; what changes the metric waits for them and
    they for it.

    Examples
    --------
    >>> from coactive_fast.metric import Diagonal
    >>> m = Diagonal(3)
    >>> m.update([1.0, 2.0, 0.0])
    5.0
    >>> m.matrix()
    array([2., 5., 1.])
    >>> m.quad(([0, 1], [2.0, 5.0]))
    7.0
    """

    def __init__(self, n: SupportsIndex, *, ridge: _Real = 1.0) -> None: ...
    def update(self, x: _Row, *, c: _Real = 1.0) -> float:
        """``a_r += c x_r^2``; returns ``x^T A^-1 x`` from before.

        Parameters
        ----------
        x : array_like of shape (n,), scipy.sparse row or (indices, values)
            An all-zero x returns 0 and changes nothing.
        c : float, default 1.0
            Not 0. Below 0 (a downdate) every a must stay positive by a margin:
            ``1 + c x_r^2 / a_r >= 1e-6``, else a `ValueError` and no change.

        Returns
        -------
        float
            The value before the update; 0 for x = 0, which changes nothing.
        """
    def update_many(
        self, X: ArrayLike | _Sparse | Sequence[_Pair], *, c: ArrayLike = 1.0
    ) -> _Vector:
        """The updates of many rows, one after the other, in one compiled loop.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix of shape (T, n), or list of (indices, values)
            Arrays of float64 and float32, and CSR, are read without a copy.
        c : float or array_like of shape (T,), default 1.0
            As in `update`.

        Returns
        -------
        ndarray of float64, shape (T,)
            What `update` returns for each row. Where a row is refused nothing changes. Ctrl-C
            stops between two rows: `updates` tells how many changed something. Costs O(n) more
            than the rows: the diagonal is copied first.
        """
    def forget(self, f: _Real) -> None:
        """``a <- f a + (1 - f) ridge``: what was learned weighs f times as much.

        Kept lazily: O(1), but O(n) in the first call and once in some hundred halvings.

        Parameters
        ----------
        f : float
            In (0, 1].

        Examples
        --------
        >>> from coactive_fast.metric import Diagonal
        >>> m = Diagonal(2)
        >>> m.update([2.0, 0.0])
        4.0
        >>> m.forget(0.5)
        >>> m.matrix()
        array([3., 1.])
        """
    def decay(self, f: _Real) -> None:
        """The same as `forget`: the regulariser of a diagonal is whole at every moment.

        Parameters
        ----------
        f : float
            In (0, 1].

        Examples
        --------
        >>> from coactive_fast.metric import Diagonal
        >>> m = Diagonal(1)
        >>> m.update([2.0])
        4.0
        >>> m.decay(0.25)
        >>> m.matrix()
        array([2.])
        """
    @overload
    def solve(self, x: NDArray[Any] | Sequence[float]) -> _Vector:
        """``A^-1 x``, of the kind of x.

        Parameters
        ----------
        x : array_like of shape (n,), scipy.sparse row or (indices, values)
            One row.

        Returns
        -------
        ndarray of float64, shape (n,), scipy.sparse row or (indices, values)
            Dense for a dense x. A scipy.sparse x gives a CSR row of the same shape, array or
            matrix as x is; ``(indices, values)`` gives such a pair. In both the indices ascend,
            and the cost is that of what x holds.
        """
    @overload
    def solve(self, x: _Pair) -> tuple[NDArray[np.integer[Any]], _Vector]: ...
    @overload
    def solve(self, x: _S) -> Any: ...
    def quad(self, x: _Row) -> float:
        """``x^T A^-1 x``.

        Parameters
        ----------
        x : array_like of shape (n,), scipy.sparse row or (indices, values)
            One row.

        Returns
        -------
        float
            The squared length of x in the norm of ``A^-1``.
        """
    def quad_many(self, X: ArrayLike | _Sparse | Sequence[_Pair]) -> _Vector:
        """`quad` of many rows, bit for bit, in one call.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix of shape (T, n), or list of (indices, values)
            Arrays of float64 and float32, and CSR, are read without a copy.

        Returns
        -------
        ndarray of float64, shape (T,)
            A value a row.

        Examples
        --------
        >>> from coactive_fast.metric import Diagonal
        >>> Diagonal(9, ridge=4.0).quad_many([([0], [2.0]), ([3, 8], [2.0, 2.0])])
        array([1., 2.])
        """
    @overload
    def solve_many(self, X: NDArray[Any] | Sequence[Sequence[float]]) -> _Vector:
        """`solve` of many rows, bit for bit, in one call.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix of shape (T, n), or list of (indices, values)
            As for `quad_many`.

        Returns
        -------
        ndarray of float64 or scipy.sparse CSR, shape (T, n)
            CSR for rows that are not dense: a matrix where X is one, else an array.

        Examples
        --------
        >>> from coactive_fast.metric import Diagonal
        >>> Diagonal(2, ridge=4.0).solve_many([[2.0, 0.0], [2.0, 4.0]])
        array([[0.5, 0. ],
               [0.5, 1. ]])
        """
    @overload
    def solve_many(self, X: _Sparse | Sequence[_Pair]) -> Any: ...
    def inverse(self) -> _Vector:
        """A copy of the inverse's diagonal, shape (n,)."""
    def matrix(self) -> _Vector:
        """A copy of the diagonal.

        Returns
        -------
        ndarray of float64, shape (n,)
            The diagonal, which may be changed.
        """
    @property
    def logdet(self) -> float:
        """``log det A``, summed afresh: nothing drifts."""
    @property
    def n(self) -> int:
        """Order of the matrix."""
    @property
    def ridge(self) -> float:
        """What A began with on its diagonal, and what forgetting leads back to."""
    @property
    def updates(self) -> int:
        """How many updates changed something."""
    def state(self) -> dict[str, Any]:
        """Everything there is to resume from, as plain arrays and numbers.

        Returns
        -------
        dict
            `Diagonal.from_state` makes the same metric of it, bit for bit.
        """
