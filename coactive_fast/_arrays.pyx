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
    BLOCK = 1 << 18  # numbers that are looked at in one go: they stay in the cache

cdef object MOST = numpy.iinfo(numpy.intp).max


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


cdef object array_of(object value, str name, str kinds, str what):
    """An array of `what`, as the kinds of NumPy's dtypes have it; nothing is masked. An empty one
    has no dtype of its own."""
    refuse_masked(value, name)
    try:
        array = numpy.asarray(value)
    except (ValueError, TypeError) as error:
        raise TypeError(f"{name} must be an array of {what}: {error}") from None
    if array.dtype.kind not in kinds and array.size:
        raise TypeError(f"{name} must hold {what}, got dtype {array.dtype}")
    return array


cpdef np.ndarray plain(object value, str name):
    """An array of real numbers of any dtype, strides and dimensions; nothing is masked."""
    return <np.ndarray>array_of(value, name, "fiub", "real numbers")


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
    with numpy.errstate(over="ignore"):  # a long double beyond float64 becomes infinite
        return numpy.require(array, kind, ["C", "A", "E"])


cpdef np.ndarray reals(object value, str name, int ndim, bint floats=False):
    """A finite C-contiguous array, the given one where it is such: float64 or (floats) float32
    where it is that."""
    cdef np.ndarray array = <np.ndarray>convert_array(value, name, ndim, floats)
    if np.PyArray_TYPE(array) == np.NPY_FLOAT or not K.all_finite(np.PyArray_SIZE(array),
                                                                  data_of(array)):
        refuse_non_finite(array, name)
    return array


cdef object convert_rows(object value, str name):
    array = numeric(value, name, 2)  # of a subclass, a memory map say, the plain array
    return array if has_plain_rows(array, 1) else convert_array(array, name, 2, True)


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


cpdef double real_number(object value, str name) except? -1.0:
    """`as_number` for Python modules."""
    return as_number(value, name)


cpdef object whole_number(object value, str name):
    """An integer of Python's; no bool, no float."""
    if isinstance(value, (bool, numpy.bool_)):
        raise TypeError(f"{name} must be an integer, got a bool")
    refuse_masked(value, name)
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}") from None


cdef Py_ssize_t convert_count(object value, str name) except -1:
    """A whole number >= 0; one beyond the range of an index is as good as the largest."""
    count = whole_number(value, name)
    if count < 0:
        raise ValueError(f"{name} must be >= 0, got {count}")
    return min(count, MOST)


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


cdef double as_share(object value, str name) except -1.0:
    cdef double share = as_number(value, name)
    if not 0.0 < share <= 1.0:
        raise ValueError(f"{name} must be in (0, 1], got {share}")
    return share


cdef Py_ssize_t as_size(object value, str name) except -1:
    cdef Py_ssize_t size = as_count(value, name)
    if size == 0:
        raise ValueError(f"{name} must be >= 1, got 0")
    return size


# --- indices, labels and flags, one for each of many rows ------------------------------------


cpdef np.ndarray indices_of(object value, str name, Py_ssize_t n=-1, str other=""):
    """One-dimensional contiguous intp, n of them where that is >= 0; the caller's own array where
    it is that."""
    if is_plain(value, np.NPY_INTP) and (n < 0 or np.PyArray_DIM(<np.ndarray>value, 0) == n):
        return <np.ndarray>value
    given = array_of(value, name, "iu", "integers")
    if given.ndim != 1:
        raise ValueError(f"{name} must have 1 dimension, got shape {given.shape}")
    if given.dtype.kind == "u" and given.max(initial=0) > MOST:
        raise ValueError(f"{name} must lie below 2**63, got {given.max()}")
    if n >= 0 and given.size != n:
        refuse_length(given.size, name, n, other)
    return <np.ndarray>numpy.ascontiguousarray(given, dtype=numpy.intp)


cpdef np.ndarray labels_of(object value, str name, Py_ssize_t n, Py_ssize_t k, bint two):
    """Labels 0 ... k - 1, one for each of n rows, as contiguous intp: whole numbers of any kind;
    where two labels are meant True and False too."""
    given = column_of(value, name, n, "labels", "X")
    if given.dtype.kind == "b" and not two:
        raise TypeError(f"{name} must hold labels in 0 ... {k - 1}, got True and False")
    if given.dtype.kind == "f":
        wrong = given[given != numpy.floor(given)]  # NaN is no whole number either
        if wrong.size:
            raise ValueError(f"{name} must hold whole numbers, got {wrong[0]}")
    if n and not (given.min() >= 0 and given.max() < k):
        raise ValueError(f"{name} must hold labels in 0 ... {k - 1}, got "
                         f"{given.min() if given.min() < 0 else given.max()}")
    return <np.ndarray>numpy.ascontiguousarray(given, dtype=numpy.intp)


cpdef np.ndarray flags_of(object value, str name, Py_ssize_t n, str other="X"):
    """Booleans, one for each of n rows: True and False, 1 and 0, or 1 and -1."""
    given = column_of(value, name, n, "True and False", other)
    if given.dtype.kind == "b":
        return <np.ndarray>numpy.ascontiguousarray(given)
    low = -1 if (given < 0).any() else 0
    wrong = given[(given != 1) & (given != low)]
    if wrong.size:
        raise ValueError(f"{name} must hold True and False, 1 and 0, or 1 and -1, got {wrong[0]}"
                         + (" and -1" if low and wrong[0] == 0 else ""))
    return <np.ndarray>(given == 1)


cdef object column_of(object value, str name, Py_ssize_t n, str what, str other):
    """n real numbers of any kind, also as a table of one column."""
    given = array_of(value, name, "biuf", what)
    if given.size == 0:
        given = given.astype(numpy.intp)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1:
        raise ValueError(f"{name} must have 1 dimension, got shape {given.shape}")
    if given.size != n:
        refuse_length(given.size, name, n, other)
    return given


cdef np.ndarray mask_of(object value, str name):
    """True and False of any shape, contiguous; numbers do not count as such."""
    if isinstance(value, numpy.ma.MaskedArray):
        raise ValueError(f"{name} must not be a masked array")
    given = array_of(value, name, "b", "True and False")
    return <np.ndarray>numpy.ascontiguousarray(given, dtype=bool)


# --- errors -----------------------------------------------------------------------------------


cdef int refuse(int status, str what) except -1:
    """Raises what a status of the C library stands for."""
    cdef const char *message = cf_get_library().status_message(status)
    cdef const char *kind = cf_get_library().status_exception(status)
    errors = {"MemoryError": MemoryError, "ValueError": ValueError,
              "ArithmeticError": ArithmeticError}
    raise errors.get(kind.decode(), RuntimeError)(f"{what}: {message.decode()}")


cpdef int refuse_non_finite(np.ndarray array, str name) except -1:
    """Raises if the array holds NaN or infinity; 0 if the fault lies elsewhere."""
    cdef Py_ssize_t n = len(array), step = max(1, BLOCK * n // max(1, array.size)), t
    for t in range(0, n, step):
        good = numpy.isfinite(array[t:t + step])
        if not good.all():
            first, *rest = numpy.argwhere(~good)[0].tolist()
            where = (first + t, *rest)
            raise ValueError(f"{name} must be finite, got {array[where]} at index "
                             f"{where if rest else first + t}")
    return 0


cdef int refuse_bad_matrix(np.ndarray array, const Matrix *x, str name) except -1:
    if not finite_rows(x):
        refuse_non_finite(array, name)
        raise ValueError(f"{name} was changed while it was read")
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
