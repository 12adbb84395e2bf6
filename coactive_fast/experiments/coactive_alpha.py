"""Figure 2 of the coactive papers: regret by how informative the feedback is.

Web search: rankings of a query's documents, several permutations of the queries. Movies: one item
at a time, a fresh learner for every user of one half, features from the other half.
"""

import numpy as np

import coactive_fast as cf

from . import _sets
from ._plan import (
    Curve,
    Experiment,
    Finding,
    Outcome,
    Plot,
    Task,
    ordered,
    rounds_to_show,
    running_mean,
)

ALPHAS = (0.1, 0.5, 1.0)


def web_search(sets, alpha, permutation, seed):
    data = _sets.web_search(sets)
    order = np.random.default_rng([seed, permutation]).permutation(len(data))
    learner = cf.PreferencePerceptron(cf.Ranking(k=5))
    history = cf.simulate(learner, data, cf.users.AlphaInformative(alpha), order=order,
                          seed=[seed, permutation, 1])
    return {"regret": history.average_regret}


def movies(sets, alpha, users, rounds, seed):
    """Average regret of each user, at the rounds that are shown."""
    items, weights, _ = _sets.movies(sets)
    history = cf.simulate_items(cf.PreferencePerceptron(cf.Items(items)), items, weights[:users],
                                cf.users.AlphaInformative(alpha), rounds=rounds, seed=seed)
    return {"regret": running_mean(history.regret_per_user)[:, rounds_to_show(rounds) - 1]}


def play(setting):
    permutations, rounds = setting["permutations"], setting["rounds"]
    web = yield [Task(web_search, {"alpha": a, "permutation": p, "seed": setting.seed})
                 for a in ALPHAS for p in range(permutations)]
    film = yield [Task(movies, {"alpha": a, "users": setting["users"], "rounds": rounds,
                                "seed": setting.seed}) for a in ALPHAS]
    by_alpha = [np.array([found["regret"] for found in web[i * permutations:][:permutations]])
                for i in range(len(ALPHAS))]
    labels = [f"alpha = {a:g}" for a in ALPHAS]
    t = np.arange(1, by_alpha[0].shape[1] + 1)
    left = [Curve.of_runs(label, t, runs) for label, runs in zip(labels, by_alpha, strict=True)]
    right = [Curve.of_runs(label, rounds_to_show(rounds), found["regret"])
             for label, found in zip(labels, film, strict=True)]
    return Outcome(
        plots=[Plot("web-search", "Web search, strict feedback", "round", "average regret", left,
                    log="x", bottom=0.0),
               Plot("movies", "Movies, strict feedback", "round", "average regret", right, log="x",
                    bottom=0.0)],
        findings=[*judge("web search", left), *judge("movies", right)])


def judge(where, curves):
    ends = [curve.mean[-1] for curve in curves]
    early = [curve.mean[np.searchsorted(curve.x, 10)] for curve in curves]
    yield Finding(f"Regret falls towards zero for every alpha ({where}).",
                  ", ".join(f"{a:.3g} → {b:.3g}" for a, b in zip(early, ends, strict=True))
                  + " from round 10 to the last",
                  all(end < 0.75 * begin for begin, end in zip(early, ends, strict=True)))
    holds, text = ordered(curves)
    yield Finding(f"The higher alpha, the lower the regret ({where}).", text, holds,
                  "Differences within the standard errors count as none.")


EXPERIMENTS = [Experiment(
    "coactive-alpha", "Regret for strictly α-informative feedback", "coactive", "figure 2",
    "MQ2008; MovieLens 1M", play, files=(*_sets.PARTS, _sets.RATINGS),
    quick={"permutations": 4, "users": 100, "rounds": 300},
    full={"permutations": 20, "users": None, "rounds": 1500}, cost=(2, 60))]
