"""Laws of `project_ball` that hold for all inputs."""

import math

import nasty
import numpy as np
import pytest

pytest.importorskip("hypothesis")

from hypothesis import assume, given
from hypothesis import strategies as st

import coactive_fast as cf

project = cf.kernels.project_ball


@st.composite
def problems(draw):
    n = draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    Ainv = nasty.spd(n, rng, 10.0 ** draw(st.floats(0, 5)))
    few_values = draw(st.booleans())
    z = rng.integers(-1, 2, n).astype(float) if few_values else rng.standard_normal(n)
    assume(z.any())
    return z, Ainv, math.hypot(*z) * draw(st.floats(1e-3, 1.2))


@given(problems())
def test_optimality_conditions(problem):
    z, Ainv, radius = problem
    w, lam = project(z, Ainv, radius)
    assert math.hypot(*w) <= radius * (1 + 1e-12)
    assert lam >= 0.0
    if lam > 0.0:
        assert math.hypot(*w) >= radius * (1 - 1e-12)
    residual = w + lam * (Ainv @ w) - z
    assert math.hypot(*residual) <= 1e-9 * math.hypot(*z)


@given(problems())
def test_projecting_twice_is_projecting_once(problem):
    z, Ainv, radius = problem
    w, _ = project(z, Ainv, radius)
    again, _ = project(w, Ainv, radius)
    np.testing.assert_allclose(again, w, rtol=0, atol=1e-12 * radius)


@given(problems(), st.randoms())
def test_permutation(problem, random):
    z, Ainv, radius = problem
    order = list(range(z.size))
    random.shuffle(order)
    w, _ = project(z, Ainv, radius)
    permuted, _ = project(z[order], Ainv[np.ix_(order, order)], radius)
    np.testing.assert_allclose(permuted, w[order], rtol=0, atol=1e-9 * radius)


@given(problems())
def test_the_opposite_point_has_the_opposite_projection(problem):
    z, Ainv, radius = problem
    w, lam = project(z, Ainv, radius)
    opposite, same_lam = project(-z, Ainv, radius)
    np.testing.assert_array_equal(opposite, -w)
    assert same_lam == lam
