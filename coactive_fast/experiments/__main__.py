"""``python -m coactive_fast.experiments [NAME ...] --out DIR``."""

import argparse
import time
from pathlib import Path

import coactive_fast
from coactive_fast.learner._progress import reporter

from . import _run, _write, experiments
from ._folder import Sets
from ._plan import Setting


def one(experiment, given, workers):
    """Runs one experiment and writes its folder; prints what was found."""
    sets, parameters = Sets(given.data), experiment.parameters(given.scale)
    about = {"version": coactive_fast.__version__, "scale": given.scale, "seed": given.seed,
             "parameters": dict(parameters),
             "data": sets.checksums(experiment.files) if sets.real else "generated"}
    folder, begin = given.out / experiment.name, time.perf_counter()
    with reporter(True) as report:
        outcome, seconds = _run.drive(experiment, Setting(sets, given.seed, parameters), workers,
                                      _run.Kept(folder / "parts"), report)
    _write.write(folder, experiment, outcome, {**about, "seconds": seconds})
    print(f"{experiment.name}: {experiment.title} ({experiment.paper}, {experiment.shows}), "
          f"{time.perf_counter() - begin:.1f} s")
    for table in outcome.tables:
        print(f"  {table.title}")
        for row in [table.columns, *table.rows]:
            print("   ", "  ".join(c if isinstance(c, str) else _write.number(c) for c in row))
    for finding in outcome.findings:
        word = {True: "holds", False: "DOES NOT HOLD", None: "not judged"}[finding.holds]
        print(f"  {word}: {finding.says} {finding.measured}. {finding.reason}")


def main():
    known = experiments()
    parser = argparse.ArgumentParser(prog="python -m coactive_fast.experiments",
                                     description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    parser.add_argument("--scale", choices=("quick", "paper"), default="quick")
    parser.add_argument("--data", help="the folder of real data (default: generated data)")
    parser.add_argument("--out", type=Path, default=Path("coactive-fast-report"))
    parser.add_argument("--jobs", type=int, default=1, help="processes; 0: this one")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name in given.names:
        if name not in known:
            parser.error(f"NAME must be one of {', '.join(known)}, got {name!r}")
    with _run.Processes(given.jobs) if given.jobs else _run.Here() as workers:
        for name in given.names or known:
            one(known[name], given, workers)


if __name__ == "__main__":
    main()
