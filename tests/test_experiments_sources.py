"""The papers' own sets: taken where the folder holds them, told by `list`. All data are made up."""

import gzip

import numpy as np
import pytest
from task_runs import Here

from coactive_fast import cli
from coactive_fast.data import load_yahoo
from coactive_fast.experiments import (
    _confidit,
    _run,
    _sets,
    _sources,
    confidit_text,
    confidit_vowel,
    experiments,
    onseg,
)
from coactive_fast.experiments._folder import Sets
from coactive_fast.experiments._plan import Setting

LINES = {  # of the sets that are small enough to be made up in full
    "yahoo": ("1 qid:1 3:0.5\n0 qid:1 699:1\n", "2 qid:2 1:1\n0 qid:2 2:1\n", "0 qid:3 5:0.25\n"),
    "amazon7": tuple(f"{word}:2 good:1 #label#:positive\nbad:1 {word}:1 #label#:negative\n" * 6
                     for word in ("novel", "scene", "tune", "shirt", "plug", "pan", "clip")),
    "enron-a": ("tax:1 oil:2 #label#:deals\nlunch:1 #label#:home\n" * 9,),
    "nytd": ("goal:3 team:1 #label#:sports\nlevy:1 court:4 #label#:national\n" * 9,),
    "rcv1": ("CCAT 5 1\nECAT 3 1\nGCAT 9 1\nCCAT 9 1\nMCAT 8 1\nMCAT 7 1\n",
             ".I 5\n.W\noil oil tax\nbank\n\n.I 3\n.W\ntax tax tax\n\n",
             ".I 9\n.W\noil bank\n\n", ".I 8\n.W\nrate\n", ".I 7\n.W\nrate oil\n",
             ".I 2\n.W\noil\n"),
    "v8.w7": tuple("f1,f2,vowel\n" + "".join(f"{i % 3},{(i * k) % 7},{'aeiou'[i % 3]}\n"
                                             for i in range(60)) for k in (2, 3)),
    "kin": ("a,b,y\n1,2,0.5\n3,4,1.5\n5,1,0.1\n",),
    "cancer": ("".join(f"{i},{i % 9 + 1},1,1,1,2,1,3,1,1,{2 + 2 * (i % 2)}\n" for i in range(6)),),
    "sse180": ("a,b\n1,2\n2,2\n1,3\n",), "tse": ("1.5 1\n0.5 2\n",),
}


@pytest.fixture
def folder(tmp_path):
    """What puts the files of sets into a folder."""
    def put(*names):
        for name in names:
            for file, text in zip(_sources.SOURCES[name].files, LINES[name], strict=True):
                path = tmp_path / f"{file}.gz"
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(gzip.compress(text.encode()))
        return Sets(str(tmp_path))
    return put


def test_every_experiment_on_data_tells_its_sets():
    for name, experiment in experiments().items():
        assert (name in _sources.TAKES) != experiment.data.startswith("generated"), name
        for take in _sources.TAKES.get(name, ()):
            assert {take.wanted, *take.instead} <= set(_sources.SOURCES)
    assert set(_sources.TAKES) <= set(experiments())
    assert all(source.address.startswith("http") and hasattr(__import__("coactive_fast").data,
                                                             source.reader)
               for source in _sources.SOURCES.values())


def test_the_files_of_a_run(folder):
    alpha, tables = experiments()["coactive-alpha"], experiments()["confidit-tables"]
    nothing = folder()
    assert _sources.files(alpha, nothing) == (
        *(f"mq2008/S{i}.txt" for i in range(1, 6)), "ml-1m/ratings.dat")
    assert _sources.called(alpha, nothing) == alpha.data and not nothing.has("yahoo")
    sets = folder("yahoo", "amazon7")
    assert sets.has("yahoo") and sets.has("amazon3")
    read = _sources.files(alpha, sets)
    assert "yahoo/set1.train.txt" in read and "mq2008/S1.txt" not in read
    assert "C14" in _sources.called(alpha, sets) and "MovieLens" in _sources.called(alpha, sets)
    assert "amazon_reviews/amazon_domain.svm" not in _sources.files(tables, sets)
    assert sets.checksums(_sources.SOURCES["yahoo"].files)
    assert not Sets().has("yahoo") and _sources.files(alpha, Sets())


def test_web_search_of_yahoo(folder):
    sets = folder("yahoo")
    data = _sets.web_search(sets)
    assert (len(data), data.n_documents, data.dimension) == (3, 5, 700)
    assert _sets.most_useful_ranking(sets) > 0.0
    again = Sets(f"{sets.folder}/.")
    load_yahoo(f"{sets.folder}/yahoo", into=f"{sets.folder}/{_sets.MAPPED}")
    mapped = _sets.web_search(again)
    assert isinstance(mapped.features.base, np.memmap)
    np.testing.assert_array_equal(mapped.features, data.features)


def test_the_filtering_papers_stream(folder, monkeypatch):
    monkeypatch.setattr(_sets, "frequent", lambda relevant, names: (relevant, list(names)))
    X, relevant, names = _sets.news(folder("rcv1"))
    assert names == ["CCAT", "ECAT", "GCAT"]  # of the first two files, by document number
    np.testing.assert_array_equal(relevant, [[0, 1, 0], [1, 0, 0], [1, 0, 1]])
    counts = np.array([[0, 3], [2, 1], [1, 0]])  # oil and tax: what occurs three times
    weights = np.where(counts > 0, 1.0 + np.log(np.maximum(counts, 1)), 0.0) * np.log(3.0 / 2.0)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    np.testing.assert_allclose(X.toarray(), weights, atol=1e-15)


def test_the_problems_of_onseg(folder):
    nothing = folder()
    assert onseg.at_hand(nothing, ("abalone", "cpusmall")) == ["abalone", "cpusmall"]
    assert onseg.at_hand(Sets(), ("nyse-o", "djia")) == ["nyse-o", "djia"]
    sets = folder("kin", "cancer", "sse180", "tse")
    assert onseg.at_hand(sets, ("abalone", "cpusmall")) == ["abalone", "kin"]
    assert onseg.at_hand(sets, ("ionosphere", "a1a")) == ["ionosphere", "cancer"]
    assert onseg.at_hand(sets, ("djia",)) == ["sse180", "tse", "djia"]
    kin, cancer = (onseg.problem_of(sets, name, None) for name in ("kin", "cancer"))
    assert kin.kind == "regression" and kin.Z.shape == (3, 2) and kin.y.tolist() == [0.5, 1.5, 0.1]
    assert cancer.kind == "classification" and cancer.Z.shape == (6, 9)
    shares = [onseg.problem_of(sets, name, None).Z for name in ("sse180", "tse")]
    np.testing.assert_array_equal(shares, [[[2.0, 1.0], [0.5, 1.5]], [[1.5, 1.0], [0.5, 2.0]]])


def test_the_nine_texts(folder):
    sets = folder("amazon7", "enron-a", "nytd", "rcv1")
    assert _sets.texts_at_hand(sets) == ["20newsgroups", "amazon7", "amazon3", "enron-a",
                                             "nytd", "rcv1"]
    shapes = {name: _confidit.corpus(sets, name, None)
              for name in ("amazon7", "amazon3", "enron-a", "nytd", "rcv1")}
    assert {name: (X.shape[0], classes) for name, (X, _, classes) in shapes.items()} == {
        "amazon7": (84, 7), "amazon3": (36, 3), "enron-a": (18, 2), "nytd": (18, 2), "rcv1": (4, 4)}
    assert all(set(X.data) == {1.0} for name, (X, *_) in shapes.items() if name != "nytd")
    assert set(shapes["nytd"][0].data) == {1.0, 3.0, 4.0}
    assert _sets.text_called(sets, "nytd") == "NYTD"
    assert _confidit.corpus(sets, "nytd", 5)[0].shape[0] == 5
    assert _sets.text_called(Sets(), "rcv1") == "Reuters (made like R52, 52 topics)"


def test_the_panels_of_vowels_and_the_line_of_the_plm(folder, monkeypatch):
    sets = folder("v8.w7")
    monkeypatch.setattr(confidit_vowel, "SIZES", (20, 300))
    monkeypatch.setattr(confidit_vowel, "panels", lambda sets: ["v8.w7"])
    X, y, classes, test = confidit_vowel.frames(sets, "v8.w7")
    assert X.shape == (120, 3) and (classes, test) == (3, 60)
    np.testing.assert_allclose(X[:60].mean(axis=0), [0.0, 0.0, 1.0], atol=1e-12)
    inside, out = confidit_vowel.drawn(sets, "v8.w7", 300, [0, 0])
    assert sorted(inside) == list(range(60)) and out.tolist() == list(range(60, 120))
    setting = Setting(sets, 0, {"sizes": [50], "orders": 2})
    outcome, _ = _run.drive(experiments()["confidit-vowel"], setting, Here())
    (plot,) = outcome.plots
    assert plot.levels == {"PLM, by the paper": 68.4} and plot.name == "accuracy-v8.w7"
    assert "Vocal Joystick v8.w7" in plot.title and plot.curves[0].mean[-1] > 90.0
    assert _sources.files(experiments()["confidit-vowel"], sets)[0].startswith("vocal_joystick")


def test_mcnemar_is_the_sign_test_of_the_rows_that_differ():
    first = np.array([True] * 10 + [False] * 30)
    second = np.array([False] * 9 + [True] * 2 + [False] * 29)
    # 9 rows against 1: 2 (1 + 10) / 2^10
    assert confidit_text.mcnemar(first, second) == pytest.approx(22 / 1024, rel=1e-12)
    assert confidit_text.mcnemar(second, first) == pytest.approx(22 / 1024, rel=1e-12)
    assert confidit_text.mcnemar(first, first) == 1.0
    rng = np.random.default_rng(0)
    ps = [confidit_text.mcnemar(*(rng.random((2, 400)) < 0.3)) for _ in range(300)]
    assert np.mean(np.array(ps) < 0.05) < 0.08  # of classifiers that are alike


def test_marks_on_both_sides_of_the_border():
    def flags(**rates):
        n = 1000
        return {name: np.arange(n) < rate * n for name, rate in {
            "Perceptron": 0.5, "second-order Perceptron": 0.5, "AROW": 0.1, "Banditron": 0.6,
            **{k.replace("_", " "): v for k, v in rates.items()}}.items()}

    # nested flags: the difference of d rows is all on one side, p = 2^(1 - d)
    assert confidit_text.marks(flags(Confidit=0.489))["Confidit"] == "⋆"  # 11 rows: 0.00098
    assert confidit_text.marks(flags(Confidit=0.490))["Confidit"] == "†"  # 10 rows: 0.00195
    assert confidit_text.marks(flags(Confidit=0.492))["Confidit"] == "†"  # 8 rows: 0.0078
    assert confidit_text.marks(flags(Confidit=0.493))["Confidit"] == "(⋆)"  # 7 rows: 0.0156
    assert confidit_text.marks(flags(Confidit=0.592))["Confidit"] == "(†)"
    none = dict.fromkeys(confidit_text.THE_FIVE, "")
    assert confidit_text.marks(flags(Confidit=0.593)) == none
    assert confidit_text.marks(flags(Confidit=0.7))["Banditron"] == "(⋆)"
    assert confidit_text.marks(flags(Confidit=0.4))["AROW"] == ""


def test_verdicts_on_both_sides_of_the_border():
    found = [confidit_text.ahead(one) for one in ((2.0, 0.009), (-2.0, 0.009), (2.0, 0.011))]
    assert found == [True, False, None]


def test_the_tables_on_made_up_sets(folder, monkeypatch):
    monkeypatch.setattr(_sets, "texts_at_hand", lambda sets: ["amazon3", "nytd"])
    setting = Setting(folder("amazon7", "nytd"), 0, {"size": None, "folds": 3,
                                                     "noises": [0.0, 0.2]})
    outcome, _ = _run.drive(experiments()["confidit-tables"], setting, Here())
    assert [table.name for table in outcome.tables] == ["table-3", "table-5"]
    lines = {line[0]: line[1:] for line in outcome.tables[0].rows}
    assert len(lines) == 9 + 2 and lines["NYTS, the paper"] == [49.16, 51.23, 43.05, 56.06, 54.24]
    assert all(isinstance(cell, str) for cell in lines["Amazon3, here"])
    assert len(outcome.findings) == 3 and all(finding.test for finding in outcome.findings)


def test_list_tells_sets_pages_and_stand_ins(folder, capsys):
    sets = folder("kin")
    assert cli.main(["list", "--data", sets.folder]) == 0
    told = capsys.readouterr().out
    for part in ("yahoo, else mq2008 (without --data: generated); movielens (without",
                 "Learning to Rank Challenge (C14), set 1. O. Chapelle, Y. Chang, 2011. http",
                 "enron-b, else left out", "*kin  ", " tse  ", "coactive_fast.data.load_terms",
                 "sse180, and nyse-o, djia, msci"):
        assert part in told, part


@pytest.mark.parametrize("name", ["filtering-topics", "onseg-portfolios", "confidit-vowel"])
def test_experiments_without_a_folder_take_what_they_took(name):
    experiment = experiments()[name]
    assert _sources.called(experiment, Sets()) == "generated"
