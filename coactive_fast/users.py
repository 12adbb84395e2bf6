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

from __future__ import annotations

from typing import Any, Literal, SupportsIndex

from numpy.typing import ArrayLike

from ._typing import Real, Vector
from .coactive._rules import Decider
from .coactive._user import (
    PRESETS,
    ChanceUser,
    ClickUser,
    User,
    feedback_from_clicks,
    numbers,
    true_weights,
)
from .learner._check import choice, count, number, same_length

__all__ = [
    "AlphaInformative",
    "Best",
    "Better",
    "Clicks",
    "ExpectedAlphaInformative",
    "NoisyDepth",
    "OneHigher",
    "feedback_from_clicks",
]


class _Closing(User):
    """Who closes a share of the gap to the best, by the weights w*."""

    alpha: float
    weights: Vector | None
    k: int

    def __init__(self, alpha: Real, *, weights: ArrayLike | None = None,
                 k: SupportsIndex = 5) -> None:
        self.alpha = number("alpha", alpha, least=0.0, most=1.0)
        self.weights = None if weights is None else true_weights(weights)
        self.k = count("k", k, least=1)


class AlphaInformative(_Closing):
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
        The user's w*. None: simulations use their own, `respond` on rankings needs some.
    k : int, default 5
        Places that count; simulations go by the task's.

    See Also
    --------
    ExpectedAlphaInformative : Informative in the mean only.

    References
    ----------
    P. Shivaswamy, T. Joachims. Coactive learning. Journal of Artificial Intelligence Research 53,
    2015.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import coactive_fast as cf
    >>> query = SimpleNamespace(candidates=[0, 1, 2, 3], utilities=[0.0, 9.0, 5.0, 6.0])
    >>> cf.users.AlphaInformative(0.5).respond(query, 0)
    2
    """

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
        How many places of a ranking count.

    See Also
    --------
    AlphaInformative : By utility in the place of grades.

    References
    ----------
    P. Shivaswamy, T. Joachims. Coactive learning. Journal of Artificial Intelligence Research 53,
    2015.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import coactive_fast as cf
    >>> query = SimpleNamespace(features=[[0.0]] * 4, relevance=[0, 1, 1, 2])
    >>> cf.users.NoisyDepth(3, k=2).respond(query, [0, 1, 2, 3])
    array([1, 2, 0, 3])
    """

    items = False
    depth: int
    k: int

    def __init__(self, depth: SupportsIndex, *, k: SupportsIndex = 5) -> None:
        self.depth = count("depth", depth, least=1)
        self.k = count("k", k, least=1)

    def _decider(self):
        return Decider("depth", depth=self.depth)

    def _shown(self):
        return [repr(self.depth), f"k={self.k}"]


class ExpectedAlphaInformative(_Closing, ChanceUser):
    """Alpha-informative on average: now and then one of five objects drawn at random.

    The deterministic answer is given with the smallest probability p for which the expected gain
    is still the share alpha of the gap; else one of five objects drawn uniformly.

    Parameters
    ----------
    alpha : float
        In [0, 1].
    weights : array_like of shape (N,), optional
        The user's own w*; None: those of the simulation.
    base_alpha : float, optional
        The alpha of the deterministic answer (the paper has 1.0 for movies); None: `alpha`.
    k : int, default 5
        How many places of a ranking count.
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied.

    See Also
    --------
    AlphaInformative : Without chance.

    References
    ----------
    P. Shivaswamy, T. Joachims. Coactive learning. Journal of Artificial Intelligence Research 53,
    2015.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import coactive_fast as cf
    >>> query = SimpleNamespace(candidates=[0, 1, 2, 3], utilities=[0.0, 9.0, 5.0, 6.0])
    >>> user = cf.users.ExpectedAlphaInformative(0.5, base_alpha=1.0, seed=0)
    >>> [user.respond(query, 0) for _ in range(6)]
    [3, 2, 2, 0, 3, 1]
    """

    base_alpha: float | None

    def __init__(self, alpha: Real, *, weights: ArrayLike | None = None,
                 base_alpha: Real | None = None, k: SupportsIndex = 5, seed: Any = None) -> None:
        super().__init__(alpha, weights=weights, k=k)
        self.base_alpha = base_alpha
        if base_alpha is not None:
            self.base_alpha = number("base_alpha", base_alpha, least=0.0, most=1.0)
        self._seeded(seed)

    def _decider(self):
        return Decider("expected", alpha=self.alpha, base=self.base_alpha, generator=self.rng)

    def _shown(self):
        return [repr(self.alpha), f"base_alpha={self.base_alpha}", f"k={self.k}"]


class _ByRatings(ChanceUser):
    _values = "ratings"
    rankings = False

    def __init__(self, *, seed: Any = None) -> None:
        self._seeded(seed)

    def _decider(self):
        return Decider(self._kind, generator=self.rng)

    def _shown(self):
        return []


class Better(_ByRatings):
    """Items: of those rated strictly higher one with the smallest such rating, ties at random.

    Parameters
    ----------
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied.

    See Also
    --------
    Best : Always the best one.
    OneHigher : By one grade of the rating.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import coactive_fast as cf
    >>> query = SimpleNamespace(candidates=[0, 1, 2], ratings=[2, 5, 3])
    >>> cf.users.Better(seed=0).respond(query, 0)
    2
    """

    _kind = "better"


class OneHigher(_ByRatings):
    """Items: one of those rated exactly one higher, at random; the presented one if there is none.

    The user of section 5.2.2 of the paper.

    Parameters
    ----------
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied.

    See Also
    --------
    Better : Any that is better.

    References
    ----------
    P. Shivaswamy, T. Joachims. Online structured prediction via coactive learning. ICML 2012.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import coactive_fast as cf
    >>> query = SimpleNamespace(candidates=[0, 1, 2], ratings=[2, 5, 3])
    >>> user = cf.users.OneHigher(seed=0)
    >>> user.respond(query, 0), user.respond(query, 2)
    (2, 2)
    """

    _kind = "one"


class Best(_ByRatings):
    """Items: one of the highest rating, ties at random.

    Parameters
    ----------
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied.

    See Also
    --------
    Better : Any that is better.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import coactive_fast as cf
    >>> query = SimpleNamespace(candidates=[0, 1, 2], ratings=[2, 5, 3])
    >>> cf.users.Best(seed=0).respond(query, 0)
    1
    """

    _kind = "best"


def _by_grade(name: str, value: ArrayLike | None) -> Vector | None:
    if value is None:
        return None
    given = numbers(value, name)
    if given.ndim != 1 or not given.size or not ((given >= 0.0) & (given <= 1.0)).all():
        raise ValueError(f"{name} must be one number in [0, 1] a grade, from grade 0 on")
    return given


class Clicks(ClickUser):
    """Looks at documents from the top and clicks by their grades.

    A place is looked at always ("perfect"), with probability ``1 / place^eta`` ("position"), or
    until the user stops ("cascade"): after each click with a probability by the grade. A document
    that is looked at is clicked with a probability by its grade. The cascade is that of Craswell et
    al., with the probabilities of Hofmann et al., which are usual in the literature.

    =============== ================= =================
    preset          click, grades 0-2 stop, grades 0-2
    =============== ================= =================
    "perfect"       0, .5, 1          0, 0, 0
    "navigational"  .05, .5, .95      .2, .5, .9
    "informational" .4, .7, .9        .1, .3, .5
    "random"        .4, .5, .6        .5, .5, .5
    =============== ================= =================

    Where there are larger grades they are interpolated over 0 ... the largest one: that of the
    whole `RankingData` a query comes from (``query.largest_grade``), else of its own documents.

    One number is drawn for each place that the user comes to, and in a cascade one more after each
    click.

    Parameters
    ----------
    model : {"cascade", "position", "perfect"}, default "cascade"
    preset : {"perfect", "navigational", "informational", "random"}, optional
        None: "perfect" for the perfect model, else "navigational".
    click, stop : array_like, optional
        In place of the preset's: one number in [0, 1] for each grade from 0 on, where both are
        given as many of either. `stop` is looked at by a cascade only.
    eta : float, default 1.0
        Of the model "position".
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied.

    See Also
    --------
    feedback_from_clicks : What its clicks say as an ordering.

    References
    ----------
    N. Craswell, O. Zoeter, M. Taylor, B. Ramsey. An experimental comparison of click
    position-bias models. WSDM 2008.
    K. Hofmann, S. Whiteson, M. de Rijke. Balancing exploration and exploitation in listwise and
    pairwise online learning to rank for information retrieval. Information Retrieval 16, 2013.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import coactive_fast as cf
    >>> query = SimpleNamespace(features=[[0.0]] * 4, relevance=[0, 2, 0, 2])
    >>> user = cf.users.Clicks("perfect", seed=0)
    >>> user.clicks(query, [0, 1, 2, 3])
    array([1, 3])
    >>> user.respond(query, [0, 1, 2, 3])
    array([1, 3, 0, 2])
    """

    model: str
    preset: str
    click: Vector | None
    stop: Vector | None
    eta: float

    def __init__(self, model: Literal["cascade", "position", "perfect"] = "cascade", *,
                 preset: Literal["perfect", "navigational", "informational", "random", None] = None,
                 click: ArrayLike | None = None, stop: ArrayLike | None = None, eta: Real = 1.0,
                 seed: Any = None) -> None:
        self.model = choice("model", model, ("cascade", "position", "perfect"))
        if preset is None:
            preset = "perfect" if model == "perfect" else "navigational"
        self.preset = choice("preset", preset, tuple(PRESETS))
        self.click = _by_grade("click", click)
        self.stop = _by_grade("stop", stop)
        if self.click is not None and self.stop is not None:
            same_length("stop", self.stop.size, self.click.size, "click")
        self.eta = number("eta", eta, least=0.0)
        self._seeded(seed)

    def _shown(self):
        own = [f"{name}=..." for name in ("click", "stop") if getattr(self, name) is not None]
        return [repr(self.model), f"preset={self.preset!r}", *own, f"eta={self.eta}"]
