"""Slow twins of the projections: score projection, Euclidean ball, simplex, box, L1 ball.

All of them take the *inverse* of A (that is what a learner keeps) and read its lower triangle
alone. The last three are small strictly convex quadratic programmes and are solved here by a
primal active-set method: guess which constraints hold with equality, solve that face exactly
with a dense solve, walk towards its solution until a constraint stops the walk, let go of a
constraint whose multiplier has the wrong sign. The objective falls along the way, so no guess
comes back. What the parameters mean say the functions of the same names in
`coactive_fast.kernels`.
"""

import math
from fractions import Fraction

import numpy as np

from . import _check as check


def project_scores(z, q, total):
    """Weighted projection of scores onto ``{v >= 0, sum v = total}``.

    Returns
    -------
    v : ndarray, shape (K,)
        The projection.
    lam : float
        The multiplier; infinite when it lies beyond the range of float64.

    Notes
    -----
    Minimises ``1/2 sum_i (v_i - z_i)^2 / q_i``. The solution is
    ``v_i = max(0, z_i + lam q_i)``, lam being the only root of
    ``sum_i max(0, z_i + lam q_i) = total``. With the breakpoints ``-z_i / q_i`` in increasing
    order, the first m entries are the positive ones for the largest m with
    ``lam_m = (total - z_1 - .. - z_m) / (q_1 + .. + q_m)`` above the m-th breakpoint.
    All of it is done in rational numbers, so each result is the true one, rounded once.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.project_scores([1.0, 0.5, -3.0], [1.0, 1.0, 1.0], 1.0)
    (array([0.75, 0.25, 0.  ]), -0.25)
    """
    z = check.vector("z", z)
    if z.size == 0:
        raise ValueError("z is empty: nothing can sum to total")
    q = check.vector("q", q, z.size, of="z")
    if (q <= 0.0).any():
        raise ValueError("q must be > 0 everywhere")
    total = Fraction(check.positive("total", total))

    z = [Fraction(value) for value in z.tolist()]
    q = [Fraction(value) for value in q.tolist()]
    breakpoints = [-zi / qi for zi, qi in zip(z, q, strict=True)]
    sum_z = sum_q = Fraction(0)
    for i in sorted(range(len(z)), key=breakpoints.__getitem__):
        wider = (total - sum_z - z[i]) / (sum_q + q[i])
        if wider <= breakpoints[i]:
            break
        lam, sum_z, sum_q = wider, sum_z + z[i], sum_q + q[i]
    v = np.array([float(max(0, zi + lam * qi)) for zi, qi in zip(z, q, strict=True)])
    try:
        return v, float(lam)
    except OverflowError:
        return v, math.inf if lam > 0 else -math.inf


def project_ball(z, Ainv, radius):
    """Projection onto the Euclidean ball in the norm of A.

    Returns
    -------
    w : ndarray, shape (n,)
        The projection; z itself where it lies in the ball.
    lam : float
        The multiplier; 0.0 when z is inside (then w equals z bit for bit).

    Notes
    -----
    ``argmin ||w - z||_A`` subject to ``||w|| <= radius``. Outside the ball
    ``w = (I + lam A^-1)^-1 z`` with the only ``lam > 0`` for which ``||w|| = radius``. In the
    eigenbasis of ``A^-1`` (eigenvalues beta) the length is that of ``z_i / (1 + lam beta_i)``,
    which decreases in lam: bisection finds the root to the last bit.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast import reference
    >>> w, lam = reference.project_ball([6.0, 8.0], np.eye(2), 5.0)
    >>> w.round(12), round(lam, 12)
    (array([3., 4.]), 1.0)
    """
    z = check.vector("z", z)
    radius = check.positive("radius", radius)
    B = check.symmetric("Ainv", Ainv, z.size)
    if math.hypot(*z) <= radius:
        return z.copy(), 0.0
    beta, Q = np.linalg.eigh(B)
    if beta[0] <= 0.0:
        raise ValueError(f"Ainv is not positive definite: it has the eigenvalue {beta[0]}")

    # Lengths are measured in units of ||z|| and lam in units of 1 / beta_max: with that, and with
    # hypot, no square overflows or underflows.
    largest = np.abs(z).max()
    norm = np.linalg.norm(z / largest)
    unit = Q.T @ (z / largest / norm)
    ratio = radius / largest / norm
    shape = beta / beta[-1]
    low, high = 0.0, 1.0 / ratio / shape[0]
    while low < (middle := low + (high - low) / 2.0) < high:
        if math.hypot(*(unit / (1.0 + middle * shape))) > ratio:
            low = middle
        else:
            high = middle
    w = Q @ (unit / (1.0 + high * shape)) * norm * largest
    return w, float(high / beta[-1])


def project_simplex(z, Ainv, *, total=1.0):
    """Projection onto ``{w >= 0, sum w = total}`` in the norm of A.

    Returns
    -------
    ndarray, shape (n,)
        The point of the simplex that is nearest to z in the norm of A.

    Notes
    -----
    ``argmin ||w - z||_A``. The solution is the only w in the set for which a nu exists with
    ``g_i = nu`` where ``w_i > 0`` and ``g_i >= nu`` where ``w_i = 0``, ``g = A (w - z)``.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast import reference
    >>> reference.project_simplex([0.9, 0.5, -1.0], np.eye(3))
    array([0.7, 0.3, 0. ])
    """
    z = check.vector("z", z)
    if z.size == 0:
        raise ValueError("z is empty: nothing can sum to total")
    total = check.positive("total", total)
    A = _inverse(check.symmetric("Ainv", Ainv, z.size))
    start = np.full(z.size, total / z.size)
    bound = np.zeros(z.size, dtype=int)
    return _bounded(z, A, start, bound, np.zeros(z.size), np.full(z.size, np.inf), total)


def project_box(z, Ainv, lower, upper):
    """Projection onto the box ``lower <= w <= upper`` in the norm of A.

    Returns
    -------
    ndarray, shape (n,)
        A copy of z when z is inside.

    Notes
    -----
    ``argmin ||w - z||_A``. With ``g = A (w - z)``, the solution is the only w in the box with
    ``g_i = 0`` strictly inside, ``g_i >= 0`` at the lower and ``g_i <= 0`` at the upper bound.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast import reference
    >>> reference.project_box([2.0, 0.5], np.eye(2), 0.0, 1.0)
    array([1. , 0.5])
    """
    z = check.vector("z", z)
    lower, upper = _bound("lower", lower, z.size), _bound("upper", upper, z.size)
    if (lower > upper).any():
        raise ValueError("lower must be <= upper everywhere")
    B = check.symmetric("Ainv", Ainv, z.size)
    if ((lower <= z) & (z <= upper)).all():
        return z.copy()
    A = _inverse(B)
    start = np.clip(z, lower, upper)
    bound = np.where(z < lower, -1, np.where(z > upper, 1, 0))
    return _bounded(z, A, start, bound, lower, upper, None)


def project_l1(z, Ainv, radius):
    """Projection onto the L1 ball ``sum |w_i| <= radius`` in the norm of A.

    Returns
    -------
    ndarray, shape (n,)
        A copy of z when z is inside.

    Notes
    -----
    ``argmin ||w - z||_A``. With ``g = A (w - z)``, the solution is the only w in the ball for
    which a ``nu >= 0`` exists (0 unless ``sum |w_i| = radius``) with
    ``g_i = -nu sign(w_i)`` where ``w_i != 0`` and ``|g_i| <= nu`` elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast import reference
    >>> reference.project_l1([2.0, -1.5, 0.1], np.eye(3), 1.0)
    array([ 0.75, -0.25,  0.  ])
    """
    z = check.vector("z", z)
    radius = check.positive("radius", radius)
    B = check.symmetric("Ainv", Ainv, z.size)
    if math.fsum(np.abs(z)) <= radius:
        return z.copy()
    return _signed(z, _inverse(B), radius)


def _bound(name, value, n):
    """A bound of the box as a vector; a single number holds for every coordinate."""
    if check.array(name, value).ndim == 0:
        return np.full(n, check.real(name, value))
    return check.vector(name, value, n, of="z")


def _inverse(B):
    """The symmetric A = B^-1, or a `ValueError` when B is not positive definite."""
    try:
        np.linalg.cholesky(B)
    except np.linalg.LinAlgError as error:
        raise ValueError("Ainv is not positive definite") from error
    A = np.linalg.inv(B)
    return (A + A.T) / 2.0


def _noise(A, x, z, tied):
    """What rounding leaves of each multiplier that is zero: it says nothing about the sign.

    The first term is the rounding of the solve, the second that of x and z themselves. The rows
    `tied` share one gradient, nu, which is known as well as the best of them.
    """
    rows = np.abs(A) @ (1e-13 * np.abs(x - z) + 1e-15 * (np.abs(x) + np.abs(z)))
    return rows + (rows[tied].min() if tied.any() else 0.0)


def _on_plane(x, unit, normal, total):
    """Moves x by ``nu unit`` until ``normal . x = total``; the point and nu.

    A second move takes away what rounding left of the first, and so on while that helps: it may be
    all of the point where x is far from the plane. The entries of `normal` are -1, 0 and 1.
    """
    nu, missing = 0.0, total - math.fsum(normal * x)
    while True:
        step = missing / (normal @ unit)
        moved = x + step * unit
        left = total - math.fsum(normal * moved)
        if not abs(left) < abs(missing):
            return x, nu
        x, nu, missing = moved, nu + step, left


def _rounds(n):
    """Far more rounds than an active set can need; a bug must not hang."""
    return range(1000 + 100 * n)


def _bounded(z, A, x, bound, lower, upper, total):
    """Active-set method for ``lower <= x <= upper`` and, unless None, ``sum x = total``.

    x is a feasible start; ``bound[i]`` is -1 or +1 where x is held at a bound, 0 where it is free.
    """
    for _ in _rounds(len(z)):
        free = bound == 0
        # The face: A_FF (x_F - z_F) = nu 1 - A_FS (x_S - z_S), nu from the sum (0 without one).
        target, nu = x.copy(), 0.0
        if free.any():
            pull = A[np.ix_(free, ~free)] @ (z - x)[~free]
            solved = np.linalg.solve(A[np.ix_(free, free)], np.stack([pull, np.ones_like(pull)], 1))
            move, unit = solved.T
            target[free] = z[free] + move
            if total is not None:
                rest = total - x[~free].sum()
                target[free], nu = _on_plane(target[free], unit, np.ones_like(unit), rest)

        # Walk towards it up to the first bound in the way.
        step = target - x
        room = np.full(len(z), np.inf)
        down, up = free & (target < lower), free & (target > upper)
        room[down] = (lower - x)[down] / step[down]
        room[up] = (upper - x)[up] / step[up]
        if down.any() or up.any():
            first = np.argmin(room)
            x = x + max(room[first], 0.0) * step
            bound[first] = -1 if down[first] else 1
            x[first] = lower[first] if down[first] else upper[first]
            continue

        # The face's own solution is feasible. Done, unless a bound pulls instead of pushing.
        x = target
        slope = A @ (x - z) - nu
        wrong = slope * bound  # > 0 where the objective falls on leaving the bound
        beyond = wrong - _noise(A, x, z, free & (total is not None))
        worst = np.argmax(beyond)
        if beyond[worst] <= 0.0:
            return x
        bound[worst] = 0
    raise RuntimeError("the active-set method did not come to an end")


def _signed(z, A, radius):
    """Active-set method for the L1 ball, z outside; starts from x = 0.

    ``sign`` holds the sign of each coordinate of the support (0: held at zero); ``tight`` says
    whether ``sign . x = radius`` is imposed.
    """
    x, sign, tight = np.zeros(len(z)), np.zeros(len(z)), False
    for _ in _rounds(len(z)):
        # The face: A_FF (x_F - z_F) = A_F0 z_0 - nu sign_F, nu from sign . x = radius (else 0).
        on = sign != 0
        target, nu = np.zeros(len(z)), 0.0
        if on.any():
            pull = A[np.ix_(on, ~on)] @ z[~on]
            solved = np.linalg.solve(A[np.ix_(on, on)], np.stack([pull, sign[on]], 1))
            move, unit = solved.T
            target[on] = z[on] + move
            if tight:
                target[on], minus_nu = _on_plane(target[on], unit, sign[on], radius)
                nu = -minus_nu

        # Walk towards it until a coordinate would change its sign or x would leave the ball.
        step = target - x
        room = np.full(len(z), np.inf)
        crossing = on & (sign * target < 0)
        room[crossing] = -x[crossing] / step[crossing]
        first = np.argmin(room)
        to_zero = max(room[first], 0.0)
        to_surface = np.inf
        if not tight and sign @ target > radius:
            to_surface = max((radius - sign @ x) / (sign @ step), 0.0)
        if min(to_zero, to_surface) < np.inf:
            x = x + min(to_zero, to_surface) * step
            if to_surface <= to_zero:
                tight = True
            else:
                x[first] = sign[first] = 0.0
            continue

        # The face's own solution is feasible. Done, unless a multiplier has the wrong sign.
        x = target
        slope = A @ (x - z)
        noise = _noise(A, x, z, on)
        if tight and nu < -noise[on].min():
            tight = False
            continue
        beyond = np.where(on, 0.0, np.abs(slope) - nu - noise)
        worst = np.argmax(beyond)
        if beyond[worst] <= 0.0:
            return x
        sign[worst] = -np.sign(slope[worst])
    raise RuntimeError("the active-set method did not come to an end")
