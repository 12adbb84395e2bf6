"""The table of progressive validation, and in which order rows come."""

import time

import numpy as np

from . import Trouble, _streams

FIRST = 16  # rounds before the first line


class Board:
    """The table of progressive validation: means of what is counted, and rows a second.

    Parameters
    ----------
    what : str
        What is counted.
    judge : callable, optional
        How the learner does on what was held out, and `measure` is what it answers.
    report : callable, optional
        ``report(done, expected)``, where it is known how many rounds there will be.
    """

    def __init__(self, what, judge=None, *, measure="held out", report=None, expected=None):
        self.what, self.judge, self.measure = what, judge, measure
        self.report, self.expected = report if expected else None, expected
        self.rounds = self.since = 0
        self.total = self.part = 0.0
        self.next, self.begin, self.headed = FIRST, None, False
        self.judging = 0.0  # seconds

    def rounds_left(self):
        """How many more rounds until the next line is due; the first call starts the clock."""
        if self.begin is None:
            self.begin = time.perf_counter()
        return self.next - self.rounds

    def stretches(self, n):
        """Where n rounds are cut, so that a line that is due is printed in time: (begin, end)."""
        begin = 0
        while begin < n:
            end = min(n, begin + self.rounds_left())
            yield begin, end
            begin = end

    def add(self, losses):
        """Counts the losses of some rounds, at most `rounds_left`."""
        self.rounds += len(losses)
        self.since += len(losses)
        self.part += float(np.sum(losses))
        if self.report is not None:
            self.report(self.rounds, self.expected)
        if self.rounds == self.next:
            self.next *= 2
            self.line()

    def line(self):
        if self.since == 0:
            return
        if not self.headed:
            self.headed = True
            print(f"{'rounds':>12} {self.what:>16} {'since the last':>16} {'rows/s':>12}"
                  + (f" {self.measure:>12}" if self.judge else ""))
        self.total += self.part
        seconds = max(time.perf_counter() - self.begin - self.judging, 1e-9)
        print(f"{self.rounds:>12,} {self.total / self.rounds:>#16.6g} "
              f"{self.part / self.since:>#16.6g} {self.rounds / seconds:>12,.0f}"
              + self._judged(), flush=True)
        self.since, self.part = 0, 0.0

    def _judged(self):
        if not self.judge:
            return ""
        begin = time.perf_counter()
        found = self.judge()
        self.judging += time.perf_counter() - begin
        return f" {found:>12.5f}"

    def end(self):
        """The last line; where there was no row at all, that is trouble."""
        self.line()
        if self.rounds == 0:
            raise Trouble("nothing to learn from: there was no row")


class Decisions:
    """How many rows a filter has forwarded, how many were relevant, and how many were both."""

    def __init__(self):
        self.forwarded = self.relevant = self.both = 0

    def add(self, history):
        """Counts the rounds of a `FilteringHistory`; returns which decisions were wrong."""
        self.forwarded += int(history.forwarded.sum())
        self.relevant += int(history.relevant.sum())
        self.both += int((history.forwarded & history.relevant).sum())
        return history.mistakes

    def summary(self):
        precision, recall = self.both / max(self.forwarded, 1), self.both / max(self.relevant, 1)
        mean = 2 * self.both / max(self.forwarded + self.relevant, 1)
        return (f"precision {precision:.4f}, recall {recall:.4f}, F {mean:.4f}; "
                f"{self.forwarded:,} forwarded, {self.relevant:,} relevant")


def order_of(n, options, number):
    """The order of the rows in this pass."""
    if options.shuffle is None:
        return np.arange(n)
    return np.random.default_rng([options.shuffle, number]).permutation(n)


def refuse_second_pass(options):
    """Standard input is over after the first."""
    if options.passes > 1 and _streams.is_stdin(options.file):
        raise Trouble("standard input is not read twice: --passes needs a file")
