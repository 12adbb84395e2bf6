"""Argument checks of the slow twins, kept apart so that the definitions stay readable.

Each function takes the argument's name first, returns the value in the form the definitions
work with, and raises a `TypeError` or `ValueError` whose message contains that name.
"""

import copy
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


def feature_row(name, value, length=None, of="the learner"):
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


def table(name, value):
    """A finite 2-D float64 array with at least one row and one column; sparse is made dense."""
    if scipy.sparse.issparse(value):
        sparse_indices(name, value)
        value = value.toarray()
    values = finite(name, real_array(name, value, 2))
    if 0 in values.shape:
        raise ValueError(f"{name} needs at least one row and one feature, got {values.shape}")
    return values


def index(name, value, n):
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


def fraction(name, value):
    """One real number in [0, 1], as a Python float."""
    value = real(name, value)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be in [0, 1], got {value}")
    return value


def flag(name, value):
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {type(value).__name__}")
    return bool(value)


def choice(name, value, allowed):
    """One of the strings `allowed`."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {list(allowed)}, got {value!r}")
    return value


def generator(name, seed):
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


def within(name, value, interval):
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
    """A 1-D array of `length` integers in 0 .. n_classes - 1, as intp."""
    given = ranking(name, value)
    same_length(name, len(given), length, "X")
    if any(not 0 <= label < n_classes for label in given):
        raise ValueError(f"{name} must hold labels in 0..{n_classes - 1}")
    return np.array(given, dtype=np.intp)


def flags(name, value, length):
    """A 1-D array of `length` booleans."""
    given = array(name, value)
    if given.dtype.kind != "b" and given.size:  # an empty list has no dtype of its own
        raise TypeError(f"{name} must hold True and False, got dtype {given.dtype}")
    if given.ndim != 1:
        raise ValueError(f"{name} must have 1 dimension, got {given.ndim}")
    same_length(name, given.size, length, "X")
    return given.astype(bool)
