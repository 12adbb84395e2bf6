"""The learners as scikit-learn classifiers: its own checks, and the learner behind them."""

import numpy as np
import pytest
import scipy.sparse

import coactive_fast as cf

pytest.importorskip("sklearn")

from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from coactive_fast.adapters.sklearn import OnlineClassifier  # noqa: E402

LEARNERS = [None, cf.Confidit(2, covariance="full"), cf.Banditron(2, seed=1),
            cf.MulticlassPerceptron(2), cf.MulticlassSecondOrderPerceptron(2),
            cf.MulticlassAROW(2)]


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
    search = GridSearchCV(make_pipeline(StandardScaler(), OnlineClassifier(cf.Confidit(2))),
                          {"onlineclassifier__learner__eta": [0.01, 1.0]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.4
