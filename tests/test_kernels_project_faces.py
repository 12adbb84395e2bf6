"""The projections onto simplex, box and L1 ball against the active-set twins."""

import itertools
from fractions import Fraction

import nasty
import numpy as np
import pytest

import coactive_fast as cf

BOTH_MODULES = pytest.mark.parametrize(
    "module", [cf.kernels, cf.reference], ids=["kernels", "reference"]
)


def check(name, *args, tolerance=1e-9, **kwargs):
    """Equal to the twin, relative to the size of the numbers the answer is put together from."""
    z = args[0]

    def compare(got, expected):
        assert got.dtype == np.float64 and got.shape == expected.shape
        size = max(np.abs(expected).max(initial=0.0), 1e-3 * np.abs(z).max(initial=0.0))
        error = np.abs(got - expected).max(initial=0.0)
        assert error <= tolerance * size + np.finfo(float).tiny  # subnormals carry fewer digits

    functions = getattr(cf.kernels, name), getattr(cf.reference, name)
    names = ("z", "Ainv", "total", "lower", "upper", "radius")
    return nasty.agree(*functions, args, compare, names, **kwargs)


def residual(name, w, z, Ainv, *limits):
    """How far the optimality conditions are from holding, relative to the gradient."""
    g = np.linalg.solve(Ainv, w - z)
    size = np.abs(g).max(initial=1e-300)
    if name == "project_simplex":
        (total,) = limits
        assert (w >= 0.0).all() and abs(w.sum() / total - 1.0) <= 1e-12
        on = w > 1e-12 * total
        nu = g[on].mean()
        return max(np.abs(g[on] - nu).max(), (nu - g).max()) / size
    if name == "project_box":
        lower, upper = limits
        assert (w >= lower).all() and (w <= upper).all()
        at_lower, at_upper = w <= lower, w >= upper
        wrong = np.where(at_lower, -g, np.where(at_upper, g, np.abs(g)))
        return wrong[~(at_lower & at_upper)].max(initial=0.0) / size
    (radius,) = limits
    length = np.abs(w).sum()
    assert length <= radius * (1 + 1e-12)
    if length < radius * (1 - 1e-12):
        return np.abs(g).max() / size if (w != z).any() else 0.0
    on = np.abs(w) > 1e-12 * radius
    nu = -(np.sign(w) * g)[on].mean()
    return max(np.abs(g + nu * np.sign(w))[on].max(), np.abs(g).max() - nu, -nu) / size


def keywords(name, limits):
    """The limits as arguments: (positional, keyword)."""
    return ((), {"total": limits[0]}) if name == "project_simplex" else (limits, {})


def project(module, name, z, Ainv, *limits):
    args, kwargs = keywords(name, limits)
    return getattr(module, name)(z, Ainv, *args, **kwargs)


def solved(matrix, right):
    """Gauss and Jordan in rational numbers; the leading minors of `matrix` are not zero."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for j, pivot in enumerate(rows):
        pivot[:] = [value / pivot[j] for value in pivot]
        for row in rows:
            if row is not pivot:
                row[:] = [a - row[j] * b for a, b in zip(row, pivot, strict=True)]
    return [row[-1] for row in rows]


def on_face(name, z, B, h, held, limits):
    """x, its gradient and nu with the coordinates `held` (index to value) and ``h . x`` given."""
    every = range(len(z))
    # x = z + B g, g = nu h where free: unknown are g at the held coordinates, and nu
    ways = [[B[i][j] for i in every] for j in held]
    if name != "project_box":
        ways.append([sum(B[i][j] * h[j] for j in every) for i in every])
    goals = [held[j] - z[j] for j in held]
    if name != "project_box":
        goals.append(limits[0] * (-1 if name == "project_l1" else 1) - dot(h, z))
    rows = [[way[j] for way in ways] for j in held]
    if name != "project_box":
        rows.append([dot(h, way) for way in ways])
    part = solved(rows, goals)
    x = [z[i] + sum(p * way[i] for p, way in zip(part, ways, strict=True)) for i in every]
    nu = Fraction(0) if name == "project_box" else part[-1]
    g = [nu * value for value in h]
    for j, value in zip(held, part, strict=False):
        g[j] += value
    return x, g, nu


def dot(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True))


def exact(name, z, Ainv, *limits):
    """The projection in rational numbers: of all faces the one that meets the conditions."""
    z = [Fraction(float(value)) for value in z]
    every = range(len(z))
    B = [[Fraction(float(Ainv[max(i, j)][min(i, j)])) for j in every] for i in every]
    limits = tuple(np.vectorize(Fraction, otypes=[object])(limit) for limit in limits)
    simplex, box = name == "project_simplex", name == "project_box"
    if name == "project_l1" and sum(map(abs, z)) <= limits[0]:
        return z
    for state in itertools.product((0, -1) if simplex else (0, -1, 1), repeat=len(z)):
        free = [(s != 0) == (name == "project_l1") for s in state]
        held = {i: limits[state[i] > 0][i] if box else Fraction(0) for i in every if not free[i]}
        h = [Fraction((1 if simplex else 0 if box else -s) if f else 0)
             for s, f in zip(state, free, strict=True)]
        if not box and not any(h):
            continue
        x, g, nu = on_face(name, z, B, h, held, limits)
        if simplex:
            good = min(x) >= 0 and all(gi >= nu for gi in g)
        elif box:
            good = all(limits[0][i] <= x[i] <= limits[1][i] for i in every)
            good = good and all(g[i] * state[i] <= 0 for i in every)
        else:
            good = all(x[i] * state[i] >= 0 and abs(g[i]) <= nu for i in every)
        if good:
            return x
    raise AssertionError("no face is the right one")


# Huge numbers are for the other kernels: here even the exact solution of the rounded problem is
# far from that of the given one.
EXTREME = {"mixed magnitudes", *nasty.OUT_OF_SCALE} - {"tiny", "subnormal"}


def vectors(n):
    return ((name, z) for name, z in nasty.vectors(n) if name not in EXTREME)


@pytest.mark.parametrize("z", **nasty.cases(vectors(9)))
def test_nasty_z(z, rng):
    Ainv = nasty.spd(9, rng)
    check("project_simplex", z, Ainv)
    check("project_simplex", z, Ainv, total=0.3)
    check("project_l1", z, Ainv, 0.7)
    check("project_box", z, Ainv, -0.3, 0.4)
    check("project_box", z, Ainv, np.linspace(-1, 0, 9), np.linspace(0, 0.5, 9))


@pytest.mark.parametrize("Ainv", **nasty.cases(nasty.inverses(9)))
def test_nasty_inverse(Ainv, rng):
    z = rng.standard_normal(9)
    check("project_simplex", z, Ainv)
    check("project_l1", z, Ainv, 0.7)
    check("project_box", z, Ainv, -0.3, 0.4)


@pytest.mark.parametrize("number", **nasty.cases(nasty.scalars()))
def test_nasty_scalars(number, rng):
    z, Ainv = rng.standard_normal(5), nasty.spd(5, rng)
    check("project_simplex", z, Ainv, total=number)
    check("project_l1", z, Ainv, number)
    check("project_box", z, Ainv, number, 5.0)
    check("project_box", z, Ainv, -5.0, number)


@pytest.mark.parametrize("bound", **nasty.cases(vectors(9)))
def test_nasty_bounds(bound, rng):
    z, Ainv = rng.standard_normal(9), nasty.spd(9, rng)
    check("project_box", z, Ainv, bound, 1e9)
    check("project_box", z, Ainv, -1e9, bound)


def problems(n, rng):
    yield "well conditioned", rng.standard_normal(n), nasty.spd(n, rng)
    yield "learned", rng.standard_normal(n), nasty.learned_inverse(n, rng, n)
    yield "identity, ties", rng.integers(-1, 2, n) / 2.0, np.eye(n)
    yield "near", rng.standard_normal(n) / n, nasty.spd(n, rng, 1e3)


@pytest.mark.parametrize("n", nasty.SIZES)
def test_sizes(n, rng):
    for kind, z, Ainv in problems(n, rng):
        if n > 100 and kind == "near":
            continue  # the twin takes its time there, and smaller sizes have shown it
        limits = {
            "project_simplex": (1.0,),
            "project_l1": (0.5 * max(np.abs(z).sum(), 1.0),),
            "project_box": (np.full(n, -0.4), rng.uniform(-0.4, 1.0, n)),
        }
        for name, limit in limits.items():
            args, kwargs = keywords(name, limit)
            w = check(name, z, Ainv, *args, **kwargs)
            assert residual(name, w, z, Ainv, *limit) <= 1e-9, (kind, name)
            w = project(cf.kernels, name, z, Ainv, *limit)
            assert residual(name, w, z, Ainv, *limit) <= 1e-9, (kind, name)


@pytest.mark.parametrize("n", [10, 94, 300])
def test_ill_conditioned_by_the_optimality_conditions(n, rng):
    for Ainv in (nasty.spd(n, rng, 1e6), nasty.learned_inverse(n, rng, 2 * n, 1e-4)):
        z = rng.standard_normal(n)
        limits = {
            "project_simplex": (1.0,),
            "project_l1": (1.0,),
            "project_box": (np.full(n, -0.5), np.full(n, 0.5)),
        }
        for name, limit in limits.items():
            w = project(cf.kernels, name, z, Ainv, *limit)
            assert residual(name, w, z, Ainv, *limit) <= 1e-9, name


@BOTH_MODULES
def test_inside_is_a_copy_bit_for_bit(module, rng):
    z, Ainv = rng.standard_normal(7), nasty.spd(7, rng)
    z[3] = -0.0
    for w in (
        module.project_l1(z, Ainv, 1.5 * np.abs(z).sum()),
        module.project_box(z, Ainv, z, z + 1.0),
        module.project_box(z, Ainv, -10, 10),
    ):
        assert w.tobytes() == z.tobytes()
        assert not np.shares_memory(w, z)


@BOTH_MODULES
def test_held_coordinates_are_exactly_on_their_bounds(module, rng):
    z, Ainv = 3.0 * rng.standard_normal(30), nasty.spd(30, rng)
    lower, upper = rng.uniform(-1, 0, 30), rng.uniform(0, 1, 30)
    w = module.project_box(z, Ainv, lower, upper)
    assert ((w == lower) | (w == upper)).sum() >= 10
    assert (module.project_simplex(z, Ainv) == 0.0).sum() >= 10
    assert (module.project_l1(z, Ainv, 1.0) == 0.0).sum() >= 10


@BOTH_MODULES
def test_a_box_may_be_flat(module, rng):
    z, Ainv = rng.standard_normal(8), nasty.spd(8, rng)
    point = rng.standard_normal(8)
    np.testing.assert_array_equal(module.project_box(z, Ainv, point, point), point)
    flat = np.where(np.arange(8) < 4, 0.25, -1.0), np.where(np.arange(8) < 4, 0.25, 1.0)
    w = module.project_box(z, Ainv, *flat)
    assert (w[:4] == 0.25).all()
    assert residual("project_box", w, z, Ainv, *flat) <= 1e-9


@BOTH_MODULES
def test_one_dimension(module):
    assert module.project_simplex([-5.0], [[2.0]], total=0.5).tolist() == [0.5]
    assert module.project_l1([-5.0], [[2.0]], 0.5).tolist() == [-0.5]
    assert module.project_box([-5.0], [[2.0]], -1.0, 1.0).tolist() == [-1.0]


@BOTH_MODULES
def test_what_is_refused_is_named(module):
    z, Ainv = np.ones(3), np.eye(3)
    with pytest.raises(ValueError, match=r"\bz\b"):
        module.project_simplex(np.zeros(0), np.zeros((0, 0)))
    with pytest.raises(ValueError, match=r"\blower\b"):
        module.project_box(z, Ainv, [0.0, 2.0, 0.0], 1.0)
    with pytest.raises(ValueError, match=r"(?s)(?=.*\b2\b)(?=.*\b3\b)(?=.*\bupper\b)"):
        module.project_box(z, Ainv, 0.0, [1.0, 1.0])
    for Ainv in (-np.eye(3), np.zeros((3, 3)), np.eye(3) - np.ones((3, 3))):
        for call in (
            lambda B: module.project_simplex(z, B),
            lambda B: module.project_box(z, B, 0.0, 0.5),
            lambda B: module.project_l1(z, B, 1.0),
        ):
            with pytest.raises(ValueError, match=r"\bAinv\b"):
                call(Ainv)


@pytest.mark.parametrize("i", [0, 1, 2])
@pytest.mark.parametrize("wrong", [0.0, -0.0, -1.0, -1e-300])
def test_a_diagonal_that_is_not_positive_is_refused_wherever_it_stands(wrong, i):
    """Also where the solution does not depend on it: a free coordinate, a z inside."""
    z, Ainv = np.full(3, 2.0), np.eye(3)
    z[i], Ainv[i, i] = 0.25, wrong
    for name, *limits in (("box", 0.0, 1.0), ("box", 0.0, 5.0), ("simplex",), ("l1", 10.0),
                          ("ball", 10.0)):
        with pytest.raises(ValueError, match=rf"\bAinv\b.*positive definite.*\bindex {i}\b"):
            getattr(cf.kernels, f"project_{name}")(z, Ainv, *limits)


@BOTH_MODULES
def test_empty(module):
    assert module.project_box(np.zeros(0), np.zeros((0, 0)), 0.0, 1.0).shape == (0,)
    assert module.project_l1(np.zeros(0), np.zeros((0, 0)), 1.0).shape == (0,)


@BOTH_MODULES
def test_the_total_is_given_by_keyword(module):
    with pytest.raises(TypeError, match="positional"):
        module.project_simplex([1.0, 2.0], np.eye(2), 1.0)


# What is far outside of the set, or has coordinates of very different weights.
FAR = [
    ("project_simplex", [3.3, 0.1, 0.2], np.diag([1e-7, 3e7, 7e5]), 1.0),
    ("project_simplex", [1e6, 1.0, 2.0], np.diag([1e-5, 3e5, 1e5]), 1.0),
    ("project_simplex", [86239.0, -15230.0], np.eye(2), 1e-74),
    ("project_simplex", [1e150, 0.0], np.eye(2), 1.0),
    ("project_simplex", [-4e108, -5e108, 1e108, -1e107], np.diag([1e-6, 1e-7, 1e-3, 1e-6]), 0.1),
    ("project_simplex", [1e16, 1e16, 3.0], [[2.0, 0, 0], [1.0, 2.0, 0], [0.5, 0.5, 1.0]], 1.0),
    ("project_l1", [-9.3e64], [[1e5]], 0.1),
    ("project_l1", [1e200, -2.0], np.eye(2), 1.0),
    ("project_l1", [0.0, -2.0], [[39.0, 0.0], [9e4, 3e8]], 1e-42),
    ("project_l1", [5e17, -3e17, 2.0], [[2.0, 0, 0], [1.0, 2.0, 0], [0.5, 0.5, 1.0]], 1.0),
]


@BOTH_MODULES
@pytest.mark.parametrize(("name", "z", "Ainv", "size"), FAR)
def test_a_point_far_away(module, name, z, Ainv, size):
    w = project(module, name, np.array(z), np.array(Ainv, float), size)
    assert abs(np.abs(w).sum() / size - 1.0) <= 1e-12
    right = [float(value) for value in exact(name, z, np.array(Ainv), size)]
    np.testing.assert_allclose(w, right, rtol=0, atol=1e-12 * size)


@BOTH_MODULES
@pytest.mark.parametrize("name", ["project_simplex", "project_l1", "project_box"])
def test_coordinates_of_very_different_weight(module, name, rng):
    for spread in (3, 6, 9):
        for _ in range(4):
            weight = 10.0 ** rng.uniform(-spread / 2, spread / 2, 4)
            half = nasty.spd(4, rng, 10.0)
            Ainv = half * np.sqrt(np.outer(weight, weight))
            z = rng.standard_normal(4) * np.sqrt(weight)
            limits = (-0.1 * np.sqrt(weight), 0.1 * weight) if name == "project_box" else (0.3,)
            right = np.array([float(x) for x in exact(name, z, Ainv, *limits)])
            error = np.abs(project(module, name, z, Ainv, *limits) - right)
            size = np.abs(limits).max(0) if name == "project_box" else 0.3
            assert (error <= 1e-10 * (size + np.abs(z))).all(), (weight, z)


def equicorrelated(n, bits):
    return np.eye(n) * 2.0**-bits + np.full((n, n), 1.0 - 2.0**-bits)


@BOTH_MODULES
@pytest.mark.parametrize(("name", "bits", "z", "limits"), [
    ("project_simplex", 7, [-1, -1, -2, -1, -1, 1, -2, 2], (1.0,)),
    ("project_simplex", 10, [1, -1, 1, -1, 0, 1, -1, 0, 1, 1, -1, -1, 2, 0], (1.0,)),
    ("project_l1", 9, [-1, -2, 2, -2, 1], (1.0,)),
    ("project_box", 10, [-2, 1, 1, 2, 2, -1, -1],
     ([-1, 1, 1, -2, -1, -1, 1], [0, 2, 2, 0, 1, 0, 3])),
])
def test_ties_among_equal_coordinates(module, name, bits, z, limits):
    z, Ainv = np.array(z, float), equicorrelated(len(z), bits)
    limits = tuple(np.array(limit, float) for limit in limits)
    w = project(module, name, z, Ainv, *limits)
    assert residual(name, w, z, Ainv, *limits) <= 1e-9


@pytest.mark.parametrize("name", ["project_simplex", "project_l1", "project_box"])
def test_many_ties(name, rng):
    for _ in range(2000):
        n = int(rng.integers(3, 30))
        z, Ainv = rng.integers(-2, 3, n).astype(float), equicorrelated(n, int(rng.integers(5, 15)))
        lower = rng.integers(-2, 2, n).astype(float)
        limits = (lower, lower + rng.integers(0, 3, n)) if name == "project_box" else (1.0,)
        w = project(cf.kernels, name, z, Ainv, *limits)
        assert residual(name, w, z, Ainv, *limits) <= 1e-9, (z, Ainv[0, 1], limits)
