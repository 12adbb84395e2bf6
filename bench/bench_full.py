"""metric.Full inside a compiled loop: the fused pass, A's upkeep apart, and all of it."""

import functools
from dataclasses import replace

import compiled
import contenders as others
import limits
import memory
import numpy as np
from ratio import Case, Contender, Plan, times_faster, within_limit

from coactive_fast import reference
from coactive_fast.metric import Full

ROWS = 64
C = 1.0
BLOCK = 16      # rows that go into A at once
FUSED = "coactive_fast, fused pass"
UPKEEP = "coactive_fast, upkeep of A apart"
MANY = "coactive_fast, metric.Full.update_many"
ROBUST = "coactive_fast, update_many, robust"
BLAS = "cython_blas dsymv + dsyr in a compiled loop"
NUMBA_FULL = "numba, full matrix, in a compiled loop"
NUMBA_LOWER = "numba, lower triangle, in a compiled loop"


def stream(d):
    """Rows on a line, as the metric's own memory and here that of all contenders."""
    return memory.placed(np.random.default_rng(d).standard_normal((ROWS, d)) / np.sqrt(d), 0)


def pad(n):
    return (n + 7) // 8 * 8


def panels(n):
    """The identity as a triangle in panels of eight rows (cf_inverse.h)."""
    p = pad(n) // 8
    data = memory.aligned(32 * p * (p + 1))
    for i in range(n):
        data[row_at(i) + i] = 1.0
    return data


def row_at(i):
    p = i // 8
    return 32 * p * (p + 1) + i % 8 * 8 * (p + 1)


def lower(data, n):
    full = np.zeros((n, n))
    for i in range(n):
        full[i, :i + 1] = data[row_at(i):row_at(i) + i + 1]
    return full


def right_inverse(x):
    return np.linalg.inv(np.eye(x.shape[1]) + C * x.T @ x)


def close(triangle, right):
    return np.abs(np.tril(triangle) - np.tril(right)).max() < 1e-11


def fused_contender(loops, x):
    d = x.shape[1]
    data, w, v = panels(d), memory.aligned(pad(d)), memory.aligned(pad(d))
    loops.fused(data, w, v, x, 0, len(x), C)
    loops.settle(data, w, d)
    assert close(lower(data, d), right_inverse(x))
    return Contender(FUSED, lambda n: loops.fused(data, w, v, x, 0, n, C), own=True,
                     step=BLOCK)


def upkeep_contender(loops, x):
    d = x.shape[1]
    data, block, weight = panels(d), memory.aligned((BLOCK, pad(d))), np.full(BLOCK, C)
    low = np.zeros(data.size, dtype=np.float32)  # what the sums in A lose to rounding
    loops.upkeep(data, low, block, weight, x, 0, len(x))
    assert close(lower(data, d), np.eye(d) + C * x.T @ x)
    return Contender(UPKEEP, lambda n: loops.upkeep(data, low, block, weight, x, 0, n), own=True,
                     step=BLOCK)


def blas_contender(loops, x):
    d = x.shape[1]
    a, v = memory.placed(np.eye(d), 0), memory.aligned(d)
    loops.blas(a, v, x, 0, len(x), C)
    assert close(a, right_inverse(x))
    return Contender(BLAS, lambda n: loops.blas(a, v, x, 0, n, C), step=BLOCK)


def numba_contenders(x):
    import contenders_numba

    d, found = x.shape[1], []
    for name, f in ((NUMBA_FULL, contenders_numba.loop_full),
                    (NUMBA_LOWER, contenders_numba.loop_lower)):
        a, v = memory.placed(np.eye(d), 0), memory.aligned(d)
        f(a, x, v, C, 0, len(x))
        assert close(a, right_inverse(x))
        found.append(Contender(name, lambda n, f=f, a=a, v=v: f(a, x, v, C, 0, n), step=BLOCK))
    return found


def check_metric(x, precision):
    """A metric after one pass: against the twin, or for larger ones against solving for A."""
    d = x.shape[1]
    m = Full(d, precision=precision)
    q = m.update_many(x, c=C)
    if d <= 64:
        twin = reference.Full(d)
        assert np.allclose(q, [twin.update(row, c=C) for row in x], rtol=1e-12, atol=0)
    assert close(m.inverse(), right_inverse(x))
    return m


def many_contender(x, precision, name):
    """All that an update does, in a steady state: past the renewals at n, 2n, 4n updates."""
    d = x.shape[1]
    m = check_metric(x, precision)
    long = np.tile(x, (max(1, 2 * d // len(x)), 1))
    m.update_many(long)

    def play(n):
        while n > 0:
            m.update_many(long[:n])
            n -= len(long)
    return Contender(name, play, own=True, step=BLOCK), (m.update_many, (x,))


def case(d):
    x = stream(d)
    many, call = many_contender(x, "fast", MANY)
    robust, _ = many_contender(x, "robust", ROBUST)
    loops, rivals = compiled.loops(), [robust]
    ours = many
    if loops is not None:
        ours = fused_contender(loops, x)
        rivals = [upkeep_contender(loops, x), many, robust, blas_contender(loops, x)]
    if others.have("numba"):
        rivals += numba_contenders(x)
    targets = []
    if 128 <= d <= 1024:
        targets.append(times_faster(1.5, "the best of numba and cython_blas", BLAS, NUMBA_FULL,
                                    NUMBA_LOWER))
    if 256 <= d <= 1024:
        targets.append(within_limit(2.0 if d >= 512 else 2.4))
    bound = limits.one_pass(d)
    # a stream is long: all are sampled over as many rounds, so that all are as warm
    bound = bound and replace(bound, step=BLOCK)
    return Case("metric.Full", f"d={d} in a compiled loop", ours, rivals, bound, targets, call)


def plans():
    return [Plan(f"d={d}", functools.partial(case, d), d in (128, 256))
            for d in (16, 64, 128, 256, 512, 1024, 2048)]


def test_full(compare, plan):
    compare(plan)
