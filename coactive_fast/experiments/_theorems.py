"""What the experiments on theorems share: regret beside its bound, over the rounds.

Both are cumulative. A theorem speaks of every run ("sure"), of a run with some probability
("chance"), or of the mean over runs ("mean"), and is judged as what it is. How regret grows is
judged by its exponent over the last tenfold of rounds, beside that of the bound: a constant that
is too large hides nothing there.
"""

from dataclasses import dataclass

import numpy as np

from . import _judge
from ._plan import Curve, Plot, Table, claim, for_good

POINTS = 20  # a tenfold of rounds
LOGARITHM = 0.25 * np.log(10.0)  # between adding as much in a tenfold, 0, and √10 times, twice this


@dataclass(frozen=True)
class Case:
    """Runs of one setting: regret and bound after these rounds, each (runs, points).

    `ratio` is each run's largest regret / bound of all its rounds, not only of those shown;
    `idle` what a round costs who never learns, the mean over runs.
    """

    label: str
    rounds: np.ndarray
    regret: np.ndarray
    bound: np.ndarray
    ratio: np.ndarray
    idle: float = np.inf
    same_runs: bool = True  # False: of each number of rounds other runs

    @classmethod
    def of(cls, label, rounds, runs):
        """The runs of so many rounds, as `repeated` returns results of `told`."""
        return cls(label, shown(rounds), runs["regret"], runs["bound"], runs["ratio"],
                   float(runs["idle"].mean()))

    @classmethod
    def of_lengths(cls, found):
        """A case for each label, of runs by (label, length): the theorem is about the last round
        of each length."""
        cases, lengths = [], list(dict.fromkeys(length for _, length in found))
        for label in dict.fromkeys(label for label, _ in found):
            runs = [found[label, length] for length in lengths]
            regret, bound = (np.transpose([one[name][:, -1] for one in runs])
                             for name in ("regret", "bound"))
            ratio, idle = (np.ravel([one[name] for one in runs]) for name in ("ratio", "idle"))
            cases.append(cls(label, np.array(lengths), regret, bound, ratio, float(idle.mean()),
                             same_runs=False))
        return cases

    def growth(self):
        """What the last tenfold of rounds multiplies regret and bound by: their logarithms."""
        tenth = int(np.searchsorted(self.rounds, self.rounds[-1] // 10))
        return [_judge.log_ratio(values[:, -1], values[:, tenth], self.same_runs)
                for values in (self.regret, self.bound)]

    def steps(self):
        """What the last tenfold of rounds adds to the regret, by what the one before added."""
        return last_step(self.rounds[-1], lambda t: self.regret[:, np.searchsorted(self.rounds, t)])

    def useful(self):
        """The first round shown from which on the bound is less than never to learn costs."""
        return for_good(self.rounds, self.bound.mean(0) >= self.idle * self.rounds)


def last_step(rounds, regret):
    """What the last tenfold of rounds adds to ``regret(t)`` of each run, by what the one before
    added: the logarithm, an estimate over the runs."""
    end, tenth, hundredth = map(regret, (rounds, rounds // 10, rounds // 100))
    return _judge.log_ratio(end - tenth, tenth - hundredth)


def shown(total):
    """Rounds (from 1) of `total`, evenly spaced in the logarithm, with a tenth
    and a hundredth of all."""
    count = int(np.ceil(POINTS * np.log10(total))) + 1
    even = np.rint(np.geomspace(1, total, count))
    return np.unique(np.r_[even, max(total // 10, 1), max(total // 100, 1)]).astype(np.int64)


def told(regret, bound, idle=np.inf):
    """What a task hands on of a run: `regret` of each round, `bound` up to each."""
    total, bound = np.cumsum(regret), np.broadcast_to(bound, np.shape(regret))
    at = shown(len(total)) - 1
    ratio = np.divide(total, bound, out=np.where(total > bound, np.inf, 0.0), where=bound > 0.0)
    return {"regret": total[at], "bound": bound[at], "ratio": ratio.max(), "idle": idle}


def cases(labels, rounds, runs):
    """A case for each label, of runs that each have played all settings: (runs, settings, ...)."""
    return [Case.of(label, rounds, {name: values[:, i] for name, values in runs.items()})
            for i, label in enumerate(labels)]


# --- what is shown ------------------------------------------------------------------------------


def plot(name, title, cases, story=False):
    """Each regret, its bound dashed; what is 0 has no place on these axes."""
    curves = []
    for case in cases:
        regret = Curve.of_runs(case.label, case.rounds, case.regret)
        seen = regret.mean > 0.0
        if seen.any():
            curves.append(regret.at(seen))
        curves.append(Curve(f"bound, {case.label}", case.rounds, case.bound.mean(0),
                            bound=bool(seen.any())))
    return Plot(name, f"{title} (dashed: the bound)", "round", "cumulative regret", curves,
                log="xy", story=story)


def table(name, title, cases, note=""):
    rows = []
    for case in cases:
        for t in powers(case.rounds):
            at = int(np.searchsorted(case.rounds, t))
            regret, bound = case.regret[:, at], case.bound[:, at].mean()
            rows.append([case.label, int(t), regret.mean(), _judge.standard_error(regret),
                         regret.max(), bound, regret.mean() / bound])
    return Table(name, title, ["setting", "rounds", "mean regret", "standard error", "largest",
                               "bound", "mean / bound"], rows, note)


def powers(rounds):
    """Those of ten from 100 on, and the last."""
    tens = 10 ** np.arange(2, int(np.log10(rounds[-1])) + 1)
    return np.unique(np.r_[tens[np.isin(tens, rounds)], rounds[-1]])


# --- what is found ------------------------------------------------------------------------------


def under(theorem, cases, plot, kind="sure", chance=0.0, about=""):
    """That the regret stays below the bound, as the theorem means it; `about`: see `claim`."""
    if kind == "mean":
        holds = _judge.all_below(_judge.mean(gap) for c in cases for gap in (c.regret - c.bound).T)
        largest = max(np.max(c.regret.mean(0) / c.bound.mean(0)) for c in cases)
    else:
        holds = _judge.every(_judge.stays_under(c.ratio, chance) for c in cases)
        largest = ", ".join(f"{c.label}: {c.ratio.max():.3g}" for c in cases)
    return claim(f"under-{kind}", holds, about, theorem=theorem, largest=largest, chance=chance,
                 sure=1.0 - chance, runs=sum(len(c.ratio) for c in cases), worth=worth(cases),
                 plot=plot)


def worth(cases):
    """From when on the bounds say something: they are below the cost of never learning."""
    begins = {c.label: c.useful() for c in cases}
    texts = [f"{label} from round {t:,}" for label, t in begins.items() if t is not None]
    if never := [label for label, t in begins.items() if t is None]:
        texts.append(f"{', '.join(never)} in no run of this length")
    return "the bound is below what it costs never to learn: " + "; ".join(texts)


def slower(theorem, cases, plot, about=""):
    """That regret grows no faster than its bound."""
    grown = [case.growth() for case in cases]
    exponents = (f"{case.label}: {exponent(regret)} (bound {exponent(bound, False)})"
                 for case, (regret, bound) in zip(cases, grown, strict=True))
    return claim("slower", _judge.all_below(regret.minus(bound) for regret, bound in grown),
                 about, theorem=theorem, exponents=", ".join(exponents), plot=plot)


def logarithmic(theorem, cases, plot, about=""):
    """That regret grows like a logarithm: a sum with a constant, so not judged by exponents."""
    steps = {case.label: case.steps() for case in cases}
    grown = {case.label: exponent(case.growth()[0]) for case in cases}
    return claim("logarithmic", _judge.all_below(steps.values(), LOGARITHM), about,
                 theorem=theorem, steps=_judge.listed(steps, "{}: {.times}"),
                 grown=_judge.listed(grown), logarithm=np.exp(LOGARITHM), plot=plot)


def exponent(log, with_error=True):
    """Of what grows by this logarithm in a tenfold, and its standard error."""
    if not np.isfinite(log.value):
        return "none"
    text = f"{log.value / np.log(10.0):.3f}"
    return text + (f" ± {log.error / np.log(10.0):.2g}" if with_error and log.error > 0.0 else "")
