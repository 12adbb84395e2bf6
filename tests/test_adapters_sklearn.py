"""The learners as scikit-learn classifiers: its own checks, and the learner behind them."""

import pickle

import numpy as np
import pytest
import scipy.sparse

import coactive_fast as cf

pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.calibration import CalibratedClassifierCV  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.multiclass import OneVsRestClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from coactive_fast.adapters import sklearn as adapter  # noqa: E402
from coactive_fast.adapters.sklearn import OnlineClassifier  # noqa: E402
from coactive_fast.learner._store import learners  # noqa: E402

LEARNERS = [None, cf.Confidit(2, covariance="full"),
            *(make(2) for name, make in learners("multiclass").items() if name != "Confidit")]
for _learner in LEARNERS:
    if _learner is not None and "seed" in _learner.get_params():
        _learner.set_params(seed=1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
def test_the_checks_of_scikit_learn(learner):
    found = check_estimator(OnlineClassifier(learner), on_fail=None)
    assert len(found) > 40
    assert not [f for f in found if f["status"] not in ("passed", "skipped")]


def made():
    rows = cf.data.make_multiclass(n_rows=300, seed=1)
    return rows.features, np.array(list("zyxwv"))[rows.labels]


def test_it_is_the_learners_own_run():
    X, y = made()
    model = OnlineClassifier(cf.MulticlassAROW(2, r=2.0), shuffle=False, epochs=2)
    own = cf.MulticlassAROW(5, r=2.0)
    own.run(X, np.searchsorted(list("vwxyz"), y), epochs=2)
    for table in (X, scipy.sparse.csr_matrix(X), scipy.sparse.csc_matrix(X)):
        model.fit(table, y)
        np.testing.assert_array_equal(model.learner_.weights, own.weights)
        np.testing.assert_array_equal(model.decision_function(table), own.decision_function(X))
        np.testing.assert_array_equal(model.predict(table),
                                      np.array(list("vwxyz"))[own.predict(X)])
    assert model.learner.rounds == 0


def test_partial_fit_is_fit_in_parts():
    X, y = made()
    whole = OnlineClassifier(shuffle=False).fit(X, y)
    parts = OnlineClassifier()
    parts.partial_fit(X[:100], y[:100], classes=list("vwxyz"))
    parts.partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(parts.learner_.weights, whole.learner_.weights)
    with pytest.raises(ValueError, match="y must hold labels of"):
        parts.partial_fit(X[:1], ["a"])
    with pytest.raises(ValueError, match="classes must be those of the first call"):
        parts.partial_fit(X[:1], y[:1], classes=["v", "w"])
    with pytest.raises(ValueError, match="classes must be given"):
        OnlineClassifier().partial_fit(X, y)


def test_in_a_pipeline_and_a_search():
    X, y = made()
    model = make_pipeline(StandardScaler(), OnlineClassifier(cf.Confidit(2), random_state=0))
    grid = {"onlineclassifier__learner__eta": [0.01, 1.0], "onlineclassifier__epochs": [1, 2]}
    found = [GridSearchCV(model, grid, cv=3, n_jobs=n).fit(X, y) for n in (1, 2)]
    assert found[0].best_score_ > 0.4
    np.testing.assert_array_equal(*(one.cv_results_["mean_test_score"] for one in found))


@pytest.mark.parametrize("around", [CalibratedClassifierCV, OneVsRestClassifier])
def test_inside_other_estimators(around):
    X, y = made()
    assert cross_val_score(around(OnlineClassifier(random_state=0)), X, y, cv=3).mean() > 0.6


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array", "coo_array", "lil_array"])
@pytest.mark.parametrize("places", [np.int32, np.int64])
def test_sparse_of_any_format_and_indices(kind, places):
    X, y = made()
    table = getattr(scipy.sparse, kind)(X)
    for name in ("indices", "indptr"):
        if hasattr(table, name):
            setattr(table, name, getattr(table, name).astype(places))
    if hasattr(table, "coords"):
        table.coords = tuple(c.astype(places) for c in table.coords)
    elif kind.startswith("coo"):  # SciPy before 1.13
        table.row, table.col = table.row.astype(places), table.col.astype(places)
    model, dense = (OnlineClassifier(random_state=1).fit(one, y) for one in (table, X))
    np.testing.assert_array_equal(model.predict(table), dense.predict(X))


def test_frames_and_their_names():
    pandas = pytest.importorskip("pandas")
    X, y = made()
    frame = pandas.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    model = OnlineClassifier(random_state=1).fit(frame, pandas.Series(y))
    assert model.feature_names_in_.tolist() == list(frame)
    np.testing.assert_array_equal(model.predict(frame),
                                  OnlineClassifier(random_state=1).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"c0": "other"}))
    parts = OnlineClassifier().partial_fit(frame, pandas.Series(y), classes=list("vwxyz"))
    assert parts.classes_.tolist() == list("vwxyz")


def test_labels_keep_their_type():
    X, y = made()
    for labels in (y, y.astype(object), y == "z", np.searchsorted(list("vwxyz"), y) * 2.0):
        model = OnlineClassifier().fit(X, labels)
        assert model.classes_.dtype == model.predict(X).dtype == labels.dtype


def test_chance_is_that_of_random_state():
    X, y = made()
    models = [OnlineClassifier(random_state=one).fit(X, y)
              for one in (3, 3, np.random.RandomState(3), 4)]
    weights = [model.learner_.weights for model in models]
    np.testing.assert_array_equal(weights[0], weights[1])
    np.testing.assert_array_equal(weights[0], weights[2])
    assert (weights[0] != weights[3]).any()


@pytest.mark.parametrize("parameters, error, words", [
    ({"epochs": 0}, ValueError, "epochs must be >= 1"),
    ({"epochs": 1.5}, TypeError, "epochs must be an integer"),
    ({"shuffle": "no"}, TypeError, "shuffle must be True or False"),
    ({"random_state": "a"}, ValueError, "random_state"),
    ({"learner": cf.Confidit}, TypeError, "learner must be a multiclass learner"),
    ({"learner": cf.RidgeFilter()}, TypeError, "learner must be a multiclass learner"),
    ({"learner": cf.Confidit(2, max_features=3)}, ValueError, "at most 3 features"),
])
def test_a_fit_that_is_refused_changes_nothing(parameters, error, words):
    X, y = made()
    model = OnlineClassifier(random_state=1).fit(X[:, :4], y).set_params(**parameters)
    before = pickle.dumps(model)
    with pytest.raises(error, match=words):
        model.fit(X, y)
    assert pickle.dumps(model) == before
    with pytest.raises(error, match=words):
        clone(model).fit(X, y)


def test_a_first_partial_fit_that_is_refused_is_none():
    X, y = made()
    model = OnlineClassifier()
    for labels, classes in ((y, ["a", "b"]), (y, []), (y[:2], list("vwxyz"))):
        with pytest.raises(ValueError):
            model.partial_fit(X, labels, classes=classes)
        assert vars(model) == vars(OnlineClassifier())
    model.partial_fit(X[:, :3], y, classes=list("vwxyz"))
    assert model.n_features_in_ == 3


def test_a_filter_has_two_classes():
    model = adapter.RidgeFilterClassifier()
    with pytest.raises(ValueError, match="classes must hold two labels"):
        model.partial_fit([[1.0], [2.0]], [0, 1], classes=[0, 1, 2])
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("more", [{"sample_weight": [1.0, 1.0, 1e308, 1e308, 1e308]},
                                  {"y": [9.0, 9.0, 1e308, -1e308, 1e308]}])
def test_what_is_refused_half_way_leaves_the_regressor(more):
    X, y = np.eye(5)[:, :3] + 1.0, np.arange(5.0)
    model = adapter.OnlineRidgeRegressor(forget=0.9 if "y" in more else 1.0).fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError):
        model.partial_fit(X, **{"y": y, **more})
    np.testing.assert_array_equal(model.coef_, before)


def test_a_ranker_whose_user_stops_is_as_before():
    class Stops(cf.users.NoisyDepth):
        left = 3

        def respond(self, query, presented):
            Stops.left -= 1
            if Stops.left < 0:
                raise KeyboardInterrupt
            return super().respond(query, presented)

    rng = np.random.default_rng(0)
    X, y, qid = rng.standard_normal((8, 3)), np.arange(8) % 3, np.repeat([0, 1], 4)
    model = adapter.CoactiveRanker(user=Stops(5), random_state=0).partial_fit(X, y, qid=qid)
    before = model.coef_.copy()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y, qid=qid)
    np.testing.assert_array_equal(model.coef_, before)
    assert model.learner_.rounds == 2
