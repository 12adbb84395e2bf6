"""Laws of what coactive learning is compared with: dueling bandit, ranking SVM."""

import copy
import functools
import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from coactive_cases import Recorder, make_data, modules


@modules
def test_interleaving_keeps_teams_even_and_order(module, rng):
    x = rng.standard_normal((11, 3))
    learner = module.DuelingBandit(module.Ranking(k=5), explore=5.0, step=0.25, seed=1)
    moved = 0
    for _ in range(50):
        before = learner.weights if learner.rounds else np.zeros(3)
        draws = copy.deepcopy(learner.rng)
        shown = learner.present(x)
        u = draws.standard_normal(3)
        u /= np.linalg.norm(u)
        own = np.argsort(-(x @ before), kind="stable").tolist()
        other = np.argsort(-(x @ (before + 5.0 * u)), kind="stable").tolist()
        team = {}
        for place, document in enumerate(shown.tolist()):
            if place % 2 == 0:
                turn = own if draws.random() < 0.5 else other
            else:
                turn = other if turn is own else own
            assert document == next(d for d in turn if d not in team)
            team[document] = turn is other
        better = rng.permutation(11)
        won = sum(team[d] for d in better[:5].tolist())
        learner.learn(x, shown, better)
        step = 0.25 if won > 2 else 0.0
        moved += won > 2
        np.testing.assert_allclose(learner.weights, before + step * u, atol=1e-14)
    assert 10 < moved < 40 and learner.rounds == 50


@modules
def test_dueling_items(module, rng):
    items = rng.standard_normal((7, 3))
    learner = module.DuelingBandit(module.Items(items), explore=3.0, step=0.5, seed=2)
    wins = 0
    for _ in range(20):
        before = learner.weights
        pair = learner.present([1, 2, 4, 6])
        assert pair.shape == (2,) and pair[0] == max([1, 2, 4, 6], key=lambda i: items[i] @ before)
        learner.learn([1, 2, 4, 6], pair, pair[1])
        wins += pair[0] != pair[1]
        moved = np.linalg.norm(learner.weights - before)
        np.testing.assert_allclose(moved, 0.5 if pair[0] != pair[1] else 0.0, atol=1e-12)
    assert wins > 0


@modules
def test_dueling_contract(module, rng):
    x = rng.standard_normal((6, 3))
    learner = module.DuelingBandit(module.Ranking(), seed=0)
    with pytest.raises(ValueError, match="present"):
        learner.learn(x, np.arange(6), np.arange(6))
    learner.present(x)
    shown = learner.present(x, k=4)  # replaces the first
    state = learner.rng.bit_generator.state
    for y, better, name in [
        (shown[::-1], shown, "y"),
        ([], shown, "y"),
        (shown, [0, 0], "better"),
        (shown, [6], "better"),
    ]:
        with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b"):
            learner.learn(x, y, better)
    for bad in (x[:, :2], x * np.nan):
        with pytest.raises(ValueError, match=r"\bx\b"):
            learner.present(bad)
    assert learner.rounds == 0 and learner.rng.bit_generator.state == state
    learner.learn(x, shown, shown)
    assert learner.rounds == 1
    with pytest.raises(ValueError, match="present"):
        learner.learn(x, shown, shown)
    learner = module.DuelingBandit(module.Items(x), seed=0)
    pair = learner.present(None)
    outside = next(i for i in range(6) if i not in pair)
    with pytest.raises(ValueError, match="better"):
        learner.learn(None, pair, outside)
    with pytest.raises(ValueError, match=r"\by\b"):
        learner.learn(None, pair[:1], pair[0])
    with pytest.raises(TypeError, match="task"):
        module.DuelingBandit(SimpleNamespace(dimension=1, features=len, argmax=len))


@modules
def test_dueling_in_simulations(module, rng):
    data = make_data(rng)
    user = module.users.AlphaInformative(1.0, weights=data.fitted)
    learner = module.DuelingBandit(module.Ranking(), seed=3, step=0.5)
    order = np.tile(np.arange(30), 10)
    regret = module.simulate(learner, data, user, order=order).regret
    assert (regret > -1e-12).all() and regret[-60:].mean() < regret[:60].mean()
    items, w = rng.standard_normal((20, 3)), rng.standard_normal(3)
    user = Recorder(module.users.AlphaInformative(1.0))
    learner = module.DuelingBandit(module.Items(items), seed=3)
    history = module.simulate_items(learner, items, [w], user, rounds=8)
    left = set(range(20))
    for t, (query, pair, better) in enumerate(user.rounds):
        u = query.utilities
        assert better == pair[int(u[pair[1]] > u[pair[0]])]
        np.testing.assert_allclose(history.utility[t], u[pair].mean())
        np.testing.assert_allclose(history.optimal_utility[t], max(u[i] for i in left))
        left -= set(pair.tolist())


@modules
def test_schedule_of_the_ranking_svm(module, monkeypatch, rng):
    """Trained at the first pair and whenever there are 10 % more; C chosen after 50 pairs."""
    fits = []

    def fit(differences, c):
        """Weights that rank all held-out pairs right for C = 1 and C = 10 alone."""
        fits.append((len(differences), c))
        return np.array([1.0, 0.0]) if c in (1.0, 10.0) else np.array([-1.0, 0.0])

    monkeypatch.setattr(sys.modules[module.RankingSVM.__module__], "_fit", fit)
    learner = module.RankingSVM(module.Ranking())
    learner.update([0.0, 0.0])
    assert learner.rounds == 1 and not fits and learner.weights.tolist() == [0.0, 0.0]
    trained = []  # pairs and C of the last fit of each training
    for _ in range(60):
        learner.update([0.0, 0.0])
        before = len(fits)
        learner.update([1.0 + rng.random(), 0.0])
        if len(fits) > before:
            trained.append(fits[-1])
    assert learner.rounds == 121
    # 1 to 10, then by 10 %: the next number of pairs that is >= 1.1 times the last
    numbers = [*range(1, 11), 11, 13, 15, 17, 19, 21, 24, 27, 30, 33, 37, 41, 46, 51, 57]
    assert [pairs for pairs, _ in trained] == numbers
    assert [c for _, c in trained] == [100.0] * (len(numbers) - 2) + [1.0, 1.0]
    # five folds for each of six C, then all pairs
    folds = fits[len(numbers) - 2 :][:31]
    assert Counter(c for _, c in folds[:-1]) == Counter([0.01, 0.1, 1.0, 10.0, 100.0, 1000.0] * 5)
    assert Counter(n for n, _ in folds[:-1]) == {40: 6, 41: 24} and folds[-1] == (51, 1.0)


@modules
def test_ranking_svm_separates(module, rng):
    pytest.importorskip("sklearn")
    true = rng.standard_normal(4)
    learner = module.RankingSVM(module.Ranking())
    deltas = rng.standard_normal((80, 4))
    deltas *= np.sign(deltas @ true)[:, None]
    for delta in deltas:
        learner.update(delta)
    w = learner.weights
    assert w @ true > 0.95 * np.linalg.norm(w) * np.linalg.norm(true)
    assert (deltas @ w > 0.0).mean() > 0.95
    again = module.RankingSVM(module.Ranking())
    for delta in deltas:
        again.update(delta)
    np.testing.assert_array_equal(again.weights, w)


@modules
@pytest.mark.parametrize("pairs", [1, 2, 3, 7, 60])
def test_ranking_svm_solves_the_mirrored_problem(module, pairs, monkeypatch, rng):
    """One row a pair, by turns of either sign, has the optimum of both rows at half the C."""
    svm = pytest.importorskip("sklearn.svm")
    exact = functools.partial(svm.LinearSVC, tol=1e-10)
    monkeypatch.setattr(svm, "LinearSVC", exact)
    deltas = rng.standard_normal((pairs, 8))
    deltas *= np.sign(deltas @ np.arange(8) + rng.standard_normal(pairs))[:, None]
    fit = sys.modules[module.RankingSVM.__module__]._fit
    for c in (0.01, 1.0, 100.0):
        solver = exact(C=c, fit_intercept=False, dual=False, max_iter=100_000)
        solver.fit(np.concatenate([deltas, -deltas]), np.repeat([1, -1], pairs))
        expected = solver.coef_[0]
        np.testing.assert_allclose(fit(deltas, c), expected, atol=1e-6 * np.linalg.norm(expected))


@modules
def test_ranking_svm_names_the_extra(module, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    learner = module.RankingSVM(module.Ranking())
    with pytest.raises(ImportError, match=r"coactive_fast\[svm\]"):
        learner.update([1.0])
    assert learner.rounds == 0 and learner.weights.size == 0
