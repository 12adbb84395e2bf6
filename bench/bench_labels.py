"""What labels buy: F of filters by the labels they ask for, and margins of many rows at once.

With COACTIVE_DATA it is Reuters-21578 in the order of time and the 13 topics of which it is 1 to
5 %; else generated documents. The rival in F is scikit-learn's SGD classifier, forwarding from a
threshold of its decision function on, over a grid of thresholds and two losses: at equal labels
counts the best F of those that asked for no more labels than ours (and a tenth).
"""

import functools
import importlib.util
import os

import numpy as np
from bench_filtering import check
from ratio import Case, Contender, Plan, Target, takes_at_most, times_faster

import coactive_fast as cf
from coactive_fast.experiments import _sets
from coactive_fast.experiments._folder import Sets

SINGLE = "coactive_fast, one margin a call"
RATIOS = (2.0, 4.0, 6.0, 9.0)
KNOWN = 60          # rows with known labels in the second part
THRESHOLDS = {"hinge": (-1.6, -1.4, -1.3, -1.2, -1.1, -1.0, -0.8, -0.4, 0.0),
              "log_loss": (-3.0, -2.5, -2.2, -2.0, -1.8, -1.65, -1.5, -1.35, -1.2, -1.0, -0.5)}


@functools.cache
def documents():
    X, relevant, _ = _sets.news(Sets(os.environ.get("COACTIVE_DATA")))
    return X.tocsr(), relevant


# --- margins --------------------------------------------------------------------------------------


def margins_case(learned):
    X, relevant = documents()
    learned = min(learned, X.shape[0] // 2)
    check({"covariance": "kernel", "feedback": "full"}, X[:60], relevant[:60, 0])
    learner = cf.RidgeFilter(covariance="kernel", feedback="full")
    learner.run(X[:learned], relevant[:learned, 0])
    rows = [X[t] for t in range(200)]
    assert learner.margins(X[:200]).tolist() == [learner.margin(x) for x in rows]

    def single(count):
        for t in range(count):
            learner.margin(rows[t % 200])

    return Case("RidgeFilter, dual", f"margins of {X.shape[0]} rows, {learned} learned, by the row",
                Contender("coactive_fast, margins", lambda count: learner.margins(X[:count]),
                          most=960, step=96),
                [Contender(SINGLE, single, most=200)],
                targets=[takes_at_most(6.0 / 12_902), times_faster(4.0, "single calls", SINGLE)])


# --- F by labels ----------------------------------------------------------------------------------


def f_measure(forwarded, y):
    return 2.0 * np.sum(forwarded & y) / max(np.sum(forwarded) + np.sum(y), 1)


def sgd(X, y, loss, threshold, known):
    """What scikit-learn's classifier forwards of the rows behind the first `known`."""
    from sklearn.linear_model import SGDClassifier
    model, forwarded = SGDClassifier(loss=loss, random_state=0), np.zeros(len(y), dtype=bool)
    fitted = known > 0
    if fitted:
        model.partial_fit(X[:known], y[:known], classes=[False, True])
    for t in range(known, len(y)):
        at = slice(X.indptr[t], X.indptr[t + 1])
        if not fitted or (model.coef_[0, X.indices[at]] @ X.data[at]
                          + model.intercept_[0]) >= threshold:
            forwarded[t] = fitted = True
            model.partial_fit(X[t], y[t:t + 1], classes=[False, True])
    return forwarded[known:]


def by_labels(known):
    """(labels, F) of each topic, for every setting of the rival."""
    X, relevant = documents()
    found = []
    for loss, grid in THRESHOLDS.items():
        for threshold in grid:
            runs = [(sgd(X, y, loss, threshold, known), y[known:]) for y in relevant.T]
            found.append([(one.sum(), f_measure(one, y)) for one, y in runs])
    return np.array(found)


def ours(ratio, known):
    X, relevant = documents()
    labelled = (X[:known], relevant[:known]) if known else None
    learner = cf.RidgeFilter(covariance="kernel", cost_ratio=ratio)
    histories = cf.run_topics(learner, X[known:], relevant[known:], labelled=labelled)
    for history in histories:  # what it says of itself is so
        assert abs(history.f_measure - f_measure(history.forwarded, history.relevant)) < 1e-12
    assert learner.learned == 0
    return np.array([(history.forwarded.sum(), history.f_measure) for history in histories])


def labels_case():
    figures, mine, rival = {}, {ratio: ours(ratio, 0) for ratio in RATIOS}, by_labels(0)
    assert rival[:, :, 0].min() >= 1 and rival[:, :, 1].max() < 1.0
    for ratio, found in mine.items():
        fair = np.where(rival[:, :, 0] <= 1.1 * found[:, 0], rival[:, :, 1], 0.0).max(0)
        name = f"cost_ratio {ratio:g}"
        figures |= {f"{name}: labels": found[:, 0].mean(), f"{name}: macro F": found[:, 1].mean(),
                    f"{name}: macro F of SGD at equal labels": fair.mean(),
                    f"{name}: topics not behind": np.sum(found[:, 1] >= fair),
                    f"{name}: topics ahead": np.sum(found[:, 1] > fair)}
    asked = "cost_ratio 9: topics not behind"
    return case(f"{len(found)} topics", figures,
                [Target(f"{asked} >= 10", lambda r: r.case.figures[asked], 10.0, False, "")])


def known_case():
    """Macro F when the first rows have known labels; the rival's is its best at any labels."""
    figures = {"macro F of SGD, its best threshold": by_labels(KNOWN)[:, :, 1].mean(1).max()}
    for ratio in (2.0, 3.0, 4.0):
        found = ours(ratio, KNOWN)
        figures |= {f"cost_ratio {ratio:g}: labels": found[:, 0].mean(),
                    f"cost_ratio {ratio:g}: macro F": found[:, 1].mean()}
    return case(f"{KNOWN} rows known before", figures,
                [Target("cost_ratio 3: macro F >= 0.5",
                        lambda r: r.case.figures["cost_ratio 3: macro F"], 0.5, False, "")])


def case(name, figures, targets):
    X, relevant = documents()

    def play(count):
        for _ in range(count):
            ours(4.0, 0)

    return Case("What labels buy", f"{name}, a round is {X.shape[0]} documents for each topic",
                Contender("coactive_fast, run_topics", play, most=1), targets=targets,
                figures=figures)


def plans():
    found = [Plan("margins", functools.partial(margins_case, 4850))]
    if importlib.util.find_spec("sklearn"):
        found += [Plan("labels", labels_case, False), Plan("known", known_case, False)]
    return found


def test_labels(compare, plan):
    compare(plan)
