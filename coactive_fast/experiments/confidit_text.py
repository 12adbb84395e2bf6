"""Figures 3 to 7 of the Confidit paper for the other texts, as far as these are at hand.

Reuters articles with one of 52 topics (the paper: four), and reviews by product and by stars (the
paper: other reviews). Without noise, and with a third of the labels noisy.
"""

import numpy as np

from . import _labelled
from ._confidit import ALGORITHMS, PARTS, THE_FIVE, chosen, tuned
from ._plan import Experiment, Finding, Outcome, Plot, Table

TEXTS = {"reuters": "Reuters", "amazon": "reviews by product", "stars": "reviews by stars"}
NOISE = (0.0, 0.3)


def play(setting):
    found = yield from tuned(setting, TEXTS, NOISE)
    judged = setting.sets.real or None
    texts = {rows: setting.sets.called(words) for rows, words in TEXTS.items()}
    return Outcome(plots=list(plots(found, texts)), tables=[table(found)],
                   findings=[f for rows, words in texts.items()
                             for f in findings(found, rows, words, judged)],
                   parameters=chosen(found, texts))


def plots(found, texts):
    for rows, words in texts.items():
        for noise in NOISE:
            cells = {a: found[a, rows, noise] for a in ALGORITHMS}
            name, where = f"{rows}-noise-{100 * noise:.0f}", f"{words}, label noise {noise:.0%}"
            yield Plot(f"{name}-first", f"First pass, {where}", "round", "mistakes",
                       [cell.curve(a, "mistakes", True) for a, cell in cells.items()])
            yield Plot(f"{name}-all", f"All passes, {where}", "round", "mistakes",
                       [cell.curve(a, "mistakes") for a, cell in cells.items()], log="xy")
            yield Plot(f"{name}-explored", f"Explored rounds, {where}", "round",
                       "explored rounds",
                       [cell.curve(a, "explored") for a, cell in cells.items() if cell.explores()])


def table(found):
    columns = ["algorithm", *(f"{rows}, noise {noise:.0%}, {when}" for rows in TEXTS
                              for noise in NOISE for when in PARTS.values())]
    lines = [[a, *(float(np.mean(getattr(found[a, rows, noise], part))) for rows in TEXTS
                   for noise in NOISE for part in PARTS)] for a in ALGORITHMS]
    return Table("errors", "Test error", columns, lines, "Mean over the folds, in per cent.")


def findings(found, rows, words, judged):
    first = {a: found[a, rows, 0.0].first_mistakes for a in THE_FIVE}
    yield Finding(f"In the first pass AROW makes the least mistakes, Banditron the most ({words}).",
                  ", ".join(f"{a} {n:,.0f}" for a, n in first.items()),
                  judged and bool(min(first, key=first.get) == "AROW"
                                  and max(first, key=first.get) == "Banditron"))
    lost = {a: float(np.mean(found[a, rows, 0.3].one) - np.mean(found[a, rows, 0.0].one))
            for a in THE_FIVE}
    rivals = ("Perceptron", "second-order Perceptron")
    yield Finding(f"Confidit suffers less from label noise than both Perceptrons ({words}).",
                  "points lost at 30 % noise, one pass: "
                  + ", ".join(f"{a} {points:.1f}" for a, points in lost.items()),
                  judged and all(lost["Confidit"] < lost[a] for a in rivals))
    explored = np.mean(found["Confidit", rows, 0.0].online["explored"], axis=0)
    half = explored[len(explored) // 2] / max(explored[-1], 1.0)
    share = found["Confidit", rows, 0.0].online["rounds"][len(explored) // 2]
    share = share / found["Confidit", rows, 0.0].online["rounds"][-1]
    yield Finding(f"Confidit explores less and less ({words}).",
                  f"{explored[-1]:,.0f} explored rounds, {half:.0%} of them in the first "
                  f"{share:.1%} of all", judged and bool(half > share))


EXPERIMENTS = [Experiment(
    "confidit-text", "Five algorithms on Reuters and on reviews", "confidit",
    "figures 3 to 7 (other texts)", "Reuters-21578 R52; Amazon reviews", play,
    files=(*_labelled.REUTERS, *_labelled.AMAZON),
    quick={"size": 500, "folds": 2, "passes": 2}, full={"size": None, "folds": 5, "passes": 10},
    cost=(3, 120))]
