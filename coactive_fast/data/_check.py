"""Arrays as arguments: each function takes the name first and answers the array."""

import numpy as np
import scipy.sparse

from .._arrays import indices_of, refuse_masked, refuse_non_finite
from .._initialized import Initialized, _annotated
from ..learner._check import same_length as same_length
from ..rows._rows import checked_csr

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def float_dtype(name, dtype):
    """float32 or float64."""
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = None
    if kind not in FLOATS:
        raise ValueError(f"{name} must be float32 or float64, got {dtype!r}")
    return kind


def offsets(name, value, end, what, each="query", several="queries"):
    """Where groups, `each` one of `several`, begin and end: 0 < ... < end."""
    array = indices_of(value, name)
    if array.size < 2:
        raise ValueError(f"{name} must have length {several} + 1, at least 2, got {array.size}")
    if array[0] != 0 or array[-1] != end:
        raise ValueError(f"{name} must go from 0 to the number of {what}, {end}, "
                         f"got {array[0]} ... {array[-1]}")
    wrong = np.flatnonzero(array[1:] <= array[:-1])
    if wrong.size:
        i = int(wrong[0])
        raise ValueError(f"{name} must ascend (no {each} is empty), got {array[i]} and "
                         f"{array[i + 1]} for {each} {i}")
    return array


def csr(name, value, kinds=None):
    """CSR of finite numbers with sorted indices, none twice in a row; float64 where the dtype is
    none of `kinds` (None: any stays)."""
    matrix = scipy.sparse.csr_array(checked_csr(value, name))
    if kinds is not None and matrix.dtype not in kinds:
        matrix = matrix.astype(np.float64)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    refuse_non_finite(matrix.data, name)
    return matrix


def ratings(name, value):
    """CSR with sorted indices from a sparse matrix or a dense array with NaN for no rating."""
    if scipy.sparse.issparse(value):
        if len(value.shape) != 2:
            raise ValueError(f"{name} must have 2 dimensions, got shape {value.shape}")
        return csr(name, value)
    refuse_masked(value, name)
    dense = np.asarray(value)
    if dense.ndim != 2 or dense.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be a sparse matrix or a 2-D array with NaN for no "
                        f"rating, got {type(value).__name__}")
    there = ~np.isnan(dense)
    refuse_non_finite(dense[there], name)
    return scipy.sparse.csr_array((dense[there], np.nonzero(there)), dense.shape)


class ReadOnly(Initialized):
    """Base of data whose public attributes are annotated, given to `_set` once, and then read."""

    def _set(self, **attributes):
        self.__dict__.update((name, _read_only(value)) for name, value in attributes.items())

    def __setattr__(self, name, value):
        if not name.startswith("_") and name in _annotated(type(self)):
            raise AttributeError(f"{name} of {type(self).__name__} cannot be set")
        super().__setattr__(name, value)


def _read_only(value):
    """A view of an array that cannot be written to; of CSR, of its parts."""
    if scipy.sparse.issparse(value):
        parts = tuple(map(_read_only, (value.data, value.indices, value.indptr)))
        return scipy.sparse.csr_array(parts, shape=value.shape, copy=False)
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value
