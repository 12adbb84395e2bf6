"""Feasible sets: their measures, projections and directions, and sets of one's own."""

import math

import numpy as np
import pytest
from convex_cases import (
    HAND,
    MODULES,
    SETS,
    Scripted,
    check_nearest,
    each_set,
    positive_definite,
    support,
)


@pytest.fixture(params=MODULES.values(), ids=MODULES)
def module(request):
    return request.param


# --- the sets, and what is known of them --------------------------------------------------------


@each_set
@pytest.mark.parametrize("n", [2, 3, 9])
@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_projections_satisfy_kkt(module, name, n, gamma, rng):
    whole = SETS[name](module, n)
    c, size = whole.center(n), whole.diameter(n)
    shrunk = whole.shrunk(gamma, n)
    for _ in range(15):
        A = positive_definite(rng, n)
        z = c + size * rng.standard_normal(n)
        w = shrunk.project_in(z, np.linalg.inv(A))
        assert shrunk.contains(w) and whole.contains(w)
        check_nearest(name, w, z, A, c, gamma)
        w = shrunk.project(z)
        assert shrunk.contains(w) and whole.contains(w)
        check_nearest(name, w, z, np.eye(n), c, gamma)
        np.testing.assert_allclose(shrunk.project(w), w, atol=1e-14 * (1.0 + np.abs(w).max()))


@each_set
@pytest.mark.parametrize("n", [2, 5])
def test_measures_of_a_set(module, name, n, rng):
    whole = SETS[name](module, n)
    c, r, D = whole.center(n), whole.in_radius(n), whole.diameter(n)
    assert whole.affine_dimension(n) == (n - 1 if name == "simplex" else n)
    # the diameter is attained between the points furthest along some direction; along a side or
    # a coordinate for all of these sets but the boxes, where it is a diagonal
    ends = [*np.eye(n), np.eye(n)[0] - np.eye(n)[1], np.ones(n)]
    points = [whole.project(c + 1e3 * sign * end) for end in ends for sign in (-1.0, 1.0)]
    assert max(np.linalg.norm(a - b) for a in points for b in points) == pytest.approx(D)

    widest = math.inf
    for _ in range(50):
        v = whole.direction(rng, n)
        assert np.linalg.norm(v) == pytest.approx(1.0, abs=1e-12)
        assert abs(v.sum()) < 1e-12 or name != "simplex"
        assert whole.contains(c + r * v)
        for gamma in (0.0, 0.25):
            shrunk = whole.shrunk(gamma, n)
            np.testing.assert_allclose(shrunk.center(n), c, rtol=1e-15)
            assert shrunk.in_radius(n) == pytest.approx((1.0 - gamma) * r)
            assert shrunk.diameter(n) == pytest.approx((1.0 - gamma) * D)
            assert shrunk.affine_dimension(n) == whole.affine_dimension(n)
            # the points of the shrunk set have room for a ball of radius gamma r
            edge = shrunk.project(c + 1e3 * v)
            assert whole.contains(edge + gamma * r * whole.direction(rng, n))
    # no ball around the centre is larger: across the closest face it would stick out
    faces = [*np.eye(n), -np.ones(n), np.ones(n)]
    if name == "simplex":
        faces = [end - end.mean() for end in np.eye(n)]
    for face in faces:
        unit = face / np.linalg.norm(face)
        widest = min(widest, *(support(name, s * unit, c) - s * (unit @ c) for s in (-1.0, 1.0)))
    assert widest == pytest.approx(r)


@each_set
def test_contains(module, name):
    whole = SETS[name](module, 4)
    c, D = whole.center(4), whole.diameter(4)
    assert whole.contains(c) is True
    edge = whole.project(c + D * np.array([3.0, -1.0, 0.5, 0.2]))
    assert whole.contains(edge) and not whole.contains(c + (1 + 1e-6) * (edge - c))
    assert whole.contains(c.tolist())


def test_contains_of_the_simplex_asks_for_the_sum(module):
    assert not module.Simplex().contains([0.25, 0.25])
    assert not module.Simplex().contains([1.25, -0.25])
    assert not module.Simplex().contains([])


def test_a_point_inside_is_its_own_projection(module, rng):
    for whole in (module.Ball(2.0), module.L1Ball(3.0), module.Box(-1.0, [1.0, 2.0, 3.0])):
        z = rng.uniform(-0.5, 0.5, 3)
        assert whole.project(z).tobytes() == z.tobytes()
        assert whole.project_in(z, positive_definite(rng, 3)).tobytes() == z.tobytes()


@pytest.mark.parametrize("scale", [1e-200, 1e308])
def test_projections_of_extreme_points(module, scale):
    z = np.array([0.75, -1.0]) * scale
    np.testing.assert_allclose(module.Ball(1e-210).project(z), [0.6e-210, -0.8e-210], rtol=1e-12)
    np.testing.assert_allclose(module.Box(-1e-210, 1e-210).project(z), [1e-210, -1e-210])
    np.testing.assert_allclose(module.L1Ball(1e-210).project(z), [0.0, -1e-210], rtol=1e-12)


@pytest.mark.parametrize(
    "build",
    [
        lambda m: m.Ball(0.0),
        lambda m: m.Ball(math.inf),
        lambda m: m.L1Ball(-1.0),
        lambda m: m.Box(1.0, 0.0),
        lambda m: m.Box([0.0, 2.0], 1.0),
        lambda m: m.Box([0.0, 0.0], [1.0, 1.0, 1.0]),
        lambda m: m.Box(0.0, math.nan),
        lambda m: m.Box([0.0, 0.0], 1.0).center(3),
        lambda m: m.Ball(1.0).center(0),
        lambda m: m.Ball(1.0).shrunk(1.0, 2),
        lambda m: m.Ball(1.0).contains([math.nan, 0.0]),
        lambda m: m.Simplex().project([]),
        lambda m: m.Simplex().direction(np.random.default_rng(0), 1),
    ],
)
def test_sets_that_make_no_sense(module, build):
    with pytest.raises(ValueError, match=r"radius|lower|upper|dimension|gamma|x |z |simplex"):
        build(module)


def test_a_box_keeps_its_own_bounds(module):
    lower = np.zeros(2)
    box = module.Box(lower, 1.0)
    lower[0] = -5.0
    np.testing.assert_array_equal(box.center(2), [0.5, 0.5])


# --- a set of one's own -------------------------------------------------------------------------


class Shifted:
    """Another set, moved: nothing but the nine methods."""

    def __init__(self, inner, by):
        self.inner, self.by = inner, np.asarray(by)

    def contains(self, x):
        return self.inner.contains(x - self.by)

    def center(self, dimension):
        return self.inner.center(dimension) + self.by

    def in_radius(self, dimension):
        return self.inner.in_radius(dimension)

    def diameter(self, dimension):
        return self.inner.diameter(dimension)

    def affine_dimension(self, dimension):
        return self.inner.affine_dimension(dimension)

    def shrunk(self, gamma, dimension):
        return Shifted(self.inner.shrunk(gamma, dimension), self.by)

    def project(self, z):
        return self.inner.project(z - self.by) + self.by

    def project_in(self, z, Ainv):
        return self.inner.project_in(z - self.by, Ainv) + self.by

    def direction(self, rng, dimension):
        return self.inner.direction(rng, dimension)


@each_set
def test_a_set_of_ones_own_moves_like_the_set_it_is(module, name):
    n, by = 3, np.array([0.5, -0.25, 2.0])
    whole = SETS[name](module, n)
    r = whole.in_radius(n)
    constants = {"delta": 0.1 * r, "gamma": 0.2, "seed": 31}

    def all_of(feasible):
        return [
            module.ONSEG(n, feasible, beta=0.3, **constants),
            module.OGDEG(n, feasible, **constants),
            module.ONS(n, feasible, 0.3),
            module.OGD(n, feasible, 1.0),
        ]

    for plain, moved in zip(all_of(whole), all_of(Shifted(whole, by)), strict=True):
        for t in range(10):
            np.testing.assert_allclose(moved.ask(), plain.ask() + by, atol=1e-12)
            for learner in (plain, moved):
                wants_gradient = isinstance(learner, (module.ONS, module.OGD))
                learner.tell([0.1 * t, -0.2, 0.3] if wants_gradient else 0.1 * t - 0.4)
        np.testing.assert_allclose(moved.center, plain.center + by, atol=1e-10)


def test_the_base_class_of_sets_fills_in_the_rest(module):
    class Disc(module.FeasibleSet):
        def contains(self, x):
            return np.linalg.norm(x) <= 1.0 + 1e-9

        def center(self, dimension):
            return np.zeros(dimension)

        def in_radius(self, dimension):
            return 1.0

        def diameter(self, dimension):
            return 2.0

        def project_in(self, z, Ainv):
            return module.Ball(1.0).project_in(z, Ainv)

    for build in (module.ONSEG, module.OGDEG):
        disc, ball = (build(3, s, delta=0.2, gamma=0.3, seed=1) for s in (Disc(), module.Ball(1.0)))
        for loss in (0.9, -0.8, 0.7, 1.0):
            np.testing.assert_allclose(disc.ask(), ball.ask(), atol=1e-12)
            disc.tell(loss)
            ball.tell(loss)


@pytest.mark.parametrize("method", ["contains", "shrunk", "project", "project_in", "direction"])
def test_a_set_that_lacks_a_method(module, method):
    feasible = Shifted(module.Ball(1.0), np.zeros(2))
    setattr(feasible, method, None)
    with pytest.raises(TypeError, match=f"feasible.*{method}"):
        module.ONSEG(2, feasible, **HAND)


@pytest.mark.parametrize(
    "direction", [[1.0, 0.0, 0.0], [2.0, 0.0], [math.nan, 0.0]], ids=["length", "norm", "nan"]
)
def test_a_wrong_direction_is_not_taken(module, direction):
    feasible = Scripted(module.Ball(1.0), [direction, [0.0, 1.0]])
    learner = module.ONSEG(2, feasible, **HAND)
    with pytest.raises(ValueError, match="direction"):
        learner.ask()
    with pytest.raises(ValueError, match="ask"):
        learner.tell(0.5)
    np.testing.assert_allclose(learner.ask(), [0.0, 0.1], atol=1e-15)


def test_a_direction_that_fails_costs_no_chance(module):
    class Failing(Shifted):
        fails = False

        def direction(self, rng, dimension):
            v = super().direction(rng, dimension)
            if self.fails:
                raise RuntimeError("no direction")
            return v

    feasible = Failing(module.Ball(1.0), np.zeros(2))
    learner, same = (module.OGDEG(2, feasible, seed=3, **HAND) for _ in range(2))
    feasible.fails = True
    with pytest.raises(RuntimeError, match="no direction"):
        learner.ask()
    feasible.fails = False
    np.testing.assert_array_equal(learner.ask(), same.ask())


class Answering(Shifted):
    """A ball around 0 but for one method, which answers as it is told."""

    def __init__(self, module, method, answer):
        super().__init__(module.Ball(1.0), np.zeros(2))
        setattr(self, method, lambda *given: answer)


@pytest.mark.parametrize("method, answer, error", [
    ("affine_dimension", 3, ValueError),
    ("affine_dimension", 1.5, TypeError),
    ("in_radius", math.nan, ValueError),
    ("diameter", None, TypeError),
    ("center", [0.0], ValueError),
    ("center", "no", TypeError),
    ("shrunk", None, TypeError),
])
def test_measures_that_make_no_sense(module, method, answer, error):
    for build in (module.ONSEG, module.OGDEG):
        with pytest.raises(error, match=rf"feasible\.{method}"):
            build(2, Answering(module, method, answer), **HAND)


@pytest.mark.parametrize("kind", ["ONSEG", "OGDEG", "ONS", "OGD"])
@pytest.mark.parametrize("answer, error", [
    ([0.0], ValueError), ([0.0, math.nan], ValueError), (None, TypeError), ("no", TypeError)])
def test_projections_that_make_no_sense(module, kind, answer, error):
    """Also of the shrunk set that the base class makes."""
    class Own(module.FeasibleSet):
        def contains(self, x):
            return True

        def center(self, dimension):
            return [0.0, 0.0]

        def in_radius(self, dimension):
            return 1.0

        def diameter(self, dimension):
            return 2.0

        def project_in(self, z, Ainv):
            return answer

    make = {"ONSEG": lambda: module.ONSEG(2, Own(), **HAND),
            "OGDEG": lambda: module.OGDEG(2, Own(), **HAND),
            "ONS": lambda: module.ONS(2, Own(), 0.5),
            "OGD": lambda: module.OGD(2, Own(), 1.0)}[kind]
    learner = make()
    learner.ask()
    with pytest.raises(error, match=r"feasible\.project"):
        learner.tell([1.0, 1.0] if kind in ("ONS", "OGD") else 0.5)
    assert learner.rounds == 0
