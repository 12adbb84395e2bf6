"""What the machines have found, each as small as it gets."""

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
