"""Beyond one machine, by Dask (extra ``dask``).

`Workers` runs the experiments of ``coactive-fast reproduce --cluster``; `distributed_simulate` is
the Batch Preference Perceptron over data that stay where they are; `predict`,
`decision_function` and `rank` score Dask arrays and bags.
"""

import types
from concurrent.futures import CancelledError

import numpy as np

from coactive_fast.coactive._engine import CoactiveEngine
from coactive_fast.coactive._learners import PreferencePerceptron
from coactive_fast.coactive._record import Record
from coactive_fast.coactive._simulation import _at_work, _compiled_run, _same_length
from coactive_fast.coactive._tasks import Ranking
from coactive_fast.coactive._user import User
from coactive_fast.commands import Trouble
from coactive_fast.learner._check import count
from coactive_fast.learner._extras import require
from coactive_fast.learner._history import CoactiveHistory
from coactive_fast.learner._progress import reporter

__all__ = ["Workers", "decision_function", "distributed_simulate", "predict", "rank"]

RETRIES = 3  # of a piece of work whose worker died


# --- experiments --------------------------------------------------------------------------------


class Workers:
    """The workers of a Dask cluster, as those who run the tasks of experiments.

    Parameters
    ----------
    cluster : str or distributed.Client
        The scheduler's address, as ``tcp://host:8786``, or a client of it.
    timeout : float, default=10.0
        Seconds until a scheduler that does not answer is given up.
    """

    def __init__(self, cluster, *, timeout=10.0):
        self.cluster, self.timeout, self.client = cluster, timeout, None
        self.asked, self.stopped = {}, False  # futures of each call of `each`

    def __enter__(self):
        distributed = require("distributed", "dask", "a cluster")
        if not isinstance(self.cluster, str):
            self.client = self.cluster
        else:
            try:
                self.client = distributed.Client(self.cluster, timeout=self.timeout,
                                                 set_as_default=False)
            except (OSError, TimeoutError, ValueError) as error:
                raise Trouble(f"--cluster {self.cluster}: no scheduler answers there") from error
        try:
            self.client.wait_for_workers(1, timeout=self.timeout)
        except TimeoutError as error:
            address = self.client.scheduler.address
            self.__exit__()
            raise Trouble(f"--cluster {address}: it has no workers") from error
        self.jobs = max(1, sum(self.client.nthreads().values()))
        return self

    def __exit__(self, *error):
        if isinstance(self.cluster, str):
            self.client.close()

    def each(self, tasks, sets):
        """(index, (result, seconds)) of every task, as they end."""
        from distributed import as_completed

        from coactive_fast.experiments._run import timed

        futures = [self.client.submit(timed, task, sets, pure=False, retries=RETRIES)
                   for task in tasks]
        at = {future.key: i for i, future in enumerate(futures)}
        self.asked[id(futures)] = futures
        try:
            if self.stopped:
                raise CancelledError
            with self.client.as_current():  # ours is no default client
                ended = as_completed(futures)
            for future in ended:
                yield at[future.key], future.result()
        finally:
            del self.asked[id(futures)]
            self.client.cancel([future for future in futures if not future.done()])

    def stop(self):
        """Cancels all that was asked for; whoever waits for it gets a CancelledError."""
        self.stopped = True
        for futures in list(self.asked.values()):
            self.client.cancel([future for future in futures if not future.done()])


# --- a batch over many machines -------------------------------------------------------------------


def distributed_order(sizes, batch):
    """The order in which `distributed_simulate` counts the queries of its partitions.

    Each batch takes its share from every partition, one partition after the other; where one is
    used up, the others go on.

    Parameters
    ----------
    sizes : sequence of int
        Queries of each partition.
    batch : int

    Returns
    -------
    ndarray of intp, shape (queries, 2)
        Partition, and query within it. ``offsets[p] + i`` gives the `order` of a simulation over
        all data on one machine, ``offsets`` being where each partition begins in them.

    Examples
    --------
    >>> from coactive_fast.adapters.dask import distributed_order
    >>> distributed_order([3, 2], 3).tolist()
    [[0, 0], [0, 1], [1, 0], [0, 2], [1, 1]]
    """
    sizes, batch = np.asarray(sizes, dtype=np.intp), count("batch", batch, least=1)
    shares = np.full(len(sizes), batch // len(sizes))
    shares[:batch % len(sizes)] += 1
    shares = np.maximum(shares, 1)
    found, at = [], np.zeros(len(sizes), dtype=np.intp)
    while (at < sizes).any():
        for p, share in enumerate(shares):
            end = min(sizes[p], at[p] + share)
            found.extend((p, i) for i in range(at[p], end))
            at[p] = end
    return np.array(found, dtype=np.intp).reshape(-1, 2)


def _play(data, order, task, user, weights, truth):
    """On a worker: one part of a batch by the compiled loop; its Deltas and utilities."""
    deltas = np.empty((len(order), data.dimension))
    utility, optimal = np.empty(len(order)), np.empty(len(order))
    engine = CoactiveEngine(task, lambda: Record(weights, deltas))
    run = _compiled_run(types.SimpleNamespace(task=task), data, user, order, truth, utility,
                        optimal)
    run.run(engine, None)
    return deltas, utility, optimal


class _Partitions:
    """Where the data are; what was lost with its worker is sent again."""

    def __init__(self, client, given):
        self.client, self.given = client, list(given)
        if not self.given:
            raise ValueError("partitions must hold at least one part")
        self.there = [self.send(part) for part in self.given]

    def send(self, part):
        from dask import is_dask_collection
        from distributed import Future

        if isinstance(part, Future):
            return part
        if is_dask_collection(part):
            return self.client.compute(part)
        return self.client.scatter(part, hash=False)

    def sizes(self):
        return self.client.gather([self.client.submit(len, part, pure=False)
                                   for part in self.there])

    def play(self, runs, *arguments):
        """Results of ``_play`` for runs of (partition, order), in their order."""
        results = [None] * len(runs)
        for attempt in range(RETRIES + 1):
            waiting = {i: self.client.submit(_play, self.there[p], order, *arguments, pure=False,
                                             retries=RETRIES)
                       for i, (p, order) in enumerate(runs) if results[i] is None}
            lost = set()
            for i, future in waiting.items():
                try:
                    results[i] = future.result()
                except Exception as error:
                    if attempt == RETRIES or not _is_loss(error):
                        raise
                    lost.add(runs[i][0])
            if not lost:
                return results
            for p in lost:
                self.there[p] = self.send(self.given[p])
        return results


def _is_loss(error):
    """Whether it says that data or a worker went away."""
    from distributed import CancelledError, KilledWorker

    return isinstance(error, CancelledError | KilledWorker)


def distributed_simulate(learner, partitions, user, batch, client, *, weights=None,
                         progress=None):
    """The Batch Preference Perceptron over data that lie on many machines.

    The weights go out once a batch; each worker plays its part of the batch in the compiled loop
    over its own data; the parts' Deltas come back and are added in the batch's order, that of
    `distributed_order`. So the learner ends bit for bit as after
    ``simulate(learner, all_data, user, order=...)`` in that order on one machine, whatever the
    number of workers and whichever of them died. (Sums would be shorter messages than the Deltas
    themselves, N numbers a round, but added in another order.)

    Parameters
    ----------
    learner : PreferencePerceptron over Ranking
        Its `batch` is set to `batch`; goes on from where it stands.
    partitions : sequence
        `RankingData`, or futures and delayed objects of some. Those given as data are sent to
        the workers once.
    user : user of this package without chance
        As `AlphaInformative`, `NoisyDepth`.
    batch : int
        Rounds between two moves of the weights, at least 2. At 24 documents of 700 features a
        round is 2 µs of work and 6 KB of message: batches of thousands are worth their way.
    client : distributed.Client
    weights : array_like, optional
        w*, by which regret is measured. None: those of the user.
    progress : bool or callable, optional

    Returns
    -------
    CoactiveHistory
        In the order of `distributed_order`.
    """
    if not isinstance(learner, PreferencePerceptron) or not isinstance(learner.task, Ranking):
        raise TypeError("learner must be a PreferencePerceptron over a Ranking")
    if not isinstance(user, User) or not user.rankings or hasattr(user, "rng"):
        raise TypeError("user must be one of this package's users of rankings without chance, "
                        f"got {type(user).__name__}")
    batch = count("batch", batch, least=2)
    truth = getattr(user, "weights", None) if weights is None else weights
    if truth is None:
        raise ValueError("weights must be given: neither the user nor one place has all data")
    truth = np.ascontiguousarray(truth, dtype=np.float64)
    if learner.weights.size:
        _same_length(truth, "weights", learner.weights.size)
    require("distributed", "dask", "distributed_simulate")
    learner.set_params(batch=batch)
    user = _at_work(user, learner.task.k, None)
    parts = _Partitions(client, partitions)
    order = distributed_order(parts.sizes(), batch)
    utility, optimal, done = np.empty(len(order)), np.empty(len(order)), 0
    with reporter(progress) as report:
        try:
            while done < len(order):
                end = min(len(order), done + batch - _waiting(learner))
                runs = _runs(order[done:end])
                for deltas, *measured in parts.play(runs, learner.task, user, learner.weights,
                                                    truth):
                    for t, delta in enumerate(deltas):
                        utility[done], optimal[done] = measured[0][t], measured[1][t]
                        learner.update(delta)
                        done += 1
                if report is not None:
                    report(done, len(order))
        finally:
            learner.last_history = CoactiveHistory(
                regret=optimal[:done] - utility[:done], utility=utility[:done],
                optimal_utility=optimal[:done])
    return learner.last_history


def _waiting(learner):
    """Rounds of the batch that is not finished."""
    return learner._engine.state()["waiting"] if learner.rounds else 0


def _runs(order):
    """(partition, queries) of each stretch of one partition."""
    cuts = np.flatnonzero(np.diff(order[:, 0])) + 1
    return [(int(part[0, 0]), np.ascontiguousarray(part[:, 1])) for part in np.split(order, cuts)]


# --- scoring ------------------------------------------------------------------------------------


def predict(learner, X):
    """`learner.predict` over a Dask array of rows.

    Parameters
    ----------
    learner : multiclass learner
        A copy goes to the workers with the graph.
    X : dask.array.Array of shape (n, d), in one block along the columns

    Returns
    -------
    dask.array.Array of intp, shape (n,)
    """
    return _rows("X", X).map_blocks(_predict, learner, dtype=np.intp, drop_axis=1)


def decision_function(learner, X):
    """`learner.decision_function` over a Dask array of rows.

    Parameters
    ----------
    learner : multiclass learner
    X : dask.array.Array of shape (n, d), in one block along the columns

    Returns
    -------
    dask.array.Array of float64, shape (n, K)
    """
    X = _rows("X", X)
    return X.map_blocks(_scores, learner, dtype=np.float64,
                        chunks=(X.chunks[0], (learner.n_classes,)))


def _rows(name, X):
    if getattr(X, "ndim", None) != 2 or not hasattr(X, "map_blocks"):
        raise TypeError(f"{name} must be a Dask array of two dimensions, got {type(X).__name__}")
    return X.rechunk({1: -1})


def _predict(block, learner):
    return learner.predict(block)


def _scores(block, learner):
    return learner.decision_function(block)


def rank(learner, queries, *, k=None):
    """`learner.present` for every query of a Dask bag.

    Parameters
    ----------
    learner : coactive learner over Ranking
    queries : dask.bag.Bag of arrays (documents, N)
    k : int, optional
        Only the first k places.

    Returns
    -------
    dask.bag.Bag of arrays of int
    """
    if not hasattr(queries, "map_partitions"):
        raise TypeError(f"queries must be a Dask bag, got {type(queries).__name__}")
    return queries.map(_present, learner=learner, k=k)


def _present(features, learner, k):
    return learner.present(features, k=k)
