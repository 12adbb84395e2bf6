# What the engines of all families share: the lock, and the pauses of a long run.

from coactive_fast._guard cimport Guard


cdef class Engine:
    # Typed state of one learner. `state()` is taken and given by its thin class only.
    cdef Guard guard


cdef class Ticker:
    # A long run's watch: when it is due the run pauses at a round boundary, with the GIL.
    cdef object report         # callable(done, total) or None
    cdef Py_ssize_t total
    cdef double last           # seconds, of the last pause

    cdef bint due(self) noexcept nogil
    cdef int pause(self, Py_ssize_t done) except -1
