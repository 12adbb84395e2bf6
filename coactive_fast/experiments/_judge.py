"""The statistics of all verdicts: estimates with their errors, and what they say of a border.

A verdict has three values. A claim holds where the whole 95 % interval (Student's t) lies on its
side of the border, it does not where the whole interval lies on the other side, and where the
border is inside the interval the runs cannot tell: None. One run alone has no error and tells
nothing. Runs that share their seeds, users or folds are compared run by run: what they have in
common cancels. Ratios are differences of logarithms, so that twice and half are equally far.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, bdtrc, stdtrit

QUANTILE = 0.975  # both sides of a 95 % interval
ROUNDING = 1e-9  # relative, of sums over many rounds
TOO_CLOSE = "Too close to tell: the border of the test lies inside the 95 % interval."
NO_LEVELS = "An absolute level: judged on whole real data only, not on generated or shortened ones."


@dataclass(frozen=True)
class Estimate:
    """A number from several runs, and what each of them adds to its error.

    ``parts`` holds a deviation a run, such that the standard error is their standard deviation
    over the root of their number; None: the number is known exactly, or of two kinds of runs.
    """

    value: float
    error: float = 0.0  # standard error
    freedom: float = np.inf  # degrees of freedom of the error
    parts: np.ndarray | None = None

    @property
    def half(self):
        """Half the length of the 95 % interval; NaN where nothing is known of the error."""
        if self.error == 0.0:
            return 0.0
        return float(stdtrit(self.freedom, QUANTILE)) * self.error if self.freedom > 0 else np.nan

    def minus(self, other, same_runs=True):
        """The difference: run by run, or of runs that have nothing to do with each other."""
        value = self.value - other.value
        if not np.isfinite(value):  # the logarithm of a mean that is 0
            return Estimate(value)
        if same_runs and self.parts is not None and other.parts is not None:
            return _with_parts(value, self.parts - other.parts)
        squares = np.array([self.error**2, other.error**2])
        if not squares.any():
            return Estimate(value)
        shares = squares**2 / np.array([self.freedom, other.freedom])  # Welch, Satterthwaite
        return Estimate(value, float(np.sqrt(squares.sum())),
                        float(squares.sum() ** 2 / shares.sum()))

    @property
    def ends(self):
        """Of the 95 % interval."""
        return np.array([self.value - self.half, self.value + self.half])

    def __str__(self):
        return f"{self.value:.4g}{_interval(*self.ends)}"

    @property
    def times(self):
        """The text of a logarithm, as the factor it stands for."""
        return f"{np.exp(self.value):.3g}{_interval(*np.exp(self.ends))}"


def _interval(low, high):
    if low == high:
        return ""
    return f" ({low:.3g} to {high:.3g})" if np.isfinite(low) else " (one run)"


def _with_parts(value, parts):
    n = len(parts)
    error = float(np.std(parts, ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    return Estimate(float(value), error, n - 1, parts)


def mean(values):
    """Of one number a run."""
    values = np.asarray(values, dtype=float)
    return _with_parts(values.mean(), values - values.mean())


def log_mean(values):
    """The logarithm of the mean of one number a run (>= 0), to first order in its errors."""
    values = np.asarray(values, dtype=float)
    middle = values.mean()
    if middle <= 0.0:
        return Estimate(-np.inf)
    return _with_parts(np.log(middle), values / middle - 1.0)


def log_ratio(a, b, same_runs=True):
    """The logarithm of mean(a) / mean(b)."""
    return log_mean(a).minus(log_mean(b), same_runs)


def standard_error(values):
    """Of their mean; None of one alone."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


# --- verdicts -----------------------------------------------------------------------------------


def below(estimate, border=0.0):
    """Whether it is below the border: True, False, or None within the error."""
    low, high = estimate.ends
    if high < border:
        return True
    return False if low > border else None


def above(estimate, border=0.0):
    found = below(estimate, border)
    return None if found is None else not found


def inside(estimate, low, high):
    """Whether it lies between two borders; an interval that reaches over one of them tells nothing.
    """
    return every([above(estimate, low), below(estimate, high)])


def alike(estimate, factor):
    """Whether the ratio, of which this is the logarithm, is within this factor of 1."""
    return inside(estimate, -np.log(factor), np.log(factor))


def stays_under(ratios, chance=0.0):
    """Whether runs stay under a bound, by the largest ratio to it of each.

    A bound that holds for sure is refuted by one run; rounding may reach it. Of one that fails
    with some chance, the share of runs above it is compared with that chance, by the exact
    binomial distribution.
    """
    ratios = np.asarray(ratios, dtype=float)
    over, n = int(np.sum(~(ratios <= 1.0 + ROUNDING))), len(ratios)
    if chance == 0.0:
        return over == 0
    if bdtr(over, n, chance) < 1.0 - QUANTILE:  # so few only where the chance is smaller
        return True
    return False if over and bdtrc(over - 1, n, chance) < 1.0 - QUANTILE else None


def every(verdicts):
    """All of them: one that fails decides, one that is open leaves it open."""
    verdicts = list(verdicts)
    if False in verdicts:
        return False
    return None if None in verdicts or not verdicts else True


def at_least(n, verdicts):
    """That n of them hold."""
    verdicts = list(verdicts)
    if verdicts.count(True) >= n:
        return True
    return False if len(verdicts) - verdicts.count(False) < n else None


def all_below(estimates, border=0.0):
    """Whether each of them is below the border."""
    return every(below(one, border) for one in estimates)


def all_above(estimates, border=0.0):
    return every(above(one, border) for one in estimates)


def listed(found, form="{}: {}"):
    """Names with what was found of each, as a text."""
    return ", ".join(form.format(*pair) for pair in found.items())


def times(estimates):
    """The texts of logarithms, as the factors they stand for."""
    return ", ".join(one.times for one in estimates)


def by_group(groups, values):
    """The mean of each group: what repeats of one query, say, have in common is counted once."""
    _, at = np.unique(groups, return_inverse=True)
    return np.bincount(at, weights=np.asarray(values, dtype=float)) / np.bincount(at)


def settle(findings, levels):
    """Absolute levels are not judged where the data do not allow it; what is open says why."""
    for finding in findings:
        if finding.level and not levels:
            finding.holds, finding.reason = None, f"{NO_LEVELS} {finding.reason}".strip()
        elif finding.holds is None and finding.test:
            finding.reason = f"{TOO_CLOSE} {finding.reason}".strip()
