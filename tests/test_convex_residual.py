"""Residual feedback: the difference of successive losses in place of the loss."""

import numpy as np
import pytest
from convex_cases import MODULES
from convex_runs import losses, same_learner

import coactive_fast as cf

HAND = {"delta": 0.2, "gamma": 0.4, "loss_bound": 50.0}


@pytest.fixture(params=MODULES.values(), ids=list(MODULES))
def module(request):
    return request.param


def build(module, kind, n=3, **changes):
    step = {"beta": 0.1, "epsilon": 20.0} if kind == "ONSEG" else {}
    return getattr(module, kind)(n, module.Ball(1.0), **{
        **HAND, **step, "feedback": "residual", "seed": 4, **changes})


@pytest.mark.parametrize("kind", ["ONSEG", "OGDEG"])
def test_a_round_is_one_of_the_difference(module, kind, rng):
    """The learner that sees plain values is told the differences, and does the same."""
    learner, plain = build(module, kind), build(module, kind, feedback="value")
    before = None
    for t in range(40):
        x = learner.ask()
        np.testing.assert_allclose(plain.ask(), x, atol=1e-12)
        loss = float(np.sum((x - 0.3) ** 2) + 0.1 * rng.standard_normal())
        learner.tell(loss)
        plain.tell(0.0 if before is None else loss - before)
        if t == 0:
            np.testing.assert_array_equal(learner.center, np.zeros(3))
        before = loss
    np.testing.assert_allclose(learner.center, plain.center, atol=1e-12)
    assert np.abs(learner.center).max() > 0.01


@pytest.mark.parametrize("kind", ["ONSEG", "OGDEG"])
def test_a_constant_in_the_losses_is_not_seen(module, kind):
    ends = []
    for constant in (0.0, 40.0):
        learner = build(module, kind)
        for _ in range(30):
            x = learner.ask()
            learner.tell(constant + float(x @ x))
        ends.append(learner.center)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)


def test_pairs_count_as_their_mean(module):
    learner, plain = build(module, "OGDEG"), build(module, "OGDEG", feedback="value")
    for one in (learner, plain):
        one.ask_pair()
        one.tell_pair(3.0, 1.0)
    np.testing.assert_array_equal(learner.center, plain.center)
    for one, loss in ((learner, 2.5), (plain, 0.5)):  # the mean was 2
        one.ask()
        one.tell(loss)
    np.testing.assert_array_equal(learner.center, plain.center)


def test_reset_forgets_the_loss_before(module):
    learner = build(module, "OGDEG")
    learner.ask()
    learner.tell(7.0)
    learner.reset()
    learner.ask()
    learner.tell(1.0)
    np.testing.assert_array_equal(learner.center, np.zeros(3))


def test_a_refused_loss_is_not_the_one_before(module):
    learner = build(module, "OGDEG")
    learner.ask()
    learner.tell(1.0)
    learner.ask()
    with pytest.raises(ValueError):
        learner.tell(np.nan)
    learner.tell(1.0)  # no difference: no step
    np.testing.assert_array_equal(learner.center, np.zeros(3))


@pytest.mark.parametrize("arguments", [{"feedback": "values"}, {"feedback": 1}, {"feedback": None}])
def test_refused(module, arguments):
    for kind in ("ONSEG", "OGDEG"):
        with pytest.raises((ValueError, TypeError), match="feedback"):
            build(module, kind, **arguments)
    with pytest.raises(ValueError, match="baseline"):
        build(module, "ONSEG", baseline=True)


def test_the_estimate_varies_less_where_the_loss_hardly_moves():
    """A smooth loss far above 0: the squares of both estimates, along one run of a slow learner."""
    sizes = {"value": [], "residual": []}
    for feedback, found in sizes.items():
        learner = build(cf, "OGDEG", n=4, feedback=feedback, delta=0.05, loss_bound=1e6)
        before = None
        for _ in range(400):
            x = learner.ask()
            loss = 5.0 + float(np.sum((x - 0.2) ** 2))
            seen = loss if feedback == "value" else 0.0 if before is None else loss - before
            found.append((4 / 0.05 * seen) ** 2)
            learner.tell(loss)
            before = loss
    assert np.mean(sizes["residual"]) < 0.001 * np.mean(sizes["value"])


def test_the_estimate_keeps_its_mean():
    """Of a linear loss h.x the mean of (d / delta) (f - f before) v is h."""
    learner = build(cf, "OGDEG", n=2, loss_bound=1e12)  # stands still
    h, before, sum_g, rounds = np.array([1.0, -2.0]), None, np.zeros(2), 20_000
    for _ in range(rounds):
        x = learner.ask()
        v = (x - learner.center) / learner.delta
        loss = float(h @ x) + 3.0
        sum_g += 0.0 if before is None else 2.0 / learner.delta * (loss - before) * v
        before = loss
        learner.tell(loss)
    np.testing.assert_allclose(sum_g / rounds, h, atol=0.15)


@pytest.mark.parametrize("kind", ["ONSEG", "OGDEG"])
def test_files_go_on_bit_for_bit(kind, tmp_path):
    stream = losses(cf, "squared", 3)
    whole, first = build(cf, kind), build(cf, kind)
    whole.run(stream, 21)
    first.run(stream, 14)  # twice the rows
    first.save(tmp_path / "model.cf")
    second = cf.load(tmp_path / "model.cf")
    assert second._engine._state()["previous"] == first._engine._state()["previous"]
    second.run(stream, 7)
    same_learner(second, whole)


def test_switched_on_later_it_begins_with_the_next_loss():
    learner = build(cf, "OGDEG", feedback="value")
    learner.ask()
    learner.tell(2.0)
    assert "previous" not in learner._engine._state()
    learner.set_params(feedback="residual")
    assert "previous" not in learner._engine._state()
    before = learner.center
    learner.ask()
    learner.tell(3.0)
    np.testing.assert_array_equal(learner.center, before)
    assert learner._engine._state()["previous"] == 3.0
    told = learner._engine._state()
    with pytest.raises(ValueError, match="previous"):
        learner._engine._restore({**told, "previous": np.nan})
