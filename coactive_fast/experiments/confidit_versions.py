"""Figure 2 of the Confidit paper: five versions, from theoretical to practical, seven parameters.

The paper gives neither the distribution of the features that matter nor that of the models, nor
does it say whether rows have length 1 there: all are standard normal here, both kinds of rows are
run, and a third problem whose informative features have mean 1. Its "||U|| = the squared norm,
scaled" is read as ||U||^2 = scale * squared norm, which is what the formula needs.
"""

import numpy as np

import coactive_fast as cf

from ._plan import Curve, Experiment, Finding, Outcome, Plot, Table, Task, ordered

SCALES = [10.0**power for power in range(-3, 4)]
FULL = {"covariance": "full"}
THEORY = {"covariance": "full", "confidence": "theory"}
VERSIONS = {  # of table 2, from the most mistakes to the fewest, with what the paper counts
    "1 projection, theory, full": ({**THEORY, "projection": True}, 600),
    "4 projection, constant, full": ({**FULL, "projection": True}, 600),
    "3 theory, full": (THEORY, 500),
    "5 constant, diagonal": ({}, 400),
    "2 constant, full": (FULL, 300),
    "5 with the printed step": ({"diagonal_step": "printed"}, 400),
}
LONG_ROWS = ("The width of theory grows with the length of the rows, which are longest here: it "
             "costs more than the projection.")
ROWS = {"raw": "rows as they are drawn", "unit": "rows of length 1",
        "shifted": "informative features of mean 1"}


def problem(rows, rounds, seed):
    X, y, weights = cf.data.make_multiclass(n_rows=rounds, normalize=rows == "unit", seed=seed)
    if rows == "shifted":
        X[:, :5] += 1.0
        y = (X @ weights.T).argmax(axis=1)
    return X, y, float(np.linalg.norm(weights))


def mistakes(sets, version, scale, rows, runs, rounds, seed):
    found = []
    for run in range(runs):
        X, y, norm = problem(rows, rounds, [seed, run])
        arguments = dict(VERSIONS[version][0])
        if "confidence" in arguments:
            arguments["norm_bound"] = float(np.sqrt(scale)) * norm
        else:
            arguments["eta"] = scale
        found.append(cf.Confidit(5, **arguments).run(X, y).mistakes.sum())
    return {"mistakes": np.array(found)}


def play(setting):
    keys = [(rows, version, scale) for rows in ROWS for version in VERSIONS for scale in SCALES]
    results = yield [Task(mistakes, {
        "version": version, "scale": scale, "rows": rows, "runs": setting["runs"],
        "rounds": setting["rounds"], "seed": setting.seed}) for rows, version, scale in keys]
    counts = dict(zip(keys, (found["mistakes"] for found in results), strict=True))
    plots, findings, lines = [], [], []
    for rows, words in ROWS.items():
        runs = {version: np.array([counts[rows, version, s] for s in SCALES]).T
                for version in VERSIONS}  # (runs, scales)
        curves = [Curve.of_runs(version, SCALES, found) for version, found in runs.items()]
        plots.append(Plot(rows, f"Mistakes in {setting['rounds']} rounds, {words}",
                          "factor of the width", "mistakes", curves, log="x", bottom=0.0))
        for curve, (_, paper) in zip(curves, VERSIONS.values(), strict=True):
            best = int(np.argmin(curve.mean))
            lines.append([rows, curve.label, paper * setting["rounds"] / 1000,
                          runs[curve.label].mean(), np.median(runs[curve.label], axis=1).mean(),
                          curve.mean[best], SCALES[best], curve.mean.max()])
        typical = [Curve.of_runs(version[0], [0], np.median(found, axis=1)[:, None])
                   for version, found in list(runs.items())[:5]]
        findings += [*judge(words, typical), spread(words, curves[:5])]
    table = Table(
        "versions", "Mistakes by version",
        ["rows", "version", "paper", "mean", "median", "fewest", "at the factor", "most"], lines,
        "Of the seven factors, averaged over the runs. The paper counts over 600 for version 1, "
        "slightly fewer than 600 for 4, then about as shown.")
    return Outcome(plots=plots, tables=[table], findings=findings)


def judge(words, curves):
    """Of the versions 1, 4, 3, 5, 2: their mistakes at the median of the factors."""
    first, fourth, third, fifth, second = curves
    where = f"({words})"
    for more, fewer, why in ((first, fourth, ""), (fourth, third, LONG_ROWS), (third, fifth, ""),
                             (fifth, second, "Where no features are correlated the diagonal loses "
                                             "nothing.")):
        holds, text = ordered([more, fewer])
        equal = abs(more.mean[0] - fewer.mean[0]) <= np.hypot(more.error[0], fewer.error[0])
        yield Finding(f"Version {more.label} makes more mistakes than version {fewer.label} "
                      f"{where}.", text, holds and not bool(equal),
                      f"Equal within the standard errors. {why}".strip() if equal else
                      "" if holds else why)
    pairs = [ordered(pair) for pair in ((first, third), (fourth, second))]
    yield Finding(f"Without the projection there are fewer mistakes {where}.",
                  "; ".join(text for _, text in pairs), all(holds for holds, _ in pairs))


def spread(words, curves):
    whole = [np.ptp(curve.mean) for curve in curves]
    small = [np.ptp(curve.mean[:4]) for curve in curves]
    return Finding(
        f"In most versions the factor changes the mistakes by no more than about 30 ({words}).",
        ", ".join(f"{c.label[0]}: {s:.0f} up to factor 1, {w:.0f} up to 1000"
                  for c, s, w in zip(curves, small, whole, strict=True)),
        int(np.sum(np.array(whole) <= 40.0)) >= 3,
        "With a width a thousand times as large every version goes on exploring.")


EXPERIMENTS = [Experiment(
    "confidit-versions", "Five versions of Confidit on synthetic data", "confidit", "figure 2",
    "generated, as in the paper", play, quick={"runs": 3, "rounds": 1000},
    full={"runs": 10, "rounds": 1000}, cost=(1, 2))]
