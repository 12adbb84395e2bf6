"""The value that a policy would have had: importance weights, doubly robust, at all times."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arrays import finite_vector
from .._memory import refuse_beyond_limit
from .._typing import Progress, Real
from ..learner._base import Learner
from ..learner._check import choice, count, number, switch
from ..learner._history import History, column, record
from ..learner._progress import reporter
from ..rewards import ArmBandit, LinearBandit
from . import _compiled
from ._log import BanditLog

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST = 2**40  # of samples


def law_of(policy, log, samples):
    """A function ``law(first, last, report)``: one probability a row of these rounds; it may say
    on the way how far it is, ``report(done)``."""
    samples = None if samples is None else count("samples", samples, least=1, most=MOST)
    if isinstance(policy, (LinearBandit, ArmBandit)):
        refuse_misfit(policy, log)
        if policy.explore == "thompson" and samples is None:
            raise ValueError("samples must be given: the law of thompson has no closed form")
        return _learned(policy, log, samples or 0)
    if isinstance(policy, Learner):
        raise TypeError(f"policy must be a bandit, an array or a function, and a "
                        f"{type(policy).__name__} has no probabilities: give those of its choices")
    if callable(getattr(policy, "probabilities", None)):
        return _asked(_by_name(policy.probabilities, log), log)
    if callable(policy):
        return _asked(policy, log)
    given = finite_vector(policy, "policy", log.n_actions, "the rows of features")
    return lambda first, last, report: given[log.offsets[first]:log.offsets[last]]


def refuse_misfit(bandit, log):
    """A bandit whose rows are not those of the log, before anything is asked of it."""
    if isinstance(bandit, LinearBandit):
        bandit._engine._fits(log.n_features, "features of log")
        if bandit.context_features and bandit.context_features != log.n_context:
            raise ValueError(f"context of log must have {bandit.context_features} features, those "
                             f"of this bandit, got {log.n_context}")
        return
    refuse_no_context(bandit, log)
    longest = int(np.diff(log.offsets).max())
    if longest > bandit.n_arms:
        raise ValueError(f"log must have at most {bandit.n_arms} actions a round, one an arm, got "
                         f"{longest}")


def refuse_no_context(learner, log):
    """A log without the rows by which learners of arms and labels go."""
    if log.context is None:
        raise ValueError(f"context of log must be given: a {type(learner).__name__} goes by it")
    learner._engine._fits(log.n_context, "context of log")


def _by_name(probabilities, log):
    """A method as a function of the actions and the context."""
    if log.context is None:
        return lambda X, context: probabilities(X)
    return lambda X, context: probabilities(X, context=context)


def _asked(call, log):
    """The law of a function, which is called once a round."""
    def law(first, last, report):
        offsets = log.offsets
        found = np.empty(offsets[last] - offsets[first])
        for t in range(first, last):
            begin, end = offsets[t], offsets[t + 1]
            given = call(log.features[begin:end], _context(log, t))
            found[begin - offsets[first]:end - offsets[first]] = finite_vector(
                given, f"policy in round {t}", end - begin, "its actions")
            if t % 256 == 0:
                report(t)
        return found

    return law


def _context(log, t):
    """That of a round: a vector, a sparse row, or None."""
    if log.context is None or isinstance(log.context, np.ndarray):
        return None if log.context is None else log.context[t]
    return log.context[t:t + 1]


def _learned(policy, log, samples):
    """The law of a bandit as it is now: of a copy, which others do not teach meanwhile."""
    engine = copy.copy(policy)._engine
    run = _compiled.LawRun(engine, log, samples)

    def law(first, last, report):
        found = np.empty(log.offsets[last] - log.offsets[first])
        run.fill(engine, last, found, lambda done, total: report(done))
        return found

    return law


# --- folds: by a hash of the group, the same on every machine, in every run, for every other log --


FNV_BASIS, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))


def folds_of(log, folds):
    """The fold of every round, intp: SplitMix64 of its group modulo the number of folds.

    An integer goes in modulo 2^64, a string by the FNV-1a hash of its UTF-8 bytes; without groups
    a round goes by its number. O(n) and, for strings, their length.
    """
    if log.groups is None:
        numbers = np.arange(len(log), dtype=np.uint64)
    elif log.groups.dtype.kind == "U":
        numbers = _fnv(np.char.encode(log.groups, "utf-8"))
    else:
        numbers = log.groups.astype(np.uint64)  # of negative ones modulo 2^64
    return (_splitmix(numbers) % np.uint64(folds)).astype(np.intp)


def _splitmix(numbers):
    numbers = numbers + GOLDEN
    for shift, factor in MIX:
        numbers = (numbers ^ numbers >> np.uint64(shift)) * factor
    return numbers ^ numbers >> np.uint64(31)


def _fnv(strings):
    """Of byte strings, column after column of their bytes."""
    found = np.full(strings.shape, FNV_BASIS)
    lengths = np.char.str_len(strings)
    if strings.dtype.itemsize:
        table = np.ascontiguousarray(strings).view(np.uint8).reshape(strings.size, -1)
        for place in range(table.shape[1]):
            there = lengths > place
            found[there] = (found[there] ^ table[there, place]) * FNV_PRIME
    return found


# --- the estimate ---------------------------------------------------------------------------------


Estimator: TypeAlias = Literal["ips", "snips", "dr"]
Policy: TypeAlias = LinearBandit | ArmBandit | ArrayLike | Callable[[Any, Any], ArrayLike]

NORMAL = 1.959963984540054  # 95 % of a standard normal lie this near to 0
FEW = 30.0  # an effective sample size below this says nothing
ROWS = 1 << 17  # actions that are looked at in one go
NUMBERS = 1 << 22  # of a block of rows that are multiplied
MOST_FOLDS = 2**31


@record
class RunningValue(History):
    """The value of a policy after each round of a log.

    Attributes
    ----------
    value : ndarray of float64, shape (n,)
        IPS of the rounds so far.
    lower, upper : ndarray of float64, shape (n,)
        With probability 0.95 the true value lies between them after every round at once.

    Examples
    --------
    >>> from coactive_fast.logs import RunningValue
    >>> RunningValue(value=[1.0, 0.5], lower=[0.0, 0.1], upper=[1.0, 0.9])
    <RunningValue of 2 rounds: value=0.5, lower=0.1, upper=0.9>
    """

    value: NDArray[np.float64] = column(np.float64)
    lower: NDArray[np.float64] = column(np.float64)
    upper: NDArray[np.float64] = column(np.float64)

    _curve = "value"

    def plot(self, ax: Axes | None = None, *, log_x: bool = False, **line: Any) -> Axes:
        """Draws the value with its bounds as a band.

        Parameters
        ----------
        ax, log_x, **line
            As for `History.plot`.

        Returns
        -------
        matplotlib Axes
            That which was drawn on.
        """
        ax = super().plot(ax, log_x=log_x, **line)
        ax.fill_between(np.arange(1, len(self) + 1), self.lower, self.upper, alpha=0.2,
                        color=ax.lines[-1].get_color())
        return ax


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """What `evaluate` has found.

    Attributes
    ----------
    value : float
        The estimated mean reward of a round.
    standard_error : float
        NaN where there is but one round, or one group.
    interval : tuple of two floats
        ``value -+ 1.96 standard_error``: 95 % by the central limit theorem, for this n alone.
    effective_sample_size : float
        ``(sum omega)^2 / sum omega^2``: as many rounds of the policy itself would tell as much.
    running : RunningValue
        IPS and its bounds after each round; they hold at all times, without a limit theorem.
    estimator : str
        Which estimator this is: "ips", "snips" or "dr".
    rounds : int
        How many rounds of the log it rests on.

    Examples
    --------
    >>> from coactive_fast.logs import BanditLog, evaluate
    >>> log = BanditLog([[1.0], [2.0]] * 40, range(0, 81, 2), [0, 1] * 20, [0, 1] * 20, [0.5] * 40)
    >>> evaluate([0.25, 0.75] * 40, log)
    <Evaluation by ips of 40 rounds: 0.75 +- 0.12, 95 % in 0.5146 ... 0.9854, as good as 32 rounds>
    """

    value: float
    standard_error: float
    interval: tuple[float, float]
    effective_sample_size: float
    running: RunningValue
    estimator: Estimator
    rounds: int

    def __repr__(self) -> str:
        low, high = self.interval
        return (f"<{type(self).__name__} by {self.estimator} of {self.rounds} rounds: "
                f"{self.value:.4g} +- {self.standard_error:.2g}, 95 % in {low:.4g} ... {high:.4g}, "
                f"as good as {self.effective_sample_size:.4g} rounds>")


def evaluate(policy: Policy, log: BanditLog, *, estimator: Estimator = "ips",
             folds: SupportsIndex = 2, max_weight: Real | None = None,
             reward_range: tuple[Real, Real] | None = None, force: bool = False,
             samples: SupportsIndex | None = None, progress: Progress = None) -> Evaluation:
    """The mean reward that a policy would have had in the rounds of a log.

    Parameters
    ----------
    policy : LinearBandit, ArmBandit, array_like or callable
        A bandit: its `probabilities`, as it is now; it stays as it is, its generator too. An
        `ArmBandit` goes by the context, its first arms being the actions of a round.
        An array: one number a row of ``log.features``. A callable gets ``(X, context)`` of a round,
        context None where there is none, and gives its probabilities; so does the method
        `probabilities` of any other object, which gets the context by name where there is one.
        They must sum to 1 in every round, to 1e-4.
    log : BanditLog
        The policy must not have learned from it, or the value is too good.
    estimator : {"ips", "snips", "dr"}, default "ips"
        See the notes.
    folds : int, default 2
        Of "dr", at least 2: by a hash of a round's group, or of its number without groups. Those
        that are empty, as beyond the number of groups, cost nothing.
    max_weight : float, optional
        Clips the weights: less variance, for a bias towards 0 ("snips": towards the logged mean).
    reward_range : tuple of two floats, optional
        Where rewards lie, known beforehand, for the bounds of `running`; one outside is an error.
        None: (0, 1), and with a reward outside it there are no bounds (NaN).
    force : bool, default False
        Gives the value even where the effective sample size is below 30.
    samples : int, optional
        For a bandit with "thompson": frequencies of so many draws a round, from a generator
        spawned by a copy of its own.
    progress : bool or callable, optional
        See `Confidit.run`.

    Returns
    -------
    Evaluation
        The value with its standard error, intervals, and how much of the log counted.

    Notes
    -----
    With pi and p the probabilities of the logged action under the policy and in the log, and the
    weight ``omega = min(pi / p, max_weight)``:

    * "ips": ``mean(omega r)``, unbiased (Horvitz and Thompson 1952);
    * "snips": ``sum(omega r) / sum(omega)``, error by the delta method;
    * "dr": ``mean(sum_a pi(a) f(a) + omega (r - f))``, f a ridge regression (ridge 1, no
      intercept, on a or, with a context, ``(1, c) (x) a``) on the rounds of the other folds.

    The standard error is that of a mean, with n - 1; with groups it is clustered by them:
    ``sqrt(G / (G - 1) sum S^2) / n``, S the sums over the groups. `running` is the predictable
    empirical-Bernstein sequence, two-sided at 0.05, of the clipped weights.

    Rounds are gone through once in blocks, without the GIL; beside the log memory is four to seven
    numbers a round. "dr" first sums the d x d matrices of all folds by BLAS, n d^2, whose last bits
    are its own.

    References
    ----------
    D. G. Horvitz, D. J. Thompson: A Generalization of Sampling Without Replacement from a Finite
    Universe, 1952.
    Miroslav Dudik, John Langford, Lihong Li: Doubly Robust Policy Evaluation and Learning, 2011.
    Adith Swaminathan, Thorsten Joachims: The Self-Normalized Estimator for Counterfactual Learning,
    2015.
    Ian Waudby-Smith, Lili Wu, Aaditya Ramdas, Nikos Karampatziakis, Paul Mineiro: Anytime-valid
    Off-policy Inference for Contextual Bandits, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast import LinearBandit
    >>> from coactive_fast.logs import BanditLog, evaluate
    >>> rng = np.random.default_rng(0)
    >>> X, chosen = rng.random((200, 2, 3)), rng.integers(0, 2, 200)     # uniform over two
    >>> reward = X[np.arange(200), chosen, 0]
    >>> log = BanditLog(X.reshape(400, 3), range(0, 401, 2), chosen, reward, np.full(200, 0.5))
    >>> bandit = LinearBandit(explore="greedy")
    >>> bandit.learn([1.0, 0.0, 0.0], 1.0)
    >>> found = evaluate(bandit, log, estimator="snips")
    >>> bool(found.value > reward.mean() + 0.1), round(found.effective_sample_size)
    (True, 97)
    """
    if not isinstance(log, BanditLog):
        raise TypeError(f"log must be a BanditLog, got {type(log).__name__}")
    choice("estimator", estimator, ("ips", "snips", "dr"))
    folds = count("folds", folds, least=2, most=MOST_FOLDS)
    most = np.inf if max_weight is None else number("max_weight", max_weight, above=0.0)
    ends = _range(reward_range, log.reward)
    force, law = switch("force", force), law_of(policy, log, samples)
    fold = folds_of(log, folds) if estimator == "dr" else None
    with reporter(progress) as report:
        return estimate(law, log, fold, estimator, most, ends, force, report)


def estimate(law, log, fold, estimator, most, ends, force, report=None):
    """`evaluate` of checked arguments, given the fold of every round."""
    n, reward, direct = len(log), log.reward, estimator == "dr"
    ahead = n if direct else 0  # "dr" goes through the log once more
    if direct:
        fold = np.unique(fold, return_inverse=True)[1]  # what is empty takes no part

    def reached(done):
        if report is not None:
            report(done, ahead + n)

    expected = _compiled.Expected(log, fold, _fitted(log, fold, reached)) if direct else None
    w, sequence = np.empty(n), _compiled.Sequence(n, *ends)
    mean, near = (np.empty(n), np.empty(n)) if direct else (None, None)
    for first, last in _blocks(log.offsets):
        part = slice(first, last)
        p = law(first, last, lambda done: reached(ahead + done))
        _compiled.take_law(p, log.offsets[first:last + 1], first, log.chosen[part], w[part])
        with np.errstate(over="ignore"):
            np.minimum(np.divide(w[part], log.probability[part], out=w[part]), most, out=w[part])
        sequence.advance(w[part], reward[part])
        if direct:
            expected.fill(first, p, mean[part], near[part])
        reached(ahead + last)
    size = _trusted(w, force)
    if estimator == "snips":
        value, z = _normalized(w, reward, n)
    else:
        z = mean + w * (reward - near) if direct else w * reward
        value = _compiled.total(z) / n
    error = _compiled.error_of_mean(z, *_groups(log))
    running = RunningValue(sequence.value, sequence.lower, sequence.upper)
    return Evaluation(value, error, (value - NORMAL * error, value + NORMAL * error), size, running,
                      estimator, n)


def _range(given, reward):
    """``(a, b)``, NaN where there is no range to go by."""
    low, high = float(reward.min()), float(reward.max())
    if given is None:
        return (0.0, 1.0) if low >= 0.0 and high <= 1.0 else (np.nan, np.nan)
    if not isinstance(given, (tuple, list, np.ndarray)) or len(given) != 2:
        raise TypeError(f"reward_range must be a tuple (a, b), got {given!r}")
    a, b = (number("reward_range", end) for end in given)
    if not a < b:
        raise ValueError(f"reward_range must be (a, b) with a < b, got {given!r}")
    if low < a or high > b:
        raise ValueError(f"reward_range must hold all rewards, which go from {low} to {high}, got "
                         f"({a}, {b})")
    return a, b


def _blocks(offsets):
    """Runs of whole rounds, about ROWS actions each."""
    first, n = 0, offsets.size - 1
    while first < n:
        last = int(np.searchsorted(offsets, offsets[first] + ROWS, side="right")) - 1
        last = min(max(last, first + 1), n)
        yield first, last
        first = last


def _trusted(w, force):
    """The effective sample size, which must say something."""
    size = _compiled.effective_size(w)
    if not np.isfinite(_compiled.total(w)):
        raise ValueError("probability of log is too small: a weight overflows (max_weight "
                         "clips it)")
    if size < FEW and not force:
        raise ValueError(f"log says too little of this policy: its effective sample size is "
                         f"{size:.3g}, below {FEW:g} (force=True gives the value all the same)")
    return size


def _normalized(w, reward, n):
    """SNIPS, and what its error is the mean's of."""
    weight = _compiled.total(w)
    if weight == 0.0:
        return np.nan, np.full(n, np.nan)
    value = _compiled.total(w * reward) / weight
    return value, w * (reward - value) / (weight / n)


def _groups(log):
    """The number of each round's group, and how many there are; (None, 0): each its own."""
    if log.groups is None:
        return None, 0
    names, code = np.unique(log.groups, return_inverse=True)
    return code.astype(np.intp, copy=False), names.size


# --- the regression of "dr" -------------------------------------------------------------------


def _fitted(log, fold, reached):
    """For each fold the weights by the rounds of all others, shape (folds, (p + 1) d)."""
    folds, D = int(fold.max()) + 1, (log.n_context + 1) * log.n_features
    refuse_beyond_limit(8.0 * (folds + 2) * D * D, f"a regression of {D} features for each of "
                        f"{folds} folds", "fewer features or folds take less")
    products, targets = np.zeros((folds, D, D)), np.zeros((folds, D))
    step = max(1, NUMBERS // D)
    for first in range(0, len(log), step):
        part = slice(first, first + step)
        rows = _learned_rows(log, part)
        for k in np.unique(fold[part]):
            own = rows[fold[part] == k]
            products[k] += own.T @ own
            targets[k] += own.T @ log.reward[part][fold[part] == k]
        reached(min(first + step, len(log)))
    weights = np.zeros((folds, D))
    for k in range(folds):
        others = [j for j in range(folds) if j != k]
        weights[k] = np.linalg.solve(np.eye(D) + products[others].sum(axis=0),
                                     targets[others].sum(axis=0))
    if not np.isfinite(weights).all():
        raise ValueError("features of log are too large for a regression: it is not finite")
    return weights


def _learned_rows(log, part):
    """What was chosen in some rounds, crossed with the context: ``(1, c) (x) a``."""
    rows = _dense(log.features[log.offsets[:-1][part] + log.chosen[part]])
    if log.context is None:
        return rows
    context = _dense(log.context[part])
    one = np.column_stack([np.ones(len(context)), context])
    return (one[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)


def _dense(rows):
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)
