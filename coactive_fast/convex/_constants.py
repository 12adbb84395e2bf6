"""Constants of the bandit learners: Theorems 1 and 2 of ONSEG, their caps, the horizon they need.

d is the dimension that counts (the feasible set's affine dimension), r its in-radius, D its
diameter, T the horizon, F a bound on the losses, sigma their niceness, L their Lipschitz constant.
"""

import math
import warnings
from typing import NamedTuple

from ..learner._check import count, invertible, number

LAST_HORIZON = 2**1000  # float64 ends soon after
SLACK = 1e-12           # what rounding may take from gamma * r before delta counts as larger


class Size(NamedTuple):
    """What the formulas ask of a feasible set."""

    d: int
    r: float
    D: float


def size_of(feasible, n):
    """The measures of a set that is to be explored: it needs an in-radius > 0."""
    r = number("feasible.in_radius()", feasible.in_radius(n))
    if r <= 0.0:
        raise ValueError("feasible must have room around its centre: its in-radius is "
                         f"{r} in dimension {n}")
    d = count("feasible.affine_dimension()", feasible.affine_dimension(n), least=1)
    if d > n:
        raise ValueError(f"feasible.affine_dimension() must be at most the dimension {n}, got {d}")
    return Size(d, r, diameter_of(feasible, n))


def diameter_of(feasible, n):
    return number("feasible.diameter()", feasible.diameter(n), above=0.0)


class Theorem:
    """delta and gamma of a horizon, by Theorem 2 where there is a Lipschitz constant, else 1.

    Both have ``gamma^power = factor ln T / T``, so gamma < 1 from some horizon on.
    """

    def __init__(self, size, loss_bound, lipschitz):
        self.size = size
        d, r, D = size
        if lipschitz is None:
            self.power, self.factor = 3, _product(15.0, d, d, D, 1.0 / r)
        else:
            reach = (lipschitz * r + loss_bound) / loss_bound
            self.power, self.factor = 2, _product(10.0 / 3.0, d, d, D, 1.0 / r, 1.0 / reach)

    def holds(self, T):
        return self.factor * _rate(T) < 1.0

    def constants(self, T):
        gamma = (self.factor * _rate(T)) ** (1.0 / self.power)
        # Theorem 1 has delta / (gamma r) = gamma / 3, Theorem 2 delta = gamma r
        return gamma * self.size.r * (gamma / 3.0 if self.power == 3 else 1.0), gamma

    def smallest_horizon(self):
        """From which on it holds, or None; ln T / T falls from T = 3 on."""
        low = high = 3
        while not self.holds(high):
            if high > LAST_HORIZON:
                return None
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.holds(middle) else (middle, high)
        return high


class Exploration(NamedTuple):
    """delta and gamma in use; `warning` says what is wrong with them, or is None."""

    delta: float
    gamma: float
    warning: str | None


def exploration(size, *, horizon, loss_bound, lipschitz=None, delta=None, gamma=None):
    """delta and gamma: those given by hand, the others by the theorem, capped where it has none.

    The theorem holds where its gamma is < 1; elsewhere gamma is 1/2, and delta is never more than
    gamma r. Only where both are the theorem's is a cap worth a warning.
    """
    horizon = checked_horizon(horizon)
    loss_bound = number("loss_bound", loss_bound, above=0.0)
    lipschitz = None if lipschitz is None else number("lipschitz", lipschitz, above=0.0)
    delta = None if delta is None else number("delta", delta, above=0.0)
    gamma = None if gamma is None else number("gamma", gamma, above=0.0, below=1.0)
    warning = None
    if delta is None or gamma is None:
        if horizon is None:
            raise ValueError("horizon is needed unless both delta and gamma are given")
        theorem = Theorem(size, loss_bound, lipschitz)
        its_delta, its_gamma = theorem.constants(horizon)
        by_hand = delta is not None or gamma is not None
        if gamma is None:
            gamma = found("gamma", its_gamma if its_gamma < 1.0 else 0.5)
        if delta is None:
            delta = found("delta", min(its_delta, gamma * size.r))
        if not by_hand and its_gamma >= 1.0:
            warning = _too_short(theorem, horizon, its_gamma, delta)
    if delta > gamma * size.r * (1.0 + SLACK):
        raise ValueError(f"delta must be <= gamma * r = {gamma * size.r}, got {delta}: the points "
                         "would leave the feasible set")
    return Exploration(delta, gamma, warning)


def _too_short(theorem, horizon, gamma, delta):
    smallest = theorem.smallest_horizon()
    when = "no horizon is long enough" if smallest is None else f"it is from horizon={smallest} on"
    return (f"horizon={horizon} is too short for the theorem's constants (its gamma is "
            f"{gamma:.4g}, not < 1; {when}): using gamma=0.5 and delta={delta:.4g}, for which "
            "nothing is proved")


def warn(text):
    """The one warning of a constructor, at the line that called it."""
    if text is not None:
        warnings.warn(text, stacklevel=3)


def inverse_step(size, *, loss_bound, niceness, delta, beta=None):
    """beta, by hand or ``min(delta / (4 d F D), sigma (delta / (d F))^2) / 2``."""
    sigma = number("niceness", niceness, above=0.0)
    if beta is None:
        per_unit = delta / size.d / loss_bound
        beta = found("beta", 0.5 * min(per_unit / (4.0 * size.D), sigma * per_unit * per_unit))
    return invertible("beta", beta)


def step_size(D, name, bound):
    """``D / bound``: the first step of the rules without a matrix, per unit of what is bounded."""
    step = D / number(name, bound, above=0.0)
    if math.isinf(step):
        raise ValueError(f"{name} is too small beside the diameter {D}, got {bound}")
    return step


def start_of_metric(D, *, beta, epsilon=None):
    """epsilon, by hand or ``1 / (beta D)^2``."""
    if epsilon is None:
        product = beta * D
        square = product * product
        epsilon = found("epsilon", 1.0 / square if square > 0.0 else math.inf)
    return invertible("epsilon", epsilon)


def barrier_rate(size, *, horizon, loss_bound, delta, eta=None):
    """eta, by hand or ``(delta / (d F)) min(1/4, sqrt((d + 1) ln T / (2 T)))``."""
    horizon = checked_horizon(horizon)
    if eta is not None:
        return number("eta", eta, above=0.0)
    if horizon is None:
        raise ValueError("horizon is needed unless eta is given")
    share = min(0.25, math.sqrt((size.d + 1) * _rate(horizon) / 2.0))
    return found("eta", delta / size.d / loss_bound * share)


def checked_horizon(horizon):
    """A number of rounds, or None."""
    if horizon is None:
        return None
    horizon = count("horizon", horizon, least=2)
    if horizon > LAST_HORIZON:
        raise ValueError(f"horizon must be at most 2^1000, got {horizon}")
    return horizon


def found(name, value):
    """What a formula gave, unless that left the range of float64."""
    if not 0.0 < value < math.inf:
        raise ValueError(f"{name} must be set by hand: its formula gives {value} here")
    return value


def _rate(T):
    return math.log(T) / float(T)


def _product(*factors):
    """As floats: an overflow is infinite, no error."""
    return math.prod(float(f) for f in factors)
