"""Constants of the bandit learners: Theorems 1 and 2, their caps, and the horizon they need.

In all formulas d is the dimension that counts (`FeasibleSet.affine_dimension`), r the in-radius
and D the diameter of the feasible set, T the horizon, F a bound on the losses, sigma their
niceness and L their Lipschitz constant.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from . import _check as check

# What rounding may take from gamma * r before delta counts as larger.
ROUNDING = 1e-12

# No horizon beyond this one is looked for.
LAST_HORIZON = 2**1000


@dataclass(frozen=True)
class Geometry:
    """What the theorems ask of a feasible set. NumPy floats: they overflow to infinity."""

    d: int
    r: np.float64
    D: np.float64

    @classmethod
    def of(cls, feasible, dimension):
        """Measures of a set that is to be explored, so it needs an in-radius > 0."""
        r = check.real("feasible.in_radius()", feasible.in_radius(dimension))
        if r <= 0.0:
            raise ValueError(
                f"feasible must have room around its centre: its in-radius is {r} in "
                f"dimension {dimension}"
            )
        d = check.positive_count(
            "feasible.affine_dimension()", feasible.affine_dimension(dimension)
        )
        if d > dimension:
            raise ValueError(
                f"feasible.affine_dimension() must be at most the dimension {dimension}, got {d}"
            )
        return cls(d, np.float64(r), diameter(feasible, dimension))


def diameter(feasible, dimension):
    """D of the set, > 0."""
    return np.float64(check.positive("feasible.diameter()", feasible.diameter(dimension)))


def theorem_1(T, size):
    """``delta = (25 d^4 D^2 ln^2 T r / (3 T^2))^(1/3)``, ``gamma = (15 d^2 D ln T / (r T))^(1/3)``.

    ``delta / (gamma r) = gamma / 3``, so gamma < 1 is all the theorem needs.

    Examples
    --------
    >>> import numpy as np
    >>> delta, gamma = theorem_1(10_000, Geometry(3, np.float64(1.0), np.float64(2.0)))
    >>> round(float(delta), 6), round(float(gamma), 6)
    (0.131817, 0.628849)
    """
    rate = np.log(float(T)) / float(T)
    delta = np.cbrt(25.0 / 3.0 * size.r * (size.d**2 * size.D * rate) ** 2)
    return delta, np.cbrt(15.0 * size.d**2 * size.D / size.r * rate)


def theorem_2(T, size, F, L):
    """``delta = sqrt(10 d^2 F D r ln T / (3 (L r + F) T))``, ``gamma = delta / r``.

    Examples
    --------
    >>> import numpy as np
    >>> size = Geometry(3, np.float64(1.0), np.float64(2.0))
    >>> delta, gamma = theorem_2(10_000, size, F=1.0, L=1.0)
    >>> round(float(delta), 6), round(float(gamma), 6)
    (0.166226, 0.166226)
    """
    rate = np.log(float(T)) / float(T)
    delta = np.sqrt(10.0 / 3.0 * size.d**2 * F * size.D * size.r / (L * size.r + F) * rate)
    return delta, delta / size.r


def exploration(size, *, horizon, loss_bound, lipschitz, delta, gamma):
    """delta and gamma: those given by hand, the others by the theorem, capped where it has none.

    Theorem 2 if there is a `lipschitz`, else Theorem 1. They hold where gamma < 1; elsewhere
    ``gamma = 1/2``, and delta is never more than ``gamma r``. If both come from the theorem and
    had to be capped, a warning names the smallest horizon from which they hold.

    Examples
    --------
    >>> import numpy as np
    >>> size = Geometry(3, np.float64(1.0), np.float64(2.0))
    >>> exploration(
    ...     size, horizon=20, loss_bound=1.0, lipschitz=None, delta=0.25, gamma=None
    ... )
    (0.25, 0.5)
    """
    horizon = _horizon(horizon)
    F = np.float64(check.positive("loss_bound", loss_bound))
    L = None if lipschitz is None else np.float64(check.positive("lipschitz", lipschitz))
    given = delta, gamma
    if delta is not None:
        delta = check.positive("delta", delta)
    if gamma is not None:
        gamma = check.positive("gamma", gamma)
        if gamma >= 1.0:
            raise ValueError(f"gamma must be < 1, got {gamma}")

    if None in given:
        if horizon is None:
            raise ValueError("horizon is needed unless both delta and gamma are given")

        def theorem(T):
            with np.errstate(all="ignore"):
                return theorem_1(T, size) if L is None else theorem_2(T, size, F, L)

        its_delta, its_gamma = theorem(horizon)
        if gamma is None:
            gamma = _found("gamma", its_gamma if its_gamma < 1.0 else 0.5)
        if delta is None:
            delta = _found("delta", min(its_delta, gamma * size.r))
        if given == (None, None) and its_gamma >= 1.0:
            _warn_too_short(horizon, its_gamma, delta, theorem)
    if delta > gamma * size.r * (1.0 + ROUNDING):
        raise ValueError(
            f"delta must be <= gamma * r = {gamma * size.r}, got {delta}: the points would "
            "leave the feasible set"
        )
    return delta, gamma


def _warn_too_short(horizon, gamma, delta, theorem):
    smallest = smallest_horizon(theorem)
    when = "no horizon is long enough" if smallest is None else f"it is from horizon={smallest} on"
    warnings.warn(
        f"horizon={horizon} is too short for the theorem's constants (its gamma is {gamma:.4g}, "
        f"not < 1; {when}): using gamma=0.5 and delta={delta:.4g}, for which nothing is proved",
        stacklevel=5,  # the line that builds the learner
    )


def smallest_horizon(theorem):
    """The smallest T from which on gamma < 1, given that it is not for all of them.

    gamma grows with ``ln T / T``, which decreases from T = 3 on (and is the same at 2 and 4).

    Examples
    --------
    >>> import numpy as np
    >>> size = Geometry(3, np.float64(1.0), np.float64(2.0))
    >>> smallest_horizon(lambda T: theorem_1(T, size))
    2061
    """
    low = high = 3
    while theorem(high)[1] >= 1.0:
        if high > LAST_HORIZON:
            return None
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if theorem(middle)[1] < 1.0:
            high = middle
        else:
            low = middle
    return high


def inverse_step(size, *, loss_bound, niceness, delta, beta):
    """beta, by hand or ``min(delta / (4 d F D), alpha) / 2``, ``alpha = sigma (delta/(d F))^2``.

    Examples
    --------
    >>> import numpy as np
    >>> size = Geometry(3, np.float64(1.0), np.float64(2.0))
    >>> inverse_step(size, loss_bound=1.0, niceness=1.0, delta=0.24, beta=None)
    0.0032
    """
    F = np.float64(check.positive("loss_bound", loss_bound))
    sigma = check.positive("niceness", niceness)
    if beta is not None:
        return check.positive("beta", beta)
    with np.errstate(all="ignore"):
        alpha = sigma * (delta / (size.d * F)) ** 2
        beta = 0.5 * min(delta / (4.0 * size.d * F * size.D), alpha)
    return _found("beta", beta)


def step_size(D, name, bound):
    """``D / bound``, the first step of the rules without a matrix per unit of what is bounded.

    Examples
    --------
    >>> import numpy as np
    >>> float(step_size(np.float64(2.0), "gradient_bound", 4.0))
    0.5
    """
    with np.errstate(over="ignore"):
        step = D / bound
    if np.isinf(step):
        raise ValueError(f"{name} is too small beside the diameter {D}, got {bound}")
    return step


def start_of_A(D, *, beta, epsilon):
    """epsilon, by hand or ``1 / (beta^2 D^2)``.

    Examples
    --------
    >>> start_of_A(np.float64(2.0), beta=0.5, epsilon=None)
    1.0
    """
    if epsilon is not None:
        return check.positive("epsilon", epsilon)
    with np.errstate(all="ignore"):
        return _found("epsilon", 1.0 / (beta * D) ** 2)


def barrier_rate(size, *, horizon, loss_bound, delta, eta):
    """eta, by hand or ``(delta / (d F)) min(1/4, sqrt((d + 1) ln T / (2 T)))``, for the simplex.

    Examples
    --------
    >>> import numpy as np
    >>> size = Geometry(4, np.float64(0.2), np.sqrt(2.0))
    >>> barrier_rate(size, horizon=2, loss_bound=1.0, delta=0.8, eta=None)
    0.05
    """
    horizon = _horizon(horizon)
    F = np.float64(check.positive("loss_bound", loss_bound))
    if eta is not None:
        return check.positive("eta", eta)
    if horizon is None:
        raise ValueError("horizon is needed unless eta is given")
    T = float(horizon)
    with np.errstate(all="ignore"):
        share = min(0.25, np.sqrt((size.d + 1) * np.log(T) / (2.0 * T)))
        return _found("eta", delta / (size.d * F) * share)


def _horizon(horizon):
    """The number of rounds, or None."""
    if horizon is None:
        return None
    horizon = check.positive_count("horizon", horizon)
    if not 2 <= horizon <= LAST_HORIZON:
        raise ValueError(f"horizon must be >= 2 and at most 2^1000, got {horizon}")
    return horizon


def _found(name, value):
    """A constant computed by its formula, unless that left the range of float64."""
    if not 0.0 < value < np.inf:
        raise ValueError(f"{name} must be set by hand: its formula gives {value} here")
    return float(value)
