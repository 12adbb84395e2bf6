"""Simulations of the coactive family: what they are given, and which loop plays them."""

import copy

import numpy as np

from ..learner._history import CoactiveHistory
from ..learner._progress import reporter
from ..learner._random import make_generator
from ._dueling import DuelingBandit
from ._dueling_runs import DuelingRankings
from ._learners import CoactiveLearner
from ._simulate import RankingRun
from ._tasks import Ranking
from ._user import User


def simulate(learner, data, user, *, order=None, weights=None, seed=None, progress=None):
    """Presents, lets a user answer, and learns, once for each query of `order`.

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
        w*, by which regret is measured. None: the user's weights where it has some, else
        ``data.fit_weights()``.
    seed : optional
        The user works on ``numpy.random.default_rng(seed)``. None: on its own generator, which
        moves on.
    progress : bool or callable, optional
        True shows a bar; a callable is called now and then as ``progress(done, total)`` and may
        read the learner.

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
    """
    if not callable(getattr(user, "respond", None)):
        raise TypeError(f"user must have respond(query, presented), got {type(user).__name__}")
    order = _order(order, len(data))
    weights = _true_weights(weights, user, data)
    user = _at_work(user, getattr(learner.task, "k", None), seed)
    utility, optimal = np.empty(len(order)), np.empty(len(order))
    if _is_compiled(learner, data, user):
        run = _compiled_run(learner, data, user, order, weights, utility, optimal)
    else:
        run = _PythonRun(learner, data, user, order, weights, utility, optimal)
    with reporter(progress) as report:
        try:
            run.run(learner._engine, report)
        finally:
            done = run.done
            learner.last_history = CoactiveHistory(
                regret=optimal[:done] - utility[:done], utility=utility[:done],
                optimal_utility=optimal[:done])
    return learner.last_history


def _order(order, n):
    if order is None:
        return np.arange(n, dtype=np.intp)
    given = np.asarray(order)
    if given.size == 0:
        given = given.astype(np.intp)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise TypeError("order must be a sequence of query indices")
    if given.size and (given.min() < 0 or given.max() >= n):
        raise ValueError(f"order must be in 0 ... {n - 1} ({n} queries), got "
                         f"{given.min() if given.min() < 0 else given.max()}")
    return np.ascontiguousarray(given, dtype=np.intp)


def _true_weights(weights, user, data):
    if weights is None:
        weights = getattr(user, "weights", None)
    if weights is None:
        if not callable(getattr(data, "fit_weights", None)):
            raise ValueError("weights must be given: neither the user nor data can tell them")
        weights = data.fit_weights()
    given = np.ascontiguousarray(weights, dtype=np.float64)
    if given.ndim != 1 or not np.isfinite(given).all():
        raise ValueError("weights must be a vector of finite numbers")
    return given


def _at_work(user, k, seed):
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
            and isinstance(user, User) and user.rankings
            and type(user).respond is User.respond)


def _compiled_run(learner, data, user, order, weights, utility, optimal):
    d = data.features.shape[1]
    own = getattr(user, "weights", None)
    _same_length(weights, "weights", d)
    if own is not None:
        _same_length(own, "weights of the user", d)
        own = None if np.array_equal(own, weights) else own
    offsets = np.ascontiguousarray(data.offsets, dtype=np.intp)
    most = int(np.diff(offsets).max(initial=1))
    make = DuelingRankings if isinstance(learner, DuelingBandit) else RankingRun
    return make(data.features, np.ascontiguousarray(data.relevance, dtype=np.float64), offsets,
                order, weights, own, user._decider(), learner.task.k, most, utility, optimal)


def _same_length(weights, name, d):
    if len(weights) != d:
        raise ValueError(f"{name} must have length {d} to go with data, got {len(weights)}")


class _PythonRun:
    """The loop of single calls, for users, tasks and rules that are Python's."""

    def __init__(self, learner, data, user, order, weights, utility, optimal):
        self.learner, self.data, self.user, self.order = learner, data, user, order
        self.weights, self.utility, self.optimal = weights, utility, optimal
        if isinstance(user, User) and getattr(user, "weights", 0) is None:
            user.weights = weights
        self.done = 0
        if isinstance(learner.task, Ranking) and len(data):
            _same_length(weights, "weights", np.shape(data[0].features)[-1])

    def run(self, engine, report):
        task = self.learner.task
        for t, i in enumerate(self.order):
            query = self.data[i]
            x = query.features
            best = task.argmax(self.weights, x)
            presented = self.learner.present(x)
            better = self.user.respond(query, presented)
            self.learner.learn(x, presented, better)
            self.utility[t] = _utility_of(task, self.weights, x, presented)
            self.optimal[t] = _utility_of(task, self.weights, x, best)
            self.done = t + 1
            if report is not None:
                report(self.done, len(self.order))


def _utility_of(task, weights, x, y):
    """``w* . phi(x, y)``."""
    return float(np.dot(weights, np.asarray(task.features(x, y), dtype=np.float64)))
