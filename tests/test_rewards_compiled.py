"""What the compiled bandits leave out, and in which form they read: the choice stays the same."""

import copy

import numpy as np
import pytest
import scipy.sparse
import scipy.stats

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


ARMS = [{}, {"width": 0.0}, {"width": 3.0}, {"width": "theory", "noise": 0.2}, {"forget": 0.95},
        {"link": "logistic"}, {"covariance": "diagonal"}, {"ridge": 1e-9}, {"ridge": 1e6}]


@pytest.mark.parametrize("parameters", ARMS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_arms_that_are_not_read_change_no_choice(seed, parameters):
    """Against the scores of all arms: fresh arms, arms that know the same, masks, rows of any
    length and form, arms that learn much more than others."""
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(2, 60)), int(rng.integers(2, 12))
    bandit = cf.ArmBandit(k, **{"width": 0.5, **parameters})
    truth, share = rng.random((k, d)) / d, rng.dirichlet(np.full(k, 0.5))
    for t in range(80):
        if t == 40:
            k = bandit.add_arm() + 1
            truth, share = np.vstack([truth, truth[:1]]), np.append(share, 0.0)
        x = rng.random(d).round(0 if t % 4 == 0 else 9) * 10.0 ** rng.integers(-3, 3)
        allowed = rng.random(k) < rng.choice([0.2, 0.9])
        allowed[rng.integers(k)] = True
        best = best_arm(bandit, x, allowed)
        assert bandit.choose(x, allowed=allowed) == best
        assert bandit.choose(scipy.sparse.csr_matrix(x), allowed=allowed) == best
        assert bandit.probabilities(x, allowed=allowed)[best] == 1.0
        reward = float(min(truth[best] @ x, 1.0) * rng.random())
        for arm in {best, int(rng.choice(k, p=share))}:  # now and then two that know the same
            bandit.learn(x, arm, reward)


def best_arm(bandit, x, allowed):
    m, widths = bandit.scores(x)
    width = bandit.width
    if width == "theory":
        doubt = 2.0 * np.log(len(m) / bandit.delta)
        known = [-np.linalg.slogdet(bandit.ridge * bandit.inverse(i))[1] if bandit.rounds else 0.0
                 for i in range(len(m))]
        width = (bandit.noise * np.sqrt(np.maximum(known, 0.0) + doubt)
                 + np.sqrt(bandit.ridge) * bandit.norm_bound)
    return int(np.argmax(np.where(allowed, m + width * widths, -np.inf)))


def test_rows_whose_square_vanishes():
    """x.x underflows, x.A^-1 x does not: the width still counts, for actions as for arms."""
    x = np.array([0.0, 1e-170])
    arms = cf.ArmBandit(3, width=1.0, ridge=1e-280)
    arms.learn([1.0, 0.0], 0, 0.0)
    arms.learn([0.0, 1.0], 0, 1e-3)
    assert (arms.scores(x)[0][0] > 0.0 and arms.choose(x) == 1)
    actions = cf.LinearBandit(width=1.0, ridge=1e-280)
    actions.learn([1.0, 0.0], 1.0)
    X = np.tile([1e-200, 0.0], (30, 1))
    X[20] = x
    assert (actions.scores(X)[0] > 0.0).sum() == 29
    assert actions.choose(X) == 20


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


def test_the_range_of_a_draw_in_every_form():
    """By all rows together where that tells it, else row by row: the same draws and refusals."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((300, 3))
    for size in (1.0, 1e153, 1e156):  # at 1e153 all squares together overflow, at 1e156 each does
        rows = X * size
        answers = []
        for form in (rows, np.repeat(rows, 2, axis=0)[::2], scipy.sparse.csr_matrix(rows)):
            bandit = cf.LinearBandit(explore="thompson", covariance="full", seed=7)
            if size > 1e155:
                with pytest.raises(ValueError, match="X"):
                    bandit.choose(form)
                form = X
            answers.append(bandit.choose(form))
        assert len(set(answers)) == 1


@pytest.mark.parametrize("changes", [{}, {"link": "logistic"}, {"forget": 0.97}], ids=str)
def test_a_draw_depends_on_the_state_alone(changes):
    """Not on what was drawn before: a copy has no factor kept from the draws between."""
    rng = np.random.default_rng(5)
    d = 11
    bandit = cf.LinearBandit(explore="thompson", width=2.0, seed=3, **changes)
    X = rng.standard_normal((400, d))
    for t in range(60):
        new = copy.deepcopy(bandit)
        for _ in range(1 + t % 2):
            chosen = bandit.choose(X)
            assert new.choose(X) == chosen
        if t == 30:
            bandit.decay(0.5)
        if t == 40 and not changes:
            bandit.merge(new)
        for _ in range((1, 0, 3, 18)[t % 4]):
            bandit.learn(X[int(rng.integers(400))], float(rng.random()))


@pytest.mark.parametrize("learned", [0, 1, 15, 16, 17, 40])
def test_draws_are_normal_with_the_covariance_of_the_scores(learned):
    """Of x and -x the larger by v.x tells its sign: as often > 0 as m / (width sqrt q) says."""
    rng = np.random.default_rng(learned)
    bandit = cf.LinearBandit(explore="thompson", width=0.7, ridge=2.0, seed=1)
    for x in rng.standard_normal((learned, 3)):
        bandit.learn(x, float(x @ [0.3, -0.2, 0.1]), weight=float(rng.random()) + 0.1)
    for x in rng.standard_normal((3, 3)):
        m, widths = bandit.scores(x[None])
        expected = scipy.stats.norm.cdf(m[0] / (0.7 * widths[0]))
        found = bandit.probabilities(np.array([x, -x]), samples=20_000)[0]
        assert abs(found - expected) < 5.0 * np.sqrt(0.25 / 20_000)
