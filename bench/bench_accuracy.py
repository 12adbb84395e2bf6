"""metric.Full over many updates of badly scaled features: the error of q, and the memory.

COACTIVE_BENCH_UPDATES sets how many updates (default 1e6; 3e4 in the quick mode).
"""

import functools
import os
import resource
import sys
from pathlib import Path

import exact
import numpy as np
import threads
from ratio import Case, Contender, Plan, figure_at_most

from coactive_fast.metric import Full

N = 100
RIDGE = 1e-8
CHUNK = 10_000
ERROR = "relative error of q after the last update"
MEMORY = "growth of resident memory after the first tenth, bytes"


def updates():
    return int(float(os.environ.get("COACTIVE_BENCH_UPDATES",
                                    "3e4" if threads.quick() else "1e6")))


@functools.cache
def mixing():
    """Scales 1 ... 1e-3 in a random basis."""
    basis = np.linalg.qr(np.random.default_rng(7).standard_normal((N, N)))[0]
    return np.logspace(0, -3, N)[:, None] * basis.T


def chunk(number):
    rng = np.random.default_rng([11, number])
    return exact.rounded(rng.standard_normal((CHUNK, N)) @ mixing())


def directions(a):
    """Where q is asked: rows of the stream, random ones, and the axes of A itself."""
    rng = np.random.default_rng(5)
    axes = np.linalg.eigh(a.astype(float))[1].T
    return np.vstack([chunk(10 ** 6)[:100], rng.standard_normal((100, N)), axes])


def worst_error(m, total):
    """Of q over all directions, against the exact sum."""
    a = total.matrix(RIDGE)
    x = directions(a)
    right = exact.quads(a, x)
    got = np.array([m.quad(row) for row in x])
    return float(np.max(np.abs(got / right - 1.0)))


def resident():
    """Resident memory in bytes: now, or where that is not told the most there ever was."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize()
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def looks(many):
    """After how many updates to look: early, where the matrix is worst, and by decades."""
    return sorted({t for t in (50, 100, 200, 1000, 10_000, 100_000, 1_000_000) if t < many}
                  | {many})


def play(precision, many):
    """The whole run. Returns the metric, the errors by time, and the growth of memory."""
    m, total = Full(N, ridge=RIDGE, precision=precision), exact.Sum(N)
    errors, at, first = {}, 0, None
    due = looks(many)
    for number in range(-(-many // CHUNK)):
        rows = chunk(number)[:many - number * CHUNK]
        done = 0
        while done < len(rows):
            step = min(len(rows), due[0] - at) if due else len(rows)
            part = rows[done:done + step]
            m.update_many(part)
            total.add(part)
            done, at = done + len(part), at + len(part)
            if due and at == due[0]:
                errors[due.pop(0)] = worst_error(m, total)
        if first is None and at >= many / 10:
            first = resident()
    return m, errors, resident() - first


def case(precision):
    many = updates()
    m, errors, growth = play(precision, many)
    figures = {f"relative error of q after {t} updates": e for t, e in errors.items() if t < many}
    figures |= {ERROR: errors[many], MEMORY: growth}
    figures |= {f"health: {k}": float(v) for k, v in m.health().items()
                if k not in ("precision", "updates")}
    assert m.updates == many and errors[many] < 1e-6
    rows = chunk(0)
    targets = (figure_at_most(ERROR, 1e-8 if precision == "fast" else 1e-10),
               figure_at_most(MEMORY, float(1 << 20)))
    return Case("metric.Full", f"d={N}, {many} updates, {precision}",
                Contender("coactive_fast, update_many",
                          lambda n: m.update_many(rows[:n]), most=CHUNK),
                targets=targets, call=(m.quad, (rows[0],)), figures=figures)


def plans():
    return [Plan(precision, functools.partial(case, precision)) for precision in ("fast", "robust")]


def test_accuracy(compare, plan):
    compare(plan)
