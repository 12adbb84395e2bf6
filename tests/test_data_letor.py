"""LETOR files at full size: several as one, streamed into a file of arrays, and whole folders."""

import bz2
import doctest
import gzip
import importlib
import io

import numpy as np
import pytest

from coactive_fast.data import RankingData, load_letor, load_yahoo
from coactive_fast.learner import _file

FIRST = b"2 qid:7 1:0.5 2:1\n0 qid:7 3:1 #x\n"
SECOND = b"1.5 qid:9 2:0.25\n0 qid:11\n1 qid:11 1:3\n"


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / "a.txt", tmp_path / "b.txt.gz", tmp_path / "c.txt.bz2"]
    paths[0].write_bytes(FIRST)
    paths[1].write_bytes(gzip.compress(SECOND))
    paths[2].write_bytes(bz2.compress(b"3 qid:20 5:1\n"))
    return paths


def same(a, b):
    assert a.features.dtype == b.features.dtype
    for name in ("features", "relevance", "offsets", "query_ids"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [None, 8])
def test_several_files_are_read_as_one_and_streamed(files, tmp_path, dtype, n_features):
    rules = {"dtype": dtype, "n_features": n_features}
    one = RankingData.from_svmlight(io.BytesIO(FIRST + SECOND + b"3 qid:20 5:1\n"), **rules)
    assert one.features.shape == (6, n_features or 5)
    same(RankingData.from_svmlight(files, **rules), one)
    streamed = RankingData.from_svmlight(files, into=tmp_path / "all.cf", **rules)
    same(streamed, one)
    same(RankingData.load(tmp_path / "all.cf", mmap=False), one)  # its checksum is right
    one.save(tmp_path / "saved.cf")
    assert (tmp_path / "saved.cf").read_bytes() == (tmp_path / "all.cf").read_bytes()


@pytest.mark.parametrize("zero_based", [True, "auto"])
def test_indices_from_zero(tmp_path, zero_based):
    path = tmp_path / "zero.txt"
    path.write_bytes(b"1 qid:1 0:1 2:3\n2 qid:1 1:4\n")
    same(RankingData.from_svmlight(path, zero_based=zero_based, into=tmp_path / "zero.cf"),
         RankingData([[1.0, 0.0, 3.0], [0.0, 4.0, 0.0]], [1, 2], [0, 2], query_ids=[1])
         if zero_based is None else RankingData.from_svmlight(path, zero_based=zero_based))
    path.write_bytes(b"1 qid:1 1:1 3:3\n2 qid:1 2:4\n")
    found = RankingData.from_svmlight(path, zero_based="auto", into=tmp_path / "zero.cf")
    np.testing.assert_array_equal(found.features, [[1.0, 0.0, 3.0], [0.0, 4.0, 0.0]])


def test_more_text_than_one_piece(tmp_path):
    rng = np.random.default_rng(0)
    table = rng.integers(0, 100, (6000, 12)).astype(np.float32)
    lines = [f"{i % 3} qid:{i // 10} " + " ".join(f"{j + 1}:{v:g}" for j, v in enumerate(row))
             for i, row in enumerate(table)]
    path = tmp_path / "many.txt"
    path.write_text("\n".join(lines) + "\n")
    assert path.stat().st_size > 1 << 18
    found = RankingData.from_svmlight(path, into=tmp_path / "many.cf")
    np.testing.assert_array_equal(found.features, table)
    assert len(found) == 600 and isinstance(found.features.base, np.ndarray)


def test_what_is_refused_leaves_no_file(files, tmp_path):
    out = tmp_path / "all.cf"
    again = tmp_path / "again.txt"
    again.write_bytes(FIRST)
    cases = [
        (dict(path=[*files, again]), ValueError, "again.txt'.*line 1: query 7 comes back"),
        (dict(path=[*files, again], group=True), ValueError, "group=True cannot"),
        (dict(path=io.BytesIO(FIRST)), TypeError, "path must name files"),
        (dict(path=files, n_features=4), ValueError, "c.txt.bz2': line 1: .*5:1"),
        (dict(path=[]), ValueError, "holds no documents"),
    ]
    for arguments, error, says in cases:
        with pytest.raises(error, match=says):
            RankingData.from_svmlight(**arguments, into=out)
        assert not out.exists()
    same(RankingData.from_svmlight([*files, again], group=True),
         RankingData.from_svmlight(io.BytesIO(FIRST + SECOND + b"3 qid:20 5:1\n" + FIRST),
                                   group=True))


def test_a_stream_that_changes_is_refused(tmp_path):
    path = tmp_path / "x.cf"
    for pieces in ([np.zeros(3)], [np.zeros(3), np.zeros(3)]):
        with pytest.raises(ValueError, match="do not fill"):
            _file.write(path, {}, {"a": _file.Streamed(np.float64, (4,), pieces)})
        assert not path.exists()
    _file.write(path, {}, {"a": _file.Streamed(np.float64, (2, 2), [np.ones(3), np.zeros(1)])})
    np.testing.assert_array_equal(_file.read(path)[1]["a"], [[1.0, 1.0], [1.0, 0.0]])


# --- folders --------------------------------------------------------------------------------------


def test_the_folds_of_letor(tmp_path):
    for i in range(1, 6):
        (tmp_path / f"S{i}.txt.gz").write_bytes(gzip.compress(b"1 qid:%d 1:%d\n" % (i, i)))
    for fold, order in ((1, [1, 2, 3, 4, 5]), (2, [2, 3, 4, 5, 1]), (5, [5, 1, 2, 3, 4])):
        assert load_letor(tmp_path, fold=fold).query_ids.tolist() == order
        assert load_letor(tmp_path, fold=fold, parts="train").query_ids.tolist() == order[:3]
        assert load_letor(tmp_path, fold=fold, parts=["test"]).query_ids.tolist() == order[4:]


def test_folders_of_folds(tmp_path):
    inner = tmp_path / "Fold3"
    inner.mkdir()
    for i, part in enumerate(("train", "vali", "test")):
        (inner / f"{part}.txt").write_bytes(b"%d qid:%d 1:1 3:2\n" % (i, i))
    found = load_letor(tmp_path, fold=3, n_features=5, into=tmp_path / "all.cf")
    assert found.query_ids.tolist() == [0, 1, 2] and found.dimension == 5
    same(load_letor(inner, fold=None, n_features=5), found)


def test_yahoo(tmp_path):
    for number in (1, 2):
        for i, part in enumerate(("train", "valid", "test")):
            (tmp_path / f"set{number}.{part}.txt").write_bytes(
                b"%d qid:%d 699:0.5 2:1\n" % (i, 10 * number + i))
    assert load_yahoo(tmp_path).query_ids.tolist() == [10, 11, 12]
    found = load_yahoo(tmp_path, set=2, parts=("test", "train"), into=tmp_path / "two.cf")
    assert found.query_ids.tolist() == [22, 20] and found.features.dtype == np.float32
    assert found.dimension == 700 and found.features[0, 698] == 0.5


@pytest.mark.parametrize("load, arguments, error, says", [
    (load_yahoo, {}, FileNotFoundError, "set1.train.txt, packed or not: .* of a C14 set"),
    (load_yahoo, {"set": 3}, ValueError, "set must be <= 2"),
    (load_yahoo, {"parts": "vali"}, ValueError, "parts must be one of 'train', 'valid'"),
    (load_yahoo, {"parts": ()}, ValueError, "parts must name"),
    (load_letor, {"fold": 6}, ValueError, "fold must be <= 5"),
    (load_letor, {}, FileNotFoundError, "Fold1' holds no train.txt"),
])
def test_what_is_no_such_folder(tmp_path, load, arguments, error, says):
    with pytest.raises(error, match=says):
        load(tmp_path, **arguments)


def test_examples():
    outcome = doctest.testmod(importlib.import_module("coactive_fast.data._ranking"))
    assert outcome.attempted > 0 and outcome.failed == 0
