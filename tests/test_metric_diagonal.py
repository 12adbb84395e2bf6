"""`metric.Diagonal`: the same answers as the twin."""


import nasty
import numpy as np
import pytest
import scipy.sparse
from metric_cases import COPIES

import coactive_fast as cf


def stream(n, T, rng):
    X = rng.standard_normal((T, n)) * 10.0 ** rng.uniform(-2, 2, (T, 1))
    X[rng.random((T, n)) < 0.5] = 0.0
    X[::9] = 0.0
    return X, rng.uniform(0.1, 3.0, T)


def fed(n, T, rng):
    m = cf.metric.Diagonal(n)
    for x, c in zip(*stream(n, T, rng), strict=True):
        m.update(x, c=c)
    return m


@pytest.mark.parametrize("n", [*nasty.SIZES, 1000])
def test_stream_against_the_twin(n, rng):
    fast, slow = cf.metric.Diagonal(n, ridge=0.5), cf.reference.Diagonal(n, ridge=0.5)
    for x, c in zip(*stream(n, 30, rng), strict=True):
        q = fast.update(x, c=c)
        assert isinstance(q, float)
        assert q == pytest.approx(slow.update(x, c=c), rel=1e-12)
    nasty.same_readings(fast, slow, rng.standard_normal(n), 1e-12)
    assert (fast.n, fast.updates) == (n, slow.updates)


@pytest.mark.parametrize("n", [1, 5, 64, 1000])
def test_sparse_rows_are_dense_rows(n, rng):
    dense, sparse = cf.metric.Diagonal(n), cf.metric.Diagonal(n)
    for t, (x, c) in enumerate(zip(*stream(n, 40, rng), strict=True)):
        row = scipy.sparse.csr_matrix(x) if t % 2 else scipy.sparse.csr_array(x[None])
        assert sparse.quad(row) == pytest.approx(dense.quad(x), rel=1e-13)
        np.testing.assert_allclose(sparse.solve(row).toarray()[0], dense.solve(x), rtol=1e-13)
        assert sparse.update(row, c=c) == pytest.approx(dense.update(x, c=c), rel=1e-13)
    nasty.same_readings(sparse, dense, rng.standard_normal(n), 1e-13)


def test_sparse_rows_with_repeated_entries():
    # 1 + 2 in one place is 3 there: its square is 9, not 1 + 4
    row = scipy.sparse.csr_matrix((np.array([1.0, 2.0]), [1, 1], [0, 2]), shape=(1, 3))
    m = cf.metric.Diagonal(3)
    assert m.update(row) == 9.0
    assert m.matrix().tolist() == [1.0, 10.0, 1.0]


@pytest.mark.parametrize("x", **nasty.cases(nasty.vectors_in_scale(6)))
def test_nasty_x(x, rng):
    fast, slow = cf.metric.Diagonal(6, ridge=0.5), cf.reference.Diagonal(6, ridge=0.5)
    before = nasty.frozen(fast)
    nasty.agree(fast.solve, slow.solve, (x,), nasty.within(1e-12), ("x",))
    for method in ("quad", "update"):
        functions = getattr(fast, method), getattr(slow, method)
        nasty.agree(*functions, (x,), nasty.number_within(1e-12), ("x",))
    assert fast.updates == slow.updates
    assert slow.updates or nasty.frozen(fast) == before
    nasty.same_readings(fast, slow, np.arange(6.0), 1e-12)


def test_after_an_error_the_state_is_as_before(rng):
    m, good = fed(7, 20, rng), rng.standard_normal(7)
    before = nasty.frozen(m)
    bad = good.copy()
    bad[6] = np.nan
    refused = [
        ("x", bad, 1.0), ("x", good[:6], 1.0), ("x", scipy.sparse.csr_matrix(bad), 1.0),
        ("x", good * 1e200, 1.0), ("c", good, 0.0), ("c", good, -1e9), ("c", good, np.nan),
    ]
    for name, x, c in refused:
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            m.update(x, c=c)
        assert nasty.frozen(m) == before
    with pytest.raises(ValueError, match=r"\bx\b"):
        m.solve(bad)


def test_reading_changes_nothing(rng):
    m = fed(9, 20, rng)
    before = nasty.frozen(m)
    nasty.readings(m, rng.standard_normal(9))
    for array in (m.inverse(), m.matrix()):
        array[...] = np.nan
    assert nasty.frozen(m) == before


@pytest.mark.parametrize("way", [*COPIES, "state"])
def test_a_copy_goes_on_by_itself_bit_for_bit(way, rng):
    m = fed(9, 20, rng)
    before = nasty.frozen(m)
    other = COPIES[way](m) if way in COPIES else cf.metric.Diagonal.from_state(m.state())
    X, c = stream(9, 30, rng)
    q = [other.update(x, c=weight) for x, weight in zip(X, c, strict=True)]
    assert nasty.frozen(m) == before, "the copy shares memory with the original"
    assert q == [m.update(x, c=weight) for x, weight in zip(X, c, strict=True)]
    assert nasty.frozen(other) == nasty.frozen(m)


@pytest.mark.parametrize("arguments", [
    {"n": 0}, {"n": -1}, {"n": 2.0}, {"n": True},
    {"n": 3, "ridge": 0.0}, {"n": 3, "ridge": np.inf}, {"n": 3, "ridge": "1"},
], ids=str)
def test_refused_parameters(arguments):
    name = "ridge" if "ridge" in arguments else "n"
    errors = []
    for build in (cf.metric.Diagonal, cf.reference.Diagonal):
        with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b") as caught:
            build(**arguments)
        errors.append(isinstance(caught.value, TypeError))
    assert errors[0] == errors[1]
