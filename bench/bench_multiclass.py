"""Confidit: whole matrices and sparse diagonals, in runs and call by call from Python.

The rivals' algorithm is Confidit with projection and constant width; ours does all of a round
(the coin, the step by the answer, A beside its inverse) where they do the products only. A sparse
learner is larger than the caches: a sample is a whole pass, not the first rows after a rival's.
"""

import functools

import contenders as others
import contenders_multiclass as rivals
import limits
import numpy as np
import scipy.sparse
import threads
from ratio import (
    Case,
    Contender,
    Plan,
    Tape,
    Target,
    player,
    takes_at_most,
    times_faster,
    within_limit,
)

import coactive_fast as cf
from coactive_fast import reference

NUMPY = "numpy, one stacked product"
NUMBA = "numba, squares, in a compiled loop"
NUMBA_LOWER = "numba, lower triangles, in a compiled loop"
RIVER = "river LinUCBDisjoint"
MABWISER = "mabwiser LinUCB"
CALLS = "coactive_fast, choose and learn from Python"
SIMPLE = "coactive_fast, run, without projection"
ARGUMENTS = {"projection": True, "alpha": rivals.ALPHA, "eta": rivals.WIDTH, "seed": 0}
RUN = {(9, 5): (190e-9, 1.15, 45), (26, 8): (580e-9, 1.4, None),
       (100, 20): (10.5e-6, 1.4, None), (365, 20): (175e-6, 1.15, None)}
CALL = {(9, 5): 330e-9, (26, 8): 720e-9, (100, 20): 11e-6, (365, 20): 180e-6}


def problem(d, k, n=256):
    rng = np.random.default_rng(100 * d + k)
    x = rng.standard_normal((n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x, np.argmax(x @ rng.standard_normal((d, k)), axis=1)


def check_twin(x, y, k, **arguments):
    """Some rounds of the twin: the same choices, weights to 1e-9."""
    fast, slow = (module.Confidit(k, **arguments) for module in (cf, reference))
    few = 12 if x.shape[1] > 50 else 64
    np.testing.assert_array_equal(fast.run(x[:few], y[:few]).choices,
                                  slow.run(x[:few], y[:few]).choices)
    np.testing.assert_allclose(fast.weights, slow.weights, atol=1e-9)


def plays_run(name, learner, x, y, least, own=False):
    """A run over the rows again and again; `least` epochs, so that the call itself is nothing."""
    n = x.shape[0]
    learner.run(x, y, epochs=least)
    return Contender(name, lambda rounds: learner.run(x, y, epochs=rounds // n), step=least * n,
                     own=own)


def plays_calls(learner, x, y, step=1):
    items = [(x[t:t + 1] if scipy.sparse.issparse(x) else x[t], int(y[t]))
             for t in range(x.shape[0])]
    play = player("a = choose(p[0]); learn(p[0], a, a == p[1])", "p", items,
                  choose=learner.choose, learn=learner.learn)
    play(len(items))
    return Contender(CALLS, play, own=True, step=step)


def numba_full(x, k):
    found, loops = [], rivals.numba_loops()
    if loops is None:
        return found
    d, plain = x.shape[1], rivals.numpy_full(x.shape[1], k)
    expected = [plain(row) for row in x[:40]]
    for name, loop in zip((NUMBA, NUMBA_LOWER), loops, strict=False):
        arrays = (np.tile(np.eye(d), (k, 1, 1)), np.zeros((k, d)), x, np.empty((k, d)),
                  *rivals.scratch(k))
        picks = np.zeros(64, dtype=np.intp)
        loop(*arrays, 0, 40, picks)
        assert picks[:40].tolist() == expected
        found.append(Contender(name, lambda n, f=loop, a=arrays, p=picks: f(*a, 40, n, p)))
    return found


def packages(x, y, k):
    for name, make, package in ((RIVER, rivals.river_linucb, "river"),
                                (MABWISER, rivals.mabwiser_linucb, "mabwiser")):
        if others.have(package):
            step, items = make(x, y, k)
            yield Contender(name, player("step(p)", "p", items, step=step))


def full_case(d, k):
    x, y = problem(d, k)
    check_twin(x, y, k, covariance="full", **ARGUMENTS)
    learner, asked = (cf.Confidit(k, covariance="full", **ARGUMENTS) for _ in range(2))
    least = max(1, int(4e6 / (k * d * d)))
    asked.run(x, y, epochs=max(4, 2 * d * k // 256))  # past the first renewals of the inverses
    learner.run(x, y, epochs=max(4, 2 * d * k // 256))
    plain = rivals.numpy_full(d, k)
    found = [plays_calls(asked, x, y), *numba_full(x, k),
             Contender(NUMPY, player("step(x)", "x", list(x), step=plain))]
    if (d, k) == (100, 20):
        found += packages(x, y, k)
    seconds, faster, against_numpy = RUN[d, k]
    targets = [takes_at_most(seconds), times_faster(faster, "the best numba", NUMBA, NUMBA_LOWER),
               takes_at_most(CALL[d, k], CALLS)]
    if against_numpy:
        targets.append(times_faster(against_numpy, "numpy", NUMPY))
    if (d, k) == (100, 20):
        targets += [calls_faster(45, RIVER), calls_faster(80, MABWISER)]
    ours = plays_run("coactive_fast, run", learner, x, y, least)
    return Case("multiclass", f"full d={d} K={k}", ours, found, targets=targets,
                call=(learner.choose, (x[0],)))


def calls_faster(factor, name):
    def measure(result):
        return result.of(name) / result.of(CALLS) if result.of(name) else None
    return Target(f"calls >= {factor}x {name}", measure, factor, False, "x")


# --- classes that cannot win --------------------------------------------------------------------


def pruning_case(d, k):
    x, y = problem(d, k, n=2000)
    pruned, plain = (cf.Confidit(k, covariance="full") for _ in range(2))
    plain._engine._pruning = False
    epochs = 1 if threads.quick() else 5
    assert pruned.run(x, y, epochs=epochs) == plain.run(x, y, epochs=epochs)
    few = x[:256], y[:256]
    name = "coactive_fast, every class looked at"
    return Case("multiclass", f"full without projection d={d} K={k}",
                plays_run("coactive_fast, run", pruned, *few, 1 if d > 200 else 8),
                [plays_run(name, plain, *few, 1)],
                targets=[times_faster(2.0, "without pruning", name)])


# --- sparse rows --------------------------------------------------------------------------------

FEATURES, CLASSES, ENTRIES = 100_000, 20, 100
SPARSE_NUMPY = "numpy, fancy indexing"
SPARSE_NUMBA = "numba, in a compiled loop"
VW = "VW --cb_explore epsilon, pre-parsed"


@functools.cache
def text():
    """Rows with the word frequencies of text, and labels of a linear rule."""
    n = 1000 if threads.quick() else 4000
    rng = np.random.default_rng(7)
    share = np.cumsum(1.0 / (np.arange(FEATURES) + 30.0))
    share /= share[-1]
    scattered = rng.permutation(FEATURES).astype(np.int32)
    places = np.empty((n, ENTRIES), dtype=np.int32)
    for t in range(n):
        words = np.unique(np.searchsorted(share, rng.random(4 * ENTRIES)))
        places[t] = np.sort(scattered[rng.permutation(words)[:ENTRIES]])
    values = np.abs(rng.standard_normal(places.shape)) + 0.1
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    truth = rng.standard_normal((FEATURES, CLASSES))
    labels = np.array([np.argmax(v @ truth[p]) for p, v in zip(places, values, strict=True)])
    ends = np.arange(0, places.size + 1, ENTRIES)
    rows = scipy.sparse.csr_matrix((values.ravel(), places.ravel(), ends), (n, FEATURES))
    return places, values, labels, rows


def numba_sparse(tape, expected):
    places, values, _, _ = text()
    loops = rivals.numba_loops()
    if loops is None:
        return None
    arrays = (np.ones((FEATURES, CLASSES)), np.zeros((FEATURES, CLASSES)), places, values,
              *rivals.scratch(CLASSES))
    picks = np.zeros(len(places), dtype=np.intp)
    loops[2](*arrays, 0, 200, picks)
    assert picks[:200].tolist() == expected
    return Contender(SPARSE_NUMBA, lambda n: loops[2](*arrays, tape.take(n), n, picks),
                     step=len(places), most=len(places))


def sparse_case():
    places, values, labels, rows = text()
    tape = Tape(len(places))
    check_twin(rows[:12], labels[:12], CLASSES, **ARGUMENTS)
    check_twin(rows[:12], labels[:12], CLASSES)
    projected, plain, asked = (cf.Confidit(CLASSES, **a) for a in (ARGUMENTS, {}, {}))
    asked.run(rows, labels)
    step = rivals.numpy_diagonal(FEATURES, CLASSES)
    expected = [step(p, v) for p, v in zip(places[:200], values[:200], strict=True)]
    items = list(zip(places, values, strict=True))
    found = [plays_run(SIMPLE, plain, rows, labels, 1, own=True),
             plays_calls(asked, rows, labels, len(labels)), numba_sparse(tape, expected),
             Contender(SPARSE_NUMPY, player("step(*p)", "p", items, step=step))]
    if others.have("vowpalwabbit"):
        learn, parsed = rivals.vw_parsed(places[:2000], values[:2000], labels, CLASSES)
        found.append(Contender(VW, player("learn(p)", "p", parsed, learn=learn)))
    targets = [takes_at_most(1.6e-6), takes_at_most(1.6e-6, SIMPLE), within_limit(1.6),
               times_faster(2.0, "numba", SPARSE_NUMBA), times_faster(2.5, "VW", VW),
               takes_at_most(2.5e-6, CALLS)]
    return Case("multiclass", f"diagonal d=1e5 K={CLASSES} nnz={ENTRIES}",
                plays_run("coactive_fast, run, projected", projected, rows, labels, 1), found,
                limit=limits.features(tape, places, FEATURES, 6, 3), targets=targets,
                call=(asked.choose, (rows[0],)))


def plans():
    for d, k in RUN:
        yield Plan(f"full-{d}x{k}", lambda d=d, k=k: full_case(d, k), smoke=d < 300)
    for d, k in ((100, 20), (365, 20)):
        yield Plan(f"pruning-{d}x{k}", lambda d=d, k=k: pruning_case(d, k), smoke=d < 300)
    yield Plan("diagonal", sparse_case)


def test_multiclass(plan, compare):
    compare(plan)
