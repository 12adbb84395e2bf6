"""Beyond one machine, by Dask (extra ``dask``).

`Workers` runs the experiments of ``coactive-fast reproduce --cluster``; `distributed_simulate` is
the Batch Preference Perceptron over data that stay where they are; `predict`,
`decision_function` and `rank` score Dask arrays and bags.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import types
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coactive_fast._initialized import Initialized
from coactive_fast._typing import Progress, Self
from coactive_fast.coactive._learners import CoactiveLearner, PreferencePerceptron
from coactive_fast.coactive._rules import CoactiveEngine, Record
from coactive_fast.coactive._simulation import at_work, compiled_run, weights_of
from coactive_fast.coactive._tasks import Ranking
from coactive_fast.coactive._user import User
from coactive_fast.commands import Trouble
from coactive_fast.data import RankingData
from coactive_fast.learner._check import count, number, same_length
from coactive_fast.learner._extras import require
from coactive_fast.learner._history import CoactiveHistory
from coactive_fast.learner._progress import reporter
from coactive_fast.multiclass._learners import MulticlassLearner

Collection = TypeVar("Collection")  # of Dask

__all__ = ["Workers", "decision_function", "distributed_order", "distributed_simulate", "predict",
           "rank"]

RETRIES = 3  # of data that went away with their worker


# --- experiments --------------------------------------------------------------------------------


class Workers(Initialized):
    """The workers of a Dask cluster, as those who run the tasks of experiments.

    Parameters
    ----------
    cluster : str or distributed.Client
        The scheduler's address, as ``tcp://host:8786``, or a client of it.
    timeout : float, default=10.0
        Seconds until a scheduler that does not answer is given up.

    See Also
    --------
    distributed_simulate : One long run over data on many machines.
    """

    cluster: Any
    timeout: float
    client: Any
    asked: dict[int, list[Any]]  # futures of each call of `each`
    stopped: bool

    def __init__(self, cluster: Any, *, timeout: float = 10.0) -> None:
        self.cluster = cluster
        self.timeout = number("timeout", timeout, above=0.0)
        self.client = None
        self.asked = {}
        self.stopped = False

    def __enter__(self) -> Self:
        self.client = (self._connected() if isinstance(self.cluster, str)
                       else _plain_client("cluster", self.cluster))
        try:
            self.client.wait_for_workers(1, timeout=self.timeout)
        except (TimeoutError, asyncio.TimeoutError) as error:  # one and the same from 3.11 on
            address = self.client.scheduler.address
            self.__exit__()
            raise Trouble(f"--cluster {address}: it has no workers") from error
        self.jobs: int = max(1, sum(self.client.nthreads().values()))
        return self

    def __exit__(self, *error: object) -> None:
        if isinstance(self.cluster, str):
            self.client.close()

    def _connected(self):
        """A client of the scheduler at the address.

        One that gets no answer is closed here. Left to the garbage collector it is closed by
        whichever thread collects, which can wait for ever for the lock that Dask holds while it
        starts the loop of the next client.
        """
        distributed = require("distributed", "dask", "a cluster")
        client = distributed.Client.__new__(distributed.Client)
        try:
            with ThreadPoolExecutor(1) as pool:  # there may be a loop in this thread
                pool.submit(asyncio.run, self._answered()).result()
            client.__init__(self.cluster, timeout=self.timeout, set_as_default=False)
        except Exception as error:  # what answers there may be no scheduler at all
            with contextlib.suppress(Exception):  # it may have failed before there was a loop
                client.close(timeout=self.timeout)
            raise Trouble(f"--cluster {self.cluster}: no scheduler answers there") from error
        return client

    async def _answered(self):
        """Asks for a scheduler's name: a client would wait for ever for what takes the connection
        and is silent."""
        from distributed.core import rpc
        from distributed.security import Security

        how = Security().get_connection_args("client")
        async with rpc(self.cluster, connection_args=how) as other:
            await asyncio.wait_for(other.identity(), self.timeout)

    def each(self, tasks: Sequence[Any], sets: Any) -> Iterator[tuple[int, Any]]:
        """(index, (result, seconds)) of every task, as they end.

        Parameters
        ----------
        tasks : sequence
            What `coactive_fast.experiments` plans: each is called with the sets on a worker.
        sets : object
            The data sets, which every task is given.

        Yields
        ------
        tuple
            The task's place in `tasks`, and its result with the seconds that it took, those of the
            processor. A worker with several threads cannot tell whose they are: give it one.
        """
        from distributed import as_completed

        from coactive_fast.experiments._run import timed

        # Dask gives the task of a worker that died to another; one that fails is not tried again
        futures = [self.client.submit(timed, task, sets, pure=False) for task in tasks]
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

    def stop(self) -> None:
        """Cancels all that was asked for; whoever waits for it gets a CancelledError."""
        self.stopped = True
        for futures in list(self.asked.values()):
            self.client.cancel([future for future in futures if not future.done()])


def _plain_client(name, client):
    distributed = require("distributed", "dask", "a cluster")
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise TypeError(f"{name} must be a distributed.Client that is not asynchronous, got "
                        f"{type(client).__name__}")
    return client


# --- a batch over many machines -------------------------------------------------------------------


def distributed_order(sizes: ArrayLike, batch: int) -> NDArray[np.intp]:
    """The order in which `distributed_simulate` counts the queries of its partitions.

    Each batch takes its share from every partition, one partition after the other; where one is
    used up, the others go on.

    Parameters
    ----------
    sizes : sequence of int
        Queries of each partition.
    batch : int
        Rounds of a batch over all partitions.

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
    batch = count("batch", batch, least=1)
    sizes = np.array([count("sizes", size) for size in sizes], dtype=np.intp)
    if not len(sizes):
        raise ValueError("sizes must hold at least one part")
    shares = np.full(len(sizes), batch // len(sizes))
    shares[:batch % len(sizes)] += 1
    part = np.repeat(np.arange(len(sizes)), sizes)
    query = np.arange(len(part)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    turn = query // np.maximum(shares, 1)[part]
    return np.column_stack([part, query])[np.lexsort((query, part, turn))]


def _play(data, order, task, user, weights, truth):
    """On a worker: one part of a batch by the compiled loop; its Deltas, and what was measured."""
    deltas = np.empty((len(order), data.dimension))
    engine = CoactiveEngine()
    engine._start({"make": lambda: Record(weights, deltas), "task": task, "dimension": 0})
    run = compiled_run(types.SimpleNamespace(task=task), data, user, order, truth)
    run.run(engine, None)
    return deltas, *run.measured()


class _Partitions:
    """Where the data are; what was lost with its worker is sent again."""

    def __init__(self, client: Any, given: Any) -> None:
        if isinstance(given, RankingData):
            raise TypeError("partitions must be a sequence of parts; one part is [data]")
        self.client, self.given = client, list(given)
        if not self.given:
            raise ValueError("partitions must hold at least one part")
        self.there = [self.send(part) for part in self.given]

    def send(self, part: Any) -> Any:
        from dask import is_dask_collection
        from distributed import Future

        if isinstance(part, Future):
            return part
        if is_dask_collection(part):
            return self.client.compute(part)
        _form(part)
        return self.client.scatter(part, hash=False)

    def ask(self, function: Callable[..., Any], runs: Sequence[tuple[Any, ...]],
            *arguments: Any) -> list[Any]:
        """``function(part, *rest, *arguments)`` for runs of (part's number, *rest), in order."""
        from distributed import CancelledError, KilledWorker

        results, attempt = [None] * len(runs), 0
        while True:
            waiting = {i: self.client.submit(function, self.there[p], *rest, *arguments,
                                             pure=False)
                       for i, (p, *rest) in enumerate(runs) if results[i] is None}
            lost = set()
            for i, future in waiting.items():
                try:
                    results[i] = future.result()
                except (CancelledError, KilledWorker):  # data or a worker went away
                    if attempt == RETRIES:
                        raise
                    lost.add(runs[i][0])
            if not lost:
                return results
            attempt += 1
            for p in lost:
                self.there[p] = self.send(self.given[p])


def _form(part):
    """On a worker too: how many queries and features a part has."""
    if not isinstance(part, RankingData):
        raise TypeError(f"partitions must hold RankingData, got {type(part).__name__}")
    return len(part), part.dimension


def distributed_simulate(learner: PreferencePerceptron, partitions: Sequence[Any], user: Any,
                         batch: int, client: Any, *, weights: ArrayLike | None = None,
                         progress: Progress = None) -> CoactiveHistory:
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
        round is 2 µs of work and 6 KB of message, which the client holds for one batch, and a
        batch takes Dask 10 to 50 ms: batches of thousands are worth their way.
    client : distributed.Client
        The cluster whose workers do the rounds.
    weights : array_like, optional
        The w* by which regret is measured. None: those of the user.
    progress : bool or callable, optional
        True shows a bar; a callable is called with the rounds played and all of them.

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
    truth = weights_of(weights, user, None)
    _plain_client("client", client)
    user = at_work(user, learner.task.k, None)
    parts = _Partitions(client, partitions)
    forms = parts.ask(_form, [(p,) for p in range(len(parts.there))])
    order = distributed_order(_sizes(forms, learner, user, truth), batch)
    utility, optimal, feedback = (np.empty(len(order)) for _ in range(3))
    before = learner.rounds
    with reporter(progress) as report:
        learner.set_params(batch=batch)
        try:
            while (done := learner.rounds - before) < len(order):
                end = min(len(order), done + max(1, batch - _waiting(learner)))
                at = done
                for deltas, *measured in parts.ask(_play, _runs(order[done:end]), learner.task,
                                                   user, learner.weights, truth):
                    for column, part in zip((utility, optimal, feedback), measured, strict=True):
                        column[at:at + len(deltas)] = part
                    at += len(deltas)
                    for delta in deltas:
                        learner.update(delta)
                if report is not None:
                    report(end, len(order))
        finally:
            done = learner.rounds - before
            learner.last_history = CoactiveHistory(
                regret=optimal[:done] - utility[:done], utility=utility[:done],
                optimal_utility=optimal[:done], feedback_utility=feedback[:done])
    return learner.last_history


def _sizes(forms, learner, user, truth):
    """Queries of each part, where all have the features that go with everything else."""
    dimensions = sorted({dimension for _, dimension in forms})
    if len(dimensions) > 1:
        raise ValueError(f"partitions must all have the same features, got {dimensions} of them")
    same_length("weights", len(truth), dimensions[0], "data")
    if getattr(user, "weights", None) is not None:
        same_length("weights of the user", len(user.weights), dimensions[0], "data")
    if learner.weights.size:
        same_length("weights of the learner", len(learner.weights), dimensions[0], "data")
    return [queries for queries, _ in forms]


def _waiting(learner):
    """Rounds of the batch that is not finished."""
    return learner._engine._state()["waiting"] if learner.rounds else 0


def _runs(order):
    """(partition, queries) of each stretch of one partition."""
    cuts = np.flatnonzero(np.diff(order[:, 0])) + 1
    return [(int(part[0, 0]), np.ascontiguousarray(part[:, 1])) for part in np.split(order, cuts)]


# --- scoring ------------------------------------------------------------------------------------


def predict(learner: Any, X: Collection) -> Collection:
    """`learner.predict` over a Dask array of rows.

    Parameters
    ----------
    learner : multiclass learner
        As it is now: a copy is part of the graph, sent to a worker once.
    X : dask.array.Array of shape (n, d)
        Its blocks may be dense or scipy.sparse and their heights unknown; several along the
        columns are joined.

    Returns
    -------
    dask.array.Array of intp, shape (n,)
        The labels of pure exploitation, computed when the array is.

    Examples
    --------
    >>> import dask.array
    >>> import coactive_fast as cf
    >>> from coactive_fast.adapters.dask import predict
    >>> learner = cf.MulticlassPerceptron(2)
    >>> learner.learn([1.0, 0.0], 1)
    >>> predict(learner, dask.array.from_array([[1.0, 0.0], [-1.0, 0.0]])).compute()
    array([1, 0])
    """
    X = _rows(X)
    return X.map_blocks(_answers, _scorer(learner), "predict", drop_axis=1,
                        meta=np.empty(0, dtype=np.intp))


def decision_function(learner: Any, X: Collection) -> Collection:
    """`learner.decision_function` over a Dask array of rows.

    Parameters
    ----------
    learner : multiclass learner
        See `predict`.
    X : dask.array.Array of shape (n, d)
        See `predict`.

    Returns
    -------
    dask.array.Array of float64, shape (n, K)
        The score of each class for each row, computed when the array is.

    Examples
    --------
    >>> import dask.array
    >>> import coactive_fast as cf
    >>> from coactive_fast.adapters.dask import decision_function
    >>> learner = cf.MulticlassPerceptron(2)
    >>> learner.learn([1.0, 0.0], 1)
    >>> decision_function(learner, dask.array.from_array([[2.0, 0.0]])).compute()
    array([[-2.,  2.]])
    """
    X = _rows(X)
    return X.map_blocks(_answers, _scorer(learner), "decision_function",
                        chunks=(X.chunks[0], (learner.n_classes,)), meta=np.empty((0, 0)))


def _rows(X):
    array = require("dask.array", "dask", "scoring")
    if not isinstance(X, array.Array):
        raise TypeError(f"X must be a Dask array, got {type(X).__name__}")
    if X.ndim != 2:
        raise ValueError(f"X must have 2 dimensions, got {X.ndim}")
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def _scorer(learner):
    if not isinstance(learner, MulticlassLearner):
        raise TypeError(f"learner must be a multiclass learner, got {type(learner).__name__}")
    return _frozen(learner)


def _frozen(learner):
    """A copy as one task of the graph, which what is learned before it runs does not change."""
    from dask import delayed

    return delayed(copy.deepcopy(learner), pure=False)


def _answers(block, learner, method, **options):
    return getattr(learner, method)(block, **options)


def rank(learner: Any, queries: Collection, *, k: int | None = None) -> Collection:
    """`learner.present` for every query of a Dask bag.

    Parameters
    ----------
    learner : coactive learner over Ranking
        See `predict`.
    queries : dask.bag.Bag of arrays (documents, N)
        A query an array, a row of it a document.
    k : int, optional
        Only the first k places.

    Returns
    -------
    dask.bag.Bag of arrays of int
        The ordering of each query's documents, best first.

    Examples
    --------
    >>> import dask.bag
    >>> import coactive_fast as cf
    >>> from coactive_fast.adapters.dask import rank
    >>> learner = cf.PreferencePerceptron(cf.Ranking(k=1))
    >>> learner.update([1.0])
    >>> queries = dask.bag.from_sequence([[[1.0], [3.0]], [[5.0], [4.0]]])
    >>> [order.tolist() for order in rank(learner, queries).compute(scheduler="synchronous")]
    [[1, 0], [0, 1]]
    """
    bag = require("dask.bag", "dask", "rank")
    if not isinstance(queries, bag.Bag):
        raise TypeError(f"queries must be a Dask bag, got {type(queries).__name__}")
    if not isinstance(learner, CoactiveLearner) or not isinstance(learner.task, Ranking):
        raise TypeError("learner must be a coactive learner over a Ranking, got "
                        f"{type(learner).__name__}")
    k = None if k is None else count("k", k, least=1)
    return queries.map(_answers, learner=_frozen(learner), method="present", k=k)
