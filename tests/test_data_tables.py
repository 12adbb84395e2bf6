"""Plain tables, the breast cancer set in its two forms, and tables of prices. All is made up."""

import gzip
import io

import numpy as np
import pytest

from coactive_fast import data


def file(content):
    return io.BytesIO(content)


@pytest.mark.parametrize("content", [
    b"1,2,0.5\n3,4e1,-1\n", b"1;2;0.5\r\n\r\n3;40;-1\r\n", b"1\t2\t0.5\n3\t40\t-1",
    b"  1  2 0.5 \n3 40 -1\n", b"a,b,c\n1,2,0.5\n3,40,-1\n",
    b'\xef\xbb\xbf"a","b","c"\n1,2,.5\n3,40,-1',
    gzip.compress(b"1 2 0.5\n3 40 -1\n"),
], ids=["commas", "semicolons", "tabs", "blanks", "names", "quotes", "packed"])
def test_forms_of_a_table(content, tmp_path):
    path = tmp_path / "table"
    path.write_bytes(content)
    table = data.load_table(path)
    np.testing.assert_array_equal(table.X, [[1.0, 2.0], [3.0, 40.0]])
    np.testing.assert_array_equal(table.y, [0.5, -1.0])
    assert table.names in (("0", "1"), ("a", "b")) and table.classes is None


def test_words_as_classes_columns_by_name_and_what_is_left_out():
    content = b"who,vowel,f1,f2\nann,i,1,2\nbob,a,3,4\nann,i,5,6\n"
    table = data.load_table(file(content), target="vowel", drop=["who"], dtype=np.float32)
    assert table.names == ("f1", "f2") and table.classes == ("a", "i")
    assert table.y.tolist() == [1, 0, 1]
    assert table.X.dtype == np.float32 and table.y.dtype == np.int64
    first = data.load_table(file(b"i 1 2\na 3 4\n"), target=0)
    assert first.classes == ("a", "i") and first.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert first.names == ("1", "2")
    bare = data.load_table(file(b"1,2\n3,4\n"), target=None)
    assert bare.y is None and bare.X.shape == (2, 2)


def test_rows_with_gaps():
    content = b"1,?,2\n3,4,5\n6,7,\n"
    assert data.load_table(file(content), missing="drop").X.tolist() == [[3.0, 4.0]]
    with pytest.raises(ValueError, match=r"line 1: column 2: nothing there, got '\?'"):
        data.load_table(file(content))
    assert data.load_table(file(content), missing="drop", drop=[1, 2], target=None).X.size == 3


@pytest.mark.parametrize("content, more, says", [
    (b"a,b\n1,2\n1,x2,\n", {}, "line 3: expected 2 fields, got 3"),
    (b"a,b\nx,2\n", {}, r"line 2: column 1 \(a\): expected a finite number, got 'x'"),
    (b"1 2\n1e999 2\n", {}, "line 2: column 1: expected a finite number, got '1e999'"),
    (b"a,b\n", {}, "holds no rows"), (b"", {}, "holds no rows"),
    (b"?,1\n", {"missing": "drop"}, "holds no rows"),
    (b"a,a,c\n1,2,3\n", {}, "names of the columns must differ, got 'a' twice"),
    (b"a,b\n1,2\n", {"target": "z"}, "target must name a column of .*a, b, got 'z'"),
    (b"1,2\n", {"target": 2}, "target must be <= 1"),
    (b"1,2\n", {"drop": [-3]}, "drop must be >= -2"),
    (b"1,2\n", {"drop": [0]}, "must have a column besides"),
    (b"1,2\n", {"delimiter": "|"}, "delimiter must be"),
    (b"1,2\n", {"missing": "zero"}, "missing must"),
    (b"1,2\n3,\r4\n", {}, r"line 2: .* ',' between, got '3,\\r4': a carriage return"),
    (b"1,2\n3," + b"4" * 131_073 + b"\n", {}, r"line 2: .*: field larger than field limit"),
    (b"1,2\n3,4\xff\n", {}, "line 2: must be text in UTF-8"), (b"1,2\n", {"dtype": int}, "dtype"),
    (b"1e300,2\n", {"dtype": np.float32}, "as float32 must be finite"),
])
def test_what_is_refused(content, more, says):
    with pytest.raises(ValueError, match=says):
        data.load_table(file(content), **more)


def test_breast_cancer_in_both_forms(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.integers(1, 11, (6, 9)), [2, 4, 2, 2, 4, 4]
    rows = [",".join(map(str, [1000 + i, *x, c]))
            for i, (x, c) in enumerate(zip(X, y, strict=True))]
    gap = "2000,1,1,1,1,2,?,1,1,1,2"
    path = tmp_path / "cancer.data"
    path.write_text("\n".join([*rows[:3], gap, *rows[3:]]) + "\n")
    other = "\n".join(f"{c} 1:{1000 + i} " + " ".join(f"{j + 2}:{v}" for j, v in enumerate(x))
                      for i, (x, c) in enumerate(zip(X, y, strict=True)))
    for source in (path, file(other.encode()), file(path.read_bytes())):
        found, labels = data.load_breast_cancer(source)
        np.testing.assert_array_equal(found, X)
        assert labels.tolist() == [-1, 1, -1, -1, 1, 1] and labels.dtype == np.int64


@pytest.mark.parametrize("content, says", [
    (b"1,2,2\n", "expected 11 columns, got 3"),
    (b"7,1,1,1,1,1,1,1,1,1,3\n", "row 1 .*expected 2 or 4, got 3"),
    (b"2 1:5 11:1\n", "line 1"), (b"1 1:5 2:1\n", "label: expected 2 or 4, got 1"),
])
def test_what_is_no_breast_cancer_set(content, says):
    with pytest.raises(ValueError, match=says):
        data.load_breast_cancer(file(content))


def test_prices_and_their_dates():
    text = b"day,acme,zinc\n2004-01-02,4,10\n2004-01-09,5,10\n2004-01-16,6,5\n"
    found = data.load_prices(file(text), prices=True, drop=["day"])
    assert found.names == ("acme", "zinc")
    np.testing.assert_allclose(found.relatives, [[1.25, 1.0], [1.2, 0.5]], rtol=1e-15)
    blanks = data.load_prices(file(b"1.01 0.99\n1.0 1.02\n"))
    assert blanks.names == ("0", "1") and blanks.relatives.shape == (2, 2)


@pytest.mark.parametrize("content, more, says", [
    (b"d a\nx 1\n", {"prices": True, "drop": [0]}, "so two of prices"),
    (b"d a\nx 1\ny 0\n", {"prices": True, "drop": ["d"]}, r"line 3: column 2 \(a\): a price must"),
    (b"a\n1e308\n1e-308\n", {"prices": True}, "beyond the range"),
    (b"a b\n1 2\n", {"drop": ["c"]}, "drop must name a column"),
    (b"a,b\r1,2\r", {}, "line 1: .* got 'a,b.*: a carriage return stands inside of it"),
])
def test_prices_that_are_refused(content, more, says):
    with pytest.raises(ValueError, match=says):
        data.load_prices(file(content), **more)
