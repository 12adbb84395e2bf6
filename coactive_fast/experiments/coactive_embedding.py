"""What the films' features are worth to users they were not made from.

The coactive papers choose rank and regularisation by cross-validation on the half of the users that
the features are made from, and do not tell what came of it. The other experiments take rank 50 and
0.1; this one tries some pairs as `coactive_fast.data.choose_factors` does, with several draws of
the folds, and runs the Preference Perceptron on the best of them too.
"""

import numpy as np

from coactive_fast import data

from . import _coactive, _judge, _sets
from ._coactive import Case
from ._plan import Curve, Experiment, Finding, Plot, Table, Task

HIGH = 10.0  # an imputed rating that nobody can mean: twice the highest there is
FOLDS = 3


def errors(sets, rank, regularization, draw, seed):
    """Of ratings kept back, of users whom the features do not know; and of their means."""
    train, _ = _sets.halves(sets)
    found = data.choose_factors(train, ranks=(rank,), regularizations=(regularization,),
                                folds=FOLDS, seed=[seed, draw])
    return {"error": found.errors[0, 0], "constant": found.constant}


def imputed(sets, embedding):
    """The share of the other half's users who get some imputed rating above `HIGH`."""
    items, ratings = _sets.movies(sets, *embedding)
    weights = data.fit_user_weights(ratings, items.features)
    highest = [(items.features @ w).max() for w in weights]
    return {"share": np.mean(np.array(highest) > HIGH), "median": np.median(highest)}


def play(setting):
    usual = (50 if setting.sets.real else 10, 0.1)
    ranks, weights, draws = (setting[name] for name in ("ranks", "weights", "draws"))
    ranks = sorted({*ranks, usual[0]})
    pairs = [(rank, weight) for rank in ranks for weight in weights]
    found = yield [Task(errors, {"rank": rank, "regularization": weight, "draw": draw,
                                 "seed": setting.seed})
                   for rank, weight in pairs for draw in range(draws)]
    error = np.reshape([float(f["error"]) for f in found], (len(ranks), len(weights), draws))
    constant = np.array([float(f["constant"]) for f in found[:draws]])
    best = pairs[int(error.mean(axis=2).argmin())]
    shown = list(dict.fromkeys([usual, best]))
    shares = yield [Task(imputed, {"embedding": list(pair)}) for pair in shown]
    cases = [Case(f"{'chosen: ' if pair == best else ''}rank {pair[0]}, {pair[1]:g}",
                  embedding=pair) for pair in shown]
    _, film = yield from _coactive.run(setting, (), [*cases, *(c.noisy() for c in cases)])
    plots = [
        Plot("errors", "Ratings kept back of users the features do not know", "rank",
             "mean squared error", [
                 Curve.of_runs(f"regularisation {weight:g}", ranks, error[:, j].T)
                 for j, weight in enumerate(weights)], log="xy",
             levels={"each user's mean": float(constant.mean())}),
        *(_coactive.average_plot("movies", kind, results) for _, kind, results in
          _coactive.by_kind((), film) if results)]
    at = {pair: error[ranks.index(pair[0]), weights.index(pair[1])] for pair in shown}
    table = Table(
        "embedding", "Features of films, and users they were not made from",
        ["rank", "regularisation", "error", "error of the means",
         f"users with an imputed rating above {HIGH:g}", "median of the highest"],
        [[*pair, at[pair].mean(), constant.mean(), float(one["share"]), float(one["median"])]
         for pair, one in zip(shown, shares, strict=True)])
    strict, noisy = (film[i] for i in (len(shown) - 1, len(film) - 1))  # with those chosen
    return _coactive.outcome(setting, plots, [*worth(at, usual, best, constant),
                                              *regrets(strict, noisy)],
                             {"movies": film}, tables=[table],
                             parameters={"chosen": list(best), "usual": list(usual)})


def worth(at, usual, best, constant):
    for pair, says in ((best, "The features that cross-validation chooses tell what new users "
                              "like better than the means of their ratings do (movies; the "
                              "paper chose so)."),
                       (usual, "So do the features that the other experiments take (movies; not "
                               "in the paper).")):
        gap = _judge.mean(at[pair] - constant)
        yield Finding(says, f"rank {pair[0]}, {pair[1]:g}: error {at[pair].mean():.3g}, of the "
                      f"means {constant.mean():.3g}; the difference is {gap}", _judge.below(gap),
                      "A user with fewer ratings than features is fitted without error, whatever "
                      "it says of other films." if pair == usual else "",
                      "The squared error of ratings kept back is lower than that of each user's "
                      "mean, draw by draw.", "errors")


def regrets(strict, noisy):
    yield _coactive.falls("movies, chosen features", [strict], plot="movies-strict")
    more = noisy.log().minus(strict.log())
    yield Finding("With noisy feedback the regret is higher than with strict (movies, chosen "
                  "features).", f"{more.times} times that of strict feedback", _judge.above(more),
                  test="Noisy feedback leaves more regret after the last round, user by user.",
                  plot="movies-noisy")


EXPERIMENTS = [Experiment(
    "coactive-embedding", "The films' features and new users", "coactive", "section 6.1.2",
    "MovieLens 1M", play, files=(_sets.RATINGS,),
    quick={"ranks": [2, 10], "weights": [0.1], "draws": 3, "users": 100, "rounds": 300},
    full={"ranks": [3, 6, 10, 20, 50], "weights": [0.03, 0.1], "draws": 3, "users": 3020,
          "rounds": 1500}, cost=(18, 110))]
