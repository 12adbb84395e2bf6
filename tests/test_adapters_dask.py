"""Dask: experiments, batches and scores on the workers of a real cluster of processes."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import coactive_fast as cf

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # what they warn of is theirs

from coactive_fast import cli  # noqa: E402
from coactive_fast.adapters import dask as adapter  # noqa: E402


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("dask"))
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True,
                                  dashboard_address=None, local_directory=folder) as cluster, \
            distributed.Client(cluster) as one:
        yield one


@pytest.fixture
def data():
    return cf.data.make_ranking(n_queries=300, n_features=12, documents=8, seed=3)


def parts_of(data, *cuts):
    return [data[a:b] for a, b in zip((0, *cuts), (*cuts, len(data)), strict=True)]


def alone(data, parts, user, batch, weights, rounds=0):
    """The same order on one machine."""
    begins = np.concatenate(([0], np.cumsum([len(part) for part in parts])))
    order = adapter.distributed_order([len(part) for part in parts], batch)
    learner = cf.PreferencePerceptron(cf.Ranking(k=5), batch=batch)
    history = cf.simulate(learner, data, user, order=begins[order[:, 0]] + order[:, 1],
                          weights=weights)
    return learner, history


@pytest.mark.parametrize("user", [cf.users.AlphaInformative(0.5), cf.users.NoisyDepth(4)])
@pytest.mark.parametrize("batch, cuts", [(2, (150,)), (7, (40, 290)), (64, (1, 2)), (1000, (100,))])
def test_a_batch_over_workers_is_the_batch_on_one_machine(client, data, user, batch, cuts):
    parts, weights = parts_of(data, *cuts), data.fit_weights()
    learner = cf.PreferencePerceptron(cf.Ranking(k=5))
    history = adapter.distributed_simulate(learner, parts, user, batch, client, weights=weights)
    expected, told = alone(data, parts, user, batch, weights)
    assert history == told and learner.rounds == 300
    np.testing.assert_array_equal(learner.weights, expected.weights)
    np.testing.assert_array_equal(learner.average_weights, expected.average_weights)
    learner.update(np.ones(12))
    expected.update(np.ones(12))
    np.testing.assert_array_equal(learner.weights, expected.weights)


def test_it_goes_on_in_the_middle_of_a_batch(client, data):
    weights, user = data.fit_weights(), cf.users.AlphaInformative(1.0)
    learner, own = (cf.PreferencePerceptron(cf.Ranking(k=5), batch=50) for _ in range(2))
    for one in (learner, own):
        cf.simulate(one, data, user, order=range(20), weights=weights)
    adapter.distributed_simulate(learner, [data], user, 50, client, weights=weights)
    cf.simulate(own, data, user, weights=weights)
    np.testing.assert_array_equal(learner.weights, own.weights)


def test_partitions_may_be_futures_and_delayed(client, data):
    import dask

    weights, user = data.fit_weights(), cf.users.AlphaInformative(1.0)
    parts = parts_of(data, 100)
    there = [client.scatter(parts[0]), dask.delayed(parts[1])]
    learner = cf.PreferencePerceptron(cf.Ranking(k=5))
    history = adapter.distributed_simulate(learner, there, user, 32, client, weights=weights)
    assert history == alone(data, parts, user, 32, weights)[1]


def test_a_worker_that_dies_costs_time_only(client, data):
    weights, user = data.fit_weights(), cf.users.AlphaInformative(0.5)
    parts = parts_of(data, 150)
    before = set(client.run(os.getpid).values())
    progress = []

    def murder(done, total):
        if not progress:
            os.kill(next(iter(before)), signal.SIGKILL)
        progress.append(done)

    learner = cf.PreferencePerceptron(cf.Ranking(k=5))
    history = adapter.distributed_simulate(learner, parts, user, 20, client, weights=weights,
                                           progress=murder)
    expected, told = alone(data, parts, user, 20, weights)
    assert history == told and len(progress) == 15
    np.testing.assert_array_equal(learner.weights, expected.weights)
    client.wait_for_workers(2)
    assert before != set(client.run(os.getpid).values())


def test_the_order():
    order = adapter.distributed_order([5, 2, 4], 4)
    assert sorted(map(tuple, order.tolist())) == [(p, i) for p, n in ((0, 5), (1, 2), (2, 4))
                                                  for i in range(n)]
    assert order[:4].tolist() == [[0, 0], [0, 1], [1, 0], [2, 0]]


def test_what_is_refused(client, data):
    user, learner = cf.users.AlphaInformative(1.0), cf.PreferencePerceptron(cf.Ranking(k=5))
    ones = np.ones(12)

    def go(learner=learner, user=user, batch=4, weights=ones, parts=(data,)):
        adapter.distributed_simulate(learner, parts, user, batch, client, weights=weights)

    with pytest.raises(TypeError, match="learner must be a PreferencePerceptron"):
        go(learner=cf.ConvexPreferencePerceptron(cf.Ranking(k=5)))
    with pytest.raises(TypeError, match="without chance"):
        go(user=cf.users.ExpectedAlphaInformative(0.5, seed=1))
    with pytest.raises(ValueError, match="batch must be >= 2"):
        go(batch=1)
    with pytest.raises(ValueError, match="weights must be given"):
        go(weights=None)
    with pytest.raises(ValueError, match="weights must have length 12"):
        go(weights=np.ones(3))
    with pytest.raises(ValueError, match="at least one part"):
        go(parts=())
    assert learner.rounds == 0


def test_scores_over_arrays_and_bags(client, data):
    import dask.array
    import dask.bag

    made = cf.data.make_multiclass(n_rows=200, seed=1)
    learner = cf.Confidit(5)
    learner.run(made.features, made.labels)
    X = dask.array.from_array(made.features, chunks=(64, 4))
    with client.as_current():
        found = adapter.predict(learner, X).compute()
        scores = adapter.decision_function(learner, X)
        assert scores.shape == (200, 5)
        np.testing.assert_array_equal(found, learner.predict(made.features))
        np.testing.assert_array_equal(scores.compute(), learner.decision_function(made.features))
        ranker = cf.PreferencePerceptron(cf.Ranking(k=5))
        cf.simulate(ranker, data, cf.users.AlphaInformative(1.0))
        queries = [query.features for query in data[:20]]
        orders = adapter.rank(ranker, dask.bag.from_sequence(queries, npartitions=3), k=3)
        for order, features in zip(orders.compute(), queries, strict=True):
            np.testing.assert_array_equal(order, ranker.present(features, k=3))
    with pytest.raises(TypeError, match="X must be a Dask array"):
        adapter.predict(learner, made.features)
    with pytest.raises(TypeError, match="queries must be a Dask bag"):
        adapter.rank(ranker, queries)


# --- experiments --------------------------------------------------------------------------------


def curves(out):
    return {path.name: path.read_bytes() for path in sorted(out.glob("coactive-alpha/*.csv"))}


def test_experiments_on_a_cluster_are_those_of_one_machine(client, tmp_path):
    pytest.importorskip("matplotlib")
    address = client.scheduler.address
    assert cli.main(["reproduce", "coactive-alpha", "--out", str(tmp_path / "here")]) == 0
    command = ["reproduce", "coactive-alpha", "--out", str(tmp_path / "there"),
               "--cluster", address]
    # in a process of its own, whose only client is the command's
    done = subprocess.run([sys.executable, "-m", "coactive_fast", *command], capture_output=True,
                          text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert curves(tmp_path / "here") == curves(tmp_path / "there") != {}


def slow(sets, x):
    time.sleep(0.2)
    return {"x": x, "process": os.getpid()}


def test_a_worker_killed_in_the_middle_of_experiments(client):
    from coactive_fast.experiments._plan import Task

    client.wait_for_workers(2)
    victims = list(client.run(os.getpid).values())
    tasks = [Task(slow, {"x": x}) for x in range(12)]
    threading.Timer(0.5, os.kill, (victims[0], signal.SIGKILL)).start()
    with adapter.Workers(client) as workers:
        found = dict(workers.each(tasks, None))
    assert [int(found[i][0]["x"]) for i in range(12)] == list(range(12))


def test_a_scheduler_that_does_not_answer(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(adapter.Workers.__init__, "__kwdefaults__", {"timeout": 0.5})
    assert cli.main(["reproduce", "--cluster", "tcp://127.0.0.1:9", "--out",
                     str(tmp_path / "out")]) == 1
    assert "no scheduler answers" in capsys.readouterr().err


def test_a_stop_ends_who_waits_for_a_cluster(client):
    from concurrent.futures import CancelledError

    class Slow:
        def run(self, sets):
            time.sleep(0.5)

    ended = []

    def wait_for(crew):
        try:
            for _ in crew.each([Slow() for _ in range(400)], None):
                crew.stop()
            ended.append(None)
        except (CancelledError, distributed.CancelledError) as error:
            ended.append(error)

    with adapter.Workers(client) as crew:
        for _ in range(2):  # also who comes later
            thread = threading.Thread(target=wait_for, args=(crew,), daemon=True)
            thread.start()
            thread.join(30.0)
            assert not thread.is_alive()
    assert len(ended) == 2 and None not in ended


def test_a_cluster_without_workers_is_refused(tmp_path):
    from coactive_fast.commands import Trouble

    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None,
                                  local_directory=str(tmp_path)) as cluster, \
            pytest.raises(Trouble, match="has no workers"), \
            adapter.Workers(cluster.scheduler_address, timeout=0.5):
        pass
