# Arguments as arrays: what is a plain array of the right kind passes with a few compares, the
# rest is converted by functions that name the argument. No copy of float64 (and, for rows, of
# float32) data whose rows are contiguous.

cimport numpy as np
from libc.stddef cimport size_t
from cpython.long cimport PyLong_AsLongAndOverflow

# With so many dimensions and contiguous rows: float64 or (floats) float32 where it is that.
cdef object convert_array(object value, str name, int ndim, bint floats)
cdef object convert_rows(object value, str name)
cdef object convert_square(object value, str name)
cdef double convert_number(object value, str name) except? -1.0
cdef Py_ssize_t convert_count(object value, str name) except -1
cdef bint convert_flag(object value, str name) except -1
cdef Py_ssize_t convert_label(object value, str name, bint two) except -1
cdef int refuse(int status, str what) except -1
cpdef int refuse_non_finite(np.ndarray array, str name) except -1
cpdef double real_number(object value, str name) except? -1.0
cpdef object whole_number(object value, str name)
# A number in (0, 1]; a whole number >= 1.
cdef double as_share(object value, str name) except -1.0
cdef Py_ssize_t as_size(object value, str name) except -1
cpdef np.ndarray reals(object value, str name, int ndim, bint floats=*)
# A finite vector, of length n where that is >= 0, to go with `other`.
cpdef np.ndarray finite_vector(object value, str name, Py_ssize_t n, str other)
# Indices, n of them where that is >= 0; labels below k, of which two may be True and False; flags.
cpdef np.ndarray indices_of(object value, str name, Py_ssize_t n=*, str other=*)
cdef np.ndarray mask_of(object value, str name)
cpdef np.ndarray labels_of(object value, str name, Py_ssize_t n, Py_ssize_t k, bint two)
cpdef np.ndarray flags_of(object value, str name, Py_ssize_t n, str other=*)
cdef np.ndarray new_vector(Py_ssize_t n)
cdef np.ndarray new_indices(Py_ssize_t n)
cdef bint is_sparse(object value)
cpdef np.ndarray plain(object value, str name)
cpdef object numeric(object value, str name, int ndim)
cpdef int refuse_masked(object value, str name) except -1
# Memory: every size is multiplied by these, which refuse what overflows.
cdef void *take_scratch(Py_ssize_t count, size_t size) except? NULL
cdef Py_ssize_t product_of(Py_ssize_t a, Py_ssize_t b, str what) except -1
cdef double *new_doubles(Py_ssize_t rows, Py_ssize_t each, str what) except NULL
cdef int refuse_length(Py_ssize_t got, str name, Py_ssize_t expected, str other) except -1

cdef extern from *:
    """
    /* one-dimensional, of this type, native, aligned, contiguous: usable through its pointer */
    static int cf_is_plain(PyObject *o, int type)
    {
        if (!PyArray_CheckExact(o))
            return 0;
        PyArrayObject *a = (PyArrayObject *)o;
        return PyArray_NDIM(a) == 1 && PyArray_TYPE(a) == type && PyArray_ISCARRAY_RO(a);
    }

    /* two-dimensional, float64 or (floats) float32, native, aligned, rows contiguous */
    static int cf_has_plain_rows(PyObject *o, int floats)
    {
        if (!PyArray_CheckExact(o))
            return 0;
        PyArrayObject *a = (PyArrayObject *)o;
        if (PyArray_NDIM(a) != 2 || !PyArray_ISBEHAVED_RO(a))
            return 0;
        if (PyArray_TYPE(a) != NPY_DOUBLE && !(floats && PyArray_TYPE(a) == NPY_FLOAT))
            return 0;
        npy_intp size = PyArray_ITEMSIZE(a);
        return (PyArray_DIM(a, 1) <= 1 || PyArray_STRIDE(a, 1) == size) &&
               (PyArray_DIM(a, 0) <= 1 || PyArray_STRIDE(a, 0) % size == 0);
    }

    /* items from row to row, at least the row's length where there is but one row */
    static npy_intp cf_row_stride(PyArrayObject *a)
    {
        npy_intp width = PyArray_DIM(a, 1) > 0 ? PyArray_DIM(a, 1) : 1;
        return PyArray_DIM(a, 0) > 1 ? PyArray_STRIDE(a, 0) / PyArray_ITEMSIZE(a) : width;
    }
    """
    int is_plain "cf_is_plain" (object o, int type)
    int has_plain_rows "cf_has_plain_rows" (object o, int floats)
    Py_ssize_t row_stride "cf_row_stride" (np.ndarray a) nogil


cdef inline bint is_plain_vector(object value) noexcept:
    return is_plain(value, np.NPY_DOUBLE)


cdef inline np.ndarray as_vector(object value, str name):
    """One-dimensional float64; not checked for NaN."""
    return <np.ndarray>(value if is_plain_vector(value) else convert_array(value, name, 1, False))


cdef inline np.ndarray as_scores(object value, str name):
    """One-dimensional float64 or float32; not checked for NaN."""
    return <np.ndarray>(value if (is_plain_vector(value) or is_plain(value, np.NPY_FLOAT))
                        else convert_array(value, name, 1, True))


cdef inline np.ndarray as_rows(object value, str name):
    """Two-dimensional float64 or float32 with contiguous rows; not checked for NaN."""
    return <np.ndarray>(value if has_plain_rows(value, 1) else convert_rows(value, name))


cdef inline np.ndarray as_square(object value, str name):
    """Square float64 with contiguous rows that do not overlap; not checked for NaN."""
    if has_plain_rows(value, 0):
        array = <np.ndarray>value
        if (np.PyArray_DIM(array, 0) == np.PyArray_DIM(array, 1)
                and row_stride(array) >= np.PyArray_DIM(array, 1)):
            return array
    return <np.ndarray>convert_square(value, name)


cdef inline double as_number(object value, str name) except? -1.0:
    """A finite float."""
    cdef double number
    if type(value) is float:
        number = <double>value
        if number - number == 0.0:
            return number
    return convert_number(value, name)


cdef inline double as_positive(object value, str name) except -1.0:
    """A finite float > 0."""
    cdef double number = as_number(value, name)
    if number <= 0.0:
        raise ValueError(f"{name} must be > 0, got {number}")
    return number


cdef inline Py_ssize_t as_count(object value, str name) except -1:
    """A whole number >= 0."""
    cdef long count
    cdef int overflow = 0
    if type(value) is int:
        count = PyLong_AsLongAndOverflow(value, &overflow)
        if count >= 0 and overflow == 0:
            return count
    return convert_count(value, name)


cdef inline bint as_flag(object value, str name) except -1:
    """True or False, also said by 1 and 0 or 1 and -1."""
    if value is True:
        return True
    if value is False:
        return False
    return convert_flag(value, name)


cdef inline Py_ssize_t as_label(object value, str name, bint two) except -1:
    """A label >= 0; two: True and False are labels as well."""
    return as_count(value, name) if type(value) is int else convert_label(value, name, two)


cdef struct Matrix:
    # Rows of float64 or (floats) float32 in memory that others own, `step` numbers apart.
    Py_ssize_t n, d, step
    bint floats
    const char *rows


cdef inline Matrix matrix_of(np.ndarray a) noexcept:
    """Of what `as_rows` gave."""
    cdef Matrix x
    x.n, x.d, x.step = np.PyArray_DIM(a, 0), np.PyArray_DIM(a, 1), row_stride(a)
    x.floats = np.PyArray_TYPE(a) == np.NPY_FLOAT
    x.rows = <const char *>np.PyArray_DATA(a)
    return x

# Raises where a row of this array is not finite, now or when it was looked at
cdef int refuse_bad_matrix(np.ndarray array, const Matrix *x, str name) except -1
cdef void scores_of(const Matrix *x, const double *w, double *out) noexcept nogil
# out += a times the weighted rows that the first m places of a ranking name
cdef void add_features(Py_ssize_t m, const Matrix *x, const ptrdiff_t *ranking, double a,
                       const double *weight, double *out) noexcept nogil


cdef inline double *data_of(np.ndarray array) noexcept nogil:
    return <double *>np.PyArray_DATA(array)
