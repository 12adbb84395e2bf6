"""The command line on good and bad input: files, standard input, click logs."""

import gzip
import json
import lzma
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from command_cases import call, feed, learnable_rows, started, text_of, three_classes, train

import coactive_fast as cf
from coactive_fast.commands import _rows, _streams
from coactive_fast.learner import _file


@pytest.fixture
def rows(tmp_path):
    return learnable_rows(tmp_path)


@pytest.fixture
def confidit(rows, tmp_path, capsys):
    """A trained model's file."""
    assert train("confidit", rows[0], "--model", tmp_path / "model.cf") == 0
    capsys.readouterr()
    return tmp_path / "model.cf"


# --- labels ---------------------------------------------------------------------------------


@pytest.mark.parametrize("learner, expected", [
    ("confidit", "a class is one label a row"), ("ridge-filter", "--relevant LABEL"),
    ("onseg", "a loss has one label a row")])
@pytest.mark.parametrize("third, count", [("3,4 1:1", 2), ("1:1", 0)], ids=["two", "none"])
def test_rows_of_other_than_one_label(learner, expected, third, count, tmp_path, capsys,
                                      monkeypatch):
    path = tmp_path / "rows.svm"
    path.write_text(f"1 1:1\n# a comment\n2 2:1\n{third}\n")
    place = f"line 4: expected one label, got {count}: "
    assert train(learner, path) == 1
    assert f"{path}: {place}{expected}" in capsys.readouterr().err
    feed(monkeypatch, path.read_bytes())
    assert train(learner, "-", "--features", 2,
                 *(["--set", "n_classes=5"] if learner == "confidit" else [])) == 1
    assert f"standard input: {place}" in capsys.readouterr().err


def test_convert_asks_for_multilabel(tmp_path, capsys):
    path, out = tmp_path / "rows.svm", tmp_path / "rows.cf"
    path.write_text("1 1:1\n2,3 2:1\n")
    assert call("convert", path, out) == 1
    assert f"{path}: line 2: expected one label, got 2: --multilabel" in capsys.readouterr().err
    assert not out.exists()
    path.write_text("# nothing\n")
    assert call("convert", path, out) == 1 and "holds no rows" in capsys.readouterr().err


def test_answers_need_no_labels(rows, confidit, tmp_path, capsys):
    _, X, y = rows
    filter_path, answers = tmp_path / "filter.cf", []
    assert train("perceptron-filter", rows[0], "--model", filter_path) == 0
    capsys.readouterr()
    for labels in (y + 1, [""] * len(y), ["7,8"] * len(y)):
        path = tmp_path / "other.svm"
        path.write_text("".join(line.lstrip() + "\n"
                                for line in text_of(X, labels).splitlines()))
        assert call("choose", confidit, path) == 0 == call("forward", filter_path, path)
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("source", ["file", "-"])
def test_a_label_that_is_no_whole_number_is_named(source, tmp_path, capsys, monkeypatch):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n" * 20 + "1.5 1:1\n")
    feed(monkeypatch, path.read_bytes())
    extra = ("--features", 1, "--set", "n_classes=2") if source == "-" else ()
    assert train("confidit", path if source == "file" else "-", *extra) == 1
    out, told = capsys.readouterr()
    assert "line 21: the label 1.5 is no class" in told
    assert ("rounds" in out) == (source == "-")  # of a file it is known before


def test_a_label_that_no_row_has(rows, capsys):
    assert train("ridge-filter", rows[0], "--relevant", 9) == 0
    assert "no row has the label 9" in capsys.readouterr().out


@pytest.mark.parametrize("arguments, expected", [
    (("confidit", "--relevant", 1), "--relevant is for filtering learners"),
    (("onseg", "--first-label", 0), "--first-label is for multiclass learners"),
    (("ridge-filter", "--user", "alpha:1"), "--user is for ranking learners"),
    (("confidit", "--no-scale"), "--no-scale is for convex learners"),
])
def test_options_of_other_families(arguments, expected, rows, capsys):
    assert train(arguments[0], rows[0], *arguments[1:]) == 1
    assert expected in capsys.readouterr().err


def test_constant_columns_are_nothing_to_learn_from(tmp_path, capsys):
    path = tmp_path / "rows.svm"
    path.write_text("3 1:1\n4 1:1\n")
    assert train("ogd", path) == 1
    assert "every column is constant" in capsys.readouterr().err


# --- standard input -------------------------------------------------------------------------


def test_packed_and_other_kinds_on_standard_input(rows, tmp_path, capsys, monkeypatch):
    path = rows[0]
    arguments = ("confidit", "-", "--features", 12, "--set", "n_classes=3", "--first-label", 1)
    packed = gzip.compress(path.read_bytes())
    tables = []
    for content in (path.read_bytes(), packed):
        feed(monkeypatch, content)
        assert train(*arguments) == 0
        tables.append([line.split()[:3] for line in capsys.readouterr().out.splitlines()])
    assert tables[0] == tables[1]
    feed(monkeypatch, packed[:-20])
    assert train(*arguments) == 1
    assert "standard input is truncated or damaged" in capsys.readouterr().err
    assert call("convert", path, tmp_path / "rows.cf") == 0
    feed(monkeypatch, (tmp_path / "rows.cf").read_bytes())
    assert train(*arguments) == 1 and "give its name" in capsys.readouterr().err


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress], ids=["text", "gz", "xz"])
def test_names_on_standard_input(pack, tmp_path, monkeypatch):
    """Whether labels and features are words is seen in the text, not in what it was packed as."""
    feed(monkeypatch, pack(b"spam free:1 offer:2\nham meeting:1\n" * 20))
    assert train("confidit", "-", "--set", "n_classes=2", "--model", tmp_path / "model.cf") == 0
    assert cf.load(tmp_path / "model.cf").rounds == 40


@pytest.mark.parametrize("learner, extra", [
    ("confidit", ("--features", 3, "--set", "n_classes=3")), ("onseg", ()),
    ("confidit", ("--features", 3, "--set", "n_classes=3", "--shuffle")),
    ("preference-perceptron", ()), ("preference-perceptron", ("--clicks",))])
def test_nothing_on_standard_input(learner, extra, tmp_path, capsys, monkeypatch):
    feed(monkeypatch, b"")
    assert train(learner, "-", *extra, "--model", tmp_path / "model.cf") == 1
    assert not (tmp_path / "model.cf").exists()
    monkeypatch.setattr(sys, "stdin", None)
    assert train(learner, "-", *extra) == 1
    assert "standard input is closed" in capsys.readouterr().err


def test_answers_come_as_rows_come(confidit, rows, tmp_path):
    process = started(tmp_path, "choose", confidit, "-", stdin=subprocess.PIPE,
                      stdout=subprocess.PIPE, text=True)
    expected = cf.load(confidit).predict(rows[1])
    for line, label in zip(rows[0].read_text().splitlines()[:3], expected, strict=False):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        assert int(process.stdout.readline()) == label + 1  # before the next row was sent
    process.stdin.close()
    assert process.wait() == 0
    process.stdout.close()


# --- rows in memory -------------------------------------------------------------------------


def test_what_fits_is_parsed_once(rows, tmp_path, capsys, monkeypatch):
    opened = []
    source = _streams.source
    monkeypatch.setattr(_streams, "source", lambda path: opened.append(path) or source(path))
    for keep, times in ((_rows.KEEP, 3), (0, 6)):  # the first two: what kind of file it is
        monkeypatch.setattr(_rows, "KEEP", keep)
        opened.clear()
        assert train("confidit", rows[0], "--passes", 3, "--model", tmp_path / f"{keep}.cf") == 0
        assert len(opened) == times
    a, b = (cf.load(tmp_path / f"{keep}.cf") for keep in (0, 1 << 28))
    np.testing.assert_array_equal(a.weights, b.weights)


def test_standard_input_is_kept_whatever_it_takes(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(_rows, "KEEP", 0)
    X, y = three_classes(40)
    feed(monkeypatch, text_of(X, X @ np.arange(12.0)).encode())
    assert train("ogd", "-", "--passes", 2) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[0] == "80"


def test_parts_of_a_piece(rows):
    (piece,) = _rows.Rows(str(rows[0])).pieces(12)
    whole = piece.X.toarray()
    np.testing.assert_array_equal(whole, rows[1])
    np.testing.assert_array_equal(piece.cut(17, 90).X.toarray(), whole[17:90])
    assert piece.cut(17, 90).lines.tolist() == list(range(18, 91))
    np.testing.assert_array_equal(np.vstack([row.toarray() for row in piece.cut(5, 50).singly()]),
                                  whole[5:50])
    wide = piece.widened(20)
    assert wide.X.shape == (300, 20) and len(wide) == 300
    assert scipy.sparse.issparse(wide.X)


@pytest.mark.parametrize("name, change", [
    ("data", lambda a: np.where(np.arange(a.size) == 2, np.nan, a)),
    ("labels", lambda a: np.where(np.arange(a.size) == 2, np.nan, a)),
    ("ends", lambda a: a.astype(float)), ("data", lambda a: a[:-1]),
    ("columns", 2**70), ("columns", 0), ("columns", "2"), ("columns", None)])
def test_damage_in_converted_rows(name, change, tmp_path, capsys):
    path, out = tmp_path / "rows.svm", tmp_path / "rows.cf"
    path.write_text("1,2 1:1\n2 2:1\n3,1 1:1 2:2\n")
    assert call("convert", path, out, "--multilabel") == 0
    head, arrays = _file.read(out)
    if name == "columns":
        head["columns"] = change
    else:
        arrays[name] = change(arrays[name])
    _file.write(out, head, arrays)
    assert train("ridge-filter", out, "--relevant", 1) == 1
    assert f"{out} is damaged" in capsys.readouterr().err


# --- click logs -----------------------------------------------------------------------------

THREE = {"features": [[1, 0.5], [0, 1], [1, 1]], "presented": [0, 1, 2], "clicked": [1]}


@pytest.mark.parametrize("change, expected", [
    ({"presented": [0, 1, 3]}, "presented must lie in 0 ... 2, since there are 3 documents, got 3"),
    ({"presented": [0, -1]}, "presented must lie in 0 ... 2"),
    ({"presented": [0, 10**30]}, "presented must lie in 0 ... 2"),
    ({"clicked": [7]}, "clicked must lie in 0 ... 2"),
    ({"presented": [0, 1, 1]}, "presented must list documents, each once"),
    ({"presented": []}, "presented must list documents"),
    ({"presented": [0.5, 1]}, "presented must be a list of whole numbers"),
    ({"presented": [True, False]}, "presented must be a list of whole numbers"),
    ({"presented": ["0", "1"]}, "presented must be a list of whole numbers"),
    ({"presented": [[0, 1], [2, 0]]}, "presented must be a list of whole numbers"),
    ({"presented": "01"}, "presented must be a list of whole numbers"),
    ({"clicked": 1}, "clicked must be a list of whole numbers"),
    ({"clicked": None}, "presented and clicked are needed"),
    ({"features": [[1, 0], [1]]}, "features must be a list of rows of numbers"),
    ({"features": [["1", "0"]]}, "features must be a list of rows of numbers"),
    ({"features": [[10**30, 0]]}, "features must be a list of rows of numbers"),
    ({"features": [[None, 0]]}, "features must be a list of rows of numbers"),
    ({"features": []}, "features must be a list of rows of numbers"),
    ({"features": 3}, "features must be a list of rows of numbers"),
    ({"features": [[float("nan"), 0]]}, "features must be finite"),
    ({"features": [[float("inf"), 0]]}, "features must be finite"),
    ({"features": [[1, 0, 0]] * 3}, "x must have 2 features"),
], ids=lambda value: str(value)[:30] if isinstance(value, dict) else "")
def test_bad_queries_are_named_by_their_line(change, expected, tmp_path, capsys):
    path = tmp_path / "clicks.jsonl"
    path.write_text(json.dumps(THREE) + "\n\n" + json.dumps({**THREE, **change}) + "\n")
    assert train("preference-perceptron", path) == 1
    assert f"{path}: line 3: {expected}" in capsys.readouterr().err


@pytest.mark.parametrize("line, expected", [
    (b"[1, 2]", "got [1, 2]"), (b"null", "got None"), (b'{"a": 1}', "there are no features"),
    (b'{"fea', ", column 6"), (b"\xff\xfe{}", "can't decode byte 0xff"),
    (b'{"a": ' + b"[" * 100_000, "recursion"), (b"1 qid:1 1:1", "Extra data, column 3")])
def test_lines_that_are_no_queries(line, expected, monkeypatch, capsys):
    feed(monkeypatch, json.dumps(THREE).encode() + b"\n" + line + b"\n")
    assert train("preference-perceptron", "-", "--clicks") == 1
    told = capsys.readouterr().err
    assert 'standard input: line 2: expected {"query": id' in told and expected in told


def test_queries_of_all_kinds_are_read(tmp_path, monkeypatch):
    """Keys that mean nothing, repeated clicks, clicks elsewhere in the chain, Windows' files."""
    own = cf.PreferencePerceptron(cf.Ranking(k=5))
    queries = [THREE, {**THREE, "more": {"x": [1]}}, {**THREE, "clicked": [1, 2, 1]},
               {**THREE, "presented": [0, 1], "clicked": [2]}, {**THREE, "clicked": []}]
    for query in queries:
        own.present(np.array(query["features"]))
        own.learn(np.array(query["features"]), query["presented"],
                  cf.users.feedback_from_clicks(query["presented"], query["clicked"]))
    text = "\ufeff" + "\r\n\r\n".join(json.dumps(query) for query in queries)
    path = tmp_path / "clicks.jsonl"
    path.write_bytes(text.encode())
    feed(monkeypatch, text.removeprefix("\ufeff").encode())  # told by its first byte
    for k, source in enumerate((path, "-")):
        assert train("preference-perceptron", source, "--model", tmp_path / f"{k}.cf") == 0
        np.testing.assert_array_equal(cf.load(tmp_path / f"{k}.cf").weights, own.weights)


@pytest.mark.parametrize("learner, extra, expected", [
    ("dueling-bandit", (), "learns from what it presented itself"),
    ("preference-perceptron", ("--shuffle",), "--shuffle is not for a log of clicks"),
    ("preference-perceptron", ("--user", "alpha:1"), "--user is not for a log of clicks"),
    ("confidit", (), "is a log of clicks, which only ranking learners read")])
def test_what_a_log_of_clicks_is_not_for(learner, extra, expected, tmp_path, capsys):
    path = tmp_path / "clicks.jsonl"
    path.write_text(json.dumps(THREE))
    assert train(learner, path, *extra) == 1
    assert expected in capsys.readouterr().err


def test_ranking_a_log_needs_documents_only(tmp_path, capsys):
    path, model = tmp_path / "clicks.jsonl", tmp_path / "model.cf"
    path.write_text(json.dumps(THREE))
    assert train("preference-perceptron", path, "--model", model) == 0
    capsys.readouterr()
    path.write_text(json.dumps({"query": "q", "features": THREE["features"], "presented": "x"}))
    assert call("rank", model, path) == 0
    assert sorted(json.loads(capsys.readouterr().out)["ranking"]) == [0, 1, 2]
