"""The diagonal metric; the state and its invariants are those of cf_diag.h."""

import numpy

cimport numpy as np
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport (
    data_of, is_plain_vector, new_vector,
)
from coactive_fast._table cimport (
    CF_EVALUE, CF_OK, cf_diag, cf_get_library, cf_get_table, cf_library, cf_row, cf_table,
)
from coactive_fast.learner._state cimport VERSION, State, versioned
from coactive_fast.metric._base cimport (
    Entries, as_change, as_factor, as_order, as_ridge, as_weights, positive, row_in,
    row_like, rows_in, table_like,
)
from coactive_fast.rows._rows cimport SPARSE, RowBuffer, Rows, place_of

from coactive_fast._memory import refuse_beyond_limit

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    PAUSE = 1 << 23  # elements of work, some 10 ms, after which signals are looked at


cdef int refuse_update(int status, str where, double q) except -1:
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
        cdef Py_ssize_t order = as_order(n, "n")
        cdef double r = as_ridge(ridge)
        refuse_beyond_limit(8.0 * order, f"a diagonal metric of order {order}",
                            "fewer features take less")
        self._begin(r, numpy.full(order, r))
        self.made()

    cdef int _begin(self, double ridge, np.ndarray a) except -1:
        self.a, self.mark, self.lowered, self.count = a, None, False, 0
        self.core.n, self.core.ridge, self.core.a = np.PyArray_DIM(a, 0), ridge, data_of(a)
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
        cdef double weight = as_change(c), q
        cdef cf_row row
        cdef RowBuffer keep = self._row(x, &row), room = settled(self, &row, True, False)
        cdef int status
        status = L.diag_update(&self.core, K, &row, weight, NULL if room is None else room.value,
                               &q)
        if status != CF_OK:
            self._refuse(&row)
            refuse_update(status, "" if status == CF_EVALUE else "x ", q)
        if q != 0.0:
            self.count += 1
            self.lowered |= weight < 0.0
        return q

    cdef Py_ssize_t _order(self) except -1:
        self.guard.settle_read()  # refuses an object that was not made: it has no order
        return self.core.n

    cdef RowBuffer _row(self, object x, cf_row *row):
        """x as it lies; what is returned owns it where the caller does not. A plain vector is not
        looked at: what is made of a NaN shows it."""
        cdef RowBuffer buffer
        self.guard.settle_read()  # refuses an object that was not made: it has no order
        if is_plain_vector(x) and np.PyArray_DIM(<np.ndarray>x, 0) == self.core.n:
            row.n = row.nnz = self.core.n
            row.value, row.i32, row.i64 = data_of(<np.ndarray>x), NULL, NULL
            return None
        buffer = RowBuffer()
        row_in(x, "x", self.core.n, buffer, row)
        return buffer

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
            stops between two rows: `updates` tells how many changed something. Costs O(n) more
            than the rows: the diagonal is copied first.
        """
        cdef Rows rows = rows_in(X, "X", self._order())
        cdef np.ndarray weights = as_weights(c, rows.n), out = numpy.zeros(rows.n)
        cdef np.ndarray a, mark = None
        cdef RowBuffer buffer = RowBuffer(), room = RowBuffer()
        cdef Py_ssize_t t = 0, taken = 0, step = 1 + PAUSE // (rows.most + 64)
        cdef int status = CF_OK
        buffer.fit(rows.most)
        room.fit(rows.most)
        self.guard.begin_write()
        try:
            a = self.a.copy()
            if self.mark is not None:
                mark = self.mark.copy()
            while status == CF_OK and t < rows.n:
                with nogil:
                    status = self._updates(rows, buffer, room.value, data_of(weights),
                                           data_of(out), &t, min(rows.n, t + step), &taken)
                if status == CF_OK:
                    try:
                        PyErr_CheckSignals()
                    except BaseException:
                        self._took(taken, weights)
                        raise
            if status == CF_OK:
                self._took(taken, weights)
            else:
                memcpy(self.core.a, data_of(a), <size_t>np.PyArray_NBYTES(a))
                if mark is not None:
                    memcpy(self.core.mark, data_of(mark), <size_t>np.PyArray_NBYTES(mark))
        finally:
            self.guard.end_write()
        if status != CF_OK:
            refuse_update(status, f"row {t} of X: " if status == CF_EVALUE else f"X, row {t}, ",
                          data_of(out)[t])
        return out

    cdef int _took(self, Py_ssize_t taken, np.ndarray weights) except -1:
        self.count += taken
        self.lowered |= taken > 0 and bool(weights.min() < 0.0)
        return 0

    cdef int _updates(self, Rows rows, RowBuffer buffer, double *scratch, const double *c,
                      double *q, Py_ssize_t *t, Py_ssize_t until,
                      Py_ssize_t *taken) noexcept nogil:
        """Rows t[0] ... until - 1 or up to the first that fails, which t[0] then is."""
        cdef cf_row row
        cdef int status = CF_OK
        while t[0] < until:
            rows.at(t[0], buffer, &row)
            status = L.diag_update(&self.core, K, &row, c[t[0]], scratch, q + t[0])
            if status != CF_OK:
                break
            taken[0] += q[t[0]] != 0.0
            t[0] += 1
        return status

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
        cdef double factor = as_factor(f)
        cdef np.ndarray mark = None
        if self._order() and self.mark is None:
            mark = new_vector(self.core.n)
        self.guard.settle_write()
        if self.mark is None:
            self.mark = mark
            L.diag_mark(&self.core, data_of(mark))
        L.diag_forget(&self.core, factor)

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

    cdef type kind(self):
        return Diagonal

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
        room = settled(self, &row, False, sparse)
        L.diag_solve(&self.core, K, &row, data_of(out), NULL if room is None else room.value)
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
        cdef RowBuffer keep = self._row(x, &row), room = settled(self, &row, False, False)
        cdef double q
        q = L.diag_quad(&self.core, K, &row, NULL if room is None else room.value)
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
        self._many(rows, data_of(out), None)
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
        cdef np.ndarray index = None, out
        cdef Py_ssize_t entries = rows.end(rows.n) - rows.end(0) if rows.kind == SPARSE else (
            rows.n * rows.d)
        out = new_vector(entries)
        ends = numpy.empty(rows.n + 1, numpy.int64)
        if rows.kind == SPARSE:
            index = <np.ndarray>numpy.empty(entries, numpy.int64)
        cdef Py_ssize_t used = self._many(rows, data_of(out), index, ends)
        if rows.kind != SPARSE:
            return (<object>out).reshape(rows.n, rows.d)
        return table_like(X, (out[:used], index[:used], ends), (rows.n, rows.d))

    cdef Py_ssize_t _many(self, Rows rows, double *out, np.ndarray index,
                          np.ndarray ends=None) except -1:
        """x^T A^-1 x of each row, or (ends) the entries of A^-1 x one row after the other, with
        their places in `index` where the rows are sparse; returns how many entries."""
        cdef RowBuffer buffer = RowBuffer(), room = RowBuffer()
        cdef Py_ssize_t t = 0, used = 0, step = 1 + PAUSE // (rows.most + 64), bad = -1
        cdef int64_t *place = NULL if index is None else <int64_t *>np.PyArray_DATA(index)
        cdef int64_t *end = NULL if ends is None else <int64_t *>np.PyArray_DATA(ends)
        buffer.fit(rows.most)
        room.fit(rows.most)
        self.guard.begin_read()
        try:
            while t < rows.n and bad < 0:
                with nogil:
                    bad = self._read(rows, buffer, room.value, &t, min(rows.n, t + step), out,
                                     place, end, &used)
                PyErr_CheckSignals()
        finally:
            self.guard.end_read()
        if bad >= 0:
            raise ValueError(f"X is too large: A^-1 x overflows at row {bad}")
        return used

    cdef Py_ssize_t _read(self, Rows rows, RowBuffer buffer, double *scratch, Py_ssize_t *t,
                          Py_ssize_t until, double *out, int64_t *place, int64_t *end,
                          Py_ssize_t *used) noexcept nogil:
        """The next rows; the first that overflows, or -1."""
        cdef Py_ssize_t e
        cdef cf_row row
        if end != NULL and t[0] == 0:
            end[0] = 0
        while t[0] < until:
            rows.at(t[0], buffer, &row)
            if end == NULL:
                out[t[0]] = L.diag_quad(&self.core, K, &row, scratch)
                if not out[t[0]] - out[t[0]] == 0.0:
                    return t[0]
            else:
                L.diag_solve(&self.core, K, &row, out + used[0], scratch)
                if not K.all_finite(row.nnz, out + used[0]):
                    return t[0]
                if place != NULL:
                    for e in range(row.nnz):
                        place[used[0] + e] = place_of(&row, e)
                used[0] += row.nnz
                end[t[0] + 1] = used[0]
            t[0] += 1
        return -1

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
        self.guard.begin_read()
        try:
            return self._entries()
        finally:
            self.guard.end_read()

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
    def n(self):
        """Order of the matrix."""
        return self.core.n

    @property
    def ridge(self):
        """What A began with on its diagonal, and what forgetting leads back to."""
        return self.core.ridge

    @property
    def updates(self):
        """How many updates changed something."""
        self.guard.settle_read()
        return self.count

    # --- copies -----------------------------------------------------------------------------

    def state(self):
        """Everything there is to resume from, as plain arrays and numbers.

        Returns
        -------
        dict
            `Diagonal.from_state` makes the same metric of it, bit for bit.
        """
        self.guard.begin_read()
        try:
            return {"version": VERSION, "ridge": self.core.ridge, "diagonal": self.a.copy(),
                    "updates": self.count, "now": self.core.now, "lowered": bool(self.lowered),
                    "marks": numpy.empty(0) if self.mark is None else self.mark.copy()}
        finally:
            self.guard.end_read()

    cdef int fill(self, dict given) except -1:
        cdef State state = versioned(given)
        cdef np.ndarray a = state.vector("diagonal", numpy.size(state.get("diagonal")))
        self._begin(as_ridge(state.get("ridge")), a)
        self.count = state.count("updates")
        self._fill_past(state)
        least = 0.0 if self.lowered else self.core.ridge * (1.0 - (self.mark is not None) * 1e-9)
        if not (np.PyArray_DIM(a, 0) and (a > 0.0).all() and (a >= least).all()):
            raise ValueError("diagonal must not be empty, and nowhere below ridge")
        return 0

    cdef int _fill_past(self, State state) except -1:
        cdef np.ndarray marks
        cdef double now = positive(state, "now")
        self.lowered = state.flag("lowered")
        if numpy.size(state.get("marks")) == 0:
            if now != 1.0:
                raise ValueError("now must be 1 where there are no marks")
            return 0
        marks = state.vector("marks", self.core.n)
        if not ((marks >= now).all() and (marks <= 1.0).all()):
            raise ValueError(f"marks must be in {now} ... 1")
        self.mark = marks
        self.core.mark, self.core.now = data_of(marks), now
        return 0

    def __repr__(self):
        return f"{type(self).__name__}(n={self.core.n}, ridge={self.core.ridge!r})"


cdef inline RowBuffer settled(Diagonal metric, const cf_row *row, bint writes, bint gathers):
    """The lock is looked at; what the call needs of its own where it gathers, or once there are
    marks. Memory may be found by letting others work, so the lock is then looked at again."""
    cdef RowBuffer room = None
    while True:
        if writes:
            metric.guard.settle_write()
        else:
            metric.guard.settle_read()
        if room is not None or (metric.core.mark == NULL and not gathers):
            return room
        room = RowBuffer()
        room.fit(row.nnz)
