"""``--text``: plain text as rows, and a model that knows how its rows are made."""

import gzip
import json

import numpy as np
import pytest
import scipy.sparse
from command_cases import call, feed, learnable_rows, train

import coactive_fast as cf
from coactive_fast.commands import Trouble, _text
from coactive_fast.learner import _file, _store

text = pytest.importorskip("sklearn.feature_extraction.text")

WORDS = {"sport": "ball goal team match referee", "tax": "levy duty budget income court",
         "sea": "ship harbour tide sail anchor"}
COMMON = "the of and today people said"


def documents(n=240, kinds=("sport", "tax", "sea"), seed=3):
    rng = np.random.default_rng(seed)
    found = []
    for i in rng.integers(len(kinds), size=n):
        words = [*rng.choice(WORDS[kinds[i]].split(), 5), *rng.choice(COMMON.split(), 8)]
        found.append({"text": " ".join(rng.permutation(words)), "label": kinds[i]})
    return found


def lines_of(found):
    return "".join(json.dumps(one) + "\n" for one in found)


def written(tmp_path, found, name="docs.jsonl"):
    path = tmp_path / name
    path.write_text(lines_of(found))
    return path


def table_of(texts, columns):
    """Rows as the text says: by scikit-learn, each document weighted by what came until then."""
    counts = text.HashingVectorizer(n_features=columns, alternate_sign=False,
                                    norm=None).transform(texts)
    rows = [text.TfidfTransformer(sublinear_tf=True).fit(counts[:t + 1]).transform(counts[t])
            for t in range(len(texts))]
    return scipy.sparse.vstack(rows, format="csr"), counts


# --- the rows -------------------------------------------------------------------------------------


def test_rows_are_those_of_scikit_learn_over_the_documents_so_far():
    texts = [one["text"] for one in documents(60)]
    words = _text.Words(1 << 12, ("text",))
    found = scipy.sparse.vstack([words.rows(texts[:7], True), words.rows(texts[7:], True)])
    expected, counts = table_of(texts, 1 << 12)
    np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=0, atol=1e-14)
    last = text.TfidfTransformer(sublinear_tf=True).fit(counts)
    np.testing.assert_allclose(words.rows(texts, False).toarray(), last.transform(counts).toarray(),
                               rtol=0, atol=1e-14)
    assert words.documents == 60
    assert words.rows(["", "a !"], True).nnz == 0


def test_what_goes_into_the_file_comes_back():
    words = _text.Words(1 << 10, ("title", "body"))
    words.rows([one["text"] for one in documents(20)], True)
    head, arrays = words.header(["a", "b"])
    again, classes = _text.Words.of((json.loads(json.dumps(head)), arrays), "x")
    assert again.fields == words.fields and classes == ["a", "b"]
    assert again.documents == 20 and np.array_equal(again.df, words.df)
    for wrong in ({**head, "tokens": "x"}, {**head, "weights": "tf"}, {**head, "kind": "image"}):
        with pytest.raises(Trouble, match="x was trained on text with .* train it again"):
            _text.Words.of((wrong, arrays), "x")
    for wrong in ({**head, "columns": "many"}, {**head, "columns": 3}, {**head, "documents": 2},
                  {key: head[key] for key in head if key != "classes"}):
        with pytest.raises(Trouble, match="x: how it reads text is damaged"):
            _text.Words.of((wrong, arrays), "x")


# --- training and answering -----------------------------------------------------------------------


@pytest.mark.parametrize("learner", ["confidit", "banditron", "multiclass-arow"])
def test_multiclass(tmp_path, capsys, learner):
    found = documents()
    path, model = written(tmp_path, found), tmp_path / "model.cf"
    seed = ["--set", "seed=1"] if learner == "banditron" else []
    assert train(learner, path, "--text", "--model", model, "--passes", 2, "--features", 4096,
                 *seed) == 0
    told = capsys.readouterr().out
    names = list(dict.fromkeys(one["label"] for one in found))
    assert f"3 classes: {', '.join(names)}" in told
    assert call("choose", model, path) == 0
    answers = capsys.readouterr().out.split()
    assert np.mean([a == one["label"] for a, one in zip(answers, found, strict=True)]) > 0.9


def test_a_run_over_text_is_the_learners_own_run(tmp_path):
    found = documents(90)
    path, model = written(tmp_path, found), tmp_path / "model.cf"
    assert train("confidit", path, "--text", "--model", model, "--set", "eta=0.1",
                 "--features", 512) == 0
    names = list(dict.fromkeys(one["label"] for one in found))
    rows = _text.Words(512, ("text",)).rows([one["text"] for one in found], True)
    own = cf.Confidit(3, eta=0.1)
    own.run(rows, [names.index(one["label"]) for one in found])
    np.testing.assert_array_equal(cf.load(model).weights, own.weights)


def test_packed_text_standard_input_and_small_pieces_are_the_same(tmp_path, monkeypatch):
    found = documents(150)
    path, models = written(tmp_path, found), [tmp_path / f"{i}.cf" for i in range(4)]
    packed = tmp_path / "docs.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    more = ["--text", "--features", 1024, "--set", "n_classes=3", "--model"]
    assert train("confidit", path, *more, models[0]) == 0
    assert train("confidit", packed, *more, models[1]) == 0
    feed(monkeypatch, b"\xef\xbb\xbf" + path.read_bytes().rstrip(b"\n"))
    assert train("confidit", "-", *more, models[2]) == 0
    monkeypatch.setattr(_text, "PIECE", 100)
    monkeypatch.setattr("coactive_fast.commands._rows.KEEP", 0)  # so it is read twice
    assert train("confidit", path, *more, models[3]) == 0
    first = _file.read(models[0])
    for model in models[1:]:
        head, arrays = _file.read(model)
        assert head == first[0] and set(arrays) == set(first[1])
        assert all(np.array_equal(arrays[name], first[1][name]) for name in arrays)


def test_filters_by_name_of_many_labels(tmp_path, capsys):
    found = [{"head": one["text"][:20], "body": one["text"][20:],
              "topics": [one["label"], "all"] if i % 2 else [one["label"]]}
             for i, one in enumerate(documents())]
    found[7]["topics"] = []
    path, model = written(tmp_path, found), tmp_path / "model.cf"
    assert train("ridge-filter", path, "--text", "head,body", "--label", "topics", "--relevant",
                 "tax", "--model", model, "--set", "feedback=full") == 0
    told = capsys.readouterr().out
    relevant = sum("tax" in one["topics"] for one in found)
    assert "262,144 columns" in told and f"{relevant} relevant" in told
    assert call("forward", model, path) == 0
    answers = [line.split()[0] == "1" for line in capsys.readouterr().out.splitlines()]
    right = [a == ("tax" in one["topics"]) for a, one in zip(answers, found, strict=True)]
    assert np.mean(right) > 0.9
    assert train("ridge-filter", path, "--text", "head,body", "--label", "topics", "--relevant",
                 "cocoa") == 0
    assert "no row has the label cocoa" in capsys.readouterr().out


@pytest.mark.parametrize("of", [bool, lambda yes: 1 if yes else -1])
def test_filters_by_yes_and_no(tmp_path, capsys, of):
    found = documents(120, ("sport", "tax"))
    path = written(tmp_path, [{**one, "label": of(one["label"] == "tax")} for one in found])
    assert train("simple-filter", path, "--text") == 0
    assert f"{sum(o['label'] == 'tax' for o in found)} relevant" in capsys.readouterr().out


def test_from_goes_on_as_one_stream(tmp_path, capsys):
    found = documents(160)
    whole, one, two = (tmp_path / f"{name}.cf" for name in ("whole", "one", "two"))
    more = ["--text", "--features", 2048]
    assert train("confidit", written(tmp_path, found), *more, "--model", whole) == 0
    assert train("confidit", written(tmp_path, found[:100], "a"), *more, "--model", one) == 0
    assert train("confidit", written(tmp_path, found[100:], "b"), "--from", one, "--model",
                 two) == 0
    first, second = _file.read(whole), _file.read(two)
    assert first[0]["beside"] == second[0]["beside"]
    np.testing.assert_array_equal(cf.load(whole).weights, cf.load(two).weights)
    capsys.readouterr()
    new = written(tmp_path, [{"text": "goal", "label": "moon"}], "c")
    assert train("confidit", new, "--from", one) == 1
    assert "line 1: field 'label': 'moon' is none of the model's classes" in capsys.readouterr().err


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("content, says", [
    ("{\n", "docs.jsonl: line 1: expected a JSON object"),
    ('{"text": "a", "label": 1}\n\n[1]\n', "line 3: expected a JSON object, got [1]"),
    ('{"label": 1}\n', "line 1: field 'text': expected a string, got None"),
    ('{"text": "a"}\n', "line 1: field 'label': there is none"),
    ('{"text": "a", "label": null}\n', "line 1: field 'label': expected a number, a name"),
    ('{"text": "a", "label": ' + "9" * 400 + '}\n', "line 1: field 'label': expected a number"),
    ('{"text": "a", "label": "a\\nb"}\n', "line 1: field 'label': expected a number, a name in"),
    ('{"text": "a \\ud800", "label": 1}\n', "line 1: the text holds half of a character"),
    ('{"text": "a", "label": NaN}\n', "line 1: field 'label': expected a number, a name"),
    ('{"text": "a", "label": 1}\n{"text": "b", "label": "x"}\n',
     "line 2: field 'label': expected a number, as the other labels are, got 'x'"),
    ('{"text": "a", "label": [1, 2]}\n', "expected one label, got 2"),
    ('{"text": "a", "label": 0.5}\n{"text": "b", "label": 1}\n', "0.5 is no class"),
    ("\n", "holds no rows"),
])
def test_bad_documents(tmp_path, capsys, content, says):
    path = tmp_path / "docs.jsonl"
    path.write_text(content)
    assert train("confidit", path, "--text", "--model", tmp_path / "model.cf") == 1
    assert says in capsys.readouterr().err and not (tmp_path / "model.cf").exists()


def test_text_and_numbers_do_not_mix(tmp_path, capsys):
    rows, docs = learnable_rows(tmp_path)[0], written(tmp_path, documents(30))
    plain, worded = tmp_path / "plain.cf", tmp_path / "worded.cf"
    assert train("confidit", rows, "--model", plain) == 0
    assert train("confidit", docs, "--text", "--features", 64, "--model", worded) == 0
    capsys.readouterr()
    for arguments, says in [
        (("choose", plain, docs, "--text"), "plain.cf was not trained on text"),
        (("train", "confidit", docs, "--text", "--from", plain), "was not trained on text"),
        (("choose", worded, rows), "line 1: expected a JSON object"),
        (("train", "confidit", rows, "--from", worded), "line 1: expected a JSON object"),
        (("choose", plain, docs), "is a log of clicks"),
        (("choose", worded, docs, "--text", "a,,b"), "--text a,,b: expected names"),
        (("choose", worded, docs, "--text", "body"), "field 'body': expected a string"),
        (("train", "confidit", docs, "--text", "--zero-based"), "--zero-based is for svmlight"),
        (("train", "confidit", rows, "--label", "x"), "--label is for plain text"),
        (("train", "ridge-filter", rows, "--relevant", "x"), "--relevant x: expected a number"),
        (("train", "onseg", docs, "--text"), "--text is for multiclass and filtering learners"),
        (("train", "confidit", docs, "--text", "--from", worded, "--features", 9), "--features is"),
        (("train", "confidit", worded, "--text"), "converted"),
    ]:
        assert call(*arguments) == 1, arguments
        assert says in capsys.readouterr().err, arguments


def test_without_scikit_learn(tmp_path, capsys, monkeypatch):
    import builtins

    real = builtins.__import__

    def lacking(name, *rest, **more):
        if name.startswith("sklearn"):
            raise ImportError("no sklearn")
        return real(name, *rest, **more)

    monkeypatch.setattr("importlib.import_module", lambda name: lacking(name))
    assert train("confidit", written(tmp_path, documents(5)), "--text") == 1
    assert 'pip install "coactive_fast[sklearn]"' in capsys.readouterr().err


def test_what_is_beside_a_learner_does_not_change_it(tmp_path):
    learner = cf.RidgeFilter()
    learner.learn([1.0, 2.0], True)
    beside = ({"a": [1, "x"]}, {"w": np.arange(3)})
    _store.save(learner, tmp_path / "with.cf", beside)
    again, found = _store.loaded(tmp_path / "with.cf")
    assert found[0] == beside[0] and np.array_equal(found[1]["w"], beside[1]["w"])
    assert again.margin([1.0, 1.0]) == learner.margin([1.0, 1.0])
    assert cf.load(tmp_path / "with.cf").margin([1.0, 1.0]) == learner.margin([1.0, 1.0])
    learner.save(tmp_path / "without.cf")
    assert _store.loaded(tmp_path / "without.cf")[1] is None


@pytest.mark.parametrize("first", [0, 1])
def test_numbers_of_classes_are_remembered(first, tmp_path, capsys):
    """Where they count from too; and that they are no names."""
    found = documents(120)
    kinds = list(WORDS)
    numbered = written(tmp_path, [{**one, "label": kinds.index(one["label"]) + first}
                                  for one in found], "numbers.jsonl")
    named, model = written(tmp_path, found), tmp_path / "model.cf"
    assert train("confidit", numbered, "--text", "--features", 512, "--model", model) == 0
    capsys.readouterr()
    assert call("choose", model, numbered) == 0
    guessed = np.array(capsys.readouterr().out.split(), dtype=int)
    truth = np.array([kinds.index(one["label"]) + first for one in found])
    right = int((guessed == truth).sum())
    assert right > 100
    assert call("choose", model, numbered, "--score") == 0
    assert capsys.readouterr().out == (f"{right / 120:.4f} correct: {right} of 120 rows, "
                                       f"{120 - right} mistakes\n")
    assert call("choose", model, numbered, "--first-label", 1 - first) == 1
    assert f"the classes of {model} count from {first}" in capsys.readouterr().err
    assert train("confidit", named, "--from", model) == 1
    assert "expected a number, as the model's classes are, got" in capsys.readouterr().err
    head, arrays = _store.loaded(model)[1]
    for wrong in ({"first_label": 2}, {"relevant": [1]}):
        _store.save(cf.load(model), model, ({**head, **wrong}, arrays))
        assert call("choose", model, numbered) == 1
        assert "how it reads text is damaged: its labels" in capsys.readouterr().err
    old = {key: value for key, value in head.items() if key not in ("first_label", "relevant")}
    _store.save(cf.load(model), model, (old, arrays))  # as files were before they had these
    assert call("choose", model, numbered) == 0
    assert np.array_equal(np.array(capsys.readouterr().out.split(), int), guessed - first)


def test_held_out_text(tmp_path, capsys):
    docs, held = written(tmp_path, documents(120)), written(tmp_path, documents(40, seed=9), "h")
    model = tmp_path / "model.cf"
    assert train("confidit", docs, "--text", "--features", 512, "--held-out", held, "--model",
                 model) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines() if " 120 " in line][0]
    assert call("choose", model, held, "--score") == 0  # with the words of the whole file
    share = float(capsys.readouterr().out.split()[0])
    assert float(shown[-1]) == pytest.approx(1.0 - share, abs=1e-4)
    with_it = _store.loaded(model)[1]
    assert train("confidit", docs, "--text", "--features", 512, "--model", model) == 0
    without = _store.loaded(model)[1]
    assert with_it[0] == without[0]  # documents held out are not counted
    np.testing.assert_array_equal(with_it[1]["df"], without[1]["df"])
