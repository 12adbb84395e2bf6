cimport numpy as np

from coactive_fast._table cimport cf_full, cf_full_rows, cf_past, cf_table
from coactive_fast.metric._base cimport Stored

ctypedef void (*reader)(const cf_full *, const cf_table *, double *, double *) noexcept nogil
ctypedef ptrdiff_t (*many)(const cf_full *, const cf_table *, const cf_full_rows *, double,
                            double *, double *) noexcept nogil
ctypedef int (*fader)(cf_past *, cf_full *, const cf_table *, double, double *,
                      double *) noexcept nogil


cdef class Full(Stored):
    cdef int _update(self, np.ndarray v, double c, double *q) except -1
    cdef int _updates(self, np.ndarray x, const double *c, double *buffer, double *q,
                      Py_ssize_t *t, Py_ssize_t until) noexcept nogil
    cdef int _check_room(self, np.ndarray x, np.ndarray weights, double *buffer) except -1
    cdef np.ndarray _dense(self)
    cdef Full _copied(self)
    cdef void _write_matrix(self, np.ndarray a) noexcept
    cdef np.ndarray _rows(self)
    cdef Full _joined(self, Full other)
    cdef int _fade(self, double f, fader act) except -1
    cdef int _quad(self, np.ndarray v, double *q) except -1
    cdef int _many(self, np.ndarray x, many read, double *out, Py_ssize_t width,
                   str what) except -1
    cdef np.ndarray _square(self, reader read, bint times)
