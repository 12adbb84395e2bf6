# See _metrics.pyx: what other modules cimport.

cimport cython
cimport numpy as np
from libc.stdint cimport int64_t

from coactive_fast._lock cimport Lock
from coactive_fast._table cimport cf_cholesky, cf_full, cf_past, cf_postings, cf_row
from coactive_fast.learner._state cimport State
from coactive_fast.rows._rows cimport Forms


cdef class Metric:
    # What every metric has: its lock, and copies by way of state() and from_state().
    # Invariant: the lock is closed until __init__ has ended: an object on which it did not run, or
    # did not end, refuses every call before it reads memory.
    cdef Lock lock

    cdef int unmade(self) except -1
    cdef int fill(self, dict state) except -1


cdef class Entries(Metric):
    cdef Py_ssize_t order

    cdef Py_ssize_t _order(self) except -1
    # With the lock of a changing method held: what `other`, a copy of the same kind, n and ridge,
    # has learned is taken in.
    cdef int join(self, Entries other) except -1
    # Rows of standard normal numbers become rows with covariance A^-1.
    cdef int spread(self, np.ndarray z) except -1

# The code of a precision ("auto", "fast", "robust") in cf_full.h
cdef int code_of(object precision) except -1


cdef class Stored(Entries):
    # What a `Full` keeps. Invariant: `core` points into `memory`; `scratch` is used by changing
    # methods only. What is in `core` is A / past.scale: who works on it has
    # to allow for that (cf_past.h).
    cdef cf_full core
    cdef cf_past past
    cdef double *memory
    cdef double *scratch
    cdef object __weakref__

    # The form in use, and what the watch over rounding errors has seen.
    cdef dict _health(self)
    # The precision that its owner asks for, of a metric that was read from a state.
    cdef int _ask_for(self, int precision) except -1

cdef enum:
    # What c k(x, x) may be at the most, times the ridge: rounding of the factor is then some 1e-9
    # of the ridge for each row stored.
    MOST_OWN = 1 << 24

# Raises where a row passes that.
cdef int refuse_own(double own, double ridge) except -1

cdef enum Form:
    UNDECIDED = 0
    KEPT_DENSE = 1
    KEPT_SPARSE = 2


@cython.final
cdef class Errors:
    # What was raised where a status is all that can be handed on, until `raise_own` raises it.
    # By thread: two readings may fail at once, each in its own way.
    cdef dict raised

    cdef void keep(self, object error) noexcept
    cdef int raise_own(self) except -1


@cython.final
cdef class Kept:
    # Invariants. n rows, the oldest first, of d features each; form is decided when the first one
    # comes, by what it holds (not by how it was given). Dense: rows `lead` ... of `dense`.
    # Sparse: row s has the entries begin[lead + s] ... of index and value (no zeros), its square,
    # and its postings. Rows before `lead` have left; their place is used again when room ends.
    cdef readonly object kernel
    cdef dict params
    cdef int kind
    cdef bint callable
    cdef double gamma, coef0, degree
    cdef Py_ssize_t d          # 0: not known
    cdef Py_ssize_t n
    cdef Form form
    cdef Py_ssize_t lead, room
    cdef double *dense
    cdef ptrdiff_t *begin
    cdef double *square
    cdef int64_t *index
    cdef double *value
    cdef Py_ssize_t entries
    cdef cf_postings lists
    cdef list rows             # of a callable kernel: read-only vectors
    cdef object coming         # the one that `append` will put there
    cdef Errors errors         # of a callable kernel

    # Memory for x in the form that the rows kept ask for; before the others.
    cdef int reserve(self, const cf_row *x, Forms forms) except -1
    cdef int own(self, const cf_row *x, double *out) noexcept nogil
    cdef int values(self, const cf_row *x, Forms forms, Py_ssize_t first,
                    double *out) noexcept nogil
    cdef bint has_room(self, const cf_row *x, Forms forms) noexcept nogil
    # Memory for one row more, where there is none; nothing that can be seen changes.
    cdef int reserve_update(self, const cf_row *x, Forms forms) except -1
    cdef void append(self, const cf_row *x, Forms forms) noexcept nogil
    cdef void drop_first(self) noexcept nogil
    cdef dict get_state(self)
    # Into an object that keeps nothing yet.
    cdef int set_state(self, State state) except -1


@cython.final
cdef class Gram:
    # Invariants: `factor` is that of ridge I + G over all rows of `kept`, in their order; it
    # points to memory owned here with room for `room` rows, and so does c.
    cdef Kept kept
    cdef readonly double ridge
    cdef cf_cholesky factor
    cdef Py_ssize_t room
    cdef bint weighted
    cdef double *c             # of each row: weighted, sqrt(c_s), else its coefficient in L^-1 y
    cdef double info           # what the updates have added to log det M - n log ridge

    # Doubles that a vector u of this many rows takes, some more rows included.
    cdef inline Py_ssize_t length(self) noexcept nogil:
        return ((self.factor.n + 7) & ~<Py_ssize_t>7) + 8

    # u = L^-1 k in place of the kernel's values k, with zeros behind it; u has length() doubles.
    cdef void solve_values(self, double *u) noexcept nogil
    # The same with k(x, x), the values being computed here. A status.
    cdef int solve(self, const cf_row *x, Forms forms, double *u, double *own) noexcept nogil
    # k(x, x) - u.u, >= 0: what rounding takes below is put back.
    cdef double rest(self, const double *u, double own) noexcept nogil
    cdef bint has_room(self, const cf_row *x, Forms forms) noexcept nogil
    cdef int reserve_update(self, const cf_row *x, Forms forms) except -1
    cdef int grow(self) except -1  # room for one more, of the factor alone
    cdef int resize(self, Py_ssize_t room) except -1
    # x as the last row, (u, pivot) as the factor's, c as its number, and what it adds to `info`;
    # after has_room or reserve_update for this x. NULL: the rows are kept elsewhere.
    cdef void append(self, const cf_row *x, Forms forms, const double *u, double pivot, double c,
                     double gain) noexcept nogil
    # The oldest row leaves, `info` is computed from the pivots; scratch has 3 length() doubles.
    cdef void drop_first(self, double *scratch) noexcept nogil
    cdef dict get_state(self)
    # Into an object that keeps nothing yet; apart: without rows, which are kept elsewhere.
    cdef int set_state(self, State state, bint apart=*) except -1
