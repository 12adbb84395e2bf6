"""Figures 4 and 5 of the coactive papers: an update after every k rounds.

The paper's x axis is time in seconds. Curves here are by the round, and by the number of updates;
the seconds are among the parameters.
"""

import math

from . import _coactive, _judge
from ._coactive import Case
from ._plan import Curve, Finding, Plot, file_name

SIZES = (1, 10, 100)
SHARE = 0.6  # of √k, to be much less


def play(setting):
    cases = [Case(f"k = {k}", settings={} if k == 1 else {"batch": k}) for k in SIZES]
    cases += [case.noisy() for case in cases]
    web, film = yield from _coactive.run(setting, cases, cases)
    plots, findings, groups = [], [], {}
    for place, kind, group in _coactive.by_kind(web, film):
        plots += [_coactive.average_plot(place, kind, group), by_updates(place, kind, group)]
        findings += judge(f"{place}, {kind} feedback", plots[-2].name, group)
        groups[f"{place}, {kind}"] = group
    return _coactive.outcome(setting, plots, findings, groups)


def by_updates(place, kind, group):
    curves = []
    for k, result in zip(SIZES, group, strict=True):
        curve = result.curve()
        there = curve.x >= k
        curves.append(Curve(curve.label, curve.x[there] / k, curve.mean[there],
                            None if curve.error is None else curve.error[there]))
    return Plot(file_name(place, kind, "updates"),
                f"{place.capitalize()}, {kind} feedback, by updates", "updates (rounds / k)",
                "average regret", curves, log="x", bottom=0.0)


def judge(where, plot, group):
    yield _coactive.is_ordered(f"The smaller the batch, the faster regret falls ({where}).",
                               group[::-1], plot=plot)
    dear = [r.log().minus(group[0].log()) for r in group[1:]]
    roots = [math.sqrt(k) for k in SIZES[1:]]
    yield Finding(
        f"Regret grows much less than by the bound's factor √k ({where}).",
        ", ".join(f"k = {k}: {one.times} times (√k = {root:.1f})"
                  for k, one, root in zip(SIZES[1:], dear, roots, strict=True)),
        _judge.every(_judge.below(one, math.log(SHARE * root))
                     for one, root in zip(dear, roots, strict=True)), plot=plot,
        test=f"After the last round, for each k the regret is less than {SHARE:g} √k times that "
             "of k = 1, run by run.", main="batches cost less than the bound's √k")


EXPERIMENTS = [_coactive.experiment(
    "coactive-batch", "Updates by batches", "figures 4 and 5", play, (1, 60))]
