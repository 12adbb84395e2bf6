"""Slow twins of the simulated users: who answers what was presented with something better.

A user is any object with ``respond(query, presented) -> better``. For rankings the query has
``features`` (documents x N) and, where labels matter, ``relevance``; presented and better are
orderings of all documents. For items it has ``candidates`` (indices of what is left) and
``utilities`` and ``ratings`` of the whole catalogue; presented and better are item indices.

Where a `DuelingBandit` presents two items, the answer is the one the user likes more: by utility
or by rating, whichever he goes by, the first when they are equal. What the users' parameters mean
say the classes of `coactive_fast.users`.

Examples
--------
>>> from types import SimpleNamespace
>>> from coactive_fast import reference
>>> query = SimpleNamespace(features=[[1.0], [3.0], [2.0]], relevance=[0, 2, 1])
>>> reference.users.AlphaInformative(1.0, weights=[1.0], k=1).respond(query, [0, 2, 1])
array([1, 0, 2])
>>> reference.users.NoisyDepth(2, k=1).respond(query, [0, 2, 1])
array([2, 0, 1])
"""

from __future__ import annotations

import copy
from collections.abc import Set
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coactive_fast._typing import Real, Seed, Vector

from . import _check as check
from .coactive_tasks import ordering_utility
from .kernels import row_scores

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "AlphaInformative",
    "Better",
    "Best",
    "Clicks",
    "ExpectedAlphaInformative",
    "NoisyDepth",
    "OneHigher",
    "feedback_from_clicks",
]


PRESETS = {  # by grade, 0 to 2: of a click where the user looks, and of stopping after it
    "perfect": ((0.0, 0.5, 1.0), (0.0, 0.0, 0.0)),
    "navigational": ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
    "informational": ((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
    "random": ((0.4, 0.5, 0.6), (0.5, 0.5, 0.5)),
}


class AlphaInformative:
    """The least effort that closes the share alpha of the gap to the best object.

    Notes
    -----
    Rankings: the user walks down the presented ordering. For m = k, k + 1, .. he puts the k
    documents of highest utility among the first m on top, best first, and stops at the first m
    with ``U(better) - U(presented) >= alpha (U(best) - U(presented))``, at the latest at m = n.
    Equal utilities keep their presented order, and so does all that comes below.

    Items: the candidate of *lowest* utility for which that inequality holds, equal utilities to
    the lower index; where the presented item is the best one left, that item itself.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from coactive_fast import reference
    >>> query = SimpleNamespace(candidates=[0, 1, 2, 3], utilities=[0.0, 9.0, 5.0, 6.0])
    >>> reference.users.AlphaInformative(0.5).respond(query, 0)
    2
    """

    def __init__(self, alpha: Real, *, weights: ArrayLike | None = None,
                 k: SupportsIndex = 5) -> None:
        self.alpha = check.fraction("alpha", alpha)
        self.weights = None if weights is None else check.vector("weights", weights).copy()
        self.k = check.positive_count("k", k)

    def respond(self, query: Any, presented: Any) -> Any:
        """The improved object.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> from coactive_fast import reference
        >>> query = SimpleNamespace(features=[[1.0], [3.0], [2.0]])
        >>> user = reference.users.AlphaInformative(0.5, weights=[1.0], k=1)
        >>> user.respond(query, [0, 2, 1])
        array([2, 0, 1])
        """
        if _is_about_items(query):
            candidates, utilities, item = _item_query(query, "utilities", presented)
            if item is None:
                return _preferred(utilities, presented)
            return least_item(candidates, utilities, item, self.alpha)
        utilities, presented = _utilities(query, self.weights, presented)
        return least_walk(utilities, presented, self.alpha, self.k)


class NoisyDepth:
    """Puts the most relevant of the first `depth` documents on top, by their labels.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from coactive_fast import reference
    >>> query = SimpleNamespace(features=[[0.0]] * 4, relevance=[0, 1, 1, 2])
    >>> reference.users.NoisyDepth(3, k=2).respond(query, [0, 1, 2, 3])
    array([1, 2, 0, 3])
    """

    def __init__(self, depth: SupportsIndex, *, k: SupportsIndex = 5) -> None:
        self.depth = check.positive_count("depth", depth)
        self.k = check.positive_count("k", k)

    def respond(self, query: Any, presented: ArrayLike) -> NDArray[np.intp]:
        """The improved ordering; equal labels keep their presented order.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> from coactive_fast import reference
        >>> query = SimpleNamespace(features=[[0.0]] * 3, relevance=[0.0, 0.5, 2.0])
        >>> reference.users.NoisyDepth(2, k=1).respond(query, [0, 1, 2])
        array([1, 0, 2])
        """
        if _is_about_items(query):
            raise TypeError("query is about items; NoisyDepth answers rankings")
        n = len(check.table("query.features", query.features))
        relevance = check.vector("query.relevance", query.relevance, n, of="query.features")
        presented = _full_ordering(presented, n)
        return _on_top(presented, relevance, self.depth, self.k)


class ExpectedAlphaInformative:
    """Alpha-informative on average: now and then the answer is an object drawn at random.

    Notes
    -----
    Five objects are drawn uniformly at random (items: with replacement from the candidates;
    rankings: permutations). The deterministic answer, with gain g, is given with probability p,
    else one of the five, whose mean gain is gbar. p is the smallest number in [0, 1] with
    ``p g + (1 - p) gbar >= alpha (U(best) - U(presented))``. The deterministic answer is that of
    `base_alpha` where there is one.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from coactive_fast import reference
    >>> query = SimpleNamespace(candidates=[0, 1, 2, 3], utilities=[0.0, 9.0, 5.0, 6.0])
    >>> user = reference.users.ExpectedAlphaInformative(0.5, base_alpha=1.0, seed=0)
    >>> [user.respond(query, 0) for _ in range(6)]
    [3, 2, 2, 0, 3, 1]
    """

    def __init__(self, alpha: Real, *, weights: ArrayLike | None = None,
                 base_alpha: Real | None = None, k: SupportsIndex = 5, seed: Seed = None) -> None:
        self.alpha = check.fraction("alpha", alpha)
        self.weights = None if weights is None else check.vector("weights", weights).copy()
        self.base_alpha = None if base_alpha is None else check.fraction("base_alpha", base_alpha)
        self.k = check.positive_count("k", k)
        self._seed = check.generator("seed", seed)
        self.reset()

    def reset(self) -> Self:
        """Back to the generator of the seed; returns the user.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> user = reference.users.ExpectedAlphaInformative(0.5, seed=0)
        >>> first = user.rng.random()
        >>> user.reset().rng.random() == first
        True
        """
        self.rng = copy.deepcopy(self._seed)
        return self

    def respond(self, query: Any, presented: Any) -> Any:
        """The improved object, or one of five drawn at random.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> from coactive_fast import reference
        >>> query = SimpleNamespace(features=[[1.0], [3.0], [2.0]])
        >>> user = reference.users.ExpectedAlphaInformative(1.0, weights=[1.0], seed=0)
        >>> user.respond(query, [0, 2, 1])
        array([1, 2, 0])
        """
        base = self.alpha if self.base_alpha is None else self.base_alpha
        if _is_about_items(query):
            candidates, utilities, item = _item_query(query, "utilities", presented)
            if item is None:
                return _preferred(utilities, presented)
            drawn = [int(candidates[_pick(self.rng, candidates.size)]) for _ in range(5)]
            answer = least_item(candidates, utilities, item, base)
            return self._toss(answer, drawn, item, utilities[candidates].max(), utilities.item)
        utilities, presented = _utilities(query, self.weights, presented)
        drawn = [_permutation(self.rng, presented.size) for _ in range(5)]
        answer = least_walk(utilities, presented, base, self.k)
        best = _on_top(presented, utilities, presented.size, self.k)

        def utility(ordering):
            return ordering_utility(utilities, ordering, self.k)

        return self._toss(answer, drawn, presented, utility(best), utility)

    def _toss(self, answer, drawn, presented, best, utility):
        """`answer` with probability p, else one of `drawn`; one draw, whatever p is."""
        now = utility(presented)
        wanted = self.alpha * (best - now)
        gain = utility(answer) - now
        mean = sum(utility(y) - now for y in drawn) / len(drawn)
        if mean >= wanted:
            p = 0.0
        elif gain <= wanted or gain <= mean:
            p = 1.0
        else:
            p = (wanted - mean) / (gain - mean)
        u = self.rng.random()
        if u < p:
            return answer
        return drawn[min(len(drawn) - 1, int((u - p) / (1.0 - p) * len(drawn)))]


class _Rater:
    """A user of items who goes by ratings and breaks ties at random."""

    def __init__(self, *, seed: Seed = None) -> None:
        self._seed = check.generator("seed", seed)
        self.reset()

    def reset(self) -> Self:
        """Back to the generator of the seed; returns the user.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> user = reference.users.Best(seed=0)
        >>> first = user.rng.random()
        >>> user.reset().rng.random() == first
        True
        """
        self.rng = copy.deepcopy(self._seed)
        return self

    def respond(self, query: Any, presented: Any) -> int:
        """The item picked; see the class.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> from coactive_fast import reference
        >>> query = SimpleNamespace(candidates=[0, 1, 2], ratings=[2, 5, 3])
        >>> reference.users.Better().respond(query, 0), reference.users.Best().respond(query, 0)
        (2, 1)
        """
        if not _is_about_items(query):
            raise TypeError(f"query is about rankings; {type(self).__name__} answers items")
        candidates, ratings, item = _item_query(query, "ratings", presented)
        if item is None:
            return _preferred(ratings, presented)
        allowed = self._allowed(candidates, ratings, item)
        if len(allowed) == 1:
            return int(allowed[0])
        return int(allowed[_pick(self.rng, len(allowed))])


class Better(_Rater):
    """Picks an item rated better, by as little as possible.

    Notes
    -----
    Of the candidates rated strictly higher than the presented item, one with the smallest such
    rating, ties uniformly at random; if there is none, the presented item.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from coactive_fast import reference
    >>> query = SimpleNamespace(candidates=[0, 1, 2], ratings=[2, 5, 3])
    >>> reference.users.Better(seed=0).respond(query, 2)
    1
    """

    def _allowed(self, candidates, ratings, item):
        higher = candidates[ratings[candidates] > ratings[item]]
        if higher.size == 0:
            return [item]
        return higher[ratings[higher] == ratings[higher].min()]


class OneHigher(_Rater):
    """Picks an item rated exactly one higher, uniformly at random; if none, the presented one.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from coactive_fast import reference
    >>> query = SimpleNamespace(candidates=[0, 1, 2, 3], ratings=[2, 5, 3, 4])
    >>> user = reference.users.OneHigher(seed=0)
    >>> user.respond(query, 0), user.respond(query, 1)
    (2, 1)
    """

    def _allowed(self, candidates, ratings, item):
        higher = candidates[ratings[candidates] == ratings[item] + 1.0]
        return higher if higher.size else [item]


class Best(_Rater):
    """Picks an item of the highest rating, ties uniformly at random.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from coactive_fast import reference
    >>> query = SimpleNamespace(candidates=[0, 1, 2], ratings=[2, 5, 3])
    >>> reference.users.Best(seed=0).respond(query, 2)
    1
    """

    def _allowed(self, candidates, ratings, item):
        return candidates[ratings[candidates] == ratings[candidates].max()]


class Clicks:
    """Walks down what is presented and clicks by the documents' grades.

    Notes
    -----
    A place is examined always ("perfect"), with probability ``1 / place^eta`` ("position"), or
    until the user stops ("cascade"): after each click with a probability by the grade. Where a
    place is examined its document is clicked with a probability by the grade. A preset has both for
    grades 0, 1, 2; where there are larger ones they are interpolated over 0 .. the largest, which
    is the query's ``largest_grade`` where it has one, else that of its own documents.

    Draws: one number for each place that the user comes to (below the probability, of being
    examined and clicked: a click), in a cascade one more after each click (below: stop).

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from coactive_fast import reference
    >>> query = SimpleNamespace(features=[[0.0]] * 4, relevance=[0, 2, 0, 2])
    >>> user = reference.users.Clicks("perfect", seed=0)
    >>> user.clicks(query, [0, 1, 2, 3])
    array([1, 3])
    >>> user.respond(query, [0, 1, 2, 3])
    array([1, 3, 0, 2])
    """

    def __init__(self, model: Literal["cascade", "position", "perfect"] = "cascade", *,
                 preset: Literal["perfect", "navigational", "informational", "random",
                                 None] = None,
                 click: ArrayLike | None = None, stop: ArrayLike | None = None, eta: Real = 1.0,
                 seed: Seed = None) -> None:
        self.model = check.choice("model", model, ("cascade", "position", "perfect"))
        self.preset = "perfect" if model == "perfect" else "navigational"
        if preset is not None:
            self.preset = check.choice("preset", preset, tuple(PRESETS))
        self.click = None if click is None else check.shares("click", click)
        self.stop = None if stop is None else check.shares("stop", stop)
        if self.click is not None and self.stop is not None:
            check.same_length("stop", self.stop.size, self.click.size, "click")
        self.eta = check.real("eta", eta)
        if self.eta < 0.0:
            raise ValueError(f"eta must be >= 0, got {self.eta}")
        self._seed = check.generator("seed", seed)
        self.reset()

    def reset(self) -> Self:
        """Back to the generator of the seed; returns the user.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> user = reference.users.Clicks(seed=0)
        >>> first = user.rng.random()
        >>> user.reset().rng.random() == first
        True
        """
        self.rng = copy.deepcopy(self._seed)
        return self

    def clicks(self, query: Any, presented: ArrayLike) -> NDArray[np.intp]:
        """The documents clicked, in click order.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> from coactive_fast import reference
        >>> query = SimpleNamespace(features=[[0.0]] * 2, relevance=[0, 1])
        >>> user = reference.users.Clicks("perfect", click=[0.0, 1.0], seed=0)
        >>> user.clicks(query, [1, 0])
        array([1])
        """
        if _is_about_items(query):
            raise TypeError("query is about items; Clicks answers rankings")
        grades = check.vector("query.relevance", query.relevance)
        if (grades < 0.0).any() or (grades != np.rint(grades)).any():
            raise ValueError("query.relevance must be whole numbers >= 0")
        presented = check.distinct("presented", presented, grades.size)
        largest = max(int(grades.max()), int(getattr(query, "largest_grade", 0)))
        click = self._by_grade("click", self.click, 0, grades, largest)
        stop = self._by_grade("stop", self.stop, 1, grades, largest)
        clicked = []
        for place, document in enumerate(presented.tolist(), start=1):
            seen = place**-self.eta if self.model == "position" else 1.0
            if self.rng.random() < seen * click[document]:
                clicked.append(document)
                if self.model == "cascade" and self.rng.random() < stop[document]:
                    break
        return np.array(clicked, dtype=np.intp)

    def respond(self, query: Any, presented: ArrayLike) -> NDArray[np.intp]:
        """`feedback_from_clicks` of what was clicked.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> from coactive_fast import reference
        >>> query = SimpleNamespace(features=[[0.0]] * 2, relevance=[0, 1])
        >>> reference.users.Clicks("perfect", click=[0.0, 1.0]).respond(query, [0, 1])
        array([1, 0])
        """
        return feedback_from_clicks(presented, self.clicks(query, presented))

    def _by_grade(self, name, given, part, grades, largest):
        """Each document's probability, from its grade."""
        if given is None:
            known = np.linspace(0.0, max(largest, 2), 3)
            return np.interp(grades, known, PRESETS[self.preset][part])
        if largest >= given.size:
            raise ValueError(f"{name} has {given.size} numbers, one a grade, but there is a grade "
                             f"{largest}")
        return given[grades.astype(np.intp)]


def feedback_from_clicks(presented: ArrayLike, clicked: ArrayLike | Set[int]) -> NDArray[np.intp]:
    """The ordering that clicks stand for: what was clicked goes to the front.

    Returns
    -------
    ndarray of intp
        Clicked documents that were presented, in presented order; those clicked elsewhere in
        the chain, in click order; the other presented documents. No click, or one on the top
        result alone, gives back `presented`.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.users.feedback_from_clicks([4, 2, 0, 1], [1, 7, 2, 1])
    array([2, 1, 7, 4, 0])
    """
    presented = check.distinct("presented", presented).tolist()
    if isinstance(clicked, (set, frozenset)):
        clicked = sorted(clicked)
    clicked = list(dict.fromkeys(check.ranking("clicked", clicked)))  # each once, in order
    if any(document < 0 for document in clicked):
        raise ValueError("clicked holds a negative index")
    front = [document for document in presented if document in clicked]
    elsewhere = [document for document in clicked if document not in presented]
    rest = [document for document in presented if document not in clicked]
    return np.array(front + elsewhere + rest, dtype=np.intp)


def least_walk(utilities: Vector, presented: NDArray[np.intp], alpha: float,
               k: int) -> NDArray[np.intp]:
    """The ordering at which an alpha-informative user stops walking down `presented`."""
    n = len(presented)
    now = ordering_utility(utilities, presented, k)
    best = ordering_utility(utilities, _on_top(presented, utilities, n, k), k)
    for m in range(min(k, n), n):
        better = _on_top(presented, utilities, m, k)
        if ordering_utility(utilities, better, k) - now >= alpha * (best - now):
            return better
    return _on_top(presented, utilities, n, k)  # holds but for rounding, so it is not tested


def least_item(candidates: NDArray[np.intp], utilities: Vector, item: int, alpha: float) -> int:
    """The worst candidate that still closes the share alpha of the gap."""
    now, best = utilities[item], utilities[candidates].max()
    if now == best:
        return item
    enough = candidates[utilities[candidates] - now >= alpha * (best - now)]
    return int(enough[np.argmin(utilities[enough])])


def at_work(user: Any, k: int | None, weights: Vector | None, seed: Seed) -> Any:
    """The user as one simulation employs it: by the task's k, w*, and the chance it is to use.

    A user of this module is copied with k in place of its own and with the weights where it has
    none (both unless None), and works on the generator of `seed` (None: on its own generator,
    which moves on). Any other user is left alone, but for `seed` when it has a generator ``rng``.
    """
    if not callable(getattr(user, "respond", None)):
        raise TypeError(f"user must have a method respond, {type(user).__name__} has none")
    ours = isinstance(user, (AlphaInformative, NoisyDepth, ExpectedAlphaInformative, _Rater))
    with_chance = isinstance(getattr(user, "rng", None), np.random.Generator)
    if not ours and not (with_chance and seed is not None):
        return user
    user = copy.copy(user)
    if ours and k is not None and hasattr(user, "k"):
        user.k = k
    if ours and getattr(user, "weights", 0) is None:
        user.weights = weights
    if with_chance and seed is not None:
        user.rng = check.generator("seed", seed)
    return user


def _is_about_items(query):
    """Whether a query is about items (else about a ranking)."""
    if hasattr(query, "candidates"):
        return True
    if hasattr(query, "features"):
        return False
    raise TypeError("query must have features (rankings) or candidates (items)")


def _full_ordering(presented, n):
    """A permutation of 0 .. n - 1."""
    presented = check.distinct("presented", presented, n)
    check.same_length("presented", presented.size, n, of="the query")
    return presented


def _utilities(query, weights, presented):
    """The utility of every document, and the presented ordering, both checked."""
    if weights is None:
        raise ValueError("weights are needed for rankings: give the user the true weights")
    X = check.table("query.features", query.features)
    check.same_length("weights", weights.size, X.shape[1], of="a row of query.features")
    return row_scores(X, weights), _full_ordering(presented, len(X))


def _on_top(presented, values, m, k):
    """`presented` with the k highest values of its first m in front, equal ones in order."""
    top = sorted(presented[:m].tolist(), key=lambda document: -values[document])[:k]
    rest = [document for document in presented.tolist() if document not in top]
    return np.array(top + rest, dtype=np.intp)


def _item_query(query, name, presented):
    """Candidates in increasing order, utilities or ratings, and the presented item.

    The item is None where two items are presented, by a dueling bandit.
    """
    values = check.vector(f"query.{name}", getattr(query, name))
    candidates = np.unique(check.indices("query.candidates", query.candidates, values.size))
    two = np.ndim(presented) == 1 and len(presented) == 2
    for item in presented if two else [presented]:
        if check.index("presented", item, values.size) not in candidates:
            raise ValueError(f"presented is item {item}, which is not among the candidates")
    return candidates, values, None if two else int(presented)


def _preferred(values, pair):
    """The item of two with the higher value, the first when they are equal."""
    first, second = pair
    return int(second if values[second] > values[first] else first)


def _pick(rng, m):
    """One of 0 .. m - 1, uniformly."""
    return int(rng.random() * m)


def _permutation(rng, n):
    """A uniform permutation of 0 .. n - 1."""
    ordering = np.arange(n)
    for i in range(n - 1):
        j = i + _pick(rng, n - i)
        ordering[[i, j]] = ordering[[j, i]]
    return ordering
