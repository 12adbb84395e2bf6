# See _rules.pyx: what other modules cimport.

cimport cython

from coactive_fast.learner._engine cimport RowEngine


@cython.final
cdef class MulticlassEngine(RowEngine):
    cdef readonly bint bandit  # learn is told right or wrong, not the label

    cdef Py_ssize_t pick(self, object x) except -1
    cdef int learn(self, object x, object label, str name, object correct) except -1
