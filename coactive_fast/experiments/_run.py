"""Tasks by processes of this machine; finished ones are kept, so that a second call resumes."""

import os
import signal
import threading
import time
import zlib
from collections import defaultdict
from concurrent.futures import FIRST_COMPLETED, CancelledError, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ._judge import settle

POOLS = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "VECLIB_MAXIMUM")


def _end_with_its_parent():
    """In each process: Ctrl-C ends it silently, whoever began it tells the user; and it does not
    outlive them, though they be killed: it would wait for tasks for ever."""
    def watch():
        parent_process().join()
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=watch, daemon=True).start()


def timed(task, sets):
    """The result, and the processor's seconds: those of the clock depend on who else is at work.

    They are the process's: some tasks compute in threads of their own.
    """
    begin = time.process_time()
    return task.run(sets), time.process_time() - begin


@contextmanager
def one_blas_thread():
    """For processes begun inside: the same bits whatever the number of cores."""
    names = [f"{pool}_THREADS" for pool in POOLS]
    before = {name: os.environ[name] for name in names if name in os.environ}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name in names:
            os.environ.pop(name, None)
        os.environ.update(before)


class Processes:
    """`jobs` processes, begun afresh (never forked), each with one BLAS thread.

    No more than the machine has processors: those would only take memory.
    """

    def __init__(self, jobs):
        self.jobs = min(jobs, os.cpu_count() or 1)
        self.stopped = False

    def __enter__(self):
        self.others = set(active_children())  # no business of ours
        self.threads = one_blas_thread()
        self.threads.__enter__()
        self.pool = ProcessPoolExecutor(self.jobs, mp_context=get_context("spawn"),
                                        initializer=_end_with_its_parent)
        return self

    def __exit__(self, *error):
        self.pool.shutdown(wait=True, cancel_futures=True)
        self.threads.__exit__(None, None, None)

    def stop(self):
        """Ends the processes at once, whatever they are doing."""
        self.stopped = True
        self.pool.shutdown(wait=False, cancel_futures=True)
        for process in set(active_children()) - self.others:
            process.terminate()

    def each(self, tasks, sets):
        """(index, (result, seconds)) of every task, as they end."""
        at = {self.pool.submit(timed, task, sets): i for i, task in enumerate(tasks)}
        try:
            while at:
                done = wait(at, 1.0, return_when=FIRST_COMPLETED).done
                if self.stopped and not done:  # nobody tells of what was cancelled before it began
                    raise CancelledError
                for future in done:
                    yield at.pop(future), future.result()
        finally:
            for future in at:
                future.cancel()


class Kept:
    """Finished tasks, a file each, written whole or not at all."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, task):
        """(result, seconds), or None, also where a file was damaged: its task is run again."""
        path = self.folder / f"{task.key}.npz"
        try:
            with np.load(path, allow_pickle=False) as file:
                found = dict(file)
            return found, float(found.pop("seconds of it"))
        except (OSError, EOFError, KeyError, TypeError, ValueError, BadZipFile, zlib.error):
            return None

    def put(self, task, result, seconds):
        path = self.folder / f"{task.key}.npz"
        # experiments may share a task, and commands a folder
        part = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
        try:
            with open(part, "wb") as file:
                np.savez(file, **result, **{"seconds of it": seconds})
            os.replace(part, path)
        except BaseException:
            part.unlink(missing_ok=True)  # a full disc stays no fuller
            raise


def drive(experiment, setting, workers, kept=None, report=lambda done, total: None):
    """Runs one experiment: ``(outcome, seconds)``, the seconds being those of all its tasks.

    `workers` is one of the classes above (or has their `each`), `kept` a `Kept`, `report` a
    callable ``(done, total)`` that counts tasks; later stages add to the total.
    """
    play, results, total, done, seconds = experiment.play(setting), None, 0, 0, 0.0
    while True:
        try:
            tasks = list(play.send(results))
        except StopIteration as end:
            settle(getattr(end.value, "findings", ()), setting.levels)
            return end.value, seconds
        results, open_, total = [None] * len(tasks), defaultdict(list), total + len(tasks)
        for i, task in enumerate(tasks):
            before = kept.get(task) if kept is not None else None
            if before is None:
                open_[task.key].append(i)
            else:
                results[i], done, seconds = before[0], done + 1, seconds + before[1]
        report(done, total)
        places = list(open_.values())  # equal tasks are run once
        for at, (result, took) in workers.each([tasks[p[0]] for p in places], setting.sets):
            if kept is not None:
                kept.put(tasks[places[at][0]], result, took)
            for i in places[at]:
                results[i] = result
            done, seconds = done + len(places[at]), seconds + took
            report(done, total)
