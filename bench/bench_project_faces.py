"""project_simplex, project_box, project_l1: in the norm of A, given its inverse."""

import functools

import contenders as others
import limits
import memory
import numpy as np
from ratio import Case, Contender, Plan, figure_at_most, player, takes_at_most, times_faster

from coactive_fast import reference
from coactive_fast.kernels import project_box, project_l1, project_simplex

QUADPROG, PROXSUITE = "quadprog", "proxsuite dense, bounds as a box"
KKT = "KKT residual, relative to ||A z||"
BOUND = 0.05


def problem(n, seed):
    """A learner's A; z is a point of the simplex moved by a Newton step on a noisy gradient."""
    rng = np.random.default_rng(1000 * n + seed)
    x = rng.standard_normal((3 * n, n)) / np.sqrt(1.0 + np.arange(n))
    a = np.eye(n) + x.T @ x
    z = rng.dirichlet(np.full(n, 0.5)) + 0.3 * np.linalg.solve(a, rng.standard_normal(n))
    inverse = np.linalg.inv(a)
    return z, a, memory.placed((inverse + inverse.T) / 2)


def scaled(residuals, a, z):
    return float(max(np.max(r, initial=0.0) for r in residuals) / np.abs(a @ z).max())


def kkt_simplex(w, z, a):
    """w >= 0, sum w = 1, and the gradient is one number on the support, no less elsewhere."""
    g = a @ (w - z)
    level = g[w > 0.0].mean()
    return scaled([-w, [abs(w.sum() - 1.0)], np.abs(g[w > 0.0] - level), (level - g)[w == 0.0]],
                  a, z)


def kkt_box(w, z, a):
    g = a @ (w - z)
    inside = np.abs(w) < BOUND
    return scaled([np.abs(w) - BOUND, np.abs(g[inside]), -g[w == -BOUND], g[w == BOUND]], a, z)


def kkt_l1(w, z, a):
    g, radius = a @ (w - z), BOUND * len(z)
    if np.abs(z).sum() <= radius:
        return float(np.abs(w - z).max())
    level = np.abs(g[w != 0.0]).mean()
    return scaled([[abs(np.abs(w).sum() - radius)], np.abs(g + level * np.sign(w))[w != 0.0],
                   np.abs(g[w == 0.0]) - level], a, z)


SETS = {
    "simplex": (lambda z, b: project_simplex(z, b), reference.project_simplex, kkt_simplex,
                "f(z, b)", project_simplex, ()),
    "box": (lambda z, b: project_box(z, b, -BOUND, BOUND),
            lambda z, b: reference.project_box(z, b, -BOUND, BOUND), kkt_box,
            f"f(z, b, {-BOUND}, {BOUND})", project_box, (-BOUND, BOUND)),
    "l1": (lambda z, b: project_l1(z, b, BOUND * len(z)),
           lambda z, b: reference.project_l1(z, b, BOUND * len(z)), kkt_l1,
           f"f(z, b, {BOUND} * len(z))", project_l1, None),
}


def solvers(kind, n, problems):
    """The QP solvers, which are given A itself, and their answers checked."""
    found = []
    edge = np.full(n, BOUND)
    if kind == "simplex":
        names = ((QUADPROG, "quadprog", others.simplex_by_quadprog, "f(z, a)"),
                 (PROXSUITE, "proxsuite", others.simplex_by_proxsuite, "f(z, a)"))
    elif kind == "box":
        names = ((QUADPROG, "quadprog", others.box_by_quadprog, "f(z, a, -edge, edge)"),)
    else:
        names = ()  # its QP is singular (twice the unknowns): none of these solves it
    for name, package, f, statement in names:
        if others.have(package):
            found.append(Contender(name, player(statement, "z, a, b", problems, f=f, edge=edge)))
    return found


def case(kind, n):
    ours, twin, kkt, statement, function, more = SETS[kind]
    problems = [problem(n, seed) for seed in range(8)]
    worst = 0.0
    for z, a, b in problems:
        w = ours(z, b)
        worst = max(worst, kkt(w, z, a))
    z, a, b = problems[0]
    assert np.abs(ours(z, b) - twin(z, b)).max() <= 1e-10
    if kind == "simplex" and others.have("quadprog"):
        assert np.abs(ours(z, b) - others.simplex_by_quadprog(z, a)).max() <= 1e-10
    assert worst <= 1e-9
    targets = ()
    if kind == "simplex" and n == 94:
        targets = (takes_at_most(60e-6), times_faster(8, "the fastest QP solver", QUADPROG,
                                                      PROXSUITE), figure_at_most(KKT, 1e-12))
    call = (function, (z, b, *((BOUND * n,) if more is None else more)))
    return Case(f"project_{kind}", f"N={n}",
                Contender("coactive_fast", player(statement, "z, a, b", problems, f=function)),
                solvers(kind, n, problems), limits.flops(n ** 3 / 3, "one Cholesky"), targets,
                call, {KKT: worst})


def plans():
    return [Plan(f"{kind} N={n}", functools.partial(case, kind, n), n == 94)
            for kind in SETS for n in (10, 94)]


def test_project_faces(compare, plan):
    compare(plan)
