"""The slow twins of the coactive family against golden vectors."""

from types import SimpleNamespace

import numpy as np
from coactive_cases import Recorder, golden, load

from coactive_fast import reference

RULES = {
    "preference": reference.PreferencePerceptron,
    "exponentiated": reference.ExponentiatedPreferencePerceptron,
    "convex": reference.ConvexPreferencePerceptron,
    "second_order": reference.SecondOrderPreferencePerceptron,
}


def learner_of(rule, task):
    """The learner a golden name stands for, such as ``convex_radius1_slope0.25``."""
    name = next(name for name in RULES if rule.startswith(name))
    parameters = {}
    for part in rule[len(name) :].split("_")[1:]:
        key = part.rstrip("0123456789.")
        number = float(part[len(key) :])
        parameters[key] = int(number) if key in ("batch", "horizon") else number
        if key == "signed":
            parameters[key] = bool(number)
    return RULES[name](task, **parameters)


def data_of(a):
    """The queries of a golden ranking stream."""
    spans = zip(a["offsets"], a["offsets"][1:], strict=False)
    return [
        SimpleNamespace(features=a["features"][i:j], relevance=a["relevance"][i:j])
        for i, j in spans
    ]


def user_of(name, weights):
    """The user a golden name stands for: ``alpha0.5`` or ``depth10``."""
    if name.startswith("alpha"):
        return reference.users.AlphaInformative(float(name[5:]), weights=weights)
    return reference.users.NoisyDepth(int(name[5:]))


def noted(user):
    """What a recorder was shown and what it answered, under their golden names."""
    _, presented, better = zip(*user.rounds, strict=True)
    return {"presented": presented, "better": better}


def first_places(orderings, k):
    """The first k places of each ordering, -1 beyond its end."""
    return [[*ordering[:k], *[-1] * (k - len(ordering[:k]))] for ordering in orderings]


@golden
def test_update_rules():
    for case, arrays in load("update_rules").items():
        deltas = arrays.pop("deltas")
        assert arrays
        for rule, expected in arrays.items():
            if case == "eg_large_steps":
                rule = rule.replace("0_5", "0.5")
            learner = learner_of(rule, reference.Ranking())
            for t, delta in enumerate(deltas):
                learner.update(delta)
                np.testing.assert_allclose(
                    learner.weights, expected[t], rtol=0, atol=1e-8, err_msg=f"{case} {rule} {t}"
                )
            assert learner.rounds == len(deltas)
            np.testing.assert_allclose(learner.average_weights, expected.mean(axis=0), atol=1e-8)


@golden
def test_ranking_streams():
    for case, a in load("ranking_streams").items():
        data, k = data_of(a), int(a["k"])
        streams = {name.rsplit("__", 1)[0] for name in a if "__" in name}
        assert streams
        for stream in sorted(streams):
            rule, user = stream.split("__")
            learner = learner_of(rule, reference.Ranking(k=k))
            user = Recorder(user_of(user, a["weights"]))
            history = reference.simulate(
                learner, data, user, order=a["order"], weights=a["weights"]
            )
            for name in ("regret", "utility", "optimal_utility"):
                np.testing.assert_allclose(
                    getattr(history, name),
                    a[f"{stream}__{name}"],
                    rtol=0,
                    atol=1e-8,
                    err_msg=f"{case} {stream} {name}",
                )
            for name, orderings in noted(user).items():
                np.testing.assert_array_equal(
                    first_places(orderings, k), a[f"{stream}__{name}"], stream
                )
            np.testing.assert_allclose(
                learner.weights, a[f"{stream}__final_weights"], rtol=0, atol=1e-8, err_msg=stream
            )


@golden
def test_users_of_rankings():
    cases = [a for name, a in load("users").items() if name.startswith("ranking")]
    assert cases
    for a in cases:
        k, query = int(a["k"]), SimpleNamespace(features=a["features"], relevance=a["relevance"])
        user = reference.users.AlphaInformative(float(a["alpha"]), weights=a["weights"], k=k)
        better = user.respond(query, a["presented"])
        np.testing.assert_array_equal(better, a["alpha_better"])
        user = reference.users.NoisyDepth(int(a["depth"]), k=k)
        np.testing.assert_array_equal(user.respond(query, a["presented"]), a["noisy_better"])


@golden
def test_clicks():
    cases = [a for name, a in load("users").items() if name.startswith("clicks")]
    assert cases
    for a in cases:
        better = reference.users.feedback_from_clicks(a["presented"], a["clicked"])
        np.testing.assert_array_equal(better, a["better"])


@golden
def test_users_of_items():
    cases = [a for name, a in load("users").items() if name.startswith("items")]
    assert cases
    for a in cases:
        query = SimpleNamespace(
            candidates=a["candidates"], utilities=a["utilities"], ratings=a["ratings"]
        )
        presented = int(a["presented"])
        user = reference.users.AlphaInformative(float(a["alpha"]))
        assert user.respond(query, presented) == a["alpha_better"]
        for build, name in (("Better", "better_allowed"), ("Best", "best_allowed")):
            user = getattr(reference.users, build)(seed=1)
            seen = {user.respond(query, presented) for _ in range(60 * len(a["candidates"]))}
            assert seen == set(np.flatnonzero(a[name])), name


@golden
def test_item_streams():
    for case, a in load("item_streams").items():
        learner = learner_of(str(a["rule"]), reference.Items(a["items"]))
        user = Recorder(reference.users.AlphaInformative(float(a["alpha"])))
        history = reference.simulate_items(
            learner, a["items"], a["weights"], user, rounds=int(a["rounds"])
        )
        np.testing.assert_allclose(history.regret_per_user, a["regret"], rtol=0, atol=1e-8)
        there = ~np.isnan(a["regret"])
        for name, chosen in noted(user).items():
            np.testing.assert_array_equal(chosen, a[name][there], case)
        played = zip(a["regret"].T, there.T, strict=True)
        means = [regret[users].mean() for regret, users in played if users.any()]
        np.testing.assert_allclose(history.regret[: len(means)], means, atol=1e-8)
        assert np.isnan(history.regret[len(means) :]).all()
