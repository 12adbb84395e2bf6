"""The experiment about the films' features: its tasks at their smallest, and its verdicts."""

import numpy as np
import pytest
from task_runs import Here

from coactive_fast import data
from coactive_fast.experiments import (
    _coactive,
    _judge,
    _run,
    _sets,
    coactive_figures,
    experiments,
)
from coactive_fast.experiments._coactive import Case
from coactive_fast.experiments._folder import Sets
from coactive_fast.experiments._plan import Setting

SMALL = {"ranks": [2], "weights": [0.1], "draws": 3, "users": 20, "rounds": 40,
         "permutations": 1, "rankings": 10}


def test_errors_are_those_of_the_choice():
    train, test = _sets.halves(Sets())
    assert train.shape == test.shape == (200, 1500)
    found = coactive_figures.errors(Sets(), 2, 0.1, 1, 5)
    own = data.choose_factors(train, ranks=(2,), regularizations=(0.1,), folds=3, seed=[5, 1])
    assert found["error"] == own.errors[0, 0] and found["constant"] == own.constant


def test_imputed_ratings_are_those_of_the_other_half():
    found = coactive_figures.imputed(Sets(), [2, 0.1])
    items, ratings = _sets.movies(Sets(), 2, 0.1)
    highest = (data.fit_user_weights(ratings, items.features) @ items.features.T).max(axis=1)
    assert found["share"] == np.mean(highest > 10.0)
    assert found["median"] == pytest.approx(np.median(highest), rel=1e-12)


def test_a_case_has_its_own_features_and_others_their_old_tasks():
    setting = Setting(Sets(), 0, SMALL)
    usual, own = (_coactive.movie_tasks(setting, Case("x", embedding=pair))[0].arguments
                  for pair in ((), (2, 0.1)))
    assert "embedding" not in usual and own["embedding"] == [2, 0.1]
    assert _sets.movies(Sets(), *own["embedding"])[0].features.shape == (1500, 2)
    assert _sets.movie_weights(Sets(), 3, 5, 2, 0.1).shape == (2, 2)
    assert _sets.movies(Sets())[0].features.shape == (1500, 10)


def test_the_experiment():
    outcome, _ = _run.drive(experiments()["coactive-embedding"], Setting(Sets(), 0, SMALL),
                            Here())
    (table,) = outcome.tables
    assert outcome.parameters["chosen"] == [10, 0.1] == table.rows[0][:2]  # the rank of the data
    assert [plot.name for plot in outcome.plots] == ["errors", "movies-strict", "movies-noisy"]
    assert outcome.plots[0].curves[0].x.tolist() == [2, 10]  # with the usual one
    assert outcome.findings[0].holds and all(finding.test for finding in outcome.findings)


@pytest.mark.parametrize("lead, verdict", [(-0.2, True), (0.2, False), (0.0, None)])
def test_verdicts_on_both_sides_of_the_border(lead, verdict):
    constant = np.array([1.0, 1.1, 1.05])
    at = {(6, 0.1): constant + lead + np.array([0.01, -0.01, 0.0])}
    for finding in coactive_figures.worth(at, (6, 0.1), (6, 0.1), constant):
        assert finding.holds is verdict
    assert _judge.below(_judge.mean(at[6, 0.1] - constant)) is verdict
