"""rank: scores and selection of a query's best documents, the features streamed from memory.

The queries fill far more than the last cache and are read on and on by all contenders, each
query by one of them (see `ratio.Tape`), as they come in a stream.
"""

import functools

import compiled
import contenders as others
import limits
import memory
import numpy as np
import threads
from ratio import Case, Contender, Plan, Tape, within_limit

from coactive_fast import reference
from coactive_fast.kernels import rank

K = 5
IN_LOOP = "coactive_fast, kernels in a compiled loop"


@functools.lru_cache(maxsize=1)
def queries(n, d, dtype):
    """So many queries that no cache holds a tenth of them."""
    nbytes = n * d * np.dtype(dtype).itemsize
    # whole lines a query, so that the limit reads just that
    assert nbytes % memory.LINE == 0
    count = (120 << 20 if threads.quick() else 400 << 20) // nbytes
    x = memory.aligned((count, n, d), dtype)
    rng = np.random.default_rng(n + d)
    for i in range(count):
        x[i] = rng.standard_normal((n, d))
    return x, rng.standard_normal(d)


def numpy_contender(tape, rows, w):
    def play(count):
        at = tape.take(count)
        for x in rows[at:at + count]:
            others.top_k_argsort(x @ w, K)
    return Contender("numpy X @ w, argsort", play, most=len(rows))


def numba_contenders(tape, x, rows, w):
    import contenders_numba

    scores, values, places = np.empty(x.shape[1], x.dtype), np.empty(K), np.empty(K, np.int64)

    def calls(count, f=contenders_numba.rank):
        at = tape.take(count)
        for row in rows[at:at + count]:
            f(row, w, K, scores, values, places)

    def loop(count):
        contenders_numba.rank_loop(x, w, K, scores, values, places, tape.take(count), count)

    contenders_numba.rank(rows[0], w, K, scores, values, places)
    assert set(places) == set(reference.rank(rows[0], w, K))
    return [Contender("numba, one call a query", calls, most=len(rows)),
            Contender("numba in a compiled loop", loop, most=len(rows))]


def loop_contender(tape, x, w):
    loops = compiled.loops()
    if loops is None:
        return None
    out, scores = np.empty(K, np.intp), np.empty(x.shape[1])
    f = loops.rank if x.dtype == np.float64 else loops.rank_f32
    f(x, w, out, scores, 0, 1)
    assert (out == reference.rank(x[0], w, K)).all()
    return Contender(IN_LOOP, lambda count: f(x, w, out, scores, tape.take(count), count),
                     most=len(x), own=True)


def case(n, d, dtype, factor):
    x, w = queries(n, d, dtype)
    rows, tape, narrow = list(x), Tape(len(x)), w.astype(dtype)
    for q in range(0, len(rows), max(1, len(rows) // 10)):
        assert (rank(rows[q], w, K) == reference.rank(rows[q], w, K)).all()

    def play(count, f=rank):
        at = tape.take(count)
        for row in rows[at:at + count]:
            f(row, w, K)

    rivals = [loop_contender(tape, x, w), numpy_contender(tape, rows, narrow)]
    if others.have("numba"):
        rivals += numba_contenders(tape, x, rows, narrow)
    return Case("rank", f"{n} x {d} {np.dtype(dtype).name}, streamed",
                Contender("coactive_fast, one call a query", play, most=len(rows)), rivals,
                limits.stream(tape, x, n * d * x.itemsize),
                (within_limit(factor), within_limit(factor, IN_LOOP)), (rank, (rows[0], w, K)))


def plans():
    made = []
    for n, d, factor in ((24, 700, 1.35), (120, 136, 1.45)):
        for dtype in (np.float64, np.float32):
            made.append(Plan(f"{n}x{d} {np.dtype(dtype).name}",
                             functools.partial(case, n, d, dtype, factor)))
    return made


def test_rank(compare, plan):
    compare(plan)
