"""``coactive-fast train``, ``rank``, ``choose``, ``forward``, ``convert``: streams of text."""

import json
import re
import signal
import subprocess

import numpy as np
import pytest
import scipy.sparse
from command_cases import feed, learnable_rows, started, text_of, train

import coactive_fast as cf
from coactive_fast import cli
from coactive_fast.commands import _learners, _rows
from coactive_fast.learner import _file

CLASSES = 3


@pytest.fixture
def rows(tmp_path):
    return learnable_rows(tmp_path)


def table(text):
    """The numbers of each line of the table that was printed."""
    lines = [line.split() for line in text.splitlines() if re.match(r" +[0-9,]+ ", line)]
    return [[float(part.replace(",", "")) for part in line[:3]] for line in lines]


def test_multiclass_is_the_learners_own_run(rows, tmp_path, capsys):
    path, X, y = rows
    assert train("confidit", path, "--set", "eta=0.1", "--passes", 2, "--model",
                 tmp_path / "model.cf") == 0
    own = cf.Confidit(CLASSES, eta=0.1)
    mistakes = np.concatenate([own.run(scipy.sparse.csr_matrix(X), y).mistakes for _ in range(2)])
    told = capsys.readouterr().out
    assert [line[0] for line in table(told)] == [16, 32, 64, 128, 256, 512, 600]
    for rounds, so_far, _ in table(told):
        assert so_far == pytest.approx(mistakes[:int(rounds)].mean(), rel=1e-5)
    assert "3 classes; they count from 1" in told
    np.testing.assert_array_equal(cf.load(tmp_path / "model.cf").weights, own.weights)

    assert cli.main(["choose", str(tmp_path / "model.cf"), str(path), "--first-label", "1"]) == 0
    answers = np.array(capsys.readouterr().out.split(), dtype=int)
    np.testing.assert_array_equal(answers, own.predict(X) + 1)


@pytest.mark.parametrize("learner", ["banditron", "multiclass-perceptron", "multiclass-arow",
                                     "multiclass-second-order-perceptron"])
def test_the_other_multiclass_learners(rows, learner, capsys):
    assert train(learner, rows[0]) == 0
    assert table(capsys.readouterr().out)[-1][0] == 300


def test_shuffled_passes_and_ordered_labels(rows, tmp_path, capsys):
    path, X, y = rows
    order = np.argsort(y, kind="stable")
    sorted_path = tmp_path / "sorted.svm"
    sorted_path.write_text(text_of(X[order], y[order]))
    assert train("multiclass-perceptron", sorted_path) == 0
    assert "--shuffle mixes" in capsys.readouterr().out
    assert train("multiclass-perceptron", sorted_path, "--shuffle", 4) == 0
    told = capsys.readouterr().out
    mixed = np.random.default_rng([4, 0]).permutation(300)
    own = cf.MulticlassPerceptron(CLASSES)
    expected = own.run(X[order][mixed], y[order][mixed]).mistakes.mean()
    assert table(told)[-1][1] == pytest.approx(expected, rel=1e-5)


def test_converted_rows_are_the_same(rows, tmp_path, capsys):
    path, out = rows[0], tmp_path / "rows.cf"
    assert cli.main(["convert", str(path), str(out)]) == 0
    assert "300 rows, 12 columns" in capsys.readouterr().out
    for file in (path, out):
        assert train("confidit", file, "--model", tmp_path / f"{file.suffix}.model") == 0
    a, b = (cf.load(tmp_path / name) for name in (".svm.model", ".cf.model"))
    np.testing.assert_array_equal(a.weights, b.weights)


def test_standard_input(rows, monkeypatch, capsys):
    path, X, y = rows
    expected = cf.Confidit(CLASSES).run(scipy.sparse.csr_matrix(X), y).mistakes.mean()
    as_it_comes = ("--set", "n_classes=3", "--features", 12, "--first-label", 1)
    for options in ((), ("--features", 12), ("--set", "n_classes=3"), as_it_comes):
        feed(monkeypatch, path.read_bytes())
        assert train("confidit", "-", *options) == 0
        told = capsys.readouterr().out
        assert ("read to its end, 300 rows" in told) == (options is not as_it_comes)
        assert table(told)[-1][1] == pytest.approx(expected, rel=1e-5)


def test_filters_and_rows_of_many_labels(tmp_path, capsys):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 6))
    relevant = X @ rng.standard_normal(6) > 0.5
    labels = [("7,9" if r else "9") if t % 3 else ("7" if r else "")
              for t, r in enumerate(relevant)]
    path, model = tmp_path / "topics.svm", tmp_path / "filter.cf"
    path.write_text("".join(f"{label} {' '.join(f'{i + 1}:{v!r}' for i, v in enumerate(x))}\n"
                            for label, x in zip(labels, X.tolist(), strict=True)))
    assert train("ridge-filter", path, "--relevant", 7, "--model", model) == 0
    history = cf.RidgeFilter().run(X, relevant)
    told = capsys.readouterr().out
    assert f"recall {history.recall:.4f}, F {history.f_measure:.4f}" in told
    assert train("ridge-filter", path, "--relevant", 7, "--shuffle", 1) == 0
    order = np.random.default_rng([1, 0]).permutation(200)
    mixed = cf.RidgeFilter().run(X[order], relevant[order])
    assert f"recall {mixed.recall:.4f}, F {mixed.f_measure:.4f}" in capsys.readouterr().out
    assert cli.main(["forward", str(model), str(path)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    learner = cf.load(model)
    assert [int(line[0]) for line in lines] == [int(learner.forward(x)) for x in X]
    assert float(lines[0][1]) == pytest.approx(learner.margin(X[0]), rel=1e-9)


@pytest.fixture
def letor(tmp_path):
    data = cf.data.make_ranking(n_queries=60, n_features=5, documents=6, seed=3)
    path = tmp_path / "queries.txt"
    with path.open("w") as file:
        for i, query in enumerate(data):
            for x, grade in zip(query.features.tolist(), query.relevance, strict=True):
                pairs = " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x))
                file.write(f"{grade:g} qid:{i + 10} {pairs}\n")
    return path, cf.data.RankingData.from_svmlight(path)


@pytest.mark.parametrize("user, own", [("alpha:0.5", cf.users.AlphaInformative(0.5)),
                                       ("noisy:4", cf.users.NoisyDepth(4))])
def test_rankings_are_simulated(letor, tmp_path, user, own, capsys):
    path, data = letor
    model = tmp_path / "model.cf"
    assert train("preference-perceptron", path, "--user", user, "--model", model) == 0
    learner = cf.PreferencePerceptron(cf.Ranking(k=5))
    regret = cf.simulate(learner, data, own, weights=data.fit_weights()).average_regret[-1]
    assert table(capsys.readouterr().out)[-1][1] == pytest.approx(regret, rel=1e-5)
    assert cli.main(["rank", str(model), str(path), "--k", "2"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [a["query"] for a in answers] == list(range(10, 70))
    for query, answer in zip(data, answers, strict=True):
        assert answer["ranking"] == learner.present(query.features, k=2).tolist()


def test_click_logs(tmp_path, capsys):
    rng = np.random.default_rng(8)
    own, lines, wrong = cf.PreferencePerceptron(cf.Ranking(k=5)), [], []
    for t in range(40):
        X = rng.standard_normal((5, 3)).round(3)
        shown, clicked = rng.permutation(5), [int(np.argmax(X[:, 0]))]
        gaps = np.delete(own.scores(X)[clicked[0]] - own.scores(X), clicked[0])
        wrong.append(np.mean((gaps < 0.0) + 0.5 * (gaps == 0.0)))
        own.learn(X, shown, cf.users.feedback_from_clicks(shown, clicked))
        lines.append(json.dumps({"query": f"q{t}", "features": X.tolist(),
                                 "presented": shown.tolist(), "clicked": clicked}))
    path, model = tmp_path / "clicks.jsonl", tmp_path / "model.cf"
    path.write_text("\n".join(lines))
    assert train("preference-perceptron", path, "--model", model) == 0
    assert table(capsys.readouterr().out)[-1][1] == pytest.approx(np.mean(wrong), rel=1e-5)
    np.testing.assert_array_equal(cf.load(model).weights, own.weights)
    assert cli.main(["rank", str(model), str(path)]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[3])["query"] == "q3"
    path.write_text('{"query": 1}\n')
    assert train("preference-perceptron", path) == 1
    assert 'line 1: expected {"query"' in capsys.readouterr().err


@pytest.mark.parametrize("name, make", [("pdgd", cf.PDGD),
                                        ("pairwise-perceptron", cf.PairwisePerceptron)])
def test_rankings_from_clicks(letor, tmp_path, name, make, capsys):
    path, data = letor
    whole = cf.data.RankingData(data.features, np.clip(np.round(data.relevance), 0, 2),
                                data.offsets)
    grades, model = tmp_path / "grades.txt", tmp_path / "model.cf"
    with grades.open("w") as file:
        for i, query in enumerate(whole):
            for x, grade in zip(query.features.tolist(), query.relevance, strict=True):
                pairs = " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x))
                file.write(f"{grade:g} qid:{i} {pairs}\n")
    assert train(name, grades, "--set", "seed=5", "--held-out", grades, "--k", 3,
                 "--model", model) == 0
    own = make(cf.Ranking(k=3), seed=5)
    cf.simulate(own, whole, cf.users.Clicks(seed=0), weights=whole.fit_weights())
    lines = re.findall(r"^ +[0-9,]+ .*", capsys.readouterr().out, re.MULTILINE)
    told = cf.metrics.evaluate(own, whole)["ndcg@10"]
    assert float(lines[-1].split()[-1]) == pytest.approx(told, abs=1e-5)
    assert cf.load(model).weights.tobytes() == own.weights.tobytes()
    for more, average in (([], False), (["--average"], True)):
        assert cli.main(["rank", str(model), str(grades), *more]) == 0
        answers = [json.loads(line)["ranking"] for line in capsys.readouterr().out.splitlines()]
        for query, answer in zip(whole, answers, strict=True):
            assert answer == np.argsort(-own.scores(query.features, average=average),
                                        kind="stable").tolist()
    assert train(name, grades, "--user", "clicks:sleepy") == 1
    assert "--user clicks:sleepy" in capsys.readouterr().err


def test_click_logs_that_name_documents(letor, tmp_path, capsys):
    path, data = letor
    converted, log, model = (tmp_path / name for name in ("q.cf", "clicks.jsonl", "model.cf"))
    assert cli.main(["convert", str(path), str(converted)]) == 0
    own, lines = cf.PreferencePerceptron(cf.Ranking(k=5)), []
    for i, query in enumerate(data):
        shown, clicked = list(range(len(query)))[::-1], [i % len(query)]
        own.learn(query.features, shown, cf.feedback_from_clicks(shown, clicked))
        name = i + 10 if i % 2 else str(i + 10)
        lines.append(json.dumps({"query": name, "presented": shown, "clicked": clicked}))
    log.write_text("\n".join(lines))
    for documents in (path, converted):
        assert train("preference-perceptron", log, "--documents", documents, "--held-out", path,
                     "--model", model) == 0
        assert cf.load(model).weights.tobytes() == own.weights.tobytes()
    packed = tmp_path / "packed.cf"
    assert cli.main(["convert", str(log), str(packed)]) == 0
    assert train("preference-perceptron", packed, "--documents", path, "--model", model) == 0
    assert cf.load(model).weights.tobytes() == own.weights.tobytes()
    assert train("preference-perceptron", packed) == 1
    assert "--documents FILE" in capsys.readouterr().err
    head, arrays = _file.read(packed)
    for name in arrays:
        for wrong in (arrays[name][:-1], arrays[name].astype(np.int32), arrays[name] + 99):
            _file.write(packed, head, {**arrays, name: wrong})
            assert train("preference-perceptron", packed, "--documents", path) == 1
            assert str(packed) in capsys.readouterr().err
    repeats = tmp_path / "repeats.jsonl"
    repeats.write_text(json.dumps({"query": 1, "features": [[1.0]], "presented": [0],
                                   "clicked": []}))
    assert cli.main(["convert", str(repeats), str(packed)]) == 1
    assert "line 1: it repeats the features" in capsys.readouterr().err
    log.write_text(json.dumps({"query": 9, "presented": [0], "clicked": []}))
    assert train("preference-perceptron", log, "--documents", path) == 1
    assert f"line 1: query 9 is not in {path}" in capsys.readouterr().err
    assert train("preference-perceptron", path, "--documents", path) == 1
    assert train("pdgd", log, "--documents", path) == 1
    assert "learns from what it presented itself" in capsys.readouterr().err


@pytest.mark.parametrize("learner", ["onseg", "ogdeg", "ons", "ogd"])
@pytest.mark.parametrize("labels", ["numbers", "signs"])
@pytest.mark.filterwarnings("ignore:horizon")
def test_losses(learner, labels, tmp_path, capsys):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((120, 4))
    y = X @ [1.0, -0.5, 0.0, 0.2]
    path = tmp_path / "rows.svm"
    path.write_text(text_of(X, np.where(y > 0, 1, -1) if labels == "signs" else y))
    extra = () if learner in ("ons", "ogd") else ("--set", "seed=1")
    assert train(learner, path, "--passes", 3, "--radius", 2, *extra) == 0
    told = capsys.readouterr().out
    assert told.startswith("logistic loss" if labels == "signs" else "squared loss")
    assert table(told)[-1][0] == 360
    if learner in ("ons", "ogd"):  # against that of w = 0
        assert table(told)[-1][2] < 0.9 * (np.log(2.0) if labels == "signs" else 1.0)


def test_dikin_has_its_own_set(tmp_path, capsys):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n-1 2:1\n")
    assert train("dikin-ftrl", path, "--passes", 20) in (0, 1)
    assert "Traceback" not in capsys.readouterr().err


def test_names_and_parameters(capsys):
    assert set(_learners.CLASSES) >= {"preference-perceptron", "confidit", "multiclass-arow",
                                      "onseg", "ogdeg", "probabilistic-ridge-filter"}
    found = _learners.parameters(cf.Confidit, ["eta=0.1", "covariance=full", "projection=true",
                                               "max_features=None", "seed=3"])
    assert found == {"eta": 0.1, "covariance": "full", "projection": True, "max_features": None,
                     "seed": 3}


@pytest.mark.parametrize("arguments, expected", [
    (["confidid", "{rows}"], "no learner 'confidid'; perhaps confidit"),
    (["confidit", "nowhere.svm"], "nowhere.svm: No such file"),
    (["confidit", "{rows}", "--set", "eta"], "expected name=value"),
    (["confidit", "{rows}", "--set", "etta=1"], "confidit has n_classes, covariance"),
    (["confidit", "{rows}", "--set", "eta=-1"], "confidit: eta"),
    (["preference-perceptron", "{letor}", "--user", "nobody"], "expected alpha:A"),
    (["preference-perceptron", "{letor}", "--user", "alpha:7"], "--user alpha:7: alpha"),
    (["confidit", "{rows}", "--features", "3"], "index"),
    (["confidit", "{rows}", "--model", "nowhere/model.cf"], "--model nowhere/model.cf: expected"),
    (["confidit", "{rows}", "--model", "."], "--model .: expected a file"),
    (["confidit", "{rows}", "--set", "n_classes=2"], "labels 1 ... 3 cannot be classes"),
])
def test_what_is_refused(arguments, expected, rows, letor, capsys):
    places = {"rows": rows[0], "letor": letor[0]}
    assert cli.main(["train", *(a.format(**places) for a in arguments)]) == 1
    out, told = capsys.readouterr()
    assert expected in told and "Traceback" not in told
    assert table(out) == []  # found out before anything was learned


@pytest.mark.parametrize("learner, text, extra, expected", [
    ("confidit", "", (), "holds no rows"),
    ("ridge-filter", "# nothing\n", ("--shuffle",), "holds no rows"),
    ("onseg", "1 1:1\n", (), "holds 1 rows: at least 2"),
    ("preference-perceptron", "", (), "holds no documents"),
    ("confidit", "-1 1:1\n1 2:1\n", (), "labels -1 ... 1 cannot be classes"),
    ("confidit", "1 1:1\n1e300 2:1\n", (), "labels 1 ... 1e+300 cannot be classes"),
    ("preference-perceptron", '{"features": [[1.0]], "presented": [3], "clicked": [3]}', (),
     "line 1: "),
], ids=["empty", "comment", "one", "queries", "negative", "huge", "clicks"])
def test_files_that_cannot_be_learned_from(learner, text, extra, expected, tmp_path, capsys):
    path = tmp_path / "rows.svm"
    path.write_text(text)
    assert train(learner, path, *extra) == 1
    told = capsys.readouterr().err
    assert str(path) in told or "cannot be classes" in told
    assert expected in told and "_io." not in told


def test_converted_rows_of_many_labels_are_told_from_others(tmp_path, capsys):
    path, out = tmp_path / "rows.svm", tmp_path / "rows.cf"
    path.write_text("1,2 1:1\n2 2:1\n3,1 1:1 2:2\n")
    assert cli.main(["convert", str(path), str(out), "--multilabel"]) == 0
    assert train("confidit", out) == 1 and "one label a row" in capsys.readouterr().err
    assert train("ridge-filter", out) == 1 and "--relevant LABEL" in capsys.readouterr().err
    assert cli.main(["convert", str(path), str(path), "--multilabel"]) == 1
    assert path.read_text().startswith("1,2 ")  # not put in the place of itself


@pytest.mark.parametrize("name, change", [
    ("indices", lambda a: np.where(np.arange(a.size) == 3, 2, a)),
    ("indices", lambda a: np.where(np.arange(a.size) == 3, -1, a)),
    ("indptr", lambda a: a[::-1]), ("labels", lambda a: a[1:]), ("ends", lambda a: a + 1),
    ("ends", lambda a: a[::-1])], ids=["far", "negative", "indptr", "labels", "ends", "falling"])
def test_damaged_converted_rows_are_refused(name, change, tmp_path, capsys):
    path, out = tmp_path / "rows.svm", tmp_path / "rows.cf"
    path.write_text("1,2 1:1\n2 2:1\n3,1 1:1 2:2\n")
    assert cli.main(["convert", str(path), str(out), "--multilabel"]) == 0
    head, arrays = _file.read(out)
    _file.write(out, head, {**arrays, name: change(arrays[name])})
    assert train("ridge-filter", out, "--relevant", 1) == 1
    assert f"{out} is damaged" in capsys.readouterr().err


def test_rankings_of_zero_based_columns(letor, tmp_path, capsys):
    text, model = tmp_path / "zero.txt", tmp_path / "model.cf"
    text.write_text(re.sub(r"(\d+):(?=[-0-9.])", lambda m: f"{int(m[1]) - 1}:",
                           letor[0].read_text().replace("qid:", "qid=")).replace("qid=", "qid:"))
    assert train("preference-perceptron", text, "--zero-based", "--model", model) == 0
    learner = cf.PreferencePerceptron(cf.Ranking(k=5))
    cf.simulate(learner, letor[1], cf.users.AlphaInformative(1.0))
    np.testing.assert_array_equal(cf.load(model).weights, learner.weights)


def test_standard_input_passes_once(rows, monkeypatch, capsys):
    feed(monkeypatch, rows[0].read_bytes())
    assert train("confidit", "-", "--set", "n_classes=4", "--features", 12, "--passes", 2) == 1
    assert "not read twice: --passes" in capsys.readouterr().err


def test_classes_count_from_the_smallest_label_whatever_was_set(rows, capsys):
    assert train("confidit", rows[0], "--set", "n_classes=3", "--features", 12) == 0
    assert "they count from 1" in capsys.readouterr().out


@pytest.mark.parametrize("how", ["interrupt", "pipe"])
def test_the_model_is_saved_when_training_is_broken_off(how, rows, tmp_path):
    model = tmp_path / "model.cf"
    process = started(tmp_path, "train", "confidit", rows[0], "--passes", 10**7, "--model", model,
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(12):
        process.stdout.readline()
    if how == "interrupt":
        process.send_signal(signal.SIGINT)
    else:
        process.stdout.close()
    told = process.stderr.read()
    assert process.wait() == (130 if how == "interrupt" else 1)
    assert "Traceback" not in told
    assert cf.load(model).rounds >= 300


def test_a_model_of_another_family_is_refused(rows, tmp_path, capsys):
    model = tmp_path / "model.cf"
    assert train("confidit", rows[0], "--model", model) == 0
    capsys.readouterr()
    for command in ("rank", "forward"):
        assert cli.main([command, str(model), str(rows[0])]) == 1
        assert "holds a Confidit, which is for multiclass" in capsys.readouterr().err


def test_a_filter_goes_on_with_the_label_it_was_trained_for(tmp_path, capsys):
    """Rows may have many labels then, although --relevant is not given again."""
    path, model = tmp_path / "rows.svm", tmp_path / "model.cf"
    path.write_text("1,36 1:1\n36 2:1\n7 1:1 2:1\n1,7 2:1\n")
    assert train("ridge-filter", path, "--relevant", 36, "--model", model) == 0
    capsys.readouterr()
    assert train("ridge-filter", path, "--from", model) == 0
    assert "4 forwarded, 2 relevant" in capsys.readouterr().out


def test_pieces_taken_in_any_order():
    piece = _rows.Piece(scipy.sparse.csr_matrix(np.eye(4)), np.array([1.0, 2.0, 3.0, 3.0]),
                        np.array([2, 2, 3, 4]), np.array([1, 2, 4, 5]))
    assert piece.holds(3.0).tolist() == [False, False, True, True]
    mixed = piece.reordered(np.array([2, 0, 3, 1]))
    assert mixed.labels.tolist() == [3, 1, 2, 3] and mixed.ends.tolist() == [1, 3, 4, 4]
    assert mixed.X.toarray().argmax(1).tolist() == [2, 0, 3, 1]
    assert mixed.lines.tolist() == [4, 1, 5, 2] and mixed.counts.tolist() == [1, 2, 1, 0]
    part = mixed.cut(1, 3)
    assert part.labels.tolist() == [1, 2, 3] and part.ends.tolist() == [2, 3]
    both = _rows.Piece.joined([part, piece.cut(1, 2)])
    assert both.ends.tolist() == [2, 3, 3] and both.X.shape == (3, 4)
