"""``coactive-fast reproduce``: one folder, one report, resumed where it stopped."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from coactive_fast import cli
from coactive_fast.experiments import _reproduce
from coactive_fast.experiments._plan import Experiment, Outcome

pytest.importorskip("matplotlib")
NAME = "coactive-alpha"


def call(*arguments, cwd):
    """The command in a process of its own, begun away from the sources."""
    return subprocess.run([sys.executable, "-m", "coactive_fast", *map(str, arguments)],
                          capture_output=True, text=True, cwd=cwd)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    out = tmp_path_factory.mktemp("reproduce") / "report"
    assert call("reproduce", NAME, "--jobs", 2, "--out", out, cwd=out.parent).returncode == 0
    return out


def curves(out):
    return {path.name: path.read_bytes() for path in sorted((out / NAME).glob("*.csv"))}


def test_the_report_shows_every_experiment_and_finding(done):
    page = (done / "report.html").read_text()
    told = json.loads((done / NAME / f"{NAME}.json").read_text())
    assert f'id="{NAME}"' in page and "http" not in page.replace("http-equiv", "")
    for finding in told["findings"]:
        assert finding["says"] in page
    assert page.count("<img ") == len(list((done / NAME).glob("*.svg"))) == 2
    assert told["parameters"]["permutations"] == 4 and told["versions"]["numpy"]


def test_the_same_csv_from_one_process_and_another_from_another_seed(done, tmp_path):
    assert call("reproduce", NAME, "--out", "one", cwd=tmp_path).returncode == 0
    assert curves(tmp_path / "one") == curves(done) and len(curves(done)) == 2
    assert call("reproduce", NAME, "--out", "two", "--seed", 1, cwd=tmp_path).returncode == 0
    assert curves(tmp_path / "two") != curves(done)


def test_an_interrupted_run_goes_on(done, tmp_path):
    out = tmp_path / "report"
    command = [sys.executable, "-m", "coactive_fast", "reproduce", NAME, "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, cwd=tmp_path)
    parts = out / "parts"
    while not list(parts.glob("*.npz")) and process.poll() is None:
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate()
    if process.returncode != 0:  # else it was faster than the signal
        assert process.returncode == 130 and "interrupted" in error and "Traceback" not in error
    before = {path: path.stat().st_mtime_ns for path in parts.glob("*.npz")}
    assert before
    assert subprocess.run(command, capture_output=True, cwd=tmp_path).returncode == 0
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())
    assert curves(out) == curves(done)


@pytest.mark.parametrize("prepare, arguments, expected", [
    (None, ["coactive-alfa"], "the nearest are coactive-alpha"),
    (lambda out: out.joinpath("letter.txt").write_text("x"), [], "not empty and holds no run"),
    (lambda out: out.joinpath("run.json").write_text("{"), [], "is damaged"),
    (lambda out: out.joinpath("run.json").write_text("[]"), [], "is damaged"),
    (lambda out: out.joinpath("run.json").write_text('{"seed": 3}'), [], "another data, "),
    (None, ["--data", "nowhere"], "--data nowhere is not a folder"),
    (None, ["--data", "."], "mq2008/S1.txt is not in the data folder"),
], ids=["name", "folder", "damaged", "list", "parameters", "nowhere", "file"])
def test_what_is_refused(prepare, arguments, expected, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    if prepare is not None:
        prepare(out)
    before = sorted(path.name for path in out.iterdir())
    assert cli.main(["reproduce", *arguments, "--out", str(out)]) == 1
    assert expected in capsys.readouterr().err
    assert sorted(path.name for path in out.iterdir()) == before


def test_a_killed_process_is_told_and_the_next_call_goes_on(done, tmp_path, capsys):
    command = ["reproduce", NAME, "--out", str(tmp_path / "report")]

    def kill():
        while not (children := multiprocessing.active_children()):
            time.sleep(0.01)
        children[0].kill()

    thread = threading.Thread(target=kill)
    thread.start()
    assert cli.main(command) == 1
    thread.join()
    told = capsys.readouterr().err
    assert f"{NAME}: a process was ended from outside" in told and "goes on where" in told
    assert cli.main(command) == 0
    assert curves(tmp_path / "report") == curves(done)


@pytest.fixture
def only(monkeypatch):
    """Puts one experiment in the place of all."""
    def put(play, **more):
        one = Experiment("one", "One", "coactive", "figure 0", "none", play, **more)
        monkeypatch.setattr(_reproduce, "experiments", lambda: {"one": one})
    return put


def test_an_error_tells_its_experiment(only, tmp_path, capsys):
    def play(setting):
        yield []
        raise ValueError("it is so")

    only(play)
    assert cli.main(["reproduce", "--out", str(tmp_path / "out")]) == 1
    assert "reproduce: one: it is so" in capsys.readouterr().err


def test_other_data_are_another_run(only, tmp_path, capsys):
    def play(setting):
        yield []
        return Outcome()

    data, out = tmp_path / "data", str(tmp_path / "out")
    data.mkdir()
    for name, text in (("a.txt", "1"), ("b.txt", "2")):
        data.joinpath(name).write_text(text)
        only(play, files=(name,))
        assert cli.main(["reproduce", "--data", str(data), "--out", out]) == 0
    data.joinpath("a.txt").write_text("3")
    assert cli.main(["reproduce", "--data", str(data), "--out", out]) == 0  # b.txt is the same
    only(play, files=("a.txt",))
    assert cli.main(["reproduce", "--data", str(data), "--out", out]) == 1
    assert "holds a run with another a.txt" in capsys.readouterr().err


def test_list_names_every_experiment(capsys):
    from coactive_fast.experiments import experiments

    assert cli.main(["list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]]
    assert listed == list(experiments())


def test_errors_show_no_traceback_unless_asked(capsys):
    assert cli.main(["reproduce", "nothing-like-it"]) == 1
    assert "Traceback" not in capsys.readouterr().err
    with pytest.raises(Exception, match="no experiment"):
        cli.main(["--debug", "reproduce", "nothing-like-it"])
