"""Figures 3 to 18 of the coactive papers, and what the films' features are worth."""

import importlib.util
import math
from dataclasses import replace

import numpy as np

from coactive_fast import data

from . import _coactive, _judge, _plan, _sets
from ._coactive import FALL, Case
from ._plan import Curve, Experiment, Plot, Table, Task, Timing, claim, file_name, stacked
from ._theorems import LOGARITHM, last_step

# --- figure 3: feedback that no linear utility explains -------------------------------------------

DEPTHS = (10, 25)


def noise(setting):
    strict = Case("strict, alpha = 0.5")
    web, film = yield from _coactive.run(
        setting, [*(Case(f"noisy, depth {d}", web_user=("depth", {"depth": d})) for d in DEPTHS),
                  strict],
        [*(Case(f"noisy, {name}", movie_user=(name, {})) for name in ("better", "best")), strict])
    return _coactive.outcome(
        setting, groups=_coactive.by_place((web, film)),
        plots=[_coactive.average_plot("web search", "noisy", web, story=True),
               _coactive.average_plot("movies", "noisy", film)],
        findings=[settles(web), higher(film), deeper(web)])


def settles(web):
    kept = [r.remains() for r in web]
    return claim("noise-settles", _judge.all_above(kept[:-1], np.log(FALL)), fall=FALL,
                 ends=_coactive.ends(web), kept=_judge.times(kept))


def higher(film):
    *noisy, strict = film
    more = [r.over(strict) for r in noisy]
    return claim("noise-higher", _judge.all_above(more), ends=_coactive.ends(film),
                 times=_judge.times(more))


def deeper(web):
    ten, more, _ = web
    gap = more.over(ten)
    return claim("noise-deeper", _judge.above(gap), gap=gap)


# --- figures 4 and 5: an update after every k rounds ----------------------------------------------

# The paper's x axis is time in seconds. Curves here are by the round, and by the number of updates;
# the seconds are among the parameters.
SIZES = (1, 10, 100)
SHARE = 0.6  # of √k, to be much less


def batch(setting):
    cases = _coactive.with_noise(
        [Case(f"k = {k}", settings={} if k == 1 else {"batch": k}) for k in SIZES])
    web, film = yield from _coactive.run(setting, cases, cases)
    plots, *found = _coactive.four(web, film, batch_findings)
    updates = [by_updates(*group) for group in _coactive.by_kind(web, film)]
    plots = [plot for pair in zip(plots, updates, strict=True) for plot in pair]
    return _coactive.outcome(setting, plots, *found)


def by_updates(place, kind, group):
    curves = []
    for k, result in zip(SIZES, group, strict=True):
        curve = result.curve()
        curve = curve.at(curve.x >= k)
        curves.append(replace(curve, x=curve.x / k))
    return Plot(file_name(place, kind, "updates"),
                f"{place.capitalize()}, {kind} feedback, by updates", "updates (rounds / k)",
                "average regret", curves, log="x", bottom=0.0)


def batch_findings(where, plot, *group):
    yield _coactive.is_ordered(f"The smaller the batch, the faster regret falls ({where}).",
                               group[::-1], plot=plot)
    dear = {k: r.over(group[0]) for k, r in zip(SIZES[1:], group[1:], strict=True)}
    text = (f"k = {k}: {one.times} times (√k = {math.sqrt(k):.1f})" for k, one in dear.items())
    small = (_judge.below(one, math.log(SHARE * math.sqrt(k))) for k, one in dear.items())
    yield claim("batch-factor", _judge.every(small), where=where, dear=", ".join(text),
                share=SHARE, plot=plot)


# --- figure 6: feedback that is informative on average only ---------------------------------------

ALIKE = 1.25


def expected(setting):
    alpha = {"alpha": 0.5}
    cases = [Case("strict"), Case("expected", web_user=("expected", alpha),
                                  movie_user=("expected", {**alpha, "base_alpha": 1.0}))]
    groups = _coactive.by_place((yield from _coactive.run(setting, cases, cases)))
    plots, findings = [], []
    for place, results in groups.items():
        plots.append(_coactive.average_plot(place, "strict and expected", results))
        findings += [_coactive.falls(f"expected feedback, {place}", results[1:],
                                     plot=plots[-1].name),
                     alike(place, *results, plots[-1].name)]
    return _coactive.outcome(setting, plots, findings, groups)


def alike(where, strict, expected, plot=""):
    ratio = expected.over(strict)
    return claim("expected-alike", _judge.alike(ratio, ALIKE), where=where, ratio=ratio,
                 ends=_coactive.ends([strict, expected]), alike=ALIKE, plot=plot)


# --- figures 7 and 8: a ranking SVM on all feedback so far; needs scikit-learn --------------------

# Both learners see the same sample of users and permutations.
PAPER = {  # seconds of the Preference Perceptron and of the SVM, for so many rounds
    "web search": (20 * 60.0, 20 * 3600.0, 28000, "ranking"),
    "movies": (125.0, 260.0, 1500, "movie"),
}
RULES = {  # what the paper says
    "web search, strict feedback": "Both do comparably",
    "movies, strict feedback": "The Preference Perceptron is much better",
    "web search, noisy feedback": "The Preference Perceptron is better over most of the range",
    "movies, noisy feedback": "The Preference Perceptron is better over most of the range",
}


def svm(setting):
    there = importlib.util.find_spec("sklearn") is not None
    sample = {
        "web search": f"{setting['permutations']} permutations, {setting['rankings']} rankings",
        "movies": f"{setting['users']} users"}
    web, film = yield from _coactive.run(
        setting, *(svm_cases(words, there) for words in sample.values()))

    def judge(where, plot, *group):
        says = f"{RULES[where]} ({where}, {sample[where.split(',')[0]]})."
        yield svm_finding(says, plot, *group) if there else claim("svm-missing", None, says=says)

    plots, findings, groups = _coactive.four(web, film, judge, story=("movies", "strict"))
    if there:
        findings.append(cost(web[:2], film[:2]))
    times = [*timings("web search", web[:len(web) // 2]), *timings("movies", film[:len(film) // 2])]
    return _coactive.outcome(setting, plots, findings, groups, seconds=times)


def svm_cases(words, there):
    """The two learners, strict and noisy; the one alone where the other cannot be had."""
    learners = [Case(f"preference perceptron ({words})"),
                Case(f"ranking SVM ({words})", "svm")][:2 if there else 1]
    return _coactive.with_noise(learners)


def svm_finding(says, plot, perceptron, svm):
    about = {"says": says, "ends": _coactive.ends([perceptron, svm]), "plot": plot}
    if "comparably" in says:
        ratio = svm.over(perceptron)
        return claim("svm-alike", _judge.alike(ratio, 2.0), ratio=ratio, **about)
    ratio = perceptron.log_range().minus(svm.log_range())
    return claim("svm-height", _judge.below(ratio), story="movies" in says, ratio=ratio,
                 early=_coactive.EARLY, **about)


def timings(place, group):
    """Of one permutation, of one user."""
    *paper, rounds, unit = PAPER[place]
    shorter = ("" if group[0].rounds[-1] >= rounds else
               "Its training grows faster than its rounds: the shorter stream flatters it.")
    for result, theirs, note in zip(group, paper, ("", shorter), strict=False):
        yield Timing(f"{place}, {result.case.label.split(' (')[0]}", unit, theirs, rounds,
                     result.seconds / result.runs, int(result.rounds[-1]), note)


def cost(web, film):
    ratios = [svm.log_seconds().minus(perceptron.log_seconds()) for perceptron, svm in (web, film)]
    return claim("svm-cost", _judge.all_above(ratios, np.log(2.0)), ratios=ratios)


# --- figures 9 and 10: the dueling bandit, tuned in hindsight -------------------------------------

# Presented objects depend on the ratio of its two parameters alone (w starts at zero, and the scale
# of w changes no order). So the 25 points are 25 ratios: five `explore`, a factor of ten apart, by
# five `step` that divide one decade.
EXPLORE = (0.01, 0.1, 1.0, 10.0, 100.0)
STEP = (0.1, 0.16, 0.25, 0.4, 0.63)
GRID = [{"explore": explore, "step": step} for explore in EXPLORE for step in STEP]


def dueling(setting):
    sample = setting["sample"]
    words = f"grid on {sample['users']} users and {sample['permutations']} permutations"
    points = _coactive.with_noise([
        Case(f"{p['explore']:g}, {p['step']:g}", "dueling", p, sample=sample) for p in GRID])
    tuned = yield from _coactive.run(setting, points, points)
    tables, cases, found = [], [], {}
    for place, kind, group in _coactive.by_kind(*tuned):
        best = min(group, key=lambda r: r.end)
        found[f"{place}, {kind}"] = best.case.settings
        tables.append(grid_table(place, kind, group, words))
        cases.append(replace(best.case, label=f"dueling bandit ({words})", sample={}))
    learner = Case("preference perceptron")
    web, film = yield from _coactive.run(
        setting, [learner, cases[0], learner.noisy(), cases[1]],
        [learner, cases[2], learner.noisy(), cases[3]])

    def judge(where, plot, *pair):
        return (matched if where.startswith("web search") else worse)(where, plot, *pair)

    return _coactive.outcome(setting, *_coactive.four(web, film, judge, ("web search", "strict")),
                             {"tuned": found}, tables=tables)


def grid_table(place, kind, group, words):
    rows = [[f"explore {explore:g}", *(r.end for r in group[i * len(STEP):][:len(STEP)])]
            for i, explore in enumerate(EXPLORE)]
    return Table(file_name("grid", place, kind),
                 f"Dueling bandit, average regret at the end: {place}, {kind} feedback",
                 ["", *(f"step {step:g}" for step in STEP)], rows, note=words)


def matched(where, plot, perceptron, dueling):
    """Whether the Preference Perceptron is soon as good as the other at its end."""
    t, last = perceptron.reaches(dueling.end), int(dueling.rounds[-1])
    text = (f"its average regret of {dueling.end:.4g} after {last:,} rounds is the Preference "
            + (f"Perceptron's after {t:,}" if t else "Perceptron's at no time")
            + f", whose own is {perceptron.end:.4g} then")
    about = {"where": where, "soon": text, "plot": plot}
    early = perceptron.log(last // 100).minus(dueling.log())
    yield claim("dueling-orders", _judge.below(early),
                "dueling-orders-noisy" if "noisy" in where else "", t=last // 100, early=early,
                **about)
    first = perceptron.log(100).minus(dueling.log())
    yield claim("dueling-hundred", _judge.below(first), first=first, **about)


def worse(where, plot, perceptron, dueling):
    ratio = dueling.over(perceptron)
    yield claim("dueling-worse", _judge.above(ratio, np.log(1.5)), where=where, ratio=ratio,
                ends=_coactive.ends([perceptron, dueling]), plot=plot)


# --- figures 11 and 12: exponentiated against additive updates ------------------------------------

# The variable rate, as there; S is the largest feature that an object can have: for rankings the
# sum of the discounts times the largest of a document, for movies the largest of an item.
BEGINNING = (10, 30, 100)  # rounds


def largest(sets):
    """S of both tasks."""
    discounts = 1.0 / np.log2(np.arange(2, 7))
    return {"web": np.abs(_sets.web_search(sets).features).max() * discounts.sum(),
            "movies": np.abs(_sets.movies(sets)[0].features).max()}


def exponentiated(setting):
    (scale,) = yield [Task(largest)]
    additive = Case("additive")
    web_case, movie_case = (Case("exponentiated", "exponentiated", {"scale": float(scale[on])})
                            for on in ("web", "movies"))
    web, film = yield from _coactive.run(
        setting, *(_coactive.with_noise([additive, one]) for one in (web_case, movie_case)))
    return _coactive.outcome(setting, *_coactive.four(web, film, exponentiated_findings),
                             {"S": {on: float(value) for on, value in scale.items()}})


def exponentiated_findings(where, plot, additive, exponentiated):
    early = [_judge.log_mean(np.mean([r.runs_at(t) for t in BEGINNING], axis=0))
             for r in (exponentiated, additive)]
    share = early[0].minus(early[1])
    yield claim("exponentiated-first", _judge.below(share), where=where, share=share, t=BEGINNING,
                plot=plot)
    share = exponentiated.over(additive)
    yield claim("exponentiated-last", _judge.alike(share, 2.0), where=where, share=share,
                ends=_coactive.ends([additive, exponentiated]), plot=plot)


# --- figures 13 to 18: convex losses, first and second order --------------------------------------

# The loss is c(theta) = (theta - M)^2, M the largest utility of any object by any w of the length
# of w*; the ball has radius 100. What is shown is cumulative: the regret of utilities, and of c.
RADIUS = 100.0
GAMMAS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
AFTER = (10, 100, 1000)  # rounds, of the sweep
WORSE = 1.1
MEASURES = {"regret": "utility regret", "convex": "quadratic regret"}

FIRST = Case("convex perceptron", "convex", {"radius": RADIUS})
SECOND = Case("second order", "second-order", {"radius": RADIUS, "gamma": 1.0})


def convex(setting):
    """Figures 13 and 14."""
    cases = [FIRST, SECOND]
    groups = _coactive.by_place((yield from _coactive.run(setting, cases, cases)))
    return _coactive.outcome(
        setting, cumulative_plots(groups, "strict"),
        [finding for judge in (lower, logarithmic) for place, pair in groups.items()
         for finding in judge(place, *pair)], groups)


def convex_noisy(setting):
    """Figures 17 and 18."""
    cases = [FIRST.noisy(), SECOND.noisy()]
    web, film = yield from _coactive.run(setting, cases, cases)
    same, less = (second.over(first) for first, second in (web, film))
    groups = _coactive.by_place((web, film))
    return _coactive.outcome(
        setting, cumulative_plots(groups, "noisy"), groups=groups, findings=[
            claim("convex-noise-web", _judge.alike(same, ALIKE), same=same, alike=ALIKE,
                  ends=_coactive.ends(web)),
            claim("convex-noise-movies", _judge.below(less), less=less, ends=_coactive.ends(film))])


def cumulative_plots(groups, kind):
    return [Plot(file_name(place, measure),
                 f"{place.capitalize()}, {kind} feedback", "round", f"cumulative {label}",
                 [r.curve(measure, cumulative=True) for r in results], log="x", bottom=0.0,
                 story=(place, measure, kind) == ("movies", "regret", "strict"))
            for place, results in groups.items() for measure, label in MEASURES.items()]


def lower(where, first, second):
    for measure, label in MEASURES.items():
        a, b = (r.curve(measure, cumulative=True).mean[-1] for r in (first, second))
        ratio = second.over(first, measure=measure)
        yield claim("convex-lower", _judge.below(ratio), story=measure == "regret", label=label,
                    where=where, a=a, b=b, ratio=ratio, plot=file_name(where, measure))


def growth(result, measure):
    """What the last tenfold of rounds adds to the cumulative regret, by what the one before did."""
    return last_step(int(result.rounds[-1]), lambda t: t * result.runs_at(t, measure))


def logarithmic(where, first, second):
    for measure, label in MEASURES.items():
        a, b = growth(first, measure), growth(second, measure)
        yield claim("convex-logarithmic",
                    _judge.every([_judge.below(b, LOGARITHM), _judge.below(b.minus(a))]),
                    label=label, where=where, a=a, b=b, logarithm=np.exp(LOGARITHM),
                    plot=file_name(where, measure))


def sweep(setting):
    """Figures 15 and 16."""
    cases = [Case(f"gamma = {g:g}", "second-order", {"radius": RADIUS, "gamma": g}) for g in GAMMAS]
    found = yield from _coactive.run(setting, [*cases, FIRST], [*cases, FIRST])
    groups = _coactive.by_place(found)
    plots = [sweep_plot(place, measure, label, results) for place, results in groups.items()
             for measure, label in MEASURES.items()]
    findings = [finding for one in groups.items() for finding in judge_sweep(*one)]
    return _coactive.outcome(setting, plots, [*findings, broader(*found)], groups)


def _after(results):
    return [t for t in AFTER if t <= results[0].rounds[-1]]


def sweep_plot(place, measure, label, results):
    curves = []
    for t in _after(results):
        at = np.searchsorted(results[0].rounds, t, side="right") - 1
        *swept, first = [r.curve(measure, cumulative=True) for r in results]
        curves += [
            Curve(f"second order, {t} rounds", np.array(GAMMAS),
                  np.array([c.mean[at] for c in swept]), np.array([c.error[at] for c in swept])),
            Curve(f"convex perceptron, {t} rounds", np.array(GAMMAS),
                  np.full(len(GAMMAS), first.mean[at]))]
    return Plot(file_name(place, measure), f"{place.capitalize()}, strict feedback",
                "gamma", f"cumulative {label}", curves, log="xy")


def broader(web, film):
    texts, sure, maybe = [], [], []
    for place, (*swept, first) in _coactive.by_place((web, film)).items():
        better = [_judge.below(r.over(first, _after(swept)[-1])) for r in swept]
        good = [f"{g:g}" for g, holds in zip(GAMMAS, better, strict=True) if holds]
        texts.append(f"{place}: {', '.join(good) or 'none'}")
        sure.append(better.count(True))
        maybe.append(len(better) - better.count(False))
    holds = True if sure[0] > maybe[1] else False if maybe[0] <= sure[1] else None
    return claim("gamma-broader", holds, good="; ".join(texts))


def judge_sweep(where, results):
    t = _after(results)[-1]
    logs = [r.log(t) for r in results[:-1]]
    text = ", ".join(f"{g:g}: {np.exp(v.value):.4g}" for g, v in zip(GAMMAS, logs, strict=True))
    about = {"where": where, "t": t, "regret": text, "plot": file_name(where, "regret")}
    best = min(logs[1:-1], key=lambda log: log.value)
    extremes = (end.minus(best) for end in (logs[0], logs[-1]))
    yield claim("gamma-extremes", _judge.all_above(extremes, np.log(WORSE)), worse=WORSE, **about)
    one = GAMMAS.index(1.0)
    others = (logs[one].minus(log) for i, log in enumerate(logs) if i != one)
    yield claim("gamma-one", _judge.all_below(others), **about)


# --- section 6.1.2: what the films' features are worth to users they were not made from -----------

# The coactive papers choose rank and regularisation by cross-validation on the half of the users
# that the features are made from, and do not say what came of it. The other experiments have rank
# 50 and 0.1; this one tries some pairs as `coactive_fast.data.choose_factors` does, with several
# draws of the folds, and runs the Preference Perceptron on the best of them too.

HIGH = 10.0  # an imputed rating that nobody can mean: twice the highest there is
FOLDS = 3


def errors(sets, rank, regularization, draw, seed):
    """Of ratings kept back, of users whom the features do not know; and of their means."""
    train, _ = _sets.halves(sets)
    found = data.choose_factors(train, ranks=(rank,), regularizations=(regularization,),
                                folds=FOLDS, seed=[seed, draw])
    return {"error": found.errors[0, 0], "constant": found.constant}


def imputed(sets, embedding):
    """The share of the other half's users who get some imputed rating above `HIGH`."""
    items, ratings = _sets.movies(sets, *embedding)
    weights = data.fit_user_weights(ratings, items.features)
    highest = [(items.features @ w).max() for w in weights]
    return {"share": np.mean(np.array(highest) > HIGH), "median": np.median(highest)}


def embedding(setting):
    usual = (50 if setting.sets.real else 10, 0.1)
    ranks, weights, draws = (setting[name] for name in ("ranks", "weights", "draws"))
    ranks = sorted({*ranks, usual[0]})
    pairs = [(rank, weight) for rank in ranks for weight in weights]
    found = yield from _plan.grouped({
        (rank, weight): [Task(errors, {"rank": rank, "regularization": weight, "draw": draw,
                                       "seed": setting.seed}) for draw in range(draws)]
        for rank, weight in pairs})
    error = {pair: stacked(some)["error"] for pair, some in found.items()}
    constant = stacked(found[pairs[0]])["constant"]  # of each draw
    best = min(pairs, key=lambda pair: error[pair].mean())
    shown = list(dict.fromkeys([usual, best]))
    shares = yield [Task(imputed, {"embedding": list(pair)}) for pair in shown]
    cases = [Case(f"{'chosen: ' if pair == best else ''}rank {pair[0]}, {pair[1]:g}",
                  embedding=pair) for pair in shown]
    _, film = yield from _coactive.run(setting, (), _coactive.with_noise(cases))
    plots = [
        Plot("errors", "Ratings kept back of users the features do not know", "rank",
             "mean squared error", [
                 Curve.of_runs(f"regularisation {weight:g}", ranks,
                               np.transpose([error[rank, weight] for rank in ranks]))
                 for weight in weights], log="xy",
             levels={"each user's mean": float(constant.mean())}),
        *(_coactive.average_plot("movies", kind, results) for _, kind, results in
          _coactive.by_kind((), film) if results)]
    table = Table(
        "embedding", "Features of films, and users they were not made from",
        ["rank", "regularisation", "error", "error of the means",
         f"users with an imputed rating above {HIGH:g}", "median of the highest"],
        [[*pair, error[pair].mean(), constant.mean(), float(one["share"]), float(one["median"])]
         for pair, one in zip(shown, shares, strict=True)])
    strict, noisy = (film[i] for i in (len(shown) - 1, len(film) - 1))  # with those chosen
    return _coactive.outcome(setting, plots, [*worth(error, usual, best, constant),
                                              *regrets(strict, noisy)],
                             {"movies": film}, tables=[table],
                             parameters={"chosen": list(best), "usual": list(usual)})


def worth(at, usual, best, constant):
    for key, pair in (("embedding-chosen", best), ("embedding-usual", usual)):
        gap = _judge.mean(at[pair] - constant)
        yield claim(key, _judge.below(gap), "embedding-fitted" if pair == usual else "", pair=pair,
                    error=at[pair].mean(), constant=constant.mean(), gap=gap)


def regrets(strict, noisy):
    yield _coactive.falls("movies, chosen features", [strict], plot="movies-strict")
    more = noisy.over(strict)
    yield claim("embedding-noise", _judge.above(more), more=more)


EXPERIMENTS = [
    _coactive.experiment("coactive-noise", "Regret for noisy feedback", "figure 3", noise, (1, 1)),
    _coactive.experiment("coactive-batch", "Updates by batches", "figures 4 and 5", batch, (1, 60)),
    _coactive.experiment("coactive-expected", "Expected against deterministic feedback",
                         "figure 6", expected, (1, 1)),
    _coactive.experiment("coactive-svm", "The ranking SVM", "figures 7 and 8", svm, (6, 340),
                         quick={"permutations": 5, "rankings": 50, "users": 12, "rounds": 60},
                         full={"permutations": 5, "rankings": 1000, "users": 50, "rounds": 1500}),
    _coactive.experiment(
        "coactive-dueling", "The dueling bandit with its 25-point grid", "figures 9 and 10",
        dueling, (7, 100), {**_coactive.QUICK, "sample": {"permutations": 2, "users": 10}},
        {**_coactive.PAPER, "sample": {"permutations": 5, "users": 100}}),
    _coactive.experiment("coactive-exponentiated", "Exponentiated against additive updates",
                         "figures 11 and 12", exponentiated, (1, 60)),
    _coactive.experiment("coactive-convex", "Convex losses: first against second order",
                         "figures 13 and 14", convex, (1, 70)),
    _coactive.experiment("coactive-gamma", "The second order by gamma", "figures 15 and 16", sweep,
                         (4, 400)),
    _coactive.experiment("coactive-convex-noise", "Convex losses with noisy feedback",
                         "figures 17 and 18", convex_noisy, (1, 15)),
    Experiment(
        "coactive-embedding", "The films' features and new users", "coactive", "section 6.1.2",
        "MovieLens 1M", embedding, cost=(18, 110),
        quick={"ranks": [2, 10], "weights": [0.1], "draws": 3, "users": 100, "rounds": 300},
        full={"ranks": [3, 6, 10, 20, 50], "weights": [0.03, 0.1], "draws": 3, "users": 3020,
              "rounds": 1500}),
]
