"""`evaluate`: golden values, the twin, hand-made examples, laws, what is refused."""

import copy
import math
import signal
import threading

import children
import numpy as np
import pytest
from logs_cases import arrays, golden, log_of, some_law, sparse
from rewards_cases import ARMS, LINEAR, N_ARMS, D, P, trained

import coactive_fast as cf
from coactive_fast.logs import BanditLog, evaluate
from coactive_fast.logs._evaluate import _range, estimate, law_of

twin = cf.reference.logs
ESTIMATORS = ("ips", "snips", "dr")


def quiet(done):
    """What a policy tells of its progress, to nobody."""


def close(got, expected, tolerance=1e-12):
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


def agree(found, expected):
    for name in ("value", "standard_error", "interval", "effective_sample_size"):
        close(getattr(found, name), getattr(expected, name))
    for name in ("value", "lower", "upper"):
        close(getattr(found.running, name), getattr(expected.running, name))


@pytest.fixture
def given(rng):
    return arrays(rng)


@pytest.fixture
def law(rng, given):
    return some_law(rng, given["offsets"])


# --- against what is known ------------------------------------------------------------------


def by_twin(law, log, fold, estimator, most):
    return twin.estimate(law, log, fold, estimator, most, force=True)


def by_package(law, log, fold, estimator, most):
    return estimate(law_of(law, log, None), log, fold, estimator, most, _range(None, log.reward),
                    True)


@pytest.mark.parametrize("run", [by_twin, by_package])
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("name, log, a", golden("values"))
def test_golden(name, log, a, estimator, run):
    found = run(a["policy"], log, a["fold"], estimator, float(a["max_weight"]))
    close(found.value, a[estimator], 1e-11)
    close(found.standard_error, a[f"{estimator}_error"], 1e-11)
    close(found.effective_sample_size, a["effective_sample_size"], 1e-11)
    if "running_value" in a:
        for which in ("value", "lower", "upper"):
            close(getattr(found.running, which), a[f"running_{which}"], 1e-11)


def test_a_log_on_paper():
    """Two rounds; weights 1/2 and 3, rewards 1 and 1/2."""
    log = BanditLog([[1.0], [0.0], [2.0]], [0, 2, 3], [1, 0], [1.0, 0.5], [0.5, 1.0 / 3.0])
    pi = [0.75, 0.25, 1.0]
    ips, snips = (evaluate(pi, log, estimator=e, force=True) for e in ("ips", "snips"))
    assert ips.value == pytest.approx((0.5 + 1.5) / 2)
    assert ips.standard_error == pytest.approx(math.sqrt(0.5) / math.sqrt(2))
    assert ips.interval[1] - ips.value == pytest.approx(1.959963984540054 * ips.standard_error)
    assert snips.value == pytest.approx(2.0 / 3.5)
    z = [0.5 * (1.0 - 4 / 7) / 1.75, 3.0 * (0.5 - 4 / 7) / 1.75]
    assert snips.standard_error == pytest.approx(np.std(z, ddof=1) / math.sqrt(2))
    assert ips.effective_sample_size == snips.effective_sample_size == pytest.approx(
        3.5**2 / 9.25)
    np.testing.assert_allclose(ips.running.value, [0.5, 1.0])
    clipped = evaluate(pi, log, max_weight=2.0, force=True)
    assert clipped.value == pytest.approx((0.5 + 1.0) / 2)
    assert clipped.effective_sample_size == pytest.approx(2.5**2 / 4.25)


def test_doubly_robust_on_paper():
    """Two rounds in two folds: each is predicted by the other alone, w = x r / (1 + x^2)."""
    log = BanditLog([[1.0], [0.0], [2.0]], [0, 2, 3], [1, 0], [1.0, 0.5], [0.5, 1.0 / 3.0],
                    groups=[1, 2])  # whose hashes are odd and even
    assert [twin.fold_of(g, 2) for g in (1, 2)] == [1, 0]
    found = evaluate([0.75, 0.25, 1.0], log, estimator="dr", force=True)
    first = 2.0 * 0.5 / 5.0            # by round 2; round 1 itself shows x = 0, which predicts 0
    z = [0.75 * first + 0.5 * (1.0 - 0.0), 0.0 + 3.0 * (0.5 - 0.0)]
    assert found.value == pytest.approx(np.mean(z))


def many_folds(folds, groups):
    log = log_of(arrays(np.random.default_rng(3), 14, groups="numbers" if groups else None))
    pi = some_law(np.random.default_rng(4), log.offsets)
    words = {"estimator": "dr", "folds": folds, "force": True}
    agree(evaluate(pi, log, **words), twin.evaluate(pi, log, **words))


@children.forks
@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("folds", [14, 300, 20_000, 10**6, 2**31])
def test_folds_that_are_empty_cost_nothing(folds, groups):
    children.run(many_folds, folds, groups, seconds=20)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("shape", ["plain", "context", "numbers", "names", "rewards", "sparse",
                                   "float32"])
@pytest.mark.parametrize("max_weight", [None, 1.3])
def test_twins_agree(rng, shape, estimator, max_weight):
    given = arrays(rng, p=2 if shape in ("context", "sparse") else 0, binary=shape != "rewards",
                   groups=shape if shape in ("numbers", "names") else None)
    if shape == "float32":
        given["features"] = given["features"].astype(np.float32)
    log = log_of(sparse(given) if shape == "sparse" else given)
    words = {"estimator": estimator, "max_weight": max_weight, "folds": 3}
    if shape == "rewards":
        words["reward_range"] = (-0.5, 1.0)
    pi = some_law(rng, log.offsets)
    agree(evaluate(pi, log, **words), twin.evaluate(pi, log, **words))


# --- policies -------------------------------------------------------------------------------


def bandits():
    for kind, table in (("linear", LINEAR), ("arms", ARMS)):
        for name in table:
            if "thompson" not in name:
                yield pytest.param(kind, name, id=f"{kind} {name}")


def log_for(rng, kind, name="", **words):
    """A log by which this bandit can go."""
    if kind == "arms":
        return log_of(arrays(rng, d=2, p=D, actions=(1, N_ARMS + 1), **words))
    return log_of(arrays(rng, d=D, p=P if "context" in name else 0, **words))


def single_laws(bandit, log):
    """The probabilities by one call a round."""
    found = []
    for t, (a, b) in enumerate(zip(log.offsets[:-1], log.offsets[1:], strict=True)):
        if hasattr(bandit, "n_arms"):
            allowed = np.arange(bandit.n_arms) < b - a
            found.append(bandit.probabilities(log.context[t], allowed=allowed)[:b - a])
        else:
            words = {"context": log.context[t]} if bandit.context_features else {}
            found.append(bandit.probabilities(log.features[a:b], **words))
    return np.concatenate(found)


@pytest.mark.parametrize("kind, name", list(bandits()))
def test_bandits_are_asked_in_one_loop(rng, kind, name):
    """Bit for bit what one call a round says, and in the value what the twin says."""
    log, bandit = log_for(rng, kind, name), trained(cf, kind, name)
    law = law_of(bandit, log, None)
    first, second = law(0, 60, quiet), law(60, len(log), quiet)
    np.testing.assert_array_equal(np.concatenate([first, second]), single_laws(bandit, log))
    expected = twin.evaluate(trained(cf.reference, kind, name), log, force=True)
    close(evaluate(bandit, log, force=True).value, expected.value, 1e-9)


@pytest.mark.parametrize("kind", ["linear", "arms"])
def test_fresh_bandits(rng, kind):
    log = log_for(rng, kind)
    bandit = cf.ArmBandit(N_ARMS) if kind == "arms" else cf.LinearBandit()
    law = law_of(bandit, log, None)(0, len(log), quiet)
    np.testing.assert_array_equal(law, single_laws(bandit, log))
    assert bandit.rounds == 0


@pytest.mark.parametrize("form", ["sparse", "float32"])
@pytest.mark.parametrize("kind, name", [("linear", "ucb"), ("linear", "context"),
                                        ("linear", "ucb diagonal"), ("arms", "squarecb")])
def test_bandits_read_any_rows(rng, kind, name, form):
    given = arrays(rng, d=2 if kind == "arms" else D, actions=(1, N_ARMS + 1),
                   p={"arms": D, "linear": P if name == "context" else 0}[kind])
    for key in ("features", "context"):
        if key in given:  # numbers that float32 has
            given[key] = given[key].astype(np.float32).astype(float)
    dense, bandit = log_of(given), trained(cf, kind, name)
    changed = sparse(given) if form == "sparse" else {
        key: value.astype(np.float32) if key in ("features", "context") else value
        for key, value in given.items()}
    other = law_of(bandit, log_of(changed), None)(0, len(dense), quiet)
    close(other, law_of(bandit, dense, None)(0, len(dense), quiet))


@pytest.mark.parametrize("kind, name", [("linear", "thompson"), ("linear", "thompson floor"),
                                        ("linear", "thompson diagonal"),
                                        ("linear", "context thompson"), ("arms", "thompson"),
                                        ("arms", "thompson floor")])
def test_thompson_by_samples(rng, kind, name):
    """Frequencies of the bandit's own law; the same again, since nothing has moved."""
    log, bandit = log_for(rng, kind, name, n=40), trained(cf, kind, name)
    with pytest.raises(ValueError, match="samples"):
        evaluate(bandit, log, force=True)
    law = law_of(bandit, log, 4000)(0, len(log), quiet)
    np.testing.assert_array_equal(law, law_of(bandit, log, 4000)(0, len(log), quiet))
    for t in range(0, 40, 8):
        a, b = log.offsets[t:t + 2]
        if kind == "arms":
            p = bandit.probabilities(log.context[t], allowed=np.arange(N_ARMS) < b - a,
                                     samples=4000)[:b - a]
        else:
            words = {"context": log.context[t]} if "context" in name else {}
            p = bandit.probabilities(log.features[a:b], samples=4000, **words)
        assert abs(law[a:b] - p).max() < 0.05
    evaluate(bandit, log, force=True, samples=3)


def test_the_policy_stays_as_it_is(rng):
    """Its state is the same to the byte, the generator and what it has spawned included."""
    for kind, name, samples in (("linear", "thompson", 5), ("arms", "thompson floor", 5),
                                ("linear", "squarecb floor", None), ("arms", "ucb", None)):
        log, bandit = log_for(rng, kind, name), trained(cf, kind, name)
        before = copy.deepcopy(bandit._engine._state())
        evaluate(bandit, log, force=True, samples=samples, estimator="dr")
        np.testing.assert_equal(bandit._engine._state(), before)
        assert bandit.last_history is None


def test_functions_and_objects(rng, given, law):
    """A function sees the round's rows and its context."""
    given = {**given, "context": np.arange(len(given["chosen"]))[:, None].astype(float)}
    log = log_of(given)
    expected = evaluate(law, log)

    def policy(X, context):
        t = int(context[0])
        a, b = log.offsets[t:t + 2]
        np.testing.assert_array_equal(X, given["features"][a:b])
        return law[a:b].tolist()

    class Own:
        def probabilities(self, X, context=None):
            return policy(X, context)

    for one in (policy, Own()):
        agree(evaluate(one, log), expected)
    plain = log_of({k: v for k, v in given.items() if k != "context"})
    uniform = evaluate(lambda X, context: np.full(len(X), 1.0 / len(X)), plain)
    lengths = np.diff(log.offsets)
    agree(uniform, evaluate(np.repeat(1.0 / lengths, lengths), plain))
    assert context_of(plain) is None and context_of(log_of(sparse(given))).shape == (1, 1)


def context_of(log):
    seen = []
    evaluate(lambda X, context: seen.append(context) or np.full(X.shape[0], 1.0 / X.shape[0]),
             log)
    return seen[0]


# --- statistics -----------------------------------------------------------------------------


def test_clusters_by_hand(rng):
    """The sample deviation of the sums over the groups, of numbers of any kind."""
    given = arrays(rng, 60, groups="names")
    log, pi = log_of(given), some_law(rng, given["offsets"])
    z = pi[log.offsets[:-1] + log.chosen] / log.probability * log.reward
    apart = z - z.mean()
    sums = [apart[log.groups == name].sum() for name in set(log.groups.tolist())]
    expected = math.sqrt(len(sums)) * np.std(sums, ddof=1) / 60
    assert evaluate(pi, log, force=True).standard_error == pytest.approx(expected)
    alone = evaluate(pi, log_of(given, groups=np.arange(60)), force=True)
    assert alone.standard_error == pytest.approx(np.std(z, ddof=1) / math.sqrt(60))
    one = evaluate(pi, log_of(given, groups=["all"] * 60), force=True)
    assert math.isnan(one.standard_error) and math.isnan(one.interval[0])


def test_the_logging_policy_itself(rng, given):
    """All weights are 1: the value is the mean reward, of as many rounds as there are."""
    lengths = np.diff(given["offsets"])
    log = log_of(given, probability=1.0 / lengths)
    uniform = np.repeat(1.0 / lengths, lengths)
    for estimator in ("ips", "snips"):
        found = evaluate(uniform, log, estimator=estimator)
        assert found.value == pytest.approx(log.reward.mean())
        assert found.effective_sample_size == pytest.approx(len(log))


def test_a_policy_that_never_does_what_was_logged():
    log = BanditLog(np.ones((80, 1)), range(0, 81, 2), [0] * 40, [1.0] * 40, [0.5] * 40)
    with pytest.raises(ValueError, match="sample size is 0"):
        evaluate([0.0, 1.0] * 40, log)
    found = evaluate([0.0, 1.0] * 40, log, force=True)
    assert found.value == found.effective_sample_size == 0.0
    assert math.isnan(evaluate([0.0, 1.0] * 40, log, estimator="snips", force=True).value)


def test_running_bounds(rng, given, law):
    """They only ever close in, stay in the range, and move with it."""
    log = log_of(given)
    running = evaluate(law, log).running
    assert (np.diff(running.lower) >= 0.0).all() and (np.diff(running.upper) <= 0.0).all()
    assert 0.0 <= running.lower.min() and running.upper.max() <= 1.0 and len(running) == len(log)
    moved = evaluate(law, log_of(given, reward=4.0 * log.reward - 1.0), reward_range=(-1.0, 3.0))
    close(moved.running.lower, 4.0 * running.lower - 1.0)
    close(moved.running.upper, 4.0 * running.upper - 1.0)
    beyond = evaluate(law, log_of(given, reward=log.reward + 0.5)).running
    assert np.isnan(beyond.lower).all() and np.isnan(beyond.upper).all()
    assert np.isfinite(beyond.value).all()


def made_log(seed, n):
    """A log of three actions a round, and the law of another policy: `(log, law)`."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3, 2))
    mean = 1.0 / (1.0 + np.exp(-X[:, :, 0]))
    logged = np.exp(X[:, :, 1]) / np.exp(X[:, :, 1]).sum(axis=1, keepdims=True)
    logged = 0.3 / 3 + 0.7 * logged
    pi = mean**2 / (mean**2).sum(axis=1, keepdims=True)
    chosen = (rng.random((n, 1)) > np.cumsum(logged, axis=1)).sum(axis=1).clip(0, 2)
    rows = np.arange(n)
    reward = (rng.random(n) < mean[rows, chosen]).astype(float)
    log = BanditLog(X.reshape(-1, 2), np.arange(0, 3 * n + 1, 3), chosen, reward,
                    logged[rows, chosen])
    return log, pi.ravel()


def true_value():
    """That of the policy of `made_log`, by its expectation in 200,000 rounds: to 0.0005."""
    found = [(pi / (1.0 + np.exp(-log.features[:, 0]))).sum() / len(log)
             for log, pi in (made_log(1000 + seed, 20_000) for seed in range(10))]
    return np.mean(found)


def test_intervals_cover():
    """Of 60 logs; 200 of them with 10,000 rounds each are in bench/bench_logs.py."""
    covered, always = dict.fromkeys(ESTIMATORS, 0), 0
    true = true_value()
    for seed in range(60):
        log, pi = made_log(seed, 800)
        for estimator in ESTIMATORS:
            found = evaluate(pi, log, estimator=estimator)
            covered[estimator] += found.interval[0] <= true <= found.interval[1]
        always += bool((found.running.lower <= true).all() and (found.running.upper >= true).all())
    assert min(covered.values()) >= 52 and always >= 57


# --- blocks, progress, threads --------------------------------------------------------------


def test_blocks_do_not_show(rng, given, law, monkeypatch):
    log = log_of({**given, "context": rng.standard_normal((len(given["chosen"]), 2))})
    whole = [evaluate(law, log, estimator=e) for e in ESTIMATORS]
    monkeypatch.setattr("coactive_fast.logs._evaluate.ROWS", 7)
    monkeypatch.setattr("coactive_fast.logs._evaluate.NUMBERS", 40)
    for estimator, expected in zip(ESTIMATORS, whole, strict=True):
        agree(evaluate(law, log, estimator=estimator), expected)


def test_progress(rng, given, law):
    log = log_of(given)
    for estimator, times in (("ips", 1), ("dr", 2)):
        calls = []
        evaluate(law, log, estimator=estimator,
                 progress=lambda done, total, calls=calls: calls.append((done, total)))
        assert calls[-1] == (times * len(log), times * len(log))
        assert calls == sorted(calls)

    def stop(done, total):
        raise KeyboardInterrupt

    bandit = trained(cf, "linear", "ucb")
    for policy in (law, bandit, lambda X, context: np.full(len(X), 1.0 / len(X))):
        with pytest.raises(KeyboardInterrupt):
            evaluate(policy, log, progress=stop)
    agree(evaluate(law, log), twin.evaluate(law, log))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_ctrl_c(rng):
    """A loop of seconds is left within a moment, by a signal that nobody else looks for."""
    log = log_of(arrays(rng, 3000, d=D))
    bandit = trained(cf, "linear", "thompson")
    before = copy.deepcopy(bandit._engine._state())
    begun = threading.Event()

    def once_it_runs(done, total):
        if not begun.is_set():
            begun.set()
            signal.setitimer(signal.ITIMER_REAL, 0.05)

    old = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            evaluate(bandit, log, samples=200_000, progress=once_it_runs)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)
    np.testing.assert_equal(bandit._engine._state(), before)


def test_the_policy_of_a_moment(rng):
    """While others teach the bandit, all rounds are asked of it as it was."""
    log, bandit = log_of(arrays(rng, 2000, d=D)), trained(cf, "linear", "squarecb")
    expected = evaluate(bandit, log).value

    def teach(done, total):
        bandit.learn(rng.standard_normal(D), 1.0)

    assert evaluate(bandit, log, progress=teach).value == expected
    assert evaluate(bandit, log).value != expected


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize("words, named", [
    ({"estimator": "best"}, "estimator"), ({"folds": 1}, "folds"), ({"folds": 2.0}, "folds"),
    ({"max_weight": 0.0}, "max_weight"), ({"max_weight": np.nan}, "max_weight"),
    ({"reward_range": (1.0, 0.0)}, "reward_range"), ({"reward_range": (0.0, 0.5)}, "reward_range"),
    ({"reward_range": 1.0}, "reward_range"), ({"reward_range": (0.0, np.inf)}, "reward_range"),
    ({"reward_range": (0, 1, 2)}, "reward_range"), ({"force": 1}, "force"),
    ({"samples": 0}, "samples"), ({"samples": 1.5}, "samples"), ({"progress": 3}, "progress"),
])
def test_bad_words(given, law, words, named):
    with pytest.raises((ValueError, TypeError), match=rf"\b{named}\b"):
        evaluate(law, log_of(given), **words)


def test_bad_policies(rng, given, law):
    log = log_of(given)
    nan, high, low = law.copy(), law.copy(), law.copy()
    nan[3], high[5] = np.nan, high[5] + 0.01
    low[log.offsets[20]:log.offsets[21]] -= 2.0
    for policy in (law[1:], law[:, None], nan, high, low, "law", None, 3.0,
                   lambda X, context: [0.5], lambda X, context: np.full(len(X), np.nan),
                   lambda X, context: None, cf.OnlineRidge(), cf.MulticlassPerceptron(3)):
        with pytest.raises((ValueError, TypeError), match=r"^policy\b"):
            evaluate(policy, log)
    with pytest.raises(ZeroDivisionError):
        evaluate(lambda X, context: 1 / 0, log)
    with pytest.raises(TypeError, match="^log"):
        evaluate(law, given)


def test_bandits_that_do_not_fit(rng):
    log = log_of(arrays(rng, d=3, p=2))
    for bandit, named in (
            (trained(cf, "linear", "ucb"), "features"), (trained(cf, "arms", "ucb"), "context"),
            (cf.LinearBandit(context_features=3), "context"), (cf.ArmBandit(2), "log"),
            (trained(cf, "linear", "context"), "features")):
        before = copy.deepcopy(bandit._engine._state())
        with pytest.raises(ValueError, match=named):
            evaluate(bandit, log)
        np.testing.assert_equal(bandit._engine._state(), before)
    bare = log_of(arrays(rng, d=3))
    for bandit in (cf.ArmBandit(9), cf.LinearBandit(context_features=2)):
        with pytest.raises(ValueError, match="context"):
            evaluate(bandit, bare)


def test_too_small_an_effective_sample(rng, given):
    """Most of the weight on few rounds: no value, unless it is asked for all the same."""
    log = log_of({name: value[:20] if name not in ("features", "offsets") else value
                  for name, value in given.items()}
                 | {"offsets": given["offsets"][:21],
                    "features": given["features"][:given["offsets"][20]]})
    uniform = np.repeat(1.0 / np.diff(log.offsets), np.diff(log.offsets))
    with pytest.raises(ValueError, match="force"):
        evaluate(uniform, log)
    assert evaluate(uniform, log, force=True).effective_sample_size <= 20.0
    assert "as good as" in repr(evaluate(uniform, log, force=True))


def test_weights_that_overflow():
    log = BanditLog([[1.0]], [0, 1], [0], [1.0], [5e-324])
    with pytest.raises(ValueError, match="max_weight"):
        evaluate([1.0], log, force=True)
    assert evaluate([1.0], log, max_weight=7.0, force=True).value == 7.0
