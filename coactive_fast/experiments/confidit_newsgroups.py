"""Tables 3 to 6 of the Confidit paper, and its figures 3, 5, 6 and 7, for 20 newsgroups.

Five algorithms (Confidit with both steps of the diagonal), label noise in training, the test error
after one pass and after all, of rows of 0 and 1 as they are and with length 1. One parameter each,
tuned on a single split of 80 and 20 %, of which both parts have noisy labels, as in the paper; then
ten folds.
"""

import numpy as np

from . import _judge, _sets
from ._confidit import ALGORITHMS, PARTS, THE_FIVE, chosen, fewer, lost, plots, tuned
from ._plan import Curve, Experiment, Finding, Outcome, Plot, Table

NOISE = (0.0, 0.1, 0.2, 0.3)
ROWS = {"raw": "rows of 0 and 1", "unit": "rows of length 1", "words": "0 and 1, all words"}
PAPER = {  # errors by noise
    "Perceptron": (20.04, 31.27, 38.33, 45.88),
    "second-order Perceptron": (13.92, 22.03, 30.54, 39.92),
    "AROW": (8.14, 13.10, 18.49, 21.41),
    "Banditron": (50.52, 53.04, 67.38, 65.71),
    "Confidit": (12.41, 17.70, 23.67, 30.45),
    "Confidit, printed step": (12.41, 17.70, 23.67, 30.45),
}


def play(setting):
    rows, noises = setting["rows"], setting["noises"]
    found = yield from tuned(setting, rows, noises)
    cells = {r: {a: [found[a, r, noise] for noise in noises] for a in ALGORITHMS} for r in rows}
    return Outcome(plots=[*curves(cells[rows[-1]], noises), *error_plots(cells, noises)],
                   tables=list(tables(cells, noises)), findings=list(findings(cells, noises)),
                   parameters=chosen(found, ROWS))


def curves(cells, noises):
    """Figures 3, 5, 6, 7, their top rows, with all words, as the paper's tables seem to be."""
    for i, noise in enumerate(noises):
        yield from plots({a: by[i] for a, by in cells.items()}, f"noise-{100 * noise:.0f}",
                         f"label noise {noise:.0%}", story=noise == max(noises))


def error_plots(cells, noises):
    """Tables 3 to 6 as curves over the noise: ours, and the paper's."""
    percent = 100.0 * np.array(noises)
    axes = "label noise, %", "test error, %"
    for rows, by_algorithm in cells.items():
        for part, when in PARTS.items():
            yield Plot(f"error-{rows}-{part}", f"Test error after {when}, {ROWS[rows]}", *axes, [
                Curve.of_runs(a, percent, np.transpose([getattr(cell, part) for cell in by_noise]))
                for a, by_noise in by_algorithm.items()], bottom=0.0,
                story=(rows, part) == (list(cells)[-1], "one"))
    yield Plot("error-paper", "Test error, the paper", *axes, [
        Curve(a, 100.0 * np.array(NOISE), np.array(PAPER[a])) for a in THE_FIVE], bottom=0.0,
        story=True)


def tables(cells, noises):
    for i, noise in enumerate(noises):
        lines = [[algorithm, paper[NOISE.index(noise)],
                  *(np.mean(getattr(by_algorithm[algorithm][i], part))
                    for by_algorithm in cells.values() for part in PARTS)]
                 for algorithm, paper in PAPER.items()]
        yield Table(f"table-{3 + NOISE.index(noise)}", f"Test error, label noise {noise:.0%}",
                    ["algorithm", "paper", *(f"{rows}, {when}" for rows in cells
                                             for when in PARTS.values())], lines,
                    "Mean over the folds, in per cent. " + "; ".join(
                        f"{rows}: {ROWS[rows]}" for rows in cells) + ".")


# --- what the paper says ------------------------------------------------------------------------

CORPUS = ("The paper tells neither its passes nor its words: 252,115, without stop words. Here are "
          "42,967, those of three messages and more, or all 170,895.")
PASSES = ("Over several passes of the same rows Confidit has been told nearly every label and "
          "comes as close. The paper's tables are nearest to one pass.")
LENGTHS = ("Scores of rows of length 1 are small beside the confidence widths: Confidit explores "
           "for longer than one pass. The paper does not tell the rows' length.")
RIVALS = ("Perceptron", "second-order Perceptron", "Banditron")
NEAR = 3.0  # points of error


def findings(cells, noises):
    for rows, by_algorithm in cells.items():
        for part, when in PARTS.items():
            yield from orders({a: by_algorithm[a] for a in THE_FIVE}, part, noises,
                              f"({ROWS[rows]}, {when})", f"error-{rows}-{part}",
                              (rows, part) == (list(cells)[-1], "one"))
    rows = list(cells)[-1]
    yield from levels(cells[rows], noises, f"{ROWS[rows]}, one pass", f"error-{rows}-one")
    yield from online(cells[rows], noises)


def orders(cells, part, noises, where, plot, main):
    """Who errs less: fold by fold, at every noise."""
    errors = {a: [getattr(cell, part) for cell in by_noise] for a, by_noise in cells.items()}
    text = "; ".join(f"{a}: " + ", ".join(f"{np.mean(e):.1f}" for e in by_noise)
                     for a, by_noise in errors.items())
    text += " % at " + ", ".join(f"{noise:.0%}" for noise in noises) + " noise"
    at_each = "at each noise, by the mean over the folds of the difference fold by fold."
    least, less = fewer(["AROW"], THE_FIVE, errors), fewer(["Confidit"], RIVALS, errors)
    yield Finding(f"AROW errs least at every noise {where}.", text, least,
                  PASSES if least is False else "", f"AROW's error is below each other's {at_each}",
                  plot, main="AROW errs least" if main else "")
    yield Finding(f"Confidit errs less than both Perceptrons and Banditron at every noise {where}.",
                  text, less, LENGTHS if less is False else "",
                  f"Confidit's error is below each of the three's {at_each}", plot,
                  main="Confidit beats the Perceptrons and Banditron" if main else "")
    yield Finding(f"Banditron errs most at every noise {where}.", text,
                  fewer(THE_FIVE, ["Banditron"], errors), "",
                  f"Banditron's error is above each other's {at_each}", plot)
    points = lost(cells, part)
    gaps = {a: _judge.mean(points["Confidit"] - points[a]) for a in RIVALS[:2]}
    yield Finding(f"{noises[-1]:.0%} noise costs Confidit less than both Perceptrons {where}.",
                  ", ".join(f"{a}: {value.mean():.1f}" for a, value in points.items())
                  + " points; Confidit less the " + ", less the ".join(
                      f"{a} {gap}" for a, gap in gaps.items()),
                  _judge.every(_judge.below(gap) for gap in gaps.values()), "",
                  "Confidit loses fewer points of error than each Perceptron, fold by fold.", plot,
                  main="noise costs Confidit least" if main else "")


def levels(cells, noises, where, plot):
    """The tables' own numbers, in the setting that is nearest to the paper's by its description."""
    for algorithm, paper in PAPER.items():
        errors = [_judge.mean(cell.one) for cell in cells[algorithm]]
        theirs = [paper[NOISE.index(noise)] for noise in noises]
        yield Finding(
            f"{algorithm}: {', '.join(f'{p:.1f}' for p in theirs)} % at "
            f"{', '.join(f'{noise:.0%}' for noise in noises)} noise.",
            f"{where}: " + ", ".join(map(str, errors)),
            _judge.every(_judge.inside(error, p - NEAR, p + NEAR)
                         for error, p in zip(errors, theirs, strict=True)), CORPUS,
            f"At each noise the error is within {NEAR:g} points of the paper's.", plot, level=True)


def online(cells, noises):
    noisy = [i for i, noise in enumerate(noises) if noise > 0.0]
    for algorithm, paper in (("second-order Perceptron", (8000, 9000, 10000)),
                             ("Confidit", (10000, 11500, 12000))):
        counts = [cells[algorithm][i].first_mistakes for i in noisy]
        theirs = [paper[NOISE.index(noises[i]) - 1] for i in noisy]
        yield Finding(
            f"{algorithm} makes about {', '.join(f'{n:,}' for n in theirs)} mistakes in the first "
            f"pass at {', '.join(f'{noises[i]:.0%}' for i in noisy)} noise.",
            ", ".join(f"{count.mean():,.0f}" for count in counts),
            _judge.every(_judge.inside(_judge.log_mean(count), np.log(n / 1.25), np.log(n * 1.25))
                         for count, n in zip(counts, theirs, strict=True)),
            CORPUS, "At each noise the number is within a factor of 1.25 of the paper's.",
            f"noise-{100 * noises[noisy[-1]]:.0f}-first", level=True)
    totals = [np.add(*cells["Confidit"][i].explored) for i in noisy]
    if len(totals) > 1:
        yield Finding(
            "Confidit explores more with more noise: about 20,000, 25,000 and 40,000 rounds in ten "
            "passes.", ", ".join(f"{total.mean():,.0f}" for total in totals),
            _judge.every(_judge.above(_judge.mean(b - a))
                         for a, b in zip(totals, totals[1:], strict=False)),
            "It follows the parameter that was tuned for the error after one pass.",
            "Each noise has more explored rounds than the one before, fold by fold.",
            f"noise-{100 * noises[noisy[-1]]:.0f}-explored")


EXPERIMENTS = [Experiment(
    "confidit-newsgroups", "Five algorithms on 20 newsgroups with label noise", "confidit",
    "tables 3 to 6 and figures 3, 5, 6, 7 (20 newsgroups)", "20 newsgroups", play,
    files=(*_sets.NEWSGROUPS, _sets.NEWSGROUPS_TEXT),
    quick={"rows": ["unit", "raw"], "noises": [0.0, 0.3], "size": 6000, "folds": 8, "passes": 3},
    full={"rows": list(ROWS), "noises": list(NOISE), "size": None, "folds": 10, "passes": 10},
    cost=(7, 300))]
