# A ridge regression whose numbers lie in a record of a fleet.

from libc.stdint cimport int64_t, uint64_t

from coactive_fast.metric._single cimport Crossed, Single
from coactive_fast.rows._rows cimport Rows, Scratch


# Words of a block before its numbers, and numbers of a regression of d features.
cdef Py_ssize_t numbers_of(Py_ssize_t d) noexcept nogil


cdef class PackedForm(Single):
    # A^-1 = U D U^T (cf_packed.h). Numbers of a block: w (d), D (d), U (d (d - 1) / 2), and, with
    # forgetting, what there is of the regulariser. Nothing but scratch is owned: `sit` points at a
    # block, which outlives every use. Invariant: w, diagonal, u and block are of the same block.
    cdef uint64_t *block
    cdef double *w
    cdef double *diagonal
    cdef double *u
    cdef double *share         # NULL without forgetting
    cdef int64_t period        # of the renewals (cf_past.h)
    cdef double *x             # cf_pad(d) each, owned; zeros beyond d
    cdef double *f
    cdef double *v

    cdef void sit(self, uint64_t *block) noexcept nogil
    cdef double *written(self, Rows X, Py_ssize_t t, Crossed by, Scratch s) noexcept nogil
    # One example into the block: x is written out (cf_pad(d), zeros beyond). *m: w.x of before.
    # Where this is not CF_OK the block holds no regression any more.
    cdef int take_row(self, const double *x, double y, bint null, double *m) noexcept nogil
    cdef void fade(self) noexcept nogil
    # A <- A + c I, in d steps; and w <- w - c A^-1 w.
    cdef void fill_up(self, double c) noexcept nogil
