"""metric.Dual: an update with N rows stored, against a step on the explicit inverse."""

import functools

import contenders as others
import limits
import numpy as np
from ratio import Case, Contender, Plan

from coactive_fast.metric import Dual

FEATURES = 20
RIDGE = 1.0
AHEAD = 8       # updates of one sample: the factor grows by no more than these
NUMPY = "numpy, explicit inverse by block inversion"


def filled(rows, window=None):
    m = Dual(ridge=RIDGE, window=window)
    for x in rows:
        m.update(x)
    return m


def check(m, rows, x):
    """The quadratic form against a solve with the whole Gram matrix."""
    gram = rows @ rows.T + RIDGE * np.eye(len(rows))
    k = rows @ x
    right = (x @ x - k @ np.linalg.solve(gram, k)) / RIDGE
    assert abs(m.quad(x) - right) <= 1e-9 * (x @ x)
    return np.linalg.inv(gram)


def case(n, window):
    rng = np.random.default_rng(n)
    rows = rng.standard_normal((n, FEATURES))
    more = list(rng.standard_normal((64, FEATURES)))
    base = filled(rows, n if window else None)
    inverse = check(base, rows, more[0])
    current = [base]

    def set_back():
        """n rows again, with room for some more, the factor in the caches."""
        if not window:
            current[0] = base.copy()
            current[0].update(more[-1])
        current[0].quad(more[-1])

    def play(count):
        update = current[0].update
        for x in more[:count]:
            update(x)

    def numpy_play(count):
        for x in more[:count]:
            others.numpy_grow(inverse, rows, x, RIDGE)

    grown = others.numpy_grow(inverse, rows, more[0], RIDGE)
    both = np.vstack([rows, more[0]])
    gram = both @ both.T + RIDGE * np.eye(n + 1)
    assert np.abs(grown @ gram - np.eye(n + 1)).max() < 1e-8
    set_back()
    kind = "sliding window" if window else "growing"
    return Case("metric.Dual", f"N={n} {kind}, {FEATURES} features",
                Contender("coactive_fast, update", play, set_back, most=AHEAD),
                [Contender(NUMPY, numpy_play, most=AHEAD)],
                limits.read(limits.triangle_bytes(n)))


def plans():
    made = [Plan(f"N={n}", functools.partial(case, n, False), n == 500)
            for n in (500, 1000, 2000, 4000)]
    return [*made, Plan("N=1000 window", functools.partial(case, 1000, True), False)]


def test_dual(compare, plan):
    compare(plan)
