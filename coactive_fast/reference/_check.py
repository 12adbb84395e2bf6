"""Argument checks of the slow twins, kept apart so that the definitions stay readable.

Each function takes the argument's name first, returns the value in the form the definitions
work with, and raises a `TypeError` or `ValueError` whose message contains that name.
"""

from __future__ import annotations

import copy
import math
import operator
from typing import Any

import numpy as np
import scipy.sparse

from coactive_fast._typing import Vector


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


def vector(name, value, length=None, of="the other arguments") -> Vector:
    """A finite 1-D float64 array, of the given length if there is one."""
    values = finite(name, real_array(name, value, 1))
    if length is not None:
        same_length(name, values.size, length, of)
    return values


def same_length(name, got, expected, of):
    """A `ValueError` that names both numbers unless they agree."""
    if got != expected:
        raise ValueError(f"{name} has length {got}, but {of} has {expected}")


def unmasked(name, value):
    """`value` itself, or a `ValueError` where it is a masked array."""
    if isinstance(value, np.ma.MaskedArray):
        raise ValueError(f"{name} must not be a masked array")
    return value


def is_pair(value):
    """Whether `value` is ``(indices, values)``: a tuple of two lists, which no dense row is."""
    return isinstance(value, tuple) and len(value) == 2 and all(np.ndim(part) for part in value)


def pair(name, value, length):
    """The dense row of ``(indices, values)``; values of an index that stands twice add up."""
    places, values = (unmasked(name, part) for part in value)
    places, values = indices(name, places, length) if len(places) else [], vector(name, values)
    same_length(name, values.size, len(places), "its indices")
    dense = np.zeros(length)
    np.add.at(dense, places, values)
    return finite(name, dense)


def row(name, value, length=None) -> Vector:
    """Like `vector`, but a table of one row, a scipy.sparse row and, where the length is known,
    ``(indices, values)`` are accepted too."""
    if length is not None and is_pair(value):
        return pair(name, value, length)
    if scipy.sparse.issparse(value):
        if len(value.shape) == 2 and value.shape[0] != 1:
            raise ValueError(f"{name} must be one row, got shape {value.shape}")
        sparse_indices(name, value)
        value = value.toarray().reshape(-1)
    value = array(name, unmasked(name, value))
    if value.ndim == 2 and value.shape[0] == 1:
        value = value[0]
    return vector(name, value, length, of="the metric")


def metric_rows(name, value, length):
    """Rows for a metric: a table, dense or scipy.sparse, or a list of ``(indices, values)``."""
    if isinstance(value, (list, tuple)) and value and is_pair(value[0]):
        return np.array([pair(name, part, length) for part in value])
    if scipy.sparse.issparse(value):
        sparse_indices(name, value)
        value = value.toarray()
    values = finite(name, real_array(name, unmasked(name, value), 2))
    if values.shape[1] != length:
        raise ValueError(f"{name} must have {length} columns, got {values.shape[1]}")
    return values


def nonzero(name, value) -> float:
    """One finite real number that is not 0, as a Python float."""
    value = real(name, value)
    if value == 0.0:
        raise ValueError(f"{name} must not be 0")
    return value


def count(name, value) -> int:
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


def positive_count(name, value) -> int:
    """An integer >= 1."""
    value = count(name, value)
    if value == 0:
        raise ValueError(f"{name} must be >= 1, got 0")
    return value


def real(name, value) -> float:
    """One finite real number, as a Python float."""
    if isinstance(value, (str, bytes)) or value is None:
        raise TypeError(f"{name} must be a real number, got {type(value).__name__}")
    given = array(name, value)
    if given.dtype.kind not in "biuf" or given.ndim != 0:
        raise TypeError(f"{name} must be one real number")
    if not np.isfinite(given):
        raise ValueError(f"{name} must be finite, got {value}")
    return float(given)


def positive(name, value) -> float:
    """One finite real number > 0, as a Python float."""
    value = real(name, value)
    if value <= 0.0:
        raise ValueError(f"{name} must be > 0, got {value}")
    return value


def symmetric(name, value, length) -> Vector:
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


def feature_row(name, value, length=None, of="the learner") -> Vector:
    """A finite 1-D float64 array from a vector, an array of one row, or a scipy.sparse row."""
    sparse_indices(name, value)
    if not scipy.sparse.issparse(value):
        value = array(name, value)
        if value.ndim == 2:
            if value.shape[0] != 1:
                raise ValueError(f"{name} must be one row, got shape {value.shape}")
            value = value[0]
    values = row(name, value)
    if length is not None:
        same_length(name, values.size, length, of)
    return values


def table(name, value) -> Vector:
    """A finite 2-D float64 array with at least one row and one column; sparse is made dense."""
    if scipy.sparse.issparse(value):
        sparse_indices(name, value)
        value = value.toarray()
    values = finite(name, real_array(name, value, 2))
    if 0 in values.shape:
        raise ValueError(f"{name} needs at least one row and one feature, got {values.shape}")
    return values


def index(name, value, n) -> int:
    """An integer in 0 .. n - 1."""
    value = count(name, value)
    if value >= n:
        raise ValueError(f"{name} must be in 0..{n - 1}, got {value}")
    return value


def indices(name, value, n=None):
    """A 1-D array of indices >= 0, below n if there is one, as intp; at least one."""
    given = ranking(name, value)
    if not given:
        raise ValueError(f"{name} is empty: at least one index is needed")
    if any(i < 0 or (n is not None and i >= n) for i in given):
        limit = "a negative index" if n is None else f"an index outside 0..{n - 1}"
        raise ValueError(f"{name} holds {limit}")
    return np.array(given, dtype=np.intp)


def distinct(name, value, n=None):
    """Like `indices`, and none of them twice."""
    given = indices(name, value, n)
    if len(set(given.tolist())) < given.size:
        raise ValueError(f"{name} holds an index twice")
    return given


def fraction(name, value) -> float:
    """One real number in [0, 1], as a Python float."""
    value = real(name, value)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be in [0, 1], got {value}")
    return value


def shares(name, value) -> Vector:
    """A 1-D array of numbers in [0, 1], at least one."""
    values = vector(name, value)
    if values.size == 0 or (values < 0.0).any() or (values > 1.0).any():
        raise ValueError(f"{name} must be one number in [0, 1] or more, got {value}")
    return values


def flag(name, value) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {type(value).__name__}")
    return bool(value)


def answer(name, value) -> bool:
    """True or False, also said by 1 and 0 or 1 and -1."""
    if not isinstance(value, (bool, np.bool_, int, float, np.number)) or value not in (-1, 0, 1):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return value == 1


def label(name, value, n):
    """A label in 0 .. n - 1: a whole number of any kind; where there are two True and False too."""
    if isinstance(value, (bool, np.bool_)) and n == 2:
        return int(value)
    if isinstance(value, (float, np.floating)) and value == math.floor(value):
        value = int(value)
    return index(name, value, n)


def choice(name, value, allowed) -> Any:
    """One of the strings `allowed`."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {list(allowed)}, got {value!r}")
    return value


def generator(name, seed) -> np.random.Generator:
    """The generator of `seed`; a Generator given as seed is copied, so it never moves."""
    try:
        return np.random.default_rng(copy.deepcopy(seed))
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name} must be what numpy.random.default_rng takes: {error}") from error


def answering(name, value, methods):
    """`value` itself, or a `TypeError` that names the first method it lacks."""
    if isinstance(value, type):
        raise TypeError(f"{name} must be an object, got the class {value.__name__} itself")
    for method in methods:
        if not callable(getattr(value, method, None)):
            raise TypeError(f"{name} must have the method {method}: {type(value).__name__} has not")
    return value


def within(name, value, interval) -> float:
    """One real number inside an interval written as in mathematics, such as "(-1, 1]"."""
    value = real(name, value)
    low, high = (float(end) for end in interval[1:-1].split(","))
    above = value >= low if interval[0] == "[" else value > low
    below = value <= high if interval[-1] == "]" else value < high
    if not (above and below):
        raise ValueError(f"{name} must be in {interval}, got {value}")
    return value


def sparse_indices(name, value):
    """Refuse a compressed sparse matrix with an index out of range: scipy would not notice."""
    if scipy.sparse.issparse(value) and value.format in ("csr", "csc") and value.nnz:
        limit = value.shape[-1] if value.format == "csr" else value.shape[0]
        if value.indices.min() < 0 or value.indices.max() >= limit:
            raise ValueError(f"{name} has an index outside 0..{limit - 1}")


def feature_rows(name, value, width=None, of="the learner"):
    """A finite 2-D float64 array, or a scipy.sparse CSR matrix of finite numbers, as it is."""
    if scipy.sparse.issparse(value):
        sparse_indices(name, value)
        if len(value.shape) != 2:
            raise ValueError(f"{name} must have 2 dimension(s), got {len(value.shape)}")
        value = value.tocsr()
        finite(name, real_array(name, value.data, 1))
    else:
        value = finite(name, real_array(name, value, 2))
    if value.shape[1] == 0:
        raise ValueError(f"{name} must have at least one feature")
    if width is not None and value.shape[1] != width:
        raise ValueError(f"{name} has {value.shape[1]} features, but {of} has {width}")
    return value


def labels(name, value, length, n_classes):
    """A 1-D array of `length` labels in 0 .. n_classes - 1, as intp."""
    given = array(name, value)
    if given.ndim != 1:
        raise ValueError(f"{name} must have 1 dimension, got {given.ndim}")
    same_length(name, given.size, length, "X")
    return np.array([label(name, one, n_classes) for one in given], dtype=np.intp)


def flags(name, value, length):
    """A 1-D array of `length` answers, as booleans."""
    given = array(name, value)
    if given.ndim != 1:
        raise ValueError(f"{name} must have 1 dimension, got {given.ndim}")
    same_length(name, given.size, length, "X")
    return np.array([answer(name, one) for one in given], dtype=bool)


def flag_table(name, value, length, columns=None):
    """A 2-D array of answers with `length` rows, one for each row of features, as booleans."""
    given = value.toarray() if scipy.sparse.issparse(value) else array(name, value)
    width = given.shape[1] if given.ndim == 2 and columns is None else columns
    if given.shape != (length, width):
        raise ValueError(f"{name} must have shape ({length}, topics), got {given.shape}")
    return np.array([answer(name, one) for one in given.flat], dtype=bool).reshape(given.shape)
