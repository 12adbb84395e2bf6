"""Files and standard input as byte streams, and as queries and clicks."""

import bz2
import contextlib
import errno
import json
import lzma
import os
import sys
import tempfile
import zlib
from typing import NamedTuple

import numpy as np

from coactive_fast import data
from coactive_fast.data._open import DAMAGED, PACKED, Raw, numbered, opened
from coactive_fast.learner import _file

from . import Trouble, troubles

MAGIC = _file.MAGIC
BOM = b"\xef\xbb\xbf"  # what some editors put in front of UTF-8
UNPACK = dict(zip(PACKED, (lambda: zlib.decompressobj(31), bz2.BZ2Decompressor,
                           lzma.LZMADecompressor), strict=True))


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
    for magic, unpack in UNPACK.items():
        if start.startswith(magic):
            try:
                return unpack().decompress(start)
            except (OSError, EOFError, zlib.error, lzma.LZMAError):
                return b""
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


# --- rankings and clicks --------------------------------------------------------------------------


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


class Clicks(NamedTuple):
    query: object
    features: np.ndarray
    presented: list | None  # None where nobody asked
    clicked: list | None
    where: str  # file and line


FORM = '{"query": id, "features": [[...], ...], "presented": [i, ...], "clicked": [i, ...]}'


def clicks(path, learning=True, documents=None):
    """Queries of a click log, a JSON object a line; without `learning` only their documents count.

    `documents` has ``features(query)``, for the lines that have none of their own.
    """
    with source(path) as file:
        for number, line in lines(file):
            where = f"{file.name}: line {number}"
            with troubles(where):
                yield queried(_parsed(line, documents), where, learning, documents)


def queried(found, where, learning, documents):
    """A query from what its line holds, checked."""
    features = (_features(found["features"]) if "features" in found
                else documents.features(found.get("query")))
    presented = clicked = None
    if learning:
        presented = _documents(found, "presented", len(features))
        clicked = _documents(found, "clicked", len(features))
        if not presented or len(set(presented)) < len(presented):
            raise ValueError(f"presented must list documents, each once, got {presented!r:.60}")
    return Clicks(found.get("query"), features, presented, clicked, where)


def _parsed(line, documents):
    try:
        found = json.loads(line.decode())
    except json.JSONDecodeError as error:
        raise ValueError(f"expected {FORM}: {error.msg}, column {error.colno}") from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"expected {FORM}: {error}") from None
    if not isinstance(found, dict) or ("features" not in found and documents is None):
        what = f"got {found!r:.60}"
        if isinstance(found, dict):
            what = "there are no features, and no --documents that the query may name"
        raise ValueError(f"expected {FORM}: {what}")
    return found


def _features(rows):
    try:
        found = np.asarray(rows)
    except ValueError:  # rows of several lengths
        found = None
    if found is None or found.ndim != 2 or found.size == 0 or found.dtype.kind not in "iuf":
        raise ValueError("features must be a list of rows of numbers, all of one length")
    found = found.astype(np.float64, copy=False)
    if not np.isfinite(found).all():
        raise ValueError("features must be finite")
    return found


def _documents(found, name, n):
    given = found.get(name)
    if given is None:
        raise ValueError("presented and clicked are needed to learn")
    if not isinstance(given, list) or any(type(i) is not int for i in given):
        raise ValueError(f"{name} must be a list of whole numbers, got {given!r:.60}")
    wrong = [i for i in given if not 0 <= i < n]
    if wrong:
        raise ValueError(f"{name} must lie in 0 ... {n - 1}, since there are {n} documents, "
                         f"got {wrong[0]}")
    return given


def object_of(line, where):
    """The JSON object that stands on a line."""
    with troubles(f"{where}: expected a JSON object", (ValueError, RecursionError)):
        found = json.loads(line.decode())
    if not isinstance(found, dict):
        raise Trouble(f"{where}: expected a JSON object, got {found!r:.60}")
    return found
