"""Files and standard input as rows, queries and clicks, piece by piece."""

import contextlib
import errno
import io
import json
import sys
from typing import NamedTuple

import numpy as np
import scipy.sparse

from coactive_fast import data
from coactive_fast.data import _text
from coactive_fast.data._open import opened
from coactive_fast.learner import _file

from . import Trouble

MAGIC = _file.MAGIC


def is_stdin(path):
    return path == "-"


@contextlib.contextmanager
def source(path):
    """A binary file object and its name; "-" is standard input, as it comes."""
    if is_stdin(path):
        raw = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)  # what is there, no waiting
        yield raw, "standard input"
        return
    try:
        with opened(path) as (file, name):
            yield file, name
    except OSError as error:
        if error.errno == errno.ESPIPE:
            raise Trouble(f"{path} is a pipe, which is not read twice: give it as standard input, "
                          "with - for its name") from error
        raise Trouble(f"{path}: {error.strerror or error}") from error


def kind_of(path):
    """"clicks", "ranking", "rows" or "converted", by name and first line; None for stdin."""
    if is_stdin(path):
        return None
    with source(path) as (file, _):
        start = bytearray(4096)
        start = bytes(start[:file.readinto(start)])
    if start.startswith(MAGIC):
        return "converted"
    text = start.lstrip()
    if text.startswith(b"{"):
        return "clicks"
    lines = [line for line in text.splitlines() if line and not line.startswith(b"#")]
    return "ranking" if lines and b" qid:" in lines[0] else "rows"


# --- rows -----------------------------------------------------------------------------------------


class Scan(NamedTuple):
    """What a first reading of a file of rows tells."""

    rows: int
    columns: int
    least: float  # label
    most: float
    ordered: bool  # whether labels differ and never fall from row to row


def scan(path, multilabel=False, zero_based=False):
    """Reads the file once, at the speed of the parser, and keeps nothing."""
    rows, least, most, widest, ordered, last = 0, np.inf, -np.inf, -1, True, -np.inf
    with source(path) as (file, name):
        reader = _text.Rows(file, name, int(not zero_based), None, np.float64, multilabel, False)
        while reader.advance():
            labels, rows, widest = reader.labels, rows + reader.n_rows, reader.most
            if labels.size:
                ordered = ordered and last <= labels[0] and bool((np.diff(labels) >= 0).all())
                least, most, last = min(least, labels.min()), max(most, labels.max()), labels[-1]
    return Scan(rows, widest + 1, float(least), float(most), ordered and least < most)


class Piece(NamedTuple):
    X: object  # CSR
    labels: np.ndarray  # of all rows
    ends: np.ndarray | None  # where a row's labels end, for rows of many labels

    def __len__(self):
        return self.X.shape[0]

    @classmethod
    def joined(cls, pieces):
        X = scipy.sparse.vstack([piece.X for piece in pieces], format="csr")
        labels = np.concatenate([piece.labels for piece in pieces])
        if pieces[0].ends is None:
            return cls(X, labels, None)
        counts = [np.diff(piece.ends, prepend=0) for piece in pieces]
        return cls(X, labels, np.cumsum(np.concatenate(counts)))

    def take(self, order):
        """The rows in this order."""
        if self.ends is None:
            return Piece(self.X[order], self.labels[order], None)
        counts = np.diff(self.ends, prepend=0)
        ends = np.cumsum(counts[order])
        begins = (self.ends - counts)[order]
        at = np.arange(ends[-1]) - np.repeat(ends - counts[order] - begins, counts[order])
        return Piece(self.X[order], self.labels[at], ends)

    def cut(self, begin, end):
        if self.ends is None:
            return Piece(self.X[begin:end], self.labels[begin:end], None)
        first = self.ends[begin - 1] if begin else 0
        return Piece(self.X[begin:end], self.labels[first:self.ends[end - 1]],
                     self.ends[begin:end] - first)

    def holds(self, label):
        """For each row, whether this label is one of its own."""
        if self.ends is None:
            return self.labels == label
        counts = np.concatenate(([0], np.cumsum(self.labels == label)))
        begins = np.concatenate(([0], self.ends[:-1]))
        return counts[self.ends] > counts[begins]


def rows(path, columns, multilabel=False, zero_based=False):
    """Pieces of the file with so many columns; an index beyond them is an error."""
    if kind_of(path) == "converted":
        X, labels, ends = converted_rows(path)
        if X.shape[1] > columns:
            raise Trouble(f"{path} has {X.shape[1]} columns, expected {columns} at most")
        X = scipy.sparse.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], columns))
        yield Piece(X, labels, ends)
        return
    with source(path) as (file, name):
        last = columns - 1 if zero_based else columns
        reader = _text.Rows(file, name, int(not zero_based), last, np.float64, multilabel, False)
        while reader.advance():
            ends = np.concatenate(([0], reader.row_ends))
            X = scipy.sparse.csr_matrix(
                (reader.values.copy(), reader.indices.astype(np.int64), ends),
                (reader.n_rows, columns), copy=False)
            yield Piece(X, reader.labels.copy(),
                        reader.label_ends.copy() if multilabel else None)


# --- converted files ------------------------------------------------------------------------------

ROWS = "Rows"


def write_rows(path, out, multilabel, zero_based):
    """A text file of rows as one file of arrays, to be mapped."""
    X, labels = data.load_svmlight(path, multilabel=multilabel, zero_based=zero_based)
    arrays = {"indptr": X.indptr, "labels": labels}
    if multilabel:
        arrays["labels"] = np.array([label for one in labels for label in one], dtype=float)
        arrays["ends"] = np.cumsum([len(one) for one in labels])
    _file.write(out, {"kind": ROWS, "columns": X.shape[1]},
                {**arrays, "indices": X.indices, "data": X.data})
    return X.shape


def converted_rows(path):
    """(CSR, labels, ends or None): what `write_rows` wrote, mapped into memory.

    A mapped file's checksum is not looked at, and the compiled loops trust a piece's indices: one
    pass over them here keeps a damaged file from reading beyond the ends of arrays.
    """
    from coactive_fast.data._map import read

    head, arrays = read(path, True)
    if head.get("kind") != ROWS:
        raise Trouble(f"{path} holds {head.get('kind')}, not rows")
    try:
        shape = (arrays["indptr"].size - 1, head["columns"])
        X = scipy.sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape,
                                    copy=False)
        X.check_format(full_check=True)
        labels, ends = arrays["labels"], arrays.get("ends")
        counts = np.arange(1, shape[0] + 1) if ends is None else ends
        if (labels.ndim != 1 or counts.shape != shape[:1]
                or (counts[-1:] != labels.size).any() or (np.diff(counts, prepend=0) < 0).any()):
            raise ValueError("its labels do not go with its rows")
        return X, labels, ends
    except (KeyError, TypeError, ValueError) as error:
        raise Trouble(f"{path} is damaged: {error}") from error


def converted_kind(path):
    from coactive_fast.data._map import read

    return read(path, True)[0].get("kind")


# --- rankings and clicks --------------------------------------------------------------------------


def ranking_data(path, zero_based=False):
    """All queries of a LETOR file or a converted one."""
    if kind_of(path) == "converted":
        return data.RankingData.load(path)
    if not is_stdin(path):
        return data.RankingData.from_svmlight(path, zero_based=zero_based)
    with source(path) as (file, name):
        file = io.BufferedReader(file)
        if not file.peek(1):
            raise Trouble(f"{name} holds no documents")
        return data.RankingData.from_svmlight(file, zero_based=zero_based)


class Clicks(NamedTuple):
    query: object
    features: np.ndarray
    presented: np.ndarray | None
    clicked: np.ndarray | None
    where: str  # file and line


def clicks(path):
    """Queries of a click log, a JSON object a line."""
    with source(path) as (file, name):
        lines = io.TextIOWrapper(io.BufferedReader(file), encoding="utf-8")
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _query(line, f"{name}: line {number}")


def _query(line, where):
    try:
        found = json.loads(line)
        features = np.asarray(found["features"], dtype=np.float64)
        presented, clicked = (None if found.get(part) is None
                              else np.asarray(found[part], dtype=np.intp).reshape(-1)
                              for part in ("presented", "clicked"))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Trouble(f'{where}: expected {{"query": id, "features": [[...], ...], "presented": '
                      f'[i, ...], "clicked": [i, ...]}}: {error}') from error
    if features.ndim != 2:
        raise Trouble(f"{where}: features must be a list of rows of one length")
    return Clicks(found.get("query"), features, presented, clicked, where)
