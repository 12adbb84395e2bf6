# Rows kept for a kernel, and the kernel's values of a new row with them.

cimport cython
cimport numpy as np
from libc.stdint cimport int64_t

from coactive_fast._table cimport cf_postings, cf_row

cdef enum Form:
    UNDECIDED = 0
    DENSE = 1
    SPARSE = 2


cdef class Forms:
    # Scratch of one reader: a row in the form that is wanted of it. Owned by who reads.
    cdef double *dense         # `wide` doubles, all zero between two uses
    cdef Py_ssize_t wide
    cdef int64_t *index        # `room` entries
    cdef double *value
    cdef Py_ssize_t room
    cdef Py_ssize_t nnz        # of the row gathered last

    cdef int fit(self, const cf_row *x, bint dense) except -1
    cdef const double *whole(self, const cf_row *x) noexcept nogil
    cdef void clear(self, const cf_row *x) noexcept nogil
    cdef void gather(self, const cf_row *x) noexcept nogil


@cython.final
cdef class Errors:
    # What was raised where a status is all that can be handed on, until `raise_own` raises it.
    # By thread: two readings may fail at once, each in its own way.
    cdef dict raised

    cdef void keep(self, object error) noexcept
    cdef int raise_own(self) except -1


cdef class Kept:
    # Invariants. n rows, the oldest first, of d features each; form is decided when the first one
    # comes, by what it holds (not by how it was given). Dense: rows `lead` ... of `dense`.
    # Sparse: row s has the entries begin[lead + s] ... of index and value (no zeros), its square,
    # and its postings. Rows before `lead` have left; their place is used again when room ends.
    cdef readonly object kernel
    cdef dict params
    cdef int kind
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

    cdef bint callable(self) noexcept nogil
    cdef bint wants_dense(self) noexcept nogil
    cdef int own(self, const cf_row *x, double *out) noexcept nogil
    cdef int values(self, const cf_row *x, Forms forms, Py_ssize_t first,
                    double *out) noexcept nogil
    cdef bint has_room(self, const cf_row *x, Forms forms) noexcept nogil
    cdef int make_room(self, const cf_row *x, Forms forms) except -1
    cdef void append(self, const cf_row *x, Forms forms) noexcept nogil
    cdef void drop_first(self) noexcept nogil
    cdef int raise_error(self) except -1
    cdef dict state(self)
    cdef int restore(self, dict state) except -1

    cdef Form form_of(self, const cf_row *x, Forms forms) noexcept nogil
    cdef double scale(self, const cf_row *x) noexcept nogil
    cdef int ask(self, const cf_row *x, Py_ssize_t first, bint own, double *out) noexcept
    cdef int grow_rows(self, Form form, Py_ssize_t room) except -1
    cdef int grow_entries(self, Py_ssize_t more) except -1
    cdef int grow_lists(self, Forms forms) except -1
    cdef void move_down(self) noexcept
    cdef void give_back(self) noexcept
    cdef int take_row(self, const cf_row *x, Forms forms, int form) except -1
