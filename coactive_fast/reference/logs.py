"""Slow twins of the room `coactive_fast.logs`: the value of a policy on a log, and replay.

A log is any object with the arrays of `BanditLog`: features, offsets, chosen, reward,
probability, context and groups. What each estimator is, says `evaluate`; `estimate` computes it
from the probabilities of all actions and the fold of every round.

Examples
--------
>>> from coactive_fast import reference
>>> log = reference.logs.BanditLog([[1.0], [2.0], [3.0]], [0, 2, 3], [1, 0], [0.5, 1.0],
...                                [0.25, 1.0])
>>> reference.logs.evaluate([0.5, 0.5, 1.0], log, force=True).value
1.0
"""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any, Literal, SupportsIndex

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from coactive_fast._typing import Real, Vector

from . import _check as check
from .logs_replay import ReplayHistory, replay

__all__ = ["BanditLog", "Evaluation", "ReplayHistory", "Running", "evaluate", "fold_of", "replay"]

DOUBT = math.log(40.0)  # ln(2 / 0.05): both ends together fail with probability 0.05 at the most
NORMAL = 1.959963984540054  # of a standard normal number, 95 % lie this near to 0
FEW = 30.0  # an effective sample size below this says nothing
MASK = 2**64 - 1
NEAR = 1e-4  # by which the probabilities of a round may miss 1


class BanditLog:
    """The arrays of a log; see `coactive_fast.logs.BanditLog`. Dense ones alone.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> len(reference.logs.BanditLog([[1.0], [2.0]], [0, 2], [1], [0.5], [0.25]))
    1
    """

    def __init__(self, features: ArrayLike, offsets: ArrayLike, chosen: ArrayLike,
                 reward: ArrayLike, probability: ArrayLike, *, context: ArrayLike | None = None,
                 groups: ArrayLike | None = None) -> None:
        self.features = check.table("features", features)
        self.offsets = np.array(check.ranking("offsets", offsets))
        n = self.offsets.size - 1
        if n < 1 or self.offsets[0] != 0 or self.offsets[-1] != len(self.features) or (
                np.diff(self.offsets) < 1).any():
            raise ValueError(f"offsets must ascend from 0 to {len(self.features)}")
        self.chosen = np.array(check.ranking("chosen", chosen))
        check.same_length("chosen", self.chosen.size, n, "offsets")
        if ((self.chosen < 0) | (self.chosen >= np.diff(self.offsets))).any():
            raise ValueError("chosen must count within its round")
        self.reward = check.vector("reward", reward, n, "offsets")
        self.probability = check.vector("probability", probability, n, "offsets")
        if ((self.probability <= 0.0) | (self.probability > 1.0)).any():
            raise ValueError("probability must lie in (0, 1]")
        self.context = None if context is None else check.table("context", context)
        if self.context is not None:
            check.same_length("context", len(self.context), n, "offsets")
        self.groups = None if groups is None else check.array("groups", groups)
        if self.groups is not None:
            check.same_length("groups", self.groups.size, n, "offsets")

    def __len__(self) -> int:
        return self.offsets.size - 1


# --- folds ----------------------------------------------------------------------------------


def fold_of(group: int | str, folds: int) -> int:
    """The fold of a group: a hash of it, modulo their number.

    The hash of an integer is SplitMix64's output function of it modulo 2^64 (Steele, Lea and
    Flood 2014); of a string the same of the FNV-1a hash of its UTF-8 bytes. A round without a
    group has its own number, from 0.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> [reference.logs.fold_of(t, 2) for t in range(6)], reference.logs.fold_of("user", 7)
    ([1, 1, 0, 1, 0, 0], 3)
    """
    if isinstance(group, str):
        number = 0xCBF29CE484222325
        for byte in group.encode():
            number = (number ^ byte) * 0x100000001B3 & MASK
    else:
        number = int(group) & MASK
    number = number + 0x9E3779B97F4A7C15 & MASK
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & MASK
    number = (number ^ number >> 27) * 0x94D049BB133111EB & MASK
    return (number ^ number >> 31) % folds


# --- the value ------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Running:
    """The value after each round, and the confidence sequence around it.

    Attributes
    ----------
    value, lower, upper : ndarray of float, shape (n,)
        IPS of the rounds so far, and its bounds.
    """

    value: Vector
    lower: Vector
    upper: Vector


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluation:
    """What `evaluate` found.

    Attributes
    ----------
    value, standard_error : float
        The estimated mean reward of a round, and its error.
    interval : tuple of two floats
        The value less and plus 1.96 standard errors.
    effective_sample_size : float
        The square of the weights' sum over the sum of their squares.
    running : Running
        After each round.
    """

    value: float
    standard_error: float
    interval: tuple[float, float]
    effective_sample_size: float
    running: Running


def evaluate(policy: Any, log: Any, *, estimator: Literal["ips", "snips", "dr"] = "ips",
             folds: SupportsIndex = 2, max_weight: Real | None = None,
             reward_range: tuple[Real, Real] | None = None, force: bool = False,
             samples: SupportsIndex | None = None) -> Evaluation:
    """The value that a policy would have had on a log; parameters as of the compiled one.

    Notes
    -----
    With pi and p the probabilities of the logged action under the policy and in the log, and
    ``omega = min(pi / p, max_weight)``:

    * ips: ``mean(omega r)``;
    * snips: ``sum(omega r) / sum(omega)``;
    * dr: ``mean(sum_a pi(a) f(a) + omega (r - f))``, f a ridge regression (ridge 1, no
      intercept, on a or, with a context, ``(1, c) (x) a``) of the rounds of the other folds.

    The error is that of the mean of z, the terms of the mean (snips: ``omega (r - value) /
    mean(omega)``): ``sqrt(G / (G - 1) sum S^2) / n`` with S the sums of z less its mean over each
    of G groups. The effective sample size is ``(sum omega)^2 / sum omega^2``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> log = reference.logs.BanditLog([[1.0], [2.0]] * 40, range(0, 81, 2), [0, 1] * 20,
    ...                                [0.0, 1.0] * 20, [0.5] * 40)
    >>> found = reference.logs.evaluate([0.25, 0.75] * 40, log)
    >>> found.value, round(found.effective_sample_size, 9)
    (0.75, 32.0)
    """
    estimator = check.choice("estimator", estimator, ("ips", "snips", "dr"))
    folds = check.positive_count("folds", folds)
    if folds < 2:
        raise ValueError(f"folds must be >= 2, got {folds}")
    most = math.inf if max_weight is None else check.positive("max_weight", max_weight)
    reward_range = None if reward_range is None else check.vector("reward_range", reward_range, 2)
    force = check.flag("force", force)
    law = law_of(policy, log, samples)
    groups = range(len(log)) if log.groups is None else log.groups.tolist()
    fold = np.array([fold_of(group, folds) for group in groups])
    return estimate(law, log, fold, estimator, most, reward_range, force)


def law_of(policy, log, samples):
    """The probability of every action of the log, one a row of `features`."""
    samples = None if samples is None else check.positive_count("samples", samples)
    if not callable(policy) and not hasattr(policy, "probabilities"):
        law = check.vector("policy", policy, log.features.shape[0], "features")
        return _laws(law[begin:end] for begin, end in _ends(log))
    asked = policy
    if hasattr(policy, "probabilities"):
        policy = copy.deepcopy(policy)  # what is spawned for samples is spawned from the copy

        def asked(X, context):
            return _probabilities(policy, X, context, samples)

    contexts = [None] * len(log) if log.context is None else log.context
    return _laws(asked(log.features[begin:end], context)
                 for (begin, end), context in zip(_ends(log), contexts, strict=True))


def _probabilities(policy, X, context, samples):
    if hasattr(policy, "n_arms"):
        allowed = np.arange(policy.n_arms) < X.shape[0]
        return policy.probabilities(context, allowed=allowed, samples=samples)[:X.shape[0]]
    words = {"context": context} if policy.context_features else {}
    return policy.probabilities(X, samples=samples, **words)


def _ends(log):
    return zip(log.offsets[:-1], log.offsets[1:], strict=True)


def _laws(rounds):
    found = []
    for t, law in enumerate(rounds):
        law = check.vector(f"policy in round {t}", law)
        if (law < 0.0).any() or (law > 1.0 + NEAR).any() or abs(law.sum() - 1.0) > NEAR:
            raise ValueError(f"policy must give probabilities that sum to 1, got {law} in "
                             f"round {t}")
        found.append(law)
    return np.concatenate(found)


def estimate(law, log, fold, estimator="ips", most=math.inf, reward_range=None,
             force=False) -> Evaluation:
    """`evaluate`, given the probabilities of all actions and the fold of every round."""
    n, r, taken = len(log), np.asarray(log.reward), log.offsets[:-1] + log.chosen
    w = np.minimum(law[taken] / log.probability, most)
    size = _sum(w) ** 2 / _sum(w * w) if w.any() else 0.0
    if size < FEW and not force:
        raise ValueError(f"the effective sample size is {size:.3g}, below {FEW:g}: too few rounds "
                         "of this log say anything of the policy (force=True gives the value)")
    if estimator == "ips":
        z = w * r
        value = _sum(z) / n
    elif estimator == "snips":
        total = _sum(w)
        value = _sum(w * r) / total if total > 0.0 else math.nan
        z = w * (r - value) / (total / n) if total > 0.0 else np.full(n, math.nan)
    else:
        f = _fitted(log, fold)
        z = w * (r - f[taken]) + [math.fsum(law[a:b] * f[a:b]) for a, b in _ends(log)]
        value = _sum(z) / n
    groups = np.arange(n) if log.groups is None else np.unique(log.groups, return_inverse=True)[1]
    error = _error(z, groups)
    return Evaluation(value, error, (value - NORMAL * error, value + NORMAL * error), size,
                      _running(w, r, reward_range))


def _sum(values):
    return math.fsum(values) if np.isfinite(values).all() else math.nan


def _error(z, groups):
    """Of the mean of z, whose groups are numbered from 0."""
    n, G = z.size, groups.max() + 1
    if G < 2:
        return math.nan
    apart = z - _sum(z) / n
    sums = np.array([_sum(apart[groups == g]) for g in range(G)]) if G < n else apart
    return math.sqrt(G / (G - 1) * _sum(sums * sums)) / n


def _fitted(log, fold):
    """The prediction for every action, by the rounds of all other folds."""
    rows = log.features.toarray() if scipy.sparse.issparse(log.features) else log.features
    rows = np.asarray(rows, dtype=float)
    lengths = np.diff(log.offsets)
    if log.context is not None:
        context = log.context.toarray() if scipy.sparse.issparse(log.context) else log.context
        one = np.repeat(np.column_stack([np.ones(len(log)), context]), lengths, axis=0)
        rows = (one[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
    taken, found = log.offsets[:-1] + log.chosen, np.zeros(len(rows))
    for k in np.unique(fold):
        others = rows[taken[fold != k]]
        A = np.eye(rows.shape[1]) + others.T @ others
        weights = np.linalg.solve(A, others.T @ log.reward[fold != k])
        own = np.repeat(fold == k, lengths)
        found[own] = rows[own] @ weights
    return found


# --- at all times ---------------------------------------------------------------------------


def _running(w, r, reward_range):
    n = r.size
    a, b = (0.0, 1.0) if reward_range is None else reward_range
    if not a < b:
        raise ValueError(f"reward_range must be (a, b) with a < b, got {reward_range}")
    value = np.cumsum(w * r) / np.arange(1, n + 1)
    if ((r < a) | (r > b)).any():
        if reward_range is not None:
            raise ValueError(f"reward_range must hold all rewards, got one outside [{a}, {b}]")
        return Running(value, np.full(n, math.nan), np.full(n, math.nan))
    part = (r - a) / (b - a)
    return Running(value, a + (b - a) * _below(w * part),
                   a + (b - a) * (1.0 - _below(w * (1.0 - part))))


def _below(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """The lower end for the mean of a stream X >= 0, after each of its terms.

    With ``mu_i = min(1, (1/2 + sum X) / (i + 1))`` and ``s_i = (1/4 + sum (X - mu)^2) / (i + 1)``
    over the first i terms, and ``l_i = min(1/2, sqrt(2 ln 40 / (s_{i-1} i ln(1 + i))))``, it is
    the largest so far of 0 and ``(sum l X - ln 40 - sum psi(l) (X - mu_{i-1})^2) / sum l``,
    ``psi(l) = -ln(1 - l) - l``.
    """
    mean, variance, best = 0.5, 0.25, 0.0
    total = squares = gained = lost = bets = 0.0
    out = np.zeros(X.size)
    for i, x in enumerate(X.tolist(), 1):
        bet = min(0.5, math.sqrt(2.0 * DOUBT / (variance * i * math.log(1 + i))))
        gained += bet * x
        lost += (-math.log1p(-bet) - bet) * (x - mean) ** 2
        bets += bet
        best = max(best, (gained - DOUBT - lost) / bets)
        out[i - 1] = best
        total += x
        mean = min(1.0, (0.5 + total) / (i + 1))
        squares += (x - mean) ** 2
        variance = (0.25 + squares) / (i + 1)
    return out
