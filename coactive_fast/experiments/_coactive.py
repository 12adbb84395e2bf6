"""What the coactive figures share: a learner and a user by name, on web search or on movies.

Web search: rankings of a query's documents; a run goes over all queries in a random order, then
again in another one, until there were so many rankings as the paper's set has queries. Movies: one
item at a time, a fresh learner for every user of one half, features from the other half. A figure
is some cases (a learner, a user, a label), each run on one or both, and what the curves show of
the paper's findings.
"""

import time
from dataclasses import dataclass, field, replace

import numpy as np

import coactive_fast as cf

from . import _judge, _plan, _sets
from ._plan import Curve, Experiment, Outcome, Plot, Task, claim, file_name, rounds_to_show

LEARNERS = {
    "perceptron": cf.PreferencePerceptron,
    "exponentiated": cf.ExponentiatedPreferencePerceptron,
    "convex": cf.ConvexPreferencePerceptron,
    "second-order": cf.SecondOrderPreferencePerceptron,
    "svm": cf.RankingSVM,
    "dueling": cf.DuelingBandit,
}
USERS = {
    "strict": cf.users.AlphaInformative,
    "expected": cf.users.ExpectedAlphaInformative,
    "depth": cf.users.NoisyDepth,
    "better": cf.users.Better,
    "best": cf.users.Best,
}
QUICK = {"permutations": 16, "rankings": 4000, "users": 100, "rounds": 300}
PAPER = {"permutations": 20, "rankings": 28000, "users": 3020, "rounds": 1500}
GENERATED = ("The data are generated: independent features, and labels that are a linear utility "
             "with noise, are not what the paper met.")
PLACES = ("web search", "movies")
PARTS = 10  # tasks that the users of one case are split into
EARLY = 10  # the round from which a curve is more than its first steps
FALL = 10.0**-0.25  # of a tenfold of rounds: between 1/sqrt(t), 0.32, and staying where it is, 1


@dataclass(frozen=True)
class Case:
    """One curve. The defaults are the paper's: alpha = 0.5, depth 10, "better"."""

    label: str
    learner: str = "perceptron"
    settings: dict = field(default_factory=dict)
    web_user: tuple = ("strict", {"alpha": 0.5})
    movie_user: tuple = ("strict", {"alpha": 0.5})
    sample: dict = field(default_factory=dict)  # parameters of the scale, where it has its own
    embedding: tuple = ()  # rank and regularisation of the films' features, where not the usual

    def noisy(self, label=None):
        return replace(self, label=label or self.label, web_user=("depth", {"depth": 10}),
                       movie_user=("better", {}))

    def work(self, on):
        """The part of a task's arguments that says who plays."""
        name, taste = self.web_user if on == "web" else self.movie_user
        return {"learner": self.learner, "settings": self.settings, "user": name, "taste": taste}


# --- the tasks ----------------------------------------------------------------------------------


def _learner(name, settings, task, seed):
    chance = {"seed": seed} if name == "dueling" else {}
    return LEARNERS[name](task, **settings, **chance)


def marks(rounds):
    """The rounds of which every run's regret is kept: verdicts compare run by run."""
    at = {EARLY, 30, 100, 1000, rounds // 100, rounds // 10, rounds}
    return np.array(sorted(t for t in at if 1 <= t <= rounds))


def _costs(regret, most):
    """What is shown of runs (runs, rounds): mean regret, and the convex one of (theta - most)^2.

    theta is minus the regret, so a round's convex regret is r^2 + 2 most r. ``at``: of each run,
    after the rounds of `marks`; ``range``: of each run, its mean height from round `EARLY` on.
    """
    rounds = regret.shape[1]
    shown = rounds_to_show(rounds) - 1
    convex = regret * (regret + 2.0 * np.asarray(most)[:, None])
    found = {"runs": len(regret)}
    for name, values in (("regret", regret), ("convex", convex)):
        running = _plan.running_mean(values)
        means = running[:, shown]
        found[name], found[f"{name} squared"] = means.sum(0), (means**2).sum(0)
        found[f"{name} at"] = running[:, marks(rounds) - 1]
        found[f"{name} range"] = means[:, shown >= min(EARLY, rounds) - 1].mean(1)
    return found


def web_search(sets, learner, settings, user, taste, permutation, rankings, seed):
    data = _sets.web_search(sets)
    rng = np.random.default_rng([seed, permutation])
    passes = -(-rankings // len(data))
    order = np.concatenate([rng.permutation(len(data)) for _ in range(passes)])[:rankings]
    model = _learner(learner, settings, cf.Ranking(k=5), [seed, permutation, 2])
    answers, most = USERS[user](**taste), [_sets.most_useful_ranking(sets)]
    begin = time.thread_time()
    history = cf.simulate(model, data, answers, order=order, weights=_sets.ranking_weights(sets),
                          seed=[seed, permutation, 1])
    return {"seconds": time.thread_time() - begin, **_costs(history.regret[None], most)}


def movies(sets, learner, settings, user, taste, first, last, rounds, seed, embedding=()):
    """The users from `first` to `last`, summed up."""
    items, ratings = _sets.movies(sets, *embedding)
    weights = _sets.movie_weights(sets, first, last, *embedding)
    model = _learner(learner, settings, items, [seed, first, 2])
    begin = time.process_time()  # users are played by other threads than this
    history = cf.simulate_items(model, items, weights, USERS[user](**taste), rounds=rounds,
                                ratings=ratings[first:last], seed=[seed, first, 1])
    seconds = time.process_time() - begin
    longest = np.linalg.norm(items.features, axis=1).max()
    most = longest * np.linalg.norm(weights, axis=1)
    return {"seconds": seconds, **_costs(history.regret_per_user, most)}


# --- their results ------------------------------------------------------------------------------


class Result:
    """Sums over the runs of one case."""

    def __init__(self, case, given, found):
        self.case, self.found = case, found
        self.rounds = rounds_to_show(given["rankings"] if "rankings" in given else given["rounds"])
        self.runs = sum(int(f["runs"]) for f in found)
        self.seconds = sum(float(f["seconds"]) for f in found)

    def curve(self, measure="regret", cumulative=False):
        """Mean over runs with its standard error; cumulative: times the rounds."""
        mean = self._sum(measure) / self.runs
        error = None
        if self.runs > 1:
            spread = np.maximum(self._sum(f"{measure} squared") / self.runs - mean**2, 0.0)
            error = np.sqrt(spread / (self.runs - 1))
        times = self.rounds if cumulative else 1.0
        return Curve(self.case.label, self.rounds, mean * times,
                     None if error is None else error * times)

    def _sum(self, name):
        return sum(f[name] for f in self.found)

    def runs_at(self, t=None, measure="regret"):
        """Mean regret of every run after t rounds of `marks`; None: after all."""
        kept = list(marks(self.rounds[-1]))
        at = kept.index(self.rounds[-1] if t is None else t)
        return np.concatenate([f[f"{measure} at"][:, at] for f in self.found])

    def log(self, t=None, measure="regret"):
        """The logarithm of the mean of `runs_at`, an estimate."""
        return _judge.log_mean(self.runs_at(t, measure))

    def over(self, other, t=None, measure="regret"):
        """The logarithm of the regret by that of another case, run by run."""
        return self.log(t, measure).minus(other.log(t, measure))

    def remains(self):
        """What the last tenfold of rounds leaves of the regret: the logarithm of the ratio."""
        return self.log().minus(self.log(int(self.rounds[-1]) // 10))

    def log_range(self):
        """The same of the mean height of the curve."""
        return _judge.log_mean(np.concatenate([f["regret range"] for f in self.found]))

    def log_seconds(self):
        return _judge.log_mean([f["seconds"] for f in self.found])

    @property
    def end(self):
        """Mean regret after the last round."""
        return float(self.curve().mean[-1])

    def __str__(self):
        """Its label and the mean regret after the last round with its standard error."""
        error = self.curve().error
        return f"{self.case.label}: {self.end:.4g} ± {0.0 if error is None else error[-1]:.2g}"

    def reaches(self, regret):
        """The first round shown from which mean regret is as low for good, or None."""
        return _plan.for_good(self.rounds, self.curve().mean > regret)


def with_noise(cases):
    """The cases with strict feedback, then the same with noisy feedback."""
    return [*cases, *(case.noisy() for case in cases)]


def web_tasks(setting, case):
    scale = {**setting.parameters, **case.sample}
    return [Task(web_search, {**case.work("web"), "permutation": p, "seed": setting.seed,
                              "rankings": scale["rankings"]}) for p in range(scale["permutations"])]


def movie_tasks(setting, case):
    scale = {**setting.parameters, **case.sample}
    cuts = np.linspace(0, scale["users"], min(PARTS, scale["users"]) + 1).astype(int).tolist()
    other = {"embedding": list(case.embedding)} if case.embedding else {}
    return [Task(movies, {**case.work("movies"), **other, "first": first, "last": last,
                          "rounds": scale["rounds"], "seed": setting.seed})
            for first, last in zip(cuts, cuts[1:], strict=False)]


def run(setting, web=(), films=()):
    """Yields the tasks of these cases; returns their results, two lists in the cases' order."""
    lists = [web_tasks(setting, c) for c in web] + [movie_tasks(setting, c) for c in films]
    found = yield from _plan.grouped(dict(enumerate(lists)))
    results = [Result(case, lists[i][0].arguments, found[i])
               for i, case in enumerate([*web, *films])]
    return results[:len(web)], results[len(web):]


# --- what figures say ---------------------------------------------------------------------------


def by_kind(web, films):
    """(place, kind of feedback, results); of both lists the first half is strict, then noisy."""
    for place, results in zip(PLACES, (web, films), strict=True):
        half = len(results) // 2
        yield place, "strict", results[:half]
        yield place, "noisy", results[half:]


def four(web, film, judge, story=()):
    """Of each place and kind of feedback a plot, what ``judge(where, plot, *results)`` finds, and
    the results; `story`: the place and kind of the plot that belongs to the paper's story."""
    plots, findings, groups = [], [], {}
    for place, kind, results in by_kind(web, film):
        plots.append(average_plot(place, kind, results, (place, kind) == story))
        findings += judge(f"{place}, {kind} feedback", plots[-1].name, *results)
        groups[f"{place}, {kind}"] = results
    return plots, findings, groups


def average_plot(place, kind, results, story=False):
    return Plot(file_name(place, kind), f"{place.capitalize()}, {kind} feedback", "round",
                "average regret", [r.curve() for r in results], log="x", bottom=0.0, story=story)


def outcome(setting, plots, findings, groups, parameters=None, **more):
    """With the time of all simulations of each case, of one core, by group of results."""
    findings = list(findings)
    if not setting.sets.real:
        for finding in findings:
            if finding.holds is False:
                finding.reason = f"{finding.reason} {GENERATED}".strip()
    seconds = {on: {r.case.label: round(r.seconds, 3) for r in results}
               for on, results in groups.items()}
    return Outcome(plots=plots, findings=findings,
                   parameters={**(parameters or {}), "seconds": seconds}, **more)


def by_place(found):
    """The two lists of results of `run`, by the places' names."""
    return dict(zip(PLACES, found, strict=True))


def ends(results):
    return ", ".join(map(str, results))


def falls(where, results, main="", plot=""):
    """That regret goes to zero: a tenfold of rounds, at the end, still takes much of it away."""
    kept = {r.case.label: r.remains() for r in results}
    return claim("falls", _judge.all_below(kept.values(), np.log(FALL)), where=where, fall=FALL,
                 kept=_judge.listed(kept, "{}: {.times}"), plot=plot, main=main)


def is_ordered(says, results, main="", plot=""):
    """That regret falls from one of these to the next."""
    steps = [b.over(a) for a, b in zip(results, results[1:], strict=False)]
    return claim("ordered", _judge.all_below(steps), says=says, ends=ends(results),
                 times=_judge.times(steps), plot=plot, main=main)


def experiment(name, title, shows, play, cost, quick=QUICK, full=PAPER):
    """An experiment on both sets."""
    return Experiment(name, title, "coactive", shows, "MQ2008; MovieLens 1M", play,
                      quick=quick, full=full, cost=cost)
