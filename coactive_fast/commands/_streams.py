"""Files and standard input as byte streams, and as rankings."""

import contextlib
import errno
import functools
import json
import os
import sys
import tempfile
from typing import NamedTuple

from coactive_fast import data
from coactive_fast.data._open import DAMAGED, numbered, opened, unpacked
from coactive_fast.data._tables import number
from coactive_fast.learner import _file

from . import Trouble, troubles

MAGIC = _file.MAGIC
BOM = b"\xef\xbb\xbf"  # what some editors put in front of UTF-8
START = 1 << 16  # bytes of a stream by which its form is recognised
LINES = 64  # lines that show whether labels or features are words


def is_stdin(path):
    return path == "-"


def name_of(path):
    """The name of a file in messages."""
    return "standard input" if is_stdin(path) else str(path)


class Stream:
    """Bytes as they come, under the name that error messages give them."""

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
                yield Stream(_read_stdin, name)
            else:
                yield Stream(stack.enter_context(opened(path))[0].readinto, name)
        except DAMAGED as error:  # before OSError, which some of them are
            raise Trouble(f"{name} is truncated or damaged: {error}") from error
        except OSError as error:
            if error.errno == errno.ESPIPE:
                raise Trouble(f"{name} is a pipe, which is not read twice: give it as standard "
                              "input, with - for its name") from error
            raise Trouble(f"{name}: {error.strerror or error}") from error


@functools.lru_cache(maxsize=1)
def _unpacked(stdin):
    """Standard input, unpacked: one object, so that what was only peeked at is still there."""
    if stdin is None:
        raise Trouble("standard input is closed")
    return unpacked(stdin.buffer, stdin.buffer.peek(1))


def _read_stdin(view):
    """Reads what has arrived, without waiting for more, as `readinto1` would."""
    found = _unpacked(sys.stdin).read1(len(view))
    view[:len(found)] = found
    return len(found)


def start_of(path):
    """The first bytes, unpacked; of standard input some of those that have arrived."""
    with source(path) as file:
        if is_stdin(path):
            start = _unpacked(sys.stdin).peek(START)
            if start.startswith(MAGIC):
                raise Trouble("standard input is a converted file, which is mapped: give its name")
            return start
        start = bytearray(START)
        return bytes(start[:file.readinto(start)])


def check_target(what, path, source):
    """Refuses what cannot be written, and to replace a file of somebody else: before the work, not
    after it."""
    exists, folder = os.path.exists(path), os.path.dirname(os.path.realpath(path))
    if not path or not os.path.isdir(folder) or exists and not os.path.isfile(path):
        raise Trouble(f"{what} {path}: expected a file in a folder that is there")
    with troubles(f"{what} {path}: it may not be written", OSError):
        if exists:
            with open(path, "r+b") as file:
                start = file.read(len(MAGIC))
            if os.path.exists(source) and not is_stdin(source) and os.path.samefile(path, source):
                raise Trouble(f"{what} {path} is what is read: give another name")
            if start not in (b"", MAGIC):
                raise Trouble(f"{what} {path} is there already, and is no file of coactive_fast: "
                              "give another name")
        with tempfile.TemporaryFile(dir=folder):  # a file is written beside its target first
            pass


class Form(NamedTuple):
    """What the beginning of a file shows."""

    vw: bool
    labels: bool  # whether a label is a word
    features: bool  # whether a feature has a name
    kind: str  # "clicks", "ranking", "rows" or "converted"


def form_of(start):
    """The form of a file, by its first bytes."""
    text = start.removeprefix(BOM)
    if start.startswith(MAGIC) or text.lstrip().startswith(b"{"):
        return Form(False, False, False, "converted" if start.startswith(MAGIC) else "clicks")
    whole = text.split(b"\n")
    if len(start) >= START and len(whole) > 1:
        whole.pop()  # it may be cut in two
    lines = [line.partition(b" #")[0].split() for line in whole
             if line.strip() and not line.lstrip().startswith(b"#")][:LINES]
    first = b" ".join(lines[0]) if lines else b""
    kind = "ranking" if b" qid:" in first else "rows"
    if b"|" in first:
        return Form(True, False, True, kind)
    labels = features = False
    for tokens in lines:
        if b":" not in tokens[0]:
            labels = labels or None in map(number, tokens[0].split(b","))
            tokens = tokens[1:]
        features = features or None in (number(one.partition(b":")[0]) for one in tokens
                                        if not one.startswith((b"qid:", b":")))
    return Form(False, labels, features, kind)


def kind_of(path):
    """"clicks", "ranking", "rows" or "converted", by the first line."""
    return form_of(start_of(path)).kind


def objects(file, form="a JSON object"):
    """``(line number, where, object)``: the JSON object on each line that is not blank."""
    for at, line in numbered(file, file.name):
        if not (line := line.removeprefix(BOM) if at == 1 else line).isspace():
            where = f"{file.name}: line {at}"
            yield at, where, object_of(line, where, form)


def object_of(line, where, form="a JSON object"):
    """The JSON object on a line."""
    try:
        found = json.loads(line.decode())
        if isinstance(found, dict):
            return found
        problem = f", got {found!r:.60}"
    except json.JSONDecodeError as error:
        problem = f": {error.msg}, column {error.colno}"
    except (UnicodeDecodeError, RecursionError) as error:
        problem = f": {error}"
    raise Trouble(f"{where}: expected {form}{problem}")


# --- rankings -------------------------------------------------------------------------------------


def ranking_data(path, columns=None, zero_based=False):
    """All queries of a LETOR file or a converted one; `columns` as `load_svmlight` has it."""
    if kind_of(path) == "converted":
        found = data.RankingData.load(path)
        if columns not in (None, found.dimension):
            raise Trouble(f"{path} has {found.dimension} columns, not {columns}")
        return found
    with source(path) as file:
        return data.RankingData.from_svmlight(file, n_features=columns, zero_based=zero_based)
