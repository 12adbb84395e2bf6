"""Laws of the simulations: regret bounds, the loop of single calls, seeds, what leaves."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
from coactive_cases import Recorder, make_data, modules, phi


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("batch", [1, 4])
@modules
def test_regret_bound_of_rankings(module, alpha, batch, rng):
    data, k = make_data(rng, queries=40), 3
    learner = module.PreferencePerceptron(module.Ranking(k=k), batch=batch)
    user = Recorder(module.users.AlphaInformative(alpha, weights=data.fitted, k=k))
    history = module.simulate(
        learner, data, user, order=rng.integers(0, 40, 400), weights=data.fitted
    )
    R, slack = 0.0, 0.0
    for t, (query, presented, better) in enumerate(user.rounds):
        old, new = (phi(query.features, y, k) for y in (presented, better))
        R = max(R, np.linalg.norm(old), np.linalg.norm(new))
        assert data.fitted @ (new - old) >= alpha * history.regret[t] - 1e-9
        slack = min(slack, history.regret[t])
    assert slack > -1e-12
    T = np.arange(1, 401)
    bound = 2 * R * np.linalg.norm(data.fitted) * math.sqrt(batch) / (alpha * np.sqrt(T))
    whole = T % batch == 0
    assert (history.average_regret <= bound)[whole].all()
    np.testing.assert_allclose(history.cumulative_regret, np.cumsum(history.regret))
    np.testing.assert_allclose(history.average_regret, np.cumsum(history.regret) / T)


@pytest.mark.parametrize("alpha", [0.2, 1.0])
@modules
def test_regret_bound_of_items(module, alpha, rng):
    items, weights = rng.standard_normal((80, 3)), rng.standard_normal((4, 3))
    learner = module.PreferencePerceptron(module.Items(items))
    user = Recorder(module.users.AlphaInformative(alpha))
    history = module.simulate_items(learner, items, weights, user, rounds=30)
    R = np.linalg.norm(items, axis=1).max()
    regret = history.regret_per_user
    assert regret.shape == (4, 30) and (regret >= 0.0).all()
    bound = 2 * R * np.linalg.norm(weights, axis=1)[:, None] / (alpha * np.sqrt(range(1, 31)))
    assert (np.cumsum(regret, axis=1) / range(1, 31) <= bound).all()
    gains = [q.utilities[better] - q.utilities[shown] for q, shown, better in user.rounds]
    assert (np.array(gains) >= alpha * regret.ravel() - 1e-12).all()
    np.testing.assert_allclose(history.regret, regret.mean(axis=0))
    np.testing.assert_allclose(history.optimal_utility - history.utility, history.regret)
    assert learner.rounds == 0


@modules
def test_simulate_is_the_loop_of_single_calls(module, rng):
    data, order = make_data(rng), rng.integers(0, 30, 50)
    user = module.users.AlphaInformative(0.5, weights=rng.standard_normal(4), k=2)
    one, other = (
        module.SecondOrderPreferencePerceptron(module.Ranking(k=2), radius=1.0) for _ in range(2)
    )
    history = module.simulate(one, data, user, order=order)
    for t, i in enumerate(order):
        x = data[i].features
        y = other.present(x)
        np.testing.assert_allclose(history.utility[t], user.weights @ phi(x, y, 2), atol=1e-12)
        other.learn(x, y, user.respond(data[i], y))
    np.testing.assert_array_equal(one.weights, other.weights)
    assert one.rounds == 50


@modules
def test_simulate_measures_by_the_right_weights(module, rng):
    data, given, true = make_data(rng), *rng.standard_normal((2, 4))
    with_weights = module.users.AlphaInformative(1.0, weights=true)
    without = module.users.NoisyDepth(4)
    for user, option, expected in [
        (with_weights, None, true),
        (without, None, data.fitted),
        (with_weights, given, given),
        (without, given, given),
    ]:
        learner = module.PreferencePerceptron(module.Ranking())
        history = module.simulate(learner, data, user, order=[3, 4], weights=option)
        for t, i in enumerate([3, 4]):
            u = data[i].features @ expected
            best = sorted(range(len(u)), key=lambda d: -u[d])
            np.testing.assert_allclose(
                history.optimal_utility[t], expected @ phi(data[i].features, best, 5)
            )


@modules
def test_simulate_lends_its_weights(module, rng):
    data = make_data(rng)
    regrets = []
    for weights in (None, data.fitted):
        user = module.users.AlphaInformative(0.5, weights=weights)
        learner = module.PreferencePerceptron(module.Ranking())
        regrets.append(module.simulate(learner, data, user).regret)
        assert (user.weights is None) == (weights is None)
    np.testing.assert_array_equal(*regrets)


@modules
def test_simulate_passes_the_tasks_k(module, rng):
    data = make_data(rng, most=20)
    histories = [
        module.simulate(
            module.PreferencePerceptron(module.Ranking(k=2)),
            data,
            module.users.AlphaInformative(0.5, weights=data.fitted, k=k),
        ).regret
        for k in (2, 7)
    ]
    np.testing.assert_array_equal(*histories)


@modules
def test_seeds_of_simulate(module, rng):
    data = make_data(rng)

    def regret(user, seed=None):
        learner = module.PreferencePerceptron(module.Ranking())
        return module.simulate(learner, data, user, seed=seed).regret.tolist()

    def make(seed):
        return module.users.ExpectedAlphaInformative(
            0.3, weights=data.fitted, base_alpha=1.0, seed=seed
        )

    user = make(7)
    first, second = regret(user), regret(user)
    assert first != second  # its own generator moves on
    assert regret(make(7)) == first
    assert regret(user, seed=7) == regret(user, seed=7) == first
    assert regret(user) not in (first, second)


@modules
def test_bad_arguments_of_simulate(module, rng):
    data, user = make_data(rng), module.users.NoisyDepth(3)
    learner = module.PreferencePerceptron(module.Ranking())
    for options, name in [
        ({"order": [0, 30]}, "order"),
        ({"order": [-1]}, "order"),
        ({"order": [0.5]}, "order"),
        ({"weights": [1.0]}, "weights"),
        ({"weights": [np.nan] * 4}, "weights"),
        ({"user": object()}, "user"),
        ({"data": list(data)}, "weights"),
    ]:
        with pytest.raises((TypeError, ValueError), match=name):
            module.simulate(learner, **{"data": data, "user": user, **options})
        assert learner.rounds == 0
    history = module.simulate(learner, data, user, order=[])
    assert history.regret.shape == history.average_regret.shape == (0,)


@modules
def test_items_leave(module, rng):
    items = rng.standard_normal((9, 3))
    user = Recorder(module.users.AlphaInformative(0.4))
    history = module.simulate_items(
        module.PreferencePerceptron(module.Items(items)), items, [[1.0, -1.0, 0.5]], user,
        rounds=12,
    )  # fmt: skip
    left = set(range(9))
    for query, presented, better in user.rounds:
        assert query.candidates.tolist() == sorted(left)
        assert {presented, better} <= left
        left -= {presented, better}
    assert not left
    played = len(user.rounds)
    assert np.isnan(history.regret[played:]).all() and not np.isnan(history.regret[:played]).any()


class Table:
    """A task of one's own over a catalogue, without any checks."""

    dimension = 3

    def features(self, x, y):
        return np.eye(3)[y]

    def argmax(self, w, x):
        return max(x, key=lambda item: (w[item], -item))


@modules
def test_a_wished_item_must_still_be_there(module):
    class Stubborn:
        def respond(self, query, presented):
            return 2

    for task in (module.Items(np.eye(3)), Table()):
        learner = module.PreferencePerceptron(task)
        with pytest.raises(ValueError, match="better"):
            module.simulate_items(learner, np.eye(3), [[1.0, 2.0, 3.0]], Stubborn(), rounds=3)


@modules
def test_items_by_a_task_of_ones_own(module, rng):
    weights, user = rng.standard_normal((5, 3)), module.users.AlphaInformative(0.7)
    regrets = [
        module.simulate_items(
            module.PreferencePerceptron(task), np.eye(3), weights, user, rounds=3
        ).regret_per_user
        for task in (module.Items(np.eye(3)), Table())
    ]
    np.testing.assert_array_equal(*regrets)


@modules
def test_rankings_by_a_task_of_ones_own(module, rng):
    class First:
        """The features of the first document alone, and no sign of a Ranking."""

        dimension = 4

        def features(self, x, y):
            return np.asarray(x)[y[0]]

        def argmax(self, w, x):
            return np.argsort(-(x @ w), kind="stable")

    data = make_data(rng)
    user = module.users.AlphaInformative(0.7, weights=data.fitted, k=1)
    histories = [
        module.simulate(module.PreferencePerceptron(task), data, user)
        for task in (module.Ranking(k=1), First())
    ]
    for name in ("regret", "utility", "optimal_utility"):
        np.testing.assert_allclose(*(getattr(h, name) for h in histories), atol=1e-12)


@modules
def test_ratings_are_completed(module, rng):
    items, weights = 2.0 * rng.standard_normal((6, 2)), rng.standard_normal((2, 2))
    dense = np.full((2, 6), np.nan)
    dense[0, 3], dense[1, 0] = 4.5, 0.0
    rows, columns = np.nonzero(~np.isnan(dense))
    stored = scipy.sparse.csr_matrix((dense[rows, columns], (rows, columns)), shape=(2, 6))
    learner = module.PreferencePerceptron(module.Items(items))
    for ratings in (dense, stored, scipy.sparse.csr_array(stored)):
        user = Recorder(module.users.AlphaInformative(0.5))
        module.simulate_items(learner, items, weights, user, rounds=1, ratings=ratings)
        for u, (query, _, _) in enumerate(user.rounds):
            rounded = [min(max(round(value), 1), 5) for value in (items @ weights[u]).tolist()]
            expected = np.where(np.isnan(dense[u]), rounded, dense[u])
            np.testing.assert_array_equal(query.ratings, expected)


@modules
def test_seeds_of_simulate_items(module, rng):
    items, weights = rng.standard_normal((40, 3)), np.tile(rng.standard_normal(3), (3, 1))
    learner = module.PreferencePerceptron(module.Items(items))

    def regret(user, users=3, seed=None):
        return module.simulate_items(
            learner, items, weights[:users], user, rounds=10, seed=seed
        ).regret_per_user.tolist()

    user = module.users.Best(seed=4)
    first = regret(user)
    assert first == regret(user) == regret(module.users.Best(seed=4))  # the template stays
    assert first[0] != first[1] != first[2]  # alike but for chance
    assert regret(user, users=2) == first[:2]
    assert regret(user, seed=4) == first != regret(user, seed=5)
    # the first user's stream, as laid down
    entropy = np.random.default_rng(4).integers(2**32, size=4).tolist()
    stream = np.random.SeedSequence(entropy).spawn(3)[0]
    alone = module.users.Best(seed=stream)
    fresh, left, u = (
        module.PreferencePerceptron(module.Items(items)),
        np.arange(40),
        items @ weights[0],
    )
    ratings = np.clip(np.rint(u), 1, 5)
    for t in range(10):
        shown = fresh.present(left)
        better = alone.respond(SimpleNamespace(candidates=left, ratings=ratings), shown)
        fresh.learn(left, shown, better)
        assert math.isclose(first[0][t], u[left].max() - u[shown], abs_tol=1e-12)
        left = np.setdiff1d(left, [shown, better])


@modules
def test_bad_arguments_of_simulate_items(module):
    items, user = np.eye(3), module.users.AlphaInformative(0.5)
    learner = module.PreferencePerceptron(module.Items(items))
    for options, name in [
        ({"items": np.eye(2)}, "items"),
        ({"items": 2 * items}, "items"),
        ({"weights": [[1.0, 2.0]]}, "weights"),
        ({"weights": [1.0, 2.0, 3.0]}, "weights"),
        ({"weights": [[np.nan, 2.0, 3.0]]}, "weights"),
        ({"rounds": -1}, "rounds"),
        ({"rounds": 1.5}, "rounds"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"ratings": np.ones((2, 3))}, "ratings"),
        ({"ratings": [[np.inf, 1.0, 1.0]]}, "ratings"),
        ({"seed": "x"}, "seed"),
        ({"user": None}, "user"),
        ({"user": module.users.AlphaInformative(0.5, weights=[1.0, 2.0, 3.0])}, "weights"),
    ]:
        call = {"items": items, "weights": [[1.0, 2.0, 3.0]], "user": user, **options}
        with pytest.raises((TypeError, ValueError), match=name):
            module.simulate_items(learner, **call)
