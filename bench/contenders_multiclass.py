"""What others would use for multiclass bandits: the same algorithm in NumPy and numba, and the
nearest one of packages that have none of it. A package that is not installed loses its lines.

The algorithm is Confidit with projection and constant width, of which these contenders do the
part that costs: no coin, no step by the answer, no watch over rounding.
"""

import functools

import contenders as others
import numpy as np

ALPHA, WIDTH = 0.5, 0.2  # sqrt(WIDTH q)


def root_by_sort(z, q, total):
    breaks = -z / q
    order = np.argsort(breaks)
    lam = (total - np.cumsum(z[order])) / np.cumsum(q[order])
    return lam[np.flatnonzero(lam > breaks[order])[-1]]


def numpy_full(d, k):
    """One round: all products by one stacked matrix-vector product."""
    a, w = np.tile(np.eye(d), (k, 1, 1)), np.zeros((k, d))
    flat = a.reshape(k * d, d)

    def step(x):
        v = (flat @ x).reshape(k, d)
        q = v @ x
        z = w @ x + ALPHA
        score = np.maximum(0.0, z + root_by_sort(z, q, 1.0 + ALPHA) * q)
        w[:] += ((score - z) / q)[:, None] * v
        best = int(np.argmax(score + np.sqrt(WIDTH * q)))
        a[best] -= np.outer(v[best], v[best] / (1.0 + q[best]))
        return best
    return step


def numpy_diagonal(d, k):
    """The same on diagonals and a sparse row, by fancy indexing; arrays are features first."""
    inverse, w = np.ones((d, k)), np.zeros((d, k))

    def step(places, x):
        some, weights = inverse[places], w[places]
        q = (x * x) @ some
        z = x @ weights + ALPHA
        score = np.maximum(0.0, z + root_by_sort(z, q, 1.0 + ALPHA) * q)
        w[places] = weights + x[:, None] * some * ((score - z) / q)
        best = int(np.argmax(score + np.sqrt(WIDTH * q)))
        inverse[places, best] = some[:, best] / (1.0 + some[:, best] * x * x)
        return best
    return step


# --- numba --------------------------------------------------------------------------------------


@functools.cache
def numba_loops():
    """The compiled loops: (full square, lower triangle, sparse diagonal), or None."""
    if not others.have("numba"):
        return None
    import numba as nb

    @nb.njit(fastmath=True)
    def root(z, q, total, breaks, order):
        """The breakpoints -z / q sorted by insertion, then the sums from the smallest on."""
        k = z.shape[0]
        for i in range(k):
            b, at = -z[i] / q[i], i
            while at > 0 and breaks[at - 1] > b:
                breaks[at], order[at] = breaks[at - 1], order[at - 1]
                at -= 1
            breaks[at], order[at] = b, i
        sum_z, sum_q, lam = 0.0, 0.0, 0.0
        for r in range(k):
            if r > 0 and lam <= breaks[r]:
                break
            sum_z += z[order[r]]
            sum_q += q[order[r]]
            lam = (total - sum_z) / sum_q
        return lam

    @nb.njit(fastmath=True)
    def decide(z, q, c, breaks, order):
        lam, best, most = root(z, q, 1.0 + ALPHA, breaks, order), 0, -1e300
        for i in range(z.shape[0]):
            v = max(0.0, z[i] + lam * q[i])
            c[i] = (v - z[i]) / q[i]
            score = v + np.sqrt(WIDTH * q[i])
            if score > most:
                most, best = score, i
        return best

    @nb.njit(fastmath=True)
    def full(a, w, rows, v, z, q, c, breaks, order, at, rounds, picks):
        k, d = w.shape
        for t in range(at, at + rounds):
            x = rows[t % rows.shape[0]]
            for i in range(k):
                qi, mi = 0.0, 0.0
                for r in range(d):
                    s = 0.0
                    for j in range(d):
                        s += a[i, r, j] * x[j]
                    v[i, r] = s
                    qi += s * x[r]
                    mi += w[i, r] * x[r]
                q[i], z[i] = qi, mi + ALPHA
            best = decide(z, q, c, breaks, order)
            for i in range(k):
                for r in range(d):
                    w[i, r] += c[i] * v[i, r]
            f = 1.0 / (1.0 + q[best])
            for r in range(d):
                g = -f * v[best, r]
                for j in range(d):
                    a[best, r, j] += g * v[best, j]
            picks[t % picks.shape[0]] = best

    @nb.njit(fastmath=True)
    def lower(a, w, rows, v, z, q, c, breaks, order, at, rounds, picks):
        k, d = w.shape
        for t in range(at, at + rounds):
            x = rows[t % rows.shape[0]]
            for i in range(k):
                mi = 0.0
                for r in range(d):
                    s, xr = 0.0, x[r]
                    for j in range(r):
                        b = a[i, r, j]
                        s += b * x[j]
                        v[i, j] += b * xr
                    v[i, r] = s + a[i, r, r] * xr
                    mi += w[i, r] * xr
                qi = 0.0
                for r in range(d):
                    qi += v[i, r] * x[r]
                q[i], z[i] = qi, mi + ALPHA
            best = decide(z, q, c, breaks, order)
            for i in range(k):
                for r in range(d):
                    w[i, r] += c[i] * v[i, r]
            f = 1.0 / (1.0 + q[best])
            for r in range(d):
                g = -f * v[best, r]
                for j in range(r + 1):
                    a[best, r, j] += g * v[best, j]
            picks[t % picks.shape[0]] = best

    @nb.njit(fastmath=True)
    def sparse(inverse, w, places, values, z, q, c, breaks, order, at, rounds, picks):
        k, nnz = w.shape[1], places.shape[1]
        for t in range(at, at + rounds):
            for i in range(k):
                z[i], q[i] = ALPHA, 0.0
            for e in range(nnz):
                f, x = places[t, e], values[t, e]
                for i in range(k):
                    z[i] += w[f, i] * x
                    q[i] += inverse[f, i] * (x * x)
            best = decide(z, q, c, breaks, order)
            for e in range(nnz):
                f, x = places[t, e], values[t, e]
                for i in range(k):
                    w[f, i] += c[i] * inverse[f, i] * x
                inverse[f, best] = inverse[f, best] / (1.0 + inverse[f, best] * x * x)
            picks[t % picks.shape[0]] = best

    return full, lower, sparse


def scratch(k):
    return (*(np.empty(k) for _ in range(4)), np.empty(k, dtype=np.intp))


# --- packages -----------------------------------------------------------------------------------


def river_linucb(rows, labels, k):
    """One Bayesian linear regression an arm, on dictionaries."""
    from river import bandit

    policy, arms = bandit.LinUCBDisjoint(alpha=1.0, seed=1), list(range(k))
    items = [(dict(enumerate(map(float, x))), int(y)) for x, y in zip(rows, labels, strict=True)]

    def step(item):
        x, right = item
        arm = policy.pull(arms, context=x)
        policy.update(arm, x, float(arm == right))
    return step, items


def mabwiser_linucb(rows, labels, k):
    from mabwiser.mab import MAB, LearningPolicy

    model = MAB(arms=list(range(k)), learning_policy=LearningPolicy.LinUCB(alpha=1.0))
    rng = np.random.default_rng(0)
    model.fit(decisions=list(rng.integers(0, k, 64)), rewards=list(rng.random(64)),
              contexts=rows[:64])
    items = [(rows[i:i + 1], int(labels[i])) for i in range(len(rows))]

    def step(item):
        x, right = item
        arm = model.predict(x)
        model.partial_fit([arm], [float(arm == right)], x)
    return step, items


def vw_parsed(places, values, labels, k):
    """Logged actions on examples parsed beforehand: contextual bandit, epsilon-greedy."""
    import vowpalwabbit

    model = vowpalwabbit.Workspace(f"--cb_explore {k} --epsilon 0.05 --quiet -b 22")
    items = []
    for t, (f, x) in enumerate(zip(places, values, strict=True)):
        action = t * 7919 % k
        text = " ".join(f"{i}:{v:.5g}" for i, v in zip(f, x, strict=True))
        items.append(model.parse(f"{action + 1}:{float(action != labels[t])}:{1 / k} | {text}"))
    for item in items:  # one pass that touches the weights
        model.learn(item)
    return model.learn, items
