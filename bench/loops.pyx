# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Streams played in compiled code: our kernels through their table, and scipy's BLAS.

Built by compiled.py into a temporary folder; that it builds shows that a user's own Cython code
can cimport the package.
"""

from libc.math cimport sqrt
from libc.string cimport memcpy, memset

from coactive_fast cimport cf_get_table, cf_pad, cf_table, cf_triangle
from scipy.linalg.cython_blas cimport dsymv, dsyr

cdef const cf_table *K = cf_get_table()


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
    K.rank_one(&b, &w[0])
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
