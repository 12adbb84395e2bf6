# Kept rows and the dual matrix over them: part of _dual.pyx; see _dual.pxd.

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
        return self.form == DENSE

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
        if self.form == DENSE:
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
            return DENSE
        forms.gather(x)
        return DENSE if x.n <= WIDE and 4 * forms.nnz >= x.n else SPARSE

    cdef bint has_room(self, const cf_row *x, Forms forms) noexcept nogil:
        """Whether `append` can do without `make_room`; sparse rows are gathered."""
        if self.kind == CALLABLE:
            return self.coming is not None
        if self.form == UNDECIDED or self.lead + self.n >= self.room or x.n != self.d:
            return False
        if self.form == DENSE:
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
        if form == SPARSE:
            forms.gather(x)
            self.grow_entries(forms.nnz)
            self.grow_lists(forms)
        self.form = form
        return 0

    cdef void move_down(self) noexcept:
        """The place of the rows that have left is used again."""
        cdef Py_ssize_t s
        cdef ptrdiff_t gone
        if self.form == DENSE:
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
        if form == DENSE:
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
        elif self.form == DENSE:
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
            if self.form == SPARSE:
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
        elif self.form == DENSE:
            told["rows"] = table_from(self.dense + self.lead * self.d, self.n, self.d, self.d)
        elif self.form == SPARSE and self.n:
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
        cdef int form = state.count("form", UNDECIDED, SPARSE)
        if self.kind == CALLABLE and form == DENSE:
            form = UNDECIDED  # rows of a callable kernel are kept as they are handed to it
        if n and (form == UNDECIDED) != (self.kind == CALLABLE):
            state.refuse("form", "that of rows of this kernel", form)
        self.d, self.form = d, <Form>form
        x.n, x.i32, x.i64 = d, NULL, NULL
        if n and form != SPARSE:
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
        if self.kept.form == SPARSE:
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
