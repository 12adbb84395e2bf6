"""Streams whose columns differ in scale, and every learner with a full matrix in mpmath.

What the learners compute is followed step by step in 60 digits: A itself, w by the same steps.
"""

import mpmath as mp
import numpy as np

DIGITS = 60
RIDGES = (1e-3, 1.0, 10.0)


def streams(d, rows, seed=0):
    """Rows by name, one more than asked for: the last is for reading."""
    rng = np.random.default_rng([seed, d, rows])
    base = rng.standard_normal((rows + 1, d))
    ones = np.ones(rows + 1)
    scales = np.resize([1e-8, 1.0, 1e9], d)

    def with_columns(first, last):
        X = base.copy()
        X[:, 0], X[:, -1] = first, last
        return X

    outlying = base.copy()
    outlying[rows // 2] *= 3e8
    return {
        "well scaled": base,
        "seconds": with_columns(ones, 1.7e9 + np.cumsum(rng.uniform(0.0, 4e4, rows + 1))),
        "constant 1e6": with_columns(ones, 1e6),
        "constant 2e3": with_columns(ones, 2e3),
        "one outlying row": outlying,
        "columns": base * scales,
        "columns around 1": base * scales + 1.0,
        "growing": base * np.exp(np.linspace(0.0, np.log(1e7), rows + 1))[:, None],
        "correlated": with_columns(ones, 1e3 + 1e-3 * base[:, -1]),
    }


def exactly(x):
    return mp.matrix([mp.mpf(float(value)) for value in x])


class Exact:
    """``A = ridge I + sum c x x^T`` and w, in many digits."""

    def __init__(self, d, ridge):
        self.ridge, self.A, self.w = mp.mpf(float(ridge)), float(ridge) * mp.eye(d), mp.zeros(d, 1)

    def read(self, x):
        """m and q."""
        x = exactly(x)
        return mp.fdot(self.w, x), mp.fdot(mp.cholesky_solve(self.A, x), x)

    def step(self, x, target, c=1.0):
        """The ridge step; c may be an mpf."""
        x = exactly(x)
        miss = target - mp.fdot(self.w, x)
        self.A += mp.mpf(c) * x * x.T
        self.w += mp.cholesky_solve(self.A, x) * (mp.mpf(c) * miss)

    def logistic_step(self, x, r, c=1.0):
        m = mp.fdot(self.w, exactly(x))
        sigma = 1 / (1 + mp.exp(-m))
        slope = max(sigma * (1 - sigma), mp.mpf("1e-6"))
        if abs(r - sigma) > 0.5:
            slope = mp.tanh(m / 2) / (2 * m)
        self.step(x, m + (r - sigma) / slope, c * slope)

    def into_ball(self, radius=1):
        """P2: ``(A + lam I) w = A z``, lam by Newton's method on ``1 / |w|``."""
        z, lam = self.w, mp.mpf(0)
        if mp.norm(z) <= radius:
            return
        d = len(z)
        for _ in range(200):
            M = self.A + lam * mp.eye(d)
            w = mp.cholesky_solve(M, self.A * z)
            length = mp.norm(w)
            if abs(length - radius) < mp.mpf(10) ** (10 - DIGITS):
                break
            slope = -mp.fdot(w, mp.cholesky_solve(M, w)) / length
            lam += (length / radius) * (radius - length) / slope
        self.w = w


def off(found, exact):
    """The relative error."""
    exact = mp.mpf(exact)
    return float(abs(mp.mpf(float(found)) - exact) / abs(exact)) if exact else abs(float(found))
