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
        if value is not None and value is not False:
            raise Trouble(f"--{name.replace('_', '-')} {why}")


class Signals:
    """Ctrl-C, and what else ends a process by default (SIGTERM, SIGHUP), break off what is done."""

    def __init__(self):
        self.busy, self.number = False, None

    @contextlib.contextmanager
    def heard(self):
        """The signals come here, unless somebody else has asked for them."""
        before = {}
        if threading.current_thread() is threading.main_thread():
            numbers = [getattr(signal, f"SIG{name}", None) for name in ("INT", "TERM", "HUP")]
            before = {number: signal.getsignal(number) for number in numbers if number is not None
                      and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)}
        try:
            for number in before:
                signal.signal(number, self._receive)
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def held_back(self):
        """A signal that comes meanwhile counts at the end, so that what was done is known."""
        self.busy = True
        try:
            yield
        finally:
            self.busy = False
        if self.number is not None:
            self._stop()

    def _receive(self, number, frame):
        self.number = number
        if not self.busy:
            self._stop()

    def _stop(self):
        if self.number == signal.SIGINT:
            raise KeyboardInterrupt
        raise Stopped(self.number)


def stoppable():
    """A context in which `Signals` are heard."""
    return Signals().heard()
