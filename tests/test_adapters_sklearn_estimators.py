"""The learners as scikit-learn estimators of their own names: its checks, and what they promise."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import coactive_fast as cf

pytest.importorskip("sklearn")

import sklearn  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.datasets import load_digits, load_iris, load_wine  # noqa: E402
from sklearn.feature_selection import SelectFromModel  # noqa: E402
from sklearn.model_selection import (  # noqa: E402
    GridSearchCV,
    GroupKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from coactive_fast.adapters import sklearn as adapter  # noqa: E402
from coactive_fast.adapters.sklearn import (  # noqa: E402
    AROWClassifier,
    BanditronClassifier,
    CoactiveRanker,
    ConfiditClassifier,
    OnlineClassifier,
    OnlineLogisticClassifier,
    PerceptronClassifier,
    RidgeFilterClassifier,
    SecondOrderPerceptronClassifier,
)

LINEAR = [ConfiditClassifier, BanditronClassifier, PerceptronClassifier, AROWClassifier,
          OnlineLogisticClassifier]
MULTICLASS = [*LINEAR, SecondOrderPerceptronClassifier]
CLASSIFIERS = [*MULTICLASS, RidgeFilterClassifier]
OF_A_LEARNER = {ConfiditClassifier: cf.Confidit, BanditronClassifier: cf.Banditron,
                PerceptronClassifier: cf.MulticlassPerceptron,
                SecondOrderPerceptronClassifier: cf.MulticlassSecondOrderPerceptron,
                AROWClassifier: cf.MulticlassAROW}

# --- scikit-learn's own checks ------------------------------------------------------------------

OPTIONS = [
    *(kind(**words) for kind in (*CLASSIFIERS, CoactiveRanker)
      for words in ({}, {"random_state": 0}, {"scale": False})),
    *(kind(scale=True, fit_intercept=False, shuffle=False) for kind in CLASSIFIERS),
    *(ConfiditClassifier(**words) for words in (
        {"covariance": "full"}, {"covariance": "kernel", "kernel": "rbf", "n_epochs": 2},
        {"covariance": "full", "projection": True}, {"alpha": 0.5},
        {"covariance": "full", "confidence": "selfnormalized"}, {"confidence": "theory"},
        {"diagonal_step": "printed"}, {"normalize": True})),
    *(RidgeFilterClassifier(**words) for words in (
        {"covariance": "diagonal"}, {"covariance": "kernel", "kernel": "rbf"},
        {"covariance": "kernel", "budget": 20}, {"feedback": "full"}, {"forget": 0.99},
        {"window": 50}, {"cost_ratio": 2.0}, {"calibrate": True}, {"rule": "bbq"},
        {"rule": "ucb", "width": 0.2}, {"rule": "dgs", "width": 0.2}, {"n_epochs": 5})),
    *(OnlineLogisticClassifier(**words) for words in (
        {"covariance": "diagonal"}, {"forget": 0.99}, {"n_epochs": 5})),
    *(CoactiveRanker(rule, **words) for rule, words in (
        ("second-order", {}), ("exponentiated", {}), ("convex", {"average": False}),
        (cf.PDGD(cf.Ranking(k=3)), {"user": cf.users.Clicks()}),
        (cf.PreferencePerceptron(cf.Ranking(k=3), kernel="rbf"), {}))),
]


def not_to_pass(model):
    """The checks that cannot pass, and why."""
    if isinstance(model, OnlineLogisticClassifier):
        why = "a row that comes twice makes two steps, one of weight 2 a longer one"
        return {f"check_sample_weight_equivalence_on_{kind}_data": why
                for kind in ("dense", "sparse")}
    if getattr(model, "cost_ratio", 1.0) != 1.0:
        return {"check_classifiers_train": "predict goes by the costs, predict_proba does not"}
    return {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", OPTIONS, ids=lambda one: "".join(str(one).split()))
def test_the_checks_of_scikit_learn(model):
    found = check_estimator(model, on_fail=None, on_skip=None,
                            expected_failed_checks=not_to_pass(model))
    assert len(found) > 40
    assert not [f for f in found if f["status"] == "failed"]
    assert {f["check_name"] for f in found if f["status"] == "xfail"} == set(not_to_pass(model))
    # that one asks for a variable that scipy reads when it is imported: see the next test
    assert {f["check_name"] for f in found if f["status"] == "skipped"} <= {"check_array_api_input"}


def test_no_check_is_skipped(tmp_path):
    """In a process with SCIPY_ARRAY_API, where none is."""
    code = ("import warnings; warnings.simplefilter('ignore')\n"
            "from sklearn.utils.estimator_checks import check_estimator\n"
            "from coactive_fast.adapters import sklearn as adapter\n"
            "for name in adapter.__all__:\n"
            "    found = check_estimator(getattr(adapter, name)(), on_fail=None, on_skip=None)\n"
            "    print(name, sum(f['status'] == 'skipped' for f in found))\n")
    top = str(Path(cf.__file__).resolve().parent.parent)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, text=True,
                          capture_output=True,
                          env={**os.environ, "PYTHONPATH": top, "SCIPY_ARRAY_API": "1"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{name} 0" for name in adapter.__all__]


# --- the intercept, and what is learned -----------------------------------------------------------


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_four_points_on_a_line(kind):
    """Which no line through 0 tells apart."""
    X, y = [[1], [2], [3], [4]], [0, 0, 1, 1]
    found = [kind(random_state=seed).fit(X, y).score(X, y) for seed in range(20)]
    # one that explores by chance may do so in the last of its 40 rounds
    assert found.count(1.0) == 20 if kind is not BanditronClassifier else np.mean(found) > 0.9
    bare = kind(random_state=0, fit_intercept=False, scale=False).fit(X, y)
    assert bare.score(X, y) == 0.5


@pytest.mark.parametrize("kind", [PerceptronClassifier, AROWClassifier, ConfiditClassifier])
def test_four_points_without_scaling(kind):
    X, y = [[1], [2], [3], [4]], [0, 0, 1, 1]
    assert kind(random_state=0, scale=False).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("kind", MULTICLASS)
def test_raw_data(kind):
    """Features of many units: wine's reach from 0.1 to 1700."""
    X, y = load_wine(return_X_y=True)
    scaled, raw = (cross_val_score(kind(random_state=0, scale=one), X, y, cv=3).mean()
                   for one in ("dense", False))
    assert scaled > (0.85 if kind is BanditronClassifier else 0.95) and scaled > raw
    X, y = load_digits(return_X_y=True)
    least = 0.5 if kind is BanditronClassifier else 0.88
    assert cross_val_score(kind(random_state=0), X, y, cv=3).mean() > least


@pytest.mark.parametrize("kind", OF_A_LEARNER)
def test_it_is_the_learners_own_run_on_scaled_rows(kind):
    X, y = load_iris(return_X_y=True)
    model = kind(shuffle=False, n_epochs=3, random_state=4).fit(X, y)
    own = OF_A_LEARNER[kind](3)
    if kind is BanditronClassifier:
        own.set_params(seed=model.learner_.seed)
    rows = np.hstack([StandardScaler().fit_transform(X), np.ones((150, 1))])
    own.run(rows, y, epochs=3)
    np.testing.assert_array_equal(model.learner_.weights, own.weights)
    np.testing.assert_array_equal(model.predict(X), own.predict(rows))


@pytest.mark.parametrize("kind", OF_A_LEARNER)
def test_stretches_are_the_whole(kind, monkeypatch):
    X, y = load_iris(return_X_y=True)
    whole = kind(random_state=1).fit(X, y)
    monkeypatch.setattr("coactive_fast.adapters.sklearn.BLOCK", 4 * 7)
    parts = kind(random_state=1).fit(X, y)
    np.testing.assert_array_equal(parts.learner_.weights, whole.learner_.weights)
    np.testing.assert_array_equal(parts.decision_function(X), whole.decision_function(X))


# --- scaling ------------------------------------------------------------------------------------


def test_scaling_goes_by_all_rows_seen(rng):
    X = 5.0 + 3.0 * rng.standard_normal((60, 4))
    y = rng.integers(3, size=60)
    model, scaler = AROWClassifier(), StandardScaler()
    own = cf.MulticlassAROW(3)
    for rows in (slice(0, 25), slice(25, 26), slice(26, 60)):
        model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
        scaled = scaler.partial_fit(X[rows]).transform(X[rows])
        own.run(np.hstack([scaled, np.ones((len(scaled), 1))]), y[rows])
    np.testing.assert_array_equal(model.learner_.weights, own.weights)
    np.testing.assert_array_equal(model.scaler_.mean_, scaler.mean_)
    whole = AROWClassifier(scale=True, shuffle=False, n_epochs=1).fit(X, y)
    np.testing.assert_allclose(whole.scaler_.scale_, X.std(axis=0), rtol=1e-12)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_units_do_not_matter(kind, rng):
    X, y = load_iris(return_X_y=True)
    y = y == 1
    factors, shift = np.array([1e-6, 1.0, 1e3, 1e6]), np.array([0.0, 5.0, -1e3, 1e6])
    one = kind(random_state=2).fit(X, y)
    other = kind(random_state=2).fit(X * factors + shift, y)
    assert np.mean(one.predict(X) == other.predict(X * factors + shift)) > 0.98


def test_sparse_rows_are_scaled_and_not_centred(rng):
    X = scipy.sparse.random(80, 30, density=0.2, random_state=3, format="csr")
    y = rng.integers(2, size=80)
    assert PerceptronClassifier().fit(X, y).scaler_ is None
    model = PerceptronClassifier(scale=True, random_state=1).fit(X, y)
    assert not model.scaler_.with_mean
    by_hand = X.multiply(1.0 / np.std(X.toarray(), axis=0)).tocsr()
    own = PerceptronClassifier(scale=False, random_state=1).fit(by_hand, y)
    np.testing.assert_allclose(model.decision_function(X), own.decision_function(by_hand),
                               rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.predict(X.toarray()))
    before = X.copy()
    assert (X != before).nnz == 0  # the rows that were given are as they were


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_sparse_is_dense(kind, rng):
    X = scipy.sparse.random(80, 30, density=0.3, random_state=3, format="csr")
    y = rng.integers(2, size=80)
    bare = {"fit_intercept": kind not in OF_A_LEARNER}  # theirs is a column of 0.1: see below
    one, other = (kind(scale=False, random_state=1, **bare).fit(rows, y)
                  for rows in (X, X.toarray()))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X.toarray()),
                               rtol=1e-9, atol=1e-12)
    centred = kind(random_state=1).fit(X.toarray(), y)
    np.testing.assert_allclose(centred.decision_function(X.tocsc()),
                               centred.decision_function(X.toarray()), rtol=1e-12)
    more = pickle.loads(pickle.dumps(centred))
    for model, rows in ((centred, X), (more, X.toarray())):
        model.partial_fit(rows, y)
    np.testing.assert_array_equal(centred.predict(X), more.predict(X))


@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
def test_a_column_more(kind):
    for density in (0.0, 0.1, 1.0):
        X = kind(scipy.sparse.random(20, 7, density=density, random_state=2, dtype=np.float32))
        found = adapter._with_column(X, 0.1)
        wide = np.hstack([X.toarray(), np.full((20, 1), 0.1)])
        np.testing.assert_array_equal(found.toarray(), wide)
        assert isinstance(found, kind) and found.has_canonical_format


@pytest.mark.parametrize("kind", OF_A_LEARNER)
def test_the_intercept_of_sparse_rows(kind, rng):
    """A column of 0.1, also for the dense rows that follow."""
    X = scipy.sparse.random(80, 30, density=0.3, random_state=3, format="csr")
    y = rng.integers(3, size=80)
    model = kind(random_state=1).fit(X, y)
    wide = scipy.sparse.hstack([X, np.full((80, 1), 0.1)], format="csr")
    own = kind(random_state=1, fit_intercept=False).fit(wide, y)
    np.testing.assert_array_equal(model.learner_.weights, own.learner_.weights)
    for rows in (X, X.toarray()):
        np.testing.assert_allclose(model.decision_function(rows), own.decision_function(wide),
                                   rtol=1e-9, atol=1e-12)
    if kind in LINEAR:
        np.testing.assert_allclose(X @ model.coef_.T + model.intercept_,
                                   model.decision_function(X), rtol=1e-9, atol=1e-12)


# --- coefficients and probabilities -------------------------------------------------------------


@pytest.mark.parametrize("kind", LINEAR)
@pytest.mark.parametrize("words", [{}, {"fit_intercept": False}, {"scale": False}])
def test_coefficients_are_in_the_units_of_the_input(kind, words):
    X, y = load_wine(return_X_y=True)
    for labels in (y, y == 1):
        model = kind(random_state=0, **words).fit(X, labels)
        rows = 3 if len(model.classes_) == 3 else 1
        assert model.coef_.shape == (rows, 13) and model.intercept_.shape == (rows,)
        found = X @ model.coef_.T + model.intercept_
        scores = model.decision_function(X).reshape(found.shape)
        np.testing.assert_allclose(found, scores, rtol=1e-7, atol=1e-7 * np.abs(scores).max())
    sparse = kind(random_state=0, scale=True).fit(scipy.sparse.csr_matrix(X), y)
    np.testing.assert_allclose(X @ sparse.coef_.T + sparse.intercept_,
                               sparse.decision_function(X), rtol=1e-7, atol=1e-7)


def test_who_has_coefficients():
    X, y = load_iris(return_X_y=True)
    assert not hasattr(SecondOrderPerceptronClassifier().fit(X, y), "coef_")
    kernel = ConfiditClassifier(covariance="kernel", n_epochs=1).fit(X, y)
    assert not hasattr(kernel, "coef_") and not hasattr(kernel, "intercept_")
    model = AROWClassifier(random_state=0)
    kept = SelectFromModel(model, max_features=2, threshold=-np.inf).fit(X, y).get_support()
    size = np.abs(clone(model).fit(X, y).coef_).sum(axis=0)
    assert size[kept].min() > size[~kept].max() and kept.sum() == 2


@pytest.mark.parametrize("model", [
    ConfiditClassifier(random_state=0), ConfiditClassifier(alpha=0.5, random_state=0),
    ConfiditClassifier(covariance="full", random_state=0), OnlineLogisticClassifier(),
    RidgeFilterClassifier(), RidgeFilterClassifier(calibrate=True)], ids=str)
def test_probabilities(model):
    """They are chances, go with the decisions, and tell what they say they tell."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3))
    chance = 1.0 / (1.0 + np.exp(-X @ [2.0, -1.0, 0.0]))
    y = np.where(rng.random(2000) < chance, "yes", "no")
    model = clone(model).fit(X[:1000], y[:1000])
    found = model.predict_proba(X[1000:])
    assert (found >= 0.0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(X[1000:]))
    assert np.abs(found[:, 1] - chance[1000:]).mean() < 0.15
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X[1000:]), np.log(found))


def test_probabilities_of_many_classes():
    X, y = load_digits(return_X_y=True)
    for kind in (ConfiditClassifier, OnlineLogisticClassifier):
        model = kind(random_state=0).fit(X, y)
        found = model.predict_proba(X)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(found.argmax(axis=1), model.predict(X))
    # Confidit's model: where one class alone is possible the others have nothing
    assert (ConfiditClassifier(random_state=0).fit(X, y).predict_proba(X) == 0.0).any()


def test_the_nearest_point_of_the_simplex(rng):
    rows = 3.0 * rng.standard_normal((50, 6))
    rows[0] = 0.0
    found = adapter._on_the_simplex(rows)
    for row, point in zip(rows, found, strict=True):
        other, _ = cf.kernels.project_scores(row, np.ones(6), 1.0)
        np.testing.assert_allclose(point, other, atol=1e-12)


def test_costs_move_the_border():
    X, y = load_iris(return_X_y=True)
    y = y == 2
    forwarded = [RidgeFilterClassifier(cost_ratio=c, feedback="full", shuffle=False).fit(X, y)
                 .predict(X).sum() for c in (0.1, 1.0, 10.0)]
    assert forwarded[0] > forwarded[1] > forwarded[2]


def test_a_filter_knows_two_classes():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="Only binary classification"):
        RidgeFilterClassifier().fit(X, y)


# --- weights, chance, labels, refusals ----------------------------------------------------------


def test_weights_of_rows(rng):
    X, y = load_iris(return_X_y=True)
    weight = rng.random(150)
    weight[:40] = 0.0
    model = OnlineLogisticClassifier(shuffle=False)
    some = clone(model).fit(X, y, sample_weight=weight)
    kept = clone(model).fit(X[40:], y[40:], sample_weight=weight[40:])
    np.testing.assert_array_equal(some.coef_, kept.coef_)
    assert (some.coef_ != clone(model).fit(X, y).coef_).any()
    parts = clone(model).set_params(scale=False)
    whole = clone(parts).fit(X, y, sample_weight=weight)
    for rows in (slice(0, 70), slice(70, 150)):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1, 2], sample_weight=weight[rows])
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    with pytest.raises(ValueError, match="[Ss]ample weights"):
        clone(model).fit(X, y, sample_weight=np.zeros(150))
    with pytest.raises(TypeError):
        PerceptronClassifier().fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("model", [
    BanditronClassifier(shuffle=False), ConfiditClassifier(alpha=0.2, shuffle=False),
    OnlineClassifier(cf.Banditron(2), shuffle=False, epochs=3)], ids=str)
def test_random_state_reaches_what_is_drawn(model):
    X, y = load_iris(return_X_y=True)
    found = [clone(model).set_params(random_state=one).fit(X, y).learner_.weights
             for one in (3, 3, np.random.RandomState(3), 4)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    assert (found[0] != found[3]).any()
    parts = [clone(model).set_params(random_state=3).partial_fit(X, y, classes=[0, 1, 2])
             .learner_.weights for _ in range(2)]
    np.testing.assert_array_equal(*parts)


def test_a_seed_of_the_patterns_own_counts():
    X, y = load_iris(return_X_y=True)
    found = [OnlineClassifier(cf.Banditron(2, seed=7), shuffle=False, random_state=one).fit(X, y)
             .learner_.weights for one in (1, 2)]
    np.testing.assert_array_equal(*found)


def test_labels_of_any_kind():
    X, y = load_iris(return_X_y=True)
    for labels in (y == 1, np.array(list("xyz"))[y], np.array(["a", "b", "c"], dtype=object)[y],
                   y * 2.0 - 7.0):
        for kind in MULTICLASS:
            model = kind(random_state=0).fit(X, labels)
            assert model.predict(X).dtype == labels.dtype
            assert np.mean(model.predict(X) == labels) > 0.6


def test_frames_and_their_names():
    pandas = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True, as_frame=True)
    for kind in MULTICLASS:
        model = kind(random_state=0).fit(X, y)
        assert model.feature_names_in_.tolist() == list(X) and model.n_features_in_ == 4
        np.testing.assert_array_equal(model.predict(X),
                                      kind(random_state=0).fit(X.to_numpy(), y).predict(
                                          X.to_numpy()))
        with pytest.raises(ValueError, match="feature names"):
            model.predict(X.rename(columns={X.columns[0]: "other"}))
    assert isinstance(X, pandas.DataFrame)


@pytest.mark.parametrize("kind, words, error, named", [
    *((kind, {"n_epochs": 0}, ValueError, "n_epochs must be >= 1") for kind in CLASSIFIERS),
    *((kind, {"scale": "sparse"}, ValueError, "scale must be one of") for kind in CLASSIFIERS),
    (CoactiveRanker, {"scale": 1}, ValueError, "scale must be one of"),
    (PerceptronClassifier, {"fit_intercept": 1}, TypeError, "fit_intercept must be True or False"),
    (PerceptronClassifier, {"shuffle": "no"}, TypeError, "shuffle must be True or False"),
    (PerceptronClassifier, {"random_state": "a"}, ValueError, "random_state"),
    (ConfiditClassifier, {"eta": -1.0}, ValueError, "eta must be > 0"),
    (RidgeFilterClassifier, {"forget": 2.0}, ValueError, "forget must be <= 1"),
    (OnlineLogisticClassifier, {"ridge": 0.0}, ValueError, "ridge must be > 0"),
    (CoactiveRanker, {"rule": "best"}, ValueError, "rule must be one of 'perceptron'"),
    (CoactiveRanker, {"rule": cf.Confidit(2)}, TypeError, "rule must be a word or a learner"),
    (CoactiveRanker, {"rule": cf.PreferencePerceptron(cf.Items([[1.0]]))}, TypeError,
     "rule must be a learner of rankings"),
    (CoactiveRanker, {"k": 0}, ValueError, "k must be >= 1"),
    (CoactiveRanker, {"average": 1}, TypeError, "average must be True or False"),
])
def test_a_fit_that_is_refused_changes_nothing(kind, words, error, named):
    X, y = load_iris(return_X_y=True)
    y = (y == 1).astype(int)
    model = kind(random_state=0).fit(X, y).set_params(**words)
    before = pickle.dumps(model)
    with pytest.raises(error, match=named):
        model.fit(X, y)
    assert pickle.dumps(model) == before
    with pytest.raises(error, match=named):
        clone(model).fit(X, y)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("scale", [True, False])
def test_rows_that_are_too_large_change_nothing(kind, scale):
    X, y = load_iris(return_X_y=True)
    y = y == 1
    model = kind(random_state=0, scale=scale).fit(X, y)
    before, asked = pickle.dumps(model), X.copy()
    asked[70, 1] = 1e200
    if not scale and kind in (PerceptronClassifier, BanditronClassifier,
                              SecondOrderPerceptronClassifier):
        return  # who learns from mistakes alone has none here, or can add them up
    with pytest.raises(ValueError, match="X"):
        model.partial_fit(asked, y)
    assert pickle.dumps(model) == before


def test_in_searches():
    X, y = load_wine(return_X_y=True)
    for model, grid in ((AROWClassifier(random_state=0), {"r": [0.1, 1.0], "scale": [True, False]}),
                        (ConfiditClassifier(random_state=0), {"eta": [0.01, 1.0]})):
        found = GridSearchCV(make_pipeline(model), {f"{type(model).__name__.lower()}__{name}": tried
                                                    for name, tried in grid.items()}, cv=3)
        assert found.fit(X, y).best_score_ > 0.95


# --- rankings -----------------------------------------------------------------------------------


def queries(n=60, seed=0):
    data = cf.data.make_ranking(n_queries=n, n_features=6, seed=seed)
    qid = np.repeat(np.arange(n), np.diff(data.offsets))
    return data, np.asarray(data.features), np.asarray(data.relevance), qid


@pytest.mark.parametrize("rule", ["perceptron", "second-order", "exponentiated", "convex",
                                  cf.PreferencePerceptron(cf.Ranking(k=5), kernel="linear")])
def test_a_ranker_learns(rule):
    _, X, y, qid = queries()
    train, test = qid < 40, qid >= 40
    model = CoactiveRanker(rule, random_state=0).fit(X[train], y[train], qid=qid[train])
    start = CoactiveRanker(rule, random_state=0).fit(X[:1], y[:1])
    assert model.score(X[test], y[test], qid=qid[test]) > 0.9
    assert start.score(X[test], y[test], qid=qid[test]) < 0.8


def test_a_ranker_is_the_simulation():
    data, X, y, qid = queries()
    model = CoactiveRanker(scale=False, shuffle=False, n_epochs=2, k=5).fit(X, y, qid=qid)
    own = cf.PreferencePerceptron(cf.Ranking(k=5))
    for _ in range(2):
        cf.simulate(own, data, cf.users.NoisyDepth(10**6), weights=np.zeros(6))
    np.testing.assert_array_equal(model.learner_.weights, own.weights)
    np.testing.assert_array_equal(model.predict(X), own.scores(X, average=True))
    np.testing.assert_allclose(X @ model.coef_, model.predict(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.rank(data[3].features),
                                  own.present(data[3].features, average=True))
    measured = cf.metrics.evaluate(own, data, measures=("ndcg@5",), average=True)["ndcg@5"]
    assert model.score(X, y, qid=qid) == pytest.approx(measured, rel=1e-12)
    weight = np.where(qid < 30, 1.0, 0.0)
    half = cf.metrics.evaluate(own, data[:30], measures=("ndcg@5",), average=True)["ndcg@5"]
    assert model.score(X, y, qid=qid, sample_weight=weight) == pytest.approx(half, rel=1e-12)
    parts = CoactiveRanker(scale=False, k=5)
    for rows in (qid < 20, qid >= 20):
        parts.partial_fit(X[rows], y[rows], qid=qid[rows])
    whole = CoactiveRanker(scale=False, k=5, n_epochs=1, shuffle=False).fit(X, y, qid=qid)
    np.testing.assert_array_equal(parts.coef_, whole.coef_)


def test_queries_may_come_in_any_order(rng):
    _, X, y, qid = queries()
    model = CoactiveRanker(random_state=0).fit(X, y, qid=qid)
    order = rng.permutation(len(qid))
    for number in range(60):  # the documents of a query keep theirs, by which ties are told
        order[qid[order] == number] = np.flatnonzero(qid == number)
    assert model.score(X[order], y[order], qid=qid[order]) == pytest.approx(
        model.score(X, y, qid=qid), rel=1e-9)
    ranked = model.rank(X[order], qid=qid[order].astype(str))
    scores, number = model.predict(X[order])[ranked], qid[order][ranked]
    assert sorted(ranked) == list(range(len(qid)))
    changes = np.flatnonzero(np.diff(number)) + 1
    assert len(changes) == 59  # query by query, in the order in which they come
    assert number[0] == qid[order][0]
    assert all((np.diff(part) <= 0).all() for part in np.split(scores, changes))


def test_clicks_and_chance():
    _, X, y, qid = queries()
    model = CoactiveRanker(cf.PDGD(cf.Ranking(k=5)), user=cf.users.Clicks("position"), k=5)
    found = [clone(model).set_params(random_state=one).fit(X, y, qid=qid).coef_
             for one in (1, 1, 2)]
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()
    assert clone(model).set_params(random_state=1, rule__rate=0.2).rule.rate == 0.2


def test_queries_are_routed():
    _, X, y, qid = queries()
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = CoactiveRanker(random_state=0).set_fit_request(qid=True)
        model = ranker.set_score_request(qid=True)
        if np.lib.NumpyVersion(sklearn.__version__) >= "1.8.0":  # hands qid on to the score
            model = make_pipeline(StandardScaler(), model)
        found = cross_validate(model, X, y, params={"qid": qid, "groups": qid}, cv=GroupKFold(3))
        search = GridSearchCV(ranker, {"rule": ["perceptron", "convex"]}, cv=GroupKFold(3))
        search.fit(X, y, qid=qid, groups=qid)
        weighed = OnlineLogisticClassifier(shuffle=False).set_fit_request(sample_weight=True)
        weighed.set_score_request(sample_weight=False)
        plain, by_weight = (cross_validate(weighed, X, y > y.mean(), params={"sample_weight": one},
                                           return_estimator=True)["estimator"][0].coef_
                            for one in (np.ones(len(y)), 1.0 + y))
    assert (found["test_score"] > 0.9).all() and search.best_score_ > 0.9
    assert (plain != by_weight).any()


@pytest.mark.parametrize("call", ["fit", "partial_fit", "score"])
def test_a_query_for_each_document(call):
    _, X, y, qid = queries(3)
    model = CoactiveRanker().fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="qid must have length"):
        getattr(model, call)(X, y, qid=qid[:-1])
