"""How often the widths of theory hold: ``python bench/rewards_widths.py [ENVIRONMENTS] [ROUNDS]``.

Linear worlds of 2 to 16 features with normal noise of 0.1 to 1, ten actions a round, drawn anew or
always the same, long or short ones, and a `LinearBandit` that chooses by the widths; ridge from 0.1
to 3, norm_bound the length of the true weights. A world counts as held where in every round, before
the choice, the true mean of every action lies within width sqrt(q) of its estimate. The theory
(Abbasi-Yadkori, Pal and Szepesvari 2011) says that at least 1 - delta of them hold.
"""

import sys  # noqa: I001  (threads comes before numpy: one thread for everybody)

import threads  # noqa: F401

import numpy as np

import coactive_fast as cf

DELTA, ACTIONS = 0.05, 10


def holds(seed, rounds):
    """Whether every mean lay within its width, and the largest error in units of it."""
    rng = np.random.default_rng([17, seed])
    d, noise = int(rng.choice([2, 4, 8, 16])), float(rng.choice([0.1, 0.3, 1.0]))
    ridge, scale = float(rng.choice([0.1, 1.0, 3.0])), float(rng.choice([0.3, 1.0, 3.0]))
    weights = rng.standard_normal(d)
    norm = float(np.linalg.norm(weights))
    bandit = cf.LinearBandit(width="theory", noise=noise, ridge=ridge, norm_bound=norm,
                             delta=DELTA)
    fixed = scale * rng.standard_normal((ACTIONS, d)) if rng.random() < 0.3 else None
    worst = 0.0
    for _ in range(rounds):
        X = scale * rng.standard_normal((ACTIONS, d)) if fixed is None else fixed
        m, spread = bandit.scores(X)
        worst = max(worst, np.max(np.abs(X @ weights - m) / (width(bandit, d) * spread)))
        i = bandit.choose(X)
        bandit.learn(X[i], float(X[i] @ weights + noise * rng.standard_normal()))
    return worst <= 1.0, worst


def width(bandit, d):
    """The width of theory, by its definition."""
    inverse = bandit.inverse() if bandit.rounds else np.eye(d) / bandit.ridge
    gained = -np.linalg.slogdet(bandit.ridge * inverse)[1]
    return (bandit.noise * np.sqrt(gained - 2.0 * np.log(bandit.delta))
            + np.sqrt(bandit.ridge) * bandit.norm_bound)


def main(environments, rounds):
    found = [holds(seed, rounds) for seed in range(environments)]
    held, worst = sum(one for one, _ in found), [error for _, error in found]
    print(f"{held} of {environments} worlds held over {rounds} rounds (delta = {DELTA}); "
          f"largest error in widths: median {np.median(worst):.2f}, most {max(worst):.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200,
         int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
