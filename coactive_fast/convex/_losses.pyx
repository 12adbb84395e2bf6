"""Losses of a row and a label; see _losses.pxd and cf_loss.h."""

import numpy

cimport numpy as np
from libc.math cimport isfinite

from coactive_fast._arrays cimport (
    as_count, as_rows, as_vector, data_of, new_vector, refuse_length, refuse_non_finite,
)
from coactive_fast._table cimport (
    CF_LOSS_LOGISTIC, CF_LOSS_RETURN, CF_LOSS_SQUARED, cf_get_library, cf_get_table, cf_library,
    cf_table,
)

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

KINDS = {"squared": CF_LOSS_SQUARED, "logistic": CF_LOSS_LOGISTIC, "return": CF_LOSS_RETURN}


cdef class Rows:
    """Rows, labels, and the loss of a prediction.

    Parameters
    ----------
    kind : {"squared", "logistic", "return"}
    Z : array_like or scipy.sparse, shape (n, d)
        Copied; sparse is made dense.
    y : array_like of shape (n,) or None
        Copied.
    """

    def __init__(self, str kind, Z, y):
        if hasattr(Z, "toarray") and hasattr(Z, "nnz"):
            Z = Z.toarray()
        self.Z = <np.ndarray>numpy.array(as_rows(Z, "Z"), dtype=numpy.float64, order="C")
        self.n, self.d = np.PyArray_DIM(self.Z, 0), np.PyArray_DIM(self.Z, 1)
        if self.n == 0 or self.d == 0:
            raise ValueError("Z must have at least one row and one column, got shape "
                             f"{(<object>self.Z).shape}")
        refuse_non_finite(self.Z, "Z")
        self.kind = KINDS[kind]
        self.y = <np.ndarray>(numpy.zeros(self.n) if y is None else as_vector(y, "y").copy())
        if np.PyArray_DIM(self.y, 0) != self.n:
            refuse_length(np.PyArray_DIM(self.y, 0), "y", self.n, "the rows of Z")
        refuse_non_finite(self.y, "y")
        if self.kind == CF_LOSS_LOGISTIC and not self.signs:
            raise ValueError("y must be -1 or +1 everywhere")
        for array in (self.Z, self.y):
            array.setflags(write=False)

    @property
    def signs(self):
        """Whether every label is -1 or +1."""
        return bool((numpy.abs(self.y) == 1.0).all())

    # --- of a run -----------------------------------------------------------------------------

    cdef double value(self, Py_ssize_t t, const double *x, double *m) noexcept nogil:
        """The loss at x, and the prediction; not finite where either overflows."""
        cdef Py_ssize_t i = t % self.n
        m[0] = K.dot(self.d, data_of(self.Z) + i * self.d, x)
        return L.loss_value(K, self.kind, m[0], data_of(self.y)[i])

    cdef void gradient(self, Py_ssize_t t, double m, double *g) noexcept nogil:
        cdef Py_ssize_t i = t % self.n, j
        cdef double slope = L.loss_slope(K, self.kind, m, data_of(self.y)[i])
        cdef const double *z = data_of(self.Z) + i * self.d
        for j in range(self.d):
            g[j] = slope * z[j]

    cdef bint wrong(self, Py_ssize_t t, double m) noexcept nogil:
        return (m >= 0.0) != (data_of(self.y)[t % self.n] > 0.0)

    # --- single calls -------------------------------------------------------------------------

    cdef double at(self, t, x, Py_ssize_t *i, double *m) except? -1.0:
        """The loss, the row's number and the prediction, all arguments checked."""
        cdef np.ndarray point = as_vector(x, "x")
        cdef double loss
        i[0] = as_count(t, "t")
        if np.PyArray_DIM(point, 0) != self.d:
            refuse_length(np.PyArray_DIM(point, 0), "x", self.d, "a row of Z")
        loss = self.value(i[0], data_of(point), m)
        if not (isfinite(loss) and isfinite(m[0])):
            refuse_non_finite(point, "x")
            raise ValueError("the loss at x overflows")
        return loss

    def value_at(self, t, x):
        cdef Py_ssize_t i
        cdef double m
        return self.at(t, x, &i, &m)

    def gradient_at(self, t, x):
        cdef Py_ssize_t i
        cdef double m
        cdef np.ndarray g = new_vector(self.d)
        self.at(t, x, &i, &m)
        self.gradient(i, m, data_of(g))
        if not K.all_finite(self.d, data_of(g)):
            raise ValueError("the gradient at x overflows")
        return g

    def wrong_at(self, t, x):
        cdef Py_ssize_t i
        cdef double m
        self.at(t, x, &i, &m)
        return bool(self.wrong(i, m))
