"""RankingData: its checks, its views, files of text, least squares, saving and loading."""

import gzip
import io
import os
import pickle
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from coactive_fast.data import RankingData, make_ranking
from coactive_fast.data._ratings import least_squares

DATA = os.environ.get("COACTIVE_DATA")
real = pytest.mark.skipif(not DATA, reason="COACTIVE_DATA does not name the folder of the data")
TEXT = b"2 qid:7 1:0.5 2:1\n0 qid:7 3:1 #x\n1.5 qid:9 2:0.25\n0 qid:-1\n1 qid:-1 1:3\n"


def small(dtype=np.float32):
    features = np.arange(15, dtype=dtype).reshape(5, 3)
    return RankingData(features, [2, 0, 1, 0, 1], [0, 2, 3, 5], query_ids=[7, 9, -1])


def same(a, b):
    assert a.features.dtype == b.features.dtype
    for name in ("features", "relevance", "offsets", "query_ids"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


# --- the object -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_it_holds(dtype):
    data = small(dtype)
    assert (len(data), data.dimension, data.n_documents) == (3, 3, 5)
    assert repr(data) == f"RankingData(3 queries, 5 documents, 3 features, {np.dtype(dtype)})"
    assert data.features.dtype == dtype and data.relevance.dtype == np.float64
    assert [query.index for query in data] == [0, 1, 2]
    assert [len(query) for query in data] == [2, 1, 2]
    np.testing.assert_array_equal(data[-1].features, data.features[3:])
    np.testing.assert_array_equal(data[0].relevance, [2.0, 0.0])
    assert repr(data[1]) == "Query(index=1, documents=1)"
    for wrong, error in ((3, IndexError), (-4, IndexError), ("a", TypeError), (0.0, TypeError)):
        with pytest.raises(error):
            data[wrong]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_is_copied_and_nothing_can_be_written(dtype):
    features, relevance = np.ones((4, 2), dtype), np.zeros(4)
    data = RankingData(features, relevance, [0, 4])
    for view in (data.features, data[0].features, data[0:1].features):
        assert np.shares_memory(view, features)
        with pytest.raises(ValueError, match="read-only"):
            view[0, 0] = 1.0
    assert np.shares_memory(data.relevance, relevance)
    assert features.flags.writeable and relevance.flags.writeable


def test_other_arrays_are_converted():
    features = np.arange(12).reshape(4, 3)
    plain = RankingData(features.astype(float), [0, 1, 2, 3], [0, 4])
    frozen = features.astype(float)
    frozen.flags.writeable = False

    class Frame:
        def __array__(self, dtype=None, copy=None):
            return features.astype(dtype or float)

    for given in (features, features.tolist(), np.asfortranarray(features, float), Frame(),
                  frozen, features.astype(">f8"), np.repeat(features, 2, 0)[::2].astype(float)):
        same(RankingData(given, np.arange(4, dtype=np.uint8), np.array([0, 4], np.uint64)), plain)


@pytest.mark.parametrize("features, relevance, offsets, message", [
    ([1.0, 2.0], [1, 2], [0, 2], "features must have 2 dimensions"),
    ([["a"], ["b"]], [1, 2], [0, 2], "features must hold real numbers"),
    ([[1.0], [2.0, 3.0]], [1, 2], [0, 2], "features must be an array"),
    (np.ones((2, 0)), [1, 2], [0, 2], "features must have at least one column"),
    ([[1.0], [np.nan]], [1, 2], [0, 2], r"features must be finite, got nan at index \(1, 0\)"),
    ([[1.0], [np.inf]], [1, 2], [0, 2], "features must be finite"),
    ([[1.0], [2.0]], [1, np.nan], [0, 2], "relevance must be finite, got nan at index 1"),
    ([[1.0], [2.0]], [1], [0, 2], "relevance must have length 2"),
    ([[1.0], [2.0]], [[1], [2]], [0, 2], "relevance must have 1 dimension"),
    ([[1.0], [2.0]], [1, 2], [0.0, 2.0], "offsets must hold integers"),
    ([[1.0], [2.0]], [1, 2], [0], "offsets must have length queries"),
    ([[1.0], [2.0]], [1, 2], [], "offsets must have length queries"),
    ([[1.0], [2.0]], [1, 2], [1, 2], "offsets must go from 0"),
    ([[1.0], [2.0]], [1, 2], [0, 3], "offsets must go from 0 to the number of documents, 2"),
    ([[1.0], [2.0]], [1, 2], [0, 0, 2], "offsets must ascend .* got 0 and 0 for query 0"),
    ([[1.0], [2.0]], [1, 2], [0, 2, 1, 2], "offsets must ascend"),
    ([[1.0], [2.0]], [1, 2], [[0, 2]], "offsets must have 1 dimension"),
    ([[1.0], [2.0]], [1, 2], np.array([0, 2**64 - 1], np.uint64), "offsets must lie below"),
])
def test_bad_arguments(features, relevance, offsets, message):
    with pytest.raises((ValueError, TypeError), match=message):
        RankingData(features, relevance, offsets)


def test_other_bad_arguments():
    import scipy.sparse

    with pytest.raises(TypeError, match="features must be a dense array"):
        RankingData(scipy.sparse.eye(3, format="csr"), [1, 2, 3], [0, 3])
    with pytest.raises(ValueError, match="query_ids must have length 1"):
        RankingData([[1.0]], [1], [0, 1], query_ids=[1, 2])
    # beyond the first block that is looked at
    features = np.zeros((600, 1000), np.float32)
    features[599, 7] = np.inf
    with pytest.raises(ValueError, match=r"got inf at index \(599, 7\)"):
        RankingData(features, np.zeros(600), [0, 600])


def test_slices_and_take():
    data = small()
    part = data[1:3]
    assert len(part) == 2 and part.offsets.tolist() == [0, 1, 3]
    np.testing.assert_array_equal(part.features, data.features[2:])
    assert part.query_ids.tolist() == [9, -1]
    same(data[:], data)
    same(data[::-1], data.take([2, 1, 0]))
    same(data[-1:], data.take([2]))
    taken = data.take(np.array([2, 0, 2]))
    for query, source in zip(taken, (2, 0, 2), strict=True):
        np.testing.assert_array_equal(query.features, data[source].features)
        np.testing.assert_array_equal(query.relevance, data[source].relevance)
    assert taken.query_ids.tolist() == [-1, 7, -1]
    assert RankingData([[1.0], [2.0]], [0, 1], [0, 1, 2])[1:].query_ids is None
    for wrong, match in (([3], "queries must lie in 0 ... 2, got 3"), ([-1], "got -1"),
                         ([], "at least one"), ([0.5], "integers")):
        with pytest.raises((ValueError, TypeError), match=match):
            data.take(wrong)
    with pytest.raises(ValueError, match="holds no query"):
        data[2:2]


# --- text -----------------------------------------------------------------------------------------


def test_from_svmlight():
    data = RankingData.from_svmlight(io.BytesIO(TEXT))
    assert data.features.dtype == np.float32
    np.testing.assert_array_equal(data.features, np.array(
        [[0.5, 1, 0], [0, 0, 1], [0, 0.25, 0], [0, 0, 0], [3, 0, 0]], np.float32))
    np.testing.assert_array_equal(data.relevance, [2, 0, 1.5, 0, 1])
    assert data.offsets.tolist() == [0, 2, 3, 5] and data.query_ids.tolist() == [7, 9, -1]
    wide = RankingData.from_svmlight(io.BytesIO(TEXT), n_features=7, dtype=np.float64)
    assert wide.features.shape == (5, 7) and wide.features.dtype == np.float64
    np.testing.assert_array_equal(wide.features[:, :3], data.features)


def test_queries_in_pieces():
    """A query that goes on in the next piece of the file is one query."""
    class Lines(io.BytesIO):
        def readinto(self, buffer):
            line = self.readline()
            buffer[:len(line)] = line
            return len(line)

    same(RankingData.from_svmlight(Lines(TEXT)), RankingData.from_svmlight(io.BytesIO(TEXT)))
    with pytest.raises(ValueError, match="line 6: query 7 comes back after another"):
        RankingData.from_svmlight(Lines(TEXT + b"1 qid:7 1:1\n"))


def test_a_query_that_comes_back():
    text = b"# x\n" + TEXT + b"3 qid:9 1:9\n0 qid:7 1:8\n"
    with pytest.raises(ValueError, match=r"line 7: query 9 comes back after another \(group"):
        RankingData.from_svmlight(io.BytesIO(text))
    data = RankingData.from_svmlight(io.BytesIO(text), group=True)
    assert data.query_ids.tolist() == [7, 9, -1] and data.offsets.tolist() == [0, 3, 5, 7]
    np.testing.assert_array_equal(data.relevance, [2, 0, 0, 1.5, 3, 0, 1])
    np.testing.assert_array_equal(data.features[:, 0], np.float32([0.5, 0, 8, 0, 9, 0, 3]))
    same(RankingData.from_svmlight(io.BytesIO(TEXT), group=True),
         RankingData.from_svmlight(io.BytesIO(TEXT)))


@pytest.mark.parametrize("text, message", [
    (b"", "holds no documents"), (b"# c\n", "holds no documents"),
    (b"1 qid:1\n", "holds no features"), (b"1 1:1\n", "line 1: expected qid:"),
    (b"1 qid:1 1:1\n1 qid:1 1:x\n", "line 2: .* got '1:x' in '1 qid:1 1:x'"),
])
def test_bad_text(text, message):
    with pytest.raises(ValueError, match=message):
        RankingData.from_svmlight(io.BytesIO(text))


@real
@pytest.mark.parametrize("folder, names, counts", [
    ("mq2008", [f"S{i}" for i in range(1, 6)], (784, 15211, 46, [12279, 2001, 931])),
    ("lightgbm_lambdarank", ["train"], (201, 3005, 300, None)),
    ("lightgbm_lambdarank", ["test"], (50, 768, 300, None)),
    ("imat2009_sample", ["imat2009_learning_1000"], (104, 1000, 245, None)),
])
def test_real_files(folder, names, counts):
    text = b"".join(gzip.decompress((Path(DATA) / folder / f"{name}.txt.gz").read_bytes())
                    for name in names)
    data = RankingData.from_svmlight(io.BytesIO(text), dtype=np.float64)
    queries, documents, features, grades = counts
    assert (len(data), data.n_documents, data.dimension) == (queries, documents, features)
    if grades:
        assert np.bincount(data.relevance.astype(int)).tolist() == grades
        empty = sum(not query.relevance.any() for query in data)
        assert empty == 220
    rows = np.zeros((documents, features))
    for row, line in zip(rows, text.splitlines(), strict=True):
        for token in line.partition(b"#")[0].split()[2:]:
            index, value = token.split(b":")
            row[int(index) - 1] = float(value)
    np.testing.assert_array_equal(data.features, rows)


# --- least squares --------------------------------------------------------------------------------


@pytest.mark.parametrize("n, d", [(1, 1), (3, 7), (7, 7), (50, 7), (1023, 3), (1030, 5),
                                  (5000, 40)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_least_squares(n, d, dtype, rng):
    rows = rng.standard_normal((n, d)).astype(dtype)
    if d > 4:
        rows[:, 3] = rows[:, 1]  # then many solutions are as good, and one is the shortest
        rows[:, 4] = 0.0
    targets = rng.standard_normal(n)
    expected = np.linalg.lstsq(rows.astype(np.float64), targets, rcond=None)[0]
    for step in (None, 1, 7, 64):
        np.testing.assert_allclose(least_squares(rows, targets, step), expected, rtol=0,
                                   atol=1e-11 * max(1.0, np.abs(expected).max()))


def test_least_squares_does_not_square_the_condition(rng):
    rows = rng.standard_normal((3000, 6)) @ np.diag([1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
    w = np.ones(6)
    np.testing.assert_allclose(least_squares(rows, rows @ w), w, rtol=0, atol=1e-4)


def test_fit_weights_is_kept_and_cannot_be_spoiled():
    data = make_ranking(n_queries=20, n_features=6)
    w = data.fit_weights()
    expected = w.copy()
    w[:] = 0.0
    np.testing.assert_array_equal(data.fit_weights(), expected)
    assert w.dtype == np.float64


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mmap", [True, False])
def test_save_and_load(tmp_path, dtype, mmap):
    data = small(dtype)
    data.save(tmp_path / "d")
    loaded = RankingData.load(tmp_path / "d", mmap=mmap)
    same(loaded, data)
    assert isinstance(loaded.features, np.memmap) == mmap
    assert loaded.features.ctypes.data % 64 == 0 or not mmap
    np.testing.assert_array_equal(loaded.fit_weights(), data.fit_weights())
    without = RankingData([[1.0], [2.0]], [0, 1], [0, 2])
    without.save(str(tmp_path / "d"))  # the map of the old file goes on
    same(RankingData.load(str(tmp_path / "d"), mmap=mmap), without)
    same(loaded, data)
    same(pickle.loads(pickle.dumps(data)), data)
    loaded.save(tmp_path / "d")
    same(RankingData.load(tmp_path / "d"), data)


@pytest.mark.parametrize("mmap", [True, False])
def test_damaged_files(tmp_path, mmap):
    path = tmp_path / "d"
    small().save(path)
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="d'"):
            RankingData.load(path, mmap=mmap)
    renamed = content.replace(b"RankingData", b"RankingDatb")
    for other in (b"1 qid:1 1:1\n", content + b"\0", renamed):
        path.write_bytes(other)
        with pytest.raises(ValueError, match="d'"):
            RankingData.load(path, mmap=mmap)
    with pytest.raises(FileNotFoundError):
        RankingData.load(tmp_path / "missing", mmap=mmap)


def test_flipped_bytes(tmp_path):
    """Every one is found where everything is read; none does harm where it is mapped."""
    path = tmp_path / "d"
    data = small()
    data.save(path)
    content = path.read_bytes()
    for at in range(len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1:])
        with pytest.raises(ValueError):
            RankingData.load(path, mmap=False)
        try:
            loaded = RankingData.load(path)
        except ValueError:
            continue
        assert loaded.features.shape[0] == loaded.offsets[-1] == loaded.n_documents
        assert sum(len(query) for query in loaded) == loaded.n_documents


def test_arrays_that_do_not_go_together(tmp_path):
    from coactive_fast.learner import _file

    path = tmp_path / "d"
    good = {"relevance": np.zeros(2), "offsets": np.array([0, 2]), "features": np.ones((2, 1))}
    bad = [{"relevance": np.zeros(3)}, {"relevance": np.zeros(2, int)},
           {"features": np.ones((2, 0))}, {"features": np.ones(2)},
           {"features": np.ones((2, 1), int)}, {"offsets": np.array([0.0, 2.0])},
           {"offsets": np.array([0, 3])}, {"offsets": np.array([0, 0, 2])},
           {"query_ids": np.array([1, 2])}, {"query_ids": np.array([1.0])},
           {"relevance": np.array([0.0, np.inf])}, {"more": np.zeros(1)}]
    for change in bad:
        _file.write(path, {"kind": "RankingData"}, {**good, **change})
        with pytest.raises(ValueError, match="d'"):
            RankingData.load(path)
    _file.write(path, {"kind": "another"}, good)
    with pytest.raises(ValueError, match="does not hold ranking data"):
        RankingData.load(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_mapped_features_that_are_not_finite(value, tmp_path):
    """They are not looked at where they are mapped; what comes of them is."""
    from coactive_fast.learner import _file

    features = np.ones((3000, 2))
    features[2999, 1] = value
    _file.write(tmp_path / "d", {"kind": "RankingData"}, {
        "relevance": np.zeros(3000), "offsets": np.array([0, 3000]), "features": features})
    with pytest.raises(ValueError, match="features and relevance must be finite"):
        RankingData.load(tmp_path / "d").fit_weights()


def test_a_killed_save_leaves_the_old_or_the_new(tmp_path):
    path = tmp_path / "d"
    first = RankingData(np.zeros((20000, 10)), np.zeros(20000), [0, 20000])
    second = RankingData(np.ones((20000, 10)), np.ones(20000), [0, 20000])
    first.save(path)
    seen = set()
    for i in range(20):
        child = os.fork()
        if child == 0:
            while True:
                second.save(path)
                first.save(path)
        time.sleep(0.003 + 0.0013 * i)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        loaded = RankingData.load(path, mmap=False)
        assert (loaded.features == loaded.relevance[0]).all()
        seen.add(loaded.relevance[0])
    assert seen <= {0.0, 1.0}


@pytest.mark.parametrize("masked", ["features", "relevance", "offsets"])
def test_masked_arrays_are_refused(masked):
    arguments = {"features": np.eye(3), "relevance": np.zeros(3), "offsets": np.array([0, 2, 3])}
    RankingData(**arguments)
    arguments[masked] = np.ma.masked_array(arguments[masked])
    with pytest.raises(ValueError, match=f"{masked} must not be a masked array"):
        RankingData(**arguments)
