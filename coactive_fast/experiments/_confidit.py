"""What the Confidit paper's experiments on real rows share: five algorithms, tuned and tested.

Confidit comes with both steps of the diagonal. Each algorithm has one parameter, tuned on a single
split of 80 and 20 %, of which both parts have noisy labels, as in the paper; then ten folds.
"""

import functools

import numpy as np

import coactive_fast as cf

from . import _judge, _sets
from ._plan import Curve, Plot, Task, grouped, rounds_to_show


def powers(least, most):
    return [10.0**power for power in range(least, most + 1)]


ALGORITHMS = {  # constructor, the parameter and its values
    "Perceptron": (cf.MulticlassPerceptron, None, [None]),
    "second-order Perceptron": (cf.MulticlassSecondOrderPerceptron, "a", powers(-3, 4)),
    "AROW": (cf.MulticlassAROW, "r", powers(-3, 4)),
    "Banditron": (cf.Banditron, "gamma", [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9]),
    "Confidit": (cf.Confidit, "eta", powers(-3, 3)),
    "Confidit, printed step": (functools.partial(cf.Confidit, diagonal_step="printed"), "eta",
                               powers(-3, 3)),
}
THE_FIVE = list(ALGORITHMS)[:5]
PARTS = {"one": "one pass", "all": "all passes"}
CORPORA = {  # by the names of the rows
    **dict.fromkeys(("raw", "unit"), functools.partial(_sets.words, "newsgroups")),
    **{name: functools.partial(_sets.words, name) for name in ("reuters", "amazon", "stars")},
    **{name: functools.partial(_sets.text, name) for name in _sets.TEXTS},
    "words": _sets.newsgroups_words, "vowel": _sets.vowel,
}


@functools.lru_cache(maxsize=2)
def corpus(sets, rows, size):
    """The first rows of a corpus, in random order, and how many classes it has."""
    X, y = CORPORA[rows](sets)
    classes = int(y.max()) + 1
    X, y = X[:size], y[:size]
    return (_sets.unit(X) if rows == "unit" else X), y, classes


def learner(algorithm, value, classes, seed):
    make, name, _ = ALGORITHMS[algorithm]
    arguments = {} if name is None else {name: value}
    if algorithm == "Banditron":
        arguments["seed"] = seed
    return make(classes, **arguments)


def passes_of(one, X, y, noise, passes, seed):
    """One pass, then the others, all with the same noisy labels: the history of each part."""
    for epochs in (1, passes - 1):
        yield one.run(X, y, epochs=epochs, label_noise=noise, noise_seed=seed)


def wrong(one, X, y):
    """Test error in per cent."""
    return 100.0 * np.mean(one.predict(X) != y)


def tune(sets, algorithm, value, rows, noise, passes, size, seed):
    """Errors on the 20 %, whose labels are as noisy, after one pass and after all."""
    X, y, classes = corpus(sets, rows, size)
    draws, cut = np.random.default_rng([seed, 2]), int(0.8 * len(y))
    y = np.where(draws.random(len(y)) < noise, draws.integers(classes, size=len(y)), y)
    one = learner(algorithm, value, classes, [seed, 0])
    return {"errors": [wrong(one, X[cut:], y[cut:])
                       for _ in passes_of(one, X[:cut], y[:cut], 0.0, passes, None)]}


def validate(sets, algorithm, value, rows, noise, folds, passes, size, seed):
    """Of every fold: errors after one pass and after all; mistakes and explored rounds so far, at
    the rounds that are shown. Mistakes are told by the true labels, as in the paper. Of every row,
    whether the classifier that did not learn it gets it wrong after one pass."""
    X, y, classes = corpus(sets, rows, size)
    fold = np.arange(len(y)) % folds
    per_pass = len(y) - np.bincount(fold).max()
    shown = np.union1d(rounds_to_show(passes * per_pass), per_pass) - 1
    errors, mistakes, explored, missed = [], [], [], np.empty(len(y), dtype=bool)
    for f in range(folds):
        X_in, y_in, X_out, y_out = X[fold != f], y[fold != f], X[fold == f], y[fold == f]
        one, parts = learner(algorithm, value, classes, [seed, 1, f]), []
        for history in passes_of(one, X_in, y_in, noise, passes, [seed, 3, f]):
            errors.append(wrong(one, X_out, y_out))
            if not parts:
                missed[fold == f] = one.predict(X_out) != y_out
            parts.append(history)
        choices = np.concatenate([history.choices for history in parts])
        mistakes.append(np.cumsum(choices != np.tile(y_in, passes))[shown])
        explored.append(np.cumsum(np.concatenate([h.explored for h in parts]))[shown])
    return {"errors": np.reshape(errors, (folds, 2)), "mistakes": mistakes, "explored": explored,
            "rounds": shown + 1, "per_pass": per_pass, "wrong": missed}


# --- what several findings ask -------------------------------------------------------------------


def fewer(winners, losers, numbers):
    """Whether each winner has less than each loser, fold by fold, at every noise.

    ``numbers[algorithm]`` is a list, by noise, of one number a fold.
    """
    return _judge.every(_judge.below(_judge.mean(a - b)) for w in winners for x in losers if w != x
                        for a, b in zip(numbers[w], numbers[x], strict=True))


def lost(cells, part):
    """Points of error, fold by fold, that the most noise costs each algorithm.

    ``cells[algorithm]`` is a list of `Cell`, by noise.
    """
    return {a: getattr(by_noise[-1], part) - getattr(by_noise[0], part)
            for a, by_noise in cells.items()}


def fading(cell):
    """That exploration fades, and how it is told: the second half of the rounds has less of it."""
    first, second = cell.explored
    gap = _judge.mean(second - first)
    return _judge.below(gap), (f"{first.mean():,.0f} explored rounds in the first half, "
                               f"{second.mean():,.0f} in the second; the difference is {gap}")


def plots(cells, name, where, story=False):
    """Mistakes in the first pass and in all, and explored rounds, of a `Cell` an algorithm."""
    yield Plot(f"{name}-first", f"First pass, {where}", "round", "mistakes",
               [cell.curve(a, "mistakes", True) for a, cell in cells.items()], story=story)
    yield Plot(f"{name}-all", f"All passes, {where}", "round", "mistakes",
               [cell.curve(a, "mistakes") for a, cell in cells.items()], log="xy")
    yield Plot(f"{name}-explored", f"Explored rounds, {where}", "round", "explored rounds",
               [cell.curve(a, "explored") for a, cell in cells.items() if cell.explores()])


# --- the two stages -----------------------------------------------------------------------------


class Cell:
    """One algorithm at one level of noise, with the parameter tuned for one pass and for all."""

    def __init__(self, first, last, values):
        self.one, self.all = first["errors"][:, 0], last["errors"][:, 1]
        self.values = values
        self.online, self.wrong = first, first["wrong"]
        first_pass = np.searchsorted(first["rounds"], first["per_pass"])
        self.first_mistakes = np.asarray(first["mistakes"])[:, first_pass]  # of every fold

    @property
    def explored(self):
        """Explored rounds of every fold: in the first half of all rounds, and in the second."""
        rounds, counts = self.online["rounds"], np.asarray(self.online["explored"])
        half = np.searchsorted(rounds, rounds[-1] // 2, side="right") - 1
        return counts[:, half], counts[:, -1] - counts[:, half]

    def curve(self, algorithm, what, first_pass=False):
        rounds = self.online["rounds"]
        end = np.searchsorted(rounds, self.online["per_pass"]) + 1 if first_pass else len(rounds)
        return Curve.of_runs(algorithm, rounds[:end], self.online[what][:, :end])

    def explores(self):
        return np.any(self.online["explored"])


def tuned(setting, all_rows, noises, algorithms=tuple(ALGORITHMS)):
    """Yields the tasks of both stages; returns a `Cell` for each (algorithm, rows, noise)."""
    common = {"passes": setting.parameters.get("passes", 1), "size": setting["size"],
              "seed": setting.seed}
    cells = {(a, rows, noise): {"algorithm": a, "rows": rows, "noise": noise, **common}
             for rows in all_rows for noise in noises for a in algorithms}
    grids = {key: [value for value in ALGORITHMS[key[0]][2] if value is not None] for key in cells}
    tried = yield from grouped({key: [Task(tune, {**cell, "value": value}) for value in grids[key]]
                                for key, cell in cells.items()})
    best = {key: [grid[np.argmin([one["errors"][part] for one in tried[key]])] if grid else None
                  for part in (0, 1)] for key, grid in grids.items()}
    results = yield from grouped({
        key: [Task(validate, {**cell, "value": value, "folds": setting["folds"]})
              for value in best[key]] for key, cell in cells.items()})
    return {key: Cell(*results[key], best[key]) for key in cells}


def chosen(found, words):
    """The parameters that were tuned, for one pass and for all; `words` names the rows."""
    return {f"{name}, {words[rows]}, noise {noise:g}": f"{cell.values[0]:g} / {cell.values[1]:g}"
            for (name, rows, noise), cell in found.items() if cell.values[0] is not None}
