# The one codec of states: how what was learned is told as plain data, and how told data are checked
# before anything is taken from them.

cimport numpy as np

# The version of every state, of a learner and of a metric; others are refused.
cdef enum:
    VERSION = 3


cdef class State:
    # A state under way back. Every method raises a ValueError or TypeError that names the part.
    cdef dict given
    cdef str where             # " of the state", " of metric of the state", ...

    cdef object get(self, str name)
    cdef bint has(self, str name)
    cdef int refuse(self, str name, str expected, object got=*) except -1
    # A whole number; floats and bools are none.
    cdef Py_ssize_t count(self, str name, Py_ssize_t least=*, Py_ssize_t most=*) except? -1
    # A finite number from `least` to `most`.
    cdef double number(self, str name, double least=*, double most=*) except? -1.0
    cdef bint flag(self, str name) except -1
    # Finite float64: a contiguous copy of that shape.
    cdef np.ndarray vector(self, str name, Py_ssize_t n)
    cdef np.ndarray table(self, str name, Py_ssize_t rows, Py_ssize_t columns)
    # The same, into memory.
    cdef int load(self, str name, Py_ssize_t n, double *to) except -1
    # Whole numbers from `least` to `most`, as int64.
    cdef np.ndarray counts(self, str name, Py_ssize_t n, Py_ssize_t least=*, Py_ssize_t most=*)
    # Parts that are states themselves.
    cdef State part(self, str name)
    cdef list parts(self, str name, Py_ssize_t n)


# The state of a learner or a metric; one of another version is refused.
cdef State versioned(object given)
# A part of a state; `what` names it in errors.
cdef State opened(object given, str what=*)

# What a state holds: copies.
cdef np.ndarray vector_of(const double *values, Py_ssize_t n)
cdef np.ndarray table_from(const double *values, Py_ssize_t rows, Py_ssize_t columns,
                           Py_ssize_t step)
