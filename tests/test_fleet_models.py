"""The models of a fleet are learners of their own: golden vectors, the twin, single learners."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from rewards_cases import ARMS, LINEAR, RIDGES, Round, build, is_logistic
from row_cases import FOLDER, close

import coactive_fast as cf

D = 4
WORDS = {"linear": LINEAR, "arms": ARMS, "ridge": RIDGES}
FULL = [(kind, name) for kind, names in WORDS.items() for name in names if "diagonal" not in name]


def cases():
    if not FOLDER:
        reason = "COACTIVE_VECTORS does not name the folder of the golden vectors"
        return [pytest.param("none", {}, marks=pytest.mark.skip(reason=reason))]
    found = {}
    with np.load(Path(FOLDER) / "scale_fleet.npz") as file:
        for key in file.files:
            case, _, name = key.partition("__")
            found.setdefault(case, {})[name] = file[key]
    return [pytest.param(name, arrays, id=name) for name, arrays in found.items()]


@pytest.mark.parametrize("how", ["learn", "run", "run by two", "twin"])
@pytest.mark.parametrize("name, a", cases())
def test_golden(tmp_path, name, a, how):
    meta = json.loads(str(a["meta"]))
    module = cf.reference if how == "twin" else cf
    make = getattr(module, meta["kind"])
    template, prior = make(**meta["arguments"]), None
    if "prior_X" in a:
        prior = make(**meta["arguments"])
        for x, y in zip(a["prior_X"], a["prior_y"], strict=True):
            prior.learn(x, y)
    fleet = module.Fleet(None if how == "twin" else tmp_path / "a", template, 4, prior=prior,
                         prior_weight=meta.get("prior_weight", 1.0))
    answers = (a["arm"], a["y"]) if "arm" in a else (a["y"],)
    if how == "learn":
        for t, key in enumerate(a["keys"]):
            fleet.learn(key, a["X"][t], *(answer[t] for answer in answers), weight=a["weight"][t])
    else:
        words = {"n_jobs": 2} if how == "run by two" else {}
        fleet.run(a["keys"], a["X"], *answers, weight=a["weight"], **words)
    assert [int(key) in fleet for key in a["ids"]] == a["fed"].tolist()
    for i, key in enumerate(a["ids"].tolist()):
        weights = fleet[key].weights
        close(weights if weights.size else np.zeros_like(a["w"][i]), a["w"][i], 1e-8)
        if i < 4 and (a["fed"][i] or prior is not None):
            close(inverse(fleet[key]), a["inverse"][i], 1e-8)


def inverse(learner):
    if hasattr(learner, "n_arms"):
        return [learner.inverse(i) for i in range(learner.n_arms)]
    return learner.inverse()


# --- against learners of their own --------------------------------------------------------------


def taught(kind, name, path, rounds=60):
    """A fleet and a dict of learners that were taught the same, and choose the same all the way."""
    template = build(cf, kind, name)
    fleet, own = cf.Fleet(path, template, 2), {}
    rng = np.random.default_rng(3)
    for t in range(rounds):
        key = int(rng.integers(5))
        learner = own.setdefault(key, copy.deepcopy(template))
        if kind == "ridge":
            x = rng.standard_normal(D) if t != 20 else np.zeros(D)
            y = float(rng.random()) if is_logistic(learner) else float(rng.standard_normal())
            close(fleet.choose(key, [x]), learner.predict([x]), 1e-8)
            fleet.learn(key, x, y, weight=0.5)
            learner.learn(x, y, weight=0.5)
            continue
        round = Round(template, t)
        if t % 2 or key % 2:  # some keys are asked before they learn, some are not
            assert fleet.choose(key, round.rows, allowed=round.allowed, **round.words) == \
                round.choose(learner)
        arms = (round.any,) if round.arms else ()
        x = round.rows if round.arms else round.rows[round.any]
        fleet.learn(key, x, *arms, round.reward, weight=round.weight, **round.words)
        round.learn(learner)
        assert (fleet.choose(key, round.rows, k=2, **round.words)
                == learner.choose(round.rows, k=2, **round.words)).all()
    return fleet, own


@pytest.mark.parametrize("kind, name", FULL)
def test_models_are_learners_of_their_own(tmp_path, kind, name):
    fleet, own = taught(kind, name, tmp_path / "a")
    assert sorted(fleet) == sorted(own) and len(fleet) == 5
    for key, learner in own.items():
        found = fleet[key]
        assert found.rounds == learner.rounds
        close(found.weights, learner.weights, 1e-8)
        close(inverse(found), inverse(learner), 1e-8)
    fleet.close()
    with cf.Fleet(tmp_path / "a", mode="r") as again:
        for key in own:
            close(again[key].weights, own[key].weights, 1e-8)


@pytest.mark.parametrize("kind, name", FULL)
def test_a_learner_taken_out_and_put_back(tmp_path, kind, name):
    fleet, own = taught(kind, name, None)
    other = cf.Fleet(None, build(cf, kind, name), 2)
    for key in own:
        other[key] = fleet[key]
        close(other[key].weights, fleet[key].weights, 1e-12)
        close(inverse(other[key]), inverse(fleet[key]), 1e-10)
        assert other[key].rounds == fleet[key].rounds
    for one in (fleet, other):  # both go on alike
        for t in range(100, 110):
            if kind == "ridge":
                one.learn(t % 5, Round(cf.LinearBandit(), t).rows[0], 0.5)
            else:
                round = Round(one.template, t)
                x = round.rows if round.arms else round.rows[1]
                one.learn(t % 5, x, *((1,) if round.arms else ()), round.reward, **round.words)
    for key in own:
        close(other[key].weights, fleet[key].weights, 1e-9)


@pytest.mark.parametrize("kind", ["linear", "arms", "ridge"])
@pytest.mark.parametrize("weight", [1.0, 0.3, 4.0])
def test_prior_against_the_twin(kind, weight):
    fleets = []
    for module in (cf, cf.reference):
        name = "forget" if kind == "ridge" else "ucb"
        template, prior = build(module, kind, name), build(module, kind, name)
        for t in range(9):
            row = Round(cf.LinearBandit(), t).rows[0]
            prior.learn(row, *((t % 2,) if kind == "arms" else ()), float(t))
        fleet = module.Fleet(None, template, 2, prior=prior, prior_weight=weight)
        fleet.run([3, 4, 3], np.eye(D)[:3], *(([0, 1, 2],) if kind == "arms" else ()),
                  [1.0, 2.0, 3.0])
        fleets.append(fleet)
    for key in (3, 4, 99):
        got, expected = fleets[0][key], fleets[1][key]
        close(got.weights, expected.weights, 1e-9)
        close(inverse(got), [m.inverse for m in expected._models] if kind == "arms"
              else expected.inverse(), 1e-9)
        assert got.rounds == expected.rounds
    assert 99 not in fleets[0] and len(fleets[0]) == 2


def test_an_unknown_key_is_the_prior(tmp_path):
    prior = cf.LinearBandit()
    prior.learn([1.0, 0.0], 4.0)
    with cf.Fleet(tmp_path / "a", cf.LinearBandit(), 2, prior=prior) as fleet:
        X = [[0.0, 1.5], [1.0, 0.0]]
        assert fleet.choose("anna", X) == prior.choose(X) == 1
        assert len(fleet) == 0 and "anna" not in fleet
        fleet.learn("ben", [0.0, 1.0], 1.0)
        assert fleet.choose("anna", X) == 1
        close(fleet["ben"].weights, [2.0, 0.5])
        close(fleet["anna"].weights, [2.0, 0.0])
    with cf.Fleet(tmp_path / "a", mode="r+") as fleet:
        fleet.learn("carl", [0.0, 1.0], 1.0)
        close(fleet["carl"].weights, [2.0, 0.5])
    with pytest.raises(ValueError, match="x must have 2 features"):
        cf.Fleet(None, cf.LinearBandit(), 2, prior=prior).learn(1, [1.0, 2.0, 3.0], 1.0)


@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 15, 16, 17, 24, 40])
def test_every_width(d):
    """Over all ends of the lanes, ill-conditioned rows among them."""
    rng = np.random.default_rng(d)
    X = rng.standard_normal((3 * d + 20, d)) * 10.0 ** rng.integers(-1, 3, d)
    y = rng.standard_normal(len(X))
    fleet, own = cf.Fleet(None, cf.OnlineRidge(), 2), cf.reference.OnlineRidge()
    predictions = fleet.run(np.zeros(len(X), dtype=int), X, y).predictions
    close(predictions, own.run(X, y).predictions, 1e-8)
    close(fleet[0].weights, own.weights, 1e-8)
    close(fleet[0].inverse(), own.inverse(), 1e-8)


def test_rows_in_every_form():
    rng = np.random.default_rng(1)
    X = np.where(rng.random((30, 6)) < 0.5, 0.0, rng.standard_normal((30, 6)))
    keys, y = rng.integers(0, 4, 30), rng.standard_normal(30)
    forms = [X, np.asfortranarray(X), scipy.sparse.csr_matrix(X), X.tolist()]
    found = []
    for form in forms:
        fleet = cf.Fleet(None, cf.LinearBandit(), 2)
        fleet.run(keys, form, y)
        found.append([fleet[key].weights.tolist() for key in range(4)])
    single = cf.Fleet(None, cf.LinearBandit(), 2)
    for t in range(30):
        row = X[t] if t % 2 else scipy.sparse.csr_matrix(X[t:t + 1])
        single.learn(keys[t], row, y[t])
    found.append([single[key].weights.tolist() for key in range(4)])
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("as_text", [False, True])
def test_run_does_not_depend_on_the_number_of_threads(as_text):
    rng = np.random.default_rng(2)
    n = 400_000
    keys, X, y = rng.integers(0, 3000, n), rng.standard_normal((n, 3)), rng.standard_normal(n)
    keys = [f"key {key}" for key in keys] if as_text else keys
    found = []
    for jobs in (1, 2, 3):
        with cf.Fleet(None, cf.OnlineRidge(), 8) as fleet:
            predictions = fleet.run(keys, X, y, n_jobs=jobs).predictions
            listed = list(fleet)
            found.append((predictions.tobytes(), listed,
                          [fleet._engine.words(key)[3:].tobytes() for key in listed]))
    assert found[0] == found[1] == found[2]


def test_draws_are_those_of_each_model():
    """With a seed as of a learner of its own; without one every model for itself."""
    X = np.eye(3)
    alike, apart = (cf.Fleet(None, cf.LinearBandit(explore="thompson", seed=seed), 9)
                    for seed in (5, None))
    own = cf.LinearBandit(explore="thompson", seed=5)
    expected = [own.choose(X) for _ in range(40)]
    for key in (1, 2):
        assert [alike.choose(key, X) for _ in range(40)] == expected
    assert [apart.choose(1, X) for _ in range(40)] != [apart.choose(2, X) for _ in range(40)]
    counts = np.bincount([apart.choose(key, X) for key in range(3000)], minlength=3)
    assert (abs(counts - 1000) < 150).all(), counts
    alike.learn(1, X[0], 1.0)
    own.learn(X[0], 1.0)
    assert [alike.choose(1, X) for _ in range(40)] == [own.choose(X) for _ in range(40)]


# --- what a second look found -------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [{}, {"link": "logistic"}])
def test_a_run_predicts_before_it_forgets(arguments, rng):
    """With forgetting a renewed regulariser moves w: each row is predicted before that."""
    X, y = rng.standard_normal((40, 3)), rng.random(40)
    template = cf.OnlineRidge(forget=0.9, **arguments)
    found = cf.Fleet(None, template, 4).run([1] * 40, X, y)
    wanted = template.clone().run(X, y)
    np.testing.assert_allclose(found.predictions, wanted.predictions, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.loss, wanted.loss, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("how", ["learn", "run"])
def test_what_was_drawn_before_the_first_lesson_is_in_the_record(how, rng, tmp_path):
    X = rng.standard_normal((8, 3))
    path = tmp_path / "users.fleet"
    template = cf.LinearBandit(explore="thompson", width=3.0, seed=5)
    fleet, alone = cf.Fleet(path, template, 4), template.clone()
    assert fleet.choose(1, X) == alone.choose(X)
    if how == "learn":
        fleet.learn(1, X[0], 1.0)
    else:
        fleet.run([1], X[:1], [1.0])
    alone.learn(X[0], 1.0)
    copy = fleet[1]
    fleet.close()
    with cf.Fleet(path, mode="r+") as again:
        for _ in range(20):
            wanted = alone.choose(X)
            assert again.choose(1, X) == wanted == copy.choose(X)


def test_texts_of_numpy_are_keys():
    fleet = cf.Fleet(None, cf.LinearBandit(), 3)
    keys = np.array(["anna", "ben"])
    fleet.run(keys, np.eye(2), [1.0, 2.0])
    fleet.learn(keys[0], [1.0, 0.0], 1.0)
    assert keys[0] in fleet and set(fleet) == {"anna", "ben"}
    assert fleet[keys[0]].rounds == fleet["anna"].rounds == 2
    fleet.run([keys[1], "anna"], np.eye(2), [1.0, 2.0])
    assert fleet["ben"].rounds == 2 and type(next(iter(fleet))) is str


def test_a_prior_has_as_many_arms_as_the_template():
    prior = cf.ArmBandit(2)
    prior.learn([1.0, 0.0], 0, 1.0)
    prior.add_arm()
    with pytest.raises(ValueError, match="prior must have 2 arms, as the template has, got 3"):
        cf.Fleet(None, cf.ArmBandit(2), 3, prior=prior)


def test_nothing_is_put_into_a_closed_fleet():
    fleet, learner = cf.Fleet(None, cf.LinearBandit(), 3), cf.LinearBandit()
    learner.learn([1.0], 1.0)
    fleet.close()
    with pytest.raises(ValueError, match="the fleet is closed"):
        fleet[5] = learner


@pytest.mark.parametrize("size", [8, 20, 31, 100, 4095])
def test_the_first_bytes_of_a_file_alone(size, tmp_path):
    path = tmp_path / "users.fleet"
    with cf.Fleet(path, cf.LinearBandit(), 3) as fleet:
        fleet.learn(1, [1.0], 1.0)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ValueError, match=f"truncated: only {size} bytes are left"):
        cf.Fleet(path, mode="r")
