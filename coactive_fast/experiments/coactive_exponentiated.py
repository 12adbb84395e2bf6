"""Figures 11 and 12 of the coactive papers: exponentiated against additive updates.

The variable rate, as there; S is the largest feature that an object can have: for rankings the
sum of the discounts times the largest of a document, for movies the largest of an item.
"""

import numpy as np

from . import _coactive, _sets
from ._coactive import Case
from ._plan import Finding, Task


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
        findings += judge(f"{place}, {kind} feedback", *pair)
        groups[f"{place}, {kind}"] = pair
    return _coactive.outcome(setting, plots, findings, groups,
                             {"S": {on: float(value) for on, value in scale.items()}})


def judge(where, additive, exponentiated):
    times = (10, 30, 100)
    shares = [exponentiated.at(t) / additive.at(t) for t in times]
    yield Finding(
        f"At first the exponentiated learner tends to be slightly better ({where}).",
        ", ".join(f"{share:.2f} of the additive's regret after {t}"
                  for t, share in zip(times, shares, strict=True)),
        bool(np.mean(shares) < 1.0), "On average over these three.")
    share = exponentiated.end / additive.end
    yield Finding(
        f"After many rounds both are comparable ({where}).",
        f"{share:.2f} of the additive's regret after the last round "
        f"({_coactive.ends([additive, exponentiated])})",
        bool(0.5 < share < 2.0), "Within a factor of two.")


EXPERIMENTS = [_coactive.experiment(
    "coactive-exponentiated", "Exponentiated against additive updates", "figures 11 and 12", play,
    (1, 150))]
