"""Rows: svmlight text, piece by piece, or a converted file."""

import functools
from typing import NamedTuple

import numpy as np
import scipy.sparse

from coactive_fast.data import _check, _compiled
from coactive_fast.data._map import read
from coactive_fast.data._svmlight import Grown, Pairs
from coactive_fast.learner import _file

from . import Trouble, _streams
from ._labels import Labels

KEEP = 1 << 28  # bytes of rows that stay in memory, so that their text is parsed only once
KIND = "Rows"


class Piece(NamedTuple):
    """Some rows of a file."""

    X: object  # CSR
    labels: np.ndarray  # of all rows
    ends: np.ndarray | None  # where a row's labels end; None where each row has one label
    lines: np.ndarray  # the number of each row in its file

    def __len__(self):
        return self.X.shape[0]

    @property
    def nbytes(self):
        parts = self.X.data, self.X.indices, self.X.indptr, self.labels, self.ends, self.lines
        return sum(part.nbytes for part in parts if part is not None)

    @property
    def counts(self):
        """How many labels each row has."""
        if self.ends is None:
            return np.ones(len(self), dtype=np.intp)
        return np.diff(self.ends, prepend=0)

    @classmethod
    def joined(cls, pieces):
        X = scipy.sparse.vstack([piece.X for piece in pieces], format="csr")
        labels, lines = (np.concatenate([getattr(piece, part) for piece in pieces])
                         for part in ("labels", "lines"))
        if all(piece.ends is None for piece in pieces):
            return cls(X, labels, None, lines)
        return cls(X, labels, np.cumsum(np.concatenate([piece.counts for piece in pieces])), lines)

    def widened(self, columns):
        """The same numbers, as a matrix of so many columns."""
        if columns == self.X.shape[1]:
            return self
        X = _csr(self.X.data, self.X.indices, self.X.indptr, columns)
        return Piece(X, self.labels, self.ends, self.lines)

    def take(self, order):
        """The rows in this order."""
        X, lines = self.X[order], self.lines[order]
        if self.ends is None:
            return Piece(X, self.labels[order], None, lines)
        counts = self.counts
        ends = np.cumsum(counts[order])
        begins = (self.ends - counts)[order]
        at = np.arange(ends[-1]) - np.repeat(ends - counts[order] - begins, counts[order])
        return Piece(X, self.labels[at], ends, lines)

    def cut(self, begin, end):
        """A run of rows; their numbers are not copied."""
        ends = self.X.indptr[begin:end + 1]
        part = slice(ends[0], ends[-1])
        X = _csr(self.X.data[part], self.X.indices[part], ends - ends[0], self.X.shape[1])
        lines = self.lines[begin:end]
        if self.ends is None:
            return Piece(X, self.labels[begin:end], None, lines)
        first = self.ends[begin - 1] if begin else 0
        return Piece(X, self.labels[first:self.ends[end - 1]], self.ends[begin:end] - first, lines)

    def singly(self):
        """Row by row: one matrix, whose place in the numbers moves on; making many is slow."""
        row = _csr(self.X.data[:0], self.X.indices[:0], np.zeros(2, self.X.indptr.dtype),
                   self.X.shape[1])
        row.data, row.indices = self.X.data, self.X.indices
        for t in range(len(self)):
            row.indptr = self.X.indptr[t:t + 2]
            yield row

    def holds(self, label):
        """For each row, whether this label is one of its own."""
        if self.ends is None:
            return self.labels == label
        counts = np.concatenate(([0], np.cumsum(self.labels == label)))
        begins = np.concatenate(([0], self.ends[:-1]))
        return counts[self.ends] > counts[begins]


def _csr(values, indices, ends, columns):
    return scipy.sparse.csr_matrix((values, indices, ends), (len(ends) - 1, columns), copy=False)


class Scan(NamedTuple):
    """What a first reading of all rows tells."""

    rows: int
    columns: int
    least: float  # label
    most: float
    ordered: bool  # whether labels differ and never fall from row to row
    found: bool  # whether a row has the label that was asked for
    fraction: str | None  # a label that is no whole number, and its place


class Rows:
    """The rows of a file or of standard input; `TextRows` are those of plain text, `NamedRows`
    those of labels or features that are words.

    Parameters
    ----------
    path : str
    columns : int, optional
        An index beyond them is an error. None: those of the file.
    zero_based : bool
    single : str, optional
        Each row must have one label; an error says this about it.
    """

    def __init__(self, path, columns=None, *, zero_based=False, single=None):
        self.path, self.name = path, _streams.name_of(path)
        self.columns, self.zero_based, self.single = columns, zero_based, single
        self.kept, self.unit, self.labels = None, "line", Labels(named=False)
        kind = _streams.kind_of(path)
        if kind == "clicks":
            raise Trouble(f"{self.name} is a log of clicks, which only ranking learners read")
        if kind == "converted":
            _streams.refuse_mapping_of_stdin(path)
            self.unit = "row"
            self.kept = [self._checked(converted_rows(path))]
            width = self.kept[0].X.shape[1]
            if columns is not None and width > columns:
                raise Trouble(f"{path} has {width} columns, expected {columns} at most")

    def number_of(self, relevant):
        """The label that --relevant names."""
        if isinstance(relevant, str) and self.labels.named is False:
            raise Trouble(f"--relevant {relevant}: expected a number: {self.name} has no names of "
                          "labels")
        return self.labels.number_of(relevant)

    def place(self, piece, row):
        """Where a row of a piece stands."""
        return f"{self.name}: {self.unit} {piece.lines[row]}"

    def fraction(self, piece):
        """The first label that is no whole number, with its place; None where all are whole."""
        labels = piece.labels
        broken = np.flatnonzero(labels != np.rint(labels))
        if broken.size == 0 or piece.ends is not None:
            return None
        return f"{self.place(piece, broken[0])}: the label {labels[broken[0]]:.10g}"

    def scan(self, label=None):
        """Reads everything once, and keeps what is not too much."""
        kept, size = [], 0
        rows, columns, least, most = 0, 0, np.inf, -np.inf
        ordered, last, found, fraction = True, -np.inf, False, None
        for piece in self._parsed() if self.kept is None else self.kept:
            rows, columns = rows + len(piece), max(columns, piece.X.shape[1])
            labels = piece.labels
            if labels.size:
                ordered = (ordered and piece.ends is None and last <= labels[0]
                           and bool((np.diff(labels) >= 0).all()))
                least, most, last = min(least, labels.min()), max(most, labels.max()), labels[-1]
            found = found or label is not None and bool((labels == label).any())
            fraction = fraction or self.fraction(piece)
            size += piece.nbytes
            if size > KEEP and not _streams.is_stdin(self.path):  # which has no second reading
                kept = None
            elif kept is not None:
                kept.append(piece)
        self.kept = kept
        return Scan(rows, columns, float(least), float(most), ordered and least < most, found,
                    fraction)

    def pieces(self, columns):
        """The pieces as matrices of so many columns; None: each as wide as it comes."""
        for piece in self._parsed() if self.kept is None else self.kept:
            yield piece if columns is None else piece.widened(columns)

    @functools.cached_property
    def whole(self):
        """All rows as one piece; it takes the place of what was kept."""
        pieces = list(self._parsed()) if self.kept is None else self.kept
        if not pieces:
            raise Trouble(f"{self.name} holds no rows")
        columns = max(piece.X.shape[1] for piece in pieces)
        whole = Piece.joined([piece.widened(columns) for piece in pieces])
        self.kept = [whole]
        return whole

    def _parsed(self):
        with _streams.source(self.path) as file:
            last = self.columns
            if last is not None and self.zero_based:
                last -= 1
            reader = _compiled.Rows(file, file.name, int(not self.zero_based), last, np.float64,
                                    True, False)
            while reader.advance():
                yield self._checked(_copied(reader))

    def _checked(self, piece):
        if self.single is not None:
            _check_single(piece.counts, lambda row: self.place(piece, row), self.single)
        return piece


def _check_single(counts, place, hint):
    """Each row has one label, or an error tells the place of one that has not."""
    wrong = np.flatnonzero(counts != 1)
    if wrong.size:
        raise Trouble(f"{place(wrong[0])}: expected one label, got {counts[wrong[0]]}: {hint}")


def _copied(reader):
    """What the reader holds, which the next piece overwrites."""
    small = np.int32 if reader.most <= np.iinfo(np.int32).max else np.int64
    ends = np.concatenate(([0], reader.row_ends)).astype(small)
    X = _csr(reader.values.copy(), reader.indices.astype(small), ends, reader.most + 1)
    alone = np.array_equal(reader.label_ends, np.arange(1, reader.n_rows + 1))
    return Piece(X, reader.labels.copy(), None if alone else reader.label_ends.copy(),
                 reader.lines.copy())


# --- converted files ------------------------------------------------------------------------------


def write_rows(path, out, multilabel, zero_based):
    """A text file of rows as one file of arrays, to be mapped."""
    pairs, labels, label_ends = Pairs(np.float64), Grown(np.float64), Grown(np.intp)
    with _streams.source(path) as file:
        reader = _compiled.Rows(file, file.name, int(not zero_based), None, np.float64, True, False)
        while reader.advance():
            if not multilabel:
                lines = reader.lines
                _check_single(np.diff(reader.label_ends, prepend=0),
                              lambda row, lines=lines: f"{file.name}: line {lines[row]}",
                              "--multilabel takes rows of any number of labels")
            label_ends.append(reader.label_ends + labels.size)
            labels.append(reader.labels)
            pairs.append(reader)
    if label_ends.size == 0:
        raise Trouble(f"{path} holds no rows")
    X = pairs.finish(reader.most + 1, 0)
    arrays = {"indptr": X.indptr, "labels": labels.finish()}
    if multilabel:
        arrays["ends"] = label_ends.finish()
    _file.write(out, {"kind": KIND, "columns": X.shape[1]},
                {**arrays, "indices": X.indices, "data": X.data})
    return X.shape


def converted_rows(path):
    """What `write_rows` wrote, mapped into memory, as one piece.

    A mapped file's checksum is not looked at, and the compiled loops trust a piece's indices: one
    pass over them here keeps a damaged file from reading beyond the ends of arrays.
    """
    head, arrays = read(path, True)
    if head.get("kind") != KIND:
        raise Trouble(f"{path} holds {head.get('kind')}, not rows")
    try:
        n = arrays["indptr"].size - 1
        X = scipy.sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]),
                                    (n, head["columns"]), copy=False)
        X.check_format(full_check=True)
        labels, ends = arrays["labels"], arrays.get("ends")
        counts = np.arange(1, n + 1) if ends is None else ends
        if (labels.ndim != 1 or counts.shape != (n,) or counts.dtype.kind != "i"
                or (counts[-1:] != labels.size).any() or (np.diff(counts, prepend=0) < 0).any()):
            raise ValueError("its labels do not go with its rows")
        _check.finite("its labels", labels)
        _check.finite("its values", X.data)
        if ends is not None and np.array_equal(ends, np.arange(1, n + 1)):
            ends = None
        return Piece(X, labels, ends, np.arange(1, n + 1))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Trouble(f"{path} is damaged: {error}") from error
