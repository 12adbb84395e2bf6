"""What the compiled bandits leave out, and in which form they read: the choice stays the same."""

import numpy as np
import pytest
import scipy.sparse

import coactive_fast as cf


@pytest.mark.parametrize("seed", range(12))
def test_widths_that_are_not_worked_out_change_no_choice(seed):
    """Against the scores of all actions, with ties, masks, contexts and every size of width."""
    rng = np.random.default_rng(seed)
    d, n, p = rng.integers(2, 40), int(rng.integers(17, 300)), int(rng.integers(0, 3))
    width = float(rng.choice([0.0, 0.05, 0.5, 3.0]))
    bandit = cf.LinearBandit(width=width, context_features=p, forget=(1.0, 0.95)[seed % 2])
    truth = rng.standard_normal(d)
    for t in range(50):
        X = rng.standard_normal((n, d)).round(0 if t % 3 == 0 else 9)
        X[rng.integers(n, size=3)] = X[5]
        words = {"context": rng.standard_normal(p)} if p else {}
        allowed = rng.random(n) < rng.choice([0.02, 0.9])
        allowed[rng.integers(n)] = True
        m, widths = bandit.scores(X, **words)
        best = int(np.argmax(np.where(allowed, m + width * widths, -np.inf)))
        assert bandit.choose(X, allowed=allowed, **words) == best
        assert bandit.probabilities(X, allowed=allowed, **words)[best] == 1.0
        assert bandit.choose(X.astype(np.float32), **words) in range(n)
        bandit.learn(X[best], float(X[best] @ truth + 0.1 * rng.standard_normal()), **words)


@pytest.mark.parametrize("context_features", [0, 2])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_forms_of_tables(covariance, context_features):
    """In place, strided, float32 and sparse: the same rows have the same scores."""
    rng = np.random.default_rng(3)
    bandit = cf.LinearBandit(covariance=covariance, context_features=context_features)
    X = np.where(rng.random((21, 13)) < 0.4, 0.0, rng.standard_normal((21, 13)).astype("f4"))
    words = {"context": np.array([0.5, -2.0])} if context_features else {}
    for row in X[:9]:
        bandit.learn(row, float(row.sum()), **words)
    m, widths = bandit.scores(X, **words)
    for other in (np.asfortranarray(X), X.astype(np.float32), np.repeat(X, 2, axis=0)[::2],
                  np.ascontiguousarray(X[:, ::-1])[:, ::-1], scipy.sparse.csr_matrix(X)):
        same_m, same_widths = bandit.scores(other, **words)
        np.testing.assert_allclose(same_m, m, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(same_widths, widths, rtol=1e-13)
        assert bandit.choose(other, **words) == bandit.choose(X, **words)
