"""How far a long run is: what `progress=` may be; runs of many parts in threads."""

import contextlib
import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

PAUSE = 0.1  # seconds between two drawings of the plain bar
WIDTH = 30


def reporter(progress):
    """A context manager that gives None (report nothing) or a callable ``report(done, total)``.

    Parameters
    ----------
    progress : None, bool or callable
        True draws a bar: tqdm's or rich's where one is installed, else a line of text on stderr
        if that is a terminal. A callable is handed out as it is. Leaving the context ends the
        bar, at the place it has reached.
    """
    if progress is None or isinstance(progress, bool):
        return _bar() if progress else contextlib.nullcontext()
    if callable(progress):
        return contextlib.nullcontext(progress)
    raise TypeError("progress must be None, a bool or a callable taking (done, total), got "
                    f"{type(progress).__name__}")


def in_threads(work, n, jobs, stop, report):
    """``[work(0), ..., work(n - 1)]``, and reports how many are done.

    The first error, or Ctrl-C, ends it: ``stop()`` is to end the parts that are under way.
    """
    with ThreadPoolExecutor(jobs) as pool:
        try:
            futures = [pool.submit(work, i) for i in range(n)]
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                if report is not None:
                    report(done, n)
        except BaseException:
            stop()
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _bar():
    with contextlib.suppress(ImportError):
        from tqdm.auto import tqdm

        return _tqdm(tqdm)
    with contextlib.suppress(ImportError):
        from rich.console import Console
        from rich.progress import Progress

        return _rich(Progress(console=Console(stderr=True)))
    terminal = sys.stderr is not None and sys.stderr.isatty()
    return _Plain() if terminal else contextlib.nullcontext()


@contextlib.contextmanager
def _tqdm(make):
    with contextlib.ExitStack() as stack:
        bar = None  # made at the first report, which tells the total

        def report(done, total):
            nonlocal bar
            if bar is None:
                bar = make(total=total)
                stack.callback(bar.close)
            bar.update(done - bar.n)

        yield report


@contextlib.contextmanager
def _rich(bar):
    with bar:  # starts it, and stops it
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _Plain:
    def __init__(self):
        self.out = sys.stderr
        self.drawn = None  # (done, total) on the screen
        self.last = None  # (done, total) reported
        self.width = 0  # of the line on the screen
        self.start = self.next = time.monotonic()

    def __enter__(self):
        return self.report

    def __exit__(self, *error):
        if self.last is not None:
            self.draw()
            self.out.write("\n")
            self.out.flush()

    def report(self, done, total):
        self.last = done, total
        now = time.monotonic()
        if now >= self.next:
            self.next = now + PAUSE
            self.draw()

    def draw(self):
        if self.last == self.drawn:
            return
        done, total = self.drawn = self.last
        share = done / total if total else 1.0
        bar = ("#" * int(share * WIDTH)).ljust(WIDTH)
        seconds = time.monotonic() - self.start
        text = f"{share:4.0%} |{bar}| {done}/{total}, {seconds:.1f} s{_left(share, seconds)}"
        self.out.write("\r" + text.ljust(self.width))  # over what was longer
        self.out.flush()
        self.width = len(text)


def _left(share, seconds):
    """``", 1:40 left"`` at the speed so far; nothing where there is no speed, or all is done."""
    if not 0.0 < share < 1.0 or seconds <= 0.0:
        return ""
    minutes, rest = divmod(math.ceil(seconds / share - seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f", {hours}:{minutes:02}:{rest:02} left" if hours else f", {minutes}:{rest:02} left"
