"""Figure 1 of the coactive papers: is the ranking that clicks stand for better than what was shown?

The paper's 16 people and 10 questions are not to be had, so people are simulated: a cascade model
of clicks in its navigational and informational form, on graded documents. A first query shows the
ten best documents as a good ranking has them, reversed, or with the first two swapped; a user who
is not satisfied asks again, which shows another good ranking of the same documents. The feedback
puts what was clicked, in the whole chain, in front of what the first query showed.
"""

import math

import numpy as np

from coactive_fast.users import feedback_from_clicks

from . import _coactive, _sets
from ._plan import Curve, Experiment, Finding, Plot, Table, Task

CONDITIONS = ("normal", "reversed", "swapped")
SHOWN = 10
# By grade, from not relevant to the best: chance of a click where the user looks, and of being
# satisfied by what was clicked.
MODELS = {"navigational": ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
          "informational": ((0.4, 0.7, 0.9), (0.1, 0.3, 0.5))}
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
        model = MODELS[("navigational", "informational")[int(rng.random() < 0.5)]]
        shown, clicked, queries = chain(query.features @ weights, level, model, condition, rng)
        better = feedback_from_clicks(shown, clicked)
        gain = dcg(query.relevance[better], top) - dcg(query.relevance[shown], top)
        same = np.array_equal(better, shown)
        found.append((gain, same, queries, len(clicked)))
    gains, same, queries, clicks = (np.array(column) for column in zip(*found, strict=True))
    return {"gain": np.where(np.abs(gains) < 1e-12, 0.0, gains), "same": same,
            "queries": queries, "clicks": clicks}


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
    everything = {name: np.concatenate([f[name] for f in found]) for name in found[0]}
    groups = {**dict(zip(CONDITIONS, found, strict=True)), "all": everything}
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
    why = ("The people are simulated, with the paper's numbers of queries and clicks a chain: what "
           "holds of them need not hold of people. Better more than twice as often as worse.")
    gains = groups["all"]["gain"]
    better, equal, worse = shares(gains)
    z = sign_test(gains)
    yield Finding("Feedback from clicks is better than what was shown far more often than worse "
                  "(about 60 against 10 %; sign test p < 0.0001).",
                  f"better {better:.0%}, worse {worse:.0%}; sign test z = {z:.1f}",
                  better > 2.0 * worse and z > 3.9, why)
    same = groups["all"]["same"][gains == 0].mean()
    yield Finding("Where the utility is equal it is mostly because the feedback is what was shown "
                  "(about 30 % are equal, 88 % of them so).",
                  f"equal {equal:.0%}, {same:.0%} of them the same ranking", bool(same > 0.5),
                  "More than half of them.")
    parts = {c: shares(groups[c]["gain"]) for c in CONDITIONS}
    yield Finding("It is accurate whether the ranking shown was good or degraded.",
                  ", ".join(f"{c}: better {p[0]:.0%}, worse {p[2]:.0%}" for c, p in parts.items()),
                  all(p[0] > 2.0 * p[2] for p in parts.values()), why)


def sign_test(gains):
    """How many standard deviations the number of better ones is above a coin's."""
    better, worse = np.count_nonzero(gains > 0), np.count_nonzero(gains < 0)
    return (better - worse) / math.sqrt(max(better + worse, 1))


EXPERIMENTS = [Experiment(
    "coactive-clicks", "Preferences from clicks, simulated", "coactive", "figure 1", "MQ2008",
    play, files=_sets.PARTS, quick={"repeats": 1}, full={"repeats": 10}, cost=(1, 5))]
