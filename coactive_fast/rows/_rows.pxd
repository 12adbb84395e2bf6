# See _rows.pyx: what other modules cimport.

cimport cython
cimport numpy as np
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset
from numpy.random cimport bitgen_t

from coactive_fast._table cimport cf_row


cdef class RowBuffer:
    # What a row is gathered into where it cannot be read in place: float32, strides, a sparse row
    # out of order. One for each thread that is at work. `held` keeps the caller's arrays alive.
    cdef double *value
    cdef int64_t *place
    cdef Py_ssize_t room
    cdef object held, held_places

    cdef inline int reserve(self, Py_ssize_t entries) except -1:
        """Room for so many entries, and eight doubles more for whole vectors."""
        return 0 if entries <= self.room - 8 else self.grow(entries)

    cdef int grow(self, Py_ssize_t entries) except -1

cdef enum Kind:
    DOUBLES        # rows of float64, contiguous
    GATHERED       # dense rows of float64 or float32 with any strides
    SPARSE         # CSR


cdef class Rows:
    # Rows that were checked: finite, places in range. Owned by the caller and not copied.
    cdef Py_ssize_t n          # how many
    cdef Py_ssize_t d          # features
    cdef Py_ssize_t most       # entries of the longest row
    cdef Kind kind
    cdef bint floats           # values are float32
    cdef bint ordered          # all places strictly ascending
    cdef bint wide, wide_ends  # int64
    cdef const char *value
    cdef Py_ssize_t row_step, column_step   # bytes
    cdef const char *place
    cdef const char *ends
    cdef tuple held

    cdef inline Py_ssize_t end(self, Py_ssize_t t) noexcept nogil:
        if self.wide_ends:
            return (<const int64_t *>self.ends)[t]
        return (<const int32_t *>self.ends)[t]

    # The row t into `row`; the buffer must fit `most` entries. False: repeated places add up to
    # more than a float64 holds (never after rows_of, which has tried them all).
    cdef bint at(self, Py_ssize_t t, RowBuffer buffer, cf_row *row) noexcept nogil

    # Sparse: the places of row t as they lie, in whatever order; row.value is not set.
    cdef inline void places(self, Py_ssize_t t, cf_row *row) noexcept nogil:
        cdef Py_ssize_t begin = self.end(t)
        row.n, row.nnz = self.d, self.end(t + 1) - begin
        row.i32, row.i64 = NULL, NULL
        if self.wide:
            row.i64 = <const int64_t *>self.place + begin
        else:
            row.i32 = <const int32_t *>self.place + begin

# A table of rows: two dimensions or anything with __array__, scipy.sparse of any format.
cdef Rows rows_of(object X, str name)

# The same into rows that were used before, and are not to be used where this raises.
cdef int fill_rows(Rows rows, object X, str name) except -1

# One row: a vector, a table of one row, a scipy.sparse row, or a pair (indices, values), which has
# `width` features or, with open_end, as many as it needs beyond that. Returns CF_ROW_NULL where
# all its values are 0, else CF_ROW_GOOD. What `row` points at lives as long as buffer.held, and no
# longer than the caller's own reference to x.
cdef int row_of(object x, str name, RowBuffer buffer, cf_row *row, Py_ssize_t width=*,
                bint open_end=*) except -1

# A table written out, for those who want every zero; a row, as `row_of` takes it, as a vector, of
# `width` features where that is not 0.
cpdef np.ndarray table_of(object X, str name)

cdef np.ndarray written_out(object x, str name, Py_ssize_t width=*)

# The same of a row and of rows that were checked already.
cdef np.ndarray dense_vector(const cf_row *row, str name)
cdef np.ndarray dense_table(Rows rows, RowBuffer buffer, str name)

# The row with all its zeros: sparse ones become dense, in the buffer, which must fit row.n.
cdef void write_out(cf_row *row, RowBuffer buffer) noexcept nogil

cdef inline Py_ssize_t place_of(const cf_row *row, Py_ssize_t e) noexcept nogil:
    """The feature of entry e."""
    return row.i32[e] if row.i32 != NULL else row.i64[e] if row.i64 != NULL else e


cdef inline void scatter(const cf_row *x, double *out) noexcept nogil:
    """out[i] = x_i for the entries of x alone."""
    cdef cf_row row = x[0]
    cdef Py_ssize_t e
    for e in range(row.nnz):
        out[place_of(&row, e)] = row.value[e]


cdef inline void lay_row(const cf_row *x, double *out) noexcept nogil:
    """x written out."""
    if x.i32 == NULL and x.i64 == NULL:
        memcpy(out, x.value, <size_t>x.n * sizeof(double))
    else:
        memset(out, 0, <size_t>x.n * sizeof(double))
        scatter(x, out)


@cython.final
cdef class Forms(RowBuffer):
    # A row in another form: written out, or its entries that are not zero. Owned by who reads.
    cdef double *dense         # `wide` doubles, all zero between two uses
    cdef Py_ssize_t wide
    cdef Py_ssize_t nnz        # of the row gathered last

    cdef int widen(self, const cf_row *x) except -1
    cdef const double *whole(self, const cf_row *x) noexcept nogil
    cdef void clear(self, const cf_row *x) noexcept nogil
    cdef void gather(self, const cf_row *x) noexcept nogil


@cython.final
cdef class Workspace:
    # Of one call or one run; no part of any state. score, quad and coef have cf_pad(k) doubles, vectors
    # has vectors_room; all owned here.
    cdef RowBuffer buffer      # of the row
    cdef RowBuffer view        # of a row in another form: written out, or wider than the state
    cdef RowBuffer scaled      # of its values where they are scaled: the row itself stays
    cdef Forms forms
    cdef cf_row row            # in the form that is read
    cdef cf_row given          # as it came, and whether it was null: what `row` begins with
    cdef bint given_null
    cdef bint brief            # a round of it is so short that it keeps the GIL
    cdef double weight         # of the example, where a family has weights
    cdef bint is_read          # it holds the reading of this row
    cdef bint writing          # who reads may change the form
    cdef bint null             # no feature of the row differs from 0, as a form sees it
    cdef cf_row *next          # in a run the places of the row that comes next, else NULL
    cdef Py_ssize_t lanes, vectors_room
    cdef double *score         # w_i.x; after a projection those of the projected w
    cdef double *quad          # x^T A_i^-1 x
    cdef double *coef          # of a projection: w_i += coef_i A_i^-1 x
    cdef double *temp          # for k values, and for project_labels
    cdef double *vectors       # A_i^-1 x, or what else a form needs memory for
    cdef double own            # k(x, x) of a kernel
    cdef Py_ssize_t greedy     # the first of the best scores
    cdef Py_ssize_t label      # the choice
    cdef bitgen_t *rng         # of the engine, where it draws
    # The key of what was read last, for the call that follows: a copy of the row, the number of
    # examples learned, and the engine's stamp. No part of any state.
    cdef RowBuffer last
    cdef cf_row known          # points into `last`
    cdef int64_t known_round, known_stamp
    cdef bint known_null

    cdef int reserve(self, Py_ssize_t k, Py_ssize_t doubles) except -1
    # Memory for any row of `rows`; `row` is then what a form is to reserve for.
    cdef int reserve_for(self, Rows rows) except -1
    # Row t of rows, which were reserved for; CF_OK or CF_ENOMEM.
    cdef int load(self, Rows rows, Py_ssize_t t) noexcept nogil
    cdef void scale_row(self) noexcept nogil               # to length 1, unless it is null
    cdef int remember(self, const cf_row *row, int64_t round, int64_t stamp) except -1
    # Whether what was read last is what this row would give.
    cdef bint matches(self, const cf_row *row, int64_t round, int64_t stamp) noexcept
    cdef inline void forget(self) noexcept:
        self.known_round = -1
