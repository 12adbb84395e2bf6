# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Streams played in compiled code: our kernels through their table, and scipy's BLAS.

Built by compiled.py into a temporary folder; that it builds shows that a user's own Cython code
can cimport the package.
"""

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from coactive_fast cimport cf_get_table, cf_pad, cf_table, cf_triangle
from coactive_fast._table cimport (
    cf_get_library, cf_library, cf_posting, cf_posting_list, cf_postings,
)
from scipy.linalg.cython_blas cimport dsymv, dsyr

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()


def fused(double[::1] panels, double[::1] w, double[::1] v, const double[:, ::1] X, Py_ssize_t at,
          Py_ssize_t rounds, double c):
    """A += c x x^T, one pass a round: the last round's term goes in while this one's is read.

    `w` is the pending term, zero at first, zero beyond n; what is left is applied by `settle`.
    """
    cdef Py_ssize_t n = X.shape[1], padded = cf_pad(n), t, i
    cdef cf_triangle b
    cdef const double *x
    cdef double q, root
    b.data, b.n, b.ld = &panels[0], n, 0
    with nogil:
        for t in range(rounds):
            x = &X[(at + t) % X.shape[0], 0]
            K.rank_one_symv(&b, &w[0], x, &v[0])
            q = K.dot(n, x, &v[0])
            root = sqrt(1.0 / (1.0 / c + q))
            for i in range(padded):
                w[i] = root * v[i]
    return q


def settle(double[::1] panels, double[::1] w, Py_ssize_t n):
    """The pending term into the matrix."""
    cdef cf_triangle b
    b.data, b.n, b.ld = &panels[0], n, 0
    K.rank_one(&b, &w[0], &w[0])
    memset(&w[0], 0, cf_pad(n) * sizeof(double))


def upkeep(double[::1] panels, float[::1] low, double[:, ::1] block, double[::1] weight,
           const double[:, ::1] X, Py_ssize_t at, Py_ssize_t rounds):
    """A itself kept beside its inverse: rows gathered, a block at a time into the triangle."""
    cdef Py_ssize_t n = X.shape[1], t, pending = 0
    cdef cf_triangle a
    a.data, a.n, a.ld = &panels[0], n, 0
    with nogil:
        for t in range(rounds):
            memcpy(&block[pending, 0], &X[(at + t) % X.shape[0], 0], n * sizeof(double))
            pending += 1
            if pending == block.shape[0] or t + 1 == rounds:
                K.rank_block(&a, &low[0], pending, &block[0, 0], block.shape[1], &weight[0])
                pending = 0


def rank(const double[:, :, ::1] X, double[::1] w, ptrdiff_t[::1] out, double[::1] scores,
         Py_ssize_t at, Py_ssize_t rounds):
    """The best rows of one query after another."""
    cdef Py_ssize_t n = X.shape[1], d = X.shape[2], t
    with nogil:
        for t in range(at, at + rounds):
            K.scores(n, d, &X[t, 0, 0], d, &w[0], &scores[0])
            K.top_k(n, &scores[0], out.shape[0], &out[0], NULL)


def rank_f32(const float[:, :, ::1] X, double[::1] w, ptrdiff_t[::1] out, double[::1] scores,
             Py_ssize_t at, Py_ssize_t rounds):
    cdef Py_ssize_t n = X.shape[1], d = X.shape[2], t
    with nogil:
        for t in range(at, at + rounds):
            K.scores_f32(n, d, &X[t, 0, 0], d, &w[0], &scores[0])
            K.top_k(n, &scores[0], out.shape[0], &out[0], NULL)


def blas(double[:, ::1] inverse, double[::1] v, double[:, ::1] X, Py_ssize_t at,
         Py_ssize_t rounds, double c):
    """The same rounds by dsymv and dsyr on the lower triangle (Fortran calls it the upper)."""
    cdef int n = X.shape[1], one = 1
    cdef Py_ssize_t t, i
    cdef char upper = b"U"
    cdef double plus = 1.0, zero = 0.0, minus, q
    cdef double *x
    with nogil:
        for t in range(rounds):
            x = &X[(at + t) % X.shape[0], 0]
            dsymv(&upper, &n, &plus, &inverse[0, 0], &n, x, &one, &zero, &v[0], &one)
            q = 0.0
            for i in range(n):
                q += x[i] * v[i]
            minus = -1.0 / (1.0 / c + q)
            dsyr(&upper, &n, &minus, &v[0], &one, &inverse[0, 0], &n)


cdef class Documents:
    """Stored sparse rows in an inverted index, and the products of a query with all of them."""

    cdef cf_postings lists
    cdef object held

    def __init__(self, rows):
        """From a CSR matrix with indices in order."""
        cdef long long[::1] start = rows.indptr.astype(np.int64), index
        cdef double[::1] value = rows.data
        cdef unsigned char[::1] pool = np.zeros(64 * rows.nnz + 4096, np.uint8)
        cdef unsigned char[::1] lists = np.zeros(sizeof(cf_posting_list) * rows.shape[1], np.uint8)
        cdef Py_ssize_t t
        places = rows.indices.astype(np.int64)
        index = places
        self.lists.pool, self.lists.room = <cf_posting *>&pool[0], pool.shape[0] // 16
        self.lists.list, self.lists.features = <cf_posting_list *>&lists[0], rows.shape[1]
        self.held = pool, lists
        for t in range(rows.shape[0]):
            assert L.postings_lack(&self.lists, start[t + 1] - start[t],
                                   <int64_t *>&index[start[t]]) == 0
            L.postings_add(&self.lists, start[t + 1] - start[t], <int64_t *>&index[start[t]],
                           &value[start[t]])

    def products(self, long long[::1] start, long long[::1] index, double[::1] value,
                 double[::1] out, Py_ssize_t at, Py_ssize_t rounds):
        """One query after another from a CSR's arrays."""
        cdef Py_ssize_t t, q
        with nogil:
            for t in range(at, at + rounds):
                q = t % (start.shape[0] - 1)
                K.postings_dots(&self.lists, 0, start[q + 1] - start[q],
                                <int64_t *>&index[start[q]], &value[start[q]], &out[0])
