"""Figure 2 of the coactive papers: regret by how informative the feedback is."""

from . import _coactive
from ._coactive import Case
from ._plan import Finding

ALPHAS = (0.1, 0.5, 1.0)


def play(setting):
    cases = [Case(f"alpha = {a:g}", web_user=("strict", {"alpha": a}),
                  movie_user=("strict", {"alpha": a})) for a in ALPHAS]
    web, film = yield from _coactive.run(setting, cases, cases)
    ratios = [results[0].end / results[-1].end for results in (web, film)]
    both = f"web search {ratios[0]:.2g}, movies {ratios[1]:.2g} times the regret of alpha = 1"
    return _coactive.outcome(
        setting, groups={"web search": web, "movies": film},
        plots=[_coactive.average_plot("web search", "strict", web),
               _coactive.average_plot("movies", "strict", film)],
        findings=[
            _coactive.falls("web search", web), _coactive.falls("movies", film),
            _coactive.is_ordered("The higher alpha, the lower the regret (web search).", web),
            _coactive.is_ordered("The higher alpha, the lower the regret (movies).", film),
            Finding("A tenth of alpha costs much less than ten times the regret.",
                    f"alpha = 0.1: {both}", max(ratios) < 5.0),
            Finding("Alpha matters less on web search, where feedback is better than asked for.",
                    f"alpha = 0.1: {both}", ratios[0] < ratios[1])])


EXPERIMENTS = [_coactive.experiment(
    "coactive-alpha", "Regret for strictly α-informative feedback", "figure 2", play, (1, 30))]
