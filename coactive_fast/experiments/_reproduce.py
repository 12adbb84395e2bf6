"""Several experiments into one folder, with a report; what is done is kept."""

import contextlib
import json
import os
import platform
import shutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import coactive_fast
from coactive_fast.commands import Trouble, stoppable, troubles
from coactive_fast.learner._extras import require
from coactive_fast.learner._progress import reporter
from coactive_fast.testing import versions

from . import _run, _sources, experiments
from ._folder import Sets
from ._report import SHORT, WORDS, Entry, count, marks, write, write_report

try:
    import fcntl
except ImportError:  # not a Unix
    fcntl = None

MANIFEST, PART = "run.json", "run.part"  # the latter: while it is written
PARTS = "parts"  # the folder of finished tasks, until all are
FEW = 3  # experiments, whose findings are printed
SPARE = 2  # experiments more than processes at a time


def chosen(names):
    """The experiments of these names (all for none), in the order of the report."""
    known = experiments()
    for name in names:
        if name not in known:
            families = {e.paper for e in known.values()}  # such a name stands for all of its own
            if name not in families:
                near = get_close_matches(name, [*sorted(families), *known], n=3, cutoff=0.4)
                raise Trouble(f"there is no experiment {name!r}" + (
                    f"; the nearest are {', '.join(near)}" if near else "")
                    + ". `coactive-fast list` shows all")
    return [e for e in known.values() if not names or e.name in names or e.paper in names]


def _troubles_of(out):
    """What the system refuses in the folder of the results is told with its name."""
    return troubles(f"--out {out}", OSError)


@contextlib.contextmanager
def alone(out):
    """The folder, made where there is none, with nobody else at work in it till the end.

    The system gives the lock back however this process ends; where it has none, nothing is locked.
    """
    with _troubles_of(out):
        try:
            out.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise Trouble(f"--out {out}: there is a file in the place of a folder") from error
    with contextlib.ExitStack() as stack:
        if fcntl is not None:
            with contextlib.suppress(OSError):  # some file systems lock no folders
                folder = os.open(out, os.O_RDONLY)
                stack.callback(os.close, folder)
                try:
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    raise Trouble(f"another run is at work in {out}: wait for it, or give another "
                                  "--out") from error
        yield


def prepare(out, about, checksums):
    """Sees that the folder of the results is empty, or that of a run with the same parameters.

    Runs of different experiments may share it, as long as they agree on the files both read.
    """
    manifest = out / MANIFEST
    with _troubles_of(out):
        inside = [path.name for path in out.iterdir() if path.name != PART]
    if manifest.is_file():
        try:
            before = json.loads(manifest.read_text(encoding="utf-8"))
            known = dict(before.pop("checksums", {}))
        except (AttributeError, TypeError, ValueError):
            raise Trouble(f"{manifest} is damaged: give another --out, or delete it") from None
        other = [k for k in about.keys() | before.keys() if about.get(k) != before.get(k)]
        other += [name for name in checksums.keys() & known.keys()
                  if checksums[name] != known[name]]
        if other:
            raise Trouble(f"{out} holds a run with another {', '.join(sorted(other))}: give "
                          "another --out")
    elif inside:
        raise Trouble(f"{out} is not empty and holds no run: give another --out")
    else:
        known = {}
    text = json.dumps({**about, "checksums": {**known, **checksums}}, indent=1)
    with _troubles_of(out):
        (out / PART).write_text(text + "\n", encoding="utf-8")
        os.replace(out / PART, manifest)


class Progress:
    """One bar for all experiments, by their expected cost; called from several threads."""

    STEPS = 1000

    def __init__(self, wanted, scale, report):
        self.cost = {e.name: e.cost[scale == "paper"] for e in wanted}
        self.done = dict.fromkeys(self.cost, 0.0)
        self.lock, self.report = threading.Lock(), report

    def of(self, name):
        return lambda done, total: self.reached(name, 0.98 * done / total if total else 0.0)

    def reached(self, name, done):
        # later stages of an experiment add to its total: never backwards
        with self.lock:
            self.done[name] = max(self.done[name], done)
            if self.report is not None:
                spent = sum(self.cost[name] * done for name, done in self.done.items())
                share = spent / sum(self.cost.values())
                self.report(int(self.STEPS * share + 0.5), self.STEPS)


def machine():
    return {**versions(), "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}", "processors": os.cpu_count()}


def reproduce(names=(), *, scale="quick", data=None, out="coactive-fast-report", jobs=1, seed=0,
              workers=None, progress=True, say=print):
    """Run experiments, write their curves and pictures, and one report.

    A run that was interrupted goes on where it stopped, in the same folder with the same
    parameters; when all is done, the files of single tasks are deleted.

    Parameters
    ----------
    names : sequence of str, default=()
        Experiments or families (``coactive``, ``confidit``, ``filtering``, ``onseg``); none: all.
    scale : {"quick", "paper"}, default="quick"
    data : path, optional
        The folder of real data; without it data are generated, but for those that scikit-learn
        brings along.
    out : path
        Where everything goes: a folder an experiment, and ``report.html``.
    jobs : int, default=1
        Processes, no more than there are processors. The results do not depend on it.
    seed : int, default=0
    workers : optional
        Who runs the tasks instead of processes of this machine: an open
        `coactive_fast.adapters.dask.Workers`.
    progress, say
        A bar (True), none, or a callable ``(done, total)``; what is called with lines of text.

    Returns
    -------
    pathlib.Path
        Of the report.
    """
    require("matplotlib", "experiments", "reproduce")
    require("jinja2", "experiments", "reproduce")
    wanted, out = chosen(names), Path(out)
    sets, begin = Sets.at_hand(data), time.perf_counter()
    checksums = _checksums(sets, wanted)
    about = {"version": coactive_fast.__version__, "scale": scale, "seed": seed, "data": sets.kind}
    with stoppable(), (workers or _run.Processes(jobs)) as crew, alone(out):
        prepare(out, about, checksums)
        run = Run(out, sets, checksums, about)
        try:
            with reporter(progress) as report:
                entries = _entries(run, wanted, crew, Progress(wanted, scale, report))
            took = time.perf_counter() - begin
            with _troubles_of(out):
                path = write_report(out, entries, {**about, **machine(), "jobs": crew.jobs,
                                                   "seconds": took})
                shutil.rmtree(out / PARTS)
        except KeyboardInterrupt:
            print(f"interrupted: {out} keeps what is done, and the same command goes on there",
                  file=sys.stderr)
            raise
    summary(entries, took, path, say)
    return path


class Run(NamedTuple):
    """What all experiments of one command have in common."""

    out: Path
    sets: Sets
    checksums: dict
    about: dict  # what a second run into the same folder must have in common

    def play(self, experiment, crew, report):
        setting = experiment.setting(self.sets, self.about["seed"], self.about["scale"])
        kept = _run.Kept(self.out / PARTS)  # one for all: some share tasks
        return _run.drive(experiment, setting, crew, kept, report)

    def write(self, experiment, outcome, seconds):
        files = {name: self.checksums[name] for name in _sources.files(experiment, self.sets)
                 } if self.sets.real else {}
        facts = {**self.about, "data": _sources.called(experiment, self.sets), "checksums": files,
                 "parameters": dict(experiment.parameters(self.about["scale"])),
                 "versions": machine(), "seconds": seconds}
        write(self.out / experiment.name, experiment, outcome, facts)
        return Entry(experiment, outcome, facts, seconds)


def _entries(run, wanted, crew, progress):
    """Plays several experiments at a time, and writes each as it ends; in the order of `wanted`.

    The long ones begin first. A crew of several is given more than it has hands: an experiment
    that waits for the last task of a stage leaves the others to work.
    """
    entries, paper = {}, run.about["scale"] == "paper"
    with ThreadPoolExecutor(crew.jobs + SPARE if crew.jobs > 1 else 1) as drivers:
        running = {drivers.submit(run.play, e, crew, progress.of(e.name)): e
                   for e in sorted(wanted, key=lambda e: -e.cost[paper])}
        try:
            for future in as_completed(running):
                experiment = running[future]
                try:
                    entries[experiment.name] = run.write(experiment, *future.result())
                except Exception as error:
                    raise _trouble(error, experiment, run) from error
                progress.reached(experiment.name, 1.0)
        except BaseException:
            crew.stop()
            for future in running:
                future.cancel()
            raise
    return [entries[e.name] for e in wanted]


def _trouble(error, experiment, run):
    """What went wrong, with the experiment's name; of a file of data, where to get it."""
    if isinstance(error, BrokenProcessPool):
        text = ("a process was ended from outside, perhaps for want of memory; the same command "
                "goes on where it stopped")
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename or run.out}: {error.strerror}"
    else:
        text = str(error) or type(error).__name__
        about = next((_sources.origin(name) for name in _sources.files(experiment, run.sets)
                      if name in text), "")
        text += about if about not in text else ""
    return Trouble(f"{experiment.name}: {text}")


def _checksums(sets, wanted):
    if not sets.real:
        return {}
    if not Path(sets.folder).is_dir():
        raise Trouble(f"--data {sets.folder} is not a folder")
    try:
        return sets.checksums(dict.fromkeys(name for e in wanted
                                            for name in _sources.files(e, sets)))
    except (FileNotFoundError, ValueError) as error:
        raise Trouble(str(error)) from error


def summary(entries, took, path, say):
    """A line an experiment, and one for all; of a few experiments, their findings too."""
    for entry in entries:
        say(f"{entry.experiment.name:28} {entry.seconds:7.1f} s   {numbers(marks([entry]))}")
        for finding in entry.outcome.findings if len(entries) <= FEW else ():
            say(f"  {WORDS[finding.holds]}: {finding.says} {finding.measured}")
    say(f"{count(len(entries), 'experiment')} in {took:.0f} s, {numbers(marks(entries))}: {path}")


def numbers(counts):
    return ", ".join(f"{n} {SHORT[value]}" for value, n in counts.items() if n) or "no findings"
