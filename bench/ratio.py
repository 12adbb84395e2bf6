"""Contenders timed in turn (A, B, C, A, B, C, ...) in one run, and the table of their ratios.

A contender plays rounds: ``play(n)`` does the same piece of work n times. One sample is the time
of a batch of at least `BATCH` seconds; a series is the median of its samples, and the best of
several series counts. All contenders of a case take turns sample by sample, so that whatever
else the machine does falls on all of them; before each sample a contender plays a little for
nothing, so that its own data is back in the caches.

The clock is the processor time of the thread where it is fine enough: everything here computes in
one thread, and a sample of a slow contender would otherwise count the other jobs of a busy machine.
"""

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice

BATCH = 150e-6      # seconds of one sample, at least
WARM = 6            # rounds for nothing before the sample of a long round, at least
CLOCK = (time.thread_time_ns if time.get_clock_info("thread_time").resolution <= 1e-6
         else time.perf_counter_ns)
NOISY = 1.25        # series of one contender that differ by more are marked


@dataclass(frozen=True)
class Contender:
    """`play(n)` plays n rounds; `before()` sets it back, untimed, before each sample."""

    name: str
    play: Callable[[int], object]
    before: Callable[[], object] | None = None
    most: int = 1 << 30     # rounds of one sample, at most
    step: int = 1           # rounds of one sample, a multiple of (work comes in blocks)
    scale: float = 1.0      # a round counts as so many (elements, say)
    own: bool = False       # another form of ours: shown, never a rival


@dataclass(frozen=True)
class Target:
    """What the issue asks of a case: `measure(result)` must be at most, or at least, `bound`."""

    text: str
    measure: Callable[["Result"], float | None]
    bound: float
    at_most: bool
    unit: str               # "s", "x" or "" (a plain number)

    def met(self, value):
        return value <= self.bound if self.at_most else value >= self.bound


@dataclass
class Case:
    """Ours, its rivals, the physical limit, and what is asked."""

    subject: str
    name: str
    ours: Contender
    rivals: Sequence[Contender | None] = ()
    limit: Contender | None = None
    targets: Sequence[Target] = ()
    call: tuple | None = None       # (function, arguments): one call of ours, for pytest-benchmark
    figures: dict = field(default_factory=dict)     # what the checks found: errors, residuals

    def contenders(self):
        found = [self.ours, self.limit, *self.rivals]
        return [c for c in found if c is not None]


@dataclass(frozen=True)
class Plan:
    """A case that is not built yet (it may need memory, a compiler, numba's time)."""

    name: str
    build: Callable[[], Case]
    smoke: bool = True      # part of the quick mode

    def __str__(self):
        return self.name


@dataclass
class Result:
    case: Case
    seconds: dict           # contender: seconds a round
    spread: dict            # contender: worst series / best series

    def of(self, name):
        return self.seconds.get(name)

    def ours(self):
        return self.seconds[self.case.ours.name]


# --- targets ------------------------------------------------------------------------------------


def takes_at_most(seconds, who=None):
    """An orientation in time, for ours or for another form of ours."""
    return Target(f"<= {show_time(seconds)}",
                  lambda r: r.of(who) if who else r.ours(), seconds, True, "s")


def times_faster(factor, label, *names):
    """At least `factor` times faster than the best of the contenders named that are there."""
    def measure(result):
        there = [result.of(name) for name in names if result.of(name)]
        return min(there) / result.ours() if there else None
    return Target(f">= {factor:g}x {label}", measure, factor, False, "x")


def within_limit(factor, who=None):
    def measure(result):
        bound = result.case.limit and result.of(result.case.limit.name)
        mine = result.of(who) if who else result.ours()
        return mine / bound if bound and mine else None
    label = f" ({who})" if who else ""
    return Target(f"<= {factor:g}x the limit{label}", measure, factor, True, "x")


def alike(factor, *names):
    """Ours and the own forms named differ by at most `factor`."""
    def measure(result):
        figures = [result.ours(), *(result.of(name) for name in names)]
        return max(figures) / min(figures)
    return Target(f"all within {factor:g}x", measure, factor, True, "x")


def figure_at_most(name, bound):
    """Something that the check of the case found, an error say."""
    return Target(f"{name} <= {bound:g}", lambda r: r.case.figures.get(name), bound, True, "")


# --- timing -------------------------------------------------------------------------------------


def player(statement, item, items, **names):
    """``play(n)``: the statement n times over the items in turn, as a user's own loop has it.

    The loop is made as `timeit` makes its own, so that a round costs no more than the call.
    """
    source = f"def play(n):\n    for {item} in islice(_items, n):\n        {statement}\n"
    names.update(islice=islice, _items=cycle(items))
    exec(source, names)
    return names["play"]


class Tape:
    """A long row of records that all contenders of a case read on and on, each record by one.

    Where one has read, the next goes on: nobody finds in the cache what a rival brought there.
    """

    def __init__(self, length):
        self.length, self.at = length, 0

    def take(self, n):
        """Where the next n records begin."""
        if n > self.length:
            raise ValueError(f"{n} records in one go, but there are {self.length}")
        if self.at + n > self.length:
            self.at = 0
        begin, self.at = self.at, self.at + n
        return begin


def _sample(contender, rounds):
    if contender.before is not None:
        contender.before()
    begin = CLOCK()
    contender.play(rounds)
    return (CLOCK() - begin) * 1e-9


def _batch(contender):
    """Rounds of one sample, and the seconds it takes."""
    rounds, step = contender.step, contender.step
    while True:
        took = min(_sample(contender, rounds) for _ in range(2))
        if took >= BATCH or rounds >= contender.most:
            return rounds, took
        grow = min(1.2 * BATCH / max(took, 1e-9), 100.0)
        rounds = min(contender.most, max(rounds + step, int(rounds * grow) // step * step))


def _warm(contender, rounds, took):
    """A little for nothing: what rivals pushed out of the caches comes back.

    A shared cache takes several passes until it believes that some megabytes are used again (8 MB
    on an EPYC: 214, 175, 148, 136, ... 120 us a pass), and a learner's matrix is used for long.
    """
    if contender.before is None and took < 0.01:
        least = WARM if took / rounds > BATCH / WARM else 1
        contender.play(max(contender.step, rounds // 8, least))


def interleaved(contenders, budget, series=3):
    """Seconds a round of each, all taking turns; about `budget` seconds in all."""
    batches = [_batch(c) for c in contenders]
    turn = sum(1.2 * took for _, took in batches)
    samples = int(min(max(budget / (series * turn), 3), 400))
    medians = [[] for _ in contenders]
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(series):
            taken = [[] for _ in contenders]
            for _ in range(samples):
                for c, (rounds, took), into in zip(contenders, batches, taken, strict=True):
                    _warm(c, rounds, took)
                    into.append(_sample(c, rounds) / (rounds * c.scale))
            for into, out in zip(taken, medians, strict=True):
                out.append(statistics.median(into))
    finally:
        if enabled:
            gc.enable()
    return medians


def measure(case, budget=1.5, series=3):
    """All contenders of a case, timed in turn."""
    contenders = case.contenders()
    medians = interleaved(contenders, budget, series)
    names = [c.name for c in contenders]
    seconds = {n: min(m) for n, m in zip(names, medians, strict=True)}
    if case.limit is not None:
        # a limit is the best that was ever seen: also alone, where no rival empties the caches
        alone = min(interleaved([case.limit], budget / 5, series)[0])
        seconds[case.limit.name] = min(alone, seconds[case.limit.name])
    return Result(case, seconds,
                  {n: max(m) / min(m) for n, m in zip(names, medians, strict=True)})


# --- tables -------------------------------------------------------------------------------------


def show_time(seconds):
    for unit, size in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def show(value, unit):
    if value is None:
        return "not measured"
    return show_time(value) if unit == "s" else f"{value:.2f}x" if unit == "x" else f"{value:.1e}"


def verdict(target, value):
    return "-" if value is None else "met" if target.met(value) else "NOT met"


def table(result):
    """The case as text: who took how long, the ratios, the targets."""
    case = result.case
    bound = result.of(case.limit.name) if case.limit else None
    lines = [f"{case.subject}: {case.name}"]
    for c in case.contenders():
        took = result.seconds[c.name]
        to_limit = f"{took / bound:9.2f}" if bound and c is not case.limit else " " * 9
        rival = c is not case.ours and c is not case.limit and not c.own
        slower = f"{took / result.ours():9.2f}" if rival else " " * 9
        noise = result.spread[c.name]
        mark = f"  noisy: series differ {noise:.2f}x" if noise > NOISY else ""
        lines.append(f"  {c.name:<52} {show_time(took):>9} {to_limit} {slower}{mark}")
    lines.insert(1, f"  {'':<52} {'a round':>9} {'/ limit':>9} {'/ ours':>9}")
    if bound and result.ours() < bound:
        lines.append("  faster than the limit: its probe did not reach what is there, ignore it")
    for name, value in case.figures.items():
        lines.append(f"  {name}: {value:.2e}")
    for target in case.targets:
        value = target.measure(result)
        lines.append(f"  target {target.text}: {show(value, target.unit)}, "
                     f"{verdict(target, value)}")
    return "\n".join(lines)
