"""Whether wheels are fit to be given away: their size, what their modules link and where they look.

Usage: ``python .ci/wheel.py FILE.whl ...``; a line about each wheel, status 1 where one is not fit.
Takes ``readelf`` (binutils) for the modules of Linux; those of other systems are not looked into.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

MOST = 5_000_000  # bytes of a wheel
# the C library, its mathematics and its loader, which finds thread-local data, of glibc; and musl,
# which has them in one
SYSTEM = re.compile(r"lib[cm]\.so(\.6)?|ld-linux[\w-]*\.so\.\d|libc\.musl-\w+\.so\.1")


def modules(wheel):
    return [name for name in wheel.namelist() if name.endswith((".so", ".pyd"))]


def dynamic(file):
    """What an ELF file asks of the loader: [(NEEDED, RPATH or RUNPATH; name)]."""
    done = subprocess.run(["readelf", "-dW", file], capture_output=True, text=True, check=True)
    return re.findall(r"\((NEEDED|RPATH|RUNPATH)\).*\[(.*)\]", done.stdout)


def faults(path, folder):
    """``(wrong, linked)``: sentences, and the names of the libraries that modules link."""
    wrong, linked = [], set()
    size = path.stat().st_size
    if size > MOST:
        wrong.append(f"{size} bytes, more than {MOST}")
    with zipfile.ZipFile(path) as wheel:
        if not modules(wheel):
            wrong.append("no compiled modules")
        for name in modules(wheel):
            file = wheel.extract(name, folder)
            if Path(file).read_bytes()[:4] != b"\x7fELF":
                continue
            for kind, value in dynamic(file):
                if kind != "NEEDED":
                    wrong.append(f"{name} has {kind} {value}")
                elif not SYSTEM.fullmatch(value):
                    wrong.append(f"{name} links {value}")
                else:
                    linked.add(value)
    return wrong, linked


def main(paths):
    unfit = 0
    for path in map(Path, paths):
        with tempfile.TemporaryDirectory() as folder:
            wrong, linked = faults(path, folder)
        with zipfile.ZipFile(path) as wheel:
            count = len(modules(wheel))
        print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB of {MOST / 1e6:.0f}, "
              f"{count} modules, linked: {', '.join(sorted(linked)) or 'nothing looked into'}")
        for fault in wrong:
            print(f"    unfit: {fault}")
        unfit += bool(wrong)
    return 1 if unfit or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
