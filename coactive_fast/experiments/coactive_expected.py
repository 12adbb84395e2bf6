"""Figure 6 of the coactive papers: feedback that is informative on average only."""

from . import _coactive
from ._coactive import Case
from ._plan import Finding


def play(setting):
    alpha = {"alpha": 0.5}
    cases = [Case("strict"), Case("expected", web_user=("expected", alpha),
                                  movie_user=("expected", {**alpha, "base_alpha": 1.0}))]
    web, film = yield from _coactive.run(setting, cases, cases)
    return _coactive.outcome(
        setting, groups={"web search": web, "movies": film},
        plots=[_coactive.average_plot("web search", "strict and expected", web),
               _coactive.average_plot("movies", "strict and expected", film)],
        findings=[_coactive.falls("expected feedback, web search", web[1:]),
                  alike("web search", *web),
                  _coactive.falls("expected feedback, movies", film[1:]), alike("movies", *film)])


def alike(where, strict, expected):
    early = strict.at(10), expected.at(10)
    return Finding(
        f"After many rounds there is not much between the two ({where}).",
        f"{_coactive.ends([strict, expected])}; after 10 rounds {early[0]:.3g} and {early[1]:.3g}",
        abs(expected.end - strict.end) < 0.1 * early[0],
        "The gap is less than a tenth of the regret after ten rounds, the height of the picture.")


EXPERIMENTS = [_coactive.experiment(
    "coactive-expected", "Expected against deterministic feedback", "figure 6", play, (1, 50))]
