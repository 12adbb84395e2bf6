"""The dual metric: the same matrix seen through the Gram matrix of the rows it was made of."""

from threading import get_ident

import numpy

from libc.math cimport fabs, sqrt
from libc.stddef cimport size_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memmove, memset

from coactive_fast._arrays cimport as_number, data_of, new_vector, product_of, refuse
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_EVALUE, CF_FULL_AUTO, CF_OK, cf_cholesky_at, cf_get_library, cf_get_table,
    cf_library, cf_pad, cf_panels_size, cf_posting, cf_posting_list, cf_table, cf_triangle,
)
from coactive_fast.learner._state cimport VERSION, opened, table_from, vector_of, versioned
from coactive_fast.metric._base cimport ANY, Metric, as_order, as_ridge, as_weight, row_in
from coactive_fast.metric._full cimport Full
from coactive_fast.rows._rows cimport RowBuffer

from coactive_fast import _memory

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()


# --- kept rows and the dual matrix over them --------------------------------------------------

cdef enum Kind:
    LINEAR
    RBF
    POLY
    CALLABLE

cdef enum:
    NARROW = 64      # features up to which rows are always kept dense
    WIDE = 4096      # and from which on never
    MOST_ROWS = 1 << 28  # their factor would be 2^58 bytes

KINDS = {"linear": LINEAR, "rbf": RBF, "poly": POLY}
PARAMETERS = {"linear": (), "rbf": ("gamma",), "poly": ("gamma", "coef0", "degree")}


cdef void *larger(const void *old, Py_ssize_t kept, Py_ssize_t count, size_t size) except NULL:
    """A new block with the first `kept` items of an old one, which stays."""
    cdef void *block
    product_of(count, <Py_ssize_t>size, "what is kept of the rows")
    _memory.refuse_beyond_limit((<double>kept + <double>count) * size, "what is kept of the rows",
                                "a budget, or a window, keeps fewer")
    block = L.alloc(<size_t>count, size)
    if block == NULL:
        raise MemoryError(f"{count * <Py_ssize_t>size} bytes of kept rows; a budget keeps fewer")
    if kept:
        memcpy(block, old, <size_t>kept * size)
    return block


cdef Py_ssize_t more_than(Py_ssize_t room, Py_ssize_t needed) noexcept:
    return max(needed, room + room // 4 + 16)


cdef object frozen(const cf_row *x):
    """A copy of x written out that nobody can write to."""
    cdef np.ndarray v
    cdef double *to
    cdef Py_ssize_t e
    _memory.refuse_beyond_limit(8.0 * x.n, "a row", "a kernel of this package takes less")
    v = <np.ndarray>numpy.zeros(x.n)
    to = data_of(v)
    for e in range(x.nnz):
        to[x.i32[e] if x.i32 != NULL else x.i64[e] if x.i64 != NULL else e] = x.value[e]
    v.flags.writeable = False
    return v


cdef class Errors:
    def __cinit__(self):
        self.raised = {}

    cdef void keep(self, object error) noexcept:
        self.raised[get_ident()] = error

    cdef int raise_own(self) except -1:
        error = self.raised.pop(get_ident(), None)
        if error is not None:
            raise error
        return 0


cdef class Kept:
    """Rows and a kernel.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly"} or callable
    kernel_params : dict or None
    """

    def __init__(self, kernel, kernel_params):
        if not isinstance(kernel_params, (dict, type(None))):
            raise TypeError("kernel_params must be a dict or None, got "
                            f"{type(kernel_params).__name__}")
        params = dict(kernel_params or {})
        if callable(kernel):
            self.kind = CALLABLE
        elif isinstance(kernel, str):
            if kernel not in KINDS:
                raise ValueError(f"kernel must be one of {list(KINDS)} or callable, got "
                                 f"{kernel!r}")
            self.kind = KINDS[kernel]
            for name in params:
                if name not in PARAMETERS[kernel]:
                    raise ValueError(f"kernel_params of {kernel!r} may hold "
                                     f"{list(PARAMETERS[kernel])}, got {name!r}")
        else:
            raise TypeError(f"kernel must be a name or callable, got {type(kernel).__name__}")
        self.kernel, self.params = kernel, params
        self.gamma, self.coef0, self.degree = -1.0, 1.0, 3.0
        if self.kind != CALLABLE:
            self._take(params)
        self.rows = []
        self.errors = Errors()

    def _take(self, params):
        if params.get("gamma") is not None:
            self.gamma = as_number(params["gamma"], "gamma of kernel_params")
            if self.gamma <= 0.0:
                raise ValueError(f"gamma of kernel_params must be > 0, got {self.gamma}")
        self.coef0 = as_number(params.get("coef0", 1.0), "coef0 of kernel_params")
        self.degree = as_number(params.get("degree", 3.0), "degree of kernel_params")

    def __dealloc__(self):
        self.give_back()

    cdef void give_back(self) noexcept:
        L.free(self.dense)
        L.free(self.begin)
        L.free(self.square)
        L.free(self.index)
        L.free(self.value)
        L.free(self.lists.pool)
        free(self.lists.list)
        self.dense = self.square = self.value = NULL
        self.begin, self.index = NULL, NULL
        memset(&self.lists, 0, sizeof(self.lists))
        self.room = self.entries = self.lead = 0
        self.form = UNDECIDED

    cdef bint callable(self) noexcept nogil:
        return self.kind == CALLABLE

    cdef bint wants_dense(self, const cf_row *x) noexcept nogil:
        """Whether `values` and `append` may want x written out."""
        if self.kind == CALLABLE:
            return False
        if self.n == 0 and (self.form == UNDECIDED or x.n != self.d):
            return x.n <= WIDE  # see `form_of`
        return self.form == KEPT_DENSE

    cdef int raise_error(self) except -1:
        """What a callable kernel raised, if that was it."""
        return self.errors.raise_own()

    # --- values -----------------------------------------------------------------------------

    cdef double scale(self, const cf_row *x) noexcept nogil:
        return self.gamma if self.gamma > 0.0 else 1.0 / x.n

    cdef int own(self, const cf_row *x, double *out) noexcept nogil:
        """k(x, x), finite and >= 0."""
        if self.kind == CALLABLE:
            with gil:
                return self.ask(x, 0, True, out)
        out[0] = 1.0 if self.kind == RBF else K.ridge_square(x)
        if self.kind == POLY:
            K.poly_of_dots(1, self.scale(x), self.coef0, self.degree, out)
        return CF_OK if out[0] - out[0] == 0.0 and out[0] >= 0.0 else CF_ENONFINITE

    cdef int values(self, const cf_row *x, Forms forms, Py_ssize_t first,
                    double *out) noexcept nogil:
        """k(row, x) of the rows `first` ... n - 1; x is `fit` and, for sparse ones, gathered."""
        cdef Py_ssize_t n = self.n - first, d = self.d
        cdef const double *rows
        cdef const double *v
        if n <= 0:
            return CF_OK
        if self.kind == CALLABLE:
            with gil:
                return self.ask(x, first, False, out)
        if self.form == KEPT_DENSE:
            rows = self.dense + (self.lead + first) * d
            v = forms.whole(x)
            if self.kind == LINEAR:
                K.scores(n, d, rows, d, v, out)
            elif self.kind == RBF:
                K.gram_rbf(n, d, rows, d, v, self.scale(x), out)
            else:
                K.gram_poly(n, d, rows, d, v, self.scale(x), self.coef0, self.degree, out)
            forms.clear(x)
        else:
            K.postings_dots(&self.lists, self.lists.oldest + first, forms.nnz, forms.index,
                            forms.value, out)
            if self.kind == RBF:
                K.rbf_of_dots(n, self.square + self.lead + first, K.ridge_square(x),
                              self.scale(x), out)
            elif self.kind == POLY:
                K.poly_of_dots(n, self.scale(x), self.coef0, self.degree, out)
        return CF_OK if K.all_finite(n, out) else CF_ENONFINITE

    cdef int ask(self, const cf_row *x, Py_ssize_t first, bint own, double *out) noexcept:
        """A callable kernel, which may raise anything: kept for `raise_error`."""
        cdef Py_ssize_t s
        self.coming = None  # a row that was not appended after all
        try:
            v = frozen(x)
            if own:
                out[0] = as_number(self.kernel(v, v, **self.params), "the kernel's value")
                if out[0] < 0.0:
                    raise ValueError(f"the kernel of x with itself must be >= 0, got {out[0]}")
                return CF_OK
            for s in range(first, self.n):
                out[s - first] = as_number(self.kernel(self.rows[s], v, **self.params),
                                           "the kernel's value")
            return CF_OK
        except BaseException as error:
            self.errors.keep(error)
            return CF_EVALUE

    # --- rows come and go ---------------------------------------------------------------------

    cdef Form form_of(self, const cf_row *x, Forms forms) noexcept nogil:
        """Dense where that is small or at least a quarter of the first row is not zero."""
        if self.form != UNDECIDED:
            return self.form
        if x.n <= NARROW:
            return KEPT_DENSE
        forms.gather(x)
        return KEPT_DENSE if x.n <= WIDE and 4 * forms.nnz >= x.n else KEPT_SPARSE

    cdef bint has_room(self, const cf_row *x, Forms forms) noexcept nogil:
        """Whether `append` can do without `make_room`; sparse rows are gathered."""
        if self.kind == CALLABLE:
            return self.coming is not None
        if self.form == UNDECIDED or self.lead + self.n >= self.room or x.n != self.d:
            return False
        if self.form == KEPT_DENSE:
            return True
        if self.begin[self.lead + self.n] + forms.nnz > self.entries:
            return False
        if forms.nnz and forms.index[forms.nnz - 1] >= self.lists.features:
            return False
        return L.postings_lack(&self.lists, forms.nnz, forms.index) == 0

    cdef int make_room(self, const cf_row *x, Forms forms) except -1:
        """Memory for one row more; nothing that can be seen changes."""
        cdef Form form
        if self.kind == CALLABLE:
            self.coming = frozen(x)
            return 0
        if self.n == 0 and x.n != self.d:
            self.give_back()  # what a row that was not appended in the end had asked for
        form = self.form_of(x, forms)
        self.d = x.n
        if self.lead > self.n:
            self.move_down()
        if self.lead + self.n >= self.room:
            self.grow_rows(form, more_than(self.room, self.lead + self.n + 1))
        if form == KEPT_SPARSE:
            forms.gather(x)
            self.grow_entries(forms.nnz)
            self.grow_lists(forms)
        self.form = form
        return 0

    cdef void move_down(self) noexcept:
        """The place of the rows that have left is used again."""
        cdef Py_ssize_t s
        cdef ptrdiff_t gone
        if self.form == KEPT_DENSE:
            memmove(self.dense, self.dense + self.lead * self.d,
                    <size_t>(self.n * self.d) * sizeof(double))
        else:
            gone = self.begin[self.lead]
            for s in range(self.n + 1):
                self.begin[s] = self.begin[self.lead + s] - gone
            memmove(self.square, self.square + self.lead, <size_t>self.n * sizeof(double))
            memmove(self.index, self.index + gone, <size_t>self.begin[self.n] * sizeof(int64_t))
            memmove(self.value, self.value + gone, <size_t>self.begin[self.n] * sizeof(double))
        self.lead = 0

    cdef int grow_rows(self, Form form, Py_ssize_t room) except -1:
        cdef Py_ssize_t held = self.lead + self.n
        if form == KEPT_DENSE:
            rows = larger(self.dense, held * self.d, product_of(room, self.d, "rows that are kept"),
                          sizeof(double))
            L.free(self.dense)
            self.dense = <double *>rows
        else:
            square = larger(self.square, held, room, sizeof(double))
            L.free(self.square)
            self.square = <double *>square
            begin = larger(self.begin, held + 1 if self.room else 0, room + 1, sizeof(ptrdiff_t))
            L.free(self.begin)
            self.begin = <ptrdiff_t *>begin
            if self.room == 0:
                self.begin[0] = 0
        self.room = room
        return 0

    cdef int grow_entries(self, Py_ssize_t more) except -1:
        cdef Py_ssize_t held = self.begin[self.lead + self.n], room
        if held + more <= self.entries:
            return 0
        room = more_than(self.entries, held + more)
        index = larger(self.index, held, room, sizeof(int64_t))
        L.free(self.index)
        self.index = <int64_t *>index
        value = larger(self.value, held, room, sizeof(double))
        L.free(self.value)
        self.value = <double *>value
        self.entries = room
        return 0

    cdef int grow_lists(self, Forms forms) except -1:
        cdef Py_ssize_t features = forms.index[forms.nnz - 1] + 1 if forms.nnz else 0, room, lack
        if features > self.lists.features:
            self.grow_table(min(self.d, more_than(self.lists.features, features)))
        lack = L.postings_lack(&self.lists, forms.nnz, forms.index)
        if lack:
            room = more_than(self.lists.room, self.lists.room + lack)
            pool = larger(self.lists.pool, self.lists.used, room, sizeof(cf_posting))
            L.free(self.lists.pool)
            self.lists.pool, self.lists.room = <cf_posting *>pool, room
        return 0

    cdef int grow_table(self, Py_ssize_t features) except -1:
        """Lists for so many features. Pages of memory in which no list stands are never touched,
        and so take no memory: of very many features few may occur."""
        cdef cf_posting_list *lists
        cdef ptrdiff_t e
        product_of(features, sizeof(cf_posting_list), "the lists of features")
        _memory.refuse_beyond_limit(<double>features * sizeof(cf_posting_list),
                                    f"the lists of {features} features", "fewer take less")
        lists = <cf_posting_list *>calloc(<size_t>features, sizeof(cf_posting_list))
        if lists == NULL:
            raise MemoryError(f"{features * <Py_ssize_t>sizeof(cf_posting_list)} bytes for the "
                              f"lists of {features} features")
        for e in range(self.begin[self.lead], self.begin[self.lead + self.n]):
            lists[self.index[e]] = self.lists.list[self.index[e]]
        free(self.lists.list)
        self.lists.list, self.lists.features = lists, features
        return 0

    cdef void append(self, const cf_row *x, Forms forms) noexcept nogil:
        """x as the last row; after `has_room` or `make_room` for it."""
        cdef Py_ssize_t at = self.lead + self.n
        cdef ptrdiff_t end
        if self.kind == CALLABLE:
            with gil:
                self.rows.append(self.coming)
                self.coming = None
            self.d = x.n
        elif self.form == KEPT_DENSE:
            memcpy(self.dense + at * self.d, forms.whole(x),
                   <size_t>self.d * sizeof(double))
            forms.clear(x)
        else:
            end = self.begin[at] + forms.nnz
            memcpy(self.index + self.begin[at], forms.index,
                   <size_t>forms.nnz * sizeof(int64_t))
            memcpy(self.value + self.begin[at], forms.value, <size_t>forms.nnz * sizeof(double))
            self.begin[at + 1] = end
            self.square[at] = K.ridge_square(x)
            L.postings_add(&self.lists, forms.nnz, forms.index, forms.value)
        self.n += 1

    cdef void drop_first(self) noexcept nogil:
        """The oldest row leaves."""
        cdef Py_ssize_t at = self.lead
        if self.kind == CALLABLE:
            with gil:
                del self.rows[0]
        else:
            if self.form == KEPT_SPARSE:
                L.postings_drop(&self.lists, self.begin[at + 1] - self.begin[at],
                                self.index + self.begin[at])
            self.lead += 1
        self.n -= 1

    # --- state --------------------------------------------------------------------------------

    cdef dict state(self):
        """The rows, as plain arrays."""
        cdef np.ndarray begin, index
        cdef ptrdiff_t first
        told = {"d": self.d, "n": self.n, "form": <int>self.form}
        if self.kind == CALLABLE:
            told["rows"] = numpy.array(self.rows).reshape(self.n, self.d)
        elif self.form == KEPT_DENSE:
            told["rows"] = table_from(self.dense + self.lead * self.d, self.n, self.d, self.d)
        elif self.form == KEPT_SPARSE and self.n:
            first = self.begin[self.lead]
            begin = <np.ndarray>numpy.empty(self.n + 1, dtype=numpy.int64)
            memcpy(np.PyArray_DATA(begin), self.begin + self.lead, <size_t>np.PyArray_NBYTES(begin))
            index = <np.ndarray>numpy.empty(begin[self.n] - first, dtype=numpy.int64)
            memcpy(np.PyArray_DATA(index), self.index + first, <size_t>np.PyArray_NBYTES(index))
            told["begin"], told["index"] = begin - first, index
            told["value"] = vector_of(self.value + first, np.PyArray_DIM(index, 0))
        return told

    cdef int restore(self, State state) except -1:
        cdef Forms forms = Forms()
        cdef cf_row x
        cdef np.ndarray rows, begin, index
        cdef Py_ssize_t n = state.count("n"), d = state.count("d", 1 if n else 0), s
        cdef const int64_t *at
        cdef int form = state.count("form", UNDECIDED, KEPT_SPARSE)
        if self.kind == CALLABLE and form == KEPT_DENSE:
            form = UNDECIDED  # rows of a callable kernel are kept as they are handed to it
        if n and (form == UNDECIDED) != (self.kind == CALLABLE):
            state.refuse("form", "that of rows of this kernel", form)
        self.d, self.form = d, <Form>form
        x.n, x.i32, x.i64 = d, NULL, NULL
        if n and form != KEPT_SPARSE:
            rows = state.table("rows", n, d)
            for s in range(n):
                x.nnz, x.value = d, data_of(rows) + s * d
                self.take_row(&x, forms)
        elif n:
            begin = state.counts("begin", n + 1)
            at = <const int64_t *>np.PyArray_DATA(begin)
            index = state.counts("index", at[n], 0, d - 1)
            rows = state.vector("value", at[n])
            for s in range(n):
                x.nnz, x.value = at[s + 1] - at[s], data_of(rows) + at[s]
                x.i64 = <const int64_t *>np.PyArray_DATA(index) + at[s]
                if at[0] != 0 or x.nnz < 0 or at[s + 1] > at[n]:
                    state.refuse("begin", "ascending from 0")
                if x.nnz > 1 and not (numpy.diff(index[at[s]:at[s + 1]]) > 0).all():
                    state.refuse("index", "ascending in each row")
                self.take_row(&x, forms)
        return 0

    cdef int take_row(self, const cf_row *x, Forms forms) except -1:
        forms.fit(x, self.wants_dense(x))
        self.make_room(x, forms)
        self.append(x, forms)
        return 0


# --- their factor ---------------------------------------------------------------------------


cdef class Gram:
    """Kept rows with their factor.

    Parameters
    ----------
    kernel, kernel_params
        See `Kept`.
    ridge : float
        What stands on the diagonal besides k(x, x), >= 0.
    """

    def __init__(self, kernel, kernel_params, double ridge):
        self.kept = Kept(kernel, kernel_params)
        self.ridge = ridge

    def __dealloc__(self):
        L.free(self.factor.data)
        L.free(self.factor.inv)

    cdef int fit(self, const cf_row *x, Forms forms) except -1:
        return forms.fit(x, self.kept.wants_dense(x))

    cdef void gather(self, const cf_row *x, Forms forms) noexcept nogil:
        if self.kept.form == KEPT_SPARSE:
            forms.gather(x)

    cdef void weigh(self, double *values) noexcept nogil:
        pass

    cdef void solve_values(self, double *u) noexcept nogil:
        cdef Py_ssize_t n = self.factor.n
        self.weigh(u)
        memset(u + n, 0, <size_t>(self.length() - n) * sizeof(double))
        K.cholesky_forward(&self.factor, u, u)

    cdef int solve(self, const cf_row *x, Forms forms, double *u, double *own) noexcept nogil:
        cdef int status = self.kept.own(x, own)
        if status == CF_OK:
            status = self.kept.values(x, forms, 0, u)
        if status == CF_OK:
            self.solve_values(u)
        return status

    # --- rows come and go ---------------------------------------------------------------------

    cdef bint has_room(self, const cf_row *x, Forms forms) noexcept nogil:
        self.gather(x, forms)
        return self.factor.n < self.room and self.kept.has_room(x, forms)

    cdef int make_room(self, const cf_row *x, Forms forms) except -1:
        self.grow()
        return self.kept.make_room(x, forms)

    cdef int grow(self) except -1:
        cdef Py_ssize_t n = self.factor.n
        return self.take_room(max(16, n + n // 4 + 8)) if n >= self.room else 0

    cdef int take_room(self, Py_ssize_t room) except -1:
        """Memory for a factor of so many rows."""
        cdef Py_ssize_t n = self.factor.n
        cdef double *data
        _memory.refuse_beyond_limit(
            8.0 * (cf_panels_size(room) + cf_panels_size(n)),
            f"the factor of {room} learned examples", "a budget, or a window, keeps fewer")
        data = <double *>L.alloc(<size_t>cf_panels_size(room), sizeof(double))
        inv = <double *>L.alloc(<size_t>cf_pad(room), sizeof(double))
        if data == NULL or inv == NULL:
            L.free(data)
            L.free(inv)
            raise MemoryError(f"{8 * cf_panels_size(room)} bytes for the factor of {room} "
                              "learned examples: a budget, or a window, keeps fewer")
        if n:
            memcpy(data, self.factor.data, <size_t>cf_panels_size(n) * sizeof(double))
            memcpy(inv, self.factor.inv, <size_t>cf_pad(n) * sizeof(double))
        L.free(self.factor.data)
        L.free(self.factor.inv)
        self.factor.data, self.factor.inv, self.room = data, inv, room
        return 0

    cdef void append(self, const cf_row *x, Forms forms, const double *u,
                     double pivot) noexcept nogil:
        self.kept.append(x, forms)
        K.cholesky_append(&self.factor, u, pivot)

    cdef void drop_first(self, double *scratch) noexcept nogil:
        self.kept.drop_first()
        K.cholesky_drop_first(&self.factor, scratch)

    cdef double logdet(self) noexcept nogil:
        cdef Py_ssize_t i
        cdef double sum = 0.0
        for i in range(self.factor.n):
            sum -= 2.0 * K.log_one(self.factor.inv[i])
        if self.ridge > 0.0:
            sum -= self.factor.n * K.log_one(self.ridge)
        return sum

    # --- state --------------------------------------------------------------------------------

    cdef dict state(self):
        return {"kept": self.kept.state(), "factor": self.factor_told()}

    cdef np.ndarray factor_told(self):
        return vector_of(self.factor.data, cf_panels_size(self.factor.n))

    cdef int restore(self, State state) except -1:
        cdef State kept = state.part("kept")
        cdef Py_ssize_t n = kept.count("n", 0, MOST_ROWS)
        self.restore_factor(state, n)
        return self.kept.restore(kept)

    cdef int restore_factor(self, State state, Py_ssize_t n) except -1:
        cdef np.ndarray factor = state.vector("factor", cf_panels_size(n))
        cdef Py_ssize_t i, j
        cdef double pivot
        if n == 0:
            return 0
        self.take_room(n)
        memcpy(self.factor.data, data_of(factor), <size_t>np.PyArray_NBYTES(factor))
        memset(self.factor.inv, 0, <size_t>cf_pad(n) * sizeof(double))
        self.factor.n = n
        for i in range(n):
            pivot = cf_cholesky_at(&self.factor, i, i)[0]
            if not pivot > 0.0:
                state.refuse("factor", "with pivots > 0", pivot)
            self.factor.inv[i] = 1.0 / pivot
        for i in range(cf_pad(n)):
            for j in range(i + 1 if i < n else 0, (i // 8 + 1) * 8):
                if cf_cholesky_at(&self.factor, i, j)[0] != 0.0:
                    state.refuse("factor", "zero above its diagonal")
        return 0

cdef enum:
    BUSY = 64         # rows from which the GIL is let go


cdef class _Weighted(Gram):
    """M = ridge I + G with ``G_st = sqrt(c_s c_t) k(x_s, x_t)``."""

    cdef np.ndarray roots      # sqrt(c_s), and room for more

    def __init__(self, kernel, kernel_params, double ridge):
        Gram.__init__(self, kernel, kernel_params, ridge)
        self.roots = numpy.empty(0)

    cdef void weigh(self, double *values) noexcept nogil:
        cdef Py_ssize_t s
        for s in range(self.factor.n):
            values[s] *= data_of(self.roots)[s]

    cdef int make_room(self, const cf_row *x, Forms forms) except -1:
        cdef np.ndarray roots
        Gram.make_room(self, x, forms)
        if np.PyArray_DIM(self.roots, 0) < self.room:
            roots = <np.ndarray>numpy.zeros(self.room)
            roots[:self.factor.n] = self.roots[:self.factor.n]
            self.roots = roots
        return 0

cdef double MOST_LOST = 1e9  # of k(x, x) / ridge over what the rows stored leave of it


cdef int refuse_own(double own, double ridge) except -1:
    if not own / ridge < MOST_OWN:
        raise ValueError(f"x is too large: k(x, x) must be below {<int>MOST_OWN} times the ridge, got "
                         f"{own / ridge:g} times it; scale the columns, or use the full covariance")
    return 0


cdef class Dual(Metric):
    """Dual(*, kernel="linear", kernel_params=None, ridge=1.0, window=None, budget=None, \

tolerance=0.01)\n--\n
    ``A = ridge I + sum c phi(x) phi(x)^T`` in the space of a kernel, rows stored.

    What is kept is the Cholesky factor of ``M = ridge I + G``, ``G_st = sqrt(c_s c_t) k(x_s,
    x_t)`` over the t rows stored; a reading is one triangular solve, O(t^2 / 2), and the update
    after it is free. Memory: 4 t^2 bytes for the factor and the rows; a `MemoryError` names the
    bytes where there are not so many. Rows that are mostly zeros, given sparse or not, are kept
    sparse with an index from features to rows: a linear kernel then costs what x has in common
    with them.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly"} or callable, default "linear"
        A callable gets two 1-D rows and `kernel_params` as keywords.
    kernel_params : dict, optional
        By name: gamma (default 1 / number of features), coef0 (1), degree (3), as in scikit-learn.
    ridge : float, default 1.0
        Greater than 0. A row with ``c k(x, x)`` of 2^24 times the ridge or more is refused, and so
        is a reading that rounding leaves fewer than six digits of.
    window : int, optional
        Only the last `window` rows stay: the oldest leaves by a rank-one update of the factor.
    budget : int, optional
        At most so many rows are stored as a dictionary. A row joins it where its squared distance
        from the dictionary's span exceeds ``tolerance * k(x, x)``; all others count through their
        projection on that span (approximate linear dependence). Cost O(budget^2) an update and
        ``14 budget^2`` bytes from the start, however few rows there are.
    tolerance : float, default 1e-2
        See `budget`.

    See Also
    --------
    Full : In the features themselves.

    Examples
    --------
    >>> from coactive_fast.metric import Dual
    >>> m = Dual()
    >>> m.update([1.0, 0.0])
    1.0
    >>> round(m.quad([1.0, 0.0]), 12)
    0.5
    """

    cdef readonly object kernel
    cdef readonly double ridge
    cdef readonly object window
    cdef readonly object budget
    cdef readonly double tolerance
    # Invariants: `gram` holds the stored rows and the factor of M (with a budget: those of the
    # dictionary and of its Gram matrix, all weights 1). With a budget `inner` is A in the
    # coordinates of the dictionary, unused ones still at ridge.
    cdef _Weighted gram
    cdef Full inner
    cdef double _logdet
    cdef Py_ssize_t count
    cdef double missed        # sum of what ALD left out, c delta
    cdef object __weakref__

    def __init__(self, *, kernel="linear", kernel_params=None, ridge=1.0, window=None,
                 budget=None, tolerance=1e-2):
        self.unmade()
        self._make(kernel, kernel_params, ridge, window, budget, tolerance)
        if budget is not None:
            self.inner = Full(budget, ridge=ridge)
        self.made()

    cdef int _make(self, kernel, kernel_params, ridge, window, budget, tolerance) except -1:
        self.ridge = as_ridge(ridge)
        if window is not None and budget is not None:
            raise ValueError("window and budget exclude each other")
        self.window = None if window is None else as_order(window, "window")
        self.budget = None if budget is None else as_order(budget, "budget")
        self.tolerance = as_number(tolerance, "tolerance")
        if self.tolerance < 0.0:
            raise ValueError(f"tolerance must be >= 0, got {self.tolerance}")
        # the dictionary's factor is that of its Gram matrix alone
        self.gram = _Weighted(kernel, kernel_params, 0.0 if budget is not None else self.ridge)
        self.kernel = kernel
        self.inner = None
        self.count = 0
        self._logdet = self.missed = 0.0
        return 0

    def __len__(self):
        return 0 if self.gram is None else self.gram.factor.n

    @property
    def kernel_params(self):
        """A copy of the kernel's parameters."""
        return {} if self.gram is None else dict(self.gram.kept.params)

    # --- parts of a reading -------------------------------------------------------------------

    cdef object _row(self, object x, cf_row *row):
        """x as a row; what is returned owns its memory. The first one fixes the dimension."""
        cdef RowBuffer buffer = RowBuffer()
        row_in(x, "x", self.gram.kept.d if self.gram.kept.n else ANY, buffer, row)
        return buffer

    cdef np.ndarray _solved(self, const cf_row *x, Forms forms, double *own):
        """u = L^-1 (values of x with the rows, times their roots), zeros behind it; k(x, x)."""
        cdef np.ndarray u = new_vector(self.gram.length())
        cdef int status
        self.gram.fit(x, forms)
        self.gram.gather(x, forms)
        if self.gram.factor.n < BUSY or self.gram.kept.callable():
            status = self.gram.solve(x, forms, data_of(u), own)
        else:
            with nogil:
                status = self.gram.solve(x, forms, data_of(u), own)
        if status != CF_OK:
            self.gram.kept.raise_error()
            refuse(status, "the kernel of x")
        return u

    cdef double _rest(self, double own, np.ndarray u) noexcept:
        """k(x, x) - u.u, >= 0: what rounding takes below is put back."""
        return max(own - K.dot(self.gram.factor.n, data_of(u), data_of(u)), 0.0)

    cdef double _finite(self, double q) except? -1.0:
        if not q - q == 0.0:
            raise ValueError("x is too large: phi(x)^T A^-1 phi(x) overflows")
        return q

    cdef np.ndarray _coordinates(self, np.ndarray u):
        """u, which has zeros behind it, in as many coordinates as the budget allows."""
        cdef np.ndarray out = numpy.zeros(self.inner.core.n)
        cdef Py_ssize_t n = min(np.PyArray_DIM(u, 0), np.PyArray_DIM(out, 0))
        memcpy(data_of(out), data_of(u), <size_t>n * sizeof(double))
        return out

    # --- changing -----------------------------------------------------------------------------

    def update(self, x, *, c=1.0):
        """``A += c phi(x) phi(x)^T``; returns ``phi(x)^T A^-1 phi(x)`` from before.

        Parameters
        ----------
        x : array_like of shape (n,) or scipy.sparse row
            A row with k(x, x) = 0 returns 0 and is not stored.
        c : float, default 1.0
            Greater than 0.

        Returns
        -------
        float
            The value before the update; 0 where k(x, x) = 0, which changes nothing.
        """
        cdef double weight = as_weight(c), own, q
        cdef Forms forms = Forms()
        cdef np.ndarray u
        cdef cf_row row
        self.guard.begin_write()
        try:
            keep = self._row(x, &row)
            u = self._solved(&row, forms, &own)
            if own == 0.0:
                return 0.0
            refuse_own(weight * own, self.ridge)
            if self.budget is None:
                q = self._update_exact(&row, forms, weight, own, u)
            else:
                q = self._update_within(&row, forms, weight, own, u)
            self.count += 1
            return q
        finally:
            self.guard.end_write()

    cdef int _append(self, const cf_row *x, Forms forms, double root, np.ndarray u,
                     double pivot) except -1:
        """After `has_room` or `make_room`."""
        data_of(self.gram.roots)[self.gram.factor.n] = root
        self.gram.append(x, forms, data_of(u), pivot)
        return 0

    cdef double _update_exact(self, const cf_row *x, Forms forms, double c, double own,
                              np.ndarray u) except? -1.0:
        cdef double q = self._rest(own, u) / self.ridge, root = sqrt(c)
        cdef Py_ssize_t n = self.gram.factor.n, s
        cdef np.ndarray scratch = None
        if self.window is not None and n == <Py_ssize_t>self.window:  # taken before any change
            scratch = new_vector(3 * self.gram.length() + 48)
        if not self.gram.has_room(x, forms):
            self.gram.make_room(x, forms)
        for s in range(n):
            data_of(u)[s] *= root
        self._append(x, forms, root, u, sqrt(self.ridge * (1.0 + c * q)))
        self._logdet += K.log1p_one(c * q)
        if scratch is not None:
            self._forget_oldest(data_of(scratch))
        return q

    cdef void _forget_oldest(self, double *scratch) noexcept:
        self.gram.drop_first(scratch)
        memmove(data_of(self.gram.roots), data_of(self.gram.roots) + 1,
                <size_t>self.gram.factor.n * sizeof(double))
        self._logdet = self.gram.logdet()

    cdef double _update_within(self, const cf_row *x, Forms forms, double c, double own,
                               np.ndarray u) except? -1.0:
        cdef Py_ssize_t n = self.gram.factor.n
        cdef double delta = self._rest(own, u), inside, unused
        cdef np.ndarray w = self._coordinates(u)
        cdef bint joins = delta > self.tolerance * own and n < self.inner.core.n
        self.inner._quad(w, &inside)
        if joins:  # one coordinate more: that of the new atom
            if not self.gram.has_room(x, forms):  # what may fail comes before what is kept
                self.gram.make_room(x, forms)
            data_of(w)[n] = sqrt(delta)
        self.inner._update(w, c, &unused)
        if joins:
            self._append(x, forms, 1.0, u, sqrt(delta))
        else:
            self.missed += c * delta
        return inside + delta / self.ridge

    # --- reading ------------------------------------------------------------------------------

    def quad(self, x):
        """``phi(x)^T A^-1 phi(x)``.

        Parameters
        ----------
        x : array_like of shape (n,) or scipy.sparse row
            One row.

        Returns
        -------
        float
            The squared length of phi(x) in the norm of ``A^-1``.
        """
        cdef Forms forms = Forms()
        cdef np.ndarray u
        cdef cf_row row
        cdef double own, q
        self.guard.begin_read()
        try:
            keep = self._row(x, &row)
            u = self._solved(&row, forms, &own)
            q = self._rest(own, u) / self.ridge
            if self.budget is not None:
                q = self.inner.quad(self._coordinates(u)) + q
            if own / self.ridge > MOST_LOST * q:
                raise ValueError("x has lost its digits: phi(x)^T A^-1 phi(x) is below 1e-9 of "
                                 "k(x, x) / ridge; scale the columns, or use Full")
            return self._finite(q)
        finally:
            self.guard.end_read()

    def solve(self, x):
        """Coefficients of the stored rows in ``A^-1 phi(x)``.

        Without a budget they are ``a = M^-1 b``, ``b_s = sqrt(c_s) k(x_s, x)``, and ``A^-1 phi(x)
        = (phi(x) - sum_s a_s sqrt(c_s) phi(x_s)) / ridge``; with one, ``A^-1 u`` in the
        coordinates of the dictionary.

        Parameters
        ----------
        x : array_like of shape (n,) or scipy.sparse row
            One row.

        Returns
        -------
        ndarray of float64, shape (len(self),)
            A coefficient for each stored row, the oldest first.
        """
        cdef Forms forms = Forms()
        cdef np.ndarray u
        cdef cf_row row
        cdef double own
        self.guard.begin_read()
        try:
            keep = self._row(x, &row)
            u = self._solved(&row, forms, &own)
            if self.budget is not None:
                return self.inner.solve(self._coordinates(u))[:self.gram.factor.n]
            if self.gram.factor.n:
                K.cholesky_backward(&self.gram.factor, data_of(u), data_of(u))
            return u[:self.gram.factor.n]
        finally:
            self.guard.end_read()

    def inverse(self):
        """``M^-1`` over the stored rows (with a budget: A^-1 in the dictionary's coordinates).

        Returns
        -------
        ndarray of float64, shape (len(self), len(self))
            A copy, which may be changed.
        """
        cdef Py_ssize_t n  # known only where no update can change it: under the lock
        cdef np.ndarray out, scratch
        cdef cf_triangle b
        self.guard.begin_read()
        try:
            n = self.gram.factor.n
            if self.budget is not None:
                return self.inner.inverse()[:n, :n]
            out = numpy.zeros((n, n))
            if n:
                scratch = numpy.empty(8 * cf_pad(n))
                b.data, b.n, b.ld = data_of(out), n, n
                K.cholesky_inverse(&self.gram.factor, &b, data_of(scratch))
        finally:
            self.guard.end_read()
        lower = numpy.tril(out)
        return lower + numpy.tril(out, -1).T

    def matrix(self):
        """``M = ridge I + G`` (with a budget: A in the dictionary's coordinates).

        Returns
        -------
        ndarray of float64, shape (len(self), len(self))
            A copy, which may be changed.
        """
        cdef Py_ssize_t n, i, j
        self.guard.begin_read()
        try:
            n = self.gram.factor.n
            if self.budget is not None:
                return self.inner.matrix()[:n, :n]
            lower = numpy.zeros((n, n))
            for i in range(n):
                for j in range(i + 1):
                    lower[i, j] = cf_cholesky_at(&self.gram.factor, i, j)[0]
        finally:
            self.guard.end_read()
        return lower @ lower.T

    @property
    def logdet(self):
        """``log det M - len(self) log ridge``: an update adds ``log(1 + c q)``."""
        self.guard.settle_read()
        if self.budget is not None:
            return self.inner.logdet - self.inner.core.n * K.log_one(self.ridge)
        return self._logdet

    @property
    def updates(self):
        """How many updates changed something."""
        self.guard.settle_read()
        return self.count

    @property
    def approximation_error(self):
        """With a budget: how much of the rows the dictionary does not hold; 0 without.

        The sum of ``c`` times the squared distance of each row, as stored, from the dictionary's
        span.
        """
        self.guard.settle_read()
        return self.missed

    # --- copies -------------------------------------------------------------------------------

    def state(self):
        """Everything there is to resume from, as plain arrays and numbers.

        A callable kernel cannot be written down: the dictionary then holds it as it is.

        Returns
        -------
        dict
            `Dual.from_state` makes the same metric of it, bit for bit.
        """
        cdef Py_ssize_t n
        self.guard.begin_read()
        try:
            n = self.gram.factor.n
            told = {
                "version": VERSION, "kernel": self.kernel, "kernel_params": self.kernel_params,
                "ridge": self.ridge, "window": self.window, "budget": self.budget,
                "tolerance": self.tolerance, "count": self.count, "logdet": self._logdet,
                "missed": self.missed, "inner": None, "rows": None,
            }
            if self.inner is not None:
                told["inner"] = self.inner.state()
            if n:
                told["rows"] = self._told_rows()
                told["roots"] = self.gram.roots[:n].copy()
                told["factor"] = self.gram.state()["factor"]
                told["inverses"] = inverses = numpy.zeros(cf_pad(n))
                for i in range(n):
                    inverses[i] = self.gram.factor.inv[i]
            return told
        finally:
            self.guard.end_read()

    cdef int fill(self, dict given) except -1:
        cdef State state = versioned(given)
        self._make(state.get("kernel"), state.get("kernel_params"), state.get("ridge"),
                   state.get("window"), state.get("budget"), state.get("tolerance"))
        self.count, self._logdet = state.count("count"), state.number("logdet")
        self.missed = state.number("missed", 0.0)
        if (state.get("inner") is None) != (self.budget is None):
            raise ValueError("inner must be there with a budget, and None without")
        if self.budget is not None:
            self.inner = Full.from_state(state.get("inner"))
            self.inner._ask_for(CF_FULL_AUTO)
            if self.inner.core.n != self.budget or self.inner.core.ridge != self.ridge:
                raise ValueError(f"inner must have order {self.budget} and ridge {self.ridge}")
        if (state.get("rows") is None) != (self.count == 0):
            raise ValueError("rows must be None where count is 0, and only there")
        if self.count:
            self._fill_rows(state)
        if self.count < len(self):
            raise ValueError(f"count must be >= {len(self)}, the rows, got {self.count}")
        return 0

    cdef object _told_rows(self):
        """The stored rows: an array, or where they are kept sparse the parts of a CSR."""
        told = self.gram.kept.state()
        if self.gram.kept.form == KEPT_SPARSE:
            return {name: told[name] for name in ("d", "begin", "index", "value")}
        return told["rows"]

    cdef int _fill_rows(self, State state) except -1:
        cdef np.ndarray roots, factor, inverses
        cdef Py_ssize_t n, i
        cdef double pivot
        given = state.get("rows")
        if isinstance(given, dict):
            n = numpy.size(opened(given, "rows").get("begin")) - 1
            kept = {**given, "n": n, "form": <int>KEPT_SPARSE}
        else:
            if numpy.ndim(given) != 2:
                raise ValueError(f"rows must be a table, got shape {numpy.shape(given)}")
            n = len(given)
            kept = {"d": numpy.shape(given)[1], "n": n, "form": <int>KEPT_DENSE, "rows": given}
        for most in (self.window, self.budget):
            if most is not None and n > most:
                raise ValueError(f"rows must be at most {most}, got {n}")
        if n < 1:
            raise ValueError("rows must be at least one")
        roots, factor = state.vector("roots", n), state.vector("factor", cf_panels_size(n))
        inverses = state.vector("inverses", cf_pad(n))
        self.gram.restore(opened({"kept": kept, "factor": factor}))
        for i in range(n):
            pivot = self.gram.factor.inv[i]
            if not fabs(pivot - data_of(inverses)[i]) <= 1e-12 * pivot:
                raise ValueError("inverses must be those of the diagonal of factor")
        if not (<object>roots).min() > 0.0:
            raise ValueError("roots must be > 0")
        self.gram.roots = roots
        return 0

    def __repr__(self):
        return (f"{type(self).__name__}(kernel={self.kernel!r}, "
                f"kernel_params={self.kernel_params!r}, ridge={self.ridge!r}, "
                f"window={self.window!r}, budget={self.budget!r}, tolerance={self.tolerance!r})")
