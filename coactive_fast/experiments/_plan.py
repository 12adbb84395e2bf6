"""What an experiment is, and what comes out of one.

An experiment is a generator: it yields lists of tasks, is sent the lists of their results, and
returns its outcome. So a later stage can depend on an earlier one (parameters that are tuned
first), while whoever drives it decides where tasks are run: one after another, by processes, by a
cluster. Tasks share nothing, and each draws from generators of its own seeds; so results do not
depend on who ran them or in which order.
"""

import configparser
import functools
import hashlib
import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import _sources


class Task(NamedTuple):
    """``function(sets, **arguments)``, which returns a dict of arrays (scalars become arrays).

    The function is one of a module, the arguments are numbers, strings, None, and lists and dicts
    of these: they are the task's name in the folder where finished tasks wait.
    """

    function: Callable[..., Mapping[str, Any]]
    arguments: Mapping[str, Any] = {}

    @property
    def key(self):
        """A name for files: the same work, the same name."""
        what = [self.function.__module__, self.function.__qualname__, dict(self.arguments)]
        text = json.dumps(what, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def run(self, sets):
        found = self.function(sets, **self.arguments)
        return {name: np.asarray(value) for name, value in found.items()}


@dataclass(frozen=True)
class Setting:
    """What an experiment is run with."""

    sets: Any  # _folder.Sets: the data
    seed: int
    parameters: Mapping[str, Any]  # of the scale
    levels: bool = False  # whether absolute levels may be judged: whole real data

    def __getitem__(self, name):
        return self.parameters[name]


@dataclass(frozen=True)
class Experiment:
    """One figure or table of a paper."""

    name: str  # as users type it
    title: str
    paper: str  # the family: coactive, confidit, filtering, onseg
    shows: str  # "figure 2"
    data: str  # the sets, in words
    play: Callable[[Setting], Generator]
    quick: Mapping[str, Any] = field(default_factory=dict)  # parameters of the scale "quick"
    full: Mapping[str, Any] = field(default_factory=dict)  # of the scale "paper"
    cost: tuple = (1, 60)  # seconds of one core, about: quick, paper

    def parameters(self, scale):
        return {"quick": self.quick, "paper": self.full}[scale]

    def setting(self, sets, seed, scale):
        """What a run gets. Data that the paper generated too are as good as real ones."""
        whole = scale == "paper" and (sets.real or self.name not in _sources.TAKES)
        return Setting(sets, seed, self.parameters(scale), whole)


def repeated(function, settings, runs, **common):
    """Yields `runs` tasks of each of a dict of settings, which differ in the argument `run`;
    returns the arrays of each setting, whose first axis is the run."""
    found = yield from grouped({key: [Task(function, {**one, **common, "run": run})
                                      for run in range(runs)] for key, one in settings.items()})
    return {key: stacked(results) for key, results in found.items()}


def stacked(results):
    """The arrays of several results, with a first axis that counts the results."""
    return {name: np.array([one[name] for one in results]) for name in results[0]}


def grouped(groups):
    """Yields the tasks of a dict of lists of tasks; returns such a dict of their results."""
    found = iter((yield [task for tasks in groups.values() for task in tasks]))
    return {key: [next(found) for _ in tasks] for key, tasks in groups.items()}


# --- what comes out -----------------------------------------------------------------------------


@dataclass
class Curve:
    label: str
    x: np.ndarray
    mean: np.ndarray
    error: np.ndarray | None = None  # standard error of the mean
    bound: bool = False  # on the curve before it: drawn dashed in its colour, without a legend

    def at(self, places):
        """The curve at some of its points."""
        error = None if self.error is None else self.error[places]
        return replace(self, x=self.x[places], mean=self.mean[places], error=error)

    @classmethod
    def of_runs(cls, label, x, runs):
        """The mean over runs (runs, points), with its standard error where there are several."""
        runs = np.asarray(runs, dtype=float)
        error = runs.std(0, ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else None
        return cls(label, np.asarray(x), runs.mean(0), error)


@dataclass
class Plot:
    """Curves over one axis: a picture, and a CSV with a line a point."""

    name: str  # of its files, behind the experiment's
    title: str
    x: str  # the axes' labels
    y: str
    curves: list
    log: str = ""  # "x", "y" or "xy"
    kind: str = "lines"  # or "points": one mark an x, not joined
    ticks: list | None = None  # names of the x of a plot of points
    levels: Mapping[str, float] = field(default_factory=dict)  # horizontal lines: the paper's value
    bottom: float | None = None  # where the y axis begins
    story: bool = False  # one of the three to five pictures that open the paper's part


@dataclass
class Table:
    name: str
    title: str
    columns: list
    rows: list  # of lists: strings, numbers, None
    note: str = ""


@dataclass
class Finding:
    """A sentence of the paper, and whether it was seen here."""

    says: str
    measured: str
    holds: bool | None  # a verdict of `_judge`; None: not judged
    reason: str = ""  # why not, or what it rests on
    test: str = ""  # the rule, in one sentence; its border is that of a 95 % interval
    plot: str = ""  # the name of the plot that shows it
    level: bool = False  # an absolute number: judged on whole real data only
    main: str = ""  # in few words, where it belongs to the paper's story


@functools.lru_cache(maxsize=1)
def _claims():
    found = configparser.ConfigParser(delimiters=("=",), comment_prefixes=("#",),
                                      interpolation=None)
    found.read_string(Path(__file__).with_name("claims.ini").read_text(encoding="utf-8"))
    return found


def claim(key, holds, about="", story=True, **words):
    """The finding on a claim of ``claims.ini``, whose texts these words complete.

    `about` names another section, if there is one, whose texts come in the place of the claim's.
    ``story=False``: it is no part of the paper's story here, though it is elsewhere.
    """
    claims = _claims()
    given = {**claims[key], **(claims[about] if about in claims else {})}
    text = {name: value.replace("\n", " ").format(**words) for name, value in given.items()}
    reason = text.get("reason", "" if holds else text.get("unless", ""))
    return Finding(text["says"], text["measured"], holds, reason, text.get("test", ""),
                   text.get("plot", ""), "level" in text, text.get("main", "") if story else "")


class Timing(NamedTuple):
    """The paper's seconds beside ours, each with the size of the work."""

    what: str
    unit: str  # "ranking"
    paper_seconds: float
    paper_work: int  # how many units
    seconds: float
    work: int
    note: str = ""


@dataclass
class Outcome:
    plots: list = field(default_factory=list)
    tables: list = field(default_factory=list)
    findings: list = field(default_factory=list)
    parameters: dict = field(default_factory=dict)  # found on the way: tuned, printed by a theorem
    seconds: list = field(default_factory=list)  # of Timing


# --- small things that many experiments need ------------------------------------------------------


def file_name(*words):
    return "-".join(words).replace(" ", "-")


def rounds_to_show(total, count=300):
    """Rounds (from 1) at which a curve of `total` is shown: all, or evenly spaced in the log."""
    if total <= count:
        return np.arange(1, total + 1)
    return np.unique(np.rint(np.geomspace(1, total, count)).astype(np.int64))


def for_good(rounds, above):
    """The first of these rounds from which on none is above for good, or None."""
    places = np.flatnonzero(above)
    after = places[-1] + 1 if places.size else 0
    return int(rounds[after]) if after < len(rounds) else None


def running_mean(values):
    """The mean of the first t values, for each t, along the last axis."""
    values = np.asarray(values, dtype=float)
    return np.cumsum(values, -1) / np.arange(1, values.shape[-1] + 1)
