# What margins have meant: the labels learned, against the margins read just before, as a monotone
# fit.

cimport cython
cimport numpy as np

from coactive_fast.learner._state cimport State


@cython.final
cdef class Fit:
    # Invariants. `n` examples in margin and label (0 or 1), `room` for more; the first `fitted` of
    # them are in ascending order of the margin. knot and value have `knots` entries: the fit of
    # those, whose knots ascend strictly. What is in order and what is fitted is a cache: the state
    # is the examples, in whatever order.
    cdef double *margin        # owned, as the next one; label stands behind it
    cdef double *label
    cdef double *knot
    cdef double *value
    cdef double *weight        # scratch of `pool`, as the next one
    cdef double *span
    cdef Py_ssize_t n, room, fitted, knots, knot_room

    cdef bint has_room(self) noexcept nogil
    cdef int make_room(self) except -1
    cdef int take_room(self, Py_ssize_t room) except -1
    cdef void add(self, double margin, bint relevant) noexcept nogil
    cdef void clear(self) noexcept
    # The fit of all examples: O(n) and O(new log new).
    cdef int refresh(self) except -1
    cdef void pool(self) noexcept nogil
    # The fit at a margin, after `refresh`; (1 + margin) / 2 in [0, 1] while nothing was learned.
    cdef double at(self, double margin) noexcept nogil
    cdef dict told(self)

    @staticmethod
    cdef Fit restored(State state, Py_ssize_t learned)
