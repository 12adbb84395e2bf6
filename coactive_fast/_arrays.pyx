"""Arguments as arrays; see _arrays.pxd."""

import operator

import numpy

cimport numpy as np
from libc.stddef cimport size_t

from coactive_fast._table cimport cf_get_library, cf_get_table, cf_table

from coactive_fast._memory import refuse_beyond_limit

np.import_array()

cdef const cf_table *K = cf_get_table()

cdef Py_ssize_t MOST_NUMBERS = <Py_ssize_t>1 << 56  # in one piece of memory

cdef enum:
    LARGE = 1 << 20  # items of scratch from which on the limit of memory is asked


cdef bint is_sparse(object value):
    """A scipy.sparse matrix or array of any format; nothing of the object itself is asked."""
    cdef object kind = type(value)
    return (not isinstance(value, numpy.ndarray) and hasattr(kind, "toarray")
            and hasattr(kind, "nnz"))


cpdef int refuse_masked(object value, str name) except -1:
    if isinstance(value, numpy.ma.MaskedArray):
        raise ValueError(f"{name} must not be a masked array: what is masked is no number, "
                         "fill or leave out those rows first")
    return 0


cpdef np.ndarray plain(object value, str name):
    """An array of real numbers of any dtype, strides and dimensions; nothing is masked."""
    refuse_masked(value, name)
    try:
        array = numpy.asarray(value)
    except (ValueError, TypeError) as error:
        raise TypeError(f"{name} must be an array of real numbers: {error}") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}")
    return <np.ndarray>array


cpdef object numeric(object value, str name, int ndim):
    """An array of real numbers with so many dimensions, or an error that names the argument."""
    if is_sparse(value):
        raise TypeError(f"{name} must be a dense array, got a scipy.sparse {type(value).__name__}")
    array = <object>plain(value, name)
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension{'s' if ndim > 1 else ''}, "
                         f"got shape {array.shape}")
    return array


cdef object convert_array(object value, str name, int ndim, bint floats):
    array = numeric(value, name, ndim)
    kind = numpy.float32 if floats and array.dtype == numpy.float32 else numpy.float64
    return numpy.require(array, kind, ["C", "A", "E"])


cdef object convert_square(object value, str name):
    array = numeric(value, name, 2)
    if array.shape[0] != array.shape[1]:
        raise ValueError(f"{name} must be square, got shape {array.shape}")
    return convert_array(array, name, 2, False)


cdef double convert_number(object value, str name) except? -1.0:
    refuse_masked(value, name)
    try:
        given = numpy.asarray(value)
    except (TypeError, ValueError, OverflowError):
        given = numpy.empty((), object)
    if given.dtype.kind not in "biuf" or given.ndim:  # the numbers of Python and of NumPy
        raise TypeError(f"{name} must be a real number, got {type(value).__name__}")
    number = float(given)
    if not numpy.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    return number


cdef Py_ssize_t convert_count(object value, str name) except -1:
    """A whole number >= 0; one beyond the range of an index is as good as the largest."""
    if isinstance(value, (bool, numpy.bool_)):
        raise TypeError(f"{name} must be an integer, got a bool")
    refuse_masked(value, name)
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}") from None
    if count < 0:
        raise ValueError(f"{name} must be >= 0, got {count}")
    return min(count, numpy.iinfo(numpy.intp).max)


cdef bint convert_flag(object value, str name) except -1:
    """1 and 0, 1 and -1 count as True and False."""
    if isinstance(value, (numpy.bool_, int, float, numpy.integer, numpy.floating)):
        if value == 1:
            return True
        if value == 0 or value == -1:
            return False
    raise TypeError(f"{name} must be True or False (or 1 or 0, 1 or -1), got {value!r}")


cdef Py_ssize_t convert_label(object value, str name, bint two) except -1:
    """A whole number of any kind; where two labels are meant True and False too."""
    if isinstance(value, (bool, numpy.bool_)) and two:
        return 1 if value else 0
    if isinstance(value, (float, numpy.floating)):
        if not value == numpy.floor(value) or abs(value) > 2.0 ** 53:
            raise ValueError(f"{name} must be a whole number, got {value!r}")
        value = int(value)
    return convert_count(value, name)


cdef int refuse(int status, str what) except -1:
    """Raises what a status of the C library stands for."""
    cdef const char *message = cf_get_library().status_message(status)
    cdef const char *kind = cf_get_library().status_exception(status)
    errors = {"MemoryError": MemoryError, "ValueError": ValueError,
              "ArithmeticError": ArithmeticError}
    raise errors.get(kind.decode(), RuntimeError)(f"{what}: {message.decode()}")


cdef int refuse_non_finite(np.ndarray array, str name) except -1:
    """Raises if the array holds NaN or infinity; 0 if the fault lies elsewhere."""
    if not numpy.isfinite(array).all():
        where = tuple(int(i) for i in numpy.argwhere(~numpy.isfinite(array))[0])
        raise ValueError(f"{name} must be finite, got {array[where]} at index "
                         f"{where[0] if len(where) == 1 else where}")
    return 0


cpdef np.ndarray finite_vector(object value, str name, Py_ssize_t n, str other):
    cdef np.ndarray v = as_vector(value, name)
    if n >= 0 and np.PyArray_DIM(v, 0) != n:
        refuse_length(np.PyArray_DIM(v, 0), name, n, other)
    if not K.all_finite(np.PyArray_DIM(v, 0), data_of(v)):
        refuse_non_finite(v, name)
    return v


cdef int refuse_length(Py_ssize_t got, str name, Py_ssize_t expected, str other) except -1:
    raise ValueError(f"{name} must have length {expected} to go with {other}, got {got}")


cdef bint finite_rows(const Matrix *x) noexcept nogil:
    cdef Py_ssize_t n = x.n, d = x.d, i
    if x.step == d:
        d, n = n * d, 1
    for i in range(n):
        if x.floats:
            if not K.all_finite_f32(d, <const float *>x.rows + i * x.step):
                return False
        elif not K.all_finite(d, <const double *>x.rows + i * x.step):
            return False
    return True


cdef void scores_of(const Matrix *x, const double *w, double *out) noexcept nogil:
    if x.floats:
        K.scores_f32(x.n, x.d, <const float *>x.rows, x.step, w, out)
    else:
        K.scores(x.n, x.d, <const double *>x.rows, x.step, w, out)


cdef void add_features(Py_ssize_t m, const Matrix *x, const ptrdiff_t *ranking, double a,
                       const double *weight, double *out) noexcept nogil:
    if x.floats:
        K.features_f32(m, x.d, <const float *>x.rows, x.step, ranking, a, weight, out)
    else:
        K.features(m, x.d, <const double *>x.rows, x.step, ranking, a, weight, out)


cdef np.ndarray new_vector(Py_ssize_t n):
    cdef np.npy_intp shape = n
    return <np.ndarray>np.PyArray_EMPTY(1, &shape, np.NPY_DOUBLE, 0)


cdef np.ndarray new_indices(Py_ssize_t n):
    cdef np.npy_intp shape = n
    return <np.ndarray>np.PyArray_EMPTY(1, &shape, np.NPY_INTP, 0)


cdef void *take_scratch(Py_ssize_t count, size_t size) except? NULL:
    """Scratch of the library, to be given back with cf_library.free; NULL for none. A count below
    0 is one that overflowed."""
    cdef void *block
    if count == 0:
        return NULL
    if count < 0 or count > LARGE:
        product_of(count, <Py_ssize_t>size, "scratch")
        refuse_beyond_limit(<double>count * size, "scratch", "smaller arguments take less")
    block = cf_get_library().alloc(<size_t>count, size)
    if block == NULL:
        raise MemoryError(f"{count} times {size} bytes of scratch")
    return block


cdef Py_ssize_t product_of(Py_ssize_t a, Py_ssize_t b, str what) except -1:
    """a b; a `MemoryError` where no memory could hold so many numbers (a sum that overflowed on the
    way here is below 0)."""
    if a < 0 or b < 0 or (a > 0 and b > MOST_NUMBERS // a):
        raise MemoryError(f"{what}: {a} times {b} numbers are more than any memory holds")
    return a * b


cdef double *new_doubles(Py_ssize_t rows, Py_ssize_t each, str what) except NULL:
    """Zeros on a line of memory, to be given back with cf_library.free."""
    cdef Py_ssize_t count = product_of(rows, each, what)
    refuse_beyond_limit(8.0 * count, what, "fewer take less")
    cdef double *block = <double *>cf_get_library().alloc_zero(<size_t>count, sizeof(double))
    if block == NULL:
        raise MemoryError(f"{8 * count} bytes for {what}")
    return block
