"""Slow twins of the simulations: literal loops of present, respond, learn."""

import copy
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import scipy.sparse

from . import _check as check
from .coactive_tasks import Items, Ranking, ordering_utility
from .kernels import row_scores
from .users import at_work


@dataclass(eq=False)
class History:
    """What happened in each of T rounds; items: means over the users still there.

    Attributes
    ----------
    regret : ndarray, shape (T,)
        ``optimal_utility - utility``.
    utility, optimal_utility : ndarray, shape (T,)
        Of the presented and of the best object.
    regret_per_user : ndarray, shape (users, T), or None
        Items alone; NaN once a user's candidates have run out.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast import reference
    >>> history = reference.History(np.array([2.0, 0.0]), np.zeros(2), np.array([2.0, 0.0]), None)
    >>> history.average_regret, history.cumulative_regret
    (array([2., 1.]), array([2., 2.]))
    """

    regret: np.ndarray
    utility: np.ndarray
    optimal_utility: np.ndarray
    regret_per_user: np.ndarray | None

    @property
    def cumulative_regret(self):
        """The sum of the regret of the first t rounds, for every t.

        Examples
        --------
        >>> import numpy as np
        >>> from coactive_fast import reference
        >>> one = np.ones(2)
        >>> reference.History(one, one, 2 * one, None).cumulative_regret
        array([1., 2.])
        """
        return np.cumsum(self.regret)

    @property
    def average_regret(self):
        """The mean regret of the first t rounds, for every t.

        Examples
        --------
        >>> import numpy as np
        >>> from coactive_fast import reference
        >>> one = np.ones(2)
        >>> reference.History(one, one, 2 * one, None).average_regret
        array([1., 1.])
        """
        return self.cumulative_regret / np.arange(1, len(self.regret) + 1)


def simulate(learner, data, user, *, order=None, weights=None, seed=None):
    """Let a learner present, a user answer and the learner learn, once for each query of order.

    Parameters
    ----------
    learner : a coactive learner
        Learns; where it stood before is where it starts.
    data : sequence
        ``data[i].features`` is the x of query i (rankings: documents x N); users may look at
        more, such as ``data[i].relevance``.
    user : object with ``respond(data[i], presented)``
        A user of `users` goes by the k of the task, whatever its own, and by w* if it has no
        weights.
    order : array_like of int, optional
        Query indices, repeats allowed; None: every query once, in order.
    weights : array_like, shape (N,), optional
        w*, by which regret is measured. None: the user's weights where it has some, else
        ``data.fit_weights()``.
    seed : optional
        None: the user's own generator, which moves on. Else the user works on
        ``default_rng(seed)``.

    Returns
    -------
    History

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from coactive_fast import reference
    >>> data = [SimpleNamespace(features=[[1.0], [3.0], [2.0]])]
    >>> learner = reference.PreferencePerceptron(reference.Ranking(k=1))
    >>> user = reference.users.AlphaInformative(1.0, weights=[1.0])
    >>> reference.simulate(learner, data, user, order=[0, 0]).regret
    array([2., 0.])
    """
    order = range(len(data)) if order is None else check.ranking("order", order)
    order = [check.index("order", i, len(data)) for i in order]
    if weights is None:
        weights = getattr(user, "weights", None)
    if weights is None:
        if not callable(getattr(data, "fit_weights", None)):
            raise ValueError("weights are needed: neither the user nor data can give them")
        weights = data.fit_weights()
    weights = check.vector("weights", weights)
    user = at_work(user, getattr(learner.task, "k", None), weights, seed)

    utility, optimal = np.zeros(len(order)), np.zeros(len(order))
    for t, i in enumerate(order):
        query = data[i]
        x = query.features
        best = learner.task.argmax(weights, x)
        presented = learner.present(x)
        better = user.respond(query, presented)
        learner.learn(x, presented, better)
        utility[t] = _utility(learner.task, weights, x, presented)
        optimal[t] = _utility(learner.task, weights, x, best)
    return History(optimal - utility, utility, optimal, None)


def simulate_items(
    learner, items, weights, user, *, rounds=1500, ratings=None, n_jobs=1, seed=None
):
    """Many users of one catalogue, each with a fresh learner; what was presented or wished leaves.

    Parameters
    ----------
    learner : a coactive learner
        The template: every user gets a reset copy, and it is not changed.
    items : array_like, shape (n, N), or Items
        The catalogue.
    weights : array_like, shape (users, N)
        Each user's w*.
    user : object with ``respond(query, presented)``
        The query has ``candidates``, ``utilities`` and ``ratings``.
    rounds : int, default 1500
        A user whose candidates have run out has NaN from there on.
    ratings : sparse or dense array of shape (users, n), optional
        Sparse: what is stored was given; dense: what is not NaN was. A rating that was not
        given is the utility rounded to the nearest of 1 .. 5 (a half to the even one).
    n_jobs : int, default 1
        Checked, and without meaning here.
    seed : optional
        What the users' own streams derive from; None: the generator of `user`. Neither moves.

    Returns
    -------
    History

    Examples
    --------
    >>> from coactive_fast import reference
    >>> items = [[1.0], [3.0], [2.0]]
    >>> learner = reference.PreferencePerceptron(reference.Items(items))
    >>> user = reference.users.AlphaInformative(1.0)
    >>> reference.simulate_items(learner, items, [[1.0], [-1.0]], user, rounds=2).regret_per_user
    array([[2., 0.],
           [0., 1.]])
    """
    table = items.features if isinstance(items, Items) else check.table("items", items)
    task = learner.task
    if isinstance(task, Items) and not np.array_equal(task.features, table):
        raise ValueError("items are not the features of the learner's task")
    weights = check.finite("weights", check.real_array("weights", weights, 2))
    check.same_length("weights", weights.shape[1], table.shape[1], of="a row of items")
    if getattr(user, "weights", None) is not None:
        raise ValueError("weights of the user are of no use: every user has a row of weights")
    rounds = check.count("rounds", rounds)
    if n_jobs != -1:
        check.positive_count("n_jobs", n_jobs)
    given = _given_ratings(ratings, (len(weights), len(table)))
    streams = _streams(user, seed, len(weights))

    utility = np.full((len(weights), rounds), np.nan)
    optimal = utility.copy()
    for u, (true, stream) in enumerate(zip(weights, streams, strict=True)):
        utilities = check.finite("the utilities of items", row_scores(table, true))
        rounded = np.clip(np.rint(utilities), 1.0, 5.0)
        fresh = copy.deepcopy(learner)
        fresh.reset()
        utility[u], optimal[u] = _one_user(
            fresh,
            at_work(user, None, None, stream),
            utilities,
            np.where(np.isnan(given[u]), rounded, given[u]),
            rounds,
        )
    regret = optimal - utility
    return History(_mean(regret), _mean(utility), _mean(optimal), regret)


def _one_user(learner, user, utilities, ratings, rounds):
    """The utility of what was presented, and of the best candidate, in every round."""
    utility, optimal = np.full(rounds, np.nan), np.full(rounds, np.nan)
    left = np.arange(len(utilities))
    for t in range(rounds):
        if left.size == 0:
            break
        query = SimpleNamespace(
            candidates=left.copy(), utilities=utilities.copy(), ratings=ratings.copy()
        )
        presented = learner.present(left)
        better = user.respond(query, presented)
        gone = np.append(presented, better)
        if not np.isin(gone, left).all():
            raise ValueError(f"better is item {better}, which is not among the candidates")
        learner.learn(left, presented, better)
        utility[t] = np.mean(utilities[presented])  # a dueling bandit presents two
        optimal[t] = utilities[left].max()
        left = np.setdiff1d(left, gone)
    return utility, optimal


def _utility(task, weights, x, y):
    """``w* . phi(x, y)``; of rankings as the sum over the places of the documents' utilities."""
    if isinstance(task, Ranking):
        return ordering_utility(task.scores(weights, x), y, task.k)
    return float(weights @ task.features(x, y))


def _given_ratings(ratings, shape):
    """The ratings as a dense array with NaN where none was given."""
    dense = np.full(shape, np.nan)
    if ratings is None:
        return dense
    if scipy.sparse.issparse(ratings):
        stored = ratings.tocsr().tocoo()  # which adds up what is stored twice
        found, rows, columns = stored.data, *stored.coords
    else:
        ratings = check.real_array("ratings", ratings, 2)
        rows, columns = np.nonzero(~np.isnan(ratings))
        found = ratings[rows, columns]
    if ratings.shape != shape:
        raise ValueError(f"ratings have the shape {ratings.shape}, but {shape} is needed")
    dense[rows, columns] = check.vector("ratings", found)
    return dense


def _streams(user, seed, users):
    """A generator for each user, or None for each where no chance is at work."""
    rng = getattr(user, "rng", None) if seed is None else seed
    if rng is None:
        return [None] * users
    entropy = check.generator("seed", rng).integers(2**32, size=4)
    sequence = np.random.SeedSequence([int(value) for value in entropy])
    return [np.random.default_rng(child) for child in sequence.spawn(users)]


def _mean(per_user):
    """The mean over the users still there, NaN when none is."""
    there = ~np.isnan(per_user)
    number = there.sum(axis=0)
    total = np.where(there, per_user, 0.0).sum(axis=0)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)
