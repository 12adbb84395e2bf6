"""Theorem 1 of the filtering paper: SIMPLE-FIL's regret, where all rows have the same chance.

Theorem 3, of P-RIDGE-FIL, is the experiment beside it, `filtering_regret`.
"""

import numpy as np

import coactive_fast as cf
from coactive_fast import data

from . import _theorems
from ._plan import Experiment, Outcome, Task
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


def play(setting):
    rounds, runs, chances = setting["rounds"], setting["runs"], setting["chances"]
    found = iter((yield [Task(one_run, {"p": p, "rounds": rounds, "seed": setting.seed, "run": run})
                         for p in chances for run in range(runs)]))
    cases = [Case.of(f"p = {p:g}", _theorems.shown(rounds), [next(found) for _ in range(runs)])
             for p in chances]
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


EXPERIMENTS = [Experiment(
    "filtering-theorem-1", "SIMPLE-FIL: regret and bound", "filtering", "theorem 1", "generated",
    play, quick={"rounds": 100000, "runs": 20, "chances": [0.1, 0.3, 0.4, 0.6]},
    full={"rounds": 1000000, "runs": 40, "chances": [0.1, 0.3, 0.4, 0.45, 0.6]}, cost=(1, 7))]
