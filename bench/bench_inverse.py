"""inverse_update: one call from Python, both triangles and the lower one alone.

The matrix stands where NumPy puts large ones, 16 bytes past a cache line, or on a line; those of
the rivals stand alike.
"""

import functools

import contenders as others
import limits
import memory
import numpy as np
from ratio import Case, Contender, Plan, player, takes_at_most, times_faster

from coactive_fast import reference
from coactive_fast.kernels import inverse_update

ROWS = 64
C = 1.0
NUMPY = "numpy A @ x, outer"
BLAS = "scipy dsymv + dsyr"
NUMBA_FULL = "numba, full matrix"
NUMBA_LOWER = "numba, lower triangle"


def stream(d):
    return list(np.random.default_rng(d).standard_normal((ROWS, d)) / np.sqrt(d))


def checked(step, inverse, rows):
    """One pass of the rows on a fresh matrix, against solving for the whole of A."""
    d = len(rows[0])
    for x in rows:
        step(inverse, x)
    x = np.array(rows)
    right = np.linalg.inv(np.eye(d) + C * x.T @ x)
    assert np.abs(np.tril(inverse) - np.tril(right)).max() < 1e-11
    return inverse


def check_twin(d, triangle):
    """The twin's result where it is affordable: to rounding."""
    fast, slow = np.eye(d), np.eye(d)
    for x in stream(d)[:4]:
        q = inverse_update(fast, x, c=C, triangle=triangle)
        assert abs(q - reference.inverse_update(slow, x, c=C, triangle=triangle)) <= 1e-13 * q
    assert np.abs(fast - slow).max() < 1e-13


def unit(d, past):
    return memory.placed(np.eye(d), past)


def our_contender(d, triangle, rows, past):
    def step(a, x):
        return inverse_update(a, x, c=C, triangle=triangle)

    a = checked(step, unit(d, past), rows)
    if triangle == "both":
        assert (a == a.T).all()
        return Contender("coactive_fast", player("f(a, x)", "x", rows, f=inverse_update, a=a)), a
    return Contender("coactive_fast", player('f(a, x, triangle="lower")', "x", rows,
                                             f=inverse_update, a=a)), a


def python_contenders(d, rows, past):
    a = checked(lambda a, x: others.numpy_update(a, x, C), unit(d, past), rows)
    b = checked(lambda b, x: others.blas_update(b, x, C), unit(d, past).T, rows)
    return [Contender(NUMPY, player("f(a, x, 1.0)", "x", rows, f=others.numpy_update, a=a)),
            Contender(BLAS, player("f(a, x, 1.0)", "x", rows, f=others.blas_update, a=b))]


def numba_contenders(d, rows, past):
    import contenders_numba

    found = []
    for name, f in ((NUMBA_FULL, contenders_numba.update_full),
                    (NUMBA_LOWER, contenders_numba.update_lower)):
        v = np.empty(d)
        a = checked(lambda a, x, f=f, v=v: f(a, x, v, C), unit(d, past), rows)
        found.append(Contender(name, player("f(a, x, v, 1.0)", "x", rows, f=f, a=a, v=v)))
    return found


def asked(d, triangle):
    if d <= 32 and triangle == "both":
        return (takes_at_most(100e-9 if d <= 16 else 145e-9),
                times_faster(2.2, "numba", NUMBA_FULL, NUMBA_LOWER),
                times_faster(12, "scipy dsymv+dsyr", BLAS))
    if d >= 128 and triangle == "both":
        return (times_faster(1.0, "numba, full matrix", NUMBA_FULL),
                times_faster(6, "idiomatic NumPy", NUMPY))
    if d >= 128:
        return (times_faster(1.3, "scipy dsymv+dsyr", BLAS),)
    return ()


def case(d, triangle, past):
    rows = stream(d)
    if d <= 64:
        check_twin(d, triangle)
    ours, a = our_contender(d, triangle, rows, past)
    rivals = python_contenders(d, rows, past)
    if others.have("numba"):
        rivals += numba_contenders(d, rows, past)
    call = functools.partial(inverse_update, c=C, triangle=triangle)
    return Case("inverse_update", title(d, triangle, past), ours, rivals, limits.two_passes(d),
                asked(d, triangle), (call, (a, rows[0])))


def title(d, triangle, past):
    return f"d={d} {triangle}, {f'{past} bytes past' if past else 'on'} a line"


def plans():
    return [Plan(title(d, triangle, past), functools.partial(case, d, triangle, past),
                 d in (16, 32, 256) and past == 0)
            for d in (4, 8, 16, 32, 64, 128, 256, 512, 1024) for triangle in ("both", "lower")
            for past in (0, memory.USUAL)]


def test_inverse_update(compare, plan):
    compare(plan)
