"""Laws of `top_k` that hold for all inputs."""

import numpy as np
import pytest

pytest.importorskip("hypothesis")

from hypothesis import given
from hypothesis import strategies as st

import coactive_fast as cf

# few different values, so that ties are the rule; infinities are ordinary input
scores = st.lists(
    st.one_of(st.sampled_from([-np.inf, -1.0, 0.0, -0.0, 1.0, np.inf]), st.floats(allow_nan=False)),
    max_size=80,
)
counts = st.integers(0, 100)


@given(scores, counts)
def test_definition(scores, k):
    by_rule = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    assert cf.kernels.top_k(np.array(scores, dtype=float), k).tolist() == by_rule[:k]


@given(scores, counts)
def test_fewer_is_a_prefix_of_all(scores, k):
    scores = np.array(scores, dtype=float)
    every = cf.kernels.top_k(scores, scores.size)
    assert cf.kernels.top_k(scores, k).tolist() == every[:k].tolist()


@given(st.lists(st.floats(allow_nan=False), max_size=60, unique=True), counts, st.randoms())
def test_permuting_distinct_scores_permutes_the_result(scores, k, random):
    order = list(range(len(scores)))
    random.shuffle(order)
    scores = np.array(scores, dtype=float)
    permuted = cf.kernels.top_k(scores[order], k)
    assert [order[i] for i in permuted] == cf.kernels.top_k(scores, k).tolist()


@given(scores, counts)
def test_doubling_the_scores_changes_nothing(scores, k):
    scores = np.clip(np.array(scores, dtype=float), -1e300, 1e300)
    assert cf.kernels.top_k(2.0 * scores, k).tolist() == cf.kernels.top_k(scores, k).tolist()
