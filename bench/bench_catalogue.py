"""Choices among very many fixed rows: a run of rounds, each learned, and one pass of thompson.

The rows are those that make it hard in different ways: Gaussian, of unit length, in clusters that
lie together, the same in random order, and with lengths that fall with the rank. A reading of all
rows is the limit of whoever looks at each; it is timed within the run, since other work on the
machine slows both. In every run some choices are compared with those from all rows.
"""

import time

import limits
import numpy as np
import threads
from ratio import (
    Case,
    Contender,
    Plan,
    figure_at_most,
    player,
    takes_at_most,
    within_limit,
)

import coactive_fast as cf

D = 64
KINDS = ("gauss", "unit", "clusters", "shuffled", "popular")
NOISE = 0.1


def rows_of(kind, n):
    rng = np.random.default_rng(0)
    X = np.empty((n, D), dtype=np.float32)
    centers, own = rng.standard_normal((1000, D)), rng.integers(0, 1000, n)
    if kind == "clusters":
        own.sort()
    spectrum = 1.0 / np.sqrt(1.0 + np.arange(D))
    spectrum /= np.linalg.norm(spectrum)
    lengths = np.minimum(1.0, 30.0 / np.sqrt(1.0 + np.arange(n)))
    for begin in range(0, n, 100_000):
        some = slice(begin, min(n, begin + 100_000))
        Y = rng.standard_normal((some.stop - begin, D))
        if kind in ("clusters", "shuffled"):
            Y = centers[own[some]] + 0.5 * Y
        if kind == "gauss":
            X[some] = Y / 8.0
        elif kind == "popular":
            X[some] = Y * spectrum * lengths[some, None]
        else:
            X[some] = Y / np.linalg.norm(Y, axis=1)[:, None]
    return X


def target_of(kind):
    theta = np.random.default_rng(1).standard_normal(D)
    return theta * (4.0 if kind == "popular" else 1.0) / np.linalg.norm(theta)


def reading(probe):
    """Seconds of one, as fast as this machine reads now."""
    begin = time.thread_time()
    probe.play(3)
    return (time.thread_time() - begin) / 3


class Run:
    """Rounds of one learner over one catalogue."""

    def __init__(self, kind, n):
        self.X, self.theta = rows_of(kind, n), target_of(kind)
        self.items, self.bandit = cf.Catalogue(self.X), cf.LinearBandit()
        self.probe = limits.read(self.X.nbytes)
        self.noise = NOISE * np.random.default_rng(2).standard_normal(1 << 20)
        self.t = 0

    def round(self):
        i = self.bandit.choose(self.items)
        x = self.X[i]
        self.bandit.learn(x, float(x @ self.theta) + self.noise[self.t & (1 << 20) - 1])
        self.t += 1
        return i

    def rounds(self, count):
        """Seconds of each round, and of a reading of the rows, the least of several."""
        checked = {0, 1, 2, 5, 20, 60, 100, 300, 1000, 3000, count - 1}
        seconds, read = np.zeros(count), np.inf
        for t in range(count):
            if t in checked:
                assert self.bandit.choose(self.items) == self.bandit.choose(self.X)
                read = min(read, reading(self.probe)) if self.probe else np.nan
                self.items = cf.Catalogue(self.X) if t == 0 else self.items
            begin = time.thread_time()
            self.round()
            seconds[t] = time.thread_time() - begin
        return seconds, read


def run_case(kind, n, most):
    run = Run(kind, n)
    seconds, read = run.rounds(300 if threads.quick() else 10_000)
    figures = {"median ms": 1e3 * float(np.median(seconds)),
               "p99 in readings": float(np.quantile(seconds, 0.99)) / read,
               "longest in readings": float(seconds.max()) / read,
               "reading ms": 1e3 * read}
    return Case("catalogue", f"ucb, {n} x {D}, {kind}, {len(seconds)} rounds behind",
                Contender("coactive_fast, choose and learn from Python",
                          lambda count: [run.round() for _ in range(count)]),
                limit=run.probe,
                targets=[takes_at_most(most), figure_at_most("median ms", 1e3 * most),
                         figure_at_most("p99 in readings", 2.0),
                         figure_at_most("longest in readings", 2.0)],
                call=(run.bandit.choose, (run.items,)), figures=figures)


def thompson_case(n):
    X = rows_of("gauss", n)
    items = cf.Catalogue(X)
    bandit, plain = (cf.LinearBandit(explore="thompson", seed=1) for _ in range(2))
    for t in range(20):
        i = bandit.choose(items)
        assert t > 3 or i == plain.choose(X)
        for learner in (bandit, plain):
            learner.learn(X[i], 1.0)
    play = player("choose(p)", "p", [items], choose=bandit.choose)
    return Case("catalogue", f"thompson, {n} x {D}", Contender("coactive_fast, choose", play),
                limit=limits.read(X.nbytes),
                targets=[within_limit(1.3)], call=(bandit.choose, (items,)))


def plans():
    for kind in KINDS:
        yield Plan(f"{kind}-1e6", lambda kind=kind: run_case(kind, 1_000_000, 0.1e-3), smoke=False)
        yield Plan(f"{kind}-1e5", lambda kind=kind: run_case(kind, 100_000, 0.05e-3),
                   smoke=kind == "unit")
    yield Plan("thompson", lambda: thompson_case(100_000 if threads.quick() else 1_000_000))


def test_catalogue(plan, compare):
    compare(plan)
