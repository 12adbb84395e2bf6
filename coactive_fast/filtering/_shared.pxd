# Many topics that learn the same rows.

from libc.stdint cimport int64_t, uint8_t

from coactive_fast._table cimport cf_row
from coactive_fast.filtering._kernel cimport KernelRidge
from coactive_fast.metric._kept cimport Forms


cdef class SharedRidge(KernelRidge):
    # One factor; c of topic k in row k of `all_c`, `row` doubles each. The y and c of KernelRidge
    # itself are not used.
    cdef readonly Py_ssize_t topics
    cdef double *all_c
    cdef Py_ssize_t row
    cdef double *products      # u.c of each topic, for the row looked at last

    cdef int margins(self, double q, double *out) noexcept nogil
    cdef int take_all(self, const cf_row *x, Forms forms, const uint8_t *y,
                      double q) noexcept nogil
