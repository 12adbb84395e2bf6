"""project_scores: the weighted projection of K scores on {v >= 0, sum v = total}."""

import functools

import contenders as others
import limits
import memory
import numpy as np
from ratio import Case, Contender, Plan, alike, player, takes_at_most, times_faster

from coactive_fast import reference
from coactive_fast.kernels import project_scores

NUMPY = "numpy sort"
TOTAL = 1.5
ORDERS = ("random", "ascending", "descending", "geometric")


def values(k, order, seed=0):
    """Scores of a bandit round (z) and widths of mixed size (q), in a friendly or hostile order."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0.0, 1.0, k) / np.sqrt(k) + 0.5
    q = rng.uniform(0.05, 1.0, k)
    if order in ("ascending", "descending"):
        # by breakpoint: a filter that runs from the front keeps all, or is misled to the end
        by = np.argsort(-z / q)
        by = by[::-1] if order == "ascending" else by
        z, q = z[by], q[by]
    elif order == "geometric":
        # each pass of Newton's method drops a constant share only: the most passes there can be
        z = -np.logspace(0, 12, k)
        q = np.ones(k)
    return memory.placed(z), memory.placed(q), TOTAL


def right_answer(z, q, total):
    """The twin's exact answer, or for many scores the sorted one, its sum in extended precision."""
    if len(z) <= 1000:
        return reference.project_scores(z, q, total)[0]
    z, q = z.astype(np.longdouble), q.astype(np.longdouble)
    return others.scores_by_sort(z, q, np.longdouble(total)).astype(float)


def check(problem):
    v, lam = project_scores(*problem)
    right = right_answer(*problem)
    assert np.abs(v - right).max() <= 1e-12 * max(1.0, np.abs(right).max())
    assert (v >= 0.0).all() and abs(v.sum() - TOTAL) <= 1e-10


def numba_contender(k, problems):
    import contenders_numba

    v, kept = np.empty(k), np.empty(k, dtype=np.int64)
    f = contenders_numba.project_scores
    f(*problems[0], v, kept)
    assert np.abs(v - right_answer(*problems[0])).max() < 1e-8
    return Contender("numba Condat", player("f(z, q, s, v, o)", "z, q, s", problems, f=f, v=v,
                                            o=kept))


def our_contender(problems, name="coactive_fast", **more):
    return Contender(name, player("f(z, q, s)", "z, q, s", problems, f=project_scores), **more)


def case(k, order, targets=()):
    problems = [values(k, order, seed) for seed in range(16 if k < 10_000 else 2)]
    for problem in problems[:4]:
        check(problem)
    rivals = [Contender(NUMPY, player("f(z, q, s)", "z, q, s", problems,
                                      f=others.scores_by_sort))]
    if others.have("numba"):
        rivals.append(numba_contender(k, problems))
    return Case("project_scores", f"K={k} {order}", our_contender(problems), rivals,
                limits.read_and_change(16 * k, 4 * k), targets, (project_scores, problems[0]))


def per_element():
    """Nanoseconds an element, from 1e4 to 1e6 elements, in every order."""
    made = []
    for k in (10_000, 100_000, 1_000_000):
        for order in ORDERS:
            problem = values(k, order)
            check(problem)
            made.append(our_contender([problem], f"coactive_fast, an element of K={k} {order}",
                                      scale=k, own=True))
    names = {order: [c.name for c in made if c.name.endswith(order)] for order in ORDERS}
    first = made.pop(0)
    return Case("project_scores", "cost per element", first, made,
                targets=(alike(1.5, *names["random"]), alike(1.5, *sum(names.values(), []))),
                call=(project_scores, values(10_000, "random")))


def plans():
    asked = {20: (takes_at_most(135e-9), times_faster(50, "numpy sort", NUMPY)),
             100_000: (takes_at_most(70e-6), times_faster(40, "numpy sort", NUMPY))}
    made = []
    for k in (5, 20, 100, 1000, 10_000, 100_000, 1_000_000):
        for order in ORDERS if k in (20, 1000, 100_000) else ("random",):
            made.append(Plan(f"K={k} {order}", functools.partial(
                case, k, order, asked.get(k, ()) if order == "random" else ()),
                order == "random" and k in (20, 100_000)))
    return [*made, Plan("cost per element", per_element)]


def test_project_scores(compare, plan):
    compare(plan)
