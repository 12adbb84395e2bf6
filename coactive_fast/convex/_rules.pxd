# See _rules.pyx: what other modules cimport.

from coactive_fast._table cimport cf_full
from coactive_fast.learner._chance cimport Chance


cdef class Region:
    # All methods may be called without the GIL, by one thread at a time: the scratch is the
    # region's own. On a negative status nothing has changed but scratch and what is passed out.
    cdef readonly Py_ssize_t n
    cdef readonly bint compiled     # no Python is called
    cdef object error               # what a set of one's own raised
    cdef double *room               # of `newton`: `needed` doubles, after `prepare`
    cdef Py_ssize_t needed

    cdef int prepare(self) except -1
    # w = the nearest point to z (n doubles each, no overlap)
    cdef int project(self, const double *z, double *w) noexcept nogil
    # A += g g^T, w = the nearest point to y + gain A^-1 g in the norm of A; lam and face: where
    # the search begins and ended
    cdef int newton(self, cf_full *A, double gain, const double *g, const double *y, double *w,
                    double *lam, signed char *face) noexcept nogil
    # Whether z lies in it, give or take rounding; `scratch` has n doubles. A set of one's own is
    # not asked.
    cdef bint holds(self, const double *z, double *scratch) noexcept nogil
    # v = a unit vector of the affine hull, for a round whose centre is y
    cdef int draw(self, Chance chance, const double *y, double *v) noexcept nogil

cdef bint is_unit(Py_ssize_t n, const double *v) noexcept nogil
