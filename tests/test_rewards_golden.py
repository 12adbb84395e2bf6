"""The golden vectors of the regression and the bandits."""

import numpy as np
import pytest
from rewards_cases import MODULES, golden_cases
from row_cases import close

TOLERANCE = 1e-8


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


def golden(family):
    return pytest.mark.parametrize("name, a, arguments", golden_cases(family))


def decay_after(learner, a, t):
    if "decay" in a and a["decay"][t] != 1.0:
        learner.decay(a["decay"][t])


# --- the regression -------------------------------------------------------------------------


@golden("ridge")
def test_regression(module, name, a, arguments):
    if name == "merge":
        return merged_parts(module, a, arguments)
    learner, predictions = module.OnlineRidge(**arguments), []
    weights_at = dict(zip(a["rounds"].tolist(), a["weights_at"], strict=True))
    for t, (x, y, weight) in enumerate(zip(a["X"], a["y"], a["weight"], strict=True)):
        predictions.append(learner.predict(x[None])[0])
        learner.learn(x, y, weight=weight)
        decay_after(learner, a, t)
        if t + 1 in weights_at:
            close(learner.weights, weights_at[t + 1], TOLERANCE)
    close(predictions, a["predictions"], TOLERANCE)
    close(learner.inverse(), a["inverse"], TOLERANCE)
    close(learner.predict(a["probe"]), a["probe_predict"], TOLERANCE)
    if "probe_std" in a:
        predicted, std = learner.predict(a["probe"], return_std=True)
        close(predicted, a["probe_predict"], TOLERANCE)
        close(std, a["probe_std"], TOLERANCE)


def merged_parts(module, a, arguments):
    parts = [module.OnlineRidge(**arguments) for _ in range(3)]
    for x, y, weight, part in zip(a["X"], a["y"], a["weight"], a["part"], strict=True):
        parts[part].learn(x, y, weight=weight)
    whole = parts[0]
    for part in parts[1:]:
        whole.merge(part)
    close(whole.weights, a["weights"], TOLERANCE)
    close(whole.inverse(), a["inverse"], TOLERANCE)
    assert whole.rounds == len(a["X"])


@golden("ridge")
def test_regression_in_one_run(module, name, a, arguments):
    if "decay" in a or name == "merge":
        return
    learner = module.OnlineRidge(**arguments)
    history = learner.run(a["X"], a["y"], weight=a["weight"])
    close(history.predictions, a["predictions"], TOLERANCE)
    close(learner.inverse(), a["inverse"], TOLERANCE)


# --- the bandits ----------------------------------------------------------------------------


@golden("linear")
def test_linear(module, name, a, arguments):
    bandit = module.LinearBandit(**arguments)
    for t, learned in enumerate(a["learned"].tolist()):
        rows = slice(a["offsets"][t], a["offsets"][t + 1])
        X, allowed = a["features"][rows], a["allowed"][rows]
        words = {"context": a["context"][t]} if "context" in a else {}
        means, widths = bandit.scores(X, **words)
        close(means, a["means"][rows], TOLERANCE)
        close(widths, a["widths"][rows], TOLERANCE)
        law = bandit.probabilities(X, allowed=allowed, **words)
        close(law, a["probabilities"][rows], TOLERANCE)
        if "choice" in a:
            k = int(a["k"][t]) or None if "k" in a else None
            chosen = bandit.choose(X, allowed=allowed, k=k, **words)
            expected = a["choice"][t][a["choice"][t] >= 0]
            assert np.atleast_1d(chosen).tolist() == expected.tolist()
            assert bandit.choose(X, allowed=allowed, **words) == expected[0]
        bandit.learn(X[learned], a["reward"][t], weight=a["weight"][t], **words)
        decay_after(bandit, a, t)


@golden("arms")
def test_arms(module, name, a, arguments):
    bandit = module.ArmBandit(**arguments)
    for t, (x, arm) in enumerate(zip(a["X"], a["arm"].tolist(), strict=True)):
        here, allowed = slice(0, bandit.n_arms), a["allowed"][t][:bandit.n_arms]
        means, widths = bandit.scores(x)
        close(means, a["means"][t][here], TOLERANCE)
        close(widths, a["widths"][t][here], TOLERANCE)
        law = bandit.probabilities(x, allowed=allowed)
        close(law, a["probabilities"][t][here], TOLERANCE)
        if "choice" in a:
            assert bandit.choose(x, allowed=allowed) == a["choice"][t]
        bandit.learn(x, arm, a["reward"][t], weight=a["weight"][t])
        decay_after(bandit, a, t)
        if "added" in a and a["added"][t]:
            assert bandit.add_arm() == bandit.n_arms - 1


@golden("pairs")
def test_pairs(module, name, a, arguments):
    bandit = module.LinearBandit(**arguments)
    for t, (first, second) in enumerate(zip(a["first"], a["second"], strict=True)):
        rows = slice(a["offsets"][t], a["offsets"][t + 1])
        X = a["features"][rows]
        means, widths = bandit.scores(X)
        close(means, a["means"][rows], TOLERANCE)
        close(widths, a["widths"][rows], TOLERANCE)
        assert bandit.choose_pair(X) == (first, second)
        bandit.learn_pair(X[first], X[second], bool(a["first_won"][t]))


@golden("thompson")
def test_thompson(module, name, a, arguments):
    """The exact probability against frequencies: within four standard errors."""
    bandit, n = module.LinearBandit(**arguments, seed=0), 500
    for t, (x, reward) in enumerate(zip(a["X"], a["reward"], strict=True)):
        bandit.learn(x, reward, **context_of(a, "context", t))
    for j, (actions, p) in enumerate(zip(a["actions"], a["first"], strict=True)):
        words = context_of(a, "actions_context", j)
        law = bandit.probabilities(actions, samples=n, **words)
        chosen = [bandit.choose(actions, **words) for _ in range(n)]
        for frequency in (law[0], np.mean(np.array(chosen) == 0)):
            assert abs(frequency - p) <= 4.0 * np.sqrt(p * (1.0 - p) / n) + 1.0 / n
        assert law.sum() == pytest.approx(1.0, abs=1e-12)


def context_of(a, name, t):
    return {"context": a[name][t]} if name in a else {}
