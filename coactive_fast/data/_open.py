"""Files as binary streams, unpacked on the way."""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import zlib
from functools import partial

from .. import _memory

PACKED = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
# a packed file that breaks off, or that is none behind its first bytes
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)


def unpacked(file, start):
    """The file itself, or what it holds packed, as its first bytes show."""
    return next((unpack(file) for magic, unpack in PACKED.items() if start.startswith(magic)), file)


def as_paths(path):
    """A list of one path, or those of a list or tuple."""
    return list(path) if isinstance(path, (list, tuple)) else [path]


@contextlib.contextmanager
def opened(path):
    """A binary file object for a path (packed files are told by their first bytes) or for what is
    a file object already, and its name for error messages."""
    if hasattr(path, "readinto"):
        yield path, str(getattr(path, "name", "the file"))
        return
    try:
        name = os.fsdecode(path)
    except TypeError:
        kind = type(path).__name__
        raise TypeError(
            f"path must be a string, os.PathLike or a binary file object, got {kind}"
        ) from None
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(name, "rb", buffering=0))
        start = file.read(8)
        file.seek(0)
        try:
            yield stack.enter_context(unpacked(file, start)), repr(name)
        except DAMAGED as error:
            raise ValueError(f"{name!r} is truncated or damaged: {error}") from None


@contextlib.contextmanager
def opened_lines(path):
    """``(lines, name)``: the lines of a text in UTF-8 without their ends, with their numbers from
    1, and what messages call the file; blank lines are left out."""
    with opened(path) as (file, name):
        yield _numbered(file, name), name


def numbered(file, name):
    """The lines of a binary file with their numbers from 1, none longer than the limit."""
    longest = _memory.longest_line
    some = partial(io.BufferedReader(Raw(file)).readline, longest + 1)
    for number, line in enumerate(iter(some, b""), 1):
        if len(line) > longest:
            _memory.refuse_long_line(name, number)
        yield number, line


def _numbered(file, name):
    for number, line in numbered(file, name):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise ValueError(f"{name}: line {number}: must be text in UTF-8: {error}") from None
        if text:
            yield number, text


class Raw(io.RawIOBase):
    """Any binary file object, as what a buffer may be laid over; it is not closed with it."""

    def __init__(self, file):
        self.readinto = file.readinto

    def readable(self):
        return True
