"""Laws of `inverse_update` that hold for all inputs."""

import numpy as np
import pytest

pytest.importorskip("hypothesis")

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import coactive_fast as cf

entries = st.floats(-10, 10).map(lambda value: value if abs(value) > 1e-6 else 0.0)
streams = st.tuples(st.integers(1, 12), st.integers(0, 24)).flatmap(
    lambda shape: hnp.arrays(float, shape, elements=entries)
)
# a stream is (d, T): its transpose holds T rows of d features


@given(streams, st.floats(0.01, 10), st.sampled_from(["both", "lower"]))
def test_inverse_times_matrix_is_the_identity(columns, c, triangle):
    d = columns.shape[0]
    Ainv, A = np.eye(d), np.eye(d)
    for x in columns.T:
        cf.kernels.inverse_update(Ainv, x, c=c, triangle=triangle)
        A += c * np.outer(x, x)
    whole = np.tril(Ainv) + np.tril(Ainv, -1).T
    # the largest eigenvalue of A bounds its condition, as the smallest is >= 1
    bound = 1e-12 * np.linalg.norm(A, 2)
    np.testing.assert_allclose(whole @ A, np.eye(d), atol=max(bound, 1e-10))


@given(streams, st.floats(0.01, 10))
def test_q_shrinks_as_the_formula_says(columns, c):
    Ainv = np.eye(columns.shape[0])
    for x in columns.T:
        q = cf.kernels.inverse_update(Ainv, x, c=c)
        after = x @ Ainv @ x
        assert after == pytest.approx(q / (1 + c * q), rel=1e-9)
