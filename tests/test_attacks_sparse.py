"""Sparse matrices that lie about themselves, given to everything that takes one.

They are refused in words, or read where what they say can be read all the same; nothing outside
their arrays is touched, and the next call works.
"""

import copy

import children
import lying_rows
import numpy as np
import pytest
import scipy.sparse

import coactive_fast as cf

REFUSALS = (ValueError, TypeError)
D, GOOD = lying_rows.D, lying_rows.GOOD
TABLE = np.concatenate([GOOD, 2.0 * GOOD, -GOOD])
HARMLESS = {"begin in the middle"}  # of a single row: it has fewer entries, that is all


def rows(make):
    """Learners that are fed rows: a fresh one, and one that has learned."""
    fresh, taught = make(), make()
    feed(taught, GOOD[0])
    return [fresh, taught]


def feed(learner, x):
    if isinstance(learner, (cf.Confidit, cf.Banditron, cf.Newtron)):
        learner.learn(x, 1, False)
    else:
        learner.learn(x, True if hasattr(learner, "margin") else 1)


CLASSES = {
    "diagonal": lambda: cf.Confidit(3),
    "growing": lambda: cf.Confidit(3, max_features=1000),
    "projected": lambda: cf.Confidit(3, projection=True, normalize=True),
    "full": lambda: cf.Confidit(3, covariance="full"),
    "kernel": lambda: cf.Confidit(3, covariance="kernel"),
    "rbf": lambda: cf.Confidit(3, covariance="kernel", kernel="rbf"),
    "banditron": lambda: cf.Banditron(3, seed=1),
    "newtron": lambda: cf.Newtron(3, seed=1),
    "newtron full": lambda: cf.Newtron(3, covariance="full", seed=1),
    "perceptron": lambda: cf.MulticlassPerceptron(3),
    "second order": lambda: cf.MulticlassSecondOrderPerceptron(3),
    "arow": lambda: cf.MulticlassAROW(3),
}
FILTERS = {
    "simple": cf.SimpleFilter,
    "ridge": cf.RidgeFilter,
    "ridge diagonal": lambda: cf.RidgeFilter(covariance="diagonal"),
    "ridge kernel": lambda: cf.RidgeFilter(covariance="kernel"),
    "ridge rbf": lambda: cf.RidgeFilter(covariance="kernel", kernel="rbf"),
    "ridge budget": lambda: cf.RidgeFilter(covariance="kernel", budget=3),
    "ridge window": lambda: cf.RidgeFilter(window=3),
    "probabilistic": lambda: cf.ProbabilisticRidgeFilter(explore=0.5, seed=1),
    "perceptron filter": cf.PerceptronFilter,
    "tasting": lambda: cf.AppleTasting(cf.PerceptronFilter(), 0.5, seed=1),
}
METRICS = {
    "metric.Full": lambda: cf.metric.Full(D),
    "metric.Diagonal": lambda: cf.metric.Diagonal(D),
    "metric.Dual": cf.metric.Dual,
    "metric.Dual rbf": lambda: cf.metric.Dual(kernel="rbf"),
    "metric.Dual budget": lambda: cf.metric.Dual(budget=2),
}
RANKINGS = {
    "preference": lambda: cf.PreferencePerceptron(cf.Ranking(k=2)),
    "second-order preference": lambda: cf.SecondOrderPreferencePerceptron(cf.Ranking(k=2)),
    "dueling": lambda: cf.DuelingBandit(cf.Ranking(k=2), seed=1),
}


def calls_of_classes(make):
    for learner in rows(make):
        yield learner, learner.choose
        yield learner, lambda x, learner=learner: feed(learner, x)
        yield learner, learner.predict
        yield learner, learner.decision_function
        yield learner, lambda X, learner=learner: learner.run(X, np.ones(X.shape[0], dtype=int))


def calls_of_filters(make):
    for learner in rows(make):
        yield learner, learner.forward
        yield learner, lambda x, learner=learner: feed(learner, x)
        yield learner, learner.margin
        yield learner, lambda X, learner=learner: learner.run(X, np.ones(X.shape[0], dtype=bool))
        yield learner, lambda X, learner=learner: cf.run_topics(
            learner, X, np.ones((X.shape[0], 2), dtype=bool))
        yield learner, lambda Y, learner=learner: cf.run_topics(
            learner, np.ones((Y.shape[0], D)), flags(Y))


def flags(matrix):
    """The same lie about True and False; scipy's own `astype` would believe it."""
    if isinstance(getattr(matrix, "data", None), np.ndarray) and matrix.data.dtype != object:
        matrix = copy.copy(matrix)
        matrix.data = matrix.data.astype(bool)
    return matrix


def calls_of_metrics(make):
    m = make()
    m.update(GOOD[0])
    for x in (m.update, m.quad, m.solve):
        yield m, x
    if hasattr(m, "update_many"):
        yield m, m.update_many


def calls_of_rankings(make):
    learner = make()
    x = TABLE
    learner.learn(x, learner.present(x), [1, 0, 2])
    yield learner, learner.present
    yield learner, learner.scores
    yield learner, lambda X: learner.learn(X, learner.present(TABLE), np.arange(X.shape[0]))
    yield learner, learner.update


def calls_of_losses(kind):
    losses = {"Squared": lambda Z: cf.losses.Squared(Z, np.ones(Z.shape[0])),
              "Logistic": lambda Z: cf.losses.Logistic(Z, np.ones(Z.shape[0])),
              "PortfolioReturn": cf.losses.PortfolioReturn}
    yield None, losses[kind]
    yield None, lambda y: cf.losses.Squared(np.eye(D), y)


def calls_of_data(kind):
    yield None, lambda X: cf.data.RankingData(X, np.zeros(X.shape[0]), [0, X.shape[0]])
    yield None, lambda ratings: cf.simulate_items(
        cf.PreferencePerceptron(cf.Items(np.eye(D))), cf.Items(np.eye(D)),
        np.ones((ratings.shape[0], D)), cf.users.Better(seed=1), rounds=3, ratings=ratings, seed=1)
    yield None, lambda ratings: cf.data.factorize(ratings, rank=2, sweeps=1)
    yield None, cf.Items
    yield None, lambda X: cf.kernels.rank(X, np.ones(D), 2)
    yield None, lambda X: cf.kernels.top_k(X, 2)


CASES = {
    **{name: (calls_of_classes, make) for name, make in CLASSES.items()},
    **{name: (calls_of_filters, make) for name, make in FILTERS.items()},
    **{name: (calls_of_metrics, make) for name, make in METRICS.items()},
    **{name: (calls_of_rankings, make) for name, make in RANKINGS.items()},
    **{name: (calls_of_losses, name) for name in ("Squared", "Logistic", "PortfolioReturn")},
    "data": (calls_of_data, "data"),
}


def one_format(name, form):
    """Each lie of a format to each call, of a row and of a table; what is refused is told why."""
    calls, make = CASES[name]
    for kind, wrong, matrix in (*lying_rows.lies(GOOD), *lying_rows.lies(TABLE)):
        if kind != form:
            continue
        for learner, call in calls(make):
            try:
                call(matrix)
            except REFUSALS as error:
                assert str(error), (kind, wrong)
            else:
                told_the_truth(call, wrong, matrix)
            works(learner)


def told_the_truth(call, wrong, matrix):
    """What was taken had an answer: compressed rows whose arrays do not fit never have."""
    compressed = matrix.format in ("csr", "csc", "bsr", "coo")
    assert not compressed or wrong in HARMLESS, f"{matrix.format}, {wrong}: taken by {call}"


def works(learner):
    x = scipy.sparse.csr_matrix(GOOD)
    if hasattr(learner, "decision_function"):
        assert np.isfinite(learner.decision_function(x)).all()
        feed(learner, x)
    elif hasattr(learner, "margin"):
        assert np.isfinite(learner.margin(x))
        feed(learner, x)
    elif hasattr(learner, "quad"):
        assert np.isfinite(learner.quad(x)) and np.isfinite(learner.update(x))
    elif learner is not None:
        assert np.isfinite(learner.weights).all() and len(learner.present(TABLE)) == 3


FORMS = sorted({form for form, _, _ in lying_rows.lies()})


@children.forks
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CASES)
def test_lies_are_refused(name, form):
    children.run(one_format, name, form, seconds=6.0)
