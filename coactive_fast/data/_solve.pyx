"""Ridge regressions, one a row of a rating matrix: the inner loop of `factorize`.

A row's features are gathered SEGMENT at a time, which stay in the first cache and are so few that
BLAS starts no threads for them; their products are summed by dsyrk and dgemv, the system is solved
by dposv. About count * rank^2 + rank^3 / 3 flops a row, and no allocation.
"""

import numpy

cimport numpy as np
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport dgemv, dsyrk
from scipy.linalg.cython_lapack cimport dposv

from coactive_fast._arrays cimport data_of

np.import_array()

cdef enum:
    SEGMENT = 64


def solve_rows(np.ndarray starts, np.ndarray places, np.ndarray values, np.ndarray others,
               double weight, np.ndarray out, Py_ssize_t begin, Py_ssize_t end):
    """Rows begin ... end of `out` from the other side's features.

    Parameters
    ----------
    starts, places : ndarray of intp
        As in CSR: where rows begin, and whom they rate.
    values : ndarray of float64
    others : ndarray of float64, C-contiguous, shape (m, rank)
    weight : float
        Regularisation, times the number of a row's ratings.
    out : ndarray of float64, C-contiguous, shape (n, rank)
        Rows without ratings are left as they are.
    """
    cdef int rank = <int>np.PyArray_DIM(others, 1), info = 0
    cdef np.ndarray room = numpy.empty(rank * rank + SEGMENT * rank)
    cdef double *gram = data_of(room)
    cdef const double *features = data_of(others)
    cdef const double *rated = data_of(values)
    cdef const Py_ssize_t *first = <const Py_ssize_t *>np.PyArray_DATA(starts)
    cdef const Py_ssize_t *place = <const Py_ssize_t *>np.PyArray_DATA(places)
    cdef double *x = data_of(out)
    cdef Py_ssize_t i
    with nogil:
        for i in range(begin, end):
            if first[i + 1] > first[i]:
                info = one(rank, first[i + 1] - first[i], place + first[i], rated + first[i],
                           features, weight, gram, gram + rank * rank, x + i * rank)
                if info != 0:
                    break
    if info != 0:
        raise numpy.linalg.LinAlgError(f"the features of row {i} overflow")


cdef int one(int rank, Py_ssize_t count, const Py_ssize_t *place, const double *rated,
             const double *features, double weight, double *gram, double *some,
             double *x) noexcept nogil:
    """One row's system, made and solved; LAPACK's info."""
    cdef double alpha = 1.0, beta = 0.0
    cdef int part, step = 1, info
    cdef Py_ssize_t at = 0, j
    while at < count:
        part = <int>min(SEGMENT, count - at)
        for j in range(part):
            memcpy(some + j * rank, features + place[at + j] * rank, rank * sizeof(double))
        # row-major (part, rank) is column-major (rank, part)
        dsyrk("L", "N", &rank, &part, &alpha, some, &rank, &beta, gram, &rank)
        dgemv("N", &rank, &part, &alpha, some, &rank, <double *>(rated + at), &step, &beta, x,
              &step)
        beta = 1.0
        at += part
    for j in range(rank):
        gram[j * rank + j] += weight * count
    dposv("L", &rank, &step, gram, &rank, x, &rank, &info)
    return info
