"""`metric.Dual`: the same answers as the twin for every kernel, window and budget."""


import nasty
import numpy as np
import pytest
import scipy.sparse
from metric_cases import COPIES

import coactive_fast as cf


def scaled(x, y, scale=1.0):
    """A kernel that can be pickled."""
    return scale * float(x @ y) + 0.5


KERNELS = {
    "linear": {},
    "rbf": {"kernel": "rbf"},
    "rbf gamma": {"kernel": "rbf", "kernel_params": {"gamma": 0.3}},
    "poly": {"kernel": "poly"},
    "poly params": {
        "kernel": "poly", "kernel_params": {"degree": 2, "gamma": 0.5, "coef0": 0.25},
    },
    "callable": {"kernel": scaled, "kernel_params": {"scale": 2.0}},
    "callable alone": {"kernel": scaled},
}
FORMS = {
    "all rows": {},
    "window": {"window": 6},
    "window of one": {"window": 1},
    "budget": {"budget": 7},
    "budget of one": {"budget": 1},
    "strict budget": {"budget": 20, "tolerance": 0.3},
}
kernels = pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
forms = pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))


def stream(n, T, rng):
    return rng.standard_normal((T, n)), rng.uniform(0.1, 3.0, T)


def fed(n, T, rng, **kwargs):
    m = cf.metric.Dual(**kwargs)
    for x, c in zip(*stream(n, T, rng), strict=True):
        m.update(x, c=c)
    return m


def same(fast, slow, x, tolerance):
    assert len(fast) == len(slow)
    if slow.budget is None:
        nasty.same_readings(fast, slow, x, tolerance)
        return
    # the basis of the dictionary's span is the twin's; the coefficients of solve are internal
    np.testing.assert_allclose(fast.matrix(), slow.matrix(), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(fast.inverse(), slow.inverse(), rtol=tolerance, atol=tolerance)
    assert fast.quad(x) == pytest.approx(slow.quad(x), rel=tolerance)
    assert fast.logdet == pytest.approx(slow.logdet, rel=tolerance, abs=tolerance)


@kernels
@forms
@pytest.mark.parametrize("ridge", [1.0, 0.05])
def test_stream_against_the_twin(kernel, form, ridge, rng):
    arguments = {**kernel, **form, "ridge": ridge}
    fast, slow = cf.metric.Dual(**arguments), cf.reference.Dual(**arguments)
    for x, c in zip(*stream(4, 20, rng), strict=True):
        assert fast.update(x, c=c) == pytest.approx(slow.update(x, c=c), rel=1e-9)
    same(fast, slow, rng.standard_normal(4), 1e-8)
    assert fast.updates == slow.updates == 20


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 17, 65, 300])
def test_dimensions(n, rng):
    for arguments in ({}, {"kernel": "rbf"}, {"kernel": "poly"}):
        fast, slow = cf.metric.Dual(**arguments), cf.reference.Dual(**arguments)
        for x, c in zip(*stream(n, 8, rng), strict=True):
            x /= np.sqrt(n)
            assert fast.update(x, c=c) == pytest.approx(slow.update(x, c=c), rel=1e-10)
        nasty.same_readings(fast, slow, rng.standard_normal(n), 1e-9)


def test_before_the_first_row(rng):
    fast, slow = cf.metric.Dual(kernel="rbf", ridge=2.0), cf.reference.Dual(kernel="rbf", ridge=2.0)
    x = rng.standard_normal(3)
    assert fast.quad(x) == slow.quad(x) == 0.5
    assert fast.solve(x).shape == (0,)
    assert fast.matrix().shape == fast.inverse().shape == (0, 0)
    assert fast.logdet == 0.0 and len(fast) == 0


@pytest.mark.parametrize("ridge", [1.0, 0.01])
def test_linear_is_the_primal(ridge, rng):
    dual, primal = cf.metric.Dual(ridge=ridge), cf.metric.Full(5, ridge=ridge)
    for x, c in zip(*stream(5, 60, rng), strict=True):
        assert dual.quad(x) == pytest.approx(primal.quad(x), rel=1e-8)
        assert dual.update(x, c=c) == pytest.approx(primal.update(x, c=c), rel=1e-8)
        assert dual.logdet == pytest.approx(primal.logdet - 5 * np.log(ridge), rel=1e-8)
    np.testing.assert_allclose(dual.matrix() @ dual.inverse(), np.eye(60), atol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("window", [1, 2, 5, 16])
def test_window_equals_a_rebuilt_model(kernel, window, rng):
    X, c = stream(6, 80, rng)
    sliding = cf.metric.Dual(kernel=kernel, window=window)
    for t, (x, weight) in enumerate(zip(X, c, strict=True)):
        q = sliding.update(x, c=weight)
        if t % 7 == 0:
            rebuilt = cf.reference.Dual(kernel=kernel)
            for s in range(max(t - window, 0), t):
                rebuilt.update(X[s], c=c[s])
            assert q == pytest.approx(rebuilt.quad(x), rel=1e-9)
    assert len(sliding) == window
    rebuilt = cf.reference.Dual(kernel=kernel)
    for x, weight in zip(X[-window:], c[-window:], strict=True):
        rebuilt.update(x, c=weight)
    nasty.same_readings(sliding, rebuilt, rng.standard_normal(6), 1e-9)


def test_a_long_window_stays_right(rng):
    X, _ = stream(3, 1500, rng)
    sliding = cf.metric.Dual(kernel="rbf", ridge=0.01, window=20)
    rebuilt = cf.reference.Dual(kernel="rbf", ridge=0.01)
    for x in X:
        sliding.update(x)
    for x in X[-20:]:
        rebuilt.update(x)
    for x in rng.standard_normal((5, 3)):
        assert sliding.quad(x) == pytest.approx(rebuilt.quad(x), rel=1e-9)
    assert sliding.logdet == pytest.approx(rebuilt.logdet, rel=1e-9)


def test_linear_budget_that_spans_the_space_is_the_primal(rng):
    budget, primal = cf.metric.Dual(budget=10, tolerance=1e-9), cf.metric.Full(4)
    for x, c in zip(*stream(4, 60, rng), strict=True):
        assert budget.update(x, c=c) == pytest.approx(primal.update(x, c=c), rel=1e-8)
    assert len(budget) == 4


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sparse_rows_are_dense_rows(kernel, rng):
    for form in FORMS.values():
        dense, sparse = (cf.metric.Dual(kernel=kernel, **form) for _ in range(2))
        X, c = stream(30, 15, rng)
        X[rng.random(X.shape) < 0.8] = 0.0
        for t, (x, weight) in enumerate(zip(X, c, strict=True)):
            row = scipy.sparse.csr_matrix(x)
            if t % 3 == 0:
                row = x  # both kinds may be mixed in one stream
            assert sparse.quad(row) == pytest.approx(dense.quad(x), rel=1e-11)
            q = dense.update(x, c=weight)
            assert sparse.update(row, c=weight) == pytest.approx(q, rel=1e-11)
        assert len(sparse) == len(dense)
        np.testing.assert_allclose(sparse.inverse(), dense.inverse(), rtol=1e-9, atol=1e-12)


@forms
def test_a_row_of_no_length_is_not_stored(form, rng):
    m = fed(4, 6, rng, **form)
    stored, logdet, updates = len(m), m.logdet, m.updates
    assert m.update(np.zeros(4)) == 0.0
    assert (len(m), m.logdet, m.updates) == (stored, logdet, updates)
    # under a kernel with k(0, 0) > 0 the same row is one like any other
    rbf = cf.metric.Dual(kernel="rbf")
    assert rbf.update(np.zeros(4)) == 1.0 and len(rbf) == 1


@forms
def test_equal_rows_over_and_over(form, rng):
    arguments = {"kernel": "rbf", "ridge": 0.1, **form}
    fast, slow = cf.metric.Dual(**arguments), cf.reference.Dual(**arguments)
    x = rng.standard_normal(3)
    for _ in range(12):
        assert fast.update(x) == pytest.approx(slow.update(x), rel=1e-9)
    assert len(fast) == len(slow)


@pytest.mark.parametrize("x", **nasty.cases(nasty.vectors_in_scale(6)))
def test_nasty_x(x, rng, request):
    fast, slow = cf.metric.Dual(), cf.reference.Dual()
    for row in rng.standard_normal((5, 6)):
        fast.update(row)
        slow.update(row)
    nasty.agree(fast.quad, slow.quad, (x,), nasty.number_within(1e-10), ("x",))
    if request.node.callspec.id in ("large", "mixed magnitudes"):
        with pytest.raises(ValueError, match=r"\bx is too large"):
            fast.update(x)
    else:
        nasty.agree(fast.update, slow.update, (x,), nasty.number_within(1e-10), ("x",))
    nasty.same_readings(fast, slow, np.arange(6.0), 1e-9)


@forms
def test_after_an_error_the_answers_are_as_before(form, rng):
    m, good = fed(5, 12, rng, **form), rng.standard_normal(5)
    before = nasty.readings(m, good), len(m), m.updates
    bad = good.copy()
    bad[2] = np.nan
    for name, x, c in [
        ("x", bad, 1.0), ("x", good[:4], 1.0), ("x", scipy.sparse.csr_matrix(bad), 1.0),
        ("c", good, 0.0), ("c", good, -1.0), ("c", good, np.nan),
    ]:
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            m.update(x, c=c)
        after = nasty.readings(m, good), len(m), m.updates
        np.testing.assert_equal(after, before)


def test_a_kernel_that_fails_or_lies_changes_nothing(rng):
    answers = {"mode": "right"}

    def kernel(x, y):
        if answers["mode"] == "raises":
            raise RuntimeError("no answer")
        return np.nan if answers["mode"] == "NaN" else float(x @ y)

    for module in (cf.metric, cf.reference):
        answers["mode"] = "right"
        m = module.Dual(kernel=kernel)
        for x in rng.standard_normal((4, 3)):
            m.update(x)
        before = nasty.readings(m, np.ones(3))
        for mode, error in (("raises", RuntimeError), ("NaN", ValueError)):
            answers["mode"] = mode
            with pytest.raises(error):
                m.update(np.ones(3))
            answers["mode"] = "right"
            np.testing.assert_equal(nasty.readings(m, np.ones(3)), before)
            assert len(m) == 4


@forms
def test_reading_changes_nothing(form, rng):
    m, x = fed(5, 12, rng, **form), rng.standard_normal(5)
    first = nasty.readings(m, x)
    np.testing.assert_equal(nasty.readings(m, x), first)
    for array in (m.inverse(), m.matrix(), m.solve(x)):
        array[...] = np.nan
    np.testing.assert_equal(nasty.readings(m, x), first)


@forms
@pytest.mark.parametrize("kernel", ["rbf", scaled], ids=["rbf", "callable"])
@pytest.mark.parametrize("way", ["copy", "copy.copy", "deepcopy", "pickle"])
def test_a_copy_goes_on_by_itself_bit_for_bit(way, kernel, form, rng):
    m, x = fed(5, 12, rng, kernel=kernel, **form), rng.standard_normal(5)
    before, other = nasty.readings(m, x), COPIES[way](m)
    X, c = stream(5, 15, rng)
    q = [other.update(row, c=weight) for row, weight in zip(X, c, strict=True)]
    np.testing.assert_equal(nasty.readings(m, x), before)
    assert q == [m.update(row, c=weight) for row, weight in zip(X, c, strict=True)]
    np.testing.assert_equal(nasty.readings(other, x), nasty.readings(m, x))


def test_rows_are_copied_when_stored(rng):
    x = rng.standard_normal(4)
    m = cf.metric.Dual(kernel="rbf")
    m.update(x)
    before = m.quad(np.ones(4))
    x[...] = 7.0
    assert m.quad(np.ones(4)) == before


REFUSED = {
    "an unknown kernel": ("kernel", {"kernel": "sigmoid-ish"}),
    "a kernel that is a number": ("kernel", {"kernel": 3}),
    "an unknown parameter": ("kernel_params", {"kernel": "rbf", "kernel_params": {"gama": 1.0}}),
    "ridge 0": ("ridge", {"ridge": 0.0}),
    "ridge NaN": ("ridge", {"ridge": np.nan}),
    "window 0": ("window", {"window": 0}),
    "window 2.0": ("window", {"window": 2.0}),
    "budget -1": ("budget", {"budget": -1}),
    "budget True": ("budget", {"budget": True}),
    "window and budget": ("window|budget", {"window": 3, "budget": 3}),
    "tolerance -1": ("tolerance", {"budget": 3, "tolerance": -1.0}),
    "tolerance NaN": ("tolerance", {"budget": 3, "tolerance": np.nan}),
}


@pytest.mark.parametrize("name, arguments", REFUSED.values(), ids=list(REFUSED))
def test_refused_parameters(name, arguments):
    errors = []
    for build in (cf.metric.Dual, cf.reference.Dual):
        with pytest.raises((ValueError, TypeError), match=rf"\b({name})\b") as caught:
            build(**arguments)
        errors.append(isinstance(caught.value, TypeError))
    assert errors[0] == errors[1]


# --- rows that are kept sparse ----------------------------------------------------------------


@forms
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_sparse_rows_are_kept_sparse(kernel, form, rng):
    """2,000 features, 10 entries a row: the twin's answers, and those of dense rows bit for bit."""
    X = scipy.sparse.random(60, 2000, density=5e-3, format="csr", random_state=rng)
    weights = rng.uniform(0.1, 3.0, 60)
    fast, dense = (cf.metric.Dual(kernel=kernel, **form) for _ in range(2))
    slow = cf.reference.Dual(kernel=kernel, **form)
    for t, c in enumerate(weights):
        q = fast.update(X[t], c=c)
        assert q == dense.update(X[t].toarray().ravel(), c=c)
        assert q == pytest.approx(slow.update(X[t].toarray().ravel(), c=c), rel=1e-9)
    assert len(fast) == len(slow)
    for t in range(0, 60, 7):
        assert fast.quad(X[t]) == dense.quad(X[t]) == pytest.approx(
            slow.quad(X[t].toarray().ravel()), rel=1e-9)
    assert "index" in fast.state()["gram"]["kept"]
    other = cf.metric.Dual.from_state(fast.state())
    for t in range(20):
        assert other.update(X[t]) == fast.update(X[t])
    assert nasty.frozen(other) == nasty.frozen(fast)


def test_a_damaged_sparse_state_is_refused(rng):
    m = cf.metric.Dual()
    for row in scipy.sparse.random(6, 500, density=0.02, format="csr", random_state=rng):
        m.update(row)
    state = m.state()
    rows = state["gram"]["kept"]
    damaged = {
        "d": [3, -1, "x"], "begin": [rows["begin"][::-1], rows["begin"][1:], None],
        "index": [rows["index"] + 500, -rows["index"], rows["index"][1:]],
        "value": [rows["value"] * np.nan, rows["value"][1:]],
    }
    for name, values in damaged.items():
        for value in values:
            with pytest.raises((ValueError, TypeError)):
                gram = {**state["gram"], "kept": {**rows, name: value}}
                cf.metric.Dual.from_state({**state, "gram": gram})


def test_a_first_row_that_fails_leaves_no_dimension():
    m = cf.metric.Dual(budget=2)
    for x in ([1e200, 1.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match=r"x\b|kernel"):
            m.update(x)
    assert m.update([1.0, 2.0, 3.0]) == 14.0
