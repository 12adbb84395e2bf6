"""`BanditLog`: what it keeps, what it refuses; folds by the hash of a group."""

import numpy as np
import pytest
import scipy.sparse
from logs_cases import arrays, log_of, sparse
from row_cases import sparse_forms
from test_package_import import python

import coactive_fast as cf
from coactive_fast.logs import BanditLog
from coactive_fast.logs._evaluate import folds_of

twin = cf.reference.logs


@pytest.fixture
def given(rng):
    return arrays(rng, 20, p=2, groups="numbers")


# --- what is kept ---------------------------------------------------------------------------


def test_arrays_are_kept(given):
    log = log_of(given, feature_names=list("abcd"), context_names=("x", "y"))
    for name, value in given.items():
        np.testing.assert_array_equal(getattr(log, name), value)
    assert np.shares_memory(log.features, given["features"])
    assert np.shares_memory(log.context, given["context"])
    assert len(log) == 20 and log.n_actions == given["offsets"][-1]
    assert (log.n_features, log.n_context) == (4, 2)
    assert (log.feature_names, log.context_names) == (tuple("abcd"), ("x", "y"))
    for name in given:
        with pytest.raises(ValueError, match="read-only"):
            getattr(log, name)[0] = 0


def test_float32_and_lists(given):
    thin = log_of(given, features=given["features"].astype(np.float32))
    assert thin.features.dtype == np.float32
    plain = BanditLog([[1], [2]], [0, 2], [1], [3], [0.5], context=[[1]], groups=["a"])
    assert plain.features.dtype == plain.reward.dtype == np.float64
    assert plain.chosen.dtype == plain.offsets.dtype == np.int64
    assert plain.groups.tolist() == ["a"]
    assert BanditLog([[1.0]], [0, 1], [0], [1.0], [1.0]).context is None


@pytest.mark.parametrize("form", ["int32", "int64", "unsorted", "duplicates", "array", "csc"])
def test_sparse_rows(given, form):
    forms = dict(sparse_forms(given["features"]))
    before = forms[form].copy()
    log = log_of(given, features=forms[form])
    assert isinstance(log.features, scipy.sparse.csr_array)
    assert log.features.has_canonical_format
    np.testing.assert_allclose(log.features.toarray(), given["features"])
    assert (forms[form] != before).nnz == 0
    np.testing.assert_allclose(log[3:5].features.toarray(), log_of(given)[3:5].features)


def test_slices(given):
    log = log_of(given, feature_names=list("abcd"))
    part = log[5:12]
    begin, end = given["offsets"][5], given["offsets"][12]
    np.testing.assert_array_equal(part.features, given["features"][begin:end])
    np.testing.assert_array_equal(part.offsets, given["offsets"][5:13] - begin)
    for name in ("chosen", "reward", "probability", "context", "groups"):
        np.testing.assert_array_equal(getattr(part, name), given[name][5:12])
    assert np.shares_memory(part.features, given["features"]) and len(part) == 7
    assert part.feature_names == log.feature_names
    for bad, kind in ((3, TypeError), (slice(0, 9, 2), ValueError), (slice(4, 4), ValueError)):
        with pytest.raises(kind, match="slice"):
            log[bad]


def test_repr(given):
    assert repr(log_of(given)).startswith("BanditLog(20 rounds, ")
    assert "2 of context" in repr(log_of(given)) and "sparse" in repr(log_of(sparse(given)))


def test_groups_of_any_kind(given):
    for groups, kind in ((np.arange(20, dtype=np.int8), "i"), (np.arange(20, dtype=np.uint64), "u"),
                         (list(range(20)), "i"), (np.array(list("ab") * 10, dtype=object), "U"),
                         (np.array(list("ab") * 10, dtype=">U1"), "U")):
        log = log_of(given, groups=groups)
        assert log.groups.dtype.kind == kind and log.groups.dtype.isnative
        assert log.groups.tolist() == list(groups)


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize("name, value, named", [
    ("features", np.zeros(5), "features"), ("features", np.zeros((0, 3)), "offsets"),
    ("features", "rows", "features"), ("context", np.zeros((19, 2)), "context"),
    ("context", np.zeros((20, 0)), "context"), ("chosen", np.zeros(19, dtype=int), "chosen"),
    ("chosen", np.zeros(20), "chosen"), ("chosen", np.full(20, 5), "chosen"),
    ("chosen", np.full(20, -1), "chosen"), ("reward", np.zeros(19), "reward"),
    ("reward", np.full(20, np.nan), "reward"), ("reward", np.full(20, np.inf), "reward"),
    ("reward", ["1"] * 20, "reward"), ("probability", np.zeros(20), "probability"),
    ("probability", np.full(20, 1.0 + 1e-12), "probability"),
    ("probability", np.full(20, -0.5), "probability"),
    ("probability", np.full(20, np.nan), "probability"),
    ("groups", np.zeros(20), "groups"), ("groups", np.zeros(19, dtype=int), "groups"),
    ("groups", [True] * 20, "groups"), ("groups", ["a", 1] * 10, "groups"),
    ("groups", [None] * 20, "groups"), ("groups", np.zeros((20, 1), dtype=int), "groups"),
    ("feature_names", "abcd", "feature_names"), ("feature_names", list("abc"), "feature_names"),
    ("feature_names", [1, 2, 3, 4], "feature_names"), ("context_names", ["x"], "context_names"),
    ("reward", np.ma.masked_array(np.zeros(20), np.arange(20) == 3), "reward"),
    ("features", scipy.sparse.csr_matrix(np.full((70, 1), np.nan)), "features"),
])
def test_bad_arguments(given, name, value, named):
    with pytest.raises((ValueError, TypeError), match=rf"^{named}\b"):
        log_of(given, **{name: value})


@pytest.mark.parametrize("offsets", [[0], [], [0, 1], [1, 2, 3], [0, 2, 2, 3], [0, 3, 2],
                                     [0.0, 1.0, 3.0], [[0, 3]], [0, 1, 2, 4]])
def test_bad_offsets(offsets):
    with pytest.raises((ValueError, TypeError), match=r"^(offsets|chosen)\b"):
        BanditLog(np.ones((3, 1)), offsets, [0, 0], [1.0, 1.0], [1.0, 1.0])


def test_names_without_a_context():
    with pytest.raises(ValueError, match="context_names"):
        BanditLog([[1.0]], [0, 1], [0], [1.0], [1.0], context_names=["x"])


# --- folds ----------------------------------------------------------------------------------


def test_the_hash_is_the_one_of_its_authors():
    """SplitMix64's first outputs for the seeds 0 and 1234567; FNV-1a of "" is its basis."""
    fold_of = twin.fold_of
    assert fold_of(0, 2**64) == 0xE220A8397B1DCDAF
    assert fold_of(1234567, 2**64) == 6457827717110365317
    assert fold_of("a", 2**64) == fold_of(0xAF63DC4C8601EC8C, 2**64)
    assert fold_of("", 2**64) == fold_of(0xCBF29CE484222325, 2**64)


@pytest.mark.parametrize("groups", [
    None, np.arange(-10, 10), np.arange(20, dtype=np.uint64) + np.uint64(2**63),
    ["", "a", "user 7", "Łódź", "中文", "🙂"] * 3 + ["a", "b"],
], ids=["none", "negative", "large", "strings"])
@pytest.mark.parametrize("folds", [2, 3, 10])
def test_folds_are_those_of_the_twin(given, groups, folds):
    log = log_of(given, groups=groups)
    each = range(20) if groups is None else log.groups.tolist()
    expected = [twin.fold_of(group, folds) for group in each]
    assert folds_of(log, folds).tolist() == expected


def test_folds_are_even(rng):
    given = arrays(rng, 3000, d=1)
    for groups in (None, [f"session-{i}" for i in range(3000)]):
        sizes = np.bincount(folds_of(log_of(given, groups=groups), 3))
        assert abs(sizes - 1000).max() < 120


# --- the docstrings -------------------------------------------------------------------------


def test_everything_public_has_an_example():
    for name in cf.logs.__all__:
        assert ">>>" in getattr(cf.logs, name).__doc__, name
    for module in (cf.logs, twin):
        assert set(module.__all__) <= set(dir(module))


def test_loaded_when_asked_for(tmp_path):
    code = ("import sys, coactive_fast as cf; assert 'coactive_fast.logs' not in sys.modules\n"
            "print(cf.logs.BanditLog.__name__, 'logs' in dir(cf))")
    done = python(code, cwd=tmp_path)
    assert done.stdout.split() == ["BanditLog", "True"], done.stderr
