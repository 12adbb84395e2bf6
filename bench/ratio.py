"""A case of the benchmarks: ours, its rivals, the physical limit and what is asked; its table.

How contenders are timed in turn stands in `coactive_fast.testing`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from coactive_fast.testing import Contender, interleaved, player

__all__ = ["Case", "Contender", "Plan", "Tape", "Target", "alike", "figure_at_most", "interleaved",
           "measure", "player", "takes_at_most", "times_faster", "within_limit"]

NOISY = 1.25        # series of one contender that differ by more are marked


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
    call: tuple | None = None       # (function, arguments): one call of ours
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
    timings: dict           # contender: its samples

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


def measure(case, budget=1.5, series=3):
    """All contenders of a case, timed in turn."""
    contenders = case.contenders()
    timings = {c.name: timing for c, timing in
               zip(contenders, interleaved(contenders, budget, series), strict=True)}
    seconds = {name: timing.seconds for name, timing in timings.items()}
    if case.limit is not None:
        # a limit is the best that was ever seen: also alone, where no rival empties the caches
        alone = interleaved([case.limit], budget / 5, series)[0].seconds
        seconds[case.limit.name] = min(alone, seconds[case.limit.name])
    return Result(case, seconds, timings)


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
        noise = result.timings[c.name].spread
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
