"""What the metrics share; see _rows.pxd."""

import copy

import numpy

cimport numpy as np

from coactive_fast._arrays cimport (
    as_count, as_number, as_vector, refuse_length, refuse_non_finite,
)
from coactive_fast._guard cimport Guard

np.import_array()


cdef class Metric:
    """What every metric has: copies by way of its `state`."""

    def __cinit__(self):
        self.guard = Guard()
        self.guard.close(f"{type(self).__name__} was not made: its __init__ did not run")

    cdef int unmade(self) except -1:
        """At the start of __init__, which runs once: other threads may be at work already."""
        if self.guard.closed is None:
            raise RuntimeError(f"{type(self).__name__}.__init__ runs once only")
        return 0

    cdef int made(self) except -1:
        return self.guard.open()

    cdef int fill(self, dict state) except -1:
        """The state into an object that __init__ has not run on."""
        raise NotImplementedError

    @classmethod
    def from_state(cls, state):
        """The metric that `state` described.

        Parameters
        ----------
        state : dict

        Returns
        -------
        Full, Diagonal or Dual
            Of the class that is asked. The ``__init__`` of a subclass is not run.
        """
        if not isinstance(state, dict):
            raise TypeError(f"state must be a dict, got {type(state).__name__}")
        cdef Metric self = cls.__new__(cls)
        self.fill(state)
        self.made()
        return self

    def copy(self):
        """An independent copy; what a subclass has of its own is shared, as by `copy.copy`.

        Returns
        -------
        Full, Diagonal or Dual
        """
        other = type(self).from_state(self.state())
        if hasattr(self, "__dict__"):
            other.__dict__.update(self.__dict__)
        return other

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        state = {name: part if isinstance(part, np.ndarray) else copy.deepcopy(part, memo)
                 for name, part in self.state().items()}  # the arrays are copies already
        other = type(self).from_state(state)
        memo[id(self)] = other
        if hasattr(self, "__dict__"):
            other.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return other

    def __reduce__(self):
        return type(self).from_state, (self.state(),), getattr(self, "__dict__", None) or None


cdef class SparseRow:
    pass


cdef bint is_sparse(object x):
    return hasattr(x, "toarray") and hasattr(x, "nnz")


cdef object canonical(object x):
    """x as CSR, the indices of each row ascending, repeated ones added up; x stays as it is."""
    csr = x.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


cdef object whole_indices(object index):
    if index.dtype not in (numpy.int32, numpy.int64):
        index = index.astype(numpy.int64)
    return numpy.ascontiguousarray(index)


cdef SparseRow sparse_row(object x, str name, Py_ssize_t n):
    """The entries of a scipy.sparse matrix with one row, repeated indices added up."""
    if isinstance(x, np.ndarray) or not is_sparse(x):
        return None
    cdef SparseRow row = SparseRow()
    shape = x.shape
    if len(shape) > 2 or (len(shape) == 2 and shape[0] != 1):
        raise ValueError(f"{name} must be one row, got shape {shape}")
    row.width = shape[-1]
    if n != ANY and row.width != n:
        refuse_length(row.width, name, n, "the metric")
    csr = canonical(x)
    index = whole_indices(csr.indices)
    if index.size and not (index[0] >= 0 and index[-1] < row.width
                           and (numpy.diff(index) > 0).all()):
        raise ValueError(f"{name} must have column indices in 0 ... {row.width - 1}")
    row.index = index
    row.value = as_vector(csr.data, name)
    if np.PyArray_DIM(row.value, 0) != index.size:
        raise ValueError(f"{name} must have one value an index")
    row.nnz = index.size
    row.wide = index.dtype == numpy.int64
    return row


cdef np.ndarray dense_row(object x, str name, Py_ssize_t n):
    """A float64 vector of length n."""
    cdef np.ndarray v
    cdef SparseRow row
    if not isinstance(x, np.ndarray) and is_sparse(x):
        row = sparse_row(x, name, n)
        dense = numpy.zeros(row.width)
        dense[row.index] = row.value
        return <np.ndarray>dense
    v = as_vector(x, name)
    if n != ANY and np.PyArray_DIM(v, 0) != n:
        refuse_length(np.PyArray_DIM(v, 0), name, n, "the metric")
    return v


cdef tuple sparse_rows(object X, str name, Py_ssize_t n):
    if len(X.shape) != 2 or X.shape[1] != n:
        raise ValueError(f"{name} must have shape (T, {n}), got {tuple(X.shape)}")
    csr = canonical(X)
    cdef np.ndarray value = as_vector(csr.data, name)
    index, start = whole_indices(csr.indices), numpy.asarray(csr.indptr, numpy.int64)
    ascending = numpy.ones(index.size, bool)
    ascending[1:] = numpy.diff(index) > 0
    if not (start.size == X.shape[0] + 1 and start[0] == 0 and (numpy.diff(start) >= 0).all()
            and start[-1] <= index.size == value.size):
        raise ValueError(f"{name} must be a sparse matrix whose index arrays fit together")
    ascending[start[:-1][numpy.diff(start) > 0]] = True
    if index.size and not (index.min() >= 0 and index.max() < n and ascending.all()):
        raise ValueError(f"{name} must have column indices in 0 ... {n - 1}")
    refuse_non_finite(value, name)
    return start, index, value


# --- numbers ---------------------------------------------------------------------------------


cdef np.ndarray as_weights(object c, Py_ssize_t rows):
    try:
        given = numpy.asarray(c)
    except ValueError:
        raise TypeError("c must be one number or one a row of X") from None
    if given.dtype.kind not in "biuf":
        raise TypeError(f"c must hold real numbers, got dtype {given.dtype}")
    if given.ndim > 1 or (given.ndim == 1 and given.shape[0] != rows):
        raise ValueError(f"c must be one number or {rows}, one a row of X, got shape "
                         f"{given.shape}")
    cdef np.ndarray weights = numpy.empty(rows)
    weights[...] = given
    refuse_non_finite(weights, "c")
    if rows and not weights.min() > 0.0:
        refuse_weight(weights.min())
    return weights


cdef int refuse_weight(double c) except -1:
    raise ValueError(f"c must be > 0, got {c}")


cdef double as_ridge(object ridge) except -1.0:
    cdef double r = as_number(ridge, "ridge")
    if r <= 0.0 or not 1.0 / r < float("inf"):
        raise ValueError(f"ridge must be > 0 with a finite inverse, got {r}")
    return r


cdef Py_ssize_t as_order(object n, str name) except -1:
    cdef Py_ssize_t order = as_count(n, name)
    if order == 0:
        raise ValueError(f"{name} must be >= 1, got 0")
    return order


# --- states ----------------------------------------------------------------------------------


cdef int check_state(object state, int number, tuple fields) except -1:
    if not isinstance(state, dict):
        raise TypeError(f"state must be a dict, got {type(state).__name__}")
    if state.get("format") != number:
        raise ValueError(f"state must have format {number}, got {state.get('format')!r}")
    missing = [name for name in fields if name not in state]
    if missing:
        raise ValueError(f"state must hold {missing[0]!r}")
    return 0


cdef np.ndarray state_vector(dict state, str name, Py_ssize_t length, str other):
    cdef np.ndarray v = as_vector(state[name], name)
    if np.PyArray_DIM(v, 0) != length:
        refuse_length(np.PyArray_DIM(v, 0), name, length, other)
    refuse_non_finite(v, name)
    return v
