# One row of input: dense, or a scipy.sparse row, for the metrics.

cimport numpy as np


cdef class SparseRow:
    # Indices strictly ascending and in range, one value each; both arrays owned here.
    cdef np.ndarray index     # int32 or int64
    cdef np.ndarray value     # float64
    cdef Py_ssize_t nnz
    cdef bint wide            # int64

cdef bint is_sparse(object x)
cdef SparseRow sparse_row(object x, str name, Py_ssize_t n)
cdef np.ndarray dense_row(object x, str name, Py_ssize_t n)
