from collections.abc import Callable
from typing import Any, Literal, SupportsIndex, TypeAlias

from ._base import Metric, _Real, _Row, _Vector

_Kernel: TypeAlias = Literal["linear", "rbf", "poly"] | Callable[..., _Real]

class Dual(Metric):
    """``A = ridge I + sum c phi(x) phi(x)^T`` in the space of a kernel, rows stored.

    What is kept is the Cholesky factor of ``M = ridge I + G``, ``G_st = sqrt(c_s c_t) k(x_s,
    x_t)`` over the t rows stored; a reading is one triangular solve, O(t^2 / 2), and the update
    after it is free. Memory: 4 t^2 bytes for the factor and the rows; a `MemoryError` names the
    bytes where there are not so many. Rows that are mostly zeros, given sparse or not, are kept
    sparse with an index from features to rows: a linear kernel then costs what x has in common
    with them.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly"} or callable, default "linear"
        A callable gets two 1-D rows and `kernel_params` as keywords.
    kernel_params : dict, optional
        By name: gamma (default 1 / number of features), coef0 (1), degree (3), as in scikit-learn.
    ridge : float, default 1.0
        Greater than 0. A row with ``c k(x, x)`` of 2^24 times the ridge or more is refused, and so
        is a reading that rounding leaves fewer than six digits of.
    window : int, optional
        Only the last `window` rows stay: the oldest leaves by a rank-one update of the factor.
    budget : int, optional
        At most so many rows are stored as a dictionary. A row joins it where its squared distance
        from the dictionary's span exceeds ``tolerance * k(x, x)``; all others count through their
        projection on that span (approximate linear dependence). Cost O(budget^2) an update and
        ``14 budget^2`` bytes from the start, however few rows there are.
    tolerance : float, default 1e-2
        See `budget`.

    See Also
    --------
    Full : In the features themselves.

    Examples
    --------
    >>> from coactive_fast.metric import Dual
    >>> m = Dual()
    >>> m.update([1.0, 0.0])
    1.0
    >>> round(m.quad([1.0, 0.0]), 12)
    0.5
    """

    def __init__(
        self,
        *,
        kernel: _Kernel = "linear",
        kernel_params: dict[str, Any] | None = None,
        ridge: _Real = 1.0,
        window: SupportsIndex | None = None,
        budget: SupportsIndex | None = None,
        tolerance: _Real = 1e-2,
    ) -> None: ...
    @property
    def kernel(self) -> _Kernel: ...
    @property
    def kernel_params(self) -> dict[str, Any]:
        """A copy of the kernel's parameters."""
    @property
    def ridge(self) -> float: ...
    @property
    def window(self) -> int | None: ...
    @property
    def budget(self) -> int | None: ...
    @property
    def tolerance(self) -> float: ...
    def __len__(self) -> int: ...
    def update(self, x: _Row, *, c: _Real = 1.0) -> float:
        """``A += c phi(x) phi(x)^T``; returns ``phi(x)^T A^-1 phi(x)`` from before.

        Parameters
        ----------
        x : array_like of shape (n,) or scipy.sparse row
            A row with k(x, x) = 0 returns 0 and is not stored.
        c : float, default 1.0
            Greater than 0.

        Returns
        -------
        float
            The value before the update; 0 where k(x, x) = 0, which changes nothing.
        """
    def quad(self, x: _Row) -> float:
        """``phi(x)^T A^-1 phi(x)``.

        Parameters
        ----------
        x : array_like of shape (n,) or scipy.sparse row
            One row.

        Returns
        -------
        float
            The squared length of phi(x) in the norm of ``A^-1``.
        """
    def solve(self, x: _Row) -> _Vector:
        """Coefficients of the stored rows in ``A^-1 phi(x)``.

        Without a budget they are ``a = M^-1 b``, ``b_s = sqrt(c_s) k(x_s, x)``, and ``A^-1 phi(x)
        = (phi(x) - sum_s a_s sqrt(c_s) phi(x_s)) / ridge``; with one, ``A^-1 u`` in the
        coordinates of the dictionary.

        Parameters
        ----------
        x : array_like of shape (n,) or scipy.sparse row
            One row.

        Returns
        -------
        ndarray of float64, shape (len(self),)
            A coefficient for each stored row, the oldest first.
        """
    def inverse(self) -> _Vector:
        """``M^-1`` over the stored rows (with a budget: A^-1 in the dictionary's coordinates).

        Returns
        -------
        ndarray of float64, shape (len(self), len(self))
            A copy, which may be changed.
        """
    def matrix(self) -> _Vector:
        """``M = ridge I + G`` (with a budget: A in the dictionary's coordinates).

        Returns
        -------
        ndarray of float64, shape (len(self), len(self))
            A copy, which may be changed.
        """
    @property
    def logdet(self) -> float:
        """``log det M - len(self) log ridge``: an update adds ``log(1 + c q)``."""
    @property
    def updates(self) -> int:
        """How many updates changed something."""
    @property
    def approximation_error(self) -> float:
        """With a budget: how much of the rows the dictionary does not hold; 0 without.

        The sum of ``c`` times the squared distance of each row, as stored, from the dictionary's
        span.
        """
    def state(self) -> dict[str, Any]:
        """Everything there is to resume from, as plain arrays and numbers.

        A callable kernel cannot be written down: the dictionary then holds it as it is.

        Returns
        -------
        dict
            `Dual.from_state` makes the same metric of it, bit for bit.
        """
