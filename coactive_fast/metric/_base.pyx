"""What the metrics share, and what a full one is before it does anything; see _base.pxd."""

import copy

import numpy

cimport numpy as np
from libc.float cimport DBL_MAX
from libc.math cimport fabs
from libc.stddef cimport size_t
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport (
    as_count, as_number, as_rows, data_of, is_plain_vector, new_vector, refuse, refuse_length,
    refuse_masked, refuse_non_finite, row_stride,
)
from coactive_fast._guard cimport Guard
from coactive_fast._table cimport (
    CF_BLOCK, CF_FULL_AUTO, CF_FULL_FAST, CF_FULL_ROBUST, CF_OK, cf_full,
    cf_full_health, cf_get_library, cf_get_table, cf_library, cf_pad,
    cf_past, cf_table, cf_triangle_row,
)
from coactive_fast.learner._state cimport VERSION, State, versioned
from coactive_fast.rows._rows cimport row_of, rows_of, write_out

from coactive_fast._initialized import not_initialized
from coactive_fast._memory import refuse_beyond_limit

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()


cdef class Metric:
    """What every metric has: copies by way of its `state`."""

    def __cinit__(self):
        self.guard = Guard()
        self.guard.close(not_initialized(self))

    cdef int unmade(self) except -1:
        """At the start of __init__, which runs once: other threads may be at work already."""
        if self.guard.closed is None:
            raise RuntimeError(f"{type(self).__name__}.__init__ runs once only")
        return 0

    cdef int made(self) except -1:
        return self.guard.open()

    cdef int fill(self, dict state) except -1:
        """The state into an object that __init__ has not run on."""
        raise NotImplementedError

    @classmethod
    def from_state(cls, state):
        """The metric that `state` described.

        Parameters
        ----------
        state : dict
            What `state` gave; checked before anything is taken over.

        Returns
        -------
        Full, Diagonal or Dual
            Of the class that is asked. The ``__init__`` of a subclass is not run.
        """
        if not isinstance(state, dict):
            raise TypeError(f"state must be a dict, got {type(state).__name__}")
        cdef Metric self = cls.__new__(cls)
        self.fill(state)
        self.made()
        return self

    def copy(self):
        """An independent copy; what a subclass has of its own is shared, as by `copy.copy`.

        Returns
        -------
        Full, Diagonal or Dual
            Of the same class, with arrays of its own.
        """
        other = type(self).from_state(self.state())
        if hasattr(self, "__dict__"):
            other.__dict__.update(self.__dict__)
        return other

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        state = {name: part if isinstance(part, np.ndarray) else copy.deepcopy(part, memo)
                 for name, part in self.state().items()}  # the arrays are copies already
        other = type(self).from_state(state)
        memo[id(self)] = other
        if hasattr(self, "__dict__"):
            other.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return other

    def __reduce__(self):
        return type(self).from_state, (self.state(),), getattr(self, "__dict__", None) or None


cdef class Entries(Metric):
    """What `Full` and `Diagonal` share, which keep A entry by entry."""

    cdef type kind(self):
        raise NotImplementedError

    cdef Py_ssize_t _order(self) except -1:
        raise NotImplementedError

    cdef int join(self, Entries other) except -1:
        raise NotImplementedError

    cdef int spread(self, np.ndarray z) except -1:
        raise NotImplementedError

    def merge(self, other):
        """``A <- A_1 + A_2 - ridge I``: the metric that has seen the updates of both.

        Parameters
        ----------
        other : Full or Diagonal
            Of the same class, with the same n and ridge; it stays as it is. The sum must be
            positive definite, and of a `Full` both must have their whole regulariser (``rho = 1``;
            `decay` by 1.0 makes it so), else a `ValueError` and no change.

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> m, other = Full(1), Full(1)
        >>> m.update([1.0]), other.update([2.0])
        (1.0, 4.0)
        >>> m.merge(other)
        >>> m.matrix()
        array([[6.]])
        """
        cdef type kind = self.kind()
        cdef Entries theirs
        if not isinstance(other, kind):
            raise TypeError(f"other must be a {kind.__name__}, got {type(other).__name__}")
        theirs = other.copy()
        self.guard.begin_write()
        try:
            if theirs.n != self.n or theirs.ridge != self.ridge:
                raise ValueError(f"other must have n = {self.n} and ridge = {self.ridge}")
            self.join(theirs)
        finally:
            self.guard.end_write()

    def sample(self, size, rng):
        """Rows from the normal distribution with mean 0 and covariance ``A^-1``.

        The distribution is fixed, what is made of the generator's numbers is not. Costs O(n) a
        row; of a `Full` O(n^3), then O(n^2) a row.

        Parameters
        ----------
        size : int
            How many rows.
        rng : Generator or what `numpy.random.default_rng` takes
            A Generator is used, and moves on.

        Returns
        -------
        ndarray of float64, shape (size, n)
            A draw a row.

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> Full(3).sample(5, 0).shape
        (5, 3)
        """
        cdef np.ndarray z = normals(size, self._order(), rng)
        self.spread(z)
        return z


# --- rows ------------------------------------------------------------------------------------


cdef int row_in(object x, str name, Py_ssize_t n, RowBuffer buffer, cf_row *row) except -1:
    cdef int answer = row_of(x, name, buffer, row, max(n, 0))
    if n != ANY and row.n != n:
        refuse_length(row.n, name, n, "the metric")
    return answer


cdef np.ndarray dense_row(object x, str name, Py_ssize_t n):
    cdef RowBuffer buffer
    cdef np.ndarray v
    cdef cf_row row
    if is_plain_vector(x):
        v = <np.ndarray>x
        if np.PyArray_DIM(v, 0) != n:
            refuse_length(np.PyArray_DIM(v, 0), name, n, "the metric")
        return v
    buffer = RowBuffer()
    buffer.fit(n)  # before it holds the row, which would be lost where it grows
    row_in(x, name, n, buffer, &row)
    write_out(&row, buffer)
    v = new_vector(n)
    memcpy(data_of(v), row.value, <size_t>n * sizeof(double))
    return v


cdef np.ndarray dense_rows(object X, str name, Py_ssize_t n):
    cdef np.ndarray x = as_rows(X, name)
    if np.PyArray_DIM(x, 1) != n:
        raise ValueError(f"{name} must have {n} columns, got {np.PyArray_DIM(x, 1)}")
    return x


cdef Rows rows_in(object X, str name, Py_ssize_t n):
    cdef Rows rows
    if isinstance(X, (list, tuple)) and len(X) and type(X[0]) is tuple:
        X = joined(X, name, n)
    rows = rows_of(X, name)
    if rows.d != n:
        raise ValueError(f"{name} must have {n} columns, got {rows.d}")
    return rows


cdef object joined(object pairs, str name, Py_ssize_t n):
    """A list of (indices, values) as one CSR, which `rows_of` looks at as at any other."""
    import scipy.sparse  # by those alone who came with a sparse row

    cdef RowBuffer buffer = RowBuffer()
    cdef cf_row row
    for t, pair in enumerate(pairs):
        if not (type(pair) is tuple and len(pair) == 2):
            raise TypeError(f"{name} must hold pairs (indices, values), got "
                            f"{type(pair).__name__} at {t}")
        row_in(pair, f"row {t} of {name}", n, buffer, &row)
    places = [numpy.asarray(pair[0], dtype=numpy.int64) for pair in pairs]
    values = [numpy.asarray(pair[1], dtype=numpy.float64) for pair in pairs]
    ends = numpy.cumsum([0, *map(len, places)])
    return scipy.sparse.csr_array((numpy.concatenate(values), numpy.concatenate(places), ends),
                                  shape=(len(pairs), n))


cdef object table_like(object X, tuple parts, tuple shape):
    import scipy.sparse  # by those alone who came with a sparse row

    # in SciPy 1.10 an array is a matrix too, and the arrays' own base has no public name
    matrix = isinstance(X, scipy.sparse.spmatrix) and not any(
        base.__name__ == "_sparray" for base in type(X).__mro__)
    return (scipy.sparse.csr_matrix if matrix else scipy.sparse.csr_array)(parts, shape=shape)


cdef object row_like(object x, const cf_row *row, np.ndarray value):
    import scipy.sparse  # by those alone who came with a sparse row

    cdef np.npy_intp n = row.nnz
    cdef int kind = np.NPY_INT64 if row.i32 == NULL else np.NPY_INT32
    cdef const void *at = <const void *>row.i64 if row.i32 == NULL else <const void *>row.i32
    cdef np.ndarray index = <np.ndarray>np.PyArray_EMPTY(1, &n, kind, 0)
    memcpy(np.PyArray_DATA(index), at, <size_t>np.PyArray_NBYTES(index))
    if type(x) is tuple:
        return index, value
    if len(x.shape) == 1:
        return scipy.sparse.coo_array((value, (index,)), shape=x.shape).tocsr()
    return table_like(x, (value, index, numpy.array([0, n], (<object>index).dtype)), x.shape)


# --- numbers ---------------------------------------------------------------------------------


cdef np.ndarray as_weights(object c, Py_ssize_t rows):
    refuse_masked(c, "c")
    try:
        given = numpy.asarray(c)
    except ValueError:
        raise TypeError("c must be one number or one a row of X") from None
    if given.dtype.kind not in "biuf":
        raise TypeError(f"c must hold real numbers, got dtype {given.dtype}")
    if given.ndim > 1 or (given.ndim == 1 and given.shape[0] != rows):
        raise ValueError(f"c must be one number or {rows}, one a row of X, got shape "
                         f"{given.shape}")
    cdef np.ndarray weights = numpy.empty(rows)
    weights[...] = given
    refuse_non_finite(weights, "c")
    if not weights.all():
        refuse_weight(0.0, "not 0")
    return weights


cdef int refuse_weight(double c, str expected) except -1:
    raise ValueError(f"c must be {expected}, got {c}")


cdef double as_factor(object f) except -1.0:
    cdef double factor = as_number(f, "f")
    if not 0.0 < factor <= 1.0:
        raise ValueError(f"f must be in (0, 1], got {factor}")
    return factor


cdef double as_ridge(object ridge) except -1.0:
    cdef double r = as_number(ridge, "ridge")
    if r <= 0.0 or not 1.0 / r < float("inf"):
        raise ValueError(f"ridge must be > 0 with a finite inverse, got {r}")
    return r


cdef Py_ssize_t as_order(object n, str name) except -1:
    cdef Py_ssize_t order = as_count(n, name)
    if order == 0:
        raise ValueError(f"{name} must be >= 1, got 0")
    return order


cdef np.ndarray normals(object size, Py_ssize_t n, object rng):
    cdef Py_ssize_t rows = as_count(size, "size")
    try:
        generator = numpy.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise type(error)(f"rng must be what numpy.random.default_rng takes: {error}") from None
    return <np.ndarray>generator.standard_normal((rows, n))


# --- states ----------------------------------------------------------------------------------


cdef double positive(State state, str name) except -1.0:
    cdef double value = state.number(name, 0.0)
    if value == 0.0:
        state.refuse(name, "> 0", value)
    return value


cdef enum:
    PROBE_EVERY = 64 # updates, or n, whatever is more, as in the C library

cdef Py_ssize_t MOST = <Py_ssize_t>1 << 60  # of what is counted: some may be doubled
cdef Py_ssize_t NEVER = <Py_ssize_t>(~<size_t>0 >> 1)  # the update after which nothing is due
PRECISIONS = {"auto": CF_FULL_AUTO, "fast": CF_FULL_FAST, "robust": CF_FULL_ROBUST}
COUNTS = ("updates", "probes", "renewals", "repairs", "failed")
RESIDUALS = ("last_residual", "worst_residual")


cdef int code_of(object precision) except -1:
    if not isinstance(precision, str) or precision not in PRECISIONS:
        raise ValueError(f"precision must be 'auto', 'fast' or 'robust', got {precision!r}")
    return PRECISIONS[precision]


cdef str name_of(int code):
    return {CF_FULL_FAST: "fast", CF_FULL_ROBUST: "robust"}.get(code, "auto")


cdef double finite(double residual) noexcept:
    """A drift beyond all numbers as the largest."""
    return residual if residual <= DBL_MAX else DBL_MAX


cdef Stored placed(type kind, np.ndarray matrix, double ridge, object precision, str name):
    """The metric of a symmetric matrix, or an error that names where it came from."""
    cdef Stored self = kind.__new__(kind)
    cdef Py_ssize_t ld = row_stride(matrix)
    cdef int status
    self._make(np.PyArray_DIM(matrix, 0), as_ridge(ridge), precision)
    with nogil:
        status = L.past_place(&self.past, &self.core, K, data_of(matrix), ld, ridge, self.scratch)
    if status != CF_OK:
        refuse(status, f"{name} must make a positive definite matrix")
    self._count_from(0)
    self.core.health.renewals = 0
    self.made()
    return self


cdef class Stored(Entries):
    """The memory and the state of `Full`."""

    def __cinit__(self):
        self.core.n = ANY
        self.memory = NULL
        self.scratch = NULL

    cdef int _make(self, object n, object ridge, object precision) except -1:
        cdef Py_ssize_t order = as_order(n, "n")
        cdef double r = as_ridge(ridge)
        cdef int code = code_of(precision)
        self._take(order)
        L.full_init(&self.core, order, r, code, K, self.memory)
        L.past_init(&self.past, r)
        return 0

    cdef int _take(self, Py_ssize_t n) except -1:
        """Memory for order n; what was there is given back."""
        cdef Py_ssize_t size = L.full_size(n)
        cdef double *memory = NULL
        cdef double *scratch = NULL
        if size > 0:
            refuse_beyond_limit(14.0 * n * n, f"a full metric of order {n}",
                                "Diagonal and Dual take less")
            memory = <double *>L.alloc(<size_t>size, sizeof(double))
            scratch = <double *>L.alloc(<size_t>L.full_scratch(n), sizeof(double))
        if memory == NULL or scratch == NULL:
            L.free(memory)
            L.free(scratch)
            raise MemoryError(f"a full metric of order {n} takes {14.0 * n * n:.3g} bytes; Diagonal and "
                              "Dual take less")
        L.free(self.memory)
        L.free(self.scratch)
        self.memory = memory
        self.scratch = scratch
        return 0

    def __dealloc__(self):
        L.free(self.memory)
        L.free(self.scratch)

    cdef double *_borrow(self, Py_ssize_t doubles=0) except NULL:
        """Scratch of a reading method: its own, since many may read at once; 0: five vectors."""
        cdef double *block
        self.guard.settle_read()  # refuses an object that was not made: it has no order
        block = <double *>L.alloc(<size_t>(doubles or 5 * cf_pad(self.core.n)), sizeof(double))
        if block == NULL:
            raise MemoryError(f"scratch for order {self.core.n}")
        return block

    cdef Py_ssize_t _order(self) except -1:
        self.guard.settle_read()  # refuses an object that was not made: it has no order
        return self.core.n

    # --- what it is ----------------------------------------------------------------------------

    @property
    def n(self):
        """Order of the matrix."""
        return max(self.core.n, 0)

    @property
    def ridge(self):
        """The regulariser of A when it is whole: what A began with on its diagonal."""
        return self.past.ridge

    @property
    def precision(self):
        """"auto", "fast" or "robust", as asked for; ``health()`` says which form is in use."""
        return name_of(self.core.precision)

    @property
    def updates(self):
        """How many updates changed something."""
        self.guard.settle_read()
        return self.core.health.updates

    def health(self):
        """What the watch over rounding errors has seen.

        Returns
        -------
        dict
            By name: precision ("fast" or "robust", the form in use); updates; probes of the drift;
            renewals (the inverse made anew from A); repairs (renewals because some
            ``x^T A^-1 x`` was not positive); failed (renewals that were not possible since A
            itself is not positive definite in float64); last_residual and worst_residual
            (``||A A^-1 v - v|| / sqrt(n)`` of the probes); residual (measured now).
        """
        cdef double *scratch = self._borrow()
        cdef cf_full_health health
        cdef double now
        try:
            self.guard.begin_read()
            with nogil:
                now = L.full_residual(&self.core, K, 0, scratch)
            health = self.core.health
            self.guard.end_read()
        finally:
            L.free(scratch)
        return {"precision": self._form(), **health, "residual": now}

    cdef int _ask_for(self, int precision) except -1:
        cdef bint same = self.core.precision == precision
        if precision == CF_FULL_ROBUST and not self.core.robust:
            raise ValueError("the metric must be of the robust form")
        if precision == CF_FULL_FAST and self.core.robust:
            raise ValueError("the metric must be of the fast form")
        self.core.precision = precision
        if not same or self.core.robust:
            L.full_steepen(&self.core)
        return 0

    cdef str _form(self):
        """The form in use, "fast" or "robust"."""
        return "robust" if self.core.robust else "fast"

    cdef void _count_from(self, int64_t updates) noexcept:
        """So many updates are in an inverse that is new; what is due is counted from here."""
        self.core.health.updates = self.core.last_renewal = updates
        self.core.next_probe = updates + max(self.core.n, PROBE_EVERY)
        if not self.core.robust:
            self.core.next_renewal = 2 * max(updates, <int64_t>self.core.n)
        self.core.next_look = min(self.core.next_probe, self.core.next_renewal)

    # --- copies -----------------------------------------------------------------------------

    def state(self):
        """Everything there is to resume from, as plain arrays and numbers.

        Returns
        -------
        dict
            `Full.from_state` makes the same metric of it, bit for bit.
        """
        cdef np.ndarray memory
        cdef cf_full core
        cdef cf_past past
        self.guard.begin_read()
        try:
            memory, core, past = self._memory(), self.core, self.past
        finally:
            self.guard.end_read()
        core.health.last_residual = finite(core.health.last_residual)
        core.health.worst_residual = finite(core.health.worst_residual)
        return {
            "version": VERSION, "n": core.n, "ridge": past.ridge, "precision": self.precision,
            "robust": bool(core.robust), "steepest": core.steepest,
            "memory": memory, "pending": core.pending, "logdet": core.logdet,
            "next_look": core.next_look, "next_probe": core.next_probe,
            "next_renewal": core.next_renewal, "last_renewal": core.last_renewal, **core.health,
            "least": core.ridge, "share": past.share, "scale": past.scale,
            "forgets": past.count, "lowered": bool(past.lowered),
        }

    cdef np.ndarray _memory(self):
        cdef np.ndarray memory = numpy.empty(L.full_size(self.core.n))
        memcpy(data_of(memory), self.memory, <size_t>memory.nbytes)
        return memory

    cdef int fill(self, dict given) except -1:
        cdef State state = versioned(given)
        self._make(state.get("n"), state.get("ridge"), state.get("precision"))
        state.load("memory", L.full_size(self.core.n), self.memory)
        self.core.pending = state.count("pending", 0, CF_BLOCK - 1)
        self.core.logdet = state.number("logdet")
        self.core.next_look = state.count("next_look", 0, NEVER)
        self.core.next_probe = state.count("next_probe", self.core.next_look, NEVER)
        self.core.next_renewal = state.count("next_renewal", self.core.next_look, NEVER)
        self.core.last_renewal = state.count("last_renewal", 0, MOST)
        health = {name: state.count(name, 0, MOST) for name in COUNTS}
        health.update({name: state.number(name, 0.0) for name in RESIDUALS})
        self.core.health = health
        self.core.robust = state.flag("robust")
        self.core.steepest = positive(state, "steepest")
        self.core.ridge = positive(state, "least")
        self.past.share, self.past.scale = positive(state, "share"), positive(state, "scale")
        self.past.count, self.past.lowered = state.count("forgets"), state.flag("lowered")
        if self.past.share > 1.0 or self.past.scale > 2.0:
            raise ValueError("share must be at most 1 and scale at most 2")
        return self._check_memory()

    cdef int _check_memory(self) except -1:
        """What no run can leave behind: another form, another ridge, a block of zeros.

        The inverse of the fast form may have lost all digits of an entry to a long row, even of its
        diagonal: the look that shows it repairs it from A. No file may be lost for that.
        """
        cdef Py_ssize_t i
        cdef double ridge = self.past.share * self.past.ridge / self.past.scale
        cdef bint good = self.past.lowered or fabs(self.core.ridge - ridge) <= 1e-6 * ridge
        good &= self._is_factor() == self.core.robust
        good &= (self.core.precision == CF_FULL_AUTO
                 or self.core.robust == (self.core.precision == CF_FULL_ROBUST))
        for i in range(self.core.n):
            good &= cf_triangle_row(&self.core.a, i)[i] >= (1.0 - 1e-6) * self.core.ridge
        for i in range(self.core.n, cf_pad(self.core.n)):  # beyond a smaller n there are zeros
            good &= cf_triangle_row(&self.core.a, i)[i] == 0.0
        for i in range(self.core.pending):
            good &= self.core.weight[i] > 0.0 or (self.past.lowered
                                                  and self.core.weight[i] < 0.0)
        if not good:
            raise ValueError("memory must be that of a metric with this ridge and precision")
        return 0

    cdef bint _is_factor(self) noexcept:
        """Whether it is that of the robust form: U with its ones not stored, and D > 0."""
        cdef Py_ssize_t i
        for i in range(self.core.n):
            if not self.core.w[i] > 0.0 or cf_triangle_row(&self.core.b, i)[i] != 0.0:
                return False
        return True

    def __repr__(self):
        return (f"{type(self).__name__}(n={self.core.n}, ridge={self.past.ridge!r}, "
                f"precision={self.precision!r})")
