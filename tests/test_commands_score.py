"""How well a model does: ``choose --score``, ``train --held-out``; and what is said meanwhile."""

import numpy as np
import pytest
from command_cases import call, text_of, train
from words_cases import CLASSES, FEATURES, beside, lines_of, predictions, written

import coactive_fast as cf


@pytest.fixture
def problem(tmp_path):
    return written(tmp_path)


# --- how well -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rows.svm", "rows.names", "rows.vw", "rows.labels"])
def test_score(name, problem, capsys):
    folder, X, y = problem
    model, path = folder / "model.cf", folder / name
    assert train("confidit", path, "--model", model) == 0
    answers = predictions(capsys, model, path)
    truth = [line.split()[0] for line in path.read_text().splitlines()]
    right = sum(a == b for a, b in zip(answers, truth, strict=True))
    assert call("choose", model, path, "--score") == 0
    assert capsys.readouterr().out == (f"{right / 300:.4f} correct: {right} of 300 rows, "
                                       f"{300 - right} mistakes\n")


def test_score_of_rows_without_labels(problem, capsys):
    folder, X, y = problem
    model, path = folder / "model.cf", folder / "some.svm"
    assert train("confidit", folder / "rows.svm", "--model", model) == 0
    capsys.readouterr()
    path.write_text("1:1\n" + text_of(X, y + 1) + "2:1\n9 1:1\n")
    right = int((cf.load(model).predict(X) == y).sum())
    assert call("choose", model, path, "--score") == 0
    assert capsys.readouterr().out == (f"{right / 301:.4f} correct: {right} of 301 rows, "
                                       f"{301 - right} mistakes; 2 rows have no label\n")
    for text, expected in (("1:1\n", "no row has a label"),
                           ("1,2 1:1\n", "line 1: expected one label, got 2")):
        path.write_text(text)
        assert call("choose", model, path, "--score") == 1
        assert expected in capsys.readouterr().err


def test_held_out_rows(problem, capsys):
    folder, X, y = problem
    held = folder / "held.names"
    held.write_text(lines_of(X[:50], [CLASSES[i] for i in y[:50]], FEATURES)
                    + "moon goal:1\n")  # a class that nobody has learned, wrong for sure
    assert train("confidit", folder / "rows.names", "--held-out", held, "--model",
                 folder / "m.cf") == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines() if "300" in line]
    answers = predictions(capsys, folder / "m.cf", held)
    truth = [line.split()[0] for line in held.read_text().splitlines()]
    share = np.mean([a != b for a, b in zip(answers, truth, strict=True)])
    assert float(shown[-1][-1]) == pytest.approx(share, abs=1e-5)
    assert beside(folder / "m.cf")["classes"] != [] and "moon" not in beside(folder / "m.cf")[
        "classes"]


def test_held_out_of_a_filter(problem, capsys):
    folder, X, y = problem
    assert train("ridge-filter", folder / "rows.svm", "--relevant", 2, "--held-out",
                 folder / "rows.svm", "--model", folder / "m.cf") == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines() if "300" in line][0]
    learner = cf.load(folder / "m.cf")
    share = np.mean([learner.forward(x) != (label == 1) for x, label in zip(X, y, strict=True)])
    assert float(shown[-1]) == pytest.approx(share, abs=1e-5)


@pytest.mark.parametrize("learner", ["confidit", "ridge-filter", "ogd"])
def test_held_out_that_cannot_be(learner, problem, capsys):
    folder, _, _ = problem
    rows = folder / "rows.svm"
    empty = folder / "empty.svm"
    empty.write_text("# nothing\n")
    cases = [("-", "needs a file"), (folder / "none", "none: No such file"),
             (empty, "holds no rows")]
    if learner == "ogd":
        cases = [(rows, "--held-out is for ranking and multiclass and filtering learners")]
    for held, expected in cases:
        assert train(learner, rows, "--held-out", held) == 1
        assert expected in capsys.readouterr().err


# --- what is said ---------------------------------------------------------------------------------


def test_quiet_and_what_is_not_kept(problem, capsys):
    folder, _, _ = problem
    assert train("confidit", folder / "rows.svm", "--quiet", "--model", folder / "m.cf") == 0
    assert capsys.readouterr() == ("", "")
    assert train("confidit", folder / "rows.svm", "--quiet") == 0
    warning = "coactive-fast train: warning: this model is not kept: --model OUT saves it\n"
    assert capsys.readouterr() == ("", warning)
    assert train("confidit", folder / "rows.svm") == 0
    assert capsys.readouterr().err == warning  # no progress: standard error is no terminal


def test_progress_where_somebody_watches(problem, monkeypatch, capsys):
    """A bar on standard error where that is a terminal and the table goes elsewhere."""
    from coactive_fast.commands import _train

    folder, seen = problem[0], []
    monkeypatch.setattr(_train, "reporter", lambda progress: seen.append(progress) or Reports())
    for err, out, quiet, expected in ((False, False, False, False), (True, True, False, False),
                                      (True, False, False, True), (True, True, True, True)):
        monkeypatch.setattr("sys.stderr.isatty", lambda err=err: err, raising=False)
        monkeypatch.setattr("sys.stdout.isatty", lambda out=out: out, raising=False)
        Reports.told.clear()
        assert train("confidit", folder / "rows.svm", "--passes", 2,
                     *(["--quiet"] if quiet else [])) == 0
        assert seen.pop() is expected
        assert Reports.told[-1] == (600, 600)
        capsys.readouterr()


class Reports:
    told = []

    def __enter__(self):
        return lambda done, total: self.told.append((done, total))

    def __exit__(self, *error):
        pass


def test_labels_that_count_from_elsewhere(tmp_path, capsys):
    ones, zeros, model = (tmp_path / name for name in ("ones.svm", "zeros.svm", "m.cf"))
    ones.write_text("1 1:1\n2 2:1\n3 3:1\n" * 4)
    zeros.write_text("0 1:1\n1 2:1\n2 3:1\n" * 4)
    assert train("confidit", ones, "--model", model) == 0
    capsys.readouterr()
    words = "label 0 cannot be a class: the model's count from 1 (--first-label)"
    assert call("choose", model, zeros, "--score") == 1
    assert words in capsys.readouterr().err
    assert train("confidit", ones, "--held-out", zeros) == 1
    assert words in capsys.readouterr().err


def test_a_label_that_never_comes(tmp_path, capsys):
    rows = tmp_path / "rows.svm"
    rows.write_text("1 1:1\n2 2:1\n" * 4)
    assert train("ridge-filter", rows, "--relevant", "99", "--model", tmp_path / "m.cf") == 0
    assert "warning: no row has the label 99 of --relevant" in capsys.readouterr().err
