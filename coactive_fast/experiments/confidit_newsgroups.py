"""Tables 3 to 6 of the Confidit paper, and its figures 3, 5, 6 and 7, for 20 newsgroups.

Five algorithms (Confidit with both steps of the diagonal), label noise in training, the test error
after one pass and after all, of rows of 0 and 1 as they are and with length 1. One parameter each,
tuned on a single split of 80 and 20 %, of which both parts have noisy labels, as in the paper; then
ten folds.
"""

import functools

import numpy as np

import coactive_fast as cf

from . import _labelled
from ._plan import Curve, Experiment, Finding, Outcome, Plot, Table, Task, rounds_to_show


def powers(least, most):
    return [10.0**power for power in range(least, most + 1)]


K = 20
NOISE = (0.0, 0.1, 0.2, 0.3)
ROWS = {"raw": "rows of 0 and 1", "unit": "rows of length 1", "words": "0 and 1, all words"}
ALGORITHMS = {  # constructor, the parameter and its values, the paper's errors by noise
    "Perceptron": (cf.MulticlassPerceptron, None, [None], (20.04, 31.27, 38.33, 45.88)),
    "second-order Perceptron": (cf.MulticlassSecondOrderPerceptron, "a", powers(-3, 4),
                                (13.92, 22.03, 30.54, 39.92)),
    "AROW": (cf.MulticlassAROW, "r", powers(-3, 4), (8.14, 13.10, 18.49, 21.41)),
    "Banditron": (cf.Banditron, "gamma", [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9],
                  (50.52, 53.04, 67.38, 65.71)),
    "Confidit": (cf.Confidit, "eta", powers(-3, 3), (12.41, 17.70, 23.67, 30.45)),
    "Confidit, printed step": (functools.partial(cf.Confidit, diagonal_step="printed"), "eta",
                               powers(-3, 3), (12.41, 17.70, 23.67, 30.45)),
}
PARTS = {"one": "one pass", "all": "all passes"}
THE_FIVE = list(ALGORITHMS)[:5]


@functools.lru_cache(maxsize=2)
def corpus(sets, rows, size):
    X, y = (_labelled.newsgroups_words if rows == "words" else _labelled.newsgroups)(sets)
    X, y = X[:size], y[:size]
    return (_labelled.unit(X) if rows == "unit" else X), y


def learner(algorithm, value, seed):
    make, name, _, _ = ALGORITHMS[algorithm]
    arguments = {} if name is None else {name: value}
    if algorithm == "Banditron":
        arguments["seed"] = seed
    return make(K, **arguments)


def passes_of(one, X, y, noise, passes, seed):
    """One pass, then the others, all with the same noisy labels: the history of each part."""
    for epochs in (1, passes - 1):
        yield one.run(X, y, epochs=epochs, label_noise=noise, noise_seed=seed)


def wrong(one, X, y):
    """Test error in per cent."""
    return 100.0 * np.mean(one.predict(X) != y)


def tune(sets, algorithm, value, rows, noise, passes, size, seed):
    """Errors on the 20 %, whose labels are as noisy, after one pass and after all."""
    X, y = corpus(sets, rows, size)
    draws, cut = np.random.default_rng([seed, 2]), int(0.8 * len(y))
    y = np.where(draws.random(len(y)) < noise, draws.integers(K, size=len(y)), y)
    one = learner(algorithm, value, [seed, 0])
    return {"errors": [wrong(one, X[cut:], y[cut:])
                       for _ in passes_of(one, X[:cut], y[:cut], 0.0, passes, None)]}


def validate(sets, algorithm, value, rows, noise, folds, passes, size, seed):
    """Of every fold: errors after one pass and after all; mistakes and explored rounds so far, at
    the rounds that are shown. Mistakes are told by the true labels, as in the paper."""
    X, y = corpus(sets, rows, size)
    fold = np.arange(len(y)) % folds
    per_pass = len(y) - np.bincount(fold).max()
    shown = np.union1d(rounds_to_show(passes * per_pass), per_pass) - 1
    errors, mistakes, explored = [], [], []
    for f in range(folds):
        X_in, y_in, X_out, y_out = X[fold != f], y[fold != f], X[fold == f], y[fold == f]
        one, parts = learner(algorithm, value, [seed, 1, f]), []
        for history in passes_of(one, X_in, y_in, noise, passes, [seed, 3, f]):
            errors.append(wrong(one, X_out, y_out))
            parts.append(history)
        choices = np.concatenate([history.choices for history in parts])
        mistakes.append(np.cumsum(choices != np.tile(y_in, passes))[shown])
        explored.append(np.cumsum(np.concatenate([h.explored for h in parts]))[shown])
    return {"errors": np.reshape(errors, (folds, 2)), "mistakes": mistakes, "explored": explored,
            "rounds": shown + 1, "per_pass": per_pass}


# --- the plan -----------------------------------------------------------------------------------


def play(setting):
    common = {"passes": setting["passes"], "size": setting["size"], "seed": setting.seed}
    cells = [{"algorithm": a, "rows": rows, "noise": noise}
             for rows in ROWS for noise in NOISE for a in ALGORITHMS]
    trials = [(cell, value) for cell in cells for value in ALGORITHMS[cell["algorithm"]][2]
              if value is not None]
    tried = yield [Task(tune, {**cell, "value": value, **common}) for cell, value in trials]
    errors = {}
    for (cell, value), found in zip(trials, tried, strict=True):
        errors.setdefault(tuple(cell.values()), {})[value] = found["errors"]
    best = [[min(tried, key=lambda value: tried[value][part], default=None) for part in (0, 1)]
            for tried in (errors.get(tuple(cell.values()), {}) for cell in cells)]
    results = yield [Task(validate, {**cell, "value": value, "folds": setting["folds"], **common})
                     for cell, values in zip(cells, best, strict=True) for value in values]
    found = {tuple(cell.values()): Cell(first, last, *values) for cell, first, last, values in
             zip(cells, results[::2], results[1::2], best, strict=True)}
    return Outcome(plots=list(curves(found)) + list(error_plots(found)), tables=list(tables(found)),
                   findings=list(findings(found, setting.sets.real or None)),
                   parameters=chosen(found))


class Cell:
    """One algorithm at one level of noise, with the parameter tuned for one pass and for all."""

    def __init__(self, first, last, value_first, value_last):
        self.one, self.all = first["errors"][:, 0], last["errors"][:, 1]
        self.values = value_first, value_last
        self.online = first
        first_pass = np.searchsorted(first["rounds"], first["per_pass"])
        self.first_mistakes = np.mean(first["mistakes"], axis=0)[first_pass]

    def curve(self, algorithm, what, first_pass=False):
        rounds = self.online["rounds"]
        end = np.searchsorted(rounds, self.online["per_pass"]) + 1 if first_pass else len(rounds)
        return Curve.of_runs(algorithm, rounds[:end], self.online[what][:, :end])

    def explores(self):
        return np.any(self.online["explored"])


def chosen(found):
    return {f"{name}, {ROWS[rows]}, noise {noise:g}": f"{cell.values[0]:g} / {cell.values[1]:g}"
            for (name, rows, noise), cell in found.items() if cell.values[0] is not None}


def curves(found):
    """Figures 3, 5, 6, 7, their top rows, with all words, as the paper's tables seem to be."""
    for noise in NOISE:
        words, cells = f"label noise {noise:.0%}", {a: found[a, "words", noise] for a in ALGORITHMS}
        name = f"noise-{100 * noise:.0f}"
        yield Plot(f"{name}-first", f"First pass, {words}", "round", "mistakes",
                   [cell.curve(a, "mistakes", True) for a, cell in cells.items()])
        yield Plot(f"{name}-all", f"All passes, {words}", "round", "mistakes",
                   [cell.curve(a, "mistakes") for a, cell in cells.items()], log="xy")
        yield Plot(f"{name}-explored", f"Explored rounds, {words}", "round", "explored rounds",
                   [cell.curve(a, "explored") for a, cell in cells.items() if cell.explores()])


def error_plots(found):
    """Tables 3 to 6 as curves over the noise: ours, and the paper's."""
    percent = 100.0 * np.array(NOISE)
    axes = "label noise, %", "test error, %"
    for rows, words in ROWS.items():
        for part, when in PARTS.items():
            yield Plot(f"error-{rows}-{part}", f"Test error after {when}, {words}", *axes, [
                Curve.of_runs(a, percent, np.transpose([getattr(found[a, rows, noise], part)
                                                        for noise in NOISE]))
                for a in ALGORITHMS], bottom=0.0)
    yield Plot("error-paper", "Test error, the paper", *axes, [
        Curve(a, percent, np.array(ALGORITHMS[a][3])) for a in THE_FIVE], bottom=0.0)


def tables(found):
    for number, noise in enumerate(NOISE):
        lines = []
        for algorithm, (_, _, _, paper) in ALGORITHMS.items():
            cells = [found[algorithm, rows, noise] for rows in ROWS]
            lines.append([algorithm, paper[number], *(np.mean(part) for cell in cells
                                                      for part in (cell.one, cell.all))])
        yield Table(f"table-{3 + number}", f"Test error, label noise {noise:.0%}",
                    ["algorithm", "paper", *(f"{rows}, {when}" for rows in ROWS
                                             for when in PARTS.values())], lines,
                    "Mean over the folds, in per cent. " + "; ".join(
                        f"{rows}: {words}" for rows, words in ROWS.items()) + ".")


# --- what the paper says ------------------------------------------------------------------------

CORPUS = ("The paper tells neither its passes nor its words: 252,115, without stop words. Here are "
          "42,967, those of three messages and more, or all 170,895.")


def findings(found, judged):
    """`judged`: True, or None for generated messages: too few and too unlike for the bandits."""
    for rows, words in ROWS.items():
        for part, when in PARTS.items():
            errors = {a: [float(np.mean(getattr(found[a, rows, n], part))) for n in NOISE]
                      for a in THE_FIVE}
            yield from orders(errors, f"({words}, {when})", judged)
    yield from levels(found, judged)
    yield from online(found, judged)


def orders(errors, where, judged):
    """Of lists of errors, by noise."""
    def below(winners, losers):
        return judged and all(a <= b for w in winners for x in losers if w != x
                              for a, b in zip(errors[w], errors[x], strict=True))

    text = "; ".join(f"{a}: {shown(values)}" for a, values in errors.items())
    rivals = ["Perceptron", "second-order Perceptron", "Banditron"]
    yield Finding(f"AROW errs least at every noise {where}.", text, below(["AROW"], THE_FIVE))
    yield Finding(f"Confidit errs less than both Perceptrons and Banditron at every noise {where}.",
                  text, below(["Confidit"], rivals))
    yield Finding(f"Banditron errs most at every noise {where}.", text,
                  below(THE_FIVE, ["Banditron"]))


    lost = {a: values[-1] - values[0] for a, values in errors.items()}
    yield Finding(f"30 % noise costs Confidit less than both Perceptrons {where}.",
                  ", ".join(f"{a}: {value:.1f}" for a, value in lost.items()) + " points",
                  judged and all(lost["Confidit"] < lost[a] for a in rivals[:2]))


def shown(values):
    return ", ".join(f"{value:.1f}" for value in values)


def levels(found, judged):
    for algorithm, (_, _, _, paper) in ALGORITHMS.items():
        parts = {f"{rows_words}, {when}": [np.mean(getattr(found[algorithm, rows, n], part))
                                           for n in NOISE]
                 for rows, rows_words in ROWS.items()
                 for part, when in PARTS.items()}
        gaps = [np.max(np.abs(np.subtract(values, paper))) for values in parts.values()]
        near = list(parts)[int(np.argmin(gaps))]
        yield Finding(f"{algorithm}: {shown(paper)} % at 0, 10, 20, 30 % noise.",
                      "; ".join(f"{where}: {shown(values)}" for where, values in parts.items()),
                      judged and bool(min(gaps) <= 3.0),
                      f"Nearest: {near}, {min(gaps):.1f} points off at most; to hold, 3. {CORPUS}")


def grouped(counts):
    return ", ".join(f"{n:,.0f}" for n in counts)


def online(found, judged):
    for algorithm, paper in (("second-order Perceptron", (8000, 9000, 10000)),
                             ("Confidit", (10000, 11500, 12000))):
        counts, fewer = ([found[algorithm, rows, noise].first_mistakes for noise in NOISE[1:]]
                         for rows in ("words", "raw"))
        yield Finding(f"{algorithm} makes about {', '.join(f'{n:,}' for n in paper)} mistakes in "
                      "the first pass at 10, 20 and 30 % noise.",
                      f"{grouped(counts)}; with fewer words {grouped(fewer)}",
                      judged and all(0.8 * theirs <= ours <= 1.2 * theirs
                                     for ours, theirs in zip(counts, paper, strict=True)),
                      "Held to within a fifth. " + CORPUS)
    totals = [np.mean(found["Confidit", "words", noise].online["explored"], axis=0)[-1]
              for noise in NOISE[1:]]
    yield Finding("Confidit explores more with more noise: about 20,000, 25,000 and 40,000 rounds "
                  "in ten passes.", grouped(totals),
                  judged and bool(np.all(np.diff(totals) > 0.0)),
                  "It follows the parameter that was tuned for the error after one pass.")


EXPERIMENTS = [Experiment(
    "confidit-newsgroups", "Five algorithms on 20 newsgroups with label noise", "confidit",
    "tables 3 to 6 and figures 3, 5, 6, 7 (20 newsgroups)", "20 newsgroups", play,
    files=(*_labelled.NEWSGROUPS, _labelled.NEWSGROUPS_TEXT),
    quick={"size": 900, "folds": 3, "passes": 3}, full={"size": None, "folds": 10, "passes": 10},
    cost=(6, 700))]
