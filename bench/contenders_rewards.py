"""What others would use for bandits with rewards: the same algorithm in NumPy and numba, and the
nearest one of packages. A package that is not installed loses its lines.

The NumPy forms are how LinUCB is usually written, or better: means by one product, widths by one
product with the inverse and one einsum, a rank-one update of the inverse. Each ``step(X, rewards)``
chooses, learns the reward of its choice, and answers the index.
"""

import functools

import contenders as others
import numpy as np

VW_WORDS = "--cb_explore_adf --squarecb --quiet --noconstant -b 20"


def numpy_linear(d, width):
    inverse, w = np.eye(d), np.zeros(d)

    def step(X, rewards):
        m = X @ w
        q = np.einsum("ij,ij->i", X @ inverse, X)
        i = int(np.argmax(m + width * np.sqrt(q)))
        x = X[i]
        v = inverse @ x
        w[:] += v * ((rewards[i] - m[i]) / (1.0 + q[i]))
        inverse[:] -= np.outer(v, v / (1.0 + q[i]))
        return i
    return step


def numpy_products(d, p, width):
    """With a context: the products (1, c) (x) a are built for all actions."""
    step = numpy_linear((p + 1) * d, width)

    def on_products(X, context, rewards):
        c = np.append(1.0, context)
        return step((c[:, None] * X[:, None, :]).reshape(len(X), -1), rewards)
    return on_products


def numpy_arms(d, k, width):
    """An inverse for each arm, in a loop over the arms."""
    inverses, w = [np.eye(d) for _ in range(k)], np.zeros((k, d))

    def step(x, rewards):
        best, most = 0, -np.inf
        for i in range(k):
            v = inverses[i] @ x
            bound = w[i] @ x + width * np.sqrt(x @ v)
            if bound > most:
                best, most = i, bound
        v = inverses[best] @ x
        q = x @ v
        w[best] += v * ((rewards[best] - w[best] @ x) / (1.0 + q))
        inverses[best] -= np.outer(v, v / (1.0 + q))
        return best
    return step


def numpy_sparse(d, width):
    """The diagonal over n rows of as many non-zeros each, by fancy indexing."""
    a, w = np.ones(d), np.zeros(d)

    def step(places, values, rewards):
        some = a[places]
        m = np.einsum("ij,ij->i", w[places], values)
        q = np.einsum("ij,ij->i", values * values, 1.0 / some)
        i = int(np.argmax(m + width * np.sqrt(q)))
        f, x = places[i], values[i]
        w[f] += x / some[i] * ((rewards[i] - m[i]) / (1.0 + q[i]))
        a[f] += x * x
        return i
    return step


@functools.cache
def numba_linear():
    """``loop(inverse, w, X, rewards, v, at, rounds, picks, width)``, or None; lower triangles."""
    if not others.have("numba"):
        return None
    import numba as nb

    @nb.njit(fastmath=True)
    def loop(inverse, w, X, rewards, v, at, rounds, picks, width):
        T, n, d = X.shape
        for t in range(at, at + rounds):
            best, most = 0, -1e300
            for i in range(n):
                x, m, q = X[t % T, i], 0.0, 0.0
                for r in range(d):
                    s = 0.0
                    for j in range(r):
                        s += inverse[r, j] * x[j]
                    q += x[r] * (2.0 * s + inverse[r, r] * x[r])
                    m += w[r] * x[r]
                if m + width * np.sqrt(q) > most:
                    best, most = i, m + width * np.sqrt(q)
            x, m, q = X[t % T, best], 0.0, 0.0
            for r in range(d):
                s = 0.0
                for j in range(r):
                    s += inverse[r, j] * x[j]
                    v[j] += inverse[r, j] * x[r]
                v[r] = s + inverse[r, r] * x[r]
            for r in range(d):
                q += v[r] * x[r]
                m += w[r] * x[r]
            f = 1.0 / (1.0 + q)
            for r in range(d):
                w[r] += v[r] * (rewards[t % T, best] - m) * f
                for j in range(r + 1):
                    inverse[r, j] -= f * v[r] * v[j]
            picks[t % picks.shape[0]] = best

    return loop


# --- packages -----------------------------------------------------------------------------------


def vw_lines(places, values):
    """The rows of one round as VW reads them."""
    return ["|a " + " ".join(f"{j}:{v:.5g}" for j, v in zip(f, x, strict=True))
            for f, x in zip(places, values, strict=True)]


def vw_parsed(places, values, rewards):
    """Logged actions on examples parsed beforehand; ``learn`` predicts and learns."""
    import vowpalwabbit

    model = vowpalwabbit.Workspace(VW_WORDS)
    items = []
    for t, (f, x, earned) in enumerate(zip(places, values, rewards, strict=True)):
        lines = vw_lines(f, x)
        i = t * 7919 % len(lines)
        lines[i] = f"0:{-earned[i]:.5g}:{1 / len(lines)} {lines[i]}"
        items.append(model.parse(lines))
    for item in items:
        model.learn(item)
    return model.learn, items


def vw_text(places, values, rewards):
    """Text that comes in: predict, draw from the probabilities, learn with the cost."""
    import vowpalwabbit

    model, rng = vowpalwabbit.Workspace(VW_WORDS), np.random.default_rng(0)
    items = [(vw_lines(f, x), earned.tolist())
             for f, x, earned in zip(places, values, rewards, strict=True)]

    def step(item):
        lines, earned = item
        law = np.cumsum(model.predict(lines))
        i = min(int(np.searchsorted(law, rng.random())), len(lines) - 1)
        p = law[i] - law[i - 1] if i else law[0]
        model.learn([*lines[:i], f"0:{-earned[i]}:{p} {lines[i]}", *lines[i + 1:]])
    return step, items


def river_linucb(rows, rewards):
    """An arm for each action, on dictionaries."""
    from river import bandit

    policy, arms = bandit.LinUCBDisjoint(alpha=1.0, seed=1), list(range(rewards.shape[1]))
    items = [(dict(enumerate(map(float, x))), earned) for x, earned in zip(rows, rewards,
                                                                           strict=True)]

    def step(item):
        arm = policy.pull(arms, context=item[0])
        policy.update(arm, item[0], float(item[1][arm]))
    return step, items


def mabwiser_linucb(rows, rewards):
    from mabwiser.mab import MAB, LearningPolicy

    k = rewards.shape[1]
    model = MAB(arms=list(range(k)), learning_policy=LearningPolicy.LinUCB(alpha=1.0))
    model.fit(list(np.arange(len(rows)) % k), rewards[:, 0], rows)
    items = [(rows[t:t + 1], rewards[t]) for t in range(len(rows))]

    def step(item):
        arm = model.predict(item[0])
        model.partial_fit([arm], [float(item[1][arm])], item[0])
    return step, items


def bayesianbandits_ucb(rows, rewards):
    from bayesianbandits import Arm, ContextualAgent, NormalRegressor, UpperConfidenceBound

    arms = [Arm(i, learner=NormalRegressor(alpha=1.0, beta=1.0)) for i in range(rewards.shape[1])]
    agent = ContextualAgent(arms, UpperConfidenceBound(), random_seed=0)
    items = [(rows[t:t + 1], rewards[t]) for t in range(len(rows))]

    def step(item):
        arm, = agent.pull(item[0])
        agent.update(item[0], np.array([item[1][arm]]))
    return step, items


def padasip_rls(rows, y):
    import padasip

    model = padasip.filters.FilterRLS(n=rows.shape[1], mu=1.0, w="zeros")
    return (lambda item: model.adapt(item[1], item[0])), list(zip(rows, y, strict=True))


def filterpy_kalman(rows, y):
    """The regression as a Kalman filter whose state never moves."""
    from filterpy.kalman import KalmanFilter

    d = rows.shape[1]
    model = KalmanFilter(dim_x=d, dim_z=1)
    model.P, model.R = np.eye(d), np.eye(1)
    items = [(np.array([[target]]), x[None]) for x, target in zip(rows, y, strict=True)]
    return (lambda item: model.update(item[0], H=item[1])), items
