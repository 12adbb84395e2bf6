"""Simulations of many users over one catalogue."""

from __future__ import annotations

import copy
import os
import threading
import weakref
from types import SimpleNamespace
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Progress
from ..learner._check import count
from ..learner._history import CoactiveHistory, mean_over_users
from ..learner._random import make_generator
from ..learner._run import Run
from ..rows._formats import checked_csr
from ..rows._rows import table
from ._clicks import DuelingItems
from ._drawing_learners import DuelingBandit
from ._learners import CoactiveLearner, PreferencePerceptron
from ._simulate import MOST_MOVES, ItemsRun, item_utilities
from ._simulation import at_work
from ._tasks import Items
from ._user import User, numbers

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
    jobs = count("n_jobs", n_jobs, least=1) if n_jobs != -1 else os.cpu_count() or 1
    return _Run(learner, items, weights, user, rounds, ratings, seed, jobs).play(learner, progress)


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
                         and learner._engine.compiled and isinstance(user, User) and user.items
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
        make = DuelingItems if isinstance(self.learner, DuelingBandit) else ItemsRun
        shared = make(self.items.features[:], self.gram(), self.utility, self.optimal,
                      self.feedback)

        def play(u):
            ratings = None if self.ratings is None else self.ratings(u)
            shared.play(u, engine.fresh_rule(), self.user_at_work(u)._decider(), self.weights[u],
                        ratings)

        _Crew(len(self.weights), play, shared).work(self.jobs, report)

    def gram(self):
        features = self.items.features
        n, d = features.shape
        if (type(self.learner) is not PreferencePerceptron or d < GRAM_FEATURES
                or 2 * n * n > GRAM_BYTES or self.rounds > MOST_MOVES
                or len(self.weights) * self.rounds < n):
            return None
        return _gram_of(features)

    # --- Python's own users, tasks and rules --------------------------------------------------

    def python_users(self, report):
        for u, weights in enumerate(self.weights):
            utilities = item_utilities(self.items.features, weights)
            rounded = np.clip(np.rint(utilities), 1.0, 5.0)
            given = None if self.ratings is None else self.ratings(u)
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


class _Crew:
    """Threads that take one user after the other; the first error, or Ctrl-C, stops them all."""

    def __init__(self, users, play, shared):
        self.play, self.shared, self.users = play, shared, users
        self.next, self.done, self.error = iter(range(users)), 0, None
        self.changed = threading.Condition()

    def work(self, jobs, report):
        threads = [threading.Thread(target=self.serve, daemon=True)
                   for _ in range(min(jobs, self.users))]
        try:
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                with self.changed:
                    self.changed.wait(0.02)  # short: signals reach this thread alone
                if report is not None:
                    report(self.done, self.users)
            if report is not None:
                report(self.done, self.users)
        finally:
            self.shared.stop = True
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
        if self.error is not None:
            raise self.error

    def serve(self):
        while self.error is None and not self.shared.stop:
            with self.changed:
                u = next(self.next, None)
            if u is None:
                break
            try:
                self.play(u)
            except BaseException as error:
                self.error = error
            with self.changed:
                self.done += 1
                self.changed.notify()
        with self.changed:
            self.changed.notify()


def _weights(value, width):
    given = np.ascontiguousarray(table(value, "weights"), dtype=np.float64)
    if given.shape[1] != width:
        raise ValueError(f"weights must have a row a user of {width} values, got shape "
                         f"{given.shape}")
    return given


def _given_ratings(ratings, shape):
    """None, or a function that gives one user's ratings with NaN where none was given."""
    if ratings is None:
        return None
    sparse = hasattr(ratings, "tocsr")
    found = checked_csr(ratings, "ratings") if sparse else numbers(ratings, "ratings")
    if found.shape != shape:
        raise ValueError(f"ratings must have shape {shape}, got {found.shape}")
    values = found.data if sparse else found[~np.isnan(found)]
    if not np.isfinite(values).all():
        raise ValueError("ratings must be finite where they are given")

    def of(u):
        if not sparse:
            return found[u]
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
