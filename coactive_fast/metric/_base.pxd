# What the metrics share: the lock, copies, arguments, and the look at a state.

cimport numpy as np
from libc.stdint cimport int64_t

from coactive_fast._arrays cimport as_number, data_of, row_stride
from coactive_fast._guard cimport Guard
from coactive_fast._table cimport cf_full, cf_past, cf_row
from coactive_fast.learner._state cimport State
from coactive_fast.rows._rows cimport RowBuffer, Rows


cdef enum:
    ANY = -1         # as a number of features: whatever x has


cdef class Metric:
    # What every metric has: its lock, and copies by way of state() and from_state().
    # Invariant: the lock is closed until `made()`: an object whose __init__ did not run, or did
    # not end, refuses every call before it looks at memory.
    cdef Guard guard

    cdef int unmade(self) except -1
    cdef int made(self) except -1
    cdef int fill(self, dict state) except -1


cdef class Entries(Metric):
    cdef type kind(self)
    cdef Py_ssize_t _order(self) except -1
    # With the lock of a changing method held: what `other`, a copy of the same kind, n and ridge,
    # has learned is taken in.
    cdef int join(self, Entries other) except -1
    # Rows of standard normal numbers become rows with covariance A^-1.
    cdef int spread(self, np.ndarray z) except -1

# x as it lies; what `row` points at lives as long as the buffer. n features, or ANY. CF_ROW_NULL
# where all its values are 0.
cdef int row_in(object x, str name, Py_ssize_t n, RowBuffer buffer, cf_row *row) except -1
# x written out as a float64 vector of length n; not checked for NaN
cdef np.ndarray dense_row(object x, str name, Py_ssize_t n)
# A dense table with n columns, float64 or float32 with contiguous rows; not checked for NaN
cdef np.ndarray dense_rows(object X, str name, Py_ssize_t n)
# A table with n columns, or a list of pairs (indices, values)
cdef Rows rows_in(object X, str name, Py_ssize_t n)
# Other values in the places of a sparse row x, of the kind of x: CSR array or matrix, or a pair.
cdef object row_like(object x, const cf_row *row, np.ndarray value)
# (data, indices, indptr) as a CSR matrix where X is a sparse matrix, else as an array
cdef object table_like(object X, tuple parts, tuple shape)

cdef inline const double *row_at(np.ndarray x, Py_ssize_t t, double *buffer) noexcept nogil:
    """Row t of what dense_rows gave: where it is, or widened into the buffer."""
    cdef Py_ssize_t at = t * row_stride(x), i
    cdef const float *narrow = <const float *>np.PyArray_DATA(x)
    if np.PyArray_TYPE(x) != np.NPY_FLOAT:
        return data_of(x) + at
    for i in range(np.PyArray_DIM(x, 1)):
        buffer[i] = narrow[at + i]
    return buffer

# one number a row, finite and not 0
cdef np.ndarray as_weights(object c, Py_ssize_t rows)
cdef int refuse_weight(double c, str expected) except -1

cdef inline double as_weight(object c) except? -1.0:
    """A finite c > 0."""
    cdef double weight = as_number(c, "c")
    if weight <= 0.0:
        refuse_weight(weight, "> 0")
    return weight

cdef inline double as_change(object c) except? -1.0:
    """A finite c that is not 0."""
    cdef double weight = as_number(c, "c")
    if weight == 0.0:
        refuse_weight(weight, "not 0")
    return weight

cdef double as_factor(object f) except -1.0
cdef double as_ridge(object ridge) except -1.0
# The code of a precision ("auto", "fast", "robust") in cf_full.h
cdef int code_of(object precision) except -1
cdef Py_ssize_t as_order(object n, str name) except -1

# One of the numbers of a state, > 0.
cdef double positive(State state, str name) except -1.0


cdef class Stored(Entries):
    # Invariant: `core` points into `memory`; `scratch` is used by changing methods only. What is
    # in `core` is A / past.scale: who works on it himself has to know (cf_past.h).
    cdef cf_full core
    cdef cf_past past
    cdef double *memory
    cdef double *scratch
    cdef object __weakref__

    cdef int _make(self, object n, object ridge, object precision) except -1
    cdef int _take(self, Py_ssize_t n) except -1
    cdef double *_borrow(self, Py_ssize_t doubles=*) except NULL
    cdef void _count_from(self, int64_t updates) noexcept
    cdef np.ndarray _memory(self)
    cdef int _check_memory(self) except -1
    cdef bint _is_factor(self) noexcept
    cdef str _form(self)
    # The precision that its owner asks for, of a metric that was read from a state.
    cdef int _ask_for(self, int precision) except -1

# The metric of this class with a symmetric matrix, or an error that names where it came from.
cdef Stored placed(type kind, np.ndarray matrix, double ridge, object precision, str name)
