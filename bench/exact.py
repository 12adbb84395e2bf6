"""A = ridge I + sum x x^T without any rounding, and q = x^T A^-1 x from it.

The features are whole multiples of 2^-24 below 2^3, split in two halves of few bits, so that all
sums of products of halves are whole numbers below 2^53: the matrix products of float64 are exact
then, in whatever order a BLAS adds.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

BITS = 24           # of the fraction of a feature
HALF = 13           # of these in the lower half
LARGEST = 8.0


def rounded(x):
    """To the grid, in place of the true value: what is fed is what is summed."""
    return np.clip(np.round(x * 2.0 ** BITS), 1 - LARGEST * 2 ** BITS,
                   LARGEST * 2 ** BITS - 1) / 2.0 ** BITS


class Sum:
    """The exact sum of x x^T over up to 2^24 rows."""

    def __init__(self, n):
        self.high, self.cross, self.low = (np.zeros((n, n)) for _ in range(3))

    def add(self, rows):
        whole = rows * 2.0 ** BITS
        high = np.floor(whole / 2 ** HALF)
        low = whole - high * 2 ** HALF
        self.high += high.T @ high
        self.cross += high.T @ low
        self.low += low.T @ low

    def matrix(self, ridge):
        """In extended precision: one rounding to 64 bits, where the platform has them."""
        wide = np.longdouble
        a = (self.high.astype(wide) * 2 ** (2 * HALF)
             + (self.cross + self.cross.T).astype(wide) * 2 ** HALF + self.low)
        a /= wide(2) ** (2 * BITS)
        a[np.diag_indices_from(a)] += wide(ridge)
        return a


def quads(a, x):
    """x_i^T A^-1 x_i of the rows of x: Cholesky, refined with residuals in extended precision.

    The factor is that of A scaled to ones on its diagonal.
    """
    size = np.sqrt(np.diag(a))
    scaled = a / np.outer(size, size)
    right = (x / size).T
    factor = cho_factor(scaled.astype(float))
    y = np.zeros_like(right)
    for _ in range(30):
        rest = right - scaled @ y
        step = cho_solve(factor, rest.astype(float))
        y = y + step
        if np.abs(step).max() <= 1e-18 * np.abs(y).max():
            break
    return (right * y).sum(axis=0).astype(float)
