"""Sizes whose products overflow: refused in words, at once, without touching memory.

A size may also be taken where nothing of it is needed yet (a window of 2^62 rows holds what there
is); the learner must then work.
"""

import children
import numpy as np
import pytest
import scipy.sparse
from layouts import TRUTH

import coactive_fast as cf
from coactive_fast import _memory

REFUSALS = (ValueError, TypeError, MemoryError, OverflowError)
MEMORY = 2**31
SECONDS = 10.0
HUGE = (2**31, 2**32, 2**33, 2**40, 2**59, 2**60, 2**61, 2**62, 2**62 + 1, 2**63 - 1, 2**63,
        2**64, 2**200)
X = np.linspace(-1.0, 1.0, 5)


class Task:
    """A structured object of one's own, of any dimension."""

    def __init__(self, dimension):
        self.dimension = dimension

    def features(self, x, y):
        return np.zeros(6)

    def argmax(self, w, x):
        return 0


def rows_of_any_width(learner):
    """Rows of widths with which a product is small again after it has overflowed."""
    for d in (1, 2, 4, 5, 8, 16):
        learner.reset()
        yield np.linspace(-1.0, 1.0, d)


def filters(learner):
    for x in rows_of_any_width(learner):
        try:
            for t in range(20):
                learner.learn(np.roll(x, t), t % 2 == 0)
                learner.forward(x)
                learner.margin(x)
        except REFUSALS as error:
            assert str(error)


def classes(learner):
    for x in rows_of_any_width(learner):
        try:
            for _ in range(5):
                learner.learn(x, learner.choose(x), True)
            learner.predict(x[None])
        except REFUSALS as error:
            assert str(error)


def labels(learner):
    for x in rows_of_any_width(learner):
        try:
            learner.run(x[None], [1])
            learner.predict(x[None])
        except REFUSALS as error:
            assert str(error)


def coactive(learner):
    for _ in range(3):
        learner.learn(0, learner.present(0), 1)
    assert learner.weights.size


def rankings(learner):
    documents = np.array([X, -X])
    for _ in range(3):
        learner.learn(documents, learner.present(documents), [1, 0])
    assert learner.weights.size == 5


def points(learner):
    for _ in range(3):
        learner.tell(np.zeros(learner.ask().size))


def values(learner):
    for _ in range(3):
        learner.tell(float(learner.ask().sum()))


def metrics(metric):
    for t in range(20):
        metric.update(np.roll(X, t))
    assert np.isfinite(metric.quad(X))


def far_column(make, told):
    """A sparse row with an entry in the last of very many columns, and one in another column."""
    def build(n):
        return make(), scipy.sparse.csr_array(
            (np.ones(2), np.array([3, n - 1]), np.array([0, 2])), shape=(1, n))

    def use(both):
        learner, row = both
        told(learner, row)

    return build, use


def learned(learner, row):
    learner.learn(row, 1, True)
    learner.predict(row)


def all_of(*names):
    """Methods that take a row, or one of them as a table."""
    def use(learner, row):
        for name in names:
            try:
                getattr(learner, name)(row)
            except REFUSALS as error:
                assert str(error)

    return use


def arms(learner, row):
    learner.learn(row, learner.choose(row), 1.0)


def with_a_context(covariance, contexts):
    """Each call by a learner of its own: its width is that of the row times that of the context."""
    context = np.ones(contexts)

    def use(_, row):
        log = cf.logs.BanditLog(row, [0, 1], [0], [1.0], [0.5], context=context[None])
        for call in (lambda it: it.choose(row, context=context),
                     lambda it: it.learn(row, 1.0, context=context),
                     lambda it: it.scores(row, context=context),
                     lambda it: it.decide(row, context=context),
                     lambda it: cf.logs.replay(it, log, seed=1),
                     lambda it: cf.logs.evaluate(it, log, force=True)):
            try:
                call(cf.LinearBandit(covariance=covariance, context_features=contexts))
            except REFUSALS as error:
                assert str(error)

    return far_column(lambda: None, use)


def diagonal(_, row):
    metric = cf.metric.Diagonal(row.shape[1])
    metric.update(row)
    metric.quad(row)


def fleet(_, row):
    with cf.Fleet(None, cf.OnlineRidge(), 4) as models:
        models.learn(1, row, 1.0)


def fleet_with_a_context(_, row):
    template = cf.LinearBandit(context_features=3)
    for call in (lambda it: it.learn(1, row, 1.0, context=np.ones(3)),
                 lambda it: it.choose(1, row, context=np.ones(3)),
                 lambda it: it.run([1], row, [1.0], context=np.ones((1, 3)))):
        with cf.Fleet(None, template, 4) as models:
            try:
                call(models)
            except REFUSALS as error:
                assert str(error)


SIZES = {
    "window": (lambda n: cf.RidgeFilter(window=n), filters),
    "kernel window": (lambda n: cf.RidgeFilter(covariance="kernel", window=n), filters),
    "budget": (lambda n: cf.RidgeFilter(covariance="kernel", budget=n), filters),
    "horizon of a filter": (lambda n: cf.ProbabilisticRidgeFilter(horizon=n), filters),
    "metric.Full": (lambda n: cf.metric.Full(n), metrics),
    "metric.Full robust": (lambda n: cf.metric.Full(n, precision="robust"), metrics),
    "metric.Diagonal": (lambda n: cf.metric.Diagonal(n), metrics),
    "metric.Dual window": (lambda n: cf.metric.Dual(window=n), metrics),
    "metric.Dual budget": (lambda n: cf.metric.Dual(budget=n), metrics),
    "classes, diagonal": (lambda n: cf.Confidit(n), classes),
    "classes, full": (lambda n: cf.Confidit(n, covariance="full"), classes),
    "classes, kernel": (lambda n: cf.Confidit(n, covariance="kernel"), classes),
    "classes, Banditron": (lambda n: cf.Banditron(n), classes),
    "classes, Newtron": (lambda n: cf.Newtron(n), classes),
    "classes, Newtron full": (lambda n: cf.Newtron(n, covariance="full"), classes),
    "classes, Perceptron": (lambda n: cf.MulticlassPerceptron(n), labels),
    "classes, second order": (lambda n: cf.MulticlassSecondOrderPerceptron(n), labels),
    "classes, AROW": (lambda n: cf.MulticlassAROW(n), labels),
    "max_features": (lambda n: cf.Confidit(3, max_features=n), classes),
    "column, growing": far_column(lambda: cf.Confidit(3, max_features=2**60), learned),
    "column, diagonal": far_column(lambda: cf.Confidit(3), learned),
    "column, full": far_column(lambda: cf.Confidit(3, covariance="full"), learned),
    "column, kernel": far_column(lambda: cf.Confidit(3, covariance="kernel"), learned),
    "column, filter": far_column(cf.RidgeFilter, lambda it, row: it.learn(row, True)),
    "column, diagonal filter": far_column(
        lambda: cf.RidgeFilter(covariance="diagonal"), lambda it, row: it.learn(row, True)),
    "column, kernel filter": far_column(
        lambda: cf.RidgeFilter(covariance="kernel"), lambda it, row: it.learn(row, True)),
    "column, rbf filter": far_column(
        lambda: cf.RidgeFilter(covariance="kernel", kernel="rbf"),
        lambda it, row: it.learn(row, True)),
    "column, Perceptron filter": far_column(
        cf.PerceptronFilter, lambda it, row: it.learn(row, True)),
    "column, metric.Dual": far_column(cf.metric.Dual, lambda it, row: it.update(row)),
    "column, choose": far_column(lambda: cf.Confidit(3), all_of("choose", "predict")),
    "column, choose full": far_column(
        lambda: cf.Confidit(3, covariance="full"), all_of("choose", "decision_function")),
    "column, choose projected": far_column(
        lambda: cf.Confidit(3, covariance="full", projection=True), all_of("choose", "predict")),
    "column, choose kernel": far_column(
        lambda: cf.Confidit(3, covariance="kernel"), all_of("choose", "predict")),
    "column, Newtron": far_column(
        lambda: cf.Newtron(3, covariance="full", seed=1), all_of("choose", "predict")),
    "column, forward": far_column(cf.RidgeFilter, all_of("forward", "margin", "margins")),
    "column, forward in a window": far_column(
        lambda: cf.RidgeFilter(window=3), all_of("forward", "margin", "margins")),
    "column, forward kernel": far_column(
        lambda: cf.RidgeFilter(covariance="kernel"), all_of("forward", "margin", "margins")),
    "column, own kernel": far_column(
        lambda: cf.RidgeFilter(covariance="kernel", kernel=lambda a, b: float(a @ b)),
        lambda it, row: it.learn(row, True)),
    "column, OnlineRidge": far_column(cf.OnlineRidge, lambda it, row: it.learn(row, 1.0)),
    "column, ArmBandit": far_column(lambda: cf.ArmBandit(3), arms),
    "column, LinearBandit": far_column(cf.LinearBandit, all_of("choose", "scores")),
    "column, metric.Diagonal": far_column(lambda: None, diagonal),
    "column, context of one": with_a_context("full", 1),
    "column, context of three": with_a_context("full", 3),
    "column, context, diagonal": with_a_context("diagonal", 7),
    "column, Fleet": far_column(lambda: None, fleet),
    "column, Fleet with a context": far_column(lambda: None, fleet_with_a_context),
    "column, Items": far_column(lambda: None, lambda _, row: cf.Items(row)),
    "column, factorize": far_column(
        lambda: None, lambda _, row: cf.data.factorize(row, rank=2, sweeps=1)),
    "column, Squared": far_column(lambda: None, lambda _, row: cf.losses.Squared(row, [1.0])),
    "epochs": (lambda n: cf.Confidit(2), None),
    "places": (lambda n: cf.PreferencePerceptron(cf.Ranking(k=n)), rankings),
    "batch": (lambda n: cf.PreferencePerceptron(cf.Ranking(), batch=n), rankings),
    "batch of one's own task": (lambda n: cf.PreferencePerceptron(Task(6), batch=n), coactive),
    "horizon": (lambda n: cf.ExponentiatedPreferencePerceptron(cf.Ranking(), horizon=n), rankings),
    "points, ONSEG": (lambda n: cf.ONSEG(n, cf.Ball(1.0), delta=0.1, gamma=0.2), values),
    "points, OGDEG": (lambda n: cf.OGDEG(n, cf.Ball(1.0), delta=0.1, gamma=0.2), values),
    "points, ONS": (lambda n: cf.ONS(n, cf.Ball(1.0), 0.5), points),
    "points, ONS box": (lambda n: cf.ONS(n, cf.Box(-1.0, 1.0), 0.5), points),
    "points, OGD": (lambda n: cf.OGD(n, cf.Simplex(), 1.0), points),
    "points, OGD l1": (lambda n: cf.OGD(n, cf.L1Ball(1.0), 1.0), points),
    "points, DikinFTRL": (lambda n: cf.DikinFTRL(n, eta=0.1), values),
    "horizon, ONSEG": (lambda n: cf.ONSEG(3, cf.Ball(1.0), horizon=n, delta=0.1, gamma=0.2),
                       values),
    "horizon, DikinFTRL": (lambda n: cf.DikinFTRL(3, horizon=n), values),
}
RULES = {
    "PreferencePerceptron": cf.PreferencePerceptron,
    "exponentiated": cf.ExponentiatedPreferencePerceptron,
    "unsigned": lambda task: cf.ExponentiatedPreferencePerceptron(task, signed=False),
    "convex": cf.ConvexPreferencePerceptron,
    "second order": cf.SecondOrderPreferencePerceptron,
    "deferred": lambda task: cf.SecondOrderPreferencePerceptron(task, projection="deferred"),
    "custom": lambda task: cf.CustomPreferencePerceptron(task, lambda state, delta: state.weights),
    "RankingSVM": cf.RankingSVM,
}
SIZES |= {f"dimension, {name}": (lambda n, make=make: make(Task(n)), coactive)
          for name, make in RULES.items()}


def a_size(name, text):
    make, use = SIZES[name]
    try:
        learner = make(int(text))
        if use is not None:
            use(learner)
        else:
            learner.run(X[None], [1], epochs=int(text))
    except REFUSALS as error:
        assert str(error)


@children.forks
@pytest.mark.parametrize("name", SIZES)
def test_a_huge_size_is_refused_or_works(name):
    wrong = []
    for n in HUGE:
        try:
            children.run(a_size, name, str(n), seconds=SECONDS, memory=MEMORY)
        except children.Failed as failed:
            wrong.append(f"{n}: {str(failed)[:1500]}")
            if len(wrong) == 2:
                break
    assert not wrong, "\n".join(wrong)


def within_the_limit(name):
    """Where there is little memory, a row of many columns is refused before it takes any."""
    _memory.limit = 2.0**28
    before = children.peak()
    a_size(name, str(2**27))
    assert children.peak() - before < 2**29


@children.forks
@pytest.mark.parametrize("name", [name for name in SIZES if name.startswith("column")])
def test_a_wide_row_asks_for_the_limit(name):
    children.run(within_the_limit, name)


@pytest.mark.parametrize("rounds", [2**31, 2**60, 2**62, 2**63, 2**64])
def test_rounds_that_no_history_holds(rounds):
    items, weights = cf.Items(np.eye(6)), TRUTH[None]
    learner = cf.PreferencePerceptron(items)
    with pytest.raises(REFUSALS):
        cf.OGD(3, cf.Ball(1.0), 1.0).run(cf.losses.Squared(np.eye(3), np.ones(3)),
                                         rounds * 2**10)
    with pytest.raises(REFUSALS):
        cf.simulate_items(learner, items, weights, cf.users.Best(seed=0), rounds=rounds * 2**10)
