"""How much memory there is to be had: asked before a growing state takes it, and before what
comes from outside (the width of a row, a line, the head of a file) does."""

import os
from pathlib import Path

GROUP = Path("/sys/fs/cgroup/memory.max")  # what a container may use, where there is one


def available():
    """Bytes of this machine, or of the container; infinity where they cannot be told."""
    try:
        found = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")
    try:
        found = min(found, float(GROUP.read_text()))
    except (OSError, ValueError):  # none, or the word "max"
        pass
    return found


limit = available()
longest_line = 1 << 26  # bytes, of any file that is read; and of a round of text in several lines


def refuse_beyond_limit(needed, what, instead):
    """A `MemoryError` that names the bytes, where there are not so many."""
    if needed > limit:
        raise MemoryError(f"{what} takes {int(needed)} bytes, and {limit:.0f} is all there is: "
                          f"{instead}")


def refuse_long_line(name, number, what="line"):
    """A `ValueError` that names the file and the line, which is longer than `longest_line`."""
    raise ValueError(f"{name}: line {number}: a {what} is longer than {longest_line >> 20} MiB")
