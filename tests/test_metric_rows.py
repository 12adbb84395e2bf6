"""Many rows at once, and rows in every form the metrics take."""

import nasty
import numpy as np
import pytest
import scipy.sparse
from metric_cases import fed, forms, made, modules, twin_of

import coactive_fast as cf

# --- many rows ----------------------------------------------------------------------------------


@forms
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 30, 33, 100])
@pytest.mark.parametrize("T", [0, 1, 5, 8, 9, 50])
def test_many_rows_have_the_bits_of_one(form, n, T, rng):
    m = fed(made(form, n, ridge=0.3), rng)
    m.forget(0.8)
    fed(m, rng, 3)
    X = rng.standard_normal((T, n))
    tables = [X, X.astype(np.float32), np.asfortranarray(X), np.hstack([X, X])[:, :n],
              X.astype(np.float32)[::-1], X.tolist() if T else X]
    for table in tables:
        rows = [np.array(row, dtype=np.float64) for row in table]
        q, y = m.quad_many(table), m.solve_many(table)
        assert (q.shape, y.shape, q.dtype, y.dtype) == ((T,), (T, n), np.float64, np.float64)
        assert q.tolist() == [m.quad(row) for row in rows]
        np.testing.assert_array_equal(y, np.array([m.solve(row) for row in rows]).reshape(T, n))


@forms
def test_many_rows_against_the_twin(form, rng):
    fast, slow = made(form, 9, ridge=0.3), twin_of(form, 9, ridge=0.3)
    for x in rng.standard_normal((20, 9)):
        assert fast.update(x) == pytest.approx(slow.update(x), rel=1e-12)
    X = rng.standard_normal((11, 9))
    np.testing.assert_allclose(fast.quad_many(X), slow.quad_many(X), rtol=1e-10)
    np.testing.assert_allclose(fast.solve_many(X), slow.solve_many(X), rtol=1e-9, atol=1e-13)
    nasty.agree(fast.quad_many, slow.quad_many, (X[:, :5],), nasty.within(0.0), ("X",))


@forms
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("n", [4, 9, 40])
def test_rows_that_are_refused(form, bad, n, rng):
    m = made(form, n)
    X = rng.standard_normal((20, n))
    X[13, n - 1] = bad
    with pytest.raises(ValueError, match=r"\bX\b"):
        m.quad_many(X)
    if bad != 1e200:
        with pytest.raises(ValueError, match=r"\bX\b"):
            m.solve_many(X)
        with np.errstate(over="ignore"), pytest.raises(ValueError, match=r"\bX\b"):
            m.quad_many(X.astype(np.float32))


@forms
def test_a_reading_without_a_copy_of_float32(form):
    import tracemalloc

    X = np.zeros((20_000, 50), np.float32)
    m = made(form, 50)
    tracemalloc.start()
    m.quad_many(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 2


# --- rows of every kind -------------------------------------------------------------------------


def sparse_table(rng, T=12, n=40):
    X = rng.standard_normal((T, n))
    X[rng.random((T, n)) < 0.8] = 0.0
    X[3] = 0.0
    return X


@pytest.mark.parametrize("forgotten", [False, True])
@pytest.mark.parametrize("kind", ["csr_matrix", "csr_array", "csc_matrix", "coo_array", "pairs"])
def test_sparse_rows_go_in_and_come_out(kind, forgotten, rng):
    X = sparse_table(rng)
    m, dense = cf.metric.Diagonal(40), cf.metric.Diagonal(40)
    if kind == "pairs":
        table = rows = [(np.flatnonzero(x), x[x != 0.0]) for x in X]
    else:
        table = getattr(scipy.sparse, kind)(X)
        rows = [getattr(scipy.sparse, kind)(x[None]) for x in X]
    for turn, (row, x) in enumerate(zip(rows, X, strict=True)):
        assert m.update(row, c=0.5) == pytest.approx(dense.update(x, c=0.5), rel=1e-13)
        if forgotten and turn % 3 == 0:
            m.forget(0.7)
            dense.forget(0.7)
    np.testing.assert_allclose(m.matrix(), dense.matrix(), rtol=1e-13)
    assert m.quad_many(table).tolist() == [m.quad(row) for row in rows]
    np.testing.assert_allclose(m.quad_many(table), dense.quad_many(X), rtol=1e-13)
    many = m.solve_many(table)
    assert type(many).__name__.endswith("matrix") == kind.endswith("matrix")
    assert many.format == "csr"
    np.testing.assert_allclose(many.toarray(), dense.solve_many(X), rtol=1e-13)
    for row, x, y in zip(rows, X, many.toarray(), strict=True):
        answer = m.solve(row)
        if kind == "pairs":
            index, value = answer
            answer = scipy.sparse.csr_array((value, index, [0, len(index)]), shape=(1, 40))
        else:
            assert type(answer).__name__.endswith("matrix") == kind.endswith("matrix")
            assert answer.shape == row.shape
        np.testing.assert_array_equal(answer.toarray()[0], y)
        assert answer.nnz == np.count_nonzero(x)


@modules
@pytest.mark.parametrize("cls", ["Full", "Diagonal"])
def test_a_row_in_every_form(module, cls, rng):
    x = np.array([0.0, 2.0, 0.0, -1.0])
    m = fed(getattr(module, cls)(4), rng, 5)
    q = m.quad(x)
    rows = [x[None], x.tolist(), (x,), scipy.sparse.csr_array(x[None]), ([3, 1], [-1.0, 2.0]),
            (np.array([1, 3, 1]), np.array([1.5, -1.0, 0.5], np.float32))]
    for row in rows:
        assert m.quad(row) == pytest.approx(q, rel=1e-12)
    for bad in [([0, 4], [1.0, 1.0]), ([-1], [1.0]), ([0], [1.0, 2.0]), ([[0]], [1.0]),
                ([0], [np.nan]), np.ones((2, 4)), scipy.sparse.csr_array(np.ones((2, 4)))]:
        with pytest.raises((ValueError, TypeError), match=r"\bx\b"):
            m.quad(bad)
    with pytest.raises(TypeError, match=r"\bx\b"):
        m.quad(([0.5], [1.0]))


@modules
@pytest.mark.parametrize("cls", ["Full", "Diagonal", "Dual"])
def test_masked_arrays_are_refused(module, cls):
    """Even one without a masked value: what stands behind a mask is no number."""
    m = getattr(module, cls)() if cls == "Dual" else getattr(module, cls)(2)
    for mask in ([True, False], [False, False]):
        x = np.ma.array([1.0, 2.0], mask=mask)
        for method in (m.update, m.quad, m.solve):
            with pytest.raises(ValueError, match=r"\bx\b.*masked"):
                method(x)
        if cls == "Dual":
            continue
        X = np.ma.array([[1.0, 2.0]], mask=[mask])
        for method in (m.quad_many, m.solve_many):
            with pytest.raises(ValueError, match=r"\bX\b.*masked"):
                method(X)
        if hasattr(m, "update_many"):
            with pytest.raises(ValueError, match=r"\bX\b.*masked"):
                m.update_many(X)
        if cls == "Full":
            with pytest.raises(ValueError, match=r"\bA\b.*masked"):
                module.Full.from_matrix(np.ma.array(np.eye(2)), 1.0)
    assert m.updates == 0


def test_structures_that_lie_are_refused(rng):
    m = cf.metric.Diagonal(5)
    good = scipy.sparse.csr_matrix(np.eye(5)[:2])
    for name, value in [("indices", [0, 9]), ("indices", [-1, 1]), ("indptr", [0, 1, 90]),
                        ("indptr", [0, 9, 2]), ("indptr", [0, 1])]:
        for method in (m.quad_many, m.solve_many, m.update_many):
            X = good.copy()
            setattr(X, name, np.array(value, getattr(good, name).dtype))
            with pytest.raises((ValueError, TypeError), match=r"\bX\b"):
                method(X)
    assert m.updates == 0
