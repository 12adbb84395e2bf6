# What the metrics share: the lock, copies, rows of input, dense or scipy.sparse, and the look at
# a state.

cimport numpy as np

from coactive_fast._arrays cimport as_number, data_of, row_stride
from coactive_fast._guard cimport Guard

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


cdef class SparseRow:
    # Indices strictly ascending and in range, one value each; both arrays owned here.
    cdef np.ndarray index     # int32 or int64
    cdef np.ndarray value     # float64
    cdef Py_ssize_t nnz
    cdef Py_ssize_t width     # of the row it stands for
    cdef bint wide            # int64

cdef bint is_sparse(object x)
# None where x is not sparse; n may be ANY
cdef SparseRow sparse_row(object x, str name, Py_ssize_t n)
# x as a float64 vector of length n, or ANY; not checked for NaN
cdef np.ndarray dense_row(object x, str name, Py_ssize_t n)
# CSR with the indices of each row strictly ascending and in range: indptr int64, index int32 or
# int64, value float64; all finite
cdef tuple sparse_rows(object X, str name, Py_ssize_t n)

cdef inline const double *row_at(np.ndarray x, Py_ssize_t t, double *buffer) noexcept nogil:
    """Row t of what as_rows gave in float64: where it is, or widened into the buffer."""
    cdef Py_ssize_t at = t * row_stride(x), i
    cdef const float *narrow = <const float *>np.PyArray_DATA(x)
    if np.PyArray_TYPE(x) != np.NPY_FLOAT:
        return data_of(x) + at
    for i in range(np.PyArray_DIM(x, 1)):
        buffer[i] = narrow[at + i]
    return buffer

# c > 0, one number a row
cdef np.ndarray as_weights(object c, Py_ssize_t rows)
cdef int refuse_weight(double c) except -1

cdef inline double as_weight(object c) except -1.0:
    """A finite c > 0."""
    cdef double weight = as_number(c, "c")
    if weight <= 0.0:
        refuse_weight(weight)
    return weight

cdef double as_ridge(object ridge) except -1.0
cdef Py_ssize_t as_order(object n, str name) except -1

# state must be a dictionary of this format that has these fields; else an error that says so.
cdef int check_state(object state, int number, tuple fields) except -1
# a field of a state: float64, contiguous, of this length, finite
cdef np.ndarray state_vector(dict state, str name, Py_ssize_t length, str other)
