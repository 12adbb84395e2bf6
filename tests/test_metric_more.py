"""What the metrics offer beyond updates: forgetting, downdates, merging, matrices, samples."""

import json
import os
import threading
from pathlib import Path

import nasty
import numpy as np
import pytest
from metric_cases import FORMS, fed, forms, made, modules, twin_of

import coactive_fast as cf

VECTORS = Path(os.environ.get("COACTIVE_VECTORS", "")) / "metric_more.npz"
golden = pytest.mark.skipif(not VECTORS.is_file(), reason="no golden vectors")



# --- golden vectors -----------------------------------------------------------------------------


def golden_cases():
    if not VECTORS.is_file():
        return []
    return sorted({name.split("__")[0] for name in np.load(VECTORS)} - {"from_matrix"})


def golden_case(name):
    stored = np.load(VECTORS)
    return {key.split("__", 1)[1]: stored[key] for key in stored if key.startswith(name + "__")}


@golden
@pytest.mark.parametrize("case", golden_cases())
@pytest.mark.parametrize("kind", ["compiled", "robust", "twin", "diagonal", "diagonal twin"])
def test_golden_streams(case, kind):
    g = golden_case(case)
    n, pre = g["X"].shape[1], "diag_" if kind.startswith("diagonal") else ""
    kinds = {"compiled": cf.metric.Full, "twin": cf.reference.Full,
             "robust": lambda n, ridge: cf.metric.Full(n, ridge=ridge, precision="robust"),
             "diagonal": cf.metric.Diagonal, "diagonal twin": cf.reference.Diagonal}
    m = kinds[kind](n, ridge=float(g["ridge"]))
    for t, operation in enumerate(g["operation"]):
        if operation != "update":
            getattr(m, operation)(float(g["f"][t]))
        q = m.update(g["X"][t], c=float(g["c"][t]))
        assert q == pytest.approx(g[pre + "q"][t], rel=1e-8)
        assert m.logdet == pytest.approx(g[pre + "logdet"][t], rel=1e-8, abs=1e-12)
    np.testing.assert_allclose(m.matrix(), g[pre + "matrix"], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(m.inverse(), g[pre + "inverse"], rtol=1e-8, atol=1e-12)


@golden
@modules
def test_golden_from_matrix(module):
    g = golden_case("from_matrix")
    m = module.Full.from_matrix(g["A"], float(g["ridge"]))
    np.testing.assert_allclose(m.inverse(), g["start_inverse"], rtol=1e-8)
    assert m.logdet == pytest.approx(float(g["start_logdet"]), abs=1e-10)
    for x, q in zip(g["X"], g["q"], strict=True):
        assert m.update(x) == pytest.approx(q, rel=1e-8)
    m.decay(float(g["decay"]))
    np.testing.assert_allclose(m.inverse(), g["inverse"], rtol=1e-8)
    np.testing.assert_allclose(m.matrix(), g["matrix"], rtol=1e-8)
    assert m.logdet == pytest.approx(float(g["logdet"]), rel=1e-8)


# --- forgetting ---------------------------------------------------------------------------------


@forms
@pytest.mark.parametrize("n", [1, 3, 8, 20])
@pytest.mark.parametrize("f", [1e-3, 0.5, 0.7, 0.97, 1.0])
def test_forgetting_against_the_twin(form, n, f, rng):
    fast, slow = made(form, n, ridge=0.4), twin_of(form, n, ridge=0.4)
    for t, x in enumerate(rng.standard_normal((80, n))):
        for m in (fast, slow):
            m.forget(f)
            if t % 23 == 22:
                m.decay(0.6)
        assert fast.update(x, c=1.5) == pytest.approx(slow.update(x, c=1.5), rel=1e-9)
        assert fast.logdet == pytest.approx(slow.logdet, rel=1e-9, abs=1e-9)
    nasty.same_readings(fast, slow, rng.standard_normal(n), 1e-9)


@forms
def test_the_regulariser_stays_within_a_half_of_itself(form, rng):
    m = made(form, 6, ridge=2.0)
    least, direction = np.inf, np.eye(6)[0]
    for x in rng.standard_normal((400, 6)):
        x[0] = 0.0  # nothing is ever learned of the first feature
        m.forget(0.9)
        m.update(x)
        least = min(least, 1.0 / m.quad(direction))
        assert 1.0 / m.quad(direction) <= 2.0 * (1.0 + 1e-12)
    assert least >= 1.0 - 1e-9


@forms
def test_very_many_forgets_keep_their_digits(form, rng):
    m = made(form, 3)
    for _ in range(20_000):
        m.forget(0.5)
    m.forget(1e-300)
    x = np.array([1.0, 2.0, 3.0])
    assert m.update(x) == pytest.approx(14.0, rel=1e-12)
    fresh = made(form, 3)
    fresh.update(x)
    np.testing.assert_allclose(m.matrix(), fresh.matrix(), rtol=1e-12)
    np.testing.assert_allclose(m.inverse(), fresh.inverse(), rtol=1e-12, atol=1e-15)


def test_a_sparse_row_costs_what_it_holds_after_forgetting():
    n = 2_000_000
    m = cf.metric.Diagonal(n)
    m.forget(0.99)
    row = ([5, n - 1], [1.0, 2.0])
    touched = 0
    before = m.state()
    m.forget(0.99)
    m.update(row)
    after = m.state()
    for name in ("diagonal", "marks"):
        touched += np.count_nonzero(before[name] != after[name])
    assert touched == 4  # two entries, and their marks


@forms
@pytest.mark.parametrize("f", [0.0, -0.1, 1.1, np.nan, np.inf, "1", None])
def test_refused_factors_change_nothing(form, f, rng):
    m = fed(made(form, 4), rng)
    before = nasty.frozen(m)
    for method in (m.forget, m.decay):
        with pytest.raises((ValueError, TypeError), match=r"\bf\b"):
            method(f)
    assert nasty.frozen(m) == before


# --- downdates ----------------------------------------------------------------------------------


@forms
@pytest.mark.parametrize("n", [1, 4, 9, 33])
def test_what_was_added_can_be_taken_away(form, n, rng):
    fast, slow = made(form, n), twin_of(form, n)
    X = rng.standard_normal((25, n))
    for x in X:
        fast.update(x)
        slow.update(x)
    for x in X[::2]:
        assert fast.update(x, c=-0.9) == pytest.approx(slow.update(x, c=-0.9), rel=1e-8)
    nasty.same_readings(fast, slow, rng.standard_normal(n), 1e-8)
    assert fast.updates == 38
    fed(fast, rng)  # and it goes on


@forms
@modules
def test_the_margin_of_a_downdate(module, form, rng):
    n = 4
    m = made(form, n) if module is cf.metric else twin_of(form, n)
    x = np.ones(n)
    q = m.quad(x) if form != "diagonal" else 1.0
    before = m.matrix()
    for left in (5e-7, 0.0, -1.0):
        with pytest.raises(ValueError, match=r"\bc\b"):
            m.update(x, c=(left - 1.0) / q)
        np.testing.assert_array_equal(m.matrix(), before)
    m.update(x, c=(2e-6 - 1.0) / q)
    assert m.quad(x) > 0.0 and np.isfinite(m.logdet)


@forms
def test_a_refused_downdate_changes_no_byte(form, rng):
    m = fed(made(form, 5), rng, 7)
    m.forget(0.9)
    fed(m, rng, 4)
    before = nasty.frozen(m)
    x = rng.standard_normal(5)
    for call in (lambda: m.update(x, c=-1e6), lambda: m.update_many([x, x, x], c=[1, -0.01, -1e6]),
                 lambda: m.update_many(np.tile(x, (9, 1)), c=-1e6)):
        with pytest.raises(ValueError, match=r"\bc\b"):
            call()
        assert nasty.frozen(m) == before


@forms
def test_many_updates_of_either_sign_are_the_loop(form, rng):
    many, single = (fed(made(form, 6), np.random.default_rng(1)) for _ in range(2))
    X = rng.standard_normal((30, 6))
    c = np.where(np.arange(30) % 3 == 2, -0.05, 0.8)
    q = many.update_many(X, c=c)
    assert q.tolist() == [single.update(x, c=w) for x, w in zip(X, c, strict=True)]
    assert nasty.frozen(many) == nasty.frozen(single)


@pytest.mark.parametrize("precision", ["fast", "robust"])
def test_strong_downdates_far_below_the_ridge(precision, rng):
    m, slow = cf.metric.Full(3, precision=precision), cf.reference.Full(3)
    for x in np.eye(3):
        for _ in range(2):
            c = -(1.0 - 1e-3) / m.quad(x)
            m.update(x, c=c)
            slow.update(x, c=c)
    np.testing.assert_allclose(m.inverse(), slow.inverse(), rtol=1e-6)
    assert m.update([1e-3, 0.0, 0.0]) == pytest.approx(1.0, rel=1e-6)


# --- merging ------------------------------------------------------------------------------------


@forms
def test_two_halves_of_a_stream_make_the_whole(form, rng):
    X = rng.standard_normal((40, 6))
    whole, a, b = (made(form, 6, ridge=0.5) for _ in range(3))
    twins = [twin_of(form, 6, ridge=0.5) for _ in range(2)]
    whole.update_many(X)
    a.update_many(X[:25])
    b.update_many(X[25:])
    for x in X[:25]:
        twins[0].update(x)
    for x in X[25:]:
        twins[1].update(x)
    before = nasty.frozen(b)
    assert a.merge(b) is None and twins[0].merge(twins[1]) is None
    nasty.same_readings(a, whole, X[0], 1e-11)
    nasty.same_readings(a, twins[0], X[0], 1e-11)
    assert (a.updates, twins[0].updates) == (40, 40)
    assert nasty.frozen(b) == before
    x = rng.standard_normal(6)
    assert a.update(x) == pytest.approx(whole.update(x), rel=1e-11)
    a.merge(a)  # with itself: both streams are its own
    assert a.updates == 82


@forms
def test_what_cannot_be_merged_changes_nothing(form, rng):
    m = fed(made(form, 3, ridge=0.5), rng)
    low = made(form, 3, ridge=0.5)
    low.update([1.0, 0.0, 0.0], c=-0.4999)
    low2 = made(form, 3, ridge=0.5)
    low2.update([1.0, 0.0, 0.0], c=-0.4999)
    before = nasty.frozen(low)
    for other in (made(form, 4, ridge=0.5), made(form, 3), low2):
        with pytest.raises(ValueError, match=r"\bother\b"):
            low.merge(other)
        assert nasty.frozen(low) == before
    for other in (None, 3, cf.metric.Dual()):
        with pytest.raises(TypeError, match=r"\bother\b"):
            m.merge(other)


@modules
def test_a_regulariser_that_is_not_whole_cannot_be_merged(module, rng):
    m, other = module.Full(9), module.Full(9)
    for _ in range(2):
        other.forget(0.9)
    for a, b in ((m, other), (other, m)):
        with pytest.raises(ValueError, match="decay"):
            a.merge(b)
    other.decay(1.0)
    m.merge(other)
    np.testing.assert_allclose(m.matrix(), np.eye(9), rtol=1e-12)


# --- from a matrix ------------------------------------------------------------------------------


@modules
def test_from_a_matrix(module, rng):
    B = rng.standard_normal((7, 7))
    A = B @ B.T + 0.1 * np.eye(7)
    noisy = A * (1.0 + 1e-12 * rng.standard_normal((7, 7)))
    for given in (A, A.astype(np.float32).astype(float), A.tolist(), np.asfortranarray(A), noisy):
        m = module.Full.from_matrix(given, 0.5)
        lower = np.tril(given)
        np.testing.assert_array_equal(m.matrix(), lower + np.tril(lower, -1).T)
        np.testing.assert_allclose(m.inverse(), np.linalg.inv(m.matrix()), rtol=1e-8)
        assert (m.n, m.ridge, m.updates) == (7, 0.5, 0)


BAD_MATRICES = {
    "not symmetric": (ValueError, [[1.0, 0.5], [0.4, 1.0]]),
    "indefinite": (ValueError, [[1.0, 2.0], [2.0, 1.0]]),
    "singular": (ValueError, [[1.0, 1.0], [1.0, 1.0]]),
    "negative": (ValueError, -np.eye(2)),
    "zero": (ValueError, np.zeros((2, 2))),
    "NaN": (ValueError, [[1.0, np.nan], [np.nan, 1.0]]),
    "NaN above": (ValueError, [[1.0, np.nan], [0.0, 1.0]]),
    "infinite": (ValueError, [[np.inf, 0.0], [0.0, 1.0]]),
    "a row": (ValueError, [1.0, 1.0]),
    "not square": (ValueError, np.ones((2, 3))),
    "empty": (ValueError, np.ones((0, 0))),
    "complex": (TypeError, np.eye(2).astype(complex)),
    "strings": (TypeError, [["1", "0"], ["0", "1"]]),
    "None": (TypeError, None),
}


@modules
@pytest.mark.parametrize(("error", "A"), BAD_MATRICES.values(), ids=list(BAD_MATRICES))
def test_what_is_no_positive_definite_matrix(module, error, A):
    with pytest.raises(error, match=r"\bA\b"):
        module.Full.from_matrix(A, 1.0)


@modules
@pytest.mark.parametrize("ridge", [0.0, -1.0, np.nan, "1", None])
def test_refused_ridges_of_a_matrix(module, ridge):
    with pytest.raises((ValueError, TypeError), match=r"\bridge\b"):
        module.Full.from_matrix(np.eye(2), ridge)


# --- samples ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [*FORMS, "twin", "diagonal twin"])
def test_samples_have_the_covariance(form, rng):
    kinds = {"twin": cf.reference.Full, "diagonal twin": cf.reference.Diagonal}
    m = kinds[form](4) if form in kinds else made(form, 4)
    fed(m, rng, 6)
    m.forget(0.9)
    fed(m, rng, 3)
    Z = m.sample(200_000, 7)
    assert Z.shape == (200_000, 4) and Z.dtype == np.float64
    B = m.inverse() if m.inverse().ndim == 2 else np.diag(m.inverse())
    root = np.sqrt(np.diag(B))
    np.testing.assert_allclose(Z.T @ Z / len(Z) / np.outer(root, root), B / np.outer(root, root),
                               atol=0.02)
    assert abs(Z.mean(axis=0) / root).max() < 0.02


@forms
def test_a_generator_is_used_and_moves_on(form):
    m = made(form, 3)
    generator = np.random.default_rng(3)
    first, second = m.sample(2, generator), m.sample(2, generator)
    assert not (first == second).any()
    np.testing.assert_array_equal(np.vstack([first, second]), m.sample(4, 3))
    assert m.sample(0, None).shape == (0, 3)
    for size in (-1, 1.5, "2", True):
        with pytest.raises((ValueError, TypeError), match=r"\bsize\b"):
            m.sample(size, 0)
    with pytest.raises((ValueError, TypeError), match=r"\brng\b"):
        m.sample(1, "seed")


# --- states -------------------------------------------------------------------------------------


@forms
def test_a_copy_of_all_this_goes_on_bit_for_bit(form, rng):
    m = fed(made(form, 9, ridge=0.4), rng)
    for _ in range(3):
        m.forget(0.9)
        fed(m, rng, 2)
    m.update(rng.standard_normal(9), c=-1e-3)
    other = type(m).from_state(m.state())
    assert nasty.frozen(other) == nasty.frozen(m)
    for x in rng.standard_normal((60, 9)):
        for one in (m, other):
            one.forget(0.95)
        assert m.update(x) == other.update(x)
    assert nasty.frozen(other) == nasty.frozen(m)


@forms
def test_states_go_through_json_and_back(form, rng):
    m = fed(made(form, 3), rng)
    m.forget(0.9)
    state = {name: part.tolist() if isinstance(part, np.ndarray) else part
             for name, part in m.state().items()}
    assert nasty.frozen(type(m).from_state(json.loads(json.dumps(state)))) == nasty.frozen(m)


# --- threads ------------------------------------------------------------------------------------


@forms
def test_readers_and_writers_in_many_threads(form):
    n = 65 if form != "diagonal" else 5000
    m, X = made(form, n), np.random.default_rng(0).standard_normal((16, n))
    other, errors, stop = made(form, n), [], threading.Event()

    def read():
        while not stop.is_set():
            try:
                q = m.quad_many(X)
                assert np.isfinite(q).all() and (q > 0.0).all()
                m.solve_many(X[:3])
                m.sample(1, 0)
                m.state()
            except BaseException as error:
                errors.append(error)
                return

    def write(act):
        for _ in range(40):
            try:
                act()
            except BaseException as error:
                errors.append(error)
                return

    acts = [lambda: m.update_many(X, c=0.01), lambda: m.forget(0.99),
            lambda: (m.decay(0.9), other.update(X[0])), lambda: m.update(X[1])]
    threads = [threading.Thread(target=read) for _ in range(2)]
    writers = [threading.Thread(target=write, args=(act,)) for act in acts]
    for thread in threads + writers:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]


@forms
def test_merging_each_other_in_two_threads_ends(form):
    a, b = made(form, 4), made(form, 4)
    threads = [threading.Thread(target=lambda x=x, y=y: [x.merge(y) for _ in range(50)])
               for x, y in ((a, b), (b, a))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
