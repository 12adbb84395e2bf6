"""The generators of the papers' own models, and the regret in the histories."""

import numpy as np
import pytest

import coactive_fast as cf
from coactive_fast import data

MAKERS = (data.make_confidit, data.make_filtering, data.make_simple_filter)


@pytest.mark.parametrize("alpha", [-0.5, 0.0, 0.25, 1.0])
@pytest.mark.parametrize("k, m", [(2, 1), (5, 5), (4, 7), (6, 3)])
def test_confidits_model_holds(alpha, k, m):
    X, _, U, chances = data.make_confidit(n_rows=300, n_features=8, n_informative=m, n_classes=k,
                                          alpha=alpha)
    close = {"rtol": 0.0, "atol": 1e-12}
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0, **close)
    scores = X @ U.T
    assert scores.min() >= -alpha - 1e-12
    np.testing.assert_allclose(scores.sum(axis=1), 1.0 + alpha - k * alpha, **close)
    np.testing.assert_allclose((alpha + scores) / (1.0 + alpha), chances, **close)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, **close)
    assert not U[:, m:].any()


def test_labels_come_as_often_as_their_chances_say():
    _, y, _, chances = data.make_confidit(n_rows=40_000, noise=0.3)
    for low in np.linspace(0.0, 0.7, 8):
        for i in range(5):
            there = (chances[:, i] >= low) & (chances[:, i] < low + 0.1)
            if there.sum() > 200:
                spread = np.sqrt(np.sum(chances[there, i] * (1.0 - chances[there, i])))
                gap = np.sum(y[there] == i) - np.sum(chances[there, i])
                assert abs(gap) < 5.0 * spread


def test_the_error_is_the_largest_distance_from_the_linear_model():
    errors = np.linspace(0.4, 0.0, 200)
    made = data.make_confidit(n_rows=200, alpha=0.5, error=errors)
    linear = (0.5 + made.features @ made.weights.T) / 1.5
    gap = np.abs(made.chances - linear).max(axis=1)
    assert (gap <= errors + 1e-12).all() and gap.max() > 0.2
    np.testing.assert_allclose(made.chances.sum(axis=1), 1.0)
    plain = data.make_confidit(n_rows=200, alpha=0.5)
    np.testing.assert_array_equal(made.features, plain.features)


def test_without_noise_a_pure_row_has_a_certain_label():
    made = data.make_confidit(n_rows=500, n_informative=1, n_features=3, noise=0.0)
    assert not made.labels.any()
    np.testing.assert_allclose(made.chances, np.eye(5)[np.zeros(500, int)], atol=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
def test_the_linear_model_of_relevance(gamma):
    X, relevant, u = data.make_filtering(n_rows=20_000, n_features=4, gamma=gamma)
    truth = X @ u
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0, atol=1e-12)
    assert abs(np.linalg.norm(u) - 1.0) < 1e-12
    assert np.abs(truth).min() >= gamma - 1e-12
    for low in np.linspace(-1.0, 0.8, 10):
        there = (truth >= low) & (truth <= low + 0.2)
        p = (1.0 + truth[there]) / 2.0
        assert abs(relevant[there].sum() - p.sum()) <= 5.0 * np.sqrt(np.sum(p * (1 - p))) + 1e-9
    assert abs(truth.mean()) < 0.05


def test_the_restricted_model_of_relevance():
    X, relevant, u = data.make_simple_filter(n_rows=20_000, p=0.3)
    assert (X == 1.0).all() and X.shape == (20_000, 1) and u[0] == 2.0 * 0.3 - 1.0
    assert abs(relevant.mean() - 0.3) < 0.02
    assert not data.make_simple_filter(p=0.0).relevant.any()
    assert data.make_simple_filter(p=1.0).relevant.all()


@pytest.mark.parametrize("make", MAKERS)
def test_seeds(make):
    for a, b in ((0, 0), (np.random.default_rng(4), np.random.default_rng(4))):
        for one, other in zip(make(seed=a), make(seed=b), strict=True):
            np.testing.assert_array_equal(one, other)
    assert (make(seed=1)[1] != make(seed=2)[1]).any()
    assert all(len(part) == 0 for part in make(n_rows=0)[:2])


@pytest.mark.parametrize("make, name, value", [
    (data.make_confidit, "n_informative", 9), (data.make_confidit, "n_features", 1),
    (data.make_confidit, "n_classes", 1), (data.make_confidit, "alpha", -1.0),
    (data.make_confidit, "alpha", 1.1), (data.make_confidit, "noise", 1.5),
    (data.make_confidit, "noise", np.nan), (data.make_confidit, "error", -0.1),
    (data.make_confidit, "error", [0.1, 0.2]), (data.make_confidit, "error", np.full(1000, 2.0)),
    (data.make_filtering, "gamma", 1.5), (data.make_filtering, "n_features", 1),
    (data.make_filtering, "n_rows", -1), (data.make_simple_filter, "p", 1.01),
    (data.make_simple_filter, "p", "x"), *((make, "seed", "x") for make in MAKERS),
])
def test_refused(make, name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        make(**{name: value})


# --- regret -----------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [
    lambda: cf.Confidit(5, covariance="full", eta=0.1), lambda: cf.Banditron(5, seed=1),
    lambda: cf.MulticlassAROW(5),
])
def test_the_regret_of_a_multiclass_run(learner):
    made = data.make_confidit(n_rows=300, noise=0.4)
    plain, told = learner(), learner()
    history = told.run(made.features, made.labels, epochs=2, chances=made.chances)
    without = plain.run(made.features, made.labels, epochs=2)
    np.testing.assert_array_equal(history.choices, without.choices)
    by_hand = [made.chances[t % 300].max() - made.chances[t % 300, history.choices[t]]
               for t in range(600)]
    np.testing.assert_array_equal(history.regret, by_hand)
    np.testing.assert_array_equal(history.cumulative_regret, np.cumsum(by_hand))
    np.testing.assert_allclose(made.regret(history.choices), by_hand, atol=1e-12)
    assert without.regret is None
    with pytest.raises(ValueError, match="chances"):
        _ = without.cumulative_regret
    assert type(history)(**history.to_dict()) == history
    best = made.chances.argmax(axis=1)
    assert not made.regret(best).any()


def test_with_an_error_the_regret_is_that_of_the_linear_rule():
    made = data.make_confidit(n_rows=2000, noise=0.4, error=0.5)
    best = (made.features @ made.weights.T).argmax(axis=1)
    assert not made.regret(best).any()
    assert made.regret(made.chances.argmax(axis=1)).min() < 0.0


@pytest.mark.parametrize("chances", [
    np.zeros((4, 2)), np.zeros((3, 3)), np.zeros(12), np.full((4, 3), -0.1),
    np.full((4, 3), np.nan), np.full((4, 3), np.inf), "x", [[1], [1, 2]],
    np.ma.masked_array(np.zeros((4, 3))),
])
def test_chances_refused(chances):
    learner = cf.Confidit(3)
    with pytest.raises((ValueError, TypeError), match="chances"):
        learner.run(np.eye(4), [0, 1, 2, 0], chances=chances)
    assert learner.rounds == 0


def test_the_regret_of_a_filter():
    """What the labels made of it is on average what the model expects."""
    expected, realised = [], []
    for seed in range(30):
        made = data.make_filtering(n_rows=400, seed=seed)
        history = cf.RidgeFilter(threshold_scale=0.0).run(*made[:2], u=made.weights)
        expected.append(made.regret(history.forwarded).sum())
        realised.append(history.cumulative_regret[-1])
    gap = np.array(realised) - expected
    assert abs(gap.mean()) < 4.0 * gap.std(ddof=1) / np.sqrt(len(gap))
    assert min(expected) >= 0.0


@pytest.mark.parametrize("made, name, value", [
    (data.make_confidit(n_rows=5), "choices", [5]), (data.make_confidit(n_rows=5), "choices", [-1]),
    (data.make_confidit(n_rows=0), "choices", [0]), (data.make_filtering(n_rows=5), "judged", [3]),
    (data.make_filtering(n_rows=5), "judged", [True] * 6),
])
def test_regret_refused(made, name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        made.regret(value)
