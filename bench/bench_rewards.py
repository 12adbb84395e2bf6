"""Bandits with rewards, and the regression: call by call from Python, and simulated.

A round is a choice and the learning of its reward, by two calls on arrays that are there: the rows
of the actions are cut out, and the rewards made Python's, beforehand. Packages whose arms have no
features (river, MABWiser, bayesianbandits) play as many arms on one context of the same length. VW
learns logged actions on examples parsed beforehand, and chooses and learns from text.
"""

import contenders as others
import contenders_rewards as rivals
import numpy as np
import scipy.sparse
import threads
from ratio import Case, Contender, Plan, Target, player, takes_at_most, times_faster

import coactive_fast as cf
from coactive_fast import reference

WIDTH = 0.5
NUMPY, NUMBA = "numpy", "numba, lower triangles, in a compiled loop"
CALLS = "coactive_fast, choose and learn from Python"
SIMULATED = "coactive_fast, simulate_bandit"
VW = "VW cb_explore_adf squarecb, pre-parsed"
VW_TEXT = "VW cb_explore_adf squarecb, from text"
RIVER, MABWISER = "river LinUCBDisjoint", "mabwiser LinUCB"
BAYESIAN = "bayesianbandits ContextualAgent"
LINEAR = ((10, 16), (100, 30), (100, 100), (1000, 64))
ARMS = ((10, 384), (50, 100))


def sets(n, d, rounds=None):
    """Action sets, and the rewards of all actions, of a linear rule blurred by noise.

    As many as stay in a shared cache: what is to be chosen from has usually just been made.
    """
    rounds = rounds or max(6, min(64, int(4e6 / (8 * n * d))))
    rng = np.random.default_rng(1000 * n + d)
    X = rng.standard_normal((rounds, n, d)) / np.sqrt(d)
    return X, X @ rng.standard_normal(d) + 0.1 * rng.standard_normal((rounds, n))


def calls(bandit, X, rewards, name=CALLS, own=False):
    """Rounds from Python on tables of actions."""
    items = [(table, [table[i] for i in range(table.shape[0])], earned.tolist())
             for table, earned in zip(X, rewards, strict=True)]
    play = player("i = choose(p[0]); learn(p[1][i], p[2][i])", "p", items, choose=bandit.choose,
                  learn=bandit.learn)
    play(len(items))
    return Contender(name, play, own=own)


def simulated(bandit, X, rewards):
    table = cf.RewardTable(X, rewards)
    cf.simulate_bandit(bandit, table, rounds=len(X))
    return Contender(SIMULATED, lambda n: cf.simulate_bandit(bandit, table, rounds=n),
                     step=8 * len(X), own=True)


def check_linear(X, rewards, few):
    """The same choices as the twin and as the NumPy form."""
    found = [cf.simulate_bandit(cf.LinearBandit(width=WIDTH), (X[:few], rewards[:few])).choice]
    slow = reference.LinearBandit(width=WIDTH)
    found.append(reference.simulate_bandit(slow, (X[:few], rewards[:few])).choice)
    step = rivals.numpy_linear(X.shape[2], WIDTH)
    found.append([step(*pair) for pair in zip(X[:few], rewards[:few], strict=True)])
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def numba_linear(X, rewards):
    loop = rivals.numba_linear()
    if loop is None:
        return None
    d, picks = X.shape[2], np.zeros(64, dtype=np.intp)
    arrays = (np.eye(d), np.zeros(d), X, rewards, np.zeros(d))
    few = min(len(X), 20)
    loop(*arrays, 0, few, picks, WIDTH)
    step = rivals.numpy_linear(d, WIDTH)
    assert picks[:few].tolist() == [step(*p) for p in zip(X[:few], rewards[:few], strict=True)]
    return Contender(NUMBA, lambda n: loop(*arrays, few, n, picks, WIDTH))


def vowpal(places, values, rewards):
    if not others.have("vowpalwabbit"):
        return []
    made = [(VW, rivals.vw_parsed(places, values, rewards)),
            (VW_TEXT, rivals.vw_text(places, values, rewards))]
    return [Contender(name, player("step(p)", "p", items, step=step))
            for name, (step, items) in made]


def packages(rows, rewards):
    for name, make, package in ((RIVER, rivals.river_linucb, "river"),
                                (MABWISER, rivals.mabwiser_linucb, "mabwiser"),
                                (BAYESIAN, rivals.bayesianbandits_ucb, "bayesianbandits")):
        if others.have(package):
            step, items = make(rows, rewards)
            yield Contender(name, player("step(p)", "p", items, step=step))


def linear_case(n, d):
    X, rewards = sets(n, d)
    check_linear(X, rewards, min(len(X), 40))
    bandits = [cf.LinearBandit(width=WIDTH) for _ in range(2)]
    pairs = list(zip(X, rewards, strict=True))
    found = [simulated(bandits[0], X, rewards), numba_linear(X, rewards),
             Contender(NUMPY, player("step(*p)", "p", pairs, step=rivals.numpy_linear(d, WIDTH)))]
    targets = {(100, 30): [times_faster(4.0, "numpy", NUMPY), times_faster(1.5, "numba", NUMBA)],
               (100, 100): [times_faster(2.5, "numpy", NUMPY), times_faster(1.5, "numba", NUMBA)],
               (1000, 64): [times_faster(4.0, "numpy", NUMPY)]}.get((n, d), [])
    if (n, d) == (10, 16):
        targets = [takes_at_most(1e-6), takes_at_most(0.5e-6, SIMULATED),
                   times_faster(25.0, "VW", VW),
                   times_faster(100.0, "packages", RIVER, MABWISER, BAYESIAN)]
        found += vowpal(np.broadcast_to(np.arange(d), X.shape), X, rewards)
        found += packages(X[:, 0], rewards)
    ours = calls(bandits[1], X, rewards)
    return Case("rewards", f"LinearBandit ucb, {n} actions x {d}", ours, found, targets=targets,
                call=(bandits[1].choose, (X[0],)))


def thompson_case():
    """One draw for 1,000 actions, by a factor that is kept up, against greedy."""
    X, rewards = sets(1000, 64)
    drawing = cf.LinearBandit(explore="thompson", width=WIDTH, seed=0)
    greedy = cf.LinearBandit(explore="greedy")
    slower = Target("<= 2x the cost of greedy", lambda r: r.ours() / r.of("greedy"), 2.0, True, "x")
    return Case("rewards", "LinearBandit thompson, 1000 actions x 64", calls(drawing, X, rewards),
                [calls(greedy, X, rewards, "greedy", own=True)], targets=[slower],
                call=(drawing.choose, (X[0],)))


def arm_case(k, d):
    rng = np.random.default_rng(k * d)
    rows = rng.standard_normal((64, d)) / np.sqrt(d)
    rewards = rows @ rng.standard_normal((d, k)) + 0.1 * rng.standard_normal((64, k))
    bandit = cf.ArmBandit(k, width=WIDTH)
    step = rivals.numpy_arms(d, k, WIDTH)
    expected = [step(*pair) for pair in zip(rows[:30], rewards[:30], strict=True)]
    got = cf.simulate_bandit(cf.ArmBandit(k, width=WIDTH), (rows[:30], rewards[:30])).choice
    np.testing.assert_array_equal(got, expected)
    pairs = list(zip(rows, rewards, strict=True))
    play = player("i = choose(p[0]); learn(p[0], i, p[1][i])", "p",
                  list(zip(rows, rewards.tolist(), strict=True)), choose=bandit.choose,
                  learn=bandit.learn)
    play(len(pairs))
    other = cf.ArmBandit(k, width=WIDTH)
    found = [simulated(other, rows, rewards), Contender(NUMPY, player("step(*p)", "p", pairs,
                                                                       step=step))]
    target = takes_at_most(20e-6) if d == 384 else times_faster(3.0, "the numpy loop", NUMPY)
    return Case("rewards", f"ArmBandit ucb, {k} arms x {d}", Contender(CALLS, play), found,
                targets=[target], call=(bandit.choose, (rows[0],)))


def context_case(n=2000, d=24, p=16):
    X, _ = sets(n, d, 6)
    rng = np.random.default_rng(9)
    contexts, rewards = rng.standard_normal((6, p)), rng.standard_normal((6, n))
    bandit = cf.LinearBandit(context_features=p, width=WIDTH)
    step = rivals.numpy_products(d, p, WIDTH)
    check = cf.LinearBandit(context_features=p, width=WIDTH)
    for rows, c, earned in zip(X, contexts, rewards, strict=True):
        i = check.choose(rows, context=c)
        assert i == step(rows, c, earned)
        check.learn(rows[i], earned[i], context=c)
    items = list(zip(X, contexts, rewards, strict=True))
    play = player("i = choose(p[0], context=p[1]); learn(p[0][i], p[2][i], context=p[1])", "p",
                  items, choose=bandit.choose, learn=bandit.learn)
    play(len(items))
    return Case("rewards", f"contexts of {p}, {n} actions x {d}", Contender(CALLS, play),
                [Contender("numpy, products built", player("step(*p)", "p", items, step=step))],
                targets=[times_faster(40.0, "building the products", "numpy, products built")])


def sparse_case(d=100_000, n=20, entries=30):
    rounds = 200 if threads.quick() else 1000
    rng = np.random.default_rng(3)
    places = np.array([np.sort(rng.choice(d, entries, replace=False))
                       for _ in range(rounds * n)]).reshape(rounds, n, entries).astype(np.int32)
    values, rewards = rng.random((rounds, n, entries)) + 0.1, rng.random((rounds, n))
    ends = np.arange(0, n * entries + 1, entries)
    tables = [scipy.sparse.csr_matrix((v.ravel(), f.ravel(), ends), (n, d))
              for f, v in zip(places, values, strict=True)]
    bandit = cf.LinearBandit(covariance="diagonal", width=WIDTH)
    step = rivals.numpy_sparse(d, WIDTH)
    check = cf.LinearBandit(covariance="diagonal", width=WIDTH)
    for t in range(40):
        i = check.choose(tables[t])
        assert i == step(places[t], values[t], rewards[t])
        check.learn(tables[t][i], rewards[t, i])
    arrays = list(zip(places, values, rewards, strict=True))
    found = [Contender("numpy, fancy indexing", player("step(*p)", "p", arrays, step=step))]
    found += vowpal(places[:200], values[:200], rewards[:200])
    return Case("rewards", f"LinearBandit diagonal, {n} actions x {entries} of {d}",
                calls(bandit, tables, rewards), found, targets=[takes_at_most(15e-6)],
                call=(bandit.choose, (tables[0],)))


def ridge_case(d, most):
    rng = np.random.default_rng(d)
    rows = rng.standard_normal((256, d)) / np.sqrt(d)
    y = rows @ rng.standard_normal(d) + 0.1 * rng.standard_normal(256)
    learner, slow = cf.OnlineRidge(), reference.OnlineRidge()
    learner.run(rows[:40], y[:40])
    slow.run(rows[:40], y[:40])
    np.testing.assert_allclose(learner.weights, slow.weights, rtol=1e-8, atol=1e-10)
    items = list(zip(rows, y.tolist(), strict=True))
    found = []
    for name, make, package in (("padasip FilterRLS", rivals.padasip_rls, "padasip"),
                                ("filterpy KalmanFilter", rivals.filterpy_kalman, "filterpy")):
        if others.have(package):
            step, pairs = make(rows, y)
            found.append(Contender(name, player("step(p)", "p", pairs, step=step)))
    return Case("rewards", f"OnlineRidge.learn, d={d}",
                Contender("coactive_fast, learn from Python",
                          player("learn(*p)", "p", items, learn=learner.learn)), found,
                targets=[takes_at_most(most)], call=(learner.learn, items[0]))


def plans():
    for n, d in LINEAR:
        yield Plan(f"linear-{n}x{d}", lambda n=n, d=d: linear_case(n, d), smoke=n < 500)
    yield Plan("thompson", thompson_case, smoke=False)
    for k, d in ARMS:
        yield Plan(f"arms-{k}x{d}", lambda k=k, d=d: arm_case(k, d), smoke=d < 300)
    yield Plan("contexts", context_case, smoke=False)
    yield Plan("sparse", sparse_case)
    for d, most in ((16, 0.15e-6), (128, 2e-6)):
        yield Plan(f"ridge-{d}", lambda d=d, most=most: ridge_case(d, most))


def test_rewards(plan, compare):
    compare(plan)
