"""Theorem 3 of the filtering paper: P-RIDGE-FIL's regret on a linear model of relevance.

Unit rows with |u.x| >= gamma, relevant with probability (1 + u.x) / 2. The regret of a round is
what it costs in expectation to judge by the sign of the margin instead of that of u.x: |u.x|
where the two differ. The theorem's p depends on the number of rounds n: a run for each n.
"""

import math

import numpy as np

import coactive_fast as cf

from . import _judge
from ._plan import Curve, Experiment, Finding, Outcome, Plot, Table, Task

A = 1.0


def bound(n, d, gamma):
    """Theorem 3, for the cumulative regret of n rounds."""
    root = math.sqrt(n)
    return (2.0 * A * root / gamma + 8.0 * root / gamma * d * math.log(1.0 + n / (A * d))
            + 0.5 * root + 0.5)


def one_run(sets, n, d, gamma, seed, number):
    X, y, u = cf.data.make_filtering(n_rows=n, n_features=d, gamma=gamma,
                                     seed=np.random.default_rng([seed, n, d, number]))
    truth = X @ u
    learner = cf.ProbabilisticRidgeFilter(a=A, horizon=n, seed=[seed, n, d, number, 1])
    history = learner.run(X, y, u=u)
    wrong = (history.margins >= 0.0) != (truth >= 0.0)
    return {"regret": np.sum(np.abs(truth[wrong])), "counted": history.cumulative_regret[-1],
            "least": np.abs(truth).min()}


def play(setting):
    lengths, seeds = setting["lengths"], setting["seeds"]
    models = setting["models"]
    tasks = [Task(one_run, {"n": n, "d": d, "gamma": gamma, "seed": setting.seed, "number": s})
             for d, gamma in models for n in lengths for s in range(seeds)]
    found = iter((yield tasks))
    curves, rows, under, growth, worth = [], [], [], [], []
    for d, gamma in models:
        runs = np.array([[float(next(found)["regret"]) for _ in range(seeds)] for _ in lengths])
        limits = np.array([bound(n, d, gamma) for n in lengths])
        label = f"d = {d}, γ = {gamma:g}"
        curves += [Curve.of_runs(label, lengths, runs.T),
                   Curve(label, np.array(lengths), limits, bound=True)]
        rows += [[label, n, run.mean(), run.max(), limit, limit / run.mean()]
                 for n, run, limit in zip(lengths, runs, limits, strict=True)]
        under += [_judge.below(_judge.mean(run), limit)
                  for run, limit in zip(runs, limits, strict=True)]
        growth.append((_judge.log_ratio(runs[-1], runs[-2], same_runs=False),
                       allowed(*lengths[-2:])))
        worth.append(next((n for n, limit in zip(lengths, limits, strict=True)
                           if limit < 0.5 * (1.0 + gamma) / 2.0 * n), None))
    informative = [f"{n:,}" for n in worth if n is not None]
    return Outcome(
        plots=[Plot("regret", "P-RIDGE-FIL and Theorem 3 (dashed: the bound)", "rounds",
                    "cumulative regret", curves, log="xy", story=True)],
        tables=[Table("bound", f"{seeds} streams a line",
                      ["model", "rounds", "mean regret", "largest", "bound", "bound / mean"],
                      rows)],
        findings=[
            Finding("The expected regret stays under Theorem 3's bound.",
                    f"bound / mean regret: {min(r[5] for r in rows):.0f} at the least; the largest "
                    f"regret of a stream is {max(r[3] / r[4] for r in rows):.1%} of its bound",
                    _judge.every(under),
                    "The bound says less than chance does until n is in the hundreds of thousands"
                    + (f": here from {', '.join(informative)} rounds on." if informative else
                       ", which no run here reaches."),
                    "In each model and length the mean regret over the streams is below the bound.",
                    "regret", main="P-RIDGE-FIL stays under its bound"),
            Finding("The regret grows no faster than √n (ln n).",
                    f"from {lengths[-2]:,} to {lengths[-1]:,} rounds by "
                    + ", ".join(f"{ratio.times} (√n ln n: {np.exp(most):.3g})"
                                for ratio, most in growth),
                    _judge.every(_judge.below(ratio, most) for ratio, most in growth), "",
                    "In each model the mean regret grows by less than √n ln n does between the "
                    "two longest runs.",
                    "regret", main="its regret grows no faster than √n ln n")])


def allowed(n, m):
    """The logarithm of what √n ln n grows by from n to m."""
    return 0.5 * math.log(m / n) + math.log(math.log(m) / math.log(n))


EXPERIMENTS = [Experiment(
    "filtering-regret", "P-RIDGE-FIL on a linear model, and Theorem 3", "filtering", "theorem 3",
    "generated", play,
    quick={"lengths": [100, 1000, 10000], "seeds": 20, "models": [[2, 0.5], [5, 0.2]]},
    full={"lengths": [100, 1000, 10000, 100000, 1000000], "seeds": 20,
          "models": [[2, 0.5], [5, 0.2], [20, 0.1]]}, cost=(1, 17))]
