"""How often what a log says of a policy is true: ``python bench/logs_coverage.py [LOGS] [ROUNDS]``.

Logs of three to six actions a round from one softmax policy, with rewards of 0 and 1, and another
policy to be judged. Its true value is its expectation over 4 million rounds of the same world. Of
the logs, in how many the 95 % interval of each estimator holds it, and in how many the bounds of
`running` hold it at all times.
"""

import sys  # noqa: I001  (threads comes before numpy: one thread for everybody)

import threads  # noqa: F401

import numpy as np

from coactive_fast.logs import BanditLog, evaluate

D, WORLD = 5, np.random.default_rng(99).standard_normal((3, 5))


def rounds(rng, n):
    """``(rows, ends, mean reward, logged law, judged law)`` of n rounds."""
    lengths = rng.integers(3, 7, n)
    ends = np.concatenate(([0], np.cumsum(lengths)))
    X = rng.standard_normal((ends[-1], D))

    def law(scores, floor):
        p = np.exp(scores)
        p /= np.repeat(np.add.reduceat(p, ends[:-1]), lengths)
        return floor / np.repeat(lengths, lengths) + (1.0 - floor) * p

    w, logged, judged = WORLD
    return X, ends, 1.0 / (1.0 + np.exp(-X @ w)), law(0.5 * X @ logged, 0.2), law(X @ judged, 0.0)


def true_value(blocks=40, n=100_000):
    found = []
    for seed in range(blocks):
        _, _, mean, _, law = rounds(np.random.default_rng([1, seed]), n)
        found.append((law * mean).sum() / n)
    return np.mean(found), np.std(found, ddof=1) / np.sqrt(blocks)


def covers(seed, n, true):
    rng = np.random.default_rng([2, seed])
    X, ends, mean, logged, law = rounds(rng, n)
    reached = np.cumsum(logged) - np.repeat(np.arange(n), np.diff(ends))  # within each round
    u = rng.random(n)
    passed = np.add.reduceat((reached <= np.repeat(u, np.diff(ends))).astype(int), ends[:-1])
    chosen = np.minimum(passed, np.diff(ends) - 1)
    taken = ends[:-1] + chosen
    log = BanditLog(X, ends, chosen, rng.random(n) < mean[taken], logged[taken])
    found = {e: evaluate(law, log, estimator=e) for e in ("ips", "snips", "dr")}
    held = {e: one.interval[0] <= true <= one.interval[1] for e, one in found.items()}
    running = found["ips"].running
    held["at all times"] = bool((running.lower <= true).all() and (true <= running.upper).all())
    return held, {e: one.standard_error for e, one in found.items()}


def main(logs, n):
    true, error = true_value()
    found = [covers(seed, n, true) for seed in range(logs)]
    print(f"true value {true:.5f} +- {error:.5f}; {logs} logs of {n} rounds")
    for name in found[0][0]:
        held = sum(one[name] for one, _ in found)
        size = found[0][1].get(name)
        spread = "" if size is None else f", standard error {size:.4f}"
        print(f"  {name:<12} holds in {held} of {logs}, {held / logs:.1%}{spread}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200,
         int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)
