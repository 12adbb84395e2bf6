"""Figure 8 of the Confidit paper: test accuracy by the number of rows learned from.

Its four panels, frames of 4 and 8 vowels, where the folder holds the Vocal Joystick corpus; there
is also the line of the Probabilistic Linear Machine, as the paper has it. Always: another, smaller
set (Deterding's, 990 frames of 11 vowels; the paper: 275,000). One pass, in several random orders;
parameters tuned on 80 and 20 % of the rows learned from. Without real vowels: scikit-learn's
digits.
"""

import numpy as np

from . import _judge, _labelled, _vowels
from ._confidit import ALGORITHMS, THE_FIVE, learner, wrong
from ._plan import Curve, Experiment, Finding, Outcome, Plot, Task


def accuracy(sets, algorithm, rows, order, seed, panel=_vowels.STAND_IN):
    """Of one order: test accuracy after one pass over so many rows, with the tuned parameter."""
    X, y, classes, _ = _vowels.frames(sets, panel)
    inside, out = _vowels.drawn(sets, panel, rows, [seed, order])
    cut = int(0.8 * len(inside))

    def tested(value, train, test):
        one = learner(algorithm, value, classes, [seed, order, 1])
        one.run(X[train], y[train])
        return wrong(one, X[test], y[test])

    values = ALGORITHMS[algorithm][2]
    best = min(values, key=lambda value: tested(value, inside[:cut], inside[cut:]))
    return {"accuracy": 100.0 - tested(best, inside, out)}


def play(setting):
    outcome = Outcome()
    for panel in _vowels.panels(setting.sets):
        part = yield from one_panel(setting, panel, _vowels.sizes(panel, setting))
        outcome.plots += part.plots
        outcome.findings += part.findings
    return outcome


def one_panel(setting, panel, sizes):
    orders = setting["orders"]
    found = yield [Task(accuracy, {"algorithm": a, "rows": n, "order": o, "seed": setting.seed,
                                   "panel": panel})
                   for a in ALGORITHMS for n in sizes for o in range(orders)]
    values = np.reshape([float(f["accuracy"]) for f in found],
                        (len(ALGORITHMS), len(sizes), orders))
    curves = [Curve.of_runs(a, sizes, runs.T)
              for a, runs in zip(ALGORITHMS, values, strict=True)]
    what = _vowels.called(setting.sets, panel)
    levels = {"PLM, by the paper": _vowels.PLM[panel]} if panel in _vowels.PLM else {}
    name = "accuracy" if panel == _vowels.STAND_IN else f"accuracy-{panel}"
    return Outcome(plots=[Plot(name, f"{what[0].upper()}{what[1:]}, one pass", "rows",
                               "test accuracy, %", curves, levels=levels, story=True)],
                   findings=list(findings(dict(zip(ALGORITHMS, values, strict=True)),
                                          f"({what}).", name)))


def findings(values, where, plot="accuracy"):
    """Of accuracies by algorithm (sizes, orders)."""
    ends = {a: values[a][-1] for a in THE_FIVE}
    text = ", ".join(f"{a} {end.mean():.1f}" for a, end in ends.items())
    gains = {a: _judge.mean(values[a][-1] - values[a][0]) for a in THE_FIVE}
    by_order = "at the largest number of rows, order by order."

    def ahead(winners, losers):
        gaps = {(w, x): _judge.mean(ends[w] - ends[x]) for w in winners for x in losers if w != x}
        return (f"{text}; " + ", ".join(f"{w} less {x} {gap}" for (w, x), gap in gaps.items()),
                _judge.every(map(_judge.above, gaps.values())))

    yield Finding(f"All algorithms improve with more rows {where}",
                  "; ".join(f"{a} by {gain}" for a, gain in gains.items()),
                  _judge.every(map(_judge.above, gains.values())), "",
                  "Each is more accurate at the largest number of rows than at the smallest, "
                  "order by order.", plot)
    yield Finding(f"AROW is best {where}", *ahead(["AROW"], THE_FIVE), "",
                  f"AROW is more accurate than each other {by_order}", plot,
                  main="AROW is best on vowels")
    yield Finding(f"Banditron is last {where}", *ahead(THE_FIVE, ["Banditron"]), "",
                  f"Each other is more accurate than Banditron {by_order}", plot)
    shown, holds = ahead(["Confidit"], ["Perceptron"])
    yield Finding(f"Confidit is ahead of the Perceptron {where}", shown, holds,
                  "" if holds else
                  "It sees a bit where the Perceptron sees one label of ten or eleven, and rows "
                  "are few (the paper: thousands, of four and eight vowels).",
                  f"Confidit is more accurate than the Perceptron {by_order}", plot,
                  main="Confidit beats the Perceptron on vowels")


EXPERIMENTS = [Experiment(
    "confidit-vowel", "Vowels by the number of frames", "confidit", "figure 8",
    "Deterding vowels", play, files=_labelled.VOWEL, bundled="digits (scikit-learn)",
    quick={"sizes": [50, 200, 600], "orders": 16},
    full={"sizes": [25, 50, 100, 200, 400, 690], "orders": 20}, cost=(1, 1))]
