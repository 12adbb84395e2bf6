# What the metrics share: one row of input, dense or scipy.sparse, and the look at a state.

cimport numpy as np

from coactive_fast._guard cimport Guard


cdef class Metric:
    # What every metric has: its lock, and copies by way of state() and from_state().
    cdef Guard guard


cdef class SparseRow:
    # Indices strictly ascending and in range, one value each; both arrays owned here.
    cdef np.ndarray index     # int32 or int64
    cdef np.ndarray value     # float64
    cdef Py_ssize_t nnz
    cdef bint wide            # int64

cdef bint is_sparse(object x)
cdef SparseRow sparse_row(object x, str name, Py_ssize_t n)
cdef np.ndarray dense_row(object x, str name, Py_ssize_t n)

# state must be a dictionary of this format that has these fields; else an error that says so.
cdef int check_state(object state, int number, tuple fields) except -1
