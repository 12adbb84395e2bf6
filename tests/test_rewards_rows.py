"""Rows of every form, given to the regression and the bandits."""

import numpy as np
import pytest
import scipy.sparse
from rewards_cases import MODULES, D, P, build
from row_cases import close, sparse_forms


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


@pytest.mark.parametrize("name", ["ucb", "ucb diagonal", "greedy", "context"])
@pytest.mark.parametrize("form", ["int32", "int64", "unsorted", "duplicates", "array", "csc"])
def test_sparse_actions_are_dense_actions(module, name, form, rng):
    dense, thin = build(module, "linear", name), build(module, "linear", name)
    for _ in range(12):
        X = np.where(rng.random((6, D)) < 0.5, 0.0, rng.standard_normal((6, D)))
        sparse = dict(sparse_forms(X))[form]
        words = {"context": rng.standard_normal(P)} if "context" in name else {}
        for got, expected in zip(thin.scores(sparse, **words), dense.scores(X, **words),
                                 strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)
        assert thin.choose(sparse, **words) == dense.choose(X, **words)
        thin.learn(sparse.tocsr()[2:3], 1.5, **words)
        dense.learn(X[2], 1.5, **words)
    close(thin.weights, dense.weights, 1e-12)


@pytest.mark.parametrize("kind", ["linear", "arms", "ridge"])
def test_forms_of_one_row(module, kind, rng):
    name = "identity" if kind == "ridge" else "ucb"
    x = rng.standard_normal(D).astype(np.float32)
    forms = [x, x.astype(float), x.tolist(), x[None], scipy.sparse.csr_matrix(x),
             np.repeat(x, 2)[::2]]
    found = []
    for form in forms:
        learner = build(module, kind, name)
        learner.learn(*((form, 2, 0.5) if kind == "arms" else (form, 0.5)))
        found.append(learner.weights)
    for weights in found[1:]:
        np.testing.assert_allclose(weights, found[0], rtol=1e-15)


@pytest.mark.parametrize("kind", ["linear", "arms", "ridge"])
def test_rows_that_widen(module, kind):
    """With max_features new columns begin as all did at the start."""
    def take(learner, x, y):
        learner.learn(*((x, 1, y) if kind == "arms" else (x, y)))

    name = "identity diagonal" if kind == "ridge" else "ucb diagonal"
    wide = build(module, kind, name, max_features=9)
    whole = build(module, kind, name)
    for t, width in enumerate((3, 2, 6, 4, 9)):
        x = np.arange(1.0, width + 1.0) * (-1.0) ** t
        take(wide, x, t - 2.0)
        take(whole, np.append(x, np.zeros(9 - width)), t - 2.0)
    close(wide.weights, whole.weights, 1e-12)
    with pytest.raises(ValueError, match="max_features"):
        take(wide, np.ones(10), 0.0)
