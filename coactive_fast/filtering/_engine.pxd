# The engine of a filter: a model, the rule that decides by its margin, chance, and the rounds.

from libc.stdint cimport int64_t

from coactive_fast._table cimport cf_row
from coactive_fast.convex._chance cimport Chance
from coactive_fast.filtering._models cimport Model
from coactive_fast.learner._engine cimport Engine
from coactive_fast.learner._rows cimport RowBuffer
from coactive_fast.metric._kept cimport Forms

cdef enum Rule:
    FALLING      # margin >= -sqrt(scale ln t / N)
    UPPER        # w.x and its width together >= 0
    SIGN         # margin >= 0
    COIN         # margin >= 0, else by chance


cdef class Bench:
    # What one call works with: taken from the engine's spare ones, and given back.
    cdef RowBuffer buffer
    cdef Forms forms
    cdef cf_row row
    cdef double *scratch
    cdef Py_ssize_t room

    cdef double *fit(self, Py_ssize_t doubles) except? NULL


cdef class FilterEngine(Engine):
    cdef Model model
    cdef object make           # () -> a fresh model: what reset() begins with
    cdef Rule rule
    cdef double scale          # of the falling threshold
    cdef double delta          # of the rule UPPER
    cdef double explore        # p of the coin
    cdef Chance chance         # None where none is at work
    cdef int64_t rounds
    cdef list spare
    # The cache between `forward` and `learn` of one x: no part of the state. `seen`: m and q are
    # those of the row in `last`, and the model has not changed since.
    cdef bint seen, last_sparse
    cdef double m, q
    cdef RowBuffer last
    cdef Py_ssize_t last_n, last_nnz

    cdef Bench borrow(self)
    cdef int know(self, const cf_row *x, str name) except -1
    cdef double limit(self) noexcept nogil
    cdef bint decide(self, double m, double q) noexcept nogil
    cdef int refuse(self, int status) except -1
    cdef int remember(self, const cf_row *x, double m, double q) except -1
    cdef bint remembers(self, const cf_row *x) noexcept
    cdef int look(self, Bench b, double *m, double *q) except -1
    cdef int take(self, Bench b, double y) except -1
