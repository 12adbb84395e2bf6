"""Several experiments into one folder, with a report; what is done is kept."""

import json
import os
import platform
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from difflib import get_close_matches
from pathlib import Path

import numpy
import scipy

import coactive_fast
from coactive_fast.commands import Trouble
from coactive_fast.learner._extras import require
from coactive_fast.learner._progress import reporter

from . import _run, _write, experiments
from ._folder import Sets
from ._plan import Setting
from ._report import Entry, count, write_report

MANIFEST = "run.json"
FEW = 3  # experiments, whose findings are printed


def chosen(names):
    """The experiments of these names (all for none), in the order of the report."""
    known = experiments()
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=3, cutoff=0.4)
            # a family's name stands for all of its experiments
            if not any(e.paper == name for e in known.values()):
                raise Trouble(f"there is no experiment {name!r}" + (
                    f"; the nearest are {', '.join(near)}" if near else "")
                    + ". `coactive-fast list` shows all")
    wanted = [e for e in known.values() if not names or e.name in names or e.paper in names]
    return wanted


def prepare(out, about, checksums):
    """The folder of the results: new, empty, or that of a run with the same parameters.

    Runs of different experiments may share it, as long as they agree on the files both read.
    """
    out = Path(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
        inside = [path.name for path in out.iterdir()]
    except OSError as error:
        raise Trouble(f"--out {out}: {error.strerror}") from error
    manifest = out / MANIFEST
    if manifest.is_file():
        try:
            before = json.loads(manifest.read_text(encoding="utf-8"))
            known = dict(before.pop("checksums", {}))
        except (AttributeError, TypeError, ValueError):
            raise Trouble(f"{manifest} is damaged: give another --out, or delete it") from None
        if before != about:
            other = sorted(k for k in about.keys() | before.keys()
                           if about.get(k) != before.get(k))
            raise Trouble(f"{out} holds a run with another {', '.join(other)}: give another --out")
        for name in checksums.keys() & known.keys():
            if checksums[name] != known[name]:
                raise Trouble(f"{out} holds a run with another {name}: give another --out")
    elif inside:
        raise Trouble(f"{out} is not empty and holds no run: give another --out")
    else:
        known = {}
    part = manifest.with_suffix(".part")
    text = json.dumps({**about, "checksums": {**known, **checksums}}, indent=1)
    try:
        part.write_text(text + "\n", encoding="utf-8")
        os.replace(part, manifest)
    except OSError as error:
        raise Trouble(f"--out {out}: {error.strerror}") from error
    return out


class Progress:
    """One bar for all experiments, by their expected cost; called from several threads."""

    STEPS = 1000

    def __init__(self, wanted, scale, report):
        cost = {e.name: e.cost[scale == "paper"] for e in wanted}
        whole = sum(cost.values())
        self.share = {name: seconds / whole for name, seconds in cost.items()}
        self.done = dict.fromkeys(cost, 0.0)
        self.lock, self.report = threading.Lock(), report

    def of(self, name):
        def tell(done, total):
            # later stages of an experiment add to its total: never backwards
            with self.lock:
                self.done[name] = max(self.done[name], 0.98 * done / total if total else 0.0)
                self.tell()
        return tell

    def ended(self, name):
        with self.lock:
            self.done[name] = 1.0
            self.tell()

    def tell(self):
        if self.report is not None:
            share = sum(self.share[name] * done for name, done in self.done.items())
            self.report(int(self.STEPS * share + 0.5), self.STEPS)


def machine():
    return {
        "coactive_fast": coactive_fast.__version__, "numpy": numpy.__version__,
        "scipy": scipy.__version__, "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}", "processors": os.cpu_count(),
        "instruction set": coactive_fast.show_config("dicts")["isa"]["chosen"],
    }


def reproduce(names=(), *, scale="quick", data=None, out="coactive-fast-report", jobs=1, seed=0,
              workers=None, progress=True, say=print):
    """Run experiments, write their curves and pictures, and one report.

    What was finished before, in the same folder with the same parameters, is not done again: a
    run that was interrupted goes on.

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
        Processes. The results do not depend on it.
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
    wanted = chosen(names)
    sets, begin = Sets.at_hand(data), time.perf_counter()
    checksums = _checksums(sets, wanted)
    about = {"version": coactive_fast.__version__, "scale": scale, "seed": seed,
             "data": sets.kind}
    out = prepare(out, about, checksums)
    entries = {}
    with reporter(progress) as report, (workers or _run.Processes(jobs)) as crew, \
            ThreadPoolExecutor(max(1, crew.jobs)) as drivers:
        told = Progress(wanted, scale, report)

        def play(experiment):
            setting = Setting(sets, seed, experiment.parameters(scale))
            kept = _run.Kept(out / "parts")  # one for all: some share tasks
            return _run.drive(experiment, setting, crew, kept, told.of(experiment.name))

        running = {drivers.submit(play, experiment): experiment for experiment in wanted}
        try:
            for future in as_completed(running):
                experiment = running[future]
                outcome, seconds = _result(future, experiment)
                files = {name: checksums[name] for name in experiment.files} if sets.real else {}
                facts = {**about, "data": experiment.data_of(sets), "checksums": files,
                         "parameters": dict(experiment.parameters(scale)),
                         "versions": machine(), "seconds": seconds}
                _write.write(out / experiment.name, experiment, outcome, facts)
                entries[experiment.name] = Entry(experiment, outcome, facts, seconds)
                told.ended(experiment.name)
        except BaseException:
            crew.stop()
            for future in running:
                future.cancel()
            raise
    took = time.perf_counter() - begin
    ordered = [entries[e.name] for e in wanted]
    path = write_report(out, ordered, {**about, **machine(), "jobs": crew.jobs, "seconds": took})
    summary(ordered, took, path, say)
    return path


def _result(future, experiment):
    """What came out of it; what went wrong is told with the experiment's name."""
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise Trouble(f"{experiment.name}: a process was ended from outside, perhaps for want of "
                      "memory; the same command goes on where it stopped") from error
    except Exception as error:
        raise Trouble(f"{experiment.name}: {str(error) or type(error).__name__}") from error


def _checksums(sets, wanted):
    if not sets.real:
        return {}
    if not Path(sets.folder).is_dir():
        raise Trouble(f"--data {sets.folder} is not a folder")
    try:
        return sets.checksums(dict.fromkeys(name for e in wanted for name in e.files))
    except FileNotFoundError as error:
        raise Trouble(str(error)) from error


def summary(entries, took, path, say):
    """A line an experiment; of a few experiments, their findings too."""
    for entry in entries:
        marks = [finding.holds for finding in entry.outcome.findings]
        parts = [f"{marks.count(value)} {word}" for value, word in
                 ((True, "hold"), (False, "do not"), (None, "not judged")) if value in marks]
        say(f"{entry.experiment.name:28} {entry.seconds:7.1f} s   {', '.join(parts)}")
        for finding in entry.outcome.findings if len(entries) <= FEW else ():
            word = {True: "holds", False: "does not hold", None: "not judged"}[finding.holds]
            say(f"  {word}: {finding.says} {finding.measured}")
    say(f"{count(len(entries), 'experiment')} in {took:.0f} s: {path}")

