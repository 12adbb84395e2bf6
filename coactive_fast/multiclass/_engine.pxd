# The engine of a multiclass learner: a model, chance, and the rounds.

cimport cython
cimport numpy as np
from libc.stdint cimport int64_t

from coactive_fast._table cimport cf_row
from coactive_fast.convex._chance cimport Chance
from coactive_fast.learner._engine cimport Engine
from coactive_fast.learner._rows cimport Rows
from coactive_fast.multiclass._models cimport Model, Work


@cython.final
cdef class MulticlassEngine(Engine):
    # `work` belongs to whoever set `busy`, with the GIL; others bring their own and keep no cache.
    # Its key is (row, rounds, stamp): stamp counts what changes the model between rounds.
    cdef Model model
    cdef object make           # () -> a fresh model: what reset() begins with
    cdef Py_ssize_t built      # classes of a fresh model
    cdef Py_ssize_t most       # max_features, or 0
    cdef readonly bint bandit  # learn is told right or wrong, not the label
    cdef bint draws            # choose takes a draw
    cdef Chance chance         # None where none is at work
    cdef Work work
    cdef bint busy
    cdef int64_t stamp

    cdef Model new_model(self)
    cdef Work borrow(self)
    cdef void give_back(self, Work w) noexcept
    cdef int take_row(self, object x, Work w) except -1
    cdef int refuse_width(self, Py_ssize_t n, str name) except -1
    cdef int ready(self, Work w, bint learning) except -1
    cdef int read_now(self, Work w) except? -1000
    cdef void begin(self, Model model, Chance chance) noexcept
    cdef int read_round(self, Work w) noexcept nogil
    cdef int learn_round(self, Work w, bint known, Py_ssize_t label, bint correct) noexcept nogil
    cdef int fail(self, int status, str what) except -1
    cdef Py_ssize_t pick(self, object x) except -1
    cdef int take_answer(self, object x, object label, object correct) except -1
    cdef int take(self, object x, object label, str name, bint correct) except -1
    cdef np.ndarray scores(self, Rows rows)

    cdef inline int width(self, Py_ssize_t n, str name) except -1:
        """Refuses rows of another width, with the GIL held since it was looked at."""
        if n != self.model.d and (self.model.d or self.model.most):
            self.refuse_width(n, name)
        return 0
