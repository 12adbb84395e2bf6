"""The experiments on theorems: bounds by hand, verdicts on both sides of the border, small runs."""

import csv

import numpy as np
import pytest
from task_runs import Here

from coactive_fast import data
from coactive_fast.experiments import (
    _judge,
    _plan,
    _report,
    _run,
    _theorems,
    experiments,
    filtering,
    theorems_coactive,
    theorems_confidit,
    theorems_onseg,
)
from coactive_fast.experiments._folder import Sets
from coactive_fast.experiments._theorems import Case

SPREAD = np.array([-1.5, -0.7, -0.2, 0.1, 0.4, 0.6, 0.5, 0.8])  # of eight runs; mean 0
SMALL = {
    "coactive-theorem-1": {"rounds": 1000, "runs": 3},
    "coactive-theorem-5": {"lengths": [10, 100], "runs": 3, "features": [6]},
    "coactive-theorems-6-8": {"rounds": 1000, "runs": 3},
    "coactive-lemma-3": {"lengths": [9, 100]},
    "confidit-theorems": {"rounds": 300, "runs": 40, "error": 0.5, "models": [[2, 3, 2, 0.5]]},
    "filtering-theorem-1": {"rounds": 1000, "runs": 4, "chances": [0.1, 0.6]},
    "onseg-theorems": {"lengths": [1000, 10000], "runs": 4, "dimensions": [1, 2]},
}


# --- the bounds, by hand --------------------------------------------------------------------------


def test_bounds_of_the_coactive_learners():
    slack = np.array([0.5, -0.5, 0.0, 1.0])
    # sums of the slacks 0.5, 0, 0, 1; 2 R |w*| / alpha = 2 * 3 * 2 / 0.5 = 24
    np.testing.assert_allclose(
        theorems_coactive.perceptron_bound(slack, 0.5, 3.0, 2.0),
        [1.0 + 24.0, 24.0 * 2**0.5, 24.0 * 3**0.5, 2.0 + 48.0])
    np.testing.assert_allclose(
        theorems_coactive.perceptron_bound(slack, 0.5, 3.0, 2.0, batch=4)[[0, 3]], [49.0, 98.0])
    # T = 4: 2 S sqrt(T) ln(e^2) = 2 * 3 * 2 * 2 = 24, and 2 S t / sqrt(T) = 3 t
    np.testing.assert_allclose(
        theorems_coactive.exponentiated_bound(slack, 0.5, 3.0, np.exp(2.0)),
        2.0 * np.array([0.5 + 24 + 3, 24 + 6, 24 + 9, 1 + 24 + 12]))
    # G / alpha (D^2 / 2 + 4 R^2) sqrt(t) = 6 (8 + 36) sqrt(t), and 2 G / alpha = 12 a slack
    clipped = np.maximum(slack, 0.0)
    np.testing.assert_allclose(
        theorems_coactive.convex_bound(clipped, 0.5, 3.0, 3.0, 4.0)[[0, 3]], [270.0, 546.0])
    # 6 (4 / 2 * 2 + 4 + 36 * 2)
    assert theorems_coactive.convex_bound_printed(4, 0.5, 3.0, 3.0, 4.0) == pytest.approx(480.0)


def test_bound_of_the_second_order():
    # gamma = 1/2: no slack, G eps D^2 / (2 alpha) = 4 * 2 * 9 / 1 = 72, G N / (2 gamma alpha) = 40
    found = theorems_coactive.second_order_bound(np.zeros(4), 0.5, 1.0, 4.0, 2.0, 3.0, 5, 2.0)
    np.testing.assert_allclose(found, 72.0 + 40.0 * np.log([2.0, 3.0, 4.0, 5.0]))
    # a slack of 1: strong / (2 alpha^2) = 4, and 2 G / alpha = 16
    more = theorems_coactive.second_order_bound(np.array([1.0, 0, 0, 0]), 0.5, 1.0, 4.0, 2.0, 3.0,
                                                5, 2.0)
    np.testing.assert_allclose(more - found, 20.0)


def test_bounds_of_confidit():
    # d = k = 2, alpha = 0: B3 = 4 ln(1 + T / 4), which is 4 at T = 4 (e - 1)
    T = 4.0 * (np.e - 1.0)
    assert theorems_confidit.determinants(T, 2, 2, 0.0) == pytest.approx(4.0)
    delta = (T + 4.0) * np.exp(-1.0)  # its logarithm within eta is 1
    # eta = |U|^2 / 2 + 2 * 4 + 36 = 52 for |U|^2 = 16; sum eps^2 = 2 * 52 * 2 * 4
    assert theorems_confidit.bound(T, 2, 2, 0.0, 4.0, delta) == pytest.approx(
        2.0 * np.sqrt(T * 832.0))
    # Q = 2: eta + 8, and 2 Q beside it
    assert theorems_confidit.bound(T, 2, 2, 0.0, 4.0, delta, 2.0) == pytest.approx(
        4.0 + 2.0 * np.sqrt(T * 960.0))
    np.testing.assert_allclose(theorems_confidit.errors_of(4, 0.5), [0.5, 0.5 / 2**0.5,
                                                                     0.5 / 3**0.5, 0.25])


def test_the_determinants_of_a_run_are_within_the_bound():
    found = theorems_confidit.one_run(None, [3, 4, 3], 0.5, 0.0, 500, 0, 0)
    assert 0.0 < found["grown"] <= theorems_confidit.determinants(500, 4, 3, 0.5)


def test_bound_of_simple_fil():
    # delta = -1/4: (128 + 2) ln n + 4
    np.testing.assert_allclose(filtering.bound(np.array([1.0, np.e]), 0.25), [4.0, 134.0])


def test_bounds_of_onseg():
    # T = e^3, d = r = 1, D = 2, F = 1: 6 e^2 (15 * 2 * 3)^(1/3), delta^3 = 25 * 4 * 9 / (3 e^6)
    T = np.e**3
    delta = (300.0 * np.exp(-6.0)) ** (1.0 / 3.0)
    assert theorems_onseg.delta(1, T, 1, 1.0, 1.0, 1.0, 2.0) == pytest.approx(delta)
    assert theorems_onseg.bound(1, T, 1, 1.0, 1.0, 1.0, 2.0, 0.5) == pytest.approx(
        6.0 * np.e**2 * 90.0 ** (1.0 / 3.0) + 15.0 / (0.5 * delta**2))
    # Theorem 2, L = 2: 2 sqrt(e^3 * 30 * 2 * 3 * 3), delta^2 = 10 * 2 * 3 / (3 * 3 e^3)
    assert theorems_onseg.bound(2, T, 1, 1.0, 2.0, 1.0, 2.0, 0.5) == pytest.approx(
        2.0 * np.sqrt(540.0 * T) + 15.0 / (0.5 * 60.0 / 9.0 / T))


def test_the_learner_has_the_delta_of_the_bound():
    for theorem in (1, 2):
        F, L = theorems_onseg.constants(2)
        found = theorems_onseg.one_run(None, theorem, 2, 10000, 0, 0)
        assert found["delta"] == pytest.approx(
            theorems_onseg.delta(theorem, 1e4, 2, F, L, 1.0, 2.0))


# --- the statistics -------------------------------------------------------------------------------


def test_one_run_refutes_what_is_sure_and_few_do_not_refute_a_chance():
    assert _judge.stays_under([0.5, 1.0, 1.0 + 1e-12]) is True
    assert _judge.stays_under([0.5, 1.01]) is False and _judge.stays_under([np.nan]) is False
    assert _judge.stays_under([0.5] * 40, 0.1) is True  # 0.9^40 is 1.5 %
    assert _judge.stays_under([0.5] * 30, 0.1) is None  # 0.9^30 is 4.2 %
    assert _judge.stays_under([0.5] * 36 + [2.0] * 4, 0.1) is None
    assert _judge.stays_under([0.5] * 30 + [2.0] * 10, 0.1) is False


def test_what_a_run_hands_on():
    found = _theorems.told([1.0, 0.0, 3.0], [4.0, 4.0, 5.0], 2.0)
    np.testing.assert_array_equal(found["regret"], [1.0, 1.0, 4.0])
    assert found["ratio"] == pytest.approx(0.8)
    assert _theorems.told([0.0, 1.0], [0.0, 0.0])["ratio"] == np.inf  # above a bound of 0
    assert _theorems.told([0.0, 0.0], [0.0, 0.0])["ratio"] == 0.0
    shown = _theorems.shown(10000)
    assert {1, 10, 100, 1000, 10000} <= set(shown) and (np.diff(shown) > 0).all()
    assert list(_theorems.shown(1)) == [1]


def made(level, power, bound=2.0, order=0.5, label="made", same=True):
    """Eight runs with regret about ``level t^power`` and the bound ``bound t^order``."""
    t = _theorems.shown(10000)
    regret = level * (1.0 + 0.02 * SPREAD[:, None]) * t**power
    limit = np.broadcast_to(bound * t**order, regret.shape)
    return Case(label, t, regret, limit, (regret / limit).max(1), 0.5, same)


def logarithm(power):
    """About ``ln t``, or ``t^power``, less what it began with."""
    t = _theorems.shown(10000)
    values = np.log(t) if power == 0.0 else t**power
    regret = (1.0 + 0.02 * SPREAD)[:, None] * values
    return Case("made", t, regret, regret + 1.0, np.full(8, 0.5))


@pytest.mark.parametrize("good", [True, False])
@pytest.mark.parametrize("rule", [
    lambda good: _theorems.under("x", [made(1.0, 0.5), made(1.9 if good else 1.99, 0.5)], "p"),
    lambda good: _theorems.under("x", [made(1.9 if good else 2.1, 0.5)], "p", kind="mean"),
    lambda good: _theorems.slower("x", [made(1.0, 0.49 if good else 0.51)], "p"),
    lambda good: _theorems.slower("x", [made(1.0, 0.4 if good else 0.6, same=False)], "p"),
    lambda good: _theorems.logarithmic("x", [logarithm(0.0 if good else 0.4)], "p"),
    lambda good: next(theorems_coactive.lower(
        {"perceptron": np.array([2.0, 20.0 if good else 9.0])}, np.array([1.0, 100.0]), 1.0)),
    lambda good: list(theorems_coactive.lower(
        {"perceptron": np.array([2.0 if good else 1.9])}, np.ones(1), np.array([2.0])))[1],
    lambda good: next(theorems_coactive.as_printed(
        np.array([1.0, 2.0]), np.array([2.0, 2.1 if good else 1.9]), np.full(2, 3.0))),
    lambda good: list(theorems_coactive.as_printed(
        np.ones(1), np.ones(1), np.full(1, 1.1 if good else 0.9)))[1],
    lambda good: theorems_onseg.informative(1, [made(1.0, 0.5, 40.0 if good else 60.0)], "p"),
    lambda good: theorems_onseg.order_of_bound(
        2, [made(1.0, 0.5, order=0.5 if good else 0.6)], "p"),
    lambda good: theorems_onseg.order_of_regret(1, [made(1.0, 0.68 if good else 0.72)], "p"),
], ids=["sure", "mean", "slower", "lengths", "logarithm", "lemma", "constant", "printed", "squared",
        "informative", "bound's order", "regret's order"])
def test_both_sides_of_the_border(rule, good):
    finding = rule(good)
    assert finding.holds is good, finding.measured
    assert finding.test.endswith(".") and finding.test.count(". ") == 0


def test_the_chance_of_a_theorem_counts():
    forty = Case("x", np.array([1]), np.ones((40, 1)), np.ones((40, 1)), np.full(40, 0.9))
    found = _theorems.under("x", [forty], "p", kind="chance", chance=0.1)
    assert found.holds is True and "probability 0.9" in found.says


def test_from_when_on_a_bound_says_something():
    # 2 sqrt(t) < t / 2 from t = 16 on; that round itself is equal
    assert made(1.0, 0.5).useful() == 18  # the next one shown
    assert made(1.0, 0.5, bound=1e6).useful() is None


# --- the runs -------------------------------------------------------------------------------------


def test_lemma_3_by_hand():
    """Whatever is presented, w* turns it down: 2 / sqrt(T) a round."""
    for learner in theorems_coactive.ANY:
        found = theorems_coactive.adversary_run(None, learner, 25, 3)
        assert found["norm"] == pytest.approx(1.0) and found["regret"] == pytest.approx(10.0)


def test_simple_fil_pays_for_what_it_forwards_in_vain():
    found = filtering.one_run(None, 0.1, 1000, 0, 0)
    made_ = data.make_simple_filter(n_rows=1000, p=0.1, seed=[0, 0, 100])
    assert found["regret"][-1] <= made_.regret(np.ones(1000, bool)).sum() == pytest.approx(800.0)
    assert found["regret"][-1] > 0.0


def test_the_best_point_of_a_run_is_the_best():
    """No point of the ball has less loss in hindsight: the regret of standing still is >= 0."""
    rng = np.random.default_rng(0)
    d, n = 2, 1000
    j, y = rng.integers(d, size=n), rng.uniform(0.0, theorems_onseg.LABEL, n)
    best = np.bincount(j, y, d) / np.bincount(j, minlength=d) / np.sqrt(d)
    assert np.linalg.norm(best) < theorems_onseg.RADIUS

    def cost(x):
        return np.sum((np.sqrt(d) * x[j] - y) ** 2)

    assert all(cost(best) < cost(best + 0.01 * rng.standard_normal(d)) for _ in range(20))


def drive(name, folder=None):
    experiment = experiments()[name]
    setting = _plan.Setting(Sets(), 0, SMALL[name])
    outcome, _ = _run.drive(experiment, setting, Here())
    if folder is not None:
        _report.write(folder, experiment, outcome, {}, pictures=False)
    return outcome


@pytest.mark.parametrize("name", list(SMALL))
def test_bounds_hold_in_small_runs(name, tmp_path):
    outcome = drive(name, tmp_path)
    stays = [f for f in outcome.findings if "stays below" in f.says]
    assert all(f.holds is True for f in stays) and (stays or name == "coactive-lemma-3")
    names = [plot.name for plot in outcome.plots]
    assert all(f.test and f.plot in names for f in outcome.findings)
    assert all(plot.log == "xy" for plot in outcome.plots)
    assert len({*names, *(table.name for table in outcome.tables)}) == len(
        [*names, *outcome.tables])  # no file is written twice
    with open(tmp_path / f"{names[0]}.csv", encoding="utf-8") as file:
        assert len(list(csv.reader(file))) > 3


def test_what_the_papers_claim_wrongly_is_seen():
    printed = next(f for f in drive("coactive-lemma-3").findings if "as printed" in f.says)
    assert printed.holds is False and "squared diameter" in printed.reason
    for finding in drive("onseg-theorems").findings:
        if "is of order" in finding.says or "below F a round" in finding.says:
            assert finding.holds is False and finding.reason


def test_a_bound_is_drawn_in_the_colour_of_its_regret():
    pytest.importorskip("matplotlib")
    plot = _theorems.plot("p", "t", [made(1.0, 0.5, label="a"), made(2.0, 0.5, label="b")])
    lines = _report.draw(plot).axes[0].get_lines()
    assert [line.get_linestyle() for line in lines] == ["-", "--", "-", "--"]
    assert lines[0].get_color() == lines[1].get_color() != lines[2].get_color()
    assert lines[2].get_color() == lines[3].get_color()
