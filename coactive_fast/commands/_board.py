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
        self.rounds = self.since = 0  # of all lines, since the last one
        self.total = self.part = 0.0
        self.next, self.begin = FIRST, time.perf_counter()

    def stretches(self, n):
        """Where n rounds are cut, so that a line that is due is printed in time: (begin, end)."""
        begin = 0
        while begin < n:
            end = min(n, begin + self.next - self.rounds)
            yield begin, end
            begin = end

    def add(self, losses):
        """Counts the losses of some rounds, which end where a line is due at the latest."""
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
        if self.since == self.rounds:
            print(f"{'rounds':>12} {self.what:>16} {'since the last':>16} {'rows/s':>12}"
                  + (f" {self.measure:>12}" if self.judge else ""))
        self.total += self.part
        now = time.perf_counter()
        judged = f" {self.judge():>12.5f}" if self.judge else ""
        print(f"{self.rounds:>12,} {self.total / self.rounds:>#16.6g} "
              f"{self.part / self.since:>#16.6g} "
              f"{self.rounds / max(now - self.begin, 1e-9):>12,.0f}{judged}", flush=True)
        self.begin += time.perf_counter() - now  # the clock stands still while it is judged
        self.since, self.part = 0, 0.0

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
