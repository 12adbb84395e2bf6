"""Theorems 1 and 3 of the filtering paper.

Theorem 1 is about SIMPLE-FIL's regret, where all rows have the same chance. Theorem 3 is about
P-RIDGE-FIL's on a linear model of relevance: unit rows with |u.x| >= gamma, relevant with
probability (1 + u.x) / 2. The regret of a round is what it costs in expectation to judge by the
sign of the margin instead of that of u.x: |u.x| where the two differ. The theorem's p depends on
the number of rounds n: a run for each n.
"""

import math

import numpy as np

import coactive_fast as cf
from coactive_fast import data

from . import _judge, _theorems
from ._plan import Curve, Experiment, Finding, Outcome, Plot, Table, repeated
from ._theorems import Case


def bound(n, p):
    """Theorem 1, for the cumulative regret of n rounds (an array of them)."""
    return (32.0 / abs(p - 0.5) + 2.0) * np.log(n) + 4.0


def one_run(sets, p, rounds, seed, run):
    made = data.make_simple_filter(n_rows=rounds, p=p, seed=[seed, run, round(1000 * p)])
    history = cf.SimpleFilter().run(made.features, made.relevant)
    wrong = abs(2.0 * p - 1.0)  # what a wrong judgement costs; half of them are, without learning
    return _theorems.told(made.regret(history.forwarded), bound(np.arange(1, rounds + 1), p),
                          0.5 * wrong)


def simple(setting):
    rounds, runs, chances = setting["rounds"], setting["runs"], setting["chances"]
    found = yield from repeated(one_run, [{"p": p} for p in chances], runs, rounds=rounds,
                                seed=setting.seed)
    cases = [Case.of(f"p = {p:g}", _theorems.shown(rounds), mine)
             for p, mine in zip(chances, found, strict=True)]
    rare = [case for case, p in zip(cases, chances, strict=True) if p < 0.5]
    return Outcome(
        plots=[_theorems.plot("simple", "SIMPLE-FIL and Theorem 1", cases, story=True)],
        tables=[_theorems.table("bounds", f"{runs} runs a chance p of relevance", cases)],
        findings=[
            _theorems.under("Theorem 1", cases, "simple", kind="mean", reason=(
                "The proof's tail bounds are one-sided where both sides count: with 4 ln n + 6 in "
                "the place of 2 ln n + 4 it is whole, and that bound is larger than this one."),
                main="SIMPLE-FIL stays under its bound"),
            _theorems.logarithmic("Theorem 1, p < 1/2", rare, "simple", reason=(
                "Until the chance is known, after some 4 ln n / (p − 1/2)² rounds, every row is "
                "forwarded, and regret grows like n."),
                main="SIMPLE-FIL's regret grows like a logarithm")])


# --- Theorem 3 ------------------------------------------------------------------------------------

A = 1.0


def ridge_bound(n, d, gamma):
    """Theorem 3, for the cumulative regret of n rounds."""
    root = math.sqrt(n)
    return (2.0 * A * root / gamma + 8.0 * root / gamma * d * math.log(1.0 + n / (A * d))
            + 0.5 * root + 0.5)


def ridge_run(sets, n, d, gamma, seed, run):
    X, y, u = data.make_filtering(n_rows=n, n_features=d, gamma=gamma,
                                  seed=np.random.default_rng([seed, n, d, run]))
    truth = X @ u
    learner = cf.ProbabilisticRidgeFilter(a=A, horizon=n, seed=[seed, n, d, run, 1])
    wrong = (learner.run(X, y).margins >= 0.0) != (truth >= 0.0)
    return {"regret": np.sum(np.abs(truth[wrong]))}


def ridge(setting):
    lengths, seeds, models = (setting[name] for name in ("lengths", "seeds", "models"))
    found = yield from repeated(
        ridge_run, [{"n": n, "d": d, "gamma": gamma} for d, gamma in models for n in lengths],
        seeds, seed=setting.seed)
    regret = np.array([[float(one["regret"]) for one in runs] for runs in found])
    curves, rows, under, growth, worth = [], [], [], [], []
    for (d, gamma), runs in zip(models, regret.reshape(-1, len(lengths), seeds), strict=True):
        limits = np.array([ridge_bound(n, d, gamma) for n in lengths])
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


EXPERIMENTS = [
    Experiment("filtering-theorem-1", "SIMPLE-FIL: regret and bound", "filtering", "theorem 1",
               "generated", simple,
               quick={"rounds": 100000, "runs": 20, "chances": [0.1, 0.3, 0.4, 0.6]},
               full={"rounds": 1000000, "runs": 40, "chances": [0.1, 0.3, 0.4, 0.45, 0.6]},
               cost=(1, 7)),
    Experiment("filtering-regret", "P-RIDGE-FIL on a linear model, and Theorem 3", "filtering",
               "theorem 3", "generated", ridge,
               quick={"lengths": [100, 1000, 10000], "seeds": 20, "models": [[2, 0.5], [5, 0.2]]},
               full={"lengths": [100, 1000, 10000, 100000, 1000000], "seeds": 20,
                     "models": [[2, 0.5], [5, 0.2], [20, 0.1]]}, cost=(1, 17)),
]
