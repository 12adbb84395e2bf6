"""The experiments: how their tasks are run, kept and written; each at its smallest."""

import contextlib
import csv
import importlib
import json
import threading
import time
from concurrent.futures import CancelledError

import numpy as np
import pytest
from task_runs import Here

from coactive_fast.experiments import (
    MODULES,
    _coactive,
    _plan,
    _report,
    _run,
    _sources,
    experiments,
)
from coactive_fast.experiments._folder import Sets
from coactive_fast.experiments._plan import Curve, Experiment, Finding, Outcome, Plot, Table, Task

CALLS = []


def square(sets, x):
    CALLS.append(x)
    return {"y": x * x}


def stages(setting):
    first = yield [Task(square, {"x": x}) for x in (1, 2, 2)]
    second = yield [Task(square, {"x": int(sum(found["y"] for found in first))})]
    return Outcome(
        plots=[Plot("squares", "squares", "x", "y", [
            Curve.of_runs("a", [1, 2], [[1.0, 3.0], [3.0, 3.0]]),
            Curve("b", np.array([1.0]), np.array([np.nan]))])],
        tables=[Table("numbers", "Numbers", ["what", "value"], [["y", 1 / 3], ["none", None]])],
        findings=[Finding("It is so.", "81", second[0]["y"] == 81)],
        parameters={"found": np.float64(2.0)})


EXAMPLE = Experiment("example", "An example", "none", "figure 0", "none", stages)
SETTING = _plan.Setting(Sets(), 0, {})


def counting(sets):
    """Its work is another thread's, as that of users of items is."""
    took = []

    def count():
        sum(range(300_000))
        took.append(time.thread_time())

    other = threading.Thread(target=count)
    other.start()
    other.join()
    return {"seconds": took[0]}


@pytest.fixture(autouse=True)
def no_calls():
    CALLS.clear()


def test_the_seconds_of_a_task_are_those_of_all_its_threads():
    found, seconds = _run.timed(Task(counting), Sets())
    assert seconds >= found["seconds"] > 0.0


def test_later_stages_see_the_results_of_earlier_ones():
    seen = []
    outcome, seconds = _run.drive(EXAMPLE, SETTING, Here(),
                                  report=lambda *at: seen.append(at))
    assert CALLS == [1, 2, 9]  # equal tasks are run once
    assert outcome.findings[0].holds and seconds > 0.0
    assert seen == [(0, 3), (1, 3), (3, 3), (3, 4), (4, 4)]


def test_finished_tasks_are_kept(tmp_path):
    kept = _run.Kept(tmp_path / "parts")
    first, seconds = _run.drive(EXAMPLE, SETTING, Here(), kept)
    next((tmp_path / "parts").glob("*.npz")).unlink()
    CALLS.clear()
    again, _ = _run.drive(EXAMPLE, SETTING, Here(), kept)
    assert len(CALLS) == 1 and again.findings == first.findings
    CALLS.clear()
    assert _run.drive(EXAMPLE, SETTING, Here(), kept)[1] > 0.0 and not CALLS
    files = sorted((tmp_path / "parts").glob("*.npz"))
    files[0].write_bytes(b"")  # a power cut
    files[1].write_bytes(files[1].read_bytes()[:-30])
    assert _run.drive(EXAMPLE, SETTING, Here(), kept)[0].findings == first.findings
    assert len(CALLS) == 2


def test_a_stop_ends_all_who_wait(monkeypatch):
    """Also one whose tasks had not begun: of these nobody tells."""
    children = _run.active_children

    def later():
        time.sleep(0.3)  # in which the pool cancels what has not begun
        return children()

    monkeypatch.setattr(_run, "active_children", later)
    with _run.Processes(1) as crew:
        begun = threading.Event()

        def wait_for(seed):
            work = {"learner": "dueling", "settings": {}, "user": "strict",
                    "taste": {"alpha": 0.5}, "first": 0, "last": 200, "rounds": 700}
            tasks = [Task(_coactive.movies, {**work, "seed": 10 * seed + i}) for i in range(8)]
            with contextlib.suppress(Exception, CancelledError):
                for _ in crew.each(tasks, Sets()):
                    begun.set()

        threads = [threading.Thread(target=wait_for, args=(i,), daemon=True) for i in range(2)]
        for thread in threads:
            thread.start()
            time.sleep(0.1)
        assert begun.wait(60.0)
        crew.stop()
        for thread in threads:
            thread.join(20.0)
            assert not thread.is_alive()


def test_the_name_of_a_task_is_its_work():
    key = Task(square, {"x": 1}).key
    assert key == Task(square, {"x": 1}).key
    assert key not in (Task(square, {"x": 2}).key, Task(stages, {"x": 1}).key)
    with pytest.raises(TypeError):
        Task(square, {"x": object()}).key  # noqa: B018


def test_what_is_written(tmp_path):
    outcome, _ = _run.drive(EXAMPLE, SETTING, Here())
    _report.write(tmp_path, EXAMPLE, outcome, {"seed": 0}, pictures=False)
    rows = list(csv.reader((tmp_path / "squares.csv").open()))
    assert rows == [["curve", "x", "y", "standard error"], ["a", "1", "2", "1"],
                    ["a", "2", "3", "0"], ["b", "1", "", ""]]
    assert (tmp_path / "numbers.csv").read_text() == "what,value\ny,0.3333333333\nnone,\n"
    told = json.loads((tmp_path / "example.json").read_text())
    assert told["found on the way"] == {"found": 2.0} and told["findings"][0]["holds"] is True


def test_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    outcome, _ = _run.drive(EXAMPLE, SETTING, Here())
    for folder in ("one", "two"):
        _report.write(tmp_path / folder, EXAMPLE, outcome, {})
    assert (tmp_path / "one/squares.png").read_bytes().startswith(b"\x89PNG")
    for name in ("squares.png", "squares.svg"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_pictures_are_small_and_their_numbers_whole(tmp_path):
    svg = _report.small('<?xml version="1.0"?>\n<svg><!-- x --><metadata>a\nb</metadata>\n'
                       '<path d="M 1.25 -2.04 \nL 3.00 4.1 \nL -5 6 z"/>\n<text>0.125</text></svg>')
    assert svg == '<svg><path d="M 1.2 -2 3 4.1 -5 6 z"/><text>0.125</text></svg>\n'
    x = np.arange(1, 10_001)
    for log in (True, False):
        at = _report.thinned(x, log)
        assert at[0] == 0 and at[-1] == 9999 and _report.POINTS // 2 < len(at) <= _report.POINTS
    np.testing.assert_array_equal(_report.thinned(x[:5], True), np.arange(5))
    pytest.importorskip("matplotlib")
    rounds = _plan.rounds_to_show(28_000)
    runs = np.random.default_rng(0).standard_normal((6, 3, len(rounds))).cumsum(-1)
    curves = [Curve.of_runs(f"curve {i}", rounds, one) for i, one in enumerate(runs)]
    _report.save_pictures(tmp_path, Plot("many", "many", "x", "y", curves, log="x"))
    assert (tmp_path / "many.svg").stat().st_size < 30_000  # a hundred are 3 MB of a report


def test_every_experiment_belongs_to_a_paper_of_the_report():
    known = experiments()
    assert {e.paper for e in known.values()} == set(_report.PAPERS)
    assert len(known) == sum(len(importlib.import_module(f"{_plan.__package__}.{m}").EXPERIMENTS)
                             for m in MODULES)  # names are not given twice


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"mq2008/S1\.txt is not in .*LETOR"):
        Sets(str(tmp_path)).checksums(["mq2008/S1.txt"])


def test_what_stands_for_a_set_is_named():
    experiment = experiments()["onseg-regression"]
    real, bundled, made = Sets("folder"), Sets(None, True), Sets()
    assert [s.called("abalone", "diabetes") for s in (real, bundled, made)] == [
        "abalone", "diabetes", "made like abalone"]
    assert bundled.called("abalone") == "made like abalone"
    assert _sources.called(experiment, real) == experiment.data
    assert _sources.called(experiment, bundled) == "diabetes (scikit-learn); generated"
    assert _sources.called(experiment, made) == "generated"
    assert _sources.called(experiments()["coactive-alpha"], bundled) == "generated"
    assert _sources.called(experiments()["filtering-regret"], real) == "generated"


@pytest.mark.parametrize("name, stand_in, rows", [("onseg-regression", "diabetes", 442),
                                                  ("onseg-classification", "breast cancer", 569)])
def test_sets_of_scikit_learn(name, stand_in, rows):
    pytest.importorskip("sklearn")
    experiment = experiments()[name]
    setting = _plan.Setting(Sets.at_hand(), 0, {"rows": None, "trials": 2, "tuning": 1})
    outcome, _ = _run.drive(experiment, setting, Here())
    assert outcome.parameters[stand_in]["rows"] == rows
    assert any(f"({stand_in})" in finding.says for finding in outcome.findings)


def test_digits_of_scikit_learn():
    pytest.importorskip("sklearn")
    setting = _plan.Setting(Sets.at_hand(), 0, {"sizes": [50, 600], "orders": 4})
    outcome, _ = _run.drive(experiments()["confidit-vowel"], setting, Here())
    assert outcome.plots[0].title.startswith("Digits")
    assert outcome.findings[0].holds and outcome.findings[0].says.endswith("(digits).")


@pytest.mark.parametrize("name", list(experiments()))
def test_every_experiment_at_its_quick_scale(name, tmp_path):
    experiment = experiments()[name]
    setting = _plan.Setting(Sets(), 0, experiment.parameters("quick"))
    outcome, _ = _run.drive(experiment, setting, Here())
    _report.write(tmp_path, experiment, outcome, {}, pictures=False)
    assert outcome.findings and (outcome.plots or outcome.tables)
    for plot in outcome.plots:
        for curve in plot.curves:
            assert len(curve.x) == len(curve.mean) and np.isfinite(curve.mean).all(), curve.label

