"""Labels and features that are words, VW's text, and what the model remembers of all this."""

import gzip
import json

import numpy as np
import pytest
import scipy.sparse
from command_cases import call, feed, text_of, train
from words_cases import CLASSES, FEATURES, beside, lines_of, predictions, written

import coactive_fast as cf
from coactive_fast.commands import Trouble, _reading, _rows, _streams
from coactive_fast.learner import _store
from coactive_fast.reference import logs_read


@pytest.fixture
def problem(tmp_path):
    return written(tmp_path)


def matrix_of(text, bare, names):
    rows = logs_read.rows_from_lines(text.encode(), bare=bare)
    return np.array([[row.get(name, 0.0) for name in names] for _, _, row in rows])


# --- labels are remembered ------------------------------------------------------------------------


def test_choose_needs_no_first_label(problem, capsys):
    """A model of labels 1 ... 3 answers 1 ... 3; what contradicts is refused."""
    folder, X, y = problem
    model = folder / "model.cf"
    assert train("confidit", folder / "rows.svm", "--model", model) == 0
    assert beside(model)["first_label"] == 1
    expected = cf.load(model).predict(X) + 1
    assert predictions(capsys, model, folder / "rows.svm") == list(map(str, expected))
    assert predictions(capsys, model, folder / "rows.svm", "--first-label", 1) == \
        list(map(str, expected))
    assert call("choose", model, folder / "rows.svm", "--first-label", 0) == 1
    assert f"--first-label 0: the classes of {model} count from 1" in capsys.readouterr().err
    assert train("confidit", folder / "rows.svm", "--from", model, "--first-label", 0) == 1
    assert "count from 1" in capsys.readouterr().err


def test_from_goes_on_with_its_labels(problem, capsys):
    folder, _, _ = problem
    model, few = folder / "model.cf", folder / "few.svm"
    assert train("confidit", folder / "rows.svm", "--model", model) == 0
    few.write_text("1 1:1\n2 2:1\n")
    own = cf.load(model)
    own.run([[1.0, *[0.0] * 11], [0.0, 1.0, *[0.0] * 10]], [0, 1])
    assert train("confidit", few, "--from", model, "--model", model) == 0
    np.testing.assert_array_equal(cf.load(model).weights, own.weights)
    few.write_text("0 1:1\n")
    assert train("confidit", few, "--from", model) == 1
    assert "labels 0 ... 0 cannot be classes, which count from 1" in capsys.readouterr().err


def test_older_files_work_as_they_did(problem, capsys):
    folder, X, y = problem
    model = folder / "old.cf"
    own = cf.Confidit(3)
    own.run(X, y)
    own.save(model)
    expected = own.predict(X)
    for extra, first in (((), 0), (("--first-label", 1), 1)):
        assert predictions(capsys, model, folder / "rows.svm", *extra) == \
            list(map(str, expected + first))
    assert train("confidit", folder / "rows.labels", "--from", model) == 1
    assert f"expected a number, as the model's classes are, got {CLASSES[y[0]]!r}" \
        in capsys.readouterr().err


def test_indices_from_zero_are_remembered(problem, capsys):
    folder, X, y = problem
    rows, model = folder / "zero.svm", folder / "model.cf"
    rows.write_text("".join(f"{label} {' '.join(f'{i}:{v!r}' for i, v in enumerate(x) if v)}\n"
                            for x, label in zip(X.tolist(), y.tolist(), strict=True)))
    for learner, command in (("confidit", "choose"), ("ridge-filter", "forward")):
        assert train(learner, rows, "--zero-based", "--model", model) == 0
        answers = []
        for extra in ((), ("--zero-based",)):
            capsys.readouterr()
            assert call(command, model, rows, *extra) == 0
            answers.append(capsys.readouterr().out)
        assert answers[0] == answers[1]
    assert train("confidit", folder / "rows.svm", "--model", model) == 0
    assert call("choose", model, rows, "--zero-based") == 1
    assert "--zero-based: the features of" in capsys.readouterr().err


@pytest.mark.parametrize("change", [
    {"features": "words"}, {"first_label": 2}, {"zero_based": 1}, {"classes": "abc"},
    {"relevant": [2]}, {"names": ["a", "a"]}, {"bits": 3}, {"features": "hash"}, {"classes": [1]}])
def test_damage_beside_the_model(change, problem, capsys):
    folder, X, y = problem
    model = folder / "model.cf"
    assert train("confidit", folder / "rows.svm", "--model", model) == 0
    head = {**beside(model), **change}
    _store.save(cf.load(model), model, (head, {}))
    assert call("choose", model, folder / "rows.svm") == 1
    assert "what it says of its rows is damaged" in capsys.readouterr().err


def test_only_numbers_and_indices_are_converted(problem, capsys):
    folder, _, _ = problem
    for name in ("rows.names", "rows.vw", "rows.labels"):
        assert call("convert", folder / name, folder / "out.cf") == 1
        assert f"{name} has names of labels or features" in capsys.readouterr().err
        assert not (folder / "out.cf").exists()


def test_what_is_told_comes_back():
    one = _reading.Reading("names", names=["a", "é"], first=1, classes=["x"], zero_based=True)
    again = _reading.Reading.of(json.loads(json.dumps(one.header())), "x")
    assert again.header() == one.header() and again.known
    with pytest.raises(Trouble, match="x has learned from a log of decisions"):
        _reading.Reading.of(({"kind": "log"}, {}), "x")


# --- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, columns", [("rows.names", "order"), ("rows.labels", "index"),
                                           ("rows.vw", "order")])
@pytest.mark.parametrize("packed", [False, True])
def test_words_are_the_learners_own_run(name, columns, packed, problem, capsys):
    folder, X, y = problem
    path, model = folder / name, folder / "model.cf"
    order, labels = X, y
    if columns == "order":  # names in the order in which they come
        text = path.read_text()
        rows = logs_read.rows_from_lines(text.encode(), bare=name != "rows.vw")
        names = list(dict.fromkeys(feature for _, _, row in rows for feature in row))
        order = matrix_of(text, name != "rows.vw", names)
        assert sorted(names) == sorted(FEATURES)
    if name != "rows.vw":  # classes likewise
        classes = list(dict.fromkeys(CLASSES[i] for i in y))
        labels = np.array([classes.index(CLASSES[i]) for i in y])
    if packed:
        packed_path = folder / "rows.gz"
        packed_path.write_bytes(gzip.compress(path.read_bytes()))
        path = packed_path
    own = cf.Confidit(3, eta=0.1)
    own.run(scipy.sparse.csr_matrix(order), labels)
    assert train("confidit", path, "--set", "eta=0.1", "--model", model) == 0
    np.testing.assert_array_equal(cf.load(model).weights, own.weights)
    found = predictions(capsys, model, path)
    told = own.predict(order)
    assert found == ([str(i + 1) for i in told] if name == "rows.vw" else
                     [classes[i] for i in told])
    assert beside(model)["classes"] == ([] if name == "rows.vw" else classes)


def test_names_keep_their_columns(problem, capsys):
    """Another file, whose names come in another order, is read by the model's columns; what it
    does not know is left out, and said."""
    folder, X, y = problem
    model, other = folder / "model.cf", folder / "other.names"
    assert train("confidit", folder / "rows.names", "--model", model) == 0
    expected = predictions(capsys, model, folder / "rows.names")
    backwards = lines_of(X[:, ::-1], ["?"] * len(y), FEATURES[::-1])
    other.write_text("? new:3 goal:0\n" + backwards)
    capsys.readouterr()
    assert call("choose", model, other) == 0
    told = capsys.readouterr()
    assert told.out.split()[1:] == expected
    assert "warning: 1 features have names that" in told.err
    assert train("confidit", other, "--from", model) == 1  # no such class
    assert "'?' is none of the model's classes" in capsys.readouterr().err


def test_vw_and_bare_names_are_one_vocabulary(problem, capsys):
    """Without a namespace a name is itself in both forms."""
    folder, X, y = problem
    model = folder / "model.cf"
    assert train("confidit", folder / "rows.names", "--model", model) == 0
    expected = predictions(capsys, model, folder / "rows.names")
    assert predictions(capsys, model, folder / "rows.vw") == expected


@pytest.mark.parametrize("name", ["rows.names", "rows.vw"])
def test_hashed_names(name, problem, capsys):
    folder, X, y = problem
    path, model = folder / name, folder / "model.cf"
    bare = name != "rows.vw"
    rows = logs_read.rows_from_lines(path.read_bytes(), bare=bare)
    hashed = np.zeros((len(rows), 64))
    for t, (_, _, row) in enumerate(rows):
        for feature, value in row.items():
            hashed[t, logs_read.column_of("", feature, None, 6, True)] += value
    labels = y if name == "rows.vw" else [
        list(dict.fromkeys(CLASSES[i] for i in y)).index(CLASSES[i]) for i in y]
    own = cf.MulticlassPerceptron(3)
    own.run(scipy.sparse.csr_matrix(hashed), labels)
    assert train("multiclass-perceptron", path, "--hash-bits", 6, "--model", model) == 0
    np.testing.assert_array_equal(cf.load(model).weights, own.weights)
    assert beside(model)["bits"] == 6 and beside(model)["names"] == []
    assert len(predictions(capsys, model, path)) == len(y)
    assert call("choose", model, path, "--hash-bits", 7) == 1
    assert f"--hash-bits 7: {model} goes by 2**6 columns" in capsys.readouterr().err


def test_a_vocabulary_may_be_short(problem, capsys):
    """--features N: the first N names; standard input is then learned as it comes."""
    folder, X, y = problem
    model = folder / "model.cf"
    assert train("multiclass-perceptron", folder / "rows.names", "--features", 5, "--model",
                 model) == 0
    assert len(beside(model)["names"]) == 5
    assert "were left out" in capsys.readouterr().out


@pytest.mark.parametrize("extra", [(), ("--features", 20), ("--set", "n_classes=3"),
                                   ("--features", 20, "--set", "n_classes=3"),
                                   ("--hash-bits", 8, "--set", "n_classes=3"),
                                   ("--set", "max_features=100"),
                                   ("--set", "max_features=100", "--set", "n_classes=3")])
@pytest.mark.parametrize("packed", [False, True])
def test_words_from_standard_input(extra, packed, problem, monkeypatch, capsys):
    folder, X, y = problem
    content = (folder / "rows.names").read_bytes()
    feed(monkeypatch, gzip.compress(content) if packed else content)
    model, other = folder / "model.cf", folder / "file.cf"
    assert train("multiclass-perceptron", "-", *extra, "--model", model) == 0
    known = "n_classes=3" in extra and len(extra) > 2
    assert ("read to its end" in capsys.readouterr().out) != known
    assert train("multiclass-perceptron", folder / "rows.names", *extra, "--model", other) == 0
    np.testing.assert_array_equal(cf.load(model).weights, cf.load(other).weights)
    assert beside(model) == beside(other)


@pytest.mark.parametrize("learner", ["ridge-filter", "ogd", "confidit", "banditron"])
def test_standard_input_is_a_file(learner, problem, monkeypatch, capsys):
    """Every family learns from it what it learns from a file; how wide it is nobody says."""
    folder, X, y = problem
    rows = folder / "two.svm"
    rows.write_text(text_of(X, y % 2))
    assert train(learner, rows, "--set", "seed=1", "--model", folder / "a.cf") in (0, 1)
    extra = ("--set", "seed=1") if (folder / "a.cf").exists() else ()
    assert train(learner, rows, *extra, "--model", folder / "a.cf") == 0
    feed(monkeypatch, rows.read_bytes())
    assert train(learner, "-", *extra, "--model", folder / "b.cf") == 0
    assert (folder / "a.cf").read_bytes() == (folder / "b.cf").read_bytes()


def test_learners_that_grow_go_on_growing(problem, capsys):
    folder, X, y = problem
    model, more = folder / "model.cf", folder / "more.names"
    assert train("multiclass-perceptron", folder / "rows.names", "--set", "max_features=13",
                 "--model", model) == 0
    assert len(beside(model)["names"]) == 12 == cf.load(model).weights.shape[1]
    more.write_text("sport new:1 newer:1\ntax new:2\n")
    assert train("multiclass-perceptron", more, "--from", model, "--model", model) == 0
    assert beside(model)["names"][12:] == ["new"] and cf.load(model).weights.shape[1] == 13
    assert "1 features of" in capsys.readouterr().out
    assert len(predictions(capsys, model, more)) == 2


# --- files that do not go together ----------------------------------------------------------------


@pytest.mark.parametrize("trained, asked, extra, expected", [
    ("rows.svm", "rows.names", (), "has names of features, and the model goes by their indices"),
    ("rows.svm", "rows.vw", (), "has names of features"),
    ("rows.svm", "rows.svm", ("--names",), "--names: {model} goes by indices of features"),
    ("rows.svm", "rows.svm", ("--hash-bits", 4), "--hash-bits 4: {model} goes by indices"),
    ("rows.names", "rows.names", ("--zero-based",), "--zero-based: the features of"),
    ("rows.names", "rows.names", ("--first-label", 0), "--first-label 0: the classes of"),
    ("rows.svm", "rows.vw", ("--format", "svmlight"), "begins with a line of VW's"),
    ("rows.svm", "rows.cf", ("--format", "vw"), "--format vw: {folder}/rows.cf is a converted"),
    ("rows.names", "rows.cf", (), "is a converted file, whose features are indices"),
])
def test_what_does_not_fit_the_model(trained, asked, extra, expected, problem, capsys):
    folder, _, _ = problem
    model = folder / "model.cf"
    assert call("convert", folder / "rows.svm", folder / "rows.cf") == 0
    assert train("confidit", folder / trained, "--model", model) == 0
    for command in (("choose", model, folder / asked),
                    ("train", "confidit", folder / asked, "--from", model)):
        capsys.readouterr()
        assert call(*command, *extra) == 1
        told = capsys.readouterr().err
        assert expected.format(model=model, folder=folder) in told and told.count("\n") == 1


@pytest.mark.parametrize("text, extra, expected", [
    ("sport goal:1\n1 goal:1\n", (), "line 2: expected a name, as the other labels are, got 1.0"),
    ("1 goal:1\nsport goal:1\n", (), "line 2: expected a number, as the other labels are"),
    ("sport 1:1\n" * 100 + "tax x:1\n", (), "line 101: expected the index of a feature, 1 or more, "
     "got 'x' (--names: features have names)"),
    ("sport 1:1 4:1\n", ("--features", 3), "line 1: expected the index of a feature, 1 ... 3, got"),
    ("inf goal:1\n", (), "line 1: expected a label that is a finite number or a name, got 'inf'"),
    ("sport goal:1\n", ("--first-label", 1), "--first-label 1: the labels of"),
    ("sport goal:1\n", ("--names", "--hash-bits", 3), "--names and --hash-bits: say one"),
    ("sport goal:1\n", ("--zero-based",), "--zero-based is for indices"),
    ("1 a:1\n", ("--features", 3, "--hash-bits", 3), "--features and --hash-bits"),
    ("a,b goal:1\n", (), "line 1: expected one label, got 2: a class is one label a row"),
    ("1 |f a\n2|f a\n", (), "line 2: put a blank in front of the |"),
    ("1 2 |f a\n", (), "line 1: expected a weight of 1, or of 0"),
    ("1 1 0.5 |f a\n", (), "line 1: expected a label, a weight and a tag"),
    ("1:2:0.5 |f a\n", (), "line 1: expected a label, got '1:2:0.5': decisions with costs are for"),
    ("shared |f a\n", (), "line 1: expected a label, got 'shared'"),
    ("1 |f a:1e308 a:1e308\n", (), "line 1: the values of a feature that stands more than once"),
    ("1 |f a\n1.5 |f a\n", (), "line 2: the label 1.5 is no class"),
])
def test_rows_that_are_refused(text, extra, expected, tmp_path, capsys):
    path = tmp_path / "rows.txt"
    path.write_text(text)
    assert train("confidit", path, *extra) == 1
    told = capsys.readouterr().err
    assert expected in told and told.count("\n") == 1


def test_rows_of_weight_zero_are_left_out(tmp_path, capsys):
    path = tmp_path / "rows.vw"
    path.write_text("1 |f a\n2 0 |f b\n2 1 'x|f b\n1 0.0 'y |f a\n")
    assert train("multiclass-perceptron", path, "--model", tmp_path / "m.cf") == 0
    assert cf.load(tmp_path / "m.cf").rounds == 2
    path.write_text("1 0 |f a\n")
    assert train("multiclass-perceptron", path) == 1
    assert "holds no rows" in capsys.readouterr().err


@pytest.mark.parametrize("extra", [(), ("--hash-bits", 6), ("--shuffle", 3)])
def test_words_are_parsed_again(extra, problem, monkeypatch):
    """Where not all rows stay in memory every pass reads them anew, into the same columns."""
    folder, _, _ = problem
    models = []
    for keep in (_rows.KEEP, 0):
        monkeypatch.setattr(_rows, "KEEP", keep)
        models.append(folder / f"{keep}.cf")
        assert train("confidit", folder / "rows.names", "--passes", 3, *extra, "--model",
                     models[-1]) == 0
    assert models[0].read_bytes() == models[1].read_bytes()


def test_filters_by_names(problem, capsys):
    folder, X, y = problem
    model, path = folder / "filter.cf", folder / "rows.names"
    assert train("ridge-filter", path) == 1
    assert "say which one is relevant, --relevant NAME" in capsys.readouterr().err
    assert train("ridge-filter", path, "--relevant", "sea", "--model", model) == 0
    rows = logs_read.rows_from_lines(path.read_bytes(), bare=True)
    names = list(dict.fromkeys(feature for _, _, row in rows for feature in row))
    own = cf.RidgeFilter()
    rows = matrix_of(path.read_text(), True, names)
    history = own.run(rows, y == 2)
    assert f"recall {history.recall:.4f}" in capsys.readouterr().out
    np.testing.assert_allclose(cf.load(model).margins(rows), own.margins(rows), rtol=1e-9)
    assert call("forward", model, path) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(y)


@pytest.mark.parametrize("name, label", [("rows.svm", 3), ("rows.names", "sea")])
def test_a_filter_remembers_what_is_relevant(name, label, problem, capsys):
    folder, _, _ = problem
    one, both = folder / "one.cf", folder / "both.cf"
    rows = folder / name
    assert train("ridge-filter", rows, "--relevant", label, "--model", one) == 0
    assert beside(one)["relevant"] == label
    assert train("ridge-filter", rows, "--from", one, "--model", one) == 0
    assert train("ridge-filter", rows, "--relevant", label, "--passes", 2, "--model",
                 both) == 0
    assert cf.load(one).rounds == 600 and one.read_bytes() == both.read_bytes()
    assert train("ridge-filter", rows, "--from", one, "--relevant", "1") == 1
    assert f"--relevant 1: {one} was trained with --relevant {label}" in capsys.readouterr().err


def test_losses_by_names(problem, capsys):
    folder, X, y = problem
    path, indexed = folder / "rows.vw", folder / "rows.svm"
    (folder / "two.vw").write_text(lines_of(X, np.where(y == 0, -1, 1), FEATURES, vw=True))
    assert train("ogd", folder / "two.vw", "--model", folder / "a.cf") == 0
    assert "logistic loss" in capsys.readouterr().out
    assert beside(folder / "a.cf")["features"] == "names"
    assert train("ogd", folder / "rows.names") == 1
    assert "expected a number" in capsys.readouterr().err
    assert path.exists() and indexed.exists()


# --- rankings -------------------------------------------------------------------------------------


@pytest.fixture
def queries(tmp_path):
    rng = np.random.default_rng(4)
    X = rng.random((60, 3)) + 0.1
    grades = (3 * X[:, 0]).astype(int)
    offsets = np.arange(0, 61, 5)
    names = ["price", "age", "size"]
    blocks = []
    for begin in offsets[:-1]:
        blocks.append("".join(
            f"{g} |{' '.join(['', *(f'{n}:{v!r}' for n, v in zip(names, x, strict=True))])}\n"
            for g, x in zip(grades[begin:begin + 5].tolist(), X[begin:begin + 5].tolist(),
                            strict=True)))
    (tmp_path / "q.vw").write_text("\n".join(blocks))
    (tmp_path / "q.names").write_text("".join(
        line.replace(" | ", f" qid:{7 * q} ") + "\n"
        for q, block in enumerate(blocks) for line in block.splitlines()))
    return tmp_path, cf.data.RankingData(X, grades, offsets)


@pytest.mark.parametrize("name", ["q.vw", "q.names"])
def test_rankings_by_names(name, queries, capsys):
    folder, data = queries
    model = folder / "model.cf"
    own = cf.PreferencePerceptron(cf.Ranking(k=5))
    cf.simulate(own, data, cf.users.AlphaInformative(1.0, k=5), weights=data.fit_weights())
    assert train("preference-perceptron", folder / name, "--held-out", folder / name, "--model",
                 model) == 0
    np.testing.assert_allclose(cf.load(model).weights, own.weights, rtol=1e-12)
    assert "ndcg@10" in capsys.readouterr().out
    for other in ("q.vw", "q.names"):
        assert call("rank", model, folder / other) == 0
        found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [one["query"] for one in found] == [7 * q if other == "q.names" else q
                                                   for q in range(12)]
        for one, query in zip(found, data, strict=True):
            scores = cf.load(model).scores(query.features)
            assert one["ranking"] == cf.kernels.top_k(scores, 5).tolist()
        (folder / "bare").write_text("".join(  # without grades, and one name that is new
            line[1:] + "\n" for line in (folder / other).read_text().split("\n"))
            .replace("age:", "new:1 age:"))
        assert call("rank", model, folder / "bare") == 0
        again = capsys.readouterr()
        assert [json.loads(line) for line in again.out.splitlines()] == found
        assert f"60 features have names that {model} does not know" in again.err


def test_queries_as_wide_as_no_memory_is(queries, capsys):
    folder, _ = queries
    assert train("preference-perceptron", folder / "q.vw", "--hash-bits", 31) == 1
    assert "60 documents of 2,147,483,648 columns" in capsys.readouterr().err


@pytest.mark.parametrize("text, expected", [
    ("1 | a\n2 0 | b\n", "line 2: expected a weight of 1"),
    ("shared | a\n", "got 'shared'"), (" | a\n", "expected one label, got 0: the grade"),
    ("0:0.5 | a\n", "expected a label, got '0:0.5'"), ("good | a\n", "expected a number"),
    ("1 qid:1 a:1\n2 b:1\n", "line 2: expected qid: and a whole number"),
    ("1 qid:x a:1\n", "line 1: expected qid: and a whole number behind the grade, got 'x'")])
def test_queries_that_are_refused(text, expected, tmp_path, capsys):
    path = tmp_path / "q.txt"
    path.write_text(text)
    assert train("preference-perceptron", path) == 1
    told = capsys.readouterr().err
    assert expected in told and told.count("\n") == 1


# --- which form a file has ------------------------------------------------------------------------


@pytest.mark.parametrize("text, expected", [
    (b"1 1:0.5 7:1\n2,3 2:1 # a|b word\n", (False, False, False)),
    (b"sport 1:0.5\n", (False, True, False)), (b"1:1 2:3\n", (False, False, False)),
    (b"1 goal:1\n", (False, False, True)), (b"1 1:1\nx 1:1\n", (False, True, False)),
    (b"1 1:1\n2 ball\n", (False, False, True)), (b"\xef\xbb\xbf1 |f a\n", (True, False, True)),
    (b"# only\n", (False, False, False)), (b"", (False, False, False)),
    (b"|a b\n", (True, False, True)), (b"1 qid:x 3:4\n", (False, False, False))])
def test_the_form_of_a_file(text, expected):
    assert _streams.form_of(text)[:3] == expected
