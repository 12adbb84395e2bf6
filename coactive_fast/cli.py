"""The command line: ``coactive-fast`` or ``python -m coactive_fast``."""

import argparse
import os
import subprocess
import sys

from ._config import show_config
from ._version import __version__

__all__ = ["main"]


def tour(seconds):
    """In a process of its own, since NumPy's BLAS reads its number of threads when it is loaded."""
    pools = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "VECLIB_MAXIMUM")
    code = (f"import sys; sys.path[:] = {sys.path!r}; "
            f"from coactive_fast import _tour; _tour.main({seconds!r})")
    return subprocess.run(
        [sys.executable, "-I", "-c", code],
        env={**os.environ, **{f"{pool}_THREADS": "1" for pool in pools}},
    ).returncode


def config():
    show_config()
    return 0


def main(arguments=None):
    """Run one command; returns the exit status.

    Parameters
    ----------
    arguments : list of str, optional
        What stands behind the program's name; by default that of the process.

    Returns
    -------
    int
    """
    parser = argparse.ArgumentParser(
        prog="coactive-fast", description="A compiled engine for learning from weak feedback."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    text = "what each kernel does on a small example, and how fast it is"
    command = commands.add_parser("tour", help=text, description=text)
    command.add_argument(
        "--seconds", type=float, default=0.15, help="time spent on each figure (default: 0.15)"
    )
    command.set_defaults(run=tour)
    text = "the version, the instruction sets and the build"
    commands.add_parser("config", help=text, description=text).set_defaults(run=config)
    chosen = vars(parser.parse_args(arguments))
    del chosen["command"]
    return chosen.pop("run")(**chosen)
