"""Laws of the coactive learners: each rule against its definition, written once more."""

import copy
import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from coactive_cases import modules, run


def all_rules(module, task):
    """A learner of every rule that is fed with differences."""
    return [
        module.PreferencePerceptron(task),
        module.PreferencePerceptron(task, batch=3),
        module.ExponentiatedPreferencePerceptron(task, scale=2.0),
        module.ExponentiatedPreferencePerceptron(task, horizon=50, signed=False),
        module.ConvexPreferencePerceptron(task, radius=1.5, slope=0.5),
        module.SecondOrderPreferencePerceptron(task, radius=0.5),
        module.SecondOrderPreferencePerceptron(task, radius=0.5, projection="deferred"),
        module.CustomPreferencePerceptron(task, momentum),
    ]


def momentum(state, delta):
    """A rule with a memory: delta and half of the step before."""
    step = delta + 0.5 * state.memory.get("step", 0.0)
    state.memory["step"] = step
    return state.weights + step


def fingerprint(learner):
    """What can be seen of a learner."""
    return learner.rounds, learner.weights.tolist(), learner.average_weights.tolist()


@modules
def test_start_and_average(module, rng):
    for learner in all_rules(module, module.Ranking()):
        assert learner.rounds == 0
        assert learner.weights.shape == learner.average_weights.shape == (0,)
        deltas = rng.standard_normal((7, 3))
        trail = run(learner, deltas)
        assert learner.rounds == 7
        np.testing.assert_allclose(learner.average_weights, trail.mean(axis=0), atol=1e-14)
        assert learner.reset() is learner
        assert learner.rounds == 0 and learner.weights.shape == (0,)
        np.testing.assert_array_equal(run(learner, deltas), trail)


@modules
def test_weights_are_copies(module):
    for learner in all_rules(module, module.Ranking()):
        learner.update([1.0, 2.0])
        before = fingerprint(learner)
        learner.weights[:] = 7.0
        learner.average_weights[:] = 7.0
        assert fingerprint(learner) == before


@modules
def test_forms_of_delta(module):
    for form in (list, tuple, lambda d: np.float32(d), lambda d: d[None, ::-1][:, ::-1],
                 scipy.sparse.csr_matrix):  # fmt: skip
        learner = module.PreferencePerceptron(module.Ranking())
        learner.update(form(np.array([0.5, 0.0, -2.0])))
        np.testing.assert_array_equal(learner.weights, [0.5, 0.0, -2.0])


@modules
def test_learn_is_update_with_the_difference(module, rng):
    x = rng.standard_normal((9, 4))
    y, better = rng.permutation(9), rng.permutation(9)
    delta = sum(
        (x[b] - x[a]) / math.log2(place + 2)
        for place, (a, b) in enumerate(zip(y[:3], better[:3], strict=True))
    )
    task = module.Ranking(k=3)
    for one, other in zip(all_rules(module, task), all_rules(module, task), strict=True):
        one.learn(x, y, better)
        other.update(delta)
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-14)


@modules
def test_first_places_are_enough(module, rng):
    x = rng.standard_normal((9, 4))
    one = module.PreferencePerceptron(module.Ranking(k=3))
    other = module.PreferencePerceptron(module.Ranking(k=3))
    y, better = rng.permutation(9), rng.permutation(9)
    one.learn(x, y, better)
    other.learn(x.tolist(), y[:3].tolist(), better[:3])
    np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(one.present(x, k=4), one.present(x)[:4])
    assert one.present(x, k=100).size == 9


@modules
def test_batch_moves_only_at_its_end(module, rng):
    deltas = rng.standard_normal((11, 3))
    trail = run(module.PreferencePerceptron(module.Ranking(), batch=4), deltas)
    for t in range(11):
        whole = (t + 1) // 4 * 4
        np.testing.assert_allclose(trail[t], deltas[:whole].sum(axis=0), atol=1e-14)


@pytest.mark.parametrize("horizon", [None, 20])
@modules
def test_exponentiated_is_the_explicit_doubling(module, horizon, rng):
    deltas = rng.standard_normal((30, 5))
    signed = run(
        module.ExponentiatedPreferencePerceptron(module.Ranking(), scale=1.5, horizon=horizon),
        deltas,
    )
    plain = run(
        module.ExponentiatedPreferencePerceptron(
            module.Ranking(), scale=1.5, horizon=horizon, signed=False
        ),
        deltas,
    )
    doubled, single = np.full(10, 1 / 10), np.full(5, 1 / 5)
    for t, delta in enumerate(deltas):
        eta = 1 / (2 * 1.5 * math.sqrt(horizon or t + 1))
        doubled = doubled * np.exp(eta * np.concatenate([delta, -delta]))
        doubled /= doubled.sum()
        single = single * np.exp(eta * delta)
        single /= single.sum()
        np.testing.assert_allclose(signed[t], doubled[:5] - doubled[5:], atol=1e-13)
        np.testing.assert_allclose(plain[t], single, atol=1e-13)


@modules
def test_exponentiated_does_not_overflow(module):
    learner = module.ExponentiatedPreferencePerceptron(module.Ranking(), scale=1e-6)
    run(learner, [[3.0, -3.0]] * 5)
    np.testing.assert_allclose(learner.weights, [0.5, -0.5])


@modules
def test_unsigned_weights_start_alike(module):
    learner = module.ExponentiatedPreferencePerceptron(module.Ranking(), signed=False)
    assert learner.present([[1.0, 0.0], [1.0, 2.0], [2.0, 0.0]]).tolist() == [1, 2, 0]
    assert learner.weights.shape == (0,)
    learner = module.ExponentiatedPreferencePerceptron(module.Items([[1.0, 0.0]]), signed=False)
    np.testing.assert_array_equal(learner.weights, [0.5, 0.5])


@modules
def test_convex_stays_in_the_ball(module, rng):
    deltas = rng.standard_normal((30, 4))
    trail = run(module.ConvexPreferencePerceptron(module.Ranking(), radius=0.7, slope=2.0), deltas)
    w, outside = np.zeros(4), 0
    for t, delta in enumerate(deltas):
        w = w + 2.0 / math.sqrt(t + 1) * delta
        outside += np.linalg.norm(w) > 0.7
        w = w / max(1.0, np.linalg.norm(w) / 0.7)
        np.testing.assert_allclose(trail[t], w, atol=1e-13)
    assert outside > 10


def project_in_norm(A, z, radius):
    """P2 in the eigenbasis of A, its root by a bracketing method."""
    a, Q = np.linalg.eigh(A)
    u = Q.T @ z

    def excess(lam):
        return np.linalg.norm(a * u / (a + lam)) - radius

    high = 1.0
    while excess(high) > 0.0:
        high *= 2.0
    lam = scipy.optimize.brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-15)
    return Q @ (a * u / (a + lam))


@pytest.mark.parametrize("radius, gamma, epsilon", [(0.3, 1.0, 1.0), (0.6, 0.2, 1e-3), (5, 2, 9)])
@modules
def test_second_order_by_dense_algebra(module, radius, gamma, epsilon, rng):
    deltas = rng.standard_normal((25, 6))
    deltas[7] = 0.0
    learner = module.SecondOrderPreferencePerceptron(
        module.Ranking(), radius=radius, gamma=gamma, epsilon=epsilon
    )
    trail = run(learner, deltas)
    A, w, outside = epsilon * np.eye(6), np.zeros(6), 0
    for t, delta in enumerate(deltas):
        if not delta.any():
            np.testing.assert_array_equal(trail[t], trail[t - 1])
            continue
        A += gamma * np.outer(delta, delta)
        z = w + np.linalg.solve(A, delta)
        w = z
        if np.linalg.norm(z) > radius:
            w = project_in_norm(A, z, radius)
            outside += 1
            # KKT: A (w - z) is a multiple of -w, and w lies on the surface
            pull = A @ (z - trail[t])
            lam = pull @ trail[t] / radius**2
            assert lam > -1e-9
            np.testing.assert_allclose(pull, lam * trail[t], atol=1e-8 * max(1.0, lam))
        np.testing.assert_allclose(trail[t], w, atol=1e-9)
        w = trail[t]
    assert (outside > 5) == (radius < 1)


@modules
def test_deferred_by_dense_algebra(module, rng):
    deltas = rng.standard_normal((60, 5)) + 0.5
    radius = 0.2
    learner = module.SecondOrderPreferencePerceptron(
        module.Ranking(), radius=radius, projection="deferred"
    )
    trail = run(learner, deltas)
    A, y, seen = np.eye(5), np.zeros(5), Counter()
    for t, delta in enumerate(deltas):
        g = -delta
        if np.linalg.norm(y) > radius * (1 + 1e-9):  # a projection leaves y on the surface
            n = y / np.linalg.norm(y)
            seen["turned"] += g @ n < 0
            g = g - min(0.0, g @ n) * n
        A += np.outer(g, g)
        y = y - np.linalg.solve(A, g)
        if np.linalg.norm(y) > 2 * radius:
            y = project_in_norm(A, y, radius)
            seen["projected"] += 1
        shown = y / max(1.0, np.linalg.norm(y) / radius)
        np.testing.assert_allclose(trail[t], shown, atol=1e-9)
    assert seen["turned"] > 3 and seen["projected"] > 0


@modules
def test_a_wide_ball_never_projects(module, rng):
    deltas = rng.standard_normal((20, 4))
    exact = run(module.SecondOrderPreferencePerceptron(module.Ranking(), radius=1e6), deltas)
    deferred = run(
        module.SecondOrderPreferencePerceptron(module.Ranking(), radius=1e6, projection="deferred"),
        deltas,
    )
    np.testing.assert_allclose(exact, deferred, atol=1e-13)


@modules
def test_custom_rule_sees_state_and_memory(module, rng):
    deltas = rng.standard_normal((6, 3))
    seen = []

    def rule(state, delta):
        seen.append((state.rounds, state.weights.copy()))
        state.weights[:] = np.nan  # a copy: nobody minds
        delta[:] = np.nan
        return seen[-1][1] + 1.0

    learner = module.CustomPreferencePerceptron(module.Ranking(), rule)
    trail = run(learner, deltas)
    assert [rounds for rounds, _ in seen] == list(range(6))
    np.testing.assert_array_equal([weights for _, weights in seen[1:]], trail[:-1])

    learner = module.CustomPreferencePerceptron(module.Ranking(), momentum)
    trail = run(learner, deltas)
    step, w = np.zeros(3), np.zeros(3)
    for t, delta in enumerate(deltas):
        step = delta + 0.5 * step
        w = w + step
        np.testing.assert_allclose(trail[t], w, atol=1e-14)


@modules
def test_a_failing_rule_changes_nothing(module):
    def rule(state, delta):
        state.weights[:] = np.nan
        state.memory.setdefault("all", []).append(delta[0])
        if delta[0] > 2.0:
            raise RuntimeError("no more")
        if delta[0] > 1.0:
            return [np.nan]
        return [len(state.memory["all"])]

    learner = module.CustomPreferencePerceptron(module.Ranking(), rule)
    learner.update([0.0])
    with pytest.raises(RuntimeError, match="no more"):
        learner.update([3.0])
    with pytest.raises(ValueError, match="rule"):
        learner.update([1.5])
    assert learner.rounds == 1 and learner.weights.tolist() == [1.0]
    learner.update([0.0])
    assert learner.weights.tolist() == [2.0] and learner.rounds == 2


class Subsets:
    """Any structured object: y is a subset of x of at most two elements."""

    dimension = 3

    def features(self, x, y):
        return np.bincount(list(y), minlength=3).astype(float)

    def argmax(self, w, x):
        return tuple(sorted(sorted(x, key=lambda i: (-w[i], i))[:2]))


@modules
def test_any_structured_object(module):
    for learner in all_rules(module, Subsets()):
        assert learner.weights.shape == (3,)
        assert learner.present([0, 1, 2]) == (0, 1)
        learner.learn([0, 1, 2], (0, 1), (1, 2))
        for _ in range(2):  # the batch of three
            learner.learn([0, 1, 2], (0, 1), (0, 1))
        assert learner.present([0, 1, 2]) == (1, 2)
        with pytest.raises(TypeError, match="scores"):
            learner.scores([0, 1, 2])


@pytest.mark.parametrize(
    "task, error",
    [
        (None, TypeError),
        ("ranking", TypeError),
        (Subsets, TypeError),
        (SimpleNamespace(dimension=2, features=len), TypeError),
        (SimpleNamespace(features=len, argmax=len), TypeError),
        (SimpleNamespace(dimension=0, features=len, argmax=len), ValueError),
        (SimpleNamespace(dimension=2.5, features=len, argmax=len), TypeError),
    ],
)
@modules
def test_bad_tasks(module, task, error):
    with pytest.raises(error, match="task"):
        module.PreferencePerceptron(task)


@modules
def test_bad_parameters(module):
    task = module.Ranking()
    for build, name, values in [
        (module.PreferencePerceptron, "batch", [0, -1, 1.5, True, None]),
        (module.ExponentiatedPreferencePerceptron, "scale", [0.0, -1.0, np.inf, np.nan, "1"]),
        (module.ExponentiatedPreferencePerceptron, "horizon", [0, 2.5]),
        (module.ExponentiatedPreferencePerceptron, "signed", [1, "yes", None]),
        (module.ConvexPreferencePerceptron, "radius", [0.0, np.nan]),
        (module.ConvexPreferencePerceptron, "slope", [0.0, -2]),
        (module.SecondOrderPreferencePerceptron, "radius", [0.0]),
        (module.SecondOrderPreferencePerceptron, "gamma", [0.0]),
        (module.SecondOrderPreferencePerceptron, "epsilon", [0.0]),
        (module.SecondOrderPreferencePerceptron, "projection", ["lazy", None]),
        (module.DuelingBandit, "explore", [0.0]),
        (module.DuelingBandit, "step", [-1.0]),
        (module.DuelingBandit, "seed", ["seed", -1]),
    ]:
        for value in values:
            with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b"):
                build(task, **{name: value})
        with pytest.raises(TypeError):
            build(task, values[0])  # by keyword alone
    with pytest.raises(TypeError, match="rule"):
        module.CustomPreferencePerceptron(task, "rule")
    for k in (0, -1, 2.0, True):
        with pytest.raises((TypeError, ValueError), match=r"\bk\b"):
            module.Ranking(k=k)
    for features in ([], [[]], [1.0], [[np.nan]], [["a"]]):
        with pytest.raises((TypeError, ValueError), match="features"):
            module.Items(features)


@modules
def test_ties_keep_the_lower_index(module, rng):
    rows = rng.standard_normal((4, 7))
    x = rows[rng.integers(0, 4, 30)]
    for learner in all_rules(module, module.Ranking()):
        if np.isclose(learner.scores(x), 0.0).all():
            assert learner.present(x).tolist() == list(range(30))
        run(learner, rng.standard_normal((5, 7)))
        scores = learner.scores(x)
        assert learner.present(x).tolist() == sorted(range(30), key=lambda i: (-scores[i], i))
        for i in range(30):  # equal rows, equal bits
            assert {scores[j] for j in range(30) if (x[j] == x[i]).all()} == {scores[i]}
    items = module.PreferencePerceptron(module.Items(x))
    items.update(rng.standard_normal(7))
    scores = items.scores(None)
    best = min(i for i in range(30) if scores[i] == scores.max())
    assert items.present(None) == items.present(np.arange(30)[::-1]) == best
    assert items.present([29, 3]) == (29 if scores[29] > scores[3] else 3)
    np.testing.assert_array_equal(items.scores([29, 3]), scores[[29, 3]])


X = np.arange(6.0).reshape(3, 2)
BAD_RANKING_CALLS = [
    ("update", ([1.0],), "delta"),
    ("update", ([1.0, np.nan],), "delta"),
    ("update", ([1.0, np.inf],), "delta"),
    ("update", (["a", "b"],), "delta"),
    ("update", ([[1.0, 2.0], [3.0, 4.0]],), "delta"),
    ("learn", (X, [0, 1, 2], [0, 1, 1]), "better"),
    ("learn", (X, [0, 1, 2], [0, 1, 3]), "better"),
    ("learn", (X, [0, 1, -1], [0, 1, 2]), "y"),
    ("learn", (X, [0.0, 1.0], [0, 1]), "y"),
    ("learn", (X, [], [0, 1]), "y"),
    ("learn", (X[:, :1], [0, 1], [1, 0]), "x"),
    ("learn", (np.zeros((0, 2)), [], []), "x"),
    ("learn", (X * np.nan, [0, 1], [1, 0]), "x"),
    ("present", (X[:, :1],), "x"),
    ("present", (X[0],), "x"),
    ("present", (np.zeros((3, 0)),), "x"),
    ("scores", (np.full((2, 2), np.inf),), "x"),
]


def refused(learner, calls):
    """Every call is refused by name, and the learner behaves as one that never saw them."""
    for method, arguments, name in calls:
        twin, before = copy.deepcopy(learner), fingerprint(learner)
        with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b"):
            getattr(learner, method)(*arguments)
        assert fingerprint(learner) == before
        for delta in ([0.3, -0.2], [0.1, 0.9]):
            twin.update(delta)
            learner.update(delta)
            assert fingerprint(learner) == fingerprint(twin)


@modules
def test_errors_leave_the_learner_as_it_was(module):
    for learner in all_rules(module, module.Ranking(k=2)):
        learner.update([1.0, -1.0])
        refused(learner, BAD_RANKING_CALLS)
        with pytest.raises((TypeError, ValueError), match=r"\bk\b"):
            learner.present(X, k=-1)


@modules
def test_errors_before_the_first_round_fix_no_dimension(module):
    for learner in all_rules(module, module.Ranking(k=2)):
        with pytest.raises(ValueError, match="better"):
            learner.learn(np.eye(5), [0, 1], [7, 8])
        with pytest.raises(ValueError, match="delta"):
            learner.update([])
        assert learner.present(np.eye(7)).tolist() == list(range(7))
        learner.update([1.0, 2.0])
        assert learner.weights.shape == (2,)


@modules
def test_overflow_is_an_error(module):
    for learner in all_rules(module, module.Ranking()):
        if isinstance(
            learner,
            (module.ExponentiatedPreferencePerceptron, module.ConvexPreferencePerceptron),
        ):
            continue  # bounded weights
        learner.update([1.0, 1.0])
        before = fingerprint(learner)
        with pytest.raises(ValueError):
            for _ in range(4):
                learner.update([1.7e308, 1.7e308])
        assert learner.rounds >= before[0] and np.isfinite(learner.weights).all()


@modules
def test_errors_of_items(module):
    for learner in all_rules(module, module.Items([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])):
        refused(
            learner,
            [
                ("present", ([],), "x"),
                ("present", ([0, 3],), "x"),
                ("present", ([0.0, 1.0],), "x"),
                ("learn", (None, 3, 0), "y"),
                ("learn", (None, 0, -1), "better"),
                ("learn", (None, 0, 1.0), "better"),
                ("learn", ([0, 1], 0, 2), "better"),
                ("learn", ([0, 1], 2, 0), "y"),
                ("update", ([1.0, 2.0, 3.0],), "delta"),
            ],
        )
        with pytest.raises(ValueError, match=r"\bk\b"):
            learner.present(None, k=1)


@modules
def test_the_items_are_copied(module):
    features = np.eye(2)
    learner = module.PreferencePerceptron(module.Items(features))
    features[:] = 7.0
    learner.learn(None, 0, 1)
    assert learner.weights.tolist() == [-1.0, 1.0]
