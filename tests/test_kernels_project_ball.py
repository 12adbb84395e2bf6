"""`project_ball` against the eigenvalue twin and against the optimality conditions."""

import math

import nasty
import numpy as np
import pytest

import coactive_fast as cf


def check(z, Ainv, radius, tolerance=1e-10):
    def compare(got, expected):
        (w, lam), (w_true, lam_true) = got, expected
        assert w.dtype == np.float64 and w.shape == w_true.shape and isinstance(lam, float)
        if lam_true == 0.0:
            assert lam == 0.0
            np.testing.assert_array_equal(w, w_true)
            return
        assert lam > 0.0
        assert abs(math.hypot(*w) / float(radius) - 1.0) <= 1e-12
        assert np.abs(w - w_true).max() <= tolerance * float(radius)
        # a z just outside needs a lam of almost nothing, known to that same small amount only
        B = np.asarray(Ainv, dtype=float)
        assert abs(lam - lam_true) <= 10 * tolerance * (lam_true + 1.0 / np.diag(B).mean())

    functions = cf.kernels.project_ball, cf.reference.project_ball
    return nasty.agree(*functions, (z, Ainv, radius), compare, ("z", "Ainv", "radius"))


@pytest.mark.parametrize("z", **nasty.cases(nasty.vectors(9)))
def test_nasty_z(z, rng):
    check(z, nasty.spd(9, rng), 0.5)


@pytest.mark.parametrize("Ainv", **nasty.cases(nasty.inverses(9)))
def test_nasty_inverse(Ainv, rng):
    check(rng.standard_normal(9), Ainv, 0.5)


@pytest.mark.parametrize("radius", **nasty.cases(nasty.scalars()))
def test_nasty_radius(radius, rng):
    check(rng.standard_normal(5), nasty.spd(5, rng), radius)


@pytest.mark.parametrize("n", nasty.SIZES)
def test_sizes(n, rng):
    kinds = {
        "well conditioned": nasty.spd(n, rng),
        "ill conditioned": nasty.spd(n, rng, 1e6),
        "a few updates": nasty.learned_inverse(n, rng, 3),
        "many updates": nasty.learned_inverse(n, rng, 3 * n, 1e-3),
        "identity": np.eye(n),
        "diagonal": np.diag(np.geomspace(1.0, 1e-3, n)),
    }
    for name, Ainv in kinds.items():
        z = rng.standard_normal(n)
        for ratio in (1e-6, 0.1, 0.5, 0.95, 1 - 1e-9, 1.5):
            assert check(z, Ainv, ratio * math.hypot(*z)) is not None, (name, ratio)


@pytest.mark.parametrize("n", [5, 16, 17, 64, 200])
def test_z_of_few_directions(n, rng):
    Ainv = nasty.spd(n, rng, 1e4)
    values, vectors = np.linalg.eigh(Ainv)
    for z in (vectors[:, 0], vectors[:, -1], vectors[:, 0] + vectors[:, -1], np.eye(n)[n // 2]):
        assert check(z, Ainv, 0.3) is not None
    # an eigenvector is only shortened: (1 + lam beta) r = 1
    w, lam = cf.kernels.project_ball(vectors[:, -1], Ainv, 0.25)
    np.testing.assert_allclose(w, 0.25 * vectors[:, -1], atol=1e-11)
    assert lam == pytest.approx(3.0 / values[-1], rel=1e-10)


@pytest.mark.parametrize("condition", [1e8, 1e10])
@pytest.mark.parametrize("n", [10, 60, 200])
def test_very_ill_conditioned(n, condition, rng):
    # what both can know: the inverse itself is only given to rounding
    z = rng.standard_normal(n)
    for ratio in (1e-3, 0.5, 0.99):
        tolerance = 100 * condition * np.finfo(float).eps
        assert check(z, nasty.spd(n, rng, condition), ratio * math.hypot(*z), tolerance)


@pytest.mark.parametrize("n", [1, 4, 17, 64])
def test_scales(n, rng):
    Ainv, z = nasty.spd(n, rng), rng.standard_normal(n)
    radius = 0.3 * math.hypot(*z)
    w, lam = cf.kernels.project_ball(z, Ainv, radius)
    for power in (-400, -100, 100, 400):
        scale = 2.0**power
        # lengths, and the norm, can be measured in any unit
        scaled, same_lam = cf.kernels.project_ball(z * scale, Ainv, radius * scale)
        np.testing.assert_allclose(scaled / scale, w, rtol=0, atol=1e-11 * radius)
        assert same_lam == pytest.approx(lam, rel=1e-9)
        same, scaled_lam = cf.kernels.project_ball(z, Ainv * scale, radius)
        np.testing.assert_allclose(same, w, rtol=0, atol=1e-11 * radius)
        assert scaled_lam * scale == pytest.approx(lam, rel=1e-9)


@pytest.mark.parametrize("module", [cf.kernels, cf.reference], ids=["kernels", "reference"])
def test_inside_is_a_copy_bit_for_bit(module, rng):
    Ainv, normal = nasty.spd(6, rng), rng.standard_normal(6)
    on_the_sphere = np.array([3.0, 4.0, 0.0, -0.0, 0.0, 0.0])
    radii = [(normal, math.hypot(*normal) * (1 + 1e-14)), (np.zeros(6), 1e-300), (on_the_sphere, 5)]
    for z, radius in radii:
        w, lam = module.project_ball(z, Ainv, radius)
        assert w.tobytes() == z.tobytes() and lam == 0.0
        assert not np.shares_memory(w, z)


@pytest.mark.parametrize("module", [cf.kernels, cf.reference], ids=["kernels", "reference"])
@pytest.mark.parametrize("n", [3, 20, 64])
def test_an_inverse_that_is_not_definite_is_refused(module, n, rng):
    z = rng.standard_normal(n)
    for Ainv in (-np.eye(n), np.zeros((n, n)), np.eye(n) - 2.0 * np.outer(z, z) / (z @ z)):
        with pytest.raises(ValueError, match=r"\bAinv\b"):
            module.project_ball(z, Ainv, 0.1 * math.hypot(*z))


def test_empty():
    w, lam = cf.kernels.project_ball(np.zeros(0), np.zeros((0, 0)), 1.0)
    assert w.shape == (0,) and lam == 0.0


@pytest.mark.parametrize("n", [300, 500])
def test_large_by_the_optimality_conditions(n, rng):
    Ainv = nasty.learned_inverse(n, rng, n // 2, 1e-2)
    z = rng.standard_normal(n)
    for ratio in (0.1, 0.5, 0.95):
        radius = ratio * math.hypot(*z)
        w, lam = cf.kernels.project_ball(z, Ainv, radius)
        assert abs(math.hypot(*w) / radius - 1.0) <= 1e-12
        residual = w + lam * (Ainv @ w) - z
        assert math.hypot(*residual) <= 1e-9 * math.hypot(*z)
