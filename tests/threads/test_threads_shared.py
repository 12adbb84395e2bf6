"""What threads share besides a learner: metrics, generators, catalogues, fleets, kernels."""

import os
import tempfile
import threading
from functools import partial

import children
import layouts
import numpy as np
import pytest
import scipy.sparse
from crowds import THREADS, digest, first, in_child, passes, together, until
from test_threads_learners import several_learn_one_example

import coactive_fast as cf

ROWS = layouts.numbers((64, 8), 31)
METRICS = [layout.name for layout in layouts.METRICS]
DRAWING = [layout.name for layout in layouts.LEARNERS
           if layout.make().get_params().get("seed") is not None]


def examples(which):
    """The rounds of one of the threads."""
    return range(which, 48, THREADS)


# --- metrics ------------------------------------------------------------------------------------


def one_updates_and_others_read(case):
    layout = layouts.BY_NAME[case]
    alone = layouts.taught(layout, 1)  # an empty one has no inverse to show
    states = [digest(alone)]
    for t in range(1, 48):
        layout.play(alone, t)
        states.append(digest(alone))
    for _ in passes():
        metric, done, seen = layouts.taught(layout, 1), threading.Event(), set()
        together(first(done, partial(layouts.taught, layout, 47, metric, 1)),
                 until(done, lambda of=metric, seen=seen: seen.add(digest(of.copy()))),
                 until(done, lambda of=metric, seen=seen: seen.add(digest(of))),
                 until(done, lambda of=metric: layout.read(of)))
        assert digest(metric) == states[-1]
        assert seen <= set(states), "a copy holds a state between two updates"


@children.forks
@pytest.mark.parametrize("case", METRICS)
@pytest.mark.parametrize("scenario", [one_updates_and_others_read, several_learn_one_example])
def test_metrics(scenario, case):
    in_child(scenario, case)


# --- where order does not matter ----------------------------------------------------------------


def learn_row(learner, t):
    learner.learn(ROWS[t], float(t % 5))


def learn_arm(learner, t):
    learner.learn(ROWS[t], t % 3, float(t % 5))


def learn_label(learner, t):
    learner.learn(ROWS[t], t % 3 == 0)


def learn_items(learner, t):
    learner.learn(ROWS[t : t + 6], [0, 1, 2], [2, 1, 0])


def update(metric, t):
    metric.update(ROWS[t])


SUMS = {  # how it is made, how it learns an example, and numbers that are sums over the examples
    "OnlineRidge": (cf.OnlineRidge, learn_row, lambda of: (of.rounds, of.weights, of.inverse())),
    "LinearBandit": (cf.LinearBandit, learn_row, lambda of: (of.rounds, of.weights, of.inverse())),
    "ArmBandit": (partial(cf.ArmBandit, 3), learn_arm, lambda of: (of.rounds, of.weights)),
    "SimpleFilter": (cf.SimpleFilter, learn_label,
                     lambda of: (of.learned, [of.margin(x) for x in ROWS[:4]])),
    "RidgeFilter": (partial(cf.RidgeFilter, feedback="full"), learn_label,
                    lambda of: (of.learned, [of.margin(x) for x in ROWS[:4]])),
    "RidgeFilter-kernel": (partial(cf.RidgeFilter, covariance="kernel"), learn_label,
                           lambda of: (of.learned, [of.margin(x) for x in ROWS[:4]])),
    "PreferencePerceptron": (partial(cf.PreferencePerceptron, cf.Ranking(k=3)), learn_items,
                             lambda of: (of.rounds, of.weights)),
    "Full": (partial(cf.metric.Full, 8), update, lambda of: (of.updates, of.matrix())),
    "Diagonal": (partial(cf.metric.Diagonal, 8), update, lambda of: (of.updates, of.matrix())),
    "Dual": (cf.metric.Dual, update, lambda of: (of.updates, [of.quad(x) for x in ROWS[:4]])),
}


def several_learn_their_own_examples(name):
    """All examples count, each once."""
    make, learn, read = SUMS[name]
    alone = make()
    for t in range(48):
        learn(alone, t)
    expected = read(alone)
    for _ in passes():
        learner = make()
        together(*[lambda of=learner, i=i: [learn(of, t) for t in examples(i)]
                   for i in range(THREADS)])
        for one, other in zip(read(learner), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@children.forks
@pytest.mark.parametrize("name", SUMS)
def test_several_learn_their_own_examples(name):
    in_child(several_learn_their_own_examples, name)


def decisions_wait_for_rewards(name):
    """Each decision has a number of its own, and every reward comes to the decision it is for."""
    make = partial(cf.LinearBandit, floor=0.2, seed=1) if name == "LinearBandit" else partial(
        cf.ArmBandit, 3, floor=0.2, seed=1)
    for _ in passes():
        bandit, numbers = make(), [[] for _ in range(THREADS)]

        def work(which, bandit=bandit, numbers=numbers):
            for t in examples(which):
                x = ROWS[t : t + 3] if name == "LinearBandit" else ROWS[t]
                decision = bandit.decide(x)
                numbers[which].append(int(decision[0]))
                if len(numbers[which]) % 4:
                    bandit.reward(numbers[which][-1], 1.0)

        together(*[partial(work, which) for which in range(THREADS)])
        assert len(set(sum(numbers, []))) == 48
        assert bandit.rounds == 36 and bandit.pending == 12


@children.forks
@pytest.mark.parametrize("name", ["LinearBandit", "ArmBandit"])
def test_decisions_wait_for_rewards(name):
    in_child(decisions_wait_for_rewards, name)


# --- generators ---------------------------------------------------------------------------------


def learners_share_a_generator(case):
    """Single calls, runs and copies want the locks of the learner and of the generator."""
    layout = layouts.BY_NAME[case]
    before, alone = layout.make().rounds, layout.make()
    layout.run(layouts.taught(layout, 8, alone), 8)
    for _ in passes():
        values = {**layout.make().get_params(deep=False), "seed": np.random.default_rng(1)}
        a, b = type(alone)(**values), type(alone)(**values)
        done = threading.Event()

        def plays(learner):
            layouts.taught(layout, 8, learner)
            layout.run(learner, 8)

        together(first(done, lambda a=a, b=b: together(partial(plays, a), partial(plays, b))),
                 until(done, a._engine._state), until(done, b._engine._state))
        for learner in (a, b):
            assert learner.rounds == alone.rounds - before


@children.forks
@pytest.mark.parametrize("case", DRAWING)
def test_learners_share_a_generator(case):
    in_child(learners_share_a_generator, case)


# --- catalogues and tasks -----------------------------------------------------------------------


def bandits_choose_from_one_catalogue(explore):
    """Another thread adds rows that never win, and removes them."""
    X = layouts.numbers((600, 5), 32) + 3.0

    def plays(learner, items):
        for t in range(24):
            i = int(learner.choose(items))
            learner.learn(X[i], 5.0 + t % 3)
        return digest(learner)

    words = {"explore": explore, "seed": 1, "width": 0.2}
    expected = plays(cf.LinearBandit(**words), X)
    for _ in passes():
        items, found, done = cf.Catalogue(X), [], threading.Event()

        def change(items=items):
            items.remove(items.add(np.zeros((40, 5))))

        together(first(done, lambda items=items, found=found: together(
            *[lambda: found.append(plays(cf.LinearBandit(**words), items))] * THREADS)),
            until(done, change), until(done, lambda items=items: (len(items), items.scored)))
        assert set(found) == {expected}
        assert len(items) == 600


@children.forks
@pytest.mark.parametrize("explore", ["ucb", "greedy", "thompson"])
def test_bandits_choose_from_one_catalogue(explore):
    in_child(bandits_choose_from_one_catalogue, explore)


def rows_of_two_classes_of_csr(case):
    """The package remembers the class that it met last."""
    kinds = [scipy.sparse.csr_matrix, scipy.sparse.csr_array]
    tables = [kind(layouts.ROWS) for kind in kinds]
    layout = layouts.BY_NAME[case]
    expected = digest(layouts.taught(layout, 24))

    def work(table):
        learner = layout.make()
        for t in range(24):
            label = int(learner.choose(table[[t]]))
            layouts.told_right_or_wrong(lambda t: table[[t]], learner, t, label)
        assert digest(learner) == expected

    for _ in passes():
        together(*[partial(work, table) for table in tables] * (THREADS // 2))


@children.forks
def test_rows_of_two_classes_of_csr():
    in_child(rows_of_two_classes_of_csr, "confidit-diagonal-printed")


# --- fleets -------------------------------------------------------------------------------------

has_fleets = pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="no fleets here")
FLEETS = {
    "LinearBandit": (partial(cf.LinearBandit, seed=1), lambda of, key, x: of.learn(key, x, 1.0)),
    "ArmBandit": (partial(cf.ArmBandit, 3, seed=1), lambda of, key, x: of.learn(key, x, 1, 1.0)),
    "OnlineRidge": (cf.OnlineRidge, lambda of, key, x: of.learn(key, x, 1.0)),
    "RidgeFilter": (cf.RidgeFilter, lambda of, key, x: of.learn(key, x, True)),
    "PreferencePerceptron": (
        partial(cf.PreferencePerceptron, cf.Ranking(k=2)),
        lambda of, key, x: of.learn(key, np.stack([x, 2.0 * x[::-1]]), [0, 1], [1, 0])),
}


def threads_teach_one_fleet(name):
    """Keys that several threads feed the same example, each as often; the file grows meanwhile."""
    make, learn = FLEETS[name]
    keys, times = range(40), 6

    def work(fleet, which):
        for i in range(times):
            for key in np.roll(keys, 7 * which + i).tolist():
                learn(fleet, key, ROWS[key])

    def read(fleet, seen):
        for key in range(0, 40, 9):
            if key in fleet:
                seen.add((key, digest(fleet[key])))
        seen.update((key, None) for key in list(fleet)[:3])

    with tempfile.TemporaryDirectory() as folder:
        with cf.Fleet(folder + "/alone", make(), capacity=4) as alone:
            states = {(key, None) for key in keys}
            for _ in range(THREADS * times):
                for key in keys:
                    learn(alone, key, ROWS[key])
                    states.add((key, digest(alone[key])))
            expected = {key: digest(alone[key]) for key in keys}
        for _ in passes():
            done, seen = threading.Event(), set()
            with cf.Fleet(folder + "/shared", make(), capacity=4) as fleet:
                together(first(done, lambda fleet=fleet: together(
                    *[partial(work, fleet, which) for which in range(THREADS)])),
                    until(done, partial(read, fleet, seen)),
                    until(done, fleet.flush, lambda fleet=fleet: len(fleet), fleet.health))
                assert {key: digest(fleet[key]) for key in fleet} == expected
                assert seen <= states, "a model that was read is between two examples"


@children.forks
@has_fleets
@pytest.mark.parametrize("name", FLEETS)
def test_threads_teach_one_fleet(name):
    in_child(threads_teach_one_fleet, name)


def runs_of_one_fleet(name):
    """Runs over the same keys in several threads, and single calls: every example counts."""
    keys = np.arange(48) % 20

    def work(fleet):
        fleet.run(keys, ROWS[:48], np.ones(48), n_jobs=2)
        for t in range(48):
            fleet.learn(int(keys[t]), ROWS[t], 1.0)

    for _ in passes():
        with cf.Fleet(None, cf.OnlineRidge(), capacity=4) as fleet:
            together(*[partial(work, fleet)] * THREADS)
            assert sum(fleet[key].rounds for key in fleet) == 2 * THREADS * 48


@children.forks
@has_fleets
def test_runs_of_one_fleet():
    in_child(runs_of_one_fleet, "OnlineRidge")


# --- kernels ------------------------------------------------------------------------------------


def kernels_in_threads(name):
    """Functions of arrays: the same bits as in one thread, whatever the others compute."""
    k, X = cf.kernels, layouts.numbers((64, 40), 33)
    A = np.linalg.inv(np.eye(40) + X.T @ X)
    A = 0.5 * (A + A.T)

    def updated(x):
        inverse = np.eye(40)
        k.inverse_update(inverse, x)
        return inverse

    calls = [lambda x: k.top_k(x, 5), lambda x: k.rank(X, x, 7), updated,
             lambda x: k.project_ball(9.0 * x, A, 1.0)[0], lambda x: k.project_simplex(x, A),
             lambda x: k.project_l1(x, A, 1.0), lambda x: k.project_box(x, A, -0.5, 0.5),
             lambda x: k.project_scores(x, np.abs(X[0]) + 1.0, 1.0), k.exp,
             lambda x: k.log(np.abs(x) + 1.0), lambda x: k.ranking_features(X, np.arange(64), k=5)]

    def all_of(t):
        return digest([call(X[t]) for call in calls])

    expected = [all_of(t) for t in range(8)]

    def work(which):
        for t in range(which, which + 8):
            assert all_of(t % 8) == expected[t % 8]

    for _ in passes():
        together(*[partial(work, which) for which in range(THREADS)])


@children.forks
def test_kernels_in_threads():
    in_child(kernels_in_threads, "all")
