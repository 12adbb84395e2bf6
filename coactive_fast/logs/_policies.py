"""Policies as the estimators see them: the probabilities of all actions, block by block."""

from __future__ import annotations

import copy

import numpy as np

from .._arrays import finite_vector
from ..learner._base import Learner
from ..learner._check import count
from ..rewards import ArmBandit, LinearBandit
from ._runs import LawRun

MOST = 2**40  # of samples


def law_of(policy, log, samples):
    """What answers ``fill(first, last, tell)``: one probability a row of these rounds; it may
    say on the way how far it is, ``tell(done)``."""
    samples = None if samples is None else count("samples", samples, least=1, most=MOST)
    if isinstance(policy, (LinearBandit, ArmBandit)):
        refuse_misfit(policy, log)
        if policy.explore == "thompson" and samples is None:
            raise ValueError("samples must be given: the law of thompson has no closed form")
        return _Learned(policy, log, samples or 0)
    if isinstance(policy, Learner):
        raise TypeError(f"policy must be a bandit, an array or a function, and a "
                        f"{type(policy).__name__} has no probabilities: give those of its choices")
    if callable(getattr(policy, "probabilities", None)):
        return _Asked(_by_name(policy.probabilities, log), log)
    if callable(policy):
        return _Asked(policy, log)
    return _Given(policy, log)


def refuse_misfit(bandit, log):
    """A bandit whose rows are not those of the log, before anything is asked of it."""
    if isinstance(bandit, LinearBandit):
        bandit._engine.fits(log.n_features, "features of log")
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
    learner._engine.fits(log.n_context, "context of log")


def _by_name(probabilities, log):
    """A method as a function of the actions and the context."""
    if log.context is None:
        return lambda X, context: probabilities(X)
    return lambda X, context: probabilities(X, context=context)


class _Given:
    """An array."""

    def __init__(self, policy, log):
        self.law = finite_vector(policy, "policy", log.n_actions, "the rows of features")
        self.offsets = log.offsets

    def fill(self, first, last, tell):
        return self.law[self.offsets[first]:self.offsets[last]]


class _Asked:
    """A function, called once a round."""

    def __init__(self, call, log):
        self.call, self.log = call, log

    def fill(self, first, last, tell):
        log, offsets = self.log, self.log.offsets
        law = np.empty(offsets[last] - offsets[first])
        for t in range(first, last):
            begin, end = offsets[t], offsets[t + 1]
            found = self.call(log.features[begin:end], _context(log, t))
            law[begin - offsets[first]:end - offsets[first]] = finite_vector(
                found, f"policy in round {t}", end - begin, "its actions")
            if t % 256 == 0:
                tell(t)
        return law


def _context(log, t):
    """That of a round: a vector, a sparse row, or None."""
    if log.context is None or isinstance(log.context, np.ndarray):
        return None if log.context is None else log.context[t]
    return log.context[t:t + 1]


class _Learned:
    """A bandit as it is now: a copy, which others do not teach meanwhile."""

    def __init__(self, policy, log, samples):
        self.engine = copy.copy(policy)._engine
        self.run, self.offsets = LawRun(self.engine, log, samples), log.offsets

    def fill(self, first, last, tell):
        law = np.empty(self.offsets[last] - self.offsets[first])
        self.run.fill(self.engine, last, law, lambda done, total: tell(done))
        return law
