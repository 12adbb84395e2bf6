"""Arguments that are arrays of numbers, given as what holds no real numbers: complex numbers, text,
dates, objects, masked values. All are refused by name, and nothing is read from them."""

from types import SimpleNamespace

import numpy as np
import pytest

import coactive_fast as cf
from coactive_fast import data, logs

ROWS = [[1.0, 2.0], [3.0, 4.0]]
RANKING = data.RankingData([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 2, 1], [0, 2, 3])


def simulated(weights):
    learner = cf.PreferencePerceptron(cf.Ranking())
    return cf.simulate(learner, RANKING, cf.users.NoisyDepth(2), weights=weights)


def simulated_items(weights=ROWS, ratings=None):
    learner = cf.PreferencePerceptron(cf.Items(ROWS))
    return cf.simulate_items(learner, ROWS, weights, cf.users.Better(seed=0), rounds=1,
                             ratings=ratings)


def told(learner, gradient):
    learner.ask()
    learner.tell(gradient)


def clicked(relevance):
    query = SimpleNamespace(relevance=relevance, features=ROWS)
    return cf.users.Clicks(seed=0).clicks(query, [0, 1])


def answered(user, **query):
    return user.respond(SimpleNamespace(candidates=[0, 1], **query), 0)


# name of the argument (and what else tells the case apart): call, what it takes
CASES = {
    "approximation_error": (lambda v: cf.Confidit(3, approximation_error=v), [0.0, 1.0]),
    "chances": (lambda v: cf.Confidit(2).run(ROWS, [0, 1], chances=v), [[0.5, 0.5], [1.0, 0.0]]),
    "X": (lambda v: cf.Confidit(2).run(v, [0, 1]), ROWS),
    "y": (lambda v: cf.Confidit(2).run(ROWS, v), [0, 1]),
    "x": (lambda v: cf.Confidit(2).choose(v), [1.0, 2.0]),
    "y of a filter": (lambda v: cf.RidgeFilter().run(ROWS, v), [0, 1]),
    "u": (lambda v: cf.RidgeFilter().run(ROWS, [0, 1], u=v), [1.0, 2.0]),
    "Y": (lambda v: cf.run_topics(cf.RidgeFilter(), ROWS, v), [[0, 1], [1, 0]]),
    "y of a regression": (lambda v: cf.OnlineRidge().run(ROWS, v), [1.0, 2.0]),
    "weight": (lambda v: cf.OnlineRidge().run(ROWS, [1.0, 2.0], weight=v), [1.0, 2.0]),
    "context": (lambda v: cf.LinearBandit(context_features=2).choose(ROWS, context=v), [1.0, 2.0]),
    "rows": (lambda v: cf.Catalogue(ROWS).add(v), ROWS),
    "rewards": (lambda v: cf.RewardTable(ROWS, v), ROWS),
    "actions": (lambda v: cf.LinearRewards([1.0, 2.0], actions=v), ROWS),
    "gradient": (lambda v: told(cf.OGD(2, cf.Ball(1.0), 1.0), v), [1.0, 2.0]),
    "gradient of ONS": (lambda v: told(cf.ONS(2, cf.Ball(1.0), 0.5), v), [1.0, 2.0]),
    "delta": (lambda v: cf.PreferencePerceptron(cf.Ranking()).update(v), [1.0, 2.0]),
    "lower": (lambda v: cf.Box(v, [5.0, 5.0]), [0.0, 1.0]),
    "z": (lambda v: cf.Ball(1.0).project(v), [0.0, 1.0]),
    "Z": (lambda v: cf.losses.Squared(v, [1.0, 2.0]), ROWS),
    "c": (lambda v: cf.metric.Full(2).update_many(ROWS, c=v), [1.0, 2.0]),
    "c of a diagonal": (lambda v: cf.metric.Diagonal(2).update_many(ROWS, c=v), [1.0, 2.0]),
    "click": (lambda v: cf.users.Clicks(click=v), [0.0, 0.5, 1.0]),
    "stop": (lambda v: cf.users.Clicks(stop=v), [0.0, 0.5, 1.0]),
    "weights": (simulated, [1.0, 2.0]),
    "weights of a user": (lambda v: cf.users.AlphaInformative(1.0, weights=v), [1.0, 2.0]),
    "weights of users": (simulated_items, ROWS),
    "ratings": (lambda v: simulated_items(ratings=v), ROWS),
    "query.relevance": (clicked, [0.0, 1.0]),
    "query.utilities": (lambda v: answered(cf.users.AlphaInformative(1.0), utilities=v),
                        [0.0, 1.0]),
    "query.ratings": (lambda v: answered(cf.users.Better(seed=0), ratings=v), [0.0, 1.0]),
    "shift": (lambda v: data.Scaling(v, [1.0, 1.0]), [1.0, 2.0]),
    "relevance": (lambda v: data.RankingData(ROWS, v, [0, 2]), [0.0, 1.0]),
    "reward": (lambda v: logs.BanditLog(ROWS, [0, 1, 2], [0, 0], v, [0.5, 0.5]), [0.5, 1.0]),
    "scores": (lambda v: cf.kernels.top_k(v, 1), [1.0, 2.0]),
}


def no_numbers(good):
    array = np.array(good)
    text = array.astype(str)
    masked = np.ma.array(array, mask=np.zeros(array.shape, dtype=bool))
    masked[(0,) * array.ndim] = np.ma.masked
    return {"complex": array + 1j, "complex64": array.astype(np.complex64),
            "list of complex": (array + 1j).tolist(), "text": text, "list of text": text.tolist(),
            "bytes": array.astype("S8"), "text as objects": text.astype(object),
            "numbers as objects": array.astype(object),
            "dates": array.astype(int).astype("datetime64[D]"), "masked": masked,
            "None": [None] * len(array)}


@pytest.mark.parametrize("form", no_numbers([1.0]))
@pytest.mark.parametrize("case", CASES)
def test_what_holds_no_numbers_is_refused(case, form):
    call, good = CASES[case]
    call(good)
    with pytest.raises((TypeError, ValueError)) as found:
        call(no_numbers(good)[form])
    assert not isinstance(found.value, Warning)  # as that of a lost imaginary part
    assert case.split(" of ")[0] in str(found.value)


ONE = {
    "eta": lambda v: cf.Confidit(3, eta=v),
    "approximation_error": lambda v: cf.Confidit(3, approximation_error=v),
    "radius": lambda v: cf.Ball(v),
    "lower": lambda v: cf.Box(v, 5.0),
    "alpha": lambda v: cf.users.AlphaInformative(v),
    "n_classes": lambda v: cf.Confidit(v),
    "k": lambda v: cf.Ranking(k=v),
}
NO_NUMBER = [np.complex64(2.0 + 1j), np.complex128(2.0), np.array(2.0 + 1j), np.array("2"), "2",
             np.str_("2"), np.bytes_(b"2"), np.array(True), np.bool_(True), True,
             np.ma.array(2, mask=True), np.ma.masked, np.datetime64(2, "D"), np.array(None)]


@pytest.mark.parametrize("value", NO_NUMBER, ids=lambda v: f"{type(v).__name__} {v!r}")
@pytest.mark.parametrize("name", ONE)
def test_one_number_is_one_real_number(name, value):
    with pytest.raises((TypeError, ValueError), match=name):
        ONE[name](value)


@pytest.mark.parametrize("name", ["eta", "approximation_error", "radius", "lower"])
@pytest.mark.parametrize("value", [2, 0.5, np.float32(0.5), np.int8(1), np.array(0.5), np.array(1),
                                   np.longdouble(0.5)], ids=repr)
def test_numbers_of_any_kind_are_taken(name, value):
    ONE[name](value)


# --- one row --------------------------------------------------------------------------------------


def learners():
    yield "gradient", lambda: cf.ONS(3, cf.Ball(1.0), 0.5), told
    yield "gradient", lambda: cf.OGD(3, cf.Ball(1.0), 1.0), told
    yield ("delta", lambda: cf.PreferencePerceptron(cf.Ranking()),
           lambda learner, v: learner.update(v))
    yield "x", lambda: cf.OnlineRidge(), lambda learner, v: learner.learn(v, 1.0)
    yield "x", lambda: cf.RidgeFilter(), lambda learner, v: learner.learn(v, True)


@pytest.mark.parametrize("name, make, learn", list(learners()),
                         ids=["ONS", "OGD", "update", "regression", "filter"])
def test_every_learner_takes_a_row_in_the_same_forms(name, make, learn):
    sparse = pytest.importorskip("scipy.sparse")
    row = np.array([0.0, 2.0, -0.5])
    expected = make()
    learn(expected, row)
    forms = [row.tolist(), row[None], [row.tolist()], row[None].astype(np.float32),
             sparse.csr_matrix(row), sparse.coo_matrix(row), sparse.csr_array(row[None]),
             np.asfortranarray(np.tile(row, (2, 1)))[:1]]
    for form in forms:
        learner = make()
        learn(learner, form)
        np.testing.assert_equal(learner._engine._state(), expected._engine._state())
    before = expected._engine._state()
    for bad in (row[:, None], np.tile(row, (2, 1)), row[None, None], row[:2], row[None, :2],
                sparse.csr_matrix(np.tile(row, (2, 1))), sparse.csr_matrix((1, 7)),
                sparse.csr_matrix(([1.0], ([0], [0])), shape=(1, 2**40)),
                np.array([[np.nan, 0.0, 0.0]]), np.zeros((1, 0)), []):
        with pytest.raises(ValueError, match=name):
            learn(expected, bad)
        now = expected._engine._state()
        now.pop("pending", None)
        np.testing.assert_equal(now, {k: v for k, v in before.items() if k != "pending"})
