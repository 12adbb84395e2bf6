"""Experiments on a cluster: the movie half of figure 2 by two Dask workers against one.

At paper scale on MovieLens where COACTIVE_DATA names it, else on generated ratings. Wall-clock
time from the first task to the last result, workers fresh: each loads and factorises the ratings
for itself, which is what two cannot share.
"""

import importlib.util
import os
import pickle
import time

import numpy as np
import threads
from ratio import Case, Contender, Plan, Target

from coactive_fast.experiments import _coactive, coactive_alpha
from coactive_fast.experiments._folder import Sets
from coactive_fast.experiments._plan import Setting

TWO = "two workers against one"


def setting():
    folder = os.environ.get("COACTIVE_DATA")
    if folder and not threads.quick():
        return Setting(Sets(folder), 0, _coactive.PAPER)
    return Setting(Sets(), 0, {**_coactive.QUICK, "users": 20} if threads.quick() else
                   {**_coactive.PAPER, "users": 200})


def by_workers(count, tasks, sets):
    """Seconds, and the results in the order of the tasks."""
    from distributed import Client, LocalCluster

    from coactive_fast.adapters.dask import Workers

    with LocalCluster(n_workers=count, threads_per_worker=1, processes=True,
                      dashboard_address=None) as cluster, Client(cluster) as client:
        client.wait_for_workers(count)
        with Workers(client) as crew:
            begin = time.perf_counter()
            found = dict(crew.each(tasks, sets))
            return time.perf_counter() - begin, [found[i][0] for i in range(len(tasks))]


def movies():
    given = setting()
    cases = [_coactive.Case(f"alpha = {a:g}", movie_user=("strict", {"alpha": a}))
             for a in coactive_alpha.ALPHAS]
    tasks = [task for case in cases for task in _coactive.movie_tasks(given, case)]
    one, alone = by_workers(1, tasks, given.sets)
    two, shared = by_workers(2, tasks, given.sets)
    for a, b in zip(alone, shared, strict=True):
        assert all(np.array_equal(a[name], b[name]) for name in a if name != "seconds")
    figures = {"one worker, s": one, "two workers, s": two, TWO: one / two}
    apart = Target(f"{TWO} >= 1.7", lambda r: r.case.figures[TWO], 1.7, False, "")
    return Case("dask", f"movie half of figure 2, {given['users']} users",
                Contender("a task and its result, packed and unpacked",
                          lambda n: [pickle.loads(pickle.dumps((tasks[0], shared[0])))
                                     for _ in range(n)]),
                (), None, (apart,), figures=figures)


def plans():
    there = importlib.util.find_spec("distributed") is not None
    return [Plan("movies", movies)] if there else []


def test_dask(compare, plan):
    compare(plan)
