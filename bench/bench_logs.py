"""Logs: the value of a policy and replay, a round of the log, beside NumPy and single calls.

Ten actions a round. Whether intervals and bounds cover what they should is in logs_coverage.py.
"""

import functools
import math

import numpy as np
import threads
from ratio import Case, Contender, Plan, Target, takes_at_most

import coactive_fast as cf
from coactive_fast.logs import BanditLog, evaluate, replay

ACTIONS = 10
DOUBT = math.log(40.0)
NUMPY, CALLS = "numpy, whole arrays", "one call a round"


@functools.lru_cache(maxsize=2)
def made(n, d):
    """``(log, law)``: logged by one policy, to be judged for another."""
    rng = np.random.default_rng(0)
    logged, law = (rng.random((n, ACTIONS)) + 0.1 for _ in range(2))
    logged /= logged.sum(axis=1, keepdims=True)
    law /= law.sum(axis=1, keepdims=True)
    chosen = (rng.random((n, 1)) > np.cumsum(logged, axis=1)).sum(axis=1).clip(0, ACTIONS - 1)
    features = rng.standard_normal((n * ACTIONS, d)) / np.sqrt(d)
    mean = 1.0 / (1.0 + np.exp(-features[:, 0].reshape(n, -1)[np.arange(n), chosen]))
    log = BanditLog(features, np.arange(0, n * ACTIONS + 1, ACTIONS), chosen, rng.random(n) < mean,
                    logged[np.arange(n), chosen])
    return log, law.ravel()


def below(X):
    """The lower end of the confidence sequence by whole arrays."""
    i = np.arange(1, X.size + 1)
    mean = np.minimum(1.0, (0.5 + np.cumsum(X)) / (i + 1))
    variance = (0.25 + np.cumsum((X - mean) ** 2)) / (i + 1)
    mean, variance = np.append(0.5, mean[:-1]), np.append(0.25, variance[:-1])
    bet = np.minimum(0.5, np.sqrt(2.0 * DOUBT / (variance * i * np.log1p(i))))
    lost = np.cumsum((-np.log1p(-bet) - bet) * (X - mean) ** 2)
    ends = (np.cumsum(bet * X) - DOUBT - lost) / np.cumsum(bet)
    return np.maximum(np.maximum.accumulate(ends), 0.0)


def by_numpy(law, log):
    """IPS with all that comes with it."""
    w = law[log.offsets[:-1] + log.chosen] / log.probability
    z, r = w * log.reward, log.reward
    sums = np.add.reduceat(law, log.offsets[:-1])
    assert abs(sums - 1.0).max() < 1e-6 and law.min() >= 0.0
    running = np.cumsum(z) / np.arange(1, z.size + 1)
    return (z.mean(), z.std(ddof=1) / np.sqrt(z.size), w.sum() ** 2 / (w * w).sum(), running,
            below(w * r), 1.0 - below(w * (1.0 - r)))


def dr_by_numpy(law, log, fold):
    taken = log.offsets[:-1] + log.chosen
    f = np.zeros(log.n_actions)
    for k in (0, 1):
        rows = log.features[taken[fold != k]]
        w = np.linalg.solve(np.eye(rows.shape[1]) + rows.T @ rows, rows.T @ log.reward[fold != k])
        own = np.repeat(fold == k, ACTIONS)
        f[own] = log.features[own] @ w
    w = law[taken] / log.probability
    z = np.add.reduceat(law * f, log.offsets[:-1]) + w * (log.reward - f[taken])
    return z.mean()


def close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


def array_case(estimator):
    log, law = made(20_000 if threads.quick() else 300_000, 16)
    if estimator == "dr":
        from coactive_fast.logs._evaluate import folds_of

        fold = folds_of(log, 2)
        close(evaluate(law, log, estimator="dr").value, dr_by_numpy(law, log, fold))

        def rival():
            by_numpy(law, log)  # the bounds come with every estimator
            dr_by_numpy(law, log, fold)
    else:
        found = evaluate(law, log)
        close([found.value, found.standard_error, found.effective_sample_size],
              by_numpy(law, log)[:3])
        for got, expected in zip((found.running.value, found.running.lower, found.running.upper),
                                 by_numpy(law, log)[3:], strict=True):
            close(got, expected)

        def rival():
            by_numpy(law, log)

    contender = functools.partial(evaluate, law, log, estimator=estimator)
    targets = [] if estimator == "dr" else [takes_at_most(200e-9)]
    return Case("logs", f"{estimator}, a policy given as an array",
                played("coactive_fast", contender, log), [played(NUMPY, rival, log)], None, targets)


def played(name, call, log, own=False):
    """A round is one of the log."""
    def play(count):
        for _ in range(count):
            call()

    return Contender(name, play, scale=float(len(log)), own=own)


def taught(log, **words):
    bandit = cf.LinearBandit(seed=0, **words)
    for t in range(300):
        bandit.learn(log.features[t], log.reward[t])
    return bandit


def bandit_case(explore):
    log, _ = made(2000 if threads.quick() else 20_000, 16)
    bandit, bounds = taught(log, explore=explore), log.offsets.tolist()

    def calls():
        return [bandit.probabilities(log.features[a:b])
                for a, b in zip(bounds[:-1], bounds[1:], strict=True)]

    assert (evaluate(np.concatenate(calls()), log, force=True).value
            == evaluate(bandit, log, force=True).value)
    faster = Target(">= 2x one call a round", lambda r: r.of(CALLS) / r.ours(), 2.0, False, "x")
    return Case("logs", f"ips, a LinearBandit ({explore}), 16 features",
                played("coactive_fast", lambda: evaluate(bandit, log, force=True), log),
                [played(CALLS, calls, log)], None, (faster,))


def replay_case():
    log, _ = made(2000 if threads.quick() else 20_000, 16)
    start, bounds = taught(log, width=0.3), log.offsets.tolist()
    u = np.random.default_rng(1).random(len(log)) * log.probability
    takes, chosen, reward = (u < log.probability.min()).tolist(), log.chosen.tolist(), log.reward

    def calls():
        bandit, accepted = start.__copy__(), []
        for t in range(len(log)):
            X = log.features[bounds[t]:bounds[t + 1]]
            if bandit.choose(X) == chosen[t] and takes[t]:
                bandit.learn(X[chosen[t]], reward[t])
                accepted.append(t)
        return accepted

    history = replay(start.__copy__(), log, seed=1)
    assert history.accepted.tolist() == calls()
    four = [start.__copy__() for _ in range(4)]
    assert all(one == history for one in replay(four, log, seed=1))
    faster = Target(">= 2x one call a round", lambda r: r.of(CALLS) / r.ours(), 2.0, False, "x")
    return Case("logs", "replay of a LinearBandit (ucb), 16 features",
                played("coactive_fast", lambda: replay(start.__copy__(), log, seed=1), log),
                [played(CALLS, calls, log)], None, (faster,))


def plans():
    return [*(Plan(name, functools.partial(array_case, name)) for name in ("ips", "snips", "dr")),
            *(Plan(f"bandit {name}", functools.partial(bandit_case, name))
              for name in ("ucb", "squarecb")),
            Plan("replay", replay_case)]


def test_logs(compare, plan):
    compare(plan)
