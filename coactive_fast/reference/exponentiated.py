"""Slow twin of the weights of the exponentiated rule."""

import numpy as np

from . import _check as check


def exponentiated_weights(theta, *, both_signs=True):
    """Weights of the exponentiated rule from the log-weights theta.

    Returns
    -------
    ndarray, shape (N,)
        The weights, whose absolute values sum to at most 1.

    Notes
    -----
    One sign: ``w_i = exp(theta_i) / sum_j exp(theta_j)``. Both: the 2N weights are
    ``exp(+-theta)`` over their sum, and what is returned is ``w+ - w-``, which equals
    ``sinh(theta_i) / sum_j cosh(theta_j)``. The largest exponent is subtracted first, which
    changes no weight and keeps every exponential at most 1; the difference is taken as
    ``exp(|t|) - exp(-|t|) = exp(|t|) (1 - exp(-2 |t|))``, which cancels nothing.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.exponentiated_weights([0.0, 0.0], both_signs=False)
    array([0.5, 0.5])
    >>> reference.exponentiated_weights([800.0, -800.0])
    array([ 0.5, -0.5])
    """
    theta = check.vector("theta", theta)
    if theta.size == 0:
        raise ValueError("theta is empty: there are no weights")
    with np.errstate(over="ignore"):  # minus infinity is a fine exponent
        if not both_signs:
            weights = np.exp(theta - theta.max())
            return weights / weights.sum()
        size = np.abs(theta)
        larger = np.exp(size - size.max())
        ratio = -2.0 * size  # log of the smaller weight over the larger one
        total = np.sum(larger * (1.0 + np.exp(ratio)))
        return np.sign(theta) * larger * -np.expm1(ratio) / total
