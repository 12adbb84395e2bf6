"""Runs of the compiled multiclass learners: noise, reports, ends before the end, threads."""

import copy
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse
from multiclass_cases import DRAWN, LEARNERS, build, same_state, stream
from row_cases import FailingKernel

import coactive_fast as cf

learners = pytest.mark.parametrize("name", LEARNERS)


# --- runs -----------------------------------------------------------------------------------


def test_numbers_beyond_64_bits_are_refused(rng):
    X, y = stream(rng)
    for name, do in (("n_classes", lambda: cf.MulticlassPerceptron(10**30)),
                     ("max_features", lambda: cf.Confidit(3, max_features=10**30)),
                     ("epochs", lambda: cf.Confidit(3).run(X, y, epochs=10**30))):
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            do()


def test_label_noise(rng):
    X, y = stream(rng, T=4000)
    plain, noisy, again = (cf.MulticlassPerceptron(3) for _ in range(3))
    history = noisy.run(X, y, label_noise=0.4, noise_seed=5, epochs=2)
    draws = np.random.default_rng(5)
    replaced = draws.random(4000) < 0.4
    labels = np.where(replaced, draws.integers(3, size=4000), y)
    assert abs(replaced.mean() - 0.4) < 0.05
    assert history == plain.run(X, labels, epochs=2)  # the same labels in both epochs
    assert history == again.run(X, y, label_noise=0.4, noise_seed=5, epochs=2)
    same_state(noisy, plain)
    np.testing.assert_array_equal(history.mistakes, history.choices != np.tile(labels, 2))


def test_the_history(rng):
    X, y = stream(rng)
    learner = cf.Confidit(3)
    history = learner.run(X, y)
    assert learner.last_history is history and len(history) == len(y)
    assert history.cumulative_mistakes[-1] == history.mistakes.sum()
    assert history.error_rate[-1] == history.mistakes.mean()
    assert set(history.to_dict()) == {"mistakes", "explored", "choices"}
    assert len(learner.run(X, y, epochs=0)) == 0 and learner.rounds == len(y)


def test_progress_may_read(rng):
    X, y = stream(rng, T=20000)
    learner, told = cf.Confidit(3), []

    def report(done, total):
        told.append((done, total, learner.rounds, learner.weights.shape))

    learner.run(X, y, progress=report, epochs=5)
    assert told and told[-1] == (100000, 100000, 100000, (3, 6))
    assert all(done == rounds for done, _, rounds, _ in told)


def test_a_report_that_raises_ends_the_run_at_a_round(rng):
    X, y = stream(rng, T=20000)
    for arguments in ({}, {"covariance": "full"}, {"covariance": "full", "projection": True}):
        learner = cf.Confidit(3, **arguments)

        def report(done, total):
            raise KeyError("enough")

        with pytest.raises(KeyError):
            learner.run(X, y, progress=report, epochs=50)
        done = learner.rounds
        assert 0 < done and len(learner.last_history) == done
        other = cf.Confidit(3, **arguments)
        order = np.arange(done) % len(y)
        assert other.run(X[order], y[order]) == learner.last_history
        same_state(other, learner)


@learners
def test_a_report_that_takes_classes_away_ends_the_run(name, rng):
    """Labels that were good when the run began are looked at again."""
    X, y = stream(rng, T=400 if name in ("linear", "rbf") else 4000, n_classes=4)
    learner = build(cf, name)
    learner.add_class()
    with pytest.raises(ValueError, match=r"\by\b"):
        learner.run(X, y, epochs=200, progress=lambda done, total: learner.reset())
    assert learner.n_classes == 3 and learner.rounds == 0 and len(learner.last_history)


@pytest.mark.parametrize("name", ["v2", "v5", "linear", "Perceptron", "AROW", "Banditron",
                                  "Newtron"])
def test_a_row_that_fails_ends_the_run_before_it(name, rng):
    X, y = stream(rng, d=40)
    X[30] = 1e308  # its products leave the range
    learner, other = build(cf, name), build(cf, name)
    with pytest.raises(ValueError, match=r"row 30 of X|\bx\b"):
        learner.run(X, y)
    assert learner.rounds == len(learner.last_history) == 30
    assert other.run(X[:30], y[:30]) == learner.last_history
    if name not in DRAWN:  # the draw of the round that failed is not taken back
        same_state(other, learner)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
@pytest.mark.parametrize("arguments", [{}, {"covariance": "full"}])
def test_ctrl_c(arguments, rng):
    X, y = stream(rng, T=1000, d=40)
    learner = cf.Confidit(3, **arguments)

    def once_it_runs(done, total):
        if done and not signal.getitimer(signal.ITIMER_REAL)[0]:
            signal.setitimer(signal.ITIMER_REAL, 0.05)

    old = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            learner.run(X, y, epochs=100_000, progress=once_it_runs)
        assert time.monotonic() - begin < 30.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)
    done = learner.rounds
    assert len(learner.last_history) == done > 0
    other = cf.Confidit(3, **arguments)
    other.run(X, y, epochs=done // 1000)
    other.run(X[:done % 1000], y[:done % 1000])
    same_state(learner, other)


# --- threads --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["v1", "v2", "v5", "diagonal projection", "rbf", "AROW"])
@pytest.mark.parametrize("d", [6, 60])
def test_reading_while_a_run_learns(name, d, rng):
    X, y = stream(rng, T=400 if name == "rbf" else 4000, d=d, n_classes=8)
    learner, alone = build(cf, name, 8), build(cf, name, 8)
    stop, failed, seen = threading.Event(), [], []

    def read():
        try:
            while not stop.is_set():
                seen.append(learner.choose(X[len(seen) % 50]))
                assert np.isfinite(learner.decision_function(X[:20])).all()
                learner.information()
                if name != "rbf":
                    assert np.isfinite(learner.inverse(3)).all()
                copy.deepcopy(learner)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    history = learner.run(X, y)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failed
    assert history == alone.run(X, y)
    same_state(learner, alone)


@pytest.mark.parametrize("read", ["choose", "decision_function"])
def test_each_thread_gets_its_own_kernels_error(read, rng):
    X, y = stream(rng, T=20)
    kernel = FailingKernel()
    learner = cf.Confidit(3, covariance="kernel", kernel=kernel)
    learner.run(X, y)
    rows = X[0] if read == "choose" else X[:1]
    kernel.fail_each_reader(lambda: getattr(learner, read)(rows), times=100)


def test_an_inverse_is_that_of_one_round():
    """All rows alike: off the diagonal of A^-1 every element is the same, after any round."""
    d = 300
    X, y, done = np.full((50, d), d**-0.5), np.ones(50, dtype=int), threading.Event()
    learner, spread = cf.Confidit(2, covariance="full"), []
    learner.run(X, y)

    def read():
        while not done.is_set():
            rest = learner.inverse(1)[~np.eye(d, dtype=bool)]
            spread.append(np.ptp(rest) / np.abs(rest).max())

    thread = threading.Thread(target=read)
    thread.start()
    learner.run(X, y, epochs=600)
    done.set()
    thread.join()
    assert spread and max(spread) < 1e-9


def test_two_threads_learn_in_some_order(rng):
    """Perceptron steps on disjoint features commute: none is lost."""
    d = 400
    learner = cf.MulticlassPerceptron(2)
    learner.learn(np.zeros(d), 0)

    def work(first):
        for f in range(first, d, 2):
            learner.learn(scipy.sparse.csr_matrix(([1.0], [f], [0, 1]), shape=(1, d)), 1)

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(learner.weights, [[-1.0] * d, [1.0] * d])
    assert learner.rounds == d + 1
