"""Every rule of the experiments, with made-up results on both sides of its border."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from task_runs import Here

from coactive_fast.experiments import (
    _coactive,
    _confidit,
    _judge,
    _plan,
    _run,
    clicks_online,
    coactive_alpha,
    coactive_clicks,
    coactive_figures,
    confidit_text,
    confidit_versions,
    confidit_vowel,
    filtering,
    onseg,
)
from coactive_fast.experiments._coactive import Case
from coactive_fast.experiments._folder import Sets
from coactive_fast.experiments._plan import Experiment, Finding, Outcome, Setting, Timing

SPREAD = np.array([-1.5, -0.7, -0.2, 0.1, 0.4, 0.6, 0.5, 0.8])  # of eight runs; mean 0
OTHER = SPREAD[[3, 0, 6, 1, 7, 2, 5, 4]]


# --- the statistics -----------------------------------------------------------------------------


def test_an_interval_is_student_s():
    values = np.array([1.0, 2.0, 4.0, 5.0])
    found = _judge.mean(values)
    assert found.value == 3.0 and found.freedom == 3
    assert found.half == pytest.approx(3.182446 * values.std(ddof=1) / 2.0, rel=1e-6)
    assert str(found) == f"3 ({3 - found.half:.3g} to {3 + found.half:.3g})"
    assert np.isnan(_judge.mean([1.0]).half) and str(_judge.mean([1.0])) == "1 (one run)"
    assert _judge.Estimate(2.0).half == 0.0 and str(_judge.Estimate(2.0)) == "2"


def test_intervals_hold_what_they_should():
    """Of 2,000 samples of five about 95 % have the truth in their interval, paired or not."""
    rng = np.random.default_rng(0)
    shared, a, b = rng.standard_normal((3, 2000, 5))
    gaps = [_judge.mean(x).minus(_judge.mean(y), same_runs=same)
            for same, add in ((True, 3.0), (False, 0.0))
            for x, y in zip(a + add * shared, 2.0 * b + add * shared, strict=True)]
    inside = np.array([abs(gap.value) < gap.half for gap in gaps]).reshape(2, -1).mean(1)
    assert (np.abs(inside - 0.95) < 0.02).all()
    ratios = [_judge.log_ratio(10.0 + x, 5.0 + 0.5 * y) for x, y in zip(a, b, strict=True)]
    inside = np.mean([abs(ratio.value - np.log(2.0)) < ratio.half for ratio in ratios])
    assert abs(inside - 0.95) < 0.02


def test_what_runs_share_cancels():
    a, b = _judge.mean(100.0 * SPREAD), _judge.mean(100.0 * SPREAD + 0.1 * OTHER - 1.0)
    assert _judge.above(a.minus(b)) is True and _judge.above(a.minus(b, same_runs=False)) is None
    exact = a.minus(_judge.Estimate(1.0))
    assert exact.half == pytest.approx(a.half) and exact.value == pytest.approx(-1.0)
    assert _judge.Estimate(2.0).minus(_judge.Estimate(2.0)).error == 0.0


def test_verdicts_have_three_values():
    found = _judge.mean(SPREAD)  # 0 within 0.7
    assert [_judge.below(found, x) for x in (1.0, 0.3, -1.0)] == [True, None, False]
    assert [_judge.above(found, x) for x in (1.0, 0.3, -1.0)] == [False, None, True]
    assert [_judge.inside(found, -x, x) for x in (1.0, 0.3)] == [True, None]
    assert _judge.inside(found, 1.0, 2.0) is False
    assert _judge.alike(_judge.Estimate(np.log(1.9)), 2.0) is True
    assert _judge.alike(_judge.Estimate(np.log(0.4)), 2.0) is False
    assert _judge.below(_judge.mean([1.0]), 5.0) is None  # one run
    assert _judge.below(_judge.log_ratio([0.0], [1.0])) is True
    assert _judge.below(_judge.log_ratio([0.0], [0.0])) is None
    assert _judge.every([True, None]) is None and _judge.every([None, False]) is False
    assert _judge.every([True, True]) is True and _judge.every([]) is None
    assert _judge.at_least(2, [True, True, False]) is True
    assert _judge.at_least(2, [True, None, False]) is None
    assert _judge.at_least(2, [None, False, False]) is False


def test_groups_count_once():
    found = _judge.by_group([3, 1, 3, 1, 7], [1.0, 2.0, 3.0, 4.0, 5.0])
    np.testing.assert_array_equal(found, [3.0, 2.0, 5.0])


@pytest.mark.parametrize("scale, real, name, judged", [
    ("paper", True, "confidit-text", True), ("quick", True, "confidit-text", False),
    ("paper", False, "confidit-text", False), ("paper", False, "x", True)])
def test_levels_are_judged_on_whole_real_data_only(scale, real, name, judged):
    def play(setting):
        yield []
        return Outcome(findings=[Finding("a level", "", True, "Why.", "t", level=True),
                                 Finding("a shape", "", True, "Why.", "t"),
                                 Finding("too close", "", None, "", "t")])

    experiment = Experiment(name, "x", "coactive", "x", "x", play)
    setting = experiment.setting(Sets("folder" if real else None), 0, scale)
    level, shape, close = _run.drive(experiment, setting, Here())[0].findings
    assert level.holds is (True if judged else None) and shape.holds is True
    assert (_judge.NO_LEVELS in level.reason) is not judged and level.reason.endswith("Why.")
    assert close.reason == _judge.TOO_CLOSE


def test_every_finding_says_its_test():
    """All experiments, on results that are made: what is judged names its rule."""
    for make in RULES.values():
        for finding in make(True) + make(False):
            assert finding.test.endswith(".") or finding.holds is None, finding.says
            assert finding.test.count(". ") == 0, finding.test


# --- coactive -----------------------------------------------------------------------------------


def made(level, power=0.5, noise=0.01, runs=None, rounds=1000, label="made", seconds=1.0):
    """Runs whose mean regret after t rounds is ``level (1 + noise spread) t^-power``.

    Unless given, each level has the spread in another order: little of it cancels run by run.
    """
    runs = np.roll(SPREAD, round(100 * level)) if runs is None else runs
    t = np.arange(1, rounds + 1)
    total = level * (1.0 + noise * runs)[:, None] * t ** (1.0 - power)
    regret = np.diff(total, axis=1, prepend=0.0)
    found = [{"seconds": seconds * (1.0 + 0.01 * s), **_coactive._costs(one[None], [50.0])}
             for one, s in zip(regret, runs, strict=True)]
    return _coactive.Result(Case(label), {"rounds": rounds}, found)


def played(monkeypatch, play, web, film, **parameters):
    """The findings of a play whose runs end like this."""
    def run(setting, *cases):
        yield []
        return web, film

    monkeypatch.setattr(_coactive, "run", run)
    setting = Setting(Sets("real"), 0, parameters, True)
    return _run.drive(Experiment("x", "x", "coactive", "x", "x", play), setting,
                      Here())[0].findings


def batches(good):
    group = [made(1.0), made(1.5 if good else 7.0), made(5.5 if good else 6.5)]
    return list(coactive_figures.batch_findings("movies", "p", *group))


def sweep(good):
    """Of seven gammas 1 is best, or the one before it; extremes 1.2 or 1.05 times as bad."""
    levels = [1.2, 0.99, 0.98, 0.9, 0.99, 0.98, 1.2] if good else [
        0.95, 0.99, 0.9, 0.91, 0.99, 0.98, 0.95]
    return [made(level) for level in [*levels, 1.0]]


def growing(good):
    """A second order whose cumulative regret is a logarithm, or a square root."""
    first = made(1.0, power=0.5)
    t = np.arange(1, 1001)
    total = (1.0 + 0.01 * SPREAD)[:, None] * (np.log(t) + 1.0)
    regret = np.diff(total, axis=1, prepend=0.0)
    second = _coactive.Result(Case("second"), {"rounds": 1000}, [
        {"seconds": 1.0, **_coactive._costs(one[None], [50.0])} for one in regret])
    return first, second if good else made(1.1, power=0.5)


def clicks(good):
    """Two chains a query: of each three one is equal, and more are better than worse, or fewer."""
    gain = np.tile([1.0, 0.0, 1.0, 1.0, 0.0, -1.0], 20) * (1.0 if good else -1.0)
    group = {"gain": gain, "same": (np.arange(120) % 12 != 1) if good else np.zeros(120, bool),
             "query": np.repeat(np.arange(60), 2), "queries": np.ones(120), "clicks": np.ones(120)}
    return [f for f in coactive_clicks.judge(
        {**dict.fromkeys(coactive_clicks.CONDITIONS, group), "all": group}) if f.test]


def svm(good):
    places = {True: (made(1.0), made(1.5)), False: (made(1.0), made(0.4))}[good]
    return [coactive_figures.svm_finding(says, "p", *places) for says in
            ("Both do comparably.", "The Preference Perceptron is much better (movies).")] + [
        coactive_figures.cost(*2 * [(made(1.0), made(1.0, seconds=2.2 if good else 1.8))])]


def dueling(good):
    last = made(0.2 if good else 0.05, power=0.0)
    perceptron = made(1.0, power=0.5, noise=0.02)  # after 10 rounds 0.32, after 100 0.1
    early = made(0.5 if good else 0.1, power=0.0)
    first, second = coactive_figures.matched("web search", "p", perceptron, early)
    second = list(coactive_figures.matched("web search", "p", perceptron, last))[1]
    return [first, second, *coactive_figures.worse(
        "movies", "p", made(1.0), made(1.6 if good else 1.4))]


def online_clicks(good):
    """Pair swaps above random orders at each check, or once below; others end above or below."""
    def runs(first, last, noise=0.01):
        curve = np.column_stack([first + noise * SPREAD, last + noise * OTHER])
        return {"start": 0.3 + noise * SPREAD, "curve": curve}

    place = clicks_online.WEB
    first, last = (0.31, 0.5) if good else (0.29, 0.2)
    results = {(place, name, user): runs(first, last)
               for name in clicks_online.LEARNERS for user in clicks_online.USERS}
    if good:
        raw = "Perceptron on raw clicks"
        results.update({(place, raw, user): runs(first, 0.4) for user in clicks_online.USERS})
    else:
        results[place, "Perceptron on raw clicks", "perfect"] = runs(first, 0.22)
        for user in clicks_online.USERS[1:]:
            results[place, "Perceptron on raw clicks", user] = runs(first, 0.25)
    return list(clicks_online.judge(results, place))


RULES = {
    "falls": lambda good: [_coactive.falls("x", [made(1.0, 0.3 if good else 0.2)])],
    "ordered": lambda good: [_coactive.is_ordered("x", [made(1.0), made(0.97 if good else 1.03)])],
    "alpha": lambda good: list(coactive_alpha.judge(
        [made(4.0 if good else 8.0), made(1.0)], [made(4.5 if good else 6.0), made(1.0)])),
    "noise": lambda good: [
        coactive_figures.settles([made(1.0, 0.2 if good else 0.3), made(1.0, 0.1), made(1.0)]),
        coactive_figures.higher([made(1.1), made(1.1 if good else 0.9), made(1.0)]),
        coactive_figures.deeper([made(1.0), made(1.03 if good else 0.97), made(1.0)])],
    "batch": batches,
    "expected": lambda good: [coactive_figures.alike(
        "x", made(1.0), made(1.2 if good else 1.57))],
    "exponentiated": lambda good: list(coactive_figures.exponentiated_findings(
        "x", "p", made(1.0), made(0.95 if good else 2.1))),
    "svm": svm,
    "dueling": dueling,
    "lower": lambda good: list(coactive_figures.lower(
        "x", made(1.0), made(0.97 if good else 1.03))),
    "logarithmic": lambda good: list(coactive_figures.logarithmic("x", *growing(good))),
    "gamma": lambda good: list(coactive_figures.judge_sweep("x", sweep(good))),
    "broader": lambda good: [coactive_figures.broader(
        *(sweep(good), [made(v) for v in (1.1, 1.1, 1.1, 0.9, 1.1, 1.1, 1.1, 1.0)]
          if good else sweep(False)))],
    "clicks": clicks,
    "clicks-online": online_clicks,
}


def test_convex_losses_with_noise(monkeypatch):
    for good, ratios in ((True, (1.2, 0.97)), (False, (1.3, 1.03))):
        web, film = ([made(1.0), made(ratio)] for ratio in ratios)
        found = played(monkeypatch, coactive_figures.convex_noisy, web, film)
        assert [f.holds for f in found] == [good, good]
        assert all(f.test for f in found)


def test_few_runs_can_be_told_apart_and_noise_cannot():
    """Four runs decide what they show beyond their errors; 57 % more regret is not alike."""
    few = SPREAD[:4]
    first, second = made(1.0, runs=few), made(0.9, runs=few)
    assert all(f.holds for f in coactive_figures.lower("x", first, second))
    noisy = made(0.993, noise=0.3, runs=OTHER)
    found = coactive_figures.exponentiated_findings("x", "p", made(1.0, noise=0.3), noisy)
    assert next(found).holds is None
    assert coactive_figures.alike("x", made(1.0), made(1.57)).holds is False
    both = list(coactive_figures.matched("x", "p", made(1.0), made(0.5, power=0.0)))
    assert both[1].level and not both[0].level


# --- Confidit -----------------------------------------------------------------------------------


def cells(errors, noise=0.5):
    """Of errors by algorithm, a number a level of noise: what a `Cell` shows, eight folds."""
    def cell(error, spread):
        folds = error + noise * spread
        return SimpleNamespace(one=folds, all=folds, first_mistakes=folds,
                               explored=(folds, folds))

    return {a: [cell(e, OTHER if i % 2 else SPREAD) for e in by_noise]
            for i, (a, by_noise) in enumerate(errors.items())}


GOOD = {"Perceptron": (20.0, 40.0), "second-order Perceptron": (18.0, 38.0), "AROW": (8.0, 20.0),
        "Banditron": (50.0, 60.0), "Confidit": (12.0, 25.0)}
BAD = {**GOOD, "AROW": (14.0, 30.0), "Confidit": (12.0, 45.0), "Banditron": (19.0, 60.0)}


def orders(good):
    return list(confidit_text.orders(cells(GOOD if good else BAD), "one", (0.0, 0.3),
                                           "(x)", "p", True))


def levels(good):
    off = 2.0 if good else 4.0
    shown = {a: [e + off for e in paper] for a, paper in confidit_text.NEWSGROUPS.items()}
    return list(confidit_text.levels(cells(shown), confidit_text.NOISE, "x", "p"))


def online(good):
    factor, step = (1.2, 1.0) if good else (1.4, -1.0)
    counts = {"second-order Perceptron": (0.0, 8000.0, 9000.0, 10000.0),
              "Confidit": (0.0, 10000.0, 11500.0, 12000.0)}
    found = cells({a: [factor * n for n in by_noise] for a, by_noise in counts.items()}, 10.0)
    for i, cell in enumerate(found["Confidit"]):
        half = 1000.0 + 100.0 * step * i + SPREAD
        cell.explored = (half, half)
    return list(confidit_text.online(found, confidit_text.NOISE))


def text(good):
    by = cells(GOOD if good else BAD)
    by["Confidit"][0].explored = (100.0 + SPREAD, (50.0 if good else 150.0) + SPREAD)
    found = {(a, "reuters", noise): cell for a, by_noise in by.items()
             for noise, cell in zip(confidit_text.FEW, by_noise, strict=True)}
    return list(confidit_text.other_findings(found, "reuters", "x"))


def vowel(good):
    first = 50.0 + 0.5 * SPREAD
    ends = {"Perceptron": 70.0, "second-order Perceptron": 72.0, "AROW": 80.0, "Banditron": 60.0,
            "Confidit": 75.0}
    if not good:
        ends.update({"AROW": 71.0, "Banditron": 66.0, "Confidit": 65.0, "Perceptron": 49.0})
    values = {a: [first, end + 0.5 * OTHER] for a, end in ends.items()}
    if not good:
        values["Confidit"][1] = 45.0 + 0.5 * OTHER
    return list(confidit_vowel.findings(values, "(x)."))


def versions(good):
    counts = dict(zip("14352", (600.0, 580.0, 500.0, 400.0, 300.0), strict=True))
    typical = {v: (c if good else 1000.0 - c) + 3.0 * OTHER for v, c in counts.items()}
    runs = {v: np.column_stack([300.0 + SPREAD, 300.0 + (25.0 if good else 35.0) + OTHER])
            for v in counts}
    return [*confidit_versions.judge("x", "raw", typical),
            confidit_versions.spread("x", "raw", runs)]


RULES.update(orders=orders, levels=levels, online=online, text=text, vowel=vowel,
             versions=versions)


def test_explored_rounds_too_few_to_tell():
    cell = SimpleNamespace(explored=(np.array([2.0, 0, 1, 0]), np.array([0.0, 1, 0, 0])))
    assert _confidit.fading(cell)[0] is None


# --- filtering ----------------------------------------------------------------------------------


def topics(good):
    def part(f, precision, recall):
        return {"f": f + 0.02 * OTHER, "late f": f + 0.02 * OTHER,
                "precision": precision + 0.02 * SPREAD, "recall": recall + 0.02 * OTHER}

    if good:
        found = {"RIDGE-FIL": part(0.6, 0.5, 0.8), "RIDGE-FULL": part(0.7, 0.72, 0.68),
                 "Perceptron": part(0.6, 0.6, 0.6), "tasting": part(0.3, 0.3, 0.3)}
    else:
        found = {"RIDGE-FIL": part(0.5, 0.8, 0.6), "RIDGE-FULL": part(0.7, 0.9, 0.5),
                 "Perceptron": part(0.8, 0.6, 0.6), "tasting": part(0.55, 0.3, 0.3)}
    return list(filtering.findings(found, list(found)))


def regret(good):
    """Streams well under the bound that grow like a root; or over it, growing like n."""
    parameters = {"lengths": [100, 1000], "seeds": 8, "models": [[2, 0.5]]}
    play = filtering.ridge(Setting(Sets(), 0, parameters))
    tasks = next(play)
    results = [{"regret": (np.sqrt(t.arguments["n"]) if good else 100.0 * t.arguments["n"])
                * (1.0 + 0.1 * SPREAD[t.arguments["run"]])} for t in tasks]
    with pytest.raises(StopIteration) as end:
        play.send(results)
    return end.value.value.findings


RULES.update(topics=topics, regret=regret)


# --- ONSEG --------------------------------------------------------------------------------------


def gap(kind, good):
    problem = SimpleNamespace(kind=kind, levels={"equal shares": 0.2, "the best share": 0.7})
    by_hand = 0.5
    lead = 0.08 if good else 0.02  # the border of portfolios is at 0.05
    if kind != "portfolio":
        lead = 0.01 if good else -0.01
    sign = 1.0 if kind == "portfolio" else -1.0
    ends = {"ONSEG, β by hand": by_hand + 0.002 * SPREAD,
            **{rival: by_hand - sign * lead + 0.002 * OTHER for rival in
               ("OGDEG", "OGDEG, step by hand", "ONSEG, β of Theorem 1")},
            "OGD": np.array([by_hand + sign * lead]),
            "DikinFTRL, η by hand": by_hand + sign * lead + 0.002 * OTHER}
    return list(onseg.judge("x", problem, ends, max if kind == "portfolio" else min, "p"))


def speed(good):
    def parts(seconds):
        return [{"seconds": seconds * (1.0 + 0.1 * s)} for s in SPREAD]

    return [onseg.faster("x", {"ONSEG, β by hand": parts(1.0 if good else 3.0),
                               "ONS, β by hand": parts(2.0), "OGD": parts(2.0), "OGDEG": parts(1)})]


RULES.update(portfolio=lambda good: gap("portfolio", good),
             regression=lambda good: gap("regression", good), speed=speed)


@pytest.mark.parametrize("good", [True, False])
@pytest.mark.parametrize("name", list(RULES))
def test_both_sides_of_the_border(name, good):
    found = RULES[name](good)
    assert found
    for finding in found:
        assert finding.holds is good, (finding.says, finding.measured)


def test_a_learner_without_chance_is_exact():
    assert onseg.estimate(np.array([2.0])).half == 0.0
    assert onseg.estimate(np.array([2.0, 2.1])).half > 0.0


def test_every_claim_is_judged_somewhere():
    """The texts of `claims.ini` and the code that completes them name the same claims."""
    folder = Path(_plan.__file__).parent
    code = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    claims = _plan._claims()
    for key in claims.sections():
        if "says" in claims[key]:
            assert f'"{key}"' in code or key.startswith("under-"), key


# --- times --------------------------------------------------------------------------------------


def test_times_stand_beside_the_papers_by_the_unit():
    from coactive_fast.experiments import _report

    entry = SimpleNamespace(experiment=SimpleNamespace(name="x"))
    told = _report.timing(entry, Timing("what", "ranking", 1200.0, 28000, 0.01, 50, ""))
    assert told["paper"] == "1,200 s for 28,000 rankings"
    assert told["here"] == "0.01 s for 50 rankings"
    assert told["paper_unit"] == "42.9 ms" and told["here_unit"] == "200 µs"
    assert told["faster"] == "214"
