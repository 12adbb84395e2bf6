"""The door for labels of many rows; that of one label is `as_label` and `as_flag` of _arrays."""

import numpy as np

from .._arrays import plain, refuse_masked


def labels_of(y, name, n, k):
    """Labels 0 ... k-1, one for each of n rows, as contiguous intp.

    Whole numbers of any kind are taken; True and False where there are two labels.
    """
    given = _numbers(y, name, n, "labels")
    if given.dtype.kind == "b" and k != 2:
        raise TypeError(f"{name} must hold labels in 0 ... {k - 1}, got True and False")
    if given.dtype.kind == "f":
        wrong = given[given != np.floor(given)]  # NaN is no whole number either
        if wrong.size:
            raise ValueError(f"{name} must hold whole numbers, got {wrong[0]}")
    if n and not (given.min() >= 0 and given.max() < k):
        raise ValueError(f"{name} must hold labels in 0 ... {k - 1}, got "
                         f"{given.min() if given.min() < 0 else given.max()}")
    return np.ascontiguousarray(given, dtype=np.intp)


def flags_of(y, name, n, other="X"):
    """Booleans, one for each of n rows: True and False, 1 and 0, or 1 and -1."""
    given = _numbers(y, name, n, "True and False", other)
    if given.dtype.kind == "b":
        return np.ascontiguousarray(given)
    low = -1 if (given < 0).any() else 0
    wrong = given[(given != 1) & (given != low)]
    if wrong.size:
        raise ValueError(f"{name} must hold True and False, 1 and 0, or 1 and -1, got {wrong[0]}"
                         + (" and -1" if low and wrong[0] == 0 else ""))
    return given == 1


def chances_of(chances, n, k):
    """The chances of k labels for each of n rows: a table of float64 of its own."""
    given = plain(chances, "chances").astype(np.float64, order="C")
    if given.shape != (n, k):
        raise ValueError(f"chances must have shape {(n, k)}, a row for each of X and a column for "
                         f"each label, got {given.shape}")
    if not (np.isfinite(given) & (given >= 0.0)).all():
        raise ValueError("chances must be finite and >= 0")
    return given


def _numbers(y, name, n, what, other="X"):
    refuse_masked(y, name)
    try:
        given = np.asarray(y)
    except (ValueError, TypeError) as error:
        raise TypeError(f"{name} must be a sequence of {what}: {error}") from None
    if given.size == 0:
        given = given.astype(np.intp)
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold {what}, got dtype {given.dtype}")
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1:
        raise ValueError(f"{name} must have 1 dimension, got shape {given.shape}")
    if given.size != n:
        raise ValueError(f"{name} must have length {n} to go with {other}, got {given.size}")
    return given
