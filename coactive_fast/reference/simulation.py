"""Slow twins of the simulations: literal loops of present, respond, learn.

What their parameters mean say the functions of the same names in `coactive_fast`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, SupportsIndex

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from coactive_fast._typing import Real, Seed, Vector

from . import _check as check
from .coactive_tasks import Items, Ranking, ordering_utility
from .kernels import row_scores
from .metrics import evaluate
from .users import at_work, feedback_from_clicks


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
    feedback_utility : ndarray, shape (T,), or None
        Of the feedback.
    gain_per_user : ndarray, shape (users, T), or None
        Items alone: each user's utility of the feedback less that of the presented item.
    held_out : dict of str to ndarray, or None
        By measure: what `metrics.evaluate` says of the held-out data after `held_out_rounds`.
    held_out_rounds : ndarray of int, or None
        After which rounds the held-out queries were measured; None where there were none.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast import reference
    >>> history = reference.History(np.array([2.0, 0.0]), np.zeros(2), np.array([2.0, 0.0]), None)
    >>> history.average_regret, history.cumulative_regret
    (array([2., 1.]), array([2., 2.]))
    """

    regret: Vector
    utility: Vector
    optimal_utility: Vector
    regret_per_user: Vector | None
    feedback_utility: Vector | None = None
    gain_per_user: Vector | None = None
    held_out: dict[str, Vector] | None = None
    held_out_rounds: NDArray[np.intp] | None = None

    def slack(self, alpha: Real, *, clip: bool = True) -> Vector:
        """``alpha (U(best) - U(presented)) - (U(feedback) - U(presented))`` where positive.

        Over items each user's own, then the mean over the users still there. Without `clip` the
        sign is kept.

        Examples
        --------
        >>> import numpy as np
        >>> from coactive_fast import reference
        >>> h = reference.History(np.array([2.0, 2.0]), np.zeros(2), np.full(2, 2.0), None,
        ...                       np.array([0.5, 1.5]))
        >>> h.slack(0.5), h.slack(0.5, clip=False)
        (array([0.5, 0. ]), array([ 0.5, -0.5]))
        """
        alpha, clip = check.fraction("alpha", alpha), check.flag("clip", clip)
        if self.feedback_utility is None:
            raise ValueError("feedback_utility is not known, and a slack needs it")
        if self.regret_per_user is None:
            slack = alpha * self.regret - (self.feedback_utility - self.utility)
            return np.maximum(slack, 0.0) if clip else slack
        if self.gain_per_user is None:
            raise ValueError("gain_per_user is not known, and a slack over items needs it")
        slack = alpha * self.regret_per_user - self.gain_per_user
        return _mean(np.maximum(slack, 0.0) if clip else slack)

    @property
    def cumulative_regret(self) -> Vector:
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
    def average_regret(self) -> Vector:
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


def simulate(learner: Any, data: Any, user: Any, *,
             order: ArrayLike | None = None, weights: ArrayLike | None = None,
             seed: Seed = None, held_out: Any = None, every: SupportsIndex | None = None,
             measures: Sequence[str] = ("ndcg@10",)) -> History:
    """Let a learner present, a user answer and the learner learn, once for each query of order.

    A user with ``clicks`` is presented the first k places of the task, and the learner has
    `learn_clicks` of them; the feedback is then `feedback_from_clicks`.

    Returns
    -------
    History
        The utilities of all rounds.

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

    every = max(len(order), 1) if every is None else check.positive_count("every", every)
    looks = []

    utility, optimal, feedback = np.zeros((3, len(order)))
    for t, i in enumerate(order):
        query = data[i]
        x = query.features
        best = learner.task.argmax(weights, x)
        if callable(getattr(user, "clicks", None)):
            presented = learner.present(x, k=learner.task.k)
            clicked = user.clicks(query, presented)
            learner.learn_clicks(x, presented, clicked)
            better = feedback_from_clicks(presented, clicked)
        else:
            presented = learner.present(x)
            better = user.respond(query, presented)
            learner.learn(x, presented, better)
        utility[t] = _utility(learner.task, weights, x, presented)
        optimal[t] = _utility(learner.task, weights, x, best)
        feedback[t] = _utility(learner.task, weights, x, better)
        if held_out is not None and (t + 1) % every == 0:
            looks.append(evaluate(learner, held_out, measures=measures))
    history = History(optimal - utility, utility, optimal, None, feedback)
    if held_out is not None:
        history.held_out = {name: np.array([look[name] for look in looks]) for name in measures}
        history.held_out_rounds = every * np.arange(1, len(looks) + 1)
    return history


def simulate_items(learner: Any, items: ArrayLike | Items, weights: ArrayLike, user: Any, *,
                   rounds: SupportsIndex = 1500, ratings: Any = None, n_jobs: SupportsIndex = 1,
                   seed: Seed = None) -> History:
    """Many users of one catalogue, each with a fresh learner; what was presented or wished leaves.

    Returns
    -------
    History
        The means over the users still there.

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

    utility, optimal, feedback = np.full((3, len(weights), rounds), np.nan)
    for u, (true, stream) in enumerate(zip(weights, streams, strict=True)):
        utilities = check.finite("the utilities of items", row_scores(table, true))
        rounded = np.clip(np.rint(utilities), 1.0, 5.0)
        fresh = copy.deepcopy(learner)
        fresh.reset()
        utility[u], optimal[u], feedback[u] = _one_user(
            fresh,
            at_work(user, None, None, stream),
            utilities,
            np.where(np.isnan(given[u]), rounded, given[u]),
            rounds,
        )
    regret, gain = optimal - utility, feedback - utility
    means = (_mean(values) for values in (regret, utility, optimal))
    return History(*means, regret, _mean(feedback), gain)


def _one_user(learner, user, utilities, ratings, rounds):
    """The utility of what was presented, of the best candidate and of the feedback, by round."""
    utility, optimal, feedback = np.full((3, rounds), np.nan)
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
        feedback[t] = utilities[better]
        left = np.setdiff1d(left, gone)
    return utility, optimal, feedback


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
