"""`replay`: golden rounds, the loop of single calls bit for bit, the twin, what is refused."""

import copy
import math
import signal
import threading

import numpy as np
import pytest
from logs_cases import arrays, golden, log_of, sparse
from rewards_cases import ARMS, LINEAR, N_ARMS, D, P, trained

import coactive_fast as cf
from coactive_fast.logs import BanditLog, replay

twin = cf.reference.logs
K = 4  # classes
LABELS = {
    "confidit": (cf.Confidit, {}), "confidit full": (cf.Confidit, {"covariance": "full"}),
    "confidit drawn": (cf.Confidit, {"alpha": 0.5, "seed": 1}),
    "confidit theory": (cf.Confidit, {"confidence": "theory", "projection": True}),
    "confidit rbf": (cf.Confidit, {"covariance": "kernel", "kernel": "rbf"}),
    "banditron": (cf.Banditron, {"gamma": 0.3, "seed": 2}),
    "newtron": (cf.Newtron, {"seed": 3}),
}
LEARNERS = [*(("linear", name) for name in LINEAR), *(("arms", name) for name in ARMS),
            *(("labels", name) for name in LABELS)]


def learner_of(kind, name, module=cf):
    if kind == "labels":
        known, arguments = LABELS[name]
        return getattr(module, known.__name__)(K, **arguments)
    return trained(module, kind, name, rounds=5, seed=7)


def given_for(rng, kind, name="", n=200):
    """The arrays of a log by which such a learner can go."""
    if kind == "labels":
        return arrays(rng, n, d=1, p=D, actions=(K, K + 1))
    if kind == "arms":
        return arrays(rng, n, d=1, p=D, actions=(1, N_ARMS + 1))
    return arrays(rng, n, d=D, p=P if "context" in name else 0)


def single_calls(learner, log, p_min=None, seed=None):
    """Which rounds are accepted, by one call after the other."""
    u = np.random.default_rng(seed).random(len(log))
    p_min = log.probability.min() if p_min is None else p_min
    accepted = []
    for t, (a, b) in enumerate(zip(log.offsets[:-1], log.offsets[1:], strict=True)):
        X, r, i = log.features[a:b], log.reward[t], int(log.chosen[t])
        takes = u[t] * log.probability[t] < p_min
        if isinstance(learner, cf.LinearBandit):
            words = {"context": log.context[t]} if learner.context_features else {}
            choice, learn = learner.choose(X, **words), lambda X=X, i=i, r=r, w=words: (
                learner.learn(X[i], r, **w))
        elif isinstance(learner, cf.ArmBandit):
            choice = learner.choose(log.context[t], allowed=np.arange(N_ARMS) < b - a)
            learn = lambda t=t, i=i, r=r: learner.learn(log.context[t], i, r)  # noqa: E731
        else:
            choice = learner.choose(log.context[t])
            learn = lambda t=t, i=i, r=r: learner.learn(log.context[t], i, r == 1.0)  # noqa: E731
        if choice == i and takes:
            learn()
            accepted.append(t)
    return accepted


def same_state(one, other):
    np.testing.assert_equal(one._engine._state(), other._engine._state())


# --- against what is known ------------------------------------------------------------------


@pytest.mark.parametrize("module", [cf, cf.reference])
@pytest.mark.parametrize("name, log, a", golden("replay"))
def test_golden(name, log, a, module):
    width = float(a["width"])
    learner = module.LinearBandit(explore="ucb" if width else "greedy", width=width)
    run = replay if module is cf else twin.replay
    history = run(learner, log, p_min=float(a["p_min"]), seed=int(a["seed"]))
    np.testing.assert_array_equal(history.accepted, a["accepted"])
    assert history.mean_reward == pytest.approx(a["mean_reward"], rel=1e-12)
    assert history.standard_error == pytest.approx(a["standard_error"], rel=1e-12)
    np.testing.assert_allclose(learner.weights, a["weights"], rtol=1e-8, atol=1e-12)


def test_a_log_on_paper():
    """Over (1,) and (2,) the second row is taken while w >= 0; in round 2 the chance decides."""
    log = BanditLog([[1.0], [2.0]] * 4, range(0, 9, 2), [1, 0, 1, 1], [1.0, 5.0, -9.0, 1.0],
                    [0.5, 0.5, 1.0, 0.5])
    left, taken = (np.random.default_rng(seed).random(4)[2] for seed in (2, 0))
    assert left > 0.5 > taken
    history = replay(cf.LinearBandit(width=0.1), log, seed=2)
    assert history.accepted.tolist() == [0, 3] and history.reward.tolist() == [1.0, 1.0]
    assert (history.mean_reward, history.standard_error, history.rounds) == (1.0, 0.0, 4)
    learner = cf.LinearBandit(width=0.1)
    assert replay(learner, log, seed=0).accepted.tolist() == [0, 2]  # then w < 0
    assert learner.weights[0] == pytest.approx((2.0 - 18.0) / 9.0)


@pytest.mark.parametrize("kind, name", LEARNERS)
def test_it_is_the_loop_of_single_calls(rng, kind, name):
    """Bit for bit, the state too."""
    log = log_of(given_for(rng, kind, name))
    for words in ({"seed": 5}, {"seed": 6, "p_min": 0.9 * log.probability.min()}):
        whole, single = learner_of(kind, name), learner_of(kind, name)
        history = replay(whole, log, **words)
        assert history.accepted.tolist() == single_calls(single, log, **words)
        same_state(whole, single)
        np.testing.assert_array_equal(history.reward, log.reward[history.accepted])
        assert whole.last_history == history and history.accepted.dtype == np.intp


@pytest.mark.parametrize("kind, name", [case for case in LEARNERS if case[1] not in (
    "thompson", "context thompson", "thompson floor", "confidit rbf")])
def test_twins_agree(rng, kind, name):
    log = log_of(given_for(rng, kind, name))
    learner, slow = learner_of(kind, name), learner_of(kind, name, cf.reference)
    found, expected = replay(learner, log, seed=1), twin.replay(slow, log, seed=1)
    np.testing.assert_array_equal(found.accepted, expected.accepted)
    for name in ("mean_reward", "standard_error"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)
    np.testing.assert_allclose(learner.weights, slow.weights, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("length", [7, 10_000])
def test_many_learners_are_each_as_if_alone(rng, length, monkeypatch):
    monkeypatch.setattr("coactive_fast.logs._replay.BLOCK", length)
    given = arrays(rng, 300, d=D, p=D, actions=(K, K + 1))
    log = log_of(given)

    def some():
        return [*(learner_of("labels", name) for name in LABELS),
                *(learner_of("linear", name) for name in ("ucb", "thompson", "squarecb floor")),
                cf.ArmBandit(K, explore="thompson", seed=3)]

    together, alone = some(), some()
    histories = replay(together, log, seed=2)
    for one, other, history in zip(together, alone, histories, strict=True):
        assert replay(other, log, seed=2) == history == one.last_history
        same_state(one, other)
    assert replay([], log) == []


@pytest.mark.parametrize("form", ["sparse", "float32"])
@pytest.mark.parametrize("kind, name", [("linear", "ucb"), ("linear", "context"),
                                        ("linear", "ucb diagonal"), ("arms", "ucb"),
                                        ("labels", "confidit"), ("labels", "banditron")])
def test_rows_of_any_form(rng, kind, name, form):
    given = given_for(rng, kind, name)
    tables = [key for key in ("features", "context") if key in given]
    for key in tables:
        given[key] = given[key].astype(np.float32).astype(float)
    changed = sparse(given) if form == "sparse" else {
        **given, **{key: given[key].astype(np.float32) for key in tables}}
    dense, other = learner_of(kind, name), learner_of(kind, name)
    history = replay(dense, log_of(given), seed=4)
    np.testing.assert_array_equal(replay(other, log_of(changed), seed=4).accepted,
                                  history.accepted)
    np.testing.assert_allclose(other.weights, dense.weights, rtol=1e-11, atol=1e-13)


def test_a_uniform_log_accepts_every_match(rng):
    given = arrays(rng, 300, d=D, actions=(5, 6))
    log, learner = log_of(given, probability=[0.2] * 300), trained(cf, "linear", "ucb")
    history = replay(learner, log)
    assert abs(len(history) - 60) < 30
    single = trained(cf, "linear", "ucb")
    choices = []
    for t in range(300):
        X = log.features[5 * t:5 * t + 5]
        if single.choose(X) == log.chosen[t]:
            choices.append(t)
            single.learn(X[log.chosen[t]], log.reward[t])
    assert history.accepted.tolist() == choices


def test_what_is_accepted_is_as_it_would_have_been():
    """Over 300 logs the mean reward of an ε-greedy learner is that of the same one live."""
    live, logged, w = [], [], np.array([0.8, -0.4])
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((150, 3, 2))
        good = 1.0 / (1.0 + np.exp(-3.0 * X @ w))
        tilt = 0.1 + 0.7 * np.exp(X[:, :, 1]) / np.exp(X[:, :, 1]).sum(axis=1, keepdims=True)
        chosen = (rng.random((150, 1)) > np.cumsum(tilt, axis=1)).sum(axis=1).clip(0, 2)
        r = np.arange(150)
        log = BanditLog(X.reshape(-1, 2), np.arange(0, 451, 3), chosen,
                        rng.random(150) < good[r, chosen], tilt[r, chosen])
        learner = cf.LinearBandit(explore="greedy", floor=0.3, seed=seed)
        history = replay(learner, log, p_min=0.1, seed=seed)
        if len(history) >= 5:
            logged.append(history.reward[:5].mean())
        bandit = cf.LinearBandit(explore="greedy", floor=0.3, seed=seed + 1000)
        rewards = []
        for t in range(5):
            i = bandit.choose(X[t])
            rewards.append(float(rng.random() < good[t, i]))
            bandit.learn(X[t, i], rewards[-1])
        live.append(np.mean(rewards))
    error = math.hypot(np.std(live) / math.sqrt(len(live)), np.std(logged) / math.sqrt(len(logged)))
    assert len(logged) > 250 and abs(np.mean(live) - np.mean(logged)) < 3.0 * error


# --- histories ------------------------------------------------------------------------------


def test_histories_of_few_rounds():
    log = BanditLog([[1.0], [2.0]] * 2, [0, 2, 4], [0, 1], [0.3, 0.7], [0.5, 0.5])
    one = replay(cf.LinearBandit(), log)
    assert one.accepted.tolist() == [1] and one.mean_reward == 0.7
    assert math.isnan(one.standard_error) and len(one) == 1
    none = replay(cf.LinearBandit(), log[:1])
    assert len(none) == 0 and math.isnan(none.mean_reward) and math.isnan(none.standard_error)
    assert "mean_reward=nan" in repr(none) and "rounds" in none.to_dict()


def test_averages(rng):
    history = replay(trained(cf, "linear", "ucb"), log_of(given_for(rng, "linear")), seed=1)
    N = len(history)
    assert N > 5
    np.testing.assert_allclose(history.average_reward,
                               np.cumsum(history.reward) / np.arange(1, N + 1))
    assert history.mean_reward == pytest.approx(history.reward.mean())
    assert history.standard_error == pytest.approx(history.reward.std(ddof=1) / math.sqrt(N))


# --- interruptions, threads -----------------------------------------------------------------


class Stop(Exception):
    pass


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("kind, name", [("linear", "thompson"), ("arms", "ucb"),
                                        ("labels", "banditron")])
def test_what_is_interrupted_ends_between_two_rounds(rng, kind, name, several, monkeypatch):
    monkeypatch.setattr("coactive_fast.logs._replay.BLOCK", 100)
    log = log_of(given_for(rng, kind, name, n=1000))

    def stop(done, total):
        assert total == 1000 * (2 if several else 1)
        if done >= 300:
            raise Stop

    learner, other = learner_of(kind, name), learner_of(kind, name)
    with pytest.raises(Stop):
        replay([learner, learner_of(kind, name)] if several else learner, log, seed=1,
               progress=stop)
    history = learner.last_history
    done = history.rounds
    assert 0 < done <= 1000 and history.accepted.max(initial=-1) < done
    u = np.random.default_rng(1).random(1000)
    first = log[:done]
    p_min = log.probability.min()
    np.testing.assert_array_equal(u[:done], np.random.default_rng(1).random(done))
    assert replay(other, first, p_min=p_min, seed=1).accepted.tolist() == (
        history.accepted.tolist())
    same_state(learner, other)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_ctrl_c(rng):
    given = given_for(rng, "linear", n=2000)
    many = {name: np.concatenate([value] * 100) for name, value in given.items()
            if name != "offsets"}
    lengths = np.concatenate([np.diff(given["offsets"])] * 100)
    many["features"] = np.pad(many["features"], ((0, 0), (0, 60)))
    log = log_of({**many, "offsets": np.concatenate(([0], np.cumsum(lengths)))})
    learner = cf.LinearBandit(explore="thompson", seed=1)

    def once_it_runs(done, total):
        if not signal.getitimer(signal.ITIMER_REAL)[0]:
            signal.setitimer(signal.ITIMER_REAL, 0.05)

    old = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            replay(learner, log, progress=once_it_runs)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)
    assert 0 < learner.last_history.rounds < len(log)
    assert learner.rounds == len(learner.last_history)


def test_reading_while_a_replay_learns(rng):
    log = log_of(arrays(rng, 20_000, d=D))
    learner, alone = trained(cf, "linear", "squarecb"), trained(cf, "linear", "squarecb")
    expected, failed, end = replay(alone, log, seed=1), [], threading.Event()

    def read():
        while not end.is_set():
            try:
                learner.weights, copy.deepcopy(learner)
                learner.scores(log.features[:3])
            except Exception as error:
                failed.append(error)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        assert replay(learner, log, seed=1) == expected
    finally:
        end.set()
        for thread in threads:
            thread.join()
    assert not failed
    same_state(learner, alone)


# --- what is refused ------------------------------------------------------------------------


def refused(named, learner, log, **words):
    """Nothing has changed in any of the learners."""
    learners = learner if isinstance(learner, list) else [learner]
    before = [copy.deepcopy(one._engine._state()) for one in learners]
    with pytest.raises((ValueError, TypeError), match=rf"\b({named})\b"):
        replay(learner, log, **words)
    for one, state in zip(learners, before, strict=True):
        np.testing.assert_equal(one._engine._state(), state)


def test_bad_words(rng):
    log = log_of(given_for(rng, "linear"))
    bandit, least = trained(cf, "linear", "ucb"), log.probability.min()
    for p_min in (0.0, -0.1, 1.1, np.nan, "0.1", np.nextafter(least, 1.0)):
        refused("p_min", bandit, log, p_min=p_min)
    for seed in ("now", -1, 1.5):
        refused("seed", bandit, log, seed=seed)
    refused("progress", bandit, log, progress=1)
    refused("learner", [bandit, bandit], log)
    replay(bandit, log, p_min=least)
    for wrong in (None, 3, "ucb", object(), cf.LinearBandit, cf.reference.LinearBandit()):
        with pytest.raises(TypeError, match="^learner"):
            replay(wrong, log)
    with pytest.raises(TypeError, match="^log"):
        replay(bandit, given_for(rng, "linear"))


@pytest.mark.parametrize("kind, build", [
    ("labels", lambda: cf.MulticlassPerceptron(K)), ("labels", lambda: cf.MulticlassAROW(K)),
    ("labels", lambda: cf.MulticlassSecondOrderPerceptron(K)),
])
def test_learners_that_must_be_told_the_label(rng, kind, build):
    refused("learner", build(), log_of(given_for(rng, kind)))


def test_other_learners(rng):
    log = log_of(given_for(rng, "linear"))
    refused("learner", cf.OnlineRidge(), log)
    refused("learner", cf.RidgeFilter(), log)


def test_logs_that_do_not_fit(rng):
    labels, arms, linear = (given_for(rng, kind) for kind in ("labels", "arms", "linear"))
    bandit = trained(cf, "linear", "ucb")
    bare = {name: value for name, value in labels.items() if name != "context"}
    for learner, given, named in (
            (trained(cf, "linear", "ucb"), labels, "features"),
            (trained(cf, "linear", "context"), linear, "context"),
            (cf.LinearBandit(context_features=D + 1), labels, "context"),
            (cf.ArmBandit(K), bare, "context"), (cf.ArmBandit(K - 1), labels, "log"),
            (cf.Confidit(K), bare, "context"), (cf.Confidit(K + 1), labels, "log"),
            (cf.Confidit(K - 1), labels, "log"), (cf.Confidit(N_ARMS), arms, "log"),
            (cf.Banditron(K), {**labels, "reward": labels["reward"] + 0.5}, "reward"),
            (cf.LinearBandit(link="logistic"), {**linear, "reward": linear["reward"] * 2.0},
             "reward")):
        refused(named, learner, log_of(given))
        if given is linear:
            refused(named, [bandit, learner], log_of(given))
    assert bandit.rounds == 25


def test_a_step_that_overflows_is_not_taken():
    """The round is named; what was learned before it stays, and nothing of it."""
    features = np.ones((60, 1))
    features[40] = 1e200
    log = BanditLog(features, range(61), [0] * 60, [1.0] * 60, [1.0] * 60)
    bandit = cf.LinearBandit(seed=1)
    with pytest.raises(ValueError, match="round 40 of the log"):
        replay(bandit, log)
    assert bandit.rounds == 40 and len(bandit.last_history) == 40
    other = cf.LinearBandit(seed=1)
    replay(other, log[:40])
    same_state(bandit, other)


def test_a_learner_that_changes_its_kind_on_the_way(rng, monkeypatch):
    """What the rounds read is decided at the start."""
    monkeypatch.setattr("coactive_fast.logs._replay.BLOCK", 50)
    log = log_of(arrays(rng, p=2))
    bandit = cf.LinearBandit()

    def change(done, total):
        bandit.reset().set_params(context_features=2)

    with pytest.raises(ValueError, match="context_features"):
        replay([bandit, cf.LinearBandit()], log, progress=change)
    assert bandit.rounds == 0
