"""The diagonal metric."""

import numpy

cimport numpy as np
from libc.stdint cimport int32_t, int64_t

from coactive_fast._arrays cimport as_count, as_number, as_vector, data_of, refuse_non_finite
from coactive_fast._table cimport cf_get_table, cf_table
from coactive_fast.metric._rows cimport (
    Metric, SparseRow, check_state, dense_row, is_sparse, sparse_row,
)

np.import_array()

cdef const cf_table *K = cf_get_table()

cdef enum:
    FORMAT = 1


cdef class Diagonal(Metric):
    """``A = ridge I + sum c x x^T`` with nothing kept but its diagonal.

    A dense row costs O(n), a scipy.sparse row what it holds. Memory: 8n bytes.

    Parameters
    ----------
    n : int
        Order of the matrix, at least 1.
    ridge : float, default 1.0
        Greater than 0.

    Examples
    --------
    >>> from coactive_fast.metric import Diagonal
    >>> m = Diagonal(3)
    >>> m.update([1.0, 2.0, 0.0])
    5.0
    >>> m.matrix()
    array([2., 5., 1.])
    """

    cdef np.ndarray a          # the diagonal, > 0
    cdef double _ridge
    cdef int64_t count         # of updates that changed something
    cdef object __weakref__

    def __init__(self, n, ridge=1.0):
        cdef Py_ssize_t order = as_count(n, "n")
        cdef double r = as_number(ridge, "ridge")
        if order == 0:
            raise ValueError("n must be >= 1, got 0")
        if r <= 0.0 or not 1.0 / r < float("inf"):
            raise ValueError(f"ridge must be > 0 with a finite inverse, got {r}")
        self.a = numpy.full(order, r)
        self._ridge = r
        self.count = 0

    cdef double _quad(self, np.ndarray v, SparseRow row) noexcept:
        if row is None:
            return K.diagonal_quad(np.PyArray_DIM(self.a, 0), data_of(self.a), data_of(v))
        if row.wide:
            return K.diagonal_quad64(row.nnz, <int64_t *>np.PyArray_DATA(row.index),
                                     data_of(row.value), data_of(self.a))
        return K.diagonal_quad32(row.nnz, <int32_t *>np.PyArray_DATA(row.index),
                                 data_of(row.value), data_of(self.a))

    cdef void _add(self, np.ndarray v, SparseRow row, double c) noexcept:
        if row is None:
            K.diagonal_update(np.PyArray_DIM(self.a, 0), data_of(self.a), data_of(v), c)
        elif row.wide:
            K.diagonal_update64(row.nnz, <int64_t *>np.PyArray_DATA(row.index),
                                data_of(row.value), c, data_of(self.a))
        else:
            K.diagonal_update32(row.nnz, <int32_t *>np.PyArray_DATA(row.index),
                                data_of(row.value), c, data_of(self.a))

    def update(self, x, c=1.0):
        """``A += c diag(x_i^2)``; returns ``x^T A^-1 x`` from before.

        Parameters
        ----------
        x : array_like of shape (n,) or scipy.sparse row
            An all-zero x returns 0 and changes nothing.
        c : float, default 1.0
            Greater than 0.

        Returns
        -------
        float
        """
        cdef np.ndarray v = None
        cdef SparseRow row = None
        cdef double weight = as_number(c, "c"), q, most
        if weight <= 0.0:
            raise ValueError(f"c must be > 0, got {weight}")
        if not isinstance(x, np.ndarray) and is_sparse(x):
            row = sparse_row(x, "x", self.n)
            v = row.value
        else:
            v = dense_row(x, "x", self.n)
        self.guard.settle_write()
        q = self._quad(v, row)
        if q == 0.0:
            return q
        # what is added stays finite: c x.x bounds every entry of it
        most = weight * K.dot(np.PyArray_DIM(v, 0), data_of(v), data_of(v))
        if not (q - q == 0.0 and most < 1e308):
            refuse_non_finite(v, "x")
            raise ValueError("x is too large: c x_i^2 overflows")
        self._add(v, row, weight)
        self.count += 1
        return q

    def update_many(self, X, c=1.0):
        """The updates of many dense or sparse rows, one after the other.

        Parameters
        ----------
        X : array_like or scipy.sparse matrix of shape (T, n)
        c : float or array_like of shape (T,), default 1.0

        Returns
        -------
        ndarray of float64, shape (T,)
            What `update` returns for each row.
        """
        rows = X.tocsr() if is_sparse(X) else numpy.asarray(X)
        if rows.ndim != 2 or rows.shape[1] != self.n:
            raise ValueError(f"X must have shape (T, {self.n}), got {rows.shape}")
        weights = numpy.broadcast_to(numpy.asarray(c, float), (rows.shape[0],))
        if is_sparse(X):
            refuse_non_finite(rows.data, "X")
            return numpy.array([self.update(rows[t:t + 1], weights[t])
                                for t in range(rows.shape[0])])
        refuse_non_finite(rows, "X")
        return numpy.array([self.update(rows[t], weights[t]) for t in range(rows.shape[0])])

    def solve(self, x):
        """``A^-1 x``, dense.

        Returns
        -------
        ndarray of float64, shape (n,)
        """
        cdef np.ndarray v = dense_row(x, "x", self.n)
        cdef np.ndarray out = numpy.empty(self.n)
        refuse_non_finite(v, "x")
        self.guard.settle_read()
        K.diagonal_solve(np.PyArray_DIM(v, 0), data_of(self.a), data_of(v), data_of(out))
        return out

    def quad(self, x):
        """``x^T A^-1 x``, for a dense vector or a scipy.sparse row.

        Returns
        -------
        float
        """
        cdef SparseRow row = None
        cdef np.ndarray v = None
        cdef double q
        if not isinstance(x, np.ndarray) and is_sparse(x):
            row = sparse_row(x, "x", self.n)
            v = row.value
        else:
            v = dense_row(x, "x", self.n)
        self.guard.settle_read()
        q = self._quad(v, row)
        if not q - q == 0.0:
            refuse_non_finite(v, "x")
        return q

    def inverse(self):
        """A copy of the inverse's diagonal.

        Returns
        -------
        ndarray of float64, shape (n,)
        """
        self.guard.settle_read()
        return 1.0 / self.a

    def matrix(self):
        """A copy of the diagonal.

        Returns
        -------
        ndarray of float64, shape (n,)
        """
        self.guard.settle_read()
        return self.a.copy()

    @property
    def logdet(self):
        """``log det A``, summed afresh: nothing drifts."""
        cdef np.ndarray logs = numpy.empty(self.n)
        self.guard.settle_read()
        K.log_many(np.PyArray_DIM(self.a, 0), data_of(self.a), data_of(logs))
        return float(logs.sum())

    @property
    def n(self):
        """Order of the matrix."""
        return np.PyArray_DIM(self.a, 0)

    @property
    def ridge(self):
        """What A began with on its diagonal."""
        return self._ridge

    @property
    def updates(self):
        """How many updates changed something."""
        return self.count

    def state(self):
        """Everything there is to resume from, as plain arrays and numbers.

        Returns
        -------
        dict
            `Diagonal.from_state` makes the same metric of it, bit for bit.
        """
        self.guard.settle_read()
        return {"format": FORMAT, "ridge": self._ridge, "diagonal": self.a.copy(),
                "updates": self.count}

    @classmethod
    def from_state(cls, state):
        """The metric that `state` described.

        Parameters
        ----------
        state : dict

        Returns
        -------
        Diagonal
        """
        check_state(state, FORMAT, ("ridge", "diagonal", "updates"))
        cdef np.ndarray a = as_vector(state["diagonal"], "diagonal")
        refuse_non_finite(a, "diagonal")
        if not (a > 0.0).all():
            raise ValueError("diagonal must be > 0 everywhere")
        cdef Diagonal self = cls(np.PyArray_DIM(a, 0), state["ridge"])
        self.a = a.copy()
        self.count = state["updates"]
        return self

    def __repr__(self):
        return f"{type(self).__name__}(n={self.n}, ridge={self._ridge!r})"
