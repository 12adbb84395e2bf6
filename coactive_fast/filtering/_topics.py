"""Many topics over one stream."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import SupportsIndex

import numpy as np

from .._arrays import refuse_masked
from .._typing import Progress, RowsLike
from ..learner._check import count
from ..learner._progress import reporter
from ..learner._random import make_generator
from ..metric._forms import TopicRidge
from ..rows._formats import checked_csr
from ..rows._labels import flags_of
from ._filters import Filter
from ._history import FilteringHistory
from ._ridge_filters import RidgeFilter, cost_threshold
from ._rules import FilterRun, Stream, TopicsRun


def run_topics(learner: Filter, X: RowsLike, Y: RowsLike, *,
               labelled: tuple[RowsLike, RowsLike] | None = None, n_jobs: SupportsIndex = 1,
               progress: Progress = None) -> list[FilteringHistory]:
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
        The stream, a row a round, the same for every topic.
    Y : array_like of bool, shape (T, topics)
        The labels of each topic in a column.
    labelled : (X0, Y0), optional
        Rows whose labels are known, and those in columns as in Y: each topic learns them in order
        before the stream. They count in N, not in t, and not in the histories.
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
    relevant = _labels(Y, len(stream), "Y", "X")
    known = None if labelled is None else _known(labelled, stream, relevant.shape[1])
    with reporter(progress) as report:
        if _shares_a_factor(learner):
            return _by_one_factor(learner, stream, relevant, known, report)
        return _side_by_side(learner, stream, relevant, known, jobs, report)


def _shares_a_factor(learner):
    return (type(learner) is RidgeFilter and learner.covariance == "kernel"
            and learner.feedback == "full" and learner.window is None
            and learner.budget is None)


def _labels(Y, n, name, rows):
    refuse_masked(Y, name)
    given = checked_csr(Y, name).toarray() if hasattr(Y, "toarray") else np.asarray(Y)
    if given.ndim != 2 or given.shape[0] != n:
        raise ValueError(f"{name} must have shape ({n}, topics) to go with {rows}, got "
                         f"{given.shape}")
    return flags_of(given.reshape(-1), name, given.size).reshape(given.shape)


def _known(labelled, stream, topics):
    """The rows with known labels and those labels, checked."""
    if not isinstance(labelled, tuple) or len(labelled) != 2:
        raise TypeError("labelled must be None or a pair (X0, Y0)")
    rows = Stream(labelled[0], "labelled[0]")
    if rows.d != stream.d:
        raise ValueError(f"labelled[0] must have {stream.d} features to go with X, got {rows.d}")
    relevant = _labels(labelled[1], len(rows), "labelled[1]", "labelled[0]")
    if relevant.shape[1] != topics:
        raise ValueError(f"labelled[1] must have {topics} columns to go with Y, got "
                         f"{relevant.shape[1]}")
    return rows, relevant


def _by_one_factor(learner, stream, relevant, known, report):
    model = TopicRidge(learner.kernel, learner.kernel_params, 1.0, relevant.shape[1])
    tau = cost_threshold(learner.cost_ratio)
    if known is not None:
        TopicsRun(*known, model, tau).alone(None)
    run = TopicsRun(stream, relevant, model, tau)
    run.alone(report)
    return run.histories()


def _side_by_side(learner, stream, relevant, known, jobs, report):
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
        if known is not None:
            FilterRun(known[0], known[1][:, k], True, teaching=True).play(fresh, look)
        return FilterRun(stream, relevant[:, k], fresh._full_feedback).play(fresh, look)

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
