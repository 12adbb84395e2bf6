"""Fleets of filters and of perceptrons: learners of their own, and the twin."""

import copy

import numpy as np
import pytest
from row_cases import close

import coactive_fast as cf

D = 5
FILTERS = {
    "paper": {},
    "costs": {"cost_ratio": 0.5, "threshold_scale": 1.0},
    "full": {"feedback": "full"},
    "forget": {"forget": 0.8},
    "ucb": {"rule": "ucb", "width": 0.3},
    "bbq": {"rule": "bbq"},
    "dgs": {"rule": "dgs", "width": 0.2, "floor": 0.1},
}
RANKERS = {"plain": {}, "batch": {"batch": 3}}


def rows(T=200):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((T, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X[T // 2] = 0.0
    return rng.integers(0, 4, T), X, X[:, 0] + 0.3 * rng.standard_normal(T) > 0.4


# --- filters --------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [cf, cf.reference], ids=["compiled", "twin"])
@pytest.mark.parametrize("name", FILTERS)
def test_filters_are_learners_of_their_own(tmp_path, name, module):
    make = module.RidgeFilter
    path = tmp_path / "a" if module is cf else None
    fleet, own = module.Fleet(path, make(**FILTERS[name]), 1), {}
    keys, X, y = rows()
    for key, x, relevant in zip(keys.tolist(), X, y, strict=True):
        learner = own.setdefault(key, make(**FILTERS[name]))
        forwarded = learner.forward(x)
        assert fleet.choose(key, x) == forwarded
        if forwarded or learner.feedback == "full":
            learner.learn(x, relevant)
            fleet.learn(key, x, relevant)
    for key, learner in own.items():
        found = fleet[key]
        assert (found.rounds, found.learned) == (learner.rounds, learner.learned)
        close(found.margins(X), learner.margins(X), 1e-8)
        close(found.threshold, learner.threshold, 1e-8)
    if module is cf:
        fleet.close()
        with cf.Fleet(path, mode="r") as again:
            assert sorted(again) == sorted(own)
            for key, learner in own.items():
                for x in X[:40]:  # a reader counts no rounds
                    assert again.choose(key, x) == copy.deepcopy(learner).forward(x)


@pytest.mark.parametrize("name", FILTERS)
def test_run_of_filters(name):
    keys, X, y = rows()
    fleets = [cf.Fleet(None, cf.RidgeFilter(**FILTERS[name]), 4) for _ in range(2)]
    histories = [fleet.run(keys, X, y, n_jobs=jobs)
                 for fleet, jobs in zip(fleets, (1, 2), strict=True)]
    for key in range(4):
        mine = keys == key
        own = cf.RidgeFilter(**FILTERS[name])
        expected = own.run(X[mine], y[mine])
        for history, fleet in zip(histories, fleets, strict=True):
            assert (history.forwarded[mine] == expected.forwarded).all()
            close(history.margins[mine], expected.margins, 1e-8)
            close(fleet[key].margins(X), own.margins(X), 1e-8)
            assert fleet[key].rounds == own.rounds
    twin = cf.reference.Fleet(None, cf.reference.RidgeFilter(**FILTERS[name]), 4)
    twin.run(keys, X, y)
    for key in range(4):
        close(fleets[0][key].margins(X), twin[key].margins(X), 1e-8)


def test_a_filter_taken_out_goes_on_alike():
    keys, X, y = rows()
    for name in FILTERS:
        fleet = cf.Fleet(None, cf.RidgeFilter(**FILTERS[name]), 4)
        fleet.run(keys, X, y)
        other = cf.Fleet(None, cf.RidgeFilter(**FILTERS[name]), 4)
        for key in fleet:
            other[key] = fleet[key]
        first, second = fleet.run(keys, X, y), other.run(keys, X, y)
        assert (first.forwarded == second.forwarded).all()
        close(first.margins, second.margins, 1e-8)


def test_filters_refuse():
    fleet = cf.Fleet(None, cf.RidgeFilter(), 4)
    fleet.learn(1, [1.0, 2.0], True)
    for call, match in (
            (lambda: fleet.learn(1, [1.0, 2.0], 3), "relevant"),
            (lambda: fleet.learn(1, [1.0, 2.0], True, weight=2.0), "weight has no meaning"),
            (lambda: fleet.choose(1, [1.0, 2.0], k=2), "k has no meaning for a filter"),
            (lambda: fleet.choose(1, [1.0]), "x must have 2 features"),
            (lambda: fleet.run([1], [[1.0, 2.0]], [5]), "relevant must hold"),
            (lambda: cf.Fleet(None, cf.RidgeFilter(window=3), 2), "window=None"),
            (lambda: cf.Fleet(None, cf.RidgeFilter(covariance="diagonal"), 2), "covariance="),
            (lambda: cf.Fleet(None, cf.RidgeFilter(calibrate=True), 2), "calibrate=False")):
        with pytest.raises((ValueError, TypeError), match=match):
            call()
    assert fleet[1].learned == 1 and fleet[1].rounds == 0


# --- perceptrons ----------------------------------------------------------------------------------


def documents(t):
    rng = np.random.default_rng([6, t])
    return rng.standard_normal((3 + t % 4, D))


def better(x, y):
    best = int(np.argmax(x[:, 0]))
    return [best, *(int(i) for i in y if i != best)]


@pytest.mark.parametrize("module", [cf, cf.reference], ids=["compiled", "twin"])
@pytest.mark.parametrize("name", RANKERS)
def test_rankers_are_learners_of_their_own(tmp_path, name, module):
    def make():
        return module.PreferencePerceptron(module.Ranking(k=3), **RANKERS[name])

    path = tmp_path / "a" if module is cf else None
    fleet, own = module.Fleet(path, make(), 2), {}
    for t in range(80):
        key, x = f"user {t * t % 5}", documents(t)
        learner = own.setdefault(key, make())
        y = learner.present(x)
        assert (fleet.choose(key, x) == y).all() and (fleet.choose(key, x, k=1) == y[:1]).all()
        learner.learn(x, y, better(x, y))
        fleet.learn(key, x, y, better(x, y))
    if module is cf:
        fleet.close()
        fleet = cf.Fleet(path, mode="r+")
    assert sorted(fleet) == sorted(own)
    for key, learner in own.items():
        assert fleet[key].rounds == learner.rounds
        close(fleet[key].weights, learner.weights)
        close(fleet[key].average_weights, learner.average_weights)


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_run_of_rankers_from_a_prior(name, weight):
    rng = np.random.default_rng(5)
    keys, deltas, fleets = rng.integers(0, 3, 50), rng.standard_normal((50, D)), []
    for module in (cf, cf.reference):
        template, prior = (module.PreferencePerceptron(module.Ranking(), **RANKERS[name])
                           for _ in range(2))
        for delta in deltas[:7]:
            prior.update(delta)
        fleet = module.Fleet(None, template, 2, prior=prior, prior_weight=weight)
        fleet.run(keys, deltas)
        fleets.append(fleet)
    for key in (0, 1, 2, 99):
        close(fleets[0][key].weights, fleets[1][key].weights)
        close(fleets[0][key].average_weights, fleets[1][key].average_weights)
        assert fleets[0][key].rounds == fleets[1][key].rounds
    x = documents(1)
    assert (fleets[0].choose(99, x) == fleets[1].choose(99, x)).all()
    fleets[0][99] = fleets[0][1]
    fleets[0].run([99, 1], deltas[:2] * 0 + 1.0)
    close(fleets[0][99].weights, fleets[0][1].weights)


def test_rankers_refuse():
    fleet = cf.Fleet(None, cf.PreferencePerceptron(cf.Ranking()), 4)
    x = documents(0)
    fleet.learn(1, x, [0, 1, 2], [1, 0, 2])
    before = fleet[1].weights
    for call, match in (
            (lambda: fleet.learn(1, x, [0, 1]), "what was presented and what is better"),
            (lambda: fleet.learn(1, x, [0, 1, 2], [1, 0, 7]), "better must be in"),
            (lambda: fleet.learn(1, x[:, :2], [0, 1, 2], [1, 0, 2]), "x must have 5 features"),
            (lambda: fleet.run([1], x[:1], [1.0]), "run takes keys and rows Delta"),
            (lambda: fleet.choose(1, x[:, :2]), "x must have 5 features"),
            (lambda: cf.Fleet(None, cf.PreferencePerceptron(cf.Ranking(), kernel="rbf"), 2),
             "kernel=None"),
            (lambda: cf.Fleet(None, cf.PreferencePerceptron(cf.Items(x)), 2), "a Ranking as task")):
        with pytest.raises((ValueError, TypeError), match=match):
            call()
    assert (fleet[1].weights == before).all() and fleet[1].rounds == 1
