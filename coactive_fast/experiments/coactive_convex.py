"""Figures 13 to 18 of the coactive papers: convex losses, first and second order.

The loss is c(theta) = (theta - M)^2, M the largest utility of any object by any w of the length
of w*; the ball has radius 100. What is shown is cumulative: the regret of utilities, and of c.
"""

import numpy as np

from . import _coactive, _judge
from ._coactive import Case
from ._plan import Curve, Finding, Plot, file_name

RADIUS = 100.0
GAMMAS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
AFTER = (10, 100, 1000)  # rounds, of the sweep
ALIKE = 1.25
LOGARITHM = 0.25 * np.log(10.0)  # between growing like ln t, 0, and like sqrt(t), twice this
WORSE = 1.1
MEASURES = {"regret": "utility regret", "convex": "quadratic regret"}

FIRST = Case("convex perceptron", "convex", {"radius": RADIUS})
SECOND = Case("second order", "second-order", {"radius": RADIUS, "gamma": 1.0})


def play(setting):
    """Figures 13 and 14."""
    cases = [FIRST, SECOND]
    web, film = yield from _coactive.run(setting, cases, cases)
    return _coactive.outcome(
        setting, groups={"web search": web, "movies": film},
        plots=cumulative_plots(web, film, "strict", story=[("movies", "regret")]),
        findings=[*lower("web search", *web), *lower("movies", *film),
                  *logarithmic("web search", *web), *logarithmic("movies", *film)])


def noisy(setting):
    """Figures 17 and 18."""
    cases = [FIRST.noisy(), SECOND.noisy()]
    web, film = yield from _coactive.run(setting, cases, cases)
    same, less = (second.log().minus(first.log()) for first, second in (web, film))
    return _coactive.outcome(
        setting, groups={"web search": web, "movies": film},
        plots=cumulative_plots(web, film, "noisy"),
        findings=[
            Finding("With noisy feedback both are nearly identical (web search).",
                    f"second order: {same.times} of the other's regret; {_coactive.ends(web)}",
                    _judge.alike(same, ALIKE), plot="web-search-regret",
                    test=f"After the last round the regrets are within a factor of {ALIKE:g}, "
                         "run by run."),
            Finding("With noisy feedback the second order keeps some advantage (movies).",
                    f"second order: {less.times} of the other's regret; {_coactive.ends(film)}",
                    _judge.below(less), plot="movies-regret",
                    test="Its regret after the last round is lower, user by user.")])


def cumulative_plots(web, film, kind, story=()):
    return [Plot(file_name(place, measure),
                 f"{place.capitalize()}, {kind} feedback", "round", f"cumulative {label}",
                 [r.curve(measure, cumulative=True) for r in results], log="x", bottom=0.0,
                 story=(place, measure) in story)
            for place, results in (("web search", web), ("movies", film))
            for measure, label in MEASURES.items()]


def lower(where, first, second):
    for measure, label in MEASURES.items():
        a, b = (r.curve(measure, cumulative=True).mean[-1] for r in (first, second))
        ratio = second.log(measure=measure).minus(first.log(measure=measure))
        yield Finding(
            f"The second order's {label} is lower ({where}).",
            f"{b:.4g} against {a:.4g} in all rounds: {ratio.times} times", _judge.below(ratio),
            test="Its mean after the last round is lower, run by run.",
            plot=file_name(where, measure),
            main="the second order has less regret" if measure == "regret" else "")


def growth(result, measure):
    """What the last tenfold of rounds adds to the cumulative regret, by what the one before did.

    The logarithm, an estimate over the runs.
    """
    last = int(result.rounds[-1])
    all_, tenth, hundredth = (t * result.runs_at(t, measure)
                              for t in (last, last // 10, last // 100))
    return _judge.log_ratio(all_ - tenth, tenth - hundredth)


def logarithmic(where, first, second):
    for measure, label in MEASURES.items():
        a, b = growth(first, measure), growth(second, measure)
        yield Finding(
            f"The second order's cumulative {label} grows like the logarithm, the other's faster "
            f"({where}).",
            f"the last tenfold of rounds adds {b.times} times what the one before added, convex "
            f"perceptron: {a.times}",
            _judge.every([_judge.below(b, LOGARITHM), _judge.below(b.minus(a))]),
            test=f"It adds less than {np.exp(LOGARITHM):.2f} times as much in the last tenfold of "
                 "rounds as in the one before (a logarithm 1, a square root 3.16), and less than "
                 "the other, run by run.", plot=file_name(where, measure))


# --- figures 15 and 16 ----------------------------------------------------------------------------


def sweep(setting):
    cases = [Case(f"gamma = {g:g}", "second-order", {"radius": RADIUS, "gamma": g})
             for g in GAMMAS]
    web, film = yield from _coactive.run(setting, [*cases, FIRST], [*cases, FIRST])
    groups = {"web search": web, "movies": film}
    plots = [sweep_plot(place, measure, label, results) for place, results in groups.items()
             for measure, label in MEASURES.items()]
    found = [finding for place, results in groups.items()
             for finding in judge_sweep(place, results)]
    return _coactive.outcome(setting, plots, [*found, broader(web, film)], groups)


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
    spans = [[_judge.below(ratio) for ratio in beside_first(results)] for results in (web, film)]
    text = "; ".join(
        f"{place}: " + (", ".join(f"{g:g}" for g, better in zip(GAMMAS, span, strict=True)
                                  if better) or "none")
        for place, span in zip(("web search", "movies"), spans, strict=True))
    sure, maybe = zip(*((s.count(True), len(s) - s.count(False)) for s in spans), strict=True)
    return Finding(
        "The range of good gamma is much broader on web search.",
        f"gamma with less regret than the convex perceptron: {text}",
        True if sure[0] > maybe[1] else False if maybe[0] <= sure[1] else None,
        "Counted on a grid of tenfolds, by which much cannot be told.",
        test="More of the gammas tried have less regret than the convex perceptron on web search "
             "than on movies, run by run.")


def beside_first(results):
    """The logarithm of each gamma's regret over that of the convex perceptron."""
    *swept, first = results
    t = _after(results)[-1]
    return [r.log(t).minus(first.log(t)) for r in swept]


def judge_sweep(where, results):
    t = _after(results)[-1]
    logs = [r.log(t) for r in results[:-1]]
    text = ", ".join(f"{g:g}: {np.exp(v.value):.4g}" for g, v in zip(GAMMAS, logs, strict=True))
    about = {"measured": f"average regret after {t} rounds by gamma: {text}",
             "plot": file_name(where, "regret")}
    best = min(logs[1:-1], key=lambda log: log.value)
    yield Finding(
        f"At either extreme of gamma the regret is worse ({where}).", **about,
        holds=_judge.every(_judge.above(end.minus(best), np.log(WORSE))
                           for end in (logs[0], logs[-1])),
        test=f"The smallest and the largest gamma each have more than {WORSE:g} times the regret "
             "of the best between them, run by run.")
    one = GAMMAS.index(1.0)
    yield Finding(
        f"Gamma = 1 is the best of those tried ({where}).", **about,
        holds=_judge.every(_judge.below(logs[one].minus(log))
                           for i, log in enumerate(logs) if i != one),
        test="Gamma = 1 has less regret than each other, run by run.")


EXPERIMENTS = [
    _coactive.experiment("coactive-convex", "Convex losses: first against second order",
                         "figures 13 and 14", play, (1, 70)),
    _coactive.experiment("coactive-gamma", "The second order by gamma", "figures 15 and 16", sweep,
                         (4, 400)),
    _coactive.experiment("coactive-convex-noise", "Convex losses with noisy feedback",
                         "figures 17 and 18", noisy, (1, 15)),
]
