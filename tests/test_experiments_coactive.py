"""What the coactive figures are computed with."""

import importlib.util

import numpy as np
import pytest
from task_runs import Here

import coactive_fast as cf
from coactive_fast.experiments import (
    _coactive,
    _plan,
    _run,
    _sets,
    coactive_clicks,
    coactive_figures,
    experiments,
)
from coactive_fast.experiments._coactive import Case
from coactive_fast.experiments._folder import Sets

SMALL = {"permutations": 3, "rankings": 50, "users": 23, "rounds": 30}


def results(web=(), films=(), **parameters):
    experiment = _plan.Experiment("x", "x", "x", "x", "x",
                                  lambda setting: _coactive.run(setting, web, films))
    setting = _plan.Setting(Sets(), 0, {**SMALL, **parameters})
    return _run.drive(experiment, setting, Here())[0]


def test_sums_of_tasks_are_means_over_users():
    case = Case("second", "second-order", {"gamma": 0.5}, sample={"users": 21})
    _, (found,) = results(films=[case])
    items, _ = _sets.movies(Sets())
    weights = _sets.movie_weights(Sets(), 0, 21)
    learner = cf.SecondOrderPreferencePerceptron(items, gamma=0.5)
    history = cf.simulate_items(learner, items, weights, cf.users.AlphaInformative(0.5),
                                rounds=30)
    assert found.runs == 21 and found.rounds[-1] == 30
    longest = np.linalg.norm(items.features, axis=1).max()
    most = longest * np.linalg.norm(weights, axis=1)[:, None]
    costs = {"regret": history.regret_per_user,
             "convex": (-history.regret_per_user - most) ** 2 - most**2}
    for measure, values in costs.items():
        expected = _plan.Curve.of_runs("", found.rounds, _plan.running_mean(values))
        curve = found.curve(measure)
        np.testing.assert_allclose(curve.mean, expected.mean, rtol=1e-10)
        np.testing.assert_allclose(curve.error, expected.error, rtol=1e-8)
        total = found.curve(measure, cumulative=True)
        np.testing.assert_allclose(total.mean, np.cumsum(values, 1).mean(0), rtol=1e-10)
    assert found.end == found.curve().mean[-1]
    _, (other,) = results(films=[Case("first", sample={"users": 21})])
    means = _plan.running_mean(history.regret_per_user)
    np.testing.assert_allclose(found.runs_at(10), means[:, 9], rtol=1e-12)
    np.testing.assert_allclose(found.runs_at(), means[:, -1], rtol=1e-12)
    gain = other.log().minus(found.log())
    assert gain.value == pytest.approx(np.log(other.end / found.end))
    assert 0.0 < gain.error < other.log().error
    height = np.log(means[:, found.rounds[found.rounds >= 10] - 1].mean(1).mean())
    assert found.log_range().value == pytest.approx(height)


def test_rankings_go_over_all_queries_in_other_orders():
    (found, again), _ = results(web=[Case("a"), Case("a").noisy("b")], rankings=900)
    assert found.runs == 3 and found.rounds[-1] == 900
    assert found.curve().error[-1] > 0.0 and found.end < again.end
    data = _sets.web_search(Sets())
    orders = np.random.default_rng([0, 1])
    order = np.concatenate([orders.permutation(len(data)) for _ in range(3)])[:900]
    one = _coactive.web_search(Sets(), **Case("a").work("web"), permutation=1, rankings=900,
                               seed=0)
    history = cf.simulate(cf.PreferencePerceptron(cf.Ranking()), data,
                          cf.users.AlphaInformative(0.5), order=order)
    np.testing.assert_array_equal(one["regret"], history.average_regret[found.rounds - 1])


def test_no_ranking_is_more_useful_than_the_bound():
    data, weights = _sets.web_search(Sets()), _sets.ranking_weights(Sets())
    longest = max(np.linalg.norm(cf.kernels.ranking_features(q.features, np.argsort(
        -np.linalg.norm(q.features, axis=1)))) for q in data)
    bound = _sets.most_useful_ranking(Sets())
    assert longest * np.linalg.norm(weights) <= bound < 3.0 * longest * np.linalg.norm(weights)


def made(means):
    """A result of one run with these means."""
    means = np.asarray(means, dtype=float)
    found = {"runs": 1, "seconds": 0.0, "regret": means, "regret squared": means**2,
             "regret at": means[None, _coactive.marks(len(means)) - 1]}
    return _coactive.Result(Case("made"), {"rounds": len(means)}, [found])


def test_the_round_from_which_regret_is_low_for_good():
    result = made([5.0, 2.0, 3.0, 1.0, 0.5])
    assert result.reaches(2.0) == 4 and result.reaches(5.0) == 1 and result.reaches(0.1) is None
    assert result.end == 0.5 and str(result) == "made: 0.5 ± 0"


@pytest.mark.parametrize("of, low, high", [(np.log, 0.99, 1.01), (np.sqrt, 3.1, 3.2),
                                           (lambda t: t, 9.9, 10.1)])
def test_growth_by_tenfolds(of, low, high):
    x = np.arange(1, 100_001)
    assert low < np.exp(coactive_figures.growth(made(of(x) / x), "regret").value) < high


def test_the_grid_of_the_dueling_bandit_has_25_ratios():
    ratios = sorted(point["explore"] / point["step"] for point in coactive_figures.GRID)
    steps = np.diff(np.log10(ratios))
    assert len(ratios) == 25 and steps.min() > 0.15 and steps.max() < 0.25


def test_the_dueling_bandit_does_not_depend_on_its_scale():
    """What the grid rests on."""
    data = cf.data.make_ranking(n_queries=60, n_features=8, documents=10, seed=0)
    ends = [cf.simulate(cf.DuelingBandit(cf.Ranking(), explore=4.0 * c, step=c, seed=1), data,
                        cf.users.AlphaInformative(0.5)).utility for c in (1.0, 0.25)]
    np.testing.assert_array_equal(*ends)


def test_without_scikit_learn_the_ranking_svm_is_not_judged(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec",
                        lambda name, *more: None if name == "sklearn" else find(name, *more))
    experiment = experiments()["coactive-svm"]
    setting = _plan.Setting(Sets(), 0, experiment.parameters("quick"))
    outcome, _ = _run.drive(experiment, setting, Here())
    assert [finding.holds for finding in outcome.findings] == [None] * 4
    assert all("coactive_fast[svm]" in finding.reason for finding in outcome.findings)
    assert [len(plot.curves) for plot in outcome.plots] == [1] * 4


def test_clicks():
    rng = np.random.default_rng(0)
    level = np.array([0, 2, 1, 0])
    sure = ((0.0, 1.0, 1.0), (0.0, 0.0, 1.0))  # clicks what is relevant, content with the best
    clicked = []
    assert not coactive_clicks.walk([], level, sure, clicked, rng)
    while not coactive_clicks.walk([3, 2, 0, 1], level, sure, clicked, rng):
        pass  # the user may stop looking on the way
    assert clicked == [2, 1]
    assert coactive_clicks.dcg(np.array([1.0, 2.0]), 2.0) == pytest.approx(
        2.5 + 5.0 / np.log2(3.0))
    assert coactive_clicks.shares(np.array([1.0, 2.0, 0.0, -1.0])) == [0.5, 0.25, 0.25]
    orders = {}
    for condition in coactive_clicks.CONDITIONS:
        orders[condition], clicked, queries = coactive_clicks.chain(
            np.arange(12.0), np.zeros(12, int), ((0.0,), (0.0,)), condition,
            np.random.default_rng(3))
        assert not clicked and queries >= 1
    np.testing.assert_array_equal(orders["reversed"], orders["normal"][::-1])
    np.testing.assert_array_equal(orders["swapped"][[1, 0]], orders["normal"][:2])
