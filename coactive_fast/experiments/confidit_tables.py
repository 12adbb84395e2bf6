"""Tables 3 to 6 of the Confidit paper: test errors on nine text sets, with label noise, and which
differences are significant.

One pass, since the paper's tables are nearest to one; each algorithm's parameter tuned on a single
split of 80 and 20 %, of which both parts have noisy labels; then folds. A set that the data folder
does not hold is replaced where something can stand in for it, else its lines are the paper's alone.

The marks are the paper's: † and ⋆ for p < 0.01 and p < 0.001, of the least error of all but AROW
against each of the other three; (†) and (⋆) where only the two bandits are compared. The paper does
not name its test. Here it is McNemar's in its exact form (Q. McNemar, Note on the sampling error of
the difference between correlated proportions, 1947), over the rows of all folds: of the rows that
one of two classifiers gets wrong and the other right, how many each has, against a fair coin.
"""

import numpy as np
from scipy.stats import binom

from . import _judge, _sets
from ._confidit import THE_FIVE, tuned
from ._plan import Experiment, Finding, Outcome, Table

NOISE = (0.0, 0.1, 0.2, 0.3)
COMPARED = ("Perceptron", "second-order Perceptron", "Banditron", "Confidit")  # AROW is not
BANDITS = COMPARED[2:]
LEVELS = ((0.001, "⋆"), (0.01, "†"))
PAPER = {  # errors of THE_FIVE, by the noise
    "20newsgroups": ((20.04, 13.92, 8.14, 50.52, 12.41), (31.27, 22.03, 13.10, 53.04, 17.70),
                     (38.33, 30.54, 18.49, 67.38, 23.67), (45.88, 39.92, 21.41, 65.71, 30.45)),
    "amazon7": ((25.71, 25.73, 22.30, 29.15, 24.73), (30.96, 31.53, 23.46, 34.74, 29.49),
                (35.49, 41.63, 25.02, 39.46, 32.80), (42.33, 41.41, 27.47, 45.28, 36.24)),
    "amazon3": ((5.52, 5.45, 4.47, 7.54, 6.67), (12.51, 12.17, 5.42, 16.12, 8.90),
                (20.04, 19.34, 6.94, 23.80, 11.29), (28.70, 27.38, 6.22, 31.70, 17.16)),
    "enron-a": ((21.39, 19.57, 16.39, 27.35, 23.01), (32.52, 27.65, 19.73, 36.85, 27.58),
                (38.77, 36.62, 22.75, 43.15, 29.40), (46.85, 46.09, 24.04, 49.20, 33.01)),
    "enron-b": ((34.02, 33.32, 27.11, 42.49, 37.89), (41.14, 40.64, 34.05, 46.15, 41.27),
                (50.48, 46.50, 36.63, 54.89, 45.14), (55.52, 54.89, 37.17, 61.10, 50.57)),
    "nytd": ((22.02, 20.95, 17.61, 31.23, 27.02), (28.46, 28.15, 19.57, 37.60, 28.94),
             (36.90, 34.92, 21.46, 43.99, 31.63), (43.14, 43.36, 24.40, 50.74, 34.93)),
    "nyto": ((21.84, 22.69, 17.20, 31.64, 25.20), (29.35, 27.66, 20.14, 39.00, 27.87),
             (35.62, 34.26, 21.81, 45.17, 31.16), (44.43, 42.40, 24.78, 48.85, 33.85)),
    "nyts": ((49.16, 51.23, 43.05, 56.06, 54.24), (53.31, 54.55, 44.26, 58.22, 54.82),
             (59.42, 57.69, 46.82, 61.77, 54.90), (63.39, 63.66, 48.99, 65.63, 55.84)),
    "rcv1": ((4.29, 3.96, 2.92, 4.59, 3.55), (16.79, 16.86, 3.64, 18.92, 5.96),
             (25.94, 26.46, 4.03, 28.77, 8.58), (35.34, 35.70, 4.53, 36.61, 11.70)),
}


# --- significance ---------------------------------------------------------------------------------


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


# --- the tables -----------------------------------------------------------------------------------


def play(setting):
    texts, noises = _sets.texts_at_hand(setting.sets), setting["noises"]
    cells = yield from tuned(setting, texts, noises, THE_FIVE)
    found = {(text, a, noise): cell.wrong for (a, text, noise), cell in cells.items()}
    named = {text: _sets.text_called(setting.sets, text) for text in texts}
    return Outcome(tables=[table(found, named, noise) for noise in noises],
                   findings=list(findings(found, named, noises)),
                   parameters={f"{named[text]}, {a}, noise {noise:g}": cell.values[0]
                               for (a, text, noise), cell in cells.items()
                               if cell.values[0] is not None})


def of(found, text, noise):
    return {a: found[text, a, noise] for a in THE_FIVE}


def table(found, named, noise):
    number = NOISE.index(noise)
    lines = []
    for text, paper in PAPER.items():
        title = _sets.TEXTS[text].title
        lines.append([f"{title}, the paper", *paper[number]])
        if text in named:
            flags = of(found, text, noise)
            sign = marks(flags)
            lines.append([f"{named[text]}, here", *(f"{100.0 * flags[a].mean():.2f}{sign[a]}"
                                                    for a in THE_FIVE)])
    return Table(f"table-{3 + number}", f"Test error, label noise {noise:.0%}",
                 ["text", *THE_FIVE], lines,
                 "In per cent, over the rows of all folds. † and ⋆: the least of all but AROW, "
                 "p < 0.01 and p < 0.001 against each of the three others by McNemar's exact test; "
                 "(†) and (⋆): the lesser of the two bandits against the other.")


def findings(found, named, noises):
    for noise in noises:
        ps = {text: compared(of(found, text, noise), BANDITS) for text in named}
        yield Finding(
            f"Confidit errs less than Banditron on every text, with significance, at {noise:.0%} "
            "noise.", told(named, ps), _judge.every(map(ahead, ps.values())),
            "The paper: on all nine, of which all but one have p < 0.001 without noise.",
            "Confidit gets fewer rows wrong than Banditron on each text, p < 0.01 by McNemar's "
            "exact test over the rows of all folds.",
            main="Confidit errs less than Banditron" if noise == noises[-1] else "")
    for noise in (n for n in noises if n >= 0.2):
        ps = {text: compared(of(found, text, noise), COMPARED) for text in named}
        yield Finding(
            f"Confidit is the best of all but AROW on every text at {noise:.0%} noise.",
            told(named, ps), _judge.every(map(ahead, ps.values())),
            "The paper: on all nine at 20 and 30 %.",
            "Confidit gets fewer rows wrong than the best of the two Perceptrons and Banditron on "
            "each text, p < 0.01 by McNemar's exact test over the rows of all folds.",
            main="Confidit bears noise best of all but AROW" if noise == noises[-1] else "")


def ahead(found):
    """The verdict of a lead and its p-value: it may be too small to tell."""
    lead, p = found
    return None if p >= LEVELS[1][0] else lead > 0.0


def compared(flags, group):
    """How many points Confidit is ahead of the best other of a group, and the p-value."""
    other = min((a for a in group if a != "Confidit"), key=lambda a: flags[a].mean())
    lead = 100.0 * (flags[other].mean() - flags["Confidit"].mean())
    return float(lead), mcnemar(flags["Confidit"], flags[other])


def told(named, ps):
    return "; ".join(f"{named[text]}: {lead:+.1f} points, "
                     + (f"p = {p:.2g}" if p > 1e-99 else "p < 1e-99")
                     for text, (lead, p) in ps.items())


EXPERIMENTS = [Experiment(
    "confidit-tables", "Test errors on nine text sets, and which differences are significant",
    "confidit", "tables 3 to 6", "20 newsgroups; Amazon reviews by product (for Amazon7); "
    "Reuters-21578 R52 (for Reuters)", play, files=("20newsgroups/20ng_raw.jsonl",),
    quick={"size": 6000, "folds": 3, "noises": [0.0, 0.3]},
    full={"size": None, "folds": 10, "noises": list(NOISE)}, cost=(7, 17))]
