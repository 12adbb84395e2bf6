"""What the machines have found, each as small as it gets."""

import pickle

import numpy as np
import pytest

import coactive_fast as cf


def test_parameters_of_an_inner_learner_are_set_or_refused_as_a_whole():
    """They were set on the parameter alone: the classifier at work, also after a reset, had the
    old ones; and where one of them was refused the others had been set."""
    given = cf.RidgeFilter(feedback="full")
    learner = cf.AppleTasting(given, 0.3, seed=1)
    learner.set_params(classifier__cost_ratio=3.0, explore=0.5)
    assert learner.classifier.cost_ratio == learner.get_params()["classifier__cost_ratio"] == 3.0
    assert learner.explore == 0.5 and given.cost_ratio == 1.0
    with pytest.raises(ValueError, match="no_such is no parameter of RidgeFilter"):
        learner.set_params(explore=0.1, classifier__cost_ratio=2.0, classifier__no_such=1)
    assert learner.explore == 0.5 and learner.classifier.cost_ratio == 3.0
    learner.learn([1.0, 2.0], True)
    with pytest.raises(ValueError, match="classifier shapes what was learned"):
        learner.set_params(classifier__cost_ratio=2.0)
    assert learner.reset().set_params(classifier__cost_ratio=2.0).classifier.cost_ratio == 2.0
    learner.set_params(classifier=cf.RidgeFilter(), classifier__window=3)
    assert learner.classifier.window == 3 and learner.classifier.feedback == "forwarded"


@pytest.mark.parametrize("make", [
    lambda: cf.OnlineRidge(forget=0.6, precision="fast"),
    lambda: cf.RidgeFilter(forget=0.6, precision="fast", feedback="full"),
], ids=["regression", "filter"])
def test_what_forgets_in_the_fast_form_can_be_saved(make, tmp_path, rng):
    """Each rescaling of what was forgotten made the bound smaller from which on rows are too long
    for the fast form, also where there is none: after some thousand rows the learner went over to
    the robust form, and its state and its files were refused."""
    learner = make()
    X = rng.standard_normal((3000, 6))
    learner.run(X, X[:, 0] > 0.0)
    assert learner.health()["precision"] in ("fast", ["fast"])
    learner.save(tmp_path / "learner.cf")
    read = "predict" if hasattr(learner, "predict") else "margins"
    for other in (cf.load(tmp_path / "learner.cf"), pickle.loads(pickle.dumps(learner))):
        np.testing.assert_array_equal(getattr(other, read)(X[:5]), getattr(learner, read)(X[:5]))


@pytest.mark.parametrize("precision", ["fast", "robust"])
def test_merging_keeps_the_place_in_the_block_of_forgetting(precision, rng):
    """The regulariser is renewed by every n-th call of `forget`; the fast form began to count anew
    after `merge`, unlike the robust one and the twin."""
    m, twin = cf.metric.Full(4, precision=precision), cf.reference.Full(4)
    other, his = cf.metric.Full(4, precision=precision), cf.reference.Full(4)
    for x, y in rng.standard_normal((5, 2, 4)):
        for one, row in ((m, x), (twin, x), (other, y), (his, y)):
            one.update(row)
    for one in (m, twin):
        one.forget(0.9)  # the first of a block renews
    m.merge(other)
    twin.merge(his)
    for _ in range(6):
        m.forget(0.9)
        twin.forget(0.9)
        np.testing.assert_allclose(m.matrix(), twin.matrix(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.parametrize("template, answers", [
    (cf.RidgeFilter(), ([True] * 3,)),
    (cf.PreferencePerceptron(cf.Ranking(k=2)), ()),
    (cf.OnlineRidge(), ([1.0] * 3,)),
    (cf.ArmBandit(2), ([0] * 3, [1.0] * 3)),
], ids=["filter", "perceptron", "regression", "arms"])
def test_a_run_of_a_fleet_has_a_key_for_each_row(template, answers, n):
    """Of filters and perceptrons the number of keys was not checked: where there were too few,
    what lay behind them in memory became keys."""
    fleet = cf.Fleet(None, template, 10)
    with pytest.raises(ValueError, match=f"keys must have length 3, one a row of X, got {n}"):
        fleet.run([7] * n, np.ones((3, 2)), *answers)
    assert len(fleet) == 0
