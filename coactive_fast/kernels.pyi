from typing import Any, Literal, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "exp",
    "exponentiated_weights",
    "inverse_update",
    "log",
    "project_ball",
    "project_box",
    "project_l1",
    "project_scores",
    "project_simplex",
    "rank",
    "ranking_features",
    "top_k",
]

_Real: TypeAlias = float | np.floating[Any] | np.integer[Any]

def top_k(scores: ArrayLike, k: SupportsIndex) -> NDArray[np.intp]:
    """Indices of the k largest scores, best first, ties to the lower index.

    O(n + k log k): one vector comparison a score against the k-th best so far. ``-inf`` and
    ``inf`` are scores like others (``-inf`` makes a useful mask); NaN is refused.

    Parameters
    ----------
    scores : array_like of shape (n,)
        Arrays of float64 and float32 are read without a copy.
    k : int
        How many, at least 0; more than n gives n.

    Returns
    -------
    ndarray of intp, shape (min(k, n),)
        The indices, that of the largest score first.

    Examples
    --------
    >>> from coactive_fast.kernels import top_k
    >>> top_k([0.5, 2.0, 2.0, -1.0], 3)
    array([1, 2, 0])
    """
def rank(X: ArrayLike, w: ArrayLike, k: SupportsIndex) -> NDArray[np.intp]:
    """The k best rows of X by ``X @ w``, best first, ties to the lower index.

    Scores and selection in one call; equal rows get equal scores to the last bit, so the tie
    rule holds. The rows are read once, with memory asked for ahead.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Arrays of float64 and float32 with contiguous rows are read without a copy; sums are
        float64.
    w : array_like of shape (d,)
        The weights that rows are scored by.
    k : int
        How many, at least 0; more than n gives n.

    Returns
    -------
    ndarray of intp, shape (min(k, n),)
        The indices of the rows, that of the largest score first.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast.kernels import rank
    >>> rank(np.array([[1.0, 0.0], [0.0, 3.0], [2.0, 0.0]]), [1.0, 1.0], 2)
    array([1, 2])
    """
def ranking_features(
    X: ArrayLike, ranking: ArrayLike, *, k: SupportsIndex = 5
) -> NDArray[np.float64]:
    """Feature map of an ordering: sum of x_{y_i} / log2(i + 1) over the first k places.

    Parameters
    ----------
    X : array_like of shape (n, d)
        The documents; float64 and float32 with contiguous rows are read without a copy.
    ranking : array_like of int
        Document indices, best first: all of them or only the first places, none twice.
    k : int, default 5
        How many places count, at most what the ranking has.

    Returns
    -------
    ndarray of float64, shape (d,)
        The sum of the rows in the first k places, discounted by their place.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast.kernels import ranking_features
    >>> ranking_features(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), [2, 0, 1], k=1)
    array([1., 1.])
    """
def inverse_update(
    Ainv: NDArray[np.float64],
    x: ArrayLike,
    *,
    c: _Real = 1.0,
    triangle: Literal["both", "lower"] = "both",
) -> float:
    """Rank-one update of an inverse, in place: ``Ainv`` becomes that of ``A + c x x^T``.

    Sherman-Morrison; a symmetric ``Ainv`` stays symmetric to the last bit. That it is so is the
    caller's word: with "both" only its last row and column are compared, and where these differ
    the lower triangle is taken for the truth. An all-zero x gives 0 and changes nothing. After
    an error ``Ainv`` is as it was.

    Parameters
    ----------
    Ainv : ndarray of float64, shape (n, n)
        Writeable, rows contiguous; positive definite.
    x : array_like of shape (n,)
        The direction of the update.
    c : float, default 1.0
        Greater than 0.
    triangle : {"both", "lower"}
        "lower" reads and writes that triangle only; "both" gives the upper one the same term.

    Returns
    -------
    float
        ``q = x^T Ainv x`` from before the update (afterwards it is ``q / (1 + c q)``).

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast.kernels import inverse_update
    >>> Ainv = np.eye(2)
    >>> inverse_update(Ainv, [1.0, 0.0])
    1.0
    >>> Ainv
    array([[0.5, 0. ],
           [0. , 1. ]])
    """
def project_scores(
    z: ArrayLike, q: ArrayLike, total: _Real
) -> tuple[NDArray[np.float64], float]:
    """Minimise ``sum (v_i - z_i)^2 / q_i`` subject to ``v >= 0`` and ``sum v = total``.

    The solution is ``v_i = max(0, z_i + lam q_i)``. Expected O(n) whatever the order, size and
    spread of the input; the sum is right to rounding even where ``|z|`` is 1e300.

    Parameters
    ----------
    z, q : array_like of shape (n,)
        At least one each; every q_i > 0.
    total : float
        Greater than 0.

    Returns
    -------
    v : ndarray of float64, shape (n,)
        The projection.
    lam : float
        Its multiplier: ``v_i = max(0, z_i + lam q_i)``.

    Examples
    --------
    >>> from coactive_fast.kernels import project_scores
    >>> project_scores([1.0, 0.0, -3.0], [1.0, 1.0, 1.0], 2.0)
    (array([1.5, 0.5, 0. ]), 0.5)
    """
def project_ball(
    z: ArrayLike, Ainv: ArrayLike, radius: _Real
) -> tuple[NDArray[np.float64], float]:
    """Minimise ``||w - z||_A`` subject to ``||w|| <= radius``, given the inverse of A.

    ``w = (I + lam Ainv)^-1 z``. O(n^2) where a few products with ``Ainv`` are enough (Lanczos),
    O(n^3) at the worst (tridiagonal form). A z inside the ball comes back bit for bit. Products
    end where the residual ``||(I + lam Ainv) w - z||`` is at most 1e-13 radius, which is also the
    relative error of w that they may leave; rounding adds about ``1e-16 (1 + lam ||Ainv||)``.

    Parameters
    ----------
    z : array_like of shape (n,)
        What is projected.
    Ainv : array_like of shape (n, n)
        Positive definite; only the lower triangle is read.
    radius : float
        Greater than 0.

    Returns
    -------
    w : ndarray of float64, shape (n,)
        The projection; z itself where it lies in the ball.
    lam : float
        0 where z is inside.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast.kernels import project_ball
    >>> w, lam = project_ball([3.0, 4.0], np.eye(2), 1.0)
    >>> print(w.round(12), round(lam, 12))
    [0.6 0.8] 4.0
    """
def project_simplex(
    z: ArrayLike, Ainv: ArrayLike, *, total: _Real = 1.0
) -> NDArray[np.float64]:
    """Minimise ``||w - z||_A`` subject to ``w >= 0`` and ``sum w = total``, given A's inverse.

    Block pivoting on the set of zero coordinates, one Cholesky factor of that block of ``Ainv``
    a turn; a path-following active set where that cycles. KKT residual about 1e-13. The result
    is in the set to rounding, however much larger z is.

    Parameters
    ----------
    z : array_like of shape (n,)
        At least one number.
    Ainv : array_like of shape (n, n)
        Positive definite; only the lower triangle is read. That its diagonal is > 0 is checked,
        and, by its Cholesky factor, the block of the coordinates that end at a bound; what else
        an indefinite matrix has goes unnoticed (to look at all of it would cost O(n^3)).
    total : float, default 1.0
        Greater than 0.

    Returns
    -------
    ndarray of float64, shape (n,)
        The point of the set that is nearest to z in the norm of A.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast.kernels import project_simplex
    >>> print(project_simplex([1.0, 0.5, -2.0], np.eye(3)).round(12))
    [0.75 0.25 0.  ]
    """
def project_l1(z: ArrayLike, Ainv: ArrayLike, radius: _Real) -> NDArray[np.float64]:
    """Minimise ``||w - z||_A`` subject to ``sum |w_i| <= radius``, given the inverse of A.

    As `project_simplex`, on the signs of the support. A z inside comes back bit for bit.

    Parameters
    ----------
    z : array_like of shape (n,)
        What is projected.
    Ainv : array_like of shape (n, n)
        Positive definite, checked as in `project_simplex`; only the lower triangle is read.
    radius : float
        Greater than 0.

    Returns
    -------
    ndarray of float64, shape (n,)
        The point of the set that is nearest to z in the norm of A.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast.kernels import project_l1
    >>> print(project_l1([2.0, -1.0, 0.25], np.eye(3), 1.0).round(12))
    [1. 0. 0.]
    """
def project_box(
    z: ArrayLike, Ainv: ArrayLike, lower: ArrayLike, upper: ArrayLike
) -> NDArray[np.float64]:
    """Minimise ``||w - z||_A`` subject to ``lower <= w <= upper``, given the inverse of A.

    As `project_simplex`, on the coordinates at their bounds. A z inside comes back bit for bit.

    Parameters
    ----------
    z : array_like of shape (n,)
        What is projected.
    Ainv : array_like of shape (n, n)
        Positive definite, checked as in `project_simplex`; only the lower triangle is read.
    lower, upper : float or array_like of shape (n,)
        Finite, lower <= upper.

    Returns
    -------
    ndarray of float64, shape (n,)
        The point of the set that is nearest to z in the norm of A.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast.kernels import project_box
    >>> print(project_box([2.0, -0.5], np.eye(2), -1.0, 1.0).round(12))
    [ 1.  -0.5]
    """
def exponentiated_weights(theta: ArrayLike, *, both_signs: bool = True) -> NDArray[np.float64]:
    """Weights of the exponentiated rule from its log-weights.

    both_signs: ``sinh(theta_i) / sum cosh(theta)``, the difference of the doubled form's two
    halves, which is never built; else ``exp(theta_i) / sum exp(theta)``. Never overflows.

    Parameters
    ----------
    theta : array_like of shape (n,)
        At least one, all finite.
    both_signs : bool, default True
        Whether weights may be negative: each is then the difference of two.

    Returns
    -------
    ndarray of float64, shape (n,)
        The weights, whose absolute values sum to at most 1.

    Examples
    --------
    >>> from coactive_fast.kernels import exponentiated_weights
    >>> exponentiated_weights([0.0, 0.0], both_signs=False)
    array([0.5, 0.5])
    """
def exp(x: ArrayLike) -> NDArray[np.float64]:
    """The power e^x, elementwise, within 1 ulp and with the same bits on every CPU with FMA.

    Parameters
    ----------
    x : array_like of shape (n,)
        Any numbers; NaN gives NaN.

    Returns
    -------
    ndarray of float64, shape (n,)
        A power for each of x.

    Examples
    --------
    >>> from coactive_fast.kernels import exp
    >>> exp([0.0, 1.0])
    array([1.        , 2.71828183])
    """
def log(x: ArrayLike) -> NDArray[np.float64]:
    """Natural logarithm, elementwise, within 1 ulp and with the same bits on every CPU with FMA.

    Parameters
    ----------
    x : array_like of shape (n,)
        The logarithm of 0 is -inf, that of a negative number NaN.

    Returns
    -------
    ndarray of float64, shape (n,)
        A logarithm for each of x.

    Examples
    --------
    >>> from coactive_fast.kernels import log
    >>> log([1.0, 2.0])
    array([0.        , 0.69314718])
    """
