"""Arrays in, arrays out: the numerical kernels for anybody's NumPy code.

float64 arrays (and, where rows of features are read, float32 ones) whose rows are contiguous are
used as they are, read-only and memory-mapped ones too; anything else that holds real numbers is
converted. Sums are float64. The GIL is released around work above a few microseconds. On every
CPU with fused multiply-add the results are the same to the last bit.
"""

import numpy

cimport numpy as np
from libc.stddef cimport size_t

from coactive_fast._arrays cimport (
    Matrix, add_features, as_count, as_flag, as_number, as_positive, as_rows, as_scores, as_square,
    as_vector, data_of, finite_vector, indices_of, matrix_of, new_indices, new_vector, refuse,
    refuse_bad_matrix, refuse_length, refuse_masked, refuse_non_finite, row_stride, scores_of,
    take_scratch,
)
from coactive_fast._table cimport (
    CF_BOX, CF_ENOCONVERGE, CF_ENONFINITE, CF_ENOTPOSITIVE, CF_L1, CF_OK, CF_SIMPLEX, cf_candidate,
    cf_faces, cf_faces_kind, cf_get_library, cf_get_table, cf_library, cf_pad, cf_scores_scratch,
    cf_table, cf_top_k_scratch, cf_triangle, cf_triangle_row,
)

np.import_array()

__all__ = [
    "exp", "exponentiated_weights", "inverse_update", "log", "project_ball", "project_box",
    "project_l1", "project_scores", "project_simplex", "rank", "ranking_features", "top_k",
]

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    FEW_PLACES = 32
    SMALL = 256   # values for which scratch is taken from the stack
    BUSY = 32768  # values from which the GIL is let go: a few microseconds of work

cdef str BOTH = "both"


# --- top-k and rankings ---------------------------------------------------------------------


def top_k(scores, k):
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
    cdef Py_ssize_t wanted = as_count(k, "k")
    cdef np.ndarray s = as_scores(scores, "scores")
    cdef Py_ssize_t n = np.PyArray_DIM(s, 0)
    cdef np.ndarray out = new_indices(min(wanted, n))
    if best_of(n, np.PyArray_DATA(s), np.PyArray_TYPE(s) == np.NPY_FLOAT, wanted,
               <ptrdiff_t *>np.PyArray_DATA(out)) != CF_OK:
        raise ValueError("scores must not hold NaN")
    return out


cdef int best_of(Py_ssize_t n, const void *scores, bint floats, Py_ssize_t k,
                 ptrdiff_t *out) except? -99:
    cdef int status
    cdef Py_ssize_t size = cf_top_k_scratch(n, k)
    cdef cf_candidate *scratch = NULL
    if size:
        scratch = <cf_candidate *>take_scratch(size, sizeof(cf_candidate))
    if n < BUSY:
        status = (K.top_k_f32(n, <const float *>scores, k, out, scratch) if floats
                  else K.top_k(n, <const double *>scores, k, out, scratch))
    else:
        with nogil:
            status = (K.top_k_f32(n, <const float *>scores, k, out, scratch) if floats
                      else K.top_k(n, <const double *>scores, k, out, scratch))
    L.free(scratch)
    return status


def rank(X, w, k):
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
    cdef np.ndarray x = as_rows(X, "X")
    cdef np.ndarray v = as_vector(w, "w")
    cdef Py_ssize_t wanted = as_count(k, "k")
    cdef Matrix rows = matrix_of(x)
    cdef Py_ssize_t n = rows.n, d = rows.d
    cdef double few[SMALL]
    cdef double *scores = few
    cdef const double *weights = data_of(v)
    cdef int status
    if np.PyArray_DIM(v, 0) != d:
        refuse_length(np.PyArray_DIM(v, 0), "w", d, "the columns of X")
    cdef np.ndarray out = new_indices(min(wanted, n))
    if n > SMALL:
        scores = <double *>take_scratch(n, sizeof(double))
    try:
        if n * d < BUSY:
            scores_of(&rows, weights, scores)
        else:
            with nogil:
                scores_of(&rows, weights, scores)
        status = best_of(n, scores, False, wanted, <ptrdiff_t *>np.PyArray_DATA(out))
    finally:
        if scores != few:
            L.free(scores)
    if status != CF_OK:
        for array, name in ((x, "X"), (v, "w")):
            if numpy.isnan(array).any():
                raise ValueError(f"{name} must not hold NaN")
        raise ValueError("X @ w must not hold NaN: infinities in X or w cancel or meet a zero")
    return out


cdef Py_ssize_t check_places(np.ndarray ranking, Py_ssize_t n, Py_ssize_t k) except -1:
    """How many places count: all of them in range, none twice."""
    cdef const ptrdiff_t *y = <const ptrdiff_t *>np.PyArray_DATA(ranking)
    cdef Py_ssize_t m = min(k, np.PyArray_DIM(ranking, 0)), i, j
    cdef bint twice = False
    for i in range(m):
        if y[i] < 0 or y[i] >= n:
            raise ValueError(f"ranking must hold indices in 0 ... {n - 1}, got {y[i]}")
    if m > FEW_PLACES:
        twice = numpy.unique(ranking[:m]).size != m
    else:
        for i in range(m):
            for j in range(i):
                twice |= y[i] == y[j]
    if twice:
        raise ValueError("ranking must not name a document twice")
    return m


def ranking_features(X, ranking, *, k=5):
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
    cdef np.ndarray x = as_rows(X, "X")
    cdef Py_ssize_t wanted = as_count(k, "k")
    cdef Matrix rows = matrix_of(x)
    cdef np.ndarray places = indices_of(ranking, "ranking")
    cdef Py_ssize_t m = check_places(places, rows.n, wanted)
    cdef np.ndarray out = new_vector(rows.d)
    cdef np.ndarray discount = new_vector(m)
    np.PyArray_FILLWBYTE(out, 0)
    K.discounts(m, data_of(discount))
    refuse_bad_matrix(x, &rows, "X")
    add_features(m, &rows, <const ptrdiff_t *>np.PyArray_DATA(places), 1.0, data_of(discount),
                 data_of(out))
    if not K.all_finite(rows.d, data_of(out)):
        refuse(CF_ENONFINITE, "the feature sum of X")
    return out


# --- the inverse -----------------------------------------------------------------------------


def inverse_update(Ainv, x, *, c=1.0, triangle="both"):
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
    cdef np.ndarray matrix
    cdef np.ndarray v = as_vector(x, "x")
    cdef double weight = as_positive(c, "c")
    cdef double few[SMALL + 8]
    cdef double *scratch = few
    cdef double q = 0.0
    cdef int both = 1, status
    cdef cf_triangle b
    if triangle is not BOTH:
        both = which_triangle(triangle)
    if not np.PyArray_CheckExact(Ainv):
        refuse_masked(Ainv, "Ainv")
    if (not isinstance(Ainv, np.ndarray) or np.PyArray_TYPE(<np.ndarray>Ainv) != np.NPY_DOUBLE
            or not np.PyArray_ISNOTSWAPPED(<np.ndarray>Ainv)):
        raise TypeError("Ainv must be a float64 ndarray in native byte order: it is updated in "
                        "place")
    matrix = <np.ndarray>Ainv
    b.n = np.PyArray_DIM(v, 0)
    b.data = data_of(matrix)
    b.ld = in_place_stride(matrix, b.n)
    if b.n > SMALL:
        scratch = <double *>take_scratch(cf_pad(b.n) + 8, sizeof(double))
    if b.n * b.n < BUSY:
        status = K.inverse_update(&b, data_of(v), weight, both, scratch, &q)
    else:
        with nogil:
            status = K.inverse_update(&b, data_of(v), weight, both, scratch, &q)
    if b.n > SMALL:
        L.free(scratch)
    if status != CF_OK:
        refuse_non_finite(v, "x")
        refuse(status, "Ainv" if status == CF_ENOTPOSITIVE else "x^T Ainv x")
    return q


cdef int which_triangle(object triangle) except -1:
    if triangle == "both":
        return 1
    if triangle == "lower":
        return 0
    raise ValueError(f"triangle must be 'both' or 'lower', got {triangle!r}")


cdef Py_ssize_t in_place_stride(np.ndarray matrix, Py_ssize_t n) except -1:
    """Doubles from row to row of an array that can be changed where it is."""
    cdef Py_ssize_t ld
    if np.PyArray_NDIM(matrix) != 2 or np.PyArray_DIM(matrix, 0) != np.PyArray_DIM(matrix, 1):
        raise ValueError(f"Ainv must be square, got shape {(<object>matrix).shape}")
    if np.PyArray_DIM(matrix, 0) != n:
        refuse_length(n, "x", np.PyArray_DIM(matrix, 0), "the rows of Ainv")
    if not np.PyArray_ISWRITEABLE(matrix):
        raise ValueError("Ainv must be writeable: it is updated in place")
    ld = row_stride(matrix)
    if (not np.PyArray_ISBEHAVED(matrix) or ld < n
            or (n > 1 and (np.PyArray_STRIDE(matrix, 1) != sizeof(double)
                           or np.PyArray_STRIDE(matrix, 0) % sizeof(double) != 0))):
        raise ValueError("Ainv must have contiguous aligned rows: it is updated in place")
    return ld


# --- elementary ------------------------------------------------------------------------------


def exponentiated_weights(theta, *, both_signs=True):
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
    cdef np.ndarray t = finite_vector(theta, "theta", -1, "")
    cdef bint both = as_flag(both_signs, "both_signs")
    cdef Py_ssize_t n = np.PyArray_DIM(t, 0)
    cdef np.ndarray out = new_vector(n)
    if n == 0:
        raise ValueError("theta must not be empty")
    K.exponentiated_weights(n, data_of(t), both, data_of(out))
    return out


cdef np.ndarray each(void (*function)(ptrdiff_t, const double *, double *) noexcept nogil,
                     object x):
    cdef np.ndarray v = as_vector(x, "x")
    cdef np.ndarray out = new_vector(np.PyArray_DIM(v, 0))
    cdef Py_ssize_t n = np.PyArray_DIM(v, 0)
    if n < BUSY:
        function(n, data_of(v), data_of(out))
    else:
        with nogil:
            function(n, data_of(v), data_of(out))
    return out


def exp(x):
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
    return each(K.exp_many, x)


def log(x):
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
    return each(K.log_many, x)


# --- projections ----------------------------------------------------------------------------

cdef enum:
    BUSY_HERE = 8192   # values from which the GIL is let go: a few microseconds of work


def project_scores(z, q, total):
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
    cdef np.ndarray zv = as_vector(z, "z")
    cdef np.ndarray qv = as_vector(q, "q")
    cdef double s = as_positive(total, "total")
    cdef Py_ssize_t n = np.PyArray_DIM(zv, 0)
    cdef double lam = 0.0
    cdef double *scratch = NULL
    cdef int status
    if np.PyArray_DIM(qv, 0) != n:
        refuse_length(np.PyArray_DIM(qv, 0), "q", n, "z")
    if n == 0:
        raise ValueError("z must not be empty: nothing can sum to the total")
    cdef np.ndarray out = new_vector(n)
    cdef double *v = data_of(out)
    if cf_scores_scratch(n):
        scratch = <double *>take_scratch(cf_scores_scratch(n), sizeof(double))
    if n < BUSY_HERE:
        status = K.project_scores(n, data_of(zv), data_of(qv), s, v, &lam, scratch)
    else:
        with nogil:
            status = K.project_scores(n, data_of(zv), data_of(qv), s, v, &lam, scratch)
    L.free(scratch)
    if status != CF_OK:
        refuse_non_finite(zv, "z")
        refuse_non_finite(qv, "q")
        if status == CF_ENOTPOSITIVE:
            raise ValueError(f"q must be > 0 everywhere, got {qv.min()}")
        refuse(status, "the multiplier of z, q and total")
    return out, lam


cdef np.ndarray take_square(object Ainv, Py_ssize_t n, cf_triangle *b):
    """The triangle of a matrix argument; the array that owns the memory."""
    cdef np.ndarray matrix = as_square(Ainv, "Ainv")
    if np.PyArray_DIM(matrix, 0) != n:
        refuse_length(n, "z", np.PyArray_DIM(matrix, 0), "the rows of Ainv")
    b.data = data_of(matrix)
    b.n = n
    b.ld = max(row_stride(matrix), 1)
    return matrix


cdef int refuse_bad_triangle(const cf_triangle *b) except -1:
    """A NaN or infinity in the lower triangle, which is all that is read; a diagonal not > 0."""
    cdef Py_ssize_t i
    for i in range(b.n):
        if not K.all_finite(i + 1, cf_triangle_row(b, i)):
            raise ValueError(f"Ainv must be finite, row {i} is not")
        if not cf_triangle_row(b, i)[i] > 0.0:
            raise ValueError("Ainv must be positive definite, its diagonal has "
                             f"{cf_triangle_row(b, i)[i]:g} at index {i}")
    return 0


cdef int blame(int status, np.ndarray z, const cf_triangle *b) except -1:
    """The error of a projection in the norm of A, naming the argument at fault."""
    refuse_non_finite(z, "z")
    refuse_bad_triangle(b)
    return refuse(status, "Ainv" if status == CF_ENOTPOSITIVE else "the projection of z")


def project_ball(z, Ainv, radius):
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
    cdef np.ndarray zv = as_vector(z, "z")
    cdef double r = as_positive(radius, "radius")
    cdef Py_ssize_t n = np.PyArray_DIM(zv, 0)
    cdef cf_triangle b
    cdef double lam = 0.0
    cdef double *scratch
    cdef double *w
    cdef int status
    cdef np.ndarray matrix = take_square(Ainv, n, &b), out = new_vector(n)
    w = data_of(out)
    scratch = <double *>take_scratch(L.ball_scratch(n, 0), sizeof(double))
    if n < 32:
        status = L.ball_project(K, &b, NULL, data_of(zv), r, w, &lam, scratch, NULL)
    else:
        with nogil:
            status = L.ball_project(K, &b, NULL, data_of(zv), r, w, &lam, scratch, NULL)
    L.free(scratch)
    if status != CF_OK:
        status = ball_at_length(&b, zv, r, w, &lam, status)
    if status != CF_OK:
        blame(status, zv, &b)
    if lam == 0.0:  # inside: the matrix was not looked at, but it is an argument all the same
        refuse_bad_triangle(&b)
    return out, lam


cdef int ball_at_length(const cf_triangle *b, np.ndarray z, double r, double *w, double *lam,
                        int status) except? -99:
    """Once more with the fallback's n^2 scratch, where that is what was missing."""
    cdef double *scratch
    cdef double *more
    if status != CF_ENOCONVERGE:
        return status
    lam[0] = 0.0
    scratch = <double *>take_scratch(L.ball_scratch(b.n, 0), sizeof(double))
    more = <double *>L.alloc(<size_t>L.ball_scratch(b.n, 1), sizeof(double))
    if more == NULL:
        L.free(scratch)
        raise MemoryError("scratch of the tridiagonal form")
    with nogil:
        status = L.ball_project(K, b, NULL, data_of(z), r, w, lam, scratch, more)
    L.free(scratch)
    L.free(more)
    return status


cdef np.ndarray on_faces(object z, object Ainv, cf_faces_kind kind, double total,
                         const double *lower=NULL, const double *upper=NULL):
    """The point of a simplex, a box or an L1 ball nearest to z."""
    cdef np.ndarray zv = as_vector(z, "z")
    cdef Py_ssize_t n = np.PyArray_DIM(zv, 0)
    cdef cf_triangle b
    cdef cf_faces set
    cdef double *scratch
    cdef signed char *state
    cdef double *w
    cdef int status
    set.kind, set.total, set.lower, set.upper = kind, total, lower, upper
    cdef np.ndarray matrix = take_square(Ainv, n, &b)
    refuse_bad_triangle(&b)
    refuse_non_finite(zv, "z")
    cdef np.ndarray out = new_vector(n)
    w = data_of(out)
    scratch = <double *>take_scratch(L.faces_scratch(n) + cf_pad(n), sizeof(double))
    if n == 0:
        return out
    state = <signed char *>(scratch + L.faces_scratch(n))
    with nogil:
        L.faces_guess(K, &b, &set, data_of(zv), state, scratch)
        status = L.faces_project(K, &b, NULL, &set, data_of(zv), w, state, scratch)
    L.free(scratch)
    if status != CF_OK:
        blame(status, zv, &b)
    return out


def project_simplex(z, Ainv, *, total=1.0):
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
    w = on_faces(z, Ainv, CF_SIMPLEX, as_positive(total, "total"))
    if w.shape[0] == 0:
        raise ValueError("z must not be empty: nothing can sum to the total")
    return w


def project_l1(z, Ainv, radius):
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
    return on_faces(z, Ainv, CF_L1, as_positive(radius, "radius"))


def project_box(z, Ainv, lower, upper):
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
    cdef Py_ssize_t n = np.PyArray_DIM(as_vector(z, "z"), 0)
    cdef np.ndarray low = bounds(lower, n, "lower")
    cdef np.ndarray high = bounds(upper, n, "upper")
    if (low > high).any():
        i = int(numpy.argmax(low > high))
        raise ValueError(f"lower must be <= upper, got {low[i]} > {high[i]} at index {i}")
    return on_faces(z, Ainv, CF_BOX, 0.0, data_of(low), data_of(high))


cdef np.ndarray bounds(object value, Py_ssize_t n, str name):
    cdef np.ndarray out
    if numpy.isscalar(value) or (isinstance(value, np.ndarray) and value.ndim == 0):
        out = new_vector(n)
        out.fill(as_number(value, name))
        return out
    return finite_vector(value, name, n, "z")
