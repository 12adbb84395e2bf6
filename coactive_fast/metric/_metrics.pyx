"""The public metrics ``A = ridge I + sum c x x^T``: full, diagonal, and dual over kept rows."""

import copy
from threading import get_ident

import numpy

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.float cimport DBL_MAX
from libc.math cimport INFINITY, fabs, sqrt
from libc.stddef cimport size_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memmove, memset

from coactive_fast._arrays cimport (
    as_count, as_number, as_positive, as_rows, as_share, as_size, as_square, data_of,
    finite_vector, indices_of, is_plain_vector, new_vector, plain, product_of, reals, refuse,
    refuse_length, refuse_non_finite, row_stride,
)
from coactive_fast._table cimport (
    CF_BLOCK, CF_ENONFINITE, CF_ENOTPOSITIVE, CF_EVALUE, CF_FULL_AUTO, CF_FULL_FAST, CF_FULL_ROBUST,
    CF_OK, cf_cholesky_at, cf_diag, cf_full_rows, cf_get_library, cf_get_table,
    cf_library, cf_pad, cf_panels_size, cf_posting, cf_posting_list, cf_table, cf_triangle,
    cf_triangle_row,
)
from coactive_fast.learner._state cimport VERSION, opened, table_from, vector_of, versioned
from coactive_fast.rows._rows cimport (
    SPARSE, RowBuffer, Rows, dense_vector, place_of, row_of, rows_of,
)

from coactive_fast import _memory
from coactive_fast._memory import refuse_beyond_limit

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    ANY = -1         # as a number of features: whatever x has


cdef class Metric:
    """What every metric has: copies by way of its `state`."""

    def __cinit__(self):
        self.lock = Lock()
        self.lock.close(type(self))

    cdef int unmade(self) except -1:
        """At the start of __init__, which runs once: other threads may be at work already."""
        if self.lock.closed is None:
            raise RuntimeError(f"{type(self).__name__}.__init__ runs once only")
        return 0

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
        self.lock.open()
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

    cdef Py_ssize_t _order(self) except -1:
        self.lock.check_open()  # an object that was not initialized has no order
        return self.order

    @property
    def n(self):
        """Order of the matrix."""
        return self.order

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
        cdef type kind = Full if isinstance(self, Full) else Diagonal
        cdef Entries theirs
        if not isinstance(other, kind):
            raise TypeError(f"other must be a {kind.__name__}, got {type(other).__name__}")
        theirs = other.copy()
        self.lock.acquire()
        try:
            if theirs.n != self.n or theirs.ridge != self.ridge:
                raise ValueError(f"other must have n = {self.n} and ridge = {self.ridge}")
            self.join(theirs)
        finally:
            self.lock.release()

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


cdef inline const double *row_at(np.ndarray x, Py_ssize_t t, double *buffer) noexcept nogil:
    """Row t of what dense_rows gave: where it is, or widened into the buffer."""
    cdef Py_ssize_t at = t * row_stride(x), i
    cdef const float *narrow = <const float *>np.PyArray_DATA(x)
    if np.PyArray_TYPE(x) != np.NPY_FLOAT:
        return data_of(x) + at
    for i in range(np.PyArray_DIM(x, 1)):
        buffer[i] = narrow[at + i]
    return buffer


# x as it lies; what `row` points at lives as long as the buffer. n features, or ANY. CF_ROW_NULL
# where all its values are 0.
cdef int row_in(object x, str name, Py_ssize_t n, RowBuffer buffer, cf_row *row) except -1:
    cdef int answer = row_of(x, name, buffer, row, max(n, 0))
    if n != ANY and row.n != n:
        refuse_length(row.n, name, n, "the metric")
    return answer


# x written out as a float64 vector of length n; not checked for NaN
cdef np.ndarray dense_row(object x, str name, Py_ssize_t n):
    cdef RowBuffer buffer
    cdef cf_row row
    if is_plain_vector(x):
        if np.PyArray_DIM(<np.ndarray>x, 0) != n:
            refuse_length(np.PyArray_DIM(<np.ndarray>x, 0), name, n, "the metric")
        return <np.ndarray>x
    buffer = RowBuffer()
    row_in(x, name, n, buffer, &row)
    return dense_vector(&row, name)


# A dense table with n columns, float64 or float32 with contiguous rows; not checked for NaN
cdef np.ndarray dense_rows(object X, str name, Py_ssize_t n):
    cdef np.ndarray x = as_rows(X, name)
    if np.PyArray_DIM(x, 1) != n:
        raise ValueError(f"{name} must have {n} columns, got {np.PyArray_DIM(x, 1)}")
    return x


# A table with n columns, or a list of pairs (indices, values)
cdef Rows rows_in(object X, str name, Py_ssize_t n):
    cdef Rows rows
    if isinstance(X, (list, tuple)) and len(X) and type(X[0]) is tuple:
        X = joined(X, name, n)
    rows = rows_of(X, name)
    if rows.d != n:
        raise ValueError(f"{name} must have {n} columns, got {rows.d}")
    return rows


cdef object joined(object pairs, str name, Py_ssize_t n):
    """A list of (indices, values) as one CSR, which `rows_of` checks as any other."""
    import scipy.sparse  # by those alone who came with a sparse row

    cdef list places = [], values = []
    for t, pair in enumerate(pairs):
        if not (type(pair) is tuple and len(pair) == 2):
            raise TypeError(f"{name} must hold pairs (indices, values), got "
                            f"{type(pair).__name__} at {t}")
        places.append(indices_of(pair[0], f"the indices of row {t} of {name}"))
        values.append(finite_vector(pair[1], f"the values of row {t} of {name}", len(places[t]),
                                    "its indices"))
    ends = numpy.cumsum([0, *map(len, places)])
    return scipy.sparse.csr_array((numpy.concatenate(values), numpy.concatenate(places), ends),
                                  shape=(len(pairs), n))


# (data, indices, indptr) as a CSR matrix where X is a sparse matrix, else as an array
cdef object table_like(object X, tuple parts, tuple shape):
    import scipy.sparse  # by those alone who came with a sparse row

    # in SciPy 1.10 an array is a matrix too, and the arrays' own base has no public name
    matrix = isinstance(X, scipy.sparse.spmatrix) and not any(
        base.__name__ == "_sparray" for base in type(X).__mro__)
    return (scipy.sparse.csr_matrix if matrix else scipy.sparse.csr_array)(parts, shape=shape)


# Other values in the places of a sparse row x, of the kind of x: CSR array or matrix, or a pair.
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


# A finite c that is not 0.
cdef inline double as_weight(object c) except? -1.0:
    cdef double weight = as_number(c, "c")
    if weight == 0.0:
        raise ValueError(f"c must be not 0, got {weight}")
    return weight


# one number a row, finite and not 0
cdef np.ndarray as_weights(object c, Py_ssize_t rows):
    if type(c) is float and 0.0 < fabs(c) < INFINITY:
        return <np.ndarray>numpy.full(rows, c)
    given = <object>plain(c, "c")
    if given.ndim > 1 or (given.ndim == 1 and given.shape[0] != rows):
        raise ValueError(f"c must be one number or {rows}, one a row of X, got shape "
                         f"{given.shape}")
    cdef np.ndarray weights = reals(numpy.broadcast_to(given, rows), "c", 1)
    if not weights.all():
        raise ValueError("c must be not 0, got 0.0")
    return weights


cdef double as_ridge(object ridge) except -1.0:
    cdef double r = as_number(ridge, "ridge")
    if r <= 0.0 or not 1.0 / r < float("inf"):
        raise ValueError(f"ridge must be > 0 with a finite inverse, got {r}")
    return r


cdef np.ndarray normals(object size, Py_ssize_t n, object rng):
    cdef Py_ssize_t rows = as_count(size, "size")
    try:
        generator = numpy.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise type(error)(f"rng must be what numpy.random.default_rng takes: {error}") from None
    return <np.ndarray>generator.standard_normal((rows, n))


# --- states ----------------------------------------------------------------------------------


# One of the numbers of a state, > 0.
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


cdef double finite(double residual) noexcept:
    """A drift beyond all numbers as the largest."""
    return residual if residual <= DBL_MAX else DBL_MAX


# --- the full matrix --------------------------------------------------------------------------

cdef enum:
    BUSY = 128       # order from which the GIL is let go: about a microsecond of work
    PAUSE = 1 << 25  # elements of work, some 10 ms, after which signals are checked

cdef double LARGEST = 2.0 ** 1023  # what A may hold, as in the C library
cdef double SYMMETRIC = 1e-9       # of its largest entry: what a matrix may be lopsided by


cdef int refuse_update(int status, str where, double c, double q) except -1:
    if status == CF_EVALUE:
        raise ValueError(f"{where}c must leave A positive definite by a margin: "
                         f"1 + c x^T A^-1 x is {1.0 + c * q}")
    what = "A^-1 along x, beyond repair" if status == CF_ENOTPOSITIVE else "c x^T A^-1 x"
    return refuse(status, where + what)


ctypedef void (*reader)(const cf_full *, const cf_table *, double *, double *) noexcept nogil

ctypedef ptrdiff_t (*many)(const cf_full *, const cf_table *, const cf_full_rows *, double,
                            double *, double *) noexcept nogil

ctypedef int (*fader)(cf_past *, cf_full *, const cf_table *, double, double *,
                      double *) noexcept nogil


cdef inline double *aligned(np.ndarray scratch) noexcept nogil:
    """The first cache line of an array."""
    return <double *>((<size_t>data_of(scratch) + 63) & ~<size_t>63)


cdef class Stored(Entries):
    def __dealloc__(self):
        L.free(self.memory)
        L.free(self.scratch)

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

    cdef dict _health(self):
        """The form in use, "fast" or "robust", and what the watch has seen."""
        return {"precision": "robust" if self.core.robust else "fast", **self.core.health}


cdef class Full(Stored):
    """Full(n, *, ridge=1.0, precision="auto")\n--\n
    ``A = ridge I + sum c x x^T``, the whole matrix, with its inverse kept at hand.

    A row x is a vector, a table of one row, a scipy.sparse row or ``(indices, values)``; it is
    written out. Masked arrays are refused.

    One triangle of the inverse is stored and updated in a single pass (Sherman-Morrison, the
    pending term applied while it is read for the next product). A itself is kept beside it, so
    that rounding cannot pile up: the inverse is recomputed from A after n, 2n, 4n, ... updates and
    whenever a probe finds drift above 1e-8; ``health()`` shows what was seen. Same bits on every
    CPU with fused multiply-add.

    Parameters
    ----------
    n : int
        Order of the matrix, at least 1.
    ridge : float, default 1.0
        Greater than 0.
    precision : {"auto", "fast", "robust"}, default "auto"
        "robust" keeps the inverse as ``U D U^T`` (Bierman 1977): about 1.5 times slower, and
        right whatever the scales of the columns. "fast" keeps the inverse itself, of which an
        update loses as many digits as ``c x^T A^-1 x`` has. "auto" begins fast and converts,
        once and for all, before the first update of which ``c x^T x / ridge`` is above 4e6, or
        where columns turn out so correlated that as many digits are lost; ``health()`` says
        which form is in use. Scaled columns keep it fast.

    See Also
    --------
    Diagonal : Only the diagonal, for many features.
    Dual : In the space of a kernel.

    Notes
    -----
    Memory: ``14 n^2`` bytes: a triangle of the inverse, one and a half of A, one of scratch. An
    update costs O(n^2), as does every reading of a vector.
    Reading methods may run in many threads at once; what changes the metric waits for them and
    they for it.

    Examples
    --------
    >>> from coactive_fast.metric import Full
    >>> m = Full(2)
    >>> m.update([1.0, 0.0])
    1.0
    >>> m.solve([1.0, 1.0])
    array([0.5, 1. ])
    """

    def __init__(self, n, *, ridge=1.0, precision="auto"):
        self.unmade()
        self._make(n, ridge, precision)
        self.lock.open()

    cdef int _make(self, object n, object ridge, object precision) except -1:
        """Memory for order n, with nothing learned; what was there is given back."""
        cdef Py_ssize_t order = as_size(n, "n")
        cdef double r = as_ridge(ridge)
        cdef int code = code_of(precision)
        cdef Py_ssize_t size = L.full_size(order)
        cdef double *memory = NULL
        cdef double *scratch = NULL
        if size > 0:
            refuse_beyond_limit(14.0 * order * order, f"a full metric of order {order}",
                                "Diagonal and Dual take less")
            memory = <double *>L.alloc(<size_t>size, sizeof(double))
            scratch = <double *>L.alloc(<size_t>L.full_scratch(order), sizeof(double))
        if memory == NULL or scratch == NULL:
            L.free(memory)
            L.free(scratch)
            raise MemoryError(f"a full metric of order {order} takes {14.0 * order * order:.3g} "
                              "bytes; Diagonal and Dual take less")
        L.free(self.memory)
        L.free(self.scratch)
        self.order, self.memory, self.scratch = order, memory, scratch
        L.full_init(&self.core, order, r, code, K, self.memory)
        L.past_init(&self.past, r)
        return 0

    cdef np.ndarray _borrow(self, Py_ssize_t doubles=0):
        """Scratch of a reading method, `aligned`: its own, since many may read at once; 0: five
        vectors."""
        self.lock.check_open()  # an object that was not initialized has no order
        return new_vector((doubles or 5 * cf_pad(self.core.n)) + 8)

    # --- what it is ----------------------------------------------------------------------------

    @property
    def ridge(self):
        """The regulariser of A when it is whole: what A began with on its diagonal."""
        return self.past.ridge

    @property
    def precision(self):
        """"auto", "fast" or "robust", as asked for; ``health()`` says which form is in use."""
        return {CF_FULL_FAST: "fast", CF_FULL_ROBUST: "robust"}.get(self.core.precision, "auto")

    @property
    def updates(self):
        """How many updates changed something."""
        self.lock.acquire_shared()
        updates = self.core.health.updates
        self.lock.release_shared()
        return updates

    def health(self):
        """What the watch over rounding errors has seen.

        Returns
        -------
        dict
            By name: precision ("fast" or "robust", the form in use); updates; probes of the drift;
            renewals (the inverse recomputed from A); repairs (renewals because some
            ``x^T A^-1 x`` was not positive); failed (renewals that were not possible since A
            itself is not positive definite in float64); last_residual and worst_residual
            (``||A A^-1 v - v|| / sqrt(n)`` of the probes); residual (measured now).
        """
        cdef np.ndarray scratch = self._borrow()
        cdef double now
        self.lock.acquire_shared()
        with nogil:
            now = L.full_residual(&self.core, K, 0, aligned(scratch))
        found = self._health()
        self.lock.release_shared()
        return {**found, "residual": now}

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
        self.lock.acquire_shared()
        try:
            return self._state()
        finally:
            self.lock.release_shared()

    cdef dict _state(self):
        """For who holds the lock."""
        cdef cf_full core = self.core
        cdef cf_past past = self.past
        core.health.last_residual = finite(core.health.last_residual)
        core.health.worst_residual = finite(core.health.worst_residual)
        return {
            "version": VERSION, "n": core.n, "ridge": past.ridge, "precision": self.precision,
            "robust": bool(core.robust), "steepest": core.steepest,
            "memory": vector_of(self.memory, L.full_size(core.n)),
            "pending": core.pending, "logdet": core.logdet,
            "next_look": core.next_look, "next_probe": core.next_probe,
            "next_renewal": core.next_renewal, "last_renewal": core.last_renewal, **core.health,
            "least": core.ridge, "share": past.share, "scale": past.scale,
            "forgets": past.count, "lowered": bool(past.lowered),
        }

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
        diagonal: the reading that shows it repairs it from A. No file may be lost for that.
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
        return (f"{type(self).__name__}(n={self.order}, ridge={self.past.ridge!r}, "
                f"precision={self.precision!r})")

    # --- changing ---------------------------------------------------------------------------

    def update(self, x, *, c=1.0):
        """``A += c x x^T``; returns ``x^T A^-1 x`` from before.

        Parameters
        ----------
        x : array_like of shape (n,), scipy.sparse row or (indices, values)
            An all-zero x returns 0 and changes nothing.
        c : float, default 1.0
            Not 0. Below 0 (a downdate) A must stay positive definite by a margin:
            ``1 + c x^T A^-1 x >= 1e-6``, else a `ValueError` and no change.

        Returns
        -------
        float
            The value before the update; 0 for x = 0, which changes nothing.
        """
        cdef double q = 0.0
        self._update(dense_row(x, "x", self._order()), as_weight(c), &q)
        return q

    cdef int _update(self, np.ndarray v, double c, double *q) except -1:
        cdef int status
        self.lock.acquire()
        if self.core.n < BUSY:
            status = L.past_update(&self.past, &self.core, K, data_of(v), c, self.scratch, q)
        else:
            with nogil:
                status = L.past_update(&self.past, &self.core, K, data_of(v), c, self.scratch, q)
        self.lock.release()
        if status != CF_OK:
            refuse_non_finite(v, "x")
            refuse_update(status, "", c, q[0])
        return 0

    def update_many(self, X, *, c=1.0):
        """The updates of many rows, one after the other, in one compiled loop.

        Parameters
        ----------
        X : array_like of shape (T, n)
            Arrays of float64 and float32 with contiguous rows are read without a copy.
        c : float or array_like of shape (T,), default 1.0
            Below 0 as in `update`: all that is there is copied first, O(n^2), to be put back
            where a row is refused.

        Returns
        -------
        ndarray of float64, shape (T,)
            ``x^T A^-1 x`` of each row from before its own update: what `update` returns. Where a
            row is refused nothing changes. Ctrl-C stops between two rows: `updates` says how
            many there were.
        """
        cdef np.ndarray x = dense_rows(X, "X", self._order())
        cdef Py_ssize_t rows = np.PyArray_DIM(x, 0), n = self.core.n, t = 0
        cdef np.ndarray weights = as_weights(c, rows), kept = None
        cdef cf_full core
        cdef cf_past past
        cdef np.ndarray buffer = numpy.empty(n), out = numpy.zeros(rows)
        cdef Py_ssize_t step = 1 + PAUSE // (n * n + 64), until
        cdef int status = CF_OK
        refuse_non_finite(x, "X")
        self.lock.acquire()
        try:
            self._check_room(x, weights, data_of(buffer))
            if rows and weights.min() < 0.0:
                kept, core, past = vector_of(self.memory, L.full_size(n)), self.core, self.past
            while t < rows and status == CF_OK:
                until = min(rows, t + step)
                with nogil:
                    while t < until and status == CF_OK:
                        status = L.past_update(&self.past, &self.core, K,
                                               row_at(x, t, data_of(buffer)),
                                               data_of(weights)[t], self.scratch,
                                               data_of(out) + t)
                        t += status == CF_OK
                PyErr_CheckSignals()
            if status != CF_OK and kept is not None:
                memcpy(self.memory, data_of(kept), <size_t>np.PyArray_NBYTES(kept))
                self.core, self.past = core, past
        finally:
            self.lock.release()
        if status != CF_OK:
            refuse_update(status, f"row {t} of X: ", data_of(weights)[t], data_of(out)[t])
        return out

    cdef int _check_room(self, np.ndarray x, np.ndarray weights, double *buffer) except -1:
        """Refuses rows with which ``x^T A^-1 x`` or A would overflow, before any is taken.

        The largest entry of A, which is on its diagonal, grows by at most c x.x a row. All in the
        units of what is stored.
        """
        cdef Py_ssize_t n = self.core.n, i, p, t
        cdef double most = 0.0, entry, size, c
        cdef const double *row
        for i in range(n):
            entry = cf_triangle_row(&self.core.a, i)[i]
            for p in range(self.core.pending):
                row = self.core.block + p * cf_pad(n)
                entry += self.core.weight[p] * row[i] * row[i]
            most = max(most, entry)
        for t in range(np.PyArray_DIM(x, 0)):
            row = row_at(x, t, buffer)
            size = K.dot(n, row, row)
            c = fabs(data_of(weights)[t]) / self.past.scale
            most += c * size
            if not (size / self.core.ridge < INFINITY and c * size / self.core.ridge < INFINITY
                    and most <= LARGEST):
                raise ValueError(f"X is too large: A or x^T A^-1 x would overflow at row {t}")
        return 0

    def forget(self, f):
        """What was learned weighs f times as much; the regulariser is kept, in blocks.

        ``A = rho ridge I + M``: M is multiplied by f, rho becomes 1 where the number of calls
        before is a multiple of ``m = max(1, min(n, floor(ln 2 / -ln f)))``, else ``f rho``. So
        the regulariser stays between a half and one of itself. Costs O(1), and once in m calls
        O(n^3): the inverse is then recomputed.

        Parameters
        ----------
        f : float
            In (0, 1].

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> m = Full(2)
        >>> m.update([1.0, 0.0])
        1.0
        >>> m.forget(0.5)
        >>> m.matrix()
        array([[1.5, 0. ],
               [0. , 1. ]])
        """
        self._fade(as_share(f, "f"), L.past_forget)

    def decay(self, f):
        """``A <- ridge I + f M``: the past weighs f times as much, the regulariser is whole.

        For drift by the clock; O(n^3), since the inverse is recomputed. See `forget`.

        Parameters
        ----------
        f : float
            In (0, 1].

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> m = Full(1)
        >>> m.update([2.0])
        4.0
        >>> m.decay(0.25)
        >>> m.matrix()
        array([[2.]])
        """
        self._fade(as_share(f, "f"), L.past_decay)

    cdef int _fade(self, double f, fader act) except -1:
        cdef double added
        cdef int status
        self.lock.acquire()
        with nogil:
            status = act(&self.past, &self.core, K, f, self.scratch, &added)
        self.lock.release()
        if status != CF_OK:
            refuse(status, "A after forgetting")
        return 0

    cdef int join(self, Entries other) except -1:
        if self.past.share != 1.0 or (<Full>other).past.share != 1.0:
            raise ValueError("other and this metric must have their whole regulariser: "
                             "decay(1.0) first")
        cdef Full theirs = <Full>other, sum
        if self.core.robust or theirs.core.robust:
            sum = self._joined(theirs)
        else:
            matrix = theirs.matrix() + self._dense()
            matrix[numpy.diag_indices(self.core.n)] -= self.past.ridge
            sum = placed(Full, matrix, self.past.ridge, self.precision, "other")
        if not (self.past.lowered or theirs.past.lowered):
            sum.core.ridge, sum.past.lowered = self.past.ridge / sum.past.scale, False
            L.full_steepen(&sum.core)
        sum.past.count = self.past.count  # which forgetting is the next to renew the regulariser
        sum.core.health = self.core.health
        sum.core.health.renewals += 1
        sum._count_from(self.core.health.updates + theirs.core.health.updates)
        self.memory, sum.memory = sum.memory, self.memory
        self.core, self.past = sum.core, sum.past
        return 0

    cdef Full _joined(self, Full other):
        """A copy that also has the updates of the other, of which at least one is robust: the rows
        of a square root of its A, and then one regulariser less."""
        cdef Full sum = type(self).from_state(self._state())
        cdef np.ndarray rows = numpy.vstack((other._rows(), numpy.eye(self.core.n)))
        cdef Py_ssize_t n = self.core.n, i
        cdef int status = CF_OK
        cdef double q
        if not sum.core.robust and not L.full_convert(&sum.core, K, sum.scratch):
            refuse(CF_ENOTPOSITIVE, "A")
        for i in range(2 * n):
            if status == CF_OK:
                status = L.past_update(&sum.past, &sum.core, K, data_of(rows) + i * n,
                                       1.0 if i < n else -self.past.ridge, sum.scratch, &q)
        if status != CF_OK:
            refuse(status, "other must make a positive definite matrix")
        sum._write_matrix(sum._dense() / sum.past.scale)  # no row of negative weight is left
        return sum

    cdef void _write_matrix(self, np.ndarray a) noexcept:
        """The A that is stored beside the factors of the robust form."""
        cdef Py_ssize_t i, n = self.core.n
        for i in range(n):
            memcpy(cf_triangle_row(&self.core.a, i), data_of(a) + i * n,
                   <size_t>(i + 1) * sizeof(double))
        memset(self.core.low, 0, <size_t>cf_panels_size(n) * sizeof(float))
        self.core.pending = 0

    def _rows(self):
        """A root R of A, ``A = R^T R``, from the factors of the robust form or by Cholesky."""
        from scipy.linalg import solve_triangular

        if not self.core.robust:
            return numpy.ascontiguousarray(numpy.linalg.cholesky(self._dense()).T)
        U, D = self._factors()
        rows = solve_triangular(U, numpy.eye(self.core.n), unit_diagonal=True)
        return numpy.ascontiguousarray(rows / numpy.sqrt(D)[:, None])

    def _factors(self):
        """``(U, D)`` of the robust form: ``A^-1 = U diag(D) U^T``."""
        cdef Py_ssize_t n = self.core.n, i, j
        cdef np.ndarray U = numpy.eye(n), D = numpy.empty(n)
        for j in range(n):
            data_of(D)[j] = self.core.w[j] / self.past.scale
            for i in range(j):
                data_of(U)[i * n + j] = cf_triangle_row(&self.core.b, j)[i]
        return U, D

    @classmethod
    def _from_factors(cls, np.ndarray U, np.ndarray D, np.ndarray A, double ridge, precision):
        """The robust metric with these factors of the inverse of A, both as they are."""
        cdef Full self = <Full>cls.__new__(cls)
        cdef Py_ssize_t n = np.PyArray_DIM(D, 0), i, j
        self._make(n, ridge, precision)
        for j in range(n):
            self.core.w[j] = data_of(D)[j]
            self.core.logdet -= K.log_one(self.core.w[j] * ridge)
            for i in range(j):
                cf_triangle_row(&self.core.b, j)[i] = data_of(U)[i * n + j]
            cf_triangle_row(&self.core.b, j)[j] = 0.0
        self._write_matrix(A)
        self.core.robust = 1
        self._count_from(0)
        self._ask_for(self.core.precision)
        self.lock.open()
        return self

    cdef np.ndarray _dense(self):
        """A, for who holds the lock of a changing method."""
        cdef np.ndarray out = numpy.empty((self.core.n, self.core.n))
        L.full_matrix(&self.core, K, self.scratch, data_of(out))
        return out * self.past.scale

    @classmethod
    def from_matrix(cls, A, ridge, *, precision="auto"):
        """The metric of a symmetric positive definite A.

        Parameters
        ----------
        A : array_like of shape (n, n)
            Symmetric up to rounding (1e-9 of its largest entry; its lower triangle is what
            counts) and positive definite in float64, else a `ValueError`.
        ridge : float
            The part ``ridge I`` of A that `forget`, `decay` and `merge` take for its
            regulariser; A may be less than that.
        precision : {"auto", "fast", "robust"}, default "auto"
            As for the class.

        Returns
        -------
        Full
            Of the class that is asked. The ``__init__`` of a subclass is not run.

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> Full.from_matrix([[2.0, 1.0], [1.0, 2.0]], ridge=1.0).solve([3.0, 0.0])
        array([ 2., -1.])
        """
        cdef np.ndarray a = as_square(A, "A")
        refuse_non_finite(a, "A")
        if not np.PyArray_DIM(a, 0):
            raise ValueError("A must not be empty")
        most = abs(<object>a).max()
        if not (most <= LARGEST and abs(a - (<object>a).T).max() <= SYMMETRIC * most):
            raise ValueError("A must be symmetric, and within half the largest float64")
        return placed(cls, a, as_ridge(ridge), precision, "A")

    # --- reading ----------------------------------------------------------------------------

    def solve(self, x):
        """``A^-1 x``, for a dense vector or a scipy.sparse row.

        Parameters
        ----------
        x : array_like of shape (n,), scipy.sparse row or (indices, values)
            One row.

        Returns
        -------
        ndarray of float64, shape (n,)
            The product.
        """
        cdef np.ndarray v = dense_row(x, "x", self._order())
        cdef Py_ssize_t n = self.core.n
        cdef np.ndarray scratch = self._borrow()
        cdef double *y = aligned(scratch) + cf_pad(n)
        cdef double scale
        cdef np.ndarray out
        self.lock.acquire_shared()
        with nogil:
            L.full_solve(&self.core, K, data_of(v), aligned(scratch), y)
        scale = self.past.scale
        self.lock.release_shared()
        out = vector_of(y, n)
        if scale != 1.0:
            out /= scale
        if not K.all_finite(n, data_of(out)):
            refuse_non_finite(v, "x")
            raise ValueError("x is too large: A^-1 x overflows")
        return out

    def quad(self, x):
        """``x^T A^-1 x``, for a dense vector or a scipy.sparse row.

        Parameters
        ----------
        x : array_like of shape (n,), scipy.sparse row or (indices, values)
            One row.

        Returns
        -------
        float
            The squared length of x in the norm of ``A^-1``.
        """
        cdef np.ndarray v = dense_row(x, "x", self._order())
        cdef double q
        self._quad(v, &q)
        return q

    cdef int _quad(self, np.ndarray v, double *q) except -1:
        cdef np.ndarray scratch
        if self.core.n < BUSY:  # the lock of a changing method goes with its scratch
            self.lock.acquire()
            q[0] = L.full_quad(&self.core, K, data_of(v), self.scratch) / self.past.scale
            self.lock.release()
        else:
            scratch = self._borrow()
            self.lock.acquire_shared()
            with nogil:
                q[0] = L.full_quad(&self.core, K, data_of(v), aligned(scratch)) / self.past.scale
            self.lock.release_shared()
        if not q[0] - q[0] == 0.0:
            refuse_non_finite(v, "x")
            raise ValueError("x is too large: x^T A^-1 x overflows")
        return 0

    def quad_many(self, X):
        """`quad` of many rows, bit for bit, in one reading of the matrix for eight of them.

        Parameters
        ----------
        X : array_like of shape (T, n)
            Arrays of float64 and float32 with contiguous rows are read without a copy.

        Returns
        -------
        ndarray of float64, shape (T,)
            A value a row.

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> Full(2, ridge=4.0).quad_many([[2.0, 0.0], [2.0, 2.0]])
        array([1., 2.])
        """
        cdef np.ndarray x = dense_rows(X, "X", self._order())
        cdef np.ndarray out = new_vector(np.PyArray_DIM(x, 0))
        self._many(x, L.full_quad_many, data_of(out), 1, "x^T A^-1 x")
        return out

    def solve_many(self, X):
        """`solve` of many rows, bit for bit, in one call.

        Parameters
        ----------
        X : array_like of shape (T, n)
            As for `quad_many`.

        Returns
        -------
        ndarray of float64, shape (T, n)
            A product a row.

        Examples
        --------
        >>> from coactive_fast.metric import Full
        >>> Full(2, ridge=4.0).solve_many([[2.0, 0.0], [2.0, 4.0]])
        array([[0.5, 0. ],
               [0.5, 1. ]])
        """
        cdef np.ndarray x = dense_rows(X, "X", self._order())
        out = numpy.empty((np.PyArray_DIM(x, 0), self.core.n))
        self._many(x, L.full_solve_many, data_of(out), self.core.n, "A^-1 x")
        return out

    cdef int _many(self, np.ndarray x, many read, double *out, Py_ssize_t width,
                   str what) except -1:
        cdef Py_ssize_t rows = np.PyArray_DIM(x, 0), n = self.core.n, t = 0, bad = 0
        cdef Py_ssize_t step = 8 + (PAUSE // (n * n + 64) & ~7), begin
        cdef bint narrow = np.PyArray_TYPE(x) == np.NPY_FLOAT
        cdef char *data = <char *>np.PyArray_DATA(x)
        cdef cf_full_rows part
        cdef np.ndarray scratch = self._borrow(L.full_many_scratch(n))
        part.stride = row_stride(x)
        self.lock.acquire_shared()
        try:
            while t < rows and t == bad:
                begin = t * part.stride
                part.count = min(rows - t, step)
                part.wide = NULL if narrow else <double *>data + begin
                part.narrow = <float *>data + begin if narrow else NULL
                with nogil:
                    bad = t + read(&self.core, K, &part, self.past.scale, out + t * width,
                                   aligned(scratch))
                t += part.count
                if t < rows:
                    PyErr_CheckSignals()
        finally:
            self.lock.release_shared()
        if bad < rows:
            refuse_non_finite(x, "X")
            raise ValueError(f"X is too large: {what} overflows at row {bad}")
        return 0

    cdef int spread(self, np.ndarray z) except -1:
        cdef int status
        cdef np.ndarray scratch = self._borrow(L.full_sample_scratch(self.core.n))
        self.lock.acquire_shared()
        with nogil:
            status = L.full_sample(&self.core, K, self.past.scale, np.PyArray_DIM(z, 0),
                                   data_of(z), aligned(scratch))
        self.lock.release_shared()
        if status != CF_OK:
            refuse(status, "A")
        return 0

    def inverse(self):
        """A copy of ``A^-1``.

        Returns
        -------
        ndarray of float64, shape (n, n)
            Symmetric, and may be changed.
        """
        return self._square(L.full_inverse, False)

    def matrix(self):
        """A copy of A.

        Returns
        -------
        ndarray of float64, shape (n, n)
            Symmetric, and may be changed.
        """
        return self._square(L.full_matrix, True)

    cdef np.ndarray _square(self, reader read, bint times):
        cdef np.ndarray scratch = self._borrow()
        cdef double scale
        cdef np.ndarray out = numpy.empty((self.core.n, self.core.n))
        self.lock.acquire_shared()
        with nogil:
            read(&self.core, K, aligned(scratch), data_of(out))
        scale = self.past.scale
        self.lock.release_shared()
        if scale != 1.0:
            out *= scale if times else 1.0 / scale
        return out

    @property
    def logdet(self):
        """``log det A``."""
        cdef double logdet
        self.lock.acquire_shared()
        logdet = L.past_logdet(&self.past, &self.core, K)
        self.lock.release_shared()
        return logdet


cdef class Moving(Full):
    """A metric that forgets or loses rows: it may have less than its ridge somewhere."""

    cdef int _check_memory(self) except -1:
        cdef Py_ssize_t i
        cdef double least
        cdef bint good = self._is_factor() == self.core.robust
        for i in range(self.core.n):  # robust: a direction not seen for long may be gone
            least = cf_triangle_row(&self.core.a, i)[i]
            good &= least > 0.0 or (self.core.robust and least == 0.0)
        if not good:
            raise ValueError("memory of the metric must be that of a positive definite matrix")
        return 0


cdef Full placed(type kind, np.ndarray matrix, double ridge, object precision, str name):
    """The metric of a symmetric matrix, or an error that names where it came from."""
    cdef Full self = kind.__new__(kind)
    cdef Py_ssize_t ld = row_stride(matrix)
    cdef int status
    self._make(np.PyArray_DIM(matrix, 0), as_ridge(ridge), precision)
    with nogil:
        status = L.past_place(&self.past, &self.core, K, data_of(matrix), ld, ridge, self.scratch)
    if status != CF_OK:
        refuse(status, f"{name} must make a positive definite matrix")
    self._count_from(0)
    self.core.health.renewals = 0
    self.lock.open()
    return self


# --- the diagonal -----------------------------------------------------------------------------

cdef enum:
    DIAGONAL_PAUSE = 1 << 23  # elements of work, some 10 ms, after which signals are checked


cdef int refuse_diagonal_update(int status, str where, double q) except -1:
    if status == CF_EVALUE:
        raise ValueError(f"{where}c must leave A positive definite by a margin: some "
                         "1 + c x_r^2 / a_r is below 1e-6")
    raise ValueError(f"{where}is too large: x^T A^-1 x = {q} or c x_r^2 overflows")


cdef class Diagonal(Entries):
    """Diagonal(n, *, ridge=1.0)\n--\n
    ``A = ridge I + sum c x x^T`` with nothing kept but its diagonal a.

    A row x is a vector, a table of one row, a scipy.sparse row, or ``(indices, values)``: a tuple
    of two sequences. A dense row costs O(n), the others what they hold, in updates and in
    readings. Masked arrays are refused.
    Memory: 8n bytes, 16n from the first `forget` on.

    Parameters
    ----------
    n : int
        Order of the matrix, at least 1.
    ridge : float, default 1.0
        Greater than 0.

    See Also
    --------
    Full : The whole matrix.

    Notes
    -----
    Reading methods may run in many threads at once; what changes the metric waits for them and
    they for it.

    Examples
    --------
    >>> from coactive_fast.metric import Diagonal
    >>> m = Diagonal(3)
    >>> m.update([1.0, 2.0, 0.0])
    5.0
    >>> m.matrix()
    array([2., 5., 1.])
    >>> m.quad(([0, 1], [2.0, 5.0]))
    7.0
    """

    # Invariant: `core` points into `a` and, where something was forgotten, into `mark`.
    cdef cf_diag core
    cdef np.ndarray a
    cdef np.ndarray mark
    cdef bint lowered          # some a may be below ridge: by a downdate
    cdef int64_t count         # of updates that changed something
    cdef object __weakref__

    def __init__(self, n, *, ridge=1.0):
        self.unmade()
        cdef Py_ssize_t order = as_size(n, "n")
        cdef double r = as_ridge(ridge)
        refuse_beyond_limit(8.0 * order, f"a diagonal metric of order {order}",
                            "fewer features take less")
        self._begin(r, numpy.full(order, r))
        self.lock.open()

    cdef int _begin(self, double ridge, np.ndarray a) except -1:
        self.a, self.mark, self.lowered, self.count = a, None, False, 0
        self.order = np.PyArray_DIM(a, 0)
        self.core.n, self.core.ridge, self.core.a = self.order, ridge, data_of(a)
        self.core.mark, self.core.now = NULL, 1.0
        return 0

    # --- changing ---------------------------------------------------------------------------

    def update(self, x, *, c=1.0):
        """``a_r += c x_r^2``; returns ``x^T A^-1 x`` from before.

        Parameters
        ----------
        x : array_like of shape (n,), scipy.sparse row or (indices, values)
            An all-zero x returns 0 and changes nothing.
        c : float, default 1.0
            Not 0. Below 0 (a downdate) every a must stay positive by a margin:
            ``1 + c x_r^2 / a_r >= 1e-6``, else a `ValueError` and no change.

        Returns
        -------
        float
            The value before the update; 0 for x = 0, which changes nothing.
        """
        cdef double weight = as_weight(c), q
        cdef cf_row row
        cdef RowBuffer keep = self._row(x, &row), room
        cdef int status
        self.lock.acquire()
        try:
            room = self._room(&row, False)
            status = L.diag_update(&self.core, K, &row, weight,
                                   NULL if room is None else room.value, &q)
            if status == CF_OK and q != 0.0:
                self.count += 1
                self.lowered |= weight < 0.0
        finally:
            self.lock.release()
        if status != CF_OK:
            self._refuse(&row)
            refuse_diagonal_update(status, "" if status == CF_EVALUE else "x ", q)
        return q

    cdef RowBuffer _row(self, object x, cf_row *row):
        """x as it lies; what is returned owns it where the caller does not. A plain vector is not
        checked: what is made of a NaN shows it."""
        cdef RowBuffer buffer
        self.lock.check_open()  # an object that was not initialized has no order
        if is_plain_vector(x) and np.PyArray_DIM(<np.ndarray>x, 0) == self.core.n:
            row.n = row.nnz = self.core.n
            row.value, row.i32, row.i64 = data_of(<np.ndarray>x), NULL, NULL
            return None
        buffer = RowBuffer()
        row_in(x, "x", self.core.n, buffer, row)
        return buffer

    cdef RowBuffer _room(self, const cf_row *row, bint gathers):
        """With the lock held: memory for a call that gathers, or where there are marks."""
        cdef RowBuffer room = None
        if self.core.mark != NULL or gathers:
            room = RowBuffer()
            room.reserve(row.nnz)
        return room

    cdef int _refuse(self, const cf_row *row) except -1:
        if not K.all_finite(row.nnz, row.value):
            raise ValueError("x must be finite")
        return 0

    def update_many(self, X, *, c=1.0):
        """The updates of many rows, one after the other, in one compiled loop.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix of shape (T, n), or list of (indices, values)
            Arrays of float64 and float32, and CSR, are read without a copy.
        c : float or array_like of shape (T,), default 1.0
            As in `update`.

        Returns
        -------
        ndarray of float64, shape (T,)
            What `update` returns for each row. Where a row is refused nothing changes. Ctrl-C
            stops between two rows: `updates` says how many changed something. Costs O(n) more
            than the rows: the diagonal is copied first.
        """
        cdef Rows rows = rows_in(X, "X", self._order())
        cdef np.ndarray weights = as_weights(c, rows.n), out = numpy.zeros(rows.n)
        cdef Py_ssize_t t = 0
        cdef int status = CF_OK
        self.lock.acquire()
        try:
            a, mark = self.a.copy(), copy.copy(self.mark)
            t = self._run(rows, data_of(weights), data_of(out), NULL, NULL, &status)
        finally:
            if status == CF_OK:
                changed = numpy.count_nonzero(out)
                self.count += changed
                self.lowered |= changed > 0 and (weights < 0.0).any()
            else:
                self.a[:] = a
                if mark is not None:
                    self.mark[:] = mark
            self.lock.release()
        if status != CF_OK:
            where = f"row {t} of X: " if status == CF_EVALUE else f"X, row {t}, "
            refuse_diagonal_update(status, where, data_of(out)[t])
        return out

    cdef Py_ssize_t _run(self, Rows rows, const double *c, double *out, int64_t *place,
                         int64_t *end, int *status) except -1:
        """With the lock held, row by row: the update by c (else NULL), with x^T A^-1 x; that alone;
        or (end: where each row's begin) the entries of A^-1 x with their places, where those are
        asked for. Returns how many rows there were before one was refused."""
        cdef RowBuffer buffer = RowBuffer(), room = RowBuffer()
        cdef Py_ssize_t t = 0, used = 0, step = 1 + DIAGONAL_PAUSE // (rows.most + 64), until, e
        cdef cf_row row
        buffer.reserve(rows.most)
        room.reserve(rows.most)
        while t < rows.n and status[0] == CF_OK:
            until = min(rows.n, t + step)
            with nogil:
                while t < until and status[0] == CF_OK:
                    rows.at(t, buffer, &row)
                    if c != NULL:
                        status[0] = L.diag_update(&self.core, K, &row, c[t], room.value, out + t)
                    elif end == NULL:
                        out[t] = L.diag_quad(&self.core, K, &row, room.value)
                        status[0] = CF_OK if out[t] - out[t] == 0.0 else CF_ENONFINITE
                    else:
                        L.diag_solve(&self.core, K, &row, out + used, room.value)
                        status[0] = CF_OK if K.all_finite(row.nnz, out + used) else CF_ENONFINITE
                        for e in range(row.nnz if place != NULL else 0):
                            place[used + e] = place_of(&row, e)
                        used += row.nnz
                        end[t + 1] = used
                    t += status[0] == CF_OK
            if status[0] == CF_OK:
                PyErr_CheckSignals()
        return t

    def forget(self, f):
        """``a <- f a + (1 - f) ridge``: what was learned weighs f times as much.

        Kept lazily: O(1), but O(n) in the first call and once in some hundred halvings.

        Parameters
        ----------
        f : float
            In (0, 1].

        Examples
        --------
        >>> from coactive_fast.metric import Diagonal
        >>> m = Diagonal(2)
        >>> m.update([2.0, 0.0])
        4.0
        >>> m.forget(0.5)
        >>> m.matrix()
        array([3., 1.])
        """
        cdef double factor = as_share(f, "f")
        cdef np.ndarray mark = None
        self.lock.acquire()
        try:
            if self.mark is None:
                mark = new_vector(self.core.n)
                L.diag_mark(&self.core, data_of(mark))
                self.mark = mark
            L.diag_forget(&self.core, factor)
        finally:
            self.lock.release()

    def decay(self, f):
        """The same as `forget`: the regulariser of a diagonal is whole at every moment.

        Parameters
        ----------
        f : float
            In (0, 1].

        Examples
        --------
        >>> from coactive_fast.metric import Diagonal
        >>> m = Diagonal(1)
        >>> m.update([2.0])
        4.0
        >>> m.decay(0.25)
        >>> m.matrix()
        array([2.])
        """
        self.forget(f)

    cdef int join(self, Entries other) except -1:
        cdef Diagonal theirs = <Diagonal>other
        cdef np.ndarray a = self._entries() + (theirs._entries() - self.core.ridge)
        cdef int64_t count = self.count + theirs.count
        if not (a > 0.0).all() or not K.all_finite(self.core.n, data_of(a)):
            raise ValueError("other must make a positive definite matrix")
        lowered = self.lowered or theirs.lowered
        self._begin(self.core.ridge, a)
        self.count, self.lowered = count, lowered
        return 0

    # --- reading ----------------------------------------------------------------------------

    def solve(self, x):
        """``A^-1 x``, of the kind of x.

        Parameters
        ----------
        x : array_like of shape (n,), scipy.sparse row or (indices, values)
            One row.

        Returns
        -------
        ndarray of float64, shape (n,), scipy.sparse row or (indices, values)
            Dense for a dense x. A scipy.sparse x gives a CSR row of the same shape, array or
            matrix as x is; ``(indices, values)`` gives such a pair. In both the indices ascend,
            and the cost is that of what x holds.
        """
        cdef cf_row row
        cdef RowBuffer keep = self._row(x, &row), room
        cdef np.ndarray out = new_vector(row.nnz)
        cdef bint sparse = row.i32 != NULL or row.i64 != NULL
        self.lock.acquire_shared()
        try:
            room = self._room(&row, sparse)
            L.diag_solve(&self.core, K, &row, data_of(out), NULL if room is None else room.value)
        finally:
            self.lock.release_shared()
        if not K.all_finite(row.nnz, data_of(out)):
            self._refuse(&row)
            raise ValueError("x is too large: A^-1 x overflows")
        return row_like(x, &row, out) if sparse else out

    def quad(self, x):
        """``x^T A^-1 x``.

        Parameters
        ----------
        x : array_like of shape (n,), scipy.sparse row or (indices, values)
            One row.

        Returns
        -------
        float
            The squared length of x in the norm of ``A^-1``.
        """
        cdef cf_row row
        cdef RowBuffer keep = self._row(x, &row), room
        cdef double q
        self.lock.acquire()
        try:
            room = self._room(&row, False)
            q = L.diag_quad(&self.core, K, &row, NULL if room is None else room.value)
        finally:
            self.lock.release()
        if not q - q == 0.0:
            self._refuse(&row)
            raise ValueError("x is too large: x^T A^-1 x overflows")
        return q

    def quad_many(self, X):
        """`quad` of many rows, bit for bit, in one call.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix of shape (T, n), or list of (indices, values)
            Arrays of float64 and float32, and CSR, are read without a copy.

        Returns
        -------
        ndarray of float64, shape (T,)
            A value a row.

        Examples
        --------
        >>> from coactive_fast.metric import Diagonal
        >>> Diagonal(9, ridge=4.0).quad_many([([0], [2.0]), ([3, 8], [2.0, 2.0])])
        array([1., 2.])
        """
        cdef Rows rows = rows_in(X, "X", self._order())
        cdef np.ndarray out = new_vector(rows.n)
        self._many(rows, data_of(out), NULL, NULL)
        return out

    def solve_many(self, X):
        """`solve` of many rows, bit for bit, in one call.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix of shape (T, n), or list of (indices, values)
            As for `quad_many`.

        Returns
        -------
        ndarray of float64 or scipy.sparse CSR, shape (T, n)
            CSR for rows that are not dense: a matrix where X is one, else an array.

        Examples
        --------
        >>> from coactive_fast.metric import Diagonal
        >>> Diagonal(2, ridge=4.0).solve_many([[2.0, 0.0], [2.0, 4.0]])
        array([[0.5, 0. ],
               [0.5, 1. ]])
        """
        cdef Rows rows = rows_in(X, "X", self._order())
        cdef bint sparse = rows.kind == SPARSE
        cdef Py_ssize_t entries = rows.end(rows.n) - rows.end(0) if sparse else rows.n * rows.d
        cdef np.ndarray out = new_vector(entries), ends = numpy.zeros(rows.n + 1, numpy.int64)
        cdef np.ndarray index = numpy.empty(entries if sparse else 0, numpy.int64)
        self._many(rows, data_of(out), <int64_t *>np.PyArray_DATA(index) if sparse else NULL,
                   <int64_t *>np.PyArray_DATA(ends))
        if not sparse:
            return (<object>out).reshape(rows.n, rows.d)
        used = ends[rows.n]
        return table_like(X, (out[:used], index[:used], ends), (rows.n, rows.d))

    cdef int _many(self, Rows rows, double *out, int64_t *place, int64_t *end) except -1:
        """`_run` of a reading method."""
        cdef Py_ssize_t t
        cdef int status = CF_OK
        self.lock.acquire_shared()
        try:
            t = self._run(rows, NULL, out, place, end, &status)
        finally:
            self.lock.release_shared()
        if t < rows.n:
            raise ValueError(f"X is too large: A^-1 x overflows at row {t}")
        return 0

    cdef int spread(self, np.ndarray z) except -1:
        numpy.divide(z, numpy.sqrt(self.matrix()), out=z)
        return 0

    def inverse(self):
        """A copy of the inverse's diagonal, shape (n,)."""
        return 1.0 / self.matrix()

    def matrix(self):
        """A copy of the diagonal.

        Returns
        -------
        ndarray of float64, shape (n,)
            The diagonal, which may be changed.
        """
        self.lock.acquire_shared()
        try:
            return self._entries()
        finally:
            self.lock.release_shared()

    cdef np.ndarray _entries(self):
        """The diagonal as it is now, for who holds the lock."""
        cdef np.ndarray out = new_vector(self.core.n)
        L.diag_entries(&self.core, data_of(out))
        return out

    @property
    def logdet(self):
        """``log det A``, summed afresh: nothing drifts."""
        cdef np.ndarray logs = self.matrix()
        K.log_many(np.PyArray_DIM(logs, 0), data_of(logs), data_of(logs))
        return float(logs.sum())

    @property
    def ridge(self):
        """What A began with on its diagonal, and what forgetting leads back to."""
        return self.core.ridge

    @property
    def updates(self):
        """How many updates changed something."""
        self.lock.acquire_shared()
        updates = self.count
        self.lock.release_shared()
        return updates

    # --- copies -----------------------------------------------------------------------------

    def state(self):
        """Everything there is to resume from, as plain arrays and numbers.

        Returns
        -------
        dict
            `Diagonal.from_state` makes the same metric of it, bit for bit.
        """
        self.lock.acquire_shared()
        try:
            return {"version": VERSION, "ridge": self.core.ridge, "diagonal": self.a.copy(),
                    "updates": self.count, "now": self.core.now, "lowered": bool(self.lowered),
                    "marks": numpy.empty(0) if self.mark is None else self.mark.copy()}
        finally:
            self.lock.release_shared()

    cdef int fill(self, dict given) except -1:
        cdef State state = versioned(given)
        cdef np.ndarray a = state.vector("diagonal", numpy.size(state.get("diagonal")))
        self._begin(as_ridge(state.get("ridge")), a)
        self.count, self.lowered = state.count("updates"), state.flag("lowered")
        now = positive(state, "now")
        if numpy.size(state.get("marks")) == 0:
            if now != 1.0:
                raise ValueError("now must be 1 where there are no marks")
        else:
            self.mark = state.vector("marks", self.core.n)
            if not ((self.mark >= now).all() and (self.mark <= 1.0).all()):
                raise ValueError(f"marks must be in {now} ... 1")
            self.core.mark, self.core.now = data_of(self.mark), now
        least = 0.0 if self.lowered else self.core.ridge * (1.0 - (self.mark is not None) * 1e-9)
        if not (np.PyArray_DIM(a, 0) and (a > 0.0).all() and (a >= least).all()):
            raise ValueError("diagonal must not be empty, and nowhere below ridge")
        return 0

    def __repr__(self):
        return f"{type(self).__name__}(n={self.core.n}, ridge={self.core.ridge!r})"


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


cdef int enlarge(void **block, Py_ssize_t kept, Py_ssize_t count, size_t size) except -1:
    """Room for `count` items with the first `kept` of those that are there."""
    cdef void *more
    product_of(count, <Py_ssize_t>size, "what is kept of the rows")
    _memory.refuse_beyond_limit((<double>kept + <double>count) * size, "what is kept of the rows",
                                "a budget, or a window, keeps fewer")
    more = L.alloc(<size_t>count, size)
    if more == NULL:
        raise MemoryError(f"{count * <Py_ssize_t>size} bytes of kept rows; a budget keeps fewer")
    if kept:
        memcpy(more, block[0], <size_t>kept * size)
    L.free(block[0])
    block[0] = more
    return 0


cdef Py_ssize_t more_than(Py_ssize_t room, Py_ssize_t needed) noexcept:
    return max(needed, room + room // 4 + 16)


cdef object frozen(const cf_row *x):
    """A copy of x written out that nobody can write to."""
    _memory.refuse_beyond_limit(8.0 * x.n, "a row", "a kernel of this package takes less")
    v = dense_vector(x, "a row")
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
        self.callable = callable(kernel)
        if self.callable:
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
        self.rows = []
        self.errors = Errors()
        if self.kind == CALLABLE:
            return
        self.gamma = -1.0
        if params.get("gamma") is not None:
            self.gamma = as_positive(params["gamma"], "gamma of kernel_params")
        self.coef0 = as_number(params.get("coef0", 1.0), "coef0 of kernel_params")
        self.degree = as_number(params.get("degree", 3.0), "degree of kernel_params")

    def __dealloc__(self):
        free_rows(self)

    cdef int reserve(self, const cf_row *x, Forms forms) except -1:
        """Room to write x out where `values` and `append` may want that."""
        cdef bint dense = self.form == KEPT_DENSE
        if self.n == 0 and (self.form == UNDECIDED or x.n != self.d):
            dense = x.n <= WIDE  # see `form_of`
        if dense and self.kind != CALLABLE:
            forms.widen(x)
        return forms.reserve(x.nnz)

    # --- values -----------------------------------------------------------------------------

    cdef int own(self, const cf_row *x, double *out) noexcept nogil:
        """k(x, x), finite and >= 0."""
        if self.kind == CALLABLE:
            with gil:
                return ask_kernel(self, x, 0, True, out)
        out[0] = 1.0 if self.kind == RBF else K.ridge_square(x)
        if self.kind == POLY:
            K.poly_of_dots(1, gamma_of(self, x), self.coef0, self.degree, out)
        return CF_OK if out[0] - out[0] == 0.0 and out[0] >= 0.0 else CF_ENONFINITE

    cdef int values(self, const cf_row *x, Forms forms, Py_ssize_t first,
                    double *out) noexcept nogil:
        """k(row, x) of the rows `first` ... n - 1, for which x is `fit`."""
        cdef Py_ssize_t n = self.n - first, d = self.d
        cdef const double *rows
        cdef const double *v
        if n <= 0:
            return CF_OK
        if self.kind == CALLABLE:
            with gil:
                return ask_kernel(self, x, first, False, out)
        if self.form == KEPT_DENSE:
            rows = self.dense + (self.lead + first) * d
            v = forms.whole(x)
            if self.kind == LINEAR:
                K.scores(n, d, rows, d, v, out)
            elif self.kind == RBF:
                K.gram_rbf(n, d, rows, d, v, gamma_of(self, x), out)
            else:
                K.gram_poly(n, d, rows, d, v, gamma_of(self, x), self.coef0, self.degree, out)
            forms.clear(x)
        else:
            forms.gather(x)
            K.postings_dots(&self.lists, self.lists.oldest + first, forms.nnz, forms.place,
                            forms.value, out)
            if self.kind == RBF:
                K.rbf_of_dots(n, self.square + self.lead + first, K.ridge_square(x),
                              gamma_of(self, x), out)
            elif self.kind == POLY:
                K.poly_of_dots(n, gamma_of(self, x), self.coef0, self.degree, out)
        return CF_OK if K.all_finite(n, out) else CF_ENONFINITE

    # --- rows come and go ---------------------------------------------------------------------

    cdef bint has_room(self, const cf_row *x, Forms forms) noexcept nogil:
        """Whether `append` can do without `reserve_update`."""
        if self.kind == CALLABLE:
            return False
        if self.form == UNDECIDED or self.lead + self.n >= self.room or x.n != self.d:
            return False
        if self.form == KEPT_DENSE:
            return True
        forms.gather(x)
        return (self.begin[self.lead + self.n] + forms.nnz <= self.entries
                and (forms.nnz == 0 or forms.place[forms.nnz - 1] < self.lists.features)
                and L.postings_lack(&self.lists, forms.nnz, forms.place) == 0)

    cdef int reserve_update(self, const cf_row *x, Forms forms) except -1:
        cdef Form form
        if self.has_room(x, forms):
            return 0
        if self.kind == CALLABLE:
            self.coming = frozen(x)
            return 0
        if self.n == 0 and x.n != self.d:
            free_rows(self)  # what a row that was not appended in the end had asked for
        form = form_of(self, x, forms)
        self.d = x.n
        if self.lead > self.n:
            move_rows(self)
        if self.lead + self.n >= self.room:
            grow_rows(self, form, more_than(self.room, self.lead + self.n + 1))
        if form == KEPT_SPARSE:
            forms.gather(x)
            grow_entries(self, forms)
        self.form = form
        return 0

    cdef void append(self, const cf_row *x, Forms forms) noexcept nogil:
        """x as the last row; after `has_room` or `reserve_update` for it."""
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
            forms.gather(x)
            end = self.begin[at] + forms.nnz
            memcpy(self.index + self.begin[at], forms.place,
                   <size_t>forms.nnz * sizeof(int64_t))
            memcpy(self.value + self.begin[at], forms.value, <size_t>forms.nnz * sizeof(double))
            self.begin[at + 1] = end
            self.square[at] = K.ridge_square(x)
            L.postings_add(&self.lists, forms.nnz, forms.place, forms.value)
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

    cdef dict get_state(self):
        """The rows, as plain arrays."""
        cdef np.ndarray begin, index
        cdef ptrdiff_t first
        found = {"d": self.d, "n": self.n, "form": <int>self.form}
        if self.kind == CALLABLE:
            found["rows"] = numpy.array(self.rows).reshape(self.n, self.d)
        elif self.form == KEPT_DENSE:
            found["rows"] = table_from(self.dense + self.lead * self.d, self.n, self.d, self.d)
        elif self.form == KEPT_SPARSE and self.n:
            first = self.begin[self.lead]
            begin = <np.ndarray>numpy.empty(self.n + 1, dtype=numpy.int64)
            memcpy(np.PyArray_DATA(begin), self.begin + self.lead, <size_t>np.PyArray_NBYTES(begin))
            index = <np.ndarray>numpy.empty(begin[self.n] - first, dtype=numpy.int64)
            memcpy(np.PyArray_DATA(index), self.index + first, <size_t>np.PyArray_NBYTES(index))
            found["begin"], found["index"] = begin - first, index
            found["value"] = vector_of(self.value + first, np.PyArray_DIM(index, 0))
        return found

    cdef int set_state(self, State state) except -1:
        cdef Forms forms = Forms()
        cdef cf_row x
        cdef np.ndarray values, begin, index
        cdef Py_ssize_t n = state.count("n"), d = state.count("d", 1 if n else 0), s
        cdef const int64_t *at
        cdef int form = state.count("form", UNDECIDED, KEPT_SPARSE)
        if self.kind == CALLABLE and form == KEPT_DENSE:
            form = UNDECIDED  # rows of a callable kernel are kept as they are handed to it
        if n and (form == UNDECIDED) != (self.kind == CALLABLE):
            state.refuse("form", "that of rows of this kernel", form)
        self.d, self.form = d, <Form>form
        x.n, x.i32, x.i64 = d, NULL, NULL
        if n and form == KEPT_SPARSE:
            begin = state.counts("begin", n + 1)
            index = state.counts("index", begin[n], 0, d - 1)
            values = state.vector("value", begin[n])
        elif n:
            begin, values = d * numpy.arange(n + 1, dtype=numpy.int64), state.table("rows", n, d)
        at = NULL if n == 0 else <const int64_t *>np.PyArray_DATA(begin)
        for s in range(n):
            x.nnz, x.value = at[s + 1] - at[s], data_of(values) + at[s]
            if at[0] != 0 or x.nnz < 0 or at[s + 1] > at[n]:
                state.refuse("begin", "ascending from 0")
            if form == KEPT_SPARSE:
                x.i64 = <const int64_t *>np.PyArray_DATA(index) + at[s]
                if x.nnz > 1 and not (numpy.diff(index[at[s]:at[s + 1]]) > 0).all():
                    state.refuse("index", "ascending in each row")
            self.reserve(&x, forms)
            self.reserve_update(&x, forms)
            self.append(&x, forms)
        return 0


cdef Form form_of(Kept kept, const cf_row *x, Forms forms) noexcept nogil:
    """Dense where that is small or at least a quarter of the first row is not zero."""
    if kept.form != UNDECIDED:
        return kept.form
    if x.n <= NARROW:
        return KEPT_DENSE
    forms.gather(x)
    return KEPT_DENSE if x.n <= WIDE and 4 * forms.nnz >= x.n else KEPT_SPARSE


cdef double gamma_of(Kept kept, const cf_row *x) noexcept nogil:
    return kept.gamma if kept.gamma > 0.0 else 1.0 / x.n


cdef int ask_kernel(Kept kept, const cf_row *x, Py_ssize_t first, bint own, double *out) noexcept:
    """A callable kernel, which may raise anything: kept for `raise_error`."""
    cdef Py_ssize_t s
    try:
        v = frozen(x)
        if own:
            out[0] = as_number(kept.kernel(v, v, **kept.params), "the kernel's value")
            if out[0] < 0.0:
                raise ValueError(f"the kernel of x with itself must be >= 0, got {out[0]}")
            return CF_OK
        for s in range(first, kept.n):
            out[s - first] = as_number(kept.kernel(kept.rows[s], v, **kept.params),
                                       "the kernel's value")
        return CF_OK
    except BaseException as error:
        kept.errors.keep(error)
        return CF_EVALUE


cdef int grow_rows(Kept kept, Form form, Py_ssize_t room) except -1:
    cdef Py_ssize_t held = kept.lead + kept.n
    if form == KEPT_DENSE:
        enlarge(<void **>&kept.dense, held * kept.d,
                product_of(room, kept.d, "rows that are kept"), sizeof(double))
    else:
        enlarge(<void **>&kept.square, held, room, sizeof(double))
        enlarge(<void **>&kept.begin, held + 1 if kept.room else 0, room + 1,
                sizeof(ptrdiff_t))
        if kept.room == 0:
            kept.begin[0] = 0
    kept.room = room
    return 0


cdef int grow_entries(Kept kept, Forms forms) except -1:
    """Of the rows and of the lists, for the row gathered last."""
    cdef Py_ssize_t held = kept.begin[kept.lead + kept.n], room, lack
    cdef Py_ssize_t features = forms.place[forms.nnz - 1] + 1 if forms.nnz else 0
    if held + forms.nnz > kept.entries:
        room = more_than(kept.entries, held + forms.nnz)
        enlarge(<void **>&kept.index, held, room, sizeof(int64_t))
        enlarge(<void **>&kept.value, held, room, sizeof(double))
        kept.entries = room
    if features > kept.lists.features:
        grow_table(kept, min(kept.d, more_than(kept.lists.features, features)))
    lack = L.postings_lack(&kept.lists, forms.nnz, forms.place)
    if lack:
        room = more_than(kept.lists.room, kept.lists.room + lack)
        enlarge(<void **>&kept.lists.pool, kept.lists.used, room, sizeof(cf_posting))
        kept.lists.room = room
    return 0


cdef int grow_table(Kept kept, Py_ssize_t features) except -1:
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
    for e in range(kept.begin[kept.lead], kept.begin[kept.lead + kept.n]):
        lists[kept.index[e]] = kept.lists.list[kept.index[e]]
    free(kept.lists.list)
    kept.lists.list, kept.lists.features = lists, features
    return 0


cdef void move_rows(Kept kept) noexcept:
    """The place of the rows that have left is used again."""
    cdef Py_ssize_t s
    cdef ptrdiff_t gone
    if kept.form == KEPT_DENSE:
        memmove(kept.dense, kept.dense + kept.lead * kept.d,
                <size_t>(kept.n * kept.d) * sizeof(double))
    else:
        gone = kept.begin[kept.lead]
        for s in range(kept.n + 1):
            kept.begin[s] = kept.begin[kept.lead + s] - gone
        memmove(kept.square, kept.square + kept.lead, <size_t>kept.n * sizeof(double))
        memmove(kept.index, kept.index + gone, <size_t>kept.begin[kept.n] * sizeof(int64_t))
        memmove(kept.value, kept.value + gone, <size_t>kept.begin[kept.n] * sizeof(double))
    kept.lead = 0


cdef void free_rows(Kept kept) noexcept:
    L.free(kept.dense)
    L.free(kept.begin)
    L.free(kept.square)
    L.free(kept.index)
    L.free(kept.value)
    L.free(kept.lists.pool)
    free(kept.lists.list)
    kept.dense = kept.square = kept.value = NULL
    kept.begin, kept.index = NULL, NULL
    memset(&kept.lists, 0, sizeof(kept.lists))
    kept.room = kept.entries = kept.lead = 0
    kept.form = UNDECIDED


# --- their factor ---------------------------------------------------------------------------


cdef class Gram:
    """Kept rows with their factor.

    Parameters
    ----------
    kernel, kernel_params
        See `Kept`.
    ridge : float
        What stands on the diagonal besides k(x, x), >= 0.
    weighted : bool
        Whether ``G_st = sqrt(c_s c_t) k(x_s, x_t)``, with a weight c of each row.
    """

    def __init__(self, kernel, kernel_params, double ridge, bint weighted=False):
        self.kept = Kept(kernel, kernel_params)
        self.ridge, self.weighted = ridge, weighted

    def __dealloc__(self):
        L.free(self.factor.data)

    cdef void solve_values(self, double *u) noexcept nogil:
        cdef Py_ssize_t n = self.factor.n, s
        for s in range(n if self.weighted else 0):
            u[s] *= self.c[s]
        memset(u + n, 0, <size_t>(self.length() - n) * sizeof(double))
        K.cholesky_forward(&self.factor, 0, u, u)

    cdef int solve(self, const cf_row *x, Forms forms, double *u, double *own) noexcept nogil:
        cdef int status = self.kept.own(x, own)
        if status == CF_OK:
            status = self.kept.values(x, forms, 0, u)
        if status == CF_OK:
            self.solve_values(u)
        return status

    cdef double rest(self, const double *u, double own) noexcept nogil:
        return max(own - K.dot(self.factor.n, u, u), 0.0)

    # --- rows come and go ---------------------------------------------------------------------

    cdef bint has_room(self, const cf_row *x, Forms forms) noexcept nogil:
        return self.factor.n < self.room and self.kept.has_room(x, forms)

    cdef int reserve_update(self, const cf_row *x, Forms forms) except -1:
        self.grow()
        return self.kept.reserve_update(x, forms)

    cdef int grow(self) except -1:
        cdef Py_ssize_t n = self.factor.n
        return self.resize(max(16, n + n // 4 + 8)) if n >= self.room else 0

    cdef int resize(self, Py_ssize_t room) except -1:
        """Memory for a factor of so many rows."""
        cdef Py_ssize_t n = self.factor.n, size = cf_panels_size(room)
        cdef double *data
        _memory.refuse_beyond_limit(
            8.0 * (size + cf_panels_size(n)), f"the factor of {room} learned examples",
            "a budget, or a window, keeps fewer")
        data = <double *>L.alloc(<size_t>(size + 2 * cf_pad(room) + 8), sizeof(double))
        if data == NULL:
            raise MemoryError(f"{8 * size} bytes for the factor of {room} learned examples: "
                              "a budget, or a window, keeps fewer")
        if n:
            memcpy(data, self.factor.data, <size_t>cf_panels_size(n) * sizeof(double))
            memcpy(data + size, self.factor.inv, <size_t>cf_pad(n) * sizeof(double))
            memcpy(data + size + cf_pad(room), self.c, <size_t>n * sizeof(double))
        L.free(self.factor.data)
        self.factor.data, self.factor.inv, self.room = data, data + size, room
        self.c = data + size + cf_pad(room)
        return 0

    cdef void append(self, const cf_row *x, Forms forms, const double *u, double pivot, double c,
                     double gain) noexcept nogil:
        if x != NULL:
            self.kept.append(x, forms)
        self.c[self.factor.n] = c
        K.cholesky_append(&self.factor, u, pivot)
        self.info += gain

    cdef void drop_first(self, double *scratch) noexcept nogil:
        cdef Py_ssize_t i
        self.kept.drop_first()
        K.cholesky_drop_first(&self.factor, scratch)
        memmove(self.c, self.c + 1, <size_t>self.factor.n * sizeof(double))
        self.info = 0.0
        for i in range(self.factor.n):
            self.info -= 2.0 * K.log_one(self.factor.inv[i])
        if self.ridge > 0.0:
            self.info -= self.factor.n * K.log_one(self.ridge)

    # --- state --------------------------------------------------------------------------------

    cdef dict get_state(self):
        cdef Py_ssize_t n = self.factor.n
        return {"n": n, "factor": vector_of(self.factor.data, cf_panels_size(n)),
                "c": vector_of(self.c, n), "info": self.info, "kept": self.kept.get_state()}

    cdef int set_state(self, State state, bint apart=False) except -1:
        cdef Py_ssize_t n = state.count("n", 0, MOST_ROWS), i, j
        cdef np.ndarray factor = state.vector("factor", cf_panels_size(n)), c = state.vector("c", n)
        cdef State kept = state.part("kept")
        cdef double pivot
        kept.count("n", 0 if apart else n, 0 if apart else n)
        if self.weighted and n and not (<object>c).min() > 0.0:
            state.refuse("c", "> 0")
        self.info = state.number("info")
        if n == 0:
            return self.kept.set_state(kept)
        self.resize(n)
        memcpy(self.factor.data, data_of(factor), <size_t>np.PyArray_NBYTES(factor))
        memcpy(self.c, data_of(c), <size_t>np.PyArray_NBYTES(c))
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
        return self.kept.set_state(kept)


# --- the dual metric --------------------------------------------------------------------------

cdef enum:
    LARGE_SOLVE = 64         # rows from which the GIL is let go


cdef double MOST_LOST = 1e9  # of k(x, x) / ridge over what the rows stored leave of it


cdef int refuse_own(double own, double ridge) except -1:
    if not own / ridge < MOST_OWN:
        raise ValueError(f"x is too large: k(x, x) must be below {<int>MOST_OWN} times the ridge, "
                         f"got {own / ridge:g} times it; scale the columns, or use the full "
                         "covariance")
    return 0


@cython.final
cdef class Reading:
    # The row of one call: as it lies, k(x, x), and u = L^-1 k (k: its values with the rows stored,
    # times their roots) with zeros behind it.
    cdef RowBuffer buffer
    cdef Forms forms
    cdef cf_row row
    cdef double own
    cdef np.ndarray u


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
    cdef Gram gram
    cdef Full inner
    cdef Py_ssize_t count
    cdef double missed        # sum of what ALD left out, c delta
    cdef object __weakref__

    def __init__(self, *, kernel="linear", kernel_params=None, ridge=1.0, window=None,
                 budget=None, tolerance=1e-2):
        self.unmade()
        self._make(kernel, kernel_params, ridge, window, budget, tolerance)
        if budget is not None:
            self.inner = Full(budget, ridge=ridge)
        self.lock.open()

    cdef int _make(self, kernel, kernel_params, ridge, window, budget, tolerance) except -1:
        self.ridge = as_ridge(ridge)
        if window is not None and budget is not None:
            raise ValueError("window and budget exclude each other")
        self.window = None if window is None else as_size(window, "window")
        self.budget = None if budget is None else as_size(budget, "budget")
        self.tolerance = as_number(tolerance, "tolerance")
        if self.tolerance < 0.0:
            raise ValueError(f"tolerance must be >= 0, got {self.tolerance}")
        # the dictionary's factor is that of its Gram matrix alone
        self.gram = Gram(kernel, kernel_params, 0.0 if budget is not None else self.ridge, True)
        self.kernel = kernel
        self.inner, self.count, self.missed = None, 0, 0.0
        return 0

    def __len__(self):
        return 0 if self.gram is None else self.gram.factor.n

    @property
    def kernel_params(self):
        """A copy of the kernel's parameters."""
        return {} if self.gram is None else dict(self.gram.kept.params)

    # --- parts of a reading -------------------------------------------------------------------

    cdef Reading _read(self, object x):
        """With the lock held. The first row fixes the dimension."""
        cdef Reading at = Reading()
        cdef Gram gram = self.gram
        cdef int status
        at.buffer, at.forms = RowBuffer(), Forms()
        row_in(x, "x", gram.kept.d if gram.kept.n else ANY, at.buffer, &at.row)
        at.u = new_vector(gram.length())
        gram.kept.reserve(&at.row, at.forms)
        if gram.factor.n < LARGE_SOLVE or gram.kept.callable:
            status = gram.solve(&at.row, at.forms, data_of(at.u), &at.own)
        else:
            with nogil:
                status = gram.solve(&at.row, at.forms, data_of(at.u), &at.own)
        if status != CF_OK:
            gram.kept.errors.raise_own()
            refuse(status, "the kernel of x")
        return at

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
        cdef double weight = as_positive(c, "c"), q
        cdef Reading at
        self.lock.acquire()
        try:
            at = self._read(x)
            if at.own == 0.0:
                return 0.0
            refuse_own(weight * at.own, self.ridge)
            if self.budget is None:
                q = self._update_exact(at, weight)
            else:
                q = self._update_within(at, weight)
            self.count += 1
            return q
        finally:
            self.lock.release()

    cdef double _update_exact(self, Reading at, double c) except? -1.0:
        cdef double q = self.gram.rest(data_of(at.u), at.own) / self.ridge, root = sqrt(c)
        cdef Py_ssize_t n = self.gram.factor.n, s
        cdef np.ndarray scratch = None
        if self.window is not None and n == <Py_ssize_t>self.window:  # taken before any change
            scratch = new_vector(3 * self.gram.length() + 48)
        self.gram.reserve_update(&at.row, at.forms)
        for s in range(n):
            data_of(at.u)[s] *= root
        self.gram.append(&at.row, at.forms, data_of(at.u), sqrt(self.ridge * (1.0 + c * q)), root,
                         K.log1p_one(c * q))
        if scratch is not None:
            self.gram.drop_first(data_of(scratch))
        return q

    cdef double _update_within(self, Reading at, double c) except? -1.0:
        cdef Py_ssize_t n = self.gram.factor.n
        cdef double delta = self.gram.rest(data_of(at.u), at.own), inside, unused
        cdef np.ndarray w = self._coordinates(at.u)
        cdef bint joins = delta > self.tolerance * at.own and n < self.inner.core.n
        self.inner._quad(w, &inside)
        if joins:  # one coordinate more: that of the new atom
            self.gram.reserve_update(&at.row, at.forms)  # what may fail comes before what is kept
            data_of(w)[n] = sqrt(delta)
        self.inner._update(w, c, &unused)
        if joins:
            self.gram.append(&at.row, at.forms, data_of(at.u), sqrt(delta), 1.0, 0.0)
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
        cdef Reading at
        cdef double q
        self.lock.acquire_shared()
        try:
            at = self._read(x)
            q = self.gram.rest(data_of(at.u), at.own) / self.ridge
            if self.budget is not None:
                q = self.inner.quad(self._coordinates(at.u)) + q
            if at.own / self.ridge > MOST_LOST * q:
                raise ValueError("x has lost its digits: phi(x)^T A^-1 phi(x) is below 1e-9 of "
                                 "k(x, x) / ridge; scale the columns, or use Full")
            if not q - q == 0.0:
                raise ValueError("x is too large: phi(x)^T A^-1 phi(x) overflows")
            return q
        finally:
            self.lock.release_shared()

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
        cdef np.ndarray u
        self.lock.acquire_shared()
        try:
            u = self._read(x).u
            if self.budget is not None:
                return self.inner.solve(self._coordinates(u))[:self.gram.factor.n]
            if self.gram.factor.n:
                K.cholesky_backward(&self.gram.factor, data_of(u), data_of(u))
            return u[:self.gram.factor.n]
        finally:
            self.lock.release_shared()

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
        self.lock.acquire_shared()
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
            self.lock.release_shared()
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
        self.lock.acquire_shared()
        try:
            n = self.gram.factor.n
            if self.budget is not None:
                return self.inner.matrix()[:n, :n]
            lower = numpy.zeros((n, n))
            for i in range(n):
                for j in range(i + 1):
                    lower[i, j] = cf_cholesky_at(&self.gram.factor, i, j)[0]
        finally:
            self.lock.release_shared()
        return lower @ lower.T

    @property
    def logdet(self):
        """``log det M - len(self) log ridge``: an update adds ``log(1 + c q)``."""
        self.lock.acquire_shared()
        try:
            if self.budget is not None:
                return self.inner.logdet - self.inner.core.n * K.log_one(self.ridge)
            return self.gram.info
        finally:
            self.lock.release_shared()

    @property
    def updates(self):
        """How many updates changed something."""
        self.lock.acquire_shared()
        updates = self.count
        self.lock.release_shared()
        return updates

    @property
    def approximation_error(self):
        """With a budget: how much of the rows the dictionary does not hold; 0 without.

        The sum of ``c`` times the squared distance of each row, as stored, from the dictionary's
        span.
        """
        self.lock.acquire_shared()
        missed = self.missed
        self.lock.release_shared()
        return missed

    # --- copies -------------------------------------------------------------------------------

    def state(self):
        """Everything there is to resume from, as plain arrays and numbers.

        A callable kernel cannot be written down: the dictionary then holds it as it is.

        Returns
        -------
        dict
            `Dual.from_state` makes the same metric of it, bit for bit.
        """
        self.lock.acquire_shared()
        try:
            return {"version": VERSION, "kernel": self.kernel, "kernel_params": self.kernel_params,
                    "ridge": self.ridge, "window": self.window, "budget": self.budget,
                    "tolerance": self.tolerance, "count": self.count, "missed": self.missed,
                    "inner": None if self.inner is None else self.inner.state(),
                    "gram": self.gram.get_state()}
        finally:
            self.lock.release_shared()

    cdef int fill(self, dict given) except -1:
        cdef State state = versioned(given)
        self._make(state.get("kernel"), state.get("kernel_params"), state.get("ridge"),
                   state.get("window"), state.get("budget"), state.get("tolerance"))
        self.count, self.missed = state.count("count"), state.number("missed", 0.0)
        if (state.get("inner") is None) != (self.budget is None):
            raise ValueError("inner must be there with a budget, and None without")
        if self.budget is not None:
            self.inner = Full.from_state(state.get("inner"))
            self.inner._ask_for(CF_FULL_AUTO)
            if self.inner.core.n != self.budget or self.inner.core.ridge != self.ridge:
                raise ValueError(f"inner must have order {self.budget} and ridge {self.ridge}")
        self.gram.set_state(state.part("gram"))
        n = len(self)
        for most in (self.window, self.budget, self.count):
            if most is not None and n > most:
                state.refuse("gram", f"of at most {most} rows", n)
        return 0

    def __repr__(self):
        return (f"{type(self).__name__}(kernel={self.kernel!r}, "
                f"kernel_params={self.kernel_params!r}, ridge={self.ridge!r}, "
                f"window={self.window!r}, budget={self.budget!r}, tolerance={self.tolerance!r})")
