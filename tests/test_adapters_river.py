"""The learners as river classifiers: its own checks, and the learner behind them."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import coactive_fast as cf

pytest.importorskip("river")

from river import (  # noqa: E402
    checks,
    datasets,
    drift,
    ensemble,
    evaluate,
    metrics,
    multiclass,
    preprocessing,
)

from coactive_fast.adapters.river import OnlineClassifier  # noqa: E402
from coactive_fast.learner._store import learners  # noqa: E402

LEARNERS = [None, *(make(2) for name, make in learners("multiclass").items()
                    if name != "Confidit")]  # which is what None means
for _learner in LEARNERS:
    if _learner is not None and "seed" in _learner.get_params():
        _learner.set_params(seed=1)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_river(learner):
    """Each learner has checks of its own, whose rows can be read but once."""
    ties = isinstance(learner, cf.MulticlassSecondOrderPerceptron)  # see test_.._classifiers
    for check in checks.yield_checks(OnlineClassifier(learner)):
        if not (ties and check.__name__ == "check_shuffle_features_no_impact"):
            check(OnlineClassifier(learner))


def stream():
    rows = cf.data.make_multiclass(n_rows=200, seed=2)
    return rows.features, rows.labels


@pytest.mark.parametrize("learner", [cf.Confidit(2), cf.MulticlassAROW(2)],
                         ids=["confidit", "arow"])
def test_it_is_the_learners_own_loop(learner):
    X, y = stream()
    model, own, numbers = OnlineClassifier(learner), None, {}
    own = learner.clone().set_params(max_features=1 << 20)
    for x, label in zip(X, y, strict=True):
        model.learn_one({f"f{i}": float(v) for i, v in enumerate(x)}, str(label))
        number = numbers.setdefault(label, len(numbers))
        if number >= own.n_classes:
            own.add_class()
        if isinstance(own, cf.Confidit):
            choice = own.choose(x)
            own.learn(x, choice, choice == number)
        else:
            own.learn(x, number)
    names = {number: str(label) for label, number in numbers.items()}
    for x in X[:50]:
        asked = {f"f{i}": float(v) for i, v in enumerate(x)}
        assert model.predict_one(asked) == names[int(own.predict(x[None])[0])]
    scores = model.decision_one(asked)
    np.testing.assert_allclose([scores[names[i]] for i in range(5)],
                               own.decision_function(X[49:50])[0], rtol=1e-12)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.decision_one(asked) == scores
        other.learn_one(asked, "new")
    assert model.decision_one(asked) == scores


def test_words_that_are_not_known_are_left_out():
    model = OnlineClassifier()
    assert model.predict_one({"a": 1.0}) is None and model.decision_one({"a": 1.0}) == {}
    assert model.predict_proba_one({"a": 1.0}) == {}
    model.learn_one({"a": 1.0}, True)
    assert model.predict_one({"b": 1.0}) is True
    model.learn_one({"a": -1.0, "b": 0.5}, False)
    asked = {"b": -1.0, "a": 1.0}
    assert model.decision_one({"z": 3.0, **asked, "y": 1.0}) == model.decision_one(asked)
    assert model.predict_one({"z": 3.0}) is True  # nothing is known: the first label


def test_the_order_of_names_and_their_number_do_not_matter():
    one, other = OnlineClassifier(cf.MulticlassAROW(2)), OnlineClassifier(cf.MulticlassAROW(2))
    rng = np.random.default_rng(3)
    names = [f"n{i}" for i in range(90)]
    one.learn_one(dict.fromkeys(names, 0.0), 0)
    other.learn_one(dict.fromkeys(names, 0.0), 0)
    for t in range(200):  # rows of many lengths, the same names twice, other orders
        picked = names[:10] if t % 3 else rng.permutation(names)[:rng.integers(1, 90)].tolist()
        x = dict(zip(picked, rng.normal(size=len(picked)).tolist(), strict=True))
        one.learn_one(x, t % 4)
        other.learn_one(dict(reversed(x.items())), t % 4)
        assert one.decision_one(x) == other.decision_one(x)
    np.testing.assert_array_equal(one._learner.weights, other._learner.weights)


def learned(learner=None):
    model = OnlineClassifier(learner)
    model.learn_one({"a": 1.0, "b": 2.0}, "u")
    model.learn_one({"a": -1.0, "c": 2.0}, "v")
    return model


@pytest.mark.parametrize("x, y, error, words", [
    ({"a": float("nan")}, "new", ValueError, "x must be finite, got nan as 'a'"),
    ({"b": 1.0, "new": float("inf")}, "u", ValueError, "got inf as 'new'"),
    ({"new": "1.5"}, "u", TypeError, "real numbers, got '1.5' as 'new'"),
    ({"new": None}, "new", TypeError, "real numbers, got None as 'new'"),
    ({"a": [1, 2]}, "u", TypeError, "real numbers"),
    ({"a": 10**400}, "u", TypeError, "real numbers"),
    ([1.0], "u", TypeError, "x must be a dictionary"),
    ({"new": 1e308}, "new", ValueError, "too large"),
    ({"new": 1.0}, None, ValueError, "y must be a label, got None"),
    ({"new": 1.0}, float("nan"), ValueError, "y must be a label, got nan"),
    ({"new": 1.0}, ["u"], TypeError, "unhashable"),
    ({f"new{i}": 1.0 for i in range(8)}, "new", ValueError, "max_features"),
])
def test_what_is_refused_changes_nothing(x, y, error, words):
    learner = cf.Confidit(2, max_features=6)
    model, twin = learned(learner), learned(learner)
    with pytest.raises(error, match=words):
        model.learn_one(x, y)
    assert pickle.dumps(model) == pickle.dumps(twin)
    for one in (model, twin):
        one.learn_one({"d": 3.0, "a": 1.0}, "w")
    assert model.decision_one({"d": 1.0, "c": 2.0}) == twin.decision_one({"d": 1.0, "c": 2.0})


@pytest.mark.parametrize("x", [{"a": "1.5"}, {"a": [1, 2]}, {"a": float("nan")}, [1.0]])
@pytest.mark.parametrize("ask", ["predict_one", "decision_one", "predict_proba_one"])
def test_what_is_no_dictionary_of_numbers_has_no_answer(x, ask):
    with pytest.raises((TypeError, ValueError), match="x must"):
        getattr(learned(), ask)(x)


@pytest.mark.parametrize("learner, error", [
    (cf.Confidit, TypeError), (cf.RidgeFilter(), TypeError), ("confidit", TypeError),
    (cf.Confidit(2, covariance="full"), ValueError),
    (cf.Confidit(2, covariance="kernel"), ValueError),
])
def test_learners_that_are_refused(learner, error):
    with pytest.raises(error, match="learner must"):
        OnlineClassifier(learner)


@pytest.mark.parametrize("model", [
    OnlineClassifier(), OnlineClassifier(cf.MulticlassAROW(2)),
    ensemble.BaggingClassifier(OnlineClassifier(), n_models=2, seed=1),
    multiclass.OneVsRestClassifier(OnlineClassifier(cf.MulticlassAROW(2))),
    drift.DriftRetrainingClassifier(OnlineClassifier(), drift.binary.DDM()),
], ids=lambda one: type(one).__name__)
def test_in_pipelines_and_wrappers(model):
    metric = metrics.Accuracy() if model._multiclass else metrics.ROCAUC()
    data = datasets.Phishing().take(400)
    evaluate.progressive_val_score(data, preprocessing.StandardScaler() | model, metric)
    assert metric.get() > 0.8


def test_probabilities_are_the_softmax_of_the_scores():
    model = learned(cf.MulticlassAROW(2))
    asked = {"a": 0.5, "c": 1.0}
    scores, shares = model.decision_one(asked), model.predict_proba_one(asked)
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-15)
    assert np.log(shares["v"] / shares["u"]) == pytest.approx(scores["v"] - scores["u"], rel=1e-12)
    assert model.predict_one(asked) == "v"


# --- many rows ----------------------------------------------------------------------------------


def table():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    X = pandas.DataFrame(rng.normal(size=(120, 4)), columns=list("dbca"))
    return X, pandas.Series(rng.choice(list("pqr"), size=120).tolist())


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
def test_many_rows_are_one_round_each(learner):
    X, y = table()
    other = X.iloc[60:].rename(columns={"a": "new"}).iloc[:, ::-1]
    many, single = OnlineClassifier(learner), OnlineClassifier(learner)
    many.learn_many(X.iloc[:60], y[:60])
    many.learn_many(other, y[60:])
    for part, labels in ((X.iloc[:60], y[:60]), (other, y[60:])):
        for x, label in zip(part.to_dict("records"), labels, strict=True):
            single.learn_one(x, label)
    np.testing.assert_array_equal(many._learner.weights, single._learner.weights)
    records = X.to_dict("records")
    assert many.predict_many(X).tolist() == [single.predict_one(x) for x in records]
    shares = many.predict_proba_many(X)
    assert shares.index.equals(X.index)
    np.testing.assert_allclose(shares.iloc[7], list(single.predict_proba_one(records[7]).values()),
                               rtol=1e-12)


def test_many_rows_before_the_first_round():
    X, _ = table()
    assert OnlineClassifier().predict_many(X).tolist() == [None] * len(X)
    assert OnlineClassifier().predict_proba_many(X).shape == (len(X), 0)


def test_many_rows_that_are_refused_change_nothing():
    X, y = table()
    model = OnlineClassifier()
    model.learn_many(X, y)
    before = pickle.dumps(model)
    for bad, labels, error, words in (
            (X.assign(new=np.nan), y, ValueError, "not in column 'new'"),
            (X.assign(new="1.5"), y, TypeError, "in column 'new'"),
            (X.to_numpy(), y, TypeError, "X must be a pandas DataFrame"),
            (X.rename(columns={"a": "b"}), y, ValueError, "no two columns of one name"),
            (X, y[:-1], ValueError, "y must have length 120"),
            (X, [*y[:-1], None], ValueError, "y must be a label, got None")):
        with pytest.raises(error, match=words):
            model.learn_many(bad, labels)
        assert pickle.dumps(model) == before


def test_threads_may_ask_together():
    X, y = stream()
    model = OnlineClassifier(cf.MulticlassAROW(2))
    rows = [{f"f{i}": float(v) for i, v in enumerate(x)} for x in X]
    for x, label in zip(rows, y.tolist(), strict=True):
        model.learn_one(x, label)
    expected = [model.predict_one(x) for x in rows]
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: [model.predict_one(x) for x in rows], range(40)):
            assert found == expected
