"""Checks of parameters: each takes the name first and answers the value in plain form."""

import math
import operator
import os

import numpy as np

from .._arrays import real_number, whole_number


def number(name, value, *, above=None, least=None, most=None, below=None):
    """A finite float within the bounds."""
    if (isinstance(value, (bool, np.bool_, np.ma.MaskedArray))
            or isinstance(value, np.ndarray) and value.dtype.kind == "b"):
        raise TypeError(f"{name} must be a real number, got {type(value).__name__}")
    if type(value) is int and value.bit_length() < 1024:  # NumPy's own end at 64
        value = float(value)
    given = real_number(value, name)
    for sign, fits, bound in ((">", operator.gt, above), (">=", operator.ge, least),
                              ("<=", operator.le, most), ("<", operator.lt, below)):
        if bound is not None and not fits(given, bound):
            raise ValueError(f"{name} must be {sign} {bound:g}, got {given}")
    return given


def invertible(name, value):
    """A number > 0 whose inverse is one too."""
    value = number(name, value, above=0.0)
    if math.isinf(1.0 / value):
        raise ValueError(f"{name} must have a finite inverse, got {value}")
    return value


LARGEST = int(np.iinfo(np.intp).max)  # of what counts things in memory


def count(name, value, *, least=0, most=None):
    """An integer within the bounds."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}")
    given = whole_number(value, name)
    if given < least:
        raise ValueError(f"{name} must be >= {least}, got {given}")
    most = LARGEST if most is None else most
    if given > most:
        raise ValueError(f"{name} must be <= {most}, got {given}")
    return given


def threads(n_jobs):
    """How many threads: -1 stands for as many as there are processors."""
    return os.cpu_count() or 1 if n_jobs == -1 else count("n_jobs", n_jobs, least=1)


def switch(name, value):
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def choice(name, value, allowed):
    """One of some words."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value


def same_length(name, got, expected, other):
    """An error that tells both numbers unless they agree."""
    if got != expected:
        raise ValueError(f"{name} must have length {expected} to go with {other}, got {got}")


def answering(name, thing, methods):
    """The thing itself, or a `TypeError` that names the first method it lacks."""
    if isinstance(thing, type):
        raise TypeError(f"{name} must be an object, got the class {thing.__name__} itself")
    for method in methods:
        if not callable(getattr(thing, method, None)):
            raise TypeError(f"{name} must have the method {method}: {type(thing).__name__} has not")
    return thing


def precision_of(value, covariance):
    """"auto", "fast" or "robust", which only the full covariance has."""
    choice("precision", value, ("auto", "fast", "robust"))
    if value != "auto" and covariance != "full":
        raise ValueError(f"precision has no meaning with covariance={covariance!r}")
    return value
