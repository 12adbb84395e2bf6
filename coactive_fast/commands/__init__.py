"""What the command line does with files and learners; never loaded by ``import coactive_fast``."""

import contextlib
import signal
import sys
import threading

ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP")
          if hasattr(signal, name)]


class Trouble(Exception):
    """Something the user can put right: the command line prints it without a traceback."""


def warn(command, message):
    """Prints what is no error, but worth a line."""
    if sys.stderr is not None:
        print(f"coactive-fast {command}: warning: {message}", file=sys.stderr)


@contextlib.contextmanager
def troubles(where, kinds=ValueError):
    """Errors of these kinds are `Trouble`, with a place or an option in front."""
    try:
        yield
    except kinds as error:
        raise Trouble(f"{where}: {getattr(error, 'strerror', None) or error}") from error


def refuse_options(options, names, why):
    """The first of these options that was given is a mistake; `why` stands behind it."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value is not False and value != []:
            raise Trouble(f"--{name.replace('_', '-')} {why}")


@contextlib.contextmanager
def stoppable():
    """Ctrl-C, and what else ends a process by default (SIGTERM, SIGHUP), raise `KeyboardInterrupt`
    with the number of the signal, unless the process handles them otherwise.

    Gives a context manager, inside which a signal waits for the end of the block, so that what was
    done is known.
    """
    waits, arrived = False, None

    def receive(number, frame):
        nonlocal arrived
        arrived = number
        if not waits:
            raise KeyboardInterrupt(number)

    @contextlib.contextmanager
    def held_back():
        nonlocal waits
        waits = True
        try:
            yield
        finally:
            waits = False
        if arrived is not None:
            raise KeyboardInterrupt(arrived)

    before = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number in ENDING:
                if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                    before[number] = signal.signal(number, receive)
        yield held_back
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
