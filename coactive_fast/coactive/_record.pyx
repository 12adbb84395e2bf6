"""A rule that learns nothing and writes every round's Delta down.

For a batch that is spread over machines: the weights stay during a batch, so each part of it can
be played anywhere, and whoever has the learner adds the Deltas in the batch's order.
"""

cimport numpy as np
from libc.stddef cimport size_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport as_vector, data_of
from coactive_fast._table cimport CF_EVALUE, CF_OK
from coactive_fast.coactive._rules cimport Rule

np.import_array()


cdef class Record(Rule):
    """Keeps `weights`; round t writes its Delta into row t of `out`.

    Parameters
    ----------
    weights : ndarray of shape (N,), or (0,) for zeros
    out : ndarray of float64, C-contiguous, shape (rounds, N)
    """

    cdef np.ndarray weights
    cdef np.ndarray out

    def __init__(self, weights, np.ndarray out):
        self.weights = as_vector(weights, "weights")
        self.out = out

    cdef int start(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t have = np.PyArray_DIM(self.weights, 0)
        if n != np.PyArray_DIM(self.out, 1) or (have and have != n):
            raise ValueError(f"weights must have length {n} to go with data, got {have}")
        Rule.start(self, n)
        memcpy(self.w, data_of(self.weights), <size_t>have * sizeof(double))
        return 0

    cdef int step(self, const double *delta) noexcept nogil:
        if self.rounds >= np.PyArray_DIM(self.out, 0):
            return CF_EVALUE
        memcpy(data_of(self.out) + self.rounds * self.n, delta, <size_t>self.n * sizeof(double))
        self.rounds += 1
        return CF_OK
