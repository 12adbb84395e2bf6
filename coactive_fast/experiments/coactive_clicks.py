"""Figure 1 of the coactive papers: is the ranking that clicks stand for better than what was shown?

The paper's 16 people and 10 questions are not to be had, so people are simulated: a cascade model
of clicks in its navigational and informational form, on graded documents. A first query shows the
ten best documents as a good ranking has them, reversed, or with the first two swapped; a user who
is not satisfied asks again, which shows another good ranking of the same documents. The feedback
puts what was clicked, in the whole chain, in front of what the first query showed.
"""

import numpy as np

from coactive_fast.coactive._user import PRESETS, feedback_from_clicks

from . import _coactive, _judge, _sets
from ._plan import Curve, Experiment, Plot, Table, Task, claim

CONDITIONS = ("normal", "reversed", "swapped")
SHOWN = 10
# Chances of another query while not satisfied, and of looking at the next document: such that a
# chain of MQ2008 has the paper's 2.2 queries and 1.8 clicks.
AGAIN, ON = 0.76, 0.7
NOISE = 0.5  # of the good rankings, in standard deviations of the fitted scores


def chains(sets, condition, repeats, seed):
    """Differences of DCG@10, and whether the feedback was what had been shown."""
    data, weights = _sets.web_search(sets), _sets.ranking_weights(sets)
    rng = np.random.default_rng([seed, CONDITIONS.index(condition)])
    top = data.relevance.max()
    found = []
    for i in np.tile(np.arange(len(data)), repeats):
        query = data[i]
        if len(query.relevance) < SHOWN or query.relevance.max() == 0:
            continue
        level = np.ceil(2.0 * query.relevance / top).astype(int)  # 0, 1, 2
        model = PRESETS[("navigational", "informational")[int(rng.random() < 0.5)]]
        shown, clicked, queries = chain(query.features @ weights, level, model, condition, rng)
        better = feedback_from_clicks(shown, clicked)
        gain = dcg(query.relevance[better], top) - dcg(query.relevance[shown], top)
        same = np.array_equal(better, shown)
        found.append((gain, same, queries, len(clicked), i))
    gains, same, queries, clicks, which = (np.array(column) for column in zip(*found, strict=True))
    return {"gain": np.where(np.abs(gains) < 1e-12, 0.0, gains), "same": same,
            "queries": queries, "clicks": clicks, "query": which}


def chain(score, level, model, condition, rng):
    """What the first query showed, the clicks of the whole chain, its number of queries."""
    first, clicked, queries = None, [], 0
    while True:
        queries += 1
        shown = np.argsort(-(score + NOISE * score.std() * rng.standard_normal(len(score))),
                           kind="stable")[:SHOWN]
        if condition == "reversed":
            shown = shown[::-1]
        elif condition == "swapped":
            shown[[0, 1]] = shown[[1, 0]]
        first = shown if first is None else first
        if walk(shown, level, model, clicked, rng) or rng.random() >= AGAIN:
            return first, clicked, queries


def walk(shown, level, model, clicked, rng):
    """Clicks on the way down; whether the user was satisfied."""
    click, satisfied = model
    for document in shown:
        if document not in clicked and rng.random() < click[level[document]]:
            clicked.append(int(document))
            if rng.random() < satisfied[level[document]]:
                return True
        if rng.random() >= ON:
            break
    return False


def dcg(relevance, top):
    """Of the first ten, relevance scaled to 0 ... 5."""
    first = relevance[:SHOWN]
    return float(5.0 / top * first @ (1.0 / np.log2(np.arange(2, len(first) + 2))))


def play(setting):
    found = yield [Task(chains, {"condition": c, "repeats": setting["repeats"],
                                 "seed": setting.seed}) for c in CONDITIONS]
    groups = dict(zip(CONDITIONS, found, strict=True))
    groups["all"] = {name: np.concatenate([f[name] for f in found]) for name in found[0]}
    curves = [cumulative(label, group["gain"]) for label, group in groups.items()]
    rows = [[label, *shares(group["gain"]), float(group["queries"].mean()),
             float(group["clicks"].mean())] for label, group in groups.items()]
    table = Table("shares", "Simulated query chains", [
        "condition", "better", "equal", "worse", "queries a chain", "clicks a chain"], rows,
        note="The paper: about 60, 30 and 10 %, with 2.2 queries and 1.8 clicks a chain.")
    plot = Plot("gains", "Feedback of simulated clicks", "DCG@10 of feedback − of presented",
                "share of chains", curves)
    return _coactive.outcome(setting, [plot], judge(groups), {}, tables=[table])


def cumulative(label, gains):
    levels = np.linspace(-10.0, 10.0, 201)
    return Curve(label, levels, np.searchsorted(np.sort(gains), levels, side="right") / len(gains))


def shares(gains):
    return [float((gains > 0).mean()), float((gains == 0).mean()), float((gains < 0).mean())]


def judge(groups):
    everything = groups["all"]
    gains = everything["gain"]
    better, equal, worse = shares(gains)
    sign = _judge.mean(_judge.by_group(everything["query"], np.sign(gains)))
    yield claim("clicks-better", _judge.above(sign), better=better, worse=worse, sign=sign)
    yield claim("clicks-shares", None, better=better, worse=worse)
    none = gains == 0.0
    same = _judge.mean(_judge.by_group(everything["query"][none], everything["same"][none]))
    yield claim("clicks-same", _judge.above(same, 0.5), equal=equal, same=same)
    signs = {c: _judge.mean(_judge.by_group(groups[c]["query"], np.sign(groups[c]["gain"])))
             for c in CONDITIONS}
    yield claim("clicks-degraded", _judge.all_above(signs.values()),
                signs=_judge.listed(signs, "{} {}"))


EXPERIMENTS = [Experiment(
    "coactive-clicks", "Preferences from clicks, simulated", "coactive", "figure 1", "MQ2008",
    play, quick={"repeats": 4}, full={"repeats": 10}, cost=(1, 1))]
