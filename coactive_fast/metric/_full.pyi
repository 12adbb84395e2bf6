from typing import SupportsIndex

from numpy.typing import ArrayLike
from typing_extensions import Self

from ._base import Stored, _Precision, _Real, _Row, _Vector

class Full(Stored):
    """``A = ridge I + sum c x x^T``, the whole matrix, with its inverse kept at hand.

    A row x is a vector, a table of one row, a scipy.sparse row or ``(indices, values)``; it is
    written out. Masked arrays are refused.

    One triangle of the inverse is stored and updated in a single pass (Sherman-Morrison, the
    pending term applied while it is read for the next product). A itself is kept beside it, so
    that rounding cannot pile up: the inverse is made anew from A after n, 2n, 4n, ... updates and
    whenever a probe finds drift above 1e-8; ``health()`` tells what was seen. Same bits on every
    CPU with fused multiply-add.

    Parameters
    ----------
    n : int
        Order of the matrix, at least 1.
    ridge : float, default 1.0
        Greater than 0.
    precision : {"auto", "fast", "robust"}, default "auto"
        "robust" keeps the inverse as ``U D U^T`` (Bierman 1977): about 1.5 times slower, and
        right whatever the scales of the columns. "fast" keeps the inverse itself, of which an
        update loses as many digits as ``c x^T A^-1 x`` has. "auto" begins fast and converts,
        once and for all, before the first update of which ``c x^T x / ridge`` is above 4e6, or
        where columns turn out so correlated that as many digits are lost; ``health()`` says
        which form is in use. Scaled columns keep it fast.

    See Also
    --------
    Diagonal : Only the diagonal, for many features.
    Dual : In the space of a kernel.

    Notes
    -----
    Memory: ``14 n^2`` bytes: a triangle of the inverse, one and a half of A, one of scratch. An
    update costs O(n^2), as does every reading of a vector.
    Reading methods may run in many threads at once; what changes the metric waits for them and
    they for it.

    Examples
    --------
    >>> from coactive_fast.metric import Full
    >>> m = Full(2)
    >>> m.update([1.0, 0.0])
    1.0
    >>> m.solve([1.0, 1.0])
    array([0.5, 1. ])
    """

    def __init__(
        self, n: SupportsIndex, *, ridge: _Real = 1.0, precision: _Precision = "auto"
    ) -> None: ...
    @classmethod
    def from_matrix(
        cls, A: ArrayLike, ridge: _Real, *, precision: _Precision = "auto"
    ) -> Self:
        """The metric of a symmetric positive definite A.

        Parameters
        ----------
        A : array_like of shape (n, n)
            Symmetric up to rounding (1e-9 of its largest entry; its lower triangle is what
            counts) and positive definite in float64, else a `ValueError`.
        ridge : float
            The part ``ridge I`` of A that `forget`, `decay` and `merge` take for its
            regulariser; A may be less than that.
        precision : {"auto", "fast", "robust"}, default "auto"
            As for the class.

        Returns
        -------
        Full
            Of the class that is asked. The ``__init__`` of a subclass is not run.

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> Full.from_matrix([[2.0, 1.0], [1.0, 2.0]], ridge=1.0).solve([3.0, 0.0])
        array([ 2., -1.])
        """
    def update(self, x: _Row, *, c: _Real = 1.0) -> float:
        """``A += c x x^T``; returns ``x^T A^-1 x`` from before.

        Parameters
        ----------
        x : array_like of shape (n,), scipy.sparse row or (indices, values)
            An all-zero x returns 0 and changes nothing.
        c : float, default 1.0
            Not 0. Below 0 (a downdate) A must stay positive definite by a margin:
            ``1 + c x^T A^-1 x >= 1e-6``, else a `ValueError` and no change.

        Returns
        -------
        float
            The value before the update; 0 for x = 0, which changes nothing.
        """
    def update_many(self, X: ArrayLike, *, c: ArrayLike = 1.0) -> _Vector:
        """The updates of many rows, one after the other, in one compiled loop.

        Parameters
        ----------
        X : array_like of shape (T, n)
            Arrays of float64 and float32 with contiguous rows are read without a copy.
        c : float or array_like of shape (T,), default 1.0
            Below 0 as in `update`: all that is there is copied first, O(n^2), to be put back
            where a row is refused.

        Returns
        -------
        ndarray of float64, shape (T,)
            ``x^T A^-1 x`` of each row from before its own update: what `update` returns. Where a
            row is refused nothing changes. Ctrl-C stops between two rows: `updates` tells how
            many there were.
        """
    def forget(self, f: _Real) -> None:
        """What was learned weighs f times as much; the regulariser is kept, in blocks.

        ``A = rho ridge I + M``: M is multiplied by f, rho becomes 1 where the number of calls
        before is a multiple of ``m = max(1, min(n, floor(ln 2 / -ln f)))``, else ``f rho``. So
        the regulariser stays between a half and one of itself. Costs O(1), and once in m calls
        O(n^3): the inverse is then made anew.

        Parameters
        ----------
        f : float
            In (0, 1].

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> m = Full(2)
        >>> m.update([1.0, 0.0])
        1.0
        >>> m.forget(0.5)
        >>> m.matrix()
        array([[1.5, 0. ],
               [0. , 1. ]])
        """
    def decay(self, f: _Real) -> None:
        """``A <- ridge I + f M``: the past weighs f times as much, the regulariser is whole.

        For drift by the clock; O(n^3), since the inverse is made anew. See `forget`.

        Parameters
        ----------
        f : float
            In (0, 1].

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> m = Full(1)
        >>> m.update([2.0])
        4.0
        >>> m.decay(0.25)
        >>> m.matrix()
        array([[2.]])
        """
    def solve(self, x: _Row) -> _Vector:
        """``A^-1 x``, for a dense vector or a scipy.sparse row.

        Parameters
        ----------
        x : array_like of shape (n,), scipy.sparse row or (indices, values)
            One row.

        Returns
        -------
        ndarray of float64, shape (n,)
            The product.
        """
    def quad(self, x: _Row) -> float:
        """``x^T A^-1 x``, for a dense vector or a scipy.sparse row.

        Parameters
        ----------
        x : array_like of shape (n,), scipy.sparse row or (indices, values)
            One row.

        Returns
        -------
        float
            The squared length of x in the norm of ``A^-1``.
        """
    def quad_many(self, X: ArrayLike) -> _Vector:
        """`quad` of many rows, bit for bit, in one reading of the matrix for eight of them.

        Parameters
        ----------
        X : array_like of shape (T, n)
            Arrays of float64 and float32 with contiguous rows are read without a copy.

        Returns
        -------
        ndarray of float64, shape (T,)
            A value a row.

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> Full(2, ridge=4.0).quad_many([[2.0, 0.0], [2.0, 2.0]])
        array([1., 2.])
        """
    def solve_many(self, X: ArrayLike) -> _Vector:
        """`solve` of many rows, bit for bit, in one call.

        Parameters
        ----------
        X : array_like of shape (T, n)
            As for `quad_many`.

        Returns
        -------
        ndarray of float64, shape (T, n)
            A product a row.

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> Full(2, ridge=4.0).solve_many([[2.0, 0.0], [2.0, 4.0]])
        array([[0.5, 0. ],
               [0.5, 1. ]])
        """
    def inverse(self) -> _Vector:
        """A copy of ``A^-1``.

        Returns
        -------
        ndarray of float64, shape (n, n)
            Symmetric, and may be changed.
        """
    def matrix(self) -> _Vector:
        """A copy of A.

        Returns
        -------
        ndarray of float64, shape (n, n)
            Symmetric, and may be changed.
        """
    @property
    def logdet(self) -> float:
        """``log det A``."""
