# The projections of kernels.pyx: on scores, a ball, a simplex, a box, an L1 ball.

cdef enum:
    BUSY_HERE = 8192   # values from which the GIL is let go: a few microseconds of work


cdef double as_positive(object value, str name) except -1.0:
    cdef double number = as_number(value, name)
    if number <= 0.0:
        raise ValueError(f"{name} must be > 0, got {number}")
    return number


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


cdef int take_square(object Ainv, Py_ssize_t n, cf_triangle *b, list keep) except -1:
    """The triangle of a matrix argument; `keep` holds the array that owns the memory."""
    cdef np.ndarray matrix = as_square(Ainv, "Ainv")
    if np.PyArray_DIM(matrix, 0) != n:
        refuse_length(n, "z", np.PyArray_DIM(matrix, 0), "the rows of Ainv")
    keep.append(matrix)
    b.data = data_of(matrix)
    b.n = n
    b.ld = max(row_stride(matrix), 1)
    return 0


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
    cdef list keep = []
    take_square(Ainv, n, &b, keep)
    cdef np.ndarray out = new_vector(n)
    w = data_of(out)
    scratch = <double *>take_scratch(L.ball_scratch(n, 0), sizeof(double))
    if n < 32:
        status = L.ball_project(K, &b, data_of(zv), r, w, &lam, scratch, NULL, NULL)
    else:
        with nogil:
            status = L.ball_project(K, &b, data_of(zv), r, w, &lam, scratch, NULL, NULL)
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
        status = L.ball_project(K, b, data_of(z), r, w, lam, scratch, more, NULL)
    L.free(scratch)
    L.free(more)
    return status


cdef np.ndarray on_faces(object z, object Ainv, cf_faces_kind kind, double total,
                         const double *lower=NULL, const double *upper=NULL):
    """The point of a simplex, a box or an L1 ball nearest to z."""
    cdef np.ndarray zv = as_vector(z, "z")
    cdef Py_ssize_t n = np.PyArray_DIM(zv, 0)
    cdef cf_triangle b
    cdef list keep = []
    cdef cf_faces set
    cdef double *scratch
    cdef signed char *state
    cdef double *w
    cdef int status
    set.kind, set.total, set.lower, set.upper = kind, total, lower, upper
    take_square(Ainv, n, &b, keep)
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
        status = L.faces_project(K, &b, &set, data_of(zv), w, state, scratch, NULL)
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
