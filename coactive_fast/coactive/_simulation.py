"""Simulations of the coactive family: what they are given, and which loop plays them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import Progress, Vector, Whole
from ..learner._check import count
from ..learner._history import CoactiveHistory
from ..learner._random import make_generator
from ..learner._run import Run
from ._clicks import DuelingRankings, PairwiseRankings, PDGDRankings
from ._drawing_learners import PDGD, DuelingBandit, PairwisePerceptron
from ._learners import CoactiveLearner
from ._rules import index_array
from ._simulate import RankingRun
from ._tasks import Ranking
from ._user import ClickUser, User, feedback_from_clicks, numbers, true_weights

RUNS = {DuelingBandit: DuelingRankings, PairwisePerceptron: PairwiseRankings, PDGD: PDGDRankings}


def simulate(learner: Any, data: Any, user: Any, *, order: ArrayLike | None = None,
             weights: ArrayLike | None = None, seed: Any = None, progress: Progress = None,
             held_out: Any = None, every: Whole | None = None,
             measures: Sequence[str] = ("ndcg@10",)) -> CoactiveHistory:
    """Presents, lets a user answer, and learns, once for each query of `order`.

    A user who clicks (who has ``clicks(query, presented)``) is shown the first k places of the
    task's, and the learner takes the clicks by `learn_clicks`.

    The result is that of the loop of single calls, bit for bit. With the users and learners of
    this package it is one compiled loop without the GIL; with your own users, tasks or rules the
    loop is Python's.

    Parameters
    ----------
    learner : learner of the coactive family
        Goes on from where it stands.
    data : RankingData or sequence
        ``data[i].features`` are the documents of query i; users may need more of ``data[i]``.
    user : object with ``respond(query, presented)``
        Users of this package go by the task's k.
    order : array_like of int, optional
        Query indices, repeats allowed. None: all queries once, in order.
    weights : array_like of shape (N,), optional
        The w* by which regret is measured. None: the user's weights where it has some, else
        ``data.fit_weights()``.
    seed : optional
        The user works on ``numpy.random.default_rng(seed)``. None: on its own generator, which
        moves on.
    progress : bool or callable, optional
        True shows a bar; a callable is called now and then as ``progress(done, total)`` and may
        read the learner.
    held_out : RankingData or sequence, optional
        Other queries, by which the learner is judged after each `every` rounds:
        ``history.held_out[measure]`` is what `coactive_fast.metrics.evaluate` says of them after
        ``history.held_out_rounds``.
    every : int, optional
        None: once, at the end.
    measures : sequence of str, default ("ndcg@10",)
        As for `coactive_fast.metrics.evaluate`.

    Returns
    -------
    CoactiveHistory
        Also kept as ``learner.last_history``, where an interrupted run leaves its rounds so far.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> data = cf.data.make_ranking(n_queries=200, n_features=10, seed=0)
    >>> learner = cf.PreferencePerceptron(cf.Ranking(k=5))
    >>> history = cf.simulate(learner, data, cf.users.AlphaInformative(0.5))
    >>> len(history), bool(history.average_regret[-1] < history.average_regret[9])
    (200, True)
    >>> learner = cf.PDGD(cf.Ranking(k=5), seed=0)
    >>> clicks = cf.users.Clicks(seed=0)
    >>> history = cf.simulate(learner, data[:150], clicks, held_out=data[150:], every=50)
    >>> history.held_out_rounds, len(history.held_out["ndcg@10"])
    (array([ 50, 100, 150]), 3)
    """
    if not callable(getattr(user, "respond", None)):
        raise TypeError(f"user must have respond(query, presented), got {type(user).__name__}")
    order = np.arange(len(data)) if order is None else index_array(order, "order", len(data),
                                                                   "queries")
    weights = weights_of(weights, user, data)
    user = at_work(user, getattr(learner.task, "k", None), seed)
    look = None
    if held_out is not None:
        refuse_other_width(held_out, data)
        look = HeldOut(learner, held_out, max(len(order), 1) if every is None else every, measures)
    elif every is not None:
        raise ValueError("every goes with held_out")
    make = compiled_run if _is_compiled(learner, data, user) else PythonRun
    return make(learner, data, user, order, weights, look).play(learner, progress)


def refuse_other_width(held_out: Any, data: Any) -> None:
    """Held-out queries that could not be scored are refused before the first round."""
    widths = [getattr(queries, "dimension", None) for queries in (held_out, data)]
    if len(held_out) == 0:
        raise ValueError("held_out must hold at least one query")
    if None not in widths and widths[0] != widths[1]:
        raise ValueError(f"held_out must have {widths[1]} features, as data has, got {widths[0]}")


class HeldOut:
    """Looks at held-out queries after each `every` rounds, and keeps what it saw."""

    def __init__(self, learner: Any, data: Any, every: Whole, measures: Sequence[str]) -> None:
        from .. import metrics

        self.evaluate = metrics.evaluate
        self.learner, self.data, self.every = learner, data, count("every", every, least=1)
        self.measures = metrics.checked_measures(measures)
        self.found: list[dict[str, float]] = []

    def __call__(self) -> None:
        self.found.append(self.evaluate(self.learner, self.data, measures=self.measures))

    def told(self) -> dict[str, Any]:
        """As fields of a history."""
        columns = {name: np.array([found[name] for found in self.found], dtype=np.float64)
                   for name in self.measures}
        return {"held_out": columns,
                "held_out_rounds": self.every * np.arange(1, len(self.found) + 1)}


def weights_of(weights: ArrayLike | None, user: Any, data: Any) -> Vector:
    """w*, by which regret is measured; a copy."""
    if weights is None:
        weights = getattr(user, "weights", None)
    if weights is None:
        if not callable(getattr(data, "fit_weights", None)):
            raise ValueError("weights must be given: neither the user nor data can tell them")
        weights = data.fit_weights()
    return true_weights(weights)


def at_work(user: Any, k: int | None, seed: Any) -> Any:
    """The user as a simulation employs it: with the task's k and the chance it is to use."""
    has_chance = isinstance(getattr(user, "rng", None), np.random.Generator)
    if not isinstance(user, User) and not (has_chance and seed is not None):
        return user
    user = copy.copy(user)
    if isinstance(user, User) and k is not None and hasattr(user, "k"):
        user.k = k
    if has_chance and seed is not None:
        user.rng = make_generator(seed)
    return user


def _is_compiled(learner, data, user):
    from ..data import RankingData

    return (isinstance(learner, CoactiveLearner) and isinstance(data, RankingData)
            and isinstance(learner.task, Ranking) and learner._engine.compiled
            and isinstance(user, User) and user.rankings and _answers_as_ours(type(user)))


def _answers_as_ours(kind):
    if issubclass(kind, ClickUser):
        return kind.clicks is ClickUser.clicks and kind.respond is ClickUser.respond
    return kind.respond is User.respond


def compiled_run(learner: Any, data: Any, user: Any, order: NDArray[np.intp], weights: Vector,
                 look: HeldOut | None = None) -> Any:
    """The run of a user who is at work; `order` and `weights` are those of `simulate`, checked."""
    own, options = getattr(user, "weights", None), {"look": look}
    same_length(weights, "weights", data.dimension)
    if own is not None:
        same_length(own, "weights of the user", data.dimension)
        own = None if np.array_equal(own, weights) else own.copy()
    k = learner.task.k
    if isinstance(user, ClickUser):
        options["chances"] = user._chances(numbers(data.relevance, "data.relevance"), 0,
                                           "data.relevance")
        decider = user._decider(min(k, int(np.diff(data.offsets).max())))
        if isinstance(learner, CoactiveLearner):
            learner._warn_of_clicks()
    else:
        decider = user._decider()
        if isinstance(learner, PDGD):
            raise TypeError("PDGD learns from clicks: user must have clicks, as users.Clicks, "
                            f"{type(user).__name__} has not")
    make = next((run for kind, run in RUNS.items() if isinstance(learner, kind)), RankingRun)
    return make(data, order, weights, own, decider, k, **options)


def same_length(weights: Vector, name: str, d: int) -> None:
    if len(weights) != d:
        raise ValueError(f"{name} must have length {d} to go with data, got {len(weights)}")


class PythonRun(Run):
    """The loop of single calls, for what no compiled loop can stand in."""

    def __init__(self, learner: Any, data: Any, user: Any, order: NDArray[np.intp], weights: Any,
                 look: HeldOut | None = None) -> None:
        self.look = look
        self.clicks = callable(getattr(user, "clicks", None)) and hasattr(learner, "learn_clicks")
        self.learner, self.data, self.user, self.order = learner, data, user, order
        self.weights = weights
        self.rounds: list[list[float]] = []
        if isinstance(user, User) and getattr(user, "weights", 0) is None:
            user.weights = weights
        if isinstance(learner.task, Ranking) and len(data):
            same_length(weights, "weights", np.shape(data[0].features)[-1])

    def history(self) -> CoactiveHistory:
        utility, optimal, feedback = np.array(self.rounds).reshape(-1, 3).T
        return CoactiveHistory(regret=optimal - utility, utility=utility, optimal_utility=optimal,
                               feedback_utility=feedback,
                               **({} if self.look is None else self.look.told()))

    def run(self, engine: Any, report: Callable[[int, int], object] | None) -> None:
        task = self.learner.task
        for i in self.order:
            query = self.data[i]
            x = query.features
            best = task.argmax(self.weights, x)
            if self.clicks:
                presented = self.learner.present(x, k=task.k)
                clicked = self.user.clicks(query, presented)
                better = feedback_from_clicks(presented, clicked)
                learn = partial(self.learner.learn_clicks, x, presented, clicked)
            else:
                presented = self.learner.present(x)
                better = self.user.respond(query, presented)
                learn = partial(self.learner.learn, x, presented, better)
            self._learn(learn, [self._utility(x, y) for y in (presented, best, better)])
            if self.look is not None and len(self.rounds) % self.look.every == 0:
                self.look()
            if report is not None:
                report(len(self.rounds), len(self.order))

    def _learn(self, learn, row):
        """The round is recorded where it was learned: a signal that comes while it is learned is
        handled behind it."""
        recorded, rounds = len(self.rounds), self.learner.rounds
        try:
            self.rounds.append(row)
            learn()
        except BaseException:
            del self.rounds[recorded + (self.learner.rounds > rounds):]
            raise

    def _utility(self, x, y):
        """``w* . phi(x, y)``."""
        phi = self.learner.task.features(x, y)
        return float(np.dot(self.weights, np.asarray(phi, dtype=np.float64)))
