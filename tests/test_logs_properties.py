"""Any log whatever: the values of the twin, and laws that hold of all of them."""

import math

import numpy as np
import pytest

pytest.importorskip("hypothesis")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from hypothesis.extra import numpy as hn  # noqa: E402
from test_logs_values import agree  # noqa: E402

import coactive_fast as cf  # noqa: E402
from coactive_fast.logs import BanditLog, evaluate, replay  # noqa: E402

twin = cf.reference.logs


def shares(counts):
    """Probabilities from whole numbers, not all 0."""
    counts = np.asarray(counts, dtype=float) + (sum(counts) == 0)
    return counts / counts.sum()


@st.composite
def logs(draw):
    """``(log, law)``: rounds of one to five actions, any logged probability down to 1e-3."""
    n = draw(st.integers(1, 12))
    sizes = draw(st.lists(st.integers(1, 5), min_size=n, max_size=n))
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    rows = hn.arrays(np.float64, (int(offsets[-1]), 2),
                     elements=st.integers(-40, 40).map(lambda i: i / 8.0))
    groups = st.lists(st.one_of(st.integers(-3, 3)), min_size=n, max_size=n)
    context = hn.arrays(np.float64, (n, 1), elements=st.integers(-8, 8).map(float))
    law = np.concatenate([shares(draw(st.lists(st.integers(0, 5), min_size=k, max_size=k)))
                          for k in sizes])
    log = BanditLog(
        draw(rows), offsets, [draw(st.integers(0, k - 1)) for k in sizes],
        draw(st.lists(st.integers(-4, 8).map(lambda i: i / 4.0), min_size=n, max_size=n)),
        draw(st.lists(st.integers(1, 1000).map(lambda i: i / 1000.0), min_size=n, max_size=n)),
        groups=draw(st.none() | groups), context=draw(st.none() | context))
    return log, law


@settings(max_examples=150)
@given(logs(), st.sampled_from(["ips", "snips", "dr"]), st.none() | st.sampled_from([0.5, 3.0]),
       st.sampled_from([None, (-1.0, 2.0), (-3, 7)]), st.integers(2, 4))
def test_twins_agree(case, estimator, max_weight, reward_range, folds):
    log, law = case
    words = {"estimator": estimator, "max_weight": max_weight, "reward_range": reward_range,
             "folds": folds, "force": True}
    agree(evaluate(law, log, **words), twin.evaluate(law, log, **words))


@settings(max_examples=100)
@given(logs(), st.floats(0.1, 10.0), st.floats(-5.0, 5.0))
def test_rewards_on_another_scale(case, scale, shift):
    """IPS and DR scale with the rewards, SNIPS moves with them too."""
    log, law = case
    words = {name: getattr(log, name) for name in ("features", "offsets", "chosen", "probability",
                                                   "groups", "context")}
    scaled = BanditLog(reward=scale * log.reward, **words)
    moved = BanditLog(reward=log.reward + shift, **words)
    for estimator in ("ips", "snips", "dr"):
        a, b = (evaluate(law, one, estimator=estimator, force=True).value for one in (log, scaled))
        assert math.isnan(a) and math.isnan(b) or b == pytest.approx(scale * a, rel=1e-9, abs=1e-9)
    a, b = (evaluate(law, one, estimator="snips", force=True).value for one in (log, moved))
    assert math.isnan(a) and math.isnan(b) or b == pytest.approx(a + shift, rel=1e-9, abs=1e-9)


@settings(max_examples=100)
@given(logs())
def test_sizes_and_bounds(case):
    log, law = case
    found = evaluate(law, log, force=True, reward_range=(-1.0, 2.0))
    w = law[log.offsets[:-1] + log.chosen] / log.probability
    assert 0.0 <= found.effective_sample_size <= len(log) * (1.0 + 1e-12)
    assert found.running.value[-1] == pytest.approx(np.mean(w * log.reward), rel=1e-12, abs=1e-12)
    assert (found.running.lower >= -1.0).all() and (found.running.upper <= 2.0).all()
    assert (np.diff(found.running.lower) >= 0).all() and (np.diff(found.running.upper) <= 0).all()


@settings(max_examples=100)
@given(logs(), st.integers(0, 5), st.floats(1e-6, 1.0))
def test_replays(case, seed, share):
    """Rounds in order, a subset of the likely ones; the learner has learned just these."""
    log, _ = case
    p_min = share * log.probability.min()
    learner, other = (cf.LinearBandit(context_features=log.n_context, seed=0) for _ in range(2))
    history = replay(learner, log, p_min=p_min, seed=seed)
    open_rounds = np.random.default_rng(seed).random(len(log)) * log.probability < p_min
    assert (np.diff(history.accepted) > 0).all() and open_rounds[history.accepted].all()
    for t in history.accepted:
        words = {} if log.context is None else {"context": log.context[t]}
        other.learn(log.features[log.offsets[t] + log.chosen[t]], log.reward[t], **words)
    np.testing.assert_array_equal(learner.weights, other.weights)
    assert learner.rounds == len(history)
