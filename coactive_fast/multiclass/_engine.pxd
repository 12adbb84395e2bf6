# The engine of the multiclass learners, and their run.

cimport cython
cimport numpy as np

from coactive_fast.learner._engine cimport Model, RowEngine
from coactive_fast.learner._run cimport RowRun
from coactive_fast.rows._rows cimport Scratch


@cython.final
cdef class MulticlassEngine(RowEngine):
    cdef readonly bint bandit  # learn is told right or wrong, not the label

    cdef Py_ssize_t pick(self, object x) except -1
    cdef int learn(self, object x, object label, str name, object correct) except -1


@cython.final
cdef class MulticlassRun(RowRun):
    cdef np.ndarray labels, choices, mistakes, explored
    cdef np.ndarray chances    # of each label for each row, or None: for the history alone
    cdef Py_ssize_t top        # the largest label, -1 where there is none
    cdef bint bandit, draws

    cdef int one(self, Model model, Scratch s) noexcept nogil
