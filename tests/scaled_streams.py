"""Streams whose columns differ in scale, and what is to be learned from them in many digits."""

import mpmath as mp
import numpy as np

DIGITS = 60


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
    """``A = ridge I + sum c x x^T`` and w by the steps of the learners, in `DIGITS` digits."""

    def __init__(self, d, ridge):
        self.d, self.ridge = d, mp.mpf(float(ridge))
        self.A, self.w, self.share = self.ridge * mp.eye(d), mp.zeros(d, 1), mp.mpf(1)

    def solve(self, b):
        return mp.cholesky_solve(self.A, b)

    def mean(self, x):
        return mp.fdot(self.w, exactly(x))

    def quad(self, x):
        x = exactly(x)
        return mp.fdot(self.solve(x), x)

    def margin(self, x):
        return self.mean(x) / (1 + self.quad(x))

    def step(self, x, target, c=1):
        """Ridge regression; c may have many digits."""
        x, miss, c = exactly(x), target - self.mean(x), mp.mpf(c)
        self.A += c * x * x.T
        self.w += self.solve(x) * (c * miss)

    def logistic_step(self, x, r):
        m = self.mean(x)
        sigma = 1 / (1 + mp.exp(-m))
        slope = max(sigma * (1 - sigma), mp.mpf("1e-6"))
        if abs(r - sigma) > 0.5:
            slope = mp.tanh(m / 2) / (2 * m)
        self.step(x, m + (r - sigma) / slope, slope)

    def fade(self, f, number):
        """The block form of forgetting, before the example with this number (from 0)."""
        if number == 0:
            return
        f = mp.mpf(float(f))
        period = max(1, min(self.d, int(mp.floor(mp.log(2) / -mp.log(f)))))
        share = mp.mpf(1) if number % period == 0 else f * self.share
        b = f * (self.A * self.w)
        self.A = f * self.A + (share - f * self.share) * self.ridge * mp.eye(self.d)
        self.share, self.w = share, self.solve(b)

    def into_ball(self, radius=1):
        """``(A + lam I) w = A z`` with ``|w| = radius``, lam by Newton's method on ``1 / |w|``."""
        z, radius = self.w, mp.mpf(radius)
        lam, length = mp.mpf(0), mp.norm(z)
        while length > radius * (1 + mp.mpf(10) ** (10 - DIGITS)):
            M = self.A + lam * mp.eye(self.d)
            self.w = mp.cholesky_solve(M, self.A * z)
            length = mp.norm(self.w)
            slope = -mp.fdot(self.w, mp.cholesky_solve(M, self.w)) / length
            lam += (length / radius) * (radius - length) / slope


def off(found, exact):
    """The error, relative to the exact value; to a thousandth of the targets, which are of order 1,
    where that has cancelled to less."""
    exact = mp.mpf(exact)
    return float(abs(mp.mpf(float(found)) - exact) / max(abs(exact), mp.mpf("1e-3")))


def relative(found, exact):
    return float(abs(mp.mpf(float(found)) / exact - 1))
