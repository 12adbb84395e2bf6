"""Argument checks of the slow twins, kept apart so that the definitions stay readable.

Each function takes the argument's name first, returns the value in the form the definitions
work with, and raises a `TypeError` or `ValueError` whose message contains that name.
"""

import operator

import numpy as np
import scipy.sparse


def array(name, value):
    """`value` as an array, whatever it holds."""
    try:
        return np.asarray(value)
    except ValueError as error:  # a ragged list
        raise TypeError(f"{name} must be a rectangular array of numbers") from error


def real_array(name, value, ndim):
    """`value` as a float64 array of `ndim` dimensions; infinity and NaN are not looked at."""
    given = array(name, value)
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {given.dtype}")
    if given.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), got {given.ndim}")
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite
        return np.ascontiguousarray(given, dtype=np.float64)


def no_nan(name, values):
    """`values` itself, or a `ValueError` when it holds a NaN."""
    if np.isnan(values).any():
        raise ValueError(f"{name} contains NaN")
    return values


def finite(name, values):
    """`values` itself, or a `ValueError` when it holds a NaN or an infinity."""
    if not np.isfinite(values).all():
        raise ValueError(f"{name} contains NaN or infinity")
    return values


def vector(name, value, length=None, of="the other arguments"):
    """A finite 1-D float64 array, of the given length if there is one."""
    values = finite(name, real_array(name, value, 1))
    if length is not None:
        same_length(name, values.size, length, of)
    return values


def same_length(name, got, expected, of):
    """A `ValueError` that names both numbers unless they agree."""
    if got != expected:
        raise ValueError(f"{name} has length {got}, but {of} has {expected}")


def row(name, value, length=None):
    """Like `vector`, but a scipy.sparse row (1 x n) is accepted too."""
    if scipy.sparse.issparse(value):
        if len(value.shape) == 2 and value.shape[0] != 1:
            raise ValueError(f"{name} must be one row, got shape {value.shape}")
        value = value.toarray().reshape(-1)
    return vector(name, value, length, of="the metric")


def count(name, value):
    """An integer >= 0 (True and 2.0 are not integers)."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be an integer, got a bool")
    try:
        value = operator.index(value)
    except TypeError as error:
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}") from error
    if value < 0:
        raise ValueError(f"{name} must be >= 0, got {value}")
    return value


def positive_count(name, value):
    """An integer >= 1."""
    value = count(name, value)
    if value == 0:
        raise ValueError(f"{name} must be >= 1, got 0")
    return value


def real(name, value):
    """One finite real number, as a Python float."""
    if isinstance(value, (str, bytes)) or value is None:
        raise TypeError(f"{name} must be a real number, got {type(value).__name__}")
    given = array(name, value)
    if given.dtype.kind not in "biuf" or given.ndim != 0:
        raise TypeError(f"{name} must be one real number")
    if not np.isfinite(given):
        raise ValueError(f"{name} must be finite, got {value}")
    return float(given)


def positive(name, value):
    """One finite real number > 0, as a Python float."""
    value = real(name, value)
    if value <= 0.0:
        raise ValueError(f"{name} must be > 0, got {value}")
    return value


def symmetric(name, value, length):
    """The symmetric matrix that the lower triangle of `value` stands for.

    The strict upper triangle is not even looked at: it may hold anything, NaN included.
    """
    given = real_array(name, value, 2)
    if given.shape[0] != given.shape[1]:
        raise ValueError(f"{name} must be square, got shape {given.shape}")
    same_length(name, given.shape[0], length, "the vector")
    lower = finite(name, np.tril(given))
    return lower + np.tril(lower, -1).T


def updatable(name, value):
    """Refuse what cannot be updated in place by the compiled kernel."""
    if not isinstance(value, np.ndarray) or value.dtype != np.dtype(np.float64):
        raise TypeError(f"{name} must be a float64 ndarray: it is updated in place")
    if value.ndim != 2 or value.shape[0] != value.shape[1]:
        raise ValueError(f"{name} must be square, got shape {value.shape}")
    if not value.flags.writeable:
        raise ValueError(f"{name} is read-only: it is updated in place")
    if value.shape[0] > 1 and value.strides[1] != value.itemsize:
        raise ValueError(f"{name} must have rows that are contiguous in memory")


def ranking(name, value):
    """A 1-D array of integers, as a list of Python integers (so that none can overflow)."""
    given = array(name, value)
    if given.dtype.kind not in "iu" and given.size:  # an empty list has no dtype of its own
        raise TypeError(f"{name} must hold integers, got dtype {given.dtype}")
    if given.ndim != 1:
        raise ValueError(f"{name} must have 1 dimension, got {given.ndim}")
    return given.tolist()
