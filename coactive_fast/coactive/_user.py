"""What all simulated users share; the users themselves are in `coactive_fast.users`."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arrays import plain
from .._initialized import Initialized
from .._typing import Self, Vector
from ..learner._check import count
from ..learner._random import make_generator
from ._rules import Decider, in_order, index_array


class User(Initialized):
    """What all users share; `_decider` makes the compiled decisions of a class."""

    _values = "utilities"  # what an item user goes by
    rankings: ClassVar[bool] = True
    items: ClassVar[bool] = True

    def respond(self, query: Any, presented: Any) -> Any:
        """The improved object.

        Parameters
        ----------
        query : object
            See the module's text.
        presented : array_like of int, or int
            The whole ordering; of items the presented one's index.

        Returns
        -------
        ndarray of int or int
            An ordering that is at least as good for this user; of items an index.
        """
        if hasattr(query, "candidates"):
            return self._respond_item(query, presented)
        if not hasattr(query, "features"):
            raise TypeError("query must have features (rankings) or candidates (items)")
        if not self.rankings:
            raise TypeError(f"query is about rankings; {type(self).__name__} answers items")
        return self._decider().answer_ranking(
            query.features, presented, getattr(self, "weights", None),
            getattr(query, "relevance", None), self.k)

    def _respond_item(self, query, presented):
        if not self.items:
            raise TypeError(f"query is about items; {type(self).__name__} answers rankings")
        values = numbers(getattr(query, self._values), f"query.{self._values}")
        if values.ndim != 1 or not np.isfinite(values).all():
            raise ValueError(f"query.{self._values} must be one finite number an item")
        candidates = np.unique(index_array(query.candidates, "query.candidates", values.size,
                                           "items"))
        if not candidates.size:
            raise ValueError("query.candidates must hold at least one index")
        pair = np.ndim(presented) == 1 and len(presented) == 2
        shown = [count("presented", item) for item in (presented if pair else [presented])]
        if not np.isin(shown, candidates).all():
            raise ValueError(f"presented must be among the candidates, got {presented}")
        if pair:
            return shown[1] if values[shown[1]] > values[shown[0]] else shown[0]
        return self._decider().answer_item(candidates, values, shown[0])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._shown())})"


def numbers(values: ArrayLike, name: str) -> Vector:
    """Real numbers as float64, a copy."""
    return plain(values, name).astype(np.float64)


def true_weights(weights: ArrayLike) -> Vector:
    """w*, a copy."""
    given = numbers(weights, "weights")
    if given.ndim != 1 or not given.size or not np.isfinite(given).all():
        raise ValueError("weights must be a vector of finite numbers")
    return given


class ChanceUser(User):
    """A user with a generator, `rng`."""

    rng: np.random.Generator
    _first: np.random.Generator

    def _seeded(self, seed):
        self._first = make_generator(seed)
        self.reset()

    def reset(self) -> Self:
        """Back to the generator of the seed.

        Returns
        -------
        self
            The user itself, its generator as it was at first.
        """
        self.rng = copy.deepcopy(self._first)
        return self


ANY = np.iinfo(np.intp).max  # documents, where it is not said how many there are
# By grade, 0 to 2: the chances of a click where the user looks, and of being satisfied by it.
PRESETS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "perfect": ((0.0, 0.5, 1.0), (0.0, 0.0, 0.0)),
    "navigational": ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
    "informational": ((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
    "random": ((0.4, 0.5, 0.6), (0.5, 0.5, 0.5)),
}


class ClickUser(ChanceUser):
    """A user who clicks, by the grades of the documents."""

    items = False

    def clicks(self, query: Any, presented: ArrayLike) -> NDArray[np.intp]:
        """The documents clicked, in click order.

        Parameters
        ----------
        query : object
            Has ``relevance``: whole numbers from 0 on.
        presented : array_like of int
            What is shown, all of which the user sees.

        Returns
        -------
        ndarray of int
            The clicked documents, in the order of the clicks.
        """
        if hasattr(query, "candidates"):
            raise TypeError(f"query is about items; {type(self).__name__} answers rankings")
        grades = numbers(query.relevance, "query.relevance")
        if grades.ndim != 1 or not grades.size:
            raise ValueError("query.relevance must be one grade a document")
        chances = self._chances(grades, getattr(query, "largest_grade", 0), "query.relevance")
        return self._decider(len(grades)).answer_clicks(presented, *chances)

    def respond(self, query: Any, presented: Any) -> NDArray[np.intp]:
        """The ordering that the clicks stand for: `feedback_from_clicks` of them.

        Parameters
        ----------
        query, presented
            As for `clicks`.

        Returns
        -------
        ndarray of int
            The ordering that `feedback_from_clicks` makes of this user's clicks.
        """
        return feedback_from_clicks(presented, self.clicks(query, presented))

    def _chances(self, grades, largest, name):
        """Of each document: that of a click where the user looks, that of the end after it."""
        if not (np.isfinite(grades) & (grades >= 0.0) & (grades == np.rint(grades))).all():
            raise ValueError(f"{name} must be whole numbers >= 0 for a user who clicks")
        largest = max(grades.max(initial=0.0), largest)
        return tuple(self._by_grade(which, part, grades, largest)
                     for part, which in enumerate(("click", "stop")))

    def _by_grade(self, name, part, grades, largest):
        given = getattr(self, name)
        if given is None:
            known = np.linspace(0.0, max(largest, 2.0), 3)
            return np.interp(grades, known, PRESETS[self.preset][part])
        if largest >= len(given):
            raise ValueError(f"{name} must have a number for each grade, got {len(given)} and "
                             f"grades up to {largest:.0f}")
        return given[grades.astype(np.intp)]

    def _decider(self, places):
        return Decider(self.model, eta=self.eta, places=places, generator=self.rng)


def feedback_from_clicks(presented: Sequence[int] | NDArray[Any],
                         clicked: Iterable[int] | NDArray[Any]) -> NDArray[np.intp]:
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
    >>> import coactive_fast as cf
    >>> cf.feedback_from_clicks([4, 2, 0, 1], [1, 7, 2, 1])
    array([2, 1, 7, 4, 0])
    """
    shown = index_array(presented, "presented", ANY, "documents").tolist()
    if len(set(shown)) != len(shown):
        raise ValueError("presented must list each document once")
    marks = dict.fromkeys(index_array(in_order(clicked), "clicked", ANY, "documents").tolist())
    front = [d for d in shown if d in marks]
    there = set(shown)
    return np.array([*front, *(d for d in marks if d not in there),
                     *(d for d in shown if d not in marks)], dtype=np.intp)
