"""Dask: experiments, batches and scores on the workers of a real cluster of processes."""

import os
import pickle
import signal
import socketserver
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse

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


def test_a_smaller_batch_ends_the_one_that_waits(client, data):
    weights, user = data.fit_weights(), cf.users.AlphaInformative(1.0)
    learner, own = (cf.PreferencePerceptron(cf.Ranking(k=5), batch=50) for _ in range(2))
    for one in (learner, own):
        cf.simulate(one, data, user, order=range(20), weights=weights)
    own.set_params(batch=10)
    adapter.distributed_simulate(learner, [data], user, 10, client, weights=weights)
    cf.simulate(own, data, user, weights=weights)
    np.testing.assert_array_equal(learner.weights, own.weights)


def test_float32_and_parts_of_any_size(client, data):
    single = cf.data.RankingData(data.features.astype(np.float32), data.relevance, data.offsets)
    weights, user = data.fit_weights(), cf.users.AlphaInformative(0.5)
    parts = parts_of(single, 1, 2, 250)
    learner = cf.PreferencePerceptron(cf.Ranking(k=5))
    history = adapter.distributed_simulate(learner, parts, user, 16, client, weights=weights)
    assert history == alone(single, parts, user, 16, weights)[1]


def test_a_stop_leaves_whole_batches_and_the_data_went_out_once(client, data):
    weights, user, sent = data.fit_weights(), cf.users.AlphaInformative(0.5), set()
    parts = parts_of(data, 100)

    def stop(done, total):
        sent.update(key for key in client.who_has() if str(key).startswith("RankingData"))
        if done == 60:
            raise KeyboardInterrupt

    learner = cf.PreferencePerceptron(cf.Ranking(k=5))
    with pytest.raises(KeyboardInterrupt):
        adapter.distributed_simulate(learner, parts, user, 20, client, weights=weights,
                                     progress=stop)
    assert learner.rounds == len(learner.last_history) == 60 and len(sent) == 2
    expected = alone(data, parts, user, 20, weights)[1]
    np.testing.assert_array_equal(learner.last_history.regret, expected.regret[:60])


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


def slow_order(sizes, batch):
    """What `distributed_order` says, in words of loops."""
    shares = [max(1, batch // len(sizes) + (p < batch % len(sizes))) for p in range(len(sizes))]
    found, at = [], [0] * len(sizes)
    while any(a < n for a, n in zip(at, sizes, strict=True)):
        for p, share in enumerate(shares):
            end = min(sizes[p], at[p] + share)
            found += [[p, i] for i in range(at[p], end)]
            at[p] = end
    return found


@pytest.mark.parametrize("sizes", [[5, 2, 4], [1], [0, 3], [7, 0, 0, 20, 1], [0]])
@pytest.mark.parametrize("batch", [1, 2, 4, 5, 100, 2**60])
def test_the_order(sizes, batch):
    order = adapter.distributed_order(sizes, batch)
    assert order.dtype == np.intp and order.shape == (sum(sizes), 2)
    assert order.tolist() == slow_order(sizes, batch)


def test_orders_that_are_refused():
    with pytest.raises(ValueError, match="sizes must hold at least one part"):
        adapter.distributed_order([], 3)
    with pytest.raises(ValueError, match="sizes must be >= 0"):
        adapter.distributed_order([3, -1], 3)


def damaged():
    raise RuntimeError("the file is damaged")


def test_what_is_refused(client, data):
    import dask

    user, learner = cf.users.AlphaInformative(1.0), cf.PreferencePerceptron(cf.Ranking(k=5))
    other, ones = cf.data.make_ranking(n_queries=5, n_features=7, seed=1), np.ones(12)
    wide = cf.PreferencePerceptron(cf.Ranking(k=5), batch=9)
    wide.update(np.ones(7))

    def refused(error, match, **changed):
        given = {"learner": learner, "partitions": (data,), "user": user, "batch": 4,
                 "client": client, "weights": ones, **changed}
        before = pickle.dumps(given["learner"])
        with pytest.raises(error, match=match):
            adapter.distributed_simulate(**given)
        assert pickle.dumps(given["learner"]) == before

    convex = cf.ConvexPreferencePerceptron(cf.Ranking(k=5))
    refused(TypeError, "learner must be a PreferencePerceptron", learner=convex)
    refused(TypeError, "without chance", user=cf.users.ExpectedAlphaInformative(0.5, seed=1))
    refused(ValueError, "batch must be >= 2", batch=1)
    refused(ValueError, "weights must be given", weights=None)
    refused(ValueError, "weights must have length 12", weights=np.ones(3))
    refused(ValueError, "weights must be a vector", weights=np.ones((12, 1)))
    refused(ValueError, "weights must be a vector", weights=ones * np.nan)
    refused(ValueError, "weights of the user must have length 12",
            user=cf.users.AlphaInformative(1.0, weights=np.ones(3)))
    refused(ValueError, "weights of the learner must have length 12", learner=wide)
    refused(ValueError, "at least one part", partitions=())
    refused(TypeError, "one part is", partitions=data)
    refused(TypeError, "hold RankingData, got ndarray", partitions=[data.features])
    refused(TypeError, "hold RankingData, got list", partitions=[dask.delayed([1])])
    refused(ValueError, "the same features", partitions=[data, client.scatter(other)])
    refused(RuntimeError, "the file is damaged", partitions=[data, client.submit(damaged)])
    refused(RuntimeError, "the file is damaged", partitions=[dask.delayed(damaged)()])
    for one in (None, client.scheduler.address, client.cluster):
        refused(TypeError, "client must be a distributed.Client", client=one)


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
    with pytest.raises(ValueError, match="X must have 2 dimensions"):
        adapter.decision_function(learner, X[:, 0])
    with pytest.raises(TypeError, match="learner must be a multiclass learner"):
        adapter.predict(ranker, X)
    with pytest.raises(TypeError, match="queries must be a Dask bag"):
        adapter.rank(ranker, queries)
    with pytest.raises(TypeError, match="learner must be a coactive learner over a Ranking"):
        adapter.rank(cf.PreferencePerceptron(cf.Items(np.eye(3))), dask.bag.from_sequence([1]))
    with pytest.raises(ValueError, match="k must be >= 1"):
        adapter.rank(ranker, dask.bag.from_sequence([1]), k=0)


@pytest.mark.parametrize("change", [
    lambda X: X[X[:, 0] > -np.inf],  # heights that are not known
    lambda X: X.map_blocks(scipy.sparse.csr_matrix),
    lambda X: X.rechunk((50, -1)).map_blocks(scipy.sparse.csr_array),
    lambda X: X.rechunk((1, 9)),
], ids=["unknown", "sparse", "sparse-array", "rows"])
def test_blocks_of_any_kind(change):
    import dask.array

    made = cf.data.make_multiclass(n_rows=200, seed=1)
    learner = cf.MulticlassAROW(5)
    learner.run(made.features, made.labels)
    X = change(dask.array.from_array(made.features, chunks=(64, 4)))
    found, scores = adapter.predict(learner, X), adapter.decision_function(learner, X)
    expected = learner.predict(made.features), learner.decision_function(made.features)
    learner.run(made.features, made.labels[::-1].copy())  # what was asked for is not moved by it
    np.testing.assert_array_equal(found.compute(), expected[0])
    np.testing.assert_allclose(scores.compute(), expected[1], rtol=1e-12)
    assert (adapter.predict(learner, X).compute() != expected[0]).any()


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


def fails(sets, marks):
    with open(marks, "a") as file:
        file.write("once ")
    raise ValueError("this experiment fails")


def test_a_task_that_fails_is_not_tried_again(client, tmp_path):
    from coactive_fast.experiments._plan import Task

    with adapter.Workers(client) as workers, pytest.raises(ValueError, match="experiment fails"):
        list(workers.each([Task(fails, {"marks": str(tmp_path / "marks")})], None))
    assert (tmp_path / "marks").read_text() == "once "


class Web(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9)


@pytest.mark.parametrize("reads", [False, True])
def test_a_server_that_is_silent(reads):
    """It takes the connection, and what is sent, and never says a word."""
    from coactive_fast.commands import Trouble

    ended = threading.Event()

    class Silent(socketserver.BaseRequestHandler):
        def handle(self):
            while reads and self.request.recv(1000):
                pass
            ended.wait(60.0)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Silent) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(Trouble, match="no scheduler answers"), \
                adapter.Workers(f"tcp://127.0.0.1:{server.server_address[1]}", timeout=0.5):
            pass
        ended.set()
        server.shutdown()


def test_what_is_no_cluster():
    from coactive_fast.commands import Trouble

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Web) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for address in (f"tcp://127.0.0.1:{server.server_address[1]}", "tcp://", "nonsense"):
            with pytest.raises(Trouble, match="no scheduler answers"), \
                    adapter.Workers(address, timeout=0.5):
                pass
        server.shutdown()
    for cluster in (None, 8786):
        with pytest.raises(TypeError, match="cluster must be"), adapter.Workers(cluster):
            pass
    with pytest.raises(ValueError, match="timeout must be > 0"):
        adapter.Workers("tcp://127.0.0.1:9", timeout=0)


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
