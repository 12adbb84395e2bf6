"""Figure 1 and theorems 1 and 3 of the filtering paper.

Figure 1: F of each topic, with the label seen or not.

One stream of documents, a filter a topic. The paper took the 34 topics of 70,000 documents of
RCV1; here it is Reuters-21578 in the order of time, and the topics of the same frequency.

Theorem 1 is about SIMPLE-FIL's regret, where all rows have the same chance. Theorem 3 is about
P-RIDGE-FIL's on a linear model of relevance: unit rows with |u.x| >= gamma, relevant with
probability (1 + u.x) / 2. The regret of a round is what it costs in expectation to judge by the
sign of the margin instead of that of u.x: |u.x| where the two differ. The theorem's p depends on
the number of rounds n: a run for each n.
"""

import math

import numpy as np

import coactive_fast as cf
from coactive_fast import data

from . import _judge, _plan, _sets, _theorems
from ._plan import Curve, Experiment, Outcome, Plot, Table, Task, claim, repeated, rounds_to_show
from ._theorems import Case

EXPLORE = (0.01, 0.05, 0.2)  # of apple tasting; the paper does not name its own
PAPER = {"RIDGE-FIL": 0.59, "RIDGE-FULL": 0.68, "Perceptron": 0.61}  # means over its 34 topics


def record(history):
    """What is kept of the run of one topic; "late f" is F of the second half of the stream."""
    half = len(history) // 2
    forwarded, relevant = history.forwarded[half:], history.relevant[half:]
    late = 2.0 * np.sum(forwarded & relevant) / max(np.sum(forwarded) + np.sum(relevant), 1)
    return {"f": history.f_measure, "precision": history.precision, "recall": history.recall,
            "forwarded": history.forwarded.mean(), "late f": late,
            "curve": history.running_f_measure[rounds_to_show(len(history)) - 1]}


def stream(sets, documents):
    """The first documents (None: all) of the stream, and its topics."""
    X, relevant, names = _sets.news(sets)
    return X[:documents], relevant[:documents], names


def every_label(sets, documents):
    """RIDGE-FULL, all topics: they learn the same rows, so that one factor serves them all."""
    X, relevant, _ = stream(sets, documents)
    full = cf.RidgeFilter(covariance="kernel", feedback="full")
    return _plan.stacked([record(history) for history in cf.run_topics(full, X, relevant)])


def one_topic(sets, documents, learner, topic, explore, seed):
    X, relevant, _ = stream(sets, documents)
    full = cf.RidgeFilter(covariance="kernel", feedback="full")
    made = {
        "RIDGE-FIL": lambda: cf.RidgeFilter(covariance="kernel"),
        "Perceptron": cf.PerceptronFilter,
        "apple tasting": lambda: cf.AppleTasting(full, explore, seed=[seed, topic]),
    }[learner]()
    return record(made.run(X, relevant[:, topic]))


def topics(setting):
    documents = setting["documents"]
    _, relevant, names = stream(setting.sets, documents)

    def tasks(learner, explore=None):
        return [Task(one_topic, {"documents": documents, "learner": learner, "topic": k,
                                 "explore": explore, "seed": setting.seed})
                for k in range(len(names))]

    results = yield from _plan.grouped({
        "RIDGE-FULL": [Task(every_label, {"documents": documents})],
        "RIDGE-FIL": tasks("RIDGE-FIL"), "Perceptron": tasks("Perceptron"),
        **{f"apple tasting, p = {p:g}": tasks("apple tasting", p) for p in EXPLORE}})
    (full,) = results.pop("RIDGE-FULL")
    found = {label: _plan.stacked(part) for label, part in results.items()}
    return outcome({"RIDGE-FULL": full, **found}, names, relevant)


def outcome(found, names, relevant):
    order = ["RIDGE-FIL", "RIDGE-FULL", "Perceptron", best_tasting(found)]
    t = rounds_to_show(len(relevant))
    at = np.arange(len(names))
    by_topic = np.argsort(-relevant.mean(0), kind="stable")
    fil = found["RIDGE-FIL"]

    def points(label, values):
        return Curve(label, at, values[by_topic])

    ticks = [names[k] for k in by_topic]
    return Outcome(
        plots=[
            Plot("by-topic", "F of each topic, the most frequent first", "topic", "F",
                 [points(name, found[name]["f"]) for name in order], kind="points", ticks=ticks,
                 bottom=0.0, story=True),
            Plot("balance", "RIDGE-FIL: precision and recall", "topic", "share",
                 [points(name, fil[name]) for name in ("precision", "recall")], kind="points",
                 ticks=ticks, bottom=0.0),
            Plot("stream", "F of the stream so far, mean over the topics", "documents", "F",
                 [Curve.of_runs(name, t, found[name]["curve"]) for name in order], log="x",
                 bottom=0.0, story=True)],
        tables=[
            Table("means", "Means over the topics",
                  ["filter", "F", "the paper's F", "F, second half", "precision", "recall",
                   "forwarded"],
                  [[name, part["f"].mean(), PAPER.get(name), *(part[key].mean() for key in (
                      "late f", "precision", "recall", "forwarded"))]
                   for name, part in found.items()],
                  note="The paper: 34 topics, 70,000 documents of RCV1. Second half: of the "
                       "stream, what was learned before kept."),
            Table("topics", "F by topic", ["topic", "share", *order],
                  [[names[k], relevant[:, k].mean(), *(found[name]["f"][k] for name in order)]
                   for k in by_topic])],
        findings=list(findings(found, order)),
        parameters={"topics": len(names), "documents": len(relevant)})


def best_tasting(found):
    """Apple tasting with the best of its probabilities, which is more than is fair."""
    return max((name for name in found if name.startswith("apple")),
               key=lambda name: found[name]["f"].mean())


def findings(found, order):
    mean = {name: {key: np.mean(values) for key, values in part.items()}
            for name, part in found.items()}
    fil, full = found["RIDGE-FIL"], found["RIDGE-FULL"]
    tasting = order[-1]
    more = int(np.sum(fil["recall"] > fil["precision"]))
    gap = _judge.mean(fil["recall"] - fil["precision"])
    yield claim("filter-recall", _judge.above(gap), mean=mean, more=more, topics=len(fil["f"]),
                gap=gap)
    apart = [np.abs(part["precision"] - part["recall"]) for part in (full, fil)]
    gap = _judge.mean(apart[0] - apart[1])
    yield claim("filter-nearer", _judge.below(gap), mean=mean, full=apart[0].mean(),
                fil=apart[1].mean(), gap=gap)
    leaning = _judge.mean(full["precision"] - full["recall"])
    yield claim("filter-balance", _judge.inside(leaning, -0.1, 0.1), mean=mean, leaning=leaning)
    ahead = int(np.sum(full["f"] > found["Perceptron"]["f"]))
    gap = _judge.mean(full["f"] - found["Perceptron"]["f"])
    yield claim("filter-perceptron", _judge.above(gap), mean=mean, ahead=ahead,
                topics=len(full["f"]), gap=gap)
    gap = _judge.mean(full["f"] - fil["f"])
    yield claim("filter-close", _judge.below(gap, 0.15), mean=mean, gap=gap)
    gaps = [_judge.mean(found[name]["f"] - found[tasting]["f"]) for name in order[:3]]
    yield claim("filter-tasting", _judge.all_above(gaps), leads=", ".join(map(str, gaps)),
                means=", ".join(f"{name}: {mean[name]['f']:.3f}" for name in order), best=tasting,
                probabilities=len(EXPLORE))


# --- Theorem 1 ------------------------------------------------------------------------------------


def bound(n, p):
    """Theorem 1, for the cumulative regret of n rounds (an array of them)."""
    return (32.0 / abs(p - 0.5) + 2.0) * np.log(n) + 4.0


def one_run(sets, p, rounds, seed, run):
    made = data.make_simple_filter(n_rows=rounds, p=p, seed=[seed, run, round(1000 * p)])
    history = cf.SimpleFilter().run(made.features, made.relevant)
    wrong = abs(2.0 * p - 1.0)  # what a wrong judgement costs; half of them are, without learning
    return _theorems.told(made.regret(history.forwarded), bound(np.arange(1, rounds + 1), p),
                          0.5 * wrong)


def simple(setting):
    rounds, runs, chances = setting["rounds"], setting["runs"], setting["chances"]
    found = yield from repeated(one_run, {p: {"p": p} for p in chances}, runs, rounds=rounds,
                                seed=setting.seed)
    cases = [Case.of(f"p = {p:g}", rounds, mine) for p, mine in found.items()]
    rare = [case for case, p in zip(cases, chances, strict=True) if p < 0.5]
    return Outcome(
        plots=[_theorems.plot("simple", "SIMPLE-FIL and Theorem 1", cases, story=True)],
        tables=[_theorems.table("bounds", f"{runs} runs a chance p of relevance", cases)],
        findings=[
            _theorems.under("Theorem 1", cases, "simple", kind="mean", about="under-simple"),
            _theorems.logarithmic("Theorem 1, p < 1/2", rare, "simple", "logarithmic-simple")])


# --- Theorem 3 ------------------------------------------------------------------------------------

A = 1.0


def ridge_bound(n, d, gamma):
    """Theorem 3, for the cumulative regret of n rounds."""
    root = math.sqrt(n)
    return (2.0 * A * root / gamma + 8.0 * root / gamma * d * math.log(1.0 + n / (A * d))
            + 0.5 * root + 0.5)


def ridge_run(sets, n, d, gamma, seed, run):
    X, y, u = data.make_filtering(n_rows=n, n_features=d, gamma=gamma,
                                  seed=np.random.default_rng([seed, n, d, run]))
    truth = X @ u
    learner = cf.ProbabilisticRidgeFilter(a=A, horizon=n, seed=[seed, n, d, run, 1])
    wrong = (learner.run(X, y).margins >= 0.0) != (truth >= 0.0)
    return {"regret": np.sum(np.abs(truth[wrong]))}


def ridge(setting):
    lengths, seeds, models = (setting[name] for name in ("lengths", "seeds", "models"))
    found = yield from repeated(
        ridge_run, {(d, gamma, n): {"n": n, "d": d, "gamma": gamma}
                    for d, gamma in models for n in lengths}, seeds, seed=setting.seed)
    cases = []
    for d, gamma in models:
        regret = np.transpose([found[d, gamma, n]["regret"] for n in lengths])
        limits = np.array([ridge_bound(n, d, gamma) for n in lengths])
        cases.append(Case(f"d = {d}, γ = {gamma:g}", np.array(lengths), regret,
                          limits[None], (regret / limits).ravel(),
                          idle=0.5 * (1.0 + gamma) / 2.0, same_runs=False))
    growth, most = [case.growth()[0] for case in cases], allowed(*lengths[-2:])
    return Outcome(
        plots=[_theorems.plot("regret", "P-RIDGE-FIL and Theorem 3", cases, story=True)],
        tables=[_theorems.table("bound", f"{seeds} streams a line", cases)],
        findings=[
            _theorems.under("Theorem 3", cases, "regret", kind="mean", about="under-ridge"),
            claim("ridge-growth", _judge.all_below(growth, most), lengths=lengths[-2:],
                  growth=_judge.times(growth), most=np.exp(most))])


def allowed(n, m):
    """The logarithm of what √n ln n grows by from n to m."""
    return 0.5 * math.log(m / n) + math.log(math.log(m) / math.log(n))


EXPERIMENTS = [
    Experiment("filtering-topics",
               "F of filters that see every label, or that of what they forward", "filtering",
               "figure 1", "Reuters-21578 ModApte", topics,
               quick={"documents": 4000}, full={"documents": None}, cost=(2, 32)),
    Experiment("filtering-theorem-1", "SIMPLE-FIL: regret and bound", "filtering", "theorem 1",
               "generated", simple,
               quick={"rounds": 100000, "runs": 20, "chances": [0.1, 0.3, 0.4, 0.6]},
               full={"rounds": 1000000, "runs": 40, "chances": [0.1, 0.3, 0.4, 0.45, 0.6]},
               cost=(1, 7)),
    Experiment("filtering-regret", "P-RIDGE-FIL on a linear model, and Theorem 3", "filtering",
               "theorem 3", "generated", ridge,
               quick={"lengths": [100, 1000, 10000], "seeds": 20, "models": [[2, 0.5], [5, 0.2]]},
               full={"lengths": [100, 1000, 10000, 100000, 1000000], "seeds": 20,
                     "models": [[2, 0.5], [5, 0.2], [20, 0.1]]}, cost=(1, 17)),
]
