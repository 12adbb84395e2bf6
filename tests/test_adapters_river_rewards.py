"""The regression and the bandits as river's regressors and policies."""

import copy
import pickle

import numpy as np
import pytest

import coactive_fast as cf

pytest.importorskip("river")

from river import bandit, checks, datasets, evaluate, metrics, preprocessing, stats  # noqa: E402

from coactive_fast.adapters.river import (  # noqa: E402
    INTERCEPT,
    ConfiditPolicy,
    LinearBanditPolicy,
    OnlineRidgeRegressor,
)

REGRESSORS = {
    "diagonal": {}, "full": {"covariance": "full", "max_features": 30},
    "bare": {"intercept": False, "ridge": 0.1}, "forget": {"forget": 0.99},
}


# --- the regressor --------------------------------------------------------------------------


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_river(name):
    for check in checks.yield_checks(OnlineRidgeRegressor(**REGRESSORS[name])):
        check(OnlineRidgeRegressor(**REGRESSORS[name]))


@pytest.mark.parametrize("name", REGRESSORS)
def test_it_is_the_learners_own_loop(name, rng):
    model = OnlineRidgeRegressor(**REGRESSORS[name])
    full = model.covariance == "full"
    own = cf.OnlineRidge(**{"covariance": "diagonal",
                            **{k: v for k, v in REGRESSORS[name].items() if k != "intercept"},
                            "max_features": None})
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    for t in range(40):
        asked = dict(zip("abc", X[t].tolist(), strict=True))
        row = np.append(X[t], [1.0] * model.intercept)
        row = np.append(row, np.zeros(30 - row.size)) if full else row
        assert model.predict_one(asked) == pytest.approx(own.predict(row[None])[0], rel=1e-9,
                                                         abs=1e-12)
        model.learn_one(asked, y[t], w=0.5 + t % 2)
        own.learn(row, y[t], weight=0.5 + t % 2)
    for other in (copy.deepcopy(model), model.clone()):
        other.learn_one(asked, 100.0)
    assert model.predict_one(asked) == pytest.approx(own.predict(row[None])[0], rel=1e-9)


@pytest.mark.parametrize("name", REGRESSORS)
def test_its_weights_go_by_name(name, rng):
    model = OnlineRidgeRegressor(**REGRESSORS[name])
    assert model.weights == {}
    names = ["b", "a", "c"]  # numbered as they come, not sorted
    for row in rng.standard_normal((30, 3)).tolist():
        model.learn_one(dict(zip(names, row, strict=True)), row[0] - 2.0 * row[1] + 1.0)
    assert list(model.weights) == names
    start = model.predict_one({})
    assert start == 0.0 if not model.intercept else start != 0.0
    for each, weight in model.weights.items():
        assert model.predict_one({each: 1.0}) - start == pytest.approx(weight, rel=1e-9)
    model.weights["b"] = 100.0
    assert model.weights["b"] < 2.0, "a copy"


def test_names_of_a_refused_table_have_no_weight():
    pandas = pytest.importorskip("pandas")
    model = OnlineRidgeRegressor()
    with pytest.raises(ValueError):
        model.learn_many(pandas.DataFrame({"a": [1.0]}), [np.nan])
    assert model.weights == {}
    model.learn_many(pandas.DataFrame({"a": [1.0]}), [2.0])
    assert list(model.weights) == ["a"]
    assert model.weights["a"] > 0.0


def test_the_regressor_is_good_at_its_work():
    found = {}
    for name in ("diagonal", "full"):
        model = preprocessing.StandardScaler() | OnlineRidgeRegressor(**REGRESSORS[name])
        stream = datasets.TrumpApproval().take(400)
        found[name] = evaluate.progressive_val_score(stream, model, metrics.MAE()).get()
    assert max(found.values()) < 3.5


def test_many_rows(rng):
    pandas = pytest.importorskip("pandas")
    for words in REGRESSORS.values():
        many, single = OnlineRidgeRegressor(**words), OnlineRidgeRegressor(**words)
        X = pandas.DataFrame(rng.standard_normal((30, 3)), columns=list("cab"))
        y = pandas.Series(rng.standard_normal(30))
        many.learn_many(X[:20], y[:20])
        many.learn_many(X[20:], y[20:], w=0.5)
        for t, x in enumerate(X.to_dict("records")):
            single.learn_one(x, y[t], w=1.0 if t < 20 else 0.5)
        predictions = many.predict_many(X)
        assert predictions.index.equals(X.index)
        np.testing.assert_allclose(
            predictions, [single.predict_one(x) for x in X.to_dict("records")], rtol=1e-9)


def test_names_come_and_go():
    model = OnlineRidgeRegressor(intercept=False)
    assert model.predict_one({"a": 1.0}) == 0.0
    model.learn_one({"a": 1.0}, 2.0)
    model.learn_one({"b": 1.0}, -2.0)
    assert model.predict_one({"b": 1.0, "a": 2.0, "z": 9.0}) == 1.0
    few = OnlineRidgeRegressor(covariance="full", max_features=3)  # with the intercept
    few.learn_one({"a": 1.0, "b": 1.0}, 1.0)
    before = few.predict_one({"a": 1.0})
    with pytest.raises(ValueError, match="max_features"):
        few.learn_one({"a": 1.0, "c": 1.0}, 1.0)
    assert few.predict_one({"a": 1.0, "c": 5.0}) == before


@pytest.mark.parametrize("x, y, error", [
    ({"a": float("nan")}, 1.0, ValueError), ({"new": "1"}, 1.0, TypeError), ([1.0], 1.0, TypeError),
    ({"new": 1.0}, float("inf"), ValueError), ({"new": 1.0}, "1", TypeError),
    ({"new": 1e200}, 1.0, ValueError),
])
def test_what_a_regressor_refuses_changes_nothing(x, y, error):
    model = OnlineRidgeRegressor()
    model.learn_one({"a": 1.0}, 1.0)
    before, names = model.predict_one({"a": 2.0}), dict(model._features)
    with pytest.raises(error):
        model.learn_one(x, y)
    assert model.predict_one({"a": 2.0}) == before and model._features == names
    model.learn_one({"a": 1.0, "b": 1.0}, 1.0)
    assert list(model._features) == ["a", INTERCEPT, "b"]


def test_parameters_that_are_refused():
    for words, named in (({"covariance": "full"}, "max_features"), ({"link": "probit"}, "link"),
                         ({"intercept": 1}, "intercept"), ({"max_features": 0}, "max_features"),
                         ({"ridge": -1.0}, "ridge")):
        for make in (OnlineRidgeRegressor, LinearBanditPolicy):
            with pytest.raises((TypeError, ValueError), match=named):
                make(**words)


# --- the policies ---------------------------------------------------------------------------


CONTEXTS = [{"hour": float(t % 24) / 24.0, "rain": float(t % 3 == 0)} for t in range(150)]


def reward_of(arm, context):
    return float((arm == "umbrella") == (context["rain"] == 1.0))


POLICIES = {
    "ucb": lambda: LinearBanditPolicy(width=0.3),
    "full": lambda: LinearBanditPolicy(covariance="full", max_features=5, width=0.3),
    "thompson": lambda: LinearBanditPolicy(explore="thompson", width=0.2, seed=1),
    "squarecb": lambda: LinearBanditPolicy(explore="squarecb", scale=50.0, seed=2),
    "burn in": lambda: LinearBanditPolicy(burn_in=4, reward_obj=stats.Sum()),
    "logistic": lambda: LinearBanditPolicy(link="logistic", width=0.3),
    "confidit": lambda: ConfiditPolicy(),
    "confidit alpha": lambda: ConfiditPolicy(cf.Confidit(2, alpha=0.9, eta=0.1, seed=3)),
}


@pytest.mark.parametrize("name", POLICIES)
def test_policies_learn_from_the_rewards_of_their_own_choices(name):
    policy, arms, total = POLICIES[name](), ["sunhat", "umbrella"], []
    for context in CONTEXTS:
        arm = policy.pull(arms, context)
        reward = reward_of(arm, context)
        policy.update(arm, context, reward)
        total.append(reward)
    assert np.mean(total[100:]) > 0.85
    assert policy._n == 150 and set(policy.ranking) == set(arms)
    assert isinstance(policy, bandit.base.ContextualPolicy) and "umbrella" in repr(policy)
    for other in (copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        pulls = [policy.pull(arms, context) for context in CONTEXTS[:9]]
        assert [other.pull(arms, context) for context in CONTEXTS[:9]] == pulls or "thom" in name
    fresh = policy.clone()
    assert fresh._n == 0 and fresh.pull(arms, CONTEXTS[0]) in arms


def test_a_policy_is_the_bandits_own_loop(rng):
    policy = LinearBanditPolicy(covariance="full", max_features=2, intercept=False, width=0.7)
    own, arms = cf.ArmBandit(3, width=0.7), ["x", "y", "z"]
    for t in range(60):
        values = rng.standard_normal(2)
        allowed = rng.random(3) < 0.6
        allowed[rng.integers(3)] = True
        if t == 0:
            allowed[:] = True  # the arms get their numbers
            policy.update("x", {"a": 1.0, "b": 0.0}, 0.5)
            own.learn([1.0, 0.0], 0, 0.5)
            policy.pull(arms, {})
        context = dict(zip("ab", values.tolist(), strict=True))
        given = [arm for arm, there in zip(arms, allowed, strict=True) if there]
        chosen = policy.pull(given, context)
        assert chosen == arms[own.choose(values, allowed=allowed)]
        policy.update(chosen, context, values[0])
        own.learn(values, arms.index(chosen), values[0])


def test_arms_of_any_kind_come_as_they_come():
    policy = LinearBanditPolicy(explore="greedy")
    policy.update(("a", 1), {"f": 1.0}, 2.0)
    assert policy.pull([frozenset(), ("a", 1)], {"f": 1.0}) == ("a", 1)
    policy.update(7, {"f": 1.0}, 5.0)
    assert policy.pull(range(6, 9), {"f": 1.0}) == 7
    assert policy._learner.n_arms == len(policy._numbers) == 5
    learned = policy._learner.rounds
    policy.pull(["never seen"], {"f": 1.0, "unknown": 1.0})
    assert policy._learner.rounds == learned


def test_confidit_is_told_right_or_wrong_alone():
    """Never the label: its learner is the one that heard the same bits."""
    policy, own = ConfiditPolicy(intercept=False), cf.Confidit(3)
    arms = ["u", "v", "w"]
    rng = np.random.default_rng(1)
    for t in range(80):
        values = rng.standard_normal(4)
        right = int(np.argmax(values[:3]))
        context = dict(zip("abcd", values.tolist(), strict=True))
        if t == 0:
            policy.update("u", context, True)
            own.learn(values, 0, True)
            continue
        arm = policy.pull(arms, context)
        chosen = own.choose(values)
        assert arm == arms[chosen]
        policy.update(arm, context, chosen == right)
        own.learn(values, chosen, chosen == right)
    with pytest.raises(ValueError, match="arm_ids"):
        policy.pull(["u", "v"], context)
    policy.update("x", context, 0)  # an arm more
    assert policy.pull([*arms, "x"], context) in [*arms, "x"]


@pytest.mark.parametrize("name", ["ucb", "full", "confidit"])
def test_what_a_policy_refuses_changes_nothing(name):
    policy, context = POLICIES[name](), {"hour": 0.5, "rain": 1.0}
    policy.update("umbrella", context, 1.0)
    policy.update("sunhat", context, 0.0)
    before = (policy._n, dict(policy._features), list(policy._numbers), policy._learner.rounds)
    for arm, given, rewards in (("new", {"rain": float("nan")}, (1.0,)),
                                ("new", {"fog": "1"}, (1.0,)), ("new", {"fog": 1.0}, ("1",)),
                                ("new", {"fog": 1.0}, ()), ("new", {"fog": 1.0}, (float("nan"),)),
                                (["new"], {"fog": 1.0}, (1.0,)), ("new", [1.0], (1.0,))):
        with pytest.raises((TypeError, ValueError)):
            policy.update(arm, given, *rewards)
    for given in ({"rain": float("inf")}, {"rain": "1"}):
        with pytest.raises((TypeError, ValueError), match="x must"):
            policy.pull(["umbrella", "sunhat"], given)
    assert before == (policy._n, dict(policy._features), list(policy._numbers),
                      policy._learner.rounds)
    assert policy.pull(["umbrella", "sunhat"], context) == "umbrella"


def test_learners_that_confidit_policies_refuse():
    for learner in (cf.Banditron(2), cf.Confidit(2, covariance="full"), "confidit"):
        with pytest.raises((TypeError, ValueError), match="learner"):
            ConfiditPolicy(learner)


@pytest.mark.parametrize("y, w", [([1.0], 1.0), ([1.0, np.nan], 1.0), ([1.0, 2.0], -1.0),
                                  ([1.0, 2.0], [[1.0], [2.0]])])
def test_a_refused_table_brings_no_names(y, w):
    pandas = pytest.importorskip("pandas")
    model = OnlineRidgeRegressor(max_features=2)  # the intercept and one more
    with pytest.raises(ValueError):
        model.learn_many(pandas.DataFrame({"typo": [1.0, 2.0]}), y, w)
    model.learn_one({"a": 1.0}, 1.0)
    assert [*model.weights] == ["a"]
