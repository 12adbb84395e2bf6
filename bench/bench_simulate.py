"""Coactive learning: whole simulations, a second-order round, one present and learn from Python.

Rankings are streamed from memory as `bench_rank` does; ours also computes the feedback of an
alpha-informative user and the regret, which the W6 rivals are given for nothing. A second numba
loop does the same work as ours.
"""

import functools
import itertools
import math
import time

import contenders as others
import limits
import memory
import numpy as np
import threads
from ratio import Case, Contender, Plan, Tape, Target, takes_at_most, times_faster, within_limit

import coactive_fast as cf
from coactive_fast import reference
from coactive_fast.coactive._rules import ItemsRun
from coactive_fast.coactive._simulation import _gram_of

K, ALPHA = 5, 0.5
NUMPY = "numpy, feedback given"
NUMBA = "numba loop, feedback given"


# --- rankings -----------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1)
def stream(n, d, dtype):
    nbytes = n * d * np.dtype(dtype).itemsize
    count = (60 << 20 if threads.quick() else 400 << 20) // nbytes
    x = memory.aligned((count * n, d), dtype)
    rng = np.random.default_rng(n + d)
    for at in range(0, count * n, n):
        x[at:at + n] = rng.standard_normal((n, d))
    data = cf.data.RankingData(x, np.zeros(len(x)), np.arange(count + 1) * n)
    assert np.shares_memory(data.features, x)
    w = rng.standard_normal(d)
    best = np.array([cf.kernels.rank(x[at:at + n], w, K) for at in range(0, count * n, n)])
    return data, x.reshape(count, n, d), w, best


def check_run(data, w):
    """The first rounds against the twin."""
    few = data[:40]
    fast, slow = (m.PreferencePerceptron(m.Ranking(k=K)) for m in (cf, reference))
    a = cf.simulate(fast, few, cf.users.AlphaInformative(ALPHA), weights=w)
    b = reference.simulate(slow, few, reference.users.AlphaInformative(ALPHA), weights=w)
    assert np.abs(a.regret - b.regret).max() < 1e-9
    assert np.abs(fast.weights - slow.weights).max() < 1e-9


def numpy_rounds(tape, queries, best):
    discount = (1.0 / np.log2(np.arange(2, K + 2))).astype(queries.dtype)
    w = np.zeros(queries.shape[2], queries.dtype)

    def play(count):
        at = tape.take(count)
        for t in range(at, at + count):
            x = queries[t]
            y = np.argsort(-(x @ w), kind="stable")[:K]
            w[:] += discount @ x[best[t]] - discount @ x[y]
    return Contender(NUMPY, play, most=len(queries))


def numba_rounds(tape, queries, best, truth):
    import contenders_numba

    n, d = queries.shape[1:]
    discount = 1.0 / np.log2(np.arange(2, K + 2))
    kind = queries.dtype
    places = [np.empty(K, np.int64) for _ in range(3)]
    scores, utility = np.empty(n, kind), np.empty(n, kind)
    w, u = np.zeros(d, kind), truth.astype(kind)

    def given(count):
        contenders_numba.coactive_given(queries, best, w, discount.astype(kind), scores,
                                        places[0], tape.take(count), count)

    def whole(count):
        contenders_numba.coactive_alpha(queries, u, w, discount.astype(kind), ALPHA, scores,
                                        utility, *places, tape.take(count), count)
    return [Contender(NUMBA, given, most=len(queries), step=256),
            Contender("numba loop, the same work", whole, most=len(queries), step=256)]


def rankings(n, d, dtype):
    data, queries, w, best = stream(n, d, dtype)
    check_run(data, w)
    tape, user = Tape(len(data)), cf.users.AlphaInformative(ALPHA)
    learner = cf.PreferencePerceptron(cf.Ranking(k=K))

    def play(count):
        at = tape.take(count)
        cf.simulate(learner, data, user, order=np.arange(at, at + count), weights=w)

    step = 256 if threads.quick() else 2048
    rivals = [numpy_rounds(tape, queries, best)]
    if others.have("numba"):
        rivals += numba_rounds(tape, queries, best, w)
    kind = np.dtype(dtype).name
    targets = (within_limit(1.5), times_faster(4, "idiomatic numpy", NUMPY),
               times_faster(1.1, "numba", NUMBA)) if kind == "float32" else ()
    return Case("simulate", f"{n} x {d} {kind}, streamed",
                Contender("coactive_fast, simulate", play, most=len(data), step=step), rivals,
                limits.stream(tape, queries, n * d * queries.itemsize), targets)


# --- items --------------------------------------------------------------------------------------


def numpy_user(x, w, rounds):
    """One user by a mask (W7)."""
    utility = x @ w
    left, at, dead = utility.copy(), np.zeros(x.shape[1]), np.zeros(len(x), bool)
    shown = []
    for _ in range(rounds):
        scores = x @ at
        scores[dead] = -np.inf
        y = int(np.argmax(scores))
        enough = utility[y] + 0.3 * (left.max() - utility[y])
        better = int(np.argmin(np.where(left >= enough, left, np.inf)))
        at += x[better] - x[y]
        dead[[y, better]] = True
        left[[y, better]] = -np.inf
        shown.append(utility[y])
    return np.array(shown)


def items():
    n, d, rounds, users = 3706, 50, 300 if threads.quick() else 1500, 8
    rng = np.random.default_rng(3)
    x = rng.standard_normal((n, d)) / math.sqrt(d)
    weights = rng.standard_normal((users, d))
    learner, user = cf.PreferencePerceptron(cf.Items(x)), cf.users.AlphaInformative(0.3)
    history = cf.simulate_items(learner, x, weights[:1], user, rounds=rounds)
    assert np.abs(history.utility - numpy_user(x, weights[0], rounds)).max() < 1e-9
    table = np.full((users, rounds), np.nan)
    features = learner.task.features
    run = ItemsRun(features, _gram_of(features), table, table.copy(), table.copy())
    turn, other = itertools.cycle(range(users)), itertools.cycle(range(users))

    def play(count):
        for u in itertools.islice(turn, count):
            run.play(u, cf.PreferencePerceptron(learner.task)._another(),
                     user._decider(), weights[u], None)

    def play_numpy(count):
        for u in itertools.islice(other, count):
            numpy_user(x, weights[u], rounds)

    return Case("simulate_items", f"{n} x {d}, {rounds} rounds a user",
                Contender("coactive_fast, a user", play),
                [Contender("numpy, mask", play_numpy)],
                limits.read(rounds * 2 * n * 2),  # two rows of the Gram matrix
                (takes_at_most(3.5e-3 * rounds / 1500), times_faster(12, "numpy, mask",
                                                                      "numpy, mask")))


# --- second order -------------------------------------------------------------------------------


def active_rounds(n, rounds=24):
    """Seconds a round with the projection active, and the learner."""
    rng = np.random.default_rng(n)
    learner = cf.SecondOrderPreferencePerceptron(cf.Ranking(), radius=0.5)
    deltas = rng.standard_normal((n + 40, n)) / math.sqrt(n)
    for delta in deltas[:n]:
        learner.update(delta)
    best = math.inf
    for _ in range(3):
        begin = time.perf_counter()
        for delta in deltas[n:n + rounds]:
            learner.update(delta)
        best = min(best, (time.perf_counter() - begin) / rounds)
        assert abs(np.linalg.norm(learner.weights) - 0.5) < 1e-9
    return best


def second_order():
    n = 100 if threads.quick() else 500
    rng = np.random.default_rng(1)
    learner = cf.SecondOrderPreferencePerceptron(cf.Ranking(), radius=0.5)
    deltas = itertools.cycle(list(rng.standard_normal((n, n)) / math.sqrt(n)))

    def play(count):
        for delta in itertools.islice(deltas, count):
            learner.update(delta)

    play(n)
    twin = reference.SecondOrderPreferencePerceptron(reference.Ranking(), radius=0.5)
    again = cf.SecondOrderPreferencePerceptron(cf.Ranking(), radius=0.5)
    for delta in rng.standard_normal((12, 30)):
        twin.update(delta)
        again.update(delta)
    assert np.abs(twin.weights - again.weights).max() < 1e-10
    sizes = (50, 100, 200) if threads.quick() else (100, 200, 350, 500, 700)
    times = [active_rounds(size) for size in sizes]
    slope = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
    figures = {"log-log slope of a round in N": slope}
    steep = Target("log-log slope of a round in N <= 2.2",
                   lambda r: r.case.figures["log-log slope of a round in N"], 2.2, True, "")
    return Case("second order", f"N={n}, projection active", Contender("coactive_fast", play), (),
                None, (takes_at_most(1e-3), steep), figures=figures)


# --- single calls -------------------------------------------------------------------------------


def single(n, d):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, n, d))
    learner = cf.PreferencePerceptron(cf.Ranking(k=K))
    better = np.arange(n)[::-1].copy()
    queries = itertools.cycle(list(x))

    def play(count, present=learner.present, learn=learner.learn):
        for q in itertools.islice(queries, count):
            learn(q, present(q), better)

    return Case("present and learn", f"{n} x {d}, from Python",
                Contender("coactive_fast, both calls", play), (), None, (takes_at_most(1.5e-6),))


def plans():
    made = [Plan(f"{n}x{d} {np.dtype(dtype).name}", functools.partial(rankings, n, d, dtype))
            for n, d in ((24, 700), (120, 136)) for dtype in (np.float32, np.float64)]
    made.append(Plan("items", items))
    made.append(Plan("second order", second_order))
    made.append(Plan("single", functools.partial(single, 24, 50)))
    return made


def test_simulate(compare, plan):
    compare(plan)
