"""The learners as river classifiers: its own checks, and the learner behind them."""

import copy
import pickle

import numpy as np
import pytest

import coactive_fast as cf

pytest.importorskip("river")

from river import checks  # noqa: E402

from coactive_fast.adapters.river import OnlineClassifier  # noqa: E402

LEARNERS = [None, cf.Banditron(2, seed=1), cf.MulticlassPerceptron(2),
            cf.MulticlassSecondOrderPerceptron(2), cf.MulticlassAROW(2)]


@pytest.mark.parametrize("check", list(checks.yield_checks(OnlineClassifier())),
                         ids=lambda check: check.__name__)
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_river(check, learner):
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
    model.learn_one({"a": 1.0}, True)
    assert model.predict_one({"b": 1.0}) is True
    narrow = OnlineClassifier(cf.Confidit(2, max_features=2))
    narrow.learn_one({"a": 1.0, "b": 2.0}, 0)
    with pytest.raises(ValueError, match="max_features"):
        narrow.learn_one({"a": 1.0, "c": 1.0}, 0)
    narrow.learn_one({"b": 1.0}, 1)
