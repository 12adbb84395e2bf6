"""Simulations of the coactive family: what they are given, and which loop plays them."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import Progress, Vector, Whole
from ..learner._check import count, same_length, threads
from ..learner._history import CoactiveHistory, mean_over_users
from ..learner._progress import in_threads
from ..learner._random import make_generator
from ..learner._run import Run
from ..rows._rows import table
from . import _rules as rules
from ._learners import PDGD, CoactiveLearner, DrawingLearner, PreferencePerceptron
from ._tasks import Items, Ranking
from ._user import ClickUser, User, feedback_from_clicks, numbers, true_weights


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
    order = (np.arange(len(data)) if order is None
             else rules.index_array(order, "order", len(data), "queries"))
    weights = weights_of(weights, user, data)
    user = at_work(user, getattr(learner._parameters["task"], "k", None), seed)
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

    def fields(self) -> dict[str, Any]:
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
            and isinstance(learner.task, Ranking) and learner._compiled
            and isinstance(user, User) and user.rankings and _answers_as_ours(type(user)))


def _answers_as_ours(kind):
    if issubclass(kind, ClickUser):
        return kind.clicks is ClickUser.clicks and kind.respond is ClickUser.respond
    return kind.respond is User.respond


def compiled_run(learner: Any, data: Any, user: Any, order: NDArray[np.intp], weights: Vector,
                 look: HeldOut | None = None) -> Any:
    """The run of a user who is at work; `order` and `weights` are those of `simulate`, checked."""
    own, options = getattr(user, "weights", None), {"look": look}
    same_length("weights", len(weights), data.dimension, "data")
    if own is not None:
        same_length("weights of the user", len(own), data.dimension, "data")
        own = None if np.array_equal(own, weights) else own.copy()
    k, drawing = learner.task.k, isinstance(learner, DrawingLearner)
    if isinstance(user, ClickUser):
        options["chances"] = user._chances(numbers(data.relevance, "data.relevance"), 0,
                                           "data.relevance")
        decider = user._decider(min(k, int(np.diff(data.offsets).max())))
        if isinstance(learner, CoactiveLearner) and not drawing:
            learner._warn_of_clicks()
    else:
        decider = user._decider()
        if isinstance(learner, PDGD):
            raise TypeError("PDGD learns from clicks: user must have clicks, as users.Clicks, "
                            f"{type(user).__name__} has not")
    make = rules.PendingRun if drawing else rules.RankingRun
    return make(data, order, weights, own, decider, k, **options)


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
            same_length("weights", len(weights), np.shape(data[0].features)[-1], "data")

    def history(self) -> CoactiveHistory:
        utility, optimal, feedback = np.array(self.rounds).reshape(-1, 3).T
        return CoactiveHistory(regret=optimal - utility, utility=utility, optimal_utility=optimal,
                               feedback_utility=feedback,
                               **({} if self.look is None else self.look.fields()))

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


# --- many users over one catalogue ----------------------------------------------------------------


GRAM_BYTES = 1 << 30  # the Gram matrix of the items may take so much
GRAM_UNITS = 8        # of it, that a middling item's square must be worth
GRAM_KEPT = 1 << 26   # one of so many bytes is kept as long as its catalogue lives
GRAM_FEATURES = 24    # from so many features on two of its rows are read faster than all items


def simulate_items(learner: Any, items: Any, weights: ArrayLike, user: Any, *,
                   rounds: SupportsIndex = 1500, ratings: Any = None, n_jobs: SupportsIndex = 1,
                   seed: Any = None, progress: Progress = None) -> CoactiveHistory:
    """Many users of one catalogue, each with a fresh learner, for a number of rounds.

    After a round the presented item and the feedback item leave that user's candidates; where
    none is left the user's stream ends (NaN from there on). With the Preference Perceptron and 24
    or more features the scores are moved by rows of a shared Gram matrix (n^2 int16, up to 1 GB,
    kept up to 64 MB) instead of being made anew: what is within the rounding bound of the best is
    scored afresh, so the decisions are those of the loop of single calls; all other rules score
    every candidate whenever the weights have changed and give that loop's bits.

    Parameters
    ----------
    learner : learner of the coactive family with an Items task
        A template: every user has it reset, and it is not changed.
    items : Items or array_like of shape (n, N)
        The task's catalogue.
    weights : array_like of shape (users, N)
        Each user's w*.
    user : object with ``respond(query, presented)``
        The query has `candidates`, and `utilities` and `ratings` of the whole catalogue.
    rounds : int, default 1500
        Rounds of each user, whose stream ends sooner where no item is left.
    ratings : scipy.sparse or array_like of shape (users, n), optional
        Sparse: what is stored was given; dense: what is not NaN. A rating not given is the
        utility rounded to the nearest of 1 ... 5.
    n_jobs : int, default 1
        Threads; -1: as many as there are processors. The result does not depend on it.
    seed : optional
        Gives each user an independent stream. None: the generator of `user`, which stays.
    progress : bool or callable, optional
        True shows a bar; a callable is called as ``progress(users done, users)``.

    Returns
    -------
    CoactiveHistory
        Means over the users still there, and `regret_per_user`. An interrupted run leaves what
        there is in ``learner.last_history``.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> items = [[1.0], [3.0], [2.0]]
    >>> learner = cf.PreferencePerceptron(cf.Items(items))
    >>> user = cf.users.AlphaInformative(1.0)
    >>> cf.simulate_items(learner, items, [[1.0], [-1.0]], user, rounds=2).regret_per_user
    array([[2., 0.],
           [0., 1.]])
    """
    run = _Run(learner, items, weights, user, rounds, ratings, seed, threads(n_jobs))
    return run.play(learner, progress)


_grams: dict[int, tuple[Any, Any]] = {}  # by the id of the features


class _Run(Run):
    """Checked arguments, and the record."""

    def __init__(self, learner, items, weights, user, rounds, ratings, seed, jobs):
        if not callable(getattr(user, "respond", None)):
            raise TypeError(f"user must have respond(query, presented), got {type(user).__name__}")
        if not isinstance(items, Items):
            items = Items(items)
        task = learner.task
        if isinstance(task, Items) and task != items:
            raise ValueError("items must be the catalogue of the learner's task")
        if getattr(user, "weights", None) is not None:
            raise ValueError("user must have no weights of its own: weights has a row a user")
        self.learner, self.items, self.user, self.jobs = learner, items, user, jobs
        self.weights = _weights(weights, items.dimension)
        self.rounds = count("rounds", rounds)
        self.ratings = _given_ratings(ratings, (len(self.weights), len(items)))
        self.streams = _streams(user, seed, len(self.weights))
        shape = (len(self.weights), self.rounds)
        self.utility, self.optimal, self.feedback = (np.full(shape, np.nan) for _ in range(3))
        self.compiled = (isinstance(learner, CoactiveLearner) and isinstance(task, Items)
                         and learner._compiled and isinstance(user, User) and user.items
                         and type(user).respond is User.respond)

    def history(self):
        regret = self.optimal - self.utility
        return CoactiveHistory(regret=mean_over_users(regret),
                               utility=mean_over_users(self.utility),
                               optimal_utility=mean_over_users(self.optimal),
                               regret_per_user=regret,
                               feedback_utility=mean_over_users(self.feedback),
                               gain_per_user=self.feedback - self.utility)

    def user_at_work(self, u):
        return at_work(self.user, None, self.streams[u])

    def run(self, engine, report):
        if not self.compiled:
            self.python_users(report)
            return
        shared = rules.ItemsRun(self.items.features[:], self.gram(), self.utility, self.optimal,
                                self.feedback)

        def play(u):
            shared.play(u, engine._another(), self.user_at_work(u)._decider(), self.weights[u],
                        self.ratings(u))

        in_threads(play, len(self.weights), self.jobs, lambda: setattr(shared, "stop", True),
                   report)

    def gram(self):
        features = self.items.features
        n, d = features.shape
        if (type(self.learner) is not PreferencePerceptron or d < GRAM_FEATURES
                or 2 * n * n > GRAM_BYTES or self.rounds > rules.MOST_MOVES
                or len(self.weights) * self.rounds < n):
            return None
        return _gram_of(features)

    # --- Python's own users, tasks and rules --------------------------------------------------

    def python_users(self, report):
        for u, weights in enumerate(self.weights):
            utilities = rules.item_utilities(self.items.features, weights)
            rounded = np.clip(np.rint(utilities), 1.0, 5.0)
            given = self.ratings(u)
            ratings = rounded if given is None else np.where(np.isnan(given), rounded, given)
            self.one_user(u, utilities, ratings)
            if report is not None:
                report(u + 1, len(self.weights))

    def one_user(self, u, utilities, ratings):
        learner, user = copy.deepcopy(self.learner), self.user_at_work(u)
        learner.reset()
        left = np.arange(len(utilities))
        for t in range(self.rounds):
            if not left.size:
                return
            query = SimpleNamespace(candidates=left.copy(), utilities=utilities.copy(),
                                    ratings=ratings.copy())
            presented = learner.present(left)
            better = user.respond(query, presented)
            gone = np.append(presented, better)
            if not np.isin(gone, left).all():
                raise ValueError(f"better must be one of the candidates left, got {better}")
            learner.learn(left, presented, better)
            self.utility[u, t] = np.mean(utilities[presented])  # a dueling bandit shows two
            self.optimal[u, t] = utilities[left].max()
            self.feedback[u, t] = utilities[better]
            left = left[~np.isin(left, gone)]


def _gram_of(features):
    """The Gram matrix of a catalogue's rows, which never change, as 16 bits and their unit.

    None where the unit would be no ordinary number, or so large that it says little of most items:
    far too many would be near the best.
    """
    key = id(features)
    if key in _grams:
        return _grams[key]
    rows, n = features.astype(np.float64, copy=False), len(features)
    with np.errstate(over="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows)
        unit = float(squares.max()) / 32767
    if not 1e-250 < unit < 1e250 or np.median(squares[squares > 0.0]) < GRAM_UNITS * unit:
        return None
    gram = np.empty((n, n), np.int16)
    block = max(1, (1 << 22) // (8 * n))  # 4 MB of float64 at a time
    for at in range(0, n, block):
        part = rows[at:at + block] @ rows.T
        part /= unit
        gram[at:at + block] = np.rint(part, out=part)
    if gram.nbytes <= GRAM_KEPT:
        weakref.finalize(features, _grams.pop, key, None).atexit = False
        _grams[key] = gram, unit
    return gram, unit


def _weights(value, width):
    given = np.ascontiguousarray(table(value, "weights"), dtype=np.float64)
    if given.shape[1] != width:
        raise ValueError(f"weights must have a row a user of {width} values, got shape "
                         f"{given.shape}")
    return given


def _given_ratings(ratings, shape):
    """A function that gives one user's ratings with NaN where none was given; None where none
    are."""
    if ratings is None:
        return lambda u: None
    from ..data import _check  # which needs scipy

    if not hasattr(ratings, "tocsr"):
        ratings = numbers(ratings, "ratings")
    if ratings.shape != shape:
        raise ValueError(f"ratings must have shape {shape}, got {ratings.shape}")
    found = _check.ratings("ratings", ratings)

    def of(u):
        row = np.full(shape[1], np.nan)
        part = slice(found.indptr[u], found.indptr[u + 1])
        row[found.indices[part]] = found.data[part]
        return row

    return of


def _streams(user, seed, users):
    """A generator for each user, or None for each where there is no chance."""
    source = getattr(user, "rng", None) if seed is None else seed
    if source is None:
        return [None] * users
    entropy = make_generator(source).integers(2**32, size=4)
    sequence = np.random.SeedSequence([int(value) for value in entropy])
    return [np.random.default_rng(child) for child in sequence.spawn(users)]
