"""Figures 13 to 18 of the coactive papers: convex losses, first and second order.

The loss is c(theta) = (theta - M)^2, M the largest utility of any object by any w of the length
of w*; the ball has radius 100. What is shown is cumulative: the regret of utilities, and of c.
"""

import numpy as np

from . import _coactive
from ._coactive import Case
from ._plan import Curve, Finding, Plot, file_name

RADIUS = 100.0
GAMMAS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
AFTER = (10, 100, 1000)  # rounds, of the sweep
MEASURES = {"regret": "utility regret", "convex": "quadratic regret"}

FIRST = Case("convex perceptron", "convex", {"radius": RADIUS})
SECOND = Case("second order", "second-order", {"radius": RADIUS, "gamma": 1.0})


def play(setting):
    """Figures 13 and 14."""
    cases = [FIRST, SECOND]
    web, film = yield from _coactive.run(setting, cases, cases)
    return _coactive.outcome(
        setting, groups={"web search": web, "movies": film},
        plots=cumulative_plots(web, film, "strict"),
        findings=[*lower("web search", *web), *lower("movies", *film),
                  *logarithmic("web search", *web), *logarithmic("movies", *film)])


def noisy(setting):
    """Figures 17 and 18."""
    cases = [FIRST.noisy(), SECOND.noisy()]
    web, film = yield from _coactive.run(setting, cases, cases)
    share = [pair[1].end / pair[0].end for pair in (web, film)]
    gain, error, part = film[1].less_than(film[0])
    return _coactive.outcome(
        setting, groups={"web search": web, "movies": film},
        plots=cumulative_plots(web, film, "noisy"),
        findings=[
            Finding("With noisy feedback both are nearly identical (web search).",
                    f"second order: {share[0]:.2f} of the other's regret; {_coactive.ends(web)}",
                    0.8 < share[0] < 1.25, "Within a fifth."),
            Finding("With noisy feedback the second order keeps some advantage (movies).",
                    f"second order: {share[1]:.2f} of the other's regret; {_coactive.ends(film)}; "
                    f"user by user lower by {gain:.3g} ± {error:.2g}, for {part:.0%} of them",
                    bool(gain > 2.0 * error), "Lower by more than two standard errors.")])


def cumulative_plots(web, film, kind):
    return [Plot(file_name(place, measure),
                 f"{place.capitalize()}, {kind} feedback", "round", f"cumulative {label}",
                 [r.curve(measure, cumulative=True) for r in results], log="x", bottom=0.0)
            for place, results in (("web search", web), ("movies", film))
            for measure, label in MEASURES.items()]


def lower(where, first, second):
    for measure, label in MEASURES.items():
        a, b = (r.curve(measure, cumulative=True).mean[-1] for r in (first, second))
        gain, error, share = second.less_than(first, measure)
        gain, error = gain * first.rounds[-1], error * first.rounds[-1]
        yield Finding(
            f"The second order's {label} is lower ({where}).",
            f"{b:.4g} against {a:.4g} in all rounds, lower by {gain:.4g} ± {error:.2g}; lower for "
            f"{share:.0%} of the {second.runs} runs or users",
            bool(gain > 0.0 and share > 0.5 + 1.0 / np.sqrt(second.runs)),
            "Lower for more of them than two standard deviations of a coin; the means rest on the "
            "few users whose w* is very long.")


def growth(curve):
    """What the last tenfold of rounds adds to the cumulative regret, by what the one before did."""
    last = curve.x[-1]
    now, tenth, hundredth = (curve.mean[np.searchsorted(curve.x, t, side="right") - 1]
                             for t in (last, last // 10, max(last // 100, 1)))
    return (now - tenth) / (tenth - hundredth)


def logarithmic(where, first, second):
    for measure, label in MEASURES.items():
        a, b = (growth(r.curve(measure, cumulative=True)) for r in (first, second))
        yield Finding(
            f"The second order's cumulative {label} grows like the logarithm, the other's faster "
            f"({where}).",
            f"the last tenfold of rounds adds {b:.2f} times what the one before added, convex "
            f"perceptron: {a:.2f}",
            bool(b < 10.0**0.25 and a > b),
            "A logarithm adds the same (1.0), a square root 3.2 times; it is nearer to the former.")


# --- figures 15 and 16 ----------------------------------------------------------------------------


def sweep(setting):
    cases = [Case(f"gamma = {g:g}", "second-order", {"radius": RADIUS, "gamma": g})
             for g in GAMMAS]
    web, film = yield from _coactive.run(setting, [*cases, FIRST], [*cases, FIRST])
    plots, spans = [], {}
    for place, results in (("web search", web), ("movies", film)):
        for measure, label in MEASURES.items():
            plots.append(sweep_plot(place, measure, label, results))
        spans[place] = good(results)
    return _coactive.outcome(
        setting, groups={"web search": web, "movies": film}, plots=plots,
        findings=[*judge_sweep("web search", web), *judge_sweep("movies", film),
                  Finding("The range of good gamma is much broader on web search.",
                          ", ".join(f"{place}: {', '.join(f'{g:g}' for g in span)}"
                                    for place, span in spans.items())
                          + " have less regret than the convex perceptron",
                          len(spans["web search"]) > len(spans["movies"]),
                          "Counted on a grid of tenfolds, by which much cannot be told.")])


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


def good(results):
    *swept, first = results
    t = _after(results)[-1]
    return [g for g, r in zip(GAMMAS, swept, strict=True) if r.at(t) < first.at(t)]


def judge_sweep(where, results):
    t = _after(results)[-1]
    values = [r.at(t) for r in results[:-1]]
    text = ", ".join(f"{g:g}: {v:.4g}" for g, v in zip(GAMMAS, values, strict=True))
    best, one = GAMMAS[int(np.argmin(values))], values[GAMMAS.index(1.0)] / min(values)
    yield Finding(f"At either extreme of gamma the regret is worse ({where}).",
                  f"average regret after {t} rounds by gamma: {text}",
                  bool(min(values[0], values[-1]) > 1.1 * min(values)), "By more than a tenth.")
    yield Finding(f"Gamma = 1 is the best of those tried ({where}).",
                  f"{best:g} is; 1 has {one:.3f} times its regret", best == 1.0)


EXPERIMENTS = [
    _coactive.experiment("coactive-convex", "Convex losses: first against second order",
                         "figures 13 and 14", play, (1, 80)),
    _coactive.experiment("coactive-gamma", "The second order by gamma", "figures 15 and 16", sweep,
                         (1, 300)),
    _coactive.experiment("coactive-convex-noise", "Convex losses with noisy feedback",
                         "figures 17 and 18", noisy, (1, 130)),
]
