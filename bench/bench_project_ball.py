"""project_ball: on the Euclidean ball in the norm of A, given its inverse."""

import functools

import contenders as others
import limits
import memory
import numpy as np
from ratio import Case, Contender, Plan, figure_at_most, player, takes_at_most, times_faster

from coactive_fast import reference
from coactive_fast.kernels import project_ball

EIGH = "numpy eigh, then the secular root"
ERROR = "error against eigh, relative to the radius"


def learned(n, seed, share):
    """What an online learner gathers: A = I + 3n outer products of features of decaying size.

    A radius of half of ||z|| is far outside the ball, 0.95 of it is one small step outside.
    """
    rng = np.random.default_rng(1000 * n + seed)
    x = rng.standard_normal((3 * n, n)) / np.sqrt(1.0 + np.arange(n))
    z = rng.standard_normal(n)
    inverse = memory.placed(np.linalg.inv(np.eye(n) + x.T @ x))
    return z, inverse, share * np.linalg.norm(z)


def conditioned(n, cond, seed=0):
    """Eigenvalues of A^-1 from 1/cond to 1, evenly in the logarithm, in a random basis."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
    inverse = (basis * np.logspace(0, -np.log10(cond), n)) @ basis.T
    z = rng.standard_normal(n)
    return z, memory.placed((inverse + inverse.T) / 2), 0.5 * np.linalg.norm(z)


def error(problem):
    z, inverse, radius = problem
    right = others.ball_by_eigh(z, inverse, radius, 1e-14)
    w, lam = project_ball(z, np.tril(inverse), radius)  # one triangle is all that is read
    assert lam > 0.0 and abs(np.linalg.norm(w) - radius) <= 1e-9 * radius
    return float(np.abs(w - right).max() / radius)


def check_twin(problem):
    twin = reference.project_ball(*problem)[0]
    assert np.abs(project_ball(*problem)[0] - twin).max() <= 1e-9 * problem[2]


def case(n, share, targets):
    problems = [learned(n, seed, share) for seed in range(8 if n <= 136 else 3)]
    if n <= 50:
        check_twin(problems[0])
    worst = max(error(p) for p in problems)
    assert worst <= 1e-9
    rivals = [Contender(EIGH, player("f(z, b, r)", "z, b, r", problems, f=others.ball_by_eigh))]
    return Case("project_ball", f"N={n} radius={share}|z|",
                Contender("coactive_fast", player("f(z, b, r)", "z, b, r", problems,
                                                  f=project_ball)),
                rivals, limits.read(limits.triangle_bytes(n)), targets,
                (project_ball, problems[0]), {ERROR: worst})


def condition(n, cond):
    """The error, and what it costs where Lanczos has to give up."""
    problem = conditioned(n, cond)
    worst = max(error(conditioned(n, cond, seed)) for seed in range(3))
    assert worst <= 1e-15 * max(cond, 1e6)
    rivals = [Contender(EIGH, player("f(z, b, r)", "z, b, r", [problem], f=others.ball_by_eigh))]
    targets = (figure_at_most(ERROR, 1e-10),) if cond <= 1e6 else ()
    return Case("project_ball", f"N={n} condition {cond:.0e}",
                Contender("coactive_fast", player("f(z, b, r)", "z, b, r", [problem],
                                                  f=project_ball)),
                rivals, None, targets, (project_ball, problem), {ERROR: worst})


def plans():
    asked = {(700, 0.95): (takes_at_most(300e-6), times_faster(100, "eigh", EIGH)),
             (500, 0.5): (takes_at_most(550e-6), times_faster(25, "eigh", EIGH))}
    made = [Plan(f"N={n} radius={share}|z|",
                 functools.partial(case, n, share, asked.get((n, share), ())),
                 (n, share) in asked or n == 50)
            for share in (0.5, 0.95) for n in (10, 50, 136, 500, 700)]
    return made + [Plan(f"N=200 cond={cond:.0e}", functools.partial(condition, 200, cond),
                        cond == 1e6) for cond in (1e2, 1e4, 1e6, 1e8, 1e12)]


def test_project_ball(compare, plan):
    compare(plan)
