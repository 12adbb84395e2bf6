"""Simulated users: who answers what was presented with something better.

A user is any object with ``respond(query, presented) -> better``. For rankings the query has
``features`` and, for `NoisyDepth`, ``relevance`` (as ``data[i]`` of a `RankingData` has), and
presented and better are orderings of all documents. For items the query has ``candidates``
(indices of what is left) and ``utilities`` or ``ratings`` of the whole catalogue, and presented
and better are indices of items. Where a dueling bandit presents two items, the answer is the one
of higher utility or rating, the first when they are equal.

Examples
--------
>>> from types import SimpleNamespace
>>> import coactive_fast as cf
>>> query = SimpleNamespace(features=[[1.0], [3.0], [2.0]], relevance=[0, 2, 1])
>>> cf.users.AlphaInformative(1.0, weights=[1.0], k=1).respond(query, [0, 2, 1])
array([1, 0, 2])
"""

import numpy as np

from .coactive._user import ChanceUser, User
from .coactive._users import Decider
from .learner._check import count, number

__all__ = [
    "AlphaInformative",
    "Best",
    "Better",
    "ExpectedAlphaInformative",
    "NoisyDepth",
    "feedback_from_clicks",
]


def _share(name, value):
    return number(name, value, least=0.0, most=1.0)


def _true_weights(weights):
    if weights is None:
        return None
    given = np.array(weights, dtype=np.float64)
    if given.ndim != 1 or not given.size or not np.isfinite(given).all():
        raise ValueError("weights must be a vector of finite numbers")
    return given


class AlphaInformative(User):
    """Strictly alpha-informative: closes the share alpha of the gap to the best, with least work.

    Rankings: the user walks down the presented ordering; for m = k, k + 1, ... the k documents
    of highest utility among the first m go on top; the first m with
    ``U(better) - U(y) >= alpha (U(best) - U(y))`` ends the walk, at the latest the last document.
    Items: the candidate of lowest utility that closes that share, equal ones to the lower index;
    the presented item itself where it is the best one left.

    Parameters
    ----------
    alpha : float
        In [0, 1].
    weights : array_like of shape (N,), optional
        w*. None: simulations use their own, `respond` on rankings needs some.
    k : int, default 5
        Places that count; simulations go by the task's.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import coactive_fast as cf
    >>> query = SimpleNamespace(candidates=[0, 1, 2, 3], utilities=[0.0, 9.0, 5.0, 6.0])
    >>> cf.users.AlphaInformative(0.5).respond(query, 0)
    2
    """

    def __init__(self, alpha, *, weights=None, k=5):
        self.alpha = _share("alpha", alpha)
        self.weights = _true_weights(weights)
        self.k = count("k", k, least=1)

    def _decider(self):
        return Decider("alpha", alpha=self.alpha)

    def _shown(self):
        return [repr(self.alpha)] + ["weights=..."] * (self.weights is not None) + [f"k={self.k}"]


class NoisyDepth(User):
    """Of the first `depth` documents presented the k most relevant, by label, go on top.

    Parameters
    ----------
    depth : int
        May be smaller than k or larger than the number of documents.
    k : int, default 5

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import coactive_fast as cf
    >>> query = SimpleNamespace(features=[[0.0]] * 4, relevance=[0, 1, 1, 2])
    >>> cf.users.NoisyDepth(3, k=2).respond(query, [0, 1, 2, 3])
    array([1, 2, 0, 3])
    """

    items = False

    def __init__(self, depth, *, k=5):
        self.depth = count("depth", depth, least=1)
        self.k = count("k", k, least=1)

    def _decider(self):
        return Decider("depth", depth=self.depth)

    def _shown(self):
        return [repr(self.depth), f"k={self.k}"]


class ExpectedAlphaInformative(ChanceUser):
    """Alpha-informative on average: now and then one of five objects drawn at random.

    The deterministic answer is given with the smallest probability p for which the expected gain
    is still the share alpha of the gap; else one of five objects drawn uniformly.

    Parameters
    ----------
    alpha : float
        In [0, 1].
    weights : array_like of shape (N,), optional
    base_alpha : float, optional
        The alpha of the deterministic answer (the paper has 1.0 for movies); None: `alpha`.
    k : int, default 5
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import coactive_fast as cf
    >>> query = SimpleNamespace(candidates=[0, 1, 2, 3], utilities=[0.0, 9.0, 5.0, 6.0])
    >>> user = cf.users.ExpectedAlphaInformative(0.5, base_alpha=1.0, seed=0)
    >>> [user.respond(query, 0) for _ in range(6)]
    [3, 2, 2, 0, 3, 1]
    """

    def __init__(self, alpha, *, weights=None, base_alpha=None, k=5, seed=None):
        self.alpha = _share("alpha", alpha)
        self.weights = _true_weights(weights)
        self.base_alpha = None if base_alpha is None else _share("base_alpha", base_alpha)
        self.k = count("k", k, least=1)
        self._seeded(seed)

    def _decider(self):
        return Decider("expected", alpha=self.alpha, base=self.base_alpha, generator=self.rng)

    def _shown(self):
        return [repr(self.alpha), f"base_alpha={self.base_alpha}", f"k={self.k}"]


class Better(ChanceUser):
    """Items: of those rated strictly higher one with the smallest such rating, ties at random.

    Parameters
    ----------
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import coactive_fast as cf
    >>> query = SimpleNamespace(candidates=[0, 1, 2], ratings=[2, 5, 3])
    >>> cf.users.Better(seed=0).respond(query, 0)
    2
    """

    _values = "ratings"
    rankings = False

    def __init__(self, *, seed=None):
        self._seeded(seed)

    def _decider(self):
        return Decider("better", generator=self.rng)

    def _shown(self):
        return []


class Best(ChanceUser):
    """Items: one of the highest rating, ties at random.

    Parameters
    ----------
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import coactive_fast as cf
    >>> query = SimpleNamespace(candidates=[0, 1, 2], ratings=[2, 5, 3])
    >>> cf.users.Best(seed=0).respond(query, 0)
    1
    """

    _values = "ratings"
    rankings = False

    def __init__(self, *, seed=None):
        self._seeded(seed)

    def _decider(self):
        return Decider("best", generator=self.rng)

    def _shown(self):
        return []


def feedback_from_clicks(presented, clicked):
    """The ordering that clicks stand for: what was clicked goes to the front.

    Parameters
    ----------
    presented : array_like of int
        The ordering shown, best first, or its first places.
    clicked : sequence or set of int
        Documents clicked over the whole chain of queries, in click order; a repeated click counts
        once. A set has no order: its documents count in increasing order.

    Returns
    -------
    ndarray of int
        The clicked ones that were presented, in presented order; those clicked elsewhere in the
        chain, in click order; then the rest. No click, or one on the top result alone, gives
        `presented` back: no feedback.

    Examples
    --------
    >>> from coactive_fast.users import feedback_from_clicks
    >>> feedback_from_clicks([4, 2, 0, 1], [1, 7, 2, 1])
    array([2, 1, 7, 4, 0])
    """
    shown = [int(d) for d in _documents("presented", presented)]
    if len(set(shown)) != len(shown):
        raise ValueError("presented must list each document once")
    unordered = isinstance(clicked, (set, frozenset))
    marks = dict.fromkeys(int(d) for d in _documents("clicked", sorted(clicked) if unordered
                                                     else clicked))
    front = [d for d in shown if d in marks]
    there = set(shown)
    return np.array([*front, *(d for d in marks if d not in there),
                     *(d for d in shown if d not in marks)], dtype=np.intp)


def _documents(name, value):
    given = np.asarray(value)
    if given.size == 0:
        return given.astype(np.intp)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise TypeError(f"{name} must be a sequence of indices, got {value!r}")
    if given.min() < 0:
        raise ValueError(f"{name} must hold indices >= 0, got {given.min()}")
    return given
