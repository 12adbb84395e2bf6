"""Figures 11 and 12 of the coactive papers: exponentiated against additive updates.

The variable rate, as there; S is the largest feature that an object can have: for rankings the
sum of the discounts times the largest of a document, for movies the largest of an item.
"""

import numpy as np

from . import _coactive, _judge, _sets
from ._coactive import Case
from ._plan import Finding, Task

FIRST = (10, 30, 100)  # rounds


def largest(sets):
    """S of both tasks."""
    discounts = 1.0 / np.log2(np.arange(2, 7))
    return {"web": np.abs(_sets.web_search(sets).features).max() * discounts.sum(),
            "movies": np.abs(_sets.movies(sets)[0].features).max()}


def play(setting):
    (scale,) = yield [Task(largest)]
    additive = Case("additive")
    web_case, movie_case = (Case("exponentiated", "exponentiated", {"scale": float(scale[on])})
                            for on in ("web", "movies"))
    web, film = yield from _coactive.run(
        setting, [additive, web_case, additive.noisy(), web_case.noisy()],
        [additive, movie_case, additive.noisy(), movie_case.noisy()])
    plots, findings, groups = [], [], {}
    for place, kind, pair in _coactive.by_kind(web, film):
        plots.append(_coactive.average_plot(place, kind, pair))
        findings += judge(f"{place}, {kind} feedback", plots[-1].name, *pair)
        groups[f"{place}, {kind}"] = pair
    return _coactive.outcome(setting, plots, findings, groups,
                             {"S": {on: float(value) for on, value in scale.items()}})


def judge(where, plot, additive, exponentiated):
    early = [_judge.log_mean(np.mean([r.runs_at(t) for t in FIRST], axis=0))
             for r in (exponentiated, additive)]
    share = early[0].minus(early[1])
    yield Finding(
        f"At first the exponentiated learner tends to be slightly better ({where}).",
        f"{share.times} of the additive's regret", _judge.below(share), plot=plot,
        test=f"Its regret, the mean of those after {FIRST[0]}, {FIRST[1]} and {FIRST[2]} rounds, "
             "is the smaller one, run by run.")
    share = exponentiated.log().minus(additive.log())
    yield Finding(
        f"After many rounds both are comparable ({where}).",
        f"{share.times} of the additive's regret after the last round "
        f"({_coactive.ends([additive, exponentiated])})", _judge.alike(share, 2.0), plot=plot,
        test="After the last round the regrets are within a factor of two, run by run.",
        main="exponentiated and additive updates end alike")


EXPERIMENTS = [_coactive.experiment(
    "coactive-exponentiated", "Exponentiated against additive updates", "figures 11 and 12", play,
    (1, 60))]
