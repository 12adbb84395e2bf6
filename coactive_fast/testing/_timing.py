"""Contenders timed in turn (A, B, C, A, B, C, ...) in one run.

A contender plays rounds: ``play(n)`` does the same piece of work n times. One sample is the time
of a batch of at least `BATCH` seconds; a series is the median of its samples, and the best of
several series counts. All contenders take turns sample by sample, so that whatever else the machine
does falls on all of them; before each sample a contender plays a little for nothing, so that its
own data is back in the caches.

The clock is the processor time of the thread where it is fine enough: what is timed here computes
in one thread, and a sample of a slow contender would otherwise count the other jobs of a busy
machine.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

BATCH = 150e-6      # seconds of one sample, at least
WARM = 6            # rounds for nothing before the sample of a long round, at least
CLOCK = (time.thread_time_ns if time.get_clock_info("thread_time").resolution <= 1e-6
         else time.perf_counter_ns)


@dataclass(frozen=True)
class Contender:
    """What is timed: a way to play rounds of the same piece of work.

    Attributes
    ----------
    name : str
        What it is called in tables.
    play : callable
        ``play(n)`` plays n rounds.
    before : callable, optional
        Called without arguments before each sample, untimed, to set back what rounds change.
    most : int
        Rounds of one sample, at most.
    step : int
        The rounds of a sample are a multiple of it, for work that comes in blocks.
    scale : float
        How much a round counts, so many elements say.
    own : bool
        Whether it is another form of what is judged: shown, and never a rival.

    Examples
    --------
    >>> from coactive_fast.testing import Contender, interleaved
    >>> slow = Contender("sum", lambda n: [sum(range(1000)) for _ in range(n)])
    >>> fast = Contender("formula", lambda n: [1000 * 999 // 2 for _ in range(n)])
    >>> a, b = interleaved([slow, fast], budget=0.01, series=1)
    >>> a.seconds > b.seconds
    True
    """

    name: str
    play: Callable[[int], object]
    before: Callable[[], object] | None = None
    most: int = 1 << 30
    step: int = 1
    scale: float = 1.0
    own: bool = False


@dataclass(frozen=True)
class Timing:
    """The samples of one contender, in seconds a round.

    Attributes
    ----------
    rounds : int
        Rounds of one sample.
    series : tuple of tuple of float
        The samples of each series, in the order in which they were taken.
    seconds : float
        The least of the series' medians, which is what counts.
    spread : float
        The largest of these medians over the least: far above 1 where the machine was busy.

    Examples
    --------
    >>> from coactive_fast.testing import Timing
    >>> timing = Timing(10, ((3e-6, 1e-6, 2e-6), (4e-6, 4e-6, 4e-6)))
    >>> timing.seconds, timing.spread
    (2e-06, 2.0)
    """

    rounds: int
    series: tuple[tuple[float, ...], ...]

    @property
    def medians(self) -> list[float]:
        """Of each series."""
        return [statistics.median(samples) for samples in self.series]

    @property
    def seconds(self) -> float:
        """A round, by the best series."""
        return min(self.medians)

    @property
    def spread(self) -> float:
        """The worst series over the best one."""
        return max(self.medians) / self.seconds


def player(statement: str, item: str, items: Iterable[Any], **names: Any) -> Callable[[int], None]:
    """``play(n)``: the statement n times over the items in turn, as a user's own loop has it.

    The loop is made as `timeit` makes its own, so that a round costs no more than the call.

    Parameters
    ----------
    statement : str
        What one round does.
    item : str
        What the item of the round is called in it.
    items : iterable
        Gone through again and again.
    **names
        The other names that the statement uses.

    Returns
    -------
    callable
        For a `Contender`.

    Examples
    --------
    >>> from coactive_fast.testing import player
    >>> found = []
    >>> player("found.append(x * x)", "x", [1, 2, 3], found=found)(5)
    >>> found
    [1, 4, 9, 1, 4]
    """
    source = f"def play(n):\n    for {item} in islice(_items, n):\n        {statement}\n"
    scope = {**names, "islice": islice, "_items": cycle(items)}
    exec(source, scope)
    return scope["play"]


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
        step = contender.step
        contender.play(max(step, max(rounds // 8, least) // step * step))


def interleaved(contenders: Sequence[Contender], budget: float = 1.0,
                series: int = 3) -> list[Timing]:
    """Times contenders in turn, sample by sample, with the garbage collector off.

    Parameters
    ----------
    contenders : sequence of Contender
        All of them do the same work.
    budget : float, default 1.0
        About how many seconds all samples take together.
    series : int, default 3
        How often the samples are taken anew, at least 3 samples a series.

    Returns
    -------
    list of Timing
        One for each contender, in their order.

    Examples
    --------
    >>> from coactive_fast.testing import Contender, interleaved
    >>> twice = [Contender(name, lambda n: [None] * n) for name in ("one", "another")]
    >>> [len(timing.series) for timing in interleaved(twice, budget=0.01, series=2)]
    [2, 2]
    """
    batches = [_batch(c) for c in contenders]
    turn = sum(1.2 * took for _, took in batches)
    samples = int(min(max(budget / (series * turn), 3), 400))
    found: list[list[tuple[float, ...]]] = [[] for _ in contenders]
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(series):
            taken: list[list[float]] = [[] for _ in contenders]
            for _ in range(samples):
                for c, (rounds, took), into in zip(contenders, batches, taken, strict=True):
                    _warm(c, rounds, took)
                    into.append(_sample(c, rounds) / (rounds * c.scale))
            for into, out in zip(taken, found, strict=True):
                out.append(tuple(into))
    finally:
        if enabled:
            gc.enable()
    return [Timing(rounds, tuple(out)) for (rounds, _), out in zip(batches, found, strict=True)]
