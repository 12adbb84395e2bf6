"""Figures 9 and 10 of the coactive papers: the dueling bandit, tuned in hindsight.

Presented objects depend on the ratio of its two parameters alone (w starts at zero, and the scale
of w changes no order). So the 25 points are 25 ratios: five `explore`, a factor of ten apart, by
five `step` that divide one decade.
"""

from dataclasses import replace

import numpy as np

from . import _coactive, _judge
from ._coactive import Case
from ._plan import Finding, Table, file_name

EXPLORE = (0.01, 0.1, 1.0, 10.0, 100.0)
STEP = (0.1, 0.16, 0.25, 0.4, 0.63)
GRID = [{"explore": explore, "step": step} for explore in EXPLORE for step in STEP]

RANDOM = ("Random directions take rounds in proportion to the features: 46 in MQ2008, 100 in "
          "generated queries, some 700 in the paper's set.")
RESTLESS = ("With noisy feedback the Preference Perceptron's weights, short beside its steps, "
            "never rest; the mean of its weights would do as well as the dueling bandit's.")


def play(setting):
    sample = setting["sample"]
    told = f"grid on {sample['users']} users and {sample['permutations']} permutations"
    points = [Case(f"{p['explore']:g}, {p['step']:g}", "dueling", p, sample=sample) for p in GRID]
    points += [point.noisy() for point in points]
    tuned = yield from _coactive.run(setting, points, points)
    tables, cases, found = [], [], {}
    for place, kind, group in _coactive.by_kind(*tuned):
        best = min(group, key=lambda r: r.end)
        found[f"{place}, {kind}"] = best.case.settings
        tables.append(grid_table(place, kind, group, told))
        cases.append(replace(best.case, label=f"dueling bandit ({told})", sample={}))
    learner = Case("preference perceptron")
    web, film = yield from _coactive.run(
        setting, [learner, cases[0], learner.noisy(), cases[1]],
        [learner, cases[2], learner.noisy(), cases[3]])
    plots, findings, groups = [], [], {}
    for place, kind, pair in _coactive.by_kind(web, film):
        plots.append(_coactive.average_plot(place, kind, pair,
                                            story=(place, kind) == ("web search", "strict")))
        judge = matched if place == "web search" else worse
        findings += judge(f"{place}, {kind} feedback", plots[-1].name, *pair)
        groups[f"{place}, {kind}"] = pair
    return _coactive.outcome(setting, plots, findings, groups, {"tuned": found}, tables=tables)


def grid_table(place, kind, group, told):
    rows = [[f"explore {explore:g}", *(r.end for r in group[i * len(STEP):][:len(STEP)])]
            for i, explore in enumerate(EXPLORE)]
    return Table(file_name("grid", place, kind),
                 f"Dueling bandit, average regret at the end: {place}, {kind} feedback",
                 ["", *(f"step {step:g}" for step in STEP)], rows, note=told)


def matched(where, plot, perceptron, dueling):
    """Whether the Preference Perceptron is soon as good as the other at its end."""
    t, last = perceptron.reaches(dueling.end), int(dueling.rounds[-1])
    text = (f"its average regret of {dueling.end:.4g} after {last:,} rounds is the Preference "
            + (f"Perceptron's after {t:,}" if t else "Perceptron's at no time")
            + f", whose own is {perceptron.end:.4g} then")
    early = perceptron.log(last // 100).minus(dueling.log())
    yield Finding(f"The dueling bandit is worse by orders of magnitude ({where}).",
                  f"{text}; after {last // 100} rounds that has {early.times} of it",
                  _judge.below(early), f"{RANDOM} {RESTLESS if 'noisy' in where else ''}".strip(),
                  test="After a hundredth of the rounds the Preference Perceptron has less regret "
                       "than the dueling bandit after all, run by run.", plot=plot,
                  main="the dueling bandit needs a hundred times the rounds")
    first = perceptron.log(100).minus(dueling.log())
    yield Finding("What it has after 28,000 rounds the Preference Perceptron has in less than 100 "
                  f"({where}).", f"{text}; after 100 rounds that has {first.times} of it",
                  _judge.below(first), RANDOM, plot=plot, level=True,
                  test="After 100 rounds the Preference Perceptron has less regret than the "
                       "dueling bandit after all, run by run.")


def worse(where, plot, perceptron, dueling):
    ratio = dueling.log().minus(perceptron.log())
    yield Finding(
        f"The dueling bandit is substantially worse ({where}).",
        f"{_coactive.ends([perceptron, dueling])}: {ratio.times} times the regret",
        _judge.above(ratio, np.log(1.5)), plot=plot,
        test="It has more than 1.5 times the regret after the last round, user by user.")


EXPERIMENTS = [_coactive.experiment(
    "coactive-dueling", "The dueling bandit with its 25-point grid", "figures 9 and 10", play,
    (7, 100), quick={**_coactive.QUICK, "sample": {"permutations": 2, "users": 10}},
    full={**_coactive.PAPER, "sample": {"permutations": 5, "users": 100}})]
