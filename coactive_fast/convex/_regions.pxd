# Feasible sets as the engines see them, in a fixed dimension.

cimport numpy as np

from coactive_fast._table cimport cf_full, cf_region
from coactive_fast.convex._chance cimport Chance


cdef class Region:
    # All methods may be called without the GIL, by one thread at a time: the scratch is the
    # region's own. On a negative status nothing has changed but scratch and what is passed out.
    cdef readonly Py_ssize_t n
    cdef readonly bint compiled     # no Python is called
    cdef object error               # what a set of one's own raised

    # w = the nearest point to z (n doubles each, no overlap)
    cdef int project(self, const double *z, double *w) noexcept nogil
    # room for `newton`
    cdef int prepare(self) except -1
    # A += g g^T, w = the nearest point to y + gain A^-1 g in the norm of A; lam and face: where
    # the search begins and ended
    cdef int newton(self, cf_full *A, double gain, const double *g, const double *y, double *w,
                    double *lam, signed char *face) noexcept nogil
    # v = a unit vector of the affine hull
    cdef int draw(self, Chance chance, double *v) noexcept nogil


cdef class BuiltIn(Region):
    cdef cf_region set
    cdef np.ndarray lower, upper    # of a box: what `set` points to
    cdef np.ndarray ones
    cdef double *scratch
    cdef double *room


cdef class Own(Region):
    cdef object feasible
    cdef double *room

    cdef int ask_project(self, const double *z, double *w) noexcept
    cdef int ask_newton(self, cf_full *A, double gain, const double *g, const double *y,
                        double *w) noexcept
    cdef int ask_direction(self, Chance chance, double *v) noexcept

cdef double unit(Py_ssize_t n, double *v) noexcept nogil
