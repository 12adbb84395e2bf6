"""Choices from a catalogue beside those from all rows, over very many rounds.

    python tests/catalogue_rounds.py --rounds 1000000 [--seed 0] [--seconds 0] [--most 3000]

Small and middle catalogues of every kind of rows below, learners of every kind that goes by bounds,
with what may happen between two choices. Two learners of one seed learn the same; the first
difference ends the script with what led to it. tests/test_rewards_catalogue.py plays a few of
these streams.
"""

import argparse
import sys
import time

import numpy as np

import coactive_fast as cf

KINDS = ("gauss", "unit", "clusters", "equal", "few", "huge", "zeros", "tiny", "ladder", "signs")
LEARNERS = [
    {}, {"width": 0.1}, {"width": 0.0}, {"explore": "greedy"}, {"link": "logistic", "width": 0.4},
    {"width": "theory", "noise": 0.3}, {"covariance": "diagonal"}, {"ridge": 1e-3},
    {"ridge": 1e3, "width": 5.0}, {"floor": 0.2, "seed": 1},
    {"explore": "greedy", "link": "logistic", "covariance": "diagonal"},
]


def rows_of(kind, n, d, rng):
    """Rows that make a choice hard in one way or another."""
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    if kind == "unit":
        X /= np.linalg.norm(X, axis=1)[:, None]
    elif kind == "clusters":
        X = X[rng.integers(0, 1 + n // 50, n)] + 1e-3 * X
    elif kind == "equal":
        X[:] = X[0]
    elif kind == "few":
        X = X[rng.integers(0, 1 + n // 10, n)]
    elif kind == "huge":
        X[rng.integers(n)] *= 1e6
    elif kind == "zeros":
        X[rng.random(n) < 0.5] = 0.0
    elif kind == "tiny":
        X *= 1e-20
    elif kind == "ladder":
        X = X[0] * (1.0 - 1e-7 * np.arange(n))[:, None]
    elif kind == "signs":
        X = np.sign(X)
    return X


class Stream:
    """One learner over one catalogue, by a seed alone."""

    def __init__(self, seed, most=3000, kind=None, arguments=None):
        self.rng = rng = np.random.default_rng(seed)
        n, d = int(rng.integers(1, most)), int(rng.integers(1, 40))
        self.kind = kind or KINDS[rng.integers(len(KINDS))]
        self.arguments = arguments or LEARNERS[rng.integers(len(LEARNERS))]
        self.X = rows_of(self.kind, n, d, rng)
        if rng.random() < 0.7:
            self.X = self.X.astype(np.float32)
        self.items, self.there = cf.Catalogue(self.X), np.ones(n, dtype=bool)
        self.bandit, self.plain = (cf.LinearBandit(**self.arguments) for _ in range(2))
        self.target = rng.standard_normal(d)
        self.noise = 10.0 ** rng.integers(-4, 1)
        self.eventful = rng.random() < 0.5
        self.batch = rng.random() < 0.2
        self.over = False  # the matrix is beyond repair: this learner takes no more
        self.told = f"seed {seed}: {self.kind}, {self.X.shape} {self.X.dtype}, {self.arguments}"

    def happen(self):
        """Now and then something other than a choice."""
        rng, what = self.rng, self.rng.random()
        if not self.eventful or what > 0.05:
            return
        if what < 0.01:
            self.both("decay", float(rng.uniform(0.3, 1.0)))
        elif what < 0.02 and self.there.sum() > 2:
            gone = rng.choice(np.flatnonzero(self.there), int(self.there.sum()) // 10 + 1, False)
            self.items.remove(gone)
            self.there[gone] = False
        elif what < 0.03:
            more = rows_of(self.kind, int(rng.integers(1, 80)), self.X.shape[1], rng)
            more = more.astype(self.X.dtype)
            self.items.add(more)
            self.X = np.vstack([self.X, more])
            self.there = np.append(self.there, np.ones(len(more), dtype=bool))
        elif what < 0.035 and self.bandit.width != "theory":
            self.both("set_params", width=float(rng.uniform(0.0, 2.0)))
        elif what < 0.037:
            self.both("reset")

    def both(self, name, *given, **words):
        for bandit in (self.bandit, self.plain):
            getattr(bandit, name)(*given, **words)

    def round(self):
        """Whether both choices are the same; then something is learned."""
        rng = self.rng
        self.happen()
        words, allowed = {}, self.there
        if rng.random() < 0.1:
            words["k"] = int(rng.integers(1, 40))
        if rng.random() < 0.1:
            mask = rng.random(len(allowed)) < rng.choice([0.1, 0.9])
            if (mask & allowed).any():
                words["allowed"], allowed = mask, mask & allowed
        try:
            expected = self.plain.choose(self.X, **{**words, "allowed": allowed})
        except ValueError as error:
            self.over = "beyond repair" in str(error)
            return self.over
        got = self.bandit.choose(self.items, **words)
        if not np.array_equal(got, expected):
            print(self.told, words.get("k"), got, expected, self.bandit.rounds, file=sys.stderr)
            return False
        for _ in range(int(rng.integers(0, 30)) if self.batch else 1):
            if self.over:
                break
            self.learn(np.atleast_1d(got)[0])
        return True

    def learn(self, i):
        rng = self.rng
        x = self.X[i if rng.random() < 0.9 else rng.integers(len(self.X))].astype(float)
        y = float(np.clip(x @ self.target, -1e3, 1e3)) + self.noise * rng.standard_normal()
        if self.bandit.link == "logistic":
            y = float(np.clip(y, 0.0, 1.0))
        weight = 1.0 if rng.random() < 0.8 else float(rng.uniform(0.1, 1.0))
        try:
            self.both("learn", x, y, weight=weight)
        except ValueError as error:
            self.over = "beyond repair" in str(error)
            if not self.over:
                raise


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--most", type=int, default=3000)
    given = parser.parse_args()
    done, seed, begin = 0, given.seed, time.monotonic()
    while done < given.rounds and not (0 < given.seconds < time.monotonic() - begin):
        stream = Stream(seed, given.most)
        length = int(np.random.default_rng([1, seed]).choice([50, 300, 2000, 9000],
                                                             p=[0.5, 0.3, 0.15, 0.05]))
        for _ in range(length):
            if not stream.round():
                raise SystemExit(f"another choice after {done} rounds")
            done += 1
            if stream.over:
                break
        seed += 1
    print(f"{done} rounds of {seed - given.seed} streams: all choices agree")


if __name__ == "__main__":
    main()
