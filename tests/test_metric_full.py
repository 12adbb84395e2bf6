"""`metric.Full`: the same answers as the twin, and a state that is right at every moment."""

import subprocess
import sys
import threading
import time
from fractions import Fraction

import nasty
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from metric_cases import COPIES

import coactive_fast as cf

DIMENSIONS = [1, 2, 7, 8, 9, 16, 17, 40, 100]
PRECISIONS = pytest.mark.parametrize("precision", ["fast", "robust"])


def stream(n, T, rng):
    """Rows of several scales, some of them zero and some sparse, and their weights."""
    X = rng.standard_normal((T, n)) * 10.0 ** rng.uniform(-1, 1, (T, 1))
    X[rng.random((T, n)) < 0.3] = 0.0
    X[:: max(T // 4, 2)] = 0.0
    return X, rng.uniform(0.1, 3.0, T)


def fed(n, T, rng, **kwargs):
    m = cf.metric.Full(n, **kwargs)
    for x, c in zip(*stream(n, T, rng), strict=True):
        m.update(x, c=c)
    return m


def ill_conditioned(n, T, rng):
    """Feature scales from 1 down to 1e-3, in a rotated basis."""
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return (rng.standard_normal((T, n)) * np.geomspace(1, 1e-3, n)) @ Q


def true_quad(X, ridge, x):
    """``x^T (ridge I + X^T X)^-1 x`` from a QR of the rows: A itself is never formed."""
    n = X.shape[1]
    R = np.linalg.qr(np.vstack([np.sqrt(ridge) * np.eye(n), X]), mode="r")
    half = scipy.linalg.solve_triangular(R, x, trans="T")
    return half @ half


@PRECISIONS
@pytest.mark.parametrize("n", DIMENSIONS)
@pytest.mark.parametrize("ridge", [1.0, 0.05])
def test_stream_against_the_twin(n, ridge, precision, rng):
    fast = cf.metric.Full(n, ridge=ridge, precision=precision)
    slow = cf.reference.Full(n, ridge=ridge)
    X, c = stream(n, 60 + 2 * n, rng)
    for t, (x, weight) in enumerate(zip(X, c, strict=True)):
        probe = rng.standard_normal(n)
        assert fast.quad(probe) == pytest.approx(slow.quad(probe), rel=1e-9)
        q = fast.update(x, c=weight)
        assert isinstance(q, float)
        assert q == pytest.approx(slow.update(x, c=weight), rel=1e-9)
        if t % 13 == 0:
            nasty.same_readings(fast, slow, probe, 1e-9)
    nasty.same_readings(fast, slow, rng.standard_normal(n), 1e-9)
    assert fast.n == n
    assert fast.updates == slow.updates


@PRECISIONS
@pytest.mark.parametrize("n", [3, 8, 17, 64])
def test_inverse_times_matrix_is_the_identity(n, precision, rng):
    m = fed(n, 150, rng, precision=precision)
    np.testing.assert_allclose(m.inverse() @ m.matrix(), np.eye(n), atol=1e-10)
    np.testing.assert_array_equal(m.inverse(), m.inverse().T)
    np.testing.assert_array_equal(m.matrix(), m.matrix().T)


@PRECISIONS
@pytest.mark.parametrize("n", [1, 2, 9, 40, 100])
def test_sparse_rows_are_dense_rows(n, precision, rng):
    dense, sparse = (cf.metric.Full(n, precision=precision) for _ in range(2))
    X, c = stream(n, 50, rng)
    forms = [scipy.sparse.csr_matrix, scipy.sparse.csr_array, scipy.sparse.coo_matrix]
    for t, (x, weight) in enumerate(zip(X, c, strict=True)):
        row = forms[t % 3](x[None])
        if t % 2 and row.format == "csr":
            row.indices, row.indptr = row.indices.astype(np.int64), row.indptr.astype(np.int64)
        assert sparse.quad(row) == pytest.approx(dense.quad(x), rel=1e-11)
        np.testing.assert_allclose(sparse.solve(row), dense.solve(x), rtol=1e-9, atol=1e-12)
        assert sparse.update(row, c=weight) == pytest.approx(dense.update(x, c=weight), rel=1e-11)
    nasty.same_readings(sparse, dense, rng.standard_normal(n), 1e-10)


@PRECISIONS
def test_sparse_rows_out_of_order_and_with_repeated_entries(precision):
    m, slow = cf.metric.Full(5, precision=precision), cf.reference.Full(5)
    row = scipy.sparse.csr_matrix((np.array([1.0, 2.0, 0.5]), [3, 1, 3], [0, 3]), shape=(1, 5))
    assert m.update(row) == pytest.approx(slow.update(np.array([0, 2.0, 0, 1.5, 0])))
    nasty.same_readings(m, slow, np.arange(5.0), 1e-12)


@PRECISIONS
@pytest.mark.parametrize("n", DIMENSIONS)
def test_update_many_is_the_loop_bit_for_bit(n, precision, rng):
    many, single = (cf.metric.Full(n, precision=precision) for _ in range(2))
    X, _ = stream(n, 80, rng)
    for block, c in ((X[:33], 1.0), (X[33:34], 0.25), (X[34:34], 1.0), (X[34:], 2.0)):
        q = many.update_many(block, c=c)
        assert q.dtype == np.float64
        assert q.tolist() == [single.update(x, c=c) for x in block]
        assert nasty.frozen(many) == nasty.frozen(single)


def test_update_many_takes_any_memory(rng):
    X, _ = stream(6, 9, rng)
    expected = cf.metric.Full(6).update_many(X)
    for name, form in nasty.layouts(X):
        np.testing.assert_array_equal(cf.metric.Full(6).update_many(form), expected, name)


@PRECISIONS
@pytest.mark.parametrize("n", [1, 8, 17, 100])
def test_reading_changes_nothing(n, precision, rng):
    m = cf.metric.Full(n, precision=precision)
    for x, c in zip(*stream(n, 40, rng), strict=True):
        m.update(x, c=c)
        before = nasty.frozen(m)
        first = nasty.readings(m, x)
        assert isinstance(m.health(), dict)
        again = nasty.readings(m, x)
        assert nasty.frozen(m) == before
        for name, answer in first.items():
            np.testing.assert_array_equal(again[name], answer, name)


@PRECISIONS
@pytest.mark.parametrize("n", [8, 40])
def test_reading_does_not_change_what_comes_later(n, precision, rng):
    read, unread = (cf.metric.Full(n, precision=precision) for _ in range(2))
    for x, c in zip(*stream(n, 200, rng), strict=True):
        assert read.update(x, c=c) == unread.update(x, c=c)
        nasty.readings(read, x)
        read.health()
    assert nasty.frozen(read) == nasty.frozen(unread)


@PRECISIONS
def test_state_is_a_dict_of_plain_arrays_and_scalars(precision, rng):
    for key, value in fed(9, 40, rng, precision=precision).state().items():
        assert isinstance(key, str)
        if isinstance(value, np.ndarray):
            assert value.dtype.kind in "biufSU", key
        else:
            assert isinstance(value, (bool, int, float, str, np.generic)), key


@PRECISIONS
def test_what_is_handed_out_is_a_copy(precision, rng):
    m = fed(9, 20, rng, precision=precision)
    before = nasty.frozen(m)
    for array in (m.inverse(), m.matrix(), m.solve(np.ones(9))):
        array[...] = np.nan
    for value in m.state().values():
        if isinstance(value, np.ndarray) and value.flags.writeable and value.dtype.kind == "f":
            value[...] = np.nan
    assert nasty.frozen(m) == before


@PRECISIONS
@pytest.mark.parametrize("x", **nasty.cases(nasty.vectors_in_scale(6)))
def test_nasty_x(x, precision, rng):
    fast, slow = cf.metric.Full(6, ridge=0.5, precision=precision), cf.reference.Full(6, ridge=0.5)
    for row in rng.standard_normal((8, 6)):
        fast.update(row)
        slow.update(row)
    before = nasty.frozen(fast)
    nasty.agree(fast.solve, slow.solve, (x,), nasty.within(1e-10), ("x",))
    for method in ("quad", "update"):
        functions = getattr(fast, method), getattr(slow, method)
        answer = nasty.agree(*functions, (x,), nasty.number_within(1e-10), ("x",))
        if answer is None or method == "quad":
            assert nasty.frozen(fast) == before
    # an x of 1e6 leaves a condition of 1e12, at which a dense solve is no judge of the inverse
    nasty.within(1e-13)(fast.matrix(), slow.matrix())


def broken_updates(n, rng):
    good = rng.standard_normal(n)
    for value in (np.nan, np.inf, -np.inf):
        bad = good.copy()
        bad[-1] = value
        yield ValueError, "x", bad, 1.0
        yield ValueError, "x", scipy.sparse.csr_matrix(bad), 1.0
    yield ValueError, "x", good[:-1], 1.0
    yield ValueError, "x", np.append(good, 1.0), 1.0
    yield ValueError, "x", scipy.sparse.csr_matrix(np.append(good, 1.0)), 1.0
    yield ValueError, "x", scipy.sparse.csr_matrix(np.ones((2, n))), 1.0
    yield ValueError, "x", good * 1e200, 1.0  # q would be infinite
    yield TypeError, "x", good.astype(complex), 1.0
    yield TypeError, "x", ["1"] * n, 1.0
    for c in (0.0, -1e9, np.nan, np.inf):
        yield ValueError, "c", good, c
    yield TypeError, "c", good, "1"
    yield TypeError, "c", good, None


@PRECISIONS
@pytest.mark.parametrize("n", [4, 17, 40])
def test_after_an_error_the_state_is_as_before(n, precision, rng):
    m = fed(n, 30, rng, precision=precision)
    before = nasty.frozen(m)
    for kind, name, x, c in broken_updates(n, rng):
        with pytest.raises(kind, match=rf"\b{name}\b"):
            m.update(x, c=c)
        assert nasty.frozen(m) == before
    for x in (np.full(n, np.nan), np.ones(n + 1)):
        for method in (m.quad, m.solve):
            with pytest.raises(ValueError, match=r"\bx\b"):
                method(x)
    X = rng.standard_normal((7, n))
    X[5, -1] = np.nan
    for bad in (X, X[:3, 1:], X[0]):
        with pytest.raises(ValueError, match=r"\bX\b"):
            m.update_many(bad)
        assert nasty.frozen(m) == before, "no row of a refused block may be taken"
    with pytest.raises(ValueError, match=r"\bc\b"):
        m.update_many(X[:3], c=0.0)
    assert nasty.frozen(m) == before


@PRECISIONS
def test_zero_rows_change_nothing_but_return_zero(precision, rng):
    m = fed(8, 20, rng, precision=precision)
    inverse, matrix, logdet, updates = m.inverse(), m.matrix(), m.logdet, m.updates
    for x in (np.zeros(8), -np.zeros(8), scipy.sparse.csr_matrix((1, 8))):
        assert m.update(x) == 0.0 and m.quad(x) == 0.0
    np.testing.assert_array_equal(m.inverse(), inverse)
    np.testing.assert_array_equal(m.matrix(), matrix)
    assert (m.logdet, m.updates) == (logdet, updates)


@pytest.mark.parametrize("arguments", [
    {"n": 0}, {"n": -1}, {"n": 2.0}, {"n": True}, {"n": "3"},
    {"n": 3, "ridge": 0.0}, {"n": 3, "ridge": -1.0}, {"n": 3, "ridge": np.nan},
    {"n": 3, "ridge": np.inf}, {"n": 3, "ridge": "1"},
], ids=str)
def test_refused_parameters(arguments):
    name = "ridge" if "ridge" in arguments else "n"
    errors = []
    for build in (cf.metric.Full, cf.reference.Full):
        with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b") as caught:
            build(**arguments)
        errors.append(isinstance(caught.value, TypeError))
    assert errors[0] == errors[1]


def test_unknown_precision():
    with pytest.raises(ValueError, match="precision"):
        cf.metric.Full(3, precision="sloppy")


@PRECISIONS
@pytest.mark.parametrize("n", [2, 17, 40])
@pytest.mark.parametrize("way", [*COPIES, "state"])
def test_a_copy_goes_on_by_itself_bit_for_bit(n, way, precision, rng):
    m = fed(n, 45, rng, precision=precision)
    before = nasty.frozen(m)
    other = COPIES[way](m) if way in COPIES else cf.metric.Full.from_state(m.state())
    assert nasty.frozen(other) == before
    X, c = stream(n, 3 * n + 40, rng)
    q = [other.update(x, c=weight) for x, weight in zip(X, c, strict=True)]
    assert nasty.frozen(m) == before, "the copy shares memory with the original"
    assert q == [m.update(x, c=weight) for x, weight in zip(X, c, strict=True)]
    assert nasty.frozen(other) == nasty.frozen(m)


@pytest.mark.parametrize("spoil", ["a missing key", "a NaN", "a wrong shape", "not a dict"])
def test_a_spoiled_state_is_refused(spoil, rng):
    state = fed(5, 20, rng).state()
    array = next(k for k, v in state.items() if isinstance(v, np.ndarray) and v.dtype.kind == "f")
    if spoil == "a missing key":
        del state[array]
    elif spoil == "a NaN":
        state[array] = np.full_like(state[array], np.nan)
    elif spoil == "a wrong shape":
        state[array] = state[array].reshape(-1)[:-1]
    else:
        state = list(state)
    with pytest.raises((ValueError, TypeError)):
        cf.metric.Full.from_state(state)


def exact_quads(A, probes):
    """``x^T A^-1 x`` for integer matrices, exactly, by fraction-free elimination.

    After n steps on ``[[A, P^T], [P, 0]]`` the k-th entry on the diagonal of the lower right block
    is the determinant of A bordered by the k-th probe, which is ``-q det A``.
    """
    n, k = len(A), len(probes)
    M = np.block([[A, probes.T], [probes, np.zeros((k, k), dtype=object)]])
    pivot = 1
    for i in range(n):
        below = M[i, i] * M[i + 1 :, i + 1 :] - np.outer(M[i + 1 :, i], M[i, i + 1 :])
        M[i + 1 :, i + 1 :] = below // pivot
        pivot = M[i, i]
    return [float(Fraction(-M[n + j, n + j], pivot)) for j in range(k)]


@PRECISIONS
@pytest.mark.parametrize("n", [12, 40])
def test_ill_conditioned_streams(n, precision, rng):
    # rows on a grid of 2^-40 and a ridge of 2^-27 = 7.5e-9, so that the truth is known exactly
    X = np.round(ill_conditioned(n, 2500, rng) * 2.0**40)
    ridge, exact, rows = 2.0**-27, 2**53 * np.eye(n, dtype=object), X.astype(int).astype(object)
    m = cf.metric.Full(n, ridge=ridge, precision=precision)
    for start, stop in ((0, n // 2), (n // 2, n), (n, 4 * n), (4 * n, 1000), (1000, 2500)):
        m.update_many(X[start:stop] * 2.0**-40)
        exact = exact + rows[start:stop].T @ rows[start:stop]
        probes = [0, stop - 1, 2499]
        # a plain inverse is known to about the condition of A, some 1e9 at first; a factor to
        # the root of it
        tolerance = 1e-10 if precision == "robust" else 1e-5 if stop <= n else 1e-8
        for i, truth in zip(probes, exact_quads(exact, rows[probes]), strict=True):
            assert m.quad(X[i] * 2.0**-40) == pytest.approx(truth, rel=tolerance), (stop, i)
    logdet = np.linalg.slogdet(m.matrix())[1]
    assert m.logdet == pytest.approx(logdet, abs=1e-6 * n)


@PRECISIONS
def test_a_long_stream_stays_right(precision, rng):
    n, ridge = 20, 1e-8
    m, R = cf.metric.Full(n, ridge=ridge, precision=precision), np.sqrt(ridge) * np.eye(n)
    for _ in range(20):
        X = ill_conditioned(n, 5000, rng)
        m.update_many(X)
        R = np.linalg.qr(np.vstack([R, X]), mode="r")
    for x in (X[-1], np.eye(n)[0]):
        half = scipy.linalg.solve_triangular(R, x, trans="T")
        assert m.quad(x) == pytest.approx(half @ half, rel=1e-8)
    assert m.updates == 100_000
    for key, value in m.health().items():
        assert isinstance(key, str)
        assert not isinstance(value, float) or np.isfinite(value), key


@PRECISIONS
def test_repeated_rows_with_huge_weights(precision, rng):
    # A becomes very large in a few directions: q there must stay positive and right
    X = rng.standard_normal((3, 10))
    fast = cf.metric.Full(10, precision=precision)
    rows = []
    for t in range(300):
        assert fast.update(X[t % 3], c=1e4) > 0.0
        rows.append(100.0 * X[t % 3])
    for x in (X[0], X.sum(0), rng.standard_normal(10)):
        assert fast.quad(x) == pytest.approx(true_quad(np.array(rows), 1.0, x), rel=1e-7)


@pytest.fixture
def eager_threads():
    """Threads that change places a thousand times as often as usual."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(usual)


@PRECISIONS
@pytest.mark.usefixtures("eager_threads")
def test_readers_beside_a_writer(precision, rng):
    n, X = 24, rng.standard_normal((600, 24))
    m, alone = (cf.metric.Full(n, precision=precision) for _ in range(2))
    done, problems, probe = threading.Event(), [], rng.standard_normal(n)
    reads = dict.fromkeys(("quad", "logdet", "solve", "inverse", "matrix", "copy"), 0)
    questions = {
        "quad": lambda: m.quad(probe),
        "logdet": lambda: -m.logdet,
        "solve": lambda: m.solve(probe),
        "inverse": m.inverse,
        "matrix": m.matrix,
        "copy": lambda: m.copy().inverse(),
    }

    def read(name):
        last = np.inf
        try:
            while not done.is_set():
                answer = questions[name]()
                reads[name] += 1
                if not np.isfinite(answer).all():
                    problems.append(f"{name} is not finite")
                if np.ndim(answer) == 0:
                    # quad of a fixed x only falls, and so does minus the log-determinant
                    if answer > last + 1e-9 * abs(last):
                        problems.append(f"{name} is {answer} after {last}")
                    last = float(answer)
                time.sleep(1e-5)  # leave the interpreter to the writer in between
        except BaseException as error:  # whatever it is, the main thread must hear of it
            problems.append(error)

    readers = [threading.Thread(target=read, args=(name,)) for name in reads]
    for thread in readers:
        thread.start()
    try:
        for start in range(0, 600, 100):
            m.update_many(X[start : start + 50])
            for x in X[start + 50 : start + 100]:
                m.update(x)
                time.sleep(1e-5)
    finally:
        done.set()
        for thread in readers:
            thread.join()
    assert not problems, problems[:3]
    assert min(reads.values()) > 0, reads
    alone.update_many(X)
    assert nasty.frozen(m) == nasty.frozen(alone)


@PRECISIONS
@pytest.mark.usefixtures("eager_threads")
def test_two_writers_lose_no_update(precision, rng):
    n, X = 6, rng.integers(-2, 3, (2, 400, 6)).astype(float)
    m = cf.metric.Full(n, precision=precision)

    def write(rows):
        for x in rows:
            m.update(x)

    threads = [threading.Thread(target=write, args=(rows,)) for rows in X]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = X.reshape(-1, n)
    # integers: the sum is exact in any order
    np.testing.assert_array_equal(m.matrix(), np.eye(n) + rows.T @ rows)
    assert m.updates == int(rows.any(axis=1).sum())


def test_an_interrupt_stops_between_two_rows(tmp_path):
    """Ctrl-C in the middle of a long stream: stops soon, and what was learned is whole rows."""
    code = """
import _thread, threading
import numpy as np
import coactive_fast as cf
X = np.random.default_rng(0).standard_normal((100_000, 60))
m = cf.metric.Full(60)
threading.Timer(0.3, _thread.interrupt_main).start()
try:
    while True:
        m.update_many(X)
except KeyboardInterrupt:
    passes, rows = divmod(m.updates, len(X))
    again = cf.metric.Full(60)
    for _ in range(passes):
        again.update_many(X)
    again.update_many(X[:rows])
    assert m.updates > 0
    np.testing.assert_array_equal(again.inverse(), m.inverse())
    print("stopped at a row")
"""
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert result.stdout.strip() == "stopped at a row", result.stderr
