"""Whether a file may be written: found out before the work, not after it."""

import os
import tempfile

from . import Trouble, _streams


def check(what, path, source):
    """Refuses what cannot be written, and to put anything in the place of somebody else's file."""
    there = os.path.exists(path)
    folder = os.path.dirname(os.path.realpath(path))
    if not path or not os.path.isdir(folder) or there and not os.path.isfile(path):
        raise Trouble(f"{what} {path}: expected a file in a folder that is there")
    try:
        if there:
            with open(path, "r+b") as file:
                start = file.read(len(_streams.MAGIC))
            if not _streams.is_stdin(source) and os.path.exists(source) \
                    and os.path.samefile(path, source):
                raise Trouble(f"{what} {path} is what is read: give another name")
            if start not in (b"", _streams.MAGIC):
                raise Trouble(f"{what} {path} is there already, and is no file of coactive_fast: "
                              "give another name")
        with tempfile.TemporaryFile(dir=folder):  # what is saved is first put beside it
            pass
    except OSError as error:
        raise Trouble(f"{what} {path}: it may not be written: {error.strerror or error}") \
            from error
