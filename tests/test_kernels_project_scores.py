"""`project_scores` against the exact rational twin."""

import nasty
import numpy as np
import pytest

import coactive_fast as cf


def check(z, q, total):
    def compare(got, expected):
        (v, lam), (v_true, lam_true) = got, expected
        assert v.dtype == np.float64 and v.shape == v_true.shape and isinstance(lam, float)
        assert (v >= 0.0).all()
        assert np.abs(v - v_true).max() <= 1e-12 * float(total)
        # lam is determined as well as the entries it moves are: by the q of those above zero
        slack = float(total) / np.asarray(q, dtype=float)[v_true > 0].sum()
        if np.isfinite(lam_true):
            assert abs(lam - lam_true) <= 1e-11 * (abs(lam_true) + slack)

    functions = cf.kernels.project_scores, cf.reference.project_scores
    return nasty.agree(*functions, (z, q, total), compare, ("z", "q", "total"))


@pytest.mark.parametrize("z", **nasty.cases(nasty.vectors(9)))
def test_nasty_z(z, rng):
    check(z, rng.uniform(0.1, 2.0, 9), 1.5)
    check(z, np.ones(9), 1.0)


@pytest.mark.parametrize("q", **nasty.cases(nasty.vectors(9)))
def test_nasty_q(q, rng):
    z = rng.standard_normal(9)
    check(z, q, 1.5)
    if isinstance(q, np.ndarray) and q.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            positive = np.abs(q)
        # extreme weights are ordinary input as long as lam is a number
        if positive.min(initial=1.0) > 1e-290:
            check(z, positive, 1.5)


@pytest.mark.parametrize("total", **nasty.cases(nasty.scalars()))
def test_nasty_total(total, rng):
    check(rng.standard_normal(5), rng.uniform(0.1, 2.0, 5), total)


def problems(K, rng):
    """Every kind of data that has made some method slow or wrong."""
    normal, q = rng.standard_normal(K), rng.uniform(0.01, 2.0, K)
    yield "normal", normal, q
    yield "margins", 1.0 + 0.2 * normal, q
    yield "wide q", normal, 10.0 ** rng.uniform(-12, 12, K)
    yield "equal", np.full(K, 0.3), np.full(K, 0.7)
    yield "ties", rng.integers(-2, 3, K).astype(float), rng.integers(1, 3, K).astype(float)
    yield "equal breakpoints", -0.5 * q, q
    yield "rising breakpoints", -np.sort(normal) * q, q
    yield "falling breakpoints", np.sort(normal) * q, q
    yield "one far above", np.where(np.arange(K) == K // 2, 1e6, normal), q
    yield "all far below", normal - 1e8, q
    yield "some very far below", np.where(rng.random(K) < 0.5, -1e15, normal), q
    yield "all very far below", normal * 1e14 - 1e15, q
    yield "absurdly far below", np.where(rng.random(K) < 0.5, -1e300, normal), q
    yield "all absurdly far below", -1e300 * rng.uniform(1, 2, K), q
    yield "geometric", 3.0 ** -np.minimum(np.arange(K), 600), np.ones(K)
    yield "geometric wide", -(10.0 ** rng.uniform(-150, 150, K)), q
    yield "just active", np.full(K, 2.0 / K), q


@pytest.mark.parametrize("K", [*range(1, 71), 100, 127, 128, 129, 1000])
def test_sizes(K, rng):
    for name, z, q in problems(K, rng):
        for total in (2.0, 1e-3):
            assert check(z, q, total) is not None, name


def test_five_thousand(rng):
    for name, z, q in problems(5000, rng):
        if not name.startswith(("absurdly", "all absurdly", "geometric")):  # slow in rationals
            assert check(z, q, 2.0) is not None, name


@pytest.mark.parametrize("K", [20_000, 100_000])
def test_large_by_the_optimality_conditions(K, rng):
    for name, z, q in problems(K, rng):
        if "far" in name or "wide" in name:
            continue  # there a residual in float64 says nothing; the exact twin has judged them
        v, lam = cf.kernels.project_scores(z, q, 2.0)
        assert abs(v.sum() - 2.0) <= 1e-11, name
        residual = np.abs(v - np.maximum(0.0, z + lam * q)).max()
        assert residual <= 1e-12 * (2.0 + abs(lam) * q.max()), name


@pytest.mark.parametrize("module", [cf.kernels, cf.reference], ids=["kernels", "reference"])
def test_what_is_refused_is_named(module):
    z = np.ones(3)
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"\bq\b"):
            module.project_scores(z, np.array([1.0, 1.0, bad]), 1.0)
    with pytest.raises(ValueError, match=r"\bz\b"):
        module.project_scores(np.zeros(0), np.zeros(0), 1.0)
    with pytest.raises(ValueError, match=r"(?s)(?=.*\b2\b)(?=.*\b3\b)(?=.*\bq\b)"):
        module.project_scores(z, np.ones(2), 1.0)


def test_one_class_gets_everything():
    for z in (0.0, -1e300, 1e300, 5.0):
        v, lam = cf.kernels.project_scores([z], [0.5], 2.0)
        assert v.tolist() == [2.0]
        assert lam == pytest.approx((2.0 - z) / 0.5)


# A z so large that all others vanish beside it in the sums.
@pytest.mark.parametrize(("z", "q"), [
    ([-13.0645, -1.61968e48, -430083.46], [4.47344e-9, 1.84196e9, 5.80396e-11]),
    ([-0.5, -7e96], [6e-10, 1.6e7]),
    ([-1e300, 0.25, -1e200, 0.5], [1e12, 1e-12, 1.0, 1e-3]),
])
def test_a_large_entry_hides_the_others(z, q):
    for repeat in (1, 40):  # few and many
        check([*z, *[-3.0] * repeat], [*q, *[1e-9] * repeat], 2.0)


def test_entries_of_all_sizes(rng):
    for K in (2, 3, 9, 70):
        for width in (15, 50, 300):
            for _ in range(20):
                z, q = -(10.0 ** rng.uniform(0, width, K)), 10.0 ** rng.uniform(-12, 12, K)
                assert check(z, q, 2.0) is not None
