"""Slow twins of the elementary functions."""

import math

import numpy as np

from . import _check as check


def exp(x):
    """The power e^x, elementwise.

    Returns
    -------
    ndarray, shape (n,)
        A power for each of x.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.exp([0.0, -float("inf"), 1000.0])
    array([ 1.,  0., inf])
    """
    return np.array([_exp(v) for v in check.real_array("x", x, 1)])


def _exp(value):
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def log(x):
    """Natural logarithm, elementwise.

    Returns
    -------
    ndarray, shape (n,)
        A logarithm for each of x.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.log([1.0, 0.0, -1.0])
    array([  0., -inf,  nan])
    """
    return np.array([_log(v) for v in check.real_array("x", x, 1)])


def _log(value):
    if value > 0.0:
        return math.log(value)
    return -math.inf if value == 0.0 else math.nan
