"""Rows: every row and table that is an argument is checked and converted here, once.

A plain float64 vector costs two comparisons and one pass; a scipy.sparse CSR row four attributes of
its instance and one pass over indices and values; scipy itself is not called. Other sparse formats
are converted by scipy, which trusts their index arrays: those are checked before (`as_csr`).
"""

import numpy

cimport cython
from libc.stddef cimport size_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy, memset

from coactive_fast._arrays cimport (
    Matrix, as_rows, convert_array, data_of, has_plain_rows, indices_of,
    is_plain, is_sparse, matrix_of, new_doubles, new_vector, plain, product_of,
    refuse_bad_matrix, refuse_length, refuse_non_finite, take_scratch,
)
from coactive_fast._table cimport (
    CF_ENOMEM, CF_OK, CF_ROW_BAD, CF_ROW_GOOD, CF_ROW_NULL, cf_get_library, cf_get_table,
    cf_library, cf_pad, cf_scores_scratch, cf_table,
)

from coactive_fast._memory import refuse_beyond_limit

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()
cdef extern from *:
    """
    /* one dimension, contiguous, native, aligned: what kind of numbers, or 0 for what needs work */
    #define CF_DOUBLES 1
    #define CF_FLOATS 2
    #define CF_INT32 3
    #define CF_INT64 4
    static int cf_list_kind(PyObject *o)
    {
        if (!PyArray_CheckExact(o))
            return 0;
        PyArrayObject *a = (PyArrayObject *)o;
        if (PyArray_NDIM(a) != 1 || !PyArray_ISCARRAY_RO(a))
            return 0;
        if (PyArray_TYPE(a) == NPY_DOUBLE)
            return CF_DOUBLES;
        if (PyArray_TYPE(a) == NPY_FLOAT)
            return CF_FLOATS;
        if (!PyArray_ISSIGNED(a) || !PyArray_ISINTEGER(a))
            return 0;
        return PyArray_ITEMSIZE(a) == 4 ? CF_INT32 : PyArray_ITEMSIZE(a) == 8 ? CF_INT64 : 0;
    }
    """
    int list_kind "cf_list_kind" (object o)
    enum:
        CF_DOUBLES
        CF_FLOATS
        CF_INT32
        CF_INT64

cdef type csr_type = None   # the classes of the last CSR rows: scipy has a matrix and an array
cdef type csr_other = None


# --- small parts ------------------------------------------------------------------------------


@cython.no_gc  # the arrays that it holds are plain ones, and only for a call
cdef class RowBuffer:
    def __dealloc__(self):
        L.free(self.value)
        L.free(self.place)

    cdef int grow(self, Py_ssize_t entries) except -1:
        cdef double *value
        if entries > MANY_ENTRIES:
            product_of(2, entries, "a row")
            refuse_beyond_limit(24.0 * entries, f"a row of {entries} features", "fewer take less")
        entries += 8 + entries // 2
        value = <double *>take_scratch(entries, sizeof(double))
        try:
            place = <int64_t *>take_scratch(entries, sizeof(int64_t))
        except MemoryError:
            L.free(value)
            raise
        L.free(self.value)
        L.free(self.place)
        self.value, self.place, self.room = value, place, entries
        return 0

cdef int64_t MOST_PLACES = 0x7fffffffffffffff  # a row of so many features has no last one
cdef enum:
    FEW_ENTRIES = 128  # that are put in order one by one
    MANY_ENTRIES = 1 << 20  # from which on the limit of memory is asked

cdef struct Entry:
    int64_t place
    ptrdiff_t order
    double value


cdef int by_place(const void *a, const void *b) noexcept nogil:
    """Entries of one feature stay in their order: their sum must not depend on the sort."""
    cdef const Entry *x = <const Entry *>a
    cdef const Entry *y = <const Entry *>b
    if x.place != y.place:
        return -1 if x.place < y.place else 1
    return -1 if x.order < y.order else 1


cdef Py_ssize_t put_in_order(Py_ssize_t n, int64_t *place, double *value) noexcept nogil:
    """Ascending, entries of one feature added up; how many are left, or -1 without memory."""
    cdef Py_ssize_t e, left = -1
    if n <= FEW_ENTRIES:
        insert_all(n, place, value)
    elif not sort_all(n, place, value):
        return -1
    for e in range(n):
        if left >= 0 and place[left] == place[e]:
            value[left] += value[e]
        else:
            left += 1
            place[left], value[left] = place[e], value[e]
    return left + 1


cdef void insert_all(Py_ssize_t n, int64_t *place, double *value) noexcept nogil:
    """A few entries, or many that are nearly in order: no calls, no memory."""
    cdef Py_ssize_t e, at
    cdef int64_t p
    cdef double v
    for e in range(1, n):
        p, v, at = place[e], value[e], e
        while at > 0 and place[at - 1] > p:
            place[at], value[at] = place[at - 1], value[at - 1]
            at -= 1
        place[at], value[at] = p, v


cdef bint sort_all(Py_ssize_t n, int64_t *place, double *value) noexcept nogil:
    """0 without memory."""
    cdef Py_ssize_t e
    cdef Entry *entries = <Entry *>L.alloc(<size_t>n + 1, sizeof(Entry))
    if entries == NULL:
        return 0
    for e in range(n):
        entries[e].place, entries[e].order, entries[e].value = place[e], e, value[e]
    qsort(entries, <size_t>n, sizeof(Entry), by_place)
    for e in range(n):
        place[e], value[e] = entries[e].place, entries[e].value
    L.free(entries)
    return 1


cdef void write_out(cf_row *row, RowBuffer buffer) noexcept nogil:
    cdef Py_ssize_t e
    cdef double *out = buffer.value
    cdef double value
    if row.i32 == NULL and row.i64 == NULL:
        return
    if row.value == out:  # spread from behind: a place is never before its entry
        memset(out + row.nnz, 0, <size_t>(row.n - row.nnz) * sizeof(double))
        for e in range(row.nnz - 1, -1, -1):
            value, out[e] = out[e], 0.0
            out[place_of(row, e)] = value
    else:
        lay_row(row, out)
    row.value, row.i32, row.i64, row.nnz = out, NULL, NULL, row.n


cdef np.ndarray floating(object value, str name):
    """An array of float64 or float32 in native order, of any strides and dimensions."""
    given = <object>plain(value, name)
    if given.dtype.char in "fd" and given.dtype.isnative and given.flags.aligned:
        return <np.ndarray>given
    with numpy.errstate(over="ignore"):  # a long double beyond float64 becomes infinite
        return <np.ndarray>given.astype(numpy.float64)


cdef bint is_pair(object x):
    """``(indices, values)``: a tuple of two sequences."""
    if type(x) is not tuple or len(<tuple>x) != 2:
        return False
    if list_kind((<tuple>x)[0]) and list_kind((<tuple>x)[1]):
        return True
    return hasattr(x[0], "__len__") and hasattr(x[1], "__len__")


# --- one row ----------------------------------------------------------------------------------

cdef int row_of(object x, str name, RowBuffer buffer, cf_row *row, Py_ssize_t width=0,
                bint open_end=False) except -1:
    cdef int answer
    if is_plain(x, np.NPY_DOUBLE):
        row.n = row.nnz = np.PyArray_DIM(<np.ndarray>x, 0)
        row.value = <double *>np.PyArray_DATA(<np.ndarray>x)
        row.i32, row.i64 = NULL, NULL
    elif type(x) is csr_type or type(x) is csr_other:
        sparse_row(x, name, buffer, row)
    elif is_pair(x):
        pair_row(<tuple>x, name, buffer, row, width, open_end)
    else:
        other_row(x, name, buffer, row)
    if row.n == 0:
        raise ValueError(f"{name} must have at least one feature")
    answer = K.row_check(row.nnz, row.value)
    if answer == CF_ROW_BAD:
        refuse_values(row, name)
    return answer


cdef int refuse_values(const cf_row *row, str name) except -1:
    cdef Py_ssize_t e
    for e in range(row.nnz):
        if not row.value[e] - row.value[e] == 0.0:
            raise ValueError(f"{name} must be finite, got {row.value[e]} at index "
                             f"{place_of(row, e)}")
    return 0


cdef void lay_places(cf_row *row, np.ndarray places, Py_ssize_t begin, int width) noexcept:
    """The places of a row as they lie from `begin` on: int32 or int64."""
    row.i32, row.i64 = NULL, NULL
    if width == CF_INT32:
        row.i32 = <const int32_t *>np.PyArray_DATA(places) + begin
    else:
        row.i64 = <const int64_t *>np.PyArray_DATA(places) + begin


cdef int order_of(const cf_row *row) noexcept nogil:
    """Whether the places of a sparse row ascend, and are in range."""
    if row.i64 != NULL:
        return K.row_places64(row.nnz, row.i64, row.n)
    return K.row_places32(row.nnz, row.i32, row.n)


cdef int sparse_row(object x, str name, RowBuffer buffer, cf_row *row) except -1:
    """A CSR matrix or array of one row, read in place where it is in order."""
    cdef object data = x.data, places = x.indices, ends = x.indptr, shape = x._shape
    cdef int kind = list_kind(data), width = list_kind(places), order
    cdef Py_ssize_t begin, end
    if (kind not in (CF_DOUBLES, CF_FLOATS) or width not in (CF_INT32, CF_INT64)
            or list_kind(ends) not in (CF_INT32, CF_INT64)):
        data, places, ends = plain_csr(x, name)
        kind, width = CF_DOUBLES, CF_INT64
    if type(shape) is not tuple or len(<tuple>shape) > 2 or (len(<tuple>shape) == 2
                                                             and shape[0] != 1):
        raise ValueError(f"{name} must be one row, got shape {x.shape}")
    if np.PyArray_DIM(<np.ndarray>ends, 0) != 2:
        raise ValueError(f"{name} has an indptr that does not go with one row")
    row.n = shape[len(<tuple>shape) - 1]
    begin, end = number_at(<np.ndarray>ends, 0), number_at(<np.ndarray>ends, 1)
    if not (0 <= begin <= end <= np.PyArray_DIM(<np.ndarray>places, 0)
            and end <= np.PyArray_DIM(<np.ndarray>data, 0)):
        raise ValueError(f"{name} has an indptr that does not go with its entries")
    buffer.held, buffer.held_places = data, places
    row.nnz = end - begin
    lay_places(row, <np.ndarray>places, begin, width)
    order = order_of(row)
    if order == CF_ROW_BAD:
        raise ValueError(f"{name} has a column index outside 0 ... {row.n - 1}")
    row.value = data_of(<np.ndarray>data) + begin
    if kind == CF_FLOATS:
        buffer.reserve(row.nnz)
        gather(row.nnz, <const char *>np.PyArray_DATA(<np.ndarray>data) + 4 * begin, 4, True,
               buffer.value)
        row.value = buffer.value
    if order != CF_ROW_GOOD:
        order_row(buffer, row)
    return 0


cdef int pair_row(tuple pair, str name, RowBuffer buffer, cf_row *row, Py_ssize_t width,
                  bint open_end) except -1:
    """``(indices, values)``, whose width is that of what is known, or (open_end) as they need;
    read in place where both are plain."""
    cdef object places = pair[0], values = pair[1]
    cdef int wide = list_kind(places), order
    cdef Py_ssize_t e, last = -1
    if list_kind(values) != CF_DOUBLES or wide not in (CF_INT32, CF_INT64):
        places, values = plain_pair(pair, name)
        wide = CF_INT64
    row.nnz = np.PyArray_DIM(<np.ndarray>values, 0)
    if row.nnz != np.PyArray_DIM(<np.ndarray>places, 0):
        raise ValueError(f"{name} must be (indices, values), two sequences of one length, got "
                         f"shapes {places.shape} and {values.shape}")
    lay_places(row, <np.ndarray>places, 0, wide)
    for e in range(row.nnz if open_end else 0):
        last = max(last, place_of(row, e))
    if last == MOST_PLACES:
        raise ValueError(f"{name} has an index that is too large, {last}")
    row.n = max(width, last + 1)
    if row.n <= 0:
        raise ValueError(f"{name} as (indices, values) does not tell how many features there "
                         "are: the first row must be a vector or a sparse row")
    buffer.held, buffer.held_places = values, places
    row.value = data_of(<np.ndarray>values)
    order = order_of(row)
    if order == CF_ROW_BAD:
        raise ValueError(f"{name} has an index outside 0 ... {row.n - 1}")
    if order != CF_ROW_GOOD:
        order_row(buffer, row)
    return 0


cdef tuple plain_pair(tuple pair, str name):
    """The indices as int64 and the values as float64, one-dimensional and contiguous."""
    return (indices_of(pair[0], f"the indices of {name}"),
            convert_array(pair[1], f"the values of {name}", 1, False))


cdef int order_row(RowBuffer buffer, cf_row *row) except -1:
    cdef Py_ssize_t n = row.nnz
    buffer.reserve(n)
    if not into_order(buffer, row):
        raise MemoryError(f"{n} entries to sort")
    return 0


cdef bint into_order(RowBuffer buffer, cf_row *row) noexcept nogil:
    """The same row in the buffer, which has the room, strictly ascending; False: no memory."""
    cdef Py_ssize_t e, n = row.nnz
    for e in range(n):
        buffer.place[e] = place_of(row, e)
    if row.value != buffer.value:
        memcpy(buffer.value, row.value, <size_t>n * sizeof(double))
    n = put_in_order(n, buffer.place, buffer.value)
    row.value, row.i64, row.i32, row.nnz = buffer.value, buffer.place, NULL, n
    return n >= 0


cdef inline Py_ssize_t number_at(np.ndarray a, Py_ssize_t i) noexcept:
    if np.PyArray_ITEMSIZE(a) == 8:
        return (<const int64_t *>np.PyArray_DATA(a))[i]
    return (<const int32_t *>np.PyArray_DATA(a))[i]


cdef tuple plain_csr(object x, str name):
    """data, indices and indptr of a CSR as float64 and int64."""
    return (convert_array(x.data, name, 1, False), indices_of(x.indices, f"the indices of {name}"),
            indices_of(x.indptr, f"the indptr of {name}"))


cdef int other_row(object x, str name, RowBuffer buffer, cf_row *row) except -1:
    """Whatever is neither a plain vector nor a CSR of a class seen before."""
    global csr_type, csr_other
    cdef np.ndarray a
    if is_sparse(x):
        x = as_csr(x, name)
        sparse_row(x, name, buffer, row)
        if type(x) is not csr_type:
            csr_type, csr_other = type(x), csr_type
        return 0
    a = floating(x, name)
    if np.PyArray_NDIM(a) == 2 and np.PyArray_DIM(a, 0) == 1:
        a = <np.ndarray>a[0]
    if np.PyArray_NDIM(a) != 1:
        raise ValueError(f"{name} must be one row, got shape {(<object>a).shape}")
    row.n = row.nnz = np.PyArray_DIM(a, 0)
    row.i32, row.i64 = NULL, NULL
    buffer.reserve(row.n)
    row.value = buffer.value
    gather(row.n, <const char *>np.PyArray_DATA(a), np.PyArray_STRIDE(a, 0),
           np.PyArray_TYPE(a) == np.NPY_FLOAT, buffer.value)
    return 0


cdef void gather(Py_ssize_t n, const char *at, Py_ssize_t step, bint floats,
                 double *out) noexcept nogil:
    cdef Py_ssize_t e
    if floats:
        for e in range(n):
            out[e] = (<const float *>(at + e * step))[0]
    else:
        for e in range(n):
            out[e] = (<const double *>(at + e * step))[0]


# --- other sparse formats ---------------------------------------------------------------------


def as_csr(x, str name):
    """x as CSR. The places and ends of a CSR itself are left to whoever reads them."""
    form = getattr(x, "format", "")
    if form == "csr":
        return x
    if form not in ("coo", "csc", "bsr", "dia", "lil", "dok"):
        raise TypeError(f"{name} has the sparse format {form!r}: expected one of csr, coo, csc, "
                        "bsr, dia, lil, dok")
    try:
        x = made_anew(x, form, f"the indices of {name}")
        return (x.reshape((1, x.shape[0])) if len(x.shape) == 1 else x).tocsr()
    except (AttributeError, IndexError, ValueError) as error:
        raise ValueError(f"{name} is no whole {form} matrix: {error}") from None


def checked_csr(X, str name):
    """X as CSR that was looked at as `rows_of` does, for who leaves the rest to scipy."""
    X = as_csr(X, name)
    rows_of(X, name)
    return X


cdef object made_anew(object x, str form, str name):
    """The matrix from its parts, which scipy checks when it is given them, and not later."""
    import scipy.sparse  # which has made x

    kind = getattr(scipy.sparse, f"{form}_array")
    if form == "coo":
        places = x.coords if hasattr(x, "coords") else (x.row, x.col)
        return kind((x.data, tuple([indices_of(part, name) for part in places])), shape=x.shape)
    if form == "dia":
        return kind((x.data, indices_of(x.offsets, name)), shape=x.shape)
    if form == "dok":
        return x.tocoo()
    if form == "lil":
        if not len(x.rows) == len(x.data) == x.shape[0]:
            raise ValueError("it must have one list for each row")
        for places, values in zip(x.rows, x.data):
            if len(places) != len(values):
                raise ValueError("it must have one value for each index")
            if len(places) and not 0 <= indices_of(places, name).min() <= max(places) < x.shape[1]:
                raise ValueError(f"it has an index outside 0 ... {x.shape[1] - 1}")
        return x
    parts = x.data, indices_of(x.indices, name), indices_of(x.indptr, name)
    made = kind(parts, shape=x.shape)
    made.check_format(full_check=True)
    return made


# --- many rows --------------------------------------------------------------------------------


cdef Rows rows_of(object X, str name):
    cdef Rows rows = Rows()
    fill_rows(rows, X, name)
    return rows


cdef int fill_rows(Rows rows, object X, str name) except -1:
    cdef np.ndarray a
    if is_sparse(X):
        if len(X.shape) != 2:
            raise ValueError(f"{name} must have 2 dimensions, got shape {X.shape}")
        take_sparse(rows, as_csr(X, name), name)
    else:
        a = floating(X, name)
        if np.PyArray_NDIM(a) != 2:
            raise ValueError(f"{name} must have 2 dimensions, got shape {(<object>a).shape}")
        take_dense(rows, a, name)
    if rows.d == 0:
        raise ValueError(f"{name} must have at least one feature")
    return 0


cdef int take_dense(Rows rows, np.ndarray a, str name) except -1:
    cdef Matrix x
    rows.n, rows.d = np.PyArray_DIM(a, 0), np.PyArray_DIM(a, 1)
    rows.most, rows.place, rows.ends = rows.d, NULL, NULL
    rows.floats, rows.value = np.PyArray_TYPE(a) == np.NPY_FLOAT, <const char *>np.PyArray_DATA(a)
    rows.row_step, rows.column_step = np.PyArray_STRIDE(a, 0), np.PyArray_STRIDE(a, 1)
    whole = rows.column_step == 8 or rows.d <= 1
    rows.kind = DOUBLES if whole and not rows.floats else GATHERED
    rows.held = (a,)
    if (rows.kind == DOUBLES and rows.row_step == 8 * rows.d
            and K.all_finite(rows.n * rows.d, <const double *>rows.value)):
        return 0
    if not has_plain_rows(a, 1):
        return refuse_non_finite(a, name)
    x = matrix_of(a)
    return refuse_bad_matrix(a, &x, name)


cdef int take_sparse(Rows rows, object X, str name) except -1:
    cdef object data = X.data, places = X.indices, ends = X.indptr
    cdef int kind = list_kind(data), width = list_kind(places), ends_width = list_kind(ends)
    if (kind not in (CF_DOUBLES, CF_FLOATS) or width not in (CF_INT32, CF_INT64)
            or ends_width not in (CF_INT32, CF_INT64)):
        data, places, ends = plain_csr(X, name)
        kind, width, ends_width = CF_DOUBLES, CF_INT64, CF_INT64
    rows.n, rows.d = X.shape
    rows.kind, rows.floats = SPARSE, kind == CF_FLOATS
    rows.wide, rows.wide_ends = width == CF_INT64, ends_width == CF_INT64
    rows.held = (data, places, ends)
    rows.value = <const char *>np.PyArray_DATA(<np.ndarray>data)
    rows.place = <const char *>np.PyArray_DATA(<np.ndarray>places)
    rows.ends = <const char *>np.PyArray_DATA(<np.ndarray>ends)
    if np.PyArray_DIM(<np.ndarray>ends, 0) != rows.n + 1:
        raise ValueError(f"{name} has an indptr that does not go with {rows.n} rows")
    check_places(rows, name)
    if rows.end(rows.n) > min(np.PyArray_DIM(<np.ndarray>data, 0),
                              np.PyArray_DIM(<np.ndarray>places, 0)):
        raise ValueError(f"{name} has an indptr that does not go with its entries")
    return check_values(rows, name, data)


cdef int check_places(Rows rows, str name) except -1:
    """Row ends ascend, places are in range; notes whether they are in order everywhere."""
    cdef Py_ssize_t t, begin, end = rows.end(0), total = len(rows.held[1])
    cdef int answer = CF_ROW_GOOD
    cdef cf_row row
    rows.ordered = True
    rows.most = 0
    for t in range(rows.n):
        begin, end = end, rows.end(t + 1)
        if not 0 <= begin <= end <= total:
            raise ValueError(f"{name} has an indptr that does not go with its entries")
        rows.places(t, &row)
        answer = order_of(&row)
        if answer == CF_ROW_BAD:
            raise ValueError(f"{name} has a column index outside 0 ... {rows.d - 1}, "
                             f"in row {t}")
        rows.ordered = rows.ordered and answer == CF_ROW_GOOD
        rows.most = max(rows.most, end - begin)
    return 0


cdef int check_values(Rows rows, str name, object data) except -1:
    cdef Py_ssize_t t, begin = rows.end(0), n = rows.end(rows.n) - begin
    cdef RowBuffer buffer
    cdef cf_row row
    if rows.floats:
        good = K.all_finite_f32(n, <const float *>rows.value + begin)
    else:
        good = K.all_finite(n, <const double *>rows.value + begin)
    if not good:
        part = <np.ndarray>data[begin:begin + n]
        refuse_non_finite(part, name)
    if not rows.ordered:
        buffer = RowBuffer()
        buffer.reserve(rows.most)
        for t in range(rows.n):
            if not rows.at(t, buffer, &row):
                raise ValueError(f"{name} has repeated entries in row {t} whose sum "
                                 "overflows")
    return 0


cdef class Rows:
    cdef bint at(self, Py_ssize_t t, RowBuffer buffer, cf_row *row) noexcept nogil:
        cdef const char *at = self.value
        cdef Py_ssize_t size = 4 if self.floats else 8
        row.n = row.nnz = self.d
        row.i32, row.i64 = NULL, NULL
        if self.kind == DOUBLES:
            row.value = <const double *>(at + t * self.row_step)
            return True
        if self.kind == SPARSE:
            self.places(t, row)
            at += self.end(t) * size
            row.value = <const double *>at
            if self.floats:
                row.value = buffer.value
                gather(row.nnz, at, size, True, buffer.value)
            return (self.ordered or order_of(row) == CF_ROW_GOOD
                    or (into_order(buffer, row)
                        and K.row_check(row.nnz, row.value) != CF_ROW_BAD))
        row.value = buffer.value
        gather(self.d, at + t * self.row_step, self.column_step, self.floats, buffer.value)
        return True


cpdef np.ndarray table_of(object X, str name):
    """All rows written out: float64 or float32 with contiguous rows; a dense one is not looked at
    for NaN."""
    if has_plain_rows(X, 1) or not is_sparse(X):
        return as_rows(X, name)
    return dense_table(rows_of(X, name), RowBuffer(), name)


cdef np.ndarray dense_table(Rows rows, RowBuffer buffer, str name):
    cdef np.ndarray out
    cdef cf_row row
    cdef Py_ssize_t t
    product_of(rows.n, rows.d, name)
    refuse_beyond_limit(8.0 * rows.n * rows.d, f"{name} written out", "fewer columns take less")
    buffer.reserve(rows.most)
    out = <np.ndarray>numpy.empty((rows.n, rows.d))
    for t in range(rows.n):
        rows.at(t, buffer, &row)
        lay_row(&row, data_of(out) + t * rows.d)
    return out


cdef np.ndarray written_out(object x, str name, Py_ssize_t width=0):
    cdef RowBuffer buffer = RowBuffer()
    cdef cf_row row
    row_of(x, name, buffer, &row, width)
    if width and row.n != width:
        refuse_length(row.n, name, width, "the learner")
    return dense_vector(&row, name)


cdef np.ndarray dense_vector(const cf_row *row, str name):
    cdef np.ndarray out
    if row.nnz < row.n:
        refuse_beyond_limit(8.0 * row.n, f"{name} of {row.n} features",
                            "fewer features take less")
    out = new_vector(row.n)
    lay_row(row, data_of(out))
    return out


def table(X, str name):
    """`table_of` for Python modules, looked at for NaN: a table of finite numbers."""
    cdef np.ndarray found = table_of(X, name)
    refuse_non_finite(found, name)
    return found


# --- the workspace of a round -----------------------------------------------------------------


cdef class Forms:
    def __dealloc__(self):
        L.free(self.dense)

    cdef int widen(self, const cf_row *x) except -1:
        """Room for x written out."""
        cdef double *wide
        if self.wide < x.n and (x.i32 != NULL or x.i64 != NULL):
            wide = new_doubles(x.n, 1, "a row written out")
            L.free(self.dense)
            self.dense, self.wide = wide, x.n
        return 0

    cdef const double *whole(self, const cf_row *x) noexcept nogil:
        """x written out; `clear` gives the scratch back."""
        if x.i32 == NULL and x.i64 == NULL:
            return x.value
        scatter(x, self.dense)
        return self.dense

    cdef void clear(self, const cf_row *x) noexcept nogil:
        cdef cf_row row = x[0]
        cdef Py_ssize_t e
        for e in range(0 if row.i32 == NULL and row.i64 == NULL else row.nnz):
            self.dense[place_of(&row, e)] = 0.0

    cdef void gather(self, const cf_row *x) noexcept nogil:
        """The entries of x that are not zero."""
        cdef cf_row row = x[0]
        cdef Py_ssize_t e, n = 0
        for e in range(row.nnz):
            self.value[n], self.place[n] = row.value[e], place_of(&row, e)
            n += row.value[e] != 0.0
        self.nnz = n


cdef class Workspace:
    def __cinit__(self):
        self.buffer, self.view, self.last = RowBuffer(), RowBuffer(), RowBuffer()
        self.scaled = RowBuffer()
        self.forms = Forms()
        self.known_round = -1

    def __dealloc__(self):
        L.free(self.score)
        L.free(self.vectors)

    cdef int reserve(self, Py_ssize_t k, Py_ssize_t doubles) except -1:
        """Memory for k classes and so many doubles of vectors; what was read is lost where it grows."""
        cdef Py_ssize_t lanes
        cdef double *block
        if k > self.lanes:
            lanes = cf_pad(k)
            block = new_doubles(5, lanes + cf_scores_scratch(k), f"scratch for {k} classes")
            L.free(self.score)
            self.score, self.lanes = block, lanes
            self.quad, self.coef, self.temp = block + lanes, block + 2 * lanes, block + 3 * lanes
            self.forget()
        if doubles > self.vectors_room:
            block = new_doubles(doubles, 1, "scratch")
            L.free(self.vectors)
            self.vectors, self.vectors_room = block, doubles
            self.forget()
        return 0

    cdef int reserve_for(self, Rows rows) except -1:
        self.buffer.reserve(rows.most)
        self.scaled.reserve(rows.most)
        self.row.n, self.row.nnz, self.row.i32 = rows.d, rows.most, NULL
        self.row.i64 = <const int64_t *>rows.place  # that it is not NULL is all that counts
        return 0

    cdef int load(self, Rows rows, Py_ssize_t t) noexcept nogil:
        if not rows.at(t, self.buffer, &self.row):
            return CF_ENOMEM
        self.null = K.row_check(self.row.nnz, self.row.value) == CF_ROW_NULL
        return CF_OK

    cdef void scale_row(self) noexcept nogil:
        if not self.null:
            K.row_unit(self.row.nnz, self.row.value, self.scaled.value)
            self.row.value = self.scaled.value

    cdef int remember(self, const cf_row *row, int64_t round, int64_t stamp) except -1:
        cdef Py_ssize_t nnz = row.nnz
        if nnz > self.last.room - 8:
            self.last.grow(nnz)
        memcpy(self.last.value, row.value, <size_t>nnz * sizeof(double))
        if row.i32 != NULL:
            memcpy(self.last.place, row.i32, <size_t>nnz * 4)
        elif row.i64 != NULL:
            memcpy(self.last.place, row.i64, <size_t>nnz * 8)
        self.known, self.known_null = row[0], self.null
        self.known_round, self.known_stamp = round, stamp
        return 0

    cdef bint matches(self, const cf_row *row, int64_t round, int64_t stamp) noexcept:
        cdef size_t nnz = <size_t>row.nnz
        if (self.known_round != round or self.known_stamp != stamp or self.known.n != row.n
                or self.known.nnz != row.nnz or (self.known.i32 == NULL) != (row.i32 == NULL)
                or (self.known.i64 == NULL) != (row.i64 == NULL)):
            return False
        if row.i32 != NULL and memcmp(self.last.place, row.i32, nnz * 4):
            return False
        if row.i64 != NULL and memcmp(self.last.place, row.i64, nnz * 8):
            return False
        return memcmp(self.last.value, row.value, nnz * sizeof(double)) == 0
