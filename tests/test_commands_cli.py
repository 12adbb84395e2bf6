"""The command line and the tour."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import coactive_fast as cf
from coactive_fast import _tour, cli


def test_config(capsys):
    assert cli.main(["config"]) == 0
    assert json.loads(capsys.readouterr().out) == cf.show_config("dicts")


def test_module_can_be_run(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "coactive_fast", "--version"], cwd=tmp_path, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(cf.__file__).parent.parent)},
        capture_output=True, timeout=60,
    )
    assert done.stdout.strip() == cf.__version__, done.stderr


@pytest.mark.parametrize("arguments", [[], ["no-such-command"], ["tour", "extra"]])
def test_wrong_arguments(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_tour_examples(capsys):
    """Every kernel and metric is shown, in plain ASCII, within 80 columns."""
    with np.printoptions(precision=4, suppress=True):
        _tour.show_examples()
    shown = capsys.readouterr().out
    for name in (*cf.kernels.__all__, *cf.metric.__all__):
        assert name in shown
    assert shown.isascii()
    assert max(map(len, shown.splitlines())) <= 80


def test_tour_runs_in_its_own_process(monkeypatch, capfd):
    monkeypatch.setattr(sys, "path", [str(Path(cf.__file__).parent.parent), *sys.path])
    assert cli.main(["tour", "--seconds", "0"]) == 0
    shown = capfd.readouterr().out
    assert "top_k" in shown and "metric.Dual" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_tour_compares_equals():
    names = set()
    for name, size, _, ours, theirs in _tour.contests():
        np.testing.assert_allclose(ours(), theirs(), rtol=1e-6, atol=1e-7, err_msg=f"{name} {size}")
        names.add(name.removeprefix("metric."))
    assert names == {*cf.kernels.__all__, *cf.metric.__all__}


@pytest.mark.parametrize("as_text", [False, True])
def test_fleet(tmp_path, capsys, as_text):
    keys = ["7", "anna"] if as_text else [7, -8]
    with cf.Fleet(tmp_path / "a", cf.OnlineRidge(ridge=0.5), 3) as fleet:
        fleet.run(keys, np.eye(2), [3.0, 1.5])
        assert cli.main(["fleet", str(tmp_path / "a")]) == 0  # a writer is at work
    shown = capsys.readouterr().out
    assert "OnlineRidge(ridge=0.5)" in shown and "damaged      0 records" in shown
    assert "models       2\n" in shown and "features     2\n" in shown
    assert cli.main(["fleet", str(tmp_path / "a"), "--key", "7"]) == 0
    assert "rounds       1\nweights      2 0\n" in capsys.readouterr().out
    assert cli.main(["fleet", str(tmp_path / "a"), "--key", "ben"]) == 1
    assert "'ben' has no model" in capsys.readouterr().err
    assert cli.main(["fleet", str(tmp_path / "none")]) == 1
    assert "none: No such file" in capsys.readouterr().err


# --- completion -----------------------------------------------------------------------------------


def test_completion_without_its_package(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(SystemExit) as stop:
        cli.main(["--print-completion", "bash"])
    assert stop.value.code == 1
    assert capsys.readouterr().err == ("coactive-fast: --print-completion needs shtab: pip install "
                                       '"coactive_fast[completion]"\n')


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion(shell, capsys):
    pytest.importorskip("shtab")
    with pytest.raises(SystemExit) as stop:
        cli.main(["--print-completion", shell])
    assert stop.value.code == 0
    script = capsys.readouterr().out
    for word in ("evaluate", "hash-bits", "multiclass-arow", "online-ridge"):
        assert word in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("typed, expected", [
    (("repl",), {"replay"}), (("train", "multiclass-a"), {"multiclass-arow"}),
    (("choose", "--sc"), {"--score"}), (("train", "confidit", "some-f"), {"some-file"}),
    (("train", "confidit", "some-file", "--format", ""), {"svmlight", "vw"})])
def test_bash_completes(typed, expected, tmp_path, capsys):
    pytest.importorskip("shtab")
    with pytest.raises(SystemExit):
        cli.main(["--print-completion", "bash"])
    (tmp_path / "some-file").touch()
    (tmp_path / "script").write_text(capsys.readouterr().out)
    words = " ".join(f"'{word}'" for word in ("coactive-fast", *typed))
    asked = (f"source ./script; COMP_WORDS=({words}); COMP_CWORD={len(typed)}; "
             "$(complete -p coactive-fast | sed 's/.*-F //; s/ .*//'); "
             'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", asked], cwd=tmp_path, capture_output=True, text=True)
    assert set(done.stdout.split()) == expected, done.stderr
