"""Figure 8 of the Confidit paper: test accuracy by the number of rows learned from.

Its four panels, frames of 4 and 8 vowels, where the folder holds the Vocal Joystick corpus; there
is also the line of the Probabilistic Linear Machine, as the paper has it. Always: another, smaller
set (Deterding's, 990 frames of 11 vowels; the paper: 275,000). One pass, in several random orders;
parameters tuned on 80 and 20 % of the rows learned from. Without real vowels: scikit-learn's
digits.
"""

import functools

import numpy as np

from coactive_fast import data

from . import _judge
from ._confidit import ALGORITHMS, THE_FIVE, corpus, learner, wrong
from ._plan import Curve, Experiment, Outcome, Plot, claim, repeated

STAND_IN = "vowel"
PLM = {  # accuracy of the Probabilistic Linear Machine (Lin, Bilmes, Crammer 2009), by the paper
    "v4.w1": 90.0, "v4.w7": 91.6, "v8.w1": 67.2, "v8.w7": 68.4,
}
SIZES = (1000, 2000, 5000, 20_000, 50_000, 300_000)  # frames of the panels; the last: all
TEST = 300  # frames of the stand-in that are kept for testing


def panels(sets):
    """The names of the panels that a run has."""
    return [*filter(sets.has, PLM), STAND_IN]


@functools.lru_cache(maxsize=1)
def frames(sets, panel):
    """``(X, y, classes, test)``: the last `test` rows are the paper's test set, 0: there is none.

    Standardised by the frames to learn from, with a constant.
    """
    if panel == STAND_IN:
        return *corpus(sets, STAND_IN, None), 0
    train, test = map(data.load_table, sets.files(panel))
    if train.classes is None or train.classes != test.classes or train.X.shape[1:] != \
            test.X.shape[1:]:
        raise ValueError(f"the tables of {panel} must have the same columns, the last of which "
                         "names the vowel, and the same vowels")
    scaling = data.standardize(train.X)
    X = np.concatenate([scaling.transform(train.X), scaling.transform(test.X)])
    X = np.column_stack([X, np.ones(len(X))])
    return X, np.concatenate([train.y, test.y]), len(train.classes), len(test.y)


def drawn(sets, panel, rows, seed):
    """So many rows to learn from, in random order, and those to test on: places."""
    _, y, _, test = frames(sets, panel)
    at = np.random.default_rng(seed).permutation(len(y) - test)
    if test:
        return at[:rows], np.arange(len(y) - test, len(y))
    return at[TEST:TEST + rows], at[:TEST]


def accuracy(sets, algorithm, rows, run, seed, panel=STAND_IN):
    """Of one order: test accuracy after one pass over so many rows, with the tuned parameter."""
    X, y, classes, _ = frames(sets, panel)
    inside, out = drawn(sets, panel, rows, [seed, run])
    cut = int(0.8 * len(inside))

    def tested(value, train, test):
        one = learner(algorithm, value, classes, [seed, run, 1])
        one.run(X[train], y[train])
        return wrong(one, X[test], y[test])

    values = ALGORITHMS[algorithm][2]
    best = min(values, key=lambda value: tested(value, inside[:cut], inside[cut:]))
    return {"accuracy": 100.0 - tested(best, inside, out)}


def play(setting):
    outcome = Outcome()
    for panel in panels(setting.sets):
        yield from one_panel(setting, panel, outcome)
    return outcome


def one_panel(setting, panel, outcome):
    own = panel in PLM
    sizes, orders = SIZES if own else setting["sizes"], setting["orders"]
    found = yield from repeated(
        accuracy, {(a, n): {"algorithm": a, "rows": n} for a in ALGORITHMS for n in sizes}, orders,
        seed=setting.seed, panel=panel)
    values = {a: np.array([found[a, n]["accuracy"] for n in sizes]) for a in ALGORITHMS}
    curves = [Curve.of_runs(a, sizes, runs.T) for a, runs in values.items()]
    what = f"Vocal Joystick {panel}" if own else setting.sets.called("vowels", "digits")
    levels = {"PLM, by the paper": PLM[panel]} if own else {}
    name = f"accuracy-{panel}" if own else "accuracy"
    outcome.plots.append(Plot(name, f"{what[0].upper()}{what[1:]}, one pass", "rows",
                              "test accuracy, %", curves, levels=levels, story=True))
    outcome.findings += findings(values, f"({what}).", name)


def findings(values, where, plot="accuracy"):
    """Of accuracies by algorithm (sizes, orders)."""
    ends = {a: values[a][-1] for a in THE_FIVE}
    text = ", ".join(f"{a} {end.mean():.1f}" for a, end in ends.items())
    gains = {a: _judge.mean(values[a][-1] - values[a][0]) for a in THE_FIVE}
    yield claim("vowel-improve", _judge.all_above(gains.values()), where=where, plot=plot,
                gains="; ".join(f"{a} by {gain}" for a, gain in gains.items()))
    for key, winners, losers in (("vowel-arow", ["AROW"], THE_FIVE),
                                 ("vowel-banditron", THE_FIVE, ["Banditron"]),
                                 ("vowel-confidit", ["Confidit"], ["Perceptron"])):
        gaps = {f"{w} less {x}": _judge.mean(ends[w] - ends[x])
                for w in winners for x in losers if w != x}
        yield claim(key, _judge.all_above(gaps.values()), where=where, ends=text,
                    gaps=_judge.listed(gaps, "{} {}"), plot=plot)


EXPERIMENTS = [Experiment(
    "confidit-vowel", "Vowels by the number of frames", "confidit", "figure 8",
    "Deterding vowels", play,
    quick={"sizes": [50, 200, 600], "orders": 16},
    full={"sizes": [25, 50, 100, 200, 400, 690], "orders": 20}, cost=(1, 1))]
