"""Laws of `project_scores` that hold for all inputs."""

from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("hypothesis")

from hypothesis import given
from hypothesis import strategies as st

import coactive_fast as cf

scores = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([-1.0, 0.0, 0.5, 1.0]))
weights = st.one_of(st.floats(1e-6, 1e6), st.just(1.0))
pairs = st.lists(st.tuples(scores, weights), min_size=1, max_size=80)
totals = st.floats(1e-3, 1e3)
project = cf.kernels.project_scores


def split(pairs):
    return np.array([z for z, _ in pairs]), np.array([q for _, q in pairs])


@given(pairs, totals)
def test_feasible(pairs, total):
    v, _ = project(*split(pairs), total)
    assert (v >= 0.0).all()
    assert float(abs(sum(map(Fraction, v.tolist())) - Fraction(total))) <= 1e-12 * total


@given(pairs, totals)
def test_optimality_conditions(pairs, total):
    z, q = split(pairs)
    v, lam = project(z, q, total)
    on = v > 0.0
    rounding = 1e-12 * (np.abs(z) + abs(lam) * q + total)
    assert (np.abs(v - z - lam * q)[on] <= rounding[on]).all()
    assert ((z + lam * q)[~on] <= rounding[~on]).all()


@given(pairs, totals)
def test_projecting_twice_is_projecting_once(pairs, total):
    z, q = split(pairs)
    v, _ = project(z, q, total)
    again, lam = project(v, q, total)
    np.testing.assert_allclose(again, v, rtol=0, atol=1e-12 * total)


@given(pairs, totals, st.randoms())
def test_permutation(pairs, total, random):
    z, q = split(pairs)
    order = list(range(z.size))
    random.shuffle(order)
    v, _ = project(z, q, total)
    permuted, _ = project(z[order], q[order], total)
    np.testing.assert_allclose(permuted, v[order], rtol=0, atol=1e-12 * total)


@given(pairs, totals, st.integers(-30, 30), st.integers(-30, 30))
def test_scaling(pairs, total, power, weight_power):
    # (s z, t q, s total) has the solution s v with the multiplier s lam / t
    z, q = split(pairs)
    s, t = 2.0**power, 2.0**weight_power
    v, lam = project(z, q, total)
    scaled, scaled_lam = project(s * z, t * q, s * total)
    np.testing.assert_allclose(scaled, s * v, rtol=0, atol=1e-12 * s * total)
    slack = total / q[v > 0].sum()
    assert abs(scaled_lam * t / s - lam) <= 1e-11 * (abs(lam) + slack)


@given(pairs, totals, st.floats(-10, 10))
def test_moving_along_the_weights_moves_the_multiplier(pairs, total, shift):
    z, q = split(pairs)
    v, _ = project(z, q, total)
    moved, _ = project(z + shift * q, q, total)
    rounding = 1e-12 * (total + np.abs(z).max() + abs(shift) * q.max())
    np.testing.assert_allclose(moved, v, rtol=0, atol=rounding * q.size)
