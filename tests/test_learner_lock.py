"""The lock of the metrics: nobody starves, nothing hangs, whatever threads and signals do.

Programs that would hang if the lock failed run in a process of their own, with a time limit.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import coactive_fast as cf

# a program begins outside the sources' folder, which may have no compiled modules
PACKAGE_PARENT = str(Path(cf.__file__).resolve().parents[1])

unix = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers here")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

BEGIN = """
import os, signal, sys, threading, time
import numpy as np
import coactive_fast as cf
x = np.random.default_rng(0).standard_normal(300)
stop = threading.Event()
"""


def printed(code, limit=60):
    done = subprocess.run([sys.executable, "-c", BEGIN + code], cwd=tempfile.gettempdir(),
                          env={**os.environ, "PYTHONPATH": PACKAGE_PARENT},
                          capture_output=True, text=True,
                          timeout=limit)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


# --- turns ------------------------------------------------------------------------------------


@pytest.mark.parametrize("readers", [1, 4])
def test_neither_readers_nor_writers_starve(readers):
    m = cf.metric.Full(300)
    x = np.random.default_rng(0).standard_normal(300)
    stop, done = threading.Event(), dict.fromkeys(range(readers + 1), 0)

    def loop(who, call):
        while not stop.is_set():
            call(x)
            done[who] += 1

    threads = [threading.Thread(target=loop, args=(i, m.quad if i else m.update))
               for i in range(readers + 1)]
    for thread in threads:
        thread.start()
    patience = time.monotonic() + 30.0
    while min(done.values()) < 50 and time.monotonic() < patience:
        time.sleep(0.01)
    stop.set()
    for thread in threads:
        thread.join()
    assert min(done.values()) >= 50, done


def test_many_threads_leave_the_sum_of_their_updates():
    n, X = 80, np.random.default_rng(0).integers(-2, 3, (4, 60, 80)).astype(float)
    m, torn, stop = cf.metric.Full(n), [], threading.Event()

    def read():
        while not stop.is_set():
            other = m.copy()
            if np.abs(other.matrix() @ other.inverse() - np.eye(n)).max() > 1e-9:
                torn.append(other)

    writers = [threading.Thread(target=lambda rows=rows: [m.update(x) for x in rows])
               for rows in X]
    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    rows = X.reshape(-1, n)
    np.testing.assert_array_equal(m.matrix(), np.eye(n) + rows.T @ rows)
    assert not torn


def test_readings_of_a_dual_while_it_grows():
    """What a reading allocates must fit the rows that are there when it has its turn."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        m, X = cf.metric.Dual(), np.random.default_rng(0).standard_normal((500, 400))
        done, wrong = threading.Event(), []

        def read():
            while not done.is_set():
                if not np.isfinite(m.inverse()).all() or not np.isfinite(m.matrix()).all():
                    wrong.append("not finite")
                state = m.state()
                if state["gram"]["n"] != state["count"]:
                    wrong.append("torn")

        readers = [threading.Thread(target=read) for _ in range(2)]
        for thread in readers:
            thread.start()
        for x in X:
            m.update(x)
        done.set()
        for thread in readers:
            thread.join()
    finally:
        sys.setswitchinterval(usual)
    assert not wrong


# --- a method called from within another --------------------------------------------------------


@pytest.mark.parametrize("outer", ["quad", "update"])
@pytest.mark.parametrize("inner", ["quad", "update", "state"])
def test_a_kernel_that_calls_back(outer, inner):
    answers = []

    def kernel(x, y):
        if answers == ["now"]:
            answers.append("asked")
            try:
                answers.append(m.state() if inner == "state" else getattr(m, inner)([1.0, 1.0]))
            except RuntimeError as error:
                answers.append(error)
        return float(x @ y)

    m = cf.metric.Dual(kernel=kernel)
    m.update([1.0, 0.0])
    answers.append("now")
    before = len(m)
    assert getattr(m, outer)([0.0, 1.0]) == 1.0
    refused = outer == "update" or inner == "update"
    assert isinstance(answers[2], RuntimeError) == refused
    assert len(m) == before + (outer == "update")
    assert m.quad([0.0, 1.0]) == pytest.approx(0.5 if outer == "update" else 1.0)


def test_a_reading_within_a_reading_passes_a_writer_that_waits():
    assert printed("""
def kernel(x, y):
    if armed.is_set():
        armed.clear()
        writer.start()
        time.sleep(0.2)  # the writer queues
        told.append(m.quad([1.0, 1.0]))
    return float(x @ y)

armed, told = threading.Event(), []
m = cf.metric.Dual(kernel=kernel)
m.update([1.0, 0.0])
writer = threading.Thread(target=m.update, args=([0.0, 1.0],))
armed.set()
q = m.quad([1.0, 1.0])
writer.join()
print(q, told, len(m))
""") == "1.5 [1.5] 2"


def test_an_error_in_a_kernel_lets_go_of_the_lock():
    def kernel(x, y):
        if fail:
            raise KeyError("no answer")
        return float(x @ y)

    fail = False
    m = cf.metric.Dual(kernel=kernel)
    m.update([1.0, 0.0])
    fail = True
    for call in (m.quad, m.update, m.solve):
        with pytest.raises(KeyError):
            call([1.0, 1.0])
    fail = False
    thread = threading.Thread(target=m.update, args=([1.0, 1.0],))
    thread.start()
    thread.join(30)
    assert not thread.is_alive() and len(m) == 2


# --- signals ----------------------------------------------------------------------------------


@unix
def test_interrupts_anywhere_leave_no_one_waiting():
    """A handler that raises every 0.7 ms, in the middle of waiting, beginning and ending."""
    assert printed("""
class Boom(KeyboardInterrupt):
    pass

armed, booms, trouble, done = False, 0, [], [0] * 3

def handler(*_):
    if armed:
        raise Boom

def work(i):
    while not stop.is_set():
        try:
            m.update(x) if i % 2 else m.solve(x)
            done[i] += 1
        except BaseException as error:
            trouble.append(error)
            return

signal.signal(signal.SIGALRM, handler)
m = cf.metric.Full(300)
threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(3)]
for thread in threads:
    thread.start()
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.0007)
end = time.monotonic() + 3.0
while time.monotonic() < end:
    try:
        try:
            armed = True
            m.update(x)
            m.solve(x)
        finally:  # Python 3.10 may call the handler before this, as it looks at each instruction
            armed = False
    except Boom:
        armed = False
        booms += 1
armed = False
signal.setitimer(signal.ITIMER_REAL, 0)
before = list(done)
time.sleep(0.5)
alive = all(b > a for a, b in zip(before, done))
stop.set()
for thread in threads:
    thread.join(10)
last = threading.Thread(target=m.update, args=(x,), daemon=True)
last.start()
last.join(10)
print(booms > 10, alive, trouble, last.is_alive(), flush=True)
os._exit(0)
""") == "True True [] False"


@unix
def test_a_handler_may_use_the_object_that_its_thread_waits_for():
    """The thread has left the queue when its handler runs, so the handler's turn does come."""
    assert printed("""
def handler(*_):
    told.append(m.quad(x[:2]))

def kernel(a, b):
    if threading.current_thread() is not threading.main_thread():
        inside.set()
        time.sleep(0.5)
    return float(a @ b)

told, inside = [], threading.Event()
signal.signal(signal.SIGALRM, handler)
m = cf.metric.Dual(kernel=kernel)
writer = threading.Thread(target=m.update, args=([0.0, 0.0],))
writer.start()
inside.wait()
signal.setitimer(signal.ITIMER_REAL, 0.1)
q = m.quad(x[:2])
writer.join()
print(told == [q], q == float(x[:2] @ x[:2]))
""") == "True True"


# --- fork -------------------------------------------------------------------------------------

FORK = """
def kernel(a, b):
    if threading.current_thread() is not threading.main_thread():
        inside.set()
        go.wait()
    return float(a @ b)

inside, go = threading.Event(), threading.Event()
m = cf.metric.Dual(kernel=kernel)
m.update([1.0, 0.0])
thread = threading.Thread(target=m.{method}, args=([0.0, 1.0],))
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    try:
        print(m.update([0.0, 1.0]), flush=True)
    except RuntimeError as error:
        print("forked" in str(error), flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
go.set()
thread.join()
print(len(m))
"""


@forks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_while_another_thread_reads():
    # the reader is not there in the child: nothing to wait for, and the state is whole
    assert printed(FORK.format(method="quad")) == "1.0\n1"


@forks
def test_a_fork_while_another_thread_changes_the_object():
    # what the child has may be half of a change: it is told so, at once
    assert printed(FORK.format(method="update")) == "True\n2"
