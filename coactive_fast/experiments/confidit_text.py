"""Figures 3 to 7 of the Confidit paper for the other texts, as far as these are at hand.

Reuters articles with one of 52 topics (the paper: four), and reviews by product and by stars (the
paper: other reviews). Without noise, and with a third of the labels noisy.
"""

import numpy as np

from . import _judge, _sets
from ._confidit import ALGORITHMS, PARTS, THE_FIVE, chosen, fading, fewer, lost, plots, tuned
from ._plan import Experiment, Finding, Outcome, Table

TEXTS = {"reuters": "Reuters", "amazon": "reviews by product", "stars": "reviews by stars"}
NOISE = (0.0, 0.3)


def play(setting):
    found = yield from tuned(setting, TEXTS, NOISE)
    texts = {rows: setting.sets.called(words) for rows, words in TEXTS.items()}
    shown = [plot for rows, words in texts.items() for noise in NOISE for plot in plots(
        {a: found[a, rows, noise] for a in ALGORITHMS}, f"{rows}-noise-{100 * noise:.0f}",
        f"{words}, label noise {noise:.0%}")]
    return Outcome(plots=shown, tables=[table(found)],
                   findings=[f for rows, words in texts.items()
                             for f in findings(found, rows, words)],
                   parameters=chosen(found, texts))


def table(found):
    columns = ["algorithm", *(f"{rows}, noise {noise:.0%}, {when}" for rows in TEXTS
                              for noise in NOISE for when in PARTS.values())]
    lines = [[a, *(float(np.mean(getattr(found[a, rows, noise], part))) for rows in TEXTS
                   for noise in NOISE for part in PARTS)] for a in ALGORITHMS]
    return Table("errors", "Test error", columns, lines, "Mean over the folds, in per cent.")


def findings(found, rows, words):
    cells = {a: [found[a, rows, noise] for noise in NOISE] for a in THE_FIVE}
    counts = {a: [by_noise[0].first_mistakes] for a, by_noise in cells.items()}
    yield Finding(f"In the first pass AROW makes the least mistakes, Banditron the most ({words}).",
                  ", ".join(f"{a} {n.mean():,.0f}" for a, (n,) in counts.items()),
                  _judge.every([fewer(["AROW"], THE_FIVE, counts),
                                fewer(THE_FIVE, ["Banditron"], counts)]), "",
                  "Without noise AROW makes fewer mistakes in the first pass than each other, and "
                  "each other fewer than Banditron, fold by fold.", f"{rows}-noise-0-first")
    points = lost(cells, "one")
    gaps = [_judge.mean(points["Confidit"] - points[a])
            for a in ("Perceptron", "second-order Perceptron")]
    yield Finding(f"Confidit suffers less from label noise than both Perceptrons ({words}).",
                  f"points lost at {NOISE[-1]:.0%} noise, one pass: "
                  + ", ".join(f"{a} {value.mean():.1f}" for a, value in points.items())
                  + f"; Confidit less each Perceptron: {gaps[0]}, {gaps[1]}",
                  _judge.every(map(_judge.below, gaps)), "",
                  "Confidit loses fewer points of error after one pass than each Perceptron, fold "
                  "by fold.", f"{rows}-noise-30-first")
    holds, text = fading(cells["Confidit"][0])
    yield Finding(f"Confidit explores less and less ({words}).", text, holds, "",
                  "Without noise the second half of all rounds has fewer explored ones than the "
                  "first, fold by fold.", f"{rows}-noise-0-explored")


EXPERIMENTS = [Experiment(
    "confidit-text", "Five algorithms on Reuters and on reviews", "confidit",
    "figures 3 to 7 (other texts)", "Reuters-21578 R52; Amazon reviews", play,
    files=(*_sets.REUTERS, *_sets.AMAZON),
    quick={"size": 3000, "folds": 5, "passes": 3}, full={"size": None, "folds": 5, "passes": 10},
    cost=(2, 15))]
