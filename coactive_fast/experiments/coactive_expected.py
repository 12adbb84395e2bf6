"""Figure 6 of the coactive papers: feedback that is informative on average only."""

from . import _coactive, _judge
from ._coactive import Case
from ._plan import Finding

ALIKE = 1.25


def play(setting):
    alpha = {"alpha": 0.5}
    cases = [Case("strict"), Case("expected", web_user=("expected", alpha),
                                  movie_user=("expected", {**alpha, "base_alpha": 1.0}))]
    found = yield from _coactive.run(setting, cases, cases)
    plots, findings, groups = [], [], {}
    for place, results in zip(("web search", "movies"), found, strict=True):
        plots.append(_coactive.average_plot(place, "strict and expected", results))
        findings += [_coactive.falls(f"expected feedback, {place}", results[1:],
                                     plot=plots[-1].name),
                     alike(place, *results, plots[-1].name)]
        groups[place] = results
    return _coactive.outcome(setting, plots, findings, groups)


def alike(where, strict, expected, plot=""):
    ratio = expected.log().minus(strict.log())
    return Finding(
        f"After many rounds there is not much between the two ({where}).",
        f"{_coactive.ends([strict, expected])}: {ratio.times} times the regret",
        _judge.alike(ratio, ALIKE), plot=plot,
        test=f"After the last round the regrets are within a factor of {ALIKE:g}, run by run.")


EXPERIMENTS = [_coactive.experiment(
    "coactive-expected", "Expected against deterministic feedback", "figure 6", play, (1, 1))]
