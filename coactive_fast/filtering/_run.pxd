# Whole streams through a filter.

cimport numpy as np

from coactive_fast.filtering._engine cimport Bench, FilterEngine
from coactive_fast.filtering._models cimport Model
from coactive_fast.learner._engine cimport Ticker
from coactive_fast.learner._rows cimport Rows

cdef enum:
    BLOCK = 48       # rows looked at ahead, at the most
    GROW = 1         # no status of the library: the model wants memory, with the GIL


cdef class Stream:
    cdef Rows rows
    cdef object given          # the same, for loops that are Python's


cdef class FilterRun:
    cdef Rows X
    cdef object given
    cdef np.ndarray relevant, forwarded, margins
    cdef bint full
    cdef bint decided          # the round `done` was counted and decided, but is not over
    cdef double m, q           # its reading
    cdef Py_ssize_t base       # the first row of those looked at ahead
    cdef Py_ssize_t ready      # how many they are
    cdef readonly Py_ssize_t done
    cdef readonly bint begun   # X is what the filter can take
    cdef Bench bench

    cdef int turn(self, FilterEngine engine, Ticker ticker) except *
    cdef int rounds(self, FilterEngine engine, Model model, Ticker ticker) noexcept nogil
    cdef int decide(self, FilterEngine engine, Model model, Py_ssize_t t,
                    Py_ssize_t i) noexcept nogil
    cdef int learn(self, Model model, Py_ssize_t t) noexcept nogil
