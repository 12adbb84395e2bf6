"""Figures 3 to 7 and tables 3 to 6 of the Confidit paper: texts, with label noise.

Tables 3 to 6 and figures 3, 5, 6 and 7 for 20 newsgroups: five algorithms (Confidit with both steps
of the diagonal), label noise in training, the test error after one pass and after all, of rows of 0
and 1 as they are and with length 1. One parameter each, tuned on a single split of 80 and 20 %, of
which both parts have noisy labels, as in the paper; then ten folds.

Tables 3 to 6 for all nine texts, and which differences are significant. One pass, since the paper's
tables are nearest to one. A set that the data folder does not hold is replaced where something can
stand in for it, else its lines are the paper's alone. The marks are the paper's: † and ⋆ for p <
0.01 and p < 0.001, of the least error of all but AROW against each of the other three; (†) and (⋆)
where only the two bandits are compared. The paper does not name its test. Here it is McNemar's in
its exact form (Q. McNemar, Note on the sampling error of the difference between correlated
proportions, 1947), over the rows of all folds: of the rows that one of two classifiers gets wrong
and the other right, how many each has, against a fair coin.

Figures 3 to 7 for the other texts, as far as these are at hand: Reuters articles with one of 52
topics (the paper: four), and reviews by product and by stars (the paper: other reviews). Without
noise, and with a third of the labels noisy.
"""

import csv
from pathlib import Path

import numpy as np
from scipy.stats import binom

from . import _judge, _sets
from ._confidit import ALGORITHMS, PARTS, THE_FIVE, chosen, fading, fewer, lost, plots, tuned
from ._plan import Curve, Experiment, Outcome, Plot, Table, claim

NOISE = (0.0, 0.1, 0.2, 0.3)
ROWS = {"raw": "rows of 0 and 1", "unit": "rows of length 1", "words": "0 and 1, all words"}
COMPARED = ("Perceptron", "second-order Perceptron", "Banditron", "Confidit")  # AROW is not
BANDITS = COMPARED[2:]
LEVELS = ((0.001, "⋆"), (0.01, "†"))


def _paper_errors():
    """Errors of THE_FIVE in the paper's tables 3 to 6: of each text a list by noise."""
    path = Path(__file__).with_name("confidit_tables.csv")
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {text: [[float(row[a]) for a in THE_FIVE] for row in rows if row["text"] == text]
            for text in _sets.TEXTS}


PAPER = _paper_errors()
NEWSGROUPS = dict(zip(THE_FIVE, zip(*PAPER["20newsgroups"], strict=True), strict=True))
NEWSGROUPS["Confidit, printed step"] = NEWSGROUPS["Confidit"]


# --- 20 newsgroups --------------------------------------------------------------------------------


def newsgroups(setting):
    rows, noises = setting["rows"], setting["noises"]
    found = yield from tuned(setting, rows, noises)
    cells = {r: {a: [found[a, r, noise] for noise in noises] for a in ALGORITHMS} for r in rows}
    return Outcome(plots=[*curves(cells[rows[-1]], noises), *error_plots(cells, noises)],
                   tables=list(newsgroup_tables(cells, noises)),
                   findings=list(newsgroup_findings(cells, noises)),
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
        Curve(a, 100.0 * np.array(NOISE), np.array(NEWSGROUPS[a])) for a in THE_FIVE], bottom=0.0,
        story=True)


def newsgroup_tables(cells, noises):
    for i, noise in enumerate(noises):
        lines = [[algorithm, paper[NOISE.index(noise)],
                  *(np.mean(getattr(by_algorithm[algorithm][i], part))
                    for by_algorithm in cells.values() for part in PARTS)]
                 for algorithm, paper in NEWSGROUPS.items()]
        yield Table(f"table-{3 + NOISE.index(noise)}", f"Test error, label noise {noise:.0%}",
                    ["algorithm", "paper", *(f"{rows}, {when}" for rows in cells
                                             for when in PARTS.values())], lines,
                    "Mean over the folds, in per cent. " + "; ".join(
                        f"{rows}: {ROWS[rows]}" for rows in cells) + ".")


RIVALS = ("Perceptron", "second-order Perceptron", "Banditron")
NEAR = 3.0  # points of error


def newsgroup_findings(cells, noises):
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
    text += f" % at {percents(noises)} noise"
    about = {"story": main, "where": where, "plot": plot}
    for key, winners, losers in (("newsgroups-arow", ["AROW"], THE_FIVE),
                                 ("newsgroups-confidit", ["Confidit"], RIVALS),
                                 ("newsgroups-banditron", THE_FIVE, ["Banditron"])):
        yield claim(key, fewer(winners, losers, errors), errors=text, **about)
    points = lost(cells, part)
    gaps = [_judge.mean(points["Confidit"] - points[a]) for a in RIVALS[:2]]
    yield claim("newsgroups-noise", _judge.all_below(gaps), noise=noises[-1], gaps=gaps,
                points=", ".join(f"{a}: {value.mean():.1f}" for a, value in points.items()),
                **about)


def levels(cells, noises, where, plot):
    """The tables' own numbers, in the setting that is nearest to the paper's by its description."""
    for algorithm, paper in NEWSGROUPS.items():
        errors = [_judge.mean(cell.one) for cell in cells[algorithm]]
        theirs = [paper[NOISE.index(noise)] for noise in noises]
        near = (_judge.inside(error, p - NEAR, p + NEAR)
                for error, p in zip(errors, theirs, strict=True))
        yield claim("newsgroups-level", _judge.every(near), algorithm=algorithm, where=where,
                    theirs=", ".join(f"{p:.1f}" for p in theirs), noises=percents(noises),
                    errors=", ".join(map(str, errors)), near=NEAR, plot=plot)


def online(cells, noises):
    noisy = [i for i, noise in enumerate(noises) if noise > 0.0]
    for algorithm, paper in (("second-order Perceptron", (8000, 9000, 10000)),
                             ("Confidit", (10000, 11500, 12000))):
        counts = [cells[algorithm][i].first_mistakes for i in noisy]
        theirs = [paper[NOISE.index(noises[i]) - 1] for i in noisy]
        near = (_judge.inside(_judge.log_mean(count), np.log(n / 1.25), np.log(n * 1.25))
                for count, n in zip(counts, theirs, strict=True))
        yield claim("newsgroups-mistakes", _judge.every(near), algorithm=algorithm,
                    theirs=", ".join(f"{n:,}" for n in theirs), most=100 * noises[noisy[-1]],
                    noises=percents(noises[i] for i in noisy), counts=numbers(counts))
    totals = [np.add(*cells["Confidit"][i].explored) for i in noisy]
    if len(totals) > 1:
        yield claim("newsgroups-explores",
                    _judge.all_above(map(_judge.mean, np.diff(totals, axis=0))),
                    totals=numbers(totals), most=100 * noises[noisy[-1]])


def percents(shares):
    return ", ".join(f"{share:.0%}" for share in shares)


def numbers(counts):
    """Their means over the folds."""
    return ", ".join(f"{count.mean():,.0f}" for count in counts)


# --- nine texts: which differences are significant ------------------------------------------------


def mcnemar(first, second):
    """The p-value, two-sided and exact, of two classifiers' wrong rows."""
    n = int(np.sum(first != second))
    fewer = min(int(np.sum(first & ~second)), int(np.sum(~first & second)))
    return min(1.0, 2.0 * float(binom.cdf(fewer, n, 0.5)))


def mark(p):
    return next((sign for level, sign in LEVELS if p < level), "")


def marks(flags):
    """The mark of each algorithm, from its wrong rows: none but for the best of all but AROW, and
    else the better bandit."""
    found = dict.fromkeys(flags, "")
    for group, form in ((COMPARED, "{}"), (BANDITS, "({})")):
        best = min(group, key=lambda a: flags[a].mean())
        sign = mark(max(mcnemar(flags[best], flags[a]) for a in group if a != best))
        if sign and not found[best]:
            found[best] = form.format(sign)
    return found


def nine(setting):
    texts, noises = _sets.texts_at_hand(setting.sets), setting["noises"]
    cells = yield from tuned(setting, texts, noises, THE_FIVE)
    found = {(text, noise): {a: cells[a, text, noise].wrong for a in THE_FIVE}
             for text in texts for noise in noises}
    named = {text: _sets.text_called(setting.sets, text) for text in texts}
    return Outcome(tables=[nine_table(found, named, noise) for noise in noises],
                   findings=list(nine_findings(found, named, noises)),
                   parameters={f"{named[text]}, {a}, noise {noise:g}": cell.values[0]
                               for (a, text, noise), cell in cells.items()
                               if cell.values[0] is not None})


def nine_table(found, named, noise):
    number = NOISE.index(noise)
    lines = []
    for text, paper in PAPER.items():
        title = _sets.TEXTS[text].title
        lines.append([f"{title}, the paper", *paper[number]])
        if text in named:
            flags, signs = found[text, noise], marks(found[text, noise])
            lines.append([f"{named[text]}, here",
                          *(f"{100.0 * flags[a].mean():.2f}{signs[a]}" for a in THE_FIVE)])
    return Table(f"table-{3 + number}", f"Test error, label noise {noise:.0%}",
                 ["text", *THE_FIVE], lines,
                 "In per cent, over the rows of all folds. † and ⋆: the least of all but AROW, "
                 "p < 0.01 and p < 0.001 against each of the three others by McNemar's exact test; "
                 "(†) and (⋆): the lesser of the two bandits against the other.")


def nine_findings(found, named, noises):
    for key, group, least in (("tables-banditron", BANDITS, 0.0), ("tables-best", COMPARED, 0.2)):
        for noise in (n for n in noises if n >= least):
            ps = {text: compared(found[text, noise], group) for text in named}
            yield claim(key, _judge.every(map(ahead, ps.values())), story=noise == noises[-1],
                        noise=noise, leads=leads(named, ps))


def ahead(found):
    """The verdict of a lead and its p-value: it may be too small to tell."""
    lead, p = found
    return None if p >= LEVELS[1][0] else lead > 0.0


def compared(flags, group):
    """How many points Confidit is ahead of the best other of a group, and the p-value."""
    other = min((a for a in group if a != "Confidit"), key=lambda a: flags[a].mean())
    lead = 100.0 * (flags[other].mean() - flags["Confidit"].mean())
    return float(lead), mcnemar(flags["Confidit"], flags[other])


def leads(named, ps):
    return "; ".join(f"{named[text]}: {lead:+.1f} points, "
                     + (f"p = {p:.2g}" if p > 1e-99 else "p < 1e-99")
                     for text, (lead, p) in ps.items())


# --- the other texts ------------------------------------------------------------------------------

TEXTS = {"reuters": "Reuters", "amazon": "reviews by product", "stars": "reviews by stars"}
FEW = (0.0, 0.3)  # levels of noise


def others(setting):
    found = yield from tuned(setting, TEXTS, FEW)
    texts = {rows: setting.sets.called(words) for rows, words in TEXTS.items()}
    shown = [plot for rows, words in texts.items() for noise in FEW for plot in plots(
        {a: found[a, rows, noise] for a in ALGORITHMS}, f"{rows}-noise-{100 * noise:.0f}",
        f"{words}, label noise {noise:.0%}")]
    return Outcome(plots=shown, tables=[others_table(found)],
                   findings=[f for rows, words in texts.items()
                             for f in other_findings(found, rows, words)],
                   parameters=chosen(found, texts))


def others_table(found):
    columns = ["algorithm", *(f"{rows}, noise {noise:.0%}, {when}" for rows in TEXTS
                              for noise in FEW for when in PARTS.values())]
    lines = [[a, *(float(np.mean(getattr(found[a, rows, noise], part))) for rows in TEXTS
                   for noise in FEW for part in PARTS)] for a in ALGORITHMS]
    return Table("errors", "Test error", columns, lines, "Mean over the folds, in per cent.")


def other_findings(found, rows, words):
    cells = {a: [found[a, rows, noise] for noise in FEW] for a in THE_FIVE}
    counts = {a: [by_noise[0].first_mistakes] for a, by_noise in cells.items()}
    yield claim("texts-first-pass", _judge.every([fewer(["AROW"], THE_FIVE, counts),
                                                  fewer(THE_FIVE, ["Banditron"], counts)]),
                counts=", ".join(f"{a} {n.mean():,.0f}" for a, (n,) in counts.items()),
                words=words, rows=rows)
    points = lost(cells, "one")
    gaps = [_judge.mean(points["Confidit"] - points[a])
            for a in ("Perceptron", "second-order Perceptron")]
    yield claim("texts-noise", _judge.all_below(gaps), noise=FEW[-1], gaps=gaps, words=words,
                points=", ".join(f"{a} {value.mean():.1f}" for a, value in points.items()),
                rows=rows)
    holds, text = fading(cells["Confidit"][0])
    yield claim("texts-explores", holds, explored=text, words=words, rows=rows)


EXPERIMENTS = [
    Experiment(
        "confidit-newsgroups", "Five algorithms on 20 newsgroups with label noise", "confidit",
        "tables 3 to 6 and figures 3, 5, 6, 7 (20 newsgroups)", "20 newsgroups", newsgroups,
        cost=(7, 300), quick={"rows": ["unit", "raw"], "noises": [0.0, 0.3], "size": 6000,
                              "folds": 8, "passes": 3},
        full={"rows": list(ROWS), "noises": list(NOISE), "size": None, "folds": 10, "passes": 10}),
    Experiment(
        "confidit-tables", "Test errors on nine text sets, and which differences are significant",
        "confidit", "tables 3 to 6", "20 newsgroups; Amazon reviews by product (for Amazon7); "
        "Reuters-21578 R52 (for Reuters)", nine,
        quick={"size": 6000, "folds": 3, "noises": [0.0, 0.3]},
        full={"size": None, "folds": 10, "noises": list(NOISE)}, cost=(7, 17)),
    Experiment(
        "confidit-text", "Five algorithms on Reuters and on reviews", "confidit",
        "figures 3 to 7 (other texts)", "Reuters-21578 R52; Amazon reviews", others,
        quick={"size": 3000, "folds": 5, "passes": 3},
        full={"size": None, "folds": 5, "passes": 10}, cost=(2, 15)),
]
