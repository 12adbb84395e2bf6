# The input of all learners that are fed rows: one row or many, dense or sparse, as they lie in
# the caller's memory where that is possible.

cimport numpy as np
from libc.stdint cimport int32_t, int64_t

from coactive_fast._table cimport cf_row


cdef class RowBuffer:
    # What a row is gathered into where it cannot be read in place: float32, strides, a sparse row
    # out of order. One for each thread that is at work. `held` keeps the caller's arrays alive.
    cdef double *value
    cdef int64_t *place
    cdef Py_ssize_t room
    cdef object held, held_places

    cdef int fit(self, Py_ssize_t entries) except -1
    cdef inline void let_go(self) noexcept:
        self.held = self.held_places = None


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

    cdef int take_dense(self, np.ndarray a, str name) except -1
    cdef int take_sparse(self, object X, str name) except -1
    cdef int check_values(self, str name, object data) except -1
    cdef int check_places(self, str name) except -1
    cdef bint in_order(self, RowBuffer buffer, cf_row *row) noexcept nogil
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

# One row: a vector, a table of one row, a scipy.sparse row. Returns CF_ROW_NULL where all its
# values are 0, else CF_ROW_GOOD. What `row` points at lives until buffer.let_go().
cdef int row_of(object x, str name, RowBuffer buffer, cf_row *row) except -1

# Labels 0 ... k-1, one for each of n rows, as contiguous intp.
cdef np.ndarray labels_of(object y, str name, Py_ssize_t n, Py_ssize_t k)

# The row with all its zeros: sparse ones become dense, in the buffer, which must fit row.n.
cdef void write_out(cf_row *row, RowBuffer buffer) noexcept nogil

cdef inline Py_ssize_t place_of(const cf_row *row, Py_ssize_t e) noexcept nogil:
    """The feature of entry e."""
    return row.i32[e] if row.i32 != NULL else row.i64[e] if row.i64 != NULL else e
