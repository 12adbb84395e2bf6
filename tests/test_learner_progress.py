"""What `progress=` may be, and that a bar is drawn, moves and ends."""

import io
import sys
import types

import pytest

from coactive_fast.learner import _progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def bare(monkeypatch):
    """Neither tqdm nor rich; stderr is a terminal, whose content is given."""
    for module in ("tqdm", "tqdm.auto", "rich", "rich.console", "rich.progress"):
        monkeypatch.setitem(sys.modules, module, None)
    terminal = Terminal()
    monkeypatch.setattr(_progress, "sys", types.SimpleNamespace(stderr=terminal))
    return terminal


@pytest.mark.parametrize("progress", [None, False])
def test_none(progress):
    with _progress.reporter(progress) as report:
        assert report is None


def test_callable_is_handed_out_as_it_is():
    calls = []

    def own(done, total):
        calls.append((done, total))

    with _progress.reporter(own) as report:
        assert report is own


@pytest.mark.parametrize("progress", ["bar", 1, 0, 1.5, [], object()], ids=lambda p: repr(p)[:7])
def test_refused(progress):
    with pytest.raises(TypeError, match="progress must be None, a bool or a callable"):
        _progress.reporter(progress)


# --- the plain bar --------------------------------------------------------------------------


def test_plain_bar(bare, monkeypatch):
    clock = types.SimpleNamespace(now=10.0)
    monkeypatch.setattr(_progress.time, "monotonic", lambda: clock.now)
    with _progress.reporter(True) as report:
        report(0, 200)
        report(50, 200)  # in the same moment: not drawn
        clock.now += 1.5
        report(100, 200)
        report(200, 200)
    assert bare.getvalue().split("\r")[1:] == [
        "  0% |" + " " * 30 + "| 0/200, 0.0 s",
        " 50% |" + "#" * 15 + " " * 15 + "| 100/200, 1.5 s, 0:02 left",
        "100% |" + "#" * 30 + "| 200/200, 1.5 s           \n",  # over the longer line before
    ]


@pytest.mark.parametrize("done, seconds, left", [
    (0, 5.0, ""), (10, 12.3, ", 1:51 left"), (1, 40.0, ", 1:06:00 left"), (50, 0.0, ""),
    (99, 9.9, ", 0:01 left"), (100, 12.3, "")])
def test_plain_bar_tells_the_time_left(bare, monkeypatch, done, seconds, left):
    clock = types.SimpleNamespace(now=0.0)
    monkeypatch.setattr(_progress.time, "monotonic", lambda: clock.now)
    with _progress.reporter(True) as report:
        clock.now = seconds
        report(done, 100)
    assert bare.getvalue().endswith(f"| {done}/100, {seconds:.1f} s{left}\n")


def test_plain_bar_is_drawn_seldom(bare, monkeypatch):
    clock = types.SimpleNamespace(now=0.0)
    monkeypatch.setattr(_progress.time, "monotonic", lambda: clock.now)
    with _progress.reporter(True) as report:
        for done in range(10_000):
            clock.now += 1e-4
            report(done, 10_000)
    assert 10 <= bare.getvalue().count("\r") <= 12  # once in a tenth of a second, for one second


def test_plain_bar_ends_with_the_run(bare):
    with pytest.raises(KeyboardInterrupt), _progress.reporter(True) as report:
        report(1, 4)
        report(3, 4)
        raise KeyboardInterrupt
    assert bare.getvalue().endswith("\n")
    assert " 75% |" in bare.getvalue()  # the place it had reached


def test_plain_bar_of_no_rounds(bare):
    with _progress.reporter(True) as report:
        report(0, 0)
    assert "100% |" in bare.getvalue()


def test_plain_bar_without_a_report(bare):
    with _progress.reporter(True):
        pass
    assert bare.getvalue() == ""


@pytest.mark.parametrize("stderr", [io.StringIO(), None])
def test_no_terminal_no_bar(bare, monkeypatch, stderr):
    monkeypatch.setattr(_progress.sys, "stderr", stderr)
    with _progress.reporter(True) as report:
        assert report is None


# --- those of other packages ----------------------------------------------------------------


def test_tqdm_is_preferred(bare, monkeypatch):
    bars = []

    class Bar:
        def __init__(self, total):
            self.total, self.n, self.closed = total, 0, False
            bars.append(self)

        def update(self, more):
            self.n += more

        def close(self):
            self.closed = True

    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    auto = types.ModuleType("tqdm.auto")
    auto.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm.auto", auto)
    with pytest.raises(ValueError), _progress.reporter(True) as report:
        assert not bars  # nothing to show yet
        report(3, 10)
        report(7, 10)
        assert not bars[0].closed
        raise ValueError
    (bar,) = bars
    assert (bar.n, bar.total, bar.closed) == (7, 10, True)
    assert bare.getvalue() == ""


def test_tqdm_itself(monkeypatch):
    pytest.importorskip("tqdm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with _progress.reporter(True) as report:
        report(1, 4)
        report(4, 4)
    assert "4/4" in terminal.getvalue()
    with _progress.reporter(True):
        pass


def test_rich_itself(monkeypatch):
    pytest.importorskip("rich")
    for module in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, module, None)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with _progress.reporter(True) as report:
        report(1, 4)
        report(4, 4)
    assert "100%" in terminal.getvalue()
    with pytest.raises(KeyboardInterrupt), _progress.reporter(True) as report:
        report(2, 4)
        raise KeyboardInterrupt
    assert "50%" in terminal.getvalue()
