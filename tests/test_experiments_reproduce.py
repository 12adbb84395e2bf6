"""``coactive-fast reproduce``: one folder, one report, resumed where it stopped."""

import errno
import gzip
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from html.parser import HTMLParser

import numpy as np
import pytest

from coactive_fast import cli
from coactive_fast.experiments import _reproduce, _run, _sources
from coactive_fast.experiments._plan import Experiment, Outcome, Task

pytest.importorskip("jinja2")
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
    assert f'id="{NAME}"' in page
    assert "http" not in page.replace("http://www.w3.org/", "")  # names of SVG, never fetched
    for finding in told["findings"]:
        assert finding["says"] in page and finding["test"] in page
    assert '<span class="data">generated</span>' in page  # the data, beside each experiment
    assert len(list((done / NAME).glob("*.svg"))) == 2
    assert page.count("<img ") == 3  # one of them opens the paper's part too
    assert told["parameters"]["permutations"] == 16 and told["versions"]["numpy"]
    assert not (done / "parts").exists()
    assert page.index('<div class="story">') < page.index('id="contents"')
    assert "{{" not in page and "{%" not in page


def test_the_same_csv_from_one_process_and_another_from_another_seed(done, tmp_path):
    assert call("reproduce", NAME, "--out", "one", cwd=tmp_path).returncode == 0
    assert curves(tmp_path / "one") == curves(done) and len(curves(done)) == 2
    assert call("reproduce", NAME, "--out", "two", "--seed", 1, cwd=tmp_path).returncode == 0
    assert curves(tmp_path / "two") != curves(done)


class Page(HTMLParser):
    """Sees that a page is well formed; its ids, links, and alternatives of pictures."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.alternatives = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if tag == "a" else []
        self.alternatives += [given["alt"]] if tag == "img" else []
        if tag not in ("img", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_report_is_sound(done):
    page = Page((done / "report.html").read_text())
    assert len(page.alternatives) == 3 and all(page.alternatives)
    assert len(set(page.ids)) == len(page.ids) >= 1
    for link in page.links:
        assert link.removeprefix("#") in page.ids or (done / link).is_file()


@pytest.mark.parametrize("number, group, code", [
    ("SIGINT", True, 130), ("SIGTERM", False, 143), ("SIGKILL", False, -9)])
def test_an_interrupted_run_goes_on(number, group, code, done, tmp_path):
    """Its processes end with it: they hold the other end of the pipes that are read here."""
    out = tmp_path / "report"
    command = [sys.executable, "-m", "coactive_fast", "reproduce", NAME, "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, cwd=tmp_path)
    parts = out / "parts"
    while not list(parts.glob("*.npz")) and process.poll() is None:
        time.sleep(0.001)
    (os.killpg if group else os.kill)(process.pid, getattr(signal, number))
    try:
        _, error = process.communicate(timeout=60.0)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    if process.returncode != 0:  # else it was faster than the signal
        assert process.returncode == code and "Traceback" not in error
        assert code < 0 or "the same command goes on" in error
    before = list(parts.glob("*.npz"))
    assert before or process.returncode == 0
    for path in before:  # what is done tells a time of its own: it is seen again if it is used
        with np.load(path) as file:
            found = dict(file)
        np.savez(path, **{**found, "seconds of it": 1e6})
    assert subprocess.run(command, capture_output=True, cwd=tmp_path).returncode == 0
    told = json.loads((out / NAME / f"{NAME}.json").read_text())
    assert told["seconds"] // 1e6 == len(before) and not parts.exists()
    assert curves(out) == curves(done)


@pytest.mark.parametrize("prepare, arguments, expected", [
    (None, ["coactive-alfa"], "the nearest are coactive-alpha"),
    (None, ["onsegg"], "the nearest are onseg,"),
    (lambda out: out.joinpath("letter.txt").write_text("x"), [], "not empty and holds no run"),
    (lambda out: out.joinpath("run.json").write_text("{"), [], "is damaged"),
    (lambda out: out.joinpath("run.json").write_text("[]"), [], "is damaged"),
    (lambda out: out.joinpath("run.json").write_text('{"seed": 3}'), [], "another data, "),
    (None, ["--data", "nowhere"], "--data nowhere is not a folder"),
    (None, ["--data", "."], "mq2008/S1.txt is not in the data folder"),
], ids=["name", "family", "folder", "damaged", "list", "parameters", "nowhere", "file"])
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
    others = set(multiprocessing.active_children())  # joblib's, from other tests

    def kill():
        while not (children := set(multiprocessing.active_children()) - others):
            time.sleep(0.01)
        children.pop().kill()

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
    def put(play, *files):
        one = Experiment("one", "One", "coactive", "figure 0", "none", play)
        monkeypatch.setattr(_reproduce, "experiments", lambda: {"one": one})
        monkeypatch.setattr(_sources, "files", lambda experiment, sets: files)
    return put


def test_an_error_tells_its_experiment(only, tmp_path, capsys):
    def play(setting):
        yield []
        raise ValueError("it is so")

    only(play)
    assert cli.main(["reproduce", "--out", str(tmp_path / "out")]) == 1
    assert "reproduce: one: it is so" in capsys.readouterr().err


def test_an_outcome_without_findings_is_in_the_report(only, tmp_path, capsys):
    def play(setting):
        yield []
        return Outcome()

    only(play)
    assert cli.main(["reproduce", "--out", str(tmp_path)]) == 0
    path = tmp_path / "report.html"
    page = path.read_text()
    assert "1 experiment, 0 findings" in page and "#one" in Page(page).links
    assert "Nothing that could be judged" in page
    path.unlink()
    path.mkdir()  # the report cannot be written
    assert cli.main(["reproduce", "--out", str(tmp_path)]) == 1
    assert f"--out {tmp_path}: " in capsys.readouterr().err


def test_where_to_get_a_damaged_file(only, tmp_path, capsys):
    """What is empty is seen at once, what is broken where it is read."""
    def play(setting):
        yield []
        raise ValueError(f"{str(setting.sets.file(name))!r}: line 1: it is broken")

    name = "mq2008/S1.txt"
    only(play, name)
    file = tmp_path / "data" / f"{name}.gz"
    file.parent.mkdir(parents=True)
    command = ["reproduce", "--data", str(tmp_path / "data"), "--out", str(tmp_path / "out")]
    for content, expected in ((b"", "S1.txt.gz is empty"), (gzip.compress(b""), "is empty"),
                              (b"x", "line 1: it is broken")):
        file.write_bytes(content)
        assert cli.main(command) == 1
        told = capsys.readouterr().err
        assert expected in told and str(file) in told and "LETOR 4.0, MQ2008. T. Qin" in told


def test_two_runs_in_one_folder_at_the_same_time(only, tmp_path, capsys):
    pytest.importorskip("fcntl")
    only(lambda setting: iter(()))
    with _reproduce.alone(tmp_path):
        assert cli.main(["reproduce", "--out", str(tmp_path)]) == 1
    assert "another run is at work" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", ["file", "file/folder"])
def test_a_file_in_the_place_of_the_folder(path, only, tmp_path, capsys):
    only(lambda setting: iter(()))
    (tmp_path / "file").write_text("x")
    assert cli.main(["reproduce", "--out", str(tmp_path / path)]) == 1
    assert "a file in the place of a folder" in capsys.readouterr().err


def test_a_full_disc(only, tmp_path, capsys, monkeypatch):
    def full(*anything, **more):
        raise OSError(errno.ENOSPC, "No space left on device")

    def play(setting):
        yield []
        full()

    only(play)
    out = tmp_path / "out"
    assert cli.main(["reproduce", "--out", str(out)]) == 1
    assert f"one: {out}: No space left on device" in capsys.readouterr().err
    monkeypatch.setattr(_run.np, "savez", full)
    with pytest.raises(OSError, match="No space"):
        _run.Kept(out / "parts").put(Task(full), {}, 0.0)
    assert not list((out / "parts").iterdir())


def test_no_more_processes_than_processors():
    assert _run.Processes(1).jobs == 1
    assert _run.Processes(10**6).jobs == os.cpu_count()


def test_other_data_are_another_run(only, tmp_path, capsys):
    def play(setting):
        yield []
        return Outcome()

    data, out = tmp_path / "data", str(tmp_path / "out")
    data.mkdir()
    for name, text in (("a.txt", "1"), ("b.txt", "2")):
        data.joinpath(name).write_text(text)
        only(play, name)
        assert cli.main(["reproduce", "--data", str(data), "--out", out]) == 0
    data.joinpath("a.txt").write_text("3")
    assert cli.main(["reproduce", "--data", str(data), "--out", out]) == 0  # b.txt is the same
    only(play, "a.txt")
    assert cli.main(["reproduce", "--data", str(data), "--out", out]) == 1
    assert "holds a run with another a.txt" in capsys.readouterr().err


def test_list_names_every_experiment(capsys):
    from coactive_fast.experiments import experiments

    assert cli.main(["list"]) == 0
    table = capsys.readouterr().out.split("\n\n")[0]
    assert [line.split()[0] for line in table.splitlines()[1:]] == list(experiments())


def test_errors_show_no_traceback_unless_asked(capsys):
    assert cli.main(["reproduce", "nothing-like-it"]) == 1
    assert "Traceback" not in capsys.readouterr().err
    with pytest.raises(Exception, match="no experiment"):
        cli.main(["--debug", "reproduce", "nothing-like-it"])
