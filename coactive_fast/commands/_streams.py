"""Files and standard input as byte streams, and as rankings."""

import contextlib
import errno
import io
import json
import os
import sys
import tempfile

from coactive_fast import data
from coactive_fast.data._open import DAMAGED, PACKED, Raw, numbered, opened
from coactive_fast.learner import _file

from . import Trouble, troubles

MAGIC = _file.MAGIC
BOM = b"\xef\xbb\xbf"  # what some editors put in front of UTF-8


def is_stdin(path):
    return path == "-"


def name_of(path):
    """What messages call it."""
    return "standard input" if is_stdin(path) else str(path)


class Stream(Raw):
    """Bytes as they come, under the name that error messages call them by."""

    def __init__(self, readinto, name):
        self.readinto, self.name = readinto, name

    def __repr__(self) -> str:
        return self.name


@contextlib.contextmanager
def source(path):
    """A `Stream` over a file or, for "-", standard input; packed ones are unpacked."""
    name = name_of(path)
    with contextlib.ExitStack() as stack:
        try:
            if is_stdin(path):
                readinto = _stdin_reader()
            else:
                readinto = stack.enter_context(opened(path))[0].readinto
            yield Stream(readinto, name)
        except DAMAGED as error:  # before OSError, which some of them are
            raise Trouble(f"{name} is truncated or damaged: {error}") from error
        except OSError as error:
            if error.errno == errno.ESPIPE:
                raise Trouble(f"{name} is a pipe, which is not read twice: give it as standard "
                              "input, with - for its name") from error
            raise Trouble(f"{name}: {error.strerror or error}") from error


def _stdin_buffer():
    if sys.stdin is None:
        raise Trouble("standard input is closed")
    return sys.stdin.buffer


def _stdin_start():
    """What is there already of standard input; it stays there."""
    peek = getattr(_stdin_buffer(), "peek", None)  # a stand-in may have none
    return b"" if peek is None else peek(1)


def _stdin_reader():
    start, buffer = _stdin_start(), _stdin_buffer()
    for magic, unpack in PACKED.items():
        if start.startswith(magic):
            return unpack(buffer).readinto

    def readinto(view):  # what is there, no waiting for more, which readinto1 would do
        got = buffer.read1(len(view))
        view[:len(got)] = got
        return len(got)

    return readinto


START = 1 << 16  # bytes of a stream by which its form is recognised


def start_of(path):
    """The first bytes, unpacked; of standard input those that are there already."""
    if is_stdin(path):
        return _unpacked(_stdin_start())
    with source(path) as file:
        start = bytearray(START)
        return bytes(start[:file.readinto(start)])


def _unpacked(start):
    """The beginning of what begins so packed; a piece of a packed stream will do."""
    for magic, unpack in PACKED.items():
        if start.startswith(magic):
            found, file = b"", unpack(io.BytesIO(start))
            with contextlib.suppress(OSError, *DAMAGED):
                while len(found) < START and (more := file.read1(START)):
                    found += more
            return found
    return start


def check_target(what, path, source):
    """Refuses what cannot be written, and to put anything in the place of somebody else's file:
    before the work, not after it."""
    there = os.path.exists(path)
    folder = os.path.dirname(os.path.realpath(path))
    if not path or not os.path.isdir(folder) or there and not os.path.isfile(path):
        raise Trouble(f"{what} {path}: expected a file in a folder that is there")
    with troubles(f"{what} {path}: it may not be written", OSError):
        if there:
            with open(path, "r+b") as file:
                start = file.read(len(MAGIC))
            if not is_stdin(source) and os.path.exists(source) \
                    and os.path.samefile(path, source):
                raise Trouble(f"{what} {path} is what is read: give another name")
            if start not in (b"", MAGIC):
                raise Trouble(f"{what} {path} is there already, and is no file of coactive_fast: "
                              "give another name")
        with tempfile.TemporaryFile(dir=folder):  # what is saved is first put beside it
            pass


def kind_of(path, start=None):
    """"clicks", "ranking", "rows" or "converted", by the first line."""
    start = start_of(path) if start is None else start
    if start.startswith(MAGIC):
        return "converted"
    text = start.removeprefix(BOM).lstrip()
    if text.startswith(b"{"):
        return "clicks"
    lines = [line for line in text.splitlines() if line and not line.startswith(b"#")]
    return "ranking" if lines and b" qid:" in lines[0] else "rows"


def lines(file):
    """The lines of a `Stream` that are not blank, with their numbers."""
    for number, line in numbered(file, file.name):
        line = line.removeprefix(BOM) if number == 1 else line
        if not line.isspace():
            yield number, line


# --- rankings, and JSON ---------------------------------------------------------------------------


def ranking_data(path, columns=None, zero_based=False):
    """All queries of a LETOR file or a converted one; `columns` as `load_svmlight` has it."""
    if kind_of(path) == "converted":
        refuse_mapping_of_stdin(path)
        found = data.RankingData.load(path)
        if columns not in (None, found.dimension):
            raise Trouble(f"{path} has {found.dimension} columns, not {columns}")
        return found
    with source(path) as file:
        return data.RankingData.from_svmlight(file, n_features=columns, zero_based=zero_based)


def refuse_mapping_of_stdin(path):
    if is_stdin(path):
        raise Trouble("standard input is a converted file, which is mapped: give its name")


def object_of(line, where):
    """The JSON object that stands on a line."""
    with troubles(f"{where}: expected a JSON object", (ValueError, RecursionError)):
        found = json.loads(line.decode())
    if not isinstance(found, dict):
        raise Trouble(f"{where}: expected a JSON object, got {found!r:.60}")
    return found
