"""What the metrics share; see _rows.pxd."""

import numpy

cimport numpy as np

from coactive_fast._arrays cimport as_vector, refuse_length
from coactive_fast._guard cimport Guard

np.import_array()


cdef class Metric:
    """What every metric has: copies by way of its `state`."""

    def __cinit__(self):
        self.guard = Guard()

    def copy(self):
        """An independent copy.

        Returns
        -------
        Full, Diagonal or Dual
        """
        return type(self).from_state(self.state())

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __reduce__(self):
        return type(self).from_state, (self.state(),)


cdef class SparseRow:
    pass


cdef bint is_sparse(object x):
    return hasattr(x, "toarray") and hasattr(x, "nnz")


cdef SparseRow sparse_row(object x, str name, Py_ssize_t n):
    """The entries of a scipy.sparse matrix with one row, repeated indices added up."""
    cdef SparseRow row = SparseRow()
    shape = x.shape
    if len(shape) > 2 or (len(shape) == 2 and shape[0] != 1):
        raise ValueError(f"{name} must be one row, got shape {shape}")
    if shape[-1] != n:
        refuse_length(shape[-1], name, n, "the metric")
    csr = x.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    index = csr.indices
    if index.dtype not in (numpy.int32, numpy.int64):
        index = index.astype(numpy.int64)
    if index.size and not (index[0] >= 0 and index[-1] < n and (numpy.diff(index) > 0).all()):
        raise ValueError(f"{name} must have column indices in 0 ... {n - 1}")
    row.index = numpy.ascontiguousarray(index)
    row.value = as_vector(csr.data, name)
    row.nnz = index.size
    row.wide = index.dtype == numpy.int64
    return row


cdef np.ndarray dense_row(object x, str name, Py_ssize_t n):
    """A float64 vector of length n."""
    cdef np.ndarray v
    if not isinstance(x, np.ndarray) and is_sparse(x):
        row = sparse_row(x, name, n)
        dense = numpy.zeros(n)
        dense[row.index] = row.value
        return <np.ndarray>dense
    v = as_vector(x, name)
    if np.PyArray_DIM(v, 0) != n:
        refuse_length(np.PyArray_DIM(v, 0), name, n, "the metric")
    return v


cdef int check_state(object state, int number, tuple fields) except -1:
    if not isinstance(state, dict):
        raise TypeError(f"state must be a dict, got {type(state).__name__}")
    if state.get("format") != number:
        raise ValueError(f"state must have format {number}, got {state.get('format')!r}")
    missing = [name for name in fields if name not in state]
    if missing:
        raise ValueError(f"state must hold {missing[0]!r}")
    return 0
