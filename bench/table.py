"""The table of targets, filled: ``python bench/table.py [--quick] [subject ...]``."""

import threads  # noqa: I001  (before numpy: the pools of threads read the environment once)

import argparse
import gc
import importlib
import os
import platform
import sys

SUBJECTS = ("inverse", "full", "metric",
            "project_scores", "project_ball", "project_faces", "top_k", "rank",
            "cholesky", "accuracy", "simulate", "convex",
            "multiclass", "filtering", "rewards", "logs", "logs_readers", "adapters",
            "dask")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subjects", nargs="*", help=f"some of {' '.join(SUBJECTS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="smoke run: fewer sizes and samples")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds of timing a case")
    given = parser.parse_args()
    for subject in given.subjects:
        if subject not in SUBJECTS:
            parser.error(f"subject must be one of {' '.join(SUBJECTS)}, got {subject!r}")
    if given.quick:
        os.environ["COACTIVE_BENCH_QUICK"] = "1"
    return given


def heading():
    import contenders
    import numpy
    import scipy

    import coactive_fast

    isa = coactive_fast.show_config("dicts")["isa"]["chosen"]
    print(f"coactive_fast {coactive_fast.__version__} ({isa}), numpy {numpy.__version__}, "
          f"scipy {scipy.__version__}, Python {platform.python_version()}, "
          f"{platform.machine()}, one thread")
    for statement in contenders.missing():
        print(statement)


def built():
    """When each compiled module of the package was written: a rebuild under way spoils a run."""
    from pathlib import Path

    import coactive_fast

    folder = Path(coactive_fast.__file__).parent
    return {p.name: p.stat().st_mtime_ns for p in folder.rglob("*")
            if p.suffix in (".so", ".pyd") and p.is_file()}


def limits_heading():
    """Bandwidths and the FMA peak of this run, for whoever reads the table elsewhere."""
    import compiled
    import limits
    import ratio

    if compiled.limits() is None:
        return
    for size in (32 << 10, 512 << 10, 4 << 20, 16 << 20, 256 << 20):
        pair = [limits.read(size), limits.read_and_change(0, size)]
        read, change = (timing.seconds for timing in ratio.interleaved(pair, 0.2, 2))
        print(f"  {size >> 10:>7} KB: read {size / read / 1e9:6.1f} GB/s, "
              f"read and write {2 * size / change / 1e9:6.1f} GB/s (both counted)")
    peak = ratio.interleaved([limits.flops(1e6, "")], 0.2, 2)[0].seconds
    print(f"  FMA peak {1e6 / peak / 1e9:.1f} Gflop/s")


def run(subject, budget, series):
    """All cases of a subject: their tables at once, their targets as rows."""
    import ratio

    rows = []
    for plan in importlib.import_module(f"bench_{subject}").plans():
        if threads.quick() and not plan.smoke:
            continue
        result = ratio.measure(plan.build(), budget, series)
        print(ratio.table(result), end="\n\n", flush=True)
        case = result.case
        for target in case.targets:
            value = target.measure(result)
            rows.append((f"{case.subject} {case.name}", target.text,
                         ratio.show(value, target.unit), ratio.show_time(result.ours()),
                         ratio.verdict(target, value)))
        del result
        gc.collect()
    return rows


def show(rows):
    heads = ("case", "target", "measured", "a round", "met")
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    for row in [heads, tuple("-" * w for w in widths), *rows]:
        print("| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |")


def main():
    given = arguments()
    heading()
    before = built()
    limits_heading()
    print(flush=True)
    rows = []
    for subject in given.subjects or SUBJECTS:
        rows += run(subject, *((0.05, 1) if threads.quick() else (given.budget, 3)))
    show(rows)
    import compiled

    for reason in compiled.why_not.values():
        print(reason)
    if built() != before:
        print("NOT TO BE USED: the package was rebuilt during this run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
