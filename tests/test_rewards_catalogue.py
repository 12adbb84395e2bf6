"""Choices among the rows of a catalogue: those that all rows, scored afresh, would give."""

import copy
import pickle
import threading

import numpy as np
import pytest
from catalogue_rounds import KINDS, LEARNERS, Stream
from rewards_cases import golden_cases

import coactive_fast as cf

MODULES = [pytest.param(cf.reference, id="reference"), pytest.param(cf, id="compiled")]
TOLERANCE = 1e-8


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


# --- the golden vectors ---------------------------------------------------------------------


def happen(bandit, items, events, added, t):
    """What the vectors say of round t, before the choice."""
    for when, what, argument in events:
        if when != t:
            continue
        if what == "decay":
            bandit.decay(argument)
        elif what == "remove":
            items.remove(argument)
        else:
            first = sum(m for s, w, m in events if w == "add" and s < t)
            items.add(added[first:first + argument])


@pytest.mark.parametrize("name, a, arguments", golden_cases("catalogue", "scale"))
def test_golden(module, name, a, arguments):
    bandit, items = module.LinearBandit(**arguments), module.Catalogue(a["X"])
    k, events, n = a["meta"]["k"], a["meta"]["events"], len(a["X"])
    for t, expected in enumerate(a["choice"]):
        happen(bandit, items, events, a.get("added"), t)
        allowed = None
        if "allowed" in a:
            allowed = np.unpackbits(a["allowed"][t])[:n].astype(bool)
        chosen = bandit.choose(items, allowed=allowed, k=k)
        np.testing.assert_array_equal(chosen, expected)
        bandit.learn(a["learn_x"][t], a["reward"][t], weight=a["weight"][t])
    np.testing.assert_allclose(bandit.weights, a["w"], rtol=TOLERANCE, atol=1e-12)


# --- beside all rows ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_streams(kind, seed):
    """Rows of every kind, with what may happen between two choices."""
    stream = Stream([7, seed], most=700, kind=kind, arguments=LEARNERS[seed])
    for _ in range(90):
        assert stream.over or stream.round(), stream.told


@pytest.mark.parametrize("arguments", LEARNERS, ids=str)
def test_streams_of_learners(arguments):
    stream = Stream([8, len(str(arguments))], most=1500, arguments=arguments)
    for _ in range(150):
        assert stream.over or stream.round(), stream.told


def test_more_rounds_than_slots(rng):
    """All rows are told anew by what they were measured against, and nothing else changes."""
    X = rng.standard_normal((200, 3)).astype(np.float32)
    items, bandit = cf.Catalogue(X), cf.LinearBandit(width=0.3)
    for t in range(9000):
        i = bandit.choose(items)
        if t % 50 == 0 or 4090 < t < 4110:
            assert i == bandit.choose(X)
        bandit.learn(X[i], float(X[i].sum()) + rng.standard_normal())


def test_few_rows_are_looked_at(rng):
    """What all of it is for: a count, which no busy machine changes."""
    X = (rng.standard_normal((50_000, 16)) / 4.0).astype(np.float32)
    items, bandit, looked = cf.Catalogue(X), cf.LinearBandit(), []
    target = rng.standard_normal(16) / 4.0
    for _ in range(1500):
        i = bandit.choose(items)
        looked.append(items.scored)
        bandit.learn(X[i], float(X[i] @ target) + 0.1 * rng.standard_normal())
    assert looked[0] >= 64
    assert np.median(looked[1000:]) < 500
    assert bandit.choose(items) == bandit.choose(X)


OTHERS = [
    {"forget": 0.95}, {"covariance": "diagonal", "forget": 0.9, "link": "logistic"},
    {"explore": "thompson", "seed": 3}, {"explore": "thompson", "floor": 0.3, "seed": 4},
    {"explore": "thompson", "covariance": "diagonal", "seed": 5},
    {"explore": "squarecb", "seed": 6}, {"explore": "squarecb", "floor": 0.2, "seed": 7},
    {"covariance": "diagonal", "max_features": 9}, {"floor": 0.4, "seed": 8},
    {"context_features": 2}, {"context_features": 2, "explore": "thompson", "seed": 9},
]


@pytest.mark.parametrize("arguments", OTHERS, ids=str)
def test_one_pass(arguments, rng):
    """The learners that go over all rows: choices, slates, decisions, laws, as from the rows."""
    X = rng.standard_normal((150, 5)).astype(np.float32)
    items = cf.Catalogue(X[:100])
    items.add(X[100:])
    items.remove([3, 120])
    here = np.ones(150, dtype=bool)
    here[[3, 120]] = False
    bandit, plain = cf.LinearBandit(**arguments), cf.LinearBandit(**arguments)
    p = arguments.get("context_features", 0)
    for t in range(30):
        words = {"context": rng.standard_normal(p)} if p else {}
        allowed = here & (rng.random(150) < 0.5) if t % 3 else here
        asked = {**words, "allowed": allowed}
        i = bandit.choose(items, **({**words} if t % 3 == 0 else asked))
        assert i == plain.choose(X, **asked)
        np.testing.assert_array_equal(bandit.choose(items, k=7, **asked),
                                      plain.choose(X, k=7, **asked))
        for got, expected in zip(bandit.scores(items, **words), plain.scores(X, **words),
                                 strict=True):
            np.testing.assert_array_equal(got, expected)
        samples = {"samples": 40} if arguments.get("explore") == "thompson" else {}
        np.testing.assert_array_equal(bandit.probabilities(items, **asked, **samples),
                                      plain.probabilities(X, **asked, **samples))
        got, expected = (learner.decide(rows, **asked, **(samples if t % 2 else {}))
                         for learner, rows in ((bandit, items), (plain, X)))
        np.testing.assert_array_equal(got, expected)  # NaN equals NaN
        for learner in (bandit, plain):
            learner.reward(got.id, 0.5)
            learner.learn(X[i], float(t % 2), **words)
    np.testing.assert_array_equal(bandit.weights, plain.weights)


@pytest.mark.parametrize("explore", ["ucb", "greedy", "thompson", "squarecb"])
def test_decisions_wait_as_others_do(explore, rng):
    X = rng.standard_normal((80, 4))
    items, seed = cf.Catalogue(X), 3
    bandit = cf.LinearBandit(explore=explore, floor=0.2, seed=seed)
    plain = cf.LinearBandit(explore=explore, floor=0.2, seed=seed)
    for t in range(20):
        got, expected = bandit.decide(items), plain.decide(X)
        assert got[:2] == expected[:2]
        np.testing.assert_equal(got.probability, expected.probability)
        if t % 2:
            bandit.reward(got.id, float(t))
            plain.reward(got.id, float(t))
    np.testing.assert_array_equal(bandit.weights, plain.weights)
    assert bandit.pending == plain.pending


# --- rows -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_a_file(tmp_path, dtype, rng):
    """A read-only memmap serves as it lies."""
    X = rng.standard_normal((300, 6)).astype(dtype)
    X.tofile(tmp_path / "rows")
    mapped = np.memmap(tmp_path / "rows", dtype=dtype, mode="r", shape=X.shape)
    items, bandit = cf.Catalogue(mapped), cf.LinearBandit()
    for _ in range(40):
        i = bandit.choose(items)
        assert i == bandit.choose(X)
        bandit.learn(mapped[i], 1.0)


@pytest.mark.parametrize("form", ["strided", "backwards", "columns", "fortran", "integers", "list"])
def test_forms_of_rows(form, rng):
    X = rng.integers(-9, 9, (70, 6)).astype(float)
    given = {"strided": np.repeat(X, 2, axis=0)[::2], "backwards": X[::-1].copy()[::-1],
             "columns": np.repeat(X, 2, axis=1)[:, ::2], "fortran": np.asfortranarray(X),
             "integers": X.astype(int), "list": X.tolist()}[form]
    items, bandit = cf.Catalogue(given), cf.LinearBandit()
    for _ in range(20):
        i = bandit.choose(items)
        assert i == bandit.choose(X)
        bandit.learn(X[i], 1.0)


def test_indices_are_not_used_again(module):
    items = module.Catalogue([[1.0], [2.0], [3.0]])
    items.remove(2)
    assert items.add([[0.5], [2.5]]).tolist() == [3, 4]
    items.remove([4])
    assert items.add([[2.2]]).tolist() == [5]
    assert len(items) == 4
    assert module.LinearBandit().choose(items) == 5
    assert module.LinearBandit().choose(items, k=9).tolist() == [5, 1, 0, 3]


def test_added_rows_are_rounded_alike(module):
    items = module.Catalogue(np.ones((1, 1), dtype=np.float32))
    items.add([[1.0 + 1e-12]])
    assert module.LinearBandit().choose(items) == 0  # equal in float32: the lower index


BAD = [
    (lambda m: m.Catalogue([1.0, 2.0]), "X"),
    (lambda m: m.Catalogue([[1.0, np.nan]]), "X"),
    (lambda m: m.Catalogue([[np.inf]]), "X"),
    (lambda m: m.Catalogue(np.ma.masked_array([[1.0]], mask=[[True]])), "X"),
    (lambda m: m.Catalogue([["a"]]), "X"),
    (lambda m: m.Catalogue([[1.0]]).add([[1.0, 2.0]]), "rows"),
    (lambda m: m.Catalogue([[1.0]]).add([[np.nan]]), "rows"),
    (lambda m: m.Catalogue(np.ones((1, 1), np.float32)).add([[1e60]]), "rows"),
    (lambda m: m.Catalogue([[1.0]]).remove(1), "indices"),
    (lambda m: m.Catalogue([[1.0]]).remove(-1), "indices"),
    (lambda m: m.Catalogue([[1.0]]).remove([0.5]), "indices"),
    (lambda m: m.Catalogue([[1.0], [2.0]]).remove([1, 1]), "indices"),
    (lambda m: m.LinearBandit().choose(m.Catalogue([[1.0]]), allowed=[False]), "allowed"),
    (lambda m: m.LinearBandit().choose(m.Catalogue([[1.0]]), allowed=[True, True]), "allowed"),
    (lambda m: m.LinearBandit().choose(m.Catalogue([[1.0]]), k=0), "k"),
    (lambda m: m.LinearBandit().choose(m.Catalogue([[1.0]]), context=[1.0]), "context"),
]


@pytest.mark.parametrize("act, name", BAD)
def test_bad_input(module, act, name):
    with pytest.raises((ValueError, TypeError), match=name):
        act(module)


def test_what_is_refused_changes_nothing(module):
    items = module.Catalogue([[1.0], [2.0], [3.0]])
    for bad in ([0, 7], [0, 0], [1, -1]):
        with pytest.raises(ValueError, match="indices"):
            items.remove(bad)
    with pytest.raises(ValueError, match="rows"):
        items.add([[4.0], [np.inf]])
    assert len(items) == 3
    assert items.add([[0.0]]).tolist() == [3]


def test_none_is_left(module):
    items = module.Catalogue([[1.0], [2.0]])
    items.remove([0, 1])
    with pytest.raises(ValueError, match="row"):
        module.LinearBandit().choose(items)
    with pytest.raises(ValueError, match="indices"):
        items.remove(0)


def test_rows_of_another_width(module):
    items, bandit = module.Catalogue([[1.0, 2.0]]), module.LinearBandit()
    bandit.learn([1.0, 2.0, 3.0], 1.0)
    with pytest.raises(ValueError, match="X"):
        bandit.choose(items)


def test_only_the_compiled_one_says():
    items = cf.Catalogue([[1.0]])
    for bad in (0, -2, 1.5, "all"):
        with pytest.raises((ValueError, TypeError), match="n_jobs"):
            cf.Catalogue([[1.0]], n_jobs=bad)
    with pytest.raises(ValueError, match="X"):
        cf.Catalogue([[1e200, 1e200]])  # its length is beyond float64
    with pytest.raises(TypeError, match="saved"):
        pickle.dumps(items)
    with pytest.raises(TypeError, match="Catalogue"):
        cf.LinearBandit(link="logistic").choose_pair(items)
    with pytest.raises(TypeError):
        cf.ArmBandit(2).choose(items)


# --- one learner at a time, many threads ----------------------------------------------------


def test_learners_take_turns(rng):
    X = rng.standard_normal((500, 4))
    items = cf.Catalogue(X)
    bandits = [cf.LinearBandit(width=w) for w in (0.1, 1.0)]
    bandits.append(cf.LinearBandit(covariance="diagonal"))
    for t in range(60):
        bandit = bandits[rng.integers(3)]
        i = bandit.choose(items)
        assert i == bandit.choose(X)
        bandit.learn(X[i], float(t))
        if t == 30:
            bandits[0] = copy.deepcopy(bandits[0])
        if t == 40:
            bandits[0].merge(bandits[0])


def test_nothing_of_it_is_saved(rng, tmp_path):
    X = rng.standard_normal((100, 4))
    items = cf.Catalogue(X)
    bandit, plain = cf.LinearBandit(seed=0), cf.LinearBandit(seed=0)
    for _ in range(20):
        i = bandit.choose(items)
        plain.choose(X)
        bandit.learn(X[i], 1.0)
        plain.learn(X[i], 1.0)
    for name, learner in (("a", bandit), ("b", plain)):
        learner.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert cf.load(tmp_path / "a").choose(items) == cf.load(tmp_path / "b").choose(X)


def test_threads_do_not_change_the_draws(rng):
    """n_jobs: the same choices by any number, ties included."""
    X = rng.standard_normal((20_000, 3)).round(1)
    found = []
    for jobs in (1, 2, 3, -1):
        items, bandit = cf.Catalogue(X, n_jobs=jobs), cf.LinearBandit(explore="thompson", seed=1)
        found.append([bandit.choose(items) for _ in range(30)])
    assert all(row == found[0] for row in found)


@pytest.mark.parametrize("kinds", [("ucb", "ucb"), ("ucb", "thompson"), ("thompson", "thompson")])
def test_two_threads(kinds, rng):
    """Two learners choose from one catalogue at once, while a third thread adds rows that never
    win, and takes them away."""
    X = rng.standard_normal((3000, 5)) + 2.0
    items, failures, ready = cf.Catalogue(X), [], threading.Barrier(3)

    def choose(seed, explore):
        try:
            words = {"explore": explore, "seed": seed, "width": 0.2}
            bandit, plain = cf.LinearBandit(**words), cf.LinearBandit(**words)
            ready.wait(30)
            for t in range(60):
                i = bandit.choose(items)
                assert i == plain.choose(X)
                for learner in (bandit, plain):
                    learner.learn(X[i], 5.0 + (t * seed) % 3)
        except BaseException as error:
            failures.append(error)

    def change():
        try:
            ready.wait(30)
            for _ in range(60):
                items.remove(items.add(np.zeros((70, 5)))[1:])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=choose, args=(3 + i, kind)) for i, kind in enumerate(kinds)]
    threads.append(threading.Thread(target=change))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(items) == 3060
