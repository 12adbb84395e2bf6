"""`update_many`: one compiled loop, all rows or none."""

import tracemalloc

import nasty
import numpy as np
import pytest
import scipy.sparse

import coactive_fast as cf

FORMS = {
    "full": lambda n, **kwargs: cf.metric.Full(n, **kwargs),
    "robust": lambda n, **kwargs: cf.metric.Full(n, precision="robust", **kwargs),
    "diagonal": lambda n, **kwargs: cf.metric.Diagonal(n, **kwargs),
}
every = pytest.mark.parametrize("make", FORMS.values(), ids=list(FORMS))


@every
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
def test_it_is_the_loop(make, dtype, rng):
    X = (10.0 * rng.standard_normal((60, 19))).astype(dtype)
    X[::7] = 0
    c = rng.uniform(0.1, 3.0, 60)
    many, single = make(19), make(19)
    for weights in (c, 0.5, np.float32(2.0), list(c)):
        each = np.broadcast_to(weights, 60)
        q = many.update_many(X, c=weights)
        assert q.tolist() == [single.update(x, c=w) for x, w in zip(X, each, strict=True)]
        assert nasty.frozen(many) == nasty.frozen(single)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", ["csr_matrix", "csr_array", "csc_matrix", "coo_array"])
def test_sparse_rows_of_diagonal(kind, index, rng):
    X = rng.standard_normal((40, 30))
    X[rng.random(X.shape) < 0.8] = 0.0
    rows = getattr(scipy.sparse, kind)(X)
    if kind.startswith("csr"):
        rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    many, single = cf.metric.Diagonal(30), cf.metric.Diagonal(30)
    c, whole = rng.uniform(0.1, 3.0, 40), scipy.sparse.csr_matrix(X)
    q = many.update_many(rows, c=c)
    assert q.tolist() == [single.update(whole[t], c=c[t]) for t in range(40)]
    assert nasty.frozen(many) == nasty.frozen(single)


def test_repeated_entries_of_sparse_rows_are_added_up():
    X = scipy.sparse.csr_matrix((np.array([1.0, 2.0, 5.0]), [1, 1, 0], [0, 2, 2, 3]), shape=(3, 2))
    m = cf.metric.Diagonal(2)
    assert m.update_many(X).tolist() == [9.0, 0.0, 25.0]
    assert m.matrix().tolist() == [26.0, 10.0] and m.updates == 2
    assert X.nnz == 3  # the argument is as it was


@pytest.mark.parametrize("indices", [[0, 5], [-1, 0]])
def test_sparse_rows_that_lie_about_themselves(indices):
    X = scipy.sparse.csr_matrix(([1.0, 1.0], [0, 1], [0, 2]), shape=(1, 2))
    assert X.has_canonical_format
    X.indices[:] = indices
    m = cf.metric.Diagonal(2)
    with pytest.raises(ValueError, match=r"\bX\b"):
        m.update_many(X)
    assert m.updates == 0


REFUSED_ROWS = {
    "an overflow": (ValueError, [[1.0, 1.0], [1e170, 1.0]]),
    "an overflow of the sum": (ValueError, [[9e153, 1.0]] * 4),
    "NaN": (ValueError, [[1.0, 1.0], [np.nan, 1.0]]),
    "strings": (TypeError, [["1", "1"]]),
    "objects": (TypeError, np.array([[1.0, 1.0]], dtype=object)),
    "dates": (TypeError, np.zeros((1, 2), dtype="datetime64[s]")),
    "complex": (TypeError, np.array([[1.0, 1.0 + 2.0j]])),
    "ragged": (TypeError, [[1.0, 2.0], [3.0]]),
    "a row": (ValueError, [1.0, 1.0]),
    "wide": (ValueError, [[1.0, 1.0, 1.0]]),
    "None": (TypeError, None),
}


@every
@pytest.mark.parametrize(("error", "X"), REFUSED_ROWS.values(), ids=list(REFUSED_ROWS))
def test_refused_rows_change_nothing(make, error, X):
    m = make(2)
    m.update([1.0, 0.5])
    before = nasty.frozen(m)
    with pytest.raises(error, match=r"\bX\b"):
        m.update_many(X)
    assert nasty.frozen(m) == before


REFUSED_WEIGHTS = {
    "zero": (ValueError, [1.0, 0.0]),
    "negative": (ValueError, -1.0),
    "NaN": (ValueError, [1.0, np.nan]),
    "a string": (TypeError, "1"),
    "strings": (TypeError, ["1", "2"]),
    "complex": (TypeError, [1.0, 1j]),
    "too many": (ValueError, [1.0, 1.0, 1.0]),
    "one in a list": (ValueError, [1.0]),
    "two dimensions": (ValueError, [[1.0], [1.0]]),
    "ragged": (TypeError, [[1.0, 2.0], [3.0]]),
    "None": (TypeError, None),
}


@every
@pytest.mark.parametrize(("error", "c"), REFUSED_WEIGHTS.values(), ids=list(REFUSED_WEIGHTS))
def test_refused_weights_change_nothing(make, error, c):
    m = make(2)
    before = nasty.frozen(m)
    with pytest.raises(error, match=r"\bc\b"):
        m.update_many(np.eye(2), c=c)
    assert nasty.frozen(m) == before


def test_sparse_rows_are_for_diagonal_only():
    with pytest.raises(TypeError, match=r"\bX\b.*dense"):
        cf.metric.Full(2).update_many(scipy.sparse.csr_matrix(np.eye(2)))


@every
def test_float32_rows_are_not_copied_whole(make):
    X = np.zeros((20_000, 50), np.float32)
    m = make(50)
    tracemalloc.start()
    m.update_many(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 2


@every
def test_sums_that_overflow_are_refused_one_by_one_too(make):
    m = make(1)
    taken = 0
    with pytest.raises(ValueError, match=r"\bx\b"):
        for _ in range(40):
            before = nasty.frozen(m)
            m.update([9e153])
            taken += 1
    assert nasty.frozen(m) == before and 0 < taken < 4
    assert np.isfinite(m.matrix()).all() and m.quad([1.0]) > 0.0


def test_no_refusal_where_nothing_overflows():
    # x.x is beyond float64, but neither x^T A^-1 x nor c x x^T is
    m = cf.metric.Diagonal(2, ridge=1e200)
    assert m.update([1e160, 1.0], c=1e-120) == pytest.approx(1e120)
    assert m.update_many([[1e160, 1.0]], c=1e-120)[0] > 0.0
