"""Laws of the projections onto simplex, box and L1 ball that hold for all inputs."""

import nasty
import numpy as np
import pytest

pytest.importorskip("hypothesis")

from hypothesis import given
from hypothesis import strategies as st
from test_kernels_project_faces import project as project_with
from test_kernels_project_faces import residual

import coactive_fast as cf

SETS = pytest.mark.parametrize("name", ["project_simplex", "project_box", "project_l1"])


@st.composite
def problems(draw):
    n = draw(st.integers(1, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    Ainv = nasty.spd(n, rng, 10.0 ** draw(st.floats(0, 4)))
    few_values = draw(st.booleans())
    z = rng.integers(-2, 3, n) / 2.0 if few_values else rng.standard_normal(n)
    size = draw(st.sampled_from([0.25, 1.0, 3.0]))
    return z * size, Ainv


def limits(name, n):
    return (np.full(n, -0.5), np.linspace(-0.5, 1.0, n)) if name == "project_box" else (1.0,)


def project(name, z, Ainv, scale=1.0):
    return project_with(cf.kernels, name, z, Ainv, *(scale * a for a in limits(name, z.size)))


@SETS
@given(problem=problems())
def test_optimality_conditions(name, problem):
    z, Ainv = problem
    w = project(name, z, Ainv)
    assert residual(name, w, z, Ainv, *limits(name, z.size)) <= 1e-9


@SETS
@given(problem=problems())
def test_projecting_twice_is_projecting_once(name, problem):
    z, Ainv = problem
    w = project(name, z, Ainv)
    np.testing.assert_allclose(project(name, w, Ainv), w, rtol=0, atol=1e-9)


@SETS
@given(problem=problems(), power=st.integers(-40, 40), metric_power=st.integers(-40, 40))
def test_units_do_not_matter(name, problem, power, metric_power):
    z, Ainv = problem
    s = 2.0**power
    scaled = project(name, s * z, Ainv * 2.0**metric_power, s)
    np.testing.assert_allclose(scaled / s, project(name, z, Ainv), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["project_simplex", "project_l1"])
@given(problem=problems(), random=st.randoms())
def test_permutation(name, problem, random):
    z, Ainv = problem
    order = list(range(z.size))
    random.shuffle(order)
    permuted = project(name, z[order], Ainv[np.ix_(order, order)])
    np.testing.assert_allclose(permuted, project(name, z, Ainv)[order], rtol=0, atol=1e-9)


@given(problem=problems(), seed=st.integers(0, 2**16))
def test_flipping_signs_flips_the_l1_projection(problem, seed):
    z, Ainv = problem
    flip = np.random.default_rng(seed).choice([-1.0, 1.0], z.size)
    flipped = project("project_l1", flip * z, Ainv * np.outer(flip, flip))
    np.testing.assert_allclose(flipped, flip * project("project_l1", z, Ainv), rtol=0, atol=1e-9)
