"""Feasible sets as the engines see them; see _regions.pxd and cf_region.h."""

import numpy

cimport numpy as np
from libc.math cimport fabs, sqrt
from libc.stddef cimport size_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport (
    as_vector, data_of, new_vector, refuse, refuse_non_finite, take_scratch,
)
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_EVALUE, CF_OK, CF_REGION_BALL, CF_REGION_BOX, CF_REGION_L1,
    CF_REGION_SIMPLEX, cf_full, cf_get_library, cf_get_table, cf_library, cf_pad, cf_region_kind,
    cf_table,
)
from coactive_fast.convex._chance cimport Chance

from coactive_fast.convex._sets import Ball, Box, L1Ball, Shrunk, Simplex

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef double UNIT = 1e-9  # how far from 1 rounding may take the length of a set's own direction


cdef double unit(Py_ssize_t n, double *v) noexcept nogil:
    """Scales v to length 1; returns the length it had, and leaves v where that is 0."""
    cdef double norm = sqrt(K.dot(n, v, v)), scale
    cdef Py_ssize_t i
    if norm > 0.0:
        scale = 1.0 / norm
        for i in range(n):
            v[i] *= scale
    return norm


cdef class Region:
    cdef int project(self, const double *z, double *w) noexcept nogil:
        return CF_EVALUE

    cdef int prepare(self) except -1:
        return 0

    cdef int newton(self, cf_full *A, double gain, const double *g, const double *y, double *w,
                    double *lam, signed char *face) noexcept nogil:
        return CF_EVALUE

    cdef int draw(self, Chance chance, double *v) noexcept nogil:
        return CF_EVALUE


cdef class BuiltIn(Region):
    """One of the sets of this package: everything in C."""

    def __cinit__(self):
        self.scratch = self.room = NULL

    def __init__(self, Py_ssize_t n, cf_region_kind kind, double total, *, double floor=0.0,
                 span=None):
        self.n = n
        self.compiled = True
        self.set.n, self.set.kind, self.set.total, self.set.floor = n, kind, total, floor
        if span is not None:
            self.lower, self.upper = (numpy.array(limit) for limit in span)
            self.set.lower, self.set.upper = data_of(self.lower), data_of(self.upper)
        self.ones = <np.ndarray>numpy.ones(n)
        self.scratch = <double *>take_scratch(L.region_scratch(n), sizeof(double))

    def __dealloc__(self):
        L.free(self.scratch)
        L.free(self.room)

    cdef int prepare(self) except -1:
        if self.room == NULL:
            self.room = <double *>take_scratch(L.region_newton_scratch(self.n), sizeof(double))
        return 0

    cdef int project(self, const double *z, double *w) noexcept nogil:
        return L.region_project(&self.set, K, z, w, self.scratch)

    cdef int newton(self, cf_full *A, double gain, const double *g, const double *y, double *w,
                    double *lam, signed char *face) noexcept nogil:
        return L.region_newton(&self.set, A, K, gain, g, y, w, lam, face, self.room)

    cdef int draw(self, Chance chance, double *v) noexcept nogil:
        cdef Py_ssize_t i
        cdef double mean
        while True:  # a length of 0 has probability 0
            chance.normals(self.n, v)
            if self.set.kind == CF_REGION_SIMPLEX:
                mean = K.dot(self.n, data_of(self.ones), v) / self.n
                for i in range(self.n):
                    v[i] -= mean
            if unit(self.n, v) > 0.0:
                return CF_OK


cdef class Own(Region):
    """A set of the user's own: an object with the methods of `FeasibleSet`."""

    def __cinit__(self):
        self.room = NULL

    def __init__(self, Py_ssize_t n, feasible):
        self.n = n
        self.compiled = False
        self.feasible = feasible

    def __dealloc__(self):
        L.free(self.room)

    cdef int prepare(self) except -1:
        if self.room == NULL:
            self.room = <double *>take_scratch(cf_pad(self.n) + L.full_scratch(self.n),
                                               sizeof(double))
        return 0

    cdef int project(self, const double *z, double *w) noexcept nogil:
        with gil:
            return self.ask_project(z, w)

    cdef int newton(self, cf_full *A, double gain, const double *g, const double *y, double *w,
                    double *lam, signed char *face) noexcept nogil:
        with gil:
            return self.ask_newton(A, gain, g, y, w)

    cdef int draw(self, Chance chance, double *v) noexcept nogil:
        with gil:
            return self.ask_direction(chance, v)

    cdef int ask_project(self, const double *z, double *w) noexcept:
        try:
            take(self.n, self.feasible.project(given(self.n, z)), "project", w)
        except BaseException as error:
            self.error = error
            return CF_EVALUE
        return CF_OK

    cdef int ask_newton(self, cf_full *A, double gain, const double *g, const double *y,
                        double *w) noexcept:
        """The update is proposed, the set is asked, and only then the update accepted."""
        cdef double *v = self.room
        cdef double *work = v + cf_pad(self.n)
        cdef double q
        cdef int status = L.full_propose(A, K, g, 1.0, work, v, &q)
        if status != CF_OK:
            return status
        if q == 0.0:  # nothing moves
            memcpy(w, y, <size_t>self.n * sizeof(double))
            return CF_OK
        try:
            z = given(self.n, y)
            K.axpy(self.n, gain / (1.0 + q), v, data_of(z))
            if not K.all_finite(self.n, data_of(z)):
                return CF_ENONFINITE
            inverse = numpy.empty((self.n, self.n))
            L.full_inverse(A, K, work, data_of(inverse))
            step = given(self.n, v)
            inverse -= numpy.outer(step, step) / (1.0 + q)
            take(self.n, self.feasible.project_in(z, inverse), "project_in", w)
        except BaseException as error:
            self.error = error
            return CF_EVALUE
        L.full_accept(A, K, g, 1.0, v, q, work)
        return CF_OK

    cdef int ask_direction(self, Chance chance, double *v) noexcept:
        """A direction that is refused costs no chance."""
        bits = chance.generator.bit_generator
        before = bits.state
        try:
            take(self.n, self.feasible.direction(chance.generator, self.n), "direction", v)
            if fabs(sqrt(K.dot(self.n, v, v)) - 1.0) > UNIT:
                raise ValueError("feasible.direction() must have length 1")
        except BaseException as error:
            bits.state = before
            self.error = error
            return CF_EVALUE
        return CF_OK


cdef np.ndarray given(Py_ssize_t n, const double *values):
    cdef np.ndarray out = new_vector(n)
    memcpy(data_of(out), values, <size_t>n * sizeof(double))
    return out


cdef int take(Py_ssize_t n, value, str method, double *out) except -1:
    """What a method of a set gave, checked."""
    cdef np.ndarray point = checked_point(value, method, n)
    memcpy(out, data_of(point), <size_t>n * sizeof(double))
    return 0


cpdef np.ndarray checked_point(value, str method, Py_ssize_t n):
    cdef np.ndarray point = as_vector(value, f"feasible.{method}()")
    if np.PyArray_DIM(point, 0) != n:
        raise ValueError(f"feasible.{method}() must have length {n}, got "
                         f"{np.PyArray_DIM(point, 0)}")
    refuse_non_finite(point, f"feasible.{method}()")
    return point


def region_of(feasible, Py_ssize_t n):
    """The set in dimension n: compiled where it is exactly one of this package's."""
    kind = type(feasible)
    if kind is Ball:
        return BuiltIn(n, CF_REGION_BALL, feasible.radius)
    if kind is L1Ball:
        return BuiltIn(n, CF_REGION_L1, feasible.radius)
    if kind is Box:
        return BuiltIn(n, CF_REGION_BOX, 0.0, span=feasible.span(n))
    if kind is Simplex:
        return BuiltIn(n, CF_REGION_SIMPLEX, 1.0)
    if kind is Shrunk and type(feasible.whole) is Simplex:
        return BuiltIn(n, CF_REGION_SIMPLEX, 1.0 - feasible.gamma, floor=feasible.gamma / n)
    return Own(n, feasible)


def nearest(feasible, np.ndarray z):
    """The Euclidean projection on one of this package's sets."""
    cdef Py_ssize_t n = np.PyArray_DIM(z, 0)
    if n == 0:
        raise ValueError("z must not be empty")
    cdef Region region = region_of(feasible, n)
    cdef np.ndarray out = new_vector(n)
    cdef int status = region.project(data_of(z), data_of(out))
    if status != CF_OK:
        refuse(status, "the projection of z")
    return out
