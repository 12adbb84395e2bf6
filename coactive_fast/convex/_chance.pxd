# A learner's random generator, and draws from it without the GIL.

from numpy.random cimport bitgen_t


cdef class Chance:
    cdef readonly object first      # what `reset` goes back to; never drawn from
    cdef readonly object generator  # the learner's own; its lock is held while the GIL is let go
    cdef bitgen_t *bits             # of `generator`

    cdef void normals(self, Py_ssize_t n, double *out) noexcept nogil
    cdef int draw_from(self, generator) except -1
