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
    as_count, as_flag, as_number, as_rows, as_scores, as_square, as_vector, data_of, finite_vector,
    is_plain, new_indices, new_vector, refuse, refuse_length, refuse_masked, refuse_non_finite,
    row_stride, take_scratch,
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


cdef bint is_float32(np.ndarray array) noexcept:
    return np.PyArray_TYPE(array) == np.NPY_FLOAT


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
    if best_of(n, np.PyArray_DATA(s), is_float32(s), wanted,
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
    cdef Py_ssize_t n = np.PyArray_DIM(x, 0), d = np.PyArray_DIM(x, 1), stride = row_stride(x)
    cdef double few[SMALL]
    cdef double *scores = few
    cdef bint floats = is_float32(x)
    cdef const void *rows = np.PyArray_DATA(x)
    cdef const double *weights = data_of(v)
    cdef int status
    if np.PyArray_DIM(v, 0) != d:
        refuse_length(np.PyArray_DIM(v, 0), "w", d, "the columns of X")
    cdef np.ndarray out = new_indices(min(wanted, n))
    if n > SMALL:
        scores = <double *>take_scratch(n, sizeof(double))
    try:
        if n * d < BUSY:
            scores_of(n, d, rows, floats, stride, weights, scores)
        else:
            with nogil:
                scores_of(n, d, rows, floats, stride, weights, scores)
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


cdef void scores_of(Py_ssize_t n, Py_ssize_t d, const void *rows, bint floats, Py_ssize_t stride,
                    const double *w, double *scores) noexcept nogil:
    if floats:
        K.scores_f32(n, d, <const float *>rows, stride, w, scores)
    else:
        K.scores(n, d, <const double *>rows, stride, w, scores)


cdef np.ndarray whole_numbers(object ranking):
    """The ranking as intp; one that is so already as it is."""
    if is_plain(ranking, np.NPY_INTP):
        return <np.ndarray>ranking
    refuse_masked(ranking, "ranking")
    try:
        places = numpy.asarray(ranking)
    except ValueError:
        raise TypeError("ranking must be a sequence of integers") from None
    if places.dtype.kind not in "iu" and (places.size or places.dtype.kind == "O"):
        raise TypeError(f"ranking must hold integers, got dtype {places.dtype}")
    if places.ndim != 1:
        raise ValueError(f"ranking must have 1 dimension, got shape {places.shape}")
    if places.size and places.dtype.kind == "u" and places.max() > numpy.iinfo(numpy.intp).max:
        raise ValueError("ranking must hold indices of documents")
    return <np.ndarray>numpy.ascontiguousarray(places, dtype=numpy.intp)


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
    cdef Py_ssize_t d = np.PyArray_DIM(x, 1), stride = row_stride(x)
    cdef np.ndarray places = whole_numbers(ranking)
    cdef Py_ssize_t m = check_places(places, np.PyArray_DIM(x, 0), wanted)
    cdef const ptrdiff_t *y = <const ptrdiff_t *>np.PyArray_DATA(places)
    cdef np.ndarray out = new_vector(d)
    cdef np.ndarray discount = new_vector(m)
    np.PyArray_FILLWBYTE(out, 0)
    K.discounts(m, data_of(discount))
    if not rows_are_finite(x):
        refuse_non_finite(x, "X")
    if is_float32(x):
        K.features_f32(m, d, <const float *>np.PyArray_DATA(x), stride, y, 1.0,
                       data_of(discount), data_of(out))
    else:
        K.features(m, d, <const double *>np.PyArray_DATA(x), stride, y, 1.0, data_of(discount),
                   data_of(out))
    if not K.all_finite(d, data_of(out)):
        refuse(CF_ENONFINITE, "the feature sum of X")
    return out


cdef bint rows_are_finite(np.ndarray x) noexcept:
    cdef Py_ssize_t n = np.PyArray_DIM(x, 0), d = np.PyArray_DIM(x, 1), i, stride = row_stride(x)
    cdef const float *floats = <const float *>np.PyArray_DATA(x)
    cdef const double *doubles = <const double *>np.PyArray_DATA(x)
    for i in range(n):
        if is_float32(x):
            if not K.all_finite_f32(d, floats + i * stride):
                return False
        elif not K.all_finite(d, doubles + i * stride):
            return False
    return True


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
    cdef double weight = as_number(c, "c")
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
    if weight <= 0.0:
        raise ValueError(f"c must be > 0, got {weight}")
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

include "_projections.pxi"
