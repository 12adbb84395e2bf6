"""Figure 8 of the Confidit paper in kind: test accuracy by the number of rows learned from.

Frames of vowels of another, smaller set (Deterding's, 990 frames of 11 vowels; the paper: 275,000
frames of 4 and 8), one pass, in several random orders; parameters tuned on 80 and 20 % of the rows
learned from. Without real vowels: scikit-learn's digits.
"""

import numpy as np

from . import _labelled
from ._confidit import ALGORITHMS, THE_FIVE, corpus, learner, wrong
from ._plan import Curve, Experiment, Finding, Outcome, Plot, Task

TEST = 300  # rows that are kept for testing


def accuracy(sets, algorithm, rows, order, seed):
    """Of one order: test accuracy after one pass over so many rows, with the tuned parameter."""
    X, y, classes = corpus(sets, "vowel", None)
    at = np.random.default_rng([seed, order]).permutation(len(y))
    out, inside = at[:TEST], at[TEST:TEST + rows]
    cut = int(0.8 * rows)

    def tested(value, train, test):
        one = learner(algorithm, value, classes, [seed, order, 1])
        one.run(X[train], y[train])
        return wrong(one, X[test], y[test])

    values = ALGORITHMS[algorithm][2]
    best = min(values, key=lambda value: tested(value, inside[:cut], inside[cut:]))
    return {"accuracy": 100.0 - tested(best, inside, out)}


def play(setting):
    sizes, orders = list(setting["sizes"]), setting["orders"]
    found = yield [Task(accuracy, {"algorithm": a, "rows": n, "order": o, "seed": setting.seed})
                   for a in ALGORITHMS for n in sizes for o in range(orders)]
    values = np.reshape([float(f["accuracy"]) for f in found],
                        (len(ALGORITHMS), len(sizes), orders))
    curves = [Curve.of_runs(a, sizes, runs.T)
              for a, runs in zip(ALGORITHMS, values, strict=True)]
    what = setting.sets.called("vowels", "digits")
    return Outcome(plots=[Plot("accuracy", f"{what.capitalize()}, one pass", "rows",
                               "test accuracy, %", curves)],
                   findings=list(findings(curves, f"({what}).")))


def findings(curves, where):
    ends = {c.label: float(c.mean[-1]) for c in curves if c.label in THE_FIVE}
    text = ", ".join(f"{a} {end:.1f}" for a, end in ends.items())
    yield Finding(f"All algorithms improve with more rows {where}",
                  "; ".join(f"{c.label}: {c.mean[0]:.1f} → {c.mean[-1]:.1f}" for c in curves
                            if c.label in THE_FIVE),
                  all(c.mean[-1] > c.mean[0] for c in curves if c.label in THE_FIVE))
    yield Finding(f"AROW is best {where}", text, max(ends, key=ends.get) == "AROW")
    yield Finding(f"Banditron is last {where}", text, min(ends, key=ends.get) == "Banditron")
    ahead = ends["Confidit"] > ends["Perceptron"]
    yield Finding(f"Confidit is ahead of the Perceptron {where}", text, ahead, "" if ahead else
                  "It sees a bit where the Perceptron sees one label of ten or eleven, and rows "
                  "are few (the paper: thousands, of four and eight vowels).")


EXPERIMENTS = [Experiment(
    "confidit-vowel", "Vowels by the number of frames", "confidit", "figure 8",
    "Deterding vowels", play, files=_labelled.VOWEL, bundled="digits (scikit-learn)",
    quick={"sizes": [50, 200, 600], "orders": 3},
    full={"sizes": [25, 50, 100, 200, 400, 690], "orders": 20}, cost=(1, 15))]
