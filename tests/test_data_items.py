"""MovieLens files, factorisation, each user's own fit, generators."""

import gzip
import io
import os
from pathlib import Path

import children
import numpy as np
import pytest
import scipy.sparse

from coactive_fast import _memory, data

DATA = os.environ.get("COACTIVE_DATA")
real = pytest.mark.skipif(not DATA, reason="COACTIVE_DATA does not name the folder of the data")


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [
    b"7::3::4::0\n2::9::1.5::0\n7::9::5\n", b"userId,movieId,rating,timestamp\n7,3,4,0\n2,9,1.5,0\n"
    b"7,9,5,0", b"7\t3\t4\t0\r\n\r\n2\t9\t1.5\t0\r\n7\t9\t5\t0\r\n",
])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ratings(content, dtype):
    ratings, users, items = data.load_movielens(io.BytesIO(content), dtype=dtype)
    assert ratings.dtype == dtype and scipy.sparse.isspmatrix_csr(ratings)
    np.testing.assert_array_equal(ratings.toarray(), [[0, 1.5], [4, 5]])
    assert users.tolist() == [2, 7] and items.tolist() == [3, 9]


class Cut(io.BytesIO):
    """A file that gives so many bytes at a time at most."""

    def __init__(self, content, size):
        super().__init__(content)
        self.size = size

    def readinto(self, buffer):
        return super().readinto(memoryview(buffer)[:self.size])


def test_ratings_in_pieces(tmp_path):
    lines = [f"{u}::{i}::{(u + i) % 5 + 1}::9\n" for u in range(30) for i in range(u, 30)]
    content = "".join(lines).encode()
    expected = [(u + i) % 5 + 1 for u in range(30) for i in range(u, 30)]

    for size in (1, 7, 100, 10**6):
        np.testing.assert_array_equal(data.load_movielens(Cut(content, size))[0].data,
                                      expected)
    (tmp_path / "r.gz").write_bytes(gzip.compress(content))
    np.testing.assert_array_equal(data.load_movielens(tmp_path / "r.gz")[0].data, expected)


@pytest.mark.parametrize("content, message", [
    (b"1::2::3::0\n1::x::3::0\n", r"line 2: expected user::item::rating in '1::x::3::0'"),
    (b"1::2::nan::0\n", "line 1: expected user::item::rating"),
    (b"1::2::3::0\n2::5::1::0\n1::2::4::0\n", "user 1 rates item 2 twice"),
])
def test_bad_ratings(content, message):
    with pytest.raises(ValueError, match=message):
        data.load_movielens(io.BytesIO(content))


def test_no_ratings():
    ratings, users, items = data.load_movielens(io.BytesIO(b""))
    assert ratings.shape == (0, 0) and users.size == items.size == 0


@real
def test_movielens_1m():
    ratings, users, items = data.load_movielens(Path(DATA) / "ml-1m" / "ratings.dat.gz")
    assert ratings.shape == (6040, 3706) and ratings.nnz == 1_000_203
    assert np.bincount(ratings.data.astype(int))[1:].tolist() == [56174, 107557, 261195, 348969,
                                                                  226308]
    assert np.diff(ratings.indptr).min() >= 20 and users[0] == 1 and items[-1] == 3952


# --- factorisation --------------------------------------------------------------------------------


def made(seed=0):
    return data.make_items(n_items=150, n_users=90, n_features=6, ratings_per_user=40, seed=seed)


def objective(ratings, items, users, weight):
    coo = ratings.tocoo()
    errors = coo.data - np.einsum("ij,ij->i", users[coo.row], items[coo.col])
    by_user, by_item = np.bincount(coo.row, minlength=len(users)), np.bincount(
        coo.col, minlength=len(items))
    return (errors**2).sum() + weight * ((by_user @ users**2).sum() + (by_item @ items**2).sum())


def exact_sweep(ratings, items, weight):
    """One sweep as it is written down, user by user and item by item."""
    def half(matrix, others):
        rows = []
        for one in matrix.toarray():
            own = np.flatnonzero(one)
            gram = others[own].T @ others[own] + weight * own.size * np.eye(others.shape[1])
            rows.append(np.linalg.solve(gram, others[own].T @ one[own]) if own.size
                        else np.zeros(others.shape[1]))
        return np.array(rows)

    users = half(ratings, items)
    return half(ratings.T, users), users


def test_sweeps_are_those_of_the_definition():
    """Rows of no rating, of one segment, of exactly one, and of several."""
    ratings = made().ratings.tolil()
    ratings[4, :65] = 3.0
    ratings[5, :] = 2.0
    ratings[3] = 0.0
    ratings[:, 5] = 0.0
    ratings = ratings.tocsr()
    ratings.eliminate_zeros()
    items, users = data.factorize(ratings, rank=4, sweeps=1, seed=3)
    for sweeps in (2, 3):
        expected_items, expected_users = exact_sweep(ratings, items, 0.1)
        items, users = data.factorize(ratings, rank=4, sweeps=sweeps, seed=3)
        np.testing.assert_allclose(users, expected_users, atol=1e-10)
        np.testing.assert_allclose(items, expected_items, atol=1e-10)
    assert not users[3].any() and not items[5].any()


def test_the_objective_falls():
    ratings = made().ratings
    found = [objective(ratings, *data.factorize(ratings, rank=5, sweeps=n, regularization=0.05),
                       0.05) for n in range(1, 6)]
    assert all(b < a for a, b in zip(found, found[1:], strict=False))


def test_the_same_whatever_the_threads_and_the_form():
    ratings = made().ratings
    items, users = data.factorize(ratings, rank=3, sweeps=2)
    dense = ratings.toarray()
    dense[dense == 0.0] = np.nan
    for other, jobs in ((ratings, 2), (dense, 1), (ratings.tocsc(), -1),
                        (ratings.astype(np.float32), 1)):
        again = data.factorize(other, rank=3, sweeps=2, n_jobs=jobs)
        np.testing.assert_array_equal(again[0], items)
        np.testing.assert_array_equal(again[1], users)
    assert (data.factorize(ratings, rank=3, sweeps=2, seed=1)[0] != items).any()


def test_a_stored_zero_is_a_rating():
    table = scipy.sparse.csr_matrix(([0.0, 4.0], [0, 1], [0, 2]), shape=(1, 2))
    items, users = data.factorize(table, rank=1, sweeps=30, regularization=1e-3)
    np.testing.assert_allclose(users @ items.T, [[0.0, 4.0]], atol=0.02)


def test_progress_and_its_errors():
    calls = []
    data.factorize(made().ratings, rank=2, sweeps=3, progress=lambda *args: calls.append(args))
    assert calls == [(1, 3), (2, 3), (3, 3)]

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        data.factorize(made().ratings, rank=2, progress=stop)


@pytest.mark.parametrize("options, message", [
    ({"rank": 0}, "rank"), ({"rank": 1.5}, "rank"), ({"regularization": 0}, "regularization"),
    ({"regularization": np.nan}, "regularization"), ({"sweeps": 0}, "sweeps"),
    ({"seed": -1}, "seed"), ({"n_jobs": 0}, "n_jobs"), ({"progress": 3}, "progress"),
    ({"ratings": [1.0, 2.0]}, "ratings"), ({"ratings": [[np.inf]]}, "ratings must be finite"),
    ({"ratings": [["a"]]}, "ratings"), ({"ratings": scipy.sparse.eye(2, dtype=complex)}, "ratings"),
])
def test_bad_arguments(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        data.factorize(options.pop("ratings", np.ones((2, 2))), **options)


def too_many_factors(rank):
    """More than memory, so many that their square overflows an int of C."""
    _memory.limit = 2.0**30
    with pytest.raises(MemoryError, match=f"{rank} features for each of 2 users and 2 items"):
        data.factorize([[1.0, 2.0], [3.0, 4.0]], rank=rank)


@children.forks
@pytest.mark.parametrize("rank", [2**14, 2**16, 2**31, 2**60])
def test_more_factors_than_memory(rank):
    children.run(too_many_factors, rank, memory=2**30)


def test_fit_user_weights(rng):
    ratings, features = made().ratings, rng.standard_normal((150, 45))  # some users: too few
    weights = data.fit_user_weights(ratings, features)
    for user in range(0, 90, 7):
        row = ratings[[user]]
        expected = np.linalg.pinv(features[row.indices]) @ row.data
        np.testing.assert_allclose(weights[user], expected, atol=1e-9)
    assert not data.fit_user_weights(np.full((1, 150), np.nan), features).any()
    with pytest.raises(ValueError, match="item_features must have length 150"):
        data.fit_user_weights(ratings, features[1:])
    with pytest.raises(ValueError, match="item_features must be finite"):
        data.fit_user_weights(ratings, np.full((150, 2), np.nan))


# --- generators -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_make_ranking(dtype):
    ranking = data.make_ranking(n_queries=400, n_features=30, dtype=dtype)
    assert len(ranking) == 400 and ranking.features.dtype == dtype
    lengths = np.diff(ranking.offsets)
    assert lengths.min() >= 1 and 20 < lengths.mean() < 28 and lengths.max() > 50
    assert ranking.features.min() == 0.0 and ranking.features.max() <= 1.0
    assert 0.27 < (ranking.features > 0).mean() < 0.33
    shares = np.bincount(ranking.relevance.astype(int)) / ranking.n_documents
    np.testing.assert_allclose(shares, [0.26, 0.36, 0.28, 0.08, 0.02], atol=1e-3)
    scores = ranking.features @ ranking.fit_weights()
    assert np.corrcoef(scores, ranking.relevance)[0, 1] > 0.6


def test_make_ranking_is_determined_by_its_seed():
    options = {"n_queries": 50, "n_features": 9}
    a, b = data.make_ranking(**options), data.make_ranking(**options)
    np.testing.assert_array_equal(a.features, b.features)
    np.testing.assert_array_equal(a.relevance, b.relevance)
    rng = np.random.default_rng(0)
    c = data.make_ranking(**options, seed=rng)
    np.testing.assert_array_equal(c.features, a.features)
    assert rng.random() == np.random.default_rng(0).random()  # the generator given is not used up
    assert data.make_ranking(**options, seed=1).features.shape != a.features.shape
    sizes = data.make_ranking(n_queries=3, n_features=2, documents=[5, 1, 2])
    assert sizes.offsets.tolist() == [0, 5, 6, 8]
    assert data.make_ranking(n_queries=3, n_features=2, documents=1).n_documents == 3
    exact = data.make_ranking(n_queries=40, n_features=3, noise=0)
    assert len(np.unique(exact.relevance)) == 5


def test_make_items():
    made = data.make_items(n_items=500, n_users=300, n_features=8, ratings_per_user=60)
    features, weights, ratings = made
    assert features.shape == (500, 8) and weights.shape == (300, 8) and ratings.shape == (300, 500)
    counts = np.diff(ratings.indptr)
    assert counts.min() >= 20 and 50 < counts.mean() < 70 and ratings.has_canonical_format
    assert set(np.unique(ratings.data)) == {1.0, 2.0, 3.0, 4.0, 5.0}
    rows = np.repeat(np.arange(300), counts)
    utility = np.einsum("ij,ij->i", weights[rows], features[ratings.indices])
    assert np.corrcoef(utility, ratings.data)[0, 1] > 0.7
    popularity = np.sort(np.bincount(ratings.indices, minlength=500))
    assert popularity[-50:].sum() > 3 * popularity[:50].sum()
    again = data.make_items(n_items=500, n_users=300, n_features=8, ratings_per_user=60)
    np.testing.assert_array_equal(again.features, features)
    assert (again.ratings != ratings).nnz == 0
    exact = data.make_items(n_items=5, n_users=3, n_features=1, ratings_per_user=[0, 5, 2])
    assert np.diff(exact.ratings.indptr).tolist() == [0, 5, 2]
    assert data.make_items(n_items=4, n_users=2, n_features=2).ratings.nnz == 8


@pytest.mark.parametrize("make, options, message", [
    (data.make_ranking, {"n_queries": 0}, "n_queries"),
    (data.make_ranking, {"n_features": 0}, "n_features"),
    (data.make_ranking, {"n_queries": 2, "documents": 0.5}, "documents"),
    (data.make_ranking, {"n_queries": 2, "documents": [1]}, "documents must have length 2"),
    (data.make_ranking, {"n_queries": 2, "documents": [1, 0]}, "documents must be >= 1"),
    (data.make_ranking, {"dtype": int}, "dtype"),
    (data.make_ranking, {"noise": -1}, "noise"),
    (data.make_items, {"n_items": 0}, "n_items"),
    (data.make_items, {"n_users": True}, "n_users"),
    (data.make_items, {"n_users": 1, "ratings_per_user": -1}, "ratings_per_user"),
    (data.make_items, {"n_users": 1, "n_items": 3, "ratings_per_user": [4]}, "ratings_per_user"),
    (data.make_items, {"seed": "x"}, "seed"),
])
def test_bad_sizes(make, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make(**options)
