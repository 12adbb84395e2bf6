"""Line coverage of the C library, from gcov's JSON.

The kernels are included by one unit for each instruction set, so a line counts as covered where
any unit ran it, and as code where any unit compiled it.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def executions(notes, source):
    """{file: {line: times}} over all units whose notes are given."""
    counts = {}
    for note in notes:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["gcov", "--json-format", str(note.resolve())], cwd=folder, check=True,
                           stdout=subprocess.DEVNULL)
            for report in Path(folder).glob("*.gcov.json.gz"):
                data = json.loads(gzip.decompress(report.read_bytes()))
                add(counts, data, source)
    return counts


def add(counts, data, source):
    base = Path(data["current_working_directory"])
    for entry in data["files"]:
        path = (base / entry["file"]).resolve()
        if source not in path.parents:
            continue
        lines = counts.setdefault(path.relative_to(source), {})
        for line in entry["lines"]:
            number = line["line_number"]
            lines[number] = lines.get(number, 0) + line["count"]


def ranges(numbers):
    """1, 2, 3, 7 as '1-3 7'."""
    parts = []
    for n in numbers:
        if parts and parts[-1][1] == n - 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return " ".join(f"{a}-{b}" if a != b else f"{a}" for a, b in parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("products", type=Path, help="folder with the .gcno and .gcda files")
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--at-least", type=float, default=0.0, metavar="PERCENT")
    options = parser.parse_args()
    notes = sorted(options.products.rglob("*.gcda"))
    counts = executions(notes, options.source.resolve())
    if not counts:
        sys.exit("no coverage found")
    total = hit = 0
    for path, lines in sorted(counts.items()):
        missed = sorted(number for number, times in lines.items() if times == 0)
        total += len(lines)
        hit += len(lines) - len(missed)
        percent = 100.0 * (len(lines) - len(missed)) / len(lines)
        print(f"{percent:6.1f} %  {len(lines):5d} lines  {path}  {ranges(missed)}".rstrip())
    percent = 100.0 * hit / total
    print(f"{percent:6.1f} %  {total:5d} lines  total")
    if percent < options.at_least:
        sys.exit(f"below {options.at_least} %")


if __name__ == "__main__":
    main()
