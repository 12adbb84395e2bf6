# The dual matrix M = ridge I + G over the rows kept, as the growing factor of cf_cholesky.h.

from coactive_fast._table cimport cf_cholesky, cf_row
from coactive_fast.metric._kept cimport Forms, Kept


cdef class Gram:
    # Invariants: `factor` is that of ridge I + G over all rows of `kept`, in their order; it
    # points to memory owned here with room for `room` rows.
    cdef Kept kept
    cdef readonly double ridge
    cdef cf_cholesky factor
    cdef Py_ssize_t room

    # Doubles that a vector u of this many rows takes, some more rows included.
    cdef inline Py_ssize_t length(self) noexcept nogil:
        return ((self.factor.n + 7) & ~<Py_ssize_t>7) + 8

    # What the kernel values of the rows are multiplied by before the solve: here nothing.
    cdef void weigh(self, double *values) noexcept nogil
    # k(x, x) and u = L^-1 k with zeros behind it; u has length() doubles. A status.
    cdef int solve(self, const cf_row *x, Forms forms, double *u, double *own) noexcept nogil
    # x in the forms that the rows kept ask for; before the others. Needs the GIL only to grow.
    cdef int fit(self, const cf_row *x, Forms forms) except -1
    cdef void gather(self, const cf_row *x, Forms forms) noexcept nogil
    cdef bint has_room(self, const cf_row *x, Forms forms) noexcept nogil
    cdef int make_room(self, const cf_row *x, Forms forms) except -1
    # x as the last row, (u, pivot) as the factor's; after has_room or make_room for this x.
    cdef void append(self, const cf_row *x, Forms forms, const double *u,
                     double pivot) noexcept nogil
    # The oldest row leaves; scratch has 3 length() doubles.
    cdef void drop_first(self, double *scratch) noexcept nogil
    # log det M - n log(ridge of the rows), from the pivots
    cdef double logdet(self) noexcept nogil
    cdef dict state(self)
    cdef int restore(self, dict state) except -1
