"""Figure 2 of the coactive papers: regret by how informative the feedback is."""

import numpy as np

from . import _coactive, _judge
from ._coactive import Case
from ._plan import claim

ALPHAS = (0.1, 0.5, 1.0)


def play(setting):
    cases = [Case(f"alpha = {a:g}", web_user=("strict", {"alpha": a}),
                  movie_user=("strict", {"alpha": a})) for a in ALPHAS]
    found = yield from _coactive.run(setting, cases, cases)
    groups, plots, findings = _coactive.by_place(found), [], []
    for place, results in groups.items():
        plots.append(_coactive.average_plot(place, "strict", results, story=place == "movies"))
        about = {"plot": plots[-1].name}
        findings += [
            _coactive.falls(place, results, main="regret goes to zero", **about),
            _coactive.is_ordered(f"The higher alpha, the lower the regret ({place}).", results,
                                 main="better feedback, less regret", **about)]
    return _coactive.outcome(setting, plots, [*findings, *judge(*found)], groups)


def judge(web, film):
    dear = [results[0].over(results[-1]) for results in (web, film)]
    yield claim("alpha-tenth", _judge.all_below(dear, np.log(5.0)), dear=dear)
    yield claim("alpha-web", _judge.below(dear[0].minus(dear[1], same_runs=False)), dear=dear)


EXPERIMENTS = [_coactive.experiment(
    "coactive-alpha", "Regret for strictly α-informative feedback", "figure 2", play, (2, 60))]
