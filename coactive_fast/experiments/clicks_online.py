"""Rankings learned online from clicks, beyond the papers: NDCG of held-out queries against rounds.

Each learner of rankings meets three users of the cascade model, for five folds and some seeds; the
documents of every query are shuffled first, since their order tells of their grades. The
Perceptron learns from the raw clicks, as nobody should: with noisy clicks it can end below a random
order.
"""

import functools
import warnings

import numpy as np

import coactive_fast as cf

from . import _judge, _sets
from ._plan import Curve, Experiment, Outcome, Plot, Table, Task, claim, grouped

K, MEASURE, FOLDS = 10, "ndcg@10", 5
LEARNERS = {
    "PDGD": cf.PDGD,
    "pair swaps (3PR)": cf.PairwisePerceptron,
    "dueling bandit": cf.DuelingBandit,
    "Perceptron on raw clicks": cf.PreferencePerceptron,
}
USERS = ("perfect", "navigational", "informational")  # presets of a cascade
EXAMPLE = tuple(f"lightgbm_lambdarank/{part}.txt" for part in ("train", "test"))
WEB, OTHER = "web search", "LightGBM's example"
SHORT = {WEB: "web", OTHER: "example"}  # in names of files


@functools.lru_cache(maxsize=2)
def example(sets):
    """LightGBM's ranking example, training and test queries; None where it is not in the folder."""
    try:
        train, test = (cf.data.RankingData.from_svmlight(sets.file(name), n_features=300)
                       for name in EXAMPLE)
    except FileNotFoundError:
        return None
    return train, test


def parts(sets, place, fold):
    """The queries to learn from and those held out: three folds and the one after the next."""
    if place == OTHER:
        return example(sets)
    data = _sets.web_search(sets)
    folds = np.array_split(np.arange(len(data)), FOLDS)
    train = np.concatenate([folds[(fold + i) % FOLDS] for i in range(3)])
    return data.take(train), data.take(folds[(fold + 4) % FOLDS])


def shuffled(data, rng):
    """The same queries, the documents of each in a random order."""
    places = np.concatenate([begin + rng.permutation(end - begin) for begin, end in
                             zip(data.offsets[:-1], data.offsets[1:], strict=True)])
    return cf.data.RankingData(data.features[places], data.relevance[places], data.offsets)


def runs(sets, place, learner, user, fold, seeds, rounds, every, seed):
    """Held-out NDCG of some runs: of random orders, and after each `every` rounds."""
    start, curves, average = [], [], []
    for number in range(seeds):
        rng = np.random.default_rng([seed, fold, number])
        train, test = (shuffled(part, rng) for part in parts(sets, place, fold))
        chance = {} if learner.startswith("Perceptron") else {"seed": rng.spawn(1)[0]}
        played = LEARNERS[learner](cf.Ranking(k=K), **chance)
        start.append(cf.metrics.evaluate(played, test, measures=(MEASURE,))[MEASURE])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*raw clicks")
            history = cf.simulate(played, train, cf.users.Clicks("cascade", preset=user, seed=rng),
                                  order=rng.integers(0, len(train), rounds),
                                  weights=np.zeros(train.dimension), held_out=test, every=every,
                                  measures=(MEASURE,))
        curves.append(history.held_out[MEASURE])
        final = cf.metrics.evaluate(played, test, measures=(MEASURE,), average=True)
        average.append(final[MEASURE])
    return {"start": start, "curve": curves, "average": average, "rounds": history.held_out_rounds}


def play(setting):
    places = {WEB: range(setting["folds"])}
    if setting.sets.real and example(setting.sets) is not None:
        places[OTHER] = range(1)
    common = {name: setting[name] for name in ("seeds", "rounds", "every")}
    found = yield from grouped({
        (place, learner, user): [Task(runs, {"place": place, "learner": learner, "user": user,
                                             "fold": fold, **common, "seed": setting.seed})
                                 for fold in folds]
        for place, folds in places.items() for learner in LEARNERS for user in USERS})
    results = {case: {name: np.concatenate([fold[name] for fold in folds])
                      for name in ("start", "curve", "average")} | {"rounds": folds[0]["rounds"]}
               for case, folds in found.items()}
    return Outcome(
        plots=[plot(results, place, user) for place in places for user in USERS],
        tables=[table(results, place) for place in places],
        findings=[finding for place in places for finding in judge(results, place)],
        parameters={"k": K, "folds": FOLDS, "users": list(USERS)})


def plot(results, place, user):
    curves = []
    for learner in LEARNERS:
        run = results[place, learner, user]
        curve = np.column_stack([run["start"], run["curve"]])
        curves.append(Curve.of_runs(learner, np.append(0, run["rounds"]), curve))
    return Plot(f"{SHORT[place]}-{user}", f"{place}, {user} clicks", "rounds", "NDCG@10, held out",
                curves)


def table(results, place):
    start = results[place, "PDGD", USERS[0]]["start"]
    rows = [["random order", *3 * [start.mean()], *3 * [None]]]
    for learner in LEARNERS:
        mine = [results[place, learner, user] for user in USERS]
        for label, ends in ((learner, [run["curve"][:, -1] for run in mine]),
                            (f"{learner}, mean weights", [run["average"] for run in mine])):
            rows.append([label, *(end.mean() for end in ends), *(end.min() for end in ends)])
    columns = ["learner", *USERS, *(f"worst, {user}" for user in USERS)]
    return Table(SHORT[place], f"NDCG@10 at the end, {place}", columns, rows,
                 note=f"Mean, and the worst, of {len(start)} runs; documents shuffled.")


# --- what is seen -------------------------------------------------------------------------------


def judge(results, place):
    for user in USERS:
        raw = results[place, "Perceptron on raw clicks", user]["curve"][:, -1]
        for learner in ("PDGD", "pair swaps (3PR)"):
            curve = results[place, learner, user]["curve"][:, -1]
            gap = _judge.mean(curve).minus(_judge.mean(raw))
            yield claim("online-above", _judge.above(gap), learner=learner, place=place, user=user,
                        mean=curve.mean(), raw=raw.mean(), gap=gap, plot=f"{SHORT[place]}-{user}")
    yield steady(results, place)
    for learner in LEARNERS:
        yield failures(results, place, learner)


def steady(results, place):
    """Pair swaps show an order near the best one known, so they should lose at no time."""
    runs = {user: results[place, "pair swaps (3PR)", user] for user in USERS}
    least = {user: (run["curve"].mean(0) - run["start"].mean()).min() for user, run in runs.items()}
    return claim("online-steady", bool(min(least.values()) >= 0.0), place=place,
                 least=_judge.listed(least, "{} {:+.3f}"))


def failures(results, place, learner):
    """How many runs end below their own random order, and why that is so."""
    found = {user: results[place, learner, user] for user in USERS}
    lost = {user: int((run["curve"][:, -1] < run["start"]).sum()) for user, run in found.items()}
    count = len(found[USERS[0]]["start"])
    about = "online-failures-raw" if learner.startswith("Perceptron") else ""
    return claim("online-failures", not any(lost.values()), about, learner=learner, place=place,
                 count=count, lost=_judge.listed(lost, "{} {}"))


EXPERIMENTS = [Experiment(
    "clicks-online", "Rankings learned online from clicks (beyond the papers)", "coactive",
    "beyond the papers", "MQ2008, LightGBM's example", play,
    quick={"folds": 2, "seeds": 1, "rounds": 2000, "every": 200},
    full={"folds": 5, "seeds": 5, "rounds": 10000, "every": 500}, cost=(1, 12))]
