"""`rank` and `ranking_features` against their slow twins, and the tie rule for equal rows."""

import nasty
import numpy as np
import pytest

import coactive_fast as cf


def check_rank(X, w, k):
    names = ("X", "w", "k")
    return nasty.agree(cf.kernels.rank, cf.reference.rank, (X, w, k), nasty.exactly, names)


def check_features(X, ranking, **k):
    functions = cf.kernels.ranking_features, cf.reference.ranking_features
    names = ("X", "ranking", "k")
    return nasty.agree(*functions, (X, ranking), nasty.within(1e-13), names, **k)


def distinct_order(X, w):
    """Whether no two different scores are so close that the order of summing could swap them."""
    scores = np.sort(np.asarray(X, dtype=float) @ w)
    gaps = np.diff(scores)
    return gaps.min(initial=1.0) > 1e-12 * np.abs(scores).max(initial=0.0)


@pytest.mark.parametrize("k", [0, 1, 5, 20])
@pytest.mark.parametrize("w", **nasty.cases(nasty.vectors(6)))
def test_nasty_weights(w, k, rng):
    check_rank(rng.standard_normal((9, 6)), w, k)


@pytest.mark.parametrize("k", [1, 5, 20])
@pytest.mark.parametrize("X", **nasty.cases(nasty.matrices((9, 6))))
def test_nasty_rows(X, k):
    # powers of two: every product is exact, so ties among integers stay ties
    check_rank(X, 2.0 ** np.arange(6), k)


@pytest.mark.parametrize("k", **nasty.cases(nasty.counts()))
def test_nasty_k(k, rng):
    check_rank(rng.standard_normal((4, 3)), np.ones(3), k)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("N", [0, *nasty.SIZES, 700])
def test_sizes(N, dtype, rng):
    for n in (0, 1, 2, 3, 4, 5, 7, 8, 9, 24, 33):
        X, w = rng.standard_normal((n, N)).astype(dtype), rng.standard_normal(N)
        assert N == 0 or distinct_order(X, w)
        for k in (1, 5, n):
            check_rank(X, w, k)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("N", [1, 3, 8, 46, 136, 700])
def test_equal_rows_have_equal_scores(N, dtype, rng):
    # a row's score may not depend on its place: not on alignment, not on blocks of rows
    different = rng.standard_normal((5, N)).astype(dtype)
    which = rng.integers(0, 5, 123)
    w = rng.standard_normal(N)
    got = cf.kernels.rank(different[which], w, 123)
    best_first = cf.reference.rank(different, w, 5)
    expected = [i for row in best_first for i in np.flatnonzero(which == row)]
    assert got.tolist() == expected


def test_float32_rows_are_summed_in_float64(rng):
    X, w = rng.standard_normal((200, 136)).astype(np.float32), rng.standard_normal(136)
    assert distinct_order(X, w)
    wide = cf.kernels.rank(X.astype(np.float64), w, 200)
    np.testing.assert_array_equal(cf.kernels.rank(X, w, 200), wide)


def test_permuting_rows_permutes_the_result(rng):
    X, w, order = rng.standard_normal((60, 17)), rng.standard_normal(17), rng.permutation(60)
    np.testing.assert_array_equal(order[cf.kernels.rank(X[order], w, 9)], cf.kernels.rank(X, w, 9))


def test_no_weights_yet_keeps_the_given_order(rng):
    assert cf.kernels.rank(rng.standard_normal((6, 3)), np.zeros(3), 6).tolist() == [*range(6)]


@pytest.mark.parametrize("module", [cf.kernels, cf.reference], ids=["kernels", "reference"])
def test_a_score_that_is_not_a_number_is_refused(module):
    with pytest.raises(ValueError, match=r"\b(X|w)\b"):
        module.rank([[1.0, np.inf], [1.0, 2.0]], [1.0, 0.0], 1)
    with pytest.raises(ValueError, match=r"\b(X|w)\b"):
        module.rank([[-np.inf, np.inf]], [1.0, 1.0], 1)


@pytest.mark.parametrize("module", [cf.kernels, cf.reference], ids=["kernels", "reference"])
def test_a_wrong_length_is_told_with_both_numbers(module):
    with pytest.raises(ValueError, match=r"(?s)(?=.*\b4\b)(?=.*\b3\b)"):
        module.rank(np.ones((2, 3)), np.ones(4), 1)


@pytest.mark.parametrize("X", **nasty.cases(nasty.matrices((9, 6))))
def test_features_of_nasty_rows(X):
    check_features(X, np.array([3, 0, 8]), k=5)


@pytest.mark.parametrize("k", **nasty.cases(nasty.counts()))
def test_features_of_nasty_k(k, rng):
    check_features(rng.standard_normal((4, 3)), np.array([2, 1, 3]), k=k)


RANKINGS = {
    "a list": [2, 0, 1],
    "byte-swapped": np.array([2, 0, 1], dtype=np.dtype("i4").newbyteorder()),
    "strided": np.array([2, 9, 0, 9, 1, 9])[::2],
    "int8": np.array([1, 2], dtype=np.int8),
    "uint64": np.array([1, 2], dtype=np.uint64),
    "no places": np.zeros(0, dtype=np.int64),
    "an empty list": [],
    "repeated later only": [0, 1, 2, 1],
    "out of range later only": [0, 1, 2, 9],
    "repeated": [0, 1, 0],
    "too large": [0, 4],
    "far too large": np.array([2**64 - 1], dtype=np.uint64),
    "negative": [0, -1],
    "floats": [0.0, 1.0],
    "bools": np.array([True, False]),
    "strings": ["0", "1"],
    "None": None,
    "ragged": [[0, 1], [2]],
    "0-d": np.array(1),
    "2-D": [[0, 1]],
}


@pytest.mark.parametrize("ranking", **nasty.cases(RANKINGS.items()))
def test_features_of_nasty_rankings(ranking, rng):
    check_features(rng.standard_normal((4, 7)), ranking, k=3)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_of_a_document_that_does_not_count(value, rng):
    X = rng.standard_normal((6, 4))
    X[5, 2] = value
    check_features(X, [0, 1, 5], k=2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("N", nasty.SIZES)
def test_features_sizes(N, dtype, rng):
    X = rng.standard_normal((30, N)).astype(dtype)
    for k in (1, 2, 5, 30, 40):
        assert check_features(X, rng.permutation(30), k=k) is not None
    assert check_features(X, rng.permutation(30)) is not None  # k has a default


def test_features_are_linear_in_the_rows(rng):
    X, Y, ranking = rng.standard_normal((8, 5)), rng.standard_normal((8, 5)), rng.permutation(8)
    phi = cf.kernels.ranking_features
    nasty.within(1e-13)(phi(X + Y, ranking), phi(X, ranking) + phi(Y, ranking))
