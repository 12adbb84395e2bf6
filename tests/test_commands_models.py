"""The command line's models: where they are saved, what goes on from them, how a run may end."""

import errno
import json
import os
import signal
import subprocess
import tempfile

import numpy as np
import pytest
from command_cases import call, started, text_of, three_classes, train

import coactive_fast as cf
from coactive_fast import cli
from coactive_fast.commands import _learners, _train


@pytest.fixture
def files(tmp_path):
    """One problem of each kind."""
    X, y = three_classes()
    (tmp_path / "rows.svm").write_text(text_of(X, y))
    queries = [(X[6 * q:6 * q + 6] + 0.5, y[6 * q:6 * q + 6]) for q in range(20)]
    (tmp_path / "letor.txt").write_text("".join(
        text_of(x, [f"{grade} qid:{q}" for grade in grades])
        for q, (x, grades) in enumerate(queries)))
    (tmp_path / "clicks.jsonl").write_text("".join(json.dumps(
        {"features": x.tolist(), "presented": [5, 0, 3, 1], "clicked": [int(y.argmax())]}) + "\n"
        for x, y in queries))
    return tmp_path


LEARNERS = [("confidit", "rows.svm"), ("multiclass-arow", "rows.svm"),
            ("ridge-filter", "rows.svm"), ("ons", "rows.svm"),
            ("preference-perceptron", "letor.txt"), ("preference-perceptron", "clicks.jsonl")]


@pytest.mark.parametrize("learner, file", LEARNERS)
def test_going_on_is_going_on(learner, file, files):
    """Two runs of one pass are one run of two: the files are the same to the last byte."""
    one, both = files / "one.cf", files / "both.cf"
    assert train(learner, files / file, "--passes", 2, "--model", both) == 0
    assert train(learner, files / file, "--model", one) == 0
    assert one.read_bytes() != both.read_bytes()
    assert train(learner, files / file, "--from", one, "--model", one) == 0
    assert one.read_bytes() == both.read_bytes()


@pytest.mark.parametrize("learner, extra, expected", [
    ("banditron", (), "holds a Confidit, not a Banditron"),
    ("confidit", ("--set", "eta=1"), "--set is for a new learner"),
    ("confidit", ("--features", 12), "--features is for a new learner"),
])
def test_what_does_not_go_with_a_saved_model(learner, extra, expected, files, capsys):
    rows, model = files / "rows.svm", files / "model.cf"
    assert train("confidit", rows, "--model", model) == 0
    assert train(learner, rows, "--from", model, *extra) == 1
    assert expected in capsys.readouterr().err


def test_other_rows_for_a_saved_model(files, capsys):
    model, other = files / "model.cf", files / "other.svm"
    assert train("confidit", files / "rows.svm", "--model", model) == 0
    other.write_text("1 1:1\n1 2:1\n")  # narrower
    assert train("confidit", other, "--from", model, "--model", model) == 0
    assert cf.load(model).rounds == 302
    cf.load(model).save(files / "old.cf")  # without what it knows of labels, as older files
    old = files / "old.cf"
    assert train("confidit", other, "--from", old) == 1  # does it count from 0 or from 1?
    assert "--first-label 0 or 1" in capsys.readouterr().err
    assert train("confidit", other, "--from", old, "--first-label", 0, "--model", old) == 0
    assert cf.load(old).rounds == 304
    other.write_text("1 1:1\n1 2:1 13:1\n")
    assert train("confidit", other, "--from", model, "--first-label", 0) == 1
    assert f"{other}: line 2: a feature index is out of range (1 ... 12)" in capsys.readouterr().err
    other.write_text("0 1:1\n3 2:1\n")
    assert train("confidit", other, "--from", model) == 1
    assert "labels 0 ... 3 cannot be classes" in capsys.readouterr().err
    assert train("confidit", files / "rows.svm", "--from", files / "nowhere.cf") == 1
    assert "nowhere.cf: No such file" in capsys.readouterr().err


@pytest.mark.parametrize("learner, file, command", [
    ("ridge-filter", "rows.svm", "forward"), ("confidit", "rows.svm", "choose"),
    ("preference-perceptron", "letor.txt", "rank")])
def test_answers_for_narrower_and_wider_rows(learner, file, command, files, capsys):
    model, other = files / "model.cf", files / "other.svm"
    assert train(learner, files / file, "--model", model) == 0
    capsys.readouterr()
    other.write_text("1 qid:1 2:1\n1 qid:1 3:1\n")
    assert call(command, model, other) == 0
    assert len(capsys.readouterr().out.splitlines()) == (1 if command == "rank" else 2)
    other.write_text("1 qid:1 2:1\n1 qid:1 13:1\n")
    assert call(command, model, other) == 1
    assert f"{other}: line 2: a feature index is out of range" in capsys.readouterr().err


def test_other_family_is_told_the_command(files, capsys):
    assert train("confidit", files / "rows.svm", "--model", files / "model.cf") == 0
    assert call("rank", files / "model.cf", files / "rows.svm") == 1
    assert "which is for multiclass: choose reads it" in capsys.readouterr().err


# --- where it is saved ----------------------------------------------------------------------


@pytest.mark.parametrize("name, expected", [
    ("rows.svm", "is what is read"), ("letor.txt", "is no file of coactive_fast"),
    ("nowhere/model.cf", "a folder that is there"), ("", "expected a file"), (".", "expected a")])
@pytest.mark.parametrize("command", ["train", "convert"])
def test_what_is_not_written_over(command, name, expected, files, capsys):
    rows, before = files / "rows.svm", {p.name: p.read_bytes() for p in files.iterdir()}
    out = str(files / name) if name else ""
    if command == "train":
        assert train("confidit", rows, "--model", out) == 1
    else:
        assert call("convert", rows, out) == 1
    told = capsys.readouterr()
    assert expected in told.err and told.out == ""  # before anything was done
    assert before == {p.name: p.read_bytes() for p in files.iterdir()}


def test_models_and_empty_files_are_replaced(files):
    model = files / "model.cf"
    model.touch()
    for _ in range(2):
        assert train("confidit", files / "rows.svm", "--model", model) == 0
        assert cf.load(model).rounds == 300


def test_a_folder_that_may_not_be_written(files, monkeypatch, capsys):
    def refuse(dir):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert train("confidit", files / "rows.svm", "--model", files / "model.cf") == 1
    out, told = capsys.readouterr()
    assert "model.cf: it may not be written: Read-only file system" in told and out == ""


def test_a_disk_that_becomes_full(files, monkeypatch, capsys):
    def full(learner, path, beside):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_train._store, "save", full)
    assert train("confidit", files / "rows.svm", "--model", files / "model.cf") == 1
    assert "--model" in (told := capsys.readouterr().err) and "No space left on device" in told


# --- how a run may end ----------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_saves_the_model(name, files):
    number, model = getattr(signal, name), files / "model.cf"
    process = started(files, "train", "confidit", files / "rows.svm", "--passes", 10**7,
                      "--model", model, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "512" not in process.stdout.readline():
        pass
    process.send_signal(number)
    _, told = process.communicate()
    assert process.returncode == 128 + number
    assert "Traceback" not in told and "--from goes on" in told
    assert cf.load(model).rounds >= 300


def test_signals_are_given_back(files):
    before = signal.getsignal(signal.SIGTERM)
    assert train("confidit", files / "rows.svm") == 0
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
@pytest.mark.parametrize("command", ["list", "config", "train", "choose"])
def test_output_that_nobody_takes(command, files):
    rows, model = files / "rows.svm", files / "model.cf"
    assert train("confidit", rows, "--model", model) == 0
    arguments = {"train": ("confidit", rows), "choose": (model, rows)}.get(command, ())
    warned = ("coactive-fast train: warning: this model is not kept: --model OUT saves it\n"
              if command == "train" else "")
    with open("/dev/full", "w") as full:
        process = started(files, command, *arguments, stdout=full, stderr=subprocess.PIPE,
                          text=True)
        assert process.communicate()[1] == \
            f"{warned}coactive-fast {command}: No space left on device\n"
    assert process.returncode == 1
    process = started(files, command, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                      text=True)
    process.stdout.close()
    assert process.stderr.read() == warned  # nobody is there to be told the rest
    process.stderr.close()
    assert process.wait() == 1


@pytest.mark.parametrize("error, expected", [
    (MemoryError(), "not enough memory"), (MemoryError("9 bytes"), "not enough memory: 9 bytes"),
    (OSError(errno.ENOENT, "No such file", "x"), "x: No such file"), (OSError("odd"), "odd"),
    (KeyError(), "KeyError")])
def test_errors_in_one_line(error, expected):
    assert cli.message_of(error) == expected


def test_help_names_every_learner(capsys):
    with pytest.raises(SystemExit) as stop:
        call("train", "--help")
    assert stop.value.code == 0
    words = set(capsys.readouterr().out.replace(",", " ").replace(":", " ").split())
    assert set(_learners.CLASSES) <= words


def test_the_name_of_a_class_will_do():
    assert _learners.class_of("MulticlassAROW") is cf.MulticlassAROW
    assert _learners.class_of("Confidit") is cf.Confidit


def test_debug_on_either_side(files, capsys):
    for arguments in (["--debug", "train", "confidit", "nowhere"],
                      ["train", "confidit", "nowhere", "--debug"]):
        with pytest.raises(Exception, match="No such file"):
            cli.main(arguments)


@pytest.mark.parametrize("value", ["nan", "", "inf"])  # a word is the name of a label in text
def test_numbers_on_the_command_line(value, capsys):
    with pytest.raises(SystemExit) as stop:
        train("ridge-filter", "rows", "--relevant", value)
    assert stop.value.code == 2 and "expected a number" in capsys.readouterr().err


def test_models_know_their_own_weights(files):
    """What `--from` and the answering commands take a model's width from."""
    from coactive_fast.commands import _answer

    for learner, file in LEARNERS:
        model = files / "model.cf"
        assert train(learner, files / file, "--model", model) == 0
        assert _answer.width(cf.load(model)) == 12
    assert _answer.width(cf.Confidit(3)) is _answer.width(cf.RidgeFilter()) is None
    np.testing.assert_equal(_answer.width(cf.PreferencePerceptron(cf.Ranking(k=1))), None)
