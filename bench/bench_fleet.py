"""A fleet: a million small models in one file, in random order; a thousand in the quick mode.

The clock is the processor's where one thread works, since the machine may be busy. Each figure is
the best of several rounds, beside what it is compared with in the same run: learners of their own
in a dict, which no kill may meet.
"""

import os
import pickle
import time

import numpy as np
import threads

import coactive_fast as cf

D = 16
N = 1000 if threads.quick() else 10**6
ROUNDS = 2 if threads.quick() else 5


def best(play, rounds=ROUNDS, clock=time.thread_time):
    found = []
    for _ in range(rounds):
        begin = clock()
        play()
        found.append(clock() - begin)
    return min(found)


def streams():
    rng = np.random.default_rng(0)
    ids = rng.integers(-2**62, 2**62, N)
    return ids, rng.standard_normal((N, D)), rng.standard_normal(N)


def shuffled(ids, seed):
    return np.random.default_rng(seed).permutation(ids)


def check(fleet, orders, X, y):
    """Some models are those of learners of their own."""
    for key in orders[0][:5].tolist():
        own = cf.LinearBandit()
        for order in orders:
            t = int(np.flatnonzero(order == key)[0])
            own.learn(X[t], y[t])
        np.testing.assert_allclose(fleet[key].weights, own.weights, rtol=1e-9, atol=1e-12)


def tell(title, lines):
    print(f"\n{title}")
    for name, figure, target in lines:
        print(f"  {name:46} {figure:>14}  {target}")


def test_rows_by_run(tmp_path, benchmark):
    ids, X, y = streams()
    path = tmp_path / "a.fleet"
    orders = [shuffled(ids, seed) for seed in range(ROUNDS + 2)]
    lines = []
    with cf.Fleet(path, cf.LinearBandit(), N) as fleet:
        begin = time.thread_time()
        fleet.run(orders[0], X, y)
        lines.append(("rows a second, every key for the first time",
                      f"{N / (time.thread_time() - begin):,.0f}", ""))
        later = iter(orders[1:])
        seconds = best(lambda: fleet.run(next(later), X, y))
        lines.append(("rows a second a core", f"{N / seconds:,.0f}", ">= 2,500,000"))
        wall = best(lambda: fleet.run(orders[-1], X, y, n_jobs=2), 1, time.perf_counter)
        lines.append(("rows a second by the clock, two threads", f"{N / wall:,.0f}", ""))
        check(fleet, [*orders[:ROUNDS + 1], orders[-1]], X, y)
        health = fleet.health()
        lines.append(("bytes a record", f"{health['record']:,}", "<= 1,300"))
        index = 8 * fleet._engine.records.file.layout.entries / N
        lines.append(("bytes of the index a key", f"{index:g}", "<= 16"))
        assert health["damaged"] == 0 and len(fleet) == N
        begin = time.perf_counter()
        fleet.flush()
        lines.append(("flush, seconds", f"{time.perf_counter() - begin:.2f}", ""))
        hot = np.full(len(X), ids[0])
        lines.append(("rows a second of one key",
                      f"{N / best(lambda: fleet.run(hot, X, y)):,.0f}", ""))

    def opened():
        with cf.Fleet(path, mode="r+") as fleet:
            assert int(ids[0]) in fleet

    lines.append(("open, look one key up, close: ms",
                  f"{1e3 * best(opened, 5, time.perf_counter):.2f}", "<= 10"))
    tell(f"{N:,} models of LinearBandit, {D} features, {os.path.getsize(path):,} bytes", lines)
    benchmark(opened)


def test_calls_from_python(tmp_path, benchmark):
    ids, X, y = streams()
    order = shuffled(ids, 1)[:200_000].tolist()
    rows = [X[t] for t in range(1000)]
    offers = np.random.default_rng(2).standard_normal((10, D))
    own = {key: cf.LinearBandit() for key in order[:2000]}
    with cf.Fleet(tmp_path / "a.fleet", cf.LinearBandit(), N) as fleet:
        fleet.run(ids, X, y)
        assert fleet.choose(order[0], offers) == fleet[order[0]].choose(offers)

        def choose_and_learn():
            for t, key in enumerate(order):
                fleet.choose(key, offers)
                fleet.learn(key, rows[t % 1000], 1.0)

        def by_dict():
            for t, key in enumerate(order[:2000]):
                own[key].choose(offers)
                own[key].learn(rows[t % 1000], 1.0)

        def by_pickles():
            for t, key in enumerate(order[:2000]):
                learner = pickle.loads(stored[key])
                learner.choose(offers)
                learner.learn(rows[t % 1000], 1.0)
                stored[key] = pickle.dumps(learner)

        seconds = best(choose_and_learn, 3) / len(order)
        dict_seconds = best(by_dict, 3) / len(order[:2000])
        stored = {key: pickle.dumps(learner) for key, learner in own.items()}
        tell("choose among 10 actions and learn, from Python, keys in random order", [
            ("us", f"{1e6 * seconds:.2f}", "<= 2.5"),
            ("2,000 learners in a dict, us", f"{1e6 * dict_seconds:.2f}", ""),
            ("pickles in a dict, us", f"{1e6 * best(by_pickles, 2) / len(order[:2000]):.1f}", "")])
        benchmark(fleet.choose, order[0], offers)
