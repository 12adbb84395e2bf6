"""The regression as a scikit-learn regressor: its own checks, and the learner behind it."""

import pickle

import numpy as np
import pytest
import scipy.sparse

pytest.importorskip("sklearn")

from sklearn.linear_model import Ridge  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from coactive_fast.adapters.sklearn import OnlineRidgeRegressor  # noqa: E402

# the diagonal's steps depend on their order and are not those of a row that comes twice
ORDERED = ("check_sample_weight_equivalence_on_dense_data",
           "check_sample_weight_equivalence_on_sparse_data")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("words", [{}, {"covariance": "diagonal"}, {"fit_intercept": False}],
                         ids=str)
def test_the_checks_of_scikit_learn(words):
    found = check_estimator(OnlineRidgeRegressor(**words), on_fail=None)
    assert len(found) > 40
    failed = {f["check_name"] for f in found if f["status"] not in ("passed", "skipped")}
    assert failed == (set(ORDERED) if "covariance" in words else set())


def made(rng, n=60):
    X = rng.standard_normal((n, 4))
    return X, X @ [1.0, -2.0, 0.0, 0.5] + 3.0 + 0.1 * rng.standard_normal(n), rng.random(n)


def test_it_is_scikit_learns_ridge(rng):
    """Without an intercept, which is not regularised there."""
    X, y, weight = made(rng)
    ours = OnlineRidgeRegressor(ridge=2.0, fit_intercept=False).fit(X, y, sample_weight=weight)
    theirs = Ridge(alpha=2.0, fit_intercept=False).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)
    assert ours.intercept_ == 0.0
    weak = OnlineRidgeRegressor(ridge=1e-8).fit(X, y)
    free = Ridge(alpha=1e-8).fit(X, y)
    assert weak.intercept_ == pytest.approx(free.intercept_, rel=1e-6)
    np.testing.assert_allclose(weak.coef_, free.coef_, rtol=1e-5)


def test_partial_fit_is_fit_in_parts(rng):
    X, y, weight = made(rng)
    for words in ({}, {"covariance": "diagonal", "forget": 0.95}, {"fit_intercept": False}):
        whole, parts = OnlineRidgeRegressor(**words), OnlineRidgeRegressor(**words)
        whole.fit(X, y, sample_weight=weight)
        for rows in (slice(0, 20), slice(20, 21), slice(21, None)):
            parts.partial_fit(X[rows], y[rows], sample_weight=weight[rows])
        np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
        np.testing.assert_array_equal(whole.fit(X, y).predict(X), parts.fit(X, y).predict(X))


def test_sparse_rows_spreads_and_copies(rng):
    X, y, _ = made(rng)
    model = OnlineRidgeRegressor(noise=0.5).fit(X, y)
    thin = OnlineRidgeRegressor(noise=0.5).fit(scipy.sparse.csr_matrix(X), y)
    mean, std = model.predict(X, return_std=True)
    for table in (X, scipy.sparse.csc_matrix(X)):
        np.testing.assert_allclose(thin.predict(table), mean, rtol=1e-10)
    ones = np.hstack([X, np.ones((60, 1))])
    A = np.eye(5) + ones.T @ ones
    q = np.einsum("ni,ij,nj->n", ones, np.linalg.inv(A), ones)
    np.testing.assert_allclose(std, 0.5 * np.sqrt(q), rtol=1e-9)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), mean)


def test_in_a_pipeline_and_a_search(rng):
    X, y, _ = made(rng)
    model = make_pipeline(StandardScaler(), OnlineRidgeRegressor())
    found = GridSearchCV(model, {"onlineridgeregressor__ridge": [0.1, 1e4]}, cv=3).fit(X, y)
    assert found.best_params_ == {"onlineridgeregressor__ridge": 0.1} and found.best_score_ > 0.9


def test_logistic_targets(rng):
    X, y, _ = made(rng)
    share = 1.0 / (1.0 + np.exp(-y))
    model = OnlineRidgeRegressor(link="logistic").fit(X, share)
    found = model.predict(X)
    assert (found > 0.0).all() and (found < 1.0).all() and np.corrcoef(found, share)[0, 1] > 0.9
    before = model.predict(X)
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=r"\by\b"):
            call(X, share + 1.0)
    np.testing.assert_array_equal(model.predict(X), before)


def test_parameters_are_refused_by_fit(rng):
    X, y, weight = made(rng)
    for words, named in (({"ridge": 0.0}, "ridge"), ({"link": "probit"}, "link"),
                         ({"fit_intercept": "yes"}, "fit_intercept"), ({"noise": -1.0}, "noise"),
                         ({"covariance": "kernel"}, "covariance"), ({"forget": 2.0}, "forget")):
        with pytest.raises((TypeError, ValueError), match=named):
            OnlineRidgeRegressor(**words).fit(X, y)
    with pytest.raises(ValueError):
        OnlineRidgeRegressor().fit(X, y, sample_weight=-weight)
