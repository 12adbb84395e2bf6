"""Price relatives and scalings."""

import doctest
import gzip
import importlib
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

from coactive_fast import data

FOLDER = os.environ.get("COACTIVE_DATA", "")


@pytest.mark.parametrize("name", ["_tables", "_scaling"])
def test_examples_in_the_docstrings(name):
    outcome = doctest.testmod(importlib.import_module(f"coactive_fast.data.{name}"))
    assert outcome.attempted > 0 and outcome.failed == 0


# --- prices -------------------------------------------------------------------------------------


def read(text):
    return data.load_prices(io.BytesIO(text.encode() if isinstance(text, str) else text))


@pytest.mark.parametrize("text", [
    "a,b\n1.5,0.25\n2,1e-3\n",
    "a,b\r\n1.5,0.25\r\n2,1e-3\r\n",
    '\ufeff"a",b\n\n 1.5 , 0.25\n\n2,1e-3',
    gzip.compress(b"a,b\n1.5,0.25\n2,1e-3\n"),
])
def test_forms_of_a_file(text, tmp_path):
    path = tmp_path / "prices.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    prices = data.load_prices(path)
    assert prices.names == ("a", "b")
    np.testing.assert_array_equal(prices.relatives, [[1.5, 0.25], [2.0, 1e-3]])


def test_without_names():
    prices = read("1.5,0.25\n2,1e-3\n")
    assert prices.names == ("0", "1") and prices.relatives.shape == (2, 2)


def test_names_may_hold_numbers_and_commas():
    assert read('"a, b",2020\n1,2\n').names == ("a, b", "2020")


@pytest.mark.parametrize("text, named", [
    ("", "at least one row"),
    ("a,b\n", "at least one row"),
    ("a,b\n1.0\n", "line 2: expected 2 values, got 1"),
    ("a,b\n1,1\n1,2,3\n", "line 3: expected 2"),
    ("a,b\n1,1\n\n1,-2\n", "line 4: .*'-2'"),
    ("a,b\n1,0\n", "line 2: .*'0'"),
    ("a,b\n1,nan\n", "'nan'"),
    ("a,b\n1,inf\n", "'inf'"),
    ("a,b\n1,1e400\n", "'1e400'"),
    ("a,b\n1,\n", "line 2: .*''"),
    ("a,b\n1,x\n", "'x'"),
    ("a,a\n1,1\n", "'a' twice"),
    (b"a,\xff\n1,1\n", "UTF-8"),
])
def test_bad_files_are_refused(text, named):
    with pytest.raises(ValueError, match=named):
        read(text)


def test_bad_paths():
    with pytest.raises(FileNotFoundError):
        data.load_prices("no such file")
    with pytest.raises(TypeError, match="path"):
        data.load_prices(3)


@pytest.mark.skipif(not FOLDER, reason="COACTIVE_DATA does not name the folder of real data")
@pytest.mark.parametrize("name, shape, uniform, best", [
    ("nyse-o_daily", (5651, 36), 27.08, 54.14), ("djia_daily", (507, 30), 0.81, 1.19),
    ("msci_daily", (1043, 24), 0.93, 1.50), ("nyse-o_weekly", (1130, 36), None, None),
    ("djia_weekly", (101, 30), None, None), ("msci_weekly", (208, 24), None, None)])
def test_the_known_sets(name, shape, uniform, best):
    prices = data.load_prices(Path(FOLDER) / "stocks" / f"{name}.csv")
    assert prices.relatives.shape == shape and len(prices.names) == shape[1]
    if uniform:  # the wealth that the literature has for them
        assert np.prod(prices.relatives.mean(axis=1)) == pytest.approx(uniform, abs=0.006)
        assert np.prod(prices.relatives, axis=0).max() == pytest.approx(best, abs=0.006)


# --- scaling ------------------------------------------------------------------------------------


def test_standardize(rng):
    X = rng.standard_normal((50, 3)) * [1.0, 1e-6, 1e6] + [5.0, 0.0, -1e7]
    scaling = data.standardize(X)
    Z = scaling.transform(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-8)
    np.testing.assert_allclose(Z.std(axis=0), 1.0, rtol=1e-8)
    np.testing.assert_allclose(scaling.inverse(Z), X, rtol=1e-12)


def test_minmax(rng):
    X = rng.standard_normal((50, 3)) * [1.0, 1e-6, 1e6]
    scaling = data.minmax(X, lower=-2.0, upper=3.0)
    Z = scaling.transform(X)
    np.testing.assert_allclose(Z.min(axis=0), -2.0, rtol=1e-12)
    np.testing.assert_allclose(Z.max(axis=0), 3.0, rtol=1e-12)
    np.testing.assert_allclose(scaling.inverse(Z), X, rtol=1e-9)
    assert data.minmax([4.0, 8.0]).transform(5.0) == 0.25


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e300])
def test_columns_that_do_not_vary(constant):
    X = np.full((7, 2), constant)
    X[:, 1] = np.arange(7)
    np.testing.assert_allclose(data.standardize(X).transform(X)[:, 0], 0.0, atol=1e-16 * constant)
    np.testing.assert_array_equal(data.minmax(X).transform(X)[:, 0], 0.0)
    assert data.standardize(X).scale[0] == 1.0


def test_forms_of_input():
    sparse = pytest.importorskip("scipy.sparse")
    X = np.array([[0.0, 1.0], [2.0, 0.0], [4.0, 3.0]])
    expected = data.standardize(X)
    for form in (X.tolist(), sparse.csr_matrix(X), X.astype(np.float32), np.asfortranarray(X)):
        assert data.standardize(form) == expected
        np.testing.assert_array_equal(expected.transform(form), expected.transform(X))
    assert data.standardize(X[:, 0]).transform(X[:, 0]).shape == (3,)


def test_what_is_masked_or_points_outside_is_refused():
    sparse = pytest.importorskip("scipy.sparse")
    X = np.array([[0.0, 1.0], [2.0, 0.0], [4.0, 3.0]])
    scaling = data.standardize(X)
    lying = sparse.csr_matrix(X)
    lying.indices = np.full_like(lying.indices, 10**8)
    for form in (np.ma.array(X, mask=X > 3.0), lying):
        for call in (data.standardize, data.minmax, scaling.transform, scaling.inverse):
            with pytest.raises(ValueError, match="^X "):
                call(form)


def test_the_record_goes_through_json():
    scaling = data.minmax(np.random.default_rng(0).standard_normal((9, 3)))
    again = data.Scaling(**json.loads(json.dumps(scaling.to_dict())))
    assert again == scaling and again != data.minmax([0.0, 1.0])
    assert "minmax of 3" in repr(scaling)


@pytest.mark.parametrize("call, named", [
    (lambda: data.standardize([]), "X"),
    (lambda: data.standardize(np.zeros((0, 2))), "X"),
    (lambda: data.standardize(np.zeros((2, 2, 2))), "X"),
    (lambda: data.standardize([[1.0, np.nan]]), "X"),
    (lambda: data.standardize([-1.7e308, 1.7e308]), "X"),
    (lambda: data.minmax([-1.7e308, 1.7e308]), "X"),
    (lambda: data.minmax([1.0], lower=1.0), "upper"),
    (lambda: data.minmax([1.0], lower=np.nan), "lower"),
    (lambda: data.standardize([[1.0, 2.0]]).transform([[1.0]]), "columns"),
    (lambda: data.Scaling([1.0], [0.0]), "scale"),
    (lambda: data.Scaling([1.0], [1.0, 2.0]), "scale"),
])
def test_what_cannot_be_scaled(call, named):
    with pytest.raises(ValueError, match=named):
        call()
    with pytest.raises(TypeError, match="X"):
        data.minmax(["a", "b"])
