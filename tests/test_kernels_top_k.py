"""`top_k` against its slow twin and against the rule itself."""

import tracemalloc

import nasty
import numpy as np
import pytest

import coactive_fast as cf


def check(scores, k):
    names = ("scores", "k")
    return nasty.agree(cf.kernels.top_k, cf.reference.top_k, (scores, k), nasty.exactly, names)


@pytest.mark.parametrize("k", [0, 1, 4, 7, 100])
@pytest.mark.parametrize("scores", **nasty.cases(nasty.vectors(7)))
def test_nasty_scores(scores, k):
    check(scores, k)


@pytest.mark.parametrize("k", **nasty.cases(nasty.counts()))
def test_nasty_k(k):
    check(np.array([1.0, 3.0, 2.0, 3.0]), k)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [*range(1, 71), 100, 1000, 5000])
def test_sizes(n, dtype, rng):
    kinds = {
        "distinct": rng.permutation(n),
        "few values": rng.integers(0, 3, n),
        "rising": np.arange(n),
        "falling": -np.arange(n),
        "masked": np.where(rng.random(n) < 0.7, -np.inf, rng.standard_normal(n)),
        "normal": rng.standard_normal(n),
    }
    for scores in kinds.values():
        for k in {1, 2, 5, 16, 17, n // 2, n - 1, n, n + 1}:
            check(scores.astype(dtype), k)


def test_hundred_thousand_with_ties(rng):
    scores = rng.integers(0, 50, 100_000).astype(float)
    for k in (1, 5, 3000, 100_000):
        check(scores, k)


def test_a_late_best_score_is_found_among_equals():
    # a threshold that is only ever compared strictly must still take the last element
    scores = np.zeros(1001)
    scores[1000] = 1.0
    assert cf.kernels.top_k(scores, 3).tolist() == [1000, 0, 1]


def test_zeros_of_either_sign_are_equal():
    assert cf.kernels.top_k([-0.0, 0.0, -0.0], 3).tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scores_in_a_file_are_read_where_they_are(dtype, tmp_path, rng):
    plain = rng.standard_normal(500_000).astype(dtype)
    plain.tofile(tmp_path / "scores")
    mapped = np.memmap(tmp_path / "scores", dtype, "r")
    tracemalloc.start()
    best = cf.kernels.top_k(mapped, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert best.tolist() == cf.kernels.top_k(plain, 5).tolist()
    assert peak < mapped.nbytes / 10


def test_result_type():
    assert cf.kernels.top_k([1.0], 0).dtype == np.intp
    assert cf.kernels.top_k(np.zeros(0), 3).shape == (0,)
