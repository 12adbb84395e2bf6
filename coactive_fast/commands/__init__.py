"""What the command line does with files and learners; never loaded by ``import coactive_fast``."""

import contextlib
import signal
import sys
import threading


class Trouble(Exception):
    """Something the user can put right: the command line prints it without a traceback."""


class Stopped(KeyboardInterrupt):
    """A signal that ends the process; `number` says which."""

    def __init__(self, number):
        super().__init__()
        self.number = number


def warn(command, message):
    """What is no error, but what one wants to know."""
    if sys.stderr is not None:
        print(f"coactive-fast {command}: warning: {message}", file=sys.stderr)


@contextlib.contextmanager
def stoppable():
    """What ends a process by default (SIGTERM, SIGHUP) breaks off what is done as Ctrl-C does."""
    def stop(number, frame):
        raise Stopped(number)

    ours = []
    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
        ours = [n for n in numbers if n is not None and signal.getsignal(n) == signal.SIG_DFL]
    try:
        for number in ours:
            signal.signal(number, stop)
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
