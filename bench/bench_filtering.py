"""Filtering: a dual step, a kernel row over stored text, whole runs.

What is not shown by a target: a run over text in blocks against the same rounds by single calls,
and the diagonal form.
"""

import copy
import functools

import bench_full
import compiled
import contenders as others
import limits
import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from ratio import Case, Contender, Plan, Target, times_faster, within_limit

import coactive_fast as cf
from coactive_fast import reference

NUMPY_STEP = "numpy, explicit inverse by block inversion"
SCIPY_ROW = "scipy.sparse, row times matrix"
SCIPY_STORED = "scipy.sparse, matrix times row, transposed before"
FEATURES = 20       # of the dual step's rows: the solve is what counts
AHEAD = 6           # steps of one sample: the factor grows by no more than these


def unit_rows(rng, n, d):
    x = rng.standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def text(rng, n, d, entries=50):
    """Sparse unit rows whose features are as uneven as words are."""
    rows = np.repeat(np.arange(n), entries)
    words = np.minimum((d * rng.random(n * entries) ** 4).astype(np.int64), d - 1)
    x = scipy.sparse.coo_matrix((rng.random(n * entries) + 0.1, (rows, words)), (n, d)).tocsr()
    x = scipy.sparse.diags(1.0 / scipy.sparse.linalg.norm(x, axis=1)) @ x
    x.sort_indices()
    return x


def check(arguments, x, y, few=60):
    """The first rounds against the twin."""
    fast = cf.RidgeFilter(**arguments).run(x[:few], y[:few])
    slow = reference.RidgeFilter(**arguments).run(x[:few], y[:few])
    assert (fast.forwarded == slow.forwarded).all()
    assert np.abs(fast.margins - slow.margins).max() < 1e-9


# --- the dual step ------------------------------------------------------------------------------


def dual_case(n):
    rng = np.random.default_rng(n)
    rows, more = unit_rows(rng, n, FEATURES), list(unit_rows(rng, 64, FEATURES))
    y = rows[:, 0] > 0.0
    arguments = {"covariance": "kernel", "feedback": "full"}
    check(arguments, rows, y)
    base = cf.RidgeFilter(**arguments)
    base.run(rows, y)
    gram = rows @ rows.T + np.eye(n)
    inverse = np.linalg.inv(gram)
    alpha = inverse @ np.where(y, 1.0, -1.0)
    k = rows @ more[0]
    q = more[0] @ more[0] - k @ inverse @ k
    assert abs(base.margin(more[0]) - k @ alpha / (1.0 + q)) < 1e-9
    current = [base]

    def set_back():
        """n rows again, with room for some more, the factor in the caches."""
        current[0] = None
        current[0] = copy.copy(base)
        current[0].learn(more[-1], True)
        for x in more[-6:]:  # a shared cache needs some passes until it keeps the factor
            current[0].margin(x)

    def play(count):
        forward, learn = current[0].forward, current[0].learn
        for x in more[:count]:
            forward(x)
            learn(x, True)

    def numpy_play(count):
        for x in more[:count]:
            k = rows @ x
            k @ alpha, k @ (inverse @ k)
            others.numpy_grow(inverse, rows, x, 1.0)

    targets = [within_limit(1.3), times_faster(8.0, "explicit inverse", NUMPY_STEP)]
    return Case("RidgeFilter, dual", f"forward and learn, N={n}",
                Contender("coactive_fast, forward and learn", play, set_back, most=AHEAD),
                [Contender(NUMPY_STEP, numpy_play, most=AHEAD)],
                limits.read(limits.triangle_bytes(n)), targets if n == 4000 else [])


# --- a kernel row -------------------------------------------------------------------------------


def row_case(n):
    rng = np.random.default_rng(n)
    stored, queries = text(rng, n, 100_000), text(rng, 64, 100_000)
    loops, ours = compiled.loops(), None
    transposed, by_columns, out = stored.T, stored.T.tocsr(), np.zeros(n)
    if loops is not None:
        documents = loops.Documents(stored)
        parts = (queries.indptr.astype(np.int64), queries.indices.astype(np.int64), queries.data)
        for q in range(3):
            documents.products(*parts, out, q, 1)
            assert np.abs(out - (stored @ queries[q].toarray().ravel())).max() < 1e-12
        ours = Contender("coactive_fast, inverted index",
                         lambda count: documents.products(*parts, out, 0, count))
    rows = [queries[q] for q in range(64)]

    def row_times_matrix(matrix):
        def play(count):
            for q in range(count):
                rows[q % 64] @ matrix
        return play

    rivals = [Contender(SCIPY_ROW, row_times_matrix(transposed)),
              Contender(SCIPY_STORED, row_times_matrix(by_columns))]
    if ours is None:
        return Case("Gram row of text", f"{n} stored", rivals.pop(0), rivals)
    return Case("Gram row of text", f"{n} stored, 50 entries a row", ours, rivals, None,
                [times_faster(20.0, "scipy.sparse row times matrix", SCIPY_ROW)])


# --- runs ---------------------------------------------------------------------------------------


def run_contender(name, arguments, x, y, warm=0):
    learner = cf.RidgeFilter(**arguments)
    learner.run(x[:warm], y[:warm])

    def play(count):
        while count > 0:
            learner.run(x[:count], y[:count])
            count -= len(y)
    return Contender(name, play, own=True)


def at_most_times(factor, name, label):
    def measure(result):
        other = result.of(name)
        return result.ours() / other if other else None
    return Target(f"<= {factor:g}x {label}", measure, factor, True, "x")


def full_case(d):
    rng = np.random.default_rng(d)
    x = unit_rows(rng, 5000, d)
    y = x @ unit_rows(rng, 1, d)[0] > 0.0
    check({"feedback": "full"}, x, y)
    ours = run_contender("coactive_fast, run, every label", {"feedback": "full"}, x, y, 5000)
    rivals = [run_contender("coactive_fast, run, RIDGE-FIL", {}, x, y, 5000),
              run_contender("coactive_fast, run, ucb", {"rule": "ucb"}, x, y, 5000),
              run_contender("coactive_fast, run, forget", {"forget": 0.999}, x, y, 5000),
              run_contender("coactive_fast, run, window of 500", {"window": 500}, x, y, 5000)]
    # the heart's update, upkeep of A included; its pass over the inverse alone stands beside it
    rivals.append(bench_full.many_contender(x, "fast", bench_full.MANY)[0])
    loops = compiled.loops()
    if loops is not None:
        rivals.append(bench_full.fused_contender(loops, bench_full.stream(d)))
    target = at_most_times(1.2, bench_full.MANY, "the heart's update")
    return Case("RidgeFilter, full", f"run, d={d}", ours, rivals, limits.one_pass(d),
                [target] if d == 100 else [])


def diagonal_case():
    rng = np.random.default_rng(0)
    x = text(rng, 4000, 100_000)
    y = rng.random(4000) < 0.3
    arguments = {"covariance": "diagonal", "feedback": "full"}
    check(arguments, x[:, :2000], y)
    return Case("RidgeFilter, diagonal", "run, d=100,000, 50 entries a row",
                run_contender("coactive_fast, run", arguments, x, y, 4000),
                [run_contender("coactive_fast, run, RIDGE-FIL", {"covariance": "diagonal"}, x, y)])


def text_case(n):
    rng = np.random.default_rng(n)
    x = text(rng, n, 50_000)
    y = x @ rng.standard_normal(50_000) > 0.0
    arguments = {"covariance": "kernel", "feedback": "full"}
    check(arguments, x[:, :2000], y)
    rows = [x[t] for t in range(n)]

    def play(count):
        for _ in range(count):
            cf.RidgeFilter(**arguments).run(x, y)

    def by_calls(count):
        for _ in range(count):
            learner = cf.RidgeFilter(**arguments)
            for row, relevant in zip(rows, y.tolist(), strict=True):
                learner.forward(row)
                learner.learn(row, relevant)

    return Case("RidgeFilter, dual", f"run over {n} documents, every label",
                Contender("coactive_fast, run, in blocks", play),
                [Contender("coactive_fast, single calls", by_calls, own=True)])


def plans():
    return [
        *(Plan(f"dual N={n}", functools.partial(dual_case, n), n == 1000) for n in (1000, 4000)),
        Plan("row N=4000", functools.partial(row_case, 4000)),
        *(Plan(f"full d={d}", functools.partial(full_case, d), d == 100) for d in (30, 100, 300)),
        Plan("diagonal", diagonal_case),
        Plan("text N=3000", functools.partial(text_case, 3000), False),
    ]


def test_filtering(compare, plan):
    compare(plan)
