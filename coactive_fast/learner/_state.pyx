"""The one codec of states; see _state.pxd."""

import numpy

cimport numpy as np
from libc.math cimport INFINITY
from libc.stddef cimport size_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport data_of, new_vector

np.import_array()

ARRAYS = (numpy.ndarray, numpy.memmap)  # a mask, or what makes a matrix, would be lost

cdef Py_ssize_t MOST = <Py_ssize_t>1 << 62  # of anything that is counted


cdef State opened(object given, str what=""):
    cdef State state = State.__new__(State)
    state.where = f" of {what} of the state" if what else " of the state"
    if not isinstance(given, dict):
        raise TypeError(f"{what + ' of the state' if what else 'state'} must be a dict, got "
                        f"{type(given).__name__}")
    state.given = given
    return state


cdef State versioned(object given):
    """States of 0.1 have no version; those of metrics had a format of their own in 0.2."""
    cdef State state = opened(given)
    cdef Py_ssize_t version = 2 if state.has("format") else 1
    if state.has("version"):
        version = state.count("version", 1)
    if version != VERSION:
        writer = f"coactive_fast 0.{version}" if version < VERSION else "a later coactive_fast"
        raise ValueError(f"state has version {version}, written by {writer}, and this coactive_fast "
                         f"reads version {VERSION} only")
    return state


cdef class State:
    cdef object get(self, str name):
        if name not in self.given:
            raise ValueError(f"state must hold {name!r}"
                             + ("" if self.where == " of the state" else self.where))
        return self.given[name]

    cdef bint has(self, str name):
        return name in self.given

    cdef int refuse(self, str name, str expected, object got=None) except -1:
        raise ValueError(f"{name}{self.where} must be {expected}"
                         + ("" if got is None else f", got {got!r:.100}"))

    # --- numbers ------------------------------------------------------------------------------

    cdef Py_ssize_t count(self, str name, Py_ssize_t least=0, Py_ssize_t most=MOST) except? -1:
        value = self.get(name)
        if isinstance(value, numpy.integer):
            value = int(value)
        if type(value) is not int:
            raise TypeError(f"{name}{self.where} must be an integer, got {value!r:.100}")
        if not least <= value <= most:
            self.refuse(name, f">= {least}" if value < least else f"<= {most}", value)
        return value

    cdef double number(self, str name, double least=-INFINITY,
                       double most=INFINITY) except? -1.0:
        cdef double found
        value = self.get(name)
        if isinstance(value, numpy.floating):
            value = float(value)
        if type(value) is not float and type(value) is not int:
            raise TypeError(f"{name}{self.where} must be a number, got {value!r:.100}")
        try:
            found = value
        except OverflowError:
            found = INFINITY
        if not (found - found == 0.0 and least <= found <= most):
            self.refuse(name, f"finite and in [{least:g}, {most:g}]", value)
        return found

    cdef bint flag(self, str name) except -1:
        value = self.get(name)
        if not isinstance(value, (bool, numpy.bool_)):
            raise TypeError(f"{name}{self.where} must be True or False, got {value!r:.100}")
        return bool(value)

    # --- arrays -------------------------------------------------------------------------------

    cdef np.ndarray vector(self, str name, Py_ssize_t n):
        return floats(self, name, (n,))

    cdef np.ndarray table(self, str name, Py_ssize_t rows, Py_ssize_t columns):
        return floats(self, name, (rows, columns))

    cdef int load(self, str name, Py_ssize_t n, double *to) except -1:
        cdef np.ndarray v = self.vector(name, n)
        if n:
            memcpy(to, data_of(v), <size_t>n * sizeof(double))
        return 0

    cdef np.ndarray counts(self, str name, Py_ssize_t n, Py_ssize_t least=0,
                           Py_ssize_t most=MOST):
        value = self.get(name)
        if type(value) not in ARRAYS or value.dtype.kind not in "iu":
            raise TypeError(f"{name}{self.where} must be an array of integers, got "
                            f"{getattr(value, 'dtype', type(value).__name__)}")
        if value.shape != (n,):
            self.refuse(name, f"{n} integers", value.shape)
        if n and not (value.min() >= least and value.max() <= most):
            self.refuse(name, f"in {least} ... {most}",
                        int(value.min() if value.min() < least else value.max()))
        return <np.ndarray>numpy.array(value, dtype=numpy.int64)

    # --- parts --------------------------------------------------------------------------------

    cdef State part(self, str name):
        return opened(self.get(name), name)

    cdef list parts(self, str name, Py_ssize_t n):
        value = self.get(name)
        if not isinstance(value, list) or len(value) != n:
            self.refuse(name, f"a list of {n}")
        return [opened(one, f"{name}[{i}]") for i, one in enumerate(value)]


cdef np.ndarray floats(State state, str name, tuple shape):
    """Finite numbers of that shape, an own contiguous copy."""
    value = state.get(name)
    if type(value) is list:  # a state that went through JSON
        try:
            value = numpy.array(value)
        except ValueError:
            pass
    if type(value) not in ARRAYS or value.dtype != numpy.float64:
        raise TypeError(f"{name}{state.where} must be an array of float64, got "
                        f"{getattr(value, 'dtype', type(value).__name__)}")
    if value.shape != shape:
        state.refuse(name, f"of shape {shape}", value.shape)
    if not numpy.isfinite(value).all():
        state.refuse(name, "finite")
    return <np.ndarray>numpy.array(value, dtype=numpy.float64, order="C")


# --- what a state holds -----------------------------------------------------------------------


cdef np.ndarray vector_of(const double *values, Py_ssize_t n):
    cdef np.ndarray out = new_vector(n)
    if n:
        memcpy(data_of(out), values, <size_t>n * sizeof(double))
    return out


cdef np.ndarray table_from(const double *values, Py_ssize_t rows, Py_ssize_t columns,
                           Py_ssize_t step):
    """Rows that lie `step` doubles apart."""
    cdef np.ndarray out = <np.ndarray>numpy.empty((rows, columns))
    cdef Py_ssize_t i
    for i in range(rows if columns else 0):
        memcpy(data_of(out) + i * columns, values + i * step, <size_t>columns * sizeof(double))
    return out
