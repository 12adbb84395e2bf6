"""load_svmlight: against a reader in plain Python, at every cut of the file, and bad lines."""

import bz2
import gzip
import io
import lzma
import os
from pathlib import Path

import numpy as np
import pytest

from coactive_fast import data
from coactive_fast.data import _compiled
from coactive_fast.data._svmlight import load_dense

TEXT = (b"# made up\n"
        b"2 qid:1 1:0.5 3:-1e3 # first\r\n"
        b"\n"
        b"+1.5 qid:1 2:.25\t4:1.\n"
        b"0 qid:2\n"
        b"  -3\tqid:7 4:9007199254740993 1:12345678901234567890123e-25 #\n"
        b"1 qid:2 3:0")
DENSE = np.array([[0.5, 0.0, -1000.0, 0.0], [0.0, 0.25, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0],
                  [float("12345678901234567890123e-25"), 0.0, 0.0, 9007199254740993.0],
                  [0.0, 0.0, 0.0, 0.0]])
LABELS = [2.0, 1.5, 0.0, -3.0, 1.0]
QUERIES = [1, 1, 2, 7, 2]

DATA = os.environ.get("COACTIVE_DATA")
real = pytest.mark.skipif(not DATA, reason="COACTIVE_DATA does not name the folder of the data")


class Drip(io.RawIOBase):
    """A file whose reads end at the given places, as those of a slow pipe do."""

    def __init__(self, content, cuts):
        self.content, self.at = content, 0
        self.cuts = sorted({*cuts, len(content)})

    def readinto(self, buffer):
        end = next((cut for cut in self.cuts if cut > self.at), self.at)
        part = self.content[self.at:min(end, self.at + len(buffer))]
        buffer[:len(part)] = part
        self.at += len(part)
        return len(part)


def check(result):
    X, y, queries = result
    assert X.shape == (5, 4) and X.nnz == 7  # the stored zero too
    assert X.has_sorted_indices and X.indices.dtype == np.int32
    np.testing.assert_array_equal(X.toarray(), DENSE)
    np.testing.assert_array_equal(y, LABELS)
    np.testing.assert_array_equal(queries, QUERIES)


def read(content, **options):
    return data.load_svmlight(io.BytesIO(content), **options)


def test_a_file():
    check(read(TEXT, query_id=True))


def test_every_cut_of_the_file():
    for cut in range(len(TEXT)):
        check(data.load_svmlight(Drip(TEXT, [cut]), query_id=True))
    check(data.load_svmlight(Drip(TEXT, range(len(TEXT))), query_id=True))


@pytest.mark.parametrize("piece", [1, 2, 5, 17, 64, 1000])
def test_lines_longer_than_the_buffer(piece):
    rows = _compiled.Rows(io.BytesIO(TEXT), "text", 1, None, np.float64, False, True, piece=piece)
    labels, values, lines = [], [], []
    while rows.advance():
        labels += rows.labels.tolist()
        values += rows.values.tolist()
        lines += rows.lines.tolist()
    assert labels == LABELS and lines == [2, 4, 5, 6, 7]
    assert sorted(values) == sorted([*DENSE[DENSE != 0.0], 0.0])
    assert rows.least == 0 and rows.most == 3
    assert not rows.advance()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_packed_files_and_paths(tmp_path, pack):
    path = tmp_path / "no telling ending"
    path.write_bytes(pack(TEXT))
    check(data.load_svmlight(path, query_id=True))
    check(data.load_svmlight(str(path), query_id=True))
    with open(path, "rb") as file:
        if pack is bytes:
            check(data.load_svmlight(file, query_id=True))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_packed_file_that_breaks_off(tmp_path, pack):
    packed = pack(TEXT)
    path = tmp_path / "half"
    for length in range(max(8, len(packed) // 4), len(packed) - 1, 5):
        path.write_bytes(packed[:length])
        with pytest.raises(ValueError, match="half' is truncated or damaged"):
            data.load_svmlight(path)


def test_dtypes():
    X, _ = read(TEXT, dtype=np.float32)
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X.toarray(), DENSE.astype(np.float32))
    with pytest.raises(ValueError, match="dtype must be float32 or float64"):
        read(TEXT, dtype=np.int32)
    with pytest.raises(ValueError, match="line 1: a value is not a finite number"):
        read(b"1 1:1e39\n", dtype=np.float32)
    assert read(b"1 1:1e39\n")[0][0, 0] == 1e39


def test_number_of_features():
    assert read(TEXT, n_features=10)[0].shape == (5, 10)
    assert read(TEXT, n_features=4)[0].shape == (5, 4)
    with pytest.raises(ValueError, match=r"line 2: .*out of range \(1 ... 2\), got '3:-1e3'"):
        read(TEXT, n_features=2)
    for wrong, error in ((0, ValueError), (2.0, TypeError), (True, TypeError), (2**63, ValueError)):
        with pytest.raises(error, match="n_features"):
            read(TEXT, n_features=wrong)
    assert read(b"")[0].shape == (0, 0)
    assert read(b"# nothing\n\n", n_features=3)[0].shape == (0, 3)
    assert read(b"1\n2\n")[0].shape == (2, 0)


@pytest.mark.parametrize("load", [lambda f, **o: data.load_svmlight(f, **o)[0].toarray(),
                                  lambda f, **o: load_dense(f, dtype=np.float64, **o)[0]])
def test_where_counting_begins(load):
    one, zero = b"1 qid:1 1:5 3:7\n1 qid:1\n", b"1 qid:1 0:5 2:7\n1 qid:1 1:3\n"

    def read(content, **options):
        return load(io.BytesIO(content), **options).tolist()

    first, both = [[5, 0, 7], [0, 0, 0]], [[5, 0, 7], [0, 3, 0]]
    assert read(one) == read(one, zero_based="auto") == first
    assert read(zero, zero_based=True) == read(zero, zero_based="auto") == both
    assert read(one, zero_based=True) == [[0, 5, 0, 7], [0, 0, 0, 0]]
    assert read(one, zero_based="auto", n_features=3) == first
    assert read(zero, zero_based="auto", n_features=3) == both
    assert read(one, zero_based="auto", n_features=4) == [[5, 0, 7, 0], [0, 0, 0, 0]]
    assert read(b"1 qid:1\n", zero_based="auto", n_features=2) == [[0, 0]]
    with pytest.raises(ValueError, match=r"out of range \(at least 1\), got '0:5'"):
        read(zero)
    with pytest.raises(ValueError, match="out of range"):
        read(zero, zero_based=True, n_features=2)
    with pytest.raises(ValueError, match=r"index 2 is out of range \(0 ... 1\)"):
        read(zero, zero_based="auto", n_features=2)
    with pytest.raises(ValueError, match="zero_based must be"):
        read(zero, zero_based="yes")


def test_many_labels():
    X, y = read(b"3,17 12:0.1\n 5:1\n4\n17,3\n", multilabel=True)
    assert y == [(3.0, 17.0), (), (4.0,), (3.0, 17.0)]
    assert X.shape == (4, 12)
    assert read(b"", multilabel=True)[1] == []
    X, y, queries = read(b" qid:3 5:1\n1 qid:4\n", multilabel=True, query_id=True)
    assert y == [(), (1.0,)] and queries.tolist() == [3, 4]


def test_integer_labels():
    X, y = read(b"3 1:1\n-2.0 2:1\n\n1e3\n", integer_labels=True)
    assert y.dtype == np.int64 and y.tolist() == [3, -2, 1000] and X.shape == (3, 2)
    X, y = read(b"3,17 12:0.1\n 5:1\n", multilabel=True, integer_labels=True)
    assert y == [(3, 17), ()] and type(y[0][0]) is int
    assert read(b"", integer_labels=True)[1].dtype == np.int64
    for text, line in ((b"1 1:1\n# no row\n0.5 1:1\n", 3), (b"1e16 1:1\n", 1)):
        with pytest.raises(ValueError, match=rf"line {line}: the label .* no integer"):
            read(text, integer_labels=True)
    with pytest.raises(ValueError, match=r"line 2: the label 2.5"):
        read(b"1,2 1:1\n3,2.5 1:1\n", multilabel=True, integer_labels=True)
    with pytest.raises(TypeError, match="integer_labels"):
        read(b"", integer_labels=1)


def test_indices_of_64_bits():
    X, _ = read(b"1 1:1 3000000000:2\n")
    assert X.shape == (1, 3_000_000_000) and X.indices.tolist() == [0, 2_999_999_999]
    X, _ = read(b"1 1:1\n1 9223372036854775807:2\n")
    assert X.indices.tolist() == [0, 2**63 - 2]
    for zero_based in (True, "auto"):
        with pytest.raises(ValueError, match=r"line 2: .* \(0 ... 9223372036854775806\)"):
            read(b"1 1:1\n1 9223372036854775807:2\n", zero_based=zero_based)


def test_dense_rows_that_grow_wider():
    """The stride grows in the middle of the file, more than once."""
    lines = [f"{i % 3} qid:1 {i + 1}:{i}.5 {2 * i + 3}:-1\n" for i in range(300)]
    content = "".join(lines).encode()
    cuts = np.cumsum([len(line) for line in lines])
    X, y = read(content)
    dense, labels = load_dense(Drip(content, cuts), dtype=np.float64)
    np.testing.assert_array_equal(dense, X.toarray())
    np.testing.assert_array_equal(labels, y)
    assert dense.flags.c_contiguous and dense.base.size == dense.size  # and nothing more is kept


BAD = {
    b"x 1:1": "line 3: a label is missing or is not a finite number",
    b"nan 1:1": "a label is missing",
    b"inf 1:1": "a label is missing",
    b"1e400 1:1": "a label is missing",
    b"0x1 1:1": "a label is missing",
    b"1_0 1:1": "a label is missing",
    b" 12:0.1": "a label is missing",
    b"1,2 1:1": "a label is missing",
    b"1 1": r"expected index:value, got '1' in '1 1'",
    b"1 1:1 2 : 3": "expected index:value, got '2'",
    b"1 -1:1": "expected index:value, got '-1:1'",
    b"1 1.0:1": "expected index:value",
    b"1 99999999999999999999:1": "expected index:value",
    b"1 0:1": "index is out of range",
    b"1 1:": "a value is not a finite number of the dtype asked for, got '1:'",
    b"1 1:nan": "a value is not a finite number",
    b"1 1:-inf": "a value is not a finite number",
    b"1 1:1e400": "a value is not a finite number",
    b"1 1:1_0": "a value is not a finite number",
    b"1 1:0x1p3": "a value is not a finite number",
    b"1 1:1 2:5 1:1": "a feature index stands twice in one row",
    b"1 1:1 1:1": "a feature index stands twice in one row",
    b"1 1:1\0": "a value is not a finite number",
    b"1 1:1 \xff:1": r"expected index:value, got '\\\\xff:1'",
}


@pytest.mark.parametrize("line", BAD)
def test_bad_lines(line):
    with pytest.raises(ValueError, match=BAD[line]) as error:
        read(b"1 1:1\n\n" + line + b"\n1 1:1\n")
    assert "line 3: " in str(error.value)


def test_a_bad_line_is_shown_shortened():
    with pytest.raises(ValueError) as error:
        read(b"1 " + b"x" * 10000 + b"\n")
    assert len(str(error.value)) < 250


def test_queries():
    with pytest.raises(ValueError, match="line 2: expected qid: and a whole number"):
        read(b"1 qid:3 1:1\n1 1:1\n", query_id=True)
    with pytest.raises(ValueError, match="line 1: expected qid:"):
        read(b"1 qid:GX-1 1:1\n", query_id=True)
    assert read(b"1 qid:GX-1 1:1\n")[0].nnz == 1
    assert read(b"1 qid:-9223372036854775807\n", query_id=True)[2].tolist() == [1 - 2**63]


def test_what_is_no_file(tmp_path):
    with pytest.raises(TypeError, match="path must be"):
        data.load_svmlight(3)
    with pytest.raises(FileNotFoundError):
        data.load_svmlight(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        data.load_svmlight(tmp_path)


def test_the_readers_look_at_their_arguments():
    rows = _compiled.Rows(io.BytesIO(TEXT + b"\n"), "text", 1, None, np.float64, False, True)
    assert rows.advance() and rows.n_rows == 5
    for flat, row, stride in ((np.zeros(20), 0, 3), (np.zeros(19), 0, 4), (np.zeros(20), 1, 4),
                              (np.zeros(40)[::2], 0, 4)):
        with pytest.raises(ValueError, match="do not fit"):
            rows.scatter(flat, row, stride)
    with pytest.raises(TypeError, match="expected float32"):
        rows.scatter(np.zeros(20, dtype=int), 0, 4)
    for old, new, skip in ((5, 4, 0), (4, 5, 0), (4, 3, 2)):
        with pytest.raises(ValueError, match="do not fit"):
            _compiled.restride(np.zeros(16), 4, old, new, skip)


def test_an_error_of_the_file_object_goes_through():
    class Broken(io.RawIOBase):
        def readinto(self, buffer):
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        data.load_svmlight(Broken())


@real
@pytest.mark.parametrize("name, shape, multilabel", [
    ("20newsgroups/20ng_train", (11314, 42967), False),
    ("20newsgroups/20ng_test", (7532, 42967), False),
    ("reuters21578/reuters21578_multilabel", (12902, 13141), True),
    ("reuters21578/r52_train", (6532, 13141), False),
    ("reuters21578/r52_test", (2569, 13141), False),
    ("amazon_reviews/amazon_domain", (8000, 14737), False),
    ("tabular/letter", (20000, 16), False),
    ("tabular/cadata", (20640, 8), False),
])
def test_real_files(name, shape, multilabel):
    path = Path(DATA) / f"{name}.svm.gz"
    X, y = data.load_svmlight(path, n_features=shape[1], multilabel=multilabel)
    assert X.shape == shape and len(y) == shape[0]
    if multilabel:
        assert sum(labels == () for labels in y) == 2108
    with gzip.open(path) as file:
        pairs = [token.split(b":") for line in file for token in line.split()
                 if b":" in token]
    np.testing.assert_array_equal(X.indices, [int(index) - 1 for index, _ in pairs])
    np.testing.assert_array_equal(X.data, [float(value) for _, value in pairs])
