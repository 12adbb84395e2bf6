"""Parts of tests in processes of their own, so that a crash or a hang is a failure like others.

A server is begun once, in a fresh process without threads. It forks a child for each call of
`run`; the child runs one function of a test module and ends. What is reported: the error the
function raised, in whatever thread; the signal that ended the child, with the stack of each of its
threads; or that it did not come to an end.
"""

import atexit
import faulthandler
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
# memory that was given back holds rubbish from then on: who still reads it is found out
REVEALING = {"MALLOC_PERTURB_": "165", "PYTHONMALLOC": "debug"}
GRACE = 10.0  # seconds that a child has to say where it hangs before it is killed
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


class Failed(AssertionError):
    """What became of the child."""


def run(function, *arguments, seconds=30.0, memory=None):
    """Runs a function of a module of this folder, with arguments that JSON can hold.

    `memory` is how many bytes more than at its beginning the child may ask for.
    """
    request = {"module": Path(function.__code__.co_filename).stem, "name": function.__name__,
               "arguments": arguments, "seconds": seconds, "memory": memory}
    text = Server.shared().ask(request)
    if text:
        raise Failed(f"{function.__name__}{arguments}: {text}")


def can_limit_memory():
    """Whether `memory` means anything: a sanitizer takes terabytes of addresses for itself."""
    try:
        import resource  # noqa: F401

        maps = Path("/proc/self/maps").read_text()
    except (ImportError, OSError):
        return False
    return not any(name in maps for name in ("libasan", "libtsan", "libclang_rt"))


def peak():
    """Bytes of memory that this process has used at once, at the most; 0 where that tells nothing,
    since a sanitizer keeps what was given back."""
    if not can_limit_memory():
        return 0
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class Server:
    """The process that forks; seen from the tests."""

    _shared = None

    @classmethod
    def shared(cls):
        if cls._shared is None or cls._shared.process.poll() is not None:
            cls._shared = cls()
        return cls._shared

    def __init__(self):
        import coactive_fast

        paths = [str(HERE), str(HERE / "threads"),
                 str(Path(coactive_fast.__file__).resolve().parents[1])]
        paths += os.environ.get("PYTHONPATH", "").split(os.pathsep)
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(HERE / "children.py")], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tempfile.gettempdir(),
            env={**os.environ, **REVEALING, "PYTHONPATH": os.pathsep.join(filter(None, paths)),
                 "OPENBLAS_NUM_THREADS": "1"})
        self.lock = threading.Lock()
        atexit.register(self.end)

    def ask(self, request):
        with self.lock:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        if not answer:
            raise Failed("the server of the children has ended")
        return json.loads(answer)

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)


# --- in the server ------------------------------------------------------------------------------


def serve():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what anybody prints is no answer
    for line in sys.stdin:
        answers.write(json.dumps(outcome(json.loads(line))) + "\n")
        answers.flush()


def outcome(request):
    """What became of one child; nothing where all is well."""
    function = getattr(importlib.import_module(request["module"]), request["name"])
    call = (function, request["arguments"], request["seconds"], request["memory"])
    return forked(*call)


def forked(function, arguments, seconds, memory=None):
    """Runs one function in a child of this process; what became of it, as `outcome`."""
    with tempfile.TemporaryFile("w+") as report, tempfile.TemporaryFile("w+") as stacks:
        child = os.fork()
        if child == 0:
            try:
                in_child(function, arguments, seconds, memory, report, stacks)
            finally:
                os._exit(3)
        status = waited(child, seconds + GRACE)
        report.seek(0)
        stacks.seek(0)
        return told(status, report.read(), stacks.read()[:6000])


def told(status, report, stacks):
    if status is None:
        return "killed: it did not come to an end, and could not say where\n" + stacks
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"signal {number} ({signal.Signals(number).name})\n{stacks}"
    if report == "done" and os.WEXITSTATUS(status) == 0:
        return ""
    if report:
        return report
    return f"no end in time, or none of its own (status {os.WEXITSTATUS(status)})\n{stacks}"


def waited(child, seconds):
    """The status of the child; None if it had to be killed."""
    end, pause = time.monotonic() + seconds, 0.0005
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status
        time.sleep(pause)
        pause = min(2.0 * pause, 0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def in_child(function, arguments, seconds, memory, report, stacks):
    """Never comes back."""
    faulthandler.enable(stacks)
    faulthandler.dump_traceback_later(seconds, exit=True, file=stacks)
    wrong = []
    threading.excepthook = lambda it: wrong.append(
        "in a thread: " + "".join(traceback.format_exception(it.exc_value)))
    try:
        lift = limited(memory)
        try:
            function(*arguments)
        finally:
            lift()
    except BaseException:
        wrong.append(traceback.format_exc())
    report.write("\n".join(wrong) or "done")
    report.flush()
    os._exit(0)


def limited(memory):
    """Limits what may be asked for; the answer takes the limit away."""
    if memory is None or not can_limit_memory():
        return lambda: None
    import resource

    most = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, most[1]))
    return lambda: resource.setrlimit(resource.RLIMIT_AS, most)


if __name__ == "__main__":
    serve()
