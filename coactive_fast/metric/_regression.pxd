# The regression of learners from rewards, full or diagonal: how it learns is that of `Single`; it
# also reads many rows at once, crossed with a context, decays, and is merged with another one.

cimport numpy as np
from libc.stddef cimport ptrdiff_t

from coactive_fast._table cimport cf_full, cf_full_factor, cf_row
from coactive_fast.metric._single cimport Crossed, DiagonalRidge, FullRidge
from coactive_fast.rows._rows cimport Rows, Scratch


# m = w.x of all rows, and x.x; both with the bits of `dot`, in whatever form they come.
cdef int read_means(Rows X, const double *w, Scratch s, double *m) noexcept nogil
cdef int read_squares(Rows X, Scratch s, double *square) noexcept nogil


cdef class FullForm(FullRidge):
    # `kept`: the factor that draws go by, a cache outside the state in memory of its own. Without
    # forgetting it is kept up with what is learned; what else changes A drops it.
    cdef cf_full_factor kept
    cdef double *factor

    cdef int verdict(self, Py_ssize_t n, const double *x, double q) noexcept nogil
    cdef np.ndarray whole(self)
    cdef int merge_rows(self, FullForm o) except -1
    cdef int become(self, FullForm sum, FullForm o) except -1
    cdef const double *contract(self, Crossed by, Py_ssize_t n, double *room,
                                cf_full *out) noexcept nogil
    cdef int read_block(self, const cf_full *core, const double *edges, const double *x,
                        Py_ssize_t stride, Py_ssize_t count, double *rest,
                        double *q) noexcept nogil
    cdef int read_crossed(self, Rows X, Crossed by, Scratch s, double *m,
                          double *q) noexcept nogil
    cdef int read_some(self, const cf_full *core, const double *edges, Rows X,
                       const ptrdiff_t *some, Py_ssize_t count, Scratch s, double width,
                       const double *m, const double *bound, double *z) noexcept nogil


cdef class DiagonalForm(DiagonalRidge):
    # Invariant: the features d ... held are as all were at the start; there is memory for them.
    cdef Py_ssize_t held

    cdef int read_row(self, const cf_row *x, double *room, double *m, double *q) noexcept nogil
    cdef double entry(self, Py_ssize_t i) noexcept nogil
    cdef void contract(self, Crossed by, Py_ssize_t n, double *a, double *w) noexcept nogil
    cdef void read_crossed(self, const cf_row *x, Crossed by, double *m,
                           double *q) noexcept nogil
