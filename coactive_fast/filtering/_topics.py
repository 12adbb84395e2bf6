"""Many topics over one stream."""

import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor

import numpy as np

from ..learner._check import count
from ..learner._progress import reporter
from ..learner._random import make_generator
from ._filters import Filter, RidgeFilter
from ._history import history_of
from ._run import FilterRun, Stream
from ._shared import SharedRun


def run_topics(learner, X, Y, *, n_jobs=1, progress=None):
    """Runs a fresh filter for each topic over one stream.

    With RIDGE-FULL in the kernel form (no window, no budget) all topics learn the same rows: one
    factor is made and serves them all. Else the topics are runs of their own, side by side in
    threads.

    Parameters
    ----------
    learner : filter
        A template: it is used as it is after `reset`, and not changed. Where it has chance, each
        topic gets an independent stream of its seed.
    X : array_like or scipy.sparse matrix of shape (T, d)
    Y : array_like of bool, shape (T, topics)
        The labels of each topic in a column.
    n_jobs : int, default 1
        Threads.
    progress : bool or callable, optional
        Counts topics, or, where one factor serves all, rounds.

    Returns
    -------
    list of FilteringHistory
        One for each topic: what ``learner.run`` gives, bit for bit.

    Examples
    --------
    >>> import numpy as np
    >>> import coactive_fast as cf
    >>> X = np.random.default_rng(0).standard_normal((60, 5))
    >>> Y = X[:, :3] > 0.0  # three topics
    >>> histories = cf.run_topics(cf.RidgeFilter(covariance="kernel", feedback="full"), X, Y)
    >>> len(histories), all(history.f_measure > 0.7 for history in histories)
    (3, True)
    """
    if not isinstance(learner, Filter):
        raise TypeError(f"learner must be a filter, got {type(learner).__name__}")
    jobs = count("n_jobs", n_jobs, least=1)
    stream = Stream(X)
    relevant = _labels(Y, len(stream))
    with reporter(progress) as report:
        if _shares_a_factor(learner):
            run = SharedRun(stream, relevant, learner.kernel, learner.kernel_params)
            run.run(report)
            return [history_of(*run.columns(k)) for k in range(relevant.shape[1])]
        return _side_by_side(learner, stream, relevant, jobs, report)


def _shares_a_factor(learner):
    return (type(learner) is RidgeFilter and learner.covariance == "kernel"
            and learner.feedback == "full" and learner.window is None
            and learner.budget is None)


def _labels(Y, n):
    given = Y.toarray() if hasattr(Y, "toarray") else np.asarray(Y)
    if given.dtype.kind != "b":
        raise TypeError(f"Y must hold True and False, got dtype {given.dtype}")
    if given.ndim != 2 or given.shape[0] != n:
        raise ValueError(f"Y must have shape ({n}, topics) to go with X, got {given.shape}")
    return given


def _side_by_side(learner, stream, relevant, jobs, report):
    topics = relevant.shape[1]
    seeds = [None] * topics
    if "seed" in learner.get_params(deep=False):
        seeds = make_generator(learner.seed).spawn(topics)
    done = 0
    stop = threading.Event()

    def look(done, total):
        if stop.is_set():
            raise CancelledError

    def one(k):
        fresh = learner.clone()
        if seeds[k] is not None:
            fresh.set_params(seed=seeds[k])
        run = FilterRun(stream, relevant[:, k], fresh._full_feedback)
        fresh._play(run, look)
        return history_of(*run.columns())

    histories = []
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for history in pool.map(one, range(topics)):
                histories.append(history)
                done += 1
                if report is not None:
                    report(done, topics)
        except BaseException:  # the runs under way end at their next pause
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return histories
