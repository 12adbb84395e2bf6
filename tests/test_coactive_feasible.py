"""Convex and Second-order Preference Perceptron over other sets than a ball."""

import copy

import numpy as np
import pytest
from coactive_cases import golden, load, modules, run

import coactive_fast
from coactive_fast import reference

LOWER = np.array([-0.3, 0.0, -0.1, -0.5])
UPPER = np.array([0.2, 0.4, 0.0, 0.05])


def built_in(module):
    """Sets that hold 0, by name."""
    return {
        "ball": module.Ball(0.4),
        "box": module.Box(LOWER, UPPER),
        "wide box": module.Box(-0.1, 0.3),
        "l1": module.L1Ball(0.5),
    }


SETS = pytest.mark.parametrize("name", ["ball", "box", "wide box", "l1"])


@golden
@modules
def test_golden(module):
    for case, a in load("more_feasible_sets").items():
        convex = case.startswith("convex")
        if case.endswith("box"):
            feasible = module.Box(a["lower"], a["upper"])
        else:
            kind = module.L1Ball if case.endswith("l1") else module.Ball
            feasible = kind(float(a["radius"]))
        names = ("slope",) if convex else ("gamma", "epsilon")
        parameters = {name: float(a[name]) for name in names}
        make = (module.ConvexPreferencePerceptron if convex
                else module.SecondOrderPreferencePerceptron)
        learners = [make(module.Ranking(), feasible=feasible, **parameters)]
        if case.endswith("ball"):
            learners.append(make(module.Ranking(), radius=float(a["radius"]), **parameters))
        tolerance = 1e-8 if case.endswith("ball") or convex else 1e-6
        for learner in learners:
            np.testing.assert_allclose(run(learner, a["deltas"]), a["weights"], rtol=0,
                                       atol=tolerance, err_msg=case)


@SETS
@modules
def test_convex_by_its_definition(module, name, rng):
    feasible, deltas = built_in(module)[name], rng.standard_normal((30, 4))
    learner = module.ConvexPreferencePerceptron(module.Ranking(), slope=0.3, feasible=feasible)
    trail, before, met = run(learner, deltas), np.zeros(4), 0
    for t, w in enumerate(trail):
        assert feasible.contains(w)
        z = before + 0.3 / np.sqrt(t + 1) * deltas[t]
        met += not feasible.contains(z)
        # the nearest point: nobody in the set is nearer to z, seen along any chord
        for _ in range(5):
            other = feasible.project(0.5 * rng.standard_normal(4))
            assert (z - w) @ (other - w) <= 1e-9
        before = w
    assert met > 10


@SETS
@modules
def test_second_order_by_its_definition(module, name, rng):
    feasible, deltas = built_in(module)[name], rng.standard_normal((25, 4))
    deltas[6] = 0.0
    learner = module.SecondOrderPreferencePerceptron(
        module.Ranking(), gamma=0.5, epsilon=2.0, feasible=feasible)
    trail, before, A, met = run(learner, deltas), np.zeros(4), 2.0 * np.eye(4), 0
    for delta, w in zip(deltas, trail, strict=True):
        if not delta.any():
            np.testing.assert_array_equal(w, before)
            continue
        A += 0.5 * np.outer(delta, delta)
        z = before + np.linalg.solve(A, delta)
        met += not feasible.contains(z)
        assert feasible.contains(w)
        for _ in range(5):
            other = feasible.project(0.5 * rng.standard_normal(4))
            assert (z - w) @ A @ (other - w) <= 1e-7
        before = w
    assert met > 5


@modules
def test_a_radius_is_a_ball(module, rng):
    deltas = rng.standard_normal((20, 3))
    for make in (module.ConvexPreferencePerceptron, module.SecondOrderPreferencePerceptron):
        one = make(module.Ranking(), radius=0.7)
        other = make(module.Ranking(), feasible=module.Ball(0.7))
        np.testing.assert_array_equal(run(one, deltas), run(other, deltas))
    one, other = (
        module.SecondOrderPreferencePerceptron(module.Ranking(), projection="deferred", **given)
        for given in ({"radius": 0.2}, {"feasible": module.Ball(0.2)}))
    np.testing.assert_array_equal(run(one, deltas), run(other, deltas))


class HalfSpaces:
    """A set of one's own: the box again, with nothing but what is asked for."""

    def __init__(self, broken=False):
        self.broken, self.asked = broken, 0

    def contains(self, x):
        return bool((np.abs(x) <= 0.25).all())

    def project(self, z):
        self.asked += 1
        return np.full(z.size, np.nan) if self.broken else np.clip(z, -0.25, 0.25)

    def project_in(self, z, Ainv):
        self.asked += 1
        return z[1:] if self.broken else reference.project_box(z, Ainv, -0.25, 0.25)


@modules
def test_a_set_of_ones_own(module, rng):
    deltas = rng.standard_normal((20, 3))
    for make in (module.ConvexPreferencePerceptron, module.SecondOrderPreferencePerceptron):
        own = HalfSpaces()
        learner = make(module.Ranking(), feasible=own)
        given = make(module.Ranking(), feasible=module.Box(-0.25, 0.25))
        np.testing.assert_allclose(run(learner, deltas), run(given, deltas), atol=1e-9)


@modules
def test_a_set_that_answers_nonsense_changes_nothing(module, rng):
    for make in (module.ConvexPreferencePerceptron, module.SecondOrderPreferencePerceptron):
        own = HalfSpaces()
        learner = make(module.Ranking(), feasible=own)
        learner.update([1.0, 2.0, 3.0])
        before, other = learner.weights, copy.deepcopy(learner)
        own.broken = True
        with pytest.raises((ValueError, TypeError), match="feasible"):
            learner.update([1.0, 0.0, 0.0])
        assert learner.rounds == 1
        np.testing.assert_array_equal(learner.weights, before)
        own.broken = False
        for one in (learner, other):
            one.update([0.1, 0.0, 0.2])
        np.testing.assert_array_equal(learner.weights, other.weights)


@modules
def test_refused_sets(module):
    task = module.Ranking()
    for make in (module.ConvexPreferencePerceptron, module.SecondOrderPreferencePerceptron):
        with pytest.raises(ValueError, match=r"radius.*feasible"):
            make(task, radius=1.0, feasible=module.Ball(1.0))
        for bad in (module.Simplex(), module.Box(1.0, 2.0), module.Box([-1.0, 0.5], 1.0),
                    module.Box([-1.0, -1.0], -0.5), object(), "ball", module.Ball, 3.0):
            with pytest.raises((ValueError, TypeError), match="feasible"):
                make(task, feasible=bad)
        lacks = type("Lacks", (), {"contains": lambda self, x: True})()
        with pytest.raises(TypeError, match="feasible"):
            make(task, feasible=lacks)
        items = module.Items([[1.0, 0.0], [0.0, 1.0]])
        away = type("Away", (HalfSpaces,), {"contains": lambda self, x: False})()
        with pytest.raises(ValueError, match="feasible"):
            make(items, feasible=away)  # the dimension is known
        learner = make(task, feasible=away)  # it is not, until the first round
        with pytest.raises(ValueError, match="feasible"):
            learner.update([1.0, 2.0])
        assert learner.rounds == 0
    with pytest.raises(ValueError, match="projection"):
        module.SecondOrderPreferencePerceptron(
            task, feasible=module.L1Ball(1.0), projection="deferred")


@modules
def test_reset_and_default(module, rng):
    deltas = rng.standard_normal((5, 4))
    learner = module.ConvexPreferencePerceptron(module.Ranking(), feasible=module.L1Ball(0.5))
    first = run(learner, deltas)
    learner.reset()
    np.testing.assert_array_equal(run(learner, deltas), first)
    plain = module.ConvexPreferencePerceptron(module.Ranking())
    assert plain.radius == 100.0 and plain.feasible is None
    np.testing.assert_array_equal(
        run(plain, 1e4 * deltas),
        run(module.ConvexPreferencePerceptron(module.Ranking(), radius=100.0), 1e4 * deltas))


def test_a_radius_that_was_given_and_one_that_was_not(tmp_path):
    """The default gives way to a set, a radius that was written down does not."""
    for make in (coactive_fast.ConvexPreferencePerceptron,
                 coactive_fast.SecondOrderPreferencePerceptron):
        task, box = coactive_fast.Ranking(), coactive_fast.Box(-1.0, 1.0)
        with pytest.raises(ValueError, match=r"radius.*feasible"):
            make(task, radius=100.0, feasible=box)
        learner = make(task)
        assert learner.get_params()["radius"] == learner.radius == 100.0
        learner.set_params(feasible=box)
        assert learner.get_params()["radius"] is None and learner.feasible == box
        learner.update([3.0, -5.0])
        learner.save(tmp_path / "model")
        for other in (learner.clone(), copy.deepcopy(learner),
                      coactive_fast.load(tmp_path / "model")):
            assert other.get_params() == learner.get_params() and repr(other) == repr(learner)
        with pytest.raises(ValueError, match=r"reset\(\)"):
            learner.set_params(radius=1.0, feasible=None)
        learner.reset().set_params(radius=1.0, feasible=None)
        with pytest.raises(ValueError, match=r"radius.*feasible"):
            learner.set_params(feasible=box)
        own = make(task, feasible=HalfSpaces())
        with pytest.raises(ValueError, match="feasible"):
            own.save(tmp_path / "own")
