"""Rankings from clicks: whole runs with a user who clicks, beside PDGD in NumPy.

Queries of 120 documents by 136 features, ten places shown. The Perceptron on the same clicks says
what a round costs that draws nothing.
"""

import functools
import warnings

import memory
import numpy as np
import threads
from ratio import Case, Contender, Plan, Tape, Target, takes_at_most

import coactive_fast as cf
from coactive_fast import reference

N, D, K = 120, 136, 10
NUMPY = "numpy, PDGD and its user"
PAIRS, PLAIN = "pair swaps", "Perceptron on raw clicks"


@functools.lru_cache(maxsize=1)
def stream(queries):
    rng = np.random.default_rng(0)
    x = memory.aligned((queries * N, D), np.float64)
    x[:] = rng.standard_normal(x.shape) / np.sqrt(D)
    grades = rng.integers(0, 3, len(x)).astype(float)
    return cf.data.RankingData(x, grades, np.arange(queries + 1) * N), rng.standard_normal(D)


def check(data, w, preset):
    """The first rounds against the twin."""
    runs = []
    for module in (cf, reference):
        learner = module.PDGD(module.Ranking(k=K), seed=1)
        user = module.users.Clicks("cascade", preset=preset, seed=2)
        module.simulate(learner, data, user, order=range(5), weights=w)
        runs.append(learner.weights)
    assert np.abs(runs[0] - runs[1]).max() < 1e-10


def compiled(name, make, data, w, preset, own=False):
    tape, learner = Tape(len(data)), make(cf.Ranking(k=K))
    user = cf.users.Clicks("cascade", preset=preset, seed=0)

    def play(count):
        at = tape.take(count)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of raw clicks
            cf.simulate(learner, data, user, order=np.arange(at, at + count), weights=w)

    return Contender(name, play, most=len(data), step=len(data), own=own)


def numpy_rounds(data, preset):
    """PDGD as one writes it with arrays: suffix sums of exponentials, a loop over pairs."""
    tape, rng = Tape(len(data)), np.random.default_rng(0)
    w = np.zeros(D)
    user = reference.users.Clicks("cascade", preset=preset, seed=0)

    def log_probability(s, ranking):
        rest = np.logaddexp.accumulate(s[ranking][::-1])[::-1]
        return (s[ranking] - rest)[:K].sum()

    def play(count):
        at = tape.take(count)
        for t in range(at, at + count):
            query = data[t]
            s = query.features @ w
            ranking = np.argsort(-(s - np.log(-np.log(rng.random(N)))))
            clicked = user.clicks(query, ranking[:K])
            marks = np.isin(ranking[:K], clicked)
            if not marks.any():
                continue
            looked = min(K, np.flatnonzero(marks)[-1] + 2)
            before = log_probability(s, ranking)
            for a in np.flatnonzero(marks[:looked]):
                for b in np.flatnonzero(~marks[:looked]):
                    changed = ranking.copy()
                    changed[[a, b]] = ranking[[b, a]]
                    rho = 1.0 / (1.0 + np.exp(before - log_probability(s, changed)))
                    i, j = ranking[a], ranking[b]
                    odds = np.exp(-abs(s[i] - s[j]))
                    w[:] += 0.1 * rho * odds / (1.0 + odds) ** 2 * (query.features[i]
                                                                    - query.features[j])

    return Contender(NUMPY, play, most=len(data))


def runs(preset):
    data, w = stream(64 if threads.quick() else 256)
    check(data, w, preset)
    chance = {PAIRS: functools.partial(cf.PairwisePerceptron, seed=0),
              PLAIN: cf.PreferencePerceptron}
    rivals = [numpy_rounds(data, preset),
              *(compiled(name, make, data, w, preset, own=True) for name, make in chance.items())]
    ratio = Target("pair swaps <= 1.2x the Perceptron",
                   lambda r: r.of(PAIRS) / r.of(PLAIN), 1.2, True, "x")
    return Case("clicks", f"{N} x {D}, k={K}, {preset}",
                compiled("coactive_fast, PDGD", functools.partial(cf.PDGD, seed=0), data, w,
                         preset),
                rivals, None, (takes_at_most(12e-6), ratio))


def plans():
    return [Plan(preset, functools.partial(runs, preset))
            for preset in ("navigational", "informational", "perfect")]


def test_clicks(compare, plan):
    compare(plan)
